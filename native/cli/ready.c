#include "cli/ready.h"

#include "base/buffer.h"
#include "json/writer.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static enum jp_status write_whole(int file, struct text content)
{
  while (content.len > 0) {
    ssize_t written = write(file, content.data, content.len);
    if (written < 0 && errno == EINTR)
      continue;
    if (written < 0)
      return JP_IO;
    content = text_slice(content, (size_t)written, content.len);
  }
  return JP_OK;
}

/* Locks the draft before the rename, so that the ready file is locked from the beginning. On a file system
 * without locks, the file counts as unlocked. */
static enum jp_status replace_file(const char *path, struct text content, int *file, struct jp_error *error)
{
  char draft[PATH_MAX];
  int length = snprintf(draft, sizeof draft, "%s.%ld", path, (long)getpid());
  if (length < 0 || (size_t)length >= sizeof draft)
    return jp_fail(error, JP_IO, "cannot write %.*s...: the path is too long",
                   TEXT_ARGS(text_cut(text_of(path), 200)));
  int made = open(draft, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0644);
  if (made < 0)
    return jp_fail(error, JP_IO, "cannot write %s: %m", path);
  (void)flock(made, LOCK_EX | LOCK_NB);
  if (write_whole(made, content) == JP_OK && rename(draft, path) == 0) {
    *file = made;
    return JP_OK;
  }
  enum jp_status status = jp_fail(error, JP_IO, "cannot write %s: %m", path);
  close(made);
  unlink(draft);
  return status;
}

static bool has_metrics(const struct ready_facts *facts)
{
  return facts->metrics != NULL && facts->metrics[0] != NULL;
}

static void write_list(const char *const *texts, struct buffer *out)
{
  buffer_append_char(out, '[');
  for (size_t i = 0; texts[i] != NULL; i++) {
    if (i > 0)
      buffer_append_char(out, ',');
    json_write_string(out, text_of(texts[i]));
  }
  buffer_append_char(out, ']');
}

static void write_json(const struct ready_facts *facts, struct buffer *out)
{
  char uuid[UUID_TEXT_LENGTH + 1];
  uuid_format(&facts->uuid, uuid);
  buffer_printf(out, "{\"uuid\":\"%s\",\"name\":", uuid);
  json_write_string(out, text_of(facts->name));
  buffer_printf(out, ",\"pid\":%ld,\"addresses\":", (long)getpid());
  write_list(facts->addresses, out);
  if (has_metrics(facts)) {
    BUFFER_LITERAL(out, ",\"metrics\":");
    write_list(facts->metrics, out);
  }
  BUFFER_LITERAL(out, "}\n");
}

/* True for a ready file, and for an empty file: the user may have made it for the peer with mktemp. */
static bool is_ready_file(int file)
{
  static const char begin[] = "{\"uuid\":\"";
  char found[sizeof begin - 1];
  ssize_t length = pread(file, found, sizeof found, 0);
  return length == 0 || (length == (ssize_t)sizeof found && memcmp(found, begin, sizeof found) == 0);
}

/* ---- */

enum jp_status ready_init(struct ready *ready, const char *path, struct jp_error *error)
{
  *ready = (struct ready){.path = path, .file = -1};
  pthread_mutex_init(&ready->lock, NULL);
  struct stat found;
  /* a path that cannot be written is reported by ready_announce */
  if (path == NULL || lstat(path, &found) != 0)
    return JP_OK;
  if (!S_ISREG(found.st_mode) && !S_ISLNK(found.st_mode))
    return jp_fail(error, JP_IO, "cannot write %s: it is no file", path);
  int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file >= 0 && !is_ready_file(file)) {
    close(file);
    return jp_fail(error, JP_IO, "cannot write %s: the file exists, and is not the ready file of a peer",
                   path);
  }
  bool is_held = file >= 0 && flock(file, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
  enum jp_status status = JP_OK;
  if (!is_held && unlink(path) != 0 && errno != ENOENT)
    status = jp_fail(error, JP_IO, "cannot remove the ready file %s of an earlier peer: %m", path);
  if (file >= 0)
    close(file);
  return status;
}

void ready_fini(struct ready *ready)
{
  if (ready->file >= 0)
    close(ready->file);
  ready->file = -1;
  pthread_mutex_destroy(&ready->lock);
}

enum jp_status ready_announce(struct ready *ready, const struct ready_facts *facts, struct jp_error *error)
{
  struct buffer out;
  buffer_init(&out);
  enum jp_status status = JP_OK;
  pthread_mutex_lock(&ready->lock);
  if (ready->is_withdrawn)
    goto out;
  if (ready->path != NULL) {
    write_json(facts, &out);
    status = out.failed ? jp_fail_memory(error, NULL)
                        : replace_file(ready->path, buffer_text(&out), &ready->file, error);
  }
  if (status == JP_OK && !ready->is_silent) {
    char uuid[UUID_TEXT_LENGTH + 1];
    uuid_format(&facts->uuid, uuid);
    buffer_clear(&out);
    buffer_printf(&out, "jpeer ready: uuid %s, name %s, pid %ld", uuid, facts->name, (long)getpid());
    for (size_t i = 0; facts->addresses[i] != NULL; i++)
      buffer_printf(&out, ", %s", facts->addresses[i]);
    for (size_t i = 0; has_metrics(facts) && facts->metrics[i] != NULL; i++)
      buffer_printf(&out, ", metrics %s/metrics", facts->metrics[i]);
    buffer_append_char(&out, '\n');
    /* this may fail: a user who has closed stderr does not want the line */
    (void)write_whole(STDERR_FILENO, buffer_text(&out));
  }
out:
  pthread_mutex_unlock(&ready->lock);
  buffer_fini(&out);
  return status;
}

/* The inode is not reused while the descriptor is open, so it identifies this peer's file. */
void ready_withdraw(struct ready *ready)
{
  struct stat own, found;
  pthread_mutex_lock(&ready->lock);
  ready->is_withdrawn = true;
  if (ready->file >= 0 && fstat(ready->file, &own) == 0 && lstat(ready->path, &found) == 0 &&
      own.st_dev == found.st_dev && own.st_ino == found.st_ino)
    unlink(ready->path);
  pthread_mutex_unlock(&ready->lock);
}
