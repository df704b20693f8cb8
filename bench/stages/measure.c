#include "measure.h"

#include "allocations.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

const char *const stage_names[STAGES] = {
    [STAGE_READ] = "read",       [STAGE_DECODE] = "decode",   [STAGE_FRAME] = "frame",
    [STAGE_RESOLVE] = "resolve", [STAGE_CONVERT] = "convert", [STAGE_JNI] = "jni",
    [STAGE_WRITE] = "write",     [STAGE_GENERAL] = "general", [STAGE_WHOLE] = "whole",
    [STAGE_FLOOR] = "floor",
};

/* The timed runs: the cuts of a call, then the floors. */
enum { RUN_JNI = CUTS, RUN_PARSED, RUNS };

/* The time of a stage is the time of the run `to` minus the times of `from` and `other_from`; -1: nothing to
 * subtract. */
static const struct stage_row {
  int to;
  int from;
  int other_from;
  bool is_java; /* the stage does not exist for a call without Java */
} stage_rows[STAGES] = {
    [STAGE_READ] = {CUT_READ, -1, -1, false},
    [STAGE_DECODE] = {CUT_DECODE, CUT_READ, -1, false},
    [STAGE_FRAME] = {CUT_FRAME, CUT_DECODE, -1, false},
    [STAGE_RESOLVE] = {CUT_RESOLVE, CUT_FRAME, -1, true},
    [STAGE_CONVERT] = {CUT_INVOKE, CUT_RESOLVE, RUN_JNI, true},
    [STAGE_JNI] = {RUN_JNI, -1, -1, true},
    [STAGE_WRITE] = {CUT_WRITE, CUT_INVOKE, -1, false},
    [STAGE_GENERAL] = {CUT_WRITE, -1, -1, false},
    [STAGE_WHOLE] = {CUT_NONE, -1, -1, false},
    [STAGE_FLOOR] = {RUN_JNI, -1, -1, true},
};

/* The figures of one run: the time of each round, and the allocations. */
struct timing {
  double ns[MEASURE_ROUNDS_MAX];
  double allocations; /* the least of all rounds */
};

struct measurement {
  struct calls *calls;
  struct floors *floors;
  enum workload_id id;
  uint64_t iterations;
  unsigned rounds;
  bool runs[RUNS];
  struct timing timings[RUNS];
};

static double now_ns(void)
{
  struct timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static void run(struct measurement *measurement, int what)
{
  if (what == RUN_JNI)
    floor_of_jni(measurement->id)(measurement->floors, measurement->iterations);
  else if (what == RUN_PARSED)
    floor_with_parse(measurement->id)(measurement->floors, measurement->iterations);
  else
    calls_run(measurement->calls, (enum cut)what, measurement->iterations);
}

static void time_run(struct measurement *measurement, int what, unsigned round)
{
  struct timing *timing = &measurement->timings[what];
  allocations_begin();
  double begin = now_ns();
  run(measurement, what);
  double end = now_ns();
  double allocations = (double)allocations_end() / (double)measurement->iterations;
  timing->ns[round] = (end - begin) / (double)measurement->iterations;
  if (round == 0 || allocations < timing->allocations)
    timing->allocations = allocations;
}

static bool is_asking_java(enum workload_id id)
{
  return floor_of_jni(id) != NULL;
}

static void choose_runs(struct measurement *measurement)
{
  for (int what = 0; what < CUTS; what++)
    measurement->runs[what] = what == CUT_NONE || workloads[measurement->id].call == NULL;
  measurement->runs[RUN_JNI] = is_asking_java(measurement->id);
  measurement->runs[RUN_PARSED] = floor_with_parse(measurement->id) != NULL;
}

static double least_of(const struct measurement *measurement, int what)
{
  const struct timing *timing = &measurement->timings[what];
  double least = timing->ns[0];
  for (unsigned i = 1; i < measurement->rounds; i++)
    least = timing->ns[i] < least ? timing->ns[i] : least;
  return least;
}

static int compare(const void *left, const void *right)
{
  const double *a = left;
  const double *b = right;
  return (*a > *b) - (*a < *b);
}

static double median_of(double *values, unsigned count)
{
  qsort(values, count, sizeof *values, compare);
  return count % 2 == 1 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2;
}

/* Adds sign times the duration of the run. */
static void add(const struct measurement *measurement, int what, double sign, double *by_round,
                struct figure *figure)
{
  if (what < 0 || !measurement->runs[what])
    return;
  for (unsigned i = 0; i < measurement->rounds; i++)
    by_round[i] += sign * measurement->timings[what].ns[i];
  figure->least_ns += sign * least_of(measurement, what);
  figure->allocations += sign * measurement->timings[what].allocations;
}

static struct figure figure_of(const struct measurement *measurement, enum stage stage)
{
  struct stage_row row = stage_rows[stage];
  struct figure figure = {.is_known =
                              measurement->runs[row.to] && (!row.is_java || is_asking_java(measurement->id))};
  if (stage == STAGE_FLOOR && measurement->runs[RUN_PARSED])
    row.to = RUN_PARSED;
  if (!figure.is_known)
    return figure;
  double by_round[MEASURE_ROUNDS_MAX] = {0};
  add(measurement, row.to, 1, by_round, &figure);
  add(measurement, row.from, -1, by_round, &figure);
  add(measurement, row.other_from, -1, by_round, &figure);
  figure.median_ns = median_of(by_round, measurement->rounds);
  return figure;
}

bool measure_workload(struct calls *calls, struct floors *floors, enum workload_id id,
                      const struct measure_config *config, struct figure figures[STAGES])
{
  if (!calls_choose(calls, id))
    return false;
  struct measurement *measurement = calloc(1, sizeof *measurement);
  if (measurement == NULL)
    return false;
  measurement->calls = calls;
  measurement->floors = floors;
  measurement->id = id;
  measurement->rounds = config->rounds;
  measurement->iterations = 1 + config->iterations / workloads[id].iteration_share;
  choose_runs(measurement);
  bool well = true;
  /* The first round lets Java's compilers finish. */
  for (int round = -1; well && round < (int)config->rounds; round++)
    for (int what = 0; what < RUNS; what++)
      if (measurement->runs[what]) {
        time_run(measurement, what, round < 0 ? 0 : (unsigned)round);
        well = well && calls_went_well(calls);
      }
  for (int stage = 0; well && stage < STAGES; stage++)
    figures[stage] = figure_of(measurement, (enum stage)stage);
  free(measurement);
  if (!well)
    fprintf(stderr, "%s: a call failed\n", workloads[id].name);
  return well;
}
