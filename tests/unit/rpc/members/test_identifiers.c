/* Names as identifiers, there and back. */
#include "rpc/members/identifiers.h"
#include "tests/unit/unit.h"

static const struct name_case {
  struct text name;
  const char *identifier;
} names[] = {
    {TEXT("com.example.Calculator.add-int-int"), "com_example_Calculator_add_2int_2int"},
    {TEXT("java.util.Map$Entry.getKey-void"), "java_util_Map_3Entry_getKey_2void"},
    {TEXT("a.snake_case.new-char.array"), "a_snake_1case_new_2char_array"},
    {TEXT("a._b"), "a__1b"},
    {TEXT("a_.b"), "a_1_b"},
    {TEXT("a__b"), "a_1_1b"},
    {TEXT("a..b"), "a__b"},
    {TEXT("a.1b"), "a__00031b"},
    {TEXT("a-1b"), "a_21b"},
    {TEXT("Outer$1.x"), "Outer_31_x"},
    {TEXT("1a"), "_00031a"},
    {TEXT("gr\xC3\xB6\xC3\x9F"
          "e"),
     "gr_000f6_000dfe"},
    {TEXT("\xF0\x9F\x98\x80"), "_0d83d_0de00"},
    {TEXT("\xED\xA0\x80"), "_0d800"},
    {TEXT("jpeer.fetch"), "jpeer_fetch"},
    {TEXT("a."), "a_"},
    {TEXT(""), ""},
};

UNIT_TEST(test_there_and_back)
{
  struct arena arena;
  arena_init(&arena);
  for (size_t i = 0; i < COUNT_OF(names); i++) {
    struct buffer out = {0};
    identifier_write(names[i].name, &out);
    unit_assert_text(buffer_text(&out), text_of(names[i].identifier), __FILE__, __LINE__);
    unit_assert_text(identifier_read(buffer_text(&out), &arena), names[i].name, __FILE__, __LINE__);
    buffer_fini(&out);
  }
  arena_fini(&arena);
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

/* The steps in which a name is written may not show. */
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
