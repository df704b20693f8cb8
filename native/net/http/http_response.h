#ifndef JPEER_NET_HTTP_HTTP_RESPONSE_H
#define JPEER_NET_HTTP_HTTP_RESPONSE_H
/*
 * Writes the heads of responses that contain a JSON-RPC answer, and complete responses without an answer.
 * Pure functions, any thread.
 */
#include "base/buffer.h"
#include "base/text.h"
#include "rpc/service.h"

/* How the response to one request is written. */
struct http_response_mode {
  bool is_1_1;
  bool is_head;
  bool keeps_alive;   /* false: "Connection: close" */
  const char *origin; /* of the page that may read the response (http_route_result); NULL: none */
};

/* A response without a JSON-RPC answer. */
struct http_status_response {
  int status;
  const char *reason;  /* one line of ASCII, the body; NULL: none */
  const char *allow;   /* the value of Allow; NULL: none */
  bool asks_for_token; /* send WWW-Authenticate */
  bool has_ws_version; /* send Sec-WebSocket-Version */
  bool is_preflight;   /* the response to a preflight (Fetch standard, 3.2.2), with the methods in allow */
  bool grants_private_network; /* a preflight: pages from public addresses are allowed, too */
};

/* The reason becomes a body of text/plain. */
void http_write_status(struct buffer *out, struct http_response_mode mode,
                       const struct http_status_response *response);
/* Writes a response with status 200 and a body of text/plain. parameters: more of the content type ("; version=0.0.4");
 * "": none. */
void http_write_text(struct buffer *out, struct http_response_mode mode, const char *parameters,
                     struct text words);
/* Writes the head before a JSON-RPC answer of this length. session: its id and epoch become headers; NULL: none. With
 * status 405 the head has "Allow: POST". */
void http_write_reply_head(struct buffer *out, struct http_response_mode mode, int status, size_t length,
                           const struct rpc_session_info *session);
/* Writes the head before an answer whose length is not known. The answer must be sent in chunks; in HTTP/1.0 it ends
 * when the connection is closed. */
void http_write_stream_head(struct buffer *out, struct http_response_mode mode,
                            const struct rpc_session_info *session);
void http_write_no_content(struct buffer *out, struct http_response_mode mode,
                           const struct rpc_session_info *session);
/* Writes the 101 response. key: the request's Sec-WebSocket-Key (RFC 6455, 4.2.2). names_protocol: the client has offered the
 * subprotocol jpeer, which the response accepts. */
void http_write_upgrade(struct buffer *out, struct text key, bool names_protocol,
                        const struct rpc_session_info *session);

#endif
