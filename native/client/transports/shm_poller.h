#ifndef JPEER_CLIENT_TRANSPORTS_SHM_POLLER_H
#define JPEER_CLIENT_TRANSPORTS_SHM_POLLER_H
/*
 * Busy-polls the peer's positions in shared memory: first with pauses of the processor, then yielding the
 * processor between two polls, for at most 50 us. If polling finds nothing repeatedly, it is tried less often
 * (base/spin_policy.h).
 *
 * One thread polls at a time. The positions to compare with are set under the client's lock by the threads
 * that read or write.
 */
#include "base/spin_policy.h"
#include "ring/ring.h"

#include <stdatomic.h>

struct shm_poller {
  struct ring_side *mine;
  struct ring_side *other;
  _Atomic uint64_t written; /* the last seen position of the peer's writer */
  _Atomic uint64_t taken;   /* the last seen position of the peer's reader */
  atomic_bool wants_room;   /* the client also waits for room to write, so `taken` is polled, too */
  atomic_bool is_notified;  /* the peer slept at the last write, and was notified */
  bool is_possible;         /* this process has enough processor time to poll */
  bool is_bound;            /* this process may use one processor only */
  int processor;            /* the last processor published to the peer */
  struct spin_policy policy;
};

/* The region must outlive the poller. */
void shm_poller_init(struct shm_poller *poller, struct ring_side *mine, struct ring_side *other);
/* True if this process has enough processor time to poll. */
bool shm_poller_begin(struct shm_poller *poller);
/* Polls for a limited time. True: the peer has written, or made the room that is waited for. */
bool shm_poller_wait(struct shm_poller *poller);
/* True: the peer has written bytes that were not found before. */
bool shm_poller_has_input(const struct shm_poller *poller);

#endif
