#include "base/number.h"

/* Reads one digit or more and returns the place after the last digit. */
static const char *scan_some_digits(const char *p, const char *end, const char **stop)
{
  const char *after = p;
  while (after < end && number_is_digit(*after))
    after++;
  if (after > p)
    return after;
  *stop = p;
  return NULL;
}

const char *number_scan(const char *p, const char *end, const char **stop)
{
  if (p < end && *p == '-')
    p++;
  if (p < end && *p == '0') {
    p++;
    if (p < end && number_is_digit(*p)) { /* no leading zeros */
      *stop = p;
      return NULL;
    }
  } else {
    p = scan_some_digits(p, end, stop);
  }
  if (p != NULL && p < end && *p == '.')
    p = scan_some_digits(p + 1, end, stop);
  if (p != NULL && p < end && (*p == 'e' || *p == 'E')) {
    p++;
    if (p < end && (*p == '+' || *p == '-'))
      p++;
    p = scan_some_digits(p, end, stop);
  }
  return p;
}

/* Any number of this many digits fits into 64 bits. */
enum { SURE_DIGITS = 18 };

/* False if the text after the sign does not consist of digits, or the number does not fit into 64 bits. */
static bool read_integer(const char *p, const char *end, bool negative, int64_t *integer)
{
  /* The digits are subtracted, because int64_t has one more negative number than positive numbers. */
  int64_t value = 0;
  for (; p < end && number_is_digit(*p); p++) {
    if (__builtin_mul_overflow(value, 10, &value) || __builtin_sub_overflow(value, *p - '0', &value))
      return false;
  }
  if (p < end || (!negative && __builtin_sub_overflow(0, value, &value)))
    return false;
  *integer = value;
  return true;
}

static bool read_short_integer(const char *p, const char *end, bool negative, int64_t *integer)
{
  uint64_t value = 0;
  for (; p < end; p++) {
    unsigned digit = (unsigned)(*p - '0');
    if (digit > 9)
      return false;
    value = value * 10 + digit;
  }
  *integer = negative ? -(int64_t)value : (int64_t)value;
  return true;
}

static bool is_integral(struct text literal)
{
  for (size_t i = 0; i < literal.len; i++) {
    char c = literal.data[i];
    if (c == '.' || c == 'e' || c == 'E')
      return false;
  }
  return true;
}

void number_read(struct text span, struct number *number)
{
  char suffix = number_suffix(span.data[span.len - 1]);
  struct text literal = {span.data, span.len - (suffix != 0)};
  bool negative = span.data[0] == '-';
  const char *p = span.data + negative;
  const char *end = literal.data + literal.len;
  number->literal = literal;
  number->suffix = suffix;
  number->integer = 0;
  number->fits = end - p <= SURE_DIGITS ? read_short_integer(p, end, negative, &number->integer)
                                        : read_integer(p, end, negative, &number->integer);
  number->integral = number->fits || is_integral(literal);
}

size_t number_at(struct text t)
{
  const char *end = t.data + t.len;
  const char *stop;
  const char *after = t.len == 0 ? NULL : number_scan(t.data, end, &stop);
  if (after == NULL)
    return 0;
  return (size_t)(after - t.data) + (after < end && number_suffix(*after) != 0);
}

bool number_parse(struct text t, struct number *number)
{
  if (t.len == 0 || number_at(t) != t.len)
    return false;
  number_read(t, number);
  return true;
}
