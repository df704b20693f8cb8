/* WebSocket (RFC 6455): the link sends masked text frames and receives unmasked frames. The code uses no
 * library, so that the generator itself costs little. */
#include "stream.h"

#include <stdlib.h>

struct link {
  struct stream stream;
};

/* The key and the accept value of RFC 6455, 1.3. */
#define KEY    "dGhlIHNhbXBsZSBub25jZQ=="
#define ACCEPT "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="

enum { FINAL_TEXT = 0x81, MASKED = 0x80, LENGTH_16 = 126, LENGTH_64 = 127, FRAME_HEAD_MAX = 14 };

static void websocket_close(struct link *link)
{
  if (link == NULL)
    return;
  stream_fini(&link->stream);
  free(link);
}

static enum jp_status shake_hands(struct link *link, const struct link_target *target, struct jp_error *error)
{
  struct stream *stream = &link->stream;
  buffer_printf(&stream->out,
                "GET %s HTTP/1.1\r\nHost: %s:%s\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                "Sec-WebSocket-Key: " KEY "\r\nSec-WebSocket-Version: 13\r\n\r\n",
                target->path, target->host, target->port);
  bool blocked;
  enum jp_status status = stream_flush(stream, &blocked, error);
  if (status != JP_OK)
    return status;
  struct text head;
  status = stream_read_head(stream, &head, error);
  if (status != JP_OK)
    return status;
  if (!text_starts_with(head, TEXT("HTTP/1.1 101 ")) ||
      memmem(head.data, head.len, ACCEPT, sizeof(ACCEPT) - 1) == NULL)
    return jp_fail(error, JP_INVALID, "the peer refused the handshake: %.*s", TEXT_ARGS(head));
  return stream_unblock(stream, error);
}

static enum jp_status websocket_open(const struct link_target *target, struct link **link,
                                     struct jp_error *error)
{
  return stream_open_link(sizeof(struct link), target, shake_hands, websocket_close, link, error);
}

static int websocket_fd(const struct link *link)
{
  return link->stream.fd;
}

/* Network byte order. */
static size_t put_length(uint8_t *head, size_t length)
{
  if (length < LENGTH_16) {
    head[0] = (uint8_t)(MASKED | length);
    return 1;
  }
  unsigned bytes = length <= UINT16_MAX ? 2 : 8;
  head[0] = (uint8_t)(MASKED | (bytes == 2 ? LENGTH_16 : LENGTH_64));
  for (unsigned i = 0; i < bytes; i++)
    head[1 + i] = (uint8_t)((uint64_t)length >> 8 * (bytes - 1 - i));
  return 1 + bytes;
}

/* The mask key of RFC 6455, twice, to mask eight bytes at once. All frames use the same key: a random key
 * protects proxies, and the bench has no proxies. The peer's work is the same with any key. */
static const uint8_t key[8] = {0x5a, 0xa5, 0x3c, 0xc3, 0x5a, 0xa5, 0x3c, 0xc3};

static void mask_copy(char *to, struct text from)
{
  uint64_t mask;
  memcpy(&mask, key, 8);
  size_t i = 0;
  for (; i + 8 <= from.len; i += 8) {
    uint64_t word;
    memcpy(&word, from.data + i, 8);
    word ^= mask;
    memcpy(to + i, &word, 8);
  }
  for (; i < from.len; i++)
    to[i] = (char)(from.data[i] ^ key[i % 8]);
}

static void websocket_send(struct link *link, struct text message)
{
  struct buffer *out = &link->stream.out;
  char *room = buffer_reserve(out, message.len + FRAME_HEAD_MAX);
  if (room == NULL)
    return;
  uint8_t *head = (uint8_t *)room;
  head[0] = FINAL_TEXT;
  size_t length = 1 + put_length(head + 1, message.len);
  memcpy(head + length, key, 4);
  length += 4;
  mask_copy(room + length, message);
  out->len += length + message.len;
}

static enum jp_status websocket_flush(struct link *link, bool *blocked, bool *again, struct jp_error *error)
{
  *again = false;
  return stream_flush(&link->stream, blocked, error);
}

/* The payload of the first frame; data is NULL until the frame has arrived completely. */
static enum jp_status next_frame(struct stream *stream, struct text *payload, struct jp_error *error)
{
  struct text unused = stream_unused(stream);
  const uint8_t *head = (const uint8_t *)unused.data;
  *payload = TEXT_ABSENT;
  if (unused.len < 2)
    return JP_OK;
  if (head[0] != FINAL_TEXT || (head[1] & MASKED) != 0)
    return jp_fail(error, JP_INVALID, "a frame that is no whole text message: %02x %02x", head[0], head[1]);
  size_t extra = head[1] == LENGTH_16 ? 2 : head[1] == LENGTH_64 ? 8 : 0;
  if (unused.len < 2 + extra)
    return JP_OK;
  uint64_t length = extra == 0 ? head[1] : 0;
  for (size_t i = 0; i < extra; i++)
    length = length << 8 | head[2 + i];
  if (unused.len - 2 - extra < length)
    return JP_OK;
  *payload = (struct text){unused.data + 2 + extra, (size_t)length};
  stream->used += 2 + extra + (size_t)length;
  return JP_OK;
}

static enum jp_status websocket_receive(struct link *link, struct link_listener *listener,
                                        struct jp_error *error)
{
  enum jp_status status = stream_read(&link->stream, error);
  while (status == JP_OK) {
    struct text payload;
    status = next_frame(&link->stream, &payload, error);
    if (status != JP_OK || payload.data == NULL)
      break;
    status = listener->answer(listener, payload, error);
  }
  return status;
}

const struct link_kind link_websocket = {
    .scheme = "ws",
    .unix_scheme = "ws+unix",
    .open = websocket_open,
    .close = websocket_close,
    .fd = websocket_fd,
    .send = websocket_send,
    .flush = websocket_flush,
    .receive = websocket_receive,
};
