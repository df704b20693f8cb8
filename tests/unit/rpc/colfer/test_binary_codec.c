/* Behaviour of binary messages that cannot be caused or observed by a client: limits of an answer, metadata
 * that fails half way, memory, and answers without a worker. */
#include "base/uuid.h"
#include "colfer/messages.h"
#include "rpc/colfer/binary_codec.h"
#include "rpc/jsonrpc/json_codec.h"
#include "service_bench.h"
#include "tests/support/colfer_print.h"
#include "tests/unit/unit.h"

/* A message with the id 1 that does not name its sender. The further arguments are further members of
 * exec_message, control_message or meta_message. */
#define EXEC(type, ...)                                                                                      \
  {                                                                                                          \
    .message_type = (type), .exec_message = &(struct colfer_exec_message)                                    \
    {                                                                                                        \
      .message_id = TEXT("1"), __VA_ARGS__                                                                   \
    }                                                                                                        \
  }
#define CONTROL_MESSAGE(...)                                                                                 \
  {                                                                                                          \
    .message_type = COLFER_CONTROL_REQUEST, .control_message = &(struct colfer_control_message)              \
    {                                                                                                        \
      .message_id = TEXT("1"), __VA_ARGS__                                                                   \
    }                                                                                                        \
  }
#define META_MESSAGE(...)                                                                                    \
  {                                                                                                          \
    .message_type = COLFER_META_REQUEST, .meta_message = &(struct colfer_meta_message)                       \
    {                                                                                                        \
      .message_id = TEXT("1"), __VA_ARGS__                                                                   \
    }                                                                                                        \
  }
#define OBJS(...)                                                                                            \
  {                                                                                                          \
    (struct colfer_obj[]){__VA_ARGS__},                                                                      \
        sizeof((struct colfer_obj[]){__VA_ARGS__}) / sizeof(struct colfer_obj)                               \
  }
#define NAMED_CLASS(text) (&(struct colfer_class){TEXT(text)})
#define NAMED_FIELD(text) (&(struct colfer_field){.name = TEXT(text)})

/* A call of a static method of C, and a new C. */
#define CALL_OF(method, ...)                                                                                 \
  EXEC(COLFER_CALLS_CLASS_METHOD, .class_method_call = &(struct colfer_class_method_call){                   \
                                      .clazz = NAMED_CLASS("C"), .name = TEXT(method), __VA_ARGS__})
#define NEW_OF(...)                                                                                          \
  EXEC(COLFER_CALLS_CONSTRUCTOR,                                                                             \
       .constructor_call = &(struct colfer_constructor_call){.clazz = NAMED_CLASS("C"), __VA_ARGS__})

/* Replaces the content of out. */
static void encode_message(struct buffer *out, const struct colfer_message *message)
{
  buffer_clear(out);
  colfer_encode(&colfer_message_type, message, out);
}

static void take_id(struct text *id)
{
  struct uuid uuid;
  if (!uuid_parse(*id, &uuid))
    fail_msg("an answer's id is no UUID: %.*s", TEXT_ARGS(*id));
  *id = TEXT_ABSENT;
}

/* Shows an answer, as colfer_print does, without its own id; checks that the id is a UUID. Ends it with a
 * NUL. */
static void show_answer(struct buffer *out, struct text answer)
{
  struct arena arena;
  struct colfer_message message;
  struct jp_error error;
  arena_init(&arena);
  if (colfer_decode(&colfer_message_type, answer, &arena, &message, &error) != JP_OK)
    fail_msg("an answer is no message: %s", error.text);
  if (message.exec_message != NULL)
    take_id(&message.exec_message->message_id);
  if (message.control_message != NULL)
    take_id(&message.control_message->message_id);
  if (message.meta_message != NULL)
    take_id(&message.meta_message->message_id);
  buffer_clear(out);
  colfer_print(&colfer_message_type, &message, out);
  buffer_append_char(out, '\0');
  arena_fini(&arena);
}

static char long_text[5000];

static struct stub_member members[] = {
    STUB_MEMBER_ADD,
    STUB_MEMBER_CONSTRUCTOR,
    {.type = "C",
     .member = "long",
     .kind = OP_MEMBER_STATIC_METHOD,
     .modifiers = OP_ACC_PUBLIC,
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
  assert_int_equal(rpc_codecs[RPC_CODEC_COLFER]->serve(service->service->context, service->lent.worker,
                                                       service->client, buffer_text(&own->request),
                                                       &service->out, own->reply_max, &service->stream),
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
  /* Refs are held only if they were sent. */
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

UNIT_TEST_WITH(denies_withheld_classes_before_anything_else, set_up_compat, tear_down)
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

/* ---- without a worker ---- */

static bool answer_ping(const struct colfer_message *message)
{
  enum rpc_served served = RPC_FAILED;
  encode_message(&own->request, message);
  buffer_clear(&own->service->out);
  if (!rpc_codecs[RPC_CODEC_COLFER]->serve_without_worker(
          own->service->service->context, NULL, buffer_text(&own->request), &own->service->out, &served)) {
    assert_int_equal(own->service->out.len, 0);
    return false;
  }
  assert_int_equal(served, RPC_REPLY);
  show_answer(&own->shown, buffer_text(&own->service->out));
  return true;
}

UNIT_TEST_WITH(answers_a_ping, set_up, tear_down)
{
  assert_true(answer_ping(&(struct colfer_message)CONTROL_MESSAGE(.command = COLFER_PING)));
  assert_text(text_of(own->shown.data),
              "{message_type: 32, control_message: {response_to_id: \"1\", command: 4, status: 1}}");
  assert_true(answer_ping(&(struct colfer_message)CONTROL_MESSAGE(.command = COLFER_PING,
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
    assert_false(answer_ping(&others[i]));
  static char body[5000];
  assert_false(answer_ping(
      &(struct colfer_message)CONTROL_MESSAGE(.command = COLFER_PING, .body = {body, sizeof body})));
}

static void check_refusal(struct text bytes, const char *wanted)
{
  buffer_clear(&own->service->out);
  assert_int_equal(rpc_codecs[RPC_CODEC_COLFER]->refuse(own->service->service->context, NULL, bytes,
                                                        "busy: no thread", &own->service->out),
                   RPC_REPLY);
  show_answer(&own->shown, buffer_text(&own->service->out));
  unit_assert_text(text_of(own->shown.data), text_of(wanted), __FILE__, __LINE__);
}

UNIT_TEST_WITH(refuses_in_the_form_of_the_request, set_up, tear_down)
{
  encode_message(&own->request, &(struct colfer_message)CALL_OF("add"));
  check_refusal(
      buffer_text(&own->request),
      "{message_type: 10, exec_message: {response_to_id: \"1\", raised_throwable: {throwable: {type: "
      "\"java.util.concurrent.RejectedExecutionException\", message: \"busy: no thread\"}}}}");
  encode_message(&own->request, &(struct colfer_message)CONTROL_MESSAGE(.command = COLFER_GC));
  check_refusal(
      buffer_text(&own->request),
      "{message_type: 32, control_message: {response_to_id: \"1\", command: 3, status: 2, body: \"busy: no "
      "thread\"}}");
  encode_message(&own->request, &(struct colfer_message)META_MESSAGE(.service = 1));
  check_refusal(
      buffer_text(&own->request),
      "{message_type: 61, meta_message: {response_to_id: \"1\", service: 1, status: 2, body: \"busy: no "
      "thread\"}}");
  check_refusal(
      TEXT("\x00\x03\x01\x01\x01x"),
      "{message_type: 32, control_message: {response_to_id: \"x\", status: 2, body: \"The message cannot be "
      "decoded: exec_message, byte 6: the message ends here\"}}");
}

UNIT_TEST_WITH(rejects_unread_messages, set_up, tear_down)
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
    buffer_clear(&own->service->out);
    rpc_codecs[RPC_CODEC_COLFER]->reject(own->service->service->context, NULL, RPC_REJECT_INVALID,
                                         cases[i].beginning, "too long", &own->service->out);
    show_answer(&own->shown, buffer_text(&own->service->out));
    unit_assert_text(text_of(own->shown.data), text_of(cases[i].wanted), __FILE__, __LINE__);
  }
}

/* ---- which messages are binary ones, and the ids of answers ---- */

UNIT_TEST(recognizes_binary_messages_by_their_first_byte)
{
  for (int first = 0; first <= UINT8_MAX; first++) {
    char message[] = {(char)first, '{'};
    bool is_binary = first <= 8 || first == 0x7f;
    assert_ptr_equal(rpc_codec_of(rpc_codecs, (struct text){message, sizeof message}),
                     rpc_codecs[is_binary ? RPC_CODEC_COLFER : RPC_CODEC_JSONRPC]);
  }
  assert_ptr_equal(rpc_codec_of(rpc_codecs, TEXT("")), rpc_codecs[RPC_CODEC_COLFER]);
  assert_ptr_equal(rpc_codec_of(rpc_codecs, TEXT_ABSENT), rpc_codecs[RPC_CODEC_COLFER]);
}

UNIT_TEST(counts_in_the_last_digits_of_an_id)
{
  struct rpc_colfer_ids ids;
  struct uuid first;
  struct uuid last;
  rpc_colfer_ids_init(&ids);
  assert_true(uuid_parse(rpc_colfer_ids_next(&ids), &first));
  assert_true(text_ends_with(rpc_colfer_ids_next(&ids), TEXT("-000000000002")));
  for (unsigned i = 3; i < 0x1234; i++)
    rpc_colfer_ids_next(&ids);
  struct text next = rpc_colfer_ids_next(&ids);
  assert_true(text_ends_with(next, TEXT("-000000001234")));
  assert_true(uuid_parse(next, &last));
  memset(ids.text + UUID_TEXT_LENGTH - 12, 'f', 12);
  assert_true(text_ends_with(rpc_colfer_ids_next(&ids), TEXT("-000000000000")));
  assert_memory_equal(first.bytes, last.bytes, 10);
  struct rpc_colfer_ids others;
  rpc_colfer_ids_init(&others);
  assert_true(uuid_parse(rpc_colfer_ids_next(&others), &last));
  assert_memory_not_equal(first.bytes, last.bytes, 10);
}

UNIT_MAIN
