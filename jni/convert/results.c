#include "jni/convert/results.h"

#include "base/primitives.h"
#include "jni/convert/judge.h"
#include "jni/convert/result_texts.h"
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

size_t result_elements_max(const struct jvm_request *request)
{
  const struct operation *operation = request->operation;
  return operation->has_array_value_max ? operation->array_value_max : request->limits->inline_array_max;
}

size_t result_bytes_max(const struct jvm_request *request)
{
  return request->answer_max > 0 ? request->answer_max : SIZE_MAX;
}

/* ---- values ---- */

bool result_is_value_class(const struct jvm_class *class)
{
  return class->unboxed != 0 || class->maker == MAKER_STRING;
}

bool result_is_base64(const struct jvm_request *request, char letter)
{
  const struct operation *operation = request->operation;
  return operation->base64_result && (letter == 'B' || !operation->base64_bytes);
}

/* For clients whose numbers are doubles. */
static bool writes_as_text(const struct jvm_request *request, char letter)
{
  return letter == 'J' && request->operation->longs_as_text && request->operation->by_value;
}

static bool read_scalar(const struct jvm_request *request, char letter, const jvalue *value,
                        struct op_value *out)
{
  fill_scalar(letter, value, out);
  if (!writes_as_text(request, letter))
    return true;
  *out = (struct op_value){.kind = OP_TEXT, .text = op_value_digits(out, request->arena)};
  return out->text.data != NULL;
}

static bool read_string(const struct jvm_request *request, jstring string, struct op_value *out)
{
  struct jvm_thread *thread = request->thread;
  size_t length = (size_t)(*thread->env)->GetStringLength(thread->env, string);
  if (length > result_bytes_max(request))
    return false;
  *out = (struct op_value){.kind = OP_TEXT,
                           .text = jvm_string_get_whole(thread, string, length, request->arena)};
  return out->text.data != NULL;
}

bool result_read_value_object(const struct jvm_request *request, const struct jvm_class *class,
                              jobject object, struct op_value *out)
{
  if (class->unboxed == 0)
    return read_string(request, object, out);
  jvalue scalar;
  argument_unbox(request->thread, object, class->unboxed, &scalar);
  return read_scalar(request, class->unboxed, &scalar, out);
}

bool result_read_range(const struct jvm_request *request, char letter, jobject array, jsize from, jsize count,
                       struct op_value *out)
{
  void *data = arena_alloc(request->arena, (size_t)count * primitive_size(letter));
  if (data == NULL)
    return false;
  dispatch_get_range(request->thread->env, letter, array, from, count, data);
  *out = (struct op_value){.kind = OP_PACKED,
                           .packed = {.data = data, .count = (size_t)count, .element = letter}};
  if (result_is_base64(request, letter))
    out->packed.form = OP_PACKED_BASE64;
  else if (writes_as_text(request, letter))
    out->packed.form = OP_PACKED_TEXTS;
  return true;
}

bool result_read_primitives(const struct jvm_request *request, const struct jvm_class *class, jobject array,
                            jsize count, struct op_value *out)
{
  size_t size = (size_t)count * primitive_size(class->component);
  bool in_base64 = result_is_base64(request, class->component);
  if ((in_base64 ? size : (size_t)count) > result_bytes_max(request))
    return false;
  return result_read_range(request, class->component, array, 0, count, out);
}

/* ---- refs ---- */

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

/* ---- values beside a ref ---- */

static bool is_array_of_objects(const struct jvm_class *class)
{
  return class->component == 'L' || class->component == '[';
}

static size_t count_array(const struct jvm_request *request, jobject array)
{
  return (size_t)(*request->thread->env)->GetArrayLength(request->thread->env, array);
}

static struct op_value *make_list(const struct jvm_request *request, size_t count, struct op_value *out)
{
  struct op_value *items = arena_calloc(request->arena, count, sizeof *items);
  *out = (struct op_value){.kind = OP_LIST, .list = {.items = items, .count = count}};
  return items;
}

/* The elements of an array of wrappers or Strings. */
static bool read_values(const struct jvm_request *request, const struct jvm_class *component, jobject array,
                        struct op_value *out)
{
  JNIEnv *env = request->thread->env;
  size_t count = count_array(request, array);
  size_t bytes_left = result_bytes_max(request);
  struct op_value *items = make_list(request, count, out);
  bool is_read = items != NULL;
  for (size_t i = 0; is_read && i < count; i++) {
    jobject element = (*env)->GetObjectArrayElement(env, array, (jsize)i);
    if (element == NULL)
      continue;
    is_read = result_read_value_object(request, component, element, &items[i]);
    (*env)->DeleteLocalRef(env, element);
    size_t length = is_read && items[i].kind == OP_TEXT ? items[i].text.len : 1;
    is_read = is_read && length <= bytes_left;
    bytes_left -= is_read ? length : 0;
  }
  return is_read;
}

/* Reads the refs of the elements, if the array is small enough. With --compat pal they are its value. */
static void fill_element_refs(const struct jvm_request *request, uint64_t epoch, jobject array,
                              struct outcome *outcome)
{
  JNIEnv *env = request->thread->env;
  size_t count = count_array(request, array);
  if (count > result_elements_max(request))
    return;
  struct op_value *items = make_list(request, count, &outcome->value);
  if (items == NULL)
    return;
  for (size_t i = 0; i < count; i++) {
    jobject element = (*env)->GetObjectArrayElement(env, array, (jsize)i);
    if (element == NULL)
      continue;
    uint32_t ref = 0;
    const struct jvm_class *class = jvm_class_of_object(request->thread, element);
    bool stored = class != NULL && result_store(request, epoch, class, element, &ref, outcome);
    (*env)->DeleteLocalRef(env, element);
    if (!stored)
      return;
    items[i] = (struct op_value){.kind = OP_INTEGER, .integer = ref};
  }
  outcome->has_value = true;
}

/* Reads the elements, if the array is small enough to travel by value beside its ref. */
static bool read_array(const struct jvm_request *request, uint64_t epoch, struct jvm_class *class,
                       jobject array, struct op_value *out)
{
  const struct operation *operation = request->operation;
  bool is_primitive = !is_array_of_objects(class);
  size_t count = count_array(request, array);
  if (!(is_primitive && result_is_base64(request, class->component)) && count > result_elements_max(request))
    return false;
  if (is_primitive)
    return result_read_primitives(request, class, array, (jsize)count, out);
  const struct jvm_class *component =
      class->component == '[' ? NULL : jvm_class_component(request->thread, class);
  if (component != NULL && result_is_value_class(component))
    return read_values(request, component, array, out);
  return operation->element_values && result_read_elements(request, epoch, array, out);
}

/* ---- results ---- */

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

/* An empty Optional has no text: its ref is all there is. */
static bool read_text_beside(const struct jvm_request *request, const struct jvm_class *class, jobject object,
                             struct op_value *out)
{
  return result_read_text(request, class, object, out) && out->kind != OP_NULL;
}

/* The value of an object that has been stored. */
static void fill_beside(const struct jvm_request *request, uint64_t epoch, struct jvm_class *class,
                        jobject object, struct outcome *outcome)
{
  const struct operation *operation = request->operation;
  if (class->component != 0 && !judge_reading(request, class, READING_ARRAY))
    return;
  if (class->component != 0)
    outcome->has_value = read_array(request, epoch, class, object, &outcome->value);
  else if (class->text != CLASS_TEXT_NONE && !request->compat_pal)
    outcome->has_value = read_text_beside(request, class, object, &outcome->value);
  else if (operation->collection_values)
    result_fill_collection(request, class, object, outcome);
  if (!outcome->has_value && operation->element_refs && is_array_of_objects(class))
    fill_element_refs(request, epoch, object, outcome);
}

/* The ref of a value that travels as such. Where there is no room for it, the value is the whole result: the call has
 * run. */
static void store_value(const struct jvm_request *request, uint64_t epoch, const struct jvm_class *class,
                        jobject object, struct outcome *outcome)
{
  struct jp_error error;
  if (class == NULL || request->stored == NULL ||
      jvm_objects_put(request->thread, request->objects, object, class->id, epoch, request->stored,
                      &outcome->ref, &error) != JP_OK) {
    outcome->ref = 0;
    return;
  }
  if (request->stored->is_new)
    jvm_objects_bound_values(request->thread, request->objects, outcome->ref);
}

static void store_scalar(const struct jvm_request *request, uint64_t epoch, char letter, const jvalue *value,
                         struct outcome *outcome)
{
  struct outcome failed;
  struct conversion conversion = {.thread = request->thread, .request = request, .outcome = &failed};
  jobject boxed = argument_box(&conversion, letter, value);
  if (boxed == NULL)
    return;
  store_value(request, epoch, jvm_class_of_object(request->thread, boxed), boxed, outcome);
  (*request->thread->env)->DeleteLocalRef(request->thread->env, boxed);
}

static void fill_object(const struct jvm_request *request, uint64_t epoch, struct jvm_type *declared,
                        jobject object, struct outcome *outcome)
{
  struct jvm_class *class = class_of(request, declared, object);
  if (class == NULL) {
    outcome_fail(outcome, request->arena, FAILURE_SERVER, NULL, "out of memory");
    return;
  }
  outcome->type = class->name;
  outcome->has_value =
      result_is_value_class(class) && result_read_value_object(request, class, object, &outcome->value);
  if (outcome->has_value && request->operation->value_refs)
    store_value(request, epoch, class, object, outcome);
  else if (!outcome->has_value && result_store(request, epoch, class, object, &outcome->ref, outcome) &&
           !result_is_value_class(class))
    fill_beside(request, epoch, class, object, outcome);
}

/* Notes what the answer may have to be made of again, or lets go of it. */
static void keep_object(const struct jvm_request *request, uint64_t epoch, size_t stored_before,
                        jobject object)
{
  if (request->result != NULL)
    *request->result = (struct jvm_result){.object = object, .epoch = epoch, .stored_before = stored_before};
  else
    (*request->thread->env)->DeleteLocalRef(request->thread->env, object);
}

static void fill_reference(const struct jvm_request *request, uint64_t epoch, struct jvm_type *declared,
                           jobject object, struct outcome *outcome)
{
  size_t stored_before = request->stored == NULL ? 0 : request->stored->count;
  if (request->drops_result)
    outcome->kind = OUTCOME_VOID;
  else if (request->operation->by_value)
    result_fill_by_value(request, epoch, object, outcome);
  else
    fill_object(request, epoch, declared, object, outcome);
  keep_object(request, epoch, stored_before, object);
}

void result_fill(const struct jvm_request *request, uint64_t epoch, struct jvm_type *declared,
                 const jvalue *value, struct outcome *outcome)
{
  *outcome = (struct outcome){.kind = OUTCOME_VALUE, .type = declared->name};
  if (declared->kind == 'V') {
    outcome->kind = OUTCOME_VOID;
  } else if (declared->kind != 'L') {
    outcome->has_value = read_scalar(request, declared->kind, value, &outcome->value);
    if (request->operation->value_refs && !request->drops_result)
      store_scalar(request, epoch, declared->kind, value, outcome);
  } else if (value->l == NULL) {
    outcome->is_null = true;
  } else {
    fill_reference(request, epoch, declared, value->l, outcome);
  }
}
