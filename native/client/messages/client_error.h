#ifndef JPEER_CLIENT_MESSAGES_CLIENT_ERROR_H
#define JPEER_CLIENT_MESSAGES_CLIENT_ERROR_H
/* Errors of the client library. Any thread. */
#include "jpeer/request.h"

#include <stdarg.h>

/* Sets *error, unless it is NULL, and returns status, so that a caller can write `return
 * client_fail(...)`. */
enum jp_client_status client_fail(struct jp_client_error *error, enum jp_client_status status,
                                  const char *format, ...) __attribute__((format(printf, 3, 4)));
enum jp_client_status client_fail_va(struct jp_client_error *error, enum jp_client_status status,
                                     const char *format, va_list args);
/* Puts a prefix before the text: "argument 2: ". */
void client_error_prefix(struct jp_client_error *error, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
