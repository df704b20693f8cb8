#ifndef JPEER_PYTHON_PY_NATIVE_H
#define JPEER_PYTHON_PY_NATIVE_H
/*
 * The parts of the extension _native and what they share. jpeer/_native.pyi says what Python sees.
 *
 * Threads: the GIL guards all of it. It is released around every function of libjpeer-client that waits for the peer;
 * functions that only take the library's lock for a moment are called with it, because whoever holds that lock never
 * waits for the GIL.
 *
 * Ownership: PyObject pointers are strong unless a comment says "borrowed". Functions give NULL, -1 or false with a
 * Python exception set.
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <jpeer/client.h>
#include <stdatomic.h>
#include <sys/types.h>
#include <time.h>

/* For tables of transitions, as in native/base/transitions.h: the package is built of this folder and the installed library. */
#define TO(state) ((uint16_t)(1U << (state)))

/* ---- types (py_module.c makes them) ---- */

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
};
extern struct native_types types;

extern PyType_Spec connection_spec, object_spec, array_spec, buffered_spec, typed_spec, result_spec,
    forms_spec, method_spec, instance_method_spec, bound_method_spec, constructor_spec, field_spec,
    callback_spec;

/* The process ends, or is about to: no Python any more. */
extern atomic_bool is_ending;

/* ---- py_connection.c ---- */

enum { PEER_ID_SIZE = 37, PROCESS_NAME_SIZE = 33 };

/*
 * Whether a connection may be used. The GIL guards it; py_connection.c has the transitions.
 *
 * | state                 | what holds                          | who leaves it, on what                        |
 * | PY_CONNECTION_NEW     | it is being opened: `links` is NULL | its opening, where that succeeds              |
 * | PY_CONNECTION_OPEN    | threads may enter it                | close_connection                              |
 * | PY_CONNECTION_CLOSING | nobody enters it any more; threads  | the last of `users`, which closes the clients |
 * |                       | may still be inside its clients     |                                               |
 * | PY_CONNECTION_CLOSED  | its clients are closed, or are      | nobody                                        |
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
  struct link *links; /* the first is the connection's own; NULL while it is new, and when it is closed */
  size_t link_count;  /* those that are being opened included */
  unsigned numbered_links; /* but for the first, which is 0 */
  size_t dropped;          /* objects that were let go of since all links were flushed */
  struct jp_peer *peer;    /* of launch(); it owns the first link's client then */
  size_t users;            /* threads inside the clients */
  /* How links are opened. No name of a session: there is but one. */
  struct jp_client_config config;
  char peer_id[PEER_ID_SIZE];
  char process_name[PROCESS_NAME_SIZE]; /* what the peer knows all links by, which share their callbacks so */
  pid_t process;                        /* that has opened it */
  bool pins;                            /* each thread's link has a Java thread of its own */
  time_t retry_at;                      /* a link could not be opened: none is tried before */
  int callbacks_fd;                     /* an epoll of the links that have given callbacks; -1: none has */
  int timeout_ms;
  int exit_status; /* of the launched peer */
  int process_id;  /* 0: none */
  PyObject *url;
  PyObject *on_output;          /* NULL: none */
  struct jp_peer_limits limits; /* all zero: not known */
  PyObject *classes, *make_class, *from_text, *to_java, *other_to_java, *in_pieces, *make_error;
  PyObject
      *interruption; /* what has ended a wait within a callback, until the outermost wait ends; NULL: none */
  struct answered *answered,
      *answered_before;          /* refs of answers to Java's calls: the last ones, and older ones */
  time_t answered_since;         /* when `answered` began */
  struct sent *sent;             /* requests of a loop that are not completed; borrowed */
  unsigned long long sent_count; /* requests that a loop has begun to send */
  struct py_connection *next;    /* of those that are open; borrowed */
  PyObject *weak_references;
};

/* The link for one call, which connection_leave ends: `wanted`, or where that is NULL the thread's. NULL: an exception. */
struct link *connection_enter(struct py_connection *connection, struct link *wanted);
/* The same with the connection's own link. */
struct link *connection_enter_first(struct py_connection *connection);
void connection_leave(struct py_connection *connection);
/* Closes those that are open, when the interpreter ends. */
PyObject *connection_close_all(PyObject *module, PyObject *ignored);
/* Methods of Connection, for the table in py_requests.c. */
PyObject *connection_launch(PyObject *ignored, PyObject *args, PyObject *keywords);
PyObject *connection_close(PyObject *self, PyObject *ignored);
PyObject *connection_stop(PyObject *self, PyObject *timeout);
/* False: a ValueError. Rounded up. */
bool connection_read_seconds(double seconds, int *milliseconds);

/* A wait of this thread has ended so. Sets the exception where an inner wait was interrupted by a signal's handler. */
void connection_end_wait(struct py_connection *connection, enum jp_client_status status);

/* ---- py_links.c ---- */

/*
 * Who may use a link. The GIL guards it; py_links.c has the transitions.
 *
 * | state            | what holds                                        | who leaves it, on what        |
 * | LINK_FOR_THREADS | a thread without a link may take it               | a loop reserves it; its       |
 * |                  |                                                   | client ends; it is closed     |
 * | LINK_FOR_LOOP    | a loop's: no thread takes it                      | its client ends; it is closed |
 * | LINK_ENDED       | its client has ended: nobody begins to use it     | it is closed                  |
 * | LINK_CLOSED      | its connection is closed; connection, client NULL | nobody                        |
 */
enum link_state {
  LINK_FOR_THREADS, /* a thread without a link may take this one */
  LINK_FOR_LOOP,    /* the link is a loop's: no thread takes it */
  LINK_ENDED,       /* the client of the link has ended: nobody begins to use the link */
  LINK_CLOSED       /* the connection of the link is closed */
};

/* Whether a wait was abandoned, whose request may still be inside Java. */
enum link_abandoned {
  LINK_NOTHING_ABANDONED,
  LINK_ABANDONED, /* the next request of the thread waits a short time for the interrupted request */
  LINK_ABANDONED_AND_AWAITED /* requests of the thread take another link */
};

/* A client of the connection's session. Its memory stays as long as it has holders: the connection, the lease of a
 * thread, requests that are being built, callbacks. */
struct link {
  size_t holders;
  enum link_state state;
  struct py_connection *connection; /* borrowed */
  struct jp_client *client;
  unsigned long thread;          /* that calls over it; 0: none */
  unsigned number;               /* of the connection's */
  bool is_pinned;                /* it has a Java thread of its own */
  enum link_abandoned abandoned; /* in any state */
  bool gives_callbacks;          /* it was put into the connection's callbacks_fd. In any state */
  struct link *next;             /* of the connection; each holds the next */
};

/* A callback that runs on this thread, and by which link it has come. */
struct link_frame {
  struct link *link;
  const struct jp_callback_call *call;
  struct link_frame *outer;
};

/* With one holder. NULL: no memory; no exception is set. */
struct link *link_create(struct py_connection *connection, struct jp_client *client);
void link_set_state(struct link *link, enum link_state to);
/* Its client has neither ended nor been closed, as far as it is known. */
static inline bool link_is_usable(const struct link *link)
{
  return link->state == LINK_FOR_THREADS || link->state == LINK_FOR_LOOP;
}
struct link *link_hold(struct link *link);
void link_drop(struct link *link); /* NULL is fine */
void link_push(struct link_frame *frame, struct link *link, const struct jp_callback_call *call);
void link_pop(const struct link_frame *frame);
/* A callback of the connection runs on this thread. */
bool link_is_nested(const struct py_connection *connection);
/* The innermost of them, and the link that it has come by; NULL: none does. */
const struct link_frame *link_frame(const struct py_connection *connection);
/* False: it is one whose Java thread is still inside a request that was abandoned. */
bool link_can_ask(const struct py_connection *connection);
/* Borrowed. The connection is open. NULL: an exception. */
struct link *link_of_thread(struct py_connection *connection);
/* Gives the link a Java thread of its own, with this name; NULL: the peer's choice. False: an exception. The link has
 * another holder. */
bool link_pin(struct link *link, const char *name);
/* The same for the link of this thread, if it has one, with the thread's name. */
bool link_pin_own(const struct py_connection *connection);
/* The Java thread ends. Waits for no answer. */
void link_unpin(struct link *link);
/* Another one, which no thread takes. Borrowed. NULL: none can be opened now; perhaps with an exception. */
struct link *link_open_for_loop(struct py_connection *connection);
/* Tells the peer what was let go of, where other links have told of it. Never waits. */
void link_flush_others(struct py_connection *connection, const struct link *link);
/* Asks the peer for nothing, so that the link's client knows the epoch of the session: of another link's object it cannot say
 * before whether the object is of a peer that has ended, or whether its own connection is. Without the GIL. False: the peer
 * does not answer. */
bool link_learn_epoch(const struct link *link, int timeout_ms);
/* What a call has given: a link whose connection has ended is not used any more. */
void link_note_status(struct link *link, enum jp_client_status status);
/* Java may call over the link from now on. False: an exception. */
bool listen_to(struct link *link);
/* The same where the connection has given callbacks, and Java may be about to call what no thread waits for. */
void listen_if_called(struct link *link);
/* Borrowed; NULL: the connection is closed. */
struct link *link_of_client(const struct py_connection *connection, const struct jp_client *client);
/* A method of Connection: waits for calls from threads of Java's, and runs those that have come. */
PyObject *connection_listen(PyObject *self, PyObject *args);
/* A function of Python's is about to run on this thread: if it listens, another one is to. */
void listen_hand_on(void);

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

/* Takes the handle, even on failure. type is a type whose instances are Objects, java_type a str (borrowed). */
PyObject *object_create(PyTypeObject *type, struct py_connection *connection, struct jp_ref *ref,
                        PyObject *java_type);

/* ---- py_elements.c: elements of buffers ---- */

enum element_kind { ELEMENT_SIGNED, ELEMENT_UNSIGNED, ELEMENT_FRACTION, ELEMENT_BOOLEAN };

struct element {
  enum element_kind kind;
  size_t size;
  bool is_swapped; /* the most significant byte is the first */
};

/* Of a buffer's format. False: Java has no primitive for it. */
bool element_of_format(const Py_buffer *view, struct element *out);
/* Of a primitive type, by its name. False: it is none. */
bool element_of_name(const char *name, struct element *out);
/* Copies elements that are `stride` bytes apart. Integers of one size keep their bits; others keep their values, and floats
 * are rounded. False: an OverflowError that names the element. */
bool elements_copy(const char *at, Py_ssize_t stride, struct element from, char *out, Py_ssize_t out_stride,
                   struct element to, Py_ssize_t count);

/* A buffer that a call may change. */
struct builder_out {
  Py_buffer view;
  struct element element;
  unsigned step;   /* of a batch; else 0 */
  size_t argument; /* its index */
  struct builder_out *next;
};

/* Releases the buffers; NULL is fine. */
void outs_free(struct builder_out *outs);
/* Writes what the call of that step has changed. False: an exception. */
bool outs_write(const struct builder_out *outs, unsigned step, const struct jp_answer *answer);

/* ---- py_to_java.c: Python's values as arguments ---- */

enum { BUILDER_BYTES = 1024 };

enum { FORM_PLACES = 8, FORM_MAX = 255 };

/* Which of their forms values take: one number for the receiver and one for each of the first
 * arguments, because what is inside one argument changes together. Values that have fewer forms take their last. */
struct form_choice {
  unsigned char form[FORM_PLACES];
  unsigned char last[FORM_PLACES]; /* the greatest number that makes a difference, as far as it is known */
};

/* What has become of the request of a builder. */
enum builder_fate {
  BUILDER_NOT_SENT,
  BUILDER_SENT,
  BUILDER_REFUSED, /* by the peer, for its arguments: nothing of Java's has run */
  BUILDER_TOO_LONG /* for one message: it was not sent */
};

/* What the arguments of one request borrow from. */
struct argument_builder {
  struct py_connection *connection; /* borrowed */
  struct link *link;                /* strong: what the request goes over; NULL: the thread's */
  struct link
      *for_callbacks; /* borrowed: in place of the thread's where it gives callbacks; NULL: the thread's */
  struct builder_chunk *chunks;
  struct builder_buffer *buffers;
  struct builder_owned *owned;
  struct builder_out *outs; /* of buffers that the call may change */
  const char *wanted; /* the primitive type of the array that a value becomes; NULL: the member decides */
  struct builder_callback *callbacks;
  struct form_choice choice;
  size_t place;   /* in the choice, of the value that is converted */
  unsigned level; /* of lists around that; the arguments are one */
  bool is_call;   /* the arguments are those of a method or constructor */
  unsigned step;  /* of a batch, whose arguments are converted */
  enum builder_fate fate;
  bool in_pieces; /* long values are sent before, in pieces */
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
/* NULL with MemoryError. Zeroed. */
void *builder_alloc(struct argument_builder *builder, size_t size);
/* UTF-8 of the name of a class or member, which holds no NUL; borrowed from the str or from the builder. NULL: an exception. */
const char *builder_name(struct argument_builder *builder, PyObject *text);
/* The value is borrowed until the builder ends. */
bool to_java(struct argument_builder *builder, PyObject *value, struct jp_argument *out);
/* The same for receivers: a value without a type of its own takes the class's. */
bool to_java_receiver(struct argument_builder *builder, PyObject *value, const char *type,
                      struct jp_argument *out);
/* The same for the value of a field. */
bool to_java_field(struct argument_builder *builder, PyObject *value, struct jp_argument *out);
/* Of a sequence's items; *count is how many. NULL: an exception. */
struct jp_argument *to_java_all(struct argument_builder *builder, PyObject *tuple, Py_ssize_t from,
                                size_t *count);

/* ---- py_from_java.c: answers as Python's values ---- */

/* A value of a result or of a callback's argument. The answer stays the caller's. */
PyObject *from_java(struct py_connection *connection, const struct jp_answer *answer);
/* The same of a request's result: what `new` makes is an object, even where its text would be a value. */
PyObject *from_java_result(struct py_connection *connection, enum jp_operation operation,
                           const struct jp_answer *answer);
/* jpeer.fetch: (elements, done, handle or None). */
PyObject *from_java_page(struct py_connection *connection, struct jp_answer *answer, PyObject *instance);
/* Whether making the value of a result or page would ask the peer, as far as its first element tells: a class
 * is not known, or its objects are read by Python. */
bool from_java_asks(struct py_connection *connection, enum jp_operation operation,
                    const struct jp_answer *answer);
/* Any JSON as Python's own values. */
PyObject *from_json(struct jp_json json);

/* ---- py_errors.c ---- */

/* Sets the exception for an error of the library; gives NULL. The answer (may be NULL) stays the caller's. No exception
 * is set where make_error gives NotImplemented: the request is to be built and sent once more. */
PyObject *raise_failure(struct py_connection *connection, enum jp_client_status status,
                        const struct jp_answer *answer, const struct jp_client_error *error);
/* Clears the exception that is set, and gives it; NULL: there is none. */
PyObject *take_exception(void);
/* Whoever takes an answer apart passes the value through it: where Python has raised because the answer has the wrong
 * shape, it raises ProtocolError in its place. Takes and gives value, or NULL. */
PyObject *check_taken_apart(PyObject *value);

/* ---- py_requests.c: requests, sent and waited for ---- */

/* Sends, waits without the GIL, and gives the answer, which the caller frees; NULL: as raise_failure. builder: what the
 * request was built with; NULL: it borrows nothing. */
struct jp_answer *request_call(struct py_connection *connection, struct argument_builder *builder,
                               const struct jp_request *request);
/* The same, with the answer's value. */
PyObject *request_value(struct py_connection *connection, struct argument_builder *builder,
                        const struct jp_request *request);
/* Notes in the builder whether the peer has refused the arguments. */
void request_note_fate(struct argument_builder *builder, const struct jp_answer *answer);
/* JP_METHOD: it is no step. */
enum jp_operation request_step_kind(PyObject *step);
/* A step of batch() and send() as a request. False: an exception. */
bool request_from_step(struct argument_builder *builder, PyObject *step, struct jp_request *request);
/* An operation of the connection, by its name. */
PyObject *request_operation(struct py_connection *connection, const char *name, PyObject *args);

/* Of Connection. */
extern PyMethodDef connection_methods[];

/* A request that is built and sent once more: which forms its values take, and how it ended. */
struct attempt {
  struct form_choice choice;
  unsigned count; /* of those before it */
  bool in_pieces;
  enum builder_fate fate;
};

void attempt_begin(const struct attempt *attempt, struct argument_builder *builder,
                   struct py_connection *connection);
/* Ends the builder, too. */
void attempt_end(struct attempt *attempt, struct argument_builder *builder);
/* Runs `attempt`: once more where it failed without an exception, and with the values' other forms where the peer has
 * refused their first ones. Where it takes none, the exception is that of the first. */
PyObject *request_retry(PyObject *(*attempt)(struct attempt *attempt, void *context), void *context);
PyObject *request_fail_twice(void);
/* True: the next attempt is to be made; false: none is left, or Java has run. */
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

/* A callback that Java may have. */
struct given;

/* What to give Java; the builder lets go of it, and goes over its link. NULL: an exception. */
struct given *callback_take(struct argument_builder *builder, PyObject *callback);
struct jp_callback *callback_handle(const struct given *given);
void callback_let_go(struct given *given);
/* The Python object that Java has as this callback: a new reference. NULL: there is none; no exception is set. */
PyObject *callback_target(const struct jp_callback *callback);
/* Methods of Connection. */
PyObject *connection_calling(PyObject *self, PyObject *ignored);
PyObject *connection_can_ask(PyObject *self, PyObject *ignored);

/* The refs of an answer that was sent stay for a moment, so that Java finds the objects when it reads it: releases those
 * whose moment is over. */
void answered_release_old(struct py_connection *connection);
void answered_release_all(struct py_connection *connection);

#endif
