#ifndef JPEER_BASE_NUMBER_FORMAT_H
#define JPEER_BASE_NUMBER_FORMAT_H
/*
 * Writes numbers as Java does. Pure, any thread; independent of the locale.
 */
#include <stddef.h>
#include <stdint.h>

enum { NUMBER_TEXT_MAX = 32 };

/*
 * The shortest digits that read back as the value, in the form of Java's Double.toString and Float.toString
 * ("8.0", "1.0E10", "4.9E-324", "NaN", "-Infinity"). Returns the length; NUL-terminated.
 */
size_t number_format_double(double value, char out[NUMBER_TEXT_MAX]);
size_t number_format_float(float value, char out[NUMBER_TEXT_MAX]);
size_t number_format_integer(int64_t value, char out[NUMBER_TEXT_MAX]);

#endif
