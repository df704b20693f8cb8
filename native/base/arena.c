#include "base/arena.h"

#include <stdalign.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum {
  FIRST_CHUNK = 16 * 1024,
  SMALL_CHUNK = 1024,
  LARGEST_STEP = 1024 * 1024,
  FIRST_ITEMS = 4, /* lists inside lists are many and short */
  ALIGNMENT = alignof(max_align_t)
};

struct arena_chunk {
  struct arena_chunk *next;
  size_t size;
  alignas(max_align_t) char bytes[];
};

void arena_init(struct arena *arena)
{
  *arena = (struct arena){0};
}

void arena_init_small(struct arena *arena)
{
  *arena = (struct arena){.is_small = true};
}

static void free_chunks(struct arena_chunk *chunk)
{
  while (chunk != NULL) {
    struct arena_chunk *next = chunk->next;
    free(chunk);
    chunk = next;
  }
}

static void open_chunk(struct arena *arena, struct arena_chunk *chunk)
{
  arena->current = chunk;
  arena->next = chunk->bytes;
  arena->end = chunk->bytes + chunk->size;
}

void arena_fini(struct arena *arena)
{
  free_chunks(arena->first);
  *arena = (struct arena){.is_small = arena->is_small};
}

void arena_reset(struct arena *arena)
{
  if (arena->first == NULL)
    return;
  free_chunks(arena->first->next);
  arena->first->next = NULL;
  open_chunk(arena, arena->first);
}

void arena_rewind(struct arena *arena, struct arena_mark mark)
{
  if (mark.chunk == NULL) { /* nothing had been allocated yet */
    arena_reset(arena);
    return;
  }
  free_chunks(mark.chunk->next);
  mark.chunk->next = NULL;
  open_chunk(arena, mark.chunk);
  arena->next = mark.next;
}

static bool add_chunk(struct arena *arena, size_t size)
{
  if (size > SIZE_MAX - sizeof(struct arena_chunk))
    return false;
  struct arena_chunk *chunk = malloc(sizeof *chunk + size);
  if (chunk == NULL)
    return false;
  chunk->next = NULL;
  chunk->size = size;
  if (arena->first == NULL)
    arena->first = chunk;
  else
    arena->current->next = chunk;
  open_chunk(arena, chunk);
  return true;
}

static bool grow(struct arena *arena, size_t size)
{
  /* A reset keeps the first chunk, so its size does not depend on the first request. */
  if (arena->first == NULL && !add_chunk(arena, arena->is_small ? SMALL_CHUNK : FIRST_CHUNK))
    return false;
  if ((size_t)(arena->end - arena->next) >= size)
    return true;
  /* Doubling stops at 1 MiB so that one large request does not leave a huge chunk half used. */
  size_t wanted = arena->current->size * 2;
  if (wanted > LARGEST_STEP)
    wanted = LARGEST_STEP;
  return add_chunk(arena, wanted < size ? size : wanted);
}

void *arena_alloc(struct arena *arena, size_t size)
{
  if (size > SIZE_MAX - ALIGNMENT)
    return NULL;
  size = (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
  if ((size_t)(arena->end - arena->next) < size || arena->next == NULL) {
    if (!grow(arena, size))
      return NULL;
  }
  void *result = arena->next;
  arena->next += size;
  return result;
}

void *arena_calloc(struct arena *arena, size_t count, size_t size)
{
  size_t total;
  if (__builtin_mul_overflow(count, size, &total))
    return NULL;
  void *result = arena_alloc(arena, total);
  if (result != NULL)
    memset(result, 0, total);
  return result;
}

void *arena_copy_larger(struct arena *arena, const void *items, size_t count, size_t *capacity,
                        size_t item_size)
{
  size_t wanted = *capacity == 0 ? FIRST_ITEMS / 2 : *capacity;
  size_t bytes;
  if (__builtin_mul_overflow(wanted, 2, &wanted) || __builtin_mul_overflow(wanted, item_size, &bytes))
    return NULL;
  void *grown = arena_alloc(arena, bytes);
  if (grown == NULL)
    return NULL;
  if (count > 0)
    memcpy(grown, items, count * item_size);
  *capacity = wanted;
  return grown;
}

struct text arena_text(struct arena *arena, struct text t)
{
  char *copy = arena_alloc(arena, t.len);
  if (copy == NULL)
    return TEXT_ABSENT;
  if (t.len > 0)
    memcpy(copy, t.data, t.len);
  return (struct text){copy, t.len};
}

struct text arena_shorten(struct arena *arena, struct text t, size_t max)
{
  static const struct text dots = TEXT("...");
  if (t.len <= max)
    return t;
  struct text cut = text_cut(t, max);
  char *copy = arena_alloc(arena, cut.len + dots.len);
  if (copy == NULL)
    return TEXT_ABSENT;
  memcpy(copy, cut.data, cut.len);
  memcpy(copy + cut.len, dots.data, dots.len);
  return (struct text){copy, cut.len + dots.len};
}

struct text arena_vprintf(struct arena *arena, const char *format, va_list args)
{
  va_list again;
  va_copy(again, args);
  int length = vsnprintf(NULL, 0, format, args);
  char *copy = length < 0 ? NULL : arena_alloc(arena, (size_t)length + 1);
  if (copy != NULL)
    vsnprintf(copy, (size_t)length + 1, format, again);
  va_end(again);
  return copy == NULL ? TEXT_ABSENT : (struct text){copy, (size_t)length};
}

struct text arena_printf(struct arena *arena, const char *format, ...)
{
  va_list args;
  va_start(args, format);
  struct text text = arena_vprintf(arena, format, args);
  va_end(args);
  return text;
}
