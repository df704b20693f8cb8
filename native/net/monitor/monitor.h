#ifndef JPEER_NET_MONITOR_MONITOR_H
#define JPEER_NET_MONITOR_MONITOR_H
/*
 * What an operator sees of a server: whether it serves (GET /healthz), and its figures (GET /metrics). The parts of the server
 * count connections and refusals here; these are rare, so threads share the counters. What a request costs is counted where it
 * happens, by each thread for itself (net/workers/crew.h, rpc/request_counts.h), and collected when somebody asks.
 *
 * No function uses Java, so the watcher may answer while every thread is inside Java. Any thread.
 */
#include "net/admission/input_budget.h"
#include "net/workers/crew.h"

struct net_monitor {
  struct crew *crew;                /* borrowed */
  const struct input_budget *input; /* borrowed */
  const _Atomic size_t *shm;        /* borrowed: bytes of shared memory */
  size_t shm_max;
  _Atomic uint64_t refusals[METRICS_REFUSALS];
  _Atomic uint64_t connections[METRICS_TRANSPORTS];
};

/* monitor NULL: nobody counts (tests). */
static inline void monitor_count_refusal(struct net_monitor *monitor, enum metrics_refusal reason)
{
  if (monitor != NULL)
    atomic_fetch_add_explicit(&monitor->refusals[reason], 1, memory_order_relaxed);
}

static inline void monitor_add_connection(struct net_monitor *monitor, enum metrics_transport transport)
{
  if (monitor != NULL)
    atomic_fetch_add_explicit(&monitor->connections[transport], 1, memory_order_relaxed);
}

static inline void monitor_remove_connection(struct net_monitor *monitor, enum metrics_transport transport)
{
  if (monitor != NULL)
    atomic_fetch_sub_explicit(&monitor->connections[transport], 1, memory_order_relaxed);
}

bool monitor_is_healthy(const struct net_monitor *monitor);
/* Appends all figures, those of the crew's service too. Waits as long as rpc_service.collect. */
void monitor_write_metrics(const struct net_monitor *monitor, struct buffer *out);

#endif
