#include "cli/parent_watch.h"

#include "base/log.h"
#include "base/text.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The time from the end of the grace time to the next signal. During this time calls that have not ended are
 * refused, and the JVM ends. */
enum { LAST_MS = 1000 };
enum { LINE_MS = 500 /* the longest wait for the line in the log that says why */ };

struct watched {
  int descriptor;
  const char *folder;
  int64_t pause_ms;
};

enum jp_status parent_watch_read(const struct option *option, const char *text, void *value,
                                 struct jp_error *error)
{
  char *end;
  errno = 0;
  long number = strtol(text, &end, 10);
  int flags = -1;
  if (errno == 0 && end != text && *end == '\0' && number >= 0 && number <= option->max)
    flags = fcntl((int)number, F_GETFL);
  if (flags < 0 || (flags & O_ACCMODE) == O_WRONLY || (flags & O_PATH) != 0)
    return jp_fail(error, JP_INVALID, "takes the number of an open descriptor that can be read");
  *(int *)value = (int)number;
  return JP_OK;
}

/* False: no more bytes can arrive. *is_planned: the bytes so far end with PARENT_WATCH_STOP. */
static bool await_bytes(int descriptor, bool *is_planned)
{
  char bytes[256];
  struct pollfd poll_set = {.fd = descriptor, .events = POLLIN};
  ssize_t count = read(descriptor, bytes, sizeof bytes);
  if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
    return poll(&poll_set, 1, -1) >= 0 || errno == EINTR;
  if (count > 0)
    *is_planned = text_ends_with((struct text){bytes, (size_t)count}, TEXT(PARENT_WATCH_STOP));
  return count > 0 || (count < 0 && errno == EINTR);
}

/* ---- the folder ---- */

/* True for a socket, and for an empty file that is the lock of a socket (net/unix_socket.c). */
static bool is_socket_or_lock(int folder, const char *name)
{
  struct stat facts;
  return fstatat(folder, name, &facts, AT_SYMLINK_NOFOLLOW) == 0 &&
         (S_ISSOCK(facts.st_mode) ||
          (S_ISREG(facts.st_mode) && facts.st_size == 0 && text_ends_with(text_of(name), TEXT(".lock"))));
}

static void remove_folder(const char *path)
{
  DIR *folder = opendir(path);
  if (folder == NULL)
    return;
  for (const struct dirent *entry = readdir(folder); entry != NULL; entry = readdir(folder)) {
    if (is_socket_or_lock(dirfd(folder), entry->d_name))
      unlinkat(dirfd(folder), entry->d_name, 0);
  }
  closedir(folder);
  if (rmdir(path) != 0 && errno != ENOENT)
    log_debug("--remove-on-eof: %s: %s", path, strerror(errno));
}

/* ---- the watch ---- */

/* The first signal stops the peer. A later SIGTERM, after the grace time, ends a peer that does not stop. */
static void *watch_parent(void *argument)
{
  const struct watched *watched = argument;
  bool is_planned = false;
  while (await_bytes(watched->descriptor, &is_planned))
    continue;
  if (!is_planned) {
    log_info("the program that started this peer is gone: the peer stops");
    log_finish(LINE_MS); /* while the peer starts, SIGTERM ends it at once */
  }
  if (watched->folder != NULL)
    remove_folder(watched->folder);
  for (;;) {
    kill(getpid(), SIGTERM);
    poll(NULL, 0, (int)watched->pause_ms);
  }
  return NULL;
}

enum jp_status parent_watch_start(int descriptor, const char *folder, int64_t grace_ms,
                                  struct jp_error *error)
{
  static struct watched watched;
  pthread_t thread;
  watched.descriptor = descriptor;
  watched.folder = folder;
  watched.pause_ms = grace_ms + LAST_MS;
  if (fcntl(descriptor, F_SETFD, FD_CLOEXEC) != 0)
    return jp_fail(error, JP_IO, "--stop-on-eof: %s", strerror(errno));
  int fault = pthread_create(&thread, NULL, watch_parent, &watched);
  if (fault != 0)
    return jp_fail(error, JP_IO, "no thread for --stop-on-eof: %s", strerror(fault));
  pthread_detach(thread);
  return JP_OK;
}

void parent_watch_report(int descriptor, const char *why)
{
  struct stat facts;
  if (descriptor < 0 || fstat(descriptor, &facts) != 0 || !S_ISSOCK(facts.st_mode))
    return;
  signal(SIGPIPE, SIG_IGN); /* the process is about to end */
  if (write(descriptor, why, strlen(why)) < 0)
    log_debug("--stop-on-eof: %s", strerror(errno));
}
