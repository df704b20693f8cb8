#ifndef JPEER_BASE_DESCRIPTORS_H
#define JPEER_BASE_DESCRIPTORS_H
/*
 * Whether file descriptors are left. For where a library, or Java, has failed to open a file and says no more
 * than that it found nothing. Any thread.
 */
#include <stdbool.h>

/* How a message tells of it. */
#define DESCRIPTORS_NONE_LEFT "too many open files: the process has no file descriptor left (ulimit -n)"

/* True where the process, or the system, has none at this moment. Tries it: for failures alone. */
bool descriptors_are_used_up(void);

#endif
