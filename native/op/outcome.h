#ifndef JPEER_OP_OUTCOME_H
#define JPEER_OP_OUTCOME_H
/*
 * The outcome of an operation, before its codec writes the answer. Plain data, borrowed from the request's
 * arena; only a body has an owner. The owner is the codec or the transport, and reads and closes the body.
 */
#include "base/arena.h"
#include "base/buffer.h"
#include "base/status.h"
#include "op/value.h"

enum outcome_kind { OUTCOME_VOID, OUTCOME_VALUE, OUTCOME_ERROR, OUTCOME_BODY };

/* The kind of failure. Each codec has its own numbers; the numbers of JSON-RPC 2.0 are shown here. */
enum outcome_failure {
  FAILURE_INVALID_REQUEST, /* -32600 */
  FAILURE_INVALID_PARAMS,  /* -32602 */
  FAILURE_NOT_FOUND,       /* -32601: class, constructor, method or field */
  FAILURE_SERVER,          /* -32000: Java threw, an unknown ref, a limit */
  FAILURE_DENIED,          /* -32001 */
  FAILURE_INTERNAL,        /* -32603: a defect of the peer, or memory is short */
  FAILURE_NOT_SAFE         /* only in JSON-RPC 1.1: this method must not be called by HTTP GET */
};

struct outcome_throwable {
  struct text type;    /* "java.lang.ArithmeticException" */
  struct text message; /* data NULL: getMessage() gave null, or threw */
  struct text *frames; /* one text for each Java frame, innermost first, except the peer's own */
  size_t frame_count;
  struct text *superclasses; /* their names, the nearest first, up to java.lang.Object */
  size_t superclass_count;
  struct outcome_throwable *cause; /* NULL at the end; a cycle is cut */
};

/* A class loader that has a class of the requested name. */
struct outcome_loader {
  uint32_t ref;
  struct text type; /* its class */
  struct text name; /* ClassLoader.getName(); data NULL: the loader has no name */
};

/* A large answer that is produced while it is sent. `read` appends about max bytes at most to out and returns
 * JP_OK. At the end it appends nothing and returns JP_CLOSED; any other status is a failure. `close` frees
 * the body, even if it was not read to its end. One thread at a time may use the body. */
struct outcome_body {
  void *state;
  enum jp_status (*read)(void *state, struct buffer *out, size_t max);
  void (*close)(void *state);
};

/* The elements of an array of primitives, passed by value, that the call has changed. */
struct outcome_out {
  size_t argument;       /* its index */
  struct op_value value; /* an OP_PACKED */
};

struct outcome {
  enum outcome_kind kind;
  struct outcome_out *outs; /* changed arrays of an OP_CALL or OP_NEW, in addition to the result */
  size_t out_count;

  /* OUTCOME_VALUE */
  /* the declared type if it is primitive or the result is null; otherwise the runtime class
   * (Class.getName()) */
  struct text type;
  bool is_null;
  uint32_t ref; /* 0: no ref. After an operation by_value this is one of the refs in `value` */
  const struct op_callback_identity
      /* the identity of the callback, if the object of the ref is a callback; NULL: the object is no
       * callback, or `value` contains the identity */
      *callback;
  bool has_value; /* a scalar, or a small array in addition to its ref */
  struct op_value value;

  /* OUTCOME_ERROR */
  enum outcome_failure failure;
  struct text message;        /* data.message; data NULL: the throwable has no message */
  struct text throwable_type; /* data NULL: none */
  struct text status;         /* of a metadata query: "UNSUPPORTED", "ERROR"; data NULL: none */
  struct text reason;         /* a word by which a program recognises the failure: "stale"; data NULL: none */
  bool is_limit;              /* FAILURE_SERVER: a limit is reached */
  bool is_unknown_ref;        /* FAILURE_SERVER: a ref to delete is unknown */
  bool lacks_instance;        /* FAILURE_INVALID_PARAMS: an instance member, without an instance */
  bool is_ambiguous;          /* FAILURE_NOT_FOUND: several loaders have a class of the name */
  bool is_misfit;             /* FAILURE_INVALID_PARAMS: the value of a put does not fit the field */
  /* FAILURE_NOT_FOUND: near names that the caller may use */
  struct text *suggestions;
  size_t suggestion_count;
  /* the throwable with its frames and causes; NULL: Java threw nothing */
  struct outcome_throwable *throwable;
  uint32_t throwable_ref; /* the caller's ref, if the operation wants it; 0: none */
  /* FAILURE_NOT_FOUND: the loaders that have a class of the name, if there are several. The caller owns their
   * refs. */
  const struct outcome_loader *loaders;
  size_t loader_count;

  /* OUTCOME_BODY: the text of a java.lang.String result with status OK (meta) */
  struct outcome_body body;
};

/* The number of bytes of a caller's name that a message shows (arena_shorten), and the number of bytes of the
 * longest message. The size of an error must not depend on the request. */
enum { OUTCOME_NAME_SHOWN = 256, OUTCOME_MESSAGE_MAX = 8192 };

/* Makes *outcome the error for a request that names another epoch than its session has. */
void outcome_fail_stale(struct outcome *outcome);

/* Makes *outcome an error with a formatted message in the arena. A message of more than OUTCOME_MESSAGE_MAX
 * bytes is cut and ends with "...". throwable_type is borrowed, NULL for none. */
void outcome_fail(struct outcome *outcome, struct arena *arena, enum outcome_failure failure,
                  const char *throwable_type, const char *format, ...) __attribute__((format(printf, 5, 6)));
/* Makes *outcome the error that memory is short: FAILURE_INTERNAL, "out of memory". Returns JP_NO_MEMORY. */
enum jp_status outcome_fail_memory(struct outcome *outcome);
/* Makes *outcome the error of a lower function, and returns that function's status. The failure is
 * FAILURE_INTERNAL for JP_NO_MEMORY and JP_INTERNAL, otherwise FAILURE_SERVER. */
enum jp_status outcome_fail_error(struct outcome *outcome, struct arena *arena, const struct jp_error *error);

#endif
