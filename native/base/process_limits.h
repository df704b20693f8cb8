#ifndef JPEER_BASE_PROCESS_LIMITS_H
#define JPEER_BASE_PROCESS_LIMITS_H
/* The limits of this process, or of a thread: processors, the stack, file descriptors. Any thread. */
#include <stdbool.h>
#include <stddef.h>

enum { PROCESSORS_UNLIMITED = 1 << 20 };

/*
 * The number of processors that the calling thread may run on (sched_getaffinity). If a CPU quota is less,
 * the quota (cgroup v2, cpu.max of the thread's cgroup and of the cgroups above it). The quota is rounded
 * down; the result is at least 1. This function reads files, so call it only once.
 */
unsigned processors_usable(void);

/* The same number without regard to a quota. PROCESSORS_UNLIMITED: they cannot be counted, because the
 * machine has more than a cpu_set_t has room for. */
unsigned processors_allowed(void);

/* For tests: reads only the quota. `membership` is a file like /proc/self/cgroup, `root` the folder where
 * cgroup v2 is mounted. PROCESSORS_UNLIMITED: no quota is set, or the quota cannot be read. */
unsigned processors_of_quota(const char *membership, const char *root);

/* Bytes of the thread's stack below the caller's frame; SIZE_MAX: unknown. Java code that reaches the end of
 * the stack gets a StackOverflowError; C code crashes. */
size_t stack_left(void);

/* Texts of messages. */
#define DESCRIPTORS_NONE_LEFT "too many open files: the process has no file descriptor left (ulimit -n)"

/* True where the process, or the system, has no file descriptor left now. Use it for failures of a library,
 * or of Java, that look as if a file did not exist. It opens a descriptor, so call it only after a
 * failure. */
bool descriptors_are_used_up(void);

#endif
