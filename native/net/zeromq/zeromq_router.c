#include "net/zeromq/zeromq_router.h"

#include "audit/audit.h"
#include "base/clock.h"
#include "base/log.h"
#include "net/admission/client_address.h"
#include "net/admission/connection_audit.h"
#include "net/zeromq/zeromq_keys.h"
#include "net/zeromq/zeromq_state.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

enum {
  RECEIVES_A_SECTION = 64,
  ANSWERS_SIZE = 64 * 1024, /* a turn sends its answers before its end if they have more bytes, or if there
                             * are ANSWERS_MAX answers */
  BEGINNING_MAX = 1024,     /* the bytes of an overlong message that are kept to find its id */
  PENDING_MESSAGES_MAX = 8, /* all waiting requests together have at most this many times message_max bytes */
  /* The number of a client's requests that libzmq holds. libzmq reports room only after half of them were received: a
   * client with more than half of them in flight finds its pipe full, and its requests then arrive in pieces, each with
   * its own wake-ups. The limit for answers (PIPE_ANSWERS_MAX) is far above what a client has in flight, because each
   * time libzmq reports room it wakes a thread that has nothing to send. */
  PIPE_REQUESTS_MAX = 132
};

/* --- receiving --- */

/* The result of one locked section. */
struct receive_batch {
  bool more;                                         /* there may be more to receive */
  struct zeromq_identity *ready[RECEIVES_A_SECTION]; /* identities whose first request was received */
  size_t ready_count;
  struct {
    struct zeromq_pending *pending;
    size_t routing_id_length;
    unsigned char routing_id[ROUTING_ID_MAX];
  } refused[RECEIVES_A_SECTION];
  size_t refused_count;
  size_t refused_bytes; /* bytes of refused requests, which are in memory until the end of the section */
};

/* Returns the size of the frame; -1: no frame was available. */
static int receive_frame(void *socket, zmq_msg_t *frame)
{
  int received;
  do
    received = zmq_msg_recv(frame, socket, ZMQ_DONTWAIT);
  while (received < 0 && errno == EINTR);
  return received;
}

/* Cuts a faulty message. A message that is too long keeps its first bytes, which may contain its id. Any
 * other message keeps its first byte, by which its codec is chosen. */
static void keep_beginning(struct zeromq_pending *pending)
{
  size_t most = pending->fault == ZEROMQ_TOO_LONG ? BEGINNING_MAX : 1;
  size_t kept = pending->size < most ? pending->size : most;
  zmq_msg_t beginning;
  if (zmq_msg_init_size(&beginning, kept) != 0) {
    kept = 0;
    zmq_msg_init(&beginning);
  }
  if (kept > 0)
    memcpy(zmq_msg_data(&beginning), zmq_msg_data(&pending->payload), kept);
  zmq_msg_move(&pending->payload, &beginning);
  zmq_msg_close(&beginning);
  pending->size = kept;
}

static void drop_frames(void *socket)
{
  zmq_msg_t frame;
  zmq_msg_init(&frame);
  while (receive_frame(socket, &frame) >= 0 && zmq_msg_more(&frame))
    ;
  zmq_msg_close(&frame);
}

/* Receives the frames after the routing id. libzmq delivers a message as a whole, so no frame has to be waited for. */
static void receive_payload(struct zeromq_router *zeromq, struct zeromq_pending *pending)
{
  zmq_msg_t *payload = &pending->payload;
  int size = receive_frame(zeromq->socket, payload);
  if (size == 0 && zmq_msg_more(payload)) {
    pending->delimiter = true;
    size = receive_frame(zeromq->socket, payload);
  }
  if (size <= 0)
    pending->fault = ZEROMQ_EMPTY;
  else
    pending->size = (size_t)size;
  if (zmq_msg_more(payload))
    pending->fault = ZEROMQ_MULTI_PART;
  else if (pending->size > zeromq->config.message_max)
    pending->fault = ZEROMQ_TOO_LONG;
  if (pending->fault == ZEROMQ_FINE)
    return;
  /* The error needs only the envelope, and the bytes that may contain the id. */
  if (pending->fault == ZEROMQ_MULTI_PART)
    drop_frames(zeromq->socket);
  keep_beginning(pending);
}

static bool passes_limit(const struct zeromq_router *zeromq, const struct zeromq_identity *identity,
                         struct zeromq_pending *pending)
{
  const struct input_budget *input = zeromq->config.input;
  pending->passes_input = pending->size > INPUT_SMALL && pending->size > input_budget_room(input);
  if (pending->passes_input)
    return true;
  if (identity->first == NULL)
    return false; /* an identity's only request is refused only for the bound on all input */
  size_t max = PENDING_MESSAGES_MAX * zeromq->config.message_max;
  if (max > input->max)
    max = input->max;
  return identity->pending >= zeromq->config.pending_max || zeromq->pending_bytes + pending->size > max;
}

static void file_request(struct zeromq_router *zeromq, struct text routing_id, struct zeromq_pending *pending,
                         struct receive_batch *batch)
{
  struct zeromq_identity *identity = zeromq_identity_get(zeromq, routing_id.data, routing_id.len);
  if (identity == NULL) {
    log_error_rarely("no memory for a ZeroMQ client: a request was dropped");
    zeromq_pending_destroy(zeromq, pending);
    return;
  }
  if (passes_limit(zeromq, identity, pending)) {
    size_t i = batch->refused_count++;
    batch->refused[i].pending = pending;
    batch->refused_bytes += pending->size;
    batch->refused[i].routing_id_length = identity->routing_id_length;
    memcpy(batch->refused[i].routing_id, identity->routing_id, identity->routing_id_length);
    return;
  }
  if (identity->first == NULL && identity->first_held == NULL && !zeromq_identity_is_owned(identity))
    batch->ready[batch->ready_count++] = identity;
  zeromq_identity_push(identity, pending);
  if (identity->is_long)
    crew_read_ahead_at(zeromq->crew, clock_now_ms());
}

/* Receives requests until the socket is empty or the batch is full. Ends a locked section (zeromq_has_input). */
static void receive_batch(struct zeromq_router *zeromq, struct receive_batch *batch)
{
  bool is_dry = false;
  batch->ready_count = 0;
  batch->refused_count = 0;
  batch->refused_bytes = 0;
  zmq_msg_t routing_id;
  zmq_msg_init(&routing_id);
  for (int i = 0;
       i < RECEIVES_A_SECTION && zeromq->socket != NULL && batch->refused_bytes <= zeromq->config.message_max;
       i++) {
    struct zeromq_pending *pending = zeromq_pending_create(zeromq);
    if (pending == NULL) {
      zmq_msg_close(&routing_id);
      batch->more = true; /* memory is short: leave the messages in the socket */
      return;
    }
    int length = receive_frame(zeromq->socket, &routing_id);
    is_dry = length < 0;
    if (is_dry) {
      zeromq_pending_destroy(zeromq, pending);
      break;
    }
    receive_payload(zeromq, pending);
    file_request(zeromq, (struct text){zmq_msg_data(&routing_id), (size_t)length}, pending, batch);
  }
  zmq_msg_close(&routing_id);
  batch->more = zeromq_has_input(zeromq, is_dry);
}

/* --- an identity's turn --- */

/* What to do after a message of a turn. */
enum pause {
  PAUSE_NONE,
  PAUSE_SEND, /* send the answers now */
  PAUSE_END   /* end the turn */
};

static struct text get_payload(struct zeromq_pending *pending)
{
  return (struct text){zmq_msg_data(&pending->payload), pending->size};
}

/* False: the message has no answer, because it is a notification. */
static bool write_refusal(const struct rpc_service *service, const struct rpc_client *client,
                          struct zeromq_pending *pending, const char *reason, struct buffer *out)
{
  struct text message = get_payload(pending);
  const struct rpc_codec *codec = rpc_codec_of(service->codecs, message);
  return codec->refuse(service->context, client, message, reason, out) != RPC_NO_REPLY;
}

static void describe_fault(const struct rpc_service *service, const struct zeromq_router *zeromq,
                           struct zeromq_pending *pending, struct buffer *out)
{
  char reason[128];
  struct text beginning = get_payload(pending);
  const struct rpc_codec *codec = rpc_codec_of(service->codecs, beginning);
  switch (pending->fault) {
  case ZEROMQ_MULTI_PART:
    codec->reject(service->context, NULL, RPC_REJECT_INVALID, beginning,
                  "The payload has more than one frame: a message is one", out);
    return;
  case ZEROMQ_TOO_LONG:
    snprintf(reason, sizeof reason, "The message passes the limit message-max of %zu bytes",
             zeromq->config.message_max);
    codec->reject(service->context, NULL, RPC_REJECT_INVALID, beginning, reason, out);
    return;
  default:
    codec->reject(service->context, NULL, RPC_REJECT_UNREADABLE, beginning, "The message is empty", out);
    return;
  }
}

/* The sender of a message, as libzmq reports it. */
struct sender {
  struct rpc_address address;
  bool has_key; /* the client has a CURVE key, as all clients over TCP have if the peer has CURVE */
  char key[CURVE_KEY_SIZE];
};

/* The client of a turn. Another client may get the same routing id after the first client has left, so the
 * sender of each message is compared. */
struct turn_client {
  struct rpc_client *client; /* NULL: none is open */
  struct sender sender;
};

/* Reads the properties of a message. A client without CURVE can send any `User-Id` in its handshake, so this
 * property counts only if CURVE was required: libzmq then sets it to the answer of ZAP. libzmq itself always
 * sets `Peer-Address`. */
static struct sender read_sender(const struct zeromq_router *zeromq, struct zeromq_pending *pending)
{
  struct sender sender = {.address = client_address_of_text(zmq_msg_gets(&pending->payload, "Peer-Address"))};
  uint32_t user;
  sender.has_key = zeromq->has_curve && !rpc_address_user(&sender.address, &user);
  const char *key = sender.has_key ? zmq_msg_gets(&pending->payload, "User-Id") : NULL;
  if (key != NULL)
    snprintf(sender.key, sizeof sender.key, "%s", key);
  return sender;
}

static bool is_same_sender(const struct sender *a, const struct sender *b)
{
  return a->address.length == b->address.length &&
         memcmp(a->address.bytes, b->address.bytes, a->address.length) == 0 && a->has_key == b->has_key &&
         strcmp(a->key, b->key) == 0;
}

/* True if both requests are of the same client, or if the peer does not distinguish clients. */
static bool are_of_one_sender(const struct zeromq_router *zeromq, struct zeromq_pending *a,
                              struct zeromq_pending *b)
{
  if (zeromq->config.principals == NULL)
    return true;
  const struct sender first = read_sender(zeromq, a);
  const struct sender second = read_sender(zeromq, b);
  return is_same_sender(&first, &second);
}

/* Finds the principal of a message by its key or, on a Unix socket, by its user. Groups do not count, because
 * libzmq reports only one group. False: the message was refused, and out has the answer. */
static bool find_principal(struct zeromq_router *zeromq, struct zeromq_pending *pending,
                           const struct sender *sender, struct principal_match *match, struct buffer *out,
                           enum crew_served *served)
{
  const struct rpc_service *service = crew_service(zeromq->crew);
  struct principal_evidence evidence = {.common_name = TEXT_ABSENT, .curve_key = TEXT_ABSENT};
  uint32_t user;
  *match = (struct principal_match){.principal = NULL};
  if (zeromq->config.principals == NULL)
    return true;
  if (sender->has_key)
    evidence.curve_key = text_of(sender->key);
  evidence.has_user = rpc_address_user(&sender->address, &user);
  evidence.user = evidence.has_user ? user : 0;
  enum principal_refusal refusal = principals_find(zeromq->config.principals, &evidence, match);
  if (refusal == PRINCIPAL_ADMITTED)
    return true;
  struct text message = get_payload(pending);
  const struct rpc_codec *codec = rpc_codec_of(service->codecs, message);
  const char *reason = principal_refusal_reason(refusal);
  monitor_count_refusal(zeromq->config.monitor, refusal == PRINCIPAL_NOT_KNOWN
                                                    ? METRICS_REFUSAL_NO_EVIDENCE
                                                    : METRICS_REFUSAL_WRONG_EVIDENCE);
  log_warn_rarely("a request over ZeroMQ is refused: %s", reason);
  connection_audit_refusal(0, &sender->address, reason);
  enum rpc_served denied = codec->deny == NULL ? codec->refuse(service->context, NULL, message, reason, out)
                                               : codec->deny(service->context, NULL, message, reason, out);
  *served = denied == RPC_NO_REPLY ? CREW_NO_REPLY : CREW_REPLY;
  return false;
}

/* Others answer requests of the identity during its turn, and say whose they are. */
static void show_client(struct zeromq_identity *identity, const struct rpc_client *client)
{
  if (!audit_is_on())
    return;
  pthread_mutex_lock(&identity->zeromq->lock);
  identity->client = client;
  pthread_mutex_unlock(&identity->zeromq->lock);
}

/* If the thread was lost, the identity may show the client of another thread. */
static void hide_client(struct zeromq_identity *identity, const struct rpc_client *client)
{
  if (!audit_is_on())
    return;
  pthread_mutex_lock(&identity->zeromq->lock);
  if (identity->client == client)
    identity->client = NULL;
  pthread_mutex_unlock(&identity->zeromq->lock);
}

static void close_client(struct zeromq_identity *identity, struct crew_member *member,
                         struct turn_client *turn)
{
  const struct rpc_service *service = crew_service(identity->zeromq->crew);
  if (turn->client != NULL) {
    hide_client(identity, turn->client);
    service->client_close(service->context, member->worker, turn->client, NULL);
  }
  turn->client = NULL;
}

/* Opens the client, with the first message of a turn. False: the message was refused, and out has the answer. */
static bool open_client(struct zeromq_identity *identity, struct zeromq_pending *pending,
                        struct turn_client *turn, struct buffer *out, enum crew_served *served)
{
  const struct rpc_service *service = crew_service(identity->zeromq->crew);
  struct principal_match match;
  turn->sender = read_sender(identity->zeromq, pending);
  if (!find_principal(identity->zeromq, pending, &turn->sender, &match, out, served))
    return false;
  struct rpc_client_info info = {
      .channel = OP_CHANNEL_ZMQ,
      .routing_id = {(const char *)identity->routing_id, identity->routing_id_length},
      .epoch = TEXT_ABSENT,
      .principal = match.principal,
      .proof = match.proof,
      .address = turn->sender.address};
  struct jp_error error = {0};
  enum jp_status status = service->client_open(service->context, &info, &turn->client, &error);
  principal_release(match.principal);
  if (status == JP_OK) {
    show_client(identity, turn->client);
    return true;
  }
  turn->client = NULL;
  monitor_count_refusal(identity->zeromq->config.monitor, METRICS_REFUSAL_LIMIT);
  bool replied = write_refusal(service, NULL, pending, error.text, out);
  *served = replied ? CREW_REPLY : CREW_NO_REPLY;
  return false;
}

static enum crew_served serve_pending(struct crew_member *member, struct zeromq_identity *identity,
                                      struct zeromq_pending *pending, struct turn_client *turn,
                                      struct buffer *out)
{
  struct zeromq_router *zeromq = identity->zeromq;
  member->has_served = false;
  if (pending->fault != ZEROMQ_FINE) {
    describe_fault(crew_service(zeromq->crew), zeromq, pending, out);
    return CREW_REPLY;
  }
  enum crew_served served;
  if (turn->client != NULL && zeromq->config.principals != NULL) {
    const struct sender sender = read_sender(zeromq, pending);
    if (!is_same_sender(&sender, &turn->sender))
      close_client(identity, member, turn);
  }
  if (turn->client == NULL && !open_client(identity, pending, turn, out, &served))
    return served;
  struct text text = get_payload(pending);
  struct crew_message message = {.codec = rpc_codec_of(crew_service(zeromq->crew)->codecs, text),
                                 .client = turn->client,
                                 .source = &identity->source,
                                 .text = text,
                                 .reply_max = zeromq->config.message_max,
                                 .since_ms = &pending->since_ms,
                                 .arrived_ns = pending->arrived_ns};
  struct rpc_stream stream;
  return crew_serve(member, &message, out, &stream);
}

static void answer_refused(struct zeromq_router *zeromq, const struct receive_batch *batch, size_t i)
{
  const struct rpc_service *service = crew_service(zeromq->crew);
  struct zeromq_pending *pending = batch->refused[i].pending;
  struct buffer bytes = {0};
  bool replied = true;
  if (pending->fault != ZEROMQ_FINE) {
    describe_fault(service, zeromq, pending, &bytes);
  } else {
    char reason[160];
    monitor_count_refusal(zeromq->config.monitor,
                          pending->passes_input ? METRICS_REFUSAL_INPUT : METRICS_REFUSAL_LIMIT);
    if (pending->passes_input)
      snprintf(reason, sizeof reason,
               "too much input is under way (input-max-total is %zu bytes): try again later",
               zeromq->config.input->max);
    else
      snprintf(reason, sizeof reason,
               "too many requests are waiting for this client (zmq-pending-max is %zu)",
               zeromq->config.pending_max);
    replied = write_refusal(service, NULL, pending, reason, &bytes);
  }
  zeromq_make_answer(&pending->answer, &bytes, pending->delimiter);
  buffer_fini(&bytes);

  audit_settle();
  pthread_mutex_lock(&zeromq->lock);
  struct zeromq_identity *identity =
      zeromq_identity_get(zeromq, batch->refused[i].routing_id, batch->refused[i].routing_id_length);
  if (identity != NULL && (replied || pending->delimiter))
    zeromq_deliver(identity, &pending->answer);
  else
    zmq_msg_close(&pending->answer.message);
  if (identity != NULL)
    zeromq_identity_release(identity);
  zeromq_pending_destroy(zeromq, pending);
  bool input = zeromq_has_input(zeromq, false);
  pthread_mutex_unlock(&zeromq->lock);
  if (input)
    crew_submit(zeromq->crew, &zeromq->source);
}

/* Leaves the batch to other threads, except the first `kept` identities, which this thread serves. */
static void submit_batch(struct zeromq_router *zeromq, const struct receive_batch *batch, size_t kept)
{
  for (size_t i = kept; i < batch->ready_count; i++)
    crew_submit(zeromq->crew, &batch->ready[i]->source);
  if (batch->more)
    crew_submit(zeromq->crew, &zeromq->source);
  for (size_t i = 0; i < batch->refused_count; i++)
    answer_refused(zeromq, batch, i);
}

/* Removes pending, the identity's first request, from the queue and keeps its answer. Sends the kept answers if the
 * turn ends, if the queue is empty, or if the answers are many. *is_lost: the client never gets the answer. Returns the
 * next request; NULL: the turn ends. */
static struct zeromq_pending *finish_first(struct zeromq_identity *identity, struct zeromq_pending *pending,
                                           enum crew_served served, const struct buffer *bytes,
                                           enum pause pause, bool *is_lost)
{
  struct zeromq_router *zeromq = identity->zeromq;
  struct receive_batch batch;
  zeromq_make_answer(&pending->answer, bytes, pending->delimiter);

  pthread_mutex_lock(&zeromq->lock);
  zeromq_identity_pop(identity);
  identity->is_long = false;
  bool is_refused = identity->state == ZEROMQ_IDENTITY_REFUSED;
  if (!is_refused && (crew_has_replied(served) || pending->delimiter)) {
    zeromq_identity_push_answer(identity, pending);
  } else {
    zmq_msg_close(&pending->answer.message);
    zeromq_pending_destroy(zeromq, pending);
  }
  *is_lost = is_refused || bytes->failed;
  if (is_refused)
    zeromq_identity_set_state(identity, ZEROMQ_IDENTITY_OWNED);
  bool has_enough = identity->answer_count >= ANSWERS_MAX || identity->answer_bytes > ANSWERS_SIZE;
  bool sends = pause != PAUSE_NONE || identity->first == NULL || has_enough;
  if (sends) {
    zeromq_settle_audit(zeromq);
    zeromq_send_answers(identity);
    receive_batch(zeromq, &batch);
  }
  bool ends = pause == PAUSE_END || identity->first_held != NULL || zeromq->socket == NULL;
  struct zeromq_pending *next = ends ? NULL : identity->first;
  pthread_mutex_unlock(&zeromq->lock);

  if (sends)
    submit_batch(zeromq, &batch, 0);
  return next;
}

/* Ends a turn. If the last message has to wait, answers to earlier messages may have to be sent. */
static void end_identity_turn(struct zeromq_identity *identity)
{
  struct zeromq_router *zeromq = identity->zeromq;
  pthread_mutex_lock(&zeromq->lock);
  bool used = identity->first_answer != NULL;
  zeromq_send_answers(identity);
  if (identity->state == ZEROMQ_IDENTITY_REFUSED) {
    /* This turn leaves its request to a later turn, and the watcher has answered the request since. */
    zeromq_pending_destroy(zeromq, zeromq_identity_pop(identity));
    zeromq_identity_set_state(identity, ZEROMQ_IDENTITY_OWNED);
  }
  zeromq_identity_set_state(identity, ZEROMQ_IDENTITY_FILED);
  bool more = identity->first != NULL && identity->first_held == NULL && zeromq->socket != NULL;
  if (!more)
    zeromq_identity_release(identity);
  bool input = used && zeromq_has_input(zeromq, false);
  pthread_mutex_unlock(&zeromq->lock);
  if (more)
    crew_submit(zeromq->crew, &identity->source);
  if (input)
    crew_submit(zeromq->crew, &zeromq->source);
}

/* The thread of the turn was lost, and another thread may own the identity now. */
static void drop_reclaimed(struct zeromq_router *zeromq, struct zeromq_pending *pending)
{
  pthread_mutex_lock(&zeromq->lock);
  zeromq_pending_destroy(zeromq, pending);
  pthread_mutex_unlock(&zeromq->lock);
}

static enum pause check_turn(struct crew_turn *turn, struct crew_member *member)
{
  if (!crew_turn_is_over(turn))
    return PAUSE_NONE;
  if (crew_is_wanted(member, turn))
    return PAUSE_END;
  return crew_turn_renew(turn) ? PAUSE_SEND : PAUSE_NONE;
}

static void serve_queue(struct zeromq_identity *identity, struct zeromq_pending *pending,
                        struct crew_member *member)
{
  struct crew_turn turn;
  crew_turn_begin(&turn, member);
  struct buffer answer = {0};
  scratch_lend(&member->scratch, SCRATCH_ANSWER, &answer);
  audit_forget_lines();
  struct turn_client client = {.client = NULL};
  bool is_reclaimed = false;
  while (pending != NULL) {
    buffer_clear(&answer);
    enum crew_served served = serve_pending(member, identity, pending, &client, &answer);
    if (served == CREW_WAIT)
      break;
    is_reclaimed = served == CREW_LOST;
    if (is_reclaimed) {
      crew_drop_answer(member, client.client);
      drop_reclaimed(identity->zeromq, pending);
      break;
    }
    bool is_lost;
    pending = finish_first(identity, pending, served, &answer, check_turn(&turn, member), &is_lost);
    if (is_lost && client.client != NULL)
      crew_drop_answer(member, client.client);
  }
  audit_settle(); /* for requests without an answer */
  close_client(identity, member, &client);
  buffer_clear(&answer);
  scratch_return(&member->scratch, SCRATCH_ANSWER, &answer);
  if (!is_reclaimed)
    end_identity_turn(identity);
}

void zeromq_identity_turn(struct crew_source *source, struct crew_member *member)
{
  struct zeromq_identity *identity = (struct zeromq_identity *)source;
  struct zeromq_router *zeromq = identity->zeromq;
  pthread_mutex_lock(&zeromq->lock);
  bool wanted = identity->state == ZEROMQ_IDENTITY_FILED && identity->first != NULL &&
                identity->first_held == NULL && zeromq->socket != NULL;
  if (wanted) {
    zeromq_identity_set_state(identity, ZEROMQ_IDENTITY_OWNED);
    identity->worker = member->worker;
    identity->is_long = false;
  }
  struct zeromq_pending *pending = identity->first;
  pthread_mutex_unlock(&zeromq->lock);
  if (!wanted)
    return;
  crew_pass_turn(member, source); /* it may have been the turn of the socket */
  serve_queue(identity, pending, member);
}

/* --- calls that were ended, and whose threads have not returned: the watcher --- */

/* True if the identity's first request is the member's message, which is inside the service. This does not
 * change while the lock is held, because the thread locks before it removes the request. Under the lock. */
static bool is_serving(const struct zeromq_identity *identity, struct crew_member *member, uint64_t steps)
{
  return zeromq_identity_is_owned(identity) && identity->worker != NULL &&
         identity->worker == member->worker && identity->first != NULL &&
         atomic_load(&member->steps) == steps;
}

enum ended_answer {
  ENDED_ANSWER_SENT,
  ENDED_ANSWER_NONE,  /* a notification, or the codec cannot answer */
  ENDED_ANSWER_FAILED /* memory is short */
};

static const struct rpc_codec *find_codec(const struct zeromq_router *zeromq, struct zeromq_pending *pending)
{
  return rpc_codec_of(crew_service(zeromq->crew)->codecs, get_payload(pending));
}

/* Whose request it is, as far as the turn of the identity's first request tells. Under the lock. */
static const struct rpc_client *find_client(const struct zeromq_identity *identity,
                                            struct zeromq_pending *pending)
{
  return are_of_one_sender(identity->zeromq, identity->first, pending) ? identity->client : NULL;
}

/* Answers a request of the identity with the error of a call that was ended. Under the lock. */
static enum ended_answer send_ended(struct zeromq_identity *identity, struct zeromq_pending *pending,
                                    enum rpc_call_cause cause, bool is_served)
{
  const struct rpc_service *service = crew_service(identity->zeromq->crew);
  const struct text message = get_payload(pending);
  const struct rpc_codec *codec = find_codec(identity->zeromq, pending);
  struct buffer bytes = {0};
  if (codec->answer_ended == NULL)
    return ENDED_ANSWER_NONE;
  const bool has_answer = codec->answer_ended(service->context, find_client(identity, pending), message,
                                              cause, is_served, &bytes) != RPC_NO_REPLY ||
                          pending->delimiter;
  enum ended_answer sent = bytes.failed ? ENDED_ANSWER_FAILED : ENDED_ANSWER_NONE;
  if (!bytes.failed && has_answer) {
    struct zeromq_answer answer; /* not pending->answer, which the thread of the turn may be writing now */
    zeromq_send_answers(identity);
    zeromq_make_answer(&answer, &bytes, pending->delimiter);
    zeromq_deliver(identity, &answer);
    sent = ENDED_ANSWER_SENT;
  }
  buffer_fini(&bytes);
  return sent;
}

/* True if the request has the id. Adds the number of bytes that the search reads to *read. */
static bool has_id(const struct zeromq_router *zeromq, struct zeromq_pending *pending, struct text id,
                   size_t *read)
{
  const struct rpc_service *service = crew_service(zeromq->crew);
  const struct rpc_codec *codec = find_codec(zeromq, pending);
  if (pending->fault != ZEROMQ_FINE || codec->list_ids == NULL)
    return false;
  if (!pending->has_ids) {
    codec->list_ids(service->context, get_payload(pending), &pending->ids);
    *read += pending->size;
  }
  pending->has_ids = true;
  *read += pending->ids.len;
  return text_has_line(buffer_text(&pending->ids), id);
}

/* A `control cancel` that waits. */
struct cancel {
  struct zeromq_identity *identity;
  struct zeromq_pending *pending; /* the cancel, which ends a request before itself */
  size_t *read;                   /* of the visit (answer_due) */
  bool has_marked;                /* a request that waits was marked; the next pass answers it */
};

/* rpc_beside.cancel, under the lock. */
static bool cancel_request(void *state, struct text id)
{
  struct cancel *cancel = state;
  struct zeromq_identity *identity = cancel->identity;
  struct zeromq_pending *first = identity->first;
  if (identity->state == ZEROMQ_IDENTITY_OWNED && identity->worker != NULL &&
      are_of_one_sender(identity->zeromq, first, cancel->pending) &&
      has_id(identity->zeromq, first, id, cancel->read))
    return crew_end_message(identity->zeromq->crew, identity->worker, RPC_CALL_CANCELLED);
  struct zeromq_pending *pending = first->next;
  while (pending != cancel->pending && (pending->cause == RPC_CALL_CANCELLED ||
                                        !are_of_one_sender(identity->zeromq, pending, cancel->pending) ||
                                        !has_id(identity->zeromq, pending, id, cancel->read)))
    pending = pending->next;
  if (pending == cancel->pending)
    return false;
  pending->cause = RPC_CALL_CANCELLED;
  pending->expires_ms = 1; /* now */
  cancel->has_marked = true;
  return true;
}

/* Answers the request if it need not wait for the first request. Under the lock. */
static bool answer_at_once(struct zeromq_identity *identity, struct zeromq_pending *pending, size_t *read,
                           bool *has_marked)
{
  const struct rpc_service *service = crew_service(identity->zeromq->crew);
  const struct text message = get_payload(pending);
  const struct rpc_codec *codec = rpc_codec_of(service->codecs, message);
  struct cancel cancel = {identity, pending, read, false};
  const struct rpc_beside beside = {.state = &cancel,
                                    .cancel = cancel_request,
                                    .is_admin = identity->zeromq->config.principals == NULL,
                                    .sender = find_client(identity, pending)};
  struct buffer bytes = {0};
  if (pending->fault != ZEROMQ_FINE || codec->serve_beside == NULL ||
      !codec->serve_beside(service->context, NULL, &beside, message, &bytes)) {
    buffer_fini(&bytes);
    return false;
  }
  if (bytes.len > 0 || pending->delimiter) {
    struct zeromq_answer answer;
    zeromq_make_answer(&answer, &bytes, pending->delimiter);
    zeromq_deliver(identity, &answer);
  }
  buffer_fini(&bytes);
  *has_marked |= cancel.has_marked;
  return true;
}

/* Under the lock. */
static void compute_expiry(const struct zeromq_router *zeromq, struct zeromq_pending *pending)
{
  const struct rpc_service *service = crew_service(zeromq->crew);
  const struct text message = get_payload(pending);
  const struct rpc_codec *codec = rpc_codec_of(service->codecs, message);
  int64_t timeout_ms = 0;
  if (pending->fault == ZEROMQ_FINE && codec->find_timeout != NULL && codec->answer_ended != NULL)
    timeout_ms = codec->find_timeout(service->context, message);
  pending->expires_ms = timeout_ms == 0 ? INT64_MAX : pending->arrived_ns / 1000000 + timeout_ms;
}

/* One pass over the requests that wait for the first request: answers requests that are due, and cancels. A
 * visit reads no further request after READ_MAX bytes, because it has the lock. *read: the bytes that the
 * visit has read so far, in requests and in the ids that cancels compare. Returns when the next request is
 * due. *has_marked: earlier requests are due now. Under the lock. */
static int64_t answer_due(struct zeromq_identity *identity, size_t *read, bool *has_sent, bool *has_marked)
{
  enum { READ_MAX = 1024 * 1024, NEXT_VISIT_MS = 5 };
  const int64_t now_ms = clock_now_ms();
  int64_t due_ms = INT64_MAX;
  struct zeromq_pending *before = identity->first;
  while (before->next != NULL) {
    struct zeromq_pending *pending = before->next;
    bool is_done = false;
    if (pending->expires_ms == 0) {
      if (*read > READ_MAX)
        return now_ms + NEXT_VISIT_MS;
      *read += pending->size;
      is_done = answer_at_once(identity, pending, read, has_marked);
      if (!is_done)
        compute_expiry(identity->zeromq, pending);
    }
    if (!is_done && pending->expires_ms <= now_ms)
      is_done = send_ended(identity, pending, pending->cause, false) != ENDED_ANSWER_FAILED;
    if (is_done) {
      zeromq_pending_destroy(identity->zeromq, zeromq_identity_pop_after(identity, before));
      *has_sent = true;
      continue;
    }
    due_ms = pending->expires_ms < due_ms ? pending->expires_ms : due_ms;
    before = pending;
  }
  return due_ms;
}

/* crew_call_ops.read_ahead: while a request of the identity lasts, obeys the cancels among the waiting requests, and answers
 * those whose time is over. */
static void read_waiting(struct crew_source *source, struct crew_member *watcher)
{
  (void)watcher;
  struct zeromq_identity *identity = (struct zeromq_identity *)source;
  struct zeromq_router *zeromq = identity->zeromq;
  int64_t due_ms = INT64_MAX;
  size_t read = 0;
  bool has_sent = false;
  bool has_marked = false;
  pthread_mutex_lock(&zeromq->lock);
  if (zeromq_identity_is_owned(identity) && identity->first != NULL && zeromq->socket != NULL) {
    identity->is_long = true;
    due_ms = answer_due(identity, &read, &has_sent, &has_marked);
    if (has_marked)
      due_ms = answer_due(identity, &read, &has_sent, &has_marked);
  }
  bool input = has_sent && zeromq_has_input(zeromq, false);
  pthread_mutex_unlock(&zeromq->lock);
  if (input)
    crew_submit(zeromq->crew, &zeromq->source);
  if (due_ms != INT64_MAX)
    crew_read_ahead_at(zeromq->crew, due_ms);
}

static bool answer_ended(struct crew_source *source, struct crew_member *member, uint64_t steps,
                         enum rpc_call_cause cause, bool is_patient)
{
  struct zeromq_identity *identity = (struct zeromq_identity *)source;
  struct zeromq_router *zeromq = identity->zeromq;
  bool is_done = true;
  bool input = false;
  pthread_mutex_lock(&zeromq->lock);
  bool may_answer = is_serving(identity, member, steps) && identity->state == ZEROMQ_IDENTITY_OWNED &&
                    zeromq->socket != NULL;
  if (may_answer && is_patient &&
      rpc_codec_is_batch(find_codec(zeromq, identity->first), get_payload(identity->first))) {
    is_done = false;
  } else if (may_answer) {
    const enum ended_answer sent = send_ended(identity, identity->first, cause, true);
    is_done = sent != ENDED_ANSWER_FAILED;
    if (sent == ENDED_ANSWER_SENT)
      zeromq_identity_set_state(identity, ZEROMQ_IDENTITY_REFUSED);
    input = zeromq_has_input(zeromq, false);
  }
  pthread_mutex_unlock(&zeromq->lock);
  if (input)
    crew_submit(zeromq->crew, &zeromq->source);
  return is_done;
}

/* The request that the lost thread serves remains owned by that thread (drop_reclaimed). */
static bool reclaim_identity(struct crew_source *source, struct crew_member *watcher,
                             struct crew_member *member, uint64_t steps, struct crew_retained *retained,
                             bool *is_later)
{
  (void)watcher, (void)retained, (void)is_later;
  struct zeromq_identity *identity = (struct zeromq_identity *)source;
  struct zeromq_router *zeromq = identity->zeromq;
  pthread_mutex_lock(&zeromq->lock);
  bool is_served = is_serving(identity, member, steps);
  bool more = false;
  bool input = false;
  if (is_served) {
    zeromq_identity_pop(identity);
    identity->client = NULL;
    identity->is_long = false;
    if (identity->state == ZEROMQ_IDENTITY_REFUSED)
      zeromq_identity_set_state(identity, ZEROMQ_IDENTITY_OWNED);
    zeromq_send_answers(identity);
    zeromq_identity_set_state(identity, ZEROMQ_IDENTITY_FILED);
    identity->worker = NULL;
    more = identity->first != NULL && identity->first_held == NULL && zeromq->socket != NULL;
    if (!more)
      zeromq_identity_release(identity);
    input = zeromq->socket != NULL && zeromq_has_input(zeromq, false);
  }
  pthread_mutex_unlock(&zeromq->lock);
  if (more)
    crew_submit(zeromq->crew, source);
  if (input)
    crew_submit(zeromq->crew, &zeromq->source);
  return is_served;
}

const struct crew_call_ops zeromq_identity_call_ops = {
    .read_ahead = read_waiting, .answer_ended = answer_ended, .reclaim = reclaim_identity};

/* The turn of the socket. Receives a batch and serves its first identity itself, so that the requests of a single
 * client need no other thread. */
static void run_socket_turn(struct crew_source *source, struct crew_member *member)
{
  struct zeromq_router *zeromq = (struct zeromq_router *)source;
  struct receive_batch batch;
  pthread_mutex_lock(&zeromq->lock);
  receive_batch(zeromq, &batch);
  struct jp_error error = {0};
  enum jp_status armed = JP_OK;
  if (zeromq->socket == NULL)
    batch.more = false;
  else if (!batch.more)
    armed = crew_watch_again(zeromq->crew, source, zeromq->fd, EPOLLIN, &error);
  pthread_mutex_unlock(&zeromq->lock);

  if (armed != JP_OK)
    log_error_rarely("the ZeroMQ socket cannot be watched: %s", error.text);
  submit_batch(zeromq, &batch, 1);
  if (batch.ready_count > 0)
    zeromq_identity_turn(&batch.ready[0]->source, member);
}

/* --- the socket --- */

/* Makes a numeric address, because libzmq interprets a name as a network interface. */
static enum jp_status format_endpoint(const char *host, uint16_t port, char endpoint[ZEROMQ_ADDRESS_MAX],
                                      int *is_ipv6, struct jp_error *error)
{
  struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE};
  struct addrinfo *found;
  int failure = getaddrinfo(host, NULL, &hints, &found);
  if (failure != 0)
    return jp_fail(error, JP_IO, "ZeroMQ address %s: %s", host, gai_strerror(failure));
  char numeric[NI_MAXHOST];
  failure = getnameinfo(found->ai_addr, found->ai_addrlen, numeric, sizeof numeric, NULL, 0, NI_NUMERICHOST);
  *is_ipv6 = found->ai_family == AF_INET6;
  freeaddrinfo(found);
  if (failure != 0)
    return jp_fail(error, JP_IO, "ZeroMQ address %s: %s", host, gai_strerror(failure));
  char number[8] = "*";
  if (port != 0)
    snprintf(number, sizeof number, "%u", port);
  snprintf(endpoint, ZEROMQ_ADDRESS_MAX, *is_ipv6 ? "tcp://[%s]:%s" : "tcp://%s:%s", numeric, number);
  return JP_OK;
}

static int set_options(void *socket, const struct zeromq_config *config)
{
  enum { IDLE_S = 15, INTERVAL_S = 5, PROBES = 3 };
  /* A client that reconnects with its routing id replaces its old connection. If the peer has principals, a
   * client could use the routing id of another principal's client in this way, and get the other client's
   * answers. In that case a routing id is free only after its connection has ended, and a lost network is
   * noticed within half a minute. */
  const bool is_shared = config->principals != NULL;
  const struct {
    int option;
    int value;
  } options[] = {
      {ZMQ_ROUTER_MANDATORY, 1}, /* else a full pipe loses answers silently */
      {ZMQ_ROUTER_HANDOVER, !is_shared},
      {ZMQ_TCP_KEEPALIVE_IDLE, is_shared ? IDLE_S : -1},
      {ZMQ_TCP_KEEPALIVE_INTVL, is_shared ? INTERVAL_S : -1},
      {ZMQ_TCP_KEEPALIVE_CNT, is_shared ? PROBES : -1},
      {ZMQ_SNDHWM, PIPE_ANSWERS_MAX},
      {ZMQ_RCVHWM, PIPE_REQUESTS_MAX},
      {ZMQ_HANDSHAKE_IVL, (int)config->handshake_ms},
      {ZMQ_TCP_KEEPALIVE, 1},
      {ZMQ_LINGER, 0},
  };
  for (size_t i = 0; i < sizeof options / sizeof options[0]; i++) {
    if (zmq_setsockopt(socket, options[i].option, &options[i].value, sizeof options[i].value) != 0)
      return -1;
  }
  /* libzmq closes the connection at this limit. A message between message_max and this limit is answered with an
   * error. */
  int64_t most = (int64_t)config->message_max * 2;
  return zmq_setsockopt(socket, ZMQ_MAXMSGSIZE, &most, sizeof most);
}

static enum jp_status open_socket(struct zeromq_router *zeromq, struct jp_error *error)
{
  size_t fd_size = sizeof zeromq->fd;
  zeromq->context = zmq_ctx_new();
  if (zeromq->context != NULL)
    zeromq->socket = zmq_socket(zeromq->context, ZMQ_ROUTER);
  if (zeromq->socket == NULL || set_options(zeromq->socket, &zeromq->config) != 0 ||
      zmq_getsockopt(zeromq->socket, ZMQ_FD, &zeromq->fd, &fd_size) != 0)
    return jp_fail(error, JP_IO, "ZeroMQ socket: %s", zmq_strerror(errno));
  return JP_OK;
}

/* Reads the peer's pair of keys, and starts the ZAP handler. Must be called before any bind. */
static enum jp_status prepare_curve(struct zeromq_router *zeromq, struct jp_error *error)
{
  const struct zeromq_config *config = &zeromq->config;
  if (config->curve_key_file == NULL)
    return JP_OK;
  enum jp_status status = zeromq_keys_read(config->curve_key_file, &zeromq->curve, error);
  if (status != JP_OK) {
    jp_error_prefix(error, "--zmq-curve-key");
    return status;
  }
  zeromq->has_curve = true;
  return zeromq_zap_create(zeromq->context, config->principals, config->wrong_evidence, config->monitor,
                           &zeromq->zap, error);
}

/* Sets the options for the next bind. Options for later binds do not change earlier ones. */
static bool set_mechanism(struct zeromq_router *zeromq, bool is_tcp)
{
  const int is_server = is_tcp && zeromq->has_curve;
  const char *domain = is_tcp ? ZEROMQ_ZAP_DOMAIN_TCP : ZEROMQ_ZAP_DOMAIN_IPC;
  if (!zeromq->has_curve)
    return true;
  return zmq_setsockopt(zeromq->socket, ZMQ_CURVE_SERVER, &is_server, sizeof is_server) == 0 &&
         zmq_setsockopt(zeromq->socket, ZMQ_ZAP_DOMAIN, domain, strlen(domain)) == 0 &&
         (!is_server ||
          zmq_setsockopt(zeromq->socket, ZMQ_CURVE_SECRETKEY, zeromq->curve.secret_key, CURVE_KEY_SIZE) == 0);
}

enum jp_status zeromq_create(const struct zeromq_config *config, struct zeromq_router **zeromq,
                             struct jp_error *error)
{
  struct zeromq_router *made = calloc(1, sizeof *made);
  if (made == NULL)
    return jp_fail(error, JP_NO_MEMORY, "no memory for the ZeroMQ socket");
  made->config = *config;
  made->source.turn = run_socket_turn;
  pthread_mutex_init(&made->lock, NULL);
  enum jp_status status = open_socket(made, error);
  if (status == JP_OK)
    status = prepare_curve(made, error);
  if (status != JP_OK) {
    zeromq_destroy(made);
    return status;
  }
  *zeromq = made;
  return JP_OK;
}

enum jp_status zeromq_listen(struct zeromq_router *zeromq, const char *host, uint16_t port, int adopted,
                             char address[ZEROMQ_ADDRESS_MAX], struct jp_error *error)
{
  char endpoint[ZEROMQ_ADDRESS_MAX];
  int is_ipv6 = 0;
  const int no_fd = -1;
  const int fd = adopted > 0 ? adopted : no_fd;
  enum jp_status status = format_endpoint(host == NULL ? "127.0.0.1" : host, port, endpoint, &is_ipv6, error);
  if (status != JP_OK)
    return status;
  size_t size = ZEROMQ_ADDRESS_MAX;
  if (zmq_setsockopt(zeromq->socket, ZMQ_IPV6, &is_ipv6, sizeof is_ipv6) != 0 ||
      (fd != no_fd && fcntl(fd, F_SETFL, O_NONBLOCK) != 0) ||
      zmq_setsockopt(zeromq->socket, ZMQ_USE_FD, &fd, sizeof fd) != 0 || !set_mechanism(zeromq, true) ||
      zmq_bind(zeromq->socket, endpoint) != 0 ||
      zmq_setsockopt(zeromq->socket, ZMQ_USE_FD, &no_fd, sizeof no_fd) != 0 ||
      zmq_getsockopt(zeromq->socket, ZMQ_LAST_ENDPOINT, address, &size) != 0)
    return jp_fail(error, JP_IO, "%s: %s", endpoint, zmq_strerror(errno));
  return JP_OK;
}

/* libzmq admits a process whose user or group is one of the filters, and also a member of one of these groups
 * by the system's database (getgrgid): unlike the kernel's list (SO_PEERGROUPS), the database lacks groups
 * without a name, and includes groups that a process has dropped. */
static bool set_filters(void *socket, const struct admission *admission)
{
  const uid_t own = geteuid();
  bool is_set = zmq_setsockopt(socket, ZMQ_IPC_FILTER_UID, &own, sizeof own) == 0;
  for (size_t i = 0; is_set && i < admission->user_count; i++)
    is_set = zmq_setsockopt(socket, ZMQ_IPC_FILTER_UID, &admission->users[i], sizeof(uid_t)) == 0;
  for (size_t i = 0; is_set && i < admission->group_count; i++)
    is_set = zmq_setsockopt(socket, ZMQ_IPC_FILTER_GID, &admission->groups[i], sizeof(gid_t)) == 0;
  return is_set;
}

/* ZMQ_USE_FD applies to all later binds, so it is reset after the bind. */
enum jp_status zeromq_listen_on(struct zeromq_router *zeromq, int fd, const char *path,
                                struct jp_error *error)
{
  char endpoint[ZEROMQ_ADDRESS_MAX];
  const int no_fd = -1;
  snprintf(endpoint, sizeof endpoint, "ipc://%s", path);
  bool is_filtered = zeromq->config.principals == NULL; /* else each message is judged */
  bool is_bound = set_mechanism(zeromq, false) &&
                  (!is_filtered || set_filters(zeromq->socket, zeromq->config.admission)) &&
                  zmq_setsockopt(zeromq->socket, ZMQ_USE_FD, &fd, sizeof fd) == 0 &&
                  zmq_bind(zeromq->socket, endpoint) == 0;
  int reason = errno;
  if (!is_bound)
    close(fd);
  if (!is_bound || zmq_setsockopt(zeromq->socket, ZMQ_USE_FD, &no_fd, sizeof no_fd) != 0)
    return jp_fail(error, JP_IO, "%s: %s", endpoint, zmq_strerror(reason));
  return JP_OK;
}

enum jp_status zeromq_start(struct zeromq_router *zeromq, struct crew *crew, struct jp_error *error)
{
  zeromq->crew = crew;
  enum jp_status status = crew_watch(crew, &zeromq->source, zeromq->fd, EPOLLIN, error);
  if (status == JP_OK)
    crew_submit(crew, &zeromq->source); /* for messages that came before the socket was watched */
  return status;
}

/* After the socket was closed. */
static void end_context(struct zeromq_router *zeromq)
{
  zeromq_zap_destroy(zeromq->zap);
  zeromq->zap = NULL;
  if (zeromq->context != NULL)
    zmq_ctx_term(zeromq->context);
  zeromq->context = NULL;
}

void zeromq_close(struct zeromq_router *zeromq, int linger_ms)
{
  pthread_mutex_lock(&zeromq->lock);
  void *socket = zeromq->socket;
  zeromq->socket = NULL;
  pthread_mutex_unlock(&zeromq->lock);
  if (socket == NULL)
    return;
  zmq_setsockopt(socket, ZMQ_LINGER, &linger_ms, sizeof linger_ms);
  zmq_close(socket);
  end_context(zeromq);
}

void zeromq_destroy(struct zeromq_router *zeromq)
{
  if (zeromq == NULL)
    return;
  zeromq_close(zeromq, 0);
  end_context(zeromq);
  explicit_bzero(&zeromq->curve, sizeof zeromq->curve);
  zeromq_identities_fini(zeromq);
  pthread_mutex_destroy(&zeromq->lock);
  free(zeromq);
}

/* --- the tick and the drain: other threads --- */

bool zeromq_tick(struct zeromq_router *zeromq)
{
  pthread_mutex_lock(&zeromq->lock);
  bool used = (zeromq->full_count > 0 || zeromq->answering > 0) && zeromq->socket != NULL;
  if (used) {
    zeromq_send_all_answers(zeromq);
    zeromq_resume_held(zeromq, zeromq->full_count);
  }
  bool input = used && zeromq_has_input(zeromq, false);
  bool is_holding = zeromq->holding > 0;
  pthread_mutex_unlock(&zeromq->lock);
  if (input)
    crew_submit(zeromq->crew, &zeromq->source);
  return is_holding;
}

static void refuse_pending(struct zeromq_identity *identity, struct zeromq_pending *pending,
                           const char *reason)
{
  const struct rpc_service *service = crew_service(identity->zeromq->crew);
  struct buffer bytes = {0};
  bool replied = write_refusal(service, NULL, pending, reason, &bytes);
  if (replied || pending->delimiter) {
    struct zeromq_answer answer; /* not pending->answer, which the thread of the turn may be writing now */
    zeromq_make_answer(&answer, &bytes, pending->delimiter);
    zeromq_deliver(identity, &answer);
  }
  buffer_fini(&bytes);
}

static void refuse_identity(struct zeromq_identity *identity, const char *reason)
{
  struct zeromq_pending *running = NULL;
  zeromq_send_answers(identity);
  if (zeromq_identity_is_owned(identity) && identity->first != NULL) {
    running = zeromq_identity_pop(identity);
    if (identity->state == ZEROMQ_IDENTITY_OWNED) {
      refuse_pending(identity, running, reason);
      zeromq_identity_set_state(identity, ZEROMQ_IDENTITY_REFUSED);
    }
  }
  while (identity->first != NULL) {
    struct zeromq_pending *pending = zeromq_identity_pop(identity);
    refuse_pending(identity, pending, reason);
    zeromq_pending_destroy(identity->zeromq, pending);
  }
  if (running != NULL)
    zeromq_identity_push(identity,
                         running); /* the owner still reads it, and removes it from the queue later */
}

static bool may_still_answer(const struct zeromq_identity *identity)
{
  const struct rpc_service *service = crew_service(identity->zeromq->crew);
  bool exits = zeromq_identity_is_owned(identity) && identity->worker != NULL &&
               service->is_exiting(service->context, identity->worker);
  return identity->first != NULL && !exits && identity->state != ZEROMQ_IDENTITY_REFUSED;
}

bool zeromq_is_idle(struct zeromq_router *zeromq)
{
  pthread_mutex_lock(&zeromq->lock);
  bool idle = zeromq->socket == NULL || zeromq->holding == 0;
  for (size_t i = 0; idle && zeromq->socket != NULL && i < IDENTITY_BUCKETS; i++) {
    for (struct zeromq_identity *identity = zeromq->buckets[i]; idle && identity != NULL;
         identity = identity->next)
      idle = !may_still_answer(identity);
  }
  pthread_mutex_unlock(&zeromq->lock);
  return idle;
}

void zeromq_refuse_rest(struct zeromq_router *zeromq, const char *reason)
{
  pthread_mutex_lock(&zeromq->lock);
  for (size_t i = 0; zeromq->socket != NULL && i < IDENTITY_BUCKETS; i++) {
    for (struct zeromq_identity *identity = zeromq->buckets[i]; identity != NULL; identity = identity->next)
      refuse_identity(identity, reason);
  }
  pthread_mutex_unlock(&zeromq->lock);
}
