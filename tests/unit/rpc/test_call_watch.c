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

static const struct rpc_client CLIENT = {.number = 17};

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
  rpc_call_begin(&worker.watch, operation, reached, &CLIENT, false);
  if (reached != NULL)
    rpc_call_reach(&worker.watch);
}

static void end_this_call(void)
{
  rpc_call_end(&worker.watch, worker.runner.thread);
}

static void assert_told(const char *expected)
{
  char name[64];
  assert_true(rpc_call_write_name(NULL, &worker, name, sizeof name));
  assert_string_equal(name, expected);
}

UNIT_TEST_WITH(tells_the_class_that_is_reached_or_else_that_is_written, set_up, tear_down)
{
  char name[64];
  assert_false(rpc_call_write_name(NULL, &worker, name, sizeof name));
  rpc_call_begin(&worker.watch, &CALL, &REACHED, &CLIENT, false);
  assert_told("java.util.List.size");
  rpc_call_reach(&worker.watch);
  assert_told("java.util.ArrayList.size");
  end_this_call();
  assert_false(rpc_call_write_name(NULL, &worker, name, sizeof name));

  const struct operation on_ref = {
      .kind = OP_CALL, .member = TEXT("size"), .has_instance = true, .instance = 4};
  begin_call(&on_ref, NULL);
  assert_told("ref 4.size");
  end_this_call();
  const struct operation fetch = {.kind = OP_FETCH, .has_instance = true, .instance = 4};
  begin_call(&fetch, NULL);
  assert_told("ref 4.jpeer.fetch");
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
  /* the calls of a batch follow one another, and the second is counted for each call */
  for (int64_t i = 0; i < 5; i++) {
    begin_call(&CALL, &REACHED);
    assert_false(rpc_call_wants_name(NULL, &worker, now + 20000 + 900 * i));
    end_this_call();
  }
  assert_false(rpc_call_wants_name(NULL, &worker, now + 40000));
}

UNIT_TEST_WITH(names_the_thread_and_takes_the_name_back, set_up, tear_down)
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
  rpc_call_begin(&worker.watch, &CALL, &REACHED, &CLIENT, true);
  assert_told("java.util.List.size");
  assert_true(rpc_call_hold(NULL, &worker));
  rpc_call_name(NULL, &own, &worker);
  assert_int_equal(0, atomic_load(&stub.names_given));
  end_this_call();
}

/* --- calls that are ended --- */

static const struct rpc_call_end CANCEL = {.cause = RPC_CALL_CANCELLED, .is_any = true};

/* Behaves like an interrupter of the crew. */
static bool end_held(const struct rpc_call_end *call)
{
  char name[64];
  struct rpc_call_end meant = *call;
  const bool is_meant = rpc_call_end_held(NULL, &worker, &meant, name, sizeof name);
  if (is_meant)
    rpc_call_interrupt(NULL, &own, &worker);
  rpc_call_release(NULL, &worker);
  return is_meant;
}

static bool interrupt_call(const struct rpc_call_end *call)
{
  return rpc_call_hold(NULL, &worker) && end_held(call);
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
  assert_int_equal(150, rpc_call_find_deadline(&peer, &worker, 100, &end));
  assert_int_equal(RPC_CALL_RETURNS, end_call());
  begin_call(&CALL, &REACHED);
  assert_false(interrupt_call(&end));
  assert_int_equal(0, atomic_load(&stub.interrupts));
  assert_int_equal(150, rpc_call_find_deadline(&peer, &worker, 100, &end));
  assert_true(interrupt_call(&end));
  assert_int_equal(INT64_MAX, rpc_call_find_deadline(&peer, &worker, 100, &end));
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
    struct rpc_call_end asked;
    operation.timeout_ms = cases[i].own_ms;
    worker.watch.is_timed = false;
    begin_call(&operation, NULL);
    assert_int_equal(cases[i].deadline_ms, rpc_call_find_deadline(&peer, &worker, 100, &asked));
    end_this_call();
  }
}

UNIT_TEST_WITH(a_timeout_counts_from_the_arrival_of_the_message, set_up, tear_down)
{
  struct rpc_peer peer = {.config.limits.call_timeout_ms = 40};
  struct rpc_call_end asked;
  _Atomic int64_t arrived_ns = 70 * 1000000;
  worker.watch.arrived_ns = &arrived_ns;
  begin_call(&CALL, NULL);
  assert_int_equal(110, rpc_call_find_deadline(&peer, &worker, 100, &asked));
  end_this_call();
  /* a request that has waited longer does not begin */
  assert_int_equal(RPC_CALL_TIMED_OUT, rpc_call_find_lateness(&worker.watch, 40, &CALL));
  assert_int_equal(RPC_CALL_RETURNS, rpc_call_find_lateness(&worker.watch, 0, &CALL));
  atomic_store(&arrived_ns, clock_now_ns());
  assert_int_equal(RPC_CALL_RETURNS, rpc_call_find_lateness(&worker.watch, 40000, &CALL));
  atomic_store(&arrived_ns, 0); /* unknown */
  assert_int_equal(RPC_CALL_RETURNS, rpc_call_find_lateness(&worker.watch, 40, &CALL));
}

UNIT_TEST_WITH(interrupts_no_thread_whose_call_runs_elsewhere, set_up, tear_down)
{
  rpc_call_begin(&worker.watch, &CALL, &REACHED, &CLIENT, true);
  assert_true(interrupt_call(&CANCEL));
  assert_int_equal(0, atomic_load(&stub.interrupts));
  assert_int_equal(RPC_CALL_CANCELLED, end_call());
}

/* Of two requests that are nested in the worker's call, the outer request is first. */
static struct rpc_call_watch nested[2];

static int set_up_nested(void **state)
{
  memset(nested, 0, sizeof nested);
  for (size_t i = 0; i < 2; i++)
    rpc_call_watch_init(&nested[i], "");
  return set_up(state);
}

static int tear_down_nested(void **state)
{
  for (size_t i = 0; i < 2; i++)
    rpc_call_watch_fini(&nested[i]);
  return tear_down(state);
}

static void begin_nested(size_t i)
{
  rpc_call_begin_nested(&worker.watch, &nested[i], worker.runner.thread, 0, NULL);
  rpc_call_begin(&nested[i], &CALL, NULL, &CLIENT, false);
}

static enum rpc_call_cause end_nested(size_t i)
{
  const enum rpc_call_cause cause = rpc_call_end(&nested[i], worker.runner.thread);
  rpc_call_end_nested(&worker.watch, worker.runner.thread);
  return cause;
}

UNIT_TEST_WITH(delays_the_interrupt_while_a_nested_request_runs, set_up_nested, tear_down_nested)
{
  begin_call(&CALL, &REACHED);
  begin_nested(0);
  begin_nested(1);
  assert_true(interrupt_call(&CANCEL));
  assert_false(is_interrupted());
  assert_int_equal(RPC_CALL_RETURNS, end_nested(1));
  assert_false(is_interrupted());
  assert_int_equal(RPC_CALL_RETURNS, end_nested(0));
  assert_true(is_interrupted());
  /* the thread has not read its flag, and serves another nested request first */
  begin_nested(0);
  assert_false(is_interrupted());
  assert_int_equal(RPC_CALL_RETURNS, end_nested(0));
  assert_true(is_interrupted());
  assert_int_equal(RPC_CALL_CANCELLED, end_call());
  assert_false(is_interrupted());
}

UNIT_TEST_WITH(a_nested_request_times_out_by_itself, set_up_nested, tear_down_nested)
{
  struct rpc_peer peer = {.config.limits.call_timeout_ms = 0};
  struct rpc_call_end end = {.cause = RPC_CALL_TIMED_OUT};
  struct operation brief = CALL;
  brief.timeout_ms = 30;
  begin_call(&CALL, &REACHED);
  begin_nested(0);
  rpc_call_begin_nested(&worker.watch, &nested[1], worker.runner.thread, 200 * 1000000, NULL);
  rpc_call_begin(&nested[1], &brief, NULL, &CLIENT, false);
  assert_int_equal(230, rpc_call_find_deadline(&peer, &worker, 300, &end));
  assert_int_equal(2, end.level);
  assert_true(interrupt_call(&end));
  assert_true(is_interrupted());
  assert_int_equal(INT64_MAX, rpc_call_find_deadline(&peer, &worker, 300, &end));
  assert_int_equal(RPC_CALL_TIMED_OUT, end_nested(1));
  assert_false(is_interrupted()); /* neither in the call around it, */
  assert_int_equal(RPC_CALL_RETURNS, end_nested(0));
  assert_int_equal(RPC_CALL_RETURNS, end_call());
  /* nor does the requested interrupt reach a later call on the same thread */
  begin_call(&CALL, &REACHED);
  assert_false(interrupt_call(&end));
  begin_nested(0);
  begin_nested(1);
  assert_false(interrupt_call(&end));
  assert_false(is_interrupted());
  assert_int_equal(RPC_CALL_RETURNS, end_nested(1));
  assert_int_equal(RPC_CALL_RETURNS, end_nested(0));
  assert_int_equal(RPC_CALL_RETURNS, end_call());
}

UNIT_TEST_WITH(a_timeout_ends_no_other_nested_request_of_the_same_number, set_up_nested, tear_down_nested)
{
  struct rpc_peer peer = {.config.limits.call_timeout_ms = 0};
  struct rpc_call_end end = {0};
  struct operation brief = CALL;
  brief.timeout_ms = 30;
  begin_call(&CALL, &REACHED);
  rpc_call_begin_nested(&worker.watch, &nested[0], worker.runner.thread, 200 * 1000000, NULL);
  rpc_call_begin(&nested[0], &brief, NULL, &CLIENT, false);
  assert_int_equal(230, rpc_call_find_deadline(&peer, &worker, 300, &end));
  assert_int_equal(RPC_CALL_RETURNS, end_nested(0));
  begin_nested(1); /* the first call of another worker, as the late one was of its own */
  assert_false(interrupt_call(&end));
  assert_int_equal(INT64_MAX, rpc_call_find_deadline(&peer, &worker, 300, &end));
  assert_false(interrupt_call(&(struct rpc_call_end){.cause = RPC_CALL_TIMED_OUT, .call = 1, .level = 1}));
  assert_false(is_interrupted());
  assert_int_equal(RPC_CALL_RETURNS, end_nested(1));
  assert_int_equal(RPC_CALL_RETURNS, end_call());
}

/* As the interrupter ends what find_deadline names. */
static bool end_due(void)
{
  struct rpc_peer peer = {0};
  struct rpc_call_end end = {0};
  return rpc_call_find_deadline(&peer, &worker, clock_now_ms(), &end) <= clock_now_ms() &&
         interrupt_call(&end);
}

UNIT_TEST_WITH(a_nested_message_is_cancelled_by_itself, set_up_nested, tear_down_nested)
{
  _Atomic enum rpc_call_cause causes[2] = {RPC_CALL_RETURNS, RPC_CALL_RETURNS};
  begin_call(&CALL, &REACHED);
  rpc_call_begin_nested(&worker.watch, &nested[0], worker.runner.thread, 0, &causes[0]);
  rpc_call_begin(&nested[0], &CALL, NULL, &CLIENT, false);
  rpc_call_begin_nested(&worker.watch, &nested[1], worker.runner.thread, 0, &causes[1]);
  assert_false(end_due());
  atomic_store(&causes[1], RPC_CALL_CANCELLED);
  assert_false(end_due()); /* it is in no call, and is asked again soon */
  struct rpc_peer peer = {0};
  struct rpc_call_end end;
  const int64_t again_ms = rpc_call_find_deadline(&peer, &worker, 0, &end);
  assert_true(again_ms <= clock_now_ms() + 1000);
  rpc_call_begin(&nested[1], &CALL, NULL, &CLIENT, false);
  assert_true(end_due());
  assert_true(is_interrupted());
  assert_false(end_due());
  assert_int_equal(RPC_CALL_CANCELLED, rpc_call_end(&nested[1], worker.runner.thread));
  assert_false(is_interrupted());
  assert_int_equal(RPC_CALL_CANCELLED,
                   rpc_call_find_lateness(&nested[1], 0, &CALL)); /* the rest of a batch */
  rpc_call_end_nested(&worker.watch, worker.runner.thread);
  /* an interrupt that is due waits for what is nested in the message */
  begin_nested(1);
  atomic_store(&causes[0], RPC_CALL_CANCELLED);
  assert_true(end_due());
  assert_false(is_interrupted());
  assert_int_equal(RPC_CALL_RETURNS, end_nested(1));
  assert_true(is_interrupted());
  assert_int_equal(RPC_CALL_CANCELLED, end_nested(0));
  assert_false(is_interrupted());
  /* another message at the place of one that was found */
  end = (struct rpc_call_end){
      .cause = RPC_CALL_CANCELLED, .level = 1, .call = atomic_load(&nested[0].calls) + 1};
  begin_nested(0);
  assert_false(interrupt_call(&end));
  assert_int_equal(RPC_CALL_RETURNS, end_nested(0));
  assert_int_equal(RPC_CALL_RETURNS, end_call());
}

/* --- calls that end while others visit them --- */

enum { CALLS = 20000 };

static _Atomic bool is_over;
static _Atomic unsigned told, named;

static void *call_again_and_again(void *argument)
{
  (void)argument;
  /* until the other threads have passed, too */
  for (unsigned i = 0; i < CALLS || atomic_load(&told) == 0 || atomic_load(&named) == 0; i++) {
    /* they are valid as long as the call */
    char type[] = "some.Type";
    char member[] = "member";
    const struct operation operation = {
        .kind = OP_CALL, .type = {type, strlen(type)}, .member = {member, strlen(member)}};
    struct rpc_reached_member reached = {0};
    const struct rpc_client client = {.number = i};
    rpc_call_begin(&worker.watch, &operation, &reached, &client, false);
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

static void *tell_again_and_again(void *argument)
{
  (void)argument;
  while (!atomic_load(&is_over)) {
    char name[64];
    if (!rpc_call_write_name(NULL, &worker, name, sizeof name))
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

/* --- calls that end while others end them --- */

/* The variable in the environment with the number of cancels of the race (tests/release). */
#define CANCELS_VARIABLE "JPEER_RACE_CANCELS"
enum { CANCELS = 20000 };

static _Atomic unsigned cancels;                 /* that were requested, */
static _Atomic unsigned ended;                   /* and calls that were ended by them, */
static _Atomic unsigned nested_ended;            /* and nested ones, */
static _Atomic unsigned nested_cancelled;        /* and nested messages */
static _Atomic enum rpc_call_cause nested_cause; /* of the nested message; others set it at any time */
static unsigned cancels_wanted;

static void wait_a_little(unsigned *seed)
{
  for (int i = rand_r(seed) % 400; i > 0; i--)
    atomic_thread_fence(memory_order_seq_cst);
}

/* On few processors the two threads may run one after the other for long, so that nobody ends a nested call. */
static bool is_race_over(int64_t since_ms)
{
  enum { RACE_MAX_MS = 60000 };
  const bool has_all = atomic_load(&cancels) >= cancels_wanted;
  const bool has_each =
      atomic_load(&ended) > 0 && atomic_load(&nested_ended) > 0 && atomic_load(&nested_cancelled) > 0;
  return has_all && (has_each || clock_now_ms() - since_ms > RACE_MAX_MS);
}

/* Like application code that reads its thread's flag: the flag is clear at the beginning of each request,
 * nested ones included. */
static void *call_and_read_flag(void *argument)
{
  unsigned seed = 1;
  const int64_t since_ms = clock_now_ms();
  struct operation late = CALL;
  (void)argument;
  late.timeout_ms = 1;
  while (!is_race_over(since_ms)) {
    assert_false(is_interrupted());
    begin_call(&CALL, &REACHED);
    wait_a_little(&seed);
    if (rand_r(&seed) % 4 == 0) {
      atomic_store(&nested_cause, RPC_CALL_RETURNS);
      rpc_call_begin_nested(&worker.watch, &nested[0], worker.runner.thread, 1, &nested_cause);
      assert_false(is_interrupted());
      wait_a_little(&seed);
      rpc_call_begin(&nested[0], rand_r(&seed) % 2 == 0 ? &CALL : &late, NULL, &CLIENT, false);
      wait_a_little(&seed);
      const bool was_interrupted =
          is_interrupted(); /* read first: the cause is written before the interrupt */
      assert_true(!was_interrupted || rpc_call_ended_by(&nested[0]) != RPC_CALL_RETURNS);
      const enum rpc_call_cause cause = rpc_call_end(&nested[0], worker.runner.thread);
      atomic_fetch_add(&nested_ended, cause == RPC_CALL_TIMED_OUT);
      atomic_fetch_add(&nested_cancelled, cause == RPC_CALL_CANCELLED);
      assert_true(cause != RPC_CALL_CANCELLED || atomic_load(&nested_cause) == RPC_CALL_CANCELLED);
      assert_false(is_interrupted());
      const bool was_ended = rpc_call_ended_by(&worker.watch) != RPC_CALL_RETURNS;
      rpc_call_end_nested(&worker.watch, worker.runner.thread);
      assert_true(!was_ended || is_interrupted());
    }
    atomic_fetch_add(&ended, end_call() == RPC_CALL_CANCELLED);
  }
  atomic_store(&is_over, true);
  return NULL;
}

static void cancel_nested_message(unsigned *seed)
{
  atomic_store(&nested_cause, RPC_CALL_CANCELLED);
  wait_a_little(seed);
  (void)end_due();
  atomic_fetch_add(&cancels, 1);
}

/* A quarter of them the nested message; half of the others whatever call there is, half of the rest what is late. */
static void *cancel_at_random(void *argument)
{
  unsigned seed = 2;
  (void)argument;
  while (!atomic_load(&is_over)) {
    struct rpc_call_end end = CANCEL;
    wait_a_little(&seed);
    if (rand_r(&seed) % 4 == 0) {
      cancel_nested_message(&seed);
      continue;
    }
    end.is_any = rand_r(&seed) % 2 == 0;
    end.call = atomic_load(&worker.watch.calls);
    if (!end.is_any && rand_r(&seed) % 2 == 0) {
      struct rpc_peer peer = {0};
      (void)rpc_call_find_deadline(&peer, &worker, clock_now_ms(), &end);
      if (end.level == 0)
        continue; /* no nested request is late */
    }
    const struct rpc_call_watch *meant = end.level == 0 ? &worker.watch : &nested[0];
    wait_a_little(&seed);
    if (!rpc_call_hold(NULL, &worker))
      continue;
    const bool is_other = !end.is_any && end.call != atomic_load(&meant->calls);
    const bool is_meant = end_held(&end);
    /* a nested request may be over, or at its beginning or end */
    assert_true(meant == &nested[0] ? !(is_meant && is_other) : is_meant == !is_other);
    atomic_fetch_add(&cancels, 1);
  }
  return NULL;
}

UNIT_TEST_WITH(no_interrupt_outlasts_its_call_or_hits_another_request, set_up_nested, tear_down_nested)
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
  assert_true(atomic_load(&nested_ended) > 0);
  assert_true(atomic_load(&nested_cancelled) > 0);
}

UNIT_MAIN
