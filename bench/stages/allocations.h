#ifndef JPEER_TESTS_BENCH_STAGES_ALLOCATIONS_H
#define JPEER_TESTS_BENCH_STAGES_ALLOCATIONS_H
/*
 * Counts the C heap's allocations of one thread, the JVM's own among them: this executable's malloc wraps the C
 * library's. Built only without sanitizers, because sanitizers have their own malloc.
 */
#include <stdbool.h>
#include <stdint.h>

/* False if the build cannot count. */
bool allocations_are_counted(void);
/* Starts counting the calling thread's allocations, from 0. */
void allocations_begin(void);
/* The count since allocations_begin. */
uint64_t allocations_end(void);

#endif
