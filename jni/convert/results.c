#include "jni/convert/results.h"

#include "base/primitives.h"
#include "jni/objects/object_table.h"
#include "jni/runtime/dispatch.h"
#include "jni/runtime/strings.h"
#include "jni/runtime/throwables.h"

static void fill_scalar(char letter, const jvalue *value, struct op_value *out)
{
  *out = (struct op_value){.kind = OP_INTEGER};
  switch (letter) {
  case 'Z':
    out->kind = OP_BOOLEAN;
    out->boolean = value->z != JNI_FALSE;
    break;
  case 'B':
    out->integer = (jint)value->b;
    break;
  case 'C':
    out->kind = OP_CHAR;
    out->integer = value->c;
    break;
  case 'S':
    out->integer = value->s;
    break;
  case 'I':
    out->integer = value->i;
    break;
  case 'J':
    out->integer = value->j;
    break;
  case 'F':
    out->kind = OP_FLOAT;
    out->decimal = value->f;
    break;
  default:
    out->kind = OP_DOUBLE;
    out->decimal = value->d;
    break;
  }
}

static bool fail_memory(const struct jvm_request *request, struct outcome *outcome)
{
  outcome_fail(outcome, request->arena, FAILURE_SERVER, NULL, "out of memory");
  return false;
}

bool result_read_value_object(const struct jvm_request *request, const struct jvm_class *class,
                              jobject object, struct op_value *out, struct outcome *outcome)
{
  if (class->unboxed != 0) {
    jvalue scalar;
    argument_unbox(request->thread, object, class->unboxed, &scalar);
    fill_scalar(class->unboxed, &scalar, out);
    return true;
  }
  *out = (struct op_value){.kind = OP_TEXT, .text = jvm_string_get(request->thread, object, request->arena)};
  return out->text.data != NULL || fail_memory(request, outcome);
}

bool result_fill_primitives(const struct jvm_request *request, const struct jvm_class *class, jobject array,
                            jsize count, struct op_value *out, struct outcome *outcome)
{
  void *data = arena_alloc(request->arena, (size_t)count * primitive_size(class->component));
  if (data == NULL)
    return fail_memory(request, outcome);
  dispatch_get_region(request->thread->env, class->component, array, count, data);
  *out = (struct op_value){.kind = OP_PACKED,
                           .packed = {.data = data, .count = (size_t)count, .element = class->component}};
  return true;
}

static bool fill_objects(const struct jvm_request *request, const struct jvm_class *component, jobject array,
                         jsize count, struct outcome *outcome)
{
  JNIEnv *env = request->thread->env;
  struct op_value *items = arena_calloc(request->arena, (size_t)count, sizeof *items);
  if (items == NULL)
    return fail_memory(request, outcome);
  for (jsize i = 0; i < count; i++) {
    jobject element = (*env)->GetObjectArrayElement(env, array, i);
    if (element == NULL)
      continue;
    bool filled = result_read_value_object(request, component, element, &items[i], outcome);
    (*env)->DeleteLocalRef(env, element);
    if (!filled)
      return false;
  }
  outcome->has_value = true;
  outcome->value = (struct op_value){.kind = OP_LIST, .list = {.items = items, .count = (size_t)count}};
  return true;
}

static bool is_array_of_objects(const struct jvm_class *class)
{
  return class->component == 'L' || class->component == '[';
}

/* Reads the refs of the elements, if the array is small enough. With --compat pal they are its value. */
static bool fill_element_refs(const struct jvm_request *request, uint64_t epoch, jobject array,
                              struct outcome *outcome)
{
  JNIEnv *env = request->thread->env;
  jsize count = (*env)->GetArrayLength(env, array);
  if ((size_t)count > request->limits->inline_array_max)
    return true;
  struct op_value *items = arena_calloc(request->arena, (size_t)count, sizeof *items);
  if (items == NULL)
    return fail_memory(request, outcome);
  for (jsize i = 0; i < count; i++) {
    jobject element = (*env)->GetObjectArrayElement(env, array, i);
    if (element == NULL)
      continue;
    uint32_t ref = 0;
    const struct jvm_class *class = jvm_class_of_object(request->thread, element);
    bool stored = class == NULL ? fail_memory(request, outcome)
                                : result_store(request, epoch, class, element, &ref, outcome);
    (*env)->DeleteLocalRef(env, element);
    if (!stored)
      return false;
    items[i] = (struct op_value){.kind = OP_INTEGER, .integer = ref};
  }
  outcome->has_value = true;
  outcome->value = (struct op_value){.kind = OP_LIST, .list = {.items = items, .count = (size_t)count}};
  return true;
}

bool result_is_value_class(const struct jvm_class *class)
{
  return class->unboxed != 0 || class->maker == MAKER_STRING;
}

/* Reads the elements, if the array is small enough to travel by value beside its ref. */
static bool fill_array(const struct jvm_request *request, struct jvm_class *class, jobject array,
                       struct outcome *outcome)
{
  bool is_primitive = !is_array_of_objects(class);
  bool in_base64 = request->operation->base64_result && class->component == 'B';
  jsize count = (*request->thread->env)->GetArrayLength(request->thread->env, array);
  if (class->component == '[' || (!in_base64 && (size_t)count > request->limits->inline_array_max))
    return true;
  if (is_primitive) {
    outcome->base64_value = in_base64;
    outcome->has_value = result_fill_primitives(request, class, array, count, &outcome->value, outcome);
    return outcome->has_value;
  }
  struct jvm_class *component = jvm_class_component(request->thread, class);
  if (component == NULL)
    return fail_memory(request, outcome);
  return !result_is_value_class(component) || fill_objects(request, component, array, count, outcome);
}

bool result_store(const struct jvm_request *request, uint64_t epoch, const struct jvm_class *class,
                  jobject object, uint32_t *ref, struct outcome *outcome)
{
  struct jp_error error = {0};
  switch (jvm_objects_put(request->thread, request->objects, object, class->id, epoch, request->stored, ref,
                          &error)) {
  case JP_OK:
    return true;
  case JP_CLOSED:
    outcome_fail(outcome, request->arena, FAILURE_SERVER, NULL,
                 "the session was deleted during the call; its result was dropped");
    return false;
  default:
    outcome_fail(outcome, request->arena, FAILURE_SERVER, NULL, "%s", error.text);
    return false;
  }
}

/* The object's class. Where String or a wrapper is declared, that is the class, because these are final. */
static struct jvm_class *class_of(const struct jvm_request *request, struct jvm_type *declared,
                                  jobject object)
{
  struct jvm_class *known = atomic_load_explicit(&declared->class, memory_order_acquire);
  if (known == NULL || !result_is_value_class(known))
    known = jvm_class_of_object(request->thread, object);
  if (known != NULL && result_is_value_class(known) && text_equal(known->name, declared->name))
    atomic_store_explicit(&declared->class, known, memory_order_release);
  return known;
}

static void fill_object(const struct jvm_request *request, uint64_t epoch, struct jvm_type *declared,
                        jobject object, struct outcome *outcome)
{
  struct jvm_class *class = class_of(request, declared, object);
  if (class == NULL) {
    (void)fail_memory(request, outcome);
    return;
  }
  outcome->type = class->name;
  if (result_is_value_class(class)) {
    outcome->has_value = true;
    (void)result_read_value_object(request, class, object, &outcome->value, outcome);
    return;
  }
  if (class->component != 0 && !fill_array(request, class, object, outcome))
    return;
  if (class->component == 0 && request->operation->collection_values)
    result_fill_collection(request, class, object, outcome);
  if (result_store(request, epoch, class, object, &outcome->ref, outcome) &&
      request->operation->element_refs && !outcome->has_value && is_array_of_objects(class))
    (void)fill_element_refs(request, epoch, object, outcome);
}

void result_fill(const struct jvm_request *request, uint64_t epoch, struct jvm_type *declared,
                 const jvalue *value, struct outcome *outcome)
{
  *outcome = (struct outcome){.kind = OUTCOME_VALUE, .type = declared->name};
  if (declared->kind == 'V') {
    outcome->kind = OUTCOME_VOID;
  } else if (declared->kind != 'L') {
    outcome->has_value = true;
    fill_scalar(declared->kind, value, &outcome->value);
  } else if (value->l == NULL) {
    outcome->is_null = true;
  } else if (request->drops_result) {
    outcome->kind = OUTCOME_VOID;
    (*request->thread->env)->DeleteLocalRef(request->thread->env, value->l);
  } else if (request->operation->by_value) {
    result_fill_by_value(request, epoch, value->l, outcome);
    (*request->thread->env)->DeleteLocalRef(request->thread->env, value->l);
  } else {
    fill_object(request, epoch, declared, value->l, outcome);
    (*request->thread->env)->DeleteLocalRef(request->thread->env, value->l);
  }
}
