#ifndef JPEER_METRICS_METRICS_H
#define JPEER_METRICS_METRICS_H
/*
 * The figures that an operator sees (GET /metrics): one table of all metrics, the words of their labels, and the text
 * that Prometheus reads. Knows neither Java nor sockets: rpc and net fill in a struct metrics_figures.
 *
 * Every label has a fixed list of words, so that no text of a client becomes a label. The table is constant data, and the
 * functions are pure: any thread.
 */
#include "base/buffer.h"

#include <stddef.h>
#include <stdint.h>

/* ---- the words of labels: ROW(CONSTANT, word) ---- */

/* The operation of a request. The first ones are in the order of enum op_kind. */
#define METRICS_METHOD_TABLE(ROW)                                                                            \
  ROW(NEW, "new")                                                                                            \
  ROW(CALL, "call")                                                                                          \
  ROW(GET, "get")                                                                                            \
  ROW(PUT, "put")                                                                                            \
  ROW(CONTROL, "control")                                                                                    \
  ROW(META, "meta")                                                                                          \
  ROW(FETCH, "jpeer.fetch")                                                                                  \
  ROW(DESCRIBE, "jpeer.describe")                                                                            \
  ROW(ASSEMBLE, "jpeer.assemble")                                                                            \
  ROW(COLUMNS, "jpeer.columns")                                                                              \
  ROW(ROWS, "jpeer.rows")                                                                                    \
  ROW(DISCOVER, "rpc.discover")                                                                              \
  ROW(OTHER, "other")

/* How a request has ended. */
#define METRICS_OUTCOME_TABLE(ROW)                                                                           \
  ROW(OK, "ok")                                                                                              \
  ROW(EXCEPTION, "exception")                                                                                \
  ROW(TIMEOUT, "timeout")                                                                                    \
  ROW(CANCELLED, "cancelled")                                                                                \
  ROW(DENIED, "denied")                                                                                      \
  ROW(NOT_FOUND, "not_found")                                                                                \
  ROW(INVALID, "invalid")                                                                                    \
  ROW(FAILED, "failed")                                                                                      \
  ROW(INTERNAL, "internal")

/* Why a message, a request of HTTP or a connection was refused before the service has read it. */
#define METRICS_REFUSAL_TABLE(ROW)                                                                           \
  ROW(BUSY, "busy")                                                                                          \
  ROW(LOST_THREADS, "lost_threads")                                                                          \
  ROW(STOPPING, "stopping")                                                                                  \
  ROW(NO_EVIDENCE, "no_evidence")                                                                            \
  ROW(WRONG_EVIDENCE, "wrong_evidence")                                                                      \
  ROW(NOT_ADMITTED, "not_admitted")                                                                          \
  ROW(FOREIGN_PAGE, "foreign_page")                                                                          \
  ROW(CONNECTIONS, "connections")                                                                            \
  ROW(LIMIT, "limit")                                                                                        \
  ROW(TOO_LONG, "too_long")                                                                                  \
  ROW(INPUT, "input")

#define METRICS_TRANSPORT_TABLE(ROW)                                                                         \
  ROW(WEBSOCKET, "websocket")                                                                                \
  ROW(HTTP, "http")                                                                                          \
  ROW(SHM, "shm")                                                                                            \
  ROW(ZMQ, "zmq")

/* What a thread of the crew does. */
#define METRICS_THREAD_TABLE(ROW)                                                                            \
  ROW(IDLE, "idle")                                                                                          \
  ROW(BUSY, "busy")                                                                                          \
  ROW(WAITING, "waiting")                                                                                    \
  ROW(STARTING, "starting")                                                                                  \
  ROW(PINNED, "pinned")

#define METRICS_METHOD_CONSTANT(id, word)    METRICS_METHOD_##id,
#define METRICS_OUTCOME_CONSTANT(id, word)   METRICS_OUTCOME_##id,
#define METRICS_REFUSAL_CONSTANT(id, word)   METRICS_REFUSAL_##id,
#define METRICS_TRANSPORT_CONSTANT(id, word) METRICS_TRANSPORT_##id,
#define METRICS_THREAD_CONSTANT(id, word)    METRICS_THREAD_##id,
enum metrics_method { METRICS_METHOD_TABLE(METRICS_METHOD_CONSTANT) METRICS_METHODS };
enum metrics_outcome { METRICS_OUTCOME_TABLE(METRICS_OUTCOME_CONSTANT) METRICS_OUTCOMES };
enum metrics_refusal { METRICS_REFUSAL_TABLE(METRICS_REFUSAL_CONSTANT) METRICS_REFUSALS };
enum metrics_transport { METRICS_TRANSPORT_TABLE(METRICS_TRANSPORT_CONSTANT) METRICS_TRANSPORTS };
enum metrics_thread { METRICS_THREAD_TABLE(METRICS_THREAD_CONSTANT) METRICS_THREADS };
#undef METRICS_METHOD_CONSTANT
#undef METRICS_OUTCOME_CONSTANT
#undef METRICS_REFUSAL_CONSTANT
#undef METRICS_TRANSPORT_CONSTANT
#undef METRICS_THREAD_CONSTANT

/* ---- the histogram of latencies ---- */

/* Bucket i counts times of at most METRICS_BUCKET_FIRST_US << i microseconds, and the last one all longer times: from 8 us
 * to 67 s. */
enum { METRICS_BUCKET_FIRST_US = 8, METRICS_BUCKETS = 25 };

static inline unsigned metrics_bucket_of(uint64_t ns)
{
  enum { SHIFT = 3, LARGEST = METRICS_BUCKETS - 1 };
  const uint64_t units = ns == 0 ? 0 : (ns - 1) / 1000 >> SHIFT; /* 0: at most 8 us */
  const unsigned bucket = units == 0 ? 0 : 64 - (unsigned)__builtin_clzll(units);
  return bucket < LARGEST ? bucket : LARGEST;
}
_Static_assert(METRICS_BUCKET_FIRST_US == 1 << 3, "the first bucket and its shift");

/* ---- the figures ---- */

/* A figure that is not known: its metric is left out. */
#define METRICS_UNKNOWN UINT64_MAX

/* A snapshot. Of the members of metrics_figures_init all are METRICS_UNKNOWN. */
struct metrics_figures {
  uint64_t requests[METRICS_METHODS][METRICS_OUTCOMES];
  uint64_t latency[METRICS_BUCKETS]; /* messages by bucket */
  uint64_t latency_ns;               /* the sum */
  uint64_t refusals[METRICS_REFUSALS];
  uint64_t connections[METRICS_TRANSPORTS];
  uint64_t sessions;
  uint64_t refs;
  uint64_t callbacks;
  uint64_t callbacks_open;
  uint64_t threads[METRICS_THREADS];
  uint64_t threads_max;
  uint64_t lost_threads;
  uint64_t input;
  uint64_t input_max;
  uint64_t shm;
  uint64_t shm_max;
  uint64_t heap_used;
  uint64_t heap_committed;
  uint64_t heap_max;
  uint64_t gc_ms;
  uint64_t gc_count;
  uint64_t java_threads;
  uint64_t cpu_us;
  uint64_t resident;
  uint64_t started_ms; /* since 1970 */
};

enum metrics_type { METRICS_COUNTER, METRICS_GAUGE, METRICS_HISTOGRAM };

/* A label and its words. */
struct metrics_label {
  const char *name;
  const char *const *words;
  size_t count;
};

enum { METRICS_LABELS_MAX = 2 };

/* A row of the table. Its figures are at `offset` of struct metrics_figures, the last label's words side by side. */
struct metrics_row {
  const char *name; /* with its unit, by the rules of Prometheus */
  enum metrics_type type;
  unsigned parts; /* the figure in parts of the unit: 1,000 for milliseconds of a metric in seconds */
  const char *help;
  size_t offset;
  const struct metrics_label *labels[METRICS_LABELS_MAX]; /* NULL: no further label */
};

extern const struct metrics_row metrics_table[];
extern const size_t metrics_table_count;

void metrics_figures_init(struct metrics_figures *figures);
/* The figures of the process: its processor time, its memory and its start. */
void metrics_read_process(struct metrics_figures *figures);
/* Appends the figures in Prometheus' text format 0.0.4. */
void metrics_write(const struct metrics_figures *figures, struct buffer *out);

#endif
