#include "base/process_limits.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

/* ---- processors ---- */

/* cpu.max is "QUOTA PERIOD" in microseconds, or "max PERIOD". */
static unsigned read_quota(const char *path)
{
  unsigned long long quota, period;
  unsigned count = PROCESSORS_UNLIMITED;
  FILE *file = fopen(path, "re");
  if (file == NULL)
    return count;
  if (fscanf(file, "%llu %llu", &quota, &period) == 2 && period > 0 && quota / period < count)
    count = quota < period ? 1 : (unsigned)(quota / period);
  fclose(file);
  return count;
}

/* Reads the process's control group. The hierarchy of cgroups version 2 has the number 0: "0::/user.slice". */
static bool read_group(const char *membership, char *group, size_t size)
{
  char line[PATH_MAX];
  bool found = false;
  FILE *file = fopen(membership, "re");
  if (file == NULL)
    return false;
  while (!found && fgets(line, sizeof line, file) != NULL) {
    line[strcspn(line, "\n")] = '\0';
    found = strncmp(line, "0::/", 4) == 0;
  }
  fclose(file);
  int length = found ? snprintf(group, size, "%s", line + 3) : -1;
  return length >= 0 && (size_t)length < size;
}

unsigned processors_of_quota(const char *membership, const char *root)
{
  char group[PATH_MAX];
  char path[2 * PATH_MAX];
  unsigned least = PROCESSORS_UNLIMITED;
  if (!read_group(membership, group, sizeof group))
    return least;
  for (char *end = group + strlen(group); end != NULL; end = strrchr(group, '/')) {
    *end = '\0';
    int length = snprintf(path, sizeof path, "%s%s/cpu.max", root, group);
    unsigned count = length > 0 && (size_t)length < sizeof path ? read_quota(path) : least;
    least = count < least ? count : least;
  }
  return least;
}

unsigned processors_allowed(void)
{
  cpu_set_t allowed;
  return sched_getaffinity(0, sizeof allowed, &allowed) == 0 ? (unsigned)CPU_COUNT(&allowed)
                                                             : PROCESSORS_UNLIMITED;
}

unsigned processors_usable(void)
{
  unsigned quota = processors_of_quota("/proc/self/cgroup", "/sys/fs/cgroup");
  unsigned allowed = processors_allowed();
  return quota < allowed ? quota : allowed;
}

/* ---- the stack ---- */

/* The lowest address of the calling thread's stack; NULL: unknown. This function makes a system call. */
static char *find_lowest(void)
{
  pthread_attr_t attributes;
  void *lowest;
  size_t size;
  if (pthread_getattr_np(pthread_self(), &attributes) != 0)
    return NULL;
  int fault = pthread_attr_getstack(&attributes, &lowest, &size);
  pthread_attr_destroy(&attributes);
  if (fault != 0)
    return NULL;
#ifndef __GLIBC__
  /* Of the process's first stack, musl counts only the pages in use; the kernel adds more up to the limit. The path of the
   * program lies at the top of that stack. */
  struct rlimit limit;
  uintptr_t top = getauxval(AT_EXECFN), here = (uintptr_t)__builtin_frame_address(0);
  if (getrlimit(RLIMIT_STACK, &limit) == 0 && here < top && top - here < limit.rlim_cur)
    return limit.rlim_cur == RLIM_INFINITY ? NULL : (char *)(top - limit.rlim_cur);
#endif
  return lowest;
}

size_t stack_left(void)
{
  static _Thread_local char *lowest;
  if (lowest == NULL)
    lowest = find_lowest();
  return lowest == NULL ? SIZE_MAX : (size_t)((char *)__builtin_frame_address(0) - lowest);
}

/* ---- file descriptors ---- */

bool descriptors_are_used_up(void)
{
  int fd = eventfd(0, EFD_CLOEXEC);
  if (fd < 0)
    return errno == EMFILE || errno == ENFILE;
  close(fd);
  return false;
}
