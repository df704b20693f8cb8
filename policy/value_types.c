#include "policy/value_types.h"

#include <stdlib.h>

/* Sorted by text_order, for a binary search. */
static const struct text names[] = {
    TEXT("java.io.Serializable"),
    TEXT("java.lang.Boolean"),
    TEXT("java.lang.Byte"),
    TEXT("java.lang.CharSequence"),
    TEXT("java.lang.Character"),
    TEXT("java.lang.Class"),
    TEXT("java.lang.Cloneable"),
    TEXT("java.lang.Comparable"),
    TEXT("java.lang.Double"),
    TEXT("java.lang.Enum"),
    TEXT("java.lang.Float"),
    TEXT("java.lang.Integer"),
    TEXT("java.lang.Iterable"),
    TEXT("java.lang.Long"),
    TEXT("java.lang.Number"),
    TEXT("java.lang.Object"),
    TEXT("java.lang.Short"),
    TEXT("java.lang.String"),
    TEXT("java.lang.constant.Constable"),
    TEXT("java.lang.constant.ConstantDesc"),
    TEXT("java.math.BigDecimal"),
    TEXT("java.math.BigInteger"),
    TEXT("java.time.Duration"),
    TEXT("java.time.Instant"),
    TEXT("java.time.LocalDate"),
    TEXT("java.time.LocalDateTime"),
    TEXT("java.time.LocalTime"),
    TEXT("java.time.MonthDay"),
    TEXT("java.time.OffsetDateTime"),
    TEXT("java.time.OffsetTime"),
    TEXT("java.time.Period"),
    TEXT("java.time.Year"),
    TEXT("java.time.YearMonth"),
    TEXT("java.time.ZoneId"),
    TEXT("java.time.ZoneOffset"),
    TEXT("java.time.ZonedDateTime"),
    TEXT("java.util.AbstractCollection"),
    TEXT("java.util.AbstractList"),
    TEXT("java.util.AbstractMap"),
    TEXT("java.util.AbstractSet"),
    TEXT("java.util.ArrayDeque"),
    TEXT("java.util.ArrayList"),
    TEXT("java.util.Collection"),
    TEXT("java.util.Deque"),
    TEXT("java.util.HashMap"),
    TEXT("java.util.HashSet"),
    TEXT("java.util.Hashtable"),
    TEXT("java.util.IdentityHashMap"),
    TEXT("java.util.LinkedHashMap"),
    TEXT("java.util.LinkedHashSet"),
    TEXT("java.util.LinkedList"),
    TEXT("java.util.List"),
    TEXT("java.util.Map"),
    TEXT("java.util.NavigableMap"),
    TEXT("java.util.NavigableSet"),
    TEXT("java.util.PriorityQueue"),
    TEXT("java.util.Properties"),
    TEXT("java.util.Queue"),
    TEXT("java.util.RandomAccess"),
    TEXT("java.util.SequencedCollection"),
    TEXT("java.util.SequencedMap"),
    TEXT("java.util.SequencedSet"),
    TEXT("java.util.Set"),
    TEXT("java.util.SortedMap"),
    TEXT("java.util.SortedSet"),
    TEXT("java.util.Stack"),
    TEXT("java.util.TreeMap"),
    TEXT("java.util.TreeSet"),
    TEXT("java.util.UUID"),
    TEXT("java.util.Vector"),
    TEXT("java.util.WeakHashMap"),
    TEXT("java.util.concurrent.BlockingDeque"),
    TEXT("java.util.concurrent.BlockingQueue"),
    TEXT("java.util.concurrent.ConcurrentHashMap"),
    TEXT("java.util.concurrent.ConcurrentLinkedDeque"),
    TEXT("java.util.concurrent.ConcurrentLinkedQueue"),
    TEXT("java.util.concurrent.ConcurrentMap"),
    TEXT("java.util.concurrent.ConcurrentNavigableMap"),
    TEXT("java.util.concurrent.ConcurrentSkipListMap"),
    TEXT("java.util.concurrent.ConcurrentSkipListSet"),
    TEXT("java.util.concurrent.CopyOnWriteArrayList"),
    TEXT("java.util.concurrent.CopyOnWriteArraySet"),
    TEXT("java.util.concurrent.LinkedBlockingDeque"),
    TEXT("java.util.concurrent.LinkedBlockingQueue"),
    TEXT("java.util.concurrent.PriorityBlockingQueue"),
};

static int compare_texts(const void *key, const void *row)
{
  return text_order(*(const struct text *)key, *(const struct text *)row);
}

bool policy_is_value_type(struct text class_name)
{
  return text_starts_with(class_name, TEXT("java.")) &&
         bsearch(&class_name, names, sizeof names / sizeof *names, sizeof *names, compare_texts) != NULL;
}

bool policy_is_value_container(struct text class_name)
{
  return text_starts_with(class_name, TEXT("java.util."));
}
