#include "jni/resolve/member_cache.h"
#include "jni/resolve/selection.h"
#include "jni/runtime/throwables.h"

enum { ACC_PUBLIC = 0x0001, ACC_ABSTRACT = 0x0400 };

/* The public constructor without arguments: what the guard was asked about. NULL: the outcome tells why. */
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

/* The interface's add or put, which is what fills an object from here. */
static struct jvm_method *find_filler(struct conversion *conversion, bool is_list)
{
  struct jvm_thread *thread = conversion->thread;
  const struct jvm_known *known = &thread->jvm->known;
  struct jvm_class *class = jvm_class_of(thread, is_list ? known->class_collection : known->class_map);
  const struct member_table *members = class == NULL ? NULL : member_table_of(thread, class);
  for (size_t i = 0; members != NULL && i < members->method_count; i++)
    if (text_equal(members->methods[i].name, is_list ? TEXT("add") : TEXT("put")))
      return &members->methods[i];
  if (!argument_take(conversion))
    argument_fail_memory(conversion);
  return NULL;
}

/* A call of add or put on an object of the class, as a member of the thread's. NULL: the outcome tells why.
 */
static struct resolved_member *find_filling(struct conversion *conversion, struct jvm_class *named,
                                            struct jvm_class *runtime, bool is_list)
{
  struct jvm_records *records = records_of(conversion->thread);
  struct resolved_member *member = records == NULL ? NULL : records_find_filling(records, named, runtime);
  if (member != NULL)
    return member;
  member = arena_calloc(conversion->request->arena, 1, sizeof *member);
  if (records == NULL || member == NULL) {
    argument_fail_memory(conversion);
    return NULL;
  }
  struct jvm_method *method = find_filler(conversion, is_list);
  if (method == NULL || !selection_find(conversion, method, runtime, &member->holders, &member->holder_count))
    return NULL;
  member->kind = JVM_METHOD;
  member->action = MEMBER_CALL;
  member->modifiers = method->modifiers;
  member->named = named;
  member->declaring = method->owner;
  member->runtime = runtime;
  member->name = method->name;
  return records_keep_filling(records, member);
}

/* Filling calls add or put of whatever class the object is of. */
static bool ask_to_fill(struct conversion *conversion, struct jvm_class *named, jclass made)
{
  JNIEnv *env = conversion->thread->env;
  const struct jvm_guard *guard = conversion->request->guard;
  if (guard == NULL || guard->check_filling == NULL)
    return true;
  struct jvm_class *runtime = jvm_class_of(conversion->thread, made);
  if (runtime == NULL)
    return argument_fail_memory(conversion);
  bool is_list = (*env)->IsAssignableFrom(env, made, conversion->thread->jvm->known.class_collection);
  struct resolved_member *member = find_filling(conversion, named, runtime, is_list);
  if (member == NULL)
    return false;
  struct jvm_target target;
  resolved_member_fill_target(member, &target);
  return guard->check_filling(guard->context, &target, conversion->request->arena, conversion->outcome) ==
         JP_OK;
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
  if (!argument_ask_to_make(conversion, class->name) || !ask_to_fill(conversion, class, made))
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
