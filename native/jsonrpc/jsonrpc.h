#ifndef JPEER_JSONRPC_JSONRPC_H
#define JPEER_JSONRPC_JSONRPC_H
/*
 * JSON-RPC 2.0, bytes in and bytes out: envelopes, ids, notifications, batches and the errors that belong to
 * them. It knows no Java and no socket. The answers are written in place into the caller's buffer.
 *
 * Thread rule: a struct jsonrpc_service is constant while in use; each call has its own arena and buffer, so
 * any number of threads may be in jsonrpc_handle at once.
 */
#include "base/arena.h"
#include "base/buffer.h"
#include "base/status.h"
#include "base/text.h"
#include "json/reader.h"

enum jsonrpc_code {
  JSONRPC_PARSE_ERROR = -32700,
  JSONRPC_INVALID_REQUEST = -32600,
  JSONRPC_METHOD_NOT_FOUND = -32601,
  JSONRPC_INVALID_PARAMS = -32602,
  JSONRPC_INTERNAL_ERROR = -32603,
  JSONRPC_SERVER_ERROR = -32000,
  JSONRPC_ACCESS_DENIED = -32001
};

/* The text of the reference's table for a code ("Method not found"); "Server error" for one it does not list.
 */
const char *jsonrpc_code_message(int code);

struct jsonrpc_request {
  struct text method; /* unescaped */
  bool has_params;
  struct json_value params; /* an array or an object, where has_params */
  struct text id;           /* as written, byte for byte; data NULL: a notification */
  struct text peer_id;      /* the "peer-id" member where it is a string, unescaped; else data NULL */
  bool may_stream;          /* jsonrpc_result_stream may be used: no batch, and the caller said so */
};

/* Where a handler puts its answer. Opaque; valid during the handler's call. */
struct jsonrpc_response;

/* Begins a result; the handler then appends exactly one JSON value to the buffer that is returned. */
struct buffer *jsonrpc_result(struct jsonrpc_response *response);
/* Begins an error in place of whatever was begun before. The handler may then append one JSON value to the
 * buffer that is returned: the error's data. Where it appends nothing, the error has no data. */
struct buffer *jsonrpc_error(struct jsonrpc_response *response, int code, const char *message);
/*
 * Says that the result goes on in a stream: what was appended since jsonrpc_result is followed by what the
 * caller's stream gives, then by suffix (borrowed, static), then by the end of the envelope. Only where
 * request->may_stream. Takes the token; jsonrpc_handle hands it to its caller.
 */
void jsonrpc_result_stream(struct jsonrpc_response *response, void *stream, struct text suffix);

struct jsonrpc_service {
  void *context;
  struct arena *arena; /* for unescaped text; the caller resets it after the call */
  /* Runs one request. What it answers to a notification is dropped. Must begin a result or an error; where it
   * begins neither, the answer is -32603. */
  void (*handle)(void *context, const struct jsonrpc_request *request, struct jsonrpc_response *response);
  /* Writes the data of an error that this module itself found (a parse error, an invalid request): detail is
   * what is wrong in particular, id the request's id as written or "null". NULL: such errors have
   * {"message": detail} as data. */
  void (*write_error_data)(void *context, struct buffer *data, struct text detail, struct text id);
  struct json_limits limits;
  size_t max_batch;
  bool may_stream;
};

enum jsonrpc_handled {
  JSONRPC_REPLY,    /* an answer was appended to out */
  JSONRPC_NO_REPLY, /* nothing was: only notifications came */
  JSONRPC_STREAM    /* the answer's head was appended to out; *stream goes on with it, then *tail */
};

struct jsonrpc_stream {
  void *stream;     /* what the handler gave */
  struct text tail; /* static, or in the arena: copied by whoever keeps it longer than the arena */
};

/*
 * Handles one message: a request, a notification or a batch. Appends the answer to out. A failed allocation
 * leaves out->failed. Deterministic: a batch is run in its order.
 */
enum jsonrpc_handled jsonrpc_handle(const struct jsonrpc_service *service, struct text message,
                                    struct buffer *out, struct jsonrpc_stream *stream) JP_MUST_CHECK;

#endif
