#ifndef JPEER_BASE_IN_CALL_H
#define JPEER_BASE_IN_CALL_H
/*
 * Whether the owner of something is inside a call, and how another thread gets at that thing while it is: the watcher at
 * the output of a connection (net/connection), and whoever names a thread at the call of its worker (rpc/call_watch.h).
 *
 * The owner goes in and out for each message. A mutex, locked twice for that, took 7 % of the time of a small
 * message in shared memory, and nobody else comes to nearly all of them. So the owner changes one word, and takes the
 * lock on its way out only if somebody is there:
 *
 *   owner                                         visitor, which holds the lock
 *   begin  OUTSIDE -> INSIDE                      visit  INSIDE -> VISITED, or it goes away
 *          is inside the service                         sends the output, or answers in the owner's place
 *   end    INSIDE -> OUTSIDE                      leave  VISITED -> INSIDE
 *          VISITED: takes the lock, INSIDE -> OUTSIDE
 *
 * `begin` and `leave` are releases, `visit` and `end` acquires, so that each of the two sees all that the other has
 * written. The owner that finds a visitor gets the lock when that has left. An owner whose connection other threads
 * may write to (net/connection/connection_duplex.h) holds the lock around begin and end, and so do they while they
 * ask. The call in which the duplex is made has begun without the lock, but the owner itself makes it under the lock,
 * before any other thread knows of it.
 *
 * The model check (tests/model/in_call.cc; relacy, which is C++98) compiles this file with a word and accesses of its own:
 * it defines IN_CALL_HAS_OWN_ATOMICS and the names below.
 */
#include <stdbool.h>

enum in_call_state { IN_CALL_OUTSIDE, IN_CALL_INSIDE, IN_CALL_VISITED };

#ifndef IN_CALL_HAS_OWN_ATOMICS
#include <stdatomic.h>

typedef _Atomic int in_call_word;

#define IN_CALL_LOAD(word)                atomic_load_explicit((word), memory_order_relaxed)
#define IN_CALL_STORE(word, value, order) atomic_store_explicit((word), (value), (order))
#define IN_CALL_REPLACE(word, expected, value, order)                                                        \
  atomic_compare_exchange_strong_explicit((word), (expected), (value), (order), memory_order_relaxed)
#define IN_CALL_ORDER_BEGIN memory_order_release
#define IN_CALL_ORDER_END   memory_order_acquire
#define IN_CALL_ORDER_VISIT memory_order_acquire
#define IN_CALL_ORDER_LEAVE memory_order_release
#endif

/* The owner's. */
static inline void in_call_begin(in_call_word *word)
{
  IN_CALL_STORE(word, IN_CALL_INSIDE, IN_CALL_ORDER_BEGIN);
}
/* The owner's. False: somebody visits, and the owner takes the lock before it tries again. */
static inline bool in_call_end(in_call_word *word)
{
  int expected = IN_CALL_INSIDE;
  return IN_CALL_REPLACE(word, &expected, IN_CALL_OUTSIDE, IN_CALL_ORDER_END);
}
/* Of a thread that holds the lock. False: the owner is not inside. */
static inline bool in_call_visit(in_call_word *word)
{
  int expected = IN_CALL_INSIDE;
  return IN_CALL_REPLACE(word, &expected, IN_CALL_VISITED, IN_CALL_ORDER_VISIT);
}
/* The visitor's, before it gives the lock back. */
static inline void in_call_leave(in_call_word *word)
{
  IN_CALL_STORE(word, IN_CALL_INSIDE, IN_CALL_ORDER_LEAVE);
}
/* True also for a visitor itself. It stays as it is for the owner and for a visitor, and where the connection has a
 * duplex, for who holds the lock; for others it may change at once. */
static inline bool in_call_is_inside(const in_call_word *word)
{
  return IN_CALL_LOAD(word) != IN_CALL_OUTSIDE;
}

#endif
