#include "tests/unit/jni/members_cases.h"
#include "tests/unit/jni/with_jvm.h"

#include <stdio.h>
#include <stdlib.h>

static struct members_session session;

#define TEXTS(method, args, wanted)                                                                          \
  {                                                                                                          \
    "call", "{'type':'jpeer.members.Texts','method':'" method "','args':" args "}", wanted, NULL             \
  }

/* A text that stays valid while the next operation runs. */
static void run_texts(const char *method, const char *args, char out[512])
{
  char params[1024];
  uint32_t ref;
  (void)snprintf(params, sizeof params, "{'type':'jpeer.members.Texts','method':'%s','args':[%s]}", method,
                 args);
  struct text got = members_run(&session, "call", params, &ref);
  (void)snprintf(out, 512, "%.*s", TEXT_ARGS(got));
}

static void an_argument_takes_the_text_of_a_result(void **state)
{
  (void)state;
  char count[512];
  session.by_value = true;
  run_texts("count", "", count);
  int samples = atoi(count);
  assert_true(samples > 50);
  for (int i = 0; i < samples; i++) {
    char index[16];
    char type[512];
    char text[512];
    char args[1100];
    char same[512];
    (void)snprintf(index, sizeof index, "%d", i);
    run_texts("type", index, type);
    run_texts("sample", index, text);
    (void)snprintf(args, sizeof args, "%d,{'type':%s,'value':%s}", i, type, text);
    run_texts("isSample", args, same);
    if (strcmp(same, "true") != 0)
      fail_msg("sample %d of %s: %s gave %s", i, type, text, same);
    assert_int_equal(text[0], '"');
  }
  session.by_value = false;
}

static void a_text_stands_beside_the_ref(void **state)
{
  (void)state;
  static const struct members_case cases[] = {
      TEXTS("loudest", "[]", "jpeer.members.Texts$Mood$1 LOUD ref"),
      TEXTS("optional", "['x']", "java.util.Optional x ref"),
      TEXTS("optional", "[5]", "java.util.Optional 5 ref"),
      TEXTS("optional", "[null]", "java.util.Optional ref"),
      TEXTS("optionalOf", "['mood']", "java.util.Optional LOUD ref"),
      TEXTS("optionalOf", "['object']", "java.util.Optional ref"),
      TEXTS("optionalOf", "['optional']", "java.util.Optional ref"),
      TEXTS("optionalOf", "['class']", "java.util.Optional ref"),
      TEXTS("optionalOf", "['list']", "java.util.Optional ref"),
      TEXTS("decimal", "['1e3']", "java.math.BigDecimal 1E+3 ref"),
      {"call", "{'type':'java.lang.Class','method':'forName','args':['[I']}", "java.lang.Class [I ref", NULL},
      {"get", "{'type':'java.lang.Integer','field':'TYPE'}", "java.lang.Class int ref", NULL},
      {"new", "{'type':'java.math.BigInteger','args':['12']}", "java.math.BigInteger 12 ref", NULL},
  };
  MEMBERS_CHECK(&session, cases);
}

static void with_compat_pal_no_text_shows(void **state)
{
  (void)state;
  static const struct members_case cases[] = {
      TEXTS("loudest", "[]", "jpeer.members.Texts$Mood$1 ref"),
      TEXTS("optional", "['x']", "java.util.Optional ref"),
      {"get", "{'type':'java.lang.Integer','field':'TYPE'}", "java.lang.Class ref", NULL},
  };
  session.compat_pal = true;
  MEMBERS_CHECK(&session, cases);
  session.compat_pal = false;
}

static void texts_travel_by_value(void **state)
{
  (void)state;
  static const struct members_case cases[] = {
      TEXTS("loudest", "[]", "\"LOUD\""),
      TEXTS("mixed", "[]", "{\"moods\":[\"CALM\",2,null,\"0005\"]}"),
      TEXTS("optional", "[5]", "5"),
      TEXTS("optional", "['x']", "\"x\""),
      TEXTS("optional", "[null]", "null"),
      TEXTS("optionalOf", "['mood']", "\"LOUD\""),
      TEXTS("decimal", "['0.10']", "\"0.10\""),
  };
  session.by_value = true;
  MEMBERS_CHECK(&session, cases);
  session.by_value = false;
}

static void classes_keep_their_ref_by_value(void **state)
{
  (void)state;
  static const struct members_case cases[] = {
      {"get", "{'type':'java.lang.Integer','field':'TYPE'}", "{\"ref\":N,\"value\":\"int\"}", NULL},
      {"call", "{'type':'java.util.List','method':'of','args':[{'type':'Class','value':'int[]'}]}",
       "[{\"ref\":N,\"value\":\"[I\"}]", NULL},
      TEXTS("optionalOf", "['class']", "{\"ref\":N}"),
      TEXTS("optionalOf", "['object']", "{\"ref\":N}"),
      TEXTS("optionalOf", "['list']", "{\"ref\":N}"),
      TEXTS("ownInteger", "[]", "{\"ref\":N}"),
  };
  session.by_value = true;
  MEMBERS_CHECK(&session, cases);
  session.by_value = false;
}

static void numbers_have_a_text_within_the_digits(void **state)
{
  (void)state;
  static const struct members_case cases[] = {
      TEXTS("integer", "[20]", "java.math.BigInteger 10000000000000000000 ref"),
      TEXTS("integer", "[21]", "java.math.BigInteger ref"),
      TEXTS("integer", "[100000]", "java.math.BigInteger ref"),
      TEXTS("decimal", "['1e19']", "java.math.BigDecimal 1E+19 ref"),
      TEXTS("decimal", "[{'type':'String','value':'1e20'}]", "java.math.BigDecimal ref"),
      TEXTS("decimal", "[{'type':'String','value':'1e-2000000000'}]", "java.math.BigDecimal ref"),
  };
  session.limits.number_digits_max = 20;
  MEMBERS_CHECK(&session, cases);
  session.limits.number_digits_max = 10000;
}

static void numbers_of_the_application_are_not_asked(void **state)
{
  (void)state;
  static const struct members_case cases[] = {
      TEXTS("ownInteger", "[]", "jpeer.members.Texts$OwnInteger ref"),
      TEXTS("runs", "[]", "int 0"),
  };
  static const struct members_case hidden[] = {
      {"new", "{'type':'jpeer.members.Texts$OwnInteger'}", "jpeer.members.Texts$OwnInteger ref", "own"},
      {"new", "{'type':'java.math.BigDecimal','args':['7']}", "java.math.BigDecimal 7 ref", "decimal"},
      {"put", "{'type':'java.math.BigDecimal','field':'intVal','instance':$decimal,'value':{'ref':$own}}",
       "void", NULL},
      {"put",
       "{'type':'java.math.BigDecimal','field':'intCompact','instance':$decimal,'value':-"
       "9223372036854775808}",
       "void", NULL},
      {"put", "{'type':'java.math.BigDecimal','field':'stringCache','instance':$decimal,'value':null}",
       "void", NULL},
      {"call", "{'type':'java.util.Objects','method':'requireNonNull','args':[{'ref':$decimal}]}",
       "java.math.BigDecimal ref", NULL},
      TEXTS("runs", "[]", "int 0"),
  };
  MEMBERS_CHECK(&session, cases);
  MEMBERS_CHECK(&session, hidden);
}

static bool allows_nothing_of_ours(void *context, enum op_kind operation, const struct jvm_target *member)
{
  (void)context;
  return operation != OP_GET || !text_equal(member->member, TEXT("class")) ||
         !text_starts_with(member->named_class, TEXT("jpeer."));
}

static enum jp_status check_nothing(void *context, enum jvm_member_kind kind, struct text class_name,
                                    struct text member, struct arena *arena, struct outcome *denied)
{
  (void)context, (void)kind, (void)class_name, (void)member, (void)arena, (void)denied;
  return JP_OK;
}

static void a_class_that_the_caller_may_not_name_has_no_text(void **state)
{
  (void)state;
  static const struct members_case cases[] = {
      {"call", "{'type':'java.lang.Class','method':'forName','args':['[Ljpeer.members.Texts;']}",
       "java.lang.Class ref", NULL},
      {"call", "{'type':'java.lang.Class','method':'forName','args':['[Ljava.lang.String;']}",
       "java.lang.Class [Ljava.lang.String; ref", NULL},
  };
  session.guard = (struct jvm_guard){.stamp = 1, .check = check_nothing, .allows = allows_nothing_of_ours};
  MEMBERS_CHECK(&session, cases);
  session.guard = (struct jvm_guard){.check = NULL};
}

static int run_all(struct jvm *jvm, struct jvm_thread *thread)
{
  (void)jvm;
  members_session_init(&session, thread);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(an_argument_takes_the_text_of_a_result),
      cmocka_unit_test(a_text_stands_beside_the_ref),
      cmocka_unit_test(with_compat_pal_no_text_shows),
      cmocka_unit_test(texts_travel_by_value),
      cmocka_unit_test(classes_keep_their_ref_by_value),
      cmocka_unit_test(numbers_have_a_text_within_the_digits),
      cmocka_unit_test(numbers_of_the_application_are_not_asked),
      cmocka_unit_test(a_class_that_the_caller_may_not_name_has_no_text),
  };
  int failures = cmocka_run_group_tests(tests, NULL, NULL);
  members_session_fini(&session);
  return failures;
}

int main(void)
{
  return with_jvm(run_all);
}
