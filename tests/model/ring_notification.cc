// Model check of native/ring/ring_notification.h: the header itself, with relacy's words and accesses instead of
// C11's.
//
// A writer and a reader pass messages through a ring with less room than messages. Each waits for the other by the
// protocol of the header and sleeps without a time limit, so that a lost wake-up is a deadlock. The slots are plain
// memory: a slot that is read before its message is there, or written before it was read, is a race.
//
// The protocol as it is has to pass. Then each order is weakened and each of the four accesses is left out, one at a
// time, and relacy has to find each change: otherwise the model would show nothing, or the order would not be needed.
//
// usage: ring_notification [ITERATIONS]

#include "run_model.h"

#include <stdint.h>

enum site { SITE_NONE, SITE_M1, SITE_M2, SITE_W1, SITE_W2, SITE_POLL, SITE_WAKE };
enum damage { INTACT, WEAKER, RELAXED, LEFT_OUT };

struct sabotage {
  site where;
  damage what;
  const char *name;
};

static const sabotage sabotages[] = {
    {SITE_M1, WEAKER, "M1 as a release"},   {SITE_M1, RELAXED, "M1 relaxed"},
    {SITE_M1, LEFT_OUT, "M1 left out"},     {SITE_M2, WEAKER, "M2 as an acquire"},
    {SITE_M2, RELAXED, "M2 relaxed"},       {SITE_M2, LEFT_OUT, "M2 left out"},
    {SITE_W1, WEAKER, "W1 as a release"},   {SITE_W1, RELAXED, "W1 relaxed"},
    {SITE_W1, LEFT_OUT, "W1 left out"},     {SITE_W2, WEAKER, "W2 as an acquire"},
    {SITE_W2, RELAXED, "W2 relaxed"},       {SITE_W2, LEFT_OUT, "W2 left out"},
    {SITE_POLL, RELAXED, "a poll relaxed"},
};
enum { SABOTAGES = sizeof sabotages / sizeof sabotages[0] };

static sabotage under_test = {SITE_NONE, INTACT, "the protocol"};

static rl::memory_order order_of(site where, rl::memory_order weaker)
{
  if (where == SITE_WAKE)
    return rl::mo_relaxed;
  rl::memory_order order = where == SITE_POLL ? rl::mo_acquire : rl::mo_seq_cst;
  if (where != under_test.where || under_test.what == LEFT_OUT)
    return order;
  return under_test.what == WEAKER ? weaker : rl::mo_relaxed;
}

static bool is_left_out(site where)
{
  return where == under_test.where && under_test.what == LEFT_OUT;
}

// A word, and the value that its reader knows already, which is the result of a load that is left out.
struct word {
  rl::atomic<uint64_t> shared;
  uint64_t known;
};

static uint64_t load(word *from, site where)
{
  return is_left_out(where) ? from->known : from->shared.load(order_of(where, rl::mo_acquire), $);
}

static void store(word *to, uint64_t value, site where)
{
  if (!is_left_out(where))
    to->shared.store(value, order_of(where, rl::mo_release), $);
}

#define RING_HAS_OWN_ATOMICS
typedef word ring_position;
typedef word ring_word;
#define RING_LOAD(word, order)         load((word), (order))
#define RING_STORE(word, value, order) store((word), (value), (order))
#define RING_ACQUIRE                   SITE_POLL
#define RING_RELAXED                   SITE_WAKE
#define RING_ORDER_M1                  SITE_M1
#define RING_ORDER_M2                  SITE_M2
#define RING_ORDER_W1                  SITE_W1
#define RING_ORDER_W2                  SITE_W2
#include "ring/ring_notification.h"

enum { MESSAGES = 3, ROOM = 1 };

// One side waits for the position that the other moves. A notification is a byte on the socket: it stays until it is
// read, and a second one changes nothing.
struct wait {
  ring_position position;
  ring_word sleep;
  HANDLE notification;
  uint32_t number;   // the waiter's
  uint32_t notified; // the mover's

  void begin()
  {
    position.shared.store(0, rl::mo_relaxed, $);
    sleep.shared.store(RING_POLLING, rl::mo_relaxed, $);
    position.known = sleep.known = 0;
    number = notified = 0;
    notification = CreateEvent(0, 0, 0, 0);
  }
  void end()
  {
    CloseHandle(notification);
  }
  void move(uint64_t value)
  {
    if (ring_move_position(&position, value, &sleep, &notified))
      SetEvent(notification);
  }
  // Until the position is not the known one.
  void await(uint64_t known)
  {
    position.known = known;
    while (ring_poll_position(&position) == known) {
      bool must_sleep = ring_begin_sleep(&position, &sleep, &number) == known;
      if (must_sleep)
        WaitForSingleObject(notification, INFINITE);
      ring_end_sleep(&sleep);
      if (!must_sleep)
        return;
    }
  }
};

struct ring_of_slots : rl::test_suite<ring_of_slots, 2> {
  wait written;
  wait taken;
  rl::var<uint64_t> slots[ROOM];

  void before()
  {
    written.begin();
    taken.begin();
  }
  void after()
  {
    written.end();
    taken.end();
  }
  void write_messages()
  {
    for (uint64_t i = 0; i < MESSAGES; i++) {
      if (i >= ROOM)
        taken.await(i - ROOM);
      slots[i % ROOM]($) = i;
      written.move(i + 1);
    }
  }
  void read_messages()
  {
    for (uint64_t i = 0; i < MESSAGES; i++) {
      written.await(i);
      RL_ASSERT(slots[i % ROOM]($) == i);
      taken.move(i + 1);
    }
  }
  void thread(unsigned number)
  {
    if (number == 0)
      write_messages();
    else
      read_messages();
  }
};

int main(int argc, char **argv)
{
  return run_model<ring_of_slots>(argc, argv, under_test, sabotages, SABOTAGES);
}
