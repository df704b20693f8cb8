#ifndef JPEER_BENCH_HISTOGRAM_H
#define JPEER_BENCH_HISTOGRAM_H
/*
 * Latencies in buckets. A bucket is at most 1/64 of its values wide. Recording a value is a shift and an
 * addition; nothing is allocated. A histogram has one owner and is used by one thread at a time. All times
 * are in nanoseconds.
 */
#include <stdint.h>

enum { HISTOGRAM_SUB_BITS = 6, HISTOGRAM_SUBS = 1 << HISTOGRAM_SUB_BITS };
enum { HISTOGRAM_BUCKETS = (64 - HISTOGRAM_SUB_BITS + 1) * HISTOGRAM_SUBS };

struct histogram {
  uint64_t counts[HISTOGRAM_BUCKETS];
  uint64_t total;
  uint64_t max;
};

void histogram_clear(struct histogram *histogram);
void histogram_record(struct histogram *histogram, uint64_t ns);
/* The value that the given share (0.99) of the recorded values does not exceed; 0 without values. */
uint64_t histogram_quantile(const struct histogram *histogram, double share);

#endif
