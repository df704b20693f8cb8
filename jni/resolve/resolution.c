/*
 * Resolves an operation that is not in the cache: the types of its arguments, the members with the name, the
 * choice among them, and the error texts.
 */
#include "jni/resolve/resolution.h"

#include "base/primitives.h"
#include "jni/convert/judgement.h"
#include "jni/proxies/kinds.h"
#include "jni/resolve/overload.h"
#include "jni/runtime/throwables.h"
#include "judge/judge.h"

#include <stdlib.h>

/* Limits of a list in a message: elements, bytes, and the bytes of one type. */
enum { LISTED = 16, LISTED_BYTES = 2048, TYPE_SHOWN = 128 };

enum { ACC_NATIVE = 0x0100, ACC_ABSTRACT = 0x0400 };

/* The methods of one name, without those that another method in the list overrides or hides. */
struct candidates {
  struct resolution *resolution;
  struct jvm_method **methods;
  size_t count;
  size_t capacity;
  bool private_too;        /* includes private methods of superclasses */
  bool is_judged;          /* excludes private methods that the policy denies, as if they did not exist */
  bool has_hidden;         /* a method was excluded in favour of another with the same parameters */
  struct jvm_class **seen; /* interfaces that were visited */
  size_t seen_count;
  size_t seen_capacity;
};

/* ---- classes ---- */

/* NULL: the outcome says why. */
static const struct member_table *find_members(struct resolution *resolution, struct jvm_class *class)
{
  const struct member_table *members = member_table_of(resolution->conversion.thread, class);
  if (members == NULL && !argument_take(&resolution->conversion))
    argument_fail_memory(&resolution->conversion);
  return members;
}

/* Searches by name only among the object's own classes, because another loader may have a class of the same
 * name. */
struct jvm_class *resolution_find_ancestor(struct resolution *resolution, struct jvm_class *class,
                                           struct text name)
{
  if (text_equal(class->name, name))
    return class;
  const struct member_table *members = member_table_of(resolution->conversion.thread, class);
  if (members == NULL) {
    (void)throwable_take(resolution->conversion.thread, NULL);
    return NULL;
  }
  struct jvm_class *found =
      members->super == NULL ? NULL : resolution_find_ancestor(resolution, members->super, name);
  for (size_t i = 0; found == NULL && i < members->interface_count; i++)
    found = resolution_find_ancestor(resolution, members->interfaces[i], name);
  return found;
}

/* ---- the types of the arguments: declared, inferred, or the class of a ref ---- */

static bool type_reference(struct resolution *resolution, struct jvm_class *class, size_t at)
{
  if (class == NULL)
    return argument_take(&resolution->conversion) ? false : argument_fail_memory(&resolution->conversion);
  struct jvm_type *type = arena_calloc(resolution->arena, 1, sizeof *type);
  if (type == NULL)
    return argument_fail_memory(&resolution->conversion);
  *type = (struct jvm_type){.kind = 'L', .unboxed = class->unboxed, .name = class->name};
  atomic_store_explicit(&type->class, class, memory_order_relaxed);
  resolution->arguments[at].type =
      (struct overload_type){.kind = 'L', .unboxed = class->unboxed, .handle = type};
  resolution->plans[at].from = 'L';
  resolution->plans[at].from_class = class;
  return true;
}

static bool type_primitive(struct resolution *resolution, char letter, size_t at)
{
  resolution->arguments[at].type = (struct overload_type){.kind = letter};
  resolution->plans[at].from = letter;
  return true;
}

/* With --compat pal a binary result that is a primitive has a ref, and clients send this ref back as an
 * argument. The overload is then chosen by the primitive type, and the argument is converted from the wrapper
 * object. */
static bool type_boxed(struct resolution *resolution, const struct op_type *type,
                       const struct op_value *value, size_t at)
{
  struct conversion *conversion = &resolution->conversion;
  struct jvm_class *given = jvm_class_by_id(conversion->thread, conversion->frame->classes[at]);
  if (given == NULL || given->unboxed != type->base)
    return argument_fail(conversion, value, "an object is no %.*s", TEXT_ARGS(type->name));
  if (!type_reference(resolution, given, at))
    return false;
  resolution->arguments[at].type = (struct overload_type){.kind = type->base};
  return true;
}

static bool type_declared(struct resolution *resolution, const struct op_value *value, size_t at)
{
  struct conversion *conversion = &resolution->conversion;
  struct op_type type;
  if (!argument_parse_type(conversion, value->type, &type))
    return false;
  if (!argument_ask_type(conversion, &type, value))
    return false;
  bool is_primitive = type.dimensions == 0 && type.base != 'L';
  if (is_primitive && value->kind == OP_REF)
    return type_boxed(resolution, &type, value, at);
  if (is_primitive)
    return type_primitive(resolution, type.base, at);
  if (value->kind == OP_REF && conversion->loader == NULL) {
    struct jvm_class *given = jvm_class_by_id(conversion->thread, resolution->conversion.frame->classes[at]);
    struct text name = op_type_binary_name(&type, resolution->arena);
    struct jvm_class *found =
        given == NULL || name.data == NULL ? NULL : resolution_find_ancestor(resolution, given, name);
    if (found != NULL)
      return type_reference(resolution, found, at);
  }
  struct class_finding finding;
  struct jvm_class *class = argument_declared_class(conversion, &type, value, &finding);
  if (class == NULL)
    return false;
  /* Only the request's frame keeps the class loaded; a cached member would not keep it loaded. */
  resolution->is_passing = resolution->is_passing || finding.held != NULL;
  return type_reference(resolution, class, at);
}

/* A callback that names its interfaces is typed by its proxy, whose class has all of them. */
static bool type_callback(struct resolution *resolution, const struct op_value *value, size_t at)
{
  struct jvm_thread *thread = resolution->conversion.thread;
  if (value->callback->interface_count == 0) {
    resolution->arguments[at].bare = true;
    resolution->arguments[at].type =
        (struct overload_type){.kind = OVERLOAD_FUNCTION, .handle = (void *)value};
    return true;
  }
  bool has_function;
  if (!argument_type_callback(&resolution->conversion, value, &resolution->conversion.frame->objects[at],
                              &has_function))
    return false;
  resolution->plans[at].is_plain_callback = !has_function;
  resolution->is_passing = true;
  return type_reference(resolution, jvm_class_of_object(thread, resolution->conversion.frame->objects[at]),
                        at);
}

static bool type_inferred(struct resolution *resolution, const struct op_value *value, size_t at)
{
  char letter = op_scalar_infer(value);
  resolution->arguments[at].bare = true;
  if (letter != 0)
    return type_primitive(resolution, letter, at);
  if (value->kind == OP_NULL) {
    resolution->arguments[at].type = (struct overload_type){.kind = 'N'};
    return true;
  }
  return type_reference(resolution, argument_natural_class(resolution->conversion.thread, value), at);
}

bool resolution_type_arguments(struct resolution *resolution)
{
  const struct operation *operation = resolution->operation;
  resolution->arguments =
      arena_calloc(resolution->arena, operation->arg_count, sizeof *resolution->arguments);
  resolution->plans = arena_calloc(resolution->arena, operation->arg_count, sizeof *resolution->plans);
  if (resolution->arguments == NULL || resolution->plans == NULL)
    return argument_fail_memory(&resolution->conversion);
  struct argument_path path = {0};
  resolution->conversion.path = &path;
  bool typed = true;
  for (; typed && path.index < operation->arg_count; path.index++) {
    const struct op_value *value = &operation->args[path.index];
    if (value->kind == OP_CALLBACK && (value->type.data == NULL || value->callback->interface_count > 0))
      typed = type_callback(resolution, value, path.index);
    else if (value->type.data != NULL)
      typed = type_declared(resolution, value, path.index);
    else if (value->kind == OP_REF)
      typed = type_reference(
          resolution,
          jvm_class_by_id(resolution->conversion.thread, resolution->conversion.frame->classes[path.index]),
          path.index);
    else
      typed = type_inferred(resolution, value, path.index);
  }
  resolution->conversion.path = NULL;
  return typed;
}

/* ---- the callbacks of overload resolution ---- */

/* True if the interface's function has as many parameters as the callback, as far as known. */
static bool takes_function(struct resolution *resolution, const struct op_value *value, struct jvm_type *to)
{
  struct jvm_thread *thread = resolution->conversion.thread;
  struct jvm_class *interface = jvm_type_class(thread, to);
  if (interface == NULL || !interface->is_interface)
    return false;
  int arity = callback_function_arity(thread, interface);
  return arity != CALLBACK_NO_FUNCTION && (value->callback->arity < 0 || value->callback->arity == arity);
}

/* The choice of a lambda without parameters. */
static bool is_preferred_function(struct jvm_thread *thread, const struct overload_type *one,
                                  const struct overload_type *other)
{
  struct jvm_class *classes[] = {jvm_type_class(thread, one->handle), jvm_type_class(thread, other->handle)};
  if (classes[0] == NULL || classes[1] == NULL || callback_function_arity(thread, classes[0]) != 0 ||
      callback_function_arity(thread, classes[1]) != 0)
    return false;
  return !callback_function_is_void(thread, classes[0]) && callback_function_is_void(thread, classes[1]);
}

/* True for two arrays of primitives with the same number of dimensions, if the first type of element widens
 * to the second: int[][] and double[][]. */
static bool is_narrower_array(const struct jvm_type *one, const struct jvm_type *other)
{
  size_t last = one->name.len - 1;
  if (one->name.len != other->name.len || one->name.data[0] != '[' || other->name.data[0] != '[' ||
      memcmp(one->name.data, other->name.data, last) != 0)
    return false;
  char letters[] = {one->name.data[last], other->name.data[last]};
  return letters[0] != letters[1] && primitive_widens(letters[0], letters[1]);
}

static bool is_preferred(void *context, size_t argument, const struct overload_type *one,
                         const struct overload_type *other)
{
  struct resolution *resolution = context;
  if (resolution->arguments[argument].type.kind == OVERLOAD_FUNCTION)
    return is_preferred_function(resolution->conversion.thread, one, other);
  return resolution->operation->args[argument].kind == OP_LIST &&
         is_narrower_array(one->handle, other->handle);
}

static bool is_subtype(void *context, const struct overload_type *sub, const struct overload_type *super)
{
  struct resolution *resolution = context;
  struct jvm_thread *thread = resolution->conversion.thread;
  struct jvm_type *to = super->handle;
  if (sub->kind == OVERLOAD_FUNCTION)
    return takes_function(resolution, sub->handle, to);
  if (text_equal(to->name, TEXT("java.lang.Object")))
    return true;
  struct jvm_class *sub_class = jvm_type_class(thread, sub->handle);
  struct jvm_class *super_class = jvm_type_class(thread, to);
  return sub_class != NULL && super_class != NULL && jvm_class_is_assignable(thread, sub_class, super_class);
}

static struct overload_type box_type(void *context, char primitive)
{
  static struct jvm_type types[] = {
#define ROW(letter, member, keyword, type, Word, box, Wrapper, ...)                                          \
  {.kind = 'L', .unboxed = letter, .name = TEXT("java.lang." #Wrapper)},
      PRIMITIVES(ROW)
#undef ROW
  };
  struct resolution *resolution = context;
  struct jvm_thread *thread = resolution->conversion.thread;
  struct jvm_type *wrapper = types;
  while (wrapper->unboxed != primitive)
    wrapper++;
  if (atomic_load_explicit(&wrapper->class, memory_order_acquire) == NULL) {
    jclass class = jvm_known_wrapper(&thread->jvm->known, primitive);
    atomic_store_explicit(&wrapper->class, jvm_class_of(thread, class), memory_order_release);
  }
  return (struct overload_type){.kind = 'L', .unboxed = primitive, .handle = wrapper};
}

static unsigned ask_cost(void *context, size_t argument, const struct overload_type *type)
{
  struct resolution *resolution = context;
  struct jvm_type primitive = {.kind = type->kind};
  return argument_cost(&resolution->conversion, &resolution->operation->args[argument],
                       type->kind == 'L' ? type->handle : &primitive);
}

static struct overload_hooks make_hooks(struct resolution *resolution)
{
  return (struct overload_hooks){.context = resolution,
                                 .is_subtype = is_subtype,
                                 .boxed = box_type,
                                 .is_preferred = is_preferred,
                                 .cost = ask_cost};
}

/* ---- lists for messages ---- */

static struct text describe_type(struct resolution *resolution, const struct jvm_type *type)
{
  struct text name = type->kind == 'L' ? type->name : primitive_keyword(type->kind);
  struct op_type parsed;
  if (name.data[0] == '[' && op_type_parse_argument(name, &parsed, NULL) == JP_OK)
    name = op_type_source_name(&parsed, resolution->arena);
  return arena_shorten(resolution->arena, name, TYPE_SHOWN);
}

/* A list for a message, cut at its limits. */
struct listing {
  struct arena *arena;
  struct text text;
  size_t shown;
};

static bool is_full(const struct listing *listing)
{
  return listing->shown == LISTED || listing->text.len > LISTED_BYTES;
}

static void append_element(struct listing *listing, const char *separator, struct text element)
{
  listing->text = arena_printf(listing->arena, "%.*s%s%.*s", TEXT_ARGS(listing->text),
                               listing->shown == 0 ? "" : separator, TEXT_ARGS(element));
  listing->shown++;
}

static struct text end_list(struct listing *listing, const char *separator, size_t count)
{
  if (count == listing->shown)
    return listing->text;
  return arena_printf(listing->arena, "%.*s%sand %zu more", TEXT_ARGS(listing->text), separator,
                      count - listing->shown);
}

static struct text describe_method(struct resolution *resolution, struct jvm_method *method)
{
  struct listing params = {.arena = resolution->arena, .text = TEXT("")};
  for (size_t i = 0; i < method->param_count && !is_full(&params); i++)
    append_element(&params, ", ", describe_type(resolution, &method->params[i]));
  struct text listed = end_list(&params, ", ", method->param_count);
  struct text owner = arena_shorten(resolution->arena, method->owner->name, OUTCOME_NAME_SHOWN);
  struct text name = arena_shorten(resolution->arena, method->name, OUTCOME_NAME_SHOWN);
  bool is_constructor = method->name.data[0] == '<';
  return arena_printf(resolution->arena, "%.*s%s%.*s(%.*s)", TEXT_ARGS(owner), is_constructor ? "" : ".",
                      is_constructor ? 0 : (int)name.len, name.data, TEXT_ARGS(listed));
}

/* "int, java.lang.String": the static types. */
static struct text describe_arguments(struct resolution *resolution)
{
  struct listing types = {.arena = resolution->arena, .text = TEXT("")};
  size_t count = resolution->operation->arg_count;
  for (size_t i = 0; i < count && !is_full(&types); i++) {
    const struct overload_type *type = &resolution->arguments[i].type;
    append_element(&types, ", ",
                   type->kind == 'N'                 ? TEXT("null")
                   : type->kind == OVERLOAD_FUNCTION ? TEXT("callback")
                   : type->kind == 'L'               ? describe_type(resolution, type->handle)
                                                     : primitive_keyword(type->kind));
  }
  return end_list(&types, ", ", count);
}

static struct text describe_candidates(struct resolution *resolution, struct jvm_method *const *methods,
                                       const size_t *indexes, size_t count)
{
  struct listing candidates = {.arena = resolution->arena, .text = TEXT("")};
  for (size_t i = 0; i < count && !is_full(&candidates); i++)
    append_element(&candidates, "; ", describe_method(resolution, methods[indexes == NULL ? i : indexes[i]]));
  return end_list(&candidates, "; ", count);
}

static struct text shorten_name(struct resolution *resolution, struct text name)
{
  return arena_shorten(resolution->arena, name, OUTCOME_NAME_SHOWN);
}

/* "No matching method 'add' found": clients recognise the failure by this text (docs/protocol.md,
 * "Errors"). */
static struct text describe_failure(struct resolution *resolution)
{
  const struct operation *operation = resolution->operation;
  if (operation->kind == OP_NEW)
    return TEXT("No matching constructor found");
  return arena_printf(resolution->arena, "No matching method '%.*s' found",
                      TEXT_ARGS(shorten_name(resolution, operation->member)));
}

/* ---- functions for type variables ---- */

static bool has_function(const struct resolution *resolution)
{
  bool is_found = false;
  for (size_t i = 0; !is_found && i < resolution->operation->arg_count; i++)
    is_found = resolution->arguments[i].type.kind == OVERLOAD_FUNCTION;
  return is_found;
}

/* A function fits only an interface, so a type variable that is bound to an interface is replaced by the
 * interface. */
static void bind_interface(struct resolution *resolution, const struct element_types *declared,
                           struct overload_type *type)
{
  struct jvm_type *self = declared == NULL ? NULL : (struct jvm_type *)&declared->self;
  struct jvm_class *class = self == NULL ? NULL : jvm_type_class(resolution->conversion.thread, self);
  if (class != NULL && class->is_interface)
    type->handle = self;
}

/* ---- the plan of each argument ---- */

static struct overload_type make_overload_type(struct jvm_type *type)
{
  return (struct overload_type){.kind = type->kind, .unboxed = type->unboxed, .handle = type};
}

/* A bare value that Java's rules do not convert to the parameter is read as the parameter's type. */
static void plan_argument(struct resolution *resolution, size_t at, struct jvm_type *to)
{
  struct overload_hooks hooks = make_hooks(resolution);
  struct overload_type type = make_overload_type(to);
  struct overload_candidate one = {.params = &type, .count = 1};
  struct overload_argument argument = resolution->arguments[at];
  struct overload_choice choice;
  struct argument_plan *plan = &resolution->plans[at];
  bool is_bare = argument.bare;
  argument.bare = false;
  plan->to = to;
  if (is_bare && overload_choose(&hooks, &argument, 1, &one, 1, resolution->arena, &choice) != OVERLOAD_FOUND)
    plan->from = 0;
  plan->is_whole_number = (plan->from == 'I' || plan->from == 'J') && plan->from == to->kind;
  plan->may_declare = to->kind == 'L' && to->unboxed == 0 && !text_equal(to->name, TEXT("java.lang.String"));
}

/* Unless there is only one candidate, a choice by cost depends on values, and the key does not contain
 * values. */
static bool is_cacheable(const struct resolution *resolution, const struct overload_choice *choice,
                         const struct overload_candidate *candidates, size_t count)
{
  if (!choice->by_cost)
    return true;
  if (count != 1 || candidates[0].varargs)
    return false;
  for (size_t i = 0; i < resolution->operation->arg_count; i++) {
    enum op_value_kind kind = resolution->operation->args[i].kind;
    if (resolution->arguments[i].bare && (kind == OP_LIST || kind == OP_MAP))
      return false;
  }
  return true;
}

bool resolution_plan_put(struct resolution *resolution, struct jvm_type *type)
{
  struct overload_hooks hooks = make_hooks(resolution);
  struct overload_type param = make_overload_type(type);
  struct overload_candidate candidate = {.params = &param, .count = 1};
  struct overload_choice choice;
  struct argument_path path = {0};
  const struct resolved_member *member = resolution->conversion.member;
  if (member->field != NULL && type->kind == 'L' && has_function(resolution))
    bind_interface(resolution,
                   element_types_of_field(resolution->conversion.thread, member->field,
                                          resolution->receiver_class, resolution->arena),
                   &param);
  resolution->conversion.path = &path;
  if (overload_choose(&hooks, resolution->arguments, 1, &candidate, 1, resolution->arena, &choice) !=
      OVERLOAD_FOUND)
    return argument_fail(&resolution->conversion, &resolution->operation->args[0],
                         "%.*s does not become %.*s", TEXT_ARGS(describe_arguments(resolution)),
                         TEXT_ARGS(describe_type(resolution, type)));
  resolution->cacheable = is_cacheable(resolution, &choice, &candidate, 1);
  resolution->conversion.member->plans = resolution->plans;
  resolution->conversion.member->plan_count = 1;
  plan_argument(resolution, 0, type);
  return true;
}

/* ---- the methods with the name ---- */

static bool has_same_params(struct jvm_method *a, struct jvm_method *b)
{
  if (a->param_count != b->param_count)
    return false;
  for (size_t i = 0; i < a->param_count; i++)
    if (a->params[i].kind != b->params[i].kind || !text_equal(a->params[i].name, b->params[i].name))
      return false;
  return true;
}

/* Asks the policy about the member as a member of the named class; method is NULL for a field. The object's
 * class is judged after the choice. */
static bool is_allowed(const struct resolution *resolution, enum op_member_kind kind, unsigned modifiers,
                       const struct jvm_class *declaring, struct jvm_method *method)
{
  bool has_lineage = kind == OP_MEMBER_METHOD && resolution->receiver_class != NULL;
  const struct jvm_lineage lineage = {.thread = resolution->conversion.thread,
                                      .arena = resolution->arena,
                                      .method = method,
                                      .named = resolution->named,
                                      .runtime = resolution->receiver_class};
  const struct judged_member member = {.kind = kind,
                                       .modifiers = modifiers,
                                       .named_class = resolution->named->element_name,
                                       .declaring_class = declaring->element_name,
                                       .runtime_class = TEXT_ABSENT,
                                       .member = resolution->operation->member};
  return jvm_judge_allows(resolution->conversion.request->judge, resolution->operation->kind, &member,
                          has_lineage ? &lineage : NULL);
}

static bool is_allowed_method(const struct resolution *resolution, struct jvm_method *method)
{
  bool is_static = (method->modifiers & OP_ACC_STATIC) != 0;
  enum op_member_kind kind = resolution->operation->kind == OP_NEW ? OP_MEMBER_CONSTRUCTOR
                             : is_static                           ? OP_MEMBER_STATIC_METHOD
                                                                   : OP_MEMBER_METHOD;
  return is_allowed(resolution, kind, method->modifiers, method->owner, method);
}

static bool append_method(struct candidates *to, struct jvm_method *method)
{
  to->methods =
      arena_grow(to->resolution->arena, to->methods, to->count, &to->capacity, sizeof(struct jvm_method *));
  if (to->methods == NULL)
    return argument_fail_memory(&to->resolution->conversion);
  to->methods[to->count++] = method;
  return true;
}

static bool add_method(struct candidates *candidates, struct jvm_method *method)
{
  for (size_t i = 0; i < candidates->count; i++) {
    if (has_same_params(candidates->methods[i], method)) {
      candidates->has_hidden = true;
      return true;
    }
  }
  if (candidates->is_judged && (method->modifiers & OP_ACC_PRIVATE) != 0 &&
      !is_allowed_method(candidates->resolution, method))
    return true;
  return append_method(candidates, method);
}

/* A class inherits neither private methods of a superclass nor static and private methods of an interface
 * (JLS 8.4.8). */
static bool is_member(const struct candidates *candidates, const struct jvm_class *named,
                      struct jvm_method *method)
{
  if (method->owner == named)
    return true;
  if (method->owner->is_interface)
    return (method->modifiers & (OP_ACC_STATIC | OP_ACC_PRIVATE)) == 0;
  return candidates->private_too || (method->modifiers & OP_ACC_PRIVATE) == 0;
}

static bool add_declared(struct candidates *candidates, const struct member_table *members)
{
  const struct resolution *resolution = candidates->resolution;
  for (size_t i = 0; i < members->method_count; i++) {
    struct jvm_method *method = &members->methods[i];
    if (text_equal(method->name, resolution->operation->member) &&
        is_member(candidates, resolution->named, method) && !add_method(candidates, method))
      return false;
  }
  return true;
}

static bool is_seen(struct candidates *candidates, struct jvm_class *interface)
{
  for (size_t i = 0; i < candidates->seen_count; i++)
    if (candidates->seen[i] == interface)
      return true;
  candidates->seen = arena_grow(candidates->resolution->arena, candidates->seen, candidates->seen_count,
                                &candidates->seen_capacity, sizeof(struct jvm_class *));
  if (candidates->seen != NULL)
    candidates->seen[candidates->seen_count++] = interface;
  return candidates->seen == NULL;
}

static bool add_interface(struct candidates *candidates, struct jvm_class *interface)
{
  if (is_seen(candidates, interface))
    return true;
  const struct member_table *members = find_members(candidates->resolution, interface);
  if (members == NULL || !add_declared(candidates, members))
    return false;
  for (size_t i = 0; i < members->interface_count; i++)
    if (!add_interface(candidates, members->interfaces[i]))
      return false;
  return true;
}

/* Superclasses first, so that the methods of a class hide those that its interfaces declare. */
static bool add_members(struct candidates *candidates)
{
  struct resolution *resolution = candidates->resolution;
  struct jvm_thread *thread = resolution->conversion.thread;
  struct jvm_class *class = resolution->named;
  const struct member_table *members;
  do {
    members = find_members(resolution, class);
    if (members == NULL || !add_declared(candidates, members))
      return false;
    class = members->super;
  } while (class != NULL);

  class = resolution->named;
  do {
    members = find_members(resolution, class);
    for (size_t i = 0; members != NULL && i < members->interface_count; i++)
      if (!add_interface(candidates, members->interfaces[i]))
        return false;
    class = members == NULL ? NULL : members->super;
  } while (class != NULL);

  if (!resolution->named->is_interface)
    return true;
  class = jvm_class_of(thread, thread->jvm->known.class_object);
  members = class == NULL ? NULL : find_members(resolution, class);
  return members != NULL && add_declared(candidates, members); /* JLS 9.2 */
}

static bool walk_methods(struct candidates *candidates)
{
  const struct operation *operation = candidates->resolution->operation;
  if (operation->kind == OP_NEW) {
    const struct member_table *members = find_members(candidates->resolution, candidates->resolution->named);
    return members != NULL && add_declared(candidates, members);
  }
  if (operation->member.len > 0 && operation->member.data[0] == '<')
    return true; /* not the name of a method (JVMS 4.2.2) */
  return add_members(candidates);
}

/* ---- the choice among the methods ---- */

/* The candidates, and narrower lists of candidates. The narrower lists are tried first. */
struct overloads {
  struct candidates all;
  struct candidates allowed; /* allowed by the policy; all candidates if the policy need not be asked */
  struct candidates open;    /* the public methods in `allowed` */
};

enum choice {
  CHOOSE_FITTING,
  /* accepts also a method for which a value does not fit; its conversion then reports the error */
  CHOOSE_MISFIT,
  CHOOSE_ANY /* the first of several ambiguous methods, because the caller does not learn which */
};

static bool fill_candidate(struct resolution *resolution, struct jvm_method *method,
                           struct overload_candidate *candidate)
{
  bool is_static = (method->modifiers & OP_ACC_STATIC) != 0;
  struct jvm_class *receiver = is_static || !has_function(resolution) ? NULL : resolution->receiver_class;
  struct overload_type *params = arena_calloc(resolution->arena, method->param_count, sizeof *params);
  if (params == NULL)
    return argument_fail_memory(&resolution->conversion);
  *candidate = (struct overload_candidate){
      .params = params, .count = method->param_count, .varargs = (method->modifiers & OP_ACC_VARARGS) != 0};
  if (candidate->varargs)
    candidate->element = make_overload_type(&method->element);
  for (size_t i = 0; i < method->param_count; i++) {
    params[i] = make_overload_type(&method->params[i]);
    if (receiver == NULL || method->params[i].kind != 'L')
      continue;
    const struct element_types *declared =
        element_types_of_parameter(resolution->conversion.thread, method, i, receiver, resolution->arena);
    bind_interface(resolution, declared, &params[i]);
    if (candidate->varargs && i + 1 == method->param_count && declared != NULL)
      bind_interface(resolution, declared->inside, &candidate->element);
  }
  return true;
}

static void set_choice(struct resolution *resolution, struct jvm_method *method, bool variable)
{
  struct resolved_member *member = resolution->conversion.member;
  member->method = method;
  member->declaring = method->owner;
  member->modifiers = method->modifiers;
  member->variable = variable;
  member->plans = resolution->plans;
  member->plan_count = resolution->operation->arg_count;
  for (size_t i = 0; i < member->plan_count; i++) {
    bool gathered = variable && i + 1 >= method->param_count;
    plan_argument(resolution, i, gathered ? &method->element : &method->params[i]);
  }
}

static void fail_ambiguous(struct resolution *resolution, struct jvm_method *const *methods,
                           const struct overload_choice *choice)
{
  struct text candidates = describe_candidates(resolution, methods, choice->tied, choice->tied_count);
  outcome_fail(resolution->conversion.outcome, resolution->arena, FAILURE_NOT_FOUND,
               "java.lang.NoSuchMethodException", "%.*s: ambiguous for (%.*s): %.*s",
               TEXT_ARGS(describe_failure(resolution)), TEXT_ARGS(describe_arguments(resolution)),
               TEXT_ARGS(candidates));
}

/* True if an argument has no declared type, so that its value matters. */
static bool has_bare_argument(const struct resolution *resolution)
{
  for (size_t i = 0; i < resolution->operation->arg_count; i++)
    if (resolution->arguments[i].bare)
      return true;
  return false;
}

/* Chooses for the operation's arguments and sets the member's method and plans. JP_NOT_FOUND: no overload
 * fits, and *outcome is not set; JP_INVALID: the outcome says why. */
static enum jp_status choose_among(struct resolution *resolution, const struct candidates *among,
                                   enum choice how)
{
  struct jvm_method *const *methods = among->methods;
  size_t count = among->count;
  if (count == 0)
    return JP_NOT_FOUND;
  struct overload_candidate *candidates = arena_calloc(resolution->arena, count, sizeof *candidates);
  if (candidates == NULL) {
    argument_fail_memory(&resolution->conversion);
    return JP_INVALID;
  }
  for (size_t i = 0; i < count; i++)
    if (!fill_candidate(resolution, methods[i], &candidates[i]))
      return JP_INVALID;
  struct overload_hooks hooks = make_hooks(resolution);
  struct overload_choice choice;
  enum overload_result result =
      overload_choose(&hooks, resolution->arguments, resolution->operation->arg_count, candidates, count,
                      resolution->arena, &choice);
  if (result == OVERLOAD_AMBIGUOUS && how == CHOOSE_ANY) {
    choice.index = choice.tied[0];
    result = OVERLOAD_FOUND;
  }
  if (result == OVERLOAD_FOUND && choice.is_misfit && how != CHOOSE_MISFIT)
    return JP_NOT_FOUND;
  switch (result) {
  case OVERLOAD_FOUND:
    resolution->is_by_cost = choice.by_cost;
    resolution->cacheable = is_cacheable(resolution, &choice, candidates, count);
    set_choice(resolution, methods[choice.index], choice.variable);
    return JP_OK;
  case OVERLOAD_AMBIGUOUS:
    fail_ambiguous(resolution, methods, &choice);
    return JP_INVALID;
  case OVERLOAD_NO_MEMORY:
    argument_fail_memory(&resolution->conversion);
    return JP_INVALID;
  case OVERLOAD_NONE:
    break;
  }
  return JP_NOT_FOUND;
}

/* Denied overloads are not candidates (docs/internals/policy.md). A single method is judged after the
 * choice. */
static bool drop_denied(struct overloads *overloads)
{
  struct candidates *all = &overloads->all;
  struct resolution *resolution = all->resolution;
  overloads->allowed = *all;
  if (all->count <= 1 && !all->has_hidden)
    return true;
  resolution->conversion.member->stamp = judge_stamp(resolution->conversion.request->judge);
  struct candidates judged = {.resolution = resolution, .private_too = all->private_too, .is_judged = true};
  if (!walk_methods(&judged))
    return false;
  overloads->allowed = (struct candidates){.resolution = resolution};
  for (size_t i = 0; i < judged.count; i++)
    if (is_allowed_method(resolution, judged.methods[i]) &&
        !append_method(&overloads->allowed, judged.methods[i]))
      return false;
  return true;
}

static bool gather_overloads(struct resolution *resolution, bool private_too, struct overloads *overloads)
{
  *overloads = (struct overloads){.all = {.resolution = resolution, .private_too = private_too},
                                  .open = {.resolution = resolution}};
  if (!walk_methods(&overloads->all) || !drop_denied(overloads))
    return false;
  const struct candidates *allowed = &overloads->allowed;
  for (size_t i = 0; i < allowed->count; i++)
    if ((allowed->methods[i]->modifiers & OP_ACC_PUBLIC) != 0 &&
        !append_method(&overloads->open, allowed->methods[i]))
      return false;
  return true;
}

/* Tries the public methods, then all. A choice that depends on values is not cached, because other values
 * with the same key may lead to another method. */
static enum jp_status choose_allowed(struct resolution *resolution, const struct overloads *overloads)
{
  size_t all = overloads->allowed.count;
  size_t open = overloads->open.count;
  enum jp_status status = choose_among(resolution, &overloads->open, CHOOSE_FITTING);
  if (status == JP_OK && resolution->is_by_cost && open < all)
    resolution->cacheable = false;
  if (status != JP_NOT_FOUND || open == all)
    return status;
  status = choose_among(resolution, &overloads->allowed, CHOOSE_FITTING);
  if (status == JP_OK && open > 0 && has_bare_argument(resolution))
    resolution->cacheable = false;
  return status;
}

static enum jp_status choose_overload(struct resolution *resolution, struct overloads *overloads)
{
  bool is_method = resolution->operation->kind != OP_NEW;
  size_t members = 0;
  for (int private_too = 0; private_too <= is_method; private_too++) {
    if (!gather_overloads(resolution, private_too != 0, overloads))
      return JP_INVALID;
    enum jp_status status = choose_allowed(resolution, overloads);
    if (status == JP_NOT_FOUND && overloads->allowed.count < overloads->all.count) {
      /* No allowed method fits. If a denied method fits, it is chosen, so that the call fails with the usual
       * denial. */
      status = choose_among(resolution, &overloads->all, CHOOSE_ANY);
      resolution->cacheable = false;
    }
    if (status == JP_OK && members > 0 && has_bare_argument(resolution))
      resolution->cacheable = false;
    if (status != JP_NOT_FOUND)
      return status;
    members = overloads->all.count;
  }
  enum jp_status status = choose_among(
      resolution, overloads->open.count > 0 ? &overloads->open : &overloads->allowed, CHOOSE_MISFIT);
  if (status == JP_OK && overloads->all.count > 1)
    resolution->cacheable = false;
  return status;
}

/* Lists the arguments and the methods with the name. Returns false. */
static bool fail_no_match(struct resolution *resolution, const struct overloads *overloads)
{
  const struct operation *operation = resolution->operation;
  struct candidates shown = {.resolution = resolution};
  for (size_t i = 0; i < overloads->allowed.count; i++) {
    struct jvm_method *method = overloads->allowed.methods[i];
    if (is_allowed_method(resolution, method) && !append_method(&shown, method))
      return false;
  }
  struct text of = shorten_name(resolution, resolution->named->name);
  if (operation->kind != OP_NEW)
    of = arena_printf(resolution->arena, "%.*s.%.*s", TEXT_ARGS(of),
                      TEXT_ARGS(shorten_name(resolution, operation->member)));
  struct text candidates = describe_candidates(resolution, shown.methods, NULL, shown.count);
  outcome_fail(resolution->conversion.outcome, resolution->arena, FAILURE_NOT_FOUND,
               "java.lang.NoSuchMethodException", "%.*s: %.*s(%.*s)%s%.*s",
               TEXT_ARGS(describe_failure(resolution)), TEXT_ARGS(of),
               TEXT_ARGS(describe_arguments(resolution)),
               shown.count == 0 ? "" : "; candidates: ", TEXT_ARGS(candidates));
  return false;
}

/* ---- the member ---- */

static bool set_refusal(struct resolution *resolution, const char *type, const char *why)
{
  resolution->conversion.member->action = MEMBER_REFUSE;
  resolution->conversion.member->refusal_type = type;
  resolution->conversion.member->refusal = why;
  return true;
}

/* JVMS 2.9.3: each call by bytecode links a signature-polymorphic method anew, and JNI has no call of this
 * kind. */
static bool is_signature_polymorphic(struct jvm_method *method)
{
  return (method->modifiers & (ACC_NATIVE | OP_ACC_VARARGS)) == (ACC_NATIVE | OP_ACC_VARARGS) &&
         method->param_count == 1 && text_equal(method->params[0].name, TEXT("[Ljava.lang.Object;")) &&
         (text_equal(method->owner->name, TEXT("java.lang.invoke.MethodHandle")) ||
          text_equal(method->owner->name, TEXT("java.lang.invoke.VarHandle")));
}

static bool fail_receiver(struct resolution *resolution)
{
  const struct operation *operation = resolution->operation;
  if (resolution->receiver_class == NULL) {
    outcome_fail(resolution->conversion.outcome, resolution->arena, FAILURE_INVALID_PARAMS, NULL,
                 "'%.*s' is an instance member of %.*s: an instance is needed",
                 TEXT_ARGS(shorten_name(resolution, operation->member)),
                 TEXT_ARGS(shorten_name(resolution, resolution->named->name)));
    resolution->conversion.outcome->lacks_instance = true;
  } else if (operation->receiver != NULL)
    outcome_fail(resolution->conversion.outcome, resolution->arena, FAILURE_INVALID_PARAMS, NULL,
                 "The instance is of %.*s, not of %.*s",
                 TEXT_ARGS(shorten_name(resolution, resolution->receiver_class->name)),
                 TEXT_ARGS(shorten_name(resolution, resolution->named->name)));
  else
    outcome_fail(resolution->conversion.outcome, resolution->arena, FAILURE_INVALID_PARAMS, NULL,
                 "The object with objRef %u is of %.*s, not of %.*s", operation->instance,
                 TEXT_ARGS(shorten_name(resolution, resolution->receiver_class->name)),
                 TEXT_ARGS(shorten_name(resolution, resolution->named->name)));
  return false;
}

static bool check_receiver(struct resolution *resolution)
{
  struct jvm_class *receiver = resolution->receiver_class;
  if (receiver == NULL ||
      !jvm_class_is_assignable(resolution->conversion.thread, receiver, resolution->named))
    return fail_receiver(resolution);
  resolution->conversion.member->runtime = receiver;
  return true;
}

/* Called if the member cannot be used in this way. True: the policy denies the member, and the denial is the
 * only error that the caller gets. */
static bool is_denied(struct resolution *resolution)
{
  const struct resolved_member *member = resolution->conversion.member;
  if (is_allowed(resolution, member->kind, member->modifiers, member->declaring, member->method))
    return false;
  resolution->cacheable = false;
  return set_refusal(resolution, "java.lang.IllegalAccessException", "the policy denies it");
}

static bool set_method(struct resolution *resolution)
{
  struct resolved_member *member = resolution->conversion.member;
  struct jvm_method *method = member->method;
  bool is_static = (method->modifiers & OP_ACC_STATIC) != 0;
  member->kind = is_static ? OP_MEMBER_STATIC_METHOD : OP_MEMBER_METHOD;
  member->action = is_static ? MEMBER_CALL_STATIC : MEMBER_CALL;
  if (!is_static) {
    member->method_id = method->id;
    if (!check_receiver(resolution))
      return is_denied(resolution);
    if (!selection_find(resolution->conversion.thread, resolution->arena, method, member->runtime,
                        &member->holders, &member->holder_count))
      return argument_take(&resolution->conversion) ? false : argument_fail_memory(&resolution->conversion);
  }
  if (is_signature_polymorphic(method))
    return set_refusal(resolution, "java.lang.UnsupportedOperationException",
                       "a signature-polymorphic method can be called only from Java code");
  return true;
}

static bool find_method(struct resolution *resolution)
{
  struct overloads overloads;
  enum jp_status status = choose_overload(resolution, &overloads);
  if (status == JP_NOT_FOUND)
    return fail_no_match(resolution, &overloads);
  return status == JP_OK && set_method(resolution);
}

static bool fail_constructor(struct resolution *resolution, const char *what)
{
  outcome_fail(resolution->conversion.outcome, resolution->arena, FAILURE_NOT_FOUND,
               "java.lang.NoSuchMethodException", "No matching constructor found: %.*s is an %s",
               TEXT_ARGS(shorten_name(resolution, resolution->named->name)), what);
  return false;
}

static bool find_constructor(struct resolution *resolution)
{
  struct resolved_member *member = resolution->conversion.member;
  struct jvm_class *named = resolution->named;
  member->kind = OP_MEMBER_CONSTRUCTOR;
  member->action = MEMBER_NEW;
  member->declaring = named;
  if (named->component != 0) {
    member->action = MEMBER_NEW_ARRAY;
    member->modifiers = OP_ACC_PUBLIC;
    return true;
  }
  if (named->is_interface)
    return fail_constructor(resolution, "interface");
  if (named->is_enum)
    return fail_constructor(resolution, "enum");

  struct overloads overloads;
  enum jp_status status = choose_overload(resolution, &overloads);
  if (status == JP_NOT_FOUND)
    return fail_no_match(resolution, &overloads);
  if (status != JP_OK)
    return false;
  member->method_id = member->method->id;
  return (named->modifiers & ACC_ABSTRACT) == 0 ||
         set_refusal(resolution, "java.lang.InstantiationException", "the class is abstract");
}

/* JVMS 5.4.3.2: the class, its interfaces, then its superclass. */
static bool find_declared_field(struct resolution *resolution, struct jvm_class *class,
                                struct jvm_field **found)
{
  const struct member_table *members = find_members(resolution, class);
  if (members == NULL)
    return false;
  for (size_t i = 0; i < members->field_count; i++)
    if (text_equal(members->fields[i].name, resolution->operation->member)) {
      *found = &members->fields[i];
      return true;
    }
  for (size_t i = 0; *found == NULL && i < members->interface_count; i++)
    if (!find_declared_field(resolution, members->interfaces[i], found))
      return false;
  return *found != NULL || members->super == NULL || find_declared_field(resolution, members->super, found);
}

static bool set_length(struct resolution *resolution)
{
  struct resolved_member *member = resolution->conversion.member;
  member->kind = OP_MEMBER_FIELD;
  member->action = MEMBER_GET_LENGTH;
  member->declaring = resolution->named;
  member->modifiers = OP_ACC_PUBLIC | OP_ACC_FINAL;
  if (!check_receiver(resolution))
    return false;
  return resolution->operation->kind == OP_GET ||
         set_refusal(resolution, "java.lang.IllegalAccessException", "the length of an array is final");
}

/* Finds the declared type of the named array's elements. */
static bool set_element_type(struct resolution *resolution, struct jvm_type *type)
{
  struct jvm_class *array = resolution->named;
  if (primitive_size(array->component) > 0) {
    *type = (struct jvm_type){.kind = array->component, .name = primitive_keyword(array->component)};
    return true;
  }
  struct jvm_class *component = jvm_class_component(resolution->conversion.thread, array);
  if (component == NULL)
    return argument_fail_memory(&resolution->conversion);
  *type = (struct jvm_type){.kind = 'L', .unboxed = component->unboxed, .name = component->name};
  atomic_store_explicit(&type->class, component, memory_order_relaxed);
  return true;
}

static void set_array_type(struct jvm_class *array, struct jvm_type *type)
{
  *type = (struct jvm_type){.kind = 'L', .name = array->name};
  atomic_store_explicit(&type->class, array, memory_order_relaxed);
}

static bool set_piece(struct resolution *resolution)
{
  struct resolved_member *member = resolution->conversion.member;
  bool is_put = resolution->operation->kind == OP_PUT;
  bool is_range_put = is_put && resolution->operation->piece->kind == OP_PIECE_RANGE;
  member->kind = OP_MEMBER_FIELD;
  member->action = is_range_put ? MEMBER_PUT_RANGE : is_put ? MEMBER_PUT_PIECE : MEMBER_GET_PIECE;
  member->declaring = resolution->named;
  member->modifiers = OP_ACC_PUBLIC;
  if (!check_receiver(resolution))
    return is_denied(resolution);
  if (is_range_put)
    set_array_type(resolution->named, &member->element);
  else if (!set_element_type(resolution, &member->element))
    return false;
  return !is_put || resolution_plan_put(resolution, &member->element) || is_denied(resolution);
}

/* JNI writes any final field without an error, while compiled code continues to use the old value. */
static bool refuse_final(struct resolution *resolution, struct jvm_field *field)
{
  if ((field->modifiers & OP_ACC_FINAL) == 0)
    return false;
  if ((field->modifiers & OP_ACC_STATIC) != 0)
    return set_refusal(resolution, "java.lang.IllegalAccessException",
                       "a static final field cannot be written");
  if (field->owner->is_record)
    return set_refusal(resolution, "java.lang.IllegalAccessException",
                       "a final field of a record cannot be written");
  if (field->owner->is_hidden)
    return set_refusal(resolution, "java.lang.IllegalAccessException",
                       "a final field of a hidden class cannot be written");
  return false;
}

static bool find_field(struct resolution *resolution)
{
  const struct operation *operation = resolution->operation;
  struct resolved_member *member = resolution->conversion.member;
  if (resolution->named->component != 0 && text_equal(operation->member, TEXT("length")))
    return set_length(resolution);
  if (resolution->named->component != 0 && operation->piece != NULL)
    return set_piece(resolution);
  struct jvm_field *field = NULL;
  if (!find_declared_field(resolution, resolution->named, &field))
    return false;
  if (field == NULL) {
    outcome_fail(resolution->conversion.outcome, resolution->arena, FAILURE_NOT_FOUND,
                 "java.lang.NoSuchFieldException", "No field '%.*s' found in %.*s",
                 TEXT_ARGS(shorten_name(resolution, operation->piece == NULL ? operation->member
                                                                             : operation->piece->written)),
                 TEXT_ARGS(shorten_name(resolution, resolution->named->name)));
    return false;
  }
  bool is_static = (field->modifiers & OP_ACC_STATIC) != 0;
  bool is_put = operation->kind == OP_PUT;
  member->field = field;
  member->declaring = field->owner;
  member->modifiers = field->modifiers;
  member->kind = is_static ? OP_MEMBER_STATIC_FIELD : OP_MEMBER_FIELD;
  member->action =
      is_put ? (is_static ? MEMBER_PUT_STATIC : MEMBER_PUT) : (is_static ? MEMBER_GET_STATIC : MEMBER_GET);
  member->field_id = is_static ? NULL : field->id;
  if (!is_static && !check_receiver(resolution))
    return is_denied(resolution);
  if (!is_put || refuse_final(resolution, field))
    return true;
  return resolution_plan_put(resolution, &field->type) || is_denied(resolution);
}

bool resolution_find_member(struct resolution *resolution)
{
  switch (resolution->operation->kind) {
  case OP_NEW:
    return find_constructor(resolution);
  case OP_CALL:
    return find_method(resolution);
  default:
    return find_field(resolution);
  }
}
