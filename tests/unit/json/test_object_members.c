#include "json/object_members.h"

#include "tests/unit/unit.h"

static const struct text names[] = {TEXT("type"), TEXT("value"), TEXT("ref")};

static void collect(const char *object, struct json_members *members)
{
  json_members_collect(json_root(text_of(object)), names, COUNT_OF(names), members);
}

UNIT_TEST(members_are_collected_in_any_order)
{
  struct json_members members;
  collect("{\"value\": [1, 2], \"other\": {\"ref\": 1}, \"t\\u0079pe\": \"int\"}", &members);
  assert_true(members.has[0] && members.has[1]);
  assert_false(members.has[2]);
  assert_text(members.value[0].span, "\"int\"");
  assert_text(members.value[1].span, "[1, 2]");
  assert_int_equal(members.repeated, -1);
}

UNIT_TEST(the_first_of_two_is_kept)
{
  struct json_members members;
  collect("{\"value\": 1, \"ref\": 2, \"value\": 3}", &members);
  assert_text(members.value[1].span, "1");
  assert_int_equal(members.repeated, 1);
}

UNIT_TEST(an_empty_object_has_none)
{
  struct json_members members;
  collect("{}", &members);
  for (size_t i = 0; i < COUNT_OF(names); i++)
    assert_false(members.has[i]);
  assert_int_equal(members.repeated, -1);
}

UNIT_TEST(kinds_have_names)
{
  assert_string_equal(json_kind_name(json_root(TEXT("true")).kind), "a boolean");
  assert_string_equal(json_kind_name(json_root(TEXT("-1")).kind), "a number");
  assert_string_equal(json_kind_name(json_root(TEXT("[]")).kind), "an array");
}

UNIT_MAIN
