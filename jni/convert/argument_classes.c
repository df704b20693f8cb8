/* Finds the class for a name in a request: by the loader that the request names, by the loader of the class
 * that the request names, or by jni/loaders. */
#include "jni/convert/arguments.h"

#include "base/process_limits.h"
#include "jni/loaders/class_lookup.h"
#include "jni/objects/object_table.h"
#include "jni/runtime/strings.h"
#include "jni/runtime/throwables.h"
#include "judge/judge.h"

/* Asks the judge about the member that the declared type and the form of the value imply, before the class is
 * loaded. A text for a class that is not in the table of makers names a constant of the class. A list or map
 * becomes a new object of the class, by the class's constructor. */
static bool ask_before_loading(struct conversion *conversion, const struct op_type *type,
                               const struct op_value *value)
{
  if (value->kind == OP_TEXT)
    return argument_ask(conversion, OP_MEMBER_STATIC_FIELD, type->name, value->text);
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
                 "%.*s could not be searched: " DESCRIPTORS_NONE_LEFT, TEXT_ARGS(shown));
  else
    outcome_fail(conversion->outcome, request->arena, FAILURE_NOT_FOUND, "java.lang.ClassNotFoundException",
                 "%.*s", TEXT_ARGS(shown));
}

/* ---- several classes with the name ---- */

/* The error lists only loaders whose loadClass the caller may use. */
static bool may_use(const struct jvm_request *request, const struct jvm_class *loader_class)
{
  const struct judged_member member = {.kind = OP_MEMBER_METHOD,
                                       .modifiers = OP_ACC_PUBLIC,
                                       .named_class = TEXT("java.lang.ClassLoader"),
                                       .declaring_class = TEXT("java.lang.ClassLoader"),
                                       .runtime_class = loader_class->name,
                                       .member = TEXT("loadClass")};
  return judge_allows(request->judge, OP_CALL, &member);
}

/* The name that the loader got when it was created. An overriding getName is not called. */
static struct text read_loader_name(struct conversion *conversion, jobject loader)
{
  JNIEnv *env = conversion->thread->env;
  const struct jvm_known *known = &conversion->thread->jvm->known;
  jstring name = (*env)->CallNonvirtualObjectMethod(env, loader, known->class_class_loader,
                                                    known->method_class_loader_get_name);
  if (throwable_take(conversion->thread, NULL) || name == NULL)
    return TEXT_ABSENT;
  struct text shown =
      jvm_string_get_cut(conversion->thread, name, conversion->request->arena, OUTCOME_NAME_SHOWN);
  (*env)->DeleteLocalRef(env, name);
  return shown;
}

/* Stores the loader for the caller. JP_NOT_FOUND: the loader is gone, or the caller may not use it. */
static enum jp_status store_loader(struct conversion *conversion, uint64_t epoch, uint32_t number,
                                   struct outcome_loader *listed)
{
  struct jvm_thread *thread = conversion->thread;
  const struct jvm_request *request = conversion->request;
  jobject loader = loader_take(thread, number);
  if (loader == NULL)
    return JP_NOT_FOUND;
  const struct jvm_class *class = jvm_class_of_object(thread, loader);
  enum jp_status status = JP_NOT_FOUND;
  struct jp_error error;
  if (class != NULL && may_use(request, class)) {
    listed->type = class->name;
    listed->name = read_loader_name(conversion, loader);
    status = jvm_objects_put(thread, request->objects, loader, class->id, epoch, request->stored,
                             &listed->ref, &error);
  }
  (*thread->env)->DeleteLocalRef(thread->env, loader);
  return status;
}

/* In a full session the list is shorter. */
static void list_loaders(struct conversion *conversion, const struct loader_list *several)
{
  const struct jvm_request *request = conversion->request;
  struct outcome *outcome = conversion->outcome;
  struct outcome_loader *listed = arena_calloc(request->arena, several->count, sizeof *listed);
  uint64_t epoch = jvm_objects_epoch(request->objects);
  if (listed == NULL)
    return;
  for (size_t i = 0; i < several->count; i++)
    if (store_loader(conversion, epoch, several->numbers[i], &listed[outcome->loader_count]) == JP_OK)
      outcome->loader_count++;
  outcome->loaders = listed;
}

static void fail_several(struct conversion *conversion, struct text name, const struct loader_list *several)
{
  const struct jvm_request *request = conversion->request;
  struct text shown = arena_shorten(request->arena, name, OUTCOME_NAME_SHOWN);
  outcome_fail(conversion->outcome, request->arena, FAILURE_NOT_FOUND, "java.lang.ClassNotFoundException",
               "%.*s: %zu class loaders have a class of this name; name one of them in options.loader",
               TEXT_ARGS(shown), several->count);
  conversion->outcome->is_ambiguous = true;
  if (request->operation->lists_loaders && !request->drops_result)
    list_loaders(conversion, several);
}

/* ---- the search ---- */

static void fail_to_find(struct conversion *conversion, struct text name, const struct loader_list *several)
{
  jthrowable thrown = throwable_catch(conversion->thread->env);
  if (several->count > 0)
    fail_several(conversion, name, several);
  else if (thrown == NULL)
    argument_fail_memory(conversion);
  else
    fail_to_load(conversion, name, thrown);
  (*conversion->thread->env)->DeleteLocalRef(conversion->thread->env, thrown);
}

/* Asks the loader of the operation's class, because that loader also finds the classes that the operation's
 * class uses. True: the search ends, with a class or an exception. */
static bool ask_beside(struct conversion *conversion, struct text name, struct class_finding *finding)
{
  struct jvm_thread *thread = conversion->thread;
  JNIEnv *env = thread->env;
  jobject loader = NULL;
  jclass held = NULL;
  if (conversion->beside == NULL || conversion->beside->permanent ||
      (*thread->jvmti)->GetClassLoader(thread->jvmti, conversion->beside->ref, &loader) != JVMTI_ERROR_NONE)
    return false;
  finding->class = loader_load_class(thread, name, loader, &held);
  (*env)->DeleteLocalRef(env, held);
  (*env)->DeleteLocalRef(env, loader);
  if (finding->class != NULL)
    return true;
  jthrowable thrown = throwable_catch(env);
  bool is_missing =
      thrown == NULL || (*env)->IsInstanceOf(env, thrown, thread->jvm->known.class_class_not_found_exception);
  if (!is_missing)
    (*env)->Throw(env, thrown);
  (*env)->DeleteLocalRef(env, thrown);
  return !is_missing;
}

static struct jvm_class *load_class(struct conversion *conversion, struct text name,
                                    struct class_finding *finding)
{
  *finding = (struct class_finding){.basis = {.kind = CLASS_FOR_GOOD}};
  if (conversion->loaded.class != NULL && text_equal(conversion->loaded.name, name))
    return finding->class = conversion->loaded.class;
  if (conversion->loader != NULL) {
    jclass held = NULL;
    finding->class = loader_load_class(conversion->thread, name, conversion->loader, &held);
    (*conversion->thread->env)->DeleteLocalRef(conversion->thread->env, held);
  } else if (!ask_beside(conversion, name, finding)) {
    class_find(conversion->thread, name, !conversion->request->limits->application_loader_only, finding);
  }
  if (finding->class == NULL) {
    fail_to_find(conversion, name, &finding->several);
  } else if (finding->class->permanent) {
    conversion->loaded.name = name;
    conversion->loaded.class = finding->class;
  }
  return finding->class;
}

/* ---- arrays of many dimensions ---- */

static bool is_type_declared(const struct jvm_type *type, struct text name)
{
  return type->kind == 'L' && text_ends_with(type->name, name);
}

/* True if a parameter or field of the class or of a superclass has this array type, or an array of it. In
 * that case the member itself makes the JVM load the array class anyway. */
static bool is_array_declared(struct jvm_thread *thread, struct jvm_class *class, struct text name)
{
  const struct member_table *members = member_table_of(thread, class);
  if (members == NULL) {
    (void)throwable_take(thread, NULL);
    return false;
  }
  for (size_t i = 0; i < members->method_count; i++)
    for (size_t j = 0; j < members->methods[i].param_count; j++)
      if (is_type_declared(&members->methods[i].params[j], name))
        return true;
  for (size_t i = 0; i < members->field_count; i++)
    if (is_type_declared(&members->fields[i].type, name))
      return true;
  if (members->super != NULL && is_array_declared(thread, members->super, name))
    return true;
  for (size_t i = 0; i < members->interface_count; i++)
    if (is_array_declared(thread, members->interfaces[i], name))
      return true;
  return false;
}

static bool check_dimensions(struct conversion *conversion, const struct op_type *type, struct text name,
                             const struct op_value *value)
{
  if (type->dimensions <= OP_NAMED_DIMENSIONS_MAX || (value != NULL && value->is_members_type))
    return true;
  if (conversion->beside != NULL &&
      is_array_declared(conversion->thread, (struct jvm_class *)conversion->beside, name))
    return true;
  struct arena *arena = conversion->request->arena;
  outcome_fail(conversion->outcome, arena, FAILURE_INVALID_PARAMS, NULL,
               "Type has more than %d dimensions, and no member of the class has such an array: %.*s with %u",
               OP_NAMED_DIMENSIONS_MAX, TEXT_ARGS(arena_shorten(arena, type->name, OUTCOME_NAME_SHOWN)),
               type->dimensions);
  return false;
}

struct jvm_class *argument_declared_class(struct conversion *conversion, const struct op_type *type,
                                          const struct op_value *value, struct class_finding *finding)
{
  finding->held = NULL;
  if (value != NULL && type->base == 'L' && value_class_find_maker(type->name) == NULL &&
      !ask_before_loading(conversion, type, value))
    return NULL;
  struct text name = op_type_binary_name(type, conversion->request->arena);
  if (name.data == NULL) {
    argument_fail_memory(conversion);
    return NULL;
  }
  return check_dimensions(conversion, type, name, value) ? load_class(conversion, name, finding) : NULL;
}
