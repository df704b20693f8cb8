#ifndef JPEER_BENCH_ENGINE_H
#define JPEER_BENCH_ENGINE_H
/*
 * The load: a number of connections, each with a window of open calls, driven by one thread and one epoll
 * set.
 *
 * Every answer is compared with its request, in the order of the requests: an answer that is wrong, late or out of
 * order ends the run with an error. Nothing is allocated while calls are measured.
 *
 * The latency of a call begins when the engine has read the previous answer, so it includes making and
 * sending the request. It ends when the engine has read the call's answer. All answers of one read have the
 * same time.
 */
#include "histogram.h"
#include "link.h"
#include "workload.h"

#include "base/status.h"

struct engine_config {
  const char *address;
  const struct workload_row *workload;
  unsigned connections;
  unsigned in_flight; /* calls in flight on each connection */
  uint64_t warm_up;   /* calls that are not measured, all connections together */
  uint64_t calls;     /* calls that are measured; 0: the run lasts `seconds` */
  double seconds;
  int stall_ms;  /* if no answer arrives for this time, the run ends with an error */
  int watch_pid; /* the process whose resident memory and processor time are read; 0: none */
  bool canned;   /* the server is jpeer-bench-floor */
  struct link_evidence evidence;
};

/* Resident memory of the watched process, in KiB; all 0 if no process is watched. */
struct engine_memory {
  uint64_t at_tenth; /* when a tenth of the calls was done; set only if `calls` is not 0 */
  uint64_t at_end;
  uint64_t
      most; /* the largest value that was read: after the first tenth, and then after each hundredth of the calls */
};

struct engine_result {
  uint64_t calls;
  double seconds;
  struct histogram latencies;
  struct engine_memory memory;
  double client_seconds; /* processor time of this process while calls were measured */
  double server_seconds; /* the same of the watched process; 0 if no process is watched */
};

enum jp_status engine_run(const struct engine_config *config, struct engine_result *result,
                          struct jp_error *error) JP_MUST_CHECK;

#endif
