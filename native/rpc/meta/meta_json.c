#include "rpc/meta/meta_json.h"

#include "classfile/class_file.h"
#include "classfile/signature.h"
#include "rpc/meta/meta_shapes.h"
#include "json/writer.h"

#include <stdio.h>

void meta_json_init(struct meta_json *json, struct meta_query *query)
{
  *json = (struct meta_json){.query = query};
  meta_members_init(&json->members);
  buffer_init(&json->type);
}

void meta_json_fini(struct meta_json *json)
{
  meta_members_fini(&json->members);
  buffer_fini(&json->type);
}

static const struct catalog_tables *tables_of(const struct meta_json *json)
{
  return json->query->tables;
}

static struct text name_of(const struct meta_json *json, uint32_t class_index)
{
  return catalog_text(tables_of(json), tables_of(json)->classes[class_index].name);
}

static void write_string_or_null(struct buffer *out, struct text t)
{
  if (t.len == 0)
    BUFFER_LITERAL(out, "null");
  else
    json_write_string(out, t);
}

static void write_modifiers(struct buffer *out, unsigned access, enum modifiers_of of)
{
  char words[MODIFIERS_TEXT_MAX];
  modifiers_format((uint16_t)access, of, words);
  BUFFER_LITERAL(out, ",\"modifiers\":");
  json_write_string(out, text_of(words));
}

static void write_boolean(struct buffer *out, bool value)
{
  if (value)
    BUFFER_LITERAL(out, "true");
  else
    BUFFER_LITERAL(out, "false");
}

/* Writes the next text of a list. */
static void write_listed(struct buffer *out, bool *any, struct text t)
{
  if (*any)
    buffer_append_char(out, ',');
  *any = true;
  json_write_string(out, t);
}

/* Writes the chain up to Object, or up to the first class that the catalog does not know. */
static void write_superclasses(struct meta_json *json, struct buffer *out)
{
  const struct catalog_tables *tables = tables_of(json);
  struct catalog_link link = tables->classes[json->class_index].superclass;
  bool any = false;
  BUFFER_LITERAL(out, ",\"superclasses\":[");
  /* The number of steps is limited because class files can inherit in a circle. */
  for (size_t steps = 0; link.name != 0 && steps < tables->class_count; steps++) {
    write_listed(out, &any, catalog_text(tables, link.name));
    if (link.class_index == CATALOG_NONE)
      break;
    link = tables->classes[link.class_index].superclass;
  }
  buffer_append_char(out, ']');
}

static void write_interfaces(struct meta_json *json, struct buffer *out)
{
  const struct catalog_tables *tables = tables_of(json);
  const struct catalog_class *class = &tables->classes[json->class_index];
  bool any = false;
  BUFFER_LITERAL(out, ",\"interfaces\":[");
  for (unsigned i = 0; i < class->interface_count; i++)
    write_listed(out, &any, catalog_text(tables, tables->links[class->first_interface + i].name));
  buffer_append_char(out, ']');
}

static void write_subclasses(struct meta_json *json, struct buffer *out)
{
  const struct catalog_tables *tables = tables_of(json);
  const struct catalog_class *class = &tables->classes[json->class_index];
  bool any = false;
  BUFFER_LITERAL(out, ",\"subclasses\":[");
  for (uint32_t i = 0; i < class->subclass_count; i++) {
    uint32_t subclass = tables->subclasses[class->first_subclass + i];
    if (meta_query_knows(json->query, subclass))
      write_listed(out, &any, name_of(json, subclass));
  }
  buffer_append_char(out, ']');
}

static void write_names(struct buffer *out, struct text name, size_t simple_name_at)
{
  size_t dot = text_find_last(name, '.');
  BUFFER_LITERAL(out, "{\"className\":");
  json_write_string(out, name);
  BUFFER_LITERAL(out, ",\"simpleName\":");
  json_write_string(out, text_slice(name, simple_name_at, name.len));
  BUFFER_LITERAL(out, ",\"package\":");
  json_write_string(out, text_slice(name, 0, dot == SIZE_MAX ? 0 : dot));
}

static void write_head(struct meta_json *json, struct buffer *out)
{
  const struct catalog_tables *tables = tables_of(json);
  const struct catalog_class *class = &tables->classes[json->class_index];
  if (json->any_class)
    buffer_append_char(out, ',');
  json->any_class = true;
  write_names(out, catalog_text(tables, class->name), class->simple_name_at);
  write_modifiers(out, class->access, MODIFIERS_OF_CLASS);
  BUFFER_LITERAL(out, ",\"majorVersion\":");
  json_write_integer(out, class->major_version);
  BUFFER_LITERAL(out, ",\"minorVersion\":");
  json_write_integer(out, class->minor_version);
  BUFFER_LITERAL(out, ",\"sourceFile\":");
  write_string_or_null(out, catalog_text(tables, class->source_file));
  BUFFER_LITERAL(out, ",\"isArrayClass\":false,\"superclass\":");
  write_string_or_null(out, catalog_text(tables, class->superclass.name));
  write_superclasses(json, out);
  write_interfaces(json, out);
  write_subclasses(json, out);
}

/* Reads the type at the beginning of *rest into json->type, and moves *rest past it. */
static bool read_type(struct meta_json *json, struct text *rest, bool (*read)(struct text *, struct buffer *))
{
  buffer_clear(&json->type);
  return read(rest, &json->type) && !json->type.failed;
}

/* Writes the type of the signature; if the signature is missing or malformed, the type of the descriptor. */
static void write_type(struct meta_json *json, struct text signature, struct text descriptor,
                       struct buffer *out)
{
  if (signature.len == 0 || !read_type(json, &signature, signature_read_type) || signature.len > 0) {
    if (!read_type(json, &descriptor, descriptor_read_type))
      out->failed = true; /* descriptors are valid: memory is short */
  }
  json_write_string(out, buffer_text(&json->type));
}

static void write_parameter_name(struct buffer *out, struct text name, unsigned index)
{
  char made_up[16];
  if (name.len > 0) {
    json_write_string(out, name);
    return;
  }
  snprintf(made_up, sizeof made_up, "\"arg%u\"", index);
  buffer_append_text(out, text_of(made_up));
}

static void write_parameters(struct meta_json *json, const struct catalog_method *method, bool is_constructor,
                             struct buffer *out)
{
  const struct catalog_tables *tables = tables_of(json);
  struct method_types types;
  method_types_open(&types, catalog_text(tables, method->descriptor), catalog_text(tables, method->signature),
                    method->parameter_count, is_constructor);
  BUFFER_LITERAL(out, ",\"parameters\":[");
  for (unsigned i = 0; i < method->parameter_count; i++) {
    struct catalog_parameter parameter = {0};
    if (method->first_parameter != CATALOG_NONE)
      parameter = tables->parameters[method->first_parameter + i];
    if (i > 0)
      buffer_append_char(out, ',');
    BUFFER_LITERAL(out, "{\"name\":");
    write_parameter_name(out, catalog_text(tables, parameter.name), i);
    write_modifiers(out, parameter.access, MODIFIERS_OF_PARAMETER);
    BUFFER_LITERAL(out, ",\"type\":");
    buffer_clear(&json->type);
    if (method_types_next(&types, &json->type).data == NULL || json->type.failed)
      out->failed = true;
    json_write_string(out, buffer_text(&json->type));
    buffer_append_char(out, '}');
  }
  buffer_append_char(out, ']');
}

static void write_arity(const struct meta_json *json, const struct catalog_method *method, struct buffer *out)
{
  if (json->query->marks_varargs && (method->access & ACCESS_VARARGS) != 0)
    BUFFER_LITERAL(out, ",\"isVarArgs\":true");
}

static void write_constructor(struct meta_json *json, const struct meta_member *member, struct buffer *out)
{
  const struct catalog_method *method = &tables_of(json)->methods[member->index];
  BUFFER_LITERAL(out, "{\"name\":");
  json_write_string(out, name_of(json, json->class_index));
  write_modifiers(out, method->access, MODIFIERS_OF_METHOD);
  write_parameters(json, method, true, out);
  write_arity(json, method, out);
  buffer_append_char(out, '}');
}

static void write_ancestry(struct meta_json *json, const struct meta_member *member, struct buffer *out)
{
  BUFFER_LITERAL(out, ",\"overridden\":");
  write_boolean(out, member->overridden);
  if (member->declaring == json->class_index)
    return;
  BUFFER_LITERAL(out, ",\"inheritedFrom\":");
  json_write_string(out, name_of(json, member->declaring));
}

static struct text find_return_type(struct text method_type, bool is_signature)
{
  struct text rest = method_type;
  bool (*read)(struct text *, struct buffer *) = is_signature ? signature_read_type : descriptor_read_type;
  if (is_signature ? !signature_enter_method(&rest) : rest.len == 0)
    return TEXT("");
  if (!is_signature)
    rest = text_slice(rest, 1, rest.len);
  while (rest.len > 0 && rest.data[0] != ')') {
    if (!read(&rest, NULL))
      return TEXT("");
  }
  if (rest.len == 0)
    return rest;
  rest = text_slice(rest, 1, rest.len);
  struct text after = rest;
  /* The exceptions follow, each after a '^'. */
  return read(&after, NULL) ? text_slice(rest, 0, rest.len - after.len) : TEXT("");
}

static void write_method(struct meta_json *json, const struct meta_member *member, struct buffer *out)
{
  const struct catalog_tables *tables = tables_of(json);
  const struct catalog_method *method = &tables->methods[member->index];
  BUFFER_LITERAL(out, "{\"name\":");
  json_write_string(out, catalog_text(tables, method->name));
  write_modifiers(out, method->access, MODIFIERS_OF_METHOD);
  BUFFER_LITERAL(out, ",\"isStatic\":");
  write_boolean(out, (method->access & ACCESS_STATIC) != 0);
  BUFFER_LITERAL(out, ",\"returnType\":");
  write_type(json, find_return_type(catalog_text(tables, method->signature), true),
             find_return_type(catalog_text(tables, method->descriptor), false), out);
  write_ancestry(json, member, out);
  write_parameters(json, method, false, out);
  write_arity(json, method, out);
  buffer_append_char(out, '}');
}

static void write_field(struct meta_json *json, const struct meta_member *member, struct buffer *out)
{
  const struct catalog_tables *tables = tables_of(json);
  const struct catalog_field *field = &tables->fields[member->index];
  BUFFER_LITERAL(out, "{\"name\":");
  json_write_string(out, catalog_text(tables, field->name));
  write_modifiers(out, field->access, MODIFIERS_OF_FIELD);
  BUFFER_LITERAL(out, ",\"type\":");
  write_type(json, catalog_text(tables, field->signature), catalog_text(tables, field->descriptor), out);
  BUFFER_LITERAL(out, ",\"isStatic\":");
  write_boolean(out, (field->access & ACCESS_STATIC) != 0);
  write_ancestry(json, member, out);
  buffer_append_char(out, '}');
}

typedef void member_writer(struct meta_json *json, const struct meta_member *member, struct buffer *out);

/* Writes one member of a list, or the list's end and then moves to the next phase. */
static void write_next_member(struct meta_json *json, const struct array *list, member_writer *write,
                              struct text after, struct buffer *out)
{
  const struct meta_member *members = list->items;
  while (json->next_member < list->count && !members[json->next_member].allowed)
    json->next_member++;
  if (json->next_member < list->count) {
    if (json->any_member)
      buffer_append_char(out, ',');
    json->any_member = true;
    write(json, &members[json->next_member++], out);
    return;
  }
  buffer_append_text(out, after);
  json->next_member = 0;
  json->any_member = false;
  json->phase++;
}

static void begin_members(struct meta_json *json, struct buffer *out)
{
  BUFFER_LITERAL(out, ",\"constructors\":[");
  json->phase = META_CONSTRUCTORS;
}

static enum jp_status write_class(struct meta_json *json, struct buffer *out)
{
  do {
    if (!meta_query_next(json->query, &json->position, &json->class_index)) {
      buffer_append_char(out, ']');
      json->phase = META_DONE;
      return JP_OK;
    }
    enum jp_status status = meta_members_collect(&json->members, json->query, json->class_index);
    if (status != JP_OK)
      return status;
  } while (meta_members_are_denied(&json->members));
  write_head(json, out);
  begin_members(json, out);
  return JP_OK;
}

enum jp_status meta_json_next(struct meta_json *json, struct buffer *out)
{
  enum jp_status status = JP_OK;
  switch (json->phase) {
  case META_BEGIN:
    buffer_append_char(out, '[');
    json->phase = META_CLASS;
    break;
  case META_CLASS:
    status = write_class(json, out);
    break;
  case META_CONSTRUCTORS:
    write_next_member(json, &json->members.constructors, write_constructor, TEXT("],\"methods\":["), out);
    break;
  case META_METHODS:
    write_next_member(json, &json->members.methods, write_method, TEXT("],\"fields\":["), out);
    break;
  case META_FIELDS:
    write_next_member(json, &json->members.fields, write_field, TEXT("]}"), out);
    if (json->phase == META_DONE)
      json->phase = META_CLASS;
    break;
  case META_DONE:
    return JP_CLOSED;
  }
  return out->failed ? JP_NO_MEMORY : status;
}

/* Finds the members of one class. The query has merge_ancestry. */
static enum jp_status collect_members(struct meta_json *json, uint32_t class_index)
{
  json->class_index = class_index;
  return meta_members_collect(&json->members, json->query, class_index);
}

static bool shows_method(const struct meta_json *json, struct text name)
{
  const struct meta_member *members = json->members.methods.items;
  const struct catalog_tables *tables = tables_of(json);
  for (size_t i = 0; i < json->members.methods.count; i++) {
    if (members[i].allowed && text_equal(catalog_text(tables, tables->methods[members[i].index].name), name))
      return true;
  }
  return false;
}

/* Appends the superclasses, all interfaces and these members as the rest of an object, whose first members
 * are written already. */
static enum jp_status write_members(struct meta_json *json, struct buffer *out)
{
  enum jp_status status = JP_OK;
  write_superclasses(json, out);
  /* Includes the interfaces of its superclasses and the superinterfaces of interfaces; subtypes first. */
  const uint32_t *lineage = json->members.lineage.items;
  bool any = false;
  BUFFER_LITERAL(out, ",\"interfaces\":[");
  for (size_t i = json->members.chain_length; i < json->members.lineage.count; i++)
    write_listed(out, &any, name_of(json, lineage[i]));
  buffer_append_char(out, ']');
  begin_members(json, out);
  while (status == JP_OK && json->phase != META_CLASS)
    status = meta_json_next(json, out);
  return status;
}

/* ---- descriptions of objects and of classes ---- */

static void write_function(const struct op_description *look, const struct meta_json *json,
                           struct buffer *out)
{
  if (look->function_name.data == NULL || !shows_method(json, look->function_name))
    return;
  BUFFER_LITERAL(out, ",\"functional\":{\"name\":");
  json_write_string(out, look->function_name);
  BUFFER_LITERAL(out, ",\"arity\":");
  json_write_integer(out, (int64_t)look->function_arity);
  buffer_append_char(out, '}');
}

static bool compares_by_identity(const struct meta_json *json, const struct meta_member *equals)
{
  struct text declaring = name_of(json, equals->declaring);
  return text_equal(declaring, TEXT("java.lang.Object")) || text_equal(declaring, TEXT("java.lang.Enum"));
}

/* Clients compare such objects by their refs, without a call. Where the policy shows equals, they see that there. */
static void write_identity(const struct meta_json *json, struct buffer *out)
{
  const struct meta_member *members = json->members.methods.items;
  const struct catalog_tables *tables = tables_of(json);
  for (size_t i = 0; i < json->members.methods.count; i++) {
    const struct catalog_method *method = &tables->methods[members[i].index];
    if (text_equal(catalog_text(tables, method->name), TEXT("equals")) &&
        text_equal(catalog_text(tables, method->descriptor), TEXT("(Ljava/lang/Object;)Z"))) {
      if (!members[i].allowed && compares_by_identity(json, &members[i]))
        BUFFER_LITERAL(out, ",\"identity\":true");
      return;
    }
  }
}

static bool is_member_class(const struct catalog_class *class, size_t outer_length)
{
  return !class->hidden && (class->access & ACCESS_PUBLIC) != 0 && class->simple_name_at == outer_length + 1;
}

/* Lists the nested classes that the catalog has: asking the JVM would load them. Their names follow the name
 * of the class. */
static void write_nested(const struct op_description *look, const struct catalog_tables *known,
                         const struct policy *policy, enum policy_channel channel, struct buffer *out)
{
  struct text outer = look->class_name;
  uint32_t at = known == NULL || !look->shapes[0].is_permanent ? CATALOG_NONE : catalog_find(known, outer);
  bool any = false;
  if (at == CATALOG_NONE)
    return;
  BUFFER_LITERAL(out, ",\"nested\":[");
  for (at++; at < known->class_count; at++) {
    struct text name = catalog_text(known, known->classes[at].name);
    if (!text_starts_with(name, outer) || name.data[outer.len] != '$')
      break;
    if (!is_member_class(&known->classes[at], outer.len) || !policy_shows_class(policy, channel, name))
      continue;
    buffer_append_text(out, any ? TEXT(",") : TEXT(""));
    json_write_string(out, name);
    any = true;
  }
  buffer_append_char(out, ']');
}

static enum jp_status write_looked_class(const struct op_description *look,
                                         const struct catalog_tables *tables,
                                         const struct catalog_tables *known, const struct policy *policy,
                                         enum policy_channel channel, struct buffer *out)
{
  const struct operation everything = {.kind = OP_META, .meta = {.merge_ancestry = true}};
  struct meta_query query;
  struct meta_json json;
  enum jp_status status = meta_query_init(&query, tables, policy, channel, &everything);
  if (status != JP_OK)
    return status;
  query.only_public_ancestry = true;
  query.judged_name = look->judged_name;
  query.marks_varargs = look->is_of_class;
  meta_json_init(&json, &query);
  status = collect_members(&json, catalog_find(tables, look->class_name));
  if (status == JP_OK && look->is_of_class) {
    char words[MODIFIERS_TEXT_MAX];
    modifiers_format(look->shapes[0].access, MODIFIERS_OF_CLASS, words);
    BUFFER_LITERAL(out, ",\"modifiers\":");
    json_write_string(out, text_of(words));
    write_function(look, &json, out);
    write_nested(look, known, policy, channel, out);
  }
  if (status == JP_OK) {
    write_identity(&json, out);
    status = write_members(&json, out);
  }
  meta_json_fini(&json);
  meta_query_fini(&query);
  return status;
}

enum jp_status meta_look_write(const struct op_description *look, const struct catalog_tables *known,
                               const struct policy *policy, enum policy_channel channel, struct buffer *out)
{
  struct meta_shapes shapes;
  enum jp_status status = meta_shapes_make(&shapes, look, known);
  if (status == JP_OK) {
    BUFFER_LITERAL(out, "{\"class\":");
    json_write_string(out, look->class_name);
    if (look->text.data != NULL) {
      BUFFER_LITERAL(out, ",\"text\":");
      json_write_string(out, look->text);
    }
    if (look->has_length) {
      BUFFER_LITERAL(out, ",\"length\":");
      json_write_integer(out, (int64_t)look->length);
    }
    status = write_looked_class(look, &shapes.tables, known, policy, channel, out);
  }
  meta_shapes_fini(&shapes);
  return status == JP_OK && out->failed ? JP_NO_MEMORY : status;
}
