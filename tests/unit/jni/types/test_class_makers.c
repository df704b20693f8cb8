#include "jni/types/classes.h"

#include "tests/unit/unit.h"

/* The table is searched by halves: every row must be where the search looks. */
UNIT_TEST(makers_are_found_by_name)
{
  static const struct {
    const char *name;
    enum class_maker maker;
  } cases[] = {
      {"java.io.Serializable", MAKER_NATURAL},
      {"java.lang.Boolean", MAKER_WRAPPER},
      {"java.lang.Byte", MAKER_WRAPPER},
      {"java.lang.CharSequence", MAKER_NATURAL},
      {"java.lang.Character", MAKER_WRAPPER},
      {"java.lang.Class", MAKER_PARSE},
      {"java.lang.Cloneable", MAKER_NATURAL},
      {"java.lang.Comparable", MAKER_NATURAL},
      {"java.lang.Double", MAKER_WRAPPER},
      {"java.lang.Float", MAKER_WRAPPER},
      {"java.lang.Integer", MAKER_WRAPPER},
      {"java.lang.Iterable", MAKER_LIST},
      {"java.lang.Long", MAKER_WRAPPER},
      {"java.lang.Number", MAKER_NATURAL},
      {"java.lang.Object", MAKER_NATURAL},
      {"java.lang.Short", MAKER_WRAPPER},
      {"java.lang.String", MAKER_STRING},
      {"java.math.BigDecimal", MAKER_PARSE},
      {"java.math.BigInteger", MAKER_PARSE},
      {"java.time.Duration", MAKER_PARSE},
      {"java.time.Instant", MAKER_PARSE},
      {"java.time.LocalDate", MAKER_PARSE},
      {"java.time.LocalDateTime", MAKER_PARSE},
      {"java.time.LocalTime", MAKER_PARSE},
      {"java.time.MonthDay", MAKER_PARSE},
      {"java.time.OffsetDateTime", MAKER_PARSE},
      {"java.time.OffsetTime", MAKER_PARSE},
      {"java.time.Period", MAKER_PARSE},
      {"java.time.Year", MAKER_PARSE},
      {"java.time.YearMonth", MAKER_PARSE},
      {"java.time.ZoneId", MAKER_PARSE},
      {"java.time.ZoneOffset", MAKER_PARSE},
      {"java.time.ZonedDateTime", MAKER_PARSE},
      {"java.util.Collection", MAKER_LIST},
      {"java.util.Deque", MAKER_LIST},
      {"java.util.List", MAKER_LIST},
      {"java.util.Map", MAKER_MAP},
      {"java.util.NavigableMap", MAKER_MAP},
      {"java.util.NavigableSet", MAKER_LIST},
      {"java.util.Queue", MAKER_LIST},
      {"java.util.Set", MAKER_LIST},
      {"java.util.SortedMap", MAKER_MAP},
      {"java.util.SortedSet", MAKER_LIST},
      {"java.util.UUID", MAKER_PARSE},
  };
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    const struct class_maker_row *row = class_maker_find(text_of(cases[i].name));
    if (row == NULL || row->maker != cases[i].maker)
      fail_msg("%s", cases[i].name);
  }
  static const char *const strangers[] = {
      "", "java", "java.lang", "java.util.ArrayList", "java.lang.String2", "zzz"};
  for (size_t i = 0; i < COUNT_OF(strangers); i++)
    assert_null(class_maker_find(text_of(strangers[i])));
}

UNIT_MAIN
