#include "jni/convert/arguments.h"

#include <limits.h>

/* A longer text becomes a String by itself: to copy it once more would gain nothing. */
enum { CHUNK = 512, TEXT_MAX = 1024, FIRST_ROOM = 256 };

/* Elements on their way to Java, CHUNK in one call (jni/java: BulkCopy). The Java arrays are references of
 * the level's frame. */
struct bulk_copy {
  struct conversion *conversion;
  jobject object; /* the one to fill */
  enum { FILLS_COLLECTION, FILLS_MAP, FILLS_ARRAY } kind;
  struct jvm_class *component; /* of an array, or declared; NULL: any object may be an element */
  size_t capacity;
  size_t done; /* copied by earlier calls */
  size_t count;
  jbyte *letters;
  jlong *bits;
  jlong *keys; /* of a map */
  uint16_t *units;
  size_t unit_count;
  size_t unit_room;
  jbyteArray java_letters;
  jlongArray java_bits;
  jlongArray java_keys;
  jobjectArray java_objects; /* NULL: there have been none yet */
};

static bool make_room(struct bulk_copy *copy)
{
  struct arena *arena = copy->conversion->request->arena;
  size_t capacity = copy->capacity;
  copy->letters = arena_alloc(arena, capacity * sizeof *copy->letters);
  copy->bits = arena_alloc(arena, capacity * sizeof *copy->bits);
  copy->keys = arena_alloc(arena, copy->kind == FILLS_MAP ? capacity * sizeof *copy->keys : 0);
  return (copy->letters != NULL && copy->bits != NULL && copy->keys != NULL) ||
         argument_fail_memory(copy->conversion);
}

static bool make_arrays(struct bulk_copy *copy)
{
  JNIEnv *env = copy->conversion->thread->env;
  jsize capacity = (jsize)copy->capacity;
  copy->java_letters = (*env)->NewByteArray(env, capacity);
  if (copy->java_letters != NULL)
    copy->java_bits = (*env)->NewLongArray(env, capacity);
  if (copy->java_bits != NULL && copy->kind == FILLS_MAP)
    copy->java_keys = (*env)->NewLongArray(env, capacity);
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

static bool put_object(struct bulk_copy *copy, jobject object)
{
  struct conversion *conversion = copy->conversion;
  JNIEnv *env = conversion->thread->env;
  if (copy->java_objects == NULL)
    copy->java_objects =
        (*env)->NewObjectArray(env, (jsize)copy->capacity, conversion->thread->jvm->known.class_object, NULL);
  if (copy->java_objects != NULL)
    (*env)->SetObjectArrayElement(env, copy->java_objects, (jsize)copy->count, object);
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

static bool put_element(struct bulk_copy *copy, const struct op_value *value)
{
  struct argument_element element;
  struct jvm_class *component = keeps_its_type(copy, value) ? NULL : copy->component;
  if (!argument_read_element(copy->conversion, component, value, TEXT_MAX, &element))
    return false;
  copy->letters[copy->count] = element.letter;
  if (element.letter == 0)
    return put_object(copy, element.object);
  jlong *bits = &copy->bits[copy->count];
  if (element.letter == ARGUMENT_TEXT)
    return put_text(copy, element.text, bits);
  *bits = bits_of(element.letter, &element.scalar);
  return true;
}

/* ---- all of them ---- */

static void call_java(struct bulk_copy *copy, jcharArray units)
{
  JNIEnv *env = copy->conversion->thread->env;
  const struct jvm *jvm = copy->conversion->thread->jvm;
  jclass class = jvm->bulk_copy_class;
  jsize count = (jsize)copy->count;
  jbyteArray letters = copy->java_letters;
  jlongArray bits = copy->java_bits;
  jobjectArray objects = copy->java_objects;
  switch (copy->kind) {
  case FILLS_COLLECTION:
    (*env)->CallStaticVoidMethod(env, class, jvm->bulk_copy_add, copy->object, count, letters, bits, units,
                                 objects);
    break;
  case FILLS_MAP:
    (*env)->CallStaticVoidMethod(env, class, jvm->bulk_copy_put, copy->object, count, copy->java_keys,
                                 letters, bits, units, objects);
    break;
  case FILLS_ARRAY:
    (*env)->CallStaticVoidMethod(env, class, jvm->bulk_copy_set, copy->object, (jint)copy->done, count,
                                 letters, bits, units, objects);
    break;
  }
}

static bool copy_chunk(struct bulk_copy *copy)
{
  JNIEnv *env = copy->conversion->thread->env;
  jcharArray units = (*env)->NewCharArray(env, (jsize)copy->unit_count);
  if (units == NULL)
    return !argument_take(copy->conversion) && argument_fail_memory(copy->conversion);
  (*env)->SetCharArrayRegion(env, units, 0, (jsize)copy->unit_count, copy->units);
  (*env)->SetByteArrayRegion(env, copy->java_letters, 0, (jsize)copy->count, copy->letters);
  (*env)->SetLongArrayRegion(env, copy->java_bits, 0, (jsize)copy->count, copy->bits);
  if (copy->kind == FILLS_MAP)
    (*env)->SetLongArrayRegion(env, copy->java_keys, 0, (jsize)copy->count, copy->keys);
  call_java(copy, units);
  (*env)->DeleteLocalRef(env, units);
  copy->done += copy->count;
  copy->count = 0;
  copy->unit_count = 0;
  return !argument_take(copy->conversion);
}

static bool put_at(struct bulk_copy *copy, const struct op_value *value, size_t i)
{
  if (copy->kind != FILLS_MAP)
    return put_element(copy, &value->list.items[i]);
  const struct op_entry *entry = &value->map.entries[i];
  return put_element(copy, &entry->value) && put_text(copy, entry->key, &copy->keys[copy->count]);
}

static bool put_all(struct bulk_copy *copy, const struct op_value *value, size_t count)
{
  struct conversion *conversion = copy->conversion;
  const struct element_types *elements = conversion->elements;
  struct argument_path path = {.outer = conversion->path};
  conversion->path = &path;
  conversion->elements = elements == NULL ? NULL : elements->inside;
  for (; path.index < count; path.index++) {
    if (!put_at(copy, value, path.index) || (++copy->count == copy->capacity && !copy_chunk(copy)))
      return false;
  }
  conversion->path = path.outer;
  conversion->elements = elements;
  return copy->count == 0 || copy_chunk(copy);
}

static bool copy_values(struct bulk_copy *copy, const struct op_value *value, size_t count)
{
  copy->capacity = count < CHUNK ? count : CHUNK;
  if (count == 0)
    return true;
  return make_room(copy) && make_arrays(copy) && put_all(copy, value, count);
}

/* What the member declares of the elements. A class that cannot be loaded declares nothing. */
static struct jvm_class *declared_component(struct conversion *conversion)
{
  const struct element_types *elements = conversion->elements;
  return elements == NULL || elements->element.kind == 0
             ? NULL
             : jvm_type_class(conversion->thread, (struct jvm_type *)&elements->element);
}

bool argument_fill_collection(struct conversion *conversion, const struct op_value *value, jobject collection)
{
  struct bulk_copy copy = {.conversion = conversion,
                           .object = collection,
                           .kind = FILLS_COLLECTION,
                           .component = declared_component(conversion)};
  return copy_values(&copy, value, value->list.count);
}

bool argument_fill_map(struct conversion *conversion, const struct op_value *value, jobject map)
{
  struct bulk_copy copy = {.conversion = conversion,
                           .object = map,
                           .kind = FILLS_MAP,
                           .component = declared_component(conversion)};
  return copy_values(&copy, value, value->map.count);
}

bool argument_fill_array(struct conversion *conversion, const struct op_value *value,
                         struct jvm_class *component, jobject array)
{
  struct bulk_copy copy = {.conversion = conversion, .object = array, .kind = FILLS_ARRAY};
  if (!text_equal(component->name, TEXT("java.lang.Object")))
    copy.component = component;
  return copy_values(&copy, value, value->list.count);
}
