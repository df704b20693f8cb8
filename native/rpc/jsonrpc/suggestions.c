/* Near names for a request whose class, member or own name was not found. */
#include "rpc/jsonrpc/procedures.h"
#include "rpc/jsonrpc/serving.h"
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

/* The Java implementation suggests nothing. */
void serving_suggest_names(const struct serving *serving, const struct operation *operation,
                           struct outcome *outcome)
{
  const struct rpc_authorizer authorizer = rpc_run_authorizer(&serving->run);
  const struct rpc_suggester suggester = {.catalog = serving->peer->config.catalog,
                                          .policy = authorizer.policy,
                                          .channel = rpc_authorizer_channel(&authorizer),
                                          .arena = &serving->run.runner->arena};
  if (outcome->kind != OUTCOME_ERROR || outcome->failure != FAILURE_NOT_FOUND ||
      serving->peer->config.compat_pal)
    return;
  if (serving->by_value && operation->type.len == 0)
    suggest_procedures(serving, outcome);
  else if (serving->by_value)
    rpc_suggest_for_own_name(&suggester, operation, outcome);
  else
    rpc_suggest_for_operation(&suggester, operation, outcome);
}
