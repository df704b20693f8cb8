#ifndef JPEER_BASE_ARRAY_H
#define JPEER_BASE_ARRAY_H
/* A growable array of items of one size. One owner, one thread while it grows. A struct with its own members
 * items, count and capacity, whose items have their own type, uses array_grow instead. */
#include "base/status.h"

#include <stddef.h>

struct array {
  void *items;
  size_t count;
  size_t capacity;
  size_t item_size;
};

void array_init(struct array *array, size_t item_size);
void array_fini(struct array *array);
/* Adds `more` items without clearing them, and returns the first of the new items; NULL if memory is short.
 * The pointer is valid until the next call. */
void *array_add(struct array *array, size_t more);
/* Frees the memory beyond the last item. */
void array_shrink(struct array *array);

/* Makes room for one more item after the count items. Returns items itself if *capacity is above count,
 * otherwise the items moved to a larger allocation; NULL if memory is short, and items is then unchanged.
 * Before the first call items is NULL and *capacity 0. Caller frees with free. */
void *array_grow(void *items, size_t count, size_t *capacity, size_t item_size) JP_MUST_CHECK;

#endif
