#ifndef JPEER_CLASSFILE_TABLE_H
#define JPEER_CLASSFILE_TABLE_H
/* A growable array of items of one size. One owner, one thread while it grows. */
#include <stddef.h>

struct table {
  void *items;
  size_t count;
  size_t capacity;
  size_t item_size;
};

void table_init(struct table *table, size_t item_size);
void table_fini(struct table *table);
/* Adds `more` items, which are not cleared, and returns the first of them; NULL where memory is short. Valid
 * until the next call. */
void *table_add(struct table *table, size_t more);
/* Frees the memory beyond the last item. */
void table_shrink(struct table *table);

#endif
