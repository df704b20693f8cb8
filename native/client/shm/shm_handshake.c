#include "client/shm/shm_handshake.h"

#include "client/messages/client_error.h"
#include "client/upgrade.h"

#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#define PROTOCOL "jpeer-shm/1"

/* Room for more descriptors than a peer sends. The kernel drops those that have none. */
enum { DESCRIPTORS_MAX = 8, RECEIVE_SIZE = 4096 };

/* ---- receiving ---- */

static void take_descriptors(const struct cmsghdr *header, struct shm_descriptors *descriptors)
{
  if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS)
    return;
  size_t count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
  for (size_t i = 0; i < count; i++) {
    int fd;
    memcpy(&fd, CMSG_DATA(header) + i * sizeof fd, sizeof fd);
    if (descriptors->count++ == 0)
      descriptors->fd = fd;
    else
      close(fd);
  }
}

enum jp_client_status shm_receive(int socket, struct buffer *in, struct shm_descriptors *descriptors,
                                  struct jp_client_error *error)
{
  union {
    struct cmsghdr header; /* for its alignment */
    char bytes[CMSG_SPACE(DESCRIPTORS_MAX * sizeof(int))];
  } control;
  char *room = buffer_reserve(in, RECEIVE_SIZE);
  if (room == NULL)
    return client_fail(error, JP_CLIENT_NO_MEMORY, "no memory for the answer to the upgrade");
  struct iovec bytes = {.iov_base = room, .iov_len = RECEIVE_SIZE};
  struct msghdr message = {.msg_iov = &bytes,
                           .msg_iovlen = 1,
                           .msg_control = control.bytes,
                           .msg_controllen = sizeof control.bytes};
  ssize_t count = recvmsg(socket, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
  if (count < 0 && (errno == EAGAIN || errno == EINTR))
    return JP_CLIENT_OK;
  if (count < 0)
    return client_fail(error, JP_CLIENT_CLOSED, "the connection has ended: %s", strerror(errno));
  for (struct cmsghdr *at = CMSG_FIRSTHDR(&message); at != NULL; at = CMSG_NXTHDR(&message, at))
    take_descriptors(at, descriptors);
  if ((message.msg_flags & MSG_CTRUNC) != 0)
    descriptors->is_cut = true;
  if (count == 0)
    return client_fail(error, JP_CLIENT_CLOSED, "the peer closed the connection during the handshake");
  in->len += (size_t)count;
  return JP_CLIENT_OK;
}

/* ---- the response ---- */

/* 0: it is no such number. */
static size_t read_ring_size(struct text digits)
{
  size_t size = 0;
  for (size_t i = 0; digits.data != NULL && i < digits.len; i++) {
    unsigned digit = (unsigned)(digits.data[i] - '0');
    if (digit > 9 || size > RING_SIZE_MAX)
      return 0;
    size = size * 10 + digit;
  }
  return size;
}

static enum jp_client_status map_memory(const struct upgrade_response *response,
                                        const struct shm_descriptors *descriptors, struct ring_region *region,
                                        enum shm_refusal *refusal, struct jp_client_error *error)
{
  struct jp_error fault;
  if (!upgrade_speaks(response, TEXT(PROTOCOL)))
    return client_fail(error, JP_CLIENT_PROTOCOL, "the response to the handshake is none of shared memory");
  if (descriptors->is_cut)
    return client_fail(error, JP_CLIENT_PROTOCOL,
                       "the peer sent too many descriptors, or this process can have no more of them");
  if (descriptors->count != 1)
    return client_fail(error, JP_CLIENT_PROTOCOL, "the peer sent %u descriptors with its response, not one",
                       descriptors->count);
  size_t ring_size = read_ring_size(upgrade_find_field(response, TEXT("jpeer-shm-ring")));
  enum jp_status status = ring_region_map(descriptors->fd, ring_size, region, &fault);
  if (status == JP_OK)
    return JP_CLIENT_OK;
  if (status != JP_NO_MEMORY)
    return client_fail(error, JP_CLIENT_PROTOCOL, "%s", fault.text);
  *refusal = SHM_UNAVAILABLE;
  return client_fail(error, JP_CLIENT_NO_MEMORY, "%s", fault.text);
}

static enum jp_client_status take_response(const struct upgrade_response *response,
                                           const struct shm_descriptors *descriptors,
                                           struct ring_region *region, enum shm_refusal *refusal,
                                           struct jp_client_error *error)
{
  if (response->status == UPGRADE_SWITCHING)
    return map_memory(response, descriptors, region, refusal, error);
  *refusal = response->status == UPGRADE_UNAVAILABLE ? SHM_UNAVAILABLE : SHM_REFUSED;
  return upgrade_refuse(response, "shared memory", error);
}

static enum jp_client_status read_response(const struct client_stream *stream, struct buffer *in,
                                           struct shm_descriptors *descriptors, int64_t deadline_ns,
                                           struct upgrade_response *response, struct jp_client_error *error)
{
  enum jp_client_status status = JP_CLIENT_OK;
  response->length = 0;
  while (status == JP_CLIENT_OK && response->length == 0) {
    status = client_stream_await(stream, false, deadline_ns, error);
    if (status == JP_CLIENT_OK)
      status = shm_receive(stream->fd, in, descriptors, error);
    if (status == JP_CLIENT_OK && in->len > 0)
      status = upgrade_read_response(buffer_text(in), response, error);
  }
  if (status == JP_CLIENT_CLOSED && error != NULL)
    error->status = JP_CLIENT_REFUSED;
  return status == JP_CLIENT_CLOSED ? JP_CLIENT_REFUSED : status;
}

/* ---- the handshake ---- */

static void write_request(const struct client_url *url, struct text peer_id, struct buffer *out)
{
  BUFFER_LITERAL(out, "GET ");
  buffer_append_text(out, client_url_request_path(url));
  BUFFER_LITERAL(out, " HTTP/1.1\r\nHost: ");
  client_url_write_host(url, out);
  BUFFER_LITERAL(out, "\r\nUpgrade: " PROTOCOL "\r\nConnection: Upgrade\r\n");
  if (peer_id.data != NULL)
    buffer_printf(out, "peer-id: %.*s\r\n", TEXT_ARGS(peer_id));
  BUFFER_LITERAL(out, "\r\n");
}

enum jp_client_status shm_shake_hands(struct client_stream *stream, const struct client_url *url,
                                      struct text peer_id, int64_t deadline_ns, struct ring_region *region,
                                      struct client_transport *transport, enum shm_refusal *refusal,
                                      struct jp_client_error *error)
{
  struct shm_descriptors descriptors = {.fd = -1};
  struct upgrade_response response;
  struct buffer in = {0};
  *refusal = SHM_NOT_REFUSED;
  write_request(url, peer_id, &stream->out);
  enum jp_client_status status = client_stream_flush_all(stream, deadline_ns, error);
  if (status == JP_CLIENT_OK)
    status = read_response(stream, &in, &descriptors, deadline_ns, &response, error);
  if (status == JP_CLIENT_OK)
    status = take_response(&response, &descriptors, region, refusal, error);
  if (status == JP_CLIENT_OK)
    transport_keep_epoch(transport, upgrade_find_field(&response, TEXT("jpeer-epoch")));
  if (descriptors.fd >= 0)
    close(descriptors.fd);
  buffer_fini(&in);
  return status;
}
