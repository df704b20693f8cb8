#ifndef JPEER_TESTS_UNIT_CLASSFILE_JARS_H
#define JPEER_TESTS_UNIT_CLASSFILE_JARS_H
/* Makes jars for the tests, and the smallest class files there are. A failure ends the test. */
#include "base/buffer.h"
#include "tests/unit/classfile/files.h"

#include <zip.h>

static inline void jars_append_utf8(struct buffer *out, const char *text)
{
  size_t length = strlen(text);
  buffer_append(out, (const char[]){1, 0, (char)length}, 3);
  buffer_append(out, text, length);
}

/* A class file of this internal name ("p/A") and superclass (NULL: none) with one public field, x; major
 * distinguishes its versions. The caller ends the buffer with buffer_fini. */
static inline struct buffer jars_make_heir(const char *name, const char *superclass, unsigned char major)
{
  static const char utf8_i[] = {1, 0, 1, 'I', 1, 0, 1, 'x'};
  struct buffer out;
  buffer_init(&out);
  buffer_append(&out, "\xCA\xFE\xBA\xBE\0\0", 6);
  buffer_append(&out, (const char[]){0, (char)major, 0, 7}, 4);
  jars_append_utf8(&out, name);
  buffer_append(&out, "\x07\0\1", 3);
  jars_append_utf8(&out, superclass == NULL ? "-" : superclass);
  buffer_append(&out, "\x07\0\3", 3);
  buffer_append(&out, utf8_i, sizeof utf8_i);
  buffer_append(&out, "\0\x21\0\2", 4);
  buffer_append(&out, (const char[]){0, superclass == NULL ? 0 : 4, 0, 0}, 4);
  buffer_append(&out, "\0\1\0\1\0\6\0\5\0\0\0\0\0\0", 14); /* fields, methods, attributes */
  return out;
}

static inline struct buffer jars_make_class(const char *name, unsigned char major)
{
  return jars_make_heir(name, NULL, major);
}

static inline void jars_add(zip_t *jar, const char *path, const void *bytes, size_t size)
{
  void *copy = size == 0 ? NULL : malloc(size); /* libzip does not free an empty copy */
  if (size > 0) {
    assert_non_null(copy);
    memcpy(copy, bytes, size);
  }
  /* libzip frees the copy. NOLINTNEXTLINE(clang-analyzer-unix.Malloc) */
  zip_source_t *source = zip_source_buffer(jar, copy, size, 1);
  assert_non_null(source);
  assert_true(zip_file_add(jar, path, source, ZIP_FL_ENC_UTF_8) >= 0);
}

static inline void jars_add_text(zip_t *jar, const char *path, const char *text)
{
  jars_add(jar, path, text, strlen(text));
}

static inline void jars_add_class(zip_t *jar, const char *path, const char *name, unsigned char major)
{
  struct buffer class = jars_make_class(name, major);
  jars_add(jar, path, class.data, class.len);
  buffer_fini(&class);
}

static inline zip_t *jars_create(const char *path)
{
  int code;
  zip_t *jar = zip_open(path, ZIP_CREATE | ZIP_TRUNCATE, &code);
  assert_non_null(jar);
  return jar;
}

static inline void jars_close(zip_t *jar)
{
  assert_int_equal(zip_close(jar), 0);
}

#endif
