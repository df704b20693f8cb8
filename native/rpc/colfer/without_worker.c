/* Answers that need no worker: to pings, to refused requests, and to bytes that are not a message. */
#include "rpc/colfer/codec_state.h"
#include "rpc/colfer/outcome.h"
#include "rpc/control.h"

enum { PING_MAX = 4096 }; /* a longer message is not worth a look */

static void write_answer(struct buffer *out, const struct outcome *outcome,
                         const struct rpc_colfer_request *request, struct arena *arena)
{
  struct rpc_colfer_ids ids;
  rpc_colfer_ids_init(&ids);
  struct rpc_colfer_answer answer = rpc_colfer_answer_to(request);
  answer.id = (struct text){ids.text, UUID_TEXT_LENGTH};
  answer.arena = arena;
  rpc_colfer_answer_write(out, outcome, &answer);
}

static void fail_refused(struct outcome *outcome, struct arena *arena, const char *reason)
{
  outcome_fail(outcome, arena, FAILURE_SERVER, "java.util.concurrent.RejectedExecutionException", "%s",
               reason);
}

enum rpc_served rpc_colfer_refuse(void *context, struct text message, const char *reason, struct buffer *out)
{
  (void)context;
  struct arena arena;
  struct rpc_colfer_request request;
  struct outcome outcome;
  arena_init(&arena);
  if (rpc_colfer_request_read(message, &arena, &request, &outcome) == JP_OK)
    fail_refused(&outcome, &arena, reason);
  write_answer(out, &outcome, &request, &arena);
  arena_fini(&arena);
  return RPC_REPLY;
}

void rpc_colfer_reject(void *context, enum rpc_rejection rejection, struct text beginning, const char *reason,
                       struct buffer *out)
{
  (void)context, (void)rejection;
  struct arena arena;
  struct rpc_colfer_request request;
  struct outcome outcome;
  arena_init(&arena);
  rpc_colfer_request_glance(beginning, &arena, &request);
  fail_refused(&outcome, &arena, reason);
  write_answer(out, &outcome, &request, &arena);
  arena_fini(&arena);
}

static bool is_ping(const struct rpc_peer *peer, const struct rpc_colfer_request *request,
                    struct arena *arena, struct operation *operation)
{
  const struct rpc_colfer_rules rules = rpc_colfer_rules(peer);
  struct outcome outcome;
  struct uuid session;
  bool is_named;
  return request->part == RPC_COLFER_CONTROL &&
         rpc_colfer_session_read(request, arena, &is_named, &session, &outcome) == JP_OK &&
         rpc_colfer_operation_read(request, &rules, arena, operation, &outcome) == JP_OK &&
         op_control_methods[operation->command].needs_no_runner;
}

bool rpc_colfer_serve_without_worker(void *context, struct text message, struct buffer *out,
                                     enum rpc_served *served)
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
    rpc_control_run(NULL, &operation, &outcome);
    write_answer(out, &outcome, &request, &arena);
    *served = RPC_REPLY;
  }
  arena_fini(&arena);
  return done;
}

enum rpc_lane rpc_colfer_lane(void *context, struct text message)
{
  const struct rpc_colfer_rules rules = rpc_colfer_rules(context);
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
