#ifndef JPEER_CLIENT_TRANSPORTS_HTTP_RESPONSES_H
#define JPEER_CLIENT_TRANSPORTS_HTTP_RESPONSES_H
/*
 * Responses of HTTP/1.1 (RFC 9112): bytes in, responses out. llhttp reads them; what one may be long is
 * bounded here. No sockets. One owner, one thread at a time.
 */
#include "base/buffer.h"
#include "base/http_syntax.h"
#include "client/transports/transport.h"

#include <llhttp.h>

enum { HTTP_WORDS_MAX = 64 };

/* A whole response; its body is borrowed until the next call, and may be changed. */
struct http_response {
  int status;
  bool is_json;      /* its Content-Type is application/json */
  bool is_last;      /* the connection ends behind it */
  struct text epoch; /* the value of jpeer-epoch; "": it has none. Borrowed as the body is */
  struct text body;
};

/*
 * Where a reader is. Its owner's alone; http_responses.c has the transitions.
 *
 * | state               | what holds            | who leaves it, on what                               |
 * | HTTP_READER_BETWEEN | no response has begun | llhttp: one begins                                   |
 * | HTTP_READER_INSIDE  | a response has begun  | llhttp: it is whole, or another one follows it (1xx) |
 * | HTTP_READER_WHOLE   | a response is whole,  | http_reader_read, http_reader_end: it is given       |
 * |                     | and was not returned  |                                                      |
 */
enum http_reader_state {
  HTTP_READER_BETWEEN, /* no response has begun */
  HTTP_READER_INSIDE,  /* a response has begun */
  HTTP_READER_WHOLE    /* a response is whole */
};

struct http_reader {
  llhttp_t llhttp;
  size_t body_max;
  size_t head_size;    /* bytes of names, values and extensions so far, trailers included */
  struct buffer name;  /* of the field that is being read */
  struct buffer type;  /* the value of Content-Type */
  struct buffer epoch; /* of jpeer-epoch */
  struct buffer pieces;
  struct text span;     /* of the body: the piece that is still in the input */
  struct buffer *value; /* of the field that is being read; NULL: nobody asks for it */
  bool has_type;        /* the response that has begun has a Content-Type */
  bool has_epoch;       /* likewise, a jpeer-epoch */
  bool is_last;         /* the connection ends after the response that is whole */
  enum http_reader_state state;
  enum chunk_line chunk_line; /* what of the body is read next: llhttp's, or the line of a chunk */
  size_t words_length;
  char words[HTTP_WORDS_MAX]; /* "Not Found" */
  enum jp_client_status fault;
  const char *why;
};

void http_reader_init(struct http_reader *reader, size_t body_max);
void http_reader_fini(struct http_reader *reader);

/*
 * Reads up to the end of a response, or of the input. *used is how many bytes were. *is_whole: *response is
 * there. JP_CLIENT_PROTOCOL, JP_CLIENT_LIMIT or JP_CLIENT_NO_MEMORY: nobody knows where the next one begins.
 */
enum jp_client_status http_reader_read(struct http_reader *reader, struct text input, size_t *used,
                                       struct http_response *response, bool *is_whole,
                                       struct jp_client_error *error) JP_CLIENT_MUST_CHECK;
/* The peer has closed, which may be the end of a body. JP_CLIENT_CLOSED: inside a response. */
enum jp_client_status http_reader_end(struct http_reader *reader, struct http_response *response,
                                      bool *is_whole, struct jp_client_error *error) JP_CLIENT_MUST_CHECK;
/* "404 Not Found: a line of the body", for a response that carries no message. */
void http_reader_describe(const struct http_reader *reader, const struct http_response *response,
                          struct buffer *out);

#endif
