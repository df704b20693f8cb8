#ifndef JPEER_RING_REGION_H
#define JPEER_RING_REGION_H
/*
 * The memory of a pair of rings (ring/ring.h): a memfd that the peer makes and the client maps.
 *
 * The peer seals the memfd against growing, shrinking and further seals. Otherwise a client could end the
 * peer by SIGBUS, or keep the peer from releasing pages. A child process does not inherit the mapping
 * (MADV_DONTFORK). Any thread.
 */
#include "base/status.h"
#include "ring/ring.h"

struct ring_region {
  struct ring_control *control; /* NULL: none */
  size_t ring_size;
};

/* The number of bytes of the control page and both rings. A connection counts these bytes against
 * --shm-total. */
static inline size_t ring_region_size(size_t ring_size)
{
  return RING_CONTROL_SIZE + 2 * ring_size;
}
/* True for a size that a ring can have. */
static inline bool ring_size_is_valid(size_t ring_size)
{
  return ring_size >= RING_SIZE_MIN && ring_size <= RING_SIZE_MAX && ring_size % RING_SIZE_STEP == 0;
}

/* For the peer: makes a memfd, *fd, and maps it. The caller sends *fd to the client and closes it.
 * JP_NO_MEMORY or JP_IO: the system provides no memory. JP_LIMIT: vm.overcommit_memory is 2, with which the
 * first access to a page may raise SIGBUS. ring_size must be valid. */
enum jp_status ring_region_create(size_t ring_size, struct ring_region *region, int *fd,
                                  struct jp_error *error) JP_MUST_CHECK;
/* For the client: maps fd, which the caller still owns and may close afterwards. JP_INVALID if fd is not a sealed
 * region with rings of ring_size. */
enum jp_status ring_region_map(int fd, size_t ring_size, struct ring_region *region,
                               struct jp_error *error) JP_MUST_CHECK;
/* Removes the map. Does nothing without a map. */
void ring_region_unmap(struct ring_region *region);

/* Initialise the writer and the reader of one side. The region must outlive them. Call once for each side,
 * because positions begin at 0. */
void ring_region_open_peer(const struct ring_region *region, struct ring_writer *writer,
                           struct ring_reader *reader);
void ring_region_open_client(const struct ring_region *region, struct ring_writer *writer,
                             struct ring_reader *reader);

#endif
