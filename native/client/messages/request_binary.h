#ifndef JPEER_CLIENT_MESSAGES_REQUEST_BINARY_H
#define JPEER_CLIENT_MESSAGES_REQUEST_BINARY_H
/*
 * Requests to binary messages (docs/binary.md). Pure functions, any thread; they allocate nothing but memory of out and of
 * the arena that they are given. Where one fails, what it has appended is the caller's to take back.
 */
#include "client/messages/client_error.h"

#include "base/arena.h"
#include "base/buffer.h"

struct message_release;

struct message_binary {
  const uint8_t *session; /* 16 bytes; NULL: the socket's */
  struct text id;
  struct arena *arena;    /* for what the message is made of; reset by its owner */
  struct buffer *scratch; /* for the JSON of its values; its content is dropped */
};

/* JP_CLIENT_UNSUPPORTED: the binary form has no place for it. */
enum jp_client_status message_write_binary(const struct jp_request *request, const struct message_binary *how,
                                           struct buffer *out,
                                           struct jp_client_error *error) JP_CLIENT_MUST_CHECK;
/* A control message, which the peer answers. */
void message_write_release_binary(const struct message_release *releases, size_t count,
                                  const struct message_binary *how, struct buffer *out);

#endif
