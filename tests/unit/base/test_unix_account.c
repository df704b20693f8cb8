#include "base/unix_account.h"

#include "tests/unit/unit.h"

static void assert_found(enum unix_account_kind kind, const char *name, uint32_t expected)
{
  uint32_t id = 1;
  assert_int_equal(unix_account_find(kind, name, &id, NULL), JP_OK);
  assert_int_equal(id, expected);
}

UNIT_TEST(names_and_numbers_are_accounts)
{
  assert_found(UNIX_USER, "root", 0);
  assert_found(UNIX_GROUP, "root", 0);
  assert_found(UNIX_USER, "0", 0);
  assert_found(UNIX_USER, "4294967294", 4294967294);
  assert_found(UNIX_GROUP, "65532", 65532);
}

UNIT_TEST(the_greatest_number_and_other_words_are_no_accounts)
{
  static const char *const words[] = {"",   "4294967295", "9999999999", "00000000000",
                                      "-1", "0x0",        " 0",         "no such account"};
  for (size_t i = 0; i < COUNT_OF(words); i++) {
    struct jp_error error;
    uint32_t id;
    assert_int_equal(unix_account_find(UNIX_USER, words[i], &id, &error), JP_NOT_FOUND);
    assert_string_equal(error.text, "this machine has no such user");
    assert_int_equal(unix_account_find(UNIX_GROUP, words[i], &id, &error), JP_NOT_FOUND);
  }
}

UNIT_TEST(only_the_number_for_unknown_accounts_is_shared)
{
  assert_false(unix_account_is_shared(UNIX_USER, 0));
  assert_false(unix_account_is_shared(UNIX_GROUP, 65533));
}

UNIT_MAIN
