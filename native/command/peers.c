#include "command/peers.h"

#include "base/runtime_folder.h"
#include "command/language_value.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FILE_MAX = 64 * 1024 };

static struct running_peer *read_peer(struct arena *arena, struct text content)
{
  struct jp_json json;
  struct jp_json item;
  struct running_peer *peer = arena_calloc(arena, 1, sizeof *peer);
  if (peer == NULL ||
      jp_json_parse((struct jp_text){content.data, content.len}, 8, &json, NULL) != JP_JSONRPC_OK)
    return NULL;
  struct jp_json addresses = jp_json_member(json, "addresses");
  size_t count = 0;
  peer->name = value_read_text(arena, jp_json_member(json, "name"));
  peer->uuid = value_read_text(arena, jp_json_member(json, "uuid"));
  peer->addresses = arena_calloc(arena, jp_json_count(addresses) + 1, sizeof *peer->addresses);
  if (peer->addresses == NULL || !jp_json_integer(jp_json_member(json, "pid"), &peer->pid))
    return NULL;
  for (struct jp_json_cursor cursor = jp_json_enter(addresses); jp_json_next(&cursor, NULL, &item);)
    peer->addresses[count++] = value_read_text(arena, item).data;
  return peer;
}

/* NULL: no peer that runs has written the file. */
static struct running_peer *open_peer(struct arena *arena, const char *path)
{
  struct stat found;
  struct running_peer *peer = NULL;
  int file = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (file < 0)
    return NULL;
  if (fstat(file, &found) == 0 && S_ISREG(found.st_mode) && found.st_uid == geteuid() &&
      found.st_size <= FILE_MAX) {
    if (flock(file, LOCK_SH | LOCK_NB) == 0) {
      unlink(path); /* of a peer that was killed */
    } else {
      char *content = arena_alloc(arena, (size_t)found.st_size + 1);
      ssize_t length = content == NULL ? -1 : pread(file, content, (size_t)found.st_size, 0);
      peer = length < 0 ? NULL : read_peer(arena, (struct text){content, (size_t)length});
      if (peer != NULL)
        peer->since = found.st_mtime;
    }
  }
  close(file);
  return peer;
}

static void insert_peer(struct running_peer **first, struct running_peer *peer)
{
  struct running_peer **at = first;
  while (*at != NULL && (text_order((*at)->name, peer->name) < 0 ||
                         (text_equal((*at)->name, peer->name) && (*at)->pid < peer->pid)))
    at = &(*at)->next;
  peer->next = *at;
  *at = peer;
}

enum jp_status peers_list(struct arena *arena, struct running_peer **first, struct jp_error *error)
{
  char folder[PATH_MAX];
  char path[PATH_MAX + NAME_MAX + 2];
  *first = NULL;
  enum jp_status status = runtime_folder_make(folder, sizeof folder, error);
  if (status != JP_OK)
    return status;
  DIR *files = opendir(folder);
  if (files == NULL)
    return jp_fail(error, JP_IO, "cannot read %s: %m", folder);
  for (const struct dirent *entry; (entry = readdir(files)) != NULL;) {
    if (!text_ends_with(text_of(entry->d_name), TEXT(".json")))
      continue;
    text_format(path, sizeof path, "%s/%s", folder, entry->d_name);
    struct running_peer *peer = open_peer(arena, path);
    if (peer != NULL)
      insert_peer(first, peer);
  }
  closedir(files);
  return JP_OK;
}

/* ---- JVMs without a peer ---- */

/* The performance counters of HotSpot (jdk.internal.perf, version 2.0): a header, then entries, each with the places of its
 * name and its value. */
enum {
  PERF_MAGIC_SIZE = 4,
  PERF_FIRST_AT = 24,
  PERF_COUNT_AT = 28,
  PERF_HEADER_SIZE = 32,
  PERF_ENTRY_SIZE = 20
};

static size_t read_word(struct text bytes, size_t at)
{
  uint32_t word;
  if (at > bytes.len || bytes.len - at < sizeof word)
    return 0;
  memcpy(&word, bytes.data + at, sizeof word); /* written by a JVM of this machine */
  return word;
}

/* The text of a counter; data NULL: it has none. */
static struct text find_counter(struct text bytes, const char *name)
{
  static const unsigned char magic[PERF_MAGIC_SIZE] = {0xCA, 0xFE, 0xC0, 0xC0};
  if (bytes.len < PERF_HEADER_SIZE || memcmp(bytes.data, magic, sizeof magic) != 0)
    return TEXT_ABSENT;
  size_t at = read_word(bytes, PERF_FIRST_AT);
  for (size_t count = read_word(bytes, PERF_COUNT_AT); count > 0; count--) {
    const size_t length = read_word(bytes, at);
    if (length < PERF_ENTRY_SIZE || at > bytes.len || length > bytes.len - at)
      return TEXT_ABSENT;
    const struct text entry = text_slice(bytes, at, at + length);
    const size_t name_at = read_word(entry, 4);
    const size_t value_at = read_word(entry, 16);
    if (name_at < length && value_at < length &&
        strnlen(entry.data + name_at, length - name_at) == strlen(name) &&
        memcmp(entry.data + name_at, name, strlen(name)) == 0)
      return (struct text){entry.data + value_at, strnlen(entry.data + value_at, length - value_at)};
    at += length;
  }
  return TEXT_ABSENT;
}

/* The first word of the command: a class with its package, or the path of a jar, whose folders are left out. */
static struct text read_main_name(struct arena *arena, struct text bytes)
{
  struct text line = find_counter(bytes, "sun.rt.javaCommand");
  size_t length = 0;
  while (length < line.len && line.data[length] != ' ')
    length++;
  struct text word = length == 0 ? TEXT("java") : text_slice(line, 0, length);
  size_t slash = text_find_last(word, '/');
  return arena_text(arena, slash == SIZE_MAX ? word : text_slice(word, slash + 1, word.len));
}

static bool is_listed(const struct running_peer *peer, int64_t pid)
{
  while (peer != NULL && peer->pid != pid)
    peer = peer->next;
  return peer != NULL;
}

static bool add_jvm(struct arena *arena, struct running_peer **first, int folder, const char *name)
{
  char *end;
  struct stat found;
  const long pid = strtol(name, &end, 10);
  if (*end != '\0' || pid <= 0 || is_listed(*first, pid) || (kill((pid_t)pid, 0) != 0 && errno == ESRCH))
    return true;
  int file = openat(folder, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (file < 0)
    return true;
  struct running_peer *jvm = arena_calloc(arena, 1, sizeof *jvm);
  bool is_good = jvm != NULL;
  if (is_good && fstat(file, &found) == 0 && S_ISREG(found.st_mode) && found.st_uid == geteuid() &&
      found.st_size <= FILE_MAX) {
    char *content = arena_alloc(arena, (size_t)found.st_size + 1);
    ssize_t length = content == NULL ? -1 : pread(file, content, (size_t)found.st_size, 0);
    jvm->pid = pid;
    jvm->since = found.st_ctime;
    jvm->uuid = TEXT("");
    jvm->addresses = arena_calloc(arena, 1, sizeof *jvm->addresses);
    jvm->name = read_main_name(arena, (struct text){content, length < 0 ? 0 : (size_t)length});
    is_good = content != NULL && jvm->addresses != NULL && jvm->name.data != NULL;
    if (is_good)
      insert_peer(first, jvm);
  }
  close(file);
  return is_good;
}

bool peers_add_jvms(struct arena *arena, struct running_peer **first)
{
  DIR *folders = opendir("/tmp");
  bool is_good = true;
  for (const struct dirent *entry; is_good && folders != NULL && (entry = readdir(folders)) != NULL;) {
    struct stat found;
    if (!text_starts_with(text_of(entry->d_name), TEXT("hsperfdata_")) ||
        fstatat(dirfd(folders), entry->d_name, &found, AT_SYMLINK_NOFOLLOW) != 0 || found.st_uid != geteuid())
      continue;
    int folder = openat(dirfd(folders), entry->d_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    DIR *files = folder < 0 ? NULL : fdopendir(folder);
    for (const struct dirent *file; is_good && files != NULL && (file = readdir(files)) != NULL;)
      is_good = add_jvm(arena, first, folder, file->d_name);
    if (files != NULL)
      closedir(files);
  }
  if (folders != NULL)
    closedir(folders);
  return is_good;
}

const char *peers_choose_address(const struct running_peer *peer)
{
  static const char *const kinds[] = {"ws+unix:", "ws://", "http+unix:", "http://", "ipc://", "tcp://"};
  for (size_t kind = 0; kind < sizeof kinds / sizeof kinds[0]; kind++) {
    for (const char **address = peer->addresses; *address != NULL; address++) {
      if (text_starts_with(text_of(*address), text_of(kinds[kind])))
        return *address;
    }
  }
  return NULL;
}
