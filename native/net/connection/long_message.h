#ifndef JPEER_NET_CONNECTION_LONG_MESSAGE_H
#define JPEER_NET_CONNECTION_LONG_MESSAGE_H
/*
 * Messages that are longer than message-max. The beginning of such a message is kept, because it may contain the id,
 * and the rest is dropped as it is received. When the whole message was received, the request is answered
 * with an error, after the requests before it. A message that is longer than 64 times the limit ends the
 * connection. Pure functions, any thread.
 */
#include "base/buffer.h"

#include <stdint.h>

enum {
  LONG_MESSAGE_BEGINNING = 64 * 1024, /* bytes that are kept */
  LONG_MESSAGE_TIMES = 64             /* a message may be this many times as long as message_max */
};

enum message_length { MESSAGE_FITS, MESSAGE_TOO_LONG, MESSAGE_ENDLESS };

static inline enum message_length long_message_judge(uint64_t length, size_t message_max)
{
  if (length <= message_max)
    return MESSAGE_FITS;
  return (length - 1) / LONG_MESSAGE_TIMES < message_max ? MESSAGE_TOO_LONG : MESSAGE_ENDLESS;
}

/* Releases the collected bytes of the message except its beginning. */
static inline void long_message_cut(struct buffer *message)
{
  if (message->len > LONG_MESSAGE_BEGINNING)
    buffer_truncate(message, LONG_MESSAGE_BEGINNING);
  buffer_trim(message, LONG_MESSAGE_BEGINNING);
}

/* Returns how many of the next `count` bytes belong to the beginning. */
static inline size_t long_message_kept(const struct buffer *message, size_t count)
{
  size_t room = message->len < LONG_MESSAGE_BEGINNING ? LONG_MESSAGE_BEGINNING - message->len : 0;
  return count < room ? count : room;
}

#endif
