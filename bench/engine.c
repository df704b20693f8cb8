#include "engine.h"

#include "base/clock.h"
#include "binary_message.h"
#include "link.h"
#include "processor_time.h"

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

enum { EVENTS_MAX = 256 };

/* A request that is not answered yet. */
struct pending {
  uint64_t id;
  uint64_t object;
  int64_t since_ns; /* when the call's first step began */
  unsigned step;
};

struct connection {
  struct link_listener listener; /* the first member, so that a listener can be cast to its connection */
  struct engine *engine;
  struct link *link;
  struct pending *window; /* a ring of in_flight places */
  unsigned first;
  unsigned count;
  uint64_t next_id;
  uint64_t receiver;
  uint64_t answered[WORKLOAD_STEPS_MAX];
  bool waits_to_write;
};

struct engine {
  const struct engine_config *config;
  const struct link_kind *kind;
  struct engine_result *result;
  struct workload_text setup[2]; /* request, answer */
  struct workload_text requests[WORKLOAD_STEPS_MAX];
  struct workload_text answers[WORKLOAD_STEPS_MAX];
  unsigned steps;
  struct connection *connections;
  struct buffer message; /* the message being made */
  int epoll_fd;
  int64_t now_ns; /* the time of the current read; 0: the clock was not read yet */
  int64_t begins_ns;
  int64_t server_begins_ns; /* processor time of the watched process */
  int64_t client_begins_ns; /* processor time of this process */
  int64_t ends_ns;          /* INT64_MAX: the run ends when `calls` are done */
  uint64_t begun;           /* calls, warm-up included */
  uint64_t done;
  uint64_t open;             /* requests without an answer */
  uint64_t next_memory_read; /* memory is read again when `done` has this value */
};

static int64_t now_of(struct engine *engine)
{
  if (engine->now_ns == 0)
    engine->now_ns = clock_now_ns();
  return engine->now_ns;
}

/* ---- the watched process ---- */

static uint64_t resident_kib(int pid)
{
  char path[64];
  unsigned long long pages = 0;
  snprintf(path, sizeof(path), "/proc/%d/statm", pid);
  FILE *file = fopen(path, "re");
  if (file == NULL)
    return 0;
  if (fscanf(file, "%*u %llu", &pages) != 1)
    pages = 0;
  fclose(file);
  return pages * ((uint64_t)sysconf(_SC_PAGESIZE) / 1024);
}

/* Called when a tenth of the calls is done, and then after each further hundredth. */
static void read_memory(struct engine *engine)
{
  const struct engine_config *config = engine->config;
  struct engine_memory *memory = &engine->result->memory;
  uint64_t kib = resident_kib(config->watch_pid);
  if (memory->at_tenth == 0)
    memory->at_tenth = kib;
  if (kib > memory->most)
    memory->most = kib;
  memory->at_end = kib;
  uint64_t hundredth = config->calls / 100;
  engine->next_memory_read = engine->done + (hundredth > 0 ? hundredth : 1);
}

/* ---- requests and answers ---- */

static void ask(struct connection *connection, const struct pending *request)
{
  struct engine *engine = connection->engine;
  struct workload_facts facts = {
      .id = connection->next_id++, .receiver = connection->receiver, .object = request->object};
  unsigned place = (connection->first + connection->count++) % engine->config->in_flight;
  connection->window[place] = *request;
  connection->window[place].id = facts.id;
  buffer_clear(&engine->message);
  workload_write(&engine->requests[request->step], &facts, &engine->message);
  engine->kind->send(connection->link, buffer_text(&engine->message));
  engine->open++;
}

static bool may_begin(struct engine *engine)
{
  if (engine->ends_ns != INT64_MAX)
    return now_of(engine) < engine->ends_ns;
  return engine->config->calls == 0 || engine->begun < engine->config->warm_up + engine->config->calls;
}

static void begin_call(struct connection *connection)
{
  struct engine *engine = connection->engine;
  if (!may_begin(engine))
    return;
  engine->begun++;
  ask(connection, &(struct pending){.since_ns = now_of(engine)});
}

/* The measured time begins when the warm-up is done. */
static void begin_measuring(struct engine *engine)
{
  engine->begins_ns = now_of(engine);
  engine->server_begins_ns = processor_ns(engine->config->watch_pid);
  engine->client_begins_ns = processor_ns(getpid());
  if (engine->config->calls == 0)
    engine->ends_ns = engine->begins_ns + (int64_t)(engine->config->seconds * 1e9);
}

static void end_call(struct engine *engine, const struct pending *call)
{
  engine->done++;
  if (engine->done > engine->config->warm_up)
    histogram_record(&engine->result->latencies, (uint64_t)(now_of(engine) - call->since_ns));
  else if (engine->done == engine->config->warm_up)
    begin_measuring(engine);
  if (engine->done == engine->next_memory_read)
    read_memory(engine);
}

/* Appends a message for people to read. */
static void show(bool is_binary, struct text message, struct buffer *out)
{
  if (is_binary)
    binary_show(message, out);
  else
    buffer_append_text(out, message);
}

static enum jp_status wrong_answer(struct engine *engine, const struct workload_text *expected,
                                   const struct workload_facts *facts, struct text answer,
                                   struct jp_error *error)
{
  struct buffer shown;
  buffer_clear(&engine->message);
  workload_write(expected, facts, &engine->message);
  buffer_init(&shown);
  BUFFER_LITERAL(&shown, "expected ");
  show(expected->is_binary, buffer_text(&engine->message), &shown);
  BUFFER_LITERAL(&shown, " but got ");
  show(expected->is_binary, answer, &shown);
  enum jp_status status = jp_fail(error, JP_INVALID, "%.*s", TEXT_ARGS(buffer_text(&shown)));
  buffer_fini(&shown);
  return status;
}

static enum jp_status handle_answer(struct link_listener *listener, struct text answer,
                                    struct jp_error *error)
{
  struct connection *connection = (struct connection *)listener;
  struct engine *engine = connection->engine;
  if (connection->count == 0)
    return jp_fail(error, JP_INVALID, "an unexpected answer: %.*s", TEXT_ARGS(answer));
  struct pending request = connection->window[connection->first];
  connection->first = (connection->first + 1) % engine->config->in_flight;
  connection->count--;
  engine->open--;
  struct workload_facts facts = {.id = request.id,
                                 .count = ++connection->answered[request.step],
                                 .receiver = connection->receiver,
                                 .object = request.object,
                                 .canned = engine->config->canned};
  if (!workload_match(&engine->answers[request.step], &facts, answer))
    return wrong_answer(engine, &engine->answers[request.step], &facts, answer, error);
  request.object = facts.object;
  if (++request.step < engine->steps) {
    ask(connection, &request);
    return JP_OK;
  }
  end_call(engine, &request);
  begin_call(connection);
  return JP_OK;
}

/* ---- setup ---- */

static enum jp_status handle_setup_answer(struct link_listener *listener, struct text answer,
                                          struct jp_error *error)
{
  struct connection *connection = (struct connection *)listener;
  struct engine *engine = connection->engine;
  struct workload_facts facts = {.id = connection->next_id - 1};
  if (!workload_match(&engine->setup[1], &facts, answer))
    return wrong_answer(engine, &engine->setup[1], &facts, answer, error);
  connection->receiver = facts.receiver;
  engine->open--;
  return JP_OK;
}

/* Sends the setup's request and waits for its answer. */
static enum jp_status set_up(struct connection *connection, struct jp_error *error)
{
  struct engine *engine = connection->engine;
  struct workload_facts facts = {.id = connection->next_id++};
  struct pollfd readable = {.fd = engine->kind->fd(connection->link), .events = POLLIN};
  connection->listener.answer = handle_setup_answer;
  buffer_clear(&engine->message);
  workload_write(&engine->setup[0], &facts, &engine->message);
  engine->kind->send(connection->link, buffer_text(&engine->message));
  engine->open = 1;
  enum jp_status status = JP_OK;
  while (status == JP_OK && engine->open > 0) {
    bool blocked;
    bool again;
    status = engine->kind->flush(connection->link, &blocked, &again, error);
    if (status == JP_OK && !again && poll(&readable, 1, engine->config->stall_ms) == 0)
      status = jp_fail(error, JP_IO, "no answer to the setup for %d ms", engine->config->stall_ms);
    if (status == JP_OK)
      status = engine->kind->receive(connection->link, &connection->listener, error);
  }
  connection->listener.answer = handle_answer;
  return status;
}

static enum jp_status open_connection(struct engine *engine, struct connection *connection,
                                      const struct link_target *target, struct jp_error *error)
{
  connection->engine = engine;
  connection->listener.answer = handle_answer;
  connection->next_id = (uint64_t)(connection - engine->connections + 1) * WORKLOAD_IDS_PER_CONNECTION;
  connection->window = calloc(target->in_flight, sizeof(*connection->window));
  if (connection->window == NULL)
    return jp_fail(error, JP_NO_MEMORY, "no memory for a window");
  enum jp_status status = engine->kind->open(target, &connection->link, error);
  if (status == JP_OK && workload_step_exists(&engine->config->workload->setup))
    status = set_up(connection, error);
  if (status != JP_OK)
    return status;
  struct epoll_event event = {.events = EPOLLIN, .data.ptr = connection};
  if (epoll_ctl(engine->epoll_fd, EPOLL_CTL_ADD, engine->kind->fd(connection->link), &event) != 0)
    return jp_fail(error, JP_IO, "epoll_ctl: %s", strerror(errno));
  return JP_OK;
}

static enum jp_status parse_workload(struct engine *engine, struct jp_error *error)
{
  const struct workload_row *row = engine->config->workload;
  bool good = !workload_step_exists(&row->setup) ||
              workload_step_parse(&row->setup, 0, &engine->setup[0], &engine->setup[1]);
  while (good && engine->steps < WORKLOAD_STEPS_MAX && workload_step_exists(&row->steps[engine->steps])) {
    unsigned step = engine->steps++;
    good =
        workload_step_parse(&row->steps[step], row->batch, &engine->requests[step], &engine->answers[step]);
  }
  return good ? JP_OK : jp_fail(error, JP_INTERNAL, "the workload %s has a hole that is none", row->name);
}

static enum jp_status prepare(struct engine *engine, struct jp_error *error)
{
  const struct engine_config *config = engine->config;
  struct link_target target;
  enum jp_status status = link_target_parse(&target, config->address, &engine->kind, error);
  if (status == JP_OK)
    status = parse_workload(engine, error);
  if (status != JP_OK)
    return status;
  target.in_flight = config->in_flight;
  target.keeps_session = config->workload->keeps_session;
  target.evidence = config->evidence;
  engine->connections = calloc(config->connections, sizeof(*engine->connections));
  engine->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
  if (engine->connections == NULL || engine->epoll_fd < 0)
    return jp_fail(error, JP_NO_MEMORY, "no memory or no epoll set for %u connections", config->connections);
  for (unsigned i = 0; status == JP_OK && i < config->connections; i++)
    status = open_connection(engine, &engine->connections[i], &target, error);
  return status;
}

/* ---- the loop ---- */

static enum jp_status await_writable(struct connection *connection, bool blocked, struct jp_error *error)
{
  struct engine *engine = connection->engine;
  if (connection->waits_to_write == blocked)
    return JP_OK;
  connection->waits_to_write = blocked;
  struct epoll_event event = {.events = EPOLLIN | (blocked ? (uint32_t)EPOLLOUT : 0), .data.ptr = connection};
  if (epoll_ctl(engine->epoll_fd, EPOLL_CTL_MOD, engine->kind->fd(connection->link), &event) != 0)
    return jp_fail(error, JP_IO, "epoll_ctl: %s", strerror(errno));
  return JP_OK;
}

static enum jp_status flush(struct connection *connection, bool *again, struct jp_error *error)
{
  bool blocked;
  enum jp_status status = connection->engine->kind->flush(connection->link, &blocked, again, error);
  return status != JP_OK ? status : await_writable(connection, blocked, error);
}

static enum jp_status serve_connection(struct connection *connection, struct jp_error *error)
{
  struct engine *engine = connection->engine;
  enum jp_status status = JP_OK;
  bool again = true;
  while (status == JP_OK && again) {
    engine->now_ns = 0;
    status = engine->kind->receive(connection->link, &connection->listener, error);
    if (status == JP_OK)
      status = flush(connection, &again, error);
  }
  return status;
}

static enum jp_status fill_windows(struct engine *engine, struct jp_error *error)
{
  const struct engine_config *config = engine->config;
  enum jp_status status = JP_OK;
  engine->now_ns = 0;
  if (config->warm_up == 0)
    begin_measuring(engine);
  for (unsigned i = 0; status == JP_OK && i < config->connections; i++) {
    struct connection *connection = &engine->connections[i];
    for (unsigned n = 0; n < config->in_flight; n++)
      begin_call(connection);
    bool again;
    status = flush(connection, &again, error);
    if (status == JP_OK && again)
      status = serve_connection(connection, error);
  }
  return status;
}

/* Polls each connection once, and serves the connections that have received something. */
static enum jp_status poll_all(struct engine *engine, bool *found, struct jp_error *error)
{
  enum jp_status status = JP_OK;
  *found = false;
  for (unsigned i = 0; status == JP_OK && i < engine->config->connections; i++) {
    struct connection *connection = &engine->connections[i];
    if (!engine->kind->poll(connection->link))
      continue;
    *found = true;
    status = serve_connection(connection, error);
  }
  return status;
}

static void pause_processor(void)
{
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#endif
}

/* Publishes the processor on each connection. True if the server runs there, too. */
static bool publish_processor(struct engine *engine)
{
  bool is_near = false;
  for (unsigned i = 0; i < engine->config->connections; i++)
    is_near |= engine->kind->publish_processor(engine->connections[i].link);
  return is_near;
}

/* Serves answers that do not make a descriptor readable, until no answer has arrived for a while. */
static enum jp_status busy_poll(struct engine *engine, struct jp_error *error)
{
  enum { PAUSING_NS = 2000, LOOKING_NS = 50000, LOOKS_A_CLOCK = 8 };
  bool is_near = publish_processor(engine);
  int64_t since_ns = clock_now_ns();
  int64_t waited_ns = 0;
  enum jp_status status = JP_OK;
  for (unsigned polls = 1; status == JP_OK && engine->open > 0 && waited_ns <= LOOKING_NS; polls++) {
    bool found;
    status = poll_all(engine, &found, error);
    if (found) {
      since_ns = now_of(engine);
      waited_ns = 0;
      continue;
    }
    if (is_near || waited_ns > PAUSING_NS)
      sched_yield();
    else
      pause_processor();
    if (is_near || waited_ns > PAUSING_NS || polls % LOOKS_A_CLOCK == 0)
      waited_ns = clock_now_ns() - since_ns;
  }
  return status;
}

/* Lets the connections sleep. Returns false if a connection has received something; the connections after it
 * then do not sleep. */
static bool sleep_all(struct engine *engine)
{
  for (unsigned i = 0; i < engine->config->connections; i++) {
    if (!engine->kind->sleep(engine->connections[i].link))
      return false;
  }
  return true;
}

static enum jp_status run_loop(struct engine *engine, struct jp_error *error)
{
  struct epoll_event events[EVENTS_MAX];
  enum jp_status status = fill_windows(engine, error);
  while (status == JP_OK && engine->open > 0) {
    if (engine->kind->poll != NULL)
      status = busy_poll(engine, error);
    if (status != JP_OK || engine->open == 0)
      break;
    if (engine->kind->poll != NULL && !sleep_all(engine))
      continue;
    int count = epoll_wait(engine->epoll_fd, events, EVENTS_MAX, engine->config->stall_ms);
    if (count == 0)
      return jp_fail(error, JP_IO, "no answer for %d ms, %llu requests open", engine->config->stall_ms,
                     (unsigned long long)engine->open);
    if (count < 0 && errno != EINTR)
      return jp_fail(error, JP_IO, "epoll_wait: %s", strerror(errno));
    for (int i = 0; status == JP_OK && i < count; i++)
      status = serve_connection(events[i].data.ptr, error);
  }
  return status;
}

static void release(struct engine *engine)
{
  for (unsigned i = 0; engine->connections != NULL && i < engine->config->connections; i++) {
    engine->kind->close(engine->connections[i].link);
    free(engine->connections[i].window);
  }
  free(engine->connections);
  for (unsigned i = 0; i < 2; i++)
    workload_text_fini(&engine->setup[i]);
  for (unsigned i = 0; i < WORKLOAD_STEPS_MAX; i++) {
    workload_text_fini(&engine->requests[i]);
    workload_text_fini(&engine->answers[i]);
  }
  buffer_fini(&engine->message);
  if (engine->epoll_fd >= 0)
    close(engine->epoll_fd);
}

enum jp_status engine_run(const struct engine_config *config, struct engine_result *result,
                          struct jp_error *error)
{
  struct engine engine = {.config = config, .result = result, .epoll_fd = -1, .ends_ns = INT64_MAX};
  memset(result, 0, sizeof(*result));
  buffer_init(&engine.message);
  if (config->watch_pid != 0 && config->calls >= 10)
    engine.next_memory_read = config->warm_up + config->calls / 10;
  enum jp_status status = prepare(&engine, error);
  if (status == JP_OK)
    status = run_loop(&engine, error);
  result->calls = engine.done - config->warm_up;
  /* Reads the clock again: if the warm-up ended in the last read, the duration up to the time of that read
   * would be 0. */
  result->seconds = (double)(clock_now_ns() - engine.begins_ns) / 1e9;
  result->client_seconds = (double)(processor_ns(getpid()) - engine.client_begins_ns) / 1e9;
  result->server_seconds = (double)(processor_ns(config->watch_pid) - engine.server_begins_ns) / 1e9;
  release(&engine);
  return status;
}
