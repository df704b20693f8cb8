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

/* The classes of static methods that C calls. */
static bool bind_helpers(JNIEnv *env, struct jvm *jvm)
{
  jvm->filling_add = (*env)->GetStaticMethodID(env, jvm->filling_class, "add",
                                               "(Ljava/util/Collection;I[B[J[C[Ljava/lang/Object;)V");
  if (jvm->filling_add == NULL)
    return false;
  jvm->filling_put = (*env)->GetStaticMethodID(env, jvm->filling_class, "put",
                                               "(Ljava/util/Map;I[J[B[J[C[Ljava/lang/Object;)V");
  if (jvm->filling_put == NULL)
    return false;
  jvm->traces_tell =
      (*env)->GetStaticMethodID(env, jvm->traces_class, "tell", "(Ljava/lang/Throwable;I)Ljava/lang/String;");
  return jvm->traces_tell != NULL;
}

static bool define_all(JNIEnv *env, struct jvm *jvm)
{
  const struct {
    const char *name;
    jclass *class;
  } rows[] = {
      {"jpeer/peer/PeerThread", &jvm->thread_class},
      {"jpeer/peer/Start", &jvm->start_class},
      {"jpeer/peer/Filling", &jvm->filling_class},
      {"jpeer/peer/Traces", &jvm->traces_class},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    *rows[i].class = define(env, jvm->class_loader, rows[i].name);
    if (*rows[i].class == NULL)
      return false;
  }
  return true;
}

enum jp_status jvm_peer_classes_define(struct jvm *jvm, JNIEnv *env, struct jp_error *error)
{
  if (!define_all(env, jvm) || !bind_thread_class(env, jvm) || !bind_helpers(env, jvm)) {
    (*env)->ExceptionClear(env);
    return jp_fail(error, JP_INTERNAL, "this JVM does not take the peer's own classes");
  }
  return JP_OK;
}
