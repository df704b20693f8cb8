#include "rpc/describe/openrpc_simplify.h"

#include <string.h>

static const char component_prefix[] = "#/components/schemas/";

/* A component that generators make a class of, whose fields are the properties. None can be named `class`. */
static bool is_model(const json_t *component)
{
  const json_t *properties = json_object_get(component, "properties");
  return properties != NULL && json_object_get(properties, "class") == NULL;
}

/* The component that a reference names, or NULL where the reference may stay. */
static const json_t *component_in_place(const json_t *schema, const json_t *components)
{
  const char *reference = json_string_value(json_object_get(schema, "$ref"));
  if (reference == NULL || strncmp(reference, component_prefix, sizeof component_prefix - 1) != 0)
    return NULL;
  const json_t *component = json_object_get(components, reference + sizeof component_prefix - 1);
  return is_model(component) ? NULL : component;
}

static bool append_type(json_t *any_of, const char *type)
{
  /* Generators make the name of an array's type from its items. */
  json_t *schema = strcmp(type, "array") == 0 ? json_pack("{s:s,s:{}}", "type", type, "items")
                                              : json_pack("{s:s}", "type", type);
  return json_array_append_new(any_of, schema) == 0;
}

/* {"type":["string","null"]} becomes {"anyOf":[{"type":"string"},{"type":"null"}]}. */
static bool split_types(json_t *schema)
{
  const json_t *types = json_object_get(schema, "type");
  if (!json_is_array(types))
    return true;
  json_t *any_of = json_array();
  bool good = any_of != NULL;
  for (size_t i = 0; good && i < json_array_size(types); i++) {
    const char *type = json_string_value(json_array_get(types, i));
    /* Where a number is a float, 5 would become 5.0, which Java takes for a double. */
    if (strcmp(type, "number") == 0)
      good = append_type(any_of, "integer");
    good = good && append_type(any_of, type);
  }
  good = json_object_set_new(schema, "anyOf", any_of) == 0 && good;
  return good && json_object_del(schema, "type") == 0;
}

static bool is_required(const json_t *schema, const char *name)
{
  const json_t *required = json_object_get(schema, "required");
  for (size_t i = 0; i < json_array_size(required); i++) {
    if (strcmp(json_string_value(json_array_get(required, i)), name) == 0)
      return true;
  }
  return false;
}

/* Generators that do not look at "required" know by the default that a property may be absent. */
static bool default_optional(json_t *schema)
{
  const char *name;
  json_t *property;
  json_object_foreach(json_object_get(schema, "properties"), name, property)
  {
    if (!is_required(schema, name) && json_object_set_new(property, "default", json_null()) != 0)
      return false;
  }
  return true;
}

static json_t *simplify(const json_t *value, const json_t *components);

static json_t *simplify_array(const json_t *array, const json_t *components)
{
  json_t *made = json_array();
  for (size_t i = 0; made != NULL && i < json_array_size(array); i++) {
    if (json_array_append_new(made, simplify(json_array_get(array, i), components)) != 0) {
      json_decref(made);
      return NULL;
    }
  }
  return made;
}

static json_t *simplify_object(const json_t *object, const json_t *components)
{
  const json_t *component = component_in_place(object, components);
  if (component != NULL)
    return simplify(component, components);
  json_t *made = json_object();
  const char *key;
  json_t *value;
  bool good = made != NULL;
  json_object_foreach((json_t *)object, key, value)
  {
    good = good && json_object_set_new(made, key, simplify(value, components)) == 0;
  }
  if (good && split_types(made) && default_optional(made))
    return made;
  json_decref(made);
  return NULL;
}

/* A copy. The references of the parts have no circle, so that this ends. */
static json_t *simplify(const json_t *value, const json_t *components)
{
  if (json_is_object(value))
    return simplify_object(value, components);
  return json_is_array(value) ? simplify_array(value, components) : json_deep_copy(value);
}

static bool simplify_member(json_t *holder, const char *key, const json_t *components)
{
  return json_object_set_new(holder, key, simplify(json_object_get(holder, key), components)) == 0;
}

static json_t *simplify_components(const json_t *components)
{
  json_t *made = json_object();
  const char *name;
  json_t *schema;
  bool good = made != NULL;
  json_object_foreach((json_t *)components, name, schema)
  {
    if (is_model(schema))
      good = good && json_object_set_new(made, name, simplify(schema, components)) == 0;
  }
  if (good)
    return made;
  json_decref(made);
  return NULL;
}

bool openrpc_parts_simplify(json_t *parts)
{
  json_t *holder = json_object_get(parts, "components");
  const json_t *components = json_object_get(holder, "schemas");
  const char *name;
  json_t *method;
  json_object_foreach(json_object_get(parts, "methods"), name, method)
  {
    if (!simplify_member(method, "params", components) || !simplify_member(method, "result", components))
      return false;
  }
  return json_object_set_new(holder, "schemas", simplify_components(components)) == 0;
}
