#include "tests/unit/jni/callbacks/fake_client.h"
#include "tests/unit/await.h"
#include "tests/unit/jni/members_cases.h"
#include "tests/unit/jni/with_jvm.h"

#include "base/buffer.h"
#include "base/clock.h"
#include "jni/runtime/machine.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static _Thread_local bool waits_natively;

void fake_client_wait_natively(bool natively)
{
  waits_natively = natively;
}

/* ---- jvm_threads without a thread ---- */

enum { THREADS_KEPT = 16 };
static struct {
  pthread_mutex_t lock;
  struct jvm_thread *free[THREADS_KEPT];
  size_t count;
} threads = {.lock = PTHREAD_MUTEX_INITIALIZER};

static struct jvm_thread *borrow_thread(struct jvm *jvm)
{
  struct jvm_thread *thread = NULL;
  pthread_mutex_lock(&threads.lock);
  if (threads.count > 0)
    thread = threads.free[--threads.count];
  pthread_mutex_unlock(&threads.lock);
  if (thread == NULL && jvm_thread_create(jvm, &thread) != JP_OK)
    return NULL;
  return thread;
}

static void return_thread(struct jvm_thread *thread)
{
  pthread_mutex_lock(&threads.lock);
  bool is_kept = threads.count < THREADS_KEPT;
  if (is_kept)
    threads.free[threads.count++] = thread;
  pthread_mutex_unlock(&threads.lock);
  if (!is_kept)
    jvm_thread_destroy(thread);
}

/* ---- records ---- */

static uint64_t *find_record(struct jvm_callbacks *client, int64_t id, bool make)
{
  for (size_t i = 0; i < FAKE_IDS; i++) {
    if (client->records[i].id == 0 && make)
      client->records[i].id = id;
    if (client->records[i].id == id)
      return &client->records[i].number;
  }
  return NULL;
}

static uint64_t find(struct jvm_callbacks *client, int64_t id)
{
  pthread_mutex_lock(&client->lock);
  const uint64_t *number = find_record(client, id, false);
  uint64_t found = number == NULL ? 0 : *number;
  pthread_mutex_unlock(&client->lock);
  return found;
}

static uint64_t made(struct jvm_callbacks *client, int64_t id, uint64_t number, uint64_t before)
{
  pthread_mutex_lock(&client->lock);
  uint64_t *record = find_record(client, id, true);
  assert_non_null(record);
  uint64_t other = *record == before ? 0 : *record;
  if (other == 0)
    *record = number;
  client->made += other == 0;
  pthread_mutex_unlock(&client->lock);
  return other;
}

static void released(struct jvm_callbacks *client, int64_t id, uint64_t number)
{
  pthread_mutex_lock(&client->lock);
  uint64_t *record = find_record(client, id, false);
  if (record != NULL && *record == number)
    *record = 0;
  client->last_released = id;
  client->released++;
  pthread_mutex_unlock(&client->lock);
}

/* ---- a call ---- */

static bool waits(void)
{
  return waits_natively;
}

static enum jp_status open_call(struct jvm_callbacks *client, const struct jvm_callback_given *given,
                                uint64_t number, const struct jvm_callback_method *method,
                                struct jvm_waiter *waiter, struct jvm_callback_call **call,
                                struct jvm_callback_failure *failure)
{
  assert_true(number > 0);
  if (client->refuses || jvm_stack_is_short()) {
    failure->code = -32000;
    snprintf(failure->text, sizeof failure->text, "%s",
             client->refuses ? "nobody is there" : "the stack is short");
    return JP_LIMIT;
  }
  struct jvm_callback_call *opened = calloc(1, sizeof *opened);
  assert_non_null(opened);
  opened->client = client;
  opened->id = given->id;
  opened->method = method;
  opened->waiter = waiter;
  opened->deadline_ns = client->timeout_ns == 0 ? 0 : clock_now_ns() + client->timeout_ns;
  sem_init(&opened->woken, 0, 0);
  pthread_mutex_lock(&client->lock);
  client->calls++;
  if (++client->open > client->depth)
    client->depth = client->open;
  pthread_mutex_unlock(&client->lock);
  *call = opened;
  return JP_OK;
}

static enum jp_status enter(struct jvm_callback_call *call, struct jvm_request *request)
{
  const struct jvm_callbacks *client = call->client;
  arena_init(&call->arena);
  call->thread = borrow_thread(client->jvm);
  *request = (struct jvm_request){.thread = call->thread,
                                  .objects = client->objects,
                                  .arena = &call->arena,
                                  .limits = client->limits,
                                  .guard = client->guard,
                                  .stored = &call->stored,
                                  .callbacks = call->client};
  return request->thread == NULL ? JP_NO_MEMORY : JP_OK;
}

static void leave(struct jvm_callback_call *call)
{
  return_thread(call->thread);
  arena_fini(&call->arena);
}

static void write_value(struct buffer *out, const struct op_value *value)
{
  switch (value->kind) {
  case OP_TEXT:
    buffer_append_text(out, value->text);
    break;
  case OP_BOOLEAN:
    buffer_printf(out, "%s", value->boolean ? "true" : "false");
    break;
  case OP_CHAR:
    buffer_printf(out, "%c", (char)value->integer);
    break;
  case OP_INTEGER:
    buffer_printf(out, "%" PRId64, value->integer);
    break;
  case OP_FLOAT:
  case OP_DOUBLE:
    buffer_printf(out, "%g", value->decimal);
    break;
  default:
    buffer_printf(out, "values");
    break;
  }
}

static void tell(struct jvm_callback_call *call, const struct outcome *arguments, size_t count)
{
  struct buffer out;
  buffer_init(&out);
  buffer_printf(&out, "%.*s.%.*s(", TEXT_ARGS(call->method->interface), TEXT_ARGS(call->method->name));
  for (size_t i = 0; i < count; i++) {
    const struct outcome *argument = &arguments[i];
    buffer_printf(&out, "%s%.*s", i == 0 ? "" : ", ", TEXT_ARGS(argument->type));
    if (argument->is_null)
      buffer_printf(&out, " null");
    if (argument->has_value) {
      buffer_append_char(&out, ' ');
      write_value(&out, &argument->value);
    }
    if (argument->ref != 0)
      buffer_printf(&out, " ref");
    if (i < COUNT_OF(call->refs))
      call->refs[i] = argument->ref;
    if (i < COUNT_OF(call->numbers) && argument->has_value && argument->value.kind == OP_INTEGER)
      call->numbers[i] = argument->value.integer;
  }
  buffer_append_char(&out, ')');
  struct text told = buffer_text(&out);
  pthread_mutex_lock(&call->client->lock);
  snprintf(call->client->last, sizeof call->client->last, "%.*s", TEXT_ARGS(told));
  pthread_mutex_unlock(&call->client->lock);
  buffer_fini(&out);
}

static enum jvm_callback_sent send_call(struct jvm_callback_call *call, const struct outcome *arguments,
                                        size_t count, struct jvm_callback_failure *failure)
{
  (void)failure;
  struct jvm_callbacks *client = call->client;
  assert_int_equal(arguments == NULL ? 0 : count, arguments == NULL ? 0 : call->method->parameter_count);
  if (arguments != NULL)
    tell(call, arguments, count);
  pthread_mutex_lock(&client->lock);
  bool has_room = !client->has_no_room;
  call->lacks_room = !has_room;
  client->sent += has_room;
  pthread_mutex_unlock(&client->lock);
  if (client->answer != NULL)
    client->answer(call);
  return has_room ? JVM_CALLBACK_SENT : JVM_CALLBACK_NO_ROOM;
}

static enum jvm_callback_sight look(struct jvm_callback_call *call, struct jvm_callback_failure *failure)
{
  struct jvm_callbacks *client = call->client;
  enum jvm_callback_sight sight = JVM_CALLBACK_NOTHING;
  pthread_mutex_lock(&client->lock);
  if (call->nested_count > 0)
    sight = JVM_CALLBACK_REQUEST;
  else if (call->has_answer)
    sight = JVM_CALLBACK_ANSWER;
  else if (call->has_ended || (call->deadline_ns != 0 && clock_now_ns() >= call->deadline_ns))
    sight = JVM_CALLBACK_ENDED;
  else if (call->lacks_room && !client->has_no_room)
    sight = JVM_CALLBACK_SEND;
  pthread_mutex_unlock(&client->lock);
  failure->code = -32000;
  snprintf(failure->text, sizeof failure->text, "the client is gone");
  return sight;
}

/* The call that waits in C, of the one thread that does. */
static struct {
  pthread_mutex_t lock;
  struct jvm_callback_call *call;
  bool was_interrupted;
} natively = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void set_waiting(struct jvm_callback_call *call)
{
  pthread_mutex_lock(&natively.lock);
  natively.call = call;
  bool is_over = natively.was_interrupted;
  natively.was_interrupted = false;
  pthread_mutex_unlock(&natively.lock);
  if (is_over && call != NULL)
    sem_post(&call->woken);
}

static void wait_natively(struct jvm_callback_call *call)
{
  set_waiting(call);
  AWAIT_POST(&call->woken, "the end of a callback or its thread's interruption");
  set_waiting(NULL);
}

static int64_t nanoseconds_left(struct jvm_callback_call *call)
{
  return call->deadline_ns == 0 ? INT64_MAX : call->deadline_ns - clock_now_ns();
}

static void serve(struct jvm_callback_call *call)
{
  struct jvm_callbacks *client = call->client;
  pthread_mutex_lock(&client->lock);
  void (*nested)(struct jvm_callback_call *) = call->nested[0];
  for (size_t i = 1; i < call->nested_count; i++)
    call->nested[i - 1] = call->nested[i];
  call->nested_count--;
  pthread_mutex_unlock(&client->lock);
  nested(call);
}

static enum jp_status take_answer(struct jvm_callback_call *call, const struct jvm_request *request,
                                  struct jvm_callback_answer *answer, struct outcome *outcome)
{
  (void)request, (void)outcome;
  pthread_mutex_lock(&call->client->lock);
  *answer = call->answer;
  pthread_mutex_unlock(&call->client->lock);
  return JP_OK;
}

static void log_misfit(struct jvm_callback_call *call, struct text reason)
{
  snprintf(call->client->misfit, sizeof call->client->misfit, "%.*s", TEXT_ARGS(reason));
}

static void close_call(struct jvm_callback_call *call)
{
  struct jvm_callbacks *client = call->client;
  pthread_mutex_lock(&client->lock);
  client->open--;
  client->closed++;
  pthread_mutex_unlock(&client->lock);
  jvm_stored_fini(&call->stored);
  sem_destroy(&call->woken);
  free(call);
}

static void interrupted(struct jvm_thread *thread)
{
  assert_non_null(thread);
  pthread_mutex_lock(&natively.lock);
  natively.was_interrupted = natively.call == NULL;
  if (natively.call != NULL)
    sem_post(&natively.call->woken);
  pthread_mutex_unlock(&natively.lock);
}

static const struct jvm_callback_hooks hooks = {
    .find = find,
    .made = made,
    .released = released,
    .waits = waits,
    .open = open_call,
    .enter = enter,
    .leave = leave,
    .send = send_call,
    .look = look,
    .wait = wait_natively,
    .nanoseconds_left = nanoseconds_left,
    .serve = serve,
    .take_answer = take_answer,
    .log_misfit = log_misfit,
    .close = close_call,
    .interrupted = interrupted,
};

struct jvm_callbacks client;

int fake_client_start(void **state)
{
  struct jp_error error;
  (void)state;
  return jvm_callbacks_start(the_jvm, &hooks, &error) == JP_OK ? 0 : 1;
}

int fake_client_open(void **state)
{
  members_open(state);
  client = (struct jvm_callbacks){.jvm = the_jvm, .objects = session.objects, .limits = &session.limits};
  pthread_mutex_init(&client.lock, NULL);
  session.callbacks = &client;
  return 0;
}

int fake_client_close(void **state)
{
  (void)state;
  assert_int_equal(client.open, 0);
  pthread_mutex_destroy(&client.lock);
  return 0;
}

/* ---- nested requests ---- */

struct serving {
  void (*run)(void *argument, struct jvm_thread *thread);
  void *argument;
  struct jvm_thread *thread;
};

static void run_bound(void *argument)
{
  struct serving *serving = argument;
  serving->run(serving->argument, serving->thread);
}

void fake_serve(struct jvm *jvm, void (*run)(void *argument, struct jvm_thread *thread), void *argument)
{
  struct serving serving = {.run = run, .argument = argument, .thread = borrow_thread(jvm)};
  assert_non_null(serving.thread);
  jvm_thread_run(serving.thread, run_bound, &serving);
  return_thread(serving.thread);
}

/* ---- answers ---- */

static void wake(struct jvm_callback_call *call, struct jvm_waiter *waiter)
{
  if (waiter == NULL) {
    sem_post(&call->woken);
    return;
  }
  jvm_waiter_wake(waiter);
  jvm_waiter_release(waiter);
}

/* The call may end as soon as the lock is free; the waiter stays, because it is held. */
static struct jvm_waiter *begin_change(struct jvm_callback_call *call)
{
  pthread_mutex_lock(&call->client->lock);
  return call->waiter == NULL ? NULL : jvm_waiter_hold(call->waiter);
}

static void end_change(struct jvm_callback_call *call, struct jvm_waiter *waiter)
{
  struct jvm_callbacks *client = call->client;
  if (waiter == NULL)
    wake(call, NULL);
  pthread_mutex_unlock(&client->lock);
  if (waiter != NULL)
    wake(NULL, waiter);
}

static void set_answer(struct jvm_callback_call *call, struct jvm_callback_answer answer)
{
  struct jvm_waiter *waiter = begin_change(call);
  call->has_answer = true;
  call->answer = answer;
  end_change(call, waiter);
}

static void answer_value(struct jvm_callback_call *call, struct op_value value)
{
  set_answer(call, (struct jvm_callback_answer){.value = value});
}

void fake_answer_int(struct jvm_callback_call *call, int64_t value)
{
  answer_value(call, (struct op_value){.kind = OP_INTEGER, .integer = value});
}

void fake_answer_text(struct jvm_callback_call *call, const char *text)
{
  answer_value(call, (struct op_value){.kind = OP_TEXT, .text = text_of(text)});
}

void fake_answer_null(struct jvm_callback_call *call)
{
  answer_value(call, (struct op_value){.kind = OP_NULL});
}

void fake_answer_error(struct jvm_callback_call *call, int code, const char *message, uint32_t ref,
                       const char *type)
{
  set_answer(call,
             (struct jvm_callback_answer){.is_error = true,
                                          .code = code,
                                          .message = message == NULL ? TEXT_ABSENT : text_of(message),
                                          .ref = ref,
                                          .throwable_type = type == NULL ? TEXT_ABSENT : text_of(type)});
}

void fake_end(struct jvm_callback_call *call)
{
  struct jvm_waiter *waiter = begin_change(call);
  call->has_ended = true;
  end_change(call, waiter);
}

void fake_nest(struct jvm_callback_call *call, void (*nested)(struct jvm_callback_call *call))
{
  struct jvm_waiter *waiter = begin_change(call);
  assert_true(call->nested_count < FAKE_NESTED);
  call->nested[call->nested_count++] = nested;
  end_change(call, waiter);
}

void fake_make_room(struct jvm_callback_call *call)
{
  struct jvm_waiter *waiter = begin_change(call);
  call->client->has_no_room = false;
  end_change(call, waiter);
}
