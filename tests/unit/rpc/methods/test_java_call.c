/* The types that a parameter declares for the elements of its argument. */
#include "rpc/methods/java_call.h"
#include "tests/unit/unit.h"

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

UNIT_MAIN
