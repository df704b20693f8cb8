#include "classfile/catalog.h"

#include "base/clock.h"
#include "classfile/builder.h"
#include "classfile/excerpt.h"
#include "classfile/jimage.h"
#include "classfile/names.h"
#include "classfile/scan.h"
#include "classfile/string_pool.h"

#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

enum {
  FEATURE_VERSION_UNKNOWN = 17,
  /* Names are kept for a second, and so long that finding them out takes a twentieth of the time at most. */
  NAMES_AGE_MS = 1000,
  NAMES_AGE_TIMES = 20
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
  struct class_names *names; /* NULL: nobody has asked for names that are like another one */
  int64_t names_good_until;  /* clock_now_ms */
};

enum jp_status catalog_create(const struct catalog_config *config, struct catalog **catalog,
                              struct jp_error *error)
{
  struct catalog *created = calloc(1, sizeof *created);
  if (created == NULL)
    return jp_fail(error, JP_NO_MEMORY, "out of memory");
  pthread_mutex_init(&created->lock, NULL);
  pthread_mutex_init(&created->names_lock, NULL);
  created->class_path = strdup(config->class_path == NULL ? "" : config->class_path);
  created->java_home = config->java_home == NULL ? NULL : strdup(config->java_home);
  if (created->class_path == NULL || (config->java_home != NULL && created->java_home == NULL)) {
    catalog_destroy(created);
    return jp_fail(error, JP_NO_MEMORY, "out of memory");
  }
  created->excerpts =
      excerpts_create(&(struct catalog_config){created->class_path, created->java_home, config->threads});
  if (created->excerpts == NULL) {
    catalog_destroy(created);
    return jp_fail(error, JP_NO_MEMORY, "out of memory");
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
  class_names_destroy(catalog->names);
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

static enum jp_status read_all(struct catalog *catalog, struct builder *builder, struct jp_error *error)
{
  const struct scan_config config = {.catalog = {catalog->class_path, catalog->java_home, catalog->threads},
                                     .threads = catalog->threads,
                                     .is_stopped = &catalog->is_stopped};
  enum jp_status status = scan_run(&config, builder, error);
  return status == JP_OK ? builder_finish(builder, &catalog->tables, error) : status;
}

static enum jp_status load_tables(struct catalog *catalog, struct jp_error *error)
{
  struct builder *builder = builder_create();
  if (builder == NULL)
    return jp_fail(error, JP_NO_MEMORY, "out of memory while reading class files");
  enum jp_status status = read_all(catalog, builder, error);
  if (status != JP_OK)
    builder_destroy(builder);
  else
    catalog->builder = builder;
  malloc_trim(0); /* the threads' own heaps keep what they have freed: 30 MB of 250 jars */
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
  return *excerpt == NULL ? jp_fail(error, JP_NO_MEMORY, "out of memory") : JP_OK;
}

enum jp_status catalog_excerpt_open(struct catalog *catalog, const struct text *names, size_t count,
                                    enum catalog_extent extent, struct catalog_excerpt **excerpt,
                                    struct jp_error *error)
{
  enum jp_status status = JP_LIMIT;
  if (!atomic_load(&catalog->is_loaded))
    status = excerpts_open(catalog->excerpts, names, count, extent, excerpt, error);
  return status == JP_LIMIT ? catalog_excerpt_open_whole(catalog, excerpt, error) : status;
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

static enum jp_status read_names(struct catalog *catalog, struct class_names **names, struct jp_error *error)
{
  struct class_names *made = class_names_create();
  enum jp_status status = made == NULL ? jp_fail(error, JP_NO_MEMORY, "out of memory")
                                       : catalog_each_name(catalog, class_names_add, made, error);
  if (status == JP_OK && !class_names_are_complete(made))
    status = jp_fail(error, JP_NO_MEMORY, "out of memory");
  if (status == JP_OK)
    *names = made;
  else
    class_names_destroy(made);
  return status;
}

/* The names, with a holder more. Where they are too old, the first who asks reads them again, and others wait. */
static enum jp_status hold_names(struct catalog *catalog, struct class_names **names, struct jp_error *error)
{
  enum jp_status status = JP_OK;
  pthread_mutex_lock(&catalog->names_lock);
  int64_t start = clock_now_ms();
  if (catalog->names == NULL || start >= catalog->names_good_until) {
    struct class_names *read;
    status = read_names(catalog, &read, error);
    if (status == JP_OK) {
      int64_t end = clock_now_ms();
      int64_t long_enough = (end - start) * NAMES_AGE_TIMES;
      class_names_destroy(catalog->names);
      catalog->names = read;
      catalog->names_good_until = end + (long_enough > NAMES_AGE_MS ? long_enough : NAMES_AGE_MS);
    }
  }
  if (status == JP_OK)
    *names = class_names_retain(catalog->names);
  pthread_mutex_unlock(&catalog->names_lock);
  return status;
}

enum jp_status catalog_each_name_like(struct catalog *catalog, const struct catalog_likeness *like,
                                      catalog_visitor *visit, void *context, struct jp_error *error)
{
  struct class_names *names;
  enum jp_status status = hold_names(catalog, &names, error);
  if (status != JP_OK)
    return status;
  class_names_each_like(names, like, visit, context);
  class_names_destroy(names);
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
