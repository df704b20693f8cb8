/* What a judge keeps of its verdicts, and when a supertype of the object is asked for. test_run has the lines of the log. */
#include "judge/judge.h"

#include "tests/unit/temporary_file.h"

static struct policy *policy;
static struct judge_names names;
static struct arena arena;
static struct outcome denied;
static uint64_t verdicts[OP_CHANNELS];

static void use_policy(const char *yaml)
{
  char path[] = TEMPORARY_FILE;
  temporary_file_write(path, yaml, strlen(yaml));
  const struct policy_config config = {.file = path};
  struct jp_error error;
  policy_destroy(policy);
  policy = NULL;
  enum jp_status status = policy_create(&config, &policy, &error);
  unlink(path);
  if (status != JP_OK)
    fail_msg("%s", error.text);
}

static int set_up(void **state)
{
  (void)state;
  memset(verdicts, 0, sizeof verdicts);
  arena_init(&arena);
  return 0;
}

static int tear_down(void **state)
{
  (void)state;
  policy_destroy(policy);
  policy = NULL;
  arena_fini(&arena);
  return 0;
}

static struct judge make_judge(void)
{
  return (struct judge){
      .policy = policy, .names = &names, .channel = OP_CHANNEL_WEBSOCKET, .policy_channel = POLICY_WEBSOCKET};
}

static struct judged_member make_member(enum op_member_kind kind, const char *class_name)
{
  return (struct judged_member){.kind = kind,
                                .modifiers = OP_ACC_PUBLIC,
                                .named_class = text_of(class_name),
                                .declaring_class = text_of(class_name),
                                .member = TEXT("m"),
                                .verdicts = verdicts};
}

static enum jp_status ask(const struct judge *judge, enum op_kind operation,
                          const struct judged_member *member)
{
  return judge_member(judge, operation, member, &arena, &denied);
}

UNIT_TEST_WITH(a_verdict_is_kept_until_another_policy, set_up, tear_down)
{
  bool allowed = false;
  use_policy("version: 1\nrules:\n  - {class: a.A, action: ALLOW}\n");
  struct judge judge = make_judge();
  const struct judged_member member = make_member(OP_METHOD, "a.A");
  assert_false(judge_recall(&judge, OP_CALL, &member, &allowed));
  assert_false(judge_has_allowed(&judge, OP_CALL, verdicts));
  assert_int_equal(ask(&judge, OP_CALL, &member), JP_OK);
  assert_true(judge_recall(&judge, OP_CALL, &member, &allowed));
  assert_true(allowed);
  assert_true(judge_has_allowed(&judge, OP_CALL, verdicts));
  uint64_t stamp = judge_stamp(&judge);
  use_policy("version: 1\nrules:\n  - {class: a.B, action: ALLOW}\n");
  judge = make_judge();
  assert_int_not_equal(judge_stamp(&judge), stamp);
  assert_false(judge_recall(&judge, OP_CALL, &member, &allowed));
  assert_false(judge_has_allowed(&judge, OP_CALL, verdicts));
  assert_int_equal(ask(&judge, OP_CALL, &member), JP_DENIED);
  assert_true(judge_recall(&judge, OP_CALL, &member, &allowed));
  assert_false(allowed);
  assert_false(judge_has_allowed(&judge, OP_CALL, verdicts));
}

UNIT_TEST_WITH(reading_and_writing_a_field_have_verdicts_of_their_own, set_up, tear_down)
{
  use_policy("version: 1\nrules:\n  - {class: a.A, members: FIELD_GET, action: ALLOW}\n");
  struct judge judge = make_judge();
  const struct judged_member field = make_member(OP_FIELD, "a.A");
  assert_int_equal(ask(&judge, OP_GET, &field), JP_OK);
  assert_false(judge_has_allowed(&judge, OP_PUT, verdicts));
  assert_int_equal(ask(&judge, OP_PUT, &field), JP_DENIED);
  assert_false(judge_has_allowed(&judge, OP_PUT, verdicts));
  assert_true(judge_has_allowed(&judge, OP_GET, verdicts));
}

UNIT_TEST_WITH(a_channel_has_verdicts_of_its_own, set_up, tear_down)
{
  use_policy("version: 1\nrules:\n  - {class: a.A, action: ALLOW}\n");
  struct judge judge = make_judge();
  struct judge other = make_judge();
  other.channel = OP_CHANNEL_HTTP;
  other.policy_channel = POLICY_HTTP;
  const struct judged_member member = make_member(OP_METHOD, "a.A");
  assert_int_equal(ask(&judge, OP_CALL, &member), JP_OK);
  assert_false(judge_has_allowed(&other, OP_CALL, verdicts));
  assert_int_not_equal(judge_stamp(&judge), judge_stamp(&other));
}

UNIT_TEST_WITH(what_is_logged_is_asked_again, set_up, tear_down)
{
  bool allowed;
  use_policy("version: 1\nrules:\n  - {class: a.A, action: ALLOW}\n"
             "  - {class: a.Logged, action: LOG_AND_ALLOW}\n");
  struct judge judge = make_judge();
  const struct op_session_key session = {.serial = 1};
  judge.session = &session;
  const struct judged_member logged = make_member(OP_METHOD, "a.Logged");
  assert_int_equal(ask(&judge, OP_CALL, &logged), JP_OK);
  assert_false(judge_recall(&judge, OP_CALL, &logged, &allowed));
  assert_false(judge_has_allowed(&judge, OP_CALL, verdicts));
  memset(verdicts, 0, sizeof verdicts);
  judge.types_are_logged = true; /* for an argument of the same operation */
  const struct judged_member member = make_member(OP_METHOD, "a.A");
  assert_int_equal(ask(&judge, OP_CALL, &member), JP_OK);
  assert_false(judge_recall(&judge, OP_CALL, &member, &allowed));
}

UNIT_TEST_WITH(filling_needs_a_rule_only_for_classes_that_are_no_values, set_up, tear_down)
{
  use_policy("version: 1\nrules:\n  - {class: a.A, action: ALLOW}\n");
  const struct judge judge = make_judge();
  struct judged_member add = make_member(OP_METHOD, "java.util.ArrayList");
  assert_int_equal(judge_filling(&judge, &add, &arena, &denied), JP_OK);
  memset(verdicts, 0, sizeof verdicts);
  add = make_member(OP_METHOD, "a.Bag");
  assert_int_equal(judge_filling(&judge, &add, &arena, &denied), JP_DENIED);
}

UNIT_TEST_WITH(a_supertype_is_asked_for_only_where_no_rule_names_a_class_of_the_object, set_up, tear_down)
{
  use_policy("version: 1\nrules:\n  - {class: a.Shut, action: DENY}\n  - {class: a.Open, action: ALLOW}\n");
  const struct judge judge = make_judge();
  struct judged_member member = make_member(OP_METHOD, "a.Unnamed");
  assert_false(judge_allows(&judge, OP_CALL, &member));
  assert_true(judge_may_ask_supertype(&judge, OP_CALL, &member));
  assert_false(judge_may_ask_supertype(&judge, OP_GET, &member));
  assert_true(judge_spares(&judge, &member));
  const struct judged_member shut = make_member(OP_METHOD, "a.Shut");
  assert_false(judge_spares(&judge, &shut));
  member.runtime_class = TEXT("a.Shut");
  assert_false(judge_may_ask_supertype(&judge, OP_CALL, &member));
  member.runtime_class = TEXT_ABSENT;
  member.declaring_class = TEXT("a.Shut");
  assert_false(judge_may_ask_supertype(&judge, OP_CALL, &member));
  member.declaring_class = member.named_class;
  const struct judged_holder holder = {TEXT("a.Shut"), OP_ACC_PUBLIC};
  member.holders = &holder;
  member.holder_count = 1;
  assert_false(judge_may_ask_supertype(&judge, OP_CALL, &member));
  /* A supertype that was judged in its place is what is kept. */
  const struct judged_member supertype = make_member(OP_METHOD, "a.Open");
  member.holder_count = 0;
  assert_int_equal(judge_conclude(&judge, OP_CALL, &member, judge_evaluate(&judge, OP_CALL, &supertype),
                                  supertype.named_class, &arena, &denied),
                   JP_OK);
  assert_true(judge_has_allowed(&judge, OP_CALL, verdicts));
}

UNIT_MAIN
