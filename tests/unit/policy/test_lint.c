/* Warnings about rules: what is warned of, what is not, and that no rule is called unreachable that decides something. */
#include "policy/lint.h"
#include "policy/policy.h"

#include "tests/unit/temporary_file.h"
#include "tests/unit/unit.h"

#include <stdio.h>

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

#define ALLOW(keys) "{" keys ", action: ALLOW}"
#define DENY(keys)  "{" keys ", action: DENY}"

struct expected {
  const char *rules[4];
  int line;            /* of the only warning, 1 for the first rule; 0: there is none */
  const char *warning; /* how it begins */
};

static const struct expected cases[] = {
    /* The traps of docs/policy.md. */
    {{ALLOW("class: com.example**")}, 1, "'com.example**': two stars inside a segment mean one"},
    {{ALLOW("class: com.ex**.Order")}, 1, "'com.ex**.Order': two stars inside a segment"},
    {{ALLOW("class: com.example.**")}, 0, NULL},
    {{ALLOW("class: '**.example.**'")}, 0, NULL},
    {{ALLOW("class: com.example.Order, method: 'get**'")},
     0,
     NULL}, /* a member has one segment in any case */
    {{ALLOW("pattern: com.example.**")},
     1,
     "a pattern is split at its last dot into class and member, so that this matches the members of a class "
     "'com.example': for a package write class: 'com.example.**'"},
    {{ALLOW("pattern: com.example.*")}, 1, "a pattern is split"},
    {{ALLOW("pattern: com.example.**.*")}, 0, NULL},
    {{ALLOW("pattern: com.example.Order.*")}, 0, NULL},
    {{ALLOW("pattern: com.example.Order.**")}, 0, NULL},
    {{ALLOW("pattern: com.example.add")}, 0, NULL},

    /* Names. */
    {{ALLOW("class: com.example")}, 1, "matches the class 'com.example' alone"},
    {{ALLOW("class: Order")}, 0, NULL},
    {{ALLOW("class: com.example.Order")}, 0, NULL},
    {{ALLOW("class: com.example.order$1")}, 0, NULL},
    {{ALLOW("class: com.example.ord*")}, 0, NULL},
    {{ALLOW("class: java.util.Map.Entry")},
     1,
     "'java.util.Map.Entry' names no nested class: if 'java.util.Map' is a class, write "
     "'java.util.Map$Entry'"},
    {{ALLOW("pattern: java.util.Map.Entry.getKey")}, 1, "'java.util.Map.Entry' names no nested class"},
    {{ALLOW("class: java.util.Map$Entry")}, 0, NULL},
    {{ALLOW("pattern: com.example.Order.Line")}, 0, NULL}, /* it may be a field */
    {{ALLOW("class: com.example.Order.getName")},
     1,
     "matches a class 'com.example.Order.getName': if 'getName' is a"},
    {{ALLOW("class: com.example.Order, method: 'add(int)'")}, 1, "has parentheses"},
    {{ALLOW("pattern: 'com.example.Order.add()'")}, 1, "has parentheses"},
    {{ALLOW("pattern: 'com.example.Order.add(java.lang.String)'")}, 1, "has parentheses"},
    {{ALLOW("class: com.example.Order, method: <clinit>")}, 1, "no member is called '<clinit>'"},
    {{ALLOW("class: com.example.Order, method: <init>")}, 0, NULL},
    {{ALLOW("class: com.example.Order, method: <INIT>")}, 0, NULL},
    {{ALLOW("class: com.example.Order, method: <*>")}, 0, NULL},
    {{ALLOW("class: com.example.Order, method: Order")}, 1, "'Order' is a method or a field of that name"},
    {{ALLOW("class: 'jdk:java.util.**'")}, 1, "'jdk:java.util.**' has a ':'"},
    {{DENY("class: int")}, 1, "has no effect: the primitive type 'int'"},

    /* Categories, channels. */
    {{ALLOW("class: a.B, method: get*, members: CONSTRUCTOR")},
     1,
     "is never used: constructors are called <init>"},
    {{ALLOW("class: a.B, members: CONSTRUCTOR")}, 0, NULL},
    {{ALLOW("class: a.B, method: get*, members: [CONSTRUCTOR, METHOD]")}, 0, NULL},
    {{ALLOW("class: a.B, method: <init>, members: METHOD")},
     1,
     "is never used: <init> is the name of constructors"},
    {{ALLOW("class: a.B, channel: [CLI_RPC, REPLAY_INJECTION]")}, 1, "has no effect: no rule is asked"},
    {{ALLOW("class: a.**"), DENY("class: a.B, channel: WEBSOCKET_RPC")}, 2, "is never used"},
    {{DENY("class: a.B, channel: WEBSOCKET_RPC"), ALLOW("class: a.**")},
     1,
     "denies on WEBSOCKET_RPC and not on"},
    {{DENY("class: a.B, channel: [WEBSOCKET_RPC, HTTP_RPC]"), ALLOW("class: a.**")}, 0, NULL},
    {{DENY("class: a.B, channel: WEBSOCKET_RPC"), DENY("class: a.*, channel: HTTP_RPC"),
      ALLOW("class: a.**")},
     0,
     NULL},
    {{DENY("class: a.B, channel: WEBSOCKET_RPC"), ALLOW("class: a.**, channel: ZMQ_SOCKET_RPC")}, 0, NULL},

    /* Order. */
    {{ALLOW("class: a.**"), DENY("class: a.B")},
     2,
     "is never used: what it matches is decided by the rule before it in line 3"},
    {{DENY("class: a.B"), ALLOW("class: a.**")}, 0, NULL},
    {{ALLOW("class: a.**, method: get*"), DENY("class: a.B")}, 0, NULL},
    {{ALLOW("class: a.**, method: get*"), DENY("class: a.B, method: getName")}, 2, "is never used"},
    {{ALLOW("class: a.Order"), DENY("class: a.ORDER")},
     2,
     "is never used"}, /* case does not count, nor does the habit */
    {{ALLOW("class: a.B, members: METHOD"),
      ALLOW("class: a.*, members: [STATIC_METHOD, CONSTRUCTOR, FIELD_GET]"),
      ALLOW("class: a.B, members: [FIELD_SET, CALLBACK]"), DENY("class: a.B")},
     4,
     "is never used: what it matches is decided by the rules before it in lines 3, 4, 5"},
    {{ALLOW("class: a.B, members: METHOD"),
      ALLOW("class: a.*, members: [STATIC_METHOD, CONSTRUCTOR, FIELD_GET]"), DENY("class: a.B")},
     0,
     NULL},
    {{ALLOW("class: a.*, channel: [WEBSOCKET_RPC, HTTP_RPC]"), DENY("class: a.B, channel: HTTP_RPC")},
     2,
     "is never"},
    {{ALLOW("class: a.*, visibility: PUBLIC"), DENY("class: a.B, visibility: ALL")}, 0, NULL},
    /* It is still asked about the class of an object. */
    {{DENY("class: '**'"), DENY("class: a.B")},
     2,
     "decides nothing about a class that the caller names: the rule for every class in line 3 comes first"},
    {{DENY("class: '**'"), ALLOW("class: '**'")},
     2,
     "is never used: what it matches is decided by the rule for every"},
    {{DENY("class: '**', members: METHOD"), ALLOW("class: a.B")}, 0, NULL},

    /* What is opened. */
    {{ALLOW("class: java.util.**")},
     1,
     "'java.util.**' matches classes of the JDK, and opens java.util.Scanner.<init> ("},
    {{ALLOW("class: java.util.Formatter")}, 0, NULL},
    {{ALLOW("class: java.util.function.*")}, 0, NULL},
    {{ALLOW("class: java.util.**, method: size")}, 0, NULL},
    {{ALLOW("class: java.util.**, visibility: PRIVATE")}, 0, NULL},
    {{ALLOW("class: java.util.**, members: FIELD_GET")}, 0, NULL},
    {{DENY("class: java.util.**")}, 0, NULL},
};

UNIT_TEST(test_warnings)
{
  struct buffer out;
  buffer_init(&out);
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    const struct expected *expected = &cases[i];
    char yaml[2048] = "version: 1\nrules:\n";
    char path[] = TEMPORARY_FILE;
    char begins[4096];
    for (size_t j = 0; j < COUNT_OF(expected->rules) && expected->rules[j] != NULL; j++)
      snprintf(yaml + strlen(yaml), sizeof yaml - strlen(yaml), "  - %s\n", expected->rules[j]);
    struct text told = lint(yaml, strlen(yaml), &out, path);
    unlink(path);
    snprintf(begins, sizeof begins, "%s:%d: warning: %s", path, expected->line + 2,
             expected->warning == NULL ? "" : expected->warning);
    bool is_one = told.len > 0 && memchr(told.data, '\n', told.len) == told.data + told.len - 1;
    if (expected->line == 0 ? told.len > 0 : !is_one || !text_starts_with(told, text_of(begins)))
      fail_msg("%s\ngives %.*s\nwanted %s", yaml, TEXT_ARGS(told), begins);
  }
  buffer_fini(&out);
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
  struct text told = lint(yaml, sizeof yaml - 1, &out, path);
  unlink(path);
  size_t lines = 0;
  for (size_t i = 0; i < told.len; i++)
    lines += told.data[i] == '\n';
  assert_int_equal(lines, COUNT_OF(wanted));
  for (size_t i = 0; i < COUNT_OF(wanted); i++)
    if (memmem(told.data, told.len, wanted[i], strlen(wanted[i])) == NULL)
      fail_msg("%s is not in %.*s", wanted[i], TEXT_ARGS(told));
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

/* Asks about every member of every class with a short name, as a request does. Constructors are called <init>. */
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

UNIT_TEST(test_what_is_never_used_decides_nothing)
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
    struct text told = lint(yaml.data, yaml.len, &out, path);
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
      bool is_never = memmem(told.data, told.len, never, strlen(never)) != NULL ||
                      memmem(told.data, told.len, useless, strlen(useless)) != NULL;
      bool is_partly = memmem(told.data, told.len, partly, strlen(partly)) != NULL;
      warned += is_never;
      unused += !used[i];
      if ((is_never && used[i]) || (is_partly && named[i]))
        fail_msg("%.*s\n%.*s\nrule %zu decides something", TEXT_ARGS(buffer_text(&yaml)), TEXT_ARGS(told),
                 i + 1);
    }
    policy_destroy(policy);
  }
  buffer_fini(&yaml);
  buffer_fini(&out);
  /* Most of what decides nothing is warned of; the rest needs several patterns that together cover one. */
  assert_true(warned > 50);
  assert_true(warned * 10 > unused * 8);
}

/* Patterns whose comparison takes longest, and more pairs of them than are compared. */
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
