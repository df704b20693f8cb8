/* The table of control methods: names, and the facts of each. */
#include "base/buffer.h"
#include "op/control_methods.h"
#include "tests/unit/unit.h"

UNIT_TEST(finds_every_method_in_any_case)
{
  for (size_t i = 0; i < OP_COMMANDS; i++) {
    const struct op_control_method *method = &op_control_methods[i];
    assert_int_equal(method->command, i);
    assert_ptr_equal(op_control_find(method->name), method);
  }
  assert_ptr_equal(op_control_find(TEXT("Delete_Object")), &op_control_methods[OP_DELETE_OBJECT]);
  assert_null(op_control_find(TEXT("pin")));
  assert_null(op_control_find(TEXT("pings")));
  assert_null(op_control_find(TEXT("")));
}

UNIT_TEST(no_method_with_objects_is_safe)
{
  for (size_t i = 0; i < OP_COMMANDS; i++)
    assert_false(op_control_methods[i].takes_refs && op_control_methods[i].is_safe);
  assert_true(op_control_methods[OP_PING].is_safe && op_control_methods[OP_PING].needs_no_runner);
}

/* It looks up users and groups, which may take seconds: the thread that is reserved for brief methods must not wait. */
UNIT_TEST(whoami_is_not_brief)
{
  assert_false(op_control_methods[OP_WHOAMI].is_brief);
  assert_true(op_control_methods[OP_PING].is_brief && op_control_methods[OP_STATS].is_brief);
}

UNIT_MAIN
