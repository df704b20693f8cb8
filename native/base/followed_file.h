#ifndef JPEER_BASE_FOLLOWED_FILE_H
#define JPEER_BASE_FOLLOWED_FILE_H
/*
 * A file that is appended to for as long as the process lives, and that others may move or remove (a rotation): the log
 * and the audit. It is then opened anew by its path. One thread at a time uses it.
 */
#include "base/status.h"

#include <stdbool.h>
#include <sys/stat.h>

struct followed_file {
  const char *path; /* NULL: only the descriptor is known, and nothing is followed */
  int descriptor;
  mode_t mode;  /* of a file that is made */
  dev_t device; /* of the open file */
  ino_t inode;
};

/* Opens the file for appending, and makes it if it does not exist. Borrows the path. JP_IO. */
enum jp_status followed_file_open(struct followed_file *file, const char *path, mode_t mode,
                                  struct jp_error *error) JP_MUST_CHECK;
/* True if another file has the path, or none has. */
bool followed_file_has_moved(const struct followed_file *file);
/* Opens the path anew. JP_IO: the earlier file remains. */
enum jp_status followed_file_reopen(struct followed_file *file, struct jp_error *error) JP_MUST_CHECK;
/* Opens the path anew if another file has its name, or none has. True: the file is another one now. If it cannot be opened,
 * the earlier file remains. */
bool followed_file_follow(struct followed_file *file);

#endif
