#include "net/connection/connection.h"

#include "audit/audit.h"
#include "base/clock.h"
#include "base/log.h"
#include "net/admission/client_address.h"
#include "net/admission/connection_audit.h"
#include "net/admission/wrong_evidence.h"
#include "net/connection/connection_collect.h"
#include "net/connection/connection_duplex.h"
#include "net/connection/connection_principal.h"
#include "net/connection/connection_table.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
  READ_SIZE = 16 * 1024,
  READ_SIZE_LARGE = 128 * 1024, /* used inside a message that has READ_SIZE bytes already */
  PART_SIZE = 64 * 1024,        /* of a streamed answer */
  PARTS_UNSENT_MAX = 256 * 1024,
  LINGER_MS = 2000,
  /* When the peer ends, a connection may linger for this time if the client has received its answers, or does
   * not read. */
  DRAIN_LINGER_MS = 200,
  PROBE_AGAIN_MS = 10000, /* between two probes: a client that has sent its FIN may close the socket later */
  IGNORABLE_MAX = 256,    /* bytes: longer than a close frame */
  DUE_AGAIN_NS = 1000000, /* between two checks of the deadline in a turn */
  QUICK_TURNS = 4         /* short turns in a row after which a connection counts as quick */
};

/* A streamed answer: its parts are made as the client reads them. */
struct connection_stream {
  struct rpc_stream rpc;
  struct buffer tail;
};

/* --- for the crew --- */

static bool poll_client(struct crew_source *source)
{
  struct connection *connection = (struct connection *)(void *)source;
  return connection->protocol->carrier->poll(connection);
}

static bool begin_sleep(struct crew_source *source)
{
  struct connection *connection = (struct connection *)(void *)source;
  return connection->protocol->carrier->sleep(connection, true, false);
}

static int exchange_processors(struct crew_source *source, int processor)
{
  struct connection *connection = (struct connection *)(void *)source;
  return connection->protocol->carrier->exchange_processors(connection, processor);
}

static const struct crew_poll_ops CARRIER_POLL_OPS = {poll_client, begin_sleep, exchange_processors};

/* --- the protocol and the service --- */

static enum metrics_transport find_transport(const struct connection_protocol *protocol)
{
  if (protocol->carrier != NULL)
    return METRICS_TRANSPORT_SHM;
  return protocol->channel == OP_CHANNEL_HTTP ? METRICS_TRANSPORT_HTTP : METRICS_TRANSPORT_WEBSOCKET;
}

void connection_speak(struct connection *connection, const struct connection_protocol *protocol)
{
  if (connection->transport != METRICS_TRANSPORTS)
    monitor_remove_connection(connection->limits->monitor, connection->transport);
  connection->transport = find_transport(protocol);
  monitor_add_connection(connection->limits->monitor, connection->transport);
  connection->protocol = protocol;
  connection->is_midway = false;
  connection->held = 0;
  atomic_store_explicit(&connection->source.poll_ops, protocol->carrier != NULL ? &CARRIER_POLL_OPS : NULL,
                        memory_order_relaxed);
  memset(connection->protocol_state, 0, sizeof connection->protocol_state);
  protocol->begin(connection);
}

const struct rpc_service *connection_service(const struct connection *connection)
{
  return crew_service(connection->table->crew);
}

const struct rpc_codec *connection_codec(const struct connection *connection)
{
  return connection_service(connection)->codecs[RPC_CODEC_JSONRPC];
}

/* --- the buffers of a turn --- */

static void borrow_buffers(struct connection *connection, struct crew_member *member)
{
  scratch_lend(&member->scratch, SCRATCH_INPUT, &connection->in);
  scratch_lend(&member->scratch, SCRATCH_MESSAGE, &connection->message);
  scratch_lend(&member->scratch, SCRATCH_OUTPUT, &connection->out);
  const struct connection_protocol *protocol = connection->protocol;
  if (!connection_lingers(connection) && protocol->borrow != NULL && !protocol->borrow(connection, member))
    connection_break(connection);
  connection_note_input(connection, CONNECTION_INPUT_OPEN);
  connection->has_sent = false;
}

/* A slow client may leave a few bytes in a large buffer. */
static void trim_kept(struct buffer *buffer)
{
  enum { SLACK = 4096 };
  if (buffer->len > 0 && buffer->cap / 4 > buffer->len + SLACK / 4)
    buffer_trim(buffer, buffer->len);
}

/* A large buffer may be reserved for a message that is still being received; memory that was never written costs
 * nothing. */
static size_t count_memory(const struct buffer *buffer)
{
  return buffer->cap <= SCRATCH_KEPT_SIZE ? buffer->cap : buffer->len;
}

void connection_count_input(struct connection *connection)
{
  size_t held = connection->held;
  if (connection->in.len > connection->in_used)
    held += count_memory(&connection->in);
  if (connection->message.len > 0)
    held += count_memory(&connection->message);
  if (connection->duplex != NULL)
    held += connection_collect_held(connection->duplex);
  input_budget_count(connection->table->input, &connection->counted, held);
}

/* A turn never pauses for small messages. */
bool connection_must_pause(struct connection *connection)
{
  if (connection->message.len < INPUT_SMALL)
    return false;
  connection_count_input(connection);
  const struct input_budget *input = connection->table->input;
  return input_budget_is_full(input) ||
         (input_budget_is_short(input) &&
          !atomic_load_explicit(&connection->licence.is_valid, memory_order_relaxed));
}

static void discard_input(struct connection *connection)
{
  connection->in_used = connection->in.len;
  buffer_clear(&connection->message);
  if (connection->protocol->discard != NULL)
    connection->protocol->discard(connection);
  connection->held = 0;
}

static void return_buffers(struct connection *connection, struct crew_member *member)
{
  if (connection->in_used == connection->in.len) {
    buffer_clear(&connection->in);
    connection->in_used = 0;
  }
  if (connection_unsent(connection) == 0) {
    buffer_clear(&connection->out);
    connection->out_sent = 0;
  }
  scratch_return(&member->scratch, SCRATCH_INPUT, &connection->in);
  scratch_return(&member->scratch, SCRATCH_MESSAGE, &connection->message);
  scratch_return(&member->scratch, SCRATCH_OUTPUT, &connection->out);
  trim_kept(&connection->in);
  trim_kept(&connection->message);
  if (!connection->may_defer) /* else the output is sent soon */
    trim_kept(&connection->out);
  if (connection->protocol->return_objects != NULL)
    connection->protocol->return_objects(connection, member);
  connection_count_input(connection);
}

/* --- bytes --- */

size_t connection_unsent_mark(const struct connection *connection)
{
  enum { MARK = 1024 * 1024 };
  size_t quarter = connection->limits->send_buffer_max / 4;
  return quarter < MARK ? quarter : MARK;
}

static void send_bytes(struct connection *connection)
{
  while (connection_unsent(connection) > 0 && !connection_is_broken(connection)) {
    ssize_t sent = send(connection->fd, connection->out.data + connection->out_sent,
                        connection_unsent(connection), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent > 0) {
      connection->out_sent += (size_t)sent;
      connection->has_sent = true;
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      break;
    } else if (errno != EINTR) {
      connection_break(connection);
    }
  }
}

/* The same as send_bytes, over TLS. Bytes that TLS has encrypted but not sent count as unsent. */
static void send_encrypted(struct connection *connection)
{
  struct tls_stream *tls = connection->tls;
  tls_stream_flush(tls, connection->fd);
  if (connection_unsent(connection) > 0 && !connection_is_broken(connection)) {
    size_t sent;
    if (!tls_stream_write(tls, connection->fd, connection->out.data + connection->out_sent,
                          connection_unsent(connection), &sent))
      connection_break(connection);
    connection->out_sent += sent;
    connection->has_sent |= sent > 0;
  }
  connection->unpublished = tls_stream_is_held(tls) ? 1 : 0;
}

static void note_lines(struct connection *connection)
{
  const uint64_t last = audit_own_line();
  if (last > atomic_load_explicit(&connection->audited, memory_order_relaxed))
    atomic_store_explicit(&connection->audited, last, memory_order_relaxed);
}

/* In call, a visitor flushes, who may hold the lock or be the watcher, and waits briefly at most. */
bool connection_settle_audit(struct connection *connection)
{
  if (!audit_is_on())
    return true;
  const bool is_in_call = in_call_is_inside(&connection->in_call);
  note_lines(connection);
  const bool is_settled = audit_settle_line(atomic_load_explicit(&connection->audited, memory_order_relaxed),
                                            is_in_call ? AUDIT_BRIEF : AUDIT_PATIENT);
  if (!is_settled && is_in_call)
    atomic_store_explicit(connection->deadline_ms, CONNECTION_FLUSH_SOON, memory_order_relaxed);
  return is_settled;
}

bool connection_waits_for_audit(const struct connection *connection)
{
  return audit_is_on() && connection_needs_flush(connection) &&
         !audit_has_settled(atomic_load_explicit(&connection->audited, memory_order_relaxed));
}

/* Sends output whose lines are in the audit's file. */
static void send_output(struct connection *connection)
{
  if (connection->tls != NULL)
    send_encrypted(connection);
  else if (connection->protocol->carrier == NULL)
    send_bytes(connection);
  else
    connection->protocol->carrier->flush(connection);
  if (connection_unsent(connection) == 0) {
    buffer_clear(&connection->out);
    connection->out_sent = 0;
  } else if (connection->out_sent > connection_unsent(connection)) {
    buffer_consume(&connection->out, connection->out_sent);
    connection->out_sent = 0;
  }
}

void connection_flush(struct connection *connection)
{
  if (connection->out.failed || connection_has_left(connection)) { /* an answer is missing */
    connection_break(connection);
    return;
  }
  if (!connection_needs_flush(connection) || connection_settle_audit(connection))
    send_output(connection);
}

void connection_shut_down(struct connection *connection)
{
  shutdown(connection->fd, SHUT_RDWR);
}

/* The handshake has failed. The client may still be sending, and has to read the alert, so the socket is not closed at
 * once. */
static void linger_unshaken(struct connection *connection, const struct jp_error *error)
{
  char address[CLIENT_ADDRESS_TEXT];
  if (error->status != JP_CLOSED)
    log_warn_rarely("a TLS handshake with %s has failed: %s",
                    client_address_write(&connection->address, address), error->text);
  if (error->status == JP_DENIED)
    monitor_count_refusal(connection->limits->monitor, METRICS_REFUSAL_WRONG_EVIDENCE);
  if (error->status != JP_CLOSED)
    connection_audit_refusal(connection->number, &connection->address, error->text);
  /* The alert has been sent, so only later refusals to the address can be delayed. */
  if (error->status == JP_DENIED && connection->limits->wrong_evidence != NULL)
    (void)wrong_evidence_count(connection->limits->wrong_evidence, &connection->address, true,
                               clock_now_ms());
  if (error->status == JP_CLOSED || connection->output != CONNECTION_OUTPUT_OPEN) {
    connection_break(connection);
    return;
  }
  connection_set_output(connection, CONNECTION_OUTPUT_LINGERS);
  connection->linger_end_ms = clock_now_ms() + LINGER_MS;
}

/* True: there are new bytes. */
static bool receive_decrypted(struct connection *connection, char *into, size_t room)
{
  struct tls_stream *tls = connection->tls;
  const bool was_shaking = tls_stream_is_shaking(tls);
  struct jp_error error = {0};
  size_t count;
  const enum tls_read left = tls_stream_read(tls, connection->fd, into, room, &count, &error);
  connection->since_ms = 0;
  connection->in.len += count;
  connection->unpublished = tls_stream_is_held(tls) ? 1 : 0;
  if (left == TLS_READ_EMPTIED)
    connection_set_input(connection, CONNECTION_INPUT_DRAINED);
  else if (left == TLS_READ_ENDED)
    connection_set_input(connection, CONNECTION_INPUT_ENDED);
  else if (left == TLS_READ_FAILED && was_shaking)
    linger_unshaken(connection, &error);
  else if (left == TLS_READ_FAILED)
    connection_break(connection);
  return count > 0;
}

/* True: there are new bytes. */
static bool receive_bytes(struct connection *connection)
{
  if (connection_input_state(connection) != CONNECTION_INPUT_OPEN)
    return false;
  size_t room = connection->message.len >= READ_SIZE ? READ_SIZE_LARGE : READ_SIZE;
  if (connection->in_used > 0) {
    buffer_consume(&connection->in, connection->in_used);
    connection->in_used = 0;
  }
  char *into = buffer_reserve(&connection->in, room);
  if (into == NULL) {
    connection_break(connection);
    return false;
  }
  /* Only a connection that lingers may read past a failure of TLS, because it drops its input: bytes that TLS has not
   * decrypted must not reach the protocol. */
  if (connection->tls != NULL && !(connection_lingers(connection) && tls_stream_has_failed(connection->tls)))
    return receive_decrypted(connection, into, room);
  ssize_t count;
  do
    count = recv(connection->fd, into, room, MSG_DONTWAIT);
  while (count < 0 && errno == EINTR);
  if (count < (ssize_t)room)
    connection_set_input(connection, CONNECTION_INPUT_DRAINED);
  connection->since_ms = 0;
  if (count > 0) {
    connection->in.len += (size_t)count;
    return true;
  }
  if (count == 0)
    connection_set_input(connection, CONNECTION_INPUT_ENDED);
  else if (errno != EAGAIN && errno != EWOULDBLOCK)
    connection_break(connection);
  return false;
}

/* A connection that lingers reads its socket even if it has a carrier, and drops the input. After a failure of TLS the
 * dropped input is not decrypted. */
bool connection_receive(struct connection *connection)
{
  const struct connection_carrier *carrier = connection->protocol->carrier;
  return carrier == NULL || connection_lingers(connection) ? receive_bytes(connection)
                                                           : carrier->receive(connection);
}

/* --- a streamed answer --- */

bool connection_begin_stream(struct connection *connection, const struct rpc_stream *stream)
{
  struct connection_stream *made = calloc(1, sizeof *made);
  if (made != NULL) {
    made->rpc = *stream;
    buffer_append_text(&made->tail, stream->tail);
  }
  if (made == NULL || made->tail.failed) {
    stream->body.close(stream->body.state);
    free(made);
    return false;
  }
  connection->stream = made;
  return true;
}

enum step connection_serve_frame(struct connection *connection, struct crew_member *member,
                                 void (*write_answer)(struct connection *connection, struct text answer,
                                                      bool is_whole))
{
  struct buffer *answer = &member->scratch.buffers[SCRATCH_ANSWER];
  enum crew_served served;
  struct rpc_stream stream = {0};
  if (!connection_serve(connection, member, answer, &served, &stream))
    return served == CREW_LOST ? STEP_LOST : STEP_ENDS;
  if (served == CREW_WAIT)
    return STEP_WAITS;
  connection_drop_message(connection);
  connection->began_ms = 0;
  if (crew_has_replied(served))
    write_answer(connection, buffer_text(answer), true);
  if (served != CREW_STREAM)
    return STEP_SERVED;
  write_answer(connection, buffer_text(answer), false);
  return connection_begin_stream(connection, &stream) ? STEP_SERVED : STEP_DROPS;
}

void connection_end_stream(struct connection *connection)
{
  struct connection_stream *stream = connection->stream;
  if (stream == NULL)
    return;
  connection->stream = NULL;
  stream->rpc.body.close(stream->rpc.body.state);
  buffer_fini(&stream->tail);
  free(stream);
}

/* Called if the rest of an answer cannot be made, although its beginning was sent. */
static enum step abandon_answer(struct connection *connection)
{
  connection_end_stream(connection);
  return connection->protocol->abandon_answer(connection);
}

/* Makes and sends the next part. STEP_BLOCKED: the client must read first. */
static enum step send_next_part(struct connection *connection, struct crew_member *member)
{
  if (connection_unsent(connection) > PARTS_UNSENT_MAX) {
    connection_flush(connection);
    if (connection_unsent(connection) > PARTS_UNSENT_MAX)
      return STEP_BLOCKED;
  }
  struct connection_stream *stream = connection->stream;
  struct buffer *part = &member->scratch.buffers[SCRATCH_ANSWER];
  buffer_clear(part);
  enum jp_status status = stream->rpc.body.read(stream->rpc.body.state, part, PART_SIZE);
  if (part->failed || (status != JP_OK && status != JP_CLOSED))
    return abandon_answer(connection);
  if (status == JP_OK) {
    if (part->len > 0)
      connection->protocol->write_part(connection, buffer_text(part), false);
    return STEP_SERVED;
  }
  enum step step = connection->protocol->write_part(connection, buffer_text(&stream->tail), true);
  connection_end_stream(connection);
  return step;
}

/* --- the service --- */

const struct rpc_session_info *connection_describe_session(const struct connection *connection,
                                                           struct rpc_session_info *session)
{
  const struct rpc_service *service = connection_service(connection);
  *session = (struct rpc_session_info){.is_new = false};
  if (service->describe_session != NULL)
    service->describe_session(service->context, connection->client, session);
  return session;
}

void connection_close_client(struct connection *connection, struct crew_member *member,
                             struct rpc_session_info *session)
{
  if (session != NULL)
    *session = (struct rpc_session_info){.is_new = false};
  if (connection->client == NULL)
    return;
  const struct rpc_service *service = connection_service(connection);
  struct rpc_client *client = connection->client;
  connection->client = NULL;
  service->client_close(service->context, member->worker, client, session);
}

void connection_drop_message(struct connection *connection)
{
  if (connection->duplex == NULL) /* with a duplex, `message` has the next message already */
    buffer_clear(&connection->message);
}

/* Reports to the service a message that was refused without it, because the service counts all answers. */
static void report_refusal(const struct connection *connection, const struct crew_member *member,
                           const struct crew_message *message, enum crew_served served)
{
  const struct rpc_service *service = connection_service(connection);
  if (!member->has_served && crew_has_replied(served) && connection->protocol->collect != NULL &&
      service->refused != NULL)
    service->refused(service->context, message->client, message->text);
}

/* If the watcher is the owner, it has no worker and does not mark the call, because only the watcher itself
 * visits connections. */
static void enter_service(struct connection *connection, struct crew_member *member)
{
  const bool has_duplex = connection->duplex != NULL;
  if (has_duplex)
    pthread_mutex_lock(&connection->lock);
  connection->worker = member->worker;
  if (audit_is_on())
    note_lines(connection);
  atomic_store_explicit(connection->deadline_ms,
                        connection_needs_flush(connection) ? CONNECTION_FLUSH_SOON : INT64_MAX,
                        memory_order_relaxed);
  if (member->worker != NULL)
    in_call_begin(&connection->in_call);
  if (has_duplex && member->worker != NULL)
    connection_duplex_begin_call(connection);
  if (has_duplex)
    pthread_mutex_unlock(&connection->lock);
}

/* Returns who has answered the message. The call is shared if the connection has got a duplex during the
 * call. */
static enum connection_answerer leave_service(struct connection *connection, enum crew_served served)
{
  bool has_worker = connection->worker != NULL;
  if (has_worker ? in_call_end(&connection->in_call) : connection->duplex == NULL)
    return connection->answerer;
  pthread_mutex_lock(&connection->lock);
  if (connection->duplex != NULL)
    connection_duplex_end_call(connection, served != CREW_WAIT);
  if (has_worker)
    in_call_end_locked(&connection->in_call);
  enum connection_answerer answerer = connection->answerer;
  pthread_mutex_unlock(&connection->lock);
  return answerer;
}

#define TOO_LONG "The message passes the limit message-max of %zu bytes"

void connection_reject_too_long(const struct connection *connection, struct text beginning,
                                struct buffer *answer)
{
  char reason[96];
  monitor_count_refusal(connection->limits->monitor, METRICS_REFUSAL_TOO_LONG);
  snprintf(reason, sizeof reason, TOO_LONG, connection->limits->message_max);
  connection_codec(connection)
      ->reject(connection_service(connection)->context, connection->client, RPC_REJECT_INVALID, beginning,
               reason, answer);
}

/* Answers a message that is too long, without the service. */
static enum crew_served serve_too_long(struct connection *connection, struct buffer *answer)
{
  connection_reject_too_long(connection, buffer_text(&connection->message), answer);
  connection->has_message = connection->is_too_long = false;
  if (connection->duplex != NULL) {
    pthread_mutex_lock(&connection->lock);
    connection_duplex_end_call(connection, true);
    pthread_mutex_unlock(&connection->lock);
  }
  if (answer->failed)
    connection_break(connection);
  return CREW_REPLY;
}

static int64_t find_arrival(const struct connection *connection)
{
  const struct connection_duplex *duplex = connection->duplex;
  return duplex != NULL && duplex->arrived_ns != 0 ? duplex->arrived_ns : connection->received_ns;
}

bool connection_serve(struct connection *connection, struct crew_member *member, struct buffer *answer,
                      enum crew_served *served, struct rpc_stream *stream)
{
  size_t unsent = connection_unsent(connection);
  size_t max = connection->limits->send_buffer_max;
  struct crew_message message = {.codec = connection_codec(connection),
                                 .client = connection->client,
                                 .source = &connection->source,
                                 .text = buffer_text(&connection->message),
                                 .reply_max = unsent < max ? max - unsent : 1,
                                 .since_ms = &connection->since_ms,
                                 .arrived_ns = find_arrival(connection)};
  if (message.text.data == NULL)
    message.text = TEXT("");
  buffer_clear(answer);
  *served = CREW_NO_REPLY;
  if (connection->duplex != NULL && connection_collect_offer(connection))
    return true;
  if (connection->is_too_long) {
    *served = serve_too_long(connection, answer);
    return true;
  }
  if (atomic_load_explicit(&connection->counted, memory_order_relaxed) > 0)
    connection_count_input(connection); /* an earlier message of the turn may have been larger */

  if (crew_leaves_to_others(member, &message)) {
    /* With a duplex the message waits at the front of the queue, so that the input after the message can be read. */
    if (connection->duplex != NULL) {
      pthread_mutex_lock(&connection->lock);
      connection_duplex_end_call(connection, false);
      pthread_mutex_unlock(&connection->lock);
    }
    *served = CREW_WAIT;
    return true;
  }
  enter_service(connection, member);
  *served = crew_serve(member, &message, answer, stream);
  if (*served == CREW_LOST)
    return false;
  report_refusal(connection, member, &message, *served);
  const enum connection_answerer answerer = leave_service(connection, *served);
  bool seized = answerer == CONNECTION_SEIZED || connection_has_left(connection);

  if (member->worker != NULL)
    connection->since_ms = 0;
  if (*served != CREW_WAIT)
    connection->has_message = false;
  if (answer->failed)
    connection_break(connection);
  if ((seized || answerer != CONNECTION_OWN_ANSWER || answer->failed) && *served == CREW_STREAM)
    stream->body.close(stream->body.state);
  if (seized || answerer != CONNECTION_OWN_ANSWER || connection_is_broken(connection))
    crew_drop_answer(member, connection->client);
  if (answerer == CONNECTION_ANSWERED) {
    connection_set_answerer(connection, CONNECTION_OWN_ANSWER);
    *served = CREW_ANSWERED;
  } else if (answer->failed) {
    *served = CREW_NO_REPLY; /* shared memory would show part of an answer before the end */
  }
  return !seized;
}

/* --- a turn --- */

void connection_own(struct connection *connection)
{
  if (connection->state == CONNECTION_PAUSED)
    atomic_fetch_sub(&connection->table->paused, 1);
  connection_set_state(connection, CONNECTION_OWNED);
  connection->is_deferred = false; /* the owner sends all output */
  crew_remove_polled(connection->table->crew, &connection->source);
}

/* ---- pinned connections ---- */

static struct crew_member *get_pinned_member(const struct connection *connection)
{
  return atomic_load_explicit(&connection->source.pinned, memory_order_relaxed);
}

/* True if another member has to serve the next message. */
static bool must_hand_over(const struct connection *connection, const struct crew_member *member)
{
  const struct crew_member *pinned = get_pinned_member(connection);
  return pinned != member && (pinned != NULL || atomic_load(&member->pinned) != NULL);
}

/* Pins the connection to the member, in place of the previous pinned member. NULL: any member may serve the
 * connection. The caller holds the lock. */
static void set_pinned(struct connection *connection, struct crew_member *member)
{
  struct crew_member *before = get_pinned_member(connection);
  atomic_store_explicit(&connection->source.pinned, member, memory_order_relaxed);
  if (before != NULL)
    crew_wake(before);
  if (member != NULL)
    crew_admit(member);
}

enum jp_status connection_pin(void *context, const char *name, struct jp_error *error)
{
  struct connection *connection = context;
  struct crew_member *member = NULL; /* GCC with LTO does not see that a success sets it */
  enum jp_status status = crew_pin(connection->table->crew, &connection->source, name, &member, error);
  if (status != JP_OK)
    return status;
  pthread_mutex_lock(&connection->lock);
  set_pinned(connection, member);
  pthread_mutex_unlock(&connection->lock);
  return JP_OK;
}

void connection_unpin(void *context)
{
  struct connection *connection = context;
  pthread_mutex_lock(&connection->lock);
  set_pinned(connection, NULL);
  pthread_mutex_unlock(&connection->lock);
}

enum crew_pinned_next connection_await(struct crew_source *source, struct crew_member *member, int *fd,
                                       short *events)
{
  struct connection *connection = (struct connection *)(void *)source;
  enum crew_pinned_next next = CREW_PINNED_WAITS;
  pthread_mutex_lock(&connection->lock);
  if (get_pinned_member(connection) != member) {
    next = CREW_PINNED_ENDS;
  } else if (connection_is_unowned(
                 /* if the connection has an owner, the owner wakes this member at the end of its turn */
                 connection)) {
    next = connection->is_due ? CREW_PINNED_TURN : CREW_PINNED_WAITS;
    *fd = connection->pinned_events != 0 ? connection->fd : -1;
    *events = (short)connection->pinned_events;
  }
  pthread_mutex_unlock(&connection->lock);
  return next;
}

/* Makes the member the owner. False: the connection has an owner or is closed, or is pinned to another member, which is
 * woken. An event that arrives while the connection has an owner is not lost, because the owner arms the descriptor
 * again at the end of its turn. */
static bool acquire_connection(struct connection *connection, const struct crew_member *member)
{
  pthread_mutex_lock(&connection->lock);
  struct crew_member *pinned = get_pinned_member(connection);
  bool taken = connection_is_unowned(connection);
  if (!member->has_found && pinned != member)
    connection->awaits_event = false;
  if (taken && pinned != NULL && pinned != member) {
    taken = false;
    connection->is_due = true;
    crew_wake(pinned);
  } else if (taken && pinned == NULL && atomic_load(&member->pinned) != NULL) {
    /* the connection is no longer pinned to this member; another member gets the next event */
    taken = false;
  }
  if (taken) {
    connection_own(connection);
    connection->is_due = false;
  }
  pthread_mutex_unlock(&connection->lock);
  return taken;
}

/* Closing a socket with unread input sends a reset, which may destroy bytes that the client has not read yet (RFC 9112,
 * 9.6). So the input is read and dropped first. */
static enum step drop_input(struct connection *connection, struct crew_member *member)
{
  const struct connection_protocol *protocol = connection->protocol;
  bool sends_no_more = connection_is_at_end(connection) ||
                       (protocol->is_end_confirmed != NULL && protocol->is_end_confirmed(connection, member));
  connection->in_used = connection->in.len;
  if (sends_no_more && connection_unsent(connection) == 0)
    return STEP_DROPS;
  return STEP_NEEDS_INPUT;
}

static enum step next_step(struct connection *connection, struct crew_member *member)
{
  if (connection_is_broken(connection))
    return STEP_DROPS;
  if (connection->duplex != NULL)
    connection_duplex_catch_up(connection, member);
  if (connection->duplex != NULL && connection_duplex_is_over(connection))
    connection_duplex_detach(connection);
  if (connection_unsent(connection) > connection_unsent_mark(connection))
    connection_flush(connection);
  /* The socket of a connection with a carrier is always armed. Input that will be dropped must be read now, or its
   * event would be delivered again at once. */
  bool reads_on = connection_lingers(connection) && connection->protocol->carrier != NULL;
  if (connection_unsent(connection) > connection_unsent_mark(connection) && !reads_on)
    return STEP_BLOCKED;
  if (connection->stream != NULL)
    return send_next_part(connection, member);
  if (connection_lingers(connection))
    return drop_input(connection, member);
  enum step last;
  if (connection->duplex != NULL && !connection_collect_next(connection) &&
      connection_duplex_end_turn(connection, member, &last))
    return last;
  return connection->protocol->step(connection, member);
}

/* Output that the crew's member may send later, together with that of other connections. A client that has not read all is
 * no quick one. */
static bool may_defer(const struct connection *connection, struct crew_member *member)
{
  enum { DEFERRED_MAX = 64 * 1024 }; /* bytes */
  return connection->quick_turns == QUICK_TURNS && connection->stalled_ms == 0 &&
         connection->duplex == NULL && connection->tls == NULL && connection->protocol->carrier == NULL &&
         connection->stream == NULL && get_pinned_member(connection) == NULL &&
         !connection_is_broken(connection) && !connection->out.failed && connection_unsent(connection) > 0 &&
         connection_unsent(connection) <= DEFERRED_MAX && crew_may_defer(member);
}

/* Called when the time of a turn has passed. True if the turn must end; otherwise the next turn begins.
 * Before the next turn begins, answers are sent if there is more input, so that the client can read them
 * during that turn, or if the answers have waited long enough. */
static bool must_end_turn(struct connection *connection, struct crew_member *member, struct crew_turn *turn)
{
  connection->may_defer = may_defer(connection, member);
  turn->may_defer = connection->may_defer;
  if (crew_is_wanted(member, turn))
    return true;
  connection->may_defer = false;
  bool is_late = crew_turn_renew(turn);
  if (!is_late && connection_input(connection).len == 0)
    return false;
  connection_flush(connection);
  connection_note_input(connection, CONNECTION_INPUT_OPEN);
  return connection_unsent(connection) > 0 || connection_is_broken(connection);
}

/* Returns STEP_SERVED if there may be more to do without new input, because the protocol's objects may hold
 * whole messages. */
static enum step choose_step_after_turn(const struct connection *connection)
{
  bool has_more = connection_input_state(connection) != CONNECTION_INPUT_DRAINED || connection->has_message ||
                  connection->stream != NULL || connection_input(connection).len > 0 ||
                  connection->held > 0 ||
                  (connection->duplex != NULL && connection_duplex_has_more(connection));
  return has_more ? STEP_SERVED : STEP_NEEDS_INPUT;
}

static bool poll_for_more(struct crew_source *source)
{
  struct connection *connection = (struct connection *)(void *)source;
  connection_note_input(connection, CONNECTION_INPUT_OPEN);
  return connection_receive(connection) || connection_is_at_end(connection) ||
         connection_is_broken(connection) ||
         (connection->duplex != NULL && connection_duplex_has_more(connection));
}

/* Polls for the next message of a client that was just answered. True: there is new input. If the message is
 * incomplete, this function polls at most once for its rest, and only if the protocol's clients send the rest
 * at once, because deadlines are checked only between turns. */
static bool stay_for_more(struct connection *connection, struct crew_member *member)
{
  bool has_begun = connection_has_begun(connection);
  if (connection_lingers(connection) || connection_is_at_end(connection) ||
      (has_begun && !connection->protocol->waits_for_rest))
    return false;
  connection->may_defer = may_defer(connection, member);
  if (connection->may_defer)
    return false;
  connection_flush(connection);
  bool found = connection->has_sent && connection_unsent(connection) == 0 &&
               !connection_is_broken(connection) && crew_stay(member, &connection->source, poll_for_more);
  if (found && has_begun)
    connection->has_sent = false;
  return found;
}

static int64_t reading_deadline(struct connection *connection, int64_t now)
{
  if (connection_lingers(connection))
    return connection->linger_end_ms;
  bool has_begun = connection_has_begun(connection);
  if (has_begun && connection->began_ms == 0)
    connection->began_ms = now;
  return connection->protocol->deadline(connection, has_begun, now);
}

/* The watcher checks only the deadlines of connections that wait for input. If the input of a client never
 * pauses, its connection never waits. For this reason a turn itself checks the deadline of the unfinished
 * message before it reads. */
static bool is_overdue(struct connection *connection, int64_t now_ns)
{
  const int64_t now_ms = now_ns / 1000000;
  return (connection_has_begun(connection) || connection_lingers(connection)) &&
         reading_deadline(connection, now_ms) <= now_ms;
}

static enum step expire_in_turn(struct connection *connection)
{
  if (connection_lingers(connection))
    return STEP_DROPS;
  connection->protocol->expire(connection);
  return STEP_ENDS;
}

static enum step run_turn(struct connection *connection, struct crew_member *member)
{
  struct crew_turn turn;
  crew_turn_begin(&turn, member);
  int64_t now_ns = turn.ends_ns; /* of the last read; at first the end of the turn will do */
  int64_t due_ns = 0;            /* when the deadline is checked again */
  for (;;) {
    enum step step = next_step(connection, member);
    bool has_received;
    switch (step) {
    case STEP_AGAIN:
      break;
    case STEP_SERVED:
      if (must_hand_over(connection, member))
        return choose_step_after_turn(connection);
      if (crew_turn_is_over(&turn) && must_end_turn(connection, member, &turn))
        return choose_step_after_turn(connection);
      break;
    case STEP_NEEDS_INPUT:
      if (now_ns >= due_ns && is_overdue(connection, now_ns))
        return expire_in_turn(connection);
      if (now_ns >= due_ns)
        due_ns = now_ns + DUE_AGAIN_NS;
      if (connection_must_pause(connection))
        return STEP_PAUSES;
      if (crew_has_unrecorded(member)) /* the member may wait for the next message now */
        crew_record_latency(member, clock_now_ns());
      has_received = connection_receive(connection);
      if (has_received || stay_for_more(connection, member)) {
        now_ns = has_received ? clock_now_ns() : member->clock_ns; /* crew_stay has just read the clock */
        connection->received_ns = now_ns;
        if (now_ns >= turn.ends_ns && must_end_turn(connection, member, &turn))
          return STEP_SERVED;
      } else if (!connection_is_broken(connection)) {
        return connection_is_at_end(connection) && !connection_lingers(connection) ? STEP_ENDS
                                                                                   : STEP_NEEDS_INPUT;
      }
      break;
    default:
      return step;
    }
  }
}

/* --- between turns: armed in epoll, polled, paused, or in the ready queue --- */

/* True if the next turn is due at once, or as soon as the client reads its answers. */
static bool waits_for_room(const struct connection *connection, enum step last)
{
  return last == STEP_BLOCKED || last == STEP_SERVED || connection_needs_flush(connection);
}

/* epoll is level-triggered here: the event of a ready socket is delivered again, after the events of other
 * sources. If there is input in the buffers and not in the socket, EPOLLOUT causes the next turn, unless the
 * client does not read. The socket of a connection with a carrier always has room. For this reason such a
 * connection waits for a notification, which is input. */
static uint32_t wanted_events(const struct connection *connection, enum step last)
{
  bool reads = last != STEP_PAUSES && last != STEP_DELAYS &&
               (last != STEP_BLOCKED || connection_duplex_reads_on(connection));
  bool writes = waits_for_room(connection, last);
  if (connection->protocol->carrier != NULL)
    return !connection_is_at_end(connection) && (reads || writes) ? EPOLLIN : 0;
  return (!connection_is_at_end(connection) && reads ? EPOLLIN : 0) | (writes ? EPOLLOUT : 0);
}

/* False if the connection has work that would not cause an event. Under the lock. */
static bool may_sleep(struct connection *connection, enum step last)
{
  const struct connection_carrier *carrier = connection->protocol->carrier;
  if (carrier == NULL)
    return true;
  bool is_unsent = connection_unsent(connection) > 0;
  if (last == STEP_SERVED || (last == STEP_BLOCKED && !is_unsent))
    return false;
  bool for_input = last != STEP_PAUSES && !connection_lingers(connection) &&
                   (last != STEP_BLOCKED || connection_duplex_reads_on(connection));
  return carrier->sleep(connection, for_input, is_unsent);
}

/* A connection with a carrier may be armed already, because the crew has found its input by polling. */
enum jp_status connection_watch(struct connection *connection, uint32_t events)
{
  if (connection_has_left(connection) || (connection->awaits_event && connection->protocol->carrier != NULL))
    return JP_OK;
  connection->awaits_event = true;
  return crew_watch_again(connection->table->crew, &connection->source, connection->fd, events, NULL);
}

/* Makes sure that the connection gets a turn when it has work: by an event, or because the poller polls it.
 * *is_ready: the connection has work now, and the caller submits it. The caller holds the lock, and nobody
 * owns the connection any more. */
static enum jp_status arm_connection(struct connection *connection, const struct crew_member *member,
                                     enum step last, bool *is_ready)
{
  struct crew_member *pinned = get_pinned_member(connection);
  uint32_t events = wanted_events(connection, last);
  /* A connection with a duplex is not polled: other threads may send on it, under a lock that polling does not lock. */
  bool is_polled = last == STEP_NEEDS_INPUT && connection->protocol->carrier != NULL &&
                   connection->duplex == NULL && pinned == NULL && !connection_lingers(connection) &&
                   connection_unsent(connection) == 0 &&
                   crew_add_polled(connection->table->crew, &connection->source);
  *is_ready = last == STEP_WAITS || connection_duplex_must_report_room(connection) ||
              (!is_polled && !may_sleep(connection, last));
  bool is_watched = !*is_ready && last != STEP_DELAYS && !(last == STEP_PAUSES && events == 0);
  if (connection->duplex != NULL)
    connection->duplex->armed_events = is_watched ? events : 0;
  if (pinned != NULL) {
    connection->is_due = *is_ready;
    connection->pinned_events = is_watched ? events : 0;
    *is_ready = false;
    if (pinned != member)
      crew_wake(pinned);
    return JP_OK;
  }
  return is_watched ? connection_watch(connection, events) : JP_OK;
}

/* --- the end of a turn --- */

/* Returns the next deadline. *reading_ms is the next deadline without regard to output that the client does
 * not read. */
static int64_t next_deadline(struct connection *connection, enum step last, int64_t *reading_ms)
{
  int64_t now = clock_now_ms();
  bool writes = last != STEP_WAITS && waits_for_room(connection, last);
  bool reads = last == STEP_NEEDS_INPUT || last == STEP_PAUSES || last == STEP_ENDS || last == STEP_DELAYS;
  if (!writes)
    connection->stalled_ms = 0;
  else if (connection->stalled_ms == 0 || connection->has_sent || last == STEP_SERVED)
    connection->stalled_ms = now;
  bool is_last = connection_lingers(connection) && atomic_load(&connection->table->is_draining);
  int64_t patience = is_last ? DRAIN_LINGER_MS : connection->limits->body_timeout_ms;
  int64_t stall = writes ? connection->stalled_ms + patience : INT64_MAX;
  *reading_ms = reads ? reading_deadline(connection, now) : INT64_MAX;
  return *reading_ms < stall ? *reading_ms : stall;
}

/* Ends the peer's side of the stream, after all output was sent. False: there is no room for the end yet. */
static bool end_output(struct connection *connection)
{
  if (connection->tls != NULL) {
    tls_stream_close(connection->tls, connection->fd);
    connection->unpublished = tls_stream_is_held(connection->tls) ? 1 : 0;
    if (connection->unpublished > 0)
      return false;
  }
  shutdown(connection->fd, SHUT_WR);
  return true;
}

static void begin_linger(struct connection *connection)
{
  int64_t now = clock_now_ms();
  if (connection->output == CONNECTION_OUTPUT_OPEN) {
    connection_set_output(connection, CONNECTION_OUTPUT_LINGERS);
    connection->linger_end_ms = now + LINGER_MS;
  }
  if (connection_unsent(connection) == 0 && connection->output == CONNECTION_OUTPUT_LINGERS &&
      end_output(connection))
    connection_set_output(connection, CONNECTION_OUTPUT_SHUT);
  /* An idle client may not read its socket for hours. */
  if (connection->output == CONNECTION_OUTPUT_SHUT && atomic_load(&connection->table->is_draining) &&
      connection->linger_end_ms > now + DRAIN_LINGER_MS)
    connection->linger_end_ms = now + DRAIN_LINGER_MS;
}

static void close_now(struct connection *connection, struct crew_member *member)
{
  connection_end_stream(connection);
  if (connection->duplex != NULL)
    connection_duplex_detach(connection);
  connection_close_client(connection, member, NULL);
  connection_audit_end(connection->number, &connection->address, connection->principal.principal);
  connection_leave_principal(connection);
  discard_input(connection);
  connection->out_sent = connection->out.len = 0;
  return_buffers(connection, member);

  if (connection->protocol->carrier != NULL)
    connection->protocol->carrier->close(connection);
  pthread_mutex_lock(&connection->lock);
  if (connection->fd >= 0)
    close(connection->fd);
  connection->fd = -1;
  tls_stream_destroy(connection->tls);
  connection->tls = NULL;
  set_pinned(connection, NULL);
  connection_set_state(connection, CONNECTION_FREE);
  atomic_store(connection->deadline_ms, INT64_MAX);
  pthread_mutex_unlock(&connection->lock);
  connection_table_release(connection->table, connection);
}

/* Ends a turn: sends, returns the buffers, and arms the connection or closes it. last: the last step of the
 * turn; STEP_SERVED means that there may be more to do at once. */
static void finish_turn(struct connection *connection, struct crew_member *member, enum step last)
{
  struct connection_duplex *duplex = connection->duplex;
  if (duplex != NULL && (last == STEP_ENDS || last == STEP_DROPS || connection_lingers(connection)))
    connection_duplex_close(connection); /* before the final output is sent */
  else if (duplex != NULL)
    connection_duplex_settle_output(connection);
  connection_flush(connection);
  if (!connection_is_broken(connection) && (last == STEP_ENDS || connection_lingers(connection)))
    begin_linger(connection);
  bool over = connection_is_at_end(connection) && connection_lingers(connection) &&
              connection_unsent(connection) == 0;
  if (last == STEP_DROPS || connection_is_broken(connection) || over) {
    close_now(connection, member);
    return;
  }
  return_buffers(connection, member);
  int64_t reading_ms;
  int64_t deadline = next_deadline(connection, last, &reading_ms);

  struct crew *crew = connection->table->crew;
  pthread_mutex_lock(&connection->lock);
  connection_set_state(connection, CONNECTION_ARMED);
  atomic_store_explicit(connection->deadline_ms, deadline, memory_order_relaxed);
  if (duplex != NULL)
    connection_duplex_before_arming(connection, reading_ms);
  bool is_ready;
  enum jp_status status = arm_connection(connection, member, last, &is_ready);
  if (status != JP_OK) {
    connection_own(connection);
  } else if (last == STEP_PAUSES && !is_ready && !connection->is_due) { /* until the watcher submits it */
    connection_set_state(connection, CONNECTION_PAUSED);
    atomic_fetch_add(&connection->table->paused, 1);
  }
  pthread_mutex_unlock(&connection->lock);
  if (status != JP_OK)
    close_now(connection, member);
  else if (is_ready)
    crew_submit(crew, &connection->source);
}

/* ---- deferred output: with an audit ---- */

/* The answers of a turn leave later, together with those of other connections, so that one write to the audit's file is enough
 * for all of them. In the meantime the connection is armed as after any turn. */
static void defer_output(struct connection *connection, struct crew_member *member)
{
  enum { LATE_MS = 3 }; /* from then on the watcher sends it: the member is in a call that lasts */
  const int64_t now_ms = clock_now_ms();
  note_lines(connection);
  return_buffers(connection, member);
  connection->may_defer = false;
  connection->after_defer_ms = reading_deadline(connection, now_ms);
  pthread_mutex_lock(&connection->lock);
  connection_set_state(connection, CONNECTION_ARMED);
  connection->is_deferred = true;
  atomic_store_explicit(connection->deadline_ms, now_ms + LATE_MS, memory_order_relaxed);
  const enum jp_status status = connection_watch(connection, EPOLLIN);
  if (status != JP_OK)
    connection_own(connection);
  pthread_mutex_unlock(&connection->lock);
  if (status == JP_OK)
    crew_defer(member, &connection->source);
  else
    close_now(connection, member);
}

/* Under the lock, while nobody owns the connection. True: the client does not read all of it, or has left, so the connection
 * must get a turn. */
static bool send_deferred(struct connection *connection)
{
  connection->is_deferred = false;
  atomic_store_explicit(connection->deadline_ms, connection->after_defer_ms, memory_order_relaxed);
  send_output(connection);
  if (connection_needs_flush(connection))
    connection->stalled_ms = clock_now_ms();
  return connection_needs_flush(connection) || connection_is_broken(connection);
}

void connection_send_deferred(struct crew_source *source, struct crew_member *member)
{
  struct connection *connection = (struct connection *)(void *)source;
  bool is_due = false;
  (void)audit_settle_line(atomic_load_explicit(&connection->audited, memory_order_relaxed), AUDIT_PATIENT);
  pthread_mutex_lock(&connection->lock);
  if (connection->is_deferred && !connection_waits_for_audit(connection)) {
    is_due = send_deferred(connection);
    scratch_return(&member->scratch, SCRATCH_OUTPUT, &connection->out);
  }
  pthread_mutex_unlock(&connection->lock);
  if (is_due)
    crew_submit(connection->table->crew, source);
}

bool connection_send_deferred_late(struct connection *connection)
{
  if (!audit_settle_line(atomic_load_explicit(&connection->audited, memory_order_relaxed), AUDIT_BRIEF))
    return false;
  const bool is_due = send_deferred(connection);
  if (connection_unsent(connection) == 0)
    buffer_fini(&connection->out);
  return is_due;
}

/* Called by the owner at the end of a turn that has begun at this time. */
static void note_pace(struct connection *connection, int64_t begun_ns)
{
  enum { QUICK_NS = 50000 };
  const bool is_quick = clock_now_ns() - begun_ns < QUICK_NS;
  if (!is_quick)
    connection->quick_turns = 0;
  else if (connection->quick_turns < QUICK_TURNS)
    connection->quick_turns++;
  atomic_store_explicit(&connection->source.is_quick, connection->quick_turns == QUICK_TURNS,
                        memory_order_relaxed);
}

void connection_turn(struct crew_source *source, struct crew_member *member)
{
  struct connection *connection = (struct connection *)(void *)source;
  audit_forget_lines();
  if (!acquire_connection(connection, member)) {
    connection_duplex_read(connection, member);
    return;
  }
  borrow_buffers(connection, member);
  connection->may_defer = false;
  const int64_t begun_ns = audit_is_on() ? clock_now_ns() : 0;
  enum step last = run_turn(connection, member);
  if (last == STEP_LOST) { /* the connection is another thread's */
    audit_settle();
    return;
  }
  if (begun_ns != 0)
    note_pace(connection, begun_ns);
  if (last == STEP_NEEDS_INPUT && connection->may_defer) {
    defer_output(connection, member);
    return;
  }
  if (connection->may_defer)
    crew_release_event(member);
  connection->may_defer = false;
  audit_settle(); /* for requests without an answer */
  finish_turn(connection, member, last);
}

void connection_expire(struct connection *connection, struct crew_member *watcher)
{
  int64_t now = clock_now_ms();
  const struct connection_carrier *carrier = connection->protocol->carrier;
  enum step step = STEP_ENDS;
  bool stalled =
      connection->stalled_ms != 0 && now >= connection->stalled_ms + connection->limits->body_timeout_ms;
  const bool is_shaking = connection->tls != NULL && tls_stream_is_shaking(connection->tls);
  if (stalled || connection->stream != NULL || connection_lingers(connection) || is_shaking)
    step = STEP_DROPS;
  else if (carrier != NULL && !connection_has_begun(connection) && carrier->release_idle(connection)) {
    step = STEP_NEEDS_INPUT; /* the deadline was set only to release memory */
    connection->has_sent =
        false; /* nothing was sent since the last turn, so a client that does not read is still stalled */
  } else {
    connection->protocol->expire(connection);
  }
  finish_turn(connection, watcher, step);
}

void connection_expel(struct connection *connection, struct crew_member *watcher)
{
  enum step step = STEP_ENDS;
  if (connection->stream != NULL || connection_lingers(connection))
    step = STEP_DROPS;
  else
    connection->protocol->expel(connection);
  finish_turn(connection, watcher, step);
}

/* After this, the watcher finds that the client has left (connection_check_client), and ends the client's
 * call. */
void connection_expel_in_call(struct connection *connection)
{
  if (connection_has_left(connection) || connection_is_seized(connection) || connection_is_broken(connection))
    return;
  connection->protocol->expel(connection);
  connection_flush(connection);
  connection_shut_down(connection);
}

void connection_cut(struct connection *connection, struct crew_member *watcher)
{
  static const char reason[] = "too much input is under way (input-max-total): try again later";
  enum step step = STEP_ENDS;
  monitor_count_refusal(connection->limits->monitor, METRICS_REFUSAL_INPUT);
  if (connection->stream != NULL)
    step = STEP_DROPS;
  else
    connection->protocol->cut(connection, reason, &watcher->scratch.buffers[SCRATCH_ANSWER]);
  discard_input(connection);
  finish_turn(connection, watcher, step);
}

/* --- the end of all --- */

void connection_close_gracefully(struct connection *connection, struct crew_member *watcher)
{
  borrow_buffers(connection, watcher);
  enum step step = connection_lingers(connection) ? STEP_NEEDS_INPUT : run_turn(connection, watcher);
  if (step == STEP_PAUSES || step == STEP_DELAYS)
    step = STEP_NEEDS_INPUT; /* its message will not be served */
  bool is_quiet = !connection->has_sent && connection_unsent(connection) == 0;
  if (step == STEP_NEEDS_INPUT && !connection_lingers(connection))
    step = connection->protocol->close_gracefully(connection, is_quiet);
  if (step == STEP_DROPS && is_quiet && connection->tls != NULL && !connection_is_broken(connection))
    tls_stream_close(connection->tls, connection->fd);
  finish_turn(connection, watcher, step);
}

void connection_seize(struct connection *connection, struct crew_member *watcher)
{
  const struct rpc_service *service = connection_service(connection);
  struct buffer *answer = &watcher->scratch.buffers[SCRATCH_ANSWER];
  buffer_clear(answer);
  bool was_answered = connection->answerer == CONNECTION_ANSWERED;
  connection_set_answerer(connection, CONNECTION_SEIZED);
  if (connection->duplex != NULL)
    connection->duplex->is_closed = true;
  enum rpc_served served = RPC_NO_REPLY;
  if (!was_answered)
    served = connection_codec(connection)
                 ->refuse(service->context, connection->client, connection_served_message(connection),
                          CREW_SHUTTING_DOWN, answer);
  connection->protocol->write_last_reply(connection, served, buffer_text(answer));
  connection_flush(connection);
  if (connection_unsent(connection) == 0)
    (void)end_output(connection);
}

/* --- ended calls whose threads have not returned --- */

/* Called in call, under the lock, by a visitor. */
static bool answer_for_owner(struct connection *connection, enum rpc_call_cause cause, struct buffer *answer)
{
  const struct connection_protocol *protocol = connection->protocol;
  enum rpc_served served = connection_codec(connection)
                               ->answer_ended(connection_service(connection)->context, connection->client,
                                              connection_served_message(connection), cause, true, answer);
  if (served == RPC_NO_REPLY)
    return true;
  if (answer->failed)
    return false; /* memory is short: the watcher tries again */
  connection_set_answerer(connection, CONNECTION_ANSWERED);
  if (protocol->write_message != NULL)
    protocol->write_message(&connection->out, buffer_text(answer));
  else
    protocol->write_ended_reply(connection, served, buffer_text(answer));
  connection_flush(connection);
  if (connection_needs_flush(connection))
    atomic_store_explicit(connection->deadline_ms, CONNECTION_FLUSH_SOON, memory_order_relaxed);
  return true;
}

bool connection_answer_ended(struct crew_source *source, struct crew_member *member, uint64_t steps,
                             enum rpc_call_cause cause, bool is_patient)
{
  struct connection *connection = (struct connection *)(void *)source;
  const struct rpc_codec *codec = connection_codec(connection);
  struct buffer answer;
  bool is_done = true;
  buffer_init(&answer);
  pthread_mutex_lock(&connection->lock);
  if (in_call_visit(&connection->in_call)) {
    bool may_answer = connection->worker == member->worker && connection->worker != NULL &&
                      atomic_load(&member->steps) == steps && connection->answerer == CONNECTION_OWN_ANSWER &&
                      !connection_is_broken(connection) && !connection_has_left(connection) &&
                      codec->answer_ended != NULL;
    if (may_answer && is_patient && rpc_codec_is_batch(codec, connection_served_message(connection)))
      is_done = false;
    else if (may_answer)
      is_done = answer_for_owner(connection, cause, &answer);
    in_call_leave(&connection->in_call);
  }
  pthread_mutex_unlock(&connection->lock);
  buffer_fini(&answer);
  return is_done;
}

/* Called by a visitor, under the lock, while the owner is in call. *is_later: a thread reads the connection
 * now. */
static bool reclaim_from_owner(struct connection *connection, struct crew_retained *retained, bool *is_later)
{
  const struct rpc_service *service = connection_service(connection);
  struct connection_duplex *duplex = connection->duplex;
  if (duplex == NULL || connection_is_seized(connection) || get_pinned_member(connection) != NULL)
    return false;
  *is_later = !connection_duplex_may_be_reclaimed(duplex);
  struct rpc_client *client = *is_later ? NULL : service->part_client(service->context, connection->client);
  if (client == NULL)
    return false;
  *retained = (struct crew_retained){.client = connection->client, .message = duplex->served};
  duplex->served = (struct buffer){0};
  connection->client = client;
  connection_set_answerer(connection, CONNECTION_OWN_ANSWER);
  connection->worker = NULL;
  connection_duplex_end_call(connection, true);
  in_call_end_locked(&connection->in_call);
  connection->since_ms = 0;
  connection->began_ms = 0;
  return true;
}

/* After reclaim_from_owner the watcher owns the connection. The previous owner's thread is held in its call, and finds
 * afterwards that it was lost. */
bool connection_reclaim(struct crew_source *source, struct crew_member *watcher, struct crew_member *member,
                        uint64_t steps, struct crew_retained *retained, bool *is_later)
{
  struct connection *connection = (struct connection *)(void *)source;
  bool is_reclaimed = false;
  bool refuses = false;
  pthread_mutex_lock(&connection->lock);
  if (in_call_visit(&connection->in_call)) {
    if (connection->worker == member->worker && atomic_load(&member->steps) == steps) {
      is_reclaimed = reclaim_from_owner(connection, retained, is_later);
      refuses = !is_reclaimed && !*is_later && connection->duplex != NULL &&
                connection_duplex_refuse_input(connection->duplex);
    }
    if (!is_reclaimed)
      in_call_leave(&connection->in_call);
  }
  pthread_mutex_unlock(&connection->lock);
  if (is_reclaimed)
    finish_turn(connection, watcher, STEP_SERVED);
  else if (refuses)
    connection_duplex_read(connection, watcher);
  return is_reclaimed;
}

/* --- clients that have left while their call lasts --- */

/* True if there is input that was not consumed: in the peer's buffers, in the carrier or in the socket. */
static bool has_unread(const struct connection *connection)
{
  const struct connection_carrier *carrier = connection->protocol->carrier;
  if (connection->held > 0 || connection->in.len > connection->in_used)
    return true;
  if (carrier != NULL)
    return carrier->has_unconsumed(connection) || carrier->poll((struct connection *)connection);
  char input[IGNORABLE_MAX];
  int count = 0;
  ssize_t peeked;
  if (connection->tls != NULL) {
    peeked = (ssize_t)tls_stream_peek(connection->tls, connection->fd, input, sizeof input);
    if (peeked == 0)
      return false;
  } else {
    if (ioctl(connection->fd, FIONREAD, &count) != 0 || count == 0)
      return false;
    peeked = recv(connection->fd, input, sizeof input, MSG_PEEK | MSG_DONTWAIT);
  }
  return connection->protocol->is_ignorable == NULL || peeked <= 0 || peeked == IGNORABLE_MAX ||
         !connection->protocol->is_ignorable((struct text){input, (size_t)peeked});
}

/* True if both directions of the socket are closed, or if it has failed. */
static bool is_over(short events)
{
  return (events & (POLLHUP | POLLERR | POLLNVAL)) != 0;
}

/* Sends bytes to a client that may have closed its socket. If the client has closed the socket, its system
 * answers with a reset. A Unix socket needs no probe, because poll(2) reports whether the client has closed
 * the socket or only its own direction. */
static void probe_client(struct connection *connection)
{
  int64_t now_ms = clock_now_ms();
  int domain = AF_UNSPEC;
  socklen_t length = sizeof domain;
  if (getsockopt(connection->fd, SOL_SOCKET, SO_DOMAIN, &domain, &length) == 0 && domain == AF_UNIX)
    return;
  if (connection->probed_ms != 0 && now_ms < connection->probed_ms + PROBE_AGAIN_MS)
    return;
  connection->probed_ms = now_ms;
  if (connection_needs_flush(connection) || connection->protocol->write_probe == NULL ||
      connection->protocol->write_probe(connection))
    connection_flush(connection);
}

static void close_early(struct connection *connection)
{
  struct connection_duplex *duplex = connection->duplex;
  if (duplex != NULL)
    duplex->is_closed = true;
  /* A thread that calls the client back may still poll the ring. */
  bool keeps_ring = duplex != NULL && duplex->callbacks != NULL;
  if (connection->protocol->carrier != NULL && !keeps_ring)
    connection->protocol->carrier->close(connection);
  connection_break(connection);
  close(connection->fd);
  connection->fd = -1;
}

/* Called in call, under the lock, by a visitor. */
static bool check_for_end(struct connection *connection)
{
  struct pollfd polled = {.fd = connection->fd, .events = POLLRDHUP};
  if (connection_has_left(connection))
    return true;
  if (connection_is_seized(connection) || poll(&polled, 1, 0) <= 0 || polled.revents == 0)
    return false;
  const bool may_close = connection->duplex == NULL || connection_duplex_may_close(connection->duplex);
  if (!is_over(polled.revents)) {
    if (may_close)
      probe_client(connection);
    return false;
  }
  if (may_close && !has_unread(connection))
    close_early(connection);
  return true;
}

/* A message without ids has notifications only, which always run to their end. */
void connection_end_left(const struct connection *connection, struct buffer *ids, bool *has_ids)
{
  if (connection->limits->finishes_left || connection_codec(connection)->list_ids == NULL)
    return;
  if (!*has_ids)
    connection_codec(connection)
        ->list_ids(connection_service(connection)->context, connection_served_message(connection), ids);
  *has_ids = true;
  if (ids->len > 0)
    (void)crew_end_message(connection->table->crew, connection->worker, RPC_CALL_LEFT);
}

static void end_left(const struct connection *connection)
{
  struct buffer ids;
  bool has_ids = false;
  buffer_init(&ids);
  connection_end_left(connection, &ids, &has_ids);
  buffer_fini(&ids);
}

bool connection_check_client(struct crew_source *source, bool had_left)
{
  struct connection *connection = (struct connection *)(void *)source;
  bool has_left = false;
  bool calls = false;
  pthread_mutex_lock(&connection->lock);
  if (in_call_visit(&connection->in_call)) {
    has_left = check_for_end(connection);
    if (has_left && !had_left)
      end_left(connection);
    calls = connection_has_left(connection) && connection->duplex != NULL;
    if (calls)
      connection_duplex_begin_upcall(connection);
    in_call_leave(&connection->in_call);
  }
  pthread_mutex_unlock(&connection->lock);
  if (calls)
    connection_duplex_end_upcall(connection);
  return has_left;
}
