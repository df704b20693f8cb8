#include "rpc/values/value_write.h"

#include "tests/unit/unit.h"

#include <math.h>

static const uint8_t booleans[] = {1, 0};
static const int8_t bytes[] = {-128, 127};
static const uint16_t chars[] = {'a', '"', 0xD800};
static const int16_t shorts[] = {-32768, 5};
static const int32_t ints[] = {5, 6, 7};
static const int64_t longs[] = {INT64_MIN, 0};
static const float floats[] = {1.5F, NAN};
static const double doubles[] = {0.1, -INFINITY, 1e10};

static struct op_value items[] = {
    {.kind = OP_NULL}, {.kind = OP_INTEGER, .integer = -1}, {.kind = OP_REF, .ref = 7}};

static struct op_entry entries[] = {{TEXT("a\"b"), {.kind = OP_BOOLEAN, .boolean = true}},
                                    {TEXT(""), {.kind = OP_LIST, .list = {items, 2}}}};

#define PACKED(letter, array)                                                                                \
  {                                                                                                          \
    .kind = OP_PACKED, .packed = {(array), COUNT_OF(array), (letter) }                                       \
  }

static const struct {
  struct op_value value;
  const char *json;
} cases[] = {
    {{.kind = OP_NULL}, "null"},
    {{.kind = OP_BOOLEAN, .boolean = false}, "false"},
    {{.kind = OP_INTEGER, .integer = INT64_MIN}, "-9223372036854775808"},
    {{.kind = OP_BIG_INTEGER, .literal = TEXT("9223372036854775808")}, "9223372036854775808"},
    {{.kind = OP_FLOAT, .decimal = 0.1F}, "0.1"},
    {{.kind = OP_DOUBLE, .decimal = 8}, "8.0"},
    {{.kind = OP_DOUBLE, .decimal = NAN}, "\"NaN\""},
    {{.kind = OP_FLOAT, .decimal = INFINITY}, "\"Infinity\""},
    {{.kind = OP_CHAR, .integer = 0xD800}, "\"\\ud800\""},
    {{.kind = OP_TEXT, .text = TEXT("a\n")}, "\"a\\n\""},
    {{.kind = OP_REF, .ref = 3}, "{\"ref\":3}"},
    {{.kind = OP_TYPED_TEXT, .type = TEXT("a.B"), .text = TEXT("x\n")},
     "{\"type\":\"a.B\",\"value\":\"x\\n\"}"},
    {{.kind = OP_LIST}, "[]"},
    {{.kind = OP_LIST, .list = {items, 3}}, "[null,-1,{\"ref\":7}]"},
    {{.kind = OP_MAP}, "{}"},
    {{.kind = OP_MAP, .map = {entries, 2}}, "{\"a\\\"b\":true,\"\":[null,-1]}"},
    {PACKED('Z', booleans), "[true,false]"},
    {PACKED('B', bytes), "[-128,127]"},
    {PACKED('C', chars), "[\"a\",\"\\\"\",\"\\ud800\"]"},
    {PACKED('S', shorts), "[-32768,5]"},
    {PACKED('I', ints), "[5,6,7]"},
    {PACKED('J', longs), "[-9223372036854775808,0]"},
    {PACKED('F', floats), "[1.5,\"NaN\"]"},
    {PACKED('D', doubles), "[0.1,\"-Infinity\",1.0E10]"},
};

static void every_kind_has_its_json(void **state)
{
  (void)state;
  struct buffer out;
  buffer_init(&out);
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    buffer_clear(&out);
    rpc_value_write(&out, &cases[i].value);
    unit_assert_text(buffer_text(&out), text_of(cases[i].json), __FILE__, __LINE__);
  }
  buffer_fini(&out);
}

static void scalars_are_written_without_quotes(void **state)
{
  (void)state;
  static const struct {
    struct op_value value;
    const char *text;
  } scalars[] = {{{.kind = OP_BOOLEAN, .boolean = true}, "true"},
                 {{.kind = OP_INTEGER, .integer = 8}, "8"},
                 {{.kind = OP_FLOAT, .decimal = 0.1F}, "0.1"},
                 {{.kind = OP_DOUBLE, .decimal = -INFINITY}, "-Infinity"}};
  struct buffer out;
  buffer_init(&out);
  for (size_t i = 0; i < COUNT_OF(scalars); i++) {
    buffer_clear(&out);
    rpc_scalar_write(&out, &scalars[i].value);
    unit_assert_text(buffer_text(&out), text_of(scalars[i].text), __FILE__, __LINE__);
  }
  buffer_fini(&out);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_kind_has_its_json),
      cmocka_unit_test(scalars_are_written_without_quotes),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
