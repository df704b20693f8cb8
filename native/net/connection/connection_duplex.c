#include "net/connection/connection_duplex.h"

#include "base/clock.h"
#include "net/connection/connection_collect.h"
#include "net/connection/connection_table.h"

#include <poll.h>
#include <stdlib.h>
#include <sys/epoll.h>

enum {
  CATCH_UP_MESSAGES = 64,    /* messages that are collected before the next message is served */
  VAIN_MEMBERS_MAX = 4,      /* so many members may be woken in vain between two checks of the watcher */
  ANSWER_ALWAYS = 16 * 1024, /* an answer of at most this size is accepted until 2 * send_buffer_max bytes are
                              * unsent */
  EVENTS_TOGETHER = 16 * 1024, /* events are held back until they together have this size */
  EVENTS_TOGETHER_NS = 100000  /* but only if the last event was sent less than this time ago */
};

static struct connection *connection_of(struct crew_source *source)
{
  return (struct connection *)(void *)source;
}

/* --- holders --- */

/* Makes a duplex. The connection holds it, and so do the client's callbacks; callbacks may be NULL. Returns
 * NULL if memory is short. */
static struct connection_duplex *make_duplex(struct connection *connection, struct rpc_callbacks *callbacks)
{
  struct connection_duplex *duplex = calloc(1, sizeof *duplex);
  if (duplex == NULL)
    return NULL;
  pthread_mutex_init(&duplex->lock, NULL);
  pthread_cond_init(&duplex->released, NULL);
  duplex->connection = connection;
  atomic_init(&duplex->expires_ms, INT64_MAX);
  atomic_init(&duplex->callbacks, callbacks);
  atomic_init(&duplex->holders, callbacks == NULL ? 1 : 2);
  return duplex;
}

static void release_duplex(struct connection_duplex *duplex)
{
  if (atomic_fetch_sub(&duplex->holders, 1) > 1)
    return;
  pthread_cond_destroy(&duplex->released);
  pthread_mutex_destroy(&duplex->lock);
  free(duplex);
}

static void free_input(struct connection_duplex *duplex)
{
  struct duplex_message *next;
  for (struct duplex_message *message = duplex->first_queued; message != NULL; message = next) {
    next = message->next;
    connection_collect_free(message);
  }
  buffer_fini(&duplex->served);
  buffer_fini(&duplex->ids);
  buffer_fini(&duplex->collected);
  buffer_fini(&duplex->replies);
  buffer_fini(&duplex->final_frames);
  buffer_fini(&duplex->pushed);
}

void connection_duplex_detach(struct connection *connection)
{
  struct connection_duplex *duplex = connection->duplex;
  pthread_mutex_lock(&duplex->lock);
  duplex->connection = NULL;
  pthread_mutex_unlock(&duplex->lock);
  pthread_mutex_lock(&connection->lock);
  connection->duplex = NULL;
  pthread_mutex_unlock(&connection->lock);
  free_input(duplex);
  release_duplex(duplex);
}

void connection_duplex_close(struct connection *connection)
{
  struct connection_duplex *duplex = connection->duplex;
  const struct rpc_service *service = connection_service(connection);
  pthread_mutex_lock(&connection->lock);
  duplex->is_closed = true;
  buffer_fini(&duplex->pushed); /* nothing follows a close frame */
  atomic_store(&duplex->has_pushed, false);
  struct rpc_callbacks *callbacks = duplex->callbacks;
  pthread_mutex_unlock(&connection->lock);
  if (callbacks != NULL)
    service->client_gone(service->context, callbacks, atomic_load(&connection->table->is_draining));
}

/* --- events --- */

/* True if there is input that causes no event. */
static bool has_buffered(const struct connection *connection)
{
  const struct connection_carrier *carrier = connection->protocol->carrier;
  if (duplex_input(connection->duplex) == COLLECTED_ALL)
    return false;
  if (carrier != NULL)
    return carrier->has_unconsumed(connection);
  return connection_input(connection).len > 0 || connection->held > 0 ||
         (connection->tls != NULL && tls_stream_has_pending(connection->tls));
}

/* Arms the connection, or submits it if it has work already. Called under the lock. */
static void watch_duplex(struct connection *connection, bool for_input)
{
  struct connection_duplex *duplex = connection->duplex;
  const struct connection_carrier *carrier = connection->protocol->carrier;
  if (connection_has_left(connection))
    return;
  bool for_room = connection_needs_flush(connection) || atomic_load(&duplex->wants_room);
  bool is_ready = for_input && in_call_is_inside(&connection->in_call) && has_buffered(connection);
  uint32_t events = carrier != NULL ? EPOLLIN : (for_input ? EPOLLIN : 0) | (for_room ? EPOLLOUT : 0);
  if (!is_ready && carrier != NULL)
    is_ready = !carrier->sleep(connection, for_input, for_room);
  if (is_ready)
    crew_submit(connection->table->crew, &connection->source);
  else if (connection_watch(connection, events) != JP_OK)
    atomic_store_explicit(connection->deadline_ms, CONNECTION_FLUSH_SOON, memory_order_relaxed);
}

/* Called in call, under the lock: the thread that gets the next event becomes the reader. */
static void arm_for_others(struct connection *connection, bool for_input)
{
  duplex_set_reader(connection, DUPLEX_ARMED);
  watch_duplex(connection, for_input);
}

/* True if a thread has to read during the call. Under the lock, while nobody reads. */
static bool wants_input(const struct connection_duplex *duplex)
{
  bool reads = atomic_load(&duplex->open_calls) > 0 ||
               (duplex_ahead(duplex) != DUPLEX_AHEAD_WAITS && duplex_input(duplex) != COLLECTED_FULL);
  return reads && !duplex_has_ended(duplex);
}

/* --- output --- */

/* Appends pushed messages to `out`, unless an answer is being streamed. Under the lock. */
static void append_pushed(struct connection *connection)
{
  struct connection_duplex *duplex = connection->duplex;
  if (duplex->pushed.len == 0 || connection->stream != NULL)
    return;
  if (duplex->pushed.failed)
    connection_break(connection);
  buffer_append_text(&connection->out, buffer_text(&duplex->pushed));
  buffer_fini(&duplex->pushed);
  atomic_store(&duplex->has_pushed, false);
}

/* True if a send was refused for lack of room, and there is room now: the caller reports it. Under the lock. */
static bool has_found_room(const struct connection *connection)
{
  struct connection_duplex *duplex = connection->duplex;
  size_t unsent = duplex->pushed.len + connection_unsent(connection);
  if (!atomic_load(&duplex->wants_room) || unsent > connection_unsent_mark(connection))
    return false;
  atomic_store(&duplex->wants_room, false);
  return true;
}

static void report_room(struct connection *connection)
{
  const struct rpc_service *service = connection_service(connection);
  pthread_mutex_lock(&connection->lock);
  bool has_room = has_found_room(connection);
  pthread_mutex_unlock(&connection->lock);
  if (has_room)
    service->has_room(service->context, connection->duplex->callbacks);
}

void connection_duplex_settle_output(struct connection *connection)
{
  pthread_mutex_lock(&connection->lock);
  append_pushed(connection);
  pthread_mutex_unlock(&connection->lock);
  connection_flush(connection);
  report_room(connection);
}

/* Sends the output of a connection that nobody owns, and sets the deadline. Under the lock. */
static void flush_idle(struct connection *connection)
{
  if (connection_unsent(connection) == 0 && connection->stalled_ms == 0)
    return;
  int64_t deadline_ms = connection->duplex->reading_ms;
  connection->has_sent = false;
  connection_flush(connection);
  if (connection_unsent(connection) == 0)
    connection->stalled_ms = 0;
  else if (connection->stalled_ms == 0 || connection->has_sent)
    connection->stalled_ms = clock_now_ms();
  if (connection->stalled_ms != 0) {
    int64_t stall_ms = connection->stalled_ms + connection->limits->body_timeout_ms;
    deadline_ms = deadline_ms < stall_ms ? deadline_ms : stall_ms;
  }
  atomic_store_explicit(connection->deadline_ms, deadline_ms, memory_order_relaxed);
}

void connection_duplex_before_arming(struct connection *connection, int64_t reading_ms)
{
  struct connection_duplex *duplex = connection->duplex;
  duplex->reading_ms = reading_ms;
  if (atomic_load(&duplex->has_pushed) && connection->stream == NULL) {
    append_pushed(connection);
    flush_idle(connection);
    if (connection_unsent(connection) == 0)
      buffer_fini(&connection->out);
  }
}

bool connection_duplex_must_report_room(const struct connection *connection)
{
  const struct connection_duplex *duplex = connection->duplex;
  return duplex != NULL && atomic_load(&duplex->wants_room) &&
         connection_unsent(connection) <= connection_unsent_mark(connection);
}

/* --- the owner --- */

void connection_duplex_catch_up(struct connection *connection, struct crew_member *member)
{
  struct connection_duplex *duplex = connection->duplex;
  if (atomic_load(&duplex->has_pushed) && connection->stream == NULL) {
    pthread_mutex_lock(&connection->lock);
    append_pushed(connection);
    pthread_mutex_unlock(&connection->lock);
  }
  if (connection_lingers(connection) || atomic_load(&duplex->open_calls) == 0)
    return;
  enum collected collected = COLLECTED_SOME;
  for (int i = 0; i < CATCH_UP_MESSAGES && collected == COLLECTED_SOME; i++)
    collected = connection_collect(connection, member);
}

bool connection_duplex_has_more(const struct connection *connection)
{
  const struct connection_duplex *duplex = connection->duplex;
  return duplex->first_queued != NULL || duplex_has_ended(duplex) || atomic_load(&duplex->has_pushed);
}

bool connection_duplex_is_over(const struct connection *connection)
{
  const struct connection_duplex *duplex = connection->duplex;
  return duplex->callbacks == NULL && !connection_duplex_has_more(connection) && duplex->collected.len == 0;
}

bool connection_duplex_end_turn(struct connection *connection, struct crew_member *member, enum step *last)
{
  static const char reason[] = "too much input is under way (input-max-total): try again later";
  struct connection_duplex *duplex = connection->duplex;
  if (!duplex_has_ended(duplex))
    return false;
  if (duplex_input(duplex) == COLLECTED_CUT)
    connection->protocol->cut(connection, reason, &member->scratch.buffers[SCRATCH_ANSWER]);
  buffer_append_text(&connection->out, buffer_text(&duplex->final_frames));
  *last = duplex->last_step;
  return true;
}

bool connection_duplex_reads_on(const struct connection *connection)
{
  return connection_duplex_is_urgent(connection) && duplex_input(connection->duplex) != COLLECTED_BLOCKED;
}

/* --- a message that is served --- */

/* The bytes of the message are not moved, because the service reads them. The watcher also calls this
 * function when it refuses a message that contains a callback. The watcher is not in call, so this function
 * does not mark a call as shared, because nobody would end that call. */
void connection_duplex_begin_call(struct connection *connection)
{
  struct connection_duplex *duplex = connection->duplex;
  append_pushed(connection);
  duplex->served = connection->message;
  duplex_set_message(duplex, DUPLEX_MESSAGE_SERVED);
  connection->message = duplex->collected;
  duplex->collected = (struct buffer){0};
  connection->has_message = false;
  duplex->own_calls = 0;
  duplex->vain_members = 0;
  if (duplex_input(duplex) == COLLECTED_ALL)
    duplex_set_input(duplex, COLLECTED_SOME);
  if (!in_call_is_inside(&connection->in_call))
    return;
  in_call_share(&connection->in_call);
  if (wants_input(duplex))
    arm_for_others(connection, true);
}

/* Returns the input side to the owner. Afterwards no other thread reads or begins to read. The caller holds
 * the lock. */
static void recall_input(struct connection *connection)
{
  struct connection_duplex *duplex = connection->duplex;
  const enum duplex_reader reader = duplex_reader(duplex);
  duplex->has_slept |= reader != DUPLEX_NOBODY; /* the descriptor may have been armed */
  duplex->vain_members += reader == DUPLEX_ARMED_TO_SEND || reader == DUPLEX_MEMBER;
  duplex_set_reader(connection, reader == DUPLEX_MEMBER ? DUPLEX_RECALLED : DUPLEX_OWNER);
  while (duplex_reader(duplex) == DUPLEX_RECALLED || duplex->upcalls > 0)
    pthread_cond_wait(&duplex->released, &connection->lock);
}

/* Moves a message that must wait for a member to the front of the queue, so that the input after it can be read. */
static void requeue_message(struct connection *connection)
{
  struct connection_duplex *duplex = connection->duplex;
  if (!connection_collect_queue(connection, true))
    connection_break(connection);
  buffer_fini(&connection->message);
  connection->message = duplex->collected;
  duplex->collected = (struct buffer){0};
  duplex_set_message(duplex, DUPLEX_MESSAGE_NEW);
  connection->has_message = false;
}

void connection_duplex_end_call(struct connection *connection, bool was_served)
{
  struct connection_duplex *duplex = connection->duplex;
  recall_input(connection);
  duplex_set_reader(connection, DUPLEX_NOBODY);
  duplex_set_ahead(duplex, DUPLEX_AHEAD_WAITS);
  buffer_fini(&duplex->ids);
  duplex->has_ids = false;
  if (duplex_input(duplex) == COLLECTED_FULL)
    duplex_set_input(duplex, COLLECTED_SOME);
  if (!was_served) {
    requeue_message(
        /* only the watcher leaves a message unserved, and the watcher's message is not in `served` */
        connection);
    return;
  }
  if (duplex->message != DUPLEX_MESSAGE_SERVED) {
    duplex->served = connection->message;
    connection->message = duplex->collected;
    duplex->collected = (struct buffer){0};
    connection->has_message = false;
  }
  duplex_set_message(duplex, DUPLEX_MESSAGE_NEW);
  duplex->arrived_ns = 0;
  if (connection->message.data != NULL) {
    buffer_fini(&duplex->served); /* the next message has begun, in a buffer of its own */
  } else {
    buffer_clear(&duplex->served); /* the buffer belongs to the thread, which gets it back as `message` */
    connection->message = duplex->served;
    duplex->served = (struct buffer){0};
  }
}

struct text connection_served_message(const struct connection *connection)
{
  const struct connection_duplex *duplex = connection->duplex;
  bool is_served = duplex != NULL && duplex->message == DUPLEX_MESSAGE_SERVED;
  return buffer_text(is_served ? &duplex->served : &connection->message);
}

/* --- a thread that waits inside the service --- */

static bool begin_waiting(struct crew_source *source, struct crew_member *member)
{
  struct connection *connection = connection_of(source);
  bool reads = false;
  if (connection->duplex == NULL)
    return false; /* if the connection gets a duplex later, other threads read the connection */
  pthread_mutex_lock(&connection->lock);
  if (connection->duplex != NULL && in_call_is_inside(&connection->in_call) &&
      connection->worker == member->worker && !connection_has_left(connection)) {
    recall_input(connection);
    duplex_set_reader(connection, DUPLEX_WAITER);
    connection->duplex->waiter = member;
    reads = true;
  }
  pthread_mutex_unlock(&connection->lock);
  return reads;
}

/* Called on the owner's thread. Only this thread gets and leaves the role. */
static bool is_waiting(const struct connection *connection)
{
  return connection->duplex != NULL && duplex_reader(connection->duplex) == DUPLEX_WAITER;
}

static void end_waiting(struct crew_source *source, struct crew_member *member)
{
  (void)member;
  struct connection *connection = connection_of(source);
  if (!is_waiting(connection))
    return;
  struct connection_duplex *duplex = connection->duplex;
  pthread_mutex_lock(&connection->lock);
  duplex_set_reader(connection, DUPLEX_NOBODY);
  if (atomic_load(&duplex->open_calls) > duplex->own_calls && !duplex_has_ended(duplex))
    arm_for_others(connection, true);
  else if (connection_needs_flush(connection))
    atomic_store_explicit(connection->deadline_ms, CONNECTION_FLUSH_SOON, memory_order_relaxed);
  pthread_mutex_unlock(&connection->lock);
}

/* Consumes the notification that has woken this thread: from now on the thread polls the carrier. */
static void wake_carrier(struct connection *connection, struct crew_member *member)
{
  if (connection->protocol->carrier == NULL)
    return;
  pthread_mutex_lock(&connection->lock);
  if (!connection->protocol->borrow(connection, member))
    connection_break(connection);
  pthread_mutex_unlock(&connection->lock);
}

static bool receive_while_waiting(struct crew_source *source, struct crew_member *member)
{
  struct connection *connection = connection_of(source);
  if (!is_waiting(connection))
    return false;
  if (connection->duplex->has_slept)
    wake_carrier(connection, member);
  connection->duplex->has_slept = false;
  connection_note_input(connection, CONNECTION_INPUT_OPEN);
  bool has_taken = connection_collect(connection, member) == COLLECTED_SOME;
  if (atomic_load(&connection->duplex->wants_room))
    report_room(connection);
  return has_taken;
}

/* If all output was sent, only new input in the ring matters, and the carrier checks for it by one load. */
static bool poll_while_waiting(struct crew_source *source, struct crew_member *member)
{
  struct connection *connection = connection_of(source);
  if (!is_waiting(connection))
    return false;
  const struct connection_carrier *carrier = connection->protocol->carrier;
  const struct connection_duplex *duplex = connection->duplex;
  bool must_try = carrier == NULL || duplex->has_unsent || duplex_needs_try(duplex);
  return must_try ? receive_while_waiting(source, member) : carrier->poll(connection);
}

static bool prepare_sleep(struct crew_source *source, int *fd, short *events)
{
  struct connection *connection = connection_of(source);
  if (!is_waiting(connection) || duplex_has_ended(connection->duplex))
    return true;
  const struct connection_carrier *carrier = connection->protocol->carrier;
  struct connection_duplex *duplex = connection->duplex;
  bool is_full = duplex_input(duplex) == COLLECTED_FULL;
  pthread_mutex_lock(&connection->lock);
  bool for_room = connection_needs_flush(connection);
  /* After reading ahead had stopped at its limit, another thread may have called the client. The answer to that call
   * may have been received already. */
  bool reads_on = is_full && connection_duplex_is_urgent(connection);
  bool sleeps = !reads_on && (carrier == NULL || carrier->sleep(connection, !is_full, for_room));
  pthread_mutex_unlock(&connection->lock);
  bool reads = !is_full && duplex_input(duplex) != COLLECTED_BLOCKED;
  duplex->has_slept = true;
  *fd = connection->fd;
  *events = POLLIN;
  if (carrier == NULL)
    *events = (short)((reads || !for_room ? POLLIN : 0) | (for_room ? POLLOUT : 0));
  if (is_full && !for_room)
    *fd = -1;
  return sleeps;
}

/* --- a member, or the watcher, that gets the event --- */

static bool acquire_role(struct connection *connection)
{
  pthread_mutex_lock(&connection->lock);
  struct connection_duplex *duplex = connection->duplex;
  bool is_acquired = duplex != NULL && in_call_is_inside(&connection->in_call) && duplex_is_armed(duplex) &&
                     !connection_has_left(connection);
  if (is_acquired)
    duplex_set_reader(connection, DUPLEX_MEMBER);
  pthread_mutex_unlock(&connection->lock);
  return is_acquired;
}

/* The caller must not use the connection afterwards. */
static void release_role(struct connection *connection, enum collected last)
{
  struct connection_duplex *duplex = connection->duplex;
  pthread_mutex_lock(&connection->lock);
  bool must_read = wants_input(duplex);
  bool must_write = !connection_is_broken(connection) &&
                    (connection_unsent(connection) > 0 || atomic_load(&duplex->wants_room));
  bool is_blocked = last == COLLECTED_BLOCKED && connection_unsent(connection) > 0;
  bool is_recalled = duplex_reader(duplex) == DUPLEX_RECALLED;
  duplex_set_reader(connection, is_recalled ? DUPLEX_OWNER : DUPLEX_NOBODY);
  if (!is_recalled && (must_read || must_write))
    arm_for_others(connection, must_read && !is_blocked);
  if (must_write)
    atomic_store_explicit(connection->deadline_ms, CONNECTION_FLUSH_SOON, memory_order_relaxed);
  pthread_cond_signal(&duplex->released);
  pthread_mutex_unlock(&connection->lock);
}

static enum collected collect_in_turn(struct connection *connection, struct crew_member *member)
{
  const struct connection_duplex *duplex = connection->duplex;
  struct crew_turn turn;
  enum collected collected;
  crew_turn_begin(&turn, member);
  connection_note_input(connection, CONNECTION_INPUT_OPEN);
  do
    collected = connection_collect(connection, member);
  while (collected == COLLECTED_SOME && duplex_reader(duplex) != DUPLEX_RECALLED &&
         !crew_turn_is_over(&turn));
  return collected;
}

void connection_duplex_read(struct connection *connection, struct crew_member *member)
{
  if (!acquire_role(connection))
    return;
  wake_carrier(connection, member);
  enum collected collected = COLLECTED_ALL;
  if (connection_duplex_is_urgent(connection) || duplex_ahead(connection->duplex) != DUPLEX_AHEAD_WAITS) {
    collected = collect_in_turn(connection, member);
  } else { /* nothing is read: the member only sends the events that were held back */
    pthread_mutex_lock(&connection->lock);
    if (connection_needs_flush(connection))
      connection_flush(connection);
    pthread_mutex_unlock(&connection->lock);
  }
  report_room(connection);
  release_role(connection, collected);
}

/* --- the watcher --- */

/* If memory is short, the input waits until the end of the call. */
static void begin_reading_ahead(struct connection *connection)
{
  struct connection_duplex *duplex = connection->duplex;
  if (duplex == NULL) {
    duplex = make_duplex(connection, NULL);
    if (duplex == NULL)
      return;
    connection->duplex = duplex;
    connection_duplex_begin_call(connection);
  }
  if (duplex_ahead(duplex) == DUPLEX_AHEAD_WAITS)
    duplex_set_ahead(duplex, DUPLEX_AHEAD_READS);
  /* There may be room again: other clients' input was served, or a request that waited was cancelled. */
  if (duplex_is_unread(duplex) && duplex_input(duplex) == COLLECTED_FULL &&
      !connection_collect_is_full(connection)) {
    duplex_set_input(duplex, COLLECTED_SOME);
    arm_for_others(connection, true);
  }
  if (duplex_reader(duplex) == DUPLEX_NOBODY && wants_input(duplex))
    arm_for_others(connection, true);
}

/* True if the timeout of a queued request has passed: the caller then calls connection_duplex_read, which answers the
 * request. False if a thread reads: that thread answers the request. Under the lock, in call. */
static bool has_expired(struct connection *connection)
{
  enum { AGAIN_MS = 5 };
  struct connection_duplex *duplex = connection->duplex;
  const int64_t now_ms = clock_now_ms();
  const int64_t at_ms = atomic_load_explicit(&duplex->expires_ms, memory_order_relaxed);
  const bool is_due = at_ms <= now_ms && duplex_is_unread(duplex) && !duplex_has_ended(duplex);
  if (at_ms != INT64_MAX && !is_due)
    crew_read_ahead_at(connection->table->crew, at_ms > now_ms ? at_ms : now_ms + AGAIN_MS);
  if (is_due && duplex_reader(duplex) == DUPLEX_NOBODY)
    duplex_set_reader(connection, DUPLEX_ARMED);
  return is_due;
}

/* crew_call_ops.read_ahead. By now the connection may be in another, short call. Reading ahead in that call does no
 * harm. */
static void read_ahead(struct crew_source *source, struct crew_member *watcher)
{
  struct connection *connection = connection_of(source);
  bool is_due = false;
  pthread_mutex_lock(&connection->lock);
  if (in_call_visit(&connection->in_call)) {
    if (connection->protocol->collect != NULL && connection_codec(connection)->serve_beside != NULL &&
        !connection_is_seized(connection) && !connection_is_broken(connection) &&
        !connection_has_left(connection))
      begin_reading_ahead(connection);
    struct connection_duplex *duplex = connection->duplex;
    if (duplex != NULL && duplex_has_ended(duplex) && duplex->message == DUPLEX_MESSAGE_SERVED)
      connection_end_left(connection, &duplex->ids,
                          &duplex->has_ids); /* the message was in the queue when the input ended */
    is_due = duplex != NULL && has_expired(connection);
    in_call_leave(&connection->in_call);
  }
  pthread_mutex_unlock(&connection->lock);
  if (is_due)
    connection_duplex_read(connection, watcher);
}

bool connection_duplex_may_be_reclaimed(const struct connection_duplex *duplex)
{
  return duplex_is_unread(duplex) && duplex->upcalls == 0 && duplex->message == DUPLEX_MESSAGE_SERVED;
}

bool connection_duplex_refuse_input(struct connection_duplex *duplex)
{
  duplex_set_ahead(duplex, DUPLEX_AHEAD_REFUSES);
  if (duplex_reader(duplex) == DUPLEX_NOBODY && !duplex_has_ended(duplex))
    duplex_set_reader(duplex->connection, DUPLEX_ARMED);
  return duplex_is_armed(duplex);
}

/* Threads that read use the descriptor without the lock, so the connection must be unread. */
bool connection_duplex_may_close(const struct connection_duplex *duplex)
{
  return duplex_is_unread(duplex) && duplex->upcalls == 0 && duplex->first_queued == NULL &&
         duplex->collected.len == 0;
}

static void check_stall(struct connection *connection, bool has_moved)
{
  int64_t now_ms = clock_now_ms();
  if (connection_unsent(connection) == 0)
    connection->stalled_ms = 0;
  else if (connection->stalled_ms == 0 || has_moved)
    connection->stalled_ms = now_ms;
  else if (now_ms >= connection->stalled_ms + connection->limits->body_timeout_ms) {
    connection->duplex->is_closed = true;
    connection_shut_down(connection);
  }
}

int64_t connection_duplex_check(struct connection *connection)
{
  struct connection_duplex *duplex = connection->duplex;
  bool has_moved = connection->has_sent; /* since the last check */
  connection->has_sent = false;
  connection_flush(connection);
  duplex->vain_members = 0;
  if (duplex->callbacks == NULL)
    return connection_waits_for_audit(connection)
               ? CONNECTION_FLUSH_SOON
               : INT64_MAX; /* no time is set: the rest of the output is sent with the next answer, or after an
                       * event */
  check_stall(connection, has_moved || connection->has_sent);
  bool has_others = atomic_load(&duplex->open_calls) > duplex->own_calls;
  if (duplex_reader(duplex) == DUPLEX_NOBODY && has_others && !duplex_has_ended(duplex))
    arm_for_others(connection, true);
  return connection_unsent(connection) > 0 && !duplex->is_closed ? CONNECTION_FLUSH_SOON : INT64_MAX;
}

void connection_duplex_begin_upcall(struct connection *connection)
{
  connection->duplex->upcalls++;
}

void connection_duplex_end_upcall(struct connection *connection)
{
  struct connection_duplex *duplex = connection->duplex;
  const struct rpc_service *service = connection_service(connection);
  pthread_mutex_lock(&connection->lock);
  struct rpc_callbacks *callbacks = duplex->callbacks;
  bool is_closed = duplex->is_closed && callbacks != NULL;
  bool has_room = has_found_room(connection);
  pthread_mutex_unlock(&connection->lock);
  if (is_closed)
    service->client_gone(service->context, callbacks, atomic_load(&connection->table->is_draining));
  if (has_room)
    service->has_room(service->context, callbacks);
  pthread_mutex_lock(&connection->lock);
  duplex->upcalls--;
  pthread_cond_signal(&duplex->released);
  pthread_mutex_unlock(&connection->lock);
}

const struct crew_call_ops connection_call_ops = {.await = connection_await,
                                                  .begin_wait = begin_waiting,
                                                  .end_wait = end_waiting,
                                                  .receive = receive_while_waiting,
                                                  .poll = poll_while_waiting,
                                                  .prepare_sleep = prepare_sleep,
                                                  .check_client = connection_check_client,
                                                  .answer_ended = connection_answer_ended,
                                                  .reclaim = connection_reclaim,
                                                  .send_deferred = connection_send_deferred,
                                                  .read_ahead = read_ahead};

/* --- rpc_push: messages of any thread to the client --- */

struct push {
  struct connection *connection;
  struct connection_duplex *duplex;
  enum rpc_push_kind kind;
  struct text message;
  bool is_own; /* the sending thread is the owner's, in call */
};

static struct connection_duplex *duplex_of(struct rpc_duplex *duplex)
{
  return (struct connection_duplex *)(void *)duplex;
}

/* Locks the duplex and its connection. NULL: the connection has ended, and nothing is locked. */
static struct connection *lock_connection(struct connection_duplex *duplex)
{
  pthread_mutex_lock(&duplex->lock);
  struct connection *connection = duplex->connection;
  if (connection == NULL)
    pthread_mutex_unlock(&duplex->lock);
  else
    pthread_mutex_lock(&connection->lock);
  return connection;
}

static void unlock_connection(struct connection_duplex *duplex, struct connection *connection)
{
  pthread_mutex_unlock(&connection->lock);
  pthread_mutex_unlock(&duplex->lock);
}

static bool is_own(const struct connection *connection, const struct rpc_worker *worker)
{
  return worker != NULL && in_call_is_inside(&connection->in_call) && connection->worker == worker;
}

/* True if `out` may be used under the lock: nobody owns the connection, or its owner is in call. */
static bool may_write(const struct connection *connection)
{
  return in_call_is_inside(&connection->in_call) || connection_is_unowned(connection);
}

static size_t count_unsent(const struct push *push)
{
  size_t pushed = push->duplex->pushed.len;
  return may_write(push->connection) ? pushed + connection_unsent(push->connection) : pushed;
}

/* RPC_PUSHED: there is room for the message. Other results: the message must not be sent now. */
static enum rpc_pushed find_room(const struct push *push)
{
  const struct connection *connection = push->connection;
  const size_t max = connection->limits->send_buffer_max;
  const size_t length = push->message.len;
  size_t unsent = count_unsent(push);
  if (push->kind == RPC_PUSH_ANSWER) {
    if (unsent <= max && length <= max - unsent)
      return RPC_PUSHED;
    if (length > ANSWER_ALWAYS)
      return RPC_PUSH_TOO_LONG;
    return unsent <= 2 * max ? RPC_PUSHED : RPC_PUSH_CLOSED;
  }
  if (length > max)
    return RPC_PUSH_TOO_LONG;
  return unsent <= connection_unsent_mark(connection) ? RPC_PUSHED : RPC_PUSH_NO_ROOM;
}

/* Ensures that unsent output is sent later: wakes the reader, arms the connection, or leaves the output to
 * the watcher. */
static void watch_output(const struct push *push)
{
  struct connection *connection = push->connection;
  struct connection_duplex *duplex = push->duplex;
  if (!in_call_is_inside(&connection->in_call)) {
    watch_duplex(connection, (duplex->armed_events & EPOLLIN) != 0);
    return;
  }
  atomic_store_explicit(connection->deadline_ms, CONNECTION_FLUSH_SOON, memory_order_relaxed);
  crew_wake_watcher(connection->table->crew);
  if (push->is_own)
    return; /* the owner's thread sends when it waits, and when it answers */
  if (duplex_is_unread(duplex)) {
    arm_for_others(connection, true);
  } else if (duplex_reader(duplex) == DUPLEX_WAITER) {
    crew_wake(duplex->waiter);
  }
}

/* Lets a member send the events that the owner's thread holds back, because that thread may remain in Java
 * for a long time. If the thread soon calls the client, that call sends the events, and the member was woken
 * in vain. After VAIN_MEMBERS_MAX members were woken in vain, the watcher sends the events, with its next
 * tick. */
static void leave_to_member(struct connection *connection)
{
  struct connection_duplex *duplex = connection->duplex;
  const enum duplex_reader reader = duplex_reader(duplex);
  if ((reader != DUPLEX_NOBODY && reader != DUPLEX_ARMED) || duplex->vain_members >= VAIN_MEMBERS_MAX)
    return;
  duplex_set_reader(connection, DUPLEX_ARMED_TO_SEND);
  watch_duplex(connection, wants_input(duplex));
}

/* True if the message is an event of the owner's thread that may be held back, to be sent together with later events or
 * the next message. Bytes that the client did not read do not count in EVENTS_TOGETHER. */
static bool may_gather(const struct push *push)
{
  struct connection_duplex *duplex = push->duplex;
  size_t unsent = connection_unsent(push->connection);
  if (duplex->left > unsent)
    duplex->left = unsent;
  return push->kind == RPC_PUSH_EVENT && push->is_own && unsent - duplex->left < EVENTS_TOGETHER;
}

static bool may_wait_for_more(const struct push *push)
{
  struct connection_duplex *duplex = push->duplex;
  if (push->kind != RPC_PUSH_EVENT || !push->is_own)
    return false;
  int64_t now_ns = clock_now_ns();
  bool may_wait = may_gather(push) && now_ns - duplex->flushed_ns < EVENTS_TOGETHER_NS;
  if (!may_wait)
    duplex->flushed_ns = now_ns;
  return may_wait;
}

static void flush_out(struct connection *connection)
{
  if (in_call_is_inside(&connection->in_call))
    connection_flush(connection);
  else
    flush_idle(connection);
  connection->duplex->left = connection_unsent(connection);
}

static void write_out(const struct push *push)
{
  struct connection *connection = push->connection;
  struct connection_duplex *duplex = push->duplex;
  append_pushed(connection);
  struct buffer *out = connection->stream != NULL ? &duplex->pushed : &connection->out;
  connection->protocol->write_message(out, push->message);
  atomic_store(&duplex->has_pushed, duplex->pushed.len > 0);
  bool is_held = may_wait_for_more(push);
  if (!is_held)
    flush_out(connection);
  if (connection_unsent(connection) > 0)
    watch_output(push);
  if (is_held)
    leave_to_member(connection);
  if (connection_is_unowned(connection) && connection_unsent(connection) == 0)
    buffer_fini(&connection->out); /* an idle connection owns no buffer */
}

/* Counts a call that is open from now on, and makes sure that its answer is read. */
static void count_call(const struct push *push)
{
  struct connection_duplex *duplex = push->duplex;
  atomic_fetch_add(&duplex->open_calls, 1);
  if (push->is_own) {
    duplex->own_calls++;
  } else if (in_call_is_inside(&push->connection->in_call) && duplex_reader(duplex) == DUPLEX_NOBODY) {
    arm_for_others(push->connection, true);
  } else if (duplex_reader(duplex) == DUPLEX_WAITER && duplex_input(duplex) == COLLECTED_FULL) {
    crew_wake(duplex->waiter); /* the waiter may have stopped reading at the limit of reading ahead */
  }
}

static void break_connection(const struct push *push)
{
  push->duplex->is_closed = true;
  connection_shut_down(push->connection);
}

static enum rpc_pushed push_message(const struct push *push)
{
  if (push->duplex->is_closed || connection_is_seized(push->connection))
    return RPC_PUSH_CLOSED;
  if (may_write(push->connection) && connection_unsent(push->connection) > 0 && !may_gather(push))
    flush_out(push->connection);
  enum rpc_pushed room = find_room(push);
  if (room == RPC_PUSH_NO_ROOM) {
    atomic_store(&push->duplex->wants_room, true);
    if (may_write(push->connection))
      watch_output(push);
  }
  if (room == RPC_PUSH_CLOSED)
    break_connection(push);
  if (room != RPC_PUSHED)
    return room;
  if (may_write(push->connection)) {
    write_out(push);
  } else {
    push->connection->protocol->write_message(&push->duplex->pushed, push->message);
    atomic_store(&push->duplex->has_pushed, true);
  }
  bool has_failed =
      push->duplex->pushed.failed || (may_write(push->connection) && push->connection->out.failed);
  if (has_failed) { /* memory was short: the message may have been appended in part */
    break_connection(push);
    return RPC_PUSH_CLOSED;
  }
  if (push->kind == RPC_PUSH_CALL)
    count_call(push);
  return RPC_PUSHED;
}

static enum rpc_pushed send_message(struct rpc_duplex *line, struct rpc_worker *worker,
                                    enum rpc_push_kind kind, struct text message)
{
  struct connection_duplex *duplex = duplex_of(line);
  struct connection *connection = lock_connection(duplex);
  if (connection == NULL)
    return RPC_PUSH_CLOSED;
  struct push push = {.connection = connection,
                      .duplex = duplex,
                      .kind = kind,
                      .message = message,
                      .is_own = is_own(connection, worker)};
  enum rpc_pushed pushed = push_message(&push);
  unlock_connection(duplex, connection);
  return pushed;
}

static void settle_call(struct rpc_duplex *line, struct rpc_worker *worker)
{
  struct connection_duplex *duplex = duplex_of(line);
  struct connection *connection = lock_connection(duplex);
  if (connection == NULL)
    return;
  atomic_fetch_sub(&duplex->open_calls, 1);
  if (is_own(connection, worker) && duplex->own_calls > 0)
    duplex->own_calls--;
  unlock_connection(duplex, connection);
}

static size_t find_reply_max(struct rpc_duplex *line)
{
  struct connection_duplex *duplex = duplex_of(line);
  struct connection *connection = lock_connection(duplex);
  if (connection == NULL)
    return 1;
  const struct push push = {.connection = connection, .duplex = duplex};
  size_t unsent = count_unsent(&push);
  size_t max = connection->limits->send_buffer_max;
  unlock_connection(duplex, connection);
  return unsent < max ? max - unsent : 1;
}

static struct rpc_duplex *open_duplex(void *context, struct rpc_callbacks *callbacks)
{
  struct connection *connection = context;
  pthread_mutex_lock(&connection->lock);
  struct connection_duplex *duplex = connection->duplex;
  if (duplex != NULL) { /* input is read ahead */
    atomic_fetch_add(&duplex->holders, 1);
    duplex->callbacks = callbacks;
  } else {
    duplex = make_duplex(connection, callbacks);
    connection->duplex = duplex;
    if (duplex != NULL)
      connection_duplex_begin_call(connection);
  }
  if (duplex != NULL)
    duplex->is_closed |= connection_has_left(connection);
  pthread_mutex_unlock(&connection->lock);
  return (struct rpc_duplex *)(void *)duplex;
}

static void close_duplex(struct rpc_duplex *duplex)
{
  release_duplex(duplex_of(duplex));
}

const struct rpc_push connection_push = {.pin = connection_pin,
                                         .unpin = connection_unpin,
                                         .open = open_duplex,
                                         .send = send_message,
                                         .settle = settle_call,
                                         .reply_max = find_reply_max,
                                         .close = close_duplex};
