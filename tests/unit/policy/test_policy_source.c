/* Policies that are retained while one is swapped; tests/integration/test_policy_reload.py tests the effects of a
 * reload. */
#include "policy/policy_source.h"

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

enum { RELOADS = 200, TAKERS = 3 };

struct race {
  struct policy_source *source;
  atomic_bool over;
};

/* Each policy allows one of two classes. If both or neither are allowed, policies were mixed. */
static void *retain_repeatedly(void *argument)
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

UNIT_TEST(many_threads_retain_while_one_reloads)
{
  static const char *const files[] = {"rules: [{class: a.A, action: ALLOW}]\n",
                                      "rules: [{class: a.B, action: ALLOW}]\n"};
  const struct policy_config config = {.file = temporary_path};
  struct race race = {.over = false};
  pthread_t takers[TAKERS];
  temporary_file_set(temporary_path, files[0]);
  assert_int_equal(policy_source_create(&config, &race.source, NULL), JP_OK);
  for (int i = 0; i < TAKERS; i++)
    assert_int_equal(pthread_create(&takers[i], NULL, retain_repeatedly, &race), 0);
  for (int i = 1; i <= RELOADS; i++) {
    temporary_file_set(temporary_path, files[i % 2]);
    assert_int_equal(policy_source_reload(race.source, NULL), JP_OK);
  }
  atomic_store(&race.over, true);
  for (int i = 0; i < TAKERS; i++)
    pthread_join(takers[i], NULL);
  policy_source_destroy(race.source);
}

UNIT_MAIN_WITH(temporary_file_make, temporary_file_remove)
