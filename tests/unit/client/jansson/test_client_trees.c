#include "fake_peer.h"

#include "include/jpeer/client_jansson.h"

static void assert_tree(json_t *tree, const char *text)
{
  char *dump = json_dumps(tree, JSON_COMPACT | JSON_SORT_KEYS);
  assert_string_equal(dump, text);
  free(dump);
  json_decref(tree);
}

UNIT_TEST(converts_requests_to_trees)
{
  struct jp_request request = jp_build_class_method_call("a.B", "f", JP_ARGUMENTS(jp_int(5)));
  json_t *id = json_string("x\"");
  assert_tree(jp_request_tree(&request, id, NULL),
              "{\"id\":\"x\\\"\",\"jsonrpc\":\"2.0\",\"method\":\"call\",\"params\":{\"args\":[{\"type\":"
              "\"int\",\"value\":5}],\"method\":\"f\",\"type\":\"a.B\"}}");
  json_decref(id);
  request = jp_build_ping();
  assert_tree(jp_request_tree(&request, NULL, NULL),
              "{\"jsonrpc\":\"2.0\",\"method\":\"control\",\"params\":{\"method\":\"ping\"}}");
}

UNIT_TEST(reports_why_there_is_no_tree)
{
  struct jp_client_error error;
  struct jp_request request = jp_build_class_method_call("a.B", NULL, JP_NO_ARGUMENTS);
  assert_null(jp_request_tree(&request, NULL, &error));
  assert_string_equal(error.text, "the method is missing");
  json_t *id = json_array();
  request = jp_build_ping();
  assert_null(jp_request_tree(&request, id, &error));
  assert_int_equal(error.status, JP_CLIENT_INVALID);
  json_decref(id);
  request = jp_build_class_method_call("a.B", "f", JP_ARGUMENTS(jp_json_argument(jp_text_of("1.5f"))));
  assert_null(jp_request_tree(&request, NULL, &error));
  assert_int_equal(error.status, JP_CLIENT_INVALID);
  assert_non_null(strstr(error.text, "jansson cannot hold this request: "));
}

static void serve(struct fake_connection *connection, void *context)
{
  (void)context;
  struct text message;
  while (fake_read(connection, &message)) {
    if (fake_id(message) != 0)
      fake_write(connection, "{\"jsonrpc\":\"2.0\",\"id\":%llu,\"result\":[{\"ref\":7},{\"ref\":\"x\"},8]}",
                 (unsigned long long)fake_id(message));
  }
}

UNIT_TEST(converts_answers_to_trees)
{
  struct fake_peer *peer = fake_peer_start(serve, NULL);
  struct jp_client *client;
  struct jp_answer *answer;
  struct jp_request request = jp_build_method("a.B.f", jp_text_of("[]"));
  assert_int_equal(jp_client_open(fake_peer_url(peer), NULL, &client, NULL), JP_CLIENT_OK);
  assert_int_equal(jp_client_call(client, &request, 60000, &answer, NULL), JP_CLIENT_OK);
  json_t *tree = jp_answer_tree(answer);
  struct jp_ref *ref = jp_answer_take_ref_tree(answer, json_array_get(tree, 0));
  assert_int_equal(jp_ref_number(ref), 7);
  assert_null(jp_answer_take_ref_tree(answer, json_array_get(tree, 0)));
  assert_null(jp_answer_take_ref_tree(answer, json_array_get(tree, 1)));
  assert_null(jp_answer_take_ref_tree(answer, json_array_get(tree, 2)));
  assert_null(jp_answer_take_ref_tree(answer, NULL));
  jp_ref_release(ref);
  assert_tree(tree, "[{\"ref\":7},{\"ref\":\"x\"},8]");
  jp_answer_free(answer);
  jp_client_close(client);
  fake_peer_stop(peer);
}

UNIT_MAIN
