#ifndef JPEER_RPC_COLFER_BINARY_ANSWER_H
#define JPEER_RPC_COLFER_BINARY_ANSWER_H
/* From an outcome to the bytes of a binary answer (docs/binary.md). Any thread. */
#include "base/uuid.h"
#include "rpc/colfer/binary_request.h"
#include "rpc/run.h"

/* The ids of a worker's answers: a random UUID whose last twelve digits count up. */
struct rpc_colfer_ids {
  char text[UUID_TEXT_LENGTH + 1];
};

void rpc_colfer_ids_init(struct rpc_colfer_ids *ids);
/* The next id. Borrowed: valid until the next call of this function. */
struct text rpc_colfer_ids_next(struct rpc_colfer_ids *ids);

/* The parts of an answer that are not in the outcome. */
struct rpc_colfer_answer {
  enum rpc_colfer_part part;
  uint8_t asked; /* the request's message type */
  /* the command of a control request, or the service of a meta request */
  uint8_t command;
  struct text request_id;                /* data NULL: the request has no id */
  struct text id;                        /* the answer's own id */
  const struct rpc_reached_member *from; /* NULL: the request names no member */
  struct arena *arena;                   /* for causes, and for text with lone surrogates */
  /* The function that writes the answer writes the JSON text of a value here. For an OUTCOME_BODY the caller
   * has written the text already. NULL: the outcome has no value. */
  struct buffer *scratch;
};

/* Makes the answer to a request, with no result yet. */
struct rpc_colfer_answer rpc_colfer_answer_to(const struct rpc_colfer_request *request);

/* Appends the answer, which has the same part of the message as its request. */
void rpc_colfer_answer_write(struct buffer *out, const struct outcome *outcome,
                             const struct rpc_colfer_answer *answer);

#endif
