#include "client/messages/answer.h"

#include "base/base64.h"
#include "base/decimal.h"
#include "base/number.h"
#include "base/primitives.h"

#include <math.h>
#include <stdlib.h>

/* "[I" of "int[]"; NULL: it names no array of primitives. */
static const struct primitive *find_element(const char *type)
{
  struct text name = text_of(type);
  if (name.len == 2 && name.data[0] == '[')
    return primitive_find_letter(name.data[1]);
  return text_ends_with(name, TEXT("[]")) ? primitive_find_keyword(text_slice(name, 0, name.len - 2)) : NULL;
}

/* ---- base64 ---- */

static size_t read_base64(struct text value, const struct primitive *element, void *elements, size_t count)
{
  size_t bytes;
  uint8_t *decoded = malloc(base64_decoded_max(value) + 1);
  size_t found = SIZE_MAX;
  if (decoded != NULL && base64_decode(value, decoded, &bytes) == JP_OK && bytes % element->size == 0) {
    found = bytes / element->size;
    size_t copied = count < found ? count : found;
    if (copied > 0)
      memcpy(elements, decoded, copied * element->size);
  }
  free(decoded);
  return found;
}

/* ---- a JSON list ---- */

static double read_word(struct text word)
{
  if (text_equal(word, TEXT("Infinity")))
    return INFINITY;
  return text_equal(word, TEXT("-Infinity")) ? -INFINITY : NAN;
}

static void read_text(struct text text, char letter, union primitive_value *value)
{
  uint16_t unit[8] = {0};
  if (letter == 'D')
    value->d = read_word(text);
  else if (letter == 'F')
    value->f = (float)read_word(text);
  else if (letter == 'C' && text.len > 0 && text.len <= 4 && text_to_utf16(text, unit) == 1)
    value->c = unit[0];
}

static void read_whole(struct text span, char letter, union primitive_value *value)
{
  struct number number;
  number_read(span, &number);
  value->j = number.integer; /* little-endian: the narrower types are its first bytes */
  if (letter == 'D')
    value->d = decimal_to_double(number.literal);
  else if (letter == 'F')
    value->f = decimal_to_float(number.literal);
}

static void read_element(struct json_value element, char letter, struct arena *arena,
                         union primitive_value *value)
{
  *value = (union primitive_value){.j = 0};
  if (element.kind == JSON_KIND_STRING)
    read_text(json_read_string(element, arena), letter, value);
  else if (element.kind == JSON_KIND_NUMBER)
    read_whole(element.span, letter, value);
  else
    value->z = element.kind == JSON_KIND_TRUE;
}

static size_t read_list(struct text value, const struct primitive *primitive, void *elements, size_t count)
{
  const struct json_limits limits = {.max_depth = 1};
  struct json_fault fault;
  if (json_validate(value, limits, TEXT_ABSENT, &fault) != JP_OK)
    return SIZE_MAX;
  struct arena arena;
  struct json_cursor cursor = json_enter(json_root(value));
  struct json_value element;
  size_t found = 0;
  char *at = elements;
  arena_init(&arena);
  for (; json_next_element(&cursor, &element); found++) {
    union primitive_value read;
    if (found >= count)
      continue;
    read_element(element, primitive->letter, &arena, &read);
    memcpy(at, &read, primitive->size);
    at += primitive->size;
  }
  arena_fini(&arena);
  return found;
}

size_t jp_answer_array(const struct jp_answer *answer, const char *type, void *elements, size_t count)
{
  if (answer == NULL)
    return SIZE_MAX;
  const struct primitive *wanted = find_element(type);
  const struct primitive *element = find_element(answer->type);
  struct text value = {answer->text.data, answer->text.len};
  if (wanted == NULL || wanted != element || value.data == NULL)
    return SIZE_MAX;
  if (value.len > 0 && value.data[0] == '[')
    return read_list(value, element, elements, count);
  return read_base64(value, element, elements, count);
}
