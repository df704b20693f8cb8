#ifndef JPEER_RPC_VALUES_VALUE_WRITE_H
#define JPEER_RPC_VALUES_VALUE_WRITE_H
/*
 * Writes the JSON text of a struct op_value, for any codec: the binary messages contain JSON text, too.
 * Writes into the buffer in place and keeps nothing. Any thread.
 */
#include "base/buffer.h"
#include "op/value.h"

/* Writes any value. An object of the session is written as {"ref": N}. This may have further members: its
 * text as `value`; or its `type` and `length`, if the object could not be sent by value; or `callback`, if
 * the object is a client's callback. A char is a string. NaN and the infinities, for which JSON has no
 * numbers, are strings in Java's form. */
void rpc_value_write(struct buffer *out, const struct op_value *value);

/* Writes the member `callback` of a ref, which says whose callback the object is, with a comma before it;
 * NULL: nothing. */
void rpc_callback_identity_write(struct buffer *out, const struct op_callback_identity *identity);

/* Writes an OP_BOOLEAN, OP_INTEGER, OP_FLOAT or OP_DOUBLE as String.valueOf does, without quotes. */
void rpc_scalar_write(struct buffer *out, const struct op_value *scalar);

/* Returns the number of bytes that rpc_value_write appends, or a few more, because each number counts with
 * the length of the longest number. */
size_t rpc_value_length(const struct op_value *value);

#endif
