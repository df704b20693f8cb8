#include "rpc/meta/name_list.h"

#include "base/arena.h"
#include "base/array.h"
#include "json/writer.h"

#include <stdlib.h>

struct collection {
  const struct name_list_query *query;
  struct text package; /* with its dot; empty: the prefix has no package */
  struct text rest;    /* the part of the prefix after the package */
  bool is_everywhere;  /* classes of all packages are meant */
  bool is_short;       /* memory is short */
  struct arena arena;
  struct array packages; /* struct text, in the arena; with duplicates */
  struct array classes;
};

static bool is_capital(char c)
{
  return c >= 'A' && c <= 'Z';
}

bool name_list_matches_words(struct text name, struct text pattern)
{
  size_t at = 0;
  size_t words = 0;
  for (size_t i = 0; i < pattern.len; i++) {
    if (is_capital(pattern.data[i]) && i > 0) {
      while (at < name.len && !is_capital(name.data[at])) /* the remaining characters of the previous word */
        at++;
    }
    words += is_capital(pattern.data[i]) || i == 0;
    if (at == name.len || name.data[at] != pattern.data[i])
      return false;
    at++;
  }
  return words > 1;
}

static void keep_name(struct collection *collection, struct array *names, struct text name)
{
  struct text kept = arena_text(&collection->arena, name);
  struct text *added = kept.data == NULL ? NULL : array_add(names, 1);
  if (added == NULL)
    collection->is_short = true;
  else
    *added = kept;
}

static bool shows_name(const struct collection *collection, struct text class_name)
{
  return policy_shows_class(collection->query->policy, collection->query->channel, class_name);
}

/* Names arrive package by package, so that comparing with the last package finds most repetitions. */
static void note_package(struct collection *collection, struct text package, struct text class_name)
{
  const struct array *packages = &collection->packages;
  const struct text *last =
      packages->count == 0 ? NULL : (const struct text *)packages->items + (packages->count - 1);
  if ((last == NULL || !text_equal(*last, package)) && shows_name(collection, class_name))
    keep_name(collection, &collection->packages, package);
}

/* Local and anonymous classes have a digit where a name begins ("A$1", "A$1Local"). */
static bool is_nameable(struct text simple)
{
  if (text_equal(simple, TEXT("package-info")) || text_equal(simple, TEXT("module-info")))
    return false;
  for (size_t i = 0; i + 1 < simple.len; i++) {
    if (simple.data[i] == '$' && simple.data[i + 1] >= '0' && simple.data[i + 1] <= '9')
      return false;
  }
  return true;
}

static bool wants_class(const struct collection *collection, struct text simple)
{
  bool is_nested = simple.len > 1 && memchr(simple.data + 1, '$', simple.len - 1) != NULL;
  bool wants_nested =
      collection->rest.len > 0 && memchr(collection->rest.data, '$', collection->rest.len) != NULL;
  if ((is_nested && !wants_nested) || !is_nameable(simple))
    return false;
  return text_starts_with(simple, collection->rest) || name_list_matches_words(simple, collection->rest);
}

/* catalog_visitor */
static void note_name(void *context, struct text name)
{
  struct collection *collection = context;
  bool is_inside = text_starts_with(name, collection->package);
  if (!is_inside && !collection->is_everywhere)
    return;
  size_t dot = text_find_last(name, '.');
  size_t simple_at = dot == SIZE_MAX ? 0 : dot + 1;
  struct text simple = text_slice(name, simple_at, name.len);
  if (is_inside && simple_at > collection->package.len) {
    size_t end = collection->package.len;
    while (name.data[end] != '.')
      end++;
    if (text_starts_with(text_slice(name, collection->package.len, end), collection->rest))
      note_package(collection, text_slice(name, 0, end), name);
  }
  bool is_here = is_inside && simple_at == collection->package.len;
  if ((is_here || collection->is_everywhere) && wants_class(collection, simple) &&
      shows_name(collection, name))
    keep_name(collection, &collection->classes, name);
}

static int compare_names(const void *left, const void *right)
{
  return text_order(*(const struct text *)left, *(const struct text *)right);
}

/* Writes at most *room names, each once, and subtracts them from *room. False: there were more. */
static bool write_names(struct buffer *out, struct array *names, size_t *room)
{
  struct text *items = names->items;
  bool is_whole = true;
  const struct text *last = NULL;
  if (names->count > 1)
    qsort(items, names->count, sizeof *items, compare_names);
  buffer_append_char(out, '[');
  for (size_t i = 0; i < names->count; i++) {
    if (last != NULL && text_equal(*last, items[i]))
      continue;
    if (*room == 0) {
      is_whole = false;
      break;
    }
    buffer_append_text(out, last == NULL ? TEXT("") : TEXT(","));
    json_write_string(out, items[i]);
    last = &items[i];
    --*room;
  }
  buffer_append_char(out, ']');
  return is_whole;
}

enum jp_status name_list_write(struct catalog *catalog, const struct name_list_query *query,
                               struct buffer *out, struct jp_error *error)
{
  size_t dot = text_find_last(query->prefix, '.');
  size_t rest_at = dot == SIZE_MAX ? 0 : dot + 1;
  struct collection collection = {.query = query,
                                  .package = text_slice(query->prefix, 0, rest_at),
                                  .rest = text_slice(query->prefix, rest_at, query->prefix.len)};
  collection.is_everywhere = rest_at == 0 && query->prefix.len > 0 && is_capital(query->prefix.data[0]);
  arena_init(&collection.arena);
  array_init(&collection.packages, sizeof(struct text));
  array_init(&collection.classes, sizeof(struct text));
  enum jp_status status = catalog_each_known_name(catalog, note_name, &collection, error);
  if (status == JP_OK && !collection.is_short) {
    size_t room = query->max;
    BUFFER_LITERAL(out, "{\"packages\":");
    bool is_whole = write_names(out, &collection.packages, &room);
    BUFFER_LITERAL(out, ",\"classes\":");
    is_whole = write_names(out, &collection.classes, &room) && is_whole;
    buffer_append_text(out, is_whole ? TEXT(",\"complete\":true}") : TEXT(",\"complete\":false}"));
  }
  if (status == JP_OK && (collection.is_short || out->failed))
    status = jp_fail_memory(error, NULL);
  array_fini(&collection.packages);
  array_fini(&collection.classes);
  arena_fini(&collection.arena);
  return status;
}
