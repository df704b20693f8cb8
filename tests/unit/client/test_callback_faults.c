/* Faults of the peer and of the program with callbacks. */
#include "callback_fixture.h"

/* ---- invalid messages of the peer ---- */

UNIT_TEST(test_wrong_messages_end_the_connection)
{
  static const struct {
    const char *message;
    const char *text;
  } wrong[] = {
      {"{\"jsonrpc\":\"2.0\",\"id\":\"a\",\"method\":\"call\"}",
       "the peer sends an unknown request: {\"jsonrpc\":\"2.0\",\"id\":\"a\",\"method\":\"call\"}"},
      {"{\"jsonrpc\":\"2.0\",\"id\":\"a\",\"method\":\"callback\"}",
       "the peer calls the client wrongly: params is no object"},
      {"{\"jsonrpc\":\"2.0\",\"id\":3," CALLBACK("1") ",\"parameters\":[],\"args\":[]}}",
       "the peer calls the client wrongly: its id is none"},
      {HEAD("\"a\"") CALLBACK("1") ",\"args\":[]}}",
       "the peer calls the client wrongly: parameters is missing"},
      {HEAD("\"a\"") CALLBACK("1") ",\"parameters\":[],\"args\":{}}}",
       "the peer calls the client wrongly: args is an object"},
      {HEAD("\"a\"") CALLBACK("1") ",\"parameters\":[],\"args\":[null]}}",
       "the peer calls the client wrongly: parameters are not as many strings as args"},
      {HEAD("\"a\"") CALLBACK("1") ",\"parameters\":[\"int\"],\"args\":[null]}}",
       "the peer calls the client wrongly: an argument is no object"},
      {HEAD("\"a\"") CALLBACK("1") ",\"parameters\":[\"int\"],\"args\":[{}]}}",
       "this is no answer: its value has no type"},
      {HEAD("\"a\"") CALLBACK("1") ",\"origin\":1,\"parameters\":[],\"args\":[]}}",
       "the peer calls the client wrongly: origin is no string"},
      {HEAD("\"a\"") CALLBACK("0") ",\"parameters\":[],\"args\":[]}}",
       "the peer calls the client wrongly: callback is no id"},
      {HEAD("\"a\"") CALLBACK("2") ",\"parameters\":[],\"args\":[]}}",
       "the peer calls callback 2, which never was"},
      {"{\"jsonrpc\":\"2.0\",\"method\":\"callback_released\",\"params\":{\"callbacks\":[7]}}",
       "the peer calls the client wrongly: a release is no object"},
      {"{\"jsonrpc\":\"2.0\",\"method\":\"callback_released\",\"params\":{\"callbacks\":[{\"callback\":1,"
       "\"given\":2}]}}",
       "the peer releases callback 1, which it does not have"},
      {"{\"jsonrpc\":\"2.0\",\"method\":\"callback_released\",\"params\":{\"callbacks\":[{\"callback\":1,"
       "\"given\":-1}]}}",
       "the peer calls the client wrongly: given is no count"},
      {"{\"jsonrpc\":\"2.0\",\"method\":\"callback_released\",\"params\":{}}",
       "the peer calls the client wrongly: callbacks is no array"},
  };
  for (size_t i = 0; i < COUNT_OF(wrong); i++) {
    struct object object = {.play = PLAY(GIVES, PEER(wrong[i].message))};
    struct jp_client_error error = {0};
    begin_play(&object, NULL, NULL);
    assert_int_equal(give_object(&object, 60000, &error), JP_CLIENT_PROTOCOL);
    assert_string_equal(error.text, wrong[i].text);
    jp_callback_release(object.callback);
    assert_int_equal(object.released, 1);
    close_play(&object);
  }
}

/* ---- invalid arguments of the program ---- */

static void assert_config(struct jp_client *client, struct jp_callback_config config,
                          enum jp_client_status status, const char *text)
{
  struct jp_callback *callback;
  struct jp_client_error error;
  assert_int_equal(jp_callback_create(client, &config, &callback, &error), status);
  assert_string_equal(error.text, text);
  assert_null(callback);
}

UNIT_TEST(test_wrong_configurations)
{
  const char *const none[] = {NULL};
  const char *const bad[] = {"a.I", "\xFF", NULL};
#define WITH(...)                                                                                            \
  {                                                                                                          \
    .size = sizeof(struct jp_callback_config), .function = serve_call, __VA_ARGS__                           \
  }
  const struct {
    struct jp_callback_config config;
    const char *text;
  } cases[] = {
      {{.function = serve_call}, "size of jp_callback_config is not set"},
      {{.size = sizeof(struct jp_callback_config)}, "a callback has no function"},
      {WITH(.interfaces = none), "interfaces is empty; NULL: the parameter's type"},
      {WITH(.interfaces = bad), "a text is not UTF-8: byte 0 of 1"},
      {WITH(.overrides = none), "overrides is empty; NULL: none"},
      {WITH(.has_arity = true, .arity = 256), "arity is not from 0 to 255"},
      {WITH(.oneway = true, .borrow = true),
       "borrow is not for oneway callbacks, whose calls have no answer"},
  };
  struct jp_client *client = fixture_open(fake_peer_start(fake_serve, NULL), NULL);
  for (size_t i = 0; i < COUNT_OF(cases); i++)
    assert_config(client, cases[i].config, JP_CLIENT_INVALID, cases[i].text);
  struct jp_callback_config later = {.size = sizeof later + 8, .function = serve_call};
  assert_config(client, later, JP_CLIENT_UNSUPPORTED,
                "jp_callback_config is of a later version than the library");
  jp_callback_release(NULL);
  fixture_end(client);
}

static void assert_request(struct jp_client *client, struct jp_request request, enum jp_client_status status,
                           const char *text)
{
  struct jp_answer *answer;
  struct jp_client_error error;
  assert_int_equal(jp_client_call(client, &request, 60000, &answer, &error), status);
  assert_string_equal(error.text, text);
  struct jp_chain *chain = jp_chain_create(client);
  jp_chain_request(chain, "a", &request);
  assert_int_equal(jp_chain_send(chain, 60000, &error), status);
  jp_chain_destroy(chain);
}

UNIT_TEST(test_wrong_arguments)
{
  struct fake_peer *peer = fake_peer_start(fake_serve, NULL);
  struct fake_peer *http_peer = fake_peer_start_http(fake_serve, NULL);
  struct jp_client *client = fixture_open(peer, NULL);
  struct jp_client *http = fixture_open(http_peer, NULL);
  const struct jp_callback_config config = {.size = sizeof config, .function = serve_call};
  struct object object = {0};
  object_init(&object, fixture_open(peer, NULL), NULL);
  const struct jp_argument foreign = jp_callback_argument(object.callback);
  const struct jp_argument null = jp_callback_argument(NULL);
  assert_request(client, jp_build_class_method_call("T", "m", &foreign, 1), JP_CLIENT_INVALID,
                 "argument 0: a callback is of another client");
  assert_request(client, jp_build_class_method_call("T", "m", &null, 1), JP_CLIENT_INVALID,
                 "argument 0: a callback is NULL");
  assert_request(object.client, jp_build_instance_method_call("T", "m", foreign, JP_NO_ARGUMENTS),
                 JP_CLIENT_INVALID, "instance: a callback is no object of Java's");
  assert_request(http, jp_build_class_method_call("T", "m", &foreign, 1), JP_CLIENT_UNSUPPORTED,
                 "argument 0: a callback needs a connection over WebSocket or shared memory");
  assert_config(http, config, JP_CLIENT_UNSUPPORTED,
                "a callback needs a connection over WebSocket or shared memory");
  jp_callback_release(object.callback);
  assert_int_equal(object.released, 1);
  jp_client_close(object.client);
  jp_client_close(client);
  jp_client_close(http);
  fake_peer_stop(peer);
  fake_peer_stop(http_peer);
}

UNIT_MAIN
