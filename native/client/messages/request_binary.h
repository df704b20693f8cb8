#ifndef JPEER_CLIENT_MESSAGES_REQUEST_BINARY_H
#define JPEER_CLIENT_MESSAGES_REQUEST_BINARY_H
/*
 * Writes requests as binary messages (docs/binary.md). Pure functions, any thread; only the memory of out and
 * of the given arena is allocated. After a failure the caller discards the appended bytes.
 */
#include "client/messages/client_error.h"

#include "base/arena.h"
#include "base/buffer.h"

struct message_release;

struct message_binary {
  const uint8_t *session; /* 16 bytes; NULL: the socket's */
  struct text id;
  struct arena *arena;    /* for the parts of the message; its owner resets it */
  struct buffer *scratch; /* for the JSON of its values; overwritten */
};

/* JP_CLIENT_UNSUPPORTED: the binary form cannot express the request. */
enum jp_client_status message_write_binary(const struct jp_request *request, const struct message_binary *how,
                                           struct buffer *out,
                                           struct jp_client_error *error) JP_CLIENT_MUST_CHECK;
/* Writes a control message, which the peer answers. */
void message_write_release_binary(const struct message_release *releases, size_t count,
                                  const struct message_binary *how, struct buffer *out);

#endif
