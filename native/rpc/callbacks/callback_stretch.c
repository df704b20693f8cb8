/* What a call does on a nested worker: its arguments and its message, and its answer. */
#include "rpc/callbacks/callbacks_state.h"
#include "rpc/values/value_read.h"

enum jp_status callback_call_enter(struct rpc_callback_call *call, struct jvm_request *request)
{
  struct rpc_callbacks *callbacks = call->callbacks;
  struct rpc_peer *peer = callbacks->peer;
  enum jp_status status = nested_workers_borrow(peer->nested_workers, &call->nested);
  if (status != JP_OK)
    return status;
  struct rpc_runner *runner = &call->nested->worker.runner;
  rpc_runner_begin_message(runner);
  call->authorizer = (struct rpc_authorizer){.policy = runner->policy,
                                             .names = &runner->names,
                                             .channel = callbacks->channel,
                                             .session = &callbacks->key};
  call->guard = rpc_authorizer_guard(&call->authorizer);
  call->previous_thread = callback_thread_set(call->thread);
  *request = (struct jvm_request){.thread = runner->thread,
                                  .objects = rpc_session_objects(callbacks->session),
                                  .arena = &runner->arena,
                                  .limits = &peer->config.limits.java,
                                  .guard = &call->guard,
                                  .stored = &call->stored,
                                  .compat_pal = peer->config.compat_pal,
                                  .callbacks = callbacks};
  return JP_OK;
}

void callback_call_leave(struct rpc_callback_call *call)
{
  callback_thread_set(call->previous_thread);
  nested_workers_return(call->callbacks->peer->nested_workers, call->nested);
  call->nested = NULL;
}

/* ---- sending ---- */

/* From now on an answer may come, before the message has left. */
static void expect_answer(struct rpc_callback_call *call, bool expects)
{
  struct rpc_callbacks *callbacks = call->callbacks;
  pthread_mutex_lock(&callbacks->lock);
  call->expects = expects && call->number != 0;
  call->wants_room = expects;
  call->may_send = false;
  pthread_mutex_unlock(&callbacks->lock);
}

static enum jvm_callback_sent push_message(struct rpc_callback_call *call, struct buffer *message,
                                           struct jvm_callback_failure *failure)
{
  struct rpc_callbacks *callbacks = call->callbacks;
  bool is_event = call->number == 0;
  enum rpc_push_kind kind = is_event ? RPC_PUSH_EVENT : RPC_PUSH_CALL;
  enum rpc_pushed pushed = RPC_PUSH_NO_ROOM;
  if (is_event) /* where it finds room nothing is waited for */
    pushed = callbacks->push->send(callbacks->duplex, call->worker, kind, buffer_text(message));
  bool is_expected = pushed == RPC_PUSH_NO_ROOM;
  if (is_expected) {
    expect_answer(call, true);
    pushed = callbacks->push->send(callbacks->duplex, call->worker, kind, buffer_text(message));
  }
  switch (pushed) {
  case RPC_PUSHED:
    call->is_sent = true; /* room is not wanted any more */
    return JVM_CALLBACK_SENT;
  case RPC_PUSH_NO_ROOM:
    return JVM_CALLBACK_NO_ROOM;
  case RPC_PUSH_TOO_LONG:
    callback_fail(failure, "the call takes %zu bytes, more than may be held for its client (send-buffer-max)",
                  message->len);
    break;
  case RPC_PUSH_CLOSED:
    callback_tell_ending(call, CALLBACK_CLIENT_GONE, failure);
    break;
  }
  if (is_expected)
    expect_answer(call, false);
  return JVM_CALLBACK_NOT_SENT;
}

/* Its client has been asked, and has not answered: what runs on the thread meanwhile is nested in it. */
static bool is_waiting(const struct rpc_callback_call *call)
{
  return call->is_sent && call->nested == NULL;
}

/* What the client's thread waits for that this call comes from. */
static void find_origin(const struct rpc_callback_call *call, struct rpc_callback_head *head)
{
  const struct rpc_callbacks *callbacks = call->callbacks;
  const struct rpc_callback_call *outer = call->outer;
  while (outer != NULL && (outer->callbacks != callbacks || !is_waiting(outer)))
    outer = outer->outer;
  if (outer != NULL) {
    head->origin = RPC_ORIGIN_CALL;
    head->origin_call = outer->number;
  } else if (call->worker != NULL && call->worker->served != NULL &&
             call->worker->served->callbacks == callbacks) {
    head->origin = RPC_ORIGIN_REQUEST;
  } else {
    head->origin = RPC_ORIGIN_THREAD;
  }
}

/* The first time. What finds no room is kept for later. */
static enum jvm_callback_sent write_and_push(struct rpc_callback_call *call, const struct outcome *arguments,
                                             size_t count, struct jvm_callback_failure *failure)
{
  struct buffer *out = &call->nested->out;
  buffer_clear(out);
  struct rpc_callback_head head = {.number = call->number, .id = call->id, .method = call->method};
  if (call->tells_origin)
    find_origin(call, &head);
  call->callbacks->codec->callbacks->write_call(out, &head, arguments, count, &call->nested->scratch);
  if (out->failed) {
    callback_fail(failure, "out of memory");
    return JVM_CALLBACK_NOT_SENT;
  }
  enum jvm_callback_sent sent = push_message(call, out, failure);
  if (sent == JVM_CALLBACK_NO_ROOM) {
    call->message = *out;
    buffer_init(out);
    if (call->number == 0)
      callback_call_set_deadline(call);
  }
  return sent;
}

enum jvm_callback_sent callback_call_send(struct rpc_callback_call *call, const struct outcome *arguments,
                                          size_t count, struct jvm_callback_failure *failure)
{
  return call->message.data == NULL ? write_and_push(call, arguments, count, failure)
                                    : push_message(call, &call->message, failure);
}

/* ---- the answer ---- */

/* rpc_callback_taker.take, with a call */
static enum jp_status take_callback(void *context, int64_t id, struct jp_error *error)
{
  struct rpc_callback_call *call = context;
  return rpc_callbacks_note(call->callbacks, id, &call->given, error);
}

enum jp_status callback_call_take_answer(struct rpc_callback_call *call, const struct jvm_request *request,
                                         struct jvm_callback_answer *answer, struct outcome *outcome)
{
  struct rpc_callbacks *callbacks = call->callbacks;
  const struct rpc_callback_taker taker = {.context = call, .take = take_callback};
  const struct rpc_callback_reading reading = {.digits_max = request->limits->number_digits_max,
                                               .values_max = callbacks->peer->config.limits.values_max,
                                               .callbacks = &taker,
                                               .arena = request->arena};
  enum jp_status status =
      callbacks->codec->callbacks->read_answer(buffer_text(&call->answer), &reading, answer, outcome);
  call->was_read = status == JP_OK;
  if (status != JP_OK || answer->is_error)
    return status;
  return rpc_authorize_value(&call->authorizer, &answer->value, request->arena, outcome);
}
