/* What is kept of methods that were looked up by their names. */
#include "rpc/members/java_methods_index.h"
#include "tests/unit/unit.h"

static struct catalog *catalog;
static const struct catalog_tables *tables;
static struct policy *policy;

static int open_catalog(void **state)
{
  (void)state;
  const struct catalog_config config = {.class_path = TEST_CLASSES};
  const struct policy_config allow = {.default_action = POLICY_ALLOW};
  struct jp_error error;
  if (catalog_create(&config, &catalog, &error) == JP_OK && catalog_load(catalog, &tables, &error) == JP_OK &&
      policy_create(&allow, &policy, &error) == JP_OK)
    return 0;
  print_error("%s\n", error.text);
  return 1;
}

static int close_catalog(void **state)
{
  (void)state;
  policy_destroy(policy);
  catalog_destroy(catalog);
  return 0;
}

static struct text class_name(uint32_t class_index)
{
  return catalog_text(tables, tables->classes[class_index].name);
}

struct lookup {
  struct java_methods_index *index;
  struct arena arena;
  struct java_methods_found found;
};

static void look_up(struct lookup *lookup, uint32_t class_index, struct text member)
{
  struct jp_error error;
  java_methods_index_release(&lookup->found);
  assert_int_equal(java_methods_index_find(lookup->index, catalog, policy, class_name(class_index), member,
                                           &lookup->arena, &lookup->found, &error),
                   JP_OK);
}

static void every_member_is_found_again(void **state)
{
  (void)state;
  struct lookup lookup = {.index = java_methods_index_create()};
  size_t names = 0;
  assert_non_null(lookup.index);
  arena_init(&lookup.arena);
  for (uint32_t at = 0; at < tables->class_count; at++) {
    const struct catalog_class *class = &tables->classes[at];
    for (uint32_t i = class->first_method; i < class->first_method + class->method_count; i++) {
      struct text member = catalog_text(tables, tables->methods[i].name);
      if (tables->methods[i].hidden || text_equal(member, TEXT("<init>")))
        continue;
      look_up(&lookup, at, member);
      const struct java_method *first = lookup.found.methods;
      if (lookup.found.count == 0)
        fail_msg("%.*s.%.*s is not found", TEXT_ARGS(class_name(at)), TEXT_ARGS(member));
      look_up(&lookup, at, member);
      if (names++ < JAVA_METHODS_KEPT / 2)
        assert_ptr_equal(lookup.found.methods, first);
      assert_true(text_equal(lookup.found.methods[0].member, member));
    }
  }
  assert_true(names > 10);
  java_methods_index_release(&lookup.found);
  arena_fini(&lookup.arena);
  java_methods_index_destroy(lookup.index);
}

/* A caller chooses the names: what is not there takes no room, and a full index still finds. */
static void names_that_are_not_there_take_no_room(void **state)
{
  (void)state;
  struct lookup lookup = {.index = java_methods_index_create()};
  assert_non_null(lookup.index);
  arena_init(&lookup.arena);
  for (int i = 0; i < 2 * JAVA_METHODS_KEPT; i++) {
    look_up(&lookup, 0, arena_printf(&lookup.arena, "absent%d", i));
    assert_int_equal(lookup.found.count, 0);
  }
  uint32_t with_methods = 0;
  while (with_methods + 1 < tables->class_count && tables->classes[with_methods].method_count == 0)
    with_methods++;
  struct text member = catalog_text(tables, tables->methods[tables->classes[with_methods].first_method].name);
  if (text_equal(member, TEXT("<init>")))
    member = TEXT("new");
  look_up(&lookup, with_methods, member);
  const struct java_method *first = lookup.found.methods;
  look_up(&lookup, with_methods, member);
  if (lookup.found.count > 0)
    assert_ptr_equal(lookup.found.methods, first);
  java_methods_index_release(&lookup.found);
  arena_fini(&lookup.arena);
  java_methods_index_destroy(lookup.index);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_member_is_found_again),
      cmocka_unit_test(names_that_are_not_there_take_no_room),
  };
  return cmocka_run_group_tests(tests, open_catalog, close_catalog);
}
