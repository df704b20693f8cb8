#ifndef JPEER_NET_HTTP_HTTP_RESPONSE_H
#define JPEER_NET_HTTP_HTTP_RESPONSE_H
/*
 * Writes what HTTP puts around a JSON-RPC answer, and the answers that are no JSON-RPC. Pure functions, any
 * thread.
 */
#include "base/buffer.h"
#include "base/text.h"
#include "base/uuid.h"

/* How the answer to one request is written. */
struct http_response_mode {
  bool is_1_1;
  bool is_head;
  bool keeps_alive;   /* false: "Connection: close" */
  const char *origin; /* of http_route_result: the page that may see the answer */
};

struct http_status_response {
  int status;
  const char *reason;          /* one line of ASCII, the body; NULL: none */
  const char *allow;           /* the value of Allow; NULL: none */
  bool has_ws_version;         /* send Sec-WebSocket-Version */
  bool is_preflight;           /* a browser asks what a page may send; allow says it */
  bool grants_private_network; /* to a page of a public address, too */
};

/* An answer that is no JSON-RPC, with its reason as text/plain. */
void http_write_status(struct buffer *out, struct http_response_mode mode,
                       const struct http_status_response *response);
/* 200 with a text for people. */
void http_write_text(struct buffer *out, struct http_response_mode mode, struct text words);
/* The head before a JSON-RPC answer of that length; kept may be NULL. 405 says that POST is allowed. */
void http_write_reply_head(struct buffer *out, struct http_response_mode mode, int status, size_t length,
                           const struct uuid *kept);
/* The head before an answer whose length is not known: in chunks, or to the end of the connection in 1.0. */
void http_write_stream_head(struct buffer *out, struct http_response_mode mode, const struct uuid *kept);
void http_write_no_content(struct buffer *out, struct http_response_mode mode, const struct uuid *kept);
/* 101; key is the request's Sec-WebSocket-Key (RFC 6455, 4.2.2). */
void http_write_upgrade(struct buffer *out, struct text key);

#endif
