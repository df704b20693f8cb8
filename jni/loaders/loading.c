#include "jni/loading.h"

#include "jni/loaders/load_class.h"
#include "jni/loaders/loaders.h"
#include "jni/loaders/main_loader.h"
#include "jni/runtime/throwables.h"

static bool has_resource(struct jvm_thread *thread, jobject loader, jstring path)
{
  JNIEnv *env = thread->env;
  jobject url =
      (*env)->CallObjectMethod(env, loader, thread->jvm->known.method_class_loader_get_resource, path);
  bool has_thrown = throwable_take(thread, NULL);
  bool is_found = !has_thrown && url != NULL;
  if (!has_thrown)
    (*env)->DeleteLocalRef(env, url);
  return is_found;
}

bool jvm_main_loader_finds(struct jvm_thread *thread, struct text class_name)
{
  uint32_t number = main_loader_number(thread);
  jobject loader = number == 0 ? NULL : loader_take(thread, number);
  if (loader == NULL)
    return false;
  jstring path = loader_make_path(thread, class_name);
  (void)throwable_take(thread, NULL);
  bool is_found = path != NULL && has_resource(thread, loader, path);
  (*thread->env)->DeleteLocalRef(thread->env, path);
  (*thread->env)->DeleteLocalRef(thread->env, loader);
  return is_found;
}

bool jvm_class_is_loaded_once(struct jvm_thread *thread, struct text class_name)
{
  struct loader_list found = {.count = 0};
  loaders_of_name(thread, class_name, &found);
  return found.count == 1;
}
