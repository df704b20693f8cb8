#ifndef JPEER_TESTS_UNIT_NET_STUB_SERVICE_H
#define JPEER_TESTS_UNIT_NET_STUB_SERVICE_H
/*
 * A service without a JVM. "block" blocks until stub_release, and "wait" waits until stub_release by the
 * crew's rpc_waits. "ping" is a ping, "note" a notification. "hold" blocks the watcher; a member then serves
 * it. All other messages are echoed.
 */
#include "rpc/service.h"

#include <pthread.h>
#include <stdatomic.h>

enum { STUB_WAITING_MAX = 512 };

/* The stub's struct rpc_worker. */
struct stub_worker {
  struct rpc_waits waits;
  _Atomic bool is_exiting; /* as in System.exit: the thread never returns */
};

struct stub {
  pthread_mutex_t lock;
  pthread_cond_t changed;
  bool open;
  int inside;
  struct rpc_waits waiting[STUB_WAITING_MAX]; /* thread NULL: the element is free */
  _Atomic int threads;
  int thread_limit;
  _Atomic int clients; /* open now */
  _Atomic int served;  /* messages that were served */
  _Atomic int refused;
  _Atomic int taken_back; /* answers that were not sent (rpc_service.release_unsent) */
};

/* Two codecs of the stub: one in the place of JSON-RPC, and a second codec. */
extern const struct rpc_codec *const stub_codecs[RPC_CODECS];

/* Fills *service with the stub's functions. */
void stub_open(struct stub *stub, int thread_limit, struct rpc_service *service);
/* Called after the end of the crew: waits for the crew's threads. */
void stub_close(struct stub *stub);
void stub_release(struct stub *stub);
/* Waits until `count` calls block. */
void stub_wait_inside(struct stub *stub, int count);

#endif
