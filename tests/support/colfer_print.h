#ifndef JPEER_TESTS_SUPPORT_COLFER_PRINT_H
#define JPEER_TESTS_SUPPORT_COLFER_PRINT_H
/* Binary messages for people: tests compare them, and the bench shows those that it did not expect. Any thread. */
#include "colfer/colfer.h"

/* Appends the struct for people, on one line: {message_type: 3, exec_message: {...}}. Fields with their zero value
 * are left out, binary ones are hexadecimal, long ones are cut. */
void colfer_print(const struct colfer_type *type, const void *value, struct buffer *out);

#endif
