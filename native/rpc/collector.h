#ifndef JPEER_RPC_COLLECTOR_H
#define JPEER_RPC_COLLECTOR_H
/*
 * The garbage collections that clients request by `control gc`: never more than one at a time, and at most
 * one in a second. If a collection is allowed, the requesting thread runs it. The requests of the following
 * second share one further collection. The collector's thread runs that collection when the second is over,
 * and the requests do not wait for it. The collector's thread is started before there are clients, because
 * starting a Java thread needs the monitor of java.lang.Thread (JDK 17), which a call may hold for a long
 * time. A peer has one collector, which all threads use.
 */
#include "jni/jvm.h"

struct rpc_collector;

/* NULL: no memory. */
struct rpc_collector *rpc_collector_create(void);
/* Starts the collector's own thread. Call once. */
enum jp_status rpc_collector_start(struct rpc_collector *collector, struct jvm *jvm,
                                   struct jp_error *error) JP_MUST_CHECK;
/* Cancels the collection that is still due. Waits at most wait_ms for the collector's own thread; false:
 * it still runs, and the collector must not be destroyed. May be repeated; NULL is fine. */
bool rpc_collector_stop(struct rpc_collector *collector, int64_t wait_ms);
void rpc_collector_destroy(struct rpc_collector *collector);
/* Requests a collection. thread: the calling thread's. */
void rpc_collector_collect(struct rpc_collector *collector, struct jvm_thread *thread);

#endif
