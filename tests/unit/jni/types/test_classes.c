/* Classes of several loaders, and of several threads at once. */
#include "tests/unit/await.h"
#include "tests/unit/jni/members_cases.h"
#include "tests/unit/jni/with_jvm.h"

#include "jni/proxies/kinds.h"
#include "jni/resolve/member_cache.h"
#include "jni/runtime/strings.h"
#include "jni/runtime/throwables.h"
#include "jni/types/member_table.h"

#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>

#define TWIN                  "'type':'fixtures.members.Twin'"
#define check(params, wanted) members_check("call", "{" params "}", wanted, NULL)

/* The peer's table of classes does not keep them loaded. */
UNIT_TEST(classes_can_be_unloaded)
{
  jvm_objects_clear(session.thread, session.objects);
  char params[128];
  /* More than the class table's first buckets, so that it drops unloaded classes. */
  for (int i = 0; i < 1200; i++) {
    if (i % 400 == 0)
      check("'type':'fixtures.members.Loaders','method':'alive'", "int 0");
    uint32_t ref;
    uint32_t other;
    (void)members_run(&session, "call", "{'type':'fixtures.members.Loaders','method':'twin'}", &ref);
    assert_int_not_equal(ref, 0);
    snprintf(params, sizeof params, "{" TWIN ",'method':'another','instance':%u}", ref);
    (void)members_run(&session, "call", params, &other);
    assert_int_equal(jvm_objects_delete(session.thread, session.objects, ref), JP_OK);
    assert_int_equal(jvm_objects_delete(session.thread, session.objects, other), JP_OK);
  }
  check("'type':'fixtures.members.Loaders','method':'alive'", "int 0");
}

static struct text run_operation(const struct operation *operation, struct jvm_target *target,
                                 struct outcome *outcome)
{
  struct jvm_request request = {.thread = session.thread,
                                .objects = session.objects,
                                .operation = operation,
                                .arena = &session.arena,
                                .limits = &session.limits,
                                .judge = &session.judge};
  arena_reset(&session.arena);
  assert_int_equal(jvm_request_begin(session.thread), JP_OK);
  assert_int_equal(jvm_resolve(&request, target, outcome), JP_OK);
  jvm_invoke(&request, target, outcome);
  jvm_request_end(session.thread);
  assert_int_equal(outcome->kind, OUTCOME_VALUE);
  return outcome->type;
}

/* More members than the cache holds: arguments of five kinds make 5^6 keys of one method. */
UNIT_TEST(a_full_cache_is_emptied)
{
  static const struct op_value kinds[] = {
      {.kind = OP_INTEGER, .integer = 1},   {.kind = OP_INTEGER, .integer = INT64_MAX}, {.kind = OP_BOOLEAN},
      {.kind = OP_TEXT, .text = TEXT("x")}, {.kind = OP_DOUBLE, .decimal = 1.5},
  };
  struct operation nano_time = {
      .kind = OP_CALL, .type = TEXT("java.lang.System"), .member = TEXT("nanoTime")};
  struct jvm_target target;
  struct outcome outcome;
  check("'type':'fixtures.Calculator','method':'add','args':[1,2]", "int 3");
  (void)run_operation(&nano_time, &target, &outcome);
  assert_true(target.resolved->is_kept);
  uint64_t serial = session.thread->member_cache->serial;
  /* Fills the cache twice, so that its first members are freed. */
  for (unsigned i = 0; i < 10000; i++) {
    struct op_value args[6];
    for (unsigned at = 0, rest = i; at < COUNT_OF(args); at++, rest /= COUNT_OF(kinds))
      args[at] = kinds[rest % COUNT_OF(kinds)];
    struct operation operation = {.kind = OP_CALL,
                                  .type = TEXT("java.util.Objects"),
                                  .member = TEXT("hash"),
                                  .args = args,
                                  .arg_count = COUNT_OF(args)};
    (void)run_operation(&operation, &target, &outcome);
  }
  assert_non_null(session.thread->member_cache->retired);
  assert_true(session.thread->member_cache->count < 5000);
  assert_true(serial + 2 <= session.thread->member_cache->serial);
  unit_assert_text(run_operation(&nano_time, &target, &outcome), TEXT("long"), __FILE__, __LINE__);
  check("'type':'fixtures.Calculator','method':'add','args':[1,2]", "int 3");
}

struct kind_case {
  int64_t argument; /* of Math.abs */
  const char *type;
};

UNIT_TEST(a_record_is_found_by_the_kinds_of_values)
{
  static const struct kind_case cases[] = {
      {-5, "int"}, {-6, "int"}, {-5000000000, "long"}, {-7, "int"}, {-6000000000, "long"},
  };
  struct op_value argument = {.kind = OP_INTEGER};
  struct operation operation = {.kind = OP_CALL,
                                .type = TEXT("java.lang.Math"),
                                .member = TEXT("abs"),
                                .args = &argument,
                                .arg_count = 1};
  struct jvm_target target;
  struct outcome outcome;
  for (size_t i = 0; i < 2 * COUNT_OF(cases); i++) {
    const struct kind_case *one = &cases[i % COUNT_OF(cases)];
    argument.integer = one->argument;
    unit_assert_text(run_operation(&operation, &target, &outcome), text_of(one->type), __FILE__, __LINE__);
    assert_true(outcome.value.integer == -one->argument);
  }
}

UNIT_TEST(a_record_is_found_by_the_class_of_the_receiver)
{
  static const char *const classes[] = {"java.util.ArrayList", "java.util.HashMap", "java.util.ArrayList"};
  struct operation operation = {
      .kind = OP_CALL, .type = TEXT("java.lang.Object"), .member = TEXT("hashCode"), .has_instance = true};
  for (size_t i = 0; i < 2 * COUNT_OF(classes); i++) {
    char params[64];
    const char *class = classes[i / 2];
    struct jvm_target target;
    struct outcome outcome;
    snprintf(params, sizeof params, "{'type':'%s'}", class);
    (void)members_run(&session, "new", params, &operation.instance);
    (void)run_operation(&operation, &target, &outcome);
    unit_assert_text(target.facts.runtime_class, text_of(class), __FILE__, __LINE__);
  }
}

enum { THREADS = 4 };

struct racer {
  pthread_barrier_t *barrier;
  sem_t *done;
  uint32_t id;
  const struct member_table *members;
  size_t methods;
};

static void race(void *argument, struct jvm_thread *thread)
{
  struct racer *racer = argument;
  pthread_barrier_wait(racer->barrier);
  struct jvm_class *class =
      jvm_class_load(thread, TEXT("java.util.concurrent.ConcurrentSkipListMap"), thread->jvm->class_loader);
  if (class != NULL) {
    racer->id = class->id;
    racer->members = member_table_of(thread, class);
    racer->methods = racer->members == NULL ? 0 : racer->members->method_count;
  }
  sem_post(racer->done);
}

UNIT_TEST(threads_agree_on_a_class)
{
  pthread_barrier_t barrier;
  sem_t done;
  pthread_barrier_init(&barrier, NULL, THREADS);
  sem_init(&done, 0, 0);
  struct racer racers[THREADS];
  struct jp_error error;
  for (size_t i = 0; i < THREADS; i++) {
    racers[i] = (struct racer){.barrier = &barrier, .done = &done};
    assert_int_equal(jvm_spawn(the_jvm, "racer", race, &racers[i], &error), JP_OK);
  }
  for (size_t i = 0; i < THREADS; i++)
    AWAIT_POST(&done, "the racers");
  assert_int_not_equal(racers[0].id, 0);
  assert_true(racers[0].methods > 10);
  for (size_t i = 1; i < THREADS; i++) {
    assert_int_equal(racers[i].id, racers[0].id);
    assert_ptr_equal(racers[i].members, racers[0].members);
  }
  assert_ptr_equal(member_table_of(session.thread, jvm_class_by_id(session.thread, racers[0].id)),
                   racers[0].members);
  sem_destroy(&done);
}

UNIT_TEST(unknown_ids_have_no_class)
{
  assert_null(jvm_class_by_id(session.thread, 0));
  assert_null(jvm_class_by_id(session.thread, 1000000));
  assert_null(jvm_class_by_id(session.thread, UINT32_MAX));
}

struct kind_racer {
  pthread_barrier_t *barrier;
  sem_t *done;
  struct callback_kind *kind;
};

static void race_for_kind(void *argument, struct jvm_thread *thread)
{
  struct kind_racer *racer = argument;
  struct jvm_class *interface =
      jvm_class_load(thread, TEXT("java.util.Comparator"), thread->jvm->class_loader);
  const struct callback_form form = {.interfaces = &interface, .interface_count = 1};
  jobject object = NULL;
  struct jp_error error;
  pthread_barrier_wait(racer->barrier);
  if (callback_kind_find(thread, &form, &racer->kind, &object, &error) != JP_OK)
    racer->kind = NULL;
  (*thread->env)->DeleteLocalRef(thread->env, object);
  sem_post(racer->done);
}

UNIT_TEST(threads_agree_on_a_kind_of_callbacks)
{
  pthread_barrier_t barrier;
  sem_t done;
  pthread_barrier_init(&barrier, NULL, THREADS);
  sem_init(&done, 0, 0);
  struct kind_racer racers[THREADS];
  struct jp_error error;
  for (size_t i = 0; i < THREADS; i++) {
    racers[i] = (struct kind_racer){.barrier = &barrier, .done = &done};
    assert_int_equal(jvm_spawn(the_jvm, "racer", race_for_kind, &racers[i], &error), JP_OK);
  }
  for (size_t i = 0; i < THREADS; i++)
    AWAIT_POST(&done, "the racers");
  assert_non_null(racers[0].kind);
  for (size_t i = 0; i < THREADS; i++) {
    assert_ptr_equal(racers[i].kind, racers[0].kind);
    callback_kind_release(session.thread->env, racers[i].kind);
  }
  sem_destroy(&done);
}

/* No name finds a hidden class: only Java itself can return one. */
UNIT_TEST(no_proxy_implements_a_hidden_interface)
{
  JNIEnv *env = session.thread->env;
  assert_int_equal((*env)->PushLocalFrame(env, 16), 0);
  jclass callbacks = (*env)->FindClass(env, "fixtures/members/Callbacks");
  jmethodID hide = (*env)->GetStaticMethodID(env, callbacks, "hide", "()Ljava/lang/Class;");
  assert_false((*env)->ExceptionCheck(env));
  jobject hidden = (*env)->CallStaticObjectMethod(env, callbacks, hide);
  assert_false((*env)->ExceptionCheck(env));
  struct jvm_class *interface = jvm_class_of(session.thread, hidden);
  struct callback_kind *kind = NULL;
  jobject object;
  struct jp_error error;
  assert_non_null(interface);
  const struct callback_form form = {.interfaces = &interface, .interface_count = 1};
  assert_int_equal(callback_kind_find(session.thread, &form, &kind, &object, &error), JP_INVALID);
  assert_non_null(strstr(error.text, "is a hidden interface, which no proxy can implement"));
  (*env)->PopLocalFrame(env, NULL);
}

JVM_MAIN(members_open, members_close)
