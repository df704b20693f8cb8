#include "jni/convert/arguments.h"

#include "base/primitives.h"
#include "jni/objects/object_table.h"
#include "jni/runtime/strings.h"
#include "jni/runtime/throwables.h"

#include <stdio.h>

enum {
  LEVEL_REFERENCES = 17
}; /* for a level's object, the arrays of the bulk copy, its set of keys, one element and its class */

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

static bool check_instance(struct conversion *conversion, const struct op_value *value, jobject object,
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

/* Gets the object of a ref that is an element. */
static bool get_ref(struct conversion *conversion, const struct op_value *value, jobject *out)
{
  const struct jvm_request *request = conversion->request;
  *out = jvm_objects_get(conversion->thread, request->objects, value->ref, NULL);
  if (*out != NULL)
    return true;
  outcome_fail(conversion->outcome, request->arena, FAILURE_SERVER, "java.lang.NullPointerException",
               "No object found with objRef: %u", value->ref);
  return false;
}

jobject argument_box(struct conversion *conversion, char letter, const jvalue *value)
{
  JNIEnv *env = conversion->thread->env;
  const struct jvm_known *known = &conversion->thread->jvm->known;
  jobject object = NULL;
  switch (letter) {
#define CASE(letter, member, keyword, type, Word, box, ...)                                                  \
  case letter:                                                                                               \
    object =                                                                                                 \
        (*env)->CallStaticObjectMethodA(env, known->class_##box, known->static_##box##_value_of, value);     \
    break;
    PRIMITIVES(CASE)
#undef CASE
  }
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

/* A String does not change, so that the arguments that are one text are one object. */
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
      (*env)->NewGlobalRef(env, *out); /* without memory for it the next argument is another object */
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

/* The class that the value's own form suggests: Integer, Long, Double, String, ArrayList, HashMap, ... */
static struct jvm_class *natural_class(struct conversion *conversion, const struct op_value *value)
{
  struct jvm_thread *thread = conversion->thread;
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
    struct jvm_class *natural = natural_class(conversion, value);
    if (natural == NULL)
      return argument_take(conversion) ? false : argument_fail_memory(conversion);
    if (!argument_make(conversion, natural, value, out))
      return false;
  }
  return check_instance(conversion, value, *out, class);
}

bool argument_make(struct conversion *conversion, struct jvm_class *class, const struct op_value *value,
                   jobject *out)
{
  *out = NULL;
  if (value->kind == OP_NULL)
    return true;
  if (value->kind == OP_REF)
    return get_ref(conversion, value, out) && check_instance(conversion, value, *out, class);
  if (value->kind == OP_CALLBACK)
    return argument_make_callback(conversion, class, value, out) &&
           check_instance(conversion, value, *out, class);
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
    return argument_make_from_text(conversion, class, value, out);
  case MAKER_OTHER:
    break;
  }
  if (value->kind == OP_LIST || value->kind == OP_MAP)
    return argument_make_collection(conversion, class, value, out);
  return argument_make_from_text(conversion, class, value, out);
}

static char letter_of(const struct op_type *type)
{
  if (type->dimensions > 0)
    return 0;
  if (type->base != 'L')
    return type->base;
  return text_equal(type->name, TEXT("java.lang.String")) ? ARGUMENT_TEXT : primitive_unboxed(type->name);
}

/* Reads the type that an element declares, unless the one before it declared the same. */
static bool read_declared(struct conversion *conversion, const struct op_value *value)
{
  if (conversion->declared.written.data != NULL && text_equal(conversion->declared.written, value->type) &&
      (value->is_told || !conversion->declared.was_told))
    return true;
  struct op_type type;
  if (!argument_parse_type(conversion, value->type, &type) || !argument_ask_type(conversion, &type, value))
    return false;
  conversion->declared.written = value->type;
  conversion->declared.was_told = value->is_told;
  conversion->declared.type = type;
  conversion->declared.letter = letter_of(&type);
  conversion->declared.class = NULL;
  return true;
}

/* The class of the type that read_declared has read. *finding keeps it loaded. */
static struct jvm_class *declared_class(struct conversion *conversion, const struct op_value *value,
                                        struct class_finding *finding)
{
  finding->held = NULL;
  if (conversion->declared.class != NULL)
    return conversion->declared.class;
  struct jvm_class *class = argument_declared_class(conversion, &conversion->declared.type, value, finding);
  if (class != NULL && class->row != NULL && class->permanent)
    conversion->declared.class = class;
  return class;
}

static bool is_primitive(const struct op_type *type)
{
  return type->dimensions == 0 && type->base != 'L';
}

bool argument_make_element(struct conversion *conversion, struct jvm_class *class,
                           const struct op_value *value, jobject *out)
{
  if (value->type.data == NULL)
    return argument_make(conversion, class, value, out);
  if (!read_declared(conversion, value))
    return false;
  if (is_primitive(&conversion->declared.type)) {
    if (!make_wrapper(conversion, conversion->declared.letter, value, out))
      return false;
  } else {
    struct class_finding finding;
    struct jvm_class *declared = declared_class(conversion, value, &finding);
    bool made = declared != NULL && argument_make(conversion, declared, value, out);
    class_finding_end(conversion->thread, &finding);
    if (!made)
      return false;
  }
  return check_instance(conversion, value, *out, class);
}

/* The letter of an element that is neither null nor a ref. */
static char letter_for(char declared, const struct op_value *value)
{
  return declared != ARGUMENT_TEXT || value->kind == OP_TEXT ? declared : 0;
}

static bool is_absent(const struct op_value *value)
{
  return value->kind == OP_NULL || value->kind == OP_REF || value->kind == OP_CALLBACK;
}

/* The letter for an element of one class. Where the value declares a type, 0: making the object checks
 * that. */
static char letter_of_place(const struct jvm_class *class, const struct op_value *value)
{
  if (value->type.data != NULL || is_absent(value))
    return 0;
  return letter_for(class->maker == MAKER_STRING ? ARGUMENT_TEXT : class->unboxed, value);
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
    *letter = letter_for(conversion->declared.letter, value);
  return true;
}

bool argument_read_element(struct conversion *conversion, struct jvm_class *class,
                           const struct op_value *value, size_t text_max, struct argument_element *out)
{
  out->object = NULL;
  if (class != NULL)
    out->letter = letter_of_place(class, value);
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

static bool convert_to_primitive(struct conversion *conversion, const struct argument_plan *plan,
                                 const struct op_value *value, jobject object, jvalue *out)
{
  char to = plan->to->kind;
  char from = plan->from == 'L' ? plan->from_class->unboxed : plan->from;
  if (from == 0)
    from = to;
  if (value->kind == OP_REF) {
    if (!check_instance(conversion, value, object, plan->from_class))
      return false;
    argument_unbox(conversion->thread, object, from, out);
  } else if (!read_scalar(conversion, value, from, out)) {
    return false;
  }
  primitive_widen(from, to, out);
  return true;
}

static bool convert_to_object(struct conversion *conversion, const struct argument_plan *plan,
                              const struct op_value *value, jobject object, jvalue *out)
{
  struct jvm_class *to = jvm_type_class(conversion->thread, plan->to);
  out->l = NULL;
  if (value->kind == OP_REF || object != NULL) {
    out->l = object;
    if (plan->from == 'L' && !check_instance(conversion, value, object, plan->from_class))
      return false;
  } else if (plan->from != 0 && plan->from != 'L') {
    if (!make_wrapper(conversion, plan->from, value, &out->l))
      return false;
  } else if (value->kind != OP_NULL) {
    struct jvm_class *class = plan->from == 'L' ? plan->from_class : to;
    if (class == NULL)
      return argument_fail(conversion, value, "the class %.*s cannot be loaded", TEXT_ARGS(plan->to->name));
    if (!argument_make(conversion, class, value, &out->l))
      return false;
  }
  if (out->l == NULL)
    return true;
  if (to == NULL)
    return argument_fail(conversion, value, "the class %.*s cannot be loaded", TEXT_ARGS(plan->to->name));
  return check_instance(conversion, value, out->l, to);
}

void jvm_release_text(struct jvm_thread *thread, struct op_shared_text *text)
{
  if (text->string != NULL)
    (*thread->env)->DeleteGlobalRef(thread->env, text->string);
  text->string = NULL;
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
