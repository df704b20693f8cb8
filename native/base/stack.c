#include "base/stack.h"

#include <pthread.h>
#include <stdint.h>

/* The lowest address of the stack; NULL: it is not known. Asking costs a system call. */
static char *find_lowest(void)
{
  pthread_attr_t attributes;
  void *lowest;
  size_t size;
  if (pthread_getattr_np(pthread_self(), &attributes) != 0)
    return NULL;
  int fault = pthread_attr_getstack(&attributes, &lowest, &size);
  pthread_attr_destroy(&attributes);
  return fault != 0 ? NULL : lowest;
}

size_t stack_left(void)
{
  static _Thread_local char *lowest;
  if (lowest == NULL)
    lowest = find_lowest();
  return lowest == NULL ? SIZE_MAX : (size_t)((char *)__builtin_frame_address(0) - lowest);
}
