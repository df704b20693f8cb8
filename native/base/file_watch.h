#ifndef JPEER_BASE_FILE_WATCH_H
#define JPEER_BASE_FILE_WATCH_H
/*
 * Has files of the configuration loaded again when one of them changes, on a thread of its own: those of a policy
 * (policy/policy_source.h), of the principals (principal/principals.h) or of TLS (net/tls/tls_credentials.h).
 *
 * inotify reports changes. A poll at each interval finds those that inotify misses: a file that is created again, and
 * file systems without inotify. The files are loaded once all of them are unmodified for a tenth of a second, so that
 * none is read half-written, and files that belong together are replaced before they are read. One that never rests
 * delays the others for a second at most. The files are compared with what they were before they were read (`stamps`).
 */
#include "base/status.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

struct file_watch;

/* Identifies one state of a file. All zero: there is none. */
struct file_stamp {
  bool exists;
  bool is_stream; /* a pipe or the like, which can be read only once and may block */
  dev_t device;
  ino_t inode;
  off_t size;
  struct timespec modified;
  struct timespec changed;
};

/* Take it before the file is read, so that a change while it is read is detected later. Any thread. */
struct file_stamp file_stamp_read(const char *path);

struct file_watch_config {
  int64_t interval_ms;     /* 0: only file_watch_reload loads the files again */
  const char *thread_name; /* at most 15 bytes */
  const char *what;        /* "RPC policy": in the line about a file that is no regular file any more */
  /* The files to watch: NULL-terminated, valid until the next `reload`. All three on the watch's thread, and `files` and
   * `stamps` also in file_watch_start. */
  const char *const *(*files)(void *context);
  /* In the order of `files`, what they were before they were read: of files that are new to the watch. NULL: as they are
   * when the watch first has them. */
  const struct file_stamp *(*stamps)(void *context);
  /* Loads all files and logs the result. */
  void (*reload)(void *context);
  void *context;
};

/* JP_NO_MEMORY, JP_IO, JP_LIMIT. */
enum jp_status file_watch_start(const struct file_watch_config *config, struct file_watch **watch,
                                struct jp_error *error) JP_MUST_CHECK;
/* Makes the thread load the files at once, changed or not. Any thread. */
void file_watch_reload(struct file_watch *watch);
/* Ends the thread and waits for it. NULL is fine. */
void file_watch_stop(struct file_watch *watch);

#endif
