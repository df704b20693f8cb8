#ifndef JPEER_JSON_INTEGERS_H
#define JPEER_JSON_INTEGERS_H
/*
 * Arrays of whole numbers: checked 64 bytes at a time, counted, and read straight from validated text, eight
 * digits at a time. If an element is anything else (text, null, a fraction, an exponent, a suffix, a number
 * of more than 18 digits or out of range), these functions return NULL or false, and the caller reads the
 * elements one by one. Pure, any thread.
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
 * Checks a long array of whole numbers (RFC 8259, section 6, without fraction and exponent), with at most one
 * space after each comma, and no other white space. p is after the opening bracket; the text need not be
 * valid. Returns where the text continues after the closing bracket, or NULL: the array is short, or holds
 * anything else.
 */
const char *json_integers_pass(const char *p, const char *end);

/* Counts the commas of a non-empty array, plus one. This is the number of elements if all are numbers; otherwise, as
 * with commas in texts, it may be larger. */
size_t json_integers_most(struct text span);

/* Writes the elements of a non-empty array to out, in the machine's byte order. out has room for
 * json_integers_most elements. */
bool json_integers_read(struct text span, const struct json_integers_form *form, void *out);

/*
 * Reads the plain integer that a text begins with: at most 18 digits, without fraction, exponent and suffix,
 * followed by a comma or a closing bracket, and not -0, because -0 as a double differs from 0. Returns its
 * length in bytes, or 0 where the text begins with anything else.
 */
size_t json_bare_integer_at(struct text t, int64_t *integer);

#endif
