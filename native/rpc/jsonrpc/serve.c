/* A message: whether it repeats one that came before, its requests one after the other, and its end. */
#include "rpc/fastpath/whole_number_path.h"
#include "rpc/jsonrpc/serving.h"

enum { SCRATCH_KEPT = 64 * 1024 };

static void write_invalid_data(void *context, struct buffer *data, struct text detail, struct text id)
{
  struct serving *serving = context;
  serving->found_invalid = true;
  rpc_message_data_write(data, detail, id, serving->peer->config.compat_pal);
}

static bool begins_with(struct text message, char bracket)
{
  return message.len > 0 && *message.data == bracket;
}

bool serving_may_repeat(const struct serving *serving)
{
  return (begins_with(serving->message, '{') || begins_with(serving->message, '[')) &&
         !serving->run.client->only_safe;
}

/* ---- requests that came before ---- */

/* What the answer may still hold; 0: as much as it likes. */
static bool has_room(const struct serving *serving, size_t *left)
{
  size_t used = serving->out->len - serving->start;
  *left = serving->reply_max > used ? serving->reply_max - used : 0;
  return serving->reply_max == 0 || *left > 0;
}

static bool answer_briefly(struct serving *serving)
{
  size_t left;
  if (!has_room(serving, &left))
    return false;
  enum rpc_brief brief = rpc_brief_serve(serving->worker, serving->run.client, serving->shape, left,
                                         serving->out, &serving->outcome);
  serving->has_failed = brief == RPC_BRIEF_FAILED;
  return brief == RPC_BRIEF_ANSWERED;
}

static enum jsonrpc_handled run_at_length(struct serving *serving)
{
  struct rpc_shape *shape = serving->shape;
  struct jsonrpc_stream unused; /* what comes again is no query, and nothing else is answered by a stream */
  size_t start = serving->out->len;
  enum jsonrpc_handled handled =
      jsonrpc_handle_request(serving->service, &shape->request, serving->out, &unused);
  if (handled == JSONRPC_REPLY && !serving->out->failed)
    rpc_brief_learn(serving->worker, shape, &serving->outcome,
                    text_slice(buffer_text(serving->out), start, serving->out->len));
  return handled;
}

static size_t match_cached(void *context, struct text text)
{
  struct serving *serving = context;
  struct rpc_worker *worker = serving->worker;
  size_t length;
  struct rpc_shape *shape =
      rpc_repeats_find_first(&serving->own->repeats, text, &worker->runner.arena, &length);
  bool is_known = shape != NULL && shape->brackets < rpc_jsonrpc_limits(serving->peer).max_depth;
  serving->has_failed = false;
  serving->shape = is_known ? shape : NULL;
  return is_known ? length : 0;
}

static enum jsonrpc_handled run_cached(void *context)
{
  struct serving *serving = context;
  return answer_briefly(serving) ? JSONRPC_REPLY : run_at_length(serving);
}

/* ---- one message ---- */

static bool is_malformed(const struct rpc_peer *peer, struct text message, struct json_fault *fault)
{
  return json_validate(message, rpc_jsonrpc_limits(peer), TEXT("params"), fault) == JP_INVALID;
}

static enum rpc_served end_message(struct serving *serving, enum jsonrpc_handled handled,
                                   const struct jsonrpc_stream *rest, struct rpc_stream *stream)
{
  if (handled == JSONRPC_STREAM) {
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
  arena_reset(&serving->worker->runner.arena);
  buffer_trim(&serving->own->scratch, SCRATCH_KEPT);
  return rpc_jsonrpc_served(handled);
}

/* Whatever was not answered on the brief way. */
static enum rpc_served serve_at_length(struct serving *serving, bool may_stream, struct rpc_stream *stream)
{
  const struct rpc_peer *peer = serving->peer;
  const struct jsonrpc_service service = {.context = serving,
                                          .arena = &serving->worker->runner.arena,
                                          .handle = serving_handle_request,
                                          .write_error_data = write_invalid_data,
                                          .match_cached =
                                              serving->run.client->only_safe ? NULL : match_cached,
                                          .run_cached = run_cached,
                                          .limits = rpc_jsonrpc_limits(peer),
                                          .max_batch = peer->config.limits.max_batch,
                                          .may_stream = may_stream,
                                          .only_safe = serving->run.client->only_safe};
  struct jsonrpc_stream rest;
  serving->service = &service;
  enum jsonrpc_handled handled = serving->shape == NULL
                                     ? jsonrpc_handle(&service, serving->message, serving->out, &rest)
                                     : run_at_length(serving);
  return end_message(serving, handled, &rest, stream);
}

enum rpc_served rpc_jsonrpc_serve(void *context, struct rpc_worker *worker, struct rpc_client *client,
                                  struct text message, struct buffer *out, bool may_stream, size_t reply_max,
                                  struct rpc_stream *stream)
{
  struct rpc_jsonrpc_worker *own = rpc_jsonrpc_worker(worker);
  rpc_runner_begin_message(&worker->runner);
  buffer_clear(&own->scratch);
  struct rpc_shape *shape = NULL;
  if (begins_with(message, '{') && !client->only_safe)
    shape = rpc_repeats_find(&own->repeats, message, &worker->runner.arena);
  struct outcome failed;
  enum rpc_brief brief = RPC_BRIEF_UNFIT;
  if (shape != NULL)
    brief = rpc_brief_serve(worker, client, shape, reply_max, out, &failed);
  if (brief == RPC_BRIEF_ANSWERED)
    return RPC_REPLY;
  struct serving serving = {.message = message,
                            .peer = context,
                            .worker = worker,
                            .own = own,
                            .run = {.runner = &worker->runner, .client = client},
                            .out = out,
                            .start = out->len,
                            .reply_max = reply_max,
                            .shape = shape,
                            .has_failed = brief == RPC_BRIEF_FAILED};
  if (serving.has_failed)
    serving.outcome = failed;
  return serve_at_length(&serving, may_stream, stream);
}
