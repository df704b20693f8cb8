#include "classfile/excerpt.h"

#include "base/array.h"
#include "base/buffer.h"
#include "base/hash_index.h"
#include "classfile/builder.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* If an excerpt needs more, the whole catalog is read: reading a class takes about 50 us, and reading all
 * classes of a JDK takes about 270 ms. */
enum { NAMES_MAX = 512, CLASSES_IN_ONE_MAX = 2048 };
enum { KEPT = 32, KEPT_KEY_MAX = 4096, KEPT_CLASSES_MAX = 256 };

struct catalog_excerpt {
  atomic_uint users;
  struct builder *builder; /* NULL: the tables are borrowed */
  struct catalog_tables tables;
  struct buffer key; /* the request, if it is kept */
};

struct excerpts {
  pthread_mutex_t reading;     /* guards the source; held while class files are read */
  struct class_source *source; /* NULL: nothing was read yet */
  struct catalog_config config;
  pthread_mutex_t lock;
  struct catalog_excerpt *kept[KEPT]; /* the most recently used first; NULL: free */
};

struct excerpts *excerpts_create(const struct catalog_config *config)
{
  struct excerpts *excerpts = calloc(1, sizeof *excerpts);
  if (excerpts == NULL)
    return NULL;
  pthread_mutex_init(&excerpts->reading, NULL);
  pthread_mutex_init(&excerpts->lock, NULL);
  excerpts->config = *config;
  return excerpts;
}

void excerpts_forget(struct excerpts *excerpts)
{
  struct catalog_excerpt *kept[KEPT];
  pthread_mutex_lock(&excerpts->lock);
  memcpy(kept, excerpts->kept, sizeof kept);
  memset(excerpts->kept, 0, sizeof excerpts->kept);
  pthread_mutex_unlock(&excerpts->lock);
  for (size_t i = 0; i < KEPT; i++)
    catalog_excerpt_close(kept[i]);
  pthread_mutex_lock(&excerpts->reading);
  class_source_destroy(excerpts->source);
  excerpts->source = NULL;
  pthread_mutex_unlock(&excerpts->reading);
}

void excerpts_destroy(struct excerpts *excerpts)
{
  if (excerpts == NULL)
    return;
  excerpts_forget(excerpts);
  pthread_mutex_destroy(&excerpts->reading);
  pthread_mutex_destroy(&excerpts->lock);
  free(excerpts);
}

static struct catalog_excerpt *create_excerpt(void)
{
  struct catalog_excerpt *created = calloc(1, sizeof *created);
  if (created == NULL)
    return NULL;
  atomic_init(&created->users, 1);
  buffer_init(&created->key);
  return created;
}

struct catalog_excerpt *excerpt_of_whole(const struct catalog_tables *tables)
{
  struct catalog_excerpt *created = create_excerpt();
  if (created != NULL)
    created->tables = *tables;
  return created;
}

struct catalog_excerpt *catalog_excerpt_retain(struct catalog_excerpt *excerpt)
{
  atomic_fetch_add(&excerpt->users, 1);
  return excerpt;
}

void catalog_excerpt_close(struct catalog_excerpt *excerpt)
{
  if (excerpt == NULL || atomic_fetch_sub(&excerpt->users, 1) != 1)
    return;
  builder_destroy(excerpt->builder);
  buffer_fini(&excerpt->key);
  free(excerpt);
}

const struct catalog_tables *catalog_excerpt_tables(const struct catalog_excerpt *excerpt)
{
  return &excerpt->tables;
}

bool catalog_excerpt_is_whole(const struct catalog_excerpt *excerpt)
{
  return excerpt->builder == NULL;
}

/* The lock `reading` is held. */
static enum jp_status make_source(struct excerpts *excerpts, struct jp_error *error)
{
  if (excerpts->source == NULL)
    excerpts->source = class_source_create(&excerpts->config);
  return excerpts->source == NULL ? jp_fail_memory(error, NULL) : JP_OK;
}

/* ---- reading ---- */

/* A class that is to be read. */
struct wanted {
  struct text name;
  const char *element; /* the jar or folder that has the class, or the class that refers to it; NULL:
                        * unknown */
  bool is_asked_for;   /* the caller has named the class: it is not only a superclass, an interface or a type
                        * of another class */
  bool is_type;        /* the class is only a type of a member, or a supertype of such a type: the types of
                        * its own members are not needed */
};

struct reading {
  struct class_source *source;
  struct builder *builder;
  enum catalog_extent extent;
  struct array wanted; /* struct wanted */
  struct hash_index
      indexes;        /* indexes of `wanted` by the hash of the name; of a class that is read twice, the index
                       * of the first entry */
  struct arena arena; /* the names */
  struct arena file_arena;
  struct jp_error *error;
};

static enum jp_status add_wanted(struct reading *reading, struct wanted wanted)
{
  if (reading->wanted.count == CLASSES_IN_ONE_MAX)
    return jp_fail(reading->error, JP_LIMIT, "more classes than an excerpt holds");
  struct wanted *added = array_add(&reading->wanted, 1);
  if (added == NULL)
    return jp_fail_memory(reading->error, "class files");
  *added = wanted;
  return JP_OK;
}

/* Adds a class to `wanted`. A class that was wanted only as a type may have been read already. It is then
 * read again, because now the types of its members are needed. */
static enum jp_status want(struct reading *reading, struct wanted wanted)
{
  uint32_t hash = (uint32_t)text_hash(wanted.name);
  size_t cursor = SIZE_MAX;
  for (uint32_t index; (index = hash_index_next(&reading->indexes, hash, &cursor)) != HASH_INDEX_NONE;) {
    struct wanted *known = (struct wanted *)reading->wanted.items + index;
    if (!text_equal(known->name, wanted.name))
      continue;
    if (!known->is_type || wanted.is_type)
      return JP_OK;
    known->is_type = false;
    return add_wanted(reading, *known);
  }
  wanted.name = arena_text(&reading->arena, wanted.name);
  if (wanted.name.data == NULL)
    return jp_fail_memory(reading->error, "class files");
  enum jp_status status = add_wanted(reading, wanted);
  if (status == JP_OK &&
      hash_index_add(&reading->indexes, hash, (uint32_t)reading->wanted.count - 1) != JP_OK)
    status = jp_fail_memory(reading->error, "class files");
  return status;
}

/* The position after the type arguments that begin here. */
static size_t skip_arguments(struct text type, size_t at)
{
  size_t depth = 0;
  for (; at < type.len; at++) {
    depth += type.data[at] == '<';
    depth -= type.data[at] == '>';
    if (depth == 0)
      return at + 1;
  }
  return at;
}

/* Wants the class whose name begins here, "java/util/Map<TK;>.Entry;" in a descriptor or signature. */
static enum jp_status want_type(struct reading *reading, struct text type, size_t at)
{
  char name[1024];
  size_t length = 0;
  while (at < type.len && type.data[at] != ';' && length < sizeof name) {
    char c = type.data[at];
    if (c == '<') {
      at = skip_arguments(type, at);
      continue;
    }
    name[length++] = c == '/' ? '.' : c == '.' ? '$' : c;
    at++;
  }
  return length == 0 || length == sizeof name
             ? JP_OK
             : want(reading, (struct wanted){.name = {name, length}, .is_type = true});
}

/* A class type begins with an L where a type may begin; elsewhere an L is part of a name. */
static enum jp_status want_types(struct reading *reading, struct text types)
{
  enum jp_status status = JP_OK;
  for (size_t i = 0; status == JP_OK && i < types.len; i++) {
    if (types.data[i] == 'L' && (i == 0 || strchr("()[<>;:+-*^VZBCSIJFD", types.data[i - 1]) != NULL))
      status = want_type(reading, types, i + 1);
  }
  return status;
}

static enum jp_status want_types_of_members(struct reading *reading, const struct class_member *members,
                                            size_t count)
{
  enum jp_status status = JP_OK;
  for (size_t i = 0; status == JP_OK && i < count; i++) {
    status = want_types(reading, members[i].descriptor);
    if (status == JP_OK)
      status = want_types(reading, members[i].signature);
  }
  return status;
}

static enum jp_status want_related(struct reading *reading, const struct class_file *file, struct wanted of)
{
  enum jp_status status = JP_OK;
  /* Only the name and the flags of a member class are needed. Its supertypes are not read, because they may
   * be in any jar. */
  if (reading->extent == CATALOG_NESTED && of.is_type)
    return JP_OK;
  if (file->superclass.len > 0)
    status = want(reading, (struct wanted){file->superclass, of.element, false, of.is_type});
  for (size_t i = 0; status == JP_OK && i < file->interface_count; i++)
    status = want(reading, (struct wanted){file->interfaces[i], of.element, false, of.is_type});
  if (reading->extent == CATALOG_NESTED && of.is_asked_for) {
    for (size_t i = 0; status == JP_OK && i < file->member_class_count; i++)
      status = want(reading, (struct wanted){file->member_classes[i], of.element, false, true});
  }
  return status;
}

static enum jp_status read_class(struct reading *reading, struct wanted wanted)
{
  struct class_file file;
  enum catalog_origin origin;
  arena_reset(&reading->file_arena);
  enum jp_status status = class_source_read(reading->source, wanted.name, wanted.element,
                                            &reading->file_arena, &file, &origin, reading->error);
  if (status != JP_OK)
    return status == JP_NOT_FOUND ? JP_OK : status;
  status = builder_add_parsed(reading->builder, &file, origin, reading->error);
  if (status == JP_OK)
    status = want_related(reading, &file, wanted);
  if (status == JP_OK && reading->extent == CATALOG_TYPES && !wanted.is_type)
    status = want_types_of_members(reading, file.methods, file.method_count);
  return status;
}

static enum jp_status read_excerpt(struct excerpts *excerpts, const struct text *names,
                                   const char *const *elements, size_t count, enum catalog_extent extent,
                                   struct catalog_excerpt *excerpt, struct jp_error *error)
{
  struct reading reading = {.builder = excerpt->builder, .extent = extent, .error = error};
  array_init(&reading.wanted, sizeof(struct wanted));
  arena_init(&reading.arena);
  arena_init(&reading.file_arena);
  enum jp_status status = JP_OK;
  for (size_t i = 0; status == JP_OK && i < count; i++)
    status = want(&reading, (struct wanted){names[i], elements == NULL ? NULL : elements[i], true, false});
  if (status == JP_OK) {
    pthread_mutex_lock(&excerpts->reading);
    status = make_source(excerpts, error);
    reading.source = excerpts->source;
    for (size_t i = 0; status == JP_OK && i < reading.wanted.count; i++)
      status = read_class(&reading, ((const struct wanted *)reading.wanted.items)[i]);
    pthread_mutex_unlock(&excerpts->reading);
  }
  if (status == JP_OK)
    status = builder_finish(excerpt->builder, &excerpt->tables, error);
  hash_index_fini(&reading.indexes);
  array_fini(&reading.wanted);
  arena_fini(&reading.arena);
  arena_fini(&reading.file_arena);
  return status;
}

/* ---- kept excerpts ---- */

static void make_key(struct buffer *key, const struct text *names, size_t count, enum catalog_extent extent)
{
  buffer_append_char(key, (char)extent);
  for (size_t i = 0; i < count && key->len <= KEPT_KEY_MAX; i++) {
    buffer_append(key, &names[i].len, sizeof names[i].len);
    buffer_append_text(key, names[i]);
  }
}

/* Moves the excerpts before `place` one back, and puts this excerpt first. Under the lock. */
static void put_first(struct excerpts *excerpts, size_t place, struct catalog_excerpt *excerpt)
{
  for (; place > 0; place--)
    excerpts->kept[place] = excerpts->kept[place - 1];
  excerpts->kept[0] = excerpt;
}

static struct catalog_excerpt *find_kept(struct excerpts *excerpts, struct text key)
{
  struct catalog_excerpt *found = NULL;
  pthread_mutex_lock(&excerpts->lock);
  for (size_t i = 0; i < KEPT && excerpts->kept[i] != NULL && found == NULL; i++) {
    if (!text_equal(buffer_text(&excerpts->kept[i]->key), key))
      continue;
    found = catalog_excerpt_retain(excerpts->kept[i]);
    put_first(excerpts, i, found);
  }
  pthread_mutex_unlock(&excerpts->lock);
  return found;
}

static void keep(struct excerpts *excerpts, struct catalog_excerpt *excerpt)
{
  pthread_mutex_lock(&excerpts->lock);
  struct catalog_excerpt *dropped = excerpts->kept[KEPT - 1];
  put_first(excerpts, KEPT - 1, catalog_excerpt_retain(excerpt));
  pthread_mutex_unlock(&excerpts->lock);
  catalog_excerpt_close(dropped);
}

enum jp_status excerpts_open(struct excerpts *excerpts, const struct text *names, const char *const *elements,
                             size_t count, enum catalog_extent extent, struct catalog_excerpt **excerpt,
                             struct jp_error *error)
{
  struct buffer key;
  if (count > NAMES_MAX)
    return jp_fail(error, JP_LIMIT, "more classes than an excerpt holds");
  buffer_init(&key);
  make_key(&key, names, count, extent);
  bool may_be_kept = !key.failed && key.len <= KEPT_KEY_MAX;
  *excerpt = may_be_kept ? find_kept(excerpts, buffer_text(&key)) : NULL;
  if (*excerpt != NULL) {
    buffer_fini(&key);
    return JP_OK;
  }
  struct catalog_excerpt *made = create_excerpt();
  if (made != NULL) {
    made->builder = builder_create();
    made->key = key;
  }
  enum jp_status status = made == NULL || made->builder == NULL
                              ? jp_fail_memory(error, "class files")
                              : read_excerpt(excerpts, names, elements, count, extent, made, error);
  if (status == JP_OK && may_be_kept && made->tables.class_count <= KEPT_CLASSES_MAX)
    keep(excerpts, made);
  if (status == JP_OK)
    *excerpt = made;
  else if (made != NULL)
    catalog_excerpt_close(made);
  else
    buffer_fini(&key);
  return status;
}

enum jp_status excerpts_each_name(struct excerpts *excerpts, catalog_visitor *visit, void *context,
                                  struct jp_error *error)
{
  pthread_mutex_lock(&excerpts->reading);
  enum jp_status status = make_source(excerpts, error);
  if (status == JP_OK)
    status = class_source_list(excerpts->source, error);
  struct class_source *source = status == JP_OK ? class_source_retain(excerpts->source) : NULL;
  pthread_mutex_unlock(&excerpts->reading);
  if (source == NULL)
    return status;
  /* this takes some ms, and other threads need not wait for it */
  status = class_source_each(source, visit, context, error);
  class_source_destroy(source);
  return status;
}
