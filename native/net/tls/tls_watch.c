#include "net/tls/tls_watch.h"

#include "base/clock.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

enum { REST_MS = 100, EVENTS_BYTES = 4096 };

/* Identifies one state of a file. All zero: there is no file. */
struct stamp {
  dev_t device;
  ino_t inode;
  off_t size;
  mode_t mode;
  struct timespec modified;
  struct timespec changed;
};

struct stamps {
  struct stamp of[TLS_WATCH_MAX];
};

struct tls_watch {
  struct tls_watch_config config;
  int wake;   /* eventfd, written when is_asked or is_stopped is set */
  int notify; /* inotify; -1: the files are only polled */
  atomic_bool is_asked;
  atomic_bool is_stopped;
  pthread_t thread;

  /* used only by the thread */
  struct stamps reported; /* as of the last call of `changed` */
  struct stamps seen; /* of a change that must stay unmodified before it is reported; else as `reported` */
  int64_t seen_ms;
};

static struct stamps read_stamps(const struct tls_watch *watch)
{
  struct stamps stamps = {0};
  for (size_t i = 0; i < watch->config.count; i++) {
    struct stat facts;
    if (stat(watch->config.paths[i], &facts) != 0)
      continue;
    stamps.of[i].device = facts.st_dev;
    stamps.of[i].inode = facts.st_ino;
    stamps.of[i].size = facts.st_size;
    stamps.of[i].mode = facts.st_mode;
    stamps.of[i].modified = facts.st_mtim;
    stamps.of[i].changed = facts.st_ctim;
  }
  return stamps;
}

static bool is_same_time(struct timespec a, struct timespec b)
{
  return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

static bool are_same(const struct stamps *one, const struct stamps *other)
{
  for (size_t i = 0; i < TLS_WATCH_MAX; i++) {
    const struct stamp *a = &one->of[i];
    const struct stamp *b = &other->of[i];
    if (a->device != b->device || a->inode != b->inode || a->size != b->size || a->mode != b->mode ||
        !is_same_time(a->modified, b->modified) || !is_same_time(a->changed, b->changed))
      return false;
  }
  return true;
}

/* now: the stamps from before the files are read, so that a change during the reading is detected later. */
static void report_change(struct tls_watch *watch, const struct stamps *now)
{
  watch->reported = watch->seen = *now;
  watch->config.changed(watch->config.context);
}

static void check_files(struct tls_watch *watch)
{
  const struct stamps now = read_stamps(watch);
  if (are_same(&now, &watch->reported)) {
    watch->seen = watch->reported;
  } else if (!are_same(&now, &watch->seen)) {
    watch->seen = now;
    watch->seen_ms = clock_now_ms();
  } else if (clock_now_ms() - watch->seen_ms >= REST_MS) {
    report_change(watch, &now);
  }
}

static void wait_for_news(const struct tls_watch *watch)
{
  struct pollfd sources[] = {{.fd = watch->wake, .events = POLLIN}, {.fd = watch->notify, .events = POLLIN}};
  const int64_t interval_ms = watch->config.interval_ms;
  int wait_ms = interval_ms < INT_MAX ? (int)interval_ms : INT_MAX;
  if (interval_ms == 0)
    wait_ms = -1;
  else if (!are_same(&watch->seen, &watch->reported))
    wait_ms = REST_MS;
  if (poll(sources, 2, wait_ms) <= 0)
    return;
  char bytes[EVENTS_BYTES];
  for (size_t i = 0; i < 2; i++) {
    /* The bytes do not matter, because the thread always checks the files and its flags. */
    while ((sources[i].revents & POLLIN) != 0 && read(sources[i].fd, bytes, sizeof bytes) > 0)
      continue;
  }
}

/* Watches the files that the paths lead to now, following links. When another file replaces one of them, the old file's
 * removal is the event; if there is no file, the next poll finds a new one. A watch on the folder would report both, but
 * also every other change in the folder. */
static void follow_files(const struct tls_watch *watch)
{
  const uint32_t events = IN_CLOSE_WRITE | IN_ATTRIB | IN_DELETE_SELF | IN_MOVE_SELF;
  for (size_t i = 0; watch->notify >= 0 && i < watch->config.count; i++)
    (void)inotify_add_watch(watch->notify, watch->config.paths[i], events);
}

static void *watch_files(void *argument)
{
  struct tls_watch *watch = argument;
  pthread_setname_np(pthread_self(), watch->config.thread_name);
  while (!atomic_load(&watch->is_stopped)) {
    follow_files(watch); /* before the check, so that no change between the check and the wait is lost */
    if (atomic_exchange(&watch->is_asked, false)) {
      const struct stamps now = read_stamps(watch);
      report_change(watch, &now);
    } else if (watch->config.interval_ms > 0) {
      check_files(watch);
    }
    wait_for_news(watch);
  }
  return NULL;
}

static void free_watch(struct tls_watch *watch)
{
  if (watch->wake >= 0)
    close(watch->wake);
  if (watch->notify >= 0)
    close(watch->notify);
  free(watch);
}

enum jp_status tls_watch_start(const struct tls_watch_config *config, struct tls_watch **watch,
                               struct jp_error *error)
{
  struct tls_watch *made = calloc(1, sizeof *made);
  if (made == NULL)
    return jp_fail_memory(error, NULL);
  assert(config->count <= TLS_WATCH_MAX);
  made->config = *config;
  made->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  made->notify = config->interval_ms > 0 ? inotify_init1(IN_CLOEXEC | IN_NONBLOCK) : -1;
  made->reported = made->seen = read_stamps(made);
  if (made->wake < 0) {
    free_watch(made);
    return jp_fail(error, JP_IO, "eventfd: %s", strerror(errno));
  }
  int failed = pthread_create(&made->thread, NULL, watch_files, made);
  if (failed != 0) {
    free_watch(made);
    return jp_fail(error, JP_LIMIT, "the thread %s: %s", config->thread_name, strerror(failed));
  }
  *watch = made;
  return JP_OK;
}

static void wake_thread(const struct tls_watch *watch)
{
  uint64_t one = 1;
  /* The write fails only if the counter is full, and a full counter wakes the thread, too. */
  ssize_t wrote = write(watch->wake, &one, sizeof one);
  (void)wrote;
}

void tls_watch_ask(struct tls_watch *watch)
{
  atomic_store(&watch->is_asked, true);
  wake_thread(watch);
}

void tls_watch_stop(struct tls_watch *watch)
{
  if (watch == NULL)
    return;
  atomic_store(&watch->is_stopped, true);
  wake_thread(watch);
  pthread_join(watch->thread, NULL);
  free_watch(watch);
}
