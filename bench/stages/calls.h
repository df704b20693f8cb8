#ifndef JPEER_TESTS_BENCH_STAGES_CALLS_H
#define JPEER_TESTS_BENCH_STAGES_CALLS_H
/*
 * One call up to a given stage: the same functions as for a served message, cut off after a stage. The cost of a
 * stage is the difference of two cuts; a binary message has only CUT_NONE. On one thread of the peer.
 */
#include "rpc/jsonrpc/json_codec.h"
#include "workloads.h"

enum cut {
  CUT_READ,    /* the message validated, its envelope read, an answer's envelope written around null */
  CUT_DECODE,  /* params as an operation */
  CUT_FRAME,   /* local references framed, remains of an earlier call released */
  CUT_RESOLVE, /* the member, which was called before, and its kept verdict */
  CUT_INVOKE,  /* arguments, the call, its outcome */
  CUT_WRITE,   /* the result instead of null */
  CUT_NONE,    /* rpc_service.serve: sessions and all */
  CUTS
};

struct calls {
  const struct workload *workload;
  struct rpc_peer *peer;
  struct rpc_worker worker;
  struct rpc_client *client;        /* of JSON */
  struct rpc_client *binary_client; /* whose messages name their sessions */
  const struct rpc_service *service;
  struct jvm_objects *objects;
  uint32_t receiver;
  struct buffer request;
  struct buffer second; /* of WORKLOAD_NEW_DELETE */
  struct buffer answer;
};

/* thread is the calling one. JP_OK, or *error has the fault. Released with calls_fini. */
enum jp_status calls_init(struct calls *calls, struct rpc_peer *peer, struct jvm_thread *thread,
                          struct jp_error *error) JP_MUST_CHECK;
void calls_fini(struct calls *calls);

/* Chooses the workload for calls_run, with its own object; false: its first answer was wrong, which is reported on
 * stderr. */
bool calls_choose(struct calls *calls, enum workload_id id) JP_MUST_CHECK;

void calls_run(struct calls *calls, enum cut cut, uint64_t iterations);
/* True if the current answer is a result. */
bool calls_went_well(const struct calls *calls);

#endif
