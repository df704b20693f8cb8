/* Answers to binary messages that need no worker. */
#include "messages_bench.h"
#include "rpc/colfer/codec_state.h"
#include "service_bench.h"
#include "tests/unit/unit.h"

struct binary_bench {
  struct service_bench *service;
  struct buffer request;
  struct buffer out;
  struct buffer shown;
};

static struct binary_bench *own;

static int set_up(void **state)
{
  own = test_calloc(1, sizeof *own);
  own->service = service_bench_create(&(struct service_bench_options){0});
  (void)state;
  return 0;
}

static int tear_down(void **state)
{
  (void)state;
  bool is_clean = service_bench_destroy(own->service);
  buffer_fini(&own->request);
  buffer_fini(&own->out);
  buffer_fini(&own->shown);
  test_free(own);
  return is_clean ? 0 : 1;
}

static bool answer_ping(struct binary_bench *own, const struct colfer_message *message)
{
  enum rpc_served served = RPC_FAILED;
  encode_message(&own->request, message);
  buffer_clear(&own->out);
  if (!rpc_colfer_serve_without_worker(own->service->service->context, buffer_text(&own->request), &own->out,
                                       &served)) {
    assert_int_equal(own->out.len, 0);
    return false;
  }
  assert_int_equal(served, RPC_REPLY);
  show_answer(&own->shown, buffer_text(&own->out));
  return true;
}

UNIT_TEST_WITH(answers_a_ping, set_up, tear_down)
{
  assert_true(answer_ping(own, &(struct colfer_message)CONTROL_MESSAGE(.command = COLFER_PING)));
  assert_text(text_of(own->shown.data),
              "{message_type: 32, control_message: {response_to_id: \"1\", command: 4, status: 1}}");
  assert_true(
      answer_ping(own, &(struct colfer_message)CONTROL_MESSAGE(.command = COLFER_PING,
                                                               .from_peer = TEXT("1234567890123456"))));
  const struct colfer_message others[] = {
      CONTROL_MESSAGE(.command = COLFER_GC),
      CONTROL_MESSAGE(.command = COLFER_PING, .params = OBJS({.ref = 1})),
      CONTROL_MESSAGE(.command = COLFER_PING, .from_peer = TEXT("me")),
      CONTROL_MESSAGE(.command = COLFER_PING, .body = {NULL, 0}, .status = 9,
                      .params = OBJS({.value = TEXT("1")})),
      {.message_type = COLFER_CONTROL_REQUEST},
      META_MESSAGE(.service = 1),
      CALL_OF("add"),
  };
  for (size_t i = 0; i < COUNT_OF(others); i++)
    assert_false(answer_ping(own, &others[i]));
  static char body[5000];
  assert_false(answer_ping(
      own, &(struct colfer_message)CONTROL_MESSAGE(.command = COLFER_PING, .body = {body, sizeof body})));
}

static void check_refusal(struct binary_bench *own, struct text bytes, const char *wanted)
{
  buffer_clear(&own->out);
  assert_int_equal(rpc_colfer_refuse(own->service->service->context, bytes, "busy: no thread", &own->out),
                   RPC_REPLY);
  show_answer(&own->shown, buffer_text(&own->out));
  unit_assert_text(text_of(own->shown.data), text_of(wanted), __FILE__, __LINE__);
}

UNIT_TEST_WITH(refuses_in_the_form_of_the_request, set_up, tear_down)
{
  encode_message(&own->request, &(struct colfer_message)CALL_OF("add"));
  check_refusal(
      own, buffer_text(&own->request),
      "{message_type: 10, exec_message: {response_to_id: \"1\", raised_throwable: {throwable: {type: "
      "\"java.util.concurrent.RejectedExecutionException\", message: \"busy: no thread\"}}}}");
  encode_message(&own->request, &(struct colfer_message)CONTROL_MESSAGE(.command = COLFER_GC));
  check_refusal(
      own, buffer_text(&own->request),
      "{message_type: 32, control_message: {response_to_id: \"1\", command: 3, status: 2, body: \"busy: no "
      "thread\"}}");
  encode_message(&own->request, &(struct colfer_message)META_MESSAGE(.service = 1));
  check_refusal(
      own, buffer_text(&own->request),
      "{message_type: 61, meta_message: {response_to_id: \"1\", service: 1, status: 2, body: \"busy: no "
      "thread\"}}");
  check_refusal(
      own, TEXT("\x00\x03\x01\x01\x01x"),
      "{message_type: 32, control_message: {response_to_id: \"x\", status: 2, body: \"The message cannot be "
      "decoded: exec_message, byte 6: the message ends here\"}}");
}

UNIT_TEST_WITH(rejects_what_was_not_read, set_up, tear_down)
{
  static const struct {
    struct text beginning;
    const char *wanted;
  } cases[] = {
      {TEXT(""), "{message_type: 32, control_message: {status: 2, body: \"too long\"}}"},
      {TEXT("\x00"), "{message_type: 32, control_message: {status: 2, body: \"too long\"}}"},
      {TEXT("\x00\x03\x01\x01\x01"
            "1\x09\x00\x01"),
       "{message_type: 10, exec_message: {response_to_id: \"1\", raised_throwable: {throwable: {type: "
       "\"java.util.concurrent.RejectedExecutionException\", message: \"too long\"}}}}"},
      {TEXT("\x00\x1f\x02\x01\x01"
            "1\x03\x01\x04\x05"),
       "{message_type: 32, control_message: {response_to_id: \"1\", command: 1, status: 2, body: \"too "
       "long\"}}"},
      {TEXT("\x00\x3c\x03\x01\x01"
            "1"),
       "{message_type: 61, meta_message: {response_to_id: \"1\", status: 2, body: \"too long\"}}"},
  };
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    buffer_clear(&own->out);
    rpc_colfer_reject(own->service->service->context, RPC_REJECT_INVALID, cases[i].beginning, "too long",
                      &own->out);
    show_answer(&own->shown, buffer_text(&own->out));
    unit_assert_text(text_of(own->shown.data), text_of(cases[i].wanted), __FILE__, __LINE__);
  }
}

UNIT_MAIN
