#include "jni/convert/arguments.h"

#include "base/primitives.h"
#include "jni/runtime/dispatch.h"

#include <string.h>

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

/* Reads an element of an array of primitives. A type that it declares must widen to the array's (JLS
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
  if (!argument_check_text(conversion, value))
    return false;
  enum op_scalar_fit fit = op_scalar_read(value, from, out);
  if (fit != OP_SCALAR_FITS)
    return argument_fail_fit(conversion, value, from, fit);
  primitive_widen(from, letter, out);
  return true;
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
  return !argument_take(conversion);
}

/* Elements of these are mostly primitives and texts, which the bulk copy sets many at a time. */
static bool is_filled(const struct jvm_class *component)
{
  return component->maker == MAKER_STRING || component->maker == MAKER_WRAPPER ||
         text_equal(component->name, TEXT("java.lang.Object"));
}

static bool set_elements(struct conversion *conversion, struct jvm_class *component,
                         const struct op_value *value, jobjectArray array)
{
  JNIEnv *env = conversion->thread->env;
  if (is_filled(component))
    return argument_fill_array(conversion, value, component, array);
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
  *out = argument_close_level(conversion, made ? array : NULL);
  return made;
}

bool argument_make_array(struct conversion *conversion, struct jvm_class *class, const struct op_value *value,
                         jobject *out)
{
  bool is_primitive = class->component != 'L' && class->component != '[';
  if (value->kind == OP_PACKED && value->packed.element == class->component) {
    *out = argument_new_array(conversion, class, (jint)value->packed.count);
    if (*out == NULL)
      return false;
    dispatch_set_region(conversion->thread->env, class->component, *out, (jsize)value->packed.count,
                        value->packed.data);
    return !argument_take(conversion);
  }
  if (value->kind != OP_LIST)
    return argument_fail(conversion, value, "not an array: %.*s takes a JSON array", TEXT_ARGS(class->name));
  return is_primitive ? make_primitives(conversion, class, value, out)
                      : make_objects(conversion, class, value, out);
}
