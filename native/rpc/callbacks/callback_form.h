#ifndef JPEER_RPC_CALLBACKS_CALLBACK_FORM_H
#define JPEER_RPC_CALLBACKS_CALLBACK_FORM_H
/*
 * The messages of callbacks in one codec, as a table of functions: struct rpc_codec has it in `callbacks`, NULL where
 * its messages carry none. rpc/jsonrpc/json_callbacks.c is the one there is. Constant; any thread.
 */
#include "base/buffer.h"
#include "jni/callbacks.h"
#include "rpc/codec.h"

struct rpc_value_rules; /* rpc/values/value_read.h */

/* What a message is that came on a connection with callbacks. */
enum rpc_callback_message {
  RPC_MESSAGE_ORDINARY, /* a request without `within`, or something else that has its turn */
  RPC_MESSAGE_FAULTY,  /* it cannot be read, or has the id of a call and is neither a request nor an answer */
  RPC_MESSAGE_ANSWER,  /* it has an id, one of result and error, and no method */
  RPC_MESSAGE_ANSWERS, /* an array of them */
  RPC_MESSAGE_NESTED   /* a request or notification that has `within`, or a batch whose first element has */
};

/* What the client's thread waits for that a call comes from. */
enum rpc_callback_origin {
  RPC_ORIGIN_NOT_ASKED, /* the client has not asked for it */
  RPC_ORIGIN_REQUEST,   /* the Java thread serves a request of the connection, */
  RPC_ORIGIN_CALL,      /* or one that is nested in an open call of it, */
  RPC_ORIGIN_THREAD     /* or neither */
};

/* A call without its arguments. */
struct rpc_callback_head {
  uint64_t number; /* 0: a notification (oneway) */
  int64_t id;
  const struct jvm_callback_method *method;
  enum rpc_callback_origin origin;
  uint64_t origin_call; /* RPC_ORIGIN_CALL: its number */
};

struct callback_release {
  int64_t id;
  uint64_t given; /* how often */
};

struct rpc_callback_form {
  /* number: of the call that is answered, or within which the request is; 0: it is no "cb-N". The message is validated
   * as a whole. */
  enum rpc_callback_message (*classify)(struct text message, size_t depth_max, uint64_t *number);
  /* Calls found for each call that a RPC_MESSAGE_FAULTY answers as it seems, with what is wrong. */
  void (*find_faulty)(struct text message, size_t depth_max,
                      void (*found)(void *context, uint64_t number, const char *reason), void *context);
  /* The next of RPC_MESSAGE_ANSWERS: its text and its number, from *at on, which begins as 0. False: there is none. */
  bool (*next_answer)(struct text message, size_t *at, struct text *answer, uint64_t *number);
  /* Decodes an answer that classify or next_answer has found. Not JP_OK: an OUTCOME_ERROR names its fault. */
  enum jp_status (*read_answer)(struct text answer, const struct rpc_value_rules *rules, struct arena *arena,
                                struct jvm_callback_answer *read, struct outcome *outcome) JP_MUST_CHECK;
  /* Answers every request of a RPC_MESSAGE_NESTED with the error of one whose call is not open. RPC_NO_REPLY: all are
   * notifications. */
  enum rpc_served (*refuse_nested)(const struct rpc_peer *peer, struct text message, struct buffer *out);
  /* Answers a RPC_MESSAGE_FAULTY. */
  enum rpc_served (*refuse_faulty)(const struct rpc_peer *peer, struct text message, struct buffer *out);
  /* Calls found for each callback that a whole message gives, be it requests or answers. None where it is malformed. */
  void (*find_given)(struct text message, size_t depth_max, void (*found)(void *context, int64_t id),
                     void *context);
  /* The message of a call. scratch: for text within text; it is cleared. */
  void (*write_call)(struct buffer *out, const struct rpc_callback_head *head,
                     const struct outcome *arguments, size_t count, struct buffer *scratch);
  /* callback_released: of count IDs. */
  void (*write_released)(struct buffer *out, const struct callback_release *releases, size_t count);
};

#endif
