#ifndef JPEER_NET_ADMISSION_WRONG_EVIDENCE_H
#define JPEER_NET_ADMISSION_WRONG_EVIDENCE_H
/*
 * Counts wrong evidence (unknown tokens and CURVE keys, bad and expired certificates) by the client's address.
 * After WRONG_EVIDENCE_MAX of it in a second, refusals to the address are delayed, so that guessing is slow. A
 * TLS handshake counts, but its refusal is not delayed, because OpenSSL sends the alert. The addresses are in a
 * table of fixed size. A new address can have one of a few places of the table, and replaces the address
 * there that was counted the longest time ago.
 *
 * Any thread.
 */
#include "rpc/address.h"

#include <pthread.h>
#include <stddef.h>

enum {
  WRONG_EVIDENCE_MAX = 10,
  WRONG_EVIDENCE_DELAY_MS = 1000,
  WRONG_EVIDENCE_SETS = 256,
  WRONG_EVIDENCE_WAYS = 4
};

struct wrong_evidence {
  pthread_mutex_t lock;
  struct {
    struct rpc_address address;
    int64_t since_ms; /* begin of the second that is counted; 0: the place is free */
    unsigned count;   /* in this second */
  } places[WRONG_EVIDENCE_SETS][WRONG_EVIDENCE_WAYS];
};

void wrong_evidence_init(struct wrong_evidence *wrong);
void wrong_evidence_fini(struct wrong_evidence *wrong);
/* Counts a refusal. is_wrong: the client has shown wrong evidence; otherwise it has shown none. Returns the
 * milliseconds by which the refusal must be delayed: 0 or WRONG_EVIDENCE_DELAY_MS. now_ms: clock_now_ms. */
int64_t wrong_evidence_count(struct wrong_evidence *wrong, const struct rpc_address *address, bool is_wrong,
                             int64_t now_ms);

#endif
