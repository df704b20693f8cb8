#ifndef JPEER_BASE_FILE_WATCH_H
#define JPEER_BASE_FILE_WATCH_H
/*
 * A thread that loads files of the configuration again when one of them changes. There is one thread for the
 * files of a policy (policy/policy_source.h), one for those of the principals (principal/principals.h) and
 * one for those of TLS (net/tls/tls_credentials.h).
 *
 * inotify reports changes. A poll at each interval finds the changes that inotify misses: a file that is
 * created again, or a file system without inotify. The files are loaded when none of them has changed for a
 * tenth of a second. As a result no file is read half-written, and files that belong together are all
 * replaced before they are read. A file that changes all the time delays the load for a second at most. The
 * first check compares the files with their state before they were read (`stamps`).
 */
#include "base/status.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

struct file_watch;

/* Identifies one state of a file. All zero: the file does not exist. */
struct file_stamp {
  bool exists;
  bool is_stream; /* a pipe or the like, which can be read only once and may block */
  dev_t device;
  ino_t inode;
  off_t size;
  struct timespec modified;
  struct timespec changed;
};

/* Returns the present state of the file. Call it before the file is read, so that a change during the reading is
 * detected later. Any thread. */
struct file_stamp file_stamp_read(const char *path);

struct file_watch_config {
  int64_t interval_ms;     /* 0: only file_watch_reload loads the files again */
  const char *thread_name; /* at most 15 bytes */
  const char *what;        /* such as "RPC policy", for the log's line about a file that is no longer a
                            * regular file */
  /* Returns the paths of the files to watch: NULL-terminated, valid until the next `reload`. All three
   * functions are called on the watch's thread, and `files` and `stamps` also in file_watch_start. */
  const char *const *(*files)(void *context);
  /* Returns, in the order of `files`, the state of each file before it was read; used for files that are new to
   * the watch. stamps NULL: a new file is compared with its state when the watch first sees it. */
  const struct file_stamp *(*stamps)(void *context);
  /* Loads all files and logs the result. */
  void (*reload)(void *context);
  void *context;
};

/* JP_NO_MEMORY, JP_IO, JP_LIMIT. */
enum jp_status file_watch_start(const struct file_watch_config *config, struct file_watch **watch,
                                struct jp_error *error) JP_MUST_CHECK;
/* Makes the thread load the files at once, changed or not, and then call done, once for each call of this function. done is
 * the same function in all calls, or NULL. Any thread. */
void file_watch_reload(struct file_watch *watch, void (*done)(void));
/* Ends the thread and waits for it. NULL is fine. */
void file_watch_stop(struct file_watch *watch);

#endif
