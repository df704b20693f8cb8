#include "op/value_classes.h"

#include "tests/unit/unit.h"

UNIT_TEST(binary_search_finds_every_row)
{
  for (size_t i = 0; i < value_class_count; i++)
    if (value_class_find(value_class_rows[i].name) != &value_class_rows[i])
      fail_msg("%.*s", TEXT_ARGS(value_class_rows[i].name));
}

UNIT_TEST(makers_are_found_by_name)
{
  enum { NAMES_MAX = 24 };
  static const struct {
    enum class_maker maker;
    const char *names[NAMES_MAX];
  } cases[] = {
      {MAKER_NATURAL,
       {"java.io.Serializable", "java.lang.CharSequence", "java.lang.Cloneable", "java.lang.Comparable",
        "java.lang.Number", "java.lang.Object"}},
      {MAKER_WRAPPER,
       {"java.lang.Boolean", "java.lang.Byte", "java.lang.Character", "java.lang.Double", "java.lang.Float",
        "java.lang.Integer", "java.lang.Long", "java.lang.Short"}},
      {MAKER_CLASS, {"java.lang.Class"}},
      {MAKER_CONSTRUCT, {"java.math.BigDecimal", "java.math.BigInteger"}},
      {MAKER_PARSE,
       {"java.time.Duration", "java.time.Instant", "java.time.LocalDate", "java.time.LocalDateTime",
        "java.time.LocalTime", "java.time.MonthDay", "java.time.OffsetDateTime", "java.time.OffsetTime",
        "java.time.Period", "java.time.YearMonth", "java.time.ZoneId", "java.time.ZoneOffset",
        "java.time.ZonedDateTime", "java.util.UUID"}},
      {MAKER_LIST,
       {"java.lang.Iterable", "java.util.Collection", "java.util.Deque", "java.util.List",
        "java.util.NavigableSet", "java.util.Queue", "java.util.Set", "java.util.SortedSet"}},
      {MAKER_STRING, {"java.lang.String"}},
      {MAKER_MAP, {"java.util.Map", "java.util.NavigableMap", "java.util.SortedMap"}},
  };
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    for (const char *const *name = cases[i].names; *name != NULL; name++) {
      const struct value_class *row = value_class_find_maker(text_of(*name));
      if (row == NULL || row->maker != cases[i].maker)
        fail_msg("%s", *name);
    }
  }
  static const char *const strangers[] = {
      "", "java", "java.lang", "java.util.ArrayList", "java.lang.String2", "zzz"};
  for (size_t i = 0; i < COUNT_OF(strangers); i++)
    assert_null(value_class_find_maker(text_of(strangers[i])));
}

UNIT_TEST(a_class_that_is_made_of_values_needs_no_rule)
{
  static const char *const others[] = {"",
                                       "java.",
                                       "java.lang",
                                       "java.lang.Strin",
                                       "java.lang.Strings",
                                       "java.lang.Runtime",
                                       "java.lang.Void",
                                       "java.net.URL",
                                       "java.util.Locale",
                                       "java.util.Optional",
                                       "java.time.ZoneRegion",
                                       "java.util.concurrent.ForkJoinPool",
                                       "com.example.String"};
  static const char *const values[] = {"java.lang.Enum",
                                       "java.lang.String",
                                       "java.util.AbstractSequentialList",
                                       "java.util.ArrayList",
                                       "java.util.HashMap",
                                       "java.util.concurrent.LinkedTransferQueue",
                                       "java.util.concurrent.TransferQueue"};
  for (size_t i = 0; i < value_class_count; i++)
    if (value_class_rows[i].maker != MAKER_OTHER && !value_class_needs_no_rule(value_class_rows[i].name))
      fail_msg("%.*s", TEXT_ARGS(value_class_rows[i].name));
  for (size_t i = 0; i < COUNT_OF(values); i++)
    if (!value_class_needs_no_rule(text_of(values[i])))
      fail_msg("%s", values[i]);
  for (size_t i = 0; i < COUNT_OF(others); i++)
    if (value_class_needs_no_rule(text_of(others[i])))
      fail_msg("%s", others[i]);
}

UNIT_TEST(collections_and_maps_of_java_util_are_containers)
{
  assert_true(value_class_is_container(TEXT("java.util.ArrayList")));
  assert_true(value_class_is_container(TEXT("java.lang.Iterable")));
  assert_false(value_class_is_container(TEXT("java.lang.Object")));
  assert_true(value_class_is_container(TEXT("java.util.concurrent.DelayQueue")));
  assert_false(value_class_is_container(TEXT("com.example.Tray")));
  assert_false(value_class_is_container(TEXT("java.utility.Tray")));
}

UNIT_MAIN
