#ifndef JPEER_RING_RING_NOTIFICATION_H
#define JPEER_RING_RING_NOTIFICATION_H
/*
 * Lets one side wait for the other side without polling all the time and without losing a wake-up.
 *
 * One side, the mover, moves a position. The other side, the waiter, waits until the position changes. The
 * waiter publishes in its sleep word that it sleeps. If the waiter sleeps, the mover notifies it by a byte on
 * the socket. A pair of rings has four waits, because each side waits for bytes (the other side's `written`)
 * and for room (the other side's `taken`). All four use the same code.
 *
 *   mover                                   waiter
 *   M1  store the position                  W1  store the sleep word: asleep
 *   M2  load the sleep word                 W2  load the position
 *   notifies if it says asleep              sleeps if it has not moved
 *
 * A wake-up is lost if M2 reads "polling" and W2 reads the old position. This is impossible, because all four
 * steps are sequentially consistent: both sides agree on one order of the steps. If M2 does not read the
 * value that W1 has stored, M2 comes before W1 in that order. M1 comes before M2 and W1 before W2, by the
 * order of the program. So M1 comes before W2, and W2 reads the position of M1 or a later position: the
 * waiter does not sleep.
 *
 * All four steps need this order. If M1 or W1 were only a release, its store could wait in the core's store
 * buffer until the next load is done, as on x86. If M2 or W2 were only an acquire, the load would have no
 * place in the common order, and could be done before the store that precedes it, as on ARM. In both cases
 * both loads can read the old values.
 *
 * M1 is also a release, and every load of a position is also an acquire. For this reason a side that sees a
 * position `written` sees the bytes before that position, and a side that sees a position `taken` may write
 * over the bytes before it.
 *
 * Each sleep has its own number, so that the mover notifies once for each sleep. A received notification ends
 * the sleep. To continue its sleep, a side publishes the next number and loads the position again.
 *
 * The model check (relacy, which is C++98) compiles this file with its own words and accesses. For this the
 * model check defines RING_HAS_OWN_ATOMICS and the names below.
 */
#include <stdbool.h>
#include <stdint.h>

#ifndef RING_HAS_OWN_ATOMICS
#include <stdatomic.h>

typedef _Atomic uint64_t ring_position;
typedef _Atomic uint32_t ring_word;

#define RING_LOAD(word, order)         atomic_load_explicit((word), (order))
#define RING_STORE(word, value, order) atomic_store_explicit((word), (value), (order))
#define RING_ACQUIRE                   memory_order_acquire
#define RING_RELAXED                   memory_order_relaxed
#define RING_ORDER_M1                  memory_order_seq_cst
#define RING_ORDER_M2                  memory_order_seq_cst
#define RING_ORDER_W1                  memory_order_seq_cst
#define RING_ORDER_W2                  memory_order_seq_cst
#endif

enum { RING_POLLING = 0 }; /* the sleep word of a side that polls */

/* For the mover: moves the position. True: the mover must notify the waiter. *notified is the sleep word at
 * the mover's last move, so that the mover notifies once for each sleep. It is private to the mover and 0 at
 * first. */
static inline bool ring_move_position(ring_position *position, uint64_t value, ring_word *sleep,
                                      uint32_t *notified)
{
  RING_STORE(position, value, RING_ORDER_M1);
  uint32_t number = RING_LOAD(sleep, RING_ORDER_M2);
  bool must_notify = number != RING_POLLING && number != *notified;
  *notified = number;
  return must_notify;
}

/* For the waiter: publishes that it sleeps, and returns the position. If this is not the position that the
 * waiter already knows, the waiter must not sleep, and calls ring_end_sleep. *number is the waiter's private
 * number of its last sleep, 0 at first. */
static inline uint64_t ring_begin_sleep(ring_position *position, ring_word *sleep, uint32_t *number)
{
  *number += 1;
  if (*number == RING_POLLING)
    *number = 1;
  RING_STORE(sleep, *number, RING_ORDER_W1);
  return RING_LOAD(position, RING_ORDER_W2);
}

/* For the waiter: publishes that it polls again. If the mover reads this late, the mover sends one
 * unnecessary notification. */
static inline void ring_end_sleep(ring_word *sleep)
{
  RING_STORE(sleep, RING_POLLING, RING_RELAXED);
}

/* For the waiter, while it polls. */
static inline uint64_t ring_poll_position(ring_position *position)
{
  return RING_LOAD(position, RING_ACQUIRE);
}

#endif
