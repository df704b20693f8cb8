#include "cli/ready.h"

#include "base/buffer.h"
#include "json/writer.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
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

static enum jp_status replace_file(const char *path, struct text content, struct jp_error *error)
{
  char draft[PATH_MAX];
  int length = snprintf(draft, sizeof draft, "%s.%ld", path, (long)getpid());
  if (length < 0 || (size_t)length >= sizeof draft)
    return jp_fail(error, JP_IO, "cannot write %.200s...: the path is too long", path);
  int file = open(draft, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0644);
  if (file < 0)
    return jp_fail(error, JP_IO, "cannot write %s: %m", path);
  enum jp_status status = write_whole(file, content);
  if (close(file) != 0)
    status = JP_IO;
  if (status == JP_OK && rename(draft, path) == 0)
    return JP_OK;
  status = jp_fail(error, JP_IO, "cannot write %s: %m", path);
  unlink(draft);
  return status;
}

static void write_json(const struct ready_facts *facts, struct buffer *out)
{
  char uuid[UUID_TEXT_LENGTH + 1];
  uuid_format(&facts->uuid, uuid);
  buffer_printf(out, "{\"uuid\":\"%s\",\"name\":", uuid);
  json_write_string(out, text_of(facts->name));
  buffer_printf(out, ",\"pid\":%ld,\"addresses\":[", (long)getpid());
  for (size_t i = 0; facts->addresses[i] != NULL; i++) {
    if (i > 0)
      buffer_append_char(out, ',');
    json_write_string(out, text_of(facts->addresses[i]));
  }
  BUFFER_LITERAL(out, "]}\n");
}

static void write_line(const struct ready_facts *facts, struct buffer *out)
{
  char uuid[UUID_TEXT_LENGTH + 1];
  uuid_format(&facts->uuid, uuid);
  buffer_printf(out, "jpeer ready: uuid %s, name %s, pid %ld", uuid, facts->name, (long)getpid());
  for (size_t i = 0; facts->addresses[i] != NULL; i++)
    buffer_printf(out, ", %s", facts->addresses[i]);
  buffer_append_char(out, '\n');
}

enum jp_status ready_announce(const struct ready_facts *facts, const char *path, struct jp_error *error)
{
  struct buffer out;
  buffer_init(&out);
  enum jp_status status = JP_OK;
  if (path != NULL) {
    write_json(facts, &out);
    status = out.failed ? jp_fail(error, JP_NO_MEMORY, "out of memory")
                        : replace_file(path, buffer_text(&out), error);
  }
  if (status == JP_OK) {
    buffer_clear(&out);
    write_line(facts, &out);
    (void)write_whole(STDERR_FILENO, buffer_text(&out)); /* whoever closed stderr does not want the line */
  }
  buffer_fini(&out);
  return status;
}
