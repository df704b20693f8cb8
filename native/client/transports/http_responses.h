#ifndef JPEER_CLIENT_TRANSPORTS_HTTP_RESPONSES_H
#define JPEER_CLIENT_TRANSPORTS_HTTP_RESPONSES_H
/*
 * Parses responses of HTTP/1.1 (RFC 9112) with llhttp, and limits their size. No sockets. One owner, one
 * thread at a time.
 */
#include "base/buffer.h"
#include "base/http_syntax.h"
#include "client/transports/transport.h"

#include <llhttp.h>

enum { HTTP_WORDS_MAX = 64 };

/* A whole response. Its body is borrowed until the next call, and may be changed. */
struct http_response {
  int status;
  bool is_json;      /* its Content-Type is application/json */
  bool is_last;      /* the connection ends after it */
  struct text epoch; /* the value of jpeer-epoch; "": none. Borrowed like the body */
  struct text body;
};

/*
 * The position of a reader. Only its owner uses it; http_responses.c has the transitions.
 *
 * | state               | meaning               | what ends it                                         |
 * | HTTP_READER_BETWEEN | no response has begun | llhttp: one begins                                   |
 * | HTTP_READER_INSIDE  | a response has begun  | llhttp: it is whole, or another one follows it (1xx) |
 * | HTTP_READER_WHOLE   | a response is whole,  | http_reader_read, http_reader_end: they return it    |
 * |                     | and was not returned  |                                                      |
 */
enum http_reader_state {
  HTTP_READER_BETWEEN, /* no response has begun */
  HTTP_READER_INSIDE,  /* a response has begun */
  HTTP_READER_WHOLE    /* a response has arrived completely */
};

struct http_reader {
  llhttp_t llhttp;
  size_t body_max;
  size_t head_size;    /* bytes of names, values and extensions so far, including trailers */
  struct buffer name;  /* of the field that is being read */
  struct buffer type;  /* the value of Content-Type */
  struct buffer epoch; /* of jpeer-epoch */
  struct buffer pieces;
  struct text span;     /* the piece of the body that is still in the input */
  struct buffer *value; /* of the field that is being read; NULL: the value is not needed */
  bool has_type;        /* the current response has a Content-Type */
  bool has_epoch;       /* the current response has a jpeer-epoch */
  bool is_last;         /* the connection ends after the whole response */
  enum http_reader_state state;
  /* the next part of the body: a part that llhttp reads, or the line of a chunk */
  enum chunk_line chunk_line;
  size_t words_length;
  char words[HTTP_WORDS_MAX]; /* "Not Found" */
  enum jp_client_status fault;
  const char *why;
};

void http_reader_init(struct http_reader *reader, size_t body_max);
void http_reader_fini(struct http_reader *reader);

/*
 * Reads up to the end of a response or of the input. *used is the number of bytes read. *is_whole: *response
 * is set. JP_CLIENT_PROTOCOL, JP_CLIENT_LIMIT or JP_CLIENT_NO_MEMORY: the connection cannot be used any more,
 * because the start of the next response is unknown.
 */
enum jp_client_status http_reader_read(struct http_reader *reader, struct text input, size_t *used,
                                       struct http_response *response, bool *is_whole,
                                       struct jp_client_error *error) JP_CLIENT_MUST_CHECK;
/* Call when the peer has closed the connection, because the end of the connection may be the end of a body.
 * JP_CLIENT_CLOSED: the connection has ended inside a response. */
enum jp_client_status http_reader_end(struct http_reader *reader, struct http_response *response,
                                      bool *is_whole, struct jp_client_error *error) JP_CLIENT_MUST_CHECK;
/* Writes "404 Not Found: a line of the body", for a response without a message. */
void http_reader_describe(const struct http_reader *reader, const struct http_response *response,
                          struct buffer *out);

#endif
