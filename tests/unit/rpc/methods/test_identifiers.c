/* Names as identifiers, there and back. */
#include "rpc/methods/identifiers.h"
#include "tests/unit/cases.h"

static void check_identifier(const char *place, const char *name, const char *identifier)
{
  struct arena arena;
  struct buffer out = {0};
  arena_init(&arena);
  identifier_write(text_of(name), &out);
  unit_assert_text(buffer_text(&out), text_of(identifier), place, __LINE__);
  unit_assert_text(identifier_read(buffer_text(&out), &arena), text_of(name), place, __LINE__);
  buffer_fini(&out);
  arena_fini(&arena);
}

UNIT_TEST(test_round_trip)
{
  unit_cases(IDENTIFIERS, check_identifier);
  check_identifier("nothing", "", "");
  check_identifier("a lone surrogate", "\xED\xA0\x80", "_0d800");
}

static const char *const others[] = {"a.b",     "a-b",     "a$b",     "a_4b",    "a_9",      "a_0",
                                     "a_00",    "a_000",   "a_0006",  "a_000F6", "a_0zzzz",  "a_00061",
                                     "a_0005f", "a_0002e", "a_0002d", "1a",      "\xC3\xB6", "a b"};

UNIT_TEST(test_each_name_has_one_identifier)
{
  struct arena arena;
  arena_init(&arena);
  for (size_t i = 0; i < COUNT_OF(others); i++)
    assert_null(identifier_read(text_of(others[i]), &arena).data);
  arena_fini(&arena);
}

/* The steps in which a name is written make no difference. */
UNIT_TEST(test_long_names)
{
  struct arena arena;
  arena_init(&arena);
  for (size_t dot = 250; dot < 260; dot++) {
    char bytes[600];
    struct buffer out = {0};
    memset(bytes, 'x', sizeof bytes);
    bytes[dot] = '.';
    bytes[dot + 1] = '7';
    memcpy(bytes + dot + 2, "\xF0\x9F\x98\x80", 4);
    identifier_write((struct text){bytes, sizeof bytes}, &out);
    unit_assert_text(identifier_read(buffer_text(&out), &arena), (struct text){bytes, sizeof bytes}, __FILE__,
                     __LINE__);
    buffer_fini(&out);
  }
  arena_fini(&arena);
}

UNIT_MAIN
