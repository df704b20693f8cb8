#ifndef JPEER_CLIENT_MESSAGES_CALLBACK_MESSAGE_H
#define JPEER_CLIENT_MESSAGES_CALLBACK_MESSAGE_H
/*
 * The messages of callbacks (docs/callbacks.md): what the peer asks of the client's objects, and
 * what the client answers. Pure functions, any thread.
 */
#include "client/messages/answer_json.h"
#include "client/messages/argument_json.h"

/* A call from Java inside its message; borrowed. */
struct callback_call {
  struct text id; /* the JSON of the id, a string; data NULL: an event, which nobody answers */
  int64_t callback;
  struct json_value interface, method; /* strings */
  struct json_value parameters;        /* an array of strings, whose number is that of args */
  struct json_value args;              /* an array */
  bool has_origin;
  struct json_value origin; /* a string */
  size_t arg_count;
};

/* Whom a message is told to. What one of them returns ends the reading, unless it is JP_CLIENT_OK. */
struct callback_reader {
  enum jp_client_status (*called)(struct callback_reader *reader, const struct callback_call *call,
                                  struct jp_client_error *error);
  /* Java has let go of it; `given` arguments with it were read since the last time. */
  enum jp_client_status (*released)(struct callback_reader *reader, int64_t callback, uint64_t given,
                                    struct jp_client_error *error);
};

/* Reads a message that has a method. JP_CLIENT_PROTOCOL: it is none of these. */
enum jp_client_status callback_read_json(struct json_value message, struct callback_reader *reader,
                                         struct jp_client_error *error) JP_CLIENT_MUST_CHECK;

/* What a call says, NUL-terminated. */
struct callback_texts {
  const char *id; /* NULL: an event */
  const char *interface;
  const char *method;
  const char **parameters; /* as many as arguments */
  const char *origin;      /* NULL: it is not told */
};

/* Copies the texts into the arena. False: no memory. */
bool callback_keep_texts(const struct callback_call *call, struct arena *arena, struct callback_texts *texts);
/* Fills arg_count cleared answers. As answer_fill_value_json. */
enum jp_client_status callback_fill_arguments(const struct callback_call *call, struct jp_answer *const *args,
                                              struct answer_refs *refs,
                                              struct jp_client_error *error) JP_CLIENT_MUST_CHECK;

/* ---- what the client writes ---- */

/* Appends what arguments that give a callback say of it, apart from its id. JP_CLIENT_INVALID. */
enum jp_client_status callback_write_form(const struct jp_callback_config *config, struct buffer *interfaces,
                                          struct buffer *facts,
                                          struct jp_client_error *error) JP_CLIENT_MUST_CHECK;

/* What Java is to get in place of a result. */
struct callback_failure {
  int code;
  struct jp_thrown thrown;
};

/* The answer to the call with that id. value NULL: null. As message_write_json; what a failed one has
 * appended is the caller's to take back. */
enum jp_client_status callback_write_result(struct text id, const struct jp_argument *value,
                                            struct message_callbacks *callbacks, struct message_refs *refs,
                                            struct buffer *out,
                                            struct jp_client_error *error) JP_CLIENT_MUST_CHECK;
enum jp_client_status callback_write_failure(struct text id, const struct callback_failure *failure,
                                             struct buffer *out,
                                             struct jp_client_error *error) JP_CLIENT_MUST_CHECK;

#endif
