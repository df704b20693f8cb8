/* Many clients at a time, with pauses: a side that sleeps must be notified. Both sides wait without timeouts, so that a
 * lost notification makes the test fail. */
#include "shm_fixture.h"
#include "tests/unit/await.h"

#include <pthread.h>
#include <sys/mman.h>
#include <time.h>

static int open_large(void **state)
{
  int failed = shm_fixture_open(state, (struct duplex_options){.ring_size = 64 * RING_SIZE_STEP});
  struct fixture *f = *state;
  f->server.pool.idle_ms = 30; /* read by the peer when the memory is mapped */
  begin_sharing(&f->c);
  return failed;
}

enum { CLIENTS = 12, CALLS = 400 };

struct other {
  struct ring_end client;
  unsigned seed;
  pthread_t thread;
};

static void connect_other(struct other *other, struct fixture *f)
{
  other->client.fd = duplex_connect_http(&f->server);
  begin_sharing(&other->client);
}

static void leave(struct other *other)
{
  close(other->client.fd);
  ring_region_unmap(&other->client.region);
}

/* Makes one call or several calls at a time. The pauses between them are shorter or longer than the time for
 * which the peer polls. */
static void *call_with_pauses(void *argument)
{
  struct other *other = argument;
  char text[64];
  for (unsigned i = 0; i < CALLS; i++) {
    unsigned in_flight = i % 37 == 0 ? 20 : 1 + i % 2;
    for (unsigned j = 0; j < in_flight; j++) {
      snprintf(text, sizeof text, "%u of %u", i * 100 + j, other->seed);
      send_message(&other->client, text_of(text));
    }
    for (unsigned j = 0; j < in_flight; j++) {
      snprintf(text, sizeof text, "%u of %u", i * 100 + j, other->seed);
      expect_answer(&other->client, text_of(text));
    }
    other->seed = other->seed * 1103515245 + 12345;
    if (other->seed >> 16 & 1)
      usleep((other->seed >> 17) % 150);
  }
  return NULL;
}

SHM_TEST(no_sleeping_side_is_forgotten, open_large)
{
  static struct other others[CLIENTS];
  for (unsigned i = 0; i < CLIENTS; i++) {
    others[i] = (struct other){.seed = i};
    connect_other(&others[i], f);
    assert_int_equal(pthread_create(&others[i].thread, NULL, call_with_pauses, &others[i]), 0);
  }
  for (unsigned i = 0; i < CLIENTS; i++) {
    pthread_join(others[i].thread, NULL);
    leave(&others[i]);
  }
}

/* More clients than a member can poll call one after the other. */
SHM_TEST(more_clients_than_are_polled_call_in_turns, open_large)
{
  enum { MANY = 80, ROUNDS = 15 };
  static struct other others[MANY];
  for (unsigned i = 0; i < MANY; i++) {
    others[i] = (struct other){.seed = i};
    connect_other(&others[i], f);
  }
  for (unsigned round = 0; round < ROUNDS; round++) {
    for (unsigned i = 0; i < MANY; i++) {
      expect_echo(&others[i].client, TEXT("one"));
    }
    if (round % 5 == 4)
      usleep(10000);
  }
  for (unsigned i = 0; i < MANY; i++)
    leave(&others[i]);
}

/* While the request of one client is inside Java, another thread serves the clients that the member has polled. */
SHM_TEST(a_slow_call_delays_no_other_client, open_large)
{
  struct other slow = {.seed = 0};
  connect_other(&slow, f);
  for (int i = 0; i < 100; i++) {
    expect_echo(&f->c, TEXT("one"));
    expect_echo(&slow.client, TEXT("two"));
  }
  send_message(&slow.client, TEXT("block"));
  for (int i = 0; i < 100; i++) {
    expect_echo(&f->c, TEXT("one"));
  }
  stub_wait_inside(&f->server.s.stub, 1);
  stub_release(&f->server.s.stub);
  expect_answer(&slow.client, TEXT("block"));
  leave(&slow);
}

/* While further requests are waiting, an answer is not published, unless the next request remains inside
 * Java. */
SHM_TEST(an_answer_does_not_wait_for_the_next_one, open_large)
{
  struct buffer frames = {0};
  for (int i = 0; i < 3; i++)
    ring_append_frame(&frames, RING_JSON, TEXT("first"));
  ring_append_frame(&frames, RING_JSON, TEXT("block"));
  assert_int_equal(ring_write(&f->c.out, frames.data, frames.len), frames.len);
  ring_end_publish(&f->c);
  for (int i = 0; i < 3; i++)
    expect_answer(&f->c, TEXT("first"));
  stub_wait_inside(&f->server.s.stub, 1);
  stub_release(&f->server.s.stub);
  expect_answer(&f->c, TEXT("block"));
  buffer_fini(&frames);
}

SHM_TEST(a_flood_delays_no_other_client, open_large)
{
  struct other busy = {.seed = 0};
  connect_other(&busy, f);
  struct buffer frames = {0};
  for (int i = 0; i < 100; i++)
    ring_append_frame(&frames, RING_JSON, TEXT("more"));
  for (int i = 0; i < 100; i++) {
    send_frames(&busy.client, &frames);
    expect_echo(&f->c, TEXT("one"));
    for (int j = 0; j < 100; j++)
      expect_answer(&busy.client, TEXT("more"));
  }
  buffer_fini(&frames);
  leave(&busy);
}

static size_t count_pages(const struct fixture *f)
{
  enum { PAGES = 1 + 2 * 64 };
  unsigned char present[PAGES];
  assert_int_equal(ring_region_size(f->server.pool.ring_size), PAGES * 4096);
  assert_int_equal(mincore(f->c.region.control, PAGES * 4096, present), 0);
  size_t count = 0;
  for (size_t i = 0; i < PAGES; i++)
    count += present[i] & 1;
  return count;
}

SHM_TEST(an_idle_connection_releases_memory, open_large)
{
  static char bytes[200000];
  memset(bytes, 'x', sizeof bytes);
  for (int round = 0; round < 3; round++) {
    expect_echo(&f->c, (struct text){bytes, sizeof bytes});
    AWAIT(ring_writer_release_pages(&f->c.out) && count_pages(f) <= 8);
    expect_echo(&f->c, TEXT("one"));
  }
}

/* The idle time passes before the client reads the answer. */
SHM_TEST(an_idle_connection_of_a_client_that_reads_late_releases_memory, open_large)
{
  static char bytes[200000];
  memset(bytes, 'x', sizeof bytes);
  send_message(&f->c, (struct text){bytes, sizeof bytes});
  const struct timespec many_rests = {.tv_nsec = 400 * 1000 * 1000};
  nanosleep(&many_rests, NULL);
  expect_answer(&f->c, (struct text){bytes, sizeof bytes});
  AWAIT(ring_writer_release_pages(&f->c.out) && count_pages(f) <= 8);
}

static int open_large_impatient(void **state)
{
  int failed = shm_fixture_open(
      state, (struct duplex_options){.ring_size = 64 * RING_SIZE_STEP, .body_timeout_ms = 1000});
  struct fixture *f = *state;
  f->server.pool.idle_ms = 30;
  begin_sharing(&f->c);
  return failed;
}

/* A check for memory to release must not count as progress of the client. */
SHM_TEST(a_client_that_never_reads_large_answers_is_dropped, open_large_impatient)
{
  static char bytes[200000];
  memset(bytes, 'x', sizeof bytes);
  send_message(&f->c, (struct text){bytes, sizeof bytes});
  send_message(&f->c, (struct text){bytes, sizeof bytes});
  expect_dropped(f);
}

UNIT_MAIN
