#include "client/messages/answer_binary.h"

#include "colfer/messages.h"
#include "tests/unit/client/messages/stub_refs.h"
#include "tests/unit/unit.h"

struct reply {
  struct buffer bytes;
  struct stub_refs stub;
  struct jp_answer *answer;
  struct jp_client_error error;
};

static enum jp_client_status read_bytes(struct reply *reply, struct text bytes)
{
  char *copy = unit_exact_copy(bytes.data, bytes.len);
  stub_refs_init(&reply->stub);
  reply->answer = answer_create();
  enum jp_client_status status =
      answer_fill_binary(reply->answer, (struct text){copy, bytes.len}, &reply->stub.refs, &reply->error);
  test_free(copy); /* the answer borrows nothing from the message */
  return status;
}

static enum jp_client_status read_reply(struct reply *reply, const struct colfer_message *message)
{
  buffer_init(&reply->bytes);
  colfer_encode(&colfer_message_type, message, &reply->bytes);
  return read_bytes(reply, buffer_text(&reply->bytes));
}

static void leave(struct reply *reply)
{
  buffer_fini(&reply->bytes);
  jp_answer_free(reply->answer);
  assert_int_equal(stub_refs_open, 0);
}

static void read_object(struct reply *reply, struct colfer_obj obj)
{
  struct colfer_return_value returned = {.object = &obj};
  struct colfer_exec_message exec = {.response_to_id = TEXT("17"), .return_value = &returned};
  struct colfer_message message = {.message_type = COLFER_RETURNS, .exec_message = &exec};
  if (read_reply(reply, &message) != JP_CLIENT_OK)
    fail_msg("%s", reply->error.text);
}

UNIT_TEST(reads_values)
{
  struct reply reply;
  struct colfer_class is_int = {TEXT("int")}, string = {TEXT("java.lang.String")}, object = {TEXT("a.B")};
  int64_t integer;
  read_object(&reply, (struct colfer_obj){.value = TEXT("-8"), .clazz = &is_int});
  assert_true(jp_answer_integer(reply.answer, &integer) && integer == -8);
  leave(&reply);
  read_object(&reply, (struct colfer_obj){.value = TEXT("\"a\\nb\""), .clazz = &string});
  assert_int_equal(jp_answer_kind(reply.answer), JP_ANSWER_STRING);
  assert_string_equal(jp_answer_text(reply.answer).data, "a\nb");
  leave(&reply);
  read_object(&reply, (struct colfer_obj){.is_null = true, .clazz = &string});
  assert_int_equal(jp_answer_kind(reply.answer), JP_ANSWER_NULL);
  leave(&reply);
  read_object(&reply, (struct colfer_obj){.ref = 42, .clazz = &object});
  assert_int_equal(jp_answer_kind(reply.answer), JP_ANSWER_OBJECT);
  assert_int_equal(jp_ref_number(jp_answer_ref(reply.answer)), 42);
  assert_string_equal(jp_ref_type(jp_answer_ref(reply.answer)), "a.B");
  leave(&reply);
}

UNIT_TEST(finds_the_id)
{
  struct reply reply;
  struct colfer_class is_int = {TEXT("int")};
  struct text id;
  read_object(&reply, (struct colfer_obj){.value = TEXT("1"), .clazz = &is_int});
  assert_int_equal(answer_find_binary_id(buffer_text(&reply.bytes), &id, NULL), JP_CLIENT_OK);
  assert_text(id, "17");
  assert_int_equal(answer_find_binary_id(TEXT("\x00\x0b"), &id, &reply.error), JP_CLIENT_PROTOCOL);
  leave(&reply);
}

UNIT_TEST(reads_throwables)
{
  struct reply reply;
  struct text frames[] = {TEXT("x(Y.java:1)")};
  struct colfer_throwable cause = {.type = TEXT("a.F")};
  struct colfer_throwable throwable = {.type = TEXT("java.lang.NoSuchMethodException"),
                                       .message = TEXT("f"),
                                       .stack_trace_elements = {frames, 1},
                                       .cause = &cause};
  struct colfer_raised_throwable raised = {.throwable = &throwable};
  struct colfer_exec_message exec = {.response_to_id = TEXT("1"), .raised_throwable = &raised};
  struct colfer_message message = {.message_type = COLFER_THROWS, .exec_message = &exec};
  assert_int_equal(read_reply(&reply, &message), JP_CLIENT_OK);
  assert_int_equal(jp_answer_kind(reply.answer), JP_ANSWER_ERROR);
  assert_int_equal(jp_answer_error_code(reply.answer), -32601);
  assert_string_equal(jp_answer_error_message(reply.answer), "Method not found");
  assert_string_equal(jp_answer_throwable(reply.answer)->stack[0], "x(Y.java:1)");
  assert_string_equal(jp_answer_throwable(reply.answer)->cause->type, "a.F");
  leave(&reply);
}

UNIT_TEST(reads_puts_control_and_meta)
{
  struct reply reply;
  struct colfer_static_field_put_done done = {.static_field_put_id = TEXT("1")};
  struct colfer_exec_message exec = {.static_field_put_done = &done};
  struct colfer_message put = {.message_type = COLFER_PUT_STATIC_DONE, .exec_message = &exec};
  assert_int_equal(read_reply(&reply, &put), JP_CLIENT_OK);
  assert_int_equal(jp_answer_kind(reply.answer), JP_ANSWER_VOID);
  leave(&reply);
  struct colfer_control_message control = {.status = COLFER_STATUS_NO_SUCH_OBJECT,
                                           .body = TEXT("No such object: 5")};
  struct colfer_message deleted = {.message_type = COLFER_CONTROL_RESPONSE, .control_message = &control};
  assert_int_equal(read_reply(&reply, &deleted), JP_CLIENT_OK);
  assert_int_equal(jp_answer_error_code(reply.answer), -32000);
  assert_string_equal(jp_answer_throwable(reply.answer)->message, "No such object: 5");
  leave(&reply);
  struct colfer_meta_message meta = {.status = COLFER_STATUS_OK, .body = TEXT("[]")};
  struct colfer_message classes = {.message_type = COLFER_META_RESPONSE, .meta_message = &meta};
  assert_int_equal(read_reply(&reply, &classes), JP_CLIENT_OK);
  assert_int_equal(jp_answer_kind(reply.answer), JP_ANSWER_STRING);
  assert_string_equal(jp_answer_text(reply.answer).data, "[]");
  leave(&reply);
}

UNIT_TEST(refuses_every_truncation)
{
  struct reply whole;
  struct colfer_class string = {TEXT("java.lang.String")};
  read_object(&whole, (struct colfer_obj){.value = TEXT("\"abc\""), .clazz = &string});
  for (size_t length = 0; length < whole.bytes.len; length++) {
    struct reply cut = {0};
    buffer_init(&cut.bytes);
    assert_int_equal(read_bytes(&cut, (struct text){whole.bytes.data, length}), JP_CLIENT_PROTOCOL);
    leave(&cut);
  }
  leave(&whole);
}

UNIT_TEST(refuses_values_that_are_none)
{
  struct colfer_class is_int = {TEXT("int")};
  static const struct text values[] = {TEXT("x"), TEXT("\"5"), TEXT("5.5"), TEXT("[1]")};
  for (size_t i = 0; i < COUNT_OF(values); i++) {
    struct reply reply;
    struct colfer_obj obj = {.value = values[i], .clazz = &is_int};
    struct colfer_return_value returned = {.object = &obj};
    struct colfer_exec_message exec = {.return_value = &returned};
    struct colfer_message message = {.message_type = COLFER_RETURNS, .exec_message = &exec};
    assert_int_equal(read_reply(&reply, &message), JP_CLIENT_PROTOCOL);
    leave(&reply);
  }
}

UNIT_MAIN
