#ifndef JPEER_TESTS_FUZZ_TOUCH_OPERATION_H
#define JPEER_TESTS_FUZZ_TOUCH_OPERATION_H
/* Reads an operation to its last byte, so that a sanitizer sees invalid pointers; aborts if it breaks a promise of
 * op/operation.h. */
#include "base/status.h"
#include "op/operation.h"

void touch_operation(const struct operation *operation);

/* Callbacks of a message: the accepted ones, and those that a scan finds, which must be at least as many. */
struct callback_counts {
  size_t taken;
  size_t found;
};

/* Functions of a struct rpc_callback_sink and of a scan; context: a struct callback_counts. */
enum jp_status accept_callback(void *context, int64_t id, struct jp_error *error);
void find_callback(void *context, int64_t id);

#endif
