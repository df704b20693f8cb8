/* Many clients, over WebSocket or shared memory, are called back at the same time. Some answer all calls and close,
 * others disconnect in between. The peer must detect the end of each client, in every state of the threads that call
 * it. */
#include "duplex_fixture.h"
#include "tests/unit/await.h"
#include "unit.h"

#include <stdio.h>

enum { CLIENTS = 48, ROUNDS = 4, CALLS = 20, EVENTS = 500, TEXT_MAX = 256 };

#ifndef RING_SIZE
#define RING_SIZE 0
#endif

struct client {
  struct crowd *crowd;
  int fd;
  unsigned number;
  pthread_t thread;
};

struct crowd {
  struct duplex_fixture server;
  pthread_barrier_t all_open;
  struct client clients[CLIENTS];
};

/* ---- what a client sends and receives ---- */

static void answer_as_oneself(struct client *client, unsigned call)
{
  char text[TEXT_MAX];
  snprintf(text, sizeof text, "of %u", client->number);
  duplex_answer(client->fd, call, text);
}

static void answer_next_calls(struct client *client, unsigned count)
{
  for (unsigned i = 0; i < count; i++)
    answer_as_oneself(client, duplex_expect_call(client->fd));
}

static void expect_own_answer(struct client *client, const char *before)
{
  char text[TEXT_MAX];
  snprintf(text, sizeof text, "%s of %u", before, client->number);
  duplex_expect(client->fd, text);
}

static void ask_for_calls(struct client *client, unsigned count)
{
  char text[TEXT_MAX];
  snprintf(text, sizeof text, "call %u", count);
  duplex_send(client->fd, text);
}

/* ---- the clients' ways to end ---- */

static void answer_all(struct client *client)
{
  ask_for_calls(client, CALLS);
  answer_next_calls(client, CALLS);
  expect_own_answer(client, "got");
}

static void nest_in_each(struct client *client)
{
  ask_for_calls(client, CALLS);
  for (unsigned i = 0; i < CALLS; i++) {
    unsigned call = duplex_expect_call(client->fd);
    duplex_nest(client->fd, call, "call 1");
    answer_as_oneself(client, duplex_expect_call(client->fd));
    expect_own_answer(client, "nested got");
    answer_as_oneself(client, call);
  }
  expect_own_answer(client, "got");
}

static void answer_threads(struct client *client)
{
  for (int i = 0; i < 2; i++) {
    unsigned call = duplex_spawn(client->fd);
    duplex_send(client->fd, "echo");
    duplex_expect(client->fd, "echo");
    answer_as_oneself(client, call);
  }
}

static void receive_events(struct client *client)
{
  char text[TEXT_MAX];
  unsigned number;
  duplex_send(client->fd, "spray 500");
  for (unsigned next = 0; next < EVENTS;) {
    assert_true(duplex_receive(client->fd, text));
    if (sscanf(text, "event %u", &number) == 1)
      assert_int_equal(number, next++);
    else
      assert_string_equal(text, "spraying");
  }
}

static void vanish_read_ahead(struct client *client)
{
  DUPLEX_SEND_TOGETHER(client->fd, "nap", "name", "echo", "nap", "name", "last");
}

/* Sends requests that are read ahead; the answers to "name" arrive before the answers to the requests. */
static void be_read_ahead(struct client *client)
{
  static const char *const in_order[] = {"nap", "echo", "nap", "last"};
  unsigned names = 0;
  unsigned others = 0;
  vanish_read_ahead(client);
  while (names + others < 6) {
    char text[TEXT_MAX];
    assert_true(duplex_receive(client->fd, text));
    if (strcmp(text, "named") == 0)
      names++;
    else
      assert_string_equal(text, in_order[others++]);
  }
}

static void vanish_unanswering(struct client *client)
{
  ask_for_calls(client, CALLS);
  answer_next_calls(client, CALLS / 2);
  duplex_expect_call(client->fd);
}

static void vanish_from_a_thread(struct client *client)
{
  duplex_spawn(client->fd);
}

static void vanish_from_a_nested_call(struct client *client)
{
  duplex_nest(client->fd, duplex_call(client->fd), "call 1");
  duplex_expect_call(client->fd);
}

static void vanish_with_the_last_answer(struct client *client)
{
  ask_for_calls(client, CALLS);
  answer_next_calls(client, CALLS);
}

static void vanish_with_a_request(struct client *client)
{
  ask_for_calls(client, CALLS);
}

static void vanish_among_events(struct client *client)
{
  char text[TEXT_MAX];
  duplex_send(client->fd, "spray 30000");
  duplex_send(client->fd, "events 30000");
  for (unsigned i = 0; i < EVENTS; i++)
    assert_true(duplex_receive(client->fd, text));
}

static void (*const behaviours[])(struct client *client) = {
    answer_all,
    nest_in_each,
    answer_threads,
    receive_events,
    be_read_ahead,
    vanish_read_ahead,
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
  const unsigned count = COUNT_OF(behaviours);
  client->fd = duplex_connect_open(&client->crowd->server);
  pthread_barrier_wait(&client->crowd->all_open);
  behaviours[client->number % count](client);
  duplex_leave(client->fd);
  return NULL;
}

static void client_init(struct client *client, struct crowd *crowd, unsigned number)
{
  memset(client, 0, sizeof *client);
  client->crowd = crowd;
  client->number = number;
}

static void begin_client(struct crowd *crowd, struct client *client, unsigned number)
{
  client_init(client, crowd, number);
  assert_int_equal(pthread_create(&client->thread, NULL, run_client, client), 0);
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

UNIT_TEST(each_end_is_detected)
{
  static const unsigned threads[] = {1, 2};
  for (int kind = 0; kind < 2; kind++) {
    struct crowd *crowd = open_crowd(threads[kind], 2 * threads[kind]);
    for (int i = 0; i < ROUNDS; i++) {
      run_clients(crowd);
      AWAIT(atomic_load(&crowd->server.s.stub.clients) == 0);
      duplex_service_join(&crowd->server.s);
    }
    close_crowd(crowd);
  }
}

/* The peer cuts off a call whose client disconnects at the same time. */
UNIT_TEST(a_client_leaves_when_its_call_is_cut_off)
{
  enum { TIMES = 50 };
  for (int i = 0; i < TIMES; i++) {
    struct crowd *crowd = open_crowd(2, 4);
    struct client *client = &crowd->clients[0];
    client_init(client, crowd, 0);
    client->fd = duplex_connect(&crowd->server);
    ask_for_calls(client, 1);
    duplex_expect_call(client->fd);
    duplex_fixture_drain(&crowd->server, 0);
    duplex_leave(client->fd);
    close_crowd(crowd);
  }
}

UNIT_TEST(clients_leave_while_the_peer_stops)
{
  for (int i = 0; i < ROUNDS; i++) {
    struct crowd *crowd = open_crowd(2, 4);
    run_clients(crowd);
    close_crowd(crowd);
  }
}

UNIT_MAIN
