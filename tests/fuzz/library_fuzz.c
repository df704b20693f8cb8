/* The public library: its answers are JSON that its own client side accepts, with and without a map. */
#include "include/jpeer/jsonrpc.h"

#include "tests/fuzz/fuzz.h"
#include <string.h>

enum { DEPTH_MAX = 200 };

/* Answers with the params, or fails in one of the ways that a handler can. */
static int handle(void *context, struct jp_jsonrpc_call *call)
{
  (void)context;
  struct jp_text method = jp_jsonrpc_method(call);
  struct jp_json_writer *writer;
  switch (method.len % 4) {
  case 0:
    return jp_jsonrpc_fail(call, "%zu", method.len);
  case 1:
    writer = jp_jsonrpc_result(call);
    jp_json_begin_array(writer);
    jp_json_write_text(writer, method);
    jp_json_write_value(writer, jp_jsonrpc_params(call));
    jp_json_write_value(writer, jp_jsonrpc_param(call, 1, "a"));
    jp_json_end_array(writer);
    return 0;
  case 2:
    jp_json_write_text(jp_jsonrpc_error(call, (int)method.len, "own words"), method);
    return 0;
  default:
    jp_json_write_raw(jp_jsonrpc_result(call), method);
    return 0;
  }
}

static void map_backwards(void *context, void (*run)(void *item), void *const *items, size_t count)
{
  (void)context;
  while (count > 0)
    run(items[--count]);
}

static void ignore(void *context, const struct jp_jsonrpc_answer *answer)
{
  (void)context;
  (void)answer;
}

static void check(const struct jp_jsonrpc_config *config, struct jp_text message,
                  struct jp_jsonrpc_reply *reply)
{
  enum jp_jsonrpc_status status = jp_jsonrpc_handle(config, message, handle, NULL, reply);
  require(status == JP_JSONRPC_OK || (status == JP_JSONRPC_NO_REPLY && reply->data == NULL));
  if (status != JP_JSONRPC_OK)
    return;
  struct jp_json root;
  struct jp_text text = {reply->data, reply->len};
  require(jp_json_parse(text, DEPTH_MAX, &root, NULL) == JP_JSONRPC_OK);
  bool is_1_1 = jp_json_member(root, "version").kind != JP_JSON_ABSENT;
  struct jp_jsonrpc_client *client = jp_jsonrpc_client_create();
  enum jp_jsonrpc_status received = jp_jsonrpc_client_receive(client, text, ignore, NULL);
  require(received == (is_1_1 ? JP_JSONRPC_INVALID : JP_JSONRPC_OK));
  jp_jsonrpc_client_destroy(client);
}

FUZZ_TARGET(input)
{
  const struct jp_jsonrpc_config mapped = {.map = map_backwards};
  struct jp_text message = {input.data, input.len};
  struct jp_jsonrpc_reply one;
  struct jp_jsonrpc_reply other;
  check(NULL, message, &one);
  check(&mapped, message, &other);
  require(one.len == other.len && (one.len == 0 || memcmp(one.data, other.data, one.len) == 0));
  struct jp_jsonrpc_client *client = jp_jsonrpc_client_create();
  enum jp_jsonrpc_status status = jp_jsonrpc_client_receive(client, message, ignore, NULL);
  require(status == JP_JSONRPC_OK || status == JP_JSONRPC_INVALID);
  jp_jsonrpc_client_destroy(client);
  jp_jsonrpc_reply_free(&one);
  jp_jsonrpc_reply_free(&other);
}
