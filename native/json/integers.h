#ifndef JPEER_JSON_INTEGERS_H
#define JPEER_JSON_INTEGERS_H
/*
 * Arrays of whole numbers: checked 64 bytes at a time, counted, and read straight from validated text, eight
 * digits at a time. What is anything else (text, null, a fraction, an exponent, a suffix, a number of more
 * than 18 digits or out of range) is not for these functions, which then say NULL or false. Pure, any thread.
 */
#include "base/text.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct json_integers_form {
  size_t size; /* bytes of an element: 1, 2, 4 or 8 */
  int64_t min;
  int64_t max;
};

/*
 * Behind the closing bracket of an array of whole numbers alone, as most long ones are written: with one
 * space or none behind each comma, and no other white space (RFC 8259, section 6, without fraction and
 * exponent). p is behind the opening bracket, and the text is not yet known to be valid. NULL: it is anything
 * else, or it is short, or it is nothing that this machine looks at in one go.
 */
const char *json_integers_pass(const char *p, const char *end);

/* How many elements an array of numbers has, by its commas; where it holds anything else, more than there
 * are. The span is that of a non-empty array. */
size_t json_integers_most(struct text span);

/* Writes the elements of a non-empty array to out, which has room for json_integers_most, in the machine's
 * order. */
bool json_integers_read(struct text span, const struct json_integers_form *form, void *out);

/*
 * Bytes of the whole number that a text begins with, where it is as most are: no more than 18 digits, without
 * fraction, exponent and suffix, and followed by a comma or a closing bracket; 0: it is not, or another
 * value.
 */
size_t json_plain_integer_at(struct text t, int64_t *integer);

#endif
