#include "net/connection/connection_collect.h"

#include "base/clock.h"
#include "base/log.h"
#include "net/connection/connection_table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A queued message up to this size is copied; a longer message keeps its buffer. */
enum { COPIED_MAX = 16 * 1024 };

/* --- the queue --- */

size_t connection_collect_held(const struct connection_duplex *duplex)
{
  return duplex->queued_bytes + duplex->collected.len +
         (duplex->message == DUPLEX_MESSAGE_SERVED ? duplex->served.len : 0);
}

static void append_message(struct connection_duplex *duplex, struct duplex_message *made, bool at_front)
{
  if (at_front) {
    made->next = duplex->first_queued;
    duplex->first_queued = made;
  } else if (duplex->first_queued != NULL) {
    duplex->last_queued->next = made;
  } else {
    duplex->first_queued = made;
  }
  if (made->next == NULL)
    duplex->last_queued = made;
  duplex->queued++;
  duplex->queued_bytes += made->text.len;
}

/* A small message is copied, so that the next message can use the buffer. */
static bool fill_message(struct duplex_message *made, struct buffer *message)
{
  if (message->len > COPIED_MAX) {
    made->text = *message;
    *message = (struct buffer){0};
    return true;
  }
  buffer_append_text(&made->text, buffer_text(message));
  if (made->text.failed)
    return false;
  buffer_clear(message);
  return true;
}

/* Returns the time after which the message is answered without having run. */
static int64_t find_expiry(const struct connection *connection, struct text message, int64_t arrived_ns)
{
  const struct rpc_codec *codec = connection_codec(connection);
  const int64_t timeout_ms =
      codec->find_timeout == NULL ? 0 : codec->find_timeout(connection_service(connection)->context, message);
  return timeout_ms == 0 ? INT64_MAX : arrived_ns / 1000000 + timeout_ms;
}

void connection_collect_free(struct duplex_message *message)
{
  buffer_fini(&message->text);
  buffer_fini(&message->ids);
  free(message);
}

bool connection_collect_queue(struct connection *connection, bool at_front)
{
  const struct connection_duplex *duplex = connection->duplex;
  struct duplex_message *made = calloc(1, sizeof *made);
  if (made == NULL || !fill_message(made, &connection->message)) {
    free(made);
    return false;
  }
  made->is_too_long = connection->is_too_long;
  made->arrived_ns = at_front && duplex->arrived_ns != 0 ? duplex->arrived_ns : connection->received_ns;
  connection->is_too_long = false;
  made->expires_ms = INT64_MAX;
  if (!at_front && !made->is_too_long)
    made->expires_ms = find_expiry(connection, buffer_text(&made->text), made->arrived_ns);
  append_message(connection->duplex, made, at_front);
  if (made->expires_ms < atomic_load_explicit(&connection->duplex->expires_ms, memory_order_relaxed)) {
    atomic_store_explicit(&connection->duplex->expires_ms, made->expires_ms, memory_order_relaxed);
    crew_read_ahead_at(connection->table->crew, made->expires_ms);
  }
  connection_count_input(connection);
  return true;
}

bool connection_collect_next(struct connection *connection)
{
  struct connection_duplex *duplex = connection->duplex;
  struct duplex_message *first = duplex->first_queued;
  if (first == NULL)
    return false;
  duplex->first_queued = first->next;
  duplex->queued--;
  duplex->queued_bytes -= first->text.len;
  duplex->collected = connection->message;
  connection->message = first->text;
  connection->has_message = true;
  connection->is_too_long = first->is_too_long;
  duplex->arrived_ns = first->arrived_ns;
  duplex_set_message(duplex, DUPLEX_MESSAGE_OFFERED);
  buffer_fini(&first->ids);
  free(first);
  return true;
}

static bool is_full(const struct connection *connection, size_t length)
{
  const struct connection_duplex *duplex = connection->duplex;
  size_t max = connection->limits->message_max;
  return duplex->queued >= DUPLEX_QUEUE_MAX || duplex->queued_bytes > max ||
         length > max - duplex->queued_bytes;
}

/* Returns true if no more input may be read ahead: the queue is full, the connection has message_max bytes
 * already, or it has more than a few bytes while all input together is near its bound. */
bool connection_collect_is_full(struct connection *connection)
{
  const struct connection_duplex *duplex = connection->duplex;
  const size_t held = duplex->queued_bytes + connection->message.len;
  return duplex->queued >= DUPLEX_QUEUE_MAX || held >= connection->limits->message_max ||
         (held >= INPUT_SMALL && input_budget_is_short(connection->table->input));
}

/* --- output while the owner is inside the service --- */

static void send_replies(struct connection *connection)
{
  struct connection_duplex *duplex = connection->duplex;
  if (duplex->replies.len == 0 && !duplex->replies.failed)
    return;
  pthread_mutex_lock(&connection->lock);
  struct buffer *out = connection->stream != NULL ? &duplex->pushed : &connection->out;
  if (duplex->replies.failed)
    connection_break(connection);
  buffer_append_text(out, buffer_text(&duplex->replies));
  atomic_store(&duplex->has_pushed, duplex->pushed.len > 0);
  connection_flush(connection);
  pthread_mutex_unlock(&connection->lock);
  buffer_fini(&duplex->replies);
}

/* Sends the answer to a message that is not queued. The answer may be empty. */
static void send_answer(struct connection *connection, const struct buffer *answer)
{
  struct connection_duplex *duplex = connection->duplex;
  if (answer->len > 0)
    connection->protocol->write_message(&duplex->replies, buffer_text(answer));
  duplex->replies.failed |= answer->failed;
  send_replies(connection);
}

/* Refuses a message at once. is_too_long: the text is the beginning of the message. */
static void refuse_message(struct connection *connection, struct text message, bool is_too_long,
                           const char *reason)
{
  const struct rpc_service *service = connection_service(connection);
  struct buffer answer;
  buffer_init(&answer);
  enum rpc_served served = RPC_REPLY;
  if (is_too_long)
    connection_reject_too_long(connection, message, &answer);
  else
    served =
        connection_codec(connection)->refuse(service->context, connection->client, message, reason, &answer);
  service->refused(service->context, connection->client, message);
  if (served == RPC_NO_REPLY)
    buffer_clear(&answer);
  send_answer(connection, &answer);
  buffer_fini(&answer);
}

/* --- messages --- */

static void drop_message(struct connection *connection)
{
  buffer_clear(&connection->message);
  buffer_trim(&connection->message, COPIED_MAX);
  connection->is_too_long = false;
}

static void refuse_collected(struct connection *connection, const char *reason)
{
  refuse_message(connection, buffer_text(&connection->message), connection->is_too_long, reason);
  drop_message(connection);
}

/* Queues the message, or refuses it. A message that was read ahead always has room in the queue, because reading ahead
 * stops before the queue is full. */
static void queue_or_refuse(struct connection *connection)
{
  const struct input_budget *input = connection->table->input;
  size_t length = connection->message.len;
  bool is_urgent = connection_duplex_is_urgent(connection);
  char reason[160];
  if (is_urgent && is_full(connection, length))
    snprintf(reason, sizeof reason,
             "busy: %zu requests of %zu bytes wait for a request that is inside Java (at most %d, of "
             "message-max bytes)",
             connection->duplex->queued, connection->duplex->queued_bytes, (int)DUPLEX_QUEUE_MAX);
  else if (is_urgent && length >= INPUT_SMALL && input_budget_is_short(input))
    snprintf(reason, sizeof reason, "busy: too much input is under way (input-max-total): try again later");
  else if (!connection_collect_queue(connection, false))
    snprintf(reason, sizeof reason, "busy: out of memory");
  else
    return;
  refuse_collected(connection, reason);
}

/* Offers the beginning of a message that is too long to the service: it may be the answer to a call, or a nested
 * request that the client sends before it answers. */
static enum rpc_received offer_beginning(struct connection *connection, struct rpc_callbacks *callbacks,
                                         struct buffer *answer)
{
  const struct rpc_service *service = connection_service(connection);
  bool is_answer = false;
  enum rpc_received received =
      service->receive_beginning(service->context, callbacks, buffer_text(&connection->message), &is_answer);
  if (received == RPC_CONSUMED && !is_answer)
    connection_reject_too_long(connection, buffer_text(&connection->message), answer);
  return received;
}

/* Offers the message to the service, which consumes answers to calls and nested requests. True: the message
 * was consumed. */
static bool offer_message(struct connection *connection)
{
  const struct rpc_service *service = connection_service(connection);
  struct rpc_callbacks *callbacks = connection->duplex->callbacks;
  struct buffer answer;
  if (callbacks == NULL)
    return false;
  buffer_init(&answer);
  enum rpc_received received =
      connection->is_too_long ? offer_beginning(connection, callbacks, &answer)
                              : service->receive(service->context, callbacks, &connection->message, &answer);
  if (received == RPC_CONSUMED) {
    send_answer(connection, &answer);
    drop_message(connection);
  }
  buffer_fini(&answer);
  return received == RPC_CONSUMED;
}

/* --- cancels --- */

/* Lists the ids of the message at the first call only. */
static bool has_id(const struct connection *connection, struct text message, struct buffer *ids,
                   bool *has_ids, struct text id)
{
  if (!*has_ids)
    connection_codec(connection)->list_ids(connection_service(connection)->context, message, ids);
  *has_ids = true;
  return text_has_line(buffer_text(ids), id);
}

static void unlink_message(struct duplex_message **link, struct connection_duplex *duplex)
{
  struct duplex_message *message = *link;
  *link = message->next;
  duplex->queued--;
  duplex->queued_bytes -= message->text.len;
  if (duplex->last_queued != message)
    return;
  duplex->last_queued = NULL;
  for (struct duplex_message *left = duplex->first_queued; left != NULL; left = left->next)
    duplex->last_queued = left;
}

/* Answers a message of the queue, without serving it. */
static void answer_unserved(struct connection *connection, struct text message, enum rpc_call_cause cause)
{
  const struct rpc_service *service = connection_service(connection);
  struct buffer answer;
  buffer_init(&answer);
  enum rpc_served served =
      connection_codec(connection)
          ->answer_ended(service->context, connection->client, message, cause, false, &answer);
  service->refused(service->context, connection->client, message);
  if (served == RPC_NO_REPLY)
    buffer_clear(&answer);
  send_answer(connection, &answer);
  buffer_fini(&answer);
}

static void end_queued(struct connection *connection, struct duplex_message **link, enum rpc_call_cause cause)
{
  struct duplex_message *message = *link;
  unlink_message(link, connection->duplex);
  answer_unserved(connection, buffer_text(&message->text), cause);
  connection_collect_free(message);
}

/* True if the message that is being served has no answer yet. */
static bool owes_answer(struct connection *connection)
{
  pthread_mutex_lock(&connection->lock);
  const bool owes = connection->answerer == CONNECTION_OWN_ANSWER;
  pthread_mutex_unlock(&connection->lock);
  return owes;
}

/* Cancels a request that is nested in a callback. If it runs already, the watcher ends it. */
static bool cancel_nested(struct connection *connection, struct text id, enum rpc_nested_state which)
{
  const struct rpc_service *service = connection_service(connection);
  struct rpc_callbacks *callbacks = connection->duplex->callbacks;
  if (callbacks == NULL || !service->cancel_nested(service->context, callbacks, id, which))
    return false;
  crew_wake_watcher(connection->table->crew);
  return true;
}

/* rpc_beside.cancel; state is the connection. The message that is being served cannot end during this function, because
 * only its owner ends it: the owner is either this thread, or takes the input side back from this thread first. If a
 * nested request and the request around it have the same id, the nested request is cancelled, whether it has begun or
 * not. */
static bool cancel_request(void *state, struct text id)
{
  struct connection *connection = state;
  struct connection_duplex *duplex = connection->duplex;
  if (cancel_nested(connection, id, RPC_NESTED_RUNS) || cancel_nested(connection, id, RPC_NESTED_WAITS))
    return true;
  if (duplex->message == DUPLEX_MESSAGE_SERVED && in_call_is_inside(&connection->in_call) &&
      has_id(connection, buffer_text(&duplex->served), &duplex->ids, &duplex->has_ids, id) &&
      owes_answer(connection))
    return crew_end_message(connection->table->crew, connection->worker, RPC_CALL_CANCELLED);
  struct duplex_message **link = &duplex->first_queued;
  while (*link != NULL && ((*link)->is_too_long || !has_id(connection, buffer_text(&(*link)->text),
                                                           &(*link)->ids, &(*link)->has_ids, id)))
    link = &(*link)->next;
  if (*link == NULL)
    return false;
  end_queued(connection, link, RPC_CALL_CANCELLED);
  connection_count_input(connection);
  return true;
}

/* Answers the requests of the queue whose timeouts have passed. */
static void expire_queued(struct connection *connection)
{
  struct connection_duplex *duplex = connection->duplex;
  const int64_t now_ms = clock_now_ms();
  int64_t first_ms = INT64_MAX;
  if (atomic_load_explicit(&connection->duplex->expires_ms, memory_order_relaxed) > now_ms)
    return;
  struct duplex_message **link = &duplex->first_queued;
  while (*link != NULL) {
    if ((*link)->expires_ms <= now_ms) {
      end_queued(connection, link, RPC_CALL_TIMED_OUT);
      continue;
    }
    first_ms = (*link)->expires_ms < first_ms ? (*link)->expires_ms : first_ms;
    link = &(*link)->next;
  }
  atomic_store_explicit(&connection->duplex->expires_ms, first_ms, memory_order_relaxed);
  connection_count_input(connection);
}

/* Answers the message at once, if it need not wait for the message that is being served (rpc_codec.serve_beside). */
static bool answer_at_once(struct connection *connection)
{
  const struct rpc_codec *codec = connection_codec(connection);
  const struct rpc_service *service = connection_service(connection);
  const struct rpc_beside beside = {.state = connection, .cancel = cancel_request};
  struct buffer answer;
  if (codec->serve_beside == NULL || connection->is_too_long)
    return false;
  buffer_init(&answer);
  bool is_answered = codec->serve_beside(service->context, connection->client, &beside,
                                         buffer_text(&connection->message), &answer);
  if (is_answered) {
    send_answer(connection, &answer);
    drop_message(connection);
  }
  buffer_fini(&answer);
  return is_answered;
}

bool connection_collect_offer(struct connection *connection)
{
  struct connection_duplex *duplex = connection->duplex;
  if (duplex->message != DUPLEX_MESSAGE_NEW)
    return false;
  bool is_consumed = offer_message(connection);
  if (is_consumed)
    connection->has_message = false;
  else
    duplex_set_message(duplex, DUPLEX_MESSAGE_OFFERED);
  return is_consumed;
}

/* --- input --- */

/* The input has ended: open calls cannot be answered any more, and the final frames follow the answers. */
static enum collected end_input(struct connection *connection, enum collected end, enum step last)
{
  struct connection_duplex *duplex = connection->duplex;
  duplex->last_step = last;
  duplex->final_frames = duplex->replies;
  duplex->replies = (struct buffer){0};
  duplex_set_input(duplex, end);
  if (duplex->message == DUPLEX_MESSAGE_SERVED && in_call_is_inside(&connection->in_call))
    connection_end_left(connection, &duplex->ids, &duplex->has_ids);
  connection_duplex_close(connection);
  return end;
}

static enum collected collect_input(struct connection *connection)
{
  /* While a call is in flight that waits for an answer of the client, the connection must not pause, because that answer
   * may be the next input. If the input of all connections together reaches input-max-total, the connection is cut off
   * instead. */
  if (in_call_is_inside(&connection->in_call) && connection_duplex_is_urgent(connection) &&
      connection_must_pause(connection) && input_budget_is_full(connection->table->input)) {
    log_warn_rarely("a message was cut off after %zu bytes: all input together exceeds input-max-total",
                    connection->message.len);
    monitor_count_refusal(connection->limits->monitor, METRICS_REFUSAL_INPUT);
    buffer_fini(&connection->message);
    connection_count_input(connection);
    return end_input(connection, COLLECTED_CUT, STEP_ENDS);
  }
  int64_t since_ms = connection->since_ms;
  pthread_mutex_lock(&connection->lock);
  bool has_received = connection_receive(connection);
  bool is_broken = connection_is_broken(connection);
  pthread_mutex_unlock(&connection->lock);
  connection->since_ms =
      /* the message that is being served keeps its time, because the input belongs to later messages */
      since_ms;
  if (has_received) {
    connection->received_ns = clock_now_ns();
    return COLLECTED_SOME;
  }
  if (is_broken)
    return end_input(connection, COLLECTED_END, STEP_DROPS);
  return connection_is_at_end(connection) ? end_input(connection, COLLECTED_END, STEP_ENDS) : COLLECTED_ALL;
}

/* Sends output before the next read, which also shows whether the client has closed the connection. A client that does
 * not read its answers is not read, except while calls are open and there is room in the queue. */
static enum collected flush_output(struct connection *connection)
{
  bool may_block = !connection_duplex_is_urgent(connection) || is_full(connection, 0);
  pthread_mutex_lock(&connection->lock);
  if (connection_needs_flush(connection))
    connection_flush(connection);
  bool is_blocked = may_block && connection_unsent(connection) > connection_unsent_mark(connection);
  bool is_broken = connection_is_broken(connection) || connection_is_seized(connection);
  connection->duplex->has_unsent = connection_unsent(connection) > 0;
  pthread_mutex_unlock(&connection->lock);
  if (is_broken)
    return end_input(connection, COLLECTED_END, STEP_DROPS);
  return is_blocked ? COLLECTED_BLOCKED : COLLECTED_SOME;
}

static const char lost[] = "busy: the connection's thread does not return from a call that was ended";

static void refuse_queued(struct connection *connection)
{
  struct connection_duplex *duplex = connection->duplex;
  while (duplex->first_queued != NULL) {
    struct duplex_message *first = duplex->first_queued;
    unlink_message(&duplex->first_queued, duplex);
    refuse_message(connection, buffer_text(&first->text), first->is_too_long, lost);
    connection_collect_free(first);
  }
}

static enum collected collect_part(struct connection *connection, struct crew_member *member)
{
  struct connection_duplex *duplex = connection->duplex;
  if (duplex_has_ended(duplex))
    return duplex_input(duplex);
  enum collected output = flush_output(connection);
  if (output != COLLECTED_SOME)
    return output;
  /* No more may be read ahead before the end of the call. The client can then send no more, because the
   * socket or the ring becomes full. */
  if (!connection_duplex_is_urgent(connection) &&
      (connection_collect_is_full(connection) || connection_must_pause(connection)))
    return COLLECTED_FULL;
  enum step step = connection->protocol->collect(connection, member, &duplex->replies);
  if (step == STEP_ENDS || step == STEP_DROPS)
    return end_input(connection, COLLECTED_END, step);
  send_replies(connection);
  if (step == STEP_NEEDS_INPUT)
    return collect_input(connection);
  if (connection->has_message) {
    connection->has_message = false;
    if (offer_message(connection) || answer_at_once(connection))
      return COLLECTED_SOME;
    if (duplex_ahead(duplex) == DUPLEX_AHEAD_REFUSES)
      refuse_collected(connection, lost);
    else
      queue_or_refuse(connection);
  }
  return COLLECTED_SOME;
}

enum collected connection_collect(struct connection *connection, struct crew_member *member)
{
  struct connection_duplex *duplex = connection->duplex;
  if (duplex_ahead(duplex) == DUPLEX_AHEAD_REFUSES)
    refuse_queued(connection);
  expire_queued(connection);
  enum collected collected = collect_part(connection, member);
  if (!duplex_has_ended(duplex))
    duplex_set_input(duplex, collected);
  return collected;
}
