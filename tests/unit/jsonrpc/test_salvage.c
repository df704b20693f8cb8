#include "jsonrpc/jsonrpc.h"

#include "tests/unit/unit.h"

/* Messages, and the id that can be made out of each; NULL: none. */
static const struct row {
  const char *message;
  const char *id;
} rows[] = {
    /* what stands before the fault */
    {"{\"jsonrpc\":\"2.0\",\"id\":17,\"method\":", "17"},
    {"{\"id\":\"a\\\"b\",\"params\":[[[[[", "\"a\\\"b\""},
    {" \t{ \"id\" : null , \"x\":[[", "null"},
    {"{\"\\u0069\\u0064\":-1.50e3,\"x\":", "-1.50e3"},
    {"{\"id\":17", "17"},
    {"{\"params\":{\"id\":3},\"id\":4,\"x\":", "4"},
    {"{\"params\":[{\"id\":3}],\"x\":\"}\",\"id\":4", "4"},
    /* and behind it */
    {"{\"jsonrpc\":\"2.0\",\"method\":,\"id\":17}", "17"},
    {"{\"method\":\"a\\qb\",\"id\":4}", "4"},
    {"{\"id\":17\"method\":\"x\"}", "17"},
    {"{\"jsonrpc\":\"2.0\",\"id\":1} x", "1"},
    /* none */
    {"", NULL},
    {"  ", NULL},
    {"{", NULL},
    {"{\"id\"", NULL},
    {"{\"id\":", NULL},
    {"{\"id\" 5", NULL},
    {"{\"id\":\"cut of", NULL},
    {"{\"id\":\"cut off\\\"", NULL},
    {"{\"params\":{\"id\":3},\"x\":", NULL},
    {"{\"params\":{\"id\":3", NULL},
    {"{\"x\":\"id\",\"y\":", NULL},
    {"{\"idx\":5,\"\\u00\":4,\"\\u0069\\u006\":5,", NULL},
    {"{\"id\":1,\"id\":2,\"x\":", NULL},
    {"{\"id\":1,\"id\":\"cut of", NULL},
    {"{\"id\":true,\"x\":", NULL},
    {"{\"id\":[1],\"x\":", NULL},
    {"{\"id\":5l,\"x\":", NULL},
    {"{\"id\":01,\"x\":", NULL},
    {"[{\"id\":1},{", NULL},
    {"\"id\":5}", NULL},
    {"}{\"id\":5}", NULL},
};

static void check(const struct row *row, enum jsonrpc_version version)
{
  size_t length = strlen(row->message);
  char *copy = unit_exact_copy(row->message, length);
  struct text id = jsonrpc_salvage_id((struct text){copy, length}, length, version);
  if (row->id == NULL)
    assert_null(id.data);
  else
    assert_true(text_equal(id, text_of(row->id)));
  test_free(copy);
}

UNIT_TEST(makes_out_the_one_id_of_the_outermost_object)
{
  for (size_t i = 0; i < COUNT_OF(rows); i++)
    check(&rows[i], JSONRPC_2_0);
}

UNIT_TEST(takes_any_value_as_an_id_of_1_1)
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

UNIT_TEST(finds_it_behind_a_lost_quote)
{
  static const struct row lost[] = {
      {"{\"method\":\"abc,\"id\":4}", "4"},
      {"{\"params\":{\"a\":\"abc,\"id\":3},\"x\":1}", NULL}, /* that of the params */
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

/* Every beginning of a message is walked to its own end and not beyond it; the sanitizers watch. */
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
