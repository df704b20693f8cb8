#ifndef JPEER_BASE_PROCESSORS_H
#define JPEER_BASE_PROCESSORS_H
/* How many processors this process may use at once. Any thread. */

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

#endif
