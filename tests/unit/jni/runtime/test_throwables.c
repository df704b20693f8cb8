#include "tests/unit/unit.h"

#include "jni/members.h"
#include "jni/runtime/strings.h"
#include "jni/runtime/throwables.h"
#include "tests/unit/jni/with_jvm.h"

/* Calls a method of fixtures.Throwables. */
static void call(const char *method)
{
  JNIEnv *env = the_thread->env;
  jclass class = (*env)->FindClass(env, "fixtures/Throwables");
  assert_false(throwable_take(the_thread, NULL));
  jmethodID id = (*env)->GetStaticMethodID(env, class, method, "()V");
  assert_false(throwable_take(the_thread, NULL));
  (*env)->CallStaticVoidMethod(env, class, id);
}

UNIT_TEST(an_error_gets_one_line)
{
  struct jp_error error = {.status = JP_OK};
  assert_false(throwable_take(the_thread, &error));
  assert_int_equal(error.status, JP_OK);
  call("checked");
  assert_true(throwable_take(the_thread, &error));
  assert_int_equal(error.status, JP_JAVA);
  assert_string_equal(error.text, "java.io.IOException: checked");
  call("hostileMessage");
  assert_true(throwable_take(the_thread, &error));
  assert_string_equal(error.text, "fixtures.Throwables$HostileException");
  call("hostileMessage");
  assert_true(throwable_take(the_thread, NULL));
}

/* ---- strings ---- */

UNIT_TEST(strings_return_unchanged)
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

/* Texts of many lengths: only ASCII, or with another character at one end. */
UNIT_TEST(long_strings_return_unchanged)
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

UNIT_TEST(classes_have_the_names_of_get_name)
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
