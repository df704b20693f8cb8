/* Limits of the reader, and values outside of requests; conformance cases cover the rest. */
#include "rpc/values/value_read.h"

#include "rpc/jsonrpc/json_params.h"
#include "tests/unit/unit.h"

enum { DIGITS_MAX = 10000 };

struct bench {
  struct arena arena;
  struct operation operation;
  struct outcome outcome;
};

static struct bench *bench;

static int set_up(void **state)
{
  bench = test_calloc(1, sizeof *bench);
  arena_init(&bench->arena);
  (void)state;
  return 0;
}

static int tear_down(void **state)
{
  (void)state;
  arena_fini(&bench->arena);
  test_free(bench);
  return 0;
}

/* Reads a `new` whose args are head, then item `count` times, separated by commas, and tail. */
static enum jp_status read_many(struct bench *bench, const char *head, const char *item, size_t count,
                                const char *tail)
{
  struct buffer params;
  buffer_init(&params);
  buffer_printf(&params, "{\"type\":\"C\",\"args\":%s", head);
  for (size_t i = 0; i < count; i++) {
    buffer_append_text(&params, text_of(item));
    buffer_append_char(&params, i + 1 < count ? ',' : ' ');
  }
  buffer_printf(&params, "%s}", tail);
  const struct jsonrpc_request request = {
      .method = TEXT("new"), .id = TEXT("1"), .has_params = true, .params = json_root(buffer_text(&params))};
  const struct rpc_value_rules rules = {.digits_max = DIGITS_MAX};
  arena_reset(&bench->arena);
  enum jp_status status =
      rpc_params_decode(&request, &rules, &bench->arena, &bench->operation, &bench->outcome);
  buffer_fini(&params);
  return status;
}

UNIT_TEST_WITH(counts_have_limits, set_up, tear_down)
{
  assert_int_equal(read_many(bench, "[", "1", RPC_ARGS_MAX, "]"), JP_OK);
  assert_int_equal(bench->operation.arg_count, RPC_ARGS_MAX);
  assert_int_equal(read_many(bench, "[", "1", RPC_ARGS_MAX + 1, "]"), JP_INVALID);
  assert_text(bench->outcome.message, "'args' has more elements than the limit of 65535");
  assert_int_equal(read_many(bench, "[[", "[]", RPC_VALUES_MAX + 1, "]]"), JP_INVALID);
  assert_text(bench->outcome.message, "argument 0: more than 1000000 values in one request (values-max)");
  assert_int_equal(read_many(bench, "[{\"type\":\"int[]\",\"value\":[", "7", RPC_VALUES_MAX + 1, "]}]"),
                   JP_OK);
  assert_int_equal(bench->operation.args[0].packed.count, RPC_VALUES_MAX + 1);
}

/* The memory for an array depends on how many numbers there can be, not on the commas of a text in it. */
UNIT_TEST_WITH(commas_in_a_text_take_no_memory, set_up, tear_down)
{
  enum { COMMAS = 1024 * 1024 };
  size_t before = unit_allocated();
  assert_int_equal(read_many(bench, "[{\"type\":\"long[]\",\"value\":[\"", "", COMMAS, "\"]}]"), JP_INVALID);
  assert_true(unit_allocated() - before < (size_t)4 * COMMAS);
}

/* A repeated key keeps its first place and gets its last value. The sizes are so large that a pairwise search
 * would take minutes. */
UNIT_TEST_WITH(repeated_keys_take_no_product, set_up, tear_down)
{
  enum { KEYS = 20000, ROUNDS = 5 };
  struct buffer map;
  buffer_init(&map);
  for (int i = 0; i < KEYS * ROUNDS; i++)
    buffer_printf(&map, "%s\"k%d\":%d", i == 0 ? "{" : ",", i % KEYS, i);
  buffer_append(&map, "}", sizeof "}");
  assert_int_equal(read_many(bench, "[", map.data, 1, "]"), JP_OK);
  const struct op_value *read = &bench->operation.args[0];
  assert_int_equal(read->map.count, KEYS);
  for (int i = 0; i < KEYS; i++)
    assert_int_equal(read->map.entries[i].value.integer, KEYS * (ROUNDS - 1) + i);
  buffer_fini(&map);
}

UNIT_TEST_WITH(types_may_be_declared_elsewhere, set_up, tear_down)
{
  static const struct {
    const char *type;
    const char *json;
    enum op_value_kind kind; /* OP_CHAR: an error */
  } cases[] = {
      {NULL, "5", OP_INTEGER},         {NULL, "{\"ref\":5}", OP_MAP},    {NULL, "{\"value\":5}", OP_MAP},
      {"[I", "[5]", OP_PACKED},        {"int[]", "null", OP_NULL},       {"[I", "\"x\"", OP_CHAR},
      {"byte[]", "\"AAAA\"", OP_CHAR}, {"[[[", "[5]", OP_CHAR},          {"T[]", "[{\"ref\":1}]", OP_LIST},
      {"T", "{\"type\":1}", OP_MAP},   {"T", "[{\"type\":1}]", OP_CHAR},
  };
  const struct rpc_value_rules rules = {.digits_max = DIGITS_MAX};
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    struct rpc_value_reader reader;
    struct op_value value;
    struct text type = cases[i].type == NULL ? TEXT_ABSENT : text_of(cases[i].type);
    rpc_value_reader_init(&reader, &rules, &bench->arena, &bench->outcome);
    enum jp_status status = rpc_typed_value_read(&reader, type, json_root(text_of(cases[i].json)), &value);
    assert_int_equal(status == JP_OK, cases[i].kind != OP_CHAR);
    if (status != JP_OK)
      continue;
    assert_int_equal(value.kind, cases[i].kind);
    assert_true(text_equal(value.type, type));
  }
}

UNIT_MAIN
