/* What no client can bring about, or see, of binary messages: bounds of an answer, metadata that breaks off, memory. */
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

/* The service, and the last request and answer. */
struct binary_bench {
  struct service_bench *service;
  struct buffer request;
  struct buffer shown;
  size_t reply_max;
};

static struct binary_bench *own;

static int set_up_with(void **state, bool compat_pal)
{
  own = test_calloc(1, sizeof *own);
  memset(long_text, 'x', sizeof long_text);
  own->service = service_bench_create(&(struct service_bench_options){
      .members = members, .member_count = COUNT_OF(members), .compat_pal = compat_pal});
  own->service->client = bench_open_routed(own->service, "r");
  (void)state;
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
  (void)state;
  bool is_clean = service_bench_destroy(own->service);
  buffer_fini(&own->request);
  buffer_fini(&own->shown);
  test_free(own);
  return is_clean ? 0 : 1;
}

static void check_part_of_reply(struct binary_bench *own, const struct colfer_message *message,
                                const char *part)
{
  struct service_bench *service = own->service;
  encode_message(&own->request, message);
  buffer_clear(&service->out);
  assert_int_equal(rpc_colfer_serve(service->service->context, service->lent.worker, service->client,
                                    buffer_text(&own->request), &service->out, own->reply_max,
                                    &service->stream),
                   RPC_REPLY);
  show_answer(&own->shown, buffer_text(&service->out));
  if (strstr(own->shown.data, part) == NULL)
    fail_msg("%s has no %s", own->shown.data, part);
}

UNIT_TEST_WITH(makes_refs_of_long_answers, set_up, tear_down)
{
  const struct colfer_message call = CALL_OF("long");
  check_part_of_reply(own, &call, "xxx");
  own->reply_max = 1000;
  check_part_of_reply(own, &call, "ref: 3");
  assert_null(strstr(own->shown.data, "xxx"));
  /* Only what was told is held. */
  check_part_of_reply(
      own,
      &(struct colfer_message)CONTROL_MESSAGE(.command = COLFER_DELETE_OBJECT, .params = OBJS({.ref = 1})),
      "status: 1");
  check_part_of_reply(
      own,
      &(struct colfer_message)CONTROL_MESSAGE(.command = COLFER_DELETE_OBJECT, .params = OBJS({.ref = 2})),
      "status: 6");
  stub.meta = long_text;
  long_text[sizeof long_text - 1] = '\0';
  check_part_of_reply(own, &(struct colfer_message)META_MESSAGE(.service = 1),
                      "status: 2, body: \"the answer is longer than the 1000 bytes");
  assert_int_equal(stub.bodies, 0);
}

UNIT_TEST_WITH(says_that_metadata_breaks_off, set_up, tear_down)
{
  stub.meta = "[1,2,3]";
  stub.meta_step = 2;
  check_part_of_reply(own, &(struct colfer_message)META_MESSAGE(.service = 1), "body: \"[1,2,3]\"");
  stub.meta_breaks = true;
  check_part_of_reply(own, &(struct colfer_message)META_MESSAGE(.service = 1),
                      "status: 2, body: \"the metadata could not be read\"");
  assert_int_equal(stub.bodies, 0);
}

UNIT_TEST_WITH(keeps_no_large_memory, set_up, tear_down)
{
  enum { LENGTH = 1024 * 1024 };
  char *text = test_malloc(LENGTH);
  memset(text, 'x', LENGTH);
  text[0] = text[LENGTH - 1] = '"';
  stub.meta = text;
  check_part_of_reply(own,
                      &(struct colfer_message)CALL_OF(
                          "add", .args = OBJS({.value = {text, LENGTH}}, {.value = {text, LENGTH}})),
                      "value: \"8\"");
  text[LENGTH - 1] = '\0';
  check_part_of_reply(own, &(struct colfer_message)META_MESSAGE(.service = 1), "status: 1");
  const struct rpc_worker *worker = own->service->lent.worker;
  assert_true(rpc_colfer_worker(worker)->scratch.cap <= (size_t)64 * 1024);
  assert_ptr_equal(worker->runner.arena.current, worker->runner.arena.first);
  test_free(text);
}

UNIT_TEST_WITH(denies_withheld_classes_before_it_looks_further, set_up_compat, tear_down)
{
  static const char denied[] = "io.quasient.pal.core.rpc.policy.RpcAccessDeniedException";
  struct colfer_class *withheld = NAMED_CLASS("io.quasient.pal.Peer");
  struct colfer_class_method_call without_name = {.clazz = withheld};
  struct colfer_class_method_call without_json = {
      .clazz = withheld, .name = TEXT("x"), .args = OBJS({.value = TEXT("not JSON")})};
  struct colfer_static_field_put without_value = {.clazz = withheld, .field = NAMED_FIELD("x")};
  check_part_of_reply(
      own, &(struct colfer_message)EXEC(COLFER_CALLS_CLASS_METHOD, .class_method_call = &without_name),
      denied);
  check_part_of_reply(
      own, &(struct colfer_message)EXEC(COLFER_CALLS_CLASS_METHOD, .class_method_call = &without_json),
      denied);
  check_part_of_reply(
      own, &(struct colfer_message)EXEC(COLFER_PUTS_STATIC, .static_field_put = &without_value), denied);
  check_part_of_reply(own, &(struct colfer_message)EXEC(COLFER_PUTS_STATIC),
                      "java.lang.IllegalArgumentException");
}

UNIT_MAIN
