/*
 * A call of a client's object: its begin, its arguments and its message, the wait, its answer, and its end.
 * Implements the hooks of jni/callbacks.h. callback_incoming.c handles the client's messages for a call.
 */
#include "rpc/callbacks/callback_call.h"

#include "base/clock.h"
#include "base/log.h"
#include "judge/judge.h"
#include "rpc/callbacks/callbacks_state.h"
#include "rpc/operation_audit.h"
#include "rpc/values/value_read.h"

#include <stdarg.h>
#include <stdlib.h>

enum {
  FAILURE_CODE = -32000, /* the code in struct jvm_callback_failure */
  MEMORY_CODE = -32603,  /* the same code if memory is short */
  WOKEN_AT_ONCE = 64
};

static _Thread_local struct callback_thread *thread_now;

struct callback_thread *callback_thread_now(void)
{
  return thread_now;
}

struct callback_thread *callback_thread_set(struct callback_thread *thread)
{
  struct callback_thread *before = thread_now;
  thread_now = thread;
  return before;
}

/* ---- failures ---- */

static void format_failure(struct jvm_callback_failure *failure, const char *format, ...) JP_PRINTF(2, 3);

static void format_failure(struct jvm_callback_failure *failure, const char *format, ...)
{
  va_list args;
  failure->code = FAILURE_CODE;
  va_start(args, format);
  text_format_va(failure->text, sizeof failure->text, format, args);
  va_end(args);
}

static void fail_memory(struct jvm_callback_failure *failure)
{
  format_failure(failure, "out of memory");
  failure->code = MEMORY_CODE;
}

static void set_failure(const struct rpc_callback_call *call, enum callback_ending ending,
                        struct jvm_callback_failure *failure)
{
  switch (ending) {
  case CALLBACK_CLIENT_GONE:
    format_failure(failure, "the connection of the client has ended");
    return;
  case CALLBACK_STOPPED:
    format_failure(failure, "the peer is shutting down");
    return;
  case CALLBACK_SESSION_DELETED:
    format_failure(failure, "the session of the client was deleted");
    return;
  case CALLBACK_TIMED_OUT:
    format_failure(failure,
                   call->number == 0 ? "there was no room for the event within %lld ms (callback-timeout)"
                                     : "the client has not answered within %lld ms (callback-timeout)",
                   (long long)call->callbacks->peer->config.limits.callbacks.timeout_ms);
    return;
  case CALLBACK_ANSWER_TOO_LONG:
    format_failure(failure, "the answer is longer than there is room for (message-max)");
    return;
  case CALLBACK_NO_MEMORY:
    fail_memory(failure);
    return;
  case CALLBACK_ANSWER_FAULTY:
    format_failure(failure, "the client's answer cannot be read: %.*s",
                   TEXT_ARGS(buffer_text(&call->answer)));
    return;
  case CALLBACK_GOES_ON:
    return;
  }
}

/* Logs the fault only once for each client, because a client that answers wrongly once may always do so. Java
 * gets an error each time. */
static void log_misfit(struct rpc_callback_call *call, struct text reason)
{
  struct rpc_callbacks *callbacks = call->callbacks;
  char session[OP_SESSION_NAME_MAX];
  pthread_mutex_lock(&callbacks->process->lock);
  bool is_first = !callbacks->has_misfit;
  callbacks->has_misfit = true;
  pthread_mutex_unlock(&callbacks->process->lock);
  if (!is_first)
    return;
  op_session_key_describe(&callbacks->key, session);
  log_warn("callback %lld of session %s: the answer to %.*s.%.*s does not fit: %.*s; later ones of this "
           "connection are not logged",
           (long long)call->id, session[0] == '\0' ? "-" : session,
           TEXT_ARGS(text_cut(call->method->interface, 256)), TEXT_ARGS(text_cut(call->method->name, 256)),
           TEXT_ARGS(text_cut(reason, 1024)));
}

/* ---- the beginning ---- */

/* Called with the lock held: returns why no other call may begin, or CALLBACK_GOES_ON if it may. */
static enum callback_ending find_obstacle(const struct rpc_callbacks *callbacks,
                                          const struct callback_record *record, uint64_t number)
{
  if (callbacks->state == RPC_CALLBACKS_STOPPED || callbacks->state == RPC_CALLBACKS_STOPPED_CLOSED)
    return CALLBACK_STOPPED;
  if (callbacks->state != RPC_CALLBACKS_OPEN)
    return CALLBACK_CLIENT_GONE;
  return callbacks_has_proxy(record, number) ? CALLBACK_GOES_ON : CALLBACK_SESSION_DELETED;
}

static enum jp_status begin_call(struct rpc_callbacks *callbacks, const struct jvm_callback_given *given,
                                 uint64_t number, struct rpc_callback_call *call,
                                 struct jvm_callback_failure *failure)
{
  const struct rpc_callback_limits *limits = &callbacks->peer->config.limits.callbacks;
  pthread_mutex_lock(&callbacks->process->lock);
  struct callback_record *record = callbacks_find_record(&callbacks->process->records, given->id);
  enum callback_ending obstacle = find_obstacle(callbacks, record, number);
  bool is_full = callbacks->calls_open >= limits->calls_max;
  if (obstacle == CALLBACK_GOES_ON && !is_full) {
    record->in_flight++;
    call->epoch = record->epoch;
    if (call->number != 0)
      call->number = ++callbacks->last_number;
    call->next = callbacks->calls;
    if (call->next != NULL)
      call->next->link = &call->next;
    call->link = &callbacks->calls;
    callbacks->calls = call;
    callbacks->calls_open++;
    pthread_mutex_unlock(&callbacks->process->lock);
    return JP_OK;
  }
  pthread_mutex_unlock(&callbacks->process->lock);
  if (obstacle != CALLBACK_GOES_ON)
    set_failure(call, obstacle, failure);
  else
    format_failure(failure, "the limit of %zu open callbacks of a connection is reached (callbacks-max)",
                   limits->calls_max);
  return JP_LIMIT;
}

/* Counts the first call of one of the peer's own threads, because another thread replaces this thread while
 * it waits. */
static enum jp_status enter_waiting(struct rpc_peer *peer, struct rpc_callback_call *call,
                                    struct jvm_callback_failure *failure)
{
  size_t max = peer->config.limits.callbacks.threads_max;
  bool takes_thread = call->waiter == NULL && call->number != 0 && call->thread->depth == 0;
  if (!takes_thread)
    return JP_OK;
  if (atomic_fetch_add(&peer->callback_threads, 1) < max || max == 0) {
    call->has_thread = true;
    return JP_OK;
  }
  atomic_fetch_sub(&peer->callback_threads, 1);
  format_failure(failure,
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
    format_failure(failure, "the limit of %zu callbacks inside one another is reached (callback-depth)", max);
    return JP_LIMIT;
  }
  if (!jvm_stack_is_short())
    return JP_OK;
  format_failure(failure, "less than 256 KiB of the thread's stack are left");
  return JP_LIMIT;
}

/* From now on the client has callback-timeout to answer. */
static void set_deadline(struct rpc_callback_call *call)
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
  /* malloc, because each event makes a call, and glibc's calloc does not use the cache of its thread. */
  struct rpc_callback_call *call = malloc(sizeof *call);
  if (call == NULL)
    return NULL;
  *call = (struct rpc_callback_call){.callbacks = callbacks,
                                     .id = given->id,
                                     .number = is_event ? 0 : 1, /* begin_call replaces the 1 */
                                     .borrows = given->borrows,
                                     .sends_origin = given->sends_origin,
                                     .method = method,
                                     .waiter = waiter == NULL ? NULL : jvm_waiter_hold(waiter),
                                     .worker = rpc_worker_now(),
                                     .deadline_ms = INT64_MAX,
                                     .thread = thread != NULL ? thread : &call->own_thread};
  if (!is_event)
    set_deadline(call);
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

/* True if no other thread looks for the callback_thread of this call, because the call has no answer and is
 * not inside another call. */
static bool is_alone(const struct rpc_callback_call *call)
{
  return call->number == 0 && call->thread == &call->own_thread;
}

/* The thread waits in its innermost call from now on. */
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

/* Finds the client of this process whose request the thread serves; NULL: none. If the thread serves several
 * nested requests, the innermost request counts. While a client's call waits for its answer, all that runs on
 * the thread is nested in that call. */
static struct rpc_callbacks *find_served(const struct rpc_process *process,
                                         const struct callback_thread *thread)
{
  const struct rpc_callback_call *outer = thread == NULL ? NULL : thread->innermost;
  while (outer != NULL && (outer->callbacks->process != process || !outer->is_sent || outer->nested != NULL))
    outer = outer->outer;
  if (outer != NULL)
    return outer->callbacks;
  const struct rpc_worker *worker = rpc_worker_now();
  const struct rpc_client *client = worker == NULL ? NULL : worker->served;
  return client == NULL || client->process != process || atomic_load(&client->is_parted) ? NULL
                                                                                         : client->callbacks;
}

/* Chooses the connection on which the object is called, among the connections of the process of `giver`. The
 * connection for which the proxy was made has no priority. The result is held. */
static struct rpc_callbacks *choose_connection(struct rpc_callbacks *giver, int64_t id,
                                               const struct callback_thread *thread)
{
  struct rpc_process *process = giver->process;
  struct rpc_callbacks *chosen = find_served(process, thread);
  pthread_mutex_lock(&process->lock);
  if (chosen == NULL || chosen->state != RPC_CALLBACKS_OPEN) {
    const struct callback_record *record = callbacks_find_record(&process->records, id);
    chosen = callbacks_find_open(process, record == NULL ? NULL : record->giver);
  }
  chosen = callbacks_hold(chosen == NULL ? giver : chosen);
  pthread_mutex_unlock(&process->lock);
  return chosen;
}

static enum jp_status open_call(struct rpc_callbacks *giver, const struct jvm_callback_given *given,
                                uint64_t number, const struct jvm_callback_method *method,
                                struct jvm_waiter *waiter, struct rpc_callback_call **call,
                                struct jvm_callback_failure *failure)
{
  struct callback_thread *thread = callback_thread_now();
  enum jp_status status = check_depth(giver, thread, failure);
  if (status != JP_OK)
    return status;
  struct rpc_callbacks *callbacks =
      giver->process->name.data == NULL ? callbacks_hold(giver) : choose_connection(giver, given->id, thread);
  struct rpc_callback_call *made = make_call(callbacks, given, method, waiter, thread);
  if (made == NULL) {
    fail_memory(failure);
    callbacks_release(callbacks);
    return JP_NO_MEMORY;
  }
  status = enter_waiting(callbacks->peer, made, failure);
  if (status == JP_OK)
    status = begin_call(callbacks, given, number, made, failure);
  if (status != JP_OK) {
    leave_waiting(callbacks->peer, made);
    free_call(made);
    callbacks_release(callbacks);
    return status;
  }
  atomic_fetch_add(&callbacks->peer->callback_calls, 1);
  made->begun_ns = audit_is_on() ? clock_now_ns() : 0;
  enter_thread(made);
  *call = made;
  return JP_OK;
}

/* ---- on a nested worker: the arguments, and the answer ---- */

static enum jp_status enter_call(struct rpc_callback_call *call, struct jvm_request *request)
{
  struct rpc_callbacks *callbacks = call->callbacks;
  struct rpc_peer *peer = callbacks->peer;
  enum jp_status status = nested_workers_borrow(peer->nested_workers, &call->nested);
  if (status != JP_OK)
    return status;
  struct rpc_runner *runner = &call->nested->worker.runner;
  rpc_runner_begin_message(runner, callbacks->maker.principal);
  call->judge = rpc_runner_judge(runner, callbacks->channel, &callbacks->key);
  call->previous_thread = callback_thread_set(call->thread);
  *request = (struct jvm_request){.thread = runner->thread,
                                  .objects = rpc_session_objects(callbacks->session),
                                  .arena = &runner->arena,
                                  .limits = &peer->config.limits.java,
                                  .judge = &call->judge,
                                  .stored = &call->stored,
                                  .compat_pal = peer->config.compat_pal,
                                  .callbacks = callbacks};
  return JP_OK;
}

static void leave_call(struct rpc_callback_call *call)
{
  callback_thread_set(call->previous_thread);
  nested_workers_return(call->callbacks->peer->nested_workers, call->nested);
  call->nested = NULL;
}

/* ---- sending ---- */

/* RPC_CALL_EXPECTS: an answer may arrive from now on, even before the message was sent. RPC_CALL_UNSENT:
 * sending failed. */
static void expect_answer(struct rpc_callback_call *call, enum rpc_call_state to)
{
  struct rpc_callbacks *callbacks = call->callbacks;
  pthread_mutex_lock(&callbacks->process->lock);
  if (call->state != to && call->state != RPC_CALL_ANSWERED && !callback_call_has_ended(call))
    callback_call_set_state(call, to);
  pthread_mutex_unlock(&callbacks->process->lock);
}

static enum jvm_callback_sent push_message(struct rpc_callback_call *call, struct buffer *message,
                                           struct jvm_callback_failure *failure)
{
  struct rpc_callbacks *callbacks = call->callbacks;
  bool is_event = call->number == 0;
  enum rpc_push_kind kind = is_event ? RPC_PUSH_EVENT : RPC_PUSH_CALL;
  enum rpc_pushed pushed = RPC_PUSH_NO_ROOM;
  if (is_event) /* an event whose message was sent waits for nothing */
    pushed = callbacks->push->send(callbacks->duplex, call->worker, kind, buffer_text(message));
  bool is_expected = pushed == RPC_PUSH_NO_ROOM;
  if (is_expected) {
    expect_answer(call, RPC_CALL_EXPECTS);
    pushed = callbacks->push->send(callbacks->duplex, call->worker, kind, buffer_text(message));
  }
  switch (pushed) {
  case RPC_PUSHED:
    call->is_sent = true; /* the call no longer waits for room */
    return JVM_CALLBACK_SENT;
  case RPC_PUSH_NO_ROOM:
    return JVM_CALLBACK_NO_ROOM;
  case RPC_PUSH_TOO_LONG:
    format_failure(failure,
                   "the call takes %zu bytes, more than may be held for its client (send-buffer-max)",
                   message->len);
    break;
  case RPC_PUSH_CLOSED:
    set_failure(call, CALLBACK_CLIENT_GONE, failure);
    break;
  }
  if (is_expected)
    expect_answer(call, RPC_CALL_UNSENT);
  return JVM_CALLBACK_NOT_SENT;
}

/* Finds the request or the call for which the client's thread waits, and which has caused this call. */
static void find_origin(const struct rpc_callback_call *call, struct rpc_callback_head *head)
{
  const struct rpc_callbacks *callbacks = call->callbacks;
  const struct rpc_callback_call *outer = call->outer;
  /* The client of such a call has not answered yet, so everything that runs on the thread is nested in that
   * call. */
  while (outer != NULL && (outer->callbacks != callbacks || !outer->is_sent || outer->nested != NULL))
    outer = outer->outer;
  if (outer != NULL) {
    head->origin = RPC_ORIGIN_CALL;
    head->origin_call = outer->number;
  } else if (call->worker != NULL && call->worker->served != NULL &&
             call->worker->served->callbacks == callbacks && !atomic_load(&call->worker->served->is_parted)) {
    head->origin = RPC_ORIGIN_REQUEST;
  } else {
    head->origin = RPC_ORIGIN_THREAD;
  }
}

/* Called once for each call. If there is no room for the message, the message is kept and sent later. */
static enum jvm_callback_sent write_and_push(struct rpc_callback_call *call, const struct outcome *arguments,
                                             size_t count, struct jvm_callback_failure *failure)
{
  struct buffer *out = &call->nested->out;
  buffer_clear(out);
  struct rpc_callback_head head = {.number = call->number, .id = call->id, .method = call->method};
  if (call->sends_origin)
    find_origin(call, &head);
  call->callbacks->codec->callbacks->write_call(out, &head, arguments, count, &call->nested->scratch);
  if (out->failed) {
    fail_memory(failure);
    return JVM_CALLBACK_NOT_SENT;
  }
  enum jvm_callback_sent sent = push_message(call, out, failure);
  if (sent == JVM_CALLBACK_NO_ROOM) {
    call->message = *out;
    buffer_init(out);
    if (call->number == 0)
      set_deadline(call);
  }
  return sent;
}

static enum jvm_callback_sent send_call(struct rpc_callback_call *call, const struct outcome *arguments,
                                        size_t count, struct jvm_callback_failure *failure)
{
  return call->message.data == NULL ? write_and_push(call, arguments, count, failure)
                                    : push_message(call, &call->message, failure);
}

/* ---- waiting ---- */

static bool can_wait(void)
{
  const struct rpc_worker *worker = rpc_worker_now();
  return worker != NULL && worker->waits != NULL;
}

/* Called with the lock held. Requests that arrived before the answer are served before it. Requests that
 * arrived later are not. */
static enum jvm_callback_event read_call_state(const struct rpc_callback_call *call)
{
  if (callback_call_has_ended(call))
    return JVM_CALLBACK_ENDED;
  if (callback_inbox_has_turn(call))
    return JVM_CALLBACK_REQUEST;
  if (call->state == RPC_CALL_ANSWERED)
    return JVM_CALLBACK_ANSWER;
  return call->state == RPC_CALL_HAS_ROOM && !call->is_sent ? JVM_CALLBACK_SEND : JVM_CALLBACK_NOTHING;
}

static enum jvm_callback_event poll_call(struct rpc_callback_call *call, struct jvm_callback_failure *failure)
{
  struct rpc_callbacks *callbacks = call->callbacks;
  if (call->worker != NULL)
    atomic_store(&call->worker->was_interrupted, false);
  bool is_late = call->deadline_ms != INT64_MAX && clock_now_ms() >= call->deadline_ms;
  /* the flag is cleared before the call is polled, so that a later event is not lost */
  atomic_store(&call->has_news, false);
  pthread_mutex_lock(&callbacks->process->lock);
  enum jvm_callback_event sight = read_call_state(call);
  if (sight == JVM_CALLBACK_NOTHING && is_late) {
    callback_call_end(call, RPC_CALL_ENDED, CALLBACK_TIMED_OUT);
    sight = JVM_CALLBACK_ENDED;
  }
  enum callback_ending ending = call->ending;
  pthread_mutex_unlock(&callbacks->process->lock);
  if (sight == JVM_CALLBACK_ENDED)
    set_failure(call, ending, failure);
  if (sight == JVM_CALLBACK_ENDED && ending == CALLBACK_ANSWER_FAULTY)
    log_misfit(call, text_of(failure->text));
  return sight;
}

/* The is_over function of rpc_waits.wait; state: a struct rpc_callback_call. */
static bool is_wait_over(void *state)
{
  struct rpc_callback_call *call = state;
  return atomic_load(&call->worker->was_interrupted) || atomic_load(&call->has_news);
}

static void wait_for_call(struct rpc_callback_call *call)
{
  const struct rpc_waits *waits = call->worker->waits;
  waits->wait(waits->thread, is_wait_over, call, call->deadline_ms);
}

static int64_t find_nanoseconds_left(struct rpc_callback_call *call)
{
  if (call->deadline_ms == INT64_MAX)
    return INT64_MAX;
  int64_t left = call->deadline_ms - clock_now_ms();
  return left <= 0 ? 0 : left > INT64_MAX / 1000000 ? INT64_MAX : left * 1000000;
}

/* ---- waking ---- */

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

/* Wakes, once each, the calls for which choose returns true. choose is called under the lock, and marks
 * the call as woken. */
static void wake_calls(struct rpc_callbacks *callbacks, bool (*choose)(struct rpc_callback_call *call))
{
  struct jvm_waiter *waiters[WOKEN_AT_ONCE];
  size_t count;
  do {
    count = 0;
    pthread_mutex_lock(&callbacks->process->lock);
    for (struct rpc_callback_call *call = callbacks->calls; call != NULL && count < WOKEN_AT_ONCE;
         call = call->next) {
      struct jvm_waiter *waiter = choose(call) ? callback_call_wake(call) : NULL;
      if (waiter != NULL)
        waiters[count++] = waiter;
    }
    pthread_mutex_unlock(&callbacks->process->lock);
    for (size_t i = 0; i < count; i++)
      callback_waiter_wake(waiters[i]);
  } while (count == WOKEN_AT_ONCE);
}

static bool choose_ended(struct rpc_callback_call *call)
{
  bool is_due = call->state == RPC_CALL_ENDING;
  if (is_due)
    callback_call_set_state(call, RPC_CALL_ENDED);
  return is_due;
}

void callbacks_wake_ended(struct rpc_callbacks *callbacks)
{
  wake_calls(callbacks, choose_ended);
}

static bool choose_sender(struct rpc_callback_call *call)
{
  bool is_due = call->state == RPC_CALL_EXPECTS;
  if (is_due)
    callback_call_set_state(call, RPC_CALL_HAS_ROOM);
  return is_due;
}

void rpc_callbacks_has_room(void *context, struct rpc_callbacks *callbacks)
{
  (void)context;
  wake_calls(callbacks, choose_sender);
  callbacks_resume_releases(callbacks);
}

/* ---- exiting threads ---- */

/* The call whose thread is asked whether it is exiting. */
struct waiting_thread {
  struct jvm_waiter *waiter; /* held; NULL: the worker's thread waits */
  const struct rpc_worker *worker;
};

/* Lists the threads of all open calls. Caller frees. NULL: no call is open, or memory is short. */
static struct waiting_thread *list_waiting(struct rpc_callbacks *callbacks, size_t *count)
{
  struct waiting_thread *threads = NULL;
  pthread_mutex_lock(&callbacks->process->lock);
  if (callbacks->calls_open > 0)
    threads = calloc(callbacks->calls_open, sizeof *threads);
  for (struct rpc_callback_call *call = callbacks->calls; call != NULL && threads != NULL;
       call = call->next) {
    struct waiting_thread *thread = &threads[(*count)++];
    thread->waiter = call->waiter == NULL ? NULL : jvm_waiter_hold(call->waiter);
    thread->worker = call->worker;
  }
  pthread_mutex_unlock(&callbacks->process->lock);
  return threads;
}

bool rpc_callbacks_are_exiting(void *context, struct rpc_callbacks *callbacks)
{
  (void)context;
  size_t count = 0;
  struct waiting_thread *threads = list_waiting(callbacks, &count);
  bool are_exiting = count > 0;
  for (size_t i = 0; i < count; i++) {
    struct jvm_waiter *waiter = threads[i].waiter;
    bool is_exiting = waiter != NULL ? jvm_waiter_is_exiting(waiter)
                                     : rpc_worker_find_exiting(callbacks->peer, threads[i].worker);
    are_exiting = are_exiting && is_exiting;
    if (waiter != NULL)
      jvm_waiter_release(waiter);
  }
  free(threads);
  return are_exiting;
}

/* ---- the answer ---- */

/* rpc_callback_sink.accept; context: a struct rpc_callback_call. */
static enum jp_status accept_callback(void *context, int64_t id, struct jp_error *error)
{
  struct rpc_callback_call *call = context;
  return rpc_callbacks_note(call->callbacks, id, &call->given, error);
}

static enum jp_status take_answer(struct rpc_callback_call *call, const struct jvm_request *request,
                                  struct jvm_callback_answer *answer, struct outcome *outcome)
{
  struct rpc_callbacks *callbacks = call->callbacks;
  const struct rpc_callback_sink sink = {.context = call, .accept = accept_callback};
  const struct rpc_value_rules rules = {.digits_max = request->limits->number_digits_max,
                                        .values_max = callbacks->peer->config.limits.values_max,
                                        .callbacks = &sink};
  enum jp_status status = callbacks->codec->callbacks->read_answer(buffer_text(&call->answer), &rules,
                                                                   request->arena, answer, outcome);
  call->was_read = status == JP_OK;
  call->has_thrown = call->was_read && answer->is_error;
  if (status != JP_OK || answer->is_error)
    return status;
  return judge_value(&call->judge, &answer->value, request->arena, outcome);
}

/* ---- the end ---- */

/* Run by jvm_thread_run; argument: a struct rpc_callback_call whose nested worker is lent. */
static void release_stored(void *argument)
{
  struct rpc_callback_call *call = argument;
  jvm_objects_roll_back(call->nested->worker.runner.thread, rpc_session_objects(call->callbacks->session),
                        &call->stored, 0);
}

/* Releases the refs of arguments that the client has not received, or has only borrowed. If memory is short,
 * the objects are not released. */
static void release_unreceived(struct rpc_callback_call *call)
{
  struct nested_workers *pool = call->callbacks->peer->nested_workers;
  if (call->stored.count == 0 || (call->is_sent && !call->borrows) ||
      nested_workers_borrow(pool, &call->nested) != JP_OK)
    return;
  jvm_thread_run(call->nested->worker.runner.thread, release_stored, call);
  nested_workers_return(pool, call->nested);
}

/* The remaining work after a call was removed from all lists. */
struct call_duties {
  bool has_releases;
  bool has_session; /* it was the last call of a closed client: release the session */
};

static struct call_duties leave_calls(struct rpc_callbacks *callbacks, struct rpc_callback_call *call)
{
  pthread_mutex_lock(&callbacks->process->lock);
  *call->link = call->next;
  if (call->next != NULL)
    call->next->link = call->link;
  if (call->state == RPC_CALL_ANSWERED) {
    callbacks->kept--;
    callbacks->kept_bytes -= call->answer.len;
    if (callbacks->waiting > 0)
      pthread_cond_broadcast(&callbacks->was_read);
  }
  struct callback_record *record = callbacks_find_record(&callbacks->process->records, call->id);
  if (record != NULL && record->epoch == call->epoch) {
    record->in_flight--;
    callbacks_settle_record(callbacks, record);
  }
  callbacks->calls_open--;
  atomic_fetch_add(&callbacks->peer->callback_calls_ended, 1);
  struct call_duties duties = {.has_releases = callbacks->process->unsent > 0,
                               .has_session = callbacks->calls_open == 0 && callbacks_are_closed(callbacks)};
  pthread_mutex_unlock(&callbacks->process->lock);
  return duties;
}

static const char *find_ending_word(const struct rpc_callback_call *call)
{
  static const char *const endings[] = {
      [CALLBACK_GOES_ON] = "interrupted", [CALLBACK_CLIENT_GONE] = "left",
      [CALLBACK_STOPPED] = "stopped",     [CALLBACK_SESSION_DELETED] = "session deleted",
      [CALLBACK_TIMED_OUT] = "timeout",   [CALLBACK_ANSWER_TOO_LONG] = "limit",
      [CALLBACK_NO_MEMORY] = "internal",  [CALLBACK_ANSWER_FAULTY] = "invalid",
  };
  if (call->state == RPC_CALL_ANSWERED)
    return call->has_thrown ? "exception" : call->was_read ? "ok" : "invalid";
  if (call->number == 0 && call->is_sent)
    return "ok";
  return endings[call->ending];
}

static void audit_call(struct rpc_callback_call *call)
{
  struct buffer line;
  struct rpc_client client;
  if (!audit_is_on())
    return;
  callbacks_fill_client(call->callbacks, &client);
  audit_line_begin(&line, "callback");
  operation_audit_client(&line, &client);
  audit_line_name(&line, "member", call->method->interface, call->method->name);
  if (call->number == 0)
    audit_line_true(&line, "notification");
  audit_line_number(&line, "us", (clock_now_ns() - call->begun_ns) / 1000);
  audit_line_text(&line, "outcome", text_of(find_ending_word(call)));
  (void)audit_line_end(&line);
}

static void close_call(struct rpc_callback_call *call)
{
  struct rpc_callbacks *callbacks = call->callbacks;
  release_unreceived(call); /* the session cannot end before leave_calls */
  struct call_duties duties = leave_calls(callbacks, call);
  audit_call(call);
  callback_inbox_refuse(call->thread, callbacks, call->number);
  if (call->is_sent && call->number != 0)
    callbacks->push->settle(callbacks->duplex, call->worker);
  if (call->was_read || call->state != RPC_CALL_ANSWERED)
    rpc_callbacks_settle(callbacks, &call->given);
  else /* callbacks that the answer gives count even if the answer was not read to its end */
    rpc_callbacks_settle_partly(callbacks, &call->given, buffer_text(&call->answer));
  if (duties.has_releases)
    callbacks_send_releases(callbacks);
  leave_thread(call);
  leave_waiting(callbacks->peer, call);
  free_call(call);
  if (duties.has_session)
    callbacks_release_session(callbacks);
  callbacks_release(callbacks);
}

/* ---- the table ---- */

static const struct jvm_callback_hooks hooks = {
    .find = callbacks_find_proxy,
    .made = callbacks_note_proxy,
    .owner = callbacks_find_owner,
    .released = callbacks_release_proxy,
    .waits = can_wait,
    .open = open_call,
    .enter = enter_call,
    .leave = leave_call,
    .send = send_call,
    .poll = poll_call,
    .wait = wait_for_call,
    .nanoseconds_left = find_nanoseconds_left,
    .serve = callback_call_serve,
    .take_answer = take_answer,
    .log_misfit = log_misfit,
    .close = close_call,
    .interrupted = rpc_worker_interrupt,
};

const struct jvm_callback_hooks *rpc_callback_hooks(void)
{
  return &hooks;
}
