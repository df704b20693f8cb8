#include "rpc/colfer/request.h"

/* What a message's type says, and which part it goes with. */
static const struct kind {
  bool asks;
  bool answers;
  enum rpc_colfer_part part;
} kinds[UINT8_MAX + 1] = {
    [COLFER_CALLS_CONSTRUCTOR] = {.asks = true, .part = RPC_COLFER_EXEC},
    [COLFER_CALLS_INSTANCE_METHOD] = {.asks = true, .part = RPC_COLFER_EXEC},
    [COLFER_CALLS_CLASS_METHOD] = {.asks = true, .part = RPC_COLFER_EXEC},
    [COLFER_GETS_STATIC] = {.asks = true, .part = RPC_COLFER_EXEC},
    [COLFER_GETS_FIELD] = {.asks = true, .part = RPC_COLFER_EXEC},
    [COLFER_PUTS_STATIC] = {.asks = true, .part = RPC_COLFER_EXEC},
    [COLFER_PUTS_FIELD] = {.asks = true, .part = RPC_COLFER_EXEC},
    [COLFER_PUT_STATIC_DONE] = {.answers = true},
    [COLFER_PUT_FIELD_DONE] = {.answers = true},
    [COLFER_THROWS] = {.answers = true},
    [COLFER_RETURNS] = {.answers = true},
    [COLFER_CONTROL_REQUEST] = {.asks = true, .part = RPC_COLFER_CONTROL},
    [COLFER_CONTROL_RESPONSE] = {.answers = true},
    [COLFER_META_REQUEST] = {.asks = true, .part = RPC_COLFER_META},
    [COLFER_META_RESPONSE] = {.answers = true},
};

static void find_sender(struct rpc_colfer_request *request)
{
  const struct colfer_message *message = &request->message;
  request->part = RPC_COLFER_CONTROL;
  request->id = TEXT_ABSENT;
  request->session = TEXT_ABSENT;
  if (message->exec_message != NULL) {
    request->part = RPC_COLFER_EXEC;
    request->id = message->exec_message->message_id;
    request->session = message->exec_message->peer_uuid;
  } else if (message->control_message != NULL) {
    request->id = message->control_message->message_id;
    request->session = message->control_message->from_peer;
  } else if (message->meta_message != NULL) {
    request->part = RPC_COLFER_META;
    request->id = message->meta_message->message_id;
    request->session = message->meta_message->from_peer;
  }
}

/* Intercept messages are the fields behind the last one that is known. They come alone, behind the type. */
static bool is_intercept(struct text bytes)
{
  enum { TYPE_SIZE = 2, FIRST_INTERCEPT = 4, LAST_INTERCEPT = 8 };
  size_t first = bytes.len > 0 && bytes.data[0] == 0 ? TYPE_SIZE : 0;
  return first < bytes.len && bytes.data[first] >= FIRST_INTERCEPT && bytes.data[first] <= LAST_INTERCEPT;
}

static enum jp_status fail_bytes(struct text bytes, enum jp_status status, const struct jp_error *error,
                                 struct arena *arena, struct outcome *outcome)
{
  if (status == JP_NO_MEMORY) {
    outcome_fail(outcome, arena, FAILURE_INTERNAL, NULL, "out of memory");
  } else if (bytes.len == 0) {
    outcome_fail(outcome, arena, FAILURE_INVALID_REQUEST, NULL, "The message is empty");
  } else if (is_intercept(bytes)) {
    outcome_fail(outcome, arena, FAILURE_INVALID_REQUEST, NULL, "Intercept messages are not served");
    outcome->status = TEXT("UNSUPPORTED");
  } else {
    outcome_fail(outcome, arena, FAILURE_INVALID_REQUEST, NULL, "The message cannot be decoded: %s",
                 error->text);
  }
  return status;
}

static enum jp_status fail_type(uint8_t type, struct arena *arena, struct outcome *outcome)
{
  if (kinds[type].answers) {
    outcome_fail(outcome, arena, FAILURE_INVALID_REQUEST, NULL, "Message type %d is an answer, not a request",
                 type);
  } else {
    outcome_fail(outcome, arena, FAILURE_INVALID_REQUEST, NULL, "Message type %d is not served", type);
    outcome->status = TEXT("UNSUPPORTED");
  }
  return JP_INVALID;
}

/* A class initializer's call has no type of its own. */
static bool calls_initializer(const struct colfer_message *message)
{
  return message->exec_message != NULL && message->exec_message->clinit_call != NULL;
}

enum jp_status rpc_colfer_request_read(struct text bytes, struct arena *arena,
                                       struct rpc_colfer_request *request, struct outcome *outcome)
{
  struct jp_error error;
  enum jp_status status = colfer_decode(&colfer_message_type, bytes, arena, &request->message, &error);
  const struct kind *kind = &kinds[request->message.message_type];
  find_sender(request);
  if (status == JP_OK && kind->asks) {
    request->part = kind->part;
    return JP_OK;
  }
  if (status == JP_OK && !kind->answers && calls_initializer(&request->message))
    return JP_OK;
  request->part = RPC_COLFER_CONTROL;
  return status != JP_OK ? fail_bytes(bytes, status, &error, arena, outcome)
                         : fail_type(request->message.message_type, arena, outcome);
}

void rpc_colfer_request_glance(struct text beginning, struct arena *arena, struct rpc_colfer_request *request)
{
  /* What was decoded before a failure stays. */
  enum jp_status status = colfer_decode(&colfer_message_type, beginning, arena, &request->message, NULL);
  (void)status;
  find_sender(request);
}
