/* The cache of methods that were looked up by their names. */
#include "classfile/class_file.h"
#include "rpc/methods/java_methods.h"
#include "tests/unit/unit.h"

#include <pthread.h>

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
                                           &lookup->found, &error),
                   JP_OK);
}

/* ---- more names than the index keeps ---- */

enum { NAMES = 3 * JAVA_METHODS_KEPT, THREADS = 4 };

static const char *const big_classes[] = {
    "java.lang.String",     "java.lang.Character", "java.lang.StrictMath",
    "java.util.Arrays",     "java.lang.Integer",   "java.util.Collections",
    "java.math.BigDecimal", "java.lang.Long",      "java.nio.ByteBuffer",
    "java.lang.Class",      "java.lang.Thread",    "java.util.concurrent.CompletableFuture",
    "java.lang.Double",     "java.util.Calendar",  "java.math.BigInteger",
    "java.util.Scanner",    "java.util.Locale",    "java.lang.StringBuilder",
};

struct jdk {
  struct catalog *catalog;
  struct catalog_excerpt *excerpt;
  struct java_methods_index *index;
  struct {
    struct text class_name;
    struct text member;
  } names[NAMES];
  size_t count;
};

static bool has_name(const struct jdk *jdk, struct text class_name, struct text member)
{
  for (size_t i = 0; i < jdk->count; i++)
    if (text_equal(jdk->names[i].member, member) && text_equal(jdk->names[i].class_name, class_name))
      return true;
  return false;
}

static void list_names(struct jdk *jdk, struct text class_name)
{
  const struct catalog_tables *of = catalog_excerpt_tables(jdk->excerpt);
  const struct catalog_class *class = &of->classes[catalog_find(of, class_name)];
  for (uint32_t i = class->first_method; i < class->first_method + class->method_count; i++) {
    struct text member = catalog_text(of, of->methods[i].name);
    if (of->methods[i].hidden || (of->methods[i].access & ACCESS_PUBLIC) == 0 || member.data[0] == '<' ||
        jdk->count == NAMES || has_name(jdk, class_name, member))
      continue;
    jdk->names[jdk->count].class_name = class_name;
    jdk->names[jdk->count++].member = member;
  }
}

static void open_jdk(struct jdk *jdk)
{
  const struct catalog_config config = {.class_path = TEST_CLASSES, .java_home = TEST_JAVA_HOME};
  struct jp_error error;
  *jdk = (struct jdk){.index = java_methods_index_create()};
  assert_non_null(jdk->index);
  struct text classes[COUNT_OF(big_classes)];
  for (size_t i = 0; i < COUNT_OF(big_classes); i++)
    classes[i] = text_of(big_classes[i]);
  assert_int_equal(catalog_create(&config, &jdk->catalog, &error), JP_OK);
  assert_int_equal(
      catalog_excerpt_open(jdk->catalog, classes, COUNT_OF(classes), CATALOG_ANCESTRY, &jdk->excerpt, &error),
      JP_OK);
  for (size_t i = 0; i < COUNT_OF(classes); i++)
    list_names(jdk, classes[i]);
  assert_true(jdk->count > (size_t)2 * JAVA_METHODS_KEPT);
}

static void close_jdk(struct jdk *jdk)
{
  java_methods_index_destroy(jdk->index);
  catalog_excerpt_close(jdk->excerpt);
  catalog_destroy(jdk->catalog);
}

/* For java_methods_index_release. */
static struct java_methods_found find_name(const struct jdk *jdk, size_t i)
{
  struct java_methods_found found;
  struct jp_error error;
  assert_int_equal(java_methods_index_find(jdk->index, jdk->catalog, policy, jdk->names[i].class_name,
                                           jdk->names[i].member, &found, &error),
                   JP_OK);
  assert_true(found.count > 0);
  assert_true(text_equal(found.methods[0].member, jdk->names[i].member));
  return found;
}

static const struct java_method *methods_of(const struct jdk *jdk, size_t i)
{
  struct java_methods_found found = find_name(jdk, i);
  const struct java_method *methods = found.methods;
  java_methods_index_release(&found);
  return methods;
}

/* A client that has used many names once must not slow down names of other clients, or later names. */
UNIT_TEST(the_name_that_was_used_longest_ago_is_replaced)
{
  struct jdk jdk;
  open_jdk(&jdk);
  struct java_methods_found held = find_name(&jdk, 0);
  const struct java_method *in_use = methods_of(&jdk, 1);
  for (size_t i = 2; i < jdk.count; i++) {
    const struct java_method *first = methods_of(&jdk, i);
    assert_ptr_equal(methods_of(&jdk, i), first);
    assert_ptr_equal(methods_of(&jdk, 1), in_use);
  }
  assert_ptr_not_equal(methods_of(&jdk, 0), held.methods);
  assert_true(text_equal(held.methods[0].member, jdk.names[0].member)); /* the user of the entry keeps it */
  java_methods_index_release(&held);
  close_jdk(&jdk);
}

static void *find_names(void *context)
{
  for (size_t i = 0; i < (size_t)2 * NAMES; i++)
    (void)methods_of(context, i * 7 % ((const struct jdk *)context)->count);
  return NULL;
}

UNIT_TEST(threads_replace_what_others_use)
{
  struct jdk jdk;
  pthread_t threads[THREADS];
  open_jdk(&jdk);
  for (size_t i = 0; i < THREADS; i++)
    assert_int_equal(pthread_create(&threads[i], NULL, find_names, &jdk), 0);
  for (size_t i = 0; i < THREADS; i++)
    pthread_join(threads[i], NULL);
  close_jdk(&jdk);
}

/* A caller chooses the names: unknown names take no room, and a full index still finds. */
UNIT_TEST(unknown_names_take_no_room)
{
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

UNIT_MAIN_WITH(open_catalog, close_catalog)
