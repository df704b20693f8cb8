/* Objects of the client that Java sees as interfaces: the proxy of an OP_CALLBACK. */
#include "jni/convert/arguments.h"
#include "jni/proxies/proxies.h"
#include "jni/runtime/throwables.h"
#include "judge/judge.h"

#include <stdlib.h>
#include <string.h>

enum { PROXY_REFERENCES = 16 }; /* besides one of each interface */

/* One OP_CALLBACK on its way to its proxy. */
struct giving {
  struct conversion *conversion;
  JNIEnv *env;
  const struct jvm_callback_hooks *hooks;
  struct rpc_callbacks *callbacks;
  const struct op_value *value;
  struct jvm_class **interfaces; /* held by the frame of references that is open */
  size_t count;
};

/* ---- its interfaces ---- */

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

/* Interfaces are a set: in one order, so that there is one class of proxies for them. No loader sees two of one name. */
static bool find_interfaces(struct giving *giving, struct jvm_class *class)
{
  const struct op_callback *callback = giving->value->callback;
  size_t count = callback->interface_count == 0 ? 1 : callback->interface_count;
  giving->interfaces = arena_calloc(giving->conversion->request->arena, count, sizeof(struct jvm_class *));
  if (giving->interfaces == NULL)
    return argument_fail_memory(giving->conversion);
  if (callback->interface_count == 0)
    return take_class(giving, class);
  for (size_t i = 0; i < count; i++)
    if (!find_interface(giving, callback->interfaces[i]))
      return false;
  qsort(giving->interfaces, count, sizeof(struct jvm_class *), compare_names);
  return true;
}

/* ---- what the policy says ---- */

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

/* ---- its proxy ---- */

static struct callback_overrides list_overrides(const struct giving *giving)
{
  const struct op_callback *callback = giving->value->callback;
  return (struct callback_overrides){callback->overrides, callback->override_count};
}

static bool check_options(struct giving *giving, const struct callback_proxy *proxy)
{
  const struct op_callback *callback = giving->value->callback;
  bool is_same = proxy->given.is_oneway == callback->is_oneway && proxy->given.borrows == callback->borrows &&
                 proxy->given.tells_origin == callback->tells_origin &&
                 callback_kind_has_overrides(proxy->kind, list_overrides(giving));
  return is_same ||
         argument_fail(giving->conversion, giving->value,
                       "Java has this object already, with another oneway, borrow, origin or overrides");
}

/* The same ID is the same object while that lives. */
static bool check_interfaces(struct giving *giving, const struct callback_proxy *proxy, jobject object)
{
  for (size_t i = 0; i < giving->count; i++)
    if (!(*giving->env)->IsInstanceOf(giving->env, object, giving->interfaces[i]->ref))
      return argument_fail(
          giving->conversion, giving->value, "Java has this object as a %.*s, which is no %.*s",
          TEXT_ARGS(proxy->kind->interfaces[0]->name), TEXT_ARGS(giving->interfaces[i]->name));
  return true;
}

/* False: the outcome tells why. *out stays NULL where the proxy was collected. */
static bool use_proxy(struct giving *giving, uint64_t number, jobject *out)
{
  jobject handler;
  struct callback_proxy *proxy = callback_proxy_find(giving->env, number, &handler);
  if (proxy == NULL)
    return true;
  jobject object = callback_proxy_object(giving->env, giving->conversion->thread->jvm, handler);
  bool is_right =
      check_interfaces(giving, proxy, object) && check_options(giving, proxy) && allow_proxy(giving, proxy);
  if (is_right)
    *out = object;
  (*giving->env)->DeleteLocalRef(giving->env, handler);
  callback_proxy_release(giving->env, proxy);
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

/* Makes a proxy in the place of `before`. *out stays NULL where another thread was quicker. */
static bool make_proxy(struct giving *giving, struct callback_kind *kind, jobject kind_object,
                       uint64_t before, uint64_t *number, jobject *out)
{
  const struct op_callback *callback = giving->value->callback;
  const struct jvm_callback_given given = {.id = callback->id,
                                           .is_oneway = callback->is_oneway,
                                           .borrows = callback->borrows,
                                           .tells_origin = callback->tells_origin};
  struct callback_proxy *proxy = NULL;
  jobject handler = NULL;
  struct jp_error error;
  enum jp_status status =
      callback_proxy_make(giving->conversion->request, &given, kind, kind_object, &proxy, &handler, &error);
  if (status != JP_OK)
    return fail_to_make(giving, status, &error);
  *number = giving->hooks->made(giving->callbacks, callback->id, proxy->number, before);
  if (*number == 0) {
    callback_proxy_settle(proxy);
    *out = callback_proxy_object(giving->env, giving->conversion->thread->jvm, handler);
  } else {
    callback_proxy_forget(proxy);
  }
  (*giving->env)->DeleteLocalRef(giving->env, handler);
  callback_proxy_release(giving->env, proxy);
  return true;
}

static bool make_first(struct giving *giving, uint64_t number, jobject *out)
{
  struct callback_kind *kind = NULL;
  jobject kind_object = NULL;
  struct jp_error error;
  enum jp_status status = callback_kind_find(giving->conversion->thread, giving->interfaces, giving->count,
                                             list_overrides(giving), &kind, &kind_object, &error);
  if (status != JP_OK)
    return fail_to_make(giving, status, &error);
  bool is_right = allow_kind(giving, kind);
  while (is_right && *out == NULL) {
    uint64_t before = number;
    is_right = make_proxy(giving, kind, kind_object, before, &number, out);
    if (is_right && *out == NULL)
      is_right = use_proxy(giving, number, out);
  }
  callback_kind_release(giving->env, kind);
  return is_right;
}

static bool give_proxy(struct giving *giving, struct jvm_class *class, jobject *out)
{
  if (!find_interfaces(giving, class))
    return false;
  uint64_t number = giving->hooks->find(giving->callbacks, giving->value->callback->id);
  if (number != 0 && !use_proxy(giving, number, out))
    return false;
  return *out != NULL || make_first(giving, number, out);
}

bool argument_make_callback(struct conversion *conversion, struct jvm_class *class,
                            const struct op_value *value, jobject *out)
{
  struct giving giving = {.conversion = conversion,
                          .env = conversion->thread->env,
                          .hooks = conversion->thread->jvm->callback_hooks,
                          .callbacks = conversion->request->callbacks,
                          .value = value};
  JNIEnv *env = giving.env;
  if (giving.callbacks == NULL || giving.hooks == NULL)
    return argument_fail(conversion, value, "Java cannot call this client: callbacks need a WebSocket");
  *out = NULL;
  jint references = PROXY_REFERENCES + (jint)value->callback->interface_count;
  if ((*env)->PushLocalFrame(env, references) != 0)
    return !argument_take(conversion) && argument_fail_memory(conversion);
  bool is_given = give_proxy(&giving, class, out);
  *out = (*env)->PopLocalFrame(env, is_given ? *out : NULL);
  return is_given;
}
