#ifndef JPEER_NET_WORKERS_WAKE_WORD_H
#define JPEER_NET_WORKERS_WAKE_WORD_H
/*
 * How threads wake a member that waits, with a system call only where it sleeps.
 *
 * A waker changes the state that the member waits for, and then sets the word to WOKEN; if it was ASLEEP, the waker
 * also rings, by a write to the member's eventfd. The member
 *
 *   takes     sets the word to AWAKE, and looks at the state
 *   looks     as long as the word is AWAKE
 *   sleeps    if it can change the word from AWAKE to ASLEEP
 *
 * and takes again after that. No wake is lost: all accesses but the look's change the one word in one step each, so they
 * have one order. If the member's take comes after the waker's step, the member has read what the waker wrote, and sees
 * the state (the waker releases, the member acquires; a step of another waker in between goes on with that release).
 * If it comes before, the waker's step is between that take and the next one: then the change to ASLEEP fails, or comes
 * first and the waker rings. A look that is late only costs time.
 *
 * A bell that comes after the member has woken for another reason ends its next sleep at once. That is one sleep too
 * short, and nothing else.
 *
 * The model check (tests/model/wake_word.cc; relacy, which is C++98) compiles this file with a word and accesses of its
 * own: it defines WAKE_HAS_OWN_ATOMICS and the names below.
 */
#include <stdbool.h>

enum wake_state { WAKE_AWAKE, WAKE_ASLEEP, WAKE_WOKEN };

#ifndef WAKE_HAS_OWN_ATOMICS
#include <stdatomic.h>

typedef _Atomic int wake_word;

#define WAKE_LOAD(word)                   atomic_load_explicit((word), memory_order_relaxed)
#define WAKE_EXCHANGE(word, value, order) atomic_exchange_explicit((word), (value), (order))
#define WAKE_REPLACE(word, expected, value)                                                                  \
  atomic_compare_exchange_strong_explicit((word), (expected), (value), memory_order_relaxed,                 \
                                          memory_order_relaxed)
#define WAKE_ORDER_WAKER memory_order_release
#define WAKE_ORDER_TAKE  memory_order_acquire
#endif

/* A waker's, after it has changed the state. True: it has to ring. */
static inline bool wake_word_wake(wake_word *word)
{
  return WAKE_EXCHANGE(word, WAKE_WOKEN, WAKE_ORDER_WAKER) == WAKE_ASLEEP;
}

/* The member's: false as long as nobody has woken it since it took last. */
static inline bool wake_word_is_woken(wake_word *word)
{
  return WAKE_LOAD(word) != WAKE_AWAKE;
}

/* The member's, before it looks at the state. */
static inline void wake_word_take(wake_word *word)
{
  if (wake_word_is_woken(word))
    (void)WAKE_EXCHANGE(word, WAKE_AWAKE, WAKE_ORDER_TAKE);
}

/* The member's. True: it may sleep until the bell. */
static inline bool wake_word_sleep(wake_word *word)
{
  int expected = WAKE_AWAKE;
  return WAKE_REPLACE(word, &expected, WAKE_ASLEEP);
}

#endif
