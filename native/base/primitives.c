#include "base/primitives.h"

static const struct primitive primitives[] = {
#define ROW(letter, member, keyword, type, Word, box, Wrapper, widens_to, range)                             \
  {letter, TEXT(#keyword), TEXT("java.lang." #Wrapper), sizeof(type), widens_to, range},
    PRIMITIVES(ROW)
#undef ROW
};
enum { COUNT = sizeof primitives / sizeof primitives[0] };

static const struct text void_keyword = TEXT("void");

const struct primitive *primitive_find_letter(char letter)
{
  for (size_t i = 0; i < COUNT; i++) {
    if (primitives[i].letter == letter)
      return &primitives[i];
  }
  return NULL;
}

const struct primitive *primitive_find_keyword(struct text keyword)
{
  for (size_t i = 0; i < COUNT; i++) {
    if (text_equal(primitives[i].keyword, keyword))
      return &primitives[i];
  }
  return NULL;
}

char primitive_unboxed(struct text class_name)
{
  for (size_t i = 0; i < COUNT; i++) {
    if (text_equal(primitives[i].wrapper, class_name))
      return primitives[i].letter;
  }
  return 0;
}

struct text primitive_keyword(char letter)
{
  if (letter == 'V')
    return void_keyword;
  const struct primitive *primitive = primitive_find_letter(letter);
  return primitive == NULL ? TEXT_ABSENT : primitive->keyword;
}

bool primitive_is_keyword(struct text word)
{
  return text_equal(word, void_keyword) || primitive_find_keyword(word) != NULL;
}

size_t primitive_size(char letter)
{
  const struct primitive *primitive = primitive_find_letter(letter);
  return primitive == NULL ? 0 : primitive->size;
}

bool primitive_integer_range(char letter, int64_t *min, int64_t *max)
{
  static const struct {
    char letter;
    int64_t min;
    int64_t max;
  } ranges[] = {{'B', INT8_MIN, INT8_MAX},
                {'S', INT16_MIN, INT16_MAX},
                {'I', INT32_MIN, INT32_MAX},
                {'J', INT64_MIN, INT64_MAX}};
  for (size_t i = 0; i < sizeof ranges / sizeof ranges[0]; i++) {
    if (ranges[i].letter == letter) {
      *min = ranges[i].min;
      *max = ranges[i].max;
      return true;
    }
  }
  return false;
}

bool primitive_widens(char from, char to)
{
  const struct primitive *primitive = primitive_find_letter(from);
  return primitive != NULL && to != '\0' && strchr(primitive->widens_to, to) != NULL;
}

static int64_t integer_of(char letter, const union primitive_value *value)
{
  switch (letter) {
  case 'B':
    return value->b;
  case 'C':
    return value->c;
  case 'S':
    return value->s;
  case 'I':
    return value->i;
  default:
    return value->j;
  }
}

static union primitive_value widen_integer(int64_t integer, char to)
{
  switch (to) {
  case 'S':
    return (union primitive_value){.s = (int16_t)integer};
  case 'I':
    return (union primitive_value){.i = (int32_t)integer};
  case 'J':
    return (union primitive_value){.j = integer};
  case 'F':
    return (union primitive_value){.f = (float)integer};
  default:
    return (union primitive_value){.d = (double)integer};
  }
}

void primitive_widen(char from, char to, void *value)
{
  union primitive_value given;
  union primitive_value wide;
  if (from == to)
    return;
  memcpy(&given, value, sizeof given); /* not a cast, because the compiler sees a jvalue as another type */
  if (from == 'F')
    wide = (union primitive_value){.d = given.f};
  else
    wide = widen_integer(integer_of(from, &given), to);
  memcpy(value, &wide, sizeof wide);
}
