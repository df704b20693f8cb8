#include "rpc/meta/meta_look.h"

#include "classfile/class_file.h"
#include "rpc/meta/meta_json.h"
#include "rpc/meta/meta_shapes.h"
#include "json/writer.h"

/* ---- the text ---- */

static void write_head(const struct op_look *look, struct buffer *out)
{
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
}

/* ---- of a class that was asked for by its name ---- */

static void write_modifiers(const struct op_look *look, struct buffer *out)
{
  char words[MODIFIERS_TEXT_MAX];
  modifiers_format(look->shapes[0].access, MODIFIERS_OF_CLASS, words);
  BUFFER_LITERAL(out, ",\"modifiers\":");
  json_write_string(out, text_of(words));
}

static void write_function(const struct op_look *look, const struct meta_json *json, struct buffer *out)
{
  if (look->function_name.data == NULL || !meta_json_shows_method(json, look->function_name))
    return;
  BUFFER_LITERAL(out, ",\"functional\":{\"name\":");
  json_write_string(out, look->function_name);
  BUFFER_LITERAL(out, ",\"arity\":");
  json_write_integer(out, (int64_t)look->function_arity);
  buffer_append_char(out, '}');
}

static bool is_member_class(const struct catalog_class *class, size_t outer_length)
{
  return !class->hidden && (class->access & ACCESS_PUBLIC) != 0 && class->simple_name_at == outer_length + 1;
}

/* Those that the catalog has: the JVM would load them to tell. Their names follow that of the class. */
static void write_nested(const struct op_look *look, const struct catalog_tables *known,
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

/* ---- */

static enum jp_status write_class(const struct op_look *look, const struct catalog_tables *tables,
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
  query.marks_varargs = look->tells_class;
  meta_json_init(&json, &query);
  status = meta_json_collect_members(&json, catalog_find(tables, look->class_name));
  if (status == JP_OK && look->tells_class) {
    write_modifiers(look, out);
    write_function(look, &json, out);
    write_nested(look, known, policy, channel, out);
  }
  if (status == JP_OK)
    status = meta_json_write_members(&json, out);
  meta_json_fini(&json);
  meta_query_fini(&query);
  return status;
}

enum jp_status meta_look_write(const struct op_look *look, const struct catalog_tables *known,
                               const struct policy *policy, enum policy_channel channel, struct buffer *out)
{
  struct meta_shapes shapes;
  enum jp_status status = meta_shapes_make(&shapes, look, known);
  if (status == JP_OK) {
    write_head(look, out);
    status = write_class(look, &shapes.tables, known, policy, channel, out);
  }
  meta_shapes_fini(&shapes);
  return status == JP_OK && out->failed ? JP_NO_MEMORY : status;
}
