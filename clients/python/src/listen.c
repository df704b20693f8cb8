/* Calls from threads of Java's, which no thread of Python's waits for: one thread of the package's listens for them. */
#include "native.h"

#include <errno.h>
#include <sys/epoll.h>
#include <unistd.h>

enum { EVENTS_MAX = 16 };
/* What comes is mostly an answer, and the thread that waits for it reads. So this one leaves it the time in which a thread
 * wakes up, some 50 us, several times over; a longer pause would put off Java's calls where that thread is held up. */
enum { PAUSE_US = 300 };

/* What this thread calls before it runs a function of Python's; NULL: nothing. Borrowed. */
static _Thread_local PyObject *hands_on;

bool listen_to(struct link *link)
{
  struct connection *connection = link->connection;
  if (link->gives_callbacks)
    return true;
  if (connection->callbacks_fd < 0)
    connection->callbacks_fd = epoll_create1(EPOLL_CLOEXEC);
  int descriptor = jp_client_descriptor(link->client);
  struct epoll_event event = {.events = EPOLLIN, .data.ptr = link};
  if (connection->callbacks_fd < 0 || descriptor < 0 ||
      epoll_ctl(connection->callbacks_fd, EPOLL_CTL_ADD, descriptor, &event) != 0) {
    PyErr_SetString(PyExc_OSError, "no descriptor is left to listen for Java's calls");
    return false;
  }
  link->gives_callbacks = true;
  return true;
}

/* A link whose connection has ended is left alone from then on. */
static void process_link(struct connection *connection, struct link *link)
{
  struct jp_client_error error;
  enum jp_client_status status;
  Py_BEGIN_ALLOW_THREADS;
  (void)jp_client_await_calls(link->client,
                              PAUSE_US); /* a thread that waits for its answer reads this, too */
  status = jp_client_process(link->client, &error);
  Py_END_ALLOW_THREADS;
  if (status == JP_CLIENT_OK || connection->config.reconnects)
    return;
  (void)epoll_ctl(connection->callbacks_fd, EPOLL_CTL_DEL, jp_client_descriptor(link->client), NULL);
  link_note_status(link, status);
  if (link == connection->links)
    raise_failure(connection, status, NULL, &error);
}

/* The connection is entered, so that its links stay. */
static void process_ready(struct connection *connection, int timeout_ms)
{
  struct epoll_event events[EVENTS_MAX];
  int count;
  Py_BEGIN_ALLOW_THREADS;
  count = epoll_wait(connection->callbacks_fd, events, EVENTS_MAX, timeout_ms);
  Py_END_ALLOW_THREADS;
  if (count < 0 && errno != EINTR)
    PyErr_SetFromErrno(PyExc_OSError);
  for (int i = 0; i < count && !PyErr_Occurred(); i++)
    process_link(connection, events[i].data.ptr);
}

void listen_hand_on(void)
{
  PyObject *hand_on = hands_on;
  hands_on = NULL;
  if (hand_on == NULL)
    return;
  PyObject *nothing = PyObject_CallNoArgs(hand_on);
  if (nothing == NULL)
    PyErr_WriteUnraisable(hand_on);
  Py_XDECREF(nothing);
}

PyObject *connection_listen(PyObject *self, PyObject *args)
{
  struct connection *connection = (struct connection *)self;
  double seconds;
  PyObject *hand_on = NULL;
  int timeout_ms;
  if (!PyArg_ParseTuple(args, "d|O:listen", &seconds, &hand_on) ||
      !connection_read_seconds(seconds, &timeout_ms))
    return NULL;
  struct link *first = connection_enter_first(connection);
  if (first == NULL)
    return NULL;
  PyObject *before = hands_on;
  hands_on = hand_on;
  answered_release_old(connection);
  if (listen_to(first)) /* its end ends the wait */
    process_ready(connection, timeout_ms);
  hands_on = before;
  connection_leave(connection);
  if (PyErr_Occurred())
    return NULL;
  Py_RETURN_NONE;
}
