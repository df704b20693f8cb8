/*
 * Signals that end waits. Handlers run on Python's main thread alone, so only its waits are ended.
 *
 * Where a request was made from a callback, Java's thread is still inside it when its wait has ended, and answers none of
 * the requests that the callback is part of. So their waits end, too, with the same exception.
 */
#include "native.h"

static unsigned long main_thread;

/* threading.main_thread().ident */
bool interrupt_learn_main_thread(void)
{
  if (main_thread != 0)
    return true;
  PyObject *threading = PyImport_ImportModule("threading");
  PyObject *thread = threading == NULL ? NULL : PyObject_CallMethod(threading, "main_thread", NULL);
  PyObject *ident = thread == NULL ? NULL : PyObject_GetAttrString(thread, "ident");
  if (ident != NULL)
    main_thread = PyLong_AsUnsignedLong(ident);
  Py_XDECREF(threading);
  Py_XDECREF(thread);
  Py_XDECREF(ident);
  return !PyErr_Occurred();
}

bool interrupt_is_due(void *context)
{
  const struct connection *connection = context;
  if (is_ending || PyThread_get_thread_ident() != main_thread)
    return false;
  PyGILState_STATE state = PyGILState_Ensure();
  bool is_due = connection->interruption != NULL || PyErr_CheckSignals() != 0;
  PyGILState_Release(state);
  return is_due;
}

/* What is set stays set. */
static void keep_exception(struct connection *connection)
{
  PyObject *raised = take_exception();
  PyObject *before = connection->interruption;
  connection->interruption = Py_XNewRef(raised);
  Py_XDECREF(before);
  if (raised != NULL)
    PyErr_SetObject((PyObject *)Py_TYPE(raised), raised);
  Py_XDECREF(raised);
}

void interrupt_end_wait(struct connection *connection, enum jp_client_status status)
{
  bool is_interrupted = status == JP_CLIENT_INTERRUPTED;
  if ((!is_interrupted && connection->interruption == NULL) || PyThread_get_thread_ident() != main_thread)
    return;
  PyObject *kept = connection->interruption;
  if (is_interrupted && kept != NULL && !PyErr_Occurred())
    PyErr_SetObject((PyObject *)Py_TYPE(kept), kept);
  if (!link_is_nested(connection))
    Py_CLEAR(connection->interruption);
  else if (is_interrupted)
    keep_exception(connection);
}
