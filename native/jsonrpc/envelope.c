#include "jsonrpc/envelope.h"

#include <stdarg.h>
#include <stdio.h>

enum member {
  MEMBER_JSONRPC,
  MEMBER_METHOD,
  MEMBER_PARAMS,
  MEMBER_ID,
  MEMBER_VERSION,
  MEMBER_PEER_ID,
  MEMBER_OPTIONS, /* a service without options knows neither this one nor those below */
  MEMBER_EPOCH,
  MEMBERS
};

static const struct text member_names[MEMBERS] = {
    [MEMBER_JSONRPC] = TEXT("jsonrpc"), [MEMBER_METHOD] = TEXT("method"),
    [MEMBER_PARAMS] = TEXT("params"),   [MEMBER_ID] = TEXT("id"),
    [MEMBER_VERSION] = TEXT("version"), [MEMBER_PEER_ID] = TEXT("peer-id"),
    [MEMBER_OPTIONS] = TEXT("options"), [MEMBER_EPOCH] = TEXT("epoch"),
};

struct members {
  bool present[MEMBERS];
  struct json_value values[MEMBERS];
  enum member repeated; /* the first repeated one; MEMBERS: none */
};

static bool fail_envelope(struct envelope *envelope, enum jsonrpc_code code, const char *format, ...)
    JP_PRINTF(3, 4);

static bool fail_envelope(struct envelope *envelope, enum jsonrpc_code code, const char *format, ...)
{
  va_list args;
  va_start(args, format);
  vsnprintf(envelope->detail, sizeof envelope->detail, format, args);
  va_end(args);
  envelope->code = code;
  return false;
}

static void collect_members(struct json_value object, struct envelope_rules rules, struct members *members)
{
  const int known = rules.takes_options ? MEMBERS : MEMBER_OPTIONS;
  memset(members->present, 0, sizeof members->present);
  members->repeated = MEMBERS;
  struct json_cursor cursor = json_enter(object);
  struct text raw_key;
  struct json_value value;
  while (json_next_member(&cursor, &raw_key, &value)) {
    int found = json_find_key(raw_key, member_names, known);
    if (found < 0)
      continue;
    enum member member = (enum member)found;
    if (members->present[member] && members->repeated == MEMBERS)
      members->repeated = member;
    members->present[member] = true;
    members->values[member] = value;
  }
}

static bool is_string(const struct members *members, enum member member, struct text wanted)
{
  if (!members->present[member] || members->values[member].kind != JSON_KIND_STRING)
    return false;
  struct text span = members->values[member].span;
  return json_key_is(text_slice(span, 1, span.len - 1), wanted);
}

/* JSON-RPC 1.1, 6.2: "can be of any JSON type". */
static bool is_id(enum json_kind kind, enum jsonrpc_version version)
{
  return version == JSONRPC_1_1 || kind == JSON_KIND_STRING || kind == JSON_KIND_NUMBER ||
         kind == JSON_KIND_NULL;
}

static enum jsonrpc_version find_version(const struct members *members, bool in_batch)
{
  bool is_1_1 = !members->present[MEMBER_JSONRPC] && is_string(members, MEMBER_VERSION, TEXT("1.1"));
  return is_1_1 && !in_batch ? JSONRPC_1_1 : JSONRPC_2_0;
}

static bool check_version(const struct members *members, struct envelope *envelope)
{
  if (envelope->request.version == JSONRPC_1_1 || is_string(members, MEMBER_JSONRPC, TEXT("2.0")))
    return true;
  if (members->present[MEMBER_JSONRPC])
    return fail_envelope(envelope, JSONRPC_INVALID_REQUEST, "The member jsonrpc is not \"2.0\"");
  if (is_string(members, MEMBER_VERSION, TEXT("1.1")))
    return fail_envelope(envelope, JSONRPC_INVALID_REQUEST, "JSON-RPC 1.1 has no batches");
  return fail_envelope(envelope, JSONRPC_INVALID_REQUEST, "The member jsonrpc is missing");
}

static bool read_method(const struct members *members, struct arena *arena, struct envelope *envelope)
{
  if (!members->present[MEMBER_METHOD])
    return fail_envelope(envelope, JSONRPC_INVALID_REQUEST, "Method is missing");
  struct json_value value = members->values[MEMBER_METHOD];
  if (value.kind != JSON_KIND_STRING)
    return fail_envelope(envelope, JSONRPC_INVALID_REQUEST, "The member method is not a string");
  envelope->request.method = json_read_string(value, arena);
  if (envelope->request.method.data == NULL)
    return fail_envelope(envelope, JSONRPC_INTERNAL_ERROR, "Out of memory");
  return true;
}

static bool read_params(const struct members *members, struct envelope *envelope)
{
  if (!members->present[MEMBER_PARAMS])
    return true;
  struct json_value value = members->values[MEMBER_PARAMS];
  if (value.kind != JSON_KIND_ARRAY && value.kind != JSON_KIND_OBJECT)
    return fail_envelope(envelope, JSONRPC_INVALID_REQUEST,
                         "The member params is neither an object nor an array");
  envelope->request.has_params = true;
  envelope->request.params = value;
  return true;
}

/* A string without its escapes, another value as written. */
static bool read_name(const struct members *members, enum member member, struct arena *arena,
                      struct envelope *envelope, struct text *name)
{
  if (!members->present[member])
    return true;
  struct json_value value = members->values[member];
  *name = value.kind == JSON_KIND_STRING ? json_read_string(value, arena) : value.span;
  if (name->data == NULL)
    return fail_envelope(envelope, JSONRPC_INTERNAL_ERROR, "Out of memory");
  return true;
}

/* Its members are the service's to judge. */
static void take_options(const struct members *members, struct envelope *envelope)
{
  envelope->request.has_options = members->present[MEMBER_OPTIONS];
  if (members->present[MEMBER_OPTIONS])
    envelope->request.options = members->values[MEMBER_OPTIONS];
}

static size_t skip_space(struct text t, size_t at)
{
  while (at < t.len && t.data[at] != '\0' && strchr(" \t\r\n", t.data[at]) != NULL)
    at++;
  return at;
}

/* Reads the id, whatever else is wrong with the request; false where it is no valid one. */
static bool read_id(const struct members *members, struct envelope *envelope)
{
  if (!members->present[MEMBER_ID])
    return true;
  struct json_value id = members->values[MEMBER_ID];
  bool readable = is_id(id.kind, envelope->request.version);
  if (readable && members->repeated != MEMBER_ID)
    envelope->request.id = id.span;
  return readable;
}

bool envelope_read(struct json_value value, struct envelope_rules rules, struct arena *arena,
                   struct envelope *envelope)
{
  envelope->request = (struct jsonrpc_request){0};
  if (value.kind != JSON_KIND_OBJECT)
    return fail_envelope(envelope, JSONRPC_INVALID_REQUEST, "The request is not an object");
  struct members members;
  collect_members(value, rules, &members);
  envelope->request.version = find_version(&members, rules.in_batch);
  bool readable_id = read_id(&members, envelope);
  if (members.repeated != MEMBERS)
    return fail_envelope(envelope, JSONRPC_INVALID_REQUEST, "The member %s is given twice",
                         member_names[members.repeated].data);
  if (!readable_id)
    return fail_envelope(envelope, JSONRPC_INVALID_REQUEST,
                         "The member id is neither a string, a number nor null");
  envelope->request.is_notification = envelope->request.version == JSONRPC_2_0 && !members.present[MEMBER_ID];
  take_options(&members, envelope);
  return check_version(&members, envelope) && read_method(&members, arena, envelope) &&
         read_params(&members, envelope) &&
         read_name(&members, MEMBER_PEER_ID, arena, envelope, &envelope->request.peer_id) &&
         read_name(&members, MEMBER_EPOCH, arena, envelope, &envelope->request.epoch);
}

bool jsonrpc_looks_like_1_1(struct text message)
{
  static const char jsonrpc[] = "\"jsonrpc\"";
  static const char version[] = "\"version\"";
  if (message.len == 0 || memmem(message.data, message.len, jsonrpc, sizeof jsonrpc - 1) != NULL)
    return false;
  const char *found = memmem(message.data, message.len, version, sizeof version - 1);
  if (found == NULL)
    return false;
  size_t at = skip_space(message, (size_t)(found - message.data) + sizeof version - 1);
  if (at == message.len || message.data[at] != ':')
    return false;
  at = skip_space(message, at + 1);
  return text_starts_with(text_slice(message, at, message.len), TEXT("\"1.1\""));
}
