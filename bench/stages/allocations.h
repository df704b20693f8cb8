#ifndef JPEER_TESTS_BENCH_STAGES_ALLOCATIONS_H
#define JPEER_TESTS_BENCH_STAGES_ALLOCATIONS_H
/*
 * Counts the C heap's allocations of one thread, the JVM's own among them: this executable's malloc stands
 * before the C library's. Built without sanitizers alone, which have a malloc of their own.
 */
#include <stdbool.h>
#include <stdint.h>

/* False where the build cannot count. */
bool allocations_are_counted(void);
/* From here on the calling thread's are counted, from 0. */
void allocations_begin(void);
/* How many there were since. */
uint64_t allocations_end(void);

#endif
