#include "net/unix_socket.h"

#include "base/log.h"
#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum {
  PATH_BYTES_MAX = sizeof((struct sockaddr_un){0}.sun_path) - 1,
  OWN_USER_ONLY = 0600,
  ALL_MODE = 0777,
  OTHER_USERS = 0077,
  OTHERS_PASS = 0011, /* of a folder */
  LOCK_TRIES = 200,
  LOCK_TRY_US = 10000
};

/* ---- paths ---- */

enum jp_status unix_socket_check_path(const char *path, struct jp_error *error)
{
  struct text text = text_of(path);
  if (text.len == 0 || path[text.len - 1] == '/')
    return jp_fail(error, JP_INVALID, "takes the path of a file");
  if (path[0] == '@')
    return jp_fail(error, JP_INVALID,
                   "takes a path, because an abstract name has no mode that keeps other users out");
  if (text.len > PATH_BYTES_MAX)
    return jp_fail(error, JP_INVALID,
                   "takes a path of at most %d bytes, as Unix sockets do, and this has %zu", PATH_BYTES_MAX,
                   text.len);
  bool good = text_valid_utf8(text) == text.len;
  for (size_t i = 0; good && i < text.len; i++)
    good = (unsigned char)path[i] >= ' ' && path[i] != 0x7F;
  return good ? JP_OK : jp_fail(error, JP_INVALID, "takes a path of UTF-8 without control characters");
}

/* Caller frees. NULL: no memory, or the process has no current folder. */
static char *make_absolute(const char *path)
{
  char folder[PATH_MAX];
  char *made = NULL;
  if (path[0] == '/')
    return strdup(path);
  if (getcwd(folder, sizeof folder) == NULL || asprintf(&made, "%s/%s", folder, path) < 0)
    return NULL;
  return made;
}

static struct sockaddr_un address_of(const char *path)
{
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  memcpy(address.sun_path, path, strlen(path));
  return address;
}

static enum jp_status fail_to_listen(const char *path, int reason, struct jp_error *error)
{
  return jp_fail(error, JP_IO, "cannot listen on %s: %s", path, strerror(reason));
}

static enum jp_status check_folder(const char *path, struct jp_error *error)
{
  char folder[PATH_BYTES_MAX + 1];
  struct stat found;
  const char *slash = strrchr(path, '/');
  size_t length = slash == NULL ? 1 : slash == path ? 1 : (size_t)(slash - path);
  snprintf(folder, sizeof folder, "%.*s", (int)length, slash == NULL ? "." : path);
  if (stat(folder, &found) != 0)
    return jp_fail(error, JP_IO, "cannot listen on %s: its folder %s: %s", path, folder, strerror(errno));
  return S_ISDIR(found.st_mode) ? JP_OK : fail_to_listen(path, ENOTDIR, error);
}

/* ---- the lock, which is held while a path is checked and bound ---- */

struct path_lock {
  char path[PATH_BYTES_MAX + sizeof ".lock"];
  int fd;
};

/* True if fd is still the file at the path. False: the previous holder has removed the file. */
static bool is_in_place(const struct path_lock *lock)
{
  struct stat held;
  struct stat named;
  return fstat(lock->fd, &held) == 0 && lstat(lock->path, &named) == 0 && held.st_dev == named.st_dev &&
         held.st_ino == named.st_ino;
}

static enum jp_status acquire_lock(const char *path, struct path_lock *lock, struct jp_error *error)
{
  snprintf(lock->path, sizeof lock->path, "%s.lock", path);
  for (int i = 0; i < LOCK_TRIES; i++) {
    lock->fd = open(lock->path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, OWN_USER_ONLY);
    if (lock->fd < 0)
      return jp_fail(error, JP_IO, "cannot listen on %s: its lock %s: %s", path, lock->path, strerror(errno));
    bool is_held = flock(lock->fd, LOCK_EX | LOCK_NB) == 0;
    int reason = errno;
    if (is_held && is_in_place(lock))
      return JP_OK;
    close(lock->fd);
    if (!is_held && reason != EWOULDBLOCK)
      return jp_fail(error, JP_IO, "cannot listen on %s: its lock %s: %s", path, lock->path,
                     strerror(reason));
    usleep(LOCK_TRY_US);
  }
  return jp_fail(error, JP_IO, "cannot listen on %s: another process holds %s", path, lock->path);
}

/* Removes the file of the lock. A file with content belongs to another program that uses this name, and is
 * kept. */
static void release_lock(struct path_lock *lock)
{
  struct stat held;
  if (fstat(lock->fd, &held) == 0 && S_ISREG(held.st_mode) && held.st_size == 0)
    unlink(lock->path);
  close(lock->fd);
}

/* ---- binding ---- */

/* JP_OK: no process listens on the socket, so its file may be removed. */
static enum jp_status check_is_stale(const char *path, struct jp_error *error)
{
  const struct sockaddr_un address = address_of(path);
  int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0)
    return fail_to_listen(path, errno, error);
  bool is_live = connect(fd, (const struct sockaddr *)&address, sizeof address) == 0;
  int reason = errno;
  close(fd);
  /* A process also listens if connecting fails with EAGAIN (the backlog is full) or EPROTOTYPE (a socket of
   * another type). */
  if (is_live || reason == EAGAIN || reason == EPROTOTYPE)
    return jp_fail(error, JP_IO, "cannot listen on %s: it is in use, another process listens there", path);
  if (reason == ECONNREFUSED || reason == ENOENT)
    return JP_OK;
  return jp_fail(error, JP_IO, "cannot listen on %s: it may be in use: %s", path, strerror(reason));
}

static enum jp_status remove_stale(const char *path, struct jp_error *error)
{
  struct stat found;
  if (lstat(path, &found) != 0)
    return errno == ENOENT ? JP_OK : fail_to_listen(path, errno, error);
  if (!S_ISSOCK(found.st_mode))
    return jp_fail(error, JP_IO, "cannot listen on %s: it exists, and is not a socket", path);
  enum jp_status status = check_is_stale(path, error);
  if (status == JP_OK && unlink(path) != 0 && errno != ENOENT)
    return jp_fail(error, JP_IO, "cannot listen on %s: the stale socket cannot be removed: %s", path,
                   strerror(errno));
  return status;
}

static enum jp_status fail_to_give_group(const char *path, gid_t id, int reason, struct jp_error *error)
{
  const struct group *group = getgrgid(id);
  return jp_fail(error, JP_IO,
                 "cannot listen on %s: its group cannot be %s (%u), of which the peer's user has to be a "
                 "member unless it is root: %s",
                 path, group == NULL ? "the one" : group->gr_name, id, strerror(reason));
}

/* fd: the file, opened with O_PATH. */
static enum jp_status change_access(int fd, const char *path, const struct unix_socket_access *access,
                                    struct jp_error *error)
{
  char name[32];
  struct stat found;
  if (fstat(fd, &found) != 0 || !S_ISSOCK(found.st_mode) || found.st_uid != geteuid())
    return jp_fail(error, JP_IO, "cannot listen on %s: another program has replaced it", path);
  if (access->group != (gid_t)-1 && fchownat(fd, "", (uid_t)-1, access->group, AT_EMPTY_PATH) != 0)
    return fail_to_give_group(path, access->group, errno, error);
  snprintf(name, sizeof name, "/proc/self/fd/%d", fd); /* fchmod takes no descriptor of O_PATH */
  if (chmod(name, access->mode) != 0)
    return jp_fail(error, JP_IO, "cannot listen on %s: its mode cannot be %04o: %s", path, access->mode,
                   strerror(errno));
  return JP_OK;
}

/* Sets the mode and the group of the file. Nobody can connect before the socket listens, so the two steps
 * need not be one. The file is opened first, because anyone who may write in the folder could otherwise
 * replace the file between the steps. */
static enum jp_status set_access(const char *path, const struct unix_socket_access *access,
                                 struct jp_error *error)
{
  if (access->mode == OWN_USER_ONLY && access->group == (gid_t)-1)
    return JP_OK;
  int fd = open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0)
    return fail_to_listen(path, errno, error);
  enum jp_status status = change_access(fd, path, access, error);
  close(fd);
  return status;
}

/* Logs a warning if other users may not enter a folder of the path, because they then cannot connect. */
static void warn_of_closed_folder(const char *path)
{
  char folder[PATH_MAX];
  struct stat found;
  for (const char *slash = strchr(path + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
    snprintf(folder, sizeof folder, "%.*s", (int)(slash - path), path);
    if (stat(folder, &found) == 0 && (found.st_mode & OTHERS_PASS) == 0) {
      log_warn("other users cannot reach %s: the folder %s has the mode %04o", path, folder,
               found.st_mode & ALL_MODE);
      return;
    }
  }
}

/* Fills in the file's identity, and listens. */
static bool open_file(const char *path, const struct unix_socket_access *access, struct unix_socket *made)
{
  struct stat found;
  if (lstat(path, &found) != 0)
    return false;
  made->device = found.st_dev;
  made->inode = found.st_ino;
  if ((found.st_mode & OTHER_USERS & ~access->mode) != 0) { /* the file system has not stored the mode */
    errno = EPERM;
    return false;
  }
  return listen(made->fd, SOMAXCONN) == 0;
}

/* Linux gives the file the mode of the socket (unix_bind() in net/unix/af_unix.c), so fchmod comes before bind. */
static enum jp_status bind_file(const char *path, const struct unix_socket_access *access,
                                struct unix_socket *made, struct jp_error *error)
{
  const struct sockaddr_un address = address_of(path);
  made->path = make_absolute(path);
  if (made->path == NULL)
    return fail_to_listen(path, errno, error);
  made->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  bool is_bound = made->fd >= 0 && fchmod(made->fd, OWN_USER_ONLY) == 0 &&
                  bind(made->fd, (const struct sockaddr *)&address, sizeof address) == 0;
  enum jp_status status = is_bound ? set_access(path, access, error) : JP_OK;
  if (is_bound && status == JP_OK && open_file(path, access, made))
    return JP_OK;
  int reason = errno;
  if (is_bound)
    unlink(path);
  if (made->fd >= 0)
    close(made->fd);
  free(made->path);
  *made = (struct unix_socket){.fd = -1};
  return status != JP_OK ? status : fail_to_listen(path, reason, error);
}

enum jp_status unix_socket_bind(const char *path, const struct unix_socket_access *access,
                                struct unix_socket *made, struct jp_error *error)
{
  struct path_lock lock;
  *made = (struct unix_socket){.fd = -1};
  enum jp_status status = unix_socket_check_path(path, error);
  if (status == JP_OK)
    status = check_folder(path, error);
  if (status == JP_OK)
    status = acquire_lock(path, &lock, error);
  if (status != JP_OK)
    return status;
  status = remove_stale(path, error);
  if (status == JP_OK)
    status = bind_file(path, access, made, error);
  release_lock(&lock);
  if (status == JP_OK && (access->mode & OTHER_USERS) != 0)
    warn_of_closed_folder(made->path);
  return status;
}

/* Listening again lets clients see this process's user, and not that of the process which has made the socket
 * (unix_listen() in net/unix/af_unix.c). */
enum jp_status unix_socket_adopt(int fd, const char *path, struct unix_socket *made, struct jp_error *error)
{
  *made = (struct unix_socket){.fd = fd, .path = make_absolute(path), .is_adopted = true};
  if (made->path != NULL && fcntl(fd, F_SETFL, O_NONBLOCK) == 0 && listen(fd, SOMAXCONN) == 0)
    return JP_OK;
  enum jp_status status = fail_to_listen(path, errno, error);
  close(fd);
  free(made->path);
  *made = (struct unix_socket){.fd = -1};
  return status;
}

void unix_socket_remove(struct unix_socket *made)
{
  struct stat found;
  if (made->path == NULL)
    return;
  if (!made->is_adopted && lstat(made->path, &found) == 0 && found.st_dev == made->device &&
      found.st_ino == made->inode)
    unlink(made->path);
  free(made->path);
  made->path = NULL;
}
