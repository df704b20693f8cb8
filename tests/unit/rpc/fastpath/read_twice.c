#include "tests/unit/rpc/fastpath/read_twice.h"

#include "rpc/jsonrpc/cached_requests.h"
#include "rpc/jsonrpc/json_params.h"
#include "rpc/values/value_read.h"
#include "tests/unit/rpc/show_operation.h"

#include <stdlib.h>

enum { DIGITS_MAX = 10000 };

struct reading {
  struct rpc_fastpath **fastpath; /* where a shape is kept */
  struct text message;
  struct arena arena;
  struct buffer *shown;
};

static void show(struct buffer *out, const struct rpc_cached_request *request)
{
  struct buffer line;
  buffer_init(&line);
  show_operation(&line, &request->operation);
  buffer_printf(out, "%s id=%.*s peer-id=%.*s: %.*s", request->is_notification ? "notification" : "request",
                TEXT_ARGS(request->id), TEXT_ARGS(request->peer_id), TEXT_ARGS(buffer_text(&line)));
  buffer_append_char(out, '\0');
  buffer_fini(&line);
}

static void keep(struct reading *reading, const struct jsonrpc_request *request,
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

static enum jp_status take_callback(void *context, int64_t id, struct jp_error *error)
{
  (void)context, (void)id, (void)error;
  return JP_OK;
}

static const struct rpc_callback_taker taker = {.take = take_callback};

static void handle(void *context, const struct jsonrpc_request *request, struct jsonrpc_response *response)
{
  struct reading *reading = context;
  struct operation operation;
  struct outcome outcome;
  const struct rpc_params_rules rules = {.digits_max = DIGITS_MAX, .callbacks = &taker};
  if (rpc_params_decode(request, &rules, &reading->arena, &operation, &outcome) != JP_OK)
    return;
  const struct rpc_cached_request shown = {.id = request->id,
                                           .peer_id = request->peer_id,
                                           .is_notification = request->is_notification,
                                           .operation = operation};
  show(reading->shown, &shown);
  if (*reading->message.data == '{' && request->version == JSONRPC_2_0)
    keep(reading, request, &operation);
  BUFFER_LITERAL(jsonrpc_result(response), "null");
}

/* Each path has its own exact copy of the message: nothing may be read beyond it, or after it is gone. */
static char *copy_of(struct text message)
{
  char *copy = malloc(message.len == 0 ? 1 : message.len);
  if (copy == NULL)
    abort();
  if (message.len > 0)
    memcpy(copy, message.data, message.len);
  return copy;
}

static void read_generally(struct rpc_fastpath **fastpath, struct text message, struct buffer *shown)
{
  char *copy = copy_of(message);
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
  free(copy);
}

static bool read_from_cache(struct rpc_fastpath *fastpath, struct text message, struct buffer *shown)
{
  char *copy = copy_of(message);
  struct arena arena;
  arena_init(&arena);
  const struct rpc_cached_request *request =
      rpc_fastpath_find(fastpath, (struct text){copy, message.len}, &arena, NULL);
  if (request != NULL)
    show(shown, request);
  arena_fini(&arena);
  free(copy);
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
