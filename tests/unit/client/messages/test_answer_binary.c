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
  test_free(copy); /* the answer borrows nothing of it */
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
