#include "rpc/meta/document_cache.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

enum { ENTRIES = 2 };

struct kept_document {
  atomic_uint users; /* the cache itself is one */
  size_t key_length;
  size_t text_length;
  char bytes[]; /* key, then text */
};

struct document_cache {
  pthread_mutex_t lock;
  struct kept_document *entries[ENTRIES]; /* the most recently used first; NULL: free */
};

struct document_cache *document_cache_create(void)
{
  struct document_cache *cache = calloc(1, sizeof *cache);
  if (cache != NULL)
    pthread_mutex_init(&cache->lock, NULL);
  return cache;
}

void document_cache_destroy(struct document_cache *cache)
{
  if (cache == NULL)
    return;
  for (size_t i = 0; i < ENTRIES; i++)
    kept_document_drop(cache->entries[i]);
  pthread_mutex_destroy(&cache->lock);
  free(cache);
}

static struct text key_of(const struct kept_document *kept)
{
  return (struct text){kept->bytes, kept->key_length};
}

struct text kept_document_text(const struct kept_document *kept)
{
  return (struct text){kept->bytes + kept->key_length, kept->text_length};
}

void kept_document_drop(struct kept_document *kept)
{
  if (kept != NULL && atomic_fetch_sub(&kept->users, 1) == 1)
    free(kept);
}

static void move_to_front(struct document_cache *cache, size_t index)
{
  struct kept_document *moved = cache->entries[index];
  memmove(&cache->entries[1], &cache->entries[0], index * sizeof(struct kept_document *));
  cache->entries[0] = moved;
}

struct kept_document *document_cache_find(struct document_cache *cache, struct text key)
{
  struct kept_document *found = NULL;
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

void document_cache_store(struct document_cache *cache, struct text key, struct text document)
{
  if (key.len > DOCUMENT_CACHE_KEY_MAX || document.len > DOCUMENT_CACHE_BYTES_MAX)
    return;
  struct kept_document *added = malloc(sizeof *added + key.len + document.len);
  if (added == NULL)
    return;
  atomic_init(&added->users, 1);
  added->key_length = key.len;
  added->text_length = document.len;
  memcpy(added->bytes, key.data, key.len);
  memcpy(added->bytes + key.len, document.data, document.len);
  pthread_mutex_lock(&cache->lock);
  struct kept_document *out = cache->entries[ENTRIES - 1];
  cache->entries[ENTRIES - 1] = added;
  move_to_front(cache, ENTRIES - 1);
  pthread_mutex_unlock(&cache->lock);
  kept_document_drop(out);
}
