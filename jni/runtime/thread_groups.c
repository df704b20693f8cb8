#include "jni/runtime/thread_groups.h"

#include "jni/runtime/throwables.h"

static enum jp_status find_application_group(struct jvm *jvm, struct jvm_thread *thread,
                                             struct jp_error *error)
{
  JNIEnv *env = thread->env;
  const struct jvm_known *known = &jvm->known;
  jobject group = NULL;
  jobject current = (*env)->CallStaticObjectMethod(env, known->class_thread, known->static_thread_current);
  if (!throwable_take(thread, error))
    group = (*env)->CallObjectMethod(env, current, known->method_thread_get_thread_group);
  if (throwable_take(thread, error) || group == NULL)
    return JP_JAVA;
  jvm->application_group = (*env)->NewGlobalRef(env, group);
  (*env)->DeleteLocalRef(env, group);
  (*env)->DeleteLocalRef(env, current);
  return jvm->application_group == NULL ? jp_fail(error, JP_NO_MEMORY, "out of memory") : JP_OK;
}

/* True where a thread keeps its group in a field that can be written (JDK 17 and 18). */
static bool find_private_members(struct jvm *jvm, struct jvm_thread *thread)
{
  JNIEnv *env = thread->env;
  const struct jvm_known *known = &jvm->known;
  jvm->thread_group = (*env)->GetFieldID(env, known->class_thread, "group", "Ljava/lang/ThreadGroup;");
  if (throwable_take(thread, NULL))
    return false;
  jvm->group_new_root = (*env)->GetMethodID(env, known->class_thread_group, "<init>", "()V");
  if (throwable_take(thread, NULL))
    jvm->group_new_root = NULL;
  return jvm->group_new_root != NULL;
}

enum jp_status jvm_thread_groups_open(struct jvm *jvm, struct jvm_thread *thread, struct jp_error *error)
{
  JNIEnv *env = thread->env;
  enum jp_status status = find_application_group(jvm, thread, error);
  if (status != JP_OK || !find_private_members(jvm, thread))
    return status;
  jobject group = jvm_thread_group_new(thread);
  if (throwable_take(thread, error))
    return JP_JAVA;
  jvm->attach_group = (*env)->NewGlobalRef(env, group);
  (*env)->DeleteLocalRef(env, group);
  return jvm->attach_group == NULL ? jp_fail(error, JP_NO_MEMORY, "out of memory") : JP_OK;
}

jobject jvm_thread_group_new(struct jvm_thread *thread)
{
  const struct jvm *jvm = thread->jvm;
  JNIEnv *env = thread->env;
  if (jvm->group_new_root == NULL)
    return (*env)->NewLocalRef(env, jvm->application_group);
  return (*env)->NewObject(env, jvm->known.class_thread_group, jvm->group_new_root);
}

static void set_group(struct jvm_thread *thread, jobject group)
{
  const struct jvm *jvm = thread->jvm;
  if (jvm->group_new_root != NULL)
    (*thread->env)->SetObjectField(thread->env, thread->java_thread, jvm->thread_group, group);
}

void jvm_thread_group_show(struct jvm_thread *thread)
{
  set_group(thread, thread->jvm->application_group);
}

void jvm_thread_group_hide(struct jvm_thread *thread)
{
  set_group(thread, NULL);
}
