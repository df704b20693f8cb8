/*
 * Requests that a loop of the caller completes (jpeer.aio). They use links of their own. No thread uses these
 * links, and the loop watches their descriptors. A link is named by its number; 0 is the first link.
 */
#include "py_native.h"

#include <stdio.h>

/* ---- a request ---- */

/* A request that a loop completes. The connection lists those that have not been completed. The GIL guards
 * the list. */
struct sent {
  struct sent *previous, *next;
  unsigned holders;                 /* the request in flight, and each loop_cancel of it */
  unsigned long long serial;        /* names the request for loop_cancel; unique in the connection */
  struct py_connection *connection; /* strong */
  struct link *link;                /* strong; the link that it is sent over */
  PyObject *step;
  PyObject *done;
  PyObject *later;  /* schedules the conversion of an answer on another thread, or None */
  PyObject *within; /* a str, or None */
  int timeout_ms;
  enum jp_operation operation;
  bool is_second; /* a second attempt after a refusal, as in request_retry */
  struct attempt attempt;
  PyObject *first;          /* the exception of the first form; NULL: none */
  struct builder_out *outs; /* of the arguments of the request in flight */
};

static void list_sent(struct sent *sent)
{
  struct py_connection *connection = sent->connection;
  sent->serial = ++connection->sent_count;
  sent->next = connection->sent;
  if (sent->next != NULL)
    sent->next->previous = sent;
  connection->sent = sent;
}

static void drop_sent(struct sent *sent)
{
  if (--sent->holders > 0)
    return;
  if (sent->previous != NULL)
    sent->previous->next = sent->next;
  else
    sent->connection->sent = sent->next;
  if (sent->next != NULL)
    sent->next->previous = sent->previous;
  Py_DECREF((PyObject *)sent->connection);
  link_drop(sent->link);
  Py_DECREF(sent->step);
  Py_DECREF(sent->done);
  Py_DECREF(sent->later);
  Py_DECREF(sent->within);
  Py_XDECREF(sent->first);
  outs_free(sent->outs);
  PyMem_Free(sent);
}

static PyObject *value_of_sent(const struct sent *sent, enum jp_client_status status,
                               struct jp_answer *answer)
{
  struct jp_client_error error = {.status = status};
  bool was_sent = sent->connection->has_directory &&
                  (status == JP_CLIENT_CLOSED || status == JP_CLIENT_PROTOCOL || status == JP_CLIENT_TIMEOUT);
  snprintf(error.text, sizeof error.text, "%s%s", jp_client_status_text(status),
           was_sent ? "; the request was sent, and may have run" : "");
  if (status != JP_CLIENT_OK)
    return raise_failure(sent->connection, status, answer, &error);
  if (!outs_write(sent->outs, 0, answer))
    return NULL;
  if (sent->operation == JP_FETCH)
    return from_java_page(sent->connection, answer, PyTuple_GetItem(sent->step, 1));
  return from_java_result(sent->connection, sent->operation, answer);
}

/* Calls `done` with the value, of which it takes ownership, or with the current exception. */
static void report_done(struct sent *sent, PyObject *value)
{
  PyObject *fault = value == NULL ? fetch_exception() : NULL;
  if (fault == NULL)
    fault = Py_NewRef(Py_None);
  PyObject *result = PyObject_CallFunctionObjArgs(sent->done, value == NULL ? Py_None : value, fault, NULL);
  if (result == NULL)
    PyErr_WriteUnraisable(sent->done);
  Py_XDECREF(result);
  Py_XDECREF(value);
  Py_DECREF(fault);
  drop_sent(sent);
}

static bool send_step(struct sent *sent, struct link *for_callbacks, struct link **used);

/* Does for a loop what request_retry does for a thread. An exception is set. True: the request was sent with
 * other forms of the values. */
static bool send_other_forms(struct sent *sent, const struct jp_answer *answer)
{
  struct argument_builder refused;
  request_note_fate(&refused, answer);
  sent->attempt.fate = refused.fate;
  while (attempt_next(&sent->attempt)) {
    PyObject *failure = fetch_exception();
    if (sent->first == NULL)
      sent->first = Py_XNewRef(failure);
    Py_XDECREF(failure);
    sent->attempt.fate = BUILDER_NOT_SENT;
    if (send_step(sent, NULL, NULL))
      return true;
  }
  if (sent->first != NULL && sent->attempt.fate != BUILDER_SENT) {
    PyErr_Clear();
    PyErr_SetObject((PyObject *)Py_TYPE(sent->first), sent->first);
  }
  return false;
}

/* Takes ownership of the answer. Called with the GIL. */
static void finish_sent(struct sent *sent, enum jp_client_status status, struct jp_answer *answer)
{
  PyObject *value = value_of_sent(sent, status, answer);
  bool is_refused = value == NULL && !PyErr_Occurred();
  bool is_sent = false;
  if (is_refused && sent->is_second)
    request_fail_twice();
  else if (is_refused) {
    sent->is_second = true;
    is_sent = send_step(sent, NULL, NULL);
  } else if (value == NULL) {
    is_sent = send_other_forms(sent, answer);
  }
  jp_answer_free(answer);
  if (!is_sent)
    report_done(sent, value);
}

/* ---- answers whose values need requests ---- */

static const char late_name[] = "jpeer._native.late";

/* An answer that another thread converts. */
struct late {
  struct sent *sent; /* NULL: converted */
  enum jp_client_status status;
  struct jp_answer *answer;
};

static void finish_late(struct late *late)
{
  struct sent *sent = late->sent;
  late->sent = NULL;
  if (sent != NULL)
    finish_sent(sent, late->status, late->answer);
}

static PyObject *convert_late(PyObject *capsule, PyObject *ignored)
{
  (void)ignored;
  struct late *late = PyCapsule_GetPointer(capsule, late_name);
  if (late == NULL)
    return NULL;
  finish_late(late);
  Py_RETURN_NONE;
}

/* Frees an answer that no thread has converted. `done` must be called in this case, too. */
static void free_late(PyObject *capsule)
{
  struct late *late = PyCapsule_GetPointer(capsule, late_name);
  finish_late(late);
  PyMem_Free(late);
}

/* False: the caller still owns the answer. No exception is set. */
static bool convert_on_thread(struct sent *sent, enum jp_client_status status, struct jp_answer *answer)
{
  static PyMethodDef convert = {"convert", convert_late, METH_NOARGS, NULL};
  struct late *late = PyMem_Malloc(sizeof *late);
  PyObject *capsule = late == NULL ? NULL : PyCapsule_New(late, late_name, free_late);
  if (capsule == NULL) {
    PyMem_Free(late);
    PyErr_Clear();
    return false;
  }
  *late = (struct late){sent, status, answer};
  PyObject *function = PyCFunction_New(&convert, capsule);
  PyObject *result = function == NULL ? NULL : PyObject_CallFunctionObjArgs(sent->later, function, NULL);
  if (result == NULL)
    PyErr_Clear(); /* the answer is converted when the capsule is freed, on this thread */
  Py_XDECREF(result);
  Py_XDECREF(function);
  Py_DECREF(capsule);
  return true;
}

static void complete_sent(void *context, enum jp_client_status status, struct jp_answer *answer)
{
  struct sent *sent = context;
  if (is_ending) {
    jp_answer_free(answer);
    return;
  }
  PyGILState_STATE state = PyGILState_Ensure();
  bool needs_peer = answer != NULL && sent->later != Py_None &&
                    from_java_needs_peer(sent->connection, sent->operation, answer);
  if (!needs_peer || !convert_on_thread(sent, status, answer))
    finish_sent(sent, status, answer);
  PyGILState_Release(state);
}

/* False: an exception; nothing was sent. */
static bool send_request(struct sent *sent, const struct jp_request *request)
{
  struct jp_client_error error;
  struct py_connection *connection = sent->connection;
  struct link *link = connection_enter(connection, sent->link);
  if (link == NULL)
    return false;
  enum jp_client_status status;
  int timeout_ms = sent->timeout_ms;
  Py_INCREF((PyObject *)connection); /* `sent` may have been freed */
  Py_BEGIN_ALLOW_THREADS;
  status = jp_client_send(link->client, request, timeout_ms, complete_sent, sent, &error);
  Py_END_ALLOW_THREADS;
  if (status != JP_CLIENT_OK)
    raise_failure(connection, status, NULL, &error);
  connection_leave(connection);
  Py_DECREF((PyObject *)connection);
  return status == JP_CLIENT_OK;
}

/* for_callbacks: the link if the step gives a callback that Java does not hold; NULL: always the step's own
 * link. *used, which the caller drops: the link that was used, because `sent` may have been freed. */
static bool send_step(struct sent *sent, struct link *for_callbacks, struct link **used)
{
  struct argument_builder builder;
  struct jp_request request;
  PyObject *step = Py_NewRef(sent->step); /* the arguments borrow from it */
  attempt_begin(&sent->attempt, &builder, sent->connection);
  builder.for_callbacks = for_callbacks;
  if (for_callbacks == NULL)
    builder.link = link_hold(sent->link);
  bool good = request_from_step(&builder, step, &request);
  if (good && builder.link != NULL) {
    struct link *before = sent->link;
    sent->link = link_hold(builder.link);
    link_drop(before);
  }
  if (used != NULL)
    *used = link_hold(sent->link);
  struct jp_options options;
  if (good && sent->within != Py_None) {
    options = *request.options;
    options.within = PyUnicode_AsUTF8AndSize(sent->within, NULL);
    request.options = &options;
    good = options.within != NULL;
  }
  struct jp_options marked;
  if (good)
    request_mark(sent->connection, &request, &marked);
  sent->attempt.choice = builder.choice; /* once the request is in flight, `sent` may be freed */
  outs_free(sent->outs);
  sent->outs = builder.outs;
  builder.outs = NULL;
  if (good)
    sent->attempt.fate = BUILDER_SENT;
  good = good && send_request(sent, &request);
  builder_fini(&builder);
  Py_DECREF(step);
  return good;
}

/* ---- methods of Connection ---- */

/* Borrowed; NULL: an exception. */
static struct link *find_link(PyObject *self, unsigned number)
{
  const struct py_connection *connection = (const struct py_connection *)self;
  for (struct link *each = connection->links; each != NULL; each = each->next) {
    if (each->number == number)
      return each;
  }
  PyErr_SetString(PyExc_ConnectionError, "the connection is closed");
  return NULL;
}

PyObject *loop_send(PyObject *self, PyObject *args)
{
  PyObject *step;
  PyObject *timeout;
  PyObject *done;
  PyObject *within = Py_None;
  PyObject *later = Py_None;
  unsigned number = 0;
  unsigned number_for_callbacks = 0;
  int timeout_ms = JP_FOREVER;
  if (!PyArg_ParseTuple(args, "OOO|OIIO:send", &step, &timeout, &done, &within, &number,
                        &number_for_callbacks, &later))
    return NULL;
  double seconds = timeout == Py_None ? 0 : PyFloat_AsDouble(timeout);
  if (PyErr_Occurred() || (timeout != Py_None && !connection_read_seconds(seconds, &timeout_ms)))
    return NULL;
  struct link *link = find_link(self, number);
  struct link *for_callbacks = link == NULL ? NULL : find_link(self, number_for_callbacks);
  struct sent *sent = for_callbacks == NULL ? NULL : PyMem_Malloc(sizeof *sent);
  if (sent == NULL)
    return PyErr_Occurred() ? NULL : PyErr_NoMemory();
  *sent = (struct sent){.holders = 1,
                        .connection = (struct py_connection *)Py_NewRef(self),
                        .link = link_hold(link),
                        .step = Py_NewRef(step),
                        .done = Py_NewRef(done),
                        .later = Py_NewRef(later),
                        .within = Py_NewRef(within),
                        .timeout_ms = timeout_ms,
                        .operation = request_step_kind(step)};
  list_sent(sent);
  unsigned long long serial = sent->serial; /* copied, because `sent` may be freed once the request is in
                                             * flight */
  link_hold(for_callbacks);
  struct link *used = NULL;
  bool good = send_step(sent, within == Py_None ? for_callbacks : NULL, &used);
  PyObject *answer = NULL;
  if (good)
    answer = Py_BuildValue("(IOK)", used->number, used->gives_callbacks ? Py_True : Py_False, serial);
  else
    drop_sent(sent);
  link_drop(used);
  link_drop(for_callbacks);
  return answer;
}

PyObject *loop_cancel(PyObject *self, PyObject *serial)
{
  const struct py_connection *connection = (const struct py_connection *)self;
  unsigned long long wanted = PyLong_AsUnsignedLongLong(serial);
  if (PyErr_Occurred())
    return NULL;
  struct sent *sent = connection->sent;
  while (sent != NULL && sent->serial != wanted)
    sent = sent->next;
  if (sent == NULL)
    Py_RETURN_FALSE;
  struct link *link = link_hold(sent->link);
  struct link *entered = connection_enter((struct py_connection *)self, link);
  bool is_asked = false;
  sent->holders++; /* the client identifies the request by its address, so the address must not be reused
                    * during the cancel */
  if (entered != NULL) {
    Py_BEGIN_ALLOW_THREADS;
    is_asked = jp_client_cancel(entered->client, complete_sent, sent);
    Py_END_ALLOW_THREADS;
    connection_leave((struct py_connection *)self);
  }
  drop_sent(sent);
  link_drop(link);
  if (PyErr_Occurred())
    return NULL;
  return PyBool_FromLong(is_asked);
}

/* Enters the link whose number is in the arguments; NULL: an exception. */
static struct link *enter_link(PyObject *self, PyObject *args)
{
  unsigned number = 0;
  if (!PyArg_ParseTuple(args, "|I", &number))
    return NULL;
  struct link *link = find_link(self, number);
  return link == NULL ? NULL : connection_enter((struct py_connection *)self, link);
}

PyObject *loop_descriptor(PyObject *self, PyObject *args)
{
  const struct link *link = enter_link(self, args);
  if (link == NULL)
    return NULL;
  int descriptor = jp_client_descriptor(link->client);
  connection_leave((struct py_connection *)self);
  if (descriptor < 0)
    return PyErr_Format(PyExc_OSError, "no descriptor is left");
  return PyLong_FromLong(descriptor);
}

PyObject *loop_process(PyObject *self, PyObject *args)
{
  struct py_connection *connection = (struct py_connection *)self;
  struct jp_client_error error;
  struct link *link = enter_link(self, args);
  if (link == NULL)
    return NULL;
  enum jp_client_status status;
  Py_BEGIN_ALLOW_THREADS;
  status = jp_client_process_answers(link->client, &error);
  Py_END_ALLOW_THREADS;
  if (status == JP_CLIENT_OK && !link->gives_callbacks && jp_client_await_calls(link->client, 0))
    listen_if_called(link); /* there may be calls of callbacks that were given over another link */
  if (status != JP_CLIENT_OK) {
    link_note_status(link, status);
    raise_failure(connection, status, NULL, &error);
  }
  connection_leave(connection);
  if (status != JP_CLIENT_OK)
    return NULL;
  Py_RETURN_NONE;
}

PyObject *loop_unanswered(PyObject *self, PyObject *args)
{
  const struct link *link = enter_link(self, args);
  if (link == NULL)
    return NULL;
  size_t count = jp_client_pending(link->client);
  connection_leave((struct py_connection *)self);
  return PyLong_FromSize_t(count);
}

/* ---- the links of a loop ---- */

PyObject *loop_learn_epoch(PyObject *self, PyObject *args)
{
  const struct link *link = enter_link(self, args);
  if (link == NULL)
    return NULL;
  int timeout_ms = ((struct py_connection *)self)->timeout_ms;
  Py_BEGIN_ALLOW_THREADS;
  (void)link_learn_epoch(link, timeout_ms);
  Py_END_ALLOW_THREADS;
  connection_leave((struct py_connection *)self);
  Py_RETURN_NONE;
}

PyObject *loop_reserve_link(PyObject *self, PyObject *ignored)
{
  (void)ignored;
  struct link *link = find_link(self, 0);
  if (link == NULL)
    return NULL;
  if (link->state == LINK_FOR_THREADS) /* a loop may reserve it again */
    link_set_state(link, LINK_FOR_LOOP);
  Py_RETURN_NONE;
}

PyObject *loop_pin_link(PyObject *self, PyObject *args)
{
  unsigned number;
  const char *name;
  struct py_connection *connection = (struct py_connection *)self;
  if (!PyArg_ParseTuple(args, "Iz:pin_link", &number, &name) || connection_enter_first(connection) == NULL)
    return NULL;
  struct link *link = find_link(self, number);
  bool good = false;
  if (link != NULL) {
    link_hold(link);
    good = link_pin(link, name);
    link_drop(link);
  }
  connection_leave(connection);
  if (!good)
    return NULL;
  Py_RETURN_NONE;
}

PyObject *loop_unpin_link(PyObject *self, PyObject *number)
{
  unsigned long of_link = PyLong_AsUnsignedLong(number);
  if (PyErr_Occurred())
    return NULL;
  struct link *link = find_link(self, (unsigned)of_link);
  if (link == NULL)
    return NULL;
  link_unpin(link);
  Py_RETURN_NONE;
}

PyObject *loop_open_link(PyObject *self, PyObject *ignored)
{
  (void)ignored;
  struct py_connection *connection = (struct py_connection *)self;
  if (connection_enter_first(connection) == NULL)
    return NULL;
  const struct link *link = link_open_for_loop(connection);
  PyObject *number = link == NULL ? NULL : PyLong_FromUnsignedLong(link->number);
  connection_leave(connection);
  if (number != NULL || PyErr_Occurred())
    return number;
  Py_RETURN_NONE;
}
