#ifndef JPEER_NET_WORKERS_WAKE_WORD_H
#define JPEER_NET_WORKERS_WAKE_WORD_H
/*
 * A word through which a thread wakes a member that waits. A wake costs a system call only if the member
 * sleeps.
 *
 * A waker changes the state that the member waits for, and then sets the word to WOKEN. If the word was ASLEEP, the
 * waker also notifies the member, by a write to the member's eventfd. The member
 *
 *   resets    sets the word to POLLING, unless it is POLLING already, and reads the state
 *   polls     while the word is POLLING
 *   sleeps    if it can change the word from POLLING to ASLEEP
 *
 * After the sleep the member resets the word again.
 *
 * No wake is lost. All accesses except the poll change the word in one atomic step, so these steps have one order.
 *   - If the member's reset comes after the waker's step, the member sees the new state, because the waker's
 *     step is a release and the reset is an acquire. (A step of another waker in between continues the
 *     release sequence.)
 *   - If the waker's step comes between two resets, there are two cases: the member's change to ASLEEP comes
 *     after the waker's step and fails, or comes before it, and the waker notifies the member.
 * A poll that reads an old value only delays the member.
 *
 * A notification may arrive after the member has woken for another reason. It then ends the member's next sleep at
 * once, which does no harm.
 *
 * The model check (tests/model/wake_word.cc; relacy, which is C++98) compiles this file with its own word and
 * accesses. For this the model check defines WAKE_HAS_OWN_ATOMICS and the names below.
 */
#include <stdbool.h>

enum wake_state { WAKE_POLLING, WAKE_ASLEEP, WAKE_WOKEN };

#ifndef WAKE_HAS_OWN_ATOMICS
#include <stdatomic.h>

typedef _Atomic int wake_word;

#define WAKE_LOAD(word)                   atomic_load_explicit((word), memory_order_relaxed)
#define WAKE_EXCHANGE(word, value, order) atomic_exchange_explicit((word), (value), (order))
#define WAKE_REPLACE(word, expected, value)                                                                  \
  atomic_compare_exchange_strong_explicit((word), (expected), (value), memory_order_relaxed,                 \
                                          memory_order_relaxed)
#define WAKE_ORDER_WAKER memory_order_release
#define WAKE_ORDER_RESET memory_order_acquire
#endif

/* Called by the waker after it has changed the state. True: the waker has to notify the member. */
static inline bool wake_word_wake(wake_word *word)
{
  return WAKE_EXCHANGE(word, WAKE_WOKEN, WAKE_ORDER_WAKER) == WAKE_ASLEEP;
}

/* Called by the member. False: no waker has woken the member since the last reset. */
static inline bool wake_word_is_woken(wake_word *word)
{
  return WAKE_LOAD(word) != WAKE_POLLING;
}

/* Called by the member before it reads the state. */
static inline void wake_word_reset(wake_word *word)
{
  if (wake_word_is_woken(word))
    (void)WAKE_EXCHANGE(word, WAKE_POLLING, WAKE_ORDER_RESET);
}

/* Called by the member. True: the member may sleep until it is notified. */
static inline bool wake_word_sleep(wake_word *word)
{
  int expected = WAKE_POLLING;
  return WAKE_REPLACE(word, &expected, WAKE_ASLEEP);
}

#endif
