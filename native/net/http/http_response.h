#ifndef JPEER_NET_HTTP_HTTP_RESPONSE_H
#define JPEER_NET_HTTP_HTTP_RESPONSE_H
/*
 * Writes the heads of responses that carry a JSON-RPC answer, and whole responses that carry none. Pure
 * functions, any thread.
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

/* A response that carries no JSON-RPC. */
struct http_status_response {
  int status;
  const char *reason;          /* one line of ASCII, the body; NULL: none */
  const char *allow;           /* the value of Allow; NULL: none */
  bool has_ws_version;         /* send Sec-WebSocket-Version */
  bool is_preflight;           /* a browser asks what a page may send: the methods in allow */
  bool grants_private_network; /* the preflight allows pages of public addresses, too */
};

/* The reason becomes a body of text/plain. */
void http_write_status(struct buffer *out, struct http_response_mode mode,
                       const struct http_status_response *response);
/* 200 with a text for people. */
void http_write_text(struct buffer *out, struct http_response_mode mode, struct text words);
/* The head before a JSON-RPC answer of this length; told may be NULL: it says nothing. A 405 says that POST is allowed. */
void http_write_reply_head(struct buffer *out, struct http_response_mode mode, int status, size_t length,
                           const struct rpc_session_info *told);
/* The head before an answer whose length is not known: it comes in chunks, or in HTTP/1.0 until the
 * connection is closed. */
void http_write_stream_head(struct buffer *out, struct http_response_mode mode,
                            const struct rpc_session_info *told);
void http_write_no_content(struct buffer *out, struct http_response_mode mode,
                           const struct rpc_session_info *told);
/* 101; key is the request's Sec-WebSocket-Key (RFC 6455, 4.2.2). */
void http_write_upgrade(struct buffer *out, struct text key, const struct rpc_session_info *told);

#endif
