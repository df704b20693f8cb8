#include "command/peers.h"

#include "base/runtime_folder.h"
#include "command/language_value.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
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
