/* Chains against a peer without a JVM: the batch that is sent, and the handling of its answers. */
#include "fake_peer.h"

#include "base/buffer.h"
#include "jpeer/client.h"

#include <stdio.h>
#include <stdlib.h>

/* The messages that the fake peer has read, and its answer. */
struct script {
  char read[8][4000];
  size_t count;
  const char *answer; /* %llu: the first id, at most five times; NULL: void to each request */
};

static size_t count_requests(struct text message)
{
  static const char key[] = "\"jsonrpc\"";
  size_t count = 0;
  for (size_t i = 0; i + sizeof key - 1 <= message.len; i++)
    count += memcmp(message.data + i, key, sizeof key - 1) == 0;
  return count;
}

static void answer_void(struct fake_connection *connection, unsigned long long first_id, size_t count)
{
  char text[4000];
  size_t length = 0;
  for (size_t i = 0; i < count; i++)
    length += (size_t)snprintf(text + length, sizeof text - length,
                               "%c{\"jsonrpc\":\"2.0\",\"id\":%llu,\"result\":{\"void\":true}}",
                               i == 0 ? '[' : ',', first_id + i);
  fake_write(connection, "%s]", text);
}

static void serve(struct fake_connection *connection, void *context)
{
  struct script *script = context;
  struct text message;
  while (fake_read(connection, &message)) {
    if (script->count < COUNT_OF(script->read))
      snprintf(script->read[script->count++], sizeof script->read[0], "%.*s", TEXT_ARGS(message));
    unsigned long long id = fake_id(message);
    if (id == 0)
      continue;
    if (script->answer == NULL)
      answer_void(connection, id, count_requests(message));
    else
      fake_write(connection, script->answer, id, id + 1, id + 2, id + 3, id + 4);
  }
}

struct room {
  struct script script;
  struct fake_peer *peer;
  struct jp_client *client;
  struct jp_chain *chain;
  struct jp_client_error error;
};

static void enter(struct room *room, const char *answer)
{
  memset(room, 0, sizeof *room);
  room->script.answer = answer;
  room->peer = fake_peer_start(serve, &room->script);
  if (jp_client_open(fake_peer_url(room->peer), NULL, &room->client, &room->error) != JP_CLIENT_OK)
    fail_msg("%s", room->error.text);
  room->chain = jp_chain_create(room->client);
}

static void leave(struct room *room)
{
  jp_chain_destroy(room->chain);
  jp_client_close(room->client);
  fake_peer_stop(room->peer);
}

static void assert_fails(struct room *room, enum jp_client_status status, const char *text)
{
  assert_int_equal(jp_chain_send(room->chain, 60000, &room->error), status);
  assert_string_equal(room->error.text, text);
}

UNIT_TEST(sends_one_batch)
{
  struct room room;
  enter(&room, "[{\"jsonrpc\":\"2.0\",\"id\":%llu,\"result\":{\"void\":true}},{\"jsonrpc\":\"2.0\",\"id\":%"
               "llu,\"result\":{\"void\":true}},{\"jsonrpc\":\"2.0\",\"id\":%llu,\"result\":{\"void\":false,"
               "\"value\":{\"type\":\"int\",\"value\":\"1\"}}}]");
  jp_chain_create_object(room.chain, NULL, "java.util.ArrayList", JP_NO_ARGUMENTS);
  jp_chain_call(room.chain, NULL, "add", JP_ARGUMENTS(jp_string("b")));
  jp_chain_call(room.chain, "size", "size", JP_NO_ARGUMENTS);
  if (jp_chain_send(room.chain, 60000, &room.error) != JP_CLIENT_OK)
    fail_msg("%s", room.error.text);
  assert_string_equal(
      room.script.read[0],
      "[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"new\",\"params\":{\"type\":\"java.util.ArrayList\"},"
      "\"options\":{\"keep\":false}},{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"call\",\"params\":{\"type\":"
      "\"java.util.ArrayList\",\"method\":\"add\",\"instance\":{\"result\":1},\"args\":[{\"type\":\"java."
      "lang.String\",\"value\":\"b\"}]},\"options\":{\"keep\":false}},{\"jsonrpc\":\"2.0\",\"id\":3,"
      "\"method\":\"call\",\"params\":{\"type\":\"java.util.ArrayList\",\"method\":\"size\",\"instance\":{"
      "\"result\":1}}}]");
  int64_t size = 0;
  assert_true(jp_answer_integer(jp_chain_answer(room.chain, "size"), &size));
  assert_int_equal(size, 1);
  assert_null(jp_chain_answer(room.chain, "sizes"));
  leave(&room);
}

UNIT_TEST(names_results_inside_arguments)
{
  struct room room;
  enter(&room, NULL);
  const struct jp_argument inner[] = {jp_named("a"), jp_as_type("java.lang.Object", jp_named("b"))};
  const struct jp_options options = {.size = sizeof options, .loader = jp_named("a")};
  struct jp_request request = jp_with_options(jp_build_fetch(jp_named("b"), 10, 0), &options);
  jp_chain_create_object(room.chain, "a", "A", JP_NO_ARGUMENTS);
  jp_chain_call_static(room.chain, "b", "B", "make", JP_ARGUMENTS(jp_list(NULL, inner, 1)));
  jp_chain_put_static(room.chain, "C", "f", jp_list("java.util.List", inner, 2));
  jp_chain_request(room.chain, NULL, &request);
  assert_int_equal(jp_chain_send(room.chain, 60000, &room.error), JP_CLIENT_OK);
  assert_non_null(strstr(room.script.read[0], "\"args\":[[{\"ref\":{\"result\":1}}]]"));
  assert_non_null(
      strstr(room.script.read[0],
             "\"value\":[{\"ref\":{\"result\":1}},{\"type\":\"java.lang.Object\",\"ref\":{\"result\":2}}]"));
  assert_non_null(strstr(
      room.script.read[0],
      "\"instance\":{\"result\":2},\"max\":10},\"options\":{\"loader\":{\"result\":1},\"keep\":false}"));
  leave(&room);
}

enum { STEPS = 1000 };

/* The target of step i is the result of step i / 2. */
static void expect_halves(struct fake_connection *connection, void *context)
{
  static const char key[] = "\"instance\":{\"result\":";
  struct buffer answers = {0};
  struct text message;
  int *wrong = context;
  while (fake_read(connection, &message)) {
    unsigned long long first_id = fake_id(message);
    const char *at = message.data;
    if (count_requests(message) != STEPS)
      continue;
    for (int i = 0; i < STEPS; i++) {
      if (i > 0) {
        at = memmem(at, (size_t)(message.data + message.len - at), key, sizeof key - 1);
        *wrong += at == NULL || strtoull(at + sizeof key - 1, NULL, 10) != first_id + (unsigned)i / 2;
        at = at == NULL ? message.data : at + 1;
      }
      buffer_printf(&answers, "%c{\"jsonrpc\":\"2.0\",\"id\":%llu,\"result\":{\"void\":true}}",
                    i == 0 ? '[' : ',', first_id + (unsigned)i);
    }
    fake_write(connection, "%.*s]", TEXT_ARGS(buffer_text(&answers)));
    buffer_clear(&answers);
  }
  buffer_fini(&answers);
}

static void add_halves(struct jp_chain *chain)
{
  char name[32];
  jp_chain_create_object(chain, "step 0", "T", JP_NO_ARGUMENTS);
  for (int i = 1; i < STEPS; i++) {
    snprintf(name, sizeof name, "step %d", i / 2);
    jp_chain_with(chain, name, "T");
    snprintf(name, sizeof name, "step %d", i);
    jp_chain_call(chain, name, "m", JP_NO_ARGUMENTS);
  }
}

UNIT_TEST(knows_many_names)
{
  int wrong = 0;
  struct room room = {.peer = fake_peer_start(expect_halves, &wrong)};
  assert_int_equal(jp_client_open(fake_peer_url(room.peer), NULL, &room.client, NULL), JP_CLIENT_OK);
  room.chain = jp_chain_create(room.client);
  add_halves(room.chain);
  if (jp_chain_send(room.chain, 60000, &room.error) != JP_CLIENT_OK)
    fail_msg("%s", room.error.text);
  assert_int_equal(wrong, 0);
  for (int i = 0; i < STEPS; i++) {
    char name[32];
    snprintf(name, sizeof name, "step %d", i);
    assert_non_null(jp_chain_answer(room.chain, name));
  }
  add_halves(room.chain);
  jp_chain_call(room.chain, "step 500", "m", JP_NO_ARGUMENTS);
  assert_fails(&room, JP_CLIENT_INVALID, "step 1001 (T.m): an earlier step is named \"step 500\", too");
  leave(&room);
}

UNIT_TEST(appends_the_steps_of_another_chain)
{
  struct room room;
  enter(&room, NULL);
  struct jp_chain *inner = jp_chain_create(room.client);
  jp_chain_create_object(inner, NULL, "I", JP_NO_ARGUMENTS);
  jp_chain_call(inner, "i", "make", JP_ARGUMENTS(jp_named("o")));
  jp_chain_create_object(room.chain, "o", "O", JP_NO_ARGUMENTS);
  jp_chain_append(room.chain, inner);
  jp_chain_call(room.chain, NULL, "take", JP_ARGUMENTS(jp_named("i")));
  assert_int_equal(jp_chain_send(room.chain, 60000, &room.error), JP_CLIENT_OK);
  assert_non_null(strstr(
      room.script.read[0],
      "\"type\":\"I\",\"method\":\"make\",\"instance\":{\"result\":2},\"args\":[{\"ref\":{\"result\":1}}]"));
  assert_non_null(strstr(
      room.script.read[0],
      "\"type\":\"O\",\"method\":\"take\",\"instance\":{\"result\":1},\"args\":[{\"ref\":{\"result\":3}}]"));
  /* It is empty, and can be used again. */
  assert_int_equal(jp_chain_send(inner, 60000, &room.error), JP_CLIENT_OK);
  assert_int_equal(room.script.count, 1);
  jp_chain_destroy(inner);
  leave(&room);
}

UNIT_TEST(says_which_step_failed)
{
  struct room room;
  enter(&room, "[{\"jsonrpc\":\"2.0\",\"id\":%llu,\"result\":{\"void\":true}},{\"jsonrpc\":\"2.0\",\"id\":%"
               "llu,\"error\":{\"code\":-32000,\"message\":\"Server "
               "error\",\"data\":{\"throwable_type\":\"java.lang.ArithmeticException\",\"message\":\"/ by "
               "zero\"}}},{\"jsonrpc\":\"2.0\",\"id\":%llu,\"error\":{\"code\":-32000,\"message\":\"Server "
               "error\",\"data\":{\"message\":\"depends on failed request 2\"}}}]");
  jp_chain_create_object(room.chain, NULL, "A", JP_NO_ARGUMENTS);
  jp_chain_call(room.chain, "q", "divide", JP_ARGUMENTS(jp_int(0)));
  jp_chain_call(room.chain, "r", "take", JP_ARGUMENTS(jp_named("q")));
  assert_fails(&room, JP_CLIENT_REMOTE, "step 2 (A.divide, q): java.lang.ArithmeticException: / by zero");
  assert_int_equal(jp_answer_kind(jp_chain_answer(room.chain, "q")), JP_ANSWER_ERROR);
  assert_int_equal(jp_answer_kind(jp_chain_answer(room.chain, "r")), JP_ANSWER_ERROR);
  leave(&room);
}

/* The peer answers a batch that it refuses once, without an id. */
UNIT_TEST(ends_with_an_error_about_the_whole)
{
  struct room room;
  struct jp_request ping = jp_build_ping();
  struct jp_answer *answer;
  enter(&room, "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32600,\"message\":\"Invalid "
               "Request\",\"data\":{\"message\":\"batch-max: more than 1000 requests\"}}}");
  jp_chain_create_object(room.chain, NULL, "A", JP_NO_ARGUMENTS);
  jp_chain_call(room.chain, "q", "f", JP_NO_ARGUMENTS);
  assert_fails(&room, JP_CLIENT_REMOTE, "Invalid Request: batch-max: more than 1000 requests");
  assert_int_equal(jp_answer_error_code(jp_chain_answer(room.chain, "q")), -32600);
  assert_int_equal(jp_client_pending(room.client), 0);
  assert_int_equal(jp_client_call(room.client, &ping, 60000, &answer, &room.error), JP_CLIENT_REMOTE);
  jp_answer_free(answer);
  leave(&room);
}

UNIT_TEST(sends_nothing_of_a_chain_with_a_fault)
{
  struct room room;
  enter(&room, NULL);
  jp_chain_create_object(room.chain, "a", "A", JP_NO_ARGUMENTS);
  jp_chain_call(room.chain, NULL, "take", JP_ARGUMENTS(jp_named("b")));
  assert_fails(&room, JP_CLIENT_INVALID, "step 2 (A.take): no earlier step is named \"b\"");
  jp_chain_create_object(room.chain, "a", "A", JP_ARGUMENTS(jp_named("a")));
  assert_fails(&room, JP_CLIENT_INVALID, "step 1 (A.new): no earlier step is named \"a\"");
  jp_chain_create_object(room.chain, "a", "A", JP_NO_ARGUMENTS);
  jp_chain_create_object(room.chain, "a", "A", JP_NO_ARGUMENTS);
  assert_fails(&room, JP_CLIENT_INVALID, "step 2 (A.new): an earlier step is named \"a\", too");
  jp_chain_call(room.chain, NULL, "size", JP_NO_ARGUMENTS);
  assert_fails(&room, JP_CLIENT_INVALID,
               "step 1 (size): there is no object; jp_chain_create_object and jp_chain_with name one");
  jp_chain_create_object(room.chain, NULL, "A", JP_ARGUMENTS(jp_string("\xFF")));
  jp_chain_call(room.chain, NULL, "size", JP_NO_ARGUMENTS);
  assert_fails(&room, JP_CLIENT_INVALID, "step 1 (A.new): argument 0: a text is not UTF-8: byte 0 of 1");
  jp_chain_with(room.chain, NULL, NULL);
  assert_fails(&room, JP_CLIENT_INVALID, "jp_chain_with: the name is missing");
  jp_chain_with(room.chain, "x", NULL);
  jp_chain_call(room.chain, NULL, "size", JP_NO_ARGUMENTS);
  assert_fails(&room, JP_CLIENT_INVALID, "step 1 (size): no earlier step is named \"x\"");
  jp_chain_append(room.chain, room.chain);
  assert_fails(&room, JP_CLIENT_INVALID, "jp_chain_append: a chain is appended to itself");
  assert_int_equal(room.script.count, 0);
  jp_chain_create_object(room.chain, NULL, "A", JP_NO_ARGUMENTS); /* the chain can be used again */
  assert_int_equal(jp_chain_send(room.chain, 60000, &room.error), JP_CLIENT_OK);
  leave(&room);
}

UNIT_TEST(ends_its_objects_with_its_answers)
{
  struct room room;
  enter(
      &room,
      "[{\"jsonrpc\":\"2.0\",\"id\":%llu,\"result\":{\"void\":false,\"value\":{\"type\":\"A\",\"ref\":7}}}]");
  jp_chain_create_object(room.chain, "a", "A", JP_NO_ARGUMENTS);
  assert_int_equal(jp_chain_send(room.chain, 60000, &room.error), JP_CLIENT_OK);
  struct jp_ref *kept = jp_ref_keep(jp_answer_ref(jp_chain_answer(room.chain, "a")));
  assert_int_equal(jp_ref_number(kept), 7);
  jp_chain_with_object(room.chain, kept, NULL);
  jp_chain_call(room.chain, "b", "self", JP_NO_ARGUMENTS);
  assert_int_equal(jp_chain_send(room.chain, 60000, &room.error), JP_CLIENT_OK);
  assert_non_null(strstr(room.script.read[1], "\"type\":\"A\",\"method\":\"self\",\"instance\":7"));
  assert_int_equal(jp_client_ref_count(room.client), 1);
  jp_ref_release(kept);
  jp_chain_destroy(room.chain);
  room.chain = NULL;
  assert_int_equal(jp_client_ref_count(room.client), 0);
  leave(&room);
}

/* jp_chain_failure returns the error although the step has no name. */
UNIT_TEST(keeps_the_error_that_it_failed_with)
{
  struct room room;
  enter(&room, "[{\"jsonrpc\":\"2.0\",\"id\":%llu,\"error\":{\"code\":-7,\"message\":\"no\"}},{\"jsonrpc\":"
               "\"2.0\",\"id\":%llu,\"error\":{\"code\":-8,\"message\":\"later\"}}]");
  jp_chain_call_static(room.chain, NULL, "A", "f", JP_NO_ARGUMENTS);
  jp_chain_call_static(room.chain, "b", "A", "g", JP_NO_ARGUMENTS);
  assert_null(jp_chain_failure(room.chain));
  assert_int_equal(jp_chain_send(room.chain, 60000, &room.error), JP_CLIENT_REMOTE);
  assert_int_equal(jp_answer_error_code(jp_chain_failure(room.chain)), -7);
  assert_int_equal(jp_answer_error_code(jp_chain_answer(room.chain, "b")), -8);
  assert_int_equal(jp_chain_send(room.chain, 60000, &room.error), JP_CLIENT_OK);
  assert_null(jp_chain_failure(room.chain));
  leave(&room);
}

UNIT_TEST(takes_null_for_a_chain_without_memory)
{
  struct jp_client_error error;
  jp_chain_create_object(NULL, "a", "A", JP_NO_ARGUMENTS);
  jp_chain_with(NULL, "a", NULL);
  jp_chain_with_object(NULL, NULL, NULL);
  jp_chain_call(NULL, NULL, "f", JP_ARGUMENTS(jp_int(1)));
  jp_chain_get(NULL, "b", "x");
  jp_chain_put(NULL, "x", jp_int(1));
  jp_chain_put_static(NULL, "A", "x", jp_int(1));
  jp_chain_append(NULL, NULL);
  assert_int_equal(jp_chain_send(NULL, 1000, &error), JP_CLIENT_NO_MEMORY);
  assert_null(jp_chain_answer(NULL, "a"));
  assert_null(jp_chain_failure(NULL));
  jp_chain_destroy(NULL);
  struct room room;
  enter(&room, NULL);
  jp_chain_append(room.chain, NULL);
  assert_int_equal(jp_chain_send(room.chain, 1000, NULL), JP_CLIENT_NO_MEMORY);
  assert_null(jp_chain_answer(room.chain, NULL));
  leave(&room);
}

UNIT_MAIN
