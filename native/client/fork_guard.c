#include "client/fork_guard.h"

#include <sys/mman.h>

enum { MARK_SIZE = 1 }; /* the kernel rounds it up to a page */

void fork_guard_init(struct fork_guard *guard)
{
  *guard = (struct fork_guard){.process = getpid()};
  char *page = mmap(NULL, MARK_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED)
    return;
  if (madvise(page, MARK_SIZE, MADV_WIPEONFORK) != 0) {
    munmap(page, MARK_SIZE);
    return;
  }
  *page = 1;
  guard->mark = page;
}

void fork_guard_fini(struct fork_guard *guard)
{
  if (guard->mark != NULL)
    munmap((void *)guard->mark, MARK_SIZE);
  guard->mark = NULL;
}
