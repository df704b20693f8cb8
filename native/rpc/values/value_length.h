#ifndef JPEER_RPC_VALUES_VALUE_LENGTH_H
#define JPEER_RPC_VALUES_VALUE_LENGTH_H
/* How long the JSON text of a value is, before it is written. Pure, any thread. */
#include "op/value.h"

/* The bytes that rpc_value_write appends, or a few more: numbers count with their longest text. */
size_t rpc_value_length(const struct op_value *value);

#endif
