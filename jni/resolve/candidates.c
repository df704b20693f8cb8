#include "jni/resolve/resolution.h"

#include "base/primitives.h"
#include "jni/types/selection.h"

#include <stdlib.h>

enum { ACC_NATIVE = 0x0100, ACC_ABSTRACT = 0x0400 };

/* The methods of one name, without those that another one of the list overrides or hides. */
struct candidates {
  struct resolution *resolution;
  struct jvm_method **methods;
  size_t count;
  size_t capacity;
  bool private_too;        /* takes private methods of superclasses, too */
  bool is_judged;          /* leaves out private methods that the policy denies, as if they did not exist */
  bool has_hidden;         /* a method was left out for another of the same parameters */
  struct jvm_class **seen; /* interfaces that were walked */
  size_t seen_count;
  size_t seen_capacity;
};

static bool same_params(struct jvm_method *a, struct jvm_method *b)
{
  if (a->param_count != b->param_count)
    return false;
  for (size_t i = 0; i < a->param_count; i++)
    if (a->params[i].kind != b->params[i].kind || !text_equal(a->params[i].name, b->params[i].name))
      return false;
  return true;
}

static bool is_hidden(const struct candidates *candidates, struct jvm_method *method)
{
  for (size_t i = 0; i < candidates->count; i++)
    if (same_params(candidates->methods[i], method))
      return true;
  return false;
}

/* Makes room for one more pointer. */
static void *grow_list(struct arena *arena, void *items, size_t count, size_t *capacity)
{
  if (count < *capacity)
    return items;
  size_t wanted = *capacity == 0 ? 16 : *capacity * 2;
  void *grown = arena_calloc(arena, wanted, sizeof(void *));
  if (grown == NULL)
    return NULL;
  if (count > 0)
    memcpy(grown, items, count * sizeof(void *));
  *capacity = wanted;
  return grown;
}

/* Asks the policy about the member as one of the named class; method is NULL for a field. What the object's class may
 * deny is judged after the choice. */
static bool is_allowed(const struct resolution *resolution, enum jvm_member_kind kind, unsigned modifiers,
                       const struct jvm_class *declaring, struct jvm_method *method)
{
  const struct jvm_guard *guard = resolution->conversion.request->guard;
  if (guard == NULL || guard->allows == NULL)
    return true;
  bool has_lineage = kind == JVM_METHOD && resolution->receiver_class != NULL;
  const struct jvm_lineage lineage = {.thread = resolution->conversion.thread,
                                      .arena = resolution->arena,
                                      .method = method,
                                      .named = resolution->named,
                                      .runtime = resolution->receiver_class};
  const struct jvm_target member = {.kind = kind,
                                    .modifiers = modifiers,
                                    .lineage = has_lineage ? &lineage : NULL,
                                    .named_class = resolution->named->element_name,
                                    .declaring_class = declaring->element_name,
                                    .runtime_class = TEXT_ABSENT,
                                    .member = resolution->operation->member};
  return guard->allows(guard->context, resolution->operation->kind, &member);
}

static bool is_allowed_method(const struct resolution *resolution, struct jvm_method *method)
{
  bool is_static = (method->modifiers & JVM_ACC_STATIC) != 0;
  enum jvm_member_kind kind = resolution->operation->kind == OP_NEW ? JVM_CONSTRUCTOR
                              : is_static                           ? JVM_STATIC_METHOD
                                                                    : JVM_METHOD;
  return is_allowed(resolution, kind, method->modifiers, method->owner, method);
}

static bool add_method(struct candidates *candidates, struct jvm_method *method)
{
  if (is_hidden(candidates, method)) {
    candidates->has_hidden = true;
    return true;
  }
  if (candidates->is_judged && (method->modifiers & JVM_ACC_PRIVATE) != 0 &&
      !is_allowed_method(candidates->resolution, method))
    return true;
  candidates->methods =
      grow_list(candidates->resolution->arena, candidates->methods, candidates->count, &candidates->capacity);
  if (candidates->methods == NULL)
    return argument_fail_memory(&candidates->resolution->conversion);
  candidates->methods[candidates->count++] = method;
  return true;
}

/* A class inherits neither private methods of a superclass nor static and private ones of an interface (JLS
 * 8.4.8). */
static bool is_member(const struct candidates *candidates, const struct jvm_class *named,
                      struct jvm_method *method)
{
  if (method->owner == named)
    return true;
  if (method->owner->is_interface)
    return (method->modifiers & (JVM_ACC_STATIC | JVM_ACC_PRIVATE)) == 0;
  return candidates->private_too || (method->modifiers & JVM_ACC_PRIVATE) == 0;
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
  candidates->seen = grow_list(candidates->resolution->arena, candidates->seen, candidates->seen_count,
                               &candidates->seen_capacity);
  if (candidates->seen != NULL)
    candidates->seen[candidates->seen_count++] = interface;
  return candidates->seen == NULL;
}

static bool add_interface(struct candidates *candidates, struct jvm_class *interface)
{
  if (is_seen(candidates, interface))
    return true;
  const struct member_table *members = resolution_members(candidates->resolution, interface);
  if (members == NULL || !add_declared(candidates, members))
    return false;
  for (size_t i = 0; i < members->interface_count; i++)
    if (!add_interface(candidates, members->interfaces[i]))
      return false;
  return true;
}

/* Superclasses first, so that the methods of a class hide those that its interfaces declare. */
static bool add_all(struct candidates *candidates)
{
  struct resolution *resolution = candidates->resolution;
  struct jvm_thread *thread = resolution->conversion.thread;
  struct jvm_class *class = resolution->named;
  const struct member_table *members;
  do {
    members = resolution_members(resolution, class);
    if (members == NULL || !add_declared(candidates, members))
      return false;
    class = members->super;
  } while (class != NULL);

  class = resolution->named;
  do {
    members = resolution_members(resolution, class);
    for (size_t i = 0; members != NULL && i < members->interface_count; i++)
      if (!add_interface(candidates, members->interfaces[i]))
        return false;
    class = members == NULL ? NULL : members->super;
  } while (class != NULL);

  if (!resolution->named->is_interface)
    return true;
  class = jvm_class_of(thread, thread->jvm->known.class_object);
  members = class == NULL ? NULL : resolution_members(resolution, class);
  return members != NULL && add_declared(candidates, members); /* JLS 9.2 */
}

static bool set_refusal(struct resolution *resolution, const char *type, const char *why)
{
  resolution->member->action = MEMBER_REFUSE;
  resolution->member->refusal_type = type;
  resolution->member->refusal = why;
  return true;
}

/* JVMS 2.9.3: such a method is linked at each call in bytecode, and JNI has no such call. */
static bool is_signature_polymorphic(struct jvm_method *method)
{
  return (method->modifiers & (ACC_NATIVE | JVM_ACC_VARARGS)) == (ACC_NATIVE | JVM_ACC_VARARGS) &&
         method->param_count == 1 && text_equal(method->params[0].name, TEXT("[Ljava.lang.Object;")) &&
         (text_equal(method->owner->name, TEXT("java.lang.invoke.MethodHandle")) ||
          text_equal(method->owner->name, TEXT("java.lang.invoke.VarHandle")));
}

static struct text shorten_name(struct resolution *resolution, struct text name)
{
  return arena_shorten(resolution->arena, name, OUTCOME_NAME_SHOWN);
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
  resolution->member->runtime = receiver;
  return true;
}

/* Called when the member cannot be used in this way. True: the policy denies the member. The caller then
 * learns only that. */
static bool is_denied(struct resolution *resolution)
{
  const struct resolved_member *member = resolution->member;
  if (is_allowed(resolution, member->kind, member->modifiers, member->declaring, member->method))
    return false;
  resolution->cacheable = false;
  return set_refusal(resolution, "java.lang.IllegalAccessException", "the policy denies it");
}

static bool set_method(struct resolution *resolution)
{
  struct resolved_member *member = resolution->member;
  struct jvm_method *method = member->method;
  bool is_static = (method->modifiers & JVM_ACC_STATIC) != 0;
  member->kind = is_static ? JVM_STATIC_METHOD : JVM_METHOD;
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
                       "a signature-polymorphic method can be called from Java code alone");
  return true;
}

static bool walk_methods(struct candidates *candidates)
{
  const struct operation *operation = candidates->resolution->operation;
  if (operation->kind == OP_NEW) {
    const struct member_table *members =
        resolution_members(candidates->resolution, candidates->resolution->named);
    return members != NULL && add_declared(candidates, members);
  }
  if (operation->member.len > 0 && operation->member.data[0] == '<')
    return true; /* not the name of a method (JVMS 4.2.2) */
  return add_all(candidates);
}

/* ---- the choice among them ---- */

/* The candidates, and narrower lists of them, which are tried first. */
struct overloads {
  struct candidates all;
  struct candidates allowed; /* by the policy; all of them where it need not be asked */
  struct candidates open;    /* the public ones among the allowed */
};

static bool append_method(struct candidates *to, struct jvm_method *method)
{
  to->methods = grow_list(to->resolution->arena, to->methods, to->count, &to->capacity);
  if (to->methods == NULL)
    return argument_fail_memory(&to->resolution->conversion);
  to->methods[to->count++] = method;
  return true;
}

/* Denied overloads are no candidates (docs/architecture.md). About a single method the policy is asked after
 * the choice. */
static bool drop_denied(struct overloads *overloads)
{
  struct candidates *all = &overloads->all;
  struct resolution *resolution = all->resolution;
  const struct jvm_guard *guard = resolution->conversion.request->guard;
  overloads->allowed = *all;
  if (guard == NULL || guard->allows == NULL || (all->count <= 1 && !all->has_hidden))
    return true;
  resolution->member->stamp = guard->stamp;
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
    if ((allowed->methods[i]->modifiers & JVM_ACC_PUBLIC) != 0 &&
        !append_method(&overloads->open, allowed->methods[i]))
      return false;
  return true;
}

static enum jp_status choose_among(struct resolution *resolution, const struct candidates *among,
                                   enum resolution_choice how)
{
  return among->count == 0 ? JP_NOT_FOUND : resolution_choose(resolution, among->methods, among->count, how);
}

/* Tries the public ones, then all. A choice that depends on values is not kept, because other values with the
 * same key may lead to another. */
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
  if (status == JP_OK && open > 0 && resolution_has_bare_argument(resolution))
    resolution->cacheable = false;
  return status;
}

/* Chooses one that the policy denies, so that the call is denied like any other. */
static enum jp_status choose_denied(struct resolution *resolution, const struct overloads *overloads)
{
  if (overloads->allowed.count == overloads->all.count)
    return JP_NOT_FOUND;
  enum jp_status status = choose_among(resolution, &overloads->all, CHOOSE_ANY);
  resolution->cacheable = false;
  return status;
}

static enum jp_status choose_misfit(struct resolution *resolution, const struct overloads *overloads)
{
  return choose_among(resolution, overloads->open.count > 0 ? &overloads->open : &overloads->allowed,
                      CHOOSE_MISFIT);
}

static enum jp_status choose_overload(struct resolution *resolution, struct overloads *overloads)
{
  bool is_method = resolution->operation->kind != OP_NEW;
  size_t members = 0;
  for (int private_too = 0; private_too <= is_method; private_too++) {
    if (!gather_overloads(resolution, private_too != 0, overloads))
      return JP_INVALID;
    enum jp_status status = choose_allowed(resolution, overloads);
    if (status == JP_NOT_FOUND)
      status = choose_denied(resolution, overloads);
    if (status == JP_OK && members > 0 && resolution_has_bare_argument(resolution))
      resolution->cacheable = false;
    if (status != JP_NOT_FOUND)
      return status;
    members = overloads->all.count;
  }
  enum jp_status status = choose_misfit(resolution, overloads);
  if (status == JP_OK && overloads->all.count > 1)
    resolution->cacheable = false;
  return status;
}

static bool fail_no_match(struct resolution *resolution, const struct overloads *overloads)
{
  struct candidates shown = {.resolution = resolution};
  for (size_t i = 0; i < overloads->allowed.count; i++) {
    struct jvm_method *method = overloads->allowed.methods[i];
    if (is_allowed_method(resolution, method) && !append_method(&shown, method))
      return false;
  }
  return resolution_fail_no_match(resolution, shown.methods, shown.count);
}

bool resolution_find_method(struct resolution *resolution)
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

bool resolution_find_constructor(struct resolution *resolution)
{
  struct resolved_member *member = resolution->member;
  struct jvm_class *named = resolution->named;
  member->kind = JVM_CONSTRUCTOR;
  member->action = MEMBER_NEW;
  member->declaring = named;
  if (named->component != 0) {
    member->action = MEMBER_NEW_ARRAY;
    member->modifiers = JVM_ACC_PUBLIC;
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
static bool find_field(struct resolution *resolution, struct jvm_class *class, struct jvm_field **found)
{
  const struct member_table *members = resolution_members(resolution, class);
  if (members == NULL)
    return false;
  for (size_t i = 0; i < members->field_count; i++)
    if (text_equal(members->fields[i].name, resolution->operation->member)) {
      *found = &members->fields[i];
      return true;
    }
  for (size_t i = 0; *found == NULL && i < members->interface_count; i++)
    if (!find_field(resolution, members->interfaces[i], found))
      return false;
  return *found != NULL || members->super == NULL || find_field(resolution, members->super, found);
}

static bool set_length(struct resolution *resolution)
{
  struct resolved_member *member = resolution->member;
  member->kind = JVM_FIELD;
  member->action = MEMBER_GET_LENGTH;
  member->declaring = resolution->named;
  member->modifiers = JVM_ACC_PUBLIC | JVM_ACC_FINAL;
  if (!check_receiver(resolution))
    return false;
  return resolution->operation->kind == OP_GET ||
         set_refusal(resolution, "java.lang.IllegalAccessException", "the length of an array is final");
}

/* What the elements of the named array are declared as. */
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

static bool set_piece(struct resolution *resolution)
{
  struct resolved_member *member = resolution->member;
  bool is_put = resolution->operation->kind == OP_PUT;
  member->kind = JVM_FIELD;
  member->action = is_put ? MEMBER_PUT_PIECE : MEMBER_GET_PIECE;
  member->declaring = resolution->named;
  member->modifiers = JVM_ACC_PUBLIC;
  if (!check_receiver(resolution))
    return is_denied(resolution);
  if (!set_element_type(resolution, &member->element))
    return false;
  return !is_put || resolution_plan_put(resolution, &member->element) || is_denied(resolution);
}

/* JNI writes any final field without an error, while compiled code goes on using the old value. */
static bool refuse_final(struct resolution *resolution, struct jvm_field *field)
{
  if ((field->modifiers & JVM_ACC_FINAL) == 0)
    return false;
  if ((field->modifiers & JVM_ACC_STATIC) != 0)
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

bool resolution_find_field(struct resolution *resolution)
{
  const struct operation *operation = resolution->operation;
  struct resolved_member *member = resolution->member;
  if (resolution->named->component != 0 && text_equal(operation->member, TEXT("length")))
    return set_length(resolution);
  if (resolution->named->component != 0 && operation->piece != NULL)
    return set_piece(resolution);
  struct jvm_field *field = NULL;
  if (!find_field(resolution, resolution->named, &field))
    return false;
  if (field == NULL) {
    outcome_fail(resolution->conversion.outcome, resolution->arena, FAILURE_NOT_FOUND,
                 "java.lang.NoSuchFieldException", "No field '%.*s' found in %.*s",
                 TEXT_ARGS(shorten_name(resolution, operation->piece == NULL ? operation->member
                                                                             : operation->piece->written)),
                 TEXT_ARGS(shorten_name(resolution, resolution->named->name)));
    return false;
  }
  bool is_static = (field->modifiers & JVM_ACC_STATIC) != 0;
  bool is_put = operation->kind == OP_PUT;
  member->field = field;
  member->declaring = field->owner;
  member->modifiers = field->modifiers;
  member->kind = is_static ? JVM_STATIC_FIELD : JVM_FIELD;
  member->action =
      is_put ? (is_static ? MEMBER_PUT_STATIC : MEMBER_PUT) : (is_static ? MEMBER_GET_STATIC : MEMBER_GET);
  member->field_id = is_static ? NULL : field->id;
  if (!is_static && !check_receiver(resolution))
    return is_denied(resolution);
  if (!is_put || refuse_final(resolution, field))
    return true;
  return resolution_plan_put(resolution, &field->type) || is_denied(resolution);
}
