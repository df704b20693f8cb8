#ifndef JPEER_RPC_PEER_STATE_H
#define JPEER_RPC_PEER_STATE_H
/* What the core's files and the codecs share about the peer, its workers and its clients. Not for others. */
#include "rpc/call_watch.h"
#include "rpc/collector.h"
#include "rpc/meta/meta.h"
#include "rpc/peer.h"
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
  _Atomic uint64_t messages;      /* so far, those that have named a session themselves */
  const char *const *addresses;   /* borrowed, NULL-terminated; NULL: none were said */
  struct rpc_callbacks_list *callbacks;
  struct rpc_collector *collector;
  _Atomic size_t callback_threads; /* of the peer's own: those that wait in calls */
  struct nested_workers *nested_workers;
};

/* One a crew member, on its own thread; and those without a thread (rpc/callbacks/nested_workers.h). */
struct rpc_worker {
  struct rpc_runner runner;
  void *codec_states[RPC_CODECS]; /* of rpc_codec.worker_create */
  struct rpc_client *spare;       /* closed, for the next client of one message that is opened; NULL: none */
  uint64_t within; /* the number of the call that the message in hand is nested in; 0: of none */
  const struct rpc_client *served; /* whose message is in hand, of a codec with callbacks; NULL: none is */

  /* Of a crew member's alone: */
  struct rpc_call_watch watch;
  const struct rpc_waits *waits; /* NULL: its thread never waits for a client */
  _Atomic bool was_interrupted;  /* since it last looked at the call that it waits in */
  uint32_t number;               /* of all there have been: worker.c */
  bool is_lost;                  /* under worker.c's lock */
  struct rpc_address lost_of;    /* the client that it serves then */
  struct rpc_worker *next;       /* of all crews: worker.c */
  struct rpc_worker **link;
};

struct rpc_client {
  enum op_channel channel;
  bool only_safe;
  bool is_stale;             /* its message is meant for another epoch: nothing of it runs */
  uint64_t number;           /* in the life of the peer */
  uint64_t epoch;            /* of its session's name; 0: not computed yet */
  struct op_session_key key; /* empty: the session is this client's alone */
  /* Held; NULL until it is needed. Another thread may make it beside the one that serves (rpc_client_hold_session). */
  struct rpc_session *_Atomic session;
  struct rpc_session_maker maker;
  uint64_t calls;                  /* that it has made */
  struct rpc_session *spare;       /* set aside, to be the session when one is needed; NULL: none */
  const struct rpc_push *push;     /* NULL: it gets answers alone */
  void *connection;                /* for push->open */
  struct rpc_process *process;     /* that it has joined (control session); NULL: none */
  struct rpc_callbacks *callbacks; /* NULL: it has given none, and belongs to no process */
};

/* worker.c: rpc_service.spawn, keep_changes, is_exiting and set_waits */
enum jp_status rpc_worker_spawn(void *context, const char *name,
                                void (*run)(void *argument, struct rpc_worker *worker), void *argument,
                                struct jp_error *error);
void rpc_worker_keep_changes(void *context, struct rpc_worker *worker);
bool rpc_worker_is_exiting(void *context, struct rpc_worker *worker);
void rpc_worker_set_waits(void *context, struct rpc_worker *worker, const struct rpc_waits *waits);

/* worker.c: appends the calls of members that run, JSON: what `control calls` is answered. by: the calling thread's. Java
 * does not run in it, except code of the JDK; an interrupt or a name that is due waits for it. */
void rpc_workers_list_calls(struct jvm_thread *by, struct arena *arena, struct buffer *list);
/* worker.c: has the call of this number, as listed, ended as cancelled. False: it does not run. Any thread. */
bool rpc_workers_end_call(uint64_t number);

/* worker.c: rpc_service.note_lost and count_lost */
void rpc_worker_note_lost(void *context, struct rpc_worker *worker, bool is_lost);
size_t rpc_workers_count_lost(void *context, const struct rpc_client *client);

/* worker.c: the crew member's worker whose thread this is; NULL: another thread. */
struct rpc_worker *rpc_worker_now(void);
/* worker.c: wakes the crew member of this jvm_thread, if it waits; the thread may have ended. */
void rpc_worker_interrupt(struct jvm_thread *thread);
/* worker.c: true where the thread of this worker is exiting. The worker may have ended: it is looked for. */
bool rpc_worker_find_exiting(struct rpc_peer *peer, const struct rpc_worker *worker);

/* worker.c: makes a worker, which is all zero, one for the thread. JP_NO_MEMORY. rpc_worker_fini is called on that thread. */
enum jp_status rpc_worker_init(struct rpc_worker *worker, struct rpc_peer *peer,
                               struct jvm_thread *thread) JP_MUST_CHECK;
void rpc_worker_fini(struct rpc_worker *worker);

/* peer_client.c: rpc_service.client_open, client_close, client_tell, take_back and refused */
enum jp_status rpc_client_open(void *context, const struct rpc_client_info *info, struct rpc_client **client,
                               struct jp_error *error);
void rpc_client_close(void *context, struct rpc_worker *worker, struct rpc_client *client,
                      struct rpc_told_session *told);
void rpc_client_tell(void *context, struct rpc_client *client, struct rpc_told_session *told);
void rpc_client_take_back(void *context, struct rpc_worker *worker, struct rpc_client *client);
void rpc_client_refused(void *context, struct rpc_client *client, struct text message);

/* peer_client.c: rpc_service.part_client */
struct rpc_client *rpc_client_part(void *context, struct rpc_client *client);

/* peer_client.c: the epoch of the client's session. 0: it cannot be computed. */
uint64_t rpc_client_epoch(struct rpc_peer *peer, struct rpc_client *client);
void rpc_epoch_format(uint64_t epoch, char out[RPC_EPOCH_LENGTH + 1]);
/* Whether a request for this epoch, as written, is one for this client's session, or for the session of the peer-id
 * that it names itself (NULL: none). */
bool rpc_client_is_in_epoch(struct rpc_peer *peer, struct rpc_client *client, const struct uuid *peer_id,
                            struct text epoch);

/* peer_client.c: frees a client that nobody uses, whose session is released. sessions NULL: from a thread that may
 * use Java. */
void rpc_client_destroy(struct rpc_sessions *sessions, struct rpc_client *client, struct jvm_thread *thread);

/* peer_client.c: holds the client's session, made where there is none. JP_NO_MEMORY. Any thread, while the client is open. */
enum jp_status rpc_client_hold_session(const struct rpc_peer *peer, struct rpc_client *client,
                                       struct jp_error *error) JP_MUST_CHECK;

#endif
