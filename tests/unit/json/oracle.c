#include "tests/unit/json/oracle.h"

#include "base/decimal.h"
#include "base/number.h"
#include "json/reader.h"

#include <ctype.h>
#include <jansson.h>
#include <math.h>
#include <stddef.h>

enum { DEPTH = 256 }; /* below jansson's own limit */

struct comparison {
  struct arena arena;
  bool listed; /* holds something of the list */
  const char *why;
};

static bool differ(struct comparison *comparison, const char *why)
{
  comparison->why = why;
  return false;
}

static bool has_lone_surrogate(struct text text)
{
  return text_valid_utf8(text) < text.len;
}

static void note_string(struct comparison *comparison, struct text text)
{
  comparison->listed |= has_lone_surrogate(text);
}

static void note_name(struct comparison *comparison, struct text name)
{
  comparison->listed |=
      has_lone_surrogate(name) || (name.len > 0 && memchr(name.data, '\0', name.len) != NULL);
}

static void note_number(struct comparison *comparison, struct json_value value)
{
  struct number number;
  number_read(value.span, &number);
  comparison->listed |= number.integral ? !number.fits : isinf(decimal_to_double(number.literal));
}

/* Looks for what is on the list, everywhere in the value. */
static void note_value(struct comparison *comparison, struct json_value value)
{
  struct json_cursor cursor;
  struct json_value inner;
  struct text key;
  switch (value.kind) {
  case JSON_KIND_NUMBER:
    note_number(comparison, value);
    break;
  case JSON_KIND_STRING:
    note_string(comparison, json_read_string(value, &comparison->arena));
    break;
  case JSON_KIND_ARRAY:
    cursor = json_enter(value);
    while (json_next_element(&cursor, &inner))
      note_value(comparison, inner);
    break;
  case JSON_KIND_OBJECT:
    cursor = json_enter(value);
    while (json_next_member(&cursor, &key, &inner)) {
      note_name(comparison, json_unescape(key, &comparison->arena));
      note_value(comparison, inner);
    }
    break;
  default:
    break;
  }
}

static bool compare_value(struct comparison *comparison, struct json_value ours, const json_t *theirs);

static bool compare_number(struct comparison *comparison, struct json_value ours, const json_t *theirs)
{
  struct number number;
  number_read(ours.span, &number);
  if (number.integral != json_is_integer(theirs))
    return differ(comparison, "integer or not");
  if (number.integral)
    return number.integer == json_integer_value(theirs) || differ(comparison, "integer");
  double value = decimal_to_double(number.literal);
  double their_value = json_real_value(theirs);
  bool same = value == their_value && signbit(value) == signbit(their_value);
  return same || differ(comparison, "real");
}

static bool compare_array(struct comparison *comparison, struct json_value ours, const json_t *theirs)
{
  struct json_cursor cursor = json_enter(ours);
  struct json_value element;
  size_t count = 0;
  while (json_next_element(&cursor, &element)) {
    if (count == json_array_size(theirs))
      return differ(comparison, "elements");
    if (!compare_value(comparison, element, json_array_get(theirs, count++)))
      return false;
  }
  return count == json_array_size(theirs) || differ(comparison, "elements");
}

static bool comes_again(struct comparison *comparison, struct json_cursor rest, struct text name)
{
  struct text key;
  struct json_value value;
  while (json_next_member(&rest, &key, &value)) {
    if (text_equal(json_unescape(key, &comparison->arena), name))
      return true;
  }
  return false;
}

static bool compare_object(struct comparison *comparison, struct json_value ours, const json_t *theirs)
{
  struct json_cursor cursor = json_enter(ours);
  struct json_value value;
  struct text key;
  size_t count = 0;
  while (json_next_member(&cursor, &key, &value)) {
    struct text name = json_unescape(key, &comparison->arena);
    if (comes_again(comparison, cursor, name))
      continue;
    const json_t *theirs_inside = json_object_getn(theirs, name.data, name.len);
    if (theirs_inside == NULL)
      return differ(comparison, "name");
    if (!compare_value(comparison, value, theirs_inside))
      return false;
    count++;
  }
  return count == json_object_size(theirs) || differ(comparison, "members");
}

static bool compare_string(struct comparison *comparison, struct json_value ours, const json_t *theirs)
{
  struct text text = json_read_string(ours, &comparison->arena);
  struct text their_text = {json_string_value(theirs), json_string_length(theirs)};
  return text_equal(text, their_text) || differ(comparison, "string");
}

static bool compare_value(struct comparison *comparison, struct json_value ours, const json_t *theirs)
{
  switch (ours.kind) {
  case JSON_KIND_NULL:
    return json_is_null(theirs) || differ(comparison, "null");
  case JSON_KIND_TRUE:
    return json_is_true(theirs) || differ(comparison, "true");
  case JSON_KIND_FALSE:
    return json_is_false(theirs) || differ(comparison, "false");
  case JSON_KIND_NUMBER:
    return json_is_number(theirs) ? compare_number(comparison, ours, theirs) : differ(comparison, "number");
  case JSON_KIND_STRING:
    return json_is_string(theirs) ? compare_string(comparison, ours, theirs) : differ(comparison, "string");
  case JSON_KIND_ARRAY:
    return json_is_array(theirs) ? compare_array(comparison, ours, theirs) : differ(comparison, "array");
  case JSON_KIND_OBJECT:
    return json_is_object(theirs) ? compare_object(comparison, ours, theirs) : differ(comparison, "object");
  }
  return differ(comparison, "kind");
}

/* Ours is read twice: by scanning the text, and by the index of its validation. */
static bool compare_root(struct comparison *comparison, struct text message, const struct json_index *index,
                         const json_t *theirs)
{
  return compare_value(comparison, json_root(message), theirs) &&
         compare_value(comparison, json_root_indexed(message, index), theirs);
}

static enum oracle_verdict compare_taken(struct text message, const struct json_index *index,
                                         const json_t *theirs, const char **why)
{
  struct comparison comparison = {.why = ""};
  arena_init(&comparison.arena);
  enum oracle_verdict verdict = ORACLE_BOTH_TAKE;
  if (theirs == NULL) {
    note_value(&comparison, json_root(message));
    verdict = comparison.listed ? ORACLE_ON_THE_LIST : ORACLE_DIFFER;
    comparison.why = "only jansson refuses";
  } else if (!compare_root(&comparison, message, index, theirs)) {
    verdict = ORACLE_DIFFER;
  }
  *why = comparison.why;
  arena_fini(&comparison.arena);
  return verdict;
}

static enum oracle_verdict compare_refused(struct text message, const struct json_fault *fault,
                                           const json_t *theirs, const char **why)
{
  *why = fault->reason;
  if (theirs == NULL)
    return ORACLE_BOTH_REFUSE;
  bool at_nul = fault->offset > 0 && fault->offset < message.len && message.data[fault->offset] == '\0' &&
                isalnum((unsigned char)message.data[fault->offset - 1]);
  return at_nul ? ORACLE_ON_THE_LIST : ORACLE_DIFFER;
}

enum oracle_verdict oracle_compare(struct text message, const char **why)
{
  struct json_fault fault;
  struct json_index index;
  enum jp_status status =
      json_validate_indexed(message, (struct json_limits){DEPTH}, TEXT_ABSENT, &index, &fault);
  if (status == JP_LIMIT)
    return ORACLE_TOO_DEEP;
  json_t *theirs = json_loadb(message.data, message.len, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
  enum oracle_verdict verdict = status == JP_OK ? compare_taken(message, &index, theirs, why)
                                                : compare_refused(message, &fault, theirs, why);
  json_decref(theirs);
  return verdict;
}
