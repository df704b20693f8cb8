/* The module and its types. */
#include "py_native.h"

struct native_types types;
atomic_bool is_ending;

static PyObject *version(PyObject *module, PyObject *ignored)
{
  (void)module, (void)ignored;
  return PyUnicode_FromString(JPEER_VERSION);
}

static PyMethodDef functions[] = {
    {"version", version, METH_NOARGS, PyDoc_STR("The version of the package.")},
    {"_close_all", connection_close_all, METH_NOARGS,
     PyDoc_STR("Closes every connection; for the interpreter's end.")},
    {"directory_peers", directory_peers, METH_VARARGS,
     PyDoc_STR("The peers of a directory, and which entries cannot be read.")},
    {"await_peer", directory_await_peer, METH_VARARGS, PyDoc_STR("Waits until a directory has a peer.")},
    {"arrow_stream", arrow_stream, METH_VARARGS, NULL},
    {"arrow_open", arrow_open, METH_VARARGS, NULL},
    {"arrow_read", arrow_read, METH_VARARGS, NULL},
    {"check_offsets", arrow_check_offsets, METH_VARARGS, NULL},
    {"return_free_memory", arrow_return_free_memory, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL}};

static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, .m_name = "jpeer._native",
                                        .m_doc = "Connections and objects of libjpeer-client.", .m_size = -1,
                                        .m_methods = functions};

static bool add_type(PyObject *module, PyType_Spec *spec, PyTypeObject *base, PyTypeObject **type)
{
  PyObject *bases = base == NULL ? NULL : PyTuple_Pack(1, (PyObject *)base);
  if (base != NULL && bases == NULL)
    return false;
  *type = (PyTypeObject *)PyType_FromModuleAndSpec(module, spec, bases);
  Py_XDECREF(bases);
  return *type != NULL && PyModule_AddType(module, *type) == 0;
}

static bool add_not_sent(PyObject *module)
{
  types.not_sent = PyErr_NewExceptionWithDoc(
      "jpeer.NotSent",
      "The request was not sent, and has not run: there was no connection, or it ended before.",
      PyExc_ConnectionError, NULL);
  return types.not_sent != NULL && PyModule_AddObjectRef(module, "NotSent", types.not_sent) == 0;
}

static bool add_protocol_error(PyObject *module)
{
  types.protocol_error = PyErr_NewExceptionWithDoc(
      "jpeer.ProtocolError", "The peer has sent what no peer sends: it is another program, or a hostile one.",
      PyExc_ConnectionError, NULL);
  return types.protocol_error != NULL &&
         PyModule_AddObjectRef(module, "ProtocolError", types.protocol_error) == 0;
}

/* Hooks only need attributes. */
static bool add_hooks(PyObject *module)
{
  PyObject *python_types = PyImport_ImportModule("types");
  PyObject *namespace = python_types == NULL ? NULL : PyObject_GetAttrString(python_types, "SimpleNamespace");
  Py_XDECREF(python_types);
  int added = namespace == NULL ? -1 : PyModule_AddObjectRef(module, "Hooks", namespace);
  Py_XDECREF(namespace);
  return added == 0;
}

/* Closes open connections before the interpreter ends. */
static bool close_at_exit(PyObject *module)
{
  PyObject *function = PyObject_GetAttrString(module, "_close_all");
  PyObject *atexit = PyImport_ImportModule("atexit");
  PyObject *done = NULL;
  if (function != NULL && atexit != NULL)
    done = PyObject_CallMethod(atexit, "register", "O", function);
  Py_XDECREF(function);
  Py_XDECREF(atexit);
  Py_XDECREF(done);
  return done != NULL;
}

PyMODINIT_FUNC PyInit__native(void)
{
  PyObject *module = PyModule_Create(&definition);
  if (module == NULL)
    return NULL;
  bool good = add_type(module, &connection_spec, NULL, &types.connection) &&
              add_type(module, &object_spec, NULL, &types.object) &&
              add_type(module, &array_spec, types.object, &types.array) &&
              add_type(module, &buffered_spec, types.object, &types.buffered) &&
              add_type(module, &typed_spec, NULL, &types.typed) &&
              add_type(module, &result_spec, NULL, &types.result) &&
              add_type(module, &forms_spec, NULL, &types.forms) &&
              add_type(module, &method_spec, NULL, &types.method) &&
              add_type(module, &instance_method_spec, types.method, &types.instance_method) &&
              add_type(module, &bound_method_spec, NULL, &types.bound_method) &&
              add_type(module, &constructor_spec, NULL, &types.constructor) &&
              add_type(module, &field_spec, NULL, &types.field) &&
              add_type(module, &callback_spec, NULL, &types.callback) && add_protocol_error(module) &&
              add_not_sent(module) && add_hooks(module) && close_at_exit(module);
  if (good)
    return module;
  Py_DECREF(module);
  return NULL;
}
