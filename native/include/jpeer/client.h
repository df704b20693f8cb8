#ifndef JPEER_PUBLIC_CLIENT_H
#define JPEER_PUBLIC_CLIENT_H
/*
 * libjpeer-client: calls Java objects that a jpeer peer holds. It needs no JVM.
 *
 *   struct jp_client *client;
 *   if (jp_client_open("ws+unix:/run/user/1000/app.sock", NULL, &client, &error) != JP_CLIENT_OK) ...
 *   struct jp_request add = jp_build_class_method_call("com.example.Calculator", "add",
 *                                                      JP_ARGUMENTS(jp_int(5), jp_int(3)));
 *   struct jp_answer *answer;
 *   if (jp_client_call(client, &add, 1000, &answer, &error) == JP_CLIENT_OK)
 *     jp_answer_integer(answer, &sum);
 *   jp_answer_free(answer);
 *
 * Threads: any number of threads may use a client and its refs at once. Each answer, each chain and each
 * request is used by one thread at a time. No function needs a lock that another function holds while it
 * waits for the peer. The library has no thread of its own, except libzmq's two threads for each connection
 * over ZeroMQ. One of the threads that wait for an answer reads for all of them; a program without waiting
 * threads calls jp_client_process.
 *
 * Ownership: texts passed to a function are borrowed until it returns; the comment of each function says how
 * long its results live. Each successful jp_*_open, _create and _keep is followed by one jp_*_close, _destroy
 * or _release, and each returned answer by jp_answer_free. These accept NULL.
 *
 * Errors: a function that can fail returns an enum jp_client_status. *error, which may be NULL, gets the
 * details.
 *
 * fork: a client belongs to the process that opened it. In a child, calls fail and handles are not released.
 * The child may open its own clients: clients with the same jp_client_config.process share callbacks with
 * each other, but never with the parent's clients. No function raises a signal or installs a handler.
 *
 * ABI: symbols have the version jp_client_1. Structs that the caller fills begin with their size or end with
 * reserved words that are zero, so that later versions of this file only add members.
 */
#include "jpeer/request.h"

#ifdef __cplusplus
extern "C" {
#endif

#define JP_CLIENT_VERSION_MAJOR 1
#define JP_CLIENT_VERSION_MINOR 0

/* The version of the library that is linked: major * 1000 + minor. */
JP_API int jp_client_library_version(void);

struct jp_client;   /* a connection, and its session in the peer */
struct jp_answer;   /* the answer to one request */
struct jp_callback; /* an object of the program (jp_callback_create) */

/* ---- answers ---- */

enum jp_answer_kind {
  JP_ANSWER_VOID,
  JP_ANSWER_NULL,
  JP_ANSWER_BOOLEAN,
  JP_ANSWER_INTEGER, /* byte, short, int, long and their wrappers */
  JP_ANSWER_NUMBER,  /* float, double and their wrappers */
  JP_ANSWER_STRING,  /* String, char and Character */
  JP_ANSWER_OBJECT,  /* an object with a ref; jp_answer_text returns its value or text, if any */
  JP_ANSWER_JSON,    /* the result of FETCH, DESCRIBE and METHOD */
  JP_ANSWER_ERROR
};

/* All results of these functions are borrowed until the answer is freed. All functions here accept NULL as an
 * empty answer of the kind JP_ANSWER_VOID. */
JP_API enum jp_answer_kind jp_answer_kind(const struct jp_answer *answer);
/* The Java type: "int", "java.util.ArrayList"; "" if there is none. NUL-terminated. */
JP_API const char *jp_answer_type(const struct jp_answer *answer);
/* The value as text: "8", "hello", "SECONDS", "[5,6,7]"; data NULL if there is none. NUL-terminated. Lone
 * surrogates of Java are three bytes each. */
JP_API struct jp_text jp_answer_text(const struct jp_answer *answer);
/* Return false if the answer has another kind of value, or a value that does not fit; *out is then unchanged.
 * jp_answer_number accepts an integer, too. */
JP_API bool jp_answer_boolean(const struct jp_answer *answer, bool *out);
JP_API bool jp_answer_integer(const struct jp_answer *answer, int64_t *out);
JP_API bool jp_answer_number(const struct jp_answer *answer, double *out);
/*
 * Copies the elements of an array of primitives whose value is in the answer, in C's representation. Returns
 * the number of elements, and copies at most `count` of them. SIZE_MAX: the answer is not an array of that
 * type ("int[]"), or does not have the elements.
 */
JP_API size_t jp_answer_array(const struct jp_answer *answer, const char *type, void *elements, size_t count);
/* Decodes a string of base64 in the JSON of an answer, such as the data of a column of jpeer.columns. Returns
 * the number of bytes. out needs room for three bytes for each four letters, 3 more are enough for any rest.
 * SIZE_MAX: value is no string of strict base64, or size is too small. */
JP_API size_t jp_answer_bytes(struct jp_json value, void *out, size_t size);
/*
 * For an argument with `out`: copies the elements of its array after the call, if the call has changed them.
 * Returns the number of elements, and copies at most `count` of them; *type is the element type ("int") of
 * the array in Java. SIZE_MAX: the call has not changed the array.
 */
JP_API size_t jp_answer_out(const struct jp_answer *answer, size_t argument, const char **type,
                            void *elements, size_t count);
/* The object's handle; NULL if there is none. Borrowed until the answer is freed; jp_ref_keep keeps the
 * handle longer. */
JP_API struct jp_ref *jp_answer_ref(const struct jp_answer *answer);
/*
 * If the answer is a callback that this client or another client of its process gave to Java: that callback.
 * NULL: the answer is not a callback, or a callback of another program. Needs jp_client_config.process, or a
 * call of jp_client_learn_limits on the connection. The caller releases the callback with
 * jp_callback_release; the callback does not end before.
 */
JP_API struct jp_callback *jp_answer_keep_callback(const struct jp_answer *answer) JP_CLIENT_MUST_CHECK;
/* Like jp_answer_keep_callback, for a value {"ref": N, "callback": {...}} inside jp_answer_json. */
JP_API struct jp_callback *jp_answer_keep_callback_in(const struct jp_answer *answer,
                                                      struct jp_json value) JP_CLIENT_MUST_CHECK;
/* The JSON of the result, or of the error's data; absent if there is none. */
JP_API struct jp_json jp_answer_json(const struct jp_answer *answer);
/* The handle for a value {"ref": N} inside jp_answer_json; the caller releases it. NULL: the value has
 * another kind, or memory is short. Refs without a handle are released with the answer. */
JP_API struct jp_ref *jp_answer_take_ref(struct jp_answer *answer, struct jp_json value);
JP_API void jp_answer_free(struct jp_answer *answer);

/* A Java throwable. */
struct jp_throwable {
  const char *type;         /* NULL: the error has no Java throwable, as for a wrong argument */
  const char *message;      /* NULL: none */
  const char *const *stack; /* one text for each frame, innermost first */
  size_t stack_count;
  const struct jp_throwable *cause; /* NULL: none */
};

/* For JP_ANSWER_ERROR: the code of JSON-RPC (docs/protocol.md, "Errors"), its message and the throwable. A
 * binary reply has no code: the library derives the code from the throwable's type; it is -32000 for most
 * types. For other answers 0, "" and a throwable without a type. */
JP_API int jp_answer_error_code(const struct jp_answer *answer);
/* "the peer 0.9.0 has no types; upgrade it": the peer is older than this library, and has refused what it does not know
 * (docs/compatibility.md). NULL: the answer is no such error. */
JP_API const char *jp_answer_lack(const struct jp_answer *answer);
JP_API const char *jp_answer_error_message(const struct jp_answer *answer);
/* Never NULL. */
JP_API const struct jp_throwable *jp_answer_throwable(const struct jp_answer *answer);

/* ---- refs ---- */

/*
 * A handle of an object in the peer. After the last handle was released, the client releases the object in
 * the peer together with other objects, in its next message. Releasing never waits for the peer. Any thread
 * may release a handle at any time, even after jp_client_close.
 */
JP_API struct jp_ref *jp_ref_keep(struct jp_ref *ref);
JP_API void jp_ref_release(struct jp_ref *ref);
/* 0 for NULL. A bare number is not checked for staleness. */
JP_API uint32_t jp_ref_number(const struct jp_ref *ref);
/* Identifies the run of the peer and the session that the object belongs to (docs/protocol.md, "Sessions
 * over restarts"): two handles of any clients name the same object if their epochs and numbers are equal. 0
 * for NULL, or if the peer names no epoch. */
JP_API uint64_t jp_ref_epoch(const struct jp_ref *ref);
/* The client that received the handle, and that releases the object in the peer. NULL for NULL. */
JP_API const struct jp_client *jp_ref_client(const struct jp_ref *ref);
/* The object's class; "" for NULL, or if the first answer with the object did not name its class, as for an
 * object inside a list. */
JP_API const char *jp_ref_type(const struct jp_ref *ref);

/* ---- a connection ---- */

#define JP_FOREVER (-1) /* a timeout; timeouts are in milliseconds */

/* Room for the longest token, 8,192 bytes, and its NUL. */
enum { JP_TOKEN_SIZE = 8193 };

/*
 * Writes the token for the next connection, or over HTTP for the next request, NUL-terminated, and returns true. False:
 * the call fails with JP_CLIENT_NO_TOKEN, and its error contains error->text. Called on the thread that makes the call,
 * without locks and by several threads at once; must not use the client. The time that it takes counts for the call's
 * timeout, but nothing ends it. jp_client_close does not call it: over HTTP it sends the last token again.
 */
typedef bool jp_token_function(void *context, char token[JP_TOKEN_SIZE], struct jp_client_error *error);

struct jp_directory_config;

struct jp_client_config {
  size_t size;            /* sizeof(struct jp_client_config) */
  const char *peer_id;    /* a UUID that names the session; NULL: the connection's own session */
  bool binary;            /* over tcp: and ipc:, use binary messages in place of JSON */
  bool reconnects;        /* see jp_client_open */
  int connect_timeout_ms; /* 0: 10,000 */
  size_t message_max;     /* the longest answer that is accepted, in bytes; 0: 256 MiB */
  size_t pending_max;     /* the most requests without an answer; 0: 65,536 */
  /* Called by each thread that waits in jp_client_call, jp_chain_send or jp_client_notify: after a signal,
   * and a few times a second. True ends the wait with JP_CLIENT_INTERRUPTED, or with the answer if it has
   * arrived during the call. Called without locks; may use the client. jp_client_end and jp_client_close do
   * not call it. NULL: only the timeout ends a wait. */
  bool (*interrupted)(void *context);
  void *interrupted_context;
  /* The longest request that is sent, in bytes; a longer request fails with JP_CLIENT_TOO_LONG. 0: no limit,
   * until jp_client_learn_limits gets the peer's limit. Not available with binary messages. */
  size_t request_max;
  /* Identifies this program's clients of one session to the peer: a text of 22 to 128 bytes with at least 128
   * random bits. All these clients have the same text. These clients share their callbacks: each client may
   * give a callback that another client created, and a call from Java arrives on the connection whose request
   * the Java thread serves. The peer gets the beginning of the text and random digits. The digits change each
   * time that the first of these clients connects, and in a child of fork(2): callbacks given then are new
   * objects for Java. NULL: each client has its own callbacks. Ignored over HTTP and ZeroMQ. Borrowed until
   * the client is open. */
  const char *process;

  /*
   * Who the peer is, and who this client is (docs/c-client.md, "TLS and tokens"). Texts are borrowed until the client is
   * open. Files are read again for each connection, and token_file over HTTP for each request.
   *
   * ca_file: PEM; the certificates that a peer's certificate is verified with. NULL: the system's. cert_file:
   * PEM; the client's certificate, followed by those of intermediate authorities. key_file: PEM, without a
   * passphrase; NULL: the key is in cert_file. These three files are only for wss: and https:. If server_key
   * is set, key_file has another meaning (see server_key).
   */
  const char *ca_file;
  const char *cert_file;
  const char *key_file;
  /* A token is given in at most one of three ways. It is sent over verified TLS, to a loopback address or over a unix
   * socket; otherwise the call fails with JP_CLIENT_NO_TOKEN before anything is sent. No error contains it. */
  const char *token;
  const char *token_file; /* white space around the token is ignored */
  jp_token_function *token_function;
  void *token_context;
  /* Further fields of the heads of requests, "NAME: VALUE", at most 4,096 bytes in all; NULL-terminated;
   * NULL: none. A field that the library sets itself is refused with JP_CLIENT_INVALID. Not for ZeroMQ. */
  const char *const *headers;
  /* Only for tcp: (docs/c-client.md, "CURVE"): the public key of the peer, 40 characters of Z85. With this
   * key the connection is encrypted, and the peer must prove who it is. key_file is then the file with the
   * client's own pair of keys, as `jpeer keygen` makes it, with the mode 0600. NULL: without CURVE. */
  const char *server_key;
  /* How the directory of a dir: URL is reached; endpoints must be NULL, because the URL has them. NULL: by the
   * environment (see struct jp_directory_config). Borrowed until the client is open. Ignored for other URLs. */
  const struct jp_directory_config *directory;
};

/* The peer's limits for one request (docs/protocol.md, `control session`). */
struct jp_peer_limits {
  size_t message_max; /* bytes */
  size_t values_max;  /* elements of lists and maps */
};

/*
 * Opens a connection by its URL:
 *
 *   ws://HOST:PORT[/PATH]   WebSocket; the default path is /rpc
 *   ws+unix:PATH            WebSocket over a unix socket
 *   wss://HOST[:PORT][/PATH] WebSocket over TLS; the default port is 443
 *   http://HOST:PORT[/PATH] HTTP
 *   https://HOST[:PORT][/PATH] HTTP over TLS
 *   http+unix:PATH          HTTP over a unix socket
 *   shm:PATH                shared memory, requested over a unix socket; without shared memory the
 *                           connection is a WebSocket over that socket
 *   tcp://HOST:PORT         ZeroMQ
 *   ipc://PATH              ZeroMQ over a unix socket
 *   dir://HOST:PORT[,HOST:PORT]/NAME or /UUID  the peer of that name in a directory (docs/directory.md), over
 *                           WebSocket; with config->binary over ZeroMQ
 *   dir://.../service/NAME  a peer of that service
 *
 * Over TLS (1.2 or later) the peer's certificate is always verified for HOST, a name or an address. A URL
 * with a user, a password or a token is JP_CLIENT_INVALID. Redirects are not followed.
 *
 * config NULL: all zero. Blocks until the client is connected, at most connect_timeout_ms; resolving a host's
 * name may take longer. Over HTTP and ZeroMQ the library generates a session's UUID if peer_id is NULL, so
 * that refs outlive a request; closing the client ends the session.
 *
 * With config->reconnects a call on a connection that has ended opens a new connection for the same session:
 * refs remain valid if the peer still has their objects. If another peer now has the address, requests that
 * name objects of the old peer fail with JP_CLIENT_STALE (docs/protocol.md, "Sessions over restarts").
 * Requests without an answer end with their connection, and are not sent again. If the peer does not answer,
 * the library tries to connect again after 100 ms, then 200 ms, up to 5 seconds; until then calls return the
 * last failure. Over HTTP clients always reconnect, because a peer closes idle connections.
 *
 * With a dir: URL clients always reconnect, too: to whoever has the name then, or to a peer of the service. A new
 * connection to a service goes to the one with fewer connections of this process of two peers that are chosen at
 * random; peers that have failed are tried last. Clients of one process with the same peer_id and URL are connected to
 * the same peer. No request is sent twice: if the connection ends, a request without an answer fails with
 * JP_CLIENT_UNSENT if it was not sent, otherwise with the reason of the end, and the text says that it was sent.
 * jp_client_call sends a request that was not sent, or has options.idempotent, over another connection by itself, as
 * long as its timeout allows, if the request names no object and is not nested in a callback. The library needs
 * libcurl for such a URL, and loads it then: JP_CLIENT_UNSUPPORTED without it.
 */
JP_API enum jp_client_status jp_client_open(const char *url, const struct jp_client_config *config,
                                            struct jp_client **client,
                                            struct jp_client_error *error) JP_CLIENT_MUST_CHECK;
/* The version of the peer, which the library learns with jp_client_learn_limits, with jp_client_config.process or when the peer
 * lacks something: "0.9.0"; "" before. NUL-terminated; valid until the client is closed. */
JP_API const char *jp_client_peer_version(struct jp_client *client);
/*
 * Gets the peer's limits: from then on a longer request fails with JP_CLIENT_TOO_LONG and is not sent. Fails
 * as jp_client_call, and with JP_CLIENT_UNSUPPORTED if the peer is of a later version that no longer serves this
 * library.
 */
JP_API enum jp_client_status jp_client_learn_limits(struct jp_client *client, int timeout_ms,
                                                    struct jp_peer_limits *limits,
                                                    struct jp_client_error *error) JP_CLIENT_MUST_CHECK;
/*
 * Ends the connection. Waiting threads get JP_CLIENT_CLOSED, and pending completions are called with it, by
 * this function. Releases the client's objects in the peer. All this takes at most a second. In a session
 * named by peer_id, objects of answers that did not arrive are not released. If another thread is opening a
 * connection, waits for it, at most connect_timeout_ms. No other thread may begin a call with the client. In
 * a child of fork(2) this function only closes the child's descriptors, and sends nothing.
 */
JP_API void jp_client_close(struct jp_client *client);

/*
 * Ends the connection: waiting threads and later calls get JP_CLIENT_CLOSED. Does not wait for a thread that
 * is opening a connection; that thread gets JP_CLIENT_CLOSED as well. The client exists until
 * jp_client_close, which can be delayed until no other thread uses the client.
 */
JP_API void jp_client_end(struct jp_client *client);

/*
 * Sends a request and waits for its answer, at most timeout_ms. JP_CLIENT_OK: *answer has the result.
 * JP_CLIENT_REMOTE: *answer has the error, and error->text describes it. Otherwise *answer is NULL. An answer
 * that arrives after the timeout is dropped, and its object is released. Over WebSocket and shared memory the
 * library also asks the peer to end a request that has timed out, or whose wait was interrupted: the peer
 * interrupts the Java thread.
 */
JP_API enum jp_client_status jp_client_call(struct jp_client *client, const struct jp_request *request,
                                            int timeout_ms, struct jp_answer **answer,
                                            struct jp_client_error *error) JP_CLIENT_MUST_CHECK;
/*
 * Gives the client a Java thread of its own. This thread runs all requests of the client from then on, so the
 * requests share locks, ThreadLocals, the context class loader and the interrupt flag. If the client has a
 * thread of its own already, the client gets a new thread. name: the name of the thread; NULL: the peer
 * chooses one. The client has this thread until jp_client_unpin or the end of the connection; after a
 * reconnection (config.reconnects) the client has no thread of its own. Works only over WebSocket and shared
 * memory. Over other transports, or if the peer has --pinned-threads-max threads of clients already, the
 * result is JP_CLIENT_REMOTE with the peer's reason. Must not be called inside the function of a callback.
 * Not for binary messages.
 */
JP_API enum jp_client_status jp_client_pin(struct jp_client *client, const char *name, int timeout_ms,
                                           struct jp_client_error *error) JP_CLIENT_MUST_CHECK;
/* From then on any thread of the peer runs the client's requests. Has no effect without jp_client_pin.
 * timeout_ms 0: sends a notification, and does not wait for the peer. */
JP_API enum jp_client_status jp_client_unpin(struct jp_client *client, int timeout_ms,
                                             struct jp_client_error *error) JP_CLIENT_MUST_CHECK;

/* Sends a request without an answer. Blocks only while the socket is full. Not for binary messages. */
JP_API enum jp_client_status jp_client_notify(struct jp_client *client, const struct jp_request *request,
                                              struct jp_client_error *error) JP_CLIENT_MUST_CHECK;

/*
 * Sends the pending releases of objects, as far as the socket accepts them. Use it if the client may not send
 * its next message soon. Never waits. False: a part was not sent; the next call of any function with the
 * client sends it. While requests are in flight it sends nothing and returns true: the next message releases
 * the objects.
 */
JP_API bool jp_client_flush(struct jp_client *client);

/* Receives the status that jp_client_call would return, and the answer, which the function then owns; NULL if
 * there is no answer. The function may use the client, but not close it. */
typedef void jp_client_completion(void *context, enum jp_client_status status, struct jp_answer *answer);

/*
 * Sends a request, or queues it if the socket is full, and returns. If this function succeeds, `completion`
 * is called once, by jp_client_process or jp_client_close. Messages that completions send are sent together,
 * at the end of jp_client_process. A timeout may be reported 10 ms late, and even later with very many
 * requests.
 */
JP_API enum jp_client_status jp_client_send(struct jp_client *client, const struct jp_request *request,
                                            int timeout_ms, jp_client_completion *completion, void *context,
                                            struct jp_client_error *error) JP_CLIENT_MUST_CHECK;
/*
 * Asks the peer to end the request that was sent with this completion and context: the peer interrupts its
 * Java thread. The completion is called as usual, with the peer's answer: JP_CLIENT_REMOTE with the reason
 * "cancelled" if the call had not ended. Never waits. False: there is no such request in flight. This
 * function searches all requests in flight. Over HTTP this function ends the connection instead, if no later
 * request was sent on it; the completion is then called with JP_CLIENT_CLOSED. For binary messages nothing is
 * sent.
 */
JP_API bool jp_client_cancel(struct jp_client *client, jp_client_completion *completion, const void *context);
/* A descriptor for the program's loop: when it is readable, jp_client_process has something to do. Created at
 * the first call, constant until the client is closed, and owned by the library. -1: the process has no
 * descriptor left. */
JP_API int jp_client_descriptor(struct jp_client *client);
/*
 * Reads input, sends queued output, and calls the completions of requests that are finished or have timed
 * out. Never sleeps; over shared memory it continues while the next answers arrive at once, at most a
 * millisecond. If the result is not JP_CLIENT_OK, the connection has ended, *error says why, and all
 * completions were called.
 */
JP_API enum jp_client_status jp_client_process(struct jp_client *client, struct jp_client_error *error);
/* The same as jp_client_process, except that Java's calls are left to another thread that calls
 * jp_client_process. Use it in a loop that the functions of callbacks must not block. The descriptor remains
 * readable until the calls were run. */
JP_API enum jp_client_status jp_client_process_answers(struct jp_client *client,
                                                       struct jp_client_error *error);
/*
 * For a thread that only runs Java's calls. If another thread waits for an answer, that thread reads the
 * connection for all threads. In that case this function waits at most `microseconds` for a call that
 * jp_client_process would run. True: there is a call.
 */
JP_API bool jp_client_await_calls(struct jp_client *client, unsigned microseconds);

/* Requests without an answer, including those that have timed out. */
JP_API size_t jp_client_pending(const struct jp_client *client);
/* The number of objects that this client has handles of. */
JP_API size_t jp_client_ref_count(const struct jp_client *client);

/* ---- chains ---- */

/*
 * Steps that use each other's results, sent as one batch, in one round trip. The result of a step without a
 * name is not returned, and its object ends with the batch.
 *
 *   jp_chain_create_object(chain, "list", "java.util.ArrayList", JP_NO_ARGUMENTS);
 *   jp_chain_call(chain, NULL, "add", JP_ARGUMENTS(jp_string("b")));
 *   jp_chain_call(chain, "size", "size", JP_NO_ARGUMENTS);
 *   status = jp_chain_send(chain, 1000, &error);
 *   jp_answer_integer(jp_chain_answer(chain, "size"), &size);
 *
 * Adding a step never fails: jp_chain_send reports the fault of a step. Texts and arguments are copied, but
 * handles must be kept until the chain is sent. jp_named(NAME) is the result of the step with that name, as
 * an argument (also inside lists and maps) and as an instance.
 */
struct jp_chain;

/* NULL: no memory. Steps may be added to a NULL chain: jp_chain_send then reports that memory was short.
 * Borrows the client. */
JP_API struct jp_chain *jp_chain_create(struct jp_client *client);
/* Frees the chain and its answers. */
JP_API void jp_chain_destroy(struct jp_chain *chain);

/* Creates an object, which is the target of the next steps. */
JP_API void jp_chain_create_object(struct jp_chain *chain, const char *name, const char *type,
                                   const struct jp_argument *args, size_t arg_count);
/* Makes the result of that name the target of the next steps. type: a class or interface of the result; NULL:
 * the type given to jp_chain_create_object or jp_chain_with, or else the result's own class, which need not
 * be known. */
JP_API void jp_chain_with(struct jp_chain *chain, const char *name, const char *type);
/* Makes an object of the client the target of the next steps. type: a class or interface of the object; NULL:
 * the object's own class. */
JP_API void jp_chain_with_object(struct jp_chain *chain, const struct jp_ref *ref, const char *type);
JP_API void jp_chain_call(struct jp_chain *chain, const char *name, const char *method,
                          const struct jp_argument *args, size_t arg_count);
JP_API void jp_chain_get(struct jp_chain *chain, const char *name, const char *field);
JP_API void jp_chain_put(struct jp_chain *chain, const char *field, struct jp_argument value);
JP_API void jp_chain_call_static(struct jp_chain *chain, const char *name, const char *type,
                                 const char *method, const struct jp_argument *args, size_t arg_count);
JP_API void jp_chain_get_static(struct jp_chain *chain, const char *name, const char *type,
                                const char *field);
JP_API void jp_chain_put_static(struct jp_chain *chain, const char *type, const char *field,
                                struct jp_argument value);
/* Adds any request; its options are copied. */
JP_API void jp_chain_request(struct jp_chain *chain, const char *name, const struct jp_request *request);
/* Moves the steps of another chain to the end of this chain. The chains share their names. */
JP_API void jp_chain_append(struct jp_chain *chain, struct jp_chain *steps);

/*
 * Sends the steps and waits for the answers. Afterwards the chain is empty except for its answers, and can be
 * used again. JP_CLIENT_REMOTE: a step failed; error->text names the step. Steps that use the result of a
 * failed step fail, too; the other steps run.
 */
JP_API enum jp_client_status jp_chain_send(struct jp_chain *chain, int timeout_ms,
                                           struct jp_client_error *error) JP_CLIENT_MUST_CHECK;
/* The answer of the step with that name, borrowed until the next send or the end of the chain; NULL: none.
 * The answer of a failed step is its error. */
JP_API struct jp_answer *jp_chain_answer(const struct jp_chain *chain, const char *name);
/* The error of the step that made jp_chain_send fail, even if the step has no name. Borrowed until the next
 * send or the end of the chain. NULL: no step failed. */
JP_API const struct jp_answer *jp_chain_failure(const struct jp_chain *chain);

/* ---- launching a peer ---- */

struct jp_peer; /* a child process */

struct jp_launch_config {
  size_t size;                    /* sizeof(struct jp_launch_config) */
  const char *program;            /* NULL: jpeer, searched in PATH */
  const char *class_path;         /* NULL: none */
  const char *const *jvm_options; /* NULL-terminated ("-Xmx1g"); NULL: none */
  /* Options of jpeer run (docs/flags.md), NULL-terminated. If they set no policy, this user is allowed
   * everything, and other users cannot connect. */
  const char *const *options;
  const char *main_class;       /* NULL: the peer runs no program, and waits for calls */
  const char *const *arguments; /* of the main class; NULL-terminated; NULL: none */
  /* Receives the output that the peer writes to descriptor 1 or 2. Called by a thread of the library. NULL:
   * the peer inherits stdout and stderr. */
  void (*on_output)(void *context, int descriptor, struct jp_text bytes);
  void *output_context;
  int start_timeout_ms;                  /* 0: 30,000 */
  const struct jp_client_config *client; /* configuration of the launch's connection; NULL: all zero */
  /* The peer's stdin; the caller still owns the descriptor. 0: /dev/null. To pass the caller's own stdin,
   * pass a dup() of it. The peer is not in the terminal's foreground process group, so it cannot read from
   * the terminal. */
  int input;
};

/*
 * Starts a peer as a child process and connects to it over a unix socket in a private folder, or over shared
 * memory if the peer offers it. The peer ends with this process, however this process ends. config NULL: all
 * zero.
 */
JP_API enum jp_client_status jp_launch(const struct jp_launch_config *config, struct jp_peer **peer,
                                       struct jp_client_error *error) JP_CLIENT_MUST_CHECK;
/* The connection of the launch; jp_peer_stop closes it. */
JP_API struct jp_client *jp_peer_client(const struct jp_peer *peer);
/* The URL for other clients: "ws+unix:/tmp/...". */
JP_API const char *jp_peer_url(const struct jp_peer *peer);
JP_API int jp_peer_process_id(const struct jp_peer *peer);
/* Waits until on_output has received everything that the peer had written before this call, at most 200 ms.
 * As a result, the output that Java printed before it answered a request has been received. Costs one system
 * call if there is no output. Any thread. */
JP_API void jp_peer_await_output(struct jp_peer *peer);
/* Waits at most timeout_ms for the end of the process. True: it has ended, and `how` is "exit status 1" or
 * "signal 9". Any thread, but not during jp_peer_stop. */
JP_API bool jp_peer_has_ended(struct jp_peer *peer, int timeout_ms, char *how, size_t size);
/* Asks the peer to end, waits for its end, kills it after timeout_ms, and frees *peer. Returns the status of
 * waitpid. */
JP_API int jp_peer_stop(struct jp_peer *peer, int timeout_ms);

/* ---- callbacks ---- */

/*
 * A callback is an object of the program that Java calls: a Comparator, a listener, a lambda. The program
 * creates the callback and gives it to Java as an argument (jp_callback_argument) or as a result. Java calls
 * it through an interface. Callbacks work over WebSocket and shared memory.
 *
 * Java's calls arrive on the connection, so a thread of the program must read the connection. A call runs on
 * a thread that waits in jp_client_call or jp_chain_send. If only one thread has given the callback, and
 * still waits for one of the requests that gave it, the call runs on this thread. Otherwise it runs on any
 * waiting thread. If no thread waits, the call runs in jp_client_process, on the thread that calls
 * jp_client_process. During the call no lock is held, and other threads read. If no thread of the program
 * waits or calls jp_client_process, Java waits. Calls of a callback may run on several threads at once,
 * unless only one thread has given it and waits.
 *
 * With by_origin the peer names the origin of a call. What Java does for a request then runs on the thread
 * that waits for this request in jp_client_call or jp_chain_send. All other calls (from the thread of a timer
 * or pool, for a request of another connection or by jp_client_send) run only in jp_client_process, which a
 * thread has to call. Requests that several threads send over one client count as served in order.
 *
 * Requests that the function makes before it has answered (calls, chains, notifications, jp_client_send) run
 * on the Java thread that waits for the answer. An ordinary request would wait for ever, because it would be
 * queued after the request that waits for the function. With options.within such requests run on the thread
 * of another call; with "" they are ordinary requests. During such a request Java may call back on the same
 * thread, as deep as the peer allows.
 */

struct jp_callback_call; /* one call from Java */

/*
 * The function of a callback. It answers the call by jp_callback_return or a jp_callback_throw function
 * before it returns, or later if it has called jp_callback_answer_later. Without an answer Java gets a
 * jpeer.peer.CallbackException. Calls of void methods are answered, too. The function may use the client, but
 * not close it. It must not exit by longjmp or a C++ exception.
 */
typedef void jp_callback_function(void *context, struct jp_callback_call *call);

struct jp_callback_config {
  size_t size;                   /* sizeof(struct jp_callback_config) */
  const char *const *interfaces; /* NULL-terminated; NULL: the parameter's type */
  bool has_arity;                /* `arity` is valid; it selects among overloads, as a lambda's does */
  int arity;                     /* the number of parameters of the interface's only method */
  const char *const *overrides;  /* default methods that are called here, too; NULL-terminated; NULL: none */
  bool oneway;                   /* calls of void methods are events: Java does not wait for them */
  /* the refs in the arguments of a call end with its answer; not with oneway */
  bool borrow;
  bool by_origin; /* a waiting thread runs only the calls that its requests cause */
  jp_callback_function *function;
  /* Called once, when the callback is neither running nor callable any more. NULL: none. */
  void (*released)(void *context);
  void *context;
};

/*
 * Creates an object that Java can hold. The object ends when three conditions hold: the program has released
 * it (jp_callback_release); Java has released it, or the connection has ended; no call of it runs. The
 * library function that notices the end then calls `released` on its own thread, with no lock held.
 * `released` may use the client, but not close it. JP_CLIENT_UNSUPPORTED: the transport has no callbacks; or
 * oneway in a client with jp_client_config.process.
 *
 * Java's references end with the connection. On a new connection of a reconnecting client the callback can be
 * given again, as a new object for Java; the old Java object throws.
 */
JP_API enum jp_client_status jp_callback_create(struct jp_client *client,
                                                const struct jp_callback_config *config,
                                                struct jp_callback **callback,
                                                struct jp_client_error *error) JP_CLIENT_MUST_CHECK;
/* The program will not give the callback any more. Requests and chains with the callback still hold it. Call
 * once for jp_callback_create, and once for each success of jp_callback_keep and jp_answer_keep_callback. Any
 * thread, even after jp_client_close. */
JP_API void jp_callback_release(struct jp_callback *callback);
/*
 * Undoes one jp_callback_release, if `released` has not been called. The program may then give the callback
 * again, and Java gets the same object. False: the callback has ended, and `released` was called or will be
 * called soon. Only for a callback with `released`, before that function returns.
 */
JP_API bool jp_callback_keep(struct jp_callback *callback) JP_CLIENT_MUST_CHECK;

/* The context of its jp_callback_config. */
JP_API void *jp_callback_context(const struct jp_callback *callback);

/* The results of these functions are borrowed until the function has returned and the call is answered.
 * jp_callback_interface returns the interface that declares the method. */
JP_API const char *jp_callback_interface(const struct jp_callback_call *call);
JP_API const char *jp_callback_method(const struct jp_callback_call *call);
JP_API size_t jp_callback_argument_count(const struct jp_callback_call *call);
/* An argument of the call. It must not be freed; jp_ref_keep keeps its object, unless the callback borrows.
 * NULL: the call does not have that many arguments. */
JP_API const struct jp_answer *jp_callback_argument_at(const struct jp_callback_call *call, size_t index);
/* The declared type of the parameter, to distinguish overloads. NULL: the call does not have that many
 * arguments. */
JP_API const char *jp_callback_parameter_type(const struct jp_callback_call *call, size_t index);
/* The client whose connection the call arrived on. With jp_client_config.process this may be another client than the
 * creator of the callback. */
JP_API struct jp_client *jp_callback_client(const struct jp_callback_call *call);
/* For jp_options.within, until the call is answered. NULL: the call is an event, and gets no answer. */
JP_API const char *jp_callback_id(const struct jp_callback_call *call);

/* Called in the function of a callback: any thread may answer the call after the function has returned. The
 * call ends with its answer. A call that is never answered leaves Java waiting, and the client in memory. */
JP_API void jp_callback_answer_later(struct jp_callback_call *call);

/*
 * Answers with a value. value is converted to the method's return type; NULL: null, which is also the value
 * for void methods. JP_CLIENT_OK: the answer was written, or the call is an event. JP_CLIENT_CLOSED: the
 * connection of the call has ended, and the call with it. JP_CLIENT_INVALID: the value is invalid, or the
 * call was answered already. JP_CLIENT_NO_MEMORY. After these two errors a call without an answer is still
 * open.
 */
JP_API enum jp_client_status jp_callback_return(struct jp_callback_call *call,
                                                const struct jp_argument *value,
                                                struct jp_client_error *error);
/* Throws a new throwable of that class, if the policy allows `new` for the class. If the policy denies it, or
 * throwable_type is NULL, throws a jpeer.peer.CallbackException. message: UTF-8, may be NULL. Fails as
 * jp_callback_return. */
JP_API enum jp_client_status jp_callback_throw(struct jp_callback_call *call, const char *throwable_type,
                                               const char *message, struct jp_client_error *error);
/* A stack frame of the program, shown by Java as "at CLASS.METHOD(FILE:LINE)". */
struct jp_thrown_frame {
  const char *class_name; /* "" if there is none; the same holds for the texts below */
  const char *method;
  const char *file; /* NULL: none */
  int line;         /* below 0: none */
};

enum {
  JP_THROWN_FRAMES_MAX = 64,
  JP_THROWN_CAUSES_MAX = 32
}; /* the most that peers accept: frames of each throwable, and causes */

/* A throwable for Java. */
struct jp_thrown {
  size_t size;                          /* sizeof(struct jp_thrown) */
  const struct jp_ref *object;          /* a throwable that the peer holds; NULL: a new one */
  const char *type;                     /* class of the new throwable; NULL: jpeer.peer.CallbackException */
  const char *message;                  /* NULL: none */
  const struct jp_thrown_frame *frames; /* innermost first; placed before the frames that Java adds */
  size_t frame_count;
  const struct jp_thrown *cause; /* for a throwable without a cause; NULL: none */
};

/* Throws as jp_callback_throw does, with frames and causes. JP_CLIENT_INVALID: too many frames or causes. */
JP_API enum jp_client_status jp_callback_throw_as(struct jp_callback_call *call,
                                                  const struct jp_thrown *thrown,
                                                  struct jp_client_error *error);
/* Throws a throwable that the peer holds. Fails as jp_callback_return. */
JP_API enum jp_client_status jp_callback_throw_object(struct jp_callback_call *call,
                                                      const struct jp_ref *throwable,
                                                      struct jp_client_error *error);

/* ---- directories ---- */

/*
 * How a directory of peers (etcd, docs/directory.md) is reached. NULL or "": the value of the environment's variable.
 * Texts are borrowed until the function returns. Files are read for each connection to the directory.
 */
struct jp_directory_config {
  size_t size;            /* sizeof(struct jp_directory_config) */
  const char *endpoints;  /* "HOST:PORT[,HOST:PORT]", over TLS "https://HOST:PORT"; JPEER_DIRECTORY */
  const char *name_space; /* JPEER_DIR_NAMESPACE; else "pal" */
  const char
      *ca_file; /* PEM: the certificates that verify the directory's; JPEER_DIR_CACERT; else the system's */
  const char *cert_file; /* PEM: the client's certificate and key; JPEER_DIR_CERT, JPEER_DIR_KEY */
  const char *key_file;
  const char *user_file; /* one line, USER:PASSWORD, that only its owner may read; JPEER_DIR_USER_FILE */
  int timeout_ms;        /* of each question; 0: 5,000 */
  /* Called a few times a second while jp_directory_watch waits. True ends the wait with JP_CLIENT_INTERRUPTED. NULL:
   * only the timeout ends it. */
  bool (*interrupted)(void *context);
  void *interrupted_context;
};

/* A peer in a directory. Anyone who may write into the directory chooses the texts. They are UTF-8 without control
 * characters. NULL: the peer has none. Later versions may add members. */
struct jp_directory_peer {
  const char *uuid; /* never NULL */
  const char *name;
  const char *json_rpc;  /* ws://HOST:PORT or wss://HOST:PORT */
  const char *zmq_rpc;   /* tcp://HOST:PORT */
  const char *zmq_curve; /* the public key of CURVE */
  int64_t since_ms;      /* when the peer has registered, in milliseconds since 1970; 0: unknown */
};

/* Constant. Any thread. The list owns its texts. */
struct jp_directory_peers;

JP_API size_t jp_directory_peers_count(const struct jp_directory_peers *list);
/* By name, peers without a name last. NULL: the index is too large. */
JP_API const struct jp_directory_peer *jp_directory_peers_at(const struct jp_directory_peers *list,
                                                             size_t index);
/* Which entries of the directory cannot be read: "2 entries ..."; the list does not have them. NULL: none. */
JP_API const char *jp_directory_peers_fault(const struct jp_directory_peers *list);
JP_API void jp_directory_peers_free(struct jp_directory_peers *list);

/*
 * Lists the peers of a directory. The caller frees the list. Any number of threads may ask at once. config NULL: all
 * from the environment.
 *
 * JP_CLIENT_REFUSED: no endpoint answers in time, or the directory refuses the user or the certificate.
 * JP_CLIENT_UNSUPPORTED: there is no libcurl, which is loaded by the first call; or the endpoint is no etcd with a JSON
 * gateway. JP_CLIENT_PROTOCOL: the answer cannot be read. JP_CLIENT_INVALID: a fault of the configuration or its files.
 * JP_CLIENT_LIMIT, JP_CLIENT_NO_MEMORY.
 */
JP_API enum jp_client_status jp_directory_list(const struct jp_directory_config *config,
                                               struct jp_directory_peers **list,
                                               struct jp_client_error *error) JP_CLIENT_MUST_CHECK;
/*
 * Waits until the peers differ from those of *list, at most timeout_ms and the second that a read may take, and replaces the list by the present one. The old
 * list is freed. *list NULL: waits for no change. No change is missed between two calls with the same list; several changes may be
 * seen as one.
 *
 *   struct jp_directory_peers *list = NULL;
 *   while (jp_directory_watch(&config, JP_FOREVER, &list, &error) == JP_CLIENT_OK)
 *     show(list);
 *   jp_directory_peers_free(list);
 *
 * JP_CLIENT_TIMEOUT: there was no change. JP_CLIENT_INTERRUPTED: config->interrupted ended the wait. Otherwise fails as
 * jp_directory_list: when etcd is not reached for config->timeout_ms. After any failure *list is unchanged, and the wait may
 * be continued. The library has no thread of its own: the caller's thread waits, and no other thread uses *list.
 */
JP_API enum jp_client_status jp_directory_watch(const struct jp_directory_config *config, int timeout_ms,
                                                struct jp_directory_peers **list,
                                                struct jp_client_error *error) JP_CLIENT_MUST_CHECK;

/* ---- for other languages ---- */

/*
 * The library for foreign functions (ctypes, koffi, fiddle): only numbers, pointers and NUL-terminated texts,
 * with requests and configurations as JSON. The functions above that have no structs by value can be used as
 * well: jp_answer_kind, _type, _integer, _ref, _error_code, _free, jp_ref_keep, _number, _epoch, _release,
 * jp_client_close, jp_peer_client, _stop. docs/c-client.md, "Other languages", has programs.
 */

/* Makes an error for the parameter `error` of all functions. It can be used again. NULL: no memory. */
JP_API struct jp_client_error *jp_client_error_create(void);
JP_API void jp_client_error_destroy(struct jp_client_error *error);
/* The status of the last function that failed with this error. */
JP_API enum jp_client_status jp_client_error_status(const struct jp_client_error *error);
JP_API const char *jp_client_error_text(const struct jp_client_error *error);

/* The same as jp_client_open and jp_launch, with config as text. config: a JSON object with the members of
 * struct jp_client_config or struct jp_launch_config, except functions: {"reconnects": true}; NULL: {}. */
JP_API enum jp_client_status jp_client_open_json(const char *url, const char *config,
                                                 struct jp_client **client,
                                                 struct jp_client_error *error) JP_CLIENT_MUST_CHECK;
JP_API enum jp_client_status jp_launch_json(const char *config, struct jp_peer **peer,
                                            struct jp_client_error *error) JP_CLIENT_MUST_CHECK;
/*
 * Calls as jp_client_call does. text is a request as in docs/protocol.md, {"method": "call", "params": {...},
 * "options": {...}}, without an id, which the library chooses. {"ref": 42} names the object whose handle has
 * the number 42 (jp_ref_number), as long as a handle of the object exists. With a member "epoch", the 16
 * hexadecimal digits of jp_ref_epoch, the request fails with JP_CLIENT_STALE if the peer has been started
 * again, as with handles. Not for binary messages.
 */
JP_API enum jp_client_status jp_client_call_json(struct jp_client *client, const char *text, size_t length,
                                                 int timeout_ms, struct jp_answer **answer,
                                                 struct jp_client_error *error) JP_CLIENT_MUST_CHECK;
/* The same texts as jp_answer_text and jp_answer_json; NULL if there is none. NUL-terminated; *length, which
 * may be NULL, does not count the NUL. */
JP_API const char *jp_answer_text_of(const struct jp_answer *answer, size_t *length);
JP_API const char *jp_answer_json_of(const struct jp_answer *answer, size_t *length);

#ifdef __cplusplus
} /* extern "C" */

/* JP_ARGUMENTS in C++: a chain copies its arguments. */
template <size_t COUNT>
inline void jp_chain_create_object(struct jp_chain *chain, const char *name, const char *type,
                                   const jp_arguments<COUNT> &args)
{
  jp_chain_create_object(chain, name, type, args.items, COUNT);
}

template <size_t COUNT>
inline void jp_chain_call(struct jp_chain *chain, const char *name, const char *method,
                          const jp_arguments<COUNT> &args)
{
  jp_chain_call(chain, name, method, args.items, COUNT);
}

template <size_t COUNT>
inline void jp_chain_call_static(struct jp_chain *chain, const char *name, const char *type,
                                 const char *method, const jp_arguments<COUNT> &args)
{
  jp_chain_call_static(chain, name, type, method, args.items, COUNT);
}
#endif

#endif
