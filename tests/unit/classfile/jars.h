#ifndef JPEER_TESTS_UNIT_CLASSFILE_JARS_H
#define JPEER_TESTS_UNIT_CLASSFILE_JARS_H
/* Makes jars for the tests, and the smallest class files there are. A failure ends the test. */
#include "base/buffer.h"
#include "tests/unit/classfile/files.h"

#include <zip.h>

/* A class file of this internal name ("p/A") and nothing else; major tells one version of it from another.
 * The caller ends the buffer with buffer_fini. */
static inline struct buffer jars_make_class(const char *name, unsigned char major)
{
  struct buffer out;
  size_t length = strlen(name);
  const char head[] = {(char)0xCA,  (char)0xFE, (char)0xBA, (char)0xBE, 0, 0,           0,
                       (char)major, 0,          3,          1,          0, (char)length};
  buffer_init(&out);
  buffer_append(&out, head, sizeof head);
  buffer_append(&out, name, length);
  buffer_append(&out, "\x07\0\1\0\x21\0\2\0\0\0\0\0\0\0\0\0\0", 17);
  return out;
}

static inline void jars_add(zip_t *jar, const char *path, const void *bytes, size_t size)
{
  void *copy = size == 0 ? NULL : malloc(size); /* libzip does not free an empty one */
  if (size > 0) {
    assert_non_null(copy);
    memcpy(copy, bytes, size);
  }
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
