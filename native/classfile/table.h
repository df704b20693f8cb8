#ifndef JPEER_CLASSFILE_TABLE_H
#define JPEER_CLASSFILE_TABLE_H
/* A growable array of plain items of one size. One owner, one thread while it grows. */
#include <stddef.h>

struct table {
  void *items;
  size_t count;
  size_t capacity;
  size_t item_size;
};

void table_init(struct table *table, size_t item_size);
void table_fini(struct table *table);
/* Room for `more` items at the end, counted in and not cleared; NULL when memory is short. Valid until the
 * next call. */
void *table_add(struct table *table, size_t more);
/* Gives back what is not in use. */
void table_shrink(struct table *table);

#endif
