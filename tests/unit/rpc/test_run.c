/* Operations and their outcomes with no codec, on a thread that belongs to no crew. */
#include "rpc/peer_state.h"
#include "service_bench.h"
#include "tests/unit/unit.h"

#include <pthread.h>

static struct stub_member members[] = {STUB_MEMBER_ADD, STUB_MEMBER_CONSTRUCTOR};

static const struct operation add = {.kind = OP_CALL, .type = TEXT("C"), .member = TEXT("add")};
static const struct operation make = {.kind = OP_NEW, .type = TEXT("C"), .member = TEXT("<init>")};

static const struct jvm_executor executors[] = {
    {.name = TEXT("GUI"), .class_name = TEXT("a.Gui"), .member = TEXT("later")},
    {.name = TEXT("IO"), .class_name = TEXT("a.Io"), .member = TEXT("pool")},
};

/* A thread with a runner of its own. */
struct plain_thread {
  struct service_bench *bench;
  struct rpc_client *client;
  void (*test)(struct rpc_run *run);
};

static void *run_plain_thread(void *argument)
{
  const struct plain_thread *thread = argument;
  struct rpc_runner *runner = test_calloc(1, sizeof *runner);
  rpc_runner_init(runner, thread->bench->peer, stub_thread());
  rpc_runner_begin_message(runner);
  struct rpc_run run = {.runner = runner, .client = thread->client};
  thread->test(&run);
  rpc_runner_fini(runner);
  test_free(runner);
  return NULL;
}

static void check_on_plain_thread(void (*test)(struct rpc_run *run))
{
  struct service_bench *bench = service_bench_create(&(struct service_bench_options){
      .members = members, .member_count = 2, .executors = executors, .executor_count = COUNT_OF(executors)});
  struct rpc_client_info info = {.channel = OP_CHANNEL_ZMQ, .routing_id = TEXT("caller")};
  struct plain_thread thread = {.bench = bench, .client = bench_open(bench, &info), .test = test};
  pthread_t id;
  assert_int_equal(pthread_create(&id, NULL, run_plain_thread, &thread), 0);
  pthread_join(id, NULL);
  bench_close(bench, thread.client, NULL);
  assert_true(service_bench_destroy(bench));
}

/* PLAIN_TEST(name) { ... } has the parameter run. */
#define PLAIN_TEST(name)                                                                                     \
  static void name##_on_run(struct rpc_run *run);                                                            \
  UNIT_TEST(name)                                                                                            \
  {                                                                                                          \
    check_on_plain_thread(name##_on_run);                                                                    \
  }                                                                                                          \
  static void name##_on_run(struct rpc_run *run)

static struct outcome run_one(struct rpc_run *run, const struct operation *operation)
{
  struct outcome outcome;
  rpc_run_begin(run, NULL, false);
  rpc_run_operation(run, operation, &outcome);
  rpc_run_end(run);
  return outcome;
}

/* ---- thread affinity ---- */

static struct operation with_affinity(struct operation operation, struct text name)
{
  operation.thread_affinity = name;
  return operation;
}

PLAIN_TEST(runs_where_the_affinity_says)
{
  static const struct {
    struct text name;
    const struct jvm_executor *executor;
  } cases[] = {
      {TEXT("IO"), &executors[1]},
      {TEXT("GUI"), &executors[0]},
      {TEXT("gui"), NULL},
      {TEXT("GUI2"), NULL},
      {TEXT(""), NULL},
      {TEXT_ABSENT, NULL},
  };
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    const struct operation operation = with_affinity(add, cases[i].name);
    stub.executor = NULL;
    struct outcome outcome = run_one(run, &operation);
    assert_int_equal(outcome.kind, OUTCOME_VALUE);
    assert_int_equal(outcome.value.integer, 8);
    assert_ptr_equal(stub.executor, cases[i].executor);
    assert_true(text_equal(run->reached.member, TEXT("add")));
    assert_int_equal(stub.frames, 0);
  }
}

PLAIN_TEST(keeps_the_objects_of_executors_in_the_session)
{
  const struct operation operation = with_affinity(make, TEXT("GUI"));
  struct outcome outcome = run_one(run, &operation);
  assert_int_equal(outcome.ref, 1);
  rpc_run_take_back(run);
  assert_int_equal(jvm_objects_count(rpc_session_objects(run->client->session)), 0);
}

PLAIN_TEST(the_peers_own_methods_have_no_affinity)
{
  const struct operation ping = {.kind = OP_CONTROL, .command = OP_GC, .thread_affinity = TEXT("GUI")};
  const struct operation query = {.kind = OP_META, .thread_affinity = TEXT("GUI")};
  stub.meta = "[]";
  assert_int_equal(run_one(run, &ping).kind, OUTCOME_VOID);
  struct outcome outcome = run_one(run, &query);
  assert_int_equal(outcome.kind, OUTCOME_BODY);
  outcome.body.close(outcome.body.state);
  assert_null(stub.executor);
}

/* ---- taking back ---- */

PLAIN_TEST(takes_back_what_the_request_in_hand_has_stored)
{
  struct outcome outcome = run_one(run, &make);
  assert_int_equal(outcome.ref, 1);
  rpc_run_begin(run, NULL, false);
  rpc_run_operation(run, &make, &outcome);
  assert_int_equal(outcome.ref, 2);
  rpc_run_take_back(run);
  rpc_run_end(run);
  assert_int_equal(jvm_objects_count(rpc_session_objects(run->client->session)), 1);
}

PLAIN_TEST(stores_nothing_that_nobody_reads)
{
  struct outcome outcome;
  rpc_run_begin(run, NULL, true);
  rpc_run_operation(run, &make, &outcome);
  rpc_run_end(run);
  assert_int_equal(run->runner->stored.count, 0);
}

PLAIN_TEST(runs_in_the_session_that_a_request_names)
{
  struct uuid session;
  struct outcome outcome;
  uuid_random(&session);
  for (uint32_t ref = 1; ref <= 2; ref++) {
    rpc_run_begin(run, &session, false);
    rpc_run_operation(run, &make, &outcome);
    assert_int_equal(outcome.ref, ref);
    rpc_run_end(run);
    assert_null(run->guest);
  }
  assert_null(run->client->session);
  assert_int_equal(run_one(run, &make).ref, 1);
}

static struct outcome control(struct rpc_run *run, enum op_command command, uint32_t ref)
{
  struct op_value argument = {.kind = OP_REF, .ref = ref};
  const struct operation operation = {
      .kind = OP_CONTROL, .command = command, .args = &argument, .arg_count = ref != 0};
  return run_one(run, &operation);
}

PLAIN_TEST(runs_every_control_method)
{
  assert_int_equal(control(run, OP_PING, 0).kind, OUTCOME_VOID);
  assert_int_equal(control(run, OP_DELETE_SESSION, 0).kind, OUTCOME_VOID);
  assert_int_equal(control(run, OP_DELETE_OBJECT, 1).failure, FAILURE_SERVER);
  assert_null(run->client->session);
  run_one(run, &make);
  assert_int_equal(control(run, OP_DELETE_OBJECT, 1).kind, OUTCOME_VOID);
  assert_int_equal(control(run, OP_DELETE_OBJECT, 1).failure, FAILURE_SERVER);
  run_one(run, &make);
  assert_int_equal(control(run, OP_DELETE_SESSION, 0).kind, OUTCOME_VOID);
  assert_int_equal(jvm_objects_count(rpc_session_objects(run->client->session)), 0);
  assert_int_equal(control(run, OP_GC, 0).kind, OUTCOME_VOID);
  assert_int_equal(stub.collected, 1);
}

UNIT_MAIN
