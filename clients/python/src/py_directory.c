/* Directories of peers: which peers there are, and the wait for one. Without a connection to a peer. */
#include "directory/entries.h"
#include "py_native.h"

#include <limits.h>
#include <string.h>
#include <strings.h>
#include <time.h>

bool directory_read_settings(PyObject *settings, PyObject *texts, struct jp_directory_config *config)
{
  const struct {
    const char *name;
    const char **place;
  } members[] = {{"namespace", &config->name_space},
                 {"ca_file", &config->ca_file},
                 {"cert_file", &config->cert_file},
                 {"key_file", &config->key_file},
                 {"user_file", &config->user_file}};
  if (!PyDict_Check(settings)) {
    PyErr_Format(PyExc_TypeError, "the settings of a directory are a dict, not %R",
                 (PyObject *)Py_TYPE(settings));
    return false;
  }
  Py_ssize_t known = 0;
  for (size_t i = 0; i < sizeof members / sizeof members[0]; i++) {
    PyObject *value = PyDict_GetItemString(settings, members[i].name);
    known += value != NULL;
    *members[i].place = value == NULL ? NULL : config_keep_text(texts, value, members[i].name);
    if (PyErr_Occurred())
      return false;
  }
  if (known == PyDict_Size(settings))
    return true;
  PyErr_Format(PyExc_TypeError,
               "a directory has the settings namespace, ca_file, cert_file, key_file and user_file, not %R",
               settings);
  return false;
}

/* Keeps the texts of the settings in a list, which lives until the question is answered. NULL: an exception. */
static PyObject *keep_settings(PyObject *settings, struct jp_directory_config *config)
{
  PyObject *texts = PyList_New(0);
  if (texts != NULL && !directory_read_settings(settings, texts, config))
    Py_CLEAR(texts);
  return texts;
}

static PyObject *none_or_text(const char *text)
{
  if (text == NULL)
    Py_RETURN_NONE;
  return PyUnicode_FromString(text);
}

/* (uuid, name, json_rpc, zmq_rpc, zmq_curve, since_ms) */
static PyObject *make_peer(const struct jp_directory_peer *peer)
{
  return Py_BuildValue("(NNNNNL)", none_or_text(peer->uuid), none_or_text(peer->name),
                       none_or_text(peer->json_rpc), none_or_text(peer->zmq_rpc),
                       none_or_text(peer->zmq_curve), (long long)peer->since_ms);
}

static PyObject *make_list(const struct jp_directory_peers *peers)
{
  const size_t count = jp_directory_peers_count(peers);
  PyObject *list = PyList_New((Py_ssize_t)count);
  for (size_t i = 0; list != NULL && i < count; i++) {
    PyObject *peer = make_peer(jp_directory_peers_at(peers, i));
    if (peer == NULL || PyList_SetItem(list, (Py_ssize_t)i, peer) != 0)
      Py_CLEAR(list);
  }
  return list;
}

static PyObject *raise_lost(enum jp_client_status status, const struct jp_client_error *error)
{
  return PyErr_Occurred() ? NULL : raise_failure(NULL, status, NULL, error);
}

PyObject *directory_peers(PyObject *module, PyObject *args)
{
  (void)module;
  const char *endpoints;
  PyObject *settings;
  double timeout;
  struct jp_directory_config config = {.size = sizeof config};
  if (!PyArg_ParseTuple(args, "sOd:directory_peers", &endpoints, &settings, &timeout) ||
      !connection_read_seconds(timeout, &config.timeout_ms))
    return NULL;
  config.endpoints = endpoints;
  config.timeout_ms += config.timeout_ms == 0; /* 0 would be the default */
  PyObject *texts = keep_settings(settings, &config);
  if (texts == NULL)
    return NULL;
  struct jp_directory_peers *peers = NULL;
  PyObject *result = NULL;
  struct jp_client_error error;
  enum jp_client_status status;
  Py_BEGIN_ALLOW_THREADS;
  status = jp_directory_list(&config, &peers, &error);
  Py_END_ALLOW_THREADS;
  if (status == JP_CLIENT_OK)
    result = Py_BuildValue("(NN)", make_list(peers), none_or_text(jp_directory_peers_fault(peers)));
  else
    raise_lost(status, &error);
  jp_directory_peers_free(peers);
  Py_DECREF(texts);
  return result;
}

/* context: a function, whose exception ends the wait; NULL: none. */
static bool is_interrupted(void *context)
{
  PyObject *check = context;
  if (is_ending)
    return true;
  PyGILState_STATE state = PyGILState_Ensure();
  bool is_due = PyErr_CheckSignals() != 0; /* handlers run on the main thread alone */
  if (!is_due && check != NULL) {
    PyObject *checked = PyObject_CallObject(check, NULL);
    is_due = checked == NULL;
    Py_XDECREF(checked);
  }
  PyGILState_Release(state);
  return is_due;
}

static const struct jp_directory_peer *find_peer(const struct jp_directory_peers *peers, const char *wanted)
{
  for (size_t i = 0; i < jp_directory_peers_count(peers); i++) {
    const struct jp_directory_peer *peer = jp_directory_peers_at(peers, i);
    if (strcasecmp(peer->uuid, wanted) == 0 || (peer->name != NULL && strcmp(peer->name, wanted) == 0))
      return peer;
  }
  return NULL;
}

/* Milliseconds until then; JP_FOREVER if there is no deadline. */
static int time_until(const struct timespec *deadline)
{
  enum { MS_IN_S = 1000, NS_IN_MS = 1000000 };
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  const long long left =
      (long long)(deadline->tv_sec - now.tv_sec) * MS_IN_S + (deadline->tv_nsec - now.tv_nsec) / NS_IN_MS;
  return left < 0 ? 0 : left > INT_MAX ? INT_MAX : (int)left;
}

/* Without the GIL. Waits until the directory has the peer. */
static enum jp_client_status await_peer(const struct jp_directory_config *config, const char *wanted,
                                        int timeout_ms, struct jp_directory_peers **peers,
                                        struct jp_client_error *error)
{
  enum { MS_IN_S = 1000, NS_IN_MS = 1000000 };
  struct timespec deadline;
  clock_gettime(CLOCK_MONOTONIC, &deadline);
  deadline.tv_sec += timeout_ms / MS_IN_S;
  deadline.tv_nsec += (long)(timeout_ms % MS_IN_S) * NS_IN_MS;
  enum jp_client_status status;
  do {
    status = jp_directory_watch(config, timeout_ms == JP_FOREVER ? JP_FOREVER : time_until(&deadline), peers,
                                error);
  } while (status == JP_CLIENT_OK && find_peer(*peers, wanted) == NULL);
  return status;
}

PyObject *directory_await_peer(PyObject *module, PyObject *args)
{
  (void)module;
  const char *endpoints;
  const char *wanted;
  PyObject *settings;
  PyObject *timeout;
  PyObject *check = NULL;
  int timeout_ms = JP_FOREVER;
  if (!PyArg_ParseTuple(args, "sOsO|O:await_peer", &endpoints, &settings, &wanted, &timeout, &check))
    return NULL;
  struct jp_error why;
  if (directory_name_check(text_of(wanted), &why) != JP_OK)
    return PyErr_Format(PyExc_ValueError, "wait_for %s", why.text);
  double seconds = timeout == Py_None ? 0 : PyFloat_AsDouble(timeout);
  if (PyErr_Occurred() || (timeout != Py_None && !connection_read_seconds(seconds, &timeout_ms)))
    return NULL;
  struct jp_directory_config config = {.size = sizeof config,
                                       .endpoints = endpoints,
                                       .interrupted = is_interrupted,
                                       .interrupted_context = check};
  PyObject *texts = keep_settings(settings, &config);
  if (texts == NULL)
    return NULL;
  struct jp_directory_peers *peers = NULL;
  PyObject *result = NULL;
  struct jp_client_error error;
  enum jp_client_status status;
  Py_BEGIN_ALLOW_THREADS;
  status = await_peer(&config, wanted, timeout_ms, &peers, &error);
  Py_END_ALLOW_THREADS;
  if (status == JP_CLIENT_OK)
    result = make_peer(find_peer(peers, wanted));
  else if (status == JP_CLIENT_TIMEOUT)
    PyErr_Format(PyExc_TimeoutError, "no peer of the directory has the name or UUID %.300s in time", wanted);
  else
    raise_lost(status, &error);
  jp_directory_peers_free(peers);
  Py_DECREF(texts);
  return result;
}
