#include "net/admission/admission.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

/* The number of SO_PEERGROUPS (Linux 4.13) on all architectures of OpenJDK, because older C libraries lack
 * the name. */
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

/* Returns the groups of the client's process, of which it can have 65,536. If the buffer is too small, the
 * system returns the size that it needs. */
gid_t *admission_read_groups(int fd, size_t *count)
{
  struct admission_client client;
  socklen_t size = 64 * sizeof(gid_t);
  *count = 0;
  if (!admission_identify(fd, &client))
    return NULL;
  for (int tries = 0; tries < 2; tries++) {
    gid_t *groups = malloc(size + sizeof *groups);
    if (groups == NULL)
      return NULL;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, groups, &size) == 0) {
      *count = size / sizeof *groups;
      groups[(*count)++] = client.group;
      return groups;
    }
    free(groups);
    if (errno != ERANGE)
      return NULL;
  }
  return NULL;
}

/* Groups that cannot be read admit nobody. */
static bool has_supplementary_group(const struct admission *admission, int fd)
{
  size_t count;
  gid_t *groups = admission_read_groups(fd, &count);
  bool is_member = groups != NULL && has_one_of(admission, groups, count);
  free(groups);
  return is_member;
}

bool admission_identify(int fd, struct admission_client *client)
{
  struct ucred found;
  socklen_t size = sizeof found;
  *client = (struct admission_client){(uid_t)-1, (gid_t)-1, 0};
  if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &found, &size) != 0)
    return false;
  *client = (struct admission_client){found.uid, found.gid, found.pid};
  return true;
}

bool admission_admits(const struct admission *admission, int fd, struct admission_client *client)
{
  if (!admission_identify(fd, client))
    return false;
  if (has_user(admission, client->user) || has_group(admission, client->group))
    return true;
  return admission->group_count > 0 && has_supplementary_group(admission, fd);
}
