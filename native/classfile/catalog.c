#include "classfile/catalog.h"

#include "base/text_order.h"
#include "classfile/builder.h"
#include "classfile/class_path.h"
#include "classfile/folder.h"
#include "classfile/jar.h"
#include "classfile/jimage.h"
#include "classfile/manifest.h"
#include "classfile/string_pool.h"
#include "classfile/table.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/stat.h>

enum { FEATURE_VERSION_UNKNOWN = 17, ELEMENTS_MAX = 100 * 1000 };

struct catalog {
  char *class_path;
  char *java_home; /* NULL: none */
  pthread_mutex_t lock;
  /* guarded by the lock until they are loaded, then constant */
  struct builder *builder; /* owns the tables */
  struct catalog_tables tables;
};

enum jp_status catalog_create(const struct catalog_config *config, struct catalog **catalog,
                              struct jp_error *error)
{
  struct catalog *created = calloc(1, sizeof *created);
  if (created == NULL)
    return jp_fail(error, JP_NO_MEMORY, "out of memory");
  pthread_mutex_init(&created->lock, NULL);
  created->class_path = strdup(config->class_path == NULL ? "" : config->class_path);
  created->java_home = config->java_home == NULL ? NULL : strdup(config->java_home);
  if (created->class_path == NULL || (config->java_home != NULL && created->java_home == NULL)) {
    catalog_destroy(created);
    return jp_fail(error, JP_NO_MEMORY, "out of memory");
  }
  *catalog = created;
  return JP_OK;
}

void catalog_destroy(struct catalog *catalog)
{
  if (catalog == NULL)
    return;
  builder_destroy(catalog->builder);
  pthread_mutex_destroy(&catalog->lock);
  free(catalog->class_path);
  free(catalog->java_home);
  free(catalog);
}

/* A walk over a class path. It remembers what it has read, because a jar's Class-Path may name other
 * elements, and the jar itself. */
struct walk {
  struct builder *builder;
  unsigned feature_version;
  struct arena arena;
  struct table seen; /* struct file_id */
  struct jp_error *error;
};

struct file_id {
  dev_t device;
  ino_t inode;
};

/* *is_new: the file exists and was not noted before. */
static enum jp_status note_file(struct walk *walk, const char *path, struct stat *facts, bool *is_new)
{
  *is_new = false;
  if (stat(path, facts) != 0)
    return JP_OK; /* java is silent about missing elements, too */
  const struct file_id *seen = walk->seen.items;
  for (size_t i = 0; i < walk->seen.count; i++) {
    if (seen[i].device == facts->st_dev && seen[i].inode == facts->st_ino)
      return JP_OK;
  }
  if (walk->seen.count == ELEMENTS_MAX)
    return jp_fail(walk->error, JP_LIMIT, "more than %d elements on the class path", ELEMENTS_MAX);
  struct file_id *added = table_add(&walk->seen, 1);
  if (added == NULL)
    return jp_fail(walk->error, JP_NO_MEMORY, "out of memory while reading the class path");
  *added = (struct file_id){facts->st_dev, facts->st_ino};
  *is_new = true;
  return JP_OK;
}

enum { CLASS_PATH_DEPTH_MAX = 256 };

/* Reads an element and then, before the next one, what a jar names as its Class-Path (JAR File
 * Specification). */
static enum jp_status read_element(struct walk *walk, const char *path, unsigned depth)
{
  struct stat facts;
  bool is_new;
  enum jp_status status = note_file(walk, path, &facts, &is_new);
  if (status != JP_OK || !is_new)
    return status;
  if (S_ISDIR(facts.st_mode))
    return folder_read(walk->builder, path, walk->error);
  if (!S_ISREG(facts.st_mode))
    return JP_OK;
  struct text class_path;
  status = jar_read_file(walk->builder, path, walk->feature_version, &walk->arena, &class_path, walk->error);
  for (struct text next; status == JP_OK && depth < CLASS_PATH_DEPTH_MAX &&
                         manifest_next_path(&class_path, path, &walk->arena, &next);) {
    if (next.data != NULL)
      status = read_element(walk, next.data, depth + 1);
  }
  return status;
}

static enum jp_status read_class_path(struct builder *builder, const char *class_path,
                                      unsigned feature_version, struct jp_error *error)
{
  struct walk walk = {.builder = builder, .feature_version = feature_version, .error = error};
  struct buffer expanded;
  arena_init(&walk.arena);
  table_init(&walk.seen, sizeof(struct file_id));
  buffer_init(&expanded);
  class_path_expand(text_of(class_path), &expanded);
  enum jp_status status = JP_OK;
  if (expanded.failed)
    status = jp_fail(error, JP_NO_MEMORY, "out of memory while reading the class path");
  struct text rest = buffer_text(&expanded);
  for (struct text element; status == JP_OK && class_path_next(&rest, &element);) {
    struct text path = arena_printf(&walk.arena, "%.*s", TEXT_ARGS(element));
    status = path.data == NULL ? jp_fail(error, JP_NO_MEMORY, "out of memory while reading the class path")
                               : read_element(&walk, path.data, 0);
  }
  buffer_fini(&expanded);
  table_fini(&walk.seen);
  arena_fini(&walk.arena);
  return status;
}

static enum jp_status read_all(struct catalog *catalog, struct builder *builder, struct jp_error *error)
{
  unsigned feature_version = 0;
  enum jp_status status = JP_OK;
  /* The JDK comes first, because Java asks its loaders before the application's. */
  if (catalog->java_home != NULL) {
    feature_version = jimage_feature_version(catalog->java_home);
    status = jimage_read(builder, catalog->java_home, error);
  }
  if (feature_version == 0)
    feature_version = FEATURE_VERSION_UNKNOWN;
  if (status == JP_OK)
    status = read_class_path(builder, catalog->class_path, feature_version, error);
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
  return status;
}

enum jp_status catalog_load(struct catalog *catalog, const struct catalog_tables **tables,
                            struct jp_error *error)
{
  pthread_mutex_lock(&catalog->lock);
  enum jp_status status = catalog->builder == NULL ? load_tables(catalog, error) : JP_OK;
  pthread_mutex_unlock(&catalog->lock);
  *tables = status == JP_OK ? &catalog->tables : NULL;
  return status;
}

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
