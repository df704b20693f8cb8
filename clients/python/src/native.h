#ifndef JPEER_PYTHON_NATIVE_H
#define JPEER_PYTHON_NATIVE_H
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

/* ---- types (module.c makes them) ---- */

struct native_types {
  PyTypeObject *connection;
  PyTypeObject *object;
  PyTypeObject *array;
  PyTypeObject *typed;
  PyTypeObject *result;
  PyTypeObject *method;
  PyTypeObject *instance_method;
  PyTypeObject *bound_method;
  PyTypeObject *constructor;
  PyTypeObject *field;
  PyTypeObject *callback;
};
extern struct native_types types;

extern PyType_Spec connection_spec, object_spec, array_spec, typed_spec, result_spec, method_spec,
    instance_method_spec, bound_method_spec, constructor_spec, field_spec, callback_spec;

/* The process ends, or is about to: no Python any more. */
extern atomic_bool is_ending;

/* ---- connection.c ---- */

struct connection {
  PyObject ob_base;
  struct jp_client *client; /* NULL: it was closed, or never opened */
  struct jp_peer *peer;     /* of launch(); it owns the client then */
  size_t users;             /* threads inside the client */
  bool is_closed;           /* the last user closes the client */
  int timeout_ms;
  int exit_status; /* of the launched peer */
  int process_id;  /* 0: none */
  PyObject *url;
  PyObject *on_output; /* NULL: none */
  PyObject *classes, *make_class, *from_text, *to_java, *other_to_java, *make_error;
  struct connection *next; /* of those that are open; borrowed */
  PyObject *weak_references;
};

/* The client for one call, which connection_leave ends; NULL: it is closed. */
struct jp_client *connection_enter(struct connection *connection);
void connection_leave(struct connection *connection);
/* Closes those that are open, when the interpreter ends. */
PyObject *connection_close_all(PyObject *module, PyObject *ignored);
/* Methods of Connection, for the table in request.c. */
PyObject *connection_launch(PyObject *ignored, PyObject *args, PyObject *keywords);
PyObject *connection_close(PyObject *self, PyObject *ignored);
PyObject *connection_stop(PyObject *self, PyObject *timeout);
/* False: a ValueError. Rounded up. */
bool connection_read_seconds(double seconds, int *milliseconds);
/* True: a thread of the library has to end its wait, because a signal's handler has raised. */
bool connection_is_interrupted(void *context);

/* ---- object.c ---- */

struct object {
  PyObject ob_base;
  struct connection *connection; /* strong */
  struct jp_ref *ref;            /* NULL: a class was called without its constructor */
  PyObject *java_type;           /* str */
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

static inline bool is_object(PyObject *value)
{
  return PyObject_TypeCheck(value, types.object);
}

/* Takes the handle, even on failure. type is a type whose instances are Objects, java_type a str (borrowed). */
PyObject *object_create(PyTypeObject *type, struct connection *connection, struct jp_ref *ref,
                        PyObject *java_type);

/* ---- to_java.c: Python's values as arguments ---- */

enum { BUILDER_BYTES = 1024 };

/* What the arguments of one request borrow from. */
struct builder {
  struct connection *connection; /* borrowed */
  struct builder_chunk *chunks;
  struct builder_buffer *buffers;
  struct builder_owned *owned;
  struct builder_callback *callbacks;
  size_t used; /* bytes of `first` */
  _Alignas(16) char first[BUILDER_BYTES];
};

static inline void builder_init(struct builder *builder, struct connection *connection)
{
  builder->connection = connection;
  builder->chunks = NULL;
  builder->buffers = NULL;
  builder->owned = NULL;
  builder->callbacks = NULL;
  builder->used = 0;
}
void builder_fini(struct builder *builder);
/* NULL with MemoryError. Zeroed. */
void *builder_alloc(struct builder *builder, size_t size);
/* UTF-8 of a str, borrowed from it or from the builder. False: an exception. */
bool builder_text(struct builder *builder, PyObject *text, struct jp_text *out);
/* The same for names of classes and members, which hold no NUL; NULL: an exception. */
const char *builder_name(struct builder *builder, PyObject *text);
/* The value is borrowed until the builder ends. */
bool to_java(struct builder *builder, PyObject *value, struct jp_argument *out);
/* The same for receivers: a value without a type of its own takes the class's. */
bool to_java_receiver(struct builder *builder, PyObject *value, const char *type, struct jp_argument *out);
/* Of a sequence's items; *count is how many. NULL: an exception. */
struct jp_argument *to_java_all(struct builder *builder, PyObject *tuple, Py_ssize_t from, size_t *count);

/* ---- from_java.c: answers as Python's values ---- */

/* A value of a result or of a callback's argument. The answer stays the caller's. */
PyObject *from_java(struct connection *connection, const struct jp_answer *answer);
/* The same of a request's result: what `new` makes is an object, even where its text would be a value. */
PyObject *from_java_result(struct connection *connection, enum jp_operation operation,
                           const struct jp_answer *answer);
/* jpeer.fetch: (elements, done, handle or None). */
PyObject *from_java_page(struct connection *connection, struct jp_answer *answer, PyObject *instance);
/* Any JSON as Python's own values. */
PyObject *from_json(struct jp_json json);
/* An object of that class. Takes the handle, even on failure. */
PyObject *from_java_object(struct connection *connection, const char *type, struct jp_ref *ref,
                           struct jp_text text);
PyObject *text_to_python(struct jp_text text);

/* ---- errors.c ---- */

/* Sets the exception for an error of the library; gives NULL. The answer (may be NULL) stays the caller's. No exception
 * is set where make_error gives NotImplemented: the request is to be built and sent once more. */
PyObject *raise_failure(struct connection *connection, enum jp_client_status status,
                        const struct jp_answer *answer, const struct jp_client_error *error);
/* Clears the exception that is set, and gives it; NULL: there is none. */
PyObject *take_exception(void);

/* ---- request.c: one request, sent and waited for ---- */

/* Sends, waits without the GIL, and gives the answer, which the caller frees; NULL: as raise_failure. */
struct jp_answer *request_call(struct connection *connection, const struct jp_request *request);
/* The same, with the answer's value. */
PyObject *request_value(struct connection *connection, const struct jp_request *request);
/* Runs `attempt`, and once more where that failed without an exception. */
PyObject *request_retry(PyObject *(*attempt)(void *context), void *context);
/* JP_METHOD: it is no step. */
enum jp_operation request_step_kind(PyObject *step);
/* A step of batch() and send() as a request. False: an exception. */
bool request_from_step(struct builder *builder, PyObject *step, struct jp_request *request);
/* An operation of the connection, by its name. */
PyObject *request_operation(struct connection *connection, const char *name, PyObject *args);

/* Of Connection. */
extern PyMethodDef connection_methods[];

/* ---- batch.c ---- */

/* A method of Connection. */
PyObject *connection_batch(PyObject *self, PyObject *steps);

/* ---- callback.c ---- */

/* The handle to give Java; the builder lets go of it. NULL: an exception. */
struct jp_callback *callback_take(struct builder *builder, PyObject *callback);
void callback_let_go(struct jp_callback *callback, PyObject *owner);

#endif
