#ifndef JPEER_TESTS_BENCH_STAGES_MEASURE_H
#define JPEER_TESTS_BENCH_STAGES_MEASURE_H
/* Measures a workload up to each cut (calls.h), and the workload's floors, in turns. The cost of a stage is
 * the difference of two cuts. */
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
  STAGE_GENERAL, /* all stages above: a request that the fast path does not know */
  STAGE_WHOLE,   /* as the peer serves it: by the fast path, if possible (rpc/fastpath/fastpath.h) */
  STAGE_FLOOR,
  STAGES
};

extern const char *const stage_names[STAGES];

/* The cost of one iteration: nanoseconds of the thread's processor time, and the number of C allocations. */
struct figure {
  bool is_known; /* false: the workload does not have this stage */
  double median_ns;
  double least_ns;
  double allocations;
};

struct measure_config {
  unsigned rounds;
  uint64_t iterations; /* of a round, for a workload with iteration_share 1 */
};

enum { MEASURE_ROUNDS_MAX = 1000 };

/* Returns false if a call has failed, and reports this on stderr. */
bool measure_workload(struct calls *calls, struct floors *floors, enum workload_id id,
                      const struct measure_config *config, struct figure figures[STAGES]) JP_MUST_CHECK;

#endif
