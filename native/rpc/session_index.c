#include "rpc/session_state.h"

#include <stdlib.h>

/* The tables never grow, so that no operation waits for a rehash; their untouched pages cost nothing. With
 * more sessions than buckets the chains become longer. */
enum { BUCKETS_MIN = 64, BUCKETS_MAX = 1 << 20 };

static size_t choose_bucket_count(size_t sessions_max)
{
  size_t count = BUCKETS_MIN;
  while (count < sessions_max && count < BUCKETS_MAX)
    count *= 2;
  return count;
}

enum jp_status session_index_init(struct rpc_sessions *sessions)
{
  sessions->bucket_count = choose_bucket_count(sessions->limits.sessions_max);
  sessions->buckets = calloc(sessions->bucket_count, sizeof(struct rpc_session *));
  sessions->last_refs = calloc(SESSION_LAST_REFS, sizeof *sessions->last_refs);
  enum jp_status status = session_addresses_init(&sessions->addresses, sessions->bucket_count);
  if (status == JP_OK && sessions->buckets != NULL && sessions->last_refs != NULL)
    return JP_OK;
  session_index_fini(sessions);
  return JP_NO_MEMORY;
}

void session_index_fini(struct rpc_sessions *sessions)
{
  for (size_t i = 0; sessions->buckets != NULL && i < sessions->bucket_count; i++) {
    for (struct rpc_session *session = sessions->buckets[i], *next; session != NULL; session = next) {
      next = session->next;
      free(session);
    }
  }
  free(sessions->buckets);
  free(sessions->last_refs);
  session_addresses_fini(&sessions->addresses);
  sessions->buckets = NULL;
  sessions->last_refs = NULL;
}

uint64_t session_index_hash(const struct rpc_sessions *sessions, const uint8_t *bytes, size_t length)
{
  char seeded[SESSION_SEED_BYTES + 1 + RPC_ROUTING_ID_MAX];
  memcpy(seeded, sessions->seed, SESSION_SEED_BYTES);
  memcpy(seeded + SESSION_SEED_BYTES, bytes, length);
  return text_hash((struct text){seeded, SESSION_SEED_BYTES + length});
}

static struct rpc_session **bucket_of(struct rpc_sessions *sessions, uint64_t hash)
{
  return &sessions->buckets[hash & (sessions->bucket_count - 1)];
}

struct rpc_session *session_index_find(struct rpc_sessions *sessions, const struct rpc_session_key *key,
                                       uint64_t hash)
{
  struct rpc_session *session = *bucket_of(sessions, hash);
  while (session != NULL && !(session->hash == hash && session->key_length == key->length &&
                              memcmp(session->key, key->bytes, key->length) == 0))
    session = session->next;
  return session;
}

void session_index_add(struct rpc_sessions *sessions, struct rpc_session *session,
                       const struct rpc_session_key *key, uint64_t hash)
{
  memcpy(session->key, key->bytes, key->length);
  session->key_length = key->length;
  session->hash = hash;
  struct rpc_session **bucket = bucket_of(sessions, hash);
  session->next = *bucket;
  *bucket = session;
}

static uint32_t *last_ref_of(const struct rpc_sessions *sessions, uint64_t hash)
{
  return &sessions->last_refs[hash >> 32 & (SESSION_LAST_REFS - 1)];
}

void session_index_remove(struct rpc_sessions *sessions, struct rpc_session *session)
{
  struct rpc_session **link = bucket_of(sessions, session->hash);
  while (*link != session)
    link = &(*link)->next;
  *link = session->next;
  session->next = NULL;
  uint32_t last = jvm_objects_last_ref(session->objects);
  uint32_t *kept = last_ref_of(sessions, session->hash);
  if (*kept < last)
    *kept = last;
}

uint32_t session_index_last_ref(const struct rpc_sessions *sessions, uint64_t hash)
{
  return *last_ref_of(sessions, hash);
}
