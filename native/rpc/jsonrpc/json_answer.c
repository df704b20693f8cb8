/* Writes the answer of a request from its outcome. Writes a long body in pieces, and shortens an answer that
 * is too long. */
#include "rpc/compat.h"
#include "rpc/jsonrpc/json_codec.h"
#include "rpc/operation_audit.h"
#include "json/writer.h"

#include <stdlib.h>

/* ---- bodies ---- */

/* A body that is the content of a JSON string. It escapes the bytes of its source piece by piece, so that the
 * whole answer is never in memory. */
struct body_stream {
  struct outcome_body source;
  /* bytes that were read and not yet returned; between two calls, at most the start of a character */
  struct buffer piece;
  bool ended;
};

/* The length of a text without the incomplete character at its end, if there is one. */
static size_t count_whole_characters(struct text t)
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
    size_t whole = stream->ended ? piece.len : count_whole_characters(piece);
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

/* Makes *escaped a body with the escaped text of *source. Takes *source, and closes it on failure.
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
static struct text get_body_head(const struct rpc_answer *answer)
{
  if (answer->compat_pal)
    return TEXT("{\"void\":false,\"isVoid\":false,\"value\":{\"type\":\"java.lang.String\",\"null\":false,"
                "\"value\":\"");
  return TEXT("{\"void\":false,\"value\":{\"type\":\"java.lang.String\",\"null\":false,\"value\":\"");
}

static struct text get_body_tail(void)
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
  struct outcome answered = *outcome;
  if (answer->compat_pal)
    rpc_compat_reword(&answered);
  int code = rpc_failure_code(answered.failure);
  struct buffer *data = jsonrpc_error(response, code, jsonrpc_code_message(code));
  serving->has_failed = true;
  serving->error_at = data->len;
  rpc_error_data_write(data, &answered, answer);
}

/* Replaces the answer by an error without a cause. A cause is the error of another request of the batch, and
 * would make the batch's answer longer, although the answer is too long already. */
static void fail_too_long(struct serving *serving, struct jsonrpc_response *response,
                          const struct rpc_answer *answer)
{
  struct outcome outcome;
  struct rpc_answer short_answer = *answer;
  short_answer.cause = TEXT_ABSENT;
  rpc_run_release_result(&serving->run);
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
  buffer_append_text(out, get_body_head(answer));
  enum jp_status status;
  do
    status = body->read(body->state, out, BODY_STEP);
  while (status == JP_OK && !is_too_long(serving));
  body->close(body->state);
  buffer_append_text(out, get_body_tail());
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
  buffer_append_text(jsonrpc_result(response), get_body_head(answer));
  serving->stream = escaped;
  jsonrpc_result_stream(response, &serving->stream, get_body_tail());
}

static void audit_end(const struct serving *serving, const struct outcome *outcome)
{
  const struct audited_operation ended = {.client = serving->run.client,
                                          .run = &serving->run,
                                          .operation = serving->asked,
                                          .method = serving->request->method,
                                          .begun_ns = serving->begun_ns,
                                          .is_notification = serving->request->is_notification};
  operation_audit_end(&ended, outcome);
}

void serving_note_end(struct serving *serving, const struct outcome *outcome)
{
  struct text id = serving->request->id;
  if (audit_is_on())
    audit_end(serving, outcome);
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
  rpc_outs_write(serving->out, outcome);
}

/*
 * Shortens an answer that is too long. A result that is an object becomes its ref, so that a call that has run
 * does not lose its result. An error, metadata, a result with changed arrays, and any result with --compat pal
 * become a short error. All other answers stay: void (also for "keep": false) and results without an object, such
 * as a number, null, or the answer to a control command. An error would not be shorter, and would lose the result.
 * So the answer to a batch of many such requests may exceed the limit.
 */
static void shorten_answer(struct serving *serving, struct jsonrpc_response *response,
                           struct outcome *outcome, const struct rpc_answer *answer)
{
  bool is_document = outcome->has_value && outcome->value.kind == OP_DOCUMENT;
  if (outcome->kind == OUTCOME_ERROR || is_document || answer->compat_pal || outcome->out_count > 0) {
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

/* If the answer had to be shortened, *outcome becomes the outcome that was sent. */
static void write_answer(struct serving *serving, struct jsonrpc_response *response, struct outcome *outcome)
{
  const struct rpc_answer answer = {.request_id = serving->request->id,
                                    .compat_pal = serving->peer->config.compat_pal,
                                    .from = &serving->run.reached,
                                    .scratch = &serving->own->scratch,
                                    .cause = serving->cause == NULL ? TEXT_ABSENT : serving->cause->json,
                                    /* NULL with --compat pal: two answers of a member differ in more than the
                                     * number there */
                                    .number = serving->places != NULL && !serving->peer->config.compat_pal
                                                  ? &serving->places->number
                                                  : NULL};
  if (outcome->kind == OUTCOME_ERROR) {
    write_error(serving, response, outcome, &answer);
  } else if (serving_is_unkept(serving)) {
    /* The request does not want a result ("keep": false). */
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
  struct outcome answered = *outcome;
  serving->has_failed = false;
  write_answer(serving, response, &answered);
  const enum metrics_outcome word = rpc_metrics_outcome(&answered);
  serving_count(serving, serving->has_failed && word == METRICS_OUTCOME_OK ? METRICS_OUTCOME_FAILED : word);
  serving_note_end(serving, &answered);
}
