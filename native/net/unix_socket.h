#ifndef JPEER_NET_UNIX_SOCKET_H
#define JPEER_NET_UNIX_SOCKET_H
/*
 * Listening Unix sockets and their files. Who may use a connection is decided elsewhere (net/admission/admission.h).
 *
 * The file has mode 0600 (minus the umask) from its creation on, so other users can connect at no time, unless `access`
 * lets them: the file gets that mode and group before the socket listens. A stale socket file, on which no process listens any more, is replaced. A socket in use is not replaced, and neither is another kind
 * of file. PATH.lock is held during the check and the bind, so that, if two peers start at the same time, one
 * of them notices the other. The lock is removed afterwards.
 *
 * Any thread; a struct unix_socket has one owner.
 */
#include "base/status.h"

#include <sys/types.h>

/* Who can open the file. */
struct unix_socket_access {
  mode_t mode; /* 0600 at least */
  gid_t group; /* (gid_t)-1: the group of the process */
};

/* The process's own user only. */
#define UNIX_SOCKET_OWN_USER ((struct unix_socket_access){.mode = 0600, .group = (gid_t)-1})

struct unix_socket {
  int fd;     /* listens, and does not block; to be closed by its user */
  char *path; /* absolute, owned; NULL: there is no file */
  dev_t device;
  ino_t inode;
};

/* JP_INVALID, with a text that begins with "takes": the path is empty, longer than the address of a socket (107 bytes),
 * not UTF-8, has control characters, ends in a slash, or is an abstract name ("@x"). */
enum jp_status unix_socket_check_path(const char *path, struct jp_error *error) JP_MUST_CHECK;

/* Listens on path. JP_INVALID: as above; JP_IO: the error's text names the path and the reason. Nothing has to be
 * undone after an error. Logs a warning if `access` lets other users in, and a folder of the path does not. */
enum jp_status unix_socket_bind(const char *path, const struct unix_socket_access *access,
                                struct unix_socket *made, struct jp_error *error) JP_MUST_CHECK;

/* Removes the file, if it is still the file that was made, and frees the path. Does nothing if there is no file. To be
 * called before fd is closed: while the socket listens, no other peer replaces the file, and its inode is not
 * reused. */
void unix_socket_remove(struct unix_socket *made);

#endif
