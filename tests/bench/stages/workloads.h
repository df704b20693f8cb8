#ifndef JPEER_TESTS_BENCH_STAGES_WORKLOADS_H
#define JPEER_TESTS_BENCH_STAGES_WORKLOADS_H
/*
 * The calls that the stages are measured with, as rows of JSON with holes: $o the receiver's ref, $t a text
 * of 1 KiB with characters of one to four bytes, $n a thousand numbers, $s their sum. Constant; one thread.
 */
#include "base/buffer.h"

#include <stdbool.h>
#include <stdint.h>

enum { STAGES_NUMBERS = 1000 };

enum workload_id {
  WORKLOAD_PING,
  WORKLOAD_ADD,
  WORKLOAD_INSTANCE,
  WORKLOAD_GET,
  WORKLOAD_PUT,
  WORKLOAD_NEW_DELETE,
  WORKLOAD_ECHO,
  WORKLOAD_INTS,
  WORKLOADS
};

struct workload {
  const char *name;
  const char *what;
  const char *request;
  const char *answer;       /* to the first request; of WORKLOAD_NEW_DELETE up to the ref */
  unsigned iteration_share; /* how many times fewer iterations a round has than that of a small call */
};

extern const struct workload workloads[WORKLOADS];

/* Appends the text with its holes filled. */
void workload_fill(const char *source, uint32_t receiver, struct buffer *out);

#endif
