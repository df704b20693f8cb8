#include "classfile/class_file.h"

#include "tests/unit/classfile/files.h"

#include "base/buffer.h"

static uint8_t *read_class(const char *name, size_t *size)
{
  char path[4096];
  snprintf(path, sizeof path, "%s/%s.class", TEST_CLASSES, name);
  return files_read(path, size);
}

static const struct class_member *find(const struct class_member *members, size_t count, const char *name)
{
  for (size_t i = 0; i < count; i++) {
    if (text_equal(members[i].name, text_of(name)))
      return &members[i];
  }
  fail_msg("no member %s", name);
  return NULL;
}

/* A parsed class; the data that it borrows is valid until close_class. */
struct opened {
  uint8_t *bytes;
  struct arena arena;
  struct class_file file;
};

static void open_class(struct opened *opened, const char *name)
{
  struct jp_error error;
  size_t size;
  opened->bytes = read_class(name, &size);
  arena_init(&opened->arena);
  if (class_file_parse(opened->bytes, size, &opened->arena, &opened->file, &error) != JP_OK)
    fail_msg("%s: %s", name, error.text);
}

static void close_class(struct opened *opened)
{
  arena_fini(&opened->arena);
  test_free(opened->bytes);
}

UNIT_TEST(test_class_itself)
{
  struct opened opened;
  open_class(&opened, "meta/fixtures/Shapes");
  const struct class_file *file = &opened.file;
  assert_text(file->name, "meta.fixtures.Shapes");
  assert_text(file->superclass, "meta.fixtures.Base");
  assert_int_equal(file->interface_count, 1);
  assert_text(file->interfaces[0], "java.lang.Comparable");
  assert_text(file->source_file, "Shapes.java");
  assert_int_equal(file->access, ACCESS_PUBLIC | ACCESS_ABSTRACT);
  assert_int_equal(file->major, 61);
  assert_int_equal(file->minor, 0);
  assert_int_equal(file->outer.len, 0);
  assert_false(file->local);
  close_class(&opened);
}

UNIT_TEST(test_fields)
{
  struct opened opened;
  open_class(&opened, "meta/fixtures/Shapes");
  const struct class_file *file = &opened.file;
  assert_int_equal(file->field_count, 6);
  const struct class_member *maps = find(file->fields, file->field_count, "maps");
  assert_text(maps->descriptor, "[Ljava/util/Map;");
  assert_text(maps->signature, "[Ljava/util/Map<Ljava/lang/String;-Ljava/lang/Integer;>;");
  find(file->fields, file->field_count,
       "gr\xC3\xB6\xC3\x9F"
       "e");
  find(file->fields, file->field_count, "\xF0\x9D\x92\xB3"); /* in the file as two surrogates */
  close_class(&opened);
}

UNIT_TEST(test_methods)
{
  struct opened opened;
  open_class(&opened, "meta/fixtures/Shapes");
  const struct class_file *file = &opened.file;
  const struct class_member *constructor = find(file->methods, file->method_count, "<init>");
  assert_int_equal(constructor->parameter_count, 3);
  assert_text(constructor->parameters[0].name, "first");
  assert_text(constructor->parameters[1].name, "second"); /* a long: two slots */
  assert_text(constructor->parameters[2].name, "third");
  const struct class_member *pick = find(file->methods, file->method_count, "pick");
  assert_text(pick->parameters[0].name, "from"); /* static: no slot for this */
  assert_text(pick->parameters[1].name, "key");
  const struct class_member *abstract = find(file->methods, file->method_count, "abstractOne");
  assert_null(abstract->parameters);
  assert_text(abstract->signature, "()TT;");
  close_class(&opened);
}

UNIT_TEST(test_method_parameters)
{
  struct opened opened;
  open_class(&opened, "NoPackage");
  const struct class_member *run = find(opened.file.methods, opened.file.method_count, "run");
  assert_int_equal(run->parameter_count, 3);
  assert_text(run->parameters[0].name, "name");
  assert_int_equal(run->parameters[0].access, ACCESS_FINAL);
  assert_text(run->parameters[1].name, "count");
  assert_int_equal(run->parameters[1].access, 0);
  assert_text(run->parameters[2].name, "last");
  assert_int_equal(opened.file.source_file.len, 0); /* compiled with -g:none */
  close_class(&opened);
}

static const struct {
  const char *path;
  const char *outer;
  bool local;
  unsigned access;
} nested[] = {
    {"meta/fixtures/Shapes$Nested", "meta.fixtures.Shapes", false, ACCESS_PUBLIC | ACCESS_STATIC},
    {"meta/fixtures/Shapes$Nested$Deeper", "meta.fixtures.Shapes$Nested", false,
     ACCESS_PUBLIC | ACCESS_STATIC},
    {"meta/fixtures/Shapes$Secret", "meta.fixtures.Shapes", false,
     ACCESS_PRIVATE | ACCESS_STATIC | ACCESS_FINAL},
    {"meta/fixtures/Shapes$1", "", true, 0},
    {"meta/fixtures/Shapes$1Local", "", true, 0},
};

UNIT_TEST(test_nested_classes)
{
  for (size_t i = 0; i < COUNT_OF(nested); i++) {
    struct opened opened;
    open_class(&opened, nested[i].path);
    unit_assert_text(opened.file.outer, text_of(nested[i].outer), __FILE__, __LINE__);
    assert_int_equal(opened.file.local, nested[i].local);
    assert_int_equal(opened.file.access, nested[i].access);
    close_class(&opened);
  }
}

/* Parses a copy of exactly this size, for the sanitizers to watch. */
static enum jp_status parse_copy(const uint8_t *bytes, size_t size, struct jp_error *error)
{
  struct arena arena;
  struct class_file file;
  char *copy = unit_exact_copy(bytes, size);
  arena_init(&arena);
  enum jp_status status = class_file_parse((const uint8_t *)copy, size, &arena, &file, error);
  arena_fini(&arena);
  test_free(copy);
  return status;
}

UNIT_TEST(test_cut_at_every_byte)
{
  size_t size;
  struct jp_error error;
  uint8_t *bytes = read_class("meta/fixtures/Shapes", &size);
  for (size_t i = 0; i < size; i++) {
    if (parse_copy(bytes, i, &error) != JP_INVALID)
      fail_msg("accepted with %zu of %zu bytes", i, size);
    assert_non_null(strstr(error.text, "at byte "));
  }
  test_free(bytes);
}

UNIT_TEST(test_bytes_too_many)
{
  size_t size;
  struct jp_error error;
  uint8_t *bytes = read_class("NoPackage", &size);
  uint8_t *longer = test_malloc(size + 1);
  memcpy(longer, bytes, size);
  longer[size] = 0;
  assert_int_equal(parse_copy(longer, size + 1, &error), JP_INVALID);
  test_free(longer);
  test_free(bytes);
}

/* Changes one byte at a time, at every place. As a result indexes, counts, lengths and tags are wrong. The
 * parser only has to end, and may read no byte outside of the file. */
UNIT_TEST(test_every_byte_changed)
{
  static const uint8_t changes[] = {0x00, 0x01, 0x7F, 0x80, 0xFF};
  size_t size;
  size_t refused = 0;
  struct jp_error error;
  uint8_t *bytes = read_class("meta/fixtures/Shapes$Inner", &size);
  for (size_t i = 0; i < size; i++) {
    uint8_t kept = bytes[i];
    for (size_t k = 0; k < COUNT_OF(changes); k++) {
      bytes[i] = changes[k];
      enum jp_status status = parse_copy(bytes, size, &error);
      assert_true(status == JP_OK || status == JP_INVALID);
      refused += status == JP_INVALID;
    }
    bytes[i] = kept;
  }
  assert_true(refused > size); /* most changes are refused */
  test_free(bytes);
}

/* The head of a class file "A" with a superclass: constants 1 Utf8 A, 2 Class 1, 3 Utf8 ()V, 4 Utf8 Code. */
#define HEAD                                                                                                 \
  "\xCA\xFE\xBA\xBE\0\0\0\x3D\0\x05\x01\0\1A\x07\0\1\x01\0\3()V\x01\0\4"                                     \
  "Code\0\x21\0\2\0\0"

static const struct {
  struct text bytes;
  const char *complaint; /* NULL: valid */
} hostile[] = {
    {TEXT(HEAD "\0\0\0\0\0\0\0\0"), NULL},
    {TEXT(""), "CAFEBABE"},
    {TEXT("PK\3\4"), "CAFEBABE"},
    {TEXT("\xCA\xFE\xBA\xBE\0\0\0\x3D\0\0"), "no constant pool"},
    {TEXT("\xCA\xFE\xBA\xBE\0\0\0\x3D\xFF\xFF"), "constant 1"},
    {TEXT("\xCA\xFE\xBA\xBE\0\0\0\x3D\0\2\x02\0\0"), "constant 1 with tag 2"},
    {TEXT("\xCA\xFE\xBA\xBE\0\0\0\x3D\0\2\x01\xFF\xFF"), "constant 1"},
    {TEXT("\xCA\xFE\xBA\xBE\0\0\0\x3D\0\2\x07\0\1\0\x21\0\1\0\0"), "constant 1 is no text"},
    {TEXT("\xCA\xFE\xBA\xBE\0\0\0\x3D\0\2\x07\xFF\xFF\0\x21\0\1\0\0"), "constant 65535"},
    {TEXT("\xCA\xFE\xBA\xBE\0\0\0\x3D\0\3\x01\0\0\x07\0\1\0\x21\0\2\0\0"), "empty name"},
    {TEXT("\xCA\xFE\xBA\xBE\0\0\0\x3D\0\3\x05\0\0\0\0\0\0\0\0\0\x21\0\2\0\0"),
     "constant 2"}, /* the entry is the second half of a long */
    {TEXT(HEAD "\xFF\xFF"), "interfaces"},
    {TEXT(HEAD "\0\1\0\1"), "constant 1"},
    {TEXT(HEAD "\0\0\xFF\xFF"), "fields"},
    {TEXT(HEAD "\0\0\0\1\0\0\0\1\0\3\0\0"), "descriptor of the field"},
    {TEXT(HEAD "\0\0\0\0\xFF\xFF"), "methods"},
    {TEXT(HEAD "\0\0\0\0\0\1\0\0\0\1\0\1\0\0"), "descriptor of the method"},
    {TEXT(HEAD "\0\0\0\0\0\1\0\0\0\1\0\3\0\1\0\4\xFF\xFF\xFF\xFF"), "attribute"},
    {TEXT(HEAD "\0\0\0\0\0\1\0\0\0\1\0\3\0\1\0\4\0\0\0\2\0\0"), "attribute"},
    {TEXT(HEAD "\0\0\0\0\0\1\0\0\0\1\0\3\0\1\0\4\0\0\0\x08\0\0\0\0\xFF\xFF\xFF\xFF"), "attribute"},
    {TEXT(HEAD "\0\0\0\0\0\0\xFF\xFF"), "attribute"},
};

UNIT_TEST(test_hostile_files)
{
  for (size_t i = 0; i < COUNT_OF(hostile); i++) {
    struct jp_error error = {0};
    enum jp_status status = parse_copy((const uint8_t *)hostile[i].bytes.data, hostile[i].bytes.len, &error);
    assert_int_equal(status, hostile[i].complaint == NULL ? JP_OK : JP_INVALID);
    if (hostile[i].complaint != NULL && strstr(error.text, hostile[i].complaint) == NULL)
      fail_msg("case %zu: %s", i, error.text);
  }
}

/* ---- text ---- */

static const struct {
  struct text in_file;
  struct text peer; /* data NULL: malformed */
} modified_utf8[] = {
    {TEXT(""), TEXT("")},
    {TEXT("java/lang/String"), TEXT("java/lang/String")},
    {TEXT("gr\xC3\xB6\xC3\x9F"
          "e"),
     TEXT("gr\xC3\xB6\xC3\x9F"
          "e")},
    {TEXT("\xE2\x82\xAC"), TEXT("\xE2\x82\xAC")},
    {TEXT("a\xC0\x80z"), TEXT("a\0z")},
    {TEXT("\xED\xA0\xB5\xED\xB2\xB3"), TEXT("\xF0\x9D\x92\xB3")}, /* a pair of surrogates: U+1D4B3 */
    {TEXT("\xED\xA0\xB5x"), TEXT("\xED\xA0\xB5x")},               /* a lone surrogate is kept */
    {TEXT("\xED\xB2\xB3\xED\xA0\xB5"), TEXT("\xED\xB2\xB3\xED\xA0\xB5")},
    {TEXT("a\0b"), TEXT_ABSENT},
    {TEXT("12345678\0"), TEXT_ABSENT},
    {TEXT("\x80"), TEXT_ABSENT},
    {TEXT("\xC3"), TEXT_ABSENT},
    {TEXT("\xC3z"), TEXT_ABSENT},
    {TEXT("\xC1\xBF"), TEXT_ABSENT},
    {TEXT("\xE2\x82"), TEXT_ABSENT},
    {TEXT("\xE2\x82z"), TEXT_ABSENT},
    {TEXT("\xE0\x80\x80"), TEXT_ABSENT},
    {TEXT("\xE0\x9F\xBF"), TEXT_ABSENT},
    {TEXT("\xF0\x9D\x92\xB3"), TEXT_ABSENT}, /* four bytes are never right here */
    {TEXT("\xFF"), TEXT_ABSENT},
};

/* A class A whose attribute SourceFile is this text, in memory that ends with it. */
static uint8_t *make_class_of_source(struct text source, size_t *size)
{
  static const char head[] = "\xCA\xFE\xBA\xBE\0\0\0\x3D\0\5\7\0\2\1\0\1A\1\0\x0ASourceFile\1";
  static const char tail[] = "\0\x21\0\1\0\0\0\0\0\0\0\0\0\1\0\3\0\0\0\2\0\4";
  struct buffer class;
  buffer_init(&class);
  buffer_append(&class, head, sizeof head - 1);
  buffer_append_char(&class, (char)(source.len >> 8));
  buffer_append_char(&class, (char)source.len);
  buffer_append_text(&class, source);
  buffer_append(&class, tail, sizeof tail - 1);
  uint8_t *bytes = (uint8_t *)unit_exact_copy(class.data, class.len);
  *size = class.len;
  buffer_fini(&class);
  return bytes;
}

UNIT_TEST(reads_modified_utf8)
{
  for (size_t i = 0; i < COUNT_OF(modified_utf8); i++) {
    struct arena arena;
    struct class_file file;
    struct jp_error error;
    size_t size;
    uint8_t *bytes = make_class_of_source(modified_utf8[i].in_file, &size);
    arena_init(&arena);
    enum jp_status status = class_file_parse(bytes, size, &arena, &file, &error);
    if (status != (modified_utf8[i].peer.data == NULL ? JP_INVALID : JP_OK))
      fail_msg("case %zu: %s", i, status == JP_OK ? "accepted" : error.text);
    if (status == JP_OK)
      unit_assert_text(file.source_file, modified_utf8[i].peer, __FILE__, __LINE__);
    else if (strstr(error.text, "is not modified UTF-8") == NULL)
      fail_msg("case %zu: %s", i, error.text);
    arena_fini(&arena);
    test_free(bytes);
  }
}

/* ---- access flags ---- */

static const struct {
  uint16_t access;
  enum modifiers_of of;
  const char *text;
} modifiers[] = {
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

UNIT_TEST(writes_modifiers_as_java_does)
{
  for (size_t i = 0; i < COUNT_OF(modifiers); i++) {
    char text[MODIFIERS_TEXT_MAX];
    modifiers_format(modifiers[i].access, modifiers[i].of, text);
    assert_string_equal(text, modifiers[i].text);
  }
}

UNIT_TEST(has_room_for_all_modifiers)
{
  char text[MODIFIERS_TEXT_MAX];
  for (int of = MODIFIERS_OF_CLASS; of <= MODIFIERS_OF_PARAMETER; of++) {
    modifiers_format(0xFFFF, (enum modifiers_of)of, text);
    assert_true(strlen(text) < sizeof text);
  }
}

UNIT_MAIN
