#include "rpc/call_watch.h"

#include "base/clock.h"
#include "rpc/peer_state.h"
#include "stub_jni.h"
#include "tests/unit/unit.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
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

static void begin_call(const struct operation *operation, const struct rpc_reached_member *reached)
{
  rpc_call_begin(&worker.watch, operation, reached, 17, false);
  if (reached != NULL)
    rpc_call_reach(&worker.watch);
}

static void end_this_call(void)
{
  rpc_call_end(&worker.watch, worker.runner.thread);
}

static void assert_name(const char *expected)
{
  char name[64];
  assert_true(rpc_call_write_name(NULL, &worker, name, sizeof name));
  assert_string_equal(name, expected);
}

UNIT_TEST_WITH(writes_the_reached_class_or_else_the_written_one, set_up, tear_down)
{
  char name[64];
  assert_false(rpc_call_write_name(NULL, &worker, name, sizeof name));
  rpc_call_begin(&worker.watch, &CALL, &REACHED, 17, false);
  assert_name("java.util.List.size");
  rpc_call_reach(&worker.watch);
  assert_name("java.util.ArrayList.size");
  end_this_call();
  assert_false(rpc_call_write_name(NULL, &worker, name, sizeof name));

  const struct operation on_ref = {
      .kind = OP_CALL, .member = TEXT("size"), .has_instance = true, .instance = 4};
  begin_call(&on_ref, NULL);
  assert_name("ref 4.size");
  end_this_call();
  const struct operation fetch = {.kind = OP_FETCH, .has_instance = true, .instance = 4};
  begin_call(&fetch, NULL);
  assert_name("ref 4.jpeer.fetch");
  end_this_call();
}

UNIT_TEST_WITH(escapes_and_cuts_what_a_client_has_written, set_up, tear_down)
{
  char name[16];
  static char long_type[100000];
  memset(long_type, 'x', sizeof long_type);
  const struct operation hostile = {.kind = OP_CALL, .type = TEXT("a\n\x1b"), .member = TEXT("\xc2\x9b")};
  begin_call(&hostile, NULL);
  assert_true(rpc_call_write_name(NULL, &worker, name, sizeof name));
  assert_string_equal(name, "a\\x0a\\x1b.");
  end_this_call();
  const struct operation lengthy = {
      .kind = OP_CALL, .type = {long_type, sizeof long_type}, .member = {long_type, sizeof long_type}};
  begin_call(&lengthy, NULL);
  assert_true(rpc_call_write_name(NULL, &worker, name, sizeof name));
  assert_string_equal(name, "xxxxxxxxxxxxxxx");
  end_this_call();
}

UNIT_TEST_WITH(wants_a_name_once_for_a_call_that_lasts, set_up, tear_down)
{
  int64_t now = 100000;
  assert_false(rpc_call_wants_name(NULL, &worker, now));
  begin_call(&CALL, &REACHED);
  assert_false(rpc_call_wants_name(NULL, &worker, now + 10000));
  assert_false(rpc_call_wants_name(NULL, &worker, now + 10999));
  assert_true(rpc_call_wants_name(NULL, &worker, now + 11000));
  assert_false(rpc_call_wants_name(NULL, &worker, now + 13000));
  end_this_call();
  /* the calls of a batch follow one another: each has its own second */
  for (int64_t i = 0; i < 5; i++) {
    begin_call(&CALL, &REACHED);
    assert_false(rpc_call_wants_name(NULL, &worker, now + 20000 + 900 * i));
    end_this_call();
  }
  assert_false(rpc_call_wants_name(NULL, &worker, now + 40000));
}

UNIT_TEST_WITH(names_the_thread_and_removes_the_name, set_up, tear_down)
{
  assert_false(rpc_call_hold(NULL, &worker));
  begin_call(&CALL, &REACHED);
  assert_true(rpc_call_hold(NULL, &worker));
  rpc_call_name(NULL, &own, &worker);
  assert_string_equal(stub.given_name, "rpc-3 session 17 java.util.ArrayList.size");
  assert_int_equal(1, atomic_load(&stub.names_given));
  end_this_call();
  assert_int_equal(0, atomic_load(&stub.names_given));
  begin_call(&CALL, &REACHED);
  end_this_call();
  assert_int_equal(0, atomic_load(&stub.names_given));
}

UNIT_TEST_WITH(names_no_thread_whose_call_runs_elsewhere, set_up, tear_down)
{
  rpc_call_begin(&worker.watch, &CALL, &REACHED, 17, true);
  assert_name("java.util.List.size");
  assert_true(rpc_call_hold(NULL, &worker));
  rpc_call_name(NULL, &own, &worker);
  assert_int_equal(0, atomic_load(&stub.names_given));
  end_this_call();
}

/* --- calls that are ended --- */

static const struct rpc_call_end CANCEL = {.cause = RPC_CALL_CANCELLED, .is_any = true};

static bool interrupt_call(const struct rpc_call_end *call)
{
  return rpc_call_hold(NULL, &worker) && rpc_call_interrupt(NULL, &own, &worker, call);
}

static bool is_interrupted(void)
{
  return atomic_load(&stub.is_interrupted);
}

static enum rpc_call_cause end_call(void)
{
  return rpc_call_end(&worker.watch, worker.runner.thread);
}

UNIT_TEST_WITH(interrupts_a_call_once_and_clears_the_flag_at_its_end, set_up, tear_down)
{
  assert_false(interrupt_call(&CANCEL));
  begin_call(&CALL, &REACHED);
  assert_true(interrupt_call(&CANCEL));
  assert_true(interrupt_call(&CANCEL));
  assert_int_equal(1, atomic_load(&stub.interrupts));
  assert_true(is_interrupted());
  assert_int_equal(RPC_CALL_CANCELLED, rpc_call_ended_by(&worker.watch));
  assert_int_equal(RPC_CALL_CANCELLED, end_call());
  assert_false(is_interrupted());
  begin_call(&CALL, &REACHED);
  assert_int_equal(RPC_CALL_RETURNS, end_call());
}

UNIT_TEST_WITH(interrupts_no_other_call_than_the_one_that_is_meant, set_up, tear_down)
{
  struct rpc_peer peer = {.config.limits.call_timeout_ms = 50};
  struct rpc_call_end end = {.cause = RPC_CALL_TIMED_OUT};
  begin_call(&CALL, &REACHED);
  assert_int_equal(150, rpc_call_find_deadline(&peer, &worker, 100, 105, &end.call));
  assert_int_equal(RPC_CALL_RETURNS, end_call());
  begin_call(&CALL, &REACHED);
  assert_false(interrupt_call(&end));
  assert_int_equal(0, atomic_load(&stub.interrupts));
  /* the next call of a batch has its own time, from when it is first seen */
  assert_int_equal(170, rpc_call_find_deadline(&peer, &worker, 100, 120, &end.call));
  assert_int_equal(170, rpc_call_find_deadline(&peer, &worker, 100, 169, &end.call));
  assert_true(interrupt_call(&end));
  assert_int_equal(RPC_CALL_TIMED_OUT, end_call());
}

UNIT_TEST_WITH(the_smaller_timeout_counts, set_up, tear_down)
{
  static const struct {
    int64_t own_ms, all_ms, deadline_ms;
  } cases[] = {{0, 0, INT64_MAX}, {30, 0, 130}, {0, 40, 140}, {30, 40, 130}, {50, 40, 140}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct rpc_peer peer = {.config.limits.call_timeout_ms = cases[i].all_ms};
    struct operation operation = CALL;
    uint32_t call;
    operation.timeout_ms = cases[i].own_ms;
    worker.watch.is_timed = false;
    begin_call(&operation, NULL);
    assert_int_equal(cases[i].deadline_ms, rpc_call_find_deadline(&peer, &worker, 100, 105, &call));
    end_this_call();
  }
}

UNIT_TEST_WITH(interrupts_no_thread_whose_call_runs_elsewhere, set_up, tear_down)
{
  rpc_call_begin(&worker.watch, &CALL, &REACHED, 17, true);
  assert_true(interrupt_call(&CANCEL));
  assert_int_equal(0, atomic_load(&stub.interrupts));
  assert_int_equal(RPC_CALL_CANCELLED, end_call());
}

UNIT_TEST_WITH(delays_the_interrupt_while_a_nested_request_runs, set_up, tear_down)
{
  begin_call(&CALL, &REACHED);
  rpc_call_begin_nested(&worker.watch, worker.runner.thread);
  rpc_call_begin_nested(&worker.watch, worker.runner.thread);
  assert_true(interrupt_call(&CANCEL));
  assert_false(is_interrupted());
  rpc_call_end_nested(&worker.watch, worker.runner.thread);
  assert_false(is_interrupted());
  rpc_call_end_nested(&worker.watch, worker.runner.thread);
  assert_true(is_interrupted());
  /* the thread has not read its flag, and serves another nested request first */
  rpc_call_begin_nested(&worker.watch, worker.runner.thread);
  assert_false(is_interrupted());
  rpc_call_end_nested(&worker.watch, worker.runner.thread);
  assert_true(is_interrupted());
  assert_int_equal(RPC_CALL_CANCELLED, end_call());
  assert_false(is_interrupted());
}

/* --- calls that end while others visit them --- */

enum { CALLS = 20000 };

static _Atomic bool is_over;
static _Atomic unsigned written, named;

static void *call_again_and_again(void *argument)
{
  (void)argument;
  /* until the other threads have run, too */
  for (unsigned i = 0; i < CALLS || atomic_load(&written) == 0 || atomic_load(&named) == 0; i++) {
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
    end_this_call();
    assert_int_equal(0, atomic_load(&stub.names_given));
    memset(type, '!', sizeof type);
    memset(member, '!', sizeof member);
  }
  atomic_store(&is_over, true);
  return NULL;
}

static void *write_name_repeatedly(void *argument)
{
  (void)argument;
  while (!atomic_load(&is_over)) {
    char name[64];
    if (!rpc_call_write_name(NULL, &worker, name, sizeof name))
      continue;
    assert_string_equal(name, "some.Type.member");
    atomic_fetch_add(&written, 1);
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
  assert_int_equal(0, pthread_create(&threads[1], NULL, write_name_repeatedly, NULL));
  assert_int_equal(0, pthread_create(&threads[2], NULL, name_again_and_again, NULL));
  for (size_t i = 0; i < 3; i++)
    pthread_join(threads[i], NULL);
}

/* --- calls that end while others end them --- */

/* In the environment, how many cancels the race has (tests/release). */
#define CANCELS_VARIABLE "JPEER_RACE_CANCELS"
enum { CANCELS = 20000 };

static _Atomic unsigned cancels; /* that were requested, */
static _Atomic unsigned ended;   /* and calls that were ended by them */
static unsigned cancels_wanted;

static void wait_a_little(unsigned *seed)
{
  for (int i = rand_r(seed) % 400; i > 0; i--)
    atomic_thread_fence(memory_order_seq_cst);
}

/* Like called code that reads its thread's flag: the flag is clear at the beginning of each request,
 * nested ones included. */
static void *call_and_read_flag(void *argument)
{
  unsigned seed = 1;
  (void)argument;
  while (atomic_load(&cancels) < cancels_wanted) {
    assert_false(is_interrupted());
    begin_call(&CALL, &REACHED);
    wait_a_little(&seed);
    if (rand_r(&seed) % 4 == 0) {
      rpc_call_begin_nested(&worker.watch, worker.runner.thread);
      assert_false(is_interrupted());
      wait_a_little(&seed);
      assert_false(is_interrupted());
      rpc_call_end_nested(&worker.watch, worker.runner.thread);
      assert_true(rpc_call_ended_by(&worker.watch) == RPC_CALL_RETURNS || is_interrupted());
    }
    atomic_fetch_add(&ended, end_call() == RPC_CALL_CANCELLED);
  }
  atomic_store(&is_over, true);
  return NULL;
}

static void *cancel_at_random(void *argument)
{
  unsigned seed = 2;
  (void)argument;
  while (!atomic_load(&is_over)) {
    struct rpc_call_end end = CANCEL;
    wait_a_little(&seed);
    end.is_any = rand_r(&seed) % 2 == 0;
    end.call = atomic_load(&worker.watch.calls);
    wait_a_little(&seed);
    if (!rpc_call_hold(NULL, &worker))
      continue;
    const bool is_other = !end.is_any && end.call != atomic_load(&worker.watch.calls);
    assert_int_equal(!is_other, rpc_call_interrupt(NULL, &own, &worker, &end));
    atomic_fetch_add(&cancels, 1);
  }
  return NULL;
}

UNIT_TEST_WITH(no_interrupt_outlasts_its_call_or_hits_a_nested_request, set_up, tear_down)
{
  pthread_t threads[2];
  const char *wanted = getenv(CANCELS_VARIABLE);
  cancels_wanted = wanted == NULL ? CANCELS : (unsigned)strtoul(wanted, NULL, 10);
  atomic_store(&is_over, false);
  assert_int_equal(0, pthread_create(&threads[0], NULL, call_and_read_flag, NULL));
  assert_int_equal(0, pthread_create(&threads[1], NULL, cancel_at_random, NULL));
  for (size_t i = 0; i < 2; i++)
    pthread_join(threads[i], NULL);
  assert_true(atomic_load(&ended) > 0);
}

UNIT_MAIN
