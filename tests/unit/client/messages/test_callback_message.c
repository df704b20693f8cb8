/* Messages of callbacks that do not occur in test_given_callbacks.c and test_callback_faults.c. */
#include "client/messages/callback_message.h"

#include "tests/unit/client/messages/stub_refs.h"
#include "tests/unit/unit.h"

/* ---- reading ---- */

struct reading {
  struct callback_reader reader;
  struct arena arena;
  struct stub_refs refs;
  struct callback_texts texts;
  struct jp_answer *args[2];
  size_t arg_count;
  int64_t callback;
  uint64_t given;
  unsigned received;
};

static enum jp_client_status accept_call(struct callback_reader *reader, const struct callback_call *call,
                                         struct jp_client_error *error)
{
  struct reading *reading = (struct reading *)reader;
  reading->received++;
  reading->callback = call->callback;
  reading->arg_count = call->arg_count;
  assert_true(callback_keep_texts(call, &reading->arena, &reading->texts));
  return callback_fill_arguments(call, reading->args, &reading->refs.refs, error);
}

static enum jp_client_status accept_release(struct callback_reader *reader, int64_t callback, uint64_t given,
                                            struct jp_client_error *error)
{
  struct reading *reading = (struct reading *)reader;
  reading->received++;
  reading->callback += callback;
  reading->given += given;
  return reading->received < 3 ? JP_CLIENT_OK : client_fail(error, JP_CLIENT_LIMIT, "no more");
}

static void reading_init(struct reading *reading)
{
  *reading = (struct reading){.reader = {accept_call, accept_release}};
  arena_init(&reading->arena);
  stub_refs_init(&reading->refs);
  for (int i = 0; i < 2; i++)
    reading->args[i] = answer_create();
}

static void reading_fini(struct reading *reading)
{
  for (int i = 0; i < 2; i++)
    answer_destroy(reading->args[i]);
  arena_fini(&reading->arena);
  assert_int_equal(stub_refs_open, 0);
}

static enum jp_client_status read(struct reading *reading, const char *message, struct jp_client_error *error)
{
  struct json_index index;
  struct json_fault fault;
  const struct json_limits limits = {.max_depth = 20};
  assert_int_equal(json_validate_indexed(text_of(message), limits, TEXT_ABSENT, &index, &fault), JP_OK);
  return callback_read_json(json_root_indexed(text_of(message), &index), &reading->reader, error);
}

UNIT_TEST(reads_a_call)
{
  struct reading reading;
  reading_init(&reading);
  assert_int_equal(read(&reading,
                        "{\"id\":\"cb\\u002d17\",\"meth\\u006fd\":\"callb\\u0061ck\",\"params\":{\"args\":[{"
                        "\"type\":\"a.B\",\"null\":false,\"ref\":12},{\"type\":\"long\",\"null\":false,"
                        "\"value\":\"-5\"}],\"parameters\":[\"a.B\",\"long\"],\"method\":\"f\\\"\","
                        "\"interface\":\"a.I\",\"callback\":9007199254740993,\"later\":1}}",
                        NULL),
                   JP_CLIENT_OK);
  assert_int_equal(reading.callback, 9007199254740993);
  assert_string_equal(reading.texts.id, "cb-17");
  assert_string_equal(reading.texts.interface, "a.I");
  assert_string_equal(reading.texts.method, "f\"");
  assert_string_equal(reading.texts.parameters[0], "a.B");
  assert_string_equal(reading.texts.parameters[1], "long");
  assert_int_equal(jp_ref_number(jp_answer_ref(reading.args[0])), 12);
  int64_t number = 0;
  assert_true(jp_answer_integer(reading.args[1], &number));
  assert_int_equal(number, -5);
  reading_fini(&reading);
}

UNIT_TEST(reports_lack_of_memory)
{
  struct reading reading;
  struct jp_client_error error;
  reading_init(&reading);
  reading.refs.room = 1;
  assert_int_equal(
      read(&reading,
           "{\"method\":\"callback\",\"params\":{\"callback\":1,\"interface\":\"a.I\",\"method\":\"f\","
           "\"parameters\":[\"a\",\"a\"],\"args\":[{\"type\":\"a\",\"ref\":1},{\"type\":\"a\",\"ref\":2}]}}",
           &error),
      JP_CLIENT_NO_MEMORY);
  reading_fini(&reading);
}

UNIT_TEST(reads_releases)
{
  struct reading reading;
  struct jp_client_error error;
  reading_init(&reading);
  assert_int_equal(read(&reading,
                        "{\"method\":\"callback_released\",\"params\":{\"callbacks\":[{\"callback\":7,"
                        "\"given\":3},{\"given\":1,\"callback\":100}]}}",
                        NULL),
                   JP_CLIENT_OK);
  assert_int_equal(reading.received, 2);
  assert_int_equal(reading.callback, 107);
  assert_int_equal(reading.given, 4);
  assert_int_equal(read(&reading,
                        "{\"method\":\"callback_released\",\"params\":{\"callbacks\":[{\"callback\":7,"
                        "\"given\":3},{\"callback\":8,\"given\":1}]}}",
                        &error),
                   JP_CLIENT_LIMIT);
  assert_int_equal(reading.received, 3);
  assert_int_equal(read(&reading, "{\"method\":\"callback_released\",\"params\":{\"callbacks\":[]}}", NULL),
                   JP_CLIENT_OK);
  reading_fini(&reading);
}

/* ---- writing ---- */

static void expect(struct buffer *out, const char *json)
{
  unit_assert_text(out->len == 0 ? TEXT("") : buffer_text(out), text_of(json), __FILE__, __LINE__);
  buffer_fini(out);
}

static void expect_form(struct jp_callback_config config, const char *interfaces, const char *facts)
{
  struct buffer names = {0};
  struct buffer rest = {0};
  assert_int_equal(callback_write_form(&config, &names, &rest, NULL), JP_CLIENT_OK);
  expect(&names, interfaces);
  expect(&rest, facts);
}

UNIT_TEST(writes_the_members_of_a_callback)
{
  const char *const names[] = {"a.\"I\"", "b.J", NULL};
  expect_form((struct jp_callback_config){0}, "", "");
  expect_form((struct jp_callback_config){.interfaces = names}, "[\"a.\\\"I\\\"\",\"b.J\"]", "");
  expect_form((struct jp_callback_config){.has_arity = true, .overrides = names, .oneway = true}, "",
              ",\"arity\":0,\"overrides\":[\"a.\\\"I\\\"\",\"b.J\"],\"oneway\":true");
  expect_form((struct jp_callback_config){.has_arity = true, .arity = 255, .borrow = true}, "",
              ",\"arity\":255,\"borrow\":true");
}

UNIT_MAIN
