#include "tests/unit/rpc/fastpath/read_twice.h"

#include "base/primitives.h"
#include "rpc/jsonrpc/cached_requests.h"
#include "rpc/jsonrpc/json_params.h"
#include "rpc/values/value_read.h"
#include "tests/unit/unit.h"

enum { DIGITS_MAX = 10000 };

/* ---- an operation as a line of text ---- */

static void show_value(struct buffer *out, const struct op_value *value);

/* By the bytes of the elements. */
static void show_packed(struct buffer *out, const struct op_value *value)
{
  const uint8_t *bytes = value->packed.data;
  buffer_printf(out, "%c{", value->packed.element);
  for (size_t i = 0; i < value->packed.count * primitive_size(value->packed.element); i++)
    buffer_printf(out, "%02x", bytes[i]);
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

static void show_value(struct buffer *out, const struct op_value *value)
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
    if (value->release_count > 0)
      buffer_printf(out, "*%u", value->release_count);
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

static void show_operation(struct buffer *out, const struct operation *operation)
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

/* ---- reading ---- */

struct reading {
  struct rpc_fastpath **fastpath; /* where a shape is kept */
  struct text message;
  struct arena arena;
  struct buffer *shown;
};

static void show_request(struct buffer *out, const struct rpc_cached_request *request)
{
  struct buffer line;
  buffer_init(&line);
  show_operation(&line, &request->operation);
  buffer_printf(out, "%s id=%.*s peer-id=%.*s: %.*s", request->is_notification ? "notification" : "request",
                TEXT_ARGS(request->id), TEXT_ARGS(request->peer_id), TEXT_ARGS(buffer_text(&line)));
  buffer_append_char(out, '\0');
  buffer_fini(&line);
}

static void keep_shape(struct reading *reading, const struct jsonrpc_request *request,
                       const struct operation *operation)
{
  const struct rpc_read_request read = {.text = reading->message,
                                        .id = request->id,
                                        .peer_id = request->peer_id,
                                        .is_notification = request->is_notification,
                                        .operation = operation,
                                        .message = request,
                                        .find_places = rpc_find_value_places};
  rpc_fastpath_keep(reading->fastpath, &read);
}

static enum jp_status accept_callback(void *context, int64_t id, struct jp_error *error)
{
  (void)context, (void)id, (void)error;
  return JP_OK;
}

static const struct rpc_callback_sink sink = {.accept = accept_callback};

static void handle(void *context, const struct jsonrpc_request *request, struct jsonrpc_response *response)
{
  struct reading *reading = context;
  struct operation operation;
  struct outcome outcome;
  const struct rpc_value_rules rules = {.digits_max = DIGITS_MAX, .callbacks = &sink};
  if (rpc_params_decode(request, &rules, &reading->arena, &operation, &outcome) != JP_OK)
    return;
  const struct rpc_cached_request shown = {.id = request->id,
                                           .peer_id = request->peer_id,
                                           .is_notification = request->is_notification,
                                           .operation = operation};
  show_request(reading->shown, &shown);
  if (*reading->message.data == '{' && request->version == JSONRPC_2_0)
    keep_shape(reading, request, &operation);
  BUFFER_LITERAL(jsonrpc_result(response), "null");
}

/* Each path has its own exact copy of the message: a read beyond it, or after its end, is an error. */
static void read_generally(struct rpc_fastpath **fastpath, struct text message, struct buffer *shown)
{
  char *copy = unit_exact_copy(message.data, message.len);
  struct reading reading = {.fastpath = fastpath, .message = {copy, message.len}, .shown = shown};
  struct buffer out;
  arena_init(&reading.arena);
  buffer_init(&out);
  const struct jsonrpc_service service = {.context = &reading,
                                          .arena = &reading.arena,
                                          .handle = handle,
                                          .limits = {.max_depth = 64},
                                          .max_batch = 16};
  struct jsonrpc_stream stream;
  (void)!jsonrpc_handle(&service, reading.message, &out, &stream);
  buffer_fini(&out);
  arena_fini(&reading.arena);
  test_free(copy);
}

static bool read_from_cache(struct rpc_fastpath *fastpath, struct text message, struct buffer *shown)
{
  char *copy = unit_exact_copy(message.data, message.len);
  struct arena arena;
  arena_init(&arena);
  const struct rpc_cached_request *request =
      rpc_fastpath_find(fastpath, (struct text){copy, message.len}, &arena, NULL);
  if (request != NULL)
    show_request(shown, request);
  arena_fini(&arena);
  test_free(copy);
  return request != NULL;
}

enum read_twice read_twice(struct rpc_fastpath **fastpath, struct text message, struct buffer *shown)
{
  struct buffer cached;
  buffer_init(&cached);
  buffer_clear(shown);
  bool found = read_from_cache(*fastpath, message, &cached);
  read_generally(fastpath, message, shown);
  bool same = !found || text_equal(buffer_text(&cached), buffer_text(shown));
  buffer_fini(&cached);
  if (!same)
    return READ_DIFFERENTLY;
  return found ? READ_FROM_CACHE : READ_GENERALLY;
}
