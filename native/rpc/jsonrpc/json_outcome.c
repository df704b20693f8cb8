#include "rpc/jsonrpc/json_outcome.h"

#include "base/base64.h"
#include "base/number_format.h"
#include "jsonrpc/jsonrpc.h"
#include "json/writer.h"

int rpc_failure_code(enum outcome_failure failure)
{
  static const int codes[] = {
      [FAILURE_INVALID_REQUEST] = JSONRPC_INVALID_REQUEST,
      [FAILURE_INVALID_PARAMS] = JSONRPC_INVALID_PARAMS,
      [FAILURE_NOT_FOUND] = JSONRPC_METHOD_NOT_FOUND,
      [FAILURE_SERVER] = JSONRPC_SERVER_ERROR,
      [FAILURE_DENIED] = JSONRPC_ACCESS_DENIED,
      [FAILURE_INTERNAL] = JSONRPC_INTERNAL_ERROR,
      [FAILURE_NOT_SAFE] = JSONRPC_1_1_NOT_BY_GET,
  };
  return codes[failure];
}

static void write_decimal(struct buffer *out, double value, bool is_float)
{
  char digits[NUMBER_TEXT_MAX];
  size_t length = is_float ? number_format_float((float)value, digits) : number_format_double(value, digits);
  buffer_append(out, digits, length);
}

/* In an array's JSON text NaN and the infinities are strings: JSON has no numbers for them. */
static void write_json_decimal(struct buffer *out, double value, bool is_float)
{
  bool is_number = value - value == 0;
  if (!is_number)
    buffer_append_char(out, '"');
  write_decimal(out, value, is_float);
  if (!is_number)
    buffer_append_char(out, '"');
}

static void write_boolean(struct buffer *out, bool value)
{
  buffer_append_text(out, value ? TEXT("true") : TEXT("false"));
}

static void write_json_char(struct buffer *out, uint16_t unit)
{
  char bytes[3];
  struct text t = {bytes, text_wtf8_length(&unit, 1)};
  text_from_utf16(&unit, 1, bytes);
  json_write_string(out, t);
}

static void write_packed_element(struct buffer *out, const void *data, size_t i, char element)
{
  switch (element) {
  case 'Z':
    write_boolean(out, ((const uint8_t *)data)[i] != 0);
    break;
  case 'B':
    json_write_integer(out, ((const int8_t *)data)[i]);
    break;
  case 'C':
    write_json_char(out, ((const uint16_t *)data)[i]);
    break;
  case 'S':
    json_write_integer(out, ((const int16_t *)data)[i]);
    break;
  case 'I':
    json_write_integer(out, ((const int32_t *)data)[i]);
    break;
  case 'J':
    json_write_integer(out, ((const int64_t *)data)[i]);
    break;
  case 'F':
    write_json_decimal(out, ((const float *)data)[i], true);
    break;
  default:
    write_json_decimal(out, ((const double *)data)[i], false);
    break;
  }
}

static void write_json_packed(struct buffer *out, const struct op_value *value)
{
  buffer_append_char(out, '[');
  for (size_t i = 0; i < value->packed.count; i++) {
    if (i > 0)
      buffer_append_char(out, ',');
    write_packed_element(out, value->packed.data, i, value->packed.element);
  }
  buffer_append_char(out, ']');
}

static void write_json_value(struct buffer *out, const struct op_value *value);

static void write_json_list(struct buffer *out, const struct op_value *value)
{
  buffer_append_char(out, '[');
  for (size_t i = 0; i < value->list.count; i++) {
    if (i > 0)
      buffer_append_char(out, ',');
    write_json_value(out, &value->list.items[i]);
  }
  buffer_append_char(out, ']');
}

static void write_json_map(struct buffer *out, const struct op_value *value)
{
  buffer_append_char(out, '{');
  for (size_t i = 0; i < value->map.count; i++) {
    if (i > 0)
      buffer_append_char(out, ',');
    json_write_string(out, value->map.entries[i].key);
    buffer_append_char(out, ':');
    write_json_value(out, &value->map.entries[i].value);
  }
  buffer_append_char(out, '}');
}

static void write_json_ref(struct buffer *out, uint32_t ref)
{
  BUFFER_LITERAL(out, "{\"ref\":");
  json_write_integer(out, ref);
  buffer_append_char(out, '}');
}

static void write_json_value(struct buffer *out, const struct op_value *value)
{
  switch (value->kind) {
  case OP_BOOLEAN:
    write_boolean(out, value->boolean);
    break;
  case OP_INTEGER:
    json_write_integer(out, value->integer);
    break;
  case OP_BIG_INTEGER:
    buffer_append_text(out, value->literal);
    break;
  case OP_FLOAT:
  case OP_DOUBLE:
    write_json_decimal(out, value->decimal, value->kind == OP_FLOAT);
    break;
  case OP_CHAR:
    write_json_char(out, (uint16_t)value->integer);
    break;
  case OP_TEXT:
    json_write_string(out, value->text);
    break;
  case OP_LIST:
    write_json_list(out, value);
    break;
  case OP_PACKED:
    write_json_packed(out, value);
    break;
  case OP_REF:
    write_json_ref(out, value->ref);
    break;
  case OP_MAP:
    write_json_map(out, value);
    break;
  case OP_NULL:
    BUFFER_LITERAL(out, "null");
    break;
  }
}

/* A value's JSON text as the text of a JSON string. */
static void write_quoted_json(struct buffer *out, const struct op_value *value, struct buffer *scratch)
{
  buffer_clear(scratch);
  write_json_value(scratch, value);
  if (scratch->failed)
    out->failed = true;
  else
    json_write_string(out, buffer_text(scratch));
}

static void write_plain_text(struct buffer *out, const struct op_value *value)
{
  buffer_append_char(out, '"');
  if (value->kind == OP_BOOLEAN)
    write_boolean(out, value->boolean);
  else if (value->kind == OP_INTEGER)
    json_write_integer(out, value->integer);
  else
    write_decimal(out, value->decimal, value->kind == OP_FLOAT);
  buffer_append_char(out, '"');
}

static void write_value_text(struct buffer *out, const struct outcome *outcome,
                             const struct rpc_answer *answer)
{
  const struct op_value *value = &outcome->value;
  switch (value->kind) {
  case OP_BOOLEAN:
  case OP_INTEGER:
  case OP_FLOAT:
  case OP_DOUBLE:
    write_plain_text(out, value);
    return;
  case OP_CHAR:
    if (!answer->compat_pal) {
      write_json_char(out, (uint16_t)value->integer);
      return;
    }
    break;
  case OP_TEXT:
    if (!answer->compat_pal) {
      json_write_string(out, value->text);
      return;
    }
    break;
  case OP_PACKED:
    if (outcome->base64_value) {
      buffer_append_char(out, '"');
      base64_encode(out, value->packed.data, value->packed.count);
      buffer_append_char(out, '"');
      return;
    }
    break;
  default:
    break;
  }
  write_quoted_json(out, value, answer->scratch);
}

static void write_from(struct buffer *out, const struct rpc_answer *answer)
{
  const struct rpc_reached_member *from = answer->from;
  if (!answer->compat_pal || from == NULL || from->class_name.data == NULL)
    return;
  BUFFER_LITERAL(out, ",\"from\":{\"class\":");
  json_write_string(out, from->class_name);
  buffer_append_text(out, from->is_field ? TEXT(",\"field\":") : TEXT(",\"method\":"));
  json_write_string(out, from->member);
  BUFFER_LITERAL(out, ",\"modifiers\":");
  json_write_integer(out, from->modifiers);
  buffer_append_char(out, '}');
}

static char *put(char *at, struct text t)
{
  memcpy(at, t.data, t.len);
  return at + t.len;
}

/* The most common result, written in one piece. The name of its type needs no escape. */
static bool is_plain_integer(const struct outcome *outcome, const struct rpc_answer *answer)
{
  return outcome->kind == OUTCOME_VALUE && outcome->has_value && outcome->value.kind == OP_INTEGER &&
         outcome->ref == 0 && !answer->compat_pal;
}

static void write_plain_integer(struct buffer *out, const struct outcome *outcome)
{
  const struct text head = TEXT("{\"void\":false,\"value\":{\"type\":\"");
  const struct text middle = TEXT("\",\"null\":false,\"value\":\"");
  const struct text tail = TEXT("\"}}");
  char *room = buffer_reserve(out, head.len + outcome->type.len + middle.len + NUMBER_TEXT_MAX + tail.len);
  if (room == NULL)
    return;
  char *at = put(put(put(room, head), outcome->type), middle);
  at += number_format_integer(outcome->value.integer, at);
  out->len += (size_t)(put(at, tail) - room);
}

void rpc_result_write(struct buffer *out, const struct outcome *outcome, const struct rpc_answer *answer)
{
  if (is_plain_integer(outcome, answer)) {
    write_plain_integer(out, outcome);
    return;
  }
  if (outcome->kind == OUTCOME_VOID) {
    BUFFER_LITERAL(out, "{\"void\":true");
    write_from(out, answer);
    buffer_append_char(out, '}');
    return;
  }
  BUFFER_LITERAL(out, "{\"void\":false,\"value\":{\"type\":");
  json_write_string(out, outcome->type);
  if (outcome->is_null) {
    BUFFER_LITERAL(out, ",\"null\":true");
  } else {
    BUFFER_LITERAL(out, ",\"null\":false");
    if (outcome->ref != 0) {
      BUFFER_LITERAL(out, ",\"ref\":");
      json_write_integer(out, outcome->ref);
    }
    if (outcome->has_value) {
      BUFFER_LITERAL(out, ",\"value\":");
      write_value_text(out, outcome, answer);
    } else if (answer->compat_pal) {
      BUFFER_LITERAL(out, ",\"value\":\"\"");
    }
  }
  buffer_append_char(out, '}');
  write_from(out, answer);
  buffer_append_char(out, '}');
}

void rpc_plain_result_write(struct buffer *out, const struct outcome *outcome)
{
  if (outcome->kind == OUTCOME_VALUE && outcome->has_value)
    write_json_value(out, &outcome->value);
  else
    BUFFER_LITERAL(out, "null");
}

static void write_text_or_null(struct buffer *out, struct text t)
{
  if (t.data == NULL)
    BUFFER_LITERAL(out, "null");
  else
    json_write_string(out, t);
}

/* A longer id is not repeated for each cause: an answer must not grow with the product of both. */
enum { CAUSE_ID_MAX = 256 };

static void write_request_id(struct buffer *out, bool of_cause, const struct rpc_answer *answer)
{
  struct text id = answer->request_id;
  if (id.data == NULL || (of_cause && id.len > CAUSE_ID_MAX))
    id = TEXT("null");
  BUFFER_LITERAL(out, ",\"request_id\":");
  buffer_append_text(out, id);
  if (answer->compat_pal) {
    BUFFER_LITERAL(out, ",\"requestId\":");
    buffer_append_text(out, id);
  }
}

/* The members of a throwable's object before its cause. */
static void write_throwable_head(struct buffer *out, struct text type, struct text message,
                                 const struct outcome_throwable *throwable, bool is_cause,
                                 const struct rpc_answer *answer)
{
  buffer_append_char(out, '{');
  if (type.data != NULL) {
    BUFFER_LITERAL(out, "\"throwable_type\":");
    json_write_string(out, type);
    if (answer->compat_pal) {
      BUFFER_LITERAL(out, ",\"throwableType\":");
      json_write_string(out, type);
    }
    buffer_append_char(out, ',');
  }
  BUFFER_LITERAL(out, "\"message\":");
  write_text_or_null(out, message);
  write_request_id(out, is_cause, answer);
  BUFFER_LITERAL(out, ",\"stack_trace\":[");
  for (size_t i = 0; throwable != NULL && i < throwable->frame_count; i++) {
    if (i > 0)
      buffer_append_char(out, ',');
    json_write_string(out, throwable->frames[i]);
  }
  buffer_append_char(out, ']');
}

void rpc_error_data_write(struct buffer *out, const struct outcome *outcome, const struct rpc_answer *answer)
{
  write_throwable_head(out, outcome->throwable_type, outcome->message, outcome->throwable, false, answer);
  if (outcome->status.data != NULL) {
    BUFFER_LITERAL(out, ",\"status\":");
    json_write_string(out, outcome->status);
  }
  write_from(out, answer);
  BUFFER_LITERAL(out, ",\"cause\":");
  size_t open = 1;
  const struct outcome_throwable *cause = outcome->throwable == NULL ? NULL : outcome->throwable->cause;
  for (; cause != NULL; cause = cause->cause) {
    write_throwable_head(out, cause->type, cause->message, cause, true, answer);
    BUFFER_LITERAL(out, ",\"cause\":");
    open++;
  }
  BUFFER_LITERAL(out, "null");
  for (; open > 0; open--)
    buffer_append_char(out, '}');
}

struct text rpc_body_head(const struct rpc_answer *answer)
{
  if (answer->compat_pal)
    return TEXT("{\"void\":false,\"isVoid\":false,\"value\":{\"type\":\"java.lang.String\",\"null\":false,"
                "\"value\":\"");
  return TEXT("{\"void\":false,\"value\":{\"type\":\"java.lang.String\",\"null\":false,\"value\":\"");
}

struct text rpc_body_tail(void)
{
  return TEXT("\",\"status\":\"OK\"}}");
}
