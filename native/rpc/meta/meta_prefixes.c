#include "rpc/meta/meta_prefixes.h"

#include <stdlib.h>

static int compare_texts(const void *left, const void *right)
{
  return text_order(*(const struct text *)left, *(const struct text *)right);
}

/* Drops prefixes that begin with another one, since the shorter one covers them; in sorted order they follow
 * it. Returns the number of those that stay, at the front. */
static size_t drop_covered(struct text *sorted, size_t count)
{
  size_t kept = 0;
  for (size_t i = 0; i < count; i++) {
    if (kept == 0 || !text_starts_with(sorted[i], sorted[kept - 1]))
      sorted[kept++] = sorted[i];
  }
  return kept;
}

static bool copy_texts(struct meta_prefixes *prefixes, const struct text *texts, size_t count,
                       struct arena *arena)
{
  prefixes->items = arena_alloc(arena, count * sizeof *prefixes->items);
  if (prefixes->items == NULL)
    return false;
  for (; prefixes->count < count; prefixes->count++) {
    struct text text = arena_text(arena, texts[prefixes->count]);
    if (text.data == NULL)
      return false;
    prefixes->items[prefixes->count] = text;
  }
  return true;
}

enum jp_status meta_prefixes_init(struct meta_prefixes *prefixes, const struct text *texts, size_t count,
                                  struct arena *arena)
{
  *prefixes = (struct meta_prefixes){0};
  if (count == 0)
    return JP_OK;
  struct text *sorted = reallocarray(NULL, count, sizeof *sorted);
  if (sorted == NULL)
    return JP_NO_MEMORY;
  memcpy(sorted, texts, count * sizeof *sorted);
  qsort(sorted, count, sizeof *sorted, compare_texts);
  bool copied = copy_texts(prefixes, sorted, drop_covered(sorted, count), arena);
  free(sorted);
  return copied ? JP_OK : JP_NO_MEMORY;
}

/* The name can begin only with the last prefix that does not come after it in the order. */
bool meta_prefixes_cover(const struct meta_prefixes *prefixes, struct text name)
{
  size_t from = 0;
  size_t to = prefixes->count;
  while (from < to) {
    size_t middle = from + (to - from) / 2;
    if (text_order(prefixes->items[middle], name) <= 0)
      from = middle + 1;
    else
      to = middle;
  }
  return from > 0 && text_starts_with(name, prefixes->items[from - 1]);
}
