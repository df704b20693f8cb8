#ifndef JPEER_TESTS_BENCH_STAGES_CALLS_H
#define JPEER_TESTS_BENCH_STAGES_CALLS_H
/*
 * One call on its way, as far as it is wanted: the same functions that a served message goes through, cut off
 * after a stage. What a stage costs is the difference of two cuts; a binary message has CUT_NONE alone. On one
 * thread of the peer.
 */
#include "rpc/jsonrpc/json_codec.h"
#include "workloads.h"

enum cut {
  CUT_READ,    /* the message validated, its envelope read, an answer's envelope written around null */
  CUT_DECODE,  /* params as an operation */
  CUT_FRAME,   /* local references framed, what an earlier call left taken back */
  CUT_RESOLVE, /* the member, which was called before, and the verdict that is kept with it */
  CUT_INVOKE,  /* arguments, the call, its outcome */
  CUT_WRITE,   /* the result in place of null */
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

/* thread is the calling one. JP_OK, or *error says what is wrong. Released with calls_fini. */
enum jp_status calls_init(struct calls *calls, struct rpc_peer *peer, struct jvm_thread *thread,
                          struct jp_error *error) JP_MUST_CHECK;
void calls_fini(struct calls *calls);

/* Makes the workload the one that calls_run runs, with an object of its own; false: its first answer was not
 * the expected one, which is told on stderr. */
bool calls_choose(struct calls *calls, enum workload_id id) JP_MUST_CHECK;

void calls_run(struct calls *calls, enum cut cut, uint64_t iterations);
/* True where the answer in hand is a result. */
bool calls_went_well(const struct calls *calls);

#endif
