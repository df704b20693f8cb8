#include "net/zeromq.h"

#include "base/log.h"
#include "net/zeromq_state.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

enum {
  RECEIVES_A_SECTION = 16,
  RESUMES_A_SECTION = 16,
  PENDING_MESSAGES_MAX = 8 /* of the largest size, for all identities together */
};

/* --- sending, under the lock --- */

/* 0, or the error number. Only the identity's frame can be refused: behind it, the pipe takes the whole
 * message. */
static int send_envelope(struct zeromq *zeromq, const struct zeromq_peer *peer, zmq_msg_t *answer,
                         bool delimiter)
{
  if (zmq_send(zeromq->socket, peer->identity, peer->identity_length, ZMQ_SNDMORE | ZMQ_DONTWAIT) < 0)
    return errno;
  if (delimiter && zmq_send(zeromq->socket, "", 0, ZMQ_SNDMORE | ZMQ_DONTWAIT) < 0)
    return errno;
  return zmq_msg_send(answer, zeromq->socket, ZMQ_DONTWAIT) < 0 ? errno : 0;
}

/* Sends, or holds what the pipe has no room for; a client that is gone gets nothing. Takes the answer. */
static void deliver(struct zeromq_peer *peer, zmq_msg_t *answer, bool delimiter)
{
  struct zeromq *zeromq = peer->zeromq;
  int failure = EAGAIN; /* behind one that is held, every answer is */
  if (zeromq->socket == NULL)
    failure = ENOTSOCK;
  else if (peer->first_held == NULL)
    failure = send_envelope(zeromq, peer, answer, delimiter);
  if (failure == EAGAIN && !zeromq_peer_hold(peer, answer, delimiter)) {
    log_warn("a ZeroMQ client does not read: %zu bytes of answers dropped (send-buffer-max)",
             peer->held_bytes + zmq_msg_size(answer));
    zeromq_peer_drop_held(peer);
    if (peer->first != NULL && !peer->owned)
      crew_submit(zeromq->crew, &peer->source); /* it waited for what is dropped now */
  }
  zmq_msg_close(answer);
}

/* Sends what was held, as far as the pipe takes it; false where it is still full. */
static bool send_held(struct zeromq_peer *peer)
{
  while (peer->first_held != NULL) {
    struct zeromq_held *held = peer->first_held;
    int failure = send_envelope(peer->zeromq, peer, &held->answer, held->delimiter);
    if (failure == EAGAIN)
      return false;
    zeromq_peer_drop_first_held(peer);
  }
  return true;
}

/* Tries so many of the full pipes again, each once. */
static void resume_held(struct zeromq *zeromq, size_t most)
{
  for (size_t left = most < zeromq->full_count ? most : zeromq->full_count; left > 0; left--) {
    struct zeromq_peer *peer = zeromq_full_pop(zeromq);
    if (peer->first_held == NULL)
      continue;
    if (!send_held(peer))
      zeromq_full_push(peer);
    else if (peer->first != NULL)
      crew_submit(zeromq->crew, &peer->source);
    else
      zeromq_peer_release(peer);
  }
}

static bool polls_in(struct zeromq *zeromq)
{
  int events = 0;
  size_t size = sizeof events;
  return zmq_getsockopt(zeromq->socket, ZMQ_EVENTS, &events, &size) == 0 && (events & ZMQ_POLLIN) != 0;
}

/*
 * Ends every locked section that used the socket: true where it must be received from (see the header).
 * Reading the events is also what tells libzmq that a full pipe has room again, so that then is the time to
 * use it.
 */
static bool has_input(struct zeromq *zeromq)
{
  if (zeromq->socket == NULL)
    return false;
  bool input = polls_in(zeromq);
  if (zeromq->holding == 0)
    return input;
  resume_held(zeromq, RESUMES_A_SECTION);
  return polls_in(zeromq);
}

static void make_answer(zmq_msg_t *answer, const struct buffer *bytes)
{
  size_t size = bytes->failed ? 0 : bytes->len;
  if (bytes->failed)
    log_error("no memory for an answer: an empty one is sent");
  if (zmq_msg_init_size(answer, size) != 0)
    zmq_msg_init(answer);
  else if (size > 0)
    memcpy(zmq_msg_data(answer), bytes->data, size);
}

/* --- an identity's turn --- */

static void describe_fault(const struct rpc_service *service, const struct zeromq *zeromq,
                           enum zeromq_fault fault, struct buffer *out)
{
  char reason[128];
  switch (fault) {
  case ZEROMQ_MULTI_PART:
    service->reject(service->context, RPC_INVALID_MESSAGE,
                    "The payload has more than one frame: a message is one", out);
    return;
  case ZEROMQ_TOO_LONG:
    snprintf(reason, sizeof reason, "The message passes the limit message-max of %zu bytes",
             zeromq->config.message_max);
    service->reject(service->context, RPC_INVALID_MESSAGE, reason, out);
    return;
  default:
    service->reject(service->context, RPC_UNREADABLE_MESSAGE, "The message is empty", out);
    return;
  }
}

static struct text payload_text(struct zeromq_pending *pending)
{
  return (struct text){zmq_msg_data(&pending->payload), zmq_msg_size(&pending->payload)};
}

/* Opens the client where the turn has none yet; false with an answer where that is refused. */
static bool open_client(struct zeromq_peer *peer, struct zeromq_pending *pending, struct rpc_client **client,
                        struct buffer *out, enum crew_served *served)
{
  if (*client != NULL)
    return true;
  const struct rpc_service *service = crew_service(peer->zeromq->crew);
  struct rpc_client_info info = {.channel = OP_CHANNEL_ZMQ,
                                 .routing_id = {(const char *)peer->identity, peer->identity_length}};
  struct jp_error error = {0};
  if (service->client_open(service->context, &info, client, &error) == JP_OK)
    return true;
  *client = NULL;
  bool replied = service->refuse(service->context, payload_text(pending), error.text, out) != RPC_NO_REPLY;
  *served = replied ? CREW_REPLY : CREW_NO_REPLY;
  return false;
}

static enum crew_served serve_pending(struct crew_member *member, struct zeromq_peer *peer,
                                      struct zeromq_pending *pending, struct rpc_client **client,
                                      struct buffer *out)
{
  struct zeromq *zeromq = peer->zeromq;
  if (pending->fault != ZEROMQ_FINE) {
    describe_fault(crew_service(zeromq->crew), zeromq, pending->fault, out);
    return CREW_REPLY;
  }
  enum crew_served served;
  if (!open_client(peer, pending, client, out, &served))
    return served;
  struct crew_message message = {.client = *client,
                                 .text = payload_text(pending),
                                 .may_stream = false,
                                 .reply_max = zeromq->config.message_max,
                                 .since_ms = &pending->since_ms};
  struct rpc_stream stream;
  return crew_serve(member, &message, out, &stream);
}

/* Sends the answer to the peer's first request and takes that off the queue; the next one, or NULL where the
 * turn ends. */
static struct zeromq_pending *finish_first(struct zeromq_peer *peer, enum crew_served served,
                                           const struct buffer *bytes, bool turn_is_over)
{
  struct zeromq *zeromq = peer->zeromq;
  zmq_msg_t answer;
  make_answer(&answer, bytes);

  pthread_mutex_lock(&zeromq->lock);
  struct zeromq_pending *pending = zeromq_peer_pop(peer);
  bool answers = !peer->abandoned && (crew_has_replied(served) || pending->delimiter);
  if (answers)
    deliver(peer, &answer, pending->delimiter);
  else
    zmq_msg_close(&answer);
  peer->abandoned = false;
  zeromq_pending_give_back(zeromq, pending);
  bool ends = turn_is_over || peer->first_held != NULL || zeromq->socket == NULL;
  struct zeromq_pending *next = ends ? NULL : peer->first;
  bool input = has_input(zeromq);
  pthread_mutex_unlock(&zeromq->lock);

  if (input)
    crew_submit(zeromq->crew, &zeromq->source);
  return next;
}

static void end_peer_turn(struct zeromq_peer *peer)
{
  struct zeromq *zeromq = peer->zeromq;
  pthread_mutex_lock(&zeromq->lock);
  peer->owned = false;
  bool more = peer->first != NULL && peer->first_held == NULL && zeromq->socket != NULL;
  if (!more)
    zeromq_peer_release(peer);
  pthread_mutex_unlock(&zeromq->lock);
  if (more)
    crew_submit(zeromq->crew, &peer->source);
}

static void serve_queue(struct zeromq_peer *peer, struct zeromq_pending *pending, struct crew_member *member)
{
  struct crew_turn turn;
  crew_turn_begin(&turn);
  struct buffer answer = {0};
  scratch_lend(&member->scratch, SCRATCH_ANSWER, &answer);
  struct rpc_client *client = NULL;
  while (pending != NULL) {
    buffer_clear(&answer);
    enum crew_served served = serve_pending(member, peer, pending, &client, &answer);
    if (served == CREW_WAIT)
      break;
    pending = finish_first(peer, served, &answer, crew_turn_is_over(&turn));
  }
  if (client != NULL) {
    const struct rpc_service *service = crew_service(peer->zeromq->crew);
    struct uuid kept;
    service->client_close(service->context, member->worker, client, &kept);
  }
  buffer_clear(&answer);
  scratch_return(&member->scratch, SCRATCH_ANSWER, &answer);
  end_peer_turn(peer);
}

void zeromq_peer_turn(struct crew_source *source, struct crew_member *member)
{
  struct zeromq_peer *peer = (struct zeromq_peer *)source;
  struct zeromq *zeromq = peer->zeromq;
  pthread_mutex_lock(&zeromq->lock);
  bool wanted = !peer->owned && peer->first != NULL && peer->first_held == NULL && zeromq->socket != NULL;
  if (wanted) {
    peer->owned = true;
    peer->worker = member->worker;
  }
  struct zeromq_pending *pending = peer->first;
  pthread_mutex_unlock(&zeromq->lock);
  if (wanted)
    serve_queue(peer, pending, member);
}

/* --- receiving --- */

/* What one locked section found. */
struct harvest {
  struct zeromq_peer *ready[RECEIVES_A_SECTION]; /* had nothing before, and now have something to run */
  size_t ready_count;
  struct {
    struct zeromq_pending *pending;
    size_t identity_length;
    unsigned char identity[IDENTITY_MAX];
  } refused[RECEIVES_A_SECTION];
  size_t refused_count;
};

static bool receive_frame(void *socket, zmq_msg_t *frame)
{
  int received;
  do
    received = zmq_msg_recv(frame, socket, ZMQ_DONTWAIT);
  while (received < 0 && errno == EINTR);
  return received >= 0;
}

/* Reads what follows the identity. A message arrives whole, so no frame has to be waited for. */
static void receive_payload(struct zeromq *zeromq, struct zeromq_pending *pending)
{
  zmq_msg_t *payload = &pending->payload;
  if (!receive_frame(zeromq->socket, payload)) {
    pending->fault = ZEROMQ_EMPTY;
    return;
  }
  if (zmq_msg_size(payload) == 0 && zmq_msg_more(payload)) {
    pending->delimiter = true;
    receive_frame(zeromq->socket, payload);
  }
  pending->size = zmq_msg_size(payload);
  if (zmq_msg_more(payload))
    pending->fault = ZEROMQ_MULTI_PART;
  else if (pending->size == 0)
    pending->fault = ZEROMQ_EMPTY;
  else if (pending->size > zeromq->config.message_max)
    pending->fault = ZEROMQ_TOO_LONG;
  if (pending->fault == ZEROMQ_FINE)
    return;
  /* Only the envelope is still needed. */
  while (zmq_msg_more(payload) && receive_frame(zeromq->socket, payload))
    ;
  zmq_msg_close(payload);
  zmq_msg_init(payload);
  pending->size = 0;
}

static bool passes_limit(const struct zeromq *zeromq, const struct zeromq_peer *peer,
                         const struct zeromq_pending *pending)
{
  if (peer->first == NULL)
    return false; /* the first request of an identity always gets its turn */
  return peer->pending >= zeromq->config.pending_max ||
         zeromq->pending_bytes + pending->size > PENDING_MESSAGES_MAX * zeromq->config.message_max;
}

static void file_request(struct zeromq *zeromq, zmq_msg_t *identity, struct zeromq_pending *pending,
                         struct harvest *harvest)
{
  struct zeromq_peer *peer = zeromq_peer_get(zeromq, zmq_msg_data(identity), zmq_msg_size(identity));
  if (peer == NULL) {
    log_error("no memory for a ZeroMQ client: a request was dropped");
    zeromq_pending_give_back(zeromq, pending);
    return;
  }
  if (passes_limit(zeromq, peer, pending)) {
    size_t i = harvest->refused_count++;
    harvest->refused[i].pending = pending;
    harvest->refused[i].identity_length = peer->identity_length;
    memcpy(harvest->refused[i].identity, peer->identity, peer->identity_length);
    return;
  }
  if (peer->first == NULL && peer->first_held == NULL)
    harvest->ready[harvest->ready_count++] = peer;
  zeromq_peer_push(peer, pending);
}

/* Fills the harvest; true where there may be more to receive. */
static bool receive_section(struct zeromq *zeromq, struct harvest *harvest)
{
  zmq_msg_t identity;
  for (int i = 0; i < RECEIVES_A_SECTION && zeromq->socket != NULL; i++) {
    struct zeromq_pending *pending = zeromq_pending_take(zeromq);
    if (pending == NULL)
      return true; /* memory is short: what lies in the socket stays there */
    zmq_msg_init(&identity);
    if (!receive_frame(zeromq->socket, &identity)) {
      zmq_msg_close(&identity);
      zeromq_pending_give_back(zeromq, pending);
      break;
    }
    receive_payload(zeromq, pending);
    file_request(zeromq, &identity, pending, harvest);
    zmq_msg_close(&identity);
  }
  return has_input(zeromq);
}

static void answer_refused(struct zeromq *zeromq, const struct harvest *harvest, size_t i)
{
  const struct rpc_service *service = crew_service(zeromq->crew);
  struct zeromq_pending *pending = harvest->refused[i].pending;
  struct buffer bytes = {0};
  bool replied = true;
  if (pending->fault != ZEROMQ_FINE) {
    describe_fault(service, zeromq, pending->fault, &bytes);
  } else {
    char reason[160];
    snprintf(reason, sizeof reason, "too many requests are waiting for this client (zmq-pending-max is %zu)",
             zeromq->config.pending_max);
    replied = service->refuse(service->context, payload_text(pending), reason, &bytes) != RPC_NO_REPLY;
  }
  zmq_msg_t answer;
  make_answer(&answer, &bytes);
  buffer_fini(&bytes);

  pthread_mutex_lock(&zeromq->lock);
  struct zeromq_peer *peer =
      zeromq_peer_get(zeromq, harvest->refused[i].identity, harvest->refused[i].identity_length);
  if (peer != NULL && (replied || pending->delimiter))
    deliver(peer, &answer, pending->delimiter);
  else
    zmq_msg_close(&answer);
  if (peer != NULL)
    zeromq_peer_release(peer);
  zeromq_pending_give_back(zeromq, pending);
  bool input = has_input(zeromq);
  pthread_mutex_unlock(&zeromq->lock);
  if (input)
    crew_submit(zeromq->crew, &zeromq->source);
}

/* Receives, leaves all but one of the identities to others, and runs that one: no hand-over for a lone
 * client. */
void zeromq_socket_turn(struct crew_source *source, struct crew_member *member)
{
  struct zeromq *zeromq = (struct zeromq *)source;
  struct harvest harvest;
  harvest.ready_count = 0;
  harvest.refused_count = 0;

  pthread_mutex_lock(&zeromq->lock);
  bool more = receive_section(zeromq, &harvest);
  bool open = zeromq->socket != NULL;
  struct jp_error error = {0};
  enum jp_status armed = JP_OK;
  if (open && !more)
    armed = crew_watch_again(zeromq->crew, source, zeromq->fd, EPOLLIN, &error);
  pthread_mutex_unlock(&zeromq->lock);

  if (armed != JP_OK)
    log_error("the ZeroMQ socket cannot be watched: %s", error.text);
  for (size_t i = 1; i < harvest.ready_count; i++)
    crew_submit(zeromq->crew, &harvest.ready[i]->source);
  if (open && more)
    crew_submit(zeromq->crew, source);
  for (size_t i = 0; i < harvest.refused_count; i++)
    answer_refused(zeromq, &harvest, i);
  if (harvest.ready_count > 0)
    zeromq_peer_turn(&harvest.ready[0]->source, member);
}

/* --- from outside --- */

void zeromq_tick(struct zeromq *zeromq, int64_t now_ms)
{
  (void)now_ms;
  pthread_mutex_lock(&zeromq->lock);
  bool used = zeromq->holding > 0 && zeromq->socket != NULL;
  if (used)
    resume_held(zeromq, zeromq->full_count);
  bool input = used && has_input(zeromq);
  pthread_mutex_unlock(&zeromq->lock);
  if (input)
    crew_submit(zeromq->crew, &zeromq->source);
}

static void refuse_pending(struct zeromq_peer *peer, struct zeromq_pending *pending, const char *reason)
{
  const struct rpc_service *service = crew_service(peer->zeromq->crew);
  struct buffer bytes = {0};
  bool replied = service->refuse(service->context, payload_text(pending), reason, &bytes) != RPC_NO_REPLY;
  if (replied || pending->delimiter) {
    zmq_msg_t answer;
    make_answer(&answer, &bytes);
    deliver(peer, &answer, pending->delimiter);
  }
  buffer_fini(&bytes);
}

static void refuse_peer(struct zeromq_peer *peer, const char *reason)
{
  struct zeromq_pending *running = NULL;
  if (peer->owned && peer->first != NULL) {
    running = zeromq_peer_pop(peer);
    if (!peer->abandoned)
      refuse_pending(peer, running, reason);
    peer->abandoned = true;
  }
  while (peer->first != NULL) {
    struct zeromq_pending *pending = zeromq_peer_pop(peer);
    refuse_pending(peer, pending, reason);
    zeromq_pending_give_back(peer->zeromq, pending);
  }
  if (running != NULL)
    zeromq_peer_push(peer, running); /* its owner still reads it, and takes it off the queue */
}

static bool may_still_answer(const struct zeromq_peer *peer)
{
  const struct rpc_service *service = crew_service(peer->zeromq->crew);
  bool exits = peer->owned && peer->worker != NULL && service->is_exiting(service->context, peer->worker);
  bool is_answered = peer->owned && peer->abandoned;
  return peer->first != NULL && !exits && !is_answered;
}

bool zeromq_is_idle(struct zeromq *zeromq)
{
  pthread_mutex_lock(&zeromq->lock);
  bool idle = zeromq->socket == NULL || zeromq->holding == 0;
  for (size_t i = 0; idle && zeromq->socket != NULL && i < PEER_BUCKETS; i++) {
    for (struct zeromq_peer *peer = zeromq->buckets[i]; idle && peer != NULL; peer = peer->next)
      idle = !may_still_answer(peer);
  }
  pthread_mutex_unlock(&zeromq->lock);
  return idle;
}

void zeromq_refuse_rest(struct zeromq *zeromq, const char *reason)
{
  pthread_mutex_lock(&zeromq->lock);
  for (size_t i = 0; zeromq->socket != NULL && i < PEER_BUCKETS; i++) {
    for (struct zeromq_peer *peer = zeromq->buckets[i]; peer != NULL; peer = peer->next)
      refuse_peer(peer, reason);
  }
  pthread_mutex_unlock(&zeromq->lock);
}

void zeromq_close(struct zeromq *zeromq, int linger_ms)
{
  pthread_mutex_lock(&zeromq->lock);
  void *socket = zeromq->socket;
  zeromq->socket = NULL;
  pthread_mutex_unlock(&zeromq->lock);
  if (socket == NULL)
    return;
  zmq_setsockopt(socket, ZMQ_LINGER, &linger_ms, sizeof linger_ms);
  zmq_close(socket);
  zmq_ctx_term(zeromq->context);
  zeromq->context = NULL;
}

void zeromq_destroy(struct zeromq *zeromq)
{
  if (zeromq == NULL)
    return;
  zeromq_close(zeromq, 0);
  if (zeromq->context != NULL)
    zmq_ctx_term(zeromq->context);
  zeromq_peers_fini(zeromq);
  pthread_mutex_destroy(&zeromq->lock);
  free(zeromq);
}

enum jp_status zeromq_start(struct zeromq *zeromq, struct crew *crew, struct jp_error *error)
{
  zeromq->crew = crew;
  enum jp_status status = crew_watch(crew, &zeromq->source, zeromq->fd, EPOLLIN, error);
  if (status == JP_OK)
    crew_submit(crew, &zeromq->source); /* for what came before anybody looked */
  return status;
}
