#ifndef JPEER_TESTS_BENCH_STAGES_MEASURE_H
#define JPEER_TESTS_BENCH_STAGES_MEASURE_H
/* Times a workload's cuts and floors, round by round in turn, and makes stages of the differences. */
#include "calls.h"
#include "floors.h"

enum stage {
  STAGE_READ,
  STAGE_DECODE,
  STAGE_FRAME,
  STAGE_RESOLVE,
  STAGE_CONVERT, /* of arguments and results: invocation without the bare JNI call */
  STAGE_JNI,
  STAGE_WRITE,
  STAGE_GENERAL, /* all of them: the general path */
  STAGE_WHOLE,   /* served as the peer does, whose fast path knows the request (rpc/fastpath/fastpath.h) */
  STAGE_FLOOR,
  STAGES
};

extern const char *const stage_names[STAGES];

/* Nanoseconds of the thread's processor time, and C allocations, an iteration. */
struct figure {
  bool is_known; /* false: the workload has no such stage */
  double median_ns;
  double least_ns;
  double allocations;
};

struct measure_config {
  unsigned rounds;
  uint64_t iterations; /* a round of a small call */
};

enum { MEASURE_ROUNDS_MAX = 1000 };

/* False: a call failed, which is reported on stderr. */
bool measure_workload(struct calls *calls, struct floors *floors, enum workload_id id,
                      const struct measure_config *config, struct figure figures[STAGES]) JP_MUST_CHECK;

#endif
