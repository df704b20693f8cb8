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
 * Threads: any number of threads may use a client, its refs and its answers at once; an answer, a chain and
 * a request are used by one thread at a time. No function takes a lock that another one holds while it
 * waits for the peer. There is no thread of the library's own, but
 * for libzmq's two of each connection over ZeroMQ: a thread that waits for an answer reads for
 * all that wait, and who waits for none calls jp_client_process.
 *
 * Ownership: a text that a function takes is borrowed until it returns; what it gives says how long it
 * lives. Each jp_*_open, _create, _keep and each jp_answer that a function gives is followed by one
 * jp_*_close, _destroy, _release or _free. NULL is fine there.
 *
 * Errors: a function that can fail returns an enum jp_client_status. Details go to *error, which may be
 * NULL.
 *
 * fork: a client belongs to the process that has opened it. In a child, calls fail and handles are not let
 * go of. The child may open clients of its own: they share callbacks with each other, where they have the same
 * jp_client_config.process, and never with the parent's. No function raises a signal or installs a handler.
 *
 * ABI: symbols have the version jp_client_1. Structs that the caller fills begin with their size or end
 * with reserved words that are zero, so that later versions of this file only add to them.
 */
#include "jpeer/request.h"

#ifdef __cplusplus
extern "C" {
#endif

#define JP_CLIENT_VERSION_MAJOR 1
#define JP_CLIENT_VERSION_MINOR 0

/* The version of the library that is linked: major * 1000 + minor. */
JP_API int jp_client_library_version(void);

struct jp_client;   /* a connection, and the session that it has in the peer */
struct jp_answer;   /* what came back for one request */
struct jp_callback; /* an object of the program (jp_callback_create) */

/* ---- answers ---- */

enum jp_answer_kind {
  JP_ANSWER_VOID,
  JP_ANSWER_NULL,
  JP_ANSWER_BOOLEAN,
  JP_ANSWER_INTEGER, /* byte, short, int, long and their wrappers */
  JP_ANSWER_NUMBER,  /* float, double and their wrappers */
  JP_ANSWER_STRING,  /* String, char and Character */
  JP_ANSWER_OBJECT,  /* an object with a ref; where it has a value or text, jp_answer_text gives it */
  JP_ANSWER_JSON,    /* of FETCH, DESCRIBE and METHOD */
  JP_ANSWER_ERROR
};

/* All that an answer gives is borrowed until it is freed. NULL is an answer without anything, of the kind
 * JP_ANSWER_VOID, for all functions here. */
JP_API enum jp_answer_kind jp_answer_kind(const struct jp_answer *answer);
/* The Java type: "int", "java.util.ArrayList"; "" where there is none. NUL-terminated. */
JP_API const char *jp_answer_type(const struct jp_answer *answer);
/* The value as text: "8", "hello", "SECONDS", "[5,6,7]"; data NULL where there is none. It is followed by a
 * NUL. Lone surrogates of Java are three bytes each. */
JP_API struct jp_text jp_answer_text(const struct jp_answer *answer);
/* False where it is no such value, or does not fit; *out is left alone then. An integer is a number, too. */
JP_API bool jp_answer_boolean(const struct jp_answer *answer, bool *out);
JP_API bool jp_answer_integer(const struct jp_answer *answer, int64_t *out);
JP_API bool jp_answer_number(const struct jp_answer *answer, double *out);
/*
 * The elements of an array of primitives whose value came with it, as C has them. Gives how many there are,
 * and copies min(count, that) of them. SIZE_MAX: it is no array of that type ("int[]"), or came without its
 * value.
 */
JP_API size_t jp_answer_array(const struct jp_answer *answer, const char *type, void *elements, size_t count);
/*
 * Of an argument with `out`: the elements of its array after the call, where the call has changed them. Gives how many there
 * are, and copies min(count, that) of them; *type is that of one element ("int"), as the array in Java has it. SIZE_MAX: the
 * call has changed none.
 */
JP_API size_t jp_answer_out(const struct jp_answer *answer, size_t argument, const char **type,
                            void *elements, size_t count);
/* The object's handle; NULL where there is none. It ends with the answer, unless jp_ref_keep has kept it. */
JP_API struct jp_ref *jp_answer_ref(const struct jp_answer *answer);
/*
 * The callback that the object is, where the program has given it (by this client, or another one of its process); NULL: it is
 * none, or another program's. Of clients with jp_client_config.process, or that have called jp_client_learn_limits on the
 * connection. The caller releases it with jp_callback_release; until then it does not end.
 */
JP_API struct jp_callback *jp_answer_keep_callback(const struct jp_answer *answer) JP_CLIENT_MUST_CHECK;
/* The same of a value {"ref": N, "callback": {...}} inside jp_answer_json. */
JP_API struct jp_callback *jp_answer_keep_callback_in(const struct jp_answer *answer,
                                                      struct jp_json value) JP_CLIENT_MUST_CHECK;
/* The JSON of the result, or of the error's data; absent where there is none. */
JP_API struct jp_json jp_answer_json(const struct jp_answer *answer);
/* Of a value {"ref": N} inside jp_answer_json: a handle of its own, which the caller releases. NULL: it is no
 * such value, or no memory. Refs that nobody took a handle of are let go with the answer. */
JP_API struct jp_ref *jp_answer_take_ref(struct jp_answer *answer, struct jp_json value);
JP_API void jp_answer_free(struct jp_answer *answer);

/* A throwable of Java. */
struct jp_throwable {
  const char *type;         /* NULL: an error without a Java throwable, as of a wrong argument */
  const char *message;      /* NULL: none */
  const char *const *stack; /* one text a frame, innermost first */
  size_t stack_count;
  const struct jp_throwable *cause; /* NULL: none */
};

/* Of JP_ANSWER_ERROR: the code of JSON-RPC (docs/protocol.md, "Errors"), its message, and what happened.
 * Binary replies have the code -32000, or that of what their type says. Of another answer 0, "" and a throwable
 * without a type. */
JP_API int jp_answer_error_code(const struct jp_answer *answer);
JP_API const char *jp_answer_error_message(const struct jp_answer *answer);
/* Never NULL. */
JP_API const struct jp_throwable *jp_answer_throwable(const struct jp_answer *answer);

/* ---- refs ---- */

/*
 * A handle of an object in the peer. When the last handle of an object is released, the peer lets go of it,
 * too: with the next message of the client, together with others, and never by a message that is waited for.
 * Any thread may release one at any time, after jp_client_close as well.
 */
JP_API struct jp_ref *jp_ref_keep(struct jp_ref *ref);
JP_API void jp_ref_release(struct jp_ref *ref);
/* Of NULL 0. As a bare number it is not looked at for staleness. */
JP_API uint32_t jp_ref_number(const struct jp_ref *ref);
/* Which life of the peer, and which session of it, the object is of (docs/protocol.md, "Sessions over restarts"): handles of
 * any clients are of one object where both this and the number are equal. 0 of NULL, and where the peer tells no epoch. */
JP_API uint64_t jp_ref_epoch(const struct jp_ref *ref);
/* The client that received it, whose connection releases it in the peer. NULL: of NULL. */
JP_API const struct jp_client *jp_ref_client(const struct jp_ref *ref);
/* The object's class; "" where it was told first without it, as inside lists, and of NULL. */
JP_API const char *jp_ref_type(const struct jp_ref *ref);

/* ---- a connection ---- */

#define JP_FOREVER (-1) /* as a timeout, which is in milliseconds */

struct jp_client_config {
  size_t size;            /* sizeof(struct jp_client_config) */
  const char *peer_id;    /* a UUID that names the session; NULL: the connection's own */
  bool binary;            /* tcp: and ipc: binary messages, not JSON */
  bool reconnects;        /* see jp_client_open */
  int connect_timeout_ms; /* 0: 10,000 */
  size_t message_max;     /* the longest answer that is taken, in bytes; 0: 256 MiB */
  size_t pending_max;     /* requests without an answer; 0: 65,536 */
  /* Asked by each thread that waits in jp_client_call, jp_chain_send or jp_client_notify: when a signal has come, and a
   * few times a second. True ends the wait with JP_CLIENT_INTERRUPTED, or with the answer, where that has come
   * meanwhile. It runs without locks, and may use the client; jp_client_end and jp_client_close do not ask. NULL: only
   * the timeout ends a wait. */
  bool (*interrupted)(void *context);
  void *interrupted_context;
  /* The longest request that is sent, in bytes: a longer one is JP_CLIENT_TOO_LONG. 0: any, until jp_client_learn_limits
   * has asked the peer. Not of binary messages. */
  size_t request_max;
  /* What the peer knows this program's connections to one session by: 128 random bits or more, as a text of 22 to 128 bytes,
   * the same for all clients of the program that use the session. They share their callbacks then: each may give what
   * another one has created, and a call of Java's comes on the connection whose request the Java thread serves.
   * The peer is told the beginning of the text with random digits, which are others each time that the first of these
   * clients connects, and in a child after fork: what Java had before is another object than what is given then.
   * NULL: each client has callbacks of its own. Of no meaning over HTTP and ZeroMQ. Borrowed until the client is open. */
  const char *process;
};

/* What the peer takes in one request (docs/protocol.md, `control session`). */
struct jp_peer_limits {
  size_t message_max; /* bytes */
  size_t values_max;  /* elements of lists and maps */
};

/*
 * Opens a connection by its URL:
 *   ws://HOST:PORT[/PATH]   WebSocket; the path is /rpc without one
 *   ws+unix:PATH            WebSocket over a unix socket
 *   http://HOST:PORT[/PATH] HTTP
 *   http+unix:PATH          HTTP over a unix socket
 *   shm:PATH                shared memory, asked for over a unix socket; a peer that has none to give now
 *                           serves a WebSocket there
 *   tcp://HOST:PORT         ZeroMQ
 *   ipc://PATH              ZeroMQ over a unix socket
 * config NULL: all zero. Blocks until the connection stands, for connect_timeout_ms at most; to look up a
 * host's name may take longer. Over HTTP and ZeroMQ the library makes a session's UUID where none is given,
 * so that refs outlive a request; closing ends it.
 *
 * With config->reconnects a call on a connection that has ended opens another one, for the same session:
 * refs stay valid if the peer still has it. Where another peer has taken the address, requests that name objects of the
 * old one are JP_CLIENT_STALE (docs/protocol.md, "Sessions over restarts"). Requests without an answer end with the connection, and are not
 * sent again. A dead peer is not tried for again before 100 ms are over, then 200, up to 5 seconds: calls
 * get the last failure meanwhile. Over HTTP it is always so, because a peer closes connections that nobody
 * uses for a while.
 */
JP_API enum jp_client_status jp_client_open(const char *url, const struct jp_client_config *config,
                                            struct jp_client **client,
                                            struct jp_client_error *error) JP_CLIENT_MUST_CHECK;
/*
 * Asks the peer for its limits: a longer request is JP_CLIENT_TOO_LONG from then on, in place of an error of the peer after
 * it was sent. As jp_client_call.
 */
JP_API enum jp_client_status jp_client_learn_limits(struct jp_client *client, int timeout_ms,
                                                    struct jp_peer_limits *limits,
                                                    struct jp_client_error *error) JP_CLIENT_MUST_CHECK;
/*
 * Ends the connection. Threads that wait get JP_CLIENT_CLOSED, and completions are called with it, here.
 * The objects of this client end in the peer, but for those that answers to pending requests would name in
 * a session of the caller's. A second at most is spent on telling the peer; where another thread opens a connection,
 * this waits until that has succeeded or failed, connect_timeout_ms at most. No other thread may begin a
 * call with the client any more. In a process that fork has made it closes that process's descriptors and
 * tells the peer nothing.
 */
JP_API void jp_client_close(struct jp_client *client);

/*
 * Ends the connection: threads that wait get JP_CLIENT_CLOSED, as do later calls; a thread that opens a connection gets it
 * when that has succeeded or failed, and this does not wait for it. The client stays until
 * jp_client_close, which the caller can put off until no other thread uses it.
 */
JP_API void jp_client_end(struct jp_client *client);

/*
 * Sends a request and waits for its answer, timeout_ms at most. JP_CLIENT_OK: *answer has the result.
 * JP_CLIENT_REMOTE: *answer has the error, and error->text a line about it. Otherwise *answer is NULL. The
 * answer to a request that has timed out is taken when it comes, and its object let go.
 */
JP_API enum jp_client_status jp_client_call(struct jp_client *client, const struct jp_request *request,
                                            int timeout_ms, struct jp_answer **answer,
                                            struct jp_client_error *error) JP_CLIENT_MUST_CHECK;
/*
 * Gives the client a Java thread of its own, on which all its requests run from then on: locks, ThreadLocals, the context
 * class loader and the interrupt flag are as its earlier requests have left them. One that has such a thread gets a new one.
 * name: of the thread; NULL: the peer chooses one. It lasts until jp_client_unpin, or the end of the connection: one that
 * the client opens again (config.reconnects) has none. WebSocket and shared memory alone: over other transports, and
 * beyond --pinned-threads-max of the peer, JP_CLIENT_REMOTE with the peer's reason. Not inside the function of a
 * callback. Not for binary messages.
 */
JP_API enum jp_client_status jp_client_pin(struct jp_client *client, const char *name, int timeout_ms,
                                           struct jp_client_error *error) JP_CLIENT_MUST_CHECK;
/* From then on any thread of the peer runs its requests. Harmless where jp_client_pin has given it none. timeout_ms 0: as a
 * notification, without waiting for the peer. */
JP_API enum jp_client_status jp_client_unpin(struct jp_client *client, int timeout_ms,
                                             struct jp_client_error *error) JP_CLIENT_MUST_CHECK;

/* Sends a request that nobody answers. It blocks no longer than the socket is full. Not for binary
 * messages. */
JP_API enum jp_client_status jp_client_notify(struct jp_client *client, const struct jp_request *request,
                                              struct jp_client_error *error) JP_CLIENT_MUST_CHECK;

/*
 * Sends what waits to be let go of, as far as the socket takes it: for a client that may have no next message soon. Never
 * waits. False: a part is left, and is sent by the next call of any function. While requests have no answer it sends
 * nothing, and gives true: the releases go with the next message, as otherwise.
 */
JP_API bool jp_client_flush(struct jp_client *client);

/* Told of an answer, which it owns from then on, with what jp_client_call would return; NULL where there is
 * none. It may use the client, but not close it. */
typedef void jp_client_completion(void *context, enum jp_client_status status, struct jp_answer *answer);

/*
 * Sends a request, or queues it where the socket is full, and returns. `completion` is called once, by
 * jp_client_process or jp_client_close, unless this function fails. What completions send leaves together,
 * at the end of jp_client_process. A timeout may be told 10 ms late, with very many requests some more.
 */
JP_API enum jp_client_status jp_client_send(struct jp_client *client, const struct jp_request *request,
                                            int timeout_ms, jp_client_completion *completion, void *context,
                                            struct jp_client_error *error) JP_CLIENT_MUST_CHECK;
/* A descriptor for the caller's loop: when it can be read, jp_client_process has something to do. It is
 * made when it is asked for first, stays the same as long as the client, and is the library's. -1: the
 * process has no descriptor left. */
JP_API int jp_client_descriptor(struct jp_client *client);
/*
 * Takes what has come, sends what waits, and calls the completions of what is done or has timed out. Never
 * sleeps; over shared memory it goes on while the next answers come at once, for a millisecond at most. Not
 * JP_CLIENT_OK: the connection has ended, the error says why, and all completions were called.
 */
JP_API enum jp_client_status jp_client_process(struct jp_client *client, struct jp_client_error *error);
/* As jp_client_process, but it leaves Java's calls to another thread that calls that: for a loop that no function is to
 * hold up. The descriptor can be read until the call is taken. */
JP_API enum jp_client_status jp_client_process_answers(struct jp_client *client,
                                                       struct jp_client_error *error);
/*
 * For a thread that has nothing to do but Java's calls: where another thread waits for an answer, and so reads what
 * comes, it waits for a call that jp_client_process would run, at most so many microseconds. True: there is one.
 */
JP_API bool jp_client_await_calls(struct jp_client *client, unsigned microseconds);

/* Requests without an answer, those that have timed out included. */
JP_API size_t jp_client_pending(const struct jp_client *client);
/* Objects that handles of this client name. */
JP_API size_t jp_client_ref_count(const struct jp_client *client);

/* ---- chains ---- */

/*
 * Steps that need each other's results, sent as one batch, in one round trip. A step without a name tells
 * nothing, and what it makes ends with the batch.
 *
 *   jp_chain_create_object(chain, "list", "java.util.ArrayList", JP_NO_ARGUMENTS);
 *   jp_chain_call(chain, NULL, "add", JP_ARGUMENTS(jp_string("b")));
 *   jp_chain_call(chain, "size", "size", JP_NO_ARGUMENTS);
 *   status = jp_chain_send(chain, 1000, &error);
 *   jp_answer_integer(jp_chain_answer(chain, "size"), &size);
 *
 * Steps never fail by themselves: what is wrong with one is said by jp_chain_send. Texts and arguments are
 * copied, but a handle has to be kept until the chain is sent. jp_named(NAME) is the result of the step of
 * that name as an argument, also inside lists and maps, and as an instance.
 */
struct jp_chain;

/* NULL: no memory. Steps may be added to NULL all the same: jp_chain_send says it. Borrows the client. */
JP_API struct jp_chain *jp_chain_create(struct jp_client *client);
/* Frees its answers, too. */
JP_API void jp_chain_destroy(struct jp_chain *chain);

/* A new object, which the next steps are on. */
JP_API void jp_chain_create_object(struct jp_chain *chain, const char *name, const char *type,
                                   const struct jp_argument *args, size_t arg_count);
/* The next steps are on the result of that name. type: any class or interface of it; NULL: the one that
 * jp_chain_create_object or jp_chain_with told, else the result's own class, which need not be known. */
JP_API void jp_chain_with(struct jp_chain *chain, const char *name, const char *type);
/* The next steps are on an object that the client has. type: any class or interface of it; NULL: its class. */
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
/* Any request; its options are kept. */
JP_API void jp_chain_request(struct jp_chain *chain, const char *name, const struct jp_request *request);
/* The steps of another chain, in their order; names are shared. It is emptied. */
JP_API void jp_chain_append(struct jp_chain *chain, struct jp_chain *steps);

/*
 * Sends the steps and waits for the answers. The chain is empty after it, but for its answers, and can be
 * used again. JP_CLIENT_REMOTE: a step failed; error->text names it. Steps that need it fail with it,
 * others run.
 */
JP_API enum jp_client_status jp_chain_send(struct jp_chain *chain, int timeout_ms,
                                           struct jp_client_error *error) JP_CLIENT_MUST_CHECK;
/* The answer of the step of that name, borrowed until the next send or the end of the chain; NULL: none. Of a
 * step that failed it is the error. */
JP_API struct jp_answer *jp_chain_answer(const struct jp_chain *chain, const char *name);
/* The error of the step that jp_chain_send has failed with, also of one without a name; borrowed likewise. NULL: none. */
JP_API const struct jp_answer *jp_chain_failure(const struct jp_chain *chain);

/* ---- a peer of one's own ---- */

struct jp_peer; /* a child process */

struct jp_launch_config {
  size_t size;                    /* sizeof(struct jp_launch_config) */
  const char *program;            /* NULL: jpeer, as PATH finds it */
  const char *class_path;         /* NULL: none */
  const char *const *jvm_options; /* NULL-terminated ("-Xmx1g"); NULL: none */
  const char *const *options;   /* of jpeer run (docs/flags.md), NULL-terminated. Where they name a policy, it
                                     counts; without one everything is allowed to this user alone */
  const char *main_class;       /* NULL: no program of Java's runs, the peer waits for calls */
  const char *const *arguments; /* of the main class; NULL-terminated; NULL: none */
  /* A piece of what the peer writes: descriptor 1 or 2. Called on a thread of the library. NULL: it goes
   * where this process's goes. */
  void (*on_output)(void *context, int descriptor, struct jp_text bytes);
  void *output_context;
  int start_timeout_ms;                  /* 0: 30,000 */
  const struct jp_client_config *client; /* of its connection; NULL: all zero */
  /* A descriptor that the peer has as its stdin, which stays the caller's; 0: /dev/null. Of the caller's own stdin give a
   * dup(). The peer is no process of the terminal's foreground: it cannot read from that. */
  int input;
};

/*
 * Starts a peer as a child of this process and connects to it over a unix socket in a folder of its own,
 * which nobody else may enter; over shared memory where the peer offers it. The peer ends with this process,
 * however that ends. config NULL: all zero.
 */
JP_API enum jp_client_status jp_launch(const struct jp_launch_config *config, struct jp_peer **peer,
                                       struct jp_client_error *error) JP_CLIENT_MUST_CHECK;
/* Its connection, the launch's own: jp_peer_stop closes it. */
JP_API struct jp_client *jp_peer_client(const struct jp_peer *peer);
/* Where others connect: "ws+unix:/tmp/...". */
JP_API const char *jp_peer_url(const struct jp_peer *peer);
JP_API int jp_peer_process_id(const struct jp_peer *peer);
/* Waits until on_output has had all that the peer's process had written before this call, 200 ms at most. What Java printed
 * before it answered a request is there then. Costs a system call where nothing is left. Any thread. */
JP_API void jp_peer_await_output(struct jp_peer *peer);
/* True where the process has ended, for which it waits timeout_ms at most; `how` is "exit status 1" or "signal 9" then. Any
 * thread, but not during jp_peer_stop. */
JP_API bool jp_peer_has_ended(struct jp_peer *peer, int timeout_ms, char *how, size_t size);
/* Asks the peer to end, waits for it, kills it after timeout_ms, and frees *peer. Gives the status of
 * waitpid. */
JP_API int jp_peer_stop(struct jp_peer *peer, int timeout_ms);

/* ---- callbacks ---- */

/*
 * Objects of the program that Java calls: a Comparator, a listener, a lambda. One is made here, given to Java
 * as an argument (jp_callback_argument) or as a result, and called as an interface of Java. Over WebSocket
 * and shared memory.
 *
 * Java's calls come on the connection, so that somebody has to read it. A call runs on a thread that waits in
 * jp_client_call or jp_chain_send: where one thread's requests alone have given the callback, on that thread,
 * as long as it waits for one of them; else on any that waits; else in jp_client_process, on its caller's
 * thread. No lock is held, and other threads read on meanwhile. A program that does neither leaves Java
 * waiting. Calls of a callback may run on several threads at once, where it is not one thread's alone.
 *
 * With by_origin the peer says where a call comes from. What Java does for a request then runs on the thread that
 * waits for that request in jp_client_call or jp_chain_send; all else (a timer's thread, a pool's, a request of
 * another connection or by jp_client_send) runs in jp_client_process alone, which a thread has to call. Requests
 * that several threads send over one client count as served in their order.
 *
 * What the function asks of the peer before it has answered (calls, chains, notifications, jp_client_send)
 * runs on the Java thread that waits for that answer: an ordinary request would wait for ever behind the one
 * that waits for the function. options.within names another call, and "" none. Java may call back meanwhile,
 * on the same thread, to any depth that the peer allows.
 */

struct jp_callback_call; /* one call from Java */

/*
 * Answers by jp_callback_return or one of the throwing functions, before it returns, or later, after
 * jp_callback_answer_later. Without either Java gets a jpeer.peer.CallbackException. Void methods are
 * answered, too. It may use the client, but not close it. It should not leave by longjmp or an exception of
 * C++.
 */
typedef void jp_callback_function(void *context, struct jp_callback_call *call);

struct jp_callback_config {
  size_t size;                   /* sizeof(struct jp_callback_config) */
  const char *const *interfaces; /* NULL-terminated; NULL: the parameter tells */
  bool has_arity;                /* chooses among overloads, as a lambda does: */
  int arity;                     /* the parameters that the interface's one method takes */
  const char *const
      *overrides; /* names of default methods that are to come, too; NULL-terminated; NULL: none */
  bool oneway;    /* void methods are events: Java does not wait for them */
  bool borrow;    /* the refs of its arguments end with the answer. Not with oneway */
  bool by_origin; /* a thread that waits runs those calls alone that come from what it waits for */
  jp_callback_function *function;
  /* Called once: nothing of the callback runs or comes any more. NULL: nobody needs to know. */
  void (*released)(void *context);
  void *context;
};

/*
 * An object that Java can have. jp_callback_release lets go of it; it ends when Java has, too, or the
 * connection has ended, and no call of it runs. Then `released` is called, by the library's function that
 * finds it out, on that thread, with no lock held; it may use the client, but not close it.
 * JP_CLIENT_UNSUPPORTED: the transport has no callbacks; oneway, of a client with jp_client_config.process.
 *
 * Java's hold on it ends with the connection. On another one, of a client that reconnects, it can be given
 * again, and is another object for Java then; what Java had before throws.
 */
JP_API enum jp_client_status jp_callback_create(struct jp_client *client,
                                                const struct jp_callback_config *config,
                                                struct jp_callback **callback,
                                                struct jp_client_error *error) JP_CLIENT_MUST_CHECK;
/* The program gives it no more: requests that have given it, and chains, keep it. Once for jp_callback_create, and once for each
 * success of jp_callback_keep and jp_answer_keep_callback. Any thread, also after jp_client_close. */
JP_API void jp_callback_release(struct jp_callback *callback);
/*
 * The program may give it again, as the same object for Java: undoes one jp_callback_release as long as `released` has not
 * been called. False: it has ended, and `released` was called or is about to be. Only for a callback with `released`,
 * before that function returns.
 */
JP_API bool jp_callback_keep(struct jp_callback *callback) JP_CLIENT_MUST_CHECK;

/* That of its jp_callback_config. */
JP_API void *jp_callback_context(const struct jp_callback *callback);

/* What a call says is borrowed until the function has returned and the call is answered. The interface is
 * that which declares the method. */
JP_API const char *jp_callback_interface(const struct jp_callback_call *call);
JP_API const char *jp_callback_method(const struct jp_callback_call *call);
JP_API size_t jp_callback_argument_count(const struct jp_callback_call *call);
/* Not to be freed; jp_ref_keep makes its object the program's (not of a callback that borrows). NULL:
 * there is none. */
JP_API const struct jp_answer *jp_callback_argument_at(const struct jp_callback_call *call, size_t index);
/* The type that the method declares for it: tells overloads apart. NULL: there is none. */
JP_API const char *jp_callback_parameter_type(const struct jp_callback_call *call, size_t index);
/* The client whose connection it came on: of those of a process, any. */
JP_API struct jp_client *jp_callback_client(const struct jp_callback_call *call);
/* For jp_options.within, until the call is answered. NULL: an event, which nobody waits for. */
JP_API const char *jp_callback_id(const struct jp_callback_call *call);

/* In the function: the call is answered after it, from any thread, and ends with its answer; a call that
 * is never answered keeps Java waiting, and the client in memory. */
JP_API void jp_callback_answer_later(struct jp_callback_call *call);

/*
 * What Java gets. value: converted to what the method returns; NULL: null, also of void methods.
 * JP_CLIENT_OK: it was written, or the call is an event. JP_CLIENT_CLOSED: the connection that the call came
 * on has ended: it is over. Otherwise the call is open as before: JP_CLIENT_INVALID (the value is wrong, or
 * the call was answered already), JP_CLIENT_NO_MEMORY.
 */
JP_API enum jp_client_status jp_callback_return(struct jp_callback_call *call,
                                                const struct jp_argument *value,
                                                struct jp_client_error *error);
/* A new throwable of that class, which the policy judges as `new`; throwable_type NULL, or denied: a
 * jpeer.peer.CallbackException. message: UTF-8, may be NULL. As jp_callback_return. */
JP_API enum jp_client_status jp_callback_throw(struct jp_callback_call *call, const char *throwable_type,
                                               const char *message, struct jp_client_error *error);
/* A frame of the program's: what Java shows as "at CLASS.METHOD(FILE:LINE)". */
struct jp_thrown_frame {
  const char *class_name; /* "" where there is none, as in the texts below */
  const char *method;
  const char *file; /* NULL: none */
  int line;         /* below 0: none */
};

enum {
  JP_THROWN_FRAMES_MAX = 64,
  JP_THROWN_CAUSES_MAX = 32
}; /* what peers take of each throwable, and of causes */

/* What Java is to throw. */
struct jp_thrown {
  size_t size;                 /* sizeof(struct jp_thrown) */
  const struct jp_ref *object; /* a throwable that the peer holds; NULL: a new one */
  const char *type;            /* of the new one; NULL: jpeer.peer.CallbackException */
  const char *message;         /* NULL: none */
  const struct jp_thrown_frame
      *frames; /* the innermost first: they come before those that Java gives the throwable */
  size_t frame_count;
  const struct jp_thrown *cause; /* of a throwable that has none; NULL: none */
};

/* The same with frames and causes. JP_CLIENT_INVALID: there are too many. As jp_callback_throw. */
JP_API enum jp_client_status jp_callback_throw_as(struct jp_callback_call *call,
                                                  const struct jp_thrown *thrown,
                                                  struct jp_client_error *error);
/* A throwable that the peer holds. As jp_callback_return. */
JP_API enum jp_client_status jp_callback_throw_object(struct jp_callback_call *call,
                                                      const struct jp_ref *throwable,
                                                      struct jp_client_error *error);

/* ---- for other languages ---- */

/*
 * The library by foreign functions (ctypes, koffi, fiddle): of numbers, pointers and NUL-terminated texts alone, with
 * requests and configurations as JSON. With these go the functions above that take no struct by value: jp_answer_kind,
 * _type, _integer, _ref, _error_code, _free, jp_ref_keep, _number, _epoch, _release, jp_client_close, jp_peer_client, _stop.
 * docs/c-client.md, "Other languages", has programs.
 */

/* For the parameter `error` of all functions; it can be used again and again. NULL: no memory. */
JP_API struct jp_client_error *jp_client_error_create(void);
JP_API void jp_client_error_destroy(struct jp_client_error *error);
/* Of the last function that failed with it. */
JP_API enum jp_client_status jp_client_error_status(const struct jp_client_error *error);
JP_API const char *jp_client_error_text(const struct jp_client_error *error);

/* As jp_client_open and jp_launch. config: the JSON of an object with the members of struct jp_client_config and struct
 * jp_launch_config that are no functions, {"reconnects": true}; NULL: {}. */
JP_API enum jp_client_status jp_client_open_json(const char *url, const char *config,
                                                 struct jp_client **client,
                                                 struct jp_client_error *error) JP_CLIENT_MUST_CHECK;
JP_API enum jp_client_status jp_launch_json(const char *config, struct jp_peer **peer,
                                            struct jp_client_error *error) JP_CLIENT_MUST_CHECK;
/*
 * As jp_client_call, of a request as docs/protocol.md has it, {"method": "call", "params": {...}, "options": {...}}; its id
 * is the library's. Objects are named by jp_ref_number, as long as there is a handle: {"ref": 42}. With a member
 * "epoch", the 16 hexadecimal digits of their jp_ref_epoch, the request is JP_CLIENT_STALE where the peer has been
 * started again, as with handles. Not for binary messages.
 */
JP_API enum jp_client_status jp_client_call_json(struct jp_client *client, const char *text, size_t length,
                                                 int timeout_ms, struct jp_answer **answer,
                                                 struct jp_client_error *error) JP_CLIENT_MUST_CHECK;
/* jp_answer_text and the text of jp_answer_json: NULL where there is none. *length, which may be NULL, is without the NUL
 * that follows. */
JP_API const char *jp_answer_text_of(const struct jp_answer *answer, size_t *length);
JP_API const char *jp_answer_json_of(const struct jp_answer *answer, size_t *length);

#ifdef __cplusplus
} /* extern "C" */

/* For JP_ARGUMENTS in C++: a chain copies what it is given. */
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
