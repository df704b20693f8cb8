/* Nested requests: the inbox of a thread, and how its requests are served. */
#include "rpc/callbacks/callbacks_state.h"

#include <stdlib.h>

/* ---- the inbox ---- */

struct jvm_waiter *callback_inbox_add(struct callback_thread *thread, struct callback_message *message)
{
  message->next = NULL;
  pthread_mutex_lock(&thread->lock);
  *thread->last = message;
  thread->last = &message->next;
  atomic_fetch_add(&thread->count, 1);
  struct jvm_waiter *waiter = callback_call_wake(thread->innermost);
  pthread_mutex_unlock(&thread->lock);
  return waiter;
}

bool callback_inbox_has_turn(const struct rpc_callback_call *call)
{
  struct callback_thread *thread = call->thread;
  if (atomic_load(&thread->count) == 0)
    return false;
  if (!call->has_answer)
    return true;
  pthread_mutex_lock(&thread->lock);
  const struct callback_message *first = thread->first; /* the thread itself, which looks, is who takes it */
  bool is_earlier = first->callbacks != call->callbacks || first->answers < call->answer_number;
  pthread_mutex_unlock(&thread->lock);
  return is_earlier;
}

/* Under the inbox's lock. */
static struct callback_message *unlink_message(struct callback_thread *thread, struct callback_message **link)
{
  struct callback_message *message = *link;
  *link = message->next;
  if (thread->last == &message->next)
    thread->last = link;
  atomic_fetch_sub(&thread->count, 1);
  return message;
}

static void forget_kept(struct rpc_callbacks *callbacks, size_t length)
{
  pthread_mutex_lock(&callbacks->lock);
  callbacks->kept--;
  callbacks->kept_bytes -= length;
  pthread_mutex_unlock(&callbacks->lock);
}

struct callback_message *callback_inbox_take(struct callback_thread *thread)
{
  pthread_mutex_lock(&thread->lock);
  struct callback_message *message = thread->first == NULL ? NULL : unlink_message(thread, &thread->first);
  pthread_mutex_unlock(&thread->lock);
  if (message != NULL)
    forget_kept(message->callbacks, message->text.len);
  return message;
}

/* The first message of the call; NULL: there is none. */
static struct callback_message *take_message_of(struct callback_thread *thread,
                                                const struct rpc_callbacks *callbacks, uint64_t number)
{
  pthread_mutex_lock(&thread->lock);
  struct callback_message **link = &thread->first;
  while (*link != NULL && ((*link)->callbacks != callbacks || (*link)->number != number))
    link = &(*link)->next;
  struct callback_message *message = *link == NULL ? NULL : unlink_message(thread, link);
  pthread_mutex_unlock(&thread->lock);
  if (message != NULL)
    forget_kept(message->callbacks, message->text.len);
  return message;
}

void callback_message_free(struct callback_message *message)
{
  buffer_fini(&message->text);
  free(message);
}

/* ---- answers ---- */

/* An answer to a nested request. One that is too long finds no room, and nothing is held back for it. */
static enum rpc_pushed push_answer(struct rpc_callbacks *callbacks, const struct buffer *out)
{
  return callbacks->push->send(callbacks->duplex, callback_thread_worker(), RPC_PUSH_ANSWER,
                               buffer_text(out));
}

/* An answer that finds no room, and is as short as an error, ends the connection. */
static void push_error(struct rpc_callbacks *callbacks, enum rpc_served served, const struct buffer *out)
{
  if (served != RPC_NO_REPLY && !out->failed)
    (void)push_answer(callbacks, out);
}

/* Answers the requests of a message with an error. */
static void refuse_message(struct rpc_callbacks *callbacks, struct text message, const char *reason,
                           struct buffer *out)
{
  buffer_clear(out);
  push_error(callbacks, callbacks->codec->refuse(callbacks->peer, message, reason, out), out);
}

void callback_inbox_refuse(struct callback_thread *thread, struct rpc_callbacks *callbacks, uint64_t number)
{
  struct callback_message *message;
  struct buffer out;
  if (number == 0)
    return;
  buffer_init(&out);
  while ((message = take_message_of(thread, callbacks, number)) != NULL) {
    struct text text = buffer_text(&message->text);
    buffer_clear(&out);
    push_error(callbacks, callbacks->codec->callbacks->refuse_nested(callbacks->peer, text, &out), &out);
    rpc_callbacks_count_unread(callbacks, text);
    callback_message_free(message);
  }
  buffer_fini(&out);
}

/* ---- serving ---- */

struct nested_serving {
  struct nested_worker *nested;
  struct callback_message *message;
};

/* What is sent in place of an answer for which there is no room is short. */
static void send_answer(const struct nested_serving *serving, struct rpc_client *client)
{
  struct rpc_callbacks *callbacks = serving->message->callbacks;
  struct nested_worker *nested = serving->nested;
  enum rpc_pushed pushed = nested->out.failed ? RPC_PUSH_TOO_LONG : push_answer(callbacks, &nested->out);
  if (pushed == RPC_PUSHED)
    return;
  rpc_client_take_back(callbacks->peer, &nested->worker, client);
  if (pushed == RPC_PUSH_TOO_LONG)
    refuse_message(callbacks, buffer_text(&serving->message->text),
                   "the answer is longer than there is room for (send-buffer-max)", &nested->out);
}

/* jvm_thread_run's, with a nested_serving. The client is one of its own: the outer requests' may be in use. */
static void run_serving(void *argument)
{
  const struct nested_serving *serving = argument;
  struct rpc_callbacks *callbacks = serving->message->callbacks;
  struct nested_worker *nested = serving->nested;
  struct rpc_client client = {.channel = callbacks->channel,
                              .key = callbacks->key,
                              .session = callbacks->session,
                              .maker = callbacks->maker,
                              .push = callbacks->push,
                              .callbacks = callbacks};
  nested->worker.within = serving->message->number;
  enum rpc_served served =
      callbacks->codec->serve(callbacks->peer, &nested->worker, &client, buffer_text(&serving->message->text),
                              &nested->out, callbacks->push->reply_max(callbacks->duplex), NULL);
  nested->worker.within = 0;
  if (served != RPC_NO_REPLY)
    send_answer(serving, &client);
  rpc_session_add_calls(callbacks->session, client.calls);
}

static void refuse_unserved(struct callback_message *message, const char *reason)
{
  struct buffer out;
  buffer_init(&out);
  refuse_message(message->callbacks, buffer_text(&message->text), reason, &out);
  rpc_callbacks_count_unread(message->callbacks, buffer_text(&message->text));
  buffer_fini(&out);
}

void callback_nested_serve(struct rpc_callback_call *call, struct callback_message *message)
{
  struct nested_workers *pool = call->callbacks->peer->nested_workers;
  struct nested_serving serving = {.message = message};
  if (jvm_stack_is_short()) {
    refuse_unserved(message, "less than 256 KiB of the thread's stack are left");
  } else if (nested_workers_borrow(pool, &serving.nested) != JP_OK) {
    refuse_unserved(message, "out of memory");
  } else {
    struct callback_thread *before = callback_thread_set(call->thread);
    const struct callback_message *outer = call->thread->served;
    call->thread->served = message;
    jvm_thread_run(serving.nested->worker.runner.thread, run_serving, &serving);
    call->thread->served = outer;
    callback_thread_set(before);
    nested_workers_return(pool, serving.nested);
  }
  callback_message_free(message);
}
