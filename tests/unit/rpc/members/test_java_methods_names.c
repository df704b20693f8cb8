/* Names of Java members in descriptions: to text and back. */
#include "rpc/members/java_methods_names.h"
#include "tests/unit/unit.h"

static void names_come_apart(void **state)
{
  (void)state;
  static const struct {
    const char *written;
    const char *class_name; /* NULL: no name of a member */
    const char *member;
    const char *suffix; /* NULL: none */
  } cases[] = {
      {"com.example.Calculator.add", "com.example.Calculator", "add", NULL},
      {"com.example.Calculator.new", "com.example.Calculator", "new", NULL},
      {"com.example.Outer$Inner.go", "com.example.Outer$Inner", "go", NULL},
      {"a.B.add-int-java.lang.String.array", "a.B", "add", "int-java.lang.String.array"},
      {"a.B.size-void", "a.B", "size", "void"},
      {"a.B.size-", "a.B", "size", ""},
      {"B.go", "B", "go", NULL},
      {"", NULL, NULL, NULL},
      {"add", NULL, NULL, NULL},
      {".add", NULL, NULL, NULL},
      {"a.", NULL, NULL, NULL},
      {"-int", NULL, NULL, NULL},
      {"add-java.lang.String", NULL, NULL, NULL},
      {"rpc.discover", NULL, NULL, NULL},
      {"rpc.a.B.go", NULL, NULL, NULL},
      {"system.describe", NULL, NULL, NULL},
      {"rpcs.B.go", "rpcs.B", "go", NULL},
  };
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    struct java_method_name name;
    bool parsed = java_method_name_parse(text_of(cases[i].written), &name);
    assert_int_equal(parsed, cases[i].class_name != NULL);
    if (!parsed)
      continue;
    assert_true(text_equal(name.class_name, text_of(cases[i].class_name)));
    assert_true(text_equal(name.member, text_of(cases[i].member)));
    assert_int_equal(name.suffix.data != NULL, cases[i].suffix != NULL);
    if (cases[i].suffix != NULL)
      assert_true(text_equal(name.suffix, text_of(cases[i].suffix)));
  }
}

static void check_written(void (*write)(struct text, struct buffer *), const char *from, const char *wanted)
{
  struct buffer out;
  buffer_init(&out);
  write(text_of(from), &out);
  assert_false(out.failed);
  assert_int_equal(out.len, strlen(wanted));
  assert_memory_equal(out.data, wanted, out.len);
  buffer_fini(&out);
}

static void suffixes_tell_the_parameter_types(void **state)
{
  (void)state;
  check_written(java_method_suffix_write, "()V", "void");
  check_written(java_method_suffix_write, "(II)I", "int-int");
  check_written(java_method_suffix_write, "([C)Ljava/lang/String;", "char.array");
  check_written(java_method_suffix_write, "([[JLjava/util/Map$Entry;Z)V",
                "long.array.array-java.util.Map$Entry-boolean");
  check_written(java_method_suffix_write, "([Ljava/lang/String;D)V", "java.lang.String.array-double");
}

static void component_keys_keep_to_their_characters(void **state)
{
  (void)state;
  check_written(java_component_key_write, "com.example.Color", "com.example.Color");
  check_written(java_component_key_write, "Outer$Inner", "Outer-Inner");
  check_written(java_component_key_write, "a_b.C$$D", "a_b.C--D");
  check_written(java_component_key_write, "a.Stra\xC3\x9F\x65", "a.Stra..00DF.e");
  check_written(java_component_key_write, "a.\xF0\x9D\x92\x9C", "a...1D49C.");
}

static void patterns_cover_classes(void **state)
{
  (void)state;
  static const struct {
    const char *pattern;
    const char *class_name;
    bool covered;
  } cases[] = {
      {"com.example.*", "com.example.Calculator", true},
      {"com.example.*", "com.example.Outer$Inner", true},
      {"com.example.*", "com.example.sub.Calculator", false},
      {"com.example.*", "com.example", false},
      {"com.example.**", "com.example.sub.Calculator", true},
      {"**", "com.example.Calculator", true},
      {"*", "com.example.Calculator", false},
      {"*", "Calculator", true},
      {"**.Calculator", "com.example.Calculator", true},
      {"**.Calculator", "com.example.Calculators", false},
      {"com.*.Calc*", "com.example.Calculator", true},
      {"com.*.Calc*", "com.a.b.Calculator", false},
      {"com.**.C*r", "com.a.C.b.Calculator", true},
      {"**a*b", "x.ab.aXb", true},
      {"com.example.Calculator", "com.example.Calculator", true},
      {"com.example.Calculato", "com.example.Calculator", false},
      {"", "C", false},
  };
  for (size_t i = 0; i < COUNT_OF(cases); i++)
    assert_int_equal(java_class_matches(text_of(cases[i].pattern), text_of(cases[i].class_name)),
                     cases[i].covered);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(names_come_apart),
      cmocka_unit_test(suffixes_tell_the_parameter_types),
      cmocka_unit_test(component_keys_keep_to_their_characters),
      cmocka_unit_test(patterns_cover_classes),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
