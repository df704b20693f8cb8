/*
 * jpeer-bench-client: the workload `add` of jpeer-bench, called by libjpeer-client as a program would.
 *
 * usage: jpeer-bench-client ADDRESS PID IN_FLIGHT WARM_UP SECONDS
 * With one call in flight it is jp_client_call on one thread; with more, completions that send the next call, on a loop
 * that polls the client's descriptor. Prints a JSON object with the names of jpeer-bench's figures, and how many times a
 * call allocates (null: this build cannot count). PID is the peer, whose processor time is looked at.
 */
#include "histogram.h"
#include "processor_time.h"
#include "stages/allocations.h"

#include "base/clock.h"
#include "jpeer/client.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { TIMEOUT_MS = 10000, IN_FLIGHT_MAX = 65536 };

struct load;

/* One of the calls in flight. */
struct call {
  struct load *load;
  int64_t since_ns;
  int32_t sum;              /* what is to be answered */
  struct jp_answer *answer; /* while the client is made to have as many as there are calls */
};

struct load {
  struct jp_client *client;
  struct jp_client_error error;
  struct call *calls;
  size_t in_flight;
  size_t open;
  pid_t peer;
  uint64_t warm_up;
  int64_t measured_ns;
  int64_t now_ns; /* of the answers that are being taken */
  int64_t begins_ns;
  int64_t ends_ns; /* INT64_MAX: the warm-up is not over */
  int64_t own_begins_ns;
  int64_t peer_begins_ns;
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
  return load->done >= load->warm_up;
}

static void begin_measuring(struct load *load)
{
  load->begins_ns = load->now_ns;
  load->ends_ns = load->now_ns + load->measured_ns;
  load->own_begins_ns = processor_ns(getpid());
  load->peer_begins_ns = processor_ns(load->peer);
  allocations_begin();
}

static void take_answer(struct load *load, const struct call *call, enum jp_client_status status,
                        struct jp_answer *answer)
{
  int64_t sum;
  if (status != JP_CLIENT_OK)
    fail_load(load, answer == NULL ? jp_client_status_text(status) : jp_answer_error_message(answer));
  else if (!jp_answer_integer(answer, &sum) || sum != call->sum)
    fail_load(load, "an answer is not the sum");
  jp_answer_free(answer);
  if (is_warm(load))
    histogram_record(&load->latencies, (uint64_t)(load->now_ns - call->since_ns));
  load->done++;
  if (load->done == load->warm_up)
    begin_measuring(load);
}

static bool may_begin(const struct load *load)
{
  return load->now_ns < load->ends_ns && !load->has_failed;
}

/* The operands are new each time. */
static struct jp_argument next_operand(struct load *load, int32_t factor)
{
  return jp_int((int32_t)(load->begun % 1000000) * factor);
}

/* ---- one call at a time ---- */

static void run_calls(struct load *load)
{
  load->now_ns = clock_now_ns();
  while (may_begin(load)) {
    struct call call = {.load = load, .since_ns = load->now_ns};
    const struct jp_argument operands[] = {next_operand(load, 1), next_operand(load, 7)};
    const struct jp_request add = jp_build_class_method_call("com.example.Calculator", "add", operands, 2);
    struct jp_answer *answer;
    call.sum = (int32_t)(operands[0].as.integer + operands[1].as.integer);
    load->begun++;
    enum jp_client_status status = jp_client_call(load->client, &add, TIMEOUT_MS, &answer, &load->error);
    load->now_ns = clock_now_ns();
    take_answer(load, &call, status, answer);
  }
}

/* ---- many in flight ---- */

static void send_call(struct call *call, jp_client_completion *completion)
{
  struct load *load = call->load;
  const struct jp_argument operands[] = {next_operand(load, 1), next_operand(load, 7)};
  const struct jp_request add = jp_build_class_method_call("com.example.Calculator", "add", operands, 2);
  call->sum = (int32_t)(operands[0].as.integer + operands[1].as.integer);
  call->since_ns = load->now_ns;
  load->begun++;
  load->open++;
  if (jp_client_send(load->client, &add, TIMEOUT_MS, completion, call, &load->error) == JP_CLIENT_OK)
    return;
  load->open--;
  fail_load(load, load->error.text);
}

static void complete_call(void *context, enum jp_client_status status, struct jp_answer *answer)
{
  struct call *call = context;
  struct load *load = call->load;
  load->open--;
  take_answer(load, call, status, answer);
  if (may_begin(load))
    send_call(call, complete_call);
}

static void keep_answer(void *context, enum jp_client_status status, struct jp_answer *answer)
{
  struct call *call = context;
  call->load->open--;
  call->answer = answer;
  if (status != JP_CLIENT_OK)
    fail_load(call->load, answer == NULL ? jp_client_status_text(status) : jp_answer_error_message(answer));
}

/* One wait for answers, and all that they bring about. */
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
  for (size_t i = 0; i < load->in_flight; i++) {
    load->calls[i].load = load;
    send_call(&load->calls[i], completion);
  }
  while (load->open > 0 && !load->has_failed)
    turn_loop(load, polled);
}

/* The first window's answers are freed together: all that may be there at once have their memory then, and any
 * allocation that is counted later is one of a call's. */
static void run_loop(struct load *load)
{
  struct pollfd polled = {.fd = jp_client_descriptor(load->client), .events = POLLIN};
  fill_window(load, &polled, keep_answer);
  for (size_t i = 0; i < load->in_flight; i++)
    jp_answer_free(load->calls[i].answer);
  if (!load->has_failed)
    fill_window(load, &polled, complete_call);
}

/* ---- the program ---- */

static double microseconds(const struct load *load, double share)
{
  return (double)histogram_quantile(&load->latencies, share) / 1e3;
}

static void print_allocations(uint64_t allocations, double calls)
{
  if (allocations_are_counted())
    printf(",\"allocations_per_call\":%.4f}\n", (double)allocations / calls);
  else
    puts(",\"allocations_per_call\":null}");
}

static void run_load(struct load *load)
{
  if (load->in_flight == 1)
    run_calls(load);
  else
    run_loop(load);
  uint64_t allocations = allocations_end();
  double own_us = (double)(processor_ns(getpid()) - load->own_begins_ns) / 1e3;
  double peer_us = (double)(processor_ns(load->peer) - load->peer_begins_ns) / 1e3;
  if (load->has_failed)
    return;
  double calls = (double)(load->done - load->warm_up);
  double seconds = (double)(load->now_ns - load->begins_ns) / 1e9;
  printf("{\"in_flight\":%zu,\"calls\":%.0f,\"seconds\":%.6f,\"calls_per_second\":%.1f,\"p50_us\":%.3f,"
         "\"p99_us\":%.3f,\"p999_us\":%.3f,\"max_us\":%.3f,\"client_us_per_call\":%.4f,\"server_us_per_"
         "call\":%.4f",
         load->in_flight, calls, seconds, calls / seconds, microseconds(load, 0.5), microseconds(load, 0.99),
         microseconds(load, 0.999), (double)load->latencies.max / 1e3, own_us / calls, peer_us / calls);
  print_allocations(allocations, calls);
}

static bool read_arguments(struct load *load, char **words)
{
  double seconds = strtod(words[5], NULL);
  load->peer = (pid_t)strtol(words[2], NULL, 10);
  load->in_flight = strtoul(words[3], NULL, 10);
  load->warm_up = strtoull(words[4], NULL, 10);
  load->measured_ns = (int64_t)(seconds * 1e9);
  load->ends_ns = INT64_MAX;
  return load->in_flight > 0 && load->in_flight <= IN_FLIGHT_MAX && load->warm_up > 0 && seconds > 0 &&
         seconds <= 86400;
}

int main(int argc, char **argv)
{
  static struct load load;
  if (argc != 6 || !read_arguments(&load, argv)) {
    fputs("usage: jpeer-bench-client ADDRESS PID IN_FLIGHT WARM_UP SECONDS\n", stderr);
    return 2;
  }
  load.calls = calloc(load.in_flight, sizeof *load.calls);
  if (load.calls == NULL)
    fail_load(&load, "no memory for the calls");
  else if (jp_client_open(argv[1], NULL, &load.client, &load.error) != JP_CLIENT_OK)
    fail_load(&load, load.error.text);
  else
    run_load(&load);
  jp_client_close(load.client);
  free(load.calls);
  return load.has_failed ? 1 : 0;
}
