#include "classfile/catalog.h"

#include "base/log.h"
#include "tests/unit/await.h"
#include "tests/unit/classfile/jars.h"

#include <pthread.h>
#include <stdatomic.h>

static struct catalog *open_catalog(const char *class_path, const char *java_home)
{
  struct catalog *catalog;
  struct jp_error error;
  log_set_level(LOG_LEVEL_ERROR);
  assert_int_equal(catalog_create(&(struct catalog_config){class_path, java_home, 0}, &catalog, &error),
                   JP_OK);
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

UNIT_TEST(test_folder)
{
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

UNIT_TEST(test_simple_names)
{
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

UNIT_TEST(test_subclasses)
{
  struct catalog *catalog = open_catalog(TEST_CLASSES, NULL);
  const struct catalog_tables *tables = load(catalog);
  const struct catalog_class *base = find(tables, "meta.fixtures.Base");
  assert_int_equal(base->subclass_count, 2);
  const uint32_t *subclasses = tables->subclasses + base->first_subclass;
  assert_ptr_equal(&tables->classes[subclasses[0]], find(tables, "meta.fixtures.Shapes"));
  assert_ptr_equal(&tables->classes[subclasses[1]], find(tables, "meta.fixtures.Shapes$Nested"));
  catalog_destroy(catalog);
}

UNIT_TEST(test_methods)
{
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

UNIT_TEST(test_first_on_the_class_path_wins)
{
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

UNIT_TEST(test_class_path_of_a_jar)
{
  char folder[64];
  char path[128];
  files_open_scratch(folder);
  files_make_folder(folder, "lib");
  snprintf(path, sizeof path, "%s/lib/b c.jar", folder);
  zip_t *jar = jars_create(path);
  /* the class path has a circle: this jar names itself */
  jars_add_text(jar, "META-INF/MANIFEST.MF", "Class-Path: ../a.jar b%20c.jar\n");
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

UNIT_TEST(test_odd_folders)
{
  char folder[64];
  char path[128];
  files_open_scratch(folder);
  files_make_folder(folder, "p");
  files_make_folder(folder, ".hidden");
  snprintf(path, sizeof path, "%s/p/round", folder);
  assert_int_equal(symlink("..", path), 0); /* the folder contains itself */
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

UNIT_TEST(test_no_jdk)
{
  char folder[64];
  files_open_scratch(folder);
  struct catalog *catalog = open_catalog(TEST_CLASSES, folder);
  const struct catalog_tables *tables;
  struct jp_error error;
  for (int i = 0; i < 2; i++) { /* the second time reading is tried again */
    assert_int_equal(catalog_load(catalog, &tables, &error), JP_NOT_FOUND);
    assert_non_null(strstr(error.text, folder));
    assert_non_null(strstr(error.text, "lib/libjimage.so"));
  }
  catalog_destroy(catalog);
  files_drop_scratch(folder);
}

/* ---- excerpts ---- */

static struct catalog_excerpt *open_excerpt(struct catalog *catalog, enum catalog_extent extent,
                                            const char *name)
{
  struct catalog_excerpt *excerpt;
  struct jp_error error;
  struct text names[] = {text_of(name)};
  if (catalog_excerpt_open(catalog, names, 1, extent, &excerpt, &error) != JP_OK)
    fail_msg("%s", error.text);
  return excerpt;
}

static void assert_same_text(const struct catalog_tables *a, uint32_t a_id, const struct catalog_tables *b,
                             uint32_t b_id)
{
  assert_true(text_equal(catalog_text(a, a_id), catalog_text(b, b_id)));
}

static void assert_same_class(const struct catalog_tables *whole, const struct catalog_tables *some,
                              const struct catalog_class *b)
{
  const struct catalog_class *a = &whole->classes[catalog_find(whole, catalog_text(some, b->name))];
  assert_same_text(whole, a->superclass.name, some, b->superclass.name);
  assert_int_equal(a->access, b->access);
  assert_int_equal(a->origin, b->origin);
  assert_int_equal(a->hidden, b->hidden);
  assert_int_equal(a->simple_name_at, b->simple_name_at);
  assert_int_equal(a->field_count, b->field_count);
  assert_int_equal(a->interface_count, b->interface_count);
  assert_int_equal(a->method_count, b->method_count);
  for (unsigned i = 0; i < a->method_count; i++) {
    const struct catalog_method *left = &whole->methods[a->first_method + i];
    const struct catalog_method *right = &some->methods[b->first_method + i];
    assert_same_text(whole, left->name, some, right->name);
    assert_same_text(whole, left->descriptor, some, right->descriptor);
    assert_same_text(whole, left->signature, some, right->signature);
    assert_int_equal(left->access, right->access);
    assert_int_equal(left->parameter_count, right->parameter_count);
  }
}

UNIT_TEST(an_excerpt_has_all_that_the_catalog_has_of_a_class)
{
  struct catalog *whole = open_catalog(TEST_CLASSES, NULL);
  struct catalog *catalog = open_catalog(TEST_CLASSES, NULL);
  const struct catalog_tables *tables = load(whole);
  for (size_t i = 0; i < tables->class_count; i++) {
    char name[256];
    snprintf(name, sizeof name, "%.*s", TEXT_ARGS(catalog_text(tables, tables->classes[i].name)));
    struct catalog_excerpt *excerpt = open_excerpt(catalog, CATALOG_ANCESTRY, name);
    const struct catalog_tables *some = catalog_excerpt_tables(excerpt);
    assert_false(catalog_excerpt_is_whole(excerpt));
    (void)find(some, name);
    for (size_t at = 0; at < some->class_count; at++)
      assert_same_class(tables, some, &some->classes[at]);
    catalog_excerpt_close(excerpt);
  }
  catalog_destroy(catalog);
  catalog_destroy(whole);
}

UNIT_TEST(an_excerpt_has_the_requested_classes)
{
  struct catalog *catalog = open_catalog(TEST_CLASSES, NULL);
  struct catalog_excerpt *excerpt = open_excerpt(catalog, CATALOG_ANCESTRY, "meta.fixtures.Shapes");
  (void)find(catalog_excerpt_tables(excerpt), "meta.fixtures.Base");
  assert_int_equal(catalog_find(catalog_excerpt_tables(excerpt), TEXT("meta.fixtures.Shapes$Inner")),
                   CATALOG_NONE);
  struct catalog_excerpt *again = open_excerpt(catalog, CATALOG_ANCESTRY, "meta.fixtures.Shapes");
  assert_ptr_equal(again, excerpt); /* kept */
  catalog_excerpt_close(again);
  struct catalog_excerpt *nested = open_excerpt(catalog, CATALOG_NESTED, "meta.fixtures.Shapes");
  (void)find(catalog_excerpt_tables(nested), "meta.fixtures.Shapes$Inner");
  catalog_excerpt_close(nested);
  struct catalog_excerpt *none = open_excerpt(catalog, CATALOG_TYPES, "meta.fixtures.Missing");
  assert_int_equal(catalog_excerpt_tables(none)->class_count, 0);
  catalog_excerpt_close(none);
  (void)load(catalog);
  struct catalog_excerpt *whole = open_excerpt(catalog, CATALOG_ANCESTRY, "meta.fixtures.Shapes");
  assert_true(catalog_excerpt_is_whole(whole));                      /* the catalog is loaded */
  (void)find(catalog_excerpt_tables(excerpt), "meta.fixtures.Base"); /* still valid */
  catalog_excerpt_close(whole);
  catalog_excerpt_close(excerpt);
  catalog_destroy(catalog);
}

UNIT_TEST(no_name_leads_out_of_the_class_path)
{
  static const char names[] =
      ". .. /etc/passwd ../Shapes meta/fixtures/Shapes meta..fixtures.Shapes "
      ".meta.fixtures.Shapes meta.fixtures.Shapes. [I int[] meta.fixtures.package-info.class";
  struct catalog *catalog = open_catalog(TEST_CLASSES, NULL);
  const char *rest = names;
  char name[UNIT_WORD_MAX];
  for (bool more = true; more;) {
    more = unit_next_word(&rest, name); /* the last name is empty */
    struct catalog_excerpt *excerpt = open_excerpt(catalog, CATALOG_NESTED, name);
    assert_int_equal(catalog_excerpt_tables(excerpt)->class_count, 0);
    catalog_excerpt_close(excerpt);
  }
  catalog_destroy(catalog);
}

/* While excerpts are read, the jar is replaced, broken and removed. */
UNIT_TEST(a_changed_jar_is_read_again)
{
  char folder[64];
  char path[128];
  files_open_scratch(folder);
  snprintf(path, sizeof path, "%s/a.jar", folder);
  zip_t *jar = jars_create(path);
  jars_add_class(jar, "p/A.class", "p/A", 50);
  jars_add_class(jar, "p/B.class", "p/B", 50);
  jars_close(jar);
  struct catalog *catalog = open_catalog(path, NULL);
  struct catalog_excerpt *excerpt = open_excerpt(catalog, CATALOG_ANCESTRY, "p.A");
  (void)find(catalog_excerpt_tables(excerpt), "p.A");
  catalog_excerpt_close(excerpt);
  files_write(folder, "a.jar", "no jar", 6);
  excerpt = open_excerpt(catalog, CATALOG_ANCESTRY, "p.B");
  assert_int_equal(catalog_excerpt_tables(excerpt)->class_count, 0);
  catalog_excerpt_close(excerpt);
  assert_int_equal(unlink(path), 0);
  excerpt = open_excerpt(catalog, CATALOG_NESTED, "p.B");
  assert_int_equal(catalog_excerpt_tables(excerpt)->class_count, 0);
  catalog_excerpt_close(excerpt);
  catalog_destroy(catalog);
  files_drop_scratch(folder);
}

/* The element need not be in the class path: then no other was opened. A class that is not there is searched. */
UNIT_TEST(a_class_is_read_where_it_is)
{
  static const struct {
    const char *name, *element;
    bool is_there;
  } rows[] = {{"p.Own", "there.jar", true},     {"p.Own", "missing.jar", false}, {"p.Own", NULL, false},
              {"p.Listed", "there.jar", true},  {"p.Listed", "a.jar", true},     {"p.Listed", ".", true},
              {"p.Parted", "parted.jar", false}};
  char folder[64];
  char path[128];
  files_open_scratch(folder);
  snprintf(path, sizeof path, "%s/parted.jar", folder);
  zip_t *jar = jars_create(path);
  jars_add_class(jar, "p/Parted.class", "p/Parted", 50);
  jars_add_text(jar, "lib/inner.jar", "no jar");
  jars_close(jar);
  snprintf(path, sizeof path, "%s/there.jar", folder);
  jar = jars_create(path);
  jars_add_class(jar, "p/Own.class", "p/Own", 50);
  jars_close(jar);
  snprintf(path, sizeof path, "%s/a.jar", folder);
  jar = jars_create(path);
  jars_add_class(jar, "p/Listed.class", "p/Listed", 50);
  jars_close(jar);
  for (size_t i = 0; i < COUNT_OF(rows); i++) {
    struct catalog *catalog = open_catalog(path, NULL);
    struct catalog_excerpt *excerpt;
    struct jp_error error;
    char element[192];
    snprintf(element, sizeof element, "%s/%s", folder, rows[i].element == NULL ? "" : rows[i].element);
    const struct text name = text_of(rows[i].name);
    const char *elements[] = {rows[i].element == NULL ? NULL : element};
    assert_int_equal(catalog_excerpt_open_from(catalog, &name, elements, 1, CATALOG_NESTED, &excerpt, &error),
                     JP_OK);
    bool is_found = catalog_find(catalog_excerpt_tables(excerpt), name) != CATALOG_NONE;
    if (is_found != rows[i].is_there)
      fail_msg("%s in %s: %d", rows[i].name, element, is_found);
    catalog_excerpt_close(excerpt);
    catalog_destroy(catalog);
  }
  files_drop_scratch(folder);
}

static void note_name(void *context, struct text name)
{
  *(bool *)context = *(bool *)context || text_equal(name, TEXT("meta.fixtures.Shapes"));
}

UNIT_TEST(names_are_visited_without_reading_classes)
{
  struct catalog *catalog = open_catalog(TEST_CLASSES, NULL);
  struct jp_error error;
  bool found = false;
  assert_int_equal(catalog_each_name(catalog, note_name, &found, &error), JP_OK);
  assert_true(found);
  catalog_destroy(catalog);
}

struct opening {
  struct catalog *catalog;
  size_t opened;
};

/* On another thread, for which the visitor waits. */
static void *open_a_class(void *context)
{
  struct opening *opening = context;
  const struct text name = TEXT("meta.fixtures.Shapes");
  struct catalog_excerpt *excerpt;
  struct jp_error error;
  if (catalog_excerpt_open(opening->catalog, &name, 1, CATALOG_ANCESTRY, &excerpt, &error) != JP_OK)
    return NULL;
  opening->opened++;
  catalog_excerpt_close(excerpt);
  return NULL;
}

static void open_in_another_thread(void *context, struct text name)
{
  struct opening *opening = context;
  struct timespec deadline;
  pthread_t thread;
  (void)name;
  if (opening->opened > 0)
    return;
  clock_gettime(CLOCK_REALTIME, &deadline);
  deadline.tv_sec += 20;
  assert_int_equal(pthread_create(&thread, NULL, open_a_class, context), 0);
  if (pthread_timedjoin_np(thread, NULL, &deadline) != 0)
    fail_msg("%s", "a class cannot be read while the names are visited");
}

/* A search for unknown names must not block threads that read classes. */
UNIT_TEST(classes_are_read_while_names_are_visited)
{
  struct opening opening = {.catalog = open_catalog(TEST_CLASSES, NULL)};
  struct jp_error error;
  assert_int_equal(catalog_each_name(opening.catalog, open_in_another_thread, &opening, &error), JP_OK);
  assert_int_equal(opening.opened, 1);
  catalog_destroy(opening.catalog);
}

/* ---- similar names ---- */

struct liked {
  char names[512]; /* one after the other, each with a blank */
};

static void note_liked(void *context, struct text name)
{
  struct liked *liked = context;
  size_t length = strlen(liked->names);
  snprintf(liked->names + length, sizeof liked->names - length, "%.*s ", TEXT_ARGS(name));
}

static bool is_liked(struct catalog *catalog, struct catalog_likeness like, const char *name)
{
  struct liked liked = {""};
  struct jp_error error;
  char expected[128];
  snprintf(expected, sizeof expected, "%s ", name);
  assert_int_equal(catalog_each_name_like(catalog, &like, note_liked, &liked, &error), JP_OK);
  return strstr(liked.names, expected) != NULL;
}

UNIT_TEST(names_are_similar_by_few_edits_or_their_last_part)
{
  static const struct {
    const char *wanted;
    const char *last_part;
    unsigned edits;
    const char *name;
    bool is_like;
  } cases[] = {
      {"meta.fixtures.Shapes", "Shapes", 1, "meta.fixtures.Shapes", true},
      /* a change of case does not count as an edit */
      {"META.Fixtures.sHAPES", "sHAPES", 1, "meta.fixtures.Shapes", true},
      {"meta.fixtures.hapes", "hapes", 1, "meta.fixtures.Shapes", true},
      {"meta.fixtures.Sqhapes", "Sqhapes", 1, "meta.fixtures.Shapes", true},
      {"meta.fixtures.Shaqes", "Shaqes", 1, "meta.fixtures.Shapes", true},
      {"meta.fixtures.Sahpes", "Sahpes", 1, "meta.fixtures.Shapes", true},
      {"metaXfixturesXShbqes", "metaXfixturesXShbqes", 3, "meta.fixtures.Shapes", true},
      {"meta.fixtures.Shxqzs", "Shxqzs", 1, "meta.fixtures.Shapes", false},
      {"meta.fixtures.pes", "pes", 2, "meta.fixtures.Shapes", false},
      {"a.b.Shapes", "Shapes", 1, "meta.fixtures.Shapes", true},
      {"a.b.shapes", "shapes", 1, "meta.fixtures.Shapes", false},
      {"a.b.hapes", "hapes", 1, "meta.fixtures.Shapes", false},
      {"a.b.Inner", "Inner", 1, "meta.fixtures.Shapes$Inner", true},
      {"a.b.Nested$Deeper", "Nested$Deeper", 1, "meta.fixtures.Shapes$Nested$Deeper", true},
      {"NoPackage", "NoPackage", 1, "NoPackage", true},
      {"a.NoPackage", "NoPackage", 0, "NoPackage", true},
      {"", "", 3, "NoPackage", false},
  };
  struct catalog *catalog = open_catalog(TEST_CLASSES, NULL);
  for (int is_loaded = 0; is_loaded < 2; is_loaded++) {
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
      const struct catalog_likeness like = {text_of(cases[i].wanted), text_of(cases[i].last_part),
                                            cases[i].edits};
      if (is_liked(catalog, like, cases[i].name) != cases[i].is_like)
        fail_msg("%s, %u edits", cases[i].wanted, cases[i].edits);
    }
    (void)load(catalog);
  }
  catalog_destroy(catalog);
}

/* Folders may be large, so they are not walked again for each unknown name. For this reason a new class is
 * not found at once, but only later. One of the rounds has to show this, and not each of them, because this
 * thread may be late. */
UNIT_TEST(names_are_kept_for_a_while)
{
  enum { TURNS = 10 };
  const struct catalog_likeness like = {TEXT("A"), TEXT("A"), 1};
  char folder[64];
  files_open_scratch(folder);
  struct catalog *catalog = open_catalog(folder, NULL);
  assert_false(is_liked(catalog, like, "p0.A"));
  bool was_kept = false;
  for (int i = 0; i < TURNS && !was_kept; i++) {
    char name[16];
    snprintf(name, sizeof name, "p%d", i);
    files_make_folder(folder, name);
    snprintf(name, sizeof name, "p%d/A.class", i);
    files_write(folder, name, "", 0);
    snprintf(name, sizeof name, "p%d.A", i);
    was_kept = !is_liked(catalog, like, name);
    AWAIT(is_liked(catalog, like, name));
  }
  assert_true(was_kept);
  catalog_destroy(catalog);
  files_drop_scratch(folder);
}

/* ---- threads ---- */

/* A class path of many jars, some of which are broken, empty, missing, or name each other or the same file again,
 * with classes of the same names. */
static void make_jars(const char *folder, struct buffer *class_path)
{
  enum { JARS = 40, CLASSES = 60 };
  for (int i = 0; i < JARS; i++) {
    char path[128];
    snprintf(path, sizeof path, "%s/%d.jar", folder, i);
    buffer_printf(class_path, "%s%s", i == 0 ? "" : ":", path);
    zip_t *jar = jars_create(path);
    if (i % 5 == 0) {
      char manifest[128];
      snprintf(manifest, sizeof manifest, "Class-Path: %d.jar %d.jar x%d.jar\n", (i + 7) % JARS,
               (i + 1) % JARS, i);
      jars_add_text(jar, "META-INF/MANIFEST.MF", manifest);
    }
    for (int c = 0; c < CLASSES; c++) {
      char name[64];
      char entry[80];
      snprintf(name, sizeof name, "p%d/A%d", i % 7, (c + i) % 100);
      snprintf(entry, sizeof entry, "%s.class", name);
      jars_add_class(jar, entry, name, (unsigned char)(45 + i % 20));
    }
    jars_add_text(jar, "p/Broken.class", "no class");
    jars_close(jar);
    if (i % 9 == 8)
      files_write(folder, strrchr(path, '/') + 1, "no jar", 6);
    if (i % 5 == 0) { /* only the manifest of the previous jar names this jar */
      snprintf(path, sizeof path, "%s/x%d.jar", folder, i);
      jar = jars_create(path);
      jars_add_class(jar, "p/X.class", "p/X", (unsigned char)(45 + i % 20));
      jars_close(jar);
    }
  }
  buffer_printf(class_path, ":%s:%s/missing.jar:%s/3.jar", TEST_CLASSES, folder, folder);
  buffer_append_char(class_path, '\0');
}

UNIT_TEST(any_number_of_threads_reads_the_same)
{
  static const unsigned threads[] = {1, 2, 3, 8, 16};
  char folder[64];
  struct buffer class_path;
  struct catalog *first = NULL;
  struct jp_error error;
  buffer_init(&class_path);
  files_open_scratch(folder);
  make_jars(folder, &class_path);
  log_set_level(LOG_LEVEL_ERROR);
  for (size_t i = 0; i < COUNT_OF(threads); i++) {
    struct catalog *catalog;
    assert_int_equal(
        catalog_create(&(struct catalog_config){class_path.data, NULL, threads[i]}, &catalog, &error), JP_OK);
    const struct catalog_tables *tables = load(catalog);
    first = first == NULL ? catalog : first;
    const struct catalog_tables *wanted = load(first);
    assert_int_equal(tables->class_count, wanted->class_count);
    assert_int_equal(tables->method_count, wanted->method_count);
    assert_int_equal(tables->field_count, wanted->field_count);
    for (size_t at = 0; at < tables->class_count; at++) {
      assert_same_class(wanted, tables, &tables->classes[at]);
      assert_int_equal(tables->classes[at].major_version, wanted->classes[at].major_version);
    }
    if (catalog != first)
      catalog_destroy(catalog);
  }
  assert_int_equal(find(load(first), "p.X")->major_version, 45); /* what 0.jar names comes before 5.jar */
  catalog_destroy(first);
  buffer_fini(&class_path);
  files_drop_scratch(folder);
}

static void *stop_in_thread(void *argument)
{
  catalog_stop(argument);
  return NULL;
}

UNIT_TEST(a_stopped_reading_ends)
{
  char folder[64];
  struct buffer class_path;
  struct jp_error error;
  buffer_init(&class_path);
  files_open_scratch(folder);
  make_jars(folder, &class_path);
  for (int i = 0; i < 20; i++) {
    struct catalog *catalog = open_catalog(class_path.data, NULL);
    const struct catalog_tables *tables;
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, stop_in_thread, catalog), 0);
    enum jp_status status = catalog_load(catalog, &tables, &error);
    assert_true(status == JP_CLOSED || status == JP_OK);
    assert_int_equal(pthread_join(thread, NULL), 0);
    catalog_destroy(catalog);
  }
  buffer_fini(&class_path);
  files_drop_scratch(folder);
}

struct changing {
  const char *folder;
  atomic_bool is_done;
};

static void *change_jars(void *argument)
{
  struct changing *changing = argument;
  for (int i = 0; !atomic_load(&changing->is_done); i = (i + 1) % 40) {
    char name[128];
    snprintf(name, sizeof name, "%d.jar", i);
    files_write(changing->folder, name, "PK\3\4 no jar any more", 21);
    snprintf(name, sizeof name, "%s/%d.jar", changing->folder, (i + 20) % 40);
    (void)unlink(name);
  }
  return NULL;
}

/* Other threads read all readable classes while jars are cut short, replaced and removed. */
UNIT_TEST(jars_may_change_while_they_are_read)
{
  for (int i = 0; i < 5; i++) {
    char folder[64];
    struct buffer class_path;
    pthread_t thread;
    buffer_init(&class_path);
    files_open_scratch(folder);
    make_jars(folder, &class_path);
    struct changing changing = {.folder = folder};
    struct catalog *catalog = open_catalog(class_path.data, NULL);
    assert_int_equal(pthread_create(&thread, NULL, change_jars, &changing), 0);
    (void)find(load(catalog), "meta.fixtures.Shapes");
    atomic_store(&changing.is_done, true);
    assert_int_equal(pthread_join(thread, NULL), 0);
    catalog_destroy(catalog);
    buffer_fini(&class_path);
    files_drop_scratch(folder);
  }
}

static void *load_in_thread(void *argument)
{
  return (void *)(uintptr_t)load(argument);
}

UNIT_TEST(test_many_first_readers)
{
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

UNIT_MAIN
