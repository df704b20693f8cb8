/* Shapes of requests: each line of the input is a message, and is read on the general path and by the shapes
 * of earlier messages; both must have the same result. */
#include "tests/unit/rpc/fastpath/read_twice.h"

#include "tests/fuzz/fuzz.h"

FUZZ_TARGET(input)
{
  struct rpc_fastpath *fastpath = NULL;
  struct buffer shown;
  buffer_init(&shown);
  const char *p = input.data;
  const char *end = p + input.len;
  while (p < end) {
    const char *line_end = memchr(p, '\n', (size_t)(end - p));
    if (line_end == NULL)
      line_end = end;
    require(read_twice(&fastpath, (struct text){p, (size_t)(line_end - p)}, &shown) != READ_DIFFERENTLY);
    p = line_end < end ? line_end + 1 : end;
  }
  buffer_fini(&shown);
  free(fastpath);
}
