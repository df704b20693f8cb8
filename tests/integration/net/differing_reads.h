#ifndef JPEER_TESTS_INTEGRATION_NET_DIFFERING_READS_H
#define JPEER_TESTS_INTEGRATION_NET_DIFFERING_READS_H
/*
 * Words and accesses for native/ring/ring_notification.h in which a read of a shared word may return a wrong
 * value: a value near the true value, as if a client had changed the word between two reads, or a value far
 * from it. Code that reads a word once, and then checks and uses that value, works. Code that reads the word
 * a second time can fail. The first READS_IN_A_RUN reads return the true value, so that messages get through.
 * In the next READS_IN_A_RUN reads, every second read returns a wrong value, and so on. With
 * STUB_DIFFERS_ALWAYS in the environment every second read returns a wrong value.
 *
 * The compiler includes this file before the sources of native/ring and native/net/shm (-include). This is
 * done only for stub_server_differing.
 */
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#define RING_HAS_OWN_ATOMICS

enum { READS_IN_A_RUN = 4096 };

typedef _Atomic uint64_t ring_position;
typedef _Atomic uint32_t ring_word;

static inline bool differs_always(void)
{
  enum { UNKNOWN, SOMETIMES, ALWAYS };
  static _Atomic int known;
  int how = atomic_load_explicit(&known, memory_order_relaxed);
  if (how == UNKNOWN) {
    how = getenv("STUB_DIFFERS_ALWAYS") != NULL ? ALWAYS : SOMETIMES;
    atomic_store_explicit(&known, how, memory_order_relaxed);
  }
  return how == ALWAYS;
}

static inline uint64_t differing_read(uint64_t value)
{
  static _Atomic uint64_t reads;
  static const uint64_t changes[] = {8, (uint64_t)-8, 1, 64, (uint64_t)-64, 4096, UINT64_C(1) << 32};
  uint64_t number = atomic_fetch_add_explicit(&reads, 1, memory_order_relaxed);
  uint64_t pick = number / 2 * UINT64_C(0x9e3779b97f4a7c15) >> 40;
  bool is_true_run = number / READS_IN_A_RUN % 2 == 0 && !differs_always();
  if (number % 2 == 0 || is_true_run)
    return value;
  return pick % 64 == 0 ? ~value : value + changes[pick % (sizeof changes / sizeof changes[0])];
}

#define RING_LOAD(word, order)         differing_read(atomic_load_explicit((word), (order)))
#define RING_STORE(word, value, order) atomic_store_explicit((word), (value), (order))
#define RING_ACQUIRE                   memory_order_acquire
#define RING_RELAXED                   memory_order_relaxed
#define RING_ORDER_M1                  memory_order_seq_cst
#define RING_ORDER_M2                  memory_order_seq_cst
#define RING_ORDER_W1                  memory_order_seq_cst
#define RING_ORDER_W2                  memory_order_seq_cst

#endif
