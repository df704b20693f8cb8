#ifndef JPEER_NET_ZEROMQ_ZEROMQ_STATE_H
#define JPEER_NET_ZEROMQ_ZEROMQ_STATE_H
/*
 * The state of a ZeroMQ router. Shared by zeromq_router.c (the socket and the turns) and zeromq_identity.c (identities,
 * their requests and answers). All of it is used under zeromq->lock, except as comments say.
 */
#include "base/curve_keys.h"
#include "base/transitions.h"
#include "net/zeromq/zeromq_router.h"
#include "net/zeromq/zeromq_zap.h"

#include <pthread.h>
#include <stdatomic.h>
#include <zmq.h>

enum {
  ROUTING_ID_MAX = 255,
  IDENTITY_BUCKETS = 1024,
  /* After this many answers a turn sends them, so that the client can work on them while the next answers are
   * made. */
  ANSWERS_MAX = 32,
  /* The number of answers that libzmq holds for a client that does not read. The bytes of answers larger than
   * COUNTED_ABOVE are counted: they may be half of send_buffer_max, or a single answer. */
  PIPE_ANSWERS_MAX = 1024,
  COUNTED_ABOVE = 1024
};

enum zeromq_fault { ZEROMQ_FINE, ZEROMQ_EMPTY, ZEROMQ_MULTI_PART, ZEROMQ_TOO_LONG };

struct zeromq_answer {
  zmq_msg_t message; /* to be closed, or passed on, by the owner of the answer */
  size_t size;
  bool delimiter;   /* an empty frame precedes the message */
  uint64_t audited; /* the last line of the audit that has to be in the file before it leaves; 0: none */
};

/* A request that waits or is being served. While it is being served, the thread that owns the identity reads the
 * payload and writes the answer without the lock. An answered request has no payload. */
struct zeromq_pending {
  struct zeromq_pending *next;
  zmq_msg_t payload;
  size_t size;
  enum zeromq_fault fault;
  bool passes_input;  /* refused because of input_max_total */
  bool delimiter;     /* an empty frame preceded the payload */
  int64_t since_ms;   /* crew_message.since_ms */
  int64_t arrived_ns; /* crew_message.arrived_ns */
  int64_t
      expires_ms; /* when the request has waited too long (clock_now_ms); INT64_MAX: never; 0: not computed
                   * yet */
  /* Why it is answered at that time. */
  enum rpc_call_cause cause;
  bool has_ids;
  struct buffer ids; /* of its requests (rpc_codec.list_ids), if has_ids */
  struct zeromq_answer answer;
};

/* An answer that waits because the identity's pipe was full, or because its line of the audit is not in the file yet. */
struct zeromq_held {
  struct zeromq_held *next;
  struct zeromq_answer answer;
};

/*
 * The state of an identity, under zeromq->lock.
 *   | state    | meaning                                          | what ends it                                      |
 *   | FREE     | it is on the free list                           | zeromq_identity_get, for a routing id             |
 *   | FILED    | it is in its bucket; no thread is in its turn    | a turn; zeromq_identity_release                   |
 *   | OWNED    | a thread is in its turn, and reads the first     | that thread, at the end of its turn;              |
 *   |          | request without the lock                         | zeromq_refuse_rest; the watcher, which answers a  |
 *   |          |                                                  | call that was ended, or reclaims the identity     |
 *   | REFUSED  | as OWNED, and zeromq_refuse_rest or the watcher  | that thread, which drops the request and its      |
 *   |          | has answered the first request                   | answer; the watcher, which reclaims the identity  |
 */
enum zeromq_identity_state {
  ZEROMQ_IDENTITY_FREE,   /* the identity is on the free list */
  ZEROMQ_IDENTITY_FILED,  /* the identity is in its bucket, and no thread is in its turn */
  ZEROMQ_IDENTITY_OWNED,  /* a thread is in the turn of the identity */
  ZEROMQ_IDENTITY_REFUSED /* a thread is in the turn, and the request that it serves was answered already */
};

static const uint16_t zeromq_identity_transitions[] = {
    [ZEROMQ_IDENTITY_FREE] = TO(ZEROMQ_IDENTITY_FILED),
    [ZEROMQ_IDENTITY_FILED] = TO(ZEROMQ_IDENTITY_OWNED) | TO(ZEROMQ_IDENTITY_FREE),
    [ZEROMQ_IDENTITY_OWNED] = TO(ZEROMQ_IDENTITY_FILED) | TO(ZEROMQ_IDENTITY_REFUSED),
    [ZEROMQ_IDENTITY_REFUSED] = TO(ZEROMQ_IDENTITY_OWNED),
};

/* An identity that has requests, held answers, or answers that are lent to libzmq. An identity without these is moved
 * to a free list and not freed, because its memory must remain a valid source (net/workers/crew.h). */
struct zeromq_identity {
  struct crew_source source;
  struct zeromq_router *zeromq;
  struct zeromq_identity *next; /* in its bucket, or on the free list */
  struct zeromq_pending *first, *last;
  size_t pending;
  struct zeromq_pending *first_answer, *last_answer; /* answers of the current turn that were not sent yet */
  size_t answer_count, answer_bytes;
  enum zeromq_identity_state state;
  struct rpc_worker *worker; /* the owner's; NULL: the watcher */
  const struct rpc_client
      *client; /* the client of the owner's turn, for lines of the audit; NULL: none is open, or there is
                                    * no audit */
  struct zeromq_held *first_held, *last_held;
  size_t held_bytes;
  bool is_long; /* its first request has lasted for a while, so the watcher visits the requests that arrive */
  _Atomic size_t lent_bytes; /* bytes of counted answers that libzmq has not sent yet; libzmq's threads
                              * subtract the sent bytes */
  _Atomic bool wants_bytes;  /* libzmq's threads have to submit the socket when lent_bytes is low enough */
  struct zeromq_identity *next_full;
  bool in_full; /* in the queue of identities whose pipe was full; in any state */
  size_t routing_id_length;
  unsigned char routing_id[ROUTING_ID_MAX];
};

struct zeromq_router {
  struct crew_source source; /* the socket's descriptor */
  struct zeromq_config config;
  struct crew *crew;
  bool has_curve;          /* constant: TCP needs CURVE */
  struct curve_keys curve; /* the peer's pair, if has_curve */
  struct zeromq_zap *zap;  /* NULL without CURVE */
  void *context;
  int fd;

  pthread_mutex_t lock;
  void *socket; /* NULL once closed */
  struct zeromq_identity *buckets[IDENTITY_BUCKETS];
  struct zeromq_identity *last_filed; /* the last result of zeromq_identity_get; NULL: none yet */
  struct zeromq_identity *free_identities;
  struct zeromq_pending *free_pending;
  size_t free_pending_count;
  size_t pending_bytes; /* of all requests */
  size_t answering;     /* identities with unsent answers of their current turn */
  size_t holding;       /* identities with held answers */
  /* The queue of identities with held answers. It may also have identities with lent bytes only, or with neither. */
  struct zeromq_identity *first_full, *last_full;
  size_t full_count;
};

/* Under zeromq->lock. */
static inline void zeromq_identity_set_state(struct zeromq_identity *identity, enum zeromq_identity_state to)
{
  assert(mutex_is_locked(&identity->zeromq->lock));
  ASSERT_TRANSITION(zeromq_identity_transitions, identity->state, to);
  identity->state = to;
}
static inline bool zeromq_identity_is_owned(const struct zeromq_identity *identity)
{
  return identity->state == ZEROMQ_IDENTITY_OWNED || identity->state == ZEROMQ_IDENTITY_REFUSED;
}

/* The turn of an identity, and the watcher's part for an identity whose call was ended (zeromq_router.c). */
void zeromq_identity_turn(struct crew_source *source, struct crew_member *member);
extern const struct crew_call_ops zeromq_identity_call_ops;

/* --- zeromq_identity.c --- */

/* The identity with this routing id; makes the identity if there is none. NULL: no memory. */
struct zeromq_identity *zeromq_identity_get(struct zeromq_router *zeromq, const void *routing_id,
                                            size_t length);
/* Moves the identity to the free list if it has no requests and answers any more. If libzmq still has lent bytes, a
 * later tick does so. */
void zeromq_identity_release(struct zeromq_identity *identity);
/* Makes a request with an initialised, empty payload. NULL: no memory. */
struct zeromq_pending *zeromq_pending_create(struct zeromq_router *zeromq);
/* Closes the request's payload and frees the request. */
void zeromq_pending_destroy(struct zeromq_router *zeromq, struct zeromq_pending *pending);
void zeromq_identity_push(struct zeromq_identity *identity, struct zeromq_pending *pending);
/* Removes the first request; the caller owns it. */
struct zeromq_pending *zeromq_identity_pop(struct zeromq_identity *identity);
/* Removes the request after `before`; the caller owns the removed request. */
struct zeromq_pending *zeromq_identity_pop_after(struct zeromq_identity *identity,
                                                 struct zeromq_pending *before);
/* Takes an answered request that was removed from the queue, and keeps it until the turn sends its answers. Closes its
 * payload. */
void zeromq_identity_push_answer(struct zeromq_identity *identity, struct zeromq_pending *pending);
/* Makes an answer, on the thread that has made its line of the audit. The bytes of an answer larger than COUNTED_ABOVE are counted until libzmq frees them. */
void zeromq_make_answer(struct zeromq_answer *answer, const struct buffer *bytes, bool delimiter);
/* Takes the answer and sends it. Holds it if the pipe is full, if libzmq has too many bytes already, or if its line of the
 * audit is not written within milliseconds: a thread that may wait calls zeromq_settle_audit before. Drops it if the client
 * has disconnected. */
void zeromq_deliver(struct zeromq_identity *identity, struct zeromq_answer *answer);
/* Returns when the lines of this thread are in the audit. Releases the lock for that time, because a write may hang. */
void zeromq_settle_audit(struct zeromq_router *zeromq);
/* Delivers the answers that zeromq_identity_push_answer has kept, of one identity or of all. */
void zeromq_send_answers(struct zeromq_identity *identity);
void zeromq_send_all_answers(struct zeromq_router *zeromq);
/* Sends held answers again, for at most `most` identities of the queue. */
void zeromq_resume_held(struct zeromq_router *zeromq, size_t most);
/*
 * Must end each locked section that has used the socket: reads the socket's events (zeromq_router.h). True: there is
 * input to receive. is_dry: the section's last receive has found no message, so the events need not be read. Reading
 * the events also makes libzmq notice that a full pipe has room again, so held answers are sent then.
 */
bool zeromq_has_input(struct zeromq_router *zeromq, bool is_dry);
/* Frees all identities and requests. */
void zeromq_identities_fini(struct zeromq_router *zeromq);

#endif
