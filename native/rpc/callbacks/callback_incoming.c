/*
 * Messages of a client whose objects are being called: answers, which are kept for their calls, and requests
 * that are nested in calls, which are queued in the inbox of a thread and served by that thread.
 */
#include "rpc/callbacks/callback_incoming.h"

#include "audit/audit.h"
#include "base/clock.h"
#include "base/log.h"
#include "rpc/callbacks/callbacks_state.h"

#include <stdlib.h>

enum {
  KEPT_MAX = 1000,     /* messages of a client that wait for the threads that will read them */
  COPIED_MAX = 4096,   /* bytes: a longer message is not copied, its buffer is moved */
  WAITED_MAX_MS = 2000 /* for answers to be read: see rpc_callbacks_await_answers */
};

/* A nested message. It waits in the inbox of its thread until the thread serves it. */
struct callback_message {
  struct callback_message *next;   /* in the inbox */
  struct callback_message *outer;  /* while the message is served: the message in whose call it is nested */
  struct rpc_callbacks *callbacks; /* of an open call of the thread */
  uint64_t number;                 /* of that call */
  uint64_t answers;                /* answers that the client had sent before the request */
  int64_t received_ns;             /* clock_now_ns */
  struct buffer text;

  /* Under the inbox's lock; the thread reads `cause` without the lock: */
  struct buffer ids; /* the ids of its requests (rpc_codec.list_ids); listed when they are first needed */
  bool has_ids;
  bool may_end;                      /* a member of the crew serves the message, so it may be ended; other
                                      * threads are never interrupted */
  _Atomic enum rpc_call_cause cause; /* the reason to end the message, if there is one */
};

/* ---- the inbox of a thread ---- */

/* Adds a message for any call of the thread. Wakes the thread, and returns a waiter, as callback_call_wake
 * does. */
static struct jvm_waiter *add_to_inbox(struct callback_thread *thread, struct callback_message *message)
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
  if (call->state != RPC_CALL_ANSWERED)
    return true;
  pthread_mutex_lock(&thread->lock);
  /* The thread removes messages itself, when it polls; but a message that is cancelled is removed by another thread. */
  const struct callback_message *first = thread->first;
  bool is_earlier =
      first != NULL && (first->callbacks != call->callbacks || first->answers < call->answer_number);
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
  pthread_mutex_lock(&callbacks->process->lock);
  callbacks->kept--;
  callbacks->kept_bytes -= length;
  pthread_mutex_unlock(&callbacks->process->lock);
}

/* The first message of the call; NULL: the inbox has no message of the call. */
static struct callback_message *remove_message_of(struct callback_thread *thread,
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

static void free_message(struct callback_message *message)
{
  buffer_fini(&message->text);
  buffer_fini(&message->ids);
  free(message);
}

/* ---- answers to nested requests ---- */

/* Sends an answer to a nested request. If the answer finds no room, this function fails at once and does not
 * wait. */
static enum rpc_pushed push_answer(struct rpc_callbacks *callbacks, const struct buffer *out)
{
  return callbacks->push->send(callbacks->duplex, rpc_worker_now(), RPC_PUSH_ANSWER, buffer_text(out));
}

/* An error is short. If even the error does not fit, the connection is ended. */
static void push_error(struct rpc_callbacks *callbacks, enum rpc_served served, const struct buffer *out)
{
  if (served != RPC_NO_REPLY && !out->failed)
    (void)push_answer(callbacks, out);
}

void callbacks_fill_client(struct rpc_callbacks *callbacks, struct rpc_client *client)
{
  *client = (struct rpc_client){.channel = callbacks->channel,
                                .principal = callbacks->maker.principal,
                                .proof = callbacks->proof,
                                .key = callbacks->key,
                                .session = callbacks->session,
                                .maker = callbacks->maker,
                                .push = callbacks->push,
                                .process = callbacks->process,
                                .number = callbacks->process->client,
                                .callbacks = callbacks};
}

/* Answers the requests of a message with an error. */
static void refuse_message(struct rpc_callbacks *callbacks, struct text message, const char *reason,
                           struct buffer *out)
{
  buffer_clear(out);
  struct rpc_client client;
  callbacks_fill_client(callbacks, &client);
  push_error(callbacks, callbacks->codec->refuse(callbacks->peer, &client, message, reason, out), out);
}

void callback_inbox_refuse(struct callback_thread *thread, struct rpc_callbacks *callbacks, uint64_t number)
{
  struct callback_message *message;
  struct buffer out;
  if (number == 0)
    return;
  struct rpc_client client;
  callbacks_fill_client(callbacks, &client);
  buffer_init(&out);
  while ((message = remove_message_of(thread, callbacks, number)) != NULL) {
    struct text text = buffer_text(&message->text);
    buffer_clear(&out);
    push_error(callbacks, callbacks->codec->callbacks->refuse_nested(callbacks->peer, &client, text, &out),
               &out);
    rpc_callbacks_count_unread(callbacks, text);
    free_message(message);
  }
  buffer_fini(&out);
}

/* ---- serving nested requests ---- */

/* Removes the first message of the inbox, which is served from now on. NULL: there is none. */
static struct callback_message *begin_serving(struct callback_thread *inbox, bool may_end)
{
  pthread_mutex_lock(&inbox->lock);
  struct callback_message *message = inbox->first == NULL ? NULL : unlink_message(inbox, &inbox->first);
  if (message != NULL) {
    message->may_end = may_end;
    message->outer = inbox->served;
    inbox->served = message;
  }
  pthread_mutex_unlock(&inbox->lock);
  return message;
}

/* Called before the message is answered, so that a cancel does not find an answered request. */
static void end_serving(struct callback_thread *inbox, const struct callback_message *message)
{
  pthread_mutex_lock(&inbox->lock);
  inbox->served = message->outer;
  pthread_mutex_unlock(&inbox->lock);
}

struct nested_serving {
  struct nested_worker *nested;
  struct callback_thread *inbox;
  struct callback_message *message;
};

/* An answer that does not fit is replaced by an error, which is short. */
static void send_answer(const struct nested_serving *serving, struct rpc_client *client)
{
  struct rpc_callbacks *callbacks = serving->message->callbacks;
  struct nested_worker *nested = serving->nested;
  enum rpc_pushed pushed = nested->out.failed ? RPC_PUSH_TOO_LONG : push_answer(callbacks, &nested->out);
  if (pushed == RPC_PUSHED)
    return;
  rpc_client_release_unsent(callbacks->peer, &nested->worker, client);
  if (pushed == RPC_PUSH_TOO_LONG)
    refuse_message(callbacks, buffer_text(&serving->message->text),
                   "the answer is longer than there is room for (send-buffer-max)", &nested->out);
}

/* Run by jvm_thread_run; argument: a struct nested_serving. */
static void run_serving(void *argument)
{
  const struct nested_serving *serving = argument;
  struct rpc_callbacks *callbacks = serving->message->callbacks;
  struct nested_worker *nested = serving->nested;
  struct rpc_client client;
  callbacks_fill_client(callbacks, &client);
  nested->worker.within = serving->message->number;
  enum rpc_served served =
      callbacks->codec->serve(callbacks->peer, &nested->worker, &client, buffer_text(&serving->message->text),
                              &nested->out, callbacks->push->reply_max(callbacks->duplex), NULL);
  nested->worker.within = 0;
  audit_settle();
  end_serving(serving->inbox, serving->message);
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

void callback_call_serve(struct rpc_callback_call *call)
{
  struct nested_workers *pool = call->callbacks->peer->nested_workers;
  struct callback_thread *inbox = call->thread;
  struct rpc_worker *own = rpc_worker_now(); /* NULL: the thread is no crew member */
  struct callback_message *message = begin_serving(inbox, own != NULL);
  if (message == NULL)
    return;
  forget_kept(message->callbacks, message->text.len);
  struct nested_serving serving = {.inbox = inbox, .message = message};
  if (jvm_stack_is_short()) {
    end_serving(inbox, message);
    refuse_unserved(message, "less than 256 KiB of the thread's stack are left");
  } else if (nested_workers_borrow(pool, &serving.nested) != JP_OK) {
    end_serving(inbox, message);
    refuse_unserved(message, "out of memory");
  } else {
    struct callback_thread *before = callback_thread_set(inbox);
    serving.nested->worker.runner.watch = own == NULL ? NULL : &serving.nested->worker.watch;
    if (own != NULL)
      rpc_call_begin_nested(&own->watch, &serving.nested->worker.watch, own->runner.thread,
                            message->received_ns, &message->cause);
    jvm_thread_run(serving.nested->worker.runner.thread, run_serving, &serving);
    if (own != NULL)
      rpc_call_end_nested(&own->watch, own->runner.thread);
    callback_thread_set(before);
    nested_workers_return(pool, serving.nested);
  }
  free_message(message);
}

/* ---- cancels ---- */

/* Under the inbox's lock. */
static bool has_id(struct callback_message *message, struct text id)
{
  const struct rpc_callbacks *callbacks = message->callbacks;
  if (callbacks->codec->list_ids == NULL)
    return false;
  if (!message->has_ids)
    callbacks->codec->list_ids(callbacks->peer, buffer_text(&message->text), &message->ids);
  message->has_ids = true;
  return text_has_line(buffer_text(&message->ids), id);
}

/* Returns the innermost message that is being served and has the id. Called under the inbox's lock. */
static struct callback_message *find_served(const struct callback_thread *thread,
                                            const struct rpc_callbacks *callbacks, struct text id)
{
  struct callback_message *message = thread->served;
  while (message != NULL && (message->callbacks != callbacks || !message->may_end || !has_id(message, id)))
    message = message->outer;
  return message;
}

/* Removes and returns the first message of the inbox that has the id. Called under the lock of the callbacks
 * and that of the inbox. */
static struct callback_message *remove_waiting(struct callback_thread *thread,
                                               struct rpc_callbacks *callbacks, struct text id)
{
  struct callback_message **link = &thread->first;
  while (*link != NULL && ((*link)->callbacks != callbacks || !has_id(*link, id)))
    link = &(*link)->next;
  if (*link == NULL)
    return NULL;
  callbacks->kept--;
  callbacks->kept_bytes -= (*link)->text.len;
  return unlink_message(thread, link);
}

/* Answers a message that was cancelled before it ran. */
static void answer_cancelled(struct callback_message *message)
{
  struct rpc_callbacks *callbacks = message->callbacks;
  const struct text text = buffer_text(&message->text);
  struct buffer out;
  buffer_init(&out);
  struct rpc_client client;
  callbacks_fill_client(callbacks, &client);
  push_error(callbacks,
             callbacks->codec->answer_ended(callbacks->peer, &client, text, RPC_CALL_CANCELLED, false, &out),
             &out);
  rpc_callbacks_count_unread(callbacks, text);
  buffer_fini(&out);
}

bool rpc_callbacks_cancel(void *context, struct rpc_callbacks *callbacks, struct text id,
                          enum rpc_nested_state which)
{
  (void)context;
  bool is_found = false;
  struct callback_message *removed = NULL;
  pthread_mutex_lock(&callbacks->process->lock);
  for (struct rpc_callback_call *call = callbacks->calls; call != NULL && !is_found; call = call->next) {
    struct callback_thread *thread = call->thread;
    if (call->number == 0) /* an event: no request is nested in it, and its inbox may not be initialised */
      continue;
    pthread_mutex_lock(&thread->lock);
    struct callback_message *served = which == RPC_NESTED_RUNS ? find_served(thread, callbacks, id) : NULL;
    if (served != NULL)
      atomic_store_explicit(&served->cause, RPC_CALL_CANCELLED, memory_order_relaxed);
    if (which == RPC_NESTED_WAITS)
      removed = remove_waiting(thread, callbacks, id);
    pthread_mutex_unlock(&thread->lock);
    is_found = served != NULL || removed != NULL;
  }
  pthread_mutex_unlock(&callbacks->process->lock);
  if (removed != NULL) {
    answer_cancelled(removed);
    free_message(removed);
  }
  return is_found;
}

/* ---- keeping messages ---- */

/* Moves or copies a message out of the transport's buffer. False: memory is short. */
static bool move_or_copy_bytes(struct buffer *taken, struct text text, struct buffer *message)
{
  if (message != NULL && text.len > COPIED_MAX) {
    *taken = *message;
    buffer_init(message);
    return true;
  }
  buffer_clear(taken);
  buffer_append_text(taken, text);
  return !taken->failed;
}

/* Called with the lock held: true if another message of this length may be kept. If no message is kept yet,
 * any length is allowed. */
static bool has_place(const struct rpc_callbacks *callbacks, size_t length)
{
  size_t max = callbacks->peer->config.limits.message_max;
  return callbacks->kept < KEPT_MAX && (callbacks->kept_bytes == 0 || callbacks->kept_bytes + length <= max);
}

static void note_kept(struct rpc_callbacks *callbacks, size_t length)
{
  callbacks->kept++;
  callbacks->kept_bytes += length;
}

/* ---- answers to calls ---- */

/* Drops an answer to a call that is not open, or a second answer to a call. */
static void drop_answer(struct rpc_callbacks *callbacks, uint64_t number)
{
  char session[OP_SESSION_NAME_MAX];
  pthread_mutex_lock(&callbacks->process->lock);
  bool is_first = !callbacks->has_dropped;
  callbacks->has_dropped = true;
  pthread_mutex_unlock(&callbacks->process->lock);
  op_session_key_describe(&callbacks->key, session);
  if (is_first)
    log_warn("session %s: an answer was dropped, because no callback cb-%llu is open; later ones of this "
             "connection are not logged",
             session[0] == '\0' ? "-" : session, (unsigned long long)number);
}

/* Called with the lock held: true if the call waits for its answer. */
static bool is_waiting(const struct rpc_callback_call *call)
{
  return call->number != 0 && (call->state == RPC_CALL_EXPECTS || call->state == RPC_CALL_HAS_ROOM);
}

/* Called with the lock held. NULL: no call of this number waits for its answer. */
static struct rpc_callback_call *find_waiting(const struct rpc_callbacks *callbacks, uint64_t number)
{
  struct rpc_callback_call *call = number == 0 ? NULL : callbacks->calls;
  while (call != NULL && call->number != number)
    call = call->next;
  return call != NULL && is_waiting(call) ? call : NULL;
}

enum kept { KEPT_NOT, KEPT_TOO_LONG, KEPT_NO_MEMORY, KEPT };

/* message: the buffer, if it contains only the answer; NULL: the buffer has other content, too. */
static enum kept keep_answer(struct rpc_callbacks *callbacks, struct text answer, uint64_t number,
                             struct buffer *message)
{
  struct jvm_waiter *waiter = NULL;
  enum kept kept = KEPT_NOT;
  pthread_mutex_lock(&callbacks->process->lock);
  struct rpc_callback_call *call = find_waiting(callbacks, number);
  if (call != NULL) {
    size_t length = answer.len;
    kept = !has_place(callbacks, length)                         ? KEPT_TOO_LONG
           : !move_or_copy_bytes(&call->answer, answer, message) ? KEPT_NO_MEMORY
                                                                 : KEPT;
    if (kept == KEPT) {
      callback_call_set_state(call, RPC_CALL_ANSWERED);
      note_kept(callbacks, length);
      call->answer_number = ++callbacks->answers; /* for rpc_callbacks_await_answers */
      call->answered_ms = clock_coarse_ms();
    } else {
      callback_call_end(call, RPC_CALL_ENDED,
                        kept == KEPT_TOO_LONG ? CALLBACK_ANSWER_TOO_LONG : CALLBACK_NO_MEMORY);
    }
    waiter = callback_call_wake(call);
  }
  pthread_mutex_unlock(&callbacks->process->lock);
  callback_waiter_wake(waiter);
  return kept;
}

static void accept_answer(struct rpc_callbacks *callbacks, struct text answer, uint64_t number,
                          struct buffer *message)
{
  enum kept kept = keep_answer(callbacks, answer, number, message);
  if (kept == KEPT_NOT)
    drop_answer(callbacks, number);
  if (kept != KEPT)
    rpc_callbacks_count_unread(callbacks, answer);
}

static void accept_answers(struct rpc_callbacks *callbacks, struct text message)
{
  struct text answer;
  uint64_t number;
  size_t at = 0;
  while (callbacks->codec->callbacks->next_answer(message, &at, &answer, &number))
    accept_answer(callbacks, answer, number, NULL);
}

/* ---- malformed messages ---- */

/* The function `found` of rpc_callback_form.find_faulty; context: the struct rpc_callbacks. */
static void end_call(void *context, uint64_t number, const char *reason)
{
  struct rpc_callbacks *callbacks = context;
  struct jvm_waiter *waiter = NULL;
  pthread_mutex_lock(&callbacks->process->lock);
  struct rpc_callback_call *call = find_waiting(callbacks, number);
  if (call != NULL) {
    buffer_append_text(&call->answer, text_of(reason));
    callback_call_end(call, RPC_CALL_ENDED, CALLBACK_ANSWER_FAULTY);
    waiter = callback_call_wake(call);
  }
  pthread_mutex_unlock(&callbacks->process->lock);
  callback_waiter_wake(waiter);
}

static bool has_waiting(struct rpc_callbacks *callbacks)
{
  pthread_mutex_lock(&callbacks->process->lock);
  const struct rpc_callback_call *call = callbacks->calls;
  while (call != NULL && !is_waiting(call))
    call = call->next;
  pthread_mutex_unlock(&callbacks->process->lock);
  return call != NULL;
}

/* Refuses the message at once, before earlier messages are served, because Java may wait for this message as
 * an answer. */
static void refuse_faulty(struct rpc_callbacks *callbacks, struct text message, struct buffer *answer)
{
  const struct rpc_callback_form *form = callbacks->codec->callbacks;
  struct rpc_client client;
  callbacks_fill_client(callbacks, &client);
  form->find_faulty(message, callbacks->peer->config.limits.max_depth, end_call, callbacks);
  if (form->refuse_faulty(callbacks->peer, &client, message, answer) == RPC_NO_REPLY)
    buffer_clear(answer);
  rpc_callbacks_count_unread(callbacks, message);
}

/* ---- nested requests ---- */

/* Makes a message that is not yet in an inbox; NULL: memory is short. */
static struct callback_message *make_message(struct rpc_callbacks *callbacks, uint64_t number,
                                             struct buffer *message)
{
  struct callback_message *made = calloc(1, sizeof *made);
  if (made == NULL)
    return NULL;
  made->callbacks = callbacks;
  made->number = number;
  made->received_ns = clock_now_ns();
  buffer_init(&made->text);
  if (move_or_copy_bytes(&made->text, buffer_text(message), message))
    return made;
  free_message(made);
  return NULL;
}

static enum kept keep_nested(struct rpc_callbacks *callbacks, uint64_t number, struct buffer *message)
{
  struct jvm_waiter *waiter = NULL;
  enum kept kept = KEPT_NOT;
  pthread_mutex_lock(&callbacks->process->lock);
  struct rpc_callback_call *call = find_waiting(callbacks, number);
  if (call != NULL) {
    size_t length = message->len;
    bool has_room = has_place(callbacks, length);
    struct callback_message *made = has_room ? make_message(callbacks, number, message) : NULL;
    kept = !has_room ? KEPT_TOO_LONG : made == NULL ? KEPT_NO_MEMORY : KEPT;
    if (made != NULL) {
      made->answers = callbacks->answers;
      note_kept(callbacks, length);
      waiter = add_to_inbox(call->thread, made);
    }
  }
  pthread_mutex_unlock(&callbacks->process->lock);
  callback_waiter_wake(waiter);
  return kept;
}

/* A request that no thread will serve is answered with an error at once, because the client may wait for the
 * answer inside a callback. */
static void queue_nested(struct rpc_callbacks *callbacks, uint64_t number, struct buffer *message,
                         struct buffer *answer)
{
  static const char full[] = "too many requests wait in this connection's callbacks";
  const struct rpc_codec *codec = callbacks->codec;
  enum kept kept = keep_nested(callbacks, number, message);
  if (kept == KEPT)
    return;
  struct rpc_client client;
  callbacks_fill_client(callbacks, &client);
  struct text text = buffer_text(message);
  enum rpc_served served = kept == KEPT_NOT
                               ? codec->callbacks->refuse_nested(callbacks->peer, &client, text, answer)
                               : codec->refuse(callbacks->peer, &client, text,
                                               kept == KEPT_TOO_LONG ? full : "out of memory", answer);
  if (served == RPC_NO_REPLY)
    buffer_clear(answer);
  rpc_callbacks_count_unread(callbacks, text);
}

/* ---- messages ---- */

enum rpc_received rpc_callbacks_receive(void *context, struct rpc_callbacks *callbacks,
                                        struct buffer *message, struct buffer *answer)
{
  (void)context;
  uint64_t number;
  struct text text = buffer_text(message);
  pthread_mutex_lock(&callbacks->process->lock);
  bool has_called = callbacks->last_number > 0;
  pthread_mutex_unlock(&callbacks->process->lock);
  if (!has_called)
    return RPC_ORDINARY; /* no call was made yet, so no message is an answer or is nested in an open call */
  switch (callbacks->codec->callbacks->classify(text, callbacks->peer->config.limits.max_depth, &number)) {
  case RPC_MESSAGE_ANSWER:
    accept_answer(callbacks, text, number, message);
    return RPC_CONSUMED;
  case RPC_MESSAGE_ANSWERS:
    accept_answers(callbacks, text);
    return RPC_CONSUMED;
  case RPC_MESSAGE_NESTED:
    queue_nested(callbacks, number, message, answer);
    return RPC_CONSUMED;
  case RPC_MESSAGE_FAULTY:
    if (!has_waiting(callbacks))
      return RPC_ORDINARY;
    refuse_faulty(callbacks, text, answer);
    return RPC_CONSUMED;
  case RPC_MESSAGE_ORDINARY:
    break;
  }
  return RPC_ORDINARY;
}

struct too_long {
  struct rpc_callbacks *callbacks;
  bool is_answer;
};

/* The function `found` of rpc_callback_form.find_faulty; context: a struct too_long. */
static void end_too_long(void *context, uint64_t number, const char *reason)
{
  (void)reason;
  struct too_long *search = context;
  struct rpc_callbacks *callbacks = search->callbacks;
  struct jvm_waiter *waiter = NULL;
  pthread_mutex_lock(&callbacks->process->lock);
  struct rpc_callback_call *call = find_waiting(callbacks, number);
  if (call != NULL) {
    callback_call_end(call, RPC_CALL_ENDED, CALLBACK_ANSWER_TOO_LONG);
    waiter = callback_call_wake(call);
  }
  pthread_mutex_unlock(&callbacks->process->lock);
  callback_waiter_wake(waiter);
  search->is_answer |= call != NULL;
}

enum rpc_received rpc_callbacks_receive_beginning(void *context, struct rpc_callbacks *callbacks,
                                                  struct text beginning, bool *is_answer)
{
  (void)context;
  struct too_long search = {.callbacks = callbacks};
  if (!has_waiting(callbacks))
    return RPC_ORDINARY;
  callbacks->codec->callbacks->find_faulty(beginning, callbacks->peer->config.limits.max_depth, end_too_long,
                                           &search);
  *is_answer = search.is_answer;
  return RPC_CONSUMED;
}

/* ---- waiting for answers to be read ---- */

/* Called with the lock held: returns the deadline for reading the answers up to this number; 0: these answers
 * were read. */
static int64_t find_deadline(const struct rpc_callbacks *callbacks, uint64_t answers,
                             const struct callback_thread *own)
{
  int64_t last_ms = 0;
  for (const struct rpc_callback_call *call = callbacks->calls; call != NULL; call = call->next) {
    bool is_awaited =
        call->state == RPC_CALL_ANSWERED && call->answer_number <= answers && call->thread != own;
    if (is_awaited && call->answered_ms + WAITED_MAX_MS > last_ms)
      last_ms = call->answered_ms + WAITED_MAX_MS;
  }
  return last_ms;
}

/*
 * A client may rely on its messages taking effect in their order. Answers are read by the threads that have
 * made the calls, while other threads serve later messages. A later delete_object may release a ref that an
 * earlier answer names. For this reason a delete_object waits until the answers that were received before it
 * have been read.
 *
 * Deadlocks: the thread that serves a delete_object waits for threads whose calls were answered. Those
 * threads first serve the requests that were nested in their calls before the answer, and then convert the
 * answer. The nested requests and the conversion may run Java, and Java may call the client. The waiting
 * thread holds no lock of ours, and its connection is read as during any call.
 *   - A thread never waits for itself. An outer call on the same thread may have an answer already, but that
 *     answer is read only when the nested request has ended.
 *   - Two threads that each serve a nested delete_object before their own answer do not wait for each other,
 *     because a nested request waits only for earlier answers, and one of the two requests was received
 *     before the other. No thread waits for the answers of a thread that serves a request that is not nested.
 *   - Three cases remain: Java that waits for Java, for example a conversion that waits for a monitor of the
 *     waiting thread; threads of two connections, whose answers have no common order; and a client that
 *     answers an inner call only after the delete_object. For this reason no delete_object waits for an
 *     answer longer than WAITED_MAX_MS after the answer was received. After that time the delete_object may
 *     release a ref that the answer names.
 */
void rpc_callbacks_await_answers(struct rpc_callbacks *callbacks)
{
  const struct callback_thread *own = callback_thread_now();
  int64_t deadline_ms;
  pthread_mutex_lock(&callbacks->process->lock);
  uint64_t answers = own != NULL && own->served != NULL ? own->served->answers : callbacks->answers;
  while ((deadline_ms = find_deadline(callbacks, answers, own)) > clock_now_ms()) {
    const struct timespec deadline = {.tv_sec = deadline_ms / 1000, .tv_nsec = deadline_ms % 1000 * 1000000};
    callbacks->waiting++;
    pthread_cond_timedwait(&callbacks->was_read, &callbacks->process->lock, &deadline);
    callbacks->waiting--;
  }
  pthread_mutex_unlock(&callbacks->process->lock);
}
