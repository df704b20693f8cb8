#ifndef JPEER_JSON_INTEGERS_H
#define JPEER_JSON_INTEGERS_H
/*
 * Checks, counts and reads arrays of whole numbers, directly in the text: 64 bytes at a time when checking,
 * eight digits at a time when reading. If an element is anything else (text, null, a fraction, an exponent, a
 * suffix, a number of more than 18 digits or out of range), these functions return NULL or false, and the
 * caller reads the elements one by one. Pure, any thread.
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
 * valid. Returns where the text continues after the closing bracket. NULL: the array is short, or contains
 * anything else.
 */
const char *json_integers_pass(const char *p, const char *end);

/* Returns the number of commas in a non-empty array, plus one. If all elements are numbers, the result is the
 * number of elements. Otherwise it may be larger, because texts may contain commas. */
size_t json_integers_most(struct text span);

/* Writes the elements of a non-empty array to out, in the machine's byte order. out has room for
 * json_integers_most elements. */
bool json_integers_read(struct text span, const struct json_integers_form *form, void *out);

/*
 * Reads the plain integer that a text begins with. A plain integer has at most 18 digits, no fraction,
 * exponent or suffix, and a comma or a closing bracket after it. It is not -0, because -0 as a double differs
 * from 0. Returns the length of the integer in bytes, or 0 if the text begins with anything else.
 */
size_t json_bare_integer_at(struct text t, int64_t *integer);

#endif
