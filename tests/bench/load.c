#include "load.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

void load_die(const char *format, ...)
{
  va_list args;
  va_start(args, format);
  fputs("load: ", stderr);
  vfprintf(stderr, format, args);
  fputc('\n', stderr);
  va_end(args);
  exit(1);
}

static uint64_t now_ns(void)
{
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

bool load_wants_more(const struct load *load, const struct flow *flow)
{
  return flow->outstanding < load->in_flight && load->started < load->total;
}

size_t load_next_request(struct load *load, struct flow *flow, char out[REQUEST_MAX])
{
  static const char add[] =
      "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"call\",\"params\":{\"type\":\"fixtures.Calculator\","
      "\"method\":\"add\",\"args\":[{\"type\":\"int\",\"value\":5},{\"type\":\"int\",\"value\":3}]}}";
  static const char make[] = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"new\",\"params\":{\"type\":"
                             "\"fixtures.Calculator\"}}";
  int length;
  if (flow->workload == WORKLOAD_ADD)
    length = snprintf(out, REQUEST_MAX, "%s", add);
  else if (flow->ref == 0)
    length = snprintf(out, REQUEST_MAX, "%s", make);
  else
    length = snprintf(out, REQUEST_MAX,
                      "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"control\",\"params\":{\"method\":"
                      "\"delete_object\",\"args\":[{\"ref\":%llu}]}}",
                      (unsigned long long)flow->ref);
  flow->sent_at[(flow->first + flow->outstanding) % load->in_flight] = now_ns();
  flow->outstanding++;
  load->started++;
  return (size_t)length;
}

static bool contains(const char *reply, size_t length, const char *part)
{
  return memmem(reply, length, part, strlen(part)) != NULL;
}

static bool reply_is_right(struct flow *flow, const char *reply, size_t length)
{
  if (flow->workload == WORKLOAD_ADD)
    return contains(reply, length, "\"value\":\"8\"");
  if (flow->ref != 0) {
    flow->ref = 0;
    return contains(reply, length, "\"void\":true");
  }
  const char *ref = memmem(reply, length, "\"ref\":", 6);
  if (ref != NULL)
    flow->ref = strtoull(ref + 6, NULL, 10);
  return flow->ref != 0;
}

void load_take_reply(struct load *load, struct flow *flow, const char *reply, size_t length)
{
  if (flow->outstanding == 0 || !reply_is_right(flow, reply, length))
    load_die("unexpected answer: %.*s", (int)length, reply);
  uint64_t elapsed = now_ns() - flow->sent_at[flow->first];
  flow->first = (flow->first + 1) % load->in_flight;
  flow->outstanding--;
  load->latency_ns[load->answered++] = elapsed < UINT32_MAX ? (uint32_t)elapsed : UINT32_MAX;
  if (load->step != 0 && load->answered % load->step == 0) {
    printf("%llu\n", (unsigned long long)load->answered);
    fflush(stdout);
  }
}

static int compare_latencies(const void *a, const void *b)
{
  uint32_t left = *(const uint32_t *)a;
  uint32_t right = *(const uint32_t *)b;
  return (left > right) - (left < right);
}

static void print_figures(const struct load *load, const char *transport, uint64_t elapsed)
{
  qsort(load->latency_ns, load->answered, sizeof *load->latency_ns, compare_latencies);
  printf("%s, %zu x %zu: %.0f calls/s, p50 %.1f us, p99 %.1f us\n", transport, load->connections,
         load->in_flight, (double)load->answered * 1e9 / (double)elapsed,
         (double)load->latency_ns[load->answered / 2] / 1e3,
         (double)load->latency_ns[load->answered * 99 / 100] / 1e3);
}

static const struct {
  const char *scheme;
  const char *name;
  void (*run)(struct load *load);
} transports[] = {
    {"ws://", "WebSocket", load_run_websocket},
    {"http://", "HTTP", load_run_http},
    {"tcp://", "ZeroMQ", load_run_zeromq},
};
enum { TRANSPORTS = sizeof transports / sizeof transports[0] };

static size_t find_transport(const char *url)
{
  for (size_t i = 0; i < TRANSPORTS; i++) {
    if (strncmp(url, transports[i].scheme, strlen(transports[i].scheme)) == 0)
      return i;
  }
  load_die("unknown address: %s", url);
}

/* Splits HOST:PORT/PATH in place. */
static void split_address(char *address, struct load *load)
{
  address[strcspn(address, "/")] = '\0';
  char *colon = strrchr(address, ':');
  if (colon == NULL)
    load_die("no port in the address");
  *colon = '\0';
  load->host = address;
  load->port = colon + 1;
}

static uint64_t read_number(const char *text)
{
  char *end;
  errno = 0;
  unsigned long long number = strtoull(text, &end, 10);
  if (errno != 0 || *end != '\0' || number == 0)
    load_die("not a number above 0: %s", text);
  return number;
}

int main(int argc, char **argv)
{
  if (argc < 5 || argc > 7) {
    fputs("usage: load URL CONNECTIONS IN_FLIGHT TOTAL [add|churn [STEP]]\n", stderr);
    return 2;
  }
  struct load load = {
      .connections = read_number(argv[2]), .in_flight = read_number(argv[3]), .total = read_number(argv[4])};
  load.workload = argc > 5 && strcmp(argv[5], "churn") == 0 ? WORKLOAD_CHURN : WORKLOAD_ADD;
  load.step = argc > 6 ? read_number(argv[6]) : 0;
  if (load.workload == WORKLOAD_CHURN && load.in_flight != 1)
    load_die("churn needs the answer before the next request: IN_FLIGHT must be 1");
  size_t transport = find_transport(argv[1]);
  char *address = argv[1] + strlen(transports[transport].scheme);
  split_address(address, &load);

  load.flows = calloc(load.connections, sizeof *load.flows);
  load.latency_ns = malloc(load.total * sizeof *load.latency_ns);
  if (load.flows == NULL || load.latency_ns == NULL)
    load_die("out of memory");
  for (size_t i = 0; i < load.connections; i++) {
    load.flows[i].workload = load.workload;
    load.flows[i].sent_at = calloc(load.in_flight, sizeof *load.flows[i].sent_at);
    if (load.flows[i].sent_at == NULL)
      load_die("out of memory");
  }
  uint64_t start = now_ns();
  transports[transport].run(&load);
  print_figures(&load, transports[transport].name, now_ns() - start);

  for (size_t i = 0; i < load.connections; i++)
    free(load.flows[i].sent_at);
  free(load.flows);
  free(load.latency_ns);
  return 0;
}
