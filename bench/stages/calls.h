#ifndef JPEER_TESTS_BENCH_STAGES_CALLS_H
#define JPEER_TESTS_BENCH_STAGES_CALLS_H
/*
 * Runs one call up to a given stage, with the same functions that serve a message. The cost of a stage is the
 * difference of two cuts. A binary message cannot be cut off: it has only CUT_NONE. Use calls on one thread
 * of the peer.
 */
#include "rpc/jsonrpc/json_codec.h"
#include "workloads.h"

enum cut {
  CUT_READ, /* the message is validated and its envelope read; an answer's envelope is written around null */
  CUT_DECODE,  /* the params are decoded into an operation */
  CUT_FRAME,   /* a frame of local references is pushed; objects that an earlier call has left are released */
  CUT_RESOLVE, /* the member and the policy's kept verdict are found (an earlier call has resolved the
                * member) */
  CUT_INVOKE,  /* the arguments are converted, the member is called, its outcome is read */
  CUT_WRITE,   /* the result is written instead of null */
  CUT_NONE,    /* not cut off: rpc_service.serve, with sessions */
  CUTS
};

struct calls {
  const struct workload *workload;
  struct rpc_peer *peer;
  struct rpc_worker worker;
  struct rpc_client *client;        /* for JSON */
  struct rpc_client *binary_client; /* for binary messages, which name their sessions */
  const struct rpc_service *service;
  struct jvm_objects *objects;
  uint32_t receiver;
  struct buffer request;
  struct buffer second; /* the second request of WORKLOAD_NEW_DELETE */
  struct buffer answer;
};

/* thread: the calling thread. The caller releases calls with calls_fini. */
enum jp_status calls_init(struct calls *calls, struct rpc_peer *peer, struct jvm_thread *thread,
                          struct jp_error *error) JP_MUST_CHECK;
void calls_fini(struct calls *calls);

/* Chooses the workload for calls_run, and makes its receiver. Returns false if the workload's first answer
 * was wrong, and reports this on stderr. */
bool calls_choose(struct calls *calls, enum workload_id id) JP_MUST_CHECK;

void calls_run(struct calls *calls, enum cut cut, uint64_t iterations);
/* True if the current answer is a result. */
bool calls_went_well(const struct calls *calls);

#endif
