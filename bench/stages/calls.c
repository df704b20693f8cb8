#include "calls.h"

#include "colfer/messages.h"
#include "judge/judge.h"
#include "rpc/jsonrpc/json_outcome.h"
#include "rpc/jsonrpc/json_params.h"

#include <stdio.h>
#include <stdlib.h>

#define DELETE_HEAD                                                                                          \
  "{\"jsonrpc\":\"2.0\",\"id\":12345,\"method\":\"control\",\"params\":{\"method\":\"delete_object\","       \
  "\"args\":[{\"ref\":"

/* One message that is cut off after a stage. */
struct cut_call {
  struct calls *calls;
  enum cut cut;
};

static void write_nothing(struct jsonrpc_response *response)
{
  BUFFER_LITERAL(jsonrpc_result(response), "null");
}

/* The Java part, as in native/rpc/run.c. */
static void run_member(const struct cut_call *call, const struct operation *operation,
                       struct rpc_reached_member *from, struct outcome *outcome)
{
  struct calls *calls = call->calls;
  struct rpc_worker *worker = &calls->worker;
  struct judge judge = rpc_runner_judge(&worker->runner, calls->client->channel, &calls->client->key);
  const struct jvm_request request = {.thread = worker->runner.thread,
                                      .objects = calls->objects,
                                      .operation = operation,
                                      .arena = &worker->runner.arena,
                                      .limits = &calls->peer->config.limits.java,
                                      .judge = &judge};
  struct jvm_target target;
  if (call->cut < CUT_RESOLVE || jvm_resolve(&request, &target, outcome) != JP_OK)
    return;
  from->class_name = target.facts.declaring_class;
  from->member = target.facts.member;
  if (call->cut >= CUT_INVOKE)
    jvm_invoke(&request, &target, outcome);
  if (outcome->ref != 0 && jvm_objects_delete(worker->runner.thread, calls->objects, outcome->ref) != JP_OK)
    abort();
}

static void handle(void *context, const struct jsonrpc_request *request, struct jsonrpc_response *response)
{
  const struct cut_call *call = context;
  struct rpc_worker *worker = &call->calls->worker;
  struct operation operation;
  struct outcome outcome = {.kind = OUTCOME_VOID};
  struct rpc_reached_member from = {0};
  const struct rpc_value_rules rules = {.digits_max =
                                            worker->runner.peer->config.limits.java.number_digits_max};
  if (call->cut >= CUT_DECODE &&
      rpc_params_decode(request, &rules, &worker->runner.arena, &operation, &outcome) != JP_OK)
    abort();
  if (call->cut >= CUT_FRAME && jvm_request_begin(worker->runner.thread) != JP_OK)
    abort();
  if (call->cut >= CUT_FRAME && operation.kind != OP_CONTROL)
    run_member(call, &operation, &from, &outcome);
  const struct rpc_answer answer = {
      .request_id = request->id, .from = &from, .scratch = &rpc_jsonrpc_worker(worker)->scratch};
  if (call->cut >= CUT_WRITE)
    rpc_result_write(jsonrpc_result(response), &outcome, &answer);
  else
    write_nothing(response);
  if (call->cut >= CUT_FRAME)
    jvm_request_end(worker->runner.thread);
}

static void run_cut(struct calls *calls, enum cut cut)
{
  struct cut_call call = {calls, cut};
  const struct jsonrpc_service service = {.context = &call,
                                          .arena = &calls->worker.runner.arena,
                                          .handle = handle,
                                          .limits = rpc_jsonrpc_limits(calls->peer),
                                          .max_batch = calls->peer->config.limits.max_batch};
  struct jsonrpc_stream rest;
  arena_reset(&calls->worker.runner.arena);
  buffer_clear(&rpc_jsonrpc_worker(&calls->worker)->scratch);
  buffer_clear(&calls->answer);
  if (jsonrpc_handle(&service, buffer_text(&calls->request), &calls->answer, &rest) != JSONRPC_REPLY)
    abort();
}

static void serve(struct calls *calls, const struct buffer *request)
{
  struct rpc_stream stream;
  bool is_binary = calls->workload->call != NULL;
  buffer_clear(&calls->answer);
  calls->service->codecs[is_binary ? RPC_CODEC_COLFER : RPC_CODEC_JSONRPC]->serve(
      calls->service->context, &calls->worker, is_binary ? calls->binary_client : calls->client,
      buffer_text(request), &calls->answer, 0, &stream);
}

/* Returns the digits after the answer's first `head` bytes. */
static struct text ref_in(struct text answer, size_t head)
{
  size_t end = head;
  while (end < answer.len && answer.data[end] >= '0' && answer.data[end] <= '9')
    end++;
  return text_slice(answer, head, end);
}

static void serve_delete(struct calls *calls)
{
  struct text ref = ref_in(buffer_text(&calls->answer), strlen(calls->workload->answer));
  buffer_truncate(&calls->second, sizeof DELETE_HEAD - 1);
  buffer_append_text(&calls->second, ref);
  BUFFER_LITERAL(&calls->second, "}]}}");
  serve(calls, &calls->second);
}

void calls_run(struct calls *calls, enum cut cut, uint64_t iterations)
{
  bool deletes = calls->workload == &workloads[WORKLOAD_NEW_DELETE];
  for (uint64_t i = 0; i < iterations; i++) {
    if (cut < CUT_NONE) {
      run_cut(calls, cut);
      continue;
    }
    serve(calls, &calls->request);
    if (deletes)
      serve_delete(calls);
  }
}

bool calls_went_well(const struct calls *calls)
{
  static const char returns[] = {0, COLFER_RETURNS}; /* the message's first field: its type */
  const struct text head = calls->workload->call != NULL
                               ? (struct text){returns, sizeof returns}
                               : TEXT("{\"jsonrpc\":\"2.0\",\"id\":12345,\"result\":");
  return !calls->answer.failed && text_starts_with(buffer_text(&calls->answer), head);
}

/* ---- */

static bool matches(const struct workload *workload, struct text answer, struct text expected)
{
  if (workload->call != NULL)
    return binary_equal_except_id(answer, expected);
  if (workload == &workloads[WORKLOAD_NEW_DELETE])
    return text_starts_with(answer, expected);
  return text_equal(answer, expected);
}

static void show(const struct workload *workload, const char *before, struct text message)
{
  struct buffer shown;
  buffer_init(&shown);
  if (workload->call != NULL)
    binary_show(message, &shown);
  else
    buffer_append_text(&shown, message);
  fprintf(stderr, "%s\n%.*s\n", before, TEXT_ARGS(buffer_text(&shown)));
  buffer_fini(&shown);
}

static bool is_expected(const struct calls *calls)
{
  struct buffer expected;
  buffer_init(&expected);
  workload_write_answer(calls->workload, calls->receiver, &expected);
  bool is_same = matches(calls->workload, buffer_text(&calls->answer), buffer_text(&expected));
  if (!is_same) {
    fprintf(stderr, "%s: ", calls->workload->name);
    show(calls->workload, "the answer is", buffer_text(&calls->answer));
    show(calls->workload, "not", buffer_text(&expected));
  }
  buffer_fini(&expected);
  return is_same;
}

static uint32_t read_receiver(const struct calls *calls)
{
  struct text answer = buffer_text(&calls->answer);
  if (calls->workload->call != NULL)
    return binary_ref_in(answer);
  return (uint32_t)strtoul(ref_in(answer, strlen(workloads[WORKLOAD_NEW_DELETE].answer)).data, NULL, 10);
}

/* A new object of the session, for the workloads with a receiver; the sessions of other workloads remain
 * empty, if each request names its own session. */
static void make_receiver(struct calls *calls)
{
  if (calls->workload->call != NULL && !calls->workload->call->has_receiver)
    return;
  buffer_clear(&calls->request);
  workload_write_new(calls->workload, &calls->request);
  serve(calls, &calls->request);
  calls->receiver = read_receiver(calls);
  if (calls->workload->call == NULL)
    calls->objects = rpc_session_objects(calls->client->session);
}

bool calls_choose(struct calls *calls, enum workload_id id)
{
  calls->workload = &workloads[id];
  make_receiver(calls);
  buffer_clear(&calls->request);
  workload_write_request(calls->workload, calls->receiver, &calls->request);
  serve(calls, &calls->request);
  if (!is_expected(calls))
    return false;
  if (id == WORKLOAD_NEW_DELETE)
    serve_delete(calls);
  return calls_went_well(calls);
}

static enum jp_status open_clients(struct calls *calls, struct jp_error *error)
{
  const struct rpc_service *service = calls->service;
  const struct rpc_client_info json = {.channel = OP_CHANNEL_WEBSOCKET};
  const struct rpc_client_info binary = {.channel = OP_CHANNEL_ZMQ, .routing_id = TEXT("bench")};
  enum jp_status status = service->client_open(service->context, &json, &calls->client, error);
  if (status == JP_OK)
    status = service->client_open(service->context, &binary, &calls->binary_client, error);
  return status;
}

enum jp_status calls_init(struct calls *calls, struct rpc_peer *peer, struct jvm_thread *thread,
                          struct jp_error *error)
{
  *calls = (struct calls){.peer = peer, .service = rpc_peer_service(peer)};
  if (rpc_worker_init(&calls->worker, peer, thread) != JP_OK)
    return jp_fail(error, JP_NO_MEMORY, "out of memory");
  rpc_call_watch_init(&calls->worker.watch, "bench");
  calls->worker.runner.watch = &calls->worker.watch;
  buffer_init(&calls->request);
  buffer_init(&calls->second);
  buffer_init(&calls->answer);
  BUFFER_LITERAL(&calls->second, DELETE_HEAD);
  return open_clients(calls, error);
}

static void close_client(struct calls *calls, struct rpc_client *client)
{
  if (client != NULL)
    calls->service->client_close(calls->service->context, &calls->worker, client, NULL);
}

void calls_fini(struct calls *calls)
{
  close_client(calls, calls->client);
  close_client(calls, calls->binary_client);
  rpc_worker_fini(&calls->worker);
  rpc_call_watch_fini(&calls->worker.watch);
  buffer_fini(&calls->request);
  buffer_fini(&calls->second);
  buffer_fini(&calls->answer);
}
