#ifndef JPEER_RPC_CALLBACKS_CALLBACK_CALLS_H
#define JPEER_RPC_CALLBACKS_CALLBACK_CALLS_H
/*
 * Open calls: from the method that Java has called to the answer, and the nested requests in between. The hooks of
 * jni/callbacks.h, and what a transport hands over.
 *
 * A struct rpc_callback_call lives on the heap, in the list of its callbacks from open to close, under the number N of
 * "cb-N". Its own thread alone uses its members, except those that the lock of the callbacks guards.
 */
#include "rpc/callbacks/callbacks.h"

const struct jvm_callback_hooks *rpc_callback_hooks(void);

/* A crew member's thread, for the hooks that run on it: begun before it serves, ended before the worker goes. */
void rpc_callback_worker_begin(struct rpc_worker *worker);
void rpc_callback_worker_end(struct rpc_worker *worker);
/* rpc_service.set_waits. Nobody wakes by the ones before when this returns. */
void rpc_callback_worker_set_waits(struct rpc_worker *worker, const struct rpc_waits *waits);

/* The functions of struct rpc_service; see there. */
enum rpc_taken rpc_callbacks_take(void *context, struct rpc_callbacks *callbacks, struct buffer *message,
                                  struct buffer *answer);
void rpc_callbacks_client_gone(void *context, struct rpc_callbacks *callbacks, bool is_stopping);
bool rpc_callbacks_are_exiting(void *context, struct rpc_callbacks *callbacks);
void rpc_callbacks_has_room(void *context, struct rpc_callbacks *callbacks);

#endif
