#include "classfile/string_pool.h"

#include "tests/unit/unit.h"

#include <stdio.h>

UNIT_TEST(test_same_text_same_id)
{
  enum { TEXTS = 50000 }; /* the table grows several times on the way */
  static uint32_t ids[TEXTS];
  struct string_pool *pool = string_pool_create();
  char text[32];
  assert_non_null(pool);
  for (unsigned round = 0; round < 2; round++) {
    for (unsigned i = 0; i < TEXTS; i++) {
      uint32_t id;
      int length = snprintf(text, sizeof text, "text %u", i);
      assert_int_equal(string_pool_intern(pool, (struct text){text, (size_t)length}, &id), JP_OK);
      if (round == 0)
        ids[i] = id;
      assert_int_equal(id, ids[i]);
    }
  }
  assert_int_equal(string_pool_count(pool), TEXTS + 1);
  string_pool_seal(pool);
  assert_text(string_pool_text(pool, 0), "");
  assert_text(string_pool_text(pool, ids[0]), "text 0");
  assert_text(string_pool_text(pool, ids[TEXTS - 1]), "text 49999");
  string_pool_destroy(pool);
}

UNIT_TEST(test_empty_text_is_zero)
{
  struct string_pool *pool = string_pool_create();
  uint32_t id = 7;
  assert_int_equal(string_pool_intern(pool, TEXT(""), &id), JP_OK);
  assert_int_equal(id, 0);
  assert_int_equal(string_pool_intern(pool, TEXT("a\0b"), &id), JP_OK);
  assert_text(string_pool_text(pool, id), "a\0b");
  string_pool_destroy(pool);
}

UNIT_MAIN
