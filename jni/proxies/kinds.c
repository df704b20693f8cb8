#include "jni/proxies/kinds.h"

#include "base/primitives.h"
#include "jni/runtime/strings.h"
#include "jni/runtime/throwables.h"
#include "jni/types/member_table.h"

#include <pthread.h>
#include <stdlib.h>

enum { KINDS_KEPT = 64, KIND_REFERENCES = 16 };

/* The kinds that were used last, latest first. No JNI call is made under the lock: a Java thread that returns
 * from JNI may be suspended while it holds the lock. */
static struct {
  pthread_mutex_t lock;
  struct callback_kind *first;
} kept = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* ---- the list of kinds ---- */

bool callback_kind_has_interfaces(const struct callback_kind *kind, const struct callback_form *form)
{
  return kind->form.interface_count == form->interface_count &&
         memcmp(kind->form.interfaces, form->interfaces,
                form->interface_count * sizeof(struct jvm_class *)) == 0;
}

bool callback_kind_has_function(const struct callback_kind *kind, const struct callback_form *form)
{
  return text_equal(kind->form.function.identity, form->function.identity);
}

bool callback_kind_has_overrides(const struct callback_kind *kind, const struct callback_form *form)
{
  if (kind->form.overrides.count != form->overrides.count)
    return false;
  for (size_t i = 0; i < form->overrides.count; i++)
    if (!text_equal(kind->form.overrides.names[i], form->overrides.names[i]))
      return false;
  return true;
}

/* Inserts the kind at the front. */
static void list_kind(struct callback_kind *kind)
{
  kind->next = kept.first;
  kept.first = kind;
}

/* Removes the kind that `at` points to from the list. */
static struct callback_kind *unlist_kind(struct callback_kind **at)
{
  struct callback_kind *kind = *at;
  *at = kind->next;
  return kind;
}

/* Under the lock. */
static struct callback_kind *find_listed(const struct callback_form *form)
{
  struct callback_kind **at = &kept.first;
  while (*at != NULL && !(callback_kind_has_interfaces(*at, form) && callback_kind_has_function(*at, form) &&
                          callback_kind_has_overrides(*at, form)))
    at = &(*at)->next;
  if (*at == NULL)
    return NULL;
  struct callback_kind *found = unlist_kind(at);
  list_kind(found);
  found->holders++;
  return found;
}

/* Returns the kind of this form from the list, and counts one more holder. NULL: the list has no such kind. */
static struct callback_kind *find_kept(const struct callback_form *form)
{
  pthread_mutex_lock(&kept.lock);
  struct callback_kind *found = find_listed(form);
  pthread_mutex_unlock(&kept.lock);
  return found;
}

/* Adds the kind to the list, which then also holds it. If another thread has added a kind of the same form in
 * the meantime, returns that kind as find_kept does; otherwise NULL. */
static struct callback_kind *keep_kind(JNIEnv *env, struct callback_kind *kind)
{
  struct callback_kind *dropped = NULL;
  pthread_mutex_lock(&kept.lock);
  struct callback_kind *other = find_listed(&kind->form);
  if (other == NULL) {
    kind->holders++;
    list_kind(kind);
    struct callback_kind **at = &kept.first;
    for (size_t i = 0; *at != NULL && i < KINDS_KEPT; i++)
      at = &(*at)->next;
    if (*at != NULL)
      dropped = unlist_kind(at);
  }
  pthread_mutex_unlock(&kept.lock);
  callback_kind_release(env, dropped);
  return other;
}

/* For a kind whose Java object was collected, because nothing else referenced it. The list releases the kind;
 * the caller still holds it. */
static void forget_kind(struct callback_kind *kind)
{
  pthread_mutex_lock(&kept.lock);
  struct callback_kind **at = &kept.first;
  while (*at != NULL && *at != kind)
    at = &(*at)->next;
  if (*at != NULL) {
    unlist_kind(at);
    kind->holders--;
  }
  pthread_mutex_unlock(&kept.lock);
}

struct callback_kind *callback_kind_hold(struct callback_kind *kind)
{
  pthread_mutex_lock(&kept.lock);
  kind->holders++;
  pthread_mutex_unlock(&kept.lock);
  return kind;
}

static void free_kind(JNIEnv *env, struct callback_kind *kind)
{
  if (kind->object != NULL && kind->is_weak)
    (*env)->DeleteWeakGlobalRef(env, kind->object);
  else if (kind->object != NULL)
    (*env)->DeleteGlobalRef(env, kind->object);
  arena_fini(&kind->memory);
  free(kind);
}

void callback_kind_release(JNIEnv *env, struct callback_kind *kind)
{
  if (kind == NULL)
    return;
  pthread_mutex_lock(&kept.lock);
  bool was_last = --kind->holders == 0;
  pthread_mutex_unlock(&kept.lock);
  if (was_last)
    free_kind(env, kind);
}

/* ---- a new kind ---- */

/* The state of making a kind. If a step fails, an exception may be pending. */
struct making {
  struct jvm_thread *thread;
  JNIEnv *env;
  struct callback_kind *kind;
  jobject object; /* local */
};

static jobjectArray make_interfaces(struct making *making)
{
  JNIEnv *env = making->env;
  const struct callback_form *form = &making->kind->form;
  jobjectArray array =
      (*env)->NewObjectArray(env, (jsize)form->interface_count, making->thread->jvm->known.class_class, NULL);
  for (size_t i = 0; array != NULL && i < form->interface_count; i++) {
    (*env)->SetObjectArrayElement(env, array, (jsize)i, form->interfaces[i]->ref);
    if ((*env)->ExceptionCheck(env))
      return NULL;
  }
  return array;
}

static jobjectArray make_overrides(struct making *making)
{
  JNIEnv *env = making->env;
  const struct callback_overrides *overrides = &making->kind->form.overrides;
  jobjectArray array =
      (*env)->NewObjectArray(env, (jsize)overrides->count, making->thread->jvm->known.class_string, NULL);
  for (size_t i = 0; array != NULL && i < overrides->count; i++) {
    jstring name = jvm_string_new(making->thread, overrides->names[i]);
    if (name == NULL)
      return NULL;
    (*env)->SetObjectArrayElement(env, array, (jsize)i, name);
    if ((*env)->ExceptionCheck(env))
      return NULL;
    (*env)->DeleteLocalRef(env, name);
  }
  return array;
}

static bool make_object(struct making *making)
{
  JNIEnv *env = making->env;
  const struct jvm_callback_ids *ids = &making->thread->jvm->callback;
  jobjectArray interfaces = make_interfaces(making);
  jobjectArray overrides = interfaces == NULL ? NULL : make_overrides(making);
  if (overrides == NULL)
    return false;
  const struct declared_function *function = &making->kind->form.function;
  jclass context = function->needs_context ? function->context->ref : NULL;
  jobject object =
      (*env)->CallStaticObjectMethod(env, ids->kind_class, ids->make_kind, interfaces, overrides, context);
  if ((*env)->ExceptionCheck(env))
    return false;
  making->object = object;
  return true;
}

static struct jvm_method *find_by_id(struct jvm_method *methods, size_t count, jmethodID id)
{
  for (size_t i = 0; i < count; i++)
    if (methods[i].id == id)
      return &methods[i];
  return NULL;
}

/* The method-table row of a java.lang.reflect.Method; NULL: memory is short, or an exception is pending. */
static struct jvm_method *find_method(struct making *making, jobject reflected)
{
  struct jvm_thread *thread = making->thread;
  jmethodID id = (*making->env)->FromReflectedMethod(making->env, reflected);
  jclass declaring;
  if (id == NULL ||
      (*thread->jvmti)->GetMethodDeclaringClass(thread->jvmti, id, &declaring) != JVMTI_ERROR_NONE)
    return NULL;
  struct jvm_class *owner = jvm_class_of(thread, declaring);
  (*making->env)->DeleteLocalRef(making->env, declaring);
  const struct member_table *table = owner == NULL ? NULL : member_table_of(thread, owner);
  if (table == NULL)
    return NULL;
  struct jvm_method *method = find_by_id(table->methods, table->method_count, id);
  return method != NULL ? method : find_by_id(table->hidden, table->hidden_count, id);
}

static struct text describe_type(struct arena *arena, const struct jvm_type *type)
{
  struct op_type parsed;
  if (type->kind != 'L')
    return primitive_keyword(type->kind);
  if (type->name.data[0] == '[' && op_type_parse_argument(type->name, &parsed, NULL) == JP_OK)
    return op_type_source_name(&parsed, arena);
  return type->name;
}

static bool describe_method(struct making *making, struct callback_method *row)
{
  struct arena *arena = &making->kind->memory;
  const struct jvm_method *method = row->method;
  struct text *parameters = arena_calloc(arena, method->param_count, sizeof *parameters);
  if (parameters == NULL)
    return false;
  for (size_t i = 0; i < method->param_count; i++) {
    parameters[i] = describe_type(arena, &method->params[i]);
    /* Loaded now, so that a call needs no loader. */
    if (method->params[i].kind == 'L' && jvm_type_class(making->thread, &method->params[i]) == NULL)
      return false;
  }
  row->description = (struct jvm_callback_method){.interface = method->owner->name,
                                                  .name = method->name,
                                                  .parameters = parameters,
                                                  .parameter_count = method->param_count,
                                                  .is_void = method->result.kind == 'V'};
  return true;
}

static bool set_result(struct making *making, struct callback_method *row, jclass resolved)
{
  row->result = (struct jvm_type){.kind = row->method->result.kind, .name = row->method->result.name};
  if (row->result.kind != 'L')
    return true;
  struct jvm_class *class = jvm_class_of(making->thread, resolved);
  if (class == NULL)
    return false;
  row->result.name = class->name;
  row->result.unboxed = class->unboxed;
  atomic_store_explicit(&row->result.class, class, memory_order_relaxed);
  return true;
}

/* Sets the result type that the signature and the parameter's declaration give. */
static void declare_result(struct making *making, struct callback_method *row)
{
  struct jvm_thread *thread = making->thread;
  const struct declared_function *function = &making->kind->form.function;
  if (row->result.kind != 'L')
    return;
  struct arena reading;
  arena_init(&reading);
  const struct element_types *declared =
      element_types_of_result(thread, row->method, row->given, function, &reading);
  row->declared = declared == NULL ? NULL : element_types_copy(declared, &making->kind->memory);
  arena_fini(&reading);
  element_types_load(thread, row->declared);
  if (row->declared == NULL || row->declared->self.kind == 0)
    return;
  struct jvm_class *erased = jvm_type_class(thread, &row->result);
  struct jvm_class *class = jvm_type_class(thread, (struct jvm_type *)&row->declared->self);
  if (class == NULL || erased == NULL || !jvm_class_is_assignable(thread, class, erased))
    return;
  row->result = (struct jvm_type){.kind = 'L', .unboxed = class->unboxed, .name = class->name};
  atomic_store_explicit(&row->result.class, class, memory_order_relaxed);
}

/* The first of the interfaces that has the method. */
static struct jvm_class *find_given(struct making *making, const struct jvm_method *method)
{
  const struct callback_form *form = &making->kind->form;
  size_t i = 0;
  while (i + 1 < form->interface_count &&
         !jvm_class_is_assignable(making->thread, form->interfaces[i], method->owner))
    i++;
  return form->interfaces[i];
}

static bool fill_methods(struct making *making)
{
  JNIEnv *env = making->env;
  const struct jvm_callback_ids *ids = &making->thread->jvm->callback;
  struct callback_kind *kind = making->kind;
  jobjectArray methods = (*env)->GetObjectField(env, making->object, ids->methods);
  jobjectArray results = (*env)->GetObjectField(env, making->object, ids->results);
  jbooleanArray sent = (*env)->GetObjectField(env, making->object, ids->sent);
  kind->method_count = (size_t)(*env)->GetArrayLength(env, methods);
  kind->methods = arena_calloc(&kind->memory, kind->method_count, sizeof *kind->methods);
  bool is_filled = kind->methods != NULL;
  for (size_t i = 0; is_filled && i < kind->method_count; i++) {
    jobject method = (*env)->GetObjectArrayElement(env, methods, (jsize)i);
    jclass result = (*env)->GetObjectArrayElement(env, results, (jsize)i);
    jboolean is_sent;
    (*env)->GetBooleanArrayRegion(env, sent, (jsize)i, 1, &is_sent);
    kind->methods[i].is_sent = is_sent != JNI_FALSE;
    struct callback_method *row = &kind->methods[i];
    row->method = find_method(making, method);
    is_filled = row->method != NULL;
    if (is_filled) {
      row->given = find_given(making, row->method);
      is_filled = describe_method(making, row) && set_result(making, row, result);
      if (is_filled)
        declare_result(making, row);
    }
    (*env)->DeleteLocalRef(env, result);
    (*env)->DeleteLocalRef(env, method);
  }
  return is_filled;
}

static struct callback_kind *new_kind(const struct callback_form *form)
{
  struct callback_kind *kind = calloc(1, sizeof *kind);
  if (kind == NULL)
    return NULL;
  kind->holders = 1;
  arena_init(&kind->memory);
  size_t count = form->interface_count;
  struct jvm_class **interfaces = arena_calloc(&kind->memory, count, sizeof(struct jvm_class *));
  struct text *names = arena_calloc(&kind->memory, form->overrides.count, sizeof *names);
  bool is_copied = interfaces != NULL && names != NULL &&
                   declared_function_copy(&form->function, &kind->memory, &kind->form.function);
  for (size_t i = 0; is_copied && i < form->overrides.count; i++) {
    names[i] = arena_text(&kind->memory, form->overrides.names[i]);
    is_copied = names[i].data != NULL;
  }
  if (!is_copied) {
    arena_fini(&kind->memory);
    free(kind);
    return NULL;
  }
  memcpy(interfaces, form->interfaces, count * sizeof(struct jvm_class *));
  kind->form.interfaces = interfaces;
  kind->form.interface_count = count;
  kind->form.overrides = (struct callback_overrides){names, form->overrides.count};
  return kind;
}

/* The message of CallbackKind's IllegalArgumentException describes the fault of the interfaces. */
static enum jp_status explain_failure(struct jvm_thread *thread, struct jp_error *error)
{
  JNIEnv *env = thread->env;
  jthrowable thrown = throwable_catch(env);
  if (thrown == NULL)
    return jp_fail_memory(error, NULL);
  enum jp_status status = JP_JAVA;
  if ((*env)->IsInstanceOf(env, thrown, thread->jvm->known.class_illegal_argument_exception))
    status = callback_explain_refusal(thread, thrown, error);
  else
    (*env)->Throw(env, thrown);
  (*env)->DeleteLocalRef(env, thrown);
  return status;
}

enum jp_status callback_explain_refusal(struct jvm_thread *thread, jthrowable thrown, struct jp_error *error)
{
  struct arena arena;
  arena_init(&arena);
  const struct outcome_throwable *described = throwable_describe(thread, thrown, &arena, 0);
  enum jp_status status = described == NULL || described->message.data == NULL
                              ? jp_fail(error, JP_INVALID, "no proxy can be made")
                              : jp_fail(error, JP_INVALID, "%.*s", TEXT_ARGS(described->message));
  arena_fini(&arena);
  return status;
}

static enum jp_status make_kind(struct jvm_thread *thread, struct callback_kind *kind, jobject *object,
                                struct jp_error *error)
{
  JNIEnv *env = thread->env;
  struct making making = {.thread = thread, .env = env, .kind = kind};
  *object = NULL;
  if ((*env)->PushLocalFrame(env, KIND_REFERENCES) != 0) {
    (*env)->ExceptionClear(env);
    return jp_fail_memory(error, NULL);
  }
  bool is_made = make_object(&making) && fill_methods(&making);
  if (is_made) {
    const struct callback_form *form = &kind->form;
    kind->is_weak = form->function.needs_context && !form->function.context->permanent;
    for (size_t i = 0; i < form->interface_count; i++)
      kind->is_weak = kind->is_weak || !form->interfaces[i]->permanent;
    kind->object = kind->is_weak ? (*env)->NewWeakGlobalRef(env, making.object)
                                 : (*env)->NewGlobalRef(env, making.object);
    is_made = kind->object != NULL;
  }
  *object = (*env)->PopLocalFrame(env, is_made ? making.object : NULL);
  return is_made ? JP_OK : explain_failure(thread, error);
}

/* Makes a local reference to the Java object of a kind from the list. NULL: the object was collected, and the list
 * and the caller have released the kind; or memory is short, with the same end. */
static jobject use_kept(JNIEnv *env, struct callback_kind *kind)
{
  jobject object = (*env)->NewLocalRef(env, kind->object);
  if (object == NULL) {
    forget_kind(kind);
    callback_kind_release(env, kind);
  }
  return object;
}

/* Adds the new kind to the list. If the list already has a kind of the same form, *kind becomes that kind. */
static void settle_kind(JNIEnv *env, struct callback_kind **kind, jobject *object)
{
  struct callback_kind *other;
  while ((other = keep_kind(env, *kind)) != NULL) {
    jobject of_other = use_kept(env, other);
    if (of_other == NULL)
      continue;
    (*env)->DeleteLocalRef(env, *object);
    callback_kind_release(env, *kind);
    *object = of_other;
    *kind = other;
    return;
  }
}

enum jp_status callback_kind_find(struct jvm_thread *thread, const struct callback_form *form,
                                  struct callback_kind **kind, jobject *object, struct jp_error *error)
{
  JNIEnv *env = thread->env;
  *kind = find_kept(form);
  if (*kind != NULL && (*object = use_kept(env, *kind)) != NULL)
    return JP_OK;
  *kind = new_kind(form);
  if (*kind == NULL)
    return jp_fail_memory(error, NULL);
  enum jp_status status = make_kind(thread, *kind, object, error);
  if (status == JP_OK) {
    settle_kind(env, kind, object);
    return JP_OK;
  }
  jthrowable pending = throwable_catch(env);
  callback_kind_release(env, *kind);
  if (pending != NULL)
    (*env)->Throw(env, pending);
  (*env)->DeleteLocalRef(env, pending);
  *kind = NULL;
  return status;
}

/* ---- functional interfaces ---- */

/* jvm_class.function is FUNCTION_ASKED plus the result of CallbackKind.functionOf: twice the number of parameters, plus
 * 1 if the function is void, or negative if there is no function. 0: functionOf was not called yet. */
enum { FUNCTION_ASKED = 2, ACC_ABSTRACT = 0x0400 };

/* True if the interface itself declares abstract methods with two names, apart from those that Object has. functionOf
 * would find that out by reflection, which loads all classes that the methods name. */
static bool declares_two_functions(struct jvm_thread *thread, struct jvm_class *interface)
{
  static const struct text of_object[] = {TEXT("equals"), TEXT("hashCode"), TEXT("toString")};
  const struct member_table *table = interface->is_interface ? member_table_of(thread, interface) : NULL;
  struct text first = TEXT_ABSENT;
  (void)throwable_take(thread, NULL); /* it cannot be linked */
  for (size_t i = 0; table != NULL && i < table->method_count; i++) {
    struct text name = table->methods[i].name;
    bool counts = (table->methods[i].modifiers & ACC_ABSTRACT) != 0;
    for (size_t at = 0; counts && at < sizeof of_object / sizeof *of_object; at++)
      counts = !text_equal(name, of_object[at]);
    if (counts && first.data != NULL && !text_equal(name, first))
      return true;
    if (counts)
      first = name;
  }
  return false;
}

static int find_function(struct jvm_thread *thread, struct jvm_class *interface)
{
  int known = atomic_load_explicit(&interface->function, memory_order_relaxed);
  if (known != 0)
    return known - FUNCTION_ASKED;
  if (declares_two_functions(thread, interface)) {
    atomic_store_explicit(&interface->function, CALLBACK_NO_FUNCTION + FUNCTION_ASKED, memory_order_relaxed);
    return CALLBACK_NO_FUNCTION;
  }
  JNIEnv *env = thread->env;
  const struct jvm_callback_ids *ids = &thread->jvm->callback;
  jint arity = (*env)->CallStaticIntMethod(env, ids->kind_class, ids->function_of, interface->ref);
  if (throwable_take(thread, NULL)) /* memory is short: retried next time */
    return CALLBACK_NO_FUNCTION;
  atomic_store_explicit(&interface->function, arity + FUNCTION_ASKED, memory_order_relaxed);
  return arity;
}

int callback_function_arity(struct jvm_thread *thread, struct jvm_class *interface)
{
  int function = find_function(thread, interface);
  return function < 0 ? CALLBACK_NO_FUNCTION : function / 2;
}

bool callback_function_is_void(struct jvm_thread *thread, struct jvm_class *interface)
{
  int function = find_function(thread, interface);
  return function >= 0 && function % 2 == 1;
}

struct text callback_function_name(struct jvm_thread *thread, struct jvm_class *interface,
                                   struct arena *arena)
{
  JNIEnv *env = thread->env;
  const struct jvm_callback_ids *ids = &thread->jvm->callback;
  jstring name = (*env)->CallStaticObjectMethod(env, ids->kind_class, ids->function_name_of, interface->ref);
  if (throwable_take(thread, NULL) || name == NULL)
    return TEXT_ABSENT;
  struct text text = jvm_string_get(thread, name, arena);
  (*env)->DeleteLocalRef(env, name);
  return text;
}
