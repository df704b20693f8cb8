#include "jsonrpc/jsonrpc.h"

#include "json/writer.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>

/* ---- codes ---- */

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

enum { CODE_1_1_MIN = 100, CODE_1_1_MAX = 999 };

static const struct {
  int code;
  const char *message;
} messages[] = {
    {JSONRPC_PARSE_ERROR, "Parse error"},
    {JSONRPC_INVALID_REQUEST, "Invalid Request"},
    {JSONRPC_METHOD_NOT_FOUND, "Method not found"},
    {JSONRPC_INVALID_PARAMS, "Invalid params"},
    {JSONRPC_INTERNAL_ERROR, "Internal error"},
    {JSONRPC_SERVER_ERROR, "Server error"},
    {JSONRPC_ACCESS_DENIED, "RPC access denied"},
    {JSONRPC_1_1_SERVER_ERROR, "Server error"},
    {JSONRPC_1_1_PARSE_ERROR, "Parse error"},
    {JSONRPC_1_1_BAD_CALL, "Bad call"},
    {JSONRPC_1_1_SERVICE_ERROR, "Service error"},
    {JSONRPC_1_1_PROCEDURE_NOT_FOUND, "Procedure not found"},
    {JSONRPC_1_1_ACCESS_DENIED, "Access denied"},
    {JSONRPC_1_1_NOT_BY_GET, "Procedure not callable by HTTP GET"},
};

/* docs/jsonrpc-1.1.md, "Answers" */
static const struct {
  int code;
  int code_1_1;
} counterparts[] = {
    {JSONRPC_PARSE_ERROR, JSONRPC_1_1_PARSE_ERROR},
    {JSONRPC_INVALID_REQUEST, JSONRPC_1_1_BAD_CALL},
    {JSONRPC_INVALID_PARAMS, JSONRPC_1_1_BAD_CALL},
    {JSONRPC_METHOD_NOT_FOUND, JSONRPC_1_1_PROCEDURE_NOT_FOUND},
    {JSONRPC_INTERNAL_ERROR, JSONRPC_1_1_SERVER_ERROR},
    {JSONRPC_SERVER_ERROR, JSONRPC_1_1_SERVICE_ERROR},
    {JSONRPC_ACCESS_DENIED, JSONRPC_1_1_ACCESS_DENIED},
};

const char *jsonrpc_code_message(int code)
{
  for (size_t i = 0; i < COUNT_OF(messages); i++) {
    if (messages[i].code == code)
      return messages[i].message;
  }
  return "Server error";
}

/* Translates a handler's code to a code of JSON-RPC 1.1, which is always from 100 to 999 (7.4). */
static int code_1_1(int code)
{
  if (code >= CODE_1_1_MIN && code <= CODE_1_1_MAX)
    return code;
  for (size_t i = 0; i < COUNT_OF(counterparts); i++) {
    if (counterparts[i].code == code)
      return counterparts[i].code_1_1;
  }
  return JSONRPC_1_1_SERVICE_ERROR; /* a handler's own code: the procedure itself failed */
}

/* ---- envelopes ---- */

static bool is_space(char c)
{
  return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static size_t skip_space(struct text t, size_t at)
{
  while (at < t.len && is_space(t.data[at]))
    at++;
  return at;
}

enum member {
  MEMBER_JSONRPC,
  MEMBER_METHOD,
  MEMBER_PARAMS,
  MEMBER_ID,
  MEMBER_VERSION,
  MEMBER_PEER_ID,
  MEMBER_OPTIONS, /* a service without options does not read this member and the members below */
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
  enum member repeated; /* the first member that is repeated; MEMBERS: no member is repeated */
};

struct envelope {
  struct jsonrpc_request request; /* its id is the id of the answer, even if the request is invalid */
  enum jsonrpc_code code;         /* valid if read_envelope returns false */
  char detail[80];
};

struct envelope_rules {
  bool in_batch;      /* the value is an element of a batch */
  bool takes_options; /* of struct jsonrpc_service */
};

static bool fail_envelope(struct envelope *envelope, enum jsonrpc_code code, const char *format, ...)
    JP_PRINTF(3, 4);

static bool fail_envelope(struct envelope *envelope, enum jsonrpc_code code, const char *format, ...)
{
  va_list args;
  va_start(args, format);
  text_format_va(envelope->detail, sizeof envelope->detail, format, args);
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
static bool is_id_kind(enum json_kind kind, enum jsonrpc_version version)
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

/* Reads a name: a string is unescaped, and any other value is copied as written. */
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

/* Reads the id even if the rest of the request is invalid; false if the id is invalid. */
static bool read_id(const struct members *members, struct envelope *envelope)
{
  if (!members->present[MEMBER_ID])
    return true;
  struct json_value id = members->values[MEMBER_ID];
  bool readable = is_id_kind(id.kind, envelope->request.version);
  if (readable && members->repeated != MEMBER_ID)
    envelope->request.id = id.span;
  return readable;
}

/*
 * False if the value is not a request (JSON-RPC 2.0, section 4; JSON-RPC 1.1, 6.2). In that case code and
 * detail say why, request.version is the version of the answer, and request.id is the id, or absent if the id
 * could not be read.
 */
static bool read_envelope(struct json_value value, struct envelope_rules rules, struct arena *arena,
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
  /* The service judges its members. */
  envelope->request.has_options = members.present[MEMBER_OPTIONS];
  if (members.present[MEMBER_OPTIONS])
    envelope->request.options = members.values[MEMBER_OPTIONS];
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

/* ---- answers among the messages of a connection on which both sides send requests (JSON-RPC 2.0, section 5) ---- */

static bool is_null(struct json_value value)
{
  return value.kind == JSON_KIND_NULL;
}

bool jsonrpc_answer_read(struct json_value message, struct jsonrpc_answer *answer)
{
  enum { ID, RESULT, FAULT, METHOD, MEMBERS };
  static const struct text names[MEMBERS] = {TEXT("id"), TEXT("result"), TEXT("error"), TEXT("method")};
  struct json_members members;
  if (message.kind != JSON_KIND_OBJECT)
    return false;
  json_members_collect(message, names, MEMBERS, &members);
  bool has_both = members.has[RESULT] && members.has[FAULT];
  bool has_error = members.has[FAULT] && !(has_both && is_null(members.value[FAULT]));
  bool has_result = members.has[RESULT] && !(has_both && has_error && is_null(members.value[RESULT]));
  if (members.repeated >= 0 || !members.has[ID] || members.has[METHOD] || has_result == has_error)
    return false;
  answer->id = members.value[ID];
  answer->is_error = has_error;
  answer->value = members.value[answer->is_error ? FAULT : RESULT];
  return true;
}

/* ---- the id of a broken message ---- */

/* A scan of text that may end, or stop being JSON, at any place. */
struct walk {
  struct text text;
  size_t at;
  size_t depth; /* brackets that are open */
};

/* The place after the string that begins at `at`; 0: the text ends inside the string. */
static size_t skip_string(struct text t, size_t at)
{
  for (at++; at < t.len && t.data[at] != '"'; at++)
    at += t.data[at] == '\\';
  return at < t.len ? at + 1 : 0;
}

static bool is_opening(char c)
{
  return c == '{' || c == '[';
}

static bool is_closing(char c)
{
  return c == '}' || c == ']';
}

/* Finds the next string directly inside the outermost bracket. False at the end. */
static bool find_string(struct walk *walk, struct text *raw)
{
  struct text t = walk->text;
  while (walk->at < t.len) {
    char c = t.data[walk->at];
    if (c != '"') {
      walk->depth += is_opening(c);
      walk->depth -= is_closing(c) && walk->depth > 0;
      walk->at++;
      continue;
    }
    size_t start = walk->at;
    walk->at = skip_string(t, start);
    if (walk->at == 0)
      return false;
    *raw = text_slice(t, start + 1, walk->at - 1);
    if (walk->depth == 1)
      return true;
  }
  return false;
}

/* The place after the value that begins at `at`; 0: the text ends inside the value. The value need not be
 * valid. */
static size_t skip_value(struct text t, size_t at)
{
  if (at < t.len && t.data[at] == '"')
    return skip_string(t, at);
  if (at == t.len || !is_opening(t.data[at])) {
    while (at < t.len && !is_space(t.data[at]) && !is_closing(t.data[at]) && t.data[at] != ',' &&
           t.data[at] != '"')
      at++;
    return at;
  }
  size_t depth = 0;
  do {
    if (t.data[at] == '"') {
      at = skip_string(t, at);
      if (at == 0)
        return 0;
      continue;
    }
    depth += is_opening(t.data[at]);
    depth -= is_closing(t.data[at]);
    at++;
  } while (depth > 0 && at < t.len);
  return depth == 0 ? at : 0;
}

static bool is_id_text(struct text value, enum jsonrpc_version version)
{
  struct json_fault fault;
  if (json_validate(value, (struct json_limits){JSON_DEPTH_MAX}, TEXT_ABSENT, &fault) != JP_OK)
    return false;
  return is_id_kind(json_root(value).kind, version);
}

/* True for the key "id". A key is unescaped only if its escapes are valid. */
static bool is_id_key(struct text raw_key)
{
  enum { LONGEST = sizeof "\\u0069\\u0064" - 1 };
  struct json_fault fault;
  struct text quoted = {raw_key.data - 1, raw_key.len + 2};
  return raw_key.len <= LONGEST &&
         json_validate(quoted, (struct json_limits){1}, TEXT_ABSENT, &fault) == JP_OK &&
         json_key_is(raw_key, TEXT("id"));
}

/* The value of the member `id`, if the scan finds exactly one such member and its value is a valid id;
 * otherwise absent. */
static struct text find_id(struct walk walk, enum jsonrpc_version version)
{
  struct text t = walk.text;
  struct text raw_key;
  struct text id = TEXT_ABSENT;
  size_t found = 0;
  while (find_string(&walk, &raw_key)) {
    size_t colon = skip_space(t, walk.at);
    if (colon == t.len || t.data[colon] != ':' || !is_id_key(raw_key))
      continue;
    size_t start = skip_space(t, colon + 1);
    size_t end = skip_value(t, start);
    found++;
    id = end == 0 ? TEXT_ABSENT : text_slice(t, start, end);
    if (end != 0)
      walk.at = end;
  }
  bool is_clear = found == 1 && id.data != NULL && is_id_text(id, version);
  return is_clear ? id : TEXT_ABSENT;
}

static size_t depth_at(struct text message, size_t at)
{
  struct walk walk = {.text = text_slice(message, 0, at)};
  struct text raw;
  while (find_string(&walk, &raw))
    ;
  return walk.depth;
}

struct text jsonrpc_salvage_id(struct text message, size_t fault, enum jsonrpc_version version)
{
  size_t first = skip_space(message, 0);
  if (first == message.len || message.data[first] != '{')
    return TEXT_ABSENT;
  struct text id = find_id((struct walk){.text = message}, version);
  /* After a string without its closing quote, the scan confuses strings with the text between them. A second
   * scan begins at the fault, where the confusion started. */
  if (id.data == NULL && fault > 0 && fault < message.len && depth_at(message, fault) == 1)
    id = find_id((struct walk){.text = message, .at = fault - 1, .depth = 1}, version);
  return id;
}

/* ---- answers to requests ---- */

enum { DETAIL_MAX = 128 };

enum progress { NOTHING_BEGUN, RESULT_BEGUN, ERROR_BEGUN };

/* The beginning of every answer of 2.0. The id follows, with the same text as in the request, or null. */
#define ANSWER_HEAD "{\"jsonrpc\":\"2.0\",\"id\":"

struct jsonrpc_response {
  struct buffer *out;
  enum jsonrpc_version version;
  struct text id;
  int code;         /* of the current error; a code of the request's version */
  size_t start;     /* of this answer in out */
  size_t value;     /* the start of the result or of the error's data */
  size_t error_end; /* the end of an error without data */
  enum progress progress;
  bool may_stream;
  void *stream;
  struct text suffix;
};

static void begin_answer_1_1(struct jsonrpc_response *response)
{
  BUFFER_LITERAL(response->out, "{\"version\":\"1.1\"");
  if (response->id.data == NULL)
    return;
  BUFFER_LITERAL(response->out, ",\"id\":");
  buffer_append_text(response->out, response->id);
}

static void begin_answer(struct jsonrpc_response *response)
{
  assert(response->stream == NULL);
  struct buffer *out = response->out;
  buffer_truncate(out, response->start);
  if (response->version == JSONRPC_1_1) {
    begin_answer_1_1(response);
    return;
  }
  BUFFER_LITERAL(out, ANSWER_HEAD);
  if (response->id.data == NULL)
    BUFFER_LITERAL(out, "null");
  else
    buffer_append_text(out, response->id);
}

struct buffer *jsonrpc_result(struct jsonrpc_response *response)
{
  begin_answer(response);
  BUFFER_LITERAL(response->out, ",\"result\":");
  response->progress = RESULT_BEGUN;
  response->value = response->out->len;
  return response->out;
}

size_t jsonrpc_id_offset(const struct jsonrpc_response *response)
{
  return response->start + sizeof ANSWER_HEAD - 1;
}

struct buffer *jsonrpc_error(struct jsonrpc_response *response, int code, const char *message)
{
  bool is_1_1 = response->version == JSONRPC_1_1;
  response->code = is_1_1 ? code_1_1(code) : code;
  if (is_1_1 && strcmp(message, jsonrpc_code_message(code)) == 0) /* a text from the handler is kept */
    message = jsonrpc_code_message(response->code);
  begin_answer(response);
  struct buffer *out = response->out;
  buffer_append_text(out, is_1_1 ? TEXT(",\"error\":{\"name\":\"JSONRPCError\",\"code\":")
                                 : TEXT(",\"error\":{\"code\":"));
  json_write_integer(out, response->code);
  BUFFER_LITERAL(out, ",\"message\":");
  json_write_string(out, text_of(message));
  response->progress = ERROR_BEGUN;
  response->error_end = out->len;
  buffer_append_text(out, is_1_1 ? TEXT(",\"error\":") : TEXT(",\"data\":"));
  response->value = out->len;
  return out;
}

void jsonrpc_result_stream(struct jsonrpc_response *response, void *stream, struct text suffix)
{
  assert(response->may_stream && response->progress == RESULT_BEGUN && response->stream == NULL);
  response->stream = stream;
  response->suffix = suffix;
}

/* Answers with an error that this module found. */
static void answer_error(const struct jsonrpc_service *service, struct jsonrpc_response *response,
                         enum jsonrpc_code code, struct text detail)
{
  struct buffer *data = jsonrpc_error(response, code, jsonrpc_code_message(code));
  if (service->write_error_data != NULL) {
    struct text id = response->id.data == NULL ? TEXT("null") : response->id;
    service->write_error_data(service->context, data, detail, id);
    return;
  }
  BUFFER_LITERAL(data, "{\"message\":");
  json_write_string(data, detail);
  buffer_append_char(data, '}');
}

static enum jsonrpc_handled end_answer(const struct jsonrpc_service *service,
                                       struct jsonrpc_response *response)
{
  struct buffer *out = response->out;
  bool empty = out->len == response->value;
  if (response->progress == NOTHING_BEGUN || (response->progress == RESULT_BEGUN && empty)) {
    answer_error(service, response, JSONRPC_INTERNAL_ERROR, TEXT("The request was not answered"));
    empty = out->len == response->value;
  }
  if (response->progress == ERROR_BEGUN) {
    if (empty)
      buffer_truncate(out, response->error_end);
    buffer_append_char(out, '}');
  }
  buffer_append_char(out, '}');
  if (response->version == JSONRPC_2_0 || response->progress != ERROR_BEGUN)
    return JSONRPC_REPLY;
  return response->code == JSONRPC_1_1_NOT_BY_GET ? JSONRPC_NOT_SAFE : JSONRPC_FAILED;
}

static struct jsonrpc_response begin_response(struct buffer *out, enum jsonrpc_version version,
                                              struct text id)
{
  return (struct jsonrpc_response){.out = out, .version = version, .id = id, .start = out->len};
}

static enum jsonrpc_handled run_request(const struct jsonrpc_service *service,
                                        struct jsonrpc_request *request, bool in_batch, struct buffer *out,
                                        struct jsonrpc_stream *stream)
{
  struct jsonrpc_response response = begin_response(out, request->version, request->id);
  request->only_safe = service->only_safe;
  request->may_stream = service->may_stream && !in_batch && !request->is_notification;
  response.may_stream = request->may_stream;
  service->handle(service->context, request, &response);
  if (request->is_notification) {
    buffer_truncate(out, response.start);
    return JSONRPC_NO_REPLY;
  }
  if (response.stream != NULL) {
    /* The stream continues the answer, and the tail ends it. */
    stream->stream = response.stream;
    stream->tail = arena_printf(service->arena, "%.*s}", TEXT_ARGS(response.suffix));
    if (stream->tail.data == NULL) {
      /* The caller closes the stream in every case, and never sends a buffer that has failed. */
      response.out->failed = true;
      stream->tail = TEXT("");
    }
    return JSONRPC_STREAM;
  }
  return end_answer(service, &response);
}

enum jsonrpc_handled jsonrpc_handle_request(const struct jsonrpc_service *service,
                                            struct jsonrpc_request *request, struct buffer *out,
                                            struct jsonrpc_stream *stream)
{
  return run_request(service, request, false, out, stream);
}

static enum jsonrpc_handled handle_value(const struct jsonrpc_service *service, struct json_value value,
                                         bool in_batch, struct buffer *out, struct jsonrpc_stream *stream)
{
  const struct envelope_rules rules = {.in_batch = in_batch, .takes_options = service->takes_options};
  struct envelope envelope;
  if (read_envelope(value, rules, service->arena, &envelope)) {
    envelope.request.arena = service->arena;
    envelope.request.text = value.span;
    return run_request(service, &envelope.request, in_batch, out, stream);
  }
  struct jsonrpc_response response = begin_response(out, envelope.request.version, envelope.request.id);
  answer_error(service, &response, envelope.code, text_of(envelope.detail));
  return end_answer(service, &response);
}

/* Answers a whole message with one error. id: absent if no request's id can be found in the message. */
static enum jsonrpc_handled refuse_message(const struct jsonrpc_service *service, struct buffer *out,
                                           enum jsonrpc_version version, struct text id,
                                           enum jsonrpc_code code, struct text detail)
{
  struct jsonrpc_response response = begin_response(out, version, id);
  answer_error(service, &response, code, detail);
  return end_answer(service, &response);
}

static bool is_blank(struct text message)
{
  return skip_space(message, 0) == message.len;
}

static enum jsonrpc_handled refuse_text(const struct jsonrpc_service *service, struct text message,
                                        enum jp_status status, const struct json_fault *fault,
                                        struct buffer *out)
{
  char detail[DETAIL_MAX];
  enum jsonrpc_version version = jsonrpc_looks_like_1_1(message) ? JSONRPC_1_1 : JSONRPC_2_0;
  if (status == JP_LIMIT) {
    snprintf(detail, sizeof detail, "The message passes the depth limit of %zu at byte %zu",
             service->limits.max_depth, fault->offset);
    /* Only the text before that byte is known to be JSON. */
    struct text id = jsonrpc_salvage_id(text_slice(message, 0, fault->offset), fault->offset, version);
    return refuse_message(service, out, version, id, JSONRPC_INVALID_REQUEST, text_of(detail));
  }
  if (is_blank(message))
    return refuse_message(service, out, version, TEXT_ABSENT, JSONRPC_PARSE_ERROR,
                          TEXT("The message is empty"));
  snprintf(detail, sizeof detail, "Byte %zu: %s", fault->offset, fault->reason);
  return refuse_message(service, out, version, TEXT_ABSENT, JSONRPC_PARSE_ERROR, text_of(detail));
}

/* ---- batches that run through the caller's map ---- */

struct batch_item {
  const struct jsonrpc_service *service;
  struct json_value value;
  struct arena arena;
  struct buffer out;
  enum jsonrpc_handled handled;
};

static void run_item(void *context)
{
  struct batch_item *item = context;
  struct jsonrpc_service service = *item->service;
  struct jsonrpc_stream unused;
  service.arena = &item->arena;
  item->handled = handle_value(&service, item->value, true, &item->out, &unused);
}

static bool join_items(struct batch_item *items, size_t count, struct buffer *out)
{
  bool replied = false;
  for (size_t i = 0; i < count; i++) {
    if (items[i].handled != JSONRPC_NO_REPLY) {
      buffer_append_char(out, replied ? ',' : '[');
      buffer_append_text(out, buffer_text(&items[i].out));
      replied = true;
    }
    out->failed = out->failed || items[i].out.failed;
    arena_fini(&items[i].arena);
    buffer_fini(&items[i].out);
  }
  return replied;
}

static enum jsonrpc_handled map_batch(const struct jsonrpc_service *service, struct json_value batch,
                                      size_t count, struct buffer *out)
{
  struct batch_item *items = arena_calloc(service->arena, count, sizeof *items);
  void **pointers = arena_calloc(service->arena, count, sizeof *pointers);
  if (items == NULL || pointers == NULL) {
    out->failed = true;
    return JSONRPC_REPLY;
  }
  struct json_cursor cursor = json_enter(batch);
  struct json_value element;
  for (size_t i = 0; json_next_element(&cursor, &element); i++) {
    items[i] = (struct batch_item){.service = service, .value = element, .handled = JSONRPC_NO_REPLY};
    arena_init(&items[i].arena);
    buffer_init(&items[i].out);
    pointers[i] = &items[i];
  }
  service->map(service->map_context, run_item, pointers, count);
  if (!join_items(items, count, out))
    return JSONRPC_NO_REPLY;
  buffer_append_char(out, ']');
  return JSONRPC_REPLY;
}

/* ---- batches that run in their order ---- */

/* The answers of a batch that have been written so far. */
struct answers {
  struct buffer *out;
  bool replied;
};

static size_t begin_next(struct answers *answers)
{
  size_t before = answers->out->len;
  buffer_append_char(answers->out, answers->replied ? ',' : '[');
  return before;
}

static void end_next(struct answers *answers, size_t before, enum jsonrpc_handled handled)
{
  if (handled == JSONRPC_NO_REPLY)
    buffer_truncate(answers->out, before);
  else
    answers->replied = true;
}

static enum jsonrpc_handled end_batch(struct answers *answers)
{
  if (!answers->replied)
    return JSONRPC_NO_REPLY;
  buffer_append_char(answers->out, ']');
  return JSONRPC_REPLY;
}

static enum jsonrpc_handled handle_element(const struct jsonrpc_service *service, struct json_value element,
                                           struct buffer *out, struct jsonrpc_stream *stream)
{
  if (service->match_cached != NULL &&
      service->match_cached(service->context, element.span) == element.span.len)
    return service->run_cached(service->context);
  return handle_value(service, element, true, out, stream);
}

static enum jsonrpc_handled handle_batch(const struct jsonrpc_service *service, struct json_value batch,
                                         struct buffer *out, struct jsonrpc_stream *stream)
{
  size_t count = json_count(batch);
  if (count == 0)
    return refuse_message(service, out, JSONRPC_2_0, TEXT_ABSENT, JSONRPC_INVALID_REQUEST,
                          TEXT("The batch is empty"));
  if (count > service->max_batch) {
    char detail[DETAIL_MAX];
    snprintf(detail, sizeof detail, "The batch of %zu requests passes the batch limit of %zu", count,
             service->max_batch);
    return refuse_message(service, out, JSONRPC_2_0, TEXT_ABSENT, JSONRPC_INVALID_REQUEST, text_of(detail));
  }
  if (service->map != NULL)
    return map_batch(service, batch, count, out);
  struct answers answers = {.out = out};
  struct json_cursor cursor = json_enter(batch);
  struct json_value element;
  while (json_next_element(&cursor, &element)) {
    struct arena_mark mark = arena_mark(service->arena);
    size_t before = begin_next(&answers);
    end_next(&answers, before, handle_element(service, element, out, stream));
    /* without this, the memory of all requests would be held until the end of the batch */
    arena_rewind(service->arena, mark);
  }
  return end_batch(&answers);
}

/* ---- batches of nothing but cached requests ---- */

static struct text skip_space_of(struct text t)
{
  return text_slice(t, skip_space(t, 0), t.len);
}

struct cached_batch {
  struct text rest;
  bool ended;
};

static bool match_next(const struct jsonrpc_service *service, struct cached_batch *batch)
{
  struct text rest = skip_space_of(batch->rest);
  size_t length = service->match_cached(service->context, rest);
  rest = skip_space_of(text_slice(rest, length, rest.len));
  if (length == 0 || rest.len == 0 || (*rest.data != ',' && *rest.data != ']'))
    return false;
  batch->ended = *rest.data == ']';
  batch->rest = text_slice(rest, 1, rest.len);
  return true;
}

/* The whole batch is matched before any of its requests runs, because the end of the batch may not be
 * JSON. */
static bool is_cached_batch(const struct jsonrpc_service *service, struct text message)
{
  if (service->match_cached == NULL || service->map != NULL || message.len == 0 || *message.data != '[')
    return false;
  struct cached_batch batch = {.rest = text_slice(message, 1, message.len)};
  bool is_cached = true;
  for (size_t count = 0; is_cached && !batch.ended; count++) {
    struct arena_mark mark = arena_mark(service->arena);
    is_cached = count < service->max_batch && match_next(service, &batch);
    arena_rewind(service->arena, mark); /* the request is matched again before it runs */
  }
  return is_cached && is_blank(batch.rest);
}

static enum jsonrpc_handled handle_cached_batch(const struct jsonrpc_service *service, struct text message,
                                                struct buffer *out)
{
  struct answers answers = {.out = out};
  struct cached_batch batch = {.rest = text_slice(message, 1, message.len)};
  struct arena_mark mark = arena_mark(service->arena);
  while (!batch.ended && match_next(service, &batch)) {
    size_t before = begin_next(&answers);
    end_next(&answers, before, service->run_cached(service->context));
    arena_rewind(service->arena, mark);
  }
  if (!batch.ended) { /* memory is short: a request that matched before did not match now */
    out->failed = true;
    return JSONRPC_REPLY;
  }
  return end_batch(&answers);
}

enum jsonrpc_handled jsonrpc_handle(const struct jsonrpc_service *service, struct text message,
                                    struct buffer *out, struct jsonrpc_stream *stream)
{
  struct json_fault fault;
  struct json_index index;
  if (is_cached_batch(service, message))
    return handle_cached_batch(service, message, out);
  enum jp_status status = json_validate_indexed(
      message, service->limits, service->is_strict ? TEXT_ABSENT : TEXT("params"), &index, &fault);
  if (status != JP_OK)
    return refuse_text(service, message, status, &fault, out);
  struct json_value root = json_root_indexed(message, &index);
  if (root.kind == JSON_KIND_ARRAY)
    return handle_batch(service, root, out, stream);
  return handle_value(service, root, false, out, stream);
}
