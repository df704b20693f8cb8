#include "jni/internal/main_class.h"

#include "jni/internal/throwables.h"

#include <string.h>

/* Start says what the user did wrong in a plain java.lang.Exception; anything else is told with its type. */
static enum jp_status take_failure(struct jvm_thread *thread, struct jp_error *error)
{
  static const char plain[] = "java.lang.Exception: ";
  struct jp_error told;
  if (!throwable_take(thread, &told))
    return JP_OK;
  const char *text = told.text;
  if (strncmp(text, plain, sizeof plain - 1) == 0)
    text += sizeof plain - 1;
  return jp_fail(error, JP_INVALID, "%s", text);
}

/* A static method of Start that takes one object and gives one. */
static enum jp_status ask_start(struct jvm_thread *thread, const char *name, const char *descriptor,
                                jobject argument, jobject *answer, struct jp_error *error)
{
  JNIEnv *env = thread->env;
  jclass start = thread->jvm->start_class;
  jmethodID method = (*env)->GetStaticMethodID(env, start, name, descriptor);
  if (throwable_take(thread, error))
    return JP_INTERNAL;
  *answer = (*env)->CallStaticObjectMethod(env, start, method, argument);
  return take_failure(thread, error);
}

/* Bytes of the command line as a String. */
static enum jp_status decode(struct jvm_thread *thread, const char *bytes, jobject *string,
                             struct jp_error *error)
{
  JNIEnv *env = thread->env;
  jsize length = (jsize)strlen(bytes);
  jbyteArray array = (*env)->NewByteArray(env, length);
  if (throwable_take(thread, error))
    return JP_NO_MEMORY;
  (*env)->SetByteArrayRegion(env, array, 0, length, (const jbyte *)bytes);
  enum jp_status status = ask_start(thread, "decode", "([B)Ljava/lang/String;", array, string, error);
  (*env)->DeleteLocalRef(env, array);
  return status;
}

enum jp_status jvm_main_find(struct jvm_thread *thread, const struct jvm_launch *launch, jclass *main_class,
                             struct jp_error *error)
{
  *main_class = NULL;
  if (launch->jar == NULL && launch->main_class == NULL)
    return JP_OK;
  jobject name = NULL;
  enum jp_status status =
      decode(thread, launch->jar != NULL ? launch->jar : launch->main_class, &name, error);
  if (status == JP_OK && launch->jar != NULL)
    status =
        ask_start(thread, "mainClassOfJar", "(Ljava/lang/String;)Ljava/lang/String;", name, &name, error);
  if (status == JP_OK)
    status = ask_start(thread, "mainClass", "(Ljava/lang/String;)Ljava/lang/Class;", name,
                       (jobject *)main_class, error);
  return status;
}

enum jp_status jvm_main_args(struct jvm_thread *thread, const struct jvm_launch *launch, jobjectArray *args,
                             struct jp_error *error)
{
  JNIEnv *env = thread->env;
  *args = (*env)->NewObjectArray(env, (jsize)launch->arg_count, thread->jvm->known.class_string, NULL);
  if (throwable_take(thread, error))
    return JP_NO_MEMORY;
  for (size_t i = 0; i < launch->arg_count; i++) {
    jobject string = NULL;
    enum jp_status status = decode(thread, launch->args[i], &string, error);
    if (status != JP_OK)
      return status;
    (*env)->SetObjectArrayElement(env, *args, (jsize)i, string);
    if (throwable_take(thread, error))
      return JP_INTERNAL;
    (*env)->DeleteLocalRef(env, string);
  }
  return JP_OK;
}

bool jvm_main_run(JNIEnv *env, jclass main_class, jobjectArray args)
{
  /* GetStaticMethodID initialises the class and raises what its initialiser raises. */
  jmethodID main_method = (*env)->GetStaticMethodID(env, main_class, "main", "([Ljava/lang/String;)V");
  if (main_method == NULL)
    return false;
  (*env)->CallStaticVoidMethod(env, main_class, main_method, args);
  return !(*env)->ExceptionCheck(env);
}
