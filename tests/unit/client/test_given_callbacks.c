/* Callbacks: the messages word for word, and the lifetime of a callback. */
#include "callback_fixture.h"
#include "tests/unit/await.h"

#include <unistd.h>

/* ---- a call and its answer ---- */

UNIT_TEST(test_a_type_replaces_the_interfaces)
{
  struct object object = {
      .play = PLAY(REQUEST_WITH("1", "{\"ref\":{\"callback\":1},\"type\":\"c.K\",\"borrow\":true},[{\"ref\":{"
                                     "\"callback\":1},\"interfaces\":[\"a.I\"],\"borrow\":true}]"),
                   ANSWER("1"))};
  const char *const interfaces[] = {"a.I", NULL};
  const struct jp_callback_config config = {.interfaces = interfaces, .borrow = true};
  begin_play(&object, NULL, &config);
  const struct jp_argument item = jp_callback_argument(object.callback);
  const struct jp_request request =
      jp_build_class_method_call("T", "m", JP_ARGUMENTS(jp_as_type("c.K", item), jp_list(NULL, &item, 1)));
  struct jp_answer *answer;
  assert_int_equal(jp_client_call(object.client, &request, 60000, &answer, NULL), JP_CLIENT_OK);
  jp_answer_free(answer);
  release_and_close(&object);
}

/* ---- answers of each kind ---- */

static void return_without_answer(struct object *object, struct jp_callback_call *call)
{
  (void)object;
  (void)call;
}

static void throw_new(struct object *object, struct jp_callback_call *call)
{
  (void)object;
  assert_int_equal(jp_callback_throw(call, "java.io.IOException", "no \"disk\"", NULL), JP_CLIENT_OK);
}

static void throw_class(struct object *object, struct jp_callback_call *call)
{
  (void)object;
  assert_int_equal(jp_callback_throw(call, "a.E", NULL, NULL), JP_CLIENT_OK);
}

static void throw_text(struct object *object, struct jp_callback_call *call)
{
  (void)object;
  assert_int_equal(jp_callback_throw(call, NULL, "no", NULL), JP_CLIENT_OK);
}

static void throw_object(struct object *object, struct jp_callback_call *call)
{
  (void)object;
  struct jp_client_error error;
  assert_int_equal(jp_callback_throw_object(call, NULL, &error), JP_CLIENT_INVALID);
  const struct jp_ref *ref = jp_answer_ref(jp_callback_argument_at(call, 0));
  assert_int_equal(jp_callback_throw_object(call, ref, NULL), JP_CLIENT_OK);
}

static void return_twice(struct object *object, struct jp_callback_call *call)
{
  (void)object;
  struct jp_client_error error;
  const struct jp_argument bad = jp_string("\xFF");
  assert_int_equal(jp_callback_return(call, &bad, &error), JP_CLIENT_INVALID);
  assert_string_equal(error.text, "a text is not UTF-8: byte 0 of 1");
  const struct jp_argument named = jp_named("x");
  assert_int_equal(jp_callback_return(call, &named, &error), JP_CLIENT_INVALID);
  assert_string_equal(error.text, "a named result (\"x\") belongs into a chain");
  assert_int_equal(jp_callback_throw(call, NULL, "\xFF", &error), JP_CLIENT_INVALID);
  assert_int_equal(jp_callback_throw(call, "", "m", &error), JP_CLIENT_INVALID);
  assert_string_equal(error.text, "the class of the throwable is missing");
  assert_int_equal(jp_callback_return(call, NULL, NULL), JP_CLIENT_OK);
  assert_int_equal(jp_callback_return(call, NULL, &error), JP_CLIENT_INVALID);
  assert_string_equal(error.text, "the call is answered already");
  assert_int_equal(jp_callback_throw(call, NULL, NULL, NULL), JP_CLIENT_INVALID);
  assert_string_equal(jp_callback_method(call), "f"); /* still valid */
}

static void throw_with_frames(struct object *object, struct jp_callback_call *call)
{
  (void)object;
  struct jp_client_error error;
  const struct jp_thrown_frame frames[JP_THROWN_FRAMES_MAX + 1] = {{"orders", "load", "orders.py", 17},
                                                                   {"", "main", NULL, -1}};
  struct jp_thrown cause = {.size = sizeof cause, .message = "deep"};
  struct jp_thrown thrown = {.type = "a.E", .message = "no", .frames = frames, .cause = &cause};
  assert_int_equal(jp_callback_throw_as(call, &thrown, &error), JP_CLIENT_INVALID);
  assert_string_equal(error.text, "size of jp_thrown is not set");
  thrown.size = sizeof thrown;
  thrown.frame_count = JP_THROWN_FRAMES_MAX + 1;
  assert_int_equal(jp_callback_throw_as(call, &thrown, &error), JP_CLIENT_INVALID);
  assert_string_equal(error.text, "a throwable has more than 64 frames");
  thrown.frame_count = 2;
  cause.size = sizeof cause;
  cause.cause = &thrown;
  assert_int_equal(jp_callback_throw_as(call, &thrown, &error), JP_CLIENT_INVALID);
  assert_string_equal(error.text, "a throwable has more than 32 causes");
  cause.cause = NULL;
  assert_int_equal(jp_callback_throw_as(call, &thrown, NULL), JP_CLIENT_OK);
}

/* A request, one call within it, and the answer to the call. */
static void check_answer(void (*behave)(struct object *, struct jp_callback_call *), struct line answer)
{
  struct object object = {
      .play = PLAY(GIVES, CALLED_WITH("cb-7", "1", "\"a.E\"", "{\"type\":\"a.E\",\"null\":false,\"ref\":5}"),
                   answer, ANSWER("1")),
      .behave = behave};
  begin_play(&object, NULL, NULL);
  assert_given(&object);
  assert_int_equal(object.calls, 1);
  release_and_close(&object);
}

UNIT_TEST(test_answers)
{
  check_answer(NULL, RETURNED("cb-7", INT_0));
  check_answer(return_without_answer,
               FAILED_WITH("cb-7", "\"code\":-32000,\"message\":\"the client's function has not answered\""));
  check_answer(throw_new, FAILED_WITH("cb-7", "\"code\":-32000,\"message\":\"no "
                                              "\\\"disk\\\"\",\"data\":{\"throwable_type\":\"java.io."
                                              "IOException\",\"message\":\"no \\\"disk\\\"\"}"));
  check_answer(throw_class,
               FAILED_WITH("cb-7", "\"code\":-32000,\"message\":\"\",\"data\":{\"throwable_type\":\"a.E\"}"));
  check_answer(throw_text, FAILED_WITH("cb-7", "\"code\":-32000,\"message\":\"no\""));
  check_answer(throw_object, FAILED_WITH("cb-7", "\"code\":-32000,\"message\":\"\",\"data\":{\"ref\":5}"));
  check_answer(return_twice, RETURNED("cb-7", "null"));
  check_answer(
      throw_with_frames,
      FAILED_WITH("cb-7",
                  "\"code\":-32000,\"message\":\"no\",\"data\":{\"throwable_type\":\"a.E\",\"message\":"
                  "\"no\",\"stack_trace\":[{\"class\":\"orders\",\"method\":\"load\",\"file\":"
                  "\"orders.py\",\"line\":17},{\"class\":\"\",\"method\":\"main\"}],\"cause\":{"
                  "\"throwable_type\":null,\"message\":\"deep\"}}"));
}

/* ---- requests inside a function ---- */

static void make_requests(struct object *object, struct jp_callback_call *call)
{
  struct jp_client *client = object->client;
  const struct jp_options mine = {.size = sizeof mine, .within = "cb-3"};
  const struct jp_options none = {.size = sizeof none, .within = ""};
  struct jp_answer *answer;
  object->behave = NULL;
  assert_int_equal(fixture_call(client, 60000, NULL), JP_CLIENT_OK);
  struct jp_request request = jp_with_options(fixture_request(), &mine);
  assert_int_equal(jp_client_call(client, &request, 60000, &answer, NULL), JP_CLIENT_OK);
  jp_answer_free(answer);
  request = jp_with_options(fixture_request(), &none);
  assert_int_equal(jp_client_call(client, &request, 60000, &answer, NULL), JP_CLIENT_OK);
  jp_answer_free(answer);
  request = fixture_request();
  assert_int_equal(jp_client_notify(client, &request, NULL), JP_CLIENT_OK);
  assert_int_equal(jp_callback_return(call, NULL, NULL), JP_CLIENT_OK);
  assert_int_equal(fixture_call(client, 60000, NULL), JP_CLIENT_OK); /* Java does not wait any more */
}

UNIT_TEST(test_requests_of_a_function_are_nested)
{
  struct object object = {
      .play =
          PLAY(GIVES, CALLED("cb-9", "1"), NESTED("2", "cb-9"), ANSWER("2"), NESTED("3", "cb-3"), ANSWER("3"),
               REQUEST("4"), ANSWER("4"),
               CLIENT("{\"jsonrpc\":\"2.0\"," CALL_T "},\"options\":{\"within\":\"cb-9\"}}"),
               RETURNED("cb-9", "null"), REQUEST("5"), ANSWER("5"), ANSWER("1"), REQUEST("6"), ANSWER("6")),
      .behave = make_requests};
  begin_play(&object, NULL, NULL);
  assert_given(&object);
  assert_int_equal(fixture_call(object.client, 60000, NULL), JP_CLIENT_OK);
  release_and_close(&object);
}

static void send_chains(struct object *object, struct jp_callback_call *call)
{
  struct jp_chain *chain = jp_chain_create(object->client);
  struct jp_client_error error;
  const struct jp_options affine = {.size = sizeof affine, .thread_affinity = "ui"};
  const struct jp_options mine = {.size = sizeof mine, .within = "cb-3"};
  struct jp_request request = fixture_request();
  jp_chain_request(chain, "a", &request);
  jp_chain_request(chain, NULL, &request);
  assert_int_equal(jp_chain_send(chain, 60000, &error), JP_CLIENT_OK);
  request = jp_with_options(request, &affine);
  jp_chain_request(chain, "a", &request);
  assert_int_equal(jp_chain_send(chain, 60000, &error), JP_CLIENT_OK);
  request = jp_with_options(request, &mine);
  jp_chain_request(chain, NULL, &request);
  jp_chain_request(chain, "a", &request);
  assert_int_equal(jp_chain_send(chain, 60000, &error), JP_CLIENT_OK);
  jp_chain_destroy(chain);
  assert_int_equal(jp_callback_return(call, NULL, NULL), JP_CLIENT_OK);
}

#define RESULT_8(id)                                                                                         \
  HEAD(id) "\"result\":{\"void\":false,\"value\":{\"type\":\"int\",\"null\":false,\"value\":\"8\"}}}"

UNIT_TEST(test_the_chains_of_a_function_are_nested)
{
  struct object object = {
      .play =
          PLAY(GIVES, CALLED("cb-9", "1"),
               CLIENT("[" HEAD("2") CALL_T "},\"options\":{\"within\":\"cb-9\"}}," HEAD("3") CALL_T
                      "},\"options\":{\"keep\":false}}]"),
               PEER("[" RESULT_8("2") "," RESULT_8("3") "]"),
               CLIENT("[" HEAD("4") CALL_T "},\"options\":{\"threadAffinity\":\"ui\",\"within\":\"cb-9\"}}]"),
               PEER("[" RESULT_8("4") "]"),
               CLIENT("[" HEAD("5") CALL_T "},\"options\":{\"within\":\"cb-3\",\"keep\":false}}," HEAD("6")
                          CALL_T "},\"options\":{\"within\":\"cb-3\"}}]"),
               PEER("[" RESULT_8("5") "," RESULT_8("6") "]"), RETURNED("cb-9", "null"), ANSWER("1")),
      .behave = send_chains};
  begin_play(&object, NULL, NULL);
  assert_given(&object);
  release_and_close(&object);
}

/* ---- refs of arguments ---- */

static void check_refs(bool borrow, const struct line *lines, size_t count)
{
  struct object object = {.play = {.lines = lines, .count = count}};
  const struct jp_callback_config config = {.borrow = borrow};
  begin_play(&object, NULL, &config);
  assert_given(&object);
  assert_int_equal(object.calls, 2);
  assert_int_equal(fixture_call(object.client, 60000, NULL), JP_CLIENT_OK);
  assert_int_equal(jp_client_ref_count(object.client), 0);
  release_and_close(&object);
}

#define CALLED_WITH_REF(id, ref)                                                                             \
  CALLED_WITH(id, "1", "\"a.B\"", "{\"type\":\"a.B\",\"null\":false,\"ref\":" ref "}")
#define RELEASES(ref)                                                                                        \
  "\"method\":\"control\",\"params\":{\"method\":\"delete_object\",\"args\":[{\"ref\":" ref ",\"told\":1}]}"

/* The release must not follow the request that waits for the call. */
UNIT_TEST(test_refs_are_released_within_the_call)
{
  const struct line lines[] = {
      GIVES,
      CALLED_WITH_REF("cb-1", "4"),
      RETURNED("cb-1", INT_0),
      CALLED_WITH_REF("cb-\\\"2", "5"),
      CLIENT("{\"jsonrpc\":\"2.0\"," RELEASES("4") ",\"options\":{\"within\":\"cb-\\\"2\"}}"),
      RETURNED("cb-\\\"2", INT_0),
      ANSWER("1"),
      CLIENT("{\"jsonrpc\":\"2.0\"," RELEASES("5") "}"),
      REQUEST("2"),
      ANSWER("2")};
  check_refs(false, lines, COUNT_OF(lines));
}

UNIT_TEST(test_borrowed_refs_end_by_themselves)
{
  const struct line lines[] = {REQUEST_WITH("1", "{\"ref\":{\"callback\":1},\"borrow\":true}"),
                               CALLED_WITH_REF("cb-1", "4"),
                               RETURNED("cb-1", INT_0),
                               CALLED_WITH_REF("cb-2", "4"),
                               RETURNED("cb-2", INT_0),
                               ANSWER("1"),
                               REQUEST("2"),
                               ANSWER("2")};
  check_refs(true, lines, COUNT_OF(lines));
}

/* ---- the clients of a process ---- */

#define PROCESS "0123456789abcdef012345"
enum { PROCESS_MAX = 128 };
#define INTRODUCED                                                                                           \
  CLIENT(HEAD("1") "\"method\":\"control\",\"params\":{\"method\":\"session\",\"args\":[{\"name\":"          \
                   "\"process\",\"value\":\"" PROCESS "/########-####-####-####-############\"}]}}")
#define SESSION_ANSWER                                                                                       \
  PEER(HEAD("1") "\"result\":{\"void\":false,\"value\":{\"type\":\"java.lang.String\",\"null\":false,"       \
                 "\"value\":\"{\\\"client\\\":4}\"}}}")
#define RETURNED_CALLBACK(id, client)                                                                        \
  PEER(HEAD(id) "\"result\":{\"void\":false,\"value\":{\"type\":\"a.B\",\"null\":false,\"ref\":9,"           \
                "\"callback\":{\"id\":1,\"client\":" client "}}}}")

static const struct jp_client_config in_process = {.size = sizeof in_process, .process = PROCESS};
static const struct jp_client_config reconnecting = {
    .size = sizeof reconnecting, .process = PROCESS, .reconnects = true};

/* The program's object in the result of a call; NULL: it is not the program's. */
static struct object *call_for_object(struct jp_client *client, const struct jp_request *request)
{
  struct jp_answer *answer;
  assert_int_equal(jp_client_call(client, request, 60000, &answer, NULL), JP_CLIENT_OK);
  struct jp_callback *callback = jp_answer_keep_callback(answer);
  struct object *object = callback == NULL ? NULL : jp_callback_context(callback);
  jp_callback_release(callback);
  jp_answer_free(answer);
  return object;
}

UNIT_TEST(test_clients_of_a_process_share_their_callbacks)
{
  struct object object = {.play = PLAY(INTRODUCED, GIVES_AS("2"), SESSION_ANSWER, ANSWER("2"))};
  begin_play(&object, &in_process, NULL);
  assert_given(&object);
  struct play play =
      PLAY(INTRODUCED, GIVES_AS("2"), SESSION_ANSWER, CALLED("cb-1", "1"), RETURNED("cb-1", INT_0),
           RETURNED_CALLBACK("2", "4"), CLIENT("{\"jsonrpc\":\"2.0\"," RELEASES("9") "}"), REQUEST("3"),
           RETURNED_CALLBACK("3", "5"), CLIENT("{\"jsonrpc\":\"2.0\"," RELEASES("9") "}"), REQUEST("4"),
           RELEASED("1", "2"), ANSWER("4"));
  struct fake_peer *peer = fake_peer_start(play_lines, &play);
  struct jp_client *other = fixture_open(peer, &in_process);
  struct jp_request request =
      jp_build_class_method_call("T", "m", JP_ARGUMENTS(jp_callback_argument(object.callback)));
  assert_ptr_equal(call_for_object(other, &request), &object);
  assert_int_equal(object.calls, 1); /* over the other client's connection */
  request = fixture_request();
  assert_null(call_for_object(other, &request)); /* another program's object */
  jp_callback_release(object.callback);
  assert_int_equal(object.released, 0);
  assert_int_equal(fixture_call(other, 60000, NULL), JP_CLIENT_OK);
  assert_int_equal(object.released, 1); /* the peer has released what both clients gave */
  jp_client_close(other);
  fake_peer_stop(peer);
  assert_string_equal(play.fault, "");
  close_play(&object);
}

UNIT_TEST(test_a_callback_that_has_come_back_is_held)
{
  struct object object = {.play =
                              PLAY(INTRODUCED, GIVES_AS("2"), SESSION_ANSWER, RETURNED_CALLBACK("2", "4"))};
  begin_play(&object, &in_process, NULL);
  const struct jp_request request =
      jp_build_class_method_call("T", "m", JP_ARGUMENTS(jp_callback_argument(object.callback)));
  struct jp_answer *answer;
  assert_int_equal(jp_client_call(object.client, &request, 60000, &answer, NULL), JP_CLIENT_OK);
  struct jp_callback *back = jp_answer_keep_callback(answer);
  assert_ptr_equal(back, object.callback);
  jp_client_end(object.client);
  assert_null(jp_answer_keep_callback(answer)); /* the peer's number may belong to another program by then */
  jp_callback_release(object.callback);
  assert_int_equal(object.released, 0);
  assert_ptr_equal(jp_callback_context(back), &object);
  jp_callback_release(back);
  assert_int_equal(object.released, 1);
  jp_answer_free(answer);
  close_play(&object);
}

UNIT_TEST(test_a_callback_of_a_process_ends_with_its_last_connection)
{
  struct object object = {.play = PLAY(INTRODUCED, GIVES_AS("2"), SESSION_ANSWER, ANSWER("2"))};
  begin_play(&object, &in_process, NULL);
  assert_given(&object);
  struct play play = PLAY(INTRODUCED, REQUEST("2"), SESSION_ANSWER, ANSWER("2"), REQUEST("3"),
                          CALLED("cb-1", "1"), RETURNED("cb-1", INT_0), ANSWER("3"));
  struct fake_peer *peer = fake_peer_start(play_lines, &play);
  struct jp_client *other = fixture_open(peer, &in_process);
  assert_int_equal(fixture_call(other, 60000, NULL), JP_CLIENT_OK);
  jp_callback_release(object.callback);
  jp_client_close(object.client);
  end_play(&object);
  assert_int_equal(object.released, 0);
  assert_int_equal(fixture_call(other, 60000, NULL), JP_CLIENT_OK);
  assert_int_equal(object.calls, 1);
  jp_client_close(other);
  assert_int_equal(object.released, 1);
  fake_peer_stop(peer);
  assert_string_equal(play.fault, "");
}

UNIT_TEST(test_a_peer_that_refuses_the_process_is_given_none)
{
  struct object object = {.play = PLAY(INTRODUCED, REQUEST("2"),
                                       PEER(HEAD("1") "\"error\":{\"code\":-32602,\"message\":\"no\"}}"),
                                       ANSWER("2"))};
  struct jp_client_error error;
  begin_play(&object, &in_process, NULL);
  assert_int_equal(fixture_call(object.client, 60000, NULL), JP_CLIENT_OK);
  assert_int_equal(give_object(&object, 60000, &error), JP_CLIENT_UNSUPPORTED);
  const struct jp_callback_config config = {.size = sizeof config, .function = serve_call};
  struct jp_callback *callback;
  assert_int_equal(jp_callback_create(object.client, &config, &callback, &error), JP_CLIENT_UNSUPPORTED);
  assert_string_equal(error.text, "the peer does not let the connection into its process");
  release_and_close(&object);
}

/* The process that each connection of a peer has named, by its number from 1. */
struct introductions {
  char texts[4][256];
  bool refuses_first;
};

/* The text after `what` in the message; NULL: not found. */
static const char *find_after(struct text message, const char *what)
{
  const char *found = memmem(message.data, message.len, what, strlen(what));
  return found == NULL ? NULL : found + strlen(what);
}

/* Ends when the client calls "bye". */
static void serve_process(struct fake_connection *connection, void *context)
{
  struct introductions *seen = context;
  const unsigned number = fake_number(connection);
  struct text message;
  while (fake_read(connection, &message) && find_after(message, "\"bye\"") == NULL) {
    uint64_t id = fake_id(message);
    const char *process = find_after(message, "\"process\",\"value\":\"");
    bool is_introduction = process != NULL;
    if (is_introduction)
      snprintf(seen->texts[number - 1], sizeof seen->texts[0], "%.*s", (int)strcspn(process, "\""), process);
    if (is_introduction && seen->refuses_first && number == 1)
      fake_write(connection, HEAD("%d") "\"error\":{\"code\":-32602,\"message\":\"no\"}}", (int)id);
    else if (is_introduction)
      fake_write(connection,
                 HEAD("%d") "\"result\":{\"void\":false,\"value\":{\"type\":\"java.lang.String\","
                            "\"null\":false,\"value\":\"{\\\"client\\\":%u}\"}}}",
                 (int)id, number);
    else
      fake_answer_int(connection, id, 8);
  }
}

/* Makes the peer end the client's connection. */
static void end_connection(struct jp_client *client)
{
  const struct jp_request request = jp_build_class_method_call("T", "bye", JP_NO_ARGUMENTS);
  struct jp_answer *answer;
  assert_int_equal(jp_client_call(client, &request, 60000, &answer, NULL), JP_CLIENT_CLOSED);
}

/* The peer may not have noticed yet that the last connection of the process has ended. If a new connection
 * joined that process, it would get the releases of the old callbacks. */
UNIT_TEST(test_a_reconnected_process_is_another_process)
{
  struct introductions seen = {0};
  struct fake_peer *peer = fake_peer_start(serve_process, &seen);
  struct jp_client *client = fixture_open(peer, &reconnecting);
  struct jp_client *beside = fixture_open(peer, &reconnecting);
  fixture_assert_call(client);
  fixture_assert_call(beside);
  assert_string_equal(seen.texts[0], seen.texts[1]);
  end_connection(client);
  fixture_assert_call(client); /* the other connection holds the process */
  assert_string_equal(seen.texts[2], seen.texts[0]);
  end_connection(client);
  end_connection(beside);
  fixture_assert_call(client);
  assert_int_equal(strlen(seen.texts[3]), strlen(seen.texts[0]));
  assert_string_not_equal(seen.texts[3], seen.texts[0]);
  assert_memory_equal(seen.texts[3], PROCESS, strlen(PROCESS));
  jp_client_close(beside);
  fixture_end(client);
}

UNIT_TEST(test_the_longest_name_of_a_process_is_cut)
{
  struct introductions seen = {0};
  struct fake_peer *peer = fake_peer_start(serve_process, &seen);
  char name[PROCESS_MAX + 1] = "x"; /* followed by characters of two bytes */
  for (size_t at = 1; at + 2 < sizeof name; at += 2) {
    name[at] = '\xC3';
    name[at + 1] = '\xA4';
  }
  const struct jp_client_config config = {.size = sizeof config, .process = name};
  struct jp_client *client = fixture_open(peer, &config);
  fixture_assert_call(client);
  size_t length = strlen(seen.texts[0]);
  assert_in_range(length, PROCESS_MAX - 1, PROCESS_MAX);
  assert_int_equal(text_valid_utf8(text_of(seen.texts[0])), length);
  fixture_end(client);
}

UNIT_TEST(test_a_refusal_ends_with_its_connection)
{
  struct introductions seen = {.refuses_first = true};
  struct object object = {0};
  struct fake_peer *peer = fake_peer_start(serve_process, &seen);
  struct jp_client *client = fixture_open(peer, &reconnecting);
  object_init(&object, client, NULL);
  fixture_assert_call(client);
  assert_int_equal(give_object(&object, 60000, NULL), JP_CLIENT_UNSUPPORTED);
  end_connection(client);
  struct object second = {0};
  object_init(&second, client, NULL);
  assert_given(&object);
  jp_callback_release(object.callback);
  jp_callback_release(second.callback);
  fixture_end(client);
  assert_int_equal(object.released + second.released, 2);
}

static int act_as_child(struct fake_peer *peer, struct jp_client *parents, struct jp_callback *callback)
{
  const struct jp_client_config config = {.size = sizeof config, .process = PROCESS};
  struct jp_client *client;
  struct object own = {0};
  struct jp_client_error error;
  jp_callback_release(callback);
  jp_client_close(parents);
  if (jp_client_open(fake_peer_url(peer), &config, &client, &error) != JP_CLIENT_OK)
    return 2;
  object_init(&own, client, NULL);
  if (give_object(&own, 60000, &error) != JP_CLIENT_OK)
    return 3;
  jp_callback_release(own.callback);
  jp_client_close(client);
  return own.released == 1 ? 0 : 4;
}

UNIT_TEST(test_a_child_is_another_process)
{
  struct introductions seen = {0};
  struct fake_peer *peer = fake_peer_start(serve_process, &seen);
  struct jp_client *client = fixture_open(peer, &in_process);
  struct object object = {0};
  object_init(&object, client, NULL);
  assert_given(&object);
  pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0)
    _exit(act_as_child(peer, client, object.callback));
  int status = AWAIT_CHILD(child);
  assert_int_equal(status, 0);
  assert_memory_equal(seen.texts[1], PROCESS, strlen(PROCESS));
  assert_string_not_equal(seen.texts[0], seen.texts[1]);
  assert_int_equal(object.released, 0);
  jp_callback_release(object.callback);
  fixture_end(client);
  assert_int_equal(object.released, 1);
}

UNIT_TEST(test_events_of_a_process_have_no_order)
{
  struct object object = {.play = PLAY(INTRODUCED, REQUEST("2"), SESSION_ANSWER, ANSWER("2"))};
  struct jp_client_error error;
  begin_play(&object, &in_process, NULL);
  const struct jp_callback_config oneway = {.size = sizeof oneway, .oneway = true, .function = serve_call};
  struct jp_callback *callback;
  assert_int_equal(jp_callback_create(object.client, &oneway, &callback, &error), JP_CLIENT_UNSUPPORTED);
  assert_int_equal(fixture_call(object.client, 60000, NULL), JP_CLIENT_OK);
  release_and_close(&object);
}

/* ---- who holds a callback ---- */

UNIT_TEST(test_a_callback_ends_when_all_its_references_are_released)
{
  struct object object = {.play = PLAY(GIVES, ANSWER("1"), RELEASED("1", "1"), REQUEST_WITH("2", GIVEN("1")),
                                       ANSWER("2"), REQUEST_WITH("3", GIVEN("1") "," GIVEN("1")),
                                       RELEASED("1", "1"), ANSWER("3"), REQUEST("4"), RELEASED("1", "2"),
                                       ANSWER("4"))};
  begin_play(&object, NULL, NULL);
  assert_given(&object);
  assert_given(&object); /* given again, because the program still holds the callback */
  const struct jp_argument argument = jp_callback_argument(object.callback);
  const struct jp_request request = jp_build_class_method_call("T", "m", JP_ARGUMENTS(argument, argument));
  struct jp_answer *answer;
  assert_int_equal(jp_client_call(object.client, &request, 60000, &answer, NULL), JP_CLIENT_OK);
  jp_answer_free(answer);
  jp_callback_release(object.callback);
  assert_int_equal(object.released, 0); /* two references are still in flight */
  assert_int_equal(fixture_call(object.client, 60000, NULL), JP_CLIENT_OK);
  assert_int_equal(object.released, 1);
  close_play(&object);
}

UNIT_TEST(test_a_failed_request_has_given_its_callbacks)
{
  struct object object = {.play =
                              PLAY(GIVES, PEER(HEAD("1") "\"error\":{\"code\":-32602,\"message\":\"no\"}}"),
                                   REQUEST("2"), RELEASED("1", "1"), ANSWER("2"))};
  begin_play(&object, NULL, NULL);
  assert_int_equal(give_object(&object, 60000, NULL), JP_CLIENT_REMOTE);
  jp_callback_release(object.callback);
  assert_int_equal(object.released, 0);
  assert_int_equal(fixture_call(object.client, 60000, NULL), JP_CLIENT_OK);
  assert_int_equal(object.released, 1);
  close_play(&object);
}

UNIT_TEST(test_a_message_that_is_not_sent_gives_nothing)
{
  struct object object = {.play = PLAY(REQUEST("1"), ANSWER("1"))};
  begin_play(&object, NULL, NULL);
  const struct jp_request request = jp_build_class_method_call(
      "T", "m", JP_ARGUMENTS(jp_callback_argument(object.callback), jp_string("\xFF")));
  struct jp_answer *answer;
  assert_int_equal(jp_client_call(object.client, &request, 60000, &answer, NULL), JP_CLIENT_INVALID);
  assert_int_equal(jp_client_notify(object.client, &request, NULL), JP_CLIENT_INVALID);
  assert_int_equal(jp_client_send(object.client, &request, 60000, NULL, NULL, NULL), JP_CLIENT_INVALID);
  assert_int_equal(fixture_call(object.client, 60000, NULL), JP_CLIENT_OK); /* gives no callback */
  jp_callback_release(object.callback);
  assert_int_equal(object.released, 1);
  close_play(&object);
}

/* The program releases the callback while Java holds it, gives it again as the same object, and releases it
 * finally. */
UNIT_TEST(test_a_released_callback_can_be_given_again)
{
  struct object object = {.play = PLAY(GIVES, ANSWER("1"), REQUEST_WITH("2", GIVEN("1")), ANSWER("2"),
                                       RELEASED("1", "2"), REQUEST("3"), ANSWER("3"))};
  begin_play(&object, NULL, NULL);
  assert_given(&object);
  jp_callback_release(object.callback);
  assert_true(jp_callback_keep(object.callback));
  assert_given(&object);
  assert_int_equal(fixture_call(object.client, 60000, NULL), JP_CLIENT_OK);
  assert_int_equal(object.released, 0); /* Java holds no reference, but the program does */
  jp_callback_release(object.callback);
  assert_int_equal(object.released, 1);
  close_play(&object);
}

static void keep_ended(void *context)
{
  struct object *object = context;
  object->released++;
  assert_false(jp_callback_keep(object->callback));
}

UNIT_TEST(test_an_ended_callback_cannot_be_kept)
{
  const struct jp_callback_config config = {.released = keep_ended};
  struct object object = {0};
  begin_play(&object, NULL, &config);
  release_and_close(&object);
}

static struct object other;

static void return_other(struct object *object, struct jp_callback_call *call)
{
  (void)object;
  const struct jp_argument value = jp_callback_argument(other.callback);
  assert_int_equal(jp_callback_return(call, &value, NULL), JP_CLIENT_OK);
}

UNIT_TEST(test_a_result_gives_a_callback)
{
  struct object object = {.play = PLAY(GIVES, CALLED("cb-1", "1"), RETURNED("cb-1", GIVEN("2")),
                                       CALLED("cb-2", "2"), RETURNED("cb-2", INT_0), ANSWER("1"),
                                       REQUEST("2"), RELEASED("2", "1"), ANSWER("2")),
                          .behave = return_other};
  begin_play(&object, NULL, NULL);
  other = (struct object){0};
  object_init(&other, object.client, NULL);
  assert_given(&object);
  assert_int_equal(other.calls, 1);
  jp_callback_release(other.callback);
  assert_int_equal(other.released, 0);
  assert_int_equal(fixture_call(object.client, 60000, NULL), JP_CLIENT_OK);
  assert_int_equal(other.released, 1);
  release_and_close(&object);
}

UNIT_TEST(test_a_chain_keeps_what_it_gives)
{
  struct object object = {.play = PLAY(CLIENT("[" HEAD("1") CALL_T ",\"args\":[" GIVEN("1") "]}}]"),
                                       CALLED("cb-1", "1"), RETURNED("cb-1", INT_0), RELEASED("1", "1"),
                                       PEER("[" RESULT_8("1") "]"))};
  begin_play(&object, NULL, NULL);
  const struct jp_request request =
      jp_build_class_method_call("T", "m", JP_ARGUMENTS(jp_callback_argument(object.callback)));
  struct jp_chain *steps = jp_chain_create(object.client);
  struct jp_chain *chain = jp_chain_create(object.client);
  jp_chain_request(steps, "a", &request);
  jp_callback_release(object.callback);
  assert_int_equal(object.released, 0);
  jp_chain_append(chain, steps);
  jp_chain_destroy(steps);
  assert_int_equal(object.released, 0);
  assert_int_equal(jp_chain_send(chain, 60000, NULL), JP_CLIENT_OK);
  assert_int_equal(object.calls, 1);
  assert_int_equal(object.released, 1);
  jp_chain_destroy(chain);
  close_play(&object);
}

UNIT_TEST(test_a_chain_that_is_not_sent)
{
  struct object object = {0};
  begin_play(&object, NULL, NULL);
  const struct jp_request request =
      jp_build_class_method_call("T", "m", JP_ARGUMENTS(jp_callback_argument(object.callback)));
  struct jp_chain *chain = jp_chain_create(object.client);
  jp_chain_request(chain, "a", &request);
  jp_callback_release(object.callback);
  jp_client_close(object.client);
  assert_int_equal(object.released, 0);
  jp_chain_destroy(chain);
  assert_int_equal(object.released, 1);
  end_play(&object);
}

UNIT_MAIN
