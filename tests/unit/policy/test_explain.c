#include "policy/explain.h"

#include "tests/unit/temporary_file.h"

/* wanted: the explanation, with at most two %s for the name of the file. */
static void check(const char *yaml, const struct policy_question *question, const char *wanted)
{
  temporary_file_set(temporary_path, yaml);
  const struct policy_config config = {.file = temporary_path};
  struct policy *policy;
  struct jp_error error = {0};
  assert_int_equal(policy_create(&config, &policy, &error), JP_OK);
  struct buffer out;
  buffer_init(&out);
  policy_explain(policy, question, &out);
  assert_false(out.failed);
  char expected[1024];
  const char *name = strrchr(temporary_path, '/') + 1;
  snprintf(expected, sizeof expected, wanted, name, name);
  unit_assert_text(buffer_text(&out), text_of(expected), __FILE__, __LINE__);
  buffer_fini(&out);
  policy_destroy(policy);
}

UNIT_TEST(the_deciding_rule_is_named)
{
  const struct policy_question question = {
      .channels = 1u << POLICY_WEBSOCKET, .class_name = TEXT("a.A"), .member_name = TEXT("get")};
  check("rules: [{class: a.*, members: [METHOD], visibility: [PUBLIC], action: ALLOW}]\n", &question,
        "a.A.get via WEBSOCKET_RPC\n"
        "  ALLOW         rule 1 (%s:1)\n"
        "                  for METHOD: PUBLIC\n"
        "  DENY          default action\n"
        "                  for METHOD: PROTECTED, PACKAGE_PRIVATE, PRIVATE; STATIC_METHOD, FIELD_GET, "
        "FIELD_SET, CALLBACK: PUBLIC, PROTECTED, PACKAGE_PRIVATE, PRIVATE\n");
}

UNIT_TEST(channels_that_differ_are_shown_separately)
{
  const struct policy_question question = {.channels =
                                               1u << POLICY_WEBSOCKET | 1u << POLICY_HTTP | 1u << POLICY_ZMQ,
                                           .class_name = TEXT("a.A"),
                                           .member_name = TEXT("<init>")};
  check("rules: [{class: a.*, channel: HTTP_RPC, action: LOG_AND_ALLOW}]\n", &question,
        "a.A.<init> via WEBSOCKET_RPC, ZMQ_SOCKET_RPC\n"
        "  DENY          default action\n"
        "                  for CONSTRUCTOR: PUBLIC, PROTECTED, PACKAGE_PRIVATE, PRIVATE\n"
        "a.A.<init> via HTTP_RPC\n"
        "  LOG_AND_ALLOW rule 1 (%s:1)\n"
        "                  for CONSTRUCTOR: PUBLIC, PROTECTED, PACKAGE_PRIVATE, PRIVATE\n");
}

UNIT_TEST(a_class_of_the_object_can_deny)
{
  const struct text classes[] = {TEXT("b.Good"), TEXT("c.Bad")};
  const struct policy_question question = {.channels = 1u << POLICY_ZMQ,
                                           .class_name = TEXT("a.A"),
                                           .member_name = TEXT("get"),
                                           .object_classes = classes,
                                           .object_class_count = 2};
  check("rules: [{class: c.*, action: DENY}, {class: a.*, action: ALLOW}]\n", &question,
        "a.A.get via ZMQ_SOCKET_RPC\n"
        "  DENY          rule 1 (%s:1), about the object's class c.Bad\n"
        "                  for METHOD, FIELD_GET, FIELD_SET: PUBLIC, PROTECTED, PACKAGE_PRIVATE, PRIVATE\n"
        "  ALLOW         rule 2 (%s:1)\n"
        "                  for STATIC_METHOD, CALLBACK: PUBLIC, PROTECTED, PACKAGE_PRIVATE, PRIVATE\n");
}

UNIT_MAIN_WITH(temporary_file_make, temporary_file_remove)
