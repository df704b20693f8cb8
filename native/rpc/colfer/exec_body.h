#ifndef JPEER_RPC_COLFER_EXEC_BODY_H
#define JPEER_RPC_COLFER_EXEC_BODY_H
/*
 * The body of an exec message: what is behind its head (rpc/colfer/exec_head.h), that is the operation. The general
 * path has read one and found no fault with it; it is kept with holes for its whole numbers and its object's ref. A
 * body that is the same outside of the holes, with a number or a ref in each, is the same operation with other values
 * and just as good.
 *
 * For rpc/colfer/known_messages.c and its tests, on the worker's own thread.
 */
#include "colfer/messages.h"
#include "op/operation.h"
#include "rpc/colfer/exec_head.h"

enum { EXEC_BODY_MAX = 480, EXEC_ARGS_MAX = 8, EXEC_HOLES_MAX = EXEC_ARGS_MAX + 1 };

/* What is in a hole: a ref behind a header, this one or the other of its number; where there is no header, the JSON
 * text of an argument, with its length. */
struct exec_hole {
  size_t length; /* of the body's bytes between the hole before and this one */
  size_t arg;    /* index of the argument */
  uint8_t ref_header;
};

/* Begins as zero. */
struct exec_body {
  /* What the body that fitted last asks, as far as it is about whole numbers: its names are absent. */
  struct operation operation;
  struct op_value args[EXEC_ARGS_MAX];
  uint8_t message_type; /* 0: nothing is kept */
  size_t length;
  size_t hole_count;
  struct exec_hole holes[EXEC_HOLES_MAX];
  char bytes[EXEC_BODY_MAX]; /* without what was in the holes */
};

/* Keeps the body of a message that was read as exec, and exec as the operation; it stays where it is from now on.
 * False where it cannot be kept: then nothing is. */
bool exec_body_keep(struct exec_body *body, const struct exec_head *head,
                    const struct colfer_exec_message *exec, const struct operation *operation);

/* True where the message has this body; body->operation then has its values. Otherwise they are garbage. */
bool exec_body_fits(struct exec_body *body, const struct exec_head *head);

#endif
