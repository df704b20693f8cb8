#ifndef JPEER_RPC_COLFER_BINARY_ANSWER_H
#define JPEER_RPC_COLFER_BINARY_ANSWER_H
/* From an outcome to the bytes of a binary answer (docs/binary.md). Any thread. */
#include "base/uuid.h"
#include "rpc/colfer/binary_request.h"
#include "rpc/run.h"

/* The ids of a worker's answers: a random UUID whose last twelve digits count. */
struct rpc_colfer_ids {
  char text[UUID_TEXT_LENGTH + 1];
};

void rpc_colfer_ids_init(struct rpc_colfer_ids *ids);
/* Borrowed: until the next one. */
struct text rpc_colfer_ids_next(struct rpc_colfer_ids *ids);

/* What an answer says beside the outcome. */
struct rpc_colfer_answer {
  enum rpc_colfer_part part;
  uint8_t asked;                         /* the request's message type */
  uint8_t command;                       /* or service: the request's */
  struct text request_id;                /* data NULL: it has none */
  struct text id;                        /* the answer's own */
  const struct rpc_reached_member *from; /* NULL: no member was asked for */
  struct arena *arena;                   /* for causes, and for text that has to be mended */
  /* Takes the JSON text of a value; of an OUTCOME_BODY it has the text already. NULL: the outcome has no value. */
  struct buffer *scratch;
};

/* The answer to a request, with nothing else in it yet. */
struct rpc_colfer_answer rpc_colfer_answer_to(const struct rpc_colfer_request *request);

/* Appends the answer, in the part of the message that asked. */
void rpc_colfer_answer_write(struct buffer *out, const struct outcome *outcome,
                             const struct rpc_colfer_answer *answer);

#endif
