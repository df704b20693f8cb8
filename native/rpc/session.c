#include "rpc/session_state.h"

#include <assert.h>
#include <stdlib.h>

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
  if (limits->per_address_max == 0)
    made->limits.per_address_max = limits->sessions_max;
  struct uuid random;
  uuid_random(&random);
  memcpy(made->seed, random.bytes + sizeof random.bytes - SESSION_SEED_BYTES, SESSION_SEED_BYTES);
  enum jp_status status = keyed_hash_create(&made->epochs);
  if (status == JP_OK)
    status = session_index_init(made);
  if (status == JP_OK && !init_locks(made)) {
    session_index_fini(made);
    status = JP_NO_MEMORY;
  }
  if (status != JP_OK) {
    keyed_hash_destroy(made->epochs);
    free(made);
    return status;
  }
  *sessions = made;
  return JP_OK;
}

void rpc_sessions_destroy(struct rpc_sessions *sessions)
{
  if (sessions == NULL)
    return;
  for (struct rpc_session *dead = sessions->dead, *next; dead != NULL; dead = next) {
    next = dead->next;
    free(dead);
  }
  session_index_fini(sessions);
  keyed_hash_destroy(sessions->epochs);
  pthread_cond_destroy(&sessions->changed);
  pthread_mutex_destroy(&sessions->lock);
  free(sessions);
}

size_t rpc_sessions_count(struct rpc_sessions *sessions)
{
  return atomic_load(&sessions->count);
}

size_t rpc_sessions_count_of(struct rpc_sessions *sessions, const struct rpc_address *address)
{
  uint64_t hash = session_index_hash(sessions, address->bytes, address->length);
  pthread_mutex_lock(&sessions->lock);
  size_t count = session_addresses_count(&sessions->addresses, address, hash);
  pthread_mutex_unlock(&sessions->lock);
  return count;
}

void rpc_session_add_calls(struct rpc_session *session, uint64_t calls)
{
  atomic_fetch_add_explicit(&session->calls, calls, memory_order_relaxed);
}

uint64_t rpc_session_calls(const struct rpc_session *session)
{
  return atomic_load_explicit(&session->calls, memory_order_relaxed);
}

/* ---- idle sessions ---- */

static struct session_queue *queue_of(struct rpc_sessions *sessions, const struct rpc_session *session)
{
  return session->is_passing ? &sessions->passing : &sessions->idle;
}

/* NULL: it is in none. An idle session has objects, and therefore an address. */
static struct session_queue *queue_of_address(struct rpc_session *session)
{
  return session->is_passing ? session_address_passing(atomic_load(&session->address)) : NULL;
}

static void queue_remove(struct session_queue *queue, struct rpc_session *session, enum session_line line)
{
  struct rpc_session *before = session->lines[line].before;
  struct rpc_session *after = session->lines[line].after;
  if (before == NULL)
    queue->first = after;
  else
    before->lines[line].after = after;
  if (after == NULL)
    queue->last = before;
  else
    after->lines[line].before = before;
}

static void queue_append(struct session_queue *queue, struct rpc_session *session, enum session_line line)
{
  session->lines[line].before = queue->last;
  session->lines[line].after = NULL;
  if (queue->last == NULL)
    queue->first = session;
  else
    queue->last->lines[line].after = session;
  queue->last = session;
}

static void leave_idle(struct rpc_sessions *sessions, struct rpc_session *session)
{
  if (!session->is_idle)
    return;
  struct session_queue *of_address = queue_of_address(session);
  queue_remove(queue_of(sessions, session), session, LINE_OF_ALL);
  if (of_address != NULL)
    queue_remove(of_address, session, LINE_OF_ADDRESS);
  session->is_idle = false;
}

static void become_idle(struct rpc_sessions *sessions, struct rpc_session *session, int64_t now_ms)
{
  struct session_queue *of_address = queue_of_address(session);
  session->is_idle = true;
  session->idle_since = now_ms;
  int64_t expiry = session_expiry(sessions, session);
  if (expiry < sessions->sweeper_wakes) {
    sessions->sweeper_wakes = expiry; /* told once */
    pthread_cond_signal(&sessions->changed);
  }
  queue_append(queue_of(sessions, session), session, LINE_OF_ALL);
  if (of_address != NULL)
    queue_append(of_address, session, LINE_OF_ADDRESS);
}

/* ---- counting sessions with objects ---- */

static void count_down(void *context)
{
  struct rpc_session *session = context;
  session_address_count_down(atomic_load_explicit(&session->address, memory_order_relaxed));
  atomic_fetch_sub(&session->sessions->count, 1);
}

void session_end(struct rpc_sessions *sessions, struct rpc_session *session)
{
  leave_idle(sessions, session);
  if (session->key_length > 0)
    session_index_remove(sessions, session);
  if (jvm_objects_count(session->objects) > 0)
    count_down(session);
  jvm_objects_set_owner(session->objects, NULL, NULL);
  struct session_address *address = atomic_load(&session->address);
  if (address != NULL)
    session_address_release(&sessions->addresses, address);
  atomic_store(&session->address, NULL);
}

void session_destroy(struct rpc_session *session, struct jvm_thread *thread)
{
  jvm_objects_destroy(thread, session->objects);
  free(session);
}

/* The entry of the session's address, which the session holds from now on. NULL: no memory. */
static struct session_address *find_address(struct rpc_session *session)
{
  struct session_address *address = atomic_load(&session->address);
  if (address != NULL)
    return address;
  struct rpc_sessions *sessions = session->sessions;
  const struct rpc_address *from = &session->maker.address;
  uint64_t hash = session_index_hash(sessions, from->bytes, from->length);
  pthread_mutex_lock(&sessions->lock);
  address = atomic_load(&session->address); /* another thread may have set it meanwhile */
  if (address == NULL) {
    address = session_address_hold(&sessions->addresses, from, hash);
    atomic_store(&session->address, address);
  }
  pthread_mutex_unlock(&sessions->lock);
  return address;
}

static bool count_up(struct rpc_sessions *sessions)
{
  size_t count = atomic_load_explicit(&sessions->count, memory_order_relaxed);
  do {
    if (count >= sessions->limits.sessions_max)
      return false;
  } while (!atomic_compare_exchange_weak(&sessions->count, &count, count + 1));
  return true;
}

/* Ends the first session of a queue of passing ones. False: there is none. */
static bool end_oldest(struct rpc_sessions *sessions, const struct session_queue *passing,
                       struct jvm_thread *thread)
{
  pthread_mutex_lock(&sessions->lock);
  struct rpc_session *oldest = passing->first;
  if (oldest != NULL)
    session_end(sessions, oldest);
  pthread_mutex_unlock(&sessions->lock);
  if (oldest != NULL)
    session_destroy(oldest, thread);
  return oldest != NULL;
}

/* jvm_objects_owner.enter */
static enum jp_status count_session(void *context, struct jvm_thread *thread, struct jp_error *error)
{
  struct rpc_session *session = context;
  struct rpc_sessions *sessions = session->sessions;
  struct session_address *address = find_address(session);
  if (address == NULL)
    return jp_fail(error, JP_NO_MEMORY, "out of memory");
  while (!session_address_count_up(address, sessions->limits.per_address_max)) {
    if (end_oldest(sessions, session_address_passing(address), thread))
      continue;
    return jp_fail(error, JP_LIMIT,
                   "the limit of %zu sessions of one client address is reached (sessions-per-address)",
                   sessions->limits.per_address_max);
  }
  while (!count_up(sessions)) {
    if (end_oldest(sessions, &sessions->passing, thread))
      continue;
    session_address_count_down(address);
    return jp_fail(error, JP_LIMIT, "the limit of %zu sessions is reached (sessions-max)",
                   sessions->limits.sessions_max);
  }
  return JP_OK;
}

static const struct jvm_objects_owner OWNER = {.enter = count_session, .leave = count_down};

/* ---- holding ---- */

/* Its memory has room for the key, or for a later one of rpc_session_keep. */
static struct rpc_session *make_session(struct rpc_sessions *sessions, const struct rpc_session_maker *maker,
                                        const struct session_mark *mark, size_t key_length)
{
  size_t room = key_length > 0 ? key_length : 1 + sizeof(struct uuid);
  struct rpc_session *session = calloc(1, sizeof *session + room);
  if (session == NULL)
    return NULL;
  if (jvm_objects_create(sessions->limits.max_objects, &session->objects) != JP_OK) {
    free(session);
    return NULL;
  }
  jvm_objects_set_owner(session->objects, &OWNER, session);
  jvm_objects_begin_after(session->objects, mark->first_ref - 1);
  session->epoch = mark->epoch;
  session->sessions = sessions;
  session->maker = *maker;
  session->is_passing = maker->is_passing;
  session->holders = 1;
  return session;
}

/* message: as in rpc_session_maker. */
static struct rpc_session *hold_session(struct rpc_sessions *sessions, struct rpc_session *found,
                                        uint64_t message)
{
  leave_idle(sessions, found);
  found->is_passing = found->is_passing && message != 0 && message == found->maker.message;
  found->holders++;
  return found;
}

enum jp_status rpc_session_acquire(struct rpc_sessions *sessions, const struct rpc_session_key *key,
                                   const struct rpc_session_maker *maker, struct rpc_session **session,
                                   struct jp_error *error)
{
  static const struct rpc_session_key nameless = {.serial = 0};
  struct session_mark mark;
  if (key == NULL)
    key = &nameless;
  if (key->length == 0) {
    enum jp_status status = session_mark_make(sessions, key, &mark);
    if (status != JP_OK)
      return jp_fail(error, status, "OpenSSL fails to hash");
    *session = make_session(sessions, maker, &mark, 0);
    return *session == NULL ? jp_fail(error, JP_NO_MEMORY, "out of memory") : JP_OK;
  }
  uint64_t hash = session_index_hash(sessions, key->bytes, key->length);
  enum jp_status status = JP_OK;
  pthread_mutex_lock(&sessions->lock);
  struct rpc_session *found = session_index_find(sessions, key, hash);
  *session = NULL;
  if (found != NULL) {
    *session = hold_session(sessions, found, maker->message);
  } else if ((status = session_mark_make(sessions, key, &mark)) == JP_OK &&
             (*session = make_session(sessions, maker, &mark, key->length)) != NULL) {
    uint32_t last_ref = session_index_last_ref(sessions, hash);
    if (last_ref > 0)
      jvm_objects_begin_after((*session)->objects, last_ref);
    session_index_add(sessions, *session, key, hash);
  }
  pthread_mutex_unlock(&sessions->lock);
  if (status != JP_OK)
    return jp_fail(error, status, "OpenSSL fails to hash");
  return *session == NULL ? jp_fail(error, JP_NO_MEMORY, "out of memory") : JP_OK;
}

uint64_t rpc_sessions_epoch(struct rpc_sessions *sessions, const struct rpc_session_key *key)
{
  struct session_mark mark = {0};
  if (key->length > 0) {
    uint64_t hash = session_index_hash(sessions, key->bytes, key->length);
    pthread_mutex_lock(&sessions->lock);
    const struct rpc_session *found = session_index_find(sessions, key, hash);
    mark.epoch = found == NULL ? 0 : found->epoch;
    pthread_mutex_unlock(&sessions->lock);
  }
  if (mark.epoch != 0 || session_mark_make(sessions, key, &mark) == JP_OK)
    return mark.epoch;
  return 0;
}

uint64_t rpc_session_epoch(const struct rpc_session *session)
{
  return session->epoch;
}

struct rpc_session *rpc_session_find(struct rpc_sessions *sessions, const struct rpc_session_key *key)
{
  if (key->length == 0)
    return NULL;
  uint64_t hash = session_index_hash(sessions, key->bytes, key->length);
  pthread_mutex_lock(&sessions->lock);
  struct rpc_session *found = session_index_find(sessions, key, hash);
  if (found != NULL)
    hold_session(sessions, found, 0);
  pthread_mutex_unlock(&sessions->lock);
  return found;
}

void rpc_session_retain(struct rpc_sessions *sessions, struct rpc_session *session)
{
  pthread_mutex_lock(&sessions->lock);
  assert(session->holders > 0);
  session->holders++;
  pthread_mutex_unlock(&sessions->lock);
}

/* Called with the lock held. */
static void leave_to_sweeper(struct rpc_sessions *sessions, struct rpc_session *session)
{
  session->next = sessions->dead;
  sessions->dead = session;
  pthread_cond_signal(&sessions->changed);
}

/* Called with the lock held, when nobody holds the session. Returns the session if the caller has to destroy
 * it. */
static struct rpc_session *settle_session(struct rpc_sessions *sessions, struct rpc_session *session,
                                          bool may_destroy, int64_t now_ms)
{
  bool stays = session->key_length > 0 && !session->ends_with_holders;
  if (stays && jvm_objects_count(session->objects) > 0) {
    become_idle(sessions, session, now_ms);
    return NULL;
  }
  session_end(sessions, session);
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
    ended = settle_session(sessions, session, thread != NULL, now_ms);
  pthread_mutex_unlock(&sessions->lock);
  if (ended != NULL)
    session_destroy(ended, thread);
}

bool rpc_session_set_aside(const struct rpc_session *session)
{
  return session->key_length == 0 && atomic_load(&session->address) == NULL &&
         jvm_objects_is_unused(session->objects);
}

void rpc_session_resume(struct rpc_session *session, const struct rpc_session_maker *maker)
{
  assert(session->key_length == 0 && session->holders == 1);
  session->maker = *maker;
  session->is_passing = maker->is_passing;
}

void rpc_session_discard(struct rpc_sessions *sessions, struct rpc_session *session,
                         struct jvm_thread *thread)
{
  if (session == NULL)
    return;
  if (thread != NULL) {
    session_destroy(session, thread);
    return;
  }
  pthread_mutex_lock(&sessions->lock);
  leave_to_sweeper(sessions, session);
  pthread_mutex_unlock(&sessions->lock);
}

/* Called with the lock held. */
static struct rpc_session_key name_session(struct rpc_sessions *sessions, struct rpc_session *session,
                                           struct uuid *peer_id)
{
  struct rpc_session_key key;
  uuid_random(peer_id);
  rpc_session_key_peer_id(&key, peer_id);
  session_index_add(sessions, session, &key, session_index_hash(sessions, key.bytes, key.length));
  return key;
}

void rpc_session_keep(struct rpc_sessions *sessions, struct rpc_session *session, struct uuid *peer_id)
{
  assert(session->key_length == 0);
  struct session_mark mark = {0};
  pthread_mutex_lock(&sessions->lock);
  const struct rpc_session_key key = name_session(sessions, session, peer_id);
  /* Nobody was told the epoch that it had without a name. */
  session->epoch = session_mark_make(sessions, &key, &mark) == JP_OK ? mark.epoch : 0;
  pthread_mutex_unlock(&sessions->lock);
}

bool rpc_session_share(struct rpc_sessions *sessions, struct rpc_session *session, struct uuid *peer_id)
{
  pthread_mutex_lock(&sessions->lock);
  bool is_named = session->key_length > 0;
  bool good = !is_named || rpc_session_key_read_peer_id(session->key, session->key_length, peer_id);
  if (!is_named) {
    (void)name_session(sessions, session, peer_id); /* its epoch stays, which its client was told */
    session->ends_with_holders = true;
  }
  pthread_mutex_unlock(&sessions->lock);
  return good;
}

struct jvm_objects *rpc_session_objects(const struct rpc_session *session)
{
  return session->objects;
}

void rpc_session_clear(struct rpc_session *session, struct jvm_thread *thread)
{
  jvm_objects_clear(thread, session->objects);
}
