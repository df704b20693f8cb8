#include "jsonrpc/library.h"

#include "base/array.h"
#include "json/writer.h"

#include <stdlib.h>

struct pending {
  int64_t id;
  void *tag;
};

/* The text always begins with the bracket of a batch. A message of only one request is the text after the
 * bracket. */
struct jp_jsonrpc_client {
  struct buffer message;
  size_t added;
  bool is_ended;
  int64_t last_id;
  struct pending *pending; /* by id */
  size_t pending_count;
  size_t pending_room;
};

struct jp_jsonrpc_client *jp_jsonrpc_client_create(void)
{
  struct jp_jsonrpc_client *client = calloc(1, sizeof *client);
  if (client != NULL)
    buffer_init(&client->message);
  return client;
}

void jp_jsonrpc_client_destroy(struct jp_jsonrpc_client *client)
{
  if (client == NULL)
    return;
  buffer_fini(&client->message);
  free(client->pending);
  free(client);
}

/* ---- pending requests ---- */

static bool keep_pending(struct jp_jsonrpc_client *client, int64_t id, void *tag)
{
  struct pending *pending =
      array_grow(client->pending, client->pending_count, &client->pending_room, sizeof *pending);
  if (pending == NULL)
    return false;
  client->pending = pending;
  pending[client->pending_count++] = (struct pending){id, tag};
  return true;
}

static struct pending *find_pending(const struct jp_jsonrpc_client *client, int64_t id)
{
  size_t low = 0;
  size_t high = client->pending_count;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (client->pending[middle].id < id)
      low = middle + 1;
    else
      high = middle;
  }
  return low < client->pending_count && client->pending[low].id == id ? &client->pending[low] : NULL;
}

static void drop_pending(struct jp_jsonrpc_client *client, struct pending *pending)
{
  size_t after = client->pending_count - (size_t)(pending - client->pending) - 1;
  memmove(pending, pending + 1, after * sizeof *pending);
  client->pending_count--;
}

size_t jp_jsonrpc_client_pending(const struct jp_jsonrpc_client *client)
{
  return client->pending_count;
}

bool jp_jsonrpc_client_forget(struct jp_jsonrpc_client *client, int64_t id)
{
  struct pending *pending = find_pending(client, id);
  if (pending != NULL)
    drop_pending(client, pending);
  return pending != NULL;
}

/* ---- messages ---- */

static bool is_params(struct jp_text params)
{
  struct jp_json value;
  return params.data == NULL ||
         (jp_json_parse(params, LIBRARY_DEPTH_MAX, &value, NULL) == JP_JSONRPC_OK && is_container(value));
}

/* id 0: a notification. */
static enum jp_jsonrpc_status add_request(struct jp_jsonrpc_client *client, const char *method,
                                          struct jp_text params, int64_t id)
{
  struct buffer *out = &client->message;
  if (client->is_ended) {
    buffer_clear(out);
    out->failed = false;
    client->added = 0;
    client->is_ended = false;
  }
  size_t start = out->len;
  buffer_append_char(out, client->added == 0 ? '[' : ',');
  BUFFER_LITERAL(out, "{\"jsonrpc\":\"2.0\"");
  if (id != 0) {
    BUFFER_LITERAL(out, ",\"id\":");
    json_write_integer(out, id);
  }
  BUFFER_LITERAL(out, ",\"method\":");
  json_write_string(out, text_of(method));
  if (params.data != NULL) {
    BUFFER_LITERAL(out, ",\"params\":");
    buffer_append_text(out, library_text(params));
  }
  buffer_append_char(out, '}');
  if (out->failed) {
    out->failed = false;
    buffer_truncate(out, start);
    return JP_JSONRPC_NO_MEMORY;
  }
  client->added++;
  return JP_JSONRPC_OK;
}

enum jp_jsonrpc_status jp_jsonrpc_client_request(struct jp_jsonrpc_client *client, const char *method,
                                                 struct jp_text params, void *tag, int64_t *id)
{
  if (!is_params(params))
    return JP_JSONRPC_INVALID;
  if (!keep_pending(client, client->last_id + 1, tag))
    return JP_JSONRPC_NO_MEMORY;
  enum jp_jsonrpc_status status = add_request(client, method, params, ++client->last_id);
  if (status != JP_JSONRPC_OK)
    client->pending_count--;
  else if (id != NULL)
    *id = client->last_id;
  return status;
}

enum jp_jsonrpc_status jp_jsonrpc_client_notify(struct jp_jsonrpc_client *client, const char *method,
                                                struct jp_text params)
{
  return is_params(params) ? add_request(client, method, params, 0) : JP_JSONRPC_INVALID;
}

struct jp_text jp_jsonrpc_client_message(struct jp_jsonrpc_client *client)
{
  struct buffer *out = &client->message;
  if (client->added == 0)
    return (struct jp_text){0};
  if (client->added > 1 && !client->is_ended)
    buffer_append_char(out, ']');
  client->is_ended = true;
  if (out->failed)
    return (struct jp_text){0};
  size_t skipped = client->added > 1 ? 0 : 1;
  return (struct jp_text){out->data + skipped, out->len - skipped};
}

/* ---- answers ---- */

/* JSON-RPC 2.0, 5 and 5.1 */
static bool read_answer(struct jp_json value, struct jp_jsonrpc_answer *answer, struct jp_json *id)
{
  char version[8];
  struct jp_json error = jp_json_member(value, "error");
  *answer = (struct jp_jsonrpc_answer){.result = jp_json_member(value, "result")};
  *id = jp_json_member(value, "id");
  bool has_result = answer->result.kind != JP_JSON_ABSENT;
  bool has_error = error.kind != JP_JSON_ABSENT;
  if (jp_json_string(jp_json_member(value, "jsonrpc"), version, sizeof version) != 3 ||
      strcmp(version, "2.0") != 0 || has_result == has_error || id->kind == JP_JSON_ABSENT)
    return false;
  if (has_result)
    return true;
  answer->is_error = true;
  answer->message = jp_json_member(error, "message");
  answer->data = jp_json_member(error, "data");
  return jp_json_integer(jp_json_member(error, "code"), &answer->code) &&
         answer->message.kind == JP_JSON_STRING;
}

static bool receive_one(struct jp_jsonrpc_client *client, struct jp_json value,
                        void (*on_answer)(void *context, const struct jp_jsonrpc_answer *answer),
                        void *context)
{
  struct jp_jsonrpc_answer answer;
  struct jp_json id;
  if (!read_answer(value, &answer, &id))
    return false;
  struct pending *pending = jp_json_integer(id, &answer.id) ? find_pending(client, answer.id) : NULL;
  if (pending != NULL) {
    answer.is_known = true;
    answer.tag = pending->tag;
    drop_pending(client, pending);
  }
  on_answer(context, &answer);
  return true;
}

enum jp_jsonrpc_status jp_jsonrpc_client_receive(struct jp_jsonrpc_client *client, struct jp_text text,
                                                 void (*on_answer)(void *context,
                                                                   const struct jp_jsonrpc_answer *answer),
                                                 void *context)
{
  struct jp_json root;
  if (jp_json_parse(text, LIBRARY_DEPTH_MAX, &root, NULL) != JP_JSONRPC_OK)
    return JP_JSONRPC_INVALID;
  bool valid = true;
  if (root.kind != JP_JSON_ARRAY) {
    valid = receive_one(client, root, on_answer, context);
  } else {
    struct jp_json_cursor cursor = jp_json_enter(root);
    struct jp_json value;
    valid = jp_json_count(root) > 0;
    while (jp_json_next(&cursor, NULL, &value))
      valid = receive_one(client, value, on_answer, context) && valid;
  }
  return valid ? JP_JSONRPC_OK : JP_JSONRPC_INVALID;
}
