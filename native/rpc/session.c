#include "rpc/session.h"

#include "base/clock.h"
#include "base/keyed_hash.h"
#include "base/transitions.h"

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
  SEED_BYTES = 8,
  LAST_REFS = 1 << 16,
  /* The tables have a fixed size, so that no operation waits for a rehash. Pages that were never used cost no
   * memory. If there are more sessions than buckets, the chains become longer. */
  BUCKETS_MIN = 64,
  BUCKETS_MAX = 1 << 20
};

/* Sessions without a holder, the longest idle first. */
struct session_queue {
  struct rpc_session *first;
  struct rpc_session *last;
};

/* A session without a holder is in the queue of rpc_sessions and, if is_passing, also in the queues of its
 * groups. */
enum session_line { LINE_OF_ALL, LINE_OF_ADDRESS, LINE_OF_PRINCIPAL, SESSION_LINES };

/* The sessions that share a limit: the sessions of a client's address, or the sessions of a principal. A
 * group is in the table as long as a session points to it. Groups are found, made and released under the
 * lock; a holder may count without the lock. */
struct session_group {
  struct session_group *next; /* in its bucket */
  uint64_t hash;
  size_t holders;
  _Atomic size_t sessions; /* the sessions with objects, only of an address; a principal has a quota */
  struct session_queue passing;
  uint32_t principal; /* the number of the principal; 0: the group of an address */
  struct rpc_address address;
};

struct rpc_session {
  struct rpc_session *next; /* in its bucket, or in the list `dead` */
  struct {
    struct rpc_session *before;
    struct rpc_session *after;
  } lines[SESSION_LINES];
  struct rpc_sessions *sessions;
  struct jvm_objects *objects;
  _Atomic uint64_t calls; /* calls of clients that have released the session; used without the lock */
  _Atomic(struct session_group *) address; /* held; NULL before the first object */
  struct session_group *of_principal;      /* set before `address`, and held as long as it; NULL for owner,
                                            * too */
  struct rpc_session_maker maker;
  bool is_passing; /* only the message that has made the session has used it; the session may be held or
                    * not */
  bool is_idle;    /* the session is in its queues; a session that is neither held nor idle has ended */
  /* the session ends when no client holds it, although it has a key. Set while it is held */
  bool ends_with_holders;
  unsigned holders;
  int64_t idle_since;
  uint64_t epoch; /* the epoch of the first name that clients have received; 0: OpenSSL has failed */
  uint64_t hash;
  size_t key_length; /* 0: no key */
  uint8_t key[];
};

/*
 * The thread that sweeps. Under the sessions' lock.
 *
 * | state            | meaning                                            | what ends it                           |
 * | SWEEPER_NONE     | rpc_sessions_start was not called, or has failed   | rpc_sessions_start; rpc_sessions_stop  |
 * | SWEEPER_RUNS     | the thread sweeps expired sessions                 | rpc_sessions_stop; rpc_sessions_start, |
 * |                  |                                                    | if no thread was made                  |
 * | SWEEPER_STOPPING | the thread ends every session without a holder     | the thread, after that                 |
 * | SWEEPER_STOPPED  | there is no thread; a sweep ends every session     | nothing                                |
 * |                  | without a holder                                   |                                        |
 */
enum sweeper_state {
  SWEEPER_NONE,     /* no thread was started */
  SWEEPER_RUNS,     /* the thread sweeps expired sessions */
  SWEEPER_STOPPING, /* the thread ends every session without a holder, and then itself */
  SWEEPER_STOPPED   /* the thread has ended */
};

static const uint16_t sweeper_transitions[] = {
    [SWEEPER_NONE] = TO(SWEEPER_RUNS) | TO(SWEEPER_STOPPED),
    [SWEEPER_RUNS] = TO(SWEEPER_STOPPING) | TO(SWEEPER_NONE),
    [SWEEPER_STOPPING] = TO(SWEEPER_STOPPED),
    [SWEEPER_STOPPED] = 0,
};

/* All fields are used under the lock, unless a comment says otherwise. */
struct rpc_sessions {
  pthread_mutex_t lock;
  pthread_cond_t changed;
  struct rpc_session_limits limits;
  _Atomic size_t count;          /* of sessions with objects; used without the lock */
  struct jvm_objects_tally refs; /* of all sessions; used without the lock */
  struct rpc_session **buckets;  /* by key */
  size_t bucket_count;           /* a power of two; of both tables */
  uint32_t *last_refs;           /* LAST_REFS: see find_last_ref */
  struct session_group **groups;
  struct session_queue idle;
  struct session_queue passing; /* idle passing sessions */
  struct rpc_session *dead;     /* sessions that have ended; the sweeper destroys them */
  enum sweeper_state sweeper;
  /* when the sweeper wakes next, or has woken last; INT64_MAX: it sleeps until it is notified */
  int64_t sweeper_wakes;
  struct keyed_hash *epochs; /* used without the lock */
  uint8_t seed[SEED_BYTES];  /* callers choose the keys, but must not be able to choose the buckets */
};

/* The values that are computed from a session's name (its key or, if it has no key, its serial) with the
 * process's secret key. */
struct session_mark {
  uint64_t epoch;
  uint32_t first_ref; /* the first ref of the first session of the name */
};

/* Called without the lock. JP_INTERNAL: OpenSSL fails. */
static enum jp_status make_mark(const struct rpc_sessions *sessions, const struct op_session_key *key,
                                struct session_mark *mark)
{
  uint8_t name[sizeof key->serial + sizeof key->bytes];
  uint8_t hash[KEYED_HASH_BYTES];
  uint64_t serial =
      key->length > 0 ? 0 : key->serial; /* a serial is never 0, so no two names have the same bytes */
  memcpy(name, &serial, sizeof serial);
  memcpy(name + sizeof serial, key->bytes, key->length);
  enum jp_status status = keyed_hash_compute(sessions->epochs, name, sizeof serial + key->length, hash);
  if (status != JP_OK)
    return status;
  uint64_t random;
  memcpy(&mark->epoch, hash, sizeof mark->epoch);
  memcpy(&random, hash + sizeof mark->epoch, sizeof random);
  if (mark->epoch == 0)
    mark->epoch = 1;
  uint32_t least = sessions->limits.first_ref_min > 0 ? sessions->limits.first_ref_min : 1;
  uint32_t most = sessions->limits.first_ref_max > least ? sessions->limits.first_ref_max : least;
  mark->first_ref = least + (uint32_t)(random % (most - least + 1));
  return JP_OK;
}

/* ---- the table of sessions by key ---- */

static uint64_t hash_bytes(const struct rpc_sessions *sessions, const uint8_t *bytes, size_t length)
{
  char seeded[SEED_BYTES + OP_SESSION_KEY_HEAD + OP_ROUTING_ID_MAX];
  memcpy(seeded, sessions->seed, SEED_BYTES);
  memcpy(seeded + SEED_BYTES, bytes, length);
  uint64_t hash = text_hash((struct text){seeded, SEED_BYTES + length});
  /* In that hash the last bytes of a key of this length change only the high bits. */
  hash = (hash ^ hash >> 32) * 0xBF58476D1CE4E5B9u;
  return hash ^ hash >> 29;
}

static struct rpc_session **bucket_of(struct rpc_sessions *sessions, uint64_t hash)
{
  return &sessions->buckets[hash & (sessions->bucket_count - 1)];
}

static struct rpc_session *find_by_key(struct rpc_sessions *sessions, const struct op_session_key *key,
                                       uint64_t hash)
{
  struct rpc_session *session = *bucket_of(sessions, hash);
  while (session != NULL && !(session->hash == hash && session->key_length == key->length &&
                              memcmp(session->key, key->bytes, key->length) == 0))
    session = session->next;
  return session;
}

/* Gives the session the key. The session's memory has room for the key. */
static void add_to_table(struct rpc_sessions *sessions, struct rpc_session *session,
                         const struct op_session_key *key, uint64_t hash)
{
  memcpy(session->key, key->bytes, key->length);
  session->key_length = key->length;
  session->hash = hash;
  struct rpc_session **bucket = bucket_of(sessions, hash);
  session->next = *bucket;
  *bucket = session;
}

/*
 * Returns a number that is not below any ref of the ended sessions whose keys have this hash; 0: there is
 * none. The next session of such a key begins after this number, so that a ref that a client still has never
 * names another object. Keys that share a place of the table share the number, so they may skip refs.
 */
static uint32_t *find_last_ref(const struct rpc_sessions *sessions, uint64_t hash)
{
  return &sessions->last_refs[hash >> 32 & (LAST_REFS - 1)];
}

static void remove_from_table(struct rpc_sessions *sessions, struct rpc_session *session)
{
  struct rpc_session **link = bucket_of(sessions, session->hash);
  while (*link != session)
    link = &(*link)->next;
  *link = session->next;
  session->next = NULL;
  uint32_t last = jvm_objects_last_ref(session->objects);
  uint32_t *kept = find_last_ref(sessions, session->hash);
  if (*kept < last)
    *kept = last;
}

/* ---- groups ---- */

static struct session_group **bucket_of_group(const struct rpc_sessions *sessions, uint64_t hash)
{
  return &sessions->groups[hash & (sessions->bucket_count - 1)];
}

static uint64_t hash_group(const struct rpc_sessions *sessions, const struct rpc_address *address,
                           uint32_t principal)
{
  return principal == 0 ? hash_bytes(sessions, address->bytes, address->length)
                        : hash_bytes(sessions, (const uint8_t *)&principal, sizeof principal);
}

/* Returns NULL if no session has counted for the group. */
static struct session_group *find_group(const struct rpc_sessions *sessions,
                                        const struct rpc_address *address, uint32_t principal, uint64_t hash)
{
  struct session_group *group = *bucket_of_group(sessions, hash);
  while (group != NULL &&
         !(group->principal == principal &&
           (principal != 0 || (group->address.length == address->length &&
                               memcmp(group->address.bytes, address->bytes, address->length) == 0))))
    group = group->next;
  return group;
}

/* Holds the group of the principal, or of the address if principal is 0, until release_group; makes the group if it does
 * not exist. NULL: no memory. */
static struct session_group *hold_group(struct rpc_sessions *sessions, const struct rpc_address *address,
                                        uint32_t principal)
{
  const uint64_t hash = hash_group(sessions, address, principal);
  struct session_group **bucket = bucket_of_group(sessions, hash);
  struct session_group *group = find_group(sessions, address, principal, hash);
  if (group == NULL) {
    group = calloc(1, sizeof *group);
    if (group == NULL)
      return NULL;
    group->hash = hash;
    group->principal = principal;
    group->address = *address;
    group->next = *bucket;
    *bucket = group;
  }
  group->holders++;
  return group;
}

/* NULL is fine. */
static void release_group(struct rpc_sessions *sessions, struct session_group *group)
{
  if (group == NULL || --group->holders > 0)
    return;
  struct session_group **link = bucket_of_group(sessions, group->hash);
  while (*link != group)
    link = &(*link)->next;
  *link = group->next;
  free(group);
}

/* Increments the counter. False: the counter is `most` already. Called without the lock. */
static bool count_up(_Atomic size_t *counter, size_t most)
{
  size_t count = atomic_load_explicit(counter, memory_order_relaxed);
  do {
    if (count >= most)
      return false;
  } while (!atomic_compare_exchange_weak(counter, &count, count + 1));
  return true;
}

/* ---- idle sessions ---- */

/* Returns when the TTL of a session without a holder is over; INT64_MAX: never. */
static int64_t find_expiry(const struct rpc_sessions *sessions, const struct rpc_session *idle)
{
  int64_t expiry;
  if (__builtin_add_overflow(idle->idle_since, sessions->limits.ttl_ms, &expiry))
    return INT64_MAX;
  return expiry;
}

static struct session_queue *queue_of(struct rpc_sessions *sessions, const struct rpc_session *session)
{
  return session->is_passing ? &sessions->passing : &sessions->idle;
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
  queue_remove(queue_of(sessions, session), session, LINE_OF_ALL);
  if (session->is_passing)
    queue_remove(&atomic_load(&session->address)->passing, session, LINE_OF_ADDRESS);
  if (session->is_passing && session->of_principal != NULL)
    queue_remove(&session->of_principal->passing, session, LINE_OF_PRINCIPAL);
  session->is_idle = false;
}

/* The session has objects, and therefore an address. */
static void become_idle(struct rpc_sessions *sessions, struct rpc_session *session, int64_t now_ms)
{
  session->is_idle = true;
  session->idle_since = now_ms;
  int64_t expiry = find_expiry(sessions, session);
  if (expiry < sessions->sweeper_wakes) {
    sessions->sweeper_wakes = expiry; /* notified once */
    pthread_cond_signal(&sessions->changed);
  }
  queue_append(queue_of(sessions, session), session, LINE_OF_ALL);
  if (session->is_passing)
    queue_append(&atomic_load(&session->address)->passing, session, LINE_OF_ADDRESS);
  if (session->is_passing && session->of_principal != NULL)
    queue_append(&session->of_principal->passing, session, LINE_OF_PRINCIPAL);
}

/* ---- counting sessions with objects ---- */

/* jvm_objects_owner.leave */
static void count_down(void *context)
{
  struct rpc_session *session = context;
  principal_leave(session->maker.principal, PRINCIPAL_SESSIONS);
  atomic_fetch_sub(&atomic_load_explicit(&session->address, memory_order_relaxed)->sessions, 1);
  atomic_fetch_sub(&session->sessions->count, 1);
}

/* Takes a session without a holder out of the table, the queues and the counts. The caller destroys it. */
static void end_session(struct rpc_sessions *sessions, struct rpc_session *session)
{
  leave_idle(sessions, session);
  if (session->key_length > 0)
    remove_from_table(sessions, session);
  if (jvm_objects_count(session->objects) > 0)
    count_down(session);
  jvm_objects_set_owner(session->objects, NULL, NULL);
  release_group(sessions, atomic_load(&session->address));
  release_group(sessions, session->of_principal);
  session->of_principal = NULL;
  atomic_store(&session->address, NULL);
}

static void free_session(struct rpc_session *session)
{
  principal_release(session->maker.principal);
  free(session);
}

/* Called without the lock, on a thread that may use Java. */
static void destroy_session(struct rpc_session *session, struct jvm_thread *thread)
{
  jvm_objects_destroy(thread, session->objects);
  free_session(session);
}

/* Finds the groups of the session, which the session holds from now on. Returns the group of the address.
 * NULL: no memory. */
static struct session_group *find_groups(struct rpc_session *session)
{
  struct session_group *address = atomic_load(&session->address);
  if (address != NULL)
    return address;
  struct rpc_sessions *sessions = session->sessions;
  const struct rpc_session_maker *maker = &session->maker;
  const uint32_t principal = principal_number(maker->principal);
  struct session_group *of_principal = NULL;
  pthread_mutex_lock(&sessions->lock);
  address = atomic_load(&session->address); /* another thread has found the groups */
  if (address == NULL) {
    if (principal == 0 || (of_principal = hold_group(sessions, &maker->address, principal)) != NULL)
      address = hold_group(sessions, &maker->address, 0);
    if (address != NULL) {
      session->of_principal = of_principal;
      atomic_store(&session->address, address);
    } else {
      release_group(sessions, of_principal);
    }
  }
  pthread_mutex_unlock(&sessions->lock);
  return address;
}

/* Ends the first session of a queue of passing sessions. False: the queue is empty. */
static bool end_oldest(struct rpc_sessions *sessions, const struct session_queue *passing,
                       struct jvm_thread *thread)
{
  pthread_mutex_lock(&sessions->lock);
  struct rpc_session *oldest = passing->first;
  if (oldest != NULL) {
    end_session(sessions, oldest);
    assert(passing->first != oldest);
  }
  pthread_mutex_unlock(&sessions->lock);
  if (oldest != NULL)
    destroy_session(oldest, thread);
  return oldest != NULL;
}

/* jvm_objects_owner.enter */
static enum jp_status count_session(void *context, struct jvm_thread *thread, struct jp_error *error)
{
  struct rpc_session *session = context;
  struct rpc_sessions *sessions = session->sessions;
  struct session_group *address = find_groups(session);
  if (address == NULL)
    return jp_fail_memory(error, NULL);
  struct principal *principal = session->maker.principal;
  while (!principal_enter(principal, PRINCIPAL_SESSIONS)) {
    if (!end_oldest(sessions, &session->of_principal->passing, thread))
      return principal_fail_limit(principal, PRINCIPAL_SESSIONS, error);
  }
  while (!count_up(&address->sessions, sessions->limits.per_address_max)) {
    if (end_oldest(sessions, &address->passing, thread))
      continue;
    principal_leave(principal, PRINCIPAL_SESSIONS);
    return jp_fail(error, JP_LIMIT,
                   "the limit of %zu sessions of one client address is reached (sessions-per-address)",
                   sessions->limits.per_address_max);
  }
  while (!count_up(&sessions->count, sessions->limits.sessions_max)) {
    if (end_oldest(sessions, &sessions->passing, thread))
      continue;
    atomic_fetch_sub(&address->sessions, 1);
    principal_leave(principal, PRINCIPAL_SESSIONS);
    return jp_fail(error, JP_LIMIT, "the limit of %zu sessions is reached (sessions-max)",
                   sessions->limits.sessions_max);
  }
  return JP_OK;
}

static const struct jvm_objects_owner OWNER = {.enter = count_session, .leave = count_down};

/* ---- holding ---- */

/* Sets the principal and the maker of the session. */
static void set_maker(struct rpc_session *session, const struct rpc_session_maker *maker)
{
  struct principal *before = session->maker.principal;
  session->maker = *maker;
  session->is_passing = maker->is_passing;
  if (maker->principal == before)
    return;
  principal_retain(maker->principal);
  jvm_objects_set_quota(session->objects,
                        maker->principal == NULL ? NULL : &maker->principal->quotas[PRINCIPAL_OBJECTS],
                        "limits.objects");
  principal_release(before);
}

/* The session's memory has room for the key, or for a later key of rpc_session_keep. */
static struct rpc_session *make_session(struct rpc_sessions *sessions, const struct rpc_session_maker *maker,
                                        const struct session_mark *mark, size_t key_length)
{
  size_t room = key_length > 0 ? key_length : OP_SESSION_KEY_HEAD + sizeof(struct uuid);
  struct rpc_session *session = calloc(1, sizeof *session + room);
  if (session == NULL)
    return NULL;
  if (jvm_objects_create(sessions->limits.max_objects, &session->objects) != JP_OK) {
    free(session);
    return NULL;
  }
  jvm_objects_set_owner(session->objects, &OWNER, session);
  jvm_objects_set_tally(session->objects, &sessions->refs);
  jvm_objects_begin_after(session->objects, mark->first_ref - 1);
  session->epoch = mark->epoch;
  session->sessions = sessions;
  set_maker(session, maker);
  session->holders = 1;
  return session;
}

/* message has the same meaning as in rpc_session_maker. */
static struct rpc_session *hold_session(struct rpc_sessions *sessions, struct rpc_session *found,
                                        uint64_t message)
{
  leave_idle(sessions, found);
  found->is_passing = found->is_passing && message != 0 && message == found->maker.message;
  found->holders++;
  return found;
}

enum jp_status rpc_session_acquire(struct rpc_sessions *sessions, const struct op_session_key *key,
                                   const struct rpc_session_maker *maker, struct rpc_session **session,
                                   struct jp_error *error)
{
  static const struct op_session_key nameless = {.serial = 0};
  struct session_mark mark;
  if (key == NULL)
    key = &nameless;
  if (key->length == 0) {
    enum jp_status status = make_mark(sessions, key, &mark);
    if (status != JP_OK)
      return jp_fail(error, status, "OpenSSL fails to hash");
    *session = make_session(sessions, maker, &mark, 0);
    return *session == NULL ? jp_fail_memory(error, NULL) : JP_OK;
  }
  uint64_t hash = hash_bytes(sessions, key->bytes, key->length);
  enum jp_status status = JP_OK;
  pthread_mutex_lock(&sessions->lock);
  struct rpc_session *found = find_by_key(sessions, key, hash);
  *session = NULL;
  if (found != NULL) {
    *session = hold_session(sessions, found, maker->message);
  } else if ((status = make_mark(sessions, key, &mark)) == JP_OK &&
             (*session = make_session(sessions, maker, &mark, key->length)) != NULL) {
    uint32_t last_ref = *find_last_ref(sessions, hash);
    if (last_ref > 0)
      jvm_objects_begin_after((*session)->objects, last_ref);
    add_to_table(sessions, *session, key, hash);
  }
  pthread_mutex_unlock(&sessions->lock);
  if (status != JP_OK)
    return jp_fail(error, status, "OpenSSL fails to hash");
  return *session == NULL ? jp_fail_memory(error, NULL) : JP_OK;
}

uint64_t rpc_sessions_epoch(struct rpc_sessions *sessions, const struct op_session_key *key)
{
  struct session_mark mark = {0};
  if (key->length > 0) {
    uint64_t hash = hash_bytes(sessions, key->bytes, key->length);
    pthread_mutex_lock(&sessions->lock);
    const struct rpc_session *found = find_by_key(sessions, key, hash);
    mark.epoch = found == NULL ? 0 : found->epoch;
    pthread_mutex_unlock(&sessions->lock);
  }
  if (mark.epoch != 0 || make_mark(sessions, key, &mark) == JP_OK)
    return mark.epoch;
  return 0;
}

uint64_t rpc_session_epoch(const struct rpc_session *session)
{
  return session->epoch;
}

struct rpc_session *rpc_session_find(struct rpc_sessions *sessions, const struct op_session_key *key)
{
  if (key->length == 0)
    return NULL;
  uint64_t hash = hash_bytes(sessions, key->bytes, key->length);
  pthread_mutex_lock(&sessions->lock);
  struct rpc_session *found = find_by_key(sessions, key, hash);
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

/* Called with the lock held, for a session without a holder. Returns the session if the caller has to
 * destroy it. */
static struct rpc_session *settle_session(struct rpc_sessions *sessions, struct rpc_session *session,
                                          bool may_destroy, int64_t now_ms)
{
  bool stays =
      session->key_length > 0 && !session->ends_with_holders && !principal_is_gone(session->maker.principal);
  if (stays && jvm_objects_count(session->objects) > 0) {
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
    ended = settle_session(sessions, session, thread != NULL, now_ms);
  pthread_mutex_unlock(&sessions->lock);
  if (ended != NULL)
    destroy_session(ended, thread);
}

bool rpc_session_set_aside(const struct rpc_session *session)
{
  return session->key_length == 0 && atomic_load(&session->address) == NULL &&
         jvm_objects_is_unused(session->objects);
}

void rpc_session_resume(struct rpc_session *session, const struct rpc_session_maker *maker)
{
  assert(session->key_length == 0 && session->holders == 1);
  set_maker(session, maker);
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

/* Called with the lock held. */
static struct op_session_key name_session(struct rpc_sessions *sessions, struct rpc_session *session,
                                          struct uuid *peer_id)
{
  struct op_session_key key;
  uuid_random(peer_id);
  op_session_key_peer_id(&key, principal_number(session->maker.principal), peer_id);
  add_to_table(sessions, session, &key, hash_bytes(sessions, key.bytes, key.length));
  return key;
}

void rpc_session_keep(struct rpc_sessions *sessions, struct rpc_session *session, struct uuid *peer_id)
{
  assert(session->key_length == 0);
  struct session_mark mark = {0};
  pthread_mutex_lock(&sessions->lock);
  const struct op_session_key key = name_session(sessions, session, peer_id);
  /* No client has received the epoch of the session without a name. */
  session->epoch = make_mark(sessions, &key, &mark) == JP_OK ? mark.epoch : 0;
  pthread_mutex_unlock(&sessions->lock);
}

bool rpc_session_share(struct rpc_sessions *sessions, struct rpc_session *session, struct uuid *peer_id)
{
  pthread_mutex_lock(&sessions->lock);
  bool is_named = session->key_length > 0;
  bool good = !is_named || op_session_key_read_peer_id(session->key, session->key_length, peer_id);
  if (!is_named) {
    /* the session keeps its epoch, because its client has received that epoch */
    (void)name_session(sessions, session, peer_id);
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

void rpc_session_add_calls(struct rpc_session *session, uint64_t calls)
{
  atomic_fetch_add_explicit(&session->calls, calls, memory_order_relaxed);
}

uint64_t rpc_session_calls(const struct rpc_session *session)
{
  return atomic_load_explicit(&session->calls, memory_order_relaxed);
}

/* ---- the sweeper: ends expired sessions, and destroys those that their last holder could not destroy ---- */

/* NULL: no session is idle. */
static struct rpc_session *find_longest_idle(const struct rpc_sessions *sessions)
{
  struct rpc_session *idle = sessions->idle.first;
  struct rpc_session *passing = sessions->passing.first;
  if (idle == NULL || passing == NULL)
    return idle != NULL ? idle : passing;
  return idle->idle_since <= passing->idle_since ? idle : passing;
}

static int64_t find_next_expiry(const struct rpc_sessions *sessions)
{
  const struct rpc_session *next = find_longest_idle(sessions);
  return next == NULL ? INT64_MAX : find_expiry(sessions, next);
}

static void set_sweeper(struct rpc_sessions *sessions, enum sweeper_state to)
{
  assert(pthread_mutex_trylock(&sessions->lock) != 0);
  ASSERT_TRANSITION(sweeper_transitions, sessions->sweeper, to);
  sessions->sweeper = to;
}

/* Called with the lock held. The result is true after the stop, too. */
static bool is_stopping(const struct rpc_sessions *sessions)
{
  return sessions->sweeper == SWEEPER_STOPPING || sessions->sweeper == SWEEPER_STOPPED;
}

/* Returns the next session to destroy, or NULL. */
static struct rpc_session *remove_ended(struct rpc_sessions *sessions, int64_t now_ms)
{
  pthread_mutex_lock(&sessions->lock);
  struct rpc_session *ended = sessions->dead;
  struct rpc_session *idle = find_longest_idle(sessions);
  if (ended != NULL) {
    sessions->dead = ended->next;
  } else if (idle != NULL &&
             (is_stopping(sessions) || now_ms - idle->idle_since >= sessions->limits.ttl_ms)) {
    ended = idle;
    end_session(sessions, ended);
  }
  pthread_mutex_unlock(&sessions->lock);
  return ended;
}

void rpc_sessions_end_gone(struct rpc_sessions *sessions)
{
  pthread_mutex_lock(&sessions->lock);
  struct session_queue *queues[] = {&sessions->idle, &sessions->passing};
  for (size_t i = 0; i < sizeof queues / sizeof queues[0]; i++) {
    for (struct rpc_session *session = queues[i]->first, *next; session != NULL; session = next) {
      next = session->lines[LINE_OF_ALL].after;
      if (!principal_is_gone(session->maker.principal))
        continue;
      end_session(sessions, session);
      leave_to_sweeper(sessions, session);
    }
  }
  pthread_mutex_unlock(&sessions->lock);
}

int64_t rpc_sessions_sweep(struct rpc_sessions *sessions, struct jvm_thread *thread, int64_t now_ms)
{
  struct rpc_session *ended;
  while ((ended = remove_ended(sessions, now_ms)) != NULL)
    destroy_session(ended, thread);
  pthread_mutex_lock(&sessions->lock);
  int64_t expiry = find_next_expiry(sessions);
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

static void run_sweeper(void *argument, struct jvm_thread *thread)
{
  struct rpc_sessions *sessions = argument;
  bool stopping = false;
  pthread_mutex_lock(&sessions->lock);
  while (!stopping) {
    while (!is_stopping(sessions) && sessions->dead == NULL && find_next_expiry(sessions) > clock_now_ms()) {
      sessions->sweeper_wakes = find_next_expiry(sessions);
      wait_until(sessions, sessions->sweeper_wakes);
    }
    stopping = is_stopping(sessions);
    pthread_mutex_unlock(&sessions->lock);
    rpc_sessions_sweep(sessions, thread, clock_now_ms());
    pthread_mutex_lock(&sessions->lock);
  }
  set_sweeper(sessions, SWEEPER_STOPPED);
  pthread_cond_broadcast(&sessions->changed);
  pthread_mutex_unlock(&sessions->lock);
}

enum jp_status rpc_sessions_start(struct rpc_sessions *sessions, struct jvm *jvm, struct jp_error *error)
{
  pthread_mutex_lock(&sessions->lock);
  set_sweeper(sessions, SWEEPER_RUNS);
  pthread_mutex_unlock(&sessions->lock);
  enum jp_status status = jvm_spawn(jvm, "jpeer-sessions", run_sweeper, sessions, error);
  if (status == JP_OK)
    return JP_OK;
  pthread_mutex_lock(&sessions->lock);
  set_sweeper(sessions, SWEEPER_NONE);
  pthread_mutex_unlock(&sessions->lock);
  return status;
}

bool rpc_sessions_stop(struct rpc_sessions *sessions, int64_t wait_ms)
{
  int64_t deadline = clock_now_ms() + wait_ms;
  pthread_mutex_lock(&sessions->lock);
  if (sessions->sweeper == SWEEPER_RUNS)
    set_sweeper(sessions, SWEEPER_STOPPING);
  else if (sessions->sweeper == SWEEPER_NONE)
    set_sweeper(sessions, SWEEPER_STOPPED);
  pthread_cond_broadcast(&sessions->changed);
  while (sessions->sweeper != SWEEPER_STOPPED && clock_now_ms() < deadline)
    wait_until(sessions, deadline);
  bool ended = sessions->sweeper == SWEEPER_STOPPED;
  pthread_mutex_unlock(&sessions->lock);
  return ended;
}

/* ---- all sessions ---- */

static void free_tables(struct rpc_sessions *sessions)
{
  for (size_t i = 0; i < sessions->bucket_count; i++) {
    for (struct rpc_session *session = sessions->buckets == NULL ? NULL : sessions->buckets[i], *next;
         session != NULL; session = next) {
      next = session->next;
      free_session(session);
    }
    for (struct session_group *group = sessions->groups == NULL ? NULL : sessions->groups[i], *next;
         group != NULL; group = next) {
      next = group->next;
      free(group);
    }
  }
  free(sessions->buckets);
  free(sessions->last_refs);
  free(sessions->groups);
}

static enum jp_status make_tables(struct rpc_sessions *sessions)
{
  sessions->bucket_count = BUCKETS_MIN;
  while (sessions->bucket_count < sessions->limits.sessions_max && sessions->bucket_count < BUCKETS_MAX)
    sessions->bucket_count *= 2;
  sessions->buckets = calloc(sessions->bucket_count, sizeof(struct rpc_session *));
  sessions->last_refs = calloc(LAST_REFS, sizeof *sessions->last_refs);
  sessions->groups = calloc(sessions->bucket_count, sizeof(struct session_group *));
  if (sessions->buckets != NULL && sessions->last_refs != NULL && sessions->groups != NULL)
    return JP_OK;
  free_tables(sessions);
  return JP_NO_MEMORY;
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
  memcpy(made->seed, random.bytes + sizeof random.bytes - SEED_BYTES, SEED_BYTES);
  enum jp_status status = keyed_hash_create(&made->epochs);
  if (status == JP_OK)
    status = make_tables(made);
  if (status != JP_OK) {
    keyed_hash_destroy(made->epochs);
    free(made);
    return status;
  }
  pthread_mutex_init(&made->lock, NULL);
  clock_init_condition(&made->changed);
  *sessions = made;
  return JP_OK;
}

void rpc_sessions_destroy(struct rpc_sessions *sessions)
{
  if (sessions == NULL)
    return;
  for (struct rpc_session *dead = sessions->dead, *next; dead != NULL; dead = next) {
    next = dead->next;
    free_session(dead);
  }
  free_tables(sessions);
  keyed_hash_destroy(sessions->epochs);
  pthread_cond_destroy(&sessions->changed);
  pthread_mutex_destroy(&sessions->lock);
  free(sessions);
}

size_t rpc_sessions_count_refs(const struct rpc_sessions *sessions)
{
  return jvm_objects_tally_sum(&sessions->refs);
}

size_t rpc_sessions_count(struct rpc_sessions *sessions)
{
  return atomic_load(&sessions->count);
}

size_t rpc_sessions_count_of(struct rpc_sessions *sessions, const struct rpc_address *address)
{
  uint64_t hash = hash_group(sessions, address, 0);
  pthread_mutex_lock(&sessions->lock);
  const struct session_group *group = find_group(sessions, address, 0, hash);
  size_t count = group == NULL ? 0 : atomic_load_explicit(&group->sessions, memory_order_relaxed);
  pthread_mutex_unlock(&sessions->lock);
  return count;
}
