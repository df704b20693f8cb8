#include "tests/unit/json/oracle.h"

#include "base/decimal.h"
#include "base/number.h"
#include "json/reader.h"

#include <ctype.h>
#include <jansson.h>
#include <math.h>
#include <stddef.h>

enum { DEPTH = 256 }; /* below jansson's own limit */

static bool has_lone_surrogate(struct text text)
{
  return text_valid_utf8(text) < text.len;
}

/* Searches the value for anything on the list. */
static bool is_listed(struct json_value value, struct arena *arena)
{
  bool is_object = value.kind == JSON_KIND_OBJECT;
  if (value.kind == JSON_KIND_NUMBER) {
    struct number number;
    number_read(value.span, &number);
    return number.integral ? !number.fits : isinf(decimal_to_double(number.literal));
  }
  if (value.kind == JSON_KIND_STRING)
    return has_lone_surrogate(json_read_string(value, arena));
  if (value.kind != JSON_KIND_ARRAY && !is_object)
    return false;
  struct json_cursor cursor = json_enter(value);
  struct json_value inner;
  struct text key = TEXT("");
  while (is_object ? json_next_member(&cursor, &key, &inner) : json_next_element(&cursor, &inner)) {
    struct text name = json_unescape(key, arena);
    if (has_lone_surrogate(name) || (name.len > 0 && memchr(name.data, '\0', name.len) != NULL) ||
        is_listed(inner, arena))
      return true;
  }
  return false;
}

static bool is_same(struct json_value ours, const json_t *theirs, struct arena *arena);

static bool is_same_number(struct json_value ours, const json_t *theirs)
{
  struct number number;
  number_read(ours.span, &number);
  if (number.integral)
    return json_is_integer(theirs) && number.integer == json_integer_value(theirs);
  double value = decimal_to_double(number.literal);
  double their_value = json_real_value(theirs);
  return json_is_real(theirs) && value == their_value && signbit(value) == signbit(their_value);
}

static bool is_same_array(struct json_value ours, const json_t *theirs, struct arena *arena)
{
  struct json_cursor cursor = json_enter(ours);
  struct json_value element;
  size_t count = 0;
  while (json_next_element(&cursor, &element))
    if (!is_same(element, json_array_get(theirs, count++), arena))
      return false;
  return json_is_array(theirs) && count == json_array_size(theirs);
}

static bool is_repeated_later(struct json_cursor rest, struct text name, struct arena *arena)
{
  struct text key;
  struct json_value value;
  while (json_next_member(&rest, &key, &value))
    if (text_equal(json_unescape(key, arena), name))
      return true;
  return false;
}

static bool is_same_object(struct json_value ours, const json_t *theirs, struct arena *arena)
{
  struct json_cursor cursor = json_enter(ours);
  struct json_value value;
  struct text key;
  size_t count = 0;
  while (json_next_member(&cursor, &key, &value)) {
    struct text name = json_unescape(key, arena);
    if (is_repeated_later(cursor, name, arena))
      continue;
    if (!is_same(value, json_object_getn(theirs, name.data, name.len), arena))
      return false;
    count++;
  }
  return json_is_object(theirs) && count == json_object_size(theirs);
}

/* theirs: jansson's value; NULL equals no value. */
static bool is_same(struct json_value ours, const json_t *theirs, struct arena *arena)
{
  switch (ours.kind) {
  case JSON_KIND_NULL:
    return json_is_null(theirs);
  case JSON_KIND_TRUE:
    return json_is_true(theirs);
  case JSON_KIND_FALSE:
    return json_is_false(theirs);
  case JSON_KIND_NUMBER:
    return is_same_number(ours, theirs);
  case JSON_KIND_STRING:
    return json_is_string(theirs) &&
           text_equal(json_read_string(ours, arena),
                      (struct text){json_string_value(theirs), json_string_length(theirs)});
  case JSON_KIND_ARRAY:
    return is_same_array(ours, theirs, arena);
  case JSON_KIND_OBJECT:
    return is_same_object(ours, theirs, arena);
  }
  return false;
}

/* The value of our reader is read twice: by scanning the text, and by the index of its validation. */
static enum oracle_verdict compare_accepted(struct text message, const struct json_index *index,
                                            const json_t *theirs)
{
  struct arena arena;
  arena_init(&arena);
  enum oracle_verdict verdict = ORACLE_DIFFER;
  if (theirs == NULL && is_listed(json_root(message), &arena))
    verdict = ORACLE_ON_THE_LIST;
  else if (theirs != NULL && is_same(json_root(message), theirs, &arena) &&
           is_same(json_root_indexed(message, index), theirs, &arena))
    verdict = ORACLE_BOTH_ACCEPT;
  arena_fini(&arena);
  return verdict;
}

enum oracle_verdict oracle_compare(struct text message)
{
  struct json_fault fault;
  struct json_index index;
  enum jp_status status =
      json_validate_indexed(message, (struct json_limits){DEPTH}, TEXT_ABSENT, &index, &fault);
  if (status == JP_LIMIT)
    return ORACLE_TOO_DEEP;
  json_t *theirs = json_loadb(message.data, message.len, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
  enum oracle_verdict verdict = ORACLE_BOTH_REFUSE;
  if (status == JP_OK)
    verdict = compare_accepted(message, &index, theirs);
  else if (theirs != NULL) /* a NUL directly after a number or a word? */
    verdict = fault.offset > 0 && fault.offset < message.len && message.data[fault.offset] == '\0' &&
                      isalnum((unsigned char)message.data[fault.offset - 1])
                  ? ORACLE_ON_THE_LIST
                  : ORACLE_DIFFER;
  json_decref(theirs);
  return verdict;
}
