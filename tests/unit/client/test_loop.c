/* Completions on the caller's own loop. */
#include "client_fixture.h"
#include "tests/unit/await.h"

#include "base/clock.h"

#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

struct tally {
  struct jp_client *client;
  unsigned done;
  unsigned by_status[JP_CLIENT_NO_MEMORY + 1];
  unsigned to_send; /* by completions */
  unsigned to_call;
};

static void count(void *context, enum jp_client_status status, struct jp_answer *answer)
{
  struct tally *tally = context;
  const struct jp_request request = fixture_request();
  tally->done++;
  tally->by_status[status]++;
  assert_int_equal(answer != NULL, status == JP_CLIENT_OK);
  jp_answer_free(answer);
  if (tally->to_send > 0) {
    tally->to_send--;
    assert_int_equal(jp_client_send(tally->client, &request, 60000, count, tally, NULL), JP_CLIENT_OK);
  }
  if (tally->to_call > 0) {
    tally->to_call--;
    assert_int_equal(fixture_call(tally->client, 60000, NULL), JP_CLIENT_OK);
  }
}

static void send_one(struct tally *tally, int timeout_ms)
{
  const struct jp_request request = fixture_request();
  assert_int_equal(jp_client_send(tally->client, &request, timeout_ms, count, tally, NULL), JP_CLIENT_OK);
}

static bool is_readable(struct jp_client *client, int timeout_ms)
{
  struct pollfd polled = {.fd = jp_client_descriptor(client), .events = POLLIN};
  return poll(&polled, 1, timeout_ms) == 1;
}

static void process_at_least(struct tally *tally, unsigned done)
{
  while (tally->done < done) {
    assert_true(is_readable(tally->client, 5000));
    assert_int_equal(jp_client_process(tally->client, NULL), JP_CLIENT_OK);
  }
}

static void process_until(struct tally *tally, unsigned done)
{
  process_at_least(tally, done);
  assert_int_equal(tally->done, done);
}

/* Answers all, but those to the first `context` requests once another one has come. */
static void answer_later(struct fake_connection *connection, void *context)
{
  unsigned left = *(unsigned *)context;
  uint64_t first = 0;
  struct text message;
  while (fake_read(connection, &message)) {
    uint64_t id = fake_id(message);
    first = first == 0 ? id : first;
    if (id == first + left)
      for (uint64_t late = first; late < id; late++)
        fake_answer_int(connection, late, 8);
    if (id >= first + left)
      fake_answer_int(connection, id, 8);
  }
}

UNIT_TEST(test_a_caller_reads_for_the_loop)
{
  unsigned late = 3;
  struct fake_peer *peer = fake_peer_start(answer_later, &late);
  struct tally tally = {.client = fixture_open(peer, NULL)};
  for (int i = 0; i < 3; i++)
    send_one(&tally, 5000);
  assert_false(is_readable(tally.client, 50));
  assert_int_equal(fixture_call(tally.client, 60000, NULL), JP_CLIENT_OK);
  assert_int_equal(tally.done, 0); /* completions run in jp_client_process alone */
  assert_true(is_readable(tally.client, 0));
  process_until(&tally, 3);
  assert_false(is_readable(tally.client, 0));
  fixture_close(tally.client, peer);
}

UNIT_TEST(test_timeouts)
{
  unsigned late = 3;
  struct fake_peer *peer = fake_peer_start(answer_later, &late);
  struct tally tally = {.client = fixture_open(peer, NULL)};
  int64_t before = clock_now_ms();
  send_one(&tally, 100);
  send_one(&tally, 50);
  send_one(&tally, JP_FOREVER);
  process_at_least(&tally, 1); /* or both, on a slow machine */
  assert_in_range(clock_now_ms() - before, 49, 60000);
  process_until(&tally, 2);
  assert_in_range(clock_now_ms() - before, 99, 60000);
  assert_int_equal(tally.by_status[JP_CLIENT_TIMEOUT], 2);
  assert_int_equal(jp_client_pending(tally.client), 3);
  assert_false(is_readable(tally.client, 100));
  send_one(&tally, 5000); /* now the late ones come */
  process_until(&tally, 4);
  assert_int_equal(tally.by_status[JP_CLIENT_OK], 2);
  assert_int_equal(jp_client_pending(tally.client), 0);
  fixture_close(tally.client, peer);
}

UNIT_TEST(test_close)
{
  unsigned late = 100;
  struct fake_peer *peer = fake_peer_start(answer_later, &late);
  struct tally tally = {.client = fixture_open(peer, NULL)};
  for (int i = 0; i < 10; i++)
    send_one(&tally, JP_FOREVER);
  jp_client_close(tally.client);
  assert_int_equal(tally.done, 10);
  assert_int_equal(tally.by_status[JP_CLIENT_CLOSED], 10);
  fake_peer_stop(peer);
}

static void read_one(struct fake_connection *connection, void *context)
{
  (void)context;
  struct text message;
  fake_read(connection, &message);
}

UNIT_TEST(test_a_peer_that_goes)
{
  struct fake_peer *peer = fake_peer_start(read_one, NULL);
  struct tally tally = {.client = fixture_open(peer, NULL)};
  struct jp_client_error error;
  for (int i = 0; i < 10; i++) {
    const struct jp_request request = fixture_request();
    if (jp_client_send(tally.client, &request, 60000, count, &tally, NULL) != JP_CLIENT_OK)
      break;
  }
  enum jp_client_status status = JP_CLIENT_OK;
  while (status == JP_CLIENT_OK) {
    assert_true(is_readable(tally.client, 5000));
    status = jp_client_process(tally.client, &error);
  }
  assert_int_equal(status, JP_CLIENT_CLOSED);
  assert_in_range(tally.done, 1, 10);
  assert_int_equal(tally.by_status[JP_CLIENT_CLOSED], tally.done);
  assert_false(is_readable(tally.client, 50)); /* it is told once, not again and again */
  assert_int_equal(jp_client_process(tally.client, NULL), JP_CLIENT_CLOSED);
  fixture_close(tally.client, peer);
}

UNIT_TEST(test_pending_max)
{
  unsigned late = 4;
  const struct jp_client_config config = {.size = sizeof config, .pending_max = 4};
  struct fake_peer *peer = fake_peer_start(answer_later, &late);
  struct tally tally = {.client = fixture_open(peer, &config)};
  const struct jp_request request = fixture_request();
  struct jp_client_error error;
  for (int i = 0; i < 4; i++)
    send_one(&tally, 5000);
  assert_int_equal(jp_client_send(tally.client, &request, 60000, count, &tally, &error), JP_CLIENT_LIMIT);
  assert_string_equal(error.text, "4 requests have no answer: 1 more would pass pending_max, 4");
  assert_int_equal(fixture_call(tally.client, 60000, NULL), JP_CLIENT_LIMIT);
  assert_int_equal(tally.done, 0);
  jp_client_close(tally.client);
  assert_int_equal(tally.done, 4);
  fake_peer_stop(peer);
}

/* ---- a peer that does not read ---- */

static void serve_behind_gate(struct fake_connection *connection, void *context)
{
  const atomic_bool *is_open = context;
  AWAIT(atomic_load(is_open));
  fake_serve(connection, NULL);
}

UNIT_TEST(test_a_full_socket)
{
  enum { LONG = 100000, REQUESTS = 50 };
  atomic_bool is_open = false;
  struct fake_peer *peer = fake_peer_start(serve_behind_gate, &is_open);
  struct tally tally = {.client = fixture_open(peer, NULL)};
  char *text = test_malloc(LONG);
  memset(text, 'x', LONG);
  const struct jp_argument argument = jp_text_argument((struct jp_text){text, LONG});
  const struct jp_request request = jp_build_class_method_call("T", "m", &argument, 1);
  for (int i = 0; i < REQUESTS; i++)
    assert_int_equal(jp_client_send(tally.client, &request, 20000, count, &tally, NULL), JP_CLIENT_OK);
  assert_false(is_readable(tally.client, 50));
  assert_int_equal(fixture_call(tally.client, 50, NULL), JP_CLIENT_TIMEOUT);
  atomic_store(&is_open, true);
  process_until(&tally, REQUESTS);
  assert_int_equal(tally.by_status[JP_CLIENT_OK], REQUESTS);
  fixture_close(tally.client, peer);
  test_free(text);
}

UNIT_MAIN
