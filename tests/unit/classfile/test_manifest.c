#include "classfile/manifest.h"

#include "tests/unit/unit.h"

static const struct {
  struct text bytes;
  bool multi_release;
  const char *class_path;
} cases[] = {
    {TEXT(""), false, ""},
    {TEXT("Manifest-Version: 1.0\r\nMulti-Release: true\r\n\r\n"), true, ""},
    {TEXT("multi-release: TRUE\n"), true, ""},
    {TEXT("Multi-Release: true  \n"), true, ""},
    {TEXT("Multi-Release: false\n"), false, ""},
    {TEXT("Multi-Release: truely\n"), false, ""},
    {TEXT("Multi-Release:\n true\n"), true, ""},
    {TEXT("A: b\n\nMulti-Release: true\n"), false, ""}, /* not in the main section */
    {TEXT("Class-Path: lib/a.jar lib/b.jar\n"), false, "lib/a.jar lib/b.jar"},
    {TEXT("Class-Path: lib/a.jar li\r\n b/b.ja\r\n r\r\nX: y\r\n"), false, "lib/a.jar lib/b.jar"},
    {TEXT("Class-Path: a\rMulti-Release: true\r"), true, "a"},
    {TEXT("no colon\n: no name\nClass-Path: x"), false, "x"},
    {TEXT(" continues nothing\nClass-Path: x\n "), false, "x"},
    {TEXT("\0\xFF\xFE:\n"), false, ""},
};

UNIT_TEST(test_parse)
{
  struct arena arena;
  arena_init(&arena);
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    struct manifest manifest;
    char *exact = unit_exact_copy(cases[i].bytes.data, cases[i].bytes.len);
    assert_true(manifest_parse((struct text){exact, cases[i].bytes.len}, &arena, &manifest));
    assert_int_equal(manifest.multi_release, cases[i].multi_release);
    unit_assert_text(manifest.class_path, text_of(cases[i].class_path), __FILE__, __LINE__);
    test_free(exact);
  }
  arena_fini(&arena);
}

static const struct {
  const char *url;
  const char *jar;
  const char *path; /* NULL: none */
} urls[] = {
    {"b.jar", "/x/lib/a.jar", "/x/lib/b.jar"},
    {"b.jar", "a.jar", "b.jar"},
    {"../c/", "lib/a.jar", "lib/../c/"},
    {"/abs/b.jar", "lib/a.jar", "/abs/b.jar"},
    {"file:/abs/b.jar", "lib/a.jar", "/abs/b.jar"},
    {"file:///abs/b.jar", "lib/a.jar", "/abs/b.jar"},
    {"my%20lib.jar", "lib/a.jar", "lib/my lib.jar"},
    {"http://example.com/b.jar", "lib/a.jar", NULL},
    {"b%2", "a.jar", NULL},
    {"b%zz", "a.jar", NULL},
    {"b%00c", "a.jar", NULL},
    {"file:", "a.jar", NULL},
};

UNIT_TEST(test_urls)
{
  struct arena arena;
  arena_init(&arena);
  for (size_t i = 0; i < COUNT_OF(urls); i++) {
    char *exact = unit_exact_copy(urls[i].url, strlen(urls[i].url));
    struct text class_path = {exact, strlen(urls[i].url)};
    struct text path;
    assert_true(manifest_next_path(&class_path, urls[i].jar, &arena, &path));
    if ((path.data == NULL) != (urls[i].path == NULL))
      fail_msg("%s", urls[i].url);
    if (path.data != NULL)
      assert_string_equal(path.data, urls[i].path);
    assert_false(manifest_next_path(&class_path, urls[i].jar, &arena, &path));
    test_free(exact);
  }
  arena_fini(&arena);
}

UNIT_TEST(test_several_urls)
{
  struct arena arena;
  struct text class_path = TEXT("  a.jar   b.jar ");
  struct text path;
  arena_init(&arena);
  assert_true(manifest_next_path(&class_path, "x.jar", &arena, &path));
  assert_text(path, "a.jar");
  assert_true(manifest_next_path(&class_path, "x.jar", &arena, &path));
  assert_text(path, "b.jar");
  assert_false(manifest_next_path(&class_path, "x.jar", &arena, &path));
  arena_fini(&arena);
}

UNIT_MAIN
