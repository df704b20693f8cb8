#ifndef JPEER_TESTS_FUZZ_TOUCH_OPERATION_H
#define JPEER_TESTS_FUZZ_TOUCH_OPERATION_H
/* Reads an operation to its last byte, so that a sanitizer sees what it should not have; aborts where it breaks a
 * promise of op/operation.h. */
#include "base/status.h"
#include "op/operation.h"

void touch_operation(const struct operation *operation);

/* Callbacks of a message: those that were taken, and those that a scan finds, which have to be as many at least. */
struct callback_counts {
  size_t taken;
  size_t found;
};

/* Functions of a struct rpc_callback_taker and of a scan; context: a struct callback_counts. */
enum jp_status take_callback(void *context, int64_t id, struct jp_error *error);
void find_callback(void *context, int64_t id);

#endif
