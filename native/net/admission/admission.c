#include "net/admission/admission.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

/* Since Linux 4.13, on all architectures of OpenJDK; older C libraries lack the name. */
#ifndef SO_PEERGROUPS
#define SO_PEERGROUPS 59
#endif

static bool has_user(const struct admission *admission, uid_t user)
{
  if (user == geteuid())
    return true;
  for (size_t i = 0; i < admission->user_count; i++) {
    if (admission->users[i] == user)
      return true;
  }
  return false;
}

static bool has_group(const struct admission *admission, gid_t group)
{
  for (size_t i = 0; i < admission->group_count; i++) {
    if (admission->groups[i] == group)
      return true;
  }
  return false;
}

static bool has_one_of(const struct admission *admission, const gid_t *groups, size_t count)
{
  for (size_t i = 0; i < count; i++) {
    if (has_group(admission, groups[i]))
      return true;
  }
  return false;
}

/* True if one of the process's supplementary groups is admitted; false if the groups cannot be read. A
 * process can have 65,536 groups. */
static bool has_supplementary_group(const struct admission *admission, int fd)
{
  gid_t usual[64];
  socklen_t size = sizeof usual;
  if (getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, usual, &size) == 0)
    return has_one_of(admission, usual, size / sizeof usual[0]);
  if (errno != ERANGE) /* with ERANGE size is now the size that the groups need */
    return false;
  gid_t *all = malloc(size);
  bool is_read = all != NULL && getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, all, &size) == 0;
  bool is_member = is_read && has_one_of(admission, all, size / sizeof all[0]);
  free(all);
  return is_member;
}

bool admission_admits(const struct admission *admission, int fd, struct admission_client *client)
{
  struct ucred found;
  socklen_t size = sizeof found;
  *client = (struct admission_client){(uid_t)-1, (gid_t)-1};
  if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &found, &size) != 0)
    return false;
  *client = (struct admission_client){found.uid, found.gid};
  if (has_user(admission, found.uid) || has_group(admission, found.gid))
    return true;
  return admission->group_count > 0 && has_supplementary_group(admission, fd);
}
