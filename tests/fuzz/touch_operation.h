#ifndef JPEER_TESTS_FUZZ_TOUCH_OPERATION_H
#define JPEER_TESTS_FUZZ_TOUCH_OPERATION_H
/* Reads an operation to its last byte, so that a sanitizer sees what it should not have; aborts where it breaks a
 * promise of op/operation.h. */
#include "op/operation.h"

void touch_operation(const struct operation *operation);

#endif
