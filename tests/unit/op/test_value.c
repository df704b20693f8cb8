#include "op/value.h"

#include "tests/unit/unit.h"

#include <math.h>

UNIT_TEST(digits_are_those_written_or_the_values_own)
{
  static const struct {
    struct op_value value;
    const char *digits;
  } cases[] = {
      {{.kind = OP_INTEGER, .integer = -42}, "-42"},
      {{.kind = OP_INTEGER, .literal = TEXT("-0")}, "-0"},
      {{.kind = OP_BIG_INTEGER, .literal = TEXT("123456789012345678901")}, "123456789012345678901"},
      {{.kind = OP_DOUBLE, .literal = TEXT("1.50")}, "1.50"},
      {{.kind = OP_DOUBLE, .decimal = 0.1}, "0.1"},
      {{.kind = OP_DOUBLE, .decimal = -INFINITY}, "-Infinity"},
      {{.kind = OP_FLOAT, .decimal = 0.1F}, "0.1"},
  };
  struct arena arena;
  arena_init(&arena);
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    assert_true(op_value_is_number(&cases[i].value));
    unit_assert_text(op_value_digits(&cases[i].value, &arena), text_of(cases[i].digits), __FILE__, __LINE__);
  }
  arena_fini(&arena);
}

UNIT_TEST(other_kinds_are_no_numbers)
{
  static const enum op_value_kind kinds[] = {OP_NULL, OP_BOOLEAN, OP_CHAR, OP_TEXT,
                                             OP_REF,  OP_LIST,    OP_MAP,  OP_PACKED};
  for (size_t i = 0; i < COUNT_OF(kinds); i++)
    assert_false(op_value_is_number(&(struct op_value){.kind = kinds[i]}));
}

UNIT_MAIN
