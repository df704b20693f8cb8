/* Names of Java members in descriptions: to text and back. */
#include "rpc/members/java_methods_names.h"
#include "tests/unit/unit.h"

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

UNIT_TEST(component_keys_keep_to_their_characters)
{
  check_written(java_component_key_write, "com.example.Color", "com.example.Color");
  check_written(java_component_key_write, "Outer$Inner", "Outer-Inner");
  check_written(java_component_key_write, "a_b.C$$D", "a_b.C--D");
  check_written(java_component_key_write, "a.Stra\xC3\x9F\x65", "a.Stra..00DF.e");
  check_written(java_component_key_write, "a.\xF0\x9D\x92\x9C", "a...1D49C.");
}

UNIT_TEST(patterns_cover_classes)
{
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

UNIT_MAIN
