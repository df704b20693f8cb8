#ifndef JPEER_RPC_VALUES_CALLBACK_READ_H
#define JPEER_RPC_VALUES_CALLBACK_READ_H
/*
 * An argument that gives Java an object of the client's: {"ref":{"callback":ID}}, with `arity`, `interfaces` and the others
 * beside `ref` (docs/callbacks.md). Any thread.
 */
#include "rpc/values/value_read.h"
#include "json/reader.h"

enum {
  RPC_CALLBACK_NAMES_MAX = 256, /* in each of its lists */
  RPC_ARITY_MAX = 255           /* JVMS 4.3.3 */
};

/* True where a `ref` means a callback, right or wrong. */
bool rpc_callback_is_meant(struct json_value ref);

/* Reads the argument, whose `ref` means one, into an OP_CALLBACK; its declared type stays. Errors as
 * rpc_value_read's. */
enum jp_status rpc_callback_read(struct rpc_value_reader *reader, struct json_value argument,
                                 struct json_value ref, struct op_value *value) JP_MUST_CHECK;

/*
 * Finds the callbacks that arguments give without reading them: of a request that failed before. Whatever rpc_value_read
 * takes for a callback is found, in the order of the text.
 */

/* Calls found for each in the members of an object or the elements of an array, as `params` and `args` are. */
void rpc_callbacks_scan(struct json_value params, void (*found)(void *context, int64_t id), void *context);
/* The same for one argument, or the result of a call. */
void rpc_callbacks_scan_argument(struct json_value argument, void (*found)(void *context, int64_t id),
                                 void *context);

#endif
