#include "client/messages/encode.h"

#include "jpeer/client.h"

#include <string.h>

static struct text text_from(struct jp_text t)
{
  return (struct text){t.data, t.len};
}

/* An id is a string or a number; anything else would be answered as if there were none. */
static bool is_id(struct jp_text id)
{
  struct jp_json value;
  return jp_json_parse(id, 1, &value, NULL) == JP_JSONRPC_OK &&
         (value.kind == JP_JSON_STRING || value.kind == JP_JSON_NUMBER);
}

enum jp_client_status jp_request_write_json(const struct jp_request *request, struct jp_text id,
                                            struct jp_json_writer *writer, struct jp_client_error *error)
{
  struct buffer out;
  const struct message_json how = {.id = text_from(id)};
  if (id.data != NULL && !is_id(id))
    return client_fail(error, JP_CLIENT_INVALID, "an id is a JSON string or number: \"%.*s\"",
                       id.len < 100 ? (int)id.len : 100, id.data);
  buffer_init(&out);
  enum jp_client_status status = message_write_json(request, &how, &out, error);
  if (status == JP_CLIENT_OK)
    jp_json_write_raw(writer, (struct jp_text){out.data, out.len});
  buffer_fini(&out);
  return status;
}

enum jp_client_status jp_request_write_binary(const struct jp_request *request, const uint8_t session[16],
                                              const char *message_id, void *out, size_t size, size_t *length,
                                              struct jp_client_error *error)
{
  struct arena arena;
  struct buffer written, scratch;
  const struct message_binary how = {.session = session,
                                     .id = message_id == NULL ? TEXT("") : text_of(message_id),
                                     .arena = &arena,
                                     .scratch = &scratch};
  arena_init(&arena);
  buffer_init(&written);
  buffer_init(&scratch);
  enum jp_client_status status = message_write_binary(request, &how, &written, error);
  if (status == JP_CLIENT_OK) {
    *length = written.len;
    if (written.len <= size)
      memcpy(out, written.data, written.len);
  }
  buffer_fini(&scratch);
  buffer_fini(&written);
  arena_fini(&arena);
  return status;
}
