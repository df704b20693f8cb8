#ifndef JPEER_CLIENT_MESSAGES_REQUEST_JSON_H
#define JPEER_CLIENT_MESSAGES_REQUEST_JSON_H
/*
 * Writes requests as JSON-RPC (docs/protocol.md). Pure functions, any thread; only the memory of out is
 * allocated. After a failure the caller discards the appended bytes.
 */
#include "client/messages/answer_json.h"
#include "client/messages/argument_json.h"

/* The release of a ref, and of how many sent references (docs/protocol.md, "Sessions and refs"). */
struct message_release {
  uint32_t ref;
  uint32_t sent_count;
};

enum { MESSAGE_EPOCH_LENGTH = 16 };
/* 16 digits and a NUL. */
void message_format_epoch(uint64_t epoch, char out[MESSAGE_EPOCH_LENGTH + 1]);

/* Offsets of ids from the writer's position. The first is the offset of the id in a request. The second is
 * the offset of the result's id in an argument, from the position at which the writer resolved the result's
 * name. */
enum {
  MESSAGE_BEFORE_ID = sizeof("{\"jsonrpc\":\"2.0\",\"id\":") - 1,
  MESSAGE_BEFORE_RESULT_ID = sizeof("{\"result\":") - 1
};

struct message_json {
  struct text id;      /* JSON, a string or number; data NULL: a notification */
  struct text peer_id; /* a member of the message, for ZeroMQ; data NULL: none */
  struct text within;  /* the option `within`, unless the request has its own; data NULL: none */
  bool is_dropped;     /* the option keep:false: the object of the result ends with the batch */
  const struct message_names *names;
  struct message_callbacks *callbacks;
  struct message_refs *refs; /* NULL: refs of any epoch are accepted */
  bool has_epoch;            /* for ZeroMQ: a message that names refs has their epoch as a member */
};

/* JP_CLIENT_INVALID, JP_CLIENT_UNSUPPORTED (a callback where callbacks are not allowed), JP_CLIENT_STALE (a
 * ref of another epoch) or JP_CLIENT_NO_MEMORY. */
enum jp_client_status message_write_json(const struct jp_request *request, const struct message_json *how,
                                         struct buffer *out,
                                         struct jp_client_error *error) JP_CLIENT_MUST_CHECK;
/* True: the request is written with options. */
bool message_has_options(const struct jp_request *request, const struct message_json *how);
/* Adds the option `within` to the last message in out. */
void message_add_within(struct buffer *out, bool has_options, struct text within);
/* Writes a notification that releases refs. peer_id, within: as in struct message_json. epoch: of the refs,
 * written as a member; 0: none. */
void message_write_release_json(const struct message_release *releases, size_t count, struct text peer_id,
                                struct text within, uint64_t epoch, struct buffer *out);

/* Writes the argument of a control method with a text, such as pin_thread or session. value: UTF-8. */
void message_write_control_text(struct text name, struct text value, struct buffer *out);

/* ---- requests given as JSON ---- */

/* The members of a request, borrowed from its text. data NULL: absent. */
struct request_text {
  struct text method; /* a JSON string */
  struct text params;
  struct text options;
  struct text epoch;  /* of the refs, as JSON */
  bool has_within;    /* the options contain `within` */
  bool is_idempotent; /* the option is true */
  bool may_name_refs;
  enum answer_form form;
};

/* JP_CLIENT_INVALID: the text is not a request; error says why. */
enum jp_client_status request_text_read(struct text text, struct request_text *request,
                                        struct jp_client_error *error) JP_CLIENT_MUST_CHECK;
/* Writes the request as a message with how->id, how->peer_id, how->within and, if how->has_epoch, the epoch of how->refs. */
void request_text_write(const struct request_text *request, const struct message_json *how,
                        struct buffer *out);

#endif
