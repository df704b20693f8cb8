#include "jni/types/classes.h"

#include "tests/unit/unit.h"

/* The table is searched by halves: every row must be where the search looks. */
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
      {MAKER_PARSE,
       {"java.lang.Class", "java.math.BigDecimal", "java.math.BigInteger", "java.time.Duration",
        "java.time.Instant", "java.time.LocalDate", "java.time.LocalDateTime", "java.time.LocalTime",
        "java.time.MonthDay", "java.time.OffsetDateTime", "java.time.OffsetTime", "java.time.Period",
        "java.time.Year", "java.time.YearMonth", "java.time.ZoneId", "java.time.ZoneOffset",
        "java.time.ZonedDateTime", "java.util.UUID"}},
      {MAKER_LIST,
       {"java.lang.Iterable", "java.util.Collection", "java.util.Deque", "java.util.List",
        "java.util.NavigableSet", "java.util.Queue", "java.util.Set", "java.util.SortedSet"}},
      {MAKER_STRING, {"java.lang.String"}},
      {MAKER_MAP, {"java.util.Map", "java.util.NavigableMap", "java.util.SortedMap"}},
  };
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    for (const char *const *name = cases[i].names; *name != NULL; name++) {
      const struct class_maker_row *row = class_maker_find(text_of(*name));
      if (row == NULL || row->maker != cases[i].maker)
        fail_msg("%s", *name);
    }
  }
  static const char *const strangers[] = {
      "", "java", "java.lang", "java.util.ArrayList", "java.lang.String2", "zzz"};
  for (size_t i = 0; i < COUNT_OF(strangers); i++)
    assert_null(class_maker_find(text_of(strangers[i])));
}

UNIT_MAIN
