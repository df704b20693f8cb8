#ifndef JPEER_BASE_IN_CALL_H
#define JPEER_BASE_IN_CALL_H
/*
 * One word that says whether the owner of an object is inside a call. By this word another thread, a visitor,
 * gets access to the object during the call. There are two kinds of visitors: the watcher, which sends the
 * output of a connection (net/connection), and the threads that name, list or interrupt the call of a
 * worker's thread (rpc/call_watch.h).
 *
 * The owner enters and leaves a call for each message. Locking a mutex for both would take 7 % of the time of
 * a small message in shared memory, and nearly no call has a visitor. For this reason the owner changes one
 * word, and locks at the end of the call only if there is a visitor:
 *
 *   owner                                         visitor, which holds the lock
 *   begin  OUTSIDE -> INSIDE                      visit  INSIDE -> VISITED, or returns
 *          is inside the service                         sends the output, or answers in the owner's place
 *   end    INSIDE -> OUTSIDE                      leave  VISITED -> INSIDE
 *          VISITED: takes the lock, INSIDE -> OUTSIDE
 *
 * A call can be shared: other threads may then access the object at any time, with the lock, and the owner
 * always locks at the end of the call (net/connection/connection_duplex.h). The owner or a visitor shares it,
 * with the lock:
 *
 *   share  INSIDE or VISITED -> SHARED            visit  SHARED stays
 *   end    SHARED: takes the lock, SHARED -> OUTSIDE
 *
 * `begin` and `leave` have release order, `visit` and `end` have acquire order. Each of the two threads
 * therefore sees everything that the other thread has written. An owner that finds a visitor, or a shared
 * call, gets the lock after the other thread has left.
 *
 * The model check (tests/model/in_call.cc; relacy, which is C++98) compiles this file with its own word and accesses:
 * it defines IN_CALL_HAS_OWN_ATOMICS and the names below.
 */
#include <stdbool.h>

enum in_call_state { IN_CALL_OUTSIDE, IN_CALL_INSIDE, IN_CALL_VISITED, IN_CALL_SHARED };

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

/* Called by the owner. */
static inline void in_call_begin(in_call_word *word)
{
  IN_CALL_STORE(word, IN_CALL_INSIDE, IN_CALL_ORDER_BEGIN);
}
/* Called by the owner, without the lock. False: there is a visitor, or the call is shared. The owner then
 * locks and calls in_call_end_locked. */
static inline bool in_call_end(in_call_word *word)
{
  int expected = IN_CALL_INSIDE;
  return IN_CALL_REPLACE(word, &expected, IN_CALL_OUTSIDE, IN_CALL_ORDER_END);
}
/* Called by the owner, which holds the lock: so no visitor is inside. */
static inline void in_call_end_locked(in_call_word *word)
{
  IN_CALL_STORE(word, IN_CALL_OUTSIDE, IN_CALL_ORDER_LEAVE);
}
/* Called by a thread that holds the lock. False: the owner is not inside a call. */
static inline bool in_call_visit(in_call_word *word)
{
  int expected = IN_CALL_INSIDE;
  return IN_CALL_REPLACE(word, &expected, IN_CALL_VISITED, IN_CALL_ORDER_VISIT) || expected == IN_CALL_SHARED;
}
/* Called by the visitor before it unlocks. */
static inline void in_call_leave(in_call_word *word)
{
  if (IN_CALL_LOAD(word) == IN_CALL_VISITED)
    IN_CALL_STORE(word, IN_CALL_INSIDE, IN_CALL_ORDER_LEAVE);
}
/* Shares the owner's current call until its end. The caller is a visitor or the owner, and holds the lock. */
static inline void in_call_share(in_call_word *word)
{
  IN_CALL_STORE(word, IN_CALL_SHARED, IN_CALL_ORDER_LEAVE);
}
/* True if the owner is inside a call. The result stays true for the owner itself, for a visitor, and in a
 * shared call for the holder of the lock. For all other threads the result may be outdated at once. */
static inline bool in_call_is_inside(const in_call_word *word)
{
  return IN_CALL_LOAD(word) != IN_CALL_OUTSIDE;
}

#endif
