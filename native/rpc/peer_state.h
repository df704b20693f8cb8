#ifndef JPEER_RPC_PEER_STATE_H
#define JPEER_RPC_PEER_STATE_H
/* What the files of this folder share about the peer, its workers and its clients. Not for other folders. */
#include "jsonrpc/jsonrpc.h"
#include "rpc/describe/describe.h"
#include "rpc/describe/openrpc.h"
#include "rpc/fastpath/shape_cache.h"
#include "rpc/members/java_methods_index.h"
#include "rpc/meta/meta.h"
#include "rpc/peer.h"
#include "rpc/run.h"

#include <stdatomic.h>

struct rpc_peer {
  struct rpc_peer_config config;
  struct jvm *jvm; /* NULL before rpc_peer_attach */
  struct rpc_sessions *sessions;
  struct rpc_meta *meta; /* NULL: metadata is not served */
  struct openrpc *openrpc;
  struct java_methods_index *methods; /* of the application, that were called by their own names */
  struct rpc_service service;
  _Atomic uint64_t clients;     /* so far, those whose session has no key */
  _Atomic uint64_t messages;    /* so far, those that have named a session themselves */
  const char *const *addresses; /* borrowed, NULL-terminated; NULL: none were said */
};

/* One a crew member, on its own thread. */
struct rpc_worker {
  struct rpc_runner runner;
  struct buffer scratch; /* for text within text */
  struct rpc_repeats repeats;
  struct rpc_client *spare; /* closed, for the next HTTP request that opens one; NULL: none */
};

/* peer.c: a worker on the thread that it is for. rpc_worker_fini is called there, too. */
void rpc_worker_init(struct rpc_worker *worker, struct rpc_peer *peer, struct jvm_thread *thread);
void rpc_worker_fini(struct rpc_worker *worker);

struct rpc_client {
  enum op_channel channel;
  bool only_safe;
  struct rpc_session_key key;  /* empty: the session is this client's alone */
  struct rpc_session *session; /* held; NULL until it is needed */
  struct rpc_session_maker maker;
  struct rpc_session *spare; /* set aside by a client that had this memory before; NULL: none */
};

/* peer.c: holds the client's session, made where there is none. JP_NO_MEMORY. */
enum jp_status rpc_client_hold_session(struct rpc_peer *peer, struct rpc_client *client,
                                       struct jp_error *error) JP_MUST_CHECK;

/* serve.c */
enum rpc_served rpc_peer_serve(void *context, struct rpc_worker *worker, struct rpc_client *client,
                               struct text message, struct buffer *out, bool may_stream, size_t reply_max,
                               struct rpc_stream *stream);

/* rpc_service.take_back */
void rpc_peer_take_back(void *context, struct rpc_worker *worker, struct rpc_client *client);

/* answer.c: what needs no worker */
bool rpc_peer_serve_ping(void *context, struct text message, struct buffer *out, enum rpc_served *served);
enum rpc_served rpc_peer_refuse(void *context, struct text message, const char *reason, struct buffer *out);
void rpc_peer_reject(void *context, int code, struct text beginning, const char *reason, struct buffer *out);
bool rpc_peer_is_1_1(void *context, struct text message);
enum rpc_served rpc_served_as(enum jsonrpc_handled handled);
/* An answer to malformed JSON as --compat pal gives it: with the id that can be made out. fault: the byte. */
void rpc_peer_reject_malformed(struct text message, size_t fault, struct buffer *out);
/* The data of an error with no throwable. */
void rpc_message_data_write(struct buffer *out, struct text message, struct text id, bool compat_pal);
struct json_limits rpc_peer_json_limits(const struct rpc_peer *peer);

#endif
