/* Many clients of shared memory are called back at the same time. Some answer all and close, others vanish in between. The
 * peer notices the end of each, whatever the threads that call it do just then. */
#include "duplex_fixture.h"
#include "shm_fixture.h"

enum { CLIENTS = 40, ROUNDS = 4, CALLS = 20, EVENTS = 500, TEXT_MAX = 256, PATIENCE_SECONDS = 60 };

struct client {
  struct crowd *crowd;
  struct fixture rings; /* its end of them alone */
  unsigned number;
  pthread_t thread;
};

struct crowd {
  struct duplex_fixture server;
  pthread_barrier_t all_open;
  struct client clients[CLIENTS];
};

/* ---- what a client says and hears ---- */

static void say(struct client *client, const char *text)
{
  send_message(&client->rings, text_of(text));
}

static void hear(struct client *client, char text[TEXT_MAX])
{
  struct buffer payload;
  buffer_init(&payload);
  assert_int_equal(receive_frame(&client->rings, &payload), RING_JSON);
  assert_true(payload.len < TEXT_MAX);
  snprintf(text, TEXT_MAX, "%.*s", TEXT_ARGS(buffer_text(&payload)));
  buffer_fini(&payload);
}

static void expect(struct client *client, const char *wanted)
{
  char text[TEXT_MAX];
  hear(client, text);
  assert_string_equal(text, wanted);
}

static unsigned expect_call(struct client *client)
{
  char text[TEXT_MAX];
  unsigned number;
  hear(client, text);
  assert_int_equal(sscanf(text, "call %u", &number), 1);
  return number;
}

static void answer(struct client *client, unsigned call)
{
  char text[TEXT_MAX];
  snprintf(text, sizeof text, "#%u of %u", call, client->number);
  say(client, text);
}

static void answer_calls(struct client *client, unsigned count)
{
  for (unsigned i = 0; i < count; i++)
    answer(client, expect_call(client));
}

static void expect_own_answer(struct client *client, const char *before)
{
  char text[TEXT_MAX];
  snprintf(text, sizeof text, "%s of %u", before, client->number);
  expect(client, text);
}

static void ask_for_calls(struct client *client, unsigned count)
{
  char text[TEXT_MAX];
  snprintf(text, sizeof text, "call %u", count);
  say(client, text);
}

/* The call of a thread that is none of the crew. */
static unsigned spawn(struct client *client)
{
  unsigned number = 0;
  say(client, "spawn");
  for (int i = 0; i < 2; i++) {
    char text[TEXT_MAX];
    hear(client, text);
    if (sscanf(text, "call %u", &number) != 1)
      assert_string_equal(text, "spawned");
  }
  return number;
}

/* ---- what clients do before they close ---- */

static void answer_all(struct client *client)
{
  ask_for_calls(client, CALLS);
  answer_calls(client, CALLS);
  expect_own_answer(client, "got");
}

static void nest_in_each(struct client *client)
{
  char text[TEXT_MAX];
  ask_for_calls(client, CALLS);
  for (unsigned i = 0; i < CALLS; i++) {
    unsigned call = expect_call(client);
    snprintf(text, sizeof text, "@%u call 1", call);
    say(client, text);
    answer(client, expect_call(client));
    expect_own_answer(client, "nested got");
    answer(client, call);
  }
  expect_own_answer(client, "got");
}

static void answer_threads(struct client *client)
{
  for (int i = 0; i < 2; i++) {
    unsigned call = spawn(client);
    say(client, "echo");
    expect(client, "echo");
    answer(client, call);
  }
}

static void hear_events(struct client *client)
{
  char text[TEXT_MAX];
  unsigned number;
  say(client, "spray 500");
  for (unsigned next = 0; next < EVENTS;) {
    hear(client, text);
    if (sscanf(text, "event %u", &number) == 1)
      assert_int_equal(number, next++);
    else
      assert_string_equal(text, "spraying");
  }
}

static void vanish_unanswering(struct client *client)
{
  ask_for_calls(client, CALLS);
  answer_calls(client, CALLS / 2);
  expect_call(client);
}

static void vanish_from_a_thread(struct client *client)
{
  spawn(client);
}

static void vanish_from_a_nested_call(struct client *client)
{
  char text[TEXT_MAX];
  ask_for_calls(client, 1);
  snprintf(text, sizeof text, "@%u call 1", expect_call(client));
  say(client, text);
  expect_call(client);
}

static void vanish_with_the_last_answer(struct client *client)
{
  ask_for_calls(client, CALLS);
  answer_calls(client, CALLS);
}

static void vanish_with_a_request(struct client *client)
{
  ask_for_calls(client, CALLS);
}

static void vanish_among_events(struct client *client)
{
  char text[TEXT_MAX];
  say(client, "spray 30000");
  say(client, "events 30000");
  for (unsigned i = 0; i < EVENTS; i++)
    hear(client, text);
}

static void (*const behaviours[])(struct client *client) = {
    answer_all,
    nest_in_each,
    answer_threads,
    hear_events,
    vanish_unanswering,
    vanish_from_a_thread,
    vanish_from_a_nested_call,
    vanish_with_the_last_answer,
    vanish_with_a_request,
    vanish_among_events,
};

/* ---- the crowd ---- */

static void *run_client(void *argument)
{
  struct client *client = argument;
  const unsigned count = sizeof behaviours / sizeof *behaviours;
  begin_sharing(&client->rings);
  say(client, "open");
  expect(client, "opened");
  pthread_barrier_wait(&client->crowd->all_open);
  behaviours[client->number % count](client);
  close(client->rings.fd);
  ring_region_unmap(&client->rings.region);
  return NULL;
}

static void client_init(struct client *client, struct crowd *crowd, unsigned number)
{
  memset(client, 0, sizeof *client);
  client->crowd = crowd;
  client->number = number;
  client->rings.pool.ring_size = RING_SIZE;
  client->rings.fd = duplex_connect_http(&crowd->server);
}

static void begin_client(struct crowd *crowd, struct client *client, unsigned number)
{
  client_init(client, crowd, number);
  assert_int_equal(pthread_create(&client->thread, NULL, run_client, client), 0);
}

static void expect_all_ends(struct crowd *crowd)
{
  int64_t deadline_ms = clock_now_ms() + PATIENCE_SECONDS * INT64_C(1000);
  while (atomic_load(&crowd->server.s.stub.clients) > 0 && clock_now_ms() < deadline_ms)
    usleep(500);
  assert_int_equal(atomic_load(&crowd->server.s.stub.clients), 0);
}

static void run_clients(struct crowd *crowd)
{
  for (unsigned i = 0; i < CLIENTS; i++)
    begin_client(crowd, &crowd->clients[i], i);
  for (unsigned i = 0; i < CLIENTS; i++)
    pthread_join(crowd->clients[i].thread, NULL);
}

static struct crowd *open_crowd(unsigned threads, unsigned threads_max)
{
  const struct duplex_options options = {
      .threads = threads, .threads_max = threads_max, .send_buffer_max = 16 * 1024, .ring_size = RING_SIZE};
  struct crowd *crowd = test_malloc(sizeof *crowd);
  memset(crowd, 0, sizeof *crowd);
  pthread_barrier_init(&crowd->all_open, NULL, CLIENTS);
  duplex_fixture_open(&crowd->server, options);
  return crowd;
}

static void close_crowd(struct crowd *crowd)
{
  duplex_fixture_close(&crowd->server);
  pthread_barrier_destroy(&crowd->all_open);
  test_free(crowd);
}

static void each_end_is_noticed(void **state)
{
  (void)state;
  static const unsigned threads[] = {1, 2};
  for (int kind = 0; kind < 2; kind++) {
    struct crowd *crowd = open_crowd(threads[kind], 2 * threads[kind]);
    for (int i = 0; i < ROUNDS; i++) {
      run_clients(crowd);
      expect_all_ends(crowd);
      duplex_service_join(&crowd->server.s);
    }
    close_crowd(crowd);
  }
}

/* The peer cuts off a call whose client goes at the same time. */
static void a_client_leaves_when_its_call_is_cut_off(void **state)
{
  (void)state;
  enum { TIMES = 50 };
  for (int i = 0; i < TIMES; i++) {
    struct crowd *crowd = open_crowd(2, 4);
    struct client *client = &crowd->clients[0];
    client_init(client, crowd, 0);
    begin_sharing(&client->rings);
    ask_for_calls(client, 1);
    expect_call(client);
    duplex_fixture_drain(&crowd->server, 0);
    close(client->rings.fd);
    ring_region_unmap(&client->rings.region);
    close_crowd(crowd);
  }
}

static void clients_leave_while_the_peer_stops(void **state)
{
  (void)state;
  for (int i = 0; i < ROUNDS; i++) {
    struct crowd *crowd = open_crowd(2, 4);
    run_clients(crowd);
    close_crowd(crowd);
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(each_end_is_noticed),
      cmocka_unit_test(clients_leave_while_the_peer_stops),
      cmocka_unit_test(a_client_leaves_when_its_call_is_cut_off),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
