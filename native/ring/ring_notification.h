#ifndef JPEER_RING_RING_NOTIFICATION_H
#define JPEER_RING_RING_NOTIFICATION_H
/*
 * Lets one side wait for the other without polling all the time, and without losing a wake-up.
 *
 * One side moves a position; the other waits for it. The waiter publishes by its own sleep word that it sleeps, and
 * then the mover notifies it: a byte on the socket. A pair of rings has four waits: each side waits for bytes
 * (the other's `written`) and for room (the other's `taken`). All four use the same code.
 *
 *   mover                                   waiter
 *   M1  store the position                  W1  store the sleep word: asleep
 *   M2  load the sleep word                 W2  load the position
 *   notifies if it says asleep              sleeps if it has not moved
 *
 * A wake-up is lost if M2 reads "polling" and W2 reads the old position. This is impossible, because all four
 * are sequentially consistent: both sides agree on one order. If M2 does not read what W1 stored, M2 comes
 * before W1 in that order. M1 comes before M2 and W1 before W2, by the order of the program. So M1 comes
 * before W2, and W2 reads the position of M1 or a later position: the waiter does not sleep.
 *
 * Each of the four is needed. M1 as a release, or W1, may wait in its core's store buffer until the load after it is
 * done, as x86 does. M2 or W2 as an acquire has no place in the common order: it may be done before the store that
 * precedes it, as ARM does. Either way both loads can read the old values.
 *
 * M1 is a release and every load of a position an acquire, too: a side that sees a position sees the bytes
 * before it (`written`), or may write over them (`taken`).
 *
 * Each sleep has its own number, so that the mover notifies once for it. A received notification ends the sleep. To
 * sleep on, a side publishes the next number and loads the position again.
 *
 * The model check (relacy, which is C++98) compiles this file with its own words and accesses: it defines
 * RING_HAS_OWN_ATOMICS and the names below.
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

/* For the mover: moves the position. True if it must notify. *notified is the sleep word at the mover's last move,
 * private to the mover and 0 at first: each sleep is notified once. */
static inline bool ring_move_position(ring_position *position, uint64_t value, ring_word *sleep,
                                      uint32_t *notified)
{
  RING_STORE(position, value, RING_ORDER_M1);
  uint32_t number = RING_LOAD(sleep, RING_ORDER_M2);
  bool must_notify = number != RING_POLLING && number != *notified;
  *notified = number;
  return must_notify;
}

/* For the waiter: publishes that it sleeps, and returns the position. If the waiter knows another position, it must
 * not sleep (ring_end_sleep). *number is the waiter's private number of its last sleep, 0 at first. */
static inline uint64_t ring_begin_sleep(ring_position *position, ring_word *sleep, uint32_t *number)
{
  *number += 1;
  if (*number == RING_POLLING)
    *number = 1;
  RING_STORE(sleep, *number, RING_ORDER_W1);
  return RING_LOAD(position, RING_ORDER_W2);
}

/* For the waiter: it polls again. If the mover reads this late, it sends one unnecessary notification. */
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
