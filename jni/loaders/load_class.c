#include "jni/loaders/load_class.h"

#include "jni/runtime/strings.h"
#include "jni/runtime/throwables.h"

#include <stdlib.h>

struct text loader_element_name(struct text name)
{
  size_t at = 0;
  while (at < name.len && name.data[at] == '[')
    at++;
  if (at == 0)
    return name;
  return at < name.len && name.data[at] == 'L' ? text_slice(name, at + 1, name.len - 1) : TEXT_ABSENT;
}

/* True of the JDK's own two, which read class files of modules and of the class path and nothing else. A JVM may have
 * another application loader (java.system.class.loader). */
static bool reads_files_alone(struct jvm_thread *thread, jobject loader)
{
  if (loader == NULL)
    return false;
  const struct jvm_class *class = jvm_class_of_object(thread, loader);
  return class != NULL && text_starts_with(class->name, TEXT("jdk.internal.loader.ClassLoaders$"));
}

static bool has_loaded(struct jvm_thread *thread, jobject loader, struct text name)
{
  JNIEnv *env = thread->env;
  jstring string = jvm_string_new(thread, name);
  jclass class = string == NULL
                     ? NULL
                     : (*env)->CallObjectMethod(
                           env, loader, thread->jvm->known.method_class_loader_find_loaded_class, string);
  (void)throwable_take(thread, NULL);
  bool has = class != NULL;
  (*env)->DeleteLocalRef(env, class);
  (*env)->DeleteLocalRef(env, string);
  return has;
}

static bool is_in_module(struct jvm_thread *thread, struct text name)
{
  JNIEnv *env = thread->env;
  size_t dot = text_find_last(name, '.');
  if (dot == SIZE_MAX)
    return false;
  jstring package = jvm_string_new(thread, text_slice(name, 0, dot));
  bool is_in = package != NULL && (*env)->CallStaticBooleanMethod(env, thread->jvm->packages_class,
                                                                  thread->jvm->packages_has, package);
  (*env)->DeleteLocalRef(env, package);
  return !throwable_take(thread, NULL) && is_in;
}

jstring loader_make_path(struct jvm_thread *thread, struct text name)
{
  static const struct text suffix = TEXT(".class");
  char *path = malloc(name.len + suffix.len);
  if (path == NULL)
    return NULL;
  for (size_t i = 0; i < name.len; i++)
    path[i] = name.data[i] == '.' ? '/' : name.data[i];
  memcpy(path + name.len, suffix.data, suffix.len);
  jstring string = jvm_string_new(thread, (struct text){path, name.len + suffix.len});
  free(path);
  return string;
}

/* Searches the class path by findResource, because getResource keeps the names of packages that no module has. Where the
 * search throws, the loader may tell why. */
static bool has_file(struct jvm_thread *thread, jobject loader, struct text name)
{
  JNIEnv *env = thread->env;
  const struct jvm_known *known = &thread->jvm->known;
  bool in_module = is_in_module(thread, name);
  jstring path = loader_make_path(thread, name);
  jobject url = NULL;
  if (path != NULL && in_module)
    url = (*env)->CallObjectMethod(env, loader, known->method_class_loader_get_resource, path);
  else if (path != NULL)
    url = (*env)->CallObjectMethod(env, loader, known->method_class_loader_find_resource, NULL, path);
  bool has = throwable_take(thread, NULL) || path == NULL || url != NULL;
  (*env)->DeleteLocalRef(env, path);
  (*env)->DeleteLocalRef(env, url);
  return has;
}

/* What the options or an agent have appended to the search of the boot loader, which keeps no names. Anything but
 * "there is none" is for the loader to tell. */
static bool is_boot_class(struct jvm_thread *thread, struct text name)
{
  JNIEnv *env = thread->env;
  jclass held = NULL;
  bool is_loaded = jvm_class_load_held(thread, name, NULL, &held) != NULL;
  (*env)->DeleteLocalRef(env, held);
  jthrowable thrown = throwable_catch(env);
  bool is_missing =
      thrown != NULL && (*env)->IsInstanceOf(env, thrown, thread->jvm->known.class_class_not_found_exception);
  (*env)->DeleteLocalRef(env, thrown);
  return is_loaded || !is_missing;
}

struct jvm_class *loader_load_class(struct jvm_thread *thread, struct text name, jobject loader, jclass *held)
{
  JNIEnv *env = thread->env;
  struct text element = loader_element_name(name);
  *held = NULL;
  if (element.data == NULL || !reads_files_alone(thread, loader) || has_loaded(thread, loader, element) ||
      has_file(thread, loader, element) || is_boot_class(thread, element))
    return jvm_class_load_held(thread, name, loader, held);
  (*env)->ThrowNew(env, thread->jvm->known.class_class_not_found_exception, "there is no such class file");
  return NULL;
}
