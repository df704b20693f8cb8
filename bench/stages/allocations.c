#include "allocations.h"

#include <errno.h>
#include <stddef.h>

static _Thread_local bool is_counting;
static _Thread_local uint64_t count;

#ifdef STAGES_COUNT_ALLOCATIONS

#define VISIBLE __attribute__((visibility("default")))

/* The C library's functions, by the names that it offers to replacements. NOLINTBEGIN */
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t items, size_t size);
void *__libc_realloc(void *old, size_t size);
void *__libc_memalign(size_t alignment, size_t size);
void __libc_free(void *memory);
/* NOLINTEND */

VISIBLE void *malloc(size_t size)
{
  count += is_counting;
  return __libc_malloc(size);
}

VISIBLE void *calloc(size_t items, size_t size)
{
  count += is_counting;
  return __libc_calloc(items, size);
}

VISIBLE void *realloc(void *old, size_t size)
{
  count += is_counting;
  return __libc_realloc(old, size);
}

VISIBLE void *reallocarray(void *old, size_t items, size_t size)
{
  size_t total;
  if (!__builtin_mul_overflow(items, size, &total))
    return realloc(old, total);
  errno = ENOMEM;
  return NULL;
}

VISIBLE void *aligned_alloc(size_t alignment, size_t size)
{
  count += is_counting;
  return __libc_memalign(alignment, size);
}

VISIBLE int posix_memalign(void **memory, size_t alignment, size_t size)
{
  *memory = aligned_alloc(alignment, size);
  return *memory == NULL ? ENOMEM : 0;
}

VISIBLE void free(void *memory)
{
  __libc_free(memory);
}

bool allocations_are_counted(void)
{
  return true;
}

#else

bool allocations_are_counted(void)
{
  return false;
}

#endif

void allocations_begin(void)
{
  count = 0;
  is_counting = true;
}

uint64_t allocations_end(void)
{
  is_counting = false;
  return count;
}
