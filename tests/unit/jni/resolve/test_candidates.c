/* Which methods of a name are candidates, and in which order they are tried. */
#include "tests/unit/jni/members_cases.h"
#include "tests/unit/jni/with_jvm.h"

#define DISPATCH "fixtures.dispatch.Dispatch$"

static struct members_session session;

static unsigned asked;

/* Allows public members alone where it is told to. */
static bool allows(void *context, enum op_kind operation, const struct jvm_target *member)
{
  const bool *public_alone = context;
  (void)operation;
  asked++;
  return !*public_alone || (member->modifiers & JVM_ACC_PUBLIC) != 0;
}

#define PICK(args, wanted)                                                                                   \
  {                                                                                                          \
    "call", "{'type':'" DISPATCH "Overloaded','method':'pick','instance':$o,'args':" args "}", wanted, NULL  \
  }

static enum jp_status let_pass(void *context, enum jvm_member_kind kind, struct text class_name,
                               struct text member, struct arena *arena, struct outcome *denied)
{
  (void)context;
  (void)kind;
  (void)class_name;
  (void)member;
  (void)arena;
  (void)denied;
  return JP_OK;
}

static void denied_overloads_are_no_candidates(void **state)
{
  (void)state;
  static bool public_alone = true;
  static const struct members_case made[] = {
      {"new", "{'type':'" DISPATCH "Overloaded'}", DISPATCH "Overloaded ref", "o"},
      {"new", "{'type':'java.math.BigDecimal','args':['1']}", "java.math.BigDecimal 1 ref", "d"},
  };
  static const struct members_case with[] = {
      PICK("[{'type':'int','value':5}]", "java.lang.String package int"),
      PICK("[[1,2]]", "java.lang.String private long[]"),
      PICK("['x']", "java.lang.String public String"),
      PICK("[1,2,3]", "-32601 java.lang.NoSuchMethodException: No matching method 'pick' found: " DISPATCH
                      "Overloaded.pick(int, int, int); candidates: " DISPATCH "Overloaded.pick(int); "),
  };
  static const struct members_case without[] = {
      PICK("['x']", "java.lang.String public String"),
      PICK("[5]", "java.lang.String public String"),
      PICK("[1,2,3]",
           "-32601 java.lang.NoSuchMethodException: No matching method 'pick' found: " DISPATCH
           "Overloaded.pick(int, int, int); candidates: " DISPATCH "Overloaded.pick(java.lang.String)"),
      /* Found, so that whoever judges what was found denies it like any other. */
      PICK("[{'type':'int','value':5}]", "java.lang.String package int"),
  };
  MEMBERS_CHECK(&session, made);
  MEMBERS_CHECK(&session, with);
  session.guard =
      (struct jvm_guard){.context = &public_alone, .stamp = 1, .check = let_pass, .allows = allows};
  MEMBERS_CHECK(&session, without);
  /* What was kept under one policy is not found under another. */
  public_alone = false;
  session.guard.stamp = 2;
  MEMBERS_CHECK(&session, with);
  /* One that was found is kept: nothing is asked about its overloads. */
  asked = 0;
  members_check(&session, &with[0]);
  assert_int_equal(asked, 0);
  session.guard = (struct jvm_guard){0};
}

static void public_overloads_go_first(void **state)
{
  (void)state;
  static const struct members_case cases[] = {
      PICK("[5]", "java.lang.String public String"),
      {"call", "{'type':'java.math.BigDecimal','method':'add','instance':$d,'args':[18,'2.20']}",
       "-32601 java.lang.NoSuchMethodException: No matching method 'add' found", NULL},
      {"call", "{'type':'" DISPATCH "Overloaded','method':'add','args':[1,2]}",
       "java.lang.String private long, long12", NULL},
      {"call", "{'type':'" DISPATCH "Overloaded','method':'add','args':[18,'2.20']}",
       "-32601 java.lang.NoSuchMethodException: No matching method 'add' found", NULL},
  };
  MEMBERS_CHECK(&session, cases);
}

static int run_all(struct jvm *jvm, struct jvm_thread *thread)
{
  (void)jvm;
  members_session_init(&session, thread);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(denied_overloads_are_no_candidates),
      cmocka_unit_test(public_overloads_go_first),
  };
  int failures = cmocka_run_group_tests(tests, NULL, NULL);
  members_session_fini(&session);
  return failures;
}

int main(void)
{
  return with_jvm(run_all);
}
