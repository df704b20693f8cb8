#include "classfile/string_pool.h"

#include "base/array.h"
#include "base/hash_index.h"

#include <stdlib.h>

struct string_pool {
  struct array bytes;    /* char */
  struct array offsets;  /* uint32_t: the start of each text, and at last the end of the last text */
  struct hash_index ids; /* by hash_of */
};

struct string_pool *string_pool_create(void)
{
  struct string_pool *pool = calloc(1, sizeof *pool);
  if (pool == NULL)
    return NULL;
  array_init(&pool->bytes, 1);
  array_init(&pool->offsets, sizeof(uint32_t));
  uint32_t *start = array_add(&pool->offsets, 1);
  uint32_t empty;
  if (start != NULL)
    *start = 0;
  if (start == NULL || string_pool_intern(pool, TEXT(""), &empty) != JP_OK) {
    string_pool_destroy(pool);
    return NULL;
  }
  return pool;
}

void string_pool_destroy(struct string_pool *pool)
{
  if (pool == NULL)
    return;
  array_fini(&pool->bytes);
  array_fini(&pool->offsets);
  hash_index_fini(&pool->ids);
  free(pool);
}

static uint32_t hash_of(struct text t)
{
  return (uint32_t)(text_hash(t) >> 16);
}

void string_pool_expect(const struct string_pool *pool, struct text t)
{
  hash_index_expect(&pool->ids, hash_of(t));
}

enum jp_status string_pool_intern(struct string_pool *pool, struct text t, uint32_t *id)
{
  uint32_t hash = hash_of(t);
  size_t cursor = SIZE_MAX;
  while ((*id = hash_index_next(&pool->ids, hash, &cursor)) != HASH_INDEX_NONE) {
    if (text_equal(string_pool_text(pool, *id), t))
      return JP_OK;
  }
  size_t count = string_pool_count(pool);
  if (t.len > UINT32_MAX - pool->bytes.count || count >= UINT32_MAX - 1)
    return JP_LIMIT;
  char *bytes = array_add(&pool->bytes, t.len);
  uint32_t *end = array_add(&pool->offsets, 1);
  if (bytes == NULL || end == NULL)
    return JP_NO_MEMORY;
  if (t.len > 0)
    memcpy(bytes, t.data, t.len);
  *end = (uint32_t)pool->bytes.count;
  *id = (uint32_t)count;
  return hash_index_add(&pool->ids, hash, *id);
}

void string_pool_seal(struct string_pool *pool)
{
  hash_index_fini(&pool->ids);
  array_shrink(&pool->bytes);
  array_shrink(&pool->offsets);
}

size_t string_pool_count(const struct string_pool *pool)
{
  return pool->offsets.count - 1;
}

struct text string_pool_text(const struct string_pool *pool, uint32_t id)
{
  const uint32_t *offsets = pool->offsets.items;
  return (struct text){(const char *)pool->bytes.items + offsets[id], offsets[id + 1] - offsets[id]};
}
