#include "rpc/meta/meta_cache.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

enum { ENTRIES = 2 };

struct meta_cached {
  atomic_uint users; /* the cache itself is one */
  size_t key_length;
  size_t answer_length;
  char bytes[]; /* key, then answer */
};

struct meta_cache {
  pthread_mutex_t lock;
  struct meta_cached *entries[ENTRIES]; /* the last that was asked for first; NULL: free */
};

struct meta_cache *meta_cache_create(void)
{
  struct meta_cache *cache = calloc(1, sizeof *cache);
  if (cache != NULL)
    pthread_mutex_init(&cache->lock, NULL);
  return cache;
}

void meta_cache_destroy(struct meta_cache *cache)
{
  if (cache == NULL)
    return;
  for (size_t i = 0; i < ENTRIES; i++)
    meta_cached_drop(cache->entries[i]);
  pthread_mutex_destroy(&cache->lock);
  free(cache);
}

static struct text key_of(const struct meta_cached *cached)
{
  return (struct text){cached->bytes, cached->key_length};
}

struct text meta_cached_text(const struct meta_cached *cached)
{
  return (struct text){cached->bytes + cached->key_length, cached->answer_length};
}

void meta_cached_drop(struct meta_cached *cached)
{
  if (cached != NULL && atomic_fetch_sub(&cached->users, 1) == 1)
    free(cached);
}

static void move_to_front(struct meta_cache *cache, size_t index)
{
  struct meta_cached *moved = cache->entries[index];
  memmove(&cache->entries[1], &cache->entries[0], index * sizeof(struct meta_cached *));
  cache->entries[0] = moved;
}

struct meta_cached *meta_cache_find(struct meta_cache *cache, struct text key)
{
  struct meta_cached *found = NULL;
  pthread_mutex_lock(&cache->lock);
  for (size_t i = 0; i < ENTRIES && found == NULL; i++) {
    if (cache->entries[i] == NULL || !text_equal(key_of(cache->entries[i]), key))
      continue;
    found = cache->entries[i];
    atomic_fetch_add(&found->users, 1);
    move_to_front(cache, i);
  }
  pthread_mutex_unlock(&cache->lock);
  return found;
}

void meta_cache_store(struct meta_cache *cache, struct text key, struct text answer)
{
  if (key.len > META_CACHED_KEY_MAX || answer.len > META_CACHED_BYTES_MAX)
    return;
  struct meta_cached *added = malloc(sizeof *added + key.len + answer.len);
  if (added == NULL)
    return;
  atomic_init(&added->users, 1);
  added->key_length = key.len;
  added->answer_length = answer.len;
  memcpy(added->bytes, key.data, key.len);
  memcpy(added->bytes + key.len, answer.data, answer.len);
  pthread_mutex_lock(&cache->lock);
  struct meta_cached *out = cache->entries[ENTRIES - 1];
  cache->entries[ENTRIES - 1] = added;
  move_to_front(cache, ENTRIES - 1);
  pthread_mutex_unlock(&cache->lock);
  meta_cached_drop(out);
}
