/* The binary messages as a codec: a message from its bytes to its answer, and answers that need no worker. */
#include "rpc/colfer/binary_codec.h"

#include "judge/judge.h"
#include "rpc/call_watch.h"
#include "rpc/channel.h"
#include "rpc/colfer/binary_answer.h"
#include "rpc/colfer/known_messages.h"
#include "rpc/compat.h"
#include "rpc/control.h"
#include "rpc/operation_audit.h"

#include <stdlib.h>

extern const struct rpc_codec rpc_codec_colfer;

enum {
  SCRATCH_KEPT = 64 * 1024,
  BODY_STEP = 64 * 1024,
  PING_MAX = 4096 /* a longer message is not a ping, and is served after earlier messages */
};

/* A message being served. */
struct serving {
  const struct rpc_peer *peer;
  struct rpc_runner *runner;
  struct rpc_colfer_worker *own; /* of the worker */
  struct buffer *out;
  size_t start; /* the offset in out at which the answer begins */
  size_t reply_max;
  struct rpc_run run;
  struct rpc_colfer_request request;
  struct operation operation;
  enum metrics_method method; /* for GET /metrics */
  bool was_read;              /* `operation` is set */
  int64_t begun_ns;           /* for the audit alone */
};

/* ---- the state of a worker ---- */

static void *create_worker(void)
{
  struct rpc_colfer_worker *own = calloc(1, sizeof *own);
  if (own == NULL)
    return NULL;
  buffer_init(&own->scratch);
  rpc_colfer_ids_init(&own->ids);
  return own;
}

static void destroy_worker(void *state)
{
  struct rpc_colfer_worker *own = state;
  buffer_fini(&own->scratch);
  free(own->known);
  free(own);
}

static struct rpc_colfer_rules make_rules(const struct rpc_peer *peer)
{
  return (struct rpc_colfer_rules){.json = {.max_depth = peer->config.limits.max_depth},
                                   .values = {.digits_max = peer->config.limits.java.number_digits_max,
                                              .values_max = peer->config.limits.values_max,
                                              .compat_pal = peer->config.compat_pal}};
}

static void begin_serving(struct serving *serving, const struct known_call *call)
{
  *serving = (struct serving){.peer = call->runner->peer,
                              .runner = call->runner,
                              .own = call->own,
                              .out = call->out,
                              .start = call->out->len,
                              .reply_max = call->reply_max,
                              .method = METRICS_METHOD_OTHER};
  rpc_run_init(&serving->run, call->runner, call->client, call->reply_max);
  if (audit_is_on())
    serving->begun_ns = operation_audit_begin(call->runner);
}

/* Frees the memory that a large message has used, after its answer is written. */
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

/* Reads metadata into the scratch buffer. If that fails, the outcome becomes an error. */
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

static void audit_end(const struct serving *serving, const struct outcome *outcome)
{
  const struct audited_operation ended = {.client = serving->run.client,
                                          .run = &serving->run,
                                          .operation = serving->was_read ? &serving->operation : NULL,
                                          .begun_ns = serving->begun_ns};
  operation_audit_end(&ended, outcome);
}

/* The end of each request that a worker serves. */
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
  if (is_above(serving, serving->out->len - serving->start)) {
    buffer_truncate(serving->out, serving->start);
    if (!rpc_run_become_ref(&serving->run, false, outcome)) {
      rpc_run_release_result(&serving->run);
      fail_too_long(serving, outcome);
    }
    rpc_colfer_answer_write(serving->out, outcome, &answer);
  }
  rpc_count_request(serving->runner, serving->method, rpc_metrics_outcome(outcome));
  if (audit_is_on())
    audit_end(serving, outcome);
}

/* ---- the request ---- */

static enum jp_status read_operation(struct serving *serving, struct outcome *outcome)
{
  struct arena *arena = &serving->runner->arena;
  const struct rpc_colfer_rules rules = make_rules(serving->peer);
  struct operation *operation = &serving->operation;
  enum jp_status status = rpc_colfer_operation_read(&serving->request, &rules, arena, operation, outcome);
  struct text class_name;
  if (!rules.values.compat_pal || !rpc_compat_withholds(operation, &class_name))
    return status;
  const struct judge judge = rpc_run_judge(&serving->run);
  return judge_deny(&judge, class_name, operation->member, arena, outcome);
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
  if (audit_is_on() && !operation_audit_admits(&serving->runner->arena, outcome))
    return;
  serving->was_read = read_operation(serving, outcome) == JP_OK;
  if (!serving->was_read)
    return;
  serving->method = rpc_metrics_method(serving->operation.kind);
  rpc_run_operation(&serving->run, &serving->operation, outcome);
}

/* ---- messages ---- */

/* known_call.answer_failed */
static void answer_known(const struct known_call *call, struct text request_id,
                         const struct rpc_reached_member *reached, struct outcome *failed)
{
  struct serving serving;
  begin_serving(&serving, call);
  serving.request.part = RPC_COLFER_EXEC;
  serving.request.id = request_id;
  serving.method = METRICS_METHOD_CALL;
  serving.run.reached = *reached;
  write_answer(&serving, failed);
  free_memory(&serving);
}

static void take_general_path(const struct known_call *call)
{
  struct serving serving;
  begin_serving(&serving, call);
  struct outcome outcome = {.kind = OUTCOME_VOID};
  if (rpc_colfer_request_read(call->message, &call->runner->arena, &serving.request, &outcome) == JP_OK)
    run_request(&serving, &outcome);
  write_answer(&serving, &outcome);
  const struct known_outcome made = {.request = &serving.request.message,
                                     .operation = &serving.operation,
                                     .reached = &serving.run.reached,
                                     .outcome = &outcome,
                                     .reply = serving.start};
  known_messages_keep(&serving.own->known, call, &made);
  rpc_run_end(&serving.run);
  free_memory(&serving);
}

static enum rpc_served serve_binary_message(void *context, struct rpc_worker *worker,
                                            struct rpc_client *client, struct text message,
                                            struct buffer *out, size_t reply_max, struct rpc_stream *stream)
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
  rpc_runner_begin_message(call.runner, client->principal);
  if (rpc_client_counts_calls(client) || !known_messages_serve(call.own->known, &call))
    take_general_path(&call);
  return RPC_REPLY;
}

/* ---- without a worker: answers to pings, to refused requests, and to bytes that are not a message ---- */

static void write_short_answer(struct buffer *out, const struct outcome *outcome,
                               const struct rpc_colfer_request *request, struct arena *arena)
{
  struct rpc_colfer_ids ids;
  rpc_colfer_ids_init(&ids);
  struct rpc_colfer_answer answer = rpc_colfer_answer_to(request);
  answer.id = (struct text){ids.text, UUID_TEXT_LENGTH};
  answer.arena = arena;
  rpc_colfer_answer_write(out, outcome, &answer);
}

/* event, reason: as in struct audited_operation. */
static void audit_without_worker(const struct rpc_client *client, const struct operation *operation,
                                 const char *event, const char *reason, const struct outcome *outcome)
{
  const struct audited_operation ended = {.client = client,
                                          .operation = operation,
                                          .event = event,
                                          .reason = reason == NULL ? TEXT_ABSENT : text_of(reason)};
  if (audit_is_on())
    operation_audit_end(&ended, outcome);
}

static enum rpc_served answer_failure(const struct rpc_client *client, struct text message,
                                      enum outcome_failure failure, const char *class_name,
                                      const char *reason, struct buffer *out)
{
  struct arena arena;
  struct rpc_colfer_request request;
  struct outcome outcome;
  arena_init(&arena);
  if (rpc_colfer_request_read(message, &arena, &request, &outcome) == JP_OK)
    outcome_fail(&outcome, &arena, failure, class_name, "%s", reason);
  write_short_answer(out, &outcome, &request, &arena);
  if (outcome.failure == FAILURE_SERVER)
    outcome.reason = TEXT("refused");
  audit_without_worker(client, NULL, NULL, reason, &outcome);
  arena_fini(&arena);
  return RPC_REPLY;
}

static enum rpc_served refuse_message(void *context, const struct rpc_client *client, struct text message,
                                      const char *reason, struct buffer *out)
{
  (void)context;
  return answer_failure(client, message, FAILURE_SERVER, "java.util.concurrent.RejectedExecutionException",
                        reason, out);
}

static enum rpc_served deny_message(void *context, const struct rpc_client *client, struct text message,
                                    const char *reason, struct buffer *out)
{
  (void)context;
  return answer_failure(client, message, FAILURE_DENIED, NULL, reason, out);
}

static int64_t find_timeout(void *context, struct text message)
{
  const struct rpc_peer *peer = context;
  struct arena arena;
  struct rpc_colfer_request request;
  struct outcome outcome;
  if (peer->config.limits.call_timeout_ms == 0)
    return 0;
  arena_init(&arena);
  const bool calls_member = rpc_colfer_request_read(message, &arena, &request, &outcome) == JP_OK &&
                            request.part == RPC_COLFER_EXEC;
  arena_fini(&arena);
  return calls_member ? peer->config.limits.call_timeout_ms : 0;
}

static enum rpc_served answer_ended(void *context, const struct rpc_client *client, struct text message,
                                    enum rpc_call_cause cause, bool is_served, struct buffer *out)
{
  struct rpc_peer *peer = context;
  struct arena arena;
  struct rpc_colfer_request request;
  struct outcome outcome;
  arena_init(&arena);
  struct operation operation;
  struct outcome unused;
  const struct rpc_colfer_rules rules = make_rules(peer);
  bool is_read = rpc_colfer_request_read(message, &arena, &request, &outcome) == JP_OK;
  if (is_read) {
    rpc_call_fail(cause, &arena, &outcome);
    is_read = rpc_colfer_operation_read(&request, &rules, &arena, &operation, &unused) == JP_OK;
  }
  if (!is_served) /* else it counts when its thread returns */
    rpc_count_shared(&peer->shared_counts,
                     is_read ? rpc_metrics_method(operation.kind) : METRICS_METHOD_OTHER,
                     rpc_metrics_outcome(&outcome));
  audit_without_worker(client, is_read ? &operation : NULL, is_served ? "answered" : NULL, NULL, &outcome);
  write_short_answer(out, &outcome, &request, &arena);
  arena_fini(&arena);
  return RPC_REPLY;
}

static void reject_message(void *context, const struct rpc_client *client, enum rpc_rejection rejection,
                           struct text beginning, const char *reason, struct buffer *out)
{
  (void)context, (void)rejection;
  struct arena arena;
  struct rpc_colfer_request request;
  struct outcome outcome;
  arena_init(&arena);
  rpc_colfer_request_glance(beginning, &arena, &request);
  outcome_fail(&outcome, &arena, FAILURE_SERVER, "java.util.concurrent.RejectedExecutionException", "%s",
               reason);
  write_short_answer(out, &outcome, &request, &arena);
  outcome.reason = TEXT("refused");
  audit_without_worker(client, NULL, NULL, reason, &outcome);
  arena_fini(&arena);
}

static bool is_ping(const struct rpc_peer *peer, const struct rpc_colfer_request *request,
                    struct arena *arena, struct operation *operation)
{
  const struct rpc_colfer_rules rules = make_rules(peer);
  struct outcome outcome;
  struct uuid session;
  bool is_named;
  return request->part == RPC_COLFER_CONTROL &&
         rpc_colfer_session_read(request, arena, &is_named, &session, &outcome) == JP_OK &&
         rpc_colfer_operation_read(request, &rules, arena, operation, &outcome) == JP_OK &&
         op_control_methods[operation->command].needs_no_runner;
}

static bool serve_without_worker(void *context, const struct rpc_client *client, struct text message,
                                 struct buffer *out, enum rpc_served *served)
{
  struct arena arena;
  struct rpc_colfer_request request;
  struct operation operation;
  struct outcome outcome = {.kind = OUTCOME_VOID};
  if (message.len > PING_MAX)
    return false;
  arena_init(&arena);
  bool done = rpc_colfer_request_read(message, &arena, &request, &outcome) == JP_OK &&
              is_ping(context, &request, &arena, &operation);
  if (done) {
    struct rpc_peer *peer = context;
    if (!audit_is_on() || operation_audit_admits(&arena, &outcome))
      rpc_control_run(NULL, &operation, &outcome);
    audit_without_worker(client, &operation, NULL, NULL, &outcome);
    write_short_answer(out, &outcome, &request, &arena);
    rpc_count_shared(&peer->shared_counts, METRICS_METHOD_CONTROL, METRICS_OUTCOME_OK);
    *served = RPC_REPLY;
  }
  arena_fini(&arena);
  return done;
}

static enum rpc_lane find_lane(void *context, struct text message)
{
  const struct rpc_colfer_rules rules = make_rules(context);
  enum rpc_lane lane = RPC_LANE_ALL;
  struct arena arena;
  struct rpc_colfer_request request;
  struct operation operation;
  struct outcome outcome;
  if (message.len > PING_MAX)
    return RPC_LANE_ALL;
  arena_init(&arena);
  if (rpc_colfer_request_read(message, &arena, &request, &outcome) != JP_OK)
    goto out;
  if (request.part == RPC_COLFER_META)
    lane = RPC_LANE_META;
  else if (request.part == RPC_COLFER_CONTROL &&
           rpc_colfer_operation_read(&request, &rules, &arena, &operation, &outcome) == JP_OK &&
           op_control_methods[operation.command].is_brief)
    lane = RPC_LANE_CONTROL;
out:
  arena_fini(&arena);
  return lane;
}

/* ---- the codec ---- */

/* A message begins with the index of its first field, or with its end. An empty message is accepted here,
 * too, because a JSON-RPC client never sends one. */
static bool recognizes_message(struct text message)
{
  enum { LAST_FIELD = 8, END = 0x7f };
  return message.len == 0 || (unsigned char)message.data[0] <= LAST_FIELD || message.data[0] == END;
}

const struct rpc_codec rpc_codec_colfer = {.name = "binary",
                                           .worker_create = create_worker,
                                           .worker_destroy = destroy_worker,
                                           .recognizes = recognizes_message,
                                           .serve = serve_binary_message,
                                           .serve_without_worker = serve_without_worker,
                                           .find_timeout = find_timeout,
                                           .answer_ended = answer_ended,
                                           .lane = find_lane,
                                           .refuse = refuse_message,
                                           .deny = deny_message,
                                           .reject = reject_message};
