#ifndef JPEER_BASE_PROCESSOR_H
#define JPEER_BASE_PROCESSOR_H
/* What the processor can do, on x86-64 with SSE2. Any thread. */
#include <cpuid.h>
#include <stdatomic.h>
#include <stdbool.h>

/* True if the instructions of AVX2 and popcnt may be used. */
static inline bool processor_has_avx2(void)
{
#if defined __GNUC__ && !defined __clang__
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("popcnt");
#else
  /* The builtin needs __cpu_model, which Zig's runtime lacks. CPUID takes a microsecond in a virtual machine. */
  enum { UNKNOWN, ABSENT, PRESENT };
  static atomic_int known;
  int state = atomic_load_explicit(&known, memory_order_relaxed);
  if (state == UNKNOWN) {
    enum { SAVED_BY_SYSTEM = 6 /* the lower and upper halves of the registers */ };
    const unsigned basic = bit_OSXSAVE | bit_AVX | bit_POPCNT;
    unsigned a = 0, b = 0, c = 0, d = 0;
    bool has = __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & basic) == basic;
    if (has) {
      unsigned low, high;
      __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
      has = (low & SAVED_BY_SYSTEM) == SAVED_BY_SYSTEM && __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 &&
            (b & bit_AVX2) != 0;
    }
    state = has ? PRESENT : ABSENT;
    atomic_store_explicit(&known, state, memory_order_relaxed);
  }
  return state == PRESENT;
#endif
}

#endif
