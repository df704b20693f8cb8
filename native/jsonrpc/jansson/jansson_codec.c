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
