#include "jsonrpc/library.h"

#include "jsonrpc/jsonrpc.h"

#include <stdarg.h>
#include <stdlib.h>

enum { MAX_DEPTH = 128, MAX_BATCH = 1000, REASON_MAX = 256, LINE_MAX_BYTES = 512 };

/* A message that is being served; shared by the threads of a map. */
struct served_message {
  const struct jp_jsonrpc_config *config;
  jp_jsonrpc_handler *handler;
  void *context;
  bool gives_tree; /* the reply will be decoded to a tree, so the codec must be able to represent all of it */
};

struct jp_jsonrpc_call {
  const struct jp_jsonrpc_config *config;
  const struct jsonrpc_request *request;
  struct jsonrpc_response *response;
  struct jp_json_writer writer;
  bool has_begun;
  bool is_error; /* the data of an error may be a tree, too */
  bool gives_tree;
  bool is_tree; /* the handler wrote a tree of the codec */
  void *params_tree;
  char reason[REASON_MAX];
};

int jp_jsonrpc_library_version(void)
{
  return JP_JSONRPC_VERSION_MAJOR * 1000 + JP_JSONRPC_VERSION_MINOR;
}

const char *jp_jsonrpc_code_message(int code)
{
  return jsonrpc_code_message(code);
}

/* ---- getters for a handler ---- */

struct jp_text jp_jsonrpc_method(const struct jp_jsonrpc_call *call)
{
  return public_text(call->request->method);
}

struct jp_json jp_jsonrpc_params(const struct jp_jsonrpc_call *call)
{
  return call->request->has_params ? public_value(call->request->params) : (struct jp_json){0};
}

struct jp_json jp_jsonrpc_param(const struct jp_jsonrpc_call *call, size_t position, const char *name)
{
  struct jp_json params = jp_jsonrpc_params(call);
  return params.kind == JP_JSON_ARRAY ? jp_json_at(params, position) : jp_json_member(params, name);
}

struct jp_json jp_jsonrpc_id(const struct jp_jsonrpc_call *call)
{
  struct text id = call->request->id;
  return id.data == NULL ? (struct jp_json){0} : public_value(json_root(id));
}

bool jp_jsonrpc_is_notification(const struct jp_jsonrpc_call *call)
{
  return call->request->is_notification;
}

struct jp_text jp_jsonrpc_string(struct jp_jsonrpc_call *call, struct jp_json value)
{
  if (value.kind != JP_JSON_STRING)
    return (struct jp_text){0};
  return public_text(json_read_string(library_value(value), call->request->arena));
}

/* ---- answers of a handler ---- */

static struct jp_json_writer *begin_answer(struct jp_jsonrpc_call *call, struct buffer *out, bool is_error)
{
  call->has_begun = true;
  call->is_error = is_error;
  call->is_tree = false;
  call->writer.out = out;
  call->writer.start = out->len;
  return &call->writer;
}

struct jp_json_writer *jp_jsonrpc_result(struct jp_jsonrpc_call *call)
{
  return begin_answer(call, jsonrpc_result(call->response), false);
}

struct jp_json_writer *jp_jsonrpc_error(struct jp_jsonrpc_call *call, int code, const char *message)
{
  const char *words = message == NULL ? jsonrpc_code_message(code) : message;
  return begin_answer(call, jsonrpc_error(call->response, code, words), true);
}

int jp_jsonrpc_fail(struct jp_jsonrpc_call *call, const char *format, ...)
{
  va_list args;
  va_start(args, format);
  text_format_va(call->reason, sizeof call->reason, format, args);
  va_end(args);
  return -1;
}

/* ---- trees of other libraries ---- */

void *jp_jsonrpc_params_tree(struct jp_jsonrpc_call *call)
{
  const struct jp_json_codec *codec = call->config->codec;
  if (codec == NULL || !call->request->has_params)
    return NULL;
  if (call->params_tree == NULL)
    call->params_tree = codec->decode(codec->context, public_text(call->request->params.span));
  return call->params_tree;
}

static int write_tree(struct jp_jsonrpc_call *call, struct jp_json_writer *writer, void *tree)
{
  const struct jp_json_codec *codec = call->config->codec;
  if (codec == NULL)
    return jp_jsonrpc_fail(call, "no codec is configured");
  if (tree == NULL)
    return jp_jsonrpc_fail(call, "the result has no tree");
  int failed = codec->encode(codec->context, tree, writer);
  codec->release(codec->context, tree);
  call->is_tree = failed == 0;
  return failed == 0 ? 0 : jp_jsonrpc_fail(call, "the result's tree could not be written");
}

int jp_jsonrpc_result_tree(struct jp_jsonrpc_call *call, void *tree)
{
  return write_tree(call, jp_jsonrpc_result(call), tree);
}

int jp_jsonrpc_error_tree(struct jp_jsonrpc_call *call, int code, const char *message, void *data)
{
  struct jp_json_writer *writer = jp_jsonrpc_error(call, code, message);
  return data == NULL ? 0 : write_tree(call, writer, data);
}

/* ---- serving ---- */

static void log_failure(const struct jp_jsonrpc_call *call, const char *reason)
{
  char line[LINE_MAX_BYTES];
  if (call->config->log == NULL)
    return;
  text_format(line, sizeof line, "the handler of %.*s failed: %s",
              TEXT_ARGS(text_cut(call->request->method, 100)), reason);
  call->config->log(call->config->log_context, line);
}

static bool can_be_tree(const struct jp_jsonrpc_call *call, struct jp_text json)
{
  const struct jp_json_codec *codec = call->config->codec;
  void *tree = codec->decode(codec->context, json);
  if (tree == NULL)
    return false;
  codec->release(codec->context, tree);
  return true;
}

/* Returns the fault of the handler's answer, or NULL. */
static const char *find_fault(const struct jp_jsonrpc_call *call)
{
  if (!call->has_begun)
    return "it answered nothing";
  struct jp_text written = jp_json_writer_text(&call->writer);
  struct json_fault fault;
  if (written.data == NULL || (call->is_error && written.len == 0))
    return NULL;
  bool is_json = json_validate(library_text(written), (struct json_limits){LIBRARY_DEPTH_MAX}, TEXT_ABSENT,
                               &fault) == JP_OK;
  if (!is_json)
    return "its output is not one JSON value";
  bool is_fine = !call->gives_tree || call->is_tree || can_be_tree(call, written);
  return is_fine ? NULL : "its output cannot become a tree";
}

static void run_handler(void *context, const struct jsonrpc_request *request,
                        struct jsonrpc_response *response)
{
  const struct served_message *serving = context;
  struct jp_jsonrpc_call call = {
      .config = serving->config, .request = request, .response = response, .gives_tree = serving->gives_tree};
  int result = serving->handler(serving->context, &call);
  const char *fault = result == 0              ? find_fault(&call)
                      : call.reason[0] != '\0' ? call.reason
                                               : "no reason given";
  if (call.params_tree != NULL)
    serving->config->codec->release(serving->config->codec->context, call.params_tree);
  if (fault == NULL)
    return;
  log_failure(&call, fault);
  jsonrpc_error(response, JSONRPC_INTERNAL_ERROR, jsonrpc_code_message(JSONRPC_INTERNAL_ERROR));
}

/* Errors that the library itself finds have no data. */
static void write_no_data(void *context, struct buffer *data, struct text detail, struct text id)
{
  (void)context, (void)data, (void)detail, (void)id;
}

static enum jp_jsonrpc_status serve_message(const struct served_message *serving, struct jp_text message,
                                            struct jp_jsonrpc_reply *reply)
{
  const struct jp_jsonrpc_config *config = serving->config;
  struct arena arena;
  struct buffer out;
  struct jsonrpc_stream unused;
  arena_init(&arena);
  buffer_init(&out);
  *reply = (struct jp_jsonrpc_reply){0};
  const struct jsonrpc_service service = {
      .context = (void *)serving,
      .arena = &arena,
      .handle = run_handler,
      .write_error_data = write_no_data,
      .limits = {.max_depth = config->max_depth == 0 ? MAX_DEPTH : config->max_depth},
      .max_batch = config->max_batch == 0 ? MAX_BATCH : config->max_batch,
      .is_strict = true,
      .map = config->map,
      .map_context = config->map_context};
  enum jsonrpc_handled handled = jsonrpc_handle(&service, library_text(message), &out, &unused);
  arena_fini(&arena);
  if (out.failed) {
    buffer_fini(&out);
    return JP_JSONRPC_NO_MEMORY;
  }
  if (handled == JSONRPC_NO_REPLY) {
    buffer_fini(&out);
    reply->http_status = 204;
    return JP_JSONRPC_NO_REPLY;
  }
  *reply = (struct jp_jsonrpc_reply){out.data, out.len, handled == JSONRPC_FAILED ? 500 : 200};
  return JP_JSONRPC_OK;
}

enum jp_jsonrpc_status jp_jsonrpc_handle(const struct jp_jsonrpc_config *config, struct jp_text message,
                                         jp_jsonrpc_handler *handler, void *context,
                                         struct jp_jsonrpc_reply *reply)
{
  static const struct jp_jsonrpc_config standard;
  const struct served_message serving = {
      .config = config == NULL ? &standard : config, .handler = handler, .context = context};
  return serve_message(&serving, message, reply);
}

enum jp_jsonrpc_status jp_jsonrpc_parse_error(struct jp_jsonrpc_reply *reply)
{
  return jp_jsonrpc_handle(NULL, (struct jp_text){"", 0}, NULL, NULL, reply);
}

void jp_jsonrpc_reply_free(struct jp_jsonrpc_reply *reply)
{
  free(reply->data);
  *reply = (struct jp_jsonrpc_reply){0};
}

/* ---- serving messages that others have decoded ---- */

/* Consumes the reply. */
static enum jp_jsonrpc_status decode_reply(const struct jp_json_codec *codec, enum jp_jsonrpc_status status,
                                           struct jp_jsonrpc_reply *reply, void **tree)
{
  if (status == JP_JSONRPC_OK) {
    *tree = codec->decode(codec->context, (struct jp_text){reply->data, reply->len});
    if (*tree == NULL) /* all other faults were found before, so only a lack of memory can be the reason */
      status = JP_JSONRPC_NO_MEMORY;
  }
  jp_jsonrpc_reply_free(reply);
  return status;
}

enum jp_jsonrpc_status jp_jsonrpc_handle_tree(const struct jp_jsonrpc_config *config, const void *message,
                                              jp_jsonrpc_handler *handler, void *context, void **reply)
{
  *reply = NULL;
  if (config == NULL || config->codec == NULL || message == NULL)
    return JP_JSONRPC_INVALID;
  struct jp_json_writer *writer = jp_json_writer_create();
  if (writer == NULL)
    return JP_JSONRPC_NO_MEMORY;
  enum jp_jsonrpc_status status = JP_JSONRPC_INVALID;
  if (config->codec->encode(config->codec->context, message, writer) == 0) {
    const struct served_message serving = {
        .config = config, .handler = handler, .context = context, .gives_tree = true};
    struct jp_text text = jp_json_writer_text(writer);
    struct jp_jsonrpc_reply bytes = {0};
    status = text.data == NULL ? JP_JSONRPC_NO_MEMORY : serve_message(&serving, text, &bytes);
    status = decode_reply(config->codec, status, &bytes, reply);
  }
  jp_json_writer_destroy(writer);
  return status;
}

enum jp_jsonrpc_status jp_jsonrpc_parse_error_tree(const struct jp_json_codec *codec, void **reply)
{
  struct jp_jsonrpc_reply bytes;
  *reply = NULL;
  return decode_reply(codec, jp_jsonrpc_parse_error(&bytes), &bytes, reply);
}
