/* client_scenarios URL SCENARIO [binary]: scenarios of test_client.py for the library and a real peer. Ends
 * with 0, or prints the fault in a line. TEST_CA_FILE is the authority of peers over TLS. */
#include "scenario.h"
#include <inttypes.h>

#include <jpeer/client.h>

#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *url;
static bool is_binary;

static bool give_token(void *context, char token[JP_TOKEN_SIZE], struct jp_client_error *error)
{
  (void)context, (void)error;
  strcpy(token, "a-token-of-the-scenarios");
  return true;
}

static void set_credentials(struct jp_client_config *config)
{
  if (strncmp(url, "tcp:", 4) == 0) {
    config->server_key = getenv("TEST_SERVER_KEY");
    config->key_file = getenv("TEST_KEY_FILE");
  }
  if (strncmp(url, "wss:", 4) != 0 && strncmp(url, "https:", 6) != 0)
    return;
  config->ca_file = getenv("TEST_CA_FILE");
  config->token_function = give_token;
}

/* config NULL: all zero. */
static struct jp_client *open_client(const struct jp_client_config *given)
{
  struct jp_client_config config = {.size = sizeof config};
  struct jp_client *client;
  struct jp_client_error error;
  if (given != NULL)
    config = *given;
  config.binary = is_binary;
  set_credentials(&config);
  enum jp_client_status status = jp_client_open(url, &config, &client, &error);
  CHECK(status == JP_CLIENT_OK, "%s", error.text);
  return client;
}

static struct jp_answer *call(struct jp_client *client, struct jp_request request)
{
  struct jp_answer *answer;
  struct jp_client_error error;
  enum jp_client_status status = jp_client_call(client, &request, 30000, &answer, &error);
  CHECK(status == JP_CLIENT_OK, "%s", error.text);
  return answer;
}

static enum jp_client_status try_call(struct jp_client *client, struct jp_request request, int timeout_ms)
{
  struct jp_answer *answer;
  enum jp_client_status status = jp_client_call(client, &request, timeout_ms, &answer, NULL);
  jp_answer_free(answer);
  return status;
}

static void check_integer(struct jp_client *client, struct jp_request request, int64_t wanted)
{
  struct jp_answer *answer = call(client, request);
  int64_t value = 0;
  CHECK(jp_answer_integer(answer, &value), "the answer is no integer");
  CHECK(value == wanted, "%lld", (long long)value);
  jp_answer_free(answer);
}

/* The caller owns the object. */
static struct jp_ref *make(struct jp_client *client, struct jp_request request)
{
  struct jp_answer *answer = call(client, request);
  struct jp_ref *ref = jp_ref_keep(jp_answer_ref(answer));
  CHECK(ref != NULL, "the answer has no ref");
  jp_answer_free(answer);
  return ref;
}

static struct jp_ref *make_list(struct jp_client *client)
{
  return make(client, jp_build_constructor_call("java.util.ArrayList", JP_NO_ARGUMENTS));
}

static void check_size(struct jp_client *client, const struct jp_ref *list, int64_t wanted)
{
  check_integer(client,
                jp_build_instance_method_call("java.util.List", "size", jp_object(list), JP_NO_ARGUMENTS),
                wanted);
}

/* The number of objects in the session. */
static int64_t count_objects(struct jp_client *client)
{
  struct jp_answer *answer = call(client, jp_build_stats());
  struct jp_json document;
  int64_t count = -1;
  CHECK(jp_json_parse(jp_answer_text(answer), 10, &document, NULL) == JP_JSONRPC_OK, "stats is no JSON");
  CHECK(jp_json_integer(jp_json_member(document, "objects"), &count), "stats has no objects");
  jp_answer_free(answer);
  return count;
}

static struct jp_request sleep_call(const struct jp_argument *milliseconds)
{
  return jp_build_class_method_call("java.lang.Thread", "sleep", milliseconds, 1);
}

/* Lets the test continue, and waits for its answer. False: the test ends the scenario. */
static bool take_turns(const char *what)
{
  char line[16];
  printf("%s\n", what);
  fflush(stdout);
  CHECK(fgets(line, sizeof line, stdin) != NULL, "the test has gone");
  return strcmp(line, "end\n") != 0;
}

/* ---- calls of each kind ---- */

/* Calls that binary messages support, too. list: empty. */
static void check_kinds(struct jp_client *client, const struct jp_ref *list)
{
  CHECK(strcmp(jp_ref_type(list), "java.util.ArrayList") == 0, "%s", jp_ref_type(list));
  check_integer(client,
                jp_build_class_method_call("java.lang.Math", "max", JP_ARGUMENTS(jp_int(5), jp_int(3))), 5);
  jp_answer_free(call(client, jp_build_instance_method_call("java.util.List", "add", jp_object(list),
                                                            JP_ARGUMENTS(jp_string("a")))));
  check_size(client, list, 1);
  check_integer(client, jp_build_static_field_get("java.lang.Integer", "MAX_VALUE"), INT32_MAX);
  check_integer(client, jp_build_instance_method_call(NULL, "size", jp_object(list), JP_NO_ARGUMENTS), 1);
}

static void run_kinds(void)
{
  struct jp_client *client = open_client(NULL);
  struct jp_ref *list = make_list(client);
  check_kinds(client, list);

  struct jp_answer *answer = call(client, jp_build_fetch(jp_object(list), 10, 0));
  struct jp_json elements = jp_json_member(jp_answer_json(answer), "elements");
  CHECK(jp_json_count(elements) == 1, "%zu elements", jp_json_count(elements));
  jp_answer_free(answer);
  answer = call(client, jp_build_method("java.lang.Math.max", jp_text_of("[7, 2]")));
  CHECK(strncmp(jp_answer_json(answer).text.data, "7", 1) == 0, "an own name");
  jp_answer_free(answer);
  jp_answer_free(call(client, jp_build_describe(jp_object(list))));
  jp_answer_free(call(client, jp_build_gc()));
  jp_answer_free(call(client, jp_build_ping()));

  struct jp_request request =
      jp_build_class_method_call("java.lang.Integer", "parseInt", JP_ARGUMENTS(jp_string("x")));
  struct jp_client_error error;
  CHECK(jp_client_call(client, &request, 5000, &answer, &error) == JP_CLIENT_REMOTE, "no error");
  CHECK(strcmp(error.text, "java.lang.NumberFormatException: For input string: \"x\"") == 0, "%s",
        error.text);
  CHECK(strcmp(jp_answer_throwable(answer)->type, "java.lang.NumberFormatException") == 0, "the throwable");
  jp_answer_free(answer);
  jp_ref_release(list);
  jp_client_close(client);
}

/* ---- binary messages ---- */

/* The properties of a session are asked over a JSON connection, because binary messages do not show all of
 * them. */
static void run_binary(void)
{
  enum { LISTS = 300 };
  const struct jp_client_config config = {.size = sizeof config,
                                          .peer_id = "0c8f3e52-7d1a-4b6e-9f20-5a4b3c2d1e0f"};
  struct jp_client *json = open_client(&config);
  is_binary = true;
  struct jp_client *client = open_client(&config);
  struct jp_ref *lists[LISTS];
  for (int i = 0; i < LISTS; i++)
    lists[i] = make_list(client);
  check_kinds(client, lists[0]);
  check_size(json, lists[0], 1);

  struct jp_request request =
      jp_build_class_method_call("java.lang.Integer", "parseInt", JP_ARGUMENTS(jp_string("x")));
  CHECK(try_call(client, request, 5000) == JP_CLIENT_REMOTE, "no error");
  CHECK(try_call(client, jp_build_fetch(jp_object(lists[0]), 10, 0), 5000) == JP_CLIENT_UNSUPPORTED,
        "a fetch");
  CHECK(jp_client_notify(client, &request, NULL) == JP_CLIENT_UNSUPPORTED, "a notification");
  CHECK(count_objects(json) == LISTS, "%lld objects", (long long)count_objects(json));
  for (int i = 0; i < LISTS; i++)
    jp_ref_release(lists[i]);
  jp_answer_free(call(client, jp_build_ping())); /* the ping also carries the releases */
  CHECK(count_objects(json) == 0, "%lld objects", (long long)count_objects(json));
  CHECK(jp_client_pending(client) == 0, "%zu", jp_client_pending(client));
  jp_client_close(client);
  jp_client_close(json);
}

/* ---- refs ---- */

static void run_refs(void)
{
  enum { LISTS = 2500 };
  struct jp_client *client = open_client(NULL);
  struct jp_ref *lists[LISTS];
  for (int i = 0; i < LISTS; i++)
    lists[i] = make_list(client);
  CHECK(jp_client_ref_count(client) == LISTS, "%zu", jp_client_ref_count(client));
  CHECK(count_objects(client) == LISTS, "not all objects are there");
  for (int i = 1; i < LISTS; i++)
    jp_ref_release(lists[i]);
  CHECK(jp_client_ref_count(client) == 1, "%zu", jp_client_ref_count(client));
  for (int i = 0; i < 3; i++) /* each sends a thousand releases */
    jp_answer_free(call(client, jp_build_ping()));
  CHECK(count_objects(client) == 1, "%lld objects", (long long)count_objects(client));
  check_size(client, lists[0], 0);

  /* Sent ten times, held once: one release releases all references. */
  for (int i = 0; i < 10; i++)
    jp_answer_free(call(client, jp_build_class_method_call("java.util.Objects", "requireNonNull",
                                                           JP_ARGUMENTS(jp_object(lists[0])))));
  CHECK(jp_client_ref_count(client) == 1, "%zu", jp_client_ref_count(client));
  jp_ref_release(lists[0]);
  CHECK(count_objects(client) == 0, "%lld objects", (long long)count_objects(client));
  jp_client_close(client);
}

/* If more releases are queued than one message can contain, they are sent in messages of their own. */
static void run_overdue(void)
{
  enum { LISTS = 10000 };
  static struct jp_ref *lists[LISTS];
  struct jp_client *client = open_client(NULL);
  for (int i = 0; i < LISTS; i++)
    lists[i] = make_list(client);
  for (int i = 0; i < LISTS; i++)
    jp_ref_release(lists[i]);
  CHECK(count_objects(client) == 0, "%lld objects", (long long)count_objects(client));
  jp_client_close(client);
}

/* When a client of a shared session is closed, only its own objects are released. */
static void run_shared_session(void)
{
  const struct jp_client_config config = {.size = sizeof config,
                                          .peer_id = "6f9a3c1e-2b4d-4e5f-8a7b-9c0d1e2f3a4b"};
  struct jp_client *one = open_client(&config);
  struct jp_client *other = open_client(&config);
  struct jp_ref *kept = make_list(one);
  struct jp_ref *held = make_list(other);
  CHECK(count_objects(one) == 2, "%lld objects", (long long)count_objects(one));
  jp_client_close(other);
  int64_t left = 2;
  for (int i = 0; i < POLLS_MAX && left != 1; i++, usleep(1000))
    left = count_objects(one);
  CHECK(left == 1, "%lld objects", (long long)left);
  check_size(one, kept, 0);
  jp_ref_release(held); /* released after the client was closed */
  jp_ref_release(kept);
  jp_client_close(one);
}

/* ---- the name of a session during a call ---- */

enum { SHARE_MS = 20000 };
#define FUTURE "\"type\":\"java.util.concurrent.CompletableFuture\""

static struct jp_answer *call_json(struct jp_client *client, int timeout_ms, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static struct jp_answer *call_json(struct jp_client *client, int timeout_ms, const char *format, ...)
{
  struct jp_client_error error;
  struct jp_answer *answer = NULL;
  char text[512];
  va_list args;
  va_start(args, format);
  int length = vsnprintf(text, sizeof text, format, args);
  va_end(args);
  CHECK(length > 0 && (size_t)length < sizeof text, "the request is too long");
  enum jp_client_status status =
      jp_client_call_json(client, text, (size_t)length, timeout_ms, &answer, &error);
  CHECK(status == JP_CLIENT_OK, "%s: %s", text, error.text);
  return answer;
}

struct getting {
  struct jp_client *client;
  uint32_t future;
  uint32_t got;
};

static void *get_result(void *context)
{
  struct getting *getting = context;
  struct jp_answer *answer = call_json(
      getting->client, JP_FOREVER,
      "{\"method\":\"call\",\"params\":{" FUTURE ",\"method\":\"get\",\"instance\":%u}}", getting->future);
  getting->got = jp_ref_number(jp_answer_ref(answer));
  jp_answer_free(answer);
  return NULL;
}

/* While one thread is in a call, another thread gets the session's name; a second client with this name ends
 * that call. */
static void run_shared_beside(void)
{
  struct jp_client *client = open_client(NULL);
  struct jp_answer *made = call_json(client, JP_FOREVER, "{\"method\":\"new\",\"params\":{" FUTURE "}}");
  struct getting getting = {.client = client, .future = jp_ref_number(jp_answer_ref(made))};
  pthread_t thread;
  CHECK(pthread_create(&thread, NULL, get_result, &getting) == 0, "pthread_create");
  for (int i = 0; i < POLLS_MAX && jp_client_pending(client) == 0; i++)
    usleep(1000);
  struct jp_answer *name =
      call_json(client, SHARE_MS, "{\"method\":\"control\",\"params\":{\"method\":\"share_session\"}}");
  const struct jp_client_config config = {.size = sizeof config, .peer_id = jp_answer_text_of(name, NULL)};
  struct jp_client *other = open_client(&config);
  struct jp_ref *list = make_list(other);
  jp_answer_free(call_json(other, JP_FOREVER,
                           "{\"method\":\"call\",\"params\":{" FUTURE
                           ",\"method\":\"complete\",\"instance\":%u,\"args\":[{\"ref\":%u}]}}",
                           getting.future, jp_ref_number(list)));
  pthread_join(thread, NULL);
  CHECK(getting.got == jp_ref_number(list), "ref %u in place of %u", getting.got, jp_ref_number(list));
  jp_ref_release(list);
  jp_answer_free(name);
  jp_answer_free(made);
  jp_client_close(other);
  jp_client_close(client);
}

/* ---- pinned threads ---- */

static void check_thread(struct jp_client *client, const char *name)
{
  struct jp_answer *answer = call_json(client, JP_FOREVER,
                                       "{\"method\":\"call\",\"params\":{\"type\":\"fixtures.Affinity\","
                                       "\"method\":\"threadName\",\"args\":[]}}");
  const char *found = jp_answer_text_of(answer, NULL);
  CHECK(found != NULL && strstr(found, name) != NULL, "%s in place of %s", found, name);
  jp_answer_free(answer);
}

static void run_pinned(void)
{
  struct jp_client *client = open_client(NULL);
  struct jp_client_error error;
  CHECK(jp_client_pin(client, NULL, JP_FOREVER, &error) == JP_CLIENT_OK, "%s", error.text);
  check_thread(client, "-client-");
  CHECK(jp_client_pin(client, "w\"\xc3\xbc", JP_FOREVER, &error) == JP_CLIENT_OK, "%s", error.text);
  check_thread(client, "w\"\xc3\xbc");
  CHECK(jp_client_pin(client, "\xff", JP_FOREVER, &error) == JP_CLIENT_INVALID, "not UTF-8");
  CHECK(jp_client_pin(client, "", JP_FOREVER, &error) == JP_CLIENT_REMOTE, "no name");
  check_thread(client, "w\"\xc3\xbc");
  CHECK(jp_client_unpin(client, JP_FOREVER, &error) == JP_CLIENT_OK, "%s", error.text);
  check_thread(client, "rpc-");
  CHECK(jp_client_pin(client, "again", JP_FOREVER, &error) == JP_CLIENT_OK, "%s", error.text);
  CHECK(jp_client_unpin(client, 0, &error) == JP_CLIENT_OK, "%s", error.text);
  check_thread(client, "rpc-");
  jp_client_close(client);
}

static void run_unpinned(void)
{
  struct jp_client *client = open_client(NULL);
  struct jp_client_error error;
  CHECK(jp_client_pin(client, "mine", JP_FOREVER, &error) == JP_CLIENT_REMOTE, "another transport");
  CHECK(strstr(error.text, "is for connections over WebSocket") != NULL, "%s", error.text);
  check_thread(client, "rpc-");
  jp_client_close(client);
}

/* ---- late answers ---- */

/* There the end of the connection is the only cancel. */
static bool is_over_http(void)
{
  return strncmp(url, "http", 4) == 0;
}

static void note_cancelled(void *context, enum jp_client_status status, struct jp_answer *answer)
{
  *(bool *)context = status == (is_over_http() ? JP_CLIENT_CLOSED : JP_CLIENT_REMOTE);
  jp_answer_free(answer);
}

static void check_cancel(struct jp_client *client, const struct jp_argument *time)
{
  bool is_cancelled = false;
  const struct jp_request request = sleep_call(time);
  struct jp_client_error error;
  CHECK(jp_client_send(client, &request, JP_FOREVER, note_cancelled, &is_cancelled, &error) == JP_CLIENT_OK,
        "%s", error.text);
  CHECK(!jp_client_cancel(client, note_cancelled, NULL), "another request was found");
  CHECK(jp_client_cancel(client, note_cancelled, &is_cancelled), "no request was found");
  for (int i = 0; i < 1000 && !is_cancelled; i++) {
    struct pollfd polled = {.fd = jp_client_descriptor(client), .events = POLLIN};
    (void)poll(&polled, 1, 10);
    CHECK(jp_client_process(client, &error) == JP_CLIENT_OK || is_over_http(), "%s", error.text);
  }
  CHECK(is_cancelled, "the request was not cancelled");
  CHECK(!jp_client_cancel(client, note_cancelled, &is_cancelled), "an answered request was found");
}

/* The call whose wait has timed out is interrupted in Java, so that the next call does not wait for its
 * end. */
static void run_cancelled(void)
{
  struct jp_client *client = open_client(NULL);
  const struct jp_argument time = jp_long(60000);
  CHECK(try_call(client, sleep_call(&time), 20) == JP_CLIENT_TIMEOUT, "no timeout");
  CHECK(count_objects(client) == 0, "an object");
  check_cancel(client, &time);
  CHECK(jp_client_pending(client) == 0, "%zu", jp_client_pending(client));
  jp_client_close(client);
}

static void run_late(void)
{
  if (!is_binary) {
    run_cancelled();
    return;
  }
  struct jp_client *client = open_client(NULL);
  const struct jp_argument time = jp_long(1000);
  CHECK(try_call(client, sleep_call(&time), 20) == JP_CLIENT_TIMEOUT, "no timeout");
  CHECK(try_call(client, jp_build_constructor_call("java.util.ArrayList", JP_NO_ARGUMENTS), 20) ==
            JP_CLIENT_TIMEOUT,
        "no timeout");
  CHECK(jp_client_pending(client) == 2, "%zu", jp_client_pending(client));
  CHECK(count_objects(client) == 1, "the late object");
  CHECK(jp_client_pending(client) == 0, "%zu", jp_client_pending(client));
  CHECK(count_objects(client) == 0, "the late object is still there");
  jp_client_close(client);
}

/* ---- a peer that is killed or stopped ---- */

enum { IN_FLIGHT = 64 };

struct tally {
  unsigned done;
  unsigned closed;
};

static void count_completion(void *context, enum jp_client_status status, struct jp_answer *answer)
{
  struct tally *tally = context;
  tally->done++;
  tally->closed += status == JP_CLIENT_CLOSED;
  CHECK(answer == NULL || status != JP_CLIENT_CLOSED, "an answer out of nowhere");
  jp_answer_free(answer);
}

static void *wait_for_answer(void *context)
{
  const struct jp_argument time = jp_long(60000);
  CHECK(try_call(context, sleep_call(&time), JP_FOREVER) == JP_CLIENT_CLOSED, "the call has ended otherwise");
  return NULL;
}

static void run_killed(void)
{
  struct jp_client *client = open_client(NULL);
  struct jp_client_error error;
  struct tally tally = {0};
  const struct jp_argument time = jp_long(60000);
  const struct jp_request request = sleep_call(&time);
  pthread_t threads[4];
  for (int i = 0; i < IN_FLIGHT; i++)
    CHECK(jp_client_send(client, &request, JP_FOREVER, count_completion, &tally, NULL) == JP_CLIENT_OK,
          "send");
  for (int i = 0; i < 4; i++)
    CHECK(pthread_create(&threads[i], NULL, wait_for_answer, client) == 0, "pthread_create");
  /* Over HTTP a later call would connect anew. */
  for (int i = 0; jp_client_pending(client) < IN_FLIGHT + 4; i++) {
    CHECK(i < 30000, "the threads have not sent their calls");
    usleep(1000);
  }
  take_turns("waits");
  enum jp_client_status status = JP_CLIENT_OK;
  while (status == JP_CLIENT_OK) {
    struct pollfd polled = {.fd = jp_client_descriptor(client), .events = POLLIN};
    CHECK(poll(&polled, 1, 10000) == 1, "no event when the peer has died");
    status = jp_client_process(client, &error);
  }
  CHECK(status == JP_CLIENT_CLOSED, "%s", error.text);
  CHECK(tally.done == IN_FLIGHT && tally.closed == IN_FLIGHT, "%u, %u", tally.done, tally.closed);
  for (int i = 0; i < 4; i++)
    pthread_join(threads[i], NULL);
  status = try_call(client, jp_build_ping(), 1000); /* over HTTP the client tries to reconnect */
  CHECK(status == JP_CLIENT_CLOSED || status == JP_CLIENT_REFUSED, "the connection lives");
  jp_client_close(client);
}

static void run_stopped(void)
{
  struct jp_client *client = open_client(NULL);
  jp_answer_free(call(client, jp_build_ping()));
  take_turns("stop");
  CHECK(try_call(client, jp_build_ping(), 200) == JP_CLIENT_TIMEOUT, "a stopped peer answers");
  take_turns("continue");
  jp_answer_free(call(client, jp_build_ping()));
  CHECK(jp_client_pending(client) == 0, "%zu", jp_client_pending(client));
  jp_client_close(client);
}

/* ---- a peer that is killed repeatedly: tests/release/shm_kills.py ---- */

/* Calls until the connection ends, alternating short texts and texts that fill a ring. */
static void call_until_closed(struct jp_client *client)
{
  static char text[200000];
  enum jp_client_status status = JP_CLIENT_OK;
  memset(text, 'x', sizeof text);
  for (unsigned i = 0; status == JP_CLIENT_OK; i++) {
    const struct jp_text part = {text, i % 2 == 0 ? 10 : sizeof text - i % 1000};
    const struct jp_argument argument = jp_text_argument(part);
    status =
        try_call(client, jp_build_class_method_call("fixtures.Arguments", "echoString", &argument, 1), 20000);
  }
  CHECK(status != JP_CLIENT_TIMEOUT && status != JP_CLIENT_REMOTE, "%d", (int)status);
}

/* One connection in each round. */
static void run_survives(void)
{
  enum { ROUNDS = 10 };
  do {
    for (int round = 0; round < ROUNDS; round++) {
      struct jp_client *client = NULL;
      for (int i = 0; i < POLLS_MAX && jp_client_open(url, NULL, &client, NULL) != JP_CLIENT_OK; i++)
        usleep(1000); /* the peer may still be starting */
      CHECK(client != NULL, "no peer comes");
      call_until_closed(client);
      jp_client_close(client);
    }
  } while (take_turns("rounds"));
}

/* ---- many threads, one connection ---- */

enum { THREADS = 100, CALLS = 200 };

struct worker {
  struct jp_client *client;
  pthread_t thread;
  int number;
};

static void *call_often(void *context)
{
  const struct worker *worker = context;
  for (int i = 0; i < CALLS; i++) {
    int32_t left = worker->number * 1000000;
    check_integer(
        worker->client,
        jp_build_class_method_call("java.lang.Math", "addExact", JP_ARGUMENTS(jp_int(left), jp_int(i))),
        left + i);
  }
  return NULL;
}

static void run_threads(void)
{
  struct jp_client *client = open_client(NULL);
  struct worker workers[THREADS];
  for (int i = 0; i < THREADS; i++) {
    workers[i] = (struct worker){.client = client, .number = i};
    CHECK(pthread_create(&workers[i].thread, NULL, call_often, &workers[i]) == 0, "pthread_create");
  }
  for (int i = 0; i < THREADS; i++)
    pthread_join(workers[i].thread, NULL);
  CHECK(jp_client_pending(client) == 0, "%zu", jp_client_pending(client));
  jp_client_close(client);
}

/* ---- a connection that breaks ---- */

/* Ends the only connected socket of this process, as a network failure would. */
static void break_connection(void)
{
  int broken = 0;
  for (int fd = 3; fd < 64; fd++)
    broken += shutdown(fd, SHUT_RDWR) == 0;
  CHECK(broken == 1, "%d sockets", broken);
}

static bool has_whole_connection(void)
{
  bool found = false;
  for (int fd = 3; fd < 64; fd++) {
    struct stat file;
    struct pollfd polled = {.fd = fd};
    found |= fstat(fd, &file) == 0 && S_ISSOCK(file.st_mode) && poll(&polled, 1, 0) == 0;
  }
  return found;
}

/* The shared memory still exists: a peer that polls it serves it until it reads the socket. One call may find
 * both its answer and the end. In that case this call succeeds, the next call reconnects, and no call fails;
 * the new connection shows that the client has noticed the end. */
static enum jp_client_status ping_until_closed(struct jp_client *client, enum jp_client_status status)
{
  for (int i = 0; i < POLLS_MAX && status == JP_CLIENT_OK; i++) {
    if (has_whole_connection())
      return JP_CLIENT_CLOSED;
    usleep(1000);
    status = try_call(client, jp_build_ping(), 5000);
  }
  return status;
}

static void run_reconnects(void)
{
  const struct jp_client_config config = {.size = sizeof config, .reconnects = true};
  struct jp_client *client = open_client(&config);
  struct jp_ref *list = make_list(client);
  for (int i = 0; i < 5; i++) {
    break_connection();
    /* Over HTTP the client reconnects at once. */
    enum jp_client_status wanted = strncmp(url, "http", 4) == 0 ? JP_CLIENT_OK : JP_CLIENT_CLOSED;
    enum jp_client_status status = try_call(client, jp_build_ping(), 5000);
    if (strncmp(url, "shm:", 4) == 0)
      status = ping_until_closed(client, status);
    CHECK(status == wanted, "the call did not see the end");
    check_size(client, list, 0);
  }
  CHECK(count_objects(client) == 1, "%lld objects", (long long)count_objects(client));
  jp_ref_release(list);
  CHECK(count_objects(client) == 0, "%lld objects", (long long)count_objects(client));
  jp_client_close(client);
}

/* ---- another peer at the same address ---- */

static struct jp_request add_text(const struct jp_ref *list, const struct jp_argument *text)
{
  return jp_build_instance_method_call("java.util.List", "add", jp_object(list), text, 1);
}

static void check_text(struct jp_client *client, const struct jp_ref *list, const char *wanted)
{
  struct jp_answer *answer = call(client, jp_build_instance_method_call("java.lang.Object", "toString",
                                                                        jp_object(list), JP_NO_ARGUMENTS));
  CHECK(strcmp(jp_answer_text(answer).data, wanted) == 0, "%s", jp_answer_text(answer).data);
  jp_answer_free(answer);
}

/* Waits until the client has noticed the end of its peer, and has connected to the new peer. */
static void ping_until_answered(struct jp_client *client)
{
  for (int i = 0; i < POLLS_MAX && try_call(client, jp_build_ping(), 5000) != JP_CLIENT_OK; i++)
    usleep(1000);
}

/* A request with an object of the old peer as its receiver, as an argument, in a list or as a loader. */
static void check_stale(struct jp_client *client, const struct jp_ref *old, const struct jp_ref *list)
{
  const struct jp_argument in_list[] = {jp_int(1), jp_object(old)};
  const struct jp_argument nested = jp_list("java.util.ArrayList", in_list, 2);
  const struct jp_argument as_argument = jp_object(old);
  const struct jp_argument text = jp_string("new");
  const struct jp_options options = {.size = sizeof options, .loader = jp_object(old)};
  struct jp_request with_loader = jp_build_constructor_call("java.util.ArrayList", JP_NO_ARGUMENTS);
  with_loader.options = &options;
  const struct jp_request requests[] = {
      add_text(old, &text), add_text(list, &as_argument),      add_text(list, &nested),
      with_loader,          jp_build_describe(jp_object(old)), jp_build_fetch(jp_object(old), 10, 0)};
  for (size_t i = 0; i < sizeof requests / sizeof requests[0]; i++) {
    struct jp_answer *answer;
    struct jp_client_error error;
    enum jp_client_status status = jp_client_call(client, &requests[i], 5000, &answer, &error);
    CHECK(status == JP_CLIENT_STALE, "request %zu: %d %s", i, (int)status, error.text);
    CHECK(answer == NULL, "request %zu was answered", i);
    CHECK(strstr(error.text, "java.util.ArrayList") != NULL, "%s", error.text);
  }
}

/* A request in JSON that names the object by its number and its epoch. */
static enum jp_client_status size_by_number(struct jp_client *client, const struct jp_ref *list,
                                            uint64_t epoch)
{
  char text[256];
  struct jp_client_error error;
  struct jp_answer *answer;
  int length =
      snprintf(text, sizeof text,
               "{\"method\":\"call\",\"params\":{\"type\":\"java.util.ArrayList\",\"method\":\"size\","
               "\"instance\":%u},\"epoch\":\"%016" PRIx64 "\"}",
               jp_ref_number(list), epoch);
  enum jp_client_status status =
      jp_client_call_json(client, text, (size_t)length, JP_FOREVER, &answer, &error);
  jp_answer_free(answer);
  return status;
}

static void note_status(void *context, enum jp_client_status status, struct jp_answer *answer)
{
  *(int *)context = (int)status;
  jp_answer_free(answer);
}

/* A call with a completion. */
static enum jp_client_status complete(struct jp_client *client, const struct jp_request *request)
{
  enum { NOT_YET = -1 };
  int completed = NOT_YET;
  enum jp_client_status status = jp_client_send(client, request, 5000, note_status, &completed, NULL);
  if (status != JP_CLIENT_OK)
    return status;
  for (int i = 0; i < POLLS_MAX && completed == NOT_YET; i++, usleep(1000))
    (void)!jp_client_process(client, NULL);
  return (enum jp_client_status)completed;
}

/* first: the first request after the restart. 0: a request without objects; 1: a request with an object of
 * the old peer; 2: a chain; 3: a notification; 4: a request with a completion. */
static void run_restart(int first, const char *peer_id)
{
  const struct jp_client_config config = {.size = sizeof config, .reconnects = true, .peer_id = peer_id};
  struct jp_client *client = open_client(&config);
  struct jp_ref *old = make_list(client);
  struct jp_ref *released = make_list(client);
  const struct jp_argument text = jp_string("old");
  const struct jp_argument other = jp_string("new");
  jp_answer_free(call(client, add_text(old, &text)));
  struct jp_chain *chain = jp_chain_create(client);
  jp_chain_with_object(chain, old, NULL);
  jp_chain_call(chain, "a", "add", &text, 1);
  struct jp_chain *with_argument = jp_chain_create(client);
  const struct jp_argument as_argument = jp_object(old);
  jp_chain_create_object(with_argument, NULL, "java.util.ArrayList", JP_NO_ARGUMENTS);
  jp_chain_call(with_argument, "a", "add", &as_argument, 1);
  jp_ref_release(released); /* not sent to the peer yet */

  take_turns("restart");
  const struct jp_request stale = add_text(old, &text);
  enum jp_client_status status = JP_CLIENT_CLOSED;
  struct jp_client_error error;
  for (int i = 0; i < POLLS_MAX && (status == JP_CLIENT_CLOSED || status == JP_CLIENT_REFUSED);
       i++, usleep(1000)) {
    if (first == 0)
      status = try_call(client, jp_build_ping(), 5000);
    else if (first == 1)
      status = try_call(client, stale, 5000);
    else if (first == 2)
      status = jp_chain_send(chain, 5000, &error);
    else if (first == 3)
      status = jp_client_notify(client, &stale, &error);
    else
      status = complete(client, &stale);
    if (first == 2 && status == JP_CLIENT_CLOSED) { /* a sent chain is empty */
      jp_chain_with_object(chain, old, NULL);
      jp_chain_call(chain, "a", "add", &text, 1);
    }
  }
  /* A notification may still be sent to the old peer, and has no answer. */
  CHECK(status == (first == 0 ? JP_CLIENT_OK : JP_CLIENT_STALE) || (first == 3 && status == JP_CLIENT_OK),
        "%d", (int)status);
  ping_until_answered(client);

  struct jp_ref *list = make_list(client);
  struct jp_ref *list2 = make_list(client);
  CHECK(jp_ref_number(list) == jp_ref_number(old), "the numbers differ: %u", jp_ref_number(list));
  CHECK(list != old, "the handles are one");
  jp_answer_free(call(client, add_text(list, &other)));
  check_stale(client, old, list);
  CHECK(size_by_number(client, old, jp_ref_epoch(old)) == JP_CLIENT_STALE, "the epoch was not looked at");
  CHECK(size_by_number(client, list, jp_ref_epoch(list)) == JP_CLIENT_OK, "the epoch is refused");
  CHECK(size_by_number(client, list, 0) == JP_CLIENT_STALE, "an epoch that is none");
  CHECK(jp_chain_send(with_argument, 5000, &error) == JP_CLIENT_STALE, "the chain was sent");
  CHECK(jp_chain_send(chain, 5000, &error) == (first == 2 ? JP_CLIENT_OK : JP_CLIENT_STALE),
        "the chain was sent");
  jp_chain_with_object(chain, old, NULL);
  jp_chain_call(chain, "a", "add", &text, 1);
  CHECK(jp_chain_send(chain, 5000, &error) == JP_CLIENT_STALE, "the chain was sent");
  CHECK(jp_client_ref_count(client) == 3, "%zu handles", jp_client_ref_count(client));
  jp_ref_release(jp_ref_keep(old));
  jp_ref_release(old);
  CHECK(jp_client_ref_count(client) == 2, "%zu handles", jp_client_ref_count(client));
  check_text(client, list, "[new]");
  check_text(client, list2, "[]");
  CHECK(count_objects(client) == 2, "%lld objects", (long long)count_objects(client));
  jp_ref_release(list);
  jp_ref_release(list2);
  CHECK(count_objects(client) == 0, "%lld objects", (long long)count_objects(client));
  jp_chain_destroy(chain);
  jp_chain_destroy(with_argument);
  jp_client_close(client);
}

static void run_restarts(void)
{
  for (int first = 0; first <= 4; first++)
    run_restart(first, first % 2 == 0 ? NULL : "6f0b64be-5d4c-4d0c-9b7e-0a1b2c3d4e5f");
}

#define SIBLINGS "0b7c2f6e-9f3a-4f0e-8f25-6a5d4c3b2a19"

/* The first request of a client: it uses the object of another client of its session as a receiver, as an
 * argument, or in a chain. */
static enum jp_client_status begin_with(const struct jp_ref *ref, int place)
{
  const struct jp_client_config config = {.size = sizeof config, .peer_id = SIBLINGS};
  struct jp_client *client = open_client(&config);
  const struct jp_argument text = jp_string("x");
  const struct jp_argument object = jp_object(ref);
  struct jp_client_error error;
  enum jp_client_status status;
  if (place < 2) {
    status = try_call(client,
                      place == 0 ? add_text(ref, &text)
                                 : jp_build_constructor_call("java.util.ArrayList", &object, 1),
                      5000);
  } else {
    struct jp_chain *chain = jp_chain_create(client);
    jp_chain_with_object(chain, ref, NULL);
    jp_chain_call(chain, "a", "add", &text, 1);
    status = jp_chain_send(chain, 5000, &error);
    jp_chain_destroy(chain);
  }
  jp_client_close(client);
  return status;
}

static void run_siblings(void)
{
  const struct jp_client_config config = {.size = sizeof config, .peer_id = SIBLINGS, .reconnects = true};
  struct jp_client *client = open_client(&config);
  struct jp_ref *old = make_list(client);
  for (int place = 0; place < 3; place++)
    CHECK(begin_with(old, place) == JP_CLIENT_OK, "place %d", place);
  check_text(client, old, "[x, x]");
  take_turns("restart");
  ping_until_answered(client);
  struct jp_ref *list = make_list(client);
  CHECK(jp_ref_number(list) == jp_ref_number(old), "the numbers differ: %u", jp_ref_number(list));
  for (int place = 0; place < 3; place++)
    CHECK(begin_with(old, place) == JP_CLIENT_STALE, "place %d", place);
  check_text(client, list, "[]");
  jp_ref_release(old);
  jp_ref_release(list);
  jp_client_close(client);
}

/* ---- callbacks ---- */

struct object {
  struct jp_callback *callback;
  int calls;
  int released;
};

static void count_release(void *context)
{
  ((struct object *)context)->released++;
}

static struct jp_argument give(struct object *object, struct jp_client *client,
                               jp_callback_function *function, struct jp_callback_config config)
{
  struct jp_client_error error;
  *object = (struct object){0};
  config.size = sizeof config;
  config.function = function;
  config.released = count_release;
  config.context = object;
  CHECK(jp_callback_create(client, &config, &object->callback, &error) == JP_CLIENT_OK, "%s", error.text);
  return jp_callback_argument(object->callback);
}

static int64_t argument_of(const struct jp_callback_call *java, size_t index)
{
  int64_t value = 0;
  CHECK(jp_answer_integer(jp_callback_argument_at(java, index), &value), "argument %zu is no integer", index);
  return value;
}

static struct jp_ref *make_numbers(struct jp_client *client, int count)
{
  struct jp_argument items[1000];
  for (int i = 0; i < count; i++)
    items[i] = jp_as_type("java.lang.Integer", jp_int(i));
  return make(client, jp_build_constructor_call("java.util.ArrayList",
                                                JP_ARGUMENTS(jp_list(NULL, items, (size_t)count))));
}

/* Orders the greatest number first. */
static void compare(void *context, struct jp_callback_call *java)
{
  struct object *object = context;
  const struct jp_argument order = jp_int((int32_t)(argument_of(java, 1) - argument_of(java, 0)));
  struct jp_client_error error;
  object->calls++;
  CHECK(strcmp(jp_callback_interface(java), "java.util.Comparator") == 0, "%s", jp_callback_interface(java));
  CHECK(strcmp(jp_callback_method(java), "compare") == 0, "%s", jp_callback_method(java));
  CHECK(strcmp(jp_callback_parameter_type(java, 1), "java.lang.Object") == 0, "%s",
        jp_callback_parameter_type(java, 1));
  CHECK(jp_callback_return(java, &order, &error) == JP_CLIENT_OK, "%s", error.text);
}

static void run_comparator(void)
{
  enum { COUNT = 500 };
  struct jp_client *client = open_client(NULL);
  struct object object;
  struct jp_ref *list = make_numbers(client, COUNT);
  struct jp_argument comparator = give(&object, client, compare, (struct jp_callback_config){.borrow = true});
  jp_answer_free(
      call(client, jp_build_instance_method_call("java.util.List", "sort", jp_object(list), &comparator, 1)));
  CHECK(object.calls >= COUNT - 1, "%d", object.calls);
  for (int i = 0; i < COUNT; i += 99)
    check_integer(
        client,
        jp_build_instance_method_call("java.util.List", "get", jp_object(list), JP_ARGUMENTS(jp_int(i))),
        COUNT - 1 - i);
  CHECK(jp_client_ref_count(client) == 1, "%zu", jp_client_ref_count(client));
  jp_ref_release(list);
  jp_callback_release(object.callback);
  jp_client_close(client);
  CHECK(object.released == 1, "%d", object.released);
}

static void listen_in_order(void *context, struct jp_callback_call *java)
{
  struct object *object = context;
  CHECK(argument_of(java, 0) == object->calls, "%lld after %d", (long long)argument_of(java, 0),
        object->calls);
  object->calls++;
  CHECK(jp_callback_return(java, NULL, NULL) == JP_CLIENT_OK, "the answer");
}

static void run_listeners(void)
{
  enum { COUNT = 300 };
  struct jp_client *client = open_client(NULL);
  struct jp_ref *list = make_numbers(client, COUNT);
  struct object objects[2]; /* Java calls the first object, and sends events to the second */
  for (int oneway = 0; oneway < 2; oneway++) {
    struct object *object = &objects[oneway];
    struct jp_argument listener =
        give(object, client, listen_in_order, (struct jp_callback_config){.oneway = oneway == 1});
    jp_answer_free(call(
        client, jp_build_instance_method_call("java.util.List", "forEach", jp_object(list), &listener, 1)));
    CHECK(object->calls == COUNT, "%d", object->calls); /* events run before the answer is returned, too */
    jp_callback_release(object->callback);
  }
  jp_ref_release(list);
  jp_client_close(client);
  for (int oneway = 0; oneway < 2; oneway++)
    CHECK(objects[oneway].released == 1, "%d: %d", oneway, objects[oneway].released);
}

/* The peer has read a message even if it refuses it. */
static void run_refused(void)
{
  struct jp_client *client = open_client(NULL);
  struct object object;
  const struct jp_argument given = give(&object, client, compare, (struct jp_callback_config){0});
  const struct {
    struct jp_argument argument;
    const char *words;
  } rows[] = {{given, "requireNonNull(callback)"},
              {jp_as_type("java.lang.String", given), "interface"},
              {jp_as_type("com.example.Unknown", given), "com.example.Unknown"}};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    struct jp_request request =
        jp_build_class_method_call("java.util.Objects", "requireNonNull", &rows[i].argument, 1);
    struct jp_answer *answer;
    struct jp_client_error error;
    enum jp_client_status status = jp_client_call(client, &request, 5000, &answer, &error);
    CHECK(status == JP_CLIENT_REMOTE && strstr(error.text, rows[i].words) != NULL, "%d %s", (int)status,
          error.text);
    jp_answer_free(answer);
  }
  jp_callback_release(object.callback);
  for (int i = 0; i < POLLS_MAX && object.released == 0; i++, usleep(1000))
    jp_answer_free(call(client, jp_build_ping()));
  CHECK(object.released == 1, "the peer keeps it");
  jp_client_close(client);
}

int main(int argc, char **argv)
{
  static const struct {
    const char *name;
    void (*run)(void);
  } scenarios[] = {
      {"kinds", run_kinds},
      {"binary", run_binary},
      {"refs", run_refs},
      {"overdue", run_overdue},
      {"shared-session", run_shared_session},
      {"shared-beside", run_shared_beside},
      {"pinned", run_pinned},
      {"unpinned", run_unpinned},
      {"late", run_late},
      {"killed", run_killed},
      {"stopped", run_stopped},
      {"survives", run_survives},
      {"threads", run_threads},
      {"reconnects", run_reconnects},
      {"restarts", run_restarts},
      {"siblings", run_siblings},
      {"comparator", run_comparator},
      {"listeners", run_listeners},
      {"refused", run_refused},
  };
  CHECK(argc == 3 || (argc == 4 && strcmp(argv[3], "binary") == 0), "URL SCENARIO [binary]");
  url = argv[1];
  is_binary = argc == 4;
  for (size_t i = 0; i < sizeof scenarios / sizeof scenarios[0]; i++) {
    if (strcmp(argv[2], scenarios[i].name) != 0)
      continue;
    scenarios[i].run();
    return 0;
  }
  CHECK(false, "no scenario %s", argv[2]);
}
