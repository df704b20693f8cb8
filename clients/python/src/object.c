/* Handles of objects, values with a type, results of a batch. */
#include "native.h"

#include <structmember.h>

/* ---- Object ---- */

PyObject *object_create(PyTypeObject *type, struct connection *connection, struct jp_ref *ref,
                        PyObject *java_type)
{
  allocfunc allocate = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
  struct object *made = (struct object *)allocate(type, 0);
  if (made == NULL) {
    jp_ref_release(ref);
    return NULL;
  }
  made->connection = (struct connection *)Py_NewRef((PyObject *)connection);
  made->ref = ref;
  made->java_type = Py_NewRef(java_type);
  return (PyObject *)made;
}

static PyObject *object_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
  (void)args, (void)keywords;
  return PyErr_Format(PyExc_TypeError, "%R is made by calling Java, not by Python", type);
}

static void object_dealloc(PyObject *self)
{
  struct object *object = (struct object *)self;
  PyTypeObject *type = Py_TYPE(self);
  if (object->weak_references != NULL)
    PyObject_ClearWeakRefs(self);
  jp_ref_release(object->ref);
  if (object->connection != NULL)
    object->connection->dropped++;
  Py_XDECREF((PyObject *)object->connection);
  Py_XDECREF(object->java_type);
  freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
  release(self);
  Py_DECREF(type);
}

static PyObject *object_number(PyObject *self, void *ignored)
{
  (void)ignored;
  return PyLong_FromUnsignedLong(jp_ref_number(((struct object *)self)->ref));
}

static PyObject *object_epoch(PyObject *self, void *ignored)
{
  (void)ignored;
  return PyLong_FromUnsignedLongLong(jp_ref_epoch(((struct object *)self)->ref));
}

static PyMemberDef object_members[] = {
    {"_connection", T_OBJECT_EX, offsetof(struct object, connection), READONLY, NULL},
    {"_java_type", T_OBJECT_EX, offsetof(struct object, java_type), READONLY, NULL},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(struct object, weak_references), READONLY, NULL},
    {NULL, 0, 0, 0, NULL}};

static PyGetSetDef object_getters[] = {{"_number", object_number, NULL, NULL, NULL},
                                       {"_epoch", object_epoch, NULL, NULL, NULL},
                                       {NULL, NULL, NULL, NULL, NULL}};

static PyType_Slot object_slots[] = {{Py_tp_doc, "A handle of an object in the peer."},
                                     {Py_tp_new, object_new},
                                     {Py_tp_dealloc, object_dealloc},
                                     {Py_tp_members, object_members},
                                     {Py_tp_getset, object_getters},
                                     {0, NULL}};

PyType_Spec object_spec = {"jpeer._native.Object", sizeof(struct object), 0,
                           Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, object_slots};

/* ---- Typed ---- */

static PyObject *typed_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
  static char *names[] = {"type", "value", NULL};
  PyObject *name;
  PyObject *value;
  if (!PyArg_ParseTupleAndKeywords(args, keywords, "UO:Typed", names, &name, &value))
    return NULL;
  allocfunc allocate = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
  struct typed *made = (struct typed *)allocate(type, 0);
  if (made == NULL)
    return NULL;
  made->type = Py_NewRef(name);
  made->value = Py_NewRef(value);
  return (PyObject *)made;
}

static void typed_dealloc(PyObject *self)
{
  struct typed *typed = (struct typed *)self;
  PyTypeObject *type = Py_TYPE(self);
  Py_XDECREF(typed->type);
  Py_XDECREF(typed->value);
  freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
  release(self);
  Py_DECREF(type);
}

static PyObject *typed_repr(PyObject *self)
{
  struct typed *typed = (struct typed *)self;
  return PyUnicode_FromFormat("Typed(%R, %R)", typed->type, typed->value);
}

static PyMemberDef typed_members[] = {{"type", T_OBJECT_EX, offsetof(struct typed, type), READONLY, NULL},
                                      {"value", T_OBJECT_EX, offsetof(struct typed, value), READONLY, NULL},
                                      {NULL, 0, 0, 0, NULL}};

static PyType_Slot typed_slots[] = {{Py_tp_doc, "A value with the Java type that it goes as."},
                                    {Py_tp_new, typed_new},
                                    {Py_tp_dealloc, typed_dealloc},
                                    {Py_tp_repr, typed_repr},
                                    {Py_tp_members, typed_members},
                                    {0, NULL}};

PyType_Spec typed_spec = {"jpeer._native.Typed", sizeof(struct typed), 0, Py_TPFLAGS_DEFAULT, typed_slots};

/* ---- Result ---- */

static PyObject *result_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
  static char *names[] = {"index", NULL};
  Py_ssize_t index;
  if (!PyArg_ParseTupleAndKeywords(args, keywords, "n:Result", names, &index))
    return NULL;
  allocfunc allocate = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
  struct result *made = (struct result *)allocate(type, 0);
  if (made != NULL)
    made->index = index;
  return (PyObject *)made;
}

static void plain_dealloc(PyObject *self)
{
  PyTypeObject *type = Py_TYPE(self);
  freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
  release(self);
  Py_DECREF(type);
}

static PyType_Slot result_slots[] = {{Py_tp_doc, "The result of an earlier step of a batch."},
                                     {Py_tp_new, result_new},
                                     {Py_tp_dealloc, plain_dealloc},
                                     {0, NULL}};

PyType_Spec result_spec = {"jpeer._native.Result", sizeof(struct result), 0, Py_TPFLAGS_DEFAULT,
                           result_slots};

/* ---- Forms ---- */

static PyObject *forms_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
  if (PyTuple_Size(args) == 0 || keywords != NULL)
    return PyErr_Format(PyExc_TypeError, "Forms takes one form or more");
  allocfunc allocate = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
  struct forms *made = (struct forms *)allocate(type, 0);
  if (made != NULL)
    made->forms = Py_NewRef(args);
  return (PyObject *)made;
}

static void forms_dealloc(PyObject *self)
{
  Py_XDECREF(((struct forms *)self)->forms);
  plain_dealloc(self);
}

static PyMemberDef forms_members[] = {{"forms", T_OBJECT_EX, offsetof(struct forms, forms), READONLY, NULL},
                                      {NULL, 0, 0, 0, NULL}};

static PyType_Slot forms_slots[] = {{Py_tp_doc, "What a value may go as, in the order in which it is tried."},
                                    {Py_tp_new, forms_new},
                                    {Py_tp_dealloc, forms_dealloc},
                                    {Py_tp_members, forms_members},
                                    {0, NULL}};

PyType_Spec forms_spec = {"jpeer._native.Forms", sizeof(struct forms), 0, Py_TPFLAGS_DEFAULT, forms_slots};
