#ifndef JPEER_PUBLIC_JSONRPC_H
#define JPEER_PUBLIC_JSONRPC_H
/*
 * libjpeer-jsonrpc: JSON-RPC 2.0 (and the envelope of 1.1) for servers and clients, with no transport, no JVM
 * and no JSON library in sight. Bytes in, bytes out.
 *
 * A server gives each message to jp_jsonrpc_handle with a handler. Parse errors, invalid requests, ids,
 * notifications and batches are the library's; the handler sees a method and its params and writes a result
 * or an error. A client builds messages with struct jp_jsonrpc_client, which matches the answers to them.
 *
 * Threads: there is no global state. jp_jsonrpc_handle may run on any number of threads at once, with the
 * same configuration and handler. A writer and a client belong to one thread at a time.
 *
 * Ownership: what a function gives is borrowed unless its comment says otherwise. A struct jp_jsonrpc_call
 * and all that comes out of it is valid during the handler's call.
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
  JP_JSONRPC_NO_REPLY, /* nothing is to be sent: only notifications came */
  JP_JSONRPC_INVALID,  /* what was given is not what it has to be */
  JP_JSONRPC_NO_MEMORY
};

/* The standard codes (JSON-RPC 2.0, 5.1). A handler may use any other; -32099 to -32000 are for servers. */
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
  JP_JSON_ABSENT, /* there is no such value */
  JP_JSON_NULL,
  JP_JSON_TRUE,
  JP_JSON_FALSE,
  JP_JSON_NUMBER,
  JP_JSON_STRING,
  JP_JSON_ARRAY,
  JP_JSON_OBJECT
};

/* A value in the text of a message that was found valid: it is read where it stands, there is no tree. */
struct jp_json {
  enum jp_json_kind kind;
  struct jp_text text; /* its JSON */
};

/* Elements of an array or members of an object; walks them. 0 for every other kind. */
JP_API size_t jp_json_count(struct jp_json value);
/* Absent where it is no array, or shorter. */
JP_API struct jp_json jp_json_at(struct jp_json array, size_t index);
/* Absent where it is no object, or has no such member. Where a name is repeated, its last value. */
JP_API struct jp_json jp_json_member(struct jp_json object, const char *name);

/* False where the value is not of that kind or does not fit; *out is left alone then. */
JP_API bool jp_json_integer(struct jp_json value, int64_t *out);
JP_API bool jp_json_number(struct jp_json value, double *out);
JP_API bool jp_json_boolean(struct jp_json value, bool *out);
/*
 * Copies a string, unescaped and NUL-terminated, into out, and gives its length: as snprintf does, cut where
 * it is longer than size - 1. SIZE_MAX: no string, or no memory. size may be 0. The string may hold NULs.
 */
JP_API size_t jp_json_string(struct jp_json value, char *out, size_t size);

/* Walks an array or an object. */
struct jp_json_cursor {
  const char *next;
  const char *end;
  bool is_object;
};

JP_API struct jp_json_cursor jp_json_enter(struct jp_json array_or_object);
/* False at the end. key is the name of the member as a string value; absent in an array. It may be NULL. */
JP_API bool jp_json_next(struct jp_json_cursor *cursor, struct jp_json *key, struct jp_json *value);

/*
 * Checks a whole text and gives its value: strict RFC 8259, no deeper than max_depth. JP_JSONRPC_INVALID: it
 * is none, and *offset (may be NULL) is where.
 */
JP_API enum jp_jsonrpc_status jp_json_parse(struct jp_text text, size_t max_depth, struct jp_json *value,
                                            size_t *offset);

/* ---- writing values ---- */

/* Writes JSON; commas and colons are its own. A failed allocation is kept in mind and told once, at the end.
 */
struct jp_json_writer;

/* NULL: no memory. For params of requests; a handler gets its writers from its call. */
JP_API struct jp_json_writer *jp_json_writer_create(void);
JP_API void jp_json_writer_destroy(struct jp_json_writer *writer);
/* Empties a writer that jp_json_writer_create made. */
JP_API void jp_json_writer_clear(struct jp_json_writer *writer);
/* What was written; data NULL where memory was short. Valid until the next change. */
JP_API struct jp_text jp_json_writer_text(const struct jp_json_writer *writer);

JP_API void jp_json_write_null(struct jp_json_writer *writer);
JP_API void jp_json_write_boolean(struct jp_json_writer *writer, bool value);
JP_API void jp_json_write_integer(struct jp_json_writer *writer, int64_t value);
/* The shortest digits that read back; NaN and the infinities, which JSON has not, are null. */
JP_API void jp_json_write_number(struct jp_json_writer *writer, double value);
JP_API void jp_json_write_string(struct jp_json_writer *writer, const char *utf8);
JP_API void jp_json_write_text(struct jp_json_writer *writer, struct jp_text utf8);
/* A value as it came. */
JP_API void jp_json_write_value(struct jp_json_writer *writer, struct jp_json value);
/* JSON that the caller vouches for: a handler whose result is none is answered -32603. */
JP_API void jp_json_write_raw(struct jp_json_writer *writer, struct jp_text json);
JP_API void jp_json_begin_array(struct jp_json_writer *writer);
JP_API void jp_json_end_array(struct jp_json_writer *writer);
JP_API void jp_json_begin_object(struct jp_json_writer *writer);
JP_API void jp_json_write_key(struct jp_json_writer *writer, const char *utf8);
JP_API void jp_json_end_object(struct jp_json_writer *writer);

/* ---- a server ---- */

/* One request: what is asked, and where its answer goes. */
struct jp_jsonrpc_call;

/*
 * Runs one request. Returns 0 when it has answered by jp_jsonrpc_result or jp_jsonrpc_error. Anything else is
 * a failure of another kind: it becomes -32603, what jp_jsonrpc_fail said goes to the log, and the rest of
 * the batch goes on. So does a handler that answers nothing or no JSON. No exception may leave it.
 */
typedef int jp_jsonrpc_handler(void *context, struct jp_jsonrpc_call *call);

JP_API struct jp_text jp_jsonrpc_method(const struct jp_jsonrpc_call *call); /* unescaped */
/* An array or an object; absent where the request has none. */
JP_API struct jp_json jp_jsonrpc_params(const struct jp_jsonrpc_call *call);
/* The parameter at the position where params are an array, with the name where they are an object. */
JP_API struct jp_json jp_jsonrpc_param(const struct jp_jsonrpc_call *call, size_t position, const char *name);
/* As it came; absent where there is none. */
JP_API struct jp_json jp_jsonrpc_id(const struct jp_jsonrpc_call *call);
/* Nobody gets the answer. */
JP_API bool jp_jsonrpc_is_notification(const struct jp_jsonrpc_call *call);
/* A string value, unescaped, for as long as the call; data NULL: no string, or no memory. */
JP_API struct jp_text jp_jsonrpc_string(struct jp_jsonrpc_call *call, struct jp_json value);

/* Begins the result, in place of whatever was begun before; one value has to be written. */
JP_API struct jp_json_writer *jp_jsonrpc_result(struct jp_jsonrpc_call *call);
/* Begins an error, likewise. One value may be written: its data. message NULL: the code's own. */
JP_API struct jp_json_writer *jp_jsonrpc_error(struct jp_jsonrpc_call *call, int code, const char *message);
/* Says why the handler fails, for the log; gives -1, for it to return. */
JP_API int jp_jsonrpc_fail(struct jp_jsonrpc_call *call, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/*
 * Other trees: a handler that wants its params as the values of another JSON library, and gives its result as
 * one (jpeer/jsonrpc_jansson.h has jansson's). All may be called on every thread that handles.
 */
struct jp_json_codec {
  void *context;
  /* The value's tree; NULL: it cannot be made. */
  void *(*decode)(void *context, struct jp_text json);
  /* Writes one value; anything but 0: it cannot be written. */
  int (*encode)(void *context, const void *tree, struct jp_json_writer *writer);
  void (*release)(void *context, void *tree);
};

/* The params as the codec makes them, released after the handler. NULL: there are none, or they cannot be
 * made. Needs a codec in the configuration. */
JP_API void *jp_jsonrpc_params_tree(struct jp_jsonrpc_call *call);
/* The result. Takes the tree, also where it fails. Gives 0, or -1 for the handler to return. */
JP_API int jp_jsonrpc_result_tree(struct jp_jsonrpc_call *call, void *tree);
/* An error with its data. Takes the tree; NULL: no data. */
JP_API int jp_jsonrpc_error_tree(struct jp_jsonrpc_call *call, int code, const char *message, void *data);

/* What a server may choose. All zero is the standard. Constant while it is in use. */
struct jp_jsonrpc_config {
  size_t max_depth; /* objects and arrays inside one another; 0: 128 */
  size_t max_batch; /* requests in a batch; 0: 1,000 */
  const struct jp_json_codec *codec;
  /* A line about a handler that failed. NULL: nobody is told. */
  void (*log)(void *context, const char *line);
  void *log_context;
  /*
   * Runs run(items[i]) for every i, in any order and on any threads, and returns when all have ended: a batch
   * is given to it, so that its requests run at the same time. The answers keep the order of the requests.
   * NULL: one after the other.
   */
  void (*map)(void *context, void (*run)(void *item), void *const *items, size_t count);
  void *map_context;
};

struct jp_jsonrpc_reply {
  char *data; /* caller frees with jp_jsonrpc_reply_free; NULL: nothing is to be sent */
  size_t len;
  int http_status; /* what HTTP says beside it: 200, 204, and 500 for an error of JSON-RPC 1.1 */
};

/*
 * Handles one message: a request, a notification or a batch. config NULL: the standard. JP_JSONRPC_OK: *reply
 * is to be sent. JP_JSONRPC_NO_REPLY, JP_JSONRPC_NO_MEMORY: there is none.
 */
JP_API enum jp_jsonrpc_status jp_jsonrpc_handle(const struct jp_jsonrpc_config *config,
                                                struct jp_text message, jp_jsonrpc_handler *handler,
                                                void *context, struct jp_jsonrpc_reply *reply);
JP_API void jp_jsonrpc_reply_free(struct jp_jsonrpc_reply *reply);

/*
 * The answer to a message that could not be parsed, for who parses messages before they are handled
 * (jp_jsonrpc_handle gives it itself). JP_JSONRPC_OK or JP_JSONRPC_NO_MEMORY.
 */
JP_API enum jp_jsonrpc_status jp_jsonrpc_parse_error(struct jp_jsonrpc_reply *reply);

/*
 * Handles a message that was decoded by config->codec already, and gives the reply decoded. message is
 * borrowed. JP_JSONRPC_OK: *reply is to be sent; caller releases it as the codec does. JP_JSONRPC_NO_REPLY,
 * JP_JSONRPC_NO_MEMORY, JP_JSONRPC_INVALID (there is no codec, or it cannot encode the message): *reply is
 * NULL. A request whose answer the codec cannot hold is answered -32603. Inside, the message and the reply
 * are text: who has text at hand is better off with jp_jsonrpc_handle.
 */
JP_API enum jp_jsonrpc_status jp_jsonrpc_handle_tree(const struct jp_jsonrpc_config *config,
                                                     const void *message, jp_jsonrpc_handler *handler,
                                                     void *context, void **reply);
/* The answer to a message that could not be decoded; released as the codec does. */
JP_API enum jp_jsonrpc_status jp_jsonrpc_parse_error_tree(const struct jp_json_codec *codec, void **reply);

/* ---- a client ---- */

/* Builds messages, gives out ids, and knows which answers are still to come. */
struct jp_jsonrpc_client;

/* NULL: no memory. */
JP_API struct jp_jsonrpc_client *jp_jsonrpc_client_create(void);
JP_API void jp_jsonrpc_client_destroy(struct jp_jsonrpc_client *client);

/*
 * Adds a request to the message that is built. params is the JSON of an array or of an object; data NULL:
 * none. tag comes back with the answer. id may be NULL; ids begin at 1.
 */
JP_API enum jp_jsonrpc_status jp_jsonrpc_client_request(struct jp_jsonrpc_client *client, const char *method,
                                                        struct jp_text params, void *tag, int64_t *id);
/* Adds a notification, which has no answer. */
JP_API enum jp_jsonrpc_status jp_jsonrpc_client_notify(struct jp_jsonrpc_client *client, const char *method,
                                                       struct jp_text params);
/*
 * Ends the message: one request or notification as it is, more as a batch. Valid until the next one is begun.
 * data NULL: nothing was added, or memory was short.
 */
JP_API struct jp_text jp_jsonrpc_client_message(struct jp_jsonrpc_client *client);

struct jp_jsonrpc_answer {
  bool is_known; /* the id is that of a request that waits; else id is null or a stranger's */
  void *tag;     /* of that request */
  int64_t id;    /* where is_known */
  bool is_error;
  struct jp_json result;  /* where it is no error */
  int64_t code;           /* of an error */
  struct jp_json message; /* a string */
  struct jp_json data;    /* may be absent */
};

/*
 * Reads what came back, an answer or a batch of them, and tells of each; a request is answered once.
 * JP_JSONRPC_INVALID: the text, or some of the answers, is none of JSON-RPC 2.0; the others were told of.
 */
JP_API enum jp_jsonrpc_status
jp_jsonrpc_client_receive(struct jp_jsonrpc_client *client, struct jp_text text,
                          void (*on_answer)(void *context, const struct jp_jsonrpc_answer *answer),
                          void *context);
/* Requests that wait. */
JP_API size_t jp_jsonrpc_client_pending(const struct jp_jsonrpc_client *client);
/* Stops waiting for the answer, as after a timeout. False: nothing waits with this id. */
JP_API bool jp_jsonrpc_client_forget(struct jp_jsonrpc_client *client, int64_t id);

#ifdef __cplusplus
}
#endif

#endif
