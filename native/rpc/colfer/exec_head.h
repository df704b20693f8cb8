#ifndef JPEER_RPC_COLFER_EXEC_HEAD_H
#define JPEER_RPC_COLFER_EXEC_HEAD_H
/*
 * The head of an exec message: who sends it, its id, and times and counters that no operation depends on. It is what
 * changes most between messages that ask the same, and is read in place. For rpc/colfer/known_messages.c and its
 * tests; pure, any thread.
 *
 * Read is the usual form alone, which the decoder always takes: ASCII of at most 127 bytes, numbers in the form that
 * Colfer writes. Whatever else the decoder takes goes the general path.
 */
#include "base/text.h"

#include <stdbool.h>

/* The longest text whose length is one byte. */
enum { EXEC_SHORT_MAX = 127 };

struct exec_head {
  uint8_t message_type;
  struct text peer_uuid;  /* 16 bytes; data NULL: the message names no session */
  struct text message_id; /* not empty */
  struct text rest;       /* of the message: all other fields, and its ends */
};

/* Everything is borrowed from the message. False: the message is none, or its head has another form. */
bool exec_head_read(struct text message, struct exec_head *head);

/* Reads a number of Colfer's type uint32 behind its header, of which fixed tells. Returns its length in bytes, or 0
 * where it has not the form that Colfer writes. */
size_t exec_number_at(struct text t, bool fixed, uint32_t *number);

#endif
