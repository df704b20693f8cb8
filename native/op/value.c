#include "op/value.h"

#include "base/number_format.h"

struct text op_value_digits(const struct op_value *number, struct arena *arena)
{
  char digits[NUMBER_TEXT_MAX];
  size_t length;
  if (number->literal.data != NULL)
    return number->literal;
  if (number->kind == OP_INTEGER)
    length = number_format_integer(number->integer, digits);
  else if (number->kind == OP_FLOAT)
    length = number_format_float((float)number->decimal, digits);
  else
    length = number_format_double(number->decimal, digits);
  return arena_text(arena, (struct text){digits, length});
}
