#ifndef JPEER_CLIENT_MESSAGES_ENCODE_H
#define JPEER_CLIENT_MESSAGES_ENCODE_H
/*
 * Requests to bytes: JSON-RPC (docs/protocol.md) and binary messages (docs/binary.md). Pure functions, any
 * thread; they allocate nothing but memory of out and of the arena that they are given. Where one fails, what
 * it has appended is the caller's to take back.
 */
#include "client/messages/client_error.h"

#include "base/arena.h"
#include "base/buffer.h"

#include <stdbool.h>

/* A ref that the client lets go of, and how often answers have told it (docs/protocol.md, "Sessions and
 * refs"). */
struct message_release {
  uint32_t ref;
  uint32_t told;
};

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
/* JP_CLIENT_STALE, with a line about the ref. */
enum jp_client_status message_fail_stale(const struct jp_ref *ref, struct jp_client_error *error);
enum { MESSAGE_EPOCH_LENGTH = 16 };
/* 16 digits and a NUL. */
void message_format_epoch(uint64_t epoch, char out[MESSAGE_EPOCH_LENGTH + 1]);

/* Bytes before the id of a request, and before that of the result that an argument names, from where the
 * writer was when it asked for the name. */
enum {
  MESSAGE_BEFORE_ID = sizeof("{\"jsonrpc\":\"2.0\",\"id\":") - 1,
  MESSAGE_BEFORE_RESULT_ID = sizeof("{\"result\":") - 1
};

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

struct message_json {
  struct text id;      /* the JSON of a string or number; data NULL: a notification */
  struct text peer_id; /* a member of the message, for ZeroMQ; data NULL: none */
  struct text within;  /* the option `within` of a request that has none of its own; data NULL: none */
  bool is_dropped;     /* the option keep:false: what it makes ends with its batch */
  const struct message_names *names;
  struct message_callbacks *callbacks;
  struct message_refs *refs; /* NULL: handles of any epoch are taken */
  bool has_epoch;            /* where it names refs, the message has their epoch as a member, for ZeroMQ */
};

/* JP_CLIENT_INVALID, JP_CLIENT_UNSUPPORTED (a callback where there are none), JP_CLIENT_STALE (a handle of another
 * epoch) or JP_CLIENT_NO_MEMORY. */
enum jp_client_status message_write_json(const struct jp_request *request, const struct message_json *how,
                                         struct buffer *out,
                                         struct jp_client_error *error) JP_CLIENT_MUST_CHECK;
/* Whether it is written with options. */
bool message_has_options(const struct jp_request *request, const struct message_json *how);
/* Adds the option `within` to the message that out ends with. */
void message_add_within(struct buffer *out, bool has_options, struct text within);
/* A notification that releases refs. peer_id, within: as in struct message_json. epoch: of the refs, as a member; 0: none. */
void message_write_release_json(const struct message_release *releases, size_t count, struct text peer_id,
                                struct text within, uint64_t epoch, struct buffer *out);

struct message_binary {
  const uint8_t *session; /* 16 bytes; NULL: the socket's */
  struct text id;
  struct arena *arena;    /* for what the message is made of; reset by its owner */
  struct buffer *scratch; /* for the JSON of its values; its content is dropped */
};

/* JP_CLIENT_UNSUPPORTED: the binary form has no place for it. */
enum jp_client_status message_write_binary(const struct jp_request *request, const struct message_binary *how,
                                           struct buffer *out,
                                           struct jp_client_error *error) JP_CLIENT_MUST_CHECK;
/* A control message, which the peer answers. */
void message_write_release_binary(const struct message_release *releases, size_t count,
                                  const struct message_binary *how, struct buffer *out);

#endif
