#include "jsonrpc/jsonrpc.h"

#include "base/buffer.h"
#include "tests/unit/cases.h"

static void check(const char *place, const char *message, const char *wanted)
{
  struct json_fault fault;
  struct jsonrpc_answer answer;
  struct buffer got;
  buffer_init(&got);
  assert_int_equal(json_validate(text_of(message), (struct json_limits){20}, TEXT_ABSENT, &fault), JP_OK);
  if (jsonrpc_answer_read(json_root(text_of(message)), &answer))
    buffer_printf(&got, "%.*s %s %.*s", TEXT_ARGS(answer.id.span), answer.is_error ? "error" : "result",
                  TEXT_ARGS(answer.value.span));
  unit_assert_text(buffer_text(&got), text_of(wanted), place, __LINE__);
  buffer_fini(&got);
}

UNIT_TEST(test_answers_are_distinguished_from_requests)
{
  unit_cases(ANSWERS, check);
}

UNIT_MAIN
