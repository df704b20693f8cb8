#include "metrics/metrics.h"

#include "base/text.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#define WORD(id, word) word,
static const char *const METHODS[] = {METRICS_METHOD_TABLE(WORD)};
static const char *const OUTCOMES[] = {METRICS_OUTCOME_TABLE(WORD)};
static const char *const REFUSALS[] = {METRICS_REFUSAL_TABLE(WORD)};
static const char *const TRANSPORTS[] = {METRICS_TRANSPORT_TABLE(WORD)};
static const char *const THREADS[] = {METRICS_THREAD_TABLE(WORD)};
#undef WORD

static const struct metrics_label METHOD = {"method", METHODS, METRICS_METHODS};
static const struct metrics_label OUTCOME = {"outcome", OUTCOMES, METRICS_OUTCOMES};
static const struct metrics_label REASON = {"reason", REFUSALS, METRICS_REFUSALS};
static const struct metrics_label TRANSPORT = {"transport", TRANSPORTS, METRICS_TRANSPORTS};
static const struct metrics_label THREAD_STATE = {"state", THREADS, METRICS_THREADS};

enum { WHOLE = 1, MILLISECONDS = 1000, MICROSECONDS = 1000000, NANOSECONDS = 1000000000 };

#define AT(member) offsetof(struct metrics_figures, member)

/* docs/operations.md has the same rows (tests/integration/test_metrics.py). */
const struct metrics_row metrics_table[] = {
    {"jpeer_requests_total",
     METRICS_COUNTER,
     WHOLE,
     "Requests that were answered, or notifications that have run, by method and outcome.",
     AT(requests),
     {&METHOD, &OUTCOME}},
    {"jpeer_message_duration_seconds",
     METRICS_HISTOGRAM,
     NANOSECONDS,
     "Time of a message from its last byte to the end of its last request; a batch is one message.",
     AT(latency),
     {NULL}},
    {"jpeer_refusals_total",
     METRICS_COUNTER,
     WHOLE,
     "Messages, HTTP requests and connections that were refused unread, by reason.",
     AT(refusals),
     {&REASON}},
    {"jpeer_connections",
     METRICS_GAUGE,
     WHOLE,
     "Open connections by transport; of ZeroMQ, clients that wait for an answer.",
     AT(connections),
     {&TRANSPORT}},
    {"jpeer_sessions", METRICS_GAUGE, WHOLE, "Sessions with objects.", AT(sessions), {NULL}},
    {"jpeer_refs",
     METRICS_GAUGE,
     WHOLE,
     "Java objects that clients have refs of, in all sessions.",
     AT(refs),
     {NULL}},
    {"jpeer_callbacks_total",
     METRICS_COUNTER,
     WHOLE,
     "Calls of Java to functions of clients.",
     AT(callbacks),
     {NULL}},
    {"jpeer_callbacks_open",
     METRICS_GAUGE,
     WHOLE,
     "Calls of Java to functions of clients that are not over.",
     AT(callbacks_open),
     {NULL}},
    {"jpeer_threads",
     METRICS_GAUGE,
     WHOLE,
     "Threads that serve requests, by state.",
     AT(threads),
     {&THREAD_STATE}},
    {"jpeer_threads_max",
     METRICS_GAUGE,
     WHOLE,
     "Most threads that may be busy (rpc-threads-max).",
     AT(threads_max),
     {NULL}},
    {"jpeer_lost_threads",
     METRICS_GAUGE,
     WHOLE,
     "Threads that do not return from a call that was ended.",
     AT(lost_threads),
     {NULL}},
    {"jpeer_input_bytes",
     METRICS_GAUGE,
     WHOLE,
     "Input that was received and not served yet.",
     AT(input),
     {NULL}},
    {"jpeer_input_max_bytes",
     METRICS_GAUGE,
     WHOLE,
     "Most input that may wait (input-max-total).",
     AT(input_max),
     {NULL}},
    {"jpeer_shm_bytes", METRICS_GAUGE, WHOLE, "Shared memory of all connections.", AT(shm), {NULL}},
    {"jpeer_shm_max_bytes", METRICS_GAUGE, WHOLE, "Most shared memory (shm-total).", AT(shm_max), {NULL}},
    {"jpeer_jvm_heap_used_bytes",
     METRICS_GAUGE,
     WHOLE,
     "Heap in use, with garbage that was not collected yet.",
     AT(heap_used),
     {NULL}},
    {"jpeer_jvm_heap_committed_bytes",
     METRICS_GAUGE,
     WHOLE,
     "Heap that the JVM has reserved from the system.",
     AT(heap_committed),
     {NULL}},
    {"jpeer_jvm_heap_max_bytes", METRICS_GAUGE, WHOLE, "Most heap (-Xmx).", AT(heap_max), {NULL}},
    {"jpeer_jvm_gc_seconds_total",
     METRICS_COUNTER,
     MILLISECONDS,
     "Time of garbage collections, of all collectors.",
     AT(gc_ms),
     {NULL}},
    {"jpeer_jvm_gc_collections_total",
     METRICS_COUNTER,
     WHOLE,
     "Garbage collections, of all collectors.",
     AT(gc_count),
     {NULL}},
    {"jpeer_jvm_threads", METRICS_GAUGE, WHOLE, "Java threads.", AT(java_threads), {NULL}},
    {"process_cpu_seconds_total",
     METRICS_COUNTER,
     MICROSECONDS,
     "Processor time of the process.",
     AT(cpu_us),
     {NULL}},
    {"process_resident_memory_bytes",
     METRICS_GAUGE,
     WHOLE,
     "Resident memory of the process.",
     AT(resident),
     {NULL}},
    {"process_start_time_seconds",
     METRICS_GAUGE,
     MILLISECONDS,
     "Start of the process, in seconds since 1970.",
     AT(started_ms),
     {NULL}},
};
const size_t metrics_table_count = sizeof metrics_table / sizeof metrics_table[0];

_Static_assert(sizeof(struct metrics_figures) % sizeof(uint64_t) == 0, "all members are uint64_t");

void metrics_figures_init(struct metrics_figures *figures)
{
  memset(figures, 0xFF, sizeof *figures); /* METRICS_UNKNOWN */
}

/* ---- the process ---- */

/* The time at which the process has started: field 22 of /proc/self/stat is in ticks since the start of the system. */
static uint64_t compute_start_ms(void)
{
  enum { FIELD_AFTER_NAME = 20 };
  char line[1024] = "";
  struct timespec now;
  struct timespec up;
  unsigned long long ticks;
  FILE *file = fopen("/proc/self/stat", "re");
  if (file == NULL)
    return METRICS_UNKNOWN;
  const char *at =
      fgets(line, sizeof line, file) == NULL ? NULL : strrchr(line, ')'); /* the name may have spaces */
  fclose(file);
  for (int field = 0; at != NULL && field < FIELD_AFTER_NAME; field++)
    at = strchr(at + 1, ' ');
  if (at == NULL || sscanf(at, " %llu", &ticks) != 1)
    return METRICS_UNKNOWN;
  clock_gettime(CLOCK_REALTIME, &now);
  clock_gettime(CLOCK_BOOTTIME, &up);
  const int64_t up_ms = up.tv_sec * 1000 + up.tv_nsec / 1000000;
  const int64_t now_ms = now.tv_sec * 1000 + now.tv_nsec / 1000000;
  return (uint64_t)(now_ms - up_ms) + ticks * 1000 / (unsigned long)sysconf(_SC_CLK_TCK);
}

/* Computed once, because a change of the figure means a new process, and two clocks that are read one after the other, or
 * are set, give another one each time. */
static uint64_t read_start_ms(void)
{
  static _Atomic uint64_t kept = METRICS_UNKNOWN;
  uint64_t start_ms = atomic_load(&kept);
  if (start_ms != METRICS_UNKNOWN)
    return start_ms;
  const uint64_t computed = compute_start_ms();
  return atomic_compare_exchange_strong(&kept, &start_ms, computed) ? computed : start_ms;
}

static uint64_t read_resident(void)
{
  unsigned long long all;
  unsigned long long resident;
  FILE *file = fopen("/proc/self/statm", "re");
  if (file == NULL)
    return METRICS_UNKNOWN;
  const int count = fscanf(file, "%llu %llu", &all, &resident);
  fclose(file);
  return count == 2 ? resident * (unsigned long)sysconf(_SC_PAGESIZE) : METRICS_UNKNOWN;
}

static uint64_t in_microseconds(const struct timeval *time)
{
  return (uint64_t)time->tv_sec * MICROSECONDS + (uint64_t)time->tv_usec;
}

void metrics_read_process(struct metrics_figures *figures)
{
  struct rusage usage;
  if (getrusage(RUSAGE_SELF, &usage) == 0)
    figures->cpu_us = in_microseconds(&usage.ru_utime) + in_microseconds(&usage.ru_stime);
  figures->resident = read_resident();
  figures->started_ms = read_start_ms();
}

/* ---- the text ---- */

static void write_figure(uint64_t figure, unsigned parts, struct buffer *out)
{
  int digits = 0;
  for (unsigned part = parts; part > 1; part /= 10)
    digits++;
  if (parts <= WHOLE)
    buffer_printf(out, "%" PRIu64 "\n", figure);
  else
    buffer_printf(out, "%" PRIu64 ".%0*" PRIu64 "\n", figure / parts, digits, figure % parts);
}

static void write_labelled(const struct metrics_row *row, const uint64_t *figures, struct buffer *out)
{
  const struct metrics_label *first = row->labels[0];
  const struct metrics_label *second = row->labels[1];
  for (size_t i = 0; i < first->count; i++) {
    for (size_t j = 0; j < (second == NULL ? 1 : second->count); j++, figures++) {
      if (*figures == METRICS_UNKNOWN)
        continue;
      buffer_printf(out, "%s{%s=\"%s\"", row->name, first->name, first->words[i]);
      if (second != NULL)
        buffer_printf(out, ",%s=\"%s\"", second->name, second->words[j]);
      BUFFER_LITERAL(out, "} ");
      write_figure(*figures, row->parts, out);
    }
  }
}

static void write_histogram(const struct metrics_row *row, const uint64_t *buckets, struct buffer *out)
{
  uint64_t sum = 0;
  for (unsigned i = 0; i < METRICS_BUCKETS; i++) {
    sum += buckets[i];
    if (i < METRICS_BUCKETS - 1)
      buffer_printf(out, "%s_bucket{le=\"%.6f\"} %" PRIu64 "\n", row->name,
                    (double)((uint64_t)METRICS_BUCKET_FIRST_US << i) / MICROSECONDS, sum);
  }
  buffer_printf(out, "%s_bucket{le=\"+Inf\"} %" PRIu64 "\n%s_sum ", row->name, sum, row->name);
  write_figure(buckets[METRICS_BUCKETS], row->parts, out); /* latency_ns follows the buckets */
  buffer_printf(out, "%s_count %" PRIu64 "\n", row->name, sum);
}
_Static_assert(offsetof(struct metrics_figures, latency_ns) ==
                   offsetof(struct metrics_figures, latency) + METRICS_BUCKETS * sizeof(uint64_t),
               "the sum follows the buckets");

void metrics_write(const struct metrics_figures *figures, struct buffer *out)
{
  static const char *const types[] = {
      [METRICS_COUNTER] = "counter", [METRICS_GAUGE] = "gauge", [METRICS_HISTOGRAM] = "histogram"};
  for (size_t i = 0; i < metrics_table_count; i++) {
    const struct metrics_row *row = &metrics_table[i];
    const uint64_t *own = (const uint64_t *)(const void *)((const char *)figures + row->offset);
    if (*own == METRICS_UNKNOWN)
      continue;
    buffer_printf(out, "# HELP %s %s\n# TYPE %s %s\n", row->name, row->help, row->name, types[row->type]);
    if (row->type == METRICS_HISTOGRAM) {
      write_histogram(row, own, out);
    } else if (row->labels[0] != NULL) {
      write_labelled(row, own, out);
    } else {
      buffer_printf(out, "%s ", row->name);
      write_figure(*own, row->parts, out);
    }
  }
}
