#ifndef JPEER_RPC_COLLECTOR_H
#define JPEER_RPC_COLLECTOR_H
/*
 * The garbage collections that clients ask for by `control gc`: never more than one at a time, and one a second. A
 * request that may collect does so on its own thread. Those that come within a second share one further collection, which
 * a thread of its own runs when the second is over; they do not wait for it. A peer has one collector, for all threads.
 */
#include "jni/jvm.h"

struct rpc_collector;

/* NULL: no memory. */
struct rpc_collector *rpc_collector_create(void);
/* A collection that is still wanted does not run. Waits for the collector's own thread, at most
 * wait_ms; false: it still runs, and the collector must not be destroyed. Repeated calls are fine, and NULL. */
bool rpc_collector_stop(struct rpc_collector *collector, int64_t wait_ms);
void rpc_collector_destroy(struct rpc_collector *collector);
/* thread: the caller's. An error: the shared collection cannot be scheduled. */
enum jp_status rpc_collector_collect(struct rpc_collector *collector, struct jvm *jvm,
                                     struct jvm_thread *thread, struct jp_error *error) JP_MUST_CHECK;

#endif
