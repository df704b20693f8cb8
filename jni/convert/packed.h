#ifndef JPEER_JNI_CONVERT_PACKED_H
#define JPEER_JNI_CONVERT_PACKED_H
/*
 * Elements of one primitive type as those of another (docs/values.md, "Arrays"). Whole numbers become any number that is
 * exactly the same, floats and doubles one another, rounded, where that is no infinity. Pure, any thread. Types are
 * named by their JVM letters.
 */
#include "op/value.h"

enum { PACKED_NEVER = ~0U };

/* How far an array type is from that of the elements: 0 for their own, then those that hold them all, the nearest first, then
 * those that may not. PACKED_NEVER: these do not become one another. */
unsigned packed_step(char from, char to);
/* True where all elements of an OP_PACKED become that type. Else *at is the index of the first that does not. */
bool packed_fits(const struct op_value *packed, char to, size_t *at);
/* Writes the elements to out, which has room for as many of the type. False as packed_fits. */
bool packed_convert(const struct op_value *packed, char to, void *out, size_t *at);
/* One element, as a number for messages. */
struct op_value packed_element(const struct op_value *packed, size_t at);

#endif
