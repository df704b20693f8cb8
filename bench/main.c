/* jpeer-bench: loads a peer with calls of one kind and reports their speed; see --help. */
#include "engine.h"

#include <getopt.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

struct arguments {
  struct engine_config engine;
  uint64_t connections;
  uint64_t in_flight;
  uint64_t stall_ms;
  uint64_t watch_pid;
  bool json;
};

/* The options with a whole number. */
static const struct number_row {
  const char *name;
  size_t offset; /* of a uint64_t in struct arguments */
  uint64_t least;
  uint64_t most;
} number_rows[] = {
    {"connections", offsetof(struct arguments, connections), 1, 100000},
    {"in-flight", offsetof(struct arguments, in_flight), 1, 100000},
    {"calls", offsetof(struct arguments, engine.calls), 1, 1000000000},
    {"warm-up", offsetof(struct arguments, engine.warm_up), 0, 1000000000},
    {"stall", offsetof(struct arguments, stall_ms), 1, 3600000},
    {"watch", offsetof(struct arguments, watch_pid), 1, INT32_MAX},
};

/* The `val` of an option with a number is the `val` of its row. */
static const struct option option_rows[] = {
    {"connections", required_argument, NULL, 0},
    {"in-flight", required_argument, NULL, 1},
    {"calls", required_argument, NULL, 2},
    {"warm-up", required_argument, NULL, 3},
    {"stall", required_argument, NULL, 4},
    {"watch", required_argument, NULL, 5},
    {"to", required_argument, NULL, 't'},
    {"workload", required_argument, NULL, 'w'},
    {"seconds", required_argument, NULL, 's'},
    {"canned", no_argument, NULL, 'k'},
    {"token", required_argument, NULL, 'o'},
    {"curve", no_argument, NULL, 'c'},
    {"json", no_argument, NULL, 'j'},
    {"list", no_argument, NULL, 'l'},
    {"help", no_argument, NULL, 'h'},
    {NULL, 0, NULL, 0},
};

static void print_help(void)
{
  puts("usage: jpeer-bench --to ADDRESS [options]\n"
       "\n"
       "  --to ADDRESS       ws://HOST:PORT/PATH, http://HOST:PORT/PATH or tcp://HOST:PORT (ZeroMQ);\n"
       "                     ws+unix:PATH, http+unix:PATH and ipc://PATH over Unix sockets;\n"
       "                     shm:PATH for shared memory, asked for there;\n"
       "                     py4j://HOST:PORT for Py4J's gateway\n"
       "  --workload NAME    the calls (default add; --list shows them)\n"
       "  --connections N    default 1\n"
       "  --in-flight N      open calls a connection (default 1)\n"
       "  --calls N          how many calls are measured, or\n"
       "  --seconds S        for how long (default 2)\n"
       "  --warm-up N        calls before that, not measured (default 20000)\n"
       "  --stall MS         fail after this time without an answer (default 10000)\n"
       "  --watch PID        read the resident memory of this process: at a tenth of --calls, then at "
       "each\n"
       "                     hundredth\n"
       "  --canned           the server is jpeer-bench-floor\n"
       "  --token TOKEN      HTTP: sent with each request; for measurements alone, as others see it\n"
       "  --curve            ZeroMQ: CURVE, with the keys of libzmq's manual\n"
       "  --json             print the figures as one JSON object instead of a line\n"
       "\n"
       "Exit codes: 0, 1 (a wrong answer, or no connection), 2 (usage).");
}

static void print_rows(const struct workload_row *rows, unsigned count)
{
  for (unsigned i = 0; i < count; i++)
    printf("%-16s %s\n", rows[i].name, rows[i].what);
}

static void print_list(void)
{
  print_rows(workload_rows, workload_row_count);
  print_rows(workload_binary_rows, workload_binary_row_count);
  print_rows(workload_rival_rows, workload_rival_row_count);
}

static bool read_number(const struct number_row *row, const char *value, struct arguments *arguments)
{
  char *end;
  uint64_t number = strtoull(value, &end, 10);
  if (*value < '0' || *value > '9' || *end != '\0' || number < row->least || number > row->most) {
    fprintf(stderr, "jpeer-bench: --%s takes a number from %llu to %llu\n", row->name,
            (unsigned long long)row->least, (unsigned long long)row->most);
    return false;
  }
  memcpy((char *)arguments + row->offset, &number, sizeof(number));
  return true;
}

static bool read_seconds(const char *value, double *seconds)
{
  char *end;
  *seconds = strtod(value, &end);
  if (end != value && *end == '\0' && *seconds > 0 && *seconds <= 86400)
    return true;
  fputs("jpeer-bench: --seconds takes a number above 0\n", stderr);
  return false;
}

static bool read_workload(const char *value, const struct workload_row **workload)
{
  *workload = workload_find(value);
  if (*workload == NULL)
    fprintf(stderr, "jpeer-bench: no workload is called %s (--list shows them)\n", value);
  return *workload != NULL;
}

/* Applies one option; false: it is invalid. */
static bool apply(struct arguments *arguments, int option, const char *value)
{
  if ((size_t)option < sizeof(number_rows) / sizeof(number_rows[0]))
    return read_number(&number_rows[option], value, arguments);
  switch (option) {
  case 't':
    arguments->engine.address = value;
    return true;
  case 'w':
    return read_workload(value, &arguments->engine.workload);
  case 's':
    return read_seconds(value, &arguments->engine.seconds);
  case 'k':
    arguments->engine.canned = true;
    return true;
  case 'o':
    arguments->engine.evidence.token = value;
    return true;
  case 'c':
    arguments->engine.evidence.has_curve = true;
    return true;
  case 'j':
    arguments->json = true;
    return true;
  default:
    return false;
  }
}

static double microseconds(const struct histogram *latencies, double share)
{
  return (double)histogram_quantile(latencies, share) / 1e3;
}

static void print_line(const struct engine_config *config, const struct engine_result *result)
{
  const struct histogram *latencies = &result->latencies;
  printf("%-10s %4ux%-4u %10.0f calls/s   p50 %8.1f  p99 %8.1f  p99.9 %8.1f  max %8.1f us   %s\n",
         config->workload->name, config->connections, config->in_flight,
         (double)result->calls / result->seconds, microseconds(latencies, 0.5), microseconds(latencies, 0.99),
         microseconds(latencies, 0.999), (double)latencies->max / 1e3, config->address);
  if (config->watch_pid != 0)
    printf("server: %.2f us a call; resident: %llu KiB at a tenth, %llu at the end, %llu at most\n",
           result->server_seconds * 1e6 / (double)result->calls, (unsigned long long)result->memory.at_tenth,
           (unsigned long long)result->memory.at_end, (unsigned long long)result->memory.most);
}

static void print_json(const struct engine_config *config, const struct engine_result *result)
{
  const struct histogram *latencies = &result->latencies;
  printf("{\"workload\":\"%s\",\"connections\":%u,\"in_flight\":%u,\"calls\":%llu,\"seconds\":%.6f,"
         "\"calls_per_second\":%.1f,\"p50_us\":%.3f,\"p99_us\":%.3f,\"p999_us\":%.3f,\"max_us\":%.3f,"
         "\"client_us_per_call\":%.4f",
         config->workload->name, config->connections, config->in_flight, (unsigned long long)result->calls,
         result->seconds, (double)result->calls / result->seconds, microseconds(latencies, 0.5),
         microseconds(latencies, 0.99), microseconds(latencies, 0.999), (double)latencies->max / 1e3,
         result->client_seconds * 1e6 / (double)result->calls);
  if (config->watch_pid != 0)
    printf(",\"server_us_per_call\":%.4f,\"resident_kib\":{\"at_tenth\":%llu,\"at_end\":%llu,\"most\":%llu}",
           result->server_seconds * 1e6 / (double)result->calls, (unsigned long long)result->memory.at_tenth,
           (unsigned long long)result->memory.at_end, (unsigned long long)result->memory.most);
  puts("}");
}

static int run(const struct arguments *arguments)
{
  static struct engine_result result;
  struct jp_error error;
  if (engine_run(&arguments->engine, &result, &error) != JP_OK) {
    fprintf(stderr, "jpeer-bench: %s\n", error.text);
    return 1;
  }
  if (arguments->json)
    print_json(&arguments->engine, &result);
  else
    print_line(&arguments->engine, &result);
  return 0;
}

int main(int argc, char **argv)
{
  struct arguments arguments = {
      .engine = {.workload = workload_find("add"), .warm_up = 20000, .seconds = 2},
      .connections = 1,
      .in_flight = 1,
      .stall_ms = 10000,
  };
  for (int option; (option = getopt_long(argc, argv, "", option_rows, NULL)) != -1;) {
    if (option == 'h' || option == 'l') {
      (option == 'h' ? print_help : print_list)();
      return 0;
    }
    if (!apply(&arguments, option, optarg))
      return 2;
  }
  if (arguments.engine.address == NULL || optind != argc) {
    fputs("jpeer-bench: --to ADDRESS is needed, and nothing beside the options (--help)\n", stderr);
    return 2;
  }
  arguments.engine.connections = (unsigned)arguments.connections;
  arguments.engine.in_flight = (unsigned)arguments.in_flight;
  arguments.engine.stall_ms = (int)arguments.stall_ms;
  arguments.engine.watch_pid = (int)arguments.watch_pid;
  return run(&arguments);
}
