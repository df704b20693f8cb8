#ifndef JPEER_NET_SHM_SHM_HANDSHAKE_H
#define JPEER_NET_SHM_SHM_HANDSHAKE_H
/* The answer to an Upgrade: memory out of the pool, and the 101 that brings it to the client. */
#include "base/status.h"
#include "net/shm/shm.h"
#include "ring/region.h"

/* JP_LIMIT or what ring_region_create says: there is no memory for it, and nothing was taken. */
enum jp_status shm_pool_take(struct shm_pool *pool, struct ring_region *region, int *fd,
                             struct jp_error *error) JP_MUST_CHECK;
/* Unmaps the region and takes its bytes off the pool. Does nothing where there is none. */
void shm_pool_return(struct shm_pool *pool, struct ring_region *region);
/* Sends the 101, which says what is told, with the memory on its first byte. False: the client did not take all of it at once. */
bool shm_send_switch(int socket, int memory, size_t ring_size, const struct rpc_told_session *told);

#endif
