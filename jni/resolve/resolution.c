#include "jni/resolve/resolution.h"

#include "base/primitives.h"
#include "jni/proxies/kinds.h"
#include "jni/runtime/throwables.h"

/* The bounds of a list in a message: elements, bytes, and the bytes of one type. */
enum { LISTED = 16, LISTED_BYTES = 2048, TYPE_SHOWN = 128 };

const struct member_table *resolution_members(struct resolution *resolution, struct jvm_class *class)
{
  const struct member_table *members = member_table_of(resolution->conversion.thread, class);
  if (members == NULL && !argument_take(&resolution->conversion))
    argument_fail_memory(&resolution->conversion);
  return members;
}

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

/* Searches by name among the object's own classes, because another loader may have a class of the same
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
    return argument_fail(conversion, value, "an object is no %.*s", TEXT_ARGS(type.name));
  if (is_primitive)
    return type_primitive(resolution, type.base, at);
  if (value->kind == OP_REF && conversion->loader == NULL) {
    struct jvm_class *given = jvm_class_by_id(conversion->thread, resolution->frame->classes[at]);
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
  /* The request's frame holds it until its end. A member that is kept would not. */
  resolution->is_passing = resolution->is_passing || finding.held != NULL;
  return type_reference(resolution, class, at);
}

/* One whose interfaces are named is its proxy, whose class has them all. */
static bool type_callback(struct resolution *resolution, const struct op_value *value, size_t at)
{
  struct jvm_thread *thread = resolution->conversion.thread;
  if (value->callback->interface_count == 0) {
    resolution->arguments[at].bare = true;
    resolution->arguments[at].type =
        (struct overload_type){.kind = OVERLOAD_FUNCTION, .handle = (void *)value};
    return true;
  }
  if (!argument_make_callback(&resolution->conversion, NULL, value, &resolution->frame->objects[at]))
    return false;
  resolution->is_passing = true;
  return type_reference(resolution, jvm_class_of_object(thread, resolution->frame->objects[at]), at);
}

static bool type_inferred(struct resolution *resolution, const struct op_value *value, size_t at)
{
  struct jvm_thread *thread = resolution->conversion.thread;
  const struct jvm_known *known = &thread->jvm->known;
  char letter = op_scalar_infer(value);
  resolution->arguments[at].bare = true;
  if (letter != 0)
    return type_primitive(resolution, letter, at);
  switch (value->kind) {
  case OP_NULL:
    resolution->arguments[at].type = (struct overload_type){.kind = 'N'};
    return true;
  case OP_TEXT:
    return type_reference(resolution, jvm_class_of(thread, known->class_string), at);
  case OP_LIST:
    return type_reference(resolution, jvm_class_of(thread, known->class_list), at);
  case OP_MAP:
    return type_reference(resolution, jvm_class_of(thread, known->class_map), at);
  case OP_PACKED: {
    const char name[2] = {'[', value->packed.element};
    return type_reference(resolution, jvm_class_load(thread, (struct text){name, sizeof name}, NULL), at);
  }
  default:
    return type_reference(resolution, jvm_class_of(thread, known->class_big_integer), at);
  }
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
          resolution, jvm_class_by_id(resolution->conversion.thread, resolution->frame->classes[path.index]),
          path.index);
    else
      typed = type_inferred(resolution, value, path.index);
  }
  resolution->conversion.path = NULL;
  return typed;
}

/* The interface's function has as many parameters as the callback, where that tells. */
static bool takes_function(struct resolution *resolution, const struct op_value *value, struct jvm_type *to)
{
  struct jvm_thread *thread = resolution->conversion.thread;
  struct jvm_class *interface = jvm_type_class(thread, to);
  if (interface == NULL || !interface->is_interface)
    return false;
  int arity = callback_function_arity(thread, interface);
  return arity != CALLBACK_NO_FUNCTION && (value->callback->arity < 0 || value->callback->arity == arity);
}

/* As a lambda without parameters would choose. */
static bool is_preferred_function(struct jvm_thread *thread, const struct overload_type *one,
                                  const struct overload_type *other)
{
  struct jvm_class *classes[] = {jvm_type_class(thread, one->handle), jvm_type_class(thread, other->handle)};
  if (classes[0] == NULL || classes[1] == NULL || callback_function_arity(thread, classes[0]) != 0 ||
      callback_function_arity(thread, classes[1]) != 0)
    return false;
  return !callback_function_is_void(thread, classes[0]) && callback_function_is_void(thread, classes[1]);
}

/* Two arrays of primitives of as many dimensions, of which the first widens to the other: int[][] and double[][]. */
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

static struct overload_hooks hooks_of(struct resolution *resolution)
{
  return (struct overload_hooks){.context = resolution,
                                 .is_subtype = is_subtype,
                                 .boxed = box_type,
                                 .is_preferred = is_preferred,
                                 .cost = ask_cost};
}

static struct overload_type type_of(struct jvm_type *type)
{
  return (struct overload_type){.kind = type->kind, .unboxed = type->unboxed, .handle = type};
}

static bool fill_candidate(struct resolution *resolution, struct jvm_method *method,
                           struct overload_candidate *candidate)
{
  struct overload_type *params = arena_calloc(resolution->arena, method->param_count, sizeof *params);
  if (params == NULL)
    return argument_fail_memory(&resolution->conversion);
  for (size_t i = 0; i < method->param_count; i++)
    params[i] = type_of(&method->params[i]);
  *candidate = (struct overload_candidate){
      .params = params, .count = method->param_count, .varargs = (method->modifiers & JVM_ACC_VARARGS) != 0};
  if (candidate->varargs)
    candidate->element = type_of(&method->element);
  return true;
}

/* A bare value that Java's rules do not convert to the parameter is read as the parameter's type. */
static void plan_argument(struct resolution *resolution, size_t at, struct jvm_type *to)
{
  struct overload_hooks hooks = hooks_of(resolution);
  struct overload_type type = type_of(to);
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
}

/* A choice by cost depends on values, which are not in the key, unless there is only one candidate. */
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

static void set_choice(struct resolution *resolution, struct jvm_method *method, bool variable)
{
  struct resolved_member *member = resolution->member;
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

static struct text describe_type(struct resolution *resolution, const struct jvm_type *type)
{
  struct text name = type->kind == 'L' ? type->name : primitive_keyword(type->kind);
  struct op_type parsed;
  if (name.data[0] == '[' && op_type_parse_argument(name, &parsed, NULL) == JP_OK)
    name = op_type_source_name(&parsed, resolution->arena);
  return arena_shorten(resolution->arena, name, TYPE_SHOWN);
}

/* A list for a message, cut at its bounds. */
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

struct text resolution_describe_arguments(struct resolution *resolution)
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

static struct text describe_member(struct resolution *resolution)
{
  return arena_shorten(resolution->arena, resolution->operation->member, OUTCOME_NAME_SHOWN);
}

/* "No matching method 'add' found": clients know the failure by this text (docs/protocol.md, "Errors"). */
static struct text describe_failure(struct resolution *resolution)
{
  const struct operation *operation = resolution->operation;
  if (operation->kind == OP_NEW)
    return TEXT("No matching constructor found");
  return arena_printf(resolution->arena, "No matching method '%.*s' found",
                      TEXT_ARGS(describe_member(resolution)));
}

bool resolution_fail_no_match(struct resolution *resolution, struct jvm_method *const *methods, size_t count)
{
  const struct operation *operation = resolution->operation;
  struct text of = arena_shorten(resolution->arena, resolution->named->name, OUTCOME_NAME_SHOWN);
  if (operation->kind != OP_NEW)
    of = arena_printf(resolution->arena, "%.*s.%.*s", TEXT_ARGS(of), TEXT_ARGS(describe_member(resolution)));
  struct text candidates = describe_candidates(resolution, methods, NULL, count);
  outcome_fail(resolution->conversion.outcome, resolution->arena, FAILURE_NOT_FOUND,
               "java.lang.NoSuchMethodException", "%.*s: %.*s(%.*s)%s%.*s",
               TEXT_ARGS(describe_failure(resolution)), TEXT_ARGS(of),
               TEXT_ARGS(resolution_describe_arguments(resolution)),
               count == 0 ? "" : "; candidates: ", TEXT_ARGS(candidates));
  return false;
}

static void fail_ambiguous(struct resolution *resolution, struct jvm_method *const *methods,
                           const struct overload_choice *choice)
{
  struct text candidates = describe_candidates(resolution, methods, choice->tied, choice->tied_count);
  outcome_fail(resolution->conversion.outcome, resolution->arena, FAILURE_NOT_FOUND,
               "java.lang.NoSuchMethodException", "%.*s: ambiguous for (%.*s): %.*s",
               TEXT_ARGS(describe_failure(resolution)), TEXT_ARGS(resolution_describe_arguments(resolution)),
               TEXT_ARGS(candidates));
}

bool resolution_has_bare_argument(const struct resolution *resolution)
{
  for (size_t i = 0; i < resolution->operation->arg_count; i++)
    if (resolution->arguments[i].bare)
      return true;
  return false;
}

static enum jp_status take_choice(struct resolution *resolution, struct jvm_method *const *methods,
                                  const struct overload_candidate *candidates, size_t count,
                                  const struct overload_choice *choice)
{
  resolution->is_by_cost = choice->by_cost;
  resolution->cacheable = is_cacheable(resolution, choice, candidates, count);
  set_choice(resolution, methods[choice->index], choice->variable);
  return JP_OK;
}

enum jp_status resolution_choose(struct resolution *resolution, struct jvm_method *const *methods,
                                 size_t count, enum resolution_choice how)
{
  struct overload_candidate *candidates = arena_calloc(resolution->arena, count, sizeof *candidates);
  if (candidates == NULL) {
    argument_fail_memory(&resolution->conversion);
    return JP_INVALID;
  }
  for (size_t i = 0; i < count; i++)
    if (!fill_candidate(resolution, methods[i], &candidates[i]))
      return JP_INVALID;
  struct overload_hooks hooks = hooks_of(resolution);
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
    return take_choice(resolution, methods, candidates, count, &choice);
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

bool resolution_plan_put(struct resolution *resolution, struct jvm_type *type)
{
  struct overload_hooks hooks = hooks_of(resolution);
  struct overload_type param = type_of(type);
  struct overload_candidate candidate = {.params = &param, .count = 1};
  struct overload_choice choice;
  struct argument_path path = {0};
  resolution->conversion.path = &path;
  if (overload_choose(&hooks, resolution->arguments, 1, &candidate, 1, resolution->arena, &choice) !=
      OVERLOAD_FOUND)
    return argument_fail(&resolution->conversion, &resolution->operation->args[0],
                         "%.*s does not become %.*s", TEXT_ARGS(resolution_describe_arguments(resolution)),
                         TEXT_ARGS(describe_type(resolution, type)));
  resolution->cacheable = is_cacheable(resolution, &choice, &candidate, 1);
  resolution->member->plans = resolution->plans;
  resolution->member->plan_count = 1;
  plan_argument(resolution, 0, type);
  return true;
}
