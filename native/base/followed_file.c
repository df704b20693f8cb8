#include "base/followed_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

static int open_path(const struct followed_file *file)
{
  /* Without O_NONBLOCK the start would wait for the reader of a FIFO. */
  return open(file->path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, file->mode);
}

static void use_descriptor(struct followed_file *file, int descriptor)
{
  struct stat facts = {0};
  (void)fstat(descriptor, &facts);
  file->descriptor = descriptor;
  file->device = facts.st_dev;
  file->inode = facts.st_ino;
}

enum jp_status followed_file_open(struct followed_file *file, const char *path, mode_t mode,
                                  struct jp_error *error)
{
  *file = (struct followed_file){.path = path, .descriptor = -1, .mode = mode};
  int descriptor = open_path(file);
  if (descriptor < 0)
    return jp_fail(error, JP_IO, "%s: %s", path, strerror(errno));
  use_descriptor(file, descriptor);
  return JP_OK;
}

bool followed_file_has_moved(const struct followed_file *file)
{
  struct stat facts;
  return file->path != NULL &&
         (stat(file->path, &facts) != 0 || facts.st_dev != file->device || facts.st_ino != file->inode);
}

enum jp_status followed_file_reopen(struct followed_file *file, struct jp_error *error)
{
  int descriptor = open_path(file);
  if (descriptor < 0)
    return jp_fail(error, JP_IO, "%s: %s", file->path, strerror(errno));
  close(file->descriptor);
  use_descriptor(file, descriptor);
  return JP_OK;
}

bool followed_file_follow(struct followed_file *file)
{
  struct jp_error error;
  return followed_file_has_moved(file) && followed_file_reopen(file, &error) == JP_OK;
}
