// Model check of native/base/in_call.h: the header itself, with relacy's word and accesses instead of C11's.
//
// An owner goes in and out of the service twice, and writes the output between. A visitor visits twice, with the
// lock, and writes the output if the owner is inside; it may share the call, so that it finds the owner inside again.
// relacy reports two accesses of the output without an order.
//
// The protocol as it is has to pass. Then each order is weakened and each step is split or left out, one at a time,
// and relacy has to find each change.
//
// usage: in_call [ITERATIONS]

#include "run_model.h"

enum damage { INTACT, BEGIN_RELAXED, END_RELAXED, VISIT_RELAXED, LEAVE_RELAXED, END_SPLIT, VISIT_SPLIT, LOCK_LEFT_OUT };

struct sabotage {
  damage what;
  const char *name;
};

static const sabotage sabotages[] = {
    {BEGIN_RELAXED, "begin relaxed"},
    {END_RELAXED, "end relaxed"},
    {VISIT_RELAXED, "visit relaxed"},
    {LEAVE_RELAXED, "leave relaxed"},
    {END_SPLIT, "the owner reads, then ends"},
    {VISIT_SPLIT, "the visitor reads, then visits"},
    {LOCK_LEFT_OUT, "an owner that does not wait for its visitor"},
};
enum { SABOTAGES = sizeof sabotages / sizeof sabotages[0] };

static sabotage under_test = {INTACT, "the protocol"};

struct in_call_word_of_model {
  rl::atomic<int> shared;
};
typedef in_call_word_of_model in_call_word;

struct step {
  rl::memory_order order;
  damage relaxed;
  damage split;
};
static const step begins = {rl::mo_release, BEGIN_RELAXED, INTACT};
static const step ends = {rl::mo_acquire, END_RELAXED, END_SPLIT};
static const step visits = {rl::mo_acquire, VISIT_RELAXED, VISIT_SPLIT};
static const step leaves = {rl::mo_release, LEAVE_RELAXED, INTACT};

static rl::memory_order order_of(const step &one)
{
  return under_test.what == one.relaxed ? rl::mo_relaxed : one.order;
}

static bool replace(in_call_word *word, int *expected, int value, const step &one)
{
  if (under_test.what == INTACT || under_test.what != one.split)
    return word->shared.compare_exchange_strong(*expected, value, order_of(one), $);
  int found = word->shared.load(one.order, $);
  if (found != *expected) {
    *expected = found;
    return false;
  }
  word->shared.store(value, rl::mo_relaxed, $);
  return true;
}

#define IN_CALL_HAS_OWN_ATOMICS
#define IN_CALL_LOAD(word)                            ((word)->shared.load(rl::mo_relaxed, $))
#define IN_CALL_STORE(word, value, order)             ((word)->shared.store((value), order_of(order), $))
#define IN_CALL_REPLACE(word, expected, value, order) replace((word), (expected), (value), (order))
#define IN_CALL_ORDER_BEGIN                           begins
#define IN_CALL_ORDER_END                             ends
#define IN_CALL_ORDER_VISIT                           visits
#define IN_CALL_ORDER_LEAVE                           leaves
#include "base/in_call.h"

enum { OWNER, VISITOR, THREADS, TIMES = 2 };

struct visited_owner : rl::test_suite<visited_owner, THREADS> {
  in_call_word word;
  rl::mutex lock;
  rl::var<int> output;

  void before()
  {
    word.shared.store(IN_CALL_OUTSIDE, rl::mo_relaxed, $);
    output($) = 0;
  }
  void write()
  {
    output($) = output($) + 1;
  }
  void end()
  {
    if (in_call_end(&word))
      return;
    bool locks = under_test.what != LOCK_LEFT_OUT;
    if (locks)
      lock.lock($);
    in_call_end_locked(&word);
    if (locks)
      lock.unlock($);
  }
  void serve()
  {
    write();
    in_call_begin(&word);
    end();
    write();
  }
  void visit()
  {
    lock.lock($);
    if (in_call_visit(&word)) {
      write();
      RL_ASSERT(in_call_is_inside(&word));
      if (rl::rand(2) == 1)
        in_call_share(&word);
      in_call_leave(&word);
    }
    lock.unlock($);
  }
  void thread(unsigned number)
  {
    for (int i = 0; i < TIMES; i++) {
      if (number == OWNER)
        serve();
      else
        visit();
    }
  }
};

int main(int argc, char **argv)
{
  return run_model<visited_owner>(argc, argv, under_test, sabotages, SABOTAGES);
}
