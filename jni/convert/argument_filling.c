#include "jni/convert/arguments.h"

#include <limits.h>

/* Texts that are longer cross by themselves: nothing would be gained by another copy. */
enum { CHUNK = 512, TEXT_MAX = 1024, FIRST_ROOM = 256 };

/* Elements that cross in one call (jni/java: Filling). Its arrays end with the level's frame. */
struct filling {
  struct conversion *conversion;
  jobject object; /* that is filled */
  enum { FILLS_COLLECTION, FILLS_MAP, FILLS_ARRAY } kind;
  struct jvm_class *component; /* of an array; NULL: any object may be an element */
  size_t capacity;
  size_t done; /* that have crossed */
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

static bool make_room(struct filling *filling)
{
  struct arena *arena = filling->conversion->request->arena;
  size_t capacity = filling->capacity;
  filling->letters = arena_alloc(arena, capacity * sizeof *filling->letters);
  filling->bits = arena_alloc(arena, capacity * sizeof *filling->bits);
  filling->keys = arena_alloc(arena, filling->kind == FILLS_MAP ? capacity * sizeof *filling->keys : 0);
  return (filling->letters != NULL && filling->bits != NULL && filling->keys != NULL) ||
         argument_fail_memory(filling->conversion);
}

static bool make_arrays(struct filling *filling)
{
  JNIEnv *env = filling->conversion->thread->env;
  jsize capacity = (jsize)filling->capacity;
  filling->java_letters = (*env)->NewByteArray(env, capacity);
  if (filling->java_letters != NULL)
    filling->java_bits = (*env)->NewLongArray(env, capacity);
  if (filling->java_bits != NULL && filling->kind == FILLS_MAP)
    filling->java_keys = (*env)->NewLongArray(env, capacity);
  return !argument_take(filling->conversion);
}

/* ---- one element ---- */

static bool grow_units(struct filling *filling, size_t more)
{
  size_t needed = filling->unit_count + more;
  if (needed <= filling->unit_room)
    return true;
  size_t room = needed < FIRST_ROOM ? FIRST_ROOM : needed * 2;
  uint16_t *grown =
      room > INT_MAX ? NULL : arena_alloc(filling->conversion->request->arena, room * sizeof *grown);
  if (grown == NULL)
    return argument_fail_memory(filling->conversion);
  if (filling->unit_count > 0)
    memcpy(grown, filling->units, filling->unit_count * sizeof *grown);
  filling->units = grown;
  filling->unit_room = room;
  return true;
}

static bool put_text(struct filling *filling, struct text text, jlong *where)
{
  if (!grow_units(filling, text.len))
    return false;
  size_t count = text_to_utf16(text, filling->units + filling->unit_count);
  *where = (jlong)((uint64_t)filling->unit_count << 32 | count);
  filling->unit_count += count;
  return true;
}

static bool put_object(struct filling *filling, jobject object)
{
  struct conversion *conversion = filling->conversion;
  JNIEnv *env = conversion->thread->env;
  if (filling->java_objects == NULL)
    filling->java_objects = (*env)->NewObjectArray(env, (jsize)filling->capacity,
                                                   conversion->thread->jvm->known.class_object, NULL);
  if (filling->java_objects != NULL)
    (*env)->SetObjectArrayElement(env, filling->java_objects, (jsize)filling->count, object);
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

static bool put_element(struct filling *filling, const struct op_value *value)
{
  struct argument_element element;
  if (!argument_read_element(filling->conversion, filling->component, value, TEXT_MAX, &element))
    return false;
  filling->letters[filling->count] = element.letter;
  if (element.letter == 0)
    return put_object(filling, element.object);
  jlong *bits = &filling->bits[filling->count];
  if (element.letter == ARGUMENT_TEXT)
    return put_text(filling, element.text, bits);
  *bits = bits_of(element.letter, &element.scalar);
  return true;
}

/* ---- all of them ---- */

static void call(struct filling *filling, jcharArray units)
{
  JNIEnv *env = filling->conversion->thread->env;
  const struct jvm *jvm = filling->conversion->thread->jvm;
  jclass class = jvm->filling_class;
  jsize count = (jsize)filling->count;
  jbyteArray letters = filling->java_letters;
  jlongArray bits = filling->java_bits;
  jobjectArray objects = filling->java_objects;
  switch (filling->kind) {
  case FILLS_COLLECTION:
    (*env)->CallStaticVoidMethod(env, class, jvm->filling_add, filling->object, count, letters, bits, units,
                                 objects);
    break;
  case FILLS_MAP:
    (*env)->CallStaticVoidMethod(env, class, jvm->filling_put, filling->object, count, filling->java_keys,
                                 letters, bits, units, objects);
    break;
  case FILLS_ARRAY:
    (*env)->CallStaticVoidMethod(env, class, jvm->filling_set, filling->object, (jint)filling->done, count,
                                 letters, bits, units, objects);
    break;
  }
}

static bool flush(struct filling *filling)
{
  JNIEnv *env = filling->conversion->thread->env;
  jcharArray units = (*env)->NewCharArray(env, (jsize)filling->unit_count);
  if (units == NULL)
    return !argument_take(filling->conversion) && argument_fail_memory(filling->conversion);
  (*env)->SetCharArrayRegion(env, units, 0, (jsize)filling->unit_count, filling->units);
  (*env)->SetByteArrayRegion(env, filling->java_letters, 0, (jsize)filling->count, filling->letters);
  (*env)->SetLongArrayRegion(env, filling->java_bits, 0, (jsize)filling->count, filling->bits);
  if (filling->kind == FILLS_MAP)
    (*env)->SetLongArrayRegion(env, filling->java_keys, 0, (jsize)filling->count, filling->keys);
  call(filling, units);
  (*env)->DeleteLocalRef(env, units);
  filling->done += filling->count;
  filling->count = 0;
  filling->unit_count = 0;
  return !argument_take(filling->conversion);
}

static bool put_at(struct filling *filling, const struct op_value *value, size_t i)
{
  if (filling->kind != FILLS_MAP)
    return put_element(filling, &value->list.items[i]);
  const struct op_entry *entry = &value->map.entries[i];
  return put_element(filling, &entry->value) && put_text(filling, entry->key, &filling->keys[filling->count]);
}

static bool put_all(struct filling *filling, const struct op_value *value, size_t count)
{
  struct conversion *conversion = filling->conversion;
  struct argument_path path = {.outer = conversion->path};
  conversion->path = &path;
  for (; path.index < count; path.index++) {
    if (!put_at(filling, value, path.index) || (++filling->count == filling->capacity && !flush(filling)))
      return false;
  }
  conversion->path = path.outer;
  return filling->count == 0 || flush(filling);
}

static bool fill(struct filling *filling, const struct op_value *value, size_t count)
{
  filling->capacity = count < CHUNK ? count : CHUNK;
  if (count == 0)
    return true;
  return make_room(filling) && make_arrays(filling) && put_all(filling, value, count);
}

bool argument_fill_collection(struct conversion *conversion, const struct op_value *value, jobject collection)
{
  struct filling filling = {.conversion = conversion, .object = collection, .kind = FILLS_COLLECTION};
  return fill(&filling, value, value->list.count);
}

bool argument_fill_map(struct conversion *conversion, const struct op_value *value, jobject map)
{
  struct filling filling = {.conversion = conversion, .object = map, .kind = FILLS_MAP};
  return fill(&filling, value, value->map.count);
}

bool argument_fill_array(struct conversion *conversion, const struct op_value *value,
                         struct jvm_class *component, jobject array)
{
  struct filling filling = {.conversion = conversion, .object = array, .kind = FILLS_ARRAY};
  if (!text_equal(component->name, TEXT("java.lang.Object")))
    filling.component = component;
  return fill(&filling, value, value->list.count);
}
