/* The watcher's part of the bound on input (net/admission/input_budget.h): licences to go on, and cuts. */
#include "base/log.h"
#include "net/connection/connection_table.h"

#include <stdlib.h>

/* A connection with a licence is slow if it collects less than MUCH in LICENCE_MS. */
enum { LICENCE_MS = 100, MUCH = 16 * 1024 };

static bool add_claim(struct connection_table *table, const struct input_claim *claim)
{
  if (table->claim_count == table->claim_room) {
    size_t room = table->claim_room == 0 ? 64 : table->claim_room * 2;
    struct input_claim *claims = realloc(table->claims, room * sizeof *claims);
    if (claims == NULL)
      return false;
    table->claims = claims;
    table->claim_room = room;
  }
  table->claims[table->claim_count++] = *claim;
  return true;
}

/* Bytes that may still come of its message. Under its lock. */
static size_t bytes_left(const struct connection *connection, size_t held)
{
  size_t max = connection->limits->message_max;
  size_t most = held < max ? max - held : 0;
  if (connection->state != CONNECTION_ARMED)
    return most;
  size_t left = connection->protocol->bytes_left(connection);
  return left == SIZE_MAX ? most : left;
}

/* True while it collects a message: a whole one is not cut and needs no licence. Under its lock. */
static bool is_collecting(const struct connection *connection)
{
  if (connection->state == CONNECTION_FREE || in_call_is_inside(&connection->in_call))
    return false;
  return connection->state == CONNECTION_OWNED || (!connection->has_message && !connection->is_lingering);
}

/* True if it keeps the licence that it has. A slow connection counts as slow until it is quick again. Under
 * its lock. */
static bool keeps_licence(struct connection *connection, size_t held, int64_t now_ms)
{
  struct input_licence *licence = &connection->licence;
  if (!atomic_load_explicit(&licence->is_valid, memory_order_relaxed))
    return false;
  bool has_moved = held < licence->held || held >= licence->held + MUCH;
  if (has_moved || now_ms >= licence->until_ms) {
    licence->is_slow = !has_moved;
    licence->held = held;
    licence->until_ms = now_ms + LICENCE_MS;
  }
  return !licence->is_slow;
}

static bool claim_for(struct connection_table *table, struct connection *connection, int64_t now_ms)
{
  size_t held = atomic_load_explicit(&connection->counted, memory_order_relaxed);
  if (held == 0)
    return true;
  pthread_mutex_lock(&connection->lock);
  bool is_claim = is_collecting(connection);
  struct input_claim claim = {.owner = connection,
                              .held = held,
                              .left = is_claim ? bytes_left(connection, held) : 0,
                              .goes_on = is_claim && keeps_licence(connection, held, now_ms)};
  pthread_mutex_unlock(&connection->lock);
  return !is_claim || add_claim(table, &claim);
}

/* False: no memory for all. */
static bool gather_claims(struct connection_table *table, size_t place_count, int64_t now_ms)
{
  bool has_all = true;
  table->claim_count = 0;
  for (size_t i = 0; has_all && i < place_count; i++)
    has_all = claim_for(table, connection_table_place(table, i), now_ms);
  return has_all;
}

/* Gives the connection a licence or takes it away, and submits it if it has paused and may go on. */
static void set_licence(struct connection *connection, bool is_licensed, size_t held, int64_t now_ms)
{
  struct input_licence *licence = &connection->licence;
  pthread_mutex_lock(&connection->lock);
  if (is_licensed && !atomic_load_explicit(&licence->is_valid, memory_order_relaxed)) {
    licence->held = held;
    licence->until_ms = now_ms + LICENCE_MS;
  }
  atomic_store_explicit(&licence->is_valid, is_licensed, memory_order_relaxed);
  bool is_paused = connection->is_paused;
  pthread_mutex_unlock(&connection->lock);
  if (is_paused && (is_licensed || !input_budget_is_short(connection->table->input)))
    crew_submit(connection->table->crew, &connection->source);
}

static void give_licences(struct connection_table *table, int64_t now_ms)
{
  input_budget_choose(table->claims, table->claim_count, input_budget_room(table->input));
  for (size_t i = 0; i < table->claim_count; i++)
    set_licence(table->claims[i].owner, table->claims[i].is_licensed, table->claims[i].held, now_ms);
}

static void resume_all(struct connection_table *table, size_t place_count, int64_t now_ms)
{
  for (size_t i = 0; i < place_count; i++)
    set_licence(connection_table_place(table, i), false, 0, now_ms);
}

/* True if nobody owned it; the watcher does then. */
static bool take_unfinished(struct connection *connection)
{
  pthread_mutex_lock(&connection->lock);
  bool taken = connection->state == CONNECTION_ARMED && is_collecting(connection) &&
               atomic_load_explicit(&connection->counted, memory_order_relaxed) > 0;
  if (taken)
    connection_own(connection);
  pthread_mutex_unlock(&connection->lock);
  return taken;
}

/* Cuts to somewhat below the bound, so that the others can go on. */
static void cut_largest(struct connection_table *table, struct crew_member *watcher)
{
  struct input_budget *input = table->input;
  input_budget_sort_largest(table->claims, table->claim_count);
  for (size_t i = 0; i < table->claim_count && input_budget_room(input) < input->max / 16; i++) {
    struct connection *connection = table->claims[i].owner;
    if (!take_unfinished(connection))
      continue;
    log_warn_rarely("a message of which %zu bytes have come is cut off: all together pass input-max-total",
                    table->claims[i].held);
    connection_cut(connection, watcher);
  }
}

bool connection_table_share_input(struct connection_table *table, struct crew_member *watcher,
                                  size_t place_count, int64_t now_ms)
{
  bool is_short = input_budget_is_short(table->input);
  if (!is_short && atomic_load(&table->paused) == 0)
    return false;
  if (!is_short) {
    resume_all(table, place_count, now_ms);
    return true;
  }
  if (!gather_claims(table, place_count, now_ms))
    return true;
  if (input_budget_is_full(table->input))
    cut_largest(table, watcher);
  else
    give_licences(table, now_ms);
  return atomic_load(&table->paused) > 0 || input_budget_is_full(table->input);
}
