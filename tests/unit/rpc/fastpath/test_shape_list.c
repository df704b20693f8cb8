#include "rpc/fastpath/shape_list.h"
#include "rpc/values/value_read.h"
#include "tests/unit/unit.h"

enum { DIGITS_MAX = 100 };

struct bench {
  struct arena arena;
  struct shape_list shape;
  struct op_value list;
};

/* Finds the shape of a list that stands alone; false: it has none. */
static bool find_shape(struct bench *bench, const char *json)
{
  struct outcome outcome;
  struct rpc_value_reader reader;
  struct op_value *items;
  struct text scalars;
  size_t count;
  arena_reset(&bench->arena);
  rpc_value_reader_init(&reader, DIGITS_MAX, 0, &bench->arena, &outcome);
  assert_int_equal(rpc_args_read(&reader, json_root(text_of(json)), &items, &count), JP_OK);
  return shape_list_find(json_root(text_of(json)), items, &bench->shape, &scalars);
}

/* Takes a list from the beginning of a text; gives what is left of it, absent where it does not fit. */
static struct text take(struct bench *bench, const char *text)
{
  struct text rest = text_of(text);
  bench->list = (struct op_value){.kind = OP_LIST};
  return shape_list_take(&rest, &bench->shape, &bench->arena, &bench->list) ? rest : TEXT_ABSENT;
}

static int set_up(void **state)
{
  struct bench *bench = test_calloc(1, sizeof *bench);
  arena_init(&bench->arena);
  *state = bench;
  return 0;
}

static int tear_down(void **state)
{
  struct bench *bench = *state;
  arena_fini(&bench->arena);
  test_free(bench);
  return 0;
}

static void finds_lists_of_like_scalars(void **state)
{
  static const struct {
    const char *list;
    bool has_shape;
  } cases[] = {
      {"[1]", true},
      {"[1,2,3]", true},
      {"[1, 2, 3]", true},
      {"[1,2, 3]", false},
      {"[\"a\",\"b\"]", true},
      {"[\"a\",1]", false},
      {"[\"a\",\"\\n\"]", false},
      {"[{\"ref\":1},{\"ref\":2}]", true},
      {"[{\"type\":\"int\",\"value\":1},{\"type\":\"int\",\"value\":2}]", true},
      {"[{\"type\":\"int\",\"value\":1},{\"type\":\"long\",\"value\":2}]", false},
      {"[null]", false},
      {"[true,false]", false},
      {"[[1]]", false},
      {"[]", false},
  };
  for (size_t i = 0; i < COUNT_OF(cases); i++)
    if (find_shape(*state, cases[i].list) != cases[i].has_shape)
      fail_msg("%s", cases[i].list);
}

static void takes_any_number_of_elements(void **state)
{
  struct bench *bench = *state;
  assert_true(find_shape(bench, "[1,2]"));
  unit_assert_text(take(bench, "3]x"), TEXT("]x"), __FILE__, __LINE__);
  assert_int_equal(bench->list.list.count, 1);
  unit_assert_text(take(bench, "-4,5.5,6l]"), TEXT("]"), __FILE__, __LINE__);
  assert_int_equal(bench->list.list.count, 3);
  assert_int_equal(bench->list.list.items[0].kind, OP_INTEGER);
  assert_true(bench->list.list.items[0].integer == -4);
  assert_int_equal(bench->list.list.items[1].kind, OP_DOUBLE);
  assert_int_equal(bench->list.list.items[2].suffix, 'l');
  assert_null(take(bench, "1, 2]").data); /* other text between the elements */
}

static void refuses_what_is_no_such_scalar(void **state)
{
  struct bench *bench = *state;
  assert_true(find_shape(bench, "[1,2]"));
  assert_null(take(bench, "]").data);
  assert_null(take(bench, "\"a\"]").data);
  assert_null(take(bench, "1,]").data);
  assert_null(take(bench, "123456789012345678901234567890123]").data);
  assert_null(take(bench, "0.1234567890123456789012345678901]").data);
  assert_non_null(take(bench, "0.123456789012345678901234567890]").data);
  assert_true(find_shape(bench, "[{\"ref\":1},{\"ref\":2}]"));
  assert_non_null(take(bench, "7},{\"ref\":8}]").data);
  assert_int_equal(bench->list.list.items[1].ref, 8);
  assert_null(take(bench, "0}]").data);
}

static void refuses_more_elements_than_it_may_have(void **state)
{
  struct bench *bench = *state;
  struct buffer text;
  buffer_init(&text);
  assert_true(find_shape(bench, "[1,2]"));
  for (unsigned i = 0; i < SHAPE_LIST_ITEMS_MAX; i++)
    BUFFER_LITERAL(&text, "1,");
  struct text rest = text_slice(buffer_text(&text), 0, text.len - 1);
  bench->list = (struct op_value){.kind = OP_LIST};
  assert_true(shape_list_take(&rest, &bench->shape, &bench->arena, &bench->list));
  assert_int_equal(bench->list.list.count, SHAPE_LIST_ITEMS_MAX);
  buffer_append_char(&text, '1');
  rest = buffer_text(&text);
  assert_false(shape_list_take(&rest, &bench->shape, &bench->arena, &bench->list));
  buffer_fini(&text);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(finds_lists_of_like_scalars, set_up, tear_down),
      cmocka_unit_test_setup_teardown(takes_any_number_of_elements, set_up, tear_down),
      cmocka_unit_test_setup_teardown(refuses_what_is_no_such_scalar, set_up, tear_down),
      cmocka_unit_test_setup_teardown(refuses_more_elements_than_it_may_have, set_up, tear_down),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
