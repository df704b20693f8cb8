#ifndef JPEER_RPC_CALLBACKS_CALLBACK_FORM_H
#define JPEER_RPC_CALLBACKS_CALLBACK_FORM_H
/*
 * The messages of callbacks in one codec, as a table of functions: `callbacks` in struct rpc_codec, NULL for
 * a codec without callbacks. rpc/jsonrpc/json_callbacks.c is the only implementation. Constant; any thread.
 */
#include "base/buffer.h"
#include "jni/callbacks.h"
#include "rpc/codec.h"

struct rpc_value_rules; /* rpc/values/value_read.h */

/* The kinds of messages on a connection with callbacks. */
enum rpc_callback_message {
  RPC_MESSAGE_ORDINARY, /* a request without `within`, or any other message that waits for its turn */
  RPC_MESSAGE_FAULTY,  /* malformed, or has the id of a call although it is neither a request nor an answer */
  RPC_MESSAGE_ANSWER,  /* has an id, one of result and error, and no method */
  RPC_MESSAGE_ANSWERS, /* an array of answers */
  RPC_MESSAGE_NESTED   /* a request or notification with `within`, or a batch whose first element has it */
};

/* The answer for which the client's thread waits while it receives a call. */
enum rpc_callback_origin {
  RPC_ORIGIN_NOT_ASKED, /* the client has not asked for the origin */
  RPC_ORIGIN_REQUEST,   /* a request of the connection, which the Java thread serves */
  RPC_ORIGIN_CALL,      /* an open call of the connection, in which the Java thread serves a nested request */
  RPC_ORIGIN_THREAD     /* or neither */
};

/* A call without its arguments. */
struct rpc_callback_head {
  uint64_t number; /* 0: a notification (oneway) */
  int64_t id;
  const struct jvm_callback_method *method;
  enum rpc_callback_origin origin;
  uint64_t origin_call; /* RPC_ORIGIN_CALL: the number of that call */
};

struct callback_release {
  int64_t id;
  uint64_t given; /* how often */
};

struct rpc_callback_form {
  /* Validates the whole message, and returns its kind. *number becomes the number of the call that the
   * message answers, or in which the request is nested; 0: the id does not have the form "cb-N". */
  enum rpc_callback_message (*classify)(struct text message, size_t depth_max, uint64_t *number);
  /* Calls `found` for each call that an RPC_MESSAGE_FAULTY seems to answer. reason: a description of the
   * fault. */
  void (*find_faulty)(struct text message, size_t depth_max,
                      void (*found)(void *context, uint64_t number, const char *reason), void *context);
  /* Finds the text and the number of the next answer in an RPC_MESSAGE_ANSWERS. *at is 0 at the first call,
   * and the function updates it. False: no answer is left. */
  bool (*next_answer)(struct text message, size_t *at, struct text *answer, uint64_t *number);
  /* Decodes an answer that classify or next_answer has found. Not JP_OK: an OUTCOME_ERROR describes the
   * fault. */
  enum jp_status (*read_answer)(struct text answer, const struct rpc_value_rules *rules, struct arena *arena,
                                struct jvm_callback_answer *read, struct outcome *outcome) JP_MUST_CHECK;
  /* Answers every request of an RPC_MESSAGE_NESTED with the error that its call is not open. RPC_NO_REPLY:
   * all requests are notifications. */
  enum rpc_served (*refuse_nested)(struct rpc_peer *peer, const struct rpc_client *client,
                                   struct text message, struct buffer *out);
  /* Answers an RPC_MESSAGE_FAULTY. */
  enum rpc_served (*refuse_faulty)(struct rpc_peer *peer, const struct rpc_client *client,
                                   struct text message, struct buffer *out);
  /* Calls `found` for each callback that the requests or answers of a whole message give. Finds nothing in a
   * malformed message. */
  void (*find_given)(struct text message, size_t depth_max, void (*found)(void *context, int64_t id),
                     void *context);
  /* Writes the message of a call. scratch: a buffer for text within text, which this function clears. */
  void (*write_call)(struct buffer *out, const struct rpc_callback_head *head,
                     const struct outcome *arguments, size_t count, struct buffer *scratch);
  /* Writes a callback_released of count IDs. */
  void (*write_released)(struct buffer *out, const struct callback_release *releases, size_t count);
};

#endif
