#include "net/connection/connection.h"

#include "base/clock.h"
#include "net/connection/connection_duplex.h"
#include "net/connection/connection_table.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
  READ_SIZE = 16 * 1024,
  READ_SIZE_LARGE = 128 * 1024, /* once a message has shown to be a large one */
  LINGER_MS = 2000,
  DRAIN_LINGER_MS = 200 /* when the peer ends: for a client that has all answers, or takes none */
};

void connection_speak(struct connection *connection, const struct connection_protocol *protocol)
{
  connection->protocol = protocol;
  connection->is_midway = false;
  connection->held = 0;
  atomic_store_explicit(&connection->source.lookout, protocol->carrier != NULL ? &connection_lookout : NULL,
                        memory_order_relaxed);
  memset(connection->protocol_state, 0, sizeof connection->protocol_state);
  protocol->begin(connection);
}

size_t connection_unsent_mark(const struct connection *connection)
{
  enum { MARK = 1024 * 1024 };
  size_t quarter = connection->limits->send_buffer_max / 4;
  return quarter < MARK ? quarter : MARK;
}

/* --- owner --- */

void connection_own(struct connection *connection)
{
  connection->state = CONNECTION_OWNED;
  crew_take_awake(connection->table->crew, &connection->source);
  if (connection->is_paused)
    atomic_fetch_sub(&connection->table->paused, 1);
  connection->is_paused = false;
}

/* False if somebody owns it, or if it is closed. An event that comes meanwhile is not lost: its end arms the
 * descriptor again. */
static bool acquire(struct connection *connection, const struct crew_member *member)
{
  pthread_mutex_lock(&connection->lock);
  bool taken = connection->state == CONNECTION_ARMED;
  if (!member->has_found)
    connection->is_armed = false;
  if (taken)
    connection_own(connection);
  pthread_mutex_unlock(&connection->lock);
  return taken;
}

static void borrow_buffers(struct connection *connection, struct crew_member *member)
{
  scratch_lend(&member->scratch, SCRATCH_INPUT, &connection->in);
  scratch_lend(&member->scratch, SCRATCH_MESSAGE, &connection->message);
  scratch_lend(&member->scratch, SCRATCH_OUTPUT, &connection->out);
  const struct connection_protocol *protocol = connection->protocol;
  if (!connection->is_lingering && protocol->borrow != NULL && !protocol->borrow(connection, member))
    connection->is_broken = true;
  connection->is_drained = false;
  connection->has_sent = false;
}

/* The buffer may be much larger than the few bytes that a slow client left in it. */
static void trim_kept(struct buffer *buffer)
{
  enum { SLACK = 4096 };
  if (buffer->len > 0 && buffer->cap / 4 > buffer->len + SLACK / 4)
    buffer_trim(buffer, buffer->len);
}

/* A large buffer may have been reserved ahead, and memory that was never written costs nothing. */
static size_t memory_of(const struct buffer *buffer)
{
  return buffer->cap <= SCRATCH_KEPT_SIZE ? buffer->cap : buffer->len;
}

void connection_count_input(struct connection *connection)
{
  size_t held = connection->held;
  if (connection->in.len > connection->in_used)
    held += memory_of(&connection->in);
  if (connection->message.len > 0)
    held += memory_of(&connection->message);
  if (connection->duplex != NULL)
    held += connection_duplex_held(connection->duplex);
  input_budget_count(connection->table->input, &connection->counted, held);
}

/* Small messages never pause. */
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
  trim_kept(&connection->out);
  if (connection->protocol->give_back != NULL)
    connection->protocol->give_back(connection, member);
  connection_count_input(connection);
}

static void close_now(struct connection *connection, struct crew_member *member)
{
  connection_end_stream(connection);
  if (connection->duplex != NULL)
    connection_duplex_detach(connection);
  connection_close_client(connection, member, NULL);
  discard_input(connection);
  connection->out_sent = connection->out.len = 0;
  return_buffers(connection, member);

  if (connection->protocol->carrier != NULL)
    connection->protocol->carrier->close(connection);
  pthread_mutex_lock(&connection->lock);
  if (connection->fd >= 0)
    close(connection->fd);
  connection->fd = -1;
  connection->state = CONNECTION_FREE;
  atomic_store(connection->deadline_ms, INT64_MAX);
  pthread_mutex_unlock(&connection->lock);
  connection_table_release(connection->table, connection);
}

/* --- bytes --- */

static void send_bytes(struct connection *connection)
{
  while (connection_unsent(connection) > 0 && !connection->is_broken) {
    ssize_t sent = send(connection->fd, connection->out.data + connection->out_sent,
                        connection_unsent(connection), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent > 0) {
      connection->out_sent += (size_t)sent;
      connection->has_sent = true;
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      break;
    } else if (errno != EINTR) {
      connection->is_broken = true;
    }
  }
}

void connection_flush(struct connection *connection)
{
  if (connection_has_left(connection)) {
    connection->is_broken = true;
    return;
  }
  if (connection->protocol->carrier == NULL)
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

void connection_shut_down(struct connection *connection)
{
  shutdown(connection->fd, SHUT_RDWR);
}

/* True if something new came: bytes, or the end. */
static bool receive_bytes(struct connection *connection)
{
  if (connection->is_drained || connection->at_end)
    return false;
  size_t room = connection->message.len >= READ_SIZE ? READ_SIZE_LARGE : READ_SIZE;
  if (connection->in_used > 0) {
    buffer_consume(&connection->in, connection->in_used);
    connection->in_used = 0;
  }
  char *into = buffer_reserve(&connection->in, room);
  if (into == NULL) {
    connection->is_broken = true;
    return false;
  }
  ssize_t count;
  do
    count = recv(connection->fd, into, room, MSG_DONTWAIT);
  while (count < 0 && errno == EINTR);
  connection->is_drained = count < (ssize_t)room;
  connection->since_ms = 0;
  if (count > 0) {
    connection->in.len += (size_t)count;
    return true;
  }
  if (count == 0)
    connection->at_end = true;
  else if (errno != EAGAIN && errno != EWOULDBLOCK)
    connection->is_broken = true;
  return false;
}

/* A connection that lingers reads its socket, also where its messages travel elsewhere, and drops the input. */
bool connection_receive(struct connection *connection)
{
  const struct connection_carrier *carrier = connection->protocol->carrier;
  return carrier == NULL || connection->is_lingering ? receive_bytes(connection)
                                                     : carrier->receive(connection);
}

/* --- a turn --- */

/* Closing with unread input would send a reset, which may take away bytes that the client has not read yet
 * (RFC 9112, 9.6). */
static enum step drop_input(struct connection *connection, struct crew_member *member)
{
  const struct connection_protocol *protocol = connection->protocol;
  bool sends_no_more =
      connection->at_end || (protocol->is_answered != NULL && protocol->is_answered(connection, member));
  connection->in_used = connection->in.len;
  if (sends_no_more && connection_unsent(connection) == 0)
    return STEP_DROPS;
  return STEP_NEEDS_INPUT;
}

/* Its socket is always armed. Input that is to be dropped has to be read, or its event would come back at once. */
static bool must_read_on(const struct connection *connection)
{
  return connection->is_lingering && connection->protocol->carrier != NULL;
}

static enum step next_step(struct connection *connection, struct crew_member *member)
{
  if (connection->is_broken)
    return STEP_DROPS;
  if (connection->duplex != NULL)
    connection_duplex_catch_up(connection, member);
  if (connection->duplex != NULL && connection_duplex_is_over(connection))
    connection_duplex_detach(connection);
  if (connection_unsent(connection) > connection_unsent_mark(connection))
    connection_flush(connection);
  if (connection_unsent(connection) > connection_unsent_mark(connection) && !must_read_on(connection))
    return STEP_BLOCKED;
  if (connection->stream != NULL)
    return connection_pump(connection, member);
  if (connection->is_lingering)
    return drop_input(connection, member);
  enum step last;
  if (connection->duplex != NULL && !connection_duplex_next(connection) &&
      connection_duplex_end_turn(connection, member, &last))
    return last;
  return connection->protocol->step(connection, member);
}

/* True if a turn that is over must end. If nobody else waits, the next one begins. Answers are sent first if
 * there is more to do, so that the client can go on meanwhile, or if they have waited long enough. */
static bool must_end_turn(struct connection *connection, struct crew_member *member, struct crew_turn *turn)
{
  if (crew_is_wanted(member, turn))
    return true;
  bool is_late = crew_turn_renew(turn);
  if (!is_late && connection_input(connection).len == 0)
    return false;
  connection_flush(connection);
  connection->is_drained = false;
  return connection_unsent(connection) > 0 || connection->is_broken;
}

/* STEP_SERVED if there is more to do without new input. The protocol may hold whole messages. */
static enum step step_after_turn(const struct connection *connection)
{
  bool has_more = !connection->is_drained || connection->at_end || connection->has_message ||
                  connection->stream != NULL || connection_input(connection).len > 0 ||
                  connection->held > 0 ||
                  (connection->duplex != NULL && connection_duplex_has_more(connection));
  return has_more ? STEP_SERVED : STEP_NEEDS_INPUT;
}

static bool look_for_more(struct crew_source *source)
{
  struct connection *connection = (struct connection *)(void *)source;
  connection->is_drained = false;
  return connection_receive(connection) || connection->at_end || connection->is_broken ||
         (connection->duplex != NULL && connection_duplex_has_more(connection));
}

/* True if the client that was just answered has sent more. A client that sends a message in small pieces is
 * waited for once at most, and only if the protocol says that the rest comes at once: deadlines count between
 * turns only. */
static bool stay_for_more(struct connection *connection, struct crew_member *member)
{
  bool has_begun = connection_has_begun(connection);
  if (connection->is_lingering || connection->at_end || (has_begun && !connection->protocol->waits_for_rest))
    return false;
  connection_flush(connection);
  bool found = connection->has_sent && connection_unsent(connection) == 0 && !connection->is_broken &&
               crew_stay(member, &connection->source, look_for_more);
  if (found && has_begun)
    connection->has_sent = false;
  return found;
}

/* Gives the time, too, which a member that has stayed knows already. */
static bool find_more(struct connection *connection, struct crew_member *member, int64_t *now_ns)
{
  if (connection_receive(connection)) {
    *now_ns = clock_now_ns();
    return true;
  }
  bool found = stay_for_more(connection, member);
  *now_ns = member->looked_ns;
  return found;
}

static enum step run_turn(struct connection *connection, struct crew_member *member)
{
  struct crew_turn turn;
  int64_t now_ns;
  crew_turn_begin(&turn);
  for (;;) {
    enum step step = next_step(connection, member);
    switch (step) {
    case STEP_AGAIN:
      break;
    case STEP_SERVED:
      if (crew_turn_is_over(&turn) && must_end_turn(connection, member, &turn))
        return step_after_turn(connection);
      break;
    case STEP_NEEDS_INPUT:
      if (connection_must_pause(connection))
        return STEP_PAUSES;
      if (find_more(connection, member, &now_ns)) {
        if (now_ns >= turn.ends_ns && must_end_turn(connection, member, &turn))
          return STEP_SERVED;
      } else if (!connection->is_broken) {
        return connection->at_end && !connection->is_lingering ? STEP_ENDS : STEP_NEEDS_INPUT;
      }
      break;
    default:
      return step;
    }
  }
}

void connection_turn(struct crew_source *source, struct crew_member *member)
{
  struct connection *connection = (struct connection *)(void *)source;
  if (!acquire(connection, member)) {
    connection_duplex_read(connection, member);
    return;
  }
  borrow_buffers(connection, member);
  connection_finish(connection, member, run_turn(connection, member));
}

/* --- the end of a turn --- */

static int64_t reading_deadline(struct connection *connection, int64_t now)
{
  if (connection->is_lingering)
    return connection->linger_end_ms;
  bool has_begun = connection_has_begun(connection);
  if (has_begun && connection->began_ms == 0)
    connection->began_ms = now;
  return connection->protocol->deadline(connection, has_begun, now);
}

/* *reading_ms: the same, not counting output that the client does not take. */
static int64_t next_deadline(struct connection *connection, enum step last, int64_t *reading_ms)
{
  int64_t now = clock_now_ms();
  bool writes = last != STEP_WAITS && connection_waits_for_room(connection, last);
  bool reads = last == STEP_NEEDS_INPUT || last == STEP_PAUSES || last == STEP_ENDS;
  if (!writes)
    connection->stalled_ms = 0;
  else if (connection->stalled_ms == 0 || connection->has_sent || last == STEP_SERVED)
    connection->stalled_ms = now;
  bool is_last = connection->is_lingering && atomic_load(&connection->table->is_draining);
  int64_t patience = is_last ? DRAIN_LINGER_MS : connection->limits->body_timeout_ms;
  int64_t stall = writes ? connection->stalled_ms + patience : INT64_MAX;
  *reading_ms = reads ? reading_deadline(connection, now) : INT64_MAX;
  return *reading_ms < stall ? *reading_ms : stall;
}

static void begin_linger(struct connection *connection)
{
  int64_t now = clock_now_ms();
  if (!connection->is_lingering) {
    connection->is_lingering = true;
    connection->linger_end_ms = now + LINGER_MS;
  }
  if (connection_unsent(connection) == 0 && !connection->has_said_all) {
    connection->has_said_all = true;
    shutdown(connection->fd, SHUT_WR);
  }
  /* An idle client may not read for hours. */
  if (connection->has_said_all && atomic_load(&connection->table->is_draining) &&
      connection->linger_end_ms > now + DRAIN_LINGER_MS)
    connection->linger_end_ms = now + DRAIN_LINGER_MS;
}

/* Called before the connection's last words, or before messages that were pushed, are sent. */
static void settle_duplex(struct connection *connection, enum step last)
{
  if (last == STEP_ENDS || last == STEP_DROPS || connection->is_lingering)
    connection_duplex_close(connection);
  else
    connection_duplex_settle_output(connection);
}

void connection_finish(struct connection *connection, struct crew_member *member, enum step last)
{
  struct connection_duplex *duplex = connection->duplex;
  if (duplex != NULL)
    settle_duplex(connection, last);
  connection_flush(connection);
  if (connection->out.failed)
    connection->is_broken = true;
  if (last == STEP_ENDS || connection->is_lingering)
    begin_linger(connection);
  bool over = connection->at_end && connection->is_lingering && connection_unsent(connection) == 0;
  if (last == STEP_DROPS || connection->is_broken || over) {
    close_now(connection, member);
    return;
  }
  return_buffers(connection, member);
  int64_t reading_ms;
  int64_t deadline = next_deadline(connection, last, &reading_ms);

  struct crew *crew = connection->table->crew;
  pthread_mutex_lock(&connection->lock);
  connection->state = CONNECTION_ARMED;
  atomic_store_explicit(connection->deadline_ms, deadline, memory_order_relaxed);
  if (duplex != NULL)
    connection_duplex_before_arming(connection, reading_ms);
  bool is_ready;
  enum jp_status status = connection_arm(connection, last, &is_ready);
  if (status != JP_OK)
    connection_own(connection);
  else if (last == STEP_PAUSES && !is_ready)
    connection_note_paused(connection);
  pthread_mutex_unlock(&connection->lock);
  if (status != JP_OK)
    close_now(connection, member);
  else if (is_ready)
    crew_submit(crew, &connection->source);
}

void connection_expire(struct connection *connection, struct crew_member *watcher)
{
  int64_t now = clock_now_ms();
  enum step step = STEP_ENDS;
  bool stalled =
      connection->stalled_ms != 0 && now >= connection->stalled_ms + connection->limits->body_timeout_ms;
  if (stalled || connection->stream != NULL || connection->is_lingering)
    step = STEP_DROPS;
  else if (connection_rest(connection))
    step = STEP_NEEDS_INPUT;
  else
    connection->protocol->expire(connection);
  connection_finish(connection, watcher, step);
}

void connection_cut(struct connection *connection, struct crew_member *watcher)
{
  static const char reason[] = "too much input is under way (input-max-total): try again later";
  enum step step = STEP_ENDS;
  if (connection->stream != NULL)
    step = STEP_DROPS;
  else
    connection->protocol->cut(connection, reason, &watcher->scratch.buffers[SCRATCH_ANSWER]);
  discard_input(connection);
  connection_finish(connection, watcher, step);
}

/* --- the end of all --- */

void connection_say_goodbye(struct connection *connection, struct crew_member *watcher)
{
  borrow_buffers(connection, watcher);
  enum step step = connection->is_lingering ? STEP_NEEDS_INPUT : run_turn(connection, watcher);
  if (step == STEP_PAUSES)
    step = STEP_NEEDS_INPUT; /* its message will not be served */
  bool is_quiet = !connection->has_sent && connection_unsent(connection) == 0;
  if (step == STEP_NEEDS_INPUT && !connection->is_lingering)
    step = connection->protocol->say_goodbye(connection, is_quiet);
  connection_finish(connection, watcher, step);
}

void connection_seize(struct connection *connection, struct crew_member *watcher)
{
  const struct rpc_service *service = connection_service(connection);
  struct buffer *answer = &watcher->scratch.buffers[SCRATCH_ANSWER];
  buffer_clear(answer);
  connection->seized = true;
  if (connection->duplex != NULL)
    connection->duplex->is_closed = true;
  enum rpc_served served =
      connection_codec(connection)
          ->refuse(service->context, connection_message_in_hand(connection), CREW_SHUTTING_DOWN, answer);
  connection->protocol->write_last_reply(connection, served, buffer_text(answer));
  connection_flush(connection);
  if (connection_unsent(connection) == 0)
    shutdown(connection->fd, SHUT_WR);
}
