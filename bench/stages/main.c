/* jpeer-bench-stages: the cost of each stage of a call, from the message's bytes to the answer's; see --help. */
#include "allocations.h"
#include "measure.h"

#include "jni/runtime/machine.h"
#include "tests/unit/jni/with_jvm.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>

static struct arguments {
  struct measure_config measure;
  bool is_chosen[WORKLOADS];
  bool json;
  bool only_whole;
} arguments = {.measure = {.rounds = 101, .iterations = 2000}};

static const struct option option_rows[] = {
    {"only", required_argument, NULL, 'o'},
    {"rounds", required_argument, NULL, 'r'},
    {"iterations", required_argument, NULL, 'i'},
    {"whole", no_argument, NULL, 'w'},
    {"json", no_argument, NULL, 'j'},
    {"help", no_argument, NULL, 'h'},
    {NULL, 0, NULL, 0},
};

static void print_help(void)
{
  puts(
      "usage: jpeer-bench-stages [options]\n"
      "\n"
      "Serves messages in this process, without sockets, and reports the cost of each stage: nanoseconds of\n"
      "processor time and allocations of the C heap, an iteration.\n"
      "\n"
      "  --only NAME        one workload (may be repeated); default all:");
  for (int id = 0; id < WORKLOADS; id++)
    printf("                       %-16s %s\n", workloads[id].name, workloads[id].what);
  puts("  --rounds N         default 101: medians are over them\n"
       "  --iterations N     of a small call, a round (default 2000)\n"
       "  --whole            only serve, for a profiler: nothing is timed\n"
       "  --json             print one JSON object\n"
       "\n"
       "The JVM is that of JAVA_HOME. Exit codes: 0, 1 (a call failed, no JVM), 2 (usage).");
}

static bool choose(const char *name)
{
  for (int id = 0; id < WORKLOADS; id++)
    if (strcmp(workloads[id].name, name) == 0)
      return arguments.is_chosen[id] = true;
  fprintf(stderr, "jpeer-bench-stages: no workload is called %s\n", name);
  return false;
}

static bool read_count(const char *name, const char *value, uint64_t most, uint64_t *count)
{
  char *end;
  *count = strtoull(value, &end, 10);
  if (*value >= '0' && *value <= '9' && *end == '\0' && *count >= 1 && *count <= most)
    return true;
  fprintf(stderr, "jpeer-bench-stages: --%s takes a number from 1 to %llu\n", name, (unsigned long long)most);
  return false;
}

static bool apply(int option)
{
  uint64_t rounds;
  switch (option) {
  case 'o':
    return choose(optarg);
  case 'r':
    if (!read_count("rounds", optarg, MEASURE_ROUNDS_MAX, &rounds))
      return false;
    arguments.measure.rounds = (unsigned)rounds;
    return true;
  case 'i':
    return read_count("iterations", optarg, 1000000000, &arguments.measure.iterations);
  case 'w':
    return arguments.only_whole = true;
  case 'j':
    return arguments.json = true;
  default:
    return false;
  }
}

/* ---- output ---- */

static void print_cell(const struct figure *figure)
{
  if (figure->is_known)
    printf(" %9.0f", figure->median_ns);
  else
    printf(" %9s", "-");
}

static void print_allocations(const struct figure *figure)
{
  if (allocations_are_counted() && figure->is_known)
    printf(" %9.2f", figure->allocations);
  else
    printf(" %9s", "-");
}

static void print_table_head(void)
{
  printf("%-16s %-12s", "workload", "");
  for (int stage = 0; stage < STAGES; stage++)
    printf(" %9s", stage_names[stage]);
  printf(" %9s\n", "of floor");
}

static void print_table_rows(enum workload_id id, const struct figure figures[STAGES])
{
  printf("%-16s %-12s", workloads[id].name, "ns");
  for (int stage = 0; stage < STAGES; stage++)
    print_cell(&figures[stage]);
  if (figures[STAGE_FLOOR].is_known)
    printf(" %9.2f", figures[STAGE_WHOLE].median_ns / figures[STAGE_FLOOR].median_ns);
  printf("\n%-16s %-12s", "", "allocations");
  for (int stage = 0; stage < STAGES; stage++)
    print_allocations(&figures[stage]);
  putchar('\n');
  fflush(stdout);
}

static void print_json_figure(enum stage stage, const struct figure *figure)
{
  if (!figure->is_known) {
    printf("\"%s\":null", stage_names[stage]);
    return;
  }
  printf("\"%s\":{\"median_ns\":%.1f,\"least_ns\":%.1f,\"allocations\":", stage_names[stage],
         figure->median_ns, figure->least_ns);
  if (allocations_are_counted())
    printf("%.3f}", figure->allocations);
  else
    printf("null}");
}

static void print_json_workload(enum workload_id id, const struct figure figures[STAGES], bool is_first)
{
  printf("%s{\"name\":\"%s\",\"what\":\"%s\",\"stages\":{", is_first ? "" : ",", workloads[id].name,
         workloads[id].what);
  for (int stage = 0; stage < STAGES; stage++) {
    if (stage > 0)
      putchar(',');
    print_json_figure((enum stage)stage, &figures[stage]);
  }
  printf("}}");
}

/* ---- */

static bool measure_all(struct calls *calls, struct floors *floors)
{
  struct figure figures[STAGES];
  bool is_first = true;
  if (arguments.json)
    printf("{\"rounds\":%u,\"iterations\":%llu,\"workloads\":[", arguments.measure.rounds,
           (unsigned long long)arguments.measure.iterations);
  else
    print_table_head();
  for (int id = 0; id < WORKLOADS; id++) {
    if (!arguments.is_chosen[id])
      continue;
    if (!measure_workload(calls, floors, (enum workload_id)id, &arguments.measure, figures))
      return false;
    if (arguments.json)
      print_json_workload((enum workload_id)id, figures, is_first);
    else
      print_table_rows((enum workload_id)id, figures);
    is_first = false;
  }
  if (arguments.json)
    puts("]}");
  return true;
}

static bool only_serve(struct calls *calls)
{
  for (int id = 0; id < WORKLOADS; id++) {
    if (!arguments.is_chosen[id])
      continue;
    if (!calls_choose(calls, (enum workload_id)id))
      return false;
    calls_run(calls, CUT_NONE, arguments.measure.iterations * arguments.measure.rounds);
    if (!calls_went_well(calls))
      return false;
  }
  return true;
}

static bool measure_with(struct rpc_peer *peer, struct jvm_thread *thread, struct jp_error *error)
{
  struct calls calls;
  struct floors floors = {0};
  bool well = false;
  if (calls_init(&calls, peer, thread, error) != JP_OK)
    goto out;
  if (!floors_init(&floors, thread->env)) {
    jp_fail(error, JP_INTERNAL, "the fixtures are missing");
    goto out;
  }
  well = arguments.only_whole ? only_serve(&calls) : measure_all(&calls, &floors);
out:
  floors_fini(&floors);
  calls_fini(&calls);
  return well;
}

/* The limits are the defaults of the command line. */
static const struct rpc_limits limits = {
    .max_depth = 128,
    .max_batch = 1000,
    .session_max_objects = 4000000,
    .sessions_max = 100000,
    .sessions_per_address = 100000,
    .session_ttl_ms = 600000,
    .message_max = (size_t)16 * 1024 * 1024,
    .java = {.inline_array_max = 1000,
             .stack_frames_max = 64,
             .by_value_depth_max = 128,
             .number_digits_max = 10000},
};

static int run(struct jvm *jvm, struct jvm_thread *thread)
{
  const struct policy_config policy = {.default_action = POLICY_ALLOW};
  struct rpc_peer_config config = {.name = "bench", .version = JPEER_VERSION, .limits = limits};
  struct rpc_peer *peer = NULL;
  struct jp_error error = {.text = ""};
  bool well = false;
  if (policy_source_create(&policy, &config.policies, &error) == JP_OK &&
      rpc_peer_create(&config, &peer, &error) == JP_OK && rpc_peer_attach(peer, jvm, &error) == JP_OK)
    well = measure_with(peer, thread, &error);
  if (error.text[0] != '\0')
    fprintf(stderr, "jpeer-bench-stages: %s\n", error.text);
  rpc_peer_destroy(peer);
  policy_source_destroy(config.policies);
  return well ? 0 : 1;
}

int main(int count, char **words)
{
  for (int option; (option = getopt_long(count, words, "", option_rows, NULL)) != -1;) {
    if (option == 'h') {
      print_help();
      return 0;
    }
    if (!apply(option))
      return 2;
  }
  if (optind < count) {
    fprintf(stderr, "jpeer-bench-stages: %s is no option\n", words[optind]);
    return 2;
  }
  bool any = false;
  for (int id = 0; id < WORKLOADS; id++)
    any = any || arguments.is_chosen[id];
  for (int id = 0; !any && id < WORKLOADS; id++)
    arguments.is_chosen[id] = true;
  return with_jvm_uncounted(run);
}
