#include "tests/unit/colfer/kinds.h"

#include "tests/unit/unit.h"

static void assert_printed(const struct kinds *value, const char *printed)
{
  struct buffer out;
  buffer_init(&out);
  colfer_print(&kinds_type, value, &out);
  unit_assert_text(buffer_text(&out), text_of(printed), __FILE__, __LINE__);
  buffer_fini(&out);
}

static void shows_every_kind(void **state)
{
  (void)state;
  for (size_t i = 0; i < kinds_form_count; i++)
    assert_printed(&kinds_forms[i].value, kinds_forms[i].printed);
}

static void stays_on_one_line(void **state)
{
  (void)state;
  assert_printed(&(struct kinds){.text = TEXT("a\"b\\c\n\x7f")}, "{text: \"a\\x22b\\x5cc\\x0a\\x7f\"}");
}

static void cuts_what_is_long(void **state)
{
  (void)state;
  static char euros[300];
  for (size_t i = 0; i < sizeof euros; i++)
    euros[i] = "\xE2\x82\xAC"[i % 3];
  struct buffer out;
  buffer_init(&out);
  colfer_print(&kinds_type, &(struct kinds){.text = {euros, sizeof euros}}, &out);
  assert_true(text_ends_with(buffer_text(&out), TEXT("\xE2\x82\xAC\"... (180 more bytes)}")));
  assert_int_equal(text_valid_utf8(buffer_text(&out)), out.len);
  buffer_fini(&out);

  static char zeros[40];
  assert_printed(
      &(struct kinds){.binary = {zeros, sizeof zeros}},
      "{binary: 0000000000000000000000000000000000000000000000000000000000000000... (8 more bytes)}");
  static struct kinds items[18];
  assert_printed(
      &(struct kinds){.list = {items, 18}},
      "{list: [{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}... (2 more elements)]}");
  static struct text texts[17];
  for (size_t i = 0; i < 17; i++)
    texts[i] = TEXT("");
  assert_printed(&(struct kinds){.texts = {texts, 17}}, "{texts: [\"\", \"\", \"\", \"\", \"\", \"\", \"\", "
                                                        "\"\", \"\", \"\", \"\", \"\", \"\", \"\", \"\", \"\""
                                                        "... (1 more elements)]}");
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(shows_every_kind),
      cmocka_unit_test(stays_on_one_line),
      cmocka_unit_test(cuts_what_is_long),
  };
  return cmocka_run_group_tests_name("colfer_print", tests, NULL, NULL);
}
