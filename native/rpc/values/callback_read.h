#ifndef JPEER_RPC_VALUES_CALLBACK_READ_H
#define JPEER_RPC_VALUES_CALLBACK_READ_H
/*
 * An argument that gives Java an object of the client's: {"ref":{"callback":ID}}, with `arity`, `interfaces` and the others
 * beside `ref` (docs/protocol.md, "Callbacks"). For this folder; any thread.
 */
#include "rpc/values/value_read.h"
#include "json/object_members.h"

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

/* The callback that an object of JSON means, when it is the whole value of a member `ref`: 0: none. */
int64_t rpc_callback_id_read(struct json_value ref);

#endif
