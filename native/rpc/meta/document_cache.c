#include "rpc/meta/document_cache.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

enum { ENTRIES = 2 };

struct kept_document {
  atomic_uint users; /* the number of holders; the cache is one of them */
  struct buffer key;
  struct buffer text;
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

struct text kept_document_text(const struct kept_document *kept)
{
  return buffer_text(&kept->text);
}

void kept_document_drop(struct kept_document *kept)
{
  if (kept == NULL || atomic_fetch_sub(&kept->users, 1) != 1)
    return;
  buffer_fini(&kept->key);
  buffer_fini(&kept->text);
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
    if (cache->entries[i] == NULL || !text_equal(buffer_text(&cache->entries[i]->key), key))
      continue;
    found = cache->entries[i];
    atomic_fetch_add(&found->users, 1);
    move_to_front(cache, i);
  }
  pthread_mutex_unlock(&cache->lock);
  return found;
}

static size_t length_of(const struct kept_document *kept)
{
  return kept == NULL ? 0 : kept->text.len;
}

/* Puts the document into the cache, which then owns it. The document must not be too long. */
static void keep_document(struct document_cache *cache, struct kept_document *added)
{
  struct kept_document *out[ENTRIES] = {NULL};
  pthread_mutex_lock(&cache->lock);
  out[ENTRIES - 1] = cache->entries[ENTRIES - 1];
  cache->entries[ENTRIES - 1] = added;
  move_to_front(cache, ENTRIES - 1);
  size_t total = length_of(added);
  for (size_t i = 1; i < ENTRIES; i++) {
    if (total + length_of(cache->entries[i]) > DOCUMENT_CACHE_BYTES_MAX) {
      out[i - 1] = cache->entries[i];
      cache->entries[i] = NULL;
    }
    total += length_of(cache->entries[i]);
  }
  pthread_mutex_unlock(&cache->lock);
  for (size_t i = 0; i < ENTRIES; i++)
    kept_document_drop(out[i]);
}

void document_cache_take(struct document_cache *cache, struct text key, struct buffer *document)
{
  struct kept_document *added = calloc(1, sizeof *added);
  bool fits = key.len <= DOCUMENT_CACHE_KEY_MAX && document->len <= DOCUMENT_CACHE_BYTES_MAX;
  if (added == NULL || !fits || document->failed) {
    free(added);
    buffer_fini(document);
    return;
  }
  atomic_init(&added->users, 1);
  buffer_init(&added->key);
  buffer_append_text(&added->key, key);
  added->text = *document;
  buffer_init(document);
  if (added->key.failed)
    kept_document_drop(added);
  else
    keep_document(cache, added);
}

void document_cache_store(struct document_cache *cache, struct text key, struct text document)
{
  struct buffer copy;
  if (document.len > DOCUMENT_CACHE_BYTES_MAX)
    return;
  buffer_init(&copy);
  buffer_append_text(&copy, document);
  document_cache_take(cache, key, &copy);
}
