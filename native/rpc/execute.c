#include "rpc/execute.h"

#include "base/primitives.h"
#include "jni/fetch.h"
#include "jni/look.h"
#include "op/type.h"
#include "rpc/call_watch.h"

/* What the names alone decide. by_object: of jvm_guard's check_names. */
static enum jp_status judge_names(const struct rpc_execution *execution, const struct operation *operation,
                                  bool *by_object, struct outcome *outcome)
{
  return operation->kind == OP_DESCRIBE
             ? rpc_authorize_class(&execution->authorizer, operation, execution->arena, outcome)
             : rpc_authorize_names(&execution->authorizer, operation, by_object, execution->arena, outcome);
}

/* A name that a loader is asked for is a call of its loadClass, which the policy judges as any other. */
static enum jp_status judge_loader(const struct rpc_execution *execution, const struct jvm_request *request,
                                   struct outcome *outcome)
{
  const struct operation *operation = request->operation;
  enum jp_status status = judge_names(execution, operation, NULL, outcome);
  if (status != JP_OK)
    return status; /* before an error tells what is wrong with the loader */
  struct op_value name = {.kind = OP_TEXT, .text = operation->type};
  const struct operation asked = {.kind = OP_CALL,
                                  .type = TEXT("java.lang.ClassLoader"),
                                  .member = TEXT("loadClass"),
                                  .has_instance = true,
                                  .instance = operation->loader,
                                  .args = &name,
                                  .arg_count = 1};
  /* One of its own, because an authorizer keeps what it has found out about the operation in hand. */
  struct rpc_authorizer authorizer = execution->authorizer;
  const struct jvm_guard guard = rpc_authorizer_guard(&authorizer);
  struct jvm_request judged = *request;
  judged.operation = &asked;
  judged.guard = &guard;
  struct jvm_target target;
  return jvm_resolve(&judged, &target, outcome);
}

static bool find_class(const struct rpc_execution *execution, const struct jvm_request *request,
                       struct op_look *look, struct outcome *outcome)
{
  const struct operation *operation = request->operation;
  bool *by_object = rpc_authorizer_may_ask_object(operation) ? &look->only_ancestors : NULL;
  if (judge_names(execution, operation, by_object, outcome) != JP_OK)
    return false;
  if (operation->loader != 0 && judge_loader(execution, request, outcome) != JP_OK)
    return false;
  bool found = jvm_look_class(request, look, outcome);
  if (!found && look->only_ancestors)
    (void)judge_names(execution, operation, NULL, outcome);
  return found;
}

static bool look_at_subject(const struct rpc_execution *execution, const struct jvm_request *request,
                            struct op_look *look, struct outcome *outcome)
{
  *look = (struct op_look){.tells_class = request->operation->type.data != NULL};
  return look->tells_class ? find_class(execution, request, look, outcome) : jvm_look(request, look, outcome);
}

static void describe(const struct rpc_execution *execution, const struct jvm_request *request,
                     struct outcome *outcome)
{
  struct op_look look;
  *outcome = (struct outcome){.kind = OUTCOME_VOID};
  if (request->drops_result || !look_at_subject(execution, request, &look, outcome))
    return;
  const struct rpc_authorizer *authorizer = &execution->authorizer;
  struct op_value described = {.kind = OP_DOCUMENT};
  enum jp_status status =
      rpc_meta_describe(execution->meta, authorizer->policy, rpc_authorizer_channel(authorizer), &look,
                        request->arena, &described.text);
  if (status != JP_OK)
    outcome_fail(outcome, request->arena, FAILURE_SERVER, NULL, "%s",
                 status == JP_LIMIT ? "the object has too many members" : "out of memory");
  else
    *outcome = (struct outcome){
        .kind = OUTCOME_VALUE, .type = TEXT("java.util.Map"), .has_value = true, .value = described};
}

/* The class of an instance that is given by value: as its type says, with the package and in place of a primitive its
 * wrapper. A type that cannot be read is reported by the code that makes the instance. */
static struct text class_of_value(const struct op_value *value, struct arena *arena)
{
  struct op_type type;
  if (op_type_parse_argument(value->type, &type, NULL) != JP_OK)
    return value->type;
  const struct primitive *primitive = type.dimensions > 0 ? NULL : primitive_find_letter(type.base);
  return primitive == NULL ? op_type_binary_name(&type, arena) : primitive->wrapper;
}

/* Of an operation that names no class: the class of its instance is meant, and judged as if it were named. *named is the
 * operation with that. False: the outcome tells why. */
static bool name_class(const struct jvm_request *request, struct operation *named, struct outcome *outcome)
{
  const struct operation *operation = request->operation;
  *named = *operation;
  named->implies_type = true;
  if (operation->receiver == NULL) {
    named->type = jvm_instance_class(request, outcome);
    return named->type.data != NULL;
  }
  named->type = class_of_value(operation->receiver, request->arena);
  if (named->type.data == NULL)
    outcome_fail(outcome, request->arena, FAILURE_INTERNAL, NULL, "out of memory");
  return named->type.data != NULL;
}

static struct jvm_request make_request(const struct rpc_execution *execution,
                                       const struct operation *operation, const struct jvm_guard *guard)
{
  return (struct jvm_request){.thread = execution->thread,
                              .objects = execution->objects,
                              .operation = operation,
                              .arena = execution->arena,
                              .limits = execution->limits,
                              .guard = guard,
                              .stored = execution->stored,
                              .drops_result = execution->drops_result,
                              .compat_pal = execution->compat_pal,
                              .answer_max = execution->answer_max,
                              .result = execution->result,
                              .callbacks = execution->callbacks};
}

bool rpc_execute_look_up(struct rpc_execution *execution, const struct operation *operation,
                         struct op_look *look, struct outcome *outcome)
{
  const struct jvm_guard guard = rpc_authorizer_guard(&execution->authorizer);
  const struct jvm_request request = make_request(execution, operation, &guard);
  return find_class(execution, &request, look, outcome);
}

void rpc_execute(struct rpc_execution *execution, const struct operation *operation,
                 struct rpc_reached_member *reached, struct outcome *outcome)
{
  *reached = (struct rpc_reached_member){0};
  const struct jvm_guard guard = rpc_authorizer_guard(&execution->authorizer);
  struct jvm_request request = make_request(execution, operation, &guard);
  if (operation->kind == OP_FETCH) {
    jvm_fetch(&request, outcome);
    return;
  }
  if (operation->kind == OP_DESCRIBE) {
    describe(execution, &request, outcome);
    return;
  }
  struct jvm_target target;
  struct operation named;
  if (operation->type.data == NULL) {
    if (!name_class(&request, &named, outcome))
      return;
    request.operation = operation = &named;
    reached->implied_type = named.type;
  }
  if (operation->loader != 0 && judge_loader(execution, &request, outcome) != JP_OK)
    return;
  if (jvm_resolve(&request, &target, outcome) != JP_OK)
    return;
  reached->class_name = target.declaring_class;
  reached->member = operation->piece == NULL ? target.member : operation->piece->written;
  reached->is_field = target.kind == JVM_FIELD || target.kind == JVM_STATIC_FIELD;
  reached->modifiers = target.modifiers;
  reached->resolved = target.resolved;
  rpc_call_reach(execution->watch);
  jvm_invoke(&request, &target, outcome);
}

/* ---- on another thread ---- */

struct elsewhere {
  struct rpc_execution *execution;
  const struct operation *operation;
  struct rpc_reached_member *reached;
  struct outcome *outcome;
};

/* jvm_executor_call.run, with a struct elsewhere */
static void execute_elsewhere(void *argument, struct jvm_thread *thread)
{
  const struct elsewhere *elsewhere = argument;
  if (jvm_request_begin(thread) != JP_OK) {
    outcome_fail(elsewhere->outcome, elsewhere->execution->arena, FAILURE_INTERNAL, NULL, "out of memory");
    return;
  }
  rpc_execute(elsewhere->execution, elsewhere->operation, elsewhere->reached, elsewhere->outcome);
  jvm_result_hold(thread, elsewhere->execution->result);
  jvm_request_end(thread);
}

void rpc_execute_on(const struct jvm_executor *executor, struct rpc_execution *execution,
                    const struct operation *operation, struct rpc_reached_member *reached,
                    struct outcome *outcome)
{
  struct elsewhere elsewhere = {execution, operation, reached, outcome};
  const struct jvm_executor_call call = {.executor = executor,
                                         .run = execute_elsewhere,
                                         .argument = &elsewhere,
                                         .arena = execution->arena,
                                         .stack_frames_max = execution->limits->stack_frames_max};
  *reached = (struct rpc_reached_member){0};
  (void)jvm_executor_run(execution->thread, &call, outcome);
}
