#ifndef JPEER_RPC_CALLBACKS_CALLBACK_CALL_H
#define JPEER_RPC_CALLBACKS_CALLBACK_CALL_H
/* Open calls. A call is open from the moment when Java calls the method until the answer. These functions are
 * for jni and the transports. */
#include "rpc/callbacks/callbacks.h"

const struct jvm_callback_hooks *rpc_callback_hooks(void);

/* rpc_service.has_room and are_exiting; see there. */
void rpc_callbacks_has_room(void *context, struct rpc_callbacks *callbacks);
bool rpc_callbacks_are_exiting(void *context, struct rpc_callbacks *callbacks);

#endif
