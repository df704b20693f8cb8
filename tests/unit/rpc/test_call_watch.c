#include "rpc/call_watch.h"

#include "base/clock.h"
#include "rpc/peer_state.h"
#include "stub_jni.h"
#include "tests/unit/unit.h"

#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static struct rpc_worker worker;
static struct rpc_worker own;
static const struct operation CALL = {
    .kind = OP_CALL, .type = TEXT("java.util.List"), .member = TEXT("size")};
static const struct rpc_reached_member REACHED = {.class_name = TEXT("java.util.ArrayList"),
                                                  .member = TEXT("size")};

static int set_up(void **state)
{
  (void)state;
  memset(&worker, 0, sizeof worker);
  memset(&own, 0, sizeof own);
  memset(&stub, 0, sizeof stub);
  rpc_call_watch_init(&worker.watch, "rpc-3");
  worker.runner.thread = own.runner.thread = stub_thread();
  return 0;
}

static int tear_down(void **state)
{
  (void)state;
  rpc_call_watch_fini(&worker.watch);
  return 0;
}

static void begin(const struct operation *operation, const struct rpc_reached_member *reached)
{
  rpc_call_begin(&worker.watch, operation, reached, 17, false);
  if (reached != NULL)
    rpc_call_reach(&worker.watch);
}

static void end(void)
{
  rpc_call_end(&worker.watch, worker.runner.thread);
}

static void assert_told(const char *expected)
{
  char name[64];
  assert_true(rpc_call_tell(NULL, &worker, name, sizeof name));
  assert_string_equal(name, expected);
}

UNIT_TEST_WITH(tells_the_class_that_is_reached_or_else_that_is_written, set_up, tear_down)
{
  char name[64];
  assert_false(rpc_call_tell(NULL, &worker, name, sizeof name));
  rpc_call_begin(&worker.watch, &CALL, &REACHED, 17, false);
  assert_told("java.util.List.size");
  rpc_call_reach(&worker.watch);
  assert_told("java.util.ArrayList.size");
  end();
  assert_false(rpc_call_tell(NULL, &worker, name, sizeof name));

  const struct operation on_ref = {
      .kind = OP_CALL, .member = TEXT("size"), .has_instance = true, .instance = 4};
  begin(&on_ref, NULL);
  assert_told("ref 4.size");
  end();
  const struct operation fetch = {.kind = OP_FETCH, .has_instance = true, .instance = 4};
  begin(&fetch, NULL);
  assert_told("ref 4.jpeer.fetch");
  end();
}

UNIT_TEST_WITH(escapes_and_cuts_what_a_client_has_written, set_up, tear_down)
{
  char name[16];
  static char long_type[100000];
  memset(long_type, 'x', sizeof long_type);
  const struct operation hostile = {.kind = OP_CALL, .type = TEXT("a\n\x1b"), .member = TEXT("\xc2\x9b")};
  begin(&hostile, NULL);
  assert_true(rpc_call_tell(NULL, &worker, name, sizeof name));
  assert_string_equal(name, "a\\x0a\\x1b.");
  end();
  const struct operation lengthy = {
      .kind = OP_CALL, .type = {long_type, sizeof long_type}, .member = {long_type, sizeof long_type}};
  begin(&lengthy, NULL);
  assert_true(rpc_call_tell(NULL, &worker, name, sizeof name));
  assert_string_equal(name, "xxxxxxxxxxxxxxx");
  end();
}

UNIT_TEST_WITH(wants_a_name_once_for_a_call_that_lasts, set_up, tear_down)
{
  int64_t now = 100000;
  assert_false(rpc_call_wants_name(NULL, &worker, now));
  begin(&CALL, &REACHED);
  assert_false(rpc_call_wants_name(NULL, &worker, now + 10000));
  assert_false(rpc_call_wants_name(NULL, &worker, now + 10999));
  assert_true(rpc_call_wants_name(NULL, &worker, now + 11000));
  assert_false(rpc_call_wants_name(NULL, &worker, now + 13000));
  end();
  /* the calls of a batch follow one another: each has its own second */
  for (int64_t i = 0; i < 5; i++) {
    begin(&CALL, &REACHED);
    assert_false(rpc_call_wants_name(NULL, &worker, now + 20000 + 900 * i));
    end();
  }
  assert_false(rpc_call_wants_name(NULL, &worker, now + 40000));
}

UNIT_TEST_WITH(names_the_thread_and_takes_the_name_back, set_up, tear_down)
{
  assert_false(rpc_call_hold(NULL, &worker));
  begin(&CALL, &REACHED);
  assert_true(rpc_call_hold(NULL, &worker));
  rpc_call_name(NULL, &own, &worker);
  assert_string_equal(stub.given_name, "rpc-3 session 17 java.util.ArrayList.size");
  assert_int_equal(1, atomic_load(&stub.names_given));
  end();
  assert_int_equal(0, atomic_load(&stub.names_given));
  begin(&CALL, &REACHED);
  end();
  assert_int_equal(0, atomic_load(&stub.names_given));
}

UNIT_TEST_WITH(names_no_thread_whose_call_runs_elsewhere, set_up, tear_down)
{
  rpc_call_begin(&worker.watch, &CALL, &REACHED, 17, true);
  assert_told("java.util.List.size");
  assert_true(rpc_call_hold(NULL, &worker));
  rpc_call_name(NULL, &own, &worker);
  assert_int_equal(0, atomic_load(&stub.names_given));
  end();
}

/* --- calls that end while others look --- */

enum { CALLS = 20000 };

static _Atomic bool is_over;
static _Atomic unsigned told, named;

static void *call_again_and_again(void *argument)
{
  (void)argument;
  /* as long as the others have not come by, too */
  for (unsigned i = 0; i < CALLS || atomic_load(&told) == 0 || atomic_load(&named) == 0; i++) {
    /* they live as long as the call */
    char type[] = "some.Type";
    char member[] = "member";
    const struct operation operation = {
        .kind = OP_CALL, .type = {type, strlen(type)}, .member = {member, strlen(member)}};
    struct rpc_reached_member reached = {0};
    rpc_call_begin(&worker.watch, &operation, &reached, i, false);
    reached.class_name = operation.type;
    reached.member = operation.member;
    rpc_call_reach(&worker.watch);
    if (i % 256 == 0)
      usleep(200);
    end();
    assert_int_equal(0, atomic_load(&stub.names_given));
    memset(type, '!', sizeof type);
    memset(member, '!', sizeof member);
  }
  atomic_store(&is_over, true);
  return NULL;
}

static void *tell_again_and_again(void *argument)
{
  (void)argument;
  while (!atomic_load(&is_over)) {
    char name[64];
    if (!rpc_call_tell(NULL, &worker, name, sizeof name))
      continue;
    assert_string_equal(name, "some.Type.member");
    atomic_fetch_add(&told, 1);
  }
  return NULL;
}

static void *name_again_and_again(void *argument)
{
  (void)argument;
  for (int64_t now = 0; !atomic_load(&is_over); now += RPC_LONG_CALL_MS) {
    (void)rpc_call_wants_name(NULL, &worker, now);
    if (!rpc_call_hold(NULL, &worker))
      continue;
    rpc_call_name(NULL, &own, &worker);
    atomic_fetch_add(&named, 1);
  }
  return NULL;
}

UNIT_TEST_WITH(no_name_outlasts_its_call_and_no_text_is_read_after_it, set_up, tear_down)
{
  pthread_t threads[3];
  assert_int_equal(0, pthread_create(&threads[0], NULL, call_again_and_again, NULL));
  assert_int_equal(0, pthread_create(&threads[1], NULL, tell_again_and_again, NULL));
  assert_int_equal(0, pthread_create(&threads[2], NULL, name_again_and_again, NULL));
  for (size_t i = 0; i < 3; i++)
    pthread_join(threads[i], NULL);
}

UNIT_MAIN
