/*
 * The links of a connection: clients of one session, so that no thread waits for another thread's call.
 *
 * A thread gets a link with its first call and keeps it until the thread ends; then another thread may use
 * it. The first link is the client with which the connection was opened. A loop has links that no thread uses
 * (py_loop.c). Code in a callback calls over the link that the callback's call arrived over, because Java
 * waits there. One thread of the package listens for calls from Java's own threads, because no Python thread
 * waits for these.
 */
#include "py_native.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

enum { LINKS_MAX = 256, RETRY_SECONDS = 1 };

/* The innermost callback on this thread. */
static _Thread_local struct link_frame *innermost;

/* ---- one link ---- */

static const uint16_t link_transitions[] = {
    [LINK_FOR_THREADS] = TO(LINK_FOR_LOOP) | TO(LINK_ENDED) | TO(LINK_CLOSED),
    [LINK_FOR_LOOP] = TO(LINK_ENDED) | TO(LINK_CLOSED),
    [LINK_ENDED] = TO(LINK_CLOSED),
    [LINK_CLOSED] = 0,
};

static const uint16_t link_abandoned_transitions[] = {
    [LINK_NOTHING_ABANDONED] = TO(LINK_ABANDONED),
    [LINK_ABANDONED] = TO(LINK_ABANDONED) | TO(LINK_ABANDONED_AND_AWAITED),
    [LINK_ABANDONED_AND_AWAITED] =
        TO(LINK_NOTHING_ABANDONED) | TO(LINK_ABANDONED) | TO(LINK_ABANDONED_AND_AWAITED),
};

static void set_abandoned(struct link *link, enum link_abandoned to)
{
  assert((link_abandoned_transitions[link->abandoned] & TO(to)) != 0);
  (void)link_abandoned_transitions;
  link->abandoned = to;
}

void link_set_state(struct link *link, enum link_state to)
{
  assert((link_transitions[link->state] & TO(to)) != 0);
  (void)link_transitions;
  link->state = to;
}

struct link *link_create(struct py_connection *connection, struct jp_client *client)
{
  struct link *link = calloc(1, sizeof *link);
  if (link == NULL)
    return NULL;
  *link = (struct link){.holders = 1, .connection = connection, .client = client};
  return link;
}

struct link *link_of_client(const struct py_connection *connection, const struct jp_client *client)
{
  struct link *link = connection->links;
  while (link != NULL && link->client != client)
    link = link->next;
  return link;
}

struct link *link_hold(struct link *link)
{
  link->holders++;
  return link;
}

void link_drop(struct link *link)
{
  if (link != NULL && --link->holders == 0)
    free(link);
}

void link_push(struct link_frame *frame, struct link *link, const struct jp_callback_call *call)
{
  *frame = (struct link_frame){link, call, innermost};
  innermost = frame;
}

void link_pop(const struct link_frame *frame)
{
  innermost = frame->outer;
}

const struct link_frame *link_frame(const struct py_connection *connection)
{
  const struct link_frame *frame = innermost;
  while (frame != NULL && frame->link->connection != connection)
    frame = frame->outer;
  return frame;
}

bool link_can_ask(const struct py_connection *connection)
{
  const struct link_frame *frame = link_frame(connection);
  return frame == NULL || frame->link->abandoned == LINK_NOTHING_ABANDONED;
}

bool link_is_nested(const struct py_connection *connection)
{
  return link_frame(connection) != NULL;
}

/* ---- the lease of a thread ---- */

static const char lease_name[] = "jpeer._native.lease";

/* True if the link may be flushed. Called with the GIL, under which the connection's state changes. */
static bool may_flush(const struct link *link)
{
  return !is_ending && link->state != LINK_CLOSED && link->connection->state == PY_CONNECTION_OPEN;
}

void link_flush_others(struct py_connection *connection, const struct link *link)
{
  bool is_done = true;
  for (const struct link *each = connection->links; each != NULL; each = each->next) {
    if (each != link)
      is_done &= jp_client_flush(each->client);
  }
  if (is_done)
    connection->dropped = 0;
}

bool link_pin(struct link *link, const char *name)
{
  struct py_connection *connection = link->connection;
  struct jp_client_error error;
  enum jp_client_status status;
  connection->users++;
  Py_BEGIN_ALLOW_THREADS;
  status = jp_client_pin(link->client, name, connection->timeout_ms, &error);
  Py_END_ALLOW_THREADS;
  link->is_pinned = status == JP_CLIENT_OK;
  connection_leave(connection);
  if (status == JP_CLIENT_REMOTE)
    PyErr_Format(PyExc_RuntimeError, "this thread gets no Java thread of its own: %s", error.text);
  else if (status != JP_CLIENT_OK)
    raise_failure(connection, status, NULL, &error);
  return status == JP_CLIENT_OK;
}

void link_unpin(struct link *link)
{
  struct jp_client_error error;
  if (link->is_pinned && may_flush(link))
    (void)!jp_client_unpin(link->client, 0, &error);
  link->is_pinned = false;
}

/* The name of this thread in Python: a new reference; NULL: none that Java accepts. No exception is set. */
static PyObject *name_thread(void)
{
  PyObject *module = PyImport_ImportModule("threading");
  PyObject *thread = module == NULL ? NULL : PyObject_CallMethod(module, "current_thread", NULL);
  PyObject *name = thread == NULL ? NULL : PyObject_GetAttrString(thread, "name");
  PyObject *bytes = name == NULL ? NULL : PyUnicode_AsUTF8String(name);
  Py_XDECREF(module);
  Py_XDECREF(thread);
  Py_XDECREF(name);
  PyErr_Clear();
  bool is_usable = bytes != NULL && PyBytes_Size(bytes) > 0 &&
                   strlen(PyBytes_AsString(bytes)) == (size_t)PyBytes_Size(bytes);
  if (!is_usable)
    Py_CLEAR(bytes);
  return bytes;
}

static bool pin_for_thread(struct link *link)
{
  PyObject *name = name_thread();
  bool good = link_pin(link, name == NULL ? NULL : PyBytes_AsString(name));
  Py_XDECREF(name);
  return good;
}

/* Called when the thread ends, or when forget_old_leases has removed its lease. */
static void end_lease(PyObject *lease)
{
  struct link *link = PyCapsule_GetPointer(lease, lease_name);
  link->thread = 0;
  link_unpin(link);
  if (may_flush(link)) /* the releases of this thread would otherwise wait until another thread uses the
                        * link */
    (void)jp_client_flush(link->client);
  link_drop(link);
}

/* Removes the leases of closed connections. */
static bool forget_old_leases(PyObject *leases)
{
  PyObject *items = PyDict_Items(leases);
  bool good = items != NULL;
  for (Py_ssize_t i = 0; good && i < PyList_Size(items); i++) {
    PyObject *item = PyList_GetItem(items, i);
    const struct link *link = PyCapsule_GetPointer(PyTuple_GetItem(item, 1), lease_name);
    if (link->state == LINK_CLOSED)
      good = PyDict_DelItem(leases, PyTuple_GetItem(item, 0)) == 0;
  }
  Py_XDECREF(items);
  return good;
}

/* The thread's leases by link; they end with the thread. Borrowed; NULL: an exception. */
static PyObject *leases_of_thread(void)
{
  PyObject *of_thread = PyThreadState_GetDict();
  if (of_thread == NULL)
    return PyErr_NoMemory();
  PyObject *leases = PyDict_GetItemString(of_thread, lease_name);
  if (leases != NULL)
    return leases;
  leases = PyDict_New();
  if (leases != NULL && PyDict_SetItemString(of_thread, lease_name, leases) != 0)
    Py_CLEAR(leases);
  Py_XDECREF(leases); /* the dict holds it */
  return leases;
}

/* False: an exception. */
static bool lease_link(struct link *link)
{
  link->thread = PyThread_get_thread_ident(); /* set before the calls below, because they may let another
                                               * thread run */
  link_hold(link);
  bool is_pinned = !link->connection->pins || pin_for_thread(link);
  PyObject *made = is_pinned ? PyCapsule_New(link, lease_name, end_lease) : NULL;
  if (made == NULL) {
    link->thread = 0;
    link_drop(link);
    return false;
  }
  PyObject *leases = leases_of_thread();
  PyObject *key = leases == NULL ? NULL : PyLong_FromVoidPtr(link);
  bool good = key != NULL && forget_old_leases(leases) && PyDict_SetItem(leases, key, made) == 0;
  Py_XDECREF(key);
  Py_DECREF(made);
  return good;
}

/* ---- more links ---- */

static bool may_open(const struct py_connection *connection)
{
  return connection->config.peer_id != NULL && connection->link_count < LINKS_MAX &&
         connection->process == getpid() && time(NULL) >= connection->retry_at;
}

/* Opens a client for a further link: over shared memory, if possible, when this program has launched the
 * peer. Called without the GIL. */
static enum jp_client_status open_client(const struct py_connection *connection, const char *url,
                                         struct jp_client **client, struct jp_client_error *error)
{
  enum { URL_MAX = 4096 };
  static const char unix_scheme[] = "ws+unix:";
  size_t scheme = sizeof unix_scheme - 1;
  char shared[URL_MAX];
  bool is_launched = connection->process_id != 0 && strncmp(url, unix_scheme, scheme) == 0 &&
                     snprintf(shared, sizeof shared, "shm:%s", url + scheme) < URL_MAX;
  if (is_launched && jp_client_open(shared, &connection->config, client, error) == JP_CLIENT_OK)
    return JP_CLIENT_OK;
  return jp_client_open(url, &connection->config, client, error);
}

/* Opens a link. NULL: it could not be opened; an exception may be set, and of a loop's link with a directory is set. */
static struct link *open_link(struct py_connection *connection, enum link_state state)
{
  const char *url = PyUnicode_AsUTF8AndSize(connection->url, NULL);
  struct link *link = url == NULL ? NULL : link_create(connection, NULL);
  if (link == NULL)
    return NULL;
  connection->users++;
  connection->link_count++;
  enum jp_client_status status;
  struct jp_client_error error;
  Py_BEGIN_ALLOW_THREADS;
  status = open_client(connection, url, &link->client, &error);
  Py_END_ALLOW_THREADS;
  bool is_wanted = status == JP_CLIENT_OK &&
                   /* the thread that closes the connection visits the list */
                   connection->state == PY_CONNECTION_OPEN;
  if (is_wanted) {
    link->number = ++connection->numbered_links;
    if (state != link->state)
      link_set_state(link, state);
    link->next = connection->links->next;
    connection->links->next = link;
  } else {
    forget_token_exception();
    Py_BEGIN_ALLOW_THREADS;
    jp_client_close(link->client);
    Py_END_ALLOW_THREADS;
    connection->link_count--;
    connection->retry_at = time(NULL) + RETRY_SECONDS;
    link_drop(link);
    if (status == JP_CLIENT_REFUSED && connection->has_directory && state == LINK_FOR_LOOP)
      raise_failure(connection, JP_CLIENT_UNSENT, NULL, &error);
  }
  connection_leave(connection);
  return is_wanted ? link : NULL;
}

struct link *link_open_for_loop(struct py_connection *connection)
{
  if (connection->has_directory) /* the peer of the last failure need not be that of the next link */
    connection->retry_at = 0;
  return may_open(connection) ? open_link(connection, LINK_FOR_LOOP) : NULL;
}

/* True: the Java thread of the link serves requests, because the abandoned call has ended. Waits for a short
 * time. The peer refuses the probe while the thread does not return. */
static bool is_served(struct link *link)
{
  enum { WAIT_MS = 250, REFUSED = -32000 };
  struct py_connection *connection = link->connection;
  const struct jp_request probe =
      jp_build_static_field_get("java.lang.Integer", "MAX_VALUE"); /* a denial is an answer, too */
  struct jp_client_error error;
  struct jp_answer *answer = NULL;
  enum jp_client_status status;
  connection->users++;
  Py_BEGIN_ALLOW_THREADS;
  status = jp_client_call(link->client, &probe, WAIT_MS, &answer, &error);
  Py_END_ALLOW_THREADS;
  bool is_refused = status == JP_CLIENT_REMOTE && jp_answer_error_code(answer) == REFUSED;
  jp_answer_free(answer);
  connection_leave(connection);
  return (status == JP_CLIENT_OK || status == JP_CLIENT_REMOTE) && !is_refused;
}

/*
 * False: a new request would wait for an abandoned request. The peer interrupts the abandoned request, and
 * most requests end at once. The first check waits for the end of the request, so that the Python thread
 * keeps its Java thread: the Java thread may hold locks. The caller is a user of the connection, so that the
 * link remains during the wait.
 */
static bool is_free(struct link *link)
{
  if (link->state != LINK_FOR_THREADS)
    return false;
  if (link->abandoned == LINK_NOTHING_ABANDONED)
    return true;
  bool is_first = link->abandoned == LINK_ABANDONED;
  bool needs_thread =
      link->is_pinned || link->gives_callbacks; /* the peer gives other links another thread */
  set_abandoned(link, LINK_ABANDONED_AND_AWAITED);
  bool is_over = is_first && link->is_pinned;
  if (!is_over) {
    struct jp_client_error error;
    (void)!jp_client_process_answers(link->client,
                                     &error); /* the next call finds that the client has ended */
    is_over = jp_client_pending(link->client) == 0;
  }
  is_over = is_over && (!needs_thread || is_served(link));
  if (is_over && link->abandoned == LINK_ABANDONED_AND_AWAITED) /* no thread has abandoned a request since */
    set_abandoned(link, LINK_NOTHING_ABANDONED);
  return link->abandoned == LINK_NOTHING_ABANDONED;
}

static struct link *find_link(struct py_connection *connection, unsigned long thread)
{
  struct link *found = NULL;
  connection->users++;
  for (struct link *each = connection->links; each != NULL && found == NULL; each = each->next) {
    /* is_free may wait, while other threads take the link */
    if (each->thread == thread && is_free(each) && each->thread == thread && each->state == LINK_FOR_THREADS)
      found = each;
  }
  connection_leave(connection);
  return connection->state == PY_CONNECTION_OPEN ? found : NULL;
}

/* Uses a free link, opens a link, or shares the first link. The first link is not shared if threads have Java
 * threads of their own. NULL: an exception. */
static struct link *choose_link(struct py_connection *connection)
{
  struct link *link = find_link(connection, 0);
  if (link == NULL && may_open(connection))
    link = open_link(connection, LINK_FOR_THREADS);
  if (PyErr_Occurred())
    return NULL;
  if (connection->links == NULL) { /* the connection was closed while a link was opened */
    PyErr_SetString(PyExc_ConnectionError, "the connection is closed");
    return NULL;
  }
  if (link == NULL && connection->pins) {
    PyErr_Format(
        PyExc_RuntimeError,
        "this thread gets no Java thread of its own: the connection has opened %zu links (at most %d), "
        "and can open no more now",
        connection->link_count, (int)LINKS_MAX);
    return NULL;
  }
  if (link == NULL)
    return connection->links;
  return lease_link(link) ? link : NULL;
}

bool link_pin_own(struct py_connection *connection)
{
  struct link *link = find_link(connection, PyThread_get_thread_ident());
  if (link == NULL)
    return true;
  link_hold(link);
  bool good = pin_for_thread(link);
  link_drop(link);
  return good;
}

struct link *link_of_thread(struct py_connection *connection)
{
  const struct link_frame *frame = link_frame(connection);
  if (frame != NULL)
    return frame->link;
  unsigned long thread = PyThread_get_thread_ident();
  struct link *link = find_link(connection, thread);
  return link == NULL ? choose_link(connection) : link;
}

bool link_learn_epoch(const struct link *link, int timeout_ms)
{
  enum { TRIES = 2 }; /* the first try may find that the connection has ended */
  const struct jp_request ping = jp_build_ping();
  enum jp_client_status status = JP_CLIENT_CLOSED;
  for (int i = 0; i < TRIES && status == JP_CLIENT_CLOSED; i++) {
    struct jp_client_error error;
    struct jp_answer *answer = NULL;
    status = jp_client_call(link->client, &ping, timeout_ms, &answer, &error);
    jp_answer_free(answer);
  }
  return status == JP_CLIENT_OK;
}

void link_note_status(struct link *link, enum jp_client_status status)
{
  bool is_over = status == JP_CLIENT_CLOSED || status == JP_CLIENT_PROTOCOL;
  if (is_over && link_is_usable(link) && !link->connection->config.reconnects &&
      link != link->connection->links)
    link_set_state(link, LINK_ENDED);
  if (status == JP_CLIENT_INTERRUPTED || status == JP_CLIENT_TIMEOUT) {
    set_abandoned(link, LINK_ABANDONED);
    listen_if_called(link); /* no thread waits for calls of the request any more */
  }
}

/* ---- listening for calls from Java's own threads ---- */

/* No Python thread waits for calls from Java's own threads, so one thread of the package listens for these
 * calls. */

enum { EVENTS_MAX = 16 };
/* Input is mostly an answer, which the waiting thread reads. For this reason the listener waits for that
 * thread several times the 50 us that a thread needs to wake. A longer pause would delay Java's calls if that
 * thread is blocked. */
enum { PAUSE_US = 300 };

/* The function that is called before this thread runs a Python function of a callback; NULL: none.
 * Borrowed. */
static _Thread_local PyObject *before_function;

bool listen_to(struct link *link)
{
  struct py_connection *connection = link->connection;
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

void listen_if_called(struct link *link)
{
  const struct py_connection *connection = link->connection;
  if (connection == NULL || connection->state != PY_CONNECTION_OPEN || connection->callbacks_fd < 0 ||
      !link_is_usable(link))
    return;
  PyObject *raised = fetch_exception();
  if (!listen_to(link))
    PyErr_WriteUnraisable(NULL);
  if (raised != NULL)
    PyErr_SetObject((PyObject *)Py_TYPE(raised), raised);
  Py_XDECREF(raised);
}

/* A link whose connection has ended is not listened to any more. The peer uses other links to call the
 * callbacks that were given over this link. */
static void process_link(struct py_connection *connection, struct link *link)
{
  struct jp_client_error error;
  enum jp_client_status status;
  Py_BEGIN_ALLOW_THREADS;
  (void)jp_client_await_calls(link->client,
                              PAUSE_US); /* a thread that waits for its answer may read the input first */
  status = jp_client_process(link->client, &error);
  Py_END_ALLOW_THREADS;
  if (status == JP_CLIENT_OK || connection->config.reconnects)
    return;
  (void)epoll_ctl(connection->callbacks_fd, EPOLL_CTL_DEL, jp_client_descriptor(link->client), NULL);
  link_note_status(link, status);
  for (struct link *each = connection->links; each != NULL; each = each->next)
    listen_if_called(each);
  if (link == connection->links)
    raise_failure(connection, status, NULL, &error);
}

/* The connection must be entered, so that its links are not removed. */
static void process_ready(struct py_connection *connection, int timeout_ms)
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

void listen_elsewhere(void)
{
  PyObject *hand_on = before_function;
  before_function = NULL;
  if (hand_on == NULL)
    return;
  PyObject *nothing = PyObject_CallNoArgs(hand_on);
  if (nothing == NULL)
    PyErr_WriteUnraisable(hand_on);
  Py_XDECREF(nothing);
}

PyObject *connection_listen(PyObject *self, PyObject *args)
{
  struct py_connection *connection = (struct py_connection *)self;
  double seconds;
  PyObject *hand_on = NULL;
  int timeout_ms;
  if (!PyArg_ParseTuple(args, "d|O:listen", &seconds, &hand_on) ||
      !connection_read_seconds(seconds, &timeout_ms))
    return NULL;
  struct link *first = connection_enter_first(connection);
  if (first == NULL)
    return NULL;
  PyObject *before = before_function;
  before_function = hand_on;
  answered_release_old(connection);
  if (listen_to(first)) /* the first link is also listened to, so that its end ends the wait */
    process_ready(connection, timeout_ms);
  before_function = before;
  connection_leave(connection);
  if (PyErr_Occurred())
    return NULL;
  Py_RETURN_NONE;
}
