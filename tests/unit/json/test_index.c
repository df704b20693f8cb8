/* A message is read in the same way with its index, with an index that ran out of room at any place, and
 * without an index. */
#include "base/buffer.h"
#include "json/reader.h"

#include "tests/unit/unit.h"

/* Part of an array of whole numbers that is skipped in one go. */
#define LONG "12345,-1234567890,0,-7,333333,12345678901234567890,99,12345,1, 22,-4444444,5,66666,"

static void assert_same(struct json_value scanned, struct json_value indexed)
{
  assert_int_equal(scanned.kind, indexed.kind);
  assert_ptr_equal(scanned.span.data, indexed.span.data);
  assert_int_equal(scanned.span.len, indexed.span.len);
  if (scanned.kind != JSON_KIND_ARRAY && scanned.kind != JSON_KIND_OBJECT)
    return;
  bool is_object = scanned.kind == JSON_KIND_OBJECT;
  struct json_cursor one = json_enter(scanned);
  struct json_cursor other = json_enter(indexed);
  for (;;) {
    struct text keys[2] = {TEXT(""), TEXT("")};
    struct json_value values[2];
    bool more =
        is_object ? json_next_member(&one, &keys[0], &values[0]) : json_next_element(&one, &values[0]);
    assert_int_equal(is_object ? json_next_member(&other, &keys[1], &values[1])
                               : json_next_element(&other, &values[1]),
                     more);
    if (!more)
      return;
    assert_true(text_equal(keys[0], keys[1]));
    assert_same(values[0], values[1]);
  }
}

/* Returns how many marks the index has. */
static size_t check(const struct buffer *message)
{
  struct json_index index;
  struct json_fault fault;
  struct text text = buffer_text(message);
  assert_int_equal(
      json_validate_indexed(text, (struct json_limits){JSON_DEPTH_MAX}, TEXT_ABSENT, &index, &fault), JP_OK);
  assert_same(json_root(text), json_root_indexed(text, &index));
  return index.count;
}

/* Makes messages of growing length that begin with 0 to values_a_piece other values and then repeat the
 * piece. In this way the index runs out of room at each place of the piece. */
static void check_all_ends(const char *piece, unsigned values_a_piece)
{
  bool was_full = false;
  for (unsigned before = 0; before <= values_a_piece; before++) {
    for (unsigned pieces = 0; pieces <= 2 * JSON_INDEX_MAX / values_a_piece; pieces++) {
      struct buffer message;
      buffer_init(&message);
      BUFFER_LITERAL(&message, "[ 0");
      for (unsigned i = 0; i < before; i++)
        BUFFER_LITERAL(&message, ", 1");
      for (unsigned i = 0; i < pieces; i++)
        buffer_printf(&message, " ,%s", piece);
      BUFFER_LITERAL(&message, ",{\"last\" : [2]} ]\n");
      was_full = check(&message) >= JSON_INDEX_MAX - 1 || was_full;
      buffer_fini(&message);
    }
  }
  assert_true(was_full);
}

UNIT_TEST(ends_at_any_place)
{
  check_all_ends("7", 1);
  check_all_ends("[]", 1);
  check_all_ends("{}", 1);
  check_all_ends("[ [\"a,]\"] , null]", 4);
  check_all_ends("[" LONG "8]", 1);
  check_all_ends("[" LONG "8.5]", 14);
  check_all_ends("{\"k\" :[" LONG "9 ], \"l\":[[" LONG "-9],{\"m\":[" LONG "0]}]}", 21);
  check_all_ends("{\"k\": \"v\\\\\" , \"l\\\"\":-1.5e3}", 5);
  check_all_ends("{\"k\":{\"l\" :{\"m\":[true,{\"n\":[ ]}]} }, \"o\":\"\\u00e9\u00e9\"}", 13);
}

UNIT_TEST(ends_inside_deep_nesting)
{
  for (unsigned depth = JSON_INDEX_MAX - 5; depth < JSON_INDEX_MAX + 5; depth++) {
    struct buffer message;
    buffer_init(&message);
    for (unsigned i = 0; i < depth; i++)
      buffer_append_text(&message, i % 3 == 2 ? TEXT("{\"a\":") : TEXT("[1,"));
    buffer_append_char(&message, '0');
    for (unsigned i = depth; i-- > 0;)
      buffer_append_text(&message, i % 3 == 2 ? TEXT(",\"b\":[3] }") : TEXT(", {\"c\":2}]"));
    check(&message);
    buffer_fini(&message);
  }
}

UNIT_TEST(is_of_no_use_to_another_text)
{
  struct json_index index;
  struct json_fault fault;
  struct text wrong = TEXT("[1,[2,{\"a\":[3]}]");
  assert_int_equal(json_validate_indexed(wrong, (struct json_limits){9}, TEXT_ABSENT, &index, &fault),
                   JP_INVALID);
  struct text right = TEXT("[4]");
  assert_int_equal(json_validate_indexed(right, (struct json_limits){9}, TEXT_ABSENT, &index, &fault), JP_OK);
  assert_int_equal(index.count, 2);
  assert_same(json_root(right), json_root_indexed(right, &index));
}

UNIT_MAIN
