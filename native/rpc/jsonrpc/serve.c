#include "base/clock.h"
#include "rpc/compat.h"
#include "rpc/fastpath/whole_number_path.h"
#include "rpc/jsonrpc/escaped_body.h"
#include "rpc/jsonrpc/json_params.h"
#include "rpc/jsonrpc/procedures.h"
#include "rpc/members/java_methods_decode.h"
#include "rpc/peer_state.h"

enum { SCRATCH_KEPT = 64 * 1024, BODY_STEP = 64 * 1024, REFS_KEPT = 1024 };

/* One message on its way. */
struct serving {
  struct text message;
  struct rpc_peer *peer;
  struct rpc_worker *worker;
  struct rpc_client *client;
  struct buffer *out;
  const struct jsonrpc_service *service;
  size_t start; /* of the message's answer in out */
  size_t reply_max;
  bool found_invalid;         /* the envelope, by jsonrpc */
  struct outcome_body stream; /* of RPC_STREAM */

  /* the request that is run */
  const struct jsonrpc_request *request;
  struct rpc_shape *shape;   /* that it repeats; NULL: none */
  bool has_failed;           /* on the brief way: the outcome tells how, and its request is not ended */
  struct outcome outcome;    /* of an operation that was run */
  uint64_t number;           /* of a message whose requests have named sessions; 0: none has yet */
  struct uuid guest_id;      /* of a session that the request alone named */
  struct rpc_session *guest; /* that session, held until the request is answered; NULL: not held */
  size_t stored_before;      /* of the worker's stored refs: those of the message's earlier requests */
  struct rpc_reached_member from;
  bool by_value; /* its result is plain JSON */
};

/* ---- sessions ---- */

static void fail_to_hold(struct serving *serving, enum jp_status status, const struct jp_error *error,
                         struct outcome *outcome)
{
  outcome_fail(outcome, &serving->worker->arena, status == JP_LIMIT ? FAILURE_SERVER : FAILURE_INTERNAL, NULL,
               "%s", error->text);
}

/* A ZeroMQ client may claim its session in the message itself (behaviour.md, "Control"). */
static bool names_session(const struct serving *serving)
{
  return serving->client->channel == OP_CHANNEL_ZMQ && serving->request->peer_id.data != NULL;
}

/* Made where it is not there: a passing one, for all requests of this message. */
static enum jp_status find_guest(struct serving *serving, struct rpc_session **session,
                                 struct outcome *outcome)
{
  struct rpc_session_key *key = &serving->worker->guest_key;
  rpc_session_key_peer_id(key, &serving->guest_id);
  if (serving->number == 0)
    serving->number = atomic_fetch_add(&serving->peer->messages, 1) + 1;
  const struct rpc_session_maker maker = {serving->client->maker.address, true, serving->number};
  struct jp_error error;
  enum jp_status status = rpc_session_acquire(serving->peer->sessions, key, &maker, &serving->guest, &error);
  if (status != JP_OK)
    fail_to_hold(serving, status, &error, outcome);
  *session = serving->guest;
  return status;
}

/* The session of the request; where none is there: made, or NULL but for a guest. */
static enum jp_status find_session(struct serving *serving, bool make, struct rpc_session **session,
                                   struct outcome *outcome)
{
  struct rpc_client *client = serving->client;
  if (names_session(serving))
    return find_guest(serving, session, outcome);
  struct jp_error error;
  enum jp_status status = JP_OK;
  if (client->session == NULL && make)
    status = rpc_client_hold_session(serving->peer, client, &error);
  else if (client->session == NULL)
    client->session = rpc_session_find(serving->peer->sessions, &client->key);
  if (status != JP_OK)
    fail_to_hold(serving, status, &error, outcome);
  *session = client->session;
  return status;
}

/* Whose answer to the request is an error: the client never hears of what its result has stored. */
static void take_back_result(struct serving *serving)
{
  struct jvm_stored *stored = &serving->worker->stored;
  struct rpc_session *session = serving->guest != NULL ? serving->guest : serving->client->session;
  if (stored->count > serving->stored_before)
    jvm_objects_take_back(serving->worker->thread, rpc_session_objects(session), stored,
                          serving->stored_before);
}

/* What a guest has been told can be taken back no more, as its session may be another's by then. */
static void let_guest_go(struct serving *serving)
{
  if (serving->guest == NULL)
    return;
  serving->worker->stored.count = serving->stored_before;
  rpc_session_release(serving->peer->sessions, serving->guest, serving->worker->thread, clock_now_ms());
  serving->guest = NULL;
}

/* ---- the six methods ---- */

static struct rpc_authorizer authorizer_of(struct serving *serving)
{
  return (struct rpc_authorizer){.policy = serving->worker->policy,
                                 .names = &serving->worker->names,
                                 .channel = serving->client->channel,
                                 .session = serving->guest == NULL ? &serving->client->key
                                                                   : &serving->worker->guest_key};
}

static void run_member(struct serving *serving, const struct operation *operation, struct outcome *outcome)
{
  struct rpc_session *session;
  if (find_session(serving, true, &session, outcome) != JP_OK)
    return;
  struct rpc_execution execution = {.thread = serving->worker->thread,
                                    .objects = rpc_session_objects(session),
                                    .arena = &serving->worker->arena,
                                    .limits = &serving->peer->config.limits.java,
                                    .stored = &serving->worker->stored,
                                    .drops_result = serving->request->is_notification,
                                    .authorizer = authorizer_of(serving)};
  rpc_execute(&execution, operation, &serving->from, outcome);
  if (outcome->kind == OUTCOME_ERROR)
    take_back_result(serving);
}

static void delete_objects(struct serving *serving, struct rpc_session *session,
                           const struct operation *operation, struct outcome *outcome)
{
  for (size_t i = 0; i < operation->arg_count; i++) {
    uint32_t ref = operation->args[i].ref;
    enum jp_status status =
        session == NULL ? JP_NOT_FOUND
                        : jvm_objects_delete(serving->worker->thread, rpc_session_objects(session), ref);
    if (status == JP_OK)
      continue;
    outcome_fail(outcome, &serving->worker->arena, status == JP_NOT_FOUND ? FAILURE_SERVER : FAILURE_INTERNAL,
                 NULL, "No such object: %u", ref);
    return;
  }
}

static void run_control(struct serving *serving, const struct operation *operation, struct outcome *outcome)
{
  struct rpc_session *session = NULL;
  *outcome = (struct outcome){.kind = OUTCOME_VOID};
  switch (operation->command) {
  case OP_PING:
    return;
  case OP_GC:
    jvm_gc(serving->worker->thread);
    return;
  case OP_DELETE_OBJECT:
    if (find_session(serving, false, &session, outcome) == JP_OK)
      delete_objects(serving, session, operation, outcome);
    return;
  case OP_DELETE_SESSION:
    if (find_session(serving, false, &session, outcome) == JP_OK && session != NULL)
      rpc_session_clear(session, serving->worker->thread);
    return;
  }
}

static void run_meta(struct serving *serving, const struct operation *operation, struct outcome *outcome)
{
  static const enum policy_channel channels[OP_CHANNELS] = {
      [OP_CHANNEL_WEBSOCKET] = POLICY_WEBSOCKET,
      [OP_CHANNEL_HTTP] = POLICY_HTTP,
      [OP_CHANNEL_ZMQ] = POLICY_ZMQ,
  };
  struct arena *arena = &serving->worker->arena;
  struct jp_error error;
  if (serving->request->is_notification)
    return; /* a query changes nothing, and nobody reads its answer */
  if (serving->peer->meta == NULL) {
    outcome_fail(outcome, arena, FAILURE_SERVER, NULL, "this peer serves no metadata");
  } else if (rpc_meta_open(serving->peer->meta, serving->worker->policy, channels[serving->client->channel],
                           operation, &outcome->body, &error) == JP_OK) {
    outcome->kind = OUTCOME_BODY;
    return;
  } else {
    outcome_fail(outcome, arena, FAILURE_SERVER, NULL, "%s", error.text);
  }
  outcome->status = TEXT("ERROR");
}

/* ---- answers ---- */

static bool is_too_long(const struct serving *serving)
{
  return serving->reply_max > 0 && serving->out->len - serving->start > serving->reply_max;
}

static void write_error(struct jsonrpc_response *response, const struct outcome *outcome,
                        const struct rpc_answer *answer)
{
  struct outcome told = *outcome;
  if (answer->compat_pal)
    rpc_compat_reword(&told);
  int code = rpc_failure_code(told.failure);
  rpc_error_data_write(jsonrpc_error(response, code, jsonrpc_code_message(code)), &told, answer);
}

static void write_too_long(struct serving *serving, struct jsonrpc_response *response,
                           const struct rpc_answer *answer)
{
  struct outcome outcome;
  take_back_result(serving);
  outcome_fail(&outcome, &serving->worker->arena, FAILURE_SERVER, NULL,
               "the answer is longer than the %zu bytes that may be held for it (send-buffer-max; on ZeroMQ "
               "message-max)",
               serving->reply_max);
  write_error(response, &outcome, answer);
}

static void fail_body(struct serving *serving, struct jsonrpc_response *response,
                      const struct rpc_answer *answer)
{
  struct outcome outcome;
  outcome_fail(&outcome, &serving->worker->arena, FAILURE_SERVER, NULL, "the metadata could not be read");
  outcome.status = TEXT("ERROR");
  write_error(response, &outcome, answer);
}

/* Where the transport needs the whole answer at once. */
static void write_whole_body(struct serving *serving, struct jsonrpc_response *response,
                             struct outcome_body *body, const struct rpc_answer *answer)
{
  struct buffer *out = jsonrpc_result(response);
  buffer_append_text(out, rpc_body_head(answer));
  enum jp_status status;
  do
    status = body->read(body->state, out, BODY_STEP);
  while (status == JP_OK && !is_too_long(serving));
  body->close(body->state);
  buffer_append_text(out, rpc_body_tail());
  if (is_too_long(serving))
    write_too_long(serving, response, answer);
  else if (status != JP_CLOSED)
    fail_body(serving, response, answer);
}

static void write_body(struct serving *serving, struct jsonrpc_response *response,
                       const struct outcome *outcome, const struct rpc_answer *answer)
{
  struct outcome_body escaped;
  if (rpc_body_escape(&outcome->body, &escaped) != JP_OK) {
    fail_body(serving, response, answer);
    return;
  }
  if (!serving->request->may_stream) {
    write_whole_body(serving, response, &escaped, answer);
    return;
  }
  buffer_append_text(jsonrpc_result(response), rpc_body_head(answer));
  serving->stream = escaped;
  jsonrpc_result_stream(response, &serving->stream, rpc_body_tail());
}

static void write_answer(struct serving *serving, struct jsonrpc_response *response,
                         const struct outcome *outcome)
{
  const struct rpc_answer answer = {.request_id = serving->request->id,
                                    .compat_pal = serving->peer->config.compat_pal,
                                    .from = &serving->from,
                                    .scratch = &serving->worker->scratch};
  if (outcome->kind == OUTCOME_BODY) {
    write_body(serving, response, outcome, &answer);
    return;
  }
  if (outcome->kind == OUTCOME_ERROR)
    write_error(response, outcome, &answer);
  else if (serving->by_value)
    rpc_plain_result_write(jsonrpc_result(response), outcome);
  else
    rpc_result_write(jsonrpc_result(response), outcome, &answer);
  if (is_too_long(serving))
    write_too_long(serving, response, &answer);
}

/* ---- one request ---- */

static void run(struct serving *serving, const struct operation *operation, struct outcome *outcome)
{
  if (operation->kind == OP_META)
    run_meta(serving, operation, outcome);
  else if (operation->kind == OP_CONTROL)
    run_control(serving, operation, outcome);
  else
    run_member(serving, operation, outcome);
}

static bool is_description(const struct jsonrpc_request *request)
{
  if (request->version != JSONRPC_1_1)
    return false;
  const struct rpc_procedure *procedure = rpc_procedure_find(request->method);
  return procedure != NULL && procedure->kind == RPC_PROCEDURE_DESCRIBE;
}

static void describe(const struct rpc_peer *peer, struct jsonrpc_response *response)
{
  const struct rpc_service_facts facts = {peer->config.uuid, text_of(peer->config.name), peer->addresses};
  rpc_description_write(jsonrpc_result(response), &facts);
}

static void discover(struct serving *serving, struct jsonrpc_response *response)
{
  const struct rpc_authorizer authorizer = authorizer_of(serving);
  const struct openrpc_view view = {authorizer.policy, rpc_authorizer_channel(&authorizer)};
  size_t max = serving->reply_max > 0 ? serving->reply_max : serving->peer->config.limits.message_max;
  struct outcome outcome;
  if (openrpc_discover(serving->peer->openrpc, serving->request, &view, max, &serving->worker->arena,
                       jsonrpc_result(response), &outcome) != JP_OK)
    write_answer(serving, response, &outcome);
}

static enum jp_status decode_procedure(struct serving *serving, struct operation *operation,
                                       struct outcome *outcome)
{
  struct arena *arena = &serving->worker->arena;
  size_t digits_max = serving->peer->config.limits.java.number_digits_max;
  if (!serving->peer->config.compat_pal)
    return rpc_params_decode(serving->request, digits_max, arena, operation, outcome);
  enum jp_status status = rpc_params_decode_compat(serving->request, digits_max, arena, operation, outcome);
  struct text class_name;
  if (!rpc_compat_withholds(operation, &class_name))
    return status;
  const struct rpc_authorizer authorizer = authorizer_of(serving);
  return rpc_authorize_deny(&authorizer, class_name, operation->member, arena, outcome);
}

/* One of the peer's own procedures by a bare name, or a Java member by its own. */
static enum jp_status decode(struct serving *serving, struct operation *operation, struct outcome *outcome)
{
  struct text method = serving->request->method;
  struct arena *arena = &serving->worker->arena;
  size_t digits_max = serving->peer->config.limits.java.number_digits_max;
  if (method.len == 0 || memchr(method.data, '.', method.len) == NULL)
    return decode_procedure(serving, operation, outcome);
  const struct rpc_authorizer authorizer = authorizer_of(serving);
  serving->by_value = true;
  return java_method_decode(serving->request, serving->peer->config.catalog, serving->peer->methods,
                            &authorizer, digits_max, arena, operation, outcome);
}

static bool begins_with(struct text message, char bracket)
{
  return message.len > 0 && *message.data == bracket;
}

/* A message with rules of its own is read in full each time. */
static bool may_repeat(const struct serving *serving)
{
  return (begins_with(serving->message, '{') || begins_with(serving->message, '[')) &&
         !serving->client->only_safe;
}

static void run_operation(struct serving *serving, const struct operation *operation,
                          struct jsonrpc_response *response)
{
  struct outcome *outcome = &serving->outcome;
  *outcome = (struct outcome){.kind = OUTCOME_VOID};
  if (jvm_request_begin(serving->worker->thread) != JP_OK) {
    outcome_fail(outcome, &serving->worker->arena, FAILURE_INTERNAL, NULL, "out of memory");
    write_answer(serving, response, outcome);
    return;
  }
  run(serving, operation, outcome);
  write_answer(serving, response, outcome);
  jvm_request_end(serving->worker->thread);
  let_guest_go(serving);
}

/* What the brief way has left. */
static void end_failed(struct serving *serving, struct jsonrpc_response *response)
{
  write_answer(serving, response, &serving->outcome);
  jvm_request_end(serving->worker->thread);
}

static void handle_in_full(struct serving *serving, struct jsonrpc_response *response)
{
  struct operation operation;
  struct outcome outcome = {.kind = OUTCOME_VOID};
  if (decode(serving, &operation, &outcome) != JP_OK) {
    write_answer(serving, response, &outcome);
    return;
  }
  if (may_repeat(serving) && !serving->by_value)
    rpc_repeats_keep(&serving->worker->repeats,
                     begins_with(serving->message, '{') ? serving->message : serving->request->text,
                     serving->request, &operation);
  run_operation(serving, &operation, response);
}

/* Also where the method needs no session: a client that errs in its name learns it at once. */
static bool read_session_name(struct serving *serving, struct jsonrpc_response *response)
{
  if (!names_session(serving) || uuid_parse(serving->request->peer_id, &serving->guest_id))
    return true;
  struct outcome outcome;
  outcome_fail(&outcome, &serving->worker->arena, FAILURE_INVALID_REQUEST, NULL, "'peer-id' must be a UUID");
  write_answer(serving, response, &outcome);
  return false;
}

static void handle(void *context, const struct jsonrpc_request *request, struct jsonrpc_response *response)
{
  struct serving *serving = context;
  serving->request = request;
  serving->from = (struct rpc_reached_member){0};
  serving->by_value = false;
  serving->stored_before = serving->worker->stored.count;
  if (!read_session_name(serving, response))
    return;
  if (serving->has_failed)
    end_failed(serving, response);
  else if (serving->shape != NULL)
    run_operation(serving, &serving->shape->operation, response);
  else if (is_description(request))
    describe(serving->peer, response);
  else if (text_equal(request->method, TEXT("rpc.discover")))
    discover(serving, response);
  else
    handle_in_full(serving, response);
}

static void write_invalid_data(void *context, struct buffer *data, struct text detail, struct text id)
{
  struct serving *serving = context;
  serving->found_invalid = true;
  rpc_message_data_write(data, detail, id, serving->peer->config.compat_pal);
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
  enum rpc_brief brief = rpc_brief_serve(serving->worker, serving->client, serving->shape, left, serving->out,
                                         &serving->outcome);
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

static size_t recall(void *context, struct text text)
{
  struct serving *serving = context;
  struct rpc_worker *worker = serving->worker;
  size_t length;
  struct rpc_shape *shape = rpc_repeats_find_first(&worker->repeats, text, &worker->arena, &length);
  bool is_known = shape != NULL && shape->brackets < rpc_peer_json_limits(serving->peer).max_depth;
  serving->has_failed = false;
  serving->shape = is_known ? shape : NULL;
  return is_known ? length : 0;
}

static enum jsonrpc_handled run_recalled(void *context)
{
  struct serving *serving = context;
  return answer_briefly(serving) ? JSONRPC_REPLY : run_at_length(serving);
}

/* ---- one message ---- */

static bool is_malformed(const struct rpc_peer *peer, struct text message, struct json_fault *fault)
{
  return json_validate(message, rpc_peer_json_limits(peer), TEXT("params"), fault) == JP_INVALID;
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
    rpc_peer_reject_malformed(serving->message, fault.offset, serving->out);
  }
  arena_reset(&serving->worker->arena);
  buffer_trim(&serving->worker->scratch, SCRATCH_KEPT);
  return rpc_served_as(handled);
}

void rpc_peer_take_back(void *context, struct rpc_worker *worker, struct rpc_client *client)
{
  (void)context;
  if (worker->stored.count > 0 && client->session != NULL)
    jvm_objects_take_back(worker->thread, rpc_session_objects(client->session), &worker->stored, 0);
}

/* Whatever was not answered on the brief way. */
static enum rpc_served serve_at_length(struct serving *serving, bool may_stream, struct rpc_stream *stream)
{
  const struct rpc_peer *peer = serving->peer;
  const struct jsonrpc_service service = {.context = serving,
                                          .arena = &serving->worker->arena,
                                          .handle = handle,
                                          .write_error_data = write_invalid_data,
                                          .recall = serving->client->only_safe ? NULL : recall,
                                          .run_recalled = run_recalled,
                                          .limits = rpc_peer_json_limits(peer),
                                          .max_batch = peer->config.limits.max_batch,
                                          .may_stream = may_stream,
                                          .only_safe = serving->client->only_safe};
  struct jsonrpc_stream rest;
  serving->service = &service;
  enum jsonrpc_handled handled = serving->shape == NULL
                                     ? jsonrpc_handle(&service, serving->message, serving->out, &rest)
                                     : run_at_length(serving);
  return end_message(serving, handled, &rest, stream);
}

static void forget_stored(struct jvm_stored *stored)
{
  stored->count = 0;
  if (stored->capacity > REFS_KEPT)
    jvm_stored_fini(stored);
}

/* A message, be it a batch, is served under one policy, also where another comes meanwhile. */
static void renew_policy(struct rpc_worker *worker)
{
  struct policy_source *policies = worker->peer->config.policies;
  if (policy_source_is_current(policies, worker->policy))
    return;
  policy_destroy(worker->policy);
  worker->policy = policy_source_take(policies);
}

enum rpc_served rpc_peer_serve(void *context, struct rpc_worker *worker, struct rpc_client *client,
                               struct text message, struct buffer *out, bool may_stream, size_t reply_max,
                               struct rpc_stream *stream)
{
  renew_policy(worker);
  arena_reset(&worker->arena);
  buffer_clear(&worker->scratch);
  if (worker->stored.count > 0)
    forget_stored(&worker->stored);
  struct rpc_shape *shape = NULL;
  if (begins_with(message, '{') && !client->only_safe)
    shape = rpc_repeats_find(&worker->repeats, message, &worker->arena);
  struct outcome failed;
  enum rpc_brief brief = RPC_BRIEF_UNFIT;
  if (shape != NULL)
    brief = rpc_brief_serve(worker, client, shape, reply_max, out, &failed);
  if (brief == RPC_BRIEF_ANSWERED)
    return RPC_REPLY;
  struct serving serving = {.message = message,
                            .peer = context,
                            .worker = worker,
                            .client = client,
                            .out = out,
                            .start = out->len,
                            .reply_max = reply_max,
                            .shape = shape,
                            .has_failed = brief == RPC_BRIEF_FAILED};
  if (serving.has_failed)
    serving.outcome = failed;
  return serve_at_length(&serving, may_stream, stream);
}
