#include "base/small_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static enum jp_status check_facts(const char *path, enum small_file_kind kind, size_t max,
                                  const struct stat *facts, struct jp_error *error)
{
  const mode_t of_others = facts->st_mode & (S_IRWXG | S_IRWXO);
  const bool is_read_by_group = facts->st_uid == 0 && (of_others & ~(mode_t)S_IRGRP) == 0;
  const unsigned mode = facts->st_mode & 07777;
  if (!S_ISREG(facts->st_mode))
    return jp_fail(error, JP_INVALID, "%s: no regular file", path);
  if (kind == SMALL_FILE_TRUSTED && (of_others & (S_IWGRP | S_IWOTH)) != 0)
    return jp_fail(error, JP_INVALID,
                   "%s: others than its owner may write it (mode %04o): whoever can write it can come in",
                   path, mode);
  if (kind == SMALL_FILE_SECRET && of_others != 0 && !is_read_by_group)
    return jp_fail(
        error, JP_INVALID,
        "%s has the mode %04o, so others could use the key: make it 0600, or 0640 with the owner root", path,
        mode);
  if ((uintmax_t)facts->st_size > max)
    return jp_fail(error, JP_INVALID, "%s: larger than %zu KiB", path, max / 1024);
  return JP_OK;
}

static enum jp_status read_bytes(int fd, const char *path, size_t size, struct buffer *content,
                                 struct jp_error *error)
{
  /* a caller may add a NUL without a copy of the content */
  if (buffer_reserve(content, size + 1) == NULL)
    return jp_fail_memory(error, NULL);
  while (content->len < size) {
    const ssize_t count = read(fd, content->data + content->len, size - content->len);
    if (count == 0)
      break; /* the file has become shorter */
    if (count < 0 && errno != EINTR)
      return jp_fail(error, JP_IO, "%s: %s", path, strerror(errno));
    content->len += count > 0 ? (size_t)count : 0;
  }
  return JP_OK;
}

enum jp_status small_file_read(const char *path, enum small_file_kind kind, size_t max,
                               struct buffer *content, struct stat *facts, struct jp_error *error)
{
  struct stat own;
  struct stat *found = facts == NULL ? &own : facts;
  const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (fd < 0 || fstat(fd, found) != 0) {
    const int reason = errno;
    if (fd >= 0)
      close(fd);
    return jp_fail(error, reason == ENOENT ? JP_NOT_FOUND : JP_IO, "%s: %s", path, strerror(reason));
  }
  enum jp_status status = check_facts(path, kind, max, found, error);
  if (status == JP_OK)
    status = read_bytes(fd, path, (size_t)found->st_size, content, error);
  close(fd);
  return status;
}
