#include "stub_callbacks.h"
#include "tests/unit/await.h"

#include "stub_jni.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* These stubs do not use all of their parameters. */
#pragma GCC diagnostic ignored "-Wunused-parameter"

struct stub_callbacks stub_callbacks;

struct jvm_waiter {
  pthread_mutex_t lock;
  pthread_cond_t woken;
  bool was_woken;
  _Atomic int holders;
};

/* ---- jni/callbacks.h ---- */

enum jp_status jvm_callbacks_start(struct jvm *jvm, const struct jvm_callback_hooks *hooks,
                                   struct jp_error *error)
{
  stub_callbacks.hooks = hooks;
  return JP_OK;
}

enum jp_status jvm_thread_create(struct jvm *jvm, struct jvm_thread **thread)
{
  *thread = malloc(1);
  if (*thread == NULL)
    return JP_NO_MEMORY;
  atomic_fetch_add(&stub_callbacks.threads, 1);
  return JP_OK;
}

void jvm_thread_destroy(struct jvm_thread *thread)
{
  if (thread == NULL)
    return;
  atomic_fetch_sub(&stub_callbacks.threads, 1);
  free(thread);
}

void jvm_thread_run(struct jvm_thread *thread, void (*run)(void *argument), void *argument)
{
  run(argument);
}

bool jvm_stack_is_short(void)
{
  return stub_callbacks.is_stack_short;
}

static struct jvm_waiter *make_waiter(void)
{
  struct jvm_waiter *waiter = calloc(1, sizeof *waiter);
  if (waiter == NULL)
    abort();
  pthread_mutex_init(&waiter->lock, NULL);
  pthread_cond_init(&waiter->woken, NULL);
  atomic_init(&waiter->holders, 1);
  atomic_fetch_add(&stub_callbacks.waiters, 1);
  return waiter;
}

struct jvm_waiter *jvm_waiter_hold(struct jvm_waiter *waiter)
{
  atomic_fetch_add(&waiter->holders, 1);
  return waiter;
}

void jvm_waiter_wake(struct jvm_waiter *waiter)
{
  pthread_mutex_lock(&waiter->lock);
  waiter->was_woken = true;
  pthread_cond_signal(&waiter->woken);
  pthread_mutex_unlock(&waiter->lock);
}

bool jvm_waiter_is_exiting(const struct jvm_waiter *waiter)
{
  return waiter != NULL && atomic_load(&stub_callbacks.are_exiting);
}

void jvm_waiter_release(struct jvm_waiter *waiter)
{
  if (atomic_fetch_sub(&waiter->holders, 1) > 1)
    return;
  pthread_mutex_destroy(&waiter->lock);
  pthread_cond_destroy(&waiter->woken);
  atomic_fetch_sub(&stub_callbacks.waiters, 1);
  free(waiter);
}

static void park_thread(struct jvm_waiter *waiter, int64_t nanoseconds)
{
  struct timespec end;
  int status = 0;
  clock_gettime(CLOCK_REALTIME, &end);
  bool is_bounded = nanoseconds < INT64_MAX;
  if (is_bounded) {
    end.tv_nsec += nanoseconds % 1000000000;
    end.tv_sec += nanoseconds / 1000000000 + end.tv_nsec / 1000000000;
    end.tv_nsec %= 1000000000;
  }
  pthread_mutex_lock(&waiter->lock);
  for (const int64_t since_ms = clock_now_ms(); !waiter->was_woken && status == 0;) {
    if (is_bounded)
      status = pthread_cond_timedwait(&waiter->woken, &waiter->lock, &end);
    else
      await_signal(&waiter->woken, &waiter->lock, since_ms, "the waiter to be woken");
  }
  waiter->was_woken = false;
  pthread_mutex_unlock(&waiter->lock);
}

/* ---- giving ---- */

uint64_t stub_proxy_give(struct rpc_callbacks *callbacks, int64_t id)
{
  const struct jvm_callback_hooks *hooks = stub_callbacks.hooks;
  uint64_t found = hooks->find(callbacks, id, UINT64_MAX);
  if (found != 0)
    return found;
  uint64_t number = atomic_fetch_add(&stub_callbacks.proxies, 1) + 1;
  bool is_taken;
  if (hooks->made(callbacks, id, number, 0, &is_taken) != JP_OK)
    return 0;
  return is_taken ? number : hooks->find(callbacks, id, UINT64_MAX);
}

/* ---- calling ---- */

struct calling {
  struct stub_call *caller;
  const struct jvm_callback_hooks *hooks;
  struct rpc_callback_call *call;
  struct jvm_waiter *waiter; /* NULL: the thread waits natively */
};

static void note_failure(struct stub_call *call, const struct jvm_callback_failure *failure)
{
  call->result = STUB_RESULT_FAILURE;
  call->code = failure->code;
  snprintf(call->text, sizeof call->text, "%s", failure->text);
}

static enum jvm_callback_sent send_first(struct calling *calling, struct jvm_callback_failure *failure)
{
  struct jvm_request request;
  struct outcome arguments[2] = {
      {.kind = OUTCOME_VALUE,
       .type = TEXT("int"),
       .has_value = true,
       .value = {.kind = OP_INTEGER, .integer = calling->caller->id}},
      {.kind = OUTCOME_VALUE, .type = TEXT("java.lang.Object"), .is_null = true},
  };
  struct jp_error error;
  if (calling->hooks->enter(calling->call, &request) != JP_OK)
    abort();
  if (calling->caller->sends_object) {
    if (stub_put(request.objects, request.stored, &error) != JP_OK)
      abort();
    arguments[1].is_null = false;
    arguments[1].ref = request.stored->refs[request.stored->count - 1];
  }
  enum jvm_callback_sent sent = calling->hooks->send(calling->call, arguments, 2, failure);
  calling->hooks->leave(calling->call);
  return sent;
}

static void note_value(struct stub_call *call, const struct op_value *value)
{
  call->result = STUB_RESULT_VALUE;
  if (value->kind == OP_INTEGER)
    snprintf(call->text, sizeof call->text, "%lld", (long long)value->integer);
  else if (value->kind == OP_TEXT)
    snprintf(call->text, sizeof call->text, "%.*s", TEXT_ARGS(value->text));
  else
    snprintf(call->text, sizeof call->text, "%s", value->kind == OP_NULL ? "null" : "?");
}

static void take_answer(struct calling *calling)
{
  struct stub_call *call = calling->caller;
  struct jvm_request request;
  struct jvm_callback_answer answer;
  struct outcome outcome;
  if (calling->hooks->enter(calling->call, &request) != JP_OK)
    abort();
  if (calling->hooks->take_answer(calling->call, &request, &answer, &outcome) != JP_OK) {
    call->result = STUB_RESULT_MISFIT;
    snprintf(call->text, sizeof call->text, "%.*s", TEXT_ARGS(outcome.message));
    calling->hooks->log_misfit(calling->call, outcome.message);
  } else if (answer.is_error) {
    call->result = STUB_RESULT_ERROR;
    call->code = answer.code;
    snprintf(call->text, sizeof call->text, "%.*s", TEXT_ARGS(answer.thrown.message));
  } else {
    note_value(call, &answer.value);
  }
  calling->hooks->leave(calling->call);
}

static void wait_for_more(struct calling *calling)
{
  if (calling->waiter != NULL)
    park_thread(calling->waiter, calling->hooks->nanoseconds_left(calling->call));
  else
    calling->hooks->wait(calling->call);
}

static void wait_for_answer(struct calling *calling, struct jvm_callback_failure *failure)
{
  struct stub_call *call = calling->caller;
  for (;;) {
    switch (calling->hooks->poll(calling->call, failure)) {
    case JVM_CALLBACK_NOTHING:
      if (call->interrupt_after > 0 && --call->interrupt_after == 0) {
        snprintf(call->text, sizeof call->text, "interrupted");
        call->result = STUB_RESULT_FAILURE;
        return;
      }
      wait_for_more(calling);
      break;
    case JVM_CALLBACK_SEND: {
      enum jvm_callback_sent sent = calling->hooks->send(calling->call, NULL, 0, failure);
      if (sent == JVM_CALLBACK_NOT_SENT) {
        note_failure(call, failure);
        return;
      }
      if (sent == JVM_CALLBACK_SENT && call->is_oneway && call->is_void)
        return;
      break;
    }
    case JVM_CALLBACK_REQUEST:
      call->nested++;
      calling->hooks->serve(calling->call);
      break;
    case JVM_CALLBACK_ANSWER:
      take_answer(calling);
      return;
    case JVM_CALLBACK_ENDED:
      note_failure(call, failure);
      return;
    }
  }
}

static void run_call(struct calling *calling)
{
  struct stub_call *call = calling->caller;
  struct jvm_callback_failure failure;
  enum jvm_callback_sent sent = send_first(calling, &failure);
  if (sent == JVM_CALLBACK_NOT_SENT) {
    note_failure(call, &failure);
    return;
  }
  if (sent == JVM_CALLBACK_SENT && call->is_oneway && call->is_void)
    return;
  wait_for_answer(calling, &failure);
}

void stub_call(struct stub_call *call)
{
  static const struct text parameters[] = {TEXT("int"), TEXT("java.lang.Object")};
  const struct jvm_callback_method method = {.interface = TEXT("a.Listener"),
                                             .name = TEXT("tell"),
                                             .parameters = parameters,
                                             .parameter_count = 2,
                                             .is_void = call->is_void};
  const struct jvm_callback_given given = {
      .id = call->id, .is_oneway = call->is_oneway, .borrows = call->borrows, .sends_origin = false};
  struct calling calling = {.caller = call, .hooks = stub_callbacks.hooks};
  struct jvm_callback_failure failure;
  call->text[0] = '\0';
  call->nested = 0;
  if (!calling.hooks->waits())
    calling.waiter = make_waiter();
  if (calling.hooks->open(call->callbacks, &given, call->proxy, &method, calling.waiter, &calling.call,
                          &failure) == JP_OK) {
    run_call(&calling);
    calling.hooks->close(calling.call);
  } else {
    note_failure(call, &failure);
  }
  if (calling.waiter != NULL)
    jvm_waiter_release(calling.waiter);
}
