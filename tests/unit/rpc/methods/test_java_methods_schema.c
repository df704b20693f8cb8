/* JSON Schemas of Java types, over a catalog with no JDK in it. */
#include "rpc/methods/java_methods_schema.h"
#include "rpc/methods/java_methods_typing.h"
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

UNIT_TEST(elements_get_the_types_of_a_signature)
{
  struct op_value items[] = {{.kind = OP_INTEGER, .integer = 5},
                             {.kind = OP_INTEGER, .type = TEXT("int")},
                             {.kind = OP_REF, .ref = 1},
                             {.kind = OP_NULL}};
  struct op_value list = {.kind = OP_LIST, .list = {.items = items, .count = COUNT_OF(items)}};
  struct op_entry entry = {.key = TEXT("k"), .value = list};
  struct op_value map = {.kind = OP_MAP, .map = {.entries = &entry, .count = 1}};
  struct arena arena;
  arena_init(&arena);
  assert_true(java_value_type_elements(
      TEXT("Ljava/util/Map<Ljava/lang/String;Ljava/util/List<Ljava/lang/Long;>;>;"), &arena, &map));
  assert_text(entry.value.type, "java.util.List");
  assert_text(items[0].type, "java.lang.Long");
  assert_text(items[1].type, "int");
  assert_null(items[2].type.data);
  assert_null(items[3].type.data);

  items[0].type = TEXT_ABSENT;
  assert_true(java_value_type_elements(TEXT("Ljava/util/List<TT;>;"), &arena, &list));
  assert_true(java_value_type_elements(TEXT("Ljava/util/List<*>;"), &arena, &list));
  assert_true(java_value_type_elements(TEXT("[I"), &arena, &list));
  assert_null(items[0].type.data);
  assert_true(java_value_type_elements(TEXT("Ljava/util/List<[Ljava/util/Set<TT;>;>;"), &arena, &list));
  assert_text(items[0].type, "java.util.Set[]");
  arena_fini(&arena);
}

UNIT_MAIN_WITH(open_catalog, NULL)
