#ifndef JPEER_TESTS_UNIT_NET_STUB_SERVICE_H
#define JPEER_TESTS_UNIT_NET_STUB_SERVICE_H
/*
 * A service with no JVM: "block" blocks until the test lets go, "wait" does so by the crew's rpc_waits, "ping" is a ping,
 * "note" a notification, all else comes back. "hold" blocks a thread without a worker, and is then left to a member.
 */
#include "rpc/service.h"

#include <pthread.h>
#include <stdatomic.h>

enum { STUB_WAITING_MAX = 512 };

/* What the stub's struct rpc_worker is. */
struct stub_worker {
  struct rpc_waits waits;
  _Atomic bool is_exiting; /* as in System.exit: it never comes back */
};

struct stub {
  pthread_mutex_t lock;
  pthread_cond_t changed;
  bool open;
  int inside;
  struct rpc_waits waiting[STUB_WAITING_MAX]; /* where thread is not NULL */
  _Atomic int threads;
  int thread_limit;
  _Atomic int clients; /* open now */
  _Atomic int served;  /* messages that have come back */
  _Atomic int refused;
  _Atomic int taken_back; /* answers that did not leave */
};

/* Its codecs: the stub's alone, in the place of JSON-RPC. */
extern const struct rpc_codec *const stub_codecs[RPC_CODECS];

/* Fills *service with the stub's functions. */
void stub_open(struct stub *stub, int thread_limit, struct rpc_service *service);
/* After the crew: waits for its threads. */
void stub_close(struct stub *stub);
void stub_let_go(struct stub *stub);
/* Until so many calls block. */
void stub_wait_inside(struct stub *stub, int count);

#endif
