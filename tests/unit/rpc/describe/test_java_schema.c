/* Tests the JSON Schemas of Java types, over a catalog without a JDK, and the names in documents. */
#include "rpc/describe/java_schema.h"
#include "tests/unit/cases.h"

#define STRING "{\"type\":[\"string\",\"null\"]}"
#define REF    "{\"$ref\":\"#/components/schemas/ObjectRef\"}"

static int open_catalog(void **state)
{
  static struct catalog *catalog;
  const struct catalog_config config = {.class_path = TEST_CLASSES};
  static const struct catalog_tables *tables;
  struct jp_error error;
  if (catalog_create(&config, &catalog, &error) != JP_OK || catalog_load(catalog, &tables, &error) != JP_OK) {
    print_error("%s\n", error.text);
    return 1;
  }
  *state = (void *)(uintptr_t)tables;
  return 0;
}

static struct java_schemas schemas;

static void check_schema(const char *place, const char *type, const char *schema)
{
  bool is_result = strncmp(type, "result ", strlen("result ")) == 0;
  struct buffer out;
  buffer_init(&out);
  java_schema_write(&schemas, text_of(strchr(type, ' ') + 1), is_result, &out);
  assert_false(out.failed);
  unit_assert_text(buffer_text(&out), text_of(schema), place, __LINE__);
  buffer_fini(&out);
}

UNIT_TEST(types_have_schemas)
{
  assert_int_equal(java_schemas_init(&schemas, *state, false), JP_OK);
  unit_cases(SCHEMAS, check_schema);
  assert_int_equal(schemas.enums.count, 0);
  java_schemas_fini(&schemas);
}

UNIT_TEST(constructors_give_refs)
{
  const struct java_schemas plain = {.for_generators = false};
  const struct java_schemas for_generators = {.for_generators = true};
  struct buffer out;
  buffer_init(&out);
  java_schema_write_new(&plain, TEXT("java.util.ArrayList"), &out);
  java_schema_write_new(&plain, TEXT("java.lang.Object"), &out);
  java_schema_write_new(&plain, TEXT("java.lang.String"), &out);
  java_schema_write_new(&for_generators, TEXT("java.lang.String"), &out);
  assert_text(buffer_text(&out), REF REF STRING "{\"anyOf\":[{\"type\":\"string\"},{\"type\":\"null\"}]}");
  buffer_fini(&out);
}

/* ---- names of classes ---- */

static void check_written(void (*write)(struct text, struct buffer *), const char *from, const char *wanted)
{
  struct buffer out;
  buffer_init(&out);
  write(text_of(from), &out);
  assert_false(out.failed);
  assert_int_equal(out.len, strlen(wanted));
  assert_memory_equal(out.data, wanted, out.len);
  buffer_fini(&out);
}

UNIT_TEST(component_keys_keep_to_their_characters)
{
  check_written(java_component_key_write, "com.example.Color", "com.example.Color");
  check_written(java_component_key_write, "Outer$Inner", "Outer-Inner");
  check_written(java_component_key_write, "a_b.C$$D", "a_b.C--D");
  check_written(java_component_key_write, "a.Stra\xC3\x9F\x65", "a.Stra..00DF.e");
  check_written(java_component_key_write, "a.\xF0\x9D\x92\x9C", "a...1D49C.");
}

static void check_classes(const char *place, const char *pattern, const char *names)
{
  char word[UNIT_WORD_MAX];
  assert_true(*names != '\0');
  while (unit_next_word(&names, word)) {
    const char *name = word + (*word == '!');
    char *copy = unit_exact_copy(name, strlen(name));
    if (java_class_matches(text_of(pattern), (struct text){copy, strlen(name)}) != (name == word))
      fail_msg("%s: %s", place, name);
    test_free(copy);
  }
}

UNIT_TEST(patterns_cover_classes)
{
  unit_cases(CLASS_PATTERNS, check_classes);
  assert_false(java_class_matches(TEXT(""), TEXT("C")));
}

/* ---- names of parameters ---- */

enum { PARAMETERS_MAX = 3 };

UNIT_TEST(parameter_names_are_judged)
{
  static const struct {
    const char *names[PARAMETERS_MAX];
    bool has_receiver;
    bool wanted;
  } cases[] = {
      {{NULL}, false, true},
      {{NULL}, true, true},
      {{"fromIndex", "to_index", "a1"}, true, true},
      {{"type"}, true, true},
      {{"in"}, false, false},
      {{"and"}, false, false},
      {{"yield"}, false, false},
      {{"a", "function"}, false, false},
      {{"None"}, false, false},
      {{"self"}, false, false},
      {{"instance_"}, true, false},
      {{"in_stance"}, true, false},
      {{"in_stance"}, false, true},
      {{"aB", "a_b"}, false, false},
      {{"_a"}, false, false},
      {{"1a"}, false, false},
      {{"a$"}, false, false},
      {{"\xC3\xA4"}, false, false},
      {{""}, false, false},
      {{"aaaaaaaaaabbbbbbbbbbccccccccccddddddddddeeeeeeeeeeffffffffffgggg"}, false, true},
      {{"aaaaaaaaaabbbbbbbbbbccccccccccddddddddddeeeeeeeeeeffffffffffggggg"}, false, false},
  };
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    struct java_parameter parameters[PARAMETERS_MAX];
    struct java_method method = {.parameters = parameters, .has_receiver = cases[i].has_receiver};
    while (method.parameter_count < PARAMETERS_MAX && cases[i].names[method.parameter_count] != NULL) {
      parameters[method.parameter_count].name = text_of(cases[i].names[method.parameter_count]);
      method.parameter_count++;
    }
    if (parameter_names_are_identifiers(&method) != cases[i].wanted)
      fail_msg("case %zu", i);
  }
}

UNIT_MAIN_WITH(open_catalog, NULL)
