#ifndef JPEER_BENCH_LOAD_H
#define JPEER_BENCH_LOAD_H
/*
 * A load generator: so many connections, each with so many requests in flight, until so many were answered.
 * One thread; a transport drives the connections and reports each answer.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum workload { WORKLOAD_ADD, WORKLOAD_CHURN };

/* One connection's stream of requests. */
struct flow {
  enum workload workload;
  uint64_t ref;      /* churn: the object to delete next; 0: make one */
  uint64_t *sent_at; /* ring of in_flight times */
  size_t first;      /* the oldest request that is not answered */
  size_t outstanding;
};

struct load {
  const char *host;
  const char *port;
  size_t connections;
  size_t in_flight; /* a connection */
  uint64_t total;
  enum workload workload;

  struct flow *flows; /* one a connection */
  uint64_t started;   /* requests */
  uint64_t answered;
  uint32_t *latency_ns; /* one an answer */
  uint64_t step;        /* progress is printed every so many answers; 0: never */
};

enum { REQUEST_MAX = 256 };

/* Whether the connection should send another request now. */
bool load_wants_more(const struct load *load, const struct flow *flow);
/* Writes the connection's next request and notes the time. Gives its length. */
size_t load_next_request(struct load *load, struct flow *flow, char out[REQUEST_MAX]);
/* Takes one answer; ends the process where it is not what was asked for. */
void load_take_reply(struct load *load, struct flow *flow, const char *reply, size_t length);

/* Run until load->answered is load->total. They end the process with a message where something fails. */
void load_run_websocket(struct load *load);
void load_run_http(struct load *load);
void load_run_zeromq(struct load *load);

void load_die(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));

#endif
