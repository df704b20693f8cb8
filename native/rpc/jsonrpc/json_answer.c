#include "rpc/jsonrpc/json_answer.h"

#include "base/number_format.h"
#include "rpc/compat.h"
#include "rpc/jsonrpc/json_codec.h"
#include "rpc/values/value_write.h"
#include "json/writer.h"

#include <stdlib.h>

/* ---- results ---- */

/* A value's JSON text as the text of a JSON string. */
static void write_quoted_json(struct buffer *out, const struct op_value *value, struct buffer *scratch)
{
  buffer_clear(scratch);
  rpc_value_write(scratch, value);
  if (scratch->failed)
    out->failed = true;
  else
    json_write_string(out, buffer_text(scratch));
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

static char *put_text(char *at, struct text t)
{
  memcpy(at, t.data, t.len);
  return at + t.len;
}

/* The most common result, written in one piece. The name of its type needs no escape. */
static bool is_whole_number(const struct outcome *outcome, const struct rpc_answer *answer)
{
  return outcome->kind == OUTCOME_VALUE && outcome->has_value && outcome->value.kind == OP_INTEGER &&
         outcome->ref == 0 && !answer->compat_pal;
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

void rpc_told_value_write(struct buffer *out, const struct outcome *outcome, const struct rpc_answer *answer)
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
  if (is_whole_number(outcome, answer)) {
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
  rpc_told_value_write(out, outcome, answer);
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

static void write_suggestions(struct buffer *out, const struct outcome *outcome)
{
  if (outcome->suggestion_count == 0)
    return;
  BUFFER_LITERAL(out, ",\"suggestions\":");
  for (size_t i = 0; i < outcome->suggestion_count; i++) {
    buffer_append_char(out, i == 0 ? '[' : ',');
    json_write_string(out, outcome->suggestions[i]);
  }
  buffer_append_char(out, ']');
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
    /* Of an error that another error's data are the cause of. */
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

/* ---- bodies ---- */

/* The inside of a JSON string: what the source gives is escaped piece by piece, so that an answer of any size
 * is never held whole. */
struct body_stream {
  struct outcome_body source;
  struct buffer piece; /* read and not yet passed on; between two calls at most the start of a character */
  bool ended;
};

/* The bytes of the piece up to a character that is cut off at its end. */
static size_t whole_characters(struct text t)
{
  size_t back = 0;
  while (back < 3 && back < t.len && ((unsigned char)t.data[t.len - 1 - back] & 0xC0) == 0x80)
    back++;
  if (back == t.len)
    return t.len;
  unsigned char lead = (unsigned char)t.data[t.len - 1 - back];
  size_t needs = lead >= 0xF0 ? 3 : lead >= 0xE0 ? 2 : lead >= 0xC0 ? 1 : 0;
  return back < needs ? t.len - 1 - back : t.len;
}

static enum jp_status read_escaped(void *state, struct buffer *out, size_t max)
{
  struct body_stream *stream = state;
  size_t before = out->len;
  while (out->len == before && !out->failed) {
    if (stream->ended)
      return JP_CLOSED;
    enum jp_status status = stream->source.read(stream->source.state, &stream->piece, max);
    if (stream->piece.failed)
      return JP_NO_MEMORY;
    if (status != JP_OK && status != JP_CLOSED)
      return status;
    stream->ended = status == JP_CLOSED;
    struct text piece = buffer_text(&stream->piece);
    size_t whole = stream->ended ? piece.len : whole_characters(piece);
    json_write_escaped(out, (struct text){piece.data, whole});
    buffer_consume(&stream->piece, whole);
  }
  return out->failed ? JP_NO_MEMORY : JP_OK;
}

static void close_stream(void *state)
{
  struct body_stream *stream = state;
  stream->source.close(stream->source.state);
  buffer_fini(&stream->piece);
  free(stream);
}

/* Makes *escaped give the text of *source, escaped. Takes source, even on failure (then it is closed).
 * JP_NO_MEMORY. */
static enum jp_status escape_body(const struct outcome_body *source, struct outcome_body *escaped)
{
  struct body_stream *stream = malloc(sizeof *stream);
  if (stream == NULL) {
    source->close(source->state);
    return JP_NO_MEMORY;
  }
  stream->source = *source;
  stream->ended = false;
  buffer_init(&stream->piece);
  *escaped = (struct outcome_body){.state = stream, .read = read_escaped, .close = close_stream};
  return JP_OK;
}

/* The JSON before and after the text of an OUTCOME_BODY. */
static struct text body_head(const struct rpc_answer *answer)
{
  if (answer->compat_pal)
    return TEXT("{\"void\":false,\"isVoid\":false,\"value\":{\"type\":\"java.lang.String\",\"null\":false,"
                "\"value\":\"");
  return TEXT("{\"void\":false,\"value\":{\"type\":\"java.lang.String\",\"null\":false,\"value\":\"");
}

static struct text body_tail(void)
{
  return TEXT("\",\"status\":\"OK\"}}");
}

/* ---- the answer of a request ---- */

enum { BODY_STEP = 64 * 1024 };

static bool is_too_long(const struct serving *serving)
{
  return serving->reply_max > 0 && serving->out->len - serving->start > serving->reply_max;
}

static void write_error(struct serving *serving, struct jsonrpc_response *response,
                        const struct outcome *outcome, const struct rpc_answer *answer)
{
  struct outcome told = *outcome;
  if (answer->compat_pal)
    rpc_compat_reword(&told);
  int code = rpc_failure_code(told.failure);
  struct buffer *data = jsonrpc_error(response, code, jsonrpc_code_message(code));
  serving->has_failed = true;
  serving->error_at = data->len;
  rpc_error_data_write(data, &told, answer);
}

/* Without the cause that another failed request is: a batch whose answer is full would grow by it again and again. */
static void fail_too_long(struct serving *serving, struct jsonrpc_response *response,
                          const struct rpc_answer *answer)
{
  struct outcome outcome;
  struct rpc_answer short_answer = *answer;
  short_answer.cause = TEXT_ABSENT;
  rpc_run_take_back(&serving->run);
  outcome_fail(&outcome, &serving->run.runner->arena, FAILURE_SERVER, NULL,
               "the answer is longer than the %zu bytes that may be held for it (send-buffer-max; on ZeroMQ "
               "message-max)",
               serving->reply_max);
  write_error(serving, response, &outcome, &short_answer);
}

static void fail_body(struct serving *serving, struct jsonrpc_response *response,
                      const struct rpc_answer *answer)
{
  struct outcome outcome;
  outcome_fail(&outcome, &serving->run.runner->arena, FAILURE_SERVER, NULL, "the metadata could not be read");
  outcome.status = TEXT("ERROR");
  write_error(serving, response, &outcome, answer);
}

/* For a transport that needs the whole answer at once. */
static void write_whole_body(struct serving *serving, struct jsonrpc_response *response,
                             struct outcome_body *body, const struct rpc_answer *answer)
{
  struct buffer *out = jsonrpc_result(response);
  buffer_append_text(out, body_head(answer));
  enum jp_status status;
  do
    status = body->read(body->state, out, BODY_STEP);
  while (status == JP_OK && !is_too_long(serving));
  body->close(body->state);
  buffer_append_text(out, body_tail());
  if (is_too_long(serving))
    fail_too_long(serving, response, answer);
  else if (status != JP_CLOSED)
    fail_body(serving, response, answer);
}

static void write_body(struct serving *serving, struct jsonrpc_response *response,
                       const struct outcome *outcome, const struct rpc_answer *answer)
{
  struct outcome_body escaped;
  if (escape_body(&outcome->body, &escaped) != JP_OK) {
    fail_body(serving, response, answer);
    return;
  }
  if (!serving->request->may_stream) {
    write_whole_body(serving, response, &escaped, answer);
    return;
  }
  buffer_append_text(jsonrpc_result(response), body_head(answer));
  serving->stream = escaped;
  jsonrpc_result_stream(response, &serving->stream, body_tail());
}

void serving_note_result(struct serving *serving, const struct outcome *outcome)
{
  struct text id = serving->request->id;
  if (serving->results == NULL)
    return;
  if (!serving->has_failed) {
    batch_results_note(serving->results, id, outcome, serving->by_value);
    return;
  }
  struct text data = text_slice(buffer_text(serving->out), serving->error_at, serving->out->len);
  if (!serving->out->failed)
    batch_results_note_failure(serving->results, id, data, serving->cause);
}

static void write_result(struct serving *serving, struct jsonrpc_response *response,
                         const struct outcome *outcome, const struct rpc_answer *answer)
{
  if (serving->by_value)
    rpc_by_value_result_write(jsonrpc_result(response), outcome);
  else
    rpc_result_write(jsonrpc_result(response), outcome, answer);
}

/* A call that has run does not lose its result: where that can be an object of the session, its ref takes the place
 * of an answer that is too long; all else is as short as an error. */
static void shorten_answer(struct serving *serving, struct jsonrpc_response *response,
                           struct outcome *outcome, const struct rpc_answer *answer)
{
  bool is_document = outcome->has_value && outcome->value.kind == OP_DOCUMENT;
  if (outcome->kind == OUTCOME_ERROR || is_document || answer->compat_pal) {
    fail_too_long(serving, response, answer);
    return;
  }
  if (serving_is_unkept(serving) || !rpc_run_become_ref(&serving->run, serving->by_value, outcome))
    return;
  if (outcome->kind == OUTCOME_ERROR) {
    write_error(serving, response, outcome, answer);
  } else if (outcome->type.len > OUTCOME_MESSAGE_MAX) {
    fail_too_long(serving, response, answer);
  } else {
    write_result(serving, response, outcome, answer);
  }
}

/* The outcome becomes what is told in its place, if that has to be shorter. */
static void write_answer(struct serving *serving, struct jsonrpc_response *response, struct outcome *outcome)
{
  const struct rpc_answer answer = {.request_id = serving->request->id,
                                    .compat_pal = serving->peer->config.compat_pal,
                                    .from = &serving->run.reached,
                                    .scratch = &serving->own->scratch,
                                    .cause = serving->cause == NULL ? TEXT_ABSENT : serving->cause->json,
                                    /* in --compat pal an answer tells of more than the number */
                                    .number = serving->places != NULL && !serving->peer->config.compat_pal
                                                  ? &serving->places->number
                                                  : NULL};
  if (outcome->kind == OUTCOME_ERROR) {
    write_error(serving, response, outcome, &answer);
  } else if (serving_is_unkept(serving)) {
    /* Of a request whose result is told to nobody. */
    const struct outcome nothing = {.kind = OUTCOME_VOID};
    if (outcome->kind == OUTCOME_BODY)
      outcome->body.close(outcome->body.state);
    rpc_result_write(jsonrpc_result(response), &nothing, &answer);
  } else if (outcome->kind == OUTCOME_BODY) {
    write_body(serving, response, outcome, &answer);
    return;
  } else {
    write_result(serving, response, outcome, &answer);
  }
  if (is_too_long(serving))
    shorten_answer(serving, response, outcome, &answer);
  else if (answer.number != NULL && answer.number->is_known) {
    serving->places->id_at = jsonrpc_id_offset(response);
    serving->places->member = serving->run.reached.resolved;
  }
}

void serving_write_answer(struct serving *serving, struct jsonrpc_response *response,
                          const struct outcome *outcome)
{
  struct outcome told = *outcome;
  serving->has_failed = false;
  write_answer(serving, response, &told);
  serving_note_result(serving, &told);
}
