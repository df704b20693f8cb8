/* Usage: test_jimage JAVA_HOME. A few classes of the image must have the members that that JDK's javap
 * prints. */
#include "classfile/catalog.h"
#include "classfile/jimage.h"

#include "tests/unit/unit.h"

#include <stdio.h>

static const char *java_home;
static struct catalog *catalog;
static const struct catalog_tables *tables;

static int load(void **state)
{
  (void)state;
  struct jp_error error;
  const struct catalog_config config = {.class_path = "/nowhere", .java_home = java_home};
  if (catalog_create(&config, &catalog, &error) == JP_OK && catalog_load(catalog, &tables, &error) == JP_OK)
    return 0;
  print_error("%s\n", error.text);
  return 1;
}

static int unload(void **state)
{
  (void)state;
  catalog_destroy(catalog);
  return 0;
}

static const struct catalog_class *find(const char *name)
{
  uint32_t found = catalog_find(tables, text_of(name));
  if (found == CATALOG_NONE)
    fail_msg("no class %s", name);
  return &tables->classes[found];
}

static const char *const compared[] = {
    "java.lang.Object",       "java.lang.String",  "java.util.ArrayList", "java.util.Map$Entry",
    "java.lang.Thread$State", "java.util.HashMap", "java.sql.Connection", "jdk.internal.misc.Unsafe"};

struct member_counts {
  size_t methods;
  size_t fields;
};

/* Counts the members in javap's output: each class has a line that ends in '{' and then an indented line for
 * each member, also for a member that the compiler has made. A line with parentheses is a method or a
 * constructor. */
static void count_by_javap(struct member_counts counts[COUNT_OF(compared)])
{
  char command[2048];
  char line[4096];
  size_t printed = 0;
  int length = snprintf(command, sizeof command, "'%s/bin/javap' -private", java_home);
  for (size_t i = 0; i < COUNT_OF(compared); i++)
    length += snprintf(command + length, sizeof command - (size_t)length, " '%s'", compared[i]);
  FILE *javap = popen(command, "re");
  assert_non_null(javap);
  memset(counts, 0, COUNT_OF(compared) * sizeof *counts);
  while (fgets(line, sizeof line, javap) != NULL) {
    bool is_member = strncmp(line, "  ", 2) == 0;
    if (!is_member)
      printed += strstr(line, "{\n") != NULL;
    else if (strchr(line, '(') != NULL)
      counts[printed - 1].methods++;
    else if (strstr(line, "static {}") == NULL)
      counts[printed - 1].fields++;
  }
  assert_int_equal(pclose(javap), 0);
  assert_int_equal(printed, COUNT_OF(compared));
}

static void test_as_javap_says(void **state)
{
  (void)state;
  struct member_counts javap[COUNT_OF(compared)];
  count_by_javap(javap);
  for (size_t i = 0; i < COUNT_OF(compared); i++) {
    const struct catalog_class *class = find(compared[i]);
    if (class->method_count != javap[i].methods || class->field_count != javap[i].fields)
      fail_msg("%s: %u methods, javap %zu; %u fields, javap %zu", compared[i], class->method_count,
               javap[i].methods, class->field_count, javap[i].fields);
  }
}

static void test_origins(void **state)
{
  (void)state;
  assert_int_equal(find("java.lang.String")->origin, CATALOG_JDK_EXPORTED);
  assert_int_equal(find("java.sql.Connection")->origin, CATALOG_JDK_EXPORTED);
  assert_int_equal(find("sun.misc.Unsafe")->origin, CATALOG_JDK_EXPORTED);          /* by jdk.unsupported */
  assert_int_equal(find("jdk.internal.misc.Unsafe")->origin, CATALOG_JDK_INTERNAL); /* to some modules only */
  assert_int_equal(find("sun.net.www.protocol.http.Handler")->origin, CATALOG_JDK_INTERNAL);
}

static void test_the_whole_jdk(void **state)
{
  (void)state;
  assert_true(tables->class_count > 20000);
  assert_true(tables->method_count > 200000);
  for (size_t i = 1; i < tables->class_count; i++) {
    struct text before = catalog_text(tables, tables->classes[i - 1].name);
    if (catalog_find(tables, before) != i - 1)
      fail_msg("%.*s is not found", TEXT_ARGS(before));
  }
  assert_int_equal(find("java.lang.Object")->superclass.name, 0);
  assert_text(catalog_text(tables, find("java.lang.Integer")->superclass.name), "java.lang.Number");
}

static void test_feature_version(void **state)
{
  (void)state;
  assert_true(jimage_feature_version(java_home) >= 17);
  assert_int_equal(jimage_feature_version(java_home), find("java.lang.Object")->major_version - 44);
  assert_int_equal(jimage_feature_version("/nowhere"), 0);
}

struct visited {
  size_t count;
  size_t until;
  size_t unknown;
};

static bool note_name(struct text name, void *context)
{
  struct visited *visited = context;
  visited->count++;
  visited->unknown += catalog_find(tables, name) == CATALOG_NONE;
  return visited->count != visited->until;
}

/* The names without modules are the names of the catalog; the modules of this JDK are all java.* and
 * jdk.*. */
static void test_names(void **state)
{
  (void)state;
  struct jimage *jimage;
  assert_int_equal(jimage_open(java_home, &jimage, NULL), JP_OK);
  struct visited all = {0};
  jimage_visit_names(jimage, note_name, &all);
  assert_int_equal(all.unknown, 0);
  assert_int_equal(all.count, tables->class_count);
  struct visited some = {.until = 10};
  jimage_visit_names(jimage, note_name, &some);
  assert_int_equal(some.count, 10);
  jimage_close(jimage);
}

int main(int argc, char **argv)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_as_javap_says), cmocka_unit_test(test_origins),
      cmocka_unit_test(test_the_whole_jdk), cmocka_unit_test(test_feature_version),
      cmocka_unit_test(test_names),
  };
  if (argc != 2) {
    fprintf(stderr, "usage: %s JAVA_HOME\n", argv[0]);
    return 2;
  }
  java_home = argv[1];
  return cmocka_run_group_tests(tests, load, unload);
}
