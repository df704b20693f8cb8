/* Tests which session belongs to a key, and when the session ends. The test sets the time. */
#include "rpc/session.h"
#include "stub_jni.h"
#include "tests/unit/unit.h"

#include "base/clock.h"

#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

enum { TTL_MS = 1000, SESSIONS_MAX = 8, PER_ADDRESS_MAX = 6 };

static const struct rpc_session_maker connection = {.address = {4, {127, 0, 0, 1}}};
static const struct rpc_session_maker other_connection = {.address = {4, {127, 0, 0, 2}}};
static const struct rpc_session_maker request = {.address = {4, {127, 0, 0, 3}}, .is_passing = true};
static const struct rpc_session_maker request_neighbour = {.address = {4, {127, 0, 0, 3}}};

static struct rpc_sessions *sessions;

static int set_up(void **state)
{
  const struct rpc_session_limits limits = {
      .sessions_max = SESSIONS_MAX, .per_address_max = PER_ADDRESS_MAX, .max_objects = 10, .ttl_ms = TTL_MS};
  stub_reset(NULL, 0);
  if (rpc_sessions_create(&limits, &sessions) != JP_OK)
    return 1;
  (void)state;
  return 0;
}

static int tear_down(void **state)
{
  (void)state;
  if (!rpc_sessions_stop(sessions, 1000)) /* a test that has failed leaves its sweeper running */
    return 1;
  stub_join_threads();
  rpc_sessions_sweep(sessions, stub_thread(), INT64_MAX);
  rpc_sessions_destroy(sessions);
  return atomic_load(&stub.tables) == 0 ? 0 : 1;
}

static struct op_session_key key_of(uint8_t number)
{
  struct op_session_key key;
  struct uuid peer_id = {{number}};
  op_session_key_peer_id(&key, 0, &peer_id);
  return key;
}

static struct rpc_session *acquire_as(struct rpc_sessions *sessions, const struct op_session_key *key,
                                      const struct rpc_session_maker *maker)
{
  struct rpc_session *session;
  struct jp_error error;
  assert_int_equal(rpc_session_acquire(sessions, key, maker, &session, &error), JP_OK);
  return session;
}

static struct rpc_session *acquire_session(struct rpc_sessions *sessions, const struct op_session_key *key)
{
  return acquire_as(sessions, key, &connection);
}

static void release_session(struct rpc_sessions *sessions, struct rpc_session *session, int64_t now_ms)
{
  rpc_session_release(sessions, session, stub_thread(), now_ms);
}

/* Its ref. */
static uint32_t put_object(struct rpc_session *session)
{
  struct jp_error error;
  assert_int_equal(stub_put(rpc_session_objects(session), NULL, &error), JP_OK);
  return jvm_objects_last_ref(rpc_session_objects(session));
}

static void check_full(struct rpc_session *session, const char *flag)
{
  struct jp_error error = {0};
  assert_int_equal(stub_put(rpc_session_objects(session), NULL, &error), JP_LIMIT);
  assert_non_null(strstr(error.text, flag));
  assert_int_equal(jvm_objects_count(rpc_session_objects(session)), 0);
}

/* Leaves a session that nobody holds, as an HTTP request does that makes an object. */
static void leave_passing_session(struct rpc_sessions *sessions, uint8_t number, int64_t now_ms)
{
  struct op_session_key key = key_of(number);
  struct rpc_session *session = acquire_as(sessions, &key, &request);
  put_object(session);
  release_session(sessions, session, now_ms);
}

static bool is_found(struct rpc_sessions *sessions, uint8_t number)
{
  struct op_session_key key = key_of(number);
  struct rpc_session *session = rpc_session_find(sessions, &key);
  if (session != NULL)
    release_session(sessions, session, 0);
  return session != NULL;
}

/* Holding a session is free: a connection that makes no object does not count. */
UNIT_TEST_WITH(test_a_session_counts_from_its_first_object_to_its_last, set_up, tear_down)
{
  struct rpc_session *held[3 * SESSIONS_MAX];
  for (size_t i = 0; i < COUNT_OF(held); i++)
    held[i] = acquire_session(sessions, NULL);
  assert_int_equal(rpc_sessions_count(sessions), 0);
  uint32_t ref = put_object(held[0]);
  put_object(held[0]);
  assert_int_equal(rpc_sessions_count(sessions), 1);
  assert_int_equal(jvm_objects_delete(stub_thread(), rpc_session_objects(held[0]), ref), JP_OK);
  assert_int_equal(rpc_sessions_count(sessions), 1);
  assert_int_equal(jvm_objects_delete(stub_thread(), rpc_session_objects(held[0]), ref + 1), JP_OK);
  assert_int_equal(rpc_sessions_count(sessions), 0);
  /* delete_session has the same effect, and later objects get other refs. */
  assert_int_equal(put_object(held[0]), ref + 2);
  rpc_session_clear(held[0], stub_thread());
  assert_int_equal(rpc_sessions_count(sessions), 0);
  assert_int_equal(put_object(held[0]), ref + 3);
  for (size_t i = 0; i < COUNT_OF(held); i++)
    release_session(sessions, held[i], 0);
  assert_int_equal(rpc_sessions_count(sessions), 0);
}

UNIT_TEST_WITH(test_clients_without_an_address_count_together, set_up, tear_down)
{
  static const struct rpc_session_maker unknown = {0};
  struct rpc_session *held[PER_ADDRESS_MAX];
  for (size_t i = 0; i < PER_ADDRESS_MAX; i++)
    put_object(held[i] = acquire_as(sessions, NULL, &unknown));
  struct rpc_session *more = acquire_as(sessions, NULL, &unknown);
  check_full(more, "sessions-per-address");
  release_session(sessions, more, 0);
  for (size_t i = 0; i < PER_ADDRESS_MAX; i++)
    release_session(sessions, held[i], 0);
}

UNIT_TEST_WITH(test_sessions_of_one_request_end_first, set_up, tear_down)
{
  struct rpc_session *held[SESSIONS_MAX];
  for (uint8_t i = 1; i <= 4; i++)
    leave_passing_session(sessions, i, i);
  for (size_t i = 4; i < SESSIONS_MAX; i++)
    put_object(held[i] = acquire_session(sessions, NULL));
  assert_true(is_found(sessions, 1)); /* a second request of its client: new sessions no longer end it */
  struct rpc_session *more = acquire_as(sessions, NULL, &other_connection);
  put_object(more);
  assert_false(is_found(sessions, 2));
  struct rpc_session *last = acquire_as(sessions, NULL, &other_connection);
  put_object(last);
  struct op_session_key key = key_of(4); /* held, so that other sessions cannot end it */
  struct rpc_session *used = rpc_session_find(sessions, &key);
  assert_non_null(used);
  assert_false(is_found(sessions, 3));
  struct rpc_session *none = acquire_as(sessions, NULL, &other_connection);
  check_full(none, "sessions-max");
  assert_true(is_found(sessions, 1));
  assert_int_equal(rpc_sessions_count(sessions), SESSIONS_MAX);
  release_session(sessions, none, 0);
  release_session(sessions, used, 0);
  release_session(sessions, more, 0);
  release_session(sessions, last, 0);
  for (size_t i = 4; i < SESSIONS_MAX; i++)
    release_session(sessions, held[i], 0);
}

/* If all clients have one address, as on loopback, one of them does not use up the sessions of all. */
UNIT_TEST_WITH(test_sessions_of_one_request_end_for_their_address, set_up, tear_down)
{
  struct op_session_key key_elsewhere = key_of(100);
  struct rpc_session_maker request_elsewhere = {.address = other_connection.address, .is_passing = true};
  struct rpc_session *elsewhere = acquire_as(sessions, &key_elsewhere, &request_elsewhere);
  put_object(elsewhere);
  release_session(sessions, elsewhere, 0); /* this session is the oldest, but belongs to another address */
  for (uint8_t i = 1; i <= PER_ADDRESS_MAX; i++)
    leave_passing_session(sessions, i, i);
  assert_true(is_found(sessions, 1)); /* the session's client has returned */
  struct rpc_session *held = acquire_as(sessions, NULL, &request_neighbour);
  put_object(held);
  assert_false(is_found(sessions, 2));
  leave_passing_session(sessions, 2, PER_ADDRESS_MAX + 1);
  assert_int_equal(rpc_sessions_count(sessions), PER_ADDRESS_MAX + 1);
  for (uint8_t i = 4; i <= PER_ADDRESS_MAX; i++)
    assert_true(is_found(sessions, i));
  assert_false(is_found(sessions, 3));
  assert_true(is_found(sessions, 2));
  struct rpc_session *none = acquire_as(sessions, NULL, &request);
  check_full(none, "sessions-per-address");
  assert_true(is_found(sessions, 100));
  release_session(sessions, none, 0);
  release_session(sessions, held, 0);
}

/* However many sessions of others have been idle for longer. */
UNIT_TEST(test_sessions_of_one_request_end_for_their_principal)
{
  enum { OTHERS = 11000, ROOM = OTHERS + 2 };
  const struct rpc_session_limits limits = {
      .sessions_max = ROOM, .per_address_max = ROOM, .max_objects = 10, .ttl_ms = TTL_MS};
  struct rpc_session_maker own = {.address = request.address, .is_passing = true};
  struct jp_error error;
  struct rpc_sessions *many;
  stub_reset(NULL, 0);
  assert_int_equal(rpc_sessions_create(&limits, &many), JP_OK);
  assert_int_equal(principal_create("own", NULL, &own.principal, &error), JP_OK);
  atomic_store(&own.principal->quotas[PRINCIPAL_SESSIONS].max, 1);
  for (int i = 0; i <= OTHERS; i++) {
    const struct uuid peer_id = {{(uint8_t)i, (uint8_t)(i >> 8), 1}};
    struct op_session_key key;
    op_session_key_peer_id(&key, 0, &peer_id);
    struct rpc_session *other = acquire_as(many, &key, i < OTHERS ? &request : &own);
    put_object(other);
    release_session(many, other, 0);
  }
  struct rpc_session *held = acquire_as(many, NULL, &own);
  put_object(held); /* the idle session of the principal has ended */
  assert_int_equal(rpc_sessions_count(many), OTHERS + 1);
  struct rpc_session *none = acquire_as(many, NULL, &own);
  check_full(none, "limits.sessions");
  release_session(many, none, 0);
  release_session(many, held, 0);
  rpc_sessions_sweep(many, stub_thread(), INT64_MAX);
  rpc_sessions_destroy(many);
  assert_int_equal(atomic_load(&own.principal->holders), 1);
  principal_release(own.principal);
}

/* Sessions of sockets and of closed connections wait for their clients, and new clients do not end these
 * sessions. */
UNIT_TEST_WITH(test_the_session_of_a_closed_connection_stays, set_up, tear_down)
{
  for (uint8_t i = 0; i < SESSIONS_MAX; i++) {
    struct op_session_key key = key_of(i);
    struct rpc_session *session = acquire_as(sessions, &key, i % 2 == 0 ? &connection : &other_connection);
    put_object(session);
    release_session(sessions, session, 0);
  }
  struct rpc_session *more = acquire_as(sessions, NULL, &request);
  check_full(more, "sessions-max");
  release_session(sessions, more, 0);
  for (uint8_t i = 0; i < SESSIONS_MAX; i++)
    assert_true(is_found(sessions, i));
}

/* A client that has lost its session may still have refs of the session. */
UNIT_TEST_WITH(test_refs_continue_after_those_of_an_ended_session, set_up, tear_down)
{
  struct op_session_key key = key_of(1);
  struct rpc_session *session = acquire_session(sessions, &key);
  put_object(session);
  uint32_t last = put_object(session);
  release_session(sessions, session, 0);
  rpc_sessions_sweep(sessions, stub_thread(), TTL_MS);
  assert_null(rpc_session_find(sessions, &key));
  session = acquire_session(sessions, &key);
  assert_int_equal(put_object(session), last + 1);
  rpc_session_clear(session, stub_thread());
  release_session(sessions, session, 0);
  session = acquire_session(sessions, &key);
  assert_int_equal(put_object(session), last + 2);
  release_session(sessions, session, 0);
  struct rpc_session *other = acquire_session(sessions, NULL);
  assert_int_equal(put_object(other), 1);
  release_session(sessions, other, 0);
}

UNIT_TEST_WITH(test_sessions_are_found_by_key_alone, set_up, tear_down)
{
  struct op_session_key one = key_of(1);
  struct op_session_key two = key_of(2);
  struct op_session_key routing;
  assert_true(op_session_key_routing_id(&routing, 0,
                                        (struct text){(const char *)one.bytes + OP_SESSION_KEY_HEAD, 16}));
  assert_null(rpc_session_find(sessions, &one));
  struct rpc_session *first = acquire_session(sessions, &one);
  assert_ptr_equal(acquire_session(sessions, &one), first);
  assert_ptr_equal(rpc_session_find(sessions, &one), first);
  assert_null(rpc_session_find(sessions, &two));
  assert_null(rpc_session_find(sessions, &routing)); /* the same bytes, another kind of name */
  struct rpc_session *own = acquire_session(sessions, NULL);
  assert_ptr_not_equal(own, first);
  assert_ptr_not_equal(acquire_session(sessions, &two), first);
  rpc_session_release(sessions, rpc_session_find(sessions, &two), stub_thread(), 0);
  rpc_session_release(sessions, rpc_session_find(sessions, &two), stub_thread(), 0);
  struct rpc_session *second = rpc_session_find(sessions, &two);
  rpc_session_release(sessions, second, stub_thread(), 0);
  rpc_session_release(sessions, second, stub_thread(), 0);
  for (int i = 0; i < 3; i++)
    rpc_session_release(sessions, first, stub_thread(), 0);
  rpc_session_release(sessions, own, stub_thread(), 0);
  assert_int_equal(rpc_sessions_count(sessions), 0);
}

UNIT_TEST_WITH(test_the_ttl_runs_while_nobody_holds_the_session, set_up, tear_down)
{
  struct op_session_key key = key_of(1);
  struct rpc_session *session = acquire_session(sessions, &key);
  put_object(session);
  assert_int_equal(rpc_sessions_sweep(sessions, stub_thread(), 10 * TTL_MS), INT64_MAX);
  rpc_session_release(sessions, session, stub_thread(), 5000);
  assert_int_equal(rpc_sessions_sweep(sessions, stub_thread(), 5000 + TTL_MS - 1), 5000 + TTL_MS);
  assert_ptr_equal(rpc_session_find(sessions, &key), session);
  rpc_sessions_sweep(sessions, stub_thread(), 5000 + TTL_MS);
  rpc_session_release(sessions, session, stub_thread(), 9000);
  rpc_sessions_sweep(sessions, stub_thread(), 9000 + TTL_MS - 1);
  assert_int_equal(rpc_sessions_count(sessions), 1);
  rpc_sessions_sweep(sessions, stub_thread(), 9000 + TTL_MS);
  assert_int_equal(rpc_sessions_count(sessions), 0);
  assert_null(rpc_session_find(sessions, &key));
}

UNIT_TEST_WITH(test_the_longest_idle_session_ends_first, set_up, tear_down)
{
  struct rpc_session *held[3];
  struct op_session_key keys[3];
  for (uint8_t i = 0; i < 3; i++) {
    keys[i] = key_of(i);
    held[i] = acquire_session(sessions, &keys[i]);
    put_object(held[i]);
    rpc_session_release(sessions, held[i], stub_thread(), 100 * i);
  }
  /* The middle client returns, and leaves last. */
  rpc_session_release(sessions, acquire_session(sessions, &keys[1]), stub_thread(), 300);
  rpc_sessions_sweep(sessions, stub_thread(), 100 + TTL_MS);
  assert_int_equal(rpc_sessions_count(sessions), 2);
  assert_null(rpc_session_find(sessions, &keys[0]));
  rpc_sessions_sweep(sessions, stub_thread(), 200 + TTL_MS);
  assert_null(rpc_session_find(sessions, &keys[2]));
  assert_int_equal(rpc_sessions_sweep(sessions, stub_thread(), 300 + TTL_MS), INT64_MAX);
  assert_int_equal(rpc_sessions_count(sessions), 0);
}

UNIT_TEST_WITH(test_the_sweeper_frees_objects_of_sessions_that_end_without_java, set_up, tear_down)
{
  rpc_session_release(sessions, acquire_session(sessions, NULL), NULL, 0);
  assert_int_equal(rpc_sessions_count(sessions), 0);
  assert_int_equal(atomic_load(&stub.tables), 1);
  rpc_sessions_sweep(sessions, stub_thread(), 0);
  assert_int_equal(atomic_load(&stub.tables), 0);
}

UNIT_TEST_WITH(test_a_kept_session_is_found_by_its_new_name, set_up, tear_down)
{
  struct rpc_session *session = acquire_session(sessions, NULL);
  struct uuid name;
  struct op_session_key key;
  put_object(session);
  rpc_session_keep(sessions, session, &name);
  rpc_session_release(sessions, session, stub_thread(), 0);
  op_session_key_peer_id(&key, 0, &name);
  assert_ptr_equal(rpc_session_find(sessions, &key), session);
  rpc_session_release(sessions, session, stub_thread(), 0);
}

UNIT_TEST_WITH(test_a_shared_session_ends_with_its_last_holder, set_up, tear_down)
{
  struct rpc_session *session = acquire_session(sessions, NULL);
  struct uuid name;
  struct uuid again;
  struct op_session_key key;
  put_object(session);
  assert_true(rpc_session_share(sessions, session, &name));
  assert_true(rpc_session_share(sessions, session, &again));
  assert_memory_equal(&name, &again, sizeof name);
  op_session_key_peer_id(&key, 0, &name);
  assert_ptr_equal(acquire_session(sessions, &key), session);
  rpc_session_release(sessions, session, stub_thread(), 0);
  assert_int_equal(atomic_load(&stub.tables), 1);
  rpc_session_release(sessions, session, stub_thread(), 0);
  assert_int_equal(atomic_load(&stub.tables), 0);
  assert_null(rpc_session_find(sessions, &key));
}

UNIT_TEST_WITH(test_sharing_a_session_that_has_a_key, set_up, tear_down)
{
  struct uuid peer_id;
  struct uuid shared;
  struct op_session_key key;
  uuid_random(&peer_id);
  op_session_key_peer_id(&key, 0, &peer_id);
  struct rpc_session *named = acquire_session(sessions, &key);
  put_object(named);
  assert_true(rpc_session_share(sessions, named, &shared));
  assert_memory_equal(&shared, &peer_id, sizeof shared);
  rpc_session_release(sessions, named, stub_thread(), 0);
  assert_int_equal(atomic_load(&stub.tables), 1); /* it stays for its TTL, as before */
  assert_true(op_session_key_routing_id(&key, 0, TEXT("socket")));
  struct rpc_session *routed = acquire_session(sessions, &key);
  assert_false(rpc_session_share(sessions, routed, &shared));
  rpc_session_release(sessions, routed, stub_thread(), 0);
}

UNIT_TEST_WITH(test_many_sessions, set_up, tear_down)
{
  enum { MANY = 5000 };
  const struct rpc_session_limits limits = {
      .sessions_max = MANY, .per_address_max = MANY, .max_objects = 1, .ttl_ms = TTL_MS};
  struct rpc_sessions *sessions;
  assert_int_equal(rpc_sessions_create(&limits, &sessions), JP_OK);
  struct rpc_session *first = NULL;
  struct op_session_key key;
  char name[16];
  for (int i = 0; i < MANY; i++) {
    int length = snprintf(name, sizeof name, "client-%d", i);
    assert_true(op_session_key_routing_id(&key, 0, (struct text){name, (size_t)length}));
    struct rpc_session *session = acquire_session(sessions, &key);
    first = i == 0 ? session : first;
    put_object(session);
    rpc_session_release(sessions, session, stub_thread(), i);
  }
  assert_int_equal(rpc_sessions_count(sessions), MANY);
  assert_true(op_session_key_routing_id(&key, 0, TEXT("client-0")));
  assert_ptr_equal(rpc_session_find(sessions, &key), first);
  rpc_session_release(sessions, first, stub_thread(), MANY);
  rpc_sessions_sweep(sessions, stub_thread(), MANY + TTL_MS);
  assert_int_equal(rpc_sessions_count(sessions), 0);
  rpc_sessions_destroy(sessions);
}

UNIT_TEST_WITH(test_the_sweeper_ends_sessions_without_a_holder, set_up, tear_down)
{
  struct jp_error error;
  assert_int_equal(rpc_sessions_start(sessions, stub_jvm(), &error), JP_OK);
  struct op_session_key key = key_of(1);
  struct rpc_session *held = acquire_session(sessions, NULL);
  struct rpc_session *idle = acquire_session(sessions, &key);
  put_object(idle);
  rpc_session_release(sessions, idle, stub_thread(), clock_now_ms() + 1000000);
  rpc_session_release(sessions, acquire_session(sessions, NULL), NULL, 0);
  assert_true(rpc_sessions_stop(sessions, 60000));
  stub_join_threads();
  assert_int_equal(atomic_load(&stub.foreign_ends), 2);
  assert_int_equal(rpc_sessions_count(sessions), 0);
  rpc_session_release(sessions, held, stub_thread(), 0);
}

/* The sweeper is notified only when the first session becomes idle, but ends all idle sessions. */
UNIT_TEST_WITH(test_the_sweeper_is_notified_once, set_up, tear_down)
{
  enum { SOON_MS = 400, PATIENCE_MS = 60000 }; /* the sessions are checked before they are due */
  struct jp_error error;
  struct op_session_key keys[] = {key_of(1), key_of(2)};
  struct rpc_session *first = acquire_session(sessions, &keys[0]);
  struct rpc_session *second = acquire_session(sessions, &keys[1]);
  put_object(first);
  put_object(second);
  assert_int_equal(rpc_sessions_start(sessions, stub_jvm(), &error), JP_OK);
  /* By now it probably waits without a limit; the test holds even if it does not wait yet. */
  usleep(100000);
  int64_t start = clock_now_ms();
  rpc_session_release(sessions, first, stub_thread(), start);
  int64_t almost = start - TTL_MS + SOON_MS;
  assert_ptr_equal(rpc_session_find(sessions, &keys[0]), first);
  rpc_session_release(sessions, first, stub_thread(), almost);
  assert_ptr_equal(rpc_session_find(sessions, &keys[0]), first);
  rpc_session_release(sessions, second, stub_thread(), almost + SOON_MS);
  rpc_session_release(sessions, first, stub_thread(), almost + 2 * SOON_MS);
  while (rpc_sessions_count(sessions) > 0 && clock_now_ms() < start + PATIENCE_MS)
    usleep(1000);
  assert_int_equal(rpc_sessions_count(sessions), 0);
  assert_true(rpc_sessions_stop(sessions, PATIENCE_MS));
  stub_join_threads();
}

static void *use_sessions(void *argument)
{
  struct rpc_sessions *sessions = argument;
  for (int i = 0; i < 2000; i++) {
    struct op_session_key key = key_of((uint8_t)(i % 3));
    struct jp_error error;
    struct rpc_session *session;
    if (rpc_session_acquire(sessions, &key, &connection, &session, &error) != JP_OK)
      return argument;
    rpc_session_release(sessions, session, i % 5 == 0 ? NULL : stub_thread(), clock_now_ms() - TTL_MS);
  }
  return NULL;
}

UNIT_TEST_WITH(test_threads_share_sessions, set_up, tear_down)
{
  struct jp_error error;
  pthread_t threads[4];
  assert_int_equal(rpc_sessions_start(sessions, stub_jvm(), &error), JP_OK);
  for (size_t i = 0; i < COUNT_OF(threads); i++)
    assert_int_equal(pthread_create(&threads[i], NULL, use_sessions, sessions), 0);
  for (size_t i = 0; i < COUNT_OF(threads); i++) {
    void *failed;
    pthread_join(threads[i], &failed);
    assert_null(failed);
  }
  assert_true(rpc_sessions_stop(sessions, 60000));
  stub_join_threads();
  assert_int_equal(rpc_sessions_count(sessions), 0);
}

struct flood {
  struct rpc_sessions *sessions;
  uint8_t number;
  bool has_failed;
};

/* Each request has a session of its own. Some delete it, and some are followed by a second request that deletes it. */
static void *make_requests(void *argument)
{
  struct flood *flood = argument;
  struct rpc_session_maker maker = {.address = {1, {flood->number}}, .is_passing = true};
  for (int i = 0; i < 2000; i++) {
    char name[32];
    struct op_session_key key;
    struct rpc_session *session;
    struct jp_error error;
    int length = snprintf(name, sizeof name, "%d-%d", flood->number, i);
    if (!op_session_key_routing_id(&key, 0, (struct text){name, (size_t)length}) ||
        rpc_session_acquire(flood->sessions, &key, &maker, &session, &error) != JP_OK ||
        (stub_put(rpc_session_objects(session), NULL, &error) != JP_OK && error.status != JP_LIMIT)) {
      flood->has_failed = true;
      return NULL;
    }
    if (i % 3 == 0)
      rpc_session_clear(session, stub_thread());
    rpc_session_release(flood->sessions, session, i % 5 == 0 ? NULL : stub_thread(), i);
    if (i % 7 == 0 && (session = rpc_session_find(flood->sessions, &key)) != NULL) {
      rpc_session_clear(session, stub_thread());
      rpc_session_release(flood->sessions, session, stub_thread(), i);
    }
  }
  return NULL;
}

UNIT_TEST_WITH(test_threads_end_the_sessions_of_others, set_up, tear_down)
{
  pthread_t threads[4];
  struct flood floods[COUNT_OF(threads)];
  for (size_t i = 0; i < COUNT_OF(threads); i++) {
    floods[i] = (struct flood){.sessions = sessions, .number = (uint8_t)i};
    assert_int_equal(pthread_create(&threads[i], NULL, make_requests, &floods[i]), 0);
  }
  for (size_t i = 0; i < COUNT_OF(threads); i++) {
    pthread_join(threads[i], NULL);
    assert_false(floods[i].has_failed);
  }
  assert_in_range(rpc_sessions_count(sessions), 1, SESSIONS_MAX);
  rpc_sessions_sweep(sessions, stub_thread(), INT64_MAX);
  assert_int_equal(rpc_sessions_count(sessions), 0);
  assert_int_equal(atomic_load(&stub.tables), 0);
}

UNIT_MAIN
