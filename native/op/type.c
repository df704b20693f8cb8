#include "op/type.h"

#include "base/primitives.h"

#include <stdlib.h>

enum { DIMENSIONS_MAX = 255 }; /* JVMS 4.3.2 */

/* The keywords of JLS 3.9 and the literals of 3.10, without the primitives and void. Sorted. */
static const char *const reserved_words[] = {
    "_",         "abstract", "assert", "break",    "case",         "catch",     "class",      "const",
    "continue",  "default",  "do",     "else",     "enum",         "extends",   "false",      "final",
    "finally",   "for",      "goto",   "if",       "implements",   "import",    "instanceof", "interface",
    "native",    "new",      "null",   "package",  "private",      "protected", "public",     "return",
    "static",    "strictfp", "super",  "switch",   "synchronized", "this",      "throw",      "throws",
    "transient", "true",     "try",    "volatile", "while",
};
enum { RESERVED_WORDS = sizeof reserved_words / sizeof reserved_words[0] };

/* Names that an argument may use without their package. Sorted. */
static const struct short_name {
  const char *name;
  struct text full;
} short_names[] = {
    {"Appendable", TEXT("java.lang.Appendable")},
    {"ArrayDeque", TEXT("java.util.ArrayDeque")},
    {"ArrayList", TEXT("java.util.ArrayList")},
    {"AutoCloseable", TEXT("java.lang.AutoCloseable")},
    {"BitSet", TEXT("java.util.BitSet")},
    {"Boolean", TEXT("java.lang.Boolean")},
    {"Byte", TEXT("java.lang.Byte")},
    {"Calendar", TEXT("java.util.Calendar")},
    {"CharSequence", TEXT("java.lang.CharSequence")},
    {"Character", TEXT("java.lang.Character")},
    {"Class", TEXT("java.lang.Class")},
    {"ClassLoader", TEXT("java.lang.ClassLoader")},
    {"Cloneable", TEXT("java.lang.Cloneable")},
    {"Collection", TEXT("java.util.Collection")},
    {"Comparable", TEXT("java.lang.Comparable")},
    {"Comparator", TEXT("java.util.Comparator")},
    {"Currency", TEXT("java.util.Currency")},
    {"Date", TEXT("java.util.Date")},
    {"Deque", TEXT("java.util.Deque")},
    {"Double", TEXT("java.lang.Double")},
    {"Enum", TEXT("java.lang.Enum")},
    {"EnumMap", TEXT("java.util.EnumMap")},
    {"EnumSet", TEXT("java.util.EnumSet")},
    {"Enumeration", TEXT("java.util.Enumeration")},
    {"Error", TEXT("java.lang.Error")},
    {"Exception", TEXT("java.lang.Exception")},
    {"Float", TEXT("java.lang.Float")},
    {"Formatter", TEXT("java.util.Formatter")},
    {"HashMap", TEXT("java.util.HashMap")},
    {"HashSet", TEXT("java.util.HashSet")},
    {"Hashtable", TEXT("java.util.Hashtable")},
    {"IdentityHashMap", TEXT("java.util.IdentityHashMap")},
    {"Integer", TEXT("java.lang.Integer")},
    {"Iterable", TEXT("java.lang.Iterable")},
    {"Iterator", TEXT("java.util.Iterator")},
    {"LinkedHashMap", TEXT("java.util.LinkedHashMap")},
    {"LinkedHashSet", TEXT("java.util.LinkedHashSet")},
    {"LinkedList", TEXT("java.util.LinkedList")},
    {"List", TEXT("java.util.List")},
    {"ListIterator", TEXT("java.util.ListIterator")},
    {"Locale", TEXT("java.util.Locale")},
    {"Long", TEXT("java.lang.Long")},
    {"Map", TEXT("java.util.Map")},
    {"NavigableMap", TEXT("java.util.NavigableMap")},
    {"NavigableSet", TEXT("java.util.NavigableSet")},
    {"Number", TEXT("java.lang.Number")},
    {"Object", TEXT("java.lang.Object")},
    {"Optional", TEXT("java.util.Optional")},
    {"OptionalDouble", TEXT("java.util.OptionalDouble")},
    {"OptionalInt", TEXT("java.util.OptionalInt")},
    {"OptionalLong", TEXT("java.util.OptionalLong")},
    {"PriorityQueue", TEXT("java.util.PriorityQueue")},
    {"Properties", TEXT("java.util.Properties")},
    {"Queue", TEXT("java.util.Queue")},
    {"Random", TEXT("java.util.Random")},
    {"Readable", TEXT("java.lang.Readable")},
    {"Record", TEXT("java.lang.Record")},
    {"Runnable", TEXT("java.lang.Runnable")},
    {"RuntimeException", TEXT("java.lang.RuntimeException")},
    {"Scanner", TEXT("java.util.Scanner")},
    {"Set", TEXT("java.util.Set")},
    {"Short", TEXT("java.lang.Short")},
    {"SortedMap", TEXT("java.util.SortedMap")},
    {"SortedSet", TEXT("java.util.SortedSet")},
    {"Stack", TEXT("java.util.Stack")},
    {"StackTraceElement", TEXT("java.lang.StackTraceElement")},
    {"String", TEXT("java.lang.String")},
    {"StringBuffer", TEXT("java.lang.StringBuffer")},
    {"StringBuilder", TEXT("java.lang.StringBuilder")},
    {"StringJoiner", TEXT("java.util.StringJoiner")},
    {"Thread", TEXT("java.lang.Thread")},
    {"ThreadGroup", TEXT("java.lang.ThreadGroup")},
    {"Throwable", TEXT("java.lang.Throwable")},
    {"TimeZone", TEXT("java.util.TimeZone")},
    {"TreeMap", TEXT("java.util.TreeMap")},
    {"TreeSet", TEXT("java.util.TreeSet")},
    {"UUID", TEXT("java.util.UUID")},
    {"Vector", TEXT("java.util.Vector")},
    {"Void", TEXT("java.lang.Void")},
    {"WeakHashMap", TEXT("java.util.WeakHashMap")},
};
enum { SHORT_NAMES = sizeof short_names / sizeof short_names[0] };

static int compare_text(struct text t, const char *word)
{
  size_t length = strlen(word);
  int order = memcmp(t.data, word, t.len < length ? t.len : length);
  return order != 0 ? order : (t.len > length) - (t.len < length);
}

static int compare_reserved(const void *name, const void *word)
{
  return compare_text(*(const struct text *)name, *(const char *const *)word);
}

static int compare_short(const void *name, const void *entry)
{
  return compare_text(*(const struct text *)name, ((const struct short_name *)entry)->name);
}

static enum jp_status fail_characters(struct text written, struct jp_error *error)
{
  return jp_fail(error, JP_INVALID, "Invalid characters in type: %.*s", TEXT_ARGS(written));
}

static enum jp_status fail_reserved(struct text written, struct jp_error *error)
{
  return jp_fail(error, JP_INVALID, "Type name is a Java reserved keyword: %.*s", TEXT_ARGS(written));
}

/* True for identifiers with dots between them (JLS 3.8, 6.2). */
static bool is_class_name(struct text name)
{
  bool at_start = true;
  for (size_t i = 0; i < name.len; i++) {
    char c = name.data[i];
    if (c == '.' && !at_start) {
      at_start = true;
      continue;
    }
    bool is_digit = c >= '0' && c <= '9';
    bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '$';
    /* Every character beyond ASCII is accepted, because the search for the class finds out which characters
     * Java accepts. */
    if (!is_letter && ((unsigned char)c & 0x80) == 0 && (!is_digit || at_start))
      return false;
    at_start = false;
  }
  return !at_start;
}

/* Reads "[[I" or "[Ljava.lang.String;", as Class.getName() writes them: sets *primitive, or leaves the
 * class's name in *name. */
static bool read_binary_array(struct text *name, size_t *count, const struct primitive **primitive)
{
  while (*count < name->len && name->data[*count] == '[')
    ++*count;
  struct text element = text_slice(*name, *count, name->len);
  if (element.len == 1) {
    *primitive = primitive_find_letter(element.data[0]);
    return *primitive != NULL;
  }
  if (element.len < 3 || element.data[0] != 'L' || !text_ends_with(element, TEXT(";")))
    return false;
  *name = text_slice(element, 1, element.len - 1);
  return true;
}

/* Reads the syntax that arguments and targets share. */
static enum jp_status parse(struct text written, struct op_type *type, struct jp_error *error)
{
  const struct primitive *primitive = NULL;
  struct text name = written;
  size_t dimensions = 0;
  if (written.len > 0 && written.data[0] == '[') {
    if (!read_binary_array(&name, &dimensions, &primitive))
      return fail_characters(written, error);
  } else {
    for (; text_ends_with(name, TEXT("[]")); dimensions++)
      name.len -= 2;
    primitive = primitive_find_keyword(name);
  }
  if (name.len > OP_NAME_MAX)
    return jp_fail(error, JP_INVALID, "Type name is longer than the limit of %d bytes", OP_NAME_MAX);
  if (primitive == NULL && !is_class_name(name))
    return fail_characters(written, error);
  if (primitive == NULL &&
      (bsearch(&name, reserved_words, RESERVED_WORDS, sizeof reserved_words[0], compare_reserved) != NULL ||
       primitive_is_keyword(name)))
    return fail_reserved(written, error);
  if (dimensions > DIMENSIONS_MAX)
    return jp_fail(error, JP_INVALID, "Type has more than %d dimensions", DIMENSIONS_MAX);
  *type = (struct op_type){.base = primitive == NULL ? 'L' : primitive->letter,
                           .dimensions = (unsigned)dimensions,
                           .name = primitive == NULL ? name : primitive->keyword};
  return JP_OK;
}

enum jp_status op_type_parse_argument(struct text written, struct op_type *type, struct jp_error *error)
{
  enum jp_status status = parse(written, type, error);
  if (status != JP_OK || type->base != 'L')
    return status;
  const struct short_name *entry =
      bsearch(&type->name, short_names, SHORT_NAMES, sizeof short_names[0], compare_short);
  if (entry != NULL)
    type->name = entry->full;
  return JP_OK;
}

enum jp_status op_type_parse_target(struct text written, struct op_type *type, struct jp_error *error)
{
  enum jp_status status = parse(written, type, error);
  if (status == JP_OK && type->base != 'L' && type->dimensions == 0)
    return fail_reserved(written, error);
  return status;
}

struct text op_type_source_name(const struct op_type *type, struct arena *arena)
{
  if (type->dimensions == 0)
    return type->name;
  size_t len = type->name.len + 2 * (size_t)type->dimensions;
  char *text = arena_alloc(arena, len);
  if (text == NULL)
    return TEXT_ABSENT;
  memcpy(text, type->name.data, type->name.len);
  for (size_t i = type->name.len; i < len; i += 2) {
    text[i] = '[';
    text[i + 1] = ']';
  }
  return (struct text){text, len};
}

struct text op_type_binary_name(const struct op_type *type, struct arena *arena)
{
  if (type->dimensions == 0)
    return type->name;
  char *text = arena_alloc(arena, type->dimensions + type->name.len + 2);
  if (text == NULL)
    return TEXT_ABSENT;
  size_t len = type->dimensions;
  memset(text, '[', len);
  text[len++] = type->base;
  if (type->base == 'L') {
    memcpy(text + len, type->name.data, type->name.len);
    len += type->name.len;
    text[len++] = ';';
  }
  return (struct text){text, len};
}

/* True for unqualified names with '/' between them (JVMS 4.2.1, 4.2.2). */
static bool is_internal_name(struct text name)
{
  bool at_start = true;
  for (size_t i = 0; i < name.len; i++) {
    if (name.data[i] == '[' || (name.data[i] == '/' && at_start))
      return false;
    at_start = name.data[i] == '/';
  }
  return !at_start;
}

enum jp_status op_type_parse_descriptor(struct text *descriptor, struct arena *arena, struct op_type *type)
{
  struct text rest = *descriptor;
  size_t dimensions = 0;
  while (dimensions < rest.len && rest.data[dimensions] == '[')
    dimensions++;
  if (dimensions == rest.len || dimensions > DIMENSIONS_MAX)
    return JP_INVALID;
  rest = text_slice(rest, dimensions, rest.len);
  *type = (struct op_type){.base = rest.data[0], .dimensions = (unsigned)dimensions};
  size_t used = 1;
  if (type->base == 'L') {
    const char *end = memchr(rest.data, ';', rest.len);
    struct text name = end == NULL ? TEXT("") : text_slice(rest, 1, (size_t)(end - rest.data));
    if (!is_internal_name(name))
      return JP_INVALID;
    type->name = arena_text(arena, name);
    if (type->name.data == NULL)
      return JP_NO_MEMORY;
    for (char *at = (char *)type->name.data; at < type->name.data + name.len; at++)
      *at = *at == '/' ? '.' : *at == '.' ? '/' : *at;
    used = name.len + 2;
  } else {
    type->name = primitive_keyword(type->base);
    if (type->name.data == NULL || (type->base == 'V' && dimensions > 0))
      return JP_INVALID;
  }
  *descriptor = text_slice(rest, used, rest.len);
  return JP_OK;
}
