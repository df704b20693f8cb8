#include "policy/source.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

struct policy_source {
  struct policy_config config;
  pthread_mutex_t swap_lock;
  pthread_mutex_t reload_lock; /* keeps reloads in order: the file that was read last stays */
  _Atomic(struct policy *) current;
};

enum jp_status policy_source_create(const struct policy_config *config, struct policy_source **source,
                                    struct jp_error *error)
{
  *source = NULL;
  struct policy_source *made = calloc(1, sizeof *made);
  if (made == NULL)
    return jp_fail(error, JP_NO_MEMORY, "out of memory");
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

const char *policy_source_file(const struct policy_source *source)
{
  return source->config.file;
}
