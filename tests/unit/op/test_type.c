#include "op/type.h"

#include "base/buffer.h"

#include "tests/unit/unit.h"

#include <stdio.h>

static const char reserved_text[] = "Type name is a Java reserved keyword";
static const char bad_text[] = "Invalid characters in type";

/* The caller's text, its base and dimensions, and the name that it has as an argument and as a target. NULL:
 * the text is reserved there. */
static const struct type_case {
  struct text written;
  char base;
  unsigned dimensions;
  const char *argument_name;
  const char *target_name;
} cases[] = {
    {TEXT("int"), 'I', 0, "int", NULL},
    {TEXT("boolean"), 'Z', 0, "boolean", NULL},
    {TEXT("double[]"), 'D', 1, "double", "double"},
    {TEXT("int[][]"), 'I', 2, "int", "int"},
    {TEXT("[[J"), 'J', 2, "long", "long"},
    {TEXT("[Z"), 'Z', 1, "boolean", "boolean"},
    {TEXT("[Ljava.lang.String;"), 'L', 1, "java.lang.String", "java.lang.String"},
    {TEXT("[[La.B$C;"), 'L', 2, "a.B$C", "a.B$C"},
    {TEXT("String"), 'L', 0, "java.lang.String", "String"},
    {TEXT("String[]"), 'L', 1, "java.lang.String", "String"},
    {TEXT("[LInteger;"), 'L', 1, "java.lang.Integer", "Integer"},
    {TEXT("java.lang.Integer[]"), 'L', 1, "java.lang.Integer", "java.lang.Integer"},
    {TEXT("com.example.Foo"), 'L', 0, "com.example.Foo", "com.example.Foo"},
    {TEXT("java.util.Map$Entry"), 'L', 0, "java.util.Map$Entry", "java.util.Map$Entry"},
    {TEXT("Outer$1"), 'L', 0, "Outer$1", "Outer$1"},
    {TEXT("Calculator"), 'L', 0, "Calculator", "Calculator"},
    {TEXT("string"), 'L', 0, "string", "string"},
    {TEXT("BigDecimal"), 'L', 0, "BigDecimal", "BigDecimal"},
    {TEXT("x.String"), 'L', 0, "x.String", "x.String"},
    {TEXT("I"), 'L', 0, "I", "I"},
    {TEXT("r\xC3\xBC"), 'L', 0, "r\xC3\xBC", "r\xC3\xBC"},
    {TEXT("a.do.if"), 'L', 0, "a.do.if", "a.do.if"},
    {TEXT("tryit"), 'L', 0, "tryit", "tryit"},
};

static const struct text reserved[] = {TEXT("class[]"), TEXT("[Lclass;"), TEXT("[Lint;"), TEXT("void[]")};

static const char *const bad[] = {"",       "[]",   "a:b",    "a/B",  "[La/B;", "A<B>",  "int ...",
                                  "int []", " int", "int[3]", "int]", "int[",   "[I[]",  "[[",
                                  "[V",     "[X",   "[int",   "[L;",  "[La",    "[La;;", "La.B;",
                                  ".a",     "a.",   "a..b",   "a.1b", "1",      "a-b",   "a\nb"};

typedef enum jp_status parse_function(struct text, struct op_type *, struct jp_error *);

static void check_refused(struct text written, const char *wanted)
{
  static parse_function *const functions[] = {op_type_parse_argument, op_type_parse_target};
  for (size_t i = 0; i < COUNT_OF(functions); i++) {
    char *copy = unit_exact_copy(written.data, written.len);
    struct op_type type;
    struct jp_error error = {0};
    enum jp_status status = functions[i]((struct text){copy, written.len}, &type, &error);
    if (status != JP_INVALID || !text_starts_with(text_of(error.text), text_of(wanted)))
      fail_msg("%s: status %d, %s", written.data, status, error.text);
    test_free(copy);
  }
}

static void check_accepted(const struct type_case *c, parse_function *parse, const char *name)
{
  char *copy = unit_exact_copy(c->written.data, c->written.len);
  struct op_type type;
  struct jp_error error = {0};
  enum jp_status status = parse((struct text){copy, c->written.len}, &type, &error);
  if (name == NULL) {
    assert_int_equal(status, JP_INVALID);
    assert_true(text_starts_with(text_of(error.text), text_of(reserved_text)));
  } else {
    if (status != JP_OK)
      fail_msg("%s: %s", c->written.data, error.text);
    assert_int_equal(type.base, c->base);
    assert_int_equal(type.dimensions, c->dimensions);
    unit_assert_text(type.name, text_of(name), __FILE__, __LINE__);
  }
  test_free(copy);
}

UNIT_TEST(reads_types_of_arguments_and_targets)
{
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    check_accepted(&cases[i], op_type_parse_argument, cases[i].argument_name);
    check_accepted(&cases[i], op_type_parse_target, cases[i].target_name);
  }
  for (size_t i = 0; i < COUNT_OF(reserved); i++)
    check_refused(reserved[i], reserved_text);
  for (size_t i = 0; i < COUNT_OF(bad); i++)
    check_refused(text_of(bad[i]), bad_text);
  check_refused(TEXT("a\0b"), bad_text);
}

UNIT_TEST(needs_no_error_to_fill)
{
  struct op_type type;
  assert_int_equal(op_type_parse_target(TEXT("try"), &type, NULL), JP_INVALID);
}

UNIT_TEST(refuses_every_reserved_word)
{
  static const char words[] =
      "abstract assert boolean break byte case catch char class const continue default do double else "
      "enum extends false final finally float for goto if implements import instanceof int interface "
      "long native new null package private protected public return short static strictfp super switch "
      "synchronized this throw throws transient true try void volatile while _";
  char word[UNIT_WORD_MAX];
  for (const char *at = words; unit_next_word(&at, word);) {
    struct op_type type;
    struct jp_error error;
    assert_int_equal(op_type_parse_target(text_of(word), &type, &error), JP_INVALID);
    assert_true(text_starts_with(text_of(error.text), text_of(reserved_text)));
  }
}

static void check_completed(const char *package, const char *names)
{
  char name[UNIT_WORD_MAX];
  while (unit_next_word(&names, name)) {
    char full[2 * UNIT_WORD_MAX];
    struct op_type type;
    snprintf(full, sizeof full, "%s.%s", package, name);
    assert_int_equal(op_type_parse_argument(text_of(name), &type, NULL), JP_OK);
    unit_assert_text(type.name, text_of(full), __FILE__, __LINE__);
  }
}

UNIT_TEST(completes_the_common_names_of_arguments)
{
  check_completed(
      "java.lang",
      "Boolean Byte Character Short Integer Long Float Double Number Object String CharSequence Class "
      "Iterable Appendable Comparable Runnable StringBuilder Throwable Void");
  check_completed(
      "java.util",
      "Collection List Set Map ArrayList LinkedList HashMap TreeMap HashSet LinkedHashMap TreeSet "
      "LinkedHashSet UUID ArrayDeque Comparator Date Iterator Optional WeakHashMap");
}

UNIT_TEST(has_255_dimensions_at_the_most)
{
  struct buffer written;
  buffer_init(&written);
  BUFFER_LITERAL(&written, "int");
  for (int i = 0; i < 255; i++)
    BUFFER_LITERAL(&written, "[]");
  struct op_type type;
  struct jp_error error;
  assert_int_equal(op_type_parse_target(buffer_text(&written), &type, &error), JP_OK);
  assert_int_equal(type.dimensions, 255);
  BUFFER_LITERAL(&written, "[]");
  assert_int_equal(op_type_parse_target(buffer_text(&written), &type, &error), JP_INVALID);
  assert_string_equal(error.text, "Type has more than 255 dimensions");
  buffer_fini(&written);
}

/* A type in three forms: in source code, from Class.getName(), and as a descriptor. */
static const struct name_case {
  struct text source;
  struct text binary;
  struct text descriptor;
} names[] = {
    {TEXT("int"), TEXT("int"), TEXT("I")},
    {TEXT("boolean[]"), TEXT("[Z"), TEXT("[Z")},
    {TEXT("byte[][]"), TEXT("[[B"), TEXT("[[B")},
    {TEXT("char[]"), TEXT("[C"), TEXT("[C")},
    {TEXT("short[]"), TEXT("[S"), TEXT("[S")},
    {TEXT("long[]"), TEXT("[J"), TEXT("[J")},
    {TEXT("float[]"), TEXT("[F"), TEXT("[F")},
    {TEXT("double[][][]"), TEXT("[[[D"), TEXT("[[[D")},
    {TEXT("void"), TEXT("void"), TEXT("V")},
    {TEXT("Foo"), TEXT("Foo"), TEXT("LFoo;")},
    {TEXT("java.lang.String"), TEXT("java.lang.String"), TEXT("Ljava/lang/String;")},
    {TEXT("java.util.Map$Entry[]"), TEXT("[Ljava.util.Map$Entry;"), TEXT("[Ljava/util/Map$Entry;")},
    {TEXT("a.Hidden/0x0001"), TEXT("a.Hidden/0x0001"), TEXT("La/Hidden.0x0001;")},
};

UNIT_TEST(writes_every_form_of_a_name)
{
  struct arena arena;
  arena_init(&arena);
  for (size_t i = 0; i < COUNT_OF(names); i++) {
    char *copy = unit_exact_copy(names[i].descriptor.data, names[i].descriptor.len);
    struct text rest = {copy, names[i].descriptor.len};
    struct op_type type;
    assert_int_equal(op_type_parse_descriptor(&rest, &arena, &type), JP_OK);
    assert_int_equal(rest.len, 0);
    test_free(copy);
    unit_assert_text(op_type_source_name(&type, &arena), names[i].source, __FILE__, __LINE__);
    unit_assert_text(op_type_binary_name(&type, &arena), names[i].binary, __FILE__, __LINE__);
  }
  arena_fini(&arena);
}

UNIT_TEST(reads_one_descriptor_after_another)
{
  struct arena arena;
  arena_init(&arena);
  struct text rest = TEXT("I[Ljava/lang/String;[[JLx;V)tail");
  static const char *const wanted[] = {"int", "java.lang.String[]", "long[][]", "x", "void"};
  struct op_type type;
  for (size_t i = 0; i < COUNT_OF(wanted); i++) {
    assert_int_equal(op_type_parse_descriptor(&rest, &arena, &type), JP_OK);
    unit_assert_text(op_type_source_name(&type, &arena), text_of(wanted[i]), __FILE__, __LINE__);
  }
  assert_int_equal(op_type_parse_descriptor(&rest, &arena, &type), JP_INVALID);
  assert_text(rest, ")tail");
  arena_fini(&arena);
}

UNIT_TEST(refuses_broken_descriptors)
{
  static const struct text refused[] = {
      TEXT(""),      TEXT("["),    TEXT("[["),   TEXT("X"),      TEXT("L"),    TEXT("L;"),
      TEXT("Ljava"), TEXT("L/a;"), TEXT("La/;"), TEXT("La//b;"), TEXT("L[a;"), TEXT("[V"),
      TEXT("i"),     TEXT(";"),    TEXT("\0"),   TEXT("[]"),     TEXT("(I)V"),
  };
  struct arena arena;
  arena_init(&arena);
  for (size_t i = 0; i < COUNT_OF(refused); i++) {
    char *copy = unit_exact_copy(refused[i].data, refused[i].len);
    struct text rest = {copy, refused[i].len};
    struct op_type type;
    if (op_type_parse_descriptor(&rest, &arena, &type) != JP_INVALID)
      fail_msg("accepted: %s", refused[i].data);
    assert_int_equal(rest.len, refused[i].len);
    test_free(copy);
  }
  char deep[257];
  memset(deep, '[', 256);
  deep[256] = 'I';
  struct text rest = {deep, 257};
  struct op_type type;
  assert_int_equal(op_type_parse_descriptor(&rest, &arena, &type), JP_INVALID);
  rest = (struct text){deep + 1, 256};
  assert_int_equal(op_type_parse_descriptor(&rest, &arena, &type), JP_OK);
  assert_int_equal(type.dimensions, 255);
  arena_fini(&arena);
}

UNIT_MAIN
