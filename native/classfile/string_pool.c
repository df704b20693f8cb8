#include "classfile/string_pool.h"

#include "classfile/table.h"

#include <stdlib.h>

struct slot {
  uint32_t hash;
  uint32_t id_plus_one; /* 0: free */
};

struct string_pool {
  struct table bytes;   /* char */
  struct table offsets; /* uint32_t: where text i starts; one more at the end */
  struct slot *slots;
  size_t slot_count; /* a power of two */
};

enum { FIRST_SLOTS = 1024 };

struct string_pool *string_pool_create(void)
{
  struct string_pool *pool = calloc(1, sizeof *pool);
  if (pool == NULL)
    return NULL;
  table_init(&pool->bytes, 1);
  table_init(&pool->offsets, sizeof(uint32_t));
  pool->slot_count = FIRST_SLOTS;
  pool->slots = calloc(pool->slot_count, sizeof *pool->slots);
  uint32_t *start = table_add(&pool->offsets, 1);
  uint32_t empty;
  if (start != NULL)
    *start = 0;
  if (pool->slots == NULL || start == NULL || string_pool_intern(pool, TEXT(""), &empty) != JP_OK) {
    string_pool_destroy(pool);
    return NULL;
  }
  return pool;
}

void string_pool_destroy(struct string_pool *pool)
{
  if (pool == NULL)
    return;
  table_fini(&pool->bytes);
  table_fini(&pool->offsets);
  free(pool->slots);
  free(pool);
}

static bool grow_slots(struct string_pool *pool)
{
  size_t count = pool->slot_count * 2;
  struct slot *slots = calloc(count, sizeof *slots);
  if (slots == NULL)
    return false;
  for (size_t i = 0; i < pool->slot_count; i++) {
    if (pool->slots[i].id_plus_one == 0)
      continue;
    size_t at = pool->slots[i].hash & (count - 1);
    while (slots[at].id_plus_one != 0)
      at = (at + 1) & (count - 1);
    slots[at] = pool->slots[i];
  }
  free(pool->slots);
  pool->slots = slots;
  pool->slot_count = count;
  return true;
}

static struct slot *find_slot(struct string_pool *pool, struct text t, uint32_t hash)
{
  size_t at = hash & (pool->slot_count - 1);
  for (;; at = (at + 1) & (pool->slot_count - 1)) {
    struct slot *slot = &pool->slots[at];
    if (slot->id_plus_one == 0 ||
        (slot->hash == hash && text_equal(string_pool_text(pool, slot->id_plus_one - 1), t)))
      return slot;
  }
}

static uint32_t hash_of(struct text t)
{
  return (uint32_t)(text_hash(t) >> 16);
}

void string_pool_expect(const struct string_pool *pool, struct text t)
{
  __builtin_prefetch(&pool->slots[hash_of(t) & (pool->slot_count - 1)]);
}

enum jp_status string_pool_intern(struct string_pool *pool, struct text t, uint32_t *id)
{
  uint32_t hash = hash_of(t);
  struct slot *slot = find_slot(pool, t, hash);
  if (slot->id_plus_one != 0) {
    *id = slot->id_plus_one - 1;
    return JP_OK;
  }
  size_t count = string_pool_count(pool);
  if (t.len > UINT32_MAX - pool->bytes.count || count >= UINT32_MAX - 1)
    return JP_LIMIT;
  char *bytes = table_add(&pool->bytes, t.len);
  uint32_t *end = table_add(&pool->offsets, 1);
  if (bytes == NULL || end == NULL)
    return JP_NO_MEMORY;
  if (t.len > 0)
    memcpy(bytes, t.data, t.len);
  *end = (uint32_t)pool->bytes.count;
  *slot = (struct slot){hash, (uint32_t)count + 1};
  *id = (uint32_t)count;
  return (count + 1) * 2 > pool->slot_count && !grow_slots(pool) ? JP_NO_MEMORY : JP_OK;
}

void string_pool_seal(struct string_pool *pool)
{
  free(pool->slots);
  pool->slots = NULL;
  pool->slot_count = 0;
  table_shrink(&pool->bytes);
  table_shrink(&pool->offsets);
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
