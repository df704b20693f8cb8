#include "jni/internal/peer_classes.h"

#include "jni/internal/peer_threads.h"

#include <string.h>

static jclass define(JNIEnv *env, jobject loader, const char *name)
{
  const struct jvm_peer_class *row = jvm_peer_classes;
  while (row->name != NULL && strcmp(row->name, name) != 0)
    row++;
  if (row->name == NULL)
    return NULL;
  jclass local = (*env)->DefineClass(env, name, loader, (const jbyte *)row->bytes, (jsize)row->length);
  jclass global = local == NULL ? NULL : (*env)->NewGlobalRef(env, local);
  (*env)->DeleteLocalRef(env, local);
  return global;
}

static bool bind_thread_class(JNIEnv *env, struct jvm *jvm)
{
  const JNINativeMethod serve = {"serve", "(J)V", (void *)jvm_thread_serve};
  if ((*env)->RegisterNatives(env, jvm->thread_class, &serve, 1) != 0)
    return false;
  jvm->thread_new =
      (*env)->GetMethodID(env, jvm->thread_class, "<init>", "(Ljava/lang/String;Ljava/lang/ClassLoader;J)V");
  if (jvm->thread_new == NULL)
    return false;
  jvm->thread_restore = (*env)->GetMethodID(env, jvm->thread_class, "restore", "()V");
  if (jvm->thread_restore == NULL)
    return false;
  jvm->thread_is_changed = (*env)->GetFieldID(env, jvm->thread_class, "isChanged", "Z");
  return jvm->thread_is_changed != NULL;
}

static bool bind_filling_class(JNIEnv *env, struct jvm *jvm)
{
  jvm->filling_add = (*env)->GetStaticMethodID(env, jvm->filling_class, "add",
                                               "(Ljava/util/Collection;I[B[J[Ljava/lang/Object;)V");
  return jvm->filling_add != NULL;
}

enum jp_status jvm_peer_classes_define(struct jvm *jvm, JNIEnv *env, struct jp_error *error)
{
  jvm->thread_class = define(env, jvm->class_loader, "jpeer/peer/PeerThread");
  jvm->start_class = jvm->thread_class == NULL ? NULL : define(env, jvm->class_loader, "jpeer/peer/Start");
  jvm->filling_class = jvm->start_class == NULL ? NULL : define(env, jvm->class_loader, "jpeer/peer/Filling");
  if (jvm->filling_class == NULL || !bind_thread_class(env, jvm) || !bind_filling_class(env, jvm)) {
    (*env)->ExceptionClear(env);
    return jp_fail(error, JP_INTERNAL, "this JVM does not take the peer's own classes");
  }
  return JP_OK;
}
