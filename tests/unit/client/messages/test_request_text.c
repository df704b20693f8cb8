/* Requests that come as JSON. */
#include "client/messages/request_text.h"

#include "tests/unit/unit.h"

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

UNIT_TEST(gives_them_an_id_of_its_own)
{
  assert_written("{\"method\":\"rpc.discover\"}", NULL,
                 "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"rpc.discover\"}");
  assert_written(
      " {\"id\":99,\"params\" : {\"args\":[1.5f]},\"jsonrpc\":\"1.0\", \"method\":\"call\",\"more\":1} ",
      NULL, "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"call\",\"params\":{\"args\":[1.5f]}}");
}

UNIT_TEST(nests_them_unless_they_say_otherwise)
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

UNIT_TEST(knows_what_their_answers_are)
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

UNIT_TEST(refuses_what_is_no_request)
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
