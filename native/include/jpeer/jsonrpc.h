#ifndef JPEER_PUBLIC_JSONRPC_H
#define JPEER_PUBLIC_JSONRPC_H
/*
 * libjpeer-jsonrpc: JSON-RPC 2.0 (and the envelope of 1.1) for servers and clients, without a transport, a
 * JVM or a JSON library. Bytes in, bytes out.
 *
 * A server passes each message to jp_jsonrpc_handle with a handler. The library handles parse errors, invalid
 * requests, ids, notifications and batches; the handler gets a method and its params and writes a result or
 * an error. A client builds messages with struct jp_jsonrpc_client, which also matches answers to requests.
 *
 * Threads: there is no global state. jp_jsonrpc_handle may run on any number of threads at once, with the
 * same configuration and handler. A writer and a client are used by one thread at a time.
 *
 * Ownership: results are borrowed unless a comment says otherwise. A struct jp_jsonrpc_call and all results
 * of its functions are valid during the handler's call.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define JP_JSONRPC_VERSION_MAJOR 1
#define JP_JSONRPC_VERSION_MINOR 0

#define JP_API __attribute__((visibility("default")))

/* The version of the library that is linked: major * 1000 + minor. */
JP_API int jp_jsonrpc_library_version(void);

enum jp_jsonrpc_status {
  JP_JSONRPC_OK = 0,
  JP_JSONRPC_NO_REPLY, /* no reply is sent, because the message had only notifications */
  JP_JSONRPC_INVALID,  /* the input is invalid */
  JP_JSONRPC_NO_MEMORY
};

/* The standard codes (JSON-RPC 2.0, 5.1). A handler may use any other code; -32099 to -32000 are for
 * servers. */
enum jp_jsonrpc_code {
  JP_JSONRPC_PARSE_ERROR = -32700,
  JP_JSONRPC_INVALID_REQUEST = -32600,
  JP_JSONRPC_METHOD_NOT_FOUND = -32601,
  JP_JSONRPC_INVALID_PARAMS = -32602,
  JP_JSONRPC_INTERNAL_ERROR = -32603,
  JP_JSONRPC_SERVER_ERROR = -32000
};

/* "Method not found" and so on; "Server error" for a code that is not standard. Static text. */
JP_API const char *jp_jsonrpc_code_message(int code);

/* Bytes of UTF-8, not NUL-terminated. data NULL: absent, where a comment allows it. */
struct jp_text {
  const char *data;
  size_t len;
};

/* ---- values ---- */

enum jp_json_kind {
  JP_JSON_ABSENT, /* the value does not exist */
  JP_JSON_NULL,
  JP_JSON_TRUE,
  JP_JSON_FALSE,
  JP_JSON_NUMBER,
  JP_JSON_STRING,
  JP_JSON_ARRAY,
  JP_JSON_OBJECT
};

/* A value in the text of a valid message. The text is read in place; no tree is built. */
struct jp_json {
  enum jp_json_kind kind;
  struct jp_text text; /* its JSON */
};

/* The number of elements of an array or members of an object, in linear time. 0 for other kinds. */
JP_API size_t jp_json_count(struct jp_json value);
/* The element at the index; absent if the value is not an array, or has no such element. */
JP_API struct jp_json jp_json_at(struct jp_json array, size_t index);
/* The member's value; absent if the value is not an object, or does not have the member. If a name is
 * repeated, the last value counts. */
JP_API struct jp_json jp_json_member(struct jp_json object, const char *name);

/* False if the value has another kind or does not fit; *out is then unchanged. */
JP_API bool jp_json_integer(struct jp_json value, int64_t *out);
JP_API bool jp_json_number(struct jp_json value, double *out);
JP_API bool jp_json_boolean(struct jp_json value, bool *out);
/*
 * Copies a string, unescaped and NUL-terminated, into out, and returns its length. A text longer than size -
 * 1 is cut, as by snprintf. SIZE_MAX: not a string, or no memory. size may be 0. The string may contain NULs.
 */
JP_API size_t jp_json_string(struct jp_json value, char *out, size_t size);

/* Iterates over an array or an object. */
struct jp_json_cursor {
  const char *next;
  const char *end;
  bool is_object;
};

JP_API struct jp_json_cursor jp_json_enter(struct jp_json array_or_object);
/* False at the end. *key (key may be NULL) is the name of the member as a string value; absent in an
 * array. */
JP_API bool jp_json_next(struct jp_json_cursor *cursor, struct jp_json *key, struct jp_json *value);

/*
 * Validates a whole text and returns its value: strict RFC 8259, with at most max_depth levels.
 * JP_JSONRPC_INVALID: not valid, at *offset (offset may be NULL).
 */
JP_API enum jp_jsonrpc_status jp_json_parse(struct jp_text text, size_t max_depth, struct jp_json *value,
                                            size_t *offset);

/* ---- writing values ---- */

/* Writes JSON with its commas and colons. A failed allocation is reported once, at the end. */
struct jp_json_writer;

/* NULL: no memory. For params of requests; a handler gets its writers from its call. */
JP_API struct jp_json_writer *jp_json_writer_create(void);
JP_API void jp_json_writer_destroy(struct jp_json_writer *writer);
/* Empties a writer of jp_json_writer_create. */
JP_API void jp_json_writer_clear(struct jp_json_writer *writer);
/* The JSON that was written so far; data NULL: no memory. Valid until the writer is changed. */
JP_API struct jp_text jp_json_writer_text(const struct jp_json_writer *writer);

JP_API void jp_json_write_null(struct jp_json_writer *writer);
JP_API void jp_json_write_boolean(struct jp_json_writer *writer, bool value);
JP_API void jp_json_write_integer(struct jp_json_writer *writer, int64_t value);
/* The shortest digits that read back as the same value; NaN and infinities are written as null. */
JP_API void jp_json_write_number(struct jp_json_writer *writer, double value);
JP_API void jp_json_write_string(struct jp_json_writer *writer, const char *utf8);
JP_API void jp_json_write_text(struct jp_json_writer *writer, struct jp_text utf8);
/* A value of a message, unchanged. */
JP_API void jp_json_write_value(struct jp_json_writer *writer, struct jp_json value);
/* Writes the caller's JSON unchanged. If the result of a handler is invalid JSON, the answer is -32603. */
JP_API void jp_json_write_raw(struct jp_json_writer *writer, struct jp_text json);
JP_API void jp_json_begin_array(struct jp_json_writer *writer);
JP_API void jp_json_end_array(struct jp_json_writer *writer);
JP_API void jp_json_begin_object(struct jp_json_writer *writer);
JP_API void jp_json_write_key(struct jp_json_writer *writer, const char *utf8);
JP_API void jp_json_end_object(struct jp_json_writer *writer);

/* ---- a server ---- */

/* One request, and its answer. */
struct jp_jsonrpc_call;

/*
 * Runs one request. Returns 0 after it has answered by jp_jsonrpc_result or jp_jsonrpc_error. Any other value
 * is an internal failure: the answer is -32603, the text of jp_jsonrpc_fail is logged, and the rest of the
 * batch is handled. The same happens if the handler has written no answer, or invalid JSON. The handler must
 * not throw exceptions.
 */
typedef int jp_jsonrpc_handler(void *context, struct jp_jsonrpc_call *call);

JP_API struct jp_text jp_jsonrpc_method(const struct jp_jsonrpc_call *call); /* unescaped */
/* An array or an object; absent if the request has none. */
JP_API struct jp_json jp_jsonrpc_params(const struct jp_jsonrpc_call *call);
/* The parameter at the position if params are an array, or with the name if they are an object. */
JP_API struct jp_json jp_jsonrpc_param(const struct jp_jsonrpc_call *call, size_t position, const char *name);
/* The JSON of the id; absent if the request has no id. */
JP_API struct jp_json jp_jsonrpc_id(const struct jp_jsonrpc_call *call);
/* True: the answer is not sent. */
JP_API bool jp_jsonrpc_is_notification(const struct jp_jsonrpc_call *call);
/* A string value, unescaped, valid as long as the call; data NULL: not a string, or no memory. */
JP_API struct jp_text jp_jsonrpc_string(struct jp_jsonrpc_call *call, struct jp_json value);

/* Begins the result, which replaces an earlier result or error. The handler must write one value. */
JP_API struct jp_json_writer *jp_jsonrpc_result(struct jp_jsonrpc_call *call);
/* Begins an error, which replaces an earlier result or error. The handler may write one value, the error's
 * data. message NULL: the code's standard text. */
JP_API struct jp_json_writer *jp_jsonrpc_error(struct jp_jsonrpc_call *call, int code, const char *message);
/* Sets the reason of a failure for the log. Returns -1, which the handler then returns. */
JP_API int jp_jsonrpc_fail(struct jp_jsonrpc_call *call, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/*
 * Support for another JSON library, for handlers that read params and return results as its trees
 * (jpeer/jsonrpc_jansson.h has jansson's). The functions may be called on every thread that handles messages.
 */
struct jp_json_codec {
  void *context;
  /* Makes the tree of a value; NULL: the codec cannot represent the value. */
  void *(*decode)(void *context, struct jp_text json);
  /* Writes one value. Returns 0; any other result: the tree cannot be written as JSON. */
  int (*encode)(void *context, const void *tree, struct jp_json_writer *writer);
  void (*release)(void *context, void *tree);
};

/* The params as a tree of the codec, released after the handler. NULL: there are none, or the codec cannot
 * make the tree. Needs a codec in the configuration. */
JP_API void *jp_jsonrpc_params_tree(struct jp_jsonrpc_call *call);
/* Sets the result. Takes ownership of the tree, even on failure. Returns 0, or -1 on failure, which the
 * handler then returns. */
JP_API int jp_jsonrpc_result_tree(struct jp_jsonrpc_call *call, void *tree);
/* Sets an error with its data. Takes ownership of the tree; NULL: no data. */
JP_API int jp_jsonrpc_error_tree(struct jp_jsonrpc_call *call, int code, const char *message, void *data);

/* The configuration of a server. All zero: the defaults. Constant while it is in use. */
struct jp_jsonrpc_config {
  size_t max_depth; /* levels of objects and arrays; 0: 128 */
  size_t max_batch; /* requests in a batch; 0: 1,000 */
  const struct jp_json_codec *codec;
  /* Receives a line for each failed handler. NULL: no log. */
  void (*log)(void *context, const char *line);
  void *log_context;
  /*
   * Calls run(items[i]) for every i, in any order and on any threads, and returns when all calls have ended.
   * The items are the requests of a batch, which can run in parallel in this way. The answers keep the order
   * of the requests. NULL: the requests run one after the other.
   */
  void (*map)(void *context, void (*run)(void *item), void *const *items, size_t count);
  void *map_context;
};

struct jp_jsonrpc_reply {
  char *data; /* caller frees with jp_jsonrpc_reply_free; NULL: no reply */
  size_t len;
  int http_status; /* the HTTP status for the reply: 200, 204, or 500 for an error of JSON-RPC 1.1 */
};

/*
 * Handles one message: a request, a notification or a batch. config NULL: the defaults. JP_JSONRPC_OK: *reply
 * must be sent. JP_JSONRPC_NO_REPLY, JP_JSONRPC_NO_MEMORY: no reply.
 */
JP_API enum jp_jsonrpc_status jp_jsonrpc_handle(const struct jp_jsonrpc_config *config,
                                                struct jp_text message, jp_jsonrpc_handler *handler,
                                                void *context, struct jp_jsonrpc_reply *reply);
JP_API void jp_jsonrpc_reply_free(struct jp_jsonrpc_reply *reply);

/*
 * The answer to a message that could not be parsed, for programs that parse messages before handling them
 * (jp_jsonrpc_handle answers such messages itself). JP_JSONRPC_OK or JP_JSONRPC_NO_MEMORY.
 */
JP_API enum jp_jsonrpc_status jp_jsonrpc_parse_error(struct jp_jsonrpc_reply *reply);

/*
 * Handles a message that config->codec has already decoded, and returns the reply decoded. message is
 * borrowed. JP_JSONRPC_OK: *reply must be sent; the caller releases it with the codec. JP_JSONRPC_NO_REPLY,
 * JP_JSONRPC_NO_MEMORY, JP_JSONRPC_INVALID (there is no codec, or it cannot encode the message): *reply is
 * NULL. If the codec cannot decode an answer, the answer is -32603 instead. The message and the reply are
 * converted to text and back, so programs that have text should use jp_jsonrpc_handle.
 */
JP_API enum jp_jsonrpc_status jp_jsonrpc_handle_tree(const struct jp_jsonrpc_config *config,
                                                     const void *message, jp_jsonrpc_handler *handler,
                                                     void *context, void **reply);
/* The answer to a message that could not be decoded; released with the codec. */
JP_API enum jp_jsonrpc_status jp_jsonrpc_parse_error_tree(const struct jp_json_codec *codec, void **reply);

/* ---- a client ---- */

/* Builds messages, assigns ids, and keeps the requests without an answer. */
struct jp_jsonrpc_client;

/* NULL: no memory. */
JP_API struct jp_jsonrpc_client *jp_jsonrpc_client_create(void);
JP_API void jp_jsonrpc_client_destroy(struct jp_jsonrpc_client *client);

/*
 * Adds a request to the current message. params is the JSON of an array or of an object; data NULL: none. tag
 * is returned with the answer. id may be NULL; ids begin at 1.
 */
JP_API enum jp_jsonrpc_status jp_jsonrpc_client_request(struct jp_jsonrpc_client *client, const char *method,
                                                        struct jp_text params, void *tag, int64_t *id);
/* Adds a notification, which has no answer. */
JP_API enum jp_jsonrpc_status jp_jsonrpc_client_notify(struct jp_jsonrpc_client *client, const char *method,
                                                       struct jp_text params);
/*
 * Ends the current message: a single request or notification, or a batch. Valid until the next message is
 * begun. data NULL: nothing was added, or no memory.
 */
JP_API struct jp_text jp_jsonrpc_client_message(struct jp_jsonrpc_client *client);

struct jp_jsonrpc_answer {
  bool is_known; /* the id belongs to a pending request; false: it is null or unknown */
  void *tag;     /* of that request */
  int64_t id;    /* set if is_known */
  bool is_error;
  struct jp_json result;  /* set if it is not an error */
  int64_t code;           /* of an error */
  struct jp_json message; /* a string */
  struct jp_json data;    /* may be absent */
};

/*
 * Reads an answer or a batch of answers, and reports each answer. A second answer to a request is reported as
 * unknown. JP_JSONRPC_INVALID: the text or some answers are not valid JSON-RPC 2.0; the other answers were
 * reported.
 */
JP_API enum jp_jsonrpc_status
jp_jsonrpc_client_receive(struct jp_jsonrpc_client *client, struct jp_text text,
                          void (*on_answer)(void *context, const struct jp_jsonrpc_answer *answer),
                          void *context);
/* Requests without an answer. */
JP_API size_t jp_jsonrpc_client_pending(const struct jp_jsonrpc_client *client);
/* Removes a pending request, for example after a timeout. False: no request with this id is pending. */
JP_API bool jp_jsonrpc_client_forget(struct jp_jsonrpc_client *client, int64_t id);

#ifdef __cplusplus
}
#endif

#endif
