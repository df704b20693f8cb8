/* Every form of an executor, good and bad: where the work runs, or why it does not (java-fixtures, fixtures.Affinity). */
#include "jni/executors.h"

#include "tests/unit/unit.h"

#include "jni/members.h"
#include "jni/runtime/strings.h"
#include "jni/runtime/throwables.h"
#include "tests/unit/jni/with_jvm.h"

static struct jvm *the_jvm;
static struct jvm_thread *the_thread;

struct visit {
  struct arena arena;
  struct outcome outcome;
  enum jp_status status;
  int runs;
  struct text thread_name;
};

/* jvm_executor_call.run, with a struct visit */
static void note_thread(void *argument, struct jvm_thread *thread)
{
  struct visit *visit = argument;
  JNIEnv *env = thread->env;
  visit->runs++;
  assert_int_equal(jvm_request_begin(thread), JP_OK);
  jobject current =
      (*env)->CallStaticObjectMethod(env, the_jvm->known.class_thread, the_jvm->known.static_thread_current);
  assert_false(throwable_take(thread, NULL));
  jmethodID get_name =
      (*env)->GetMethodID(env, the_jvm->known.class_thread, "getName", "()Ljava/lang/String;");
  assert_false(throwable_take(thread, NULL));
  jstring name = (*env)->CallObjectMethod(env, current, get_name);
  assert_false(throwable_take(thread, NULL));
  visit->thread_name = jvm_string_get(thread, name, &visit->arena);
  jvm_request_end(thread);
}

static struct visit visit_executor(const char *class_name, const char *member)
{
  static struct visit visit; /* one at a time: the executor's thread writes into it */
  const struct jvm_executor executor = {TEXT("X"), text_of(class_name), text_of(member)};
  visit = (struct visit){.runs = 0};
  arena_init(&visit.arena);
  const struct jvm_executor_call call = {.executor = &executor,
                                         .run = note_thread,
                                         .argument = &visit,
                                         .arena = &visit.arena,
                                         .stack_frames_max = 4};
  assert_int_equal(jvm_request_begin(the_thread), JP_OK);
  visit.status = jvm_executor_run(the_thread, &call, &visit.outcome);
  assert_false((*the_thread->env)->ExceptionCheck(the_thread->env));
  jvm_request_end(the_thread);
  return visit;
}

static void runs_on_every_form_of_executor(void **state)
{
  (void)state;
  static const struct {
    const char *class_name;
    const char *member;
    const char *thread; /* NULL: the calling one's */
  } cases[] = {
      {"fixtures.Affinity", "single", "fixture-single"},
      {"fixtures.Affinity", "FIELD", "fixture-field"},
      {"fixtures.Affinity", "loop", "fixture-loop"}, /* private */
      {"fixtures.Affinity$Child", "inherited", "fixture-single"},
      {"fixtures.Affinity", "DIRECT", "tests"},
      {"fixtures.Affinity", "RUNS_AND_THROWS", "tests"},
      {"fixtures.Affinity", "AGAIN", "fixture-again"},
      {"java.util.concurrent.ForkJoinPool", "commonPool", NULL},
  };
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    struct visit visit = visit_executor(cases[i].class_name, cases[i].member);
    if (visit.status != JP_OK)
      fail_msg("%s: %.*s", cases[i].member, TEXT_ARGS(visit.outcome.message));
    assert_int_equal(visit.runs, 1);
    if (cases[i].thread != NULL)
      unit_assert_text(visit.thread_name, text_of(cases[i].thread), __FILE__, __LINE__);
    arena_fini(&visit.arena);
  }
}

static void says_what_is_no_executor(void **state)
{
  (void)state;
  static const struct {
    const char *class_name;
    const char *member;
    const char *message;
    const char *throwable; /* NULL: none */
  } cases[] = {
      {"fixtures.Nowhere", "later",
       "its class cannot be loaded: java.lang.ClassNotFoundException: fixtures.Nowhere",
       "java.lang.ClassNotFoundException"},
      {"int", "later", "its class cannot be loaded: java.lang.ClassNotFoundException: int",
       "java.lang.ClassNotFoundException"},
      {"[I", "later", "its class has no such method or field", NULL},
      {"fixtures.Affinity", "nothing", "its class has no such method or field", NULL},
      {"fixtures.Affinity", "<init>",
       "the member is neither a method that takes one Runnable, nor a method without parameters or a field "
       "that "
       "gives an Executor",
       NULL},
      {"fixtures.Affinity", "ofInstance", "the member is not static", NULL},
      {"fixtures.Affinity", "mine", "the member is not static", NULL},
      {"fixtures.Affinity", "number",
       "the member is neither a method that takes one Runnable, nor a method without parameters or a field "
       "that "
       "gives an Executor",
       NULL},
      {"fixtures.Affinity", "NULL", "the member gave null", NULL},
      {"fixtures.Affinity", "TEXT",
       "the member gave a java.lang.String, which is no java.util.concurrent.Executor", NULL},
      {"fixtures.Affinity", "broken", "the member threw: java.lang.IllegalStateException: no toolkit",
       "java.lang.IllegalStateException"},
      {"fixtures.Affinity", "REJECTING",
       "the executor threw: java.util.concurrent.RejectedExecutionException: full",
       "java.util.concurrent.RejectedExecutionException"},
      {"fixtures.Affinity", "MUTE", "the executor threw: java.lang.IllegalStateException",
       "java.lang.IllegalStateException"},
      {"fixtures.Affinity", "DEEP", "less than 256 KiB of stack are left on the executor's thread", NULL},
      {"fixtures.Affinity", "NARROW", "less than 256 KiB of stack are left on the executor's thread", NULL},
  };
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    struct visit visit = visit_executor(cases[i].class_name, cases[i].member);
    if (visit.status == JP_OK)
      fail_msg("%s was taken", cases[i].member);
    struct text wanted = arena_printf(&visit.arena, "thread affinity X (%s.%s): %s", cases[i].class_name,
                                      cases[i].member, cases[i].message);
    assert_int_equal(visit.outcome.kind, OUTCOME_ERROR);
    assert_int_equal(visit.outcome.failure, FAILURE_SERVER);
    unit_assert_text(visit.outcome.message, wanted, __FILE__, __LINE__);
    assert_int_equal(visit.runs, 0);
    if (cases[i].throwable == NULL)
      assert_null(visit.outcome.throwable_type.data);
    else
      unit_assert_text(visit.outcome.throwable_type, text_of(cases[i].throwable), __FILE__, __LINE__);
    arena_fini(&visit.arena);
  }
}

/* The first use fails as Java's initialisation does, the second as its memory of that. */
static void tells_of_a_class_that_cannot_be_initialised(void **state)
{
  (void)state;
  static const char *const throwables[] = {"java.lang.ExceptionInInitializerError",
                                           "java.lang.NoClassDefFoundError"};
  for (size_t i = 0; i < COUNT_OF(throwables); i++) {
    struct visit visit = visit_executor("fixtures.Affinity$Failing", "EXECUTOR");
    assert_int_equal(visit.status, JP_JAVA);
    unit_assert_text(visit.outcome.throwable_type, text_of(throwables[i]), __FILE__, __LINE__);
    arena_fini(&visit.arena);
  }
}

static int run_all(struct jvm *jvm, struct jvm_thread *thread)
{
  the_jvm = jvm;
  the_thread = thread;
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(runs_on_every_form_of_executor),
      cmocka_unit_test(says_what_is_no_executor),
      cmocka_unit_test(tells_of_a_class_that_cannot_be_initialised),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(void)
{
  return with_jvm(run_all);
}
