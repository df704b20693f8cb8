/* Requests whose answers are told to completions, on the caller's own loop. */
#include "base/clock.h"
#include "client/client_state.h"

#include <errno.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

enum { NS_IN_S = 1000000000, NS_IN_MS = 1000000, US_IN_S = 1000000, NS_IN_US = 1000 };

/* ---- the descriptor ---- */

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
  if (loop->epoll_fd < 0 || client->transport == NULL || client->ended.status != JP_CLIENT_OK)
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

static void set_timer(struct client_loop *loop, int64_t at_ns)
{
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
  set_timer(loop, loop->timer_ns);
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

/* ---- sending ---- */

/* What completions send leaves together, when jp_client_process has called all of them. */
static bool is_processing(const struct jp_client *client)
{
  return client->has_processor && pthread_equal(client->processor, pthread_self());
}

static enum jp_client_status write_request(struct jp_client *client, const struct jp_request *request,
                                           struct pending *pending, struct jp_client_error *error)
{
  enum jp_client_status status = client_check_pending(client, 1, error);
  if (status != JP_CLIENT_OK)
    return status;
  if (!completion_queue_reserve(&client->completed,
                                client->completed.count + client->completions_pending + 1))
    return client_fail(error, JP_CLIENT_NO_MEMORY, "no memory for a request");
  client_write_releases(client, callback_within(client));
  pending->id = client->last_id + 1;
  pending->first_id = pending->id;
  struct buffer *out = client_begin_message(client);
  status = client_write_request(client, request, pending->id, out, error);
  if (status == JP_CLIENT_OK && (out->failed || !pending_table_add(&client->pending, pending)))
    status = client_fail(error, JP_CLIENT_NO_MEMORY, "no memory for a request");
  if (status != JP_CLIENT_OK) {
    client->kind->take_back(client->transport);
    return status;
  }
  client->last_id = pending->id;
  client->completions_pending++;
  client_end_message(client, true);
  callbacks_end_message(client, NULL);
  return JP_CLIENT_OK;
}

/* The coarse clock is up to a tick behind, of 10 ms at most. Asking the other one is a tenth of the library's
 * own time of a pipelined call. */
static int64_t coarse_deadline(int timeout_ms)
{
  enum { TICK_MS = 10 };
  return timeout_ms < 0 ? INT64_MAX : (clock_coarse_ms() + TICK_MS + timeout_ms) * NS_IN_MS;
}

enum jp_client_status jp_client_send(struct jp_client *client, const struct jp_request *request,
                                     int timeout_ms, jp_client_completion *completion, void *context,
                                     struct jp_client_error *error)
{
  enum jp_client_status status = client_check_process(client, error);
  if (status != JP_CLIENT_OK)
    return status;
  int64_t deadline_ns = coarse_deadline(timeout_ms);
  struct pending pending = {
      .kind = PENDING_COMPLETED,
      .form = answer_form_of(request),
      .as = {.completed = {.function = completion, .context = context, .deadline_ns = deadline_ns}}};
  client_lock(client);
  client->holders++;
  status = client_connect(client, deadline_ns, error);
  if (status == JP_CLIENT_OK)
    status = write_request(client, request, &pending, error);
  if (status == JP_CLIENT_OK) {
    if (deadline_ns < client->loop.timer_ns)
      set_timer(&client->loop, deadline_ns);
    if (!is_processing(client) || ++client->unflushed == client->kind->flushed_after)
      client_flush(client);
  }
  callbacks_report_ended(client);
  client_leave(client);
  return status;
}

/* ---- processing ---- */

/* Looks at all requests, and the more there are the more seldom: 1 ms later for 8,192 places. */
static void end_overdue(struct jp_client *client, int64_t now_ns)
{
  enum { PLACES_A_MS = 8192 };
  struct pending_table *table = &client->pending;
  struct jp_client_error late;
  int64_t next_ns = INT64_MAX;
  client_fail(&late, JP_CLIENT_TIMEOUT, "no answer in time");
  for (size_t i = 0; i < table->capacity; i++) {
    struct pending *request = &table->places[i];
    if (request->id == 0 || request->kind != PENDING_COMPLETED)
      continue;
    int64_t deadline_ns = request->as.completed.deadline_ns;
    if (deadline_ns > now_ns) {
      next_ns = deadline_ns < next_ns ? deadline_ns : next_ns;
      continue;
    }
    client_end_request(client, request, JP_CLIENT_TIMEOUT, NULL, &late);
    request->kind = PENDING_ABANDONED;
  }
  int64_t soonest_ns = now_ns + (int64_t)(table->capacity / PLACES_A_MS) * NS_IN_MS;
  set_timer(&client->loop, next_ns > soonest_ns ? next_ns : soonest_ns);
}

void client_call_completions(struct jp_client *client)
{
  struct completion completion;
  while (completion_queue_pop(&client->completed, &completion)) {
    client_unlock(client);
    completion.function(completion.context, completion.status, completion.answer);
    client_lock(client);
  }
}

static bool is_open(const struct jp_client *client)
{
  return client->transport != NULL && client->ended.status == JP_CLIENT_OK;
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
  if (is_open(client))
    read_for_all(client);
  int64_t now_ns = client->loop.timer_ns == INT64_MAX ? 0 : clock_now_ns();
  if (client->loop.timer_ns <= now_ns)
    end_overdue(client, now_ns);
  client_call_completions(client);
  if (runs_calls)
    callback_run_waiting(client);
  if (is_open(client))
    client_flush(client);
}

/* Goes on as long as the next answers come at once, where they can be looked for. */
static void process(struct jp_client *client, bool runs_calls)
{
  enum { TIMES_MAX = 16 };
  answer_wake(&client->loop);
  process_once(client, runs_calls);
  for (int i = 1; i < TIMES_MAX && client->completions_pending > 0 && client->completed.count == 0; i++) {
    if (!client_look(client))
      break;
    process_once(client, runs_calls);
  }
}

/* Leaves the descriptor readable where there is more to do: completions that the last flush has made and
 * calls that have come since, which it says, or input that the connection's descriptor does not show. */
static bool settle_wake(struct jp_client *client)
{
  bool has_more = client->completed.count > 0 || callback_has_waiting(client);
  if (has_more || (is_open(client) && client_has_input(client)))
    client_wake_loop(client);
  else
    answer_wake(&client->loop);
  client_rest(client);
  return has_more;
}

static void note_processor(struct jp_client *client)
{
  client->has_many_processors |=
      client->was_processed && !pthread_equal(client->last_processor, pthread_self());
  client->last_processor = pthread_self();
  client->was_processed = true;
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
  note_processor(client);
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
