#ifndef JPEER_TESTS_UNIT_RPC_LENT_WORKER_H
#define JPEER_TESTS_UNIT_RPC_LENT_WORKER_H
/* A crew member over the stub of jni that lends its worker to the test's thread. */
#include "rpc/peer.h"

#include <pthread.h>

struct lent_worker {
  struct rpc_worker *worker;
  struct rpc_peer *ends; /* a peer that the member itself ends, as its last act; NULL: none */
  pthread_barrier_t ready;
  pthread_barrier_t done;
};

/* Spawns the member; the worker is the caller's until lent_worker_return. */
void lent_worker_take(struct lent_worker *lent, const struct rpc_service *service);
void lent_worker_return(struct lent_worker *lent);
/* When the member's thread has ended (stub_join_threads). */
void lent_worker_fini(struct lent_worker *lent);

#endif
