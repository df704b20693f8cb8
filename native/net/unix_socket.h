#ifndef JPEER_NET_UNIX_SOCKET_H
#define JPEER_NET_UNIX_SOCKET_H
/*
 * Listening Unix sockets and their files. net/admission/admission.h decides who may use a connection.
 *
 * The file has mode 0600 (minus the umask) from its creation on, so no other user can connect at any time
 * unless `access` allows it. The file gets the mode and the group in `access` before the socket listens. A
 * stale socket file, on which no process listens any more, is replaced. A socket in use, or a file of another
 * kind, is not replaced. PATH.lock is held during the check and the bind, so that two peers which start at
 * the same time cannot both bind the path. The lock is removed afterwards.
 *
 * Any thread; a struct unix_socket has one owner.
 */
#include "base/status.h"

#include <stdbool.h>
#include <sys/types.h>

/* Who can open the file. */
struct unix_socket_access {
  mode_t mode; /* 0600 at least */
  gid_t group; /* (gid_t)-1: the group of the process */
};

/* The process's own user only. */
#define UNIX_SOCKET_OWN_USER ((struct unix_socket_access){.mode = 0600, .group = (gid_t)-1})

struct unix_socket {
  int fd;          /* listens, and does not block; the owner of the struct closes it */
  char *path;      /* absolute, owned; NULL: there is no file */
  bool is_adopted; /* another process has made the file, and keeps it */
  dev_t device;
  ino_t inode;
};

/* JP_INVALID, with a text that begins with "takes": the path is empty, longer than the address of a socket (107 bytes),
 * not UTF-8, has control characters, ends in a slash, or is an abstract name ("@x"). */
enum jp_status unix_socket_check_path(const char *path, struct jp_error *error) JP_MUST_CHECK;

/* Listens on path. JP_INVALID: as for unix_socket_check_path. JP_IO: the error's text names the path and the
 * reason. Nothing has to be undone after an error. Logs a warning if `access` lets other users connect, but a
 * folder of the path keeps them out. */
enum jp_status unix_socket_bind(const char *path, const struct unix_socket_access *access,
                                struct unix_socket *made, struct jp_error *error) JP_MUST_CHECK;

/* Takes fd, which listens on path already, because another process has passed it: its file, the file's mode and its group
 * are left alone. JP_IO: fd is closed. */
enum jp_status unix_socket_adopt(int fd, const char *path, struct unix_socket *made,
                                 struct jp_error *error) JP_MUST_CHECK;

/* Removes the file, if it is still the file that was made, and frees the path. Does nothing if there is no
 * file, and only frees the path of a socket that was adopted. Call it before fd is closed. While the socket listens, no other peer replaces the file, and the inode
 * is not reused. */
void unix_socket_remove(struct unix_socket *made);

#endif
