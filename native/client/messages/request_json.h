#ifndef JPEER_CLIENT_MESSAGES_REQUEST_JSON_H
#define JPEER_CLIENT_MESSAGES_REQUEST_JSON_H
/*
 * Requests to JSON-RPC (docs/protocol.md). Pure functions, any thread; they allocate nothing but memory of out. Where one
 * fails, what it has appended is the caller's to take back.
 */
#include "client/messages/answer_json.h"
#include "client/messages/argument_json.h"

/* A ref that the client lets go of, and how often answers have told it (docs/protocol.md, "Sessions and
 * refs"). */
struct message_release {
  uint32_t ref;
  uint32_t told;
};

enum { MESSAGE_EPOCH_LENGTH = 16 };
/* 16 digits and a NUL. */
void message_format_epoch(uint64_t epoch, char out[MESSAGE_EPOCH_LENGTH + 1]);

/* Bytes before the id of a request, and before that of the result that an argument names, from where the
 * writer was when it asked for the name. */
enum {
  MESSAGE_BEFORE_ID = sizeof("{\"jsonrpc\":\"2.0\",\"id\":") - 1,
  MESSAGE_BEFORE_RESULT_ID = sizeof("{\"result\":") - 1
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

/* The argument of a control method that takes a text, as JSON: that of pin_thread or session. value: UTF-8. */
void message_write_control_text(struct text name, struct text value, struct buffer *out);

/* ---- requests that come as JSON ---- */

/* The members of a request that are sent; borrowed from its text. data NULL: absent. */
struct request_text {
  struct text method; /* a JSON string */
  struct text params;
  struct text options;
  struct text epoch; /* that the refs are of, as JSON */
  bool has_within;   /* options say what the request is nested in */
  bool may_name_refs;
  enum answer_form form;
};

/* JP_CLIENT_INVALID: the text is no request; error says why. */
enum jp_client_status request_text_read(struct text text, struct request_text *request,
                                        struct jp_client_error *error) JP_CLIENT_MUST_CHECK;
/* Appends it as a message with how->id, how->peer_id, how->within and, with how->has_epoch, the epoch of how->refs. */
void request_text_write(const struct request_text *request, const struct message_json *how,
                        struct buffer *out);

#endif
