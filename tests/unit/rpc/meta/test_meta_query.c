/* Tests which classes of jars within jars are listed, depending on the class loaders, and tests prefixes. */
#include "classfile/builder.h"
#include "rpc/meta/meta.h"
#include "rpc/meta/meta_query.h"
#include "tests/unit/await.h"
#include "tests/unit/unit.h"

#include <stdio.h>
#include <stdlib.h>

struct loaders {
  const char *found;  /* the class that how often the loader of main was asked finds */
  const char *loaded; /* the class that exactly one loader has loaded */
  unsigned asked;     /* the loader of main */
};

static bool main_finds(void *context, struct text class_name)
{
  struct loaders *loaders = context;
  loaders->asked++;
  return loaders->found != NULL && text_equal(class_name, text_of(loaders->found));
}

static bool is_loaded(void *context, struct text class_name)
{
  const struct loaders *loaders = context;
  return loaders->loaded != NULL && text_equal(class_name, text_of(loaders->loaded));
}

static struct builder *builder;
static struct catalog_tables tables;

static void add_class(const char *name, uint16_t part)
{
  const struct class_file file = {.access = ACCESS_PUBLIC, .name = text_of(name)};
  struct jp_error error;
  builder_enter_part(builder, part);
  assert_int_equal(builder_add_parsed(builder, &file, CATALOG_CLASS_PATH, &error), JP_OK);
}

static int make_tables(void **state)
{
  (void)state;
  struct jp_error error;
  builder = builder_create();
  assert_non_null(builder);
  uint16_t first = builder_make_part(builder);
  uint16_t second = builder_make_part(builder);
  uint16_t empty = builder_make_part(builder);
  assert_true(first != second && empty != second);
  add_class("a.Own", 0);
  add_class("b.One", first);
  add_class("b.Two", first);
  add_class("c.One", second);
  add_class("c.Two", second);
  return builder_finish(builder, &tables, &error) == JP_OK ? 0 : 1;
}

static int free_tables(void **state)
{
  (void)state;
  builder_destroy(builder);
  return 0;
}

/* wanted: a 1 for each class that can be named, in the order of their names. */
static uint64_t check_reach(struct loaders *given, const char *wanted)
{
  const struct meta_loaders loaders = {given, main_finds, is_loaded};
  struct meta_reach reach;
  char found[8] = "";
  assert_int_equal(meta_reach_find(&reach, &tables, given == NULL ? NULL : &loaders), JP_OK);
  for (uint32_t i = 0; i < tables.class_count; i++)
    found[i] = meta_reach_has(&reach, i) ? '1' : '0';
  assert_string_equal(found, wanted);
  uint64_t stamp = reach.stamp;
  meta_reach_fini(&reach);
  return stamp;
}

UNIT_TEST(a_jar_is_listed_as_a_whole_once_main_has_its_loader)
{
  struct loaders none = {.asked = 0};
  struct loaders all_of_first = {.found = "b.Two"}; /* the class that represents the jar */
  uint64_t without = check_reach(&none, "10000");
  assert_int_equal(none.asked, 2); /* once for each jar that has classes */
  assert_true(check_reach(&all_of_first, "11100") != without);
  assert_true(check_reach(&none, "10000") == without);
}

UNIT_TEST(a_loaded_class_is_listed_alone)
{
  struct loaders one = {.loaded = "c.One"};
  check_reach(&one, "10010");
}

UNIT_TEST(without_loaders_all_are_listed)
{
  assert_int_equal(check_reach(NULL, "11111"), 0);
  assert_true(meta_reach_has(NULL, 4));
}

/* ---- prefixes ---- */

static bool is_covered(const struct text *texts, size_t count, struct text name)
{
  for (size_t i = 0; i < count; i++) {
    if (text_starts_with(name, texts[i]))
      return true;
  }
  return false;
}

/* A text of few letters, so that many texts begin with one another. */
static struct text make_text(struct arena *arena, size_t length)
{
  char *text = arena_alloc(arena, length);
  for (size_t i = 0; i < length; i++)
    text[i] = "ab.\xC3"[rand() % 4];
  return (struct text){text, length};
}

UNIT_TEST(covers_names_that_begin_with_a_prefix)
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

/* At sizes for which comparing each prefix with each name would take many minutes. */
UNIT_TEST(many_names_and_prefixes_take_no_product)
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
    /* a longer time means that each name was compared with each prefix */
    assert_true(clock_now_ms() - since_ms < AWAIT_MAX_MS);
  }
  assert_int_equal(covered, NAMES / 2);
  arena_fini(&arena);
}

UNIT_MAIN_WITH(make_tables, free_tables)
