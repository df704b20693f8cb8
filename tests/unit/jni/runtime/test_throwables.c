#include "tests/unit/unit.h"

#include "jni/members.h"
#include "jni/runtime/strings.h"
#include "jni/runtime/throwables.h"
#include "tests/unit/jni/with_jvm.h"

#include <stdio.h>

static jclass hostile_class(void)
{
  jclass class = (*the_thread->env)->FindClass(the_thread->env, "jpeer/test/Hostile");
  assert_false(throwable_take(the_thread, NULL));
  return class;
}

static void call(const char *method)
{
  JNIEnv *env = the_thread->env;
  jclass class = hostile_class();
  jmethodID id = (*env)->GetStaticMethodID(env, class, method, "()V");
  assert_false(throwable_take(the_thread, NULL));
  (*env)->CallStaticVoidMethod(env, class, id);
}

static void throw_new(const char *name)
{
  JNIEnv *env = the_thread->env;
  jclass class = hostile_class();
  jmethodID id = (*env)->GetStaticMethodID(env, class, "throwNew", "(Ljava/lang/String;)V");
  assert_false(throwable_take(the_thread, NULL));
  jstring string = jvm_string_new(the_thread, text_of(name));
  assert_false(throwable_take(the_thread, NULL));
  (*env)->CallStaticVoidMethod(env, class, id, string);
}

struct outcome_and_arena {
  struct arena arena;
  struct outcome outcome;
};

static const struct outcome *take(struct outcome_and_arena *taken, size_t frames_max)
{
  arena_init(&taken->arena);
  assert_true(throwable_take_outcome(the_thread, &taken->arena, frames_max, &taken->outcome));
  assert_false((*the_thread->env)->ExceptionCheck(the_thread->env));
  assert_int_equal(taken->outcome.kind, OUTCOME_ERROR);
  assert_int_equal(taken->outcome.failure, FAILURE_SERVER);
  assert_non_null(taken->outcome.throwable);
  return &taken->outcome;
}

static size_t causes_of(const struct outcome_throwable *throwable)
{
  size_t count = 0;
  for (; throwable->cause != NULL; throwable = throwable->cause)
    count++;
  return count;
}

/* ---- */

UNIT_TEST(hostile_ones_still_give_an_answer)
{
  static const struct {
    const char *name;
    const char *message; /* NULL: none */
    bool has_frames;
    size_t causes;
  } rows[] = {
      {"ThrowsInGetMessage", NULL, true, 0},
      {"RecursesInGetMessage", NULL, true, 0},
      {"ExhaustsInGetMessage", NULL, true, 0},
      {"NoTrace", "no trace", false, 0},
      {"NullFrames", "null frames", false, 0},
      {"ThrowsInGetStackTrace", "throwing trace", false, 0},
      {"OwnCause", NULL, true, 0},
      {"EndlessCauses", NULL, true, 31},
      {"ThrowsInGetCause", NULL, true, 0},
      {"ThrowsInToString", NULL, true, 0},
  };
  for (size_t i = 0; i < COUNT_OF(rows); i++) {
    assert_int_equal(jvm_request_begin(the_thread), JP_OK);
    throw_new(rows[i].name);
    struct outcome_and_arena taken;
    const struct outcome *outcome = take(&taken, 10);
    const struct outcome_throwable *told = outcome->throwable;
    char type[128];
    snprintf(type, sizeof type, "jpeer.test.Hostile$%s", rows[i].name);
    assert_true(text_equal(told->type, text_of(type)));
    assert_ptr_equal(outcome->message.data, told->message.data);
    if (rows[i].message == NULL)
      assert_null(told->message.data);
    else
      assert_true(text_equal(told->message, text_of(rows[i].message)));
    assert_int_equal(told->frame_count > 0, rows[i].has_frames);
    assert_int_equal(causes_of(told), rows[i].causes);
    arena_fini(&taken.arena);
    jvm_request_end(the_thread);
  }
}

UNIT_TEST(a_long_message_is_cut)
{
  throw_new("LongMessage");
  struct outcome_and_arena taken;
  struct text message = take(&taken, 0)->throwable->message;
  assert_int_equal(message.len, 65536 + 3);
  assert_true(text_ends_with(message, TEXT("xxx...")));
  arena_fini(&taken.arena);
}

UNIT_TEST(a_loop_of_causes_is_cut)
{
  call("looping");
  struct outcome_and_arena taken;
  const struct outcome_throwable *told = take(&taken, 0)->throwable;
  assert_text(told->message, "first");
  assert_int_equal(causes_of(told), 1);
  assert_text(told->cause->message, "second");
  arena_fini(&taken.arena);
}

UNIT_TEST(errors_of_the_machine_are_described)
{
  static const struct {
    const char *method;
    const char *type;
  } rows[] = {
      {"overflow", "java.lang.StackOverflowError"},
      {"exhaust", "java.lang.OutOfMemoryError"},
      {"exhaustReally", "java.lang.OutOfMemoryError"},
  };
  for (size_t i = 0; i < COUNT_OF(rows); i++) {
    call(rows[i].method);
    struct outcome_and_arena taken;
    assert_true(text_equal(take(&taken, 50)->throwable->type, text_of(rows[i].type)));
    assert_true(taken.outcome.throwable->frame_count <= 50);
    arena_fini(&taken.arena);
  }
}

UNIT_TEST(an_error_gets_one_line)
{
  struct jp_error error = {.status = JP_OK};
  assert_false(throwable_take(the_thread, &error));
  assert_int_equal(error.status, JP_OK);
  throw_new("NoTrace");
  assert_true(throwable_take(the_thread, &error));
  assert_int_equal(error.status, JP_JAVA);
  assert_string_equal(error.text, "jpeer.test.Hostile$NoTrace: no trace");
  throw_new("ThrowsInGetMessage");
  assert_true(throwable_take(the_thread, &error));
  assert_string_equal(error.text, "jpeer.test.Hostile$ThrowsInGetMessage");
  throw_new("ThrowsInGetMessage");
  assert_true(throwable_take(the_thread, NULL));
}

/* ---- strings ---- */

UNIT_TEST(strings_come_back_as_they_went)
{
  static const struct text rows[] = {
      {"", 0},
      {"plain", 5},
      {"a\0b", 3},
      {"\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80", 9},
      {"\xED\xA0\x80", 3},
      {"x\xED\xB0\x80y", 5},
  };
  struct arena arena;
  arena_init(&arena);
  for (size_t i = 0; i < COUNT_OF(rows); i++) {
    jstring string = jvm_string_new(the_thread, rows[i]);
    assert_false(throwable_take(the_thread, NULL));
    struct text back = jvm_string_get(the_thread, string, &arena);
    assert_non_null(back.data);
    assert_true(text_equal(back, rows[i]));
  }
  arena_fini(&arena);
}

/* Of many lengths, ASCII alone and with another character at their ends. */
UNIT_TEST(long_strings_come_back_as_they_went)
{
  static const struct text ends[] = {{"", 0}, {"\xC3\xA9", 2}, {"\xF0\x9F\x98\x80", 4}, {"\xED\xA0\x80", 3}};
  enum { LENGTH_MAX = 6000, SHORT_MAX = 300 };
  char bytes[LENGTH_MAX + 4];
  struct arena arena;
  arena_init(&arena);
  for (size_t length = 1; length <= LENGTH_MAX; length += length < SHORT_MAX ? 1 : SHORT_MAX * 19) {
    for (size_t i = 0; i < COUNT_OF(ends); i++) {
      for (size_t k = 0; k < length; k++)
        bytes[k] = (char)(k % 128);
      memcpy(bytes + length, ends[i].data, ends[i].len);
      struct text text = {bytes, length + ends[i].len};
      jstring string = jvm_string_new(the_thread, text);
      assert_false(throwable_take(the_thread, NULL));
      assert_true(text_equal(jvm_string_get(the_thread, string, &arena), text));
      (*the_thread->env)->DeleteLocalRef(the_thread->env, string);
      arena_reset(&arena);
    }
  }
  arena_fini(&arena);
}

UNIT_TEST(classes_have_the_names_that_java_gives)
{
  static const struct {
    const char *find;
    const char *name;
  } rows[] = {{"java/util/Map$Entry", "java.util.Map$Entry"},
              {"[I", "[I"},
              {"[[Ljava/lang/String;", "[[Ljava.lang.String;"}};
  struct arena arena;
  arena_init(&arena);
  for (size_t i = 0; i < COUNT_OF(rows); i++) {
    jclass class = (*the_thread->env)->FindClass(the_thread->env, rows[i].find);
    assert_false(throwable_take(the_thread, NULL));
    assert_true(text_equal(jvm_class_name(the_thread, class, &arena), text_of(rows[i].name)));
  }
  arena_fini(&arena);
}

JVM_MAIN(NULL, NULL)
