#include "classfile/jar.h"

#include "base/log.h"
#include "tests/unit/classfile/jars.h"

enum { FEATURE_VERSION = 17 };

struct fixture {
  char folder[64];
  char path[128]; /* of a jar in it */
  struct builder *builder;
  struct arena arena;
  struct catalog_tables tables;
  struct jp_error error;
};

static int open_fixture(void **state)
{
  struct fixture *fixture = test_calloc(1, sizeof *fixture);
  log_set_level(LOG_LEVEL_ERROR); /* the warnings about broken jars are not printed */
  files_open_scratch(fixture->folder);
  snprintf(fixture->path, sizeof fixture->path, "%s/test.jar", fixture->folder);
  fixture->builder = builder_create();
  arena_init(&fixture->arena);
  *state = fixture;
  return fixture->builder == NULL;
}

static int close_fixture(void **state)
{
  struct fixture *fixture = *state;
  files_drop_scratch(fixture->folder);
  builder_destroy(fixture->builder);
  arena_fini(&fixture->arena);
  test_free(fixture);
  return 0;
}

/* Reads the jar at fixture->path to the end. */
static struct text read_jar(struct fixture *fixture)
{
  struct text class_path = TEXT("?");
  assert_int_equal(jar_read_file(fixture->builder, fixture->path, FEATURE_VERSION, &fixture->arena,
                                 &class_path, &fixture->error),
                   JP_OK);
  return class_path;
}

static void finish(struct fixture *fixture)
{
  assert_int_equal(builder_finish(fixture->builder, &fixture->tables, &fixture->error), JP_OK);
}

/* The major version of a class, which shows its origin; 0: the class does not exist. */
static unsigned version_of(const struct fixture *fixture, const char *name)
{
  uint32_t found = catalog_find(&fixture->tables, text_of(name));
  return found == CATALOG_NONE ? 0 : fixture->tables.classes[found].major_version;
}

/* The part of the class path that the class is in. */
static unsigned part_of(const struct fixture *fixture, const char *name)
{
  uint32_t found = catalog_find(&fixture->tables, text_of(name));
  assert_int_not_equal(found, CATALOG_NONE);
  return fixture->tables.classes[found].part;
}

UNIT_TEST_WITH(test_multi_release, open_fixture, close_fixture)
{
  struct fixture *fixture = *state;
  zip_t *jar = jars_create(fixture->path);
  jars_add_text(jar, "META-INF/MANIFEST.MF", "Multi-Release: true\n\n");
  jars_add_class(jar, "p/A.class", "p/A", 50);
  jars_add_class(jar, "META-INF/versions/8/p/A.class", "p/A", 51); /* versions begin with 9 */
  jars_add_class(jar, "META-INF/versions/9/p/A.class", "p/A", 53);
  jars_add_class(jar, "META-INF/versions/17/p/A.class", "p/A", 61);
  jars_add_class(jar, "META-INF/versions/18/p/A.class", "p/A", 62);
  jars_add_class(jar, "META-INF/versions/11/p/New.class", "p/New", 55);
  jars_add_class(jar, "META-INF/versions/99999999999/p/A.class", "p/A", 70);
  jars_add_class(jar, "META-INF/versions//p/A.class", "p/A", 71);
  jars_add_class(jar, "p/B.class", "p/B", 50);
  jars_close(jar);
  read_jar(fixture);
  finish(fixture);
  assert_int_equal(version_of(fixture, "p.A"), 61);
  assert_int_equal(version_of(fixture, "p.New"), 55);
  assert_int_equal(version_of(fixture, "p.B"), 50);
  assert_int_equal(fixture->tables.class_count, 3);
}

UNIT_TEST_WITH(test_versions_without_the_manifest, open_fixture, close_fixture)
{
  struct fixture *fixture = *state;
  zip_t *jar = jars_create(fixture->path);
  jars_add_class(jar, "p/A.class", "p/A", 50);
  jars_add_class(jar, "META-INF/versions/9/p/A.class", "p/A", 53);
  jars_close(jar);
  read_jar(fixture);
  finish(fixture);
  assert_int_equal(version_of(fixture, "p.A"), 50);
}

UNIT_TEST_WITH(test_nested, open_fixture, close_fixture)
{
  struct fixture *fixture = *state;
  size_t size;
  zip_t *jar = jars_create(fixture->path);
  jars_add_class(jar, "p/Deep.class", "p/Deep", 50);
  jars_add_class(jar, "p/Twice.class", "p/Twice", 50);
  jars_close(jar);
  uint8_t *bytes = files_read(fixture->path, &size);
  jar = jars_create(fixture->path);
  jars_add(jar, "lib/deepest.jar", bytes, size);
  jars_add_text(jar, "META-INF/MANIFEST.MF", "Multi-Release: true\n");
  jars_add_class(jar, "META-INF/versions/10/p/Middle.class", "p/Middle", 54);
  jars_close(jar);
  test_free(bytes);
  bytes = files_read(fixture->path, &size);
  jar = jars_create(fixture->path);
  jars_add(jar, "BOOT-INF/lib/inner.jar", bytes, size);
  jars_add_class(jar, "BOOT-INF/classes/p/App.class", "p/App", 51);
  jars_add_class(jar, "WEB-INF/classes/p/Web.class", "p/Web", 52);
  jars_add_class(jar, "p/Twice.class", "p/Twice", 55);
  jars_close(jar);
  test_free(bytes);
  read_jar(fixture);
  finish(fixture);
  assert_int_equal(version_of(fixture, "p.Deep"), 50);
  assert_int_equal(version_of(fixture, "p.Middle"), 54);
  assert_int_equal(version_of(fixture, "p.App"), 51);
  assert_int_equal(version_of(fixture, "p.Web"), 52);
  /* the jar's own classes precede the classes of jars inside it */
  assert_int_equal(version_of(fixture, "p.Twice"), 55);
  assert_int_equal(part_of(fixture, "p.Twice"), 0);
  unsigned rooted = part_of(fixture, "p.App");
  assert_int_equal(part_of(fixture, "p.Web"), rooted);
  unsigned middle = part_of(fixture, "p.Middle");
  unsigned deep = part_of(fixture, "p.Deep");
  assert_true(rooted != 0 && middle != 0 && deep != 0);
  assert_true(rooted != middle && middle != deep && deep != rooted);
  assert_true(fixture->tables.part_count > 3);
  unit_assert_text(catalog_text(&fixture->tables, fixture->tables.parts[deep].some_class), TEXT("p.Deep"),
                   __FILE__, __LINE__);
}

/* The application's class loader finds a class in this place, even if an earlier jar contains the class in
 * another place. */
UNIT_TEST_WITH(test_a_jars_own_class_comes_before_a_nested_one, open_fixture, close_fixture)
{
  struct fixture *fixture = *state;
  size_t size;
  zip_t *jar = jars_create(fixture->path);
  jars_add_class(jar, "p/Both.class", "p/Both", 50);
  jars_close(jar);
  uint8_t *bytes = files_read(fixture->path, &size);
  jar = jars_create(fixture->path);
  jars_add(jar, "lib/inner.jar", bytes, size);
  jars_close(jar);
  test_free(bytes);
  read_jar(fixture);
  jar = jars_create(fixture->path);
  jars_add_class(jar, "p/Both.class", "p/Both", 55);
  jars_close(jar);
  read_jar(fixture);
  finish(fixture);
  assert_int_equal(version_of(fixture, "p.Both"), 55);
  assert_int_equal(part_of(fixture, "p.Both"), 0);
  assert_int_equal(fixture->tables.class_count, 1);
}

UNIT_TEST_WITH(test_nesting_is_bounded, open_fixture, close_fixture)
{
  struct fixture *fixture = *state;
  zip_t *jar = jars_create(fixture->path);
  jars_add_class(jar, "p/Level0.class", "p/Level0", 50);
  jars_close(jar);
  for (unsigned level = 1; level <= JAR_DEPTH_MAX; level++) {
    char path[64];
    char name[32];
    size_t size;
    uint8_t *bytes = files_read(fixture->path, &size);
    snprintf(name, sizeof name, "p/Level%u", level);
    snprintf(path, sizeof path, "%s.class", name);
    jar = jars_create(fixture->path);
    jars_add(jar, "inner.jar", bytes, size);
    jars_add_class(jar, path, name, 50);
    jars_close(jar);
    test_free(bytes);
  }
  read_jar(fixture);
  finish(fixture);
  assert_int_equal(version_of(fixture, "p.Level1"), 50);
  assert_int_equal(version_of(fixture, "p.Level0"), 0);
}

UNIT_TEST_WITH(test_class_at_the_wrong_place, open_fixture, close_fixture)
{
  struct fixture *fixture = *state;
  zip_t *jar = jars_create(fixture->path);
  jars_add_class(jar, "q/A.class", "p/A", 50);
  jars_add_class(jar, "META-INF/p/B.class", "p/B", 50);
  jars_close(jar);
  read_jar(fixture);
  finish(fixture);
  assert_int_equal(fixture->tables.class_count, 0);
}

UNIT_TEST_WITH(test_broken_classes_are_left_out, open_fixture, close_fixture)
{
  struct fixture *fixture = *state;
  zip_t *jar = jars_create(fixture->path);
  jars_add_class(jar, "p/A.class", "p/A", 50);
  jars_add_text(jar, "p/B.class", "no class");
  jars_add_text(jar, "p/C.class", "");
  jars_add_text(jar, "p/inner.jar", "no jar");
  jars_close(jar);
  read_jar(fixture);
  finish(fixture);
  assert_int_equal(fixture->tables.class_count, 1);
}

UNIT_TEST_WITH(test_class_path_of_the_manifest, open_fixture, close_fixture)
{
  struct fixture *fixture = *state;
  zip_t *jar = jars_create(fixture->path);
  jars_add_text(jar, "meta-inf/manifest.mf", "Class-Path: a.jar\n  b.jar\n\n");
  jars_close(jar);
  assert_text(read_jar(fixture), "a.jar b.jar");
}

UNIT_TEST_WITH(test_zip_bomb, open_fixture, close_fixture)
{
  struct fixture *fixture = *state;
  char *zeros = calloc(1, CLASS_BYTES_MAX + 1);
  assert_non_null(zeros);
  zip_t *jar = jars_create(fixture->path);
  jars_add(jar, "p/Bomb.class", zeros, CLASS_BYTES_MAX + 1);
  jars_add_class(jar, "p/A.class", "p/A", 50);
  jars_close(jar);
  free(zeros);
  read_jar(fixture);
  finish(fixture);
  assert_int_equal(fixture->tables.class_count, 1);
}

UNIT_TEST_WITH(test_total_is_bounded, open_fixture, close_fixture)
{
  struct fixture *fixture = *state;
  assert_int_equal(builder_count_bytes(fixture->builder, (uint64_t)4 << 30, &fixture->error), JP_OK);
  assert_int_equal(builder_count_bytes(fixture->builder, 1, &fixture->error), JP_LIMIT);
  assert_non_null(strstr(fixture->error.text, "4 GiB"));
}

/* A small jar in memory, and its size. */
static uint8_t *make_small_jar(const struct fixture *fixture, size_t *size)
{
  zip_t *jar = jars_create(fixture->path);
  jars_add_text(jar, "META-INF/MANIFEST.MF", "Multi-Release: true\n");
  jars_add_class(jar, "p/A.class", "p/A", 50);
  jars_close(jar);
  return files_read(fixture->path, size);
}

static void read_bytes(struct fixture *fixture, const uint8_t *bytes, size_t size)
{
  files_write(fixture->folder, "test.jar", bytes, size);
  read_jar(fixture);
}

UNIT_TEST_WITH(test_cut_at_every_byte, open_fixture, close_fixture)
{
  struct fixture *fixture = *state;
  size_t size;
  uint8_t *bytes = make_small_jar(fixture, &size);
  for (size_t i = 0; i < size; i++)
    read_bytes(fixture, bytes, i);
  test_free(bytes);
  finish(fixture);
  assert_int_equal(fixture->tables.class_count, 0);
}

UNIT_TEST_WITH(test_every_byte_changed, open_fixture, close_fixture)
{
  struct fixture *fixture = *state;
  size_t size;
  uint8_t *bytes = make_small_jar(fixture, &size);
  for (size_t i = 0; i < size; i++) {
    bytes[i] ^= 0xFF;
    read_bytes(fixture, bytes, size);
    bytes[i] ^= 0xFF;
  }
  read_bytes(fixture, bytes, size);
  test_free(bytes);
  finish(fixture);
  assert_int_equal(version_of(fixture, "p.A"), 50);
}

/* A jar with one class that is deflated, and its size. name: the name of the class, long enough to be
 * deflated. */
static uint8_t *make_deflated_jar(const struct fixture *fixture, const char *name, size_t *size)
{
  char path[128];
  zip_stat_t facts;
  snprintf(path, sizeof path, "%s.class", name);
  zip_t *jar = jars_create(fixture->path);
  jars_add_class(jar, path, name, 50);
  jars_close(jar);
  jar = zip_open(fixture->path, ZIP_RDONLY, NULL);
  assert_non_null(jar);
  assert_int_equal(zip_stat_index(jar, 0, 0, &facts), 0);
  assert_int_equal(facts.comp_method, ZIP_CM_DEFLATE);
  zip_discard(jar);
  return files_read(fixture->path, size);
}

/* The major version of a class in an open jar; 0: it cannot be read. */
static unsigned open_version_of(struct jar *jar, const char *path)
{
  const uint8_t *bytes;
  size_t size;
  struct jp_error error;
  enum jp_status status = jar_find(jar, text_of(path), &bytes, &size, &error);
  assert_true(status == JP_OK || status == JP_NOT_FOUND);
  return status == JP_OK ? bytes[7] : 0;
}

/* The class of a jar with one changed byte is read without a difference, or not at all. */
static void check_open_class(struct fixture *fixture, const char *name, bool is_whole)
{
  struct jar *jar;
  assert_int_equal(jar_open(fixture->builder, fixture->path, FEATURE_VERSION, &jar, &fixture->error), JP_OK);
  unsigned version = jar == NULL ? 0 : open_version_of(jar, name);
  assert_true(version == 50 || (version == 0 && !is_whole));
  jar_close(jar);
}

UNIT_TEST_WITH(test_a_deflated_class_is_read_as_it_was_or_left_out, open_fixture, close_fixture)
{
  static const char name[] = "p/AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";
  struct fixture *fixture = *state;
  size_t size;
  unsigned left_out = 0;
  uint8_t *bytes = make_deflated_jar(fixture, name, &size);
  for (size_t i = 0; i <= size; i++) {
    builder_destroy(fixture->builder);
    fixture->builder = builder_create();
    assert_non_null(fixture->builder);
    if (i < size)
      bytes[i] ^= 0x10;
    read_bytes(fixture, bytes, size);
    if (i < size)
      bytes[i] ^= 0x10;
    check_open_class(fixture, name, i == size);
    finish(fixture);
    left_out += fixture->tables.class_count == 0;
    if (fixture->tables.class_count > 0)
      assert_int_equal(fixture->tables.classes[0].major_version, 50);
  }
  assert_int_equal(fixture->tables.class_count, 1); /* the class of the unchanged jar */
  assert_true(left_out > size / 4);
  test_free(bytes);
}

static void check_open_jar(struct fixture *fixture)
{
  struct jar *jar;
  assert_int_equal(jar_open(fixture->builder, fixture->path, FEATURE_VERSION, &jar, &fixture->error), JP_OK);
  assert_non_null(jar);
  jar_sort(jar);
  assert_int_equal(jar_class_count(jar), 2);
  assert_text(jar_class_path(jar, 0), "p/A");
  assert_text(jar_class_path(jar, 1), "p/B");
  assert_text(jar_manifest_class_path(jar), "more.jar");
  assert_false(jar_has_parts(jar));
  assert_int_equal(open_version_of(jar, "p/A"), 52);
  assert_int_equal(open_version_of(jar, "p/B"), 53);
  assert_int_equal(open_version_of(jar, "p/C"), 0);
  jar_close(jar);
}

UNIT_TEST_WITH(test_an_open_jar_is_the_same_with_and_without_a_comment, open_fixture, close_fixture)
{
  struct fixture *fixture = *state;
  zip_t *jar = jars_create(fixture->path);
  jars_add_text(jar, "meta-inf/Manifest.MF", "Multi-Release: true\nClass-Path: more.jar\n\n");
  jars_add_class(jar, "p/B.class", "p/B", 53);
  jars_add_class(jar, "p/A.class", "p/A", 50);
  jars_add_class(jar, "META-INF/versions/11/p/A.class", "p/A", 52);
  jars_add_text(jar, "p/", "");
  jars_close(jar);
  check_open_jar(fixture);
  jar = zip_open(fixture->path, 0, NULL);
  assert_non_null(jar);
  assert_int_equal(zip_set_archive_comment(jar, "no plain jar", 12), 0);
  jars_close(jar);
  check_open_jar(fixture);
}

UNIT_MAIN
