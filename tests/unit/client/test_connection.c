/* Opening and reopening connections. */
#include "client_fixture.h"
#include "tests/unit/await.h"

#include "base/clock.h"
#include "base/text.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#define SESSION "6f9a3c1e-2b4d-4e5f-8a7b-9c0d1e2f3a4b"

static enum jp_client_status try_open(const char *url, const struct jp_client_config *config,
                                      struct jp_client_error *error)
{
  struct jp_client *client = (struct jp_client *)error;
  enum jp_client_status status = jp_client_open(url, config, &client, error);
  assert_int_equal(client == NULL, status != JP_CLIENT_OK);
  jp_client_close(client);
  return status;
}

/* ---- opening ---- */

UNIT_TEST(test_no_listener)
{
  struct jp_client_error error;
  assert_int_equal(try_open("ws+unix:/nonexistent/x", NULL, &error), JP_CLIENT_REFUSED);
  assert_string_equal(error.text, "ws+unix:/nonexistent/x: No such file or directory");
  assert_int_equal(try_open("ws://127.0.0.1:1/rpc", NULL, &error), JP_CLIENT_REFUSED);
  assert_string_equal(error.text, "ws://127.0.0.1:1/rpc: Connection refused");
  assert_int_equal(try_open("ws://[::1]:1/rpc", NULL, NULL), JP_CLIENT_REFUSED);
  assert_int_equal(try_open("ws://host.invalid:1/rpc", NULL, &error), JP_CLIENT_REFUSED);
  assert_int_equal(try_open("gopher://x", NULL, NULL), JP_CLIENT_UNSUPPORTED);
}

UNIT_TEST(test_a_long_text_ends_with_a_whole_character)
{
  for (int before = 0; before < 2; before++) {
    struct jp_client_error error;
    char url[2 * 700 + sizeof "a"] = "a";
    for (int i = 0; i < 700; i++)
      memcpy(url + before + 2 * i, "\xC3\xA9", sizeof "\xC3\xA9");
    assert_int_equal(try_open(url, NULL, &error), JP_CLIENT_UNSUPPORTED);
    size_t length = strlen(error.text);
    assert_true(length > sizeof error.text - 4);
    assert_string_equal(error.text + length - 5, "\xC3\xA9...");
    assert_int_equal(text_valid_utf8(text_of(error.text)), length);
  }
}

/* The peer accepts the connection and sends nothing. */
UNIT_TEST(test_silent_peer)
{
  char folder[] = "/tmp/jpeer-test-XXXXXX";
  char url[sizeof "ws+unix:" + sizeof((struct sockaddr_un *)0)->sun_path];
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  const struct jp_client_config config = {.size = sizeof config, .connect_timeout_ms = 100};
  struct jp_client_error error;
  assert_non_null(mkdtemp(folder));
  snprintf(address.sun_path, sizeof address.sun_path, "%s/s", folder);
  snprintf(url, sizeof url, "ws+unix:%s", address.sun_path);
  int listener = socket(AF_UNIX, SOCK_STREAM, 0);
  assert_int_equal(bind(listener, (const struct sockaddr *)&address, sizeof address), 0);
  assert_int_equal(listen(listener, 0), 0);
  struct jp_client_error first = {0};
  for (int i = 0; i < 3;
       i++) { /* after the first connection the queue is full, and a unix socket then has a different error */
    int64_t before = clock_now_ms();
    assert_int_equal(try_open(url, &config, &error), JP_CLIENT_REFUSED);
    assert_in_range(clock_now_ms() - before, 99, 60000);
    if (i == 0)
      first = error;
  }
  assert_non_null(strstr(first.text, "did not answer in time"));
  close(listener);
  unlink(address.sun_path);
  rmdir(folder);
}

UNIT_TEST(test_wrong_configurations)
{
  struct fake_peer *peer = fake_peer_start(fake_serve, NULL);
  const char *url = fake_peer_url(peer);
  struct jp_client_config config = {0};
  assert_int_equal(try_open(url, &config, NULL), JP_CLIENT_INVALID);
  config.size = sizeof config + 8;
  assert_int_equal(try_open(url, &config, NULL), JP_CLIENT_UNSUPPORTED);
  config = (struct jp_client_config){.size = sizeof config, .peer_id = "no-uuid\r\nx: y"};
  assert_int_equal(try_open(url, &config, NULL), JP_CLIENT_INVALID);
  config = (struct jp_client_config){.size = sizeof config, .connect_timeout_ms = -1};
  assert_int_equal(try_open(url, &config, NULL), JP_CLIENT_INVALID);
  config = (struct jp_client_config){.size = sizeof config, .binary = true};
  assert_int_equal(try_open(url, &config, NULL), JP_CLIENT_UNSUPPORTED);
  config = (struct jp_client_config){.size = sizeof config, .token = "a b"};
  assert_int_equal(try_open(url, &config, NULL), JP_CLIENT_INVALID);
  config.size =
      offsetof(struct jp_client_config, ca_file); /* of the first version, which ends before the token */
  assert_int_equal(try_open(url, &config, NULL), JP_CLIENT_OK);
  assert_int_equal(fake_peer_connections(peer), 1);
  fake_peer_stop(peer);
}

/* ---- reopening ---- */

/* Answers two requests, the first with an object, and ends the connection. */
static void serve_two(struct fake_connection *connection, void *context)
{
  static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  struct text message;
  struct text request = fake_request(connection);
  const char *session = memmem(request.data, request.len, "peer-id: ", 9);
  char *seen = context;
  pthread_mutex_lock(&lock); /* each connection has its own thread */
  if (session != NULL && seen[0] == '\0')
    memcpy(seen, session + 9, 36);
  else if (session == NULL || memcmp(seen, session + 9, 36) != 0)
    seen[0] = '!';
  pthread_mutex_unlock(&lock);
  for (int i = 0; i < 2 && fake_read(connection, &message); i++)
    fake_answer_int(connection, fake_id(message), 8);
  fake_read(connection, &message); /* this message is not answered */
}

static void check_reconnects(const char *peer_id, char seen[40])
{
  const struct jp_client_config config = {.size = sizeof config, .peer_id = peer_id, .reconnects = true};
  struct jp_client *client = fixture_open(fake_peer_start(serve_two, seen), &config);
  struct jp_client_error error;
  for (unsigned i = 1; i <= 5; i++) {
    assert_int_equal(fixture_call(client, 60000, NULL), JP_CLIENT_OK);
    assert_int_equal(fixture_call(client, 60000, NULL), JP_CLIENT_OK);
    assert_int_equal(fixture_call(client, 60000, &error), JP_CLIENT_CLOSED);
    assert_int_equal(fake_peer_connections(fixture_peer), i);
  }
  fixture_end(client);
}

UNIT_TEST(test_the_same_session)
{
  char seen[40] = "";
  check_reconnects(SESSION, seen);
  assert_string_equal(seen, SESSION);
  memset(seen, 0, sizeof seen);
  check_reconnects(NULL, seen);
  assert_int_equal(strlen(seen), 36);
}

/* The client tries repeatedly to connect to a peer that does not answer, but not with each call. */
UNIT_TEST(test_pauses)
{
  char seen[40] = "";
  const struct jp_client_config config = {.size = sizeof config, .reconnects = true};
  struct jp_client *client = fixture_open(fake_peer_start(serve_two, seen), &config);
  for (int i = 0; i < 2; i++)
    assert_int_equal(fixture_call(client, 60000, NULL), JP_CLIENT_OK);
  fake_peer_refuse(fixture_peer);
  assert_int_equal(fixture_call(client, 60000, NULL), JP_CLIENT_CLOSED);
  int64_t since = clock_now_ms();
  assert_int_equal(fixture_call(client, 60000, NULL), JP_CLIENT_REFUSED);
  fake_peer_accept(fixture_peer);
  struct jp_client_error error;
  enum jp_client_status status = fixture_call(client, 60000, &error);
  if (clock_now_ms() - since < 100) { /* the check is skipped if the machine was too slow */
    assert_int_equal(status, JP_CLIENT_REFUSED);
    assert_non_null(strstr(error.text, FAKE_PEER_SCHEME ":"));
  }
  while (status == JP_CLIENT_REFUSED && clock_now_ms() - since < 60000) {
    usleep(1000);
    status = fixture_call(client, 60000, NULL);
  }
  assert_int_equal(status, JP_CLIENT_OK);
  assert_true(clock_now_ms() - since >= 99);
  fixture_end(client);
}

/* ---- closing ---- */

/* A thread that calls or closes a client while another thread ends it. */
struct client_user {
  pthread_t thread;
  struct jp_client *client;
  atomic_bool has_begun;
  atomic_bool is_done;
  enum jp_client_status status;
  struct jp_client_error error;
};

static void *run_call(void *context)
{
  struct client_user *user = context;
  user->has_begun = true;
  user->status = fixture_call(user->client, 60000, &user->error);
  user->is_done = true;
  return NULL;
}

static void *run_close(void *context)
{
  struct client_user *user = context;
  user->has_begun = true;
  jp_client_close(user->client);
  user->is_done = true;
  return NULL;
}

static void begin_use(struct client_user *user, struct jp_client *client, void *(*run)(void *context))
{
  *user = (struct client_user){.client = client};
  assert_int_equal(pthread_create(&user->thread, NULL, run, user), 0);
  AWAIT(user->has_begun);
}

static void await_use(struct client_user *user, const char *what)
{
  for (const int64_t since_ms = clock_now_ms(); !user->is_done;)
    AWAIT_PAUSE(since_ms, what);
  assert_int_equal(pthread_join(user->thread, NULL), 0);
}

static void await_closed_call(struct client_user *user, const char *what)
{
  await_use(user, what);
  assert_int_equal(user->status, JP_CLIENT_CLOSED);
  assert_string_equal(user->error.text, "the client was closed");
}

/* A client that one thread reconnects, while the peer holds back the handshake and another thread waits for
 * the connection. */
static struct jp_client *open_reconnecting(char seen[40], struct client_user *opener,
                                           struct client_user *waiter)
{
  const struct jp_client_config config = {
      .size = sizeof config, .reconnects = true, .connect_timeout_ms = 60000};
  struct jp_client *client = fixture_open(fake_peer_start(serve_two, seen), &config);
  for (int i = 0; i < 2; i++)
    assert_int_equal(fixture_call(client, 60000, NULL), JP_CLIENT_OK);
  assert_int_equal(fixture_call(client, 60000, NULL), JP_CLIENT_CLOSED);
  fake_peer_hold(fixture_peer, true);
  begin_use(opener, client, run_call);
  AWAIT(fake_peer_connections(fixture_peer) == 2);
  begin_use(waiter, client, run_call);
  return client;
}

/* jp_client_end does not wait for a connection that is being opened, nor do threads that need the connection.
 * The opened connection is not used. */
UNIT_TEST(test_end_while_a_connection_is_opened)
{
  char seen[40] = "";
  struct client_user opener;
  struct client_user waiter;
  struct jp_client *client = open_reconnecting(seen, &opener, &waiter);
  jp_client_end(client);
  await_closed_call(&waiter, "a call that waits for the connection");
  fake_peer_hold(fixture_peer, false);
  await_closed_call(&opener, "the call that opens the connection");
  fixture_end(client);
}

/* jp_client_close waits until the opening thread has left the client, and no longer. */
UNIT_TEST(test_close_while_a_connection_is_opened)
{
  char seen[40] = "";
  struct client_user opener;
  struct client_user waiter;
  struct client_user closer;
  struct jp_client *client = open_reconnecting(seen, &opener, &waiter);
  begin_use(&closer, client, run_close);
  await_closed_call(&waiter, "a call that waits for the connection"); /* the client is closed from here on */
  assert_false(closer.is_done);
  fake_peer_hold(fixture_peer, false);
  await_use(&closer, "jp_client_close");
  await_closed_call(&opener, "the call that opens the connection");
  fake_peer_stop(fixture_peer);
}

/* ---- fork ---- */

/* The child sends nothing to the peer; its exit status is its result. */
static int use_in_child(struct jp_client *client, struct jp_ref *ref, struct jp_answer *answer)
{
  struct jp_client_error error;
  const struct jp_request request = fixture_request();
  bool good = fixture_call(client, 60000, &error) == JP_CLIENT_CLOSED && strstr(error.text, "fork") != NULL &&
              jp_client_notify(client, &request, NULL) == JP_CLIENT_CLOSED &&
              jp_client_process(client, NULL) == JP_CLIENT_CLOSED && jp_client_descriptor(client) == -1 &&
              jp_client_pending(client) == 0;
  jp_ref_release(jp_ref_keep(ref));
  jp_ref_release(ref);
  jp_answer_free(answer);
  jp_client_close(client);
  return good ? 0 : 1;
}

UNIT_TEST(test_fork)
{
  struct jp_client *client = fixture_open(fake_peer_start(fake_serve, NULL), NULL);
  const struct jp_request request = jp_build_constructor_call("T", JP_NO_ARGUMENTS);
  struct jp_answer *answer;
  assert_int_equal(jp_client_call(client, &request, 60000, &answer, NULL), JP_CLIENT_OK);
  struct jp_ref *ref = jp_ref_keep(jp_answer_ref(answer));
  assert_true(jp_client_descriptor(client) >= 0);
  pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0)
    _exit(use_in_child(client, ref, answer));
  int status = AWAIT_CHILD(child);
  assert_int_equal(status, 0);
  for (int i = 0; i < 10; i++)
    assert_int_equal(fixture_call(client, 60000, NULL), JP_CLIENT_OK);
  assert_int_equal(jp_client_ref_count(client), 1);
  jp_answer_free(answer);
  jp_client_close(client);
  jp_ref_release(ref); /* after the client was closed */
  fake_peer_stop(fixture_peer);
}

UNIT_MAIN
