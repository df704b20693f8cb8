/*
 * Who reads the connection. Of the threads that wait for an answer one, the leader, polls and reads for all; the others
 * sleep. Where the program has a loop, jp_client_process reads when the client's descriptor is readable.
 */
#include "base/clock.h"
#include "client/client_state.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

enum { NS_IN_S = 1000000000, NS_IN_MS = 1000000, US_IN_S = 1000000, NS_IN_US = 1000 };
enum { ASK_MS = 250 /* how often the caller's hook is asked whether the wait is interrupted */ };

/* ---- waking ---- */

void client_call_leader(struct jp_client *client)
{
  if (!client->is_polled || client->leader_is_called)
    return;
  client->leader_is_called = true;
  (void)eventfd_write(client->wake_fd, 1); /* it cannot be full: it is read before it is written again */
}

static void answer_call(struct jp_client *client)
{
  eventfd_t count;
  if (client->leader_is_called)
    (void)eventfd_read(client->wake_fd, &count);
  client->leader_is_called = false;
}

void client_wake_waiter(struct jp_client *client, struct waiter *waiter)
{
  if (waiter == client->leader)
    client_call_leader(client);
  else if (waiter->sleeps)
    pthread_cond_signal(&waiter->wake);
}

void client_end_wait(struct jp_client *client, struct waiter *waiter)
{
  waiter->left = 0;
  waiter->last_call = client->callbacks.last_number;
  client_wake_waiter(client, waiter);
}

void client_give_room(struct jp_client *client, enum jp_client_status status,
                      const struct jp_client_error *error)
{
  while (client->roomless != NULL) {
    struct waiter *waiter = client->roomless;
    client->roomless = waiter->next_roomless;
    waiter->status = status;
    if (status != JP_CLIENT_OK && waiter->error != NULL)
      *waiter->error = *error;
    client_end_wait(client, waiter);
  }
}

enum jp_client_status client_await_room(struct jp_client *client, int64_t deadline_ns,
                                        struct jp_client_error *error)
{
  struct waiter waiter = {.left = 1, .error = error, .next_roomless = client->roomless};
  if (client->ended.status != JP_CLIENT_OK || !client->kind->wants_to_write(client->transport))
    return client_report_end(client, error);
  client->roomless = &waiter;
  if (client_wait(client, &waiter, deadline_ns))
    return waiter.status;
  struct waiter **at = &client->roomless;
  while (*at != &waiter)
    at = &(*at)->next_roomless;
  *at = waiter.next_roomless;
  if (waiter.was_interrupted)
    return client_fail(error, JP_CLIENT_INTERRUPTED,
                       "the wait for the peer to take the message was interrupted");
  return client_fail(error, JP_CLIENT_TIMEOUT, "the peer did not take the message in time");
}

/* ---- sleeping ---- */

static bool has_nothing_to_do(const struct waiter *waiter)
{
  return waiter->left > 0 && waiter->call == NULL;
}

/* Until its wait is over, there is a call to run, or nobody reads. False: not in time. */
static bool sleep_on(struct jp_client *client, struct waiter *waiter, int64_t deadline_ns)
{
  const struct timespec until = {.tv_sec = deadline_ns / NS_IN_S, .tv_nsec = deadline_ns % NS_IN_S};
  int failure = 0;
  if (!waiter->has_wake)
    pthread_cond_init(&waiter->wake, NULL);
  waiter->has_wake = true;
  waiter->sleeps = true;
  waiter->next = client->sleepers;
  waiter->previous = NULL;
  if (client->sleepers != NULL)
    client->sleepers->previous = waiter;
  client->sleepers = waiter;
  while (has_nothing_to_do(waiter) && client->leader != NULL && failure != ETIMEDOUT) {
    if (deadline_ns == INT64_MAX)
      pthread_cond_wait(&waiter->wake, &client->lock);
    else
      failure = pthread_cond_clockwait(&waiter->wake, &client->lock, CLOCK_MONOTONIC, &until);
  }
  if (waiter->previous != NULL)
    waiter->previous->next = waiter->next;
  else
    client->sleepers = waiter->next;
  if (waiter->next != NULL)
    waiter->next->previous = waiter->previous;
  waiter->sleeps = false;
  return failure != ETIMEDOUT;
}

/* ---- reading for all ---- */

void client_rest(struct jp_client *client)
{
  const struct transport_kind *kind = client->kind;
  bool somebody_sleeps = client->is_polled || client->loop.epoll_fd >= 0;
  if (!client_is_open(client) || client->is_looking || !somebody_sleeps)
    return;
  if (kind->sleep != NULL ? kind->sleep(client->transport) : client_has_input(client)) {
    client_call_leader(client);
    client_wake_loop(client);
  }
}

/* Rounded up. */
static int poll_timeout(int64_t deadline_ns)
{
  if (deadline_ns == INT64_MAX)
    return -1;
  int64_t left_ns = deadline_ns - clock_now_ns();
  int64_t left_ms = left_ns <= 0 ? 0 : (left_ns + NS_IN_MS - 1) / NS_IN_MS;
  return left_ms > INT_MAX ? INT_MAX : (int)left_ms;
}

/* Looks without the lock. True: there is something to read, or the leader was called meanwhile. */
static bool look_awake(struct jp_client *client)
{
  struct client_transport *transport = client->transport;
  const struct transport_kind *kind = client->kind;
  if (kind->look == NULL || !kind->begin_look(transport))
    return false;
  client->is_polled = true;
  client->is_looking = true;
  client_unlock(client);
  bool found = kind->look(transport);
  client_lock(client);
  client->is_polled = false;
  client->is_looking = false;
  found |= client->leader_is_called;
  answer_call(client);
  return found;
}

/* Waits, without the lock, until there is something to read, or room to write. */
static short poll_connection(struct jp_client *client, struct waiter *waiter, int timeout_ms)
{
  struct client_transport *transport = client->transport;
  if (client->kind->sleep != NULL && client->kind->sleep(transport))
    return POLLIN;
  bool writes = client_polls_writing(client);
  struct pollfd polled[] = {
      {.fd = client->kind->descriptor(transport), .events = (short)(POLLIN | (writes ? POLLOUT : 0))},
      {.fd = client->wake_fd, .events = POLLIN}};
  client->is_polled = true;
  client->is_polled_to_write = writes;
  client_unlock(client);
  int ready = poll(polled, sizeof polled / sizeof polled[0], timeout_ms);
  client_lock(client);
  client->is_polled = false;
  waiter->is_interrupted = ready < 0;
  answer_call(client);
  return ready > 0 ? polled[0].revents : 0;
}

/* One look at the connection. False: the time was over. */
static bool read_once(struct jp_client *client, struct waiter *waiter, int64_t deadline_ns)
{
  short ready = POLLIN;
  bool in_time = true;
  if (client_has_input(client) || look_awake(client)) {
    in_time = deadline_ns == INT64_MAX || clock_coarse_ms() * NS_IN_MS < deadline_ns;
  } else {
    int timeout_ms = poll_timeout(deadline_ns);
    ready = poll_connection(client, waiter, timeout_ms);
    in_time = timeout_ms != 0;
  }
  if (client->ended.status != JP_CLIENT_OK) {
    client_close_transport(client);
    return true;
  }
  if ((ready & POLLOUT) != 0)
    client_flush(client);
  if ((ready & ~POLLOUT) != 0 && client->ended.status == JP_CLIENT_OK)
    client_read(client);
  return in_time;
}

static bool lead(struct jp_client *client, struct waiter *waiter, int64_t deadline_ns)
{
  bool in_time = true;
  client->leader = waiter;
  waiter->is_interrupted = false;
  while (has_nothing_to_do(waiter) && in_time && !waiter->is_interrupted &&
         !(waiter->runs_calls && client->callbacks.ended != NULL))
    in_time = read_once(client, waiter, deadline_ns);
  client->leader = NULL;
  return in_time;
}

void client_hand_on_lead(struct jp_client *client)
{
  if (client->leader == NULL && client->sleepers != NULL)
    pthread_cond_signal(&client->sleepers->wake);
  else
    client_rest(client);
}

/* True: the caller's hook ends the wait. Others read meanwhile: the hook may take its time. */
static bool ask_hook(struct jp_client *client, struct waiter *waiter)
{
  bool (*interrupted)(void *) = client->interrupted;
  client_hand_on_lead(client);
  client_unlock(client);
  waiter->was_interrupted = interrupted(client->interrupted_context);
  client_lock(client);
  waiter->ask_ms = 0;
  return waiter->was_interrupted;
}

/* When the hook is to be asked next: calls that run in between do not put it off. */
static int64_t next_question_ns(struct jp_client *client, struct waiter *waiter)
{
  if (client->interrupted == NULL)
    return INT64_MAX;
  if (waiter->ask_ms == 0)
    waiter->ask_ms = clock_coarse_ms() + ASK_MS;
  return waiter->ask_ms * NS_IN_MS;
}

/* Reads, or sleeps while another thread reads. False: not in time, or the hook has ended the wait. */
static bool wait_once(struct jp_client *client, struct waiter *waiter, int64_t deadline_ns)
{
  int64_t ask_ns = next_question_ns(client, waiter);
  int64_t until_ns = ask_ns < deadline_ns ? ask_ns : deadline_ns;
  bool in_time = client->leader == NULL ? lead(client, waiter, until_ns) : sleep_on(client, waiter, until_ns);
  bool is_due = !in_time || waiter->is_interrupted || clock_coarse_ms() >= waiter->ask_ms;
  if (client->interrupted != NULL && waiter->left > 0 && is_due && ask_hook(client, waiter))
    return false;
  return in_time || until_ns < deadline_ns;
}

bool client_wait(struct jp_client *client, struct waiter *waiter, int64_t deadline_ns)
{
  bool in_time = true;
  while (in_time) {
    if (callback_run_one(client, waiter))
      in_time = waiter->left == 0 || deadline_ns == INT64_MAX || clock_now_ns() < deadline_ns;
    else if (waiter->left == 0)
      break;
    else
      in_time = wait_once(client, waiter, deadline_ns) || (waiter->left == 0 && !waiter->was_interrupted);
  }
  client_hand_on_lead(client);
  if (waiter->has_wake)
    pthread_cond_destroy(&waiter->wake);
  return waiter->left == 0;
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
  (void)eventfd_write(loop->wake_fd, 1); /* it cannot be full: it is read before it is written again */
}

static void answer_wake(struct client_loop *loop)
{
  eventfd_t count;
  if (loop->is_woken)
    (void)eventfd_read(loop->wake_fd, &count);
  loop->is_woken = false;
}

void client_watch_connection(struct jp_client *client)
{
  struct client_loop *loop = &client->loop;
  if (loop->epoll_fd < 0 || !client_is_open(client))
    return;
  if (client_has_input(client)) { /* which the descriptor may not show any more */
    if (client->processors == 0)  /* else the last of them finds it */
      client_wake_loop(client);
    client_call_leader(client);
  }
  bool writes = client_polls_writing(client);
  if (loop->watches_connection && loop->watches_writing == writes)
    return;
  struct epoll_event event = {.events = EPOLLIN | (writes ? (uint32_t)EPOLLOUT : 0)};
  int operation = loop->watches_connection ? EPOLL_CTL_MOD : EPOLL_CTL_ADD;
  /* It fails where the system is out of memory alone; then the next change tries again. */
  loop->watches_connection |=
      epoll_ctl(loop->epoll_fd, operation, client->kind->descriptor(client->transport), &event) == 0;
  loop->watches_writing = writes;
}

/* Closing a descriptor does not end its watch where a process that fork has made holds it as well. */
void client_forget_connection(struct jp_client *client)
{
  struct client_loop *loop = &client->loop;
  if (loop->watches_connection)
    epoll_ctl(loop->epoll_fd, EPOLL_CTL_DEL, client->kind->descriptor(client->transport), NULL);
  loop->watches_connection = false;
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

static bool watch(int epoll_fd, int fd)
{
  struct epoll_event event = {.events = EPOLLIN};
  return fd >= 0 && epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &event) == 0;
}

static void make_loop(struct jp_client *client)
{
  struct client_loop *loop = &client->loop;
  loop->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
  loop->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  loop->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
  if (loop->epoll_fd < 0 || !watch(loop->epoll_fd, loop->wake_fd) || !watch(loop->epoll_fd, loop->timer_fd)) {
    client_loop_fini(loop);
    return;
  }
  client_watch_connection(client);
  client_rest(client);
  client_set_timer(client, loop->timer_ns);
  if (client->completed.count > 0 || callback_has_waiting(client) || client->ended.status != JP_CLIENT_OK)
    client_wake_loop(client);
}

int jp_client_descriptor(struct jp_client *client)
{
  if (fork_guard_is_child(&client->fork_guard))
    return -1;
  client_lock(client);
  if (client->loop.epoll_fd < 0 && !client->is_closed)
    make_loop(client);
  int fd = client->loop.epoll_fd;
  client_unlock(client);
  return fd;
}

/* ---- processing ---- */

/* What completions send leaves together, when jp_client_process has called all of them. */
bool client_is_processing(const struct jp_client *client)
{
  return client->has_processor && pthread_equal(client->processor, pthread_self());
}

/* It leads meanwhile: so those that come to wait sleep, and what ends the connection leaves it open. */
static bool look_for_answers(struct jp_client *client)
{
  struct waiter nobody = {.left = 1};
  if (!client_is_open(client) || client->leader != NULL)
    return false;
  client->leader = &nobody;
  bool found = look_awake(client);
  client->leader = NULL;
  if (client->ended.status != JP_CLIENT_OK)
    client_close_transport(client);
  if (client->sleepers != NULL)
    pthread_cond_signal(&client->sleepers->wake);
  return found;
}

/* While completions run, the connection is nobody's. Those who sleep until its descriptor shows something
 * have to be told all the same: a leader, and other threads that process. */
static void read_for_all(struct jp_client *client)
{
  client_read(client);
  if (client->is_polled || client->has_many_processors)
    client_rest(client);
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

/* Goes on as long as the next answers come at once, where they can be looked for. */
static void process(struct jp_client *client, bool runs_calls)
{
  enum { TIMES_MAX = 16 };
  answer_wake(&client->loop);
  process_once(client, runs_calls);
  for (int i = 1; i < TIMES_MAX && client->completions_pending > 0 && client->completed.count == 0; i++) {
    if (!look_for_answers(client))
      break;
    process_once(client, runs_calls);
  }
}

/* Leaves the descriptor readable where there is more to do: completions that the last flush has made and
 * calls that have come since, which it says, or input that the connection's descriptor does not show. */
static bool settle_wake(struct jp_client *client)
{
  bool has_more = client->completed.count > 0 || callback_has_waiting(client);
  if (has_more || (client_is_open(client) && client_has_input(client)))
    client_wake_loop(client);
  else
    answer_wake(&client->loop);
  client_rest(client);
  return has_more;
}

static enum jp_client_status process_all(struct jp_client *client, bool runs_calls,
                                         struct jp_client_error *error)
{
  enum jp_client_status status = client_check_process(client, error);
  if (status != JP_CLIENT_OK)
    return status;
  client_lock(client);
  client->holders++;
  client->processors++;
  client->has_many_processors |=
      client->was_processed && !pthread_equal(client->last_processor, pthread_self());
  client->last_processor = pthread_self();
  client->was_processed = true;
  bool is_first = !client->has_processor;
  if (is_first) {
    client->has_processor = true;
    client->processor = pthread_self();
  }
  process(client, runs_calls);
  if (is_first)
    client->has_processor = false;
  client->processors--;
  callbacks_report_ended(client);
  status = settle_wake(client) ? JP_CLIENT_OK : client_report_end(client, error);
  client_leave(client);
  return status;
}

enum jp_client_status jp_client_process(struct jp_client *client, struct jp_client_error *error)
{
  return process_all(client, true, error);
}

enum jp_client_status jp_client_process_answers(struct jp_client *client, struct jp_client_error *error)
{
  return process_all(client, false, error);
}

bool jp_client_await_calls(struct jp_client *client, unsigned microseconds)
{
  const struct timespec time = {.tv_sec = microseconds / US_IN_S,
                                .tv_nsec = (long)(microseconds % US_IN_S) * NS_IN_US};
  if (fork_guard_is_child(&client->fork_guard))
    return false;
  client_lock(client);
  client->holders++;
  bool may_wait = client->loop.wake_fd >= 0 && client->leader != NULL && client->ended.status == JP_CLIENT_OK;
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
