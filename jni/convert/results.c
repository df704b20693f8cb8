/* From Java's results to outcomes: values, texts, refs, elements with their types, and values that are sent
 * with a ref. */
#include "jni/convert/results.h"

#include "base/decimal.h"
#include "base/number_format.h"
#include "base/primitives.h"
#include "jni/convert/judgement.h"
#include "jni/convert/result_values.h"
#include "jni/objects/object_table.h"
#include "jni/proxies/proxies.h"
#include "jni/runtime/dispatch.h"
#include "jni/runtime/strings.h"
#include "jni/runtime/throwables.h"
#include "judge/judge.h"

enum { YEAR_DIGITS = 4 };

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

static void set_scalar(char letter, const jvalue *value, struct op_value *out)
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

/* True if the number is written as a text, for clients whose numbers are doubles. */
static bool writes_as_text(const struct jvm_request *request, char letter)
{
  return letter == 'J' && request->operation->longs_as_text && request->operation->by_value;
}

static bool read_scalar(const struct jvm_request *request, char letter, const jvalue *value,
                        struct op_value *out)
{
  set_scalar(letter, value, out);
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

struct text result_write_scalar(const struct jvm_request *request, const struct op_value *value)
{
  uint16_t unit;
  char bytes[4];
  switch (value->kind) {
  case OP_TEXT:
    return value->text;
  case OP_BOOLEAN:
    return value->boolean ? TEXT("true") : TEXT("false");
  case OP_CHAR:
    unit = (uint16_t)value->integer;
    text_from_utf16(&unit, 1, bytes);
    return arena_text(request->arena, (struct text){bytes, text_wtf8_length(&unit, 1)});
  default:
    return op_value_digits(value, request->arena);
  }
}

/* ---- texts ---- */

/* Calls a method without arguments that returns a String; data NULL: the call failed. */
static struct text call_for_text(const struct jvm_request *request, jobject object, jmethodID method)
{
  JNIEnv *env = request->thread->env;
  jstring string = (*env)->CallObjectMethod(env, object, method);
  if (throwable_take(request->thread, NULL) || string == NULL)
    return TEXT_ABSENT;
  struct text text = jvm_string_get(request->thread, string, request->arena);
  (*env)->DeleteLocalRef(env, string);
  return text;
}

static struct text call_to_string(const struct jvm_request *request, jobject object)
{
  return call_for_text(request, object, request->thread->jvm->known.method_object_to_string);
}

/* Year and YearMonth write "5" and "12345", but their parse methods require four digits, and a sign before
 * more than four. */
static struct text write_year(const struct jvm_request *request, jobject object)
{
  struct text text = call_to_string(request, object);
  if (text.data == NULL)
    return text;
  size_t sign = text_starts_with(text, TEXT("-")) ? 1 : 0;
  size_t end = sign;
  while (end < text.len && text.data[end] >= '0' && text.data[end] <= '9')
    end++;
  size_t digits = end - sign;
  if (digits == YEAR_DIGITS || (digits > YEAR_DIGITS && sign == 1))
    return text;
  int zeros = digits < YEAR_DIGITS ? (int)(YEAR_DIGITS - digits) : 0;
  return arena_printf(request->arena, "%s%.*s%.*s",
                      sign == 1              ? "-"
                      : digits > YEAR_DIGITS ? "+"
                                             : "",
                      zeros, "000", TEXT_ARGS(text_slice(text, sign, text.len)));
}

/* True if the BigInteger is short enough for the allowed digits. The time to write its text grows with the
 * square of its length, so the length is checked first. A subclass of the application is never asked. */
static bool is_short_integer(const struct jvm_request *request, jobject integer)
{
  JNIEnv *env = request->thread->env;
  const struct jvm_class *class = jvm_class_of_object(request->thread, integer);
  if (class == NULL || class->text != CLASS_TEXT_INTEGER)
    return false;
  jint bits = (*env)->CallIntMethod(env, integer, request->thread->jvm->known.method_big_integer_bit_length);
  /* A digit has more than three bits. */
  return !throwable_take(request->thread, NULL) && (size_t)bits / 4 <= request->limits->number_digits_max;
}

static struct text write_number(const struct jvm_request *request, jobject number, bool is_short)
{
  struct text text = is_short ? call_to_string(request, number) : TEXT_ABSENT;
  bool is_within = text.data != NULL && decimal_is_within(text, request->limits->number_digits_max);
  return is_within ? text : TEXT_ABSENT;
}

/* True if the judge would allow an argument to name the class. A caller that may not use a class must not
 * learn its name. */
static bool may_name(const struct jvm_request *request, const struct jvm_class *class)
{
  const struct judged_member member = {.kind = OP_MEMBER_STATIC_FIELD,
                                       .modifiers = OP_ACC_PUBLIC | OP_ACC_STATIC | OP_ACC_FINAL,
                                       .named_class = class->element_name,
                                       .declaring_class = class->element_name,
                                       .member = TEXT("class")};
  const bool allows = judge_allows(request->judge, OP_GET, &member);
  if (allows)
    judge_note_reading(request->judge, OP_GET, &member);
  return allows;
}

static struct text write_text(const struct jvm_request *request, enum class_text kind, jobject object)
{
  JNIEnv *env = request->thread->env;
  switch (kind) {
  case CLASS_TEXT_NAME:
    return call_for_text(request, object, request->thread->jvm->known.method_enum_name);
  case CLASS_TEXT_STRING:
    return call_to_string(request, object);
  case CLASS_TEXT_YEAR:
    return write_year(request, object);
  case CLASS_TEXT_INTEGER:
    return write_number(request, object, is_short_integer(request, object));
  case CLASS_TEXT_DECIMAL: {
    /* A BigDecimal may contain a BigInteger subclass of the application. */
    jobject unscaled =
        (*env)->CallObjectMethod(env, object, request->thread->jvm->known.method_big_decimal_unscaled_value);
    if (throwable_take(request->thread, NULL) || unscaled == NULL)
      return TEXT_ABSENT;
    bool is_short = is_short_integer(request, unscaled);
    (*env)->DeleteLocalRef(env, unscaled);
    return write_number(request, object, is_short);
  }
  case CLASS_TEXT_CLASS: {
    const struct jvm_class *class = jvm_class_of(request->thread, object);
    return class != NULL && may_name(request, class) ? class->name : TEXT_ABSENT;
  }
  case CLASS_TEXT_NONE:
  case CLASS_TEXT_OPTIONAL:
    break;
  }
  return TEXT_ABSENT;
}

static bool read_plain_text(const struct jvm_request *request, const struct jvm_class *class, jobject object,
                            struct op_value *out)
{
  *out = (struct op_value){.kind = OP_TEXT, .text = write_text(request, class->text, object)};
  return out->text.data != NULL;
}

/* An Optional with a Class has no text, because a text would not say which loader the class has. */
static bool read_content(const struct jvm_request *request, jobject content, struct op_value *out)
{
  const struct jvm_class *class = jvm_class_of_object(request->thread, content);
  if (class == NULL || class->text == CLASS_TEXT_CLASS)
    return false;
  if (result_is_value_class(class))
    return result_read_value_object(request, class, content, out);
  return read_plain_text(request, class, content, out);
}

static bool read_optional(const struct jvm_request *request, jobject optional, struct op_value *out)
{
  JNIEnv *env = request->thread->env;
  jobject content =
      (*env)->CallObjectMethod(env, optional, request->thread->jvm->known.method_optional_or_else, NULL);
  *out = (struct op_value){.kind = OP_NULL};
  if (throwable_take(request->thread, NULL))
    return false;
  bool is_read = content == NULL || read_content(request, content, out);
  (*env)->DeleteLocalRef(env, content);
  return is_read;
}

bool result_read_text(const struct jvm_request *request, const struct jvm_class *class, jobject object,
                      struct op_value *out)
{
  return class->text == CLASS_TEXT_OPTIONAL ? read_optional(request, object, out)
                                            : read_plain_text(request, class, object, out);
}

bool result_has_text(const struct jvm_request *request, const struct jvm_class *class)
{
  bool is_wanted = class->text == CLASS_TEXT_INTEGER && request->operation->longs_as_text;
  return class->text != CLASS_TEXT_NONE && (!request->compat_pal || is_wanted);
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
    outcome_fail_error(outcome, request->arena, &error);
    return false;
  }
}

const struct op_callback_identity *result_find_callback(const struct jvm_request *request,
                                                        const struct jvm_class *class, jobject object)
{
  struct op_callback_identity identity;
  if (!class->is_proxy ||
      !callback_proxy_identify(request->thread->env, request->thread->jvm, object, &identity))
    return NULL;
  struct op_callback_identity *kept = arena_alloc(request->arena, sizeof *kept);
  if (kept != NULL)
    *kept = identity;
  return kept;
}

/* The size of a collection or map; false if it is negative or the call throws. */
static bool ask_size(const struct jvm_request *request, jobject object, jmethodID method, size_t *length)
{
  jint size = (*request->thread->env)->CallIntMethod(request->thread->env, object, method);
  if (throwable_take(request->thread, NULL) || size < 0)
    return false;
  *length = (size_t)size;
  return true;
}

bool result_find_length(const struct jvm_request *request, const struct jvm_class *class, jobject object,
                        size_t *length)
{
  JNIEnv *env = request->thread->env;
  const struct jvm_known *known = &request->thread->jvm->known;
  if (class->component != 0 || class->maker == MAKER_STRING) {
    *length = (size_t)(class->component != 0 ? (*env)->GetArrayLength(env, object)
                                             : (*env)->GetStringLength(env, object));
    return true;
  }
  if ((*env)->IsInstanceOf(env, object, known->class_collection))
    return ask_size(request, object, known->method_collection_size, length);
  if ((*env)->IsInstanceOf(env, object, known->class_map))
    return ask_size(request, object, known->method_map_size, length);
  return false;
}

/* The length of an array or a String is always sent; for a collection or map, the policy must allow calling
 * size. */
static bool may_send_length(const struct jvm_request *request, struct jvm_class *class, jobject object)
{
  JNIEnv *env = request->thread->env;
  const struct jvm_known *known = &request->thread->jvm->known;
  if (class->component != 0 || class->maker == MAKER_STRING)
    return true;
  if ((*env)->IsInstanceOf(env, object, known->class_collection))
    return jvm_judge_reading(request, class, READING_COLLECTION_SIZE);
  return (*env)->IsInstanceOf(env, object, known->class_map) &&
         jvm_judge_reading(request, class, READING_MAP_SIZE);
}

void result_fill_ref(const struct jvm_request *request, uint64_t epoch, jobject object, bool by_value,
                     size_t kept, struct outcome *outcome)
{
  struct jvm_class *class = jvm_class_of_object(request->thread, object);
  if (request->stored != NULL)
    jvm_objects_roll_back_and_reserve(request->thread, request->objects, request->stored, kept);
  *outcome = (struct outcome){.kind = OUTCOME_VALUE};
  if (class == NULL) {
    outcome_fail_memory(outcome);
    return;
  }
  outcome->type = class->name;
  if (!result_store(request, epoch, class, object, &outcome->ref, outcome))
    return;
  const struct op_callback_identity *callback = result_find_callback(request, class, object);
  if (!by_value) {
    outcome->callback = callback;
    return;
  }
  outcome->has_value = true;
  outcome->value = (struct op_value){
      .kind = OP_REF, .type = class->name, .ref = outcome->ref, .callback_identity = callback};
  outcome->value.has_length = callback == NULL && may_send_length(request, class, object) &&
                              result_find_length(request, class, object, &outcome->value.length);
}

/* ---- elements with their types ---- */

static struct op_value make_typed_text(struct text type, struct text text)
{
  return (struct op_value){.kind = OP_TYPED_TEXT, .type = type, .text = text};
}

/* True if JSON alone would not distinguish the value from a value of another type. */
static bool needs_type(const struct op_value *value, char letter)
{
  switch (value->kind) {
  case OP_FLOAT:
  case OP_DOUBLE:
    return value->decimal - value->decimal != 0;
  case OP_CHAR:
    return true;
  default:
    return value->kind == OP_TEXT && letter != 0; /* a long that is written as text */
  }
}

bool result_read_typed(const struct jvm_request *request, uint64_t epoch, jobject object,
                       struct op_value *out, struct outcome *failed)
{
  struct op_value text;
  *out = (struct op_value){.kind = OP_NULL};
  if (object == NULL)
    return true;
  const struct jvm_class *class = jvm_class_of_object(request->thread, object);
  if (class == NULL)
    return outcome_fail_memory(failed) == JP_OK;
  if (result_is_value_class(class) && result_read_value_object(request, class, object, out)) {
    if (!needs_type(out, class->unboxed))
      return true;
    text.text = result_write_scalar(request, out);
    *out = make_typed_text(primitive_keyword(class->unboxed),
                           text.text); /* a wrapper has the type name of its primitive */
    return text.text.data != NULL || outcome_fail_memory(failed) == JP_OK;
  }
  bool has_text = result_has_text(request, class) && result_read_text(request, class, object, &text);
  /* The name of an enum constant does not identify its class, the name of a Class does not identify its
   * loader, and the text of an Optional does not identify the type of its content. */
  bool is_complete =
      class->text != CLASS_TEXT_NAME && class->text != CLASS_TEXT_CLASS && class->text != CLASS_TEXT_OPTIONAL;
  if (has_text && is_complete) {
    *out = make_typed_text(class->name, text.text);
    return true;
  }
  *out = (struct op_value){
      .kind = OP_REF, .type = class->name, .callback_identity = result_find_callback(request, class, object)};
  if (has_text && text.kind != OP_NULL) /* except for an empty Optional */
    out->literal = result_write_scalar(request, &text);
  return result_store(request, epoch, class, object, &out->ref, failed);
}

/* ---- values that are sent with a ref ---- */

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

/* Reads the refs of the elements if the array is small enough. With --compat pal the refs are the array's
 * value. */
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

/* Reads the elements if the array is small enough to be sent by value with its ref. */
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

/* Adds the value of an object that has been stored. */
static void fill_beside(const struct jvm_request *request, uint64_t epoch, struct jvm_class *class,
                        jobject object, struct outcome *outcome)
{
  const struct operation *operation = request->operation;
  if (class->component != 0 && !jvm_judge_reading(request, class, READING_ARRAY))
    return;
  if (class->component != 0)
    outcome->has_value = read_array(request, epoch, class, object, &outcome->value);
  else if (class->text != CLASS_TEXT_NONE && !request->compat_pal)
    outcome->has_value = result_read_text(request, class, object, &outcome->value) &&
                         outcome->value.kind != OP_NULL; /* an empty Optional has only its ref */
  else if (operation->collection_values)
    result_fill_collection(request, class, object, outcome);
  if (!outcome->has_value && operation->element_refs && is_array_of_objects(class))
    fill_element_refs(request, epoch, object, outcome);
}

/* Adds the values that are sent with the ref of a stored object. A client's own object is not read, because
 * its client has it. */
static void fill_stored(const struct jvm_request *request, uint64_t epoch, struct jvm_class *class,
                        jobject object, struct outcome *outcome)
{
  outcome->callback = result_find_callback(request, class, object);
  if (outcome->callback == NULL)
    fill_beside(request, epoch, class, object, outcome);
}

/* ---- results ---- */

/* The object's class. A declared String or wrapper is the class itself, because these are final. */
static struct jvm_class *find_class(const struct jvm_request *request, struct jvm_type *declared,
                                    jobject object)
{
  struct jvm_class *known = atomic_load_explicit(&declared->class, memory_order_acquire);
  if (known == NULL || !result_is_value_class(known))
    known = jvm_class_of_object(request->thread, object);
  if (known != NULL && result_is_value_class(known) && text_equal(known->name, declared->name))
    atomic_store_explicit(&declared->class, known, memory_order_release);
  return known;
}

/* Stores a value that also travels by value. Without room for its ref, the value is the whole result, because
 * the call has already run. */
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
  struct jvm_class *class = find_class(request, declared, object);
  if (class == NULL) {
    outcome_fail_memory(outcome);
    return;
  }
  outcome->type = class->name;
  outcome->has_value =
      result_is_value_class(class) && result_read_value_object(request, class, object, &outcome->value);
  if (outcome->has_value && request->operation->value_refs)
    store_value(request, epoch, class, object, outcome);
  else if (!outcome->has_value && result_store(request, epoch, class, object, &outcome->ref, outcome) &&
           !result_is_value_class(class))
    fill_stored(request, epoch, class, object, outcome);
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
  /* Keeps the object for jvm_result_become_ref, if the answer turns out to be too long. */
  if (request->result != NULL)
    *request->result = (struct jvm_result){.object = object, .epoch = epoch, .stored_before = stored_before};
  else
    (*request->thread->env)->DeleteLocalRef(request->thread->env, object);
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

/* ---- keeping a result until its answer is written ---- */

bool jvm_result_become_ref(const struct jvm_request *request, bool by_value, struct outcome *outcome)
{
  const struct jvm_result *result = request->result;
  if (result->object == NULL)
    return false;
  result_fill_ref(request, result->epoch, result->object, by_value, result->stored_before, outcome);
  return true;
}

void jvm_result_hold(struct jvm_thread *thread, struct jvm_result *result)
{
  if (result == NULL || result->object == NULL)
    return;
  jobject held = (*thread->env)->NewGlobalRef(thread->env, result->object);
  (*thread->env)->DeleteLocalRef(thread->env, result->object);
  result->object = held;
  result->is_global = true;
}

void jvm_result_end(const struct jvm_request *request)
{
  JNIEnv *env = request->thread->env;
  struct jvm_result *result = request->result;
  if (result->object != NULL && result->is_global)
    (*env)->DeleteGlobalRef(env, result->object);
  else if (result->object != NULL)
    (*env)->DeleteLocalRef(env, result->object);
  *result = (struct jvm_result){.object = NULL};
  if (request->stored != NULL)
    jvm_objects_end_reservation(request->objects, request->stored);
}

void jvm_throwable_keep(struct jvm_thread *thread)
{
  thread->thrown.is_wanted = true;
}

void jvm_throwable_store(const struct jvm_request *request, struct outcome *outcome)
{
  struct jvm_thread *thread = request->thread;
  jobject thrown = thread->thrown.object;
  bool is_it = thrown != NULL && outcome->kind == OUTCOME_ERROR && outcome->throwable != NULL &&
               outcome->throwable == thread->thrown.described;
  const struct jvm_class *class = is_it ? jvm_class_of_object(thread, thrown) : NULL;
  struct outcome failed;
  if (class == NULL || !result_store(request, jvm_objects_epoch(request->objects), class, thrown,
                                     &outcome->throwable_ref, &failed))
    outcome->throwable_ref = 0;
  if (thrown != NULL)
    (*thread->env)->DeleteGlobalRef(thread->env, thrown);
  thread->thrown.object = NULL;
  thread->thrown.described = NULL;
  thread->thrown.is_wanted = false;
}
