#include "rpc/members/java_type_arguments.h"

#include "tests/unit/unit.h"

static const struct {
  const char *written;
  unsigned count;
  const char *first; /* NULL: none */
  const char *last;
} cases[] = {
    {"<TT;>;", 1, "TT;", "TT;"},
    {"<TK;TV;>;", 2, "TK;", "TV;"},
    {"<*>;", 1, "*", "*"},
    {"<+TT;-[I>;", 2, "+TT;", "-[I"},
    {"<Ljava/util/List<TT;>;*>;", 2, "Ljava/util/List<TT;>;", "*"},
    {"<[[JLa/B;>;", 2, "[[J", "La/B;"},
    {"<>;", 0, NULL, NULL},
    {"<", 0, NULL, NULL},
    {"<TK;La/", 1, "TK;", "TK;"},
};

static void check_text(struct text actual, const char *wanted)
{
  if (wanted == NULL)
    assert_null(actual.data);
  else
    unit_assert_text(actual, text_of(wanted), __FILE__, __LINE__);
}

static void test_arguments(void **state)
{
  (void)state;
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    struct java_type_arguments arguments = java_type_arguments_read(text_of(cases[i].written));
    assert_int_equal(arguments.count, cases[i].count);
    check_text(arguments.first, cases[i].first);
    check_text(arguments.last, cases[i].last);
  }
}

static void test_types_of_arguments(void **state)
{
  (void)state;
  static const struct {
    const char *argument;
    const char *type; /* NULL: unknown */
  } types[] = {{"TT;", "TT;"}, {"+TT;", "TT;"}, {"[I", "[I"}, {"-TT;", NULL}, {"*", NULL}, {"+", "+"}};
  for (size_t i = 0; i < COUNT_OF(types); i++)
    check_text(java_type_argument_type(text_of(types[i].argument)), types[i].type);
  check_text(java_type_argument_type(TEXT_ABSENT), NULL);
}

int main(void)
{
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_arguments),
                                     cmocka_unit_test(test_types_of_arguments)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
