/* Usage: test_jimage JAVA_HOME. What the image tells of a few classes must be what that JDK's javap tells. */
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
  const struct catalog_config config = {"/nowhere", java_home};
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

/* Lines of `javap -private` that are a member each: with parentheses a method or constructor, else a field.
 */
static void count_by_javap(const char *name, size_t *methods, size_t *fields)
{
  char command[512];
  char line[4096];
  *methods = 0;
  *fields = 0;
  snprintf(command, sizeof command, "'%s/bin/javap' -private '%s'", java_home, name);
  FILE *javap = popen(command, "re");
  assert_non_null(javap);
  while (fgets(line, sizeof line, javap) != NULL) {
    if (strncmp(line, "  ", 2) != 0 || strstr(line, "static {}") != NULL)
      continue;
    if (strchr(line, '(') != NULL)
      ++*methods;
    else
      ++*fields;
  }
  assert_int_equal(pclose(javap), 0);
}

static void test_as_javap_says(void **state)
{
  (void)state;
  for (size_t i = 0; i < COUNT_OF(compared); i++) {
    const struct catalog_class *class = find(compared[i]);
    size_t javap_methods;
    size_t javap_fields;
    count_by_javap(compared[i], &javap_methods, &javap_fields);
    if (class->method_count != javap_methods || class->field_count != javap_fields)
      fail_msg("%s: %u methods, javap %zu; %u fields, javap %zu", compared[i], class->method_count,
               javap_methods, class->field_count, javap_fields);
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

int main(int argc, char **argv)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_as_javap_says),
      cmocka_unit_test(test_origins),
      cmocka_unit_test(test_the_whole_jdk),
      cmocka_unit_test(test_feature_version),
  };
  if (argc != 2) {
    fprintf(stderr, "usage: %s JAVA_HOME\n", argv[0]);
    return 2;
  }
  java_home = argv[1];
  return cmocka_run_group_tests(tests, load, unload);
}
