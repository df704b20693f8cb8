#include "include/jpeer/jsonrpc_jansson.h"

#include <stdlib.h>
#include <string.h>

static void *decode(void *context, struct jp_text json)
{
  (void)context;
  return json_loadb(json.data, json.len, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
}

static int encode(void *context, const void *tree, struct jp_json_writer *writer)
{
  (void)context;
  const size_t flags = JSON_ENCODE_ANY | JSON_COMPACT;
  char *text = json_dumps(tree, flags);
  if (text == NULL)
    return -1;
  jp_json_write_raw(writer, (struct jp_text){text, strlen(text)});
  free(text);
  return 0;
}

static void release(void *context, void *tree)
{
  (void)context;
  json_decref(tree);
}

const struct jp_json_codec jp_jsonrpc_jansson = {NULL, decode, encode, release};

enum jp_jsonrpc_status jp_jansson_handle(const struct jp_jsonrpc_config *config, const json_t *message,
                                         jp_jsonrpc_handler *handler, void *context, json_t **reply)
{
  struct jp_jsonrpc_config with_codec = {0};
  if (config != NULL)
    with_codec = *config;
  with_codec.codec = &jp_jsonrpc_jansson;
  void *tree;
  enum jp_jsonrpc_status status = jp_jsonrpc_handle_tree(&with_codec, message, handler, context, &tree);
  *reply = tree;
  return status;
}

json_t *jp_jansson_parse_error(void)
{
  void *tree;
  /* the result is ignored: it is not JP_JSONRPC_OK exactly if tree is NULL */
  (void)jp_jsonrpc_parse_error_tree(&jp_jsonrpc_jansson, &tree);
  return tree;
}
