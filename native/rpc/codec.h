#ifndef JPEER_RPC_CODEC_H
#define JPEER_RPC_CODEC_H
/*
 * A codec: one form of messages, from bytes to operations and from outcomes to bytes. Transports call the
 * functions below for every form. A new codec is a folder (rpc/NAME, with a `const struct rpc_codec
 * rpc_codec_NAME`) and a row of the table at the end of this header; nothing else of the core or of the
 * transports changes.
 */
#include "base/buffer.h"
#include "base/status.h"
#include "base/text.h"
#include "op/outcome.h"

struct rpc_callback_form;
struct rpc_peer;
/* what a crew member needs to serve messages. The service makes it; only the member's own thread uses it */
struct rpc_worker;
struct rpc_client; /* the sender: a connection, an HTTP request, or a message of a ZeroMQ identity */

enum rpc_served {
  RPC_REPLY,    /* an answer was appended */
  RPC_NO_REPLY, /* notifications only */
  RPC_STREAM,   /* the answer's head was appended; the stream delivers the rest */
  RPC_FAILED,   /* the answer that was appended is an error; HTTP status 500 */
  /* the answer that was appended is an error, because HTTP GET may not run this procedure; HTTP status 405 */
  RPC_NOT_SAFE
};

/* The rest of an answer. The transport reads `body` until JP_CLOSED and then appends `tail`. It closes `body`
 * in any case, even after a failure. */
struct rpc_stream {
  struct outcome_body body;
  /* in the worker's memory, and valid until the worker's next `serve`. A transport that sends the tail later
   * copies it */
  struct text tail;
};

/* Which of the reserved threads serves a message while every other thread is inside Java (net/workers/crew.h). */
enum rpc_lane {
  RPC_LANE_ALL,     /* none: the message waits */
  RPC_LANE_CONTROL, /* a single brief control request */
  RPC_LANE_META,    /* a single query of metadata or descriptions of classes */
  RPC_LANES
};

/* Why input is not a message. */
enum rpc_rejection {
  RPC_REJECT_UNREADABLE,
  RPC_REJECT_INVALID,
  /* the message was not read to its end: the input of other clients leaves no room for it */
  RPC_REJECT_OVERLOADED
};

/* What HTTP has to know about a form of messages. Any thread. */
struct rpc_http_facts {
  /* True if the version of the message makes the request's Accept header binding. NULL: no version makes it
   * binding. */
  bool (*obeys_accept)(struct text message);
  /* Returns the service's own description, for GET /openrpc.json. The description is borrowed, and valid as
   * long as the service. NULL: there is no description. */
  struct text (*document)(void *context);
  /* Appends a plain text about the service and how to call it, for GET /help. NULL: there is no text. */
  void (*write_help)(void *context, struct buffer *out);
};

/* Why a call of a member is ended before it returns. */
enum rpc_call_cause {
  RPC_CALL_RETURNS,   /* the call was not ended */
  RPC_CALL_TIMED_OUT, /* options.timeout, or call-timeout */
  RPC_CALL_CANCELLED, /* control cancel */
  RPC_CALL_LEFT       /* its client has left */
};

/* The functions of the transport for a message that is answered while another message is being served. */
struct rpc_beside {
  void *state;
  /* Ends the request with this id, which runs or waits. False: no request has this id. */
  bool (*cancel)(void *state, struct text id);
  /* True if the sender may end the calls of other clients. Used only if serve_beside has no client; otherwise the
   * client's principal decides. */
  bool is_admin;
  const struct rpc_client *sender; /* for the audit, likewise; NULL: not known */
};

struct rpc_codec {
  const char *name;

  /* --- state of the codec; each function may be NULL --- */

  /* Called when the peer gets its JVM; the peer keeps *state until stop. */
  enum jp_status (*start)(struct rpc_peer *peer, void **state, struct jp_error *error);
  void (*stop)(void *state);
  /* Called for each worker. NULL: no memory. */
  void *(*worker_create)(void);
  void (*worker_destroy)(void *state);

  /* --- messages; context is the service's. client: the sender, for the audit; NULL: not known --- */

  /* True if the first bytes can only belong to this form. NULL: the codec accepts all messages that no other
   * codec recognizes. Any thread. */
  bool (*recognizes)(struct text message);
  /*
   * Serves one message (a request, a notification or a batch) and appends the answer to out. reply_max: in a
   * longer answer the result becomes a ref, or an error takes its place (0: no limit). In a batch this holds for
   * each request whose answer makes the batch's answer too long. JSON-RPC sends a result that is no object
   * (such as a number, null or void) even then, because an error would not be shorter, so an answer, mostly a
   * batch's, may exceed the limit. The limit applies to answers in memory, not to streamed answers. *stream is
   * filled in for RPC_STREAM, which is returned only on a channel that may stream (rpc/channel.h). stream NULL:
   * the answer must be complete in out.
   */
  enum rpc_served (*serve)(void *context, struct rpc_worker *worker, struct rpc_client *client,
                           struct text message, struct buffer *out, size_t reply_max,
                           struct rpc_stream *stream);
  /* Answers the message if this is possible without Java. True: the message was answered, because it was a
   * single ping. Any thread, no worker. */
  bool (*serve_without_worker)(void *context, const struct rpc_client *client, struct text message,
                               struct buffer *out, enum rpc_served *served);
  /* Called while another message of the client is being served. Answers the message if it need not wait.
   * True: it was answered, because it was a single `control share_session` or `control cancel`. False: the
   * message waits for its turn, and nothing was written. Any thread, no worker, while the client is open;
   * Java does not run in it. client NULL: only `control cancel` is answered. serve_beside NULL: every message
   * waits. */
  bool (*serve_beside)(void *context, struct rpc_client *client, const struct rpc_beside *beside,
                       struct text message, struct buffer *out);
  /* Appends the ids of the requests of a message, except notifications, in the form that rpc_beside.cancel
   * receives. Each id is followed by a line break, which no id contains. Any thread. NULL if serve_beside is
   * NULL. */
  void (*list_ids)(void *context, struct text message, struct buffer *ids);
  /* True if the message, which is being served, is a batch of requests. Any thread. NULL: the form has no
   * batches. */
  bool (*is_batch)(struct text message);
  /* The time in ms for which a message may wait. After this time all its requests have timed out: the result
   * is the longest timeout of its requests (options.timeout, and call-timeout for a call of a member). 0: a
   * request has no timeout, or the bytes are not a message. Any thread. NULL if answer_ended is NULL. */
  int64_t (*find_timeout)(void *context, struct text message);
  /* Answers every request of the message with the error of a call that was ended (rpc_service.end_call). is_served: a
   * thread serves the message, and has not returned. Any thread. answer_ended NULL: the message is answered when its
   * thread returns. */
  enum rpc_served (*answer_ended)(void *context, const struct rpc_client *client, struct text message,
                                  enum rpc_call_cause cause, bool is_served, struct buffer *out);
  /* The lane of a message. Any thread, no worker. NULL: RPC_LANE_ALL. */
  enum rpc_lane (*lane)(void *context, struct text message);
  /* Answers every request of the message with an error of this text ("busy: ...", "the peer is shutting
   * down"). Any thread, no worker. */
  enum rpc_served (*refuse)(void *context, const struct rpc_client *client, struct text message,
                            const char *reason, struct buffer *out);
  /* The same with the error of a denial: the sender may not use the peer. NULL: as `refuse`. */
  enum rpc_served (*deny)(void *context, const struct rpc_client *client, struct text message,
                          const char *reason, struct buffer *out);
  /* Appends an error with this text as the answer to input that could not be read as a message. beginning:
   * the part of the message that was received. The error has the id of the message if `beginning` contains
   * it. Any thread. */
  void (*reject)(void *context, const struct rpc_client *client, enum rpc_rejection rejection,
                 struct text beginning, const char *reason, struct buffer *out);

  const struct rpc_http_facts *http; /* NULL: HTTP does not carry this form */
  /* The form's messages of callbacks (rpc/callbacks/callback_form.h); NULL: the form has no callbacks. */
  const struct rpc_callback_form *callbacks;
};

/* ---- the table of codecs ---- */

#define RPC_CODEC_TABLE(ROW)                                                                                 \
  ROW(JSONRPC, jsonrpc)                                                                                      \
  ROW(COLFER, colfer)

#define RPC_CODEC_ID(id, name) RPC_CODEC_##id,
enum rpc_codec_id { RPC_CODEC_TABLE(RPC_CODEC_ID) RPC_CODECS };
#undef RPC_CODEC_ID

/* The codecs of the peer, by enum rpc_codec_id: peer.c. */
extern const struct rpc_codec *const rpc_codecs[RPC_CODECS];

static inline bool rpc_codec_is_batch(const struct rpc_codec *codec, struct text message)
{
  return codec->is_batch != NULL && codec->is_batch(message);
}

/* Finds the codec of a message, for a transport that carries several forms. codecs: as rpc_codecs; an entry
 * is NULL if the service lacks the codec. */
static inline const struct rpc_codec *rpc_codec_of(const struct rpc_codec *const *codecs, struct text message)
{
  const struct rpc_codec *other = NULL;
  for (size_t i = 0; i < RPC_CODECS; i++) {
    if (codecs[i] == NULL)
      continue;
    if (codecs[i]->recognizes == NULL)
      other = codecs[i];
    else if (codecs[i]->recognizes(message))
      return codecs[i];
  }
  return other;
}

#endif
