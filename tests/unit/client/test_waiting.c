/* Many threads on one connection. */
#include "client_fixture.h"
#include "tests/unit/await.h"

#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

enum { THREADS = 100, CALLS = 100 };

/* ---- each gets its own answer ---- */

enum { HELD = 5 };

/* Answers with the requests' numbers, in another order than the requests. HELD answers are always
 * outstanding. */
static void answer_shuffled(struct fake_connection *connection, void *context)
{
  (void)context;
  uint64_t held[HELD] = {0};
  struct text message;
  for (unsigned i = 0; fake_read(connection, &message); i++) {
    uint64_t id = fake_id(message);
    const char *number = memmem(message.data, message.len, "\"number", 7);
    if (number != NULL) {
      fake_answer_int(connection, id, atoi(number + 7));
      continue;
    }
    uint64_t *place = &held[i % HELD];
    if (*place != 0)
      fake_answer_int(connection, *place, 8);
    *place = id;
  }
}

struct crowd {
  struct jp_client *client;
  atomic_uint calls;
  atomic_int numbers;
};

static void *call_with_number(void *context)
{
  struct crowd *crowd = context;
  int number = atomic_fetch_add(&crowd->numbers, 1);
  char member[32];
  snprintf(member, sizeof member, "number%d", number);
  const struct jp_request request = jp_build_class_method_call("T", member, JP_NO_ARGUMENTS);
  for (int i = 0; i < CALLS; i++) {
    struct jp_answer *answer;
    int64_t value = -1;
    if (jp_client_call(crowd->client, &request, 30000, &answer, NULL) == JP_CLIENT_OK &&
        jp_answer_integer(answer, &value) && value == number)
      atomic_fetch_add(&crowd->calls, 1);
    jp_answer_free(answer);
  }
  return NULL;
}

/* The answers arrive too late or never: these threads time out. */
static void *time_out(void *context)
{
  struct crowd *crowd = context;
  for (int i = 0; i < CALLS; i++)
    (void)!fixture_call(crowd->client, i % 3, NULL);
  return NULL;
}

static void ignore(void *context, enum jp_client_status status, struct jp_answer *answer)
{
  (void)status;
  jp_answer_free(answer);
  atomic_fetch_add((atomic_uint *)context, 1);
}

static void *run_loop(void *context)
{
  struct crowd *crowd = context;
  atomic_uint done = 0;
  unsigned sent = 0;
  const struct jp_request request = jp_build_class_method_call("T", "number0", JP_NO_ARGUMENTS);
  const int64_t since_ms = clock_now_ms();
  while (atomic_load(&done) < CALLS) {
    if (sent < CALLS && jp_client_send(crowd->client, &request, 30000, ignore, &done, NULL) == JP_CLIENT_OK)
      sent++;
    struct pollfd polled = {.fd = jp_client_descriptor(crowd->client), .events = POLLIN};
    poll(&polled, 1, sent < CALLS ? 0 : 1000);
    if (jp_client_process(crowd->client, NULL) != JP_CLIENT_OK)
      return NULL;
    AWAIT_CHECK(since_ms, "the answers");
  }
  atomic_fetch_add(&crowd->calls, CALLS);
  return NULL;
}

UNIT_TEST(test_a_crowd)
{
  struct crowd crowd = {.client = fixture_open(fake_peer_start(answer_shuffled, NULL), NULL)};
  pthread_t threads[THREADS];
  unsigned callers = 0;
  for (int i = 0; i < THREADS; i++) {
    void *(*run)(void *) = i == 50 ? run_loop : i % 10 == 0 ? time_out : call_with_number;
    callers += run != time_out;
    assert_int_equal(pthread_create(&threads[i], NULL, run, &crowd), 0);
  }
  for (int i = 0; i < THREADS; i++)
    pthread_join(threads[i], NULL);
  assert_int_equal(crowd.calls, callers * CALLS);
  const struct jp_request last = jp_build_class_method_call("T", "number8", JP_NO_ARGUMENTS);
  struct jp_answer *answer; /* arrives after all late answers */
  assert_int_equal(jp_client_call(crowd.client, &last, 30000, &answer, NULL), JP_CLIENT_OK);
  jp_answer_free(answer);
  assert_in_range(jp_client_pending(crowd.client), 0, HELD);
  fixture_end(crowd.client);
}

/* ---- the end of the connection while threads wait ---- */

static void swallow(struct fake_connection *connection, void *context)
{
  struct text message;
  for (unsigned left = *(unsigned *)context; left > 0 && fake_read(connection, &message); left--)
    ;
}

static void *wait_for_ever(void *context)
{
  struct crowd *crowd = context;
  atomic_fetch_add(&crowd->numbers, 1);
  if (fixture_call(crowd->client, JP_FOREVER, NULL) == JP_CLIENT_CLOSED)
    atomic_fetch_add(&crowd->calls, 1);
  return NULL;
}

static void check_all_end(unsigned requests, bool ends_first)
{
  struct crowd crowd = {.client = fixture_open(fake_peer_start(swallow, &requests), NULL)};
  pthread_t threads[THREADS];
  for (int i = 0; i < THREADS; i++)
    assert_int_equal(pthread_create(&threads[i], NULL, wait_for_ever, &crowd), 0);
  AWAIT(requests <= THREADS || jp_client_pending(crowd.client) >= THREADS);
  if (ends_first)
    jp_client_end(crowd.client);
  else if (requests > THREADS)
    jp_client_close(crowd.client);
  for (int i = 0; i < THREADS; i++)
    pthread_join(threads[i], NULL);
  assert_int_equal(crowd.calls, THREADS);
  if (ends_first)
    fixture_assert_fails(crowd.client, JP_CLIENT_CLOSED, "closed");
  if (ends_first || requests <= THREADS)
    jp_client_close(crowd.client);
  fake_peer_stop(fixture_peer);
}

UNIT_TEST(test_close_while_they_wait)
{
  check_all_end(THREADS + 1, false);
}

UNIT_TEST(test_end_while_they_wait)
{
  check_all_end(THREADS + 1, true);
}

UNIT_TEST(test_the_peer_closes_while_they_wait)
{
  check_all_end(THREADS, false);
  check_all_end(1, false);
}

/* ---- refs of many threads ---- */

static void *make_and_release(void *context)
{
  struct crowd *crowd = context;
  const struct jp_request request = jp_build_constructor_call("T", JP_NO_ARGUMENTS);
  for (int i = 0; i < CALLS; i++) {
    struct jp_answer *answer;
    if (jp_client_call(crowd->client, &request, 30000, &answer, NULL) == JP_CLIENT_OK) {
      struct jp_ref *ref = jp_ref_keep(jp_answer_ref(answer));
      atomic_fetch_add(&crowd->calls, jp_ref_number(ref) > 0);
      jp_ref_release(jp_ref_keep(ref));
      jp_answer_free(answer);
      jp_ref_release(ref);
    }
  }
  return NULL;
}

UNIT_TEST(test_refs_of_many_threads)
{
  enum { MAKERS = 16 };
  struct crowd crowd = {.client = fixture_open(fake_peer_start(fake_serve, NULL), NULL)};
  pthread_t threads[MAKERS];
  for (int i = 0; i < MAKERS; i++)
    assert_int_equal(pthread_create(&threads[i], NULL, make_and_release, &crowd), 0);
  for (int i = 0; i < MAKERS; i++)
    pthread_join(threads[i], NULL);
  assert_int_equal(crowd.calls, MAKERS * CALLS);
  assert_int_equal(jp_client_ref_count(crowd.client), 0);
  fixture_end(crowd.client);
}

UNIT_MAIN
