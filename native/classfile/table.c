#include "classfile/table.h"

#include <stdlib.h>

enum { FIRST_ITEMS = 16 };

void table_init(struct table *table, size_t item_size)
{
  *table = (struct table){.item_size = item_size};
}

void table_fini(struct table *table)
{
  free(table->items);
  *table = (struct table){.item_size = table->item_size};
}

void *table_add(struct table *table, size_t more)
{
  size_t wanted;
  if (__builtin_add_overflow(table->count, more, &wanted))
    return NULL;
  if (wanted > table->capacity || table->items == NULL) {
    size_t capacity = table->capacity + table->capacity / 2;
    if (capacity < wanted + FIRST_ITEMS)
      capacity = wanted + FIRST_ITEMS;
    void *items = reallocarray(table->items, capacity, table->item_size);
    if (items == NULL)
      return NULL;
    table->items = items;
    table->capacity = capacity;
  }
  void *added = (char *)table->items + table->count * table->item_size;
  table->count = wanted;
  return added;
}

void table_shrink(struct table *table)
{
  if (table->count == 0 || table->count == table->capacity)
    return;
  void *items = reallocarray(table->items, table->count, table->item_size);
  if (items == NULL)
    return; /* the array keeps its size */
  table->items = items;
  table->capacity = table->count;
}
