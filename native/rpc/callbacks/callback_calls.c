/* A call: beginning, waiting and end. */
#include "rpc/callbacks/callbacks_state.h"

#include "base/clock.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

enum { FAILURE_CODE = -32000 /* of struct jvm_callback_failure */ };

void callback_fail(struct jvm_callback_failure *failure, const char *format, ...)
{
  va_list args;
  failure->code = FAILURE_CODE;
  va_start(args, format);
  vsnprintf(failure->text, sizeof failure->text, format, args);
  va_end(args);
}

void callback_tell_ending(const struct rpc_callback_call *call, enum callback_ending ending,
                          struct jvm_callback_failure *failure)
{
  switch (ending) {
  case CALLBACK_CLIENT_GONE:
    callback_fail(failure, "the connection of the client has ended");
    return;
  case CALLBACK_STOPPED:
    callback_fail(failure, "the peer is shutting down");
    return;
  case CALLBACK_SESSION_DELETED:
    callback_fail(failure, "the session of the client was deleted");
    return;
  case CALLBACK_TIMED_OUT:
    callback_fail(failure,
                  call->number == 0 ? "there was no room for the event within %lld ms (callback-timeout)"
                                    : "the client has not answered within %lld ms (callback-timeout)",
                  (long long)call->callbacks->peer->config.limits.callbacks.timeout_ms);
    return;
  case CALLBACK_ANSWER_TOO_LONG:
    callback_fail(failure, "the answer is longer than there is room for (message-max)");
    return;
  case CALLBACK_ANSWER_FAULTY:
    callback_fail(failure, "the client's answer cannot be read: %.*s", TEXT_ARGS(buffer_text(&call->answer)));
    return;
  case CALLBACK_GOES_ON:
    return;
  }
}

/* ---- beginning ---- */

/* Under the lock: whether another call may begin. */
static enum callback_ending find_obstacle(const struct rpc_callbacks *callbacks,
                                          const struct callback_record *record, uint64_t number)
{
  if (callbacks->end == RPC_CALLBACKS_STOPPED)
    return CALLBACK_STOPPED;
  if (callbacks->end != RPC_CALLBACKS_OPEN)
    return CALLBACK_CLIENT_GONE;
  return record == NULL || record->proxy != number ? CALLBACK_SESSION_DELETED : CALLBACK_GOES_ON;
}

static void enter_calls(struct rpc_callbacks *callbacks, struct rpc_callback_call *call)
{
  call->next = callbacks->calls;
  if (call->next != NULL)
    call->next->link = &call->next;
  call->link = &callbacks->calls;
  callbacks->calls = call;
  callbacks->calls_open++;
}

static enum jp_status begin_call(struct rpc_callbacks *callbacks, const struct jvm_callback_given *given,
                                 uint64_t number, struct rpc_callback_call *call,
                                 struct jvm_callback_failure *failure)
{
  const struct rpc_callback_limits *limits = &callbacks->peer->config.limits.callbacks;
  pthread_mutex_lock(&callbacks->lock);
  struct callback_record *record = callback_records_find(&callbacks->records, given->id);
  enum callback_ending obstacle = find_obstacle(callbacks, record, number);
  bool is_full = callbacks->calls_open >= limits->calls_max;
  if (obstacle == CALLBACK_GOES_ON && !is_full) {
    record->in_hand++;
    call->epoch = record->epoch;
    if (call->number != 0)
      call->number = ++callbacks->last_number;
    enter_calls(callbacks, call);
    pthread_mutex_unlock(&callbacks->lock);
    return JP_OK;
  }
  pthread_mutex_unlock(&callbacks->lock);
  if (obstacle != CALLBACK_GOES_ON)
    callback_tell_ending(call, obstacle, failure);
  else
    callback_fail(failure, "the limit of %zu open callbacks of a connection is reached (callbacks-max)",
                  limits->calls_max);
  return JP_LIMIT;
}

/* The first call of a thread of the peer's own, which another one takes the place of while it waits. */
static bool takes_thread(const struct rpc_callback_call *call)
{
  return call->waiter == NULL && call->number != 0 && call->thread->depth == 0;
}

static enum jp_status enter_waiting(struct rpc_peer *peer, struct rpc_callback_call *call,
                                    struct jvm_callback_failure *failure)
{
  size_t max = peer->config.limits.callbacks.threads_max;
  if (!takes_thread(call))
    return JP_OK;
  if (atomic_fetch_add(&peer->callback_threads, 1) < max || max == 0) {
    call->has_thread = true;
    return JP_OK;
  }
  atomic_fetch_sub(&peer->callback_threads, 1);
  callback_fail(failure,
                "the limit of %zu threads of the peer that wait in callbacks is reached "
                "(callback-threads-max)",
                max);
  return JP_LIMIT;
}

static void leave_waiting(struct rpc_peer *peer, const struct rpc_callback_call *call)
{
  if (call->has_thread)
    atomic_fetch_sub(&peer->callback_threads, 1);
}

static enum jp_status check_depth(const struct rpc_callbacks *callbacks, const struct callback_thread *thread,
                                  struct jvm_callback_failure *failure)
{
  size_t max = callbacks->peer->config.limits.callbacks.depth_max;
  if (thread != NULL && thread->depth >= max) {
    callback_fail(failure, "the limit of %zu callbacks inside one another is reached (callback-depth)", max);
    return JP_LIMIT;
  }
  if (!jvm_stack_is_short())
    return JP_OK;
  callback_fail(failure, "less than 256 KiB of the thread's stack are left");
  return JP_LIMIT;
}

void callback_call_set_deadline(struct rpc_callback_call *call)
{
  int64_t timeout = call->callbacks->peer->config.limits.callbacks.timeout_ms;
  call->deadline_ms = timeout == 0 ? INT64_MAX : clock_now_ms() + timeout;
}

static struct rpc_callback_call *make_call(struct rpc_callbacks *callbacks,
                                           const struct jvm_callback_given *given,
                                           const struct jvm_callback_method *method,
                                           struct jvm_waiter *waiter, struct callback_thread *thread)
{
  bool is_event = given->is_oneway && method->is_void;
  /* Each event makes one, and glibc's calloc takes nothing from the cache of its thread. */
  struct rpc_callback_call *call = malloc(sizeof *call);
  if (call == NULL)
    return NULL;
  *call = (struct rpc_callback_call){.callbacks = callbacks,
                                     .id = given->id,
                                     .number = is_event ? 0 : 1, /* begin_call replaces the 1 */
                                     .borrows = given->borrows,
                                     .tells_origin = given->tells_origin,
                                     .method = method,
                                     .waiter = waiter == NULL ? NULL : jvm_waiter_hold(waiter),
                                     .worker = callback_thread_worker(),
                                     .deadline_ms = INT64_MAX,
                                     .thread = thread != NULL ? thread : &call->own_thread};
  if (!is_event)
    callback_call_set_deadline(call);
  if (thread == NULL) {
    pthread_mutex_init(&call->own_thread.lock, NULL);
    call->own_thread.last = &call->own_thread.first;
  }
  buffer_init(&call->answer);
  buffer_init(&call->message);
  return call;
}

static void free_call(struct rpc_callback_call *call)
{
  if (call->thread == &call->own_thread)
    pthread_mutex_destroy(&call->own_thread.lock);
  if (call->waiter != NULL)
    jvm_waiter_release(call->waiter);
  buffer_fini(&call->answer);
  buffer_fini(&call->message);
  jvm_stored_fini(&call->stored);
  free(call);
}

/* True where no other thread looks for the one of this call: it has no answer, and is inside no other call. */
static bool is_alone(const struct rpc_callback_call *call)
{
  return call->number == 0 && call->thread == &call->own_thread;
}

/* The thread waits in its innermost call. */
static void enter_thread(struct rpc_callback_call *call)
{
  struct callback_thread *thread = call->thread;
  thread->depth++;
  if (is_alone(call))
    return;
  pthread_mutex_lock(&thread->lock);
  call->outer = thread->innermost;
  thread->innermost = call;
  pthread_mutex_unlock(&thread->lock);
}

static void leave_thread(struct rpc_callback_call *call)
{
  struct callback_thread *thread = call->thread;
  thread->depth--;
  if (is_alone(call))
    return;
  pthread_mutex_lock(&thread->lock);
  thread->innermost = call->outer;
  pthread_mutex_unlock(&thread->lock);
}

enum jp_status callback_call_open(struct rpc_callbacks *callbacks, const struct jvm_callback_given *given,
                                  uint64_t number, const struct jvm_callback_method *method,
                                  struct jvm_waiter *waiter, struct rpc_callback_call **call,
                                  struct jvm_callback_failure *failure)
{
  struct callback_thread *thread = callback_thread_now();
  enum jp_status status = check_depth(callbacks, thread, failure);
  if (status != JP_OK)
    return status;
  struct rpc_callback_call *made = make_call(callbacks, given, method, waiter, thread);
  if (made == NULL) {
    callback_fail(failure, "out of memory");
    return JP_NO_MEMORY;
  }
  status = enter_waiting(callbacks->peer, made, failure);
  if (status == JP_OK)
    status = begin_call(callbacks, given, number, made, failure);
  if (status != JP_OK) {
    leave_waiting(callbacks->peer, made);
    free_call(made);
    return status;
  }
  callbacks_hold(callbacks);
  enter_thread(made);
  *call = made;
  return JP_OK;
}

/* ---- waiting ---- */

/* Under the lock: what came before the answer is served before it, and what came after it is not. */
static enum jvm_callback_sight see_call(const struct rpc_callback_call *call)
{
  if (call->ending != CALLBACK_GOES_ON && !call->has_answer)
    return JVM_CALLBACK_ENDED;
  if (callback_inbox_has_turn(call))
    return JVM_CALLBACK_REQUEST;
  if (call->has_answer)
    return JVM_CALLBACK_ANSWER;
  return call->wants_room && call->may_send && !call->is_sent ? JVM_CALLBACK_SEND : JVM_CALLBACK_NOTHING;
}

static bool has_timed_out(const struct rpc_callback_call *call)
{
  return call->deadline_ms != INT64_MAX && clock_now_ms() >= call->deadline_ms;
}

enum jvm_callback_sight callback_call_look(struct rpc_callback_call *call,
                                           struct jvm_callback_failure *failure)
{
  struct rpc_callbacks *callbacks = call->callbacks;
  if (call->worker != NULL)
    atomic_store(&call->worker->was_interrupted, false);
  bool is_late = has_timed_out(call);
  atomic_store(&call->has_news, false); /* before it looks: what comes from here on is news */
  pthread_mutex_lock(&callbacks->lock);
  enum jvm_callback_sight sight = see_call(call);
  if (sight == JVM_CALLBACK_NOTHING && is_late) {
    call->ending = CALLBACK_TIMED_OUT;
    sight = JVM_CALLBACK_ENDED;
  }
  enum callback_ending ending = call->ending;
  pthread_mutex_unlock(&callbacks->lock);
  if (sight == JVM_CALLBACK_ENDED)
    callback_tell_ending(call, ending, failure);
  if (sight == JVM_CALLBACK_ENDED && ending == CALLBACK_ANSWER_FAULTY)
    callback_log_misfit(call, text_of(failure->text));
  return sight;
}

/* rpc_waits.wait's is_over, with a call */
static bool is_wait_over(void *state)
{
  struct rpc_callback_call *call = state;
  return atomic_load(&call->worker->was_interrupted) || atomic_load(&call->has_news);
}

void callback_call_wait(struct rpc_callback_call *call)
{
  const struct rpc_waits *waits = call->worker->waits;
  waits->wait(waits->thread, is_wait_over, call, call->deadline_ms);
}

int64_t callback_call_nanoseconds_left(struct rpc_callback_call *call)
{
  if (call->deadline_ms == INT64_MAX)
    return INT64_MAX;
  int64_t left = call->deadline_ms - clock_now_ms();
  return left <= 0 ? 0 : left > INT64_MAX / 1000000 ? INT64_MAX : left * 1000000;
}

struct rpc_callback_call *callbacks_find_call(const struct rpc_callbacks *callbacks, uint64_t number)
{
  struct rpc_callback_call *call = number == 0 ? NULL : callbacks->calls;
  while (call != NULL && call->number != number)
    call = call->next;
  return call;
}

struct jvm_waiter *callback_call_wake(struct rpc_callback_call *call)
{
  atomic_store(&call->has_news, true);
  if (call->waiter != NULL)
    return jvm_waiter_hold(call->waiter);
  if (call->worker != NULL && call->worker->waits != NULL)
    call->worker->waits->wake(call->worker->waits->thread);
  return NULL;
}

void callback_waiter_wake(struct jvm_waiter *waiter)
{
  if (waiter == NULL)
    return;
  jvm_waiter_wake(waiter);
  jvm_waiter_release(waiter);
}

/* ---- the end ---- */

/* jvm_thread_run's, with a call whose nested worker is lent */
static void take_tellings_back(void *argument)
{
  struct rpc_callback_call *call = argument;
  jvm_objects_take_back(call->nested->worker.runner.thread, rpc_session_objects(call->callbacks->session),
                        &call->stored, 0);
}

/* What a client was never told, or has borrowed, is not its own. Where memory is short the objects stay. */
static void end_tellings(struct rpc_callback_call *call)
{
  struct nested_workers *pool = call->callbacks->peer->nested_workers;
  if (call->stored.count == 0 || (call->is_sent && !call->borrows) ||
      nested_workers_borrow(pool, &call->nested) != JP_OK)
    return;
  jvm_thread_run(call->nested->worker.runner.thread, take_tellings_back, call);
  nested_workers_return(pool, call->nested);
}

/* What is left to do for a call that nobody finds any more. */
struct call_rest {
  bool has_releases;
  bool has_session; /* the last call of a closed client lets go of the session */
};

static struct call_rest leave_calls(struct rpc_callbacks *callbacks, struct rpc_callback_call *call)
{
  pthread_mutex_lock(&callbacks->lock);
  *call->link = call->next;
  if (call->next != NULL)
    call->next->link = call->link;
  if (call->has_answer) {
    callbacks->kept--;
    callbacks->kept_bytes -= call->answer.len;
    if (callbacks->waiting > 0)
      pthread_cond_broadcast(&callbacks->was_read);
  }
  struct callback_record *record = callback_records_find(&callbacks->records, call->id);
  if (record != NULL && record->epoch == call->epoch) {
    record->in_hand--;
    callbacks_settle_record(callbacks, record);
  }
  callbacks->calls_open--;
  struct call_rest rest = {.has_releases = callbacks->releases.count > 0,
                           .has_session = callbacks->calls_open == 0 && !callbacks->is_client_open};
  pthread_mutex_unlock(&callbacks->lock);
  return rest;
}

/* What the answer gives is accounted for, also where nobody has read it to its end. */
static void end_given(struct rpc_callback_call *call)
{
  struct rpc_callbacks *callbacks = call->callbacks;
  if (call->was_read || !call->has_answer)
    rpc_callbacks_settle(callbacks, &call->given);
  else
    rpc_callbacks_settle_partly(callbacks, &call->given, buffer_text(&call->answer));
}

void callback_call_close(struct rpc_callback_call *call)
{
  struct rpc_callbacks *callbacks = call->callbacks;
  end_tellings(call); /* the session is its own until it has left */
  struct call_rest rest = leave_calls(callbacks, call);
  callback_inbox_refuse(call->thread, callbacks, call->number);
  if (call->is_sent && call->number != 0)
    callbacks->push->settle(callbacks->duplex, call->worker);
  end_given(call);
  if (rest.has_releases)
    callbacks_send_releases(callbacks);
  leave_thread(call);
  leave_waiting(callbacks->peer, call);
  free_call(call);
  if (rest.has_session)
    callbacks_release_session(callbacks);
  callbacks_release(callbacks);
}
