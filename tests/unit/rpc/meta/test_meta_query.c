#include "rpc/meta/meta_query.h"

#include "tests/unit/temporary_file.h"
#include "tests/unit/unit.h"

#include <stdlib.h>
#include <unistd.h>

static struct catalog *catalog;
static const struct catalog_tables *tables;

static int open_catalog(void **state)
{
  (void)state;
  const struct catalog_config config = {.class_path = TEST_CLASSES};
  return catalog_create(&config, &catalog, NULL) == JP_OK && catalog_load(catalog, &tables, NULL) == JP_OK
             ? 0
             : 1;
}

static int close_catalog(void **state)
{
  (void)state;
  catalog_destroy(catalog);
  return 0;
}

/* What a query asks, and the policy file of its caller; NULL: everything is allowed. */
struct question {
  const char *rules;
  bool merge_ancestry;
  struct text includes[4];
  size_t include_count;
  struct text excludes[4];
  size_t exclude_count;
};

static struct policy *make_policy(const char *rules)
{
  struct policy *policy = NULL;
  struct jp_error error = {0};
  char path[] = TEMPORARY_FILE;
  struct policy_config config = {.default_action = rules == NULL ? POLICY_ALLOW : POLICY_UNSET};
  if (rules != NULL) {
    temporary_file_write(path, rules, strlen(rules));
    config.file = path;
  }
  enum jp_status status = policy_create(&config, &policy, &error);
  if (rules != NULL)
    unlink(path);
  if (status != JP_OK)
    fail_msg("%s", error.text);
  return policy;
}

static void open_query(struct meta_query *query, struct question *question)
{
  const struct operation operation = {
      .kind = OP_META,
      .meta = {.merge_ancestry = question->merge_ancestry,
               .include_classes = question->include_count == 0 ? NULL : question->includes,
               .include_count = question->include_count,
               .exclude_prefixes = question->exclude_count == 0 ? NULL : question->excludes,
               .exclude_count = question->exclude_count}};
  assert_int_equal(meta_query_init(query, tables, make_policy(question->rules), POLICY_HTTP, &operation),
                   JP_OK);
}

static void close_query(struct meta_query *query)
{
  policy_destroy((struct policy *)query->policy);
  meta_query_fini(query);
}

static uint32_t find_class(const char *name)
{
  uint32_t found = catalog_find(tables, text_of(name));
  if (found == CATALOG_NONE)
    fail_msg("%s is not in the catalog", name);
  return found;
}

static void check_classes(struct question question, const char *const *wanted, size_t count)
{
  struct meta_query query;
  size_t position = 0;
  uint32_t class_index;
  open_query(&query, &question);
  for (size_t i = 0; i < count; i++) {
    assert_true(meta_query_next(&query, &position, &class_index));
    assert_true(text_equal(catalog_text(tables, tables->classes[class_index].name), text_of(wanted[i])));
  }
  assert_false(meta_query_next(&query, &position, &class_index));
  close_query(&query);
}

static void test_included_classes(void **state)
{
  (void)state;
  static const char *const sorted[] = {"NoPackage", "meta.fixtures.Base", "meta.fixtures.Shapes"};
  check_classes((struct question){.includes = {TEXT("meta.fixtures.Shapes"), TEXT("NoPackage"),
                                               TEXT("meta.fixtures.Base"), TEXT("meta.fixtures.Shapes")},
                                  .include_count = 4},
                sorted, COUNT_OF(sorted));
  check_classes(
      (struct question){.includes = {TEXT("no.such.Class"), TEXT("meta.fixtures")}, .include_count = 2}, NULL,
      0);
}

static void test_excluded_classes(void **state)
{
  (void)state;
  static const char *const left[] = {"NoPackage", "meta.fixtures.Base"};
  check_classes((struct question){.excludes = {TEXT("meta.fixtures.Sh"), TEXT("meta.fixtures.O"),
                                               TEXT("meta.fixtures.M")},
                                  .exclude_count = 3},
                left, COUNT_OF(left));
  check_classes((struct question){.includes = {TEXT("meta.fixtures.Base")},
                                  .include_count = 1,
                                  .excludes = {TEXT("meta.")},
                                  .exclude_count = 1},
                NULL, 0);
}

static void test_classes_that_the_policy_hides(void **state)
{
  (void)state;
  static const char *const shown[] = {"meta.fixtures.Base"};
  check_classes((struct question){.rules =
                                      "version: 1\nrules:\n"
                                      "  - {class: meta.fixtures.Base, action: ALLOW}\n"
                                      "  - {class: NoPackage, action: ALLOW, channel: ZMQ_SOCKET_RPC}\n"},
                shown, COUNT_OF(shown));
}

static void check_known(struct question question, const char *name, bool is_known)
{
  struct meta_query query;
  open_query(&query, &question);
  for (int i = 0; i < 2; i++) /* the second time out of what was noted */
    assert_int_equal(meta_query_knows(&query, find_class(name)), is_known);
  close_query(&query);
}

/* Which subclasses are listed. */
static void test_known_classes(void **state)
{
  (void)state;
  static const char nested[] = "meta.fixtures.Shapes$Nested";
  check_known((struct question){0}, nested, true);
  check_known((struct question){0}, "meta.fixtures.Shapes$1", false);
  check_known((struct question){.includes = {TEXT("meta.fixtures.Base")}, .include_count = 1}, nested, true);
  check_known((struct question){.excludes = {TEXT("meta.fixtures.Shapes$N")}, .exclude_count = 1}, nested,
              false);
  /* a class is known by what it inherits only where that is asked for */
  static const char inherited[] = "version: 1\nrules:\n"
                                  "  - {class: \"meta.**\", method: describe, action: ALLOW}\n";
  check_known((struct question){.rules = inherited}, nested, false);
  check_known((struct question){.rules = inherited, .merge_ancestry = true}, nested, true);
}

static const struct catalog_method *find_method(uint32_t class_index, const char *name)
{
  const struct catalog_class *class = &tables->classes[class_index];
  for (unsigned i = 0; i < class->method_count; i++) {
    const struct catalog_method *method = &tables->methods[class->first_method + i];
    if (!method->hidden && text_equal(catalog_text(tables, method->name), text_of(name)))
      return method;
  }
  fail_msg("no method %s", name);
  return NULL;
}

static const struct catalog_field *find_field(uint32_t class_index, const char *name)
{
  const struct catalog_class *class = &tables->classes[class_index];
  for (unsigned i = 0; i < class->field_count; i++) {
    const struct catalog_field *field = &tables->fields[class->first_field + i];
    if (text_equal(catalog_text(tables, field->name), text_of(name)))
      return field;
  }
  fail_msg("no field %s", name);
  return NULL;
}

/* The category and visibility of each member, and the class that declares it, are what the policy is asked
 * about. */
static void test_methods(void **state)
{
  (void)state;
  struct meta_query query;
  uint32_t base = find_class("meta.fixtures.Base");
  uint32_t nested = find_class("meta.fixtures.Shapes$Nested");
  open_query(&query,
             &(struct question){.rules = "version: 1\nrules:\n"
                                         "  - {class: meta.fixtures.Base, method: shared, action: DENY}\n"
                                         "  - class: meta.**\n"
                                         "    members: [METHOD, STATIC_METHOD]\n"
                                         "    visibility: PUBLIC\n"
                                         "    action: ALLOW\n"});
  assert_true(meta_query_allows_method(&query, base, base, find_method(base, "describe")));
  assert_false(meta_query_allows_method(&query, base, base, find_method(base, "secret")));
  assert_false(meta_query_allows_method(&query, base, base, find_method(base, "inPackage")));
  assert_false(meta_query_allows_method(&query, base, base, find_method(base, "<init>")));
  assert_false(meta_query_allows_method(&query, base, base, find_method(base, "shared")));
  assert_true(meta_query_allows_method(&query, nested, base, find_method(base, "describe")));
  assert_false(meta_query_allows_method(&query, nested, base, find_method(base, "shared")));
  close_query(&query);
}

static void test_fields(void **state)
{
  (void)state;
  struct meta_query query;
  uint32_t shapes = find_class("meta.fixtures.Shapes");
  open_query(&query,
             &(struct question){.rules = "version: 1\nrules:\n"
                                         "  - {class: meta.**, members: FIELD_SET, action: ALLOW}\n"});
  assert_true(meta_query_allows_field(&query, shapes, shapes, find_field(shapes, "numbers")));
  assert_false(meta_query_allows_field(&query, shapes, shapes, find_field(shapes, "LIMIT")));
  close_query(&query);
  open_query(&query,
             &(struct question){.rules = "version: 1\nrules:\n"
                                         "  - {class: meta.**, members: FIELD_GET, action: ALLOW}\n"});
  assert_true(meta_query_allows_field(&query, shapes, shapes, find_field(shapes, "LIMIT")));
  close_query(&query);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_included_classes),
      cmocka_unit_test(test_excluded_classes),
      cmocka_unit_test(test_classes_that_the_policy_hides),
      cmocka_unit_test(test_known_classes),
      cmocka_unit_test(test_methods),
      cmocka_unit_test(test_fields),
  };
  return cmocka_run_group_tests(tests, open_catalog, close_catalog);
}
