#ifndef JPEER_RPC_COLFER_REPLY_TEMPLATE_H
#define JPEER_RPC_COLFER_REPLY_TEMPLATE_H
/*
 * The bytes of a known message's replies: all but their own ids, the request's id and the whole number that came back.
 * For rpc/colfer/known_messages.c and its tests. Plain data; any one thread.
 */
#include "base/buffer.h"
#include "base/uuid.h"
#include "colfer/messages.h"

/* Pieces are copied in steps of a constant size, so that the compiler inlines them. */
enum { REPLY_STEP = 16, REPLY_BYTES_MAX = 32 * REPLY_STEP, REPLY_PIECES_MAX = 5 };

enum reply_hole {
  REPLY_OWN_ID,     /* UUID_TEXT_LENGTH bytes */
  REPLY_REQUEST_ID, /* a text with its length */
  REPLY_NUMBER,     /* a text with its length: the JSON of a whole number */
  REPLY_END         /* nothing */
};

struct reply_piece {
  size_t length; /* of the bytes before the hole */
  enum reply_hole hole;
};

struct reply_template {
  struct reply_piece pieces[REPLY_PIECES_MAX]; /* the last one ends with REPLY_END */
  size_t piece_count;
  size_t length; /* of all pieces, without what is in the holes */
  bool has_number;
  char bytes[REPLY_BYTES_MAX + REPLY_STEP]; /* of one piece behind the other */
};

/* Cuts up a reply, of which reply is what its bytes were decoded to. False where it is no reply of a usual form to the
 * request of that id. */
bool reply_template_fill(struct reply_template *template, struct text bytes,
                         const struct colfer_message *reply, struct text request_id);

/* The length that no reply to a request of that id passes. */
size_t reply_template_length_max(const struct reply_template *template, size_t id_length);

/* Appends a reply; number is not used where the template has none. request_id has at most EXEC_SHORT_MAX bytes. A
 * failed allocation leaves out->failed. */
void reply_template_write(const struct reply_template *template, const char own_id[UUID_TEXT_LENGTH],
                          struct text request_id, int64_t number, struct buffer *out);

#endif
