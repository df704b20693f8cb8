#ifndef JPEER_NET_ADMISSION_ADMISSION_H
#define JPEER_NET_ADMISSION_ADMISSION_H
/*
 * Who may use the Unix sockets of the peer: its own user (the effective one), and the users and members of
 * groups that the command line admits. root is admitted only if it is one of these users. All admitted users
 * are the same principal, `owner`.
 *
 * For ZeroMQ the same rule is set as filters of libzmq (zeromq_listen_on). Constant data after the start; any
 * thread.
 */
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

enum { ADMISSION_MAX = 64 };

/* All zero: the peer's own user only. */
struct admission {
  size_t user_count;
  size_t group_count;
  uid_t users[ADMISSION_MAX];
  gid_t groups[ADMISSION_MAX];
};

/* The process at the other end of a Unix socket, with the effective user and group that it had when it
 * connected. */
struct admission_client {
  uid_t user; /* (uid_t)-1: unknown */
  gid_t group;
  pid_t process; /* 0: unknown */
};

static inline bool admission_has_others(const struct admission *admission)
{
  return admission->user_count > 0 || admission->group_count > 0;
}

/* True if the process at the other end of a connected Unix socket is admitted: by its user, its group or one of its
 * supplementary groups (SO_PEERCRED, SO_PEERGROUPS). Sets *client. */
bool admission_admits(const struct admission *admission, int fd, struct admission_client *client);

/* The same facts, of any process. False: they are not known. */
bool admission_identify(int fd, struct admission_client *client);
/* All groups of the process at the other end of a connected Unix socket; the caller frees them. NULL: they cannot be read. */
gid_t *admission_read_groups(int fd, size_t *count);

#endif
