#include "rpc/control.h"

static void answer_ping(struct rpc_run *run, const struct operation *operation, struct outcome *outcome)
{
  (void)run, (void)operation, (void)outcome;
}

static void delete_objects(struct rpc_run *run, const struct operation *operation, struct outcome *outcome)
{
  struct rpc_runner *runner = run->runner;
  struct rpc_session *session;
  if (rpc_run_find_session(run, false, &session, outcome) != JP_OK)
    return;
  for (size_t i = 0; i < operation->arg_count; i++) {
    uint32_t ref = operation->args[i].ref;
    enum jp_status status = session == NULL
                                ? JP_NOT_FOUND
                                : jvm_objects_delete(runner->thread, rpc_session_objects(session), ref);
    if (status == JP_OK)
      continue;
    outcome_fail(outcome, &runner->arena, status == JP_NOT_FOUND ? FAILURE_SERVER : FAILURE_INTERNAL, NULL,
                 "No such object: %u", ref);
    outcome->is_unknown_ref = status == JP_NOT_FOUND;
    return;
  }
}

static void delete_session(struct rpc_run *run, const struct operation *operation, struct outcome *outcome)
{
  (void)operation;
  struct rpc_session *session;
  if (rpc_run_find_session(run, false, &session, outcome) == JP_OK && session != NULL)
    rpc_session_clear(session, run->runner->thread);
}

static void collect_garbage(struct rpc_run *run, const struct operation *operation, struct outcome *outcome)
{
  (void)operation, (void)outcome;
  jvm_gc(run->runner->thread);
}

/* A switch without a default and no table: the compiler refuses one that leaves out a method. */
void rpc_control_run(struct rpc_run *run, const struct operation *operation, struct outcome *outcome)
{
  switch (operation->command) {
  case OP_PING:
    answer_ping(run, operation, outcome);
    return;
  case OP_DELETE_OBJECT:
    delete_objects(run, operation, outcome);
    return;
  case OP_DELETE_SESSION:
    delete_session(run, operation, outcome);
    return;
  case OP_GC:
    collect_garbage(run, operation, outcome);
    return;
  case OP_COMMANDS:
    return;
  }
}
