#include "rpc/describe/openrpc_compat.h"

#include <string.h>

static bool has_name(const json_t *names, const char *name)
{
  for (size_t i = 0; i < json_array_size(names); i++) {
    if (strcmp(json_string_value(json_array_get(names, i)), name) == 0)
      return true;
  }
  return false;
}

static void drop_examples(json_t *examples, const json_t *names)
{
  for (size_t i = json_array_size(examples); i > 0; i--) {
    const json_t *name = json_object_get(json_array_get(examples, i - 1), "name");
    if (has_name(names, json_string_value(name)))
      json_array_remove(examples, i - 1);
  }
}

bool openrpc_parts_restrict(json_t *parts)
{
  json_t *compat = json_object_get(parts, "compat");
  json_t *schemas = json_object_get(json_object_get(parts, "components"), "schemas");
  json_t *dropped = json_object_get(compat, "dropped");
  json_t *examples = json_object_get(compat, "examples");
  const char *method;
  json_t *names;
  for (size_t i = 0; i < json_array_size(dropped); i++)
    json_object_del(schemas, json_string_value(json_array_get(dropped, i)));
  json_object_foreach(examples, method, names)
  {
    json_t *described = json_object_get(json_object_get(parts, "methods"), method);
    drop_examples(json_object_get(described, "examples"), names);
  }
  return json_object_update(schemas, json_object_get(compat, "schemas")) == 0;
}
