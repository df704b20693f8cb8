#ifndef JPEER_CLIENT_TRANSPORTS_WEBSOCKET_CLIENT_FRAMES_H
#define JPEER_CLIENT_TRANSPORTS_WEBSOCKET_CLIENT_FRAMES_H
/*
 * The WebSocket frames of a client (RFC 6455, 5): reads the heads of received frames, and writes frames,
 * which are masked in place. No sockets. Pure functions, except for the keys of masks; one thread at a time.
 */
#include "base/buffer.h"

#include <stdbool.h>
#include <stdint.h>

enum client_ws_opcode {
  CLIENT_WS_CONTINUATION = 0,
  CLIENT_WS_TEXT = 1,
  CLIENT_WS_BINARY = 2,
  CLIENT_WS_CLOSE = 8,
  CLIENT_WS_PING = 9,
  CLIENT_WS_PONG = 10
};

enum { CLIENT_WS_CONTROL_MAX = 125, CLIENT_WS_HEAD_MAX = 14, CLIENT_WS_NO_CODE = 1005 };

struct client_ws_head {
  bool fin;
  enum client_ws_opcode opcode;
  size_t size;     /* of the head itself; 0: incomplete */
  uint64_t length; /* of the payload */
};

/* Reads the head at the beginning of bytes. False: a server must not send it, and *fault says why. */
bool client_ws_read_head(struct text bytes, struct client_ws_head *head, const char **fault);

/* The generator of mask keys. Keys need not be secret from the peer, but must not be predictable by whoever
 * chooses the payload (RFC 6455, 10.3). */
struct client_ws_keys {
  uint64_t state[2];
};

/* Seeds the generator from the kernel's generator. */
void client_ws_keys_init(struct client_ws_keys *keys);

/* Reserves room for a head in out; bytes appended from then on are the payload. Returns the offset of the
 * frame. */
size_t client_ws_begin(struct buffer *out);
/* Frames and masks the bytes appended since client_ws_begin returned `begin`. */
void client_ws_end(struct buffer *out, size_t begin, enum client_ws_opcode opcode,
                   struct client_ws_keys *keys);

#endif
