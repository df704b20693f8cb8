#include "tests/fuzz/touch_operation.h"

#include "base/primitives.h"

#include "tests/fuzz/fuzz.h"

static volatile uint8_t sum; /* of every byte that was read */

static void touch(const void *bytes, size_t count)
{
  const uint8_t *p = bytes;
  for (size_t i = 0; i < count; i++)
    sum = (uint8_t)(sum + p[i]);
}

static void touch_text(struct text t)
{
  if (t.data != NULL)
    touch(t.data, t.len);
}

static void touch_callback(const struct op_callback *callback)
{
  require(callback->id > 0 && callback->arity >= -1 && callback->arity <= 255);
  require(!callback->is_oneway || !callback->borrows);
  for (size_t i = 0; i < callback->interface_count; i++)
    touch_text(callback->interfaces[i]);
  for (size_t i = 0; i < callback->override_count; i++)
    touch_text(callback->overrides[i]);
}

static void touch_value(const struct op_value *value)
{
  touch_text(value->type);
  touch_text(value->literal);
  switch (value->kind) {
  case OP_TEXT:
    touch_text(value->text);
    break;
  case OP_REF:
    require(value->ref >= 1 && value->ref <= INT32_MAX);
    break;
  case OP_LIST:
    for (size_t i = 0; i < value->list.count; i++)
      touch_value(&value->list.items[i]);
    break;
  case OP_MAP:
    for (size_t i = 0; i < value->map.count; i++) {
      touch_text(value->map.entries[i].key);
      touch_value(&value->map.entries[i].value);
    }
    break;
  case OP_PACKED:
    require(primitive_size(value->packed.element) > 0);
    touch(value->packed.data, value->packed.count * primitive_size(value->packed.element));
    break;
  case OP_BIG_INTEGER:
  case OP_FLOAT:
  case OP_DOUBLE:
    require(value->literal.data != NULL);
    break;
  case OP_CALLBACK:
    touch_callback(value->callback);
    break;
  default:
    require(value->kind != OP_CHAR);
    break;
  }
}

static void touch_query(const struct operation *operation)
{
  for (size_t i = 0; i < operation->meta.exclude_count; i++)
    touch_text(operation->meta.exclude_prefixes[i]);
  for (size_t i = 0; i < operation->meta.include_count; i++)
    touch_text(operation->meta.include_classes[i]);
}

static void check_fetch(const struct operation *operation)
{
  require(operation->has_instance);
  require(operation->fetch.max >= 1 && operation->fetch.max <= INT32_MAX);
  require(operation->fetch.from <= INT32_MAX);
}

static void check_columns(const struct operation *operation)
{
  require(operation->columns.max >= 1 && operation->columns.max <= INT32_MAX);
  require(operation->columns.from <= INT32_MAX && operation->columns.cells_max > 0);
  require(operation->columns.has_paths || operation->columns.path_count == 0);
  for (size_t i = 0; i < operation->columns.path_count; i++)
    touch_text(operation->columns.paths[i]);
}

static void check_rows(const struct operation *operation)
{
  require(operation->rows.count <= INT32_MAX && operation->rows.from <= INT32_MAX);
  touch_text(operation->rows.element);
  for (size_t i = 0; i < operation->rows.column_count; i++) {
    const struct op_sent_column *column = &operation->rows.columns[i];
    const struct text texts[] = {column->name, column->type,    column->unit,
                                 column->data, column->offsets, column->valid};
    for (size_t j = 0; j < sizeof texts / sizeof *texts; j++)
      touch_text(texts[j]);
    require(column->type.data != NULL && (column->data.data == NULL) != (column->objects == NULL));
    if (column->objects != NULL)
      touch_value(column->objects);
  }
}

void touch_operation(const struct operation *operation)
{
  touch_text(operation->type);
  touch_text(operation->member);
  touch_text(operation->thread_affinity);
  for (size_t i = 0; i < operation->arg_count; i++)
    touch_value(&operation->args[i]);
  if (operation->receiver != NULL)
    touch_value(operation->receiver);
  if (operation->piece != NULL)
    touch_text(operation->piece->written);
  require(operation->loader <= INT32_MAX);
  if (operation->kind == OP_META)
    touch_query(operation);
  else if (operation->kind == OP_FETCH)
    check_fetch(operation);
  else if (operation->kind == OP_COLUMNS)
    check_columns(operation);
  else if (operation->kind == OP_ROWS)
    check_rows(operation);
}

enum jp_status accept_callback(void *context, int64_t id, struct jp_error *error)
{
  (void)error;
  require(id > 0);
  ((struct callback_counts *)context)->taken++;
  return JP_OK;
}

void find_callback(void *context, int64_t id)
{
  require(id > 0);
  ((struct callback_counts *)context)->found++;
}
