#ifndef JPEER_RPC_VALUES_ARRAY_READ_H
#define JPEER_RPC_VALUES_ARRAY_READ_H
/*
 * From the JSON of an array of primitives to packed memory, in the reader's arena. For rpc/values/value_read
 * alone; one thread, as the reader. Anything but JP_OK leaves an OUTCOME_ERROR in the reader's outcome.
 */
#include "rpc/values/value_read.h"

/* An array of primitives of type->dimensions dimensions, or null. */
enum jp_status rpc_array_read(struct rpc_value_reader *reader, const struct op_type *type,
                              struct json_value json, struct op_value *value) JP_MUST_CHECK;
/* An array of primitives of one dimension from the base64 text of its elements, the least significant byte of each
 * first, or null. */
enum jp_status rpc_base64_read(struct rpc_value_reader *reader, const struct op_type *type,
                               struct json_value json, struct op_value *value) JP_MUST_CHECK;

#endif
