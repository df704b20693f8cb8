/* What a transport hands over: the messages that come for open calls, room, and the end. */
#include "base/clock.h"
#include "base/log.h"
#include "rpc/callbacks/callback_calls.h"
#include "rpc/callbacks/callbacks_state.h"

#include <stdlib.h>

enum {
  KEPT_MAX = 1000,  /* messages of a client that wait for the threads that will read them */
  COPIED_MAX = 4096 /* bytes: of a longer message the memory is taken */
};

/* Moves a message out of the transport's buffer. False: memory is short. */
static bool take_bytes(struct buffer *taken, struct text text, struct buffer *message)
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

/* Under the lock: whether the bytes of another message may be kept. A first one may be as long as messages are. */
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

/* Under the lock: what comes later waits for this answer (callback_order.c). */
static void note_answer(struct rpc_callbacks *callbacks, struct rpc_callback_call *call, size_t length)
{
  note_kept(callbacks, length);
  call->answer_number = ++callbacks->answers;
  call->answered_ms = clock_coarse_ms();
}

/* ---- answers ---- */

/* An answer to a call that is not open, or a second one. */
static void drop_answer(struct rpc_callbacks *callbacks, uint64_t number)
{
  char session[RPC_SESSION_NAME_MAX];
  pthread_mutex_lock(&callbacks->lock);
  bool is_first = !callbacks->has_dropped;
  callbacks->has_dropped = true;
  pthread_mutex_unlock(&callbacks->lock);
  rpc_session_key_describe(&callbacks->key, session);
  if (is_first)
    log_warn("session %s: an answer was dropped, because no callback cb-%llu is open; further ones of this "
             "connection are dropped without a line",
             session[0] == '\0' ? "-" : session, (unsigned long long)number);
}

/* Under the lock: for its answer. */
static bool is_waiting(const struct rpc_callback_call *call)
{
  return call->expects && !call->has_answer && call->ending == CALLBACK_GOES_ON;
}

/* Under the lock. NULL: no call of this number waits for its answer. */
static struct rpc_callback_call *find_waiting(const struct rpc_callbacks *callbacks, uint64_t number)
{
  struct rpc_callback_call *call = callbacks_find_call(callbacks, number);
  return call != NULL && is_waiting(call) ? call : NULL;
}

enum kept { KEPT_NOT, KEPT_TOO_LONG, KEPT };

/* message: the buffer that the answer is all of; NULL: it is a part. */
static enum kept keep_answer(struct rpc_callbacks *callbacks, struct text answer, uint64_t number,
                             struct buffer *message)
{
  struct jvm_waiter *waiter = NULL;
  enum kept kept = KEPT_NOT;
  pthread_mutex_lock(&callbacks->lock);
  struct rpc_callback_call *call = find_waiting(callbacks, number);
  if (call != NULL) {
    size_t length = answer.len;
    call->has_answer = has_place(callbacks, length) && take_bytes(&call->answer, answer, message);
    if (call->has_answer)
      note_answer(callbacks, call, length);
    else
      call->ending = CALLBACK_ANSWER_TOO_LONG;
    kept = call->has_answer ? KEPT : KEPT_TOO_LONG;
    call->was_woken = true;
    waiter = callback_call_wake(call);
  }
  pthread_mutex_unlock(&callbacks->lock);
  callback_waiter_wake(waiter);
  return kept;
}

static void take_answer(struct rpc_callbacks *callbacks, struct text answer, uint64_t number,
                        struct buffer *message)
{
  enum kept kept = keep_answer(callbacks, answer, number, message);
  if (kept == KEPT_NOT)
    drop_answer(callbacks, number);
  if (kept != KEPT)
    rpc_callbacks_count_unread(callbacks, answer);
}

static void take_answers(struct rpc_callbacks *callbacks, struct text message)
{
  struct text answer;
  uint64_t number;
  size_t at = 0;
  while (callbacks->codec->callbacks->next_answer(message, &at, &answer, &number))
    take_answer(callbacks, answer, number, NULL);
}

/* ---- what cannot be read ---- */

/* rpc_callback_form.find_faulty, with the callbacks */
static void end_call(void *context, uint64_t number, const char *reason)
{
  struct rpc_callbacks *callbacks = context;
  struct jvm_waiter *waiter = NULL;
  pthread_mutex_lock(&callbacks->lock);
  struct rpc_callback_call *call = find_waiting(callbacks, number);
  if (call != NULL) {
    buffer_append_text(&call->answer, text_of(reason));
    call->ending = CALLBACK_ANSWER_FAULTY;
    call->was_woken = true;
    waiter = callback_call_wake(call);
  }
  pthread_mutex_unlock(&callbacks->lock);
  callback_waiter_wake(waiter);
}

static bool has_waiting(struct rpc_callbacks *callbacks)
{
  pthread_mutex_lock(&callbacks->lock);
  const struct rpc_callback_call *call = callbacks->calls;
  while (call != NULL && !is_waiting(call))
    call = call->next;
  pthread_mutex_unlock(&callbacks->lock);
  return call != NULL;
}

/* It may be an answer that Java waits for, so that it does not wait for its turn. */
static void take_faulty(struct rpc_callbacks *callbacks, struct text message, struct buffer *answer)
{
  const struct rpc_callback_form *form = callbacks->codec->callbacks;
  form->find_faulty(message, callbacks->peer->config.limits.max_depth, end_call, callbacks);
  if (form->refuse_faulty(callbacks->peer, message, answer) == RPC_NO_REPLY)
    buffer_clear(answer);
  rpc_callbacks_count_unread(callbacks, message);
}

/* ---- nested requests ---- */

/* A message of its own, which is not in an inbox yet; NULL: memory is short. */
static struct callback_message *make_message(struct rpc_callbacks *callbacks, uint64_t number,
                                             struct buffer *message)
{
  struct callback_message *made = calloc(1, sizeof *made);
  if (made == NULL)
    return NULL;
  made->callbacks = callbacks;
  made->number = number;
  buffer_init(&made->text);
  if (take_bytes(&made->text, buffer_text(message), message))
    return made;
  callback_message_free(made);
  return NULL;
}

static enum kept keep_nested(struct rpc_callbacks *callbacks, uint64_t number, struct buffer *message)
{
  struct jvm_waiter *waiter = NULL;
  enum kept kept = KEPT_NOT;
  pthread_mutex_lock(&callbacks->lock);
  struct rpc_callback_call *call = find_waiting(callbacks, number);
  if (call != NULL) {
    size_t length = message->len;
    struct callback_message *made =
        has_place(callbacks, length) ? make_message(callbacks, number, message) : NULL;
    kept = made == NULL ? KEPT_TOO_LONG : KEPT;
    if (made != NULL) {
      made->answers = callbacks->answers;
      note_kept(callbacks, length);
      waiter = callback_inbox_add(call->thread, made);
    }
  }
  pthread_mutex_unlock(&callbacks->lock);
  callback_waiter_wake(waiter);
  return kept;
}

/* What no thread will serve is answered at once: the client may wait for that inside a callback. */
static void take_nested(struct rpc_callbacks *callbacks, uint64_t number, struct buffer *message,
                        struct buffer *answer)
{
  static const char full[] = "too many requests wait in this connection's callbacks";
  const struct rpc_codec *codec = callbacks->codec;
  enum kept kept = keep_nested(callbacks, number, message);
  if (kept == KEPT)
    return;
  struct text text = buffer_text(message);
  enum rpc_served served = kept == KEPT_NOT ? codec->callbacks->refuse_nested(callbacks->peer, text, answer)
                                            : codec->refuse(callbacks->peer, text, full, answer);
  if (served == RPC_NO_REPLY)
    buffer_clear(answer);
  rpc_callbacks_count_unread(callbacks, text);
}

/* ---- */

static bool has_called(struct rpc_callbacks *callbacks)
{
  pthread_mutex_lock(&callbacks->lock);
  bool has = callbacks->last_number > 0;
  pthread_mutex_unlock(&callbacks->lock);
  return has;
}

enum rpc_taken rpc_callbacks_take(void *context, struct rpc_callbacks *callbacks, struct buffer *message,
                                  struct buffer *answer)
{
  (void)context;
  uint64_t number;
  struct text text = buffer_text(message);
  if (!has_called(callbacks))
    return RPC_ORDINARY; /* nothing was asked, so that an answer is no message, and no `within` is open */
  switch (callbacks->codec->callbacks->classify(text, callbacks->peer->config.limits.max_depth, &number)) {
  case RPC_MESSAGE_ANSWER:
    take_answer(callbacks, text, number, message);
    return RPC_TAKEN;
  case RPC_MESSAGE_ANSWERS:
    take_answers(callbacks, text);
    return RPC_TAKEN;
  case RPC_MESSAGE_NESTED:
    take_nested(callbacks, number, message, answer);
    return RPC_TAKEN;
  case RPC_MESSAGE_FAULTY:
    if (!has_waiting(callbacks))
      return RPC_ORDINARY;
    take_faulty(callbacks, text, answer);
    return RPC_TAKEN;
  case RPC_MESSAGE_ORDINARY:
    break;
  }
  return RPC_ORDINARY;
}

/* ---- room and the end ---- */

enum { WOKEN_AT_ONCE = 64 };

/* Wakes calls that choose returns true for, once each; choose is called under the lock, and notes that it was. */
static void wake_calls(struct rpc_callbacks *callbacks, bool (*choose)(struct rpc_callback_call *call))
{
  struct jvm_waiter *waiters[WOKEN_AT_ONCE];
  size_t count;
  do {
    count = 0;
    pthread_mutex_lock(&callbacks->lock);
    for (struct rpc_callback_call *call = callbacks->calls; call != NULL && count < WOKEN_AT_ONCE;
         call = call->next) {
      struct jvm_waiter *waiter = choose(call) ? callback_call_wake(call) : NULL;
      if (waiter != NULL)
        waiters[count++] = waiter;
    }
    pthread_mutex_unlock(&callbacks->lock);
    for (size_t i = 0; i < count; i++)
      callback_waiter_wake(waiters[i]);
  } while (count == WOKEN_AT_ONCE);
}

static bool choose_ended(struct rpc_callback_call *call)
{
  bool is_due = call->ending != CALLBACK_GOES_ON && !call->was_woken;
  call->was_woken = call->was_woken || is_due;
  return is_due;
}

void callbacks_wake_ended(struct rpc_callbacks *callbacks)
{
  wake_calls(callbacks, choose_ended);
}

static bool choose_sender(struct rpc_callback_call *call)
{
  bool is_due = call->wants_room && !call->may_send;
  call->may_send = call->may_send || is_due;
  return is_due;
}

void rpc_callbacks_has_room(void *context, struct rpc_callbacks *callbacks)
{
  (void)context;
  wake_calls(callbacks, choose_sender);
  pthread_mutex_lock(&callbacks->lock);
  callbacks->releases.has_room = true;
  pthread_mutex_unlock(&callbacks->lock);
  callbacks_send_releases(callbacks);
}

/* Whom to ask whether the thread of a call is exiting. */
struct waiting_thread {
  struct jvm_waiter *waiter; /* held; NULL: the worker's thread */
  const struct rpc_worker *worker;
};

/* Those of all open calls. Caller frees. NULL: there are none, or memory is short. */
static struct waiting_thread *list_waiting(struct rpc_callbacks *callbacks, size_t *count)
{
  struct waiting_thread *threads = NULL;
  pthread_mutex_lock(&callbacks->lock);
  if (callbacks->calls_open > 0)
    threads = calloc(callbacks->calls_open, sizeof *threads);
  for (struct rpc_callback_call *call = callbacks->calls; call != NULL && threads != NULL;
       call = call->next) {
    struct waiting_thread *thread = &threads[(*count)++];
    thread->waiter = call->waiter == NULL ? NULL : jvm_waiter_hold(call->waiter);
    thread->worker = call->worker;
  }
  pthread_mutex_unlock(&callbacks->lock);
  return threads;
}

static bool is_exiting(struct rpc_callbacks *callbacks, const struct waiting_thread *thread)
{
  return thread->waiter != NULL ? jvm_waiter_is_exiting(thread->waiter)
                                : callback_worker_is_exiting(callbacks->peer, thread->worker);
}

bool rpc_callbacks_are_exiting(void *context, struct rpc_callbacks *callbacks)
{
  (void)context;
  size_t count = 0;
  struct waiting_thread *threads = list_waiting(callbacks, &count);
  bool are_exiting = count > 0;
  for (size_t i = 0; i < count; i++) {
    are_exiting = are_exiting && is_exiting(callbacks, &threads[i]);
    if (threads[i].waiter != NULL)
      jvm_waiter_release(threads[i].waiter);
  }
  free(threads);
  return are_exiting;
}

void rpc_callbacks_client_gone(void *context, struct rpc_callbacks *callbacks, bool is_stopping)
{
  (void)context;
  rpc_callbacks_end(callbacks, is_stopping ? RPC_CALLBACKS_STOPPED : RPC_CALLBACKS_CLIENT_GONE);
}
