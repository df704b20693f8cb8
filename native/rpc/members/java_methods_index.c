#include "rpc/members/java_methods_index.h"

#include <pthread.h>
#include <stdlib.h>

enum { BUCKETS = 512 };

struct entry {
  struct entry *next;
  struct arena arena; /* owns all below */
  uint32_t class_index;
  struct text member;
  struct java_method *methods;
  size_t count;
};

struct java_methods_index {
  pthread_mutex_t lock;
  size_t count;
  struct entry *buckets[BUCKETS];
};

static void destroy_entry(struct entry *entry)
{
  if (entry == NULL)
    return;
  arena_fini(&entry->arena);
  free(entry);
}

struct java_methods_index *java_methods_index_create(void)
{
  struct java_methods_index *index = calloc(1, sizeof *index);
  if (index != NULL)
    pthread_mutex_init(&index->lock, NULL);
  return index;
}

void java_methods_index_destroy(struct java_methods_index *index)
{
  if (index == NULL)
    return;
  for (size_t i = 0; i < BUCKETS; i++) {
    while (index->buckets[i] != NULL) {
      struct entry *entry = index->buckets[i];
      index->buckets[i] = entry->next;
      destroy_entry(entry);
    }
  }
  pthread_mutex_destroy(&index->lock);
  free(index);
}

static struct entry **bucket_of(struct java_methods_index *index, uint32_t class_index, struct text member)
{
  uint64_t hash = text_hash(member) ^ class_index * (uint64_t)0x9E3779B97F4A7C15u;
  return &index->buckets[(hash ^ hash >> 32) % BUCKETS];
}

static struct entry *find_locked(struct entry *entry, uint32_t class_index, struct text member)
{
  while (entry != NULL && !(entry->class_index == class_index && text_equal(entry->member, member)))
    entry = entry->next;
  return entry;
}

/* Takes the entry where there is room and no other thread has stored the same. */
static bool keep_entry(struct java_methods_index *index, struct entry *entry)
{
  struct entry **bucket = bucket_of(index, entry->class_index, entry->member);
  pthread_mutex_lock(&index->lock);
  bool kept =
      index->count < JAVA_METHODS_KEPT && find_locked(*bucket, entry->class_index, entry->member) == NULL;
  if (kept) {
    entry->next = *bucket;
    *bucket = entry;
    index->count++;
  }
  pthread_mutex_unlock(&index->lock);
  return kept;
}

static struct entry *make_entry(const struct catalog_tables *tables, const struct policy *policy,
                                uint32_t class_index, struct text member)
{
  struct entry *entry = calloc(1, sizeof *entry);
  if (entry == NULL)
    return NULL;
  arena_init(&entry->arena);
  entry->class_index = class_index;
  entry->member = arena_text(&entry->arena, member);
  if (entry->member.data != NULL &&
      java_methods_collect_named(tables, policy, class_index, member, &entry->arena, &entry->methods,
                                 &entry->count) == JP_OK)
    return entry;
  destroy_entry(entry);
  return NULL;
}

enum jp_status java_methods_index_find(struct java_methods_index *index, const struct catalog_tables *tables,
                                       const struct policy *policy, uint32_t class_index, struct text member,
                                       struct arena *arena, const struct java_method **found, size_t *count)
{
  pthread_mutex_lock(&index->lock);
  struct entry *entry = find_locked(*bucket_of(index, class_index, member), class_index, member);
  bool has_room = index->count < JAVA_METHODS_KEPT;
  pthread_mutex_unlock(&index->lock);
  if (entry == NULL && has_room) {
    entry = make_entry(tables, policy, class_index, member);
    if (entry != NULL && (entry->count == 0 || !keep_entry(index, entry))) {
      destroy_entry(entry);
      entry = NULL;
    }
  }
  if (entry != NULL) {
    *found = entry->methods;
    *count = entry->count;
    return JP_OK;
  }
  struct java_method *collected = NULL;
  enum jp_status status =
      java_methods_collect_named(tables, policy, class_index, member, arena, &collected, count);
  *found = collected;
  return status;
}
