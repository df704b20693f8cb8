#include "classfile/modifiers.h"

#include "tests/unit/unit.h"

static const struct {
  uint16_t access;
  enum modifiers_of of;
  const char *text;
} cases[] = {
    {0x0000, MODIFIERS_OF_CLASS, ""},
    {0x0021, MODIFIERS_OF_CLASS, "public"}, /* ACC_SUPER is not synchronized */
    {0x0609, MODIFIERS_OF_CLASS, "public abstract static interface"},
    {0x4030, MODIFIERS_OF_CLASS, "final"},
    {0x0019, MODIFIERS_OF_FIELD, "public static final"},
    {0x00C2, MODIFIERS_OF_FIELD, "private transient volatile"},
    {0x00C1, MODIFIERS_OF_METHOD, "public"}, /* a bridge of variable arity */
    {0x0D3C, MODIFIERS_OF_METHOD, "protected abstract static final synchronized native strictfp"},
    {0x9010, MODIFIERS_OF_PARAMETER, "final"},
    {0xFFEF, MODIFIERS_OF_PARAMETER, ""},
};

UNIT_TEST(test_format)
{
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    char text[MODIFIERS_TEXT_MAX];
    modifiers_format(cases[i].access, cases[i].of, text);
    assert_string_equal(text, cases[i].text);
  }
}

UNIT_TEST(test_all_flags_fit)
{
  char text[MODIFIERS_TEXT_MAX];
  for (int of = MODIFIERS_OF_CLASS; of <= MODIFIERS_OF_PARAMETER; of++) {
    modifiers_format(0xFFFF, (enum modifiers_of)of, text);
    assert_true(strlen(text) < sizeof text);
  }
}

UNIT_MAIN
