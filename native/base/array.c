#include "base/array.h"

#include <stdint.h>
#include <stdlib.h>

enum { FIRST_ITEMS = 16 };

void array_init(struct array *array, size_t item_size)
{
  *array = (struct array){.item_size = item_size};
}

void array_fini(struct array *array)
{
  free(array->items);
  *array = (struct array){.item_size = array->item_size};
}

static void *move_items(void *items, size_t wanted, size_t *capacity, size_t item_size)
{
  size_t larger = *capacity + *capacity / 2;
  if (larger < wanted + FIRST_ITEMS)
    larger = wanted + FIRST_ITEMS;
  size_t bytes;
  void *moved = __builtin_mul_overflow(larger, item_size, &bytes) ? NULL : realloc(items, bytes);
  if (moved != NULL)
    *capacity = larger;
  return moved;
}

void *array_grow(void *items, size_t count, size_t *capacity, size_t item_size)
{
  return count < *capacity ? items : move_items(items, count, capacity, item_size);
}

void *array_add(struct array *array, size_t more)
{
  size_t wanted;
  if (__builtin_add_overflow(array->count, more, &wanted) || wanted > SIZE_MAX - FIRST_ITEMS)
    return NULL;
  if (wanted > array->capacity || array->items == NULL) {
    void *items = move_items(array->items, wanted, &array->capacity, array->item_size);
    if (items == NULL)
      return NULL;
    array->items = items;
  }
  void *added = (char *)array->items + array->count * array->item_size;
  array->count = wanted;
  return added;
}

void array_shrink(struct array *array)
{
  if (array->count == 0 || array->count == array->capacity)
    return;
  void *items = reallocarray(array->items, array->count, array->item_size);
  if (items == NULL)
    return; /* the array keeps its size */
  array->items = items;
  array->capacity = array->count;
}
