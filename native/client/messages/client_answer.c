/* An answer: its memory, the setters for readers of messages, and the getters for programs. */
#include "client/messages/client_answer.h"

#include "base/base64.h"
#include "base/decimal.h"
#include "base/number.h"
#include "base/primitives.h"
#include "json/reader.h"

#include <math.h>
#include <stdlib.h>

struct jp_answer *answer_create(void)
{
  struct jp_answer *answer = calloc(1, sizeof *answer);
  if (answer == NULL)
    return NULL;
  arena_init_small(&answer->arena);
  buffer_init(&answer->bytes);
  answer_clear(answer);
  return answer;
}

void answer_clear(struct jp_answer *answer)
{
  jp_ref_release(answer->ref);
  /* an element is NULL after the caller has taken the handle */
  for (size_t i = 0; i < answer->inner_ref_count; i++)
    jp_ref_release(answer->inner_refs[i]);
  answer->inner_ref_count = 0;
  answer->next_inner_ref = 0;
  arena_reset(&answer->arena);
  buffer_clear(&answer->bytes);
  answer->kind = JP_ANSWER_VOID;
  answer->type = "";
  answer->text = (struct jp_text){0};
  answer->json = (struct jp_json){0};
  answer->outs = TEXT_ABSENT;
  answer->ref = NULL;
  answer->callback_id = 0;
  answer->code = 0;
  answer->message = NULL;
  answer->lacking = NULL;
  answer->lack = NULL;
  answer->throwable = NULL;
}

void answer_destroy(struct jp_answer *answer)
{
  if (answer == NULL)
    return;
  answer_clear(answer);
  arena_fini(&answer->arena);
  buffer_fini(&answer->bytes);
  free(answer->inner_refs);
  free(answer);
}

void jp_answer_free(struct jp_answer *answer)
{
  if (answer == NULL)
    return;
  answer_clear(answer);
  if (answer->recycle != NULL)
    answer->recycle(answer->owner, answer);
  else
    answer_destroy(answer);
}

/* ---- for the readers of messages ---- */

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

/* Most answers name primitive types, which need no copy. */
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

bool answer_set_ref(struct jp_answer *answer, uint32_t number, struct text type, struct answer_refs *refs)
{
  answer->kind = JP_ANSWER_OBJECT;
  answer->ref = refs->receive(refs, number, type);
  return answer->ref != NULL;
}

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

bool answer_set_value(struct jp_answer *answer, struct text type, struct text value)
{
  struct text kept = answer_keep_text(answer, value);
  answer->text = (struct jp_text){kept.data, kept.len};
  const struct primitive *primitive = primitive_find_keyword(type);
  switch (primitive != NULL ? primitive->letter : primitive_unboxed(type)) {
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

/* ---- getters ---- */

/* jp_chain_answer returns NULL if no step has the name: treated as an answer without a value. */
static const struct jp_answer NO_ANSWER = {.kind = JP_ANSWER_VOID, .type = ""};

static const struct jp_answer *answer_or_none(const struct jp_answer *answer)
{
  return answer == NULL ? &NO_ANSWER : answer;
}

enum jp_answer_kind jp_answer_kind(const struct jp_answer *answer)
{
  return answer_or_none(answer)->kind;
}

const char *jp_answer_type(const struct jp_answer *answer)
{
  return answer_or_none(answer)->type;
}

struct jp_text jp_answer_text(const struct jp_answer *answer)
{
  return answer_or_none(answer)->text;
}

bool jp_answer_boolean(const struct jp_answer *answer, bool *out)
{
  if (answer == NULL || answer->kind != JP_ANSWER_BOOLEAN)
    return false;
  *out = answer->scalar.boolean;
  return true;
}

bool jp_answer_integer(const struct jp_answer *answer, int64_t *out)
{
  if (answer == NULL || answer->kind != JP_ANSWER_INTEGER)
    return false;
  *out = answer->scalar.integer;
  return true;
}

bool jp_answer_number(const struct jp_answer *answer, double *out)
{
  if (answer == NULL || (answer->kind != JP_ANSWER_NUMBER && answer->kind != JP_ANSWER_INTEGER))
    return false;
  *out = answer->kind == JP_ANSWER_NUMBER ? answer->scalar.number : (double)answer->scalar.integer;
  return true;
}

struct jp_ref *jp_answer_ref(const struct jp_answer *answer)
{
  return answer_or_none(answer)->ref;
}

struct jp_json jp_answer_json(const struct jp_answer *answer)
{
  return answer_or_none(answer)->json;
}

/* The member `ref` of the value; 0: none. */
static uint32_t read_ref(struct jp_json value)
{
  int64_t number;
  bool has = value.kind == JP_JSON_OBJECT && jp_json_integer(jp_json_member(value, "ref"), &number);
  return has && number > 0 && number <= INT32_MAX ? (uint32_t)number : 0;
}

struct jp_ref *jp_answer_take_ref(struct jp_answer *answer, struct jp_json value)
{
  uint32_t number = read_ref(value);
  for (size_t i = 0; answer != NULL && number != 0 && i < answer->inner_ref_count; i++) {
    size_t at = (answer->next_inner_ref + i) % answer->inner_ref_count;
    struct jp_ref *ref = answer->inner_refs[at];
    if (ref == NULL || jp_ref_number(ref) != number)
      continue;
    answer->inner_refs[at] = NULL;
    answer->next_inner_ref = at + 1;
    return ref;
  }
  return NULL;
}

int jp_answer_error_code(const struct jp_answer *answer)
{
  return answer_or_none(answer)->code;
}

const char *jp_answer_error_message(const struct jp_answer *answer)
{
  const char *message = answer_or_none(answer)->message;
  return message == NULL ? "" : message;
}

const char *jp_answer_lack(const struct jp_answer *answer)
{
  return answer_or_none(answer)->lack;
}

const struct jp_throwable *jp_answer_throwable(const struct jp_answer *answer)
{
  static const struct jp_throwable none = {0};
  const struct jp_throwable *throwable = answer_or_none(answer)->throwable;
  return throwable == NULL ? &none : throwable;
}

/* ---- arrays of primitives ---- */

/* The element type of "[I" or "int[]"; NULL: not an array of primitives. */
static const struct primitive *find_element(const char *type)
{
  struct text name = text_of(type);
  if (name.len == 2 && name.data[0] == '[')
    return primitive_find_letter(name.data[1]);
  return text_ends_with(name, TEXT("[]")) ? primitive_find_keyword(text_slice(name, 0, name.len - 2)) : NULL;
}

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

size_t jp_answer_bytes(struct jp_json value, void *out, size_t size)
{
  enum { QUOTES = 2 };
  if (value.kind != JP_JSON_STRING || value.text.len < QUOTES)
    return SIZE_MAX;
  struct text letters = {value.text.data + 1, value.text.len - QUOTES}; /* an escape is no letter */
  size_t bytes;
  if (base64_decoded_max(letters) > size || base64_decode(letters, out, &bytes) != JP_OK)
    return SIZE_MAX;
  return bytes;
}

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
  value->j = number.integer; /* the machine is little-endian, so a narrower type has the first bytes of j */
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

/* Finds the entry of `outs` for an argument. False: `outs` has no such entry. */
static bool find_out(const struct jp_answer *answer, size_t argument, struct json_members *entry)
{
  static const struct text names[] = {TEXT("argument"), TEXT("type"), TEXT("value")};
  struct json_cursor cursor = json_enter(json_root(answer->outs));
  struct json_value each;
  while (json_next_element(&cursor, &each)) {
    struct number number;
    if (each.kind != JSON_KIND_OBJECT)
      continue;
    json_members_collect(each, names, 3, entry);
    if (!entry->has[0] || !entry->has[1] || !entry->has[2] || entry->value[0].kind != JSON_KIND_NUMBER ||
        entry->value[1].kind != JSON_KIND_STRING)
      continue;
    number_read(entry->value[0].span, &number);
    if (number.fits && number.integer >= 0 && (uint64_t)number.integer == argument)
      return true;
  }
  return false;
}

size_t jp_answer_out(const struct jp_answer *answer, size_t argument, const char **type, void *elements,
                     size_t count)
{
  struct json_members entry;
  if (answer == NULL || answer->outs.data == NULL || !find_out(answer, argument, &entry))
    return SIZE_MAX;
  struct text name = text_slice(entry.value[1].span, 1, entry.value[1].span.len - 1);
  const struct primitive *element = NULL;
  if (text_ends_with(name, TEXT("[]")))
    element = primitive_find_keyword(text_slice(name, 0, name.len - 2));
  if (element == NULL)
    return SIZE_MAX;
  *type = element->keyword.data;
  struct json_value value = entry.value[2];
  if (value.kind == JSON_KIND_ARRAY)
    return read_list(value.span, element, elements, count);
  if (value.kind != JSON_KIND_STRING)
    return SIZE_MAX;
  /* Base64 needs no escapes in JSON, but the peer may have written some. */
  struct arena arena;
  arena_init(&arena);
  struct text text = json_read_string(value, &arena);
  size_t found = text.data == NULL ? SIZE_MAX : read_base64(text, element, elements, count);
  arena_fini(&arena);
  return found;
}
