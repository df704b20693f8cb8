#include "base/c_library.h"

#include <stdlib.h> /* defines __GLIBC__ if the C library is glibc */

#if defined(__GLIBC__)
#include <malloc.h>
#include <unistd.h>
#endif

void c_library_bound_arenas(void)
{
#if defined(__GLIBC__)
  enum { LEAST = 2 };
  long cores = sysconf(_SC_NPROCESSORS_ONLN);
  if (getenv("MALLOC_ARENA_MAX") == NULL && getenv("GLIBC_TUNABLES") == NULL)
    mallopt(M_ARENA_MAX, cores > LEAST ? (int)cores : LEAST);
#endif
}

void c_library_return_memory(void)
{
#if defined(__GLIBC__)
  malloc_trim(0);
#endif
}

void c_library_init_writers_lock(pthread_rwlock_t *lock)
{
  pthread_rwlockattr_t attributes;
  pthread_rwlockattr_init(&attributes);
#if defined(__GLIBC__)
  pthread_rwlockattr_setkind_np(&attributes, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
#endif
  pthread_rwlock_init(lock, &attributes);
  pthread_rwlockattr_destroy(&attributes);
}
