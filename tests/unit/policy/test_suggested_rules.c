#include "policy/suggested_rules.h"

#include "tests/unit/unit.h"

static void add(struct policy_suggestion *suggestion, enum policy_channel channel,
                enum policy_category category, const char *class_name, const char *member)
{
  struct jp_error error;
  const struct policy_query used = {.channel = channel,
                                    .category = category,
                                    .class_name = text_of(class_name),
                                    .member_name = text_of(member)};
  assert_int_equal(policy_suggestion_add(suggestion, &used, &error), JP_OK);
}

/* Two members of a name share a rule only if both were used on the same channels. */
UNIT_TEST(a_rule_allows_no_combination_that_was_not_used)
{
  struct policy_suggestion *suggestion;
  struct jp_error error;
  struct buffer out;
  buffer_init(&out);
  assert_int_equal(policy_suggestion_create(&suggestion, &error), JP_OK);
  add(suggestion, POLICY_HTTP, POLICY_METHOD, "b.B", "get");
  add(suggestion, POLICY_WEBSOCKET, POLICY_FIELD_GET, "a.A", "x");
  add(suggestion, POLICY_WEBSOCKET, POLICY_FIELD_SET, "a.A", "x");
  add(suggestion, POLICY_WEBSOCKET, POLICY_METHOD, "b.B", "get");
  add(suggestion, POLICY_HTTP, POLICY_METHOD, "b.B", "get");
  add(suggestion, POLICY_HTTP, POLICY_STATIC_METHOD, "b.B", "get");
  add(suggestion, POLICY_HTTP, POLICY_METHOD, "jdk.proxy2.$Proxy12", "run");
  add(suggestion, POLICY_HTTP, POLICY_METHOD, "jdk.proxy2.$Proxy7", "run");
  assert_int_equal(policy_suggestion_write(suggestion, &out), 4);
  unit_assert_text(buffer_text(&out),
                   TEXT("version: 1\n"
                        "defaultAction: DENY\n"
                        "rules:\n"
                        "  - class: \"a.A\"\n"
                        "    method: \"x\"\n"
                        "    action: ALLOW\n"
                        "    channel: [WEBSOCKET_RPC]\n"
                        "    members: [FIELD_GET, FIELD_SET]\n"
                        "    visibility: [PUBLIC]\n"
                        "  - class: \"b.B\"\n"
                        "    method: \"get\"\n"
                        "    action: ALLOW\n"
                        "    channel: [WEBSOCKET_RPC, HTTP_RPC]\n"
                        "    members: [METHOD]\n"
                        "    visibility: [PUBLIC]\n"
                        "  - class: \"b.B\"\n"
                        "    method: \"get\"\n"
                        "    action: ALLOW\n"
                        "    channel: [HTTP_RPC]\n"
                        "    members: [STATIC_METHOD]\n"
                        "    visibility: [PUBLIC]\n"
                        "  # The JVM makes this class, with another name in each run.\n"
                        "  - class: \"jdk.proxy2.$Proxy*\"\n"
                        "    method: \"run\"\n"
                        "    action: ALLOW\n"
                        "    channel: [HTTP_RPC]\n"
                        "    members: [METHOD]\n"
                        "    visibility: [PUBLIC]\n"),
                   __FILE__, __LINE__);
  policy_suggestion_destroy(suggestion);
  buffer_fini(&out);
}

UNIT_TEST(written_names_are_not_taken_for_generated_ones)
{
  struct policy_suggestion *suggestion;
  struct jp_error error;
  struct buffer out;
  buffer_init(&out);
  assert_int_equal(policy_suggestion_create(&suggestion, &error), JP_OK);
  add(suggestion, POLICY_HTTP, POLICY_METHOD, "a.B$$LambdaX", "a");
  add(suggestion, POLICY_HTTP, POLICY_METHOD, "a.B$$Lambda/0x7f", "b");
  add(suggestion, POLICY_HTTP, POLICY_METHOD, "a.My$Proxy1", "c");
  add(suggestion, POLICY_HTTP, POLICY_METHOD, "a.Hidden/0x7f", "d");
  add(suggestion, POLICY_HTTP, POLICY_METHOD, "a.Odd", "e*");
  assert_int_equal(policy_suggestion_write(suggestion, &out), 4);
  buffer_append_char(&out, '\0');
  assert_non_null(strstr(out.data, "class: \"a.B$$LambdaX\"\n"));
  assert_non_null(strstr(out.data, "class: \"a.B$$Lambda*\"\n"));
  assert_non_null(strstr(out.data, "class: \"a.My$Proxy1\"\n"));
  assert_non_null(strstr(out.data, "class: \"a.Hidden?0x*\"\n"));
  assert_non_null(
      strstr(out.data, "# Used, but no rule can name it alone: class \"a.Odd\", method \"e*\"\n"));
  policy_suggestion_destroy(suggestion);
  buffer_fini(&out);
}

UNIT_TEST(names_are_quoted_and_what_cannot_be_seen_is_escaped)
{
  struct policy_suggestion *suggestion;
  struct jp_error error;
  struct buffer out;
  buffer_init(&out);
  assert_int_equal(policy_suggestion_create(&suggestion, &error), JP_OK);
  add(suggestion, POLICY_HTTP, POLICY_METHOD, "a\"\\\n\x7f",
      "\xc3\xa9\xe2\x80\xae\xe2\x80\xa8\xf3\xa0\x81\x81\x31");
  add(suggestion, POLICY_HTTP, POLICY_METHOD, "b*", "m");
  add(suggestion, POLICY_HTTP, POLICY_METHOD, "c", "");
  assert_int_equal(policy_suggestion_write(suggestion, &out), 1);
  assert_text(buffer_text(&out), "version: 1\n"
                                 "defaultAction: DENY\n"
                                 "rules:\n"
                                 "  - class: \"a\\\"\\\\\\x0a\\x7f\"\n"
                                 "    method: \"\xc3\xa9\\u202e\\u2028\\U000e00411\"\n"
                                 "    action: ALLOW\n"
                                 "    channel: [HTTP_RPC]\n"
                                 "    members: [METHOD]\n"
                                 "    visibility: [PUBLIC]\n"
                                 "# Used, but no rule can name it alone: class \"b*\", method \"m\"\n"
                                 "# Used, but no rule can name it alone: class \"c\", method \"\"\n");
  buffer_fini(&out);
  policy_suggestion_destroy(suggestion);
}

UNIT_MAIN
