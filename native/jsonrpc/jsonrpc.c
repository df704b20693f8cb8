#include "jsonrpc/jsonrpc.h"

#include "jsonrpc/codes.h"
#include "jsonrpc/envelope.h"
#include "json/writer.h"

#include <assert.h>
#include <stdio.h>

enum { DETAIL_MAX = 128 };

enum progress { NOTHING_BEGUN, RESULT_BEGUN, ERROR_BEGUN };

/* What every answer of 2.0 begins with; its id follows, as the request has written it, or null. */
#define ANSWER_HEAD "{\"jsonrpc\":\"2.0\",\"id\":"

struct jsonrpc_response {
  struct buffer *out;
  enum jsonrpc_version version;
  struct text id;
  int code;         /* of the error that was begun, in the codes of its version */
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
  response->code = is_1_1 ? jsonrpc_code_1_1(code) : code;
  begin_answer(response);
  struct buffer *out = response->out;
  buffer_append_text(out, is_1_1 ? TEXT(",\"error\":{\"name\":\"JSONRPCError\",\"code\":")
                                 : TEXT(",\"error\":{\"code\":"));
  json_write_integer(out, response->code);
  BUFFER_LITERAL(out, ",\"message\":");
  json_write_string(out, text_of(is_1_1 ? jsonrpc_message_1_1(code, message) : message));
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

/* Leaves the rest of the answer to the stream, which the tail then ends. */
static enum jsonrpc_handled hand_over_stream(const struct jsonrpc_service *service,
                                             const struct jsonrpc_response *response,
                                             struct jsonrpc_stream *stream)
{
  stream->stream = response->stream;
  stream->tail = arena_printf(service->arena, "%.*s}", TEXT_ARGS(response->suffix));
  if (stream->tail.data == NULL) {
    /* The caller closes the stream either way, and never sends a buffer that failed. */
    response->out->failed = true;
    stream->tail = TEXT("");
  }
  return JSONRPC_STREAM;
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
  if (response.stream != NULL)
    return hand_over_stream(service, &response, stream);
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
  if (envelope_read(value, rules, service->arena, &envelope)) {
    envelope.request.arena = service->arena;
    envelope.request.text = value.span;
    return run_request(service, &envelope.request, in_batch, out, stream);
  }
  struct jsonrpc_response response = begin_response(out, envelope.request.version, envelope.request.id);
  answer_error(service, &response, envelope.code, text_of(envelope.detail));
  return end_answer(service, &response);
}

/* Answers a whole message with one error. id: absent where no request's id can be found in it. */
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
  for (size_t i = 0; i < message.len; i++) {
    if (strchr(" \t\r\n", message.data[i]) == NULL || message.data[i] == '\0')
      return false;
  }
  return true;
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
    /* The text is known to be JSON only up to that byte. */
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

static void begin_items(const struct jsonrpc_service *service, struct json_value batch,
                        struct batch_item *items, void **pointers)
{
  struct json_cursor cursor = json_enter(batch);
  struct json_value element;
  for (size_t i = 0; json_next_element(&cursor, &element); i++) {
    items[i] = (struct batch_item){.service = service, .value = element, .handled = JSONRPC_NO_REPLY};
    arena_init(&items[i].arena);
    buffer_init(&items[i].out);
    pointers[i] = &items[i];
  }
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
  begin_items(service, batch, items, pointers);
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
    arena_rewind(service->arena, mark); /* or a batch would hold what each of its requests needs */
  }
  return end_batch(&answers);
}

/* ---- batches of nothing but cached requests ---- */

struct cached_batch {
  struct text rest;
  bool ended;
};

static struct text skip_space(struct text t)
{
  size_t i = 0;
  while (i < t.len && (t.data[i] == ' ' || t.data[i] == '\n' || t.data[i] == '\r' || t.data[i] == '\t'))
    i++;
  return text_slice(t, i, t.len);
}

static bool match_next(const struct jsonrpc_service *service, struct cached_batch *batch)
{
  struct text rest = skip_space(batch->rest);
  size_t length = service->match_cached(service->context, rest);
  rest = skip_space(text_slice(rest, length, rest.len));
  if (length == 0 || rest.len == 0 || (*rest.data != ',' && *rest.data != ']'))
    return false;
  batch->ended = *rest.data == ']';
  batch->rest = text_slice(rest, 1, rest.len);
  return true;
}

/* The whole batch is matched before any of it runs, because its end may be no JSON. */
static bool is_cached_batch(const struct jsonrpc_service *service, struct text message)
{
  if (service->match_cached == NULL || service->map != NULL || message.len == 0 || *message.data != '[')
    return false;
  struct cached_batch batch = {.rest = text_slice(message, 1, message.len)};
  bool is_cached = true;
  for (size_t count = 0; is_cached && !batch.ended; count++) {
    struct arena_mark mark = arena_mark(service->arena);
    is_cached = count < service->max_batch && match_next(service, &batch);
    arena_rewind(service->arena, mark); /* it is matched again before it runs */
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
  if (!batch.ended) { /* memory was short for what had matched before */
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
