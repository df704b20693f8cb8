#ifndef JPEER_RPC_VALUES_CALLBACK_SCAN_H
#define JPEER_RPC_VALUES_CALLBACK_SCAN_H
/*
 * Finds the callbacks that arguments give without reading them: of a request that failed before. Whatever
 * rpc_value_read takes for a callback is found, in the order of the text. Any thread.
 */
#include "json/reader.h"

/* Calls found for each in the members of an object or the elements of an array, as `params` and `args` are. */
void rpc_callbacks_scan(struct json_value params, void (*found)(void *context, int64_t id), void *context);
/* The same for one argument, or the result of a call. */
void rpc_callbacks_scan_argument(struct json_value argument, void (*found)(void *context, int64_t id),
                                 void *context);

#endif
