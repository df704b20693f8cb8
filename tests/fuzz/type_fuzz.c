/* Type names and descriptors: the input is the name. An accepted name has forms that read back as the same type.
 */
#include "op/type.h"

#include "tests/fuzz/fuzz.h"

static void check_descriptor(const struct op_type *type, struct arena *arena)
{
  char *written = arena_alloc(arena, type->dimensions + type->name.len + 2);
  require(written != NULL);
  struct text descriptor = {written, type->dimensions + 1};
  memset(written, '[', type->dimensions);
  written[type->dimensions] = type->base;
  if (type->base == 'L') {
    char *end = written + descriptor.len;
    for (size_t i = 0; i < type->name.len; i++) {
      char c = type->name.data[i];
      *end++ = c == '.' ? '/' : c == '/' ? '.' : c;
    }
    *end = ';';
    descriptor.len += type->name.len + 1;
  }
  struct op_type again;
  require(op_type_parse_descriptor(&descriptor, arena, &again) == JP_OK);
  require(descriptor.len == 0);
  require(again.base == type->base && again.dimensions == type->dimensions);
  require(text_equal(again.name, type->name));
}

static void check_named(const struct op_type *type, struct arena *arena)
{
  struct text names[] = {op_type_source_name(type, arena), op_type_binary_name(type, arena)};
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
    struct op_type again;
    require(op_type_parse_argument(names[i], &again, NULL) == JP_OK);
    require(again.base == type->base && again.dimensions == type->dimensions);
    require(text_equal(again.name, type->name));
  }
  check_descriptor(type, arena);
}

FUZZ_TARGET(text)
{
  struct arena arena;
  struct op_type type;
  struct jp_error error;
  arena_init(&arena);
  if (op_type_parse_argument(text, &type, &error) == JP_OK)
    check_named(&type, &arena);
  if (op_type_parse_target(text, &type, &error) == JP_OK)
    check_descriptor(&type, &arena);
  while (op_type_parse_descriptor(&text, &arena, &type) == JP_OK)
    check_descriptor(&type, &arena);
  arena_fini(&arena);
}
