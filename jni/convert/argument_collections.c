#include "jni/convert/arguments.h"
#include "jni/runtime/throwables.h"

enum { ACC_PUBLIC = 0x0001, ACC_ABSTRACT = 0x0400 };

/* The public constructor without arguments, which the guard has allowed. NULL: the outcome tells why. */
static jmethodID find_constructor(struct conversion *conversion, jclass made, struct text name,
                                  const struct op_value *value)
{
  JNIEnv *env = conversion->thread->env;
  jvmtiEnv *jvmti = conversion->thread->jvmti;
  jmethodID constructor = (*env)->GetMethodID(env, made, "<init>", "()V");
  jthrowable thrown = throwable_catch(env);
  if (thrown != NULL &&
      !(*env)->IsInstanceOf(env, thrown, conversion->thread->jvm->known.class_no_such_method_error)) {
    (*env)->Throw(env, thrown);
    (void)argument_take(conversion);
    return NULL;
  }
  (*env)->DeleteLocalRef(env, thrown);
  jint modifiers = 0;
  if (thrown == NULL && (*jvmti)->GetMethodModifiers(jvmti, constructor, &modifiers) == JVMTI_ERROR_NONE &&
      (modifiers & ACC_PUBLIC) != 0)
    return constructor;
  argument_fail(conversion, value, "%.*s has no public constructor without arguments: pass a ref",
                TEXT_ARGS(name));
  return NULL;
}

static jobject make_empty(struct conversion *conversion, struct jvm_class *class,
                          const struct op_value *value)
{
  JNIEnv *env = conversion->thread->env;
  bool is_local = class->row != NULL && class->row->made != NULL;
  jclass made = is_local ? (*env)->FindClass(env, class->row->made) : class->ref;
  if (argument_take(conversion))
    return NULL;
  if (!is_local && (class->is_interface || (class->modifiers & ACC_ABSTRACT) != 0)) {
    argument_fail(conversion, value, "%.*s is abstract: name a class that can be made",
                  TEXT_ARGS(class->name));
    return NULL;
  }
  if (!argument_ask_to_make(conversion, class->name) || !argument_ask_to_fill(conversion, class, made))
    return NULL;
  jmethodID constructor = find_constructor(conversion, made, class->name, value);
  jobject object = constructor == NULL ? NULL : (*env)->NewObject(env, made, constructor);
  bool failed = argument_take(conversion);
  if (is_local)
    (*env)->DeleteLocalRef(env, made);
  return failed ? NULL : object;
}

bool argument_make_collection(struct conversion *conversion, struct jvm_class *class,
                              const struct op_value *value, jobject *out)
{
  struct jvm_thread *thread = conversion->thread;
  JNIEnv *env = thread->env;
  const struct jvm_known *known = &thread->jvm->known;
  bool is_list =
      (*env)->IsAssignableFrom(env, class->ref, known->class_collection) || class->maker == MAKER_LIST;
  bool is_map = (*env)->IsAssignableFrom(env, class->ref, known->class_map);
  if (!is_list && !is_map)
    return argument_fail(conversion, value, "cannot become %.*s; pass a ref", TEXT_ARGS(class->name));
  if (is_list ? value->kind != OP_LIST : value->kind != OP_MAP)
    return argument_fail(conversion, value, "%.*s takes a JSON %s", TEXT_ARGS(class->name),
                         is_list ? "array" : "object");
  if (!argument_open_level(conversion))
    return false;
  jobject object = make_empty(conversion, class, value);
  bool filled = object != NULL && (is_list ? argument_fill_collection(conversion, value, object)
                                           : argument_fill_map(conversion, value, object));
  *out = argument_close_level(conversion, filled ? object : NULL);
  return filled;
}
