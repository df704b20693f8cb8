/* Tests the verdicts of a judge, which verdicts it keeps, and when a supertype of the object matters.
 * tests/unit/rpc/test_run.c tests the log lines. */
#include "judge/judge.h"

#include "tests/unit/temporary_file.h"

static struct policy *policy;
static struct judge_names names;
static struct arena arena;
static struct outcome denied;
static uint64_t verdicts[JUDGE_WORDS];

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

static struct judge make_judge_of(enum op_channel channel)
{
  static const struct op_session_key session = {.serial = 1};
  return judge_make(policy, &names, channel, &session);
}

static struct judge make_judge(void)
{
  return make_judge_of(OP_CHANNEL_WEBSOCKET);
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
  const struct judged_member member = make_member(OP_MEMBER_METHOD, "a.A");
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
  const struct judged_member field = make_member(OP_MEMBER_FIELD, "a.A");
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
  struct judge other = make_judge_of(OP_CHANNEL_HTTP);
  const struct judged_member member = make_member(OP_MEMBER_METHOD, "a.A");
  assert_int_equal(ask(&judge, OP_CALL, &member), JP_OK);
  assert_false(judge_has_allowed(&other, OP_CALL, verdicts));
  assert_int_not_equal(judge_stamp(&judge), judge_stamp(&other));
}

UNIT_TEST_WITH(policies_that_are_in_force_together_keep_their_verdicts, set_up, tear_down)
{
  use_policy("version: 1\nrules:\n  - {class: a.A, action: ALLOW}\n");
  struct policy *first = policy_retain(policy);
  struct judge judge = make_judge();
  const struct judged_member member = make_member(OP_MEMBER_METHOD, "a.A");
  assert_int_equal(ask(&judge, OP_CALL, &member), JP_OK);
  use_policy("version: 1\nrules:\n  - {class: a.A, action: DENY}\n");
  struct judge other = make_judge();
  assert_false(judge_has_allowed(&other, OP_CALL, verdicts));
  assert_int_equal(ask(&other, OP_CALL, &member), JP_DENIED);
  assert_true(judge_has_allowed(&judge, OP_CALL, verdicts));
  assert_false(judge_has_allowed(&other, OP_CALL, verdicts));
  policy_destroy(first);
}

UNIT_TEST_WITH(logged_operations_are_judged_again, set_up, tear_down)
{
  bool allowed;
  use_policy("version: 1\nrules:\n  - {class: a.A, action: ALLOW}\n"
             "  - {class: a.Logged, action: LOG_AND_ALLOW}\n");
  struct judge judge = make_judge();
  const struct judged_member logged = make_member(OP_MEMBER_METHOD, "a.Logged");
  assert_int_equal(ask(&judge, OP_CALL, &logged), JP_OK);
  assert_false(judge_recall(&judge, OP_CALL, &logged, &allowed));
  assert_false(judge_has_allowed(&judge, OP_CALL, verdicts));
  memset(verdicts, 0, sizeof verdicts);
  judge.types_are_logged = true; /* the verdict on an argument of the same operation was logged */
  const struct judged_member member = make_member(OP_MEMBER_METHOD, "a.A");
  assert_int_equal(ask(&judge, OP_CALL, &member), JP_OK);
  assert_false(judge_recall(&judge, OP_CALL, &member, &allowed));
}

UNIT_TEST_WITH(filling_needs_a_rule_only_for_classes_that_are_no_values, set_up, tear_down)
{
  use_policy("version: 1\nrules:\n  - {class: a.A, action: ALLOW}\n");
  const struct judge judge = make_judge();
  struct judged_member add = make_member(OP_MEMBER_METHOD, "java.util.ArrayList");
  assert_int_equal(judge_filling(&judge, &add, &arena, &denied), JP_OK);
  memset(verdicts, 0, sizeof verdicts);
  add = make_member(OP_MEMBER_METHOD, "a.Bag");
  assert_int_equal(judge_filling(&judge, &add, &arena, &denied), JP_DENIED);
}

UNIT_TEST_WITH(a_supertype_is_asked_for_only_where_no_rule_names_a_class_of_the_object, set_up, tear_down)
{
  use_policy("version: 1\nrules:\n  - {class: a.Shut, action: DENY}\n  - {class: a.Open, action: ALLOW}\n");
  const struct judge judge = make_judge();
  struct judged_member member = make_member(OP_MEMBER_METHOD, "a.Unnamed");
  assert_false(judge_allows(&judge, OP_CALL, &member));
  assert_true(judge_may_ask_supertype(&judge, OP_CALL, &member));
  assert_false(judge_may_ask_supertype(&judge, OP_GET, &member));
  assert_true(judge_spares(&judge, &member));
  const struct judged_member shut = make_member(OP_MEMBER_METHOD, "a.Shut");
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
  /* The kept verdict is the verdict on the supertype that was judged instead. */
  const struct judged_member supertype = make_member(OP_MEMBER_METHOD, "a.Open");
  member.holder_count = 0;
  assert_int_equal(judge_conclude(&judge, OP_CALL, &member, judge_evaluate(&judge, OP_CALL, &supertype),
                                  supertype.named_class, &arena, &denied),
                   JP_OK);
  assert_true(judge_has_allowed(&judge, OP_CALL, verdicts));
}

/* ---- names ---- */

static enum jp_status ask_operation(struct judge *judge, const struct operation *operation, bool *by_object)
{
  *by_object = false;
  return judge_operation(judge, operation, by_object, &arena, &denied);
}

UNIT_TEST_WITH(a_call_whose_names_are_denied_may_be_judged_by_its_object, set_up, tear_down)
{
  bool by_object;
  use_policy("version: 1\nrules:\n  - {class: a.Shut, action: DENY}\n  - {class: a.Open, action: ALLOW}\n");
  struct judge judge = make_judge();
  struct operation call = {
      .kind = OP_CALL, .type = TEXT("a.Unnamed"), .member = TEXT("m"), .has_instance = true, .instance = 1};
  assert_int_equal(ask_operation(&judge, &call, &by_object), JP_OK);
  assert_true(by_object);
  assert_int_equal(judge_operation(&judge, &call, NULL, &arena, &denied), JP_DENIED);
  assert_text(denied.message, "RPC access denied: a.Unnamed.m via WEBSOCKET_RPC");
  assert_int_equal(ask_operation(&judge, &call, &by_object), JP_OK); /* the denial is not kept */
  assert_true(by_object);
  call.type = TEXT("a.Open");
  assert_int_equal(ask_operation(&judge, &call, &by_object), JP_OK);
  assert_false(by_object);
  call.type = TEXT("a.Shut"); /* a rule names the class itself */
  assert_int_equal(ask_operation(&judge, &call, &by_object), JP_DENIED);
  assert_false(by_object);
}

UNIT_TEST_WITH(only_a_call_of_an_object_without_a_loader_is_judged_by_its_object, set_up, tear_down)
{
  bool by_object;
  struct op_value receiver = {.kind = OP_TEXT, .text = TEXT("x")};
  const struct operation object = {
      .kind = OP_CALL, .type = TEXT("a.Unnamed"), .member = TEXT("m"), .has_instance = true, .instance = 1};
  struct operation value = {
      .kind = OP_CALL, .type = TEXT("a.Unnamed"), .member = TEXT("m"), .receiver = &receiver};
  struct operation others[3] = {object, object, object};
  others[0].has_instance = false; /* a static method */
  others[1].kind = OP_GET;
  others[2].loader = 2;
  use_policy("version: 1\nrules:\n  - {class: a.Open, action: ALLOW}\n");
  struct judge judge = make_judge();
  assert_int_equal(ask_operation(&judge, &object, &by_object), JP_OK);
  assert_true(by_object);
  assert_int_equal(ask_operation(&judge, &value, &by_object), JP_OK);
  assert_true(by_object);
  for (size_t i = 0; i < COUNT_OF(others); i++) {
    assert_int_equal(ask_operation(&judge, &others[i], &by_object), JP_DENIED);
    assert_false(by_object);
  }
}

UNIT_TEST_WITH(names_are_kept_for_one_policy_and_one_channel, set_up, tear_down)
{
  bool by_object;
  const struct operation call = {.kind = OP_CALL, .type = TEXT("a.A"), .member = TEXT("m")};
  use_policy("version: 1\nrules:\n  - {class: a.A, channel: [WEBSOCKET_RPC], action: ALLOW}\n");
  struct judge judge = make_judge();
  struct judge other = make_judge_of(OP_CHANNEL_HTTP);
  for (int i = 0; i < 2; i++) {
    assert_int_equal(ask_operation(&judge, &call, &by_object), JP_OK);
    assert_int_equal(ask_operation(&other, &call, &by_object), JP_DENIED);
  }
  judge_note_overloads(&judge, TEXT("a.A"), TEXT("m"));
  assert_true(judge_knows_overloads(&judge, TEXT("a.A"), TEXT("m")));
  assert_false(judge_knows_overloads(&judge, TEXT("a.A"), TEXT("n")));
  assert_false(judge_knows_overloads(&judge, TEXT("a.Am"), TEXT("")));
  assert_false(judge_knows_overloads(&other, TEXT("a.A"), TEXT("m")));
  use_policy("version: 1\nrules:\n  - {class: a.B, action: ALLOW}\n");
  judge = make_judge();
  assert_int_equal(ask_operation(&judge, &call, &by_object), JP_DENIED);
  assert_false(judge_knows_overloads(&judge, TEXT("a.A"), TEXT("m")));
}

/* ---- names in arguments ---- */

UNIT_TEST_WITH(names_in_an_answer_are_judged, set_up, tear_down)
{
  struct op_value inner = {.kind = OP_NULL, .type = TEXT("a.secret.Key")};
  const struct op_value list = {.kind = OP_LIST, .type = TEXT_ABSENT, .list = {&inner, 1}};
  const struct op_value plain = {.kind = OP_NULL, .type = TEXT("java.lang.String")};
  use_policy("version: 1\nrules:\n  - {class: a.Calc, action: ALLOW}\n");
  struct judge judge = make_judge();
  assert_int_equal(judge_value(&judge, &plain, &arena, &denied), JP_OK);
  assert_true(judge.types_are_allowed);
  assert_int_equal(judge_value(&judge, &list, &arena, &denied), JP_DENIED);
  assert_false(judge.types_are_allowed);
  assert_text(denied.message, "RPC access denied: a.secret.Key.class via WEBSOCKET_RPC");
}

UNIT_TEST_WITH(a_type_is_asked_about_unless_all_types_of_the_operation_are_allowed, set_up, tear_down)
{
  bool by_object;
  struct op_value argument = {.kind = OP_NULL, .type = TEXT("a.Secret")};
  struct operation call = {
      .kind = OP_CALL, .type = TEXT("a.A"), .member = TEXT("m"), .args = &argument, .arg_count = 1};
  use_policy("version: 1\nrules:\n  - {class: a.A, action: ALLOW}\n");
  struct judge judge = make_judge();
  assert_int_equal(judge_type(&judge, TEXT("a.Secret"), &arena, &denied), JP_DENIED);
  assert_int_equal(judge_type(&judge, TEXT("a.A"), &arena, &denied), JP_OK);
  assert_int_equal(ask_operation(&judge, &call, &by_object), JP_DENIED);
  assert_int_equal(judge_type(&judge, TEXT("a.Secret"), &arena, &denied), JP_DENIED);
  argument.type = TEXT("a.A");
  assert_int_equal(ask_operation(&judge, &call, &by_object), JP_OK);
  assert_true(judge.types_are_allowed);
  assert_int_equal(judge_type(&judge, TEXT("a.Secret"), &arena, &denied), JP_OK);
}

UNIT_TEST_WITH(a_member_that_an_argument_implies_is_judged_by_its_kind, set_up, tear_down)
{
  use_policy(
      "version: 1\nrules:\n  - {class: a.Color, method: values, members: STATIC_METHOD, action: DENY}\n"
      "  - {class: a.Color, action: ALLOW}\n");
  const struct judge judge = make_judge();
  assert_int_equal(
      judge_implied(&judge, OP_MEMBER_STATIC_METHOD, TEXT("a.Color"), TEXT("values"), &arena, &denied),
      JP_DENIED);
  assert_text(denied.message, "RPC access denied: a.Color.values via WEBSOCKET_RPC");
  assert_int_equal(
      judge_implied(&judge, OP_MEMBER_STATIC_FIELD, TEXT("a.Color"), TEXT("values"), &arena, &denied), JP_OK);
  assert_int_equal(
      judge_implied(&judge, OP_MEMBER_CONSTRUCTOR, TEXT("a.Other"), TEXT("<init>"), &arena, &denied),
      JP_DENIED);
}

/* ---- results ---- */

UNIT_TEST_WITH(a_member_by_which_a_value_is_read_needs_no_rule_but_obeys_one, set_up, tear_down)
{
  use_policy("version: 1\nrules:\n  - {class: a.Shut, action: DENY}\n");
  const struct judge judge = make_judge();
  struct judged_member member = make_member(OP_MEMBER_METHOD, "a.Unnamed");
  assert_false(judge_allows(&judge, OP_CALL, &member));
  member.is_value = true;
  assert_true(judge_allows(&judge, OP_CALL, &member));
  member.runtime_class = TEXT("a.Shut");
  assert_false(judge_allows(&judge, OP_CALL, &member));
  member = make_member(OP_MEMBER_METHOD, "a.Shut");
  member.is_value = true;
  assert_false(judge_allows(&judge, OP_CALL, &member));
}

/* ---- callbacks ---- */

static enum jp_status ask_method(const struct judge *judge, const char *named, const char *declaring,
                                 const char *member)
{
  const struct judged_member method = {.kind = OP_MEMBER_METHOD,
                                       .modifiers = OP_ACC_PUBLIC,
                                       .named_class = text_of(named),
                                       .declaring_class = text_of(declaring),
                                       .member = text_of(member)};
  return judge_callback(judge, &method, &arena, &denied);
}

static enum jp_status ask_interface(const struct judge *judge, const char *name)
{
  return judge_interface(judge, text_of(name), &arena, &denied);
}

UNIT_TEST_WITH(callbacks_are_judged_by_interface_and_method, set_up, tear_down)
{
  use_policy("version: 1\nrules:\n  - {class: a.Shut, members: CALLBACK, action: DENY}\n"
             "  - {class: a.Listener, members: CALLBACK, method: on*, action: ALLOW}\n"
             "  - {class: a.Heir, members: CALLBACK, action: ALLOW}\n"
             "  - {class: a.Called, members: METHOD, action: ALLOW}\n");
  const struct judge judge = make_judge();
  assert_int_equal(ask_interface(&judge, "a.Listener"), JP_OK);
  assert_int_equal(ask_interface(&judge, "a.Called"), JP_DENIED);
  assert_text(denied.message, "RPC access denied: a.Called via WEBSOCKET_RPC");
  assert_int_equal(ask_interface(&judge, "a.Shut"), JP_DENIED);
  assert_int_equal(ask_method(&judge, "a.Listener", "a.Listener", "onEvent"), JP_OK);
  assert_int_equal(ask_method(&judge, "a.Listener", "a.Listener", "closed"), JP_DENIED);
  assert_text(denied.message, "RPC access denied: a.Listener.closed via WEBSOCKET_RPC");
  assert_int_equal(denied.failure, FAILURE_DENIED);
  /* The interface that declares a method can deny, and needs no rule that allows it. */
  assert_int_equal(ask_method(&judge, "a.Heir", "a.Unruled", "m"), JP_OK);
  assert_int_equal(ask_method(&judge, "a.Heir", "a.Shut", "m"), JP_DENIED);
}

UNIT_MAIN
