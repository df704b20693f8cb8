#include "tests/unit/rpc/fastpath/read_twice.h"

#include "rpc/jsonrpc/json_params.h"
#include "tests/unit/rpc/show_operation.h"

#include <stdlib.h>

enum { DIGITS_MAX = 10000 };

struct reading {
  struct rpc_repeats *repeats; /* where a shape is kept; NULL: nowhere */
  struct text message;
  struct arena arena;
  struct buffer *shown;
};

static void show(struct buffer *out, const struct jsonrpc_request *request, const struct operation *operation)
{
  struct buffer line;
  buffer_init(&line);
  show_operation(&line, operation);
  buffer_printf(out, "%.*s %s id=%.*s peer-id=%.*s: %.*s", TEXT_ARGS(request->method),
                request->is_notification ? "notification" : "request", TEXT_ARGS(request->id),
                TEXT_ARGS(request->peer_id), TEXT_ARGS(buffer_text(&line)));
  buffer_append_char(out, '\0');
  buffer_fini(&line);
}

static void handle(void *context, const struct jsonrpc_request *request, struct jsonrpc_response *response)
{
  struct reading *reading = context;
  struct operation operation;
  struct outcome outcome;
  if (rpc_params_decode(request, DIGITS_MAX, &reading->arena, &operation, &outcome) != JP_OK)
    return;
  show(reading->shown, request, &operation);
  if (*reading->message.data == '{')
    rpc_repeats_keep(reading->repeats, reading->message, request, &operation);
  BUFFER_LITERAL(jsonrpc_result(response), "null");
}

/* Each way has its own exact copy of the message: nothing may be read beyond it, or after it is gone. */
static char *copy_of(struct text message)
{
  char *copy = malloc(message.len == 0 ? 1 : message.len);
  if (copy == NULL)
    abort();
  if (message.len > 0)
    memcpy(copy, message.data, message.len);
  return copy;
}

static void read_in_full(struct rpc_repeats *repeats, struct text message, struct buffer *shown)
{
  char *copy = copy_of(message);
  struct reading reading = {.repeats = repeats, .message = {copy, message.len}, .shown = shown};
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

static bool read_as_repeat(struct rpc_repeats *repeats, struct text message, struct buffer *shown)
{
  char *copy = copy_of(message);
  struct arena arena;
  arena_init(&arena);
  const struct rpc_shape *shape = rpc_repeats_find(repeats, (struct text){copy, message.len}, &arena);
  if (shape != NULL)
    show(shown, &shape->request, &shape->operation);
  arena_fini(&arena);
  free(copy);
  return shape != NULL;
}

enum read_twice read_twice(struct rpc_repeats *repeats, struct text message, struct buffer *shown)
{
  struct buffer repeated;
  buffer_init(&repeated);
  buffer_clear(shown);
  bool found = read_as_repeat(repeats, message, &repeated);
  read_in_full(repeats, message, shown);
  bool same = !found || text_equal(buffer_text(&repeated), buffer_text(shown));
  buffer_fini(&repeated);
  if (!same)
    return READ_DIFFERENTLY;
  return found ? READ_AS_REPEAT : READ_IN_FULL;
}
