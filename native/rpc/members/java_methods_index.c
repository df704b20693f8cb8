#include "rpc/members/java_methods_index.h"

#include <pthread.h>
#include <stdlib.h>

enum { BUCKETS = 512 };

struct entry {
  struct entry *next;
  struct arena arena; /* owns all below */
  struct text class_name;
  struct text member;
  struct java_method *methods;
  size_t count;
  struct catalog_excerpt *excerpt; /* held: the methods borrow from its tables */
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
  catalog_excerpt_close(entry->excerpt);
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

static struct entry **bucket_of(struct java_methods_index *index, struct text class_name, struct text member)
{
  uint64_t hash = text_hash(member) ^ text_hash(class_name) * (uint64_t)0x9E3779B97F4A7C15u;
  return &index->buckets[(hash ^ hash >> 32) % BUCKETS];
}

static struct entry *find_locked(struct entry *entry, struct text class_name, struct text member)
{
  while (entry != NULL && !(text_equal(entry->class_name, class_name) && text_equal(entry->member, member)))
    entry = entry->next;
  return entry;
}

/* Takes the entry where there is room and no other thread has stored the same. */
static bool keep_entry(struct java_methods_index *index, struct entry *entry)
{
  struct entry **bucket = bucket_of(index, entry->class_name, entry->member);
  pthread_mutex_lock(&index->lock);
  bool kept =
      index->count < JAVA_METHODS_KEPT && find_locked(*bucket, entry->class_name, entry->member) == NULL;
  if (kept) {
    entry->next = *bucket;
    *bucket = entry;
    index->count++;
  }
  pthread_mutex_unlock(&index->lock);
  return kept;
}

static struct entry *make_entry(struct catalog_excerpt *excerpt, const struct policy *policy,
                                struct text class_name, uint32_t class_index, struct text member)
{
  struct entry *entry = calloc(1, sizeof *entry);
  if (entry == NULL)
    return NULL;
  arena_init(&entry->arena);
  entry->excerpt = catalog_excerpt_retain(excerpt);
  entry->class_name = arena_text(&entry->arena, class_name);
  entry->member = arena_text(&entry->arena, member);
  if (entry->class_name.data != NULL && entry->member.data != NULL &&
      java_methods_collect_named(catalog_excerpt_tables(excerpt), policy, class_index, member, &entry->arena,
                                 &entry->methods, &entry->count) == JP_OK)
    return entry;
  destroy_entry(entry);
  return NULL;
}

static void give_entry(const struct entry *entry, struct java_methods_found *found)
{
  *found = (struct java_methods_found){.has_class = true,
                                       .methods = entry->methods,
                                       .count = entry->count,
                                       .tables = catalog_excerpt_tables(entry->excerpt),
                                       .excerpt = catalog_excerpt_retain(entry->excerpt)};
}

/* Keeps the methods that have the name; false: there are none, or no room for them. */
static bool store(struct java_methods_index *index, struct catalog_excerpt *excerpt,
                  const struct policy *policy, struct text class_name, uint32_t class_index,
                  struct text member, struct java_methods_found *found)
{
  struct entry *entry = make_entry(excerpt, policy, class_name, class_index, member);
  if (entry == NULL)
    return false;
  bool is_kept = entry->count > 0 && keep_entry(index, entry);
  if (is_kept)
    give_entry(entry, found);
  else
    destroy_entry(entry);
  return is_kept;
}

enum jp_status java_methods_index_find(struct java_methods_index *index, struct catalog *catalog,
                                       const struct policy *policy, struct text class_name,
                                       struct text member, struct arena *arena,
                                       struct java_methods_found *found, struct jp_error *error)
{
  *found = (struct java_methods_found){.has_class = false};
  pthread_mutex_lock(&index->lock);
  struct entry *entry = find_locked(*bucket_of(index, class_name, member), class_name, member);
  bool has_room = index->count < JAVA_METHODS_KEPT;
  pthread_mutex_unlock(&index->lock);
  if (entry != NULL) { /* entries stay until the index ends */
    give_entry(entry, found);
    return JP_OK;
  }
  struct catalog_excerpt *excerpt;
  enum jp_status status = catalog_excerpt_open(catalog, &class_name, 1, CATALOG_ANCESTRY, &excerpt, error);
  if (status != JP_OK)
    return status;
  const struct catalog_tables *tables = catalog_excerpt_tables(excerpt);
  uint32_t class_index = catalog_find(tables, class_name);
  if (class_index == CATALOG_NONE ||
      (has_room && store(index, excerpt, policy, class_name, class_index, member, found))) {
    catalog_excerpt_close(excerpt);
    return JP_OK;
  }
  struct java_method *collected = NULL;
  *found = (struct java_methods_found){.has_class = true, .tables = tables, .excerpt = excerpt};
  status = java_methods_collect_named(tables, policy, class_index, member, arena, &collected, &found->count);
  found->methods = collected;
  return status == JP_OK ? JP_OK : jp_fail(error, status, "out of memory");
}

void java_methods_index_release(struct java_methods_found *found)
{
  catalog_excerpt_close(found->excerpt);
  *found = (struct java_methods_found){.has_class = false};
}
