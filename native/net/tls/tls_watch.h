#ifndef JPEER_NET_TLS_TLS_WATCH_H
#define JPEER_NET_TLS_TLS_WATCH_H
/*
 * Watches files, on a thread of its own, and calls a function when one of them has changed.
 *
 * inotify reports changes. A poll at each interval finds those that inotify misses: a file that is created again, and
 * file systems without inotify. The function is called once all files are unmodified for a tenth of a second, so that
 * files that are replaced one after the other, or written in parts, are read when they are complete. A file that
 * disappears, or that is no regular file, is a change, too. The files are compared with what they were when the watch
 * started.
 */
#include "base/status.h"

#include <stddef.h>
#include <stdint.h>

enum { TLS_WATCH_MAX = 8 };

struct tls_watch;

struct tls_watch_config {
  const char *paths[TLS_WATCH_MAX]; /* borrowed as long as the watch */
  size_t count;
  int64_t interval_ms;            /* 0: only tls_watch_ask calls `changed` */
  const char *thread_name;        /* of 15 bytes at most */
  void (*changed)(void *context); /* on the thread of the watch */
  void *context;
};

/* JP_NO_MEMORY, JP_IO, JP_LIMIT. Caller ends it with tls_watch_stop. */
enum jp_status tls_watch_start(const struct tls_watch_config *config, struct tls_watch **watch,
                               struct jp_error *error) JP_MUST_CHECK;
/* Has `changed` called at once, whether or not a file has changed. Any thread. */
void tls_watch_ask(struct tls_watch *watch);
/* Ends the thread and waits for it. NULL is fine. */
void tls_watch_stop(struct tls_watch *watch);

#endif
