#ifndef JPEER_RPC_FASTPATH_WHOLE_NUMBER_PATH_H
#define JPEER_RPC_FASTPATH_WHOLE_NUMBER_PATH_H
/*
 * A request that fits a shape and whose arguments and result are all whole numbers
 * (jni/fastpath/whole_number_call.h): the values in the holes are passed directly to the call, and the bytes
 * of the answer are written from a template. The general path has found the member, its conversions and the
 * policy's verdict for an operation of the same shape, and has written the answer from which the template was
 * made. If something has changed since then, or if the request is unusual, the request takes the general
 * path. For this folder only; on the worker's own thread.
 */
#include "jni/fastpath/whole_number_call.h"
#include "rpc/fastpath/fastpath.h"
#include "rpc/operation_audit.h"

/* Copies have constant sizes, so that the compiler inlines them. */
enum {
  ANSWER_STEP = 16,
  ANSWER_BEFORE_ID_MAX = 2 * ANSWER_STEP,
  ANSWER_AFTER_ID_MAX = 6 * ANSWER_STEP,
  ANSWER_AFTER_NUMBER_MAX = ANSWER_STEP
};

/* The text of a shape's answers without the id and the whole number. Begins as zero. An answer is written by
 * copying whole parts; the next part overwrites the unused bytes of the previous part. */
struct answer_template {
  size_t before_id_length;
  size_t after_id_length;
  size_t after_number_length;
  bool has_number;
  char before_id[ANSWER_BEFORE_ID_MAX];
  char after_id[ANSWER_AFTER_ID_MAX];
  char after_number[ANSWER_AFTER_NUMBER_MAX];
};

/* The data of a shape for this path. */
struct whole_number_path {
  struct jvm_whole_number_call call; /* member NULL: nothing is kept for this shape yet */
  struct answer_template answer;
  struct audit_template audited;
};

/* Keeps the call and the template if an operation that the general path has run is of this kind. */
void whole_number_path_keep(struct whole_number_path *path, const struct rpc_cached_call *call,
                            const struct operation *operation, const struct rpc_written_answer *written);

/* Runs the request and appends its answer. False: nothing was run, and the request has to take the general
 * path. */
bool whole_number_path_serve(const struct whole_number_path *path, struct rpc_cached_request *request,
                             const struct rpc_cached_call *call);

/* True if the member of a kept call still exists, and the policy has allowed this operation to the client. */
bool whole_number_path_is_allowed(const struct jvm_whole_number_call *call, const struct operation *operation,
                                  struct rpc_runner *runner, const struct rpc_client *client);

#endif
