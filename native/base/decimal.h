#ifndef JPEER_BASE_DECIMAL_H
#define JPEER_BASE_DECIMAL_H
/*
 * The values of numbers that are written in decimal digits (RFC 8259, section 6, without a suffix), and the
 * size of those that are not turned into one. Pure, any thread; independent of the locale.
 */
#include "base/text.h"

/* Correctly rounded; beyond the range gives infinity. "NaN", "Infinity", "-Infinity" are the caller's. */
double decimal_to_double(struct text literal);
float decimal_to_float(struct text literal); /* rounded once, straight from the digits */

/*
 * Whether a number, as JSON or Java's BigDecimal writes it, has no more than digits_max digits once its
 * exponent is written out: 1e5 and 1e-5 have six. Of a text that is no number, every character but a sign or
 * a point counts as a digit.
 */
bool decimal_is_within(struct text t, size_t digits_max);

#endif
