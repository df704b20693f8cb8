#include "op/control_methods.h"

#define CONTROL_METHOD(which, written, ...)                                                                  \
  [OP_##which] = {.name = TEXT(written), .command = OP_##which, __VA_ARGS__},
const struct op_control_method op_control_methods[OP_COMMANDS] = {OP_CONTROL_TABLE(CONTROL_METHOD)};

const struct op_control_method *op_control_find(struct text name)
{
  for (size_t i = 0; i < OP_COMMANDS; i++) {
    if (text_equal_ignore_case(op_control_methods[i].name, name))
      return &op_control_methods[i];
  }
  return NULL;
}
