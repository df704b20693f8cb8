#include "rpc/meta/meta_prefixes.h"

#include "tests/unit/await.h"
#include "tests/unit/unit.h"

#include <stdio.h>
#include <stdlib.h>

static bool is_covered(const struct text *texts, size_t count, struct text name)
{
  for (size_t i = 0; i < count; i++) {
    if (text_starts_with(name, texts[i]))
      return true;
  }
  return false;
}

/* A text of a few letters, so that many begin with one another. */
static struct text make_text(struct arena *arena, size_t length)
{
  char *text = arena_alloc(arena, length);
  for (size_t i = 0; i < length; i++)
    text[i] = "ab.\xC3"[rand() % 4];
  return (struct text){text, length};
}

UNIT_TEST(covers_what_begins_with_one_of_them)
{
  enum { ROUNDS = 2000, PREFIXES = 20, NAMES = 50, LENGTH = 7 };
  struct arena arena;
  arena_init(&arena);
  srand(7);
  for (size_t round = 0; round < ROUNDS; round++) {
    struct text texts[PREFIXES];
    struct meta_prefixes prefixes;
    size_t count = (size_t)rand() % PREFIXES;
    arena_reset(&arena);
    for (size_t i = 0; i < count; i++)
      texts[i] = make_text(&arena, (size_t)(rand() % LENGTH) + (round % 8 != 0));
    assert_int_equal(meta_prefixes_init(&prefixes, texts, count, &arena), JP_OK);
    for (size_t i = 0; i < NAMES; i++) {
      struct text name = make_text(&arena, (size_t)rand() % (2 * LENGTH));
      assert_int_equal(meta_prefixes_cover(&prefixes, name), is_covered(texts, count, name));
    }
  }
  arena_fini(&arena);
}

/* At sizes where a look at each prefix for each name would take many minutes. */
UNIT_TEST(many_of_both_take_no_product)
{
  enum { PREFIXES = 1000000, NAMES = 100000, LENGTH = 16 };
  struct arena arena;
  struct meta_prefixes prefixes;
  arena_init(&arena);
  struct text *texts = arena_alloc(&arena, PREFIXES * sizeof *texts);
  for (size_t i = 0; i < PREFIXES; i++)
    texts[i] = arena_printf(&arena, "java.x%07zu", i);
  assert_int_equal(meta_prefixes_init(&prefixes, texts, PREFIXES, &arena), JP_OK);
  assert_int_equal(prefixes.count, PREFIXES);
  size_t covered = 0;
  const int64_t since_ms = clock_now_ms();
  for (size_t i = 0; i < NAMES; i++) {
    char name[LENGTH];
    struct text text = {name,
                        (size_t)snprintf(name, sizeof name, "java.%c%07zu%c", "xy"[i % 2], i * 10, 'C')};
    covered += meta_prefixes_cover(&prefixes, text);
    assert_true(clock_now_ms() - since_ms < AWAIT_MAX_MS); /* else each name looks at each prefix */
  }
  assert_int_equal(covered, NAMES / 2);
  arena_fini(&arena);
}

UNIT_MAIN
