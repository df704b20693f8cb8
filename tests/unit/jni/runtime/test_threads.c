#include "tests/unit/await.h"
#include "tests/unit/unit.h"

#include "base/process_limits.h"
#include "jni/members.h"
#include "jni/runtime/peer_threads.h"
#include "jni/runtime/strings.h"
#include "jni/runtime/throwables.h"
#include "tests/unit/jni/with_jvm.h"

#include <pthread.h>
#include <semaphore.h>

static jclass threads_class(struct jvm_thread *thread)
{
  return (*thread->env)->FindClass(thread->env, "jpeer/test/Threads");
}

static void call(struct jvm_thread *thread, const char *name)
{
  JNIEnv *env = thread->env;
  jclass class = threads_class(thread);
  jmethodID id = (*env)->GetStaticMethodID(env, class, name, "()V");
  assert_false(throwable_take(thread, NULL));
  (*env)->CallStaticVoidMethod(env, class, id);
  assert_false(throwable_take(thread, NULL));
}

static void assert_complaints(const char *expected)
{
  JNIEnv *env = the_thread->env;
  jclass class = threads_class(the_thread);
  assert_false(throwable_take(the_thread, NULL));
  jmethodID id = (*env)->GetStaticMethodID(env, class, "complaints", "()Ljava/lang/String;");
  assert_false(throwable_take(the_thread, NULL));
  jstring string = (*env)->CallStaticObjectMethod(env, class, id);
  assert_false(throwable_take(the_thread, NULL));
  struct arena arena;
  arena_init(&arena);
  assert_true(text_equal(jvm_string_get(the_thread, string, &arena), text_of(expected)));
  arena_fini(&arena);
}

UNIT_TEST(called_code_finds_its_classes)
{
  assert_complaints("");
}

/* The number of Java frames depends on the compiler; the size in bytes is fixed. */
UNIT_TEST(the_stack_is_small)
{
  assert_in_range(stack_left(), 1024 * 1024, 2 * 1024 * 1024);
}

UNIT_TEST(the_end_of_the_stack_is_an_error_of_java)
{
  JNIEnv *env = the_thread->env;
  jclass class = threads_class(the_thread);
  jmethodID id = (*env)->GetStaticMethodID(env, class, "depth", "()I");
  assert_false(throwable_take(the_thread, NULL));
  jint depth = (*env)->CallStaticIntMethod(env, class, id);
  assert_false(throwable_take(the_thread, NULL));
  assert_true(depth > 1000);
  assert_complaints("");
}

UNIT_TEST(a_request_finds_the_thread_unchanged)
{
  static const struct {
    const char *method;
    const char *complaints;
  } spoilers[] = {{"interrupt", "interrupted; "}, {"dropLoader", "context class loader; "}};
  for (size_t i = 0; i < sizeof spoilers / sizeof spoilers[0]; i++) {
    assert_int_equal(jvm_request_begin(the_thread), JP_OK);
    call(the_thread, spoilers[i].method);
    assert_complaints(spoilers[i].complaints);
    jvm_request_end(the_thread);

    assert_int_equal(jvm_request_begin(the_thread), JP_OK);
    assert_complaints("");
    jvm_request_end(the_thread);
  }
}

UNIT_TEST(an_interrupt_of_all_groups_does_not_reach_the_thread)
{
  call(the_thread, "interruptGroups");
  assert_complaints("");
}

/* ---- spawning ---- */

struct spawned {
  sem_t done;
  enum jp_status status;
  bool had_cache;
  bool dropped;
};

static void drop_cache(struct jvm_thread *thread)
{
  struct spawned *spawned = (struct spawned *)thread->member_cache;
  spawned->dropped = true;
  sem_post(&spawned->done);
}

static void run_spawned(void *argument, struct jvm_thread *thread)
{
  struct spawned *spawned = argument;
  spawned->had_cache = thread->member_cache != NULL;
  thread->member_cache = argument;
  thread->member_cache_destroy = drop_cache;
}

static void *spawn_unattached(void *argument)
{
  struct spawned *spawned = argument;
  spawned->status = jvm_spawn(the_jvm, "spawned", run_spawned, argument, NULL);
  return NULL;
}

UNIT_TEST(any_thread_can_spawn)
{
  struct spawned spawned = {.had_cache = true};
  sem_init(&spawned.done, 0, 0);
  pthread_t outside;
  assert_int_equal(pthread_create(&outside, NULL, spawn_unattached, &spawned), 0);
  assert_int_equal(pthread_join(outside, NULL), 0);
  assert_int_equal(spawned.status, JP_OK);
  AWAIT_POST(&spawned.done, "the thread");
  assert_false(spawned.had_cache);
  assert_true(spawned.dropped);
  sem_destroy(&spawned.done);
}

UNIT_TEST(many_come_and_go)
{
  for (int i = 0; i < 200; i++) {
    struct spawned spawned = {.had_cache = true};
    sem_init(&spawned.done, 0, 0);
    assert_int_equal(jvm_spawn(the_jvm, "spawned", run_spawned, &spawned, NULL), JP_OK);
    AWAIT_POST(&spawned.done, "the thread");
  }
}

struct repeated {
  sem_t done;
  int runs;
};

static void run_again(void *argument, struct jvm_thread *thread)
{
  struct repeated *repeated = argument;
  if (++repeated->runs == 1)
    call(thread, "runAgain");
  sem_post(&repeated->done);
}

UNIT_TEST(work_is_done_once)
{
  struct repeated repeated = {.runs = 0};
  sem_init(&repeated.done, 0, 0);
  assert_int_equal(jvm_spawn(the_jvm, "repeated", run_again, &repeated, NULL), JP_OK);
  AWAIT_POST(&repeated.done, "the thread");
  assert_int_equal(repeated.runs, 1);
  sem_destroy(&repeated.done);
}

/* The work of a thread that was never started can be withdrawn, once; that thread then does nothing. */
UNIT_TEST(work_that_was_not_begun_is_withdrawn)
{
  JNIEnv *env = the_thread->env;
  struct repeated repeated = {.runs = 0};
  struct jvm_work *work;
  jobject made = jvm_thread_make(the_thread, "withdrawn", run_again, &repeated, &work, NULL);
  assert_non_null(made);
  assert_true(jvm_work_withdraw(env, work));
  assert_false(jvm_work_withdraw(env, work));
  (*env)->CallVoidMethod(env, made, the_jvm->known.method_thread_start);
  assert_false(throwable_take(the_thread, NULL));
  (*env)->CallVoidMethod(env, made, the_jvm->known.method_thread_join);
  assert_false(throwable_take(the_thread, NULL));
  assert_int_equal(repeated.runs, 0);
  (*env)->DeleteLocalRef(env, made);
}

/* ---- threads that never return ---- */

struct stuck {
  sem_t begun;
  struct jvm_thread *thread;
};

static void sleep_for_ever(void *argument, struct jvm_thread *thread)
{
  struct stuck *stuck = argument;
  stuck->thread = thread;
  jclass class = threads_class(thread);
  jmethodID id = (*thread->env)->GetStaticMethodID(thread->env, class, "sleepForEver", "()V");
  sem_post(&stuck->begun);
  (*thread->env)->CallStaticVoidMethod(thread->env, class, id);
}

UNIT_TEST(a_sleeping_thread_is_not_exiting)
{
  static struct stuck stuck; /* the thread outlives the test */
  sem_init(&stuck.begun, 0, 0);
  assert_int_equal(jvm_spawn(the_jvm, "sleeper", sleep_for_ever, &stuck, NULL), JP_OK);
  AWAIT_POST(&stuck.begun, "the thread");
  assert_false(jvm_thread_is_exiting(the_jvm, stuck.thread));
  assert_false(jvm_thread_is_exiting(the_jvm, the_thread));
}

JVM_MAIN(NULL, NULL)
