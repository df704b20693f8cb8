#include "classfile/class_source.h"

#include "base/log.h"
#include "classfile/builder.h"
#include "classfile/class_path.h"
#include "classfile/folder.h"
#include "classfile/jar.h"
#include "classfile/jimage.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { OPEN_JARS = 4, NAME_MAX_BYTES = JIMAGE_PATH_MAX };

/* A class in a jar of the class path. */
struct jar_class {
  struct text path; /* "com/example/A" */
  size_t element;   /* by its place in `order` */
};

/* A jar that is kept open for the next classes. */
struct open_jar {
  struct jar *jar; /* NULL: the place is free */
  char *path;
  struct timespec changed;
  off_t size;
  uint64_t used; /* the value of the counter of jar uses when this jar was last used */
};

struct class_source {
  atomic_uint users;
  struct catalog_config config;
  struct jimage *jimage;    /* NULL: not open yet, or no JDK */
  size_t jdk_count;         /* of the image's classes that are listed */
  bool is_listed;           /* the class path is listed in `order` and `classes` */
  bool has_parts;           /* a jar of the class path has parts */
  unsigned feature_version; /* 0: not read yet */
  struct elements elements;
  struct array order;   /* struct place, in the order of the class path; only existing elements */
  struct array classes; /* struct jar_class, sorted by path, then by element */
  struct arena arena;   /* their paths */
  struct builder *warnings;
  struct open_jar open[OPEN_JARS];
  uint64_t uses;
  struct buffer bytes; /* the bytes of a class of the JDK or of a folder */
};

struct place {
  const char *path;
  bool is_folder;
};

struct class_source *class_source_create(const struct catalog_config *config)
{
  struct class_source *source = calloc(1, sizeof *source);
  if (source == NULL)
    return NULL;
  source->config = *config;
  atomic_init(&source->users, 1);
  array_init(&source->order, sizeof(struct place));
  array_init(&source->classes, sizeof(struct jar_class));
  arena_init(&source->arena);
  source->warnings = builder_create();
  if (source->warnings != NULL)
    return source;
  class_source_destroy(source);
  return NULL;
}

static void close_jar(struct open_jar *open)
{
  jar_close(open->jar);
  free(open->path);
  *open = (struct open_jar){0};
}

static void forget_class_path(struct class_source *source)
{
  for (size_t i = 0; i < OPEN_JARS; i++)
    close_jar(&source->open[i]);
  elements_fini(&source->elements);
  array_fini(&source->order);
  array_fini(&source->classes);
  arena_fini(&source->arena);
}

struct class_source *class_source_retain(struct class_source *source)
{
  atomic_fetch_add(&source->users, 1);
  return source;
}

void class_source_destroy(struct class_source *source)
{
  if (source == NULL || atomic_fetch_sub(&source->users, 1) != 1)
    return;
  forget_class_path(source);
  jimage_close(source->jimage);
  builder_destroy(source->warnings);
  buffer_fini(&source->bytes);
  free(source);
}

/* ---- the class path ---- */

static bool add_jar_classes(struct class_source *source, struct jar *jar)
{
  jar_sort(jar);
  size_t count = jar_class_count(jar);
  struct jar_class *added = array_add(&source->classes, count);
  bool done = added != NULL;
  for (size_t i = 0; done && i < count; i++) {
    added[i] =
        (struct jar_class){arena_text(&source->arena, jar_class_path(jar, i)), source->order.count - 1};
    done = added[i].path.data != NULL;
  }
  return done;
}

static unsigned find_feature_version(struct class_source *source)
{
  if (source->feature_version == 0)
    source->feature_version = catalog_feature_version(&source->config);
  return source->feature_version;
}

static enum jp_status list_jar(struct class_source *source, size_t index, struct jp_error *error)
{
  struct jar *jar;
  enum jp_status status = jar_open(source->warnings, elements_at(&source->elements, index)->path,
                                   find_feature_version(source), &jar, error);
  if (status != JP_OK || jar == NULL)
    return status;
  source->has_parts = source->has_parts || jar_has_parts(jar);
  if (!add_jar_classes(source, jar))
    status = jp_fail_memory(error, "class files");
  else
    status = elements_insert(&source->elements, index, jar_manifest_class_path(jar), error);
  jar_close(jar);
  return status;
}

static enum jp_status list_element(struct class_source *source, size_t index, struct jp_error *error)
{
  enum element_kind kind;
  enum jp_status status = elements_examine(&source->elements, index, &kind, error);
  if (status != JP_OK || kind == ELEMENT_NONE)
    return status;
  struct place *place = array_add(&source->order, 1);
  if (place == NULL)
    return jp_fail_memory(error, "class files");
  *place = (struct place){elements_at(&source->elements, index)->path, kind == ELEMENT_FOLDER};
  return kind == ELEMENT_JAR ? list_jar(source, index, error) : JP_OK;
}

static int compare_classes(const void *left, const void *right)
{
  const struct jar_class *a = left;
  const struct jar_class *b = right;
  int order = text_order(a->path, b->path);
  return order != 0 ? order : (a->element > b->element) - (a->element < b->element);
}

static enum jp_status list_class_path(struct class_source *source, struct jp_error *error)
{
  if (source->is_listed)
    return JP_OK;
  enum jp_status status = elements_init(&source->elements, source->config.class_path, error);
  for (size_t i = source->elements.first; status == JP_OK && i != ELEMENTS_END;
       i = elements_at(&source->elements, i)->next)
    status = list_element(source, i, error);
  if (status != JP_OK) {
    forget_class_path(source); /* the next call tries again */
    source->has_parts = false;
    return status;
  }
  if (source->classes.count > 0)
    qsort(source->classes.items, source->classes.count, sizeof(struct jar_class), compare_classes);
  source->is_listed = true;
  return JP_OK;
}

/* ---- one class of the class path ---- */

/* A jar that has changed since it was opened is opened again. A removed jar has no classes. */
static enum jp_status open_jar(struct class_source *source, const char *path, struct jar **jar,
                               struct jp_error *error)
{
  struct open_jar *chosen = &source->open[0];
  struct stat facts;
  *jar = NULL;
  if (stat(path, &facts) != 0)
    return JP_OK;
  for (size_t i = 0; i < OPEN_JARS; i++) {
    struct open_jar *open = &source->open[i];
    if (open->jar != NULL && strcmp(open->path, path) == 0) {
      chosen = open;
      break;
    }
    if (open->jar == NULL || (chosen->jar != NULL && open->used < chosen->used))
      chosen = open;
  }
  bool is_same_file = chosen->size == facts.st_size && chosen->changed.tv_sec == facts.st_mtim.tv_sec &&
                      chosen->changed.tv_nsec == facts.st_mtim.tv_nsec;
  if (chosen->jar == NULL || strcmp(chosen->path, path) != 0 || !is_same_file) {
    close_jar(chosen);
    *chosen = (struct open_jar){.path = strdup(path), .changed = facts.st_mtim, .size = facts.st_size};
    enum jp_status status =
        chosen->path == NULL
            ? jp_fail_memory(error, path)
            : jar_open(source->warnings, path, find_feature_version(source), &chosen->jar, error);
    if (status != JP_OK || chosen->jar == NULL) {
      close_jar(chosen);
      return status;
    }
  }
  chosen->used = ++source->uses;
  *jar = chosen->jar;
  return JP_OK;
}

static bool is_the_class(const uint8_t *bytes, size_t size, struct text name, struct arena *arena,
                         struct class_file *file, enum jp_status *status, struct jp_error *error)
{
  struct jp_error lower;
  *status = class_file_parse(bytes, size, arena, file, &lower);
  if (*status != JP_OK && *status != JP_INVALID)
    (void)jp_fail(error, *status, "%s", lower.text);
  if (*status == JP_OK && (!text_equal(file->name, name) || (file->access & ACCESS_MODULE) != 0))
    *status = JP_INVALID;
  if (*status == JP_INVALID) {
    /* no class loader would find the class there, or reading the whole catalog gives a warning */
    *status = JP_NOT_FOUND;
    return false;
  }
  return true;
}

static enum jp_status read_jar_class(struct jar *jar, struct text name, struct text path, struct arena *arena,
                                     struct class_file *file, struct jp_error *error)
{
  const uint8_t *bytes;
  size_t size;
  enum jp_status status = jar_find(jar, path, &bytes, &size, error);
  if (status == JP_OK)
    (void)is_the_class(bytes, size, name, arena, file, &status, error);
  return status;
}

static enum jp_status read_folder_class(struct class_source *source, const char *folder, struct text name,
                                        struct text path, struct arena *arena, struct class_file *file,
                                        struct jp_error *error)
{
  char file_name[NAME_MAX_BYTES + sizeof ".class"];
  snprintf(file_name, sizeof file_name, "%.*s.class", TEXT_ARGS(path));
  enum jp_status status = folder_read_class(folder, file_name, &source->bytes, error);
  if (status == JP_OK)
    (void)is_the_class((const uint8_t *)source->bytes.data, source->bytes.len, name, arena, file, &status,
                       error);
  return status;
}

/* The result is JP_NOT_FOUND also if the element is a jar with parts, because another part may have a class
 * of the same name. */
static enum jp_status read_from_element(struct class_source *source, const char *element, struct text name,
                                        struct text path, struct arena *arena, struct class_file *file,
                                        struct jp_error *error)
{
  struct stat facts;
  struct jar *jar;
  if (stat(element, &facts) != 0)
    return JP_NOT_FOUND;
  if (S_ISDIR(facts.st_mode))
    return read_folder_class(source, element, name, path, arena, file, error);
  enum jp_status status = open_jar(source, element, &jar, error);
  if (status != JP_OK)
    return status;
  return jar == NULL || jar_has_parts(jar) ? JP_NOT_FOUND
                                           : read_jar_class(jar, name, path, arena, file, error);
}

/* The first jar_class of a path, or the place where it would be. */
static size_t find_jar_class(const struct class_source *source, struct text path)
{
  const struct jar_class *classes = source->classes.items;
  size_t from = 0;
  size_t to = source->classes.count;
  while (from < to) {
    size_t middle = from + (to - from) / 2;
    if (text_order(classes[middle].path, path) < 0)
      from = middle + 1;
    else
      to = middle;
  }
  return from;
}

static enum jp_status read_from_class_path(struct class_source *source, struct text name, struct text path,
                                           struct arena *arena, struct class_file *file,
                                           struct jp_error *error)
{
  const struct jar_class *classes = source->classes.items;
  const struct place *order = source->order.items;
  size_t next = find_jar_class(source, path);
  enum jp_status status = JP_NOT_FOUND;
  for (size_t i = 0; status == JP_NOT_FOUND && i < source->order.count; i++) {
    bool is_in_jar =
        next < source->classes.count && classes[next].element == i && text_equal(classes[next].path, path);
    if (is_in_jar) {
      struct jar *jar;
      next++;
      status = open_jar(source, order[i].path, &jar, error);
      if (status == JP_OK)
        status = jar == NULL ? JP_NOT_FOUND : read_jar_class(jar, name, path, arena, file, error);
    } else if (order[i].is_folder) {
      status = read_folder_class(source, order[i].path, name, path, arena, file, error);
    }
  }
  return status;
}

/* ---- one class ---- */

static enum jp_status open_jimage(struct class_source *source, struct jp_error *error)
{
  return source->config.java_home == NULL || source->jimage != NULL
             ? JP_OK
             : jimage_open(source->config.java_home, &source->jimage, error);
}

/* Writes the path of a class: "com/example/A". False: no class can have this name. */
static bool write_path(struct text name, char *path)
{
  if (name.len == 0 || name.len >= NAME_MAX_BYTES || memchr(name.data, '/', name.len) != NULL ||
      memchr(name.data, '\0', name.len) != NULL || name.data[0] == '.' || name.data[name.len - 1] == '.')
    return false;
  for (size_t i = 0; i < name.len; i++)
    path[i] = name.data[i] == '.' ? '/' : name.data[i];
  return true;
}

enum jp_status class_source_read(struct class_source *source, struct text name, const char *element,
                                 struct arena *arena, struct class_file *file, enum catalog_origin *origin,
                                 struct jp_error *error)
{
  char bytes[NAME_MAX_BYTES];
  struct text path = {bytes, name.len};
  bool is_exported = false;
  if (!write_path(name, bytes))
    return JP_NOT_FOUND;
  /* The JDK comes first, because Java searches its loaders before the application's. */
  enum jp_status status = open_jimage(source, error);
  if (status != JP_OK)
    return status;
  status = source->jimage == NULL ? JP_NOT_FOUND
                                  : jimage_find(source->jimage, path, &source->bytes, &is_exported, error);
  if (status == JP_OK &&
      is_the_class((const uint8_t *)source->bytes.data, source->bytes.len, name, arena, file, &status, error))
    *origin = is_exported ? CATALOG_JDK_EXPORTED : CATALOG_JDK_INTERNAL;
  if (status != JP_NOT_FOUND)
    return status;
  *origin = CATALOG_CLASS_PATH;
  if (element != NULL)
    status = read_from_element(source, element, name, path, arena, file, error);
  if (status != JP_NOT_FOUND)
    return status;
  status = list_class_path(source, error);
  if (status != JP_OK)
    return status;
  if (source->has_parts)
    return jp_fail(error, JP_LIMIT, "the class path has jars within jars");
  return read_from_class_path(source, name, path, arena, file, error);
}

/* ---- all names ---- */

/* Converts a path to a name and passes it on. */
struct naming {
  catalog_visitor *visit;
  void *context;
};

static void visit_path(void *context, struct text path)
{
  const struct naming *naming = context;
  char name[NAME_MAX_BYTES];
  if (path.len >= sizeof name)
    return;
  for (size_t i = 0; i < path.len; i++)
    name[i] = path.data[i] == '/' ? '.' : path.data[i];
  naming->visit(naming->context, (struct text){name, path.len});
}

enum jp_status class_source_list(struct class_source *source, struct jp_error *error)
{
  enum jp_status status = open_jimage(source, error);
  if (status == JP_OK)
    status = list_class_path(source, error);
  if (status == JP_OK && source->has_parts)
    return jp_fail(error, JP_LIMIT, "the class path has jars within jars");
  if (status == JP_OK && source->jimage != NULL)
    status = jimage_list(source->jimage, &source->jdk_count, error);
  return status;
}

enum jp_status class_source_each(const struct class_source *source, catalog_visitor *visit, void *context,
                                 struct jp_error *error)
{
  struct naming naming = {visit, context};
  enum jp_status status = JP_OK;
  for (size_t i = 0; i < source->jdk_count; i++) {
    struct text path = jimage_class_path(source->jimage, i);
    if (path.data != NULL)
      visit_path(&naming, path);
  }
  const struct jar_class *classes = source->classes.items;
  for (size_t i = 0; i < source->classes.count; i++)
    visit_path(&naming, classes[i].path);
  const struct place *order = source->order.items;
  for (size_t i = 0; status == JP_OK && i < source->order.count; i++) {
    if (order[i].is_folder)
      status = folder_list(order[i].path, visit_path, &naming, error);
  }
  return status;
}
