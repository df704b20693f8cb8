#ifndef JPEER_NET_ZEROMQ_ZEROMQ_STATE_H
#define JPEER_NET_ZEROMQ_ZEROMQ_STATE_H
/*
 * What zeromq.c (the socket and the turns), zeromq_send.c (answers on their way out) and zeromq_identity.c
 * (identities and their queues) share. All of it
 * is used under zeromq->lock, but for what a comment says.
 */
#include "net/zeromq/zeromq.h"

#include <pthread.h>
#include <stdatomic.h>
#include <zmq.h>

enum {
  ROUTING_ID_MAX = 255,
  IDENTITY_BUCKETS = 1024,
  /* What libzmq holds for a client that does not read: so many answers, of which those above a size may come
   * to half of send_buffer_max, or be one. */
  PIPE_ANSWERS_MAX = 1024,
  COUNTED_ABOVE = 1024
};

enum zeromq_fault { ZEROMQ_FINE, ZEROMQ_EMPTY, ZEROMQ_MULTI_PART, ZEROMQ_TOO_LONG };

struct zeromq_answer {
  zmq_msg_t message; /* which its taker closes, or passes on */
  size_t size;
  bool delimiter; /* an empty frame stands before it */
};

/* A request that waits, or runs: then its payload is read, and its answer made, by the thread that owns the
 * identity, without the lock. Once it is answered, it has no payload any more. */
struct zeromq_pending {
  struct zeromq_pending *next;
  zmq_msg_t payload;
  size_t size;
  enum zeromq_fault fault;
  bool passes_input; /* refused for input_max_total */
  bool delimiter;    /* an empty frame stood before the payload */
  int64_t since_ms;  /* crew_message.since_ms */
  struct zeromq_answer answer;
};

/* An answer whose pipe was full. */
struct zeromq_held {
  struct zeromq_held *next;
  struct zeromq_answer answer;
};

/* An identity that has something waiting, running, held or lent. Its memory stays a source for ever
 * (net/workers/crew.h): identities that have nothing any more are kept on a free list. */
struct zeromq_identity {
  struct crew_source source;
  struct zeromq *zeromq;
  struct zeromq_identity *next; /* in its bucket, or on the free list */
  struct zeromq_pending *first, *last;
  size_t pending;
  struct zeromq_pending *first_answer, *last_answer; /* made in a turn that goes on */
  size_t answer_bytes;
  bool owned;                /* a thread is in its turn */
  struct rpc_worker *worker; /* the owner's; NULL: the watcher */
  bool abandoned;            /* what the owner is running was answered by zeromq_refuse_rest */
  struct zeromq_held *first_held, *last_held;
  size_t held_bytes;
  _Atomic size_t lent_bytes; /* of answers that libzmq has not sent, if counted; its threads take from it */
  _Atomic bool wants_bytes;  /* and submit the socket, once half of what may be lent is back */
  struct zeromq_identity *next_full;
  bool in_full;  /* stands in the queue of identities whose pipe was full */
  bool is_filed; /* in its bucket, not on the free list */
  size_t routing_id_length;
  unsigned char routing_id[ROUTING_ID_MAX];
};

struct zeromq {
  struct crew_source source; /* the socket's descriptor */
  struct zeromq_config config;
  struct crew *crew;
  void *context;
  int fd;
  char address[256];

  pthread_mutex_t lock;
  void *socket; /* NULL once closed */
  struct zeromq_identity *buckets[IDENTITY_BUCKETS];
  struct zeromq_identity *free_identities;
  struct zeromq_pending *free_pending;
  size_t free_pending_count;
  size_t pending_bytes; /* of all payloads that wait or run */
  size_t answering;     /* identities with answers of a turn that goes on */
  size_t holding;       /* identities with held answers */
  struct zeromq_identity *first_full,
      *last_full; /* those, some that hold no longer, and some that only lend */
  size_t full_count;
};

/* The turns of the socket itself and of an identity (zeromq.c). */
void zeromq_socket_turn(struct crew_source *source, struct crew_member *member);
void zeromq_identity_turn(struct crew_source *source, struct crew_member *member);

/* --- zeromq_send.c --- */

/* Every answer is made here: one above COUNTED_ABOVE can tell when libzmq is through with it. */
void zeromq_make_answer(struct zeromq_answer *answer, const struct buffer *bytes, bool delimiter);
/* Sends, or holds what the pipe has no room for or libzmq would hold too much with; a client that is gone
 * gets nothing. Takes the answer. */
void zeromq_deliver(struct zeromq_identity *identity, struct zeromq_answer *answer);
/* Delivers what zeromq_identity_push_answer kept, of one or of all. */
void zeromq_send_answers(struct zeromq_identity *identity);
void zeromq_send_all_answers(struct zeromq *zeromq);
/* Tries so many of the full pipes again, each once. */
void zeromq_resume_held(struct zeromq *zeromq, size_t most);
/*
 * Ends every locked section that used the socket: true where it must be received from (zeromq.h). is_dry: the
 * last thing done was to receive, and nothing was there, which is the same look. Looking is also what tells
 * libzmq that a full pipe has room again, so that then is the time to use it.
 */
bool zeromq_has_input(struct zeromq *zeromq, bool is_dry);

/* --- zeromq_identity.c --- */

/* The identity with this routing id, made where there is none; NULL: no memory. */
struct zeromq_identity *zeromq_identity_get(struct zeromq *zeromq, const void *routing_id, size_t length);
/* To the free list, where it has nothing any more; where it only lends, with a later tick. */
void zeromq_identity_release(struct zeromq_identity *identity);
/* A pending request from the free list or the heap, its payload initialised; NULL: no memory. */
struct zeromq_pending *zeromq_pending_take(struct zeromq *zeromq);
/* Closes its payload. */
void zeromq_pending_give_back(struct zeromq *zeromq, struct zeromq_pending *pending);
/* One whose answer was kept and is taken. */
void zeromq_pending_give_back_answered(struct zeromq *zeromq, struct zeromq_pending *pending);
void zeromq_identity_push(struct zeromq_identity *identity, struct zeromq_pending *pending);
/* Removes the first; it is the caller's. */
struct zeromq_pending *zeromq_identity_pop(struct zeromq_identity *identity);
/* Keeps the answer to a request that was taken off the queue, until the turn sends all it has made; closes
 * the payload. Takes it. */
void zeromq_identity_push_answer(struct zeromq_identity *identity, struct zeromq_pending *pending);
/* The first of them, which is the caller's; NULL: none. */
struct zeromq_pending *zeromq_identity_pop_answer(struct zeromq_identity *identity);
/* Moves an answer behind those that are held. False: no memory, or those and what is lent have come above
 * send_buffer_max already; the answer is still the caller's. */
bool zeromq_identity_hold(struct zeromq_identity *identity, struct zeromq_answer *answer);
void zeromq_identity_drop_first_held(struct zeromq_identity *identity);
/* The queue of identities whose held answers are to be tried again. */
void zeromq_full_push(struct zeromq_identity *identity);
struct zeromq_identity *zeromq_full_pop(struct zeromq *zeromq); /* NULL: none */
void zeromq_identity_drop_held(struct zeromq_identity *identity);
/* Frees all identities and pending requests, whatever they have. */
void zeromq_identities_fini(struct zeromq *zeromq);

#endif
