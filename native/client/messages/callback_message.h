#ifndef JPEER_CLIENT_MESSAGES_CALLBACK_MESSAGE_H
#define JPEER_CLIENT_MESSAGES_CALLBACK_MESSAGE_H
/*
 * Messages of callbacks (docs/callbacks.md): reads the peer's calls of the client's objects, and writes the
 * client's answers. Pure functions, any thread.
 */
#include "client/messages/answer_json.h"
#include "client/messages/argument_json.h"

/* A call from Java inside its message; borrowed. */
struct callback_call {
  struct text id; /* the JSON of the id, a string; data NULL: the call is an event, and gets no answer */
  int64_t callback;
  struct json_value interface, method; /* strings */
  struct json_value parameters;        /* an array of strings, as many as args */
  struct json_value args;              /* an array */
  bool has_origin;
  struct json_value origin; /* a string */
  size_t arg_count;
};

/* Receives the calls and releases in a message. If a function fails, reading ends with its failure. */
struct callback_reader {
  enum jp_client_status (*called)(struct callback_reader *reader, const struct callback_call *call,
                                  struct jp_client_error *error);
  /* Called when Java has released the callback. given: the number of arguments with this callback since its
   * last release. */
  enum jp_client_status (*released)(struct callback_reader *reader, int64_t callback, uint64_t given,
                                    struct jp_client_error *error);
};

/* Reads a message with a method. JP_CLIENT_PROTOCOL: not a valid message of callbacks. */
enum jp_client_status callback_read_json(struct json_value message, struct callback_reader *reader,
                                         struct jp_client_error *error) JP_CLIENT_MUST_CHECK;

/* The texts of a call, NUL-terminated. */
struct callback_texts {
  const char *id; /* NULL: an event */
  const char *interface;
  const char *method;
  const char **parameters; /* one for each argument */
  const char *origin;      /* NULL: none */
};

/* Copies the texts into the arena. False: no memory. */
bool callback_keep_texts(const struct callback_call *call, struct arena *arena, struct callback_texts *texts);
/* Fills arg_count cleared answers. Fails as answer_fill_value_json. */
enum jp_client_status callback_fill_arguments(const struct callback_call *call, struct jp_answer *const *args,
                                              struct answer_refs *refs,
                                              struct jp_client_error *error) JP_CLIENT_MUST_CHECK;

/* ---- writing ---- */

/* Appends the members of an argument with a callback, except its id. JP_CLIENT_INVALID. */
enum jp_client_status callback_write_form(const struct jp_callback_config *config, struct buffer *interfaces,
                                          struct buffer *facts,
                                          struct jp_client_error *error) JP_CLIENT_MUST_CHECK;

/* The error that Java gets instead of a result. */
struct callback_failure {
  int code;
  struct jp_thrown thrown;
};

/* Appends the answer to the call with that id. value NULL: null. Fails as message_write_json; after a failure
 * the caller discards the appended bytes. */
enum jp_client_status callback_write_result(struct text id, const struct jp_argument *value,
                                            struct message_callbacks *callbacks, struct message_refs *refs,
                                            struct buffer *out,
                                            struct jp_client_error *error) JP_CLIENT_MUST_CHECK;
enum jp_client_status callback_write_failure(struct text id, const struct callback_failure *failure,
                                             struct buffer *out,
                                             struct jp_client_error *error) JP_CLIENT_MUST_CHECK;

#endif
