#ifndef JPEER_CLIENT_MESSAGES_ARGUMENT_JSON_H
#define JPEER_CLIENT_MESSAGES_ARGUMENT_JSON_H
/* Arguments as JSON (docs/protocol.md, "Arguments"), and what they may name. Any thread. */
#include "client/messages/client_error.h"

#include "base/buffer.h"
#include "jpeer/request.h"

#include <stdbool.h>
#include <stdint.h>

/* The objects that a message names have to be of one epoch: of the peer that the message goes to
 * (docs/protocol.md, "Sessions over restarts"). */
struct message_refs {
  uint64_t epoch;
  bool
      may_adopt; /* an epoch of 0 becomes that of the first ref: the peer, which is told it, compares it with its own */
  bool are_named; /* false before the message is written; who writes it sets it */
};

/* The epoch that the ref is of; 0: nobody knows, as of a client with binary messages. Given by who has the refs. */
uint64_t message_ref_epoch(const struct jp_ref *ref);
/* False: the ref is known to be of another epoch. */
bool message_may_name(const struct jp_ref *ref, uint64_t epoch);
/* Notes that the message names the ref. False: it may not. */
bool message_name_ref(struct message_refs *refs, const struct jp_ref *ref);
/* The same of refs that the caller says to be of that epoch, by their numbers. */
bool message_name_epoch(struct message_refs *refs, uint64_t epoch);
/* JP_CLIENT_STALE, with a line about the ref. */
enum jp_client_status message_fail_stale(const struct jp_ref *ref, struct jp_client_error *error);
/* Which step of its batch a named argument means. NULL names: there is no batch, and a named argument is an
 * error. */
struct message_names {
  /* The id of that step, as JSON; data NULL: no step has that name. */
  struct text (*find)(const struct message_names *names, struct text name);
};

/* What an argument says of a callback. The texts are JSON, and borrowed. */
struct message_callback {
  int64_t id;
  struct text interfaces; /* an array of names; data NULL: the parameter tells */
  struct text facts;      /* further members, each behind a comma: ",\"arity\":2" */
};

/* Whose callbacks a message may give. NULL callbacks: there are none, and an argument that is one is an
 * error. */
struct message_callbacks {
  /* Notes that the message gives it once more. */
  enum jp_client_status (*give)(struct message_callbacks *callbacks, const struct jp_callback *callback,
                                struct message_callback *form, struct jp_client_error *error);
};

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
/* A string. A text that is not UTF-8 is a fault; lone surrogates of three bytes are taken. */
void argument_write_text(struct argument_writer *writer, struct jp_text text);
/* A string of NUL-terminated UTF-8. NULL is a fault: `what` is missing. */
void argument_write_name(struct argument_writer *writer, const char *name, const char *what);
/* JSON that the caller vouches for, and that is looked at all the same: it could not be answered otherwise.
 */
void argument_write_raw(struct argument_writer *writer, struct jp_text json, const char *what);

#endif
