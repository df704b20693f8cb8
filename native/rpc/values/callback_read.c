#include "rpc/values/callback_read.h"

#include "base/number.h"

/* Members of the object in addition to `ref`; other members are ignored, as in every argument. */
enum callback_member {
  CALLBACK_INTERFACES,
  CALLBACK_ARITY,
  CALLBACK_OVERRIDES,
  CALLBACK_ONEWAY,
  CALLBACK_BORROW,
  CALLBACK_ORIGIN,
  CALLBACK_MEMBERS
};

static const struct text member_names[CALLBACK_MEMBERS] = {
    [CALLBACK_INTERFACES] = TEXT("interfaces"), [CALLBACK_ARITY] = TEXT("arity"),
    [CALLBACK_OVERRIDES] = TEXT("overrides"),   [CALLBACK_ONEWAY] = TEXT("oneway"),
    [CALLBACK_BORROW] = TEXT("borrow"),         [CALLBACK_ORIGIN] = TEXT("origin"),
};

static enum jp_status fail_callback(struct rpc_value_reader *reader, const char *what)
{
  outcome_fail(reader->outcome, reader->arena, FAILURE_INVALID_PARAMS, NULL, "%s: %s",
               rpc_value_place(reader), what);
  return JP_INVALID;
}

static enum jp_status fail_member(struct rpc_value_reader *reader, enum callback_member member,
                                  const char *what)
{
  outcome_fail(reader->outcome, reader->arena, FAILURE_INVALID_PARAMS, NULL, "%s: '%s' %s",
               rpc_value_place(reader), member_names[member].data, what);
  return JP_INVALID;
}

bool rpc_callback_is_meant(struct json_value ref)
{
  struct text key;
  struct json_value value;
  bool found = false;
  if (ref.kind != JSON_KIND_OBJECT)
    return false;
  struct json_cursor cursor = json_enter(ref);
  while (!found && json_next_member(&cursor, &key, &value))
    found = json_key_is(key, TEXT("callback"));
  return found;
}

/* The callback ID in an object that is the whole value of a member `ref`; 0: none. */
static int64_t read_id(struct json_value ref)
{
  struct text key;
  struct json_value id;
  struct json_value another;
  struct number number;
  if (ref.kind != JSON_KIND_OBJECT)
    return 0;
  struct json_cursor cursor = json_enter(ref);
  if (!json_next_member(&cursor, &key, &id) || !json_key_is(key, TEXT("callback")) ||
      id.kind != JSON_KIND_NUMBER || json_next_member(&cursor, &key, &another))
    return 0;
  number_read(id.span, &number);
  return number.fits && number.suffix == 0 && number.integer > 0 ? number.integer : 0;
}

static enum jp_status read_name(struct rpc_value_reader *reader, enum callback_member member,
                                struct json_value json, struct text *name)
{
  if (json.kind != JSON_KIND_STRING)
    return fail_member(reader, member, "must be a list of strings");
  *name = json_read_string(json, reader->arena);
  if (name->data == NULL)
    return outcome_fail_memory(reader->outcome);
  if (name->len == 0)
    return fail_member(reader, member, "has an empty string");
  return name->len > OP_NAME_MAX ? fail_member(reader, member, "has a name that is too long") : JP_OK;
}

static enum jp_status read_names(struct rpc_value_reader *reader, const struct json_members *members,
                                 enum callback_member member, const struct text **names, size_t *count)
{
  struct json_value list = members->value[member];
  if (!members->has[member])
    return JP_OK;
  if (list.kind != JSON_KIND_ARRAY)
    return fail_member(reader, member, "must be a list of strings");
  size_t given = json_count(list);
  if (given == 0)
    return fail_member(reader, member, "is empty");
  if (given > RPC_CALLBACK_NAMES_MAX)
    return fail_member(reader, member, "has more than 256 names");
  struct text *read = arena_alloc(reader->arena, given * sizeof *read);
  if (read == NULL)
    return outcome_fail_memory(reader->outcome);
  struct json_cursor cursor = json_enter(list);
  struct json_value json;
  enum jp_status status = JP_OK;
  for (size_t i = 0; status == JP_OK && json_next_element(&cursor, &json); i++)
    status = read_name(reader, member, json, &read[i]);
  *names = read;
  *count = given;
  return status;
}

static enum jp_status read_arity(struct rpc_value_reader *reader, const struct json_members *members,
                                 struct op_callback *callback)
{
  struct json_value arity = members->value[CALLBACK_ARITY];
  struct number number = {.fits = false};
  if (!members->has[CALLBACK_ARITY])
    return JP_OK;
  if (arity.kind == JSON_KIND_NUMBER)
    number_read(arity.span, &number);
  if (!number.fits || number.suffix != 0 || number.integer < 0 || number.integer > RPC_ARITY_MAX)
    return fail_member(reader, CALLBACK_ARITY, "must be an integer from 0 to 255");
  callback->arity = (int)number.integer;
  return JP_OK;
}

static enum jp_status read_flag(struct rpc_value_reader *reader, const struct json_members *members,
                                enum callback_member member, bool *flag)
{
  enum json_kind kind = members->value[member].kind;
  if (!members->has[member])
    return JP_OK;
  if (kind != JSON_KIND_TRUE && kind != JSON_KIND_FALSE)
    return fail_member(reader, member, "must be a boolean");
  *flag = kind == JSON_KIND_TRUE;
  return JP_OK;
}

static enum jp_status check_facts(struct rpc_value_reader *reader, const struct op_callback *callback,
                                  const struct op_value *value)
{
  if (callback->interface_count > 0 && value->type.data != NULL)
    return fail_callback(reader, "has both 'type' and 'interfaces'");
  if (callback->is_oneway && callback->borrows)
    return fail_callback(reader, "'borrow' is not for a 'oneway' callback, whose calls have no answer");
  return JP_OK;
}

enum jp_status rpc_callback_read(struct rpc_value_reader *reader, struct json_value argument,
                                 struct json_value ref, struct op_value *value)
{
  struct json_members members;
  struct op_callback *callback = arena_alloc(reader->arena, sizeof *callback);
  if (callback == NULL)
    return outcome_fail_memory(reader->outcome);
  *callback = (struct op_callback){.id = read_id(ref), .arity = -1};
  if (callback->id == 0)
    return fail_callback(reader,
                         "a callback is {\"callback\":ID} and nothing else, where ID is an integer from 1");
  if (reader->rules->callbacks == NULL)
    return fail_callback(
        reader, "a callback needs a connection on which both sides may speak at any time, as over WebSocket");
  struct jp_error error;
  enum jp_status status =
      reader->rules->callbacks->accept(reader->rules->callbacks->context, callback->id, &error);
  if (status != JP_OK) {
    enum outcome_failure failure = status == JP_INVALID     ? FAILURE_INVALID_PARAMS
                                   : status == JP_NO_MEMORY ? FAILURE_INTERNAL
                                                            : FAILURE_SERVER;
    outcome_fail(reader->outcome, reader->arena, failure, NULL, "%s: %s", rpc_value_place(reader),
                 error.text);
    return status;
  }
  json_members_collect(argument, member_names, CALLBACK_MEMBERS, &members);
  if (members.repeated >= 0)
    return fail_member(reader, (enum callback_member)members.repeated, "is given twice");
  value->kind = OP_CALLBACK;
  value->callback = callback;
  status =
      read_names(reader, &members, CALLBACK_INTERFACES, &callback->interfaces, &callback->interface_count);
  if (status == JP_OK)
    status = read_arity(reader, &members, callback);
  if (status == JP_OK)
    status =
        read_names(reader, &members, CALLBACK_OVERRIDES, &callback->overrides, &callback->override_count);
  if (status == JP_OK)
    status = read_flag(reader, &members, CALLBACK_ONEWAY, &callback->is_oneway);
  if (status == JP_OK)
    status = read_flag(reader, &members, CALLBACK_BORROW, &callback->borrows);
  if (status == JP_OK)
    status = read_flag(reader, &members, CALLBACK_ORIGIN, &callback->sends_origin);
  return status == JP_OK ? check_facts(reader, callback, value) : status;
}

/* ---- finding without reading ---- */

struct scan {
  void (*found)(void *context, int64_t id);
  void *context;
};

static void scan_argument(const struct scan *scan, struct json_value json);

/* Scans the list of arguments, or the content of "value": inside these an object is a map, even if it has a
 * member `ref`. */
static void scan_contents(const struct scan *scan, struct json_value json)
{
  struct text key;
  struct json_value value;
  if (json.kind != JSON_KIND_ARRAY && json.kind != JSON_KIND_OBJECT)
    return;
  struct json_cursor cursor = json_enter(json);
  if (json.kind == JSON_KIND_ARRAY) {
    while (json_next_element(&cursor, &value))
      scan_argument(scan, value);
  } else {
    while (json_next_member(&cursor, &key, &value))
      scan_argument(scan, value);
  }
}

static void scan_argument(const struct scan *scan, struct json_value json)
{
  enum { TYPE, VALUE, REF, MEMBERS };
  static const struct text names[MEMBERS] = {TEXT("type"), TEXT("value"), TEXT("ref")};
  struct json_members members;
  if (json.kind != JSON_KIND_OBJECT) {
    scan_contents(scan, json);
    return;
  }
  json_members_collect(json, names, MEMBERS, &members);
  int64_t id = members.has[REF] ? read_id(members.value[REF]) : 0;
  if (id > 0)
    scan->found(scan->context, id);
  if (members.has[VALUE])
    scan_contents(scan, members.value[VALUE]);
  else if (!members.has[TYPE] && !members.has[REF])
    scan_contents(scan, json);
}

void rpc_callbacks_scan(struct json_value params, void (*found)(void *context, int64_t id), void *context)
{
  const struct scan scan = {found, context};
  scan_contents(&scan, params);
}

void rpc_callbacks_scan_argument(struct json_value argument, void (*found)(void *context, int64_t id),
                                 void *context)
{
  const struct scan scan = {found, context};
  scan_argument(&scan, argument);
}
