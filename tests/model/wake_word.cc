// Model check of native/net/workers/wake_word.h: the header itself, with relacy's word and accesses instead of C11's.
//
// Two wakers each change their own state and wake the member, which waits for both: it polls for a while, and then
// sleeps without a time limit, so that a lost wake-up is a deadlock. Only the word orders the states: their own
// accesses are relaxed.
//
// The protocol as it is has to pass. Then each order is weakened and each step is split or left out, one at a time,
// and relacy has to find each change.
//
// usage: wake_word [ITERATIONS]

#include "run_model.h"

enum damage { INTACT, WAKER_RELAXED, RESET_RELAXED, WAKER_SPLIT, SLEEP_SPLIT, NOTIFICATION_LEFT_OUT };

struct sabotage {
  damage what;
  const char *name;
};

static const sabotage sabotages[] = {
    {WAKER_RELAXED, "the waker relaxed"},          {RESET_RELAXED, "the member's reset relaxed"},
    {WAKER_SPLIT, "the waker reads, then writes"}, {SLEEP_SPLIT, "the member reads, then sleeps"},
    {NOTIFICATION_LEFT_OUT, "no notification"},
};
enum { SABOTAGES = sizeof sabotages / sizeof sabotages[0] };

static sabotage under_test = {INTACT, "the protocol"};

struct wake_word_of_model {
  rl::atomic<int> shared;
};
typedef wake_word_of_model wake_word;

static int exchange(wake_word *word, int value, rl::memory_order order)
{
  bool is_waker = order == rl::mo_release;
  if (under_test.what == (is_waker ? WAKER_RELAXED : RESET_RELAXED))
    order = rl::mo_relaxed;
  if (!is_waker || under_test.what != WAKER_SPLIT)
    return word->shared.exchange(value, order, $);
  int before = word->shared.load(rl::mo_acquire, $);
  word->shared.store(value, order, $);
  return before;
}

static bool replace(wake_word *word, int *expected, int value)
{
  if (under_test.what != SLEEP_SPLIT)
    return word->shared.compare_exchange_strong(*expected, value, rl::mo_relaxed, $);
  if (word->shared.load(rl::mo_relaxed, $) != *expected)
    return false;
  word->shared.store(value, rl::mo_relaxed, $);
  return true;
}

#define WAKE_HAS_OWN_ATOMICS
#define WAKE_LOAD(word)                     ((word)->shared.load(rl::mo_relaxed, $))
#define WAKE_EXCHANGE(word, value, order)   exchange((word), (value), (order))
#define WAKE_REPLACE(word, expected, value) replace((word), (expected), (value))
#define WAKE_ORDER_WAKER                    rl::mo_release
#define WAKE_ORDER_RESET                     rl::mo_acquire
#include "net/workers/wake_word.h"

enum { WAKERS = 2 };

struct waiting_member : rl::test_suite<waiting_member, WAKERS + 1> {
  wake_word word;
  rl::atomic<int> state[WAKERS]; // relaxed accesses only
  HANDLE eventfd;                // stays set until it is read

  void before()
  {
    word.shared.store(WAKE_POLLING, rl::mo_relaxed, $);
    for (int i = 0; i < WAKERS; i++)
      state[i].store(0, rl::mo_relaxed, $);
    eventfd = CreateEvent(0, 0, 0, 0);
  }
  void after()
  {
    CloseHandle(eventfd);
  }
  void wake(int number)
  {
    state[number].store(1, rl::mo_relaxed, $);
    if (wake_word_wake(&word) && under_test.what != NOTIFICATION_LEFT_OUT)
      SetEvent(eventfd);
  }
  bool is_over()
  {
    wake_word_reset(&word);
    for (int i = 0; i < WAKERS; i++) {
      if (state[i].load(rl::mo_relaxed, $) == 0)
        return false;
    }
    return true;
  }
  void wait()
  {
    while (!is_over()) {
      if (!wake_word_is_woken(&word) && wake_word_sleep(&word))
        WaitForSingleObject(eventfd, INFINITE);
    }
  }
  void thread(unsigned number)
  {
    if (number < WAKERS)
      wake(static_cast<int>(number));
    else
      wait();
  }
};

int main(int argc, char **argv)
{
  return run_model<waiting_member>(argc, argv, under_test, sabotages, SABOTAGES);
}
