#include "policy/policy.h"

#include "tests/unit/temporary_file.h"

#include <stdio.h>

/* Writes a policy file and builds a policy from it; yaml NULL: no file. */
static enum jp_status create_from(const char *yaml, struct policy_config config, struct policy **policy,
                                  struct jp_error *error)
{
  char path[] = TEMPORARY_FILE;
  if (yaml != NULL) {
    temporary_file_write(path, yaml, strlen(yaml));
    config.file = path;
  }
  enum jp_status status = policy_create(&config, policy, error);
  if (yaml != NULL)
    unlink(path);
  return status;
}

static enum jp_status create(const char *yaml, const char *presets, enum policy_action action,
                             struct policy **policy, struct jp_error *error)
{
  struct policy_config config = {.presets = presets, .default_action = action};
  return create_from(yaml, config, policy, error);
}

static const char *const nothing_given = "RPC policy: none is given, so every operation is denied; ";
static const char *const nothing_allowed =
    "RPC policy: no rule allows anything and the default action is to ";
static const char *const presets_only = "RPC policy: presets only deny; ";

/* Classes that --rpc-allow does not name are denied, unless the command line says otherwise. */
UNIT_TEST(test_default_action)
{
  static const char allow_a[] = "rules: [{class: a, action: ALLOW}]\n";
  static const char *const allows_more =
      "RPC policy: --rpc-default-action ALLOW allows more than what --rpc-allow names";
  static const char *const com = "com.example.**";
  const struct {
    const char *yaml;
    const char *presets;
    const char *allow; /* --rpc-allow */
    enum policy_action action;
    bool is_allowed;
    bool log;
    const char *notice; /* the beginning of the notice; NULL: no notice */
  } cases[] = {
      {NULL, NULL, NULL, POLICY_UNSET, false, false, nothing_given},
      {NULL, NULL, NULL, POLICY_ALLOW, true, false, NULL},
      {NULL, NULL, NULL, POLICY_LOG_AND_ALLOW, true, true, NULL},
      {NULL, NULL, NULL, POLICY_DENY, false, false, nothing_allowed},
      {NULL, "deny-unsafe", NULL, POLICY_UNSET, true, false, presets_only},
      {NULL, "deny-unsafe", NULL, POLICY_ALLOW, true, false, NULL},
      {NULL, "deny-unsafe", NULL, POLICY_DENY, false, false, nothing_allowed},
      {"version: 1\n", NULL, NULL, POLICY_UNSET, false, false, nothing_allowed},
      {"version: 1\n", "deny-unsafe", NULL, POLICY_UNSET, false, false, nothing_allowed},
      {"presets: {deny-unsafe: true}\n", NULL, NULL, POLICY_UNSET, false, false, nothing_allowed},
      {allow_a, NULL, NULL, POLICY_UNSET, false, false, NULL},
      {"version: 1\n", NULL, NULL, POLICY_ALLOW, true, false, NULL},
      {"defaultAction: ALLOW\n", NULL, NULL, POLICY_UNSET, true, false, NULL},
      {"defaultAction: LOG_AND_DENY\n", NULL, NULL, POLICY_UNSET, false, true, nothing_allowed},
      {"defaultAction: ALLOW\n", NULL, NULL, POLICY_DENY, false, false, nothing_allowed},
      {"defaultAction: DENY\n", "deny-unsafe", NULL, POLICY_ALLOW, true, false, NULL},
      {NULL, NULL, com, POLICY_UNSET, false, false, NULL},
      {NULL, "deny-unsafe", com, POLICY_UNSET, false, false, NULL},
      {NULL, NULL, com, POLICY_ALLOW, true, false, allows_more},
      {NULL, NULL, com, POLICY_DENY, false, false, NULL},
      {"version: 1\n", NULL, com, POLICY_UNSET, false, false, NULL},
      {"defaultAction: ALLOW\n", NULL, com, POLICY_UNSET, false, false, NULL},
      {"defaultAction: LOG_AND_ALLOW\n", NULL, com, POLICY_UNSET, false, true, NULL},
      {"defaultAction: LOG_AND_DENY\n", "deny-unsafe", com, POLICY_UNSET, false, true, NULL},
      {"defaultAction: DENY\n", NULL, com, POLICY_ALLOW, true, false, allows_more},
  };
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    struct policy *policy;
    struct policy_config config = {
        .presets = cases[i].presets, .allow = cases[i].allow, .default_action = cases[i].action};
    assert_int_equal(create_from(cases[i].yaml, config, &policy, NULL), JP_OK);
    struct policy_query query = {.class_name = TEXT("org.example.A"), .member_name = TEXT("run")};
    struct policy_verdict verdict = policy_check(policy, &query);
    const char *notice = policy_notice(policy);
    if (verdict.allow != cases[i].is_allowed || verdict.log != cases[i].log)
      fail_msg("case %zu: allow %d, log %d", i, verdict.allow, verdict.log);
    assert_string_equal(policy_reason(policy, verdict.reason), "default action");
    if ((notice == NULL) != (cases[i].notice == NULL) ||
        (notice != NULL && strncmp(notice, cases[i].notice, strlen(cases[i].notice)) != 0))
      fail_msg("case %zu: notice '%s'", i, notice);
    query.class_name = TEXT("com.example.A");
    if (cases[i].allow != NULL) {
      assert_true(policy_check(policy, &query).allow);
      assert_false(policy_lacks_rules_for(policy, query.class_name));
    }
    policy_destroy(policy);
  }
}

UNIT_TEST(test_too_many_patterns_to_allow)
{
  enum { MOST = 10000 };
  static char patterns[2 * MOST + 2];
  for (size_t i = 0; i < MOST; i++)
    memcpy(patterns + 2 * i, "a,", 2);
  struct policy *policy;
  struct jp_error error;
  struct policy_config config = {.allow = patterns};
  strcpy(patterns + 2 * MOST, "a");
  assert_int_equal(policy_create(&config, &policy, &error), JP_LIMIT);
  assert_null(policy);
  assert_string_equal(error.text, "--rpc-allow: more than 10000 patterns");
  patterns[2 * MOST - 1] = '\0';
  assert_int_equal(policy_create(&config, &policy, &error), JP_OK);
  policy_destroy(policy);
}

/* This holds only without any policy option: a chosen default action is a policy, too. */
UNIT_TEST(test_lack_of_rules)
{
  const struct {
    const char *yaml;
    struct policy_config config;
    bool lacks;
  } cases[] = {
      {NULL, {0}, true},
      {NULL, {.idempotent = "a.b"}, true},
      {NULL, {.presets = "deny-unsafe"}, false},
      {NULL, {.allow = "com.example.**"}, false},
      {NULL, {.default_action = POLICY_DENY}, false},
      {"version: 1\n", {0}, false},
  };
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    struct policy *policy;
    assert_int_equal(create_from(cases[i].yaml, cases[i].config, &policy, NULL), JP_OK);
    assert_int_equal(policy_lacks_rules_for(policy, TEXT("com.example.A")), cases[i].lacks);
    assert_false(policy_lacks_rules_for(policy, TEXT("jpeer.peer.PeerThread")));
    policy_destroy(policy);
  }
}

UNIT_TEST(test_errors)
{
  static const struct {
    const char *presets;
    const char *word;
  } cases[] = {
      {"", "unknown preset ''"},
      {"deny-everything", "unknown preset 'deny-everything'"},
      {"deny-unsafe,", "unknown preset ''"},
      {"deny-unsafe, deny-scripting", "unknown preset ' deny-scripting'"},
      {"DENY-UNSAFE", "unknown preset 'DENY-UNSAFE'"},
  };
  struct policy *policy;
  struct jp_error error;
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    assert_int_equal(create(NULL, cases[i].presets, POLICY_UNSET, &policy, &error), JP_INVALID);
    assert_null(policy);
    assert_non_null(strstr(error.text, cases[i].word));
    assert_non_null(strstr(error.text, "known are deny-unsafe, deny-jdk-internals"));
  }
  assert_int_equal(create("version: 1\nrulez: []\n", NULL, POLICY_UNSET, &policy, &error), JP_INVALID);
  assert_null(policy);
  assert_non_null(strstr(error.text, ":2: unknown key 'rulez'"));
  struct policy_config missing = {.file = "/nowhere/policy.yaml"};
  assert_int_equal(policy_create(&missing, &policy, &error), JP_IO);
  assert_null(policy);
  policy_destroy(NULL);
}

UNIT_TEST(test_withheld_classes)
{
  const struct policy_config config = {.default_action = POLICY_ALLOW, .withheld = "io.quasient.pal.**"};
  static const struct {
    const char *class_name;
    bool allow;
  } rows[] = {
      {"io.quasient.pal.X", false}, {"IO.quasient.Pal.core.X$Y", false}, {"io.quasient.palace.X", true}};
  struct policy *policy;
  assert_int_equal(policy_create(&config, &policy, NULL), JP_OK);
  for (size_t i = 0; i < COUNT_OF(rows); i++) {
    const struct text name = text_of(rows[i].class_name);
    const struct policy_query query = {.class_name = name, .member_name = TEXT("m")};
    struct policy_verdict verdict = policy_check(policy, &query);
    assert_int_equal(verdict.allow, rows[i].allow);
    assert_int_equal(policy_check_other(policy, &query).allow, rows[i].allow);
    assert_int_equal(policy_shows_class(policy, POLICY_HTTP, name), rows[i].allow);
    assert_string_equal(policy_reason(policy, verdict.reason),
                        rows[i].allow ? "default action" : "withheld by the peer");
    enum policy_early early =
        policy_check_names(policy, POLICY_ZMQ, 1u << POLICY_METHOD, name, TEXT("m"), &verdict);
    assert_int_equal(early, rows[i].allow ? POLICY_EARLY_ASK : POLICY_EARLY_DENY);
  }
  policy_destroy(policy);
}

UNIT_TEST(test_generations_differ)
{
  struct policy *first;
  struct policy *second;
  assert_int_equal(create(NULL, NULL, POLICY_ALLOW, &first, NULL), JP_OK);
  uint64_t generation = policy_generation(first);
  assert_int_equal(policy_generation(first), generation);
  policy_destroy(first);
  assert_int_equal(create(NULL, NULL, POLICY_ALLOW, &second, NULL), JP_OK);
  assert_true(policy_generation(second) != generation);
  policy_destroy(second);
}

UNIT_TEST(test_empty_member_set)
{
  struct policy *policy;
  struct policy_verdict verdict;
  assert_int_equal(create(NULL, NULL, POLICY_DENY, &policy, NULL), JP_OK);
  assert_int_equal(policy_check_names(policy, POLICY_HTTP, 0, TEXT("a"), TEXT("b"), &verdict),
                   POLICY_EARLY_ASK);
  policy_destroy(policy);
}

UNIT_TEST(test_an_observed_policy_denies_by_presets_alone)
{
  static const char yaml[] = "rules:\n"
                             "  - {class: java.lang.System, action: DENY}\n"
                             "  - {class: a.Allowed, action: ALLOW}\n";
  const struct policy_config config = {.presets = "deny-unsafe", .observes = true};
  static const struct {
    struct text class_name;
    struct text member;
    bool is_allowed;
    bool observed;
    const char *reason; /* its end */
  } cases[] = {
      {TEXT("a.Allowed"), TEXT("get"), true, false, ":3)"},
      {TEXT("a.Other"), TEXT("get"), true, true, "default action"},
      {TEXT("java.lang.System"), TEXT("nanoTime"), true, true, ":2)"},
      {TEXT("java.lang.System"), TEXT("exit"), false, false, "preset deny-unsafe"},
      {TEXT("jpeer.peer.Traces"), TEXT("of"), false, false, "the peer's own classes"},
  };
  struct policy *policy;
  struct jp_error error;
  assert_int_equal(create_from(yaml, config, &policy, &error), JP_OK);
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    const struct policy_query query = {
        .category = POLICY_STATIC_METHOD, .class_name = cases[i].class_name, .member_name = cases[i].member};
    const unsigned categories = 1u << POLICY_STATIC_METHOD;
    struct policy_verdict verdict = policy_check(policy, &query);
    const struct text reason = text_of(policy_reason(policy, verdict.reason));
    assert_int_equal(verdict.allow, cases[i].is_allowed);
    assert_int_equal(verdict.observed, cases[i].observed);
    assert_true(text_ends_with(reason, text_of(cases[i].reason)));
    assert_int_equal(policy_check_object(policy, &query).allow, cases[i].is_allowed);
    assert_int_equal(policy_check_names(policy, POLICY_WEBSOCKET, categories, cases[i].class_name,
                                        cases[i].member, &verdict),
                     cases[i].is_allowed ? POLICY_EARLY_ASK : POLICY_EARLY_DENY);
  }
  policy_destroy(policy);
}

UNIT_MAIN
