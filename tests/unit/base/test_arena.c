#include "base/arena.h"

#include "tests/unit/unit.h"

#include <stdalign.h>

UNIT_TEST(aligns_its_blocks)
{
  struct arena arena;
  arena_init(&arena);
  for (size_t size = 0; size < 100; size++) {
    char *p = arena_alloc(&arena, size);
    assert_non_null(p);
    assert_int_equal((uintptr_t)p % alignof(max_align_t), 0);
    if (size > 0)
      memset(p, 0xA5, size);
  }
  arena_fini(&arena);
}

UNIT_TEST(gives_blocks_that_do_not_overlap)
{
  enum { BLOCKS = 200 };
  static const size_t sizes[] = {1, 100, 5000, 20000, 70000};
  struct arena arena;
  arena_init(&arena);
  unsigned char *blocks[BLOCKS];
  for (size_t i = 0; i < BLOCKS; i++) {
    blocks[i] = arena_alloc(&arena, sizes[i % COUNT_OF(sizes)]);
    assert_non_null(blocks[i]);
    memset(blocks[i], (int)i, sizes[i % COUNT_OF(sizes)]);
  }
  for (size_t i = 0; i < BLOCKS; i++) {
    assert_int_equal(blocks[i][0], i);
    assert_int_equal(blocks[i][sizes[i % COUNT_OF(sizes)] - 1], i);
  }
  arena_fini(&arena);
}

UNIT_TEST(gives_the_same_memory_after_a_reset)
{
  struct arena arena;
  arena_init(&arena);
  arena_reset(&arena); /* an empty arena can be reset, too */
  void *first = arena_alloc(&arena, 10);
  arena_alloc(&arena, 100000);
  arena_reset(&arena);
  assert_ptr_equal(arena_alloc(&arena, 10), first);
  arena_fini(&arena);
}

UNIT_TEST(gives_the_same_memory_after_a_rewind)
{
  enum { SMALL = 1, LARGE = 8 << 20 };
  static const size_t sizes[] = {SMALL, LARGE};
  struct arena arena;
  arena_init(&arena);
  struct arena_mark empty = arena_mark(&arena);
  arena_alloc(&arena, SMALL);
  for (size_t i = 0; i < COUNT_OF(sizes); i++) {
    char *before = arena_alloc(&arena, SMALL);
    *before = 'b';
    struct arena_mark mark = arena_mark(&arena);
    void *first = arena_alloc(&arena, SMALL);
    arena_alloc(&arena, sizes[i]);
    arena_rewind(&arena, mark);
    assert_ptr_equal(arena_alloc(&arena, SMALL), first);
    arena_rewind(&arena, mark); /* a second time */
    assert_ptr_equal(arena_alloc(&arena, SMALL), first);
    assert_int_equal(*before, 'b');
    assert_true(arena.end - arena.next < LARGE);
  }
  arena_rewind(&arena, empty);
  assert_non_null(arena_alloc(&arena, SMALL));
  arena_fini(&arena);
}

UNIT_TEST(frees_a_large_first_chunk_at_reset)
{
  enum { LARGE = 8 << 20 };
  struct arena arena;
  arena_init(&arena);
  assert_non_null(arena_alloc(&arena, LARGE));
  arena_reset(&arena);
  assert_true(arena.end - arena.next < LARGE);
  assert_non_null(arena_alloc(&arena, 10));
  arena_fini(&arena);
}

UNIT_TEST(refuses_sizes_that_cannot_be)
{
  struct arena arena;
  arena_init(&arena);
  volatile size_t huge = SIZE_MAX; /* the compiler would refuse the constant */
  assert_null(arena_alloc(&arena, huge));
  assert_null(arena_alloc(&arena, huge - 20));
  assert_null(arena_calloc(&arena, huge / 2, 3));
  assert_non_null(arena_alloc(&arena, 1));
  arena_fini(&arena);
}

UNIT_TEST(clears_copies_and_formats)
{
  struct arena arena;
  arena_init(&arena);
  memset(arena_alloc(&arena, 64), 0xFF, 64);
  arena_reset(&arena);
  static const char zeros[64];
  assert_memory_equal(arena_calloc(&arena, 8, 8), zeros, 64);

  char source[] = "a\0b";
  struct text copy = arena_text(&arena, (struct text){source, 3});
  source[0] = 'x';
  assert_text(copy, "a\0b");
  assert_non_null(arena_text(&arena, TEXT_ABSENT).data);
  assert_text(arena_printf(&arena, "%s-%d", "x", 42), "x-42");
  assert_int_equal(arena_printf(&arena, "%*d", 50000, 1).len, 50000);
  arena_fini(&arena);
}

UNIT_TEST(a_small_arena_grows_as_others)
{
  struct arena arena;
  arena_init_small(&arena);
  char *first = arena_alloc(&arena, 16);
  for (size_t size = 1; size < 100000; size *= 3)
    memset(arena_alloc(&arena, size), 'x', size);
  arena_reset(&arena);
  assert_ptr_equal(arena_alloc(&arena, 16), first);
  arena_fini(&arena);
  assert_non_null(arena_alloc(&arena, 16)); /* it may be used again */
  arena_fini(&arena);
}

UNIT_TEST(grows_a_list_by_copies)
{
  enum { ITEMS = 5000 };
  struct arena arena;
  uint32_t *items = NULL;
  size_t capacity = 0;
  arena_init(&arena);
  for (uint32_t i = 0; i < ITEMS; i++) {
    uint32_t *grown = arena_grow(&arena, items, i, &capacity, sizeof *items);
    assert_non_null(grown);
    assert_true(capacity > i && (i == 0 || grown == items || capacity == 2 * i));
    items = grown;
    items[i] = i;
  }
  for (uint32_t i = 0; i < ITEMS; i++)
    assert_int_equal(items[i], i);
  capacity = SIZE_MAX / 2 + 1;
  assert_null(arena_grow(&arena, items, SIZE_MAX / 2 + 1, &capacity, sizeof *items));
  assert_int_equal(capacity, SIZE_MAX / 2 + 1);
  arena_fini(&arena);
}

UNIT_MAIN
