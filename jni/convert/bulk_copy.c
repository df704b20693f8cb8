#include "jni/convert/arguments.h"

#include <limits.h>

/* A longer text becomes a String by itself: to copy it once more would gain nothing. */
enum { CHUNK = 512, TEXT_MAX = 1024, FIRST_ROOM = 256 };

/* What is copied: the elements of a collection or array; or a map's values, or its keys. */
struct column {
  struct jvm_class *component; /* of an array, or declared; NULL: any object, or of keys a String */
  jbyte *letters;
  jlong *bits;
  jbyteArray java_letters;
  jlongArray java_bits;
  jobjectArray java_objects; /* NULL: there have been none yet */
};

/* Elements on their way to Java, CHUNK in one call (jni/java: BulkCopy). The Java arrays are references of
 * the level's frame. */
struct bulk_copy {
  struct conversion *conversion;
  jobject object; /* the one to fill */
  enum { FILLS_COLLECTION, FILLS_MAP, FILLS_ARRAY } kind;
  size_t capacity;
  size_t done; /* copied by earlier calls */
  size_t count;
  struct column elements;
  struct column keys; /* FILLS_MAP */
  jobject made_keys;  /* a Set of those that are no Strings; NULL: all are */
  uint16_t *units;
  size_t unit_count;
  size_t unit_room;
};

static bool make_column(struct bulk_copy *copy, struct column *column)
{
  JNIEnv *env = copy->conversion->thread->env;
  struct arena *arena = copy->conversion->request->arena;
  column->letters = arena_alloc(arena, copy->capacity * sizeof *column->letters);
  column->bits = arena_alloc(arena, copy->capacity * sizeof *column->bits);
  if (column->letters == NULL || column->bits == NULL)
    return argument_fail_memory(copy->conversion);
  column->java_letters = (*env)->NewByteArray(env, (jsize)copy->capacity);
  if (column->java_letters != NULL)
    column->java_bits = (*env)->NewLongArray(env, (jsize)copy->capacity);
  return !argument_take(copy->conversion);
}

static bool make_columns(struct bulk_copy *copy)
{
  JNIEnv *env = copy->conversion->thread->env;
  const struct jvm *jvm = copy->conversion->thread->jvm;
  if (!make_column(copy, &copy->elements) || (copy->kind == FILLS_MAP && !make_column(copy, &copy->keys)))
    return false;
  if (copy->keys.component == NULL)
    return true;
  copy->made_keys = (*env)->CallStaticObjectMethod(env, jvm->bulk_copy_class, jvm->bulk_copy_no_keys,
                                                   copy->object, copy->keys.component->ref);
  return !argument_take(copy->conversion);
}

/* ---- one element ---- */

static bool grow_units(struct bulk_copy *copy, size_t more)
{
  size_t needed = copy->unit_count + more;
  if (needed <= copy->unit_room)
    return true;
  size_t room = needed < FIRST_ROOM ? FIRST_ROOM : needed * 2;
  uint16_t *grown =
      room > INT_MAX ? NULL : arena_alloc(copy->conversion->request->arena, room * sizeof *grown);
  if (grown == NULL)
    return argument_fail_memory(copy->conversion);
  if (copy->unit_count > 0)
    memcpy(grown, copy->units, copy->unit_count * sizeof *grown);
  copy->units = grown;
  copy->unit_room = room;
  return true;
}

static bool put_text(struct bulk_copy *copy, struct text text, jlong *where)
{
  if (!grow_units(copy, text.len))
    return false;
  size_t count = text_to_utf16(text, copy->units + copy->unit_count);
  *where = (jlong)((uint64_t)copy->unit_count << 32 | count);
  copy->unit_count += count;
  return true;
}

static bool put_object(struct bulk_copy *copy, struct column *column, jobject object)
{
  struct conversion *conversion = copy->conversion;
  JNIEnv *env = conversion->thread->env;
  if (column->java_objects == NULL)
    column->java_objects =
        (*env)->NewObjectArray(env, (jsize)copy->capacity, conversion->thread->jvm->known.class_object, NULL);
  if (column->java_objects != NULL)
    (*env)->SetObjectArrayElement(env, column->java_objects, (jsize)copy->count, object);
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

/* What the member declares of a collection's elements does not hold for those that are objects already, or that declare a
 * type themselves. */
static bool keeps_its_type(const struct bulk_copy *copy, const struct op_value *value)
{
  return copy->kind != FILLS_ARRAY && (value->type.data != NULL || value->kind == OP_REF);
}

static bool put_read(struct bulk_copy *copy, struct column *column, const struct argument_element *element)
{
  jlong *bits = &column->bits[copy->count];
  column->letters[copy->count] = element->letter;
  if (element->letter == 0)
    return put_object(copy, column, element->object);
  if (element->letter == ARGUMENT_TEXT)
    return put_text(copy, element->text, bits);
  *bits = bits_of(element->letter, &element->scalar);
  return true;
}

static bool put_element(struct bulk_copy *copy, const struct op_value *value)
{
  struct argument_element element;
  struct jvm_class *component = keeps_its_type(copy, value) ? NULL : copy->elements.component;
  return argument_read_element(copy->conversion, component, value, TEXT_MAX, &element) &&
         put_read(copy, &copy->elements, &element);
}

static bool put_key(struct bulk_copy *copy, struct text key, struct argument_path *path)
{
  const struct op_value value = {.kind = OP_TEXT, .text = key};
  struct argument_element element;
  path->is_key = true;
  if (!argument_read_element(copy->conversion, copy->keys.component, &value, SIZE_MAX, &element) ||
      !put_read(copy, &copy->keys, &element))
    return false;
  path->is_key = false;
  return true;
}

/* ---- all of them ---- */

/* Returns how many were copied: fewer than given only where a key equals an earlier one. */
static jint call_java(struct bulk_copy *copy, jcharArray units)
{
  JNIEnv *env = copy->conversion->thread->env;
  const struct jvm *jvm = copy->conversion->thread->jvm;
  jclass class = jvm->bulk_copy_class;
  jsize count = (jsize)copy->count;
  const struct column *elements = &copy->elements;
  const struct column *keys = &copy->keys;
  switch (copy->kind) {
  case FILLS_COLLECTION:
    (*env)->CallStaticVoidMethod(env, class, jvm->bulk_copy_add, copy->object, count, elements->java_letters,
                                 elements->java_bits, units, elements->java_objects);
    break;
  case FILLS_MAP:
    return (*env)->CallStaticIntMethod(env, class, jvm->bulk_copy_put, copy->object, copy->made_keys, count,
                                       keys->java_letters, keys->java_bits, keys->java_objects,
                                       elements->java_letters, elements->java_bits, units,
                                       elements->java_objects);
  case FILLS_ARRAY:
    (*env)->CallStaticVoidMethod(env, class, jvm->bulk_copy_set, copy->object, (jint)copy->done, count,
                                 elements->java_letters, elements->java_bits, units, elements->java_objects);
    break;
  }
  return count;
}

static void set_column(const struct bulk_copy *copy, const struct column *column)
{
  JNIEnv *env = copy->conversion->thread->env;
  (*env)->SetByteArrayRegion(env, column->java_letters, 0, (jsize)copy->count, column->letters);
  (*env)->SetLongArrayRegion(env, column->java_bits, 0, (jsize)copy->count, column->bits);
}

/* Texts that differ may be one key: "1" and "01" in a Map<Integer, ...>. */
static bool fail_repeated_key(const struct bulk_copy *copy, const struct op_value *value, size_t at)
{
  struct argument_path path = {.outer = copy->conversion->path->outer, .index = at, .is_key = true};
  const struct op_value key = {.kind = OP_TEXT, .text = value->map.entries[at].key};
  copy->conversion->path = &path;
  bool failed = argument_fail(copy->conversion, &key, "an earlier key is the same %.*s",
                              TEXT_ARGS(copy->keys.component->name));
  copy->conversion->path = path.outer;
  return failed;
}

static bool copy_chunk(struct bulk_copy *copy, const struct op_value *value)
{
  JNIEnv *env = copy->conversion->thread->env;
  jcharArray units = (*env)->NewCharArray(env, (jsize)copy->unit_count);
  if (units == NULL)
    return !argument_take(copy->conversion) && argument_fail_memory(copy->conversion);
  (*env)->SetCharArrayRegion(env, units, 0, (jsize)copy->unit_count, copy->units);
  set_column(copy, &copy->elements);
  if (copy->kind == FILLS_MAP)
    set_column(copy, &copy->keys);
  jint copied = call_java(copy, units);
  (*env)->DeleteLocalRef(env, units);
  if (argument_take(copy->conversion))
    return false;
  if ((size_t)copied < copy->count)
    return fail_repeated_key(copy, value, copy->done + (size_t)copied);
  copy->done += copy->count;
  copy->count = 0;
  copy->unit_count = 0;
  return true;
}

static bool put_at(struct bulk_copy *copy, const struct op_value *value, struct argument_path *path)
{
  if (copy->kind != FILLS_MAP)
    return put_element(copy, &value->list.items[path->index]);
  const struct op_entry *entry = &value->map.entries[path->index];
  return put_element(copy, &entry->value) && put_key(copy, entry->key, path);
}

static bool put_all(struct bulk_copy *copy, const struct op_value *value, size_t count)
{
  struct conversion *conversion = copy->conversion;
  const struct element_types *elements = conversion->elements;
  struct argument_path path = {.outer = conversion->path};
  conversion->path = &path;
  conversion->elements = elements == NULL ? NULL : elements->inside;
  for (; path.index < count; path.index++) {
    if (!put_at(copy, value, &path) || (++copy->count == copy->capacity && !copy_chunk(copy, value)))
      return false;
  }
  if (copy->count > 0 && !copy_chunk(copy, value))
    return false;
  conversion->path = path.outer;
  conversion->elements = elements;
  return true;
}

static bool copy_values(struct bulk_copy *copy, const struct op_value *value, size_t count)
{
  copy->capacity = count < CHUNK ? count : CHUNK;
  return count == 0 || (make_columns(copy) && put_all(copy, value, count));
}

/* What the member declares of the elements. A class that cannot be loaded declares nothing. */
static struct jvm_class *declared_component(struct conversion *conversion)
{
  const struct element_types *elements = conversion->elements;
  return elements == NULL || elements->element.kind == 0
             ? NULL
             : jvm_type_class(conversion->thread, (struct jvm_type *)&elements->element);
}

/* Finds the class that keys are made of; NULL where they stay Strings, because a String is what is declared, or may be.
 * False: no key can be made, as the outcome says. */
static bool find_key_class(struct conversion *conversion, const struct op_value *value,
                           struct jvm_class **found)
{
  JNIEnv *env = conversion->thread->env;
  const struct element_types *elements = conversion->elements;
  *found = NULL;
  if (elements == NULL || elements->key.kind == 0 || value->map.count == 0)
    return true;
  struct jvm_class *class = jvm_type_class(conversion->thread, (struct jvm_type *)&elements->key);
  if (class == NULL)
    return argument_fail(conversion, value, "the class %.*s of its keys cannot be loaded",
                         TEXT_ARGS(elements->key.name));
  if (!(*env)->IsAssignableFrom(env, conversion->thread->jvm->known.class_string, class->ref))
    *found = class;
  return true;
}

bool argument_fill_collection(struct conversion *conversion, const struct op_value *value, jobject collection)
{
  struct bulk_copy copy = {.conversion = conversion,
                           .object = collection,
                           .kind = FILLS_COLLECTION,
                           .elements = {.component = declared_component(conversion)}};
  return copy_values(&copy, value, value->list.count);
}

bool argument_fill_map(struct conversion *conversion, const struct op_value *value, jobject map)
{
  struct bulk_copy copy = {.conversion = conversion,
                           .object = map,
                           .kind = FILLS_MAP,
                           .elements = {.component = declared_component(conversion)}};
  return find_key_class(conversion, value, &copy.keys.component) &&
         copy_values(&copy, value, value->map.count);
}

bool argument_fill_array(struct conversion *conversion, const struct op_value *value,
                         struct jvm_class *component, jobject array)
{
  struct bulk_copy copy = {.conversion = conversion, .object = array, .kind = FILLS_ARRAY};
  if (!text_equal(component->name, TEXT("java.lang.Object")))
    copy.elements.component = component;
  return copy_values(&copy, value, value->list.count);
}
