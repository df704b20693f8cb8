/* Calls over shared memory: messages of all lengths, and peers that misbehave. */
#define FAKE_PEER_SCHEME "shm"
#include "../client_fixture.h"
#include "tests/unit/await.h"

#include "client/client_open.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { TIMEOUT_MS = 30000 };

#define ANSWER                                                                                               \
  "{\"jsonrpc\":\"2.0\",\"id\":%llu,\"result\":{\"void\":false,\"value\":{\"type\":\"int\",\"null\":false,"  \
  "\"value\":\"8\"}}}"

/* Makes one call against the script, and checks how it ends. */
static void expect_end(fake_script *script, void *context, enum jp_client_status wanted, const char *words)
{
  struct jp_client *client = fixture_open(fake_peer_start(script, context), NULL);
  fixture_assert_fails(client, wanted, words);
  assert_int_equal(fixture_call(client, TIMEOUT_MS, NULL), wanted); /* the connection has ended */
  fixture_end(client);
}

/* ---- messages ---- */

/* Answers with as many letters as the request has bytes. */
static void answer_as_long(struct fake_connection *connection, void *context)
{
  (void)context;
  struct text message;
  while (fake_read(connection, &message)) {
    if (fake_id(message) == 0)
      continue;
    char *letters = malloc(message.len + 1);
    memset(letters, 'x', message.len);
    letters[message.len] = '\0';
    fake_write(connection,
               "{\"jsonrpc\":\"2.0\",\"id\":%llu,\"result\":{\"void\":false,\"value\":"
               "{\"type\":\"java.lang.String\",\"null\":false,\"value\":\"%s\"}}}",
               (unsigned long long)fake_id(message), letters);
    free(letters);
  }
}

UNIT_TEST(test_messages_longer_than_the_ring)
{
  static const size_t lengths[] = {1, 4000, 4096, 10000, 65536, 300000, 3000000, 100};
  struct jp_client *client = fixture_open(fake_peer_start_shm(RING_SIZE_MIN, answer_as_long, NULL), NULL);
  for (size_t i = 0; i < COUNT_OF(lengths); i++) {
    char *letters = fixture_letters(lengths[i]);
    const struct jp_argument argument = jp_string(letters);
    const struct jp_request request = jp_build_class_method_call("T", "m", &argument, 1);
    struct jp_answer *answer;
    assert_int_equal(jp_client_call(client, &request, TIMEOUT_MS, &answer, NULL), JP_CLIENT_OK);
    assert_true(jp_answer_text(answer).len > lengths[i]);
    jp_answer_free(answer);
    free(letters);
  }
  fixture_end(client);
}

static void send_parts(struct fake_connection *connection, void *context)
{
  (void)context;
  struct text message;
  struct ring_end *rings = fake_rings_of(connection);
  while (fake_read(connection, &message)) {
    char text[300];
    size_t length = (size_t)snprintf(text, sizeof text, ANSWER, (unsigned long long)fake_id(message));
    for (size_t i = 0; i + 1 < length; i++)
      ring_end_write_frame(rings, RING_JSON_PART, (struct text){text + i, 1});
    ring_end_write_frame(rings, RING_JSON_PART, TEXT(""));
    ring_end_write_frame(rings, RING_JSON, (struct text){text + length - 1, 1});
  }
}

UNIT_TEST(test_a_message_in_parts)
{
  struct jp_client *client = fixture_open(fake_peer_start(send_parts, NULL), NULL);
  for (int i = 0; i < 100; i++)
    fixture_assert_call(client);
  fixture_end(client);
}

UNIT_TEST(test_answers_over_message_max)
{
  static fake_script *const scripts[] = {fake_serve, send_parts};
  const struct jp_client_config config = {.size = sizeof config, .message_max = 64};
  for (size_t i = 0; i < COUNT_OF(scripts); i++) {
    struct jp_client *client = fixture_open(fake_peer_start(scripts[i], NULL), &config);
    struct jp_client_error error;
    assert_int_equal(fixture_call(client, TIMEOUT_MS, &error), JP_CLIENT_LIMIT);
    assert_non_null(strstr(error.text, "message_max, 64 bytes"));
    fixture_end(client);
  }
}

/* ---- the end ---- */

static void end_with_words(struct fake_connection *connection, void *context)
{
  struct text message;
  struct ring_end *rings = fake_rings_of(connection);
  fake_read(connection, &message);
  ring_end_write_frame(rings, RING_JSON_PART, TEXT("{\"jsonrpc\":"));
  ring_end_write_frame(rings, RING_END, text_of(context));
}

static void close_at_once(struct fake_connection *connection, void *context)
{
  (void)context;
  struct text message;
  fake_read(connection, &message);
}

static void end_inside_a_message(struct fake_connection *connection, void *context)
{
  (void)context;
  struct text message;
  struct ring_end *rings = fake_rings_of(connection);
  struct buffer rest = {0};
  fake_read(connection, &message);
  ring_append_frame(&rest, RING_JSON, TEXT("{\"jsonrpc\":\"2.0\"}"));
  ring_write(&rings->out, rest.data, 16);
  ring_end_publish(rings);
  buffer_fini(&rest);
}

UNIT_TEST(test_how_a_connection_ends)
{
  expect_end(close_at_once, NULL, JP_CLIENT_CLOSED, "the peer has closed the connection");
  expect_end(end_inside_a_message, NULL, JP_CLIENT_CLOSED, "the peer has closed the connection");
  expect_end(end_with_words, "shutting down", JP_CLIENT_CLOSED, "closed the connection: shutting down");
  expect_end(end_with_words, "bad \xff", JP_CLIENT_CLOSED, "closed the connection: bad ");
  expect_end(end_with_words, "", JP_CLIENT_CLOSED, "the peer has closed the connection");
}

/* ---- notifications ---- */

/* A peer that claims to poll, but is busy: it counts the notifications that it did not ask for. */
static void claim_to_poll(struct fake_connection *connection, void *context)
{
  struct ring_end *rings = fake_rings_of(connection);
  unsigned *notifications = context;
  struct text message;
  char byte;
  for (;;) {
    ring_reader_wake(&rings->in);
    if (recv(rings->fd, &byte, 1, 0) != 1)
      return;
    ++*notifications;
    if (!fake_read(connection, &message))
      return;
    fake_answer_int(connection, fake_id(message), 8);
  }
}

UNIT_TEST(test_a_busy_peer_is_notified_once)
{
  enum { CALLS = 100 };
  unsigned notifications = 0;
  struct jp_client *client = fixture_open(fake_peer_start(claim_to_poll, &notifications), NULL);
  fixture_assert_call(client); /* during the first call the peer may still have been asleep */
  for (int i = 0; i < CALLS; i++)
    fixture_assert_call(client);
  fixture_end(client);
  assert_in_range(notifications, CALLS, CALLS + 1);
}

/* Notifies without input: the client must read the notifications and continue. */
static void notify_without_end(struct fake_connection *connection, void *context)
{
  (void)context;
  struct text message;
  struct ring_end *rings = fake_rings_of(connection);
  while (fake_read(connection, &message)) {
    for (int i = 0; i < 2000; i++)
      ring_end_notify(rings);
    fake_answer_int(connection, fake_id(message), 8);
  }
}

UNIT_TEST(test_notifications_without_input)
{
  struct jp_client *client = fixture_open(fake_peer_start(notify_without_end, NULL), NULL);
  struct pollfd loop = {.fd = jp_client_descriptor(client), .events = POLLIN};
  for (int i = 0; i < 20; i++)
    fixture_assert_call(client);
  while (poll(&loop, 1, 0) == 1)
    assert_int_equal(jp_client_process(client, NULL), JP_CLIENT_OK);
  fixture_assert_call(client);
  fixture_end(client);
}

/* ---- another transport ---- */

UNIT_TEST(test_without_memory_it_is_a_websocket)
{
  const struct jp_client_config config = {.size = sizeof config, .reconnects = true};
  struct jp_client *client = fixture_open(fake_peer_start_shm(FAKE_RING_NONE, fake_serve, NULL), &config);
  for (int i = 0; i < 100; i++)
    fixture_assert_call(client);
  assert_int_equal(fake_peer_connections(fixture_peer), 2);
  fixture_end(client);
}

/* jp_launch does not know whether the peer supports shared memory. */
UNIT_TEST(test_where_memory_is_optional_any_refusal_makes_a_websocket)
{
  struct fake_peer *peer = fake_peer_start_shm(FAKE_RING_UNKNOWN, fake_serve, NULL);
  struct jp_client *client;
  struct jp_client_error error;
  assert_int_equal(jp_client_open(fake_peer_url(peer), NULL, &client, &error), JP_CLIENT_REFUSED);
  assert_non_null(strstr(error.text, "the peer refuses shared memory: 404 Not Found"));
  assert_int_equal(client_open(fake_peer_url(peer), NULL, true, &client, &error), JP_CLIENT_OK);
  fixture_assert_call(client);
  jp_client_close(client);
  fake_peer_stop(peer);
}

/* ---- fork ---- */

static bool has_map(void)
{
  char line[500];
  bool found = false;
  FILE *maps = fopen("/proc/self/maps", "re");
  while (maps != NULL && !found && fgets(line, sizeof line, maps) != NULL)
    found = strstr(line, "jpeer-shm") != NULL;
  if (maps != NULL)
    fclose(maps);
  return found;
}

UNIT_TEST(test_a_child_has_no_map)
{
  struct jp_client *client = fixture_open(fake_peer_start(fake_serve, NULL), NULL);
  fixture_assert_call(client);
  assert_true(has_map());
  pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0)
    _exit(has_map() || fixture_call(client, 1000, NULL) != JP_CLIENT_CLOSED);
  int status = AWAIT_CHILD(child);
  assert_int_equal(status, 0);
  fixture_assert_call(client);
  fixture_end(client);
  assert_false(has_map());
}

/* ---- a hostile peer ---- */

struct hostility {
  void (*act)(struct ring_end *rings, uint64_t first, uint64_t second);
  uint64_t first;
  uint64_t second;
  enum jp_client_status status;
  const char *words;
};

/* Claims to have written `count` more bytes, without writing them. */
static void show(struct ring_end *rings, uint64_t count, uint64_t none)
{
  (void)none;
  atomic_fetch_add(&rings->out.mine->written, count);
}

static void put_head(struct ring_end *rings, uint64_t kind, uint64_t length)
{
  uint64_t head = kind << 32 | length;
  memcpy(rings->out.bytes + rings->out.offset, &head, sizeof head);
  show(rings, sizeof head, 0);
}

static void show_and_close(struct ring_end *rings, uint64_t count, uint64_t none)
{
  show(rings, count, none);
  shutdown(rings->fd, SHUT_RDWR);
}

/* Claims to have read `count` bytes that were not written. */
static void claim_read(struct ring_end *rings, uint64_t count, uint64_t none)
{
  (void)none;
  atomic_fetch_add(&rings->in.mine->taken, count);
}

static void scribble_everywhere(struct ring_end *rings, uint64_t byte, uint64_t none)
{
  char *memory = (char *)rings->region.control;
  (void)none;
  memset(memory + RING_CONTROL_SIZE, (int)byte, 2 * rings->region.ring_size);
  memset(memory, (int)byte, RING_CONTROL_SIZE);
}

static void misbehave(struct fake_connection *connection, void *context)
{
  const struct hostility *hostility = context;
  struct ring_end *rings = fake_rings_of(connection);
  struct text message;
  char bytes[64];
  fake_read(connection, &message);
  if (hostility->act == claim_read)
    fake_answer_int(connection, fake_id(message), 8);
  hostility->act(rings, hostility->first, hostility->second);
  ring_end_notify(rings);
  while (recv(rings->fd, bytes, sizeof bytes, 0) > 0) /* until the client closes */
    ;
}

UNIT_TEST(test_hostile_peers)
{
  static const struct hostility cases[] = {
      {put_head, 5, 8, JP_CLIENT_PROTOCOL, "unknown kind"},
      {put_head, 0, 0, JP_CLIENT_PROTOCOL, "unknown kind"},
      {put_head, RING_JSON, UINT32_MAX, JP_CLIENT_LIMIT, "longer than message_max"},
      {put_head, RING_SKIP, 4096, JP_CLIENT_PROTOCOL, "the rules of shared memory"},
      {put_head, RING_SKIP, UINT32_MAX, JP_CLIENT_PROTOCOL, "the rules of shared memory"},
      {put_head, RING_JSON, 0, JP_CLIENT_PROTOCOL, ""},
      {show, FAKE_RING_SIZE + 8, 0, JP_CLIENT_PROTOCOL, "a position is wrong"},
      {show, (uint64_t)-8, 0, JP_CLIENT_PROTOCOL, "a position is wrong"},
      {show, UINT64_MAX / 2, 0, JP_CLIENT_PROTOCOL, "a position is wrong"},
      {show_and_close, 4, 0, JP_CLIENT_CLOSED, "the peer has closed"},
      {scribble_everywhere, 0xa5, 0, JP_CLIENT_PROTOCOL, "the rules of shared memory"},
  };
  for (size_t i = 0; i < COUNT_OF(cases); i++)
    expect_end(misbehave, (void *)(uintptr_t)&cases[i], cases[i].status, cases[i].words);
}

/* The fault is noticed only when the client needs room and checks the reader's position. */
UNIT_TEST(test_wrong_positions_of_the_reader)
{
  static const struct hostility cases[] = {{.act = claim_read, 1 << 20},
                                           {.act = claim_read, -(uint64_t)(1 << 20)}};
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    struct jp_client *client =
        fixture_open(fake_peer_start_shm(RING_SIZE_MIN, misbehave, (void *)(uintptr_t)&cases[i]), NULL);
    fixture_assert_call(client);
    char *letters = fixture_letters(10000);
    const struct jp_argument argument = jp_string(letters);
    const struct jp_request request = jp_build_class_method_call("T", "m", &argument, 1);
    struct jp_answer *answer;
    struct jp_client_error error;
    assert_int_equal(jp_client_call(client, &request, TIMEOUT_MS, &answer, &error), JP_CLIENT_PROTOCOL);
    assert_non_null(strstr(error.text, "a position is wrong"));
    free(letters);
    fixture_end(client);
  }
}

/* Random heads, lengths and payloads, for as long as the client accepts them: it must neither crash nor
 * hang. */
static void write_noise(struct fake_connection *connection, void *context)
{
  unsigned *seed = context;
  struct ring_end *rings = fake_rings_of(connection);
  struct text message;
  fake_read(connection, &message);
  for (int i = 0; i < 200; i++) {
    uint64_t word;
    for (size_t at = 0; at < FAKE_RING_SIZE; at += sizeof word) {
      word = (uint64_t)rand_r(seed) % 6 << 32 | ((uint64_t)rand_r(seed) % 64);
      memcpy(rings->out.bytes + at, &word, sizeof word);
    }
    show(rings, (uint64_t)rand_r(seed) % 512 * 8, 0);
    ring_end_notify(rings);
  }
}

UNIT_TEST(test_noise)
{
  for (unsigned i = 0; i < 20; i++) {
    unsigned seed = i;
    struct jp_client *client = fixture_open(fake_peer_start(write_noise, &seed), NULL);
    enum jp_client_status status = fixture_call(client, TIMEOUT_MS, NULL);
    assert_true(status == JP_CLIENT_PROTOCOL || status == JP_CLIENT_CLOSED);
    fixture_end(client);
  }
}

UNIT_MAIN
