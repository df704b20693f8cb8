/* Work that another Java thread does in place of a waiting thread: once, with the waiting thread's struct, or
 * not at all. */
#include "tests/unit/unit.h"

#include "jni/members.h"
#include "jni/resolve/member_cache.h"
#include "jni/runtime/tasks.h"
#include "jni/runtime/throwables.h"
#include "tests/unit/jni/with_jvm.h"

#include <stdatomic.h>
#include <stdio.h>

/* What a task has observed. */
struct seen {
  JNIEnv *env;
  struct jvm_thread *thread;
  struct jvm_task *task; /* of its thread while it ran */
  atomic_int runs;
  enum jvm_frame frame;
  bool opens_frames;
};

static void note_run(void *argument, struct jvm_thread *thread)
{
  struct seen *seen = argument;
  atomic_fetch_add(&seen->runs, 1);
  seen->env = thread->env;
  seen->thread = thread;
  seen->frame = thread->frame;
  seen->task = jvm_task_of(thread->own_env);
  jvm_task_release(thread->env, seen->task);
  if (!seen->opens_frames)
    return;
  assert_int_equal(jvm_request_begin(thread), JP_OK);
  assert_true(jvm_request_add_frame(thread, 100));
  assert_non_null(jvm_thread_units(thread, 1000));
}

static struct jvm_task *create_task(struct seen *seen, jobject *object)
{
  struct jvm_task *task;
  struct jp_error error;
  assert_int_equal(jvm_task_create(the_thread, note_run, seen, &task, object, &error), JP_OK);
  return task;
}

/* A Java thread that runs the object: a local reference. */
static jobject make_java_thread(jobject object)
{
  JNIEnv *env = the_thread->env;
  jclass class = the_jvm->known.class_thread;
  jmethodID constructor = (*env)->GetMethodID(env, class, "<init>", "(Ljava/lang/Runnable;)V");
  assert_false(throwable_take(the_thread, NULL));
  jobject made = (*env)->NewObject(env, class, constructor, object);
  assert_false(throwable_take(the_thread, NULL));
  return made;
}

static void run_object_to_its_end(jobject object)
{
  JNIEnv *env = the_thread->env;
  jobject made = make_java_thread(object);
  (*env)->CallVoidMethod(env, made, the_jvm->known.method_thread_start);
  assert_false((*env)->ExceptionCheck(env)); /* from now on the_thread may be lent */
  (*env)->CallVoidMethod(env, made, the_jvm->known.method_thread_join);
  assert_false(throwable_take(the_thread, NULL));
  (*env)->DeleteLocalRef(env, made);
}

static void run_object_here(jobject object)
{
  JNIEnv *env = the_thread->env;
  jclass class = (*env)->GetObjectClass(env, object);
  jmethodID run = (*env)->GetMethodID(env, class, "run", "()V");
  assert_false(throwable_take(the_thread, NULL));
  (*env)->CallVoidMethod(env, object, run);
  assert_false(throwable_take(the_thread, NULL));
  (*env)->DeleteLocalRef(env, class);
}

UNIT_TEST(a_task_runs_once_on_the_thread_that_runs_its_object)
{
  JNIEnv *env = the_thread->env;
  struct seen seen = {.opens_frames = true};
  jobject object;
  assert_int_equal(jvm_request_begin(the_thread), JP_OK);
  struct jvm_task *task = create_task(&seen, &object);
  JNIEnv *taker_env;
  assert_null(jvm_task_taker(task, &taker_env));
  assert_null(taker_env);
  for (int i = 0; i < 3; i++)
    run_object_to_its_end(object);
  assert_int_equal(jvm_task_await(task), JVM_TASK_DONE);
  run_object_to_its_end(object);
  run_object_here(object);
  assert_int_equal(seen.runs, 1);
  assert_ptr_equal(seen.thread, the_thread);
  assert_ptr_not_equal(seen.env, env);
  assert_ptr_equal(seen.task, task);
  assert_int_equal(seen.frame, JVM_FRAME_NONE);
  assert_non_null(jvm_task_taker(task, &taker_env));
  assert_ptr_equal(taker_env, seen.env);
  /* The thread's struct is as before, except for the memory that the work has added. */
  assert_ptr_equal(the_thread->env, env);
  assert_ptr_equal(the_thread->restorable, the_thread->java_thread);
  assert_int_equal(the_thread->frame, JVM_FRAME_USED);
  assert_int_equal(the_thread->more_frames, 0);
  assert_true(the_thread->unit_capacity >= 1000);
  jvm_task_release(env, task);
  run_object_to_its_end(object);
  assert_int_equal(seen.runs, 1);
  assert_null(jvm_task_of(env));
  jvm_request_end(the_thread);
}

UNIT_TEST(a_task_can_run_on_its_own_thread)
{
  JNIEnv *env = the_thread->env;
  struct seen seen = {.opens_frames = true};
  jobject object;
  assert_int_equal(jvm_request_begin(the_thread), JP_OK);
  struct jvm_task *task = create_task(&seen, &object);
  run_object_here(object);
  run_object_here(object);
  assert_int_equal(jvm_task_await(task), JVM_TASK_DONE);
  assert_int_equal(seen.runs, 1);
  assert_ptr_equal(seen.env, env);
  assert_int_equal(seen.frame, JVM_FRAME_NONE);
  assert_int_equal(the_thread->frame, JVM_FRAME_USED);
  jvm_task_release(env, task);
  jvm_request_end(the_thread);
}

UNIT_TEST(a_withdrawn_task_never_runs)
{
  JNIEnv *env = the_thread->env;
  struct seen seen = {0};
  jobject object;
  assert_int_equal(jvm_request_begin(the_thread), JP_OK);
  struct jvm_task *task = create_task(&seen, &object);
  assert_true(jvm_task_withdraw(task));
  assert_false(jvm_task_withdraw(task));
  run_object_to_its_end(object);
  jvm_task_release(env, task);
  run_object_to_its_end(object);
  assert_int_equal(seen.runs, 0);
  jvm_request_end(the_thread);
}

UNIT_TEST(a_finished_task_cannot_be_withdrawn)
{
  struct seen seen = {0};
  jobject object;
  assert_int_equal(jvm_request_begin(the_thread), JP_OK);
  struct jvm_task *task = create_task(&seen, &object);
  run_object_to_its_end(object);
  assert_false(jvm_task_withdraw(task));
  assert_int_equal(jvm_task_await(task), JVM_TASK_DONE);
  jvm_task_release(the_thread->env, task);
  jvm_request_end(the_thread);
}

UNIT_TEST(a_dropped_task_ends_the_wait)
{
  JNIEnv *env = the_thread->env;
  struct seen seen = {0};
  jobject object;
  assert_int_equal(jvm_request_begin(the_thread), JP_OK);
  struct jvm_task *task = create_task(&seen, &object);
  (*env)->DeleteLocalRef(env, object);
  jvm_gc(the_thread);
  assert_int_equal(jvm_task_await(task), JVM_TASK_DROPPED);
  assert_false(jvm_task_withdraw(task));
  jvm_task_release(env, task);
  assert_int_equal(seen.runs, 0);
  jvm_request_end(the_thread);
}

/* Each object finds its own task, in any order of their runs; some are withdrawn in between. */
UNIT_TEST(each_of_many_tasks_finds_its_object)
{
  enum { TASKS = 60 };
  JNIEnv *env = the_thread->env;
  static struct seen seen[TASKS];
  struct jvm_task *tasks[TASKS];
  jobject objects[TASKS];
  assert_int_equal(jvm_request_begin(the_thread), JP_OK);
  assert_true(jvm_request_add_frame(the_thread, TASKS + 8));
  for (int i = 0; i < TASKS; i++)
    tasks[i] = create_task(&seen[i], &objects[i]);
  for (int i = 0; i < TASKS; i += 3)
    assert_true(jvm_task_withdraw(tasks[i]));
  for (int i = TASKS - 1; i >= 0; i--) {
    run_object_here(objects[i]);
    for (int j = 0; j < TASKS; j++)
      assert_int_equal(seen[j].runs, j >= i && j % 3 != 0);
    if (i % 2 == 0)
      jvm_task_release(env, tasks[i]);
  }
  for (int i = 1; i < TASKS; i += 2)
    jvm_task_release(env, tasks[i]);
  assert_null(jvm_task_of(env));
  jvm_request_end(the_thread);
}

/* Fills the cache until it frees the weak references of its earlier contents. */
static void overfill_cache(void *argument, struct jvm_thread *thread)
{
  (void)argument;
  enum { MEMBERS = 3 * 4096 };
  JNIEnv *env = thread->env;
  struct member_cache *cache = member_cache_of(thread);
  assert_non_null(cache);
  for (int i = 0; i < MEMBERS; i++) {
    char name[16];
    int length = snprintf(name, sizeof name, "m%d", i);
    const struct operation operation = {.kind = OP_CALL, .type = TEXT("T"), .member = {name, (size_t)length}};
    struct call_frame frame = {.receiver = NULL};
    assert_null(member_cache_find(cache, &operation, &frame));
    struct resolved_member member = {.action = MEMBER_REFUSE};
    member.named_ref = (*env)->NewWeakGlobalRef(env, the_jvm->known.class_object);
    assert_false(throwable_take(thread, NULL));
    assert_ptr_not_equal(member_cache_keep(cache, &operation, &frame, &member), &member);
  }
}

/* -Xcheck:jni reports a use of the waiting thread's env. */
UNIT_TEST(a_lent_cache_is_emptied_by_the_borrower)
{
  struct jvm_task *task;
  jobject object;
  struct jp_error error;
  assert_int_equal(jvm_request_begin(the_thread), JP_OK);
  assert_non_null(member_cache_of(the_thread));
  assert_int_equal(jvm_task_create(the_thread, overfill_cache, NULL, &task, &object, &error), JP_OK);
  run_object_to_its_end(object);
  assert_int_equal(jvm_task_await(task), JVM_TASK_DONE);
  jvm_task_release(the_thread->env, task);
  jvm_request_end(the_thread);
}

JVM_MAIN(NULL, NULL)
