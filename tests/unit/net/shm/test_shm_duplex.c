/* Callbacks over shared memory: the rules are those of any connection (net/connection/test_duplex.c), the ways of reading
 * and writing are the rings'. */
#include "duplex_fixture.h"
#include "shm_fixture.h"
#include "tests/unit/await.h"

struct pair {
  struct duplex_fixture server;
  struct fixture client; /* its end of the rings alone */
};

static struct pair *open_pair(struct duplex_options options)
{
  struct pair *pair = test_malloc(sizeof *pair);
  memset(pair, 0, sizeof *pair);
  options.ring_size = RING_SIZE;
  duplex_fixture_open(&pair->server, options);
  pair->client.pool.ring_size = RING_SIZE;
  pair->client.fd = duplex_connect_http(&pair->server);
  begin_sharing(&pair->client);
  return pair;
}

static void close_pair(struct pair *pair)
{
  if (pair->client.fd >= 0)
    close(pair->client.fd);
  ring_region_unmap(&pair->client.region);
  duplex_fixture_close(&pair->server);
  test_free(pair);
}

static void say(struct pair *pair, const char *text)
{
  send_message(&pair->client, text_of(text));
}

static void hear(struct pair *pair, char text[256])
{
  struct buffer payload;
  buffer_init(&payload);
  assert_int_equal(receive_frame(&pair->client, &payload), RING_JSON);
  assert_true(payload.len < 256);
  snprintf(text, 256, "%.*s", TEXT_ARGS(buffer_text(&payload)));
  buffer_fini(&payload);
}

static void expect(struct pair *pair, const char *wanted)
{
  char text[256];
  hear(pair, text);
  assert_string_equal(text, wanted);
}

static unsigned expect_call(struct pair *pair)
{
  char text[256];
  unsigned number;
  hear(pair, text);
  assert_int_equal(sscanf(text, "call %u", &number), 1);
  return number;
}

static unsigned spawn(struct pair *pair)
{
  unsigned number = 0;
  say(pair, "spawn");
  for (int i = 0; i < 2; i++) {
    char text[256];
    hear(pair, text);
    if (sscanf(text, "call %u", &number) != 1)
      assert_string_equal(text, "spawned");
  }
  return number;
}

static void answer(struct pair *pair, unsigned number, const char *with)
{
  char text[100];
  snprintf(text, sizeof text, "#%u %s", number, with);
  say(pair, text);
}

static struct pair *open_with_threads(unsigned threads)
{
  struct pair *pair = open_pair((struct duplex_options){.threads = threads, .threads_max = threads});
  say(pair, "open");
  expect(pair, "opened");
  return pair;
}

static void a_thread_reads_the_answer_to_its_own_call(void **state)
{
  (void)state;
  for (unsigned threads = 1; threads <= 2; threads++) {
    struct pair *pair = open_with_threads(threads);
    say(pair, "call 300");
    for (int i = 0; i < 300; i++)
      answer(pair, expect_call(pair), i == 299 ? "last" : "x");
    expect(pair, "got last");
    say(pair, "echo");
    expect(pair, "echo");
    close_pair(pair);
  }
}

static void a_thread_of_the_application_is_answered(void **state)
{
  (void)state;
  for (unsigned threads = 1; threads <= 2; threads++) {
    struct pair *pair = open_with_threads(threads);
    for (int i = 0; i < 20; i++) {
      unsigned number = spawn(pair);
      bool is_inside = i % 2 == 0;
      if (is_inside)
        say(pair, "join");
      AWAIT(!is_inside || atomic_load(&pair->server.s.inside_join) != 0);
      answer(pair, number, "it");
      if (!is_inside)
        say(pair, "join");
      expect(pair, "joined it");
    }
    close_pair(pair);
  }
}

/* What was read already rings no bell. */
static void an_answer_that_came_with_the_request_is_found(void **state)
{
  (void)state;
  for (unsigned threads = 1; threads <= 2; threads++) {
    struct pair *pair = open_with_threads(threads);
    char last[40];
    snprintf(last, sizeof last, "#%u same", spawn(pair));
    struct buffer frames;
    buffer_init(&frames);
    ring_append_frame(&frames, RING_JSON, TEXT("join"));
    ring_append_frame(&frames, RING_JSON, TEXT("second"));
    ring_append_frame(&frames, RING_JSON, text_of(last));
    send_frames(&pair->client, &frames);
    buffer_fini(&frames);
    expect(pair, "joined same");
    expect(pair, "second");
    close_pair(pair);
  }
}

static void requests_may_be_nested(void **state)
{
  (void)state;
  struct pair *pair = open_with_threads(1);
  char text[40];
  say(pair, "call 1");
  unsigned outer = expect_call(pair);
  for (int i = 0; i < 50; i++) {
    snprintf(text, sizeof text, "@%u call 1", outer);
    say(pair, text);
    answer(pair, expect_call(pair), "inner");
    expect(pair, "nested got inner");
  }
  answer(pair, outer, "outer");
  expect(pair, "got outer");
  close_pair(pair);
}

static void a_nested_request_without_a_call_is_answered_at_once(void **state)
{
  (void)state;
  struct pair *pair = open_with_threads(1);
  say(pair, "call 1");
  unsigned outer = expect_call(pair);
  say(pair, "@999 echo");
  expect(pair, "no call 999");
  answer(pair, outer, "outer");
  expect(pair, "got outer");
  close_pair(pair);
}

static void a_client_that_vanishes_ends_its_calls(void **state)
{
  (void)state;
  for (int kind = 0; kind < 2; kind++) {
    struct pair *pair = open_with_threads(2);
    if (kind == 0) {
      say(pair, "call 1");
      expect_call(pair);
    } else {
      spawn(pair);
    }
    close(pair->client.fd);
    pair->client.fd = -1;
    AWAIT(atomic_load(&pair->server.s.gone) != 0);
    close_pair(pair);
  }
}

static void a_frame_that_is_none_ends_calls(void **state)
{
  (void)state;
  struct pair *pair = open_with_threads(2);
  say(pair, "call 1");
  expect_call(pair);
  struct buffer frame;
  buffer_init(&frame);
  ring_append_frame(&frame, RING_END, TEXT("x"));
  send_frames(&pair->client, &frame);
  buffer_fini(&frame);
  expect(pair, "gone");
  expect_end(&pair->client, "a frame of a kind that a client does not send");
  close_pair(pair);
}

static void expect_events(struct pair *pair, unsigned events, unsigned others)
{
  unsigned next = 0;
  while (next < events || others > 0) {
    char text[256];
    unsigned number;
    hear(pair, text);
    if (sscanf(text, "event %u", &number) == 1)
      assert_int_equal(number, next++);
    else
      others--;
  }
}

/* The rings and the send buffer are full. */
static void a_sender_waits_for_room(void **state)
{
  (void)state;
  static const char *const senders[] = {"events 30000", "spray 30000"};
  for (int kind = 0; kind < 2; kind++) {
    struct pair *pair =
        open_pair((struct duplex_options){.threads = 2, .threads_max = 4, .send_buffer_max = 16 * 1024});
    say(pair, "open");
    expect(pair, "opened");
    say(pair, senders[kind]);
    usleep(20000);
    expect_events(pair, 30000, 1);
    close_pair(pair);
  }
}

static void events_come_between_answers(void **state)
{
  (void)state;
  struct pair *pair = open_with_threads(2);
  say(pair, "spray 3000");
  for (int i = 0; i < 500; i++)
    say(pair, "echo");
  expect_events(pair, 3000, 501);
  close_pair(pair);
}

static void a_client_that_never_reads_is_given_up(void **state)
{
  (void)state;
  static const char *const senders[] = {"events 1000000", "spray 1000000"};
  for (int kind = 0; kind < 2; kind++) {
    struct pair *pair = open_pair((struct duplex_options){
        .threads = 2, .threads_max = 4, .send_buffer_max = 16 * 1024, .body_timeout_ms = 50});
    say(pair, "open");
    expect(pair, "opened");
    say(pair, senders[kind]);
    AWAIT(atomic_load(&pair->server.s.stub.clients) == 0);
    close_pair(pair);
  }
}

/* The client of a ring that is read ahead is told when nobody looks, so that it rings. */
static void a_name_is_told_beside_a_request_that_lasts(void **state)
{
  (void)state;
  for (unsigned threads = 1; threads <= 2; threads++) {
    struct pair *pair = open_pair((struct duplex_options){.threads = threads, .threads_max = threads});
    say(pair, "block");
    stub_wait_inside(&pair->server.s.stub, 1);
    for (int i = 0; i < 20; i++) {
      say(pair, "name");
      expect(pair, "named");
      say(pair, "echo");
    }
    stub_let_go(&pair->server.s.stub);
    expect(pair, "block");
    for (int i = 0; i < 20; i++)
      expect(pair, "echo");
    say(pair, "last");
    expect(pair, "last");
    close_pair(pair);
  }
}

/* Its ring goes with its descriptor; the request that comes back finds neither. */
static void a_client_that_leaves_while_it_is_read_ahead_takes_its_ring(void **state)
{
  (void)state;
  struct pair *pair = open_pair((struct duplex_options){.threads = 2, .threads_max = 2});
  say(pair, "block");
  stub_wait_inside(&pair->server.s.stub, 1);
  say(pair, "name");
  expect(pair, "named");
  close(pair->client.fd);
  pair->client.fd = -1;
  AWAIT(atomic_load(&pair->server.pool.total) == 0);
  stub_let_go(&pair->server.s.stub);
  AWAIT(atomic_load(&pair->server.s.stub.clients) == 0);
  close_pair(pair);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_thread_reads_the_answer_to_its_own_call),
      cmocka_unit_test(a_thread_of_the_application_is_answered),
      cmocka_unit_test(an_answer_that_came_with_the_request_is_found),
      cmocka_unit_test(requests_may_be_nested),
      cmocka_unit_test(a_nested_request_without_a_call_is_answered_at_once),
      cmocka_unit_test(a_client_that_vanishes_ends_its_calls),
      cmocka_unit_test(a_frame_that_is_none_ends_calls),
      cmocka_unit_test(a_sender_waits_for_room),
      cmocka_unit_test(events_come_between_answers),
      cmocka_unit_test(a_client_that_never_reads_is_given_up),
      cmocka_unit_test(a_name_is_told_beside_a_request_that_lasts),
      cmocka_unit_test(a_client_that_leaves_while_it_is_read_ahead_takes_its_ring),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
