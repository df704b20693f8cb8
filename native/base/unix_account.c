#include "base/unix_account.h"

#include <errno.h>
#include <grp.h>
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool read_number(const char *text, uint32_t *id)
{
  enum { DIGITS_MAX = 10 };
  const size_t length = strlen(text);
  if (length == 0 || length > DIGITS_MAX || strspn(text, "0123456789") != length)
    return false;
  const unsigned long long number = strtoull(text, NULL, 10);
  *id = (uint32_t)number;
  return number < UINT32_MAX;
}

/* Returns an errno. 0 with *is_found false means that there is no such account. */
static int look_up(enum unix_account_kind kind, const char *name, char *memory, size_t size, uint32_t *id,
                   bool *is_found)
{
  struct passwd user;
  struct group group;
  struct passwd *found_user = NULL;
  struct group *found_group = NULL;
  const int reason = kind == UNIX_USER ? getpwnam_r(name, &user, memory, size, &found_user)
                                       : getgrnam_r(name, &group, memory, size, &found_group);
  *is_found = found_user != NULL || found_group != NULL;
  if (*is_found)
    *id = found_user != NULL ? found_user->pw_uid : found_group->gr_gid;
  return reason;
}

enum jp_status unix_account_find(enum unix_account_kind kind, const char *name, uint32_t *id,
                                 struct jp_error *error)
{
  enum { SIZE_FIRST = 4096, SIZE_MAX_TRIED = 1024 * 1024 }; /* a group's entry lists its members */
  if (read_number(name, id))
    return JP_OK;
  bool is_found = false;
  int reason = ERANGE;
  for (size_t size = SIZE_FIRST; reason == ERANGE && size <= SIZE_MAX_TRIED; size *= 2) {
    char *memory = malloc(size);
    if (memory == NULL)
      return jp_fail_memory(error, NULL);
    reason = look_up(kind, name, memory, size, id, &is_found);
    free(memory);
  }
  if (is_found)
    return JP_OK;
  if (reason == 0 || reason == ENOENT || reason == ESRCH)
    return jp_fail(error, JP_NOT_FOUND, "this machine has no such %s", kind == UNIX_USER ? "user" : "group");
  return jp_fail(error, JP_IO, "the look-up fails: %s", strerror(reason));
}

/* True if the process's user namespace does not map all ids. A kernel without user namespaces does not have
 * the file `map` (user_namespaces(7)). */
static bool lacks_ids(const char *map)
{
  unsigned long long count;
  unsigned long long total = 0;
  FILE *file = fopen(map, "re");
  if (file == NULL)
    return false;
  while (fscanf(file, "%*u %*u %llu", &count) == 1)
    total += count;
  fclose(file);
  return total < UINT_MAX;
}

bool unix_account_is_shared(enum unix_account_kind kind, uint32_t id)
{
  enum { UNKNOWN_ID = 65534 }; /* /proc/sys/kernel/overflowuid */
  return id == UNKNOWN_ID && lacks_ids(kind == UNIX_USER ? "/proc/self/uid_map" : "/proc/self/gid_map");
}
