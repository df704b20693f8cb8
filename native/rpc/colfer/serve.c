/* A message: a request, and its answer. */
#include "rpc/channel.h"
#include "rpc/colfer/codec_state.h"
#include "rpc/colfer/known_messages.h"
#include "rpc/colfer/outcome.h"
#include "rpc/compat.h"

enum { SCRATCH_KEPT = 64 * 1024, BODY_STEP = 64 * 1024 };

/* A message on its way. */
struct serving {
  const struct rpc_peer *peer;
  struct rpc_runner *runner;
  struct rpc_colfer_worker *own; /* of the worker */
  struct buffer *out;
  size_t start; /* of the answer in out */
  size_t reply_max;
  struct rpc_run run;
  struct rpc_colfer_request request;
  struct operation operation;
};

static struct serving begin_serving(const struct known_call *call)
{
  return (struct serving){
      .peer = call->runner->peer,
      .runner = call->runner,
      .own = call->own,
      .out = call->out,
      .start = call->out->len,
      .reply_max = call->reply_max,
      .run = {.runner = call->runner, .client = call->client, .answer_max = call->reply_max}};
}

/* Gives up what a large message needed, once its answer is written. */
static void free_memory(struct serving *serving)
{
  struct buffer *scratch = &serving->own->scratch;
  arena_reset(&serving->runner->arena);
  buffer_clear(scratch);
  buffer_trim(scratch, SCRATCH_KEPT);
}

/* ---- the answer ---- */

static bool is_above(const struct serving *serving, size_t length)
{
  return serving->reply_max > 0 && length > serving->reply_max;
}

static void fail_too_long(struct serving *serving, struct outcome *outcome)
{
  outcome_fail(outcome, &serving->runner->arena, FAILURE_SERVER, NULL,
               "the answer is longer than the %zu bytes that may be held for it (message-max)",
               serving->reply_max);
}

/* Reads metadata into the scratch buffer, or makes the outcome an error. */
static void collect_body(struct serving *serving, struct outcome *outcome)
{
  struct outcome_body body = outcome->body;
  struct buffer *scratch = &serving->own->scratch;
  enum jp_status status;
  buffer_clear(scratch);
  do
    status = body.read(body.state, scratch, BODY_STEP);
  while (status == JP_OK && !scratch->failed && !is_above(serving, scratch->len));
  body.close(body.state);
  if (is_above(serving, scratch->len))
    fail_too_long(serving, outcome);
  else if (status != JP_CLOSED || scratch->failed)
    outcome_fail(outcome, &serving->runner->arena, FAILURE_SERVER, NULL, "the metadata could not be read");
}

static void write_answer(struct serving *serving, struct outcome *outcome)
{
  struct rpc_colfer_answer answer = rpc_colfer_answer_to(&serving->request);
  answer.id = rpc_colfer_ids_next(&serving->own->ids);
  answer.from = &serving->run.reached;
  answer.arena = &serving->runner->arena;
  answer.scratch = &serving->own->scratch;
  if (outcome->kind == OUTCOME_BODY)
    collect_body(serving, outcome);
  rpc_colfer_answer_write(serving->out, outcome, &answer);
  if (!is_above(serving, serving->out->len - serving->start))
    return;
  buffer_truncate(serving->out, serving->start);
  if (!rpc_run_become_ref(&serving->run, false, outcome)) {
    rpc_run_take_back(&serving->run);
    fail_too_long(serving, outcome);
  }
  rpc_colfer_answer_write(serving->out, outcome, &answer);
}

/* ---- the request ---- */

enum jp_status rpc_colfer_session_read(const struct rpc_colfer_request *request, struct arena *arena,
                                       bool *is_named, struct uuid *session, struct outcome *outcome)
{
  static const char *const names[RPC_COLFER_PARTS] = {
      [RPC_COLFER_EXEC] = "peer_uuid", [RPC_COLFER_CONTROL] = "from_peer", [RPC_COLFER_META] = "from_peer"};
  *is_named = request->session.len > 0;
  if (!*is_named)
    return JP_OK;
  if (request->session.len == sizeof session->bytes) {
    memcpy(session->bytes, request->session.data, sizeof session->bytes);
    return JP_OK;
  }
  outcome_fail(outcome, arena, FAILURE_INVALID_REQUEST, NULL, "'%s' must be a UUID of 16 bytes, not of %zu",
               names[request->part], request->session.len);
  return JP_INVALID;
}

static enum jp_status read_operation(struct serving *serving, struct outcome *outcome)
{
  struct arena *arena = &serving->runner->arena;
  const struct rpc_colfer_rules rules = rpc_colfer_rules(serving->peer);
  struct operation *operation = &serving->operation;
  enum jp_status status = rpc_colfer_operation_read(&serving->request, &rules, arena, operation, outcome);
  struct text class_name;
  if (!rules.compat_pal || !rpc_compat_withholds(operation, &class_name))
    return status;
  const struct rpc_authorizer authorizer = rpc_run_authorizer(&serving->run);
  return rpc_authorize_deny(&authorizer, class_name, operation->member, arena, outcome);
}

static void run_request(struct serving *serving, struct outcome *outcome)
{
  struct uuid session;
  bool is_named;
  if (rpc_colfer_session_read(&serving->request, &serving->runner->arena, &is_named, &session, outcome) !=
      JP_OK)
    return;
  bool may_name = rpc_channels[serving->run.client->channel].names_session_in_message;
  rpc_run_begin(&serving->run, is_named && may_name ? &session : NULL, false);
  if (read_operation(serving, outcome) == JP_OK)
    rpc_run_operation(&serving->run, &serving->operation, outcome);
}

/* ---- messages ---- */

/* known_call.answer_failed */
static void answer_known(const struct known_call *call, struct text request_id,
                         const struct rpc_reached_member *reached, struct outcome *failed)
{
  struct serving serving = begin_serving(call);
  serving.request.part = RPC_COLFER_EXEC;
  serving.request.id = request_id;
  serving.run.reached = *reached;
  write_answer(&serving, failed);
  free_memory(&serving);
}

static void keep_message(struct serving *serving, const struct known_call *call,
                         const struct outcome *outcome)
{
  const struct known_outcome made = {.request = &serving->request.message,
                                     .operation = &serving->operation,
                                     .reached = &serving->run.reached,
                                     .outcome = outcome,
                                     .reply = serving->start};
  known_messages_keep(&serving->own->known, call, &made);
}

static void take_general_path(const struct known_call *call)
{
  struct serving serving = begin_serving(call);
  struct outcome outcome = {.kind = OUTCOME_VOID};
  if (rpc_colfer_request_read(call->message, &call->runner->arena, &serving.request, &outcome) == JP_OK)
    run_request(&serving, &outcome);
  write_answer(&serving, &outcome);
  keep_message(&serving, call, &outcome);
  rpc_run_end(&serving.run);
  free_memory(&serving);
}

enum rpc_served rpc_colfer_serve(void *context, struct rpc_worker *worker, struct rpc_client *client,
                                 struct text message, struct buffer *out, size_t reply_max,
                                 struct rpc_stream *stream)
{
  (void)context;
  (void)stream;
  const struct known_call call = {.message = message,
                                  .runner = &worker->runner,
                                  .client = client,
                                  .own = rpc_colfer_worker(worker),
                                  .out = out,
                                  .reply_max = reply_max,
                                  .answer_failed = answer_known};
  rpc_runner_begin_message(call.runner);
  if (!known_messages_serve(call.own->known, &call))
    take_general_path(&call);
  return RPC_REPLY;
}
