#include "client/messages/answer_json.h"

#include "base/array.h"
#include "base/capabilities.h"
#include "base/number.h"
#include "json/reader.h"

#include <stdlib.h>

/* The peer writes at most 256 levels (--depth-max). Each level takes some stack of a thread that may have
 * only 256 KiB. */
enum { DEPTH_MAX = 300, CAUSES_MAX = 1000 };

static enum jp_client_status fail_protocol(struct jp_client_error *error, const char *what)
{
  return client_fail(error, JP_CLIENT_PROTOCOL, "this is no answer: %s", what);
}

/* ---- messages ---- */

enum { ID, RESULT, ERROR, METHOD, OUTS, MEMBERS };

static enum jp_client_status read_message(struct json_value value, struct answer_reader *reader,
                                          struct jp_client_error *error)
{
  static const struct text names[] = {TEXT("id"), TEXT("result"), TEXT("error"), TEXT("method"),
                                      TEXT("outs")};
  struct json_members members;
  if (value.kind != JSON_KIND_OBJECT)
    return fail_protocol(error, "it is no object");
  json_members_collect(value, names, MEMBERS, &members);
  if (members.has[METHOD])
    return reader->request(reader, value, error);
  if (members.has[RESULT] == members.has[ERROR])
    return fail_protocol(error, "it has not one of result and error");
  struct answer_message message = {.is_error = members.has[ERROR],
                                   .body = members.value[members.has[ERROR] ? ERROR : RESULT]};
  if (members.has[ID] && members.value[ID].kind != JSON_KIND_NULL)
    message.id = members.value[ID].span;
  if (members.has[OUTS] && members.value[OUTS].kind == JSON_KIND_ARRAY)
    message.outs = members.value[OUTS].span;
  return reader->answer(reader, &message, error);
}

enum jp_client_status answers_read_json(struct text message, struct answer_reader *reader,
                                        struct jp_client_error *error)
{
  struct json_index index;
  struct json_fault fault;
  const struct json_limits limits = {.max_depth = DEPTH_MAX};
  size_t valid = text_valid_utf8(message);
  if (valid < message.len)
    return client_fail(error, JP_CLIENT_PROTOCOL, "this is no JSON: byte %zu is not UTF-8", valid);
  if (json_validate_indexed(message, limits, TEXT_ABSENT, &index, &fault) != JP_OK)
    return client_fail(error, JP_CLIENT_PROTOCOL, "this is no JSON: byte %zu: %s", fault.offset,
                       fault.reason);
  struct json_value root = json_root_indexed(message, &index);
  if (root.kind != JSON_KIND_ARRAY)
    return read_message(root, reader, error);
  struct json_cursor cursor = json_enter(root);
  struct json_value element;
  if (!json_next_element(&cursor, &element))
    return fail_protocol(error, "it is an empty batch");
  enum jp_client_status status;
  do {
    status = read_message(element, reader, error);
  } while (status == JP_CLIENT_OK && json_next_element(&cursor, &element));
  return status;
}

/* ---- refs ---- */

static bool read_ref_number(struct json_value value, uint32_t *ref)
{
  struct number number;
  if (value.kind != JSON_KIND_NUMBER)
    return false;
  number_read(value.span, &number);
  *ref = (uint32_t)number.integer;
  return number.fits && number.integer > 0 && number.integer <= INT32_MAX;
}

static bool keep_inner_ref(struct jp_answer *answer, uint32_t number, struct answer_refs *refs)
{
  struct jp_ref **inner_refs = array_grow(answer->inner_refs, answer->inner_ref_count,
                                          &answer->inner_ref_capacity, sizeof(struct jp_ref *));
  if (inner_refs == NULL)
    return false;
  answer->inner_refs = inner_refs;
  struct jp_ref *ref = refs->receive(refs, number, TEXT(""));
  if (ref != NULL)
    inner_refs[answer->inner_ref_count++] = ref;
  return ref != NULL;
}

/* Keeps a handle for each occurrence of a ref inside a value. */
static bool collect_refs(struct jp_answer *answer, struct json_value value, struct answer_refs *refs)
{
  struct json_cursor cursor;
  struct json_value inside;
  struct text key;
  uint32_t ref;
  bool good = true;
  if (value.kind != JSON_KIND_ARRAY && value.kind != JSON_KIND_OBJECT)
    return true;
  cursor = json_enter(value);
  if (value.kind == JSON_KIND_ARRAY) {
    while (good && json_next_element(&cursor, &inside))
      good = collect_refs(answer, inside, refs);
    return good;
  }
  while (good && json_next_member(&cursor, &key, &inside)) {
    bool is_ref = json_key_is(key, TEXT("ref")) && read_ref_number(inside, &ref);
    good = is_ref ? keep_inner_ref(answer, ref, refs) : collect_refs(answer, inside, refs);
  }
  return good;
}

/* The text of an array of objects is JSON in which {"ref":N} is an element. */
static bool collect_refs_of_text(struct jp_answer *answer, struct answer_refs *refs)
{
  struct text text = {answer->text.data, answer->text.len};
  const struct json_limits limits = {.max_depth = DEPTH_MAX};
  struct json_fault fault;
  if (answer->kind != JP_ANSWER_OBJECT || text.data == NULL || text.len == 0 || text.data[0] != '[' ||
      json_validate(text, limits, TEXT_ABSENT, &fault) != JP_OK)
    return true;
  return collect_refs(answer, json_root(text), refs);
}

/* ---- results in the envelope ---- */

enum { TYPE, NULLED, REF, VALUE, CALLBACK, VALUE_MEMBERS };

/* A malformed callback is ignored. */
static void read_callback(struct jp_answer *answer, struct json_value callback)
{
  static const struct text names[] = {TEXT("id"), TEXT("client")};
  struct json_members members;
  struct number id;
  struct number client;
  if (callback.kind != JSON_KIND_OBJECT)
    return;
  json_members_collect(callback, names, 2, &members);
  if (!members.has[0] || !members.has[1] || members.value[0].kind != JSON_KIND_NUMBER ||
      members.value[1].kind != JSON_KIND_NUMBER)
    return;
  number_read(members.value[0].span, &id);
  number_read(members.value[1].span, &client);
  if (!id.fits || !client.fits)
    return;
  answer->callback_id = id.integer;
  answer->callback_client = (uint64_t)client.integer;
}

static enum jp_client_status fill_value(struct jp_answer *answer, const struct json_members *members,
                                        struct answer_refs *refs, struct jp_client_error *error)
{
  struct text type = json_read_string(members->value[TYPE], &answer->arena);
  uint32_t ref = 0;
  if (type.data == NULL || !answer_set_type(answer, type))
    return answer_fail_memory(error);
  if (members->has[NULLED] && members->value[NULLED].kind == JSON_KIND_TRUE) {
    answer->kind = JP_ANSWER_NULL;
    return JP_CLIENT_OK;
  }
  if (members->has[VALUE]) {
    if (members->value[VALUE].kind != JSON_KIND_STRING)
      return fail_protocol(error, "its value is no string");
    struct text value = json_read_string(members->value[VALUE], &answer->arena);
    if (value.data == NULL)
      return answer_fail_memory(error);
    if (!answer_set_value(answer, type, value))
      return client_fail(error, JP_CLIENT_PROTOCOL, "\"%.*s\" is no value of type %s",
                         (int)text_cut(value, 100).len, value.data, answer->type);
    if (answer->text.data == NULL)
      return answer_fail_memory(error);
  }
  if (!members->has[REF])
    return members->has[VALUE] ? JP_CLIENT_OK : fail_protocol(error, "it has neither value nor ref");
  if (!read_ref_number(members->value[REF], &ref))
    return fail_protocol(error, "its ref is no ref");
  if (members->has[CALLBACK])
    read_callback(answer, members->value[CALLBACK]);
  return answer_set_ref(answer, ref, type, refs) ? JP_CLIENT_OK : answer_fail_memory(error);
}

enum jp_client_status answer_fill_value_json(struct jp_answer *answer, struct json_value value,
                                             struct answer_refs *refs, struct jp_client_error *error)
{
  static const struct text names[] = {TEXT("type"), TEXT("null"), TEXT("ref"), TEXT("value"),
                                      TEXT("callback")};
  struct json_members members;
  json_members_collect(value, names, VALUE_MEMBERS, &members);
  if (!members.has[TYPE] || members.value[TYPE].kind != JSON_KIND_STRING)
    return fail_protocol(error, "its value has no type");
  return fill_value(answer, &members, refs, error);
}

static enum jp_client_status fill_envelope(struct jp_answer *answer, struct json_value body,
                                           struct answer_refs *refs, struct jp_client_error *error)
{
  static const struct text names[] = {TEXT("void"), TEXT("value")};
  struct json_members result;
  if (body.kind != JSON_KIND_OBJECT)
    return fail_protocol(error, "its result is no object");
  json_members_collect(body, names, 2, &result);
  if (result.has[0] && result.value[0].kind == JSON_KIND_TRUE) {
    answer->kind = JP_ANSWER_VOID;
    return JP_CLIENT_OK;
  }
  if (!result.has[1] || result.value[1].kind != JSON_KIND_OBJECT)
    return fail_protocol(error, "its result has no value");
  return answer_fill_value_json(answer, result.value[1], refs, error);
}

/* ---- results that are plain JSON ---- */

static bool keep_json(struct jp_answer *answer, struct json_value value)
{
  static const enum jp_json_kind kinds[] = {
      [JSON_KIND_NULL] = JP_JSON_NULL,     [JSON_KIND_TRUE] = JP_JSON_TRUE,
      [JSON_KIND_FALSE] = JP_JSON_FALSE,   [JSON_KIND_NUMBER] = JP_JSON_NUMBER,
      [JSON_KIND_STRING] = JP_JSON_STRING, [JSON_KIND_ARRAY] = JP_JSON_ARRAY,
      [JSON_KIND_OBJECT] = JP_JSON_OBJECT};
  buffer_append_text(&answer->bytes, value.span);
  buffer_append_char(&answer->bytes, '\0'); /* the NUL is after the value */
  answer->json = (struct jp_json){.kind = kinds[value.kind], .text = {answer->bytes.data, value.span.len}};
  bool good = !answer->bytes.failed;
  answer->bytes.failed = false;
  return good;
}

static enum jp_client_status fill_plain(struct jp_answer *answer, struct json_value body,
                                        enum answer_form form, struct answer_refs *refs,
                                        struct jp_client_error *error)
{
  answer->kind = JP_ANSWER_JSON;
  if (!keep_json(answer, body))
    return answer_fail_memory(error);
  if (form == ANSWER_PLAIN && !collect_refs(answer, body, refs))
    return answer_fail_memory(error);
  return JP_CLIENT_OK;
}

/* ---- errors ---- */

/* The text of a string member; data NULL: absent, null or not a string. *good becomes false if there is no
 * memory. */
static struct text keep_member(struct jp_answer *answer, const struct json_members *members, int index,
                               bool *good)
{
  if (!members->has[index] || members->value[index].kind != JSON_KIND_STRING)
    return TEXT_ABSENT;
  struct text read = json_read_string(members->value[index], &answer->arena);
  struct text kept = read.data == NULL ? TEXT_ABSENT : answer_keep_text(answer, read);
  *good = *good && kept.data != NULL;
  return kept;
}

static bool keep_stack(struct jp_answer *answer, struct json_value list, struct jp_throwable *throwable)
{
  const char **frames = arena_alloc(&answer->arena, json_count(list) * sizeof *frames);
  struct json_cursor cursor = json_enter(list);
  struct json_value element;
  while (frames != NULL && json_next_element(&cursor, &element)) {
    struct text frame =
        element.kind == JSON_KIND_STRING ? json_read_string(element, &answer->arena) : TEXT("?");
    frames[throwable->stack_count] = frame.data == NULL ? NULL : answer_keep_text(answer, frame).data;
    if (frames[throwable->stack_count++] == NULL)
      return false;
  }
  throwable->stack = frames;
  return frames != NULL;
}

enum { THROWABLE_TYPE, MESSAGE, STACK_TRACE, CAUSE, THROWABLE_MEMBERS };

/* Reads one throwable; *cause is the JSON of its cause. NULL: no memory. */
static struct jp_throwable *keep_throwable(struct jp_answer *answer, struct json_value data,
                                           struct json_value *cause, bool *has_cause)
{
  static const struct text names[] = {TEXT("throwable_type"), TEXT("message"), TEXT("stack_trace"),
                                      TEXT("cause")};
  struct json_members members;
  bool good = true;
  struct jp_throwable *throwable = arena_calloc(&answer->arena, 1, sizeof *throwable);
  if (throwable == NULL)
    return NULL;
  json_members_collect(data, names, THROWABLE_MEMBERS, &members);
  throwable->type = keep_member(answer, &members, THROWABLE_TYPE, &good).data;
  throwable->message = keep_member(answer, &members, MESSAGE, &good).data;
  if (members.has[STACK_TRACE] && members.value[STACK_TRACE].kind == JSON_KIND_ARRAY)
    good = keep_stack(answer, members.value[STACK_TRACE], throwable) && good;
  *has_cause = members.has[CAUSE] && members.value[CAUSE].kind == JSON_KIND_OBJECT;
  if (*has_cause)
    *cause = members.value[CAUSE];
  return good ? throwable : NULL;
}

static bool keep_throwables(struct jp_answer *answer, struct json_value data)
{
  const struct jp_throwable **place = &answer->throwable;
  struct json_value next = data;
  bool has_next = true;
  for (int i = 0; has_next && i < CAUSES_MAX; i++) {
    struct jp_throwable *throwable = keep_throwable(answer, next, &next, &has_next);
    if (throwable == NULL)
      return false;
    *place = throwable;
    place = &throwable->cause;
  }
  return true;
}

/* Keeps the refs in an error. A cause repeats refs of another answer, so refs inside a cause are not sent
 * references. */
static bool keep_error_refs(struct jp_answer *answer, struct json_value data, struct answer_refs *refs)
{
  static const struct text names[] = {TEXT("loaders"), TEXT("ref")};
  struct json_members members;
  uint32_t ref;
  json_members_collect(data, names, 2, &members);
  if (members.has[0] && !collect_refs(answer, members.value[0], refs))
    return false;
  struct text type = text_of(answer->throwable->type == NULL ? "" : answer->throwable->type);
  if (!members.has[1] || !read_ref_number(members.value[1], &ref))
    return true;
  bool good = answer_set_ref(answer, ref, type, refs);
  answer->kind = JP_ANSWER_ERROR;
  return good;
}

static enum jp_client_status fill_error(struct jp_answer *answer, struct json_value body,
                                        struct answer_refs *refs, struct jp_client_error *error)
{
  static const struct text names[] = {TEXT("code"), TEXT("message"), TEXT("data")};
  static const struct jp_throwable none = {0};
  struct json_members members;
  struct number code;
  bool good = true;
  if (body.kind != JSON_KIND_OBJECT)
    return fail_protocol(error, "its error is no object");
  json_members_collect(body, names, 3, &members);
  if (!members.has[0] || members.value[0].kind != JSON_KIND_NUMBER)
    return fail_protocol(error, "its error has no code");
  number_read(members.value[0].span, &code);
  answer->kind = JP_ANSWER_ERROR;
  answer->code = code.fits && code.integer >= INT32_MIN && code.integer <= INT32_MAX ? (int)code.integer : 0;
  answer->message = keep_member(answer, &members, 1, &good).data;
  if (answer->message == NULL)
    answer->message = "";
  answer->throwable = &none;
  if (good && members.has[2])
    good = keep_json(answer, members.value[2]);
  if (good && members.has[2] && members.value[2].kind == JSON_KIND_OBJECT)
    good = keep_throwables(answer, members.value[2]) && keep_error_refs(answer, members.value[2], refs);
  if (good && answer->throwable->type == NULL && answer->throwable->message != NULL)
    answer->lacking = capability_find_lacking(text_of(answer->throwable->message)).data;
  return good ? JP_CLIENT_OK : answer_fail_memory(error);
}

/* ---- results and errors ---- */

enum answer_form answer_form_of(const struct jp_request *request)
{
  switch (request->operation) {
  case JP_FETCH:
  case JP_ASSEMBLE:
  case JP_COLUMNS:
  case JP_ROWS:
    return ANSWER_PLAIN;
  case JP_DESCRIBE:
    return ANSWER_DOCUMENT;
  case JP_METHOD: {
    struct text name = request->member == NULL ? TEXT("") : text_of(request->member);
    bool is_document = text_starts_with(name, TEXT("rpc.")) || text_starts_with(name, TEXT("system.")) ||
                       text_equal(name, TEXT("jpeer.describe"));
    return is_document ? ANSWER_DOCUMENT : ANSWER_PLAIN;
  }
  default:
    return request->options != NULL && request->options->elements ? ANSWER_ELEMENTS : ANSWER_ENVELOPE;
  }
}

enum jp_client_status answer_fill_json(struct jp_answer *answer, const struct answer_message *message,
                                       enum answer_form form, struct answer_refs *refs,
                                       struct jp_client_error *error)
{
  if (message->is_error)
    return fill_error(answer, message->body, refs, error);
  if (message->outs.data != NULL) {
    answer->outs = answer_keep_text(answer, message->outs);
    if (answer->outs.data == NULL)
      return answer_fail_memory(error);
  }
  if (form == ANSWER_ENVELOPE || form == ANSWER_ELEMENTS) {
    enum jp_client_status status = fill_envelope(answer, message->body, refs, error);
    bool is_short = status == JP_CLIENT_OK && form == ANSWER_ELEMENTS && !collect_refs_of_text(answer, refs);
    return is_short ? answer_fail_memory(error) : status;
  }
  return fill_plain(answer, message->body, form, refs, error);
}

/* ---- the usual answer ---- */

/* Removes the expected bytes from the beginning of the message. False: the message begins with other
 * bytes. */
static bool consume_text(struct text *message, struct text expected)
{
  if (message->len < expected.len || !text_equal_bytes(message->data, expected.data, expected.len))
    return false;
  *message = text_slice(*message, expected.len, message->len);
  return true;
}

static bool consume_digits(struct text *message, struct text *digits)
{
  size_t length = 0;
  while (length < message->len && message->data[length] >= '0' && message->data[length] <= '9')
    length++;
  *digits = text_slice(*message, 0, length);
  *message = text_slice(*message, length, message->len);
  return length > 0 && (length == 1 || digits->data[0] != '0');
}

/* Removes a string of printable ASCII without escapes, up to its quote. A long string is left to the JSON
 * reader, which scans many bytes at once. */
static bool consume_plain_string(struct text *message, struct text *string)
{
  enum { LONGEST = 128 };
  size_t length = 0;
  size_t end = message->len < LONGEST ? message->len : LONGEST;
  while (length < end && message->data[length] != '"') {
    char c = message->data[length++];
    if (c < ' ' || c > '~' || c == '\\')
      return false;
  }
  *string = text_slice(*message, 0, length);
  *message = text_slice(*message, length, message->len);
  return true;
}

bool answer_read_usual(struct text message, struct usual_answer *usual)
{
  return consume_text(&message, TEXT("{\"jsonrpc\":\"2.0\",\"id\":")) &&
         consume_digits(&message, &usual->id) &&
         consume_text(&message, TEXT(",\"result\":{\"void\":false,\"value\":{\"type\":\"")) &&
         consume_plain_string(&message, &usual->type) &&
         consume_text(&message, TEXT("\",\"null\":false,\"value\":\"")) &&
         consume_plain_string(&message, &usual->value) && text_equal(message, TEXT("\"}}}"));
}

enum jp_client_status answer_fill_usual(struct jp_answer *answer, const struct usual_answer *usual,
                                        struct jp_client_error *error)
{
  if (!answer_set_type(answer, usual->type))
    return answer_fail_memory(error);
  if (!answer_set_value(answer, usual->type, usual->value))
    return client_fail(error, JP_CLIENT_PROTOCOL, "\"%.*s\" is no value of type %s", TEXT_ARGS(usual->value),
                       answer->type);
  return answer->text.data == NULL ? answer_fail_memory(error) : JP_CLIENT_OK;
}
