/* Converts a value that was sent in pieces, when its place was not known yet, to the type that the place
 * declares. */
#include "jni/convert/arguments.h"
#include "jni/convert/results.h"
#include "jni/runtime/strings.h"
#include "jni/runtime/throwables.h"

#include <limits.h>
#include <stdlib.h>

enum { LONG_DIGITS = 18 }; /* a long always has room for this number of digits */

enum reading {
  PIECE_READ,
  PIECE_IS_OBJECT, /* the client named an object by its ref, or the class has no plain value */
  PIECE_FAILED     /* the outcome says why */
};

static bool fit_container(struct conversion *conversion, jobject object, jobject named);
static enum reading read_value(struct conversion *conversion, jobject object, jobject named,
                               struct op_value *out);

static enum reading fail_reading(struct conversion *conversion)
{
  (void)argument_fail_memory(conversion);
  return PIECE_FAILED;
}

static struct jvm_class *find_class(struct conversion *conversion, const struct jvm_type *declared)
{
  return declared->kind == 0 ? NULL : jvm_type_class(conversion->thread, (struct jvm_type *)declared);
}

static bool is_named(struct conversion *conversion, jobject object, jobject named)
{
  JNIEnv *env = conversion->thread->env;
  jmethodID contains_key = conversion->thread->jvm->known.method_map_contains_key;
  if (named == NULL)
    return false;
  bool is_key = (*env)->CallBooleanMethod(env, named, contains_key, object);
  return !throwable_take(conversion->thread, NULL) && is_key;
}

static enum reading read_whole_number(struct conversion *conversion, const struct jvm_class *class,
                                      jobject object, struct op_value *out)
{
  /* not refused for its length, because the pieces were checked for the same limit of digits */
  if (!result_read_text(conversion->request, class, object, out))
    return fail_reading(conversion);
  struct text digits = out->text;
  *out = (struct op_value){.kind = OP_BIG_INTEGER, .literal = digits};
  if (digits.len <= LONG_DIGITS)
    *out = (struct op_value){.kind = OP_INTEGER, .integer = strtoll(digits.data, NULL, 10)};
  return PIECE_READ;
}

/* Reads a String, a number or a boolean. */
static enum reading read_plain(struct conversion *conversion, jobject object, struct op_value *out)
{
  JNIEnv *env = conversion->thread->env;
  struct arena *arena = conversion->request->arena;
  const struct jvm_class *class = jvm_class_of_object(conversion->thread, object);
  if (class == NULL)
    return fail_reading(conversion);
  if ((*env)->IsSameObject(env, class->ref, conversion->thread->jvm->known.class_big_integer))
    return read_whole_number(conversion, class, object, out);
  if (class->maker == MAKER_STRING) {
    *out = (struct op_value){.kind = OP_TEXT, .text = jvm_string_get(conversion->thread, object, arena)};
    return out->text.data != NULL ? PIECE_READ : fail_reading(conversion);
  }
  if (class->unboxed == 0 || class->unboxed == 'C')
    return PIECE_IS_OBJECT;
  return result_read_value_object(conversion->request, class, object, out) ? PIECE_READ
                                                                           : fail_reading(conversion);
}

static enum reading read_list(struct conversion *conversion, jobjectArray objects, jobject named,
                              struct op_value *out)
{
  JNIEnv *env = conversion->thread->env;
  size_t count = (size_t)(*env)->GetArrayLength(env, objects);
  *out = (struct op_value){.kind = OP_LIST, .list = {.count = count}};
  out->list.items = arena_calloc(conversion->request->arena, count, sizeof *out->list.items);
  enum reading reading = out->list.items != NULL ? PIECE_READ : fail_reading(conversion);
  for (size_t i = 0; reading == PIECE_READ && i < count; i++) {
    jobject object = (*env)->GetObjectArrayElement(env, objects, (jsize)i);
    reading = read_value(conversion, object, named, &out->list.items[i]);
    (*env)->DeleteLocalRef(env, object);
  }
  return reading;
}

static enum reading read_key(struct conversion *conversion, jobject entry, struct text *out)
{
  JNIEnv *env = conversion->thread->env;
  struct op_value key = {.kind = OP_NULL};
  jobject object =
      (*env)->CallObjectMethod(env, entry, conversion->thread->jvm->known.method_map_entry_get_key);
  if (argument_take(conversion))
    return PIECE_FAILED;
  enum reading reading = object == NULL ? PIECE_IS_OBJECT : read_plain(conversion, object, &key);
  (*env)->DeleteLocalRef(env, object);
  *out = key.text;
  return reading == PIECE_READ && key.kind != OP_TEXT ? PIECE_IS_OBJECT : reading;
}

static enum reading read_entry(struct conversion *conversion, jobject entry, jobject named,
                               struct op_entry *out)
{
  JNIEnv *env = conversion->thread->env;
  enum reading reading = read_key(conversion, entry, &out->key);
  if (reading != PIECE_READ)
    return reading;
  jobject object =
      (*env)->CallObjectMethod(env, entry, conversion->thread->jvm->known.method_map_entry_get_value);
  if (argument_take(conversion))
    return PIECE_FAILED;
  reading = read_value(conversion, object, named, &out->value);
  (*env)->DeleteLocalRef(env, object);
  return reading;
}

static enum reading read_map(struct conversion *conversion, jobjectArray entries, jobject named,
                             struct op_value *out)
{
  JNIEnv *env = conversion->thread->env;
  size_t count = (size_t)(*env)->GetArrayLength(env, entries);
  *out = (struct op_value){.kind = OP_MAP, .map = {.count = count}};
  out->map.entries = arena_calloc(conversion->request->arena, count, sizeof *out->map.entries);
  enum reading reading = out->map.entries != NULL ? PIECE_READ : fail_reading(conversion);
  for (size_t i = 0; reading == PIECE_READ && i < count; i++) {
    jobject entry = (*env)->GetObjectArrayElement(env, entries, (jsize)i);
    reading = read_entry(conversion, entry, named, &out->map.entries[i]);
    (*env)->DeleteLocalRef(env, entry);
  }
  return reading;
}

enum container { NO_CONTAINER, LIST_CONTAINER, MAP_CONTAINER };

/* Recognises the classes that lists and maps without a type become. */
static enum container find_container(struct conversion *conversion, jobject object, jobject named)
{
  const struct jvm_known *known = &conversion->thread->jvm->known;
  JNIEnv *env = conversion->thread->env;
  jclass class = (*env)->GetObjectClass(env, object);
  enum container kind = (*env)->IsSameObject(env, class, known->class_array_list) ? LIST_CONTAINER
                        : (*env)->IsSameObject(env, class, known->class_hash_map) ? MAP_CONTAINER
                                                                                  : NO_CONTAINER;
  (*env)->DeleteLocalRef(env, class);
  return kind != NO_CONTAINER && is_named(conversion, object, named) ? NO_CONTAINER : kind;
}

/* The elements of a list, or the entries of a map. NULL: the outcome says why. */
static jobjectArray copy_elements(struct conversion *conversion, jobject object, enum container kind)
{
  JNIEnv *env = conversion->thread->env;
  const struct jvm_known *known = &conversion->thread->jvm->known;
  jobject elements =
      kind == LIST_CONTAINER ? object : (*env)->CallObjectMethod(env, object, known->method_map_entry_set);
  if (argument_take(conversion))
    return NULL;
  jobjectArray array = (*env)->CallObjectMethod(env, elements, known->method_collection_to_array);
  return argument_take(conversion) ? NULL : array;
}

/* Reads what an object of the pieces was made of. */
static enum reading read_value(struct conversion *conversion, jobject object, jobject named,
                               struct op_value *out)
{
  *out = (struct op_value){.kind = OP_NULL};
  if (object == NULL)
    return PIECE_READ;
  enum container kind = find_container(conversion, object, named);
  if (kind == NO_CONTAINER)
    return read_plain(conversion, object, out);
  if (!argument_open_level(conversion))
    return PIECE_FAILED;
  jobjectArray array = copy_elements(conversion, object, kind);
  enum reading reading = array == NULL            ? PIECE_FAILED
                         : kind == LIST_CONTAINER ? read_list(conversion, array, named, out)
                                                  : read_map(conversion, array, named, out);
  argument_close_level(conversion, NULL);
  return reading;
}

/* Converts an object of another class to the declared type. *made: a new local reference, or the object
 * itself. */
static bool remake(struct conversion *conversion, struct jvm_class *declared, jobject object, jobject named,
                   jobject *made)
{
  struct op_value value;
  enum reading reading = read_value(conversion, object, named, &value);
  if (reading == PIECE_READ)
    return argument_make_element(conversion, declared, &value, made);
  if (reading == PIECE_FAILED)
    return false;
  enum container kind = find_container(conversion, object, named);
  const struct op_value shown = {.kind = kind == LIST_CONTAINER ? OP_LIST : OP_MAP};
  return kind == NO_CONTAINER ||
         argument_fail(conversion, &shown, "with objects in it, and sent in pieces, it does not become %.*s",
                       TEXT_ARGS(declared->name));
}

/* Fits one element, key or value. *made: a new local reference, or the object itself, whose contents were
 * converted in place. */
static bool fit_object(struct conversion *conversion, struct jvm_class *declared, jobject object,
                       jobject named, jobject *made)
{
  JNIEnv *env = conversion->thread->env;
  *made = object;
  if (object == NULL)
    return true;
  if (declared != NULL && !(*env)->IsInstanceOf(env, object, declared->ref))
    return remake(conversion, declared, object, named, made);
  return conversion->elements == NULL || is_named(conversion, object, named) ||
         fit_container(conversion, object, named);
}

/* Converts the elements of a list; path is the path of the first element. */
static bool fit_elements(struct conversion *conversion, struct jvm_class *declared, jobject list,
                         jobject named, struct argument_path *path)
{
  JNIEnv *env = conversion->thread->env;
  const struct jvm_known *known = &conversion->thread->jvm->known;
  jobjectArray elements = (*env)->CallObjectMethod(env, list, known->method_collection_to_array);
  if (argument_take(conversion))
    return false;
  size_t count = (size_t)(*env)->GetArrayLength(env, elements);
  for (; path->index < count; path->index++) {
    jobject made;
    jobject element = (*env)->GetObjectArrayElement(env, elements, (jsize)path->index);
    if (!fit_object(conversion, declared, element, named, &made))
      return false;
    if (made != element) {
      jobject old = (*env)->CallObjectMethod(env, list, known->method_list_set, (jint)path->index, made);
      if (argument_take(conversion))
        return false;
      (*env)->DeleteLocalRef(env, old);
      (*env)->DeleteLocalRef(env, made);
    }
    (*env)->DeleteLocalRef(env, element);
  }
  return true;
}

/* Converts the value of a map's entry, and converts its key, keys[path->index], to the declared type. */
static bool fit_entry(struct conversion *conversion, struct jvm_class *declared, struct jvm_class *key_class,
                      jobject entry, jobject named, struct argument_path *path, jobjectArray keys,
                      bool *has_new_key)
{
  JNIEnv *env = conversion->thread->env;
  const struct jvm_known *known = &conversion->thread->jvm->known;
  jobject key = (*env)->CallObjectMethod(env, entry, known->method_map_entry_get_key);
  if (argument_take(conversion))
    return false;
  jobject new_key = key;
  path->is_key = true;
  if (key_class != NULL && key != NULL && !(*env)->IsInstanceOf(env, key, key_class->ref) &&
      !remake(conversion, key_class, key, named, &new_key))
    return false;
  path->is_key = false;
  *has_new_key = *has_new_key || new_key != key;
  (*env)->SetObjectArrayElement(env, keys, (jsize)path->index, new_key);
  jobject value = (*env)->CallObjectMethod(env, entry, known->method_map_entry_get_value);
  jobject made = value;
  if (argument_take(conversion) || !fit_object(conversion, declared, value, named, &made))
    return false;
  if (made != value)
    (*env)->CallObjectMethod(env, entry, known->method_map_entry_set_value, made);
  return !argument_take(conversion);
}

/* Puts the map's entries once more. keys: other keys, or NULL. An exception may be pending. */
static void put_entries(struct conversion *conversion, jobject map, jobjectArray entries, jobjectArray keys)
{
  JNIEnv *env = conversion->thread->env;
  const struct jvm_known *known = &conversion->thread->jvm->known;
  jsize count = (*env)->GetArrayLength(env, entries);
  (*env)->CallVoidMethod(env, map, known->method_map_clear);
  for (jsize i = 0; i < count && !(*env)->ExceptionCheck(env); i++) {
    jobject entry = (*env)->GetObjectArrayElement(env, entries, i);
    jobject key = keys != NULL ? (*env)->GetObjectArrayElement(env, keys, i)
                               : (*env)->CallObjectMethod(env, entry, known->method_map_entry_get_key);
    jobject value = (*env)->ExceptionCheck(env)
                        ? NULL
                        : (*env)->CallObjectMethod(env, entry, known->method_map_entry_get_value);
    jobject old = (*env)->ExceptionCheck(env)
                      ? NULL
                      : (*env)->CallObjectMethod(env, map, known->method_map_put, key, value);
    (*env)->DeleteLocalRef(env, old);
    (*env)->DeleteLocalRef(env, value);
    (*env)->DeleteLocalRef(env, key);
    (*env)->DeleteLocalRef(env, entry);
  }
}

/* Replaces the map's keys. If two of the new keys are equal, the map keeps its old keys. */
static bool replace_keys(struct conversion *conversion, jobject map, jobjectArray entries, jobjectArray keys)
{
  JNIEnv *env = conversion->thread->env;
  put_entries(conversion, map, entries, keys);
  if (argument_take(conversion))
    return false;
  jint size = (*env)->CallIntMethod(env, map, conversion->thread->jvm->known.method_map_size);
  if (argument_take(conversion))
    return false;
  if (size == (*env)->GetArrayLength(env, entries))
    return true;
  put_entries(conversion, map, entries, NULL);
  const struct op_value value = {.kind = OP_MAP};
  return !argument_take(conversion) &&
         argument_fail(conversion, &value, "two of its keys are the same as what is declared");
}

static bool fit_entries(struct conversion *conversion, struct jvm_class *declared,
                        struct jvm_class *key_class, jobject map, jobject named, struct argument_path *path)
{
  JNIEnv *env = conversion->thread->env;
  const struct jvm_known *known = &conversion->thread->jvm->known;
  jobject set = (*env)->CallObjectMethod(env, map, known->method_map_entry_set);
  if (argument_take(conversion))
    return false;
  jobjectArray entries = (*env)->CallObjectMethod(env, set, known->method_collection_to_array);
  if (argument_take(conversion))
    return false;
  jsize count = (*env)->GetArrayLength(env, entries);
  jobjectArray keys = (*env)->NewObjectArray(env, count, known->class_object, NULL);
  if (argument_take(conversion))
    return false;
  bool has_new_key = false;
  for (; path->index < (size_t)count; path->index++) {
    if (!argument_open_level(conversion))
      return false;
    jobject entry = (*env)->GetObjectArrayElement(env, entries, (jsize)path->index);
    bool fits = fit_entry(conversion, declared, key_class, entry, named, path, keys, &has_new_key);
    argument_close_level(conversion, NULL);
    if (!fits)
      return false;
  }
  conversion->path = path->outer;
  return !has_new_key || replace_keys(conversion, map, entries, keys);
}

static bool fit_level(struct conversion *conversion, jobject object, bool is_list, jobject named,
                      const struct element_types *elements)
{
  struct argument_path path = {.outer = conversion->path};
  struct jvm_class *declared = find_class(conversion, &elements->element);
  conversion->path = &path;
  return is_list ? fit_elements(conversion, declared, object, named, &path)
                 : fit_entries(conversion, declared, find_class(conversion, &elements->key), object, named,
                               &path);
}

static bool fit_container(struct conversion *conversion, jobject object, jobject named)
{
  JNIEnv *env = conversion->thread->env;
  const struct jvm_known *known = &conversion->thread->jvm->known;
  const struct element_types *elements = conversion->elements;
  const struct argument_path *path = conversion->path;
  bool is_list = (*env)->IsInstanceOf(env, object, known->class_list);
  if (!is_list && !(*env)->IsInstanceOf(env, object, known->class_map))
    return true;
  if (!argument_open_level(conversion))
    return false;
  conversion->elements = elements->inside;
  bool fits = fit_level(conversion, object, is_list, named, elements);
  conversion->elements = elements;
  conversion->path = path;
  argument_close_level(conversion, NULL);
  return fits;
}

bool argument_fit_pieces(struct conversion *conversion, jobject object, jobject named)
{
  return fit_container(conversion, object, named);
}
