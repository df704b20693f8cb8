#include "rpc/methods/java_methods_index.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

enum { BUCKETS = 512 };

struct java_methods_entry {
  struct java_methods_entry *next;  /* in its bucket */
  struct java_methods_entry *newer; /* by when it was asked for last; NULL: the newest */
  struct java_methods_entry *older;
  atomic_uint users;  /* the index, and each java_methods_found */
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
  struct java_methods_entry *newest;
  struct java_methods_entry *oldest;
  struct java_methods_entry *buckets[BUCKETS];
};

static void release_entry(struct java_methods_entry *entry)
{
  if (entry == NULL || atomic_fetch_sub(&entry->users, 1) != 1)
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
  while (index->newest != NULL) {
    struct java_methods_entry *entry = index->newest;
    index->newest = entry->older;
    release_entry(entry);
  }
  pthread_mutex_destroy(&index->lock);
  free(index);
}

/* ---- under the lock ---- */

static struct java_methods_entry **bucket_of(struct java_methods_index *index, struct text class_name,
                                             struct text member)
{
  uint64_t hash = text_hash(member) ^ text_hash(class_name) * (uint64_t)0x9E3779B97F4A7C15u;
  return &index->buckets[(hash ^ hash >> 32) % BUCKETS];
}

static struct java_methods_entry *find_entry(struct java_methods_index *index, struct text class_name,
                                             struct text member)
{
  struct java_methods_entry *entry = *bucket_of(index, class_name, member);
  while (entry != NULL && !(text_equal(entry->class_name, class_name) && text_equal(entry->member, member)))
    entry = entry->next;
  return entry;
}

static void put_newest(struct java_methods_index *index, struct java_methods_entry *entry)
{
  entry->newer = NULL;
  entry->older = index->newest;
  if (index->newest != NULL)
    index->newest->newer = entry;
  else
    index->oldest = entry;
  index->newest = entry;
}

static void take_out_of_order(struct java_methods_index *index, struct java_methods_entry *entry)
{
  if (entry->newer != NULL)
    entry->newer->older = entry->older;
  else
    index->newest = entry->older;
  if (entry->older != NULL)
    entry->older->newer = entry->newer;
  else
    index->oldest = entry->newer;
}

static struct java_methods_entry *remove_oldest(struct java_methods_index *index)
{
  struct java_methods_entry *oldest = index->oldest;
  struct java_methods_entry **at = bucket_of(index, oldest->class_name, oldest->member);
  while (*at != oldest)
    at = &(*at)->next;
  *at = oldest->next;
  take_out_of_order(index, oldest);
  index->count--;
  return oldest;
}

/* ---- looking up ---- */

/* The entry, for release_entry; NULL: it is not kept. */
static struct java_methods_entry *use_kept(struct java_methods_index *index, struct text class_name,
                                           struct text member)
{
  pthread_mutex_lock(&index->lock);
  struct java_methods_entry *entry = find_entry(index, class_name, member);
  if (entry != NULL) {
    atomic_fetch_add(&entry->users, 1);
    if (entry != index->newest) {
      take_out_of_order(index, entry);
      put_newest(index, entry);
    }
  }
  pthread_mutex_unlock(&index->lock);
  return entry;
}

/* Keeps the entry, too, where no other thread has stored the same. */
static void keep_entry(struct java_methods_index *index, struct java_methods_entry *entry)
{
  struct java_methods_entry *dropped = NULL;
  pthread_mutex_lock(&index->lock);
  if (find_entry(index, entry->class_name, entry->member) == NULL) {
    if (index->count == JAVA_METHODS_KEPT)
      dropped = remove_oldest(index);
    struct java_methods_entry **bucket = bucket_of(index, entry->class_name, entry->member);
    entry->next = *bucket;
    *bucket = entry;
    put_newest(index, entry);
    atomic_fetch_add(&entry->users, 1);
    index->count++;
  }
  pthread_mutex_unlock(&index->lock);
  release_entry(dropped);
}

/* Takes the excerpt, even on failure. */
static struct java_methods_entry *make_entry(struct catalog_excerpt *excerpt, const struct policy *policy,
                                             struct text class_name, uint32_t class_index, struct text member)
{
  struct java_methods_entry *entry = calloc(1, sizeof *entry);
  if (entry == NULL) {
    catalog_excerpt_close(excerpt);
    return NULL;
  }
  arena_init(&entry->arena);
  atomic_init(&entry->users, 1);
  entry->excerpt = excerpt;
  entry->class_name = arena_text(&entry->arena, class_name);
  entry->member = arena_text(&entry->arena, member);
  if (entry->class_name.data != NULL && entry->member.data != NULL &&
      java_methods_collect_named(catalog_excerpt_tables(excerpt), policy, class_index, member, &entry->arena,
                                 &entry->methods, &entry->count) == JP_OK)
    return entry;
  release_entry(entry);
  return NULL;
}

enum jp_status java_methods_index_find(struct java_methods_index *index, struct catalog *catalog,
                                       const struct policy *policy, struct text class_name,
                                       struct text member, struct java_methods_found *found,
                                       struct jp_error *error)
{
  *found = (struct java_methods_found){.has_class = false};
  struct java_methods_entry *entry = use_kept(index, class_name, member);
  if (entry == NULL) {
    struct catalog_excerpt *excerpt;
    enum jp_status status = catalog_excerpt_open(catalog, &class_name, 1, CATALOG_ANCESTRY, &excerpt, error);
    if (status != JP_OK)
      return status;
    uint32_t class_index = catalog_find(catalog_excerpt_tables(excerpt), class_name);
    if (class_index == CATALOG_NONE) {
      catalog_excerpt_close(excerpt);
      return JP_OK;
    }
    entry = make_entry(excerpt, policy, class_name, class_index, member);
    if (entry == NULL)
      return jp_fail(error, JP_NO_MEMORY, "out of memory");
    if (entry->count > 0) /* else a caller who makes names up would have room for them */
      keep_entry(index, entry);
  }
  *found = (struct java_methods_found){.has_class = true,
                                       .methods = entry->methods,
                                       .count = entry->count,
                                       .tables = catalog_excerpt_tables(entry->excerpt),
                                       .entry = entry};
  return JP_OK;
}

void java_methods_index_release(struct java_methods_found *found)
{
  release_entry(found->entry);
  *found = (struct java_methods_found){.has_class = false};
}
