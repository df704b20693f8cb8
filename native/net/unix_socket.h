#ifndef JPEER_NET_UNIX_SOCKET_H
#define JPEER_NET_UNIX_SOCKET_H
/*
 * Listening Unix sockets whose files only their user can open.
 *
 * A file gets mode 0600 (less what the umask takes) as it appears, so there is no moment in which others could
 * connect. A socket that nobody listens on any more is replaced; one that somebody listens on is not, and
 * neither is anything that is no socket. PATH.lock is held meanwhile, so that of two peers that start at once
 * one finds the other; it does not stay.
 *
 * Any thread; a struct unix_socket has one owner.
 */
#include "base/status.h"

#include <stdbool.h>
#include <sys/types.h>

struct unix_socket {
  int fd;     /* listens, without blocking; whoever takes it closes it */
  char *path; /* absolute, owned; NULL: there is no file */
  dev_t device;
  ino_t inode;
};

/* JP_INVALID, with a text that begins "takes": empty, longer than a socket's address holds (107 bytes), not
 * UTF-8, with control characters, a folder's, or an abstract name ("@x"). */
enum jp_status unix_socket_check_path(const char *path, struct jp_error *error) JP_MUST_CHECK;

/* Listens on path. JP_INVALID: as above; JP_IO: the text names the path and the reason. Nothing has to be
 * undone after an error. */
enum jp_status unix_socket_bind(const char *path, struct unix_socket *made,
                                struct jp_error *error) JP_MUST_CHECK;

/* Removes the file, if it is still the one that was made, and frees the path. Call it before fd is closed: as
 * long as somebody listens, no other peer puts its own file there, and the inode is not used again. Does
 * nothing if there is no file. */
void unix_socket_remove(struct unix_socket *made);

/* True if the process that connected has the effective user of this one. *user: who it was. */
bool unix_socket_is_same_user(int fd, uid_t *user);

#endif
