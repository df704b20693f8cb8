#include "policy/source.h"

#include "tests/unit/temporary_file.h"

#include <pthread.h>
#include <stdatomic.h>

static bool allows(const struct policy *policy, struct text class_name)
{
  const struct policy_query query = {.channel = POLICY_WEBSOCKET,
                                     .category = POLICY_METHOD,
                                     .visibility = POLICY_PUBLIC,
                                     .class_name = class_name,
                                     .member_name = TEXT("m")};
  return policy_check(policy, &query).allow;
}

static bool source_allows(struct policy_source *source, struct text class_name)
{
  struct policy *policy = policy_source_take(source);
  bool allowed = allows(policy, class_name);
  policy_destroy(policy);
  return allowed;
}

static struct policy_source *create(const char *yaml, const char *presets)
{
  temporary_file_set(temporary_path, yaml);
  const struct policy_config config = {.file = temporary_path, .presets = presets};
  struct policy_source *source;
  struct jp_error error = {0};
  assert_int_equal(policy_source_create(&config, &source, &error), JP_OK);
  return source;
}

UNIT_TEST(a_reload_swaps_the_policy_whole)
{
  struct policy_source *source = create("rules: [{class: a.A, action: ALLOW}]\n", NULL);
  struct policy *old = policy_source_take(source);
  temporary_file_set(temporary_path, "rules: [{class: a.B, action: ALLOW}]\n");
  struct jp_error error = {0};
  assert_int_equal(policy_source_reload(source, &error), JP_OK);
  assert_false(policy_source_is_current(source, old));
  assert_false(source_allows(source, TEXT("a.A")));
  assert_true(source_allows(source, TEXT("a.B")));
  /* Who holds the old one goes on under it. */
  assert_true(allows(old, TEXT("a.A")));
  struct policy *new = policy_source_take(source);
  assert_true(policy_source_is_current(source, new));
  assert_true(policy_generation(new) > policy_generation(old));
  policy_destroy(new);
  policy_destroy(old);
  policy_source_destroy(source);
}

UNIT_TEST(what_fails_leaves_the_old_one)
{
  static const char *const wrong[] = {"rules: [{class: a.A, action: MAYBE}]\n", "", "rules: [\n"};
  struct policy_source *source = create("rules: [{class: a.A, action: ALLOW}]\n", NULL);
  struct policy *before = policy_source_take(source);
  for (size_t i = 0; i < COUNT_OF(wrong); i++) {
    temporary_file_set(temporary_path, wrong[i]);
    struct jp_error error = {0};
    assert_int_equal(policy_source_reload(source, &error), JP_INVALID);
    assert_memory_equal(error.text, temporary_path, strlen(temporary_path));
    assert_true(policy_source_is_current(source, before));
  }
  unlink(temporary_path);
  struct jp_error error = {0};
  assert_int_equal(policy_source_reload(source, &error), JP_IO);
  assert_non_null(strstr(error.text, temporary_path));
  assert_true(source_allows(source, TEXT("a.A")));
  policy_destroy(before);
  policy_source_destroy(source);
}

UNIT_TEST(the_command_line_is_kept)
{
  struct policy_source *source = create("defaultAction: ALLOW\n", "deny-scripting");
  temporary_file_set(temporary_path, "defaultAction: ALLOW\npresets: {deny-serialization: true}\n");
  struct jp_error error = {0};
  assert_int_equal(policy_source_reload(source, &error), JP_OK);
  assert_false(source_allows(source, TEXT("javax.script.ScriptEngine")));
  assert_false(source_allows(source, TEXT("java.io.ObjectInputStream")));
  assert_true(source_allows(source, TEXT("a.A")));
  policy_source_destroy(source);
}

/* ---- taken while it is swapped ---- */

enum { RELOADS = 200, TAKERS = 3 };

struct race {
  struct policy_source *source;
  atomic_bool over;
};

/* Under each policy one of two classes is allowed: both, or none, would be a mix. */
static void *take_on_and_on(void *argument)
{
  struct race *race = argument;
  struct policy *policy = NULL;
  while (!atomic_load(&race->over)) {
    if (policy == NULL || !policy_source_is_current(race->source, policy)) {
      policy_destroy(policy);
      policy = policy_source_take(race->source);
    }
    if (allows(policy, TEXT("a.A")) == allows(policy, TEXT("a.B")))
      abort();
  }
  policy_destroy(policy);
  return NULL;
}

UNIT_TEST(many_take_while_one_reloads)
{
  struct race race = {.source = create("rules: [{class: a.A, action: ALLOW}]\n", NULL)};
  pthread_t takers[TAKERS];
  for (int i = 0; i < TAKERS; i++)
    assert_int_equal(pthread_create(&takers[i], NULL, take_on_and_on, &race), 0);
  for (int i = 0; i < RELOADS; i++) {
    temporary_file_set(temporary_path, i % 2 == 0 ? "rules: [{class: a.B, action: ALLOW}]\n"
                                                  : "rules: [{class: a.A, action: ALLOW}]\n");
    struct jp_error error = {0};
    assert_int_equal(policy_source_reload(race.source, &error), JP_OK);
  }
  atomic_store(&race.over, true);
  for (int i = 0; i < TAKERS; i++)
    pthread_join(takers[i], NULL);
  policy_source_destroy(race.source);
}

UNIT_MAIN_WITH(temporary_file_make, temporary_file_remove)
