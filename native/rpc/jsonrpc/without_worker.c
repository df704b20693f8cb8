/* Answers that need no worker: to pings, to refused requests, and to bytes that are not a message. */
#include "rpc/control.h"
#include "rpc/jsonrpc/codec_state.h"
#include "rpc/jsonrpc/json_outcome.h"
#include "rpc/jsonrpc/json_params.h"
#include "rpc/jsonrpc/procedures.h"
#include "rpc/jsonrpc/request_options.h"

#include "json/writer.h"

enum { PING_MAX = 4096 }; /* a longer message is not worth a look */

void rpc_message_data_write(struct buffer *out, struct text message, struct text id, bool compat_pal)
{
  struct outcome outcome = {.kind = OUTCOME_ERROR, .message = message};
  struct rpc_answer answer = {.request_id = id, .compat_pal = compat_pal};
  rpc_error_data_write(out, &outcome, &answer);
}

static void write_error(struct buffer *out, int code, struct text id, struct text message, bool compat_pal)
{
  BUFFER_LITERAL(out, "{\"jsonrpc\":\"2.0\",\"id\":");
  buffer_append_text(out, id);
  BUFFER_LITERAL(out, ",\"error\":{\"code\":");
  json_write_integer(out, code);
  BUFFER_LITERAL(out, ",\"message\":");
  json_write_string(out, text_of(jsonrpc_code_message(code)));
  BUFFER_LITERAL(out, ",\"data\":");
  rpc_message_data_write(out, message, id, compat_pal);
  BUFFER_LITERAL(out, "}}");
}

/* The part behind the last comma may be cut off: it is left out. */
static struct text find_id(struct text beginning)
{
  while (beginning.len > 0 && beginning.data[beginning.len - 1] != ',')
    beginning.len--;
  struct text id = jsonrpc_salvage_id(beginning, beginning.len, JSONRPC_2_0);
  return id.data == NULL ? TEXT("null") : id;
}

void rpc_jsonrpc_reject(void *context, enum rpc_rejection rejection, struct text beginning,
                        const char *reason, struct buffer *out)
{
  static const int codes[] = {
      [RPC_REJECT_UNREADABLE] = JSONRPC_PARSE_ERROR,
      [RPC_REJECT_INVALID] = JSONRPC_INVALID_REQUEST,
      [RPC_REJECT_OVERLOADED] = JSONRPC_SERVER_ERROR,
  };
  const struct rpc_peer *peer = context;
  write_error(out, codes[rejection], find_id(beginning), text_of(reason), peer->config.compat_pal);
}

/* ---- every request of a message, without a worker ---- */

struct workerless_call {
  const struct rpc_peer *peer;
  struct arena arena;
  int code; /* of a refusal */
  const char *reason;
  bool is_answered; /* a ping, or a request beside another one */
  enum rpc_lane lane;
  struct rpc_client *client; /* of rpc_codec.serve_beside */
};

static void write_error_data(void *context, struct buffer *data, struct text detail, struct text id)
{
  const struct workerless_call *call = context;
  rpc_message_data_write(data, detail, id, call->peer->config.compat_pal);
}

static enum jsonrpc_handled handle_without_worker(
    struct workerless_call *call, struct text message, struct buffer *out,
    void (*handle)(void *context, const struct jsonrpc_request *request, struct jsonrpc_response *response))
{
  arena_init(&call->arena);
  const struct jsonrpc_service service = {.context = call,
                                          .arena = &call->arena,
                                          .handle = handle,
                                          .write_error_data = write_error_data,
                                          .limits = rpc_jsonrpc_limits(call->peer),
                                          .max_batch = call->peer->config.limits.max_batch,
                                          .takes_options = true};
  struct jsonrpc_stream stream;
  enum jsonrpc_handled handled = jsonrpc_handle(&service, message, out, &stream);
  arena_fini(&call->arena);
  return handled;
}

static void handle_refusal(void *context, const struct jsonrpc_request *request,
                           struct jsonrpc_response *response)
{
  const struct workerless_call *call = context;
  struct buffer *data = jsonrpc_error(response, call->code, jsonrpc_code_message(call->code));
  rpc_message_data_write(data, text_of(call->reason), request->id, call->peer->config.compat_pal);
}

enum rpc_served rpc_jsonrpc_refuse(void *context, struct text message, const char *reason, struct buffer *out)
{
  struct workerless_call call = {.peer = context, .code = JSONRPC_SERVER_ERROR, .reason = reason};
  return rpc_jsonrpc_served(handle_without_worker(&call, message, out, handle_refusal));
}

static void handle_stale(void *context, const struct jsonrpc_request *request,
                         struct jsonrpc_response *response)
{
  const struct workerless_call *call = context;
  const struct rpc_answer answer = {.request_id = request->id, .compat_pal = call->peer->config.compat_pal};
  struct outcome outcome;
  outcome_fail_stale(&outcome);
  struct buffer *data =
      jsonrpc_error(response, JSONRPC_SERVER_ERROR, jsonrpc_code_message(JSONRPC_SERVER_ERROR));
  rpc_error_data_write(data, &outcome, &answer);
}

enum rpc_served rpc_jsonrpc_refuse_stale(const struct rpc_peer *peer, struct text message, struct buffer *out)
{
  struct workerless_call call = {.peer = peer};
  return rpc_jsonrpc_served(handle_without_worker(&call, message, out, handle_stale));
}

static void handle_nested(void *context, const struct jsonrpc_request *request,
                          struct jsonrpc_response *response)
{
  struct workerless_call *call = context;
  struct rpc_request_options options;
  struct outcome outcome;
  if (rpc_request_options_read(request, &call->arena, &options, &outcome) == JP_OK)
    rpc_request_options_fail_within(options.within, &call->arena, &outcome);
  struct buffer *data =
      jsonrpc_error(response, JSONRPC_INVALID_PARAMS, jsonrpc_code_message(JSONRPC_INVALID_PARAMS));
  rpc_message_data_write(data, outcome.message, request->id, call->peer->config.compat_pal);
}

enum rpc_served rpc_jsonrpc_refuse_nested(const struct rpc_peer *peer, struct text message,
                                          struct buffer *out)
{
  struct workerless_call call = {.peer = peer};
  return rpc_jsonrpc_served(handle_without_worker(&call, message, out, handle_nested));
}

/* As it would be answered in its turn, but for requests that have an answer beside them. */
enum rpc_served rpc_jsonrpc_refuse_faulty(const struct rpc_peer *peer, struct text message,
                                          struct buffer *out)
{
  struct workerless_call call = {.peer = peer,
                                 .code = JSONRPC_INVALID_REQUEST,
                                 .reason = "the message also has an answer to a callback"};
  struct json_fault fault;
  if (!peer->config.compat_pal ||
      json_validate(message, rpc_jsonrpc_limits(peer), TEXT("params"), &fault) != JP_INVALID)
    return rpc_jsonrpc_served(handle_without_worker(&call, message, out, handle_refusal));
  rpc_jsonrpc_reject_malformed(message, fault.offset, out);
  return RPC_REPLY;
}

/* On ZeroMQ peer-id names a session. A wrong name, and wrong options, are an error whatever the method. A worker
 * reports it. */
static bool has_wrong_extras(const struct jsonrpc_request *request, struct arena *arena)
{
  struct uuid peer_id;
  struct rpc_request_options options;
  struct outcome wrong;
  return (request->peer_id.data != NULL && !uuid_parse(request->peer_id, &peer_id)) ||
         rpc_request_options_read(request, arena, &options, &wrong) != JP_OK || options.within.data != NULL;
}

static void handle_ping(void *context, const struct jsonrpc_request *request,
                        struct jsonrpc_response *response)
{
  struct workerless_call *call = context;
  const struct rpc_params_rules rules = {.digits_max = call->peer->config.limits.java.number_digits_max};
  struct operation operation;
  struct outcome outcome = {.kind = OUTCOME_VOID};
  call->is_answered = !has_wrong_extras(request, &call->arena) &&
                      text_equal(request->method, TEXT("control")) &&
                      rpc_params_decode(request, &rules, &call->arena, &operation, &outcome) == JP_OK &&
                      op_control_methods[operation.command].needs_no_runner;
  if (!call->is_answered)
    return;
  const struct rpc_answer answer = {.compat_pal = call->peer->config.compat_pal};
  rpc_control_run(NULL, &operation, &outcome);
  rpc_result_write(jsonrpc_result(response), &outcome, &answer);
}

static bool is_single_request(const struct rpc_peer *peer, struct text message)
{
  struct json_fault fault;
  return message.len <= PING_MAX &&
         json_validate(message, rpc_jsonrpc_limits(peer), TEXT("params"), &fault) == JP_OK &&
         json_root(message).kind == JSON_KIND_OBJECT;
}

bool rpc_jsonrpc_serve_without_worker(void *context, struct text message, struct buffer *out,
                                      enum rpc_served *served)
{
  struct workerless_call call = {.peer = context};
  size_t start = out->len;
  if (!is_single_request(call.peer, message))
    return false;
  enum jsonrpc_handled handled = handle_without_worker(&call, message, out, handle_ping);
  *served = rpc_jsonrpc_served(handled);
  if (!call.is_answered)
    buffer_truncate(out, start);
  return call.is_answered;
}

/* ---- beside a request of the same client ---- */

/* An epoch, and options, are checked in the request's turn, and so is all that is wrong. */
static void handle_beside(void *context, const struct jsonrpc_request *request,
                          struct jsonrpc_response *response)
{
  struct workerless_call *call = context;
  const struct rpc_params_rules rules = {.digits_max = call->peer->config.limits.java.number_digits_max};
  const struct rpc_answer answer = {.request_id = request->id};
  struct operation operation;
  struct outcome outcome = {.kind = OUTCOME_VOID};
  call->is_answered = !request->is_notification && !request->has_options && request->epoch.data == NULL &&
                      text_equal(request->method, TEXT("control")) &&
                      rpc_params_decode(request, &rules, &call->arena, &operation, &outcome) == JP_OK &&
                      operation.command == OP_SHARE_SESSION &&
                      rpc_control_share_beside(call->peer, call->client, &call->arena, &outcome) &&
                      outcome.kind != OUTCOME_ERROR;
  if (call->is_answered)
    rpc_result_write(jsonrpc_result(response), &outcome, &answer);
}

/* A message that calls Java is not read twice: a method that is written with escapes is looked at, too. */
static bool may_be_control(struct text message)
{
  static const char method[] = "control";
  return message.len <= PING_MAX && (memmem(message.data, message.len, method, sizeof method - 1) != NULL ||
                                     memchr(message.data, '\\', message.len) != NULL);
}

bool rpc_jsonrpc_serve_beside(void *context, struct rpc_client *client, struct text message,
                              struct buffer *out)
{
  struct workerless_call call = {.peer = context, .client = client};
  size_t start = out->len;
  if (call.peer->config.compat_pal || !may_be_control(message) || !is_single_request(call.peer, message))
    return false;
  (void)handle_without_worker(&call, message, out, handle_beside);
  if (!call.is_answered)
    buffer_truncate(out, start);
  return call.is_answered;
}

/* ---- the lane of a message ---- */

static enum rpc_lane lane_of_operation(const struct operation *operation)
{
  switch (operation->kind) {
  case OP_CONTROL:
    return op_control_methods[operation->command].is_brief ? RPC_LANE_CONTROL : RPC_LANE_ALL;
  case OP_META:
    return RPC_LANE_META;
  case OP_DESCRIBE: /* an object's text is code of the application */
    return operation->has_instance || operation->receiver != NULL ? RPC_LANE_ALL : RPC_LANE_META;
  default:
    return RPC_LANE_ALL;
  }
}

/* Options can mean code of the application, such as an executor. */
static void find_lane(void *context, const struct jsonrpc_request *request, struct jsonrpc_response *response)
{
  struct workerless_call *call = context;
  const struct rpc_procedure *procedure = rpc_procedure_find(request->method);
  const struct rpc_params_rules rules = {.digits_max = call->peer->config.limits.java.number_digits_max};
  struct operation operation;
  struct outcome outcome;
  (void)response;
  if (procedure == NULL || request->has_options)
    return;
  if (procedure->kind == RPC_PROCEDURE_DISCOVER || procedure->kind == RPC_PROCEDURE_DESCRIBE)
    call->lane = RPC_LANE_META;
  else if (procedure->op != OP_CONTROL && procedure->op != OP_META && procedure->op != OP_DESCRIBE)
    return;
  else if (rpc_params_decode(request, &rules, &call->arena, &operation, &outcome) == JP_OK)
    call->lane = lane_of_operation(&operation);
}

enum rpc_lane rpc_jsonrpc_lane(void *context, struct text message)
{
  struct workerless_call call = {.peer = context, .lane = RPC_LANE_ALL};
  struct buffer unused;
  if (!is_single_request(call.peer, message))
    return RPC_LANE_ALL;
  buffer_init(&unused);
  (void)handle_without_worker(&call, message, &unused, find_lane);
  buffer_fini(&unused);
  return call.lane;
}

void rpc_jsonrpc_reject_malformed(struct text message, size_t fault, struct buffer *out)
{
  struct text id = jsonrpc_salvage_id(message, fault, JSONRPC_2_0);
  write_error(out, JSONRPC_PARSE_ERROR, id.data == NULL ? TEXT("null") : id,
              TEXT("Failed to deserialize JSON-RPC message"), true);
}
