#ifndef JPEER_CLIENT_FORK_GUARD_H
#define JPEER_CLIENT_FORK_GUARD_H
/* Tells whether the calling process is a child, by fork(2), of the process that has initialized the guard.
 * Any thread. */
#include <stdbool.h>
#include <sys/types.h>
#include <unistd.h>

struct fork_guard {
  const volatile char *mark; /* a page that the kernel clears in a child; NULL: not supported */
  pid_t process;
};

void fork_guard_init(struct fork_guard *guard);
void fork_guard_fini(struct fork_guard *guard);

static inline bool fork_guard_is_child(const struct fork_guard *guard)
{
  return guard->mark != NULL ? *guard->mark == 0 : guard->process != getpid();
}

#endif
