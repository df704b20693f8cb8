#include "rpc/execute.h"

/* The names are judged before a class is looked up by them, those in the arguments too. */
static enum jp_status find_out(struct rpc_execution *execution, const struct jvm_request *request,
                               struct jvm_target *target, struct outcome *outcome)
{
  enum jp_status status =
      rpc_authorize_names(&execution->authorizer, request->operation, execution->arena, outcome);
  if (status == JP_OK)
    status = rpc_authorize_types(&execution->authorizer, request->operation, execution->arena, outcome);
  if (status == JP_OK)
    status = jvm_resolve(request, target, outcome);
  if (status == JP_OK)
    status =
        rpc_authorize_target(&execution->authorizer, request->operation, target, execution->arena, outcome);
  return status;
}

void rpc_execute(struct rpc_execution *execution, const struct operation *operation,
                 struct rpc_reached_member *reached, struct outcome *outcome)
{
  *reached = (struct rpc_reached_member){0};
  const struct jvm_guard guard = rpc_authorizer_guard(&execution->authorizer);
  const struct jvm_request request = {.thread = execution->thread,
                                      .objects = execution->objects,
                                      .operation = operation,
                                      .arena = execution->arena,
                                      .limits = execution->limits,
                                      .guard = &guard,
                                      .stored = execution->stored,
                                      .drops_result = execution->drops_result};
  struct jvm_target target;
  bool is_settled = jvm_find(&request, &target) &&
                    rpc_authorizer_has_allowed(&execution->authorizer, operation, target.verdicts);
  if (!is_settled && find_out(execution, &request, &target, outcome) != JP_OK)
    return;
  reached->class_name = target.declaring_class;
  reached->member = target.member;
  reached->is_field = target.kind == JVM_FIELD || target.kind == JVM_STATIC_FIELD;
  reached->modifiers = target.modifiers;
  jvm_invoke(&request, &target, outcome);
}
