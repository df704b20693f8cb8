#ifndef JPEER_RPC_COLFER_KNOWN_MESSAGES_H
#define JPEER_RPC_COLFER_KNOWN_MESSAGES_H
/*
 * Known messages: what rpc/fastpath is to the texts of JSON-RPC. A program that calls in a loop sends the same bytes
 * over and over with other ids, times and numbers. Where all that an operation takes and gives are whole numbers, the
 * worker keeps its message, its call (jni/fastpath/whole_number_call.h) and its reply; the same message with other
 * values then goes straight to the call, and to the bytes of the answer.
 *
 * All calls of this codec into the fast path, which defines them (rpc/fastpath/known_messages.c). Nothing depends on
 * it: without it, or where a function here says false, a message goes the general path, which has found everything that
 * is kept. Where the build leaves it out (JPEER_FASTPATH), that is every message.
 *
 * One worker's, on its own thread; fixed memory.
 */
#include "base/buffer.h"
#include "op/outcome.h"
#include "rpc/run.h"

struct known_messages;
struct colfer_message;
struct rpc_colfer_worker;

/* A message as rpc_codec.serve is given it. */
struct known_call {
  struct text message;
  struct rpc_runner *runner; /* after rpc_runner_begin_message */
  struct rpc_client *client;
  struct rpc_colfer_worker *own;
  struct buffer *out;
  size_t reply_max; /* rpc/codec.h */
  /* Appends the reply on the general path, where the member was reached and threw. */
  void (*answer_failed)(const struct known_call *call, struct text request_id,
                        const struct rpc_reached_member *reached, struct outcome *failed);
};

/* What the general path has made of a message. */
struct known_outcome {
  const struct colfer_message *request;
  const struct operation *operation;
  const struct rpc_reached_member *reached;
  const struct outcome *outcome;
  size_t reply; /* in call->out: where its answer begins */
};

#if JPEER_FASTPATH

/* Serves a message that is known: appends its reply. False: it is not, and nothing was done. known may be NULL. */
bool known_messages_serve(struct known_messages *known, const struct known_call *call);

/*
 * Keeps a message that known_messages_serve has just refused, if it is one to be known. Called before rpc_run_end.
 * *known is NULL before the first call, which allocates it; the worker frees it with free().
 */
void known_messages_keep(struct known_messages **known, const struct known_call *call,
                         const struct known_outcome *made);

#else

static inline bool known_messages_serve(struct known_messages *known, const struct known_call *call)
{
  (void)known;
  (void)call;
  return false;
}

static inline void known_messages_keep(struct known_messages **known, const struct known_call *call,
                                       const struct known_outcome *made)
{
  (void)known;
  (void)call;
  (void)made;
}

#endif

#endif
