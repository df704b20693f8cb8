/*
 * Decides which thread reads the connection. One of the threads that wait for answers, the leader, polls and
 * reads for all; the others sleep. If the program has a loop, jp_client_process reads when the client's
 * descriptor is readable.
 */
#include "base/clock.h"
#include "base/transitions.h"
#include "client/client_state.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

enum { NS_IN_S = 1000000000, NS_IN_MS = 1000000, US_IN_S = 1000000, NS_IN_US = 1000 };
enum { CHECK_INTERRUPT_MS = 250 /* how often the caller's hook is asked whether the wait is interrupted */ };

/* ---- the state of the leader ---- */

static const uint16_t leader_transitions[] = {
    [LEADER_NONE] = TO(LEADER_READING),
    [LEADER_READING] =
        TO(LEADER_BUSY_POLLING) | TO(LEADER_POLLING) | TO(LEADER_POLLING_TO_WRITE) | TO(LEADER_NONE),
    [LEADER_BUSY_POLLING] = TO(LEADER_BUSY_POLLING_NOTIFIED) | TO(LEADER_READING),
    [LEADER_BUSY_POLLING_NOTIFIED] = TO(LEADER_READING),
    [LEADER_POLLING] = TO(LEADER_POLLING_NOTIFIED) | TO(LEADER_READING),
    [LEADER_POLLING_TO_WRITE] = TO(LEADER_POLLING_NOTIFIED) | TO(LEADER_READING),
    [LEADER_POLLING_NOTIFIED] = TO(LEADER_READING),
};

static void set_leader_state(struct jp_client *client, enum leader_state to)
{
  assert(client_is_locked(client));
  ASSERT_TRANSITION(leader_transitions, client->leader_state, to);
  client->leader_state = to;
}

static void begin_leading(struct jp_client *client, struct waiter *leader)
{
  set_leader_state(client, LEADER_READING);
  client->leader = leader;
}

static void end_leading(struct jp_client *client)
{
  set_leader_state(client, LEADER_NONE);
  client->leader = NULL;
}

/* ---- waking ---- */

void client_notify_leader(struct jp_client *client)
{
  enum leader_state state = client->leader_state;
  if (state == LEADER_BUSY_POLLING)
    set_leader_state(client, LEADER_BUSY_POLLING_NOTIFIED);
  else if (state == LEADER_POLLING || state == LEADER_POLLING_TO_WRITE)
    set_leader_state(client, LEADER_POLLING_NOTIFIED);
  else
    return;
  (void)eventfd_write(client->wake_fd, 1); /* never full: it is read before it is written again */
}

/* Ends a poll. True: the leader was notified. */
static bool end_poll(struct jp_client *client)
{
  eventfd_t count;
  bool was_notified =
      client->leader_state == LEADER_BUSY_POLLING_NOTIFIED || client->leader_state == LEADER_POLLING_NOTIFIED;
  if (was_notified)
    (void)eventfd_read(client->wake_fd, &count);
  set_leader_state(client, LEADER_READING);
  return was_notified;
}

void client_wake_waiter(struct jp_client *client, struct waiter *waiter)
{
  if (waiter == client->leader)
    client_notify_leader(client);
  else if (waiter->state == WAITER_ASLEEP)
    pthread_cond_signal(&waiter->wake);
}

void client_end_wait(struct jp_client *client, struct waiter *waiter)
{
  waiter->left = 0;
  waiter->last_call = client->callbacks.last_number;
  client_wake_waiter(client, waiter);
}

void client_end_output_waits(struct jp_client *client, enum jp_client_status status,
                             const struct jp_client_error *error)
{
  while (client->output_waiters != NULL) {
    struct waiter *waiter = client->output_waiters;
    client->output_waiters = waiter->next_output_waiter;
    waiter->status = status;
    if (status != JP_CLIENT_OK && waiter->error != NULL)
      *waiter->error = *error;
    client_end_wait(client, waiter);
  }
}

enum jp_client_status client_await_output(struct jp_client *client, int64_t deadline_ns,
                                          struct jp_client_error *error)
{
  struct waiter waiter = {.left = 1, .error = error, .next_output_waiter = client->output_waiters};
  if (!client_is_open(client) || !client->kind->wants_to_write(client->transport))
    return client_report_end(client, error);
  client->output_waiters = &waiter;
  enum wait_end end = client_wait(client, &waiter, deadline_ns);
  if (end == WAIT_OVER)
    return waiter.status;
  struct waiter **at = &client->output_waiters;
  while (*at != &waiter)
    at = &(*at)->next_output_waiter;
  *at = waiter.next_output_waiter;
  if (end == WAIT_INTERRUPTED)
    return client_fail(error, JP_CLIENT_INTERRUPTED,
                       "the wait for the peer to receive the message was interrupted");
  return client_fail(error, JP_CLIENT_TIMEOUT, "the peer did not receive the message in time");
}

/* ---- sleeping ---- */

static const uint16_t waiter_transitions[] = {
    [WAITER_NEW] = TO(WAITER_ASLEEP),
    [WAITER_ASLEEP] = TO(WAITER_ACTIVE),
    [WAITER_ACTIVE] = TO(WAITER_ASLEEP),
};

static void set_waiter_state(struct waiter *waiter, enum waiter_state to)
{
  ASSERT_TRANSITION(waiter_transitions, waiter->state, to);
  waiter->state = to;
}

static bool has_nothing_to_do(const struct waiter *waiter)
{
  return waiter->left > 0 && waiter->call == NULL;
}

/* Sleeps until the wait is over, there is a call to run, or nobody leads. False: timed out. */
static bool sleep_as_waiter(struct jp_client *client, struct waiter *waiter, int64_t deadline_ns)
{
  const struct timespec until = clock_timespec(deadline_ns);
  int failure = 0;
  if (waiter->state == WAITER_NEW)
    clock_init_condition(&waiter->wake);
  set_waiter_state(waiter, WAITER_ASLEEP);
  waiter->next = client->sleepers;
  waiter->previous = NULL;
  if (client->sleepers != NULL)
    client->sleepers->previous = waiter;
  client->sleepers = waiter;
  while (has_nothing_to_do(waiter) && client->leader_state != LEADER_NONE && failure != ETIMEDOUT) {
    if (deadline_ns == INT64_MAX)
      pthread_cond_wait(&waiter->wake, &client->lock);
    else
      failure = pthread_cond_timedwait(&waiter->wake, &client->lock, &until);
  }
  if (waiter->previous != NULL)
    waiter->previous->next = waiter->next;
  else
    client->sleepers = waiter->next;
  if (waiter->next != NULL)
    waiter->next->previous = waiter->previous;
  set_waiter_state(waiter, WAITER_ACTIVE);
  return failure != ETIMEDOUT;
}

/* ---- reading for all ---- */

/* Why one round of a wait (a poll, a time as the leader, or a sleep) ended. */
enum round_end {
  ROUND_GOES_ON,
  ROUND_SIGNALLED, /* a signal arrived during the poll */
  ROUND_LATE,
  ROUND_INTERRUPTED /* the caller's hook ended the wait */
};

void client_prepare_sleep(struct jp_client *client)
{
  const struct transport_kind *kind = client->kind;
  bool somebody_sleeps = client_is_polled(client) || client->loop.epoll_fd >= 0;
  if (!client_is_open(client) || client_is_busy_polled(client) || !somebody_sleeps)
    return;
  if (kind->sleep != NULL ? kind->sleep(client->transport) : client_has_input(client)) {
    client_notify_leader(client);
    client_wake_loop(client);
  }
}

/* The rest of the time in ms, rounded up. */
static int poll_timeout(int64_t deadline_ns)
{
  if (deadline_ns == INT64_MAX)
    return -1;
  int64_t left_ns = deadline_ns - clock_now_ns();
  int64_t left_ms = left_ns <= 0 ? 0 : (left_ns + NS_IN_MS - 1) / NS_IN_MS;
  return left_ms > INT_MAX ? INT_MAX : (int)left_ms;
}

/* Busy-polls memory without the lock. True: there is input, or the leader was notified. */
static bool busy_poll(struct jp_client *client)
{
  struct client_transport *transport = client->transport;
  const struct transport_kind *kind = client->kind;
  if (kind->busy_poll == NULL || !kind->begin_busy_poll(transport))
    return false;
  set_leader_state(client, LEADER_BUSY_POLLING);
  client_unlock(client);
  bool found = kind->busy_poll(transport);
  client_lock(client);
  return end_poll(client) || found;
}

/* Waits, without the lock, for input or for room to write. *was_signalled: a signal arrived. */
static short poll_connection(struct jp_client *client, int timeout_ms, bool *was_signalled)
{
  struct client_transport *transport = client->transport;
  if (client->kind->sleep != NULL && client->kind->sleep(transport))
    return POLLIN;
  bool writes = client_polls_writing(client);
  struct pollfd polled[] = {
      {.fd = client->kind->descriptor(transport), .events = (short)(POLLIN | (writes ? POLLOUT : 0))},
      {.fd = client->wake_fd, .events = POLLIN}};
  set_leader_state(client, writes ? LEADER_POLLING_TO_WRITE : LEADER_POLLING);
  client_unlock(client);
  int ready = poll(polled, sizeof polled / sizeof polled[0], timeout_ms);
  client_lock(client);
  *was_signalled = ready < 0;
  (void)end_poll(client);
  return ready > 0 ? polled[0].revents : 0;
}

/* Polls the connection and reads once. */
static enum round_end read_once(struct jp_client *client, int64_t deadline_ns)
{
  short ready = POLLIN;
  bool in_time = true;
  bool was_signalled = false;
  if (client_has_input(client) || busy_poll(client)) {
    in_time = deadline_ns == INT64_MAX || clock_coarse_ms() * NS_IN_MS < deadline_ns;
  } else {
    int timeout_ms = poll_timeout(deadline_ns);
    ready = poll_connection(client, timeout_ms, &was_signalled);
    in_time = timeout_ms != 0;
  }
  if (client_close_transport(client))
    return ROUND_GOES_ON;
  if ((ready & POLLOUT) != 0)
    client_flush(client);
  if ((ready & ~POLLOUT) != 0 && client_is_open(client))
    client_read(client);
  return !in_time ? ROUND_LATE : was_signalled ? ROUND_SIGNALLED : ROUND_GOES_ON;
}

static enum round_end read_as_leader(struct jp_client *client, struct waiter *waiter, int64_t deadline_ns)
{
  enum round_end end = ROUND_GOES_ON;
  begin_leading(client, waiter);
  while (has_nothing_to_do(waiter) && end == ROUND_GOES_ON &&
         !(waiter->runs_calls && client->callbacks.ended != NULL))
    end = read_once(client, deadline_ns);
  end_leading(client);
  return end;
}

void client_pass_lead(struct jp_client *client)
{
  if (client->leader_state == LEADER_NONE && client->sleepers != NULL)
    pthread_cond_signal(&client->sleepers->wake);
  else
    client_prepare_sleep(client);
}

/* True: the caller's hook ends the wait. Another thread reads during that time, because the hook may be
 * slow. */
static bool check_interrupt(struct jp_client *client, struct waiter *waiter)
{
  bool (*interrupted)(void *) = client->interrupted;
  client_pass_lead(client);
  client_unlock(client);
  bool is_over = interrupted(client->interrupted_context);
  client_lock(client);
  waiter->check_ms = 0;
  return is_over;
}

/* Returns when the hook is asked next. This time is kept over the calls that the thread runs, so that they do
 * not delay it. */
static int64_t next_check_ns(struct jp_client *client, struct waiter *waiter)
{
  if (client->interrupted == NULL)
    return INT64_MAX;
  if (waiter->check_ms == 0)
    waiter->check_ms = clock_coarse_ms() + CHECK_INTERRUPT_MS;
  return waiter->check_ms * NS_IN_MS;
}

/* Reads, or sleeps while another thread reads. Never returns ROUND_SIGNALLED: after a signal only the hook is
 * asked. */
static enum round_end wait_once(struct jp_client *client, struct waiter *waiter, int64_t deadline_ns)
{
  int64_t check_ns = next_check_ns(client, waiter);
  int64_t until_ns = check_ns < deadline_ns ? check_ns : deadline_ns;
  enum round_end end = ROUND_GOES_ON;
  if (client->leader_state == LEADER_NONE)
    end = read_as_leader(client, waiter, until_ns);
  else if (!sleep_as_waiter(client, waiter, until_ns))
    end = ROUND_LATE;
  bool is_due = end != ROUND_GOES_ON || clock_coarse_ms() >= waiter->check_ms;
  if (client->interrupted != NULL && waiter->left > 0 && is_due && check_interrupt(client, waiter))
    return ROUND_INTERRUPTED;
  return end == ROUND_LATE && until_ns == deadline_ns && waiter->left > 0 ? ROUND_LATE : ROUND_GOES_ON;
}

enum wait_end client_wait(struct jp_client *client, struct waiter *waiter, int64_t deadline_ns)
{
  enum round_end end = ROUND_GOES_ON;
  while (end == ROUND_GOES_ON) {
    if (callback_run_one(client, waiter)) {
      bool in_time = waiter->left == 0 || deadline_ns == INT64_MAX || clock_now_ns() < deadline_ns;
      end = in_time ? ROUND_GOES_ON : ROUND_LATE;
    } else if (waiter->left == 0) {
      break;
    } else {
      end = wait_once(client, waiter, deadline_ns);
    }
  }
  client_pass_lead(client);
  if (waiter->state != WAITER_NEW)
    pthread_cond_destroy(&waiter->wake);
  if (waiter->left == 0)
    return WAIT_OVER;
  return end == ROUND_LATE ? WAIT_TIMED_OUT : WAIT_INTERRUPTED;
}

/* ---- the descriptor of the program's loop ---- */

void client_loop_init(struct client_loop *loop)
{
  *loop = (struct client_loop){.epoll_fd = -1, .wake_fd = -1, .timer_fd = -1, .timer_ns = INT64_MAX};
}

static void close_descriptor(int *fd)
{
  if (*fd >= 0)
    close(*fd);
  *fd = -1;
}

void client_loop_fini(struct client_loop *loop)
{
  close_descriptor(&loop->epoll_fd);
  close_descriptor(&loop->wake_fd);
  close_descriptor(&loop->timer_fd);
}

void client_wake_loop(struct jp_client *client)
{
  struct client_loop *loop = &client->loop;
  if (loop->epoll_fd < 0 || loop->is_woken)
    return;
  loop->is_woken = true;
  (void)eventfd_write(loop->wake_fd, 1); /* never full: it is read before it is written again */
}

static void drain_wakeup(struct client_loop *loop)
{
  eventfd_t count;
  if (loop->is_woken)
    (void)eventfd_read(loop->wake_fd, &count);
  loop->is_woken = false;
}

static const uint16_t loop_watch_transitions[] = {
    [LOOP_UNWATCHED] = TO(LOOP_INPUT) | TO(LOOP_INPUT_ROOM),
    [LOOP_INPUT] = TO(LOOP_INPUT_ROOM) | TO(LOOP_UNWATCHED),
    [LOOP_INPUT_ROOM] = TO(LOOP_INPUT) | TO(LOOP_UNWATCHED),
};

static void set_loop_watch(struct jp_client *client, enum loop_watch to)
{
  assert(client_is_locked(client));
  ASSERT_TRANSITION(loop_watch_transitions, client->loop.watch, to);
  client->loop.watch = to;
}

void client_watch_connection(struct jp_client *client)
{
  struct client_loop *loop = &client->loop;
  if (loop->epoll_fd < 0 || !client_is_open(client))
    return;
  if (client_has_input(client)) { /* the connection's descriptor may no longer show this input */
    if (client->processors == 0)  /* otherwise the last of them finds the input */
      client_wake_loop(client);
    client_notify_leader(client);
  }
  enum loop_watch watch = client_polls_writing(client) ? LOOP_INPUT_ROOM : LOOP_INPUT;
  if (watch == loop->watch)
    return;
  struct epoll_event event = {.events = EPOLLIN | (watch == LOOP_INPUT_ROOM ? (uint32_t)EPOLLOUT : 0)};
  int operation = loop->watch == LOOP_UNWATCHED ? EPOLL_CTL_ADD : EPOLL_CTL_MOD;
  /* Fails only if the system is out of memory; then the next call tries again. */
  if (epoll_ctl(loop->epoll_fd, operation, client->kind->descriptor(client->transport), &event) == 0)
    set_loop_watch(client, watch);
}

/* Closing a descriptor does not remove it from the epoll set while a child process holds it too. */
void client_forget_connection(struct jp_client *client)
{
  struct client_loop *loop = &client->loop;
  if (loop->watch == LOOP_UNWATCHED)
    return;
  epoll_ctl(loop->epoll_fd, EPOLL_CTL_DEL, client->kind->descriptor(client->transport), NULL);
  set_loop_watch(client, LOOP_UNWATCHED);
}

void client_set_timer(struct jp_client *client, int64_t at_ns)
{
  struct client_loop *loop = &client->loop;
  struct itimerspec when = {0}; /* zero: none */
  loop->timer_ns = at_ns;
  if (at_ns != INT64_MAX)
    when.it_value = (struct timespec){.tv_sec = at_ns / NS_IN_S, .tv_nsec = at_ns % NS_IN_S};
  if (loop->timer_fd >= 0)
    timerfd_settime(loop->timer_fd, TFD_TIMER_ABSTIME, &when, NULL);
}

static bool watch_descriptor(int epoll_fd, int fd)
{
  struct epoll_event event = {.events = EPOLLIN};
  return fd >= 0 && epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &event) == 0;
}

static void create_loop(struct jp_client *client)
{
  struct client_loop *loop = &client->loop;
  loop->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
  loop->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  loop->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
  if (loop->epoll_fd < 0 || !watch_descriptor(loop->epoll_fd, loop->wake_fd) ||
      !watch_descriptor(loop->epoll_fd, loop->timer_fd)) {
    client_loop_fini(loop);
    return;
  }
  client_watch_connection(client);
  client_prepare_sleep(client);
  client_set_timer(client, loop->timer_ns);
  if (client->completed.count > 0 || callback_has_waiting(client) || !client_is_open(client))
    client_wake_loop(client);
}

int jp_client_descriptor(struct jp_client *client)
{
  if (fork_guard_is_child(&client->fork_guard))
    return -1;
  client_lock(client);
  if (client->loop.epoll_fd < 0 && !client_is_closed(client))
    create_loop(client);
  int fd = client->loop.epoll_fd;
  client_unlock(client);
  return fd;
}

/* ---- processing ---- */

static const uint16_t processed_by_transitions[] = {
    [PROCESSED_NEVER] = TO(PROCESSED_BY_ONE) | TO(PROCESSED_BY_MANY),
    [PROCESSED_BY_ONE] = TO(PROCESSED_BY_MANY),
    [PROCESSED_BY_MANY] = 0,
};

static void set_processed_by(struct jp_client *client, enum processed_by to)
{
  assert(client_is_locked(client));
  ASSERT_TRANSITION(processed_by_transitions, client->processed_by, to);
  client->processed_by = to;
}

void client_need_processors(struct jp_client *client)
{
  if (client->processed_by != PROCESSED_BY_MANY)
    set_processed_by(client, PROCESSED_BY_MANY);
}

/* Messages that completions write are sent together, after jp_client_process has called all completions. */
bool client_is_processing(const struct jp_client *client)
{
  return client->has_processor && pthread_equal(client->processor, pthread_self());
}

/* Busy-polls inside jp_client_process. The thread counts as the leader during the poll, so threads that begin
 * to wait sleep, and a connection that fails is closed only after the poll. */
static bool poll_for_answers(struct jp_client *client)
{
  struct waiter nobody = {.left = 1};
  if (!client_is_open(client) || client->leader_state != LEADER_NONE)
    return false;
  begin_leading(client, &nobody);
  bool found = busy_poll(client);
  end_leading(client);
  (void)client_close_transport(client);
  if (client->sleepers != NULL)
    pthread_cond_signal(&client->sleepers->wake);
  return found;
}

/* Reads for all threads. Afterwards the lock is released while completions run. A leader and other threads in
 * jp_client_process may then sleep on the connection's descriptor, so the descriptor must show new input. */
static void read_for_all(struct jp_client *client)
{
  client_read(client);
  if (client_is_polled(client) || client->processed_by == PROCESSED_BY_MANY)
    client_prepare_sleep(client);
}

static void process_once(struct jp_client *client, bool runs_calls)
{
  if (client_is_open(client))
    read_for_all(client);
  int64_t now_ns = client->loop.timer_ns == INT64_MAX ? 0 : clock_now_ns();
  if (client->loop.timer_ns <= now_ns)
    client_end_overdue(client, now_ns);
  client_call_completions(client);
  if (runs_calls)
    callback_run_waiting(client);
  if (client_is_open(client))
    client_flush(client);
}

/* Repeats as long as the next answers arrive at once, if the transport can be busy-polled. */
static void process_repeatedly(struct jp_client *client, bool runs_calls)
{
  enum { TIMES_MAX = 16 };
  drain_wakeup(&client->loop);
  process_once(client, runs_calls);
  for (int i = 1; i < TIMES_MAX && client->completions_pending > 0 && client->completed.count == 0; i++) {
    if (!poll_for_answers(client))
      break;
    process_once(client, runs_calls);
  }
}

/* Leaves the descriptor readable if there is more to do: completions or calls that arrived during the last
 * flush, or input that the connection's descriptor does not show. Returns whether there are completions or
 * calls. */
static bool update_wakeup(struct jp_client *client)
{
  bool has_more = client->completed.count > 0 || callback_has_waiting(client);
  if (has_more || (client_is_open(client) && client_has_input(client)))
    client_wake_loop(client);
  else
    drain_wakeup(&client->loop);
  client_prepare_sleep(client);
  return has_more;
}

static enum jp_client_status process_client(struct jp_client *client, bool runs_calls,
                                            struct jp_client_error *error)
{
  enum jp_client_status status = client_check_process(client, error);
  if (status != JP_CLIENT_OK)
    return status;
  client_lock(client);
  client->holders++;
  client->processors++;
  if (client->processed_by == PROCESSED_NEVER)
    set_processed_by(client, PROCESSED_BY_ONE);
  else if (client->processed_by == PROCESSED_BY_ONE && !pthread_equal(client->last_processor, pthread_self()))
    set_processed_by(client, PROCESSED_BY_MANY);
  client->last_processor = pthread_self();
  bool is_first = !client->has_processor;
  if (is_first) {
    client->has_processor = true;
    client->processor = pthread_self();
  }
  process_repeatedly(client, runs_calls);
  if (is_first)
    client->has_processor = false;
  client->processors--;
  callbacks_report_ended(client);
  status = update_wakeup(client) ? JP_CLIENT_OK : client_report_end(client, error);
  client_leave(client);
  return status;
}

enum jp_client_status jp_client_process(struct jp_client *client, struct jp_client_error *error)
{
  return process_client(client, true, error);
}

enum jp_client_status jp_client_process_answers(struct jp_client *client, struct jp_client_error *error)
{
  return process_client(client, false, error);
}

bool jp_client_await_calls(struct jp_client *client, unsigned microseconds)
{
  const struct timespec time = {.tv_sec = microseconds / US_IN_S,
                                .tv_nsec = (long)(microseconds % US_IN_S) * NS_IN_US};
  if (fork_guard_is_child(&client->fork_guard))
    return false;
  client_lock(client);
  client->holders++;
  bool may_wait = client->loop.wake_fd >= 0 && client->leader_state != LEADER_NONE && client_is_open(client);
  struct pollfd polled = {.fd = client->loop.wake_fd, .events = POLLIN};
  if (may_wait && !callback_has_waiting(client)) {
    client_unlock(client);
    (void)ppoll(&polled, 1, &time, NULL);
    client_lock(client);
  }
  bool has_calls = callback_has_waiting(client);
  client_leave(client);
  return has_calls;
}
