#include "tests/unit/rpc/show_operation.h"

#include "tests/unit/unit.h"

static void show_packed(struct buffer *out, const struct op_value *value)
{
  buffer_printf(out, "%c{", value->packed.element);
  for (size_t i = 0; i < value->packed.count; i++) {
    const void *data = value->packed.data;
    const char *comma = i == 0 ? "" : ",";
    switch (value->packed.element) {
    case 'Z':
      buffer_printf(out, "%s%d", comma, ((const uint8_t *)data)[i]);
      break;
    case 'B':
      buffer_printf(out, "%s%d", comma, ((const int8_t *)data)[i]);
      break;
    case 'C':
      buffer_printf(out, "%s%x", comma, ((const uint16_t *)data)[i]);
      break;
    case 'S':
      buffer_printf(out, "%s%d", comma, ((const int16_t *)data)[i]);
      break;
    case 'I':
      buffer_printf(out, "%s%d", comma, ((const int32_t *)data)[i]);
      break;
    case 'J':
      buffer_printf(out, "%s%lld", comma, (long long)((const int64_t *)data)[i]);
      break;
    case 'F':
      buffer_printf(out, "%s%.9g", comma, (double)((const float *)data)[i]);
      break;
    default:
      buffer_printf(out, "%s%.17g", comma, ((const double *)data)[i]);
      break;
    }
  }
  BUFFER_LITERAL(out, "}");
}

static void show_list(struct buffer *out, const struct op_value *value)
{
  BUFFER_LITERAL(out, "[");
  for (size_t i = 0; i < value->list.count; i++) {
    if (i > 0)
      BUFFER_LITERAL(out, ",");
    show_value(out, &value->list.items[i]);
  }
  BUFFER_LITERAL(out, "]");
}

static void show_map(struct buffer *out, const struct op_value *value)
{
  BUFFER_LITERAL(out, "{");
  for (size_t i = 0; i < value->map.count; i++) {
    buffer_printf(out, "%s%.*s=", i == 0 ? "" : ",", TEXT_ARGS(value->map.entries[i].key));
    show_value(out, &value->map.entries[i].value);
  }
  BUFFER_LITERAL(out, "}");
}

static void show_names(struct buffer *out, const char *name, const struct text *names, size_t count)
{
  for (size_t i = 0; i < count; i++)
    buffer_printf(out, "%s%.*s", i == 0 ? name : "+", TEXT_ARGS(names[i]));
}

static void show_callback(struct buffer *out, const struct op_callback *callback)
{
  buffer_printf(out, "call%lld", (long long)callback->id);
  show_names(out, " of ", callback->interfaces, callback->interface_count);
  show_names(out, " over ", callback->overrides, callback->override_count);
  if (callback->arity >= 0)
    buffer_printf(out, " arity %d", callback->arity);
  buffer_printf(out, "%s%s", callback->is_oneway ? " oneway" : "", callback->borrows ? " borrow" : "");
}

static void show_number(struct buffer *out, const struct op_value *value)
{
  if (value->literal.data != NULL)
    buffer_printf(out, "#%.*s", TEXT_ARGS(value->literal));
  else
    buffer_printf(out, "%lld", (long long)value->integer);
  if (value->suffix != 0)
    buffer_append_char(out, value->suffix);
}

void show_value(struct buffer *out, const struct op_value *value)
{
  if (value->type.data != NULL)
    buffer_printf(out, "(%.*s)", TEXT_ARGS(value->type));
  switch (value->kind) {
  case OP_NULL:
    BUFFER_LITERAL(out, "null");
    break;
  case OP_BOOLEAN:
    buffer_printf(out, "%s", value->boolean ? "true" : "false");
    break;
  case OP_INTEGER:
  case OP_BIG_INTEGER:
  case OP_FLOAT:
  case OP_DOUBLE:
    show_number(out, value);
    break;
  case OP_TEXT:
    buffer_printf(out, "'%.*s'", TEXT_ARGS(value->text));
    break;
  case OP_REF:
    buffer_printf(out, "@%u", value->ref);
    if (value->tellings > 0)
      buffer_printf(out, "*%u", value->tellings);
    break;
  case OP_LIST:
    show_list(out, value);
    break;
  case OP_MAP:
    show_map(out, value);
    break;
  case OP_PACKED:
    show_packed(out, value);
    break;
  case OP_CALLBACK:
    show_callback(out, value->callback);
    break;
  default:
    fail_msg("a result's kind %d in a request", value->kind);
  }
}

static void show_texts(struct buffer *out, const char *name, const struct text *texts, size_t count)
{
  buffer_printf(out, " %s=%s", name, texts == NULL ? "-" : "");
  for (size_t i = 0; texts != NULL && i < count; i++)
    buffer_printf(out, "%s%.*s", i == 0 ? "" : ",", TEXT_ARGS(texts[i]));
}

void show_operation(struct buffer *out, const struct operation *operation)
{
  static const char *const kinds[] = {
      [OP_NEW] = "new",         [OP_CALL] = "call", [OP_GET] = "get",     [OP_PUT] = "put",
      [OP_CONTROL] = "control", [OP_META] = "meta", [OP_FETCH] = "fetch", [OP_DESCRIBE] = "describe"};
  buffer_clear(out);
  buffer_printf(out, "%s", kinds[operation->kind]);
  if (operation->kind == OP_META) {
    buffer_printf(out, " compress=%d merge=%d", operation->meta.compress_encode,
                  operation->meta.merge_ancestry);
    show_texts(out, "exclude", operation->meta.exclude_prefixes, operation->meta.exclude_count);
    show_texts(out, "include", operation->meta.include_classes, operation->meta.include_count);
    return;
  }
  if (operation->kind == OP_CONTROL)
    buffer_printf(out, " %s", op_control_methods[operation->command].name.data);
  else
    buffer_printf(out, " %.*s %.*s", TEXT_ARGS(operation->type), TEXT_ARGS(operation->member));
  if (operation->has_instance)
    buffer_printf(out, " on @%u", operation->instance);
  if (operation->receiver != NULL) {
    buffer_printf(out, " on ");
    show_value(out, operation->receiver);
  }
  if (operation->piece != NULL)
    buffer_printf(out, " piece %.*s", TEXT_ARGS(operation->piece->written));
  if (operation->base64_result)
    buffer_printf(out, " base64");
  for (size_t i = 0; i < operation->arg_count; i++) {
    BUFFER_LITERAL(out, " ");
    show_value(out, &operation->args[i]);
  }
}
