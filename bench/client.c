/*
 * jpeer-bench-client: calls of one peer by libjpeer-client, as a program makes them; see --help.
 *
 * Each connection is a client on a thread of its own. With one call in flight the thread uses jp_client_call. With
 * more, a loop polls the client's descriptor, and each completion sends the next call.
 */
#include "histogram.h"
#include "processor_time.h"
#include "stages/allocations.h"

#include "base/clock.h"
#include "jpeer/client.h"

#include <errno.h>
#include <getopt.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { TIMEOUT_MS = 10000, IN_FLIGHT_MAX = 65536, CONNECTIONS_MAX = 1024, TEXT_MAX = 1 << 28 };

struct load;

/* What all connections do. They share this struct. */
struct plan {
  const char *address;
  pid_t peer;
  size_t connections;
  size_t in_flight;
  uint64_t warm_up; /* calls of each connection that are not measured */
  int64_t measured_ns;
  int64_t every_ns; /* the time between the starts of two calls; 0: a call follows directly after an answer */
  size_t text_size; /* the calls are echoString with a text of this length; 0: add */
  bool is_canned;
  bool pins; /* each connection has a Java thread of its own */
  char *text;
  pthread_barrier_t is_warm; /* the measurement of all connections begins at the same time */
  int64_t own_begins_ns;
  int64_t peer_begins_ns;
};

/* One of the calls in flight. */
struct call {
  struct load *load;
  int64_t since_ns;
  int32_t sum;              /* the expected answer */
  struct jp_answer *answer; /* kept while the client allocates one for each call */
};

/* A connection. */
struct load {
  struct plan *plan;
  pthread_t thread;
  struct jp_client *client;
  struct jp_client_error error;
  struct call *calls;
  size_t open;
  int64_t now_ns; /* when the loop read the answers that it now handles */
  int64_t begins_ns;
  int64_t ends_ns; /* INT64_MAX: the warm-up is not over */
  uint64_t begun;
  uint64_t done;
  bool has_failed;
  struct histogram latencies;
};

static void fail_load(struct load *load, const char *what)
{
  if (!load->has_failed)
    fprintf(stderr, "jpeer-bench-client: %s\n", what);
  load->has_failed = true;
}

/* ---- calls ---- */

static bool is_warm(const struct load *load)
{
  return load->done >= load->plan->warm_up;
}

/* The last connection to become warm reads the processes' times. */
static void begin_measuring(struct load *load)
{
  struct plan *plan = load->plan;
  if (pthread_barrier_wait(&plan->is_warm) == PTHREAD_BARRIER_SERIAL_THREAD) {
    plan->own_begins_ns = processor_ns(getpid());
    plan->peer_begins_ns = processor_ns(plan->peer);
    allocations_begin();
  }
  load->now_ns = clock_now_ns();
  load->begins_ns = load->now_ns;
  load->ends_ns = load->now_ns + plan->measured_ns;
}

/* The loop reads the clock once in a turn. For a call that begins and ends in one turn the clock is read again, because
 * its duration would be 0. */
static void read_clock(struct load *load, const struct call *call)
{
  if (call->since_ns == load->now_ns)
    load->now_ns = clock_now_ns();
}

static bool is_right(const struct load *load, const struct call *call, const struct jp_answer *answer)
{
  int64_t sum;
  struct jp_text text = jp_answer_text(answer);
  if (load->plan->text_size > 0)
    return text.len == load->plan->text_size && memcmp(text.data, load->plan->text, text.len) == 0;
  return jp_answer_integer(answer, &sum) && (load->plan->is_canned || sum == call->sum);
}

static void handle_answer(struct load *load, const struct call *call, enum jp_client_status status,
                          struct jp_answer *answer)
{
  if (status != JP_CLIENT_OK)
    fail_load(load, answer == NULL ? jp_client_status_text(status) : jp_answer_error_message(answer));
  else if (!is_right(load, call, answer))
    fail_load(load, "an answer is wrong");
  jp_answer_free(answer);
  if (is_warm(load))
    histogram_record(&load->latencies, (uint64_t)(load->now_ns - call->since_ns));
  load->done++;
  if (load->done == load->plan->warm_up)
    begin_measuring(load);
}

static bool may_begin(const struct load *load)
{
  return load->now_ns < load->ends_ns && !load->has_failed;
}

/* Each call has new operands. */
static struct jp_request next_request(struct load *load, struct call *call, struct jp_argument *arguments)
{
  struct plan *plan = load->plan;
  int32_t operand = (int32_t)(load->begun++ % 1000000);
  call->load = load;
  call->since_ns = load->now_ns;
  call->sum = operand * 8;
  if (plan->text_size > 0) {
    arguments[0] = jp_text_argument((struct jp_text){plan->text, plan->text_size});
    return jp_build_class_method_call("fixtures.Arguments", "echoString", arguments, 1);
  }
  arguments[0] = jp_int(operand);
  arguments[1] = jp_int(operand * 7);
  return jp_build_class_method_call("com.example.Calculator", "add", arguments, 2);
}

/* ---- one call at a time ---- */

static void await_tick(struct load *load)
{
  int64_t next_ns = (load->now_ns / load->plan->every_ns + 1) * load->plan->every_ns;
  const struct timespec until = {.tv_sec = next_ns / 1000000000, .tv_nsec = next_ns % 1000000000};
  clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
  load->now_ns = clock_now_ns();
}

static void run_calls(struct load *load)
{
  load->now_ns = clock_now_ns();
  while (may_begin(load)) {
    struct call call;
    struct jp_argument arguments[2];
    const struct jp_request request = next_request(load, &call, arguments);
    struct jp_answer *answer;
    enum jp_client_status status = jp_client_call(load->client, &request, TIMEOUT_MS, &answer, &load->error);
    load->now_ns = clock_now_ns();
    handle_answer(load, &call, status, answer);
    if (load->plan->every_ns > 0)
      await_tick(load);
  }
}

/* ---- many in flight ---- */

static void send_call(struct load *load, struct call *call, jp_client_completion *completion)
{
  struct jp_argument arguments[2];
  const struct jp_request request = next_request(load, call, arguments);
  load->open++;
  if (jp_client_send(load->client, &request, TIMEOUT_MS, completion, call, &load->error) == JP_CLIENT_OK)
    return;
  load->open--;
  fail_load(load, load->error.text);
}

static void complete_call(void *context, enum jp_client_status status, struct jp_answer *answer)
{
  struct call *call = context;
  struct load *load = call->load;
  load->open--;
  read_clock(load, call);
  handle_answer(load, call, status, answer);
  if (may_begin(load))
    send_call(load, call, complete_call);
}

static void keep_answer(void *context, enum jp_client_status status, struct jp_answer *answer)
{
  struct call *call = context;
  call->load->open--;
  call->answer = answer;
  if (status != JP_CLIENT_OK)
    fail_load(call->load, answer == NULL ? jp_client_status_text(status) : jp_answer_error_message(answer));
}

/* Waits once for answers, and handles them. */
static void turn_loop(struct load *load, struct pollfd *polled)
{
  int ready = poll(polled, 1, 2 * TIMEOUT_MS);
  load->now_ns = clock_now_ns();
  if (ready == 0)
    fail_load(load, "a call has neither an answer nor timed out");
  else if (ready < 0 && errno != EINTR)
    fail_load(load, strerror(errno));
  else if (jp_client_process(load->client, &load->error) != JP_CLIENT_OK)
    fail_load(load, load->error.text);
}

static void fill_window(struct load *load, struct pollfd *polled, jp_client_completion *completion)
{
  load->now_ns = clock_now_ns();
  for (size_t i = 0; i < load->plan->in_flight; i++)
    send_call(load, &load->calls[i], completion);
  while (load->open > 0 && !load->has_failed)
    turn_loop(load, polled);
}

/* The answers of the first window are freed together. After that the client has enough memory for all answers
 * at once, so that any later allocation is a cost of a call. */
static void run_loop(struct load *load)
{
  struct pollfd polled = {.fd = jp_client_descriptor(load->client), .events = POLLIN};
  fill_window(load, &polled, keep_answer);
  for (size_t i = 0; i < load->plan->in_flight; i++)
    jp_answer_free(load->calls[i].answer);
  if (!load->has_failed)
    fill_window(load, &polled, complete_call);
}

/* ---- the program ---- */

/* Ends the process if the load fails before it is warm, because the other loads would wait for this one. */
static void *run_load(void *context)
{
  struct load *load = context;
  if (load->plan->in_flight == 1)
    run_calls(load);
  else
    run_loop(load);
  if (!is_warm(load))
    exit(1);
  return NULL;
}

static double microseconds(const struct histogram *latencies, double share)
{
  return (double)histogram_quantile(latencies, share) / 1e3;
}

static void add_latencies(struct histogram *all, const struct histogram *more)
{
  for (unsigned i = 0; i < HISTOGRAM_BUCKETS; i++)
    all->counts[i] += more->counts[i];
  all->total += more->total;
  all->max = more->max > all->max ? more->max : all->max;
}

static void print_result(const struct plan *plan, const struct load *loads, uint64_t allocations)
{
  static struct histogram latencies;
  double own_us = (double)(processor_ns(getpid()) - plan->own_begins_ns) / 1e3;
  double peer_us = (double)(processor_ns(plan->peer) - plan->peer_begins_ns) / 1e3;
  double calls = 0;
  int64_t ends_ns = 0;
  for (size_t i = 0; i < plan->connections; i++) {
    add_latencies(&latencies, &loads[i].latencies);
    calls += (double)(loads[i].done - plan->warm_up);
    ends_ns = loads[i].now_ns > ends_ns ? loads[i].now_ns : ends_ns;
  }
  double seconds = (double)(ends_ns - loads[0].begins_ns) / 1e9;
  printf("{\"connections\":%zu,\"in_flight\":%zu,\"calls\":%.0f,\"seconds\":%.6f,"
         "\"calls_per_second\":%.1f,\"p50_us\":%.3f,\"p99_us\":%.3f,\"p999_us\":%.3f,\"max_us\":%.3f,"
         "\"client_us_per_call\":%.4f,\"server_us_per_call\":%.4f",
         plan->connections, plan->in_flight, calls, seconds, calls / seconds, microseconds(&latencies, 0.5),
         microseconds(&latencies, 0.99), microseconds(&latencies, 0.999), (double)latencies.max / 1e3,
         own_us / calls, peer_us / calls);
  if (allocations_are_counted() && plan->connections == 1)
    printf(",\"allocations_per_call\":%.4f}\n", (double)allocations / calls);
  else
    puts(",\"allocations_per_call\":null}");
}

static bool open_load(struct plan *plan, struct load *load)
{
  load->plan = plan;
  load->ends_ns = INT64_MAX;
  load->calls = calloc(plan->in_flight, sizeof *load->calls);
  if (load->calls == NULL)
    fail_load(load, "no memory for the calls");
  else if (jp_client_open(plan->address, NULL, &load->client, &load->error) != JP_CLIENT_OK)
    fail_load(load, load->error.text);
  else if (plan->pins && jp_client_pin(load->client, NULL, TIMEOUT_MS, &load->error) != JP_CLIENT_OK)
    fail_load(load, load->error.text);
  return !load->has_failed;
}

/* If there are several connections, each has a thread. A single connection runs on the calling thread,
 * because allocations are counted only there. */
static bool run_loads(struct plan *plan, struct load *loads)
{
  size_t opened = 0;
  while (opened < plan->connections && open_load(plan, &loads[opened]))
    opened++;
  if (opened < plan->connections)
    return false;
  for (size_t i = 1; i < plan->connections; i++)
    if (pthread_create(&loads[i].thread, NULL, run_load, &loads[i]) != 0) {
      fail_load(&loads[i], "no thread");
      exit(1);
    }
  run_load(&loads[0]);
  for (size_t i = 1; i < plan->connections; i++)
    pthread_join(loads[i].thread, NULL);
  uint64_t allocations = allocations_end();
  bool has_failed = false;
  for (size_t i = 0; i < plan->connections; i++)
    has_failed |= loads[i].has_failed;
  if (!has_failed)
    print_result(plan, loads, allocations);
  return !has_failed;
}

static void close_loads(const struct plan *plan, struct load *loads)
{
  for (size_t i = 0; i < plan->connections; i++) {
    jp_client_close(loads[i].client);
    free(loads[i].calls);
  }
  free(loads);
}

static bool make_text(struct plan *plan)
{
  if (plan->text_size == 0)
    return true;
  plan->text = malloc(plan->text_size);
  if (plan->text != NULL)
    memset(plan->text, 'x', plan->text_size);
  return plan->text != NULL;
}

static const struct option option_rows[] = {
    {"to", required_argument, NULL, 't'},
    {"watch", required_argument, NULL, 'p'},
    {"connections", required_argument, NULL, 'c'},
    {"in-flight", required_argument, NULL, 'i'},
    {"warm-up", required_argument, NULL, 'w'},
    {"seconds", required_argument, NULL, 's'},
    {"text", required_argument, NULL, 'x'},
    {"every", required_argument, NULL, 'e'},
    {"canned", no_argument, NULL, 'k'},
    {"pin", no_argument, NULL, 'n'},
    {"help", no_argument, NULL, 'h'},
    {NULL, 0, NULL, 0},
};

static void print_help(void)
{
  puts("usage: jpeer-bench-client --to URL --watch PID [options]\n"
       "\n"
       "  --to URL         as for jp_client_open\n"
       "  --watch PID      the peer, whose processor time is read\n"
       "  --connections N  each on a thread of its own (default 1)\n"
       "  --in-flight N    open calls a connection (default 1)\n"
       "  --warm-up N      calls of each connection that are not measured (default 1000; at least 1)\n"
       "  --seconds S      for how long (default 2)\n"
       "  --every US       the time between calls in microseconds, with one in flight (default: none)\n"
       "  --text N         a text of N bytes there and back, instead of add\n"
       "  --pin            each connection has a Java thread of its own (jp_client_pin)\n"
       "  --canned         the peer is jpeer-bench-floor: its sums are all the same\n"
       "\n"
       "Prints a JSON object with the names of jpeer-bench's figures, and how many times a call allocates "
       "(null:\n"
       "this build cannot count, or there are several threads). Exit codes: 0, 1 (a wrong answer, or no "
       "connection), 2 (usage).");
}

static bool apply(struct plan *plan, int option, const char *value)
{
  switch (option) {
  case 't':
    plan->address = value;
    return true;
  case 'p':
    plan->peer = (pid_t)strtol(value, NULL, 10);
    return plan->peer > 0;
  case 'c':
    plan->connections = strtoul(value, NULL, 10);
    return plan->connections > 0 && plan->connections <= CONNECTIONS_MAX;
  case 'i':
    plan->in_flight = strtoul(value, NULL, 10);
    return plan->in_flight > 0 && plan->in_flight <= IN_FLIGHT_MAX;
  case 'w':
    plan->warm_up = strtoull(value, NULL, 10);
    return plan->warm_up > 0;
  case 's':
    plan->measured_ns = (int64_t)(strtod(value, NULL) * 1e9);
    return plan->measured_ns > 0;
  case 'e':
    plan->every_ns = strtol(value, NULL, 10) * 1000;
    return plan->every_ns > 0;
  case 'x':
    plan->text_size = strtoul(value, NULL, 10);
    return plan->text_size > 0 && plan->text_size <= TEXT_MAX;
  case 'n':
    plan->pins = true;
    return true;
  case 'k':
    plan->is_canned = true;
    return true;
  default:
    return false;
  }
}

int main(int argc, char **argv)
{
  struct plan plan = {.connections = 1, .in_flight = 1, .warm_up = 1000, .measured_ns = 2000000000};
  for (int option; (option = getopt_long(argc, argv, "", option_rows, NULL)) != -1;) {
    if (option == 'h') {
      print_help();
      return 0;
    }
    if (!apply(&plan, option, optarg)) {
      fputs("jpeer-bench-client: wrong usage (--help)\n", stderr);
      return 2;
    }
  }
  if (plan.address == NULL || optind != argc) {
    fputs("jpeer-bench-client: --to URL is needed, and nothing beside the options (--help)\n", stderr);
    return 2;
  }
  struct load *loads = calloc(plan.connections, sizeof *loads);
  if (loads == NULL || !make_text(&plan) ||
      pthread_barrier_init(&plan.is_warm, NULL, (unsigned)plan.connections) != 0) {
    fputs("jpeer-bench-client: no memory\n", stderr);
    return 1;
  }
  bool good = run_loads(&plan, loads);
  close_loads(&plan, loads);
  free(plan.text);
  return good ? 0 : 1;
}
