#ifndef JPEER_RPC_REQUEST_COUNTS_H
#define JPEER_RPC_REQUEST_COUNTS_H
/*
 * Counts requests by method and outcome, for GET /metrics. Each worker of a crew member has counts of its own, which only
 * its thread writes; requests without such a worker count in the peer's. A reader sums them (rpc_peer_collect).
 */
#include "metrics/metrics.h"
#include "op/operation.h"
#include "op/outcome.h"

#include <stdatomic.h>

struct rpc_request_counts {
  _Atomic uint64_t requests[METRICS_METHODS][METRICS_OUTCOMES];
};

_Static_assert((int)METRICS_METHOD_NEW == (int)OP_NEW && (int)METRICS_METHOD_CALL == (int)OP_CALL &&
                   (int)METRICS_METHOD_GET == (int)OP_GET && (int)METRICS_METHOD_PUT == (int)OP_PUT &&
                   (int)METRICS_METHOD_CONTROL == (int)OP_CONTROL &&
                   (int)METRICS_METHOD_META == (int)OP_META && (int)METRICS_METHOD_FETCH == (int)OP_FETCH &&
                   (int)METRICS_METHOD_DESCRIBE == (int)OP_DESCRIBE &&
                   (int)METRICS_METHOD_ASSEMBLE == (int)OP_ASSEMBLE &&
                   (int)METRICS_METHOD_COLUMNS == (int)OP_COLUMNS && (int)METRICS_METHOD_ROWS == (int)OP_ROWS,
               "the methods of the metrics are in the order of enum op_kind");

static inline enum metrics_method rpc_metrics_method(enum op_kind kind)
{
  return (enum metrics_method)kind;
}

/* On the thread that owns the counts: a plain addition, which is cheaper than an atomic one. */
static inline void rpc_count_own(struct rpc_request_counts *counts, enum metrics_method method,
                                 enum metrics_outcome outcome)
{
  _Atomic uint64_t *count = &counts->requests[method][outcome];
  atomic_store_explicit(count, atomic_load_explicit(count, memory_order_relaxed) + 1, memory_order_relaxed);
}

/* Any thread. */
static inline void rpc_count_shared(struct rpc_request_counts *counts, enum metrics_method method,
                                    enum metrics_outcome outcome)
{
  atomic_fetch_add_explicit(&counts->requests[method][outcome], 1, memory_order_relaxed);
}

/* The word for an outcome that is sent. */
enum metrics_outcome rpc_metrics_outcome(const struct outcome *outcome);

#endif
