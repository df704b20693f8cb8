#include "classfile/modified_utf8.h"

#include "tests/unit/unit.h"

static const struct {
  struct text file;
  struct text peer; /* data NULL: malformed */
} cases[] = {
    {TEXT(""), TEXT("")},
    {TEXT("java/lang/String"), TEXT("java/lang/String")},
    {TEXT("gr\xC3\xB6\xC3\x9F"
          "e"),
     TEXT("gr\xC3\xB6\xC3\x9F"
          "e")},
    {TEXT("\xE2\x82\xAC"), TEXT("\xE2\x82\xAC")},
    {TEXT("a\xC0\x80z"), TEXT("a\0z")},
    {TEXT("\xED\xA0\xB5\xED\xB2\xB3"), TEXT("\xF0\x9D\x92\xB3")}, /* a pair of surrogates: U+1D4B3 */
    {TEXT("\xED\xA0\xB5x"), TEXT("\xED\xA0\xB5x")},               /* a lone one stays */
    {TEXT("\xED\xB2\xB3\xED\xA0\xB5"), TEXT("\xED\xB2\xB3\xED\xA0\xB5")},
    {TEXT("a\0b"), TEXT_ABSENT},
    {TEXT("12345678\0"), TEXT_ABSENT},
    {TEXT("\x80"), TEXT_ABSENT},
    {TEXT("\xC3"), TEXT_ABSENT},
    {TEXT("\xC3z"), TEXT_ABSENT},
    {TEXT("\xC1\xBF"), TEXT_ABSENT},
    {TEXT("\xE2\x82"), TEXT_ABSENT},
    {TEXT("\xE2\x82z"), TEXT_ABSENT},
    {TEXT("\xE0\x80\x80"), TEXT_ABSENT},
    {TEXT("\xE0\x9F\xBF"), TEXT_ABSENT},
    {TEXT("\xF0\x9D\x92\xB3"), TEXT_ABSENT}, /* four bytes are never right here */
    {TEXT("\xFF"), TEXT_ABSENT},
};

UNIT_TEST(test_decode)
{
  struct arena arena;
  arena_init(&arena);
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    char *exact = unit_exact_copy(cases[i].file.data, cases[i].file.len);
    struct text text;
    enum jp_status status = modified_utf8_decode((const uint8_t *)exact, cases[i].file.len, &arena, &text);
    if (status != (cases[i].peer.data == NULL ? JP_INVALID : JP_OK))
      fail_msg("case %zu", i);
    if (status == JP_OK)
      unit_assert_text(text, cases[i].peer, __FILE__, __LINE__);
    test_free(exact);
  }
  arena_fini(&arena);
}

UNIT_MAIN
