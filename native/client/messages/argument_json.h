#ifndef JPEER_CLIENT_MESSAGES_ARGUMENT_JSON_H
#define JPEER_CLIENT_MESSAGES_ARGUMENT_JSON_H
/* Writes arguments as JSON (docs/protocol.md, "Arguments"), and checks the refs that a message names. Any
 * thread. */
#include "client/messages/client_error.h"

#include "base/buffer.h"
#include "jpeer/request.h"

#include <stdbool.h>
#include <stdint.h>

/* All refs in a message must belong to one epoch, the epoch of the peer that receives the message
 * (docs/protocol.md, "Sessions over restarts"). */
struct message_refs {
  uint64_t epoch;
  bool may_adopt; /* if the epoch is unknown, the epoch of the first ref is used, which the peer compares with
                   * its own */
  bool are_named; /* set by the writer of the message; false before */
};

/* Returns the epoch of the ref; 0: unknown, as for a client with binary messages. Defined in the file of the
 * refs. */
uint64_t message_ref_epoch(const struct jp_ref *ref);
/* False: the ref belongs to another epoch. */
bool message_may_name(const struct jp_ref *ref, uint64_t epoch);
/* Records that the message names the ref. False: the ref belongs to another epoch. */
bool message_name_ref(struct message_refs *refs, const struct jp_ref *ref);
/* Records that the message names refs of this epoch, which the caller gives by their numbers. False: the
 * message names refs of another epoch. */
bool message_name_epoch(struct message_refs *refs, uint64_t epoch);
/* JP_CLIENT_STALE; *error describes the ref. */
enum jp_client_status message_fail_stale(const struct jp_ref *ref, struct jp_client_error *error);
/* Resolves named results of a batch. names NULL: the message is not a batch, and a named argument is an
 * error. */
struct message_names {
  /* The id of the step with that name, as JSON; data NULL: none. */
  struct text (*find)(const struct message_names *names, struct text name);
};

/* The members of an argument with a callback. The texts are JSON, and borrowed. */
struct message_callback {
  int64_t id;
  struct text interfaces; /* an array of names; data NULL: the parameter's type decides */
  struct text facts;      /* further members, each after a comma: ",\"arity\":2" */
};

/* Records the callbacks in a message. callbacks NULL: the message cannot have callbacks, and a callback as an
 * argument is an error. */
struct message_callbacks {
  /* Records one more argument with the callback, and sets *form. */
  enum jp_client_status (*add)(struct message_callbacks *callbacks, const struct jp_callback *callback,
                               struct message_callback *form, struct jp_client_error *error);
};

/* The output of a message. After the first fault, which is kept for the caller, nothing more is written. */
struct argument_writer {
  struct buffer *out;
  const struct message_names *names; /* NULL: no batch */
  struct message_callbacks *callbacks;
  struct message_refs *refs; /* NULL: refs of any epoch are accepted */
  struct jp_client_error *error;
  enum jp_client_status status;
  unsigned depth;      /* of the lists and maps that are open */
  bool without_base64; /* write the elements of arrays one by one */
};

/* True if the argument is a ref or a named result. */
static inline bool argument_is_object(const struct jp_argument *argument)
{
  return argument->kind == JP_ARGUMENT_REF || argument->kind == JP_ARGUMENT_REF_NUMBER ||
         argument->kind == JP_ARGUMENT_NAMED;
}

void argument_write_json(struct argument_writer *writer, const struct jp_argument *argument);
/* Writes only the value, without its type, for binary messages. Must not be called for refs and named
 * results. */
void argument_write_value(struct argument_writer *writer, const struct jp_argument *argument);
/* Writes the `instance` of a request. The value must not be a callback. */
void argument_write_instance(struct argument_writer *writer, const struct jp_argument *instance);
/* Writes a string. Text that is not UTF-8 is a fault; lone surrogates of three bytes are accepted. */
void argument_write_text(struct argument_writer *writer, struct jp_text text);
/* Writes NUL-terminated UTF-8 as a string. NULL or "" is a fault: `what` is missing. */
void argument_write_name(struct argument_writer *writer, const char *name, const char *what);
/* Validates and writes JSON that the caller gives. Without the check, malformed JSON would make the message
 * malformed, and the peer could not assign its error to a request. */
void argument_write_raw(struct argument_writer *writer, struct jp_text json, const char *what);

#endif
