#include "jni/convert/arguments.h"

#include "base/descriptors.h"
#include "jni/runtime/strings.h"
#include "jni/runtime/throwables.h"

enum { ACC_ENUM = 0x4000 };

static bool ask_guard(struct conversion *conversion, enum jvm_member_kind kind, struct text class_name,
                      struct text member)
{
  const struct jvm_guard *guard = conversion->request->guard;
  return guard == NULL || guard->check == NULL ||
         guard->check(guard->context, kind, class_name, member, conversion->request->arena,
                      conversion->outcome) == JP_OK;
}

bool argument_ask_to_make(struct conversion *conversion, struct text class_name)
{
  return ask_guard(conversion, JVM_CONSTRUCTOR, class_name, TEXT("<init>"));
}

bool argument_ask_type(struct conversion *conversion, const struct op_type *type,
                       const struct op_value *value)
{
  const struct jvm_guard *guard = conversion->request->guard;
  return guard == NULL || guard->check_type == NULL || type->base != 'L' || value->is_told ||
         guard->check_type(guard->context, type->name, conversion->request->arena, conversion->outcome) ==
             JP_OK;
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

/* Asks what the declared type and the value's form alone tell. A text for a class that is not in the table of
 * makers names a constant of it; a list or map goes into a new object of it. */
static bool ask_before_loading(struct conversion *conversion, const struct op_type *type,
                               const struct op_value *value)
{
  if (value->kind == OP_TEXT)
    return ask_guard(conversion, JVM_STATIC_FIELD, type->name, value->text);
  if (type->dimensions == 0)
    return (value->kind != OP_LIST && value->kind != OP_MAP) || argument_ask_to_make(conversion, type->name);
  if (value->kind != OP_LIST)
    return true;
  struct op_type component = *type;
  component.dimensions--;
  for (size_t i = 0; i < value->list.count; i++)
    if (value->list.items[i].type.data == NULL &&
        !ask_before_loading(conversion, &component, &value->list.items[i]))
      return false;
  return true;
}

/* Asks the loader of the operation's class, which may know classes that the application's loader does not. */
static struct jvm_class *load_beside(struct conversion *conversion, struct text name)
{
  struct jvm_thread *thread = conversion->thread;
  if (conversion->beside == NULL || conversion->beside->permanent)
    return NULL;
  jobject loader = NULL;
  if ((*thread->jvmti)->GetClassLoader(thread->jvmti, conversion->beside->ref, &loader) != JVMTI_ERROR_NONE)
    return NULL;
  struct jvm_class *class = jvm_class_load(thread, name, loader);
  (void)throwable_take(thread, NULL);
  (*thread->env)->DeleteLocalRef(thread->env, loader);
  return class;
}

/* A class loader that cannot open a file reports that the class does not exist. */
static void fail_to_load(struct conversion *conversion, struct text name, jthrowable thrown)
{
  JNIEnv *env = conversion->thread->env;
  const struct jvm_request *request = conversion->request;
  struct text shown = arena_shorten(request->arena, name, OUTCOME_NAME_SHOWN);
  if (!(*env)->IsInstanceOf(env, thrown, conversion->thread->jvm->known.class_class_not_found_exception))
    throwable_to_outcome(conversion->thread, thrown, request->arena, request->limits->stack_frames_max,
                         conversion->outcome);
  else if (descriptors_are_used_up())
    outcome_fail(conversion->outcome, request->arena, FAILURE_SERVER, "java.lang.ClassNotFoundException",
                 "%.*s could not be looked for: " DESCRIPTORS_NONE_LEFT, TEXT_ARGS(shown));
  else
    outcome_fail(conversion->outcome, request->arena, FAILURE_NOT_FOUND, "java.lang.ClassNotFoundException",
                 "%.*s", TEXT_ARGS(shown));
}

static struct jvm_class *load_class(struct conversion *conversion, struct text name)
{
  JNIEnv *env = conversion->thread->env;
  if (conversion->loaded.class != NULL && text_equal(conversion->loaded.name, name))
    return conversion->loaded.class;
  struct jvm_class *class = jvm_class_load(conversion->thread, name, conversion->thread->jvm->class_loader);
  if (class != NULL && class->permanent) {
    conversion->loaded.name = name;
    conversion->loaded.class = class;
  }
  if (class != NULL)
    return class;
  jthrowable thrown = throwable_catch(env);
  if (thrown == NULL) {
    argument_fail_memory(conversion);
    return NULL;
  }
  class = load_beside(conversion, name);
  if (class == NULL)
    fail_to_load(conversion, name, thrown);
  (*env)->DeleteLocalRef(env, thrown);
  return class;
}

struct jvm_class *argument_declared_class(struct conversion *conversion, const struct op_type *type,
                                          const struct op_value *value)
{
  if (value != NULL && type->base == 'L' && class_maker_find(type->name) == NULL &&
      !ask_before_loading(conversion, type, value))
    return NULL;
  struct text name = op_type_binary_name(type, conversion->request->arena);
  if (name.data == NULL) {
    argument_fail_memory(conversion);
    return NULL;
  }
  return load_class(conversion, name);
}

static bool make_class(struct conversion *conversion, const struct op_value *value, jobject *out)
{
  JNIEnv *env = conversion->thread->env;
  struct op_type type;
  struct jp_error error;
  if (op_type_parse_argument(value->text, &type, &error) != JP_OK)
    return argument_fail(conversion, value, "%s", error.text);
  if (type.base == 'L' && !ask_guard(conversion, JVM_STATIC_FIELD, type.name, TEXT("class")))
    return false;
  if (type.base == 'L' || type.dimensions > 0) {
    struct jvm_class *class = argument_declared_class(conversion, &type, NULL);
    *out = class == NULL ? NULL : (*env)->NewLocalRef(env, class->ref);
    return *out != NULL;
  }
  /* Class.forName finds no primitive; the component class of an array is one. */
  type.dimensions = 1;
  struct jvm_class *array = argument_declared_class(conversion, &type, NULL);
  if (array == NULL)
    return false;
  *out = (*env)->CallObjectMethod(env, array->ref,
                                  conversion->thread->jvm->known.method_class_get_component_type);
  return !argument_take(conversion);
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
  if (!ask_guard(conversion, JVM_STATIC_FIELD, class->name, value->text))
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
