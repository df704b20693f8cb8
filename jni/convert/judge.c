#include "jni/convert/judge.h"

#include "jni/runtime/throwables.h"
#include "jni/types/selection.h"

static struct jvm_method *find_method(struct jvm_thread *thread, jclass declaring,
                                      struct judged_member member)
{
  struct jvm_class *owner = jvm_class_of(thread, declaring);
  const struct member_table *table = owner == NULL ? NULL : member_table_of(thread, owner);
  for (size_t i = 0; table != NULL && i < table->method_count; i++) {
    struct jvm_method *method = &table->methods[i];
    if (strcmp(method->raw_name, member.name) == 0 && strcmp(method->raw_descriptor, member.descriptor) == 0)
      return method;
  }
  return NULL;
}

static bool ask(const struct jvm_request *request, enum op_kind kind, const struct jvm_target *target,
                struct outcome *denied)
{
  const struct operation operation = {.kind = kind, .type = target->named_class, .member = target->member};
  return request->guard->check_target(request->guard->context, &operation, target, request->arena, denied) ==
         JP_OK;
}

bool judge_call(const struct jvm_request *request, struct jvm_class *class, jclass declaring,
                struct judged_member member, struct outcome *denied)
{
  if (request->guard == NULL || request->guard->check_target == NULL)
    return true;
  struct jvm_method *method = find_method(request->thread, declaring, member);
  struct jvm_holder *holders;
  size_t holder_count;
  if (method == NULL ||
      !selection_find(request->thread, request->arena, method, class, &holders, &holder_count)) {
    if (!throwable_take_outcome(request->thread, request->arena, request->limits->stack_frames_max, denied))
      outcome_fail(denied, request->arena, FAILURE_SERVER, NULL, "out of memory");
    return false;
  }
  uint64_t verdicts[OP_CHANNELS] = {0};
  const struct jvm_lineage lineage = {request->thread, request->arena, method, class, class};
  const struct jvm_target target = {.kind = JVM_METHOD,
                                    .lineage = &lineage,
                                    .modifiers = method->modifiers,
                                    .named_class = class->element_name,
                                    .declaring_class = method->owner->name,
                                    .runtime_class = class->element_name,
                                    .holders = holders,
                                    .holder_count = holder_count,
                                    .member = method->name,
                                    .verdicts = verdicts};
  return ask(request, OP_CALL, &target, denied);
}

bool judge_range(const struct jvm_request *request, const struct jvm_class *class, size_t from, size_t count,
                 struct outcome *denied)
{
  if (request->guard == NULL || request->guard->check_target == NULL)
    return true;
  uint64_t verdicts[OP_CHANNELS] = {0};
  const struct jvm_target target = {.kind = JVM_FIELD,
                                    .modifiers = JVM_ACC_PUBLIC,
                                    .named_class = class->element_name,
                                    .declaring_class = class->element_name,
                                    .runtime_class = class->element_name,
                                    .member = arena_printf(request->arena, "[%zu:%zu]", from, from + count),
                                    .verdicts = verdicts};
  return ask(request, OP_GET, &target, denied);
}
