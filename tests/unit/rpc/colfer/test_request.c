/* What a message is, who sent it, and what cannot be told. */
#include "messages_bench.h"
#include "rpc/colfer/request.h"
#include "tests/unit/unit.h"

static void tells_the_part_and_the_sender(void **state)
{
  (void)state;
  const struct {
    struct colfer_message message;
    enum rpc_colfer_part part;
    const char *session;
  } cases[] = {
      {EXEC(COLFER_CALLS_CONSTRUCTOR, .peer_uuid = TEXT("me")), RPC_COLFER_EXEC, "me"},
      {EXEC(COLFER_PUTS_FIELD), RPC_COLFER_EXEC, ""},
      {EXEC(0, .clinit_call = &(struct colfer_clinit_call){0}), RPC_COLFER_EXEC, ""},
      {CONTROL_MESSAGE(.from_peer = TEXT("you")), RPC_COLFER_CONTROL, "you"},
      {META_MESSAGE(.from_peer = TEXT("them")), RPC_COLFER_META, "them"},
  };
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    struct buffer bytes;
    struct arena arena;
    struct outcome outcome;
    struct rpc_colfer_request request;
    buffer_init(&bytes);
    arena_init(&arena);
    encode_message(&bytes, &cases[i].message);
    assert_int_equal(rpc_colfer_request_read(buffer_text(&bytes), &arena, &request, &outcome), JP_OK);
    assert_int_equal(request.part, cases[i].part);
    assert_text(request.id, "1");
    unit_assert_text(request.session, text_of(cases[i].session), __FILE__, __LINE__);
    arena_fini(&arena);
    buffer_fini(&bytes);
  }
}

static void says_what_cannot_be_served(void **state)
{
  (void)state;
  static const struct {
    struct text bytes;
    const char *id;
    const char *error;
    bool is_unsupported;
  } cases[] = {
      {TEXT(""), "", "The message is empty", false},
      {TEXT("\x7f"), "", "Message type 0 is not served", true},
      {TEXT("\x00\x0c\x7f"), "", "Message type 12 is not served", true},
      {TEXT("\x00\xff\x01\x01\x01x\x7f\x7f"), "x", "Message type 255 is not served", true},
      {TEXT("\x00\x0b\x01\x01\x01x\x7f\x7f"), "x", "Message type 11 is an answer, not a request", false},
      {TEXT("\x00\x20\x02\x01\x01x\x7f\x7f"), "x", "Message type 32 is an answer, not a request", false},
      {TEXT("\x00\x3d\x03\x01\x01x\x7f\x7f"), "x", "Message type 61 is an answer, not a request", false},
      {TEXT("\x04\x7f\x7f"), "", "Intercept messages are not served", true},
      {TEXT("\x00\x0c\x08"), "", "Intercept messages are not served", true},
      {TEXT("\x00\x03\x09"), "", "The message cannot be decoded: message, byte 2: message has no field 9",
       false},
      {TEXT("\x00\x03\x01\x01\x01x"), "x",
       "The message cannot be decoded: exec_message, byte 6: the message ends here", false},
      {TEXT("\x00\x03\x01\x01\x05x"), "",
       "The message cannot be decoded: exec_message.message_id, byte 4: 5 bytes, and 1 are left", false},
      {TEXT("\x00\x1f\x02\x01\x01x\x04\xff\xff\x03"), "x",
       "The message cannot be decoded: control_message.params, byte 7: 65535 elements, and 0 bytes are left",
       false},
      {TEXT("\x00\x03\x7f\x7f"), "",
       "The message cannot be decoded: message, byte 3: 1 bytes are behind the end", false},
  };
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    struct arena arena;
    struct outcome outcome;
    struct rpc_colfer_request request;
    arena_init(&arena);
    char *bytes = unit_exact_copy(cases[i].bytes.data, cases[i].bytes.len);
    assert_int_equal(
        rpc_colfer_request_read((struct text){bytes, cases[i].bytes.len}, &arena, &request, &outcome),
        JP_INVALID);
    assert_int_equal(request.part, RPC_COLFER_CONTROL);
    unit_assert_text(request.id, text_of(cases[i].id), __FILE__, __LINE__);
    unit_assert_text(outcome.message, text_of(cases[i].error), __FILE__, __LINE__);
    assert_int_equal(text_equal(outcome.status, TEXT("UNSUPPORTED")), cases[i].is_unsupported);
    test_free(bytes);
    arena_fini(&arena);
  }
}

static void glances_at_a_beginning(void **state)
{
  (void)state;
  static const struct {
    struct text beginning;
    enum rpc_colfer_part part;
    const char *id;
  } cases[] = {
      {TEXT(""), RPC_COLFER_CONTROL, ""},
      {TEXT("\x00"), RPC_COLFER_CONTROL, ""},
      {TEXT("\x00\x03\x01"), RPC_COLFER_EXEC, ""},
      {TEXT("\x00\x03\x01\x00\x02me\x01\x02"
            "12\x09\x00\x01"),
       RPC_COLFER_EXEC, "12"},
      {TEXT("\x00\x03\x01\x01\x02"
            "1"),
       RPC_COLFER_EXEC, ""}, /* there may be more of it */
      {TEXT("\x00\x1f\x02\x01\x01"
            "5\x04\x09"),
       RPC_COLFER_CONTROL, "5"},
      {TEXT("\x00\x3c\x03\x01\x01"
            "5"),
       RPC_COLFER_META, "5"},
      {TEXT("\x09\x01\x01"
            "5"),
       RPC_COLFER_CONTROL, ""},
  };
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    struct arena arena;
    struct rpc_colfer_request request;
    arena_init(&arena);
    rpc_colfer_request_glance(cases[i].beginning, &arena, &request);
    assert_int_equal(request.part, cases[i].part);
    unit_assert_text(request.id, text_of(cases[i].id), __FILE__, __LINE__);
    arena_fini(&arena);
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(tells_the_part_and_the_sender),
      cmocka_unit_test(says_what_cannot_be_served),
      cmocka_unit_test(glances_at_a_beginning),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
