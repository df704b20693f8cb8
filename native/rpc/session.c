#include "rpc/session.h"

#include "base/clock.h"

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

enum { FIRST_BUCKETS = 64, SEED_BYTES = 8, KEY_PEER_ID = 'p', KEY_ROUTING_ID = 'r' };

struct rpc_session {
  struct rpc_session *next; /* of its bucket, or of the dead */
  struct rpc_session *idle_before;
  struct rpc_session *idle_after;
  struct jvm_objects *objects;
  _Atomic bool has_held; /* an object, since it was made or cleared */
  unsigned holders;
  bool is_idle;
  int64_t idle_since;
  uint64_t hash;
  size_t key_length; /* 0: no key */
  uint8_t key[];
};

struct rpc_sessions {
  pthread_mutex_t lock;
  pthread_cond_t changed;
  struct rpc_session_limits limits;
  _Atomic size_t count;
  struct rpc_session **buckets; /* by key */
  size_t bucket_count;          /* a power of two */
  size_t keyed;
  struct rpc_session *idle_first; /* nobody holds them; the longest idle first */
  struct rpc_session *idle_last;
  struct rpc_session *dead; /* ended; their tables wait for a thread that may use Java */
  bool stopping;
  bool sweeper_runs;
  uint8_t seed[SEED_BYTES]; /* callers choose keys: they must not be able to choose their buckets */
};

void rpc_session_key_peer_id(struct rpc_session_key *key, const struct uuid *peer_id)
{
  key->bytes[0] = KEY_PEER_ID;
  memcpy(key->bytes + 1, peer_id->bytes, sizeof peer_id->bytes);
  key->length = 1 + sizeof peer_id->bytes;
}

bool rpc_session_key_routing_id(struct rpc_session_key *key, struct text routing_id)
{
  key->length = 0;
  if (routing_id.len == 0 || routing_id.len > RPC_ROUTING_ID_MAX)
    return false;
  key->bytes[0] = KEY_ROUTING_ID;
  memcpy(key->bytes + 1, routing_id.data, routing_id.len);
  key->length = 1 + routing_id.len;
  return true;
}

void rpc_session_key_describe(const struct rpc_session_key *key, char out[RPC_SESSION_NAME_MAX])
{
  out[0] = '\0';
  if (key->length == 0) {
    if (key->serial != 0)
      snprintf(out, RPC_SESSION_NAME_MAX, "#%llu", (unsigned long long)key->serial);
    return;
  }
  if (key->bytes[0] == KEY_PEER_ID) {
    struct uuid peer_id;
    memcpy(peer_id.bytes, key->bytes + 1, sizeof peer_id.bytes);
    uuid_format(&peer_id, out);
    return;
  }
  int n = snprintf(out, RPC_SESSION_NAME_MAX, "zmq:");
  for (size_t i = 1; i < key->length; i++)
    n += snprintf(out + n, RPC_SESSION_NAME_MAX - (size_t)n, "%02x", key->bytes[i]);
}

static bool init_locks(struct rpc_sessions *sessions)
{
  pthread_condattr_t attributes;
  if (pthread_condattr_init(&attributes) != 0)
    return false;
  bool done = pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC) == 0 &&
              pthread_cond_init(&sessions->changed, &attributes) == 0;
  pthread_condattr_destroy(&attributes);
  if (!done)
    return false;
  if (pthread_mutex_init(&sessions->lock, NULL) == 0)
    return true;
  pthread_cond_destroy(&sessions->changed);
  return false;
}

enum jp_status rpc_sessions_create(const struct rpc_session_limits *limits, struct rpc_sessions **sessions)
{
  struct rpc_sessions *made = calloc(1, sizeof *made);
  if (made == NULL)
    return JP_NO_MEMORY;
  made->limits = *limits;
  made->bucket_count = FIRST_BUCKETS;
  made->buckets = calloc(made->bucket_count, sizeof(struct rpc_session *));
  struct uuid random;
  uuid_random(&random);
  memcpy(made->seed, random.bytes + sizeof random.bytes - SEED_BYTES, SEED_BYTES);
  if (made->buckets == NULL || !init_locks(made)) {
    free(made->buckets);
    free(made);
    return JP_NO_MEMORY;
  }
  *sessions = made;
  return JP_OK;
}

static void free_list(struct rpc_session *session)
{
  while (session != NULL) {
    struct rpc_session *next = session->next;
    free(session);
    session = next;
  }
}

void rpc_sessions_destroy(struct rpc_sessions *sessions)
{
  if (sessions == NULL)
    return;
  for (size_t i = 0; i < sessions->bucket_count; i++)
    free_list(sessions->buckets[i]);
  free_list(sessions->dead);
  free(sessions->buckets);
  pthread_cond_destroy(&sessions->changed);
  pthread_mutex_destroy(&sessions->lock);
  free(sessions);
}

size_t rpc_sessions_count(struct rpc_sessions *sessions)
{
  return atomic_load(&sessions->count);
}

static uint64_t hash_key(const struct rpc_sessions *sessions, const uint8_t *bytes, size_t length)
{
  char seeded[SEED_BYTES + 1 + RPC_ROUTING_ID_MAX];
  memcpy(seeded, sessions->seed, SEED_BYTES);
  memcpy(seeded + SEED_BYTES, bytes, length);
  return text_hash((struct text){seeded, SEED_BYTES + length});
}

static struct rpc_session **bucket_of(struct rpc_sessions *sessions, uint64_t hash)
{
  return &sessions->buckets[hash & (sessions->bucket_count - 1)];
}

static struct rpc_session *look_up(struct rpc_sessions *sessions, const struct rpc_session_key *key,
                                   uint64_t hash)
{
  struct rpc_session *session = *bucket_of(sessions, hash);
  while (session != NULL && !(session->hash == hash && session->key_length == key->length &&
                              memcmp(session->key, key->bytes, key->length) == 0))
    session = session->next;
  return session;
}

/* Where there is no memory for more buckets, the chains grow instead. */
static void grow_buckets(struct rpc_sessions *sessions)
{
  size_t wanted = sessions->bucket_count * 2;
  struct rpc_session **buckets = calloc(wanted, sizeof(struct rpc_session *));
  if (buckets == NULL)
    return;
  struct rpc_session **before = sessions->buckets;
  size_t count = sessions->bucket_count;
  sessions->buckets = buckets;
  sessions->bucket_count = wanted;
  for (size_t i = 0; i < count; i++) {
    for (struct rpc_session *session = before[i], *next; session != NULL; session = next) {
      next = session->next;
      struct rpc_session **bucket = bucket_of(sessions, session->hash);
      session->next = *bucket;
      *bucket = session;
    }
  }
  free(before);
}

static void insert(struct rpc_sessions *sessions, struct rpc_session *session)
{
  if (sessions->keyed >= sessions->bucket_count)
    grow_buckets(sessions);
  struct rpc_session **bucket = bucket_of(sessions, session->hash);
  session->next = *bucket;
  *bucket = session;
  sessions->keyed++;
}

static void withdraw(struct rpc_sessions *sessions, struct rpc_session *session)
{
  struct rpc_session **link = bucket_of(sessions, session->hash);
  while (*link != session)
    link = &(*link)->next;
  *link = session->next;
  session->next = NULL;
  sessions->keyed--;
}

static void leave_idle(struct rpc_sessions *sessions, struct rpc_session *session)
{
  if (!session->is_idle)
    return;
  if (session->idle_before == NULL)
    sessions->idle_first = session->idle_after;
  else
    session->idle_before->idle_after = session->idle_after;
  if (session->idle_after == NULL)
    sessions->idle_last = session->idle_before;
  else
    session->idle_after->idle_before = session->idle_before;
  session->idle_before = NULL;
  session->idle_after = NULL;
  session->is_idle = false;
}

static void become_idle(struct rpc_sessions *sessions, struct rpc_session *session, int64_t now_ms)
{
  session->is_idle = true;
  session->idle_since = now_ms;
  session->idle_before = sessions->idle_last;
  if (sessions->idle_last == NULL)
    sessions->idle_first = session;
  else
    sessions->idle_last->idle_after = session;
  sessions->idle_last = session;
}

/* Room for a key that rpc_session_keep may give later. */
static struct rpc_session *make_session(const struct rpc_sessions *sessions)
{
  struct rpc_session *session = calloc(1, sizeof *session + 1 + RPC_ROUTING_ID_MAX);
  if (session == NULL)
    return NULL;
  if (jvm_objects_create(sessions->limits.max_objects, &session->objects) != JP_OK) {
    free(session);
    return NULL;
  }
  session->holders = 1;
  return session;
}

static enum jp_status count_session(struct rpc_sessions *sessions, struct jp_error *error)
{
  size_t count = atomic_load_explicit(&sessions->count, memory_order_relaxed);
  do {
    if (count >= sessions->limits.sessions_max)
      return jp_fail(error, JP_LIMIT, "the limit of %zu sessions is reached (sessions-max)",
                     sessions->limits.sessions_max);
  } while (!atomic_compare_exchange_weak(&sessions->count, &count, count + 1));
  return JP_OK;
}

static enum jp_status add_session(struct rpc_sessions *sessions, struct rpc_session **session,
                                  struct jp_error *error)
{
  enum jp_status status = count_session(sessions, error);
  if (status != JP_OK)
    return status;
  struct rpc_session *made = make_session(sessions);
  if (made == NULL) {
    atomic_fetch_sub(&sessions->count, 1);
    return jp_fail(error, JP_NO_MEMORY, "out of memory");
  }
  *session = made;
  return JP_OK;
}

/* Called with the lock held. */
static void give_key(struct rpc_sessions *sessions, struct rpc_session *session,
                     const struct rpc_session_key *key, uint64_t hash)
{
  memcpy(session->key, key->bytes, key->length);
  session->key_length = key->length;
  session->hash = hash;
  insert(sessions, session);
}

enum jp_status rpc_session_acquire(struct rpc_sessions *sessions, const struct rpc_session_key *key,
                                   struct rpc_session **session, struct jp_error *error)
{
  if (key == NULL || key->length == 0)
    return add_session(sessions, session, error);
  uint64_t hash = hash_key(sessions, key->bytes, key->length);
  enum jp_status status = JP_OK;
  pthread_mutex_lock(&sessions->lock);
  struct rpc_session *found = look_up(sessions, key, hash);
  if (found == NULL) {
    status = add_session(sessions, session, error);
    if (status == JP_OK)
      give_key(sessions, *session, key, hash);
  } else {
    leave_idle(sessions, found);
    found->holders++;
    *session = found;
  }
  pthread_mutex_unlock(&sessions->lock);
  return status;
}

struct rpc_session *rpc_session_find(struct rpc_sessions *sessions, const struct rpc_session_key *key)
{
  if (key->length == 0)
    return NULL;
  uint64_t hash = hash_key(sessions, key->bytes, key->length);
  pthread_mutex_lock(&sessions->lock);
  struct rpc_session *found = look_up(sessions, key, hash);
  if (found != NULL) {
    leave_idle(sessions, found);
    found->holders++;
  }
  pthread_mutex_unlock(&sessions->lock);
  return found;
}

/* Called with the lock held: nobody finds the session any more. */
static void end_session(struct rpc_sessions *sessions, struct rpc_session *session)
{
  leave_idle(sessions, session);
  if (session->key_length > 0)
    withdraw(sessions, session);
  atomic_fetch_sub(&sessions->count, 1);
}

static void destroy_session(struct rpc_session *session, struct jvm_thread *thread)
{
  jvm_objects_destroy(thread, session->objects);
  free(session);
}

/* Called with the lock held. */
static void leave_to_sweeper(struct rpc_sessions *sessions, struct rpc_session *session)
{
  session->next = sessions->dead;
  sessions->dead = session;
  pthread_cond_signal(&sessions->changed);
}

/* Called with the lock held, when nobody holds the session any more. Gives what the caller is to destroy. */
static struct rpc_session *settle(struct rpc_sessions *sessions, struct rpc_session *session,
                                  bool may_destroy, int64_t now_ms)
{
  if (session->key_length > 0 && atomic_load(&session->has_held)) {
    /* Later ones expire later: the sweeper already waits for the first. */
    if (sessions->idle_first == NULL)
      pthread_cond_signal(&sessions->changed);
    become_idle(sessions, session, now_ms);
    return NULL;
  }
  end_session(sessions, session);
  if (may_destroy)
    return session;
  leave_to_sweeper(sessions, session);
  return NULL;
}

void rpc_session_release(struct rpc_sessions *sessions, struct rpc_session *session,
                         struct jvm_thread *thread, int64_t now_ms)
{
  struct rpc_session *ended = NULL;
  pthread_mutex_lock(&sessions->lock);
  assert(session->holders > 0);
  if (--session->holders == 0)
    ended = settle(sessions, session, thread != NULL, now_ms);
  pthread_mutex_unlock(&sessions->lock);
  if (ended != NULL)
    destroy_session(ended, thread);
}

bool rpc_session_set_aside(struct rpc_sessions *sessions, const struct rpc_session *session)
{
  if (session->key_length > 0 || !jvm_objects_is_unused(session->objects))
    return false;
  atomic_fetch_sub(&sessions->count, 1);
  return true;
}

enum jp_status rpc_session_resume(struct rpc_sessions *sessions, const struct rpc_session *session,
                                  struct jp_error *error)
{
  assert(session->key_length == 0 && session->holders == 1);
  (void)session;
  return count_session(sessions, error);
}

void rpc_session_discard(struct rpc_sessions *sessions, struct rpc_session *session,
                         struct jvm_thread *thread)
{
  if (session == NULL)
    return;
  if (thread != NULL) {
    destroy_session(session, thread);
    return;
  }
  pthread_mutex_lock(&sessions->lock);
  leave_to_sweeper(sessions, session);
  pthread_mutex_unlock(&sessions->lock);
}

void rpc_session_keep(struct rpc_sessions *sessions, struct rpc_session *session, struct uuid *peer_id)
{
  assert(session->key_length == 0);
  struct rpc_session_key key;
  uuid_random(peer_id);
  rpc_session_key_peer_id(&key, peer_id);
  pthread_mutex_lock(&sessions->lock);
  give_key(sessions, session, &key, hash_key(sessions, key.bytes, key.length));
  pthread_mutex_unlock(&sessions->lock);
}

struct jvm_objects *rpc_session_objects(const struct rpc_session *session)
{
  return session->objects;
}

void rpc_session_note_object(struct rpc_session *session)
{
  if (!atomic_load_explicit(&session->has_held, memory_order_relaxed))
    atomic_store(&session->has_held, true);
}

void rpc_session_clear(struct rpc_session *session, struct jvm_thread *thread)
{
  atomic_store(&session->has_held, false);
  jvm_objects_clear(thread, session->objects);
}

/* One session that can be destroyed now, or NULL. */
static struct rpc_session *take_ended(struct rpc_sessions *sessions, int64_t now_ms)
{
  pthread_mutex_lock(&sessions->lock);
  struct rpc_session *ended = sessions->dead;
  if (ended != NULL) {
    sessions->dead = ended->next;
  } else if (sessions->idle_first != NULL &&
             (sessions->stopping || now_ms - sessions->idle_first->idle_since >= sessions->limits.ttl_ms)) {
    ended = sessions->idle_first;
    end_session(sessions, ended);
  }
  pthread_mutex_unlock(&sessions->lock);
  return ended;
}

static int64_t next_expiry(const struct rpc_sessions *sessions)
{
  int64_t expiry;
  if (sessions->idle_first == NULL ||
      __builtin_add_overflow(sessions->idle_first->idle_since, sessions->limits.ttl_ms, &expiry))
    return INT64_MAX;
  return expiry;
}

int64_t rpc_sessions_sweep(struct rpc_sessions *sessions, struct jvm_thread *thread, int64_t now_ms)
{
  struct rpc_session *ended;
  while ((ended = take_ended(sessions, now_ms)) != NULL)
    destroy_session(ended, thread);
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
    while (!has_work(sessions, clock_now_ms()))
      wait_until(sessions, next_expiry(sessions));
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
