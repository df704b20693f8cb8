/* Messages in, answers out: the peer's whole service over a stub of jni. */
#include "rpc/jsonrpc/codec_state.h"
#include "service_bench.h"
#include "tests/unit/unit.h"

#include <stdio.h>

static char long_text[5000];

static struct stub_member members[] = {
    STUB_MEMBER_ADD,
    STUB_MEMBER_CONSTRUCTOR,
    {.type = "C",
     .member = "long",
     .kind = JVM_STATIC_METHOD,
     .modifiers = JVM_ACC_PUBLIC,
     .outcome = {.kind = OUTCOME_VALUE,
                 .type = TEXT("java.lang.String"),
                 .has_value = true,
                 .value = {.kind = OP_TEXT, .text = {long_text, sizeof long_text}}}},
};

static int set_up_with(void **state, bool compat_pal)
{
  memset(long_text, 'x', sizeof long_text);
  *state = service_bench_create(&(struct service_bench_options){.members = members,
                                                                .member_count = COUNT_OF(members),
                                                                .sessions_per_address = 5,
                                                                .compat_pal = compat_pal});
  return 0;
}

static int set_up(void **state)
{
  return set_up_with(state, false);
}

static int set_up_compat(void **state)
{
  return set_up_with(state, true);
}

static int tear_down(void **state)
{
  return service_bench_destroy(*state) ? 0 : 1;
}

static struct rpc_client *open_client(struct service_bench *bench, enum op_channel channel,
                                      const char *peer_id)
{
  return bench_open(bench,
                    &(struct rpc_client_info){.channel = channel,
                                              .peer_id = peer_id == NULL ? TEXT_ABSENT : text_of(peer_id)});
}

static struct rpc_client *open_routed(struct service_bench *bench, const char *routing_id)
{
  return bench_open(bench,
                    &(struct rpc_client_info){.channel = OP_CHANNEL_ZMQ, .routing_id = text_of(routing_id)});
}

static enum rpc_served serve(struct service_bench *bench, struct rpc_client *client, const char *message,
                             size_t reply_max)
{
  return bench_serve(bench, client, text_of(message), reply_max);
}

#define DATA(message)                                                                                        \
  "\"data\":{\"message\":\"" message "\",\"request_id\":1,\"stack_trace\":[],\"cause\":null}"
#define NO_OBJECT(ref)                                                                                       \
  "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32000,\"message\":\"Server error\"," DATA(             \
      "No such object: " ref) "}}"

static void test_what_is_no_request(void **state)
{
  struct service_bench *bench = *state;
  struct rpc_client *client = open_client(bench, OP_CHANNEL_WEBSOCKET, NULL);
  check_answer(
      bench, client, "{\"x\":42}",
      "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32600,\"message\":\"Invalid Request\",\"data\":"
      "{\"message\":\"The member jsonrpc is "
      "missing\",\"request_id\":null,\"stack_trace\":[],\"cause\":null}}}");
  check_part(bench, client, "{\"id\":", "\"id\":null,\"error\":{\"code\":-32700,\"message\":\"Parse error\"");
  check_answer(
      bench, client, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"new\"}",
      "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32602,\"message\":\"Invalid params\"," DATA(
          "Params are missing") "}}");
  bench_close(bench, client, NULL);
}

static void test_calls_batches_and_notifications(void **state)
{
  struct service_bench *bench = *state;
  struct rpc_client *client = open_client(bench, OP_CHANNEL_WEBSOCKET, NULL);
  static const char sum[] =
      "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"void\":false,\"value\":{\"type\":\"int\","
      "\"null\":false,\"value\":\"8\"}}}";
  check_answer(bench, client, ADD, sum);
  struct buffer batch;
  buffer_init(&batch);
  buffer_printf(&batch, "[%s,%s]", ADD, CONTROL("ping", ""));
  buffer_append_char(&batch, '\0');
  struct buffer wanted;
  buffer_init(&wanted);
  buffer_printf(&wanted, "[%s,%s]", sum, VOID_ANSWER);
  buffer_append_char(&wanted, '\0');
  check_answer(bench, client, batch.data, wanted.data);
  assert_int_equal(
      serve(bench, client,
            "{\"jsonrpc\":\"2.0\",\"method\":\"call\",\"params\":{\"type\":\"C\",\"method\":\"add\"}}", 0),
      RPC_NO_REPLY);
  assert_int_equal(bench->out.len, 0);
  assert_int_equal(stub.invoked, 3);
  buffer_fini(&batch);
  buffer_fini(&wanted);
  bench_close(bench, client, NULL);
}

static void test_control(void **state)
{
  struct service_bench *bench = *state;
  struct rpc_client *client = open_client(bench, OP_CHANNEL_WEBSOCKET, NULL);
  check_answer(bench, client, CONTROL("delete_object", "{\"ref\":1}"), NO_OBJECT("1"));
  check_answer(bench, client, CONTROL("delete_session", ""), VOID_ANSWER);
  check_answer(bench, client, MAKE, MADE("1"));
  check_answer(bench, client, MAKE, MADE("2"));
  check_answer(bench, client, MAKE, MADE("3"));
  check_answer(bench, client, CONTROL("delete_object", "{\"ref\":1},{\"ref\":9},{\"ref\":2}"),
               NO_OBJECT("9"));
  check_answer(bench, client, CONTROL("delete_object", "{\"ref\":1}"), NO_OBJECT("1"));
  check_answer(bench, client, CONTROL("delete_object", "{\"ref\":2}"), VOID_ANSWER);
  check_answer(bench, client, CONTROL("delete_session", ""), VOID_ANSWER);
  check_answer(bench, client, CONTROL("delete_object", "{\"ref\":3}"), NO_OBJECT("3"));
  check_answer(bench, client, CONTROL("GC", ""), VOID_ANSWER);
  assert_int_equal(stub.collected, 1);
  bench_close(bench, client, NULL);
}

static void test_sessions_belong_to_connections_and_peer_ids(void **state)
{
  struct service_bench *bench = *state;
  static const char peer_id[] = "11111111-2222-3333-4444-555555555555";
  struct rpc_client *one = open_client(bench, OP_CHANNEL_WEBSOCKET, NULL);
  struct rpc_client *two = open_client(bench, OP_CHANNEL_WEBSOCKET, NULL);
  check_answer(bench, one, MAKE, MADE("1"));
  check_answer(bench, two, MAKE, MADE("1"));
  check_answer(bench, one, CONTROL("delete_object", "{\"ref\":1}"), VOID_ANSWER);
  check_answer(bench, two, CONTROL("delete_object", "{\"ref\":1}"), VOID_ANSWER);
  bench_close(bench, one, NULL);
  bench_close(bench, two, NULL);
  assert_int_equal(atomic_load(&stub.tables), 0);

  one = open_client(bench, OP_CHANNEL_WEBSOCKET, peer_id);
  two = open_client(bench, OP_CHANNEL_HTTP, "11111111-2222-3333-4444-555555555555");
  check_answer(bench, one, MAKE, MADE("1"));
  bench_close(bench, one, NULL);
  check_answer(bench, two, MAKE, MADE("2"));
  struct uuid kept;
  assert_false(bench_close(bench, two, &kept));
  one = open_client(bench, OP_CHANNEL_WEBSOCKET, peer_id);
  check_answer(bench, one, CONTROL("delete_object", "{\"ref\":1},{\"ref\":2}"), VOID_ANSWER);
  bench_close(bench, one, NULL);
}

/* Two connections of one peer-id: the one that has asked for nothing yet holds the session, too. */
static void test_an_idle_connection_holds_its_session(void **state)
{
  struct service_bench *bench = *state;
  static const char peer_id[] = "11111111-2222-3333-4444-555555555555";
  struct rpc_client *idle = open_client(bench, OP_CHANNEL_WEBSOCKET, peer_id);
  struct rpc_client *busy = open_client(bench, OP_CHANNEL_WEBSOCKET, peer_id);
  check_answer(bench, busy, MAKE, MADE("1"));
  check_answer(bench, busy, CONTROL("delete_session", ""), VOID_ANSWER);
  check_answer(bench, busy, MAKE, MADE("2"));
  check_answer(bench, busy, CONTROL("delete_session", ""), VOID_ANSWER);
  bench_close(bench, busy, NULL);
  /* It has one counter of refs with the other connection, which is gone. */
  check_answer(bench, idle, MAKE, MADE("3"));
  bench_close(bench, idle, NULL);
}

/* A connection with a name takes nobody's place until it makes an object. */
static void test_keyed_connections_count_from_their_first_object(void **state)
{
  struct service_bench *bench = *state;
  struct rpc_client *clients[6];
  char peer_id[] = "00000000-0000-0000-0000-000000000000";
  for (size_t i = 0; i < COUNT_OF(clients); i++) {
    peer_id[0] = (char)('1' + i);
    clients[i] = open_client(bench, OP_CHANNEL_WEBSOCKET, peer_id);
    assert_int_equal(serve(bench, clients[i], ADD, 0), RPC_REPLY);
  }
  for (size_t i = 0; i < 4; i++)
    check_answer(bench, clients[i], MAKE, MADE("1"));
  check_part(bench, clients[4], MAKE, "sessions-max");
  check_answer(bench, clients[0], CONTROL("delete_session", ""), VOID_ANSWER);
  check_answer(bench, clients[4], MAKE, MADE("1"));
  check_answer(bench, clients[1], CONTROL("delete_object", "{\"ref\":1}"), VOID_ANSWER);
  check_answer(bench, clients[0], MAKE, MADE("2"));
  for (size_t i = 0; i < COUNT_OF(clients); i++)
    bench_close(bench, clients[i], NULL);
}

static void test_http_names_a_session_that_holds_objects(void **state)
{
  struct service_bench *bench = *state;
  struct uuid kept;
  char name[UUID_TEXT_LENGTH + 1];
  struct rpc_client *client = open_client(bench, OP_CHANNEL_HTTP, NULL);
  assert_int_equal(serve(bench, client, ADD, 0), RPC_REPLY);
  assert_false(bench_close(bench, client, &kept));
  client = open_client(bench, OP_CHANNEL_HTTP, NULL);
  check_answer(bench, client, MAKE, MADE("1"));
  assert_true(bench_close(bench, client, &kept));
  uuid_format(&kept, name);
  client = open_client(bench, OP_CHANNEL_HTTP, name);
  check_answer(bench, client, CONTROL("delete_object", "{\"ref\":1}"), VOID_ANSWER);
  assert_false(bench_close(bench, client, &kept));
}

#define NOT_MINE(peer_id, method, params)                                                                    \
  "{\"jsonrpc\":\"2.0\",\"id\":1,\"peer-id\":" peer_id ",\"method\":\"" method "\",\"params\":" params "}"

static void test_zeromq_sessions(void **state)
{
  struct service_bench *bench = *state;
  static const char claimed[] =
      "{\"jsonrpc\":\"2.0\",\"id\":1,\"peer-id\":\"11111111-2222-3333-4444-555555555555\",\"method\":\"new\","
      "\"params\":{\"type\":\"C\"}}";
  static const char *const wrong[] = {
      NOT_MINE("\"me\"", "new", "{\"type\":\"C\"}"),
      NOT_MINE("\"me\"", "control", "{\"method\":\"ping\"}"),
      NOT_MINE("\"me\"", "control", "{\"method\":\"gc\"}"),
      NOT_MINE("\"me\"", "control", "{\"method\":\"delete_session\"}"),
      NOT_MINE("\"me\"", "meta", "{\"method\":\"fetch_classes_info\"}"),
      NOT_MINE("\"me\"", "rpc.discover", "{}"),
      NOT_MINE("\"me\"", "bogus", "{}"),
      NOT_MINE("\"\"", "control", "{\"method\":\"ping\"}"),
      NOT_MINE("5", "control", "{\"method\":\"ping\"}"),
      NOT_MINE("null", "control", "{\"method\":\"ping\"}"),
  };
  struct rpc_client *client = open_routed(bench, "a");
  check_answer(bench, client, MAKE, MADE("1"));
  bench_close(bench, client, NULL);
  client = open_routed(bench, "a");
  check_answer(bench, client, MAKE, MADE("2"));
  check_answer(bench, client, claimed, MADE("1"));
  check_answer(bench, client, CONTROL("delete_session", ""), VOID_ANSWER);
  bench_close(bench, client, NULL);
  client = open_routed(bench, "b");
  check_answer(bench, client, claimed, MADE("2"));
  check_answer(bench, client, MAKE, MADE("1"));
  for (size_t i = 0; i < COUNT_OF(wrong); i++)
    check_answer(
        bench, client, wrong[i],
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32600,\"message\":\"Invalid Request\"," DATA(
            "'peer-id' must be a UUID") "}}");
  bench_close(bench, client, NULL);
  /* On a WebSocket the member means nothing. */
  client = open_client(bench, OP_CHANNEL_WEBSOCKET, NULL);
  check_answer(bench, client, claimed, MADE("1"));
  bench_close(bench, client, NULL);
}

static void test_bad_clients_are_refused(void **state)
{
  struct service_bench *bench = *state;
  struct rpc_client_info info = {.channel = OP_CHANNEL_HTTP, .peer_id = TEXT("me")};
  struct rpc_client *client;
  struct jp_error error;
  assert_int_equal(bench->service->client_open(bench->service->context, &info, &client, &error), JP_INVALID);
  info = (struct rpc_client_info){.channel = OP_CHANNEL_ZMQ, .routing_id = TEXT("")};
  assert_int_equal(bench->service->client_open(bench->service->context, &info, &client, &error), JP_INVALID);
}

static void test_limits_are_named(void **state)
{
  struct service_bench *bench = *state;
  struct rpc_client *clients[5];
  for (size_t i = 0; i < COUNT_OF(clients); i++)
    clients[i] = open_client(bench, OP_CHANNEL_WEBSOCKET, NULL);
  for (size_t i = 0; i < 4; i++)
    check_answer(bench, clients[i], MAKE, MADE("1"));
  assert_int_equal(serve(bench, clients[4], MAKE, 0), RPC_REPLY);
  assert_part(bench, "\"code\":-32000");
  assert_part(bench, "sessions-max");
  for (size_t i = 0; i < COUNT_OF(clients); i++)
    bench_close(bench, clients[i], NULL);
}

static void test_long_answers_are_errors(void **state)
{
  static const char call[] = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"call\",\"params\":{\"type\":\"C\","
                             "\"method\":\"long\"}}";
  struct service_bench *bench = *state;
  struct rpc_client *client = open_client(bench, OP_CHANNEL_WEBSOCKET, NULL);
  assert_int_equal(serve(bench, client, call, 0), RPC_REPLY);
  assert_true(bench->out.len > 5000);
  assert_int_equal(serve(bench, client, call, 1000), RPC_REPLY);
  assert_part(bench, "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32000,");
  assert_part(bench, "longer than the 1000 bytes");
  char batch[1024];
  snprintf(batch, sizeof batch, "[%s,%s,%s]", ADD, call, ADD);
  assert_int_equal(serve(bench, client, batch, 1000), RPC_REPLY);
  assert_true(bench->out.len < 1000);
  assert_part(bench, "longer than the");
  bench_close(bench, client, NULL);
}

static const char query[] =
    "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"meta\",\"params\":{\"method\":\"fetch_classes_info\"}}";

#define META_ANSWER(body)                                                                                    \
  "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"void\":false,\"value\":{\"type\":\"java.lang.String\","       \
  "\"null\":false,\"value\":\"" body "\",\"status\":\"OK\"}}}"

static void test_metadata_whole(void **state)
{
  struct service_bench *bench = *state;
  struct rpc_client *client = open_client(bench, OP_CHANNEL_ZMQ, NULL);
  assert_int_equal(serve(bench, client, query, 0), RPC_REPLY);
  assert_part(bench, "\"status\":\"ERROR\"");
  assert_part(bench, "the image cannot be read");
  stub.meta = "[{\"a\":\"\xC3\xA9\"}]";
  for (stub.meta_step = 0; stub.meta_step < 4; stub.meta_step++)
    check_answer(bench, client, query, META_ANSWER("[{\\\"a\\\":\\\"\xC3\xA9\\\"}]"));
  assert_int_equal(serve(bench, client, query, 100), RPC_REPLY);
  assert_part(bench, "\"code\":-32000");
  assert_part(bench, "longer than the 100 bytes");
  stub.meta_breaks = true;
  stub.meta_step = 2;
  assert_int_equal(serve(bench, client, query, 0), RPC_REPLY);
  assert_part(bench, "\"code\":-32000");
  assert_part(bench, "\"status\":\"ERROR\"");
  assert_int_equal(stub.bodies, 0);
  bench_close(bench, client, NULL);
}

static void test_metadata_streamed(void **state)
{
  struct service_bench *bench = *state;
  struct rpc_client *client = open_client(bench, OP_CHANNEL_HTTP, NULL);
  stub.meta = "[\"\xF0\x9F\x98\x80\"]";
  stub.meta_step = 3;
  buffer_clear(&bench->out);
  assert_int_equal(rpc_jsonrpc_serve(bench->service->context, bench->lent.worker, client, text_of(query),
                                     &bench->out, true, 10, &bench->stream),
                   RPC_STREAM);
  struct outcome_body *body = &bench->stream.body;
  enum jp_status status;
  do {
    size_t before = bench->out.len;
    status = body->read(body->state, &bench->out, 1);
    assert_int_equal(text_valid_utf8(buffer_text(&bench->out)), bench->out.len);
    assert_true(status == JP_CLOSED || bench->out.len > before);
  } while (status == JP_OK);
  assert_int_equal(status, JP_CLOSED);
  body->close(body->state);
  buffer_append_text(&bench->out, bench->stream.tail);
  assert_text(buffer_text(&bench->out), META_ANSWER("[\\\"\xF0\x9F\x98\x80\\\"]"));
  bench_close(bench, client, NULL);
}

static bool ping(struct service_bench *bench, const char *message, enum rpc_served *served)
{
  buffer_clear(&bench->out);
  BUFFER_LITERAL(&bench->out, "before");
  bool done =
      rpc_jsonrpc_serve_without_worker(bench->service->context, text_of(message), &bench->out, served);
  if (!done)
    assert_text(buffer_text(&bench->out), "before");
  return done;
}

static void test_ping_without_a_worker(void **state)
{
  struct service_bench *bench = *state;
  enum rpc_served served;
  assert_false(ping(bench, ADD, &served));
  assert_false(ping(bench, CONTROL("gc", ""), &served));
  assert_false(ping(bench, "{\"jsonrpc\":\"2.0\",", &served));
  assert_false(ping(bench, "[" CONTROL("ping", "") "]", &served));
  assert_false(ping(bench, CONTROL("ping", "1"), &served));
  assert_false(ping(bench, "{\"id\":1,\"method\":\"control\",\"params\":{\"method\":\"ping\"}}", &served));
  assert_true(ping(bench, CONTROL("Ping", ""), &served));
  assert_int_equal(served, RPC_REPLY);
  assert_text(buffer_text(&bench->out), "before" VOID_ANSWER);
  /* A wrong name of a session is told by a worker, which knows the transport. */
  assert_false(ping(bench, NOT_MINE("\"me\"", "control", "{\"method\":\"ping\"}"), &served));
  assert_true(ping(bench,
                   NOT_MINE("\"11111111-2222-3333-4444-555555555555\"", "control", "{\"method\":\"ping\"}"),
                   &served));
  assert_true(
      ping(bench, "{\"jsonrpc\":\"2.0\",\"method\":\"control\",\"params\":{\"method\":\"ping\"}}", &served));
  assert_int_equal(served, RPC_NO_REPLY);
}

static void test_refuse_and_reject(void **state)
{
  struct service_bench *bench = *state;
  const struct rpc_service *service = bench->service;
  assert_int_equal(rpc_jsonrpc_refuse(service->context, TEXT(ADD), "busy: no thread", &bench->out),
                   RPC_REPLY);
  assert_text(buffer_text(&bench->out),
              "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32000,\"message\":\"Server error\"," DATA(
                  "busy: no thread") "}}");
  buffer_clear(&bench->out);
  assert_int_equal(rpc_jsonrpc_refuse(service->context, TEXT("{\"jsonrpc\":\"2.0\",\"method\":\"gc\"}"),
                                      "busy", &bench->out),
                   RPC_NO_REPLY);
  assert_int_equal(bench->out.len, 0);
  rpc_jsonrpc_reject(service->context, RPC_REJECT_UNREADABLE, TEXT_ABSENT, "the message is no UTF-8",
                     &bench->out);
  assert_text(
      buffer_text(&bench->out),
      "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32700,\"message\":\"Parse error\",\"data\":"
      "{\"message\":\"the message is no UTF-8\",\"request_id\":null,\"stack_trace\":[],\"cause\":null}}}");
  static const struct {
    const char *beginning;
    const char *id;
  } cases[] = {
      {"{\"jsonrpc\":\"2.0\",\"id\":17,\"method\":\"ca", "17"},
      {"{\"jsonrpc\":\"2.0\",\"id\":17", "null"}, /* there may be more of it */
      {"{\"jsonrpc\":\"2.0\",\"id\":\"a,b", "null"},
      {"{\"jsonrpc\":\"2.0\",\"params\":{\"id\":5,\"x\":", "null"},
  };
  char wanted[64];
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    buffer_clear(&bench->out);
    rpc_jsonrpc_reject(service->context, RPC_REJECT_INVALID, text_of(cases[i].beginning), "too long",
                       &bench->out);
    snprintf(wanted, sizeof wanted, "{\"jsonrpc\":\"2.0\",\"id\":%s,\"error\":{\"code\":-32600,",
             cases[i].id);
    assert_true(text_starts_with(buffer_text(&bench->out), text_of(wanted)));
  }
  assert_int_equal(stub.resolved, 0);
}

static void test_compat_echoes_ids_of_malformed_messages(void **state)
{
  static const struct {
    const char *message;
    const char *id;
  } cases[] = {
      {"{\"jsonrpc\":\"2.0\",\"id\":\"abc\",\"method\":", "\"abc\""},
      {"{\"id\" : 17, 'method'", "17"},
      {"{\"id\":-1.5e3,}", "-1.5e3"},
      {"{\"id\":\"a\\\"b\",}", "\"a\\\"b\""},
      {"{\"id\":\"open", "null"},
      {"{\"id\":\"bad\\x\",", "null"},
      {"{\"id\":01,", "null"},
      {"{\"id\":true,", "null"},
      {"{\"id\"", "null"},
      {"{\"id\":", "null"},
      {"{", "null"},
      {"", "null"},
  };
  struct service_bench *bench = *state;
  struct rpc_client *client = open_client(bench, OP_CHANNEL_ZMQ, NULL);
  char wanted[512];
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    snprintf(wanted, sizeof wanted,
             "{\"jsonrpc\":\"2.0\",\"id\":%s,\"error\":{\"code\":-32700,\"message\":\"Parse error\",\"data\":"
             "{\"message\":\"Failed to deserialize JSON-RPC message\",\"request_id\":%s,\"requestId\":%s,"
             "\"stack_trace\":[],\"cause\":null}}}",
             cases[i].id, cases[i].id, cases[i].id);
    check_answer(bench, client, cases[i].message, wanted);
  }
  check_part(bench, client, "{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":7}",
             "\"id\":5,\"error\":{\"code\":-32600,");
  check_answer(
      bench, client, ADD,
      "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"void\":false,\"value\":{\"type\":\"int\",\"null\":false,"
      "\"value\":\"8\"},\"from\":{\"class\":\"C\",\"method\":\"add\",\"modifiers\":9}}}");
  bench_close(bench, client, NULL);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_what_is_no_request, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_bad_clients_are_refused, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_limits_are_named, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_long_answers_are_errors, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_keyed_connections_count_from_their_first_object, set_up,
                                      tear_down),
      cmocka_unit_test_setup_teardown(test_an_idle_connection_holds_its_session, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_calls_batches_and_notifications, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_control, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_sessions_belong_to_connections_and_peer_ids, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_http_names_a_session_that_holds_objects, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_zeromq_sessions, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_metadata_whole, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_metadata_streamed, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_ping_without_a_worker, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_refuse_and_reject, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_compat_echoes_ids_of_malformed_messages, set_up_compat, tear_down),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
