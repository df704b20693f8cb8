#include "rpc/jsonrpc/json_outcome.h"

#include "base/number_format.h"
#include "base/primitives.h"
#include "jsonrpc/jsonrpc.h"
#include "rpc/values/value_write.h"
#include "json/writer.h"

/* ---- results ---- */

static void write_value_text(struct buffer *out, const struct outcome *outcome,
                             const struct rpc_answer *answer)
{
  const struct op_value *value = &outcome->value;
  switch (value->kind) {
  case OP_BOOLEAN:
  case OP_INTEGER:
  case OP_FLOAT:
  case OP_DOUBLE:
    buffer_append_char(out, '"');
    rpc_scalar_write(out, value);
    buffer_append_char(out, '"');
    return;
  case OP_CHAR:
  case OP_TEXT:
    if (!answer->compat_pal) {
      rpc_value_write(out, value);
      return;
    }
    break;
  case OP_PACKED:
    if (value->packed.form == OP_PACKED_BASE64) {
      rpc_value_write(out, value);
      return;
    }
    break;
  default:
    break;
  }
  /* The JSON text of a value becomes the text of a JSON string. */
  buffer_clear(answer->scratch);
  rpc_value_write(answer->scratch, value);
  if (answer->scratch->failed)
    out->failed = true;
  else
    json_write_string(out, buffer_text(answer->scratch));
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

static char *put_text(char *at, struct text t)
{
  memcpy(at, t.data, t.len);
  return at + t.len;
}

static void write_whole_number(struct buffer *out, const struct outcome *outcome,
                               struct rpc_number_place *place)
{
  const struct text head = TEXT("{\"void\":false,\"value\":{\"type\":\"");
  const struct text middle = TEXT("\",\"null\":false,\"value\":\"");
  const struct text tail = TEXT("\"}}");
  char *room = buffer_reserve(out, head.len + outcome->type.len + middle.len + NUMBER_TEXT_MAX + tail.len);
  if (room == NULL)
    return;
  char *at = put_text(put_text(put_text(room, head), outcome->type), middle);
  size_t length = number_format_integer(outcome->value.integer, at);
  if (place != NULL)
    *place = (struct rpc_number_place){true, out->len + (size_t)(at - room), length};
  out->len += (size_t)(put_text(at + length, tail) - room);
}

void rpc_result_value_write(struct buffer *out, const struct outcome *outcome,
                            const struct rpc_answer *answer)
{
  BUFFER_LITERAL(out, "{\"type\":");
  json_write_string(out, outcome->type);
  if (outcome->is_null) {
    BUFFER_LITERAL(out, ",\"null\":true");
  } else {
    BUFFER_LITERAL(out, ",\"null\":false");
    if (outcome->ref != 0) {
      BUFFER_LITERAL(out, ",\"ref\":");
      json_write_integer(out, outcome->ref);
      rpc_callback_identity_write(out, outcome->callback);
    }
    if (outcome->has_value) {
      BUFFER_LITERAL(out, ",\"value\":");
      write_value_text(out, outcome, answer);
    } else if (answer->compat_pal) {
      BUFFER_LITERAL(out, ",\"value\":\"\"");
    }
  }
  buffer_append_char(out, '}');
}

void rpc_result_write(struct buffer *out, const struct outcome *outcome, const struct rpc_answer *answer)
{
  /* The most common result, written in one piece. The name of its type needs no escape. */
  if (outcome->kind == OUTCOME_VALUE && outcome->has_value && outcome->value.kind == OP_INTEGER &&
      outcome->ref == 0 && !answer->compat_pal) {
    write_whole_number(out, outcome, answer->number);
    return;
  }
  if (outcome->kind == OUTCOME_VOID) {
    BUFFER_LITERAL(out, "{\"void\":true");
    if (answer->number != NULL)
      answer->number->is_known = true;
    write_from(out, answer);
    buffer_append_char(out, '}');
    return;
  }
  BUFFER_LITERAL(out, "{\"void\":false,\"value\":");
  rpc_result_value_write(out, outcome, answer);
  write_from(out, answer);
  buffer_append_char(out, '}');
}

void rpc_by_value_result_write(struct buffer *out, const struct outcome *outcome)
{
  if (outcome->kind == OUTCOME_VALUE && outcome->has_value)
    rpc_value_write(out, &outcome->value);
  else
    BUFFER_LITERAL(out, "null");
}

void rpc_outs_write(struct buffer *out, const struct outcome *outcome)
{
  for (size_t i = 0; i < outcome->out_count; i++) {
    const struct outcome_out *each = &outcome->outs[i];
    buffer_append_text(out, i == 0 ? TEXT(",\"outs\":[") : TEXT(","));
    BUFFER_LITERAL(out, "{\"argument\":");
    json_write_integer(out, (int64_t)each->argument);
    BUFFER_LITERAL(out, ",\"type\":\"");
    buffer_append_text(out, primitive_keyword(each->value.packed.element));
    BUFFER_LITERAL(out, "[]\",\"value\":");
    rpc_value_write(out, &each->value);
    buffer_append_char(out, '}');
  }
  if (outcome->out_count > 0)
    buffer_append_char(out, ']');
}

/* ---- errors ---- */

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

static void write_text_or_null(struct buffer *out, struct text t)
{
  if (t.data == NULL)
    BUFFER_LITERAL(out, "null");
  else
    json_write_string(out, t);
}

static void write_texts(struct buffer *out, const struct text *texts, size_t count)
{
  buffer_append_char(out, '[');
  for (size_t i = 0; i < count; i++) {
    if (i > 0)
      buffer_append_char(out, ',');
    json_write_string(out, texts[i]);
  }
  buffer_append_char(out, ']');
}

/* A longer id is not repeated for each cause, because the answer would then grow with the product of the id's
 * length and the number of causes. */
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
  BUFFER_LITERAL(out, ",\"stack_trace\":");
  write_texts(out, throwable == NULL ? NULL : throwable->frames,
              throwable == NULL ? 0 : throwable->frame_count);
  if (throwable != NULL && throwable->superclass_count > 0 && !answer->compat_pal) {
    BUFFER_LITERAL(out, ",\"superclasses\":");
    write_texts(out, throwable->superclasses, throwable->superclass_count);
  }
}

static void write_suggestions(struct buffer *out, const struct outcome *outcome)
{
  if (outcome->suggestion_count == 0)
    return;
  BUFFER_LITERAL(out, ",\"suggestions\":");
  write_texts(out, outcome->suggestions, outcome->suggestion_count);
}

static void write_loaders(struct buffer *out, const struct outcome *outcome)
{
  BUFFER_LITERAL(out, ",\"loaders\":[");
  for (size_t i = 0; i < outcome->loader_count; i++) {
    const struct outcome_loader *loader = &outcome->loaders[i];
    BUFFER_LITERAL(out, "{\"ref\":");
    json_write_integer(out, loader->ref);
    BUFFER_LITERAL(out, ",\"type\":");
    json_write_string(out, loader->type);
    BUFFER_LITERAL(out, ",\"name\":");
    write_text_or_null(out, loader->name);
    buffer_append_text(out, i + 1 < outcome->loader_count ? TEXT("},") : TEXT("}"));
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
  if (outcome->reason.data != NULL) {
    BUFFER_LITERAL(out, ",\"reason\":");
    json_write_string(out, outcome->reason);
  }
  if (outcome->throwable_ref != 0) {
    BUFFER_LITERAL(out, ",\"ref\":");
    json_write_integer(out, outcome->throwable_ref);
  }
  write_suggestions(out, outcome);
  if (outcome->loader_count > 0)
    write_loaders(out, outcome);
  write_from(out, answer);
  BUFFER_LITERAL(out, ",\"cause\":");
  if (answer->cause.data != NULL) {
    /* The error was caused by another error that has data. */
    buffer_append_text(out, answer->cause);
    buffer_append_char(out, '}');
    return;
  }
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
