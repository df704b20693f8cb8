#include "client/messages/answer_parts.h"

#include "base/decimal.h"
#include "base/number.h"
#include "base/primitives.h"

#include <math.h>

struct text answer_keep_text(struct jp_answer *answer, struct text t)
{
  char *copy = arena_alloc(&answer->arena, t.len + 1);
  if (copy == NULL)
    return TEXT_ABSENT;
  memcpy(copy, t.data, t.len);
  copy[t.len] = '\0';
  return (struct text){copy, t.len};
}

enum jp_client_status answer_fail_memory(struct jp_client_error *error)
{
  return client_fail(error, JP_CLIENT_NO_MEMORY, "out of memory");
}

/* The primitive types are named in most answers. */
static const char *find_keyword(struct text type)
{
#define KEYWORD(letter, member, keyword, ...)                                                                \
  if (text_equal(type, TEXT(#keyword)))                                                                      \
    return #keyword;
  PRIMITIVES(KEYWORD)
#undef KEYWORD
  return NULL;
}

bool answer_set_type(struct jp_answer *answer, struct text type)
{
  answer->type = find_keyword(type);
  if (answer->type == NULL)
    answer->type = answer_keep_text(answer, type).data;
  if (answer->type != NULL)
    return true;
  answer->type = "";
  return false;
}

/* ---- scalars ---- */

static bool read_integer(struct jp_answer *answer, struct text value)
{
  struct number number;
  if (!number_parse(value, &number) || !number.fits || number.suffix != 0)
    return false;
  answer->kind = JP_ANSWER_INTEGER;
  answer->scalar.integer = number.integer;
  return true;
}

static bool read_number(struct jp_answer *answer, struct text value)
{
  struct number number;
  answer->kind = JP_ANSWER_NUMBER;
  if (number_parse(value, &number) && number.suffix == 0)
    answer->scalar.number = decimal_to_double(number.literal);
  else if (text_equal(value, TEXT("NaN")))
    answer->scalar.number = NAN;
  else if (text_equal(value, TEXT("Infinity")))
    answer->scalar.number = INFINITY;
  else if (text_equal(value, TEXT("-Infinity")))
    answer->scalar.number = -INFINITY;
  else
    return false;
  return true;
}

static bool read_float(struct jp_answer *answer, struct text value)
{
  if (!read_number(answer, value))
    return false;
  if (isfinite(answer->scalar.number))
    answer->scalar.number = decimal_to_float(value);
  return true;
}

static bool read_boolean(struct jp_answer *answer, struct text value)
{
  answer->kind = JP_ANSWER_BOOLEAN;
  answer->scalar.boolean = text_equal(value, TEXT("true"));
  return answer->scalar.boolean || text_equal(value, TEXT("false"));
}

static char letter_of(struct text type)
{
  const struct primitive *primitive = primitive_find_keyword(type);
  return primitive != NULL ? primitive->letter : primitive_unboxed(type);
}

bool answer_set_value(struct jp_answer *answer, struct text type, struct text value)
{
  struct text kept = answer_keep_text(answer, value);
  answer->text = (struct jp_text){kept.data, kept.len};
  switch (letter_of(type)) {
  case 'B':
  case 'S':
  case 'I':
  case 'J':
    return read_integer(answer, value);
  case 'F':
    return read_float(answer, value);
  case 'D':
    return read_number(answer, value);
  case 'Z':
    return read_boolean(answer, value);
  case 'C':
    answer->kind = JP_ANSWER_STRING;
    return true;
  default:
    answer->kind = text_equal(type, TEXT("java.lang.String")) ? JP_ANSWER_STRING : JP_ANSWER_OBJECT;
    return true;
  }
}

bool answer_set_ref(struct jp_answer *answer, uint32_t number, struct text type, struct answer_refs *refs)
{
  answer->kind = JP_ANSWER_OBJECT;
  answer->ref = refs->told(refs, number, type);
  return answer->ref != NULL;
}
