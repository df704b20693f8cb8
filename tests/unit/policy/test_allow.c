/* --rpc-allow against the names of a JDK's classes. */
#include "policy/allow.h"

#include "tests/unit/cases.h"

static const char *const jdk[] = {
    "java.lang.Math",
    "java.util.ArrayList",
    "java.util.Formatter",
    "java.util.ArrayList$Itr",
    "java.util.function.Supplier",
    "java.time.Instant",
    "com.sun.jdi.Value",
    "org.w3c.dom.Node",
};

static void check_patterns(const char *place, const char *written, const char *begins)
{
  struct policy_allow_check check;
  struct policy_document document;
  struct jp_error error = {0};
  struct arena arena;
  arena_init(&arena);
  struct text patterns = text_of(written);
  enum jp_status status = policy_allow_compile(patterns, NULL, &arena, &document, &error);
  if (status == JP_OK) {
    assert_int_equal(policy_allow_check_begin(&check, patterns, NULL, &arena, &error), JP_OK);
    for (size_t i = 0; i < COUNT_OF(jdk) && policy_allow_see_class(text_of(jdk[i]), &check); i++)
      ;
    status = policy_allow_check_end(&check, &error);
  }
  if (status != (*begins == '\0' ? JP_OK : JP_INVALID) || strncmp(error.text, begins, strlen(begins)) != 0)
    fail_msg("%s: status %d, %s", place, status, error.text);
  arena_fini(&arena);
}

UNIT_TEST(test_wildcards_that_match_the_jdk)
{
  unit_cases(FILES "/allowed.txt", check_patterns);
}

UNIT_TEST(test_no_name_is_needed)
{
  struct policy_allow_check check;
  struct arena arena;
  arena_init(&arena);
  assert_int_equal(policy_allow_check_begin(&check, TEXT("a.B,jdk:java.**,c.D"), NULL, &arena, NULL), JP_OK);
  assert_int_equal(check.count, 0);
  arena_fini(&arena);
}

UNIT_TEST(test_a_mark_changes_no_rule)
{
  struct policy_document document;
  struct jp_error error;
  struct arena arena;
  arena_init(&arena);
  assert_int_equal(policy_allow_compile(TEXT("jdk:java.util.*,a.B"), NULL, &arena, &document, &error), JP_OK);
  assert_int_equal(document.rule_count, 2);
  assert_true(policy_pattern_matches(&document.rules[0].class_pattern, TEXT("java.util.ArrayList")));
  assert_string_equal(document.rules[0].reason, "--rpc-allow 'jdk:java.util.*'");
  assert_int_equal(policy_allow_compile(TEXT(""), NULL, &arena, &document, &error), JP_INVALID);
  assert_string_equal(error.text, "--rpc-allow: pattern '': is empty");
  arena_fini(&arena);
}

UNIT_MAIN
