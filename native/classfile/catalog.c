#include "classfile/catalog.h"

#include "base/text_order.h"
#include "classfile/builder.h"
#include "classfile/elements.h"
#include "classfile/excerpt.h"
#include "classfile/folder.h"
#include "classfile/jar.h"
#include "classfile/jimage.h"
#include "classfile/string_pool.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

enum { FEATURE_VERSION_UNKNOWN = 17 };

struct catalog {
  char *class_path;
  char *java_home; /* NULL: none */
  struct excerpts *excerpts;
  atomic_bool is_loaded;
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
  created->excerpts = excerpts_create(&(struct catalog_config){created->class_path, created->java_home});
  if (created->excerpts == NULL) {
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
  excerpts_destroy(catalog->excerpts);
  builder_destroy(catalog->builder);
  pthread_mutex_destroy(&catalog->lock);
  free(catalog->class_path);
  free(catalog->java_home);
  free(catalog);
}

static enum jp_status read_element(struct builder *builder, struct elements *elements, size_t index,
                                   unsigned feature_version, struct jp_error *error)
{
  enum element_kind kind;
  struct text class_path;
  const char *path = elements_at(elements, index)->path;
  enum jp_status status = elements_look_at(elements, index, &kind, error);
  if (status == JP_OK && kind == ELEMENT_FOLDER)
    status = folder_read(builder, path, error);
  if (status != JP_OK || kind != ELEMENT_JAR)
    return status;
  status = jar_read_file(builder, path, feature_version, &elements->arena, &class_path, error);
  return status == JP_OK ? elements_insert(elements, index, class_path, error) : status;
}

static enum jp_status read_class_path(struct builder *builder, const char *class_path,
                                      unsigned feature_version, struct jp_error *error)
{
  struct elements elements;
  enum jp_status status = elements_init(&elements, class_path, error);
  for (size_t i = elements.first; status == JP_OK && i != ELEMENTS_END; i = elements_at(&elements, i)->next)
    status = read_element(builder, &elements, i, feature_version, error);
  elements_fini(&elements);
  return status;
}

static enum jp_status read_jdk(struct builder *builder, const char *java_home, struct jp_error *error)
{
  struct jimage *jimage;
  size_t count;
  enum jp_status status = jimage_open(java_home, &jimage, error);
  if (status != JP_OK)
    return status;
  status = jimage_begin_read(jimage, &count, error);
  if (status == JP_OK)
    status = jimage_read(builder, jimage, 0, count, error);
  jimage_close(jimage);
  return status;
}

unsigned catalog_feature_version(const struct catalog_config *config)
{
  unsigned version = config->java_home == NULL ? 0 : jimage_feature_version(config->java_home);
  return version == 0 ? FEATURE_VERSION_UNKNOWN : version;
}

static enum jp_status read_all(struct catalog *catalog, struct builder *builder, struct jp_error *error)
{
  const struct catalog_config config = {catalog->class_path, catalog->java_home};
  /* The JDK comes first, because Java asks its loaders before the application's. */
  enum jp_status status = config.java_home == NULL ? JP_OK : read_jdk(builder, config.java_home, error);
  if (status == JP_OK)
    status = read_class_path(builder, config.class_path, catalog_feature_version(&config), error);
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
