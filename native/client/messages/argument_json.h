#ifndef JPEER_CLIENT_MESSAGES_ARGUMENT_JSON_H
#define JPEER_CLIENT_MESSAGES_ARGUMENT_JSON_H
/* Arguments as JSON (docs/protocol.md, "Arguments"). Any thread. */
#include "client/messages/encode.h"

/* Where a message is written to. The first fault is kept, and what follows it is not written. */
struct argument_writer {
  struct buffer *out;
  const struct message_names *names; /* NULL: no batch */
  struct message_callbacks *callbacks;
  struct message_refs *refs; /* NULL: handles of any epoch are taken */
  struct jp_client_error *error;
  enum jp_client_status status;
  unsigned depth;      /* of the lists and maps that are open */
  bool without_base64; /* elements of arrays one by one */
};

/* A ref, or a named result. */
static inline bool argument_is_object(const struct jp_argument *argument)
{
  return argument->kind == JP_ARGUMENT_REF || argument->kind == JP_ARGUMENT_REF_NUMBER ||
         argument->kind == JP_ARGUMENT_NAMED;
}

void argument_write_json(struct argument_writer *writer, const struct jp_argument *argument);
/* Only its value, without its type: what a binary message has. Not for refs and named results. */
void argument_write_value(struct argument_writer *writer, const struct jp_argument *argument);
/* As the `instance` of a request. Not a callback. */
void argument_write_instance(struct argument_writer *writer, const struct jp_argument *instance);
/* {"result":ID} */
void argument_write_named(struct argument_writer *writer, struct jp_text name);
/* A string. A text that is not UTF-8 is a fault; lone surrogates of three bytes are taken. */
void argument_write_text(struct argument_writer *writer, struct jp_text text);
/* A string of NUL-terminated UTF-8. NULL is a fault: `what` is missing. */
void argument_write_name(struct argument_writer *writer, const char *name, const char *what);
/* JSON that the caller vouches for, and that is looked at all the same: it could not be answered otherwise.
 */
void argument_write_raw(struct argument_writer *writer, struct jp_text json, const char *what);

#endif
