#include "net/connection/connection.h"
#include "net/connection/connection_table.h"
#include "net/http/http_heads.h"
#include "net/http/http_query.h"

void http_begin(struct connection *connection)
{
  connection->protocol = PROTOCOL_HTTP;
  connection->http_stage = HTTP_STAGE_HEAD;
  connection->scanned = 0;
  connection->has_peer_id = false;
  connection->is_get = false;
  connection->refuses_json = false;
  http_parser_init(&connection->parser);
}

/* The request is answered: what follows is the next, or nothing. */
static enum step end_request(struct connection *connection)
{
  connection->began_ms = 0;
  buffer_clear(&connection->message);
  http_begin(connection);
  return connection->manner.keeps_alive ? STEP_SERVED : STEP_ENDS;
}

static enum step answer_and_close(struct connection *connection, int status, const char *reason)
{
  struct http_answer answer = {.status = status, .reason = reason};
  connection->manner.keeps_alive = false;
  http_write_answer(&connection->out, connection->manner, &answer);
  return STEP_ENDS;
}

void http_expire(struct connection *connection)
{
  bool has_begun = connection->in.len > connection->in_used || connection->http_stage == HTTP_STAGE_BODY;
  if (has_begun)
    answer_and_close(connection, 408, "the request took too long");
}

/* With the head that a GET would get, and its body where it is one. */
static void write_reply(struct connection *connection, int status, struct text reply, const struct uuid *kept)
{
  http_write_reply_head(&connection->out, connection->manner, status, reply.len, kept);
  if (!connection->manner.is_head)
    buffer_append_text(&connection->out, reply);
}

void http_cut(struct connection *connection, const char *reason, struct buffer *answer)
{
  if (connection->http_stage == HTTP_STAGE_HEAD) {
    answer_and_close(connection, 503, reason);
    return;
  }
  const struct rpc_service *service = crew_service(connection->table->crew);
  buffer_clear(answer);
  service->reject(service->context, RPC_OVERLOADED, TEXT_ABSENT, reason, answer);
  connection->manner.keeps_alive = false;
  write_reply(connection, 503, buffer_text(answer), NULL);
}

static enum step upgrade(struct connection *connection, struct text key)
{
  struct jp_error error = {0};
  enum jp_status status = connection_open_client(connection, NULL, OP_CHANNEL_WEBSOCKET, &error);
  if (status != JP_OK)
    return answer_and_close(connection, status == JP_INVALID ? 400 : 503, error.text);
  http_write_upgrade(&connection->out, key);
  websocket_begin(connection);
  return STEP_AGAIN;
}

/* The message that the target stands for. */
static enum step begin_call(struct connection *connection, const struct http_wish *wish)
{
  buffer_clear(&connection->message);
  const char *fault = http_query_to_call(wish->procedure, wish->query, &connection->message);
  if (connection->message.failed)
    return STEP_DROPS;
  if (fault != NULL) {
    struct http_answer answer = {.status = 400, .reason = fault};
    http_write_answer(&connection->out, connection->manner, &answer);
    return end_request(connection);
  }
  connection->is_get = true;
  connection->has_message = true;
  connection->http_stage = HTTP_STAGE_BODY;
  connection->began_ms = 0;
  return STEP_AGAIN;
}

static enum step send_document(struct connection *connection)
{
  const struct rpc_service *service = crew_service(connection->table->crew);
  if (service->document == NULL) {
    struct http_answer answer = {.status = 404, .reason = "there is nothing at this path"};
    http_write_answer(&connection->out, connection->manner, &answer);
    return end_request(connection);
  }
  struct text document = service->document(service->context);
  write_reply(connection, 200, document, NULL);
  return end_request(connection);
}

static enum step send_help(struct connection *connection)
{
  const struct rpc_service *service = crew_service(connection->table->crew);
  struct buffer words;
  buffer_init(&words);
  if (service->write_help != NULL)
    service->write_help(service->context, &words);
  http_write_text(&connection->out, connection->manner, buffer_text(&words));
  buffer_fini(&words);
  return end_request(connection);
}

static enum step act(struct connection *connection, const struct http_request *request,
                     const struct http_wish *wish, size_t head_length)
{
  bool has_body = http_has_body(request);
  switch (wish->action) {
  case HTTP_UPGRADE:
    connection->in_used += head_length;
    return upgrade(connection, request->fields[HTTP_FIELD_WS_KEY]);
  case HTTP_HELP:
    connection->in_used += head_length;
    return send_help(connection);
  case HTTP_DOCUMENT:
    connection->in_used += head_length;
    return send_document(connection);
  case HTTP_CALL:
    connection->in_used += head_length;
    return begin_call(connection, wish);
  case HTTP_ANSWER:
    connection->in_used += head_length;
    if (has_body)
      connection->manner.keeps_alive = false;
    http_write_answer(&connection->out, connection->manner, &wish->answer);
    return end_request(connection);
  default:
    break;
  }
  connection->in_used += head_length;
  connection->has_message = !has_body;
  connection->http_stage = HTTP_STAGE_BODY;
  connection->began_ms = 0;
  if (wish->continues && has_body && connection_input(connection).len == 0)
    BUFFER_LITERAL(&connection->out, "HTTP/1.1 100 Continue\r\n\r\n");
  return STEP_AGAIN;
}

/* True where the input begins with a head that came before: then all is done that reading it would do. */
static bool recognize_head(struct connection *connection, struct http_heads *heads)
{
  const struct connection_limits *limits = &connection->table->limits;
  size_t used;
  size_t length;
  const struct http_terms *terms =
      heads == NULL ? NULL
                    : http_heads_find(heads, connection_input(connection), limits->header_max,
                                      limits->message_max, &used, &length);
  if (terms == NULL)
    return false;
  connection->manner = terms->manner;
  connection->refuses_json = terms->refuses_json;
  connection->has_peer_id = terms->has_peer_id;
  connection->peer_id = terms->peer_id;
  connection->in_used += used;
  http_expect_body(&connection->parser, length);
  connection->http_stage = HTTP_STAGE_BODY;
  connection->began_ms = 0;
  return true;
}

static void remember_head(struct scratch *scratch, struct text head, const struct http_request *request,
                          const struct http_wish *wish)
{
  if (scratch->heads == NULL)
    scratch->heads = http_heads_create();
  if (scratch->heads != NULL)
    http_heads_keep(scratch->heads, head, request, wish);
}

/* A head that cannot be read may still say that no body is wanted. */
static bool begins_with_head(const struct connection *connection)
{
  return text_starts_with(connection_input(connection), TEXT("HEAD "));
}

static enum step read_head(struct connection *connection, struct scratch *scratch)
{
  struct connection_table *table = connection->table;
  if (recognize_head(connection, scratch->heads))
    return STEP_AGAIN;
  struct http_request request;
  size_t used;
  connection->manner = (struct http_manner){.is_1_1 = true, .is_head = begins_with_head(connection)};
  switch (http_read_head(&connection->parser, connection_input(connection), table->limits.header_max,
                         &connection->scanned, &used, &request)) {
  case HTTP_NEEDS_INPUT:
    return STEP_NEEDS_INPUT;
  case HTTP_FAILED:
    return answer_and_close(connection, connection->parser.status, connection->parser.reason);
  case HTTP_DONE:
    break;
  }
  connection->manner = (struct http_manner){
      .is_1_1 = request.is_1_1, .is_head = request.method == HTTP_HEAD, .keeps_alive = request.keep_alive};
  struct http_wish wish;
  http_judge(&request, &table->site, table->limits.message_max, &wish);
  connection->manner.origin = wish.origin;
  connection->has_peer_id = wish.has_peer_id;
  connection->peer_id = wish.peer_id;
  connection->refuses_json = wish.refuses_json;
  remember_head(scratch, text_slice(connection_input(connection), 0, used), &request, &wish);
  return act(connection, &request, &wish, used);
}

static enum step read_body(struct connection *connection)
{
  struct text input = connection_input(connection);
  if (input.len == 0)
    return STEP_NEEDS_INPUT;
  size_t used;
  enum http_progress progress = http_read_body(
      &connection->parser, input, connection->table->limits.message_max, &used, &connection->message);
  connection->in_used += used;
  switch (progress) {
  case HTTP_NEEDS_INPUT:
    return STEP_NEEDS_INPUT;
  case HTTP_FAILED:
    return answer_and_close(connection, connection->parser.status, connection->parser.reason);
  default:
    connection->has_message = true;
    return STEP_AGAIN;
  }
}

/* JSON-RPC 1.1, 7.1; JSON-RPC 2.0 errors are answers like any other. */
static int status_of(enum crew_served served)
{
  return served == CREW_FAILED ? 500 : served == CREW_NOT_SAFE ? 405 : 200;
}

void http_write_reply(struct connection *connection, enum crew_served served, struct text reply,
                      const struct uuid *kept)
{
  write_reply(connection, status_of(served), reply, kept);
}

void http_write_part(struct connection *connection, struct text part, bool is_last)
{
  bool chunked = connection->manner.is_1_1;
  if (chunked && part.len > 0)
    buffer_printf(&connection->out, "%zx\r\n", part.len);
  buffer_append_text(&connection->out, part);
  if (chunked && part.len > 0)
    BUFFER_LITERAL(&connection->out, "\r\n");
  if (chunked && is_last)
    BUFFER_LITERAL(&connection->out, "0\r\n\r\n");
}

static enum step refuse_message(struct connection *connection, struct buffer *answer, const char *reason)
{
  const struct rpc_service *service = crew_service(connection->table->crew);
  connection->has_message = false;
  buffer_clear(answer);
  enum rpc_served served =
      service->refuse(service->context, buffer_text(&connection->message), reason, answer);
  if (served != RPC_NO_REPLY)
    http_write_reply(connection, crew_served_as(served), buffer_text(answer), NULL);
  else
    http_write_no_content(&connection->out, connection->manner, NULL);
  return end_request(connection);
}

static enum step begin_stream(struct connection *connection, const struct buffer *head,
                              const struct rpc_stream *stream, const struct uuid *kept)
{
  http_write_stream_head(&connection->out, connection->manner, kept);
  if (connection->manner.is_head) {
    stream->body.close(stream->body.state);
    return end_request(connection);
  }
  http_write_part(connection, buffer_text(head), false);
  if (!connection_begin_stream(connection, stream))
    return STEP_DROPS;
  end_request(connection);
  return STEP_AGAIN;
}

static bool is_1_1(const struct connection *connection)
{
  const struct rpc_service *service = crew_service(connection->table->crew);
  return service->is_1_1 != NULL && service->is_1_1(service->context, buffer_text(&connection->message));
}

/* Only now is it known that the client speaks JSON-RPC 1.1 and means its Accept (6.1). */
static enum step refuse_to_answer(struct connection *connection)
{
  struct http_answer answer = {.status = 406, .reason = "answers are application/json"};
  connection->has_message = false;
  http_write_answer(&connection->out, connection->manner, &answer);
  return end_request(connection);
}

static enum step serve_message(struct connection *connection, struct crew_member *member)
{
  struct buffer *answer = &member->scratch.buffers[SCRATCH_ANSWER];
  struct jp_error error = {0};
  if (connection->refuses_json && is_1_1(connection))
    return refuse_to_answer(connection);
  if (connection_open_client(connection, member->worker, OP_CHANNEL_HTTP, &error) != JP_OK)
    return refuse_message(connection, answer, error.text);

  enum crew_served served;
  struct rpc_stream stream = {0};
  if (!connection_serve(connection, member, answer, &served, &stream))
    return STEP_ENDS;
  if (served == CREW_WAIT)
    return STEP_WAITS;
  struct uuid uuid;
  const struct uuid *kept = connection_close_client(connection, member, &uuid) ? &uuid : NULL;
  switch (served) {
  case CREW_STREAM:
    return begin_stream(connection, answer, &stream, kept);
  case CREW_REPLY:
  case CREW_FAILED:
  case CREW_NOT_SAFE:
    http_write_reply(connection, served, buffer_text(answer), kept);
    break;
  default:
    http_write_no_content(&connection->out, connection->manner, kept);
    break;
  }
  return end_request(connection);
}

enum step http_step(struct connection *connection, struct crew_member *member)
{
  if (connection->has_message)
    return serve_message(connection, member);
  if (connection->http_stage == HTTP_STAGE_BODY)
    return read_body(connection);
  if (connection_input(connection).len == 0)
    return STEP_NEEDS_INPUT;
  return read_head(connection, &member->scratch);
}
