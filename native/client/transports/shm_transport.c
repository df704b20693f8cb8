/*
 * Shared memory (docs/shared-memory.md): messages as frames in two rings (ring/ring.h). The socket of the
 * handshake carries notifications (bytes without a meaning) and shows the end of the peer.
 *
 * While this side sleeps, the peer must notify it: `sleep` announces that, and polling or reading revokes it.
 * Nothing that the peer writes is trusted: the ring checks positions and heads, and a message is copied
 * before it is parsed.
 */
#include "base/clock.h"
#include "client/messages/client_error.h"
#include "client/transports/client_handshake.h"
#include "client/transports/shm_poller.h"
#include "client/transports/transport.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

/* KEPT_MAX: the memory that a buffer keeps from one message to the next. HIGH_KEPT_MS: how long the high
 * pages of the ring are kept after their last use. */
enum { KEPT_MAX = 1024 * 1024, HIGH_KEPT_MS = 100 };

/* FLUSHED_AFTER: after so many messages the ring is flushed, so that the peer serves them while completions
 * send more. PIECE: the peer copies a piece of this size while the next piece is written. */
enum { FLUSHED_AFTER = 8, PIECE = 64 * 1024 };

/* Bytes that are read before a thread runs the calls and completions in them; the ring may contain thousands
 * more. */
enum { HANDLED_AT_ONCE = 64 * 1024 };

struct shm_transport {
  struct client_transport transport;
  int fd; /* the socket */
  struct ring_region region;
  struct ring_writer writer;
  struct ring_reader reader;
  struct shm_poller poller;
  size_t message_max;

  struct buffer out;       /* frames */
  size_t begin;            /* of the frame that is being written */
  size_t sent;             /* bytes of `out` that were copied into the ring */
  uint64_t notified_at;    /* the writer's position at the last notification of the peer */
  int64_t high_used_at_ms; /* when the ring's high pages were last used */
  int64_t released_at_ms;  /* when they were last released */
  uint64_t unanswered;     /* requests in flight; the number is too low if the peer has sent requests */

  struct buffer message; /* the message that is being read */
  uint32_t kind;         /* of the frame that is being read; 0: none is */
  bool is_asleep;        /* this side sleeps, and the peer must notify it */
  bool has_ended;        /* the peer cannot be notified any more */
};

static struct shm_transport *shm_of(struct client_transport *transport)
{
  return (struct shm_transport *)transport;
}

/* ---- opening and closing ---- */

static void destroy_shm(struct shm_transport *shm)
{
  ring_region_unmap(&shm->region);
  buffer_fini(&shm->out);
  buffer_fini(&shm->message);
  if (shm->fd >= 0)
    close(shm->fd);
  free(shm);
}

static enum jp_client_status connect_memory(struct shm_transport *shm, const struct client_url *url,
                                            const struct transport_options *options, int64_t deadline_ns,
                                            enum shm_refusal *refusal, struct jp_client_error *error)
{
  struct client_stream stream;
  client_stream_init(&stream);
  *refusal = SHM_NOT_REFUSED;
  enum jp_client_status status =
      client_stream_connect(&stream, url, options->credentials, deadline_ns, error);
  if (status == JP_CLIENT_OK) {
    status =
        shm_shake_hands(&stream, url, options, deadline_ns, &shm->region, &shm->transport, refusal, error);
    if (status != JP_CLIENT_OK)
      client_error_prefix(error, "%.*s: ", TEXT_ARGS(url->whole));
  }
  if (status == JP_CLIENT_OK) {
    shm->fd = stream.fd;
    stream.fd = -1;
    ring_region_open_client(&shm->region, &shm->writer, &shm->reader);
    shm_poller_init(&shm->poller, shm->reader.mine, shm->reader.other);
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
  enum jp_client_status status = connect_memory(shm, url, options, deadline_ns, &refusal, error);
  if (status == JP_CLIENT_OK) {
    *transport = &shm->transport;
    return JP_CLIENT_OK;
  }
  destroy_shm(shm);
  if (refusal == SHM_UNAVAILABLE || (refusal == SHM_REFUSED && options->memory_is_optional))
    return open_websocket(url, options, deadline_ns, transport, error);
  return status;
}

/* The peer notices that the socket was closed. It first serves the messages in the ring. */
static void close_shm(struct client_transport *transport)
{
  destroy_shm(shm_of(transport));
}

/* ---- notifications ---- */

static int descriptor_of(const struct client_transport *transport)
{
  return ((const struct shm_transport *)transport)->fd;
}

/* If the socket is full, the peer has unread notifications, and needs no further one. */
static void notify_peer(struct shm_transport *shm)
{
  shm->notified_at = shm->writer.position;
  if (send(shm->fd, "", 1, MSG_DONTWAIT | MSG_NOSIGNAL) < 0 && errno != EAGAIN && errno != EINTR)
    shm->has_ended = true;
}

/* Reads the peer's notifications. The number of reads is bounded, because a peer can notify as fast as this
 * loop reads. False: the peer has closed the socket. */
static bool drain_notifications(const struct shm_transport *shm)
{
  enum { READS_MAX = 4 };
  char bytes[256];
  for (int i = 0; i < READS_MAX; i++) {
    ssize_t count = recv(shm->fd, bytes, sizeof bytes, MSG_DONTWAIT);
    if (count == 0 || (count < 0 && errno != EAGAIN && errno != EINTR))
      return false;
    if (count < (ssize_t)sizeof bytes)
      break;
  }
  return true;
}

static void end_sleep(struct shm_transport *shm)
{
  if (shm->is_asleep)
    ring_reader_wake(&shm->reader);
  shm->is_asleep = false;
}

static bool begin_busy_poll(struct client_transport *transport)
{
  struct shm_transport *shm = shm_of(transport);
  if (!shm_poller_begin(&shm->poller))
    return false;
  end_sleep(shm);
  return true;
}

static bool busy_poll(struct client_transport *transport)
{
  return shm_poller_wait(&shm_of(transport)->poller);
}

static bool has_input(struct client_transport *transport)
{
  const struct shm_transport *shm = shm_of(transport);
  return !shm->is_asleep && shm_poller_has_input(&shm->poller);
}

/* Between large messages in quick succession the pages are kept. If no answer is expected, this side may not sleep
 * again, so the memory is released at once, but at most every HIGH_KEPT_MS. */
static void release_memory(struct shm_transport *shm)
{
  if (!ring_writer_has_pages_to_release(&shm->writer))
    return;
  int64_t now_ms = clock_coarse_ms();
  bool may_be_last = shm->unanswered == 0 && now_ms - shm->released_at_ms >= HIGH_KEPT_MS;
  if (!may_be_last && now_ms - shm->high_used_at_ms < HIGH_KEPT_MS)
    return;
  if (ring_writer_release_pages(
          &shm->writer)) /* false: the peer has not read everything; tried again later */
    shm->released_at_ms = now_ms;
}

static bool begin_sleep(struct client_transport *transport)
{
  struct shm_transport *shm = shm_of(transport);
  if (shm->is_asleep)
    return false;
  shm->is_asleep = ring_reader_sleep(&shm->reader);
  if (!shm->is_asleep)
    return true;
  /* The peer's thread that polls this ring may be busy with another ring's request, although it claims to
   * poll. Notify it once, so that another of the peer's threads serves the ring. */
  if (!ring_writer_is_empty(&shm->writer) && shm->notified_at != shm->writer.position)
    notify_peer(shm);
  release_memory(shm);
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

static void discard_message(struct client_transport *transport)
{
  struct shm_transport *shm = shm_of(transport);
  buffer_truncate(&shm->out, shm->begin < shm->out.len ? shm->begin : shm->out.len);
  shm->out.failed = false; /* earlier messages are complete */
}

/* Moves the unsent bytes only if they are fewer than the sent bytes, so that moving is cheap. */
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

/* Copies as much as fits into the ring. If bytes remain, the peer notifies this side when there is room. */
static void fill_ring(struct shm_transport *shm)
{
  bool waited = atomic_load_explicit(&shm->poller.wants_room, memory_order_relaxed);
  bool waits = false;
  bool is_notified = false;
  while (!waits && !shm->writer.is_broken && shm->sent < shm->out.len) {
    size_t left = shm->out.len - shm->sent;
    size_t wanted = left < PIECE ? left : PIECE;
    size_t count = ring_write(&shm->writer, shm->out.data + shm->sent, wanted);
    shm->sent += count;
    if (ring_writer_publish(&shm->writer)) {
      notify_peer(shm);
      is_notified = true;
    }
    waits = count < wanted && ring_writer_await_room(&shm->writer);
  }
  if (waited && !waits)
    ring_writer_wake(&shm->writer);
  atomic_store_explicit(&shm->poller.taken, shm->writer.taken, memory_order_relaxed);
  atomic_store_explicit(&shm->poller.is_notified, is_notified, memory_order_relaxed);
  atomic_store_explicit(&shm->poller.wants_room, waits, memory_order_relaxed);
  if (shm->writer.offset > RING_HOME)
    shm->high_used_at_ms = clock_coarse_ms();
}

static enum jp_client_status flush_output(struct client_transport *transport, struct jp_client_error *error)
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
  /* Input that arrived before the end is read first. */
  if (shm->has_ended && !shm_poller_has_input(&shm->poller))
    return client_fail(error, JP_CLIENT_CLOSED, "the peer has closed the connection");
  return JP_CLIENT_OK;
}

/* ---- reading ---- */

static void publish_read(struct shm_transport *shm)
{
  if (ring_reader_publish(&shm->reader))
    notify_peer(shm);
}

static enum jp_client_status begin_frame(struct shm_transport *shm, uint32_t kind, size_t length,
                                         struct jp_client_error *error)
{
  if (kind != RING_JSON && kind != RING_JSON_PART && kind != RING_END)
    return fail_protocol("a frame of an unknown kind", error);
  if (kind == RING_END)
    buffer_clear(&shm->message); /* drops a message that will not be completed */
  if (length > shm->message_max - shm->message.len)
    return client_fail(error, JP_CLIENT_LIMIT, "an answer is longer than message_max, %zu bytes",
                       shm->message_max);
  shm->kind = kind;
  return JP_CLIENT_OK;
}

/* Copies the bytes of the payload that have arrived. Allocates only for these, because the announced length
 * may be false. */
static enum jp_client_status copy_payload(struct shm_transport *shm, struct jp_client_error *error)
{
  struct ring_reader *reader = &shm->reader;
  while (reader->left > 0) {
    uint64_t available = ring_reader_available(reader);
    size_t count = reader->left < available ? reader->left : (size_t)available;
    if (count > reader->size / 4) /* the peer writes on during the copy */
      count = reader->size / 4;
    if (count == 0)
      break;
    char *room = buffer_reserve(&shm->message, count);
    if (room == NULL)
      return client_fail(error, JP_CLIENT_NO_MEMORY, "no memory for a received message");
    shm->message.len += ring_read(reader, room, count);
    if (reader->position - reader->published >= reader->size / 4)
      publish_read(shm);
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

/* Reads the next frame of those that the last poll found. *has_more: there may be another frame. */
static enum jp_client_status read_frame(struct shm_transport *shm, struct transport_listener *listener,
                                        bool *has_more, struct jp_client_error *error)
{
  uint32_t kind;
  size_t length;
  enum jp_client_status status = JP_CLIENT_OK;
  if (shm->kind == 0) {
    enum ring_found found = ring_read_head(&shm->reader, &kind, &length);
    *has_more = found == RING_FRAME || found == RING_SKIPPED;
    if (found == RING_BROKEN)
      return fail_protocol("a frame is longer than what was written", error);
    if (found != RING_FRAME)
      return JP_CLIENT_OK;
    status = begin_frame(shm, kind, length, error);
  }
  if (status == JP_CLIENT_OK)
    status = copy_payload(shm, error);
  *has_more = shm->reader.left == 0;
  return status == JP_CLIENT_OK && *has_more ? end_frame(shm, listener, error) : status;
}

/* Polls the ring. Reads notifications only if there may be some, or if the ring is empty. False: the peer has
 * closed the connection. */
static bool poll_input(struct shm_transport *shm)
{
  bool may_have_notifications = shm->is_asleep;
  end_sleep(shm);
  bool has_frames = ring_reader_poll_within(&shm->reader, HANDLED_AT_ONCE);
  ring_writer_prepare(&shm->writer);
  if (has_frames && !may_have_notifications)
    return true;
  bool is_open = drain_notifications(shm);
  (void)ring_reader_poll_within(&shm->reader,
                                HANDLED_AT_ONCE); /* so that bytes which the peer wrote before the end are
                                                   * found */
  return is_open;
}

static enum jp_client_status receive_input(struct client_transport *transport,
                                           struct transport_listener *listener, struct jp_client_error *error)
{
  struct shm_transport *shm = shm_of(transport);
  bool is_open = poll_input(shm);
  enum jp_client_status status = JP_CLIENT_OK;
  bool has_more = true;
  if (shm->reader.is_broken || shm->writer.is_broken)
    return fail_protocol("a position is wrong", error);
  atomic_store_explicit(&shm->poller.written, shm->reader.written, memory_order_relaxed);
  while (status == JP_CLIENT_OK && has_more)
    status = read_frame(shm, listener, &has_more, error);
  publish_read(shm);
  if (status == JP_CLIENT_OK && !is_open && !ring_reader_has_more(&shm->reader))
    return client_fail(error, JP_CLIENT_CLOSED, "the peer has closed the connection");
  return status;
}

const struct transport_kind transport_shm = {
    .flushed_after = FLUSHED_AFTER,
    .has_callbacks = true,
    .has_fields = true,
    .obeys_cancel = true,
    .shows_room_as_input = true,
    .open = open_shm,
    .close = close_shm,
    .descriptor = descriptor_of,
    .wants_to_write = wants_to_write,
    .has_input = has_input,
    .begin = begin_message,
    .end = end_message,
    .discard = discard_message,
    .flush = flush_output,
    .receive = receive_input,
    .begin_busy_poll = begin_busy_poll,
    .busy_poll = busy_poll,
    .sleep = begin_sleep,
};
