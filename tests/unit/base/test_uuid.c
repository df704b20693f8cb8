#include "base/uuid.h"

#include "tests/unit/unit.h"

UNIT_TEST(reads_either_case_and_writes_lower)
{
  struct uuid uuid;
  assert_true(uuid_parse(TEXT("F81D4FAE-7dec-11D0-A765-00a0c91E6BF6"), &uuid));
  static const uint8_t bytes[16] = {0xF8, 0x1D, 0x4F, 0xAE, 0x7D, 0xEC, 0x11, 0xD0,
                                    0xA7, 0x65, 0x00, 0xA0, 0xC9, 0x1E, 0x6B, 0xF6};
  assert_memory_equal(uuid.bytes, bytes, 16);
  char text[UUID_TEXT_LENGTH + 1];
  uuid_format(&uuid, text);
  assert_string_equal(text, "f81d4fae-7dec-11d0-a765-00a0c91e6bf6");
}

UNIT_TEST(refuses_every_other_form)
{
  static const struct text refused[] = {
      TEXT(""),
      TEXT("f81d4fae7dec11d0a76500a0c91e6bf6"),
      TEXT("f81d4fae-7dec-11d0-a765-00a0c91e6bf"),
      TEXT("f81d4fae-7dec-11d0-a765-00a0c91e6bf66"),
      TEXT("{f81d4fae-7dec-11d0-a765-00a0c91e6b}"),
      TEXT("f81d4fae-7dec-11d0-a765-00a0c91e6bg6"),
      TEXT("f81d4fae-7dec-11d0-a765 00a0c91e6bf6"),
      TEXT("f81d4fa-e7dec-11d0-a765-00a0c91e6bf6"),
      TEXT("f81d4fae-7dec-11d0-a765-00a0c91e6b\0a"),
      TEXT("f81d4fae-7dec-11d0-a765-00a0c91e6b f"),
      TEXT("f81d4fae--dec-11d0-a765-00a0c91e6bf6"),
  };
  for (size_t i = 0; i < COUNT_OF(refused); i++) {
    struct uuid uuid;
    if (uuid_parse(refused[i], &uuid))
      fail_msg("accepted: %.*s", TEXT_ARGS(refused[i]));
  }
}

UNIT_TEST(makes_random_ones_of_version_4)
{
  struct uuid first;
  struct uuid second;
  for (int i = 0; i < 100; i++) {
    uuid_random(&first);
    uuid_random(&second);
    assert_int_equal(first.bytes[6] >> 4, 4);
    assert_int_equal(first.bytes[8] >> 6, 2);
    assert_false(uuid_equal(&first, &second));
    char text[UUID_TEXT_LENGTH + 1];
    uuid_format(&first, text);
    assert_true(uuid_parse(text_of(text), &second));
    assert_true(uuid_equal(&first, &second));
  }
}

UNIT_MAIN
