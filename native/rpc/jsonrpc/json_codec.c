/* JSON-RPC as a codec: its state for the peer and for each worker, a message from its bytes to its answer,
 * and answers without a worker. */
#include "rpc/jsonrpc/json_codec.h"
#include "rpc/callbacks/callbacks.h"
#include "rpc/channel.h"
#include "rpc/control.h"
#include "rpc/describe/describe.h"
#include "rpc/describe/openrpc.h"
#include "rpc/jsonrpc/cached_requests.h"
#include "rpc/jsonrpc/json_callbacks.h"
#include "rpc/jsonrpc/json_params.h"
#include "rpc/methods/java_methods.h"
#include "rpc/methods/procedures.h"
#include "rpc/operation_audit.h"
#include "json/writer.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* ---- state ---- */

static void stop_codec(void *state)
{
  struct rpc_jsonrpc_peer *own = state;
  openrpc_destroy(own->openrpc);
  java_methods_index_destroy(own->methods);
  free(own);
}

static enum jp_status start_codec(struct rpc_peer *peer, void **state, struct jp_error *error)
{
  const struct openrpc_config config = {.uuid = peer->config.uuid,
                                        .name = peer->config.name,
                                        .version = peer->config.version,
                                        .addresses = peer->addresses,
                                        .catalog = peer->config.catalog,
                                        .compat_pal = peer->config.compat_pal};
  struct rpc_jsonrpc_peer *own = calloc(1, sizeof *own);
  if (own == NULL || (own->methods = java_methods_index_create()) == NULL) {
    free(own);
    return jp_fail_memory(error, NULL);
  }
  enum jp_status status = openrpc_create(&config, &own->openrpc, error);
  if (status != JP_OK) {
    stop_codec(own);
    return status;
  }
  *state = own;
  return JP_OK;
}

static void *create_worker(void)
{
  struct rpc_jsonrpc_worker *own = calloc(1, sizeof *own);
  if (own != NULL)
    buffer_init(&own->scratch);
  return own;
}

static void destroy_worker(void *state)
{
  struct rpc_jsonrpc_worker *own = state;
  buffer_fini(&own->scratch);
  free(own->fastpath);
  free(own);
}

static enum rpc_served convert_handled(enum jsonrpc_handled handled)
{
  static const enum rpc_served served[] = {
      [JSONRPC_REPLY] = RPC_REPLY,   [JSONRPC_NO_REPLY] = RPC_NO_REPLY, [JSONRPC_STREAM] = RPC_STREAM,
      [JSONRPC_FAILED] = RPC_FAILED, [JSONRPC_NOT_SAFE] = RPC_NOT_SAFE,
  };
  return served[handled];
}

struct json_limits rpc_jsonrpc_limits(const struct rpc_peer *peer)
{
  return (struct json_limits){.max_depth = peer->config.limits.max_depth};
}

/* ---- errors that need no outcome ---- */

/* The data of an error with no throwable. */
static void write_message_data(struct buffer *out, struct text message, struct text id, bool compat_pal)
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
  write_message_data(out, message, id, compat_pal);
  BUFFER_LITERAL(out, "}}");
}

static bool is_malformed(const struct rpc_peer *peer, struct text message, struct json_fault *fault)
{
  return json_validate(message, rpc_jsonrpc_limits(peer), TEXT("params"), fault) == JP_INVALID;
}

/* Answers malformed JSON in the form of --compat pal, which has the id if the id can be found. fault: the
 * offset of the offending byte. */
static void reject_malformed(struct text message, size_t fault, struct buffer *out)
{
  struct text id = jsonrpc_salvage_id(message, fault, JSONRPC_2_0);
  write_error(out, JSONRPC_PARSE_ERROR, id.data == NULL ? TEXT("null") : id,
              TEXT("Failed to deserialize JSON-RPC message"), true);
}

/* ---- every request of a message, without a worker ---- */

struct workerless_call {
  const struct rpc_peer *peer;
  const struct rpc_client *sender; /* NULL: not known */
  struct arena arena;
  bool is_audited; /* its requests end here */
  int code;        /* of a refusal */
  const char *reason;
  bool is_answered; /* the request is a ping, or was answered while another request is being served */
  enum rpc_lane lane;
  struct rpc_client *client; /* for rpc_codec.serve_beside */
  const struct rpc_beside *beside;
  enum rpc_call_cause cause; /* for rpc_codec.answer_ended */
  bool is_served;            /* likewise */
  struct buffer *ids;        /* for rpc_codec.list_ids */
  int64_t timeout_ms;        /* for rpc_codec.find_timeout: the longest */
  bool has_endless;          /* a request without a timeout */
  struct rpc_request_counts
      *counts; /* for requests that are answered; NULL: they are not counted, or as a refused message */
};

static void count_workerless(const struct workerless_call *call, enum metrics_method method,
                             enum metrics_outcome outcome)
{
  if (call->counts != NULL)
    rpc_count_shared(call->counts, method, outcome);
}

/* operation NULL: it was not read. event, reason: as in struct audited_operation. */
static void audit_without_worker(const struct workerless_call *call, const struct jsonrpc_request *request,
                                 const struct operation *operation, const char *event, const char *reason,
                                 const struct outcome *outcome)
{
  const struct audited_operation ended = {.client = call->sender,
                                          .operation = operation,
                                          .method = request == NULL ? TEXT_ABSENT : request->method,
                                          .event = event,
                                          .reason = reason == NULL ? TEXT_ABSENT : text_of(reason),
                                          .is_notification = request != NULL && request->is_notification};
  if (audit_is_on())
    operation_audit_end(&ended, outcome);
}

/* For an error that has no outcome of its own. */
static void audit_refusal(const struct workerless_call *call, const struct jsonrpc_request *request, int code,
                          const char *reason)
{
  const struct outcome denied = {.kind = OUTCOME_ERROR, .failure = FAILURE_DENIED};
  const struct outcome invalid = {.kind = OUTCOME_ERROR, .failure = FAILURE_INVALID_REQUEST};
  const struct outcome refused = {
      .kind = OUTCOME_ERROR, .failure = FAILURE_SERVER, .reason = TEXT("refused")};
  audit_without_worker(call, request, NULL, NULL, reason,
                       code == JSONRPC_ACCESS_DENIED  ? &denied
                       : code == JSONRPC_SERVER_ERROR ? &refused
                                                      : &invalid);
}

static void write_error_data(void *context, struct buffer *data, struct text detail, struct text id)
{
  const struct workerless_call *call = context;
  if (call->is_audited)
    audit_refusal(call, NULL, JSONRPC_INVALID_REQUEST, NULL);
  count_workerless(call, METRICS_METHOD_OTHER, METRICS_OUTCOME_INVALID);
  write_message_data(data, detail, id, call->peer->config.compat_pal);
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

static void handle_stale(void *context, const struct jsonrpc_request *request,
                         struct jsonrpc_response *response)
{
  const struct workerless_call *call = context;
  const struct rpc_answer answer = {.request_id = request->id, .compat_pal = call->peer->config.compat_pal};
  struct outcome outcome;
  outcome_fail_stale(&outcome);
  count_workerless(call, METRICS_METHOD_OTHER, METRICS_OUTCOME_FAILED);
  audit_without_worker(call, request, NULL, NULL, NULL, &outcome);
  struct buffer *data =
      jsonrpc_error(response, JSONRPC_SERVER_ERROR, jsonrpc_code_message(JSONRPC_SERVER_ERROR));
  rpc_error_data_write(data, &outcome, &answer);
}

/* ---- a message: its requests one after the other, and its end ---- */

enum { SCRATCH_KEPT = 64 * 1024 };

static void write_invalid_data(void *context, struct buffer *data, struct text detail, struct text id)
{
  struct serving *serving = context;
  size_t start = data->len;
  const struct workerless_call call = {.sender = serving->client};
  audit_refusal(&call, NULL, JSONRPC_INVALID_REQUEST, NULL);
  serving->found_invalid = true;
  rpc_count_request(&serving->worker->runner, METRICS_METHOD_OTHER, METRICS_OUTCOME_INVALID);
  write_message_data(data, detail, id, serving->peer->config.compat_pal);
  if (serving->results != NULL && !data->failed)
    batch_results_note_failure(serving->results, id, text_slice(buffer_text(data), start, data->len), NULL);
}

void serving_free_memory(struct rpc_worker *worker)
{
  struct buffer *scratch = &rpc_jsonrpc_worker(worker)->scratch;
  arena_reset(&worker->runner.arena);
  buffer_clear(scratch);
  buffer_trim(scratch, SCRATCH_KEPT);
}

/* The function `release` of batch_results_end; context: the struct jvm_thread. */
static void release_text(void *context, struct op_shared_text *text)
{
  jvm_release_text(context, text);
}

static enum rpc_served end_message(struct serving *serving, enum jsonrpc_handled handled,
                                   const struct jsonrpc_stream *rest, struct rpc_stream *stream)
{
  unkept_results_drop(&serving->unkept, &serving->run);
  /* Counts the callbacks that the message gives, even if a request has failed before its arguments were
   * read. */
  struct rpc_client *client = serving->run.client;
  struct rpc_given *given = &serving->run.runner->given;
  bool is_unread = client->push != NULL && (serving->has_unread || serving->found_invalid);
  if (is_unread && client->callbacks != NULL)
    rpc_callbacks_settle_partly(client->callbacks, given, serving->message);
  else if (is_unread)
    rpc_callbacks_count_refused(serving->peer, client, &rpc_codec_jsonrpc, serving->message);
  else if (given->count > 0)
    rpc_callbacks_settle(client->callbacks, given);
  if (serving->results != NULL)
    batch_results_end(serving->results, release_text, serving->worker->runner.thread);
  arena_fini(&serving->lasting);
  if (stream != NULL && handled == JSONRPC_STREAM) {
    stream->body = serving->stream;
    stream->tail = rest->tail; /* in the arena, which is reset by the next message */
    return RPC_STREAM;
  }
  struct json_fault fault;
  if (serving->found_invalid && serving->peer->config.compat_pal && handled != JSONRPC_FAILED &&
      is_malformed(serving->peer, serving->message, &fault)) {
    buffer_truncate(serving->out, serving->start);
    reject_malformed(serving->message, fault.offset, serving->out);
  }
  serving_free_memory(serving->worker);
  return convert_handled(handled);
}

void serving_begin(struct serving *serving)
{
  const size_t from = offsetof(struct serving, start);
  memset((char *)serving + from, 0, offsetof(struct serving, run) - from);
  serving->has_begun = true;
  serving->start = serving->out->len;
  rpc_run_init(&serving->run, &serving->worker->runner, serving->client, serving->reply_max);
}

static enum rpc_served take_general_path(struct serving *serving, struct rpc_stream *stream)
{
  serving_begin(serving);
  const struct rpc_peer *peer = serving->peer;
  bool only_safe = serving->client->only_safe;
  if (batch_results_may_be_named(serving->message))
    serving->results = batch_results_create(&serving->lasting, peer->config.limits.message_max);
  bool may_use_cache = !only_safe && serving->results == NULL;
  const struct jsonrpc_service service = {.context = serving,
                                          .arena = &serving->worker->runner.arena,
                                          .handle = serving_handle_request,
                                          .write_error_data = write_invalid_data,
                                          .match_cached = may_use_cache ? serving_match_cached : NULL,
                                          .run_cached = serving_run_cached,
                                          .limits = rpc_jsonrpc_limits(peer),
                                          .max_batch = peer->config.limits.max_batch,
                                          .may_stream = stream != NULL &&
                                                        rpc_channels[serving->client->channel].may_stream,
                                          .only_safe = only_safe,
                                          .takes_options = true};
  struct jsonrpc_stream rest;
  enum jsonrpc_handled handled = jsonrpc_handle(&service, serving->message, serving->out, &rest);
  return end_message(serving, handled, &rest, stream);
}

static enum rpc_served serve_jsonrpc_message(void *context, struct rpc_worker *worker,
                                             struct rpc_client *client, struct text message,
                                             struct buffer *out, size_t reply_max, struct rpc_stream *stream)
{
  struct rpc_jsonrpc_worker *own = rpc_jsonrpc_worker(worker);
  rpc_runner_begin_message(&worker->runner, client->principal);
  buffer_clear(&own->scratch);
  if (client->is_stale) {
    /* The message is meant for another epoch of its client's session. */
    struct workerless_call call = {
        .peer = context, .sender = client, .is_audited = true, .counts = &worker->runner.peer->shared_counts};
    return convert_handled(handle_without_worker(&call, message, out, handle_stale));
  }
  enum rpc_served served;
  struct serving serving;
  serving.message = message;
  serving.peer = context;
  serving.worker = worker;
  serving.own = own;
  serving.client = client;
  serving.out = out;
  serving.reply_max = reply_max;
  serving.has_begun = false;
  worker->served = client;
  if (rpc_client_counts_calls(client) || !serving_serve_cached(&serving, &served))
    served = take_general_path(&serving, stream);
  worker->served = NULL;
  return served;
}

/* ---- answers that need no worker ---- */

/* Ignores the part after the last comma, because that part may be incomplete. */
static struct text find_id(struct text beginning)
{
  while (beginning.len > 0 && beginning.data[beginning.len - 1] != ',')
    beginning.len--;
  struct text id = jsonrpc_salvage_id(beginning, beginning.len, JSONRPC_2_0);
  return id.data == NULL ? TEXT("null") : id;
}

static void reject_message(void *context, const struct rpc_client *client, enum rpc_rejection rejection,
                           struct text beginning, const char *reason, struct buffer *out)
{
  static const int codes[] = {
      [RPC_REJECT_UNREADABLE] = JSONRPC_PARSE_ERROR,
      [RPC_REJECT_INVALID] = JSONRPC_INVALID_REQUEST,
      [RPC_REJECT_OVERLOADED] = JSONRPC_SERVER_ERROR,
  };
  const struct rpc_peer *peer = context;
  const struct workerless_call call = {.sender = client};
  audit_refusal(&call, NULL, codes[rejection], reason);
  write_error(out, codes[rejection], find_id(beginning), text_of(reason), peer->config.compat_pal);
}

static void handle_refusal(void *context, const struct jsonrpc_request *request,
                           struct jsonrpc_response *response)
{
  const struct workerless_call *call = context;
  struct buffer *data = jsonrpc_error(response, call->code, jsonrpc_code_message(call->code));
  count_workerless(call, rpc_jsonrpc_metrics_method(request->method), METRICS_OUTCOME_INVALID);
  audit_refusal(call, request, call->code, call->reason);
  write_message_data(data, text_of(call->reason), request->id, call->peer->config.compat_pal);
}

static enum rpc_served refuse_message(void *context, const struct rpc_client *client, struct text message,
                                      const char *reason, struct buffer *out)
{
  struct workerless_call call = {
      .peer = context, .sender = client, .is_audited = true, .code = JSONRPC_SERVER_ERROR, .reason = reason};
  return convert_handled(handle_without_worker(&call, message, out, handle_refusal));
}

static enum rpc_served deny_message(void *context, const struct rpc_client *client, struct text message,
                                    const char *reason, struct buffer *out)
{
  struct workerless_call call = {
      .peer = context, .sender = client, .is_audited = true, .code = JSONRPC_ACCESS_DENIED, .reason = reason};
  return convert_handled(handle_without_worker(&call, message, out, handle_refusal));
}

static void handle_nested(void *context, const struct jsonrpc_request *request,
                          struct jsonrpc_response *response)
{
  struct workerless_call *call = context;
  struct rpc_request_options options;
  struct outcome outcome;
  if (rpc_request_options_read(request, &call->arena, &options, &outcome) == JP_OK)
    rpc_request_options_fail_within(options.within, &call->arena, &outcome);
  count_workerless(call, rpc_jsonrpc_metrics_method(request->method), METRICS_OUTCOME_INVALID);
  audit_without_worker(call, request, NULL, NULL, NULL, &outcome);
  struct buffer *data =
      jsonrpc_error(response, JSONRPC_INVALID_PARAMS, jsonrpc_code_message(JSONRPC_INVALID_PARAMS));
  write_message_data(data, outcome.message, request->id, call->peer->config.compat_pal);
}

enum rpc_served rpc_jsonrpc_refuse_nested(struct rpc_peer *peer, const struct rpc_client *client,
                                          struct text message, struct buffer *out)
{
  struct workerless_call call = {
      .peer = peer, .sender = client, .is_audited = true, .counts = &peer->shared_counts};
  return convert_handled(handle_without_worker(&call, message, out, handle_nested));
}

/* The message gets at once the answer that it would get in its turn. Requests in the message that the peer
 * could answer out of turn are refused, too. */
enum rpc_served rpc_jsonrpc_refuse_faulty(struct rpc_peer *peer, const struct rpc_client *client,
                                          struct text message, struct buffer *out)
{
  struct workerless_call call = {.peer = peer,
                                 .sender = client,
                                 .is_audited = true,
                                 .code = JSONRPC_INVALID_REQUEST,
                                 .reason = "the message also has an answer to a callback",
                                 .counts = &peer->shared_counts};
  struct json_fault fault;
  if (!peer->config.compat_pal || !is_malformed(peer, message, &fault))
    return convert_handled(handle_without_worker(&call, message, out, handle_refusal));
  reject_malformed(message, fault.offset, out);
  return RPC_REPLY;
}

enum { PING_MAX = 4096 }; /* a longer message is not parsed for a ping */

/* True if the request has a malformed peer-id, which names a session on ZeroMQ, or wrong options. Both are
 * errors for any method, and a worker reports them. */
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
  const struct rpc_value_rules rules = {.digits_max = call->peer->config.limits.java.number_digits_max};
  struct operation operation;
  struct outcome outcome = {.kind = OUTCOME_VOID};
  call->is_answered = !has_wrong_extras(request, &call->arena) &&
                      text_equal(request->method, TEXT("control")) &&
                      rpc_params_decode(request, &rules, &call->arena, &operation, &outcome) == JP_OK &&
                      op_control_methods[operation.command].needs_no_runner;
  if (!call->is_answered)
    return;
  const struct rpc_answer answer = {.compat_pal = call->peer->config.compat_pal};
  if (!audit_is_on() || operation_audit_admits(&call->arena, &outcome))
    rpc_control_run(NULL, &operation, &outcome);
  audit_without_worker(call, request, &operation, NULL, NULL, &outcome);
  if (outcome.kind == OUTCOME_ERROR)
    rpc_error_data_write(
        jsonrpc_error(response, JSONRPC_SERVER_ERROR, jsonrpc_code_message(JSONRPC_SERVER_ERROR)), &outcome,
        &answer);
  else
    rpc_result_write(jsonrpc_result(response), &outcome, &answer);
}

static bool is_single_request(const struct rpc_peer *peer, struct text message)
{
  struct json_fault fault;
  return message.len <= PING_MAX &&
         json_validate(message, rpc_jsonrpc_limits(peer), TEXT("params"), &fault) == JP_OK &&
         json_root(message).kind == JSON_KIND_OBJECT;
}

static void count_control(struct rpc_peer *peer)
{
  rpc_count_shared(&peer->shared_counts, METRICS_METHOD_CONTROL, METRICS_OUTCOME_OK);
}

static bool serve_without_worker(void *context, const struct rpc_client *client, struct text message,
                                 struct buffer *out, enum rpc_served *served)
{
  struct workerless_call call = {.peer = context, .sender = client};
  size_t start = out->len;
  if (!is_single_request(call.peer, message))
    return false;
  enum jsonrpc_handled handled = handle_without_worker(&call, message, out, handle_ping);
  *served = convert_handled(handled);
  if (!call.is_answered)
    buffer_truncate(out, start);
  else
    count_control(context);
  return call.is_answered;
}

/* ---- answers while a request of the same client is served ---- */

/* An epoch, share_session with options, and all errors are left to the request's turn. */
static void handle_beside(void *context, const struct jsonrpc_request *request,
                          struct jsonrpc_response *response)
{
  struct workerless_call *call = context;
  const struct rpc_value_rules rules = {.digits_max = call->peer->config.limits.java.number_digits_max};
  const struct rpc_answer answer = {.request_id = request->id};
  struct operation operation;
  struct rpc_request_options options;
  struct outcome outcome = {.kind = OUTCOME_VOID};
  bool is_control = request->epoch.data == NULL && !has_wrong_extras(request, &call->arena) &&
                    text_equal(request->method, TEXT("control")) &&
                    rpc_params_decode(request, &rules, &call->arena, &operation, &outcome) == JP_OK;
  if (!is_control)
    return;
  bool is_admin = call->client == NULL ? call->beside->is_admin : principal_is_admin(call->client->principal);
  if (operation.command == OP_CANCEL && operation.command_call != 0 && !is_admin)
    return; /* it is refused in its turn */
  if (operation.command == OP_CANCEL &&
      (rpc_request_options_read(request, &call->arena, &options, &outcome) != JP_OK ||
       options.only_idempotent))
    return; /* as above */
  if (operation.command == OP_CANCEL) {
    bool is_found = operation.command_call != 0
                        ? rpc_workers_end_call(operation.command_call)
                        : call->beside->cancel(call->beside->state, operation.command_text);
    rpc_control_fill_cancelled(is_found, &outcome);
    call->is_answered = true;
  } else {
    call->is_answered = !request->is_notification && !request->has_options &&
                        operation.command == OP_SHARE_SESSION && call->client != NULL &&
                        rpc_control_share_beside(call->peer, call->client, &call->arena, &outcome) &&
                        outcome.kind != OUTCOME_ERROR;
  }
  if (!call->is_answered)
    return;
  audit_without_worker(call, request, &operation, NULL, NULL, &outcome);
  rpc_result_write(jsonrpc_result(response), &outcome, &answer);
}

/* False for most messages that call Java, so that these are not parsed twice. A method that is written with
 * escapes may be a control method. */
static bool may_be_control(struct text message)
{
  static const char method[] = "control";
  return message.len <= PING_MAX && (memmem(message.data, message.len, method, sizeof method - 1) != NULL ||
                                     memchr(message.data, '\\', message.len) != NULL);
}

static bool serve_beside(void *context, struct rpc_client *client, const struct rpc_beside *beside,
                         struct text message, struct buffer *out)
{
  struct workerless_call call = {.peer = context,
                                 .sender = client == NULL ? beside->sender : client,
                                 .client = client,
                                 .beside = beside};
  size_t start = out->len;
  if (call.peer->config.compat_pal || !may_be_control(message) || !is_single_request(call.peer, message))
    return false;
  enum jsonrpc_handled handled = handle_without_worker(&call, message, out, handle_beside);
  if (!call.is_answered || handled == JSONRPC_NO_REPLY)
    buffer_truncate(out, start);
  if (call.is_answered)
    count_control(context);
  return call.is_answered;
}

static void list_id(void *context, const struct jsonrpc_request *request, struct jsonrpc_response *response)
{
  struct workerless_call *call = context;
  (void)response;
  if (request->is_notification)
    return;
  if (request->id.len <= PING_MAX) /* a request with a longer id cannot be cancelled */
    buffer_append_text(call->ids, rpc_request_id_read(request->id, &call->arena));
  buffer_append_char(call->ids, '\n');
}

static void list_ids(void *context, struct text message, struct buffer *ids)
{
  struct workerless_call call = {.peer = context, .ids = ids};
  struct buffer unused;
  buffer_init(&unused);
  (void)handle_without_worker(&call, message, &unused, list_id);
  buffer_fini(&unused);
}

/* A message that is being served has been validated. */
static bool is_batch(struct text message)
{
  return json_root(message).kind == JSON_KIND_ARRAY;
}

/* procedure NULL: the method is not a procedure, so it is a Java member that is called by its own name. */
static bool calls_member(const struct rpc_procedure *procedure)
{
  return procedure == NULL || (procedure->kind == RPC_PROCEDURE_OPERATION && procedure->op != OP_CONTROL &&
                               procedure->op != OP_META);
}

static int64_t timeout_of(struct workerless_call *call, const struct jsonrpc_request *request)
{
  struct rpc_request_options options;
  struct outcome wrong;
  const int64_t of_all =
      calls_member(rpc_procedure_find(request->method)) ? call->peer->config.limits.call_timeout_ms : 0;
  if (rpc_request_options_read(request, &call->arena, &options, &wrong) != JP_OK || options.timeout_ms == 0)
    return of_all;
  return of_all != 0 && of_all < options.timeout_ms ? of_all : options.timeout_ms;
}

static void handle_timeout(void *context, const struct jsonrpc_request *request,
                           struct jsonrpc_response *response)
{
  struct workerless_call *call = context;
  const int64_t timeout_ms = timeout_of(call, request);
  (void)response;
  call->has_endless |= timeout_ms == 0;
  if (timeout_ms > call->timeout_ms)
    call->timeout_ms = timeout_ms;
}

/* If --call-timeout is not set, reads only a message that may have a timeout of its own, so that other
 * messages are not read twice. A name that is written with escapes may be the name of that option. */
static int64_t find_timeout(void *context, struct text message)
{
  static const char option[] = "timeout";
  struct workerless_call call = {.peer = context};
  struct buffer unused;
  if (message.len == 0) /* its data may be NULL, which memmem must not get */
    return 0;
  if (call.peer->config.limits.call_timeout_ms == 0 &&
      memmem(message.data, message.len, option, sizeof option - 1) == NULL &&
      memchr(message.data, '\\', message.len) == NULL)
    return 0;
  buffer_init(&unused);
  (void)handle_without_worker(&call, message, &unused, handle_timeout);
  buffer_fini(&unused);
  return call.has_endless ? 0 : call.timeout_ms;
}

static void handle_ended(void *context, const struct jsonrpc_request *request,
                         struct jsonrpc_response *response)
{
  struct workerless_call *call = context;
  const struct rpc_answer answer = {.request_id = request->id, .compat_pal = call->peer->config.compat_pal};
  struct outcome outcome;
  rpc_call_fail(call->cause, &call->arena, &outcome);
  if (!call->is_served) /* else it counts when its thread returns */
    count_workerless(call, rpc_jsonrpc_metrics_method(request->method), rpc_metrics_outcome(&outcome));
  audit_without_worker(call, request, NULL, call->is_served ? "answered" : NULL, NULL, &outcome);
  struct buffer *data =
      jsonrpc_error(response, JSONRPC_SERVER_ERROR, jsonrpc_code_message(JSONRPC_SERVER_ERROR));
  rpc_error_data_write(data, &outcome, &answer);
}

static enum rpc_served answer_ended(void *context, const struct rpc_client *client, struct text message,
                                    enum rpc_call_cause cause, bool is_served, struct buffer *out)
{
  struct rpc_peer *peer = context;
  struct workerless_call call = {
      .peer = peer, .sender = client, .cause = cause, .is_served = is_served, .counts = &peer->shared_counts};
  return convert_handled(handle_without_worker(&call, message, out, handle_ended));
}

/* ---- the lane of a message ---- */

static enum rpc_lane lane_of_operation(const struct operation *operation)
{
  switch (operation->kind) {
  case OP_CONTROL:
    return op_control_methods[operation->command].is_brief ? RPC_LANE_CONTROL : RPC_LANE_ALL;
  case OP_META:
    return RPC_LANE_META;
  case OP_DESCRIBE: /* making the text of an object runs code of the application */
    return operation->has_instance || operation->receiver != NULL ? RPC_LANE_ALL : RPC_LANE_META;
  default:
    return RPC_LANE_ALL;
  }
}

/* Options can cause calls of application code, for example of an executor. */
static void handle_for_lane(void *context, const struct jsonrpc_request *request,
                            struct jsonrpc_response *response)
{
  struct workerless_call *call = context;
  const struct rpc_procedure *procedure = rpc_procedure_find(request->method);
  const struct rpc_value_rules rules = {.digits_max = call->peer->config.limits.java.number_digits_max};
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

static enum rpc_lane find_lane(void *context, struct text message)
{
  struct workerless_call call = {.peer = context, .lane = RPC_LANE_ALL};
  struct buffer unused;
  if (!is_single_request(call.peer, message))
    return RPC_LANE_ALL;
  buffer_init(&unused);
  (void)handle_without_worker(&call, message, &unused, handle_for_lane);
  buffer_fini(&unused);
  return call.lane;
}

/* ---- HTTP ---- */

static struct text show_document(void *context)
{
  return openrpc_own_document(rpc_jsonrpc_peer(context)->openrpc);
}

static void write_help(void *context, struct buffer *out)
{
  const struct rpc_peer *peer = context;
  const struct rpc_service_facts facts = {peer->config.uuid, text_of(peer->config.name), peer->addresses,
                                          peer->config.compat_pal};
  rpc_help_write(out, &facts);
}

static const struct rpc_http_facts http = {
    .obeys_accept = jsonrpc_looks_like_1_1, .document = show_document, .write_help = write_help};

const struct rpc_codec rpc_codec_jsonrpc = {.name = "JSON-RPC",
                                            .start = start_codec,
                                            .stop = stop_codec,
                                            .worker_create = create_worker,
                                            .worker_destroy = destroy_worker,
                                            .serve = serve_jsonrpc_message,
                                            .serve_without_worker = serve_without_worker,
                                            .serve_beside = serve_beside,
                                            .list_ids = list_ids,
                                            .is_batch = is_batch,
                                            .find_timeout = find_timeout,
                                            .answer_ended = answer_ended,
                                            .lane = find_lane,
                                            .refuse = refuse_message,
                                            .deny = deny_message,
                                            .reject = reject_message,
                                            .http = &http,
                                            .callbacks = &rpc_jsonrpc_callbacks};
