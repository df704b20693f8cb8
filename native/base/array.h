#ifndef JPEER_BASE_ARRAY_H
#define JPEER_BASE_ARRAY_H
/* A growable array of items of one size. One owner, one thread while it grows. array_grow is the same for a
 * struct that has its own members items, count and capacity, with items of the right type. */
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
 * Valid until the next call. */
void *array_add(struct array *array, size_t more);
/* Frees the memory beyond the last item. */
void array_shrink(struct array *array);

/* Makes room for one more of count items: items itself where *capacity is larger, else moved to a larger allocation.
 * NULL if memory is short; items is then unchanged. To begin with, items is NULL and *capacity 0. Caller frees
 * with free. */
void *array_grow(void *items, size_t count, size_t *capacity, size_t item_size) JP_MUST_CHECK;

#endif
