/* The current policy, and the thread that loads it again when its file changes. */
#include "policy/policy_source.h"

#include "base/clock.h"
#include "base/log.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

enum { REST_MS = 100, EVENTS_BYTES = 4096 };

struct policy_source {
  struct policy_config config;
  pthread_mutex_t swap_lock;
  pthread_mutex_t reload_lock; /* orders reloads, so that the file that was read last wins */
  _Atomic(struct policy *) current;
};

enum jp_status policy_source_create(const struct policy_config *config, struct policy_source **source,
                                    struct jp_error *error)
{
  *source = NULL;
  struct policy_source *made = calloc(1, sizeof *made);
  if (made == NULL)
    return jp_fail_memory(error, NULL);
  struct policy *policy;
  enum jp_status status = policy_create(config, &policy, error);
  if (status != JP_OK) {
    free(made);
    return status;
  }
  made->config = *config;
  pthread_mutex_init(&made->swap_lock, NULL);
  pthread_mutex_init(&made->reload_lock, NULL);
  atomic_init(&made->current, policy);
  *source = made;
  return JP_OK;
}

void policy_source_destroy(struct policy_source *source)
{
  if (source == NULL)
    return;
  policy_destroy(atomic_load(&source->current));
  pthread_mutex_destroy(&source->swap_lock);
  pthread_mutex_destroy(&source->reload_lock);
  free(source);
}

struct policy *policy_source_take(struct policy_source *source)
{
  /* The last holder must not destroy the policy between the load and the retain. */
  pthread_mutex_lock(&source->swap_lock);
  struct policy *policy = policy_retain(atomic_load_explicit(&source->current, memory_order_relaxed));
  pthread_mutex_unlock(&source->swap_lock);
  return policy;
}

bool policy_source_is_current(const struct policy_source *source, const struct policy *policy)
{
  return atomic_load_explicit(&source->current, memory_order_relaxed) == policy;
}

enum jp_status policy_source_reload(struct policy_source *source, struct jp_error *error)
{
  struct policy *policy;
  pthread_mutex_lock(&source->reload_lock);
  enum jp_status status = policy_create(&source->config, &policy, error);
  if (status == JP_OK) {
    pthread_mutex_lock(&source->swap_lock);
    struct policy *old = atomic_exchange(&source->current, policy);
    pthread_mutex_unlock(&source->swap_lock);
    policy_destroy(old);
  }
  pthread_mutex_unlock(&source->reload_lock);
  return status;
}

/* ---- the watch ---- */

/* Identifies one state of the file. */
struct stamp {
  bool exists;
  bool is_stream; /* a pipe or the like, which can be read only once and may block */
  dev_t device;
  ino_t inode;
  off_t size;
  struct timespec modified;
  struct timespec changed;
};

struct policy_watch {
  struct policy_source *source;
  int64_t interval_ms;
  int wake;   /* eventfd, written when reload_asked or stop_asked is set */
  int notify; /* inotify; -1: the file is only polled */
  atomic_bool reload_asked;
  atomic_bool stop_asked;
  pthread_t thread;

  /* used only by the thread */
  struct stamp loaded; /* of the last load, even if it failed */
  /* of a change that is loaded after a time without further changes; otherwise as `loaded` */
  struct stamp seen;
  int64_t seen_ms;
};

static struct stamp read_stamp(const struct policy_watch *watch)
{
  struct stat facts;
  if (stat(watch->source->config.file, &facts) != 0)
    return (struct stamp){.exists = false};
  return (struct stamp){.exists = true,
                        .is_stream = !S_ISREG(facts.st_mode),
                        .device = facts.st_dev,
                        .inode = facts.st_ino,
                        .size = facts.st_size,
                        .modified = facts.st_mtim,
                        .changed = facts.st_ctim};
}

static bool is_same_time(struct timespec a, struct timespec b)
{
  return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

static bool is_same_stamp(const struct stamp *a, const struct stamp *b)
{
  if (!a->exists || !b->exists)
    return a->exists == b->exists;
  return a->device == b->device && a->inode == b->inode && a->size == b->size &&
         is_same_time(a->modified, b->modified) && is_same_time(a->changed, b->changed);
}

/* ---- loading ---- */

/* now: the stamp from before the file is read, so that a change during the reading is detected later. */
static void load_again(struct policy_watch *watch, struct stamp now)
{
  struct jp_error error = {0};
  watch->loaded = now;
  watch->seen = now;
  if (now.is_stream) {
    log_error("Failed to reload RPC policy: %s: only a regular file can be read again",
              watch->source->config.file);
    return;
  }
  if (policy_source_reload(watch->source, &error) != JP_OK) {
    log_error("Failed to reload RPC policy: %s", error.text);
    return;
  }
  log_info("RPC policy reloaded: %s", watch->source->config.file);
  struct policy *policy = policy_source_take(watch->source);
  const char *notice = policy_notice(policy);
  if (notice != NULL)
    log_info("%s", notice);
  policy_destroy(policy);
}

static void check_file(struct policy_watch *watch)
{
  struct stamp now = read_stamp(watch);
  bool is_still_stream = now.is_stream && watch->loaded.is_stream;
  if (is_same_stamp(&now, &watch->loaded) || is_still_stream) {
    watch->seen = watch->loaded;
  } else if (!is_same_stamp(&now, &watch->seen)) {
    watch->seen = now;
    watch->seen_ms = clock_now_ms();
  } else if (clock_now_ms() - watch->seen_ms >= REST_MS) {
    load_again(watch, now);
  }
}

/* ---- the thread ---- */

static void wait_for_news(const struct policy_watch *watch)
{
  struct pollfd sources[] = {{.fd = watch->wake, .events = POLLIN}, {.fd = watch->notify, .events = POLLIN}};
  int wait_ms = watch->interval_ms < INT_MAX ? (int)watch->interval_ms : INT_MAX;
  if (watch->interval_ms == 0)
    wait_ms = -1;
  else if (!is_same_stamp(&watch->seen, &watch->loaded))
    wait_ms = REST_MS;
  if (poll(sources, 2, wait_ms) <= 0)
    return;
  char bytes[EVENTS_BYTES];
  for (size_t i = 0; i < 2; i++) {
    /* The bytes do not matter, because the thread always checks the file and its flags. */
    while ((sources[i].revents & POLLIN) != 0 && read(sources[i].fd, bytes, sizeof bytes) > 0)
      continue;
  }
}

/* Watches the file that the path leads to now, following links. If another file replaces the file, the event
 * is the removal of the old file. If the file does not exist, the next poll finds a new file. A watch on the
 * folder would report both, but also every other change in the folder. */
static void follow_file(const struct policy_watch *watch)
{
  const uint32_t events = IN_CLOSE_WRITE | IN_ATTRIB | IN_DELETE_SELF | IN_MOVE_SELF;
  if (watch->notify >= 0)
    (void)inotify_add_watch(watch->notify, watch->source->config.file, events);
}

static void *watch_file(void *argument)
{
  struct policy_watch *watch = argument;
  pthread_setname_np(pthread_self(), "policy-watch");
  while (!atomic_load(&watch->stop_asked)) {
    follow_file(watch); /* added before the check, so that no change between the check and the wait is lost */
    if (atomic_exchange(&watch->reload_asked, false))
      load_again(watch, read_stamp(watch));
    else if (watch->interval_ms > 0)
      check_file(watch);
    wait_for_news(watch);
  }
  return NULL;
}

/* ---- start and end ---- */

static void free_watch(struct policy_watch *watch)
{
  if (watch->wake >= 0)
    close(watch->wake);
  if (watch->notify >= 0)
    close(watch->notify);
  free(watch);
}

enum jp_status policy_watch_start(struct policy_source *source, int64_t interval_ms,
                                  struct policy_watch **watch, struct jp_error *error)
{
  struct policy_watch *made = calloc(1, sizeof *made);
  if (made == NULL)
    return jp_fail_memory(error, NULL);
  made->source = source;
  made->interval_ms = interval_ms;
  made->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  made->notify = interval_ms > 0 ? inotify_init1(IN_CLOEXEC | IN_NONBLOCK) : -1;
  made->loaded = read_stamp(made);
  made->seen = made->loaded;
  if (made->wake < 0) {
    free_watch(made);
    return jp_fail(error, JP_IO, "eventfd: %s", strerror(errno));
  }
  int failed = pthread_create(&made->thread, NULL, watch_file, made);
  if (failed != 0) {
    free_watch(made);
    return jp_fail(error, JP_LIMIT, "the thread that watches the policy file: %s", strerror(failed));
  }
  *watch = made;
  return JP_OK;
}

static void wake_thread(const struct policy_watch *watch)
{
  uint64_t one = 1;
  /* The write fails only if the counter is full, and a full counter wakes the thread, too. */
  ssize_t wrote = write(watch->wake, &one, sizeof one);
  (void)wrote;
}

void policy_watch_reload(struct policy_watch *watch)
{
  atomic_store(&watch->reload_asked, true);
  wake_thread(watch);
}

void policy_watch_stop(struct policy_watch *watch)
{
  if (watch == NULL)
    return;
  atomic_store(&watch->stop_asked, true);
  wake_thread(watch);
  pthread_join(watch->thread, NULL);
  free_watch(watch);
}
