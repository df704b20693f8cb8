/* Time, memory and texts grow no faster than what was sent. */
#include "tests/unit/jni/members_cases.h"
#include "tests/unit/jni/with_jvm.h"

#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>

static struct members_session session;

/* The beginning, the element `count` times with commas, the end. Caller frees. */
static char *repeat(const char *begin, const char *element, size_t count, const char *end)
{
  size_t length = strlen(element);
  char *text = malloc(strlen(begin) + count * (length + 1) + strlen(end) + 1);
  assert_non_null(text);
  char *at = stpcpy(text, begin);
  for (size_t i = 0; i < count; i++) {
    if (i > 0)
      *at++ = ',';
    at = stpcpy(at, element);
  }
  stpcpy(at, end);
  return text;
}

static char *fill(const char *begin, char c, size_t count, const char *end)
{
  char *text = malloc(strlen(begin) + count + strlen(end) + 1);
  assert_non_null(text);
  char *at = stpcpy(text, begin);
  memset(at, c, count);
  stpcpy(at + count, end);
  return text;
}

static size_t allocated(void)
{
  struct mallinfo2 info = mallinfo2();
  return info.uordblks + info.hblkhd;
}

/* What a request takes of memory is in the arena until the next one. */
static bool runs_in_little_memory(const char *method, const char *params, const char *wanted)
{
  enum { FIXED = 8 << 20, EACH_BYTE = 200, ERROR_MAX = 9000 };
  uint32_t ref;
  size_t before = allocated();
  struct text got = members_run(&session, method, params, &ref);
  size_t after = allocated();
  if (strstr(got.data, wanted) == NULL)
    fail_msg("got %.200s, wanted %s", got.data, wanted);
  assert_true(got.len < ERROR_MAX);
  return after < before || after - before < FIXED + EACH_BYTE * strlen(params);
}

/* The JVM's compiler may take memory meanwhile, but not each time. Takes params. */
static void check_small(const char *method, char *params, const char *wanted)
{
  enum { ROUNDS = 5 };
  int round = 0;
  while (round < ROUNDS && !runs_in_little_memory(method, params, wanted))
    round++;
  assert_true(round < ROUNDS);
  free(params);
}

#define MAX_CALL "{'type':'java.lang.Math','method':'max','args':["

static void many_arguments_are_told_in_few_words(void **state)
{
  (void)state;
  check_small(
      "call", repeat(MAX_CALL, "1", 10000, "]}"),
      "java.lang.Math.max(int, int, int, int, int, int, int, int, int, int, int, int, int, int, int, int, "
      "and 9984 more); candidates: java.lang.Math.max(");
  check_small("call", repeat(MAX_CALL, "1", 17, "]}"), "int, and 1 more)");
  check_small("call", repeat(MAX_CALL, "1", 16, "]}"), "int, int); candidates: ");
  check_small("new", repeat("{'type':'java.util.ArrayList','args':[", "true", 10000, "]}"),
              "java.util.ArrayList(boolean, ");
}

static void names_of_types_are_cut(void **state)
{
  (void)state;
  enum { ARGUMENTS = 400 };
  static const char type[] =
      "{'type':'java.util.concurrent.atomic.AtomicReferenceFieldUpdater[][][][][][][][]','value':null}";
  check_small("call", repeat(MAX_CALL, type, ARGUMENTS, "]}"), " more); candidates: ");
}

static void long_names_are_cut(void **state)
{
  (void)state;
  enum { LENGTH = 60000, TOO_LONG = 1000000 };
  check_small("call", fill("{'type':'java.lang.Math','method':'", 'm', LENGTH, "'}"),
              "mmm...' found: java.lang.Math.");
  check_small("get", fill("{'type':'java.lang.Math','field':'", 'm', LENGTH, "'}"),
              "mmm...' found in java.lang.Math");
  check_small("new", fill("{'type':'", 'm', LENGTH, "'}"), "java.lang.ClassNotFoundException: mmm");
  check_small("new", fill("{'type':'a-", 'm', LENGTH, "'}"), "Invalid characters in type: a-mmm");
  check_small("call", fill(MAX_CALL "{'type':'", 'm', LENGTH, "','value':1}]}"),
              "ClassNotFoundException: mmm");
  check_small(
      "call",
      fill("{'type':'java.util.Objects','method':'isNull','args':[{'type':'java.time.DayOfWeek','value':'",
           'm', LENGTH, "'}]}"),
      "mmm\"...: java.time.DayOfWeek has no such constant");
  check_small("call", fill("{'type':'java.lang.Math','method':'", 'm', TOO_LONG, "'}"),
              "-32602 'method' is longer than the limit of 65535 bytes");
  check_small("call", fill("{'type':'java.lang.Math','method':'", 'm', 65536, "'}"),
              "-32602 'method' is longer than the limit of 65535 bytes");
  check_small("call", fill("{'type':'java.lang.Math','method':'", 'm', 65535, "'}"),
              "mmm...' found: java.lang.Math.");
  check_small("call", fill(MAX_CALL "{'type':'", 'm', TOO_LONG, "','value':1}]}"),
              "-32602 Type name is longer than the limit of 65535 bytes");
}

/* No half character: 3 bytes each, and names before them of other lengths. */
static void texts_are_cut_between_characters(void **state)
{
  (void)state;
  for (size_t before = 0; before < 3; before++) {
    char begin[64];
    snprintf(begin, sizeof begin, "{'type':'java.lang.Math','method':'%.*s", (int)before, "xx");
    char name[600] = "";
    for (size_t i = 0; i < 150; i++)
      strcat(name, "\xE2\x82\xAC");
    char *params = repeat(begin, name, 1, "'}");
    uint32_t ref;
    struct text got = members_run(&session, "call", params, &ref);
    assert_int_equal(text_valid_utf8(got), got.len);
    assert_non_null(strstr(got.data, "\xE2\x82\xAC..."));
    free(params);
  }
}

static void a_deep_place_is_told_by_its_outermost_levels(void **state)
{
  (void)state;
  static const struct members_case cases[] = {
      {"call", "{'type':'java.util.Objects','method':'isNull','args':[[1,[2,[{'type':'int','value':'x'}]]]]}",
       "-32602 argument 0[1][1][0]: \"x\": ", NULL},
      {"call",
       "{'type':'java.util.Objects','method':'isNull','args':[[0,[0,0,[[[[[[[[0,{'type':'int','value':'x'}]]]"
       "]]]"
       "]]]]]}",
       "-32602 argument 0[1][2][0][0][0][0][0][0]...: \"x\": ", NULL},
  };
  MEMBERS_CHECK(&session, cases);
}

/* As many as a request may have, of each kind. */
static void check_all_arguments(const char *element, const char *wanted)
{
  enum { MOST = 65535 };
  char *params = repeat("{'type':'fixtures.Overloads','method':'objects','args':[", element, MOST, "]}");
  const struct members_case one = {"call", params, wanted, NULL};
  members_check(&session, &one);
  free(params);
}

static void varargs_may_be_as_many_as_arguments(void **state)
{
  (void)state;
  static const struct members_case make = {"new", "{'type':'fixtures.User','args':['u',1]}",
                                           "fixtures.User ref", "user"};
  members_check(&session, &make);
  check_all_arguments("1", "java.lang.String 65535");
  check_all_arguments("null", "java.lang.String 65535");
  check_all_arguments("[1]", "java.lang.String 65535");
  check_all_arguments("{'ref':$user}", "java.lang.String 65535");
  check_all_arguments("{'type':'String','value':'x'}", "java.lang.String 65535");
}

static void an_array_may_have_as_many_elements_as_arguments(void **state)
{
  (void)state;
  enum { MOST = 65535 };
  static const char *const types[] = {"long[]", "Object[]", "java.lang.Integer[]"};
  for (size_t i = 0; i < COUNT_OF(types); i++) {
    char begin[64];
    snprintf(begin, sizeof begin, "{'type':'%s','args':[", i == 1 ? "java.lang.Object[]" : types[i]);
    char *params = repeat(begin, "1", MOST, "]}");
    uint32_t ref;
    struct text got = members_run(&session, "new", params, &ref);
    assert_true(text_ends_with(got, TEXT(" ref")));
    free(params);
  }
}

static void one_more_names_the_limit(void **state)
{
  (void)state;
  enum { TOO_MANY = 65536 };
  check_small("call", repeat("{'type':'fixtures.Overloads','method':'objects','args':[", "1", TOO_MANY, "]}"),
              "-32602 'args' has more elements than the limit of 65535");
}

static int run_all(struct jvm *jvm, struct jvm_thread *thread)
{
  (void)jvm;
  members_session_init(&session, thread);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(many_arguments_are_told_in_few_words),
      cmocka_unit_test(names_of_types_are_cut),
      cmocka_unit_test(long_names_are_cut),
      cmocka_unit_test(texts_are_cut_between_characters),
      cmocka_unit_test(a_deep_place_is_told_by_its_outermost_levels),
      cmocka_unit_test(varargs_may_be_as_many_as_arguments),
      cmocka_unit_test(an_array_may_have_as_many_elements_as_arguments),
      cmocka_unit_test(one_more_names_the_limit),
  };
  int failures = cmocka_run_group_tests(tests, NULL, NULL);
  members_session_fini(&session);
  return failures;
}

int main(void)
{
  return with_jvm(run_all);
}
