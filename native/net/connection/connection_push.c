/* Messages that answer no request: rpc_push, by any thread. */
#include "base/clock.h"
#include "net/connection/connection_duplex.h"
#include "net/connection/connection_table.h"

#include <sys/epoll.h>

enum {
  ANSWER_ALWAYS = 16 * 1024,   /* an answer of so many bytes finds room, up to twice send_buffer_max */
  EVENTS_TOGETHER = 16 * 1024, /* bytes of events that leave in one write, */
  EVENTS_TOGETHER_NS = 100000  /* where the last ones left so shortly before */
};

struct push {
  struct connection *connection;
  struct connection_duplex *duplex;
  enum rpc_push_kind kind;
  struct text message;
  bool is_own; /* the caller's thread serves the connection's request */
};

static struct connection_duplex *duplex_of(struct rpc_duplex *duplex)
{
  return (struct connection_duplex *)(void *)duplex;
}

/* With the locks of both, where it returns a connection. */
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

/* `out` may be used: nobody owns the connection, or its owner is inside the service. */
static bool may_write(const struct connection *connection)
{
  return in_call_is_inside(&connection->in_call) || connection->state == CONNECTION_ARMED;
}

static size_t count_unsent(const struct push *push)
{
  size_t pushed = push->duplex->pushed.len;
  return may_write(push->connection) ? pushed + connection_unsent(push->connection) : pushed;
}

/* Anything but RPC_PUSHED: it may not be sent now. */
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

/* Arms a connection in call, which then belongs to who gets the event. */
static void arm(const struct push *push, bool for_input)
{
  push->duplex->reader = DUPLEX_ARMED;
  connection_duplex_watch(push->connection, for_input);
}

/* Its own thread is in Java, and may stay there: a member sends what it has held back. Once for all that is held. */
static void leave_to_member(const struct push *push)
{
  struct connection_duplex *duplex = push->duplex;
  if (duplex->awaits_member || (duplex->reader != DUPLEX_NOBODY && duplex->reader != DUPLEX_ARMED))
    return;
  duplex->awaits_member = true;
  arm(push, atomic_load(&duplex->open_calls) > 0);
}

/* The thread that reads or sends next must know that there is something unsent. */
static void watch_output(const struct push *push)
{
  struct connection *connection = push->connection;
  struct connection_duplex *duplex = push->duplex;
  if (!in_call_is_inside(&connection->in_call)) {
    connection_duplex_watch(connection, (duplex->armed_events & EPOLLIN) != 0);
    return;
  }
  atomic_store_explicit(connection->deadline_ms, CONNECTION_FLUSH_SOON, memory_order_relaxed);
  crew_rouse(connection->table->crew);
  if (push->is_own)
    return; /* it looks when it waits, or answers */
  if (duplex->reader == DUPLEX_NOBODY || duplex->reader == DUPLEX_ARMED) {
    arm(push, true);
  } else if (duplex->reader == DUPLEX_WAITER) {
    crew_wake(duplex->waiter);
  }
}

/* Events of the request's own thread may leave together: with the next one, the next message, or as soon as a member
 * comes by. Behind bytes that the client did not take, so many gather again before it is tried again. */
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

/* Between two turns an idle connection owns no buffer. */
static void free_idle_output(struct connection *connection)
{
  if (connection->state == CONNECTION_ARMED && connection_unsent(connection) == 0)
    buffer_fini(&connection->out);
}

static void flush_out(struct connection *connection)
{
  if (in_call_is_inside(&connection->in_call))
    connection_flush(connection);
  else
    connection_duplex_flush_idle(connection);
  connection->duplex->left = connection_unsent(connection);
}

static void write_out(const struct push *push)
{
  struct connection *connection = push->connection;
  connection_duplex_take_pushed(connection);
  struct buffer *out = connection->stream != NULL ? &push->duplex->pushed : &connection->out;
  connection->protocol->write_message(out, push->message);
  atomic_store(&push->duplex->has_pushed, push->duplex->pushed.len > 0);
  bool is_held = may_wait_for_more(push);
  if (!is_held)
    flush_out(connection);
  if (connection_unsent(connection) > 0)
    watch_output(push);
  if (is_held)
    leave_to_member(push);
  free_idle_output(connection);
}

static bool is_closed(const struct push *push)
{
  return push->duplex->is_closed || push->connection->seized;
}

/* Memory was short: nobody knows how much was appended. */
static bool has_failed(const struct push *push)
{
  return push->duplex->pushed.failed || (may_write(push->connection) && push->connection->out.failed);
}

/* A call is open from here on: somebody has to read. */
static void count_call(const struct push *push)
{
  struct connection_duplex *duplex = push->duplex;
  atomic_fetch_add(&duplex->open_calls, 1);
  if (push->is_own) {
    duplex->own_calls++;
  } else if (in_call_is_inside(&push->connection->in_call) && duplex->reader == DUPLEX_NOBODY) {
    arm(push, true);
  } else if (duplex->reader == DUPLEX_WAITER && atomic_load(&duplex->is_full)) {
    crew_wake(duplex->waiter); /* it has stopped reading ahead */
  }
}

static void break_connection(const struct push *push)
{
  push->duplex->is_closed = true;
  connection_shut_down(push->connection);
}

static enum rpc_pushed push_message(const struct push *push)
{
  if (is_closed(push))
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
  if (has_failed(push)) {
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

/* The message that is being served stays where its bytes are. */
static struct rpc_duplex *open_duplex(void *context, struct rpc_callbacks *callbacks)
{
  struct connection *connection = context;
  pthread_mutex_lock(&connection->lock);
  struct connection_duplex *duplex = connection->duplex;
  if (duplex != NULL) { /* input is read ahead */
    atomic_fetch_add(&duplex->holders, 1);
    duplex->callbacks = callbacks;
  } else {
    duplex = connection_duplex_make(connection, callbacks);
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
  connection_duplex_release(duplex_of(duplex));
}

const struct rpc_push connection_push = {.open = open_duplex,
                                         .send = send_message,
                                         .settle = settle_call,
                                         .reply_max = find_reply_max,
                                         .close = close_duplex};
