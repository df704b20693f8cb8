#include "rpc/describe/openrpc.h"

#include "base/arena.h"
#include "base/buffer.h"
#include "classfile/catalog.h"
#include "op/control_methods.h"
#include "rpc/describe/java_schema.h"
#include "rpc/describe/openrpc_parts.h"
#include "rpc/meta/document_cache.h"
#include "rpc/methods/identifiers.h"
#include "rpc/methods/java_methods.h"
#include "rpc/methods/procedures.h"
#include "json/writer.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

/* How methods are named in a document. */
enum openrpc_names {
  /* the names by which clients call them: dotted, with a suffix if there are several overloads */
  OPENRPC_OWN_NAMES,
  /* Identifiers (rpc/methods/identifiers.h) of the full names, without rpc.discover. The rest of the
   * document has the form that generators of typed clients need (docs/descriptions.md, "Generators"). */
  OPENRPC_IDENTIFIERS,
  OPENRPC_NAMES
};

struct openrpc {
  struct openrpc_config config;
  struct document_cache *cache;             /* documents of the application */
  struct buffer errors;                     /* {"InvalidRequest":{...},...} */
  struct buffer head[OPENRPC_NAMES];        /* {"openrpc":...,"info":{...},"servers":[...] */
  struct buffer ref_schemas[OPENRPC_NAMES]; /* the components that every document of the application has */
  struct buffer own[OPENRPC_NAMES];         /* the documents of the peer's own procedures */
};

/* ---- errors ---- */

static const struct {
  const char *key; /* of the component */
  int code;
} error_rows[] = {
    {"InvalidRequest", JSONRPC_INVALID_REQUEST}, {"MethodNotFound", JSONRPC_METHOD_NOT_FOUND},
    {"InvalidParams", JSONRPC_INVALID_PARAMS},   {"InternalError", JSONRPC_INTERNAL_ERROR},
    {"ServerError", JSONRPC_SERVER_ERROR},       {"AccessDenied", JSONRPC_ACCESS_DENIED},
};

enum { ERROR_ROWS = sizeof error_rows / sizeof error_rows[0] };

static void write_error(size_t row, struct buffer *out)
{
  buffer_printf(out, "{\"code\":%d,\"message\":\"%s\"}", error_rows[row].code,
                jsonrpc_code_message(error_rows[row].code));
}

static void write_method_errors(enum openrpc_names names, struct buffer *out)
{
  BUFFER_LITERAL(out, ",\"errors\":[");
  for (size_t i = 0; i < ERROR_ROWS; i++) {
    if (i > 0)
      buffer_append_char(out, ',');
    if (names == OPENRPC_IDENTIFIERS)
      write_error(i, out);
    else
      buffer_printf(out, "{\"$ref\":\"#/components/errors/%s\"}", error_rows[i].key);
  }
  buffer_append_char(out, ']');
}

/* ---- from jansson's trees to text ---- */

static int dump_piece(const char *bytes, size_t size, void *out)
{
  buffer_append(out, bytes, size);
  return 0;
}

static void write_tree(struct buffer *out, const json_t *tree)
{
  if (json_dump_callback(tree, dump_piece, out, JSON_COMPACT | JSON_ENCODE_ANY) != 0)
    out->failed = true;
}

/* ---- head ---- */

static void write_servers(const struct openrpc_config *config, struct buffer *out)
{
  BUFFER_LITERAL(out, ",\"servers\":[");
  for (size_t i = 0; config->addresses != NULL && config->addresses[i] != NULL; i++) {
    struct text address = text_of(config->addresses[i]);
    const char *colon = memchr(address.data, ':', address.len);
    size_t scheme = colon == NULL ? address.len : (size_t)(colon - address.data);
    buffer_append_text(out, i == 0 ? TEXT("{\"name\":") : TEXT(",{\"name\":"));
    json_write_string(out, text_slice(address, 0, scheme));
    BUFFER_LITERAL(out, ",\"url\":");
    json_write_string(out, address);
    buffer_append_char(out, '}');
  }
  buffer_append_char(out, ']');
}

static void write_head(const struct openrpc_config *config, const json_t *parts, enum openrpc_names names,
                       struct buffer *out)
{
  char uuid[UUID_TEXT_LENGTH + 1];
  uuid_format(&config->uuid, uuid);
  /* Generators know versions up to 1.2.6, and the documents use no later feature. */
  buffer_append_text(out, names == OPENRPC_IDENTIFIERS ? TEXT("{\"openrpc\":\"1.2.6\"")
                                                       : TEXT("{\"openrpc\":\"1.3.2\""));
  BUFFER_LITERAL(out, ",\"info\":{\"title\":");
  json_write_string(out, text_of(config->name == NULL ? "jpeer" : config->name));
  BUFFER_LITERAL(out, ",\"description\":");
  write_tree(out, json_object_get(parts, "description"));
  BUFFER_LITERAL(out, ",\"version\":");
  json_write_string(out, text_of(config->version == NULL ? "0" : config->version));
  buffer_printf(out, ",\"x-uuid\":\"urn:uuid:%s\"}", uuid);
  write_servers(config, out);
}

/* ---- the peer's own procedures ---- */

/* Writes the params of an example in the procedure's order. */
static void write_example_params(const struct rpc_procedure *procedure, const json_t *params,
                                 struct buffer *out)
{
  bool any = false;
  for (size_t i = 0; i < procedure->param_count; i++) {
    struct text name = rpc_param_names[procedure->params[i].param];
    const json_t *value = json_object_getn(params, name.data, name.len);
    if (value == NULL)
      continue;
    buffer_append_text(out, any ? TEXT(",{\"name\":") : TEXT("{\"name\":"));
    any = true;
    json_write_string(out, name);
    BUFFER_LITERAL(out, ",\"value\":");
    write_tree(out, value);
    buffer_append_char(out, '}');
  }
}

static void write_examples(const struct rpc_procedure *procedure, const json_t *examples, struct buffer *out)
{
  BUFFER_LITERAL(out, ",\"examples\":[");
  for (size_t i = 0; i < json_array_size(examples); i++) {
    const json_t *example = json_array_get(examples, i);
    buffer_append_text(out, i == 0 ? TEXT("{\"name\":") : TEXT(",{\"name\":"));
    write_tree(out, json_object_get(example, "name"));
    BUFFER_LITERAL(out, ",\"params\":[");
    write_example_params(procedure, json_object_get(example, "params"), out);
    BUFFER_LITERAL(out, "],\"result\":{\"name\":\"result\",\"value\":");
    write_tree(out, json_object_get(example, "result"));
    BUFFER_LITERAL(out, "}}");
  }
  buffer_append_char(out, ']');
}

static void write_name(const struct rpc_procedure *procedure, enum openrpc_names names, struct buffer *out)
{
  bool is_bare = rpc_is_bare_name(procedure->name);
  if (names == OPENRPC_OWN_NAMES || is_bare) {
    json_write_string(out, procedure->name);
    return;
  }
  buffer_append_char(out, '"');
  identifier_write(procedure->name, out);
  buffer_append_char(out, '"');
}

/* With --compat pal only the names by which members are called are listed. */
static bool is_param_listed(const struct openrpc *openrpc, enum rpc_param param)
{
  return param != RPC_PARAM_NAMES || !openrpc->config.compat_pal;
}

/* Writes the required params, or the optional ones. */
static void write_params(const struct openrpc *openrpc, const struct rpc_procedure *procedure, bool required,
                         const json_t *schemas, bool *any, struct buffer *out)
{
  for (size_t i = 0; i < procedure->param_count; i++) {
    const struct rpc_procedure_param *param = &procedure->params[i];
    if (!is_param_listed(openrpc, param->param) ||
        (param->required && (!param->or_instance || openrpc->config.compat_pal)) != required)
      continue;
    if (*any)
      buffer_append_char(out, ',');
    *any = true;
    struct text name = rpc_param_names[param->param];
    const json_t *schema = json_object_getn(schemas, name.data, name.len);
    BUFFER_LITERAL(out, "{\"name\":");
    json_write_string(out, name);
    BUFFER_LITERAL(out, ",\"summary\":");
    json_write_string(out, text_of(param->summary));
    buffer_printf(out, ",\"required\":%s,\"schema\":", required ? "true" : "false");
    write_tree(out, schema);
    buffer_append_char(out, '}');
  }
}

static void write_procedure(const struct openrpc *openrpc, const struct rpc_procedure *procedure,
                            enum openrpc_names names, const json_t *part, struct buffer *out)
{
  BUFFER_LITERAL(out, "{\"name\":");
  write_name(procedure, names, out);
  BUFFER_LITERAL(out, ",\"summary\":");
  json_write_string(out, text_of(procedure->summary));
  /* In JSON-RPC 2.0 the six methods do not accept params by position (docs/protocol.md, "Messages"). */
  bool by_position = procedure->kind == RPC_PROCEDURE_DISCOVER || procedure->is_own;
  BUFFER_LITERAL(out, ",\"paramStructure\":");
  json_write_string(out, by_position ? TEXT("either") : TEXT("by-name"));
  BUFFER_LITERAL(out, ",\"params\":[");
  /* OpenRPC wants the required params first; params that may be given by position are in this order in the
   * table already. */
  bool any = false;
  write_params(openrpc, procedure, true, json_object_get(part, "params"), &any, out);
  write_params(openrpc, procedure, false, json_object_get(part, "params"), &any, out);
  BUFFER_LITERAL(out, "],\"result\":{\"name\":\"result\",\"schema\":");
  write_tree(out, json_object_get(part, "result"));
  buffer_append_char(out, '}');
  write_method_errors(names, out);
  write_examples(procedure, json_object_get(part, "examples"), out);
  buffer_append_char(out, '}');
}

/* The schema of `method` of control has an empty "enum" in the parts: its names come from the table. */
static bool name_control_methods(json_t *parts, bool compat_pal)
{
  json_t *control = json_object_get(json_object_get(parts, "methods"), "control");
  json_t *method = json_object_get(json_object_get(control, "params"), "method");
  json_t *names = json_object_get(method, "enum");
  for (size_t i = 0; i < OP_COMMANDS; i++) {
    struct text name = op_control_methods[i].name;
    if (op_control_methods[i].is_addition && compat_pal)
      continue;
    if (json_array_append_new(names, json_stringn(name.data, name.len)) != 0)
      return false;
  }
  return true;
}

static bool is_listed(const struct openrpc *openrpc, const struct rpc_procedure *procedure,
                      enum openrpc_names names)
{
  bool describes = procedure->kind == RPC_PROCEDURE_DISCOVER && names == OPENRPC_IDENTIFIERS;
  bool is_withheld = procedure->is_own && openrpc->config.compat_pal;
  return !procedure->only_1_1 && !describes && !is_withheld;
}

static void write_own(const struct openrpc *openrpc, const json_t *parts, enum openrpc_names names,
                      struct buffer *out)
{
  const json_t *methods = json_object_get(parts, "methods");
  bool any = false;
  buffer_append_text(out, buffer_text(&openrpc->head[names]));
  BUFFER_LITERAL(out, ",\"methods\":[");
  for (size_t i = 0; i < rpc_procedure_count; i++) {
    const struct rpc_procedure *procedure = &rpc_procedures[i];
    if (!is_listed(openrpc, procedure, names))
      continue;
    if (any)
      buffer_append_char(out, ',');
    any = true;
    write_procedure(openrpc, procedure, names,
                    json_object_getn(methods, procedure->name.data, procedure->name.len), out);
  }
  BUFFER_LITERAL(out, "],\"components\":{\"errors\":");
  buffer_append_text(out, buffer_text(&openrpc->errors));
  BUFFER_LITERAL(out, ",\"schemas\":");
  write_tree(out, json_object_get(json_object_get(parts, "components"), "schemas"));
  buffer_append_char(out, '}');
  if (names == OPENRPC_OWN_NAMES && !openrpc->config.compat_pal) {
    /* OpenRPC cannot describe members of a request other than its params, nor batches. */
    BUFFER_LITERAL(
        out, ",\"x-request-options\":{\"$ref\":\"#/components/schemas/RequestOptions\"},\"x-requests\":");
    write_tree(out, json_object_get(parts, "requests"));
  }
  buffer_append_char(out, '}');
}

/* ---- the parts as a peer with --compat pal serves them ---- */

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

/* Applies the changes of --compat pal to the parts. The parts contain these changes under the key "compat".
 * False: no memory. */
static bool restrict_parts(json_t *parts)
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

/* ---- the parts for generators of typed clients (docs/descriptions.md, "Generators") ---- */

static const char component_prefix[] = "#/components/schemas/";

/* True for a component from which generators make a class, with the properties as fields. No field can be
 * named `class`. */
static bool is_model(const json_t *component)
{
  const json_t *properties = json_object_get(component, "properties");
  return properties != NULL && json_object_get(properties, "class") == NULL;
}

/* Finds the component that replaces a reference; NULL: the reference is not replaced. */
static const json_t *find_component(const json_t *schema, const json_t *components)
{
  const char *reference = json_string_value(json_object_get(schema, "$ref"));
  if (reference == NULL || strncmp(reference, component_prefix, sizeof component_prefix - 1) != 0)
    return NULL;
  const json_t *component = json_object_get(components, reference + sizeof component_prefix - 1);
  return is_model(component) ? NULL : component;
}

static bool append_type(json_t *any_of, const char *type)
{
  /* Generators derive the name of an array's type from its items. */
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
    /* A generator that reads a number as a float would send 5 as 5.0, which Java reads as a double. */
    if (strcmp(type, "number") == 0)
      good = append_type(any_of, "integer");
    good = good && append_type(any_of, type);
  }
  good = json_object_set_new(schema, "anyOf", any_of) == 0 && good;
  return good && json_object_del(schema, "type") == 0;
}

static bool is_property_required(const json_t *schema, const char *name)
{
  const json_t *required = json_object_get(schema, "required");
  for (size_t i = 0; i < json_array_size(required); i++) {
    if (strcmp(json_string_value(json_array_get(required, i)), name) == 0)
      return true;
  }
  return false;
}

/* Generators that ignore "required" conclude from the default that a property may be absent. */
static bool default_optional(json_t *schema)
{
  const char *name;
  json_t *property;
  json_object_foreach(json_object_get(schema, "properties"), name, property)
  {
    if (!is_property_required(schema, name) && json_object_set_new(property, "default", json_null()) != 0)
      return false;
  }
  return true;
}

static json_t *simplify_value(const json_t *value, const json_t *components);

static json_t *simplify_array(const json_t *array, const json_t *components)
{
  json_t *made = json_array();
  for (size_t i = 0; made != NULL && i < json_array_size(array); i++) {
    if (json_array_append_new(made, simplify_value(json_array_get(array, i), components)) != 0) {
      json_decref(made);
      return NULL;
    }
  }
  return made;
}

static json_t *simplify_object(const json_t *object, const json_t *components)
{
  const json_t *component = find_component(object, components);
  if (component != NULL)
    return simplify_value(component, components);
  json_t *made = json_object();
  const char *key;
  json_t *value;
  bool good = made != NULL;
  json_object_foreach((json_t *)object, key, value)
  {
    good = good && json_object_set_new(made, key, simplify_value(value, components)) == 0;
  }
  if (good && split_types(made) && default_optional(made))
    return made;
  json_decref(made);
  return NULL;
}

/* Returns a simplified copy. The recursion ends, because the references between the parts form no circle. */
static json_t *simplify_value(const json_t *value, const json_t *components)
{
  if (json_is_object(value))
    return simplify_object(value, components);
  return json_is_array(value) ? simplify_array(value, components) : json_deep_copy(value);
}

static bool simplify_member(json_t *holder, const char *key, const json_t *components)
{
  return json_object_set_new(holder, key, simplify_value(json_object_get(holder, key), components)) == 0;
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
      good = good && json_object_set_new(made, name, simplify_value(schema, components)) == 0;
  }
  if (good)
    return made;
  json_decref(made);
  return NULL;
}

/*
 * Simplifies the schemas without changing their meaning. Components remain if they are objects with
 * properties and have no property `class`; references to other components are replaced by their schemas. A
 * list of types becomes an anyOf of schemas with one type each. An optional property gets the default null.
 * False if memory is short; parts may then be partly changed.
 */
static bool simplify_parts(json_t *parts)
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

/* ---- at start ---- */

static bool has_failed(const struct openrpc *openrpc)
{
  bool failed = openrpc->errors.failed;
  for (size_t i = 0; i < OPENRPC_NAMES; i++)
    failed |= openrpc->head[i].failed || openrpc->ref_schemas[i].failed || openrpc->own[i].failed;
  return failed;
}

static void write_texts(struct openrpc *made, const json_t *parts, enum openrpc_names names)
{
  write_head(&made->config, parts, names, &made->head[names]);
  /* The components to which schemas of Java types refer. The components that are also used with --compat pal
   * are first. */
  static const char *const keys[] = {"ObjectRef",   "Ref",           "ClassRef",
                                     "LargeResult", "ReceiverValue", "TypeName"};
  size_t count = made->config.compat_pal ? 2 : sizeof keys / sizeof keys[0];
  const json_t *schemas = json_object_get(json_object_get(parts, "components"), "schemas");
  bool any = false;
  for (size_t i = 0; i < count; i++) {
    const json_t *schema = json_object_get(schemas, keys[i]);
    if (schema == NULL) /* simplify_parts has replaced the references to it */
      continue;
    buffer_printf(&made->ref_schemas[names], "%s\"%s\":", any ? "," : "", keys[i]);
    write_tree(&made->ref_schemas[names], schema);
    any = true;
  }
  if (made->head[names].data != NULL) /* otherwise memory is short, and has_failed reports it */
    write_own(made, parts, names, &made->own[names]);
}

enum jp_status openrpc_create(const struct openrpc_config *config, struct openrpc **openrpc,
                              struct jp_error *error)
{
  struct openrpc *made = calloc(1, sizeof *made);
  json_t *parts = json_loadb(openrpc_parts, openrpc_parts_length, 0, NULL);
  enum jp_status status = JP_NO_MEMORY;
  if (made == NULL)
    goto out;
  made->config = *config;
  made->cache = document_cache_create();
  if (parts == NULL || made->cache == NULL || !name_control_methods(parts, config->compat_pal))
    goto out;
  if (config->compat_pal && !restrict_parts(parts))
    goto out;
  for (size_t i = 0; i < ERROR_ROWS; i++) {
    buffer_printf(&made->errors, "%s\"%s\":", i == 0 ? "{" : ",", error_rows[i].key);
    write_error(i, &made->errors);
  }
  buffer_append_char(&made->errors, '}');
  write_texts(made, parts, OPENRPC_OWN_NAMES);
  if (!simplify_parts(parts))
    goto out;
  write_texts(made, parts, OPENRPC_IDENTIFIERS);
  if (has_failed(made))
    goto out;
  *openrpc = made;
  made = NULL;
  status = JP_OK;
out:
  json_decref(parts);
  openrpc_destroy(made);
  return status == JP_OK ? JP_OK : jp_fail(error, status, "the service could not be described");
}

void openrpc_destroy(struct openrpc *openrpc)
{
  if (openrpc == NULL)
    return;
  document_cache_destroy(openrpc->cache);
  buffer_fini(&openrpc->errors);
  for (size_t i = 0; i < OPENRPC_NAMES; i++) {
    buffer_fini(&openrpc->head[i]);
    buffer_fini(&openrpc->ref_schemas[i]);
    buffer_fini(&openrpc->own[i]);
  }
  free(openrpc);
}

struct text openrpc_own_document(const struct openrpc *openrpc)
{
  return buffer_text(&openrpc->own[OPENRPC_OWN_NAMES]);
}

/* ---- the documents of the application: the methods of its classes ---- */

/* The classes for which a document is asked. */
struct openrpc_scope {
  const struct text *patterns;
  size_t count;
  enum openrpc_names names;
  const struct catalog_tables *tables; /* of the classes that the patterns cover */
  const struct meta_reach *reach;      /* the classes that can be named */
};

/* A document while it is written. */
struct document {
  const struct openrpc *openrpc;
  const struct catalog_tables *tables;
  struct java_methods methods;
  struct java_schemas schemas;
  struct arena arena; /* of one class */
  const struct openrpc_scope *scope;
  struct buffer *out;
  size_t end; /* the maximal length of out */
  bool any_method;
};

/* The identifier is made from the full name, so that the identifier does not change when overloads are added
 * or removed. */
static void write_java_name(struct document *document, struct text class_name,
                            const struct java_method *method)
{
  bool is_identifier = document->scope->names == OPENRPC_IDENTIFIERS;
  struct buffer name;
  buffer_init(&name);
  buffer_append_text(&name, class_name);
  buffer_append_char(&name, '.');
  buffer_append_text(&name, method->member);
  if (method->overloaded || is_identifier) {
    buffer_append_char(&name, '-');
    java_method_suffix_write(method->descriptor, &name);
  }
  if (is_identifier) {
    buffer_append_char(document->out, '"');
    identifier_write(buffer_text(&name), document->out);
    buffer_append_char(document->out, '"');
  } else {
    json_write_string(document->out, buffer_text(&name));
  }
  document->out->failed |= name.failed;
  buffer_fini(&name);
}

static void write_receiver(const struct document *document, struct text class_name)
{
  struct buffer *out = document->out;
  BUFFER_LITERAL(out, "{\"name\":\"instance\",\"required\":true,"
                      "\"schema\":{\"anyOf\":[{\"$ref\":\"#/components/schemas/ObjectRef\"},");
  buffer_append_text(out, document->scope->names == OPENRPC_IDENTIFIERS
                              ? TEXT("{\"type\":\"integer\"}")
                              : TEXT("{\"$ref\":\"#/components/schemas/Ref\"}"));
  bool takes_values = !document->openrpc->config.compat_pal;
  if (takes_values)
    BUFFER_LITERAL(out, ",{\"$ref\":\"#/components/schemas/ReceiverValue\"}");
  if (takes_values && java_schema_has_text(document->tables, class_name))
    BUFFER_LITERAL(out, ",{\"type\":\"string\"}");
  BUFFER_LITERAL(out, "]}}");
}

static void write_java_params(struct document *document, struct text class_name,
                              const struct java_method *method)
{
  struct buffer *out = document->out;
  bool is_numbered =
      document->scope->names == OPENRPC_IDENTIFIERS && !parameter_names_are_identifiers(method);
  BUFFER_LITERAL(out, ",\"params\":[");
  if (method->has_receiver)
    write_receiver(document, class_name);
  for (unsigned i = 0; i < method->parameter_count; i++) {
    if (i > 0 || method->has_receiver)
      buffer_append_char(out, ',');
    /* Params by position need no names. If the name of one parameter cannot be used in a language, the names
     * of all parameters are numbers. */
    BUFFER_LITERAL(out, "{\"name\":");
    if (is_numbered)
      buffer_printf(out, "\"arg%u\",\"summary\":", i);
    json_write_string(out, method->parameters[i].name);
    BUFFER_LITERAL(out, ",\"required\":true,\"schema\":");
    java_schema_write(&document->schemas, method->parameters[i].type, false, out);
    buffer_append_char(out, '}');
  }
  buffer_append_char(out, ']');
}

static void write_method(struct document *document, struct text class_name, const struct java_method *method)
{
  struct buffer *out = document->out;
  buffer_append_text(out, document->any_method ? TEXT(",{\"name\":") : TEXT("{\"name\":"));
  document->any_method = true;
  write_java_name(document, class_name, method);
  BUFFER_LITERAL(out, ",\"tags\":[{\"name\":");
  json_write_string(out, class_name);
  buffer_append_text(out, document->scope->names == OPENRPC_IDENTIFIERS
                              ? TEXT("}],\"paramStructure\":\"by-position\"")
                              : TEXT("}],\"paramStructure\":\"either\""));
  write_java_params(document, class_name, method);
  BUFFER_LITERAL(out, ",\"result\":{\"name\":\"result\",\"schema\":");
  if (method->result.data == NULL)
    java_schema_write_new(&document->schemas, class_name, out);
  else
    java_schema_write(&document->schemas, method->result, true, out);
  buffer_append_char(out, '}');
  write_method_errors(document->scope->names, out);
  buffer_append_char(out, '}');
}

/* Members that every object inherits are described with java.lang.Object only. */
static bool is_of_object(const struct document *document, uint32_t class_index,
                         const struct java_method *method)
{
  return method->declaring != class_index &&
         text_equal(catalog_text(document->tables, document->tables->classes[method->declaring].name),
                    TEXT("java.lang.Object"));
}

static enum jp_status write_class(struct document *document, uint32_t class_index)
{
  struct text name = catalog_text(document->tables, document->tables->classes[class_index].name);
  struct java_method *methods;
  size_t count;
  arena_reset(&document->arena);
  enum jp_status status =
      java_methods_collect(&document->methods, class_index, TEXT_ABSENT, &document->arena, &methods, &count);
  for (size_t i = 0; status == JP_OK && i < count; i++) {
    if (methods[i].allowed && !is_of_object(document, class_index, &methods[i]))
      write_method(document, name, &methods[i]);
    if (document->out->len > document->end)
      status = JP_LIMIT;
  }
  return status;
}

static bool is_class_wanted(const struct document *document, uint32_t class_index,
                            const struct openrpc_view *view)
{
  const struct catalog_class *class = &document->tables->classes[class_index];
  struct text name = catalog_text(document->tables, class->name);
  bool covered = false;
  for (size_t i = 0; !covered && i < document->scope->count; i++)
    covered = java_class_matches(document->scope->patterns[i], name);
  return covered && !class->hidden && meta_reach_has(document->scope->reach, class_index) &&
         policy_shows_class(view->policy, view->channel, name);
}

static enum jp_status write_document(struct document *document, const struct openrpc_view *view)
{
  enum jp_status status = JP_OK;
  buffer_append_text(document->out, buffer_text(&document->openrpc->head[document->scope->names]));
  BUFFER_LITERAL(document->out, ",\"methods\":[");
  for (uint32_t i = 0; status == JP_OK && i < document->tables->class_count; i++) {
    if (is_class_wanted(document, i, view))
      status = write_class(document, i);
  }
  if (status == JP_OK) {
    struct buffer *out = document->out;
    const uint32_t *enums = document->schemas.enums.items;
    BUFFER_LITERAL(out, "],\"components\":{\"errors\":");
    buffer_append_text(out, buffer_text(&document->openrpc->errors));
    BUFFER_LITERAL(out, ",\"schemas\":{");
    buffer_append_text(out, buffer_text(&document->openrpc->ref_schemas[document->scope->names]));
    for (size_t i = 0; i < document->schemas.enums.count; i++) {
      BUFFER_LITERAL(out, ",\"");
      java_component_key_write(catalog_text(document->tables, document->tables->classes[enums[i]].name), out);
      BUFFER_LITERAL(out, "\":");
      java_schema_write_enum(document->tables, enums[i], out);
    }
    BUFFER_LITERAL(out, "}}}");
  }
  if (document->out->failed)
    return JP_NO_MEMORY;
  return status == JP_OK && document->out->len > document->end ? JP_LIMIT : status;
}

static enum jp_status write_java_document(const struct openrpc *openrpc, const struct openrpc_scope *scope,
                                          const struct openrpc_view *view, size_t max, struct buffer *out,
                                          struct jp_error *error)
{
  struct document document = {
      .openrpc = openrpc, .tables = scope->tables, .scope = scope, .out = out, .end = out->len + max};
  arena_init(&document.arena);
  enum jp_status status = java_methods_init(&document.methods, document.tables, view->policy, view->channel);
  if (status == JP_OK)
    status = java_schemas_init(&document.schemas, document.tables, scope->names == OPENRPC_IDENTIFIERS);
  document.schemas.compat_pal = openrpc->config.compat_pal;
  if (status == JP_OK)
    status = write_document(&document, view);
  java_schemas_fini(&document.schemas);
  java_methods_fini(&document.methods);
  arena_fini(&document.arena);
  if (status == JP_LIMIT)
    return jp_fail(error, status, "the document is longer than the limit of %zu bytes (message-max)", max);
  return status == JP_OK ? JP_OK : jp_fail_memory(error, NULL);
}

/* ---- rpc.discover: its arguments ---- */

/* Each class is compared with each pattern, and a star before a pattern's end makes the comparison slower. */
enum { PATTERNS_MAX = 1000, STARRED_MAX = 100, PATTERN_LENGTH_MAX = 1024 };

/* The arguments of rpc.discover. */
struct question {
  struct arena *arena;
  struct outcome *outcome;
  struct text *patterns; /* NULL: the peer's own procedures are meant */
  size_t count;
  bool compat_pal; /* only the names by which members are called are listed */
  enum openrpc_names names;
};

static enum jp_status fail_params(struct question *question, const char *what)
{
  outcome_fail(question->outcome, question->arena, FAILURE_INVALID_PARAMS, NULL, "%s", what);
  return JP_INVALID;
}

static bool has_inner_star(struct text pattern)
{
  while (pattern.len > 0 && pattern.data[pattern.len - 1] == '*')
    pattern.len--;
  return pattern.len > 0 && memchr(pattern.data, '*', pattern.len) != NULL;
}

static enum jp_status read_pattern(struct question *question, struct json_value element, size_t *starred)
{
  if (element.kind != JSON_KIND_STRING)
    return fail_params(question, "'classes' must be an array of patterns: strings");
  struct text pattern = json_read_string(element, question->arena);
  if (pattern.data == NULL)
    return outcome_fail_memory(question->outcome);
  if (pattern.len == 0)
    return fail_params(question, "'classes' has an empty pattern");
  if (pattern.len > PATTERN_LENGTH_MAX)
    return fail_params(question, "'classes' has a pattern longer than the limit of 1024 bytes");
  *starred += has_inner_star(pattern);
  if (*starred > STARRED_MAX)
    return fail_params(question,
                       "'classes' has more patterns with a * before their end than the limit of 100");
  question->patterns[question->count++] = pattern;
  return JP_OK;
}

static enum jp_status read_classes(struct question *question, struct json_value classes)
{
  struct json_cursor cursor;
  struct json_value element;
  if (classes.kind != JSON_KIND_ARRAY)
    return fail_params(question, "'classes' must be an array of patterns");
  size_t count = json_count(classes);
  if (count > PATTERNS_MAX)
    return fail_params(question, "'classes' has more patterns than the limit of 1000");
  question->patterns = arena_alloc(question->arena, count * sizeof *question->patterns);
  if (question->patterns == NULL)
    return outcome_fail_memory(question->outcome);
  cursor = json_enter(classes);
  size_t starred = 0;
  enum jp_status status = JP_OK;
  while (status == JP_OK && json_next_element(&cursor, &element))
    status = read_pattern(question, element, &starred);
  return status;
}

static enum jp_status read_names(struct question *question, struct json_value names)
{
  if (names.kind != JSON_KIND_STRING ||
      !json_key_is(text_slice(names.span, 1, names.span.len - 1), TEXT("identifiers")))
    return fail_params(question, "'names' can only be \"identifiers\"");
  question->names = OPENRPC_IDENTIFIERS;
  return JP_OK;
}

static enum jp_status collect_params(struct question *question, const struct jsonrpc_request *request,
                                     struct json_members *members)
{
  const struct rpc_procedure *procedure = rpc_procedure_find(request->method);
  if (request->version == JSONRPC_1_1)
    return rpc_params_coerce(procedure, request->params, question->arena, members, question->outcome);
  if (request->params.kind == JSON_KIND_OBJECT) {
    json_members_collect(request->params, rpc_param_names, RPC_PARAMS, members);
    if (members->repeated < 0)
      return JP_OK;
    outcome_fail(question->outcome, question->arena, FAILURE_INVALID_PARAMS, NULL,
                 "'%s' is given twice in params", rpc_param_names[members->repeated].data);
    return JP_INVALID;
  }
  struct json_cursor cursor = json_enter(request->params);
  struct json_value element;
  *members = (struct json_members){.repeated = -1};
  if (json_count(request->params) > procedure->param_count)
    return fail_params(question, "the params are 'classes', 'openrpc' and 'names'");
  for (size_t i = 0; json_next_element(&cursor, &element); i++) {
    members->has[procedure->params[i].param] = true;
    members->value[procedure->params[i].param] = element;
  }
  return JP_OK;
}

static enum jp_status read_question(struct question *question, const struct jsonrpc_request *request)
{
  struct json_members members = {0};
  if (!request->has_params)
    return JP_OK;
  enum jp_status status = collect_params(question, request, &members);
  if (status != JP_OK)
    return status;
  if (members.has[RPC_PARAM_OPENRPC] && members.value[RPC_PARAM_OPENRPC].kind != JSON_KIND_TRUE)
    return fail_params(question, "'openrpc' can only be true: it is the one form that there is");
  if (members.has[RPC_PARAM_NAMES] && !question->compat_pal)
    status = read_names(question, members.value[RPC_PARAM_NAMES]);
  if (status != JP_OK)
    return status;
  bool has_classes = members.has[RPC_PARAM_CLASSES];
  return has_classes ? read_classes(question, members.value[RPC_PARAM_CLASSES]) : JP_OK;
}

/* ---- rpc.discover: its answer ---- */

static bool append_kept(const struct openrpc *openrpc, struct text key, size_t max, struct buffer *out)
{
  struct kept_document *cached = document_cache_find(openrpc->cache, key);
  if (cached == NULL)
    return false;
  struct text document = kept_document_text(cached);
  bool is_short_enough = document.len <= max;
  if (is_short_enough)
    buffer_append_text(out, document);
  kept_document_drop(cached);
  return is_short_enough;
}

static enum jp_status describe_reached(struct openrpc *openrpc, struct question *question,
                                       const struct openrpc_view *view, const struct catalog_tables *tables,
                                       const struct meta_reach *reach, size_t max, struct buffer *out)
{
  struct buffer key;
  struct jp_error error = {0};
  enum jp_status status = JP_OK;
  const struct openrpc_scope scope = {question->patterns, question->count, question->names, tables, reach};
  size_t start = out->len;
  buffer_init(&key);
  /* Everything on which a document depends; the catalog never changes. */
  const uint64_t facts[] = {policy_generation(view->policy), view->channel, question->names, reach->stamp};
  buffer_append(&key, facts, sizeof facts);
  for (size_t i = 0; i < question->count; i++) {
    buffer_append(&key, &question->patterns[i].len, sizeof question->patterns[i].len);
    buffer_append_text(&key, question->patterns[i]);
  }
  if (key.failed || !append_kept(openrpc, buffer_text(&key), max, out)) {
    status = write_java_document(openrpc, &scope, view, max, out, &error);
    struct text document = text_slice(buffer_text(out), start, out->len);
    if (status == JP_OK && !key.failed && document.len <= DOCUMENT_CACHE_BYTES_MAX)
      document_cache_store(openrpc->cache, buffer_text(&key), document);
  }
  buffer_fini(&key);
  if (status == JP_OK)
    return JP_OK;
  if (!out->failed)
    buffer_truncate(out, start);
  return outcome_fail_error(question->outcome, question->arena, &error);
}

/* The class names that the patterns cover, if they are not too many. */
struct covered {
  const struct question *question;
  struct text *names;
  size_t count;
  bool failed; /* there are too many names, or memory is short */
};

enum { COVERED_MAX = 256 };

/* catalog_visitor */
static void note_covered(void *context, struct text name)
{
  struct covered *covered = context;
  const struct question *question = covered->question;
  bool matches = false;
  for (size_t i = 0; !matches && !covered->failed && i < question->count; i++)
    matches = java_class_matches(question->patterns[i], name);
  if (!matches)
    return;
  covered->failed = covered->count == COVERED_MAX;
  if (!covered->failed) {
    covered->names[covered->count] = arena_text(question->arena, name);
    covered->failed = covered->names[covered->count++].data == NULL;
  }
}

/* Opens the classes that the document needs: all classes if the patterns cover many. */
static enum jp_status open_classes(struct catalog *catalog, const struct question *question,
                                   struct catalog_excerpt **excerpt, struct jp_error *error)
{
  bool has_stars = false;
  struct covered covered = {question, question->patterns, question->count, false};
  for (size_t i = 0; i < question->count && !has_stars; i++)
    has_stars = memchr(question->patterns[i].data, '*', question->patterns[i].len) != NULL;
  if (has_stars) {
    covered.names = arena_alloc(question->arena, COVERED_MAX * sizeof *covered.names);
    covered.count = 0;
    covered.failed = covered.names == NULL;
    enum jp_status status = catalog_each_name(catalog, note_covered, &covered, error);
    if (status != JP_OK)
      return status;
  }
  return covered.failed
             ? catalog_excerpt_open_whole(catalog, excerpt, error)
             : catalog_excerpt_open(catalog, covered.names, covered.count, CATALOG_TYPES, excerpt, error);
}

static enum jp_status describe_java(struct openrpc *openrpc, struct question *question,
                                    const struct openrpc_view *view, size_t max, struct buffer *out)
{
  struct catalog_excerpt *excerpt;
  struct meta_reach reach;
  struct jp_error error;
  if (openrpc->config.catalog == NULL) {
    outcome_fail(question->outcome, question->arena, FAILURE_SERVER, NULL, "this peer serves no metadata");
    return JP_NOT_FOUND;
  }
  enum jp_status status = open_classes(openrpc->config.catalog, question, &excerpt, &error);
  if (status != JP_OK)
    return outcome_fail_error(question->outcome, question->arena, &error);
  const struct catalog_tables *tables = catalog_excerpt_tables(excerpt);
  if (meta_reach_find(&reach, tables, view->loaders) != JP_OK) {
    catalog_excerpt_close(excerpt);
    return outcome_fail_memory(question->outcome);
  }
  status = describe_reached(openrpc, question, view, tables, &reach, max, out);
  meta_reach_fini(&reach);
  catalog_excerpt_close(excerpt);
  return status;
}

enum jp_status openrpc_discover(struct openrpc *openrpc, const struct jsonrpc_request *request,
                                const struct openrpc_view *view, size_t max, struct arena *arena,
                                struct buffer *out, struct outcome *outcome)
{
  struct question question = {.arena = arena, .outcome = outcome, .compat_pal = openrpc->config.compat_pal};
  enum jp_status status = read_question(&question, request);
  if (status != JP_OK)
    return status;
  if (question.patterns != NULL)
    return describe_java(openrpc, &question, view, max, out);
  buffer_append_text(out, buffer_text(&openrpc->own[question.names]));
  return JP_OK;
}
