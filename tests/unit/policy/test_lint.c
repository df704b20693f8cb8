/* Warnings about rules: which rules cause a warning, and that a rule that decides something is never called
 * unreachable. */
#include "policy/lint.h"
#include "policy/policy.h"

#include "tests/unit/cases.h"
#include "tests/unit/temporary_file.h"

static struct text lint(const char *yaml, size_t length, struct buffer *out, char *path)
{
  size_t count = 0;
  struct jp_error error;
  memcpy(path, TEMPORARY_FILE, sizeof TEMPORARY_FILE);
  temporary_file_write(path, yaml, length);
  buffer_clear(out);
  struct policy_document document;
  struct arena arena;
  arena_init(&arena);
  if (policy_load_file(path, &arena, &document, &error) != JP_OK ||
      policy_lint(&document, path, out, &count, &error) != JP_OK)
    fail_msg("%s", error.text);
  arena_fini(&arena);
  size_t lines = 0;
  for (size_t i = 0; i < out->len; i++)
    lines += out->data[i] == '\n';
  assert_int_equal(lines, count);
  return buffer_text(out);
}

static void check_warning(const char *place, const char *rules, const char *warning)
{
  struct buffer yaml;
  struct buffer out;
  char path[] = TEMPORARY_FILE;
  char begins[1024];
  buffer_init(&yaml);
  buffer_init(&out);
  buffer_printf(&yaml, "version: 1\nrules:\n");
  for (size_t length; *rules != '\0'; rules += length + (rules[length] == '\n')) {
    length = strcspn(rules, "\n");
    buffer_printf(&yaml, "  - %.*s\n", (int)length, rules);
  }
  struct text got = lint(yaml.data, yaml.len, &out, path);
  unlink(path);
  snprintf(begins, sizeof begins, "%s:%s", path, warning);
  bool is_one = got.len > 0 && memchr(got.data, '\n', got.len) == got.data + got.len - 1;
  if (*warning == '\0' ? got.len > 0 : !is_one || !text_starts_with(got, text_of(begins)))
    fail_msg("%s: got %.*s", place, TEXT_ARGS(got));
  buffer_fini(&yaml);
  buffer_fini(&out);
}

UNIT_TEST(test_warnings)
{
  unit_cases(FILES "/warnings.txt", check_warning);
}

/* The members that HTTP GET may call are patterns of the same form. */
UNIT_TEST(test_idempotent_members)
{
  static const char yaml[] = "version: 1\nidempotent:\n  - com.example.Order.get*\n  - com.example.**\n"
                             "  - java.util.Map.Entry.getKey\n  - com.example**.Order.size\n  - a.B.size()\n";
  static const char *const wanted[] = {
      ":4: warning: a pattern is split", ":5: warning: 'java.util.Map.Entry' names no",
      ":6: warning: 'com.example**.Order': two stars", ":7: warning: has parentheses"};
  struct buffer out;
  char path[] = TEMPORARY_FILE;
  buffer_init(&out);
  struct text got = lint(yaml, sizeof yaml - 1, &out, path);
  unlink(path);
  size_t lines = 0;
  for (size_t i = 0; i < got.len; i++)
    lines += got.data[i] == '\n';
  assert_int_equal(lines, COUNT_OF(wanted));
  for (size_t i = 0; i < COUNT_OF(wanted); i++)
    if (memmem(got.data, got.len, wanted[i], strlen(wanted[i])) == NULL)
      fail_msg("%s is not in %.*s", wanted[i], TEXT_ARGS(got));
  buffer_fini(&out);
}

/* ---- no rule is called unreachable that decides something ---- */

struct random {
  uint64_t state;
};

static unsigned pick(struct random *random, unsigned count)
{
  random->state = random->state * 6364136223846793005u + 1442695040888963407u;
  return (unsigned)(random->state >> 33) % count;
}

static void append_rule(struct random *random, struct buffer *yaml)
{
  static const char *const classes[] = {"a",   "a.b",   "a.*",    "a.**",     "'**'", "'**.b'",
                                        "'*'", "'*.b'", "'a.?'",  "A.B",      "a.b*", "b.a",
                                        "a*",  "'?.b'", "'**.*'", "'a.**.b'", "b"};
  static const char *const members[] = {"x", "'*'", "x*", "<init>", "'?'", "'*x'"};
  static const char *const channels[] = {"HTTP_RPC", "WEBSOCKET_RPC", "[HTTP_RPC, WEBSOCKET_RPC]", "CLI_RPC"};
  static const char *const kinds[] = {"METHOD", "CONSTRUCTOR", "[METHOD, FIELD_GET]",
                                      "[CONSTRUCTOR, STATIC_METHOD]"};
  static const char *const visibilities[] = {"PUBLIC", "PRIVATE", "[PUBLIC, PROTECTED]", "ALL"};
  buffer_printf(yaml, "  - {class: %s, action: %s", classes[pick(random, COUNT_OF(classes))],
                pick(random, 2) == 0 ? "ALLOW" : "DENY");
  if (pick(random, 2) == 0)
    buffer_printf(yaml, ", method: %s", members[pick(random, COUNT_OF(members))]);
  if (pick(random, 3) == 0)
    buffer_printf(yaml, ", channel: %s", channels[pick(random, COUNT_OF(channels))]);
  if (pick(random, 3) == 0)
    buffer_printf(yaml, ", members: %s", kinds[pick(random, COUNT_OF(kinds))]);
  if (pick(random, 3) == 0)
    buffer_printf(yaml, ", visibility: %s", visibilities[pick(random, COUNT_OF(visibilities))]);
  buffer_printf(yaml, "}\n");
}

enum { RULES = 6 };

static void note_rule(const struct policy *policy, struct policy_verdict verdict, bool used[RULES])
{
  int rule;
  if (sscanf(policy_reason(policy, verdict.reason), "rule %d ", &rule) == 1)
    used[rule - 1] = true;
}

/* Judges every member of every class with a short name in the same way as a request. Constructors are called
 * <init>. */
static void note_used(const struct policy *policy, bool named[RULES], bool used[RULES])
{
  static const char *const classes[] = {"a",   "b",    "ab",    "a.a",   "a.b",   "b.a",
                                        "b.b", "a.bb", "a.a.a", "a.a.b", "b.a.b", "c.c"};
  static const char *const members[] = {"x", "y", "xx", "yx", "xy"};
  for (unsigned channel = 0; channel < POLICY_CHANNELS; channel++)
    for (unsigned category = 0; category < POLICY_CATEGORIES; category++)
      for (unsigned visibility = 0; visibility < POLICY_VISIBILITIES; visibility++)
        for (size_t i = 0; i < COUNT_OF(classes); i++)
          for (size_t j = 0; j < COUNT_OF(members); j++) {
            struct policy_query query = {.channel = (enum policy_channel)channel,
                                         .category = (enum policy_category)category,
                                         .visibility = (enum policy_visibility)visibility,
                                         .class_name = text_of(classes[i]),
                                         .member_name = category == POLICY_CONSTRUCTOR ? TEXT("<init>")
                                                                                       : text_of(members[j])};
            note_rule(policy, policy_check(policy, &query), named);
            note_rule(policy, policy_check_other(policy, &query), used);
            note_rule(policy, policy_check_object(policy, &query), used);
          }
  for (size_t i = 0; i < RULES; i++)
    used[i] |= named[i];
}

UNIT_TEST(test_a_rule_that_is_never_used_decides_nothing)
{
  struct random random = {7};
  struct buffer yaml;
  struct buffer out;
  size_t warned = 0;
  size_t unused = 0;
  buffer_init(&yaml);
  buffer_init(&out);
  for (int run = 0; run < 150; run++) {
    buffer_clear(&yaml);
    buffer_printf(&yaml, "version: 1\nrules:\n");
    for (size_t i = 0; i < RULES; i++)
      append_rule(&random, &yaml);
    char path[] = TEMPORARY_FILE;
    struct text got = lint(yaml.data, yaml.len, &out, path);
    struct policy *policy;
    struct policy_config config = {.file = path};
    assert_int_equal(policy_create(&config, &policy, NULL), JP_OK);
    unlink(path);
    bool named[RULES] = {false};
    bool used[RULES] = {false};
    note_used(policy, named, used);
    for (size_t i = 0; i < RULES; i++) {
      char never[512];
      char partly[512];
      char useless[512];
      snprintf(never, sizeof never, "%s:%zu: warning: is never used", path, i + 3);
      snprintf(partly, sizeof partly, "%s:%zu: warning: decides nothing about a class that", path, i + 3);
      snprintf(useless, sizeof useless, "%s:%zu: warning: has no effect", path, i + 3);
      bool is_never = memmem(got.data, got.len, never, strlen(never)) != NULL ||
                      memmem(got.data, got.len, useless, strlen(useless)) != NULL;
      bool is_partly = memmem(got.data, got.len, partly, strlen(partly)) != NULL;
      warned += is_never;
      unused += !used[i];
      if ((is_never && used[i]) || (is_partly && named[i]))
        fail_msg("%.*s\n%.*s\nrule %zu decides something", TEXT_ARGS(buffer_text(&yaml)), TEXT_ARGS(got),
                 i + 1);
    }
    policy_destroy(policy);
  }
  buffer_fini(&yaml);
  buffer_fini(&out);
  /* Most rules that decide nothing have a warning; in the other cases several patterns together cover the
   * pattern of the rule. */
  assert_true(warned > 50);
  assert_true(warned * 10 > unused * 8);
}

/* Patterns whose comparison is slowest. There are more pairs of them than are compared. */
UNIT_TEST(test_a_large_file_ends)
{
  struct buffer yaml;
  struct buffer out;
  char path[] = TEMPORARY_FILE;
  buffer_init(&yaml);
  buffer_init(&out);
  buffer_printf(&yaml, "version: 1\nrules:\n");
  for (int i = 0; i < POLICY_RULES_MAX / 4; i++)
    buffer_printf(&yaml, "  - {class: 'com.*%d*a*?*b*', action: ALLOW}\n", i + 10000);
  lint(yaml.data, yaml.len, &out, path);
  unlink(path);
  assert_int_equal(out.len, 0);
  buffer_fini(&yaml);
  buffer_fini(&out);
}

UNIT_MAIN
