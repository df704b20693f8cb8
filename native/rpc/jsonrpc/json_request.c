/* Decodes one request, runs it, and suggests near names for a name that was not found. */
#include "judge/judge.h"
#include "rpc/callbacks/callbacks.h"
#include "rpc/channel.h"
#include "rpc/compat.h"
#include "rpc/describe/describe.h"
#include "rpc/describe/openrpc.h"
#include "rpc/jsonrpc/cached_requests.h"
#include "rpc/jsonrpc/json_callbacks.h"
#include "rpc/jsonrpc/json_codec.h"
#include "rpc/jsonrpc/json_params.h"
#include "rpc/methods/identifiers.h"
#include "rpc/methods/java_call.h"
#include "rpc/methods/procedures.h"
#include "rpc/operation_audit.h"
#include "rpc/suggest/suggest.h"
#include "rpc/values/value_read.h"

/* ---- near names ---- */

/* Suggests names of the peer's own procedures. */
static void suggest_procedures(const struct serving *serving, struct outcome *outcome)
{
  struct text method = serving->request->method;
  struct nearest nearest;
  nearest_begin(&nearest, method, method);
  for (size_t i = 0; i < rpc_procedure_count; i++) {
    struct text name = rpc_procedures[i].name;
    bool is_served = !rpc_procedures[i].only_1_1 || serving->request->version == JSONRPC_1_1;
    if (is_served && !rpc_is_bare_name(name))
      nearest_offer(&nearest, name, nearest_distance(name, method, nearest.limit));
  }
  rpc_suggest(&nearest, TEXT(""), TEXT(""), &serving->run.runner->arena, outcome);
}

/* Adds a hint at the optional member of params that this request needs. */
static void hint_param(const struct serving *serving, const struct operation *operation,
                       struct outcome *outcome)
{
  const struct jsonrpc_request *request = serving->request;
  bool lacks_args = outcome->failure == FAILURE_NOT_FOUND && operation->arg_count == 0 &&
                    text_equal(outcome->throwable_type, TEXT("java.lang.NoSuchMethodException"));
  if (serving->by_value || !request->has_params || request->params.kind != JSON_KIND_OBJECT)
    return;
  if (outcome->lacks_instance)
    rpc_hint_param(request->params, RPC_PARAM_INSTANCE, &serving->run.runner->arena, outcome);
  else if (lacks_args)
    rpc_hint_param(request->params, RPC_PARAM_ARGS, &serving->run.runner->arena, outcome);
}

/* Suggests no names with --compat pal, because the Java implementation suggests none. */
static void suggest_names(const struct serving *serving, const struct operation *operation,
                          struct outcome *outcome)
{
  const struct judge judge = rpc_run_judge(&serving->run);
  const struct rpc_suggester suggester = {.catalog = serving->peer->config.catalog,
                                          .policy = judge.policy,
                                          .channel = judge.policy_channel,
                                          .arena = &serving->run.runner->arena};
  if (outcome->kind != OUTCOME_ERROR || serving->peer->config.compat_pal)
    return;
  hint_param(serving, operation, outcome);
  if (outcome->failure != FAILURE_NOT_FOUND || outcome->suggestion_count > 0)
    return;
  struct operation named = *operation;
  if (serving->run.reached.implied_type.data != NULL) {
    named.type = serving->run.reached.implied_type;
    operation = &named;
  }
  if (serving->by_value && operation->type.len == 0)
    suggest_procedures(serving, outcome);
  else if (serving->by_value && operation->kind != OP_DESCRIBE)
    rpc_suggest_for_own_name(&suggester, operation, outcome);
  else
    rpc_suggest_for_operation(&suggester, operation, outcome);
}

/* ---- the operation of a request ---- */

enum {
  ANSWER_FRAME =
      128 /* bytes of an answer to jpeer.fetch or jpeer.columns, except its elements and the request's id */
};

/* The maximal bytes of the answer to the message. */
static size_t answer_max(const struct serving *serving)
{
  return serving->reply_max > 0 ? serving->reply_max : serving->peer->config.limits.message_max;
}

static bool is_description(const struct jsonrpc_request *request)
{
  if (request->version != JSONRPC_1_1)
    return false;
  const struct rpc_procedure *procedure = rpc_procedure_find(request->method);
  return procedure != NULL && procedure->kind == RPC_PROCEDURE_DESCRIBE;
}

static void discover_methods(struct serving *serving, struct jsonrpc_response *response)
{
  const struct judge judge = rpc_run_judge(&serving->run);
  struct meta_loaders loaders;
  bool has_loaders = rpc_run_find_loaders(&serving->run, &loaders);
  const struct openrpc_view view = {judge.policy, judge.policy_channel, has_loaders ? &loaders : NULL};
  bool is_unkept = serving_is_unkept(serving);
  struct buffer *out = is_unkept ? &serving->own->scratch : jsonrpc_result(response);
  struct outcome outcome = {.kind = OUTCOME_VOID};
  enum jp_status status = openrpc_discover(rpc_jsonrpc_peer(serving->peer)->openrpc, serving->request, &view,
                                           answer_max(serving), &serving->run.runner->arena, out, &outcome);
  rpc_run_end(&serving->run); /* the answer names no object */
  if (status != JP_OK || is_unkept) {
    serving_write_answer(serving, response, &outcome);
    return;
  }
  serving->has_failed = false;
  serving_count(serving, METRICS_OUTCOME_OK);
  serving_note_end(serving, &outcome);
}

/* rpc_callback_sink.accept; context: a struct serving. */
static enum jp_status accept_callback(void *context, int64_t id, struct jp_error *error)
{
  const struct serving *serving = context;
  struct rpc_callbacks *callbacks;
  enum jp_status status =
      rpc_callbacks_of(serving->peer, serving->run.client, &rpc_codec_jsonrpc, &callbacks, error);
  return status == JP_OK ? rpc_callbacks_note(callbacks, id, &serving->run.runner->given, error) : status;
}

/* NULL: callbacks cannot be sent to the client. */
static const struct rpc_callback_sink *choose_sink(const struct serving *serving,
                                                   const struct rpc_callback_sink *sink)
{
  return serving->run.client->push == NULL ? NULL : sink;
}

/* rpc_shared_texts.find; context: the results of a batch. */
static struct op_shared_text *find_shared(void *context, struct json_value ref)
{
  return batch_fill_find_shared(context, ref);
}

static struct rpc_value_rules make_rules(const struct serving *serving, const struct rpc_callback_sink *sink,
                                         const struct rpc_shared_texts *shared)
{
  const struct rpc_peer_config *config = &serving->peer->config;
  return (struct rpc_value_rules){.digits_max = config->limits.java.number_digits_max,
                                  .values_max = config->limits.values_max,
                                  .compat_pal = config->compat_pal,
                                  .callbacks = choose_sink(serving, sink),
                                  .shared = serving->results == NULL ? NULL : shared};
}

static enum jp_status decode_procedure(struct serving *serving, struct operation *operation,
                                       struct outcome *outcome)
{
  struct arena *arena = &serving->run.runner->arena;
  const struct rpc_callback_sink sink = {serving, accept_callback};
  const struct rpc_shared_texts shared = {serving->results, find_shared};
  const struct rpc_value_rules rules = make_rules(serving, &sink, &shared);
  enum jp_status status = rpc_params_decode(serving->request, &rules, arena, operation, outcome);
  struct text class_name;
  if (!rules.compat_pal || !rpc_compat_withholds(operation, &class_name))
    return status;
  const struct judge judge = rpc_run_judge(&serving->run);
  return judge_deny(&judge, class_name, operation->member, arena, outcome);
}

/* With --compat pal, a class that is not in the catalog is searched only in the loader that the request
 * names. */
static enum jp_status decode_member(struct serving *serving, struct operation *operation,
                                    struct outcome *outcome)
{
  const struct rpc_peer_config *config = &serving->peer->config;
  const struct judge judge = rpc_run_judge(&serving->run);
  uint32_t loader = serving->request->has_options ? serving->options.loader : 0;
  const struct rpc_callback_sink sink = {serving, accept_callback};
  const struct rpc_shared_texts shared = {serving->results, find_shared};
  const struct java_method_rules rules = {.values = make_rules(serving, &sink, &shared),
                                          .loader = loader,
                                          .jvm_run =
                                              config->compat_pal && loader == 0 ? NULL : &serving->run};
  return java_method_decode(serving->request, config->catalog, rpc_jsonrpc_peer(serving->peer)->methods,
                            &judge, &rules, &serving->run.runner->arena, operation, outcome);
}

/* Decodes a request whose method is a procedure of the peer, or a Java member that is called by its own
 * name. */
static enum jp_status decode_operation(struct serving *serving, struct operation *operation,
                                       struct outcome *outcome)
{
  struct text method = serving->request->method;
  if (rpc_is_bare_name(method))
    return decode_procedure(serving, operation, outcome);
  serving->by_value = true;
  return rpc_is_own_name(method) ? decode_procedure(serving, operation, outcome)
                                 : decode_member(serving, operation, outcome);
}

static void run_operation(struct serving *serving, const struct operation *operation,
                          struct jsonrpc_response *response)
{
  struct outcome outcome;
  serving->method = rpc_metrics_method(operation->kind);
  serving->asked = operation;
  rpc_run_operation(&serving->run, operation, &outcome);
  suggest_names(serving, operation, &outcome);
  if (serving_is_unkept(serving) && outcome.kind != OUTCOME_ERROR)
    unkept_results_note(&serving->unkept, &serving->run);
  serving_write_answer(serving, response, &outcome);
  rpc_run_end(&serving->run);
}

/* Refuses a request with "keep": false if the elements of its result would be lost, or if no later request
 * could use its object. */
static bool refuse_unkept(struct serving *serving, const struct operation *operation, struct outcome *outcome)
{
  const char *why =
      operation->kind == OP_FETCH ? "jpeer.fetch takes no 'keep': false, because its elements would be lost"
      : operation->kind == OP_COLUMNS ? "jpeer.columns takes no 'keep': false, because its rows would be lost"
      : operation->kind == OP_ASSEMBLE
          ? "jpeer.assemble takes no 'keep': false, because the pieces would be lost"
          : NULL;
  if (why == NULL || !serving_is_unkept(serving))
    return false;
  outcome_fail(outcome, &serving->run.runner->arena, FAILURE_INVALID_PARAMS, NULL, "%s", why);
  return true;
}

enum metrics_method rpc_jsonrpc_metrics_method(struct text method)
{
  const struct rpc_procedure *procedure = rpc_procedure_find(method);
  if (procedure == NULL)
    return rpc_is_bare_name(method) || rpc_is_own_name(method) ? METRICS_METHOD_OTHER : METRICS_METHOD_CALL;
  return procedure->kind == RPC_PROCEDURE_OPERATION ? rpc_metrics_method(procedure->op)
                                                    : METRICS_METHOD_DISCOVER;
}

static void decode_and_run(struct serving *serving, struct jsonrpc_response *response)
{
  struct operation operation;
  struct outcome outcome = {.kind = OUTCOME_VOID};
  serving->was_read = decode_operation(serving, &operation, &outcome) == JP_OK;
  if (!serving->was_read || refuse_unkept(serving, &operation, &outcome)) {
    serving->method = rpc_jsonrpc_metrics_method(serving->request->method);
    serving->asked = serving->was_read ? &operation : NULL;
    suggest_names(serving, &operation, &outcome);
    serving_write_answer(serving, response, &outcome);
    rpc_run_end(&serving->run); /* decoding may have searched for a class */
    return;
  }
  operation.lists_loaders = true;
  if (operation.kind == OP_FETCH || operation.kind == OP_COLUMNS) {
    /* The elements may be as long as the limit of the whole answer allows. */
    size_t max = answer_max(serving);
    size_t written = serving->out->len - serving->start;
    size_t frame = ANSWER_FRAME + serving->request->id.len;
    size_t room_max = max > frame ? max - frame : 0;
    size_t room = room_max > written ? room_max - written : 0;
    if (operation.kind == OP_FETCH) {
      operation.fetch.room_max = room_max;
      operation.fetch.room = room;
    } else {
      operation.columns.room_max = room_max;
      operation.columns.room = room;
    }
  }
  operation.is_notification = serving->request->is_notification;
  if (serving->request->has_options) {
    rpc_request_options_apply(&serving->options, &operation);
    /* The length of the answer bounds the option array_value_max, too: lists that contain each other would
     * otherwise have an unlimited number of elements. An element with its comma needs two bytes of the
     * answer. */
    size_t max = answer_max(serving) / 2;
    if (operation.array_value_max > max)
      operation.array_value_max = max;
  } else {
    serving_cache_request(serving, &operation);
  }
  run_operation(serving, &operation, response);
}

/* True if the request is not nested, or is nested in the call that it names. The transport passes a nested
 * message to the thread of its call. */
static bool check_within(const struct serving *serving, struct outcome *outcome)
{
  struct text within = serving->options.within;
  if (within.data == NULL ||
      (serving->worker->within != 0 && rpc_call_number_read(within) == serving->worker->within))
    return true;
  rpc_request_options_fail_within(within, &serving->run.runner->arena, outcome);
  return false;
}

/* True if the request is meant for the current epoch of its session. The epoch is also checked for requests
 * that the fast path has served before, because another client may send the same bytes. */
static bool is_in_epoch(const struct serving *serving)
{
  const struct rpc_run *run = &serving->run;
  return serving->request->epoch.data == NULL || serving->peer->config.compat_pal ||
         rpc_client_is_in_epoch(serving->peer, run->client, run->names_session ? &run->guest_id : NULL,
                                serving->request->epoch);
}

/* A malformed member other than method and params is an error even if the method does not use it, so that the
 * client sees the error at once. */
static bool read_extras(struct serving *serving, bool is_good_session_name, struct outcome *outcome)
{
  struct arena *arena = &serving->run.runner->arena;
  if (!is_good_session_name) {
    outcome_fail(outcome, arena, FAILURE_INVALID_REQUEST, NULL, "'peer-id' must be a UUID");
    return false;
  }
  if (!is_in_epoch(serving)) {
    outcome_fail_stale(outcome);
    return false;
  }
  return !serving->request->has_options ||
         (rpc_request_options_read(serving->request, arena, &serving->options, outcome) == JP_OK &&
          check_within(serving, outcome));
}

/* True for a method whose arguments rpc/values reads. The names of long texts are not replaced in such
 * arguments, because rpc/values finds the texts by the names. */
static bool takes_shared_texts(struct text method)
{
  const struct rpc_procedure *procedure = rpc_procedure_find(method);
  if (procedure == NULL)
    return !rpc_is_own_name(method) && !rpc_is_bare_name(method);
  return procedure->kind == RPC_PROCEDURE_OPERATION && (procedure->op == OP_NEW || procedure->op == OP_CALL ||
                                                        procedure->op == OP_GET || procedure->op == OP_PUT);
}

static enum jp_status fill_one(struct serving *serving, enum batch_fill_form form, struct json_value *json,
                               struct outcome *outcome)
{
  const struct batch_fill fill = {.results = serving->results,
                                  .limits = rpc_jsonrpc_limits(serving->peer),
                                  .max_size = serving->peer->config.limits.message_max,
                                  .form = form,
                                  .shares_texts = form != BATCH_FILL_OPTIONS &&
                                                  takes_shared_texts(serving->request->method),
                                  .arena = &serving->run.runner->arena,
                                  .outcome = outcome};
  return batch_fill_in(&fill, json, &serving->cause);
}

/* Replaces names by results of earlier requests of the batch. With --compat pal only options may have
 * names. */
static enum jp_status fill_in_results(struct serving *serving, struct jsonrpc_request *request,
                                      struct outcome *outcome)
{
  enum batch_fill_form form = rpc_is_bare_name(request->method) ? BATCH_FILL_PROCEDURE : BATCH_FILL_VALUES;
  enum jp_status status = JP_OK;
  if (request->has_params && !serving->peer->config.compat_pal)
    status = fill_one(serving, form, &request->params, outcome);
  if (status == JP_OK && request->has_options)
    status = fill_one(serving, BATCH_FILL_OPTIONS, &request->options, outcome);
  return status;
}

/* Answers a request that is refused before its parameters are read. */
static void answer_unread(struct serving *serving, struct jsonrpc_response *response, struct outcome *outcome)
{
  if (serving->operation == NULL)
    serving->method = rpc_jsonrpc_metrics_method(serving->request->method);
  serving_write_answer(serving, response, outcome);
}

static void handle_filled(struct serving *serving, bool is_good_session_name,
                          struct jsonrpc_response *response)
{
  struct outcome wrong;
  const bool is_refused = audit_is_on() && !operation_audit_admits(&serving->run.runner->arena, &wrong);
  if (is_refused || !read_extras(serving, is_good_session_name, &wrong))
    answer_unread(serving, response, &wrong);
  else if (serving->failed != NULL) {
    serving->asked = serving->operation;
    serving_write_answer(serving, response, serving->failed);
  } else if (serving->operation != NULL)
    run_operation(serving, serving->operation, response);
  else if (is_description(serving->request)) {
    const struct rpc_service_facts facts = {serving->peer->config.uuid, text_of(serving->peer->config.name),
                                            serving->peer->addresses, serving->peer->config.compat_pal};
    const struct outcome described = {.kind = OUTCOME_VOID};
    rpc_description_write(jsonrpc_result(response), &facts);
    serving->method = METRICS_METHOD_DISCOVER;
    serving_count(serving, METRICS_OUTCOME_OK);
    serving_note_end(serving, &described);
  } else if (text_equal(serving->request->method, TEXT("rpc.discover"))) {
    serving->method = METRICS_METHOD_DISCOVER;
    discover_methods(serving, response);
  } else {
    decode_and_run(serving, response);
  }
}

static void fill_and_handle(struct serving *serving, bool is_good_session_name,
                            struct jsonrpc_response *response)
{
  const struct jsonrpc_request *request = serving->request;
  struct jsonrpc_request filled = *request;
  struct outcome outcome;
  if (fill_in_results(serving, &filled, &outcome) != JP_OK) {
    answer_unread(serving, response, &outcome);
    return;
  }
  serving->request = &filled;
  handle_filled(serving, is_good_session_name, response);
  serving->request = request;
}

/* If the request's method is an identifier (rpc/methods/identifiers.h), returns the dotted name for which the
 * identifier stands. data NULL: the method is not an identifier. */
static struct text read_identifier(const struct serving *serving, struct text method)
{
  if (method.len == 0 || serving->peer->config.compat_pal || !rpc_is_bare_name(method) ||
      memchr(method.data, '_', method.len) == NULL || rpc_procedure_find(method) != NULL)
    return TEXT_ABSENT;
  struct text name = identifier_read(method, &serving->run.runner->arena);
  return name.data != NULL && !rpc_is_bare_name(name) ? name : TEXT_ABSENT;
}

static void handle_named(struct serving *serving, const struct jsonrpc_request *request,
                         struct jsonrpc_response *response)
{
  struct uuid session;
  bool names_session =
      request->peer_id.data != NULL && rpc_channels[serving->run.client->channel].names_session_in_message;
  bool is_good = !names_session || uuid_parse(request->peer_id, &session);
  serving->request = request;
  serving->by_value = false;
  serving->method =
      serving->operation == NULL ? METRICS_METHOD_OTHER : rpc_metrics_method(serving->operation->kind);
  serving->was_read = serving->operation != NULL;
  serving->has_failed = false;
  serving->cause = NULL;
  serving->asked = NULL;
  if (audit_is_on())
    serving->begun_ns = operation_audit_begin(serving->run.runner);
  rpc_run_begin(&serving->run, names_session && is_good ? &session : NULL, request->is_notification);
  if (serving->results != NULL)
    fill_and_handle(serving, is_good, response);
  else
    handle_filled(serving, is_good, response);
  serving->has_unread = serving->has_unread || (serving->has_failed && !serving->was_read);
}

void serving_handle_request(void *context, const struct jsonrpc_request *request,
                            struct jsonrpc_response *response)
{
  struct serving *serving = context;
  struct text name = read_identifier(serving, request->method);
  if (name.data == NULL) {
    handle_named(serving, request, response);
    return;
  }
  struct jsonrpc_request named = *request;
  named.method = name;
  handle_named(serving, &named, response);
}
