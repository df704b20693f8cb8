/* Known binary messages: each message of the input is served on the general path, and by a worker that knows
 * the earlier messages and one message of every kind; both answers must be the same. A message is its length
 * in two bytes, and its bytes. */
#include "tests/unit/rpc/fastpath/known_bench.h"
#include "tests/unit/unit.h"

#include "tests/fuzz/fuzz.h"

/* Served twice, a control message that deletes something is answered in two ways. */
static bool is_control(struct text message)
{
  return message.len > 1 && message.data[0] == 0 && message.data[1] == COLFER_CONTROL_REQUEST;
}

static void serve(struct service_bench *bench, struct text message)
{
  require(is_control(message) || known_bench_serve(bench, bench->client, message, 0) != SERVED_DIFFERENTLY);
}

static void learn_all(struct service_bench *bench)
{
  struct buffer message;
  buffer_init(&message);
  known_bench_forget(bench);
  for (size_t i = 0; i < KNOWN_CONSTRUCTOR; i++) {
    buffer_clear(&message);
    sample_request_write(&known_requests[i], &message);
    serve(bench, buffer_text(&message));
  }
  buffer_fini(&message);
}

FUZZ_TARGET(rest)
{
  enum { HEAD = 2, BYTE = 8 };
  static struct service_bench *bench;
  if (bench == NULL) {
    bench = known_bench_create();
    stub.members[KNOWN_CONSTRUCTOR].outcome.ref = 0; /* it would differ each time */
  }
  learn_all(bench);
  while (rest.len >= HEAD) {
    size_t length = (size_t)(uint8_t)rest.data[0] << BYTE | (uint8_t)rest.data[1];
    rest = text_slice(rest, HEAD, rest.len);
    length = length < rest.len ? length : rest.len;
    serve(bench, text_slice(rest, 0, length));
    rest = text_slice(rest, length, rest.len);
  }
}
