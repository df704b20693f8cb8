#include "rpc/jsonrpc/cached_requests.h"

#include "rpc/callbacks/callbacks.h"
#include "rpc/fastpath/fastpath.h"
#include "rpc/jsonrpc/json_params.h"
#include "json/reader.h"

static bool begins_with(struct text message, char bracket)
{
  return message.len > 0 && *message.data == bracket;
}

/* ---- answering ---- */

static void cut_answer(const struct serving *serving, const struct serving_places *places, size_t start,
                       size_t id_length, struct rpc_written_answer *written)
{
  struct text out = buffer_text(serving->out);
  size_t after_id = places->id_at + id_length;
  size_t number_at = places->number.length > 0 ? places->number.at : out.len;
  written->member = places->member;
  written->before_id = text_slice(out, start, places->id_at);
  written->after_id = text_slice(out, after_id, number_at);
  written->has_number = places->number.length > 0;
  written->after_number = text_slice(out, number_at + places->number.length, out.len);
}

/* rpc_cached_call.answer; context is a struct serving */
static bool answer_request(void *context, struct rpc_cached_request *cached, const struct outcome *failed,
                           struct rpc_written_answer *written)
{
  struct serving *serving = context;
  struct serving_places places = {.member = NULL};
  const struct jsonrpc_service service = {
      .context = serving, .arena = &serving->worker->runner.arena, .handle = serving_handle_request};
  struct jsonrpc_request request = {.arena = service.arena,
                                    .version = JSONRPC_2_0,
                                    .is_notification = cached->is_notification,
                                    .id = cached->id,
                                    .peer_id = cached->peer_id,
                                    .epoch = cached->epoch};
  struct jsonrpc_stream unused; /* only queries are answered by a stream, and they are not cached */
  size_t start = serving->out->len;
  serving->operation = &cached->operation;
  serving->failed = failed;
  serving->places = written == NULL ? NULL : &places;
  enum jsonrpc_handled handled = jsonrpc_handle_request(&service, &request, serving->out, &unused);
  serving->operation = NULL;
  serving->failed = NULL;
  serving->places = NULL;
  if (handled == JSONRPC_REPLY && places.member != NULL && !serving->out->failed)
    cut_answer(serving, &places, start, request.id.len, written);
  return handled == JSONRPC_REPLY;
}

/* ---- messages ---- */

/* rpc_cached_call.answer; context is a struct serving for which serving_begin was not called yet */
static bool answer_message(void *context, struct rpc_cached_request *cached, const struct outcome *failed,
                           struct rpc_written_answer *written)
{
  struct serving *serving = context;
  serving_begin(serving);
  return answer_request(serving, cached, failed, written);
}

/* Counts the callback as given once more. False: the callback cannot be counted, so the general path must
 * serve the request and report the error. */
static bool count_callback(const struct serving *serving, int64_t id)
{
  struct rpc_client *client = serving->client;
  struct rpc_given *given = &serving->worker->runner.given;
  struct rpc_callbacks *callbacks;
  struct jp_error unused;
  return client->push != NULL &&
         rpc_callbacks_of(serving->peer, client, &rpc_codec_jsonrpc, &callbacks, &unused) == JP_OK &&
         rpc_callbacks_note(callbacks, id, given, &unused) == JP_OK;
}

bool serving_serve_cached(struct serving *serving, enum rpc_served *served)
{
  struct rpc_runner *runner = &serving->worker->runner;
  if (!begins_with(serving->message, '{') || serving->client->only_safe)
    return false;
  struct rpc_cached_request *cached =
      rpc_fastpath_find(serving->own->fastpath, serving->message, &runner->arena, NULL);
  if (cached == NULL || (cached->callback != 0 && !count_callback(serving, cached->callback)))
    return false;
  bool gives = cached->callback != 0;
  const struct rpc_cached_call call = {.runner = runner,
                                       .client = serving->client,
                                       .reply_max = serving->reply_max,
                                       .out = serving->out,
                                       .context = serving,
                                       .answer = answer_message};
  *served = rpc_fastpath_serve(cached, &call) ? RPC_REPLY : RPC_NO_REPLY;
  if (gives)
    rpc_callbacks_settle(serving->client->callbacks, &runner->given);
  if (serving->has_begun)
    serving_free_memory(serving->worker);
  return true;
}

/* ---- requests of a batch ---- */

size_t serving_match_cached(void *context, struct text text)
{
  struct serving *serving = context;
  struct rpc_worker *worker = serving->worker;
  size_t length;
  struct rpc_cached_request *cached =
      rpc_fastpath_find(serving->own->fastpath, text, &worker->runner.arena, &length);
  bool fits =
      cached != NULL && cached->callback == 0 && cached->depth < rpc_jsonrpc_limits(serving->peer).max_depth;
  serving->cached = fits ? cached : NULL;
  return fits ? length : 0;
}

enum jsonrpc_handled serving_run_cached(void *context)
{
  struct serving *serving = context;
  size_t used = serving->out->len - serving->start;
  size_t room = serving->reply_max; /* 0: no limit */
  if (room > 0)
    room = room > used ? room - used : 1; /* 1 byte: no answer fits */
  const struct rpc_cached_call call = {.runner = &serving->worker->runner,
                                       .client = serving->run.client,
                                       .reply_max = room,
                                       .out = serving->out,
                                       .context = serving,
                                       .answer = answer_request};
  const enum rpc_call_cause ended =
      rpc_call_find_lateness(serving->worker->runner.watch, serving->peer->config.limits.call_timeout_ms,
                             &serving->cached->operation);
  if (ended != RPC_CALL_RETURNS) {
    struct outcome failed;
    rpc_call_fail(ended, &call.runner->arena, &failed);
    return answer_request(serving, serving->cached, &failed, NULL) ? JSONRPC_REPLY : JSONRPC_NO_REPLY;
  }
  return rpc_fastpath_serve(serving->cached, &call) ? JSONRPC_REPLY : JSONRPC_NO_REPLY;
}

/* ---- caching ---- */

void rpc_find_value_places(const void *message, const struct operation *operation,
                           struct rpc_value_places *places)
{
  const struct jsonrpc_request *request = message;
  struct json_members members;
  enum rpc_param arguments = operation->kind == OP_PUT ? RPC_PARAM_VALUE : RPC_PARAM_ARGS;
  json_members_collect(request->params, rpc_param_names, RPC_OPERATION_PARAMS, &members);
  if (members.has[RPC_PARAM_INSTANCE])
    places->instance = members.value[RPC_PARAM_INSTANCE].span;
  if (members.has[arguments])
    places->arguments = members.value[arguments].span;
}

/* Some requests always take the general path: requests of JSON-RPC 1.1, requests by HTTP GET, requests for results by
 * value, all requests of a batch that names results, and requests of a batch that give callbacks. */
static bool may_cache(const struct serving *serving)
{
  /* A misspelled member of the params is named in the error of the request, and the fast path does not read
   * misspelled members. */
  const struct json_value params = serving->request->params;
  return serving->request->version == JSONRPC_2_0 && !serving->by_value && serving->results == NULL &&
         !serving->run.client->only_safe &&
         (begins_with(serving->message, '{') || begins_with(serving->message, '[')) &&
         !rpc_has_near_param(params, RPC_PARAM_ARGS) && !rpc_has_near_param(params, RPC_PARAM_INSTANCE);
}

void serving_cache_request(struct serving *serving, const struct operation *operation)
{
  const struct jsonrpc_request *request = serving->request;
  bool is_alone = begins_with(serving->message, '{');
  if (!may_cache(serving))
    return;
  for (size_t i = 0; i < operation->arg_count && !is_alone; i++) {
    if (operation->args[i].kind == OP_CALLBACK)
      return;
  }
  const struct rpc_read_request read = {.text = is_alone ? serving->message : request->text,
                                        .id = request->id,
                                        .peer_id = request->peer_id,
                                        .epoch = request->epoch,
                                        .is_notification = request->is_notification,
                                        .operation = operation,
                                        .message = request,
                                        .find_places = rpc_find_value_places};
  rpc_fastpath_keep(&serving->own->fastpath, &read);
}
