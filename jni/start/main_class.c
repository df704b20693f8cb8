#include "jni/start/main_class.h"

#include "jni/runtime/strings.h"
#include "jni/runtime/throwables.h"

#include <string.h>

/* The bits of Start.mainKind. */
enum { HAS_ARGUMENTS = 1, IS_STATIC = 2 };

/* Makes the error of an exception that the Java class Start has thrown. Start throws a java.lang.Exception or
 * a ClassNotFoundException for the user's mistakes, and only their message becomes the error. For any other
 * type the error also has the type. */
static enum jp_status take_failure(struct jvm_thread *thread, struct jp_error *error)
{
  static const struct {
    const char *prefix;
    enum jp_status status;
  } known[] = {{"java.lang.Exception: ", JP_INVALID}, {"java.lang.ClassNotFoundException: ", JP_NOT_FOUND}};
  struct jp_error thrown;
  if (!throwable_take(thread, &thrown))
    return JP_OK;
  for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
    size_t length = strlen(known[i].prefix);
    if (strncmp(thrown.text, known[i].prefix, length) == 0)
      return jp_fail(error, known[i].status, "%s", thrown.text + length);
  }
  return jp_fail(error, JP_INVALID, "%s", thrown.text);
}

/* Calls a static method of Start that takes one object and returns one. */
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

/* Decodes bytes of the command line. */
static enum jp_status decode_bytes(struct jvm_thread *thread, const char *bytes, jobject *string,
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

/* AddModuleExports and AddModuleOpens of JVMTI. */
typedef jvmtiError(JNICALL *add_function)(jvmtiEnv *jvmti, jobject module, const char *package, jobject to);

static enum jp_status add_packages(struct jvm_thread *thread, jobjectArray packages, add_function add,
                                   jobject unnamed, struct jp_error *error)
{
  JNIEnv *env = thread->env;
  jsize count = (*env)->GetArrayLength(env, packages);
  struct arena arena;
  arena_init(&arena);
  enum jp_status status = JP_OK;
  for (jsize i = 0; status == JP_OK && i < count; i += 2) {
    jobject module = (*env)->GetObjectArrayElement(env, packages, i);
    jstring name = (*env)->GetObjectArrayElement(env, packages, i + 1);
    struct text text = jvm_string_get(thread, name, &arena);
    struct text package = text.data == NULL ? text : arena_printf(&arena, "%.*s", TEXT_ARGS(text));
    if (package.data == NULL)
      status = jp_fail_memory(error, NULL);
    else if (add(thread->jvmti, module, package.data, unnamed) != JVMTI_ERROR_NONE)
      status = jp_fail(error, JP_INTERNAL, "this JVM does not open the package %s", package.data);
    (*env)->DeleteLocalRef(env, name);
    (*env)->DeleteLocalRef(env, module);
  }
  arena_fini(&arena);
  return status;
}

/* Add-Exports and Add-Opens of the jar's manifest, as the java command reads them. */
static enum jp_status open_packages(struct jvm_thread *thread, jstring jar, struct jp_error *error)
{
  JNIEnv *env = thread->env;
  const struct {
    const char *method;
    add_function add;
  } rows[] = {{"exportsOfJar", (*thread->jvmti)->AddModuleExports},
              {"opensOfJar", (*thread->jvmti)->AddModuleOpens}};
  jobject unnamed = (*env)->CallObjectMethod(env, thread->jvm->class_loader,
                                             thread->jvm->known.method_class_loader_get_unnamed_module);
  if (throwable_take(thread, error))
    return JP_JAVA;
  enum jp_status status = JP_OK;
  for (size_t i = 0; status == JP_OK && i < sizeof rows / sizeof rows[0]; i++) {
    jobject packages = NULL;
    status =
        ask_start(thread, rows[i].method, "(Ljava/lang/String;)[Ljava/lang/Object;", jar, &packages, error);
    if (status == JP_OK)
      status = add_packages(thread, packages, rows[i].add, unnamed, error);
    (*env)->DeleteLocalRef(env, packages);
  }
  (*env)->DeleteLocalRef(env, unnamed);
  return status;
}

static enum jp_status find_kind(struct jvm_thread *thread, struct jvm_main *found, struct jp_error *error)
{
  JNIEnv *env = thread->env;
  jclass start = thread->jvm->start_class;
  jmethodID method = (*env)->GetStaticMethodID(env, start, "mainKind", "(Ljava/lang/Class;)I");
  if (throwable_take(thread, error))
    return JP_INTERNAL;
  jint kind = (*env)->CallStaticIntMethod(env, start, method, found->class);
  found->takes_arguments = (kind & HAS_ARGUMENTS) != 0;
  found->is_static = (kind & IS_STATIC) != 0;
  return take_failure(thread, error);
}

enum jp_status jvm_main_find(struct jvm_thread *thread, const struct jvm_launch *launch,
                             struct jvm_main *found, struct jp_error *error)
{
  *found = (struct jvm_main){0};
  const char *what = launch->jar != NULL ? launch->jar : launch->main_class;
  if (launch->main_module != NULL)
    what = launch->main_module;
  if (what == NULL)
    return JP_OK;
  jobject name = NULL;
  enum jp_status status = decode_bytes(thread, what, &name, error);
  if (status == JP_OK && launch->jar != NULL) {
    jobject jar = name;
    status = ask_start(thread, "mainClassOfJar", "(Ljava/lang/String;)Ljava/lang/String;", jar, &name, error);
    if (status == JP_OK)
      status = open_packages(thread, jar, error);
  }
  if (status == JP_OK)
    status = ask_start(thread, launch->main_module != NULL ? "mainClassOfModule" : "mainClass",
                       "(Ljava/lang/String;)Ljava/lang/Class;", name, (jobject *)&found->class, error);
  return status == JP_OK ? find_kind(thread, found, error) : status;
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
    enum jp_status status = decode_bytes(thread, launch->args[i], &string, error);
    if (status != JP_OK)
      return status;
    (*env)->SetObjectArrayElement(env, *args, (jsize)i, string);
    if (throwable_take(thread, error))
      return JP_INTERNAL;
    (*env)->DeleteLocalRef(env, string);
  }
  return JP_OK;
}

bool jvm_main_initialise(JNIEnv *env, struct jvm_main *found)
{
  const char *descriptor = found->takes_arguments ? "([Ljava/lang/String;)V" : "()V";
  /* Both functions initialise the class and raise exceptions of its initialiser. */
  found->method = found->is_static ? (*env)->GetStaticMethodID(env, found->class, "main", descriptor)
                                   : (*env)->GetMethodID(env, found->class, "main", descriptor);
  return found->method != NULL;
}

bool jvm_main_run(JNIEnv *env, const struct jvm_main *found, jobjectArray args)
{
  const jvalue values[] = {{.l = args}}; /* a main without parameters ignores it */
  if (found->is_static) {
    (*env)->CallStaticVoidMethodA(env, found->class, found->method, values);
  } else { /* on a new object of its class (JLS 25, 12.1.4) */
    jmethodID constructor = (*env)->GetMethodID(env, found->class, "<init>", "()V");
    jobject object = constructor == NULL ? NULL : (*env)->NewObject(env, found->class, constructor);
    if (object != NULL)
      (*env)->CallVoidMethodA(env, object, found->method, values);
  }
  return !(*env)->ExceptionCheck(env);
}
