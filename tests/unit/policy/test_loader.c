#include "policy/loader.h"

#include "base/buffer.h"
#include "policy/presets.h"
#include "policy/tree.h"
#include "policy/vocabulary.h"
#include "tests/unit/cases.h"

/* Owns the last loaded document. */
static struct arena arena;

static enum jp_status load(struct text yaml, struct policy_document *document, struct jp_error *error)
{
  arena_reset(&arena);
  return policy_load_text(yaml, "p.yaml", &arena, document, error);
}

/* name: of the document, for the failure. */
static struct policy_document load_good(struct text yaml, const char *name)
{
  struct policy_document document;
  struct jp_error error = {0};
  if (load(yaml, &document, &error) != JP_OK)
    fail_msg("%s: %s", name, error.text);
  return document;
}

static void expect_refusal(const char *place, struct text yaml, const char *begins)
{
  struct policy_document document;
  struct jp_error error = {0};
  enum jp_status status = load(yaml, &document, &error);
  if (status != JP_INVALID || error.status != JP_INVALID || strncmp(error.text, begins, strlen(begins)) != 0)
    fail_msg("%s: status %d, expected '%s', got '%s'", place, status, begins, error.text);
  assert_int_equal(load(yaml, &document, NULL), JP_INVALID);
}

static void check_file(const char *place, const char *yaml, const char *begins)
{
  char lines[1024];
  snprintf(lines, sizeof lines, "%s\n", yaml);
  expect_refusal(place, text_of(lines), begins);
}

UNIT_TEST(test_bad_files)
{
  unit_cases(FILES "/refused.txt", check_file);
  static const struct {
    struct text yaml;
    const char *error;
  } others[] = {
      {TEXT(""), "p.yaml:1: the file holds no policy"},
      {TEXT("version: 1\nrules:\n\t- class: a\n"), "p.yaml:3: not YAML: found character that cannot start "
                                                   "any token, at '- class: a' (YAML is indented with "
                                                   "spaces; here is a tab)"},
      {TEXT("version: 1\ndefaultAction: \xFFzz\n"), "p.yaml:2: invalid UTF-8: byte 0xFF"},
      {TEXT("version: 1\n# \xED\xA0\x80\n"), "p.yaml:2: invalid UTF-8: byte 0xED"},
      {TEXT("version: 1\n\n# \x01\n"), "p.yaml:3: not YAML: control characters are not allowed"},
      {TEXT("version: 1\n\0\n"), "p.yaml:2: not YAML: control characters are not allowed"},
  };
  for (size_t i = 0; i < COUNT_OF(others); i++)
    expect_refusal(others[i].error, others[i].yaml, others[i].error);
}

UNIT_TEST(test_long_words)
{
  struct policy_document document;
  struct jp_error error;
  char yaml[4096] = "defaultAction: ";
  size_t used = strlen(yaml);
  memset(yaml + used, 'x', sizeof yaml - used);
  assert_int_equal(load((struct text){yaml, sizeof yaml}, &document, &error), JP_INVALID);
  assert_non_null(strstr(error.text, "known are ALLOW"));
}

UNIT_TEST(test_lists_of_words)
{
  char list[80];
  policy_words_list(&policy_action_words, " or ", list, sizeof list);
  assert_string_equal(list, "ALLOW, DENY, LOG_AND_ALLOW or LOG_AND_DENY");
  policy_words_list(&policy_action_words, ", ", list, 10);
  assert_string_equal(list, "ALLOW, DE");
}

static void repeat(struct buffer *out, const char *piece, size_t times)
{
  for (size_t i = 0; i < times; i++)
    buffer_append(out, piece, strlen(piece));
}

static void expect_refused_text(struct buffer *yaml, const char *begins)
{
  assert_false(yaml->failed);
  expect_refusal(begins, buffer_text(yaml), begins);
  buffer_fini(yaml);
}

/* Input that would make a careless loader slow, deep or large. */
UNIT_TEST(test_limits)
{
  struct buffer yaml;
  buffer_init(&yaml);
  repeat(&yaml, "# comment\n", POLICY_TREE_BYTES / 10 + 1);
  expect_refused_text(&yaml, "p.yaml: larger than 1024 KiB");

  repeat(&yaml, "[", 500000);
  expect_refused_text(&yaml, "p.yaml:1: nested too deeply");
  repeat(&yaml, "- ", 500000);
  expect_refused_text(&yaml, "p.yaml:1: nested too deeply");
  repeat(&yaml, "{a: ", 200000);
  expect_refused_text(&yaml, "p.yaml:1: nested too deeply");

  BUFFER_LITERAL(&yaml, "rules:\n- &r {class: a, action: DENY}\n");
  repeat(&yaml, "- *r\n", POLICY_RULES_MAX);
  expect_refused_text(&yaml, "p.yaml:2: rules has more than 10000 entries");

  BUFFER_LITERAL(&yaml, "rules:\n- class: a\n  action: DENY\n  channel: [HTTP_RPC");
  repeat(&yaml, ",HTTP_RPC", 32);
  BUFFER_LITERAL(&yaml, "]\n");
  expect_refused_text(&yaml, "p.yaml:4: channel has more than 32 words");

  BUFFER_LITERAL(&yaml, "rules:\n");
  for (int i = 0; i < 257; i++)
    buffer_printf(&yaml, "- &r%d {class: a, action: DENY}\n", i);
  expect_refused_text(&yaml, "p.yaml:258: too many anchors: one more is 'r256'");

  for (int i = 0; i < 50000; i++)
    buffer_printf(&yaml, "%%TAG !a%d! b\n", i);
  expect_refused_text(&yaml, "p.yaml:17: more than 16 times '%TAG'");

  /* Each level names the previous level ten times. */
  BUFFER_LITERAL(&yaml, "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n");
  for (int i = 1; i < 100; i++) {
    buffer_printf(&yaml, "a%d: &a%d [", i, i);
    for (int j = 0; j < 10; j++)
      buffer_printf(&yaml, "*a%d,", i - 1);
    BUFFER_LITERAL(&yaml, "]\n");
  }
  expect_refused_text(&yaml, "p.yaml:1: unknown key 'a0'");
}

UNIT_TEST(test_large_file)
{
  struct buffer yaml;
  buffer_init(&yaml);
  BUFFER_LITERAL(&yaml, "version: 1\nrules:\n");
  for (int i = 0; i < POLICY_RULES_MAX; i++)
    buffer_printf(&yaml, "  - {class: com.example.pkg%d.**, action: ALLOW}\n", i);
  struct policy_document document = load_good(buffer_text(&yaml), "many rules");
  assert_int_equal(document.rule_count, POLICY_RULES_MAX);
  assert_int_equal(document.rules[POLICY_RULES_MAX - 1].line, POLICY_RULES_MAX + 2);
  buffer_fini(&yaml);
}

static const char whole[] = "\xEF\xBB\xBF# with a byte order mark\r\n"
                            "version: 1\r\n"
                            "defaultAction: LOG_AND_DENY\r\n"
                            "presets: {deny-unsafe: true, deny-scripting: false, deny-nonpublic: TRUE}\r\n"
                            "rules:\r\n"
                            "  - class: \"com.example.api.**\"\r\n"
                            "    method: 'get*'\r\n"
                            "    action: ALLOW\r\n"
                            "    channel: WEBSOCKET_RPC\r\n"
                            "    members: [METHOD, CONSTRUCTOR]\r\n"
                            "    visibility: [PUBLIC, DEFAULT]\r\n"
                            "  - {pattern: com.example.Calculator.add, action: LOG_AND_ALLOW}\r\n"
                            "idempotent: [com.example.Calculator.add, \"java.**.size\"]\r\n";

UNIT_TEST(test_whole_file)
{
  struct policy_document document = load_good(text_of(whole), "whole");
  assert_int_equal(document.default_action, POLICY_LOG_AND_DENY);
  assert_int_equal(document.presets, 1u << policy_preset_find(TEXT("deny-unsafe")) |
                                         1u << policy_preset_find(TEXT("deny-nonpublic")));
  assert_int_equal(document.rule_count, 2);
  const struct policy_rule *rule = &document.rules[0];
  assert_int_equal(rule->line, 6);
  assert_true(rule->allow);
  assert_false(rule->log);
  assert_int_equal(rule->channels, 1u << POLICY_WEBSOCKET);
  assert_int_equal(rule->combinations,
                   policy_combinations(1u << POLICY_METHOD | 1u << POLICY_CONSTRUCTOR,
                                       1u << POLICY_PUBLIC | 1u << POLICY_PACKAGE_PRIVATE));
  rule = &document.rules[1];
  assert_int_equal(rule->line, 12);
  assert_true(rule->allow);
  assert_true(rule->log);
  assert_int_equal(rule->channels, POLICY_ALL_CHANNELS);
  assert_int_equal(rule->combinations, policy_combinations(POLICY_ALL_CATEGORIES, POLICY_ALL_VISIBILITIES));
  assert_int_equal(document.idempotent_count, 2);
}

UNIT_TEST(test_sparse_files)
{
  static const char *const files[] = {
      "version: 1\n",
      "rules: []\n",
      "rules:\n",
      "presets:\nrules: ~\nidempotent:\n",
      "{}\n",
      "{version: \"1\"}\n",
      "version: 1\nrules:\n  - &first {class: a, action: DENY}\n  - *first\n",
      "rules:\n- {class: a, action: &a DENY, channel: &c HTTP_RPC}\n- {class: b, action: *a, channel: *c}\n",
  };
  for (size_t i = 0; i < COUNT_OF(files); i++) {
    struct policy_document document = load_good(text_of(files[i]), files[i]);
    assert_int_equal(document.rule_count, strstr(files[i], "class") == NULL ? 0 : 2);
  }
}

UNIT_TEST(test_presets_load)
{
  assert_int_equal(policy_preset_count, 8);
  for (size_t i = 0; i < policy_preset_count; i++) {
    struct text yaml = {(const char *)policy_presets[i].yaml, policy_presets[i].size};
    struct policy_document document = load_good(yaml, policy_presets[i].name);
    assert_true(document.rule_count > 0);
    for (size_t rule = 0; rule < document.rule_count; rule++)
      assert_false(document.rules[rule].allow);
  }
}

UNIT_TEST(test_unreadable_files)
{
  struct policy_document document;
  struct jp_error error;
  assert_int_equal(policy_load_file("/nowhere/policy.yaml", &arena, &document, &error), JP_IO);
  assert_string_equal(error.text, "/nowhere/policy.yaml: No such file or directory");
  assert_int_equal(policy_load_file("/", &arena, &document, &error), JP_IO);
  assert_string_equal(error.text, "/: Is a directory");
  assert_int_equal(policy_load_file("/dev/zero", &arena, &document, &error), JP_INVALID);
  assert_string_equal(error.text, "/dev/zero: larger than 1024 KiB");
}

static int end(void **state)
{
  (void)state;
  arena_fini(&arena);
  return 0;
}

UNIT_MAIN_WITH(NULL, end)
