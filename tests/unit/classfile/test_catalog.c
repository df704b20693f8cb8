#include "classfile/catalog.h"

#include "base/log.h"
#include "tests/unit/classfile/jars.h"

#include <pthread.h>

static struct catalog *open_catalog(const char *class_path, const char *java_home)
{
  struct catalog *catalog;
  struct jp_error error;
  log_set_level(LOG_LEVEL_ERROR);
  assert_int_equal(catalog_create(&(struct catalog_config){class_path, java_home}, &catalog, &error), JP_OK);
  return catalog;
}

static const struct catalog_tables *load(struct catalog *catalog)
{
  const struct catalog_tables *tables;
  struct jp_error error;
  if (catalog_load(catalog, &tables, &error) != JP_OK)
    fail_msg("%s", error.text);
  return tables;
}

static const struct catalog_class *find(const struct catalog_tables *tables, const char *name)
{
  uint32_t found = catalog_find(tables, text_of(name));
  if (found == CATALOG_NONE)
    fail_msg("no class %s", name);
  return &tables->classes[found];
}

static void test_folder(void **state)
{
  (void)state;
  struct catalog *catalog = open_catalog(TEST_CLASSES, NULL);
  const struct catalog_tables *tables = load(catalog);
  const struct catalog_class *shapes = find(tables, "meta.fixtures.Shapes");
  assert_false(shapes->hidden);
  assert_int_equal(shapes->origin, CATALOG_CLASS_PATH);
  assert_text(catalog_text(tables, shapes->superclass.name), "meta.fixtures.Base");
  assert_ptr_equal(&tables->classes[shapes->superclass.class_index], find(tables, "meta.fixtures.Base"));
  assert_int_equal(shapes->interface_count, 1);
  assert_int_equal(tables->links[shapes->first_interface].class_index, CATALOG_NONE); /* no JDK here */
  assert_int_equal(shapes->field_count, 6);
  assert_true(find(tables, "meta.fixtures.Shapes$1")->hidden);
  assert_true(find(tables, "meta.fixtures.Shapes$1Local")->hidden);
  assert_true(find(tables, "meta.fixtures.package-info")->hidden);
  assert_int_equal(find(tables, "meta.fixtures.Marker")->superclass.name, 0);
  assert_int_equal(catalog_find(tables, TEXT("meta.fixtures.Missing")), CATALOG_NONE);
  assert_int_equal(catalog_find(tables, TEXT("")), CATALOG_NONE);
  assert_ptr_equal(load(catalog), tables); /* read once */
  catalog_destroy(catalog);
}

static void test_simple_names(void **state)
{
  (void)state;
  static const char *const names[][2] = {{"NoPackage", "NoPackage"},
                                         {"meta.fixtures.Base", "Base"},
                                         {"meta.fixtures.Shapes$Inner", "Inner"},
                                         {"meta.fixtures.Shapes$Nested$Deeper", "Deeper"}};
  struct catalog *catalog = open_catalog(TEST_CLASSES, NULL);
  const struct catalog_tables *tables = load(catalog);
  for (size_t i = 0; i < COUNT_OF(names); i++) {
    const struct catalog_class *class = find(tables, names[i][0]);
    struct text name = catalog_text(tables, class->name);
    unit_assert_text(text_slice(name, class->simple_name_at, name.len), text_of(names[i][1]), __FILE__,
                     __LINE__);
  }
  catalog_destroy(catalog);
}

static void test_subclasses(void **state)
{
  (void)state;
  struct catalog *catalog = open_catalog(TEST_CLASSES, NULL);
  const struct catalog_tables *tables = load(catalog);
  const struct catalog_class *base = find(tables, "meta.fixtures.Base");
  assert_int_equal(base->subclass_count, 2);
  const uint32_t *subclasses = tables->subclasses + base->first_subclass;
  assert_ptr_equal(&tables->classes[subclasses[0]], find(tables, "meta.fixtures.Shapes"));
  assert_ptr_equal(&tables->classes[subclasses[1]], find(tables, "meta.fixtures.Shapes$Nested"));
  catalog_destroy(catalog);
}

static void test_methods(void **state)
{
  (void)state;
  struct catalog *catalog = open_catalog(TEST_CLASSES, NULL);
  const struct catalog_tables *tables = load(catalog);
  const struct catalog_class *shapes = find(tables, "meta.fixtures.Shapes");
  unsigned hidden = 0;
  for (uint32_t i = shapes->first_method; i < shapes->first_method + shapes->method_count; i++) {
    assert_true(!text_equal(catalog_text(tables, tables->methods[i].name), TEXT("<clinit>")));
    hidden += tables->methods[i].hidden;
  }
  assert_int_equal(hidden, 2); /* the lambda and the bridge compareTo(Object) */
  catalog_destroy(catalog);
}

static void test_first_on_the_class_path_wins(void **state)
{
  (void)state;
  char folder[64];
  char path[128];
  char class_path[512];
  files_open_scratch(folder);
  for (unsigned char i = 0; i < 2; i++) {
    snprintf(path, sizeof path, "%s/%d.jar", folder, i);
    zip_t *jar = jars_create(path);
    jars_add_class(jar, "p/A.class", "p/A", (unsigned char)(50 + i));
    jars_close(jar);
  }
  snprintf(class_path, sizeof class_path, "%s/missing.jar:%s/1.jar:%s/*", folder, folder, folder);
  struct catalog *catalog = open_catalog(class_path, NULL);
  assert_int_equal(find(load(catalog), "p.A")->major_version, 51);
  catalog_destroy(catalog);
  files_drop_scratch(folder);
}

static void test_class_path_of_a_jar(void **state)
{
  (void)state;
  char folder[64];
  char path[128];
  files_open_scratch(folder);
  files_make_folder(folder, "lib");
  snprintf(path, sizeof path, "%s/lib/b c.jar", folder);
  zip_t *jar = jars_create(path);
  jars_add_text(jar, "META-INF/MANIFEST.MF", "Class-Path: ../a.jar b%20c.jar\n"); /* round in a circle */
  jars_add_class(jar, "p/B.class", "p/B", 50);
  jars_close(jar);
  snprintf(path, sizeof path, "%s/a.jar", folder);
  jar = jars_create(path);
  jars_add_text(jar, "META-INF/MANIFEST.MF", "Class-Path: missing.jar lib/b%20c.jar\n");
  jars_add_class(jar, "p/A.class", "p/A", 50);
  jars_close(jar);
  struct catalog *catalog = open_catalog(path, NULL);
  const struct catalog_tables *tables = load(catalog);
  find(tables, "p.A");
  find(tables, "p.B");
  assert_int_equal(tables->class_count, 2);
  catalog_destroy(catalog);
  files_drop_scratch(folder);
}

static void test_odd_folders(void **state)
{
  (void)state;
  char folder[64];
  char path[128];
  files_open_scratch(folder);
  files_make_folder(folder, "p");
  files_make_folder(folder, ".hidden");
  snprintf(path, sizeof path, "%s/p/round", folder);
  assert_int_equal(symlink("..", path), 0); /* without end */
  snprintf(path, sizeof path, "%s/p/nowhere.class", folder);
  assert_int_equal(symlink("missing", path), 0);
  snprintf(path, sizeof path, "%s/p/Pipe.class", folder);
  assert_int_equal(mkfifo(path, 0600), 0);
  files_write(folder, "p/Broken.class", "no class", 8);
  struct buffer class = jars_make_class("p/A", 50);
  files_write(folder, "p/A.class", class.data, class.len);
  files_write(folder, ".hidden/A.class", class.data, class.len);
  buffer_fini(&class);
  struct catalog *catalog = open_catalog(folder, NULL);
  const struct catalog_tables *tables = load(catalog);
  find(tables, "p.A");
  assert_int_equal(tables->class_count, 1);
  catalog_destroy(catalog);
  files_drop_scratch(folder);
}

static void test_no_jdk(void **state)
{
  (void)state;
  char folder[64];
  files_open_scratch(folder);
  struct catalog *catalog = open_catalog(TEST_CLASSES, folder);
  const struct catalog_tables *tables;
  struct jp_error error;
  for (int i = 0; i < 2; i++) { /* it is tried again */
    assert_int_equal(catalog_load(catalog, &tables, &error), JP_NOT_FOUND);
    assert_non_null(strstr(error.text, folder));
    assert_non_null(strstr(error.text, "lib/libjimage.so"));
  }
  catalog_destroy(catalog);
  files_drop_scratch(folder);
}

static void *load_in_thread(void *argument)
{
  return (void *)(uintptr_t)load(argument);
}

static void test_many_first_readers(void **state)
{
  (void)state;
  enum { THREADS = 8 };
  pthread_t threads[THREADS];
  void *first = NULL;
  struct catalog *catalog = open_catalog(TEST_CLASSES, NULL);
  for (int i = 0; i < THREADS; i++)
    assert_int_equal(pthread_create(&threads[i], NULL, load_in_thread, catalog), 0);
  for (int i = 0; i < THREADS; i++) {
    void *tables;
    assert_int_equal(pthread_join(threads[i], &tables), 0);
    first = i == 0 ? tables : first;
    assert_ptr_equal(tables, first);
  }
  catalog_destroy(catalog);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_folder),
      cmocka_unit_test(test_simple_names),
      cmocka_unit_test(test_subclasses),
      cmocka_unit_test(test_methods),
      cmocka_unit_test(test_first_on_the_class_path_wins),
      cmocka_unit_test(test_class_path_of_a_jar),
      cmocka_unit_test(test_odd_folders),
      cmocka_unit_test(test_no_jdk),
      cmocka_unit_test(test_many_first_readers),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
