#include "policy/loader.h"

#include "base/buffer.h"
#include "policy/presets.h"
#include "policy/tree.h"
#include "policy/vocabulary.h"
#include "tests/unit/unit.h"

#include <stdio.h>

#define RULE(line) "version: 1\nrules:\n  - class: com.A\n    action: ALLOW\n    " line "\n"

struct bad_file {
  const char *yaml;
  const char *error;
};

static const struct bad_file bad_files[] = {
    /* Nothing in it. */
    {"", "p.yaml:1: the file holds no policy"},
    {"# a comment\n\n# another\n", "p.yaml:1: the file holds no policy"},
    {"---\n...\n", "p.yaml:1: the file holds no policy"},
    {"~\n", "p.yaml:1: the file holds no policy"},

    /* The wrong kind of thing. */
    {"- version\n", "p.yaml:1: a policy has to be a map, not a list"},
    {"hello\n", "p.yaml:1: a policy has to be a map, not a word"},
    {"version: 1\nrules: yes\n", "p.yaml:2: rules has to be a list, not a word"},
    {"version: 1\nrules:\n  class: a\n", "p.yaml:3: rules has to be a list, not a map"},
    {"version: 1\nrules:\n  - ALLOW\n", "p.yaml:3: a rule has to be a map, not a word"},
    {"version: 1\nrules:\n  -\n", "p.yaml:3: a rule has to be a map, not empty"},
    {"presets: [deny-unsafe]\n", "p.yaml:1: presets has to be a map, not a list"},
    {"defaultAction:\n", "p.yaml:1: action has to be a word, not empty"},
    {"defaultAction: [DENY]\n", "p.yaml:1: action has to be a word, not a list"},
    {"rules:\n  - class: [a]\n", "p.yaml:2: class has to be a word, not a list"},
    {"rules:\n  - class:\n    action: DENY\n", "p.yaml:2: class has to be a word, not empty"},
    {RULE("method: {}"), "p.yaml:5: method has to be a word, not a map"},
    {RULE("channel: {a: b}"), "p.yaml:5: channel has to be a word, not a map"},
    {RULE("channel: [[HTTP_RPC]]"), "p.yaml:5: channel has to be a word, not a list"},

    /* Unknown words. */
    {"version: 2\n", "p.yaml:1: unknown version '2': known are 1"},
    {"Version: 1\n",
     "p.yaml:1: unknown key 'Version': known are version, defaultAction, presets, rules, idempotent"},
    {"version: 1\n\ndefaultaction: DENY\n", "p.yaml:3: unknown key 'defaultaction'"},
    {"<<: {version: 1}\n", "p.yaml:1: unknown key '<<'"},
    {"defaultAction: deny\n",
     "p.yaml:1: unknown action 'deny': known are ALLOW, DENY, LOG_AND_ALLOW, LOG_AND_DENY"},
    {RULE("methods: get*"), "p.yaml:5: unknown key 'methods': known are class, pattern, method, action, "
                            "channel, members, visibility"},
    {"rules:\n  - class: a\n    action: PERMIT\n", "p.yaml:3: unknown action 'PERMIT'"},
    {RULE("channel: WEBSOCKET"), "p.yaml:5: unknown channel 'WEBSOCKET': known are WEBSOCKET_RPC, HTTP_RPC, "
                                 "ZMQ_SOCKET_RPC, LOG_RPC, CLI_RPC, REPLAY_INJECTION"},
    {RULE("channel:\n      - HTTP_RPC\n      - TELNET"), "p.yaml:7: unknown channel 'TELNET'"},
    {RULE("members: FIELD"), "p.yaml:5: unknown member category 'FIELD': known are METHOD, STATIC_METHOD, "
                             "CONSTRUCTOR, FIELD_GET, FIELD_SET, CALLBACK"},
    {RULE("visibility: [PUBLIC, INTERNAL]"), "p.yaml:5: unknown visibility 'INTERNAL': known are PUBLIC, "
                                             "PROTECTED, PACKAGE_PRIVATE, DEFAULT, PRIVATE, ALL"},
    {"presets:\n  deny-unsafe: true\n  deny-all: true\n",
     "p.yaml:3: unknown preset 'deny-all': known are deny-unsafe, deny-jdk-internals, deny-classloading, "
     "deny-reflection, deny-serialization, deny-scripting, deny-nonpublic"},
    {"presets:\n  deny-unsafe: maybe\n",
     "p.yaml:2: unknown value of a preset 'maybe': known are true, false"},
    {"presets:\n  deny-unsafe:\n", "p.yaml:2: deny-unsafe has to be a word, not empty"},
    {RULE("channel: []"), "p.yaml:5: channel is an empty list"},

    /* Twice, missing, too much. */
    {"version: 1\nversion: 1\n", "p.yaml:2: key 'version' is given twice"},
    {RULE("action: DENY"), "p.yaml:5: key 'action' is given twice"},
    {"presets:\n  deny-unsafe: true\n  deny-unsafe: false\n",
     "p.yaml:3: preset 'deny-unsafe' is given twice"},
    {"rules:\n  - action: DENY\n", "p.yaml:2: the rule has neither 'class' nor 'pattern'"},
    {"rules:\n  - {}\n", "p.yaml:2: the rule has neither 'class' nor 'pattern'"},
    {"rules:\n  - class: a\n", "p.yaml:2: the rule has no 'action'"},
    {RULE("pattern: com.A.b"), "p.yaml:3: the rule has both 'class' and 'pattern'"},
    {"rules:\n  - pattern: a.b\n    method: c\n    action: DENY\n",
     "p.yaml:2: the rule has both 'pattern' and 'method'"},

    /* Patterns. */
    {"rules:\n  - class: com..A\n    action: DENY\n", "p.yaml:2: pattern 'com..A': has an empty segment"},
    {"rules:\n  - class: \"\"\n    action: DENY\n", "p.yaml:2: pattern '': is empty"},
    {"rules:\n  - class: com/A\n    action: DENY\n", "p.yaml:2: pattern 'com/A': has a '/'"},
    {"rules:\n  - pattern: com.A.\n    action: DENY\n", "p.yaml:2: pattern '': is empty"},
    {"rules:\n  - class: com.A\n    action: DENY\n    method: a.b\n", "p.yaml:2: pattern 'a.b': has a '.'"},
    {"idempotent:\n  - com.A.b\n  - size\n", "p.yaml:3: idempotent 'size' has to be Class.member"},
    {"idempotent:\n  - com..b\n", "p.yaml:2: pattern 'com.': has an empty segment"},
    {"idempotent: com.A.b\n", "p.yaml:1: idempotent has to be a list, not a word"},
    {"idempotent:\n  - [a.b]\n", "p.yaml:2: an idempotent member has to be a word, not a list"},

    /* Not YAML, or YAML that is not for here. */
    {"version: 1\nrules:\n\t- class: a\n", "p.yaml:3: not YAML: found character that cannot start any token, "
                                           "at '- class: a' (YAML is indented with spaces; here is a tab)"},
    {"version: 1\nrules:\n  - class: **\n",
     "p.yaml:3: not YAML: did not find expected alphabetic or numeric character, at '- class: **' (a pattern "
     "that begins with '*' needs quotes)"},
    {"version: [1\n", "p.yaml:2: not YAML: did not find expected ',' or ']'"},
    {"a: b: c\n", "p.yaml:1: not YAML: mapping values are not allowed in this context, at 'a: b: c'"},
    {"version: 1\ndefaultAction: \xFFzz\n", "p.yaml:2: invalid UTF-8: byte 0xFF"},
    {"version: 1\n# \xED\xA0\x80\n", "p.yaml:2: invalid UTF-8: byte 0xED"},
    {"version: 1\n\n# \x01\n", "p.yaml:3: not YAML: control characters are not allowed"},
    {"version: 1\n---\nversion: 1\n", "p.yaml:2: a file holds one document; another begins with '---'"},
    {"version: !!int 1\n", "p.yaml:1: tags are not used here: 'tag:yaml.org,2002:int'"},
    {"rules: !list []\n", "p.yaml:1: tags are not used here: '!list'"},
    {"? [a]\n: b\n", "p.yaml:1: a key has to be a plain word, not 'a list, map or alias'"},
    {"version: *one\n", "p.yaml:1: no anchor before this line has the name 'one'"},
    {"rules: &r\n  - *r\n", "p.yaml:2: no anchor before this line has the name 'r'"},
    {"rules:\n- [[[[[[[[[[[[[[[]]]]]]]]]]]]]]]\n", "p.yaml:2: nested too deeply: 'a list'"},
    {"- - - - - - - - - - - - a\n", "p.yaml:1: nested too deeply: 'a list'"},
};

/* What was loaded last lives in it. */
static struct arena arena;

static enum jp_status load(struct text yaml, struct policy_document *document, struct jp_error *error)
{
  arena_reset(&arena);
  return policy_load_text(yaml, "p.yaml", &arena, document, error);
}

/* name: of what is loaded, for the failure. */
static struct policy_document load_good(struct text yaml, const char *name)
{
  struct policy_document document;
  struct jp_error error = {0};
  if (load(yaml, &document, &error) != JP_OK)
    fail_msg("%s: %s", name, error.text);
  return document;
}

UNIT_TEST(test_bad_files)
{
  for (size_t i = 0; i < COUNT_OF(bad_files); i++) {
    struct policy_document document;
    struct jp_error error = {0};
    enum jp_status status = load(text_of(bad_files[i].yaml), &document, &error);
    if (status != JP_INVALID || error.status != JP_INVALID ||
        strncmp(error.text, bad_files[i].error, strlen(bad_files[i].error)) != 0)
      fail_msg("file:\n%s\nstatus %d, expected error: %s\ngot: %s", bad_files[i].yaml, status,
               bad_files[i].error, error.text);
    assert_int_equal(load(text_of(bad_files[i].yaml), &document, NULL), JP_INVALID);
  }
}

UNIT_TEST(test_nul_and_long_words)
{
  struct policy_document document;
  struct jp_error error;
  assert_int_equal(load(TEXT("version: 1\n\0\n"), &document, &error), JP_INVALID);
  assert_string_equal(error.text, "p.yaml:2: not YAML: control characters are not allowed");

  char yaml[4096] = "defaultAction: ";
  size_t used = strlen(yaml);
  memset(yaml + used, 'x', sizeof yaml - used);
  assert_int_equal(load((struct text){yaml, sizeof yaml}, &document, &error), JP_INVALID);
  assert_non_null(strstr(error.text, "known are ALLOW"));
}

static void repeat(struct buffer *out, const char *piece, size_t times)
{
  for (size_t i = 0; i < times; i++)
    buffer_append(out, piece, strlen(piece));
}

static void expect_refusal(struct buffer *yaml, const char *expected)
{
  struct policy_document document;
  struct jp_error error;
  assert_false(yaml->failed);
  assert_int_equal(load(buffer_text(yaml), &document, &error), JP_INVALID);
  if (strncmp(error.text, expected, strlen(expected)) != 0)
    fail_msg("expected '%s', got '%s'", expected, error.text);
  buffer_fini(yaml);
}

/* What would make a careless loader slow, deep or large. */
UNIT_TEST(test_limits)
{
  struct buffer yaml;
  buffer_init(&yaml);
  repeat(&yaml, "# comment\n", POLICY_TREE_BYTES / 10 + 1);
  expect_refusal(&yaml, "p.yaml: larger than 1024 KiB");

  repeat(&yaml, "[", 500000);
  expect_refusal(&yaml, "p.yaml:1: nested too deeply");
  repeat(&yaml, "- ", 500000);
  expect_refusal(&yaml, "p.yaml:1: nested too deeply");
  repeat(&yaml, "{a: ", 200000);
  expect_refusal(&yaml, "p.yaml:1: nested too deeply");

  BUFFER_LITERAL(&yaml, "rules:\n- &r {class: a, action: DENY}\n");
  repeat(&yaml, "- *r\n", POLICY_RULES_MAX);
  expect_refusal(&yaml, "p.yaml:2: rules has more than 10000 entries");

  BUFFER_LITERAL(&yaml, "rules:\n- class: a\n  action: DENY\n  channel: [HTTP_RPC");
  repeat(&yaml, ",HTTP_RPC", 32);
  BUFFER_LITERAL(&yaml, "]\n");
  expect_refusal(&yaml, "p.yaml:4: channel has more than 32 words");

  BUFFER_LITERAL(&yaml, "rules:\n");
  for (int i = 0; i < 257; i++)
    buffer_printf(&yaml, "- &r%d {class: a, action: DENY}\n", i);
  expect_refusal(&yaml, "p.yaml:258: too many anchors: one more is 'r256'");

  for (int i = 0; i < 50000; i++)
    buffer_printf(&yaml, "%%TAG !a%d! b\n", i);
  expect_refusal(&yaml, "p.yaml:17: more than 16 times '%TAG'");

  /* Each level names the one before it ten times. */
  BUFFER_LITERAL(&yaml, "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n");
  for (int i = 1; i < 100; i++) {
    buffer_printf(&yaml, "a%d: &a%d [", i, i);
    for (int j = 0; j < 10; j++)
      buffer_printf(&yaml, "*a%d,", i - 1);
    BUFFER_LITERAL(&yaml, "]\n");
  }
  expect_refusal(&yaml, "p.yaml:1: unknown key 'a0'");
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

/* Every example of the manual is a policy file that loads. */
UNIT_TEST(test_manual)
{
  FILE *manual = fopen(MANUAL, "r");
  assert_non_null(manual);
  struct buffer yaml;
  buffer_init(&yaml);
  char line[512];
  bool inside = false;
  int examples = 0;
  for (int at = 1; fgets(line, sizeof line, manual) != NULL; at++) {
    if (strcmp(line, "```yaml\n") == 0) {
      inside = true;
      buffer_clear(&yaml);
    } else if (inside && strcmp(line, "```\n") == 0) {
      inside = false;
      examples++;
      char place[64];
      snprintf(place, sizeof place, "example before line %d", at);
      (void)load_good(buffer_text(&yaml), place);
    } else if (inside) {
      buffer_append(&yaml, line, strlen(line));
    }
  }
  fclose(manual);
  buffer_fini(&yaml);
  assert_true(examples > 0);
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
