#include "rpc/fastpath/answer_template.h"
#include "tests/unit/unit.h"

static const struct rpc_written_answer add = {.before_id = TEXT("{\"id\":"),
                                              .after_id = TEXT(",\"result\":\""),
                                              .has_number = true,
                                              .after_number = TEXT("\"}")};

static void check(const struct rpc_written_answer *written, const char *id, int64_t number,
                  const char *wanted)
{
  struct answer_template template = {0};
  struct buffer out;
  buffer_init(&out);
  BUFFER_LITERAL(&out, "before ");
  assert_true(answer_template_fill(&template, written));
  answer_template_write(&template, text_of(id), number, &out);
  unit_assert_text(buffer_text(&out), text_of(wanted), __FILE__, __LINE__);
  assert_true(answer_template_length_max(&template, strlen(id)) >= out.len - strlen("before "));
  buffer_fini(&out);
}

static void writes_answers_with_their_id_and_number(void **state)
{
  (void)state;
  const struct rpc_written_answer put = {.before_id = TEXT("{\"id\":"),
                                         .after_id = TEXT(",\"result\":null}")};
  check(&add, "1", 8, "before {\"id\":1,\"result\":\"8\"}");
  check(&add, "\"a longer id than the one before\"", INT64_MIN,
        "before {\"id\":\"a longer id than the one before\",\"result\":\"-9223372036854775808\"}");
  check(&put, "7", 8, "before {\"id\":7,\"result\":null}");
}

/* One part of that length, the others empty. */
static bool fits(size_t before_id, size_t after_id, size_t after_number)
{
  static char bytes[ANSWER_AFTER_ID_MAX + 1];
  struct answer_template template = {0};
  struct buffer out;
  memset(bytes, 'x', sizeof bytes);
  const struct rpc_written_answer written = {.before_id = {bytes, before_id},
                                             .after_id = {bytes, after_id},
                                             .has_number = true,
                                             .after_number = {bytes, after_number}};
  if (!answer_template_fill(&template, &written))
    return false;
  buffer_init(&out);
  answer_template_write(&template, TEXT("12"), 3, &out);
  assert_int_equal(out.len, before_id + after_id + after_number + 3);
  buffer_fini(&out);
  return true;
}

static void keeps_parts_up_to_their_bounds(void **state)
{
  (void)state;
  for (size_t i = 0; i <= ANSWER_AFTER_ID_MAX; i++) {
    assert_true(fits(i, 0, 0) == (i <= ANSWER_BEFORE_ID_MAX));
    assert_true(fits(0, i, 0));
    assert_true(fits(0, 0, i) == (i <= ANSWER_AFTER_NUMBER_MAX));
  }
  assert_false(fits(0, ANSWER_AFTER_ID_MAX + 1, 0));
  assert_true(fits(ANSWER_BEFORE_ID_MAX, ANSWER_AFTER_ID_MAX, ANSWER_AFTER_NUMBER_MAX));
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(writes_answers_with_their_id_and_number),
      cmocka_unit_test(keeps_parts_up_to_their_bounds),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
