#include "rpc/execute.h"

void rpc_execute(struct rpc_execution *execution, const struct operation *operation, struct rpc_from *from,
                 struct outcome *outcome)
{
  *from = (struct rpc_from){0};
  if (rpc_judge_names(&execution->judge, operation, execution->arena, outcome) != JP_OK)
    return;
  const struct jvm_guard guard = {.context = &execution->judge, .check = rpc_judge_argument};
  const struct jvm_request request = {.thread = execution->thread,
                                      .objects = execution->objects,
                                      .operation = operation,
                                      .arena = execution->arena,
                                      .limits = execution->limits,
                                      .guard = &guard};
  struct jvm_target target;
  if (jvm_resolve(&request, &target, outcome) != JP_OK)
    return;
  if (rpc_judge_target(&execution->judge, operation, &target, execution->arena, outcome) != JP_OK)
    return;
  from->class_name = target.declaring_class;
  from->member = target.member;
  from->is_field = target.kind == JVM_FIELD || target.kind == JVM_STATIC_FIELD;
  from->modifiers = target.modifiers;
  jvm_invoke(&request, &target, outcome);
}
