// The common parts of the model checks: relacy's schedulers, and the number of faults that they found.
#ifndef JPEER_TESTS_MODEL_RUN_MODEL_H
#define JPEER_TESTS_MODEL_RUN_MODEL_H

#include <relacy/windows.h> // events

#include <cstdio>
#include <cstdlib>

// True if relacy found nothing. Its output is dropped: a stream that kept it would allocate in relacy's own memory.
template <typename Model>
bool passes(const char *name, rl::scheduler_type_e scheduler, unsigned long iterations)
{
  std::ostream nowhere(0);
  rl::test_params params;
  params.search_type = scheduler;
  params.iteration_count = iterations;
  params.context_bound = 3;
  params.output_stream = &nowhere;
  params.progress_stream = &nowhere;
  bool good = rl::simulate<Model>(params);
  std::printf("%s: %s, %lu executions\n", name,
              good ? "nothing found" : rl::test_result_str(params.test_result),
              static_cast<unsigned long>(params.stop_iteration));
  return good;
}

// The main function: without sabotage under_test must pass, and with each sabotage relacy must find a fault.
template <typename Model, typename Sabotage>
int run_model(int argc, char **argv, Sabotage &under_test, const Sabotage *sabotages, unsigned count)
{
  const unsigned long all = 100000000;
  unsigned long iterations = argc > 1 ? std::strtoul(argv[1], 0, 10) : 20000;
  // At random, and every execution with at most three preemptions.
  unsigned bad = !passes<Model>(under_test.name, rl::random_scheduler_type, iterations);
  bad += !passes<Model>(under_test.name, rl::fair_context_bound_scheduler_type, all);
  for (unsigned i = 0; i < count; i++) {
    under_test = sabotages[i];
    bad += passes<Model>(under_test.name, rl::random_scheduler_type, iterations);
  }
  std::printf("%u passed, %u failed\n", count + 2 - bad, bad);
  return bad != 0;
}

#endif
