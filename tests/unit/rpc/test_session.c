/* Who finds which session, and when it ends. Time is what the test says it is. */
#include "rpc/session.h"
#include "stub_jni.h"
#include "tests/unit/unit.h"

#include "base/clock.h"

#include <pthread.h>
#include <stdio.h>

enum { TTL_MS = 1000, SESSIONS_MAX = 8 };

static int set_up(void **state)
{
  const struct rpc_session_limits limits = {
      .sessions_max = SESSIONS_MAX, .max_objects = 10, .ttl_ms = TTL_MS};
  struct rpc_sessions *sessions;
  stub_reset(NULL, 0);
  if (rpc_sessions_create(&limits, &sessions) != JP_OK)
    return 1;
  *state = sessions;
  return 0;
}

static int tear_down(void **state)
{
  struct rpc_sessions *sessions = *state;
  rpc_sessions_sweep(sessions, stub_thread(), INT64_MAX);
  rpc_sessions_destroy(sessions);
  return atomic_load(&stub.tables) == 0 ? 0 : 1;
}

static struct rpc_session_key key_of(uint8_t number)
{
  struct rpc_session_key key;
  struct uuid peer_id = {{number}};
  rpc_session_key_peer_id(&key, &peer_id);
  return key;
}

static struct rpc_session *acquire(struct rpc_sessions *sessions, const struct rpc_session_key *key)
{
  struct rpc_session *session;
  struct jp_error error;
  assert_int_equal(rpc_session_acquire(sessions, key, &session, &error), JP_OK);
  return session;
}

static void test_routing_ids_are_checked(void **state)
{
  (void)state;
  char bytes[RPC_ROUTING_ID_MAX + 1] = {0};
  struct rpc_session_key key;
  assert_false(rpc_session_key_routing_id(&key, (struct text){bytes, 0}));
  assert_false(rpc_session_key_routing_id(&key, (struct text){bytes, RPC_ROUTING_ID_MAX + 1}));
  assert_int_equal(key.length, 0);
  assert_true(rpc_session_key_routing_id(&key, (struct text){bytes, RPC_ROUTING_ID_MAX}));
}

static void test_names_for_the_log(void **state)
{
  (void)state;
  char name[RPC_SESSION_NAME_MAX];
  struct rpc_session_key key = {0};
  rpc_session_key_describe(&key, name);
  assert_string_equal(name, "");
  key.serial = 7;
  rpc_session_key_describe(&key, name);
  assert_string_equal(name, "#7");
  key = key_of(0xAB);
  rpc_session_key_describe(&key, name);
  assert_string_equal(name, "ab000000-0000-0000-0000-000000000000");
  assert_true(rpc_session_key_routing_id(&key, (struct text){"\0k\xFF", 3}));
  rpc_session_key_describe(&key, name);
  assert_string_equal(name, "zmq:006bff");
  char longest[RPC_ROUTING_ID_MAX];
  memset(longest, 0x7F, sizeof longest);
  assert_true(rpc_session_key_routing_id(&key, (struct text){longest, sizeof longest}));
  rpc_session_key_describe(&key, name);
  assert_int_equal(strlen(name), 4 + 2 * RPC_ROUTING_ID_MAX);
}

static void test_the_limit_is_named(void **state)
{
  struct rpc_sessions *sessions = *state;
  struct rpc_session *held[SESSIONS_MAX];
  struct rpc_session *more;
  struct jp_error error;
  struct rpc_session_key key = key_of(1);
  held[0] = acquire(sessions, &key);
  for (size_t i = 1; i < SESSIONS_MAX; i++)
    held[i] = acquire(sessions, NULL);
  assert_int_equal(rpc_session_acquire(sessions, NULL, &more, &error), JP_LIMIT);
  assert_non_null(strstr(error.text, "sessions-max"));
  struct rpc_session_key other = key_of(2);
  assert_int_equal(rpc_session_acquire(sessions, &other, &more, &error), JP_LIMIT);
  /* What is there stays usable. */
  assert_ptr_equal(acquire(sessions, &key), held[0]);
  rpc_session_release(sessions, held[0], stub_thread(), 0);
  rpc_session_release(sessions, held[1], stub_thread(), 0);
  held[1] = acquire(sessions, NULL);
  for (size_t i = 0; i < SESSIONS_MAX; i++)
    rpc_session_release(sessions, held[i], stub_thread(), 0);
  assert_int_equal(rpc_sessions_count(sessions), 0);
}

static void test_sessions_are_found_by_key_alone(void **state)
{
  struct rpc_sessions *sessions = *state;
  struct rpc_session_key one = key_of(1);
  struct rpc_session_key two = key_of(2);
  struct rpc_session_key routing;
  assert_true(rpc_session_key_routing_id(&routing, (struct text){(const char *)one.bytes + 1, 16}));
  assert_null(rpc_session_find(sessions, &one));
  struct rpc_session *first = acquire(sessions, &one);
  assert_ptr_equal(acquire(sessions, &one), first);
  assert_ptr_equal(rpc_session_find(sessions, &one), first);
  assert_null(rpc_session_find(sessions, &two));
  assert_null(rpc_session_find(sessions, &routing)); /* the same bytes, another kind of name */
  struct rpc_session *own = acquire(sessions, NULL);
  assert_ptr_not_equal(own, first);
  assert_ptr_not_equal(acquire(sessions, &two), first);
  assert_int_equal(rpc_sessions_count(sessions), 3);
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

static void test_a_session_without_objects_ends_with_its_holder(void **state)
{
  struct rpc_sessions *sessions = *state;
  struct rpc_session_key key = key_of(1);
  rpc_session_release(sessions, acquire(sessions, &key), stub_thread(), 0);
  assert_null(rpc_session_find(sessions, &key));
  assert_int_equal(atomic_load(&stub.tables), 0);
}

static void test_the_ttl_runs_while_nobody_holds_it(void **state)
{
  struct rpc_sessions *sessions = *state;
  struct rpc_session_key key = key_of(1);
  struct rpc_session *session = acquire(sessions, &key);
  rpc_session_note_object(session);
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

static void test_the_longest_idle_goes_first(void **state)
{
  struct rpc_sessions *sessions = *state;
  struct rpc_session *held[3];
  struct rpc_session_key keys[3];
  for (uint8_t i = 0; i < 3; i++) {
    keys[i] = key_of(i);
    held[i] = acquire(sessions, &keys[i]);
    rpc_session_note_object(held[i]);
    rpc_session_release(sessions, held[i], stub_thread(), 100 * i);
  }
  /* The middle one comes back and leaves last. */
  rpc_session_release(sessions, acquire(sessions, &keys[1]), stub_thread(), 300);
  rpc_sessions_sweep(sessions, stub_thread(), 100 + TTL_MS);
  assert_int_equal(rpc_sessions_count(sessions), 2);
  assert_null(rpc_session_find(sessions, &keys[0]));
  rpc_sessions_sweep(sessions, stub_thread(), 200 + TTL_MS);
  assert_null(rpc_session_find(sessions, &keys[2]));
  assert_int_equal(rpc_sessions_sweep(sessions, stub_thread(), 300 + TTL_MS), INT64_MAX);
  assert_int_equal(rpc_sessions_count(sessions), 0);
}

static void test_delete_session_lets_it_end(void **state)
{
  struct rpc_sessions *sessions = *state;
  struct rpc_session_key key = key_of(1);
  struct rpc_session *session = acquire(sessions, &key);
  rpc_session_note_object(session);
  rpc_session_clear(session, stub_thread());
  assert_ptr_equal(rpc_session_find(sessions, &key), session);
  rpc_session_release(sessions, session, stub_thread(), 0);
  rpc_session_release(sessions, session, stub_thread(), 0);
  assert_int_equal(rpc_sessions_count(sessions), 0);
}

static void test_a_thread_without_java_hands_tables_over(void **state)
{
  struct rpc_sessions *sessions = *state;
  rpc_session_release(sessions, acquire(sessions, NULL), NULL, 0);
  assert_int_equal(rpc_sessions_count(sessions), 0);
  assert_int_equal(atomic_load(&stub.tables), 1);
  rpc_sessions_sweep(sessions, stub_thread(), 0);
  assert_int_equal(atomic_load(&stub.tables), 0);
}

static void test_a_kept_session_is_found_by_its_new_name(void **state)
{
  struct rpc_sessions *sessions = *state;
  struct rpc_session *session = acquire(sessions, NULL);
  struct uuid name;
  struct rpc_session_key key;
  rpc_session_note_object(session);
  rpc_session_keep(sessions, session, &name);
  rpc_session_release(sessions, session, stub_thread(), 0);
  rpc_session_key_peer_id(&key, &name);
  assert_ptr_equal(rpc_session_find(sessions, &key), session);
  rpc_session_release(sessions, session, stub_thread(), 0);
}

/* More keys than the table begins with: each is found, and all of them end. */
static void test_many_sessions(void **state)
{
  (void)state;
  enum { MANY = 5000 };
  const struct rpc_session_limits limits = {.sessions_max = MANY, .max_objects = 1, .ttl_ms = TTL_MS};
  struct rpc_sessions *sessions;
  assert_int_equal(rpc_sessions_create(&limits, &sessions), JP_OK);
  struct rpc_session *first = NULL;
  struct rpc_session_key key;
  char name[16];
  for (int i = 0; i < MANY; i++) {
    int length = snprintf(name, sizeof name, "client-%d", i);
    assert_true(rpc_session_key_routing_id(&key, (struct text){name, (size_t)length}));
    struct rpc_session *session = acquire(sessions, &key);
    first = i == 0 ? session : first;
    rpc_session_note_object(session);
    rpc_session_release(sessions, session, stub_thread(), i);
  }
  assert_int_equal(rpc_sessions_count(sessions), MANY);
  assert_true(rpc_session_key_routing_id(&key, TEXT("client-0")));
  assert_ptr_equal(rpc_session_find(sessions, &key), first);
  rpc_session_release(sessions, first, stub_thread(), MANY);
  rpc_sessions_sweep(sessions, stub_thread(), MANY + TTL_MS);
  assert_int_equal(rpc_sessions_count(sessions), 0);
  rpc_sessions_destroy(sessions);
}

static void test_the_sweeper_ends_what_nobody_holds(void **state)
{
  struct rpc_sessions *sessions = *state;
  struct jp_error error;
  assert_int_equal(rpc_sessions_start(sessions, stub_jvm(), &error), JP_OK);
  struct rpc_session_key key = key_of(1);
  struct rpc_session *held = acquire(sessions, NULL);
  struct rpc_session *idle = acquire(sessions, &key);
  rpc_session_note_object(idle);
  rpc_session_release(sessions, idle, stub_thread(), clock_now_ms() + 1000000);
  rpc_session_release(sessions, acquire(sessions, NULL), NULL, 0);
  assert_true(rpc_sessions_stop(sessions, 60000));
  stub_join_threads();
  assert_int_equal(atomic_load(&stub.foreign_ends), 2);
  assert_int_equal(rpc_sessions_count(sessions), 1);
  rpc_session_release(sessions, held, stub_thread(), 0);
}

static void *use_sessions(void *argument)
{
  struct rpc_sessions *sessions = argument;
  for (int i = 0; i < 2000; i++) {
    struct rpc_session_key key = key_of((uint8_t)(i % 3));
    struct jp_error error;
    struct rpc_session *session;
    if (rpc_session_acquire(sessions, &key, &session, &error) != JP_OK)
      return argument;
    if (i % 2 == 0)
      rpc_session_note_object(session);
    rpc_session_release(sessions, session, i % 5 == 0 ? NULL : stub_thread(), clock_now_ms() - TTL_MS);
  }
  return NULL;
}

static void test_threads_share_sessions(void **state)
{
  struct rpc_sessions *sessions = *state;
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

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_routing_ids_are_checked, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_the_limit_is_named, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_names_for_the_log, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_sessions_are_found_by_key_alone, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_a_session_without_objects_ends_with_its_holder, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_the_ttl_runs_while_nobody_holds_it, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_the_longest_idle_goes_first, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_delete_session_lets_it_end, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_a_thread_without_java_hands_tables_over, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_a_kept_session_is_found_by_its_new_name, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_many_sessions, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_the_sweeper_ends_what_nobody_holds, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_threads_share_sessions, set_up, tear_down),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
