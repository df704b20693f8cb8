#ifndef JPEER_CLIENT_MESSAGES_REQUEST_TEXT_H
#define JPEER_CLIENT_MESSAGES_REQUEST_TEXT_H
/* Requests that come as the JSON of docs/protocol.md: what they are, and how they are sent. Pure functions, any thread. */
#include "client/messages/answer_json.h"
#include "client/messages/encode.h"

/* The members of a request that are sent; borrowed from its text. data NULL: absent. */
struct request_text {
  struct text method; /* a JSON string */
  struct text params;
  struct text options;
  bool has_within; /* options say what the request is nested in */
  enum answer_form form;
};

/* JP_CLIENT_INVALID: the text is no request; error says why. */
enum jp_client_status request_text_read(struct text text, struct request_text *request,
                                        struct jp_client_error *error) JP_CLIENT_MUST_CHECK;
/* Appends it as a message with how->id, how->peer_id and how->within. */
void request_text_write(const struct request_text *request, const struct message_json *how,
                        struct buffer *out);

#endif
