#ifndef JPEER_RPC_CALLBACKS_CALLBACK_INCOMING_H
#define JPEER_RPC_CALLBACKS_CALLBACK_INCOMING_H
/* The messages of a client whose objects are being called: answers, and requests that are nested in calls. */
#include "rpc/callbacks/callbacks.h"

/* rpc_service.receive; see there. */
enum rpc_received rpc_callbacks_receive(void *context, struct rpc_callbacks *callbacks,
                                        struct buffer *message, struct buffer *answer);
/* rpc_service.take_beginning */
enum rpc_received rpc_callbacks_receive_beginning(void *context, struct rpc_callbacks *callbacks,
                                                  struct text beginning, bool *is_answer);

/*
 * The message in hand is about to take away what answers of the client may name: returns when those that came
 * before it were read, or two seconds after the last of them came. Those of the calling thread's own calls are
 * not waited for. On the thread that serves the message, without a lock.
 */
void rpc_callbacks_await_answers(struct rpc_callbacks *callbacks);

#endif
