#include "jni/thread_names.h"

#include "jni/runtime/strings.h"
#include "jni/runtime/throwables.h"

#include <string.h>

enum { REFERENCES = 8, OWN_MAX = 32 };

/* What compares and sets the field. A JVM without it gives no names. Written by the first thread that gives one: the
 * callers give names one at a time, and take back what was given. */
static struct {
  bool is_looked_up;
  bool is_usable;
  jobject unsafe; /* global */
  jmethodID compare_and_set;
  jlong offset;
  jfieldID name;
} field;

static void look_up_offset(struct jvm_thread *by, jclass class, jobject unsafe)
{
  JNIEnv *env = by->env;
  jmethodID offset_of =
      (*env)->GetMethodID(env, class, "objectFieldOffset", "(Ljava/lang/Class;Ljava/lang/String;)J");
  jstring name = offset_of == NULL ? NULL : jvm_string_new(by, TEXT("name"));
  if (name == NULL)
    return;
  field.offset = (*env)->CallLongMethod(env, unsafe, offset_of, by->jvm->known.class_thread, name);
  if (!(*env)->ExceptionCheck(env))
    field.unsafe = (*env)->NewGlobalRef(env, unsafe);
}

static void look_up_field(struct jvm_thread *by)
{
  JNIEnv *env = by->env;
  field.is_looked_up = true;
  field.name = (*env)->GetFieldID(env, by->jvm->known.class_thread, "name", "Ljava/lang/String;");
  jclass class = field.name == NULL ? NULL : (*env)->FindClass(env, "jdk/internal/misc/Unsafe");
  jmethodID get = class == NULL
                      ? NULL
                      : (*env)->GetStaticMethodID(env, class, "getUnsafe", "()Ljdk/internal/misc/Unsafe;");
  field.compare_and_set =
      get == NULL ? NULL
                  : (*env)->GetMethodID(env, class, "compareAndSetReference",
                                        "(Ljava/lang/Object;JLjava/lang/Object;Ljava/lang/Object;)Z");
  jobject unsafe = field.compare_and_set == NULL ? NULL : (*env)->CallStaticObjectMethod(env, class, get);
  if (unsafe != NULL && !(*env)->ExceptionCheck(env))
    look_up_offset(by, class, unsafe);
  field.is_usable = !throwable_take(by, NULL) && field.unsafe != NULL;
}

static bool is_own(JNIEnv *env, jstring name, const char *own)
{
  jchar units[OWN_MAX];
  size_t length = strlen(own);
  if (name == NULL || length > OWN_MAX || (*env)->GetStringLength(env, name) != (jsize)length)
    return false;
  (*env)->GetStringRegion(env, name, 0, (jsize)length, units);
  for (size_t i = 0; i < length; i++) {
    if (units[i] != (unsigned char)own[i])
      return false;
  }
  return true;
}

/* False: the field had another value, or an exception came. */
static bool replace_name(struct jvm_thread *by, jobject java_thread, jobject from, jobject to)
{
  JNIEnv *env = by->env;
  jboolean is_set = (*env)->CallBooleanMethod(env, field.unsafe, field.compare_and_set, java_thread,
                                              field.offset, from, to);
  return !throwable_take(by, NULL) && is_set;
}

static void drop(JNIEnv *env, struct jvm_given_name *given)
{
  (*env)->DeleteGlobalRef(env, given->name);
  (*env)->DeleteGlobalRef(env, given->before);
  *given = (struct jvm_given_name){0};
}

static void give(struct jvm_thread *by, jobject java_thread, const char *own, const char *name,
                 struct jvm_given_name *given)
{
  JNIEnv *env = by->env;
  jstring before = (*env)->GetObjectField(env, java_thread, field.name);
  if (!is_own(env, before, own))
    return;
  jstring made = jvm_string_new(by, text_of(name));
  if (throwable_take(by, NULL) || made == NULL)
    return;
  *given = (struct jvm_given_name){(*env)->NewGlobalRef(env, made), (*env)->NewGlobalRef(env, before)};
  if (given->name == NULL || given->before == NULL ||
      !replace_name(by, java_thread, given->before, given->name))
    drop(env, given);
}

void jvm_thread_give_name(struct jvm_thread *by, const struct jvm_thread *thread, const char *own,
                          const char *name, struct jvm_given_name *given)
{
  JNIEnv *env = by->env;
  *given = (struct jvm_given_name){0};
  if ((*env)->PushLocalFrame(env, REFERENCES) != 0) {
    (*env)->ExceptionClear(env);
    return;
  }
  if (!field.is_looked_up)
    look_up_field(by);
  if (field.is_usable)
    give(by, thread->java_thread, own, name, given);
  (*env)->PopLocalFrame(env, NULL);
}

void jvm_thread_take_name_back(struct jvm_thread *thread, struct jvm_given_name *given)
{
  (void)replace_name(thread, thread->java_thread, given->name, given->before);
  drop(thread->env, given);
}
