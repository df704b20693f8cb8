#include "rpc/jsonrpc/near_params.h"

#include "rpc/suggest/nearest.h"

/* The nearest name; data NULL: none, or the member itself is there. */
static struct text find_near(struct json_value params, struct text missing)
{
  struct nearest nearest;
  struct json_cursor cursor = json_enter(params);
  struct text raw_key;
  struct json_value value;
  nearest_begin(&nearest, missing, missing);
  while (json_next_member(&cursor, &raw_key, &value)) {
    if (json_key_is(raw_key, missing))
      return TEXT_ABSENT;
    if (json_find_key(raw_key, rpc_param_names, RPC_OPERATION_PARAMS) < 0)
      nearest_offer(&nearest, raw_key, nearest_distance(raw_key, missing, nearest.limit));
  }
  return nearest.count > 0 ? nearest.names[0] : TEXT_ABSENT;
}

bool rpc_has_near_param(struct json_value params, enum rpc_param missing)
{
  return find_near(params, rpc_param_names[missing]).data != NULL;
}

void rpc_hint_param(struct json_value params, enum rpc_param missing, struct arena *arena,
                    struct outcome *outcome)
{
  struct text near = find_near(params, rpc_param_names[missing]);
  if (near.data == NULL)
    return;
  struct text message =
      arena_printf(arena, "%.*s (\"%.*s\": did you mean \"%s\"?)", TEXT_ARGS(outcome->message),
                   TEXT_ARGS(near), rpc_param_names[missing].data);
  if (message.data != NULL)
    outcome->message = message;
}
