#include "rpc/methods/java_call.h"

#include "classfile/catalog.h"
#include "classfile/class_file.h"
#include "classfile/signature.h"
#include "op/type.h"
#include "rpc/meta/meta_shapes.h"
#include "rpc/methods/java_methods.h"
#include "rpc/methods/procedures.h"
#include "rpc/run.h"
#include "rpc/suggest/suggest.h"
#include "rpc/values/value_read.h"

#include <string.h>

enum { OVERLOADS_MAX = UINT8_MAX + 1 /* no class that was written by hand has more */, NAMES_SHOWN = 16 };

/* A request being decoded, from its names to its operation. */
struct java_call {
  /* Borrowed: */
  const struct jsonrpc_request *request;
  const struct java_method_rules *rules;
  const struct judge *judge;
  struct catalog *catalog; /* NULL: none */
  struct java_methods_index *index;
  struct arena *arena;
  struct operation *operation;
  struct outcome *outcome;

  /* Found: */
  struct java_method_name name;
  const struct java_method *methods; /* the overloads of the name, or the overload that its suffix selects */
  size_t count;
  bool is_beyond; /* the class is not in the catalog, so the JVM is asked for it */
  bool by_object; /* the policy denies the names, but the class of the object may allow the call */

  struct java_methods_found in_catalog;
  struct meta_shapes shapes; /* from the JVM's answers */

  /* Of the params: */
  bool fitting[OVERLOADS_MAX]; /* indexed as `methods`: the method accepts the given params */
  size_t fits;
  struct json_value *given; /* the params in the order of the method's parameters, the receiver first */
  size_t given_count;
};

/* ---- near names, which the caller may have meant (docs/protocol.md, "Errors") ---- */

/* The receiver is the first parameter of an instance method. */
static struct text parameter_name(const struct java_method *method, size_t at)
{
  return method->has_receiver && at == 0 ? TEXT("instance")
                                         : method->parameters[at - method->has_receiver].name;
}

static size_t count_parameters(const struct java_method *method)
{
  return (size_t)method->parameter_count + method->has_receiver;
}

static bool is_given(struct json_value params, struct text name)
{
  struct json_cursor cursor = json_enter(params);
  struct text key;
  struct json_value value;
  while (json_next_member(&cursor, &key, &value)) {
    if (json_key_is(key, name))
      return true;
  }
  return false;
}

static bool is_parameter(const struct java_method *method, struct text key)
{
  for (size_t at = 0; at < count_parameters(method); at++) {
    if (json_key_is(key, parameter_name(method, at)))
      return true;
  }
  return false;
}

/* Makes the hint for an error about the names of params, an object: ` ("lst": did you mean "list"?)`, in the
 * arena. "" if no name is similar to the name of a parameter that is not given. */
static struct text find_near_param(const struct java_method *methods, size_t count, struct json_value params,
                                   struct arena *arena)
{
  for (size_t i = 0; i < count; i++) {
    for (size_t at = 0; at < count_parameters(&methods[i]); at++) {
      struct text name = parameter_name(&methods[i], at);
      struct nearest nearest;
      nearest_begin(&nearest, name, name);
      struct json_cursor cursor = json_enter(params);
      struct text key;
      struct json_value value;
      /* names of one letter are all near to each other */
      bool may_be_near = name.len > 1 && !is_given(params, name);
      while (may_be_near && json_next_member(&cursor, &key, &value)) {
        if (!is_parameter(&methods[i], key))
          nearest_offer(&nearest, key, nearest_distance(key, nearest.wanted, nearest.limit));
      }
      if (nearest.count > 0)
        return arena_printf(arena, " (\"%.*s\": did you mean \"%.*s\"?)", TEXT_ARGS(nearest.names[0]),
                            TEXT_ARGS(name));
    }
  }
  return TEXT("");
}

/* Suggests the full names of overloads that are near to a name with an unknown suffix. */
static void suggest_overloads(const struct java_method *methods, size_t count, struct text written,
                              struct text suffix, struct arena *arena, struct outcome *outcome)
{
  struct text before = text_slice(written, 0, written.len - suffix.len);
  struct nearest nearest;
  struct buffer each;
  nearest_begin(&nearest, suffix, suffix);
  buffer_init(&each);
  for (size_t i = 0; i < count; i++) {
    buffer_clear(&each);
    java_method_suffix_write(methods[i].descriptor, &each);
    struct text name = each.failed ? TEXT_ABSENT : arena_text(arena, buffer_text(&each));
    if (name.data != NULL)
      nearest_offer(&nearest, name, nearest_distance(name, suffix, nearest.limit));
  }
  buffer_fini(&each);
  rpc_suggest(&nearest, before, TEXT(""), arena, outcome);
}

/* ---- from the name to the methods, in the catalog or, for a class that it lacks, in the JVM ---- */

/* The part of the name that an error shows. */
static struct text show_name(const struct java_call *call)
{
  return arena_shorten(call->arena, call->request->method, OUTCOME_NAME_SHOWN);
}

static enum jp_status fail_name(struct java_call *call, const char *why)
{
  outcome_fail(call->outcome, call->arena, FAILURE_NOT_FOUND, NULL, "Invalid method: %.*s%s",
               TEXT_ARGS(show_name(call)), why);
  return JP_NOT_FOUND;
}

/* The name of a member of a class without a package looks like any other dotted name. If the policy denies
 * such a name, the error says that the method does not exist. */
static enum jp_status ask_policy(struct java_call *call, bool *by_object)
{
  enum jp_status status = judge_names(call->judge, call->operation, by_object, call->arena, call->outcome);
  bool has_package = text_find_last(call->name.class_name, '.') != SIZE_MAX;
  if (status == JP_OK || (status == JP_DENIED && has_package))
    return status;
  return fail_name(call, "");
}

static enum jp_status find_in_catalog(struct java_call *call)
{
  struct jp_error error;
  bool may_have_it = call->catalog != NULL && call->rules->loader == 0;
  enum jp_status status = may_have_it ? java_methods_index_find(call->index, call->catalog,
                                                                call->judge->policy, call->name.class_name,
                                                                call->name.member, &call->in_catalog, &error)
                                      : JP_OK;
  call->is_beyond = !call->in_catalog.has_class;
  if (status == JP_OK)
    return JP_OK;
  return outcome_fail_error(call->outcome, call->arena, &error) == JP_NO_MEMORY ? JP_NO_MEMORY : JP_IO;
}

/*
 * Reads the name, makes its operation, and asks the policy about the names before the catalog, so that a
 * caller who may not use a class does not learn whether it exists.
 */
static enum jp_status read_name(struct java_call *call)
{
  struct operation *operation = call->operation;
  bool has_classes = call->catalog != NULL || call->rules->jvm_run != NULL;
  *operation = (struct operation){.kind = OP_CALL, .by_value = true};
  if (!has_classes || !java_method_name_parse(call->request->method, &call->name) ||
      call->name.class_name.len > OP_NAME_MAX || call->name.member.len > OP_NAME_MAX)
    return fail_name(call, "");
  bool is_constructor = text_equal(call->name.member, TEXT("new"));
  operation->kind = is_constructor ? OP_NEW : OP_CALL;
  operation->type = call->name.class_name;
  operation->member = is_constructor ? TEXT("<init>") : call->name.member;
  bool may_ask_object = operation->kind == OP_CALL && call->rules->loader == 0;
  call->by_object = false;
  enum jp_status status = ask_policy(call, may_ask_object ? &call->by_object : NULL);
  return status == JP_OK ? find_in_catalog(call) : status;
}

static enum jp_status look_up_class(struct java_call *call, uint32_t instance, bool is_final,
                                    struct op_description *look)
{
  struct operation asked = *call->operation;
  asked.loader = call->rules->loader;
  asked.has_instance = instance != 0;
  asked.instance = instance;
  asked.lists_loaders = is_final;
  *look = (struct op_description){.only_member = asked.member};
  if (call->rules->jvm_run == NULL)
    return fail_name(call, " (no such class)");
  if (rpc_run_look_up(call->rules->jvm_run, &asked, look, call->outcome))
    return JP_OK;
  /* If the request names a loader, the error of the loader is reported. Otherwise the name counts as
   * unknown. */
  const struct outcome *outcome = call->outcome;
  bool is_missing = outcome->failure == FAILURE_NOT_FOUND && !outcome->is_ambiguous;
  return is_missing && call->rules->loader == 0 ? fail_name(call, " (no such class)") : JP_NOT_FOUND;
}

static enum jp_status make_shapes(struct java_call *call, const struct op_description *look)
{
  struct catalog_excerpt *known = meta_shapes_open_known(call->catalog, look);
  enum jp_status status =
      meta_shapes_make(&call->shapes, look, known == NULL ? NULL : catalog_excerpt_tables(known));
  catalog_excerpt_close(known);
  if (status == JP_LIMIT) {
    outcome_fail(call->outcome, call->arena, FAILURE_SERVER, NULL, "the class has too many members");
    return status;
  }
  return status == JP_OK ? JP_OK : outcome_fail_memory(call->outcome);
}

struct judging {
  const struct catalog_tables *tables;
  struct text named_class; /* the class's name for the policy */
};

static bool is_allowed(const struct java_call *call, const struct judging *judging,
                       const struct java_method *method)
{
  bool is_constructor = method->result.data == NULL;
  if (method->method->is_open)
    return true;
  const struct judged_member overload = {
      .kind = is_constructor         ? OP_MEMBER_CONSTRUCTOR
              : method->has_receiver ? OP_MEMBER_METHOD
                                     : OP_MEMBER_STATIC_METHOD,
      .modifiers = method->method->access,
      .named_class = judging->named_class,
      .declaring_class = catalog_text(judging->tables, judging->tables->classes[method->declaring].name),
      .runtime_class = TEXT_ABSENT,
      .member = call->operation->member,
  };
  return judge_allows(call->judge, call->operation->kind, &overload);
}

/* Overloads that the policy denies are not candidates, and are not shown in errors. The policy's verdict on a
 * class in the catalog is kept by its name; another loader may have another class of that name. */
static enum jp_status drop_denied(struct java_call *call, const struct judging *judging)
{
  struct text type = call->operation->type;
  struct text member = call->operation->member;
  if (!call->is_beyond && judge_knows_overloads(call->judge, type, member))
    return JP_OK;
  struct java_method *allowed = arena_alloc(call->arena, call->count * sizeof *allowed);
  size_t count = 0;
  if (allowed == NULL)
    return outcome_fail_memory(call->outcome);
  for (size_t i = 0; i < call->count; i++)
    if (is_allowed(call, judging, &call->methods[i]))
      allowed[count++] = call->methods[i];
  if (count == 0)
    return judge_deny(call->judge, type, member, call->arena, call->outcome);
  if (count == call->count && !call->is_beyond)
    judge_note_overloads(call->judge, type, member);
  call->methods = allowed;
  call->count = count;
  return JP_OK;
}

/* Keeps only the method that the suffix names, or fails. */
static enum jp_status choose_by_suffix(struct java_call *call)
{
  struct buffer suffix;
  size_t found = SIZE_MAX;
  buffer_init(&suffix);
  for (size_t i = 0; i < call->count && found == SIZE_MAX; i++) {
    buffer_clear(&suffix);
    java_method_suffix_write(call->methods[i].descriptor, &suffix);
    if (!suffix.failed && text_equal(buffer_text(&suffix), call->name.suffix))
      found = i;
  }
  buffer_fini(&suffix);
  if (found == SIZE_MAX) {
    enum jp_status status = fail_name(call, " (no such overload)");
    if (!call->rules->values.compat_pal)
      suggest_overloads(call->methods, call->count, call->request->method, call->name.suffix, call->arena,
                        call->outcome);
    return status;
  }
  call->methods += found;
  call->count = 1;
  return JP_OK;
}

/* Finds the public field of the operation's member, which a class declares or inherits. False: the field does
 * not exist, or the caller may not read it. */
static bool has_field(const struct java_call *call, const struct judging *judging, uint32_t class_index,
                      bool *is_static)
{
  enum { SUPERCLASSES_MAX = 100 }; /* class files may inherit in a circle */
  const struct catalog_tables *tables = judging->tables;
  for (int depth = 0; class_index != CATALOG_NONE && depth < SUPERCLASSES_MAX; depth++) {
    const struct catalog_class *class = &tables->classes[class_index];
    for (uint32_t i = class->first_field; i < class->first_field + class->field_count; i++) {
      const struct catalog_field *field = &tables->fields[i];
      if (field->hidden || (field->access & ACCESS_PUBLIC) == 0 ||
          !text_equal(catalog_text(tables, field->name), call->operation->member))
        continue;
      *is_static = (field->access & ACCESS_STATIC) != 0;
      const struct judged_member judged = {.kind = *is_static ? OP_MEMBER_STATIC_FIELD : OP_MEMBER_FIELD,
                                           .modifiers = field->access,
                                           .named_class = judging->named_class,
                                           .declaring_class = catalog_text(tables, class->name),
                                           .runtime_class = TEXT_ABSENT,
                                           .member = call->operation->member};
      return judge_allows(call->judge, OP_GET, &judged);
    }
    class_index = class->superclass.class_index;
  }
  return false;
}

static enum jp_status choose_methods(struct java_call *call, const struct judging *judging)
{
  if (call->count == 0) {
    bool is_static;
    if (call->is_beyond || call->rules->values.compat_pal ||
        !has_field(call, judging, catalog_find(judging->tables, call->operation->type), &is_static))
      return fail_name(call, " (no such member)");
    return fail_name(call, is_static ? " (a field, not a method: get reads it)"
                                     : " (a field, not a method: get reads it, of an instance)");
  }
  if (call->count > OVERLOADS_MAX)
    call->count = OVERLOADS_MAX;
  enum jp_status status = drop_denied(call, judging);
  return status != JP_OK || call->name.suffix.data == NULL ? status : choose_by_suffix(call);
}

static enum jp_status find_beyond(struct java_call *call, uint32_t instance, bool is_final)
{
  struct op_description look;
  enum jp_status status = look_up_class(call, instance, is_final, &look);
  if (status == JP_OK)
    status = make_shapes(call, &look);
  if (status != JP_OK)
    return status;
  const struct judging judging = {&call->shapes.tables, look.judged_name};
  struct java_method *found = NULL;
  if (java_methods_collect_named(judging.tables, call->judge->policy,
                                 catalog_find(judging.tables, look.class_name), call->name.member,
                                 call->arena, &found, &call->count) != JP_OK)
    return outcome_fail_memory(call->outcome);
  call->methods = found;
  return choose_methods(call, &judging);
}

/*
 * Finds the methods that the caller may use, which are valid until drop_methods. instance: an object whose
 * class is searched first when the JVM is asked; 0: none. is_final: an error names the loaders that have a
 * class of this name.
 */
static enum jp_status find_methods(struct java_call *call, uint32_t instance, bool is_final)
{
  if (call->is_beyond)
    return find_beyond(call, instance, is_final);
  const struct judging judging = {call->in_catalog.tables, call->operation->type};
  call->methods = call->in_catalog.methods;
  call->count = call->in_catalog.count;
  return choose_methods(call, &judging);
}

static void drop_methods(struct java_call *call)
{
  meta_shapes_fini(&call->shapes);
  call->methods = NULL;
  call->count = 0;
}

/* ---- the types of elements, by a parameter's generic signature ---- */

enum { DEPTH_MAX = 32 };

static bool type_elements(struct text type, struct arena *arena, unsigned depth, struct op_value *value);

/* The type argument for a class type's elements: the only type argument of a collection, the second of a map.
 * data NULL: the type has another number of arguments, or that argument is unknown. */
static struct text element_type(struct text type, unsigned wanted)
{
  const char *open = memchr(type.data, '<', type.len);
  if (open == NULL)
    return TEXT_ABSENT;
  struct signature_arguments arguments =
      signature_read_arguments(text_slice(type, (size_t)(open - type.data), type.len));
  return arguments.count == wanted ? signature_argument_type(arguments.last) : TEXT_ABSENT;
}

/* The source form of a type without its type arguments: "java.util.List". */
static bool source_name(struct text type, struct arena *arena, struct text *name)
{
  struct buffer whole;
  buffer_init(&whole);
  bool is_read = signature_read_type(&type, &whole) && !whole.failed;
  struct text erased = buffer_text(&whole);
  const char *open = erased.len == 0 ? NULL : memchr(erased.data, '<', erased.len);
  if (open != NULL) {
    size_t dimensions = erased.len;
    while (dimensions >= 2 && erased.data[dimensions - 1] == ']')
      dimensions -= 2;
    *name = arena_printf(arena, "%.*s%.*s", (int)(open - erased.data), erased.data,
                         (int)(erased.len - dimensions), erased.data + dimensions);
  } else {
    *name = arena_text(arena, erased);
  }
  buffer_fini(&whole);
  return is_read && name->data != NULL;
}

static bool type_element(struct text type, struct arena *arena, unsigned depth, struct op_value *element)
{
  bool is_known = type.len > 0 && type.data[0] != 'T';
  if (!is_known || element->kind == OP_NULL || element->kind == OP_REF)
    return true;
  if (element->type.data == NULL) {
    if (!source_name(type, arena, &element->type))
      return false;
    element->is_members_type = true;
  }
  return type_elements(type, arena, depth + 1, element);
}

static bool type_elements(struct text type, struct arena *arena, unsigned depth, struct op_value *value)
{
  if (depth > DEPTH_MAX || type.len == 0)
    return true;
  struct text element = TEXT_ABSENT;
  if (type.data[0] == 'L')
    element = element_type(type, value->kind == OP_MAP ? 2 : 1);
  if (value->kind == OP_LIST && type.data[0] == '[') {
    /* The array's component type decides what its elements become; only the values inside them need types. */
    for (size_t i = 0; i < value->list.count; i++) {
      if (!type_elements(text_slice(type, 1, type.len), arena, depth + 1, &value->list.items[i]))
        return false;
    }
  }
  for (size_t i = 0; element.data != NULL && value->kind == OP_LIST && i < value->list.count; i++) {
    if (!type_element(element, arena, depth, &value->list.items[i]))
      return false;
  }
  for (size_t i = 0; element.data != NULL && value->kind == OP_MAP && i < value->map.count; i++) {
    if (!type_element(element, arena, depth, &value->map.entries[i].value))
      return false;
  }
  return true;
}

/* Declares the types of elements: a bare 5 in a List<Long> becomes a Long, and a text in a Set<Color> becomes
 * a Color. */
bool java_value_type_elements(struct text type, struct arena *arena, struct op_value *value)
{
  return type_elements(type, arena, 0, value);
}

/* ---- params: which overloads they fit ---- */

/* Fails with an error that lists the overloads as they can be called. */
static enum jp_status fail_params(struct java_call *call, const char *why)
{
  struct buffer names;
  buffer_init(&names);
  for (size_t i = 0; i < call->count && i < NAMES_SHOWN; i++) {
    const struct java_method *method = &call->methods[i];
    buffer_append_text(&names, i > 0 ? TEXT(", ") : TEXT(""));
    buffer_append_text(&names, call->name.member);
    buffer_append_text(&names, method->has_receiver ? TEXT("(instance") : TEXT("("));
    for (unsigned at = 0; at < method->parameter_count; at++) {
      buffer_append_text(&names, at > 0 || method->has_receiver ? TEXT(", ") : TEXT(""));
      buffer_append_text(&names, method->parameters[at].name);
    }
    buffer_append_char(&names, ')');
  }
  outcome_fail(call->outcome, call->arena, FAILURE_INVALID_PARAMS, NULL, "%s; there is: %.*s%s", why,
               TEXT_ARGS(buffer_text(&names)), call->count > NAMES_SHOWN ? ", ..." : "");
  buffer_fini(&names);
  return JP_INVALID;
}

static enum jp_status read_positions(struct java_call *call)
{
  struct json_cursor cursor = json_enter(call->request->params);
  struct json_value element;
  call->given_count = json_count(call->request->params);
  if (call->given_count > RPC_ARGS_MAX)
    return fail_params(call, "more params than the limit of 65535");
  call->given = arena_alloc(call->arena, call->given_count * sizeof *call->given);
  if (call->given == NULL)
    return outcome_fail_memory(call->outcome);
  for (size_t i = 0; json_next_element(&cursor, &element); i++)
    call->given[i] = element;
  return JP_OK;
}

/* JSON-RPC 1.1, 6.2.3: a name that has only digits is a position. False for other names, and for positions
 * from `count` on. */
static bool read_position(struct text name, size_t count, size_t *at)
{
  *at = 0;
  for (size_t i = 0; i < name.len; i++) {
    if (name.data[i] < '0' || name.data[i] > '9' || i > 6)
      return false;
    *at = *at * 10 + (size_t)(name.data[i] - '0');
  }
  return name.len > 0 && *at < count;
}

/* Reads params by name whose names are all positions. False if a name is not a position, or is repeated. */
static bool read_numbered(struct java_call *call)
{
  size_t count = json_count(call->request->params);
  struct json_value *given = arena_calloc(call->arena, count, sizeof *given);
  struct json_cursor cursor = json_enter(call->request->params);
  struct text key;
  struct json_value value;
  if (given == NULL || count == 0 || count > RPC_ARGS_MAX)
    return false;
  while (json_next_member(&cursor, &key, &value)) {
    size_t at;
    if (!read_position(key, count, &at) || given[at].span.data != NULL)
      return false;
    given[at] = value;
  }
  call->given = given;
  call->given_count = count;
  return true;
}

static bool fits_positions(const struct java_call *call, const struct java_method *method)
{
  size_t wanted = count_parameters(method);
  return call->given_count == wanted || (method->is_varargs && call->given_count + 1 >= wanted);
}

/* Chooses between instance and static methods with the same number of params: a first param {"ref": N} is
 * the receiver. */
static bool begins_with_ref(const struct java_call *call)
{
  struct json_cursor cursor;
  struct text key;
  struct json_value value;
  if (call->given_count == 0 || call->given[0].kind != JSON_KIND_OBJECT)
    return false;
  cursor = json_enter(call->given[0]);
  return json_next_member(&cursor, &key, &value) && json_key_is(key, TEXT("ref"));
}

/* JSON-RPC 1.1 requires coercion (6.6.1); 2.0 is strict. */
static bool is_coerced(const struct java_call *call)
{
  return call->request->version == JSONRPC_1_1;
}

/* JSON-RPC 1.1, 6.6.1: if no overload accepts that many params, the params beyond the longest overload are
 * dropped. */
static void drop_extra_params(struct java_call *call)
{
  size_t most = 0;
  bool is_taken = false;
  for (size_t i = 0; i < call->count; i++) {
    size_t wanted = count_parameters(&call->methods[i]);
    if (fits_positions(call, &call->methods[i]))
      return;
    is_taken = is_taken || wanted < call->given_count;
    most = wanted < call->given_count && wanted > most ? wanted : most;
  }
  if (is_taken)
    call->given_count = most;
}

static enum jp_status fit_positions(struct java_call *call)
{
  size_t receivers = 0;
  if (is_coerced(call))
    drop_extra_params(call);
  for (size_t i = 0; i < call->count; i++) {
    call->fitting[i] = fits_positions(call, &call->methods[i]);
    call->fits += call->fitting[i];
    receivers += call->fitting[i] && call->methods[i].has_receiver;
  }
  if (call->fits == 0)
    return fail_params(call, "the number of params is wrong");
  if (receivers == 0 || receivers == call->fits)
    return JP_OK;
  bool wants_receiver = begins_with_ref(call);
  for (size_t i = 0; i < call->count; i++) {
    call->fits -= call->fitting[i] && call->methods[i].has_receiver != wants_receiver;
    call->fitting[i] = call->fitting[i] && call->methods[i].has_receiver == wants_receiver;
  }
  return JP_OK;
}

/* The position of a parameter, or the number of parameters if no parameter has the name. */
static size_t find_position(const struct java_call *call, const struct java_method *method, struct text name)
{
  size_t wanted = count_parameters(method);
  size_t at = 0;
  if (is_coerced(call) && read_position(name, wanted, &at))
    return at;
  for (at = 0; at < wanted; at++) {
    if (text_equal(parameter_name(method, at), name))
      break;
  }
  return at;
}

/* Puts the values in the order of the method's parameters. False unless each parameter is named exactly
 * once. */
static bool fit_names(struct java_call *call, const struct java_method *method, bool drops_extra,
                      struct json_value *values)
{
  size_t wanted = count_parameters(method);
  size_t found = 0;
  struct json_cursor cursor = json_enter(call->request->params);
  struct text key;
  struct json_value value;
  for (size_t i = 0; i < wanted; i++)
    values[i].span = TEXT_ABSENT;
  while (json_next_member(&cursor, &key, &value)) {
    struct text name = json_unescape(key, call->arena);
    if (name.data == NULL)
      return false;
    size_t at = find_position(call, method, name);
    if (at == wanted && drops_extra)
      continue;
    if (at == wanted || values[at].span.data != NULL)
      return false;
    values[at] = value;
    found++;
  }
  return found == wanted;
}

static bool is_same_order(const struct json_value *a, const struct json_value *b, size_t count)
{
  for (size_t i = 0; i < count; i++) {
    if (a[i].span.data != b[i].span.data)
      return false;
  }
  return true;
}

/* Compares an overload with the earlier candidates. If params were dropped, only the overloads that use the
 * most params are candidates. `wanted`: the number of params that this overload uses. True: an earlier
 * candidate uses more params. If this overload uses more params than the earlier candidates, this function
 * removes them. */
static bool is_outdone(struct java_call *call, size_t index, size_t wanted)
{
  if (call->fits > 0 && wanted > call->given_count) {
    for (size_t i = 0; i < index; i++)
      call->fitting[i] = false;
    call->fits = 0;
  }
  return call->fits > 0 && wanted < call->given_count;
}

static enum jp_status fit_all_names(struct java_call *call, bool drops_extra)
{
  bool has_receiver = false;
  for (size_t i = 0; i < call->count; i++) {
    const struct java_method *method = &call->methods[i];
    size_t wanted = count_parameters(method);
    struct json_value *values = arena_alloc(call->arena, (wanted + 1) * sizeof *values);
    if (values == NULL)
      return outcome_fail_memory(call->outcome);
    call->fitting[i] = fit_names(call, method, drops_extra, values) && !is_outdone(call, i, wanted);
    if (!call->fitting[i])
      continue;
    if (call->fits++ > 0 &&
        (has_receiver != method->has_receiver || !is_same_order(call->given, values, wanted)))
      return fail_params(call, "several overloads have these params in different orders");
    has_receiver = method->has_receiver;
    call->given = values;
    call->given_count = wanted;
  }
  return JP_OK;
}

static enum jp_status read_given(struct java_call *call)
{
  bool has_names = call->request->has_params && call->request->params.kind == JSON_KIND_OBJECT;
  if (has_names && is_coerced(call) && read_numbered(call))
    return fit_positions(call);
  if (has_names) {
    enum jp_status status = fit_all_names(call, false);
    if (status == JP_OK && call->fits == 0 && is_coerced(call))
      status = fit_all_names(call, true);
    if (status != JP_OK || call->fits > 0)
      return status;
    struct text near = TEXT("");
    if (!call->rules->values.compat_pal)
      near = find_near_param(call->methods, call->count, call->request->params, call->arena);
    struct text why = arena_printf(call->arena, "these are not the names of the params%.*s", TEXT_ARGS(near));
    return why.data == NULL ? outcome_fail_memory(call->outcome) : fail_params(call, why.data);
  }
  if (call->request->has_params) {
    enum jp_status status = read_positions(call);
    if (status != JP_OK)
      return status;
  }
  return fit_positions(call);
}

/* ---- the operation ---- */

/* N, or {"ref": N} */
static bool read_ref(struct json_value json, uint32_t *ref)
{
  bool is_read = rpc_ref_read(json, ref);
  if (is_read || json.kind != JSON_KIND_OBJECT)
    return is_read;
  struct json_cursor cursor = json_enter(json);
  struct text key;
  struct json_value value;
  while (!is_read && json_next_member(&cursor, &key, &value))
    is_read = json_key_is(key, TEXT("ref")) && rpc_ref_read(value, ref);
  return is_read;
}

/* Reads a receiver that is a bare text. It has the class of the member, because the request names no other
 * class. */
static enum jp_status read_receiver_text(struct java_call *call, struct json_value json)
{
  struct op_value *receiver = arena_calloc(call->arena, 1, sizeof *receiver);
  if (receiver == NULL)
    return outcome_fail_memory(call->outcome);
  *receiver = (struct op_value){.kind = OP_TEXT,
                                .is_members_type = true,
                                .type = call->operation->type,
                                .text = json_read_string(json, call->arena)};
  call->operation->receiver = receiver;
  return receiver->text.data == NULL ? outcome_fail_memory(call->outcome) : JP_OK;
}

/* True for an object with a member `type`, which is the form of a typed value. */
static bool is_typed_value(struct json_value json)
{
  struct json_cursor cursor;
  struct text key;
  struct json_value value;
  bool has_type = false;
  if (json.kind != JSON_KIND_OBJECT)
    return false;
  cursor = json_enter(json);
  while (!has_type && json_next_member(&cursor, &key, &value))
    has_type = json_key_is(key, TEXT("type"));
  return has_type;
}

static struct rpc_value_reader begin_values(const struct java_call *call)
{
  struct rpc_value_reader values;
  rpc_value_reader_init(&values, &call->rules->values, call->arena, call->outcome);
  return values;
}

static enum jp_status read_receiver(struct java_call *call, struct json_value json)
{
  bool takes_values = !call->rules->values.compat_pal;
  if (is_coerced(call) && rpc_value_coerce(json, RPC_WANTS_NUMBER, call->arena, &json) != JP_OK)
    return outcome_fail_memory(call->outcome);
  call->operation->has_instance = read_ref(json, &call->operation->instance);
  if (call->operation->has_instance)
    return JP_OK;
  if (takes_values && json.kind == JSON_KIND_STRING)
    return read_receiver_text(call, json);
  if (takes_values && is_typed_value(json)) {
    struct rpc_value_reader decoder = begin_values(call);
    return rpc_receiver_read(&decoder, json, &call->operation->receiver);
  }
  return fail_params(call, takes_values ? "'instance' must be a ref ({\"ref\": N}, or N) or a value "
                                          "({\"type\": T, \"value\": V}, or its text)"
                                        : "'instance' must be a ref: {\"ref\": N}, or N");
}

/* The form to which JSON-RPC 1.1, 6.6.1 coerces an argument. A byte[] or char[] may be given as a text, so
 * a text is not put into an array for them. */
static enum rpc_wants wants_of(struct text descriptor)
{
  if (descriptor.data[0] == '[')
    return descriptor.data[1] == 'B' || descriptor.data[1] == 'C' ? RPC_WANTS_OBJECT : RPC_WANTS_LIST;
  if (descriptor.data[0] == 'Z')
    return RPC_WANTS_BOOLEAN;
  return strchr("BSIJFD", descriptor.data[0]) != NULL ? RPC_WANTS_NUMBER : RPC_WANTS_OBJECT;
}

static enum jp_status coerce_arguments(struct java_call *call, const struct java_method *method, size_t count)
{
  struct json_value *given = call->given + method->has_receiver;
  struct text rest = text_slice(method->descriptor, 1, method->descriptor.len);
  for (size_t i = 0; count == method->parameter_count && i < count; i++) {
    struct op_type type;
    enum rpc_wants wants = wants_of(rest);
    if (op_type_parse_descriptor(&rest, call->arena, &type) != JP_OK)
      return outcome_fail_memory(call->outcome);
    bool is_whole = given[i].kind == JSON_KIND_NULL || given[i].kind == JSON_KIND_OBJECT;
    if (!is_whole && rpc_value_coerce(given[i], wants, call->arena, &given[i]) != JP_OK)
      return outcome_fail_memory(call->outcome);
  }
  return JP_OK;
}

static enum jp_status read_arguments(struct java_call *call, const struct json_value *given, size_t count)
{
  struct operation *operation = call->operation;
  struct rpc_value_reader decoder = begin_values(call);
  operation->args = arena_calloc(call->arena, count, sizeof *operation->args);
  if (operation->args == NULL)
    return outcome_fail_memory(call->outcome);
  operation->arg_count = count;
  for (size_t i = 0; i < count; i++) {
    decoder.argument = i;
    enum jp_status status = rpc_value_read(&decoder, given[i], &operation->args[i]);
    if (status != JP_OK)
      return status;
  }
  return JP_OK;
}

/* Declares the types of the only method that is left, so that resolution chooses it. */
static enum jp_status declare_types(struct java_call *call, const struct java_method *method)
{
  struct operation *operation = call->operation;
  bool is_exact = operation->arg_count == method->parameter_count;
  bool needs_types = method->is_varargs || method->overloaded;
  struct text rest = text_slice(method->descriptor, 1, method->descriptor.len);
  for (size_t i = 0; is_exact && i < operation->arg_count; i++) {
    struct op_type type;
    enum jp_status status = op_type_parse_descriptor(&rest, call->arena, &type);
    struct text name = status == JP_OK ? op_type_source_name(&type, call->arena) : TEXT_ABSENT;
    if (name.data == NULL)
      return outcome_fail_memory(call->outcome);
    if (needs_types && operation->args[i].type.data == NULL) {
      operation->args[i].type = name;
      operation->args[i].is_members_type = true;
    }
    if (!java_value_type_elements(method->parameters[i].type, call->arena, &operation->args[i]))
      return outcome_fail_memory(call->outcome);
  }
  return JP_OK;
}

static enum jp_status make_operation(struct java_call *call)
{
  size_t chosen = 0;
  while (chosen + 1 < call->count && !call->fitting[chosen])
    chosen++;
  const struct java_method *method = &call->methods[chosen];
  size_t receivers = method->has_receiver;
  enum jp_status status = receivers == 0 ? JP_OK : read_receiver(call, call->given[0]);
  if (status == JP_OK && call->fits == 1 && is_coerced(call))
    status = coerce_arguments(call, method, call->given_count - receivers);
  if (status == JP_OK)
    status = read_arguments(call, call->given + receivers, call->given_count - receivers);
  return status == JP_OK && call->fits == 1 ? declare_types(call, method) : status;
}

/* ---- from the request to its operation ---- */

/* JSON-RPC 1.1, 6.3.2: HTTP GET may only call members that the policy lists as idempotent. */
static enum jp_status check_safe(const struct java_call *call)
{
  const struct operation *operation = call->operation;
  if (!call->request->only_safe ||
      policy_is_idempotent(call->judge->policy, operation->type, operation->member))
    return JP_OK;
  outcome_fail(call->outcome, call->arena, FAILURE_NOT_SAFE, NULL,
               "'%.*s' may change something, so that it is called by POST", TEXT_ARGS(show_name(call)));
  return JP_INVALID;
}

static enum jp_status decode_params(struct java_call *call)
{
  memset(call->fitting, 0, sizeof call->fitting);
  call->fits = 0;
  call->given = NULL;
  call->given_count = 0;
  enum jp_status status = check_safe(call);
  if (status == JP_OK)
    status = read_given(call);
  return status == JP_OK ? make_operation(call) : status;
}

/* Reads the object that is the receiver of an instance member: `instance`, or the first of the params. */
static bool read_possible_instance(const struct jsonrpc_request *request, uint32_t *ref)
{
  bool has_names = request->has_params && request->params.kind == JSON_KIND_OBJECT;
  if (!request->has_params || (!has_names && request->params.kind != JSON_KIND_ARRAY))
    return false;
  struct json_cursor cursor = json_enter(request->params);
  struct text key;
  struct json_value value;
  if (!has_names)
    return json_next_element(&cursor, &value) && read_ref(value, ref);
  while (json_next_member(&cursor, &key, &value)) {
    if (json_key_is(key, TEXT("instance")))
      return read_ref(value, ref);
  }
  return false;
}

/* Decodes the name as a member of the possible receiver's class. False: the class does not have this member,
 * or the object is an argument. In both cases the name means the same as without the object. */
static bool decode_for_instance(struct java_call *call, uint32_t instance, enum jp_status *status)
{
  const struct operation named = *call->operation;
  bool found = find_methods(call, instance, false) == JP_OK;
  if (found)
    *status = decode_params(call);
  drop_methods(call);
  bool is_decided = found && (*status != JP_OK || call->operation->has_instance);
  if (!is_decided)
    *call->operation = named;
  return is_decided;
}

/* The policy denies the class by its name, but may allow the method because of the object's class. Otherwise
 * the denial remains the result. */
static enum jp_status decode_denied(struct java_call *call, uint32_t instance, enum jp_status denied)
{
  const struct outcome denial = *call->outcome;
  enum jp_status status = denied;
  call->is_beyond = true;
  if (decode_for_instance(call, instance, &status))
    return status;
  *call->outcome = denial;
  return denied;
}

static bool may_have_instance(const struct java_call *call, uint32_t *instance)
{
  return call->rules->loader == 0 && call->operation->kind == OP_CALL &&
         read_possible_instance(call->request, instance);
}

static enum jp_status decode_found(struct java_call *call)
{
  uint32_t instance = 0;
  enum jp_status status = read_name(call);
  if (status != JP_OK)
    return status;
  if ((call->is_beyond || call->by_object) && may_have_instance(call, &instance)) {
    call->is_beyond = true;
    if (decode_for_instance(call, instance, &status))
      return status;
  }
  if (call->by_object) {
    /* No object's class has allowed the method, so the denial of its names is the result. */
    enum jp_status status = ask_policy(call, NULL);
    return status == JP_OK ? JP_DENIED : status;
  }
  status = find_methods(call, 0, true);
  if (status == JP_OK)
    status = decode_params(call);
  drop_methods(call);
  return status == JP_DENIED && !call->is_beyond && may_have_instance(call, &instance)
             ? decode_denied(call, instance, status)
             : status;
}

enum jp_status java_method_decode(const struct jsonrpc_request *request, struct catalog *catalog,
                                  struct java_methods_index *index, const struct judge *judge,
                                  const struct java_method_rules *rules, struct arena *arena,
                                  struct operation *operation, struct outcome *outcome)
{
  struct java_call call = {.request = request,
                           .rules = rules,
                           .judge = judge,
                           .catalog = catalog,
                           .index = index,
                           .arena = arena,
                           .operation = operation,
                           .outcome = outcome};
  enum jp_status status = decode_found(&call);
  java_methods_index_release(&call.in_catalog);
  return status;
}
