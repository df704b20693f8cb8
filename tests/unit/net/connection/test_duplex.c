/* Connections with a duplex: reading while a request is inside the service, and sending by any thread. */
#include "duplex_fixture.h"
#include "tests/unit/await.h"
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

/* Longer than any thread waits for a processor, so that the watcher does not refuse a message that a member is about to
 * serve. */
enum { BUSY_MS = 2000 };

/* The rules are the same for all connections, so each test runs over WebSocket and over shared memory. Only
 * the tests of frames, and of the bound on bytes that are read ahead, run over WebSocket alone. */
#ifndef RING_SIZE
#define RING_SIZE 0
#endif

static int open_fixture(void **state, struct duplex_options options)
{
  struct duplex_fixture *f = test_malloc(sizeof *f);
  options.ring_size = RING_SIZE;
  duplex_fixture_open(f, options);
  *state = f;
  return 0;
}

static int close_fixture(void **state)
{
  duplex_fixture_close(*state);
  test_free(*state);
  return 0;
}

/* Closes the fixture and opens a new fixture, for tests that need several. */
static void reopen(struct duplex_fixture *f)
{
  const struct duplex_options options = f->options;
  duplex_fixture_close(f);
  duplex_fixture_open(f, options);
}

#define OPEN(name, ...)                                                                                      \
  static int name(void **state)                                                                              \
  {                                                                                                          \
    return open_fixture(state, (struct duplex_options){__VA_ARGS__});                                        \
  }
OPEN(one_thread, .threads = 1, .threads_max = 1)
OPEN(two_threads, .threads = 2, .threads_max = 2)
OPEN(some_threads, .threads = 2, .threads_max = 8)
OPEN(soon_busy, .threads = 1, .threads_max = 1, .busy_timeout_ms = BUSY_MS)
OPEN(little_room, .threads = 2, .threads_max = 4, .send_buffer_max = 16 * 1024)
OPEN(little_patience, .threads = 2, .threads_max = 4, .send_buffer_max = 16 * 1024, .body_timeout_ms = 50)

/* f: the fixture. Clients that are still connected at the end are disconnected. */
#define DUPLEX_TEST(name, open) UNIT_TEST_OF(name, struct duplex_fixture *f, open, close_fixture)

static void wait_until(const _Atomic int *value, int wanted)
{
  AWAIT(atomic_load(value) == wanted);
}

/* Begins a call of the serving thread (kind 0), or of another thread (kind 1). */
static unsigned begin_call(int fd, int kind)
{
  return kind == 1 ? duplex_spawn(fd) : duplex_call(fd);
}

/* --- a call --- */

/* The answer is in the connection's buffers already, so no event of the socket announces it. */
DUPLEX_TEST(an_answer_that_came_with_the_request_is_found, one_thread)
{
  int fd = duplex_connect_open(f);
  char answer[40];
  snprintf(answer, sizeof answer, "#%u same", duplex_spawn(fd));
  DUPLEX_SEND_TOGETHER(fd, "first", "join", "second", answer, "third");
  DUPLEX_EXPECT(fd, "first", "joined same", "second", "third");
}
UNIT_TEST_ALSO(an_answer_that_came_with_the_request_is_found, two_threads, close_fixture)

/* The only member is inside the service for another connection. The request that precedes the answer waits
 * for this member. */
DUPLEX_TEST(an_answer_after_a_request_without_a_member_is_found, one_thread)
{
  int fd = duplex_connect_open(f);
  int other = duplex_connect(f);
  unsigned number = duplex_spawn(fd);
  duplex_send(other, "join");
  wait_until(&f->s.inside_join, 1);
  duplex_send(fd, "echo");
  usleep(10000);
  duplex_answer(fd, number, "behind");
  duplex_expect(other, "joined behind");
  duplex_expect(fd, "echo");
}

DUPLEX_TEST(requests_after_a_waiting_request_keep_their_order, some_threads)
{
  int fd = duplex_connect(f);
  unsigned number = duplex_call(fd);
  char text[20];
  for (int i = 0; i < 200; i++) {
    snprintf(text, sizeof text, "echo %d", i);
    duplex_send(fd, text);
  }
  duplex_answer(fd, number, "late");
  duplex_expect(fd, "got late");
  for (int i = 0; i < 200; i++) {
    snprintf(text, sizeof text, "echo %d", i);
    duplex_expect(fd, text);
  }
}

DUPLEX_TEST(requests_that_are_too_many_are_refused_at_once, some_threads)
{
  int fd = duplex_connect(f);
  unsigned number = duplex_call(fd);
  for (int i = 0; i < 1005; i++)
    duplex_send(fd, "echo");
  char text[256];
  for (int i = 0; i < 5; i++) {
    assert_true(duplex_receive(fd, text));
    assert_memory_equal(text, "busy: 1000 requests", 19);
  }
  assert_int_equal(atomic_load(&f->s.unread), 5);
  duplex_answer(fd, number, "reached");
  duplex_expect(fd, "got reached");
  for (int i = 0; i < 1000; i++)
    duplex_expect(fd, "echo");
}

/* The number of connections that are marked as in call. Called while no request is being served. */
static unsigned count_calls(struct duplex_fixture *f)
{
  enum { PLACES = 4 };
  unsigned count = 0;
  for (size_t i = 0; i < PLACES; i++)
    count += in_call_is_inside(&connection_table_place(&f->table, i)->in_call);
  return count;
}

/* First the watcher refuses the message, because the only member is inside the service for another client.
 * Then a member refuses a message. */
DUPLEX_TEST(refused_messages_are_reported_to_the_service, soon_busy)
{
  int fd = duplex_connect_open(f);
  int other = duplex_connect(f);
  char text[256];
  unsigned number = duplex_spawn(fd);
  duplex_send(fd, "join");
  wait_until(&f->s.inside_join, 1);
  duplex_send(other, "echo");
  assert_true(duplex_receive(other, text));
  assert_memory_equal(text, "busy", 4);
  assert_int_equal(atomic_load(&f->s.unread), 1);
  duplex_answer(fd, number, "x");
  duplex_expect(fd, "joined x");
  assert_int_equal(count_calls(f), 0);
  duplex_answer(other, duplex_call(other), "y");
  duplex_expect(other, "got y");
  int last = duplex_connect(f);
  crew_refuse_all(f->crew);
  duplex_send(last, "echo");
  duplex_expect(last, CREW_SHUTTING_DOWN);
  assert_int_equal(atomic_load(&f->s.unread), 2);
}

DUPLEX_TEST(a_nested_request_runs_on_the_thread_that_waits, one_thread)
{
  int fd = duplex_connect(f);
  unsigned numbers[20];
  duplex_send(fd, "call 1");
  for (int depth = 0; depth < 20; depth++) {
    numbers[depth] = duplex_expect_call(fd);
    duplex_nest(fd, numbers[depth], "echo");
    duplex_expect(fd, "nested echo");
    if (depth < 19)
      duplex_nest(fd, numbers[depth], "call 1");
  }
  for (int depth = 19; depth >= 0; depth--) {
    duplex_answer(fd, numbers[depth], "up");
    duplex_expect(fd, depth > 0 ? "nested got up" : "got up");
  }
}

/* No thread waits for the nested request, so it must not wait for the request that is inside the service. */
DUPLEX_TEST(a_nested_request_without_a_call_is_answered_at_once, one_thread)
{
  int fd = duplex_connect(f);
  unsigned number = duplex_call(fd);
  duplex_send(fd, "echo behind");
  duplex_ask(fd, "@999 echo", "no call 999");
  duplex_answer(fd, number, "up");
  DUPLEX_EXPECT(fd, "got up", "echo behind");
  duplex_ask(fd, "@999 echo", "no call 999");
}

/* The nested request waits for a foreign thread whose call is open: the answer to that call must be read. */
DUPLEX_TEST(other_calls_are_answered_while_a_nested_request_runs, one_thread)
{
  int fd = duplex_connect_open(f);
  unsigned outer = duplex_call(fd);
  duplex_nest(fd, outer, "spawn");
  char got[256];
  unsigned inner = 0;
  for (int i = 0; i < 2; i++) { /* in any order */
    assert_true(duplex_receive(fd, got));
    if (sscanf(got, "call %u", &inner) != 1)
      assert_string_equal(got, "nested spawned");
  }
  duplex_nest(fd, outer, "join");
  wait_until(&f->s.inside_join, 1);
  duplex_answer(fd, inner, "inner");
  duplex_expect(fd, "nested joined inner");
  duplex_answer(fd, outer, "outer");
  duplex_expect(fd, "got outer");
}
UNIT_TEST_ALSO(other_calls_are_answered_while_a_nested_request_runs, two_threads, close_fixture)

/* --- clients that break the protocol --- */

DUPLEX_TEST(a_late_a_second_and_a_wrong_answer_are_dropped, some_threads)
{
  int fd = duplex_connect_open(f);
  duplex_send(fd, "call briefly");
  unsigned number = duplex_expect_call(fd);
  duplex_expect(fd, "timeout");
  duplex_answer(fd, number, "late");
  duplex_answer(fd, number + 1000, "wrong");
  number = duplex_call(fd);
  duplex_answer(fd, number, "right");
  duplex_answer(fd, number, "twice");
  duplex_expect(fd, "got right");
  duplex_ask(fd, "echo", "echo");
  assert_int_equal(atomic_load(&f->s.dropped), 3);
}

DUPLEX_TEST(a_client_that_vanishes_ends_its_calls, some_threads)
{
  for (int i = 0; i < 40; i++) {
    int fd = duplex_connect_open(f);
    begin_call(fd, i % 2);
    if (i % 4 == 3)
      duplex_send(fd, "join"); /* the serving thread waits for the foreign thread */
    if (i % 8 < 4)
      shutdown(fd, SHUT_WR);
    else
      duplex_leave(fd);
    wait_until(&f->s.gone, i + 1);
    if (i % 8 < 4) {
      duplex_expect_end(fd);
      duplex_leave(fd);
    }
    wait_until(&f->s.stub.clients, 0);
  }
}

/* The answers to messages before the close frame are sent before its echo. */
DUPLEX_TEST(a_close_frame_ends_calls_and_follows_the_answers, some_threads)
{
  if (RING_SIZE > 0)
    skip();
  static const unsigned char close_frame[] = {0x88, 0x82, 0, 0, 0, 0, 0x03, 0xE8};
  int fd = duplex_connect_open(f);
  duplex_call(fd);
  duplex_send(fd, "echo");
  assert_int_equal(send(fd, close_frame, sizeof close_frame, 0), (ssize_t)sizeof close_frame);
  DUPLEX_EXPECT(fd, "gone", "echo");
  char text[256];
  assert_false(duplex_receive(fd, text));
}

DUPLEX_TEST(a_malformed_frame_ends_calls, some_threads)
{
  int fd = duplex_connect_open(f);
  duplex_call(fd);
  duplex_send_nonsense(fd);
  duplex_expect(fd, "gone");
  duplex_expect_end(fd);
}

DUPLEX_TEST(a_ping_is_answered_during_a_request, some_threads)
{
  if (RING_SIZE > 0)
    skip();
  static const unsigned char ping[] = {0x89, 0x80, 0, 0, 0, 0};
  int fd = duplex_connect_open(f);
  unsigned number = duplex_call(fd);
  unsigned char pong[2];
  assert_int_equal(send(fd, ping, sizeof ping, 0), (ssize_t)sizeof ping);
  assert_int_equal(recv(fd, pong, sizeof pong, MSG_WAITALL), 2);
  assert_int_equal(pong[0], 0x8A);
  duplex_answer(fd, number, "pong");
  duplex_expect(fd, "got pong");
}

/* --- reading ahead, during a long request --- */

static int begin_block(struct duplex_fixture *f, const char *text)
{
  int fd = duplex_connect(f);
  duplex_send(fd, text);
  stub_wait_inside(&f->s.stub, 1);
  return fd;
}

static size_t count_input(struct duplex_fixture *f)
{
  return atomic_load(&f->input.total);
}

/* Another member reads the message, or the watcher if there is no other member. This holds for a connection
 * that has a duplex already, too. */
DUPLEX_TEST(a_name_is_answered_during_a_long_request, one_thread)
{
  int fd = begin_block(f, "block");
  duplex_ask(fd, "name", "named");
  DUPLEX_SEND_TOGETHER(fd, "first", "name", "second", "name", "open");
  DUPLEX_EXPECT(fd, "named", "named");
  stub_release(&f->s.stub);
  DUPLEX_EXPECT(fd, "block", "first", "second", "opened");
  duplex_answer(fd, duplex_call(fd), "x");
  duplex_expect(fd, "got x");
}
UNIT_TEST_ALSO(a_name_is_answered_during_a_long_request, two_threads, close_fixture)

/* Input that was read with the request causes no event. */
DUPLEX_TEST(a_name_in_the_same_write_as_the_request_is_answered, one_thread)
{
  int fd = duplex_connect(f);
  DUPLEX_SEND_TOGETHER(fd, "zero", "block", "first", "name");
  DUPLEX_EXPECT(fd, "zero", "named");
  stub_release(&f->s.stub);
  DUPLEX_EXPECT(fd, "block", "first");
}

enum { TOGETHER = 20 };

/* Sends in one write, so that an unread socket accepts many messages. */
static void send_numbers(int fd, int first)
{
  char texts[TOGETHER][100];
  const char *together[TOGETHER + 1] = {NULL};
  for (int i = 0; i < TOGETHER; i++) {
    snprintf(texts[i], sizeof texts[i], "%d %080d", first + i, 0);
    together[i] = texts[i];
  }
  duplex_send_together(fd, together);
}

static void expect_numbers(int fd, int count)
{
  for (int i = 0; i < count; i++) {
    char text[256];
    assert_true(duplex_receive(fd, text));
    assert_int_equal(strtol(text, NULL, 10), i);
  }
}

/* The serving thread waits inside the service for another client. This thread itself reads ahead. */
DUPLEX_TEST(a_name_is_answered_while_the_thread_waits_for_another_client, some_threads)
{
  if (RING_SIZE > 0)
    skip();
  enum { MANY = 1000 }; /* more requests than are read ahead */
  for (int reads = 0; reads < 2; reads++) {
    int fd = duplex_connect(f);
    if (reads) {
      atomic_store(&f->s.may_leave, false);
      DUPLEX_SEND_TOGETHER(fd, "stay 0", "wait", "name");
      duplex_expect(fd, "named");
      atomic_store(&f->s.may_leave, true);
      duplex_expect(fd, "left");
    } else {
      duplex_send(fd, "wait");
    }
    stub_wait_inside(&f->s.stub, 1);
    for (int i = 0; i < 20; i++) {
      duplex_ask(fd, "name", "named");
    }
    for (int i = 0; i < MANY; i += TOGETHER)
      send_numbers(fd, i);
    AWAIT(count_input(f) >= 60 * 1024);
    clock_t before = clock();
    usleep(200000);
    assert_true((double)(clock() - before) / CLOCKS_PER_SEC < 0.15); /* no thread polls in a loop */
    stub_release(&f->s.stub);
    duplex_expect(fd, "wait");
    expect_numbers(fd, MANY);
    reopen(f);
  }
}

/* The answer to the call is in the socket, and input that the thread has not read is before the answer. */
DUPLEX_TEST(a_thread_that_has_stopped_reading_ahead_reads_for_calls_of_other_threads, some_threads)
{
  enum { MANY = 1000 };
  int fd = duplex_connect(f);
  duplex_ask(fd, "open", "opened");
  duplex_send(fd, "wait and call");
  for (int i = 0; i < MANY; i += TOGETHER)
    send_numbers(fd, i);
  DUPLEX_EXPECT(fd, "call", "reads");
  expect_numbers(fd, MANY);
}

/* A client of which input was read ahead gives its first callback. */
DUPLEX_TEST(a_call_opens_while_input_is_read_ahead, one_thread)
{
  int fd = duplex_connect(f);
  atomic_store(&f->s.may_leave, false);
  duplex_send(fd, "leave and call");
  duplex_ask(fd, "name", "named");
  duplex_send(fd, "echo");
  atomic_store(&f->s.may_leave, true);
  unsigned number = duplex_expect_call(fd);
  duplex_nest(fd, number, "deep");
  duplex_expect(fd, "nested deep");
  duplex_ask(fd, "name", "named");
  duplex_answer(fd, number, "it");
  DUPLEX_EXPECT(fd, "got it", "echo");
}
UNIT_TEST_ALSO(a_call_opens_while_input_is_read_ahead, two_threads, close_fixture)

enum { FLOOD = 4000 };

/* No message is refused or lost, because TCP, or the ring, stops the client. */
static void *send_flood(void *argument)
{
  const int *fd = argument;
  for (int i = 0; i < FLOOD; i++) {
    char text[100];
    snprintf(text, sizeof text, "%d %080d", i, 0);
    duplex_send(*fd, text);
  }
  return NULL;
}

DUPLEX_TEST(a_client_that_sends_too_much_is_held_back, some_threads)
{
  if (RING_SIZE > 0)
    skip();
  int fd = begin_block(f, "block");
  pthread_t sender;
  assert_int_equal(pthread_create(&sender, NULL, send_flood, &fd), 0);
  AWAIT(count_input(f) >= 60 * 1024);
  usleep(100000);
  assert_true(count_input(f) < 256 * 1024);
  stub_release(&f->s.stub);
  duplex_expect(fd, "block");
  expect_numbers(fd, FLOOD);
  pthread_join(sender, NULL);
  assert_int_equal(atomic_load(&f->s.stub.refused), 0);
}

/* An incomplete frame is read once; a close frame and the end of the input are handled after the request. */
DUPLEX_TEST(the_end_of_the_input_waits_for_the_request, some_threads)
{
  if (RING_SIZE > 0)
    skip();
  static const unsigned char close_frame[] = {0x88, 0x82, 0, 0, 0, 0, 0x03, 0xE8};
  static const unsigned char half_frame[] = {0x81, 0x85, 0, 0, 0, 0, 'h', 'a'};
  for (int i = 0; i < 3; i++) {
    int fd = begin_block(f, "block");
    DUPLEX_SEND_TOGETHER(fd, "first", "name");
    if (i == 0)
      assert_int_equal(send(fd, close_frame, sizeof close_frame, 0), (ssize_t)sizeof close_frame);
    else if (i == 1)
      assert_int_equal(send(fd, half_frame, sizeof half_frame, 0), (ssize_t)sizeof half_frame);
    if (i > 0)
      shutdown(fd, SHUT_WR);
    duplex_expect(fd, "named");
    usleep(50000);
    stub_release(&f->s.stub);
    DUPLEX_EXPECT(fd, "block", "first");
    duplex_expect_end(fd);
    reopen(f);
  }
}

/* The descriptor, and the rings if there are any, are closed at once, while the request still runs. */
DUPLEX_TEST(a_client_that_leaves_while_it_is_read_ahead_is_released, some_threads)
{
  int fd = begin_block(f, "block");
  duplex_ask(fd, "name", "named");
  duplex_leave(fd);
  AWAIT(atomic_load(&f->pool.total) == 0);
  stub_release(&f->s.stub);
  wait_until(&f->s.stub.clients, 0);
}

DUPLEX_TEST(a_long_request_ends_with_the_peer, some_threads)
{
  int fd = begin_block(f, "block");
  DUPLEX_SEND_TOGETHER(fd, "first", "name");
  duplex_expect(fd, "named");
  duplex_fixture_drain(f, 0);
  duplex_expect(fd, "the peer is shutting down");
  duplex_expect_end(fd);
}

/* --- the end of the peer --- */

DUPLEX_TEST(an_open_call_has_the_grace_time, some_threads)
{
  for (int kind = 0; kind < 2; kind++) {
    int fd = duplex_connect_open(f);
    unsigned number = begin_call(fd, kind);
    duplex_fixture_drain(f, 60000);
    usleep(30000);
    duplex_answer(fd, number, "in time");
    if (kind == 0)
      duplex_expect(fd, "got in time");
    duplex_expect_end(fd);
    assert_int_equal(atomic_load(&f->s.gone), 0);
    reopen(f);
  }
}

DUPLEX_TEST(calls_end_with_the_grace_time, some_threads)
{
  for (int kind = 0; kind < 2; kind++) {
    int fd = duplex_connect_open(f);
    begin_call(fd, kind);
    duplex_fixture_drain(f, 20);
    if (kind == 0)
      duplex_expect(fd, CREW_SHUTTING_DOWN);
    duplex_expect_end(fd);
    wait_until(&f->s.gone, 1);
    duplex_leave(fd);
    /* waits for the close, because a seized connection counts as drained before it is closed */
    wait_until(&f->s.stub.clients, 0);
    reopen(f);
  }
}

/* --- sending --- */

enum { SPRAYS = 4, SPRAYED = 1500 };

/* Events of one thread keep their order; events of other threads may be between them. */
static void expect_events(int fd, unsigned sprays, unsigned each, unsigned echoes)
{
  unsigned events = 0;
  unsigned echoed = 0;
  unsigned *seen = calloc(each, sizeof *seen);
  assert_non_null(seen);
  while (events < sprays * each || echoed < echoes) {
    char text[256];
    unsigned number;
    assert_true(duplex_receive(fd, text));
    if (sscanf(text, "event %u", &number) == 1) {
      assert_true(number < each);
      assert_true(number == 0 || seen[number - 1] > seen[number]);
      seen[number]++;
      events++;
    } else {
      echoed++;
    }
  }
  for (unsigned i = 0; i < each; i++)
    assert_int_equal(seen[i], sprays);
  free(seen);
}

DUPLEX_TEST(any_thread_may_send_while_turns_run, some_threads)
{
  int fd = duplex_connect_open(f);
  char text[40];
  snprintf(text, sizeof text, "spray %d", SPRAYED);
  for (int i = 0; i < SPRAYS; i++)
    duplex_send(fd, text);
  for (int i = 0; i < 300; i++)
    duplex_send(fd, "echo");
  expect_events(fd, SPRAYS, SPRAYED, SPRAYS + 300);
}

/* Expects these events as the next messages. */
static void expect_numbered_events(int fd, int count)
{
  char text[40];
  for (int event = 0; event < count; event++) {
    snprintf(text, sizeof text, "event %d", event);
    duplex_expect(fd, text);
  }
}

/* The first events are sent at once, later events together. */
DUPLEX_TEST(events_come_before_the_answer_to_their_request, one_thread)
{
  int fd = duplex_connect_open(f);
  duplex_send(fd, "events 5000");
  expect_numbered_events(fd, 5000);
  duplex_expect(fd, "sent");
}

/* The tick does nothing. A member sends the events, or the watcher if every member is inside Java. */
DUPLEX_TEST(events_leave_while_their_request_stays, one_thread)
{
  int fd = duplex_connect_open(f);
  atomic_store(&f->has_no_ticks, true);
  duplex_send(fd, "stay 50");
  expect_numbered_events(fd, 50);
  atomic_store(&f->s.may_leave, true);
  duplex_expect(fd, "left");
  atomic_store(&f->has_no_ticks, false);
}
UNIT_TEST_ALSO(events_leave_while_their_request_stays, some_threads, close_fixture)

/* The call has sent the events before it; the events after the call need another member. */
DUPLEX_TEST(events_leave_after_a_call_while_their_request_stays, one_thread)
{
  enum { ROUNDS = 20 };
  int fd = duplex_connect_open(f);
  atomic_store(&f->has_no_ticks, true);
  for (int round = 0; round < ROUNDS; round++) {
    atomic_store(&f->s.may_leave, false);
    duplex_send(fd, "call and stay 50");
    expect_numbered_events(fd, 2);
    duplex_answer(fd, duplex_expect_call(fd), "yes");
    expect_numbered_events(fd, 50);
    atomic_store(&f->s.may_leave, true);
    duplex_expect(fd, "left");
  }
  atomic_store(&f->has_no_ticks, false);
}
UNIT_TEST_ALSO(events_leave_after_a_call_while_their_request_stays, some_threads, close_fixture)

/* Each call sends the events before it. For this reason each thread that was asked to send events is woken in
 * vain. */
DUPLEX_TEST(events_between_calls_seldom_ask_for_a_thread, some_threads)
{
  enum { CALLS = 300 };
  int fd = duplex_connect_open(f);
  char text[256];
  unsigned asked;
  atomic_store(&f->has_no_ticks, true);
  duplex_send(fd, "mix 300");
  for (int i = 0; i < CALLS; i++) {
    expect_numbered_events(fd, 2);
    duplex_answer(fd, duplex_expect_call(fd), "yes");
  }
  assert_true(duplex_receive(fd, text));
  assert_int_equal(sscanf(text, "asked %u", &asked), 1);
  assert_in_range(asked, 0, CALLS / 2);
  atomic_store(&f->has_no_ticks, false);
}

/* The client reads late. Members and foreign threads wait for room, and no message is lost. */
DUPLEX_TEST(a_sender_waits_for_room, little_room)
{
  static const char *const senders[] = {"events 40000", "spray 40000"};
  for (int kind = 0; kind < 2; kind++) {
    int fd = duplex_connect_open(f);
    duplex_send(fd, senders[kind]);
    usleep(30000);
    expect_events(fd, 1, 40000, 1);
    duplex_leave(fd);
  }
}

/* The end of the connection ends the wait for room. */
DUPLEX_TEST(a_client_that_never_reads_is_closed, little_patience)
{
  static const char *const senders[] = {"events 1000000", "spray 1000000"};
  for (int kind = 0; kind < 2; kind++) {
    int fd = duplex_connect_open(f);
    duplex_send(fd, senders[kind]);
    wait_until(&f->s.stub.clients, 0);
    duplex_leave(fd);
  }
}

static bool is_answered(struct duplex_fixture *f, unsigned number)
{
  pthread_mutex_lock(&f->s.lock);
  bool is_free = f->s.calls[number].state == CALL_FREE;
  pthread_mutex_unlock(&f->s.lock);
  return is_free;
}

/* Requests of a client that does not read its answers are not read, but its answer to a call is. */
DUPLEX_TEST(an_answer_is_read_although_the_client_does_not_read, little_room)
{
  int fd = duplex_connect_open(f);
  unsigned number = duplex_spawn(fd);
  duplex_send(fd, "spray 40000");
  usleep(30000);
  duplex_send(fd, "echo");
  duplex_answer(fd, number, "unread");
  AWAIT(is_answered(f, number));
  expect_events(fd, 1, 40000, 2);
}

UNIT_MAIN
