#ifndef JPEER_JNI_CONVERT_SCALAR_H
#define JPEER_JNI_CONVERT_SCALAR_H
/*
 * A value as a Java primitive. Pure, any thread. Primitives are named by their JVM letters: Z B C S I J F D.
 *
 *   value              becomes
 *   integer            B S I J where it is in range; F D
 *   with suffix l      J F D
 *   number, suffix d   F D; with suffix d D alone, with suffix f F D
 *   boolean            Z
 *   text               C: one UTF-16 unit; Z: "true", "false"; the others: the same number written as text,
 *                      for F and D also NaN, Infinity, -Infinity
 */
#include "op/value.h"

#include <jni.h>

enum scalar_fit {
  SCALAR_FITS,
  SCALAR_NULL,     /* null for a primitive */
  SCALAR_RANGE,    /* the right kind, out of range; for a char: not one UTF-16 unit */
  SCALAR_FRACTION, /* a fraction or an exponent for an integer type */
  SCALAR_SUFFIX,   /* the number's suffix is of a type that does not fit */
  SCALAR_KIND      /* a value of another kind */
};

enum scalar_fit scalar_read(const struct op_value *value, char letter, jvalue *out);

/* The primitive type of a value that came without one; 0: it has none (text, null, an integer beyond 64 bits,
 * what is no scalar). */
char scalar_infer(const struct op_value *value);

#endif
