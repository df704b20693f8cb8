#ifndef JPEER_RPC_VALUES_VALUE_WRITE_H
#define JPEER_RPC_VALUES_VALUE_WRITE_H
/*
 * From a struct op_value to its JSON text, for any codec: the binary messages carry JSON text, too. Writes
 * into the buffer in place and keeps nothing. Any thread.
 */
#include "base/buffer.h"
#include "op/value.h"

/* An object of the session is {"ref": N}, beside which its text may stand as `value`, or where it could not travel by
 * value its `type` and `length`, or whose callback it is; a char is a string; NaN and the infinities, for which JSON has no
 * numbers, are strings as Java writes them. */
void rpc_value_write(struct buffer *out, const struct op_value *value);

/* The member of a ref that says whose callback the object is, with a comma before it; of NULL nothing. */
void rpc_callback_identity_write(struct buffer *out, const struct op_callback_identity *identity);

/* An OP_BOOLEAN, OP_INTEGER, OP_FLOAT or OP_DOUBLE as String.valueOf gives it, without quotes. */
void rpc_scalar_write(struct buffer *out, const struct op_value *scalar);

/* The bytes that rpc_value_write appends, or a few more: numbers count with their longest text. */
size_t rpc_value_length(const struct op_value *value);

#endif
