/* A message: its requests one after the other, and its end. */
#include "rpc/callbacks/callbacks.h"
#include "rpc/channel.h"
#include "rpc/jsonrpc/cached_requests.h"
#include "rpc/jsonrpc/serving.h"

enum { SCRATCH_KEPT = 64 * 1024 };

static void write_invalid_data(void *context, struct buffer *data, struct text detail, struct text id)
{
  struct serving *serving = context;
  size_t start = data->len;
  serving->found_invalid = true;
  rpc_message_data_write(data, detail, id, serving->peer->config.compat_pal);
  if (serving->results != NULL && !data->failed)
    batch_results_note_failure(serving->results, id, text_slice(buffer_text(data), start, data->len), NULL);
}

static bool is_malformed(const struct rpc_peer *peer, struct text message, struct json_fault *fault)
{
  return json_validate(message, rpc_jsonrpc_limits(peer), TEXT("params"), fault) == JP_INVALID;
}

void serving_free_memory(struct rpc_worker *worker)
{
  struct buffer *scratch = &rpc_jsonrpc_worker(worker)->scratch;
  arena_reset(&worker->runner.arena);
  buffer_clear(scratch);
  buffer_trim(scratch, SCRATCH_KEPT);
}

/* What the message gives is accounted for, also where a request has failed before that was read. */
static void end_given(const struct serving *serving)
{
  struct rpc_client *client = serving->run.client;
  struct rpc_given *given = &serving->run.runner->given;
  bool is_unread = client->push != NULL && (serving->has_unread || serving->found_invalid);
  if (is_unread && client->callbacks != NULL)
    rpc_callbacks_settle_partly(client->callbacks, given, serving->message);
  else if (is_unread)
    rpc_callbacks_count_refused(serving->peer, client, &rpc_codec_jsonrpc, serving->message);
  else if (given->count > 0)
    rpc_callbacks_settle(client->callbacks, given);
}

/* batch_results_end's release, with the thread */
static void release_text(void *context, struct op_shared_text *text)
{
  jvm_release_text(context, text);
}

static enum rpc_served end_message(struct serving *serving, enum jsonrpc_handled handled,
                                   const struct jsonrpc_stream *rest, struct rpc_stream *stream)
{
  unkept_results_drop(&serving->unkept, &serving->run);
  end_given(serving);
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
    rpc_jsonrpc_reject_malformed(serving->message, fault.offset, serving->out);
  }
  serving_free_memory(serving->worker);
  return rpc_jsonrpc_served(handled);
}

static enum rpc_served take_general_path(const struct serving_message *message, struct rpc_stream *stream)
{
  struct serving serving = serving_begin(message);
  const struct rpc_peer *peer = message->peer;
  bool only_safe = message->client->only_safe;
  if (batch_results_may_be_named(message->text))
    serving.results = batch_results_create(&serving.lasting, peer->config.limits.message_max);
  bool may_use_cache = !only_safe && serving.results == NULL;
  const struct jsonrpc_service service = {.context = &serving,
                                          .arena = &message->worker->runner.arena,
                                          .handle = serving_handle_request,
                                          .write_error_data = write_invalid_data,
                                          .match_cached = may_use_cache ? serving_match_cached : NULL,
                                          .run_cached = serving_run_cached,
                                          .limits = rpc_jsonrpc_limits(peer),
                                          .max_batch = peer->config.limits.max_batch,
                                          .may_stream = stream != NULL &&
                                                        rpc_channels[message->client->channel].may_stream,
                                          .only_safe = only_safe,
                                          .takes_options = true};
  struct jsonrpc_stream rest;
  enum jsonrpc_handled handled = jsonrpc_handle(&service, message->text, message->out, &rest);
  return end_message(&serving, handled, &rest, stream);
}

enum rpc_served rpc_jsonrpc_serve(void *context, struct rpc_worker *worker, struct rpc_client *client,
                                  struct text message, struct buffer *out, size_t reply_max,
                                  struct rpc_stream *stream)
{
  struct rpc_jsonrpc_worker *own = rpc_jsonrpc_worker(worker);
  rpc_runner_begin_message(&worker->runner);
  buffer_clear(&own->scratch);
  const struct serving_message given = {.peer = context,
                                        .worker = worker,
                                        .own = own,
                                        .client = client,
                                        .text = message,
                                        .out = out,
                                        .reply_max = reply_max};
  enum rpc_served served;
  if (client->is_stale)
    return rpc_jsonrpc_refuse_stale(context, message, out);
  worker->served = client;
  if (!serving_serve_cached(&given, &served))
    served = take_general_path(&given, stream);
  worker->served = NULL;
  return served;
}
