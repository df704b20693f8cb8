#ifndef JPEER_RPC_FASTPATH_SHAPE_CACHE_H
#define JPEER_RPC_FASTPATH_SHAPE_CACHE_H
/*
 * Requests that come again. A program that calls in a loop sends the same text over and over, with other
 * numbers and strings in it. A request that was read in full leaves its shape here: its text, with holes
 * where its id, its instance, its scalar arguments and the elements of its lists were, and the operation that
 * it meant. A message that fits a shape byte for byte outside of the holes, with a number or a plain string
 * in each hole as before, or with any number of them for a list (rpc/fastpath/shape_list.h), is a valid
 * message of the same structure and the same operation with other values; it need not be read again.
 *
 * Nothing depends on what is kept: what does not fit is read in full (jsonrpc/jsonrpc.h,
 * rpc/jsonrpc/json_params.h). What is kept is what the text means; what the resolver of members notes beside
 * it (struct op_memo) is the resolver's own, and no verdict; what its answers look like is noted by
 * rpc/fastpath/whole_number_path.h. One worker's, on its own thread; fixed memory.
 */
#include "jsonrpc/jsonrpc.h"
#include "op/operation.h"
#include "rpc/fastpath/shape_list.h"

enum {
  RPC_SHAPES = 8,
  RPC_SHAPE_TEXT_MAX = 512,
  RPC_SHAPE_ARGS = 8,
  RPC_SHAPE_HOLES = RPC_SHAPE_ARGS + 2,
  RPC_SHAPE_LISTS = 2
};

/* The longest are of whole steps: they are copied by the step. */
enum {
  RPC_ANSWER_STEP = 16,
  RPC_ANSWER_MIDDLE_MAX = 6 * RPC_ANSWER_STEP,
  RPC_ANSWER_TAIL_MAX = RPC_ANSWER_STEP
};

enum rpc_hole_kind { RPC_HOLE_ID, RPC_HOLE_INSTANCE, RPC_HOLE_ARGUMENT, RPC_HOLE_LIST };

struct rpc_hole {
  enum rpc_hole_kind kind;
  bool is_string;
  size_t at;     /* in the shape's text: what comes before it */
  size_t length; /* of what was there in the message that was kept */
  size_t arg;    /* index of an argument */
  size_t list;   /* RPC_HOLE_LIST: index of its form */
};

/* An answer's text behind its id (rpc/fastpath/whole_number_path.h), around the whole number in it where it
 * has one. It is that of the member that a memo of the same words notes. */
struct rpc_answer_form {
  const void *found; /* NULL: nothing is known */
  uint64_t serial;
  size_t middle_length;
  size_t tail_length;
  char middle[RPC_ANSWER_MIDDLE_MAX];
  char tail[RPC_ANSWER_TAIL_MAX];
};

struct rpc_shape {
  char text[RPC_SHAPE_TEXT_MAX]; /* of the message, without what was in the holes; behind it, of lists */
  size_t length;                 /* 0: no shape is kept here */
  size_t brackets;               /* that open in it: it is no deeper than that */
  struct rpc_hole holes[RPC_SHAPE_HOLES];
  size_t hole_count;
  /* What the message that fitted last meant: what was in a hole is borrowed from it, all else from the text.
   */
  struct jsonrpc_request request;
  struct operation operation;
  struct op_value args[RPC_SHAPE_ARGS];
  struct rpc_list_form lists[RPC_SHAPE_LISTS];
  size_t list_count;
  struct op_memo memo;
  struct rpc_answer_form answer; /* written by rpc/fastpath/whole_number_path.h */
};

struct rpc_repeats {
  struct rpc_shape shapes[RPC_SHAPES];
  size_t last;     /* the shape that fitted last */
  size_t oldest;   /* the shape that is replaced next */
  unsigned misses; /* since a message last fitted */
};

/*
 * The shape that the message fits, whose request and operation are now the message's; NULL: none. They borrow
 * from the message and the arena, which is the request's, and are valid until the next call of a function of
 * this header.
 */
struct rpc_shape *rpc_repeats_find(struct rpc_repeats *repeats, struct text message, struct arena *arena);

/* The same for the request that the text begins with, whatever follows it; length: its bytes. */
struct rpc_shape *rpc_repeats_find_first(struct rpc_repeats *repeats, struct text text, struct arena *arena,
                                         size_t *length);

/*
 * Keeps the shape of a message, or of a batch's element, that was read as one request of JSON-RPC 2.0 with
 * params, and whose operation was decoded without a fault. What it is no use for (arguments that are neither
 * scalars nor lists of like scalars, escapes in names, long texts) is passed over. A list of one element says
 * nothing of what stands between two: its shape fits lists of one alone.
 */
void rpc_repeats_keep(struct rpc_repeats *repeats, struct text message, const struct jsonrpc_request *request,
                      const struct operation *operation);

#endif
