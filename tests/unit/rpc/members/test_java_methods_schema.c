/* JSON Schemas of Java types, over a catalog with no JDK in it. */
#include "rpc/members/java_methods_schema.h"
#include "rpc/members/java_methods_typing.h"
#include "tests/unit/unit.h"

#define INT                "{\"type\":\"integer\",\"minimum\":-2147483648,\"maximum\":2147483647}"
#define STRING             "{\"type\":[\"string\",\"null\"]}"
#define LONG               "{\"type\":[\"integer\",\"null\"]}"
#define ARRAY              "{\"type\":[\"array\",\"null\"],\"items\":"
#define MAP                "{\"type\":[\"object\",\"null\"],\"additionalProperties\":"
#define REF                "{\"$ref\":\"#/components/schemas/ObjectRef\"}"
#define LARGE              "{\"$ref\":\"#/components/schemas/LargeResult\"}"
#define OR_LARGE(schema)   "{\"anyOf\":[" schema "," LARGE "]}"
#define OBJECT(name, more) "{\"anyOf\":[" REF ",{\"type\":" more "}],\"description\":\"" name "\"}"

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

UNIT_TEST(types_have_schemas)
{
  static const struct {
    const char *type;
    bool is_result;
    const char *schema;
  } cases[] = {
      {"I", false, INT},
      {"J", true, "{\"type\":\"integer\"}"},
      {"Z", false, "{\"type\":\"boolean\"}"},
      {"D", true, "{\"type\":\"number\"}"},
      {"C", false, "{\"type\":\"string\",\"minLength\":1,\"maxLength\":1}"},
      {"V", true, "{\"type\":\"null\"}"},
      {"Ljava/lang/String;", false, STRING},
      {"Ljava/lang/Long;", true, LONG},
      {"Ljava/lang/Object;", true, "{}"},
      {"[I", false, ARRAY INT "}"},
      {"[[Ljava/lang/String;", true, OR_LARGE(ARRAY ARRAY STRING "}}")},
      {"TT;", false, "{}"},
      {"Ljava/util/Collection;", false, ARRAY "{}}"},
      {"Ljava/util/Collection<Ljava/lang/String;>;", false, ARRAY STRING "}"},
      {"Ljava/util/Collection<+Ljava/lang/Long;>;", true, OR_LARGE(ARRAY LONG "}")},
      {"Ljava/util/Collection<-Ljava/lang/Long;>;", true, OR_LARGE(ARRAY "{}}")},
      {"Ljava/util/Collection<*>;", true, OR_LARGE(ARRAY "{}}")},
      {"Ljava/util/Map<Ljava/lang/String;Ljava/util/Collection<[I>;>;", true,
       OR_LARGE(REF "," MAP ARRAY ARRAY INT "}}}")},
      {"Ljava/util/Map<Ljava/lang/Integer;Ljava/lang/Long;>;", true, OR_LARGE(MAP LONG "}")},
      {"Ljava/util/Map<Ljava/lang/Character;Ljava/lang/Long;>;", true, OR_LARGE(MAP LONG "}")},
      {"Ljava/util/Map<Ljava/lang/Number;Ljava/lang/Long;>;", true, OR_LARGE(REF "," MAP LONG "}")},
      {"Ljava/util/Map<TK;Ljava/lang/Long;>;", false, MAP LONG "}"},
      {"Ljava/util/Map<TK;Ljava/lang/Long;>;", true, OR_LARGE(REF "," MAP LONG "}")},
      {"Ljava/util/UUID;", false, OBJECT("java.util.UUID", "[\"string\",\"null\"]")},
      {"Ljava/util/UUID;", true,
       "{\"anyOf\":[{\"type\":[\"string\",\"null\"]}],\"description\":\"java.util.UUID\"}"},
      {"Ljava/math/BigDecimal;", true, OBJECT("java.math.BigDecimal", "[\"string\",\"null\"]")},
      {"Ljava/time/Year;", false, OBJECT("java.time.Year", "[\"string\",\"null\"]")},
      {"Ljava/lang/Class<*>;", false, OBJECT("java.lang.Class", "[\"string\",\"null\"]")},
      {"Ljava/lang/Class<*>;", true,
       "{\"anyOf\":[{\"$ref\":\"#/components/schemas/ClassRef\"},{\"type\":\"null\"}],\"description\":\"java."
       "lang.Class\"}"},
      {"Ljava/util/Optional<Ljava/lang/String;>;", true,
       "{\"anyOf\":[" REF ",{\"type\":\"null\"}," STRING "]}"},
      {"Ljava/util/Optional<Ljava/lang/String;>;", false, OBJECT("java.util.Optional", "\"null\"")},
      {"La/Outer<TT;>.Inner;", true, OBJECT("a.Outer$Inner", "\"null\"")},
      {"La/Outer$Inner;", true, OBJECT("a.Outer$Inner", "\"null\"")},
  };
  struct java_schemas schemas;
  struct buffer out;
  buffer_init(&out);
  assert_int_equal(java_schemas_init(&schemas, *state, false), JP_OK);
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    buffer_clear(&out);
    java_schema_write(&schemas, text_of(cases[i].type), cases[i].is_result, &out);
    assert_false(out.failed);
    unit_assert_text(buffer_text(&out), text_of(cases[i].schema), cases[i].type, (int)i);
  }
  assert_int_equal(schemas.enums.count, 0);
  java_schemas_fini(&schemas);
  buffer_fini(&out);
}

UNIT_TEST(constructors_give_refs)
{
  const struct java_schemas schemas = {.for_generators = false};
  const struct java_schemas for_generators = {.for_generators = true};
  struct buffer out;
  buffer_init(&out);
  java_schema_write_new(&schemas, TEXT("java.util.ArrayList"), &out);
  java_schema_write_new(&schemas, TEXT("java.lang.Object"), &out);
  java_schema_write_new(&schemas, TEXT("java.lang.String"), &out);
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
