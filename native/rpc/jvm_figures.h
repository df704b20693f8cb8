#ifndef JPEER_RPC_JVM_FIGURES_H
#define JPEER_RPC_JVM_FIGURES_H
/*
 * The JVM's figures for GET /metrics. A Java thread of its own reads them when somebody wants them, because the JVM may keep
 * the thread that asks waiting: for a garbage collection, or while it loads the classes of the beans. Whoever wants figures
 * waits for RPC_JVM_FIGURES_WAIT_MS at the most, and gets the last ones otherwise.
 */
#include "base/status.h"
#include "jni/jvm.h"
#include "metrics/metrics.h"

enum { RPC_JVM_FIGURES_WAIT_MS = 15 };

struct rpc_jvm_figures;

/* NULL: memory is short. */
struct rpc_jvm_figures *rpc_jvm_figures_create(void);
/* Starts the thread. Call once. */
enum jp_status rpc_jvm_figures_start(struct rpc_jvm_figures *own, struct jvm *jvm,
                                     struct jp_error *error) JP_MUST_CHECK;
/* Sets the JVM's figures; those that were never read are METRICS_UNKNOWN. Any thread, also one that may not use Java. */
void rpc_jvm_figures_collect(struct rpc_jvm_figures *own, struct metrics_figures *figures);
/* Asks the thread to end. False: it still runs after wait_ms, and *own must not be destroyed. */
bool rpc_jvm_figures_stop(struct rpc_jvm_figures *own, int64_t wait_ms) JP_MUST_CHECK;
void rpc_jvm_figures_destroy(struct rpc_jvm_figures *own);

#endif
