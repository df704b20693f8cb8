#include "tests/unit/unit.h"

#include "rpc/values/value_write.h"

#include <math.h>

static const int64_t longs[] = {INT64_MIN, INT64_MAX};

/* rpc_value_length is never less than the length of the text, because jpeer.fetch fills an answer by it. */
UNIT_TEST(no_text_is_longer)
{
  struct op_value items[] = {
      {.kind = OP_NULL},
      {.kind = OP_BOOLEAN},
      {.kind = OP_INTEGER, .integer = INT64_MIN},
      {.kind = OP_DOUBLE, .decimal = -1.7976931348623157e308},
      {.kind = OP_DOUBLE, .decimal = -INFINITY},
      {.kind = OP_FLOAT, .decimal = 1.17549435e-38},
      {.kind = OP_CHAR, .integer = 0},
      {.kind = OP_CHAR, .integer = 0xD800},
      {.kind = OP_TEXT, .text = TEXT("\"\\\x01\x1f\x7f/ \xed\xa0\x80 \xc3\xa4")},
      {.kind = OP_REF, .ref = INT32_MAX},
      {.kind = OP_REF, .ref = UINT32_MAX, .literal = TEXT("a.\"B\"")},
      {.kind = OP_REF,
       .ref = UINT32_MAX,
       .type = TEXT("a.\xc3\xa4.C$D"),
       .has_length = true,
       .length = INT64_MAX},
      {.kind = OP_TYPED_TEXT, .type = TEXT("a.\xc3\xa4.C$D"), .text = TEXT("\"\x01")},
      {.kind = OP_BIG_INTEGER, .literal = TEXT("-1234567890123456789012345678901234567890")},
      {.kind = OP_PACKED, .packed = {.data = longs, .count = 2, .element = 'J'}},
      {.kind = OP_PACKED, .packed = {.data = longs, .count = 2, .element = 'J', .form = OP_PACKED_TEXTS}},
      {.kind = OP_PACKED, .packed = {.data = longs, .count = 2, .element = 'J', .form = OP_PACKED_BASE64}},
  };
  struct op_entry entry = {TEXT("a \"key\""), {.kind = OP_LIST, .list = {items, COUNT_OF(items)}}};
  const struct op_value map = {.kind = OP_MAP, .map = {&entry, 1}};
  struct buffer out;
  buffer_init(&out);
  for (size_t i = 0; i < COUNT_OF(items); i++) {
    buffer_clear(&out);
    rpc_value_write(&out, &items[i]);
    assert_true(out.len <= rpc_value_length(&items[i]));
  }
  buffer_clear(&out);
  rpc_value_write(&out, &map);
  assert_true(out.len <= rpc_value_length(&map));
  buffer_fini(&out);
}

UNIT_TEST(plain_text_counts_as_it_is)
{
  const struct op_value value = {.kind = OP_TEXT, .text = TEXT("plain")};
  assert_int_equal(rpc_value_length(&value), 7);
}

UNIT_MAIN
