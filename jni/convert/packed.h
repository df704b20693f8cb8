#ifndef JPEER_JNI_CONVERT_PACKED_H
#define JPEER_JNI_CONVERT_PACKED_H
/*
 * Converts arrays of one primitive type to another (docs/values.md, "Arrays"). Whole numbers become any type
 * that represents them exactly. Floats and doubles become one another, rounded, unless the result would be
 * infinite. Pure, any thread. Types are JVM letters.
 */
#include "op/value.h"

enum { PACKED_NEVER = ~0U };

/* The distance of two array types: 0 for the same type; then types that hold all values, nearest first; then
 * types that may not hold all values. PACKED_NEVER: no conversion. */
unsigned packed_step(char from, char to);
/* True if all elements of an OP_PACKED can be converted. Otherwise *at is the index of the first that
 * cannot. */
bool packed_fits(const struct op_value *packed, char to, size_t *at);
/* Writes the elements to out. out has room for all elements. False in the same case as packed_fits. */
bool packed_convert(const struct op_value *packed, char to, void *out, size_t *at);
/* One element, for messages. */
struct op_value packed_element(const struct op_value *packed, size_t at);

#endif
