#include "base/buffer.h"

#include "tests/unit/unit.h"

UNIT_TEST(appends_its_input)
{
  struct buffer buffer;
  buffer_init(&buffer);
  buffer_append(&buffer, NULL, 0);
  assert_int_equal(buffer.len, 0);
  BUFFER_LITERAL(&buffer, "a\0b");
  buffer_append_char(&buffer, 'c');
  buffer_append_text(&buffer, TEXT("de"));
  buffer_append_text(&buffer, TEXT_ABSENT);
  buffer_printf(&buffer, "%d%s", 12, "x");
  assert_text(buffer_text(&buffer), "a\0bcde12x");
  assert_false(buffer.failed);
  buffer_fini(&buffer);
}

UNIT_TEST(grows_with_its_contents)
{
  struct buffer buffer;
  buffer_init(&buffer);
  for (int i = 0; i < 100000; i++)
    buffer_append(&buffer, &i, sizeof i);
  assert_int_equal(buffer.len, 100000 * sizeof(int));
  for (int i = 0; i < 100000; i++)
    assert_memory_equal(buffer.data + (size_t)i * sizeof i, &i, sizeof i);
  buffer_fini(&buffer);
}

UNIT_TEST(gives_room_without_counting_it)
{
  struct buffer buffer;
  buffer_init(&buffer);
  char *room = buffer_reserve(&buffer, 1000);
  assert_non_null(room);
  memset(room, 'x', 1000);
  assert_int_equal(buffer.len, 0);
  buffer.len += 3;
  assert_text(buffer_text(&buffer), "xxx");
  assert_non_null(buffer_reserve(&buffer, 0));
  buffer_fini(&buffer);
}

UNIT_TEST(shortens_consumes_and_trims)
{
  struct buffer buffer;
  buffer_init(&buffer);
  buffer_consume(&buffer, 0);
  buffer_trim(&buffer, 0);
  BUFFER_LITERAL(&buffer, "abcdef");
  buffer_truncate(&buffer, 5);
  buffer_consume(&buffer, 2);
  assert_text(buffer_text(&buffer), "cde");
  buffer_reserve(&buffer, 100000);
  buffer_trim(&buffer, 1000);
  assert_int_equal(buffer.cap, 1000);
  buffer_trim(&buffer, 1);
  assert_text(buffer_text(&buffer), "cde");
  buffer_consume(&buffer, 3);
  buffer_trim(&buffer, 0);
  assert_null(buffer.data);
  BUFFER_LITERAL(&buffer, "again");
  assert_text(buffer_text(&buffer), "again");
  buffer_fini(&buffer);
}

UNIT_TEST(fails_once_and_stays_failed_until_cleared)
{
  struct buffer buffer;
  buffer_init(&buffer);
  BUFFER_LITERAL(&buffer, "kept");
  assert_null(buffer_reserve(&buffer, SIZE_MAX));
  assert_true(buffer.failed);
  BUFFER_LITERAL(&buffer, "dropped");
  buffer_printf(&buffer, "%d", 1);
  assert_text(buffer_text(&buffer), "kept");
  assert_null(buffer_reserve(&buffer, 0));
  buffer_clear(&buffer);
  BUFFER_LITERAL(&buffer, "new");
  assert_text(buffer_text(&buffer), "new");
  assert_false(buffer.failed);
  buffer_fini(&buffer);
}

UNIT_MAIN
