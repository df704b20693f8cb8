#include "rpc/execute.h"

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
  if (jvm_resolve(&request, &target, outcome) != JP_OK)
    return;
  reached->class_name = target.declaring_class;
  reached->member = target.member;
  reached->is_field = target.kind == JVM_FIELD || target.kind == JVM_STATIC_FIELD;
  reached->modifiers = target.modifiers;
  reached->resolved = target.resolved;
  jvm_invoke(&request, &target, outcome);
}
