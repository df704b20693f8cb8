#include "rpc/run.h"

#include "base/clock.h"
#include "jni/loading.h"
#include "rpc/call_watch.h"
#include "rpc/callbacks/callbacks.h"
#include "rpc/channel.h"
#include "rpc/control.h"
#include "rpc/peer_state.h"

enum { REFS_KEPT = 1024 };

/* ---- runners ---- */

void rpc_runner_init(struct rpc_runner *runner, struct rpc_peer *peer, struct jvm_thread *thread)
{
  runner->peer = peer;
  runner->thread = thread;
  arena_init(&runner->arena);
}

void rpc_runner_fini(struct rpc_runner *runner)
{
  policy_destroy(runner->policy);
  arena_fini(&runner->arena);
  jvm_stored_fini(&runner->stored);
}

static void forget_stored(struct jvm_stored *stored)
{
  stored->count = 0;
  if (stored->capacity > REFS_KEPT)
    jvm_stored_fini(stored);
}

/* A message, be it a batch, is served under one policy, also where another comes meanwhile. */
static void renew_policy(struct rpc_runner *runner)
{
  struct policy_source *policies = runner->peer->config.policies;
  if (policy_source_is_current(policies, runner->policy))
    return;
  policy_destroy(runner->policy);
  runner->policy = policy_source_take(policies);
}

void rpc_runner_begin_message(struct rpc_runner *runner)
{
  renew_policy(runner);
  arena_reset(&runner->arena);
  if (runner->stored.count > 0)
    forget_stored(&runner->stored);
}

/* ---- sessions ---- */

static void fail_to_hold(struct rpc_run *run, enum jp_status status, const struct jp_error *error,
                         struct outcome *outcome)
{
  outcome_fail(outcome, &run->runner->arena, status == JP_LIMIT ? FAILURE_SERVER : FAILURE_INTERNAL, NULL,
               "%s", error->text);
}

/* Makes a passing session if the key has none; all requests of the message share it. */
static enum jp_status find_guest(struct rpc_run *run, struct rpc_session **session, struct outcome *outcome)
{
  *session = run->guest;
  if (run->guest != NULL)
    return JP_OK;
  struct rpc_peer *peer = run->runner->peer;
  struct rpc_session_key *key = &run->runner->guest_key;
  rpc_session_key_peer_id(key, &run->guest_id);
  if (run->number == 0)
    run->number = atomic_fetch_add(&peer->messages, 1) + 1;
  const struct rpc_session_maker maker = {run->client->maker.address, true, run->number};
  struct jp_error error;
  enum jp_status status = rpc_session_acquire(peer->sessions, key, &maker, &run->guest, &error);
  if (status != JP_OK)
    fail_to_hold(run, status, &error, outcome);
  *session = run->guest;
  return status;
}

/* A client without a key, whose session another thread may be making, finds none. */
static void find_session(const struct rpc_peer *peer, struct rpc_client *client)
{
  struct rpc_session *found = rpc_session_find(peer->sessions, &client->key);
  if (found != NULL)
    atomic_store_explicit(&client->session, found, memory_order_relaxed);
}

enum jp_status rpc_run_find_session(struct rpc_run *run, bool make, struct rpc_session **session,
                                    struct outcome *outcome)
{
  struct rpc_client *client = run->client;
  struct rpc_peer *peer = run->runner->peer;
  if (run->names_session)
    return find_guest(run, session, outcome);
  struct jp_error error;
  enum jp_status status = JP_OK;
  if (client->session == NULL && make)
    status = rpc_client_hold_session(peer, client, &error);
  else if (client->session == NULL)
    find_session(peer, client);
  if (status != JP_OK)
    fail_to_hold(run, status, &error, outcome);
  *session = client->session;
  return status;
}

static struct rpc_session *session_of(const struct rpc_run *run)
{
  return run->guest != NULL ? run->guest : run->client->session;
}

void rpc_run_take_back(struct rpc_run *run)
{
  struct rpc_runner *runner = run->runner;
  if (runner->stored.count > run->stored_before)
    jvm_objects_take_back(runner->thread, rpc_session_objects(session_of(run)), &runner->stored,
                          run->stored_before);
}

/* The client has these refs by now; once the session is released, another may hold it, so none is taken back. */
static void let_guest_go(struct rpc_run *run)
{
  struct rpc_runner *runner = run->runner;
  if (run->guest == NULL)
    return;
  runner->stored.count = run->stored_before;
  rpc_session_release(runner->peer->sessions, run->guest, runner->thread, clock_now_ms());
  run->guest = NULL;
}

struct rpc_authorizer rpc_run_authorizer(const struct rpc_run *run)
{
  return (struct rpc_authorizer){.policy = run->runner->policy,
                                 .names = &run->runner->names,
                                 .channel = run->client->channel,
                                 .session = run->guest == NULL ? &run->client->key : &run->runner->guest_key};
}

/* ---- operations ---- */

/* NULL: the request runs on this thread. */
static const struct jvm_executor *find_executor(const struct rpc_peer *peer, struct text name)
{
  if (name.data == NULL)
    return NULL;
  for (size_t i = 0; i < peer->config.executor_count; i++) {
    if (text_equal(peer->config.executors[i].name, name))
      return &peer->config.executors[i];
  }
  return NULL;
}

static struct jvm_request request_of_result(struct rpc_run *run)
{
  struct rpc_runner *runner = run->runner;
  return (struct jvm_request){.thread = runner->thread,
                              .objects = rpc_session_objects(session_of(run)),
                              .arena = &runner->arena,
                              .limits = &runner->peer->config.limits.java,
                              .stored = &runner->stored,
                              .result = &run->result};
}

bool rpc_run_become_ref(struct rpc_run *run, bool by_value, struct outcome *outcome)
{
  if (run->result.object == NULL || run->runner->peer->config.compat_pal)
    return false;
  struct rpc_authorizer authorizer = rpc_run_authorizer(run);
  const struct jvm_guard guard = rpc_authorizer_guard(&authorizer);
  struct jvm_request request = request_of_result(run);
  request.guard = &guard;
  return jvm_result_become_ref(&request, by_value, outcome);
}

static void end_result(struct rpc_run *run)
{
  const struct jvm_stored *stored = &run->runner->stored;
  if (run->result.object == NULL && !stored->has_slot && !stored->has_entered)
    return;
  const struct jvm_request request = request_of_result(run);
  jvm_result_end(&request);
}

static struct rpc_execution make_execution(struct rpc_run *run, struct rpc_session *session)
{
  struct rpc_runner *runner = run->runner;
  const struct rpc_peer_config *config = &runner->peer->config;
  return (struct rpc_execution){.thread = runner->thread,
                                .objects = rpc_session_objects(session),
                                .arena = &runner->arena,
                                .limits = &config->limits.java,
                                .stored = &runner->stored,
                                .drops_result = run->drops_result,
                                .compat_pal = config->compat_pal,
                                .answer_max = config->compat_pal ? 0 : run->answer_max,
                                .result = &run->result,
                                .callbacks = run->client->callbacks,
                                .watch = runner->watch,
                                .meta = runner->peer->meta,
                                .authorizer = rpc_run_authorizer(run)};
}

static void run_member(struct rpc_run *run, const struct operation *operation, struct outcome *outcome)
{
  struct rpc_runner *runner = run->runner;
  struct rpc_session *session;
  run->client->calls++;
  if (rpc_run_find_session(run, true, &session, outcome) != JP_OK)
    return;
  struct rpc_execution execution = make_execution(run, session);
  const struct jvm_executor *executor = find_executor(runner->peer, operation->thread_affinity);
  bool tells_throwable = operation->tells_throwable && !run->drops_result;
  if (tells_throwable)
    jvm_throwable_want(runner->thread);
  rpc_call_begin(runner->watch, operation, &run->reached, run->client->number, executor != NULL);
  if (executor == NULL)
    rpc_execute(&execution, operation, &run->reached, outcome);
  else
    rpc_execute_on(executor, &execution, operation, &run->reached, outcome);
  rpc_call_end(runner->watch, runner->thread);
  if (outcome->kind == OUTCOME_ERROR && outcome->loader_count == 0)
    rpc_run_take_back(run);
  if (tells_throwable) {
    const struct jvm_request request = request_of_result(run);
    jvm_throwable_tell(&request, outcome);
  }
}

/* struct meta_loaders, with a struct rpc_run */

static bool main_finds(void *context, struct text class_name)
{
  struct rpc_run *run = context;
  return jvm_main_loader_finds(run->runner->thread, class_name);
}

static bool is_loaded(void *context, struct text class_name)
{
  struct rpc_run *run = context;
  return jvm_class_is_loaded_once(run->runner->thread, class_name);
}

/* False: memory is short. */
static bool open_frame(struct rpc_run *run)
{
  if (!run->is_framed && jvm_request_begin(run->runner->thread) != JP_OK)
    return false;
  run->is_framed = true;
  return true;
}

bool rpc_run_look_up(struct rpc_run *run, const struct operation *operation, struct op_look *look,
                     struct outcome *outcome)
{
  struct rpc_session *session;
  *outcome = (struct outcome){.kind = OUTCOME_VOID};
  if (!open_frame(run)) {
    outcome_fail(outcome, &run->runner->arena, FAILURE_INTERNAL, NULL, "out of memory");
    return false;
  }
  if (rpc_run_find_session(run, true, &session, outcome) != JP_OK)
    return false;
  struct rpc_execution execution = make_execution(run, session);
  bool found = rpc_execute_look_up(&execution, operation, look, outcome);
  if (!found && outcome->loader_count == 0)
    rpc_run_take_back(run);
  return found;
}

bool rpc_run_find_loaders(struct rpc_run *run, struct meta_loaders *loaders)
{
  if (!open_frame(run))
    return false;
  *loaders = (struct meta_loaders){run, main_finds, is_loaded};
  return true;
}

static void run_meta(struct rpc_run *run, const struct operation *operation, struct outcome *outcome)
{
  struct rpc_runner *runner = run->runner;
  struct rpc_meta *meta = runner->peer->meta;
  struct meta_loaders loaders = {run, main_finds, is_loaded};
  struct jp_error error;
  if (run->drops_result)
    return; /* a query changes nothing, and nobody reads its answer */
  if (meta == NULL) {
    outcome_fail(outcome, &runner->arena, FAILURE_SERVER, NULL, "this peer serves no metadata");
  } else if (rpc_meta_open(meta, runner->policy, rpc_channels[run->client->channel].policy, &loaders,
                           operation, &outcome->body, &error) == JP_OK) {
    outcome->kind = OUTCOME_BODY;
    return;
  } else {
    outcome_fail(outcome, &runner->arena, FAILURE_SERVER, NULL, "%s", error.text);
  }
  outcome->status = TEXT("ERROR");
}

/* ---- requests ---- */

void rpc_run_begin(struct rpc_run *run, const struct uuid *session, bool drops_result)
{
  run->drops_result = drops_result;
  run->names_session = session != NULL;
  if (session != NULL)
    run->guest_id = *session;
  run->stored_before = run->runner->stored.count;
  run->reached = (struct rpc_reached_member){0};
}

void rpc_run_operation(struct rpc_run *run, const struct operation *operation, struct outcome *outcome)
{
  *outcome = (struct outcome){.kind = OUTCOME_VOID};
  if (jvm_request_begin(run->runner->thread) != JP_OK) {
    outcome_fail(outcome, &run->runner->arena, FAILURE_INTERNAL, NULL, "out of memory");
    return;
  }
  run->is_framed = true;
  if (operation->kind == OP_META)
    run_meta(run, operation, outcome);
  else if (operation->kind == OP_CONTROL)
    rpc_control_run(run, operation, outcome);
  else
    run_member(run, operation, outcome);
}

void rpc_run_end(struct rpc_run *run)
{
  if (run->is_framed) {
    end_result(run);
    jvm_request_end(run->runner->thread);
  }
  run->is_framed = false;
  let_guest_go(run);
}
