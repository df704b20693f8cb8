#include "net/http/http_protocol.h"

#include "base/clock.h"
#include "base/log.h"
#include "net/admission/client_address.h"
#include "net/admission/connection_audit.h"
#include "net/admission/wrong_evidence.h"
#include "net/connection/connection_duplex.h"
#include "net/connection/connection_principal.h"
#include "net/connection/connection_table.h"
#include "net/connection/long_message.h"
#include "net/http/http_heads.h"
#include "net/http/http_query.h"

enum { ORIGIN_SHOWN = 200 }; /* bytes of an origin in the log */

/* The state of a connection. connection->is_midway: the head of a request was read, and its message was not served
 * yet. */
struct http_state {
  struct http_terms terms; /* of the last head */
  struct http_parser parser;
  size_t scanned; /* http_read_head */
  bool is_get;    /* the message is a call by GET */
  /* A refusal that is delayed (net/admission/wrong_evidence.h): when it is sent (clock_now_ms); 0: none is. */
  int64_t refusal_due_ms;
  enum principal_refusal refusal;
};

_Static_assert(sizeof(struct http_state) <= CONNECTION_PROTOCOL_STATE, "a connection has no room for HTTP");

static struct http_state *state_of(struct connection *connection)
{
  return (struct http_state *)(void *)connection->protocol_state;
}

static const struct http_protocol *http_of(const struct connection *connection)
{
  return (const struct http_protocol *)(const void *)connection->protocol;
}

static void begin_request(struct connection *connection)
{
  struct http_state *state = state_of(connection);
  connection->is_midway = false;
  state->scanned = 0;
  state->terms.has_peer_id = false;
  state->terms.has_epoch = false;
  state->is_get = false;
  state->terms.refuses_json = false;
  http_parser_init(&state->parser);
}

static void begin_connection(struct connection *connection)
{
  state_of(connection)->terms.mode = (struct http_response_mode){.is_1_1 = true};
  begin_request(connection);
}

/* The response was written: begins the next request, or ends the connection. */
static enum step end_request(struct connection *connection)
{
  connection->began_ms = 0;
  buffer_clear(&connection->message);
  begin_request(connection);
  return state_of(connection)->terms.mode.keeps_alive ? STEP_SERVED : STEP_ENDS;
}

static enum step respond_and_close(struct connection *connection, int status, const char *reason)
{
  struct http_status_response response = {.status = status, .reason = reason};
  state_of(connection)->terms.mode.keeps_alive = false;
  http_write_status(&connection->out, state_of(connection)->terms.mode, &response);
  return STEP_ENDS;
}

/* ---- evidence ---- */

static enum step write_unauthorized(struct connection *connection, enum principal_refusal refusal)
{
  struct http_status_response response = {
      .status = 401, .reason = principal_refusal_reason(refusal), .asks_for_token = true};
  monitor_count_refusal(connection->limits->monitor, refusal == PRINCIPAL_NOT_KNOWN
                                                         ? METRICS_REFUSAL_NO_EVIDENCE
                                                         : METRICS_REFUSAL_WRONG_EVIDENCE);
  state_of(connection)->terms.mode.keeps_alive = false;
  http_write_status(&connection->out, state_of(connection)->terms.mode, &response);
  return STEP_ENDS;
}

/* error: of connection_judge. */
static enum step write_refused(struct connection *connection, enum principal_refusal refusal,
                               const struct jp_error *error)
{
  if (refusal != PRINCIPAL_AT_LIMIT)
    return write_unauthorized(connection, refusal);
  monitor_count_refusal(connection->limits->monitor, METRICS_REFUSAL_LIMIT);
  return respond_and_close(connection, 503, error->text);
}

/* Refuses the request after its head. error: of connection_judge. */
static enum step refuse_evidence(struct connection *connection, enum principal_refusal refusal,
                                 const struct jp_error *error)
{
  connection->is_midway = false;
  connection_audit_refusal(connection->number, &connection->address, error->text);
  if (refusal == PRINCIPAL_AT_LIMIT)
    return write_refused(connection, refusal, error);
  char address[CLIENT_ADDRESS_TEXT];
  int64_t now_ms = clock_now_ms();
  int64_t delay_ms = wrong_evidence_count(connection->limits->wrong_evidence, &connection->address,
                                          refusal != PRINCIPAL_NOT_KNOWN, now_ms);
  log_warn_rarely("a request of %s is refused: %s", client_address_write(&connection->address, address),
                  error->text);
  if (delay_ms == 0)
    return write_unauthorized(connection, refusal);
  state_of(connection)->refusal = refusal;
  state_of(connection)->refusal_due_ms = now_ms + delay_ms;
  return STEP_DELAYS;
}

/* Judges the evidence of a request whose head was read. STEP_AGAIN: it is a principal's. token: data NULL: none. */
static enum step judge_request(struct connection *connection, struct text token)
{
  uint8_t digest[PRINCIPAL_DIGEST];
  struct jp_error error;
  if (token.data != NULL)
    principal_hash_token(token, digest);
  enum principal_refusal refusal = connection_judge(connection, token.data == NULL ? NULL : digest, &error);
  return refusal == PRINCIPAL_ADMITTED ? STEP_AGAIN : refuse_evidence(connection, refusal, &error);
}

/* Responds with 408 if a request has begun; else the connection is closed without a response. */
static void time_out_request(struct connection *connection)
{
  if (state_of(connection)->refusal_due_ms != 0)
    (void)write_unauthorized(connection, state_of(connection)->refusal);
  else if (connection_has_begun(connection))
    respond_and_close(connection, 408, "the request took too long");
}

/* Writes the response. The response to HEAD has the head that GET would get, and no body. */
static void write_reply(struct connection *connection, int status, struct text reply,
                        const struct rpc_session_info *session)
{
  struct http_response_mode mode = state_of(connection)->terms.mode;
  http_write_reply_head(&connection->out, mode, status, reply.len, session);
  if (!mode.is_head)
    buffer_append_text(&connection->out, reply);
}

/* Responds with 503, and with a JSON-RPC error if a body has begun. */
static void cut_request(struct connection *connection, const char *reason, struct buffer *answer)
{
  if (!connection->is_midway) {
    respond_and_close(connection, 503, reason);
    return;
  }
  const struct rpc_service *service = connection_service(connection);
  buffer_clear(answer);
  connection_codec(connection)
      ->reject(service->context, connection->client, RPC_REJECT_OVERLOADED, TEXT_ABSENT, reason, answer);
  state_of(connection)->terms.mode.keeps_alive = false;
  write_reply(connection, 503, buffer_text(answer), NULL);
}

/* Opens the client, unless it is open already. worker may be NULL. may_push: the connection's next protocol can send
 * other messages than answers. */
static enum jp_status open_client(struct connection *connection, struct rpc_worker *worker,
                                  enum op_channel channel, bool may_push, struct jp_error *error)
{
  if (connection->client != NULL)
    return JP_OK;
  const struct http_state *state = state_of(connection);
  char text[UUID_TEXT_LENGTH + 1];
  struct rpc_client_info info = {.channel = channel,
                                 .peer_id = TEXT_ABSENT,
                                 .routing_id = TEXT_ABSENT,
                                 .epoch = TEXT_ABSENT,
                                 .address = connection->address,
                                 .principal = connection->principal.principal,
                                 .proof = connection->principal.proof,
                                 .only_safe = state->is_get,
                                 .worker = worker,
                                 .connection_number = connection->number};
  if (state->terms.has_peer_id) {
    uuid_format(&state->terms.peer_id, text);
    info.peer_id = text_of(text);
  }
  if (state->terms.has_epoch && channel == OP_CHANNEL_HTTP) /* a handshake names no refs */
    info.epoch = text_of(state->terms.epoch);
  if (may_push) {
    info.push = &connection_push;
    info.connection = connection;
  }
  const struct rpc_service *service = connection_service(connection);
  return service->client_open(service->context, &info, &connection->client, error);
}

static enum step upgrade_to_websocket(struct connection *connection, struct text key, bool names_protocol)
{
  const struct connection_protocol *websocket = http_of(connection)->websocket;
  struct jp_error error = {0};
  enum jp_status status =
      open_client(connection, NULL, websocket->channel, websocket->collect != NULL, &error);
  if (status != JP_OK)
    return respond_and_close(connection, status == JP_INVALID ? 400 : 503, error.text);
  struct rpc_session_info session;
  http_write_upgrade(&connection->out, key, names_protocol,
                     connection_describe_session(connection, &session));
  connection_speak(connection, websocket);
  return STEP_AGAIN;
}

/* The memory's descriptor is sent with the first byte of the response, so no other bytes may be in flight in either
 * direction. */
static enum step upgrade_to_shm(struct connection *connection)
{
  struct connection_upgrade *shm = http_of(connection)->shm;
  struct jp_error error = {0};
  connection_flush(connection);
  if (connection_input(connection).len > 0 || connection_unsent(connection) > 0)
    return respond_and_close(connection, 400,
                             "a request for shared memory is the last one of its connection");
  enum jp_status status = open_client(connection, NULL, shm->channel, true, &error);
  if (status != JP_OK)
    return respond_and_close(connection, status == JP_INVALID ? 400 : 503, error.text);
  status = shm->begin(shm, connection, &error);
  return status == JP_OK ? STEP_AGAIN : respond_and_close(connection, 503, error.text);
}

/* Makes a JSON-RPC message from the target of a GET. */
static enum step begin_call(struct connection *connection, const struct http_route_result *route)
{
  buffer_clear(&connection->message);
  const char *fault = http_query_to_call(route->procedure, route->query, &connection->message);
  if (connection->message.failed)
    return STEP_DROPS;
  if (fault != NULL) {
    struct http_status_response response = {.status = 400, .reason = fault};
    http_write_status(&connection->out, state_of(connection)->terms.mode, &response);
    return end_request(connection);
  }
  state_of(connection)->is_get = true;
  connection->has_message = true;
  connection->is_midway = true;
  connection->began_ms = 0;
  return STEP_AGAIN;
}

static void audit_request(const struct connection *connection, const char *request, const char *outcome)
{
  connection_audit_request(connection->number, &connection->address, connection->principal.principal, request,
                           outcome);
}

static enum step send_document(struct connection *connection)
{
  const struct rpc_service *service = connection_service(connection);
  const struct rpc_http_facts *facts = connection_codec(connection)->http;
  if (facts == NULL || facts->document == NULL) {
    struct http_status_response response = {.status = 404, .reason = "there is nothing at this path"};
    http_write_status(&connection->out, state_of(connection)->terms.mode, &response);
    return end_request(connection);
  }
  struct text document = facts->document(service->context);
  audit_request(connection, "GET /openrpc.json", "ok");
  write_reply(connection, 200, document, NULL);
  return end_request(connection);
}

static enum step send_help(struct connection *connection)
{
  const struct rpc_service *service = connection_service(connection);
  const struct rpc_http_facts *facts = connection_codec(connection)->http;
  struct buffer words;
  buffer_init(&words);
  if (facts != NULL && facts->write_help != NULL)
    facts->write_help(service->context, &words);
  http_write_text(&connection->out, state_of(connection)->terms.mode, "", buffer_text(&words));
  buffer_fini(&words);
  return end_request(connection);
}

static enum step send_health(struct connection *connection)
{
  struct http_response_mode mode = state_of(connection)->terms.mode;
  struct http_status_response response = {.status = 503, .reason = "unavailable"};
  if (monitor_is_healthy(connection->limits->monitor))
    http_write_text(&connection->out, mode, "", TEXT("ok\n"));
  else
    http_write_status(&connection->out, mode, &response);
  return end_request(connection);
}

/* A principal needs a right of its own, because the figures are about all clients. */
static enum step send_metrics(struct connection *connection)
{
  const struct principal *principal = connection->principal.principal;
  struct http_response_mode mode = state_of(connection)->terms.mode;
  struct http_status_response response = {
      .status = 403, .reason = "the metrics are for principals with 'metrics' or 'admin'"};
  struct buffer words;
  audit_request(connection, "GET /metrics", principal_sees_metrics(principal) ? "ok" : "denied");
  if (!principal_sees_metrics(principal)) {
    http_write_status(&connection->out, mode, &response);
    return end_request(connection);
  }
  buffer_init(&words);
  monitor_write_metrics(connection->limits->monitor, &words);
  if (words.failed) {
    buffer_fini(&words);
    return STEP_DROPS;
  }
  http_write_text(&connection->out, mode, "; version=0.0.4", buffer_text(&words));
  buffer_fini(&words);
  return end_request(connection);
}

static enum step act_on_route(struct connection *connection, const struct http_request *request,
                              const struct http_route_result *route, size_t head_length)
{
  bool has_body = http_has_body(request);
  switch (route->action) {
  case HTTP_UPGRADE:
    connection->in_used += head_length;
    return upgrade_to_websocket(connection, request->fields[HTTP_FIELD_WS_KEY], route->names_protocol);
  case HTTP_SHARE:
    connection->in_used += head_length;
    return upgrade_to_shm(connection);
  case HTTP_HELP:
    connection->in_used += head_length;
    return send_help(connection);
  case HTTP_DOCUMENT:
    connection->in_used += head_length;
    return send_document(connection);
  case HTTP_HEALTH:
    connection->in_used += head_length;
    return send_health(connection);
  case HTTP_METRICS:
    connection->in_used += head_length;
    return send_metrics(connection);
  case HTTP_CALL:
    connection->in_used += head_length;
    return begin_call(connection, route);
  case HTTP_RESPOND:
    connection->in_used += head_length;
    if (has_body)
      state_of(connection)->terms.mode.keeps_alive = false;
    http_write_status(&connection->out, state_of(connection)->terms.mode, &route->response);
    return end_request(connection);
  default:
    break;
  }
  connection->in_used += head_length;
  connection->has_message = !has_body;
  connection->is_midway = true;
  connection->began_ms = 0;
  if (route->continues && has_body && connection_input(connection).len == 0)
    BUFFER_LITERAL(&connection->out, "HTTP/1.1 100 Continue\r\n\r\n");
  return STEP_AGAIN;
}

/* If the input begins with a known head, has the same effect as reading that head. False: the head must be read. */
static bool recognize_head(struct connection *connection, struct http_heads *heads)
{
  struct http_state *state = state_of(connection);
  const struct connection_limits *limits = connection->limits;
  size_t used;
  size_t length;
  const struct http_terms *terms =
      heads == NULL ? NULL
                    : http_heads_find(heads, &http_of(connection)->site, connection_input(connection),
                                      limits->header_max, limits->message_max, &used, &length);
  if (terms == NULL)
    return false;
  state->terms = *terms;
  connection->in_used += used;
  http_expect_body(&state->parser, length);
  connection->is_midway = true;
  connection->began_ms = 0;
  return true;
}

static void destroy_heads(void *heads)
{
  http_heads_destroy(heads);
}

static void remember_head(struct scratch *scratch, const struct http_site *site, struct text head,
                          const struct http_request *request, const struct http_route_result *route)
{
  struct http_heads *heads = scratch_object(scratch, SCRATCH_HTTP_HEADS);
  if (heads == NULL) {
    heads = http_heads_create();
    if (heads == NULL)
      return;
    scratch_keep_object(scratch, SCRATCH_HTTP_HEADS, heads, destroy_heads);
  }
  http_heads_keep(heads, site, head, request, route);
}

/* True if the input begins a handshake of TLS (RFC 8446, 5.1). The client would not understand a response. */
static bool speaks_tls(const struct connection *connection)
{
  char address[CLIENT_ADDRESS_TEXT];
  if (!text_starts_with(connection_input(connection), TEXT("\x16\x03")))
    return false;
  log_warn_rarely("a client (%s) speaks TLS to an address without TLS",
                  client_address_write(&connection->address, address));
  return true;
}

/* A request that is refused by its head. */
static void note_refusal(const struct connection *connection, const struct http_route_result *route)
{
  struct net_monitor *monitor = connection->limits->monitor;
  if (route->action != HTTP_RESPOND)
    return;
  if (route->response.status == 401 || route->response.status == 403)
    connection_audit_refusal(connection->number, &connection->address, route->response.reason);
  if (route->response.status == 401)
    monitor_count_refusal(monitor, METRICS_REFUSAL_WRONG_EVIDENCE);
  else if (route->response.status == 403)
    monitor_count_refusal(monitor, METRICS_REFUSAL_FOREIGN_PAGE);
  else if (route->response.status == 413)
    monitor_count_refusal(monitor, METRICS_REFUSAL_TOO_LONG);
}

static enum step read_head(struct connection *connection, struct scratch *scratch)
{
  enum { HEAD_TOO_LONG = 431 };
  struct http_state *state = state_of(connection);
  const struct connection_limits *limits = connection->limits;
  if (recognize_head(connection, scratch_object(scratch, SCRATCH_HTTP_HEADS)))
    return http_of(connection)->site.has_principals ? judge_request(connection, TEXT_ABSENT) : STEP_AGAIN;
  struct http_request request;
  size_t used;
  /* If the head is malformed, the method decides by its text whether the response may have a body. */
  bool is_head = text_starts_with(connection_input(connection), TEXT("HEAD "));
  state->terms.mode = (struct http_response_mode){.is_1_1 = true, .is_head = is_head};
  switch (http_read_head(&state->parser, connection_input(connection), limits->header_max, &state->scanned,
                         &used, &request)) {
  case HTTP_NEEDS_INPUT:
    return speaks_tls(connection) ? STEP_DROPS : STEP_NEEDS_INPUT;
  case HTTP_FAILED:
    if (speaks_tls(connection))
      return STEP_DROPS;
    if (state->parser.status == HEAD_TOO_LONG)
      monitor_count_refusal(limits->monitor, METRICS_REFUSAL_TOO_LONG);
    return respond_and_close(connection, state->parser.status, state->parser.reason);
  case HTTP_DONE:
    break;
  }
  struct http_route_result route;
  const struct http_site *site = &http_of(connection)->site;
  http_route(&request, site, limits->message_max, &route);
  /* While the peer starts, there is no service yet: the head is read again later. */
  if (crew_is_starting(connection->table->crew) && route.action != HTTP_RESPOND &&
      route.action != HTTP_HEALTH) {
    begin_request(connection);
    connection->began_ms = clock_now_ms();
    return STEP_WAITS;
  }
  /* A client that has got a connection may believe that the peer serves: a peer whose start has failed must not say so. */
  if ((route.action == HTTP_UPGRADE || route.action == HTTP_SHARE) && crew_is_ending(connection->table->crew))
    return respond_and_close(connection, 503, CREW_SHUTTING_DOWN);
  note_refusal(connection, &route);
  if (route.refused_origin.data != NULL) {
    char shown[ORIGIN_SHOWN + 1];
    text_escape(route.refused_origin, "", "\"\\", shown, sizeof shown);
    log_warn_rarely(
        "a web page of \"%s\" was refused: --allow-origin names the origins whose pages may call this peer",
        shown);
  }
  state->terms = route.terms;
  remember_head(scratch, site, text_slice(connection_input(connection), 0, used), &request, &route);
  if (site->has_principals && route.action != HTTP_RESPOND && route.action != HTTP_HEALTH) {
    enum step judged = judge_request(connection, route.token);
    if (judged != STEP_AGAIN) {
      connection->in_used += used;
      return judged;
    }
  }
  return act_on_route(connection, &request, &route, used);
}

static void write_served(struct connection *connection, enum crew_served served, struct text reply,
                         const struct rpc_session_info *session)
{
  /* JSON-RPC 1.1 draft, 7.1. Errors of JSON-RPC 2.0 have the status 200. */
  const int status = served == CREW_FAILED ? 500 : served == CREW_NOT_SAFE ? 405 : 200;
  write_reply(connection, status, reply, session);
}

static enum step write_part(struct connection *connection, struct text part, bool is_last)
{
  struct http_response_mode mode = state_of(connection)->terms.mode;
  if (mode.is_1_1 && part.len > 0)
    buffer_printf(&connection->out, "%zx\r\n", part.len);
  buffer_append_text(&connection->out, part);
  if (mode.is_1_1 && part.len > 0)
    BUFFER_LITERAL(&connection->out, "\r\n");
  if (mode.is_1_1 && is_last)
    BUFFER_LITERAL(&connection->out, "0\r\n\r\n");
  return is_last && !mode.keeps_alive ? STEP_ENDS : STEP_SERVED;
}

static enum step refuse_message(struct connection *connection, struct buffer *answer, const char *reason)
{
  const struct rpc_service *service = connection_service(connection);
  connection->has_message = false;
  buffer_clear(answer);
  enum rpc_served served =
      connection_codec(connection)
          ->refuse(service->context, connection->client, buffer_text(&connection->message), reason, answer);
  if (served != RPC_NO_REPLY)
    write_served(connection, crew_served_as(served), buffer_text(answer), NULL);
  else
    http_write_no_content(&connection->out, state_of(connection)->terms.mode, NULL);
  return end_request(connection);
}

static enum step begin_stream(struct connection *connection, const struct buffer *head,
                              const struct rpc_stream *stream, const struct rpc_session_info *session)
{
  struct http_response_mode mode = state_of(connection)->terms.mode;
  http_write_stream_head(&connection->out, mode, session);
  if (mode.is_head) {
    stream->body.close(stream->body.state);
    return end_request(connection);
  }
  write_part(connection, buffer_text(head), false);
  if (!connection_begin_stream(connection, stream))
    return STEP_DROPS;
  end_request(connection);
  return STEP_AGAIN;
}

/* True if the message is of JSON-RPC 1.1, where Accept is binding (draft, 6.1). */
static bool obeys_accept(const struct connection *connection)
{
  const struct rpc_http_facts *facts = connection_codec(connection)->http;
  return facts != NULL && facts->obeys_accept != NULL &&
         facts->obeys_accept(buffer_text(&connection->message));
}

static enum step refuse_too_long(struct connection *connection, struct buffer *answer)
{
  buffer_clear(answer);
  connection_reject_too_long(connection, buffer_text(&connection->message), answer);
  connection->has_message = connection->is_too_long = false;
  write_reply(connection, 413, buffer_text(answer), NULL);
  return end_request(connection);
}

static enum step serve_message(struct connection *connection, struct crew_member *member)
{
  struct buffer *answer = &member->scratch.buffers[SCRATCH_ANSWER];
  struct jp_error error = {0};
  if (connection->client == NULL) {
    enum principal_refusal refusal = connection_judge_again(connection, &error);
    if (refusal != PRINCIPAL_ADMITTED) {
      connection_audit_refusal(connection->number, &connection->address, error.text);
      connection->has_message = connection->is_too_long = connection->is_midway = false;
      return write_refused(connection, refusal, &error);
    }
  }
  if (connection->is_too_long)
    return refuse_too_long(connection, answer);
  if (state_of(connection)->terms.refuses_json && obeys_accept(connection)) {
    struct http_status_response response = {.status = 406, .reason = "answers are application/json"};
    connection->has_message = false;
    http_write_status(&connection->out, state_of(connection)->terms.mode, &response);
    return end_request(connection);
  }
  if (open_client(connection, member->worker, connection->protocol->channel, false, &error) != JP_OK)
    return refuse_message(connection, answer, error.text);

  enum crew_served served;
  struct rpc_stream stream = {0};
  if (!connection_serve(connection, member, answer, &served, &stream))
    return STEP_ENDS;
  if (served == CREW_WAIT)
    return STEP_WAITS;
  struct rpc_session_info session;
  connection_close_client(connection, member, &session);
  switch (served) {
  case CREW_STREAM:
    return begin_stream(connection, answer, &stream, &session);
  case CREW_REPLY:
  case CREW_FAILED:
  case CREW_NOT_SAFE:
    write_served(connection, served, buffer_text(answer), &session);
    break;
  case CREW_ANSWERED:
    break;
  default:
    http_write_no_content(&connection->out, state_of(connection)->terms.mode, &session);
    break;
  }
  return end_request(connection);
}

static enum step read_body(struct connection *connection, struct crew_member *member)
{
  struct http_state *state = state_of(connection);
  struct text input = connection_input(connection);
  if (input.len == 0)
    return STEP_NEEDS_INPUT;
  size_t used;
  enum http_progress progress =
      http_read_body(&state->parser, input, connection->limits->message_max, &used, &connection->message);
  connection->in_used += used;
  switch (progress) {
  case HTTP_NEEDS_INPUT:
    return STEP_NEEDS_INPUT;
  case HTTP_FAILED:
    return respond_and_close(connection, state->parser.status, state->parser.reason);
  default:
    connection->has_message = true;
    connection->is_too_long = state->parser.is_too_long;
    return serve_message(connection, member);
  }
}

/* Reads and serves a request in one step, if the input has the whole request. */
static enum step run_step(struct connection *connection, struct crew_member *member)
{
  if (connection->has_message)
    return serve_message(connection, member);
  if (state_of(connection)->refusal_due_ms != 0)
    return STEP_DELAYS;
  if (!connection->is_midway) {
    if (connection_input(connection).len == 0)
      return STEP_NEEDS_INPUT;
    enum step step = read_head(connection, &member->scratch);
    if (!connection->is_midway || connection->has_message)
      return step;
  }
  return read_body(connection, member);
}

/* --- deadlines and ends --- */

static int64_t find_deadline(struct connection *connection, bool has_begun, int64_t now_ms)
{
  const struct connection_limits *limits = connection->limits;
  if (state_of(connection)->refusal_due_ms != 0)
    return state_of(connection)->refusal_due_ms;
  (void)has_begun; /* began_ms is also set for a new connection, which has to send a head in time */
  if (connection->began_ms == 0)
    return now_ms + limits->idle_timeout_ms;
  return connection->began_ms + (connection->is_midway ? limits->body_timeout_ms : limits->header_timeout_ms);
}

static size_t count_bytes_left(const struct connection *connection)
{
  const struct http_state *state = (const struct http_state *)(const void *)connection->protocol_state;
  if (connection->is_midway && state->parser.is_too_long)
    return LONG_MESSAGE_BEGINNING;
  bool is_known = connection->is_midway && state->parser.framing != HTTP_FRAMING_CHUNKS;
  return is_known ? (size_t)state->parser.length_left : SIZE_MAX;
}

/* A connection that is closed before the last chunk shows that the answer is incomplete (RFC 9112, 8). */
static enum step abandon_answer(struct connection *connection)
{
  (void)connection;
  return STEP_DROPS;
}

static enum step close_gracefully(struct connection *connection, bool is_quiet)
{
  (void)connection;
  return is_quiet ? STEP_DROPS : STEP_ENDS;
}

/* RFC 9110, 15.2: a client of HTTP/1.1 accepts any number of interim responses, even unexpected ones. HTTP/1.0 has
 * none. */
static bool write_probe(struct connection *connection)
{
  if (!state_of(connection)->terms.mode.is_1_1)
    return false;
  BUFFER_LITERAL(&connection->out, "HTTP/1.1 100 Continue\r\n\r\n");
  return true;
}

/* The connection ends after this answer: the answer is made before the client is closed, so it cannot have the
 * session's headers, by which the client would continue its session. */
static void write_ended_reply(struct connection *connection, enum rpc_served served, struct text reply)
{
  state_of(connection)->terms.mode.keeps_alive = false;
  write_served(connection, crew_served_as(served), reply, NULL);
}

static void write_last_reply(struct connection *connection, enum rpc_served served, struct text reply)
{
  if (served == RPC_NO_REPLY)
    return;
  state_of(connection)->terms.mode.keeps_alive = false;
  write_served(connection, crew_served_as(served), reply, NULL);
}

static void write_refusal(struct buffer *out, enum connection_refusal refusal, const char *reason)
{
  struct http_status_response response = {.status = refusal == CONNECTION_NOT_ADMITTED ? 403 : 503,
                                          .reason = reason};
  http_write_status(out, (struct http_response_mode){.is_1_1 = true}, &response);
}

void http_protocol_init(struct http_protocol *http, const struct http_site *site,
                        const struct connection_protocol *websocket, struct connection_upgrade *shm)
{
  static const struct connection_protocol protocol = {.channel = OP_CHANNEL_HTTP,
                                                      .waits_for_rest = true, /* a body follows its head */
                                                      .begin = begin_connection,
                                                      .step = run_step,
                                                      .deadline = find_deadline,
                                                      .bytes_left = count_bytes_left,
                                                      .write_part = write_part,
                                                      .abandon_answer = abandon_answer,
                                                      .expire = time_out_request,
                                                      .cut = cut_request,
                                                      .close_gracefully = close_gracefully,
                                                      .write_probe = write_probe,
                                                      .write_ended_reply = write_ended_reply,
                                                      .write_last_reply = write_last_reply,
                                                      .write_refusal = write_refusal};
  *http = (struct http_protocol){.protocol = protocol, .site = *site, .websocket = websocket, .shm = shm};
}
