/* Objects of the client that Java uses as interfaces: the proxies of OP_CALLBACK arguments. A callback has
 * one proxy for each set of interfaces and each declared function. */
#include "jni/convert/arguments.h"
#include "jni/proxies/proxies.h"
#include "jni/runtime/throwables.h"
#include "judge/judge.h"

#include <assert.h>
#include <stdlib.h>

enum { PROXY_REFERENCES = 16 }; /* in addition to one reference for each interface */

/* The greatest number of proxies of one ID. These proxies are searched one after the other. */
enum { PROXIES_MAX = 256 };

enum giving_purpose {
  GIVES_CLASS, /* only the class of the proxy is needed, to choose an overload */
  GIVES_OBJECT
};

/* The state of the conversion of one OP_CALLBACK to its proxy. */
struct giving {
  struct conversion *conversion;
  JNIEnv *env;
  const struct jvm_callback_hooks *hooks;
  struct rpc_callbacks *callbacks;
  const struct op_value *value;
  enum giving_purpose purpose;
  struct jvm_class **interfaces; /* kept loaded by the open frame of references */
  size_t count;
  struct declared_function function; /* the function that the parameter declares, if it says more than the
                                      * interfaces */
  bool has_function;                 /* the proxy was made for a parameter with a declared function */
  size_t searched;                   /* number of the ID's proxies that did not match */
};

/* ---- interfaces ---- */

static bool check_arity(struct giving *giving, struct jvm_class *interface)
{
  int wanted = giving->value->callback->arity;
  if (wanted < 0 || giving->value->type.data != NULL)
    return true;
  int arity = callback_function_arity(giving->conversion->thread, interface);
  return arity == CALLBACK_NO_FUNCTION || arity == wanted ||
         argument_fail(giving->conversion, giving->value, "the function of %.*s has %d parameters, not %d",
                       TEXT_ARGS(interface->name), arity, wanted);
}

static bool take_class(struct giving *giving, struct jvm_class *class)
{
  if (!class->is_interface)
    return argument_fail(giving->conversion, giving->value,
                         "a callback is seen as an interface, and %.*s is none: give it a type or interfaces",
                         TEXT_ARGS(class->name));
  giving->interfaces[giving->count++] = class;
  return check_arity(giving, class);
}

static bool find_interface(struct giving *giving, struct text name)
{
  struct conversion *conversion = giving->conversion;
  struct op_type type;
  struct class_finding finding;
  if (!argument_parse_type(conversion, name, &type) || !argument_ask_type(conversion, &type, giving->value))
    return false;
  struct jvm_class *class = argument_declared_class(conversion, &type, NULL, &finding);
  if (class == NULL)
    return false;
  giving->interfaces[giving->count++] = class;
  return true;
}

static int compare_names(const void *one, const void *other)
{
  return text_order((*(struct jvm_class *const *)one)->name, (*(struct jvm_class *const *)other)->name);
}

/* Sorted, so that each set of interfaces has one class of proxies. The names are unique in one loader. */
static bool find_interfaces(struct giving *giving, struct jvm_class *class)
{
  const struct op_callback *callback = giving->value->callback;
  size_t count = callback->interface_count == 0 ? 1 : callback->interface_count;
  giving->interfaces = arena_calloc(giving->conversion->request->arena, count, sizeof(struct jvm_class *));
  if (giving->interfaces == NULL)
    return argument_fail_memory(giving->conversion);
  assert(class != NULL || callback->interface_count > 0);
  if (callback->interface_count == 0)
    return take_class(giving, class);
  for (size_t i = 0; i < count; i++)
    if (!find_interface(giving, callback->interfaces[i]))
      return false;
  qsort(giving->interfaces, count, sizeof(struct jvm_class *), compare_names);
  return true;
}

/* ---- policy ---- */

static bool allow_kind(struct giving *giving, const struct callback_kind *kind)
{
  const struct conversion *conversion = giving->conversion;
  for (size_t i = 0; i < kind->method_count; i++) {
    const struct callback_method *row = &kind->methods[i];
    const struct judged_member method = {.kind = OP_MEMBER_METHOD,
                                         .modifiers = row->method->modifiers,
                                         .named_class = row->given->name,
                                         .declaring_class = row->method->owner->name,
                                         .member = row->method->name};
    if (row->is_sent && judge_callback(conversion->request->judge, &method, conversion->request->arena,
                                       conversion->outcome) != JP_OK)
      return false;
  }
  return true;
}

static bool allow_proxy(struct giving *giving, struct callback_proxy *proxy)
{
  uint64_t stamp = judge_stamp(giving->conversion->request->judge);
  if (atomic_load_explicit(&proxy->allowed_stamp, memory_order_relaxed) == stamp)
    return true;
  if (!allow_kind(giving, proxy->kind))
    return false;
  atomic_store_explicit(&proxy->allowed_stamp, stamp, memory_order_relaxed);
  return true;
}

/* ---- the proxy ---- */

static struct callback_form make_form(const struct giving *giving)
{
  const struct op_callback *callback = giving->value->callback;
  return (struct callback_form){.interfaces = giving->interfaces,
                                .interface_count = giving->count,
                                .overrides = {callback->overrides, callback->override_count},
                                .function = giving->function};
}

static bool check_options(struct giving *giving, const struct callback_proxy *proxy)
{
  const struct op_callback *callback = giving->value->callback;
  const struct callback_form form = make_form(giving);
  bool is_same = proxy->given.is_oneway == callback->is_oneway && proxy->given.borrows == callback->borrows &&
                 proxy->given.sends_origin == callback->sends_origin &&
                 callback_kind_has_overrides(proxy->kind, &form);
  return is_same ||
         argument_fail(giving->conversion, giving->value,
                       "Java has this object already, with another oneway, borrow, origin or overrides");
}

/* While an overload is being chosen, only the proxy's class matters, and the declared function does not
 * change the class. */
static bool has_form(const struct giving *giving, const struct callback_kind *kind)
{
  const struct callback_form form = make_form(giving);
  return callback_kind_has_interfaces(kind, &form) &&
         (giving->purpose == GIVES_CLASS || callback_kind_has_function(kind, &form));
}

/* False: the outcome says why. *out remains NULL if the proxy was collected or does not match. */
static bool use_proxy(struct giving *giving, uint64_t number, jobject *out)
{
  jobject handler;
  struct callback_proxy *proxy = callback_proxy_find(giving->env, number, &handler);
  if (proxy == NULL)
    return true;
  bool is_same = has_form(giving, proxy->kind);
  bool is_right = !is_same || (check_options(giving, proxy) && allow_proxy(giving, proxy));
  giving->has_function = proxy->kind->form.function.interface != NULL;
  if (is_same && is_right)
    *out = callback_proxy_object(giving->env, giving->conversion->thread->jvm, handler);
  (*giving->env)->DeleteLocalRef(giving->env, handler);
  callback_proxy_release(giving->env, proxy);
  return is_right;
}

/* Searches the ID's proxies. *newest becomes the newest proxy's number. False: the outcome says why. */
static bool find_proxy(struct giving *giving, uint64_t *newest, jobject *out)
{
  int64_t id = giving->value->callback->id;
  bool is_right = true;
  giving->searched = 0;
  *newest = giving->hooks->find(giving->callbacks, id, UINT64_MAX);
  for (uint64_t number = *newest; is_right && *out == NULL && number != 0;
       number = giving->hooks->find(giving->callbacks, id, number)) {
    is_right = use_proxy(giving, number, out);
    giving->searched++;
  }
  return is_right;
}

static bool fail_to_make(struct giving *giving, enum jp_status status, const struct jp_error *error)
{
  if (status == JP_INVALID)
    return argument_fail(giving->conversion, giving->value, "%s", error->text);
  if (status == JP_LIMIT) {
    outcome_fail(giving->conversion->outcome, giving->conversion->request->arena, FAILURE_SERVER, NULL, "%s",
                 error->text);
    return false;
  }
  return status == JP_JAVA && argument_take(giving->conversion) ? false
                                                                : argument_fail_memory(giving->conversion);
}

/* Makes a proxy of the ID, whose newest proxy was `newest`. *out remains NULL if another thread has made a
 * proxy first. */
static bool make_proxy(struct giving *giving, struct callback_kind *kind, jobject kind_object,
                       uint64_t newest, jobject *out)
{
  const struct op_callback *callback = giving->value->callback;
  const struct jvm_callback_given given = {.id = callback->id,
                                           .is_oneway = callback->is_oneway,
                                           .borrows = callback->borrows,
                                           .sends_origin = callback->sends_origin};
  struct callback_proxy *proxy = NULL;
  jobject handler = NULL;
  struct jp_error error;
  enum jp_status status =
      callback_proxy_make(giving->conversion->request, &given, kind, kind_object, &proxy, &handler, &error);
  if (status != JP_OK)
    return fail_to_make(giving, status, &error);
  bool is_taken = false;
  status = giving->hooks->made(giving->callbacks, callback->id, proxy->number, newest, &is_taken);
  if (is_taken) {
    callback_proxy_settle(proxy);
    *out = callback_proxy_object(giving->env, giving->conversion->thread->jvm, handler);
  } else {
    callback_proxy_forget(proxy);
  }
  (*giving->env)->DeleteLocalRef(giving->env, handler);
  callback_proxy_release(giving->env, proxy);
  return status == JP_OK || argument_fail_memory(giving->conversion);
}

static bool make_first(struct giving *giving, uint64_t newest, jobject *out)
{
  const struct callback_form form = make_form(giving);
  giving->has_function = form.function.interface != NULL;
  struct callback_kind *kind = NULL;
  jobject kind_object = NULL;
  struct jp_error error;
  if (giving->searched >= PROXIES_MAX)
    return fail_to_make(giving,
                        jp_fail(&error, JP_LIMIT,
                                "the limit of %d objects in Java of one callback is reached: each set of "
                                "interfaces or type arguments is another object",
                                (int)PROXIES_MAX),
                        &error);
  enum jp_status status = callback_kind_find(giving->conversion->thread, &form, &kind, &kind_object, &error);
  if (status != JP_OK)
    return fail_to_make(giving, status, &error);
  bool is_right = allow_kind(giving, kind);
  while (is_right && *out == NULL) {
    is_right = make_proxy(giving, kind, kind_object, newest, out);
    if (is_right && *out == NULL)
      is_right = find_proxy(giving, &newest, out);
  }
  callback_kind_release(giving->env, kind);
  return is_right;
}

/* Sets giving->function if the parameter's declaration is more specific than the interfaces. */
static void take_function(struct giving *giving)
{
  struct conversion *conversion = giving->conversion;
  if (giving->purpose == GIVES_CLASS || conversion->elements == NULL ||
      conversion->elements->function.interface == NULL)
    return;
  for (size_t i = 0; i < giving->count; i++) {
    if (!declared_function_adds_nothing(conversion->thread, giving->interfaces[i],
                                        &conversion->elements->function, conversion->request->arena))
      giving->function = conversion->elements->function;
  }
}

static bool give_proxy(struct giving *giving, struct jvm_class *class, jobject *out)
{
  uint64_t newest;
  if (!find_interfaces(giving, class))
    return false;
  take_function(giving);
  return find_proxy(giving, &newest, out) && (*out != NULL || make_first(giving, newest, out));
}

static struct giving begin_giving(struct conversion *conversion, const struct op_value *value,
                                  enum giving_purpose purpose)
{
  return (struct giving){.conversion = conversion,
                         .env = conversion->thread->env,
                         .hooks = conversion->thread->jvm->callback_hooks,
                         .callbacks = conversion->request->callbacks,
                         .value = value,
                         .purpose = purpose};
}

static bool make_callback(struct giving *giving, struct jvm_class *class, jobject *out)
{
  struct conversion *conversion = giving->conversion;
  const struct op_value *value = giving->value;
  JNIEnv *env = giving->env;
  if (giving->callbacks == NULL || giving->hooks == NULL)
    return argument_fail(conversion, value, "Java cannot call this client: callbacks need a WebSocket");
  *out = NULL;
  jint references = PROXY_REFERENCES + (jint)value->callback->interface_count;
  if ((*env)->PushLocalFrame(env, references) != 0)
    return !argument_take(conversion) && argument_fail_memory(conversion);
  bool is_given = give_proxy(giving, class, out);
  *out = (*env)->PopLocalFrame(env, is_given ? *out : NULL);
  return is_given;
}

bool argument_make_callback(struct conversion *conversion, struct jvm_class *class,
                            const struct op_value *value, jobject *out)
{
  struct giving giving = begin_giving(conversion, value, GIVES_OBJECT);
  return make_callback(&giving, class, out);
}

bool argument_type_callback(struct conversion *conversion, const struct op_value *value, jobject *out,
                            bool *has_function)
{
  struct giving giving = begin_giving(conversion, value, GIVES_CLASS);
  bool is_given = make_callback(&giving, NULL, out);
  *has_function = giving.has_function;
  return is_given;
}
