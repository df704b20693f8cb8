#include "net/shm/shm_protocol.h"

#include "audit/audit.h"
#include "net/connection/connection.h"
#include "net/connection/long_message.h"
#include "ring/region.h"
#include "ring/ring.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
  /* Bytes of a message that are read before the bound on all input is checked again. */
  CHUNK_SIZE = 128 * 1024,
  /* unpublished answers of this many bytes are published, even if further requests are waiting */
  PUBLISH_SIZE = 1024,
  /* the position of the reader is published at the latest after a quarter of the ring was read */
  READ_SHARE = 4
};

/* The state of a connection. connection->is_midway means that the head of a message was read, and its payload
 * was not completely read. */
struct shm_state {
  struct shm_pool *pool;
  struct ring_region region;
  struct ring_writer out;  /* belongs to the output side (net/connection/connection_duplex.h) */
  struct ring_reader in;   /* belongs to the input side, like the members below */
  uint64_t limit;          /* `step` may read up to this position until `receive` is called again */
  int published_processor; /* the processor that was last published to the client; -1: no processor yet */
  bool has_partial_head;   /* the unread bytes of the ring are less than a head */
  bool is_too_long;        /* only the beginning of the message that is being received is kept */
  bool is_asleep;          /* the ring is not polled: the client has to notify the peer */
  bool has_released;       /* all memory was released, and no message was served since then */
};

_Static_assert(sizeof(struct shm_state) <= CONNECTION_PROTOCOL_STATE,
               "a connection has no room for shared memory");

static struct shm_state *state_of(struct connection *connection)
{
  return (struct shm_state *)(void *)connection->protocol_state;
}

/* --- the carrier --- */

/* If the socket is full, the client has unread notifications already, so none is missing. Other errors are
 * found by the next read. */
static void notify_client(const struct connection *connection)
{
  static const char notification = 0;
  ssize_t sent = send(connection->fd, &notification, sizeof notification, MSG_NOSIGNAL | MSG_DONTWAIT);
  (void)sent;
}

/* ring_notifier; context is the connection. */
static void notify_by_socket(void *context)
{
  notify_client(context);
}

static void publish_read(struct connection *connection)
{
  if (ring_reader_publish(&state_of(connection)->in))
    notify_client(connection);
}

static bool receive_frames(struct connection *connection)
{
  struct shm_state *state = state_of(connection);
  publish_read(connection);
  if (ring_reader_poll(&state->in)) {
    state->has_partial_head = false;
    ring_writer_prepare(&state->out);
  }
  uint64_t available = ring_reader_available(&state->in);
  bool has_some = (available > 0 && !state->has_partial_head) || state->in.is_broken;
  state->limit = state->in.position + (available < CHUNK_SIZE ? available : CHUNK_SIZE);
  connection_note_input(connection, has_some ? CONNECTION_INPUT_OPEN : CONNECTION_INPUT_DRAINED);
  connection->since_ms = 0;
  return has_some;
}

static bool has_unconsumed(const struct connection *connection)
{
  const struct shm_state *state = (const struct shm_state *)(const void *)connection->protocol_state;
  return ring_reader_available(&state->in) > 0 && !state->has_partial_head;
}

static void publish_written(struct connection *connection)
{
  if (connection->unpublished > 0 && !connection_settle_audit(connection))
    return;
  connection->unpublished = 0;
  if (ring_writer_publish(&state_of(connection)->out))
    notify_client(connection);
}

static void flush_frames(struct connection *connection)
{
  struct shm_state *state = state_of(connection);
  size_t count;
  do {
    size_t unsent = connection_unsent(connection);
    count = 0;
    if (unsent > 0)
      count = ring_write(&state->out, connection->out.data + connection->out_sent,
                         unsent < RING_PIECE ? unsent : RING_PIECE);
    connection->out_sent += count;
    connection->has_sent |= count > 0;
    publish_written(connection);
  } while (count == RING_PIECE);
  /* A client that has closed its socket reads no more. */
  if (state->out.is_broken || (connection_unsent(connection) > 0 && connection_is_at_end(connection)))
    connection_break(connection);
}

static bool begin_sleep(struct connection *connection, bool for_input, bool for_room)
{
  struct shm_state *state = state_of(connection);
  publish_read(connection);
  if (for_room && !ring_writer_await_room(&state->out))
    return false;
  state->is_asleep = !for_input || ring_reader_sleep(&state->in);
  if (!state->is_asleep)
    ring_writer_wake(&state->out);
  return state->is_asleep;
}

static bool poll_client(struct connection *connection)
{
  return ring_reader_has_more(&state_of(connection)->in);
}

/* The processor is written only if it has changed, because each write costs the client a cache miss. */
static int exchange_processors(struct connection *connection, int processor)
{
  struct shm_state *state = state_of(connection);
  if (processor != state->published_processor)
    ring_publish_processor(state->in.mine, processor);
  state->published_processor = processor;
  return ring_processor_of(state->in.other);
}

static bool release_idle_memory(struct connection *connection)
{
  struct shm_state *state = state_of(connection);
  if (state->has_partial_head)
    return false; /* a message has begun, so the connection was not idle */
  /* has_released remains false if the client has not read all answers yet. */
  state->has_released = ring_writer_release_pages(&state->out);
  return true;
}

/* Unmaps the memory. Before that, releases the pages whose answers the client has read, because the client
 * may keep the memory mapped. */
static void close_region(struct connection *connection)
{
  struct shm_state *state = state_of(connection);
  if (state->region.control == NULL)
    return;
  if (ring_writer_has_pages_to_release(&state->out))
    ring_writer_release_pages(&state->out);
  size_t size = ring_region_size(state->region.ring_size);
  ring_region_unmap(&state->region);
  atomic_fetch_sub(&state->pool->total, size);
}

/* Consumes the notifications on the socket. A turn that reads no messages, because the client must read its
 * answers first, also consumes them: otherwise the event of the socket would be delivered again at once. */
static bool consume_notifications(struct connection *connection, struct crew_member *member)
{
  struct shm_state *state = state_of(connection);
  if (state->is_asleep) {
    ring_reader_wake(&state->in);
    ring_writer_wake(&state->out);
  }
  state->is_asleep = false;
  if (member->has_found || connection_is_at_end(connection))
    return true;
  /* The rest of a flood of notifications is consumed by later turns. A client that closes the socket with unread
   * notifications of the peer resets the connection, which is handled as its end. */
  char notifications[1024];
  ssize_t count;
  do
    count = recv(connection->fd, notifications, sizeof notifications, MSG_DONTWAIT);
  while (count < 0 && errno == EINTR);
  if (count == 0 || (count < 0 && errno != EAGAIN && errno != EWOULDBLOCK))
    connection_set_input(connection, CONNECTION_INPUT_ENDED);
  return true;
}

/* --- messages --- */

static void begin_frames(struct connection *connection)
{
  connection->began_ms = 0;
}

static enum step write_end(struct buffer *out, const char *reason)
{
  ring_append_frame(out, RING_END, text_of(reason));
  return STEP_ENDS;
}

static void write_message(struct buffer *out, struct text message)
{
  ring_append_frame(out, RING_JSON, message);
}

/* Writes the frame into the ring, as far as there is room. Publishing moves a position, and this costs both
 * sides a cache line. For this reason several answers are published together. */
static void write_frame(struct connection *connection, enum ring_kind kind, struct text payload)
{
  struct ring_writer *out = &state_of(connection)->out;
  const struct ring_notifier notifier = {notify_by_socket, connection};
  if (connection_unsent(connection) > 0) {
    ring_append_frame(&connection->out, kind, payload);
    return;
  }
  uint64_t before = out->position;
  ring_write_frame(out, kind, payload, &notifier, &connection->out);
  connection->has_sent |= out->position != before;
  connection->unpublished = (size_t)(out->position - out->published);
}

static enum step write_part(struct connection *connection, struct text part, bool is_last)
{
  write_frame(connection, is_last ? RING_JSON : RING_JSON_PART, part);
  if (connection->unpublished >= PUBLISH_SIZE)
    publish_written(connection);
  return STEP_SERVED;
}

static void write_answer(struct connection *connection, struct text answer, bool is_whole)
{
  const struct ring_reader *in = &state_of(connection)->in;
  if (!is_whole) {
    write_part(connection, answer, false);
    return;
  }
  write_frame(connection, RING_JSON, answer);
  if (connection->unpublished + connection_unsent(connection) >= PUBLISH_SIZE)
    connection_flush(connection);
  else if (connection->unpublished > 0 && ring_reader_available(in) == 0 && !ring_reader_has_more(in))
    publish_written(connection); /* the client has sent no further request, so it waits for this answer */
}

static enum step serve_message(struct connection *connection, struct crew_member *member)
{
  struct shm_state *state = state_of(connection);
  if (state->in.position - state->in.published > state->in.size / READ_SHARE)
    publish_read(connection);
  state->has_released = false;
  return connection_serve_frame(connection, member, write_answer);
}

/* A skip frame counts as a message in the turn, so that a client that sends only skip frames does not get
 * longer turns. */
static enum step read_head(struct connection *connection, struct buffer *out)
{
  struct shm_state *state = state_of(connection);
  uint32_t kind;
  size_t length;
  switch (ring_read_head(&state->in, &kind, &length)) {
  case RING_NOTHING:
    state->has_partial_head = true;
    return STEP_NEEDS_INPUT;
  case RING_SKIPPED:
    return STEP_SERVED;
  case RING_FRAME:
    if (kind != RING_JSON)
      return write_end(out, "a frame of a kind that a client does not send");
    if (long_message_judge(length, connection->limits->message_max) == MESSAGE_ENDLESS)
      return write_end(out, "the message is longer than 64 times message-max");
    connection->is_midway = true;
    state->is_too_long = length > connection->limits->message_max;
    return STEP_AGAIN;
  default:
    return write_end(out, "the positions in shared memory are wrong");
  }
}

/* Reads and drops count bytes, or all bytes of the ring if it has fewer. */
static void drop_bytes(struct ring_reader *in, size_t count)
{
  char dropped[4096];
  size_t read = 1;
  while (count > 0 && read > 0) {
    read = ring_read(in, dropped, count < sizeof dropped ? count : sizeof dropped);
    count -= read;
  }
}

/* Reads as many bytes of the message as there are, at most `allowed`. */
static enum step read_payload(struct connection *connection, size_t allowed)
{
  struct shm_state *state = state_of(connection);
  struct buffer *message = &connection->message;
  size_t left = state->in.left;
  size_t count = left < allowed ? left : allowed;
  size_t kept = state->is_too_long ? long_message_kept(message, left) : left;
  char *into = buffer_reserve(message, kept);
  if (into == NULL)
    return STEP_DROPS;
  message->len += ring_read(&state->in, into, kept < count ? kept : count);
  if (kept < count)
    drop_bytes(&state->in, count - kept);
  if (state->in.left > 0)
    return STEP_NEEDS_INPUT;
  connection->is_midway = false;
  connection->has_message = true;
  connection->is_too_long = state->is_too_long;
  connection_note_input(connection, ring_reader_available(&state->in) == 0 ? CONNECTION_INPUT_DRAINED
                                                                           : CONNECTION_INPUT_OPEN);
  return STEP_SERVED;
}

/* The number of bytes up to the limit. The result is 0, too, if a skip frame has moved the position beyond
 * the limit. */
static size_t count_allowed(const struct shm_state *state)
{
  uint64_t allowed = state->limit - state->in.position;
  return allowed > CHUNK_SIZE ? 0 : (size_t)allowed;
}

static enum step collect_message(struct connection *connection, struct crew_member *member,
                                 struct buffer *out)
{
  (void)member;
  struct shm_state *state = state_of(connection);
  if (state->in.is_broken)
    return write_end(out, "the positions in shared memory are wrong");
  if (!connection->is_midway) {
    enum step step = count_allowed(state) > 0 ? read_head(connection, out) : STEP_NEEDS_INPUT;
    if (step != STEP_AGAIN)
      return step;
  }
  return read_payload(connection, count_allowed(state));
}

static enum step run_step(struct connection *connection, struct crew_member *member)
{
  enum step step =
      connection->has_message ? STEP_SERVED : collect_message(connection, member, &connection->out);
  return connection->has_message ? serve_message(connection, member) : step;
}

/* --- deadlines and ends --- */

/* A partial head also begins a message. */
static int64_t find_deadline(struct connection *connection, bool has_begun, int64_t now_ms)
{
  const struct shm_state *state = state_of(connection);
  if (state->has_partial_head && connection->began_ms == 0)
    connection->began_ms = now_ms;
  if (has_begun || state->has_partial_head)
    return connection->began_ms + connection->limits->body_timeout_ms;
  connection->began_ms = 0;
  return ring_writer_has_pages_to_release(&state->out) && !state->has_released ? now_ms + state->pool->idle_ms
                                                                               : INT64_MAX;
}

static size_t count_bytes_left(const struct connection *connection)
{
  const struct shm_state *state = (const struct shm_state *)(const void *)connection->protocol_state;
  if (!connection->is_midway)
    return SIZE_MAX;
  return state->is_too_long ? LONG_MESSAGE_BEGINNING : state->in.left;
}

static enum step abandon_answer(struct connection *connection)
{
  return write_end(&connection->out, "the answer could not be finished");
}

static void time_out_message(struct connection *connection)
{
  write_end(&connection->out, "the message took too long");
}

static void expel_client(struct connection *connection)
{
  write_end(&connection->out, "the client's principal or evidence is listed no more");
}

static void cut_message(struct connection *connection, const char *reason, struct buffer *answer)
{
  (void)answer;
  write_end(&connection->out, reason);
}

static enum step close_gracefully(struct connection *connection, bool is_quiet)
{
  (void)is_quiet;
  return write_end(&connection->out, CREW_SHUTTING_DOWN);
}

static void write_last_reply(struct connection *connection, enum rpc_served served, struct text reply)
{
  if (served != RPC_NO_REPLY)
    ring_append_frame(&connection->out, RING_JSON, reply);
  write_end(&connection->out, CREW_SHUTTING_DOWN);
}

static const struct connection_carrier carrier = {.receive = receive_frames,
                                                  .has_unconsumed = has_unconsumed,
                                                  .flush = flush_frames,
                                                  .sleep = begin_sleep,
                                                  .poll = poll_client,
                                                  .exchange_processors = exchange_processors,
                                                  .release_idle = release_idle_memory,
                                                  .close = close_region};

static const struct connection_protocol shm_protocol = {.channel = OP_CHANNEL_WEBSOCKET,
                                                        .waits_for_rest = true,
                                                        .carrier = &carrier,
                                                        .begin = begin_frames,
                                                        .borrow = consume_notifications,
                                                        .step = run_step,
                                                        .collect = collect_message,
                                                        .write_message = write_message,
                                                        .deadline = find_deadline,
                                                        .bytes_left = count_bytes_left,
                                                        .write_part = write_part,
                                                        .abandon_answer = abandon_answer,
                                                        .expire = time_out_message,
                                                        .expel = expel_client,
                                                        .cut = cut_message,
                                                        .close_gracefully = close_gracefully,
                                                        .write_last_reply = write_last_reply};

/* --- the upgrade: memory from the pool, and the 101 response that sends it to the client --- */

/* After an error, JP_LIMIT or an error of ring_region_create, nothing is reserved. */
static enum jp_status reserve_region(struct shm_pool *pool, struct ring_region *region, int *fd,
                                     struct jp_error *error)
{
  *region = (struct ring_region){0};
  if (pool->ring_size == 0)
    return jp_fail(error, JP_LIMIT, "shared memory is switched off (shm-ring is 0)");
  size_t size = ring_region_size(pool->ring_size);
  enum jp_status status = JP_OK;
  if (atomic_fetch_add(&pool->total, size) + size > pool->total_max)
    status = jp_fail(error, JP_LIMIT, "the shared memory of all clients is used up (shm-total)");
  else
    status = ring_region_create(pool->ring_size, region, fd, error);
  if (status != JP_OK)
    atomic_fetch_sub(&pool->total, size);
  return status;
}

/* Sends the 101 response with the session's headers. The descriptor of the memory is sent together with the
 * first byte of the response. False: the socket did not accept the whole response. */
static bool send_switch(int socket, int memory, size_t ring_size, const struct rpc_session_info *session)
{
  char head[200];
  bool has_epoch = session->epoch[0] != '\0';
  int length = snprintf(head, sizeof head,
                        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: jpeer-shm/1\r\nConnection: Upgrade\r\n"
                        "jpeer-shm-ring: %zu\r\n%s%s%s\r\n",
                        ring_size, has_epoch ? "jpeer-epoch: " : "", session->epoch, has_epoch ? "\r\n" : "");
  struct iovec bytes = {.iov_base = head, .iov_len = (size_t)length};
  union {
    struct cmsghdr header;
    char room[CMSG_SPACE(sizeof(int))];
  } control = {0};
  struct msghdr message = {
      .msg_iov = &bytes, .msg_iovlen = 1, .msg_control = control.room, .msg_controllen = sizeof control.room};
  struct cmsghdr *descriptor = CMSG_FIRSTHDR(&message);
  descriptor->cmsg_level = SOL_SOCKET;
  descriptor->cmsg_type = SCM_RIGHTS;
  descriptor->cmsg_len = CMSG_LEN(sizeof memory);
  memcpy(CMSG_DATA(descriptor), &memory, sizeof memory);
  ssize_t sent;
  do
    sent = sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
  while (sent < 0 && errno == EINTR);
  return sent == length;
}

static enum jp_status begin_shm(struct connection_upgrade *upgrade, struct connection *connection,
                                struct jp_error *error)
{
  struct shm_pool *pool = (struct shm_pool *)(void *)upgrade;
  struct ring_region region;
  int memory = -1;
  enum jp_status status = reserve_region(pool, &region, &memory, error);
  if (status != JP_OK)
    return status;
  connection_speak(connection, &shm_protocol);
  struct shm_state *state = state_of(connection);
  state->pool = pool;
  state->region = region;
  state->published_processor = -1;
  ring_region_open_peer(&region, &state->out, &state->in);
  struct rpc_session_info session;
  if (!send_switch(connection->fd, memory, pool->ring_size,
                   connection_describe_session(connection, &session)))
    connection_break(connection);
  close(memory);
  connection->has_sent = true;
  return JP_OK;
}

void shm_pool_init(struct shm_pool *pool, size_t ring_size, size_t total_max)
{
  enum { IDLE_MS = 1000 };
  *pool = (struct shm_pool){.upgrade = {.channel = OP_CHANNEL_WEBSOCKET, .begin = begin_shm},
                            .ring_size = ring_size,
                            .total_max = total_max,
                            .idle_ms = IDLE_MS};
}
