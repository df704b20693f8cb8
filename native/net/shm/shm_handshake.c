#include "net/shm/shm_handshake.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

enum jp_status shm_pool_take(struct shm_pool *pool, struct ring_region *region, int *fd,
                             struct jp_error *error)
{
  *region = (struct ring_region){0};
  if (pool->ring_size == 0)
    return jp_fail(error, JP_LIMIT, "shared memory is switched off (shm-ring is 0)");
  size_t size = ring_region_size(pool->ring_size);
  enum jp_status status = JP_OK;
  if (atomic_fetch_add(&pool->total, size) + size > pool->total_max)
    status = jp_fail(error, JP_LIMIT, "the shared memory of all clients is used up (shm-total)");
  else
    status = ring_region_create(pool->ring_size, region, fd, error);
  if (status != JP_OK)
    atomic_fetch_sub(&pool->total, size);
  return status;
}

void shm_pool_return(struct shm_pool *pool, struct ring_region *region)
{
  if (region->control == NULL)
    return;
  size_t size = ring_region_size(region->ring_size);
  ring_region_unmap(region);
  atomic_fetch_sub(&pool->total, size);
}

bool shm_send_switch(int socket, int memory, size_t ring_size, const struct rpc_told_session *told)
{
  char head[200];
  bool has_epoch = told->epoch[0] != '\0';
  int length = snprintf(head, sizeof head,
                        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: jpeer-shm/1\r\nConnection: Upgrade\r\n"
                        "jpeer-shm-ring: %zu\r\n%s%s%s\r\n",
                        ring_size, has_epoch ? "jpeer-epoch: " : "", told->epoch, has_epoch ? "\r\n" : "");
  struct iovec bytes = {.iov_base = head, .iov_len = (size_t)length};
  union {
    struct cmsghdr header;
    char room[CMSG_SPACE(sizeof(int))];
  } control = {0};
  struct msghdr message = {
      .msg_iov = &bytes, .msg_iovlen = 1, .msg_control = control.room, .msg_controllen = sizeof control.room};
  struct cmsghdr *descriptor = CMSG_FIRSTHDR(&message);
  descriptor->cmsg_level = SOL_SOCKET;
  descriptor->cmsg_type = SCM_RIGHTS;
  descriptor->cmsg_len = CMSG_LEN(sizeof memory);
  memcpy(CMSG_DATA(descriptor), &memory, sizeof memory);
  ssize_t sent;
  do
    sent = sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
  while (sent < 0 && errno == EINTR);
  return sent == length;
}
