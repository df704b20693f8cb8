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

/* An EnumMap is made for the enum that its keys are declared to be, which runs the enum's values(). */
static jobject make_enum_map(struct conversion *conversion, jclass made, struct text name,
                             const struct op_value *value)
{
  JNIEnv *env = conversion->thread->env;
  const struct element_types *elements = conversion->elements;
  bool is_told = elements != NULL && elements->key.kind != 0;
  struct jvm_class *key =
      is_told ? jvm_type_class(conversion->thread, (struct jvm_type *)&elements->key) : NULL;
  if (key == NULL || !key->is_enum) {
    argument_fail(conversion, value, "the enum of its keys is not declared here: pass a ref to a %.*s",
                  TEXT_ARGS(name));
    return NULL;
  }
  if (!argument_ask(conversion, JVM_STATIC_METHOD, key->name, TEXT("values")))
    return NULL;
  jmethodID constructor = (*env)->GetMethodID(env, made, "<init>", "(Ljava/lang/Class;)V");
  return constructor == NULL ? NULL : (*env)->NewObject(env, made, constructor, key->ref);
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
  jobject object = NULL;
  if (text_equal(class->name, TEXT("java.util.EnumMap"))) {
    object = make_enum_map(conversion, made, class->name, value);
  } else {
    jmethodID constructor = find_constructor(conversion, made, class->name, value);
    object = constructor == NULL ? NULL : (*env)->NewObject(env, made, constructor);
  }
  bool failed = argument_take(conversion);
  if (is_local)
    (*env)->DeleteLocalRef(env, made);
  return failed ? NULL : object;
}

static bool is_exact(const struct jvm_type *bound, const struct jvm_type *declared)
{
  return bound->kind != 0 && (declared->kind == 0 || !text_equal(bound->name, declared->name));
}

/* What the class binds is exact, and the place may declare less: a class that extends HashMap<Integer, Float> has these for
 * a parameter Map<?, ? extends Number>, too. What only the place knows is kept. */
static const struct element_types *merge_elements(const struct element_types *bound,
                                                  const struct element_types *declared, struct arena *arena)
{
  struct element_types *merged = declared == NULL ? NULL : arena_alloc(arena, sizeof *merged);
  if (merged == NULL)
    return bound;
  *merged = *declared;
  if (is_exact(&bound->key, &declared->key))
    merged->key = bound->key;
  if (is_exact(&bound->element, &declared->element)) {
    merged->element = bound->element;
    merged->inside = bound->inside;
  } else if (bound->inside != NULL) {
    merged->inside = merge_elements(bound->inside, declared->inside, arena);
  }
  return merged;
}

/* What is known of the elements of a class that is made, by the place of the value and by the class. Those of the JDK bind
 * nothing but Strings. */
static const struct element_types *find_elements(struct conversion *conversion, struct jvm_class *class)
{
  const struct element_types *declared = conversion->elements;
  if (class->is_of_jdk)
    return declared;
  if (conversion->bound.class != class || conversion->bound.declared != declared) {
    const struct element_types *bound =
        element_types_of_class(conversion->thread, class, conversion->request->arena);
    conversion->bound.elements =
        bound == NULL ? declared : merge_elements(bound, declared, conversion->request->arena);
    conversion->bound.class = class;
    conversion->bound.declared = declared;
  }
  return conversion->bound.elements;
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
  const struct element_types *declared = conversion->elements;
  conversion->elements = find_elements(conversion, class);
  jobject object = make_empty(conversion, class, value);
  bool filled = object != NULL && (is_list ? argument_fill_collection(conversion, value, object)
                                           : argument_fill_map(conversion, value, object));
  conversion->elements = declared;
  *out = argument_close_level(conversion, filled ? object : NULL);
  return filled;
}
