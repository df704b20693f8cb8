#ifndef JPEER_BASE_STACK_H
#define JPEER_BASE_STACK_H
/* How much is left of the calling thread's stack: C, unlike Java, cannot be stopped at its end. Any thread. */
#include <stddef.h>

/* Bytes below the caller's frame; SIZE_MAX: unknown. */
size_t stack_left(void);

#endif
