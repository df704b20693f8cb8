#ifndef JPEER_TESTS_SHOW_OPERATION_H
#define JPEER_TESTS_SHOW_OPERATION_H
/* An operation as one line of text, for the cases of tests to compare. */
#include "base/buffer.h"
#include "op/operation.h"

/* Appends a value as show_operation shows arguments. */
void show_value(struct buffer *out, const struct op_value *value);

/* Replaces what is in out; not ended by a NUL. */
void show_operation(struct buffer *out, const struct operation *operation);

#endif
