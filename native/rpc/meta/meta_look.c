#include "rpc/meta/meta_look.h"

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

static enum jp_status write_class(const struct op_look *look, const struct catalog_tables *tables,
                                  const struct policy *policy, enum policy_channel channel,
                                  struct buffer *out)
{
  const struct operation everything = {.kind = OP_META, .meta = {.merge_ancestry = true}};
  struct meta_query query;
  struct meta_json json;
  enum jp_status status = meta_query_init(&query, tables, policy, channel, &everything);
  if (status != JP_OK)
    return status;
  query.only_public_ancestry = true;
  query.judged_name = look->judged_name;
  meta_json_init(&json, &query);
  status = meta_json_write_members(&json, catalog_find(tables, look->class_name), out);
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
    status = write_class(look, &shapes.tables, policy, channel, out);
  }
  meta_shapes_fini(&shapes);
  return status == JP_OK && out->failed ? JP_NO_MEMORY : status;
}
