#include "ring/region.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#ifndef MFD_NOEXEC_SEAL /* Linux 6.3 */
#define MFD_NOEXEC_SEAL 0x0008U
#endif

enum { SEALS = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL };

/* vm.overcommit_memory=2: the system reserves no memory for a memfd; a page is allocated at its first access. */
static bool refuses_overcommit(void)
{
  char mode = '0';
  int fd = open("/proc/sys/vm/overcommit_memory", O_RDONLY | O_CLOEXEC);
  if (fd < 0)
    return false;
  ssize_t count = read(fd, &mode, 1);
  close(fd);
  return count == 1 && mode == '2';
}

static struct ring_control *map_memory(int fd, size_t size)
{
  void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (memory == MAP_FAILED)
    return NULL;
  if (madvise(memory, size, MADV_DONTFORK) != 0) {
    munmap(memory, size);
    return NULL;
  }
  return memory;
}

enum jp_status ring_region_create(size_t ring_size, struct ring_region *region, int *fd,
                                  struct jp_error *error)
{
  size_t size = ring_region_size(ring_size);
  *region = (struct ring_region){.ring_size = ring_size};
  *fd = -1;
  if (refuses_overcommit())
    return jp_fail(error, JP_LIMIT, "no shared memory under vm.overcommit_memory=2");
  int made = memfd_create("jpeer-shm", MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_NOEXEC_SEAL);
  if (made < 0 && errno == EINVAL)
    made = memfd_create("jpeer-shm", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (made < 0)
    return jp_fail(error, JP_IO, "no shared memory: memfd_create: %s", strerror(errno));
  struct ring_control *control = NULL;
  if (ftruncate(made, (off_t)size) == 0 && fcntl(made, F_ADD_SEALS, SEALS) == 0)
    control = map_memory(made, size);
  if (control == NULL) {
    int reason = errno;
    close(made);
    return jp_fail(error, JP_NO_MEMORY, "no shared memory: %s", strerror(reason));
  }
  control->magic = RING_MAGIC;
  control->version = RING_VERSION;
  control->ring_size = ring_size;
  region->control = control;
  *fd = made;
  return JP_OK;
}

enum jp_status ring_region_map(int fd, size_t ring_size, struct ring_region *region, struct jp_error *error)
{
  *region = (struct ring_region){.ring_size = ring_size};
  if (!ring_size_is_valid(ring_size))
    return jp_fail(error, JP_INVALID, "the peer offers rings of %zu bytes", ring_size);
  size_t size = ring_region_size(ring_size);
  struct stat facts;
  int seals = fcntl(fd, F_GET_SEALS);
  if (fstat(fd, &facts) != 0 || facts.st_size != (off_t)size || seals < 0 || (seals & SEALS) != SEALS)
    return jp_fail(error, JP_INVALID,
                   "the peer's shared memory is not of the size that it names, or not sealed");
  struct ring_control *control = map_memory(fd, size);
  if (control == NULL)
    return jp_fail(error, JP_NO_MEMORY, "the peer's shared memory cannot be mapped: %s", strerror(errno));
  if (control->magic != RING_MAGIC || control->version != RING_VERSION || control->ring_size != ring_size) {
    munmap(control, size);
    return jp_fail(error, JP_INVALID, "the peer's shared memory is of another version");
  }
  region->control = control;
  return JP_OK;
}

void ring_region_unmap(struct ring_region *region)
{
  if (region->control != NULL)
    munmap(region->control, ring_region_size(region->ring_size));
  region->control = NULL;
}

static void open_ends(const struct ring_region *region, struct ring_side *mine, struct ring_side *other,
                      size_t out_offset, size_t in_offset, struct ring_writer *writer,
                      struct ring_reader *reader)
{
  char *memory = (char *)region->control;
  *writer = (struct ring_writer){
      .bytes = memory + out_offset, .size = region->ring_size, .mine = mine, .other = other};
  *reader = (struct ring_reader){
      .bytes = memory + in_offset, .size = region->ring_size, .mine = mine, .other = other};
}

void ring_region_open_peer(const struct ring_region *region, struct ring_writer *writer,
                           struct ring_reader *reader)
{
  struct ring_control *control = region->control;
  open_ends(region, &control->peer, &control->client, RING_CONTROL_SIZE + region->ring_size,
            RING_CONTROL_SIZE, writer, reader);
}

void ring_region_open_client(const struct ring_region *region, struct ring_writer *writer,
                             struct ring_reader *reader)
{
  struct ring_control *control = region->control;
  open_ends(region, &control->client, &control->peer, RING_CONTROL_SIZE,
            RING_CONTROL_SIZE + region->ring_size, writer, reader);
}
