/* Errors of the library and of the peer as Python exceptions. */
#include "py_native.h"

#include <stdio.h>
#include <string.h>

static PyObject *text_or_none(const char *text)
{
  if (text == NULL)
    Py_RETURN_NONE;
  return PyUnicode_DecodeUTF8(text, (Py_ssize_t)strlen(text), "surrogatepass");
}

static PyObject *make_frames(const struct jp_throwable *throwable)
{
  PyObject *frames = PyList_New((Py_ssize_t)throwable->stack_count);
  for (size_t i = 0; frames != NULL && i < throwable->stack_count; i++) {
    PyObject *frame = text_or_none(throwable->stack[i]);
    if (frame == NULL || PyList_SetItem(frames, (Py_ssize_t)i, frame) != 0)
      Py_CLEAR(frames);
  }
  return frames;
}

/* Makes the message from the JSON of the throwable, because the library's text of it ends at a NUL. */
static PyObject *make_message(const struct jp_throwable *throwable, struct jp_json json)
{
  struct jp_json message = jp_json_member(json, "message");
  return message.kind == JP_JSON_STRING ? from_json(message) : text_or_none(throwable->message);
}

/* Makes the tuple for a throwable and its causes. Starts with the last cause, so that a long chain needs no
 * recursion. Takes ownership of handle. */
static PyObject *throwable_tuple(const struct jp_answer *answer, PyObject *handle)
{
  enum { CAUSES_MAX = 64 };
  const struct jp_throwable *all[CAUSES_MAX];
  struct jp_json json[CAUSES_MAX];
  int count = 0;
  struct jp_json next = jp_answer_json(answer);
  for (const struct jp_throwable *each = jp_answer_throwable(answer); each != NULL && count < CAUSES_MAX;
       each = each->cause) {
    all[count] = each;
    json[count++] = next;
    next = jp_json_member(next, "cause");
  }
  PyObject *cause = Py_NewRef(Py_None);
  while (count-- > 0 && cause != NULL) {
    PyObject *type = text_or_none(all[count]->type);
    PyObject *message = make_message(all[count], json[count]);
    PyObject *frames = make_frames(all[count]);
    PyObject *tuple = type == NULL || message == NULL || frames == NULL
                          ? NULL
                          : PyTuple_Pack(5, type, message, frames, cause, count == 0 ? handle : Py_None);
    Py_XDECREF(type);
    Py_XDECREF(message);
    Py_XDECREF(frames);
    Py_DECREF(cause);
    cause = tuple;
  }
  Py_DECREF(handle);
  return cause;
}

static PyObject *make_handle(struct py_connection *connection, const struct jp_answer *answer)
{
  struct jp_ref *ref = jp_answer_ref(answer);
  if (ref == NULL)
    Py_RETURN_NONE;
  PyObject *type = PyUnicode_FromString(jp_ref_type(ref));
  PyObject *handle = type == NULL ? NULL : object_create(types.object, connection, jp_ref_keep(ref), type);
  Py_XDECREF(type);
  return handle;
}

/* True for a built-in exception that a value of the wrong shape raises. The package's exceptions are heap
 * types, and are raised on purpose. */
static bool is_of_shape(PyObject *type)
{
  PyObject *const shapes[] = {PyExc_ArithmeticError, PyExc_AttributeError, PyExc_LookupError, PyExc_TypeError,
                              PyExc_ValueError};
  if (!PyType_Check(type) || (PyType_GetFlags((PyTypeObject *)type) & Py_TPFLAGS_HEAPTYPE) != 0)
    return false;
  for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
    if (PyErr_GivenExceptionMatches(type, shapes[i]))
      return true;
  }
  return false;
}

PyObject *check_answer_shape(PyObject *value)
{
  PyObject *type = value == NULL ? PyErr_Occurred() : NULL;
  if (type == NULL || !is_of_shape(type))
    return value;
  PyObject *cause = fetch_exception();
  PyErr_Format(types.protocol_error, "the peer's answer is malformed: %.300R", cause);
  PyObject *raised = fetch_exception();
  PyException_SetCause(raised, cause); /* steals it */
  PyErr_SetObject(types.protocol_error, raised);
  Py_DECREF(raised);
  return NULL;
}

/* 0: done. */
static int set_reason(PyObject *data, const char *reason)
{
  PyObject *text = PyUnicode_FromString(reason);
  int failed = text == NULL ? -1 : PyDict_SetItemString(data, "reason", text);
  Py_XDECREF(text);
  return failed;
}

static PyObject *raise_remote(struct py_connection *connection, const struct jp_answer *answer)
{
  const struct jp_throwable *throwable = jp_answer_throwable(answer);
  PyObject *handle = make_handle(connection, answer);
  PyObject *tuple = NULL;
  if (handle != NULL && throwable->type != NULL)
    tuple = throwable_tuple(answer, handle);
  else if (handle != NULL)
    tuple = handle; /* None */
  const char *lack = jp_answer_lack(answer);
  PyObject *message = text_or_none(lack != NULL                 ? lack
                                   : throwable->message != NULL ? throwable->message
                                                                : jp_answer_error_message(answer));
  PyObject *data = tuple == NULL || message == NULL ? NULL : from_json(jp_answer_json(answer));
  if (data != NULL && lack != NULL && set_reason(data, "lack") != 0)
    Py_CLEAR(data);
  PyObject *raised = NULL;
  if (data != NULL)
    raised = PyObject_CallFunction(connection->make_error, "OiOOO", connection, jp_answer_error_code(answer),
                                   message, tuple, data);
  Py_XDECREF(tuple);
  Py_XDECREF(message);
  Py_XDECREF(data);
  if (raised == NULL)
    return check_answer_shape(NULL);
  if (raised == Py_NotImplemented)
    PyErr_Clear();
  else if (PyExceptionInstance_Check(raised))
    PyErr_SetObject((PyObject *)Py_TYPE(raised), raised);
  else
    PyErr_Format(PyExc_TypeError, "make_error gave no exception: %R", raised);
  Py_DECREF(raised);
  return NULL;
}

/* Raises the exception that the program would get if the peer had refused the object. */
static PyObject *raise_stale(struct py_connection *connection, const struct jp_client_error *error)
{
  enum { SERVER_ERROR = -32000 };
  PyObject *data = Py_BuildValue("{ssss}", "message", error->text, "reason", "stale");
  PyObject *raised = data == NULL ? NULL
                                  : PyObject_CallFunction(connection->make_error, "OisOO", connection,
                                                          SERVER_ERROR, error->text, Py_None, data);
  if (raised != NULL && PyExceptionInstance_Check(raised))
    PyErr_SetObject((PyObject *)Py_TYPE(raised), raised);
  else if (raised != NULL)
    PyErr_Format(PyExc_TypeError, "make_error gave no exception: %R", raised);
  Py_XDECREF(data);
  Py_XDECREF(raised);
  return NULL;
}

/* Raises the error of a closed connection. If this program has launched the peer, the text says how the peer
 * ended. If this program itself closes the connection, this function does not wait for the end of the
 * peer. */
static PyObject *raise_closed(struct py_connection *connection, const struct jp_client_error *error)
{
  enum { END_WAIT_MS = 1500, POLL_MS = 10 }; /* a peer that ends closes its connections first */
  char how[40] = "";
  bool has_ended = false;
  if (strstr(error->text, "fork") != NULL)
    return PyErr_Format(PyExc_RuntimeError, "%s", error->text);
  if (connection->peer != NULL) {
    connection->users++;
    struct jp_peer *peer = connection->peer;
    for (int waited_ms = 0; !has_ended && waited_ms < END_WAIT_MS && connection->state == PY_CONNECTION_OPEN;
         waited_ms += POLL_MS) {
      Py_BEGIN_ALLOW_THREADS;
      has_ended = jp_peer_has_ended(peer, POLL_MS, how, sizeof how);
      Py_END_ALLOW_THREADS;
    }
    connection_leave(connection);
  }
  return has_ended
             ? PyErr_Format(PyExc_ConnectionError, "%s; its process has ended with %s", error->text, how)
             : PyErr_Format(PyExc_ConnectionError, "%s", error->text);
}

/* ---- the token's function ---- */

/* The exception that a token function has raised on this thread; NULL: none. */
static _Thread_local PyObject *token_exception;

void forget_token_exception(void)
{
  Py_CLEAR(token_exception);
}

/* The text of the exception may have secrets, so only its type becomes a part of the library's error. */
void keep_token_exception(struct jp_client_error *error)
{
  PyObject *raised = fetch_exception();
  PyObject *name = raised == NULL ? NULL : PyObject_GetAttrString((PyObject *)Py_TYPE(raised), "__name__");
  const char *text = name == NULL ? NULL : PyUnicode_AsUTF8AndSize(name, NULL);
  snprintf(error->text, sizeof error->text, "it raised %.200s", text == NULL ? "an exception" : text);
  Py_XDECREF(name);
  PyErr_Clear();
  forget_token_exception();
  token_exception = raised;
}

/* Raises the exception of a token function. An exception that is not an Exception, such as KeyboardInterrupt,
 * is raised unchanged. */
static PyObject *raise_no_token(const struct jp_client_error *error)
{
  PyObject *cause = token_exception;
  token_exception = NULL;
  if (cause != NULL && !PyErr_GivenExceptionMatches(cause, PyExc_Exception)) {
    PyErr_SetObject((PyObject *)Py_TYPE(cause), cause);
    Py_DECREF(cause);
    return NULL;
  }
  PyErr_Format(PyExc_ConnectionError, "%s", error->text);
  if (cause == NULL)
    return NULL;
  PyObject *raised = fetch_exception();
  PyException_SetCause(raised, cause); /* steals it */
  PyErr_SetObject((PyObject *)Py_TYPE(raised), raised);
  Py_DECREF(raised);
  return NULL;
}

/* ---- errors of the library ---- */

PyObject *raise_failure(struct py_connection *connection, enum jp_client_status status,
                        const struct jp_answer *answer, const struct jp_client_error *error)
{
  if (PyErr_Occurred())
    return NULL;
  if (status == JP_CLIENT_NO_TOKEN)
    return raise_no_token(error);
  switch (status) {
  case JP_CLIENT_REMOTE:
    if (answer != NULL)
      return raise_remote(connection, answer);
    break;
  case JP_CLIENT_STALE:
    return answer != NULL ? raise_remote(connection, answer) : raise_stale(connection, error);
  case JP_CLIENT_TIMEOUT:
    return PyErr_Format(PyExc_TimeoutError, "%s", error->text);
  case JP_CLIENT_CLOSED:
    return raise_closed(connection, error);
  case JP_CLIENT_PROTOCOL:
    return PyErr_Format(types.protocol_error, "%s", error->text);
  case JP_CLIENT_UNSENT:
    return PyErr_Format(types.not_sent, "%s", error->text);
  case JP_CLIENT_REFUSED:
    return PyErr_Format(PyExc_ConnectionError, "%s", error->text);
  case JP_CLIENT_INVALID:
    return PyErr_Format(PyExc_ValueError, "%s", error->text);
  case JP_CLIENT_TOO_LONG:
    return PyErr_Format(PyExc_OverflowError, "%s", error->text);
  case JP_CLIENT_NO_MEMORY:
    return PyErr_NoMemory();
  case JP_CLIENT_INTERRUPTED:
    PyErr_SetNone(PyExc_KeyboardInterrupt);
    return NULL;
  default:
    break;
  }
  return PyErr_Format(PyExc_RuntimeError, "%s", error->text);
}

PyObject *fetch_exception(void)
{
  PyObject *type;
  PyObject *value;
  PyObject *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  PyErr_NormalizeException(&type, &value, &traceback);
  if (value != NULL && traceback != NULL)
    (void)PyException_SetTraceback(value, traceback);
  Py_XDECREF(type);
  Py_XDECREF(traceback);
  return value;
}
