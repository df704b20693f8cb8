/* Runs a member. */
#include "base/primitives.h"
#include "jni/convert/results.h"
#include "jni/resolve/member_cache.h"
#include "jni/runtime/dispatch.h"
#include "jni/runtime/throwables.h"

enum { WRITTEN_SHOWN = 64 };

/* Sets the element types that the member declares for the next argument. */
static void declare_elements(struct conversion *conversion, size_t argument)
{
  const struct jvm_request *request = conversion->request;
  struct resolved_member *member = conversion->member;
  const struct element_types *elements = NULL;
  enum op_value_kind kind = request->operation->args[argument].kind;
  bool is_made = kind != OP_NULL && (kind != OP_REF || conversion->has_unused);
  if (member->plans[argument].may_declare && is_made) {
    size_t last = member->method == NULL ? 0 : member->method->param_count - 1;
    bool is_gathered = member->variable && argument >= last;
    elements =
        resolved_member_elements(request->thread, member, is_gathered ? last : argument, request->arena);
    if (is_gathered && elements != NULL)
      elements = elements->inside;
  }
  conversion->elements = elements;
}

/* ---- arrays that the caller wants returned ---- */

/* Remembers the array of an argument with `out`. The array is local, and exists until the operation has
 * run. */
static bool note_out(struct conversion *conversion, size_t argument, jobject array)
{
  struct arena *arena = conversion->request->arena;
  size_t count = conversion->request->operation->arg_count;
  if (conversion->request->operation->args[argument].out == OP_OUT_NONE || array == NULL ||
      conversion->made.array != array)
    return true;
  if (conversion->outs == NULL)
    conversion->outs = arena_calloc(arena, count, sizeof *conversion->outs);
  if (conversion->outs == NULL)
    return argument_fail_memory(conversion);
  conversion->outs[conversion->out_count++] = (struct conversion_out){.argument = argument,
                                                                      .array = array,
                                                                      .letter = conversion->made.letter,
                                                                      .before = conversion->made.data,
                                                                      .count = conversion->made.count};
  return true;
}

static bool is_noted(const struct conversion *conversion, size_t argument)
{
  return conversion->out_count > 0 && conversion->outs[conversion->out_count - 1].argument == argument;
}

/* Compares without a copy, because most calls change nothing. No Java code runs during the comparison. */
static bool has_changed(JNIEnv *env, const struct conversion_out *out, size_t size)
{
  void *now = (*env)->GetPrimitiveArrayCritical(env, out->array, NULL);
  if (now == NULL) { /* no memory for a copy */
    (*env)->ExceptionClear(env);
    return true;
  }
  bool changed = memcmp(now, out->before, size) != 0;
  (*env)->ReleasePrimitiveArrayCritical(env, out->array, now, JNI_ABORT);
  return changed;
}

/* Adds the arrays that have changed to the outcome. */
static void list_outs(struct conversion *conversion)
{
  const struct jvm_request *request = conversion->request;
  struct outcome *outcome = conversion->outcome;
  if (outcome->kind == OUTCOME_ERROR)
    return;
  struct outcome_out *listed = arena_alloc(request->arena, conversion->out_count * sizeof *listed);
  if (listed == NULL) {
    (void)outcome_fail_memory(outcome);
    return;
  }
  outcome->outs = listed;
  outcome->out_count = 0;
  for (size_t i = 0; i < conversion->out_count; i++) {
    const struct conversion_out *out = &conversion->outs[i];
    size_t size = out->count * primitive_size(out->letter);
    if (size == 0 || !has_changed(conversion->thread->env, out, size))
      continue;
    void *now = arena_alloc(request->arena, size);
    if (now == NULL) {
      (void)outcome_fail_memory(outcome);
      return;
    }
    dispatch_get_range(conversion->thread->env, out->letter, out->array, 0, (jsize)out->count, now);
    const struct op_value *given = &request->operation->args[out->argument];
    bool is_base64 = given->out == OP_OUT_BASE64 || request->operation->base64_result;
    listed[outcome->out_count++] =
        (struct outcome_out){.argument = out->argument,
                             .value = {.kind = OP_PACKED,
                                       .packed = {.data = now,
                                                  .count = out->count,
                                                  .element = out->letter,
                                                  .form = is_base64 ? OP_PACKED_BASE64 : OP_PACKED_LIST}}};
  }
}

/* Converts one argument of a variable arity into the array, or into packed if it is a primitive. Leaves no
 * reference, because there may be many converted arguments. bound: the element class, if the element type is
 * a type variable. */
static bool set_gathered(struct conversion *conversion, jobject array, struct jvm_class *bound,
                         size_t argument, size_t at, char *packed)
{
  JNIEnv *env = conversion->thread->env;
  const struct resolved_member *member = conversion->member;
  jobject given = conversion->frame->objects[argument];
  jvalue element;
  declare_elements(conversion, argument);
  conversion->made.array = NULL;
  if (!argument_convert(conversion, &member->plans[argument], &conversion->request->operation->args[argument],
                        given, &element))
    return false;
  if (bound != NULL &&
      !argument_check_instance(conversion, &conversion->request->operation->args[argument], element.l, bound))
    return false;
  if (packed != NULL) {
    size_t size = primitive_size(member->method->element.kind);
    memcpy(packed + at * size, &element, size);
    return true;
  }
  (*env)->SetObjectArrayElement(env, array, (jsize)at, element.l);
  if (conversion->made.array != NULL && !note_out(conversion, argument, element.l))
    return false;
  if (element.l != given && !is_noted(conversion, argument))
    (*env)->DeleteLocalRef(env, element.l);
  return !argument_take(conversion);
}

static bool fill_gathered(struct conversion *conversion, jobject array, struct jvm_class *bound, size_t first,
                          char *packed)
{
  struct argument_path path = {.index = first};
  bool filled = true;
  conversion->path = &path;
  for (; filled && path.index < conversion->member->plan_count; path.index++)
    filled = set_gathered(conversion, array, bound, path.index, path.index - first, packed);
  conversion->path = NULL;
  return filled;
}

/* Finds the array class for a variable arity whose element type is a type variable bound to a class. NULL:
 * use the erased type, or the class cannot be loaded. */
static struct jvm_class *find_bound_array(struct conversion *conversion, size_t parameter)
{
  struct jvm_thread *thread = conversion->thread;
  const struct element_types *declared = resolved_member_elements(
      conversion->request->thread, conversion->member, parameter, conversion->request->arena);
  return declared == NULL || declared->self.kind == 0
             ? NULL
             : jvm_type_class(thread, (struct jvm_type *)&declared->self);
}

/* Collects the arguments from the method's last parameter on in a new array. */
static bool gather_arguments(struct conversion *conversion)
{
  const struct resolved_member *member = conversion->member;
  struct jvm_method *method = member->method;
  size_t first = method->param_count - 1;
  size_t count = member->plan_count - first;
  char letter = method->element.kind;
  struct jvm_class *class = jvm_type_class(conversion->thread, &method->params[first]);
  struct jvm_class *bound = letter == 'L' ? find_bound_array(conversion, first) : NULL;
  if (bound != NULL) {
    class = bound;
    bound = jvm_class_component(conversion->thread, class);
  }
  if (class == NULL)
    return argument_fail_memory(conversion);
  jobject array = argument_new_array(conversion, class, (jint)count);
  if (array == NULL)
    return false;
  char *packed =
      letter == 'L' ? NULL : arena_alloc(conversion->request->arena, count * primitive_size(letter));
  if (letter != 'L' && packed == NULL)
    return argument_fail_memory(conversion);
  if (!fill_gathered(conversion, array, bound, first, packed))
    return false;
  if (packed != NULL)
    dispatch_set_region(conversion->thread->env, letter, array, (jsize)count, packed);
  conversion->arguments[first].l = array;
  return !argument_take(conversion);
}

/* Converts the arguments that do not go into the array. */
static bool convert_fixed(struct conversion *conversion, struct argument_path *path)
{
  const struct resolved_member *member = conversion->member;
  size_t fixed = member->variable ? member->method->param_count - 1 : member->plan_count;
  for (; path->index < fixed; path->index++) {
    declare_elements(conversion, path->index);
    conversion->made.array = NULL;
    if (!argument_convert(conversion, &member->plans[path->index],
                          &conversion->request->operation->args[path->index],
                          conversion->frame->objects[path->index], &conversion->arguments[path->index]))
      return false;
    if (conversion->made.array != NULL &&
        !note_out(conversion, path->index, conversion->arguments[path->index].l))
      return false;
  }
  return true;
}

static bool convert_arguments(struct conversion *conversion)
{
  const struct resolved_member *member = conversion->member;
  size_t count = member->variable ? member->method->param_count : member->plan_count;
  conversion->arguments = count <= FEW_ARGUMENTS
                              ? conversion->frame->few.values
                              : arena_alloc(conversion->request->arena, count * sizeof(jvalue));
  if (conversion->arguments == NULL)
    return argument_fail_memory(conversion);
  struct argument_path path = {0};
  conversion->path = &path;
  bool converted = convert_fixed(conversion, &path) && (!member->variable || gather_arguments(conversion));
  conversion->path = NULL;
  return converted;
}

/* JNI does not check the receiver's class. The cache's key includes the class, but only this check protects
 * the process from a wrong class. */
static bool check_receiver(struct conversion *conversion)
{
  JNIEnv *env = conversion->thread->env;
  const struct resolved_member *member = conversion->member;
  jobject receiver = conversion->frame->receiver;
  if (receiver != NULL && (*env)->IsInstanceOf(env, receiver, member->named->ref) &&
      (member->named == member->declaring || (*env)->IsInstanceOf(env, receiver, member->declaring->ref)))
    return true;
  outcome_fail(conversion->outcome, conversion->request->arena, FAILURE_INVALID_PARAMS, NULL,
               "The instance is not of %.*s", TEXT_ARGS(member->named->name));
  return false;
}

/* GetStaticMethodID initialises the class and raises exceptions of its initialiser. A call with an id from
 * JVMTI would skip that. */
static bool take_static_method(struct conversion *conversion)
{
  JNIEnv *env = conversion->thread->env;
  struct resolved_member *member = conversion->member;
  if (member->method_id != NULL)
    return true;
  struct jvm_method *method = member->method;
  jmethodID id = (*env)->GetStaticMethodID(env, method->owner->ref, method->raw_name, method->raw_descriptor);
  if (argument_take(conversion))
    return false;
  member->method_id = id;
  return true;
}

static bool take_static_field(struct conversion *conversion)
{
  JNIEnv *env = conversion->thread->env;
  struct resolved_member *member = conversion->member;
  if (member->field_id != NULL)
    return true;
  struct jvm_field *field = member->field;
  jfieldID id = (*env)->GetStaticFieldID(env, field->owner->ref, field->raw_name, field->raw_descriptor);
  if (argument_take(conversion))
    return false;
  member->field_id = id;
  return true;
}

static void finish_result(struct conversion *conversion, struct jvm_type *type, const jvalue *value)
{
  if (argument_take(conversion))
    return;
  result_fill(conversion->request, conversion->frame->epoch, type, value, conversion->outcome);
  if (conversion->out_count > 0)
    list_outs(conversion);
}

static void run_call(struct conversion *conversion)
{
  if (!check_receiver(conversion) || !convert_arguments(conversion))
    return;
  const struct resolved_member *member = conversion->member;
  jvalue value = {0};
  dispatch_call(conversion->thread->env, member->method->result.kind, conversion->frame->receiver,
                member->method_id, conversion->arguments, &value);
  finish_result(conversion, &member->method->result, &value);
}

static void run_static_call(struct conversion *conversion)
{
  if (!convert_arguments(conversion) || !take_static_method(conversion))
    return;
  const struct resolved_member *member = conversion->member;
  jvalue value = {0};
  dispatch_call_static(conversion->thread->env, member->method->result.kind, member->declaring->ref,
                       member->method_id, conversion->arguments, &value);
  finish_result(conversion, &member->method->result, &value);
}

static void finish_new(struct conversion *conversion, jobject object)
{
  struct jvm_type type = {.kind = 'L', .name = conversion->member->named->name};
  const jvalue value = {.l = object};
  finish_result(conversion, &type, &value);
}

static void run_new(struct conversion *conversion)
{
  JNIEnv *env = conversion->thread->env;
  const struct resolved_member *member = conversion->member;
  if (convert_arguments(conversion))
    finish_new(conversion,
               (*env)->NewObjectA(env, member->named->ref, member->method_id, conversion->arguments));
}

/* True if the only argument is the whole array, not an element of it. */
static bool is_whole(struct conversion *conversion, const struct op_value *value,
                     const struct jvm_class *array)
{
  if (value->kind != OP_PACKED && value->kind != OP_LIST)
    return false;
  if (value->type.data == NULL)
    return array->component != 'L' && array->component != '[';
  struct op_type type;
  struct text name = TEXT_ABSENT;
  if (op_type_parse_argument(value->type, &type, NULL) == JP_OK)
    name = op_type_binary_name(&type, conversion->request->arena);
  return name.data != NULL && text_equal(name, array->name);
}

/* A single int is the length; anything else is the elements (docs/protocol.md, "new, call, get, put"). */
static void run_new_array(struct conversion *conversion)
{
  const struct operation *operation = conversion->request->operation;
  struct jvm_class *class = conversion->member->named;
  const struct op_value *only = operation->arg_count == 1 ? &operation->args[0] : NULL;
  struct op_value elements = {.kind = OP_LIST,
                              .list = {.items = operation->args, .count = operation->arg_count}};
  jobject array = NULL;
  if (only != NULL && op_scalar_infer(only) == 'I' &&
      (only->type.data == NULL || text_equal(only->type, TEXT("int")))) {
    array = argument_new_array(conversion, class, (jint)only->integer);
  } else {
    bool whole = only != NULL && is_whole(conversion, only, class);
    struct argument_path path = {0};
    conversion->path = whole ? &path : NULL;
    if (!argument_make_array(conversion, class, whole ? only : &elements, &array))
      return;
  }
  if (array != NULL)
    finish_new(conversion, array);
}

static void run_get(struct conversion *conversion)
{
  if (!check_receiver(conversion))
    return;
  struct jvm_field *field = conversion->member->field;
  jvalue value = {0};
  dispatch_get(conversion->thread->env, field->type.kind, conversion->frame->receiver,
               conversion->member->field_id, &value);
  finish_result(conversion, &field->type, &value);
}

static void run_static_get(struct conversion *conversion)
{
  if (!take_static_field(conversion))
    return;
  struct jvm_field *field = conversion->member->field;
  jvalue value = {0};
  dispatch_get_static(conversion->thread->env, field->type.kind, field->owner->ref,
                      conversion->member->field_id, &value);
  finish_result(conversion, &field->type, &value);
}

static void run_length(struct conversion *conversion)
{
  struct jvm_type type = {.kind = 'I', .name = TEXT("int")};
  if (!check_receiver(conversion))
    return;
  const jvalue value = {
      .i = (*conversion->thread->env)->GetArrayLength(conversion->thread->env, conversion->frame->receiver)};
  finish_result(conversion, &type, &value);
}

/* ---- elements and ranges of arrays (docs/pieces.md, "Elements and ranges") ---- */

/* The texts are the same as in java.util.Objects.checkIndex and checkFromToIndex. */
static bool fail_bounds(struct conversion *conversion, const struct op_piece *piece, jsize length)
{
  struct text shown = arena_shorten(conversion->request->arena, piece->written, WRITTEN_SHOWN);
  if (piece->kind == OP_PIECE_ELEMENT && shown.len == piece->written.len)
    shown = text_slice(shown, 1, shown.len - 1);
  outcome_fail(conversion->outcome, conversion->request->arena, FAILURE_SERVER,
               "java.lang.ArrayIndexOutOfBoundsException", "%s %.*s out of bounds for length %d",
               piece->kind == OP_PIECE_RANGE ? "Range" : "Index", TEXT_ARGS(shown), length);
  return false;
}

/* Finds the operation's range in the array. False: the range exceeds the array, and the outcome is Java's
 * exception. */
static bool find_piece(struct conversion *conversion, jobject array, jsize *from, jsize *count)
{
  JNIEnv *env = conversion->thread->env;
  const struct op_piece *piece = conversion->request->operation->piece;
  jsize length = (*env)->GetArrayLength(env, array);
  return op_piece_locate(piece, length, from, count) || fail_bounds(conversion, piece, length);
}

static void read_element(JNIEnv *env, char element, jobject array, jsize at, jvalue *out)
{
  if (element == 'L')
    out->l = (*env)->GetObjectArrayElement(env, array, at);
  else
    dispatch_get_range(env, element, array, at, 1, out);
}

/* Writing an object may leave an ArrayStoreException pending. */
static void write_element(JNIEnv *env, char element, jobject array, jsize at, const jvalue *value)
{
  if (element == 'L')
    (*env)->SetObjectArrayElement(env, array, at, value->l);
  else
    dispatch_set_range(env, element, array, at, 1, value);
}

/* A new array of the same class: a local reference. NULL: the outcome says why. */
static jobject copy_range(struct conversion *conversion, struct jvm_class *class, jobject array, jsize from,
                          jsize count)
{
  JNIEnv *env = conversion->thread->env;
  const struct jvm_known *known = &conversion->thread->jvm->known;
  jobject copy = argument_new_array(conversion, class, count);
  if (copy == NULL)
    return NULL;
  (*env)->CallStaticVoidMethod(env, known->class_system, known->static_system_arraycopy, array, from, copy, 0,
                               count);
  return argument_take(conversion) ? NULL : copy;
}

/* The type of the result is the array's own class, as for clone. */
static void finish_range(struct conversion *conversion, jsize from, jsize count)
{
  struct jvm_class *class = jvm_class_by_id(conversion->thread, conversion->frame->receiver_class);
  struct jvm_type type = {.kind = 'L', .name = class->name};
  const jvalue value = {.l = copy_range(conversion, class, conversion->frame->receiver, from, count)};
  if (value.l != NULL)
    finish_result(conversion, &type, &value);
}

static void run_get_piece(struct conversion *conversion)
{
  jobject array = conversion->frame->receiver;
  jvalue value = {0};
  jsize from = 0;
  jsize count = 0;
  if (!check_receiver(conversion) || !find_piece(conversion, array, &from, &count))
    return;
  if (conversion->request->operation->piece->kind == OP_PIECE_RANGE) {
    finish_range(conversion, from, count);
    return;
  }
  read_element(conversion->thread->env, conversion->member->element.kind, array, from, &value);
  finish_result(conversion, &conversion->member->element, &value);
}

static bool convert_put(struct conversion *conversion, jvalue *value)
{
  struct argument_path path = {0};
  conversion->path = &path;
  declare_elements(conversion, 0);
  bool converted =
      argument_convert(conversion, &conversion->member->plans[0], &conversion->request->operation->args[0],
                       conversion->frame->objects[0], value);
  conversion->path = NULL;
  return converted;
}

static void finish_put(struct conversion *conversion)
{
  if (!argument_take(conversion))
    *conversion->outcome = (struct outcome){.kind = OUTCOME_VOID};
}

static void run_put(struct conversion *conversion)
{
  jvalue value = {0};
  if (!check_receiver(conversion) || !convert_put(conversion, &value))
    return;
  dispatch_put(conversion->thread->env, conversion->member->field->type.kind, conversion->frame->receiver,
               conversion->member->field_id, &value);
  finish_put(conversion);
}

static void run_put_piece(struct conversion *conversion)
{
  jobject array = conversion->frame->receiver;
  jvalue value = {0};
  jsize at = 0;
  jsize count = 0;
  if (!check_receiver(conversion) || !find_piece(conversion, array, &at, &count) ||
      !convert_put(conversion, &value))
    return;
  write_element(conversion->thread->env, conversion->member->element.kind, array, at, &value);
  finish_put(conversion);
}

/* Converts the value to an array first, so that a value that does not fit changes no element. */
static void run_put_range(struct conversion *conversion)
{
  JNIEnv *env = conversion->thread->env;
  const struct jvm_known *known = &conversion->thread->jvm->known;
  jobject array = conversion->frame->receiver;
  const struct op_value *given = &conversion->request->operation->args[0];
  jvalue value = {0};
  jsize from = 0;
  jsize count = 0;
  if (!check_receiver(conversion) || !find_piece(conversion, array, &from, &count) ||
      !convert_put(conversion, &value))
    return;
  jsize length = value.l == NULL ? -1 : (*env)->GetArrayLength(env, value.l);
  if (length != count) {
    if (value.l == NULL)
      (void)argument_fail(conversion, given, "a range needs an array");
    else
      (void)argument_fail(conversion, given, "%d elements in place of %d", length, count);
    return;
  }
  (*env)->CallStaticVoidMethod(env, known->class_system, known->static_system_arraycopy, value.l, 0, array,
                               from, count);
  finish_put(conversion);
}

static void run_static_put(struct conversion *conversion)
{
  jvalue value = {0};
  if (!convert_put(conversion, &value) || !take_static_field(conversion))
    return;
  struct jvm_field *field = conversion->member->field;
  dispatch_put_static(conversion->thread->env, field->type.kind, field->owner->ref,
                      conversion->member->field_id, &value);
  finish_put(conversion);
}

static void run_refusal(struct conversion *conversion)
{
  const struct resolved_member *member = conversion->member;
  bool of_class = member->kind == OP_MEMBER_CONSTRUCTOR;
  outcome_fail(conversion->outcome, conversion->request->arena, FAILURE_SERVER, member->refusal_type,
               "%.*s%s%.*s: %s", TEXT_ARGS(member->declaring->name), of_class ? "" : ".",
               of_class ? 0 : (int)member->name.len, member->name.data, member->refusal);
}

/* ---- a slot for the result ---- */

/* True for a class whose objects always travel by value, by its name. */
static bool is_value_name(struct text name)
{
  const struct value_class *row = value_class_find_maker(name);
  return row != NULL && (row->maker == MAKER_STRING || row->maker == MAKER_WRAPPER);
}

static enum result_place find_type_place(const struct jvm_type *type)
{
  if (type->kind != 'L' || is_value_name(type->name))
    return RESULT_PLACE_NONE;
  const struct value_class *row = value_class_find_maker(type->name);
  return row != NULL && row->maker == MAKER_NATURAL ? RESULT_PLACE_MAYBE : RESULT_PLACE_NEEDED;
}

static enum result_place find_result_place(const struct resolved_member *member)
{
  switch (member->action) {
  case MEMBER_CALL:
  case MEMBER_CALL_STATIC:
    return find_type_place(&member->method->result);
  case MEMBER_GET:
  case MEMBER_GET_STATIC:
    return find_type_place(&member->field->type);
  case MEMBER_NEW:
    return is_value_name(member->named->name) ? RESULT_PLACE_NONE : RESULT_PLACE_NEEDED;
  case MEMBER_NEW_ARRAY:
    return RESULT_PLACE_NEEDED;
  default:
    return RESULT_PLACE_NONE;
  }
}

/* Reserves a slot in the session before a call whose result may need one; without a slot the call does not
 * run. The owner is asked only if the result certainly is an object of the session. */
static bool reserve_place(const struct jvm_request *request, struct resolved_member *member,
                          struct outcome *outcome)
{
  if (member->result_place == RESULT_PLACE_UNKNOWN)
    member->result_place = find_result_place(member);
  if (member->result_place == RESULT_PLACE_NONE || request->result == NULL || request->stored == NULL ||
      request->drops_result || request->compat_pal)
    return true;
  bool is_new = request->operation->kind == OP_NEW;
  bool enters = is_new || (!request->operation->by_value && member->result_place == RESULT_PLACE_NEEDED);
  struct jp_error error = {0};
  if (jvm_objects_reserve(request->thread, request->objects, enters, request->stored, &error) == JP_OK)
    return true;
  outcome_fail_error(outcome, request->arena, &error);
  return false;
}

void jvm_invoke(const struct jvm_request *request, const struct jvm_target *target, struct outcome *outcome)
{
  static void (*const actions[])(struct conversion *) = {
      [MEMBER_CALL] = run_call,
      [MEMBER_CALL_STATIC] = run_static_call,
      [MEMBER_NEW] = run_new,
      [MEMBER_NEW_ARRAY] = run_new_array,
      [MEMBER_GET] = run_get,
      [MEMBER_GET_STATIC] = run_static_get,
      [MEMBER_GET_LENGTH] = run_length,
      [MEMBER_GET_PIECE] = run_get_piece,
      [MEMBER_PUT] = run_put,
      [MEMBER_PUT_STATIC] = run_static_put,
      [MEMBER_PUT_PIECE] = run_put_piece,
      [MEMBER_PUT_RANGE] = run_put_range,
      [MEMBER_REFUSE] = run_refusal,
  };
  struct conversion conversion = {.thread = request->thread,
                                  .request = request,
                                  .outcome = outcome,
                                  .frame = target->frame,
                                  .member = target->resolved,
                                  .is_put = request->operation->kind == OP_PUT,
                                  .loader = target->frame->loader,
                                  .has_unused = target->frame->has_unused,
                                  .beside = target->resolved->named};
  if (reserve_place(request, target->resolved, outcome))
    actions[target->resolved->action](&conversion);
  bool is_empty = target->resolved->leaves_no_references && !conversion.frame->has_references &&
                  outcome->kind != OUTCOME_ERROR;
  jvm_thread_set_frame(request->thread, is_empty ? JVM_FRAME_EMPTY : JVM_FRAME_USED);
}
