#ifndef JPEER_NET_HTTP_HTTP_PARSER_H
#define JPEER_NET_HTTP_HTTP_PARSER_H
/*
 * Parses HTTP/1.0 and HTTP/1.1 requests (RFC 9112): a head, and then its body. llhttp reads the heads, and the bodies
 * in chunks; a body with a length is copied. Uses no sockets and no clock, and writes no responses.
 * net/http/http_route.h decides what to do with a request.
 *
 * llhttp 8.1 accepts some input that another parser, such as a proxy's, may interpret differently. For this
 * reason a head is checked before llhttp reads it: the request line has single spaces, each line ends in CR
 * LF, TAB is the only control character, no line is folded, and no space precedes a colon. After llhttp, the
 * fields are checked: at most one Host, one Content-Length of digits only, no transfer coding except
 * "chunked", not both a length and a coding, and no second value of a field that may occur once. A body in
 * chunks may have few bytes of extensions. Its trailer fields (RFC 9110, 6.5) obey the same rules and the
 * limit of a head, and are dropped. All other input is an error. In that case the connection must be closed,
 * because the beginning of the next request is unknown.
 *
 * One owner, one thread at a time.
 */
#include "base/buffer.h"
#include "base/http_syntax.h"
#include "base/text.h"

#include <llhttp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum http_field {
  HTTP_FIELD_HOST,
  HTTP_FIELD_CONTENT_LENGTH,
  HTTP_FIELD_TRANSFER_ENCODING,
  HTTP_FIELD_CONTENT_TYPE,
  HTTP_FIELD_CONTENT_ENCODING,
  HTTP_FIELD_EXPECT,
  HTTP_FIELD_ORIGIN,
  HTTP_FIELD_PEER_ID,
  HTTP_FIELD_EPOCH,
  HTTP_FIELD_WS_KEY,
  HTTP_FIELD_WS_VERSION,
  HTTP_FIELD_WS_PROTOCOL,
  HTTP_FIELD_AUTHORIZATION,
  HTTP_FIELD_ONCE, /* the fields above may occur once */
  HTTP_FIELD_CONNECTION = HTTP_FIELD_ONCE,
  HTTP_FIELD_UPGRADE,
  HTTP_FIELD_CORS_METHOD, /* of this field and the fields below, the first value counts */
  HTTP_FIELD_CORS_PRIVATE_NETWORK,
  HTTP_FIELD_SEC_FETCH_SITE,
  HTTP_FIELD_ACCEPT, /* means any type if it occurs more than once */
  HTTP_FIELDS
};

/* How the end of the body is found. */
enum http_framing {
  HTTP_FRAMING_NONE,   /* there is no body */
  HTTP_FRAMING_LENGTH, /* Content-Length */
  HTTP_FRAMING_CHUNKS  /* Transfer-Encoding: chunked */
};

/* A request's head. The texts are borrowed from the input of http_read_head. */
struct http_request {
  llhttp_method_t method;
  bool is_1_1;
  bool keep_alive;  /* RFC 9112, 9.3; false for HTTP/1.0 */
  bool has_upgrade; /* Upgrade, and Connection names it */
  enum http_framing framing;
  uint64_t length;                 /* 0 without HTTP_FRAMING_LENGTH */
  struct text target;              /* as written */
  struct text fields[HTTP_FIELDS]; /* without leading and trailing white space; data NULL: not given */
};

enum http_progress {
  HTTP_NEEDS_INPUT,
  HTTP_DONE,  /* the head, or the body, is whole */
  HTTP_FAILED /* respond with the parser's status and reason, and close the connection */
};

/* The position in the trailer section of a body in chunks. */
enum http_trailer {
  TRAILER_NONE, /* the trailer section has not begun */
  TRAILER_LINE, /* at the begin of a line */
  TRAILER_NAME,
  TRAILER_VALUE,
  TRAILER_LF,      /* of a field's line */
  TRAILER_LAST_LF, /* of the empty line */
  TRAILER_END
};

struct http_parser {
  llhttp_t llhttp;
  struct http_request *request; /* during http_read_head */
  struct buffer *body;          /* during http_read_body */
  struct text name;
  struct text value;
  uint64_t length_left; /* of a body in one piece */
  size_t body_max;
  uint64_t received;   /* bytes of the body so far */
  bool is_too_long;    /* the body is longer than body_max: only its beginning is kept */
  size_t overhead;     /* bytes of chunk extensions so far */
  size_t trailer_left; /* bytes that the trailer section may still have */
  enum http_trailer trailer;
  enum chunk_line chunk_line;
  enum http_framing framing; /* of the body that follows the head */
  int status;
  const char *reason;
};

/* Returns t without leading and trailing spaces and tabs (RFC 9110, 5.6.3). */
struct text http_trim(struct text t);

/* To be called before each request. */
void http_parser_init(struct http_parser *parser);
/*
 * Reads a head from the begin of input. HTTP_DONE: the head has *used bytes. HTTP_NEEDS_INPUT: nothing was consumed;
 * call it again with the same bytes and more. *scanned (0 at first): the number of bytes that were searched already.
 */
enum http_progress http_read_head(struct http_parser *parser, struct text input, size_t head_max,
                                  size_t *scanned, size_t *used, struct http_request *request);
/* Instead of http_read_head, for a head whose meaning is known (net/http/http_heads.h): a body of this length
 * follows. */
void http_expect_body(struct http_parser *parser, uint64_t length);
/* Reads the body that the head has announced and appends it to `body`. Of a body longer than body_max only the
 * beginning is kept (net/connection/long_message.h). Fails with 413 above 64 times body_max, and with 431 if the
 * trailer fields are longer than a head may be. */
enum http_progress http_read_body(struct http_parser *parser, struct text input, size_t body_max,
                                  size_t *used, struct buffer *body);

#endif
