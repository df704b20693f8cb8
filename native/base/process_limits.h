#ifndef JPEER_BASE_PROCESS_LIMITS_H
#define JPEER_BASE_PROCESS_LIMITS_H
/* What this process, or a thread of it, may use: processors, its stack, file descriptors. Any thread. */
#include <stdbool.h>
#include <stddef.h>

enum { PROCESSORS_UNLIMITED = 1 << 20 };

/*
 * The processors that the calling thread may run on (sched_getaffinity), or what the CPU quota of its cgroup or
 * of one above it comes to (cgroup v2, cpu.max), where that is less: rounded down, at least 1. It reads files:
 * ask once.
 */
unsigned processors_usable(void);

/* The first part of it: the processors that the calling thread may run on. PROCESSORS_UNLIMITED: they cannot be
 * counted, because the machine has more than a set of them has room for. */
unsigned processors_allowed(void);

/* For tests: the quota's part of it. `membership` is a file such as /proc/self/cgroup, `root` the folder where
 * cgroup v2 is mounted. PROCESSORS_UNLIMITED: there is no quota, or it cannot be read. */
unsigned processors_of_quota(const char *membership, const char *root);

/* Bytes of the thread's stack below the caller's frame; SIZE_MAX: unknown. C, unlike Java, cannot be stopped at its
 * end. */
size_t stack_left(void);

/* The words of messages. */
#define DESCRIPTORS_NONE_LEFT "too many open files: the process has no file descriptor left (ulimit -n)"

/* True where the process, or the system, has no file descriptor left now. It is for failures of a library, or of Java,
 * that look as though a file did not exist. It tries to get one, so ask only after a failure. */
bool descriptors_are_used_up(void);

#endif
