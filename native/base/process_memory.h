#ifndef JPEER_BASE_PROCESS_MEMORY_H
#define JPEER_BASE_PROCESS_MEMORY_H
/* What glibc's malloc keeps for itself. With another C library, such as musl, which has neither arenas of threads nor
 * these functions, both functions do nothing. */

/* glibc makes up to eight arenas for each core, and each keeps the memory that the largest requests of its threads
 * have needed. Bounds them to one for each core, because no more threads run at once; at least two. Changes nothing if
 * the user has tuned glibc by its variables. Call it before the process has a second thread. */
void process_memory_bound_arenas(void);

/* Returns freed memory that lies between memory in use to the system. Takes 1 to 4 ms, and locks an arena during that
 * time. Any thread. */
void process_memory_return(void);

#endif
