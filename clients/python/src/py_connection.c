/* Connections: opening, launching, use by any number of threads, closing. */
#include "py_native.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <structmember.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

/* ---- signals that end waits ---- */

/*
 * Signals that end waits. Python runs handlers only on its main thread, so only waits of that thread are
 * ended.
 *
 * If the request was made in a callback, Java's thread is still inside the request after the wait has ended,
 * and answers none of the outer requests. For this reason the waits for the outer requests end too, with the
 * same exception.
 */

static unsigned long main_thread;

/* threading.main_thread().ident */
static bool learn_main_thread(void)
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

static bool is_interrupted(void *context)
{
  const struct py_connection *connection = context;
  if (is_ending || PyThread_get_thread_ident() != main_thread)
    return false;
  PyGILState_STATE state = PyGILState_Ensure();
  bool is_due = connection->interruption != NULL || PyErr_CheckSignals() != 0;
  PyGILState_Release(state);
  return is_due;
}

/* The current exception remains set. */
static void keep_exception(struct py_connection *connection)
{
  PyObject *raised = fetch_exception();
  PyObject *before = connection->interruption;
  connection->interruption = Py_XNewRef(raised);
  Py_XDECREF(before);
  if (raised != NULL)
    PyErr_SetObject((PyObject *)Py_TYPE(raised), raised);
  Py_XDECREF(raised);
}

void connection_end_wait(struct py_connection *connection, enum jp_client_status status)
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

enum { MS_IN_S = 1000, CLOSE_WAIT_MS = 1000, GRACE_MS = 5000, DROPPED_MAX = 64 };

/* Open connections; the GIL guards the list. */
static struct py_connection *open_connections;

/* ---- the state ---- */

static const uint16_t py_connection_transitions[] = {
    [PY_CONNECTION_NEW] = TO(PY_CONNECTION_OPEN),
    [PY_CONNECTION_OPEN] = TO(PY_CONNECTION_CLOSING),
    [PY_CONNECTION_CLOSING] = TO(PY_CONNECTION_CLOSED),
    [PY_CONNECTION_CLOSED] = 0,
};

static void set_connection_state(struct py_connection *connection, enum py_connection_state to)
{
  assert((py_connection_transitions[connection->state] & TO(to)) != 0);
  (void)py_connection_transitions;
  connection->state = to;
}

/* ---- users ---- */

/* Ends the connection's references to its links. */
static void drop_links(struct link *links)
{
  while (links != NULL) {
    struct link *next = links->next;
    link_set_state(links, LINK_CLOSED);
    links->connection = NULL;
    links->client = NULL;
    links->next = NULL;
    link_drop(links);
    links = next;
  }
}

/* Closes the clients. No thread may be inside them. */
static void close_clients(struct py_connection *connection, int timeout_ms)
{
  struct link *links = connection->links;
  struct jp_peer *peer = connection->peer;
  int callbacks_fd = connection->callbacks_fd;
  int exit_status = 0;
  assert(links != NULL); /* it was open */
  set_connection_state(connection, PY_CONNECTION_CLOSED);
  connection->links = NULL;
  connection->link_count = 0;
  connection->peer = NULL;
  connection->callbacks_fd = -1;
  Py_BEGIN_ALLOW_THREADS;
  for (struct link *each = links->next; each != NULL; each = each->next)
    jp_client_close(each->client); /* except that of the first link, which may belong to the launched peer */
  if (peer != NULL)
    exit_status = jp_peer_stop(peer, timeout_ms);
  else
    jp_client_close(links->client);
  if (callbacks_fd >= 0)
    close(callbacks_fd);
  Py_END_ALLOW_THREADS;
  drop_links(links);
  connection->exit_status = exit_status;
}

static bool check_open(const struct py_connection *connection)
{
  if (connection->state == PY_CONNECTION_OPEN)
    return true;
  PyErr_SetString(PyExc_ConnectionError, "the connection is closed");
  return false;
}

struct link *connection_enter(struct py_connection *connection, struct link *wanted)
{
  if (!check_open(connection))
    return NULL;
  struct link *link = wanted == NULL ? link_of_thread(connection) : wanted;
  if (link == NULL || !check_open(connection)) /* the connection may have been closed while a link was
                                                * opened */
    return NULL;
  connection->users++;
  if (connection->dropped >= DROPPED_MAX && connection->link_count > 1)
    link_flush_others(connection, link); /* sends the releases of threads that make no further calls */
  return link;
}

struct link *connection_enter_first(struct py_connection *connection)
{
  if (!check_open(connection))
    return NULL;
  connection->users++;
  return connection->links;
}

void connection_leave(struct py_connection *connection)
{
  connection->users--;
  if (connection->users > 0 || connection->state != PY_CONNECTION_CLOSING)
    return;
  PyObject *type;
  PyObject *value;
  PyObject *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  close_clients(connection, GRACE_MS);
  PyErr_Restore(type, value, traceback);
}

/* This ensures that a connection that is being deallocated cannot be found. */
static void remove_from_list(const struct py_connection *connection)
{
  for (struct py_connection **at = &open_connections; *at != NULL; at = &(*at)->next) {
    if (*at == connection) {
      *at = connection->next;
      return;
    }
  }
}

/* Waiting threads get a ConnectionError. If a thread is running a callback (the caller may be such a thread),
 * the last of these threads closes the clients when it leaves. */
static void close_connection(struct py_connection *connection, int timeout_ms)
{
  const struct timespec millisecond = {.tv_nsec = 1000000};
  if (connection->state != PY_CONNECTION_OPEN)
    return;
  remove_from_list(connection);
  set_connection_state(connection, PY_CONNECTION_CLOSING);
  connection->users++;
  Py_BEGIN_ALLOW_THREADS;
  for (const struct link *each = connection->links; each != NULL; each = each->next)
    jp_client_end(each->client);
  Py_END_ALLOW_THREADS;
  for (int i = 0; i < CLOSE_WAIT_MS && connection->users > 1; i++) {
    Py_BEGIN_ALLOW_THREADS;
    nanosleep(&millisecond, NULL);
    Py_END_ALLOW_THREADS;
  }
  connection->users--;
  if (connection->users == 0)
    close_clients(connection, timeout_ms);
}

PyObject *connection_close_all(PyObject *module, PyObject *ignored)
{
  (void)module, (void)ignored;
  while (open_connections != NULL) {
    struct py_connection *connection = (struct py_connection *)Py_NewRef((PyObject *)open_connections);
    close_connection(connection, GRACE_MS);
    Py_DECREF((PyObject *)connection);
  }
  is_ending = true;
  Py_RETURN_NONE;
}

bool connection_read_seconds(double seconds, int *milliseconds)
{
  if (!(seconds >= 0 && seconds <= (double)(INT32_MAX / MS_IN_S))) {
    PyErr_SetString(PyExc_ValueError, "a timeout is a number of seconds that is not negative");
    return false;
  }
  *milliseconds = (int)ceil(seconds * MS_IN_S);
  return true;
}

/* ---- opening ---- */

static bool read_hook(PyObject *hooks, const char *name, PyObject **place)
{
  *place = PyObject_GetAttrString(hooks, name);
  return *place != NULL;
}

/* Generates 128 random bits. False: an exception. */
static bool name_process(struct py_connection *connection)
{
  unsigned char random[(PROCESS_NAME_SIZE - 1) / 2];
  if (getrandom(random, sizeof random, 0) != (ssize_t)sizeof random) {
    PyErr_SetFromErrno(PyExc_OSError);
    return false;
  }
  for (size_t i = 0; i < sizeof random; i++)
    snprintf(connection->process_name + 2 * i, 3, "%02x", random[i]);
  return true;
}

static struct py_connection *create_connection(PyTypeObject *type, PyObject *hooks)
{
  allocfunc allocate = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
  struct py_connection *made = (struct py_connection *)allocate(type, 0);
  if (made == NULL)
    return NULL;
  made->timeout_ms = JP_FOREVER;
  made->callbacks_fd = -1;
  made->process = getpid();
  if (learn_main_thread() && name_process(made) && read_hook(hooks, "classes", &made->classes) &&
      read_hook(hooks, "make_class", &made->make_class) && read_hook(hooks, "from_text", &made->from_text) &&
      read_hook(hooks, "to_java", &made->to_java) &&
      read_hook(hooks, "other_to_java", &made->other_to_java) &&
      read_hook(hooks, "in_pieces", &made->in_pieces) && read_hook(hooks, "make_error", &made->make_error)) {
    bool good = PyDict_Check(made->classes) && PyDict_Check(made->from_text) && PyDict_Check(made->to_java);
    if (good)
      return made;
    PyErr_SetString(PyExc_TypeError, "classes, from_text and to_java of Hooks have to be dicts");
  }
  Py_DECREF((PyObject *)made);
  return NULL;
}

/* Adds the connection to the open connections. False: an exception, and the client or peer was closed. */
static bool note_open(struct py_connection *connection, struct jp_client *client, struct jp_peer *peer,
                      const char *url)
{
  connection->links = link_create(connection, client);
  if (connection->links == NULL) {
    if (peer != NULL)
      (void)jp_peer_stop(peer, GRACE_MS);
    else
      jp_client_close(client);
    PyErr_NoMemory();
    return false;
  }
  set_connection_state(connection, PY_CONNECTION_OPEN);
  connection->link_count = 1;
  connection->peer = peer;
  connection->next = open_connections;
  open_connections = connection;
  connection->has_directory = strncmp(url, "dir:", 4) == 0;
  connection->url = PyUnicode_FromString(url);
  if (connection->url != NULL)
    return true;
  close_connection(connection, GRACE_MS);
  return false;
}

/* Keeps the configuration for further links, in which the session's name is set later. */
static void keep_config(struct py_connection *connection, const struct jp_client_config *config)
{
  connection->config = *config;
  connection->config.peer_id = NULL;
}

static struct jp_client_config make_config(struct py_connection *connection, const char *peer_id,
                                           int connect_timeout_ms, Py_ssize_t message_max,
                                           Py_ssize_t pending_max, int reconnects)
{
  return (struct jp_client_config){.size = sizeof(struct jp_client_config),
                                   .peer_id = peer_id,
                                   .process = connection->process_name,
                                   .connect_timeout_ms = connect_timeout_ms,
                                   .message_max = (size_t)message_max,
                                   .pending_max = (size_t)pending_max,
                                   .reconnects = reconnects != 0,
                                   .interrupted = is_interrupted,
                                   .interrupted_context = connection};
}

/* ---- tokens and certificates ---- */

/* Copies the result of a token function. False: an exception. */
static bool copy_token(PyObject *result, char token[JP_TOKEN_SIZE])
{
  Py_ssize_t length = 0;
  if (!PyUnicode_Check(result)) {
    PyErr_Format(PyExc_TypeError, "a token function returns a str, not %R", (PyObject *)Py_TYPE(result));
    return false;
  }
  const char *text = PyUnicode_AsUTF8AndSize(result, &length);
  if (text == NULL) { /* the exception shows the text */
    PyErr_Clear();
    PyErr_SetString(PyExc_ValueError, "the token is not encodable");
    return false;
  }
  if (length >= JP_TOKEN_SIZE || strlen(text) != (size_t)length) {
    PyErr_Format(PyExc_ValueError, "a token has no NUL and at most %d bytes", JP_TOKEN_SIZE - 1);
    return false;
  }
  memcpy(token, text, (size_t)length + 1);
  return true;
}

static bool ask_for_token(void *context, char token[JP_TOKEN_SIZE], struct jp_client_error *error)
{
  struct py_connection *connection = context;
  if (is_ending) {
    snprintf(error->text, sizeof error->text, "Python is ending");
    return false;
  }
  PyGILState_STATE state = PyGILState_Ensure();
  PyObject *function = Py_XNewRef(connection->token_function);
  PyObject *result = function == NULL ? NULL : PyObject_CallFunction(function, NULL);
  bool is_given = result != NULL && copy_token(result, token);
  if (!is_given && PyErr_Occurred())
    keep_token_exception(error);
  Py_XDECREF(result);
  Py_XDECREF(function);
  PyGILState_Release(state);
  return is_given;
}

const char *config_keep_text(PyObject *texts, PyObject *value, const char *what)
{
  if (value == Py_None)
    return NULL;
  if (!PyUnicode_Check(value)) {
    PyErr_Format(PyExc_TypeError, "%s is a str, not %R", what, (PyObject *)Py_TYPE(value));
    return NULL;
  }
  /* The text may be a path, so it is encoded as the file system's paths are. This does not change ASCII. */
  PyObject *bytes = PyUnicode_EncodeFSDefault(value);
  if (bytes == NULL || PyList_Append(texts, bytes) != 0) {
    Py_XDECREF(bytes);
    PyErr_Clear();
    PyErr_Format(PyExc_ValueError, "%s is not encodable", what);
    return NULL;
  }
  Py_DECREF(bytes); /* the list holds it */
  const char *text = PyBytes_AsString(bytes);
  if (strlen(text) == (size_t)PyBytes_Size(bytes))
    return text;
  PyErr_Format(PyExc_ValueError, "%s has a NUL", what);
  return NULL;
}

/* The values of the configuration as Python objects; None: not given. */
struct credentials {
  PyObject *ca_file;
  PyObject *cert_file;
  PyObject *key_file;
  PyObject *token; /* a str or a callable */
  PyObject *token_file;
  PyObject *headers;   /* a sequence of "NAME: VALUE" */
  PyObject *directory; /* a dict of settings */
};

/* False: an exception. */
static bool keep_headers(struct py_connection *connection, PyObject *headers)
{
  PyObject *tuple = headers == Py_None ? NULL : PySequence_Tuple(headers);
  Py_ssize_t count = tuple == NULL ? 0 : PyTuple_Size(tuple);
  if (count > 0)
    connection->headers = PyMem_Calloc((size_t)count + 1, sizeof *connection->headers);
  if (count > 0 && connection->headers == NULL)
    PyErr_NoMemory();
  for (Py_ssize_t i = 0; connection->headers != NULL && i < count && !PyErr_Occurred(); i++) {
    connection->headers[i] =
        config_keep_text(connection->config_texts, PyTuple_GetItem(tuple, i), "a header");
    if (connection->headers[i] == NULL && !PyErr_Occurred())
      PyErr_SetString(PyExc_TypeError, "a header is a str, not None");
  }
  Py_XDECREF(tuple);
  return !PyErr_Occurred();
}

/* Fills the configuration, whose texts the connection keeps. False: an exception, which shows no value. */
static bool read_credentials(struct py_connection *connection, const struct credentials *given,
                             struct jp_client_config *config)
{
  connection->config_texts = PyList_New(0);
  if (connection->config_texts == NULL)
    return false;
  const struct {
    PyObject *value;
    const char *what;
    const char **place;
  } texts[] = {{given->ca_file, "ca_file", &config->ca_file},
               {given->cert_file, "cert_file", &config->cert_file},
               {given->key_file, "key_file", &config->key_file},
               {given->token_file, "token_file", &config->token_file},
               {PyCallable_Check(given->token) ? Py_None : given->token, "token", &config->token}};
  for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
    *texts[i].place = config_keep_text(connection->config_texts, texts[i].value, texts[i].what);
    if (PyErr_Occurred())
      return false;
  }
  if (PyCallable_Check(given->token)) {
    connection->token_function = Py_NewRef(given->token);
    config->token_function = ask_for_token;
    config->token_context = connection;
  }
  if (!keep_headers(connection, given->headers))
    return false;
  config->headers = connection->headers;
  if (given->directory == Py_None)
    return true;
  connection->directory = (struct jp_directory_config){.size = sizeof connection->directory};
  config->directory = &connection->directory;
  return directory_read_settings(given->directory, connection->config_texts, &connection->directory);
}

/* ---- connecting ---- */

static PyObject *connection_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
  static char *names[] = {"url",         "hooks",      "peer_id", "connect_timeout", "message_max",
                          "pending_max", "reconnects", "ca_file", "cert_file",       "key_file",
                          "token",       "token_file", "headers", "directory",       NULL};
  struct credentials given = {Py_None, Py_None, Py_None, Py_None, Py_None, Py_None, Py_None};
  const char *url;
  PyObject *hooks;
  const char *peer_id = NULL;
  double connect_timeout = 10;
  Py_ssize_t message_max = 0;
  Py_ssize_t pending_max = 0;
  int reconnects = 0;
  if (!PyArg_ParseTupleAndKeywords(args, keywords, "sO|$zdnnpOOOOOOO:Connection", names, &url, &hooks,
                                   &peer_id, &connect_timeout, &message_max, &pending_max, &reconnects,
                                   &given.ca_file, &given.cert_file, &given.key_file, &given.token,
                                   &given.token_file, &given.headers, &given.directory))
    return NULL;
  if (message_max < 0 || pending_max < 0)
    return PyErr_Format(PyExc_ValueError, "message_max and pending_max cannot be negative");
  int connect_timeout_ms;
  if (!connection_read_seconds(connect_timeout, &connect_timeout_ms))
    return NULL;
  struct py_connection *made = create_connection(type, hooks);
  if (made == NULL)
    return NULL;
  struct jp_client_config config =
      make_config(made, peer_id, connect_timeout_ms, message_max, pending_max, reconnects);
  if (!read_credentials(made, &given, &config)) {
    Py_DECREF((PyObject *)made);
    return NULL;
  }
  keep_config(made, &config);
  struct jp_client *client = NULL;
  struct jp_client_error error;
  enum jp_client_status status;
  Py_BEGIN_ALLOW_THREADS;
  status = jp_client_open(url, &config, &client, &error);
  Py_END_ALLOW_THREADS;
  bool good = status == JP_CLIENT_OK && note_open(made, client, NULL, url);
  bool is_mistake = status == JP_CLIENT_UNSUPPORTED && strncmp(url, "dir:", 4) != 0;
  if (status != JP_CLIENT_OK) /* an unsupported scheme is the caller's mistake; a missing libcurl is not */
    raise_failure(made, is_mistake ? JP_CLIENT_INVALID : status, NULL, &error);
  if (good)
    return (PyObject *)made;
  Py_DECREF((PyObject *)made);
  return NULL;
}

/* ---- launching ---- */

/* Passes output of Java to on_output; called on a thread of the library. */
static void pass_output(void *context, int descriptor, struct jp_text bytes)
{
  struct py_connection *connection = context;
  if (is_ending)
    return;
  PyGILState_STATE state = PyGILState_Ensure();
  PyObject *result = NULL;
  if (connection->on_output != NULL)
    result =
        PyObject_CallFunction(connection->on_output, "iy#", descriptor, bytes.data, (Py_ssize_t)bytes.len);
  if (result == NULL && PyErr_Occurred())
    PyErr_WriteUnraisable(connection->on_output);
  Py_XDECREF(result);
  PyGILState_Release(state);
}

/* NULL-terminated; NULL: an exception. */
static const char **read_words(struct argument_builder *builder, PyObject *sequence)
{
  PyObject *tuple = PySequence_Tuple(sequence);
  Py_ssize_t count = tuple == NULL ? 0 : PyTuple_Size(tuple);
  const char **words = tuple == NULL ? NULL : builder_alloc(builder, ((size_t)count + 1) * sizeof *words);
  for (Py_ssize_t i = 0; words != NULL && i < count; i++) {
    const char *word = builder_name(builder, PyTuple_GetItem(tuple, i));
    size_t size = word == NULL ? 0 : strlen(word) + 1;
    char *copy = word == NULL ? NULL : builder_alloc(builder, size);
    words[i] = copy;
    if (copy == NULL)
      words = NULL;
    else
      memcpy(copy, word, size);
  }
  Py_XDECREF(tuple);
  return words;
}

static PyObject *launch_peer(struct py_connection *made, const struct jp_launch_config *config)
{
  struct jp_peer *peer = NULL;
  struct jp_client_error error;
  enum jp_client_status status;
  Py_BEGIN_ALLOW_THREADS;
  status = jp_launch(config, &peer, &error);
  Py_END_ALLOW_THREADS;
  if (status != JP_CLIENT_OK)
    return raise_failure(made, status, NULL, &error);
  made->process_id = jp_peer_process_id(peer);
  return note_open(made, jp_peer_client(peer), peer, jp_peer_url(peer)) ? (PyObject *)made : NULL;
}

PyObject *connection_launch(PyObject *ignored, PyObject *args, PyObject *keywords)
{
  static char *names[] = {"hooks",     "program",   "class_path",    "jvm_options", "options", "main_class",
                          "arguments", "on_output", "start_timeout", "input",       NULL};
  (void)ignored;
  PyObject *hooks;
  PyObject *empty = PyTuple_New(0);
  PyObject *jvm_options = empty;
  PyObject *options = empty;
  PyObject *arguments = empty;
  PyObject *on_output = Py_None;
  double start_timeout = 30;
  struct jp_client_config client;
  struct jp_launch_config config = {.size = sizeof config, .client = &client};
  if (empty == NULL ||
      !PyArg_ParseTupleAndKeywords(args, keywords, "O|$zzOOzOOdi:launch", names, &hooks, &config.program,
                                   &config.class_path, &jvm_options, &options, &config.main_class, &arguments,
                                   &on_output, &start_timeout, &config.input) ||
      !connection_read_seconds(start_timeout, &config.start_timeout_ms)) {
    Py_XDECREF(empty);
    return NULL;
  }
  struct py_connection *made = create_connection(types.connection, hooks);
  struct argument_builder builder;
  builder_init(&builder, made);
  client = make_config(made, NULL, 0, 0, 0, 0);
  if (made != NULL)
    keep_config(made, &client);
  PyObject *launched = NULL;
  if (made != NULL) {
    config.jvm_options = read_words(&builder, jvm_options);
    config.options = config.jvm_options == NULL ? NULL : read_words(&builder, options);
    config.arguments = config.options == NULL ? NULL : read_words(&builder, arguments);
    if (on_output != Py_None) {
      made->on_output = Py_NewRef(on_output);
      config.on_output = pass_output;
      config.output_context = made;
    }
    launched = config.arguments == NULL ? NULL : launch_peer(made, &config);
  }
  builder_fini(&builder);
  Py_DECREF(empty);
  if (launched == NULL)
    Py_XDECREF((PyObject *)made);
  return launched;
}

/* ---- closing ---- */

PyObject *connection_close(PyObject *self, PyObject *ignored)
{
  (void)ignored;
  close_connection((struct py_connection *)self, GRACE_MS);
  Py_RETURN_NONE;
}

PyObject *connection_stop(PyObject *self, PyObject *timeout)
{
  struct py_connection *connection = (struct py_connection *)self;
  double seconds = PyFloat_AsDouble(timeout);
  int timeout_ms;
  if (PyErr_Occurred() || !connection_read_seconds(seconds, &timeout_ms))
    return NULL;
  close_connection(connection, timeout_ms);
  return PyLong_FromLong(connection->exit_status);
}

/* ---- the type ---- */

static int connection_traverse(PyObject *self, visitproc visit, void *arg)
{
  struct py_connection *connection = (struct py_connection *)self;
  Py_VISIT(Py_TYPE(self));
  Py_VISIT(connection->on_output);
  Py_VISIT(connection->token_function);
  Py_VISIT(connection->classes);
  Py_VISIT(connection->make_class);
  Py_VISIT(connection->from_text);
  Py_VISIT(connection->to_java);
  Py_VISIT(connection->other_to_java);
  Py_VISIT(connection->in_pieces);
  Py_VISIT(connection->make_error);
  Py_VISIT(connection->interruption);
  return 0;
}

static int connection_clear(PyObject *self)
{
  struct py_connection *connection = (struct py_connection *)self;
  close_connection(connection, GRACE_MS); /* no thread is inside, because a thread inside would hold the
                                           * connection */
  answered_release_all(connection);
  Py_CLEAR(connection->interruption);
  Py_CLEAR(connection->on_output);
  Py_CLEAR(connection->token_function);
  Py_CLEAR(connection->classes);
  Py_CLEAR(connection->make_class);
  Py_CLEAR(connection->from_text);
  Py_CLEAR(connection->to_java);
  Py_CLEAR(connection->other_to_java);
  Py_CLEAR(connection->in_pieces);
  Py_CLEAR(connection->make_error);
  return 0;
}

static void connection_dealloc(PyObject *self)
{
  struct py_connection *connection = (struct py_connection *)self;
  PyTypeObject *type = Py_TYPE(self);
  PyObject_GC_UnTrack(self);
  if (connection->weak_references != NULL)
    PyObject_ClearWeakRefs(self);
  (void)connection_clear(self);
  Py_CLEAR(connection->url);
  Py_CLEAR(connection->config_texts);
  PyMem_Free((void *)connection->headers);
  freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
  release(self);
  Py_DECREF(type);
}

static PyObject *get_timeout(PyObject *self, void *ignored)
{
  (void)ignored;
  int timeout_ms = ((struct py_connection *)self)->timeout_ms;
  if (timeout_ms < 0)
    Py_RETURN_NONE;
  return PyFloat_FromDouble((double)timeout_ms / MS_IN_S);
}

static int set_timeout(PyObject *self, PyObject *value, void *ignored)
{
  (void)ignored;
  bool is_none = value == NULL || value == Py_None;
  double seconds = is_none ? 0 : PyFloat_AsDouble(value);
  int timeout_ms = JP_FOREVER;
  if (PyErr_Occurred() || (!is_none && !connection_read_seconds(seconds, &timeout_ms)))
    return -1;
  ((struct py_connection *)self)->timeout_ms = timeout_ms;
  return 0;
}

static PyObject *get_pins(PyObject *self, void *ignored)
{
  (void)ignored;
  return PyBool_FromLong(((const struct py_connection *)self)->pins);
}

static int set_pins(PyObject *self, PyObject *value, void *ignored)
{
  (void)ignored;
  int pins = value == NULL ? -1 : PyObject_IsTrue(value);
  if (pins < 0 && !PyErr_Occurred())
    PyErr_SetString(PyExc_TypeError, "pins cannot be deleted");
  if (pins < 0)
    return -1;
  struct py_connection *connection = (struct py_connection *)self;
  connection->pins = pins != 0;
  return !connection->pins || link_pin_own(connection) ? 0 : -1;
}

static PyObject *get_idempotent(PyObject *self, void *ignored)
{
  (void)ignored;
  return PyBool_FromLong(((const struct py_connection *)self)->is_idempotent);
}

static int set_idempotent(PyObject *self, PyObject *value, void *ignored)
{
  (void)ignored;
  int is_idempotent = value == NULL ? -1 : PyObject_IsTrue(value);
  if (is_idempotent < 0 && !PyErr_Occurred())
    PyErr_SetString(PyExc_TypeError, "idempotent cannot be deleted");
  if (is_idempotent < 0)
    return -1;
  ((struct py_connection *)self)->is_idempotent = is_idempotent != 0;
  return 0;
}

static PyObject *get_session(PyObject *self, void *ignored)
{
  (void)ignored;
  const char *peer_id = ((const struct py_connection *)self)->config.peer_id;
  if (peer_id == NULL)
    Py_RETURN_NONE;
  return PyUnicode_FromString(peer_id);
}

/* Set only once, because threads that open links read it without a lock. */
static int set_session(PyObject *self, PyObject *value, void *ignored)
{
  (void)ignored;
  struct py_connection *connection = (struct py_connection *)self;
  Py_ssize_t length = 0;
  const char *name =
      value == NULL || !PyUnicode_Check(value) ? NULL : PyUnicode_AsUTF8AndSize(value, &length);
  if (connection->config.peer_id != NULL || name == NULL || length != PEER_ID_SIZE - 1) {
    PyErr_SetString(PyExc_ValueError, "session is set once, to a UUID");
    return -1;
  }
  memcpy(connection->peer_id, name, PEER_ID_SIZE);
  connection->config.peer_id = connection->peer_id;
  return 0;
}

static PyObject *get_closed(PyObject *self, void *ignored)
{
  (void)ignored;
  const struct py_connection *connection = (const struct py_connection *)self;
  return PyBool_FromLong(connection->state != PY_CONNECTION_OPEN);
}

static PyObject *get_process_id(PyObject *self, void *ignored)
{
  (void)ignored;
  int process_id = ((struct py_connection *)self)->process_id;
  if (process_id == 0)
    Py_RETURN_NONE;
  return PyLong_FromLong(process_id);
}

static PyObject *sum_of_links(PyObject *self, size_t (*count)(const struct jp_client *client))
{
  size_t sum = 0;
  for (const struct link *each = ((struct py_connection *)self)->links; each != NULL; each = each->next)
    sum += count(each->client);
  return PyLong_FromSize_t(sum);
}

static PyObject *get_pending(PyObject *self, void *ignored)
{
  (void)ignored;
  return sum_of_links(self, jp_client_pending);
}

static PyObject *get_ref_count(PyObject *self, void *ignored)
{
  (void)ignored;
  return sum_of_links(self, jp_client_ref_count);
}

static PyObject *get_link_count(PyObject *self, void *ignored)
{
  (void)ignored;
  return PyLong_FromSize_t(((struct py_connection *)self)->link_count);
}

static PyGetSetDef getters[] = {{"timeout", get_timeout, set_timeout, NULL, NULL},
                                {"session", get_session, set_session, NULL, NULL},
                                {"pins", get_pins, set_pins, NULL, NULL},
                                {"idempotent", get_idempotent, set_idempotent, NULL, NULL},
                                {"is_closed", get_closed, NULL, NULL, NULL},
                                {"process_id", get_process_id, NULL, NULL, NULL},
                                {"pending", get_pending, NULL, NULL, NULL},
                                {"ref_count", get_ref_count, NULL, NULL, NULL},
                                {"link_count", get_link_count, NULL, NULL, NULL},
                                {NULL, NULL, NULL, NULL, NULL}};

static PyMemberDef members[] = {
    {"url", T_OBJECT, offsetof(struct py_connection, url), READONLY, NULL},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(struct py_connection, weak_references), READONLY, NULL},
    {NULL, 0, 0, 0, NULL}};

static PyType_Slot slots[] = {{Py_tp_doc, "A connection to a peer."},
                              {Py_tp_new, connection_new},
                              {Py_tp_dealloc, connection_dealloc},
                              {Py_tp_traverse, connection_traverse},
                              {Py_tp_clear, connection_clear},
                              {Py_tp_members, members},
                              {Py_tp_getset, getters},
                              {Py_tp_methods, connection_methods},
                              {0, NULL}};

PyType_Spec connection_spec = {"jpeer._native.Connection", sizeof(struct py_connection), 0,
                               Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC, slots};
