/* What the name of a class tells of values: how one becomes an object of the class, and which text an object has. */
#include "jni/types/classes.h"

#include <assert.h>
#include <stddef.h>
#include <stdlib.h>

/* Sorted by name, for bsearch. */
static const struct class_maker_row maker_rows[] = {
    {"java.io.Serializable", MAKER_NATURAL, NULL, NULL, NULL},
    {"java.lang.Boolean", MAKER_WRAPPER, NULL, NULL, NULL},
    {"java.lang.Byte", MAKER_WRAPPER, NULL, NULL, NULL},
    {"java.lang.CharSequence", MAKER_NATURAL, NULL, NULL, NULL},
    {"java.lang.Character", MAKER_WRAPPER, NULL, NULL, NULL},
    {"java.lang.Class", MAKER_PARSE, NULL, NULL, NULL},
    {"java.lang.Cloneable", MAKER_NATURAL, NULL, NULL, NULL},
    {"java.lang.Comparable", MAKER_NATURAL, NULL, NULL, NULL},
    {"java.lang.Double", MAKER_WRAPPER, NULL, NULL, NULL},
    {"java.lang.Float", MAKER_WRAPPER, NULL, NULL, NULL},
    {"java.lang.Integer", MAKER_WRAPPER, NULL, NULL, NULL},
    {"java.lang.Iterable", MAKER_LIST, "java/util/ArrayList", NULL, NULL},
    {"java.lang.Long", MAKER_WRAPPER, NULL, NULL, NULL},
    {"java.lang.Number", MAKER_NATURAL, NULL, NULL, NULL},
    {"java.lang.Object", MAKER_NATURAL, NULL, NULL, NULL},
    {"java.lang.Short", MAKER_WRAPPER, NULL, NULL, NULL},
    {"java.lang.String", MAKER_STRING, NULL, NULL, NULL},
    {"java.lang.constant.Constable", MAKER_NATURAL, NULL, NULL, NULL},
    {"java.lang.constant.ConstantDesc", MAKER_NATURAL, NULL, NULL, NULL},
    {"java.math.BigDecimal", MAKER_PARSE, NULL, "<init>", "(Ljava/lang/String;)V"},
    {"java.math.BigInteger", MAKER_PARSE, NULL, "<init>", "(Ljava/lang/String;)V"},
    {"java.time.Duration", MAKER_PARSE, NULL, "parse", "(Ljava/lang/CharSequence;)Ljava/time/Duration;"},
    {"java.time.Instant", MAKER_PARSE, NULL, "parse", "(Ljava/lang/CharSequence;)Ljava/time/Instant;"},
    {"java.time.LocalDate", MAKER_PARSE, NULL, "parse", "(Ljava/lang/CharSequence;)Ljava/time/LocalDate;"},
    {"java.time.LocalDateTime", MAKER_PARSE, NULL, "parse",
     "(Ljava/lang/CharSequence;)Ljava/time/LocalDateTime;"},
    {"java.time.LocalTime", MAKER_PARSE, NULL, "parse", "(Ljava/lang/CharSequence;)Ljava/time/LocalTime;"},
    {"java.time.MonthDay", MAKER_PARSE, NULL, "parse", "(Ljava/lang/CharSequence;)Ljava/time/MonthDay;"},
    {"java.time.OffsetDateTime", MAKER_PARSE, NULL, "parse",
     "(Ljava/lang/CharSequence;)Ljava/time/OffsetDateTime;"},
    {"java.time.OffsetTime", MAKER_PARSE, NULL, "parse", "(Ljava/lang/CharSequence;)Ljava/time/OffsetTime;"},
    {"java.time.Period", MAKER_PARSE, NULL, "parse", "(Ljava/lang/CharSequence;)Ljava/time/Period;"},
    {"java.time.Year", MAKER_PARSE, NULL, "parse", "(Ljava/lang/CharSequence;)Ljava/time/Year;"},
    {"java.time.YearMonth", MAKER_PARSE, NULL, "parse", "(Ljava/lang/CharSequence;)Ljava/time/YearMonth;"},
    {"java.time.ZoneId", MAKER_PARSE, NULL, "of", "(Ljava/lang/String;)Ljava/time/ZoneId;"},
    {"java.time.ZoneOffset", MAKER_PARSE, NULL, "of", "(Ljava/lang/String;)Ljava/time/ZoneOffset;"},
    {"java.time.ZonedDateTime", MAKER_PARSE, NULL, "parse",
     "(Ljava/lang/CharSequence;)Ljava/time/ZonedDateTime;"},
    {"java.util.AbstractCollection", MAKER_LIST, "java/util/ArrayList", NULL, NULL},
    {"java.util.AbstractList", MAKER_LIST, "java/util/ArrayList", NULL, NULL},
    {"java.util.AbstractMap", MAKER_MAP, "java/util/HashMap", NULL, NULL},
    {"java.util.AbstractSequentialList", MAKER_LIST, "java/util/LinkedList", NULL, NULL},
    {"java.util.AbstractSet", MAKER_LIST, "java/util/HashSet", NULL, NULL},
    {"java.util.Collection", MAKER_LIST, "java/util/ArrayList", NULL, NULL},
    {"java.util.Deque", MAKER_LIST, "java/util/LinkedList", NULL, NULL},
    {"java.util.List", MAKER_LIST, "java/util/ArrayList", NULL, NULL},
    {"java.util.Map", MAKER_MAP, "java/util/HashMap", NULL, NULL},
    {"java.util.NavigableMap", MAKER_MAP, "java/util/TreeMap", NULL, NULL},
    {"java.util.NavigableSet", MAKER_LIST, "java/util/TreeSet", NULL, NULL},
    {"java.util.Queue", MAKER_LIST, "java/util/LinkedList", NULL, NULL},
    {"java.util.RandomAccess", MAKER_NATURAL, NULL, NULL, NULL},
    {"java.util.SequencedCollection", MAKER_LIST, "java/util/ArrayList", NULL, NULL},
    {"java.util.SequencedMap", MAKER_MAP, "java/util/LinkedHashMap", NULL, NULL},
    {"java.util.SequencedSet", MAKER_LIST, "java/util/LinkedHashSet", NULL, NULL},
    {"java.util.Set", MAKER_LIST, "java/util/HashSet", NULL, NULL},
    {"java.util.SortedMap", MAKER_MAP, "java/util/TreeMap", NULL, NULL},
    {"java.util.SortedSet", MAKER_LIST, "java/util/TreeSet", NULL, NULL},
    {"java.util.UUID", MAKER_PARSE, NULL, "fromString", "(Ljava/lang/String;)Ljava/util/UUID;"},
    {"java.util.concurrent.BlockingDeque", MAKER_LIST, "java/util/concurrent/LinkedBlockingDeque", NULL,
     NULL},
    {"java.util.concurrent.BlockingQueue", MAKER_LIST, "java/util/concurrent/LinkedBlockingQueue", NULL,
     NULL},
    {"java.util.concurrent.ConcurrentMap", MAKER_MAP, "java/util/concurrent/ConcurrentHashMap", NULL, NULL},
    {"java.util.concurrent.ConcurrentNavigableMap", MAKER_MAP, "java/util/concurrent/ConcurrentSkipListMap",
     NULL, NULL},
    {"java.util.concurrent.TransferQueue", MAKER_LIST, "java/util/concurrent/LinkedTransferQueue", NULL,
     NULL},
};

struct class_text_row {
  const char *name;
  enum class_text text;
};

/* Sorted by name, for bsearch. Their toString runs no code of an application: all are final, or taken for this very
 * class. */
static const struct class_text_row text_rows[] = {
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

/* The name is the first member of either kind of row. */
static_assert(offsetof(struct class_maker_row, name) == 0 && offsetof(struct class_text_row, name) == 0,
              "compare_names reads the name of both");

static int compare_names(const void *key, const void *row)
{
  return text_order(*(const struct text *)key, text_of(*(const char *const *)row));
}

const struct class_maker_row *class_maker_find(struct text name)
{
  return bsearch(&name, maker_rows, sizeof maker_rows / sizeof *maker_rows, sizeof *maker_rows,
                 compare_names);
}

enum class_text class_text_find(struct text name)
{
  const struct class_text_row *row =
      bsearch(&name, text_rows, sizeof text_rows / sizeof *text_rows, sizeof *text_rows, compare_names);
  return row == NULL ? CLASS_TEXT_NONE : row->text;
}
