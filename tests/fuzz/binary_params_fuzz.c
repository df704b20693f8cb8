/*
 * Binary requests: the input is a message. The operation that was read is walked to its last byte; for any input,
 * each of its answers has to be a message, too.
 */
#include "rpc/colfer/binary_codec.h"
#include "tests/fuzz/touch_operation.h"

#include "tests/fuzz/fuzz.h"

static void require_answer(struct buffer *out)
{
  struct arena arena;
  struct colfer_message message;
  arena_init(&arena);
  require(!out->failed &&
          colfer_decode(&colfer_message_type, buffer_text(out), &arena, &message, NULL) == JP_OK);
  require((message.exec_message != NULL) + (message.control_message != NULL) +
              (message.meta_message != NULL) ==
          1);
  arena_fini(&arena);
  buffer_clear(out);
}

static enum jp_status read_operation(struct text bytes, struct arena *arena,
                                     struct rpc_colfer_request *request, struct operation *operation,
                                     struct outcome *outcome)
{
  const struct rpc_colfer_rules rules = {.json = {.max_depth = 64}, .values = {.digits_max = 1000}};
  struct uuid session;
  bool is_named;
  enum jp_status status = rpc_colfer_request_read(bytes, arena, request, outcome);
  if (status == JP_OK)
    status = rpc_colfer_session_read(request, arena, &is_named, &session, outcome);
  return status == JP_OK ? rpc_colfer_operation_read(request, &rules, arena, operation, outcome) : status;
}

static void answer_request(struct text bytes, struct buffer *out)
{
  struct arena arena;
  struct rpc_colfer_request request;
  struct operation operation;
  struct outcome outcome = {.kind = OUTCOME_VOID};
  arena_init(&arena);
  if (read_operation(bytes, &arena, &request, &operation, &outcome) == JP_OK)
    touch_operation(&operation);
  else
    require(outcome.kind == OUTCOME_ERROR && outcome.message.data != NULL);
  static const struct rpc_reached_member member = {.class_name = TEXT("C"), .member = TEXT("m")};
  struct rpc_colfer_answer answer = rpc_colfer_answer_to(&request);
  answer.from = &member;
  answer.arena = &arena;
  rpc_colfer_answer_write(out, &outcome, &answer);
  require_answer(out);
  arena_fini(&arena);
}

FUZZ_TARGET(bytes)
{
  struct buffer out;
  buffer_init(&out);
  answer_request(bytes, &out);
  require(rpc_codecs[RPC_CODEC_COLFER]->refuse(NULL, NULL, bytes, "busy", &out) == RPC_REPLY);
  require_answer(&out);
  rpc_codecs[RPC_CODEC_COLFER]->reject(NULL, NULL, RPC_REJECT_INVALID, bytes, "too long", &out);
  require_answer(&out);
  buffer_fini(&out);
}
