#ifndef JPEER_BASE_C_LIBRARY_H
#define JPEER_BASE_C_LIBRARY_H
/* What glibc alone has. Each function says what it does with another C library, such as musl. Any thread. */
#include <pthread.h>

/* glibc makes up to eight arenas for each core, and each keeps the memory that the largest requests of its threads
 * have needed. Bounds them to one for each core, because no more threads run at once; at least two. Changes nothing if
 * the user has tuned glibc by its variables. Call it before the process has a second thread. Other C libraries: does
 * nothing. */
void c_library_bound_arenas(void);

/* Returns freed memory that lies between memory in use to the system: glibc keeps it. Takes 1 to 4 ms, and locks an
 * arena during that time. Other C libraries: does nothing. */
void c_library_return_memory(void);

/* Makes a lock whose waiting writers are preferred to new readers; no thread may hold it for reading twice. Other C
 * libraries: the usual lock, in which a flood of readers may delay a writer. */
void c_library_init_writers_lock(pthread_rwlock_t *lock);

#endif
