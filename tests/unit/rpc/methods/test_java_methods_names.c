/* Names of Java members in descriptions: to text and back. */
#include "rpc/methods/java_methods_names.h"
#include "tests/unit/cases.h"

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

static void check_classes(const char *place, const char *pattern, const char *names)
{
  char word[UNIT_WORD_MAX];
  assert_true(*names != '\0');
  while (unit_next_word(&names, word)) {
    const char *name = word + (*word == '!');
    char *copy = unit_exact_copy(name, strlen(name));
    if (java_class_matches(text_of(pattern), (struct text){copy, strlen(name)}) != (name == word))
      fail_msg("%s: %s", place, name);
    test_free(copy);
  }
}

UNIT_TEST(patterns_cover_classes)
{
  unit_cases(CLASS_PATTERNS, check_classes);
  assert_false(java_class_matches(TEXT(""), TEXT("C")));
}

UNIT_MAIN
