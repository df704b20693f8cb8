#ifndef JPEER_TESTS_FUZZ_TOUCH_OPERATION_H
#define JPEER_TESTS_FUZZ_TOUCH_OPERATION_H
/* Reads an operation to its last byte, so that a sanitizer sees invalid pointers; aborts if it violates a
 * rule of op/operation.h. */
#include "base/status.h"
#include "op/operation.h"

void touch_operation(const struct operation *operation);

/* Callbacks of a message: the accepted callbacks, and the callbacks that a scan finds. The scan must find at
 * least as many. */
struct callback_counts {
  size_t taken;
  size_t found;
};

/* Functions of a struct rpc_callback_sink and of a scan; context: a struct callback_counts. */
enum jp_status accept_callback(void *context, int64_t id, struct jp_error *error);
void find_callback(void *context, int64_t id);

#endif
