/* The loaders that a thread asks, and its cache. tests/integration/test_loaders.py and
 * tests/conformance/loaders test which class a name means. */
#include "tests/unit/await.h"
#include "tests/unit/jni/members_cases.h"
#include "tests/unit/jni/with_jvm.h"

#include "base/clock.h"
#include "jni/loaders/class_lookup.h"
#include "jni/resolve/member_cache.h"

#include <semaphore.h>
#include <stdio.h>

#define LOADING "'type':'fixtures.Loading'"
#define BEAN    "'type':'beyond.Bean'"

#define MAKE_OWN(name)                                                                                       \
  {                                                                                                          \
    "call", "{" LOADING ",'method':'own','args':['" name "']}", "fixtures.Loading$Own ref", name             \
  }
#define MAKE_BEAN(loader)                                                                                    \
  {                                                                                                          \
    "call", "{" LOADING ",'method':'bean','args':[{'ref':$" loader "}]}", "beyond.Bean ref", "bean"          \
  }
#define LOADER_NAME(wanted)                                                                                  \
  {                                                                                                          \
    "call", "{" BEAN ",'method':'loaderName'}", wanted, NULL                                                 \
  }

#define CHECK_EACH(...)                                                                                      \
  do {                                                                                                       \
    static const struct members_case cases_[] = {__VA_ARGS__};                                               \
    members_check_all(cases_, COUNT_OF(cases_));                                                             \
  } while (0)

/* Releases every object of the session, including the loaders. The collector then frees the loaders. */
static int let_all_go(void **state)
{
  (void)state;
  session.loader = 0;
  CHECK_EACH({"call", "{" LOADING ",'method':'setLoaderOfMain','args':[null]}", "void", NULL});
  jvm_objects_clear(session.thread, session.objects);
  CHECK_EACH({"call", "{" LOADING ",'method':'alive'}", "int 0", NULL});
  return 0;
}

/* Asks main's loader on another thread. */
struct visitor {
  sem_t done;
  char got[128];
};

static void ask_blocking_loader(void *argument, struct jvm_thread *thread)
{
  struct visitor *visitor = argument;
  struct members_session own;
  members_session_init(&own, thread);
  uint32_t ref;
  struct text got = members_run(&own, "call", "{" BEAN ",'method':'loaderName'}", &ref);
  snprintf(visitor->got, sizeof visitor->got, "%.*s", TEXT_ARGS(got));
  members_session_fini(&own);
  sem_post(&visitor->done);
}

/* A class in the cache is found without a search, in which main's loader would come first. */
UNIT_TEST_WITH(a_blocking_loader_blocks_its_own_classes, NULL, let_all_go)
{
  struct visitor visitor = {.got = ""};
  struct jp_error error;
  sem_init(&visitor.done, 0, 0);
  CHECK_EACH(MAKE_OWN("one"),
             {"call", "{" LOADING ",'method':'define','args':[{'ref':$one},'some.Empty',3]}", "void", NULL},
             {"new", "{'type':'some.Empty1[]','args':[1]}", "[Lsome.Empty1; ref", NULL},
             {"call", "{" LOADING ",'method':'blocking'}", "fixtures.Loading$5 ref", "hostile"},
             {"call", "{" LOADING ",'method':'setLoaderOfMain','args':[{'ref':$hostile}]}", "void", NULL});
  assert_int_equal(jvm_spawn(the_jvm, "visitor", ask_blocking_loader, &visitor, &error), JP_OK);
  uint32_t ref;
  AWAIT(text_equal(members_run(&session, "call", "{" LOADING ",'method':'waiting'}", &ref), TEXT("int 1")));
  CHECK_EACH({"new", "{'type':'some.Empty1[]','args':[1]}", "[Lsome.Empty1; ref", NULL},
             {"new", "{'type':'some.Empty1[]','args':[{'type':'some.Empty1[]','value':[]}]}",
              "[Lsome.Empty1; ref", NULL},
             {"call", "{'type':'fixtures.Calculator','method':'add','args':[5,3]}", "int 8", NULL},
             {"call", "{" LOADING ",'method':'release'}", "void", NULL});
  AWAIT_POST(&visitor.done, "the visitor");
  assert_string_equal(visitor.got, "java.lang.String blocking");
  sem_destroy(&visitor.done);
}

/* The members of these classes are cached, too. */
UNIT_TEST_WITH(a_repeated_call_comes_from_the_cache, NULL, let_all_go)
{
  CHECK_EACH(MAKE_OWN("one"), MAKE_BEAN("one"), LOADER_NAME("java.lang.String one"));
  size_t count = session.thread->member_cache->count;
  CHECK_EACH(LOADER_NAME("java.lang.String one"), LOADER_NAME("java.lang.String one"));
  assert_int_equal(session.thread->member_cache->count, count);
  CHECK_EACH(MAKE_OWN("two"), LOADER_NAME("java.lang.String one"));
  assert_in_range(session.thread->member_cache->count, count, count + 1); /* "own" */
}

enum { MANY = 20000, ROUNDS = 50, MISSES = 50 };

/* For names that are unknown to all loaders. The minimum of several rounds, because other processes run on
 * the machine. */
static int64_t time_misses(void)
{
  int64_t best = INT64_MAX;
  for (int round = 0; round < ROUNDS; round++) {
    int64_t begin = clock_now_ns();
    for (int i = 0; i < MISSES; i++) {
      char name[32];
      int length = snprintf(name, sizeof name, "some.Missing$%d", round * MISSES + i);
      struct class_finding finding;
      class_find(session.thread, (struct text){name, (size_t)length}, true, &finding);
      assert_null(finding.class);
      (*session.thread->env)->ExceptionClear(session.thread->env);
    }
    int64_t took = clock_now_ns() - begin;
    best = took < best ? took : best;
  }
  return best / MISSES;
}

UNIT_TEST_WITH(an_unknown_name_does_not_walk_over_all_classes, NULL, let_all_go)
{
  assert_int_equal(jvm_request_begin(session.thread), JP_OK);
  int64_t before = time_misses();
  jvm_request_end(session.thread);
  CHECK_EACH(
      MAKE_OWN("one"),
      {"call", "{" LOADING ",'method':'define','args':[{'ref':$one},'some.Many',20000]}", "void", NULL});
  assert_int_equal(jvm_request_begin(session.thread), JP_OK);
  int64_t after = time_misses();
  jvm_request_end(session.thread);
  print_message("a miss takes %.1f us, with %d classes %.1f us\n", (double)before / 1e3, MANY,
                (double)after / 1e3);
  assert_true(after < 3 * before + 50000); /* walking over all loaders would take longer */
}

JVM_MAIN(members_open, members_close)
