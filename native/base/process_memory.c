#include "base/process_memory.h"

#include <stdlib.h> /* defines __GLIBC__ if the C library is glibc */

#if defined(__GLIBC__)
#include <malloc.h>
#include <unistd.h>
#endif

void process_memory_bound_arenas(void)
{
#if defined(__GLIBC__)
  enum { LEAST = 2 };
  long cores = sysconf(_SC_NPROCESSORS_ONLN);
  if (getenv("MALLOC_ARENA_MAX") == NULL && getenv("GLIBC_TUNABLES") == NULL)
    mallopt(M_ARENA_MAX, cores > LEAST ? (int)cores : LEAST);
#endif
}

void process_memory_return(void)
{
#if defined(__GLIBC__)
  malloc_trim(0);
#endif
}
