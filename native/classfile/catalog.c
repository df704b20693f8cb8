#include "classfile/catalog.h"

#include "base/array.h"
#include "base/buffer.h"
#include "base/c_library.h"
#include "base/clock.h"
#include "classfile/builder.h"
#include "classfile/excerpt.h"
#include "classfile/jimage.h"
#include "classfile/scan.h"
#include "classfile/string_pool.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

enum {
  FEATURE_VERSION_UNKNOWN = 17,
  /* The list of names is reused for at least a second, or for 20 times as long as it took to make. */
  NAMES_AGE_MS = 1000,
  NAMES_AGE_TIMES = 20,
  LISTED_AGE_MS = 60000 /* a list of all names may be older by this time */
};

/* The facts of a name that exclude most names without a comparison of their bytes. */
struct entry {
  /* a bit for each character in the name, without regard to case; some characters share a bit */
  uint64_t letters;
  uint32_t at; /* in bytes */
  uint16_t length;
  uint8_t last; /* character */
};

/* The names of all classes, indexed so that names similar to a given name are found in a fraction of a
 * millisecond. While names are added, only one thread uses the struct. Afterwards any number of threads may
 * use it. */
struct class_names {
  atomic_uint users;
  struct array entries;
  struct buffer bytes; /* one name after the other */
  bool is_short;       /* memory was short */
};

struct catalog {
  char *class_path;
  char *java_home; /* NULL: none */
  struct excerpts *excerpts;
  unsigned threads;
  atomic_bool is_loaded;
  atomic_bool is_stopped;
  pthread_mutex_t lock;
  /* guarded by the lock until they are loaded, then constant */
  struct builder *builder; /* owns the tables */
  struct catalog_tables tables;
  pthread_mutex_t names_lock;
  /* guarded by names_lock */
  struct class_names *names; /* NULL until similar names are first requested */
  int64_t names_good_until;  /* clock_now_ms */
};

static void release_names(struct class_names *names)
{
  if (names == NULL || atomic_fetch_sub(&names->users, 1) != 1)
    return;
  array_fini(&names->entries);
  buffer_fini(&names->bytes);
  free(names);
}

enum jp_status catalog_create(const struct catalog_config *config, struct catalog **catalog,
                              struct jp_error *error)
{
  struct catalog *created = calloc(1, sizeof *created);
  if (created == NULL)
    return jp_fail_memory(error, NULL);
  pthread_mutex_init(&created->lock, NULL);
  pthread_mutex_init(&created->names_lock, NULL);
  created->class_path = strdup(config->class_path == NULL ? "" : config->class_path);
  created->java_home = config->java_home == NULL ? NULL : strdup(config->java_home);
  if (created->class_path == NULL || (config->java_home != NULL && created->java_home == NULL)) {
    catalog_destroy(created);
    return jp_fail_memory(error, NULL);
  }
  created->excerpts =
      excerpts_create(&(struct catalog_config){created->class_path, created->java_home, config->threads});
  if (created->excerpts == NULL) {
    catalog_destroy(created);
    return jp_fail_memory(error, NULL);
  }
  created->threads = config->threads;
  *catalog = created;
  return JP_OK;
}

void catalog_stop(struct catalog *catalog)
{
  if (catalog != NULL)
    atomic_store(&catalog->is_stopped, true);
}

void catalog_destroy(struct catalog *catalog)
{
  if (catalog == NULL)
    return;
  excerpts_destroy(catalog->excerpts);
  builder_destroy(catalog->builder);
  release_names(catalog->names);
  pthread_mutex_destroy(&catalog->names_lock);
  pthread_mutex_destroy(&catalog->lock);
  free(catalog->class_path);
  free(catalog->java_home);
  free(catalog);
}

unsigned catalog_feature_version(const struct catalog_config *config)
{
  unsigned version = config->java_home == NULL ? 0 : jimage_feature_version(config->java_home);
  return version == 0 ? FEATURE_VERSION_UNKNOWN : version;
}

static enum jp_status load_tables(struct catalog *catalog, struct jp_error *error)
{
  struct builder *builder = builder_create();
  if (builder == NULL)
    return jp_fail_memory(error, "class files");
  const struct scan_config config = {.catalog = {catalog->class_path, catalog->java_home, catalog->threads},
                                     .threads = catalog->threads,
                                     .is_stopped = &catalog->is_stopped};
  enum jp_status status = scan_run(&config, builder, error);
  if (status == JP_OK)
    status = builder_finish(builder, &catalog->tables, error);
  if (status != JP_OK)
    builder_destroy(builder);
  else
    catalog->builder = builder;
  c_library_return_memory(); /* the threads' heaps keep freed memory: 30 MB for 250 jars */
  return status;
}

enum jp_status catalog_load(struct catalog *catalog, const struct catalog_tables **tables,
                            struct jp_error *error)
{
  pthread_mutex_lock(&catalog->lock);
  bool is_first = catalog->builder == NULL;
  enum jp_status status = is_first ? load_tables(catalog, error) : JP_OK;
  pthread_mutex_unlock(&catalog->lock);
  if (is_first && status == JP_OK) {
    atomic_store(&catalog->is_loaded, true);
    excerpts_forget(catalog->excerpts);
  }
  *tables = status == JP_OK ? &catalog->tables : NULL;
  return status;
}

/* ---- some classes ---- */

enum jp_status catalog_excerpt_open_whole(struct catalog *catalog, struct catalog_excerpt **excerpt,
                                          struct jp_error *error)
{
  const struct catalog_tables *tables;
  enum jp_status status = catalog_load(catalog, &tables, error);
  if (status != JP_OK)
    return status;
  *excerpt = excerpt_of_whole(tables);
  return *excerpt == NULL ? jp_fail_memory(error, NULL) : JP_OK;
}

enum jp_status catalog_excerpt_open_from(struct catalog *catalog, const struct text *names,
                                         const char *const *elements, size_t count,
                                         enum catalog_extent extent, struct catalog_excerpt **excerpt,
                                         struct jp_error *error)
{
  enum jp_status status = JP_LIMIT;
  if (!atomic_load(&catalog->is_loaded))
    status = excerpts_open(catalog->excerpts, names, elements, count, extent, excerpt, error);
  return status == JP_LIMIT ? catalog_excerpt_open_whole(catalog, excerpt, error) : status;
}

enum jp_status catalog_excerpt_open(struct catalog *catalog, const struct text *names, size_t count,
                                    enum catalog_extent extent, struct catalog_excerpt **excerpt,
                                    struct jp_error *error)
{
  return catalog_excerpt_open_from(catalog, names, NULL, count, extent, excerpt, error);
}

enum jp_status catalog_each_name(struct catalog *catalog, catalog_visitor *visit, void *context,
                                 struct jp_error *error)
{
  const struct catalog_tables *tables;
  enum jp_status status = JP_LIMIT;
  if (!atomic_load(&catalog->is_loaded))
    status = excerpts_each_name(catalog->excerpts, visit, context, error);
  if (status != JP_LIMIT)
    return status;
  status = catalog_load(catalog, &tables, error);
  for (size_t i = 0; status == JP_OK && i < tables->class_count; i++)
    visit(context, catalog_text(tables, tables->classes[i].name));
  return status;
}

/* ---- similar names ---- */

static uint64_t letters_of(struct text name)
{
  enum { CASE = 0x20, LETTERS = 64 };
  uint64_t letters = 0;
  for (size_t i = 0; i < name.len; i++)
    letters |= UINT64_C(1) << (((uint8_t)name.data[i] | CASE) % LETTERS);
  return letters;
}

/* A catalog_visitor. */
static void add_name(void *context, struct text name)
{
  struct class_names *names = context;
  if (name.len == 0 || name.len > UINT16_MAX || names->is_short)
    return;
  size_t at = names->bytes.len;
  struct entry *entry = at > UINT32_MAX ? NULL : array_add(&names->entries, 1);
  buffer_append_text(&names->bytes, name);
  names->is_short = entry == NULL || names->bytes.failed;
  if (!names->is_short)
    *entry =
        (struct entry){letters_of(name), (uint32_t)at, (uint16_t)name.len, (uint8_t)name.data[name.len - 1]};
}

bool catalog_has_last_part(struct text name, struct text part)
{
  if (!text_ends_with(name, part))
    return false;
  char before = name.len == part.len ? '.' : name.data[name.len - part.len - 1];
  return before == '.' || before == '$';
}

/* Visits the similar names in the order in which they were added, and also some names with a few more
 * edits. */
static void visit_like(const struct class_names *names, const struct catalog_likeness *like,
                       catalog_visitor *visit, void *context)
{
  const struct entry *entries = names->entries.items;
  struct text all = buffer_text(&names->bytes);
  uint64_t letters = letters_of(like->name);
  uint64_t part_letters = letters_of(like->last_part);
  uint8_t last = like->last_part.len == 0 ? 0 : (uint8_t)like->last_part.data[like->last_part.len - 1];
  for (size_t i = 0; i < names->entries.count; i++) {
    const struct entry *entry = &entries[i];
    bool may_have_part = entry->last == last && (part_letters & ~entry->letters) == 0;
    size_t length = like->name.len;
    size_t difference = entry->length > length ? entry->length - length : length - entry->length;
    /* An edit removes a character, adds a character, or replaces a character, so it changes at most two
     * bits. */
    bool is_near = difference <= like->edits &&
                   (unsigned)__builtin_popcountll(entry->letters ^ letters) <= 2 * like->edits;
    if (!may_have_part && !is_near)
      continue;
    struct text name = text_slice(all, entry->at, (size_t)entry->at + entry->length);
    if (is_near || catalog_has_last_part(name, like->last_part))
      visit(context, name);
  }
}

static enum jp_status read_names(struct catalog *catalog, struct class_names **names, struct jp_error *error)
{
  struct class_names *made = calloc(1, sizeof *made);
  if (made == NULL) {
    (void)!jp_fail_memory(error, NULL);
    return JP_NO_MEMORY;
  }
  atomic_init(&made->users, 1);
  array_init(&made->entries, sizeof(struct entry));
  buffer_init(&made->bytes);
  enum jp_status status = catalog_each_name(catalog, add_name, made, error);
  if (status == JP_OK && made->is_short)
    status = jp_fail_memory(error, NULL);
  if (status == JP_OK)
    *names = made;
  else
    release_names(made);
  return status;
}

/* Returns the list of names, retained. If it is older than its age limit by more than older_ms, the first
 * caller reads the names again, and other callers wait. */
static enum jp_status hold_names(struct catalog *catalog, int64_t older_ms, struct class_names **names,
                                 struct jp_error *error)
{
  enum jp_status status = JP_OK;
  pthread_mutex_lock(&catalog->names_lock);
  int64_t start = clock_now_ms();
  if (catalog->names == NULL || start >= catalog->names_good_until + older_ms) {
    struct class_names *read = NULL;
    status = read_names(catalog, &read, error);
    if (status == JP_OK) {
      int64_t end = clock_now_ms();
      int64_t long_enough = (end - start) * NAMES_AGE_TIMES;
      release_names(catalog->names);
      catalog->names = read;
      catalog->names_good_until = end + (long_enough > NAMES_AGE_MS ? long_enough : NAMES_AGE_MS);
    }
  }
  if (status == JP_OK) {
    atomic_fetch_add(&catalog->names->users, 1);
    *names = catalog->names;
  }
  pthread_mutex_unlock(&catalog->names_lock);
  return status;
}

enum jp_status catalog_each_name_like(struct catalog *catalog, const struct catalog_likeness *like,
                                      catalog_visitor *visit, void *context, struct jp_error *error)
{
  struct class_names *names;
  enum jp_status status = hold_names(catalog, 0, &names, error);
  if (status != JP_OK)
    return status;
  visit_like(names, like, visit, context);
  release_names(names);
  return JP_OK;
}

enum jp_status catalog_each_known_name(struct catalog *catalog, catalog_visitor *visit, void *context,
                                       struct jp_error *error)
{
  struct class_names *names;
  enum jp_status status = hold_names(catalog, LISTED_AGE_MS, &names, error);
  if (status != JP_OK)
    return status;
  const struct entry *entries = names->entries.items;
  struct text all = buffer_text(&names->bytes);
  for (size_t i = 0; i < names->entries.count; i++)
    visit(context, text_slice(all, entries[i].at, entries[i].at + entries[i].length));
  release_names(names);
  return JP_OK;
}

/* ---- */

struct text catalog_text(const struct catalog_tables *tables, uint32_t id)
{
  return string_pool_text(tables->strings, id);
}

uint32_t catalog_find(const struct catalog_tables *tables, struct text name)
{
  size_t from = 0;
  size_t to = tables->class_count;
  while (from < to) {
    size_t middle = from + (to - from) / 2;
    int order = text_order(catalog_text(tables, tables->classes[middle].name), name);
    if (order == 0)
      return (uint32_t)middle;
    if (order < 0)
      from = middle + 1;
    else
      to = middle;
  }
  return CATALOG_NONE;
}
