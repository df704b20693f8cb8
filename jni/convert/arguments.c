/* From the values of a request to Java values: primitives, Strings, objects that a text denotes, and
 * arguments by their plan. */
#include "jni/convert/arguments.h"

#include "base/decimal.h"
#include "base/primitives.h"
#include "jni/objects/object_table.h"
#include "jni/runtime/strings.h"
#include "jni/runtime/throwables.h"
#include "judge/judge.h"

#include <inttypes.h>
#include <stdio.h>

enum { SHOWN_TEXT = 64, SHOWN_LEVELS = 8 };
enum { ACC_ENUM = 0x4000 };
/* For a level's object, the arrays of the bulk copy, its set of keys, and one element with its class. */
enum { LEVEL_REFERENCES = 17 };

static bool make_object(struct conversion *conversion, struct jvm_class *class, const struct op_value *value,
                        jobject *out);

/* ---- failures ---- */

bool argument_take(struct conversion *conversion)
{
  const struct jvm_request *request = conversion->request;
  return throwable_take_outcome(conversion->thread, request->arena, request->limits->stack_frames_max,
                                conversion->outcome);
}

/* "[3][0]"; beyond SHOWN_LEVELS, the outermost levels and "...". */
static struct text describe_levels(struct arena *arena, const struct argument_path *path)
{
  size_t indexes[SHOWN_LEVELS];
  size_t depth = 0;
  /* The path is visited from inside to outside, so that the outermost levels overwrite the inner levels. */
  for (; path != NULL && path->outer != NULL; path = path->outer)
    indexes[depth++ % SHOWN_LEVELS] = path->index;
  struct text levels = TEXT("");
  for (size_t shown = 0; shown < SHOWN_LEVELS && shown < depth; shown++)
    levels = arena_printf(arena, "%.*s[%zu]", TEXT_ARGS(levels), indexes[(depth - 1 - shown) % SHOWN_LEVELS]);
  return depth > SHOWN_LEVELS ? arena_printf(arena, "%.*s...", TEXT_ARGS(levels)) : levels;
}

/* "argument 1", "argument 1[3][0]", "value[2]", "instance" */
static struct text describe_place(const struct conversion *conversion)
{
  struct arena *arena = conversion->request->arena;
  struct text levels = describe_levels(arena, conversion->path);
  const struct argument_path *path = conversion->path;
  while (path != NULL && path->outer != NULL)
    path = path->outer;
  if (conversion->is_receiver)
    return arena_printf(arena, "instance%.*s", TEXT_ARGS(levels));
  if (conversion->is_put || path == NULL)
    return arena_printf(arena, "value%.*s", TEXT_ARGS(levels));
  return arena_printf(arena, "argument %zu%.*s", path->index, TEXT_ARGS(levels));
}

static struct text describe_value(struct arena *arena, const struct op_value *value)
{
  struct text cut;
  switch (value->kind) {
  case OP_NULL:
    return TEXT("null");
  case OP_BOOLEAN:
    return value->boolean ? TEXT("true") : TEXT("false");
  case OP_INTEGER:
  case OP_BIG_INTEGER:
  case OP_FLOAT:
  case OP_DOUBLE:
    cut = arena_shorten(arena, op_value_digits(value, arena), SHOWN_TEXT);
    return arena_printf(arena, "%.*s%.*s", TEXT_ARGS(cut), value->suffix != 0, &value->suffix);
  case OP_TEXT:
    cut = text_cut(value->text, SHOWN_TEXT);
    return arena_printf(arena, "\"%.*s\"%s", TEXT_ARGS(cut), cut.len < value->text.len ? "..." : "");
  case OP_REF:
    return arena_printf(arena, "ref %u", value->ref);
  case OP_CALLBACK:
    return arena_printf(arena, "callback %" PRId64, value->callback->id);
  case OP_MAP:
    return TEXT("a JSON object");
  default:
    return TEXT("an array");
  }
}

bool argument_fail(struct conversion *conversion, const struct op_value *value, const char *what, ...)
{
  struct arena *arena = conversion->request->arena;
  struct jp_error fault; /* shortens a long text */
  va_list args;
  va_start(args, what);
  (void)jp_fail_va(&fault, JP_INVALID, what, args);
  va_end(args);
  struct text place = describe_place(conversion);
  struct text shown = describe_value(arena, value);
  if (place.data == NULL || shown.data == NULL)
    return argument_fail_memory(conversion);
  bool is_key = conversion->path != NULL && conversion->path->is_key;
  outcome_fail(conversion->outcome, arena, FAILURE_INVALID_PARAMS, NULL, "%.*s: %s%.*s: %s", TEXT_ARGS(place),
               is_key ? "the key " : "", TEXT_ARGS(shown), fault.text);
  conversion->outcome->is_misfit = conversion->is_put;
  return false;
}

bool argument_fail_fit(struct conversion *conversion, const struct op_value *value, char letter,
                       enum op_scalar_fit fit)
{
  const struct primitive *wanted = primitive_find_letter(letter);
  return argument_fail(conversion, value, "%s for %s (%s)", op_scalar_reason(fit), wanted->keyword.data,
                       wanted->range);
}

/* Checks the number of digits: Java's time to parse a number grows with their square. */
static bool check_digits(struct conversion *conversion, const struct op_value *value, struct text number)
{
  size_t digits_max = conversion->request->limits->number_digits_max;
  return decimal_is_within(number, digits_max) ||
         argument_fail(conversion, value, "more digits than the limit of %zu (number-digits-max)",
                       digits_max);
}

bool argument_check_text(struct conversion *conversion, const struct op_value *value)
{
  return value->kind != OP_TEXT || value->text.len <= conversion->request->limits->number_digits_max ||
         check_digits(conversion, value, value->text);
}

/* ---- policy ---- */

bool argument_ask(struct conversion *conversion, enum op_member_kind kind, struct text class_name,
                  struct text member)
{
  return judge_implied(conversion->request->judge, kind, class_name, member, conversion->request->arena,
                       conversion->outcome) == JP_OK;
}

bool argument_ask_to_make(struct conversion *conversion, struct text class_name)
{
  return argument_ask(conversion, OP_MEMBER_CONSTRUCTOR, class_name, TEXT("<init>"));
}

bool argument_ask_type(struct conversion *conversion, const struct op_type *type,
                       const struct op_value *value)
{
  const struct jvm_request *request = conversion->request;
  if (type->base != 'L' || value->is_members_type)
    return true;
  if (value->kind == OP_CALLBACK)
    return judge_interface(request->judge, type->name, request->arena, conversion->outcome) == JP_OK;
  return judge_type(request->judge, type->name, request->arena, conversion->outcome) == JP_OK;
}

bool argument_parse_type(struct conversion *conversion, struct text written, struct op_type *type)
{
  struct jp_error error;
  enum jp_status status = op_type_parse_argument(written, type, &error);
  if (status == JP_OK)
    return true;
  outcome_fail(conversion->outcome, conversion->request->arena, FAILURE_INVALID_PARAMS, NULL, "%s",
               error.text);
  return false;
}

/* ---- primitives and Strings ---- */

bool argument_open_level(struct conversion *conversion)
{
  JNIEnv *env = conversion->thread->env;
  if ((*env)->PushLocalFrame(env, LEVEL_REFERENCES) == 0)
    return true;
  return !argument_take(conversion) && argument_fail_memory(conversion);
}

jobject argument_close_level(struct conversion *conversion, jobject result)
{
  JNIEnv *env = conversion->thread->env;
  return (*env)->PopLocalFrame(env, result);
}

bool argument_check_instance(struct conversion *conversion, const struct op_value *value, jobject object,
                             struct jvm_class *class)
{
  JNIEnv *env = conversion->thread->env;
  if (object == NULL || (*env)->IsInstanceOf(env, object, class->ref))
    return true;
  struct jvm_class *given = jvm_class_of_object(conversion->thread, object);
  if (given == NULL)
    return argument_fail_memory(conversion);
  return argument_fail(conversion, value, "an object of %.*s, not of %.*s", TEXT_ARGS(given->name),
                       TEXT_ARGS(class->name));
}

jobject argument_box(struct conversion *conversion, char letter, const jvalue *value)
{
  jobject object = jvm_known_box(&conversion->thread->jvm->known, conversion->thread->env, letter, value);
  return argument_take(conversion) ? NULL : object;
}

void argument_unbox(struct jvm_thread *thread, jobject object, char letter, jvalue *out)
{
  JNIEnv *env = thread->env;
  const struct jvm_known *known = &thread->jvm->known;
  switch (letter) {
#define CASE(letter, member, keyword, type, Word, box, ...)                                                  \
  case letter:                                                                                               \
    out->member = (*env)->Get##Word##Field(env, object, known->field_##box##_value);                         \
    break;
    PRIMITIVES(CASE)
#undef CASE
  }
}

static bool read_scalar(struct conversion *conversion, const struct op_value *value, char letter, jvalue *out)
{
  if (!argument_check_text(conversion, value))
    return false;
  enum op_scalar_fit fit = op_scalar_read(value, letter, out);
  return fit == OP_SCALAR_FITS || argument_fail_fit(conversion, value, letter, fit);
}

/* Strings are immutable, so arguments with the same text share one object. */
static bool make_shared_string(struct conversion *conversion, struct op_shared_text *shared, jobject *out)
{
  JNIEnv *env = conversion->thread->env;
  if (shared->string != NULL) {
    *out = (*env)->NewLocalRef(env, shared->string);
    return *out != NULL || argument_fail_memory(conversion);
  }
  *out = jvm_string_new(conversion->thread, shared->text);
  if (*out == NULL)
    return argument_take(conversion) ? false : argument_fail_memory(conversion);
  shared->string =
      (*env)->NewGlobalRef(env, *out); /* without memory for it, the next argument is a String of its own */
  return true;
}

static bool make_string(struct conversion *conversion, const struct op_value *value, jobject *out)
{
  struct text text;
  if (value->kind == OP_TEXT && value->shared != NULL)
    return make_shared_string(conversion, value->shared, out);
  if (value->kind == OP_TEXT)
    text = value->text;
  else if (value->kind == OP_BOOLEAN)
    text = value->boolean ? TEXT("true") : TEXT("false");
  else if (op_value_is_number(value))
    text = op_value_digits(value, conversion->request->arena);
  else
    return argument_fail(conversion, value, "cannot become a java.lang.String");
  if (text.data == NULL)
    return argument_fail_memory(conversion);
  *out = jvm_string_new(conversion->thread, text);
  if (*out != NULL)
    return true;
  return argument_take(conversion) ? false : argument_fail_memory(conversion);
}

static bool make_wrapper(struct conversion *conversion, char letter, const struct op_value *value,
                         jobject *out)
{
  jvalue scalar;
  if (!read_scalar(conversion, value, letter, &scalar))
    return false;
  *out = argument_box(conversion, letter, &scalar);
  return *out != NULL;
}

void jvm_release_text(struct jvm_thread *thread, struct op_shared_text *text)
{
  if (text->string != NULL)
    (*thread->env)->DeleteGlobalRef(thread->env, text->string);
  text->string = NULL;
}

/* ---- objects that a text denotes ---- */

static bool make_class(struct conversion *conversion, const struct op_value *value, jobject *out)
{
  JNIEnv *env = conversion->thread->env;
  struct op_type type;
  struct jp_error error;
  if (op_type_parse_argument(value->text, &type, &error) != JP_OK)
    return argument_fail(conversion, value, "%s", error.text);
  if (type.base == 'L' && !argument_ask(conversion, OP_MEMBER_STATIC_FIELD, type.name, TEXT("class")))
    return false;
  bool is_primitive = type.base != 'L' && type.dimensions == 0;
  /* Class.forName does not find a primitive type, but it finds an array of a primitive type. */
  if (is_primitive)
    type.dimensions = 1;
  struct class_finding finding;
  struct jvm_class *class = argument_declared_class(conversion, &type, NULL, &finding);
  if (class == NULL)
    return false;
  *out = is_primitive ? (*env)->CallObjectMethod(
                            env, class->ref, conversion->thread->jvm->known.method_class_get_component_type)
                      : (*env)->NewLocalRef(env, class->ref);
  class_finding_end(conversion->thread, &finding);
  return !argument_take(conversion) && *out != NULL;
}

/* Reads the static field, because Enum.valueOf would run the class's own values(). */
static bool make_constant(struct conversion *conversion, struct jvm_class *class,
                          const struct op_value *value, jobject *out)
{
  JNIEnv *env = conversion->thread->env;
  if (!argument_ask(conversion, OP_MEMBER_STATIC_FIELD, class->name, value->text))
    return false;
  const struct member_table *members = member_table_of(conversion->thread, class);
  if (members == NULL)
    return argument_take(conversion) ? false : argument_fail_memory(conversion);
  const struct jvm_field *field = NULL;
  for (size_t i = 0; field == NULL && i < members->field_count; i++)
    if ((members->fields[i].modifiers & ACC_ENUM) != 0 && text_equal(members->fields[i].name, value->text))
      field = &members->fields[i];
  if (field == NULL)
    return argument_fail(conversion, value, "%.*s has no such constant", TEXT_ARGS(class->name));
  jfieldID id = (*env)->GetStaticFieldID(env, class->ref, field->raw_name, field->raw_descriptor);
  *out = id == NULL ? NULL : (*env)->GetStaticObjectField(env, class->ref, id);
  return !argument_take(conversion);
}

/* An exception of the class's parser means a wrong argument (-32602); any other throwable is a Java
 * exception. */
static bool take_parse_failure(struct conversion *conversion, struct jvm_class *class,
                               const struct op_value *value)
{
  JNIEnv *env = conversion->thread->env;
  const struct jvm_request *request = conversion->request;
  const struct jvm_known *known = &conversion->thread->jvm->known;
  jthrowable thrown = throwable_catch(env);
  if (thrown == NULL)
    return false;
  struct outcome_throwable *described =
      throwable_describe(conversion->thread, thrown, request->arena, request->limits->stack_frames_max);
  if (described == NULL)
    argument_fail_memory(conversion);
  else if ((*env)->IsInstanceOf(env, thrown, known->class_runtime_exception))
    argument_fail(conversion, value, "no %.*s: %.*s", TEXT_ARGS(class->name),
                  TEXT_ARGS(described->message.data == NULL ? described->type : described->message));
  else
    throwable_to_outcome(conversion->thread, thrown, request->arena, request->limits->stack_frames_max,
                         conversion->outcome);
  (*env)->DeleteLocalRef(env, thrown);
  return true;
}

static bool parse_text(struct conversion *conversion, struct jvm_class *class, const struct op_value *value,
                       struct text text, jobject *out)
{
  JNIEnv *env = conversion->thread->env;
  const struct value_class *row = class->row;
  if (text.data == NULL)
    return argument_fail_memory(conversion);
  if (row->numbers != CLASS_NUMBERS_NONE && !check_digits(conversion, value, text))
    return false;
  jstring string = jvm_string_new(conversion->thread, text);
  if (string == NULL)
    return argument_take(conversion) ? false : argument_fail_memory(conversion);
  bool is_constructor = row->maker == MAKER_CONSTRUCT;
  jmethodID id = is_constructor ? (*env)->GetMethodID(env, class->ref, row->method, row->descriptor)
                                : (*env)->GetStaticMethodID(env, class->ref, row->method, row->descriptor);
  if (id != NULL)
    *out = is_constructor ? (*env)->NewObject(env, class->ref, id, string)
                          : (*env)->CallStaticObjectMethod(env, class->ref, id, string);
  bool failed = take_parse_failure(conversion, class, value);
  (*env)->DeleteLocalRef(env, string);
  return !failed;
}

static bool make_from_text(struct conversion *conversion, struct jvm_class *class,
                           const struct op_value *value, jobject *out)
{
  bool is_parsed = class->row != NULL && class->row->method != NULL;
  if (is_parsed && class->row->numbers != CLASS_NUMBERS_NONE && op_value_is_number(value))
    return parse_text(conversion, class, value, op_value_digits(value, conversion->request->arena), out);
  if (is_parsed && value->kind == OP_TEXT)
    return parse_text(conversion, class, value, value->text, out);
  if (value->kind == OP_TEXT && class->maker == MAKER_CLASS)
    return make_class(conversion, value, out);
  if (value->kind == OP_TEXT && class->is_enum)
    return make_constant(conversion, class, value, out);
  return argument_fail(conversion, value, "cannot become %.*s; pass a ref", TEXT_ARGS(class->name));
}

/* ---- any object ---- */

struct jvm_class *argument_natural_class(struct jvm_thread *thread, const struct op_value *value)
{
  const struct jvm_known *known = &thread->jvm->known;
  switch (value->kind) {
  case OP_TEXT:
    return jvm_class_of(thread, known->class_string);
  case OP_LIST:
    return jvm_class_of(thread, known->class_list);
  case OP_MAP:
    return jvm_class_of(thread, known->class_map);
  case OP_PACKED: {
    char name[2] = {'[', value->packed.element};
    return jvm_class_load(thread, (struct text){name, sizeof name}, NULL);
  }
  default:
    return jvm_class_of(thread, known->class_big_integer);
  }
}

static bool make_natural(struct conversion *conversion, struct jvm_class *class, const struct op_value *value,
                         jobject *out)
{
  char letter = op_scalar_infer(value);
  if (letter != 0) {
    if (!make_wrapper(conversion, letter, value, out))
      return false;
  } else {
    struct jvm_class *natural = argument_natural_class(conversion->thread, value);
    if (natural == NULL)
      return argument_take(conversion) ? false : argument_fail_memory(conversion);
    if (!make_object(conversion, natural, value, out))
      return false;
  }
  return argument_check_instance(conversion, value, *out, class);
}

/* Uses the object of a ref. A value that was sent in pieces is converted to the type that its place declares,
 * as if it had been sent whole. */
static bool use_object(struct conversion *conversion, const struct op_value *value, jobject object)
{
  jobject named;
  if (!jvm_objects_use(conversion->thread, conversion->request->objects, value->ref, &named))
    return true;
  bool fits = conversion->elements == NULL || argument_fit_pieces(conversion, object, named);
  (*conversion->thread->env)->DeleteLocalRef(conversion->thread->env, named);
  jvm_objects_end_use(conversion->thread, conversion->request->objects, value->ref, fits);
  return fits;
}

/* Gets the object of an element that is a ref. */
static bool get_element(struct conversion *conversion, const struct op_value *value, jobject *out)
{
  const struct jvm_request *request = conversion->request;
  bool is_unused;
  *out = jvm_objects_open(conversion->thread, request->objects, value->ref, NULL, &is_unused);
  if (*out != NULL)
    return !is_unused || use_object(conversion, value, *out);
  jvm_objects_fail_get(request, value->ref, conversion->outcome);
  return false;
}

/* Makes an object of the class (NULL for a null). Ignores the type that the value declares, because the
 * caller has read it already. */
static bool make_object(struct conversion *conversion, struct jvm_class *class, const struct op_value *value,
                        jobject *out)
{
  *out = NULL;
  if (value->kind == OP_NULL)
    return true;
  if (value->kind == OP_REF)
    return get_element(conversion, value, out) && argument_check_instance(conversion, value, *out, class);
  if (value->kind == OP_CALLBACK)
    return argument_make_callback(conversion, class, value, out) &&
           argument_check_instance(conversion, value, *out, class);
  switch (class->maker) {
  case MAKER_STRING:
    return make_string(conversion, value, out);
  case MAKER_WRAPPER:
    return make_wrapper(conversion, class->unboxed, value, out);
  case MAKER_NATURAL:
    return make_natural(conversion, class, value, out);
  case MAKER_ARRAY:
    return argument_make_array(conversion, class, value, out);
  case MAKER_LIST:
  case MAKER_MAP:
    return argument_make_collection(conversion, class, value, out);
  case MAKER_PARSE:
  case MAKER_CONSTRUCT:
  case MAKER_CLASS:
    return make_from_text(conversion, class, value, out);
  case MAKER_OTHER:
    break;
  }
  if (value->kind == OP_LIST || value->kind == OP_MAP)
    return argument_make_collection(conversion, class, value, out);
  return make_from_text(conversion, class, value, out);
}

/* ---- elements ---- */

static char find_type_letter(const struct op_type *type)
{
  if (type->dimensions > 0)
    return 0;
  if (type->base != 'L')
    return type->base;
  return text_equal(type->name, TEXT("java.lang.String")) ? ARGUMENT_TEXT : primitive_unboxed(type->name);
}

/* Reads the type that an element declares, unless the previous element declared the same. */
static bool read_declared(struct conversion *conversion, const struct op_value *value)
{
  if (conversion->declared.written.data != NULL && text_equal(conversion->declared.written, value->type) &&
      (value->is_members_type || !conversion->declared.was_members_type))
    return true;
  struct op_type type;
  if (!argument_parse_type(conversion, value->type, &type) || !argument_ask_type(conversion, &type, value))
    return false;
  conversion->declared.written = value->type;
  conversion->declared.was_members_type = value->is_members_type;
  conversion->declared.type = type;
  conversion->declared.letter = find_type_letter(&type);
  conversion->declared.class = NULL;
  return true;
}

static bool is_primitive(const struct op_type *type)
{
  return type->dimensions == 0 && type->base != 'L';
}

bool argument_make_element(struct conversion *conversion, struct jvm_class *class,
                           const struct op_value *value, jobject *out)
{
  if (value->type.data == NULL)
    return make_object(conversion, class, value, out);
  if (!read_declared(conversion, value))
    return false;
  if (is_primitive(&conversion->declared.type)) {
    if (!make_wrapper(conversion, conversion->declared.letter, value, out))
      return false;
  } else {
    struct class_finding finding = {.held = NULL}; /* keeps the class loaded */
    struct jvm_class *declared = conversion->declared.class;
    if (declared == NULL)
      declared = argument_declared_class(conversion, &conversion->declared.type, value, &finding);
    if (declared != NULL && declared->row != NULL && declared->permanent)
      conversion->declared.class = declared;
    bool made = declared != NULL && make_object(conversion, declared, value, out);
    class_finding_end(conversion->thread, &finding);
    if (!made)
      return false;
  }
  return argument_check_instance(conversion, value, *out, class);
}

/* For an element that is neither null nor a ref. */
static char choose_letter(char declared, const struct op_value *value)
{
  return declared != ARGUMENT_TEXT || value->kind == OP_TEXT ? declared : 0;
}

static bool is_absent(const struct op_value *value)
{
  return value->kind == OP_NULL || value->kind == OP_REF || value->kind == OP_CALLBACK;
}

static bool find_letter(struct conversion *conversion, const struct op_value *value, char *letter)
{
  *letter = 0;
  if (value->type.data == NULL) {
    *letter = value->kind == OP_TEXT ? ARGUMENT_TEXT : op_scalar_infer(value);
    return true;
  }
  if (!read_declared(conversion, value))
    return false;
  if (is_primitive(&conversion->declared.type) || !is_absent(value))
    *letter = choose_letter(conversion->declared.letter, value);
  return true;
}

bool argument_read_element(struct conversion *conversion, struct jvm_class *class,
                           const struct op_value *value, size_t text_max, struct argument_element *out)
{
  out->object = NULL;
  if (class != NULL)
    /* A declared type is not checked here, because making the object checks it. */
    out->letter = value->type.data != NULL || is_absent(value)
                      ? 0
                      : choose_letter(class->maker == MAKER_STRING ? ARGUMENT_TEXT : class->unboxed, value);
  else if (!find_letter(conversion, value, &out->letter))
    return false;
  if (out->letter == ARGUMENT_TEXT && value->text.len > text_max)
    out->letter = 0;
  if (out->letter == ARGUMENT_TEXT) {
    out->text = value->text;
    return true;
  }
  if (out->letter != 0)
    return read_scalar(conversion, value, out->letter, &out->scalar);
  if (class == NULL)
    class = jvm_class_of(conversion->thread, conversion->thread->jvm->known.class_object);
  return class == NULL ? argument_fail_memory(conversion)
                       : argument_make_element(conversion, class, value, &out->object);
}

/* ---- an argument ---- */

static bool convert_to_primitive(struct conversion *conversion, const struct argument_plan *plan,
                                 const struct op_value *value, jobject object, jvalue *out)
{
  char to = plan->to->kind;
  char from = plan->from == 'L' ? plan->from_class->unboxed : plan->from;
  if (from == 0)
    from = to;
  if (value->kind == OP_REF) {
    if (!argument_check_instance(conversion, value, object, plan->from_class))
      return false;
    argument_unbox(conversion->thread, object, from, out);
  } else if (!read_scalar(conversion, value, from, out)) {
    return false;
  }
  primitive_widen(from, to, out);
  return true;
}

/* The class to which a type variable is bound, if the value itself declares no type. NULL: none, or it cannot
 * be loaded. */
static struct jvm_class *find_bound_class(struct conversion *conversion, const struct op_value *value)
{
  const struct element_types *elements = conversion->elements;
  bool keeps_its_type = value->type.data != NULL && !value->is_members_type;
  return elements == NULL || elements->self.kind == 0 || keeps_its_type
             ? NULL
             : jvm_type_class(conversion->thread, (struct jvm_type *)&elements->self);
}

/* True if the proxy that was made to choose the overload can also be the argument. */
static bool is_plain_callback(const struct conversion *conversion, const struct argument_plan *plan)
{
  return plan->is_plain_callback &&
         (conversion->elements == NULL || conversion->elements->function.interface == NULL);
}

static bool convert_to_object(struct conversion *conversion, const struct argument_plan *plan,
                              const struct op_value *value, jobject object, jvalue *out)
{
  struct jvm_class *to = jvm_type_class(conversion->thread, plan->to);
  struct jvm_class *bound;
  out->l = NULL;
  if (value->kind == OP_CALLBACK && object != NULL && !is_plain_callback(conversion, plan)) {
    if (!argument_make_callback(conversion, to, value, &out->l))
      return false;
  } else if (value->kind == OP_REF || object != NULL) {
    out->l = object;
    if (plan->from == 'L' && !argument_check_instance(conversion, value, object, plan->from_class))
      return false;
    if (value->kind == OP_REF && conversion->has_unused && !use_object(conversion, value, object))
      return false;
  } else if ((bound = find_bound_class(conversion, value)) != NULL) {
    if (!make_object(conversion, bound, value, &out->l))
      return false;
  } else if (plan->from != 0 && plan->from != 'L') {
    if (!make_wrapper(conversion, plan->from, value, &out->l))
      return false;
  } else if (value->kind != OP_NULL) {
    struct jvm_class *class = plan->from == 'L' ? plan->from_class : to;
    if (class == NULL)
      return argument_fail(conversion, value, "the class %.*s cannot be loaded", TEXT_ARGS(plan->to->name));
    if (!make_object(conversion, class, value, &out->l))
      return false;
  }
  if (out->l == NULL)
    return true;
  if (to == NULL)
    return argument_fail(conversion, value, "the class %.*s cannot be loaded", TEXT_ARGS(plan->to->name));
  return argument_check_instance(conversion, value, out->l, to);
}

bool argument_convert(struct conversion *conversion, const struct argument_plan *plan,
                      const struct op_value *value, jobject object, jvalue *out)
{
  if (argument_read_whole_number(plan, value, out))
    return true;
  if (plan->to->kind != 'L')
    return convert_to_primitive(conversion, plan, value, object, out);
  return convert_to_object(conversion, plan, value, object, out);
}
