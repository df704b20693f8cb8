#include "jsonrpc/jsonrpc.h"

#include "tests/unit/cases.h"

/* A message, and the id that can be found in it; NULL: none. */
struct row {
  const char *message;
  const char *id;
};

static void check(const struct row *row, enum jsonrpc_version version)
{
  size_t length = strlen(row->message);
  char *copy = unit_exact_copy(row->message, length);
  struct text id = jsonrpc_salvage_id((struct text){copy, length}, length, version);
  if (row->id == NULL && id.data != NULL)
    fail_msg("%s: %.*s", row->message, TEXT_ARGS(id));
  if (row->id != NULL)
    unit_assert_text(id, text_of(row->id), row->message, __LINE__);
  test_free(copy);
}

static void check_salvaged(const char *place, const char *message, const char *id)
{
  (void)place;
  check(&(struct row){message, *id == '\0' ? NULL : id}, JSONRPC_2_0);
}

UNIT_TEST(finds_the_only_id_of_the_outermost_object)
{
  unit_cases(SALVAGED, check_salvaged);
  check(&(struct row){" \t{ \"id\" : null , \"x\":[[", "null"}, JSONRPC_2_0);
  check(&(struct row){"", NULL}, JSONRPC_2_0);
  check(&(struct row){"  ", NULL}, JSONRPC_2_0);
}

UNIT_TEST(accepts_any_value_as_an_id_of_1_1)
{
  static const struct row of_1_1[] = {
      {"{\"id\":true,\"x\":", "true"},
      {"{\"id\":{\"a\":[1,\"]\"]},\"x\":", "{\"a\":[1,\"]\"]}"},
      {"{\"id\":[1", NULL},
      {"{\"id\":[\"cut of", NULL},
      {"{\"id\":{]},\"x\":", NULL},
  };
  for (size_t i = 0; i < COUNT_OF(of_1_1); i++)
    check(&of_1_1[i], JSONRPC_1_1);
}

UNIT_TEST(finds_the_id_after_a_lost_quote)
{
  static const struct row lost[] = {
      {"{\"method\":\"abc,\"id\":4}", "4"},
      {"{\"params\":{\"a\":\"abc,\"id\":3},\"x\":1}", NULL}, /* the id of the params */
      {"{\"method\":\"abc,\"idx\":4}", NULL},
      {"[{\"method\":\"abc,\"id\":4}]", NULL},
  };
  for (size_t i = 0; i < COUNT_OF(lost); i++) {
    struct text message = text_of(lost[i].message);
    struct json_fault fault;
    assert_int_equal(json_validate(message, (struct json_limits){20}, TEXT_ABSENT, &fault), JP_INVALID);
    struct text id = jsonrpc_salvage_id(message, fault.offset, JSONRPC_2_0);
    if (lost[i].id == NULL)
      assert_null(id.data);
    else
      assert_true(text_equal(id, text_of(lost[i].id)));
  }
}

/* Each beginning of a message is read up to its end. The sanitizers find a read beyond the end. */
UNIT_TEST(reads_no_byte_beyond_the_text)
{
  static const char message[] =
      "{\"\\u0069d\":\"\\u00e9\\\\\",\"params\":{\"a\":[\"]\",{\"id\":3}]},\"method\":\"m\"}";
  for (size_t length = 0; length < sizeof message; length++) {
    char *copy = unit_exact_copy(message, length);
    struct text id = jsonrpc_salvage_id((struct text){copy, length}, length, JSONRPC_2_0);
    assert_int_equal(id.data != NULL, length >= sizeof "{\"\\u0069d\":\"\\u00e9\\\\\"" - 1);
    test_free(copy);
  }
}

UNIT_MAIN
