/* Calls over ZeroMQ against a ROUTER socket without a JVM. */
#include "../client_calls.h"
#include "tests/unit/await.h"

#include "base/clock.h"

#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zmq.h>

/* ---- a peer ---- */

struct router;
typedef void router_script(struct router *router);

/* Its script runs on its own thread, and returns when the control socket has a message. */
struct router {
  void *context;
  void *socket;
  void *control; /* the thread's end; a message ends the script */
  void *handle;  /* the test's end */
  pthread_t thread;
  router_script *script;
  char url[128];
  zmq_msg_t identity;
  char message[4096];
  size_t length; /* of the whole message */
};

static void check(bool good, const char *what)
{
  if (good)
    return;
  fprintf(stderr, "%s: %s\n", what, zmq_strerror(zmq_errno()));
  abort();
}

/* False: the test has ended. */
static bool read_any(struct router *router)
{
  zmq_pollitem_t items[] = {{.socket = router->socket, .events = ZMQ_POLLIN},
                            {.socket = router->control, .events = ZMQ_POLLIN}};
  zmq_msg_t body;
  check(zmq_poll(items, 2, -1) > 0, "zmq_poll");
  if ((items[0].revents & ZMQ_POLLIN) == 0)
    return false;
  check(zmq_msg_recv(&router->identity, router->socket, 0) > 0, "the identity");
  zmq_msg_init(&body);
  check(zmq_msg_recv(&body, router->socket, 0) > 0, "the message");
  check(!zmq_msg_more(&body), "one frame");
  router->length = zmq_msg_size(&body);
  size_t kept = router->length < sizeof router->message - 1 ? router->length : sizeof router->message - 1;
  memcpy(router->message, zmq_msg_data(&body), kept);
  router->message[kept] = '\0';
  zmq_msg_close(&body);
  return true;
}

static void router_write(struct router *router, const char *bytes, size_t length, bool more)
{
  zmq_msg_t identity;
  zmq_msg_init(&identity);
  zmq_msg_copy(&identity, &router->identity);
  check(zmq_msg_send(&identity, router->socket, ZMQ_SNDMORE) > 0, "zmq_msg_send");
  check(zmq_send(router->socket, bytes, length, more ? ZMQ_SNDMORE : 0) >= 0, "zmq_send");
}

/* Answers the request that a client sends when it connects. */
static bool answer_session(struct router *router)
{
  static const char answer[] = "{\"jsonrpc\":\"2.0\",\"id\":0,\"result\":{\"void\":false,\"value\":{\"type\":"
                               "\"java.lang.String\",\"null\":false,"
                               "\"value\":\"{\\\"epoch\\\":\\\"0123456789abcdef\\\",\\\"client\\\":1}\"}}}";
  if (strstr(router->message, "\"method\":\"session\"") == NULL)
    return false;
  router_write(router, answer, sizeof answer - 1, false);
  return true;
}

/* The next message of the program. */
static bool router_read(struct router *router)
{
  bool is_read;
  do
    is_read = read_any(router);
  while (is_read && answer_session(router));
  return is_read;
}

static unsigned long long router_id(const struct router *router)
{
  const char *found = strstr(router->message, "\"id\":");
  return found == NULL ? 0 : strtoull(found + 5, NULL, 10);
}

static void router_answer(struct router *router)
{
  char text[256];
  int length = snprintf(text, sizeof text,
                        "{\"jsonrpc\":\"2.0\",\"id\":%llu,\"result\":{\"void\":false,\"value\":"
                        "{\"type\":\"int\",\"null\":false,\"value\":\"8\"}}}",
                        router_id(router));
  router_write(router, text, (size_t)length, false);
}

static void *run_router(void *argument)
{
  struct router *router = argument;
  router->script(router);
  zmq_close(router->socket); /* queued messages are still sent */
  router->socket = NULL;
  return NULL;
}

static void router_start(struct router *router, const char *endpoint, router_script *script)
{
  size_t size = sizeof router->url;
  *router = (struct router){.context = zmq_ctx_new(), .script = script};
  zmq_msg_init(&router->identity);
  router->socket = zmq_socket(router->context, ZMQ_ROUTER);
  router->control = zmq_socket(router->context, ZMQ_PAIR);
  router->handle = zmq_socket(router->context, ZMQ_PAIR);
  const int one = 1;
  check(zmq_setsockopt(router->socket, ZMQ_IPV6, &one, sizeof one) == 0, "ZMQ_IPV6");
  check(zmq_bind(router->socket, endpoint) == 0, "zmq_bind");
  check(zmq_getsockopt(router->socket, ZMQ_LAST_ENDPOINT, router->url, &size) == 0, "ZMQ_LAST_ENDPOINT");
  check(zmq_bind(router->control, "inproc://control") == 0, "zmq_bind");
  check(zmq_connect(router->handle, "inproc://control") == 0, "zmq_connect");
  check(pthread_create(&router->thread, NULL, run_router, router) == 0, "pthread_create");
}

/* Waits for the script to return. */
static void router_join(struct router *router)
{
  pthread_join(router->thread, NULL);
  zmq_close(router->handle);
  zmq_close(router->control);
  zmq_msg_close(&router->identity);
  zmq_ctx_term(router->context);
}

static void router_stop(struct router *router)
{
  zmq_send(router->handle, "x", 1, 0);
  router_join(router);
}

static void serve(struct router *router)
{
  while (router_read(router)) {
    if (router_id(router) != 0)
      router_answer(router);
  }
}

/* ---- a client ---- */

static struct jp_client *open_client(struct router *router, router_script *script,
                                     const struct jp_client_config *config)
{
  router_start(router, "tcp://127.0.0.1:*", script);
  return fixture_open_url(router->url, config);
}

static void close_client(struct jp_client *client, struct router *router)
{
  jp_client_close(client);
  router_stop(router);
}

static void assert_no_connection(const char *url, int timeout_ms, const char *words)
{
  const struct jp_client_config config = {.size = sizeof config, .connect_timeout_ms = timeout_ms};
  struct jp_client *client;
  struct jp_client_error error;
  int64_t before = clock_now_ms();
  assert_int_equal(jp_client_open(url, &config, &client, &error), JP_CLIENT_REFUSED);
  assert_in_range(clock_now_ms() - before, 0, timeout_ms + 60000);
  if (strstr(error.text, words) == NULL || strstr(error.text, url) == NULL)
    fail_msg("%s: %s", url, error.text);
}

/* ---- calls ---- */

UNIT_TEST(test_addresses)
{
  static const char *const endpoints[] = {"tcp://127.0.0.1:*", "tcp://[::1]:*",
                                          "ipc:///tmp/jpeer-test-zeromq"};
  for (size_t i = 0; i < COUNT_OF(endpoints); i++) {
    struct router router;
    router_start(&router, endpoints[i], serve);
    struct jp_client *client = fixture_open_url(router.url, NULL);
    const struct jp_request request = fixture_request();
    for (int calls = 0; calls < 300; calls++) {
      fixture_assert_call(client);
      assert_int_equal(jp_client_notify(client, &request, NULL), JP_CLIENT_OK);
    }
    assert_int_equal(jp_client_pending(client), 0);
    close_client(client, &router);
  }
}

static void be_called(void *context, struct jp_callback_call *call)
{
  (void)context;
  (void)call;
}

UNIT_TEST(test_no_callbacks)
{
  static const char words[] = "a callback needs a connection over WebSocket or shared memory";
  const struct jp_callback_config callback_config = {.size = sizeof callback_config, .function = be_called};
  const struct jp_argument argument = jp_callback_argument(NULL);
  const struct jp_request request = jp_build_class_method_call("T", "m", &argument, 1);
  struct router router;
  router_start(&router, "tcp://127.0.0.1:*", serve);
  for (int binary = 0; binary < 2; binary++) {
    const struct jp_client_config config = {.size = sizeof config, .binary = binary == 1};
    struct jp_client *client = fixture_open_url(router.url, &config);
    struct jp_callback *callback;
    struct jp_answer *answer;
    struct jp_client_error error;
    assert_int_equal(jp_callback_create(client, &callback_config, &callback, &error), JP_CLIENT_UNSUPPORTED);
    assert_string_equal(error.text, words);
    assert_int_equal(jp_client_call(client, &request, 10000, &answer, &error), JP_CLIENT_UNSUPPORTED);
    assert_non_null(strstr(error.text, words));
    assert_int_equal(jp_client_pending(client), 0); /* nothing was sent */
    jp_client_close(client);
  }
  router_stop(&router);
}

/* ---- no peer ---- */

UNIT_TEST(test_no_peer)
{
  struct router router;
  router_start(&router, "tcp://127.0.0.1:*", serve);
  char url[sizeof router.url];
  memcpy(url, router.url, sizeof url);
  router_stop(&router);
  assert_no_connection(url, 60000, "Connection refused");
  assert_no_connection("ipc:///tmp/jpeer-test-nobody", 60000, "No such file or directory");
}

/* A listening socket, and its URL. */
static int listen_somewhere(char url[64])
{
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t size = sizeof address;
  int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  assert_int_equal(bind(listener, (const struct sockaddr *)&address, sizeof address), 0);
  assert_int_equal(listen(listener, 10), 0);
  assert_int_equal(getsockname(listener, (struct sockaddr *)&address, &size), 0);
  snprintf(url, 64, "tcp://127.0.0.1:%u", ntohs(address.sin_port));
  return listener;
}

UNIT_TEST(test_silence)
{
  char url[64];
  int listener = listen_somewhere(url);
  assert_no_connection(url, 300, "in time");
  close(listener);
}

static void wait_for_the_end(struct router *router)
{
  zmq_pollitem_t item = {.socket = router->control, .events = ZMQ_POLLIN};
  check(zmq_poll(&item, 1, -1) > 0, "zmq_poll");
}

/* ---- peers that misbehave or close ---- */

static void answer_in_two_frames(struct router *router)
{
  if (!router_read(router))
    return;
  router_write(router, "{", 1, true);
  check(zmq_send(router->socket, "}", 1, 0) == 1, "zmq_send");
  wait_for_the_end(router);
}

/* The length of answer_spaces' answer. */
static _Atomic size_t space_count;

static void answer_spaces(struct router *router)
{
  char spaces[256];
  memset(spaces, ' ', sizeof spaces);
  if (!router_read(router))
    return;
  router_write(router, spaces, space_count, false);
  wait_for_the_end(router);
}

static void close_at_once(struct router *router)
{
  router_read(router);
}

UNIT_TEST(test_misbehaviour)
{
  static const struct {
    router_script *script;
    size_t spaces;
    enum jp_client_status status;
    const char *words;
  } cases[] = {
      {answer_in_two_frames, 0, JP_CLIENT_PROTOCOL, "more than one frame"},
      {answer_spaces, 0, JP_CLIENT_PROTOCOL, ""},
      {answer_spaces, 5, JP_CLIENT_PROTOCOL, ""},
      {answer_spaces, 150, JP_CLIENT_LIMIT, "message_max, 100 bytes"},
      {answer_spaces, 250, JP_CLIENT_CLOSED, "twice message_max"},
      {close_at_once, 0, JP_CLIENT_CLOSED, "has closed the connection"},
  };
  const struct jp_client_config config = {.size = sizeof config, .message_max = 100};
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    struct router router;
    space_count = cases[i].spaces;
    struct jp_client *client = open_client(&router, cases[i].script, &config);
    fixture_assert_fails(client, cases[i].status, cases[i].words);
    fixture_assert_fails(client, cases[i].status, cases[i].words); /* the connection remains broken */
    assert_int_equal(jp_client_pending(client), 0);
    close_client(client, &router);
  }
}

enum { IN_FLIGHT = 64 };

/* Answers half of the requests and closes. */
static void answer_half_and_close(struct router *router)
{
  for (int i = 0; i < IN_FLIGHT; i++) {
    if (!router_read(router))
      return;
    if (i < IN_FLIGHT / 2)
      router_answer(router);
  }
}

/* Answers that a peer sent before its end arrive. */
UNIT_TEST(test_last_answers)
{
  for (int i = 0; i < 30; i++) {
    struct tally tally = {0};
    struct router router;
    struct jp_client *client = open_client(&router, answer_half_and_close, NULL);
    fixture_send(client, &tally, IN_FLIGHT);
    if (i % 2 == 0)
      usleep(20000); /* everything has arrived before anything is read */
    fixture_process_until(client, &tally, IN_FLIGHT);
    assert_int_equal(tally.good, IN_FLIGHT / 2);
    assert_int_equal(tally.closed, IN_FLIGHT / 2);
    close_client(client, &router);
  }
}

UNIT_TEST(test_reconnection)
{
  const struct jp_client_config config = {.size = sizeof config, .reconnects = true};
  struct router router;
  char url[sizeof router.url];
  struct jp_client *client = open_client(&router, close_at_once, &config);
  memcpy(url, router.url, sizeof url);
  for (int i = 0; i < 3; i++) {
    fixture_assert_fails(client, JP_CLIENT_CLOSED, "has closed the connection");
    router_stop(&router);
    router_start(&router, url, i < 2 ? close_at_once : serve);
  }
  fixture_assert_call(client);
  close_client(client, &router);
}

/* ---- many messages ---- */

static void *call_often(void *argument)
{
  for (int i = 0; i < 500; i++)
    fixture_assert_call(argument);
  return NULL;
}

/* A loop and waiting threads, on one descriptor that reports input once. */
UNIT_TEST(test_loop_and_threads)
{
  enum { CALLERS = 4, TURNS = 200 };
  struct router router;
  pthread_t callers[CALLERS];
  struct tally tally = {0};
  struct jp_client *client = open_client(&router, serve, NULL);
  for (int i = 0; i < CALLERS; i++)
    pthread_create(&callers[i], NULL, call_often, client);
  for (unsigned turn = 1; turn <= TURNS; turn++) {
    fixture_send(client, &tally, 16);
    fixture_process_until(client, &tally, turn * 16);
  }
  assert_int_equal(tally.good, TURNS * 16);
  for (int i = 0; i < CALLERS; i++)
    pthread_join(callers[i], NULL);
  close_client(client, &router);
}

/* Reads after a delay, counts the messages, and answers the last message. */
static void read_late(struct router *router)
{
  size_t count = 0;
  usleep(300000);
  while (router_read(router)) {
    count++;
    if (router_id(router) == 0)
      continue;
    check(count == 4001, "all notifications, before the call");
    router_answer(router);
  }
}

/* More than libzmq accepts at once: the rest waits for room. */
UNIT_TEST(test_full_pipe)
{
  char large[4096];
  memset(large, 'x', sizeof large);
  const struct jp_argument arguments[] = {jp_text_argument((struct jp_text){large, sizeof large})};
  const struct jp_request request = jp_build_class_method_call("T", "m", arguments, 1);
  struct router router;
  struct jp_client *client = open_client(&router, read_late, NULL);
  for (int i = 0; i < 4000; i++)
    assert_int_equal(jp_client_notify(client, &request, NULL), JP_CLIENT_OK);
  fixture_assert_call(client);
  close_client(client, &router);
}

/* The last messages of a client arrive, although it closes at once. */
static void count_notifications(struct router *router)
{
  for (int i = 0; i < 100; i++)
    check(router_read(router), "a notification is lost");
}

UNIT_TEST(test_last_messages)
{
  const struct jp_request request = fixture_request();
  struct router router;
  struct jp_client *client = open_client(&router, count_notifications, NULL);
  for (int i = 0; i < 100; i++)
    assert_int_equal(jp_client_notify(client, &request, NULL), JP_CLIENT_OK);
  jp_client_close(client);
  router_join(&router);
}

/* ---- fork ---- */

UNIT_TEST(test_fork)
{
  struct router router;
  struct jp_client *client = open_client(&router, serve, NULL);
  fixture_assert_call(client);
  pid_t child = fork();
  if (child == 0) {
    const struct jp_request request = fixture_request();
    struct jp_answer *answer;
    bool is_refused = jp_client_call(client, &request, 1000, &answer, NULL) == JP_CLIENT_CLOSED;
    jp_client_close(client);
    _exit(is_refused ? 0 : 1);
  }
  int status = AWAIT_CHILD(child);
  assert_int_equal(status, 0);
  fixture_assert_call(client);
  close_client(client, &router);
}

UNIT_MAIN
