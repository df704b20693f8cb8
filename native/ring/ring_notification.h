#ifndef JPEER_RING_RING_NOTIFICATION_H
#define JPEER_RING_RING_NOTIFICATION_H
/*
 * How one side waits for the other without looking all the time, and without a wake-up that is lost.
 *
 * One side moves a position; the other waits for it. The waiter says by a sleep word of its own that nobody
 * looks, and then the mover rings: a byte on the socket. A pair of rings has four such waits: each side waits
 * for bytes (the other's `written`) and for room (the other's `taken`). All four are the same code.
 *
 *   mover                                   waiter
 *   M1  store the position                  W1  store the sleep word: asleep
 *   M2  load the sleep word                 W2  load the position
 *   rings if it says asleep                 sleeps if it has not moved
 *
 * A wake-up is lost if M2 reads "awake" and W2 reads the old position. That cannot be, because all four are
 * sequentially consistent and so have one order that both sides agree on. If M2 does not read what W1 stored,
 * M2 comes before W1 in that order. M1 comes before M2 and W1 before W2, by the order of the program. So M1
 * comes before W2, and W2 reads that position or a later one: the waiter does not sleep.
 *
 * Each of the four is needed. M1 as a release, or W1, may wait in its core's store buffer until the load
 * behind it is done, as x86 does. M2 or W2 as an acquire has no place in the common order: it may be done
 * before the store in front of it, as ARM does. Either way both loads can read the old values.
 *
 * M1 is a release and every load of a position an acquire, too: a side that sees a position sees the bytes
 * before it (`written`), or may write over them (`taken`).
 *
 * Each sleep has a number of its own, so that the mover rings once for it. A bell that is heard ends the
 * sleep. A side that sleeps on says so again, with the next number, and looks again.
 *
 * The model check (relacy, which is C++98) compiles this file with words and accesses of its own: it defines
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

enum { RING_POLLING = 0 }; /* the sleep word of a side that looks */

/* The mover's: moves the position. True if it has to ring. *rung is the mover's own memory of the last sleep
 * that it rang for, 0 at first. */
static inline bool ring_move_position(ring_position *position, uint64_t value, ring_word *sleep,
                                      uint32_t *rung)
{
  RING_STORE(position, value, RING_ORDER_M1);
  uint32_t number = RING_LOAD(sleep, RING_ORDER_M2);
  bool must_ring = number != RING_POLLING && number != *rung;
  *rung = number;
  return must_ring;
}

/* The waiter's: says that nobody looks, and returns the position. If that is not the one that the waiter knows,
 * it must not sleep (ring_end_sleep). *number is the waiter's own memory of its last sleep, 0 at first. */
static inline uint64_t ring_begin_sleep(ring_position *position, ring_word *sleep, uint32_t *number)
{
  *number += 1;
  if (*number == RING_POLLING)
    *number = 1;
  RING_STORE(sleep, *number, RING_ORDER_W1);
  return RING_LOAD(position, RING_ORDER_W2);
}

/* The waiter's: it looks again. If this is seen late, there is a bell too many. */
static inline void ring_end_sleep(ring_word *sleep)
{
  RING_STORE(sleep, RING_POLLING, RING_RELAXED);
}

/* The waiter's, awake. */
static inline uint64_t ring_poll_position(ring_position *position)
{
  return RING_LOAD(position, RING_ACQUIRE);
}

#endif
