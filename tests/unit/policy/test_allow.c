/* --rpc-allow against the names of a JDK's classes. */
#include "policy/allow.h"

#include "tests/unit/unit.h"

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

struct expected {
  const char *patterns;
  const char *error; /* how it begins; NULL: accepted */
};

static const struct expected cases[] = {
    {"com.example.**", NULL},
    {"com.example.*,org.example.**,fixtures.Order?", NULL},
    {"java.lang.Math,java.util.ArrayList", NULL},
    {"java.util.Formatter", NULL}, /* somebody has named it */
    {"*", NULL},                   /* the classes without a package */
    {"**.Order", NULL},
    {"jdk:java.util.**", NULL},
    {"jdk:**", NULL},
    {"jdk:java.util.ArrayList", NULL},
    {"java.util.*", "--rpc-allow: pattern 'java.util.*' matches classes of the JDK: java.util."},
    {"JAVA.Util.*", "--rpc-allow: pattern 'JAVA.Util.*' matches classes of the JDK: java.util."},
    {"**", "--rpc-allow: pattern '**' matches classes of the JDK: "},
    {"**.*", "--rpc-allow: pattern '**.*' matches"},
    {"com.**", "--rpc-allow: pattern 'com.**' matches"},
    {"org.**", "--rpc-allow: pattern 'org.**' matches"},
    {"?????.**", NULL},
    {"????.**", "--rpc-allow: pattern '????.**' matches"},
    {"ja*.util.ArrayList",
     "--rpc-allow: pattern 'ja*.util.ArrayList' matches classes of the JDK: java.util.ArrayList. Name"},
    {"**.ArrayList", "--rpc-allow: pattern '**.ArrayList' matches"},
    {"java.util.ArrayLis?", "--rpc-allow: pattern 'java.util.ArrayLis?' matches"},
    {"java.util.ArrayList$*", "--rpc-allow: pattern 'java.util.ArrayList$*' matches"},
    {"java.time.*", "--rpc-allow: pattern 'java.time.*' matches classes of the JDK: java.time.Instant. Name "
                    "the classes that clients need, or put jdk: before the pattern ('jdk:java.time.*')"},
    /* The mark is one pattern's alone, and no part of a name. */
    {"jdk:java.time.*,java.util.*", "--rpc-allow: pattern 'java.util.*' matches"},
    {"java.util.*,jdk:java.time.*", "--rpc-allow: pattern 'java.util.*' matches"},
    {"com.example.**,org.**.Node", "--rpc-allow: pattern 'org.**.Node' matches"},
};

UNIT_TEST(test_wildcards_that_match_the_jdk)
{
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    struct policy_allow_check check;
    struct policy_document document;
    struct jp_error error = {0};
    struct arena arena;
    arena_init(&arena);
    struct text patterns = text_of(cases[i].patterns);
    assert_int_equal(policy_allow_compile(patterns, &arena, &document, &error), JP_OK);
    assert_int_equal(policy_allow_check_begin(&check, patterns, &arena, &error), JP_OK);
    for (size_t j = 0; j < COUNT_OF(jdk) && policy_allow_see_class(text_of(jdk[j]), &check); j++)
      ;
    enum jp_status status = policy_allow_check_end(&check, &error);
    assert_int_equal(status, cases[i].error == NULL ? JP_OK : JP_INVALID);
    if (cases[i].error != NULL && strncmp(error.text, cases[i].error, strlen(cases[i].error)) != 0)
      fail_msg("%s: %s", cases[i].patterns, error.text);
    arena_fini(&arena);
  }
}

UNIT_TEST(test_names_need_no_look)
{
  struct policy_allow_check check;
  struct arena arena;
  arena_init(&arena);
  assert_int_equal(policy_allow_check_begin(&check, TEXT("a.B,jdk:java.**,c.D"), &arena, NULL), JP_OK);
  assert_int_equal(check.count, 0);
  arena_fini(&arena);
}

UNIT_TEST(test_a_mark_changes_no_rule)
{
  static const char *const misspelt[] = {"JDK:java.util.*", "jdk:jdk:java.util.*", "java:java.util.*",
                                         "a.B:"};
  struct policy_document document;
  struct jp_error error;
  struct arena arena;
  arena_init(&arena);
  assert_int_equal(policy_allow_compile(TEXT("jdk:java.util.*,a.B"), &arena, &document, &error), JP_OK);
  assert_int_equal(document.rule_count, 2);
  assert_true(policy_pattern_matches(&document.rules[0].class_pattern, TEXT("java.util.ArrayList")));
  assert_string_equal(document.rules[0].reason, "--rpc-allow 'jdk:java.util.*'");
  assert_int_equal(policy_allow_compile(TEXT("jdk:"), &arena, &document, &error), JP_INVALID);
  assert_string_equal(error.text, "--rpc-allow: pattern 'jdk:': is empty");
  for (size_t i = 0; i < COUNT_OF(misspelt); i++) {
    assert_int_equal(policy_allow_compile(text_of(misspelt[i]), &arena, &document, &error), JP_INVALID);
    assert_non_null(strstr(error.text, "has a ':', which only the word jdk: has"));
  }
  arena_fini(&arena);
}

UNIT_MAIN
