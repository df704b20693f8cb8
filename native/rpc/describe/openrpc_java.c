#include "classfile/catalog.h"
#include "rpc/describe/java_schema.h"
#include "rpc/describe/openrpc_state.h"
#include "rpc/meta/meta_reach.h"
#include "rpc/methods/identifiers.h"
#include "rpc/methods/java_methods.h"
#include "json/writer.h"

/* A document that is being written. */
struct document {
  const struct openrpc *openrpc;
  const struct catalog_tables *tables;
  struct java_methods methods;
  struct java_schemas schemas;
  struct arena arena; /* of one class */
  const struct openrpc_scope *scope;
  struct buffer *out;
  size_t end; /* what out may grow to */
  bool any_method;
};

/* An identifier is that of the full name, so that it stays when overloads come and go. */
static void write_name(struct document *document, struct text class_name, const struct java_method *method)
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

/* Params by position need no names: where one of them is a word of a language, all are numbered. */
static void write_param_name(const struct java_method *method, unsigned index, bool is_numbered,
                             struct buffer *out)
{
  BUFFER_LITERAL(out, "{\"name\":");
  if (is_numbered)
    buffer_printf(out, "\"arg%u\",\"summary\":", index);
  json_write_string(out, method->parameters[index].name);
}

static void write_params(struct document *document, struct text class_name, const struct java_method *method)
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
    write_param_name(method, i, is_numbered, out);
    BUFFER_LITERAL(out, ",\"required\":true,\"schema\":");
    java_schema_write(&document->schemas, method->parameters[i].type, false, out);
    buffer_append_char(out, '}');
  }
  buffer_append_char(out, ']');
}

static void write_result(struct document *document, struct text class_name, const struct java_method *method)
{
  struct buffer *out = document->out;
  BUFFER_LITERAL(out, ",\"result\":{\"name\":\"result\",\"schema\":");
  if (method->result.data == NULL)
    java_schema_write_new(&document->schemas, class_name, out);
  else
    java_schema_write(&document->schemas, method->result, true, out);
  buffer_append_char(out, '}');
}

static void write_method(struct document *document, struct text class_name, const struct java_method *method)
{
  struct buffer *out = document->out;
  buffer_append_text(out, document->any_method ? TEXT(",{\"name\":") : TEXT("{\"name\":"));
  document->any_method = true;
  write_name(document, class_name, method);
  BUFFER_LITERAL(out, ",\"tags\":[{\"name\":");
  json_write_string(out, class_name);
  buffer_append_text(out, document->scope->names == OPENRPC_IDENTIFIERS
                              ? TEXT("}],\"paramStructure\":\"by-position\"")
                              : TEXT("}],\"paramStructure\":\"either\""));
  write_params(document, class_name, method);
  write_result(document, class_name, method);
  openrpc_write_method_errors(document->scope->names, out);
  buffer_append_char(out, '}');
}

/* Members that every object inherits are described with java.lang.Object alone. */
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

static bool is_wanted(const struct document *document, uint32_t class_index, const struct openrpc_view *view)
{
  const struct catalog_class *class = &document->tables->classes[class_index];
  struct text name = catalog_text(document->tables, class->name);
  bool covered = false;
  for (size_t i = 0; !covered && i < document->scope->count; i++)
    covered = java_class_matches(document->scope->patterns[i], name);
  return covered && !class->hidden && meta_reach_has(document->scope->reach, class_index) &&
         policy_shows_class(view->policy, view->channel, name);
}

static void write_components(struct document *document)
{
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

static enum jp_status write_document(struct document *document, const struct openrpc_view *view)
{
  enum jp_status status = JP_OK;
  buffer_append_text(document->out, buffer_text(&document->openrpc->head[document->scope->names]));
  BUFFER_LITERAL(document->out, ",\"methods\":[");
  for (uint32_t i = 0; status == JP_OK && i < document->tables->class_count; i++) {
    if (is_wanted(document, i, view))
      status = write_class(document, i);
  }
  if (status == JP_OK)
    write_components(document);
  if (document->out->failed)
    return JP_NO_MEMORY;
  return status == JP_OK && document->out->len > document->end ? JP_LIMIT : status;
}

enum jp_status openrpc_java_write(const struct openrpc *openrpc, const struct openrpc_scope *scope,
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
  return status == JP_OK ? JP_OK : jp_fail(error, status, "out of memory");
}
