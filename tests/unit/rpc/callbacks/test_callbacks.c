/* The objects that a client has given: counts, releases, limits, and how its callbacks begin and end. */
#include "callback_bench.h"
#include "rpc/callbacks/callbacks_state.h"
#include "tests/unit/cases.h"

#define GIVEN(id)        "{\"ref\":{\"callback\":" id "}}"
#define KEEP(args)       REQUEST("call", "\"type\":\"C\",\"method\":\"keep\",\"args\":[" args "]")
#define ABSENT(args)     REQUEST("call", "\"type\":\"C\",\"method\":\"absent\",\"args\":[" args "]")
#define ENTRY(id, given) "{\"callback\":" id ",\"given\":" given "}"
#define RELEASED(entries)                                                                                    \
  "N{\"jsonrpc\":\"2.0\",\"method\":\"callback_released\",\"params\":{\"callbacks\":[" entries "]}}"

static void release_proxy(const struct rpc_duplex *duplex, int64_t id, uint64_t proxy)
{
  stub_callbacks.hooks->released(bench_callbacks(duplex), id, proxy);
}

static void serve_part(struct rpc_duplex *duplex, const char *message, const char *part)
{
  assert_int_equal(bench_serve_from(duplex, message), RPC_REPLY);
  assert_part(duplex->bench, part);
}

UNIT_TEST_WITH(test_a_client_begins_with_its_first_callback, duplex_set_up, duplex_tear_down)
{
  assert_int_equal(bench_serve_from(duplex, KEEP("5")), RPC_REPLY);
  assert_null(duplex->callbacks);
  uint64_t proxy = bench_give(duplex, 7);
  assert_non_null(duplex->callbacks);
  assert_int_not_equal(proxy, 0);
  assert_int_equal(bench_give(duplex, 7), proxy);
  assert_int_not_equal(bench_give(duplex, 8), proxy);
  assert_nothing_sent(duplex);
  release_proxy(duplex, 7, proxy);
  assert_sent(duplex, RELEASED(ENTRY("7", "2")));
  release_proxy(duplex, 8, proxy + 1);
  assert_sent(duplex, RELEASED(ENTRY("8", "1")));
}

/* A release says how often the object was given since its last release, and is sent when no proxy is left. */
UNIT_TEST_WITH(test_given_counts_every_argument, duplex_set_up, duplex_tear_down)
{
  serve_part(duplex, KEEP(GIVEN("7") "," GIVEN("7") ",[" GIVEN("7") ",{\"k\":" GIVEN("7") "}]"), "result");
  uint64_t proxy = bench_give(duplex, 7);
  release_proxy(duplex, 7, proxy);
  assert_sent(duplex, RELEASED(ENTRY("7", "5")));
  proxy = bench_give(duplex, 7);
  release_proxy(duplex, 7, proxy);
  assert_sent(duplex, RELEASED(ENTRY("7", "1")));
}

static void check_failed(const char *place, const char *message, const char *wanted)
{
  char line[500];
  char sent[500];
  (void)place; /* failures show the messages */
  assert_true(*wanted != '\0');
  assert_true(snprintf(line, sizeof line, "%s", wanted) < (int)sizeof line);
  char *released = strstr(line, " releases ");
  if (released != NULL) {
    *released = '\0';
    snprintf(sent, sizeof sent, RELEASED("%s"), released + strlen(" releases "));
  }
  serve_part(duplex, message, line);
  if (released != NULL)
    assert_sent(duplex, sent);
  assert_nothing_sent(duplex);
}

/* Java has no proxy of callbacks in a failed request, so they are released with the request. */
UNIT_TEST_WITH(test_failed_requests_count, duplex_set_up, duplex_tear_down)
{
  unit_cases(FAILED_REQUESTS, check_failed);
}

/* In a batch with a request that cannot be read, the callbacks of the other requests are counted once. */
UNIT_TEST_WITH(test_batches_count_once, duplex_set_up, duplex_tear_down)
{
  serve_part(duplex, "[" KEEP(GIVEN("7")) "," KEEP(GIVEN("7") ",{\"ref\":0}") "]", "-32602");
  uint64_t proxy = stub_callbacks.hooks->find(bench_callbacks(duplex), 7, UINT64_MAX);
  assert_int_not_equal(proxy, 0);
  assert_nothing_sent(duplex);
  release_proxy(duplex, 7, proxy);
  assert_sent(duplex, RELEASED(ENTRY("7", "2")));
  serve_part(duplex, "[" KEEP(GIVEN("7")) "," KEEP(GIVEN("7")) "]", "result");
  release_proxy(duplex, 7, proxy + 1);
  assert_sent(duplex, RELEASED(ENTRY("7", "2")));
}

UNIT_TEST_WITH(test_refused_messages_count, duplex_set_up, duplex_tear_down)
{
  const struct rpc_service *service = duplex->bench->service;
  service->refused(service->context, duplex->client, TEXT(KEEP("5")));
  assert_null(duplex->callbacks);
  service->refused(service->context, duplex->client, TEXT("[" KEEP(GIVEN("7")) "," KEEP(GIVEN("7")) "]"));
  assert_non_null(duplex->callbacks);
  assert_sent(duplex, RELEASED(ENTRY("7", "1") "," ENTRY("7", "1")));
  uint64_t proxy = bench_give(duplex, 7);
  service->refused(service->context, duplex->client, TEXT(KEEP(GIVEN("7"))));
  assert_nothing_sent(duplex);
  release_proxy(duplex, 7, proxy);
  assert_sent(duplex, RELEASED(ENTRY("7", "2")));
}

/* The ID is released with the last of its proxies. */
UNIT_TEST_WITH(test_the_last_of_several_proxies_releases, duplex_set_up, duplex_tear_down)
{
  const struct jvm_callback_hooks *hooks = stub_callbacks.hooks;
  uint64_t old = bench_give(duplex, 7);
  uint64_t new = old + 100;
  bool is_taken;
  assert_int_equal(hooks->made(bench_callbacks(duplex), 7, new, old, &is_taken), JP_OK);
  assert_true(is_taken);
  /* Both refer to the ID. */
  assert_int_not_equal(hooks->owner(bench_callbacks(duplex), 7, old), 0);
  assert_int_not_equal(hooks->owner(bench_callbacks(duplex), 7, new), 0);
  assert_int_equal(hooks->find(bench_callbacks(duplex), 7, new), old);
  assert_int_equal(hooks->find(bench_callbacks(duplex), 7, old), 0);
  /* If two threads make a proxy at once, the proxy that is finished later is dropped. */
  assert_int_equal(hooks->made(bench_callbacks(duplex), 7, new + 1, old, &is_taken), JP_OK);
  assert_false(is_taken);
  assert_int_equal(hooks->made(bench_callbacks(duplex), 7, new + 2, new, &is_taken), JP_OK);
  release_proxy(duplex, 7, new);
  assert_int_equal(hooks->find(bench_callbacks(duplex), 7, new + 2), old);
  release_proxy(duplex, 7, new + 2);
  assert_nothing_sent(duplex);
  assert_int_equal(bench_give(duplex, 7), old);
  release_proxy(duplex, 7, old);
  assert_sent(duplex, RELEASED(ENTRY("7", "2")));
}

UNIT_TEST_WITH(test_releases_wait_for_room, duplex_set_up, duplex_tear_down)
{
  const struct rpc_service *service = duplex->bench->service;
  uint64_t first = bench_give(duplex, 7);
  uint64_t second = bench_give(duplex, 8);
  duplex->has_no_room = true;
  release_proxy(duplex, 7, first);
  release_proxy(duplex, 8, second);
  assert_nothing_sent(duplex);
  service->has_room(service->context, duplex->callbacks);
  assert_nothing_sent(duplex);
  duplex->has_no_room = false;
  service->has_room(service->context, duplex->callbacks);
  assert_sent(duplex, RELEASED(ENTRY("7", "1") "," ENTRY("8", "1")));
  service->has_room(service->context, duplex->callbacks);
  assert_nothing_sent(duplex);
}

/* A client that reads nothing, and gives more and more callbacks in messages that are not read. */
UNIT_TEST_WITH(test_waiting_releases_are_limited, duplex_set_up, duplex_tear_down)
{
  enum { MESSAGES = 1100, GIVEN_EACH = 1000, SENT_MAX = 1000000 };
  struct buffer message;
  buffer_init(&message);
  BUFFER_LITERAL(&message, "{\"jsonrpc\":\"2.0\",\"id\":\"cb-99\",\"result\":[{\"ref\":{\"callback\":1}}");
  for (int i = 1; i < GIVEN_EACH; i++)
    BUFFER_LITERAL(&message, ",{\"ref\":{\"callback\":1}}");
  BUFFER_LITERAL(&message, "]}");
  release_proxy(duplex, 7, bench_give(duplex, 7));
  assert_sent(duplex, RELEASED(ENTRY("7", "1")));
  struct rpc_callbacks *callbacks = duplex->callbacks;
  duplex->has_no_room = true;
  for (int i = 0; i < MESSAGES; i++)
    rpc_callbacks_count_unread(callbacks, buffer_text(&message));
  assert_int_equal(callbacks->releases.count, SENT_MAX);
  buffer_fini(&message);
}

#define DELETE_SESSION CONTROL("delete_session", "")

/* A request in the middle of a batch deletes the session. The callbacks that earlier requests of the batch
 * have given are released with the session. */
UNIT_TEST_WITH(test_delete_session_within_a_batch, duplex_set_up, duplex_tear_down)
{
  serve_part(duplex, "[" KEEP(GIVEN("7")) "," DELETE_SESSION "," KEEP(GIVEN("7") "," GIVEN("7")) "]",
             "result");
  assert_sent(duplex, RELEASED(ENTRY("7", "1")));
  uint64_t second = stub_callbacks.hooks->find(bench_callbacks(duplex), 7, UINT64_MAX);
  assert_nothing_sent(duplex);
  release_proxy(duplex, 7, second);
  assert_sent(duplex, RELEASED(ENTRY("7", "2")));
  release_proxy(duplex, 7, second - 1);
  assert_nothing_sent(duplex);
}

/* Callbacks of the message are counted once, even if a request that is not read follows. */
UNIT_TEST_WITH(test_delete_session_within_a_batch_that_is_unread_in_part, duplex_set_up, duplex_tear_down)
{
#define UNREAD(args) "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"unknown\",\"params\":[" args "]}"
  static const struct {
    const char *message;
    const char *sent[4]; /* ends with NULL */
  } cases[] = {
      {"[" ABSENT(GIVEN("7")) "," DELETE_SESSION "," UNREAD("5") "]", {RELEASED(ENTRY("7", "1"))}},
      {"[" ABSENT(GIVEN("7") "," GIVEN("7")) "," DELETE_SESSION "," ABSENT(
           "{\"ref\":0}," GIVEN("7")) "," ABSENT(GIVEN("7") "," GIVEN("9")) "]",
       {RELEASED(ENTRY("7", "2")), RELEASED(ENTRY("7", "2") "," ENTRY("9", "1"))}},
  };
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    serve_part(duplex, cases[i].message, "\"void\":true");
    for (size_t k = 0; cases[i].sent[k] != NULL; k++)
      assert_sent(duplex, cases[i].sent[k]);
    assert_nothing_sent(duplex);
  }
}

#define PEER_ID "0f8fad5b-d9cb-469f-a165-70867728950e"

UNIT_TEST_WITH(test_a_session_may_have_several_connections, duplex_set_up, duplex_tear_down)
{
  struct rpc_duplex *other = duplex;
  struct rpc_duplex *first = bench_connect_named(other->bench, PEER_ID);
  struct rpc_duplex *second = bench_connect_named(other->bench, PEER_ID);
  uint64_t of_first = bench_give(first, 7);
  uint64_t of_second = bench_give(second, 7);
  uint64_t of_other = bench_give(other, 7);
  assert_int_not_equal(of_first, of_second);
  serve_part(first, DELETE_SESSION, "\"void\":true");
  assert_sent(first, RELEASED(ENTRY("7", "1")));
  assert_sent(second, RELEASED(ENTRY("7", "1")));
  assert_nothing_sent(other);
  release_proxy(first, 7, of_first);
  release_proxy(second, 7, of_second);
  release_proxy(other, 7, of_other);
  bench_disconnect(first);
  bench_disconnect(second);
}

/* Proxies outlive the client, and hold all data that they need. */
UNIT_TEST_WITH(test_a_proxy_may_outlive_its_client, duplex_set_up, duplex_tear_down)
{
  struct rpc_callbacks *callbacks;
  uint64_t proxy = bench_give(duplex, 7);
  callbacks = bench_callbacks(duplex);
  bench_close_client(duplex);
  assert_int_equal(atomic_load(&duplex->opened), 1);
  struct stub_call call = {.callbacks = callbacks, .id = 7, .proxy = proxy};
  stub_call(&call);
  assert_int_equal(call.result, STUB_RESULT_FAILURE);
  assert_string_equal(call.text, "the connection of the client has ended");
  stub_callbacks.hooks->released(callbacks, 7, proxy);
  assert_nothing_sent(duplex);
  assert_int_equal(atomic_load(&duplex->opened), 0);
}

UNIT_MAIN
