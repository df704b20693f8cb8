#ifndef JPEER_PYTHON_PY_NATIVE_H
#define JPEER_PYTHON_PY_NATIVE_H
/*
 * The parts of the extension _native, and the declarations that they share. jpeer/_native.pyi describes its
 * interface to Python.
 *
 * Threads: the GIL guards everything. It is released around every function of libjpeer-client that waits for
 * the peer. Functions that only need the library's lock are called with the GIL, because the holder of that
 * lock never waits for the GIL.
 *
 * Ownership: PyObject pointers are strong unless a comment says "borrowed". Functions return NULL, -1 or
 * false with a Python exception set.
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <jpeer/client.h>
#include <stdatomic.h>
#include <sys/types.h>
#include <time.h>

/* For tables of transitions, as in native/base/transitions.h: the package is built from this folder and the
 * installed library only. */
#define TO(state) ((uint16_t)(1U << (state)))

/* ---- types (created in py_module.c) ---- */

struct native_types {
  PyTypeObject *connection;
  PyTypeObject *object;
  PyTypeObject *array;
  PyTypeObject *buffered;
  PyTypeObject *typed;
  PyTypeObject *result;
  PyTypeObject *forms;
  PyTypeObject *method;
  PyTypeObject *instance_method;
  PyTypeObject *bound_method;
  PyTypeObject *constructor;
  PyTypeObject *field;
  PyTypeObject *callback;
  PyObject *protocol_error; /* jpeer.ProtocolError */
  PyObject *not_sent;       /* jpeer.NotSent */
};
extern struct native_types types;

extern PyType_Spec connection_spec, object_spec, array_spec, buffered_spec, typed_spec, result_spec,
    forms_spec, method_spec, instance_method_spec, bound_method_spec, constructor_spec, field_spec,
    callback_spec;

/* The process is ending: Python must not be used any more. */
extern atomic_bool is_ending;

/* ---- py_connection.c ---- */

enum { PEER_ID_SIZE = 37, PROCESS_NAME_SIZE = 33 };

/*
 * The state of a connection. The GIL guards it; py_connection.c has the transitions.
 *
 * | state                 | meaning                             | what ends it                                  |
 * | PY_CONNECTION_NEW     | it is being opened: `links` is NULL | its opening, if that succeeds                 |
 * | PY_CONNECTION_OPEN    | threads may enter it                | close_connection                              |
 * | PY_CONNECTION_CLOSING | no thread enters it any more; some  | the last of `users`, which closes the clients |
 * |                       | may still be inside its clients     |                                               |
 * | PY_CONNECTION_CLOSED  | its clients are closed, or are      | nothing                                       |
 * |                       | being closed: `links` is NULL       |                                               |
 */
enum py_connection_state {
  PY_CONNECTION_NEW,     /* the connection is being opened */
  PY_CONNECTION_OPEN,    /* threads may enter the connection */
  PY_CONNECTION_CLOSING, /* no thread enters the connection any more; some may still be inside its clients */
  PY_CONNECTION_CLOSED   /* the connection has no clients any more */
};

struct py_connection {
  PyObject ob_base;
  enum py_connection_state state;
  struct link *links;      /* the first belongs to the connection; NULL while new and when closed */
  size_t link_count;       /* including links that are being opened */
  unsigned numbered_links; /* numbers given to links; the first link has 0 */
  size_t dropped;          /* objects released since all links were flushed */
  struct jp_peer *peer;    /* of launch(); it then owns the first link's client */
  size_t users;            /* threads inside the clients */
  /* How links are opened. peer_id is set when the session gets a name. */
  struct jp_client_config config;
  struct jp_directory_config directory; /* of `config` */
  PyObject *config_texts;               /* a list that holds the texts of `config`; NULL: none */
  const char **headers;                 /* of `config` */
  PyObject *token_function;             /* NULL: none */
  char peer_id[PEER_ID_SIZE];
  char process_name[PROCESS_NAME_SIZE]; /* names the process to the peer: links share their callbacks */
  pid_t process;                        /* the process that opened it */
  bool has_directory;                   /* its URL is dir: */
  bool pins;                            /* each thread's link has a Java thread of its own */
  bool is_idempotent;                   /* requests have the option idempotent */
  time_t retry_at;                      /* after a failure, no link is opened before this time */
  int callbacks_fd; /* an epoll set of the links that have given callbacks; -1: no link has */
  int timeout_ms;
  int exit_status; /* of the launched peer */
  int process_id;  /* 0: none */
  PyObject *url;
  PyObject *on_output;          /* NULL: none */
  struct jp_peer_limits limits; /* all zero: unknown */
  PyObject *classes, *make_class, *from_text, *to_java, *other_to_java, *in_pieces, *make_error;
  PyObject *interruption; /* the exception that has ended a wait within a callback; kept until the outermost
                           * wait ends; NULL: none */
  struct answered *answered,
      *answered_before;          /* refs in answers to Java's calls: the latest refs, and older refs */
  time_t answered_since;         /* the start of `answered` */
  struct sent *sent;             /* uncompleted requests of a loop; borrowed */
  unsigned long long sent_count; /* requests that a loop has begun to send */
  struct py_connection *next;    /* in the list of open connections; borrowed */
  PyObject *weak_references;
};

/* Returns the link for one call: `wanted`, or, if `wanted` is NULL, the thread's link. The call ends with
 * connection_leave. NULL: an exception. */
struct link *connection_enter(struct py_connection *connection, struct link *wanted);
/* The same with the connection's first link. */
struct link *connection_enter_first(struct py_connection *connection);
void connection_leave(struct py_connection *connection);
/* Closes all open connections, when the interpreter ends. */
PyObject *connection_close_all(PyObject *module, PyObject *ignored);
/* Methods of Connection, for the table in py_requests.c. */
PyObject *connection_launch(PyObject *ignored, PyObject *args, PyObject *keywords);
PyObject *connection_close(PyObject *self, PyObject *ignored);
PyObject *connection_stop(PyObject *self, PyObject *timeout);
/* Converts to milliseconds, rounded up. False: a ValueError. */
bool connection_read_seconds(double seconds, int *milliseconds);
/* A text of a configuration, which the list `texts` holds. NULL: absent (None), or an exception. */
const char *config_keep_text(PyObject *texts, PyObject *value, const char *what);

/* ---- py_directory.c ---- */

/* Reads the settings of a directory, a dict; `texts` is a list that holds them. False: an exception. */
bool directory_read_settings(PyObject *settings, PyObject *texts, struct jp_directory_config *config);
/* Functions of the module. */
PyObject *directory_peers(PyObject *module, PyObject *args);
PyObject *directory_await_peer(PyObject *module, PyObject *args);

/* Call when a wait of this thread has ended. Sets the exception if a signal's handler interrupted an inner
 * wait. */
void connection_end_wait(struct py_connection *connection, enum jp_client_status status);

/* ---- py_links.c ---- */

/*
 * Which threads or loop may use a link. The GIL guards it; py_links.c has the transitions.
 *
 * | state            | meaning                                           | what ends it                  |
 * | LINK_FOR_THREADS | a thread without a link may use it                | a loop reserves it; its       |
 * |                  |                                                   | client ends; it is closed     |
 * | LINK_FOR_LOOP    | only a loop uses it                               | its client ends; it is closed |
 * | LINK_ENDED       | its client has ended: nobody begins to use it     | it is closed                  |
 * | LINK_CLOSED      | its connection is closed; connection, client NULL | nothing                       |
 */
enum link_state {
  LINK_FOR_THREADS, /* a thread without a link may use this link */
  LINK_FOR_LOOP,    /* only a loop uses the link */
  LINK_ENDED,       /* the client of the link has ended: nobody begins to use the link */
  LINK_CLOSED       /* the connection of the link is closed */
};

/* States whether the program has abandoned a wait while the request may still run in Java. */
enum link_abandoned {
  LINK_NOTHING_ABANDONED, /* the next request may be sent */
  LINK_ABANDONED,         /* the next request of the thread waits a short time for the interrupted request */
  LINK_ABANDONED_AND_AWAITED /* requests of the thread take another link */
};

/* A client of the connection's session. Its memory is freed after its last holder: the connection, the lease
 * of a thread, requests that are being built, callbacks. */
struct link {
  size_t holders;
  enum link_state state;
  struct py_connection *connection; /* borrowed */
  struct jp_client *client;
  unsigned long thread;          /* the thread that uses it; 0: none */
  unsigned number;               /* the link's number in its connection */
  bool is_pinned;                /* it has a Java thread of its own */
  enum link_abandoned abandoned; /* in any state */
  bool gives_callbacks;          /* added to the connection's callbacks_fd. In any state */
  struct link *next;             /* in the connection's list */
};

/* A callback that runs on this thread, and the link that its call arrived over. */
struct link_frame {
  struct link *link;
  const struct jp_callback_call *call;
  struct link_frame *outer;
};

/* Returns a link with one holder. NULL: no memory; no exception is set. */
struct link *link_create(struct py_connection *connection, struct jp_client *client);
void link_set_state(struct link *link, enum link_state to);
/* False if the link's client is known to have ended or to have been closed. */
static inline bool link_is_usable(const struct link *link)
{
  return link->state == LINK_FOR_THREADS || link->state == LINK_FOR_LOOP;
}
struct link *link_hold(struct link *link);
void link_drop(struct link *link); /* NULL is fine */
void link_push(struct link_frame *frame, struct link *link, const struct jp_callback_call *call);
void link_pop(const struct link_frame *frame);
/* True if a callback of the connection runs on this thread. */
bool link_is_nested(const struct py_connection *connection);
/* The innermost callback of the connection on this thread, with its link; NULL: none. */
const struct link_frame *link_frame(const struct py_connection *connection);
/* False: the innermost callback's link has an abandoned request whose Java thread is still inside. */
bool link_can_ask(const struct py_connection *connection);
/* Returns the thread's link, borrowed. The connection must be open. NULL: an exception. */
struct link *link_of_thread(struct py_connection *connection);
/* Gives the link a Java thread of its own, with this name; NULL: the peer's choice. False: an exception. The
 * caller is another holder of the link. */
bool link_pin(struct link *link, const char *name);
/* The same for the link of this thread, if it has one, with the thread's name. */
bool link_pin_own(struct py_connection *connection);
/* Ends the link's Java thread. Does not wait for an answer. */
void link_unpin(struct link *link);
/* Opens another link for a loop; borrowed. NULL: none can be opened now; an exception may be set. */
struct link *link_open_for_loop(struct py_connection *connection);
/* Sends the releases of objects that other links received. Never waits. */
void link_flush_others(struct py_connection *connection, const struct link *link);
/* Sends a ping, so that the link's client knows the epoch of the session. Before that, if a request has an
 * object of another link, the client cannot tell whether the peer of the object or only the client's own
 * connection has ended. Without the GIL. False: the peer does not answer. */
bool link_learn_epoch(const struct link *link, int timeout_ms);
/* Call with the status of each call: a link whose connection has ended is not used any more. */
void link_note_status(struct link *link, enum jp_client_status status);
/* Listens for calls over the link from now on. False: an exception. */
bool listen_to(struct link *link);
/* The same if the connection has given callbacks, because Java may make calls for which no thread waits. */
void listen_if_called(struct link *link);
/* Borrowed; NULL: the connection is closed. */
struct link *link_of_client(const struct py_connection *connection, const struct jp_client *client);
/* A method of Connection: waits for calls from Java's own threads, and runs those that have arrived. */
PyObject *connection_listen(PyObject *self, PyObject *args);
/* Call before a Python function runs on this thread: if this thread listens, another thread must do so. */
void listen_elsewhere(void);

/* ---- py_object.c ---- */

struct object {
  PyObject ob_base;
  struct py_connection *connection; /* strong */
  struct jp_ref *ref;               /* NULL: a class was called without its constructor */
  PyObject *java_type;              /* str */
  PyObject *weak_references;
};

struct typed {
  PyObject ob_base;
  PyObject *type; /* str */
  PyObject *value;
};

struct result {
  PyObject ob_base;
  Py_ssize_t index;
};

struct forms {
  PyObject ob_base;
  PyObject *forms; /* a tuple of one or more */
};

static inline bool is_object(PyObject *value)
{
  return PyObject_TypeCheck(value, types.object);
}

/* Takes ownership of the handle, even on failure. type is a type whose instances are Objects, java_type a str
 * (borrowed). */
PyObject *object_create(PyTypeObject *type, struct py_connection *connection, struct jp_ref *ref,
                        PyObject *java_type);

/* ---- py_elements.c: elements of buffers ---- */

enum element_kind { ELEMENT_SIGNED, ELEMENT_UNSIGNED, ELEMENT_FRACTION, ELEMENT_BOOLEAN };

struct element {
  enum element_kind kind;
  size_t size;
  bool is_swapped; /* the most significant byte is first */
};

/* Reads a buffer's format. False: Java has no primitive for this format. */
bool element_of_format(const Py_buffer *view, struct element *out);
/* Reads the name of a primitive type. False: not a primitive type. */
bool element_of_name(const char *name, struct element *out);
/* Copies elements that are `stride` bytes apart. Integers of the same size keep their bits; other elements
 * keep their values, and floats are rounded. False: an OverflowError that names the element. */
bool elements_copy(const char *at, Py_ssize_t stride, struct element from, char *out, Py_ssize_t out_stride,
                   struct element to, Py_ssize_t count);

/* A buffer that a call may change. */
struct builder_out {
  Py_buffer view;
  struct element element;
  unsigned step;   /* of a batch; otherwise 0 */
  size_t argument; /* its index */
  struct builder_out *next;
};

/* Releases the buffers; NULL is fine. */
void outs_free(struct builder_out *outs);
/* Writes the elements that the call of that step changed. False: an exception. */
bool outs_write(const struct builder_out *outs, unsigned step, const struct jp_answer *answer);

/* ---- py_to_java.c: Python values to arguments ---- */

enum { BUILDER_BYTES = 1024 };

enum { FORM_PLACES = 8, FORM_MAX = 255 };

/* The chosen forms of values: one number for the receiver and one for each of the first arguments, because
 * all values inside one argument change form together. A value with fewer forms uses its last form. */
struct form_choice {
  unsigned char form[FORM_PLACES];
  unsigned char last
      /* the number of the value's last form, if it is known: greater numbers mean the same form */
      [FORM_PLACES];
};

/* What happened to the builder's request. */
enum builder_fate {
  BUILDER_NOT_SENT,
  BUILDER_SENT,
  BUILDER_REFUSED, /* the peer refused its arguments: no Java code has run */
  BUILDER_TOO_LONG /* too long for one message: it was not sent */
};

/* The memory and objects that the arguments of one request borrow. */
struct argument_builder {
  struct py_connection *connection; /* borrowed */
  struct link *link;                /* strong: the link for the request; NULL: the thread's */
  struct link *for_callbacks; /* borrowed: the link if the request gives callbacks; NULL: the thread's */
  struct builder_chunk *chunks;
  struct builder_buffer *buffers;
  struct builder_owned *owned;
  struct builder_out *outs; /* for buffers that the call may change */
  const char *wanted; /* the primitive type of the array that a value becomes; NULL: the member decides */
  struct builder_callback *callbacks;
  struct form_choice choice;
  size_t place;   /* the place in `choice` of the value being converted */
  unsigned level; /* nesting of lists around that value; the arguments are one level */
  bool is_call;   /* the arguments of a method or constructor */
  unsigned step;  /* the step of a batch whose arguments are being converted */
  enum builder_fate fate;
  bool in_pieces; /* long values are sent before the request, in pieces */
  size_t values;  /* elements of lists and maps */
  size_t used;    /* bytes of `first` */
  _Alignas(16) char first[BUILDER_BYTES];
};

static inline void builder_init(struct argument_builder *builder, struct py_connection *connection)
{
  builder->connection = connection;
  builder->link = NULL;
  builder->for_callbacks = NULL;
  builder->chunks = NULL;
  builder->buffers = NULL;
  builder->owned = NULL;
  builder->outs = NULL;
  builder->wanted = NULL;
  builder->callbacks = NULL;
  builder->choice = (struct form_choice){.form = {0}};
  builder->place = 0;
  builder->level = 0;
  builder->is_call = false;
  builder->step = 0;
  builder->fate = BUILDER_NOT_SENT;
  builder->in_pieces = false;
  builder->values = 0;
  builder->used = 0;
}
void builder_fini(struct argument_builder *builder);
/* Returns zeroed memory. NULL with MemoryError. */
void *builder_alloc(struct argument_builder *builder, size_t size);
/* The UTF-8 of the name of a class or member, without NULs; borrowed from the str or from the builder. NULL:
 * an exception. */
const char *builder_name(struct argument_builder *builder, PyObject *text);
/* The value is borrowed until the builder ends. */
bool to_java(struct argument_builder *builder, PyObject *value, struct jp_argument *out);
/* The same as to_java for a receiver: a value without a type of its own gets the type of the class. */
bool to_java_receiver(struct argument_builder *builder, PyObject *value, const char *type,
                      struct jp_argument *out);
/* The same as to_java for the value of a field. */
bool to_java_field(struct argument_builder *builder, PyObject *value, struct jp_argument *out);
/* Converts a sequence's items; *count is their number. NULL: an exception. */
struct jp_argument *to_java_all(struct argument_builder *builder, PyObject *tuple, Py_ssize_t from,
                                size_t *count);

/* ---- py_from_java.c: answers to Python values ---- */

/* Converts a result or an argument of a callback. The caller still owns the answer. */
PyObject *from_java(struct py_connection *connection, const struct jp_answer *answer);
/* The same as from_java for the result of a request. The result of `new` is an object, even if its text could
 * be a value. */
PyObject *from_java_result(struct py_connection *connection, enum jp_operation operation,
                           const struct jp_answer *answer);
/* Converts the answer of jpeer.fetch to a tuple (elements, done, handle or None). */
PyObject *from_java_page(struct py_connection *connection, struct jp_answer *answer, PyObject *instance);
/* The answer of jpeer.columns without its columns: (rows, done, handle or None). */
PyObject *from_java_columns_head(struct py_connection *connection, struct jp_answer *answer,
                                 PyObject *instance);
/* Its columns, as a list. A column is a dict of its members; texts in base64 are bytearrays, and a list of objects has their
 * Python values. Other threads may run before it returns. */
PyObject *from_java_columns(struct py_connection *connection, struct jp_answer *answer);
/* jpeer.rows: the update counts as a bytearray of int32, or None. */
PyObject *from_java_counts(struct jp_answer *answer);
/* True: converting a result or page needs a request to the peer, because a class is not known, or because
 * Python reads its objects. Only the first element of a page is checked. */
bool from_java_needs_peer(struct py_connection *connection, enum jp_operation operation,
                          const struct jp_answer *answer);
/* Converts any JSON. */
PyObject *from_json(struct jp_json json);

/* ---- py_arrow.c: functions of the module (_native.pyi describes them) ---- */

PyObject *arrow_stream(PyObject *module, PyObject *args);
PyObject *arrow_open(PyObject *module, PyObject *args);
PyObject *arrow_read(PyObject *module, PyObject *args);
PyObject *arrow_check_offsets(PyObject *module, PyObject *args);

/* Returns freed memory to the system where the allocator would keep it. */
PyObject *arrow_return_free_memory(PyObject *module, PyObject *unused);

/* ---- py_errors.c ---- */

/* Sets the exception for an error of the library; returns NULL. The caller still owns the answer (may be
 * NULL). If make_error returns NotImplemented, no exception is set, and the request must be built and sent
 * again. */
/* Keeps the current exception of a connection's token function. raise_failure on this thread raises this
 * exception, or raises another exception with this cause. Writes the type of the exception to *error. */
void keep_token_exception(struct jp_client_error *error);
/* Drops the kept exception. */
void forget_token_exception(void);
PyObject *raise_failure(struct py_connection *connection, enum jp_client_status status,
                        const struct jp_answer *answer, const struct jp_client_error *error);
/* Clears the current exception and returns it; NULL: none. */
PyObject *fetch_exception(void);
/* Converters of answers return through this function: if Python has raised an exception because the answer
 * has the wrong shape, it raises ProtocolError instead. Returns value, or NULL. */
PyObject *check_answer_shape(PyObject *value);

/* ---- py_requests.c: sending requests and waiting for answers ---- */

/* Gives the request the option idempotent, if the connection asks for it; not a request to the peer itself. The request has
 * options. `options`: where they are copied to, used as long as the request. */
void request_mark(const struct py_connection *connection, struct jp_request *request,
                  struct jp_options *options);
/* Sends the request, waits without the GIL, and returns the answer, which the caller frees. NULL: see
 * raise_failure. builder: the builder of the request; NULL: the request borrows nothing. */
struct jp_answer *request_call(struct py_connection *connection, struct argument_builder *builder,
                               const struct jp_request *request);
/* The same as request_call, but returns the value of the answer. */
PyObject *request_value(struct py_connection *connection, struct argument_builder *builder,
                        const struct jp_request *request);
/* Records in the builder whether the peer refused the arguments. */
void request_note_fate(struct argument_builder *builder, const struct jp_answer *answer);
/* Returns JP_METHOD if `step` is not a step of a batch. */
enum jp_operation request_step_kind(PyObject *step);
/* Converts a step of batch() and send() to a request. False: an exception. */
bool request_from_step(struct argument_builder *builder, PyObject *step, struct jp_request *request);
/* Runs an operation of the connection, by its name. */
PyObject *request_operation(struct py_connection *connection, const char *name, PyObject *args);

/* The methods of Connection. */
extern PyMethodDef connection_methods[];

/* A request that may be built and sent again: the forms of its values, and how it ended. */
struct attempt {
  struct form_choice choice;
  unsigned count; /* the number of earlier attempts */
  bool in_pieces;
  enum builder_fate fate;
};

void attempt_begin(const struct attempt *attempt, struct argument_builder *builder,
                   struct py_connection *connection);
/* Also frees the builder. */
void attempt_end(struct attempt *attempt, struct argument_builder *builder);
/* Runs `attempt`. Runs it again if it failed without an exception, and with other forms of the values if the
 * peer refused the first forms. If the peer accepts no form, the exception of the first attempt is raised. */
PyObject *request_retry(PyObject *(*attempt)(struct attempt *attempt, void *context), void *context);
PyObject *request_fail_twice(void);
/* True: make the next attempt; false: no form is left, or Java code has run. */
bool attempt_next(struct attempt *attempt);

/* ---- py_loop.c: requests that a loop completes. Methods of Connection ---- */

PyObject *loop_send(PyObject *self, PyObject *args);
PyObject *loop_descriptor(PyObject *self, PyObject *args);
PyObject *loop_process(PyObject *self, PyObject *args);
PyObject *loop_unanswered(PyObject *self, PyObject *args);
PyObject *loop_cancel(PyObject *self, PyObject *serial);
PyObject *loop_learn_epoch(PyObject *self, PyObject *args);
PyObject *loop_reserve_link(PyObject *self, PyObject *ignored);
PyObject *loop_open_link(PyObject *self, PyObject *ignored);
PyObject *loop_pin_link(PyObject *self, PyObject *args);
PyObject *loop_unpin_link(PyObject *self, PyObject *number);

/* ---- py_callbacks.c ---- */

/* A callback that Java may hold. */
struct given;

/* Returns the callback to give. The builder releases it, and its request is sent over the callback's link.
 * NULL: an exception. */
struct given *callback_acquire(struct argument_builder *builder, PyObject *callback);
struct jp_callback *callback_handle(const struct given *given);
void callback_release(struct given *given);
/* The Python object that Java holds as this callback: a new reference. NULL: none; no exception is set. */
PyObject *callback_target(const struct jp_callback *callback);
/* Methods of Connection. */
PyObject *connection_calling(PyObject *self, PyObject *ignored);
PyObject *connection_can_ask(PyObject *self, PyObject *ignored);

/* Refs in a sent answer are held for some time, so that Java finds the objects when it reads the answer.
 * Releases the objects whose time has passed. */
void answered_release_old(struct py_connection *connection);
void answered_release_all(struct py_connection *connection);

#endif
