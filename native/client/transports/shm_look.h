#ifndef JPEER_CLIENT_TRANSPORTS_SHM_LOOK_H
#define JPEER_CLIENT_TRANSPORTS_SHM_LOOK_H
/*
 * Waits awake for what the peer does to shared memory: first with pauses of the processor, then giving it to
 * others between two looks, for 50 us at most, and less and less often where that is in vain
 * (base/spin_policy.h).
 *
 * One thread at a time looks. What it holds the peer's positions against is told under the client's lock, by
 * whoever reads or writes meanwhile.
 */
#include "base/spin_policy.h"
#include "ring/ring.h"

#include <stdatomic.h>

struct shm_look {
  struct ring_side *mine;
  struct ring_side *other;
  _Atomic uint64_t written; /* by the peer, as it was seen last */
  _Atomic uint64_t taken;   /* likewise */
  atomic_bool wants_room;   /* `taken` matters */
  atomic_bool is_rung;      /* the peer slept when it was written to last */
  bool is_possible;         /* there is processor time enough */
  bool is_bound;            /* this process may use one processor alone */
  int processor;            /* that the peer was told of */
  struct spin_policy policy;
};

/* The region outlives it. */
void shm_look_init(struct shm_look *look, struct ring_side *mine, struct ring_side *other);
/* True if looking is worth while at all. */
bool shm_look_begin(struct shm_look *look);
/* Looks for a while. True: the peer has done something. */
bool shm_look_wait(struct shm_look *look);
/* Whether it has written something that was not seen. */
bool shm_look_finds_input(const struct shm_look *look);

#endif
