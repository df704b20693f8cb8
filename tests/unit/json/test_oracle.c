/*
 * The reader against jansson, over generated texts and damaged ones. What may differ is listed in oracle.h,
 * and nothing else may.
 */
#include "tests/unit/json/generate.h"
#include "tests/unit/json/oracle.h"

#include "tests/unit/unit.h"

enum { TEXTS = 20000, DAMAGES = 4 };

/* Compares a copy of the exact size; the verdict where there is no difference. */
static enum oracle_verdict compare(struct text text)
{
  const char *why = "";
  char *copy = unit_exact_copy(text.data, text.len);
  enum oracle_verdict verdict = oracle_compare((struct text){copy, text.len}, &why);
  test_free(copy);
  if (verdict == ORACLE_DIFFER)
    fail_msg("%s: %.*s", why, TEXT_ARGS(text));
  return verdict;
}

UNIT_TEST(takes_what_is_generated)
{
  struct generator generator = generator_from_seed(1);
  struct buffer text;
  buffer_init(&text);
  size_t verdicts[ORACLE_DIFFER + 1] = {0};
  for (int i = 0; i < TEXTS; i++) {
    buffer_clear(&text);
    generate_json(&generator, &text);
    verdicts[compare(buffer_text(&text))]++;
  }
  assert_int_equal(verdicts[ORACLE_BOTH_REFUSE], 0);
  assert_int_equal(verdicts[ORACLE_TOO_DEEP], 0);
  /* The generator reaches both sides of the list. */
  assert_true(verdicts[ORACLE_BOTH_TAKE] > TEXTS / 10);
  assert_true(verdicts[ORACLE_ON_THE_LIST] > TEXTS / 100);
  buffer_fini(&text);
}

UNIT_TEST(agrees_about_what_is_damaged)
{
  struct generator generator = generator_from_seed(2);
  struct buffer text;
  buffer_init(&text);
  size_t verdicts[ORACLE_DIFFER + 1] = {0};
  for (int i = 0; i < TEXTS; i++) {
    buffer_clear(&text);
    generate_json(&generator, &text);
    for (int k = 0; k < DAMAGES; k++) {
      generate_damage(&generator, &text);
      verdicts[compare(buffer_text(&text))]++;
    }
  }
  assert_true(verdicts[ORACLE_BOTH_REFUSE] > TEXTS);
  assert_true(verdicts[ORACLE_BOTH_TAKE] > TEXTS / 10);
  buffer_fini(&text);
}

static const struct listed_case {
  struct text text;
  enum oracle_verdict verdict;
} listed[] = {
    {TEXT("9223372036854775808"), ORACLE_ON_THE_LIST},
    {TEXT("[-9223372036854775809]"), ORACLE_ON_THE_LIST},
    {TEXT("{\"a\":1e400}"), ORACLE_ON_THE_LIST},
    {TEXT("{\"a\\u0000\":1}"), ORACLE_ON_THE_LIST},
    {TEXT("\"\\ud83d\""), ORACLE_ON_THE_LIST},
    {TEXT("{\"\\ude00\":1}"), ORACLE_ON_THE_LIST},
    {TEXT("\"a\\u0000\""), ORACLE_BOTH_TAKE},
    {TEXT("9223372036854775807"), ORACLE_BOTH_TAKE},
    {TEXT("1e-400"), ORACLE_BOTH_TAKE},
    {TEXT("{\"a\":1,\"\\u0061\":2}"), ORACLE_BOTH_TAKE},
    {TEXT("1d"), ORACLE_BOTH_REFUSE},
    {TEXT("\xEF\xBB\xBF"
          "1"),
     ORACLE_BOTH_REFUSE},
    {TEXT("1\0"), ORACLE_ON_THE_LIST},
    {TEXT("[true\0]"), ORACLE_ON_THE_LIST},
    {TEXT("1 \0"), ORACLE_BOTH_REFUSE},
    {TEXT("{}\0"), ORACLE_BOTH_REFUSE},
    {TEXT("\"\0\""), ORACLE_BOTH_REFUSE},
    {TEXT("\0"), ORACLE_BOTH_REFUSE},
    {TEXT("\"\xED\xA0\xBD\""), ORACLE_BOTH_REFUSE},
    {TEXT(""), ORACLE_BOTH_REFUSE},
};

UNIT_TEST(knows_the_list)
{
  for (size_t i = 0; i < COUNT_OF(listed); i++) {
    if (compare(listed[i].text) != listed[i].verdict)
      fail_msg("%s", listed[i].text.data);
  }
}

UNIT_MAIN
