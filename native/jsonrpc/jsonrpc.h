#ifndef JPEER_JSONRPC_JSONRPC_H
#define JPEER_JSONRPC_JSONRPC_H
/*
 * JSON-RPC 2.0 and 1.1, bytes in and bytes out: envelopes, ids, notifications, batches and the errors that
 * belong to them. It knows no Java and no socket. The answers are written in place into the caller's buffer.
 *
 * A request with "version":"1.1" and without `jsonrpc` is 1.1 (jsonrpc-1.1-decisions, "Where"): it is
 * answered even without an id, its id may be any JSON value, and it comes alone: the draft has no batches.
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

/* The codes of JSON-RPC 1.1 (jsonrpc-1.1-decisions, 7.4). A handler answers with the codes above, which are
 * put into these where the request is 1.1; a code from 100 to 999 goes out as it is. */
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

/* The text of the reference's table for a code ("Method not found"); "Server error" for one it does not list.
 */
const char *jsonrpc_code_message(int code);

struct jsonrpc_request {
  struct arena *arena; /* for what lives as long as the request */
  struct text text;    /* all of it, as written, without white space around it */
  enum jsonrpc_version version;
  bool is_notification; /* nobody gets an answer */
  bool only_safe;       /* came by HTTP GET: only a safe procedure may run (JSON-RPC 1.1, 6.3.2) */
  struct text method;   /* unescaped */
  bool has_params;
  struct json_value params; /* an array or an object, where has_params */
  struct text id;           /* as written, byte for byte; data NULL: none */
  struct text peer_id; /* the "peer-id" member: a string unescaped, all else as it came; else data NULL */
  bool may_stream;     /* jsonrpc_result_stream may be used: no batch, and the caller said so */
};

/* What every answer of 2.0 begins with; its id follows, as the request has written it, or null. */
#define JSONRPC_ANSWER_HEAD "{\"jsonrpc\":\"2.0\",\"id\":"
/* What follows the id where the answer is no error. */
#define JSONRPC_ANSWER_RESULT ",\"result\":"

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
  bool only_safe; /* every request's */
  bool is_strict; /* numbers have no suffixes, in params neither */
  /*
   * For the requests of a batch that the caller has read before. recall tells how many bytes of the text that
   * begins here are such a request, 0: none; they must be valid JSON, and stay so one level deeper.
   * run_recalled runs what was recalled last and appends its answer, as jsonrpc_handle_request does. The
   * caller is asked twice for each element of a batch that it knows as a whole, and must then know it both
   * times. NULL, or with a map: all are read.
   */
  size_t (*recall)(void *context, struct text text);
  enum jsonrpc_handled (*run_recalled)(void *context);
  /*
   * Runs run(items[i]) for every i and returns when all have ended, on any threads: each request of a batch
   * then has an arena and a buffer of its own, and the answers are put in order afterwards. NULL: a batch
   * runs in its order, here.
   */
  void (*map)(void *map_context, void (*run)(void *item), void *const *items, size_t count);
  void *map_context;
};

enum jsonrpc_handled {
  JSONRPC_REPLY,    /* an answer was appended to out */
  JSONRPC_NO_REPLY, /* nothing was: only notifications came */
  JSONRPC_STREAM,   /* the answer's head was appended to out; *stream goes on with it, then *tail */
  JSONRPC_FAILED,   /* an answer of 1.1 that is an error was appended: over HTTP, status 500 (7.1) */
  JSONRPC_NOT_SAFE  /* the same with JSONRPC_1_1_NOT_BY_GET: over HTTP, status 405 */
};

struct jsonrpc_stream {
  void *stream;     /* what the handler gave */
  struct text tail; /* static, or in the arena: copied by whoever keeps it longer than the arena */
};

/*
 * Handles one message: a request, a notification or a batch. Appends the answer to out. A failed allocation
 * leaves out->failed. Without a map a batch is run in its order.
 */
enum jsonrpc_handled jsonrpc_handle(const struct jsonrpc_service *service, struct text message,
                                    struct buffer *out, struct jsonrpc_stream *stream) JP_MUST_CHECK;

/*
 * Handles one request, not of a batch, whose envelope the caller has read itself: everything of it is set but
 * only_safe and may_stream, which come from the service. Else as jsonrpc_handle.
 */
enum jsonrpc_handled jsonrpc_handle_request(const struct jsonrpc_service *service,
                                            struct jsonrpc_request *request, struct buffer *out,
                                            struct jsonrpc_stream *stream) JP_MUST_CHECK;

/*
 * The id of a request of which not all is JSON, or was looked at: that of the one member `id` of the
 * outermost object, as written. fault: the byte from which it is no JSON, or was not looked at. data NULL:
 * there is none, or more than one, or it is no id of that version, or the message is no single request.
 */
struct text jsonrpc_salvage_id(struct text message, size_t fault, enum jsonrpc_version version);

/* True where a message, whole JSON or not, shows "version":"1.1" and no `jsonrpc`: what cannot be read is
 * answered in the form that its sender knows. */
bool jsonrpc_looks_like_1_1(struct text message);

#endif
