/* Targets of GET: whatever comes, it is refused, or it is a request of JSON-RPC 1.1 in good JSON. */
#include "net/http/http_query.h"

#include "json/reader.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool condition)
{
  if (!condition)
    abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  struct text target = {(const char *)data, size};
  const char *mark = size == 0 ? NULL : memchr(target.data, '?', size);
  size_t length = mark == NULL ? size : (size_t)(mark - target.data);
  struct text query = mark == NULL ? TEXT_ABSENT : text_slice(target, length + 1, size);
  struct buffer message;
  buffer_init(&message);
  if (http_query_to_call(text_slice(target, 0, length), query, &message) == NULL) {
    struct json_fault fault;
    require(json_validate(buffer_text(&message), (struct json_limits){3}, TEXT_ABSENT, &fault) == JP_OK);
    require(text_starts_with(buffer_text(&message), TEXT("{\"version\":\"1.1\",\"method\":\"")));
  } else {
    require(message.len == 0);
  }
  buffer_fini(&message);
  return 0;
}
