#include "client/messages/request_binary.h"

#include "colfer/messages.h"
#include "tests/support/colfer_print.h"
#include "tests/unit/client/messages/stub_refs.h"
#include "tests/unit/unit.h"

static const uint8_t session[16] = {0x7f, 0x1a, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14};

struct room {
  struct arena arena;
  struct buffer scratch;
  struct buffer out;
  struct jp_client_error error;
};

static enum jp_client_status write(struct room *room, struct jp_request request, const uint8_t *uuid)
{
  arena_init(&room->arena);
  buffer_init(&room->scratch);
  buffer_init(&room->out);
  const struct message_binary how = {
      .session = uuid, .id = TEXT("17"), .arena = &room->arena, .scratch = &room->scratch};
  return message_write_binary(&request, &how, &room->out, &room->error);
}

static void leave(struct room *room)
{
  buffer_fini(&room->out);
  buffer_fini(&room->scratch);
  arena_fini(&room->arena);
}

/* Compares the message, as colfer_print shows it, with the text. */
static void expect(struct jp_request request, const char *shown)
{
  struct room room;
  if (write(&room, request, NULL) != JP_CLIENT_OK)
    fail_msg("%s instead of %s", room.error.text, shown);
  struct colfer_message message;
  struct buffer print = {0};
  struct jp_error fault;
  if (colfer_decode(&colfer_message_type, buffer_text(&room.out), &room.arena, &message, &fault) != JP_OK)
    fail_msg("%s", fault.text);
  colfer_print(&colfer_message_type, &message, &print);
  unit_assert_text(buffer_text(&print), text_of(shown), __FILE__, __LINE__);
  buffer_fini(&print);
  leave(&room);
}

static void expect_fault(struct jp_request request, enum jp_client_status status, const char *text)
{
  struct room room;
  assert_int_equal(write(&room, request, session), status);
  assert_string_equal(room.error.text, text);
  leave(&room);
}

UNIT_TEST(writes_calls)
{
  expect(jp_build_class_method_call("a.B", "f", JP_ARGUMENTS(jp_int(2), jp_string("x\""), jp_null(NULL))),
         "{message_type: 3, exec_message: {message_id: \"17\", class_method_call: {clazz: {name: \"a.B\"}, "
         "name: \"f\", args: [{value: \"2\", clazz: {name: \"int\"}}, {value: \"\\x22x\\x5c\\x22\\x22\", "
         "clazz: {name: \"java.lang.String\"}}, {is_null: true}]}}}");
  expect(jp_build_instance_method_call("a.B", "f", jp_object_number(42), JP_ARGUMENTS(jp_object_number(7))),
         "{message_type: 2, exec_message: {message_id: \"17\", instance_method_call: {clazz: {name: "
         "\"a.B\"}, name: \"f\", object_ref: 42, args: [{ref: 7}]}}}");
  expect(jp_build_instance_method_call(NULL, "f", jp_object_number(42), JP_NO_ARGUMENTS),
         "{message_type: 2, exec_message: {message_id: \"17\", instance_method_call: {name: \"f\", "
         "object_ref: 42}}}");
  expect(jp_build_instance_field_get(NULL, jp_object_number(42), "f"),
         "{message_type: 5, exec_message: {message_id: \"17\", instance_field_get: {object_ref: 42, field: "
         "{name: \"f\"}}}}");
  expect(jp_build_constructor_call("a.B", JP_NO_ARGUMENTS),
         "{message_type: 1, exec_message: {message_id: \"17\", constructor_call: {clazz: {name: \"a.B\"}}}}");
}

UNIT_TEST(writes_fields)
{
  const struct jp_argument value = jp_int(5);
  const struct jp_argument object = jp_object_number(9);
  expect(jp_build_static_field_get("a.B", "F"),
         "{message_type: 4, exec_message: {message_id: \"17\", static_field_get: {clazz: {name: \"a.B\"}, "
         "field: {name: \"F\"}}}}");
  expect(jp_build_instance_field_get("a.B", jp_object_number(1), "f"),
         "{message_type: 5, exec_message: {message_id: \"17\", instance_field_get: {clazz: {name: \"a.B\"}, "
         "object_ref: 1, field: {name: \"f\"}}}}");
  expect(jp_build_static_field_put("a.B", "F", &value),
         "{message_type: 6, exec_message: {message_id: \"17\", static_field_put: {clazz: {name: \"a.B\"}, "
         "field: {name: \"F\"}, value_object: {value: \"5\", clazz: {name: \"int\"}}}}}");
  expect(jp_build_instance_field_put("a.B", jp_object_number(1), "f", &object),
         "{message_type: 7, exec_message: {message_id: \"17\", instance_field_put: {clazz: {name: \"a.B\"}, "
         "object_ref: 1, field: {name: \"f\"}, value_object_ref: 9}}}");
}

UNIT_TEST(writes_elements_of_arrays)
{
  const int16_t shorts[] = {-1, 2};
  const float floats[] = {0.1F};
  const uint16_t units[] = {'a', 0xD83D};
  expect(jp_build_constructor_call("a.B", JP_ARGUMENTS(jp_array("short[]", shorts, 2),
                                                       jp_array("float[]", floats, 1),
                                                       jp_array("char[]", units, 2))),
         "{message_type: 1, exec_message: {message_id: \"17\", constructor_call: {clazz: {name: \"a.B\"}, "
         "args: [{value: \"[-1,2]\", clazz: {name: \"short[]\"}}, {value: \"[0.1]\", clazz: {name: "
         "\"float[]\"}}, {value: \"[\\x22a\\x22,\\x22\\x5cud83d\\x22]\", clazz: {name: \"char[]\"}}]}}}");
}

UNIT_TEST(writes_control_and_meta)
{
  static const char *const prefixes[] = {"java.", NULL};
  expect(jp_build_ping(), "{message_type: 31, control_message: {message_id: \"17\", command: 4}}");
  expect(jp_build_delete_object(JP_ARGUMENTS(jp_object_number(3))),
         "{message_type: 31, control_message: {message_id: \"17\", command: 1, params: [{ref: 3}]}}");
  expect(jp_build_fetch_classes_info(NULL, prefixes, false, true),
         "{message_type: 60, meta_message: {message_id: \"17\", service: 1, params: [{value: \"false\", "
         "clazz: {name: \"boolean\"}}, {value: \"true\", clazz: {name: \"boolean\"}}, {value: "
         "\"[\\x22java.\\x22]\"}, {is_null: true}]}}");
}

UNIT_TEST(writes_the_session_and_the_executor)
{
  struct room room;
  const struct jp_options options = {.size = sizeof options, .thread_affinity = "FX"};
  assert_int_equal(write(&room, jp_with_options(jp_build_static_field_get("a.B", "F"), &options), session),
                   JP_CLIENT_OK);
  struct colfer_message message;
  assert_int_equal(colfer_decode(&colfer_message_type, buffer_text(&room.out), &room.arena, &message, NULL),
                   JP_OK);
  assert_text(message.exec_message->peer_uuid, "\x7f\x1a\1\2\3\4\5\6\7\10\11\12\13\14\15\16");
  assert_text(message.exec_message->thread_affinity, "FX");
  leave(&room);
}

UNIT_TEST(refuses_requests_without_a_binary_form)
{
  const struct jp_options options = {.size = sizeof options, .base64 = true};
  expect_fault(jp_build_fetch(jp_object_number(1), 1, 0), JP_CLIENT_UNSUPPORTED,
               "binary messages have no jpeer.fetch, jpeer.describe and own names");
  expect_fault(jp_build_stats(), JP_CLIENT_UNSUPPORTED, "binary messages have no such control method");
  expect_fault(jp_build_list_names("java.", 1), JP_CLIENT_UNSUPPORTED, "binary messages have no list_names");
  expect_fault(jp_with_options(jp_build_static_field_get("a.B", "F"), &options), JP_CLIENT_UNSUPPORTED,
               "binary messages have no options but thread_affinity");
  expect_fault(jp_build_instance_method_call("a.B", "f", jp_string("x"), JP_NO_ARGUMENTS),
               JP_CLIENT_UNSUPPORTED, "in a binary message an instance is an object of the peer");
  expect_fault(jp_build_class_method_call("a.B", "f", JP_ARGUMENTS(jp_named("x"))), JP_CLIENT_UNSUPPORTED,
               "argument 0: binary messages have no batches, and so no named results");
}

UNIT_TEST(refuses_requests_that_lack_something)
{
  expect_fault(jp_build_constructor_call(NULL, JP_NO_ARGUMENTS), JP_CLIENT_INVALID, "the class is missing");
  expect_fault(jp_build_class_method_call(NULL, "f", JP_NO_ARGUMENTS), JP_CLIENT_INVALID,
               "the class is missing");
  expect_fault(jp_build_instance_method_call("", "f", jp_object_number(1), JP_NO_ARGUMENTS),
               JP_CLIENT_INVALID, "the class is missing");
  expect_fault(jp_build_static_field_get("a.B", "\xFF"), JP_CLIENT_INVALID, "a name is not UTF-8");
  expect_fault((struct jp_request){.operation = JP_PUT, .type = "a.B", .member = "f"}, JP_CLIENT_INVALID,
               "the value is missing");
  expect_fault(jp_build_class_method_call("a.B", "f", JP_ARGUMENTS(jp_int(1), jp_string("\xFF"))),
               JP_CLIENT_INVALID, "argument 1: a text is not UTF-8: byte 0 of 1");
  expect_fault(jp_build_class_method_call("a.B", "f", NULL, 1), JP_CLIENT_INVALID,
               "the arguments are missing");
}

UNIT_TEST(returns_the_size_of_a_binary_message)
{
  struct jp_request request = jp_build_ping();
  uint8_t out[64] = {0xEE};
  size_t length = 0;
  assert_int_equal(jp_request_write_binary(&request, NULL, "1", NULL, 0, &length, NULL), JP_CLIENT_OK);
  assert_in_range(length, 5, sizeof out);
  size_t short_length = 0;
  assert_int_equal(jp_request_write_binary(&request, NULL, "1", out, length - 1, &short_length, NULL),
                   JP_CLIENT_OK);
  assert_int_equal(short_length, length);
  assert_int_equal(out[0], 0xEE);
  assert_int_equal(jp_request_write_binary(&request, NULL, "1", out, length, &length, NULL), JP_CLIENT_OK);
  assert_int_equal(out[0], 0);
  assert_int_equal(out[length - 1], 0x7F);
}

UNIT_MAIN
