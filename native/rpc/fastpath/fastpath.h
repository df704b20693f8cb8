#ifndef JPEER_RPC_FASTPATH_FASTPATH_H
#define JPEER_RPC_FASTPATH_FASTPATH_H
/*
 * The fast path: requests that are repeated with other values. A program that calls in a loop sends the same
 * text many times, with other numbers and strings in it. The fast path keeps the shape of a text (the text
 * with holes instead of its values) and the operation of the text. A text that fits the shape is the same
 * operation with other values and is not parsed. If all its values and its result are whole numbers, the fast
 * path also keeps the Java member and the text of the answer, and only runs the call.
 *
 * A codec calls three functions: find, keep, serve. The functions are optional: if they find or keep nothing,
 * a request takes the general path, which parses all of it, resolves its member, asks the policy and writes
 * its answer. The fast path makes no decisions: verdicts, conversions and answers are the same as on the
 * general path. It knows the bytes of a message, the JSON literals in them and operations, but neither
 * envelopes nor method names.
 *
 * For one worker, on its own thread; fixed memory.
 */
#include "base/buffer.h"
#include "jni/members.h"
#include "op/operation.h"

struct rpc_fastpath;
struct rpc_runner;
struct rpc_client;

/* A request that fits a shape. */
struct rpc_cached_request {
  struct text id;      /* as written; data NULL: none */
  struct text peer_id; /* the session that the request names; data NULL: none */
  /* the epoch for which the request is meant; the codec checks it each time; data NULL: none */
  struct text epoch;
  bool is_notification;
  size_t depth; /* the maximal depth of nested arrays and objects */
  /* the id of the client's object that an argument gives; the codec counts it each time; 0: none */
  int64_t callback;
  struct operation operation;
};

/*
 * Finds the request of a text. length NULL: the whole text is the request. Otherwise the text begins with the
 * request, and *length becomes the size of the request in bytes. Returns NULL if the text fits no shape. The
 * result borrows from the text and the arena, and is valid until the next call of rpc_fastpath_find or
 * rpc_fastpath_keep. fastpath may be NULL.
 */
struct rpc_cached_request *rpc_fastpath_find(struct rpc_fastpath *fastpath, struct text text,
                                             struct arena *arena, size_t *length);

/* The places of the values in a text. */
struct rpc_value_places {
  struct text instance;  /* as written, if the operation has an instance */
  struct text arguments; /* the JSON list of arguments, or of an OP_PUT the JSON value; data NULL: none */
};

/* A request that the general path has read from a text without finding a fault. */
struct rpc_read_request {
  struct text text;    /* of this request only */
  struct text id;      /* as written, in the text; data NULL: none */
  struct text peer_id; /* as in rpc_cached_request */
  struct text epoch;   /* as in rpc_cached_request */
  bool is_notification;
  const struct operation *operation;
  const void *message; /* the codec's form of the request, for find_places */
  void (*find_places)(const void *message, const struct operation *operation,
                      struct rpc_value_places *places);
};

/*
 * Keeps the shape of a request, if possible. The arguments must be scalars, lists of scalars of one kind, and
 * at most one callback without lists of names. Requests with escapes in names, with long texts, or for
 * metadata cannot be kept. *fastpath is NULL before the first call, which allocates it; the worker frees it
 * with free().
 */
void rpc_fastpath_keep(struct rpc_fastpath **fastpath, const struct rpc_read_request *request);

/* An answer that the codec has just written: the member that was reached and the answer's text, split at
 * the id and at the whole number. */
struct rpc_written_answer {
  struct resolved_member *member; /* NULL: the answer cannot be a template */
  struct text before_id;
  struct text after_id; /* up to the whole number, or to the end */
  bool has_number;
  struct text after_number;
};

struct rpc_cached_call {
  struct rpc_runner *runner;
  struct rpc_client *client;
  size_t reply_max; /* rpc/codec.h */
  struct buffer *out;
  void *context; /* the codec's own */
  /*
   * Appends the answer on the general path. failed NULL: this function first runs the operation. Otherwise
   * the operation was run already and failed with this outcome. False: the request is a notification, which
   * has no answer.
   */
  bool (*answer)(void *context, struct rpc_cached_request *request, const struct outcome *failed,
                 struct rpc_written_answer *written);
};

/* Serves the request that rpc_fastpath_find has just returned: appends its answer to out. False: a
 * notification. */
bool rpc_fastpath_serve(struct rpc_cached_request *request, const struct rpc_cached_call *call);

#endif
