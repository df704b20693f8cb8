#ifndef JPEER_JSONRPC_JSONRPC_H
#define JPEER_JSONRPC_JSONRPC_H
/*
 * JSON-RPC 2.0 and 1.1, from bytes to bytes: envelopes, ids, notifications, batches and their errors. It
 * knows neither Java nor sockets, and writes answers in place into the caller's buffer.
 *
 * A request with "version":"1.1" and without `jsonrpc` is 1.1 (docs/jsonrpc-1.1.md): it is answered even
 * without an id, its id may be any JSON value, and it cannot be in a batch.
 *
 * Any thread: a struct jsonrpc_service is constant while in use, and each call has an arena and a buffer of
 * its own.
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

/* The codes of JSON-RPC 1.1 (docs/jsonrpc-1.1.md, "Answers"). A handler answers with the codes above, which
 * are replaced by these if the request is 1.1; a code from 100 to 999 is kept. */
enum jsonrpc_1_1_code {
  JSONRPC_1_1_SERVER_ERROR = 100,
  JSONRPC_1_1_PARSE_ERROR = 101,
  JSONRPC_1_1_BAD_CALL = 102,
  JSONRPC_1_1_SERVICE_ERROR = 104,
  JSONRPC_1_1_PROCEDURE_NOT_FOUND = 105,
  JSONRPC_1_1_ACCESS_DENIED = 106,
  JSONRPC_1_1_NOT_BY_GET = 107
};

enum jsonrpc_version { JSONRPC_2_0, JSONRPC_1_1 };

/* The standard message of a code ("Method not found", docs/protocol.md "Errors"); "Server error" for other
 * codes. */
const char *jsonrpc_code_message(int code);

struct jsonrpc_request {
  struct arena *arena; /* for memory that lives as long as the request */
  struct text text;    /* the whole request as written, without white space around it */
  enum jsonrpc_version version;
  bool is_notification; /* it is not answered */
  bool only_safe;       /* received by HTTP GET: only a safe procedure may run (JSON-RPC 1.1, 6.3.2) */
  struct text method;   /* unescaped */
  bool has_params;
  struct json_value params; /* an array or an object, where has_params */
  struct text id;           /* byte for byte as in the request; data NULL: none */
  struct text peer_id;      /* "peer-id": a string unescaped, another value as written; data NULL: none */
  struct text epoch;        /* "epoch", in the same form as peer_id */
  bool has_options;
  struct json_value options; /* "options", of any kind, where has_options */
  /* jsonrpc_result_stream may be used: the caller allows it, and the message is not a batch */
  bool may_stream;
};

/* Receives a handler's answer. Valid during the handler's call. */
struct jsonrpc_response;

/* Begins a result. The handler then appends exactly one JSON value to the returned buffer. */
struct buffer *jsonrpc_result(struct jsonrpc_response *response);
/* Offset of the id in the buffer that jsonrpc_result returned. The id is written as in the request. Valid
 * after jsonrpc_result, for a request of 2.0 that has an id. */
size_t jsonrpc_id_offset(const struct jsonrpc_response *response);
/* Begins an error, which replaces an answer begun before. The handler may then append one JSON value, the error's
 * data, to the returned buffer; without it the error has no data. */
struct buffer *jsonrpc_error(struct jsonrpc_response *response, int code, const char *message);
/*
 * Continues the result in a stream: the bytes appended since jsonrpc_result are followed by the bytes of the
 * stream, then by suffix (borrowed, static) and the end of the envelope. Only if request->may_stream. Takes
 * the stream. jsonrpc_handle passes the stream to its caller.
 */
void jsonrpc_result_stream(struct jsonrpc_response *response, void *stream, struct text suffix);

struct jsonrpc_service {
  void *context;
  struct arena *arena; /* for unescaped text; the caller resets it after the call */
  /* Runs one request. The handler has to begin a result or an error; otherwise the answer is the error
   * -32603. The answer to a notification is dropped. */
  void (*handle)(void *context, const struct jsonrpc_request *request, struct jsonrpc_response *response);
  /* Writes the data of an error that this module finds (a parse error, an invalid request). detail names the
   * fault; id is the id as the request has it, or "null". NULL: the data is {"message": detail}. */
  void (*write_error_data)(void *context, struct buffer *data, struct text detail, struct text id);
  struct json_limits limits;
  size_t max_batch;
  bool may_stream;
  bool only_safe; /* for every request */
  bool is_strict; /* numbers have no suffixes, not even in params */
  /* A request may have a member `options`, which the handler checks. If this is false, the member is skipped
   * like an unknown member. */
  bool takes_options;
  /*
   * For requests of a batch that the caller has cached. match_cached returns the length of the cached request
   * that the text begins with, or 0. A cached request must be valid JSON, and must be within the limit of
   * levels inside a batch, too. run_cached runs the request of the last match and appends its answer, as
   * jsonrpc_handle_request does. If all requests of a batch are cached, each request is matched twice, and
   * must match both times. If match_cached is NULL, or map is not NULL, every request is read.
   */
  size_t (*match_cached)(void *context, struct text text);
  enum jsonrpc_handled (*run_cached)(void *context);
  /*
   * Calls run(items[i]) for every i, on any threads, and returns when all calls have ended. Each request of a
   * batch then has an arena and a buffer of its own, and jsonrpc_handle puts the answers in order afterwards.
   * NULL: jsonrpc_handle runs the requests of a batch in their order.
   */
  void (*map)(void *map_context, void (*run)(void *item), void *const *items, size_t count);
  void *map_context;
};

enum jsonrpc_handled {
  JSONRPC_REPLY,    /* an answer was appended to out */
  JSONRPC_NO_REPLY, /* nothing was appended: the message had only notifications */
  JSONRPC_STREAM,   /* the answer's head was appended to out; *stream continues it, then *tail */
  JSONRPC_FAILED,   /* an answer of 1.1 that is an error was appended: over HTTP, status 500 (7.1) */
  /* an answer of 1.1 with the error JSONRPC_1_1_NOT_BY_GET was appended: over HTTP, status 405 */
  JSONRPC_NOT_SAFE
};

struct jsonrpc_stream {
  void *stream;     /* given by the handler */
  struct text tail; /* static, or in the arena: copy it to keep it longer than the arena */
};

/*
 * Handles one message, which is a request, a notification or a batch, and appends the answer to out. A failed
 * allocation sets out->failed. Without a map a batch runs in its order.
 */
enum jsonrpc_handled jsonrpc_handle(const struct jsonrpc_service *service, struct text message,
                                    struct buffer *out, struct jsonrpc_stream *stream) JP_MUST_CHECK;

/*
 * Handles one request that is not part of a batch and whose envelope the caller has read itself. The caller
 * sets the whole request except only_safe and may_stream, which are set from the service. Otherwise like
 * jsonrpc_handle.
 */
enum jsonrpc_handled jsonrpc_handle_request(const struct jsonrpc_service *service,
                                            struct jsonrpc_request *request, struct buffer *out,
                                            struct jsonrpc_stream *stream) JP_MUST_CHECK;

/*
 * Finds the id of a request whose text is malformed from byte `fault` on, or was read only up to there: the
 * value of the one member `id` of the outermost object, as written. data NULL: the object has no `id` or
 * several, the value is not an id in that version, or the message is not a single request.
 */
struct text jsonrpc_salvage_id(struct text message, size_t fault, enum jsonrpc_version version);

/* True if a message has "version":"1.1" and no `jsonrpc`. The message need not be JSON. A message that cannot
 * be read is answered in the version that its text suggests. */
bool jsonrpc_looks_like_1_1(struct text message);

/* An answer among the messages of a connection on which both sides send requests (JSON-RPC 2.0, section 5); borrowed
 * from the message. */
struct jsonrpc_answer {
  struct json_value id;
  bool is_error;
  struct json_value value; /* the result, or the error, of any kind */
};

/* True for an object with an id, exactly one of `result` and `error`, and no method. No member may be
 * repeated. If both `result` and `error` are present, a member that is null counts as missing, because
 * JSON-RPC 1.0 has both; if both are null, `error` counts as missing. The caller checks everything else. */
bool jsonrpc_answer_read(struct json_value message, struct jsonrpc_answer *answer);

#endif
