#include "jni/types/classes.h"

#include <stdlib.h>

struct class_text_row {
  const char *name;
  enum class_text text;
};

/* Sorted by name, for bsearch. Their toString runs no code of an application: all are final, or taken for this very
 * class. */
static const struct class_text_row rows[] = {
    {"java.lang.Class", CLASS_TEXT_CLASS},
    {"java.math.BigDecimal", CLASS_TEXT_DECIMAL},
    {"java.math.BigInteger", CLASS_TEXT_INTEGER},
    {"java.time.Duration", CLASS_TEXT_STRING},
    {"java.time.Instant", CLASS_TEXT_STRING},
    {"java.time.LocalDate", CLASS_TEXT_STRING},
    {"java.time.LocalDateTime", CLASS_TEXT_STRING},
    {"java.time.LocalTime", CLASS_TEXT_STRING},
    {"java.time.MonthDay", CLASS_TEXT_STRING},
    {"java.time.OffsetDateTime", CLASS_TEXT_STRING},
    {"java.time.OffsetTime", CLASS_TEXT_STRING},
    {"java.time.Period", CLASS_TEXT_STRING},
    {"java.time.Year", CLASS_TEXT_YEAR},
    {"java.time.YearMonth", CLASS_TEXT_YEAR},
    {"java.time.ZoneOffset", CLASS_TEXT_STRING},
    {"java.time.ZoneRegion", CLASS_TEXT_STRING}, /* the other class of a ZoneId */
    {"java.time.ZonedDateTime", CLASS_TEXT_STRING},
    {"java.util.Optional", CLASS_TEXT_OPTIONAL},
    {"java.util.UUID", CLASS_TEXT_STRING},
};

static int compare_names(const void *key, const void *row)
{
  const struct text *name = key;
  const char *other = ((const struct class_text_row *)row)->name;
  size_t length = strlen(other);
  int order = memcmp(name->data, other, name->len < length ? name->len : length);
  return order != 0 ? order : (name->len > length) - (name->len < length);
}

enum class_text class_text_find(struct text name)
{
  const struct class_text_row *row =
      bsearch(&name, rows, sizeof rows / sizeof *rows, sizeof *rows, compare_names);
  return row == NULL ? CLASS_TEXT_NONE : row->text;
}
