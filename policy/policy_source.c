/* The current policy, and the thread that loads it again when its file changes. */
#include "policy/policy_source.h"

#include "audit/audit.h"
#include "base/log.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

struct policy_source {
  struct policy_config config;
  pthread_mutex_t swap_lock;
  pthread_mutex_t reload_lock; /* orders reloads, so that the file that was read last wins; guards stamp */
  struct file_stamp stamp;
  _Atomic(struct policy *) current;
};

enum jp_status policy_source_create_of(struct policy *policy, struct policy_source **source,
                                       struct jp_error *error)
{
  struct policy_source *made = calloc(1, sizeof *made);
  if (made == NULL) {
    policy_destroy(policy);
    return jp_fail_memory(error, NULL);
  }
  pthread_mutex_init(&made->swap_lock, NULL);
  pthread_mutex_init(&made->reload_lock, NULL);
  atomic_init(&made->current, policy);
  *source = made;
  return JP_OK;
}

enum jp_status policy_source_create(const struct policy_config *config, struct policy_source **source,
                                    struct jp_error *error)
{
  struct policy *policy;
  const struct file_stamp stamp =
      config->file == NULL ? (struct file_stamp){0} : file_stamp_read(config->file);
  *source = NULL;
  enum jp_status status = policy_create(config, &policy, error);
  if (status == JP_OK)
    status = policy_source_create_of(policy, source, error);
  if (status == JP_OK) {
    (*source)->config = *config;
    (*source)->stamp = stamp;
  }
  return status;
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
  if (source->config.file != NULL)
    source->stamp = file_stamp_read(source->config.file);
  enum jp_status status = policy_create(&source->config, &policy, error);
  if (status == JP_OK)
    policy_source_replace(source, policy);
  pthread_mutex_unlock(&source->reload_lock);
  return status;
}

struct file_stamp policy_source_stamp(struct policy_source *source)
{
  pthread_mutex_lock(&source->reload_lock);
  const struct file_stamp stamp = source->stamp;
  pthread_mutex_unlock(&source->reload_lock);
  return stamp;
}

void policy_source_replace(struct policy_source *source, struct policy *policy)
{
  pthread_mutex_lock(&source->swap_lock);
  struct policy *old = atomic_exchange(&source->current, policy);
  pthread_mutex_unlock(&source->swap_lock);
  policy_destroy(old);
}

void policy_source_log_reload(struct policy_source *source)
{
  log_info("RPC policy reloaded: %s", source->config.file);
  audit_reload("policy", source->config.file, NULL);
  struct policy *policy = policy_source_take(source);
  const char *notice = policy_notice(policy);
  if (notice != NULL)
    log_info("%s", notice);
  policy_destroy(policy);
}

/* ---- the watch ---- */

struct policy_watch {
  struct policy_source *source;
  const char *files[2];
  struct file_stamp stamp; /* from before the watch */
  struct file_watch *watch;
};

static const char *const *list_file(void *context)
{
  return ((struct policy_watch *)context)->files;
}

static const struct file_stamp *list_stamp(void *context)
{
  return &((struct policy_watch *)context)->stamp;
}

static void reload_policy(void *context)
{
  struct policy_source *source = ((struct policy_watch *)context)->source;
  struct jp_error error = {0};
  if (policy_source_reload(source, &error) == JP_OK) {
    policy_source_log_reload(source);
  } else {
    log_error("Failed to reload RPC policy: %s", error.text);
    audit_reload("policy", source->config.file, &error);
  }
}

enum jp_status policy_watch_start(struct policy_source *source, int64_t interval_ms,
                                  struct policy_watch **watch, struct jp_error *error)
{
  struct policy_watch *made = calloc(1, sizeof *made);
  if (made == NULL)
    return jp_fail_memory(error, NULL);
  made->source = source;
  made->files[0] = source->config.file;
  made->stamp = policy_source_stamp(source);
  const struct file_watch_config config = {.interval_ms = interval_ms,
                                           .thread_name = "policy-watch",
                                           .what = "RPC policy",
                                           .files = list_file,
                                           .stamps = list_stamp,
                                           .reload = reload_policy,
                                           .context = made};
  enum jp_status status = file_watch_start(&config, &made->watch, error);
  if (status != JP_OK) {
    free(made);
    return status;
  }
  *watch = made;
  return JP_OK;
}

void policy_watch_reload(struct policy_watch *watch, void (*done)(void))
{
  file_watch_reload(watch->watch, done);
}

void policy_watch_stop(struct policy_watch *watch)
{
  if (watch == NULL)
    return;
  file_watch_stop(watch->watch);
  free(watch);
}
