#include "rpc/jsonrpc/json_callbacks.h"

#include "base/number.h"
#include "jsonrpc/jsonrpc.h"
#include "rpc/jsonrpc/json_codec.h"
#include "rpc/jsonrpc/json_outcome.h"
#include "rpc/values/callback_read.h"
#include "rpc/values/value_read.h"
#include "json/integers.h"
#include "json/reader.h"
#include "json/writer.h"

#include <inttypes.h>
#include <string.h>

/* ---- numbers of calls ---- */

uint64_t rpc_call_number_read(struct text t)
{
  const struct text prefix = TEXT("cb-");
  uint64_t number = 0;
  if (!text_starts_with(t, prefix) || t.len == prefix.len || t.data[prefix.len] == '0')
    return 0;
  for (size_t i = prefix.len; i < t.len; i++) {
    unsigned digit = (unsigned)(t.data[i] - '0');
    if (digit > 9 || __builtin_mul_overflow(number, 10u, &number) ||
        __builtin_add_overflow(number, digit, &number))
      return 0;
  }
  return number;
}

static uint64_t read_number(struct json_value json)
{
  struct arena arena;
  if (json.kind != JSON_KIND_STRING)
    return 0;
  arena_init(&arena);
  struct text t = json_read_string(json, &arena);
  uint64_t number = t.data == NULL ? 0 : rpc_call_number_read(t);
  arena_fini(&arena);
  return number;
}

/* ---- the kind of a message ---- */

/* True if the options of a request say that the request is nested. *number becomes the number of the call; 0:
 * the name of the call is malformed. */
static bool read_within(struct json_value request, uint64_t *number)
{
  enum { METHOD, OPTIONS, MEMBERS };
  static const struct text names[MEMBERS] = {TEXT("method"), TEXT("options")};
  static const struct text option_names[] = {TEXT("within")};
  struct json_members members;
  struct json_members options;
  if (request.kind != JSON_KIND_OBJECT)
    return false;
  json_members_collect(request, names, MEMBERS, &members);
  if (!members.has[METHOD] || !members.has[OPTIONS] || members.value[OPTIONS].kind != JSON_KIND_OBJECT)
    return false;
  json_members_collect(members.value[OPTIONS], option_names, 1, &options);
  *number = options.has[0] ? read_number(options.value[0]) : 0;
  return options.has[0];
}

static bool are_answers(struct json_value array)
{
  struct json_cursor cursor = json_enter(array);
  struct json_value element;
  struct jsonrpc_answer answer;
  size_t count = 0;
  for (; json_next_element(&cursor, &element); count++) {
    if (!jsonrpc_answer_read(element, &answer))
      return false;
  }
  return count > 0;
}

/* True if the message has no method and its id names a call. */
static bool is_named(struct json_value message, uint64_t *number)
{
  enum { ID, METHOD, MEMBERS };
  static const struct text names[MEMBERS] = {TEXT("id"), TEXT("method")};
  struct json_members members;
  if (message.kind != JSON_KIND_OBJECT)
    return false;
  json_members_collect(message, names, MEMBERS, &members);
  *number = members.has[ID] && !members.has[METHOD] ? read_number(members.value[ID]) : 0;
  return *number != 0;
}

static bool has_named(struct json_value array)
{
  struct json_cursor cursor = json_enter(array);
  struct json_value element;
  uint64_t number;
  while (json_next_element(&cursor, &element)) {
    if (is_named(element, &number))
      return true;
  }
  return false;
}

static enum rpc_callback_message classify_value(struct json_value message, uint64_t *number)
{
  struct jsonrpc_answer answer;
  if (message.kind == JSON_KIND_ARRAY) {
    if (are_answers(message))
      return RPC_MESSAGE_ANSWERS;
    if (has_named(message))
      return RPC_MESSAGE_FAULTY;
    struct json_cursor cursor = json_enter(message);
    if (!json_next_element(&cursor, &message))
      return RPC_MESSAGE_ORDINARY;
  } else if (jsonrpc_answer_read(message, &answer)) {
    *number = read_number(answer.id);
    return RPC_MESSAGE_ANSWER;
  } else if (is_named(message, number)) {
    return RPC_MESSAGE_FAULTY;
  }
  return read_within(message, number) ? RPC_MESSAGE_NESTED : RPC_MESSAGE_ORDINARY;
}

static bool consume_text(struct text *rest, struct text wanted)
{
  if (!text_starts_with(*rest, wanted))
    return false;
  *rest = text_slice(*rest, wanted.len, rest->len);
  return true;
}

static bool consume_string(struct text *rest)
{
  size_t length = json_unescaped_string_at(*rest);
  *rest = text_slice(*rest, length, rest->len);
  return length > 0;
}

static bool consume_scalar(struct text *rest)
{
  int64_t unused;
  size_t length = json_bare_integer_at(*rest, &unused);
  *rest = text_slice(*rest, length, rest->len);
  return length > 0 || consume_string(rest) || consume_text(rest, TEXT("null")) ||
         consume_text(rest, TEXT("true")) || consume_text(rest, TEXT("false"));
}

/* True if the message has exactly the bytes that libjpeer-client writes around a scalar with or without a
 * type, as in most answers. Such a message is valid, and its kind is known without parsing. */
static bool is_usual_answer(struct text message, uint64_t *number)
{
  enum { NUMBER_MAX = 32 };
  struct text rest = message;
  if (!consume_text(&rest, TEXT("{\"jsonrpc\":\"2.0\",\"id\":\"")))
    return false;
  const char *end = memchr(rest.data, '"', rest.len < NUMBER_MAX ? rest.len : NUMBER_MAX);
  *number = end == NULL ? 0 : rpc_call_number_read((struct text){rest.data, (size_t)(end - rest.data)});
  if (*number == 0)
    return false;
  rest = text_slice(rest, (size_t)(end - rest.data), rest.len);
  if (!consume_text(&rest, TEXT("\",\"result\":")))
    return false;
  bool is_typed = consume_text(&rest, TEXT("{\"type\":"));
  if (is_typed && (!consume_string(&rest) || !consume_text(&rest, TEXT(",\"value\":"))))
    return false;
  return consume_scalar(&rest) && text_equal(rest, is_typed ? TEXT("}}") : TEXT("}"));
}

/* rpc_callback_form.classify. Numbers may have suffixes in the result of an answer, as in the params of a
 * request. */
static enum rpc_callback_message classify_message(struct text message, size_t depth_max, uint64_t *number)
{
  const struct json_limits limits = {.max_depth = depth_max};
  struct json_index index;
  struct json_fault fault;
  if (depth_max >= 2 && is_usual_answer(message, number))
    return RPC_MESSAGE_ANSWER;
  *number = 0;
  if (json_validate_indexed(message, limits, TEXT("params"), &index, &fault) == JP_OK)
    return classify_value(json_root_indexed(message, &index), number);
  if (json_validate_indexed(message, limits, TEXT("result"), &index, &fault) != JP_OK)
    return RPC_MESSAGE_FAULTY;
  enum rpc_callback_message kind = classify_value(json_root_indexed(message, &index), number);
  return kind == RPC_MESSAGE_ANSWER || kind == RPC_MESSAGE_ANSWERS ? kind : RPC_MESSAGE_FAULTY;
}

static enum jp_status validate_message(struct text message, size_t depth_max, struct json_fault *fault)
{
  const struct json_limits limits = {.max_depth = depth_max};
  enum jp_status status = json_validate(message, limits, TEXT("params"), fault);
  return status == JP_OK ? status : json_validate(message, limits, TEXT("result"), fault);
}

/* Finds the number of the call that a malformed message seems to answer; 0: not found. If the message is too
 * deep, only the part before the fault is searched. */
static uint64_t salvage_number(struct text message, enum jp_status status, const struct json_fault *fault)
{
  struct text known = status == JP_LIMIT ? text_slice(message, 0, fault->offset) : message;
  struct text id = jsonrpc_salvage_id(known, fault->offset, JSONRPC_2_0);
  return id.data == NULL ? 0 : read_number(json_root(id));
}

/* Calls `found` for the number of each call that a message of valid JSON names. */
static void find_named(struct json_value message,
                       void (*found)(void *context, uint64_t number, const char *reason), void *context)
{
  uint64_t number;
  if (message.kind != JSON_KIND_ARRAY) {
    if (is_named(message, &number))
      found(context, number, "it must have one of result and error");
    return;
  }
  struct json_cursor cursor = json_enter(message);
  struct json_value element;
  while (json_next_element(&cursor, &element)) {
    if (is_named(element, &number))
      found(context, number, "its array has elements that are no answers");
  }
}

static void find_faulty(struct text message, size_t depth_max,
                        void (*found)(void *context, uint64_t number, const char *reason), void *context)
{
  struct json_fault fault;
  enum jp_status status = validate_message(message, depth_max, &fault);
  uint64_t number = status == JP_OK ? 0 : salvage_number(message, status, &fault);
  if (number != 0)
    found(context, number, status == JP_LIMIT ? "it is nested too deeply" : fault.reason);
  if (status == JP_OK)
    find_named(json_root(message), found, context);
}

static bool find_next_answer(struct text message, size_t *at, struct text *answer, uint64_t *number)
{
  struct json_cursor cursor = json_enter(json_root(message));
  struct json_value element;
  struct jsonrpc_answer read;
  if (*at > 0)
    cursor.next = message.data + *at;
  if (!json_next_element(&cursor, &element) || !jsonrpc_answer_read(element, &read))
    return false;
  *at = (size_t)(cursor.next - message.data);
  *answer = element.span;
  *number = read_number(read.id);
  return true;
}

/* ---- answers ---- */

static enum jp_status fail_answer(struct arena *arena, struct outcome *outcome, const char *what)
{
  outcome_fail(outcome, arena, FAILURE_INVALID_PARAMS, NULL, "%s", what);
  return JP_INVALID;
}

static enum jp_status read_text(struct arena *arena, struct json_value json, const char *otherwise,
                                struct text *t, struct outcome *outcome)
{
  if (json.kind != JSON_KIND_STRING)
    return fail_answer(arena, outcome, otherwise);
  *t = json_read_string(json, arena);
  if (t->data != NULL)
    return JP_OK;
  return outcome_fail_memory(outcome);
}

/* Some clients write null for a member that they leave out. */
static bool has_value(const struct json_members *members, size_t i)
{
  return members->has[i] && members->value[i].kind != JSON_KIND_NULL;
}

static enum jp_status read_line(struct arena *arena, struct json_value json, int32_t *line,
                                struct outcome *outcome)
{
  struct number number;
  if (json.kind == JSON_KIND_NUMBER) {
    number_read(json.span, &number);
    if (number.fits && number.suffix == 0 && number.integer >= INT32_MIN && number.integer <= INT32_MAX) {
      *line = (int32_t)number.integer;
      return JP_OK;
    }
  }
  return fail_answer(arena, outcome, "a line of the error's data.stack_trace is no integer of 32 bits");
}

static enum jp_status read_frame(struct arena *arena, struct json_value json,
                                 struct jvm_callback_frame *frame, struct outcome *outcome)
{
  enum { CLASS, METHOD, FILE_NAME, LINE, MEMBERS };
  static const struct text names[MEMBERS] = {TEXT("class"), TEXT("method"), TEXT("file"), TEXT("line")};
  static const char wrong[] =
      "a frame of the error's data.stack_trace is no {\"class\": TEXT, \"method\": TEXT, \"file\": TEXT, "
      "\"line\": N}";
  struct json_members members;
  if (json.kind != JSON_KIND_OBJECT)
    return fail_answer(arena, outcome, wrong);
  json_members_collect(json, names, MEMBERS, &members);
  *frame = (struct jvm_callback_frame){.file = TEXT_ABSENT, .line = -1};
  if (!members.has[CLASS] || !members.has[METHOD])
    return fail_answer(arena, outcome, wrong);
  enum jp_status status = read_text(arena, members.value[CLASS], wrong, &frame->class, outcome);
  if (status == JP_OK)
    status = read_text(arena, members.value[METHOD], wrong, &frame->method, outcome);
  if (status == JP_OK && has_value(&members, FILE_NAME))
    status = read_text(arena, members.value[FILE_NAME], wrong, &frame->file, outcome);
  if (status == JP_OK && has_value(&members, LINE))
    status = read_line(arena, members.value[LINE], &frame->line, outcome);
  return status;
}

static enum jp_status read_frames(struct arena *arena, struct json_value json,
                                  struct jvm_callback_thrown *read, struct outcome *outcome)
{
  if (json.kind != JSON_KIND_ARRAY)
    return fail_answer(arena, outcome, "the error's data.stack_trace is no list");
  struct jvm_callback_frame *frames = arena_calloc(arena, JVM_CALLBACK_FRAMES_MAX, sizeof *frames);
  if (frames == NULL)
    return outcome_fail_memory(outcome);
  struct json_cursor cursor = json_enter(json);
  struct json_value element;
  read->frames = frames;
  for (; json_next_element(&cursor, &element); read->frame_count++) {
    if (read->frame_count == JVM_CALLBACK_FRAMES_MAX)
      return fail_answer(arena, outcome, "the error's data.stack_trace has more than 64 frames");
    enum jp_status status = read_frame(arena, element, &frames[read->frame_count], outcome);
    if (status != JP_OK)
      return status;
  }
  return JP_OK;
}

/* The message in the data has priority over the error's own message, because the error's own message may be
 * only the standard text of its code. depth: the number of outer causes. */
static enum jp_status read_data(struct arena *arena, struct json_value data, size_t depth,
                                struct jvm_callback_thrown *read, struct outcome *outcome)
{
  enum { REF, TYPE, MESSAGE, TRACE, CAUSE, MEMBERS };
  static const struct text names[MEMBERS] = {TEXT("ref"), TEXT("throwable_type"), TEXT("message"),
                                             TEXT("stack_trace"), TEXT("cause")};
  struct json_members members;
  if (data.kind != JSON_KIND_OBJECT)
    return JP_OK;
  json_members_collect(data, names, MEMBERS, &members);
  enum jp_status status = JP_OK;
  if (has_value(&members, REF) && !rpc_ref_read(members.value[REF], &read->ref))
    status = fail_answer(arena, outcome, "the error's data.ref is no ref");
  if (status == JP_OK && has_value(&members, TYPE))
    status = read_text(arena, members.value[TYPE], "the error's data.throwable_type is no string",
                       &read->throwable_type, outcome);
  if (status == JP_OK && members.has[MESSAGE] && members.value[MESSAGE].kind == JSON_KIND_STRING)
    status = read_text(arena, members.value[MESSAGE], "", &read->message, outcome);
  if (status == JP_OK && has_value(&members, TRACE))
    status = read_frames(arena, members.value[TRACE], read, outcome);
  if (status != JP_OK || !has_value(&members, CAUSE))
    return status;
  if (members.value[CAUSE].kind != JSON_KIND_OBJECT)
    return fail_answer(arena, outcome, "the error's data.cause is no object");
  if (depth == JVM_CALLBACK_CAUSES_MAX)
    return fail_answer(arena, outcome, "the error has more than 32 causes");
  struct jvm_callback_thrown *cause = arena_alloc(arena, sizeof *cause);
  if (cause == NULL)
    return outcome_fail_memory(outcome);
  *cause = (struct jvm_callback_thrown){.message = TEXT_ABSENT, .throwable_type = TEXT_ABSENT};
  read->cause = cause;
  return read_data(arena, members.value[CAUSE], depth + 1, cause, outcome);
}

static bool read_code(struct json_value json, int *code)
{
  struct number number;
  if (json.kind != JSON_KIND_NUMBER)
    return false;
  number_read(json.span, &number);
  if (!number.fits || number.suffix != 0 || number.integer < INT32_MIN || number.integer > INT32_MAX)
    return false;
  *code = (int)number.integer;
  return true;
}

static enum jp_status read_error(struct arena *arena, struct json_value error,
                                 struct jvm_callback_answer *read, struct outcome *outcome)
{
  enum { CODE, MESSAGE, DATA, MEMBERS };
  static const struct text names[MEMBERS] = {TEXT("code"), TEXT("message"), TEXT("data")};
  struct json_members members;
  if (error.kind != JSON_KIND_OBJECT)
    return fail_answer(arena, outcome, "the answer's error is no object");
  json_members_collect(error, names, MEMBERS, &members);
  if (!members.has[CODE] || !read_code(members.value[CODE], &read->code))
    return fail_answer(arena, outcome, "the error's code is no integer of 32 bits");
  enum jp_status status = JP_OK;
  if (members.has[MESSAGE])
    status = read_text(arena, members.value[MESSAGE], "the error's message is no string",
                       &read->thrown.message, outcome);
  return status == JP_OK && members.has[DATA]
             ? read_data(arena, members.value[DATA], 0, &read->thrown, outcome)
             : status;
}

static enum jp_status read_result(const struct rpc_value_rules *rules, struct arena *arena,
                                  struct json_value result, struct jvm_callback_answer *read,
                                  struct outcome *outcome)
{
  struct rpc_value_reader values;
  rpc_value_reader_init(&values, rules, arena, outcome);
  values.is_result = true;
  return rpc_value_read(&values, result, &read->value);
}

static enum jp_status read_answer(struct text answer, const struct rpc_value_rules *rules,
                                  struct arena *arena, struct jvm_callback_answer *read,
                                  struct outcome *outcome)
{
  struct jsonrpc_answer parts;
  *read = (struct jvm_callback_answer){.thrown = {.message = TEXT_ABSENT, .throwable_type = TEXT_ABSENT}};
  if (!jsonrpc_answer_read(json_root(answer), &parts))
    return fail_answer(arena, outcome, "it is no answer");
  read->is_error = parts.is_error;
  return parts.is_error ? read_error(arena, parts.value, read, outcome)
                        : read_result(rules, arena, parts.value, read, outcome);
}

/* ---- callbacks in messages that are not read ---- */

static void scan_message(struct json_value message, void (*found)(void *context, int64_t id), void *context)
{
  enum { PARAMS, RESULT, MEMBERS };
  static const struct text names[MEMBERS] = {TEXT("params"), TEXT("result")};
  struct json_members members;
  if (message.kind != JSON_KIND_OBJECT)
    return;
  json_members_collect(message, names, MEMBERS, &members);
  if (members.has[PARAMS])
    rpc_callbacks_scan(members.value[PARAMS], found, context);
  if (members.has[RESULT])
    rpc_callbacks_scan_argument(members.value[RESULT], found, context);
}

static void find_given(struct text message, size_t depth_max, void (*found)(void *context, int64_t id),
                       void *context)
{
  struct json_fault fault;
  struct json_value element;
  if (validate_message(message, depth_max, &fault) != JP_OK)
    return;
  struct json_value root = json_root(message);
  if (root.kind != JSON_KIND_ARRAY) {
    scan_message(root, found, context);
    return;
  }
  struct json_cursor cursor = json_enter(root);
  while (json_next_element(&cursor, &element))
    scan_message(element, found, context);
}

/* ---- messages of the peer ---- */

static void write_call_name(struct buffer *out, uint64_t number)
{
  BUFFER_LITERAL(out, "\"cb-");
  json_write_integer(out, (int64_t)number);
  buffer_append_char(out, '"');
}

static void write_origin(struct buffer *out, const struct rpc_callback_head *head)
{
  switch (head->origin) {
  case RPC_ORIGIN_NOT_ASKED:
    return;
  case RPC_ORIGIN_REQUEST:
    BUFFER_LITERAL(out, ",\"origin\":\"request\"");
    return;
  case RPC_ORIGIN_CALL:
    BUFFER_LITERAL(out, ",\"origin\":");
    write_call_name(out, head->origin_call);
    return;
  case RPC_ORIGIN_THREAD:
    BUFFER_LITERAL(out, ",\"origin\":\"thread\"");
    return;
  }
}

static void write_call(struct buffer *out, const struct rpc_callback_head *head,
                       const struct outcome *arguments, size_t count, struct buffer *scratch)
{
  BUFFER_LITERAL(out, "{\"jsonrpc\":\"2.0\",");
  if (head->number > 0) {
    BUFFER_LITERAL(out, "\"id\":");
    write_call_name(out, head->number);
    buffer_append_char(out, ',');
  }
  BUFFER_LITERAL(out, "\"method\":\"callback\",\"params\":{\"callback\":");
  json_write_integer(out, head->id);
  write_origin(out, head);
  BUFFER_LITERAL(out, ",\"interface\":");
  json_write_string(out, head->method->interface);
  BUFFER_LITERAL(out, ",\"method\":");
  json_write_string(out, head->method->name);
  BUFFER_LITERAL(out, ",\"parameters\":[");
  for (size_t i = 0; i < head->method->parameter_count; i++) {
    if (i > 0)
      buffer_append_char(out, ',');
    json_write_string(out, head->method->parameters[i]);
  }
  BUFFER_LITERAL(out, "],\"args\":[");
  const struct rpc_answer how = {.scratch = scratch};
  for (size_t i = 0; i < count; i++) {
    if (i > 0)
      buffer_append_char(out, ',');
    rpc_result_value_write(out, &arguments[i], &how);
  }
  BUFFER_LITERAL(out, "]}}");
}

static void write_released(struct buffer *out, const struct callback_release *releases, size_t count)
{
  BUFFER_LITERAL(out, "{\"jsonrpc\":\"2.0\",\"method\":\"callback_released\",\"params\":{\"callbacks\":[");
  for (size_t i = 0; i < count; i++)
    buffer_printf(out, "%s{\"callback\":%" PRId64 ",\"given\":%" PRIu64 "}", i == 0 ? "" : ",",
                  releases[i].id, releases[i].given);
  BUFFER_LITERAL(out, "]}}");
}

const struct rpc_callback_form rpc_jsonrpc_callbacks = {
    .classify = classify_message,
    .find_faulty = find_faulty,
    .next_answer = find_next_answer,
    .read_answer = read_answer,
    .refuse_nested = rpc_jsonrpc_refuse_nested,
    .refuse_faulty = rpc_jsonrpc_refuse_faulty,
    .find_given = find_given,
    .write_call = write_call,
    .write_released = write_released,
};
