#include "net/connection/connection_table.h"

#include "base/clock.h"
#include "base/log.h"
#include "net/admission/connection_audit.h"
#include "net/connection/connection_duplex.h"
#include "net/connection/connection_principal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
  CHUNK_PLACES = 256,
  LINE_DEADLINES = 8,
  CHUNK_LINES = CHUNK_PLACES / LINE_DEADLINES,
  LICENCE_MS = 100,
  LICENCE_MUCH = 16 * 1024 /* a connection with a licence is slow if it collects less in LICENCE_MS */
};

/*
 * The watcher reads all deadlines several times a second. The deadlines are in one array, so that the watcher
 * need not touch every connection. The deadlines of neighbouring places are in different cache lines, because
 * the threads that serve these places write them in each turn.
 */
struct connection_chunk {
  _Alignas(LINE_DEADLINES * sizeof(int64_t)) _Atomic int64_t deadlines_ms[CHUNK_LINES][LINE_DEADLINES];
  struct connection places[CHUNK_PLACES];
};

enum jp_status connection_table_init(struct connection_table *table, struct crew *crew,
                                     const struct connection_limits *limits, struct input_budget *input,
                                     struct jp_error *error)
{
  *table = (struct connection_table){.crew = crew, .limits = *limits, .input = input};
  pthread_mutex_init(&table->lock, NULL);
  array_init(&table->claims, sizeof(struct input_claim));
  table->checked = limits->principals == NULL ? 0 : principals_generation(limits->principals);
  table->chunks = calloc(limits->connections_max / CHUNK_PLACES + 1, sizeof(struct connection_chunk *));
  return table->chunks != NULL ? JP_OK : jp_fail(error, JP_NO_MEMORY, "no memory for the connections");
}

static void discard_connection(struct connection *connection)
{
  if (connection->state != CONNECTION_FREE) {
    connection_leave_principal(connection);
    if (connection->duplex != NULL)
      connection_duplex_detach(connection);
    connection_end_stream(connection);
    if (connection->protocol->discard != NULL)
      connection->protocol->discard(connection);
    if (connection->protocol->carrier != NULL)
      connection->protocol->carrier->close(connection);
    buffer_fini(&connection->in);
    buffer_fini(&connection->message);
    buffer_fini(&connection->out);
    if (connection->fd >= 0)
      close(connection->fd);
    tls_stream_destroy(connection->tls);
  }
  pthread_mutex_destroy(&connection->lock);
}

void connection_table_fini(struct connection_table *table)
{
  for (size_t i = 0; i < table->chunk_count; i++) {
    for (size_t j = 0; j < CHUNK_PLACES; j++)
      discard_connection(&table->chunks[i]->places[j]);
    free(table->chunks[i]);
  }
  free(table->chunks);
  array_fini(&table->claims);
  pthread_mutex_destroy(&table->lock);
}

/* --- places --- */

/* Under the lock. */
static bool add_chunk(struct connection_table *table)
{
  struct connection_chunk *chunk = aligned_alloc(_Alignof(struct connection_chunk), sizeof *chunk);
  if (chunk == NULL)
    return false;
  memset(chunk, 0, sizeof *chunk);
  for (size_t i = CHUNK_PLACES; i-- > 0;) {
    struct connection *place = &chunk->places[i];
    place->source.turn = connection_turn;
    place->source.call_ops = &connection_call_ops;
    place->table = table;
    place->limits = &table->limits;
    place->fd = -1;
    place->deadline_ms = &chunk->deadlines_ms[i % CHUNK_LINES][i / CHUNK_LINES];
    atomic_store(place->deadline_ms, INT64_MAX);
    pthread_mutex_init(&place->lock, NULL);
    place->next_free = table->free_places;
    table->free_places = place;
  }
  table->chunks[table->chunk_count++] = chunk;
  return true;
}

struct connection *connection_table_place(struct connection_table *table, size_t index)
{
  return &table->chunks[index / CHUNK_PLACES]->places[index % CHUNK_PLACES];
}

static struct connection *reserve_place(struct connection_table *table)
{
  struct connection *place = NULL;
  pthread_mutex_lock(&table->lock);
  bool has_room = table->open < table->limits.connections_max && !atomic_load(&table->is_draining);
  if (has_room && (table->free_places != NULL || add_chunk(table))) {
    place = table->free_places;
    table->free_places = place->next_free;
    table->open++;
  }
  pthread_mutex_unlock(&table->lock);
  return place;
}

void connection_table_release(struct connection_table *table, struct connection *connection)
{
  monitor_remove_connection(table->limits.monitor, connection->transport);
  pthread_mutex_lock(&table->lock);
  table->open--;
  if (connection_is_seized(connection))
    table->seized--;
  connection->next_free = table->free_places;
  table->free_places = connection;
  pthread_mutex_unlock(&table->lock);
}

/* Initialises the fields of a new connection. The fields of the place itself remain. */
static void reset_connection(struct connection *connection, int fd,
                             const struct connection_protocol *protocol, const struct rpc_address *address)
{
  connection->answerer = CONNECTION_OWN_ANSWER;
  connection->awaits_event = connection->is_due = false;
  connection->pinned_events = 0;
  connection->address = *address;
  connection->number = atomic_fetch_add(connection->limits->numbers, 1) + 1;
  atomic_store_explicit(&connection->licence.is_valid, false, memory_order_relaxed);
  connection->licence.is_slow = false;
  connection->fd = fd;
  connection->output = CONNECTION_OUTPUT_OPEN;
  atomic_store_explicit(&connection->input, CONNECTION_INPUT_OPEN, memory_order_relaxed);
  connection->has_message = connection->is_too_long = connection->has_sent = false;
  connection->unpublished = 0;
  atomic_store_explicit(&connection->audited, 0, memory_order_relaxed);
  connection->probed_ms = 0;
  connection->since_ms = connection->stalled_ms = connection->linger_end_ms = 0;
  connection->began_ms = clock_now_ms();
  connection->received_ns = 0;
  connection->quick_turns = 0;
  atomic_store_explicit(&connection->source.is_quick, false, memory_order_relaxed);
  connection->transport = METRICS_TRANSPORTS;
  connection_speak(connection, protocol);
}

#define TOO_MANY "too many connections (connections-max)"

/* Closes the socket of a client, because there are too many connections. */
static void refuse_connection(const struct connection_protocol *protocol, int fd, bool has_tls)
{
  static const char alert[] = {21, 3, 3, 0, 2, 2, 80}; /* fatal: internal_error (RFC 8446, 6) */
  struct buffer out;
  buffer_init(&out);
  if (has_tls)
    buffer_append_text(&out, (struct text){alert, sizeof alert});
  else if (protocol->write_refusal != NULL)
    protocol->write_refusal(&out, CONNECTION_NO_ROOM, TOO_MANY);
  ssize_t sent = send(fd, out.data, out.len, MSG_NOSIGNAL | MSG_DONTWAIT);
  (void)sent;
  buffer_fini(&out);
  shutdown(fd, SHUT_WR);
  close(fd);
}

void connection_table_accept(struct connection_table *table, int fd,
                             const struct connection_protocol *protocol, const struct rpc_address *address,
                             struct tls_credentials *credentials)
{
  struct connection *connection = reserve_place(table);
  if (connection == NULL) {
    monitor_count_refusal(table->limits.monitor, METRICS_REFUSAL_CONNECTIONS);
    connection_audit_refusal(0, address, TOO_MANY);
    refuse_connection(protocol, fd, credentials != NULL);
    return;
  }
  pthread_mutex_lock(&connection->lock);
  reset_connection(connection, fd, protocol, address);
  struct jp_error error;
  enum jp_status status = JP_OK;
  if (credentials != NULL && (connection->tls = tls_stream_create(credentials)) == NULL)
    status = jp_fail_memory(&error, NULL);
  if (status == JP_OK)
    status = crew_watch(table->crew, &connection->source, fd, EPOLLIN, &error);
  if (status == JP_OK) {
    connection_set_state(connection, CONNECTION_ARMED);
    atomic_store(connection->deadline_ms, connection->began_ms + table->limits.header_timeout_ms);
  }
  if (status == JP_OK) /* under the lock: no line of the connection precedes it */
    connection_audit_begin(connection->number, address, credentials != NULL);
  pthread_mutex_unlock(&connection->lock);
  if (status == JP_OK)
    return;
  log_warn_rarely("a connection cannot be served: %s", error.text);
  close(fd);
  connection->fd = -1;
  tls_stream_destroy(connection->tls);
  connection->tls = NULL;
  connection_table_release(table, connection);
}

/* --- the bound on input (net/admission/input_budget.h): licences to go on, and cuts; the watcher --- */

/* The number of bytes of its message that may still be received. Under its lock. */
static size_t count_bytes_left(const struct connection *connection, size_t held)
{
  size_t max = connection->limits->message_max;
  size_t most = held < max ? max - held : 0;
  if (!connection_is_unowned(connection))
    return most;
  size_t left = connection->protocol->bytes_left(connection);
  return left == SIZE_MAX ? most : left;
}

/* True while the connection collects a message. A whole message is not cut and needs no licence. Under its lock. */
static bool is_collecting(const struct connection *connection)
{
  if (connection->state == CONNECTION_FREE || in_call_is_inside(&connection->in_call))
    return false;
  return connection->state == CONNECTION_OWNED ||
         (!connection->has_message && !connection_lingers(connection));
}

/* True if the connection keeps its licence. A connection counts as slow until it is quick again. Under its lock. */
static bool keeps_licence(struct connection *connection, size_t held, int64_t now_ms)
{
  struct input_licence *licence = &connection->licence;
  if (!atomic_load_explicit(&licence->is_valid, memory_order_relaxed))
    return false;
  bool has_moved = held < licence->held || held >= licence->held + LICENCE_MUCH;
  if (has_moved || now_ms >= licence->until_ms) {
    licence->is_slow = !has_moved;
    licence->held = held;
    licence->until_ms = now_ms + LICENCE_MS;
  }
  return !licence->is_slow;
}

/* Adds the claim of a connection that collects a message. False: no memory. */
static bool add_claim(struct connection_table *table, struct connection *connection, int64_t now_ms)
{
  size_t held = atomic_load_explicit(&connection->counted, memory_order_relaxed);
  if (held == 0)
    return true;
  pthread_mutex_lock(&connection->lock);
  bool is_claim = is_collecting(connection);
  struct input_claim claim = {.owner = connection,
                              .held = held,
                              .left = is_claim ? count_bytes_left(connection, held) : 0,
                              .goes_on = is_claim && keeps_licence(connection, held, now_ms)};
  pthread_mutex_unlock(&connection->lock);
  if (!is_claim)
    return true;
  struct input_claim *added = array_add(&table->claims, 1);
  if (added != NULL)
    *added = claim;
  return added != NULL;
}

/* Grants the connection a licence or revokes it, and submits the connection if it has paused and may be read now. */
static void set_licence(struct connection *connection, bool is_licensed, size_t held, int64_t now_ms)
{
  struct input_licence *licence = &connection->licence;
  pthread_mutex_lock(&connection->lock);
  if (is_licensed && !atomic_load_explicit(&licence->is_valid, memory_order_relaxed)) {
    licence->held = held;
    licence->until_ms = now_ms + LICENCE_MS;
  }
  atomic_store_explicit(&licence->is_valid, is_licensed, memory_order_relaxed);
  bool is_paused = connection->state == CONNECTION_PAUSED;
  pthread_mutex_unlock(&connection->lock);
  if (is_paused && (is_licensed || !input_budget_is_short(connection->table->input)))
    crew_submit(connection->table->crew, &connection->source);
}

/* Makes the watcher the owner of a connection that collects a message. False: the connection has an owner, or
 * collects no message. */
static bool own_unfinished(struct connection *connection)
{
  pthread_mutex_lock(&connection->lock);
  bool taken = connection_is_unowned(connection) && is_collecting(connection) &&
               atomic_load_explicit(&connection->counted, memory_order_relaxed) > 0;
  if (taken)
    connection_own(connection);
  pthread_mutex_unlock(&connection->lock);
  return taken;
}

/* Cuts messages off until the input is one sixteenth below the bound, so that other connections can be read. */
static void cut_largest(struct connection_table *table, struct crew_member *watcher)
{
  struct input_budget *input = table->input;
  const struct input_claim *claims = table->claims.items;
  input_budget_sort_largest(table->claims.items, table->claims.count);
  for (size_t i = 0; i < table->claims.count && input_budget_room(input) < input->max / 16; i++) {
    struct connection *connection = claims[i].owner;
    if (!own_unfinished(connection))
      continue;
    log_warn_rarely("a message was cut off after %zu bytes: all input together exceeds input-max-total",
                    claims[i].held);
    connection_cut(connection, watcher);
  }
}

/* Pauses, resumes and cuts the connections in the first place_count places, by the rules of
 * net/admission/input_budget.h. True: call it again soon. */
static bool share_input(struct connection_table *table, struct crew_member *watcher, size_t place_count,
                        int64_t now_ms)
{
  if (!input_budget_is_short(table->input)) {
    bool has_paused = atomic_load(&table->paused) > 0;
    for (size_t i = 0; has_paused && i < place_count; i++)
      set_licence(connection_table_place(table, i), false, 0, now_ms);
    return has_paused;
  }
  table->claims.count = 0;
  for (size_t i = 0; i < place_count; i++) {
    if (!add_claim(table, connection_table_place(table, i), now_ms))
      return true; /* no memory for all claims: try again */
  }
  if (input_budget_is_full(table->input)) {
    cut_largest(table, watcher);
  } else {
    const struct input_claim *claims = table->claims.items;
    input_budget_choose(table->claims.items, table->claims.count, input_budget_room(table->input));
    for (size_t i = 0; i < table->claims.count; i++)
      set_licence(claims[i].owner, claims[i].is_licensed, claims[i].held, now_ms);
  }
  return atomic_load(&table->paused) > 0 || input_budget_is_full(table->input);
}

/* --- deadlines and the end; the watcher --- */

static bool must_be_seized(struct connection_table *table, struct connection *connection, int64_t now_ms)
{
  const struct rpc_service *service = crew_service(table->crew);
  return atomic_load(&table->is_draining) && !connection_is_seized(connection) &&
         (now_ms >= atomic_load(&table->grace_end_ms) ||
          service->is_exiting(service->context, connection->worker));
}

/* Visits a connection in call. True: the watcher has to call connection_duplex_end_upcall afterwards, without the
 * lock. */
static bool check_in_call(struct connection_table *table, struct connection *connection,
                          struct crew_member *watcher, bool is_late, int64_t now_ms)
{
  if (must_be_seized(table, connection, now_ms)) {
    connection_seize(connection, watcher);
    pthread_mutex_lock(&table->lock);
    table->seized++;
    pthread_mutex_unlock(&table->lock);
  } else if (is_late && connection->duplex != NULL) {
    atomic_store(connection->deadline_ms, connection_duplex_check(connection));
  } else if (is_late) {
    connection_flush(connection);
    atomic_store(connection->deadline_ms,
                 connection_waits_for_audit(connection) ? CONNECTION_FLUSH_SOON : INT64_MAX);
    return false;
  }
  if (connection->duplex == NULL)
    return false;
  connection_duplex_begin_upcall(connection);
  return true;
}

/* True while open callbacks of the connection have time to end: the grace time, unless their threads are exiting. */
static bool is_awaited(const struct connection_table *table, const struct connection *connection,
                       int64_t now_ms)
{
  const struct rpc_service *service = crew_service(table->crew);
  return connection_duplex_is_urgent(connection) && now_ms < atomic_load(&table->grace_end_ms) &&
         !service->are_exiting(service->context, connection->duplex->callbacks);
}

static void check_connection(struct connection_table *table, struct connection *connection,
                             struct crew_member *watcher, int64_t now_ms)
{
  bool taken = false;
  bool calls = false;
  bool is_due = false;
  bool draining = atomic_load(&table->is_draining);
  pthread_mutex_lock(&connection->lock);
  bool is_late = atomic_load(connection->deadline_ms) <= now_ms;
  if (in_call_visit(&connection->in_call)) {
    calls = check_in_call(table, connection, watcher, is_late, now_ms);
    in_call_leave(&connection->in_call);
  } else if (connection->is_deferred && is_late) {
    is_due = connection_send_deferred_late(connection);
  } else if (connection_is_unowned(connection) &&
             (is_late || (draining && !is_awaited(table, connection, now_ms)))) {
    connection_own(connection);
    taken = true;
  }
  pthread_mutex_unlock(&connection->lock);
  if (is_due)
    crew_submit(table->crew, &connection->source);
  if (calls)
    connection_duplex_end_upcall(connection);
  if (taken && is_late)
    connection_expire(connection, watcher);
  else if (taken)
    connection_close_gracefully(connection, watcher);
}

/* Checks the connections whose deadline is not after `until_ms`. Returns the first remaining deadline. */
static int64_t check_chunk(struct connection_table *table, struct connection_chunk *chunk,
                           struct crew_member *watcher, int64_t until_ms, int64_t now_ms)
{
  int64_t first_ms = INT64_MAX;
  for (size_t line = 0; line < CHUNK_LINES; line++) {
    for (size_t i = 0; i < LINE_DEADLINES; i++) {
      _Atomic int64_t *deadline = &chunk->deadlines_ms[line][i];
      if (atomic_load_explicit(deadline, memory_order_relaxed) <= until_ms)
        check_connection(table, &chunk->places[i * CHUNK_LINES + line], watcher, now_ms);
      int64_t next_ms = atomic_load_explicit(deadline, memory_order_relaxed);
      first_ms = next_ms < first_ms ? next_ms : first_ms;
    }
  }
  return first_ms;
}

/* --- principals that have changed; the watcher --- */

/* Ends the connection if its evidence no longer shows its principal. False: a turn owns the connection and is not
 * in call, so nothing was checked, and the connection must be checked again later. */
static bool check_principal(struct connection *connection, struct crew_member *watcher)
{
  bool is_checked = true;
  bool taken = false;
  pthread_mutex_lock(&connection->lock);
  if (connection->state == CONNECTION_FREE) {
    /* there is no connection in this place */
  } else if (in_call_visit(&connection->in_call)) {
    if (connection->protocol->expel != NULL && connection_has_lost_principal(connection))
      connection_expel_in_call(connection);
    in_call_leave(&connection->in_call);
  } else if (!connection_is_unowned(connection)) {
    is_checked = false;
  } else if (connection->protocol->expel != NULL && connection_has_lost_principal(connection)) {
    connection_own(connection);
    taken = true;
  }
  pthread_mutex_unlock(&connection->lock);
  if (taken)
    connection_expel(connection, watcher);
  return is_checked;
}

/* generation: the generation of the principals from before place_count was read. Each connection that was judged
 * before that generation has one of these places. True: some connections could not be checked, so call it
 * again soon. */
static bool check_principals(struct connection_table *table, struct crew_member *watcher, size_t place_count,
                             uint64_t generation)
{
  bool is_complete = true;
  if (generation == table->checked)
    return false;
  for (size_t i = 0; i < place_count; i++)
    is_complete = check_principal(connection_table_place(table, i), watcher) && is_complete;
  if (is_complete)
    table->checked = generation;
  return !is_complete;
}

int64_t connection_table_tick(struct connection_table *table, struct crew_member *watcher, int64_t now_ms)
{
  const struct principals *principals = table->limits.principals;
  const uint64_t generation = principals == NULL ? table->checked : principals_generation(principals);
  pthread_mutex_lock(&table->lock);
  size_t count = table->chunk_count;
  pthread_mutex_unlock(&table->lock);
  bool draining = atomic_load(&table->is_draining);
  int64_t first_ms = INT64_MAX;
  for (size_t i = 0; i < count; i++) {
    int64_t next_ms = check_chunk(table, table->chunks[i], watcher, draining ? INT64_MAX : now_ms, now_ms);
    first_ms = next_ms < first_ms ? next_ms : first_ms;
  }
  bool has_unchecked = check_principals(table, watcher, count * CHUNK_PLACES, generation);
  return share_input(table, watcher, count * CHUNK_PLACES, now_ms) || has_unchecked ? now_ms : first_ms;
}

void connection_table_drain(struct connection_table *table, int64_t grace_end_ms)
{
  pthread_mutex_lock(&table->lock);
  atomic_store(&table->grace_end_ms, grace_end_ms);
  atomic_store(&table->is_draining, true);
  pthread_mutex_unlock(&table->lock);
}

bool connection_table_is_drained(struct connection_table *table)
{
  pthread_mutex_lock(&table->lock);
  bool drained = table->open == table->seized;
  pthread_mutex_unlock(&table->lock);
  return drained;
}
