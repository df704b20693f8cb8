#ifndef JPEER_CLASSFILE_JAR_DIRECTORY_H
#define JPEER_CLASSFILE_JAR_DIRECTORY_H
/*
 * The central directory of a plain jar (APPNOTE.TXT of PKWARE, 4.3), and its entries one at a time. It is
 * used in place of libzip, because libzip converts the time of each entry by mktime, and so needs three times
 * as long to list the classes of a class path. One owner.
 */
#include "base/buffer.h"
#include "base/status.h"
#include "base/text.h"

#include <stddef.h>
#include <stdint.h>

struct jar_directory;

struct jar_item {
  struct text name; /* not NUL-terminated; borrowed from the directory */
  uint32_t packed_size;
  uint32_t size;
  uint32_t crc;
  uint32_t offset; /* of the local header */
  bool is_deflated;
};

/* Caller closes with jar_directory_close. JP_INVALID: the file cannot be opened, is not a jar, or is a jar
 * that is not supported: encrypted, in more than one part, with 64-bit fields, with bytes before or after the
 * archive. JP_NO_MEMORY. */
enum jp_status jar_directory_open(const char *path, struct jar_directory **directory) JP_MUST_CHECK;
void jar_directory_close(struct jar_directory *directory); /* NULL is fine */

size_t jar_directory_count(const struct jar_directory *directory);
/* In the order of the directory. */
const struct jar_item *jar_directory_item(const struct jar_directory *directory, size_t index);
/* *bytes becomes the unpacked content. JP_INVALID: the content cannot be unpacked, or does not match the
 * directory. JP_NO_MEMORY. */
enum jp_status jar_directory_read(struct jar_directory *directory, const struct jar_item *item,
                                  struct buffer *bytes) JP_MUST_CHECK;

#endif
