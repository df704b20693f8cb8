#ifndef JPEER_NET_WEBSOCKET_WS_FRAMES_H
#define JPEER_NET_WEBSOCKET_WS_FRAMES_H
/*
 * The WebSocket frames of a server (RFC 6455, 5): reads frames from bytes, and writes frames. Uses no sockets and no
 * clock. wslay splits and unmasks the client's frames and checks their lengths. This module checks what wslay leaves to
 * its user: masks, reserved bits, opcodes, the order of fragments, UTF-8 and close codes. It reads a text message in
 * one frame itself, if the head is complete in the input, and it writes all frames itself.
 *
 * One owner, one thread at a time.
 */
#include "base/buffer.h"
#include "base/status.h"
#include "base/text.h"

#include <stdbool.h>
#include <stdint.h>

enum ws_opcode { WS_CONTINUATION = 0, WS_TEXT = 1, WS_BINARY = 2, WS_CLOSE = 8, WS_PING = 9, WS_PONG = 10 };

enum ws_close_code { /* RFC 6455, 7.4.1 */
                     WS_NORMAL = 1000,
                     WS_GOING_AWAY = 1001,
                     WS_PROTOCOL_ERROR = 1002,
                     WS_UNSUPPORTED = 1003,
                     WS_NO_CODE = 1005, /* never sent: represents a close frame without a code */
                     WS_BAD_TEXT = 1007,
                     WS_POLICY = 1008,
                     WS_TOO_BIG = 1009,
                     WS_INTERNAL = 1011,
                     WS_TRY_AGAIN_LATER = 1013 /* IANA's registry of close codes */
};

enum { WS_CONTROL_MAX = 125, WS_HEADER_MAX = 10, WS_MASK_LENGTH = 4 };
enum { WS_DECODER_SIZE = 4608 }; /* the approximate size of a decoder, with wslay's part */

/* wslay's state inside a frame (4 KiB). */
struct ws_decoder;

struct ws_decoder *ws_decoder_create(void); /* NULL when memory is short */
void ws_decoder_destroy(struct ws_decoder *decoder);
/* True between frames, if no input is buffered: another connection can then use the decoder. */
bool ws_decoder_is_clean(const struct ws_decoder *decoder);

/* The state of a connection between turns. A decoder that is not clean belongs to this state, too. All zero
 * at first. */
struct ws_reader {
  bool in_message;    /* a text message has begun */
  size_t valid;       /* the number of bytes of the message that were found to be UTF-8 */
  uint64_t announced; /* the sum of the lengths of the message's frames so far */
  /* The message exceeds message_max, and only its beginning is kept. Valid after WS_EVENT_MESSAGE, too. */
  bool is_too_long;

  /* The state of a frame that is read without wslay: */
  size_t left;                  /* bytes of the payload that were not received yet */
  uint8_t mask[WS_MASK_LENGTH]; /* for the next four bytes */
};

enum ws_event {
  WS_EVENT_NONE, /* all input was consumed; more is needed */
  /* a whole text message, or its beginning (is_too_long), is in `message`; the caller clears it */
  WS_EVENT_MESSAGE,
  WS_EVENT_PING, /* its payload is in `control` and `control_len` */
  WS_EVENT_PONG,
  WS_EVENT_CLOSE, /* `code` is the client's code, or WS_NO_CODE */
  /* the input is malformed: close with `code` and `reason`, and do not use the reader and the decoder
   * again */
  WS_EVENT_FAILED
};

struct ws_input {
  struct text bytes;
  size_t used; /* advanced by ws_read */
  uint16_t code;
  const char *reason;
  uint8_t control[WS_CONTROL_MAX];
  size_t control_len;
};

/* Consumes input up to the next event. Appends the bytes of a text message to `message`. Of a message longer than
 * message_max only the beginning is kept (net/connection/long_message.h). A message longer than 64 times message_max
 * fails with 1009 as soon as its length is known. */
enum ws_event ws_read(struct ws_reader *reader, struct ws_decoder *decoder, struct ws_input *input,
                      struct buffer *message, size_t message_max);

/* Appends one unmasked frame to out. */
void ws_write(struct buffer *out, enum ws_opcode opcode, bool fin, struct text payload);
/* Appends a close frame. With WS_NO_CODE the frame has no payload. reason is ASCII, at most 123 bytes. */
void ws_write_close(struct buffer *out, uint16_t code, const char *reason);

#endif
