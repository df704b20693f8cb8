#ifndef JPEER_RPC_FASTPATH_WHOLE_NUMBER_PATH_H
#define JPEER_RPC_FASTPATH_WHOLE_NUMBER_PATH_H
/*
 * The brief way of a message that repeats another one's shape (rpc/fastpath/shape_cache.h) and whose
 * operation takes and gives whole numbers alone (jni/members.h, jvm_brief_run): straight from the values in
 * the holes to the call and to the bytes of the answer. Nothing is decided here: the member, its conversions
 * and the policy's verdict were found the long way, by an operation of the same shape, and so was the
 * answer's text, which is that of the answer before with another id and another number. What has become
 * different since then, or is out of the ordinary, goes the long way again. On the worker's own thread.
 */
#include "jni/members.h"
#include "rpc/fastpath/shape_cache.h"

struct rpc_worker;
struct rpc_client;

enum rpc_brief {
  RPC_BRIEF_UNFIT,    /* nothing was run */
  RPC_BRIEF_ANSWERED, /* the answer was appended to out */
  RPC_BRIEF_FAILED /* *failed is the outcome; it is valid until the caller ends the request (jvm_request_end)
                    */
};

/* shape: what rpc_repeats_find gave for the client's message. reply_max: rpc/service.h. */
enum rpc_brief rpc_brief_serve(struct rpc_worker *worker, const struct rpc_client *client,
                               const struct rpc_shape *shape, size_t reply_max, struct buffer *out,
                               struct outcome *failed) JP_MUST_CHECK;

/* Learns what answers to the shape look like from one that went the long way: its outcome, without what that
 * points to, and its text. */
void rpc_brief_learn(struct rpc_worker *worker, struct rpc_shape *shape, const struct outcome *outcome,
                     struct text answer);

#endif
