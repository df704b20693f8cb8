#ifndef JPEER_BASE_SMALL_FILE_H
#define JPEER_BASE_SMALL_FILE_H
/*
 * Reads a whole file that an option names: principals, certificates, keys. Any thread.
 *
 * Symbolic links are followed. What is checked is the file that is read, because both use one descriptor. A pipe or a
 * device is refused, and is not waited for.
 */
#include "base/buffer.h"
#include "base/status.h"

struct stat;

enum small_file_kind {
  SMALL_FILE_PLAIN,
  SMALL_FILE_TRUSTED, /* refused if others than its owner may write it */
  SMALL_FILE_SECRET   /* refused if others than its owner may use it; root may let a group read it (0640) */
};

/*
 * Appends the content to an empty buffer; of a file that grows during that time, the size that it had. A secret is nowhere
 * else in memory: the caller cleanses the buffer, after an error, too. facts: of the file that was read; NULL: not needed.
 *
 * JP_NOT_FOUND, JP_IO: the system's reason. JP_INVALID: it is no regular file, has more than max bytes, or its mode is
 * refused. JP_NO_MEMORY. The error's text begins with the path.
 */
enum jp_status small_file_read(const char *path, enum small_file_kind kind, size_t max,
                               struct buffer *content, struct stat *facts,
                               struct jp_error *error) JP_MUST_CHECK;

#endif
