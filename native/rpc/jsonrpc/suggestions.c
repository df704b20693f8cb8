/* Near names for a request whose class, member or own name was not found. */
#include "rpc/jsonrpc/json_codec.h"
#include "rpc/jsonrpc/json_params.h"
#include "rpc/jsonrpc/procedures.h"
#include "rpc/suggest/suggest.h"

/* Of the peer's own dotted names. */
static void suggest_procedures(const struct serving *serving, struct outcome *outcome)
{
  struct text method = serving->request->method;
  struct nearest nearest;
  nearest_begin(&nearest, method, method);
  for (size_t i = 0; i < rpc_procedure_count; i++) {
    struct text name = rpc_procedures[i].name;
    bool is_served = !rpc_procedures[i].only_1_1 || serving->request->version == JSONRPC_1_1;
    if (is_served && !rpc_is_bare_name(name))
      nearest_offer(&nearest, name, nearest_distance(name, method, nearest.limit));
  }
  rpc_suggest(&nearest, TEXT(""), TEXT(""), &serving->run.runner->arena, outcome);
}

/* Of the members of params that a request may leave out, the one that this request needs. */
static void hint_param(const struct serving *serving, const struct operation *operation,
                       struct outcome *outcome)
{
  const struct jsonrpc_request *request = serving->request;
  bool lacks_args = outcome->failure == FAILURE_NOT_FOUND && operation->arg_count == 0 &&
                    text_equal(outcome->throwable_type, TEXT("java.lang.NoSuchMethodException"));
  if (serving->by_value || !request->has_params || request->params.kind != JSON_KIND_OBJECT)
    return;
  if (outcome->lacks_instance)
    rpc_hint_param(request->params, RPC_PARAM_INSTANCE, &serving->run.runner->arena, outcome);
  else if (lacks_args)
    rpc_hint_param(request->params, RPC_PARAM_ARGS, &serving->run.runner->arena, outcome);
}

/* The Java implementation suggests nothing. */
void serving_suggest_names(const struct serving *serving, const struct operation *operation,
                           struct outcome *outcome)
{
  const struct rpc_authorizer authorizer = rpc_run_authorizer(&serving->run);
  const struct rpc_suggester suggester = {.catalog = serving->peer->config.catalog,
                                          .policy = authorizer.policy,
                                          .channel = rpc_authorizer_channel(&authorizer),
                                          .arena = &serving->run.runner->arena};
  if (outcome->kind != OUTCOME_ERROR || serving->peer->config.compat_pal)
    return;
  hint_param(serving, operation, outcome);
  if (outcome->failure != FAILURE_NOT_FOUND || outcome->suggestion_count > 0)
    return;
  struct operation named = *operation;
  if (serving->run.reached.implied_type.data != NULL) {
    named.type = serving->run.reached.implied_type;
    operation = &named;
  }
  if (serving->by_value && operation->type.len == 0)
    suggest_procedures(serving, outcome);
  else if (serving->by_value && operation->kind != OP_DESCRIBE)
    rpc_suggest_for_own_name(&suggester, operation, outcome);
  else
    rpc_suggest_for_operation(&suggester, operation, outcome);
}
