#include "rpc/methods/java_methods.h"

#include "classfile/class_file.h"
#include "classfile/signature.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

/* ---- names ---- */

static bool is_reserved(struct text name)
{
  static const struct text prefixes[] = {TEXT("rpc."), TEXT("system."), TEXT("jpeer.")};
  for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++) {
    if (text_starts_with(name, prefixes[i]))
      return true;
  }
  return false;
}

bool java_method_name_parse(struct text written, struct java_method_name *name)
{
  struct text plain = written;
  const char *dash = written.len == 0 ? NULL : memchr(written.data, '-', written.len);
  *name = (struct java_method_name){.suffix = TEXT_ABSENT};
  if (dash != NULL) {
    plain = text_slice(written, 0, (size_t)(dash - written.data));
    name->suffix = text_slice(written, plain.len + 1, written.len);
  }
  size_t dot = text_find_last(plain, '.');
  if (dot == SIZE_MAX || dot == 0 || dot + 1 == plain.len || is_reserved(written))
    return false;
  name->class_name = text_slice(plain, 0, dot);
  name->member = text_slice(plain, dot + 1, plain.len);
  return true;
}

void java_method_suffix_write(struct text descriptor, struct buffer *out)
{
  struct text rest = text_slice(descriptor, 1, descriptor.len);
  if (rest.len > 0 && rest.data[0] == ')')
    BUFFER_LITERAL(out, "void");
  for (bool first = true; rest.len > 0 && rest.data[0] != ')'; first = false) {
    if (!first)
      buffer_append_char(out, '-');
    size_t from = out->len;
    if (!descriptor_read_type(&rest, out)) {
      out->failed = true; /* descriptors are valid: memory is short */
      return;
    }
    /* Turns "int[][]", from `from` to the end of the buffer, into "int.array.array". */
    unsigned dimensions = 0;
    while (!out->failed && out->len >= from + 2 && out->data[out->len - 1] == ']') {
      buffer_truncate(out, out->len - 2);
      dimensions++;
    }
    for (; dimensions > 0; dimensions--)
      BUFFER_LITERAL(out, ".array");
  }
}

/* ---- the methods of a class ---- */

enum jp_status java_methods_init(struct java_methods *methods, const struct catalog_tables *tables,
                                 const struct policy *policy, enum policy_channel channel)
{
  const struct operation everything = {.kind = OP_META, .meta = {.merge_ancestry = true}};
  *methods = (struct java_methods){0};
  meta_members_init(&methods->members);
  return meta_query_init(&methods->query, tables, policy, channel, &everything);
}

void java_methods_fini(struct java_methods *methods)
{
  meta_members_fini(&methods->members);
  meta_query_fini(&methods->query);
}

static void read_types(struct java_method *method, struct text signature)
{
  bool is_constructor = method->result.data == NULL;
  struct method_types types;
  method_types_open(&types, method->descriptor, signature, method->parameter_count, is_constructor);
  for (unsigned i = 0; i < method->parameter_count; i++)
    method->parameters[i].type = method_types_next(&types, NULL);
  if (is_constructor)
    return;
  struct text result = TEXT_ABSENT;
  if (types.has_signature) {
    struct text rest = text_slice(types.signature, 1, types.signature.len);
    struct text from = rest;
    result = signature_read_type(&rest, NULL) ? text_slice(from, 0, from.len - rest.len) : TEXT_ABSENT;
  }
  method->result = result.data != NULL ? result : text_slice(types.descriptor, 1, types.descriptor.len);
}

static bool is_taken(const struct java_method *method, unsigned before, struct text name)
{
  if (method->has_receiver && text_equal(name, TEXT("instance")))
    return true;
  for (unsigned i = 0; i < before; i++) {
    if (text_equal(method->parameters[i].name, name))
      return true;
  }
  return false;
}

static bool name_parameters(const struct catalog_tables *tables, struct java_method *method,
                            struct arena *arena)
{
  for (unsigned i = 0; i < method->parameter_count; i++) {
    struct text name = TEXT("");
    if (method->method->first_parameter != CATALOG_NONE)
      name = catalog_text(tables, tables->parameters[method->method->first_parameter + i].name);
    if (name.len == 0)
      name = arena_printf(arena, "arg%u", i);
    while (name.data != NULL && is_taken(method, i, name))
      name = arena_printf(arena, "%.*s_", TEXT_ARGS(name));
    if (name.data == NULL)
      return false;
    method->parameters[i].name = name;
  }
  return true;
}

static bool describe_method(const struct catalog_tables *tables, const struct meta_member *member,
                            bool is_constructor, struct arena *arena, struct java_method *out)
{
  const struct catalog_method *method = &tables->methods[member->index];
  bool is_static = (method->access & ACCESS_STATIC) != 0;
  *out = (struct java_method){
      .method = method,
      .member = is_constructor ? TEXT("new") : catalog_text(tables, method->name),
      .descriptor = catalog_text(tables, method->descriptor),
      .parameters = arena_calloc(arena, method->parameter_count, sizeof *out->parameters),
      .result = is_constructor ? TEXT_ABSENT : TEXT(""),
      .declaring = member->declaring,
      .parameter_count = method->parameter_count,
      .has_receiver = !is_constructor && !is_static,
      .is_varargs = (method->access & ACCESS_VARARGS) != 0,
      .allowed = member->allowed,
  };
  if (out->parameters == NULL)
    return false;
  read_types(out, catalog_text(tables, method->signature));
  return name_parameters(tables, out, arena);
}

enum jp_status java_methods_collect(struct java_methods *methods, uint32_t class_index, struct text member,
                                    struct arena *arena, struct java_method **found, size_t *count)
{
  const struct catalog_tables *tables = methods->query.tables;
  struct meta_members *members = &methods->members;
  enum jp_status status = meta_members_collect(members, &methods->query, class_index);
  if (status != JP_OK)
    return status;
  size_t all = members->constructors.count + members->methods.count;
  struct java_method *out = arena_calloc(arena, all, sizeof *out);
  if (out == NULL)
    return JP_NO_MEMORY;
  *found = out;
  *count = 0;
  for (size_t i = 0; i < all; i++) {
    bool is_constructor = i < members->constructors.count;
    const struct meta_member *at =
        is_constructor ? (const struct meta_member *)members->constructors.items + i
                       : (const struct meta_member *)members->methods.items + i - members->constructors.count;
    struct text name = is_constructor ? TEXT("new") : catalog_text(tables, tables->methods[at->index].name);
    if (member.data != NULL && !text_equal(name, member))
      continue;
    if (!describe_method(tables, at, is_constructor, arena, &out[*count]))
      return JP_NO_MEMORY;
    ++*count;
  }
  for (size_t i = 0; i < (*count); i++) {
    for (size_t j = i + 1; j < (*count); j++) {
      if (!text_equal(out[i].member, out[j].member))
        continue;
      out[i].overloaded = true;
      out[j].overloaded = true;
    }
  }
  return JP_OK;
}

enum jp_status java_methods_collect_named(const struct catalog_tables *tables, const struct policy *policy,
                                          uint32_t class_index, struct text member, struct arena *arena,
                                          struct java_method **found, size_t *count)
{
  struct java_methods methods;
  enum jp_status status = java_methods_init(&methods, tables, policy, POLICY_CLI);
  if (status == JP_OK)
    status = java_methods_collect(&methods, class_index, member, arena, found, count);
  java_methods_fini(&methods);
  return status;
}

/* ---- the methods that were called before ---- */

enum { BUCKETS = 512 };

struct java_methods_entry {
  struct java_methods_entry *next;  /* in its bucket */
  struct java_methods_entry *newer; /* in the order of last use; NULL: the newest */
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

/* The caller of this function and of the next four functions holds the lock. */
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

static void remove_from_order(struct java_methods_index *index, struct java_methods_entry *entry)
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
  remove_from_order(index, oldest);
  index->count--;
  return oldest;
}

/* Returns the kept entry of the class, which the caller releases with release_entry. NULL: no entry of the
 * class is kept. */
static struct java_methods_entry *use_kept(struct java_methods_index *index, struct text class_name,
                                           struct text member)
{
  pthread_mutex_lock(&index->lock);
  struct java_methods_entry *entry = find_entry(index, class_name, member);
  if (entry != NULL) {
    atomic_fetch_add(&entry->users, 1);
    if (entry != index->newest) {
      remove_from_order(index, entry);
      put_newest(index, entry);
    }
  }
  pthread_mutex_unlock(&index->lock);
  return entry;
}

/* Puts the entry into the index, unless another thread has put an equal entry there. */
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
      return jp_fail_memory(error, NULL);
    if (entry->count > 0) /* otherwise a caller could fill the index with names that do not exist */
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
