#include "base/runtime_folder.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum jp_status runtime_folder_make(char *out, size_t size, struct jp_error *error)
{
  const char *folder = getenv("XDG_RUNTIME_DIR");
  struct stat found;
  int length;
  if (folder != NULL && *folder == '/')
    length = snprintf(out, size, "%s/jpeer", folder);
  else if (geteuid() == 0)
    length = snprintf(out, size, "/run/jpeer");
  else
    length = snprintf(out, size, "/tmp/jpeer-%ld", (long)geteuid());
  if (length < 0 || (size_t)length >= size)
    return jp_fail(error, JP_IO, "XDG_RUNTIME_DIR is too long");
  if (mkdir(out, 0700) != 0 && errno != EEXIST)
    return jp_fail(error, JP_IO, "cannot create %s: %m", out);
  if (lstat(out, &found) != 0)
    return jp_fail(error, JP_IO, "cannot read %s: %m", out);
  if (!S_ISDIR(found.st_mode) || found.st_uid != geteuid() || (found.st_mode & (S_IWGRP | S_IWOTH)) != 0)
    return jp_fail(error, JP_IO, "%s is not a folder that this user alone can write to", out);
  return JP_OK;
}
