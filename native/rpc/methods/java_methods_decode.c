#include "rpc/methods/java_methods_decode.h"

#include "classfile/signature.h"
#include "rpc/methods/java_methods_find.h"
#include "rpc/methods/java_methods_typing.h"
#include "rpc/methods/near_names.h"
#include "rpc/methods/procedures.h"
#include "rpc/values/value_read.h"

#include <string.h>

enum { NAMES_SHOWN = 16 };

/* A request on its way from its names to its operation. */
struct reader {
  const struct jsonrpc_request *request;
  const struct java_method_rules *rules;
  struct arena *arena;
  struct operation *operation;
  struct outcome *outcome;
  struct text member;
  const struct java_method *methods; /* that the name may mean */
  size_t count;
  bool fitting[JAVA_OVERLOADS_MAX]; /* by index in methods: it takes the given params */
  size_t fits;
  struct json_value *given; /* the params in the order of the method's parameters, the receiver first */
  size_t given_count;
};

static enum jp_status fail_memory(struct reader *reader)
{
  outcome_fail(reader->outcome, reader->arena, FAILURE_INTERNAL, NULL, "out of memory");
  return JP_NO_MEMORY;
}

/* ---- params ---- */

/* The message lists the overloads as they could be called. */
static enum jp_status fail_params(struct reader *reader, const char *why)
{
  struct buffer names;
  buffer_init(&names);
  for (size_t i = 0; i < reader->count && i < NAMES_SHOWN; i++) {
    const struct java_method *method = &reader->methods[i];
    buffer_append_text(&names, i > 0 ? TEXT(", ") : TEXT(""));
    buffer_append_text(&names, reader->member);
    buffer_append_text(&names, method->has_receiver ? TEXT("(instance") : TEXT("("));
    for (unsigned at = 0; at < method->parameter_count; at++) {
      buffer_append_text(&names, at > 0 || method->has_receiver ? TEXT(", ") : TEXT(""));
      buffer_append_text(&names, method->parameters[at].name);
    }
    buffer_append_char(&names, ')');
  }
  outcome_fail(reader->outcome, reader->arena, FAILURE_INVALID_PARAMS, NULL, "%s; there is: %.*s%s", why,
               TEXT_ARGS(buffer_text(&names)), reader->count > NAMES_SHOWN ? ", ..." : "");
  buffer_fini(&names);
  return JP_INVALID;
}

static enum jp_status read_positions(struct reader *reader)
{
  struct json_cursor cursor = json_enter(reader->request->params);
  struct json_value element;
  reader->given_count = json_count(reader->request->params);
  if (reader->given_count > RPC_ARGS_MAX)
    return fail_params(reader, "more params than the limit of 65535");
  reader->given = arena_alloc(reader->arena, reader->given_count * sizeof *reader->given);
  if (reader->given == NULL)
    return fail_memory(reader);
  for (size_t i = 0; json_next_element(&cursor, &element); i++)
    reader->given[i] = element;
  return JP_OK;
}

/* JSON-RPC 1.1, 6.2.3: a name of digits is a position. False for other names, and from `count` on. */
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

/* Reads params by name whose names are all positions. False where one is not, or is repeated. */
static bool read_numbered(struct reader *reader)
{
  size_t count = json_count(reader->request->params);
  struct json_value *given = arena_calloc(reader->arena, count, sizeof *given);
  struct json_cursor cursor = json_enter(reader->request->params);
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
  reader->given = given;
  reader->given_count = count;
  return true;
}

static bool fits_positions(const struct reader *reader, const struct java_method *method)
{
  size_t wanted = (size_t)method->parameter_count + method->has_receiver;
  return reader->given_count == wanted || (method->is_varargs && reader->given_count + 1 >= wanted);
}

/* Of instance and static methods that take as many params: a first param {"ref": N} is the receiver. */
static bool begins_with_ref(const struct reader *reader)
{
  struct json_cursor cursor;
  struct text key;
  struct json_value value;
  if (reader->given_count == 0 || reader->given[0].kind != JSON_KIND_OBJECT)
    return false;
  cursor = json_enter(reader->given[0]);
  return json_next_member(&cursor, &key, &value) && json_key_is(key, TEXT("ref"));
}

/* JSON-RPC 1.1 asks for it (6.6.1); 2.0 is strict. */
static bool is_coerced(const struct reader *reader)
{
  return reader->request->version == JSONRPC_1_1;
}

/* JSON-RPC 1.1, 6.6.1: where no overload takes that many params, those beyond the longest are dropped. */
static void drop_extra_params(struct reader *reader)
{
  size_t most = 0;
  bool is_taken = false;
  for (size_t i = 0; i < reader->count; i++) {
    size_t wanted = (size_t)reader->methods[i].parameter_count + reader->methods[i].has_receiver;
    if (fits_positions(reader, &reader->methods[i]))
      return;
    is_taken = is_taken || wanted < reader->given_count;
    most = wanted < reader->given_count && wanted > most ? wanted : most;
  }
  if (is_taken)
    reader->given_count = most;
}

static enum jp_status fit_positions(struct reader *reader)
{
  size_t receivers = 0;
  if (is_coerced(reader))
    drop_extra_params(reader);
  for (size_t i = 0; i < reader->count; i++) {
    reader->fitting[i] = fits_positions(reader, &reader->methods[i]);
    reader->fits += reader->fitting[i];
    receivers += reader->fitting[i] && reader->methods[i].has_receiver;
  }
  if (reader->fits == 0)
    return fail_params(reader, "the number of params is wrong");
  if (receivers == 0 || receivers == reader->fits)
    return JP_OK;
  bool wants_receiver = begins_with_ref(reader);
  for (size_t i = 0; i < reader->count; i++) {
    reader->fits -= reader->fitting[i] && reader->methods[i].has_receiver != wants_receiver;
    reader->fitting[i] = reader->fitting[i] && reader->methods[i].has_receiver == wants_receiver;
  }
  return JP_OK;
}

/* The position of a parameter, or the number of parameters where none has the name. */
static size_t find_position(const struct reader *reader, const struct java_method *method, struct text name)
{
  size_t wanted = (size_t)method->parameter_count + method->has_receiver;
  size_t at = 0;
  if (is_coerced(reader) && read_position(name, wanted, &at))
    return at;
  for (at = 0; at < wanted; at++) {
    bool is_receiver = method->has_receiver && at == 0;
    struct text own = is_receiver ? TEXT("instance") : method->parameters[at - method->has_receiver].name;
    if (text_equal(own, name))
      break;
  }
  return at;
}

/* Puts the values in the order of the method's parameters. False where not each of them is named once. */
static bool fit_names(struct reader *reader, const struct java_method *method, bool drops_extra,
                      struct json_value *values)
{
  size_t wanted = (size_t)method->parameter_count + method->has_receiver;
  size_t found = 0;
  struct json_cursor cursor = json_enter(reader->request->params);
  struct text key;
  struct json_value value;
  for (size_t i = 0; i < wanted; i++)
    values[i].span = TEXT_ABSENT;
  while (json_next_member(&cursor, &key, &value)) {
    struct text name = json_unescape(key, reader->arena);
    if (name.data == NULL)
      return false;
    size_t at = find_position(reader, method, name);
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

/* Of overloads that fit with params dropped, those that take the most params count. True where one before
 * takes more than this one, which takes `wanted`. Where this one takes more, those before are no longer
 * fitting. */
static bool is_outdone(struct reader *reader, size_t index, size_t wanted)
{
  if (reader->fits > 0 && wanted > reader->given_count) {
    for (size_t i = 0; i < index; i++)
      reader->fitting[i] = false;
    reader->fits = 0;
  }
  return reader->fits > 0 && wanted < reader->given_count;
}

static enum jp_status fit_all_names(struct reader *reader, bool drops_extra)
{
  bool has_receiver = false;
  for (size_t i = 0; i < reader->count; i++) {
    const struct java_method *method = &reader->methods[i];
    size_t wanted = (size_t)method->parameter_count + method->has_receiver;
    struct json_value *values = arena_alloc(reader->arena, (wanted + 1) * sizeof *values);
    if (values == NULL)
      return fail_memory(reader);
    reader->fitting[i] = fit_names(reader, method, drops_extra, values) && !is_outdone(reader, i, wanted);
    if (!reader->fitting[i])
      continue;
    if (reader->fits++ > 0 &&
        (has_receiver != method->has_receiver || !is_same_order(reader->given, values, wanted)))
      return fail_params(reader, "several overloads have these params in different orders");
    has_receiver = method->has_receiver;
    reader->given = values;
    reader->given_count = wanted;
  }
  return JP_OK;
}

static enum jp_status fail_param_names(struct reader *reader)
{
  struct text near = TEXT("");
  if (!reader->rules->compat_pal)
    near = java_methods_near_param(reader->methods, reader->count, reader->request->params, reader->arena);
  struct text why = arena_printf(reader->arena, "these are not the names of the params%.*s", TEXT_ARGS(near));
  return why.data == NULL ? fail_memory(reader) : fail_params(reader, why.data);
}

static enum jp_status read_names(struct reader *reader)
{
  enum jp_status status = fit_all_names(reader, false);
  if (status == JP_OK && reader->fits == 0 && is_coerced(reader))
    status = fit_all_names(reader, true);
  return status == JP_OK && reader->fits == 0 ? fail_param_names(reader) : status;
}

static enum jp_status read_given(struct reader *reader)
{
  bool has_names = reader->request->has_params && reader->request->params.kind == JSON_KIND_OBJECT;
  if (has_names && is_coerced(reader) && read_numbered(reader))
    return fit_positions(reader);
  if (has_names)
    return read_names(reader);
  if (reader->request->has_params) {
    enum jp_status status = read_positions(reader);
    if (status != JP_OK)
      return status;
  }
  return fit_positions(reader);
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

/* A bare text: the class is the member's own, which nobody has named beside it. */
static enum jp_status read_receiver_text(struct reader *reader, struct json_value json)
{
  struct op_value *receiver = arena_calloc(reader->arena, 1, sizeof *receiver);
  if (receiver == NULL)
    return fail_memory(reader);
  *receiver = (struct op_value){.kind = OP_TEXT,
                                .is_told = true,
                                .type = reader->operation->type,
                                .text = json_read_string(json, reader->arena)};
  reader->operation->receiver = receiver;
  return receiver->text.data == NULL ? fail_memory(reader) : JP_OK;
}

/* An object with these members, the type among them. */
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

static enum jp_status read_receiver_value(struct reader *reader, struct json_value json)
{
  struct rpc_value_reader decoder;
  rpc_value_reader_init(&decoder, reader->rules->digits_max, reader->rules->values_max, reader->arena,
                        reader->outcome);
  decoder.callbacks = reader->rules->callbacks;
  decoder.shared = reader->rules->shared;
  return rpc_receiver_read(&decoder, json, &reader->operation->receiver);
}

static enum jp_status read_receiver(struct reader *reader, struct json_value json)
{
  bool takes_values = !reader->rules->compat_pal;
  if (is_coerced(reader) && rpc_value_coerce(json, RPC_WANTS_NUMBER, reader->arena, &json) != JP_OK)
    return fail_memory(reader);
  reader->operation->has_instance = read_ref(json, &reader->operation->instance);
  if (reader->operation->has_instance)
    return JP_OK;
  if (takes_values && json.kind == JSON_KIND_STRING)
    return read_receiver_text(reader, json);
  if (takes_values && is_typed_value(json))
    return read_receiver_value(reader, json);
  return fail_params(reader, takes_values ? "'instance' must be a ref ({\"ref\": N}, or N) or a value "
                                            "({\"type\": T, \"value\": V}, or its text)"
                                          : "'instance' must be a ref: {\"ref\": N}, or N");
}

/* What JSON-RPC 1.1, 6.6.1 turns an argument into. A byte[] or char[] may be given as a text, so that one is
 * not put into an array. */
static enum rpc_wants wants_of(struct text descriptor)
{
  if (descriptor.data[0] == '[')
    return descriptor.data[1] == 'B' || descriptor.data[1] == 'C' ? RPC_WANTS_OBJECT : RPC_WANTS_LIST;
  if (descriptor.data[0] == 'Z')
    return RPC_WANTS_BOOLEAN;
  return strchr("BSIJFD", descriptor.data[0]) != NULL ? RPC_WANTS_NUMBER : RPC_WANTS_OBJECT;
}

static enum jp_status coerce_arguments(struct reader *reader, const struct java_method *method, size_t count)
{
  struct json_value *given = reader->given + method->has_receiver;
  struct text rest = text_slice(method->descriptor, 1, method->descriptor.len);
  for (size_t i = 0; count == method->parameter_count && i < count; i++) {
    struct op_type type;
    enum rpc_wants wants = wants_of(rest);
    if (op_type_parse_descriptor(&rest, reader->arena, &type) != JP_OK)
      return fail_memory(reader);
    bool is_whole = given[i].kind == JSON_KIND_NULL || given[i].kind == JSON_KIND_OBJECT;
    if (!is_whole && rpc_value_coerce(given[i], wants, reader->arena, &given[i]) != JP_OK)
      return fail_memory(reader);
  }
  return JP_OK;
}

static enum jp_status read_arguments(struct reader *reader, const struct json_value *given, size_t count)
{
  struct operation *operation = reader->operation;
  struct rpc_value_reader decoder;
  rpc_value_reader_init(&decoder, reader->rules->digits_max, reader->rules->values_max, reader->arena,
                        reader->outcome);
  decoder.compat_pal = reader->rules->compat_pal;
  decoder.callbacks = reader->rules->callbacks;
  decoder.shared = reader->rules->shared;
  operation->args = arena_calloc(reader->arena, count, sizeof *operation->args);
  if (operation->args == NULL)
    return fail_memory(reader);
  operation->arg_count = count;
  for (size_t i = 0; i < count; i++) {
    decoder.argument = i;
    enum jp_status status = rpc_value_read(&decoder, given[i], &operation->args[i]);
    if (status != JP_OK)
      return status;
  }
  return JP_OK;
}

/* Declares the types of the one method that is left, so that resolution chooses it. */
static enum jp_status declare_types(struct reader *reader, const struct java_method *method)
{
  struct operation *operation = reader->operation;
  bool is_exact = operation->arg_count == method->parameter_count;
  bool needs_types = method->is_varargs || method->overloaded;
  struct text rest = text_slice(method->descriptor, 1, method->descriptor.len);
  for (size_t i = 0; is_exact && i < operation->arg_count; i++) {
    struct op_type type;
    enum jp_status status = op_type_parse_descriptor(&rest, reader->arena, &type);
    struct text name = status == JP_OK ? op_type_source_name(&type, reader->arena) : TEXT_ABSENT;
    if (name.data == NULL)
      return fail_memory(reader);
    if (needs_types && operation->args[i].type.data == NULL) {
      operation->args[i].type = name;
      operation->args[i].is_told = true;
    }
    if (!java_value_type_elements(method->parameters[i].type, reader->arena, &operation->args[i]))
      return fail_memory(reader);
  }
  return JP_OK;
}

static enum jp_status make_operation(struct reader *reader)
{
  size_t chosen = 0;
  while (chosen + 1 < reader->count && !reader->fitting[chosen])
    chosen++;
  const struct java_method *method = &reader->methods[chosen];
  size_t receivers = method->has_receiver;
  enum jp_status status = receivers == 0 ? JP_OK : read_receiver(reader, reader->given[0]);
  if (status == JP_OK && reader->fits == 1 && is_coerced(reader))
    status = coerce_arguments(reader, method, reader->given_count - receivers);
  if (status == JP_OK)
    status = read_arguments(reader, reader->given + receivers, reader->given_count - receivers);
  return status == JP_OK && reader->fits == 1 ? declare_types(reader, method) : status;
}

/* ---- */

/* JSON-RPC 1.1, 6.3.2: HTTP GET may only call members that the policy lists as idempotent. */
static enum jp_status check_safe(const struct java_method_finder *finder)
{
  const struct operation *operation = finder->operation;
  if (!finder->request->only_safe ||
      policy_is_idempotent(finder->authorizer->policy, operation->type, operation->member))
    return JP_OK;
  outcome_fail(finder->outcome, finder->arena, FAILURE_NOT_SAFE, NULL,
               "'%.*s' may change something, so that it is called by POST",
               TEXT_ARGS(java_method_finder_show_name(finder)));
  return JP_INVALID;
}

static enum jp_status decode_params(const struct java_method_finder *finder)
{
  struct reader reader = {.request = finder->request,
                          .rules = finder->rules,
                          .arena = finder->arena,
                          .operation = finder->operation,
                          .outcome = finder->outcome,
                          .member = finder->name.member,
                          .methods = finder->methods,
                          .count = finder->count};
  enum jp_status status = check_safe(finder);
  if (status == JP_OK)
    status = read_given(&reader);
  return status == JP_OK ? make_operation(&reader) : status;
}

/* The object that is the receiver, if the member is an object's: `instance`, or the first of the params. */
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

/* As the class of the possible receiver has the member. False: that has none, or the object is an argument, so that the
 * name means what it means without the object. */
static bool decode_for_instance(struct java_method_finder *finder, uint32_t instance, enum jp_status *status)
{
  const struct operation named = *finder->operation;
  bool found = java_method_finder_run(finder, instance, false) == JP_OK;
  if (found)
    *status = decode_params(finder);
  java_method_finder_drop(finder);
  bool is_decided = found && (*status != JP_OK || finder->operation->has_instance);
  if (!is_decided)
    *finder->operation = named;
  return is_decided;
}

/* The class alone is denied: its object may let the caller use the method. Else the denial stays. */
static enum jp_status decode_denied(struct java_method_finder *finder, uint32_t instance,
                                    enum jp_status denied)
{
  const struct outcome denial = *finder->outcome;
  enum jp_status status = denied;
  finder->is_beyond = true;
  if (decode_for_instance(finder, instance, &status))
    return status;
  *finder->outcome = denial;
  return denied;
}

static bool may_have_instance(const struct java_method_finder *finder, uint32_t *instance)
{
  return finder->rules->loader == 0 && finder->operation->kind == OP_CALL &&
         read_possible_instance(finder->request, instance);
}

static enum jp_status decode_found(struct java_method_finder *finder)
{
  uint32_t instance = 0;
  enum jp_status status = java_method_finder_begin(finder);
  if (status != JP_OK)
    return status;
  if ((finder->is_beyond || finder->by_object) && may_have_instance(finder, &instance)) {
    finder->is_beyond = true;
    if (decode_for_instance(finder, instance, &status))
      return status;
  }
  if (finder->by_object)
    return java_method_finder_deny(finder);
  status = java_method_finder_run(finder, 0, true);
  if (status == JP_OK)
    status = decode_params(finder);
  java_method_finder_drop(finder);
  return status == JP_DENIED && !finder->is_beyond && may_have_instance(finder, &instance)
             ? decode_denied(finder, instance, status)
             : status;
}

enum jp_status java_method_decode(const struct jsonrpc_request *request, struct catalog *catalog,
                                  struct java_methods_index *index, const struct rpc_authorizer *authorizer,
                                  const struct java_method_rules *rules, struct arena *arena,
                                  struct operation *operation, struct outcome *outcome)
{
  struct java_method_finder finder = {.request = request,
                                      .rules = rules,
                                      .authorizer = authorizer,
                                      .catalog = catalog,
                                      .index = index,
                                      .arena = arena,
                                      .operation = operation,
                                      .outcome = outcome};
  enum jp_status status = decode_found(&finder);
  java_method_finder_end(&finder);
  return status;
}
