#ifndef JPEER_JSON_NUMBER_H
#define JPEER_JSON_NUMBER_H
/*
 * Numbers as requests write them, with or without suffix, and as answers write them. Any thread; independent
 * of the locale.
 */
#include "base/status.h"
#include "base/text.h"

#include <stdbool.h>
#include <stdint.h>

struct json_number {
  struct text literal; /* without the suffix */
  char suffix;         /* d, f, l in lower case, or 0 */
  bool integral;       /* no fraction and no exponent */
  bool fits;           /* integral, and integer holds it */
  int64_t integer;
};

/* Reads a number of validated text. */
void json_number_read(struct text span, struct json_number *number);

/* Reads a whole text ("42", "-1.5e3", "100l") as a number of the same grammar: false where it is none. */
bool json_number_parse(struct text t, struct json_number *number);

/* Bytes of the number, with its suffix where it has one, that a text of any kind begins with; 0: with none.
 */
size_t json_number_at(struct text t);

/*
 * Bytes of the whole number that a text begins with, where it is as most are: no more than 18 digits, without
 * fraction, exponent and suffix, and followed by a comma or a closing bracket; 0: it is not, or another
 * value.
 */
size_t json_plain_integer_at(struct text t, int64_t *integer);

/*
 * Whether a number, as JSON or Java's BigDecimal writes it, has no more than digits_max digits once its
 * exponent is written out: 1e5 and 1e-5 have six. Of a text that is no number, every character but a sign or
 * a point counts as a digit.
 */
bool json_number_is_within(struct text t, size_t digits_max);

static inline bool json_number_has_suffix(struct text span)
{
  return span.data[span.len - 1] > '9';
}

/* Correctly rounded; beyond the range gives infinity. "NaN", "Infinity", "-Infinity" are the caller's. */
double json_number_to_double(struct text literal);
float json_number_to_float(struct text literal); /* rounded once, straight from the digits */

enum { JSON_NUMBER_TEXT_MAX = 32 };

/*
 * The shortest digits that read back, in the form of Java's Double.toString and Float.toString ("8.0",
 * "1.0E10", "4.9E-324", "NaN", "-Infinity"). Returns the length; NUL-terminated.
 */
size_t json_format_double(double value, char out[JSON_NUMBER_TEXT_MAX]);
size_t json_format_float(float value, char out[JSON_NUMBER_TEXT_MAX]);
size_t json_format_integer(int64_t value, char out[JSON_NUMBER_TEXT_MAX]);

#endif
