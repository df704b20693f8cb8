#ifndef JPEER_RPC_COLFER_KNOWN_MESSAGES_H
#define JPEER_RPC_COLFER_KNOWN_MESSAGES_H
/*
 * Known messages: the fast path of the binary codec, as rpc/fastpath is the fast path of the codec of
 * JSON-RPC. A program that calls in a loop repeats the same bytes with other ids, times and numbers. If all
 * arguments and the result of an operation are whole numbers, the worker keeps its message, its call
 * (jni/fastpath/whole_number_call.h) and its reply. When the same message arrives with other values, the
 * worker runs the call directly, and writes the bytes of the answer.
 *
 * The codec calls only these functions of the fast path (rpc/fastpath/known_messages.c), and works without
 * them: if known_messages_serve returns false for a message, the general path serves the message. Everything
 * kept here was checked by the general path before. A build without JPEER_FASTPATH always uses the general
 * path.
 *
 * For one worker, on its own thread; fixed memory.
 */
#include "base/buffer.h"
#include "op/outcome.h"
#include "rpc/run.h"

struct known_messages;
struct colfer_message;
struct rpc_colfer_worker;

/* A message as received by rpc_codec.serve. */
struct known_call {
  struct text message;
  struct rpc_runner *runner; /* after rpc_runner_begin_message */
  struct rpc_client *client;
  struct rpc_colfer_worker *own;
  struct buffer *out;
  size_t reply_max; /* rpc/codec.h */
  /* Appends the reply by the functions of the general path, if the member was called and threw. */
  void (*answer_failed)(const struct known_call *call, struct text request_id,
                        const struct rpc_reached_member *reached, struct outcome *failed);
};

/* The general path's result for a message. */
struct known_outcome {
  const struct colfer_message *request;
  const struct operation *operation;
  const struct rpc_reached_member *reached;
  const struct outcome *outcome;
  size_t reply; /* the offset in call->out at which the answer begins */
};

#if JPEER_FASTPATH

/* Serves a known message: appends its reply. False: the message is not known, and nothing was changed. known
 * may be NULL. */
bool known_messages_serve(struct known_messages *known, const struct known_call *call);

/*
 * Keeps a message for which known_messages_serve has just returned false, if its form allows that. Called
 * before rpc_run_end. *known is NULL before the first call, which allocates it; the worker frees it with
 * free().
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
