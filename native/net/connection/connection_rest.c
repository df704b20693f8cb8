/* How a connection waits between its turns: armed in epoll, awake, paused, or in the ready queue. */
#include "net/connection/connection_duplex.h"
#include "net/connection/connection_table.h"

#include <sys/epoll.h>

/* --- for the crew, while the connection is awake --- */

static bool look_at_client(struct crew_source *source)
{
  struct connection *connection = (struct connection *)(void *)source;
  return connection->protocol->carrier->look(connection);
}

static bool send_to_sleep(struct crew_source *source)
{
  struct connection *connection = (struct connection *)(void *)source;
  return connection->protocol->carrier->sleep(connection, true, false);
}

static int meet_client(struct crew_source *source, int processor)
{
  struct connection *connection = (struct connection *)(void *)source;
  return connection->protocol->carrier->meet(connection, processor);
}

const struct crew_lookout connection_lookout = {look_at_client, send_to_sleep, meet_client};

/* --- at the end of a turn --- */

bool connection_waits_for_room(const struct connection *connection, enum step last)
{
  return last == STEP_BLOCKED || last == STEP_SERVED || connection_unsent(connection) > 0;
}

/* epoll is level-triggered here: a socket that is ready is delivered again, behind the others. If there is
 * input in the buffers and not in the socket, EPOLLOUT brings the connection back, unless the client reads
 * nothing. A socket that carries no messages always has room: there a bell brings it back. */
static uint32_t wanted_events(const struct connection *connection, enum step last)
{
  bool reads = last != STEP_PAUSES && (last != STEP_BLOCKED || connection_duplex_reads_on(connection));
  bool writes = connection_waits_for_room(connection, last);
  if (connection->protocol->carrier != NULL)
    return !connection->at_end && (reads || writes) ? EPOLLIN : 0;
  return (!connection->at_end && reads ? EPOLLIN : 0) | (writes ? EPOLLOUT : 0);
}

/* True if the crew looks at it from now on. Not with a duplex: other threads may send then, under a lock that looking
 * does not take. Under the lock. */
static bool stays_awake(struct connection *connection, enum step last)
{
  return connection->protocol->carrier != NULL && connection->duplex == NULL && last == STEP_NEEDS_INPUT &&
         !connection->is_lingering && connection_unsent(connection) == 0 &&
         crew_keep_awake(connection->table->crew, &connection->source);
}

/* False if there is something to do at once that no event will bring. Under the lock. */
static bool may_sleep(struct connection *connection, enum step last)
{
  const struct connection_carrier *carrier = connection->protocol->carrier;
  if (carrier == NULL)
    return true;
  bool is_unsent = connection_unsent(connection) > 0;
  if (last == STEP_SERVED || (last == STEP_BLOCKED && !is_unsent))
    return false;
  bool for_input = last != STEP_PAUSES && !connection->is_lingering &&
                   (last != STEP_BLOCKED || connection_duplex_reads_on(connection));
  return carrier->sleep(connection, for_input, is_unsent);
}

/* A connection that the crew has found by looking is armed already. */
enum jp_status connection_watch(struct connection *connection, uint32_t events)
{
  if (connection_has_left(connection) || (connection->is_armed && connection->protocol->carrier != NULL))
    return JP_OK;
  connection->is_armed = true;
  return crew_watch_again(connection->table->crew, &connection->source, connection->fd, events, NULL);
}

enum jp_status connection_arm(struct connection *connection, enum step last, bool *is_ready)
{
  uint32_t events = wanted_events(connection, last);
  bool is_awake = last != STEP_WAITS && stays_awake(connection, last);
  *is_ready = last == STEP_WAITS || connection_duplex_must_tell(connection) ||
              (!is_awake && !may_sleep(connection, last));
  bool is_watched = !*is_ready && !(last == STEP_PAUSES && events == 0);
  if (connection->duplex != NULL)
    connection->duplex->armed_events = is_watched ? events : 0;
  return is_watched ? connection_watch(connection, events) : JP_OK;
}

void connection_note_paused(struct connection *connection)
{
  connection->is_paused = true;
  atomic_fetch_add(&connection->table->paused, 1);
}

bool connection_rest(struct connection *connection)
{
  const struct connection_carrier *carrier = connection->protocol->carrier;
  return carrier != NULL && !connection_has_begun(connection) && carrier->rest(connection);
}
