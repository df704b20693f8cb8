#include "base/curve_keys.h"

#include "base/small_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FILE_MAX = 4096 };

bool curve_key_is_valid(struct text key)
{
  static const char digits[] =
      "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#";
  enum { BASE = 85, GROUP = 5 };
  if (key.len != CURVE_KEY_LENGTH)
    return false;
  uint64_t word = 0;
  for (size_t i = 0; i < key.len; i++) {
    const char *digit = key.data[i] == '\0' ? NULL : strchr(digits, key.data[i]);
    if (digit == NULL)
      return false;
    word = (i % GROUP == 0 ? 0 : word * BASE) + (uint64_t)(digit - digits);
    if (word > UINT32_MAX)
      return false;
  }
  return true;
}

/* ---- reading ---- */

/* Reads NAME = "KEY", after blanks. False: the line does not have this name. The key ends at the closing
 * quote, because a quote is not a digit of Z85. */
static bool read_line(const char *line, const char *name, char key[CURVE_KEY_SIZE])
{
  const size_t length = strlen(name);
  line += strspn(line, " \t");
  if (strncmp(line, name, length) != 0)
    return false;
  line += length + strspn(line + length, " \t");
  if (*line != '=')
    return false;
  line++;
  line += strspn(line, " \t");
  const bool is_quoted = *line == '"';
  line += is_quoted;
  const struct text found = {line, strcspn(line, is_quoted ? "\"\r\n" : " \t\r\n")};
  if ((is_quoted && line[found.len] != '"') || !curve_key_is_valid(found))
    return false;
  memcpy(key, found.data, CURVE_KEY_LENGTH);
  key[CURVE_KEY_LENGTH] = '\0';
  return true;
}

enum jp_status curve_keys_read(const char *path, struct curve_keys *keys, struct jp_error *error)
{
  struct buffer content;
  bool has_public = false;
  bool has_secret = false;
  buffer_init(&content);
  enum jp_status status = small_file_read(path, SMALL_FILE_SECRET, FILE_MAX, &content, NULL, error);
  if (status == JP_OK && buffer_reserve(&content, 1) == NULL)
    status = jp_fail_memory(error, NULL);
  if (status == JP_OK)
    content.data[content.len] = '\0';
  for (const char *line = content.data; status == JP_OK && *line != '\0';) {
    has_public |= read_line(line, "public-key", keys->public_key);
    has_secret |= read_line(line, "secret-key", keys->secret_key);
    line += strcspn(line, "\n");
    line += *line == '\n';
  }
  if (content.data != NULL)
    explicit_bzero(content.data, content.len);
  buffer_fini(&content);
  if (status != JP_OK || (has_public && has_secret))
    return status;
  explicit_bzero(keys, sizeof *keys);
  return jp_fail(error, JP_INVALID,
                 "%s has no %s of 40 characters of Z85: `jpeer keygen FILE` makes such a file", path,
                 has_public ? "secret-key" : "public-key");
}

/* ---- writing ---- */

enum jp_status curve_keys_write(const char *path, const struct curve_keys *keys, struct jp_error *error)
{
  char content[FILE_MAX];
  const int length = snprintf(
      content, sizeof content,
      "# A CURVE key pair of jpeer keygen. Keep the file secret: clients and peers take it as it is,\n"
      "# and others get the public key alone.\n"
      "curve\n    public-key = \"%s\"\n    secret-key = \"%s\"\n",
      keys->public_key, keys->secret_key);
  const int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOCTTY, S_IRUSR | S_IWUSR);
  if (fd < 0) {
    explicit_bzero(content, sizeof content);
    return jp_fail(error, JP_IO, "%s: %s", path, strerror(errno));
  }
  ssize_t written = write(fd, content, (size_t)length);
  int reason = written < 0 ? errno : ENOSPC;
  bool is_whole = written == length && fchmod(fd, S_IRUSR | S_IWUSR) == 0 && fsync(fd) == 0;
  if (written == length)
    reason = errno;
  if (close(fd) != 0 && is_whole) {
    reason = errno;
    is_whole = false;
  }
  explicit_bzero(content, sizeof content);
  if (is_whole)
    return JP_OK;
  unlink(path);
  return jp_fail(error, JP_IO, "%s: %s", path, strerror(reason));
}
