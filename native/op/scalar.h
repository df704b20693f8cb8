#ifndef JPEER_OP_SCALAR_H
#define JPEER_OP_SCALAR_H
/*
 * A value as a Java primitive. Pure, any thread. Primitives are named by their JVM letters: Z B C S I J F D.
 *
 *   value                becomes
 *   integer              B S I J where it is in range; F D
 *   with suffix l        J F D
 *   big integer          F D
 *   fraction, exponent   F D; with suffix d only D, with suffix f F D
 *   boolean              Z
 *   text                 C: one UTF-16 unit; Z: "true", "false"; the others: the same number written as text,
 *                        for F and D also NaN, Infinity, -Infinity
 */
#include "base/number.h"
#include "op/value.h"

enum op_scalar_fit {
  OP_SCALAR_FITS,
  OP_SCALAR_NULL, /* null for a primitive */
  /* the value has the right kind but is out of range; for a char, the text is not one UTF-16 unit */
  OP_SCALAR_RANGE,
  OP_SCALAR_FRACTION, /* a fraction or an exponent for an integer type */
  OP_SCALAR_SUFFIX,   /* the number's suffix is of a type that does not fit */
  OP_SCALAR_KIND      /* a value of another kind */
};

/* Writes the value to out: a jvalue, a union primitive_value, or an element of that type. Unless the value
 * fits, the content of out means nothing. */
enum op_scalar_fit op_scalar_read(const struct op_value *value, char letter, void *out);

/* Returns why a value does not fit, for messages: "out of range"; "" if the value fits. */
const char *op_scalar_reason(enum op_scalar_fit fit);

/* The primitive type of a value without a declared type; 0 for text, null, an integer beyond 64 bits, and
 * values that are not scalars. */
char op_scalar_infer(const struct op_value *value);

/* Sets the number and the suffix of the value, and keeps its declared type. The literal is borrowed.
 * op_scalar_read converts it when a primitive is wanted. */
void op_scalar_set_number(struct op_value *value, const struct number *number);
/* Sets the value to NaN or an infinity, if the text is NaN or an infinity in Java's form. False: the text is
 * neither. */
bool op_scalar_set_special(struct op_value *value, struct text text);

#endif
