#include "classfile/class_path.h"

#include "tests/unit/classfile/files.h"

static const struct {
  const char *class_path;
  const char *elements[4];
} cases[] = {
    {"", {"."}},        {"a.jar", {"a.jar"}}, {"a.jar:b", {"a.jar", "b"}},
    {":a", {".", "a"}}, {"a:", {"a", "."}},   {"a::b", {"a", ".", "b"}},
};

UNIT_TEST(test_elements)
{
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    struct text rest = text_of(cases[i].class_path);
    struct text element;
    size_t count = 0;
    while (class_path_next(&rest, &element)) {
      assert_non_null(cases[i].elements[count]);
      unit_assert_text(element, text_of(cases[i].elements[count++]), __FILE__, __LINE__);
    }
    assert_null(cases[i].elements[count]);
  }
}

UNIT_TEST(test_which_elements_are_wildcards)
{
  static const struct {
    const char *element;
    const char *folder; /* NULL: the element is not a wildcard */
  } elements[] = {{"*", ""},        {"lib/*", "lib/"}, {"/*", "/"},     {"a*", NULL},
                  {"lib/a*", NULL}, {"lib/", NULL},    {"*.jar", NULL}, {"", NULL}};
  for (size_t i = 0; i < COUNT_OF(elements); i++) {
    struct text folder;
    bool is_wildcard = class_path_is_wildcard(text_of(elements[i].element), &folder);
    assert_int_equal(is_wildcard, elements[i].folder != NULL);
    if (elements[i].folder != NULL)
      unit_assert_text(folder, text_of(elements[i].folder), __FILE__, __LINE__);
  }
}

static void expand(const char *format, const char *folder, struct buffer *out)
{
  char class_path[512];
  snprintf(class_path, sizeof class_path, format, folder);
  buffer_clear(out);
  class_path_expand(text_of(class_path), out);
  buffer_append_char(out, '\0');
}

UNIT_TEST(test_wildcards)
{
  char folder[64];
  char wanted[512];
  struct buffer out;
  buffer_init(&out);
  files_open_scratch(folder);
  files_write(folder, "b.jar", "", 0);
  files_write(folder, "a.JAR", "", 0);
  files_write(folder, "c.zip", "", 0);
  files_make_folder(folder, "empty");

  expand("x:%s/*:y", folder, &out);
  snprintf(wanted, sizeof wanted, "x:%s/a.JAR:%s/b.jar:y", folder, folder);
  assert_string_equal(out.data, wanted);

  expand("%s/empty/*", folder, &out);
  snprintf(wanted, sizeof wanted, "%s/empty/*", folder);
  assert_string_equal(out.data, wanted);

  expand("%s/*.jar", folder, &out); /* no wildcard to java either */
  snprintf(wanted, sizeof wanted, "%s/*.jar", folder);
  assert_string_equal(out.data, wanted);

  files_drop_scratch(folder);
  buffer_fini(&out);
}

UNIT_TEST(test_module_paths)
{
  char folder[64];
  char path[512];
  char wanted[512];
  struct buffer out;
  buffer_init(&out);
  files_open_scratch(folder);
  files_write(folder, "b.jar", "", 0);
  files_write(folder, "notes.txt", "", 0);
  files_make_folder(folder, "a");
  files_write(folder, "a/module-info.class", "", 0);
  files_make_folder(folder, "none");

  snprintf(path, sizeof path, "%s:/x/y.jar:%s/a:/nowhere:%s/none", folder, folder, folder);
  module_path_expand(text_of(path), &out);
  buffer_append_char(&out, '\0');
  snprintf(wanted, sizeof wanted, "%s/a:%s/b.jar:/x/y.jar:%s/a", folder, folder, folder);
  assert_string_equal(out.data, wanted);
  buffer_fini(&out);
  files_drop_scratch(folder);
}

UNIT_MAIN
