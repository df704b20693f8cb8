/* Binary messages in, answers out: the peer's whole service over a stub of jni. */
#include "messages_bench.h"
#include "rpc/colfer/codec_state.h"
#include "service_bench.h"
#include "tests/unit/unit.h"

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
                 .ref = 1,
                 .has_value = true,
                 .value = {.kind = OP_TEXT, .text = {long_text, sizeof long_text}}}},
};

static const char uuid_bytes[] = "\x11\x11\x11\x11\x22\x22\x33\x33\x44\x44\x55\x55\x55\x55\x55\x55";
#define UUID_OF_BYTES "11111111-2222-3333-4444-555555555555"
#define SENDER                                                                                               \
  {                                                                                                          \
    uuid_bytes, 16                                                                                           \
  }

/* The service, and the last request and answer. */
struct binary_bench {
  struct service_bench *service;
  struct buffer request;
  struct buffer shown;
  size_t reply_max;
};

static int set_up_with(void **state, bool compat_pal)
{
  struct binary_bench *bench = test_calloc(1, sizeof *bench);
  memset(long_text, 'x', sizeof long_text);
  bench->service = service_bench_create(&(struct service_bench_options){
      .members = members, .member_count = COUNT_OF(members), .compat_pal = compat_pal});
  bench->service->client = bench_open_routed(bench->service, "r");
  *state = bench;
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
  struct binary_bench *bench = *state;
  bool is_clean = service_bench_destroy(bench->service);
  buffer_fini(&bench->request);
  buffer_fini(&bench->shown);
  test_free(bench);
  return is_clean ? 0 : 1;
}

static void serve_bytes(struct binary_bench *bench, struct text bytes)
{
  struct service_bench *service = bench->service;
  buffer_clear(&service->out);
  assert_int_equal(rpc_colfer_serve(service->service->context, service->lent.worker, service->client, bytes,
                                    &service->out, bench->reply_max, &service->stream),
                   RPC_REPLY);
  show_answer(&bench->shown, buffer_text(&service->out));
}

static const char *ask(struct binary_bench *bench, const struct colfer_message *message)
{
  encode_message(&bench->request, message);
  serve_bytes(bench, buffer_text(&bench->request));
  return bench->shown.data;
}

static void check_reply(struct binary_bench *bench, const struct colfer_message *message, const char *wanted)
{
  unit_assert_text(text_of(ask(bench, message)), text_of(wanted), __FILE__, __LINE__);
}

static void check_part_of_reply(struct binary_bench *bench, const struct colfer_message *message,
                                const char *part)
{
  if (strstr(ask(bench, message), part) == NULL)
    fail_msg("%s has no %s", bench->shown.data, part);
}

#define CONTROLLED(rest) "{message_type: 32, control_message: {response_to_id: \"1\", " rest "}}"

static void serves_members_control_and_metadata(void **state)
{
  struct binary_bench *bench = *state;
  check_reply(
      bench, &(struct colfer_message)CALL_OF("add", .args = OBJS({.value = TEXT("5")}, {.value = TEXT("3")})),
      "{message_type: 11, exec_message: {response_to_id: \"1\", return_value: {object: {value: \"8\", "
      "clazz: {name: \"int\"}}, from: {method: {clazz: {name: \"C\"}, name: \"add\", modifiers: 9}}}}}");
  check_reply(
      bench, &(struct colfer_message)NEW_OF(.modifiers = 0),
      "{message_type: 11, exec_message: {response_to_id: \"1\", return_value: {object: {clazz: {name: "
      "\"C\"}, ref: 1}, from: {constructor: {clazz: {name: \"C\"}}}}}}");
  check_reply(bench, &(struct colfer_message)CALL_OF("nothing"),
              "{message_type: 10, exec_message: {response_to_id: \"1\", raised_throwable: {throwable: {type: "
              "\"java.lang.ClassNotFoundException\", message: \"C\"}}}}");
  check_reply(bench, &(struct colfer_message)CONTROL_MESSAGE(.command = COLFER_PING),
              CONTROLLED("command: 4, status: 1"));
  check_reply(bench, &(struct colfer_message)CONTROL_MESSAGE(.command = COLFER_GC),
              CONTROLLED("command: 3, status: 1"));
  assert_int_equal(stub.collected, 1);
  check_reply(
      bench,
      &(struct colfer_message)CONTROL_MESSAGE(.command = COLFER_DELETE_OBJECT, .params = OBJS({.ref = 1})),
      CONTROLLED("command: 1, status: 1"));
  check_reply(
      bench,
      &(struct colfer_message)CONTROL_MESSAGE(.command = COLFER_DELETE_OBJECT, .params = OBJS({.ref = 1})),
      CONTROLLED("command: 1, status: 6, body: \"No such object: 1\""));
  check_reply(bench, &(struct colfer_message)CONTROL_MESSAGE(.command = 77),
              CONTROLLED("command: 77, status: 4, body: \"Unknown control command: 77\""));
  check_reply(
      bench, &(struct colfer_message)META_MESSAGE(.service = 1),
      "{message_type: 61, meta_message: {response_to_id: \"1\", service: 1, status: 2, body: \"the image "
      "cannot be read\"}}");
  stub.meta = "[\"a\"]";
  check_reply(bench, &(struct colfer_message)META_MESSAGE(.service = 1),
              "{message_type: 61, meta_message: {response_to_id: \"1\", service: 1, status: 1, body: "
              "\"[\\x22a\\x22]\"}}");
}

static void answers_every_message(void **state)
{
  static const struct text hostile[] = {
      TEXT(""),
      TEXT("\x7f"),
      TEXT("\x00"),
      TEXT("\x00\x03"),
      TEXT("\x08\x08\x08\x08"),
      TEXT("\x00\x03\x01\x09\x02\xff\xff\xff\xff\x0f"),
      TEXT("\x00\x03\x01\x7f\x7f"),
      TEXT("\x00\x1f\x7f"),
      TEXT("\x00\x3c\x7f"),
  };
  struct binary_bench *bench = *state;
  for (size_t i = 0; i < COUNT_OF(hostile); i++) {
    serve_bytes(bench, hostile[i]);
    assert_null(strstr(bench->shown.data, "return_value"));
    assert_null(strstr(bench->shown.data, "status: 1,"));
  }
  assert_int_equal(stub.resolved, 0);
  assert_int_equal(stub.frames, 0);
}

static void serves_the_session_that_the_sender_names(void **state)
{
  struct binary_bench *bench = *state;
  struct service_bench *service = bench->service;
  check_part_of_reply(bench,
                      &(struct colfer_message)EXEC(
                          COLFER_CALLS_CONSTRUCTOR, .peer_uuid = SENDER,
                          .constructor_call = &(struct colfer_constructor_call){.clazz = NAMED_CLASS("C")}),
                      "ref: 1");
  /* It is not the routing id's, and it is that of a JSON client of the same name. */
  check_part_of_reply(
      bench,
      &(struct colfer_message)CONTROL_MESSAGE(.command = COLFER_DELETE_OBJECT, .params = OBJS({.ref = 1})),
      "status: 6");
  struct rpc_client *json = bench_open_named(service, OP_CHANNEL_WEBSOCKET, UUID_OF_BYTES);
  check_answer(service, json, CONTROL("delete_object", "{\"ref\":1}"), VOID_ANSWER);
  bench_close(service, json, NULL);
  check_part_of_reply(
      bench, &(struct colfer_message)CONTROL_MESSAGE(.from_peer = SENDER, .command = COLFER_DELETE_SESSION),
      "status: 1");
}

static void refuses_a_sender_that_is_no_uuid(void **state)
{
  struct binary_bench *bench = *state;
  check_reply(
      bench, &(struct colfer_message)EXEC(COLFER_CALLS_CONSTRUCTOR, .peer_uuid = TEXT("me")),
      "{message_type: 10, exec_message: {response_to_id: \"1\", raised_throwable: {throwable: {type: "
      "\"java.lang.IllegalArgumentException\", message: \"'peer_uuid' must be a UUID of 16 bytes, not of "
      "2\"}}}}");
  check_reply(bench, &(struct colfer_message)CONTROL_MESSAGE(.from_peer = TEXT("12345678901234567")),
              CONTROLLED("status: 2, body: \"'from_peer' must be a UUID of 16 bytes, not of 17\""));
  check_reply(
      bench, &(struct colfer_message)META_MESSAGE(.from_peer = TEXT("x"), .service = 1),
      "{message_type: 61, meta_message: {response_to_id: \"1\", service: 1, status: 2, body: \"'from_peer' "
      "must be a UUID of 16 bytes, not of 1\"}}");
}

static void makes_refs_of_long_answers(void **state)
{
  struct binary_bench *bench = *state;
  const struct colfer_message call = CALL_OF("long");
  check_part_of_reply(bench, &call, "xxx");
  bench->reply_max = 1000;
  check_part_of_reply(bench, &call, "ref: 3");
  assert_null(strstr(bench->shown.data, "xxx"));
  /* Only what was told is held. */
  check_part_of_reply(
      bench,
      &(struct colfer_message)CONTROL_MESSAGE(.command = COLFER_DELETE_OBJECT, .params = OBJS({.ref = 1})),
      "status: 1");
  check_part_of_reply(
      bench,
      &(struct colfer_message)CONTROL_MESSAGE(.command = COLFER_DELETE_OBJECT, .params = OBJS({.ref = 2})),
      "status: 6");
  stub.meta = long_text;
  long_text[sizeof long_text - 1] = '\0';
  check_part_of_reply(bench, &(struct colfer_message)META_MESSAGE(.service = 1),
                      "status: 2, body: \"the answer is longer than the 1000 bytes");
  assert_int_equal(stub.bodies, 0);
}

static void says_that_metadata_breaks_off(void **state)
{
  struct binary_bench *bench = *state;
  stub.meta = "[1,2,3]";
  stub.meta_step = 2;
  check_part_of_reply(bench, &(struct colfer_message)META_MESSAGE(.service = 1), "body: \"[1,2,3]\"");
  stub.meta_breaks = true;
  check_part_of_reply(bench, &(struct colfer_message)META_MESSAGE(.service = 1),
                      "status: 2, body: \"the metadata could not be read\"");
  assert_int_equal(stub.bodies, 0);
}

static void keeps_no_large_memory(void **state)
{
  struct binary_bench *bench = *state;
  enum { LENGTH = 1024 * 1024 };
  char *text = test_malloc(LENGTH);
  memset(text, 'x', LENGTH);
  text[0] = text[LENGTH - 1] = '"';
  stub.meta = text;
  check_part_of_reply(bench,
                      &(struct colfer_message)CALL_OF(
                          "add", .args = OBJS({.value = {text, LENGTH}}, {.value = {text, LENGTH}})),
                      "value: \"8\"");
  text[LENGTH - 1] = '\0';
  check_part_of_reply(bench, &(struct colfer_message)META_MESSAGE(.service = 1), "status: 1");
  const struct rpc_worker *worker = bench->service->lent.worker;
  assert_true(rpc_colfer_worker(worker)->scratch.cap <= 64 * 1024);
  assert_ptr_equal(worker->runner.arena.current, worker->runner.arena.first);
  test_free(text);
}

static void denies_withheld_classes_before_it_looks_further(void **state)
{
  struct binary_bench *bench = *state;
  static const char denied[] = "io.quasient.pal.core.rpc.policy.RpcAccessDeniedException";
  struct colfer_class *withheld = NAMED_CLASS("io.quasient.pal.Peer");
  struct colfer_class_method_call without_name = {.clazz = withheld};
  struct colfer_class_method_call without_json = {
      .clazz = withheld, .name = TEXT("x"), .args = OBJS({.value = TEXT("not JSON")})};
  struct colfer_static_field_put without_value = {.clazz = withheld, .field = NAMED_FIELD("x")};
  check_part_of_reply(
      bench, &(struct colfer_message)EXEC(COLFER_CALLS_CLASS_METHOD, .class_method_call = &without_name),
      denied);
  check_part_of_reply(
      bench, &(struct colfer_message)EXEC(COLFER_CALLS_CLASS_METHOD, .class_method_call = &without_json),
      denied);
  check_part_of_reply(
      bench, &(struct colfer_message)EXEC(COLFER_PUTS_STATIC, .static_field_put = &without_value), denied);
  check_part_of_reply(bench, &(struct colfer_message)EXEC(COLFER_PUTS_STATIC),
                      "java.lang.IllegalArgumentException");
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(serves_members_control_and_metadata, set_up, tear_down),
      cmocka_unit_test_setup_teardown(answers_every_message, set_up, tear_down),
      cmocka_unit_test_setup_teardown(serves_the_session_that_the_sender_names, set_up, tear_down),
      cmocka_unit_test_setup_teardown(refuses_a_sender_that_is_no_uuid, set_up, tear_down),
      cmocka_unit_test_setup_teardown(makes_refs_of_long_answers, set_up, tear_down),
      cmocka_unit_test_setup_teardown(says_that_metadata_breaks_off, set_up, tear_down),
      cmocka_unit_test_setup_teardown(keeps_no_large_memory, set_up, tear_down),
      cmocka_unit_test_setup_teardown(denies_withheld_classes_before_it_looks_further, set_up_compat,
                                      tear_down),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
