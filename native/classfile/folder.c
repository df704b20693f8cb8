#include "classfile/folder.h"

#include "base/process_limits.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { DEPTH_MAX = 64, FILES_MAX = 4 * 1024 * 1024 };

struct folder {
  struct builder *builder;
  folder_visitor *visit; /* not NULL: only the path of each class is wanted */
  void *context;
  const char *root;
  char path[4096];     /* of the current file or folder, below the root */
  struct buffer bytes; /* of the current file */
  unsigned files;
  unsigned depth;
  struct {
    dev_t device;
    ino_t inode;
  } above[DEPTH_MAX]; /* the parent folders of this folder: a symbolic link to one of them would be a cycle */
  struct jp_error *error;
};

static void warn_of_entry(struct folder *folder, const char *why)
{
  if (folder->builder == NULL)
    return;
  struct jp_error reason;
  (void)jp_fail(&reason, JP_INVALID, "%s", why);
  builder_warn(folder->builder, &(struct class_place){folder->root, folder->path}, &reason);
}

/* Leaves out a file that cannot be opened. If the process has no file descriptor left, the whole reading
 * fails and is tried again later. */
static enum jp_status fail_to_open(struct folder *folder)
{
  const char *why = strerror(errno);
  if (descriptors_are_used_up())
    return jp_fail(folder->error, JP_IO, "cannot read %s: " DESCRIPTORS_NONE_LEFT, folder->root);
  warn_of_entry(folder, why);
  return JP_OK;
}

/* Reads the whole file into *bytes. JP_NOT_FOUND: the file cannot be read. */
static enum jp_status read_whole(int fd, size_t size, struct buffer *bytes)
{
  buffer_clear(bytes);
  char *to = buffer_reserve(bytes, size);
  if (to == NULL)
    return JP_NO_MEMORY;
  while (bytes->len < size) {
    ssize_t got = read(fd, to + bytes->len, size - bytes->len);
    if (got < 0 && errno == EINTR)
      continue;
    if (got <= 0)
      return JP_NOT_FOUND;
    bytes->len += (size_t)got;
  }
  return JP_OK;
}

static enum jp_status add_class(struct folder *folder, int fd, size_t size)
{
  if (size > CLASS_BYTES_MAX) {
    warn_of_entry(folder, "it is larger than the limit");
    return JP_OK;
  }
  enum jp_status status = read_whole(fd, size, &folder->bytes);
  if (status == JP_NO_MEMORY)
    return jp_fail_memory(folder->error, folder->root);
  if (status != JP_OK) {
    warn_of_entry(folder, "it cannot be read");
    return JP_OK;
  }
  struct text path = {folder->path, strlen(folder->path) - (sizeof ".class" - 1)};
  return builder_add_class(folder->builder, (const uint8_t *)folder->bytes.data, size, path,
                           CATALOG_CLASS_PATH, &(struct class_place){folder->root, folder->path},
                           folder->error);
}

static enum jp_status read_folder(struct folder *folder, int fd);

static bool is_above(const struct folder *folder, const struct stat *facts)
{
  for (unsigned i = 0; i < folder->depth; i++) {
    if (folder->above[i].device == facts->st_dev && folder->above[i].inode == facts->st_ino)
      return true;
  }
  return false;
}

static enum jp_status enter_folder(struct folder *folder, int parent, const char *name)
{
  int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  struct stat facts;
  if (fd < 0 || fstat(fd, &facts) != 0) {
    enum jp_status status = fail_to_open(folder);
    if (fd >= 0)
      close(fd);
    return status;
  }
  if (folder->depth == DEPTH_MAX || is_above(folder, &facts)) {
    close(fd);
    return JP_OK;
  }
  folder->above[folder->depth].device = facts.st_dev;
  folder->above[folder->depth].inode = facts.st_ino;
  folder->depth++;
  enum jp_status status = read_folder(folder, fd);
  folder->depth--;
  return status;
}

static enum jp_status enter_file(struct folder *folder, int parent, const char *name)
{
  /* O_NONBLOCK: opening a named pipe must not wait for its other end. */
  int fd = openat(parent, name, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  struct stat facts;
  enum jp_status status = JP_OK;
  if (fd < 0 || fstat(fd, &facts) != 0)
    status = fail_to_open(folder);
  else if (S_ISREG(facts.st_mode))
    status = add_class(folder, fd, (size_t)facts.st_size);
  if (fd >= 0)
    close(fd);
  return status;
}

static bool is_folder(int parent, const struct dirent *entry)
{
  struct stat facts;
  if (entry->d_type != DT_UNKNOWN && entry->d_type != DT_LNK)
    return entry->d_type == DT_DIR;
  return fstatat(parent, entry->d_name, &facts, 0) == 0 && S_ISDIR(facts.st_mode);
}

static enum jp_status read_entry(struct folder *folder, int parent, const struct dirent *entry)
{
  struct text name = text_of(entry->d_name);
  bool is_class = text_ends_with(name, TEXT(".class"));
  /* The folder of a package has no dot in its name, so other folders (for example hidden folders) are
   * skipped. */
  if (!is_class && memchr(name.data, '.', name.len) != NULL)
    return JP_OK;
  size_t length = strlen(folder->path);
  int added = snprintf(folder->path + length, sizeof folder->path - length, "%s%s", length > 0 ? "/" : "",
                       entry->d_name);
  enum jp_status status = JP_OK;
  if (added < 0 || (size_t)added >= sizeof folder->path - length)
    warn_of_entry(folder, "its path is too long");
  else if (is_class && folder->visit != NULL)
    folder->visit(folder->context, (struct text){folder->path, strlen(folder->path) - (sizeof ".class" - 1)});
  else if (is_class)
    status = enter_file(folder, parent, entry->d_name);
  else if (is_folder(parent, entry))
    status = enter_folder(folder, parent, entry->d_name);
  folder->path[length] = '\0';
  return status;
}

/* Takes fd. */
static enum jp_status read_folder(struct folder *folder, int fd)
{
  DIR *stream = fdopendir(fd);
  if (stream == NULL) {
    close(fd);
    return jp_fail_memory(folder->error, folder->root);
  }
  enum jp_status status = JP_OK;
  for (struct dirent *entry; status == JP_OK && (entry = readdir(stream)) != NULL;) {
    if (++folder->files > FILES_MAX)
      status = jp_fail(folder->error, JP_LIMIT, "%s: more than %d files in a folder of the class path",
                       folder->root, FILES_MAX);
    else
      status = read_entry(folder, dirfd(stream), entry);
  }
  closedir(stream);
  return status;
}

enum jp_status folder_read(struct builder *builder, const char *path, struct jp_error *error)
{
  struct folder *folder = calloc(1, sizeof *folder);
  if (folder == NULL)
    return jp_fail_memory(error, path);
  folder->builder = builder;
  folder->root = path;
  folder->error = error;
  enum jp_status status = enter_folder(folder, AT_FDCWD, path);
  buffer_fini(&folder->bytes);
  free(folder);
  return status;
}

enum jp_status folder_list(const char *path, folder_visitor *visit, void *context, struct jp_error *error)
{
  struct folder *folder = calloc(1, sizeof *folder);
  if (folder == NULL)
    return jp_fail_memory(error, path);
  folder->visit = visit;
  folder->context = context;
  folder->root = path;
  folder->error = error;
  enum jp_status status = enter_folder(folder, AT_FDCWD, path);
  free(folder);
  return status;
}

enum jp_status folder_read_class(const char *path, const char *name, struct buffer *bytes,
                                 struct jp_error *error)
{
  int root = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  int fd = root < 0 ? -1 : openat(root, name, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  struct stat facts;
  enum jp_status status = JP_NOT_FOUND;
  if (fd < 0 && descriptors_are_used_up())
    status = jp_fail(error, JP_IO, "cannot read %s: " DESCRIPTORS_NONE_LEFT, path);
  if (fd >= 0 && fstat(fd, &facts) == 0 && S_ISREG(facts.st_mode) && facts.st_size > 0 &&
      facts.st_size <= CLASS_BYTES_MAX) {
    status = read_whole(fd, (size_t)facts.st_size, bytes);
    if (status == JP_NO_MEMORY)
      status = jp_fail_memory(error, path);
  }
  if (fd >= 0)
    close(fd);
  if (root >= 0)
    close(root);
  return status;
}
