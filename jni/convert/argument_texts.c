#include "jni/convert/arguments.h"

#include "jni/runtime/strings.h"
#include "jni/runtime/throwables.h"

enum { ACC_ENUM = 0x4000 };

bool argument_ask(struct conversion *conversion, enum jvm_member_kind kind, struct text class_name,
                  struct text member)
{
  const struct jvm_guard *guard = conversion->request->guard;
  return guard == NULL || guard->check == NULL ||
         guard->check(guard->context, kind, class_name, member, conversion->request->arena,
                      conversion->outcome) == JP_OK;
}

bool argument_ask_to_make(struct conversion *conversion, struct text class_name)
{
  return argument_ask(conversion, JVM_CONSTRUCTOR, class_name, TEXT("<init>"));
}

bool argument_ask_type(struct conversion *conversion, const struct op_type *type,
                       const struct op_value *value)
{
  const struct jvm_guard *guard = conversion->request->guard;
  if (guard == NULL || type->base != 'L' || value->is_told)
    return true;
  enum jp_status (*ask)(void *context, struct text class_name, struct arena *arena, struct outcome *denied) =
      value->kind == OP_CALLBACK ? guard->check_interface : guard->check_type;
  return ask == NULL ||
         ask(guard->context, type->name, conversion->request->arena, conversion->outcome) == JP_OK;
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

static bool make_class(struct conversion *conversion, const struct op_value *value, jobject *out)
{
  JNIEnv *env = conversion->thread->env;
  struct op_type type;
  struct jp_error error;
  if (op_type_parse_argument(value->text, &type, &error) != JP_OK)
    return argument_fail(conversion, value, "%s", error.text);
  if (type.base == 'L' && !argument_ask(conversion, JVM_STATIC_FIELD, type.name, TEXT("class")))
    return false;
  bool is_primitive = type.base != 'L' && type.dimensions == 0;
  /* Class.forName finds no primitive; the component class of an array is one. */
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

static struct jvm_field *find_constant(struct conversion *conversion, struct jvm_class *class,
                                       struct text name)
{
  const struct member_table *members = member_table_of(conversion->thread, class);
  if (members == NULL) {
    if (!argument_take(conversion))
      argument_fail_memory(conversion);
    return NULL;
  }
  for (size_t i = 0; i < members->field_count; i++)
    if ((members->fields[i].modifiers & ACC_ENUM) != 0 && text_equal(members->fields[i].name, name))
      return &members->fields[i];
  return NULL;
}

/* Reads the static field: Enum.valueOf would run the class's own values(). */
static bool make_constant(struct conversion *conversion, struct jvm_class *class,
                          const struct op_value *value, jobject *out)
{
  JNIEnv *env = conversion->thread->env;
  if (!argument_ask(conversion, JVM_STATIC_FIELD, class->name, value->text))
    return false;
  struct jvm_field *field = find_constant(conversion, class, value->text);
  if (field == NULL)
    return argument_fail(conversion, value, "%.*s has no such constant", TEXT_ARGS(class->name));
  jfieldID id = (*env)->GetStaticFieldID(env, class->ref, field->raw_name, field->raw_descriptor);
  *out = id == NULL ? NULL : (*env)->GetStaticObjectField(env, class->ref, id);
  return !argument_take(conversion);
}

/* An exception of the class's parser is the caller's mistake (-32602); any other throwable is Java's. */
static bool take_parse_failure(struct conversion *conversion, struct jvm_class *class,
                               const struct op_value *value)
{
  JNIEnv *env = conversion->thread->env;
  const struct jvm_request *request = conversion->request;
  const struct jvm_known *known = &conversion->thread->jvm->known;
  jthrowable thrown = throwable_catch(env);
  if (thrown == NULL)
    return false;
  struct outcome_throwable *told =
      throwable_describe(conversion->thread, thrown, request->arena, request->limits->stack_frames_max);
  if (told == NULL)
    argument_fail_memory(conversion);
  else if ((*env)->IsInstanceOf(env, thrown, known->class_runtime_exception))
    argument_fail(conversion, value, "no %.*s: %.*s", TEXT_ARGS(class->name),
                  TEXT_ARGS(told->message.data == NULL ? told->type : told->message));
  else
    throwable_to_outcome(conversion->thread, thrown, request->arena, request->limits->stack_frames_max,
                         conversion->outcome);
  (*env)->DeleteLocalRef(env, thrown);
  return true;
}

static bool takes_numbers(const struct jvm_class *class)
{
  return class->row->descriptor != NULL && text_starts_with(class->name, TEXT("java.math."));
}

static bool parse_text(struct conversion *conversion, struct jvm_class *class, const struct op_value *value,
                       struct text text, jobject *out)
{
  JNIEnv *env = conversion->thread->env;
  const struct class_maker_row *row = class->row;
  if (text.data == NULL)
    return argument_fail_memory(conversion);
  if (takes_numbers(class) && !argument_check_digits(conversion, value, text))
    return false;
  jstring string = jvm_string_new(conversion->thread, text);
  if (string == NULL)
    return argument_take(conversion) ? false : argument_fail_memory(conversion);
  bool is_constructor = row->method[0] == '<';
  jmethodID id = is_constructor ? (*env)->GetMethodID(env, class->ref, row->method, row->descriptor)
                                : (*env)->GetStaticMethodID(env, class->ref, row->method, row->descriptor);
  if (id != NULL)
    *out = is_constructor ? (*env)->NewObject(env, class->ref, id, string)
                          : (*env)->CallStaticObjectMethod(env, class->ref, id, string);
  bool failed = take_parse_failure(conversion, class, value);
  (*env)->DeleteLocalRef(env, string);
  return !failed;
}

bool argument_make_from_text(struct conversion *conversion, struct jvm_class *class,
                             const struct op_value *value, jobject *out)
{
  if (class->maker == MAKER_PARSE && takes_numbers(class) && op_value_is_number(value))
    return parse_text(conversion, class, value, op_value_digits(value, conversion->request->arena), out);
  if (value->kind == OP_TEXT && class->maker == MAKER_PARSE)
    return class->row->method == NULL ? make_class(conversion, value, out)
                                      : parse_text(conversion, class, value, value->text, out);
  if (value->kind == OP_TEXT && class->is_enum)
    return make_constant(conversion, class, value, out);
  return argument_fail(conversion, value, "cannot become %.*s; pass a ref", TEXT_ARGS(class->name));
}
