#ifndef JPEER_RPC_PEER_STATE_H
#define JPEER_RPC_PEER_STATE_H
/* State of the peer, its workers and its clients that the core's files and the codecs share. Private to
 * them. */
#include "rpc/call_watch.h"
#include "rpc/collector.h"
#include "rpc/jvm_figures.h"
#include "rpc/meta/meta.h"
#include "rpc/peer.h"
#include "rpc/request_counts.h"
#include "rpc/run.h"

#include <stdatomic.h>

struct nested_workers;
struct rpc_callbacks_list;
struct rpc_process;

struct rpc_peer {
  struct rpc_peer_config config;
  struct jvm *jvm; /* NULL before rpc_peer_attach */
  struct rpc_sessions *sessions;
  struct rpc_meta *meta; /* NULL: metadata is not served */
  struct rpc_service service;
  void *codec_states[RPC_CODECS]; /* of rpc_codec.start; NULL before rpc_peer_attach */
  _Atomic uint64_t clients;       /* so far */
  _Atomic uint64_t messages;      /* that have named a session, so far */
  const char *const *addresses;   /* borrowed, NULL-terminated; NULL: no addresses were set */
  struct rpc_callbacks_list *callbacks;
  struct rpc_collector *collector;
  _Atomic size_t callback_threads; /* the peer's own threads that wait in calls */
  struct nested_workers *nested_workers;
  struct rpc_jvm_figures *jvm_figures;
  /* For GET /metrics: */
  struct rpc_request_counts shared_counts; /* of requests without a crew member's worker */
  _Atomic uint64_t callback_calls;         /* begun so far */
  _Atomic uint64_t callback_calls_ended;
};

/* Each crew member has a worker, which its thread uses. There are also workers without a thread
 * (rpc/callbacks/nested_workers.h). */
struct rpc_worker {
  struct rpc_runner runner;
  void *codec_states[RPC_CODECS]; /* of rpc_codec.worker_create */
  struct rpc_client *spare;       /* a closed client, reused for the next client of one message; NULL: none */
  uint64_t within; /* the number of the call in which the message being served is nested; 0: in no call */
  /* the client whose message is being served, if its codec has callbacks; otherwise NULL */
  const struct rpc_client *served;

  /* For crew members only: */
  struct rpc_call_watch watch;
  const struct rpc_waits *waits; /* NULL: the thread never waits for a client */
  _Atomic bool was_interrupted;  /* the thread was interrupted since it last polled the call in which it
                                  * waits */
  uint32_t number;               /* of all workers so far (worker.c) */
  bool is_lost;                  /* under worker.c's lock */
  struct rpc_address lost_of;    /* the address of the client that the lost thread serves */
  uint32_t lost_principal;       /* and the number of its principal, by which it counts; 0: owner */
  struct rpc_request_counts counts;
  struct rpc_worker *next; /* in the list of the workers of all crews: worker.c */
  struct rpc_worker **link;
};

struct rpc_client {
  enum op_channel channel;
  bool only_safe;
  _Atomic bool
      is_parted; /* its thread is lost, its request was answered, and another client has replaced it */
  struct principal *principal; /* the principal of the client: held, unless the client is nested. NULL:
                                * owner */
  struct principal_proof proof;
  bool is_stale;              /* its message is meant for another epoch: no request of it runs */
  uint64_t number;            /* unique in the life of the peer */
  uint64_t connection_number; /* of rpc_client_info */
  uint64_t epoch;             /* of the name of its session; 0: not computed yet */
  struct op_session_key key;  /* empty: no other client shares the session */
  /* Held; NULL until it is needed. May be made by a thread that does not serve the client
   * (rpc_client_hold_session). */
  struct rpc_session *_Atomic session;
  struct rpc_session_maker maker;
  uint64_t calls; /* that it has made */
  /* a session that was set aside, and is reused when the client needs a session; NULL: none */
  struct rpc_session *spare;
  const struct rpc_push *push;     /* NULL: the client receives only answers */
  void *connection;                /* for push->open */
  struct rpc_process *process;     /* the process that the client has joined (control session); NULL: none */
  struct rpc_callbacks *callbacks; /* NULL: the client has given no callback, and belongs to no process */
};

/* True if the calls of the client's principal are limited, so that each is counted (rpc_client_enter_call). */
static inline bool rpc_client_counts_calls(const struct rpc_client *client)
{
  return client->principal != NULL && atomic_load_explicit(&client->principal->quotas[PRINCIPAL_CALLS].max,
                                                           memory_order_relaxed) != SIZE_MAX;
}

/* worker.c: rpc_service.spawn, keep_changes, is_exiting and set_waits */
enum jp_status rpc_worker_spawn(void *context, const char *name,
                                void (*run)(void *argument, struct rpc_worker *worker), void *argument,
                                struct jp_error *error);
void rpc_worker_keep_changes(void *context, struct rpc_worker *worker);
bool rpc_worker_is_exiting(void *context, struct rpc_worker *worker);
void rpc_worker_set_waits(void *context, struct rpc_worker *worker, const struct rpc_waits *waits);

/* worker.c: appends the running calls as JSON, for the answer to `control calls`. by: the jvm_thread of the
 * calling thread. Runs no Java except code of the JDK. An interrupt or a name of a listed call is delayed
 * until the call was listed. */
void rpc_workers_list_calls(struct jvm_thread *by, struct arena *arena, struct buffer *list);
/* worker.c: requests the end of the listed call with this number, which is then answered as cancelled. False:
 * the call does not run. Any thread. */
bool rpc_workers_end_call(uint64_t number);

/* worker.c: adds the counts of the peer's workers, and of those that have ended. Any thread. */
void rpc_workers_collect(struct rpc_peer *peer, struct metrics_figures *figures);

/* Counts a request that the runner's thread has answered, or a notification that it has run. */
static inline void rpc_count_request(const struct rpc_runner *runner, enum metrics_method method,
                                     enum metrics_outcome outcome)
{
  if (runner->counts != NULL)
    rpc_count_own(runner->counts, method, outcome);
  else
    rpc_count_shared(&runner->peer->shared_counts, method, outcome);
}

/* worker.c: rpc_service.note_lost and count_lost */
void rpc_worker_note_lost(void *context, struct rpc_worker *worker, bool is_lost);
size_t rpc_workers_count_lost(void *context, const struct rpc_client *client);

/* worker.c: the worker of the calling thread; NULL: the thread is not a crew member. */
struct rpc_worker *rpc_worker_now(void);
/* worker.c: wakes the crew member of this jvm_thread, if it waits; the thread may have ended. */
void rpc_worker_interrupt(struct jvm_thread *thread);
/* worker.c: true if the thread of this worker is exiting. The worker may have ended: it is looked up by
 * its address. */
bool rpc_worker_find_exiting(struct rpc_peer *peer, const struct rpc_worker *worker);

/* worker.c: initialises a worker, which is all zero, for the thread. JP_NO_MEMORY. Call rpc_worker_fini on
 * that thread. */
enum jp_status rpc_worker_init(struct rpc_worker *worker, struct rpc_peer *peer,
                               struct jvm_thread *thread) JP_MUST_CHECK;
void rpc_worker_fini(struct rpc_worker *worker);

/* peer_client.c: rpc_service.client_open, client_close, describe_session, release_unsent and refused */
enum jp_status rpc_client_open(void *context, const struct rpc_client_info *info, struct rpc_client **client,
                               struct jp_error *error);
void rpc_client_close(void *context, struct rpc_worker *worker, struct rpc_client *client,
                      struct rpc_session_info *info);
void rpc_client_describe_session(void *context, struct rpc_client *client, struct rpc_session_info *info);
void rpc_client_release_unsent(void *context, struct rpc_worker *worker, struct rpc_client *client);
void rpc_client_refused(void *context, struct rpc_client *client, struct text message);

/* peer_client.c: rpc_service.part_client */
struct rpc_client *rpc_client_part(void *context, struct rpc_client *client);

/* peer_client.c: the epoch of the client's session. 0: it cannot be computed. */
uint64_t rpc_client_epoch(struct rpc_peer *peer, struct rpc_client *client);
void rpc_epoch_format(uint64_t epoch, char out[RPC_EPOCH_LENGTH + 1]);
/* True if this epoch, as written in a request, is the epoch of the request's session. This is the session
 * that peer_id names or, if peer_id is NULL, the client's session. */
bool rpc_client_is_in_epoch(struct rpc_peer *peer, struct rpc_client *client, const struct uuid *peer_id,
                            struct text epoch);

/* peer_client.c: frees a client that no thread uses, and releases its session. sessions may be NULL if the
 * calling thread may use Java. */
void rpc_client_destroy(struct rpc_sessions *sessions, struct rpc_client *client, struct jvm_thread *thread);

/* peer_client.c: holds the client's session, and makes the session if it does not exist. JP_NO_MEMORY. Any
 * thread, while the client is open. */
enum jp_status rpc_client_hold_session(const struct rpc_peer *peer, struct rpc_client *client,
                                       struct jp_error *error) JP_MUST_CHECK;

#endif
