#include "jni/internal/arguments.h"

#include "jni/internal/strings.h"
#include "jni/internal/throwables.h"

enum { REFERENCES = 10, CHUNK = 512, ACC_PUBLIC = 0x0001, ACC_ABSTRACT = 0x0400 };

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
  if (!argument_ask_to_fill(conversion, class->name))
    return NULL;
  jmethodID constructor = find_constructor(conversion, made, class->name, value);
  jobject object = constructor == NULL ? NULL : (*env)->NewObject(env, made, constructor);
  bool failed = argument_take(conversion);
  if (is_local)
    (*env)->DeleteLocalRef(env, made);
  return failed ? NULL : object;
}

/* Elements that are added by one call (jni/java: Filling). */
struct chunk {
  size_t capacity;
  size_t count;
  jbyte *letters;
  jlong *bits;
  jbyteArray java_letters;
  jlongArray java_bits;
  jobjectArray objects; /* NULL: there have been none yet */
};

static bool begin_chunk(struct conversion *conversion, size_t count, struct chunk *chunk)
{
  JNIEnv *env = conversion->thread->env;
  struct arena *arena = conversion->request->arena;
  size_t capacity = count < CHUNK ? count : CHUNK;
  *chunk = (struct chunk){.capacity = capacity};
  chunk->letters = arena_alloc(arena, capacity * sizeof *chunk->letters);
  chunk->bits = arena_alloc(arena, capacity * sizeof *chunk->bits);
  if (chunk->letters == NULL || chunk->bits == NULL)
    return argument_fail_memory(conversion);
  chunk->java_letters = (*env)->NewByteArray(env, (jsize)capacity);
  if (chunk->java_letters != NULL)
    chunk->java_bits = (*env)->NewLongArray(env, (jsize)capacity);
  return !argument_take(conversion);
}

static bool put_object(struct conversion *conversion, struct chunk *chunk, jobject object)
{
  JNIEnv *env = conversion->thread->env;
  if (chunk->objects == NULL)
    chunk->objects = (*env)->NewObjectArray(env, (jsize)chunk->capacity,
                                            conversion->thread->jvm->known.class_object, NULL);
  if (chunk->objects != NULL)
    (*env)->SetObjectArrayElement(env, chunk->objects, (jsize)chunk->count, object);
  (*env)->DeleteLocalRef(env, object);
  return !argument_take(conversion);
}

static jlong bits_of(char letter, const jvalue *scalar)
{
  switch (letter) {
  case 'Z':
    return scalar->z;
  case 'B':
    return scalar->b;
  case 'C':
    return scalar->c;
  case 'S':
    return scalar->s;
  case 'I':
  case 'F': /* as bits */
    return scalar->i;
  default:
    return scalar->j;
  }
}

static bool put_element(struct conversion *conversion, struct chunk *chunk, const struct op_value *value)
{
  char letter;
  jvalue scalar;
  jobject object = NULL;
  if (!argument_read_element(conversion, value, &letter, &scalar, &object))
    return false;
  if (letter == 0 && !put_object(conversion, chunk, object))
    return false;
  if (letter != 0)
    chunk->bits[chunk->count] = bits_of(letter, &scalar);
  chunk->letters[chunk->count++] = letter;
  return true;
}

static bool add_chunk(struct conversion *conversion, struct chunk *chunk, jobject collection)
{
  JNIEnv *env = conversion->thread->env;
  const struct jvm *jvm = conversion->thread->jvm;
  jsize count = (jsize)chunk->count;
  chunk->count = 0;
  (*env)->SetByteArrayRegion(env, chunk->java_letters, 0, count, chunk->letters);
  (*env)->SetLongArrayRegion(env, chunk->java_bits, 0, count, chunk->bits);
  (*env)->CallStaticVoidMethod(env, jvm->filling_class, jvm->filling_add, collection, count,
                               chunk->java_letters, chunk->java_bits, chunk->objects);
  return !argument_take(conversion);
}

static bool add_elements(struct conversion *conversion, const struct op_value *value, struct chunk *chunk,
                         jobject collection)
{
  struct argument_path path = {.outer = conversion->path};
  conversion->path = &path;
  for (; path.index < value->list.count; path.index++) {
    if (!put_element(conversion, chunk, &value->list.items[path.index]) ||
        (chunk->count == chunk->capacity && !add_chunk(conversion, chunk, collection)))
      return false;
  }
  conversion->path = path.outer;
  return chunk->count == 0 || add_chunk(conversion, chunk, collection);
}

static bool add_all(struct conversion *conversion, const struct op_value *value, jobject collection)
{
  JNIEnv *env = conversion->thread->env;
  struct chunk chunk;
  if (value->list.count == 0)
    return true;
  if (!begin_chunk(conversion, value->list.count, &chunk) ||
      !add_elements(conversion, value, &chunk, collection))
    return false;
  (*env)->DeleteLocalRef(env, chunk.java_letters);
  (*env)->DeleteLocalRef(env, chunk.java_bits);
  (*env)->DeleteLocalRef(env, chunk.objects);
  return true;
}

static bool put_entry(struct conversion *conversion, const struct op_entry *entry,
                      struct jvm_class *object_class, jobject map)
{
  JNIEnv *env = conversion->thread->env;
  jobject element = NULL;
  if (!argument_make_element(conversion, object_class, &entry->value, &element))
    return false;
  jobject key = jvm_string_new(conversion->thread, entry->key);
  if (key == NULL)
    return argument_take(conversion) ? false : argument_fail_memory(conversion);
  jobject old =
      (*env)->CallObjectMethod(env, map, conversion->thread->jvm->known.method_map_put, key, element);
  bool failed = argument_take(conversion);
  (*env)->DeleteLocalRef(env, old);
  (*env)->DeleteLocalRef(env, key);
  (*env)->DeleteLocalRef(env, element);
  return !failed;
}

static bool put_all(struct conversion *conversion, const struct op_value *value, jobject map)
{
  struct jvm_class *object_class =
      jvm_class_of(conversion->thread, conversion->thread->jvm->known.class_object);
  if (object_class == NULL)
    return argument_fail_memory(conversion);
  struct argument_path path = {.outer = conversion->path};
  conversion->path = &path;
  for (; path.index < value->map.count; path.index++)
    if (!put_entry(conversion, &value->map.entries[path.index], object_class, map))
      return false;
  conversion->path = path.outer;
  return true;
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
  if ((*env)->EnsureLocalCapacity(env, REFERENCES) != 0)
    return !argument_take(conversion) && argument_fail_memory(conversion);
  jobject made = make_empty(conversion, class, value);
  if (made == NULL)
    return false;
  if (is_list ? !add_all(conversion, value, made) : !put_all(conversion, value, made))
    return false;
  *out = made;
  return true;
}
