#ifndef JPEER_BASE_DESCRIPTORS_H
#define JPEER_BASE_DESCRIPTORS_H
/*
 * Finds whether file descriptors are left. It is for failures of a library, or of Java, that look as though a
 * file did not exist. Any thread.
 */
#include <stdbool.h>

/* The words of messages. */
#define DESCRIPTORS_NONE_LEFT "too many open files: the process has no file descriptor left (ulimit -n)"

/* True where the process, or the system, has none left now. It tries to get one, so ask only after a
 * failure. */
bool descriptors_are_used_up(void);

#endif
