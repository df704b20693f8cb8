/* The thread that ends expired sessions, and destroys those that their last holder could not destroy. */
#include "rpc/session_state.h"

#include "base/clock.h"

/* NULL: none is idle. */
static struct rpc_session *longest_idle(const struct rpc_sessions *sessions)
{
  struct rpc_session *idle = sessions->idle.first;
  struct rpc_session *passing = sessions->passing.first;
  if (idle == NULL || passing == NULL)
    return idle != NULL ? idle : passing;
  return idle->idle_since <= passing->idle_since ? idle : passing;
}

int64_t session_expiry(const struct rpc_sessions *sessions, const struct rpc_session *idle)
{
  int64_t expiry;
  if (__builtin_add_overflow(idle->idle_since, sessions->limits.ttl_ms, &expiry))
    return INT64_MAX;
  return expiry;
}

static int64_t next_expiry(const struct rpc_sessions *sessions)
{
  const struct rpc_session *next = longest_idle(sessions);
  return next == NULL ? INT64_MAX : session_expiry(sessions, next);
}

/* The next session to destroy, or NULL. */
static struct rpc_session *take_ended(struct rpc_sessions *sessions, int64_t now_ms)
{
  pthread_mutex_lock(&sessions->lock);
  struct rpc_session *ended = sessions->dead;
  struct rpc_session *idle = longest_idle(sessions);
  if (ended != NULL) {
    sessions->dead = ended->next;
  } else if (idle != NULL && (sessions->stopping || now_ms - idle->idle_since >= sessions->limits.ttl_ms)) {
    ended = idle;
    session_end(sessions, ended);
  }
  pthread_mutex_unlock(&sessions->lock);
  return ended;
}

int64_t rpc_sessions_sweep(struct rpc_sessions *sessions, struct jvm_thread *thread, int64_t now_ms)
{
  struct rpc_session *ended;
  while ((ended = take_ended(sessions, now_ms)) != NULL)
    session_destroy(ended, thread);
  pthread_mutex_lock(&sessions->lock);
  int64_t expiry = next_expiry(sessions);
  pthread_mutex_unlock(&sessions->lock);
  return expiry;
}

static void wait_until(struct rpc_sessions *sessions, int64_t time_ms)
{
  if (time_ms == INT64_MAX) {
    pthread_cond_wait(&sessions->changed, &sessions->lock);
    return;
  }
  struct timespec deadline = {.tv_sec = time_ms / 1000, .tv_nsec = time_ms % 1000 * 1000000};
  pthread_cond_timedwait(&sessions->changed, &sessions->lock, &deadline);
}

static bool has_work(const struct rpc_sessions *sessions, int64_t now_ms)
{
  return sessions->stopping || sessions->dead != NULL || next_expiry(sessions) <= now_ms;
}

static void run_sweeper(void *argument, struct jvm_thread *thread)
{
  struct rpc_sessions *sessions = argument;
  bool stopping = false;
  pthread_mutex_lock(&sessions->lock);
  while (!stopping) {
    while (!has_work(sessions, clock_now_ms())) {
      sessions->sweeper_wakes = next_expiry(sessions);
      wait_until(sessions, sessions->sweeper_wakes);
    }
    stopping = sessions->stopping;
    pthread_mutex_unlock(&sessions->lock);
    rpc_sessions_sweep(sessions, thread, clock_now_ms());
    pthread_mutex_lock(&sessions->lock);
  }
  sessions->sweeper_runs = false;
  pthread_cond_broadcast(&sessions->changed);
  pthread_mutex_unlock(&sessions->lock);
}

enum jp_status rpc_sessions_start(struct rpc_sessions *sessions, struct jvm *jvm, struct jp_error *error)
{
  sessions->sweeper_runs = true;
  enum jp_status status = jvm_spawn(jvm, "jpeer-sessions", run_sweeper, sessions, error);
  if (status != JP_OK)
    sessions->sweeper_runs = false;
  return status;
}

bool rpc_sessions_stop(struct rpc_sessions *sessions, int64_t wait_ms)
{
  int64_t deadline = clock_now_ms() + wait_ms;
  pthread_mutex_lock(&sessions->lock);
  sessions->stopping = true;
  pthread_cond_broadcast(&sessions->changed);
  while (sessions->sweeper_runs && clock_now_ms() < deadline)
    wait_until(sessions, deadline);
  bool ended = !sessions->sweeper_runs;
  pthread_mutex_unlock(&sessions->lock);
  return ended;
}
