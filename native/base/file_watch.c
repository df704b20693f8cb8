#include "base/file_watch.h"

#include "base/array.h"
#include "base/clock.h"
#include "base/log.h"

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

enum { REST_MS = 100, REST_MAX_MS = 1000, EVENTS_BYTES = 4096 };

struct watched_file {
  char *path;
  struct file_stamp loaded; /* of the last load, even if it failed */
  struct file_stamp
      seen; /* of a change that has to stay unmodified before it is loaded; otherwise as `loaded` */
};

struct file_watch {
  struct file_watch_config config;
  int wake;   /* eventfd, written when reloads_asked or stop_asked is set */
  int notify; /* inotify; -1: the files are only polled */
  atomic_uint reloads_asked;
  void (*_Atomic reload_done)(void); /* NULL: nobody waits for the end of a reload */
  atomic_bool stop_asked;
  pthread_t thread;

  /* used only by the thread */
  struct array files;       /* of struct watched_file */
  int64_t first_changed_ms; /* the first change since the last load */
  int64_t last_changed_ms;
};

struct file_stamp file_stamp_read(const char *path)
{
  struct stat facts;
  if (stat(path, &facts) != 0)
    return (struct file_stamp){.exists = false};
  return (struct file_stamp){.exists = true,
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

static bool is_same_stamp(const struct file_stamp *a, const struct file_stamp *b)
{
  if (!a->exists || !b->exists)
    return a->exists == b->exists;
  return a->device == b->device && a->inode == b->inode && a->size == b->size &&
         is_same_time(a->modified, b->modified) && is_same_time(a->changed, b->changed);
}

/* ---- the files ---- */

static struct watched_file *file_at(const struct file_watch *watch, size_t i)
{
  return (struct watched_file *)watch->files.items + i;
}

static void free_files(struct array *files)
{
  for (size_t i = 0; i < files->count; i++)
    free(((struct watched_file *)files->items + i)->path);
  array_fini(files);
}

/* Lists the files that the configuration names now. False: no memory. */
static bool list_files(struct file_watch *watch)
{
  const struct file_watch_config *config = &watch->config;
  const char *const *files = config->files(config->context);
  const struct file_stamp *stamps = config->stamps == NULL ? NULL : config->stamps(config->context);
  for (size_t i = 0; files[i] != NULL; i++) {
    struct watched_file file = {.path = strdup(files[i]),
                                .loaded = stamps == NULL ? file_stamp_read(files[i]) : stamps[i]};
    file.seen = file.loaded;
    struct watched_file *added = file.path == NULL ? NULL : array_add(&watch->files, 1);
    if (added == NULL) {
      free(file.path);
      return false;
    }
    *added = file;
  }
  return true;
}

/* Takes the stamps before the files are read, so that a change during the reading is detected later. */
static void stamp_files(const struct file_watch *watch)
{
  for (size_t i = 0; i < watch->files.count; i++) {
    struct watched_file *file = file_at(watch, i);
    file->loaded = file->seen = file_stamp_read(file->path);
  }
}

/* A load may change which files the configuration names. Files that it still names keep their stamps. */
static void renew_files(struct file_watch *watch)
{
  struct array before = watch->files;
  array_init(&watch->files, sizeof(struct watched_file));
  if (!list_files(watch)) {
    free_files(&watch->files);
    watch->files = before;
    return;
  }
  for (size_t i = 0; i < watch->files.count; i++) {
    struct watched_file *file = file_at(watch, i);
    for (size_t j = 0; j < before.count; j++) {
      const struct watched_file *old = (struct watched_file *)before.items + j;
      if (strcmp(old->path, file->path) == 0)
        file->loaded = file->seen = old->loaded;
    }
  }
  free_files(&before);
}

static void load_again(struct file_watch *watch)
{
  const char *stream = NULL;
  stamp_files(watch);
  for (size_t i = 0; i < watch->files.count && stream == NULL; i++)
    stream = file_at(watch, i)->loaded.is_stream ? file_at(watch, i)->path : NULL;
  if (stream != NULL) {
    log_error("Failed to reload %s: %s: only a regular file can be read again", watch->config.what, stream);
    return;
  }
  watch->config.reload(watch->config.context);
  renew_files(watch);
}

static bool has_unsettled(const struct file_watch *watch)
{
  for (size_t i = 0; i < watch->files.count; i++) {
    if (!is_same_stamp(&file_at(watch, i)->seen, &file_at(watch, i)->loaded))
      return true;
  }
  return false;
}

static void check_files(struct file_watch *watch)
{
  const int64_t now_ms = clock_now_ms();
  const bool had_unsettled = has_unsettled(watch);
  bool is_at_rest = true;
  for (size_t i = 0; i < watch->files.count; i++) {
    struct watched_file *file = file_at(watch, i);
    struct file_stamp now = file_stamp_read(file->path);
    if (now.is_stream && file->loaded.is_stream)
      now = file->loaded;
    is_at_rest = is_same_stamp(&now, &file->seen) && is_at_rest;
    file->seen = now;
  }
  if (!is_at_rest)
    watch->last_changed_ms = clock_now_ms(); /* after the stamps, so that a pause of this thread is no rest */
  if (!had_unsettled)
    watch->first_changed_ms = now_ms;
  if (has_unsettled(watch) &&
      (now_ms - watch->last_changed_ms >= REST_MS || now_ms - watch->first_changed_ms >= REST_MAX_MS))
    load_again(watch);
}

/* ---- the thread ---- */

static void wait_for_news(const struct file_watch *watch)
{
  struct pollfd sources[] = {{.fd = watch->wake, .events = POLLIN}, {.fd = watch->notify, .events = POLLIN}};
  int64_t interval_ms = watch->config.interval_ms;
  int wait_ms = interval_ms < INT_MAX ? (int)interval_ms : INT_MAX;
  if (interval_ms == 0)
    wait_ms = -1;
  else if (has_unsettled(watch))
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

/* Watches the file that each path leads to now, following links. If another file replaces this file, inotify
 * reports that this file was removed. If there is no file yet, only the next poll finds a new file. A watch
 * on the folder would report both cases, but also every other change in the folder. */
static void follow_files(const struct file_watch *watch)
{
  const uint32_t events = IN_CLOSE_WRITE | IN_ATTRIB | IN_DELETE_SELF | IN_MOVE_SELF;
  for (size_t i = 0; watch->notify >= 0 && i < watch->files.count; i++)
    (void)inotify_add_watch(watch->notify, file_at(watch, i)->path, events);
}

static void *watch_files(void *argument)
{
  struct file_watch *watch = argument;
  pthread_setname_np(pthread_self(), watch->config.thread_name);
  while (!atomic_load(&watch->stop_asked)) {
    follow_files(watch); /* before the check, so that no change between the check and the wait is lost */
    const unsigned asked = atomic_exchange(&watch->reloads_asked, 0);
    if (asked > 0)
      load_again(watch);
    else if (watch->config.interval_ms > 0)
      check_files(watch);
    void (*done)(void) = atomic_load(&watch->reload_done);
    for (unsigned i = 0; i < asked && done != NULL; i++)
      done();
    wait_for_news(watch);
  }
  return NULL;
}

/* ---- start and end ---- */

static void free_watch(struct file_watch *watch)
{
  if (watch->wake >= 0)
    close(watch->wake);
  if (watch->notify >= 0)
    close(watch->notify);
  free_files(&watch->files);
  free(watch);
}

enum jp_status file_watch_start(const struct file_watch_config *config, struct file_watch **watch,
                                struct jp_error *error)
{
  struct file_watch *made = calloc(1, sizeof *made);
  if (made == NULL)
    return jp_fail_memory(error, NULL);
  made->config = *config;
  made->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  made->notify = config->interval_ms > 0 ? inotify_init1(IN_CLOEXEC | IN_NONBLOCK) : -1;
  array_init(&made->files, sizeof(struct watched_file));
  if (made->wake < 0 || !list_files(made)) {
    enum jp_status status =
        made->wake < 0 ? jp_fail(error, JP_IO, "eventfd: %s", strerror(errno)) : jp_fail_memory(error, NULL);
    free_watch(made);
    return status;
  }
  int failed = pthread_create(&made->thread, NULL, watch_files, made);
  if (failed != 0) {
    free_watch(made);
    return jp_fail(error, JP_LIMIT, "the thread %s: %s", config->thread_name, strerror(failed));
  }
  *watch = made;
  return JP_OK;
}

static void wake_thread(const struct file_watch *watch)
{
  uint64_t one = 1;
  /* The write fails only if the counter is full, and a full counter wakes the thread, too. */
  ssize_t wrote = write(watch->wake, &one, sizeof one);
  (void)wrote;
}

void file_watch_reload(struct file_watch *watch, void (*done)(void))
{
  atomic_store(&watch->reload_done, done);
  atomic_fetch_add(&watch->reloads_asked, 1);
  wake_thread(watch);
}

void file_watch_stop(struct file_watch *watch)
{
  if (watch == NULL)
    return;
  atomic_store(&watch->stop_asked, true);
  wake_thread(watch);
  pthread_join(watch->thread, NULL);
  free_watch(watch);
}
