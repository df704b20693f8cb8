#ifndef JPEER_POLICY_FILE_WATCH_H
#define JPEER_POLICY_FILE_WATCH_H
/*
 * Has files of the configuration loaded again when one of them changes, on a thread of its own: those of a policy
 * (policy/policy_source.h) or of the principals (principal/principals.h).
 *
 * inotify reports changes. A poll at each interval finds those that inotify misses: a file that is created again, and
 * file systems without inotify. A changed file is loaded once it is unmodified for a tenth of a second, so that it is
 * not read half-written.
 */
#include "base/status.h"

#include <stdint.h>

struct file_watch;

struct file_watch_config {
  int64_t interval_ms;     /* 0: only file_watch_reload loads the files again */
  const char *thread_name; /* at most 15 bytes */
  const char *what;        /* "RPC policy": in the line about a file that can be read only once */
  /* The files to watch: NULL-terminated, valid until the next `reload`. Both on the watch's thread, and `files` also in
   * file_watch_start. */
  const char *const *(*files)(void *context);
  /* Loads all files and logs the result. file: that has changed; NULL: file_watch_reload was called. */
  void (*reload)(void *context, const char *file);
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
