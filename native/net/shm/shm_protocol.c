#include "net/shm/shm_protocol.h"

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
  CHUNK_SIZE = 128 * 1024, /* bytes of a message that are read before the bound on all input is asked again */
  SHOW_SIZE = 1024, /* answers are shown when they are so long together, though more requests are there */
  TAKEN_SHARE = 4   /* room is shown at the latest when it is one part in four of the ring */
};

/* Of a connection. connection->is_midway: the head of a message was read, and not all of its payload. */
struct shm_state {
  struct shm_pool *pool;
  struct ring_region region;
  struct ring_writer out; /* belongs to the output: see connection->lock */
  struct ring_reader in;  /* belongs to the input, as do the three below */
  uint64_t limit;         /* up to this position may be taken until `receive` is called again */
  int told_processor;     /* what the client was told; -1: nothing */
  bool is_stuck;          /* the ring has less than a head */
  bool is_too_long;       /* the message under way: its beginning alone is kept */
  bool is_asleep;         /* the client was told that nobody looks */
  bool has_rested;        /* nothing was served since all memory was given back */
};

_Static_assert(sizeof(struct shm_state) <= CONNECTION_PROTOCOL_STATE,
               "a connection has no room for shared memory");

static struct shm_state *state_of(struct connection *connection)
{
  return (struct shm_state *)(void *)connection->protocol_state;
}

/* --- the carrier --- */

/* If the socket is full, the client has bells to hear. Its end is found by reading. */
static void ring_client(const struct connection *connection)
{
  static const char bell = 0;
  ssize_t sent = send(connection->fd, &bell, sizeof bell, MSG_NOSIGNAL | MSG_DONTWAIT);
  (void)sent;
}

/* struct ring_notifier, with a connection */
static void pull_rope(void *context)
{
  ring_client(context);
}

static void show_taken(struct connection *connection)
{
  if (ring_reader_publish(&state_of(connection)->in))
    ring_client(connection);
}

static bool receive_frames(struct connection *connection)
{
  struct shm_state *state = state_of(connection);
  show_taken(connection);
  if (ring_reader_poll(&state->in)) {
    state->is_stuck = false;
    ring_writer_prepare(&state->out);
  }
  uint64_t available = ring_reader_available(&state->in);
  bool has_some = (available > 0 && !state->is_stuck) || state->in.is_broken;
  state->limit = state->in.position + (available < CHUNK_SIZE ? available : CHUNK_SIZE);
  connection_note_input(connection, has_some ? CONNECTION_INPUT_OPEN : CONNECTION_INPUT_DRAINED);
  connection->since_ms = 0;
  return has_some;
}

static bool has_untaken(const struct connection *connection)
{
  const struct shm_state *state = (const struct shm_state *)(const void *)connection->protocol_state;
  return ring_reader_available(&state->in) > 0 && !state->is_stuck;
}

static void show_written(struct connection *connection)
{
  connection->unshown = 0;
  if (ring_writer_publish(&state_of(connection)->out))
    ring_client(connection);
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
    show_written(connection);
  } while (count == RING_PIECE);
  /* A client that has gone takes no more. */
  if (state->out.is_broken || (connection_unsent(connection) > 0 && connection_is_at_end(connection)))
    connection_break(connection);
}

static bool go_to_sleep(struct connection *connection, bool for_input, bool for_room)
{
  struct shm_state *state = state_of(connection);
  show_taken(connection);
  if (for_room && !ring_writer_await_room(&state->out))
    return false;
  state->is_asleep = !for_input || ring_reader_sleep(&state->in);
  if (!state->is_asleep)
    ring_writer_wake(&state->out);
  return state->is_asleep;
}

static bool look_at_client(struct connection *connection)
{
  return ring_reader_has_more(&state_of(connection)->in);
}

/* A word that is written makes the client's processor read its line again. */
static int meet_client(struct connection *connection, int processor)
{
  struct shm_state *state = state_of(connection);
  if (processor != state->told_processor)
    ring_publish_processor(state->in.mine, processor);
  state->told_processor = processor;
  return ring_processor_of(state->in.other);
}

static bool give_memory_back(struct connection *connection)
{
  struct shm_state *state = state_of(connection);
  if (state->is_stuck)
    return false; /* it was not idle: a message has begun */
  /* False: the client has not read all answers yet. */
  state->has_rested = ring_writer_release_pages(&state->out);
  return true;
}

/* A client may keep its map: what it has read counts as the peer's memory no longer. */
static void release_memory(struct connection *connection)
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

/* An event of the socket is heard also by a turn that reads nothing because the client must read first: it would come
 * back at once. */
static bool wake_up(struct connection *connection, struct crew_member *member)
{
  struct shm_state *state = state_of(connection);
  if (state->is_asleep) {
    ring_reader_wake(&state->in);
    ring_writer_wake(&state->out);
  }
  state->is_asleep = false;
  if (member->has_found || connection_is_at_end(connection))
    return true;
  /* A client that floods the socket is heard a little at a time: the socket brings the connection back. A client
   * that closes without having heard all bells resets the connection, which is an end like others. */
  char bells[1024];
  ssize_t count;
  do
    count = recv(connection->fd, bells, sizeof bells, MSG_DONTWAIT);
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

/* Straight into the ring, as far as there is room. To show it moves a position, which costs both sides a line of their
 * caches, so that several answers are shown together. */
static void write_frame(struct connection *connection, enum ring_kind kind, struct text payload)
{
  struct ring_writer *out = &state_of(connection)->out;
  const struct ring_notifier rope = {pull_rope, connection};
  if (connection_unsent(connection) > 0) {
    ring_append_frame(&connection->out, kind, payload);
    return;
  }
  uint64_t before = out->position;
  ring_write_frame(out, kind, payload, &rope, &connection->out);
  connection->has_sent |= out->position != before;
  connection->unshown = (size_t)(out->position - out->published);
}

static enum step write_part(struct connection *connection, struct text part, bool is_last)
{
  write_frame(connection, is_last ? RING_JSON : RING_JSON_PART, part);
  if (connection->unshown >= SHOW_SIZE)
    show_written(connection);
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
  if (connection->unshown + connection_unsent(connection) >= SHOW_SIZE)
    connection_flush(connection);
  else if (connection->unshown > 0 && ring_reader_available(in) == 0 && !ring_reader_has_more(in))
    show_written(connection); /* the client waits for the answer: it has sent nothing more */
}

static enum step serve_message(struct connection *connection, struct crew_member *member)
{
  struct shm_state *state = state_of(connection);
  if (state->in.position - state->in.published > state->in.size / TAKEN_SHARE)
    show_taken(connection);
  state->has_rested = false;
  return connection_serve_frame(connection, member, write_answer);
}

/* A skip frame counts for the turn, so that a client that sends nothing else has no longer ones. */
static enum step read_head(struct connection *connection, struct buffer *out)
{
  struct shm_state *state = state_of(connection);
  uint32_t kind;
  size_t length;
  switch (ring_read_head(&state->in, &kind, &length)) {
  case RING_NOTHING:
    state->is_stuck = true;
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

/* As many of count bytes as there are. */
static void drop_bytes(struct ring_reader *in, size_t count)
{
  char dropped[4096];
  size_t read = 1;
  while (count > 0 && read > 0) {
    read = ring_read(in, dropped, count < sizeof dropped ? count : sizeof dropped);
    count -= read;
  }
}

/* Takes as much of the message as there is, within the limit. */
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

/* 0 also where a skip frame has led beyond the limit. */
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

static enum step take_step(struct connection *connection, struct crew_member *member)
{
  enum step step =
      connection->has_message ? STEP_SERVED : collect_message(connection, member, &connection->out);
  return connection->has_message ? serve_message(connection, member) : step;
}

/* --- what the connection asks for --- */

/* A part of a head has begun a message, too. */
static int64_t find_deadline(struct connection *connection, bool has_begun, int64_t now_ms)
{
  const struct shm_state *state = state_of(connection);
  if (state->is_stuck && connection->began_ms == 0)
    connection->began_ms = now_ms;
  if (has_begun || state->is_stuck)
    return connection->began_ms + connection->limits->body_timeout_ms;
  connection->began_ms = 0;
  return ring_writer_has_pages_to_release(&state->out) && !state->has_rested ? now_ms + state->pool->rest_ms
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

static void cut_message(struct connection *connection, const char *reason, struct buffer *answer)
{
  (void)answer;
  write_end(&connection->out, reason);
}

static enum step say_goodbye(struct connection *connection, bool is_quiet)
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
                                                  .has_untaken = has_untaken,
                                                  .flush = flush_frames,
                                                  .sleep = go_to_sleep,
                                                  .look = look_at_client,
                                                  .meet = meet_client,
                                                  .rest = give_memory_back,
                                                  .close = release_memory};

static const struct connection_protocol shm_protocol = {.channel = OP_CHANNEL_WEBSOCKET,
                                                        .waits_for_rest = true,
                                                        .carrier = &carrier,
                                                        .begin = begin_frames,
                                                        .borrow = wake_up,
                                                        .step = take_step,
                                                        .collect = collect_message,
                                                        .write_message = write_message,
                                                        .deadline = find_deadline,
                                                        .bytes_left = count_bytes_left,
                                                        .write_part = write_part,
                                                        .abandon_answer = abandon_answer,
                                                        .expire = time_out_message,
                                                        .cut = cut_message,
                                                        .say_goodbye = say_goodbye,
                                                        .write_last_reply = write_last_reply};

/* --- the beginning: memory out of the pool, and the 101 that brings it to the client --- */

/* JP_LIMIT or what ring_region_create says: there is no memory for it, and nothing was taken. */
static enum jp_status take_memory(struct shm_pool *pool, struct ring_region *region, int *fd,
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

/* Sends the 101, which says what is told, with the memory on its first byte. False: the client did not take all of it at
 * once. */
static bool send_switch(int socket, int memory, size_t ring_size, const struct rpc_session_info *told)
{
  char head[200];
  bool has_epoch = told->epoch[0] != '\0';
  int length = snprintf(head, sizeof head,
                        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: jpeer-shm/1\r\nConnection: Upgrade\r\n"
                        "jpeer-shm-ring: %zu\r\n%s%s%s\r\n",
                        ring_size, has_epoch ? "jpeer-epoch: " : "", told->epoch, has_epoch ? "\r\n" : "");
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

static enum jp_status take_over(struct connection_upgrade *upgrade, struct connection *connection,
                                struct jp_error *error)
{
  struct shm_pool *pool = (struct shm_pool *)(void *)upgrade;
  struct ring_region region;
  int memory = -1;
  enum jp_status status = take_memory(pool, &region, &memory, error);
  if (status != JP_OK)
    return status;
  connection_speak(connection, &shm_protocol);
  struct shm_state *state = state_of(connection);
  state->pool = pool;
  state->region = region;
  state->told_processor = -1;
  ring_region_open_peer(&region, &state->out, &state->in);
  struct rpc_session_info told;
  if (!send_switch(connection->fd, memory, pool->ring_size, connection_tell_session(connection, &told)))
    connection_break(connection);
  close(memory);
  connection->has_sent = true;
  return JP_OK;
}

void shm_pool_init(struct shm_pool *pool, size_t ring_size, size_t total_max)
{
  enum { REST_MS = 1000 };
  *pool = (struct shm_pool){.upgrade = {.channel = OP_CHANNEL_WEBSOCKET, .begin = take_over},
                            .ring_size = ring_size,
                            .total_max = total_max,
                            .rest_ms = REST_MS};
}
