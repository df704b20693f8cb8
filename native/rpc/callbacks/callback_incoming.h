#ifndef JPEER_RPC_CALLBACKS_CALLBACK_INCOMING_H
#define JPEER_RPC_CALLBACKS_CALLBACK_INCOMING_H
/* Receives the messages of a client whose objects are being called: answers, and requests that are nested
 * in calls. */
#include "rpc/callbacks/callbacks.h"

/* rpc_service.receive; see there. */
enum rpc_received rpc_callbacks_receive(void *context, struct rpc_callbacks *callbacks,
                                        struct buffer *message, struct buffer *answer);
/* rpc_service.receive_beginning */
enum rpc_received rpc_callbacks_receive_beginning(void *context, struct rpc_callbacks *callbacks,
                                                  struct text beginning, bool *is_answer);

/* rpc_service.cancel_nested */
bool rpc_callbacks_cancel(void *context, struct rpc_callbacks *callbacks, struct text id,
                          enum rpc_nested_state which);

/*
 * Called before a message releases refs that answers of the client may name, on the thread that serves the
 * message, without a lock. Returns when the answers that were received before the message have been read, or
 * two seconds after the last of these answers was received. Does not wait for answers to calls of the calling
 * thread.
 */
void rpc_callbacks_await_answers(struct rpc_callbacks *callbacks);

#endif
