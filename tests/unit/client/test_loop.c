/* Completions in the program's own loop. */
#include "client_fixture.h"
#include "tests/unit/await.h"

#include "base/clock.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

struct progress {
  struct jp_client *client;
  unsigned done;
  unsigned by_status[JP_CLIENT_NO_MEMORY + 1];
  unsigned to_send; /* by completions */
  unsigned to_call;
};

static void count(void *context, enum jp_client_status status, struct jp_answer *answer)
{
  struct progress *progress = context;
  const struct jp_request request = fixture_request();
  progress->done++;
  progress->by_status[status]++;
  assert_int_equal(answer != NULL, status == JP_CLIENT_OK);
  jp_answer_free(answer);
  if (progress->to_send > 0) {
    progress->to_send--;
    assert_int_equal(jp_client_send(progress->client, &request, 60000, count, progress, NULL), JP_CLIENT_OK);
  }
  if (progress->to_call > 0) {
    progress->to_call--;
    assert_int_equal(fixture_call(progress->client, 60000, NULL), JP_CLIENT_OK);
  }
}

static void send_one(struct progress *progress, int timeout_ms)
{
  const struct jp_request request = fixture_request();
  assert_int_equal(jp_client_send(progress->client, &request, timeout_ms, count, progress, NULL),
                   JP_CLIENT_OK);
}

static void process_at_least(struct progress *progress, unsigned done)
{
  while (progress->done < done)
    fixture_process(progress->client);
}

static void process_until(struct progress *progress, unsigned done)
{
  process_at_least(progress, done);
  assert_int_equal(progress->done, done);
}

/* Answers each request at once, except the first `context` requests: the first `context` requests are
 * answered after another request. */
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
  struct progress progress = {.client = fixture_open(fake_peer_start(answer_later, &late), NULL)};
  for (int i = 0; i < 3; i++)
    send_one(&progress, 5000);
  assert_false(fixture_is_readable(progress.client, 50));
  assert_int_equal(fixture_call(progress.client, 60000, NULL), JP_CLIENT_OK);
  assert_int_equal(progress.done, 0); /* completions run only in jp_client_process */
  assert_true(fixture_is_readable(progress.client, 0));
  process_until(&progress, 3);
  assert_false(fixture_is_readable(progress.client, 0));
  fixture_end(progress.client);
}

UNIT_TEST(test_timeouts)
{
  unsigned late = 3;
  struct progress progress = {.client = fixture_open(fake_peer_start(answer_later, &late), NULL)};
  int64_t before = clock_now_ms();
  send_one(&progress, 100);
  send_one(&progress, 50);
  send_one(&progress, JP_FOREVER);
  process_at_least(&progress, 1); /* on a slow machine both requests may be done */
  assert_in_range(clock_now_ms() - before, 49, 60000);
  process_until(&progress, 2);
  assert_in_range(clock_now_ms() - before, 99, 60000);
  assert_int_equal(progress.by_status[JP_CLIENT_TIMEOUT], 2);
  assert_int_equal(jp_client_pending(progress.client), 3);
  assert_false(fixture_is_readable(progress.client, 100));
  send_one(&progress, 5000); /* now the late answers arrive */
  process_until(&progress, 4);
  assert_int_equal(progress.by_status[JP_CLIENT_OK], 2);
  assert_int_equal(jp_client_pending(progress.client), 0);
  fixture_end(progress.client);
}

UNIT_TEST(test_close)
{
  unsigned late = 100;
  struct progress progress = {.client = fixture_open(fake_peer_start(answer_later, &late), NULL)};
  for (int i = 0; i < 10; i++)
    send_one(&progress, JP_FOREVER);
  jp_client_close(progress.client);
  assert_int_equal(progress.done, 10);
  assert_int_equal(progress.by_status[JP_CLIENT_CLOSED], 10);
  fake_peer_stop(fixture_peer);
}

static void read_one(struct fake_connection *connection, void *context)
{
  (void)context;
  struct text message;
  fake_read(connection, &message);
}

UNIT_TEST(test_a_peer_that_closes)
{
  struct progress progress = {.client = fixture_open(fake_peer_start(read_one, NULL), NULL)};
  struct jp_client_error error;
  for (int i = 0; i < 10; i++) {
    const struct jp_request request = fixture_request();
    if (jp_client_send(progress.client, &request, 60000, count, &progress, NULL) != JP_CLIENT_OK)
      break;
  }
  enum jp_client_status status = JP_CLIENT_OK;
  while (status == JP_CLIENT_OK) {
    assert_true(fixture_is_readable(progress.client, 5000));
    status = jp_client_process(progress.client, &error);
  }
  assert_int_equal(status, JP_CLIENT_CLOSED);
  assert_in_range(progress.done, 1, 10);
  assert_int_equal(progress.by_status[JP_CLIENT_CLOSED], progress.done);
  assert_false(fixture_is_readable(progress.client, 50)); /* the end is reported once */
  assert_int_equal(jp_client_process(progress.client, NULL), JP_CLIENT_CLOSED);
  fixture_end(progress.client);
}

UNIT_TEST(test_pending_max)
{
  unsigned late = 4;
  const struct jp_client_config config = {.size = sizeof config, .pending_max = 4};
  struct progress progress = {.client = fixture_open(fake_peer_start(answer_later, &late), &config)};
  const struct jp_request request = fixture_request();
  struct jp_client_error error;
  for (int i = 0; i < 4; i++)
    send_one(&progress, 5000);
  assert_int_equal(jp_client_send(progress.client, &request, 60000, count, &progress, &error),
                   JP_CLIENT_LIMIT);
  assert_string_equal(error.text, "4 requests have no answer: 1 more would pass pending_max, 4");
  assert_int_equal(fixture_call(progress.client, 60000, NULL), JP_CLIENT_LIMIT);
  assert_int_equal(progress.done, 0);
  jp_client_close(progress.client);
  assert_int_equal(progress.done, 4);
  fake_peer_stop(fixture_peer);
}

/* ---- answers in another order than the requests ---- */

enum { MANY = 3000, STRIDE = 7 /* STRIDE does not divide the numbers of requests below */ };

struct held_request {
  struct held_requests *all;
  int number; /* in the order of sending, from 0 */
};

struct held_requests {
  struct jp_client *client;
  struct held_request requests[MANY];
  int sent;
  int seen[MANY]; /* in the order of the completions */
  int done;
};

/* Holds the requests "held<number>" until "release" arrives, and answers them with their numbers in steps of
 * STRIDE. */
static void answer_out_of_order(struct fake_connection *connection, void *context)
{
  (void)context;
  static uint64_t ids[MANY];
  static int numbers[MANY];
  size_t count = 0;
  struct text message;
  while (fake_read(connection, &message)) {
    const char *held = memmem(message.data, message.len, "\"held", 5);
    if (held != NULL) {
      ids[count] = fake_id(message);
      numbers[count++] = atoi(held + 5);
      continue;
    }
    const uint64_t id = fake_id(message);
    if (memmem(message.data, message.len, "\"release", 8) != NULL) {
      for (size_t i = 0; i < count; i++)
        fake_answer_int(connection, ids[i * STRIDE % count], numbers[i * STRIDE % count]);
      count = 0;
    }
    fake_answer_int(connection, id, 8);
  }
}

static void note_order(void *context, enum jp_client_status status, struct jp_answer *answer)
{
  const struct held_request *request = context;
  int64_t value = -1;
  assert_int_equal(status, JP_CLIENT_OK);
  assert_true(jp_answer_integer(answer, &value));
  assert_int_equal(value, request->number);
  request->all->seen[request->all->done++] = request->number;
  jp_answer_free(answer);
}

static void send_held(struct held_requests *all, int count)
{
  for (int i = 0; i < count; i++) {
    char member[32];
    struct held_request *request = &all->requests[all->sent];
    *request = (struct held_request){.all = all, .number = all->sent++};
    snprintf(member, sizeof member, "held%d", request->number);
    const struct jp_request what = jp_build_class_method_call("T", member, JP_NO_ARGUMENTS);
    assert_int_equal(jp_client_send(all->client, &what, 60000, note_order, request, NULL), JP_CLIENT_OK);
  }
}

/* Makes a call that reads all answers before its own; the completions wait for jp_client_process. */
static void release_held(struct held_requests *all)
{
  const struct jp_request request = jp_build_class_method_call("T", "release", JP_NO_ARGUMENTS);
  struct jp_answer *answer;
  assert_int_equal(jp_client_call(all->client, &request, 60000, &answer, NULL), JP_CLIENT_OK);
  jp_answer_free(answer);
}

/* The next `count` completions belong to the requests with numbers from `from` on, in the order of the peer's
 * answers. */
static void expect_held(const struct held_requests *all, int from, int count)
{
  assert_in_range(all->done, from + count, MANY);
  for (int i = 0; i < count; i++)
    assert_int_equal(all->seen[from + i], from + i * STRIDE % count);
}

static void process_held(struct held_requests *all)
{
  while (all->done < all->sent)
    fixture_process(all->client);
  assert_int_equal(jp_client_pending(all->client), 0);
}

static struct held_requests *open_held(void)
{
  struct held_requests *all = test_calloc(1, sizeof *all);
  all->client = fixture_open(fake_peer_start(answer_out_of_order, NULL), NULL);
  return all;
}

static void end_held(struct held_requests *all)
{
  fixture_end(all->client);
  test_free(all);
}

UNIT_TEST(completions_run_in_the_order_of_the_answers)
{
  struct held_requests *all = open_held();
  send_held(all, MANY);
  release_held(all);
  process_held(all);
  expect_held(all, 0, MANY);
  end_held(all);
}

/* The queue of completions grows while the completions in it extend across the end of its ring. */
UNIT_TEST(completions_wait_while_more_are_sent)
{
  enum { GROUP = 100 };
  struct held_requests *all = open_held();
  for (int group = 0; group < 4; group++) {
    send_held(all, GROUP);
    release_held(all);
    if (group == 0)
      process_held(all);
  }
  process_held(all);
  for (int group = 0; group < 4; group++)
    expect_held(all, group * GROUP, GROUP);
  end_held(all);
}

/* Old requests without an answer share places of the table with new requests. */
UNIT_TEST(old_requests_do_not_hide_new_ones)
{
  enum { PLACES = 128, ROUNDS = 5 };
  struct held_requests *all = open_held();
  for (int id = 1; id <= ROUNDS * PLACES; id++) {
    if (id % PLACES == 0 || id % PLACES == PLACES - 1)
      send_held(all, 1);
    else
      fixture_assert_call(all->client);
  }
  assert_int_equal(jp_client_pending(all->client), 2 * ROUNDS);
  release_held(all);
  process_held(all);
  expect_held(all, 0, 2 * ROUNDS);
  end_held(all);
}

/* ---- a peer that does not read ---- */

static void serve_after_gate(struct fake_connection *connection, void *context)
{
  const atomic_bool *is_open = context;
  AWAIT(atomic_load(is_open));
  fake_serve(connection, NULL);
}

UNIT_TEST(test_a_full_socket)
{
  enum { LONG = 100000, REQUESTS = 50 };
  atomic_bool is_open = false;
  struct progress progress = {.client = fixture_open(fake_peer_start(serve_after_gate, &is_open), NULL)};
  char *text = test_malloc(LONG);
  memset(text, 'x', LONG);
  const struct jp_argument argument = jp_text_argument((struct jp_text){text, LONG});
  const struct jp_request request = jp_build_class_method_call("T", "m", &argument, 1);
  for (int i = 0; i < REQUESTS; i++)
    assert_int_equal(jp_client_send(progress.client, &request, 20000, count, &progress, NULL), JP_CLIENT_OK);
  assert_false(fixture_is_readable(progress.client, 50));
  assert_int_equal(fixture_call(progress.client, 50, NULL), JP_CLIENT_TIMEOUT);
  atomic_store(&is_open, true);
  process_until(&progress, REQUESTS);
  assert_int_equal(progress.by_status[JP_CLIENT_OK], REQUESTS);
  fixture_end(progress.client);
  test_free(text);
}

UNIT_MAIN
