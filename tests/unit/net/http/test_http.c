/* What HTTP makes of a connection's bytes, step by step: over a socket pair, with the stub service behind it.
 * */
#include "net/http/http.h"
#include "tests/unit/await.h"

#include "base/clock.h"
#include "net/connection/connection_table.h"
#include "net/websocket/websocket.h"
#include "stub_service.h"
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

enum { MESSAGE_MAX = 1024 * 1024, INPUT_MAX = 64 * 1024, TICK_MS = 5, RECEIVE_SECONDS = 60, SHORT_MS = 3000 };

#define PEER_ID "11111111-2222-3333-4444-555555555555"
#define KEPT_ID "abababab-abab-abab-abab-abababababab"

struct fixture {
  struct stub stub; /* first: the service's context */
  struct rpc_service service;
  struct rpc_service stub_service;
  struct crew *crew;
  struct input_budget input;
  struct http_protocol http;
  struct connection_table table;
  bool refuses_clients;
  bool keeps_sessions;
  bool breaks_streams;
  _Atomic int parts;                  /* asked for, of streams, each of which has one */
  _Atomic int streams;                /* open */
  char peer_id[UUID_TEXT_LENGTH + 1]; /* of the last client */
  bool only_safe;                     /* likewise */
  int fd;                             /* the client's end */
};

/* --- the service, with what the stub leaves out --- */

static enum jp_status read_stream(void *state, struct buffer *out, size_t max)
{
  (void)max;
  struct fixture *f = state;
  if (atomic_fetch_add(&f->parts, 1) % 2 == 1)
    return f->breaks_streams ? JP_IO : JP_CLOSED;
  buffer_append_text(out, TEXT("middle"));
  return JP_OK;
}

static void close_stream(void *state)
{
  struct fixture *f = state;
  atomic_fetch_sub(&f->streams, 1);
}

/* "fail", "unsafe" and "stream" are what they say; the stub serves all else. */
static enum rpc_served serve(void *context, struct rpc_worker *worker, struct rpc_client *client,
                             struct text message, struct buffer *out, size_t reply_max,
                             struct rpc_stream *stream)
{
  struct fixture *f = context;
  if (text_equal(message, TEXT("stream"))) {
    atomic_fetch_add(&f->streams, 1);
    buffer_append_text(out, TEXT("<"));
    *stream = (struct rpc_stream){.body = {f, read_stream, close_stream}, .tail = TEXT(">")};
    return RPC_STREAM;
  }
  enum rpc_served served =
      stub_codecs[RPC_CODEC_JSONRPC]->serve(context, worker, client, message, out, reply_max, stream);
  return text_equal(message, TEXT("fail"))     ? RPC_FAILED
         : text_equal(message, TEXT("unsafe")) ? RPC_NOT_SAFE
                                               : served;
}

static enum rpc_served refuse(void *context, struct text message, const char *reason, struct buffer *out)
{
  return stub_codecs[RPC_CODEC_JSONRPC]->refuse(context, message, reason, out);
}

static void reject(void *context, enum rpc_rejection rejection, struct text beginning, const char *reason,
                   struct buffer *out)
{
  stub_codecs[RPC_CODEC_JSONRPC]->reject(context, rejection, beginning, reason, out);
}

static bool obeys_accept(struct text message)
{
  return text_equal(message, TEXT("strict"));
}

static struct text document(void *context)
{
  (void)context;
  return TEXT("{}");
}

static const struct rpc_http_facts FACTS = {.obeys_accept = obeys_accept, .document = document};
static const struct rpc_codec CODEC = {
    .name = "test", .serve = serve, .refuse = refuse, .reject = reject, .http = &FACTS};
static const struct rpc_codec *const CODECS[RPC_CODECS] = {[RPC_CODEC_JSONRPC] = &CODEC};

static enum jp_status open_client(void *context, const struct rpc_client_info *info,
                                  struct rpc_client **client, struct jp_error *error)
{
  struct fixture *f = context;
  snprintf(f->peer_id, sizeof f->peer_id, "%.*s", TEXT_ARGS(info->peer_id));
  f->only_safe = info->only_safe;
  if (f->refuses_clients)
    return jp_fail(error, JP_LIMIT, "no more clients");
  return f->stub_service.client_open(context, info, client, error);
}

static void close_client(void *context, struct rpc_worker *worker, struct rpc_client *client,
                         struct rpc_told_session *told)
{
  struct fixture *f = context;
  f->stub_service.client_close(context, worker, client, told);
  if (told == NULL)
    return;
  *told = (struct rpc_told_session){.is_new = f->keeps_sessions};
  memset(told->peer_id.bytes, 0xab, sizeof told->peer_id.bytes);
}

/* --- the fixture --- */

static int64_t tick(void *context, struct crew_member *watcher, int64_t now_ms)
{
  struct fixture *f = context;
  (void)connection_table_tick(&f->table, watcher, now_ms);
  return now_ms + TICK_MS;
}

static void connect_client(struct fixture *f)
{
  int ends[2];
  const struct timeval timeout = {.tv_sec = RECEIVE_SECONDS};
  const struct rpc_address address = {0};
  assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
  setsockopt(ends[0], SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof timeout);
  f->fd = ends[0];
  connection_table_accept(&f->table, ends[1], &f->http.protocol, &address);
}

static int open_with_timeout(void **state, int64_t timeout_ms)
{
  struct fixture *f = calloc(1, sizeof *f);
  struct jp_error error;
  f->fd = -1;
  f->input.max = INPUT_MAX;
  stub_open(&f->stub, 100, &f->stub_service);
  f->service = f->stub_service;
  f->service.codecs = CODECS;
  f->service.client_open = open_client;
  f->service.client_close = close_client;
  const struct http_site site = {.is_loopback = true, .prefix = TEXT("/rpc")};
  http_protocol_init(&f->http, &site, &websocket_protocol, NULL);
  const struct connection_limits limits = {.message_max = MESSAGE_MAX,
                                           .send_buffer_max = MESSAGE_MAX,
                                           .header_max = 4096,
                                           .connections_max = 2,
                                           .header_timeout_ms = timeout_ms,
                                           .body_timeout_ms = timeout_ms,
                                           .idle_timeout_ms = timeout_ms};
  const struct crew_config crew = {.threads = 2,
                                   .threads_max = 4,
                                   .linger_ms = 1000,
                                   .busy_timeout_ms = 60000,
                                   .tick = tick,
                                   .context = f,
                                   .tick_ms = TICK_MS};
  assert_int_equal(crew_create(&crew, &f->crew, &error), JP_OK);
  assert_int_equal(connection_table_init(&f->table, f->crew, &limits, &f->input, &error), JP_OK);
  assert_int_equal(crew_start(f->crew, &f->service, &error), JP_OK);
  connect_client(f);
  *state = f;
  return 0;
}

static int open_fixture(void **state)
{
  return open_with_timeout(state, 60000);
}

static int open_impatient_fixture(void **state)
{
  return open_with_timeout(state, SHORT_MS);
}

/* The crew has to close what was seized when its thread comes back: one that has stopped leaves it. */
static void await_clients(struct fixture *f)
{
  enum { CLOSE_MS = 60000 };
  int64_t deadline_ms = clock_now_ms() + CLOSE_MS;
  while (atomic_load(&f->stub.clients) > 0 && clock_now_ms() < deadline_ms)
    usleep(1000);
  assert_int_equal(atomic_load(&f->stub.clients), 0);
}

static int close_fixture(void **state)
{
  struct fixture *f = *state;
  if (f->fd >= 0)
    close(f->fd);
  stub_let_go(&f->stub);
  crew_refuse_all(f->crew);
  connection_table_drain(&f->table, 0);
  AWAIT(connection_table_is_drained(&f->table));
  await_clients(f);
  assert_true(crew_stop(f->crew, clock_now_ms() + 60000));
  connection_table_fini(&f->table);
  crew_destroy(f->crew);
  stub_close(&f->stub);
  assert_int_equal(atomic_load(&f->streams), 0);
  free(f);
  return 0;
}

static void send_text(struct fixture *f, const char *text)
{
  assert_int_equal(send(f->fd, text, strlen(text), MSG_NOSIGNAL), (ssize_t)strlen(text));
}

/* These bytes come next. */
static void expect_bytes(struct fixture *f, const char *wanted)
{
  char got[1024] = {0};
  size_t length = strlen(wanted);
  assert_true(length < sizeof got);
  for (size_t count = 0; count < length;) {
    ssize_t received = recv(f->fd, got + count, length - count, 0);
    if (received <= 0)
      fail_msg("after \"%s\" comes no more of \"%s\"", got, wanted);
    count += (size_t)received;
  }
  assert_string_equal(got, wanted);
}

static void expect_end(struct fixture *f)
{
  char byte;
  assert_int_equal(recv(f->fd, &byte, 1, 0), 0);
}

#define HOST          "Host: localhost\r\n"
#define POST_HEAD     "POST /rpc HTTP/1.1\r\n" HOST "Content-Type: application/json\r\n"
#define POST(length)  POST_HEAD "Content-Length: " #length "\r\n\r\n"
#define STATUS(line)  "HTTP/1.1 " line "\r\nCache-Control: no-store\r\n"
#define OK            STATUS("200 OK")
#define JSON(length)  "Content-Type: application/json\r\nContent-Length: " #length "\r\n\r\n"
#define WORDS(length) "Content-Type: text/plain; charset=utf-8\r\nContent-Length: " #length "\r\n\r\n"
#define CLOSES        "Connection: close\r\n"

/* --- requests that are served --- */

static void requests_are_answered_one_after_the_other(void **state)
{
  struct fixture *f = *state;
  send_text(f, POST(3) "one" POST(4) "note" POST(5));
  expect_bytes(f, OK JSON(3) "one" STATUS("204 No Content") "\r\n");
  send_text(f, "th");
  send_text(f, "ree" POST_HEAD "Transfer-Encoding: chunked\r\n\r\n4\r\nfour\r\n0\r\n\r\n");
  expect_bytes(f, OK JSON(5) "three" OK JSON(4) "four");
  send_text(f, "POST /rpc HTTP/1.0\r\nContent-Type: application/json\r\nContent-Length: 4\r\n\r\nlast");
  expect_bytes(f, OK CLOSES JSON(4) "last");
  expect_end(f);
}

static void a_head_may_come_in_pieces(void **state)
{
  struct fixture *f = *state;
  for (const char *byte = POST(3) "one"; *byte != '\0'; byte++)
    send_text(f, (char[]){*byte, '\0'});
  expect_bytes(f, OK JSON(3) "one");
}

static void errors_have_the_status_of_1_1(void **state)
{
  struct fixture *f = *state;
  send_text(f, POST(4) "fail" POST(6) "unsafe");
  expect_bytes(f, STATUS("500 Internal Server Error") JSON(4) "fail");
  expect_bytes(f, STATUS("405 Method Not Allowed") "Allow: POST\r\n" JSON(6) "unsafe");
}

static void a_client_is_told_to_go_on(void **state)
{
  struct fixture *f = *state;
  send_text(f, POST_HEAD "Expect: 100-continue\r\nContent-Length: 3\r\n\r\n");
  expect_bytes(f, "HTTP/1.1 100 Continue\r\n\r\n");
  send_text(f, "one");
  expect_bytes(f, OK JSON(3) "one");
}

static void sessions_are_named_both_ways(void **state)
{
  struct fixture *f = *state;
  f->keeps_sessions = true;
  send_text(f, POST_HEAD "peer-id: " PEER_ID "\r\nContent-Length: 3\r\n\r\none");
  expect_bytes(f, OK "peer-id: " KEPT_ID "\r\n" JSON(3) "one");
  assert_string_equal(f->peer_id, PEER_ID);
  send_text(f, POST(3) "two");
  expect_bytes(f, OK "peer-id: " KEPT_ID "\r\n" JSON(3) "two");
  assert_string_equal(f->peer_id, "");
}

static void a_get_becomes_a_call(void **state)
{
  struct fixture *f = *state;
  send_text(f, "GET /rpc/get HTTP/1.1\r\n" HOST "\r\n");
  expect_bytes(f, OK JSON(32) "{\"version\":\"1.1\",\"method\":\"get\"}");
  assert_true(f->only_safe);
  send_text(f, "HEAD /rpc/get HTTP/1.1\r\n" HOST "\r\n" POST(3) "one");
  expect_bytes(f, OK JSON(32) OK JSON(3) "one");
  assert_false(f->only_safe);
  send_text(f, "GET /rpc/get?%% HTTP/1.1\r\n" HOST "\r\n");
  expect_bytes(f, STATUS("400 Bad Request") WORDS(32) "a percent sign begins no escape\n");
}

static void descriptions_are_sent(void **state)
{
  struct fixture *f = *state;
  send_text(f, "GET /openrpc.json HTTP/1.1\r\n" HOST "\r\n");
  expect_bytes(f, OK JSON(2) "{}");
  send_text(f, "GET /help HTTP/1.1\r\n" HOST "\r\n");
  expect_bytes(f, OK WORDS(0));
}

static void accept_binds_those_who_mean_it(void **state)
{
  struct fixture *f = *state;
  send_text(f, POST_HEAD "Accept: text/html\r\nContent-Length: 6\r\n\r\nstrict");
  expect_bytes(f, STATUS("406 Not Acceptable") WORDS(29) "answers are application/json\n");
  send_text(f, POST_HEAD "Accept: text/html\r\nContent-Length: 3\r\n\r\none");
  expect_bytes(f, OK JSON(3) "one");
}

/* --- answers that are made while they are sent --- */

static void streams_come_in_chunks(void **state)
{
  struct fixture *f = *state;
  send_text(f, POST(6) "stream" POST(3) "one");
  expect_bytes(f, OK "Transfer-Encoding: chunked\r\nContent-Type: application/json\r\n\r\n"
                     "1\r\n<\r\n6\r\nmiddle\r\n1\r\n>\r\n0\r\n\r\n" OK JSON(3) "one");
}

static void old_clients_get_streams_to_the_end_of_the_connection(void **state)
{
  struct fixture *f = *state;
  send_text(f, "POST /rpc HTTP/1.0\r\nContent-Type: application/json\r\nContent-Length: 6\r\n\r\nstream");
  expect_bytes(f, OK CLOSES "Content-Type: application/json\r\n\r\n<middle>");
  expect_end(f);
}

static void a_stream_that_breaks_has_no_last_chunk(void **state)
{
  struct fixture *f = *state;
  f->breaks_streams = true;
  send_text(f, POST(6) "stream");
  expect_bytes(f, OK "Transfer-Encoding: chunked\r\nContent-Type: application/json\r\n\r\n"
                     "1\r\n<\r\n6\r\nmiddle\r\n");
  expect_end(f);
}

/* --- requests that are not served --- */

static void what_cannot_be_read_ends_the_connection(void **state)
{
  struct fixture *f = *state;
  send_text(f, "GET  / HTTP/1.1\r\n\r\n" POST(3) "one");
  expect_bytes(f, STATUS("400 Bad Request") CLOSES WORDS(40) "a request line is METHOD TARGET VERSION\n");
  expect_end(f);
}

static void a_refused_body_is_not_read(void **state)
{
  struct fixture *f = *state;
  send_text(f, "PUT /rpc HTTP/1.1\r\n" HOST "\r\n");
  expect_bytes(f, STATUS("405 Method Not Allowed") "Allow: POST, OPTIONS\r\n" WORDS(
                      44) "JSON-RPC comes by POST, or over a WebSocket\n");
  send_text(f, "PUT /rpc HTTP/1.1\r\n" HOST "Content-Length: 3\r\n\r\nput" POST(3) "one");
  expect_bytes(f, STATUS("405 Method Not Allowed") CLOSES
               "Allow: POST, OPTIONS\r\n" WORDS(44) "JSON-RPC comes by POST, or over a WebSocket\n");
  expect_end(f);
}

static void a_client_that_is_refused_gets_an_answer(void **state)
{
  struct fixture *f = *state;
  f->refuses_clients = true;
  send_text(f, POST(3) "one");
  expect_bytes(f, OK JSON(15) "no more clients");
}

static void one_connection_too_many_is_turned_away(void **state)
{
  struct fixture *f = *state;
  int first = f->fd;
  connect_client(f);
  int second = f->fd;
  connect_client(f);
  expect_bytes(f,
               STATUS("503 Service Unavailable") CLOSES WORDS(39) "too many connections (connections-max)\n");
  expect_end(f);
  close(first);
  close(second);
}

/* --- what the watcher does --- */

static void a_request_that_takes_too_long_gets_408(void **state)
{
  struct fixture *f = *state;
  send_text(f, POST(3) "o");
  expect_bytes(f, STATUS("408 Request Timeout") CLOSES WORDS(26) "the request took too long\n");
  expect_end(f);
  close(f->fd);
  connect_client(f);
  expect_end(f); /* nothing has begun: nothing is said */
}

static void the_largest_message_is_cut_at_the_bound(void **state)
{
  struct fixture *f = *state;
  static char body[INPUT_MAX + 1];
  memset(body, 'x', INPUT_MAX);
  send_text(f, POST(100000));
  send_text(f, body);
  expect_bytes(f, STATUS("503 Service Unavailable") CLOSES JSON(
                      74) "overloaded: too much input is under way (input-max-total): try again later");
}

static void a_running_call_is_answered_at_the_end(void **state)
{
  struct fixture *f = *state;
  send_text(f, POST(5) "block");
  stub_wait_inside(&f->stub, 1);
  crew_refuse_all(f->crew);
  connection_table_drain(&f->table, 0);
  expect_bytes(f, OK CLOSES JSON(25) CREW_SHUTTING_DOWN);
  expect_end(f);
  close(f->fd);
  f->fd = -1;
  stub_let_go(&f->stub);
  AWAIT(atomic_load(&f->stub.clients) == 0);
}

static void an_idle_connection_just_ends(void **state)
{
  struct fixture *f = *state;
  send_text(f, POST(3) "one");
  expect_bytes(f, OK JSON(3) "one");
  crew_refuse_all(f->crew);
  connection_table_drain(&f->table, INT64_MAX);
  expect_end(f);
}

/* --- another protocol --- */

static void a_handshake_changes_the_protocol(void **state)
{
  struct fixture *f = *state;
  send_text(f, "GET /rpc HTTP/1.1\r\n" HOST "Upgrade: websocket\r\nConnection: Upgrade\r\n"
               "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n");
  expect_bytes(f, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                  "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n");
  send_text(f, "\x81\x82"
               "aaaa"
               "\x09\x08"); /* "hi", masked */
  expect_bytes(f, "\x81\x02hi");
}

int main(void)
{
#define CASE(test) cmocka_unit_test_setup_teardown(test, open_fixture, close_fixture)
  const struct CMUnitTest tests[] = {
      CASE(requests_are_answered_one_after_the_other),
      CASE(a_head_may_come_in_pieces),
      CASE(errors_have_the_status_of_1_1),
      CASE(a_client_is_told_to_go_on),
      CASE(sessions_are_named_both_ways),
      CASE(a_get_becomes_a_call),
      CASE(descriptions_are_sent),
      CASE(accept_binds_those_who_mean_it),
      CASE(streams_come_in_chunks),
      CASE(old_clients_get_streams_to_the_end_of_the_connection),
      CASE(a_stream_that_breaks_has_no_last_chunk),
      CASE(what_cannot_be_read_ends_the_connection),
      CASE(a_refused_body_is_not_read),
      CASE(a_client_that_is_refused_gets_an_answer),
      CASE(one_connection_too_many_is_turned_away),
      cmocka_unit_test_setup_teardown(a_request_that_takes_too_long_gets_408, open_impatient_fixture,
                                      close_fixture),
      CASE(the_largest_message_is_cut_at_the_bound),
      CASE(a_running_call_is_answered_at_the_end),
      CASE(an_idle_connection_just_ends),
      CASE(a_handshake_changes_the_protocol),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
