/*
 * This library is preloaded into a peer. It lets allocations of the peer's own code, or the creation of
 * threads, fail. A test controls the library through shared memory. Only the peer's own allocations fail;
 * they are recognized by the caller's address. Allocations of libraries and of the JVM never fail, because
 * the JVM ends the process when memory is short. In this way the released binary can be tested, without a
 * hook in the product.
 *
 * FAILING_MEMORY names a file with a struct failing_memory; tests/support/failing_memory.py has the same layout.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* NOLINTBEGIN(bugprone-reserved-identifier): glibc's names of the functions that are replaced here */
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *old, size_t size);
void *__libc_memalign(size_t alignment, size_t size);
void __libc_free(void *old);
/* NOLINTEND(bugprone-reserved-identifier) */

struct failing_memory {
  _Atomic int64_t first;      /* the number of the first allocation that fails; 0: none */
  _Atomic int64_t last;       /* the number of the last allocation */
  _Atomic int64_t count;      /* allocations so far; a test may reset it */
  _Atomic int64_t failed;     /* failed allocations */
  _Atomic int64_t blocks;     /* allocated by the peer's code, and not freed by it */
  _Atomic int64_t no_threads; /* not 0: pthread_create fails with EAGAIN, also for the JVM */
  _Atomic int64_t refused;    /* failed calls of pthread_create */
};

static struct failing_memory *memory;
static uintptr_t text_begin, text_end; /* of the program */

static int find_text(struct dl_phdr_info *info, size_t size, void *context)
{
  (void)size;
  (void)context;
  for (int i = 0; i < info->dlpi_phnum; i++) {
    const ElfW(Phdr) *header = &info->dlpi_phdr[i];
    if (header->p_type == PT_LOAD && (header->p_flags & PF_X) != 0) {
      text_begin = info->dlpi_addr + header->p_vaddr;
      text_end = text_begin + header->p_memsz;
    }
  }
  return 1; /* the program is listed first */
}

__attribute__((constructor)) static void begin(void)
{
  const char *path = getenv("FAILING_MEMORY");
  int file = path == NULL ? -1 : open(path, O_RDWR | O_CLOEXEC);
  if (file < 0)
    return;
  dl_iterate_phdr(find_text, NULL);
  void *map = mmap(NULL, sizeof *memory, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  if (map != MAP_FAILED)
    memory = map;
}

static bool is_of_peer(void *caller)
{
  return memory != NULL && (uintptr_t)caller >= text_begin && (uintptr_t)caller < text_end;
}

/* Whether the allocation has to fail. */
static bool fails(void *caller)
{
  if (!is_of_peer(caller))
    return false;
  int64_t number = ++memory->count;
  if (number < memory->first || number > memory->last)
    return false;
  memory->failed++;
  errno = ENOMEM;
  return true;
}

static void *counted(void *caller, void *made)
{
  if (made != NULL && is_of_peer(caller))
    memory->blocks++;
  return made;
}

#define CALLER __builtin_return_address(0)

void *malloc(size_t size)
{
  return fails(CALLER) ? NULL : counted(CALLER, __libc_malloc(size));
}

void *calloc(size_t count, size_t size)
{
  return fails(CALLER) ? NULL : counted(CALLER, __libc_calloc(count, size));
}

void *realloc(void *old, size_t size)
{
  if (fails(CALLER))
    return NULL;
  void *made = __libc_realloc(old, size);
  return old == NULL ? counted(CALLER, made) : made;
}

void *reallocarray(void *old, size_t count, size_t size)
{
  size_t bytes;
  if (fails(CALLER) || __builtin_mul_overflow(count, size, &bytes))
    return NULL;
  void *made = __libc_realloc(old, bytes);
  return old == NULL ? counted(CALLER, made) : made;
}

void *aligned_alloc(size_t alignment, size_t size)
{
  return fails(CALLER) ? NULL : counted(CALLER, __libc_memalign(alignment, size));
}

char *strndup(const char *text, size_t max)
{
  size_t length = strnlen(text, max);
  char *copy = fails(CALLER) ? NULL : counted(CALLER, __libc_malloc(length + 1));
  if (copy == NULL)
    return NULL;
  copy[length] = '\0';
  return memcpy(copy, text, length);
}

char *strdup(const char *text)
{
  size_t size = strlen(text) + 1;
  char *copy = fails(CALLER) ? NULL : counted(CALLER, __libc_malloc(size));
  return copy == NULL ? NULL : memcpy(copy, text, size);
}

void free(void *old)
{
  if (old != NULL && is_of_peer(CALLER))
    memory->blocks--;
  __libc_free(old);
}

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *), void *argument)
{
  if (memory != NULL && memory->no_threads != 0) {
    memory->refused++;
    return EAGAIN;
  }
  static int (*_Atomic next)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
  if (next == NULL)
    next = (int (*)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *))dlsym(RTLD_NEXT,
                                                                                          "pthread_create");
  return next(thread, attributes, run, argument);
}
