#ifndef JPEER_RPC_VALUES_CALLBACK_READ_H
#define JPEER_RPC_VALUES_CALLBACK_READ_H
/*
 * Reads an argument that gives Java an object of the client's: {"ref":{"callback":ID}}, with `arity`,
 * `interfaces` and other members in addition to `ref` (docs/callbacks.md). Any thread.
 */
#include "rpc/values/value_read.h"
#include "json/reader.h"

enum {
  RPC_CALLBACK_NAMES_MAX = 256, /* in each of its lists */
  RPC_ARITY_MAX = 255           /* JVMS 4.3.3 */
};

/* True if a `ref` is meant as a callback, even a malformed one. */
bool rpc_callback_is_meant(struct json_value ref);

/* Reads an argument whose `ref` is meant as a callback into an OP_CALLBACK. Its declared type is kept. The
 * errors are those of rpc_value_read. */
enum jp_status rpc_callback_read(struct rpc_value_reader *reader, struct json_value argument,
                                 struct json_value ref, struct op_value *value) JP_MUST_CHECK;

/*
 * Finds the callbacks in arguments that were not read, because their request failed before. Finds everything
 * that rpc_value_read would read as a callback, in the order of the text.
 */

/* Calls `found` for each callback in the members of an object or the elements of an array, such as `params`
 * and `args`. */
void rpc_callbacks_scan(struct json_value params, void (*found)(void *context, int64_t id), void *context);
/* The same as rpc_callbacks_scan, for one argument or for the result of a call. */
void rpc_callbacks_scan_argument(struct json_value argument, void (*found)(void *context, int64_t id),
                                 void *context);

#endif
