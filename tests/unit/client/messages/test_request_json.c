#include "client/messages/request_json.h"

#include "tests/unit/client/messages/stub_refs.h"
#include "tests/unit/unit.h"

static enum jp_client_status write(const struct jp_request *request, const struct message_json *how,
                                   struct buffer *out, struct jp_client_error *error)
{
  buffer_init(out);
  return message_write_json(request, how, out, error);
}

static void expect_with(struct jp_request request, struct message_json how, const char *json)
{
  struct buffer out;
  struct jp_client_error error;
  if (write(&request, &how, &out, &error) != JP_CLIENT_OK)
    fail_msg("%s instead of %s", error.text, json);
  unit_assert_text(buffer_text(&out), text_of(json), __FILE__, __LINE__);
  buffer_fini(&out);
}

/* members: the text after the id. */
static void expect(struct jp_request request, const char *members)
{
  struct buffer json = {0};
  buffer_printf(&json, "{\"jsonrpc\":\"2.0\",\"id\":1,%s}", members);
  buffer_append_char(&json, '\0');
  expect_with(request, (struct message_json){.id = TEXT("1")}, json.data);
  buffer_fini(&json);
}

static void expect_fault(struct jp_request request, enum jp_client_status status, const char *text)
{
  struct buffer out;
  struct jp_client_error error;
  assert_int_equal(write(&request, &(struct message_json){.id = TEXT("1")}, &out, &error), status);
  assert_string_equal(error.text, text);
  assert_int_equal(error.status, status);
  buffer_fini(&out);
}

UNIT_TEST(writes_receivers_that_are_values)
{
  expect(jp_build_instance_method_call("java.lang.String", "length", jp_string("abc"), JP_NO_ARGUMENTS),
         "\"method\":\"call\",\"params\":{\"type\":\"java.lang.String\",\"method\":\"length\",\"instance\":{"
         "\"type\":\"java.lang.String\",\"value\":\"abc\"}}");
  expect_fault(jp_build_instance_method_call("java.lang.String", "length", jp_as_type(NULL, jp_string("abc")),
                                             JP_NO_ARGUMENTS),
               JP_CLIENT_INVALID, "instance: an instance that is a value needs a type");
}

UNIT_TEST(writes_options)
{
  const struct jp_options all = {.size = sizeof all,
                                 .loader = jp_object_number(4),
                                 .base64 = true,
                                 .array_value_max = 5000,
                                 .elements = true,
                                 .longs_as_text = true,
                                 .types = true,
                                 .throwables = true,
                                 .thread_affinity = "FX",
                                 .within = "cb-17",
                                 .idempotent = true};
  const struct jp_options none = {.size = sizeof none};
  expect(jp_with_options(jp_build_ping(), &none), "\"method\":\"control\",\"params\":{\"method\":\"ping\"}");
  expect(jp_with_options(jp_build_ping(), &all),
         "\"method\":\"control\",\"params\":{\"method\":\"ping\"},\"options\":{\"loader\":4,\"encoding\":"
         "\"base64\",\"array_value_max\":5000,\"elements\":true,\"longs\":\"text\",\"types\":true,"
         "\"throwables\":true,\"idempotent\":true,\"threadAffinity\":\"FX\",\"within\":\"cb-17\"}");
  const struct jp_options idempotent = {.size = sizeof idempotent, .idempotent = true};
  expect(jp_with_options(jp_build_ping(), &idempotent),
         "\"method\":\"control\",\"params\":{\"method\":\"ping\"},\"options\":{\"idempotent\":true}");
  const struct jp_options throwables = {.size = sizeof throwables, .throwables = true};
  const struct jp_options types = {.size = sizeof types, .types = true};
  expect(jp_build_list_names("a\".", 5),
         "\"method\":\"meta\",\"params\":{\"method\":\"list_names\",\"args\":[{\"name\":"
         "\"prefix\",\"value\":\"a\\\".\"},{\"name\":\"max\",\"value\":5}]}");
  expect(jp_with_options(jp_build_fetch(jp_object_number(7), 1, 0), &types),
         "\"method\":\"jpeer.fetch\",\"params\":{\"instance\":7,\"max\":1},\"options\":{\"types\":true}");
  struct jp_text columns = {"[\"a\"]", 5};
  expect(jp_build_columns(jp_object_number(7), 2, 1, columns),
         "\"method\":\"jpeer.columns\",\"params\":{\"instance\":7,\"max\":2,\"from\":1,\"columns\":[\"a\"]}");
  const struct jp_entry members[] = {{{"type", 4}, jp_string("byte")},
                                     {{"data", 4}, jp_array("byte[]", "\1", 1)}};
  const struct jp_argument column = jp_map(NULL, members, 2);
  expect(jp_build_rows(jp_object_number(7), 1, &column, 1),
         "\"method\":\"jpeer.rows\",\"params\":{\"instance\":7,\"rows\":1,\"columns\":[{\"type\":\"byte\","
         "\"data\":"
         "\"AQ==\"}]}");
  expect_fault(jp_build_rows(jp_object_number(7), 1, &members[0].value, 1), JP_CLIENT_INVALID,
               "column 0 is no map of its members");
  expect(jp_with_options(jp_build_ping(), &throwables),
         "\"method\":\"control\",\"params\":{\"method\":\"ping\"},\"options\":{\"throwables\":true}");
  expect_with(jp_build_ping(), (struct message_json){.id = TEXT("\"x\""), .is_dropped = true},
              "{\"jsonrpc\":\"2.0\",\"id\":\"x\",\"method\":\"control\",\"params\":{\"method\":\"ping\"},"
              "\"options\":{\"keep\":false}}");
  const struct jp_options unsized = {.base64 = true};
  expect_fault(jp_with_options(jp_build_ping(), &unsized), JP_CLIENT_INVALID,
               "options: size is not sizeof(struct jp_options)");
}

UNIT_TEST(writes_releases)
{
  const struct message_release releases[] = {{5, 1}, {2147483647, 4000000000U}};
  struct buffer out = {0};
  message_write_release_json(releases, 2, TEXT_ABSENT, TEXT_ABSENT, 0, &out);
  assert_text(buffer_text(&out),
              "{\"jsonrpc\":\"2.0\",\"method\":\"control\",\"params\":{\"method\":\"delete_object\",\"args\":"
              "[{\"ref\":5,\"told\":1},{\"ref\":2147483647,\"told\":4000000000}]}}");
  buffer_fini(&out);
}

UNIT_TEST(writes_the_epoch_of_the_refs_that_it_names)
{
  struct jp_ref *ref = stub_ref(7, "T");
  struct jp_client_error error;
  struct buffer out = {0};
  stub_ref_set_epoch(ref, 0xabc);
  const struct jp_argument argument = jp_object(ref);
  const struct jp_request request = jp_build_class_method_call("T", "m", &argument, 1);
  struct message_refs refs = {.epoch = 0xabc};
  struct message_json how = {.id = TEXT("1"), .refs = &refs, .has_epoch = true};
  assert_int_equal(message_write_json(&request, &how, &out, &error), JP_CLIENT_OK);
  assert_true(refs.are_named);
  assert_text(buffer_text(&out),
              "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"call\",\"params\":{\"type\":\"T\",\"method\":\"m\","
              "\"args\":[{\"ref\":7}]},\"epoch\":\"0000000000000abc\"}");
  buffer_clear(&out);
  refs = (struct message_refs){.epoch = 0xabd};
  assert_int_equal(message_write_json(&request, &how, &out, &error), JP_CLIENT_STALE);
  assert_string_equal(error.text,
                      "argument 0: the object T, ref 7 is of a peer that has ended, or of another session");
  buffer_clear(&out);
  refs = (struct message_refs){
      .epoch = 0}; /* the peer named no epoch, so a ref with an epoch belongs to another peer */
  assert_int_equal(message_write_json(&request, &how, &out, &error), JP_CLIENT_STALE);
  buffer_clear(&out);
  refs = (struct message_refs){.epoch = 0, .may_adopt = true};
  assert_int_equal(message_write_json(&request, &how, &out, &error), JP_CLIENT_OK);
  assert_true(refs.are_named && refs.epoch == 0xabc);
  buffer_clear(&out);
  refs.are_named = false;
  const struct jp_request ping = jp_build_ping();
  assert_int_equal(message_write_json(&ping, &how, &out, &error), JP_CLIENT_OK);
  assert_false(refs.are_named);
  assert_null(memmem(out.data, out.len, "epoch", 5));
  buffer_clear(&out);
  const struct message_release release = {7, 1};
  message_write_release_json(&release, 1, TEXT("id"), TEXT_ABSENT, 0xabc, &out);
  assert_text(buffer_text(&out),
              "{\"jsonrpc\":\"2.0\",\"peer-id\":\"id\",\"epoch\":\"0000000000000abc\",\"method\":\"control\","
              "\"params\":{\"method\":\"delete_object\",\"args\":[{\"ref\":7,\"told\":1}]}}");
  buffer_fini(&out);
  jp_ref_release(ref);
}

UNIT_TEST(refuses_requests_that_lack_something)
{
  expect_fault(jp_build_constructor_call(NULL, JP_NO_ARGUMENTS), JP_CLIENT_INVALID, "the class is missing");
  expect_fault(jp_build_class_method_call(NULL, "f", JP_NO_ARGUMENTS), JP_CLIENT_INVALID,
               "the class is missing");
  expect_fault(jp_build_static_field_get(NULL, "f"), JP_CLIENT_INVALID, "the class is missing");
  expect_fault(jp_build_instance_method_call("", "f", jp_object_number(1), JP_NO_ARGUMENTS),
               JP_CLIENT_INVALID, "the class is missing");
  expect_fault(jp_build_class_method_call("a.B", "", JP_NO_ARGUMENTS), JP_CLIENT_INVALID,
               "the method is missing");
  expect_fault(jp_build_static_field_get("a.B", NULL), JP_CLIENT_INVALID, "the field is missing");
  expect_fault(jp_build_class_method_call("a.B", "f", NULL, 3), JP_CLIENT_INVALID,
               "the arguments are missing");
  expect_fault(jp_build_class_method_call("a.B", "f", JP_ARGUMENTS(jp_int(1), jp_string("\xFF"))),
               JP_CLIENT_INVALID, "argument 1: a text is not UTF-8: byte 0 of 1");
  expect_fault((struct jp_request){.operation = JP_PUT, .type = "a.B", .member = "f"}, JP_CLIENT_INVALID,
               "value: this is no value (an argument of kind 0)");
  expect_fault((struct jp_request){.operation = (enum jp_operation)77}, JP_CLIENT_INVALID,
               "there is no operation 77");
  expect_fault(jp_build_method("a.B.f", jp_text_of("[1")), JP_CLIENT_INVALID,
               "params is no JSON: byte 2: unexpected end");
}

/* ---- for programs with a transport of their own ---- */

UNIT_TEST(writes_json_with_an_id)
{
  struct jp_request request = jp_build_ping();
  struct jp_json_writer *writer = jp_json_writer_create();
  assert_int_equal(jp_request_write_json(&request, jp_text_of("\"a\""), writer, NULL), JP_CLIENT_OK);
  struct jp_text text = jp_json_writer_text(writer);
  assert_text(((struct text){text.data, text.len}),
              "{\"jsonrpc\":\"2.0\",\"id\":\"a\",\"method\":\"control\",\"params\":{\"method\":\"ping\"}}");
  jp_json_writer_destroy(writer);
}

UNIT_TEST(refuses_invalid_ids)
{
  static const char *const ids[] = {"", "null", "{}", "[1]", "1,\"x\":2", "true", "\"a"};
  struct jp_request request = jp_build_ping();
  struct jp_json_writer *writer = jp_json_writer_create();
  for (size_t i = 0; i < COUNT_OF(ids); i++)
    assert_int_equal(jp_request_write_json(&request, jp_text_of(ids[i]), writer, NULL), JP_CLIENT_INVALID);
  assert_int_equal(jp_json_writer_text(writer).len, 0);
  jp_json_writer_destroy(writer);
}

/* ---- requests given as JSON ---- */

static void assert_written(const char *text, const char *within, const char *expected)
{
  struct request_text request;
  struct jp_client_error error;
  struct buffer out = {0};
  const struct message_json how = {.id = TEXT("7"), .within = within == NULL ? TEXT_ABSENT : text_of(within)};
  if (request_text_read(text_of(text), &request, &error) != JP_CLIENT_OK)
    fail_msg("%s: %s", text, error.text);
  request_text_write(&request, &how, &out);
  assert_false(out.failed);
  if (!text_equal(buffer_text(&out), text_of(expected)))
    fail_msg("%.*s", TEXT_ARGS(buffer_text(&out)));
  buffer_fini(&out);
}

UNIT_TEST(writes_its_own_id)
{
  assert_written("{\"method\":\"rpc.discover\"}", NULL,
                 "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"rpc.discover\"}");
  assert_written(
      " {\"id\":99,\"params\" : {\"args\":[1.5f]},\"jsonrpc\":\"1.0\", \"method\":\"call\",\"more\":1} ",
      NULL, "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"call\",\"params\":{\"args\":[1.5f]}}");
}

UNIT_TEST(nests_requests_without_the_option_within)
{
  assert_written("{\"method\":\"m\"}", "c1",
                 "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"m\",\"options\":{\"within\":\"c1\"}}");
  assert_written("{\"method\":\"m\",\"options\":{ }}", "c1",
                 "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"m\",\"options\":{\"within\":\"c1\"}}");
  assert_written(
      "{\"method\":\"m\",\"options\":{\"types\":true}}", "c1",
      "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"m\",\"options\":{\"types\":true,\"within\":\"c1\"}}");
  assert_written("{\"method\":\"m\",\"options\":{\"within\":\"\"}}", "c1",
                 "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"m\",\"options\":{\"within\":\"\"}}");
}

UNIT_TEST(knows_the_form_of_their_answers)
{
  static const struct {
    const char *text;
    enum answer_form form;
  } cases[] = {
      {"{\"method\":\"call\"}", ANSWER_ENVELOPE},
      {"{\"method\":\"c\\u0061ll\"}", ANSWER_ENVELOPE},
      {"{\"method\":\"call\",\"options\":{\"elements\":true}}", ANSWER_ELEMENTS},
      {"{\"method\":\"call\",\"options\":{\"elements\":false}}", ANSWER_ENVELOPE},
      {"{\"method\":\"jpeer.fetch\"}", ANSWER_PLAIN},
      {"{\"method\":\"jpeer.describe\"}", ANSWER_DOCUMENT},
      {"{\"method\":\"rpc.discover\"}", ANSWER_DOCUMENT},
      {"{\"method\":\"java.lang.Math.max\"}", ANSWER_PLAIN},
      {"{\"method\":\"\"}", ANSWER_PLAIN},
  };
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    struct request_text request;
    assert_int_equal(request_text_read(text_of(cases[i].text), &request, NULL), JP_CLIENT_OK);
    assert_int_equal(request.form, cases[i].form);
  }
}

UNIT_TEST(refuses_other_texts)
{
  static const char *const wrong[] = {"",
                                      "[]",
                                      "{}",
                                      "{\"method\":5}",
                                      "{\"method\":\"m\"} {}",
                                      "{\"method\":\"m\"",
                                      "{\"method\":\"m\",\"options\":[]}",
                                      "{\"method\":\"m\",\"options\":null}"};
  for (size_t i = 0; i < COUNT_OF(wrong); i++) {
    struct request_text request;
    assert_int_equal(request_text_read(text_of(wrong[i]), &request, NULL), JP_CLIENT_INVALID);
  }
}

UNIT_MAIN
