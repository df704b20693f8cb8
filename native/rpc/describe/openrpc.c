#include "jsonrpc/jsonrpc.h"
#include "op/control.h"
#include "rpc/describe/openrpc_compat.h"
#include "rpc/describe/openrpc_parts.h"
#include "rpc/describe/openrpc_simplify.h"
#include "rpc/describe/openrpc_state.h"
#include "rpc/meta/document_cache.h"
#include "rpc/methods/identifiers.h"
#include "rpc/methods/procedures.h"
#include "json/writer.h"

#include <jansson.h>
#include <stdlib.h>

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

void openrpc_write_method_errors(enum openrpc_names names, struct buffer *out)
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

static void write_errors(struct buffer *out)
{
  for (size_t i = 0; i < ERROR_ROWS; i++) {
    buffer_printf(out, "%s\"%s\":", i == 0 ? "{" : ",", error_rows[i].key);
    write_error(i, out);
  }
  buffer_append_char(out, '}');
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
  /* Generators know versions up to 1.2.6, and the documents have nothing that came later. */
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

static bool is_required(const struct openrpc *openrpc, const struct rpc_procedure_param *param)
{
  return param->required && (!param->or_instance || openrpc->config.compat_pal);
}

static void write_param(const struct rpc_procedure_param *param, bool required, const json_t *schemas,
                        struct buffer *out)
{
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

/* With --compat pal there are no names but those that members are called by. */
static bool is_param_listed(const struct openrpc *openrpc, enum rpc_param param)
{
  return param != RPC_PARAM_NAMES || !openrpc->config.compat_pal;
}

/* Those that are required, or the others. */
static void write_params(const struct openrpc *openrpc, const struct rpc_procedure *procedure, bool required,
                         const json_t *schemas, bool *any, struct buffer *out)
{
  for (size_t i = 0; i < procedure->param_count; i++) {
    const struct rpc_procedure_param *param = &procedure->params[i];
    if (!is_param_listed(openrpc, param->param) || is_required(openrpc, param) != required)
      continue;
    if (*any)
      buffer_append_char(out, ',');
    *any = true;
    write_param(param, required, schemas, out);
  }
}

static void write_procedure(const struct openrpc *openrpc, const struct rpc_procedure *procedure,
                            enum openrpc_names names, const json_t *part, struct buffer *out)
{
  BUFFER_LITERAL(out, "{\"name\":");
  write_name(procedure, names, out);
  BUFFER_LITERAL(out, ",\"summary\":");
  json_write_string(out, text_of(procedure->summary));
  /* JSON-RPC 2.0 takes none of the six methods' by position (docs/protocol.md, "Messages"). */
  bool by_position = procedure->kind == RPC_PROCEDURE_DISCOVER || procedure->is_own;
  BUFFER_LITERAL(out, ",\"paramStructure\":");
  json_write_string(out, by_position ? TEXT("either") : TEXT("by-name"));
  BUFFER_LITERAL(out, ",\"params\":[");
  /* OpenRPC wants those that are required first; where positions count, they are so in the table. */
  bool any = false;
  write_params(openrpc, procedure, true, json_object_get(part, "params"), &any, out);
  write_params(openrpc, procedure, false, json_object_get(part, "params"), &any, out);
  BUFFER_LITERAL(out, "],\"result\":{\"name\":\"result\",\"schema\":");
  write_tree(out, json_object_get(part, "result"));
  buffer_append_char(out, '}');
  openrpc_write_method_errors(names, out);
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

/* What OpenRPC has no place for: members of a request beside its params, and batches. */
static void write_requests(const json_t *parts, struct buffer *out)
{
  BUFFER_LITERAL(out,
                 ",\"x-request-options\":{\"$ref\":\"#/components/schemas/RequestOptions\"},\"x-requests\":");
  write_tree(out, json_object_get(parts, "requests"));
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
  if (names == OPENRPC_OWN_NAMES && !openrpc->config.compat_pal)
    write_requests(parts, out);
  buffer_append_char(out, '}');
}

/* Those that the schemas of Java types name, the ones that --compat pal has first. */
static void write_ref_schemas(const struct openrpc_config *config, const json_t *parts, struct buffer *out)
{
  static const char *const keys[] = {"ObjectRef",   "Ref",           "ClassRef",
                                     "LargeResult", "ReceiverValue", "TypeName"};
  size_t count = config->compat_pal ? 2 : sizeof keys / sizeof keys[0];
  const json_t *schemas = json_object_get(json_object_get(parts, "components"), "schemas");
  bool any = false;
  for (size_t i = 0; i < count; i++) {
    const json_t *schema = json_object_get(schemas, keys[i]);
    if (schema == NULL) /* simplified parts have it in place of its references */
      continue;
    buffer_printf(out, "%s\"%s\":", any ? "," : "", keys[i]);
    write_tree(out, schema);
    any = true;
  }
}

/* ---- */

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
  write_ref_schemas(&made->config, parts, &made->ref_schemas[names]);
  if (made->head[names].data != NULL) /* else there is no memory, as has_failed says */
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
  if (config->compat_pal && !openrpc_parts_restrict(parts))
    goto out;
  write_errors(&made->errors);
  write_texts(made, parts, OPENRPC_OWN_NAMES);
  if (!openrpc_parts_simplify(parts))
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
