#include "principal/principal_token.h"

#include "base/base64.h"
#include "base/small_file.h"
#include "policy/tree.h"
#include "principal/principals.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/rand.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- making ---- */

enum jp_status principal_token_make(char token[PRINCIPAL_TOKEN_LENGTH + 1],
                                    char hash[PRINCIPAL_HASH_LENGTH + 1], struct jp_error *error)
{
  enum { RANDOM_BYTES = 32, MARK = 3 };
  uint8_t random[RANDOM_BYTES];
  uint8_t digest[PRINCIPAL_DIGEST];
  struct buffer encoded;
  if (RAND_bytes(random, sizeof random) != 1)
    return jp_fail(error, JP_INTERNAL, "OpenSSL has no randomness");
  buffer_init(&encoded);
  base64_encode(&encoded, random, sizeof random);
  explicit_bzero(random, sizeof random);
  bool is_good = !encoded.failed && encoded.len >= PRINCIPAL_TOKEN_LENGTH - MARK;
  if (is_good)
    snprintf(token, PRINCIPAL_TOKEN_LENGTH + 1, "jp_%.*s", PRINCIPAL_TOKEN_LENGTH - MARK, encoded.data);
  if (encoded.data != NULL)
    explicit_bzero(encoded.data, encoded.len);
  buffer_fini(&encoded);
  if (!is_good)
    return jp_fail_memory(error, NULL);
  for (char *at = token; *at != '\0'; at++) /* RFC 4648, 5: base64url, without padding */
    *at = *at == '+' ? '-' : *at == '/' ? '_' : *at;
  principal_hash_token(text_of(token), digest);
  int length = snprintf(hash, PRINCIPAL_HASH_LENGTH + 1, "sha256:");
  for (size_t i = 0; i < sizeof digest; i++)
    length += snprintf(hash + length, (size_t)(PRINCIPAL_HASH_LENGTH + 1 - length), "%02x", digest[i]);
  return JP_OK;
}

/* ---- adding to a text ---- */

static const struct policy_node *find_value(const struct policy_node *map, const char *key)
{
  const struct policy_item *item = map->kind == POLICY_MAP ? map->first : NULL;
  while (item != NULL && !text_equal(item->key, text_of(key)))
    item = item->next;
  return item == NULL ? NULL : item->value;
}

/* NULL: no entry has the name. */
static const struct policy_node *find_entry(const struct policy_node *root, const char *name)
{
  const struct policy_node *principals = find_value(root, "principals");
  const struct policy_item *item = principals == NULL ? NULL : principals->first;
  for (; item != NULL; item = item->next) {
    const struct policy_node *written = find_value(item->value, "name");
    if (written != NULL && text_equal(written->text, text_of(name)))
      return item->value;
  }
  return NULL;
}

static size_t find_line_start(struct text yaml, int line)
{
  size_t at = 0;
  for (int i = 1; i < line && at < yaml.len; at++)
    i += yaml.data[at] == '\n';
  return at;
}

static size_t find_line_end(struct text yaml, size_t at)
{
  const char *end = memchr(yaml.data + at, '\n', yaml.len - at);
  return end == NULL ? yaml.len : (size_t)(end + 1 - yaml.data);
}

/* Columns count characters. */
static size_t find_offset(struct text yaml, int line, int column)
{
  size_t at = find_line_start(yaml, line);
  for (int i = 1; i < column && at < yaml.len; i++) {
    at++;
    while (at < yaml.len && ((unsigned char)yaml.data[at] & 0xC0) == 0x80)
      at++;
  }
  return at;
}

static bool is_at(struct text yaml, size_t at, char c)
{
  return at < yaml.len && yaml.data[at] == c;
}

/* Where to insert, and what: text with the hash. */
struct insertion {
  size_t at;
  int indent; /* blanks before the text, which is a line of its own; -1: inside a line */
  const char *before;
  const char *after;
};

static void choose_insertion(struct text yaml, const struct policy_node *entry, struct insertion *insertion)
{
  const struct policy_node *tokens = find_value(entry, "tokens");
  const struct policy_node *name = find_value(entry, "name");
  size_t at;
  if (tokens != NULL && tokens->kind == POLICY_LIST &&
      is_at(yaml, at = find_offset(yaml, tokens->line, tokens->column), '[')) {
    *insertion = (struct insertion){at + 1, -1, "\"", tokens->count == 0 ? "\"" : "\", "};
  } else if (tokens != NULL) {
    *insertion = (struct insertion){find_line_start(yaml, tokens->line), tokens->column - 1, "- \"", "\""};
  } else if (is_at(yaml, at = find_offset(yaml, entry->line, entry->column), '{')) {
    *insertion = (struct insertion){at + 1, -1, "tokens: [\"", "\"], "};
  } else {
    at = find_line_end(yaml, find_offset(yaml, name->line, name->column));
    *insertion = (struct insertion){at, entry->column - 1, "tokens: [\"", "\"]"};
  }
}

/* Checks that the entry has the hash in the new text, and that nothing else has changed. count: of the evidence before. */
static enum jp_status check_added(struct text yaml, const char *file, const char *name, const char *hash,
                                  size_t count, struct jp_error *error)
{
  uint8_t digest[PRINCIPAL_DIGEST];
  struct arena arena;
  struct principal_document document;
  bool has_hash = false;
  if (!principal_read_digest(text_of(hash), digest))
    return jp_fail(error, JP_INVALID, "this is no hash of a token");
  arena_init(&arena);
  enum jp_status status = principal_file_parse_draft(yaml, file, &arena, &document, error);
  if (status != JP_OK)
    jp_error_prefix(error, "%s: the hash cannot be added to the entry %s by a program", file, name);
  for (size_t i = 0; status == JP_OK && i < document.listed_count; i++) {
    const struct principal_listed *listed = &document.listed[i];
    has_hash |= listed->kind == PRINCIPAL_BY_TOKEN && memcmp(listed->digest, digest, sizeof digest) == 0 &&
                strcmp(document.entries[listed->entry].name, name) == 0;
  }
  if (status == JP_OK && (!has_hash || document.listed_count != count + 1))
    status = jp_fail(error, JP_INVALID,
                     "%s: the entry %s has a form in which no place for the hash is found: add it by hand",
                     file, name);
  arena_fini(&arena);
  return status;
}

enum jp_status principal_token_insert(struct text yaml, const char *file, const char *name, const char *hash,
                                      struct buffer *out, struct jp_error *error)
{
  struct arena arena;
  struct principal_document document;
  const struct policy_node *root = NULL;
  struct insertion insertion;
  arena_init(&arena);
  enum jp_status status = principal_file_parse_draft(yaml, file, &arena, &document, error);
  if (status == JP_OK)
    status = policy_tree_parse(yaml, file, POLICY_LINES_AND_COLUMNS, &arena, &root, error);
  const struct policy_node *entry = status == JP_OK ? find_entry(root, name) : NULL;
  if (entry == NULL && status == JP_OK)
    status = jp_fail(error, JP_NOT_FOUND, "%s: no principal has the name %s", file, name);
  if (entry != NULL && status == JP_OK) {
    choose_insertion(yaml, entry, &insertion);
    buffer_append_text(out, text_slice(yaml, 0, insertion.at));
    if (insertion.indent >= 0 && insertion.at > 0 && yaml.data[insertion.at - 1] != '\n')
      buffer_append_char(out, '\n'); /* the last line of the file had no end */
    buffer_printf(out, "%*s%s%s%s%s", insertion.indent > 0 ? insertion.indent : 0, "", insertion.before, hash,
                  insertion.after, insertion.indent >= 0 ? "\n" : "");
    buffer_append_text(out, text_slice(yaml, insertion.at, yaml.len));
    status = out->failed ? jp_fail_memory(error, NULL)
                         : check_added(buffer_text(out), file, name, hash, document.listed_count, error);
  }
  arena_fini(&arena);
  return status;
}

/* ---- adding to a file ---- */

/* errno; 0: all was written. */
static int write_whole(int fd, struct text text)
{
  for (size_t at = 0; at < text.len;) {
    const ssize_t count = write(fd, text.data + at, text.len - at);
    if (count < 0 && errno != EINTR)
      return errno;
    at += count > 0 ? (size_t)count : 0;
  }
  return fsync(fd) == 0 ? 0 : errno;
}

/* Writes a file of its own beside the old one, with its mode and owner, and renames it. */
static enum jp_status replace_file(const char *file, struct text text, const struct stat *facts,
                                   struct jp_error *error)
{
  char *made = NULL;
  if (asprintf(&made, "%s.XXXXXX", file) < 0)
    return jp_fail_memory(error, NULL);
  const int fd = mkostemp(made, O_CLOEXEC);
  if (fd < 0) {
    const enum jp_status status =
        jp_fail(error, JP_IO, "%s cannot be made, which would replace %s: %s", made, file, strerror(errno));
    free(made);
    return status;
  }
  const char *step = "given the owner of";
  const bool is_own = facts->st_uid == geteuid() && facts->st_gid == getegid();
  int reason = is_own || fchown(fd, facts->st_uid, facts->st_gid) == 0 ? 0 : errno;
  if (reason == 0) {
    step = "given the mode of";
    reason = fchmod(fd, facts->st_mode & 07777) == 0 ? 0 : errno;
  }
  if (reason == 0) {
    step = "written, which would replace";
    reason = write_whole(fd, text);
  }
  if (close(fd) != 0 && reason == 0)
    reason = errno;
  if (reason == 0) {
    step = "renamed to";
    reason = rename(made, file) == 0 ? 0 : errno;
  }
  enum jp_status status = JP_OK;
  if (reason != 0) {
    status = jp_fail(error, JP_IO, "%s cannot be %s %s: %s", made, step, file, strerror(reason));
    unlink(made);
  }
  free(made);
  return status;
}

/* Two programs that add to one file would each keep only their own hash. The lock is on the file that has the name: another
 * holder may have replaced the file by then. *fd: closing it ends the lock. */
static enum jp_status lock_file(const char *file, int *fd, struct jp_error *error)
{
  for (;;) {
    struct stat locked;
    struct stat named;
    int taken;
    *fd = open(file, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (*fd < 0)
      return jp_fail(error, JP_IO, "%s: %s", file, strerror(errno));
    do
      taken = flock(*fd, LOCK_EX);
    while (taken != 0 && errno == EINTR);
    if (taken != 0 || fstat(*fd, &locked) != 0) {
      const int reason = errno;
      close(*fd);
      return jp_fail(error, JP_IO, "%s cannot be locked: %s", file, strerror(reason));
    }
    if (stat(file, &named) == 0 && named.st_dev == locked.st_dev && named.st_ino == locked.st_ino)
      return JP_OK;
    close(*fd);
  }
}

enum jp_status principal_token_add(const char *file, const char *name, const char *hash,
                                   struct jp_error *error)
{
  struct stat facts = {0};
  struct buffer bytes;
  struct buffer edited;
  int lock;
  char *target = realpath(file, NULL); /* a link stays one */
  if (target == NULL)
    return jp_fail(error, JP_IO, "%s: %s", file, strerror(errno));
  enum jp_status status = lock_file(target, &lock, error);
  if (status != JP_OK) {
    free(target);
    return status;
  }
  buffer_init(&bytes);
  buffer_init(&edited);
  status = small_file_read(target, SMALL_FILE_PLAIN, POLICY_TREE_BYTES, &bytes, &facts, error);
  if (status == JP_OK)
    status = principal_token_insert(buffer_text(&bytes), file, name, hash, &edited, error);
  if (status == JP_OK)
    status = replace_file(target, buffer_text(&edited), &facts, error);
  close(lock);
  buffer_fini(&bytes);
  buffer_fini(&edited);
  free(target);
  return status;
}
