#ifndef JPEER_BASE_NUMBER_H
#define JPEER_BASE_NUMBER_H
/*
 * Numbers as they are written in requests: JSON's numbers (RFC 8259, section 6), with or without one of
 * Java's suffixes d, f and l. Pure, any thread; results are borrowed from the text.
 */
#include "base/text.h"

#include <stdbool.h>
#include <stdint.h>

struct number {
  struct text literal; /* without the suffix */
  char suffix;         /* d, f, l in lower case, or 0 */
  bool integral;       /* has neither a fraction nor an exponent */
  bool fits;           /* the number is integral, and `integer` holds its value */
  int64_t integer;
};

static inline bool number_is_digit(char c)
{
  return c >= '0' && c <= '9';
}

/* d, f or l for a suffix letter of either case; 0 for any other character. */
static inline char number_suffix(char c)
{
  char lower = (char)(c | 0x20);
  return lower == 'd' || lower == 'f' || lower == 'l' ? lower : 0;
}

/*
 * Reads a number without suffix at p (RFC 8259, section 6). Returns the end of the number; NULL: not a
 * number, and *stop is the place of the fault, which may be `end`.
 */
const char *number_scan(const char *p, const char *end, const char **stop);

/* Reads a number of validated text. */
void number_read(struct text span, struct number *number);

/* Reads a whole text ("42", "-1.5e3", "100l") as a number in this form. False if the text is not one. */
bool number_parse(struct text t, struct number *number);

/* Length in bytes, a suffix included, of the number at the beginning of the text; 0: the text does not begin
 * with a number. */
size_t number_at(struct text t);

static inline bool number_has_suffix(struct text span)
{
  return span.data[span.len - 1] > '9';
}

#endif
