#ifndef JPEER_BASE_DECIMAL_H
#define JPEER_BASE_DECIMAL_H
/*
 * From decimal digits (RFC 8259, section 6, without a suffix) to doubles and floats. Pure, any thread;
 * independent of the locale.
 */
#include "base/text.h"

/* Correctly rounded; a number beyond the range becomes infinite. The text must be a number: "NaN" is not
 * allowed. */
double decimal_to_double(struct text literal);
float decimal_to_float(struct text literal); /* rounded once, straight from the digits */

/*
 * True if a number of JSON or of Java's BigDecimal has at most digits_max digits when it is written without
 * an exponent: 1e5 and 1e-5 have six. If the text is not a number, each character counts as a digit, except
 * signs and points.
 */
bool decimal_is_within(struct text t, size_t digits_max);

#endif
