#include "rpc/run.h"

#include "base/clock.h"
#include "base/primitives.h"
#include "jni/describe.h"
#include "jni/executors.h"
#include "jni/fetch.h"
#include "jni/loading.h"
#include "op/type.h"
#include "rpc/call_watch.h"
#include "rpc/callbacks/callbacks.h"
#include "rpc/channel.h"
#include "rpc/control.h"
#include "rpc/operation_audit.h"
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
  buffer_fini(&runner->audit_line);
  arena_fini(&runner->arena);
  jvm_stored_fini(&runner->stored);
}

void rpc_runner_begin_message(struct rpc_runner *runner, const struct principal *principal)
{
  struct policy_source *policies = principal == NULL ? runner->peer->config.policies : principal->policies;
  /* A message, even a batch, is served under one policy, although the policy may change during that time. */
  if (!policy_source_is_current(policies, runner->policy)) {
    policy_destroy(runner->policy);
    runner->policy = policy_source_take(policies);
  }
  arena_reset(&runner->arena);
  judge_drop_uses(&runner->names);
  if (runner->watch != NULL)
    runner->watch->of_message = RPC_CALL_RETURNS;
  if (runner->stored.count == 0)
    return;
  runner->stored.count = 0;
  if (runner->stored.capacity > REFS_KEPT)
    jvm_stored_fini(&runner->stored);
}

/* ---- sessions ---- */

/* Makes a passing session if no session has the key; all requests of the message share it. */
static enum jp_status find_guest(struct rpc_run *run, struct rpc_session **session, struct outcome *outcome)
{
  *session = run->guest;
  if (run->guest != NULL)
    return JP_OK;
  struct rpc_peer *peer = run->runner->peer;
  struct op_session_key *key = &run->runner->guest_key;
  op_session_key_peer_id(key, principal_number(run->client->principal), &run->guest_id);
  if (run->number == 0)
    run->number = atomic_fetch_add(&peer->messages, 1) + 1;
  const struct rpc_session_maker maker = {run->client->maker.address, true, run->number,
                                          run->client->principal};
  struct jp_error error;
  enum jp_status status = rpc_session_acquire(peer->sessions, key, &maker, &run->guest, &error);
  if (status != JP_OK)
    outcome_fail_error(outcome, &run->runner->arena, &error);
  *session = run->guest;
  return status;
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
  /* rpc_session_find finds nothing for a client without a key, whose session another thread may be making
   * now. */
  struct rpc_session *found;
  if (client->session == NULL && make)
    status = rpc_client_hold_session(peer, client, &error);
  else if (client->session == NULL && (found = rpc_session_find(peer->sessions, &client->key)) != NULL)
    atomic_store_explicit(&client->session, found, memory_order_relaxed);
  if (status != JP_OK)
    outcome_fail_error(outcome, &run->runner->arena, &error);
  *session = client->session;
  return status;
}

static struct rpc_session *session_of(const struct rpc_run *run)
{
  return run->guest != NULL ? run->guest : run->client->session;
}

void rpc_run_release_result(struct rpc_run *run)
{
  struct rpc_runner *runner = run->runner;
  if (runner->stored.count > run->stored_before)
    jvm_objects_roll_back(runner->thread, rpc_session_objects(session_of(run)), &runner->stored,
                          run->stored_before);
}

struct judge rpc_run_judge(const struct rpc_run *run)
{
  return rpc_runner_judge(run->runner, run->client->channel,
                          run->guest == NULL ? &run->client->key : &run->runner->guest_key);
}

/* ---- operations on members: where the policy and the JVM meet ---- */

/* Called after the run's session was found. */
static void begin_operation(struct rpc_run *run, const struct rpc_session *session,
                            const struct operation *operation)
{
  run->judge = rpc_run_judge(run);
  judge_drop_uses(&run->runner->names);
  run->request.objects = rpc_session_objects(session);
  run->request.operation = operation;
  run->request.callbacks = run->client->callbacks;
}

/* Asks the policy whether the names alone are allowed. by_object: as in judge_names. */
static enum jp_status ask_about_names(struct rpc_run *run, bool *by_object, struct outcome *outcome)
{
  const struct operation *operation = run->request.operation;
  struct arena *arena = run->request.arena;
  return operation->kind == OP_DESCRIBE ? judge_class(&run->judge, operation, arena, outcome)
                                        : judge_names(&run->judge, operation, by_object, arena, outcome);
}

/* Asking a loader for a name is a call of its loadClass, which the policy judges like other calls. */
static enum jp_status ask_about_loader(struct rpc_run *run, struct outcome *outcome)
{
  const struct operation *operation = run->request.operation;
  enum jp_status status = ask_about_names(run, NULL, outcome);
  if (status != JP_OK)
    return status; /* a denial is reported before a fault of the loader */
  struct op_value name = {.kind = OP_TEXT, .text = operation->type};
  const struct operation asked = {.kind = OP_CALL,
                                  .type = TEXT("java.lang.ClassLoader"),
                                  .member = TEXT("loadClass"),
                                  .has_instance = true,
                                  .instance = operation->loader,
                                  .args = &name,
                                  .arg_count = 1};
  /* A copy, because run->judge keeps the verdicts on the arguments of the operation in flight. */
  struct judge judge = run->judge;
  struct jvm_request judged = run->request;
  judged.operation = &asked;
  judged.judge = &judge;
  struct jvm_target target;
  return jvm_resolve(&judged, &target, outcome);
}

static bool find_class(struct rpc_run *run, struct op_description *look, struct outcome *outcome)
{
  const struct operation *operation = run->request.operation;
  bool *by_object = judge_may_ask_object(operation) ? &look->only_ancestors : NULL;
  if (ask_about_names(run, by_object, outcome) != JP_OK)
    return false;
  if (operation->loader != 0 && ask_about_loader(run, outcome) != JP_OK)
    return false;
  bool found = jvm_describe_class(&run->request, look, outcome);
  if (!found && look->only_ancestors)
    (void)ask_about_names(run, NULL, outcome);
  return found;
}

static void describe_operation(struct rpc_run *run, struct outcome *outcome)
{
  const struct jvm_request *request = &run->request;
  struct op_description look = {.is_of_class = request->operation->type.data != NULL};
  *outcome = (struct outcome){.kind = OUTCOME_VOID};
  if (request->drops_result)
    return;
  bool is_seen = look.is_of_class ? find_class(run, &look, outcome) : jvm_describe(request, &look, outcome);
  if (!is_seen)
    return;
  const struct judge *judge = &run->judge;
  struct op_value described = {.kind = OP_DOCUMENT};
  enum jp_status status = rpc_meta_describe(run->runner->peer->meta, judge->policy, judge->policy_channel,
                                            &look, request->arena, &described.text);
  if (status == JP_LIMIT)
    outcome_fail(outcome, request->arena, FAILURE_SERVER, NULL, "the object has too many members");
  else if (status != JP_OK)
    outcome_fail_memory(outcome);
  else
    *outcome = (struct outcome){
        .kind = OUTCOME_VALUE, .type = TEXT("java.util.Map"), .has_value = true, .value = described};
}

/* Completes an operation that names no class: the class of its instance is meant, and judged as if it were
 * named. *named is the operation with that class. False: *outcome is an error. */
static bool name_class(const struct jvm_request *request, struct operation *named, struct outcome *outcome)
{
  const struct operation *operation = request->operation;
  *named = *operation;
  named->implies_type = true;
  if (operation->receiver == NULL) {
    named->type = jvm_instance_class(request, outcome);
    return named->type.data != NULL;
  }
  /* Here the class of the object that will be made is found. For a primitive type this is its wrapper class.
   * A malformed type is reported later, by the code that makes the instance. */
  struct op_type type;
  named->type = operation->receiver->type;
  if (op_type_parse_argument(named->type, &type, NULL) == JP_OK) {
    const struct primitive *primitive = type.dimensions > 0 ? NULL : primitive_find_letter(type.base);
    named->type = primitive == NULL ? op_type_binary_name(&type, request->arena) : primitive->wrapper;
  }
  if (named->type.data == NULL)
    outcome_fail_memory(outcome);
  return named->type.data != NULL;
}

/* Runs an OP_NEW, OP_CALL, OP_GET, OP_PUT, OP_FETCH or OP_DESCRIBE. run->reached becomes the member that
 * was reached. */
static void execute_operation(struct rpc_run *run, struct outcome *outcome)
{
  struct jvm_request *request = &run->request;
  struct rpc_reached_member *reached = &run->reached;
  struct jvm_target target;
  if (request->operation->kind == OP_FETCH) {
    jvm_fetch(request, outcome);
    return;
  }
  if (request->operation->kind == OP_COLUMNS) {
    jvm_columns(request, outcome);
    return;
  }
  if (request->operation->kind == OP_ROWS) {
    jvm_rows(request, outcome);
    return;
  }
  if (request->operation->kind == OP_ASSEMBLE) {
    jvm_assemble(request, outcome);
    return;
  }
  if (request->operation->kind == OP_DESCRIBE) {
    describe_operation(run, outcome);
    return;
  }
  if (request->operation->type.data == NULL) {
    if (!name_class(request, &run->named, outcome))
      return;
    request->operation = &run->named;
    reached->implied_type = run->named.type;
  }
  if (request->operation->loader != 0 && ask_about_loader(run, outcome) != JP_OK)
    return;
  if (jvm_resolve(request, &target, outcome) != JP_OK)
    return;
  const struct op_piece *piece = request->operation->piece;
  reached->class_name = target.facts.declaring_class;
  reached->member = piece == NULL ? target.facts.member : piece->written;
  reached->is_field = target.facts.kind == OP_MEMBER_FIELD || target.facts.kind == OP_MEMBER_STATIC_FIELD;
  reached->modifiers = target.facts.modifiers;
  reached->resolved = target.resolved;
  if (audit_is_on()) {
    reached->has_verdict = true;
    reached->verdict = judge_kept_verdict(&run->judge, request->operation->kind, target.facts.verdicts);
  }
  rpc_call_reach(run->runner->watch);
  jvm_invoke(request, &target, outcome);
}

/* ---- on a thread of an executor ---- */

struct elsewhere {
  struct rpc_run *run;
  struct outcome *outcome;
};

/* jvm_executor_call.run, with a struct elsewhere. The policy is asked on the executor's thread, too. */
static void execute_elsewhere(void *argument, struct jvm_thread *thread)
{
  const struct elsewhere *elsewhere = argument;
  struct rpc_run *run = elsewhere->run;
  if (jvm_request_begin(thread) != JP_OK) {
    outcome_fail_memory(elsewhere->outcome);
    return;
  }
  execute_operation(run, elsewhere->outcome);
  jvm_result_hold(thread, run->request.result);
  jvm_request_end(thread);
}

/* Returns when the executor has run the operation. */
static void execute_on(const struct jvm_executor *executor, struct rpc_run *run, struct outcome *outcome)
{
  struct elsewhere elsewhere = {run, outcome};
  const struct jvm_executor_call call = {.executor = executor,
                                         .run = execute_elsewhere,
                                         .argument = &elsewhere,
                                         .arena = run->request.arena,
                                         .stack_frames_max = run->request.limits->stack_frames_max};
  (void)jvm_executor_run(run->request.thread, &call, outcome);
}

/* ---- the result ---- */

bool rpc_run_become_ref(struct rpc_run *run, bool by_value, struct outcome *outcome)
{
  if (run->result.object == NULL || run->runner->peer->config.compat_pal)
    return false;
  return jvm_result_become_ref(&run->request, by_value, outcome);
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

/* Returns the principal for which the call counts. NULL: the call does not count. A request that is nested in
 * a callback does not count, because it runs on the thread of a call that is counted already. */
static struct principal *find_counted(const struct rpc_run *run)
{
  const struct rpc_worker *own = run->client->principal == NULL ? NULL : rpc_worker_now();
  return own != NULL && run->runner == &own->runner ? run->client->principal : NULL;
}

/* True if the operation has found all that its arguments name. */
static bool has_resolved(const struct rpc_run *run, const struct outcome *outcome)
{
  return outcome->kind != OUTCOME_ERROR ||
         (run->reached.class_name.data != NULL && outcome->failure == FAILURE_SERVER);
}

static void run_member(struct rpc_run *run, const struct operation *operation, struct outcome *outcome)
{
  struct rpc_runner *runner = run->runner;
  struct rpc_session *session;
  const enum rpc_call_cause late =
      rpc_call_find_lateness(runner->watch, runner->peer->config.limits.call_timeout_ms, operation);
  if (late != RPC_CALL_RETURNS) {
    rpc_call_fail(late, run->request.arena, outcome);
    return;
  }
  run->client->calls++;
  if (rpc_run_find_session(run, true, &session, outcome) != JP_OK)
    return;
  struct principal *principal = find_counted(run);
  if (!principal_enter(principal, PRINCIPAL_CALLS)) {
    struct jp_error error;
    (void)principal_fail_limit(principal, PRINCIPAL_CALLS, &error);
    outcome_fail_error(outcome, run->request.arena, &error);
    return;
  }
  begin_operation(run, session, operation);
  const struct jvm_executor *executor = find_executor(runner->peer, operation->thread_affinity);
  bool returns_throwable = operation->returns_throwable && !run->request.drops_result;
  if (returns_throwable)
    jvm_throwable_keep(runner->thread);
  if (audit_switches.has_starts)
    run->started = operation_audit_start(run->client, operation);
  rpc_call_begin(runner->watch, operation, &run->reached, run->client, executor != NULL);
  if (executor == NULL)
    execute_operation(run, outcome);
  else
    execute_on(executor, run, outcome);
  enum rpc_call_cause cause = rpc_call_end(runner->watch, runner->thread);
  if (audit_is_on() && runner->watch != NULL && runner->watch->started != 0) {
    run->started = runner->watch->started;
    runner->watch->started = 0;
  }
  principal_leave(principal, PRINCIPAL_CALLS);
  if (has_resolved(run, outcome))
    judge_note_uses(&run->judge);
  if (cause != RPC_CALL_RETURNS)
    rpc_call_fail(cause, run->request.arena, outcome);
  if (outcome->kind == OUTCOME_ERROR && outcome->loader_count == 0)
    rpc_run_release_result(run);
  /* the operation may be run->named, which is not valid any more; the functions for results need no
   * operation */
  run->request.operation = NULL;
  if (returns_throwable)
    jvm_throwable_store(&run->request, outcome);
}

/* struct meta_loaders, with a struct rpc_run */

static bool main_finds_class(void *context, struct text class_name)
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

bool rpc_run_look_up(struct rpc_run *run, const struct operation *operation, struct op_description *look,
                     struct outcome *outcome)
{
  struct rpc_session *session;
  *outcome = (struct outcome){.kind = OUTCOME_VOID};
  if (!open_frame(run)) {
    outcome_fail_memory(outcome);
    return false;
  }
  if (rpc_run_find_session(run, true, &session, outcome) != JP_OK)
    return false;
  begin_operation(run, session, operation);
  bool found = find_class(run, look, outcome);
  if (found)
    judge_note_uses(&run->judge);
  run->request.operation = NULL;
  if (!found && outcome->loader_count == 0)
    rpc_run_release_result(run);
  return found;
}

bool rpc_run_find_loaders(struct rpc_run *run, struct meta_loaders *loaders)
{
  if (!open_frame(run))
    return false;
  *loaders = (struct meta_loaders){run, main_finds_class, is_loaded};
  return true;
}

static void run_meta(struct rpc_run *run, const struct operation *operation, struct outcome *outcome)
{
  struct rpc_runner *runner = run->runner;
  struct rpc_meta *meta = runner->peer->meta;
  struct meta_loaders loaders = {run, main_finds_class, is_loaded};
  struct jp_error error;
  if (run->request.drops_result)
    return; /* the query need not run: it changes nothing, and its answer is dropped */
  if (meta == NULL) {
    outcome_fail(outcome, &runner->arena, FAILURE_SERVER, NULL, "this peer serves no metadata");
  } else if (rpc_meta_open(meta, runner->policy, judge_policy_channels[run->client->channel], &loaders,
                           operation, &outcome->body, &error) == JP_OK) {
    outcome->kind = OUTCOME_BODY;
    return;
  } else {
    outcome_fail_error(outcome, &runner->arena, &error);
  }
  outcome->status = TEXT("ERROR");
}

/* ---- requests ---- */

enum metrics_outcome rpc_metrics_outcome(const struct outcome *outcome)
{
  static const enum metrics_outcome words[] = {
      [FAILURE_INVALID_REQUEST] = METRICS_OUTCOME_INVALID, [FAILURE_INVALID_PARAMS] = METRICS_OUTCOME_INVALID,
      [FAILURE_NOT_FOUND] = METRICS_OUTCOME_NOT_FOUND,     [FAILURE_SERVER] = METRICS_OUTCOME_FAILED,
      [FAILURE_DENIED] = METRICS_OUTCOME_DENIED,           [FAILURE_INTERNAL] = METRICS_OUTCOME_INTERNAL,
      [FAILURE_NOT_SAFE] = METRICS_OUTCOME_INVALID};
  if (outcome->kind != OUTCOME_ERROR)
    return METRICS_OUTCOME_OK;
  if (outcome->failure != FAILURE_SERVER)
    return words[outcome->failure];
  if (outcome->throwable != NULL)
    return METRICS_OUTCOME_EXCEPTION;
  if (text_equal(outcome->reason, TEXT("timeout")))
    return METRICS_OUTCOME_TIMEOUT;
  const bool is_cancelled =
      text_equal(outcome->reason, TEXT("cancelled")) || text_equal(outcome->reason, TEXT("left"));
  return is_cancelled ? METRICS_OUTCOME_CANCELLED : METRICS_OUTCOME_FAILED;
}

/* Sets only some fields, because rpc_run_begin or the operation sets the other fields. A ping need not clear
 * fields that it does not use. */
void rpc_run_init(struct rpc_run *run, struct rpc_runner *runner, struct rpc_client *client,
                  size_t answer_max)
{
  const struct rpc_peer_config *config = &runner->peer->config;
  run->runner = runner;
  run->client = client;
  run->number = 0;
  run->request = (struct jvm_request){.thread = runner->thread,
                                      .arena = &runner->arena,
                                      .limits = &config->limits.java,
                                      .judge = &run->judge,
                                      .stored = &runner->stored,
                                      .compat_pal = config->compat_pal,
                                      .answer_max = config->compat_pal ? 0 : answer_max,
                                      .result = &run->result};
  run->names_session = false;
  run->is_framed = false;
  run->guest = NULL;
  run->stored_before = runner->stored.count;
  run->reached = (struct rpc_reached_member){.is_field = false};
  run->started = 0;
  run->result = (struct jvm_result){.object = NULL};
}

void rpc_run_begin(struct rpc_run *run, const struct uuid *session, bool drops_result)
{
  run->request.drops_result = drops_result;
  run->names_session = session != NULL;
  if (session != NULL)
    run->guest_id = *session;
  run->stored_before = run->runner->stored.count;
  run->reached = (struct rpc_reached_member){0};
  run->started = 0;
}

/* What no list of members can name: the operations of the peer itself. False: *outcome is the refusal. */
static bool may_change_peer(const struct rpc_run *run, const struct operation *operation,
                            struct outcome *outcome)
{
  const struct op_control_method *control =
      operation->kind == OP_CONTROL ? &op_control_methods[operation->command] : NULL;
  if (control == NULL ? operation->kind != OP_ASSEMBLE : control->is_safe)
    return true;
  outcome_fail(outcome, &run->runner->arena, FAILURE_DENIED, NULL,
               "RPC access denied: the request asks for idempotent members only (options.idempotent), and "
               "%.*s may change something",
               TEXT_ARGS(control == NULL ? TEXT("jpeer.assemble") : control->name));
  return false;
}

void rpc_run_operation(struct rpc_run *run, const struct operation *operation, struct outcome *outcome)
{
  *outcome = (struct outcome){.kind = OUTCOME_VOID};
  if (jvm_request_begin(run->runner->thread) != JP_OK) {
    outcome_fail_memory(outcome);
    return;
  }
  run->is_framed = true;
  if (operation->only_idempotent && !may_change_peer(run, operation, outcome))
    return;
  if (operation->kind == OP_META)
    run_meta(run, operation, outcome);
  else if (operation->kind == OP_CONTROL)
    rpc_control_run(run, operation, outcome);
  else
    run_member(run, operation, outcome);
}

void rpc_run_end(struct rpc_run *run)
{
  struct rpc_runner *runner = run->runner;
  if (run->is_framed) {
    if (run->result.object != NULL || runner->stored.has_slot || runner->stored.has_entered)
      jvm_result_end(&run->request);
    jvm_request_end(runner->thread);
  }
  run->is_framed = false;
  if (run->guest == NULL)
    return;
  /* These refs are kept, because the answer has named them, and another client may hold the session after it
   * is released. */
  runner->stored.count = run->stored_before;
  rpc_session_release(runner->peer->sessions, run->guest, runner->thread, clock_now_ms());
  run->guest = NULL;
}
