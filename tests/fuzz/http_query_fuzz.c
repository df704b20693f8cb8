/* Targets of GET: each is refused, or is a request of JSON-RPC 1.1 in valid JSON. */
#include "net/http/http_query.h"

#include "json/reader.h"

#include "tests/fuzz/fuzz.h"

FUZZ_TARGET(target)
{
  const char *mark = target.len == 0 ? NULL : memchr(target.data, '?', target.len);
  size_t length = mark == NULL ? target.len : (size_t)(mark - target.data);
  struct text query = mark == NULL ? TEXT_ABSENT : text_slice(target, length + 1, target.len);
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
}
