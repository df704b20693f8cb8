#ifndef JPEER_CLIENT_TRANSPORTS_WEBSOCKET_CLIENT_FRAMES_H
#define JPEER_CLIENT_TRANSPORTS_WEBSOCKET_CLIENT_FRAMES_H
/*
 * The WebSocket frames of a client (RFC 6455, 5): heads of frames that came, and frames that leave, which
 * are masked where they lie. No sockets here. Pure, but for the keys of masks; one thread at a time.
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
  size_t size;     /* of the head itself; 0: it is not whole yet */
  uint64_t length; /* of the payload */
};

/* Reads the head that bytes begin with. False: a server may not send it, and *fault says why. */
bool client_ws_read_head(struct text bytes, struct client_ws_head *head, const char **fault);

/* The keys of masks. They need not be secret from the peer, but a caller who chooses the payload must not
 * know them beforehand (RFC 6455, 10.3). */
struct client_ws_keys {
  uint64_t state[2];
};

/* Begins with what the kernel's generator gives. */
void client_ws_keys_init(struct client_ws_keys *keys);

/* Leaves room for a head in out; what is appended from then on is the payload. Gives where the frame
 * begins. */
size_t client_ws_begin(struct buffer *out);
/* Frames and masks what was appended since client_ws_begin gave `begin`. */
void client_ws_end(struct buffer *out, size_t begin, enum client_ws_opcode opcode,
                   struct client_ws_keys *keys);

#endif
