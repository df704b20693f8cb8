/* Shared memory (docs/shared-memory.md): frames of two rings, and notifications on the Unix socket of the handshake. */
#include "ring/region.h"
#include "stream.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

struct link {
  struct stream stream; /* `out`: frames; `in`: the message that is being read */
  struct ring_region region;
  struct ring_writer writer;
  struct ring_reader reader;
  bool is_asleep; /* the peer has to notify this link of an answer */
  bool in_frame;
  uint32_t kind;
};

enum { UNPUBLISHED_SHARE = 4 }; /* the read position is published after a quarter of the ring at the latest */

#define RING_FIELD "jpeer-shm-ring: "

static void shm_close(struct link *link)
{
  if (link == NULL)
    return;
  ring_region_unmap(&link->region);
  stream_fini(&link->stream);
  free(link);
}

/* The peer sends the whole head and its descriptor in one message. -1: no descriptor. */
static int receive_head(struct link *link, char *head, size_t size)
{
  int memory = -1;
  union {
    struct cmsghdr header;
    char room[CMSG_SPACE(sizeof memory)];
  } control;
  struct iovec bytes = {.iov_base = head, .iov_len = size - 1};
  struct msghdr message = {
      .msg_iov = &bytes, .msg_iovlen = 1, .msg_control = control.room, .msg_controllen = sizeof control.room};
  ssize_t count = recvmsg(link->stream.fd, &message, MSG_CMSG_CLOEXEC);
  head[count > 0 ? count : 0] = '\0';
  const struct cmsghdr *found = count > 0 ? CMSG_FIRSTHDR(&message) : NULL;
  if (found != NULL && found->cmsg_type == SCM_RIGHTS)
    memcpy(&memory, CMSG_DATA(found), sizeof memory);
  return memory;
}

static enum jp_status shake_hands(struct link *link, const struct link_target *target, struct jp_error *error)
{
  char head[1024];
  bool blocked;
  buffer_printf(&link->stream.out,
                "GET %s HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: jpeer-shm/1\r\n\r\n",
                target->path);
  enum jp_status status = stream_flush(&link->stream, &blocked, error);
  if (status != JP_OK)
    return status;
  int memory = receive_head(link, head, sizeof head);
  const char *size = strstr(head, RING_FIELD);
  if (memory < 0 || size == NULL)
    return jp_fail(error, JP_INVALID, "the peer refused the handshake: %s", head);
  status = ring_region_map(memory, strtoul(size + sizeof RING_FIELD - 1, NULL, 10), &link->region, error);
  close(memory);
  if (status != JP_OK)
    return status;
  ring_region_open_client(&link->region, &link->writer, &link->reader);
  return stream_unblock(&link->stream, error);
}

static enum jp_status shm_open_link(const struct link_target *target, struct link **link,
                                    struct jp_error *error)
{
  return stream_open_link(sizeof(struct link), target, shake_hands, shm_close, link, error);
}

static int shm_fd(const struct link *link)
{
  return link->stream.fd;
}

static void notify_peer(const struct link *link)
{
  /* A full socket already holds unread notifications. A closed socket is noticed by read_notifications. */
  (void)!send(link->stream.fd, "", 1, MSG_DONTWAIT | MSG_NOSIGNAL);
}

static void shm_send(struct link *link, struct text message)
{
  ring_append_frame(&link->stream.out, RING_JSON, message);
}

static void publish_taken(struct link *link)
{
  if (ring_reader_publish(&link->reader))
    notify_peer(link);
}

/* Bytes that do not fit into the ring wait for a notification, not for a writable socket. The function first
 * publishes the requests, because the peer waits for them, and then the position up to which it has read
 * answers. */
static enum jp_status shm_flush(struct link *link, bool *blocked, bool *again, struct jp_error *error)
{
  struct stream *stream = &link->stream;
  *blocked = false;
  do {
    stream->sent +=
        ring_write(&link->writer, stream->out.data + stream->sent, stream->out.len - stream->sent);
    if (ring_writer_publish(&link->writer))
      notify_peer(link);
    publish_taken(link);
    if (link->writer.is_broken || stream->out.failed)
      return jp_fail(error, JP_INVALID, "the ring to the peer is broken, or there is no memory");
  } while (stream->sent < stream->out.len && !ring_writer_await_room(&link->writer));
  *again = false;
  if (stream->sent == stream->out.len) {
    buffer_clear(&stream->out);
    stream->sent = 0;
  }
  return JP_OK;
}

static enum jp_status read_notifications(struct link *link, struct jp_error *error)
{
  char bytes[64];
  ssize_t count = recv(link->stream.fd, bytes, sizeof bytes, MSG_DONTWAIT);
  if (count > 0 || (count < 0 && (errno == EAGAIN || errno == EINTR)))
    return JP_OK;
  return jp_fail(error, JP_CLOSED, "the peer has closed the connection");
}

static void wake(struct link *link)
{
  if (link->is_asleep)
    ring_reader_wake(&link->reader);
  link->is_asleep = false;
}

/* Reads the bytes of the payload that have arrived. *is_whole is true if the payload is now complete. */
static enum jp_status read_payload(struct link *link, bool *is_whole, struct jp_error *error)
{
  struct buffer *in = &link->stream.in;
  while (link->reader.left > 0 && ring_reader_available(&link->reader) > 0) {
    char *room = buffer_reserve(in, link->reader.left);
    if (room == NULL)
      return jp_fail(error, JP_NO_MEMORY, "no memory for an answer");
    in->len += ring_read(&link->reader, room, link->reader.left);
  }
  *is_whole = link->reader.left == 0;
  link->in_frame = !*is_whole;
  return JP_OK;
}

/* *goes_on is true if there may be another frame. */
static enum jp_status read_frame(struct link *link, struct link_listener *listener, bool *goes_on,
                                 struct jp_error *error)
{
  size_t length;
  enum ring_found found = link->in_frame ? RING_FRAME : ring_read_head(&link->reader, &link->kind, &length);
  *goes_on = found != RING_NOTHING;
  if (found == RING_BROKEN)
    return jp_fail(error, JP_INVALID, "the ring from the peer is broken");
  if (found != RING_FRAME)
    return JP_OK;
  enum jp_status status = read_payload(link, goes_on, error);
  if (status != JP_OK || !*goes_on || link->kind == RING_JSON_PART)
    return status;
  struct text message = buffer_text(&link->stream.in);
  status = link->kind == RING_JSON
               ? listener->answer(listener, message, error)
               : jp_fail(error, JP_CLOSED, "the peer ended the connection: %.*s", TEXT_ARGS(message));
  buffer_clear(&link->stream.in);
  return status;
}

static enum jp_status shm_receive(struct link *link, struct link_listener *listener, struct jp_error *error)
{
  bool was_asleep = link->is_asleep;
  bool goes_on = true;
  enum jp_status status = JP_OK;
  wake(link);
  ring_writer_prepare(&link->writer);
  if (!ring_reader_poll(&link->reader) || was_asleep) {
    status = read_notifications(link, error);
    (void)ring_reader_poll(&link->reader);
  }
  while (status == JP_OK && goes_on)
    status = read_frame(link, listener, &goes_on, error);
  if (link->reader.position - link->reader.published > link->reader.size / UNPUBLISHED_SHARE)
    publish_taken(link);
  return status;
}

static bool shm_poll(const struct link *link)
{
  return ring_reader_has_more(&link->reader);
}

static bool shm_publish_processor(struct link *link)
{
  int processor = sched_getcpu();
  ring_publish_processor(link->reader.mine, processor);
  return ring_processor_of(link->reader.other) == processor;
}

/* Notifies the peer if the peer has not read all requests, because the peer may be busy with another
 * connection and not poll this one. */
static bool shm_sleep(struct link *link)
{
  if (link->is_asleep)
    return true;
  link->is_asleep = ring_reader_sleep(&link->reader);
  if (link->is_asleep && !ring_writer_is_empty(&link->writer))
    notify_peer(link);
  return link->is_asleep;
}

const struct link_kind link_shm = {
    .scheme = "shm",
    .unix_scheme = "shm",
    .open = shm_open_link,
    .close = shm_close,
    .fd = shm_fd,
    .send = shm_send,
    .flush = shm_flush,
    .receive = shm_receive,
    .poll = shm_poll,
    .publish_processor = shm_publish_processor,
    .sleep = shm_sleep,
};
