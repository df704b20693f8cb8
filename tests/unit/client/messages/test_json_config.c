/* Configurations as JSON. */
#include "client/messages/json_config.h"

#include "tests/unit/unit.h"

struct inner {
  size_t size;
  bool flag;
};

struct outer {
  size_t size;
  const char *text;
  const char *const *texts;
  int number;
  size_t length;
  const struct inner *inner;
};

static const struct json_config INNER = {
    .size = sizeof(struct inner),
    .members = (const struct json_config_member[]){{"flag", JSON_CONFIG_BOOLEAN, offsetof(struct inner, flag),
                                                    NULL}},
    .member_count = 1};

static const struct json_config OUTER = {
    .size = sizeof(struct outer),
    .members =
        (const struct json_config_member[]){
            {"text", JSON_CONFIG_TEXT, offsetof(struct outer, text), NULL},
            {"texts", JSON_CONFIG_TEXTS, offsetof(struct outer, texts), NULL},
            {"number", JSON_CONFIG_INT, offsetof(struct outer, number), NULL},
            {"length", JSON_CONFIG_SIZE, offsetof(struct outer, length), NULL},
            {"inner", JSON_CONFIG_CONFIG, offsetof(struct outer, inner), &INNER},
        },
    .member_count = 5};

UNIT_TEST(fills_a_struct)
{
  struct outer read;
  struct arena arena;
  arena_init(&arena);
  assert_int_equal(json_config_read(" { \"text\" : \"a\\u0062\\n\", \"texts\":[\"x\",\"\"], \"number\": 7, "
                                    "\"length\":4294967296, \"inner\":{\"flag\":true} } ",
                                    &OUTER, &arena, &read, NULL),
                   JP_CLIENT_OK);
  assert_int_equal(read.size, sizeof read);
  assert_string_equal(read.text, "ab\n");
  assert_string_equal(read.texts[0], "x");
  assert_string_equal(read.texts[1], "");
  assert_null(read.texts[2]);
  assert_int_equal(read.number, 7);
  assert_int_equal(read.length, (size_t)4294967296);
  assert_int_equal(read.inner->size, sizeof(struct inner));
  assert_true(read.inner->flag);
  arena_fini(&arena);
}

UNIT_TEST(accepts_null_as_absent)
{
  struct outer read;
  struct arena arena;
  arena_init(&arena);
  assert_int_equal(json_config_read(NULL, &OUTER, &arena, &read, NULL), JP_CLIENT_OK);
  assert_true(read.size == sizeof read && read.text == NULL && read.inner == NULL && read.number == 0);
  assert_int_equal(
      json_config_read("{\"text\":null,\"number\":null,\"inner\":null}", &OUTER, &arena, &read, NULL),
      JP_CLIENT_OK);
  assert_true(read.text == NULL && read.inner == NULL && read.number == 0);
  arena_fini(&arena);
}

UNIT_TEST(describes_the_fault)
{
  static const char *const wrong[][2] = {
      {"", "the configuration is no JSON: "},
      {"{\"text\":", "the configuration is no JSON: "},
      {"[]", "the configuration is no JSON object"},
      {"{\"txt\":1}", "a configuration has no member \"txt\""},
      {"{\"inner\":{\"flags\":true}}", "a configuration has no member \"flags\""},
      {"{\"text\":1}", "text is not a string"},
      {"{\"text\":\"a\\u0000b\"}", "text is not a string without NUL"},
      {"{\"texts\":\"a\"}", "texts is not an array of strings"},
      {"{\"texts\":[\"a\",1]}", "texts is not a string"},
      {"{\"number\":2147483648}", "number is not a whole number that fits"},
      {"{\"number\":-1}", "number is not a whole number that fits"},
      {"{\"number\":1.5}", "number is not a whole number that fits"},
      {"{\"length\":9223372036854775808}", "length is not a whole number that fits"},
      {"{\"inner\":[]}", "inner is not an object"},
      {"{\"inner\":{\"flag\":1}}", "flag is not a boolean"},
  };
  for (size_t i = 0; i < COUNT_OF(wrong); i++) {
    struct outer read;
    struct arena arena;
    struct jp_client_error error;
    arena_init(&arena);
    assert_int_equal(json_config_read(wrong[i][0], &OUTER, &arena, &read, &error), JP_CLIENT_INVALID);
    if (strstr(error.text, wrong[i][1]) != error.text)
      fail_msg("%s: %s", wrong[i][0], error.text);
    arena_fini(&arena);
  }
}

UNIT_MAIN
