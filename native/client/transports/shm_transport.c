/*
 * Shared memory (docs/shared-memory.md): messages as frames of two rings (ring/ring.h). The
 * socket that it was asked for over carries bells, bytes without a meaning, and shows the end of the peer.
 *
 * The peer is told to ring where nobody looks: `sleep` says so, and whoever looks or reads takes it back.
 * What the peer writes is not trusted: positions and heads are checked by the ring, a message is copied out
 * before it is read.
 */
#include "base/clock.h"
#include "client/messages/client_error.h"
#include "client/transports/client_handshake.h"
#include "client/transports/shm_look.h"
#include "client/transports/transport.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

/* What a buffer keeps from one message to the next; how long high pages of the ring are kept after their last
 * use. */
enum { KEPT_MAX = 1024 * 1024, ROAMING_MS = 100 };

/* The peer is to work on them while completions send more; it is to copy a piece while the next one is written. */
enum { FLUSHED_AFTER = 8, PIECE = 64 * 1024 };

/* What is taken before a thread runs the calls and completions in it; there may be thousands more in the ring. */
enum { TAKEN_AT_ONCE = 64 * 1024 };

struct shm_transport {
  struct client_transport transport;
  int fd; /* the socket */
  struct ring_region region;
  struct ring_writer writer;
  struct ring_reader reader;
  struct shm_look look;
  size_t message_max;

  struct buffer out;    /* frames */
  size_t begin;         /* of the one that is being written */
  size_t sent;          /* bytes of `out` that are in the ring */
  uint64_t rung_at;     /* the writer's position when the peer was rung last */
  int64_t roamed_at_ms; /* when high pages of the ring were used last */
  int64_t rested_at_ms; /* when they were given back last */
  uint64_t unanswered;  /* requests; too few where the peer has sent requests of its own */

  struct buffer message; /* that is being read */
  uint32_t kind;         /* of the frame that is being read; 0: none is */
  bool is_asleep;        /* the peer is to ring */
  bool is_gone;          /* it cannot be rung any more */
};

static struct shm_transport *shm_of(struct client_transport *transport)
{
  return (struct shm_transport *)transport;
}

/* ---- opening and closing ---- */

static void destroy(struct shm_transport *shm)
{
  ring_region_unmap(&shm->region);
  buffer_fini(&shm->out);
  buffer_fini(&shm->message);
  if (shm->fd >= 0)
    close(shm->fd);
  free(shm);
}

static enum jp_client_status connect_memory(struct shm_transport *shm, const struct client_url *url,
                                            struct text peer_id, int64_t deadline_ns,
                                            enum shm_refusal *refusal, struct jp_client_error *error)
{
  struct client_stream stream;
  client_stream_init(&stream);
  *refusal = SHM_NOT_REFUSED;
  enum jp_client_status status = client_stream_connect(&stream, url, deadline_ns, error);
  if (status == JP_CLIENT_OK) {
    status =
        shm_shake_hands(&stream, url, peer_id, deadline_ns, &shm->region, &shm->transport, refusal, error);
    if (status != JP_CLIENT_OK)
      client_error_prefix(error, "%.*s: ", TEXT_ARGS(url->whole));
  }
  if (status == JP_CLIENT_OK) {
    shm->fd = stream.fd;
    stream.fd = -1;
    ring_region_open_client(&shm->region, &shm->writer, &shm->reader);
    shm_look_init(&shm->look, shm->reader.mine, shm->reader.other);
  }
  client_stream_fini(&stream);
  return status;
}

static enum jp_client_status open_websocket(const struct client_url *url,
                                            const struct transport_options *options, int64_t deadline_ns,
                                            struct client_transport **transport,
                                            struct jp_client_error *error)
{
  struct transport_options rest = *options;
  int64_t left_ms = (deadline_ns - clock_now_ns()) / 1000000;
  rest.timeout_ms = left_ms > 0 ? (int)left_ms : 0;
  return transport_websocket.open(url, &rest, transport, error);
}

static enum jp_client_status open_shm(const struct client_url *url, const struct transport_options *options,
                                      struct client_transport **transport, struct jp_client_error *error)
{
  int64_t deadline_ns = clock_now_ns() + (int64_t)options->timeout_ms * 1000000;
  enum shm_refusal refusal;
  struct shm_transport *shm = calloc(1, sizeof *shm);
  if (shm == NULL)
    return client_fail(error, JP_CLIENT_NO_MEMORY, "no memory for a connection");
  *shm = (struct shm_transport){
      .transport = {.kind = &transport_shm}, .fd = -1, .message_max = options->message_max};
  enum jp_client_status status = connect_memory(shm, url, options->peer_id, deadline_ns, &refusal, error);
  if (status == JP_CLIENT_OK) {
    *transport = &shm->transport;
    return JP_CLIENT_OK;
  }
  destroy(shm);
  if (refusal == SHM_UNAVAILABLE || (refusal == SHM_REFUSED && options->memory_is_optional))
    return open_websocket(url, options, deadline_ns, transport, error);
  return status;
}

/* The end of the socket says it; the peer serves what is in the ring before. */
static void close_shm(struct client_transport *transport)
{
  destroy(shm_of(transport));
}

/* ---- bells ---- */

static int descriptor_of(const struct client_transport *transport)
{
  return ((const struct shm_transport *)transport)->fd;
}

/* Where the socket is full the peer has bells enough. */
static void ring_peer(struct shm_transport *shm)
{
  shm->rung_at = shm->writer.position;
  if (send(shm->fd, "", 1, MSG_DONTWAIT | MSG_NOSIGNAL) < 0 && errno != EAGAIN && errno != EINTR)
    shm->is_gone = true;
}

/* What the peer rang. False: it has closed the socket. Not without end: it may ring as fast as this reads. */
static bool take_bells(const struct shm_transport *shm)
{
  enum { READS_MAX = 4 };
  char bells[256];
  for (int i = 0; i < READS_MAX; i++) {
    ssize_t count = recv(shm->fd, bells, sizeof bells, MSG_DONTWAIT);
    if (count == 0 || (count < 0 && errno != EAGAIN && errno != EINTR))
      return false;
    if (count < (ssize_t)sizeof bells)
      break;
  }
  return true;
}

static void wake(struct shm_transport *shm)
{
  if (shm->is_asleep)
    ring_reader_wake(&shm->reader);
  shm->is_asleep = false;
}

static bool begin_look(struct client_transport *transport)
{
  struct shm_transport *shm = shm_of(transport);
  if (!shm_look_begin(&shm->look))
    return false;
  wake(shm);
  return true;
}

static bool look(struct client_transport *transport)
{
  return shm_look_wait(&shm_of(transport)->look);
}

static bool has_input(struct client_transport *transport)
{
  const struct shm_transport *shm = shm_of(transport);
  return !shm->is_asleep && shm_look_finds_input(&shm->look);
}

/* Of a connection that large messages came over in a row the pages are not given back between them. One that has no
 * more answers to come may have slept for the last time. */
static void give_back_memory(struct shm_transport *shm)
{
  if (!ring_writer_has_pages_to_release(&shm->writer))
    return;
  int64_t now_ms = clock_coarse_ms();
  bool may_be_last = shm->unanswered == 0 && now_ms - shm->rested_at_ms >= ROAMING_MS;
  if (!may_be_last && now_ms - shm->roamed_at_ms < ROAMING_MS)
    return;
  if (ring_writer_release_pages(&shm->writer)) /* false: the peer has not taken all, later then */
    shm->rested_at_ms = now_ms;
}

static bool sleep_on_bells(struct client_transport *transport)
{
  struct shm_transport *shm = shm_of(transport);
  if (shm->is_asleep)
    return false;
  shm->is_asleep = ring_reader_sleep(&shm->reader);
  if (!shm->is_asleep)
    return true;
  /* The peer that looks at this ring may be busy with a request of another one, and has said that it need not be notified: it
   * is notified once all the same, and another of its threads serves the ring. */
  if (!ring_writer_is_empty(&shm->writer) && shm->rung_at != shm->writer.position)
    ring_peer(shm);
  give_back_memory(shm);
  return shm->writer.is_broken;
}

/* ---- writing ---- */

static bool wants_to_write(const struct client_transport *transport)
{
  const struct shm_transport *shm = (const struct shm_transport *)transport;
  return shm->sent < shm->out.len;
}

static struct buffer *begin_message(struct client_transport *transport)
{
  struct shm_transport *shm = shm_of(transport);
  shm->begin = ring_begin_frame(&shm->out);
  return &shm->out;
}

static void end_message(struct client_transport *transport, bool is_answered)
{
  struct shm_transport *shm = shm_of(transport);
  shm->unanswered += is_answered;
  ring_end_frame(&shm->out, shm->begin, RING_JSON);
}

static void take_back(struct client_transport *transport)
{
  struct shm_transport *shm = shm_of(transport);
  buffer_truncate(&shm->out, shm->begin < shm->out.len ? shm->begin : shm->out.len);
  shm->out.failed = false; /* what was there before is whole */
}

/* The rest is moved only where it is shorter than the part that was sent, so that moving stays cheap. */
static void drop_sent(struct shm_transport *shm)
{
  if (shm->sent == shm->out.len) {
    buffer_clear(&shm->out);
    buffer_trim(&shm->out, KEPT_MAX);
    shm->sent = 0;
  } else if (shm->sent > shm->out.len / 2) {
    buffer_consume(&shm->out, shm->sent);
    shm->sent = 0;
  }
}

static enum jp_client_status fail_protocol(const char *why, struct jp_client_error *error)
{
  return client_fail(error, JP_CLIENT_PROTOCOL, "the peer broke the rules of shared memory: %s", why);
}

/* As much as there is room for; then the peer is to ring when there is more. */
static void fill_ring(struct shm_transport *shm)
{
  bool waited = atomic_load_explicit(&shm->look.wants_room, memory_order_relaxed);
  bool waits = false;
  bool is_rung = false;
  while (!waits && !shm->writer.is_broken && shm->sent < shm->out.len) {
    size_t left = shm->out.len - shm->sent;
    size_t wanted = left < PIECE ? left : PIECE;
    size_t count = ring_write(&shm->writer, shm->out.data + shm->sent, wanted);
    shm->sent += count;
    if (ring_writer_publish(&shm->writer)) {
      ring_peer(shm);
      is_rung = true;
    }
    waits = count < wanted && ring_writer_await_room(&shm->writer);
  }
  if (waited && !waits)
    ring_writer_wake(&shm->writer);
  atomic_store_explicit(&shm->look.taken, shm->writer.taken, memory_order_relaxed);
  atomic_store_explicit(&shm->look.is_rung, is_rung, memory_order_relaxed);
  atomic_store_explicit(&shm->look.wants_room, waits, memory_order_relaxed);
  if (shm->writer.offset > RING_HOME)
    shm->roamed_at_ms = clock_coarse_ms();
}

static enum jp_client_status flush(struct client_transport *transport, struct jp_client_error *error)
{
  struct shm_transport *shm = shm_of(transport);
  if (shm->out.failed)
    return client_fail(error, JP_CLIENT_NO_MEMORY, "no memory for the messages to be sent");
  if (shm->sent == shm->out.len)
    return JP_CLIENT_OK;
  fill_ring(shm);
  drop_sent(shm);
  if (shm->writer.is_broken)
    return fail_protocol("a position is wrong", error);
  /* What came before the end is read first. */
  if (shm->is_gone && !shm_look_finds_input(&shm->look))
    return client_fail(error, JP_CLIENT_CLOSED, "the peer has closed the connection");
  return JP_CLIENT_OK;
}

/* ---- reading ---- */

static void publish_taken(struct shm_transport *shm)
{
  if (ring_reader_publish(&shm->reader))
    ring_peer(shm);
}

static enum jp_client_status begin_frame(struct shm_transport *shm, uint32_t kind, size_t length,
                                         struct jp_client_error *error)
{
  if (kind != RING_JSON && kind != RING_JSON_PART && kind != RING_END)
    return fail_protocol("a frame of an unknown kind", error);
  if (kind == RING_END)
    buffer_clear(&shm->message); /* of a message that does not end any more */
  if (length > shm->message_max - shm->message.len)
    return client_fail(error, JP_CLIENT_LIMIT, "an answer is longer than message_max, %zu bytes",
                       shm->message_max);
  shm->kind = kind;
  return JP_CLIENT_OK;
}

/* Copies the bytes of the payload that have come, and takes memory for these alone: the announced length may be a lie. */
static enum jp_client_status copy_payload(struct shm_transport *shm, struct jp_client_error *error)
{
  struct ring_reader *reader = &shm->reader;
  while (reader->left > 0) {
    uint64_t available = ring_reader_available(reader);
    size_t count = reader->left < available ? reader->left : (size_t)available;
    if (count > reader->size / 4) /* the peer goes on writing meanwhile */
      count = reader->size / 4;
    if (count == 0)
      break;
    char *room = buffer_reserve(&shm->message, count);
    if (room == NULL)
      return client_fail(error, JP_CLIENT_NO_MEMORY, "no memory for the message that comes");
    shm->message.len += ring_read(reader, room, count);
    if (reader->position - reader->published >= reader->size / 4)
      publish_taken(shm);
  }
  return JP_CLIENT_OK;
}

static enum jp_client_status end_frame(struct shm_transport *shm, struct transport_listener *listener,
                                       struct jp_client_error *error)
{
  enum { SHOWN_MAX = 500 };
  uint32_t kind = shm->kind;
  shm->kind = 0;
  if (kind == RING_JSON_PART)
    return JP_CLIENT_OK;
  struct text message = shm->message.len == 0 ? TEXT("") : buffer_text(&shm->message);
  enum jp_client_status status;
  if (kind == RING_JSON) {
    shm->unanswered -= shm->unanswered > 0;
    status = listener->message(listener, message, error);
  } else {
    message.len = text_valid_utf8(text_cut(message, SHOWN_MAX));
    status = client_fail(error, JP_CLIENT_CLOSED, "the peer has closed the connection%s%.*s",
                         message.len > 0 ? ": " : "", TEXT_ARGS(message));
  }
  buffer_clear(&shm->message);
  buffer_trim(&shm->message, KEPT_MAX);
  return status;
}

/* Goes on with the frames that were there at the last look. *goes_on: perhaps there is one more. */
static enum jp_client_status take_frame(struct shm_transport *shm, struct transport_listener *listener,
                                        bool *goes_on, struct jp_client_error *error)
{
  uint32_t kind;
  size_t length;
  enum jp_client_status status = JP_CLIENT_OK;
  if (shm->kind == 0) {
    enum ring_found found = ring_read_head(&shm->reader, &kind, &length);
    *goes_on = found == RING_FRAME || found == RING_SKIPPED;
    if (found == RING_BROKEN)
      return fail_protocol("a frame is longer than what was written", error);
    if (found != RING_FRAME)
      return JP_CLIENT_OK;
    status = begin_frame(shm, kind, length, error);
  }
  if (status == JP_CLIENT_OK)
    status = copy_payload(shm, error);
  *goes_on = shm->reader.left == 0;
  return status == JP_CLIENT_OK && *goes_on ? end_frame(shm, listener, error) : status;
}

/* Looks at the ring, and for bells where some may be, or where there is nothing else. False: the peer has
 * closed. */
static bool look_for_input(struct shm_transport *shm)
{
  bool may_have_bells = shm->is_asleep;
  wake(shm);
  bool has_more = ring_reader_poll_within(&shm->reader, TAKEN_AT_ONCE);
  ring_writer_prepare(&shm->writer);
  if (has_more && !may_have_bells)
    return true;
  bool is_open = take_bells(shm);
  (void)ring_reader_poll_within(&shm->reader, TAKEN_AT_ONCE); /* what was written before the end, too */
  return is_open;
}

static enum jp_client_status receive(struct client_transport *transport, struct transport_listener *listener,
                                     struct jp_client_error *error)
{
  struct shm_transport *shm = shm_of(transport);
  bool is_open = look_for_input(shm);
  enum jp_client_status status = JP_CLIENT_OK;
  bool goes_on = true;
  if (shm->reader.is_broken || shm->writer.is_broken)
    return fail_protocol("a position is wrong", error);
  atomic_store_explicit(&shm->look.written, shm->reader.written, memory_order_relaxed);
  while (status == JP_CLIENT_OK && goes_on)
    status = take_frame(shm, listener, &goes_on, error);
  publish_taken(shm);
  if (status == JP_CLIENT_OK && !is_open && !ring_reader_has_more(&shm->reader))
    return client_fail(error, JP_CLIENT_CLOSED, "the peer has closed the connection");
  return status;
}

const struct transport_kind transport_shm = {
    .flushed_after = FLUSHED_AFTER,
    .has_callbacks = true,
    .shows_room_as_input = true,
    .open = open_shm,
    .close = close_shm,
    .descriptor = descriptor_of,
    .wants_to_write = wants_to_write,
    .has_input = has_input,
    .begin = begin_message,
    .end = end_message,
    .take_back = take_back,
    .flush = flush,
    .receive = receive,
    .begin_look = begin_look,
    .look = look,
    .sleep = sleep_on_bells,
};
