/* The breaches that the ledger finds: the faults are made here on purpose, and each is one breach. */
#include "tests/ledger/reference_ledger.h"

#include "jni/runtime/machine.h"
#include "tests/unit/jni/with_jvm.h"
#include "tests/unit/unit.h"

#include <semaphore.h>

static JNIEnv *env;
static jobject object; /* global */

static void make_no_mistake(void)
{
  if ((*env)->PushLocalFrame(env, 2) != 0)
    fail();
  (void)(*env)->NewLocalRef(env, object);
  (*env)->DeleteLocalRef(env, (*env)->NewLocalRef(env, object));
  (void)(*env)->NewLocalRef(env, object);
  (void)(*env)->PopLocalFrame(env, NULL);
  (*env)->DeleteGlobalRef(env, (*env)->NewGlobalRef(env, object));
  (*env)->DeleteWeakGlobalRef(env, (*env)->NewWeakGlobalRef(env, object));
}

static void leave_local_reference(void)
{
  (void)(*env)->NewLocalRef(env, object);
}

static void leave_result(void)
{
  jclass class = (*env)->FindClass(env, "java/lang/Object");
  jmethodID to_string = (*env)->GetMethodID(env, class, "toString", "()Ljava/lang/String;");
  (*env)->DeleteLocalRef(env, class);
  (void)(*env)->CallObjectMethod(env, object, to_string);
}

static void leave_frames(void)
{
  if ((*env)->PushLocalFrame(env, 2) != 0 || (*env)->PushLocalFrame(env, 2) != 0)
    fail();
}

static void pop_frame_too_often(void)
{
  (void)(*env)->PopLocalFrame(env, NULL);
}

static void exceed_frame(void)
{
  if ((*env)->PushLocalFrame(env, 2) != 0)
    fail();
  for (int i = 0; i < 3; i++)
    (void)(*env)->NewLocalRef(env, object);
  (void)(*env)->PopLocalFrame(env, NULL);
}

static void leave_exception(void)
{
  if ((*env)->FindClass(env, "no/Such") != NULL)
    fail();
}

static void leave_global_reference(void)
{
  (void)(*env)->NewGlobalRef(env, object);
}

static void leave_weak_reference(void)
{
  (void)(*env)->NewWeakGlobalRef(env, object);
}

struct request {
  void (*serve)(void);
  const char *text;
  sem_t is_over;
};

static void serve_request(void *argument, struct jvm_thread *thread)
{
  struct request *request = argument;
  env = thread->env;
  reference_ledger_begin(text_of(request->text), true);
  request->serve();
  reference_ledger_end();
  (*env)->ExceptionClear(env);
  sem_post(&request->is_over);
}

/* Serves on a separate thread, because the end of a thread ends its local references and frames. */
static size_t count_breaches(void (*serve)(void), const char *text)
{
  size_t before = reference_ledger_breaches();
  struct request request = {.serve = serve, .text = text};
  struct jp_error error;
  sem_init(&request.is_over, 0, 0);
  assert_int_equal(jvm_spawn(the_jvm, "request", serve_request, &request, &error), JP_OK);
  sem_wait(&request.is_over);
  return reference_ledger_breaches() - before;
}

UNIT_TEST(a_request_leaves_nothing_local)
{
  static const struct {
    const char *what;
    void (*serve)(void);
    size_t breaches;
  } rows[] = {
      {"no mistake", make_no_mistake, 0},
      {"a reference is left", leave_local_reference, 1},
      {"the result of a call is left", leave_result, 1},
      {"frames are left", leave_frames, 1},
      {"a frame is popped too often", pop_frame_too_often, 1},
      {"a frame holds more than it has room for", exceed_frame, 1},
      {"an exception is left", leave_exception, 1},
  };
  for (size_t i = 0; i < COUNT_OF(rows); i++) {
    size_t breaches = count_breaches(rows[i].serve, "{}");
    if (breaches != rows[i].breaches)
      fail_msg("%s: %zu breaches", rows[i].what, breaches);
  }
}

static void check_globals(void *argument, struct jvm_thread *thread)
{
  reference_ledger_check_globals(thread->env, true);
  sem_post(argument);
}

static size_t count_left(void)
{
  size_t before = reference_ledger_breaches();
  sem_t is_over;
  struct jp_error error;
  sem_init(&is_over, 0, 0);
  assert_int_equal(jvm_spawn(the_jvm, "check", check_globals, &is_over, &error), JP_OK);
  sem_wait(&is_over);
  return reference_ledger_breaches() - before;
}

/* A cache may keep a reference for a request, but not a second reference when the request is repeated. */
UNIT_TEST(requests_leave_no_more_each_time)
{
  static const struct {
    void (*serve)(void);
    const char *text;
    const char *other;
  } rows[] = {{leave_global_reference, "global", "another"}, {leave_weak_reference, "weak", "another weak"}};
  for (size_t i = 0; i < COUNT_OF(rows); i++) {
    assert_int_equal(count_breaches(rows[i].serve, rows[i].text), 0);
    assert_int_equal(count_breaches(rows[i].serve, rows[i].other), 0);
    assert_int_equal(count_left(), 0);
    assert_int_equal(count_breaches(rows[i].serve, rows[i].text), 0);
    assert_int_equal(count_left(), 2); /* both of the request's */
    assert_int_equal(count_left(), 0); /* each is reported once */
  }
}

static int run_all(struct jvm *jvm, struct jvm_thread *thread)
{
  (void)jvm;
  jclass class = (*thread->env)->FindClass(thread->env, "java/lang/Object");
  object = (*thread->env)->NewGlobalRef(thread->env, (*thread->env)->AllocObject(thread->env, class));
  return !reference_ledger_start(thread->env) || UNIT_RUN(NULL, NULL) != 0;
}

int main(void)
{
  return with_jvm_uncounted(run_all); /* whose breaches do not count as failures */
}
