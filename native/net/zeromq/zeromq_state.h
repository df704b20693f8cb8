#ifndef JPEER_NET_ZEROMQ_ZEROMQ_STATE_H
#define JPEER_NET_ZEROMQ_ZEROMQ_STATE_H
/*
 * What zeromq_router.c (the socket and the turns) and zeromq_identity.c (identities, their requests, and their
 * answers on their way out) share. Everything is used under zeromq->lock unless a comment says otherwise.
 */
#include "base/transitions.h"
#include "net/zeromq/zeromq_router.h"

#include <pthread.h>
#include <stdatomic.h>
#include <zmq.h>

enum {
  ROUTING_ID_MAX = 255,
  IDENTITY_BUCKETS = 1024,
  /* A turn sends so many answers before its end: their client works on them while it makes the next. */
  ANSWERS_MAX = 32,
  /* libzmq holds so many answers for a client that does not read. Those above a size are counted, and may
   * come to half of send_buffer_max, or be a single one. */
  PIPE_ANSWERS_MAX = 1024,
  COUNTED_ABOVE = 1024
};

enum zeromq_fault { ZEROMQ_FINE, ZEROMQ_EMPTY, ZEROMQ_MULTI_PART, ZEROMQ_TOO_LONG };

struct zeromq_answer {
  zmq_msg_t message; /* whoever takes the answer closes it, or passes it on */
  size_t size;
  bool delimiter; /* an empty frame goes before it */
};

/* A request that waits or runs. While it runs, the thread that owns the identity reads its payload and makes
 * its answer without the lock. An answered request has no payload. */
struct zeromq_pending {
  struct zeromq_pending *next;
  zmq_msg_t payload;
  size_t size;
  enum zeromq_fault fault;
  bool passes_input;  /* refused because of input_max_total */
  bool delimiter;     /* an empty frame came before the payload */
  int64_t since_ms;   /* crew_message.since_ms */
  int64_t arrived_ns; /* crew_message.arrived_ns */
  struct zeromq_answer answer;
};

/* An answer that waits because its pipe was full. */
struct zeromq_held {
  struct zeromq_held *next;
  struct zeromq_answer answer;
};

/*
 * Where an identity is, under zeromq->lock.
 *   | state    | what holds                                       | who leaves it, on what                            |
 *   | FREE     | it is on the free list                           | zeromq_identity_get, for a routing id             |
 *   | FILED    | it is in its bucket; nobody is in its turn       | a turn; zeromq_identity_release                   |
 *   | OWNED    | a thread is in its turn: it reads the first      | that thread, at the end of its turn;              |
 *   |          | request without the lock                         | zeromq_refuse_rest                                |
 *   | REFUSED  | the same, but zeromq_refuse_rest has answered    | that thread, which drops the request and its      |
 *   |          | that request                                     | answer                                            |
 */
enum zeromq_identity_state {
  ZEROMQ_IDENTITY_FREE,   /* on the free list */
  ZEROMQ_IDENTITY_FILED,  /* in its bucket, and nobody is in its turn */
  ZEROMQ_IDENTITY_OWNED,  /* a thread is in its turn */
  ZEROMQ_IDENTITY_REFUSED /* the same, and the request that it runs was answered in its place */
};

static const uint16_t zeromq_identity_transitions[] = {
    [ZEROMQ_IDENTITY_FREE] = TO(ZEROMQ_IDENTITY_FILED),
    [ZEROMQ_IDENTITY_FILED] = TO(ZEROMQ_IDENTITY_OWNED) | TO(ZEROMQ_IDENTITY_FREE),
    [ZEROMQ_IDENTITY_OWNED] = TO(ZEROMQ_IDENTITY_FILED) | TO(ZEROMQ_IDENTITY_REFUSED),
    [ZEROMQ_IDENTITY_REFUSED] = TO(ZEROMQ_IDENTITY_OWNED),
};

/* An identity with a request that waits or runs, or with answers that are held, or lent to libzmq. Its memory
 * stays a source for ever (net/workers/crew.h), so an identity that has none of these goes to a free list. */
struct zeromq_identity {
  struct crew_source source;
  struct zeromq_router *zeromq;
  struct zeromq_identity *next; /* in its bucket, or on the free list */
  struct zeromq_pending *first, *last;
  size_t pending;
  struct zeromq_pending *first_answer, *last_answer; /* of the turn that runs, not yet sent */
  size_t answer_count, answer_bytes;
  enum zeromq_identity_state state;
  struct rpc_worker *worker; /* the owner's; NULL: the watcher */
  struct zeromq_held *first_held, *last_held;
  size_t held_bytes;
  _Atomic size_t lent_bytes; /* of counted answers that libzmq has not sent yet; its threads subtract */
  _Atomic bool wants_bytes;  /* libzmq's threads submit the socket once half of what may be lent is back */
  struct zeromq_identity *next_full;
  bool in_full; /* in the queue of identities whose pipe was full, in whatever state */
  size_t routing_id_length;
  unsigned char routing_id[ROUTING_ID_MAX];
};

struct zeromq_router {
  struct crew_source source; /* the socket's descriptor */
  struct zeromq_config config;
  struct crew *crew;
  void *context;
  int fd;

  pthread_mutex_t lock;
  void *socket; /* NULL once closed */
  struct zeromq_identity *buckets[IDENTITY_BUCKETS];
  struct zeromq_identity *last_filed; /* the one that was asked for last; NULL: none yet */
  struct zeromq_identity *free_identities;
  struct zeromq_pending *free_pending;
  size_t free_pending_count;
  size_t pending_bytes; /* of all requests that wait or run */
  size_t answering;     /* identities with answers of a turn that runs */
  size_t holding;       /* identities with held answers */
  /* The queue of identities that hold answers. Some hold none any more, and some have only lent bytes. */
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

/* The turn of an identity (zeromq_router.c). */
void zeromq_identity_turn(struct crew_source *source, struct crew_member *member);

/* --- zeromq_identity.c --- */

/* The identity with this routing id; makes one if there is none. NULL: no memory. */
struct zeromq_identity *zeromq_identity_get(struct zeromq_router *zeromq, const void *routing_id,
                                            size_t length);
/* Puts the identity on the free list if it has nothing any more. If libzmq still has lent bytes, a later tick
 * does it. */
void zeromq_identity_release(struct zeromq_identity *identity);
/* A pending request from the free list or the heap, its payload initialised; NULL: no memory. */
struct zeromq_pending *zeromq_pending_take(struct zeromq_router *zeromq);
/* Takes back a request, and closes its payload. */
void zeromq_pending_give_back(struct zeromq_router *zeromq, struct zeromq_pending *pending);
void zeromq_identity_push(struct zeromq_identity *identity, struct zeromq_pending *pending);
/* Removes the first request, which is the caller's then. */
struct zeromq_pending *zeromq_identity_pop(struct zeromq_identity *identity);
/* Keeps an answered request that was taken off the queue until the turn sends its answers; closes the
 * payload. Takes the request. */
void zeromq_identity_push_answer(struct zeromq_identity *identity, struct zeromq_pending *pending);
/* Makes an answer. One above COUNTED_ABOVE tells when libzmq frees it. */
void zeromq_make_answer(struct zeromq_answer *answer, const struct buffer *bytes, bool delimiter);
/* Sends the answer, or holds it if the pipe is full or libzmq holds too many bytes already. Drops it if the
 * client is gone. Takes the answer. */
void zeromq_deliver(struct zeromq_identity *identity, struct zeromq_answer *answer);
/* Delivers the answers that zeromq_identity_push_answer has kept, of one identity or of all. */
void zeromq_send_answers(struct zeromq_identity *identity);
void zeromq_send_all_answers(struct zeromq_router *zeromq);
/* Tries again to send to as many identities of the queue, each once. */
void zeromq_resume_held(struct zeromq_router *zeromq, size_t most);
/*
 * Ends every locked section that used the socket: it reads the socket's events. True: there is input to
 * receive (zeromq_router.h). is_dry: the section has just tried to receive and found nothing, so the events need not
 * be read. Reading the events also makes libzmq notice that a full pipe has room again, so held answers are
 * sent then.
 */
bool zeromq_has_input(struct zeromq_router *zeromq, bool is_dry);
/* Frees all identities and requests. */
void zeromq_identities_fini(struct zeromq_router *zeromq);

#endif
