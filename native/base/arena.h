#ifndef JPEER_BASE_ARENA_H
#define JPEER_BASE_ARENA_H
/*
 * A bump allocator that lives as long as one request and is reset, not freed, between requests.
 *
 * One owner, one thread. Memory from it is valid until arena_reset or arena_fini. A reset keeps the first
 * chunk and frees the larger chunks, which only unusual requests need.
 */
#include "base/text.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

struct arena_chunk;

struct arena {
  struct arena_chunk *first; /* kept over a reset */
  struct arena_chunk *current;
  char *next;
  char *end;
  bool is_small;
};

void arena_init(struct arena *arena);
/* For arenas of which there are many, and which hold little: the first chunk is smaller. */
void arena_init_small(struct arena *arena);
void arena_fini(struct arena *arena);
void arena_reset(struct arena *arena);

/* arena_rewind releases the memory allocated after arena_mark, unless the arena was reset in between. Marks
 * nest: the arena may be rewound to a mark several times, until it is rewound to an older mark. */
struct arena_mark {
  struct arena_chunk *chunk;
  char *next;
};

static inline struct arena_mark arena_mark(const struct arena *arena)
{
  return (struct arena_mark){arena->current, arena->next};
}

void arena_rewind(struct arena *arena, struct arena_mark mark);

/* Aligned for any type; not cleared; NULL when memory is short. size 0 gives a valid pointer. */
void *arena_alloc(struct arena *arena, size_t size) __attribute__((malloc, alloc_size(2)));
void *arena_calloc(struct arena *arena, size_t count, size_t size); /* cleared; checks the product */
/* Called by arena_grow if items must move to a larger allocation. */
void *arena_copy_larger(struct arena *arena, const void *items, size_t count, size_t *capacity,
                        size_t item_size);
/* Makes room for one more item after the count items, which the arena has allocated. Returns items itself if
 * *capacity is above count, otherwise a copy with twice the capacity; NULL when memory is short. Before the
 * first call items is NULL and *capacity 0. */
static inline void *arena_grow(struct arena *arena, void *items, size_t count, size_t *capacity,
                               size_t item_size)
{
  return count < *capacity ? items : arena_copy_larger(arena, items, count, capacity, item_size);
}
/* A copy of t; data is NULL when memory is short. */
struct text arena_text(struct arena *arena, struct text t);
/* For messages: t itself or, if t is longer than max bytes, the beginning of t and "...". data is NULL if
 * t.data is NULL, or when memory is short. */
struct text arena_shorten(struct arena *arena, struct text t, size_t max);
/* A formatted text; data is NULL when memory is short. */
struct text arena_printf(struct arena *arena, const char *format, ...) __attribute__((format(printf, 2, 3)));
struct text arena_vprintf(struct arena *arena, const char *format, va_list args)
    __attribute__((format(printf, 2, 0)));

#endif
