/* The client side: how messages are built, and how answers are matched to requests. */
#include "include/jpeer/jsonrpc.h"

#include "tests/unit/unit.h"

#include <stdio.h>

#define PUBLIC_TEXT(literal) ((struct jp_text){(literal), sizeof(literal) - 1})
#define NO_PARAMS            ((struct jp_text){NULL, 0})

struct fixture {
  struct jp_jsonrpc_client *client;
  char seen[1024]; /* "tag:result ", "tag!code message ", a ? for a stranger's */
};

static int set_up(void **state)
{
  struct fixture *f = test_calloc(1, sizeof *f);
  f->client = jp_jsonrpc_client_create();
  *state = f;
  return f->client == NULL;
}

static int tear_down(void **state)
{
  struct fixture *f = *state;
  jp_jsonrpc_client_destroy(f->client);
  test_free(f);
  return 0;
}

static void see(void *context, const struct jp_jsonrpc_answer *answer)
{
  struct fixture *f = context;
  char *end = f->seen + strlen(f->seen);
  end += sprintf(end, "%s", answer->is_known ? (const char *)answer->tag : "?");
  if (answer->is_error)
    sprintf(end, "!%lld %.*s ", (long long)answer->code, (int)answer->message.text.len,
            answer->message.text.data);
  else
    sprintf(end, ":%.*s ", (int)answer->result.text.len, answer->result.text.data);
}

static enum jp_jsonrpc_status receive(struct fixture *f, const char *text)
{
  f->seen[0] = '\0';
  return jp_jsonrpc_client_receive(f->client, (struct jp_text){text, strlen(text)}, see, f);
}

static void assert_message(struct fixture *f, const char *wanted)
{
  struct jp_text message = jp_jsonrpc_client_message(f->client);
  unit_assert_text((struct text){message.data, message.len}, text_of(wanted), __FILE__, __LINE__);
}

static void ask(struct fixture *f, const char *method, const char *tag)
{
  assert_int_equal(jp_jsonrpc_client_request(f->client, method, NO_PARAMS, (void *)tag, NULL), JP_JSONRPC_OK);
}

UNIT_TEST_WITH(builds_requests_notifications_and_batches, set_up, tear_down)
{
  struct fixture *f = *state;
  int64_t id = 0;
  assert_null(jp_jsonrpc_client_message(f->client).data);
  assert_int_equal(jp_jsonrpc_client_request(f->client, "subtract", PUBLIC_TEXT("[42,23]"), NULL, &id),
                   JP_JSONRPC_OK);
  assert_int_equal(id, 1);
  assert_message(f, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"subtract\",\"params\":[42,23]}");
  assert_message(f, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"subtract\",\"params\":[42,23]}");
  assert_int_equal(jp_jsonrpc_client_notify(f->client, "up\"date", PUBLIC_TEXT("{}")), JP_JSONRPC_OK);
  assert_message(f, "{\"jsonrpc\":\"2.0\",\"method\":\"up\\\"date\",\"params\":{}}");
  ask(f, "a", "a");
  assert_int_equal(jp_jsonrpc_client_notify(f->client, "n", NO_PARAMS), JP_JSONRPC_OK);
  ask(f, "b", "b");
  assert_message(f, "[{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"a\"},{\"jsonrpc\":\"2.0\",\"method\":\"n\"},"
                    "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"b\"}]");
  assert_int_equal(jp_jsonrpc_client_pending(f->client), 3);
}

UNIT_TEST_WITH(refuses_params_that_are_none, set_up, tear_down)
{
  struct fixture *f = *state;
  static const char *const params[] = {"", "5", "\"x\"", "null", "[", "[1l]", "{}x"};
  for (size_t i = 0; i < COUNT_OF(params); i++) {
    struct jp_text text = {params[i], strlen(params[i])};
    assert_int_equal(jp_jsonrpc_client_request(f->client, "m", text, NULL, NULL), JP_JSONRPC_INVALID);
    assert_int_equal(jp_jsonrpc_client_notify(f->client, "m", text), JP_JSONRPC_INVALID);
  }
  assert_int_equal(jp_jsonrpc_client_pending(f->client), 0);
  assert_null(jp_jsonrpc_client_message(f->client).data);
}

UNIT_TEST_WITH(matches_answers_in_any_order_and_once, set_up, tear_down)
{
  struct fixture *f = *state;
  ask(f, "a", "A");
  ask(f, "b", "B");
  ask(f, "c", "C");
  assert_int_equal(receive(f, "[{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":[1]},{\"id\":1,\"jsonrpc\":\"2.0\","
                              "\"error\":{\"code\":-32601,\"message\":\"Method not found\"}}]"),
                   JP_JSONRPC_OK);
  assert_string_equal(f->seen, "C:[1] A!-32601 \"Method not found\" ");
  assert_int_equal(jp_jsonrpc_client_pending(f->client), 1);
  assert_int_equal(receive(f, "{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":[1]}"), JP_JSONRPC_OK);
  assert_string_equal(f->seen, "?:[1] ");
  assert_int_equal(receive(f, "{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":null}"), JP_JSONRPC_OK);
  assert_string_equal(f->seen, "B:null ");
}

UNIT_TEST_WITH(reports_errors_that_belong_to_no_request, set_up, tear_down)
{
  struct fixture *f = *state;
  ask(f, "a", "A");
  assert_int_equal(
      receive(f, "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32700,\"message\":\"Parse error\"}}"),
      JP_JSONRPC_OK);
  assert_string_equal(f->seen, "?!-32700 \"Parse error\" ");
  assert_int_equal(jp_jsonrpc_client_pending(f->client), 1);
}

UNIT_TEST_WITH(refuses_messages_that_are_no_answer, set_up, tear_down)
{
  struct fixture *f = *state;
  static const char *const texts[] = {
      "",
      "x",
      "5",
      "[]",
      "[5]",
      "{}",
      "{\"jsonrpc\":\"2.0\",\"id\":1}",
      "{\"jsonrpc\":\"2.0\",\"result\":1}",
      "{\"id\":1,\"result\":1}",
      "{\"jsonrpc\":\"2.1\",\"id\":1,\"result\":1}",
      "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":1,\"error\":{\"code\":1,\"message\":\"\"}}",
      "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":5}",
      "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":\"1\",\"message\":\"\"}}",
      "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":1}}",
  };
  ask(f, "a", "A");
  for (size_t i = 0; i < COUNT_OF(texts); i++) {
    assert_int_equal(receive(f, texts[i]), JP_JSONRPC_INVALID);
    assert_string_equal(f->seen, "");
  }
  assert_int_equal(jp_jsonrpc_client_pending(f->client), 1);
}

UNIT_TEST_WITH(forgets_a_request_on_demand, set_up, tear_down)
{
  struct fixture *f = *state;
  for (int i = 0; i < 100; i++)
    ask(f, "a", "A");
  assert_true(jp_jsonrpc_client_forget(f->client, 50));
  assert_false(jp_jsonrpc_client_forget(f->client, 50));
  assert_false(jp_jsonrpc_client_forget(f->client, 101));
  assert_int_equal(jp_jsonrpc_client_pending(f->client), 99);
  assert_int_equal(receive(f, "{\"jsonrpc\":\"2.0\",\"id\":50,\"result\":1}"), JP_JSONRPC_OK);
  assert_string_equal(f->seen, "?:1 ");
}

UNIT_TEST(reads_and_writes_values)
{
  static const char text[] =
      "{\"a\":[1,-2.5,true,null],\"b\\u0063\":\"x\\u00e9\\n\",\"a2\":99999999999999999999}";
  struct jp_json root;
  assert_int_equal(jp_json_parse(PUBLIC_TEXT(text), 8, &root, NULL), JP_JSONRPC_OK);
  struct jp_json list = jp_json_member(root, "a");
  int64_t integer = 7;
  double number = 7;
  bool boolean = false;
  char string[4];
  assert_int_equal(jp_json_count(list), 4);
  assert_true(jp_json_integer(jp_json_at(list, 0), &integer));
  assert_int_equal(integer, 1);
  assert_false(jp_json_integer(jp_json_at(list, 1), &integer));
  assert_true(jp_json_number(jp_json_at(list, 1), &number));
  assert_true(number == -2.5);
  assert_true(jp_json_boolean(jp_json_at(list, 2), &boolean));
  assert_true(boolean);
  assert_int_equal(jp_json_at(list, 3).kind, JP_JSON_NULL);
  assert_int_equal(jp_json_at(list, 4).kind, JP_JSON_ABSENT);
  assert_false(jp_json_integer(jp_json_member(root, "a2"), &integer));
  assert_int_equal(jp_json_string(jp_json_member(root, "bc"), string, sizeof string), 4);
  assert_string_equal(string, "x\xC3\xA9");
  assert_true(jp_json_string(list, string, sizeof string) == SIZE_MAX);
  size_t offset = 0;
  assert_int_equal(jp_json_parse(PUBLIC_TEXT("[1,]"), 8, &root, &offset), JP_JSONRPC_INVALID);
  assert_int_equal(offset, 3);
}

UNIT_TEST(writes_commas_by_itself)
{
  struct jp_json_writer *writer = jp_json_writer_create();
  jp_json_begin_object(writer);
  jp_json_write_key(writer, "a,");
  jp_json_begin_array(writer);
  jp_json_write_string(writer, "[");
  jp_json_write_number(writer, 0.5);
  jp_json_write_boolean(writer, false);
  jp_json_begin_array(writer);
  jp_json_end_array(writer);
  jp_json_write_null(writer);
  jp_json_end_array(writer);
  jp_json_write_key(writer, "b");
  jp_json_write_integer(writer, -1);
  jp_json_end_object(writer);
  struct jp_text written = jp_json_writer_text(writer);
  unit_assert_text((struct text){written.data, written.len},
                   TEXT("{\"a,\":[\"[\",0.5,false,[],null],\"b\":-1}"), __FILE__, __LINE__);
  jp_json_writer_clear(writer);
  assert_int_equal(jp_json_writer_text(writer).len, 0);
  jp_json_writer_destroy(writer);
}

UNIT_MAIN
