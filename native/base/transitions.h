#ifndef JPEER_BASE_TRANSITIONS_H
#define JPEER_BASE_TRANSITIONS_H
/*
 * The transitions of an enum of states. Beside each enum is one table, in which the row of a state names the states
 * that may follow:
 *
 *   static const uint16_t door_transitions[] = {
 *     [DOOR_OPEN] = TO(DOOR_CLOSED),
 *     [DOOR_CLOSED] = TO(DOOR_OPEN) | TO(DOOR_LOCKED),
 *     [DOOR_LOCKED] = TO(DOOR_CLOSED),
 *   };
 *
 * One function changes the state. It begins with ASSERT_TRANSITION, and asserts by mutex_is_locked that the
 * lock of the state is held, if the state has a lock. A build without assertions has neither check, so a
 * change of state is one store there. The first row is the state of a new object. Initialising the object is
 * not a transition.
 *
 * tools/state-diagrams reads these tables and draws docs/states.md from them, so each table must have the
 * form above. A row may take several lines.
 */
#include <assert.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TO(state) ((uint16_t)(1U << (state)))

static inline bool transition_is_allowed(const uint16_t *table, size_t count, unsigned from, unsigned to)
{
  return from < count && (table[from] & TO(to)) != 0;
}

/* True if some thread holds the lock. Use it only in assertions. */
static inline bool mutex_is_locked(const pthread_mutex_t *mutex)
{
  if (pthread_mutex_trylock((pthread_mutex_t *)mutex) != 0)
    return true;
  pthread_mutex_unlock((pthread_mutex_t *)mutex);
  return false;
}

#ifdef NDEBUG
#define ASSERT_TRANSITION(table, from, to) ((void)sizeof(table))
#else
#define ASSERT_TRANSITION(table, from, to)                                                                   \
  assert(transition_is_allowed((table), sizeof(table) / sizeof(table)[0], (unsigned)(from), (unsigned)(to)))
#endif

#endif
