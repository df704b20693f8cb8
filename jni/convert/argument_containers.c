/* From lists and maps of a request to Java's arrays, collections and maps. */
#include "jni/convert/arguments.h"

#include "base/primitives.h"
#include "jni/convert/judgement.h"
#include "jni/convert/packed.h"
#include "jni/runtime/dispatch.h"
#include "jni/runtime/throwables.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

enum { ACC_ABSTRACT = 0x0400 };
/* TEXT_MAX: a longer text is made a String before the bulk copy, because the bulk copy would only copy the
 * text once more. */
enum { CHUNK = 512, TEXT_MAX = 1024, FIRST_ROOM = 256 };

/* The part that a bulk copy sets: the elements of a collection or array, the values of a map, or its keys. */
struct column {
  struct jvm_class *component; /* of an array, or declared; NULL: any object, or for keys a String */
  jbyte *letters;
  jlong *bits;
  jbyteArray java_letters;
  jlongArray java_bits;
  jobjectArray java_objects; /* NULL: none yet */
};

/* A bulk copy of elements to Java, CHUNK in one call (jni/java: BulkCopy). The Java arrays are references of
 * the level's frame. */
struct bulk_copy {
  struct conversion *conversion;
  jobject object; /* the object to fill */
  enum { FILLS_COLLECTION, FILLS_MAP, FILLS_ARRAY } kind;
  size_t capacity;
  size_t done; /* elements that earlier calls have copied */
  size_t count;
  struct column elements;
  struct column keys; /* FILLS_MAP */
  jobject made_keys;  /* a Set of the keys that are not Strings; NULL: all keys are Strings */
  uint16_t *units;
  size_t unit_count;
  size_t unit_room;
};

/* ---- the bulk copy ---- */

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

static jlong take_bits(char letter, const jvalue *scalar)
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
  case 'F': /* its bits */
    return scalar->i;
  default:
    return scalar->j;
  }
}

static bool put_read(struct bulk_copy *copy, struct column *column, const struct argument_element *element)
{
  jlong *bits = &column->bits[copy->count];
  column->letters[copy->count] = element->letter;
  if (element->letter == 0)
    return put_object(copy, column, element->object);
  if (element->letter == ARGUMENT_TEXT)
    return put_text(copy, element->text, bits);
  *bits = take_bits(element->letter, &element->scalar);
  return true;
}

static bool put_element(struct bulk_copy *copy, const struct op_value *value)
{
  struct argument_element element;
  /* Objects of the session, and values with a type of their own, keep their types: the element type that the
   * member declares is not applied to them. */
  bool keeps_its_type = copy->kind != FILLS_ARRAY && (value->type.data != NULL || value->kind == OP_REF);
  struct jvm_class *component = keeps_its_type ? NULL : copy->elements.component;
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

/* Returns the number of copied entries, which is smaller than the given number only if a key equals an
 * earlier key. */
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

/* Different texts may be the same key: "1" and "01" in a Map<Integer, ...>. */
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

static bool put_all(struct bulk_copy *copy, const struct op_value *value, size_t count)
{
  struct conversion *conversion = copy->conversion;
  const struct element_types *elements = conversion->elements;
  struct argument_path path = {.outer = conversion->path};
  conversion->path = &path;
  conversion->elements = elements == NULL ? NULL : elements->inside;
  for (; path.index < count; path.index++) {
    bool is_map = copy->kind == FILLS_MAP;
    const struct op_value *element =
        is_map ? &value->map.entries[path.index].value : &value->list.items[path.index];
    if (!put_element(copy, element) ||
        (is_map && !put_key(copy, value->map.entries[path.index].key, &path)) ||
        (++copy->count == copy->capacity && !copy_chunk(copy, value)))
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

/* The element type that the member declares. A class that cannot be loaded counts as not declared. */
static struct jvm_class *find_component(struct conversion *conversion)
{
  const struct element_types *elements = conversion->elements;
  return elements == NULL || elements->element.kind == 0
             ? NULL
             : jvm_type_class(conversion->thread, (struct jvm_type *)&elements->element);
}

/* The key class that the caller has named, used if the member declares none. *found NULL: none; keys are
 * Strings. */
static bool find_named_key_class(struct conversion *conversion, const struct op_value *value,
                                 struct jvm_class **found)
{
  const struct jvm_known *known = &conversion->thread->jvm->known;
  *found = NULL;
  if (value->map.keys == 0)
    return true;
  jclass class =
      value->map.keys == 'L' ? known->class_big_integer : jvm_known_wrapper(known, value->map.keys);
  *found = jvm_class_of(conversion->thread, class);
  return *found != NULL || argument_fail_memory(conversion);
}

/* Finds the class of the keys; NULL if the keys are not converted, because String is declared or fits the
 * declared type. False: the keys cannot be made; the outcome says why. */
static bool find_key_class(struct conversion *conversion, const struct op_value *value,
                           struct jvm_class **found)
{
  JNIEnv *env = conversion->thread->env;
  const struct element_types *elements = conversion->elements;
  if (!find_named_key_class(conversion, value, found))
    return false;
  if (elements == NULL || elements->key.kind == 0 || value->map.count == 0)
    return true;
  struct jvm_class *class = jvm_type_class(conversion->thread, (struct jvm_type *)&elements->key);
  if (class == NULL)
    return argument_fail(conversion, value, "the class %.*s of its keys cannot be loaded",
                         TEXT_ARGS(elements->key.name));
  if (*found != NULL && jvm_class_is_assignable(conversion->thread, *found, class))
    return true;
  bool may_be_text = (*env)->IsAssignableFrom(env, conversion->thread->jvm->known.class_string, class->ref);
  *found = may_be_text ? NULL : class;
  return true;
}

/* Adds a list's elements to a collection. Call it within a level: the level's frame owns the new
 * references. */
static bool fill_collection(struct conversion *conversion, const struct op_value *value, jobject collection)
{
  struct bulk_copy copy = {.conversion = conversion,
                           .object = collection,
                           .kind = FILLS_COLLECTION,
                           .elements = {.component = find_component(conversion)}};
  return copy_values(&copy, value, value->list.count);
}

static bool fill_map(struct conversion *conversion, const struct op_value *value, jobject map)
{
  struct bulk_copy copy = {.conversion = conversion,
                           .object = map,
                           .kind = FILLS_MAP,
                           .elements = {.component = find_component(conversion)}};
  return find_key_class(conversion, value, &copy.keys.component) &&
         copy_values(&copy, value, value->map.count);
}

/* ---- arrays ---- */

jobject argument_new_array(struct conversion *conversion, struct jvm_class *class, jint count)
{
  JNIEnv *env = conversion->thread->env;
  jobject array = NULL;
  if (class->component != 'L' && class->component != '[') {
    array = dispatch_new_array(env, class->component, count);
  } else {
    struct jvm_class *component = jvm_class_component(conversion->thread, class);
    if (component != NULL)
      array = (*env)->NewObjectArray(env, count, component->ref, NULL);
  }
  if (argument_take(conversion))
    return NULL;
  if (array == NULL)
    argument_fail_memory(conversion);
  return array;
}

/* Reads an element of an array of primitives. The element's declared type must widen to the array's (JLS
 * 5.1.2). */
static bool read_element(struct conversion *conversion, char letter, const struct op_value *value,
                         jvalue *out)
{
  char from = letter;
  if (value->type.data != NULL) {
    struct op_type type;
    if (!argument_parse_type(conversion, value->type, &type) || !argument_ask_type(conversion, &type, value))
      return false;
    from = type.dimensions > 0 ? 0 : type.base == 'L' ? primitive_unboxed(type.name) : type.base;
    if (from == 0 || !primitive_widens(from, letter))
      return argument_fail(conversion, value, "%.*s does not become %s", TEXT_ARGS(value->type),
                           primitive_keyword(letter).data);
  }
  if (value->kind == OP_TEXT && !argument_check_text(conversion, value))
    return false;
  enum op_scalar_fit fit = op_scalar_read(value, from, out);
  if (fit != OP_SCALAR_FITS)
    return argument_fail_fit(conversion, value, from, fit);
  primitive_widen(from, letter, out);
  return true;
}

/* Remembers the array, whose elements still equal `data`. */
static void note_made(struct conversion *conversion, jobject array, char letter, const void *data,
                      size_t count)
{
  conversion->made.array = array;
  conversion->made.letter = letter;
  conversion->made.data = data;
  conversion->made.count = count;
}

static bool make_primitives(struct conversion *conversion, struct jvm_class *class,
                            const struct op_value *value, jobject *out)
{
  JNIEnv *env = conversion->thread->env;
  char letter = class->component;
  size_t size = primitive_size(letter);
  size_t count = value->list.count;
  char *data = arena_alloc(conversion->request->arena, count * size);
  if (data == NULL)
    return argument_fail_memory(conversion);
  struct argument_path path = {.outer = conversion->path};
  conversion->path = &path;
  for (; path.index < count; path.index++) {
    jvalue element;
    if (!read_element(conversion, letter, &value->list.items[path.index], &element))
      return false;
    memcpy(data + path.index * size, &element, size);
  }
  conversion->path = path.outer;
  *out = argument_new_array(conversion, class, (jint)count);
  if (*out == NULL)
    return false;
  dispatch_set_region(env, letter, *out, (jsize)count, data);
  note_made(conversion, *out, letter, data, count);
  return !argument_take(conversion);
}

static bool set_elements(struct conversion *conversion, struct jvm_class *component,
                         const struct op_value *value, jobjectArray array)
{
  JNIEnv *env = conversion->thread->env;
  /* Elements of these classes are mostly primitives and texts. The bulk copy sets many of them at a time. */
  if (component->maker == MAKER_STRING || component->maker == MAKER_WRAPPER ||
      text_equal(component->name, TEXT("java.lang.Object"))) {
    struct bulk_copy copy = {.conversion = conversion, .object = array, .kind = FILLS_ARRAY};
    if (!text_equal(component->name, TEXT("java.lang.Object")))
      copy.elements.component = component;
    return copy_values(&copy, value, value->list.count);
  }
  const struct element_types *elements = conversion->elements;
  struct argument_path path = {.outer = conversion->path};
  conversion->path = &path;
  conversion->elements = elements == NULL ? NULL : elements->inside;
  for (; path.index < value->list.count; path.index++) {
    jobject element = NULL;
    if (!argument_make_element(conversion, component, &value->list.items[path.index], &element))
      return false;
    (*env)->SetObjectArrayElement(env, array, (jsize)path.index, element);
    (*env)->DeleteLocalRef(env, element);
    if (argument_take(conversion))
      return false;
  }
  conversion->path = path.outer;
  conversion->elements = elements;
  return true;
}

static bool make_objects(struct conversion *conversion, struct jvm_class *class, const struct op_value *value,
                         jobject *out)
{
  struct jvm_class *component = jvm_class_component(conversion->thread, class);
  if (component == NULL)
    return argument_fail_memory(conversion);
  if (!argument_open_level(conversion))
    return false;
  jobject array = argument_new_array(conversion, class, (jint)value->list.count);
  bool made = array != NULL && set_elements(conversion, component, value, array);
  conversion->made.array = NULL; /* any remembered array is now an element */
  *out = argument_close_level(conversion, made ? array : NULL);
  return made;
}

static bool fail_packed(struct conversion *conversion, const struct op_value *value, char letter, size_t at)
{
  struct argument_path path = {.outer = conversion->path, .index = at};
  const struct op_value element = packed_element(value, at);
  bool is_inexact = letter == 'F' || (letter == 'D' && element.kind == OP_INTEGER);
  conversion->path = &path;
  if (is_inexact && element.kind == OP_INTEGER)
    (void)argument_fail(conversion, &element, "out of range for %s (whole numbers that it holds exactly)",
                        primitive_keyword(letter).data);
  else
    (void)argument_fail_fit(conversion, &element, letter, OP_SCALAR_RANGE);
  conversion->path = path.outer;
  return false;
}

/* Elements of another type are converted first. */
static bool make_packed(struct conversion *conversion, struct jvm_class *class, const struct op_value *value,
                        jobject *out)
{
  const char letter = class->component;
  const void *data = value->packed.data;
  size_t at;
  if (packed_step(value->packed.element, letter) == PACKED_NEVER)
    return argument_fail(conversion, value, "elements of %s do not become those of %.*s",
                         primitive_keyword(value->packed.element).data, TEXT_ARGS(class->name));
  if (value->packed.element != letter) {
    void *converted = arena_alloc(conversion->request->arena, value->packed.count * primitive_size(letter));
    if (converted == NULL)
      return argument_fail_memory(conversion);
    if (!packed_convert(value, letter, converted, &at))
      return fail_packed(conversion, value, letter, at);
    data = converted;
  }
  *out = argument_new_array(conversion, class, (jint)value->packed.count);
  if (*out == NULL)
    return false;
  dispatch_set_region(conversion->thread->env, letter, *out, (jsize)value->packed.count, data);
  note_made(conversion, *out, letter, data, value->packed.count);
  return !argument_take(conversion);
}

bool argument_make_array(struct conversion *conversion, struct jvm_class *class, const struct op_value *value,
                         jobject *out)
{
  bool is_primitive = class->component != 'L' && class->component != '[';
  if (value->kind == OP_PACKED && is_primitive)
    return make_packed(conversion, class, value, out);
  if (value->kind != OP_LIST)
    return argument_fail(conversion, value, "not an array: %.*s takes a JSON array", TEXT_ARGS(class->name));
  return is_primitive ? make_primitives(conversion, class, value, out)
                      : make_objects(conversion, class, value, out);
}

/* ---- asking the judge about filling ---- */

/* Asks the judge about filling an object of the class `made`, whose add or put will run. named: the class
 * that the caller has named. */
static bool ask_to_fill(struct conversion *conversion, struct jvm_class *named, jclass made)
{
  JNIEnv *env = conversion->thread->env;
  struct jvm_class *runtime = jvm_class_of(conversion->thread, made);
  if (runtime == NULL)
    return argument_fail_memory(conversion);
  bool is_list = (*env)->IsAssignableFrom(env, made, conversion->thread->jvm->known.class_collection);
  return jvm_judge_filling(conversion->request, named, runtime, is_list, conversion->outcome);
}

/* ---- collections and maps ---- */

/* The public constructor without arguments, if the judge allows it. NULL: the outcome says why. */
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
      (modifiers & OP_ACC_PUBLIC) != 0)
    return constructor;
  argument_fail(conversion, value, "%.*s has no public constructor without arguments: pass a ref",
                TEXT_ARGS(name));
  return NULL;
}

/* Makes an EnumMap for the enum that its keys are declared to be. Runs the enum's values(). */
static jobject make_enum_map(struct conversion *conversion, jclass made, struct text name,
                             const struct op_value *value)
{
  JNIEnv *env = conversion->thread->env;
  const struct element_types *elements = conversion->elements;
  bool is_declared = elements != NULL && elements->key.kind != 0;
  struct jvm_class *key =
      is_declared ? jvm_type_class(conversion->thread, (struct jvm_type *)&elements->key) : NULL;
  if (key == NULL || !key->is_enum) {
    argument_fail(conversion, value, "the enum of its keys is not declared here: pass a ref to a %.*s",
                  TEXT_ARGS(name));
    return NULL;
  }
  if (!argument_ask(conversion, OP_MEMBER_STATIC_METHOD, key->name, TEXT("values")))
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
  if (!argument_ask_to_make(conversion, class->name) || !ask_to_fill(conversion, class, made))
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

/* Merges the type arguments of the object's class and of the parameter. The class's are exact, and the
 * parameter's may be less exact: a class that extends HashMap<Integer, Float> has Integer and Float even for
 * a parameter Map<?, ? extends Number>. The parameter's type argument is used where the class has none. */
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

/* The element types of a new object, by the parameter and by the object's class. Among the JDK's classes,
 * only classes with String elements fix a type argument. */
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

/* Makes the content of an Optional from the list's one element. *out remains NULL on failure; the outcome
 * says why. */
static void make_content(struct conversion *conversion, const struct op_value *element, jobject *out)
{
  const struct element_types *elements = conversion->elements;
  struct argument_path path = {.outer = conversion->path};
  struct jvm_class *component = find_component(conversion);
  bool keeps_its_type = element->type.data != NULL || element->kind == OP_REF;
  if (component == NULL || keeps_its_type)
    component = jvm_class_of(conversion->thread, conversion->thread->jvm->known.class_object);
  if (component == NULL) {
    (void)argument_fail_memory(conversion);
    return;
  }
  conversion->path = &path;
  conversion->elements = elements == NULL ? NULL : elements->inside;
  if (argument_make_element(conversion, component, element, out) && *out == NULL)
    (void)argument_fail(conversion, element, "an Optional cannot contain null: [] is an empty Optional");
  conversion->path = path.outer;
  conversion->elements = elements;
}

/* The client writes an Optional as a list of its content. */
static bool make_optional(struct conversion *conversion, struct jvm_class *class,
                          const struct op_value *value, jobject *out)
{
  JNIEnv *env = conversion->thread->env;
  const struct jvm_known *known = &conversion->thread->jvm->known;
  if (value->kind != OP_LIST || value->list.count > 1)
    return argument_fail(conversion, value, "an Optional takes a JSON array of one element, or of none");
  bool is_empty = value->list.count == 0;
  if (!argument_ask(conversion, OP_MEMBER_STATIC_METHOD, class->name,
                    is_empty ? TEXT("empty") : TEXT("of")) ||
      !argument_open_level(conversion))
    return false;
  jobject content = NULL;
  jobject made = NULL;
  if (is_empty)
    made = (*env)->CallStaticObjectMethod(env, known->class_optional, known->static_optional_empty);
  else
    make_content(conversion, &value->list.items[0], &content);
  if (content != NULL)
    made = (*env)->CallStaticObjectMethod(env, known->class_optional, known->static_optional_of, content);
  bool is_made = (is_empty || content != NULL) && !argument_take(conversion);
  conversion->made.array = NULL; /* any remembered array is now its content */
  *out = argument_close_level(conversion, is_made ? made : NULL);
  return is_made;
}

bool argument_make_collection(struct conversion *conversion, struct jvm_class *class,
                              const struct op_value *value, jobject *out)
{
  struct jvm_thread *thread = conversion->thread;
  if (class->text == CLASS_TEXT_OPTIONAL)
    return make_optional(conversion, class, value, out);
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
  bool filled = object != NULL &&
                (is_list ? fill_collection(conversion, value, object) : fill_map(conversion, value, object));
  conversion->elements = declared;
  conversion->made.array = NULL; /* any remembered array is now an element */
  *out = argument_close_level(conversion, filled ? object : NULL);
  return filled;
}
