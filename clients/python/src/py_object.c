/* Handles of objects and arrays, values with a type, results of a batch. */
#include "py_native.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <structmember.h>

/* ---- Object ---- */

PyObject *object_create(PyTypeObject *type, struct py_connection *connection, struct jp_ref *ref,
                        PyObject *java_type)
{
  allocfunc allocate = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
  struct object *made = (struct object *)allocate(type, 0);
  if (made == NULL) {
    jp_ref_release(ref);
    return NULL;
  }
  made->connection = (struct py_connection *)Py_NewRef((PyObject *)connection);
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

/* The same Java object with another Python class. The class must be a class of Java objects. */
static PyObject *object_as(PyObject *self, PyObject *class)
{
  struct object *object = (struct object *)self;
  if (!PyType_Check(class) || !PyType_IsSubtype((PyTypeObject *)class, types.object))
    return PyErr_Format(PyExc_TypeError, "%R is no class of Java objects", class);
  if (object->connection == NULL)
    return PyErr_Format(PyExc_ConnectionError, "the connection is closed");
  return object_create((PyTypeObject *)class, object->connection, jp_ref_keep(object->ref),
                       object->java_type);
}

static PyMethodDef object_methods[] = {{"_as", object_as, METH_O, NULL}, {NULL, NULL, 0, NULL}};

static PyGetSetDef object_getters[] = {{"_number", object_number, NULL, NULL, NULL},
                                       {"_epoch", object_epoch, NULL, NULL, NULL},
                                       {NULL, NULL, NULL, NULL, NULL}};

static PyType_Slot object_slots[] = {{Py_tp_doc, "A handle of an object in the peer."},
                                     {Py_tp_new, object_new},
                                     {Py_tp_dealloc, object_dealloc},
                                     {Py_tp_members, object_members},
                                     {Py_tp_methods, object_methods},
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

static PyType_Slot typed_slots[] = {{Py_tp_doc, "A value with its Java type."},
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
    return PyErr_Format(PyExc_TypeError, "Forms needs at least one form");
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

static PyType_Slot forms_slots[] = {
    {Py_tp_doc, "The forms of a value, in the order in which they are tried."},
    {Py_tp_new, forms_new},
    {Py_tp_dealloc, forms_dealloc},
    {Py_tp_members, forms_members},
    {0, NULL}};

PyType_Spec forms_spec = {"jpeer._native.Forms", sizeof(struct forms), 0, Py_TPFLAGS_DEFAULT, forms_slots};

/* ---- Array: copies of the elements by the buffer protocol ---- */

/* The element types with their names in JVM descriptors and buffers. */
static const struct element_type {
  const char *descriptor; /* "[I" */
  const char *name;       /* "int[]" */
  const char *format;     /* of the struct module */
  size_t size;
} element_types[] = {{"[B", "byte[]", "b", 1},    {"[S", "short[]", "h", 2}, {"[I", "int[]", "i", 4},
                     {"[J", "long[]", "q", 8},    {"[F", "float[]", "f", 4}, {"[D", "double[]", "d", 8},
                     {"[Z", "boolean[]", "?", 1}, {"[C", "char[]", "H", 2}};

static const struct element_type *find_type(const char *name)
{
  for (size_t i = 0; i < sizeof element_types / sizeof element_types[0]; i++) {
    if (strcmp(name, element_types[i].descriptor) == 0 || strcmp(name, element_types[i].name) == 0)
      return &element_types[i];
  }
  return NULL;
}

enum {
  RANGE_SIZE = 64,
  PIECE_BYTES = 4 << 20, /* bytes of elements in one answer, at first */
  PIECE_LEAST = 64
};

/* Gets a field of the array, or a range of it. NULL: an exception. */
static struct jp_answer *get_member(struct object *array, const struct element_type *type, const char *member)
{
  enum { ELEMENTS_MAX = 1 << 30 };
  const struct jp_options options = {.size = sizeof options, .base64 = true, .array_value_max = ELEMENTS_MAX};
  struct jp_request request = {.operation = JP_GET,
                               .type = type->name,
                               .member = member,
                               .instance = jp_object(array->ref),
                               .options = &options};
  struct jp_answer *answer = request_call(array->connection, NULL, &request);
  if (answer == NULL && !PyErr_Occurred())
    PyErr_SetString(PyExc_BufferError, "the elements were not read");
  return answer;
}

/* -1: an exception. */
static Py_ssize_t read_length(struct object *array, const struct element_type *type)
{
  int64_t length = -1;
  struct jp_answer *answer = get_member(array, type, "length");
  if (answer != NULL && (!jp_answer_integer(answer, &length) || length < 0 || length > INT32_MAX)) {
    length = -1;
    PyErr_SetString(PyExc_BufferError, "the peer does not say how long the array is");
  }
  jp_answer_free(answer);
  return (Py_ssize_t)length;
}

/* Reads up to count elements from start; returns how many. *piece: the most elements that fit into an answer,
 * as far as the package knows. -1: an exception. */
static Py_ssize_t read_piece(struct object *array, const struct element_type *type, Py_ssize_t start,
                             Py_ssize_t count, Py_ssize_t *piece, char *into)
{
  for (;;) {
    char range[RANGE_SIZE];
    Py_ssize_t wanted = count < *piece ? count : *piece;
    snprintf(range, sizeof range, "[%zd:%zd]", start, start + wanted);
    struct jp_answer *answer = get_member(array, type, range);
    if (answer == NULL)
      return -1;
    size_t got = jp_answer_array(answer, type->name, into, (size_t)wanted);
    jp_answer_free(answer);
    if (got == (size_t)wanted)
      return wanted;
    if (got != SIZE_MAX || wanted <= PIECE_LEAST) {
      PyErr_Format(PyExc_BufferError, "%zd elements from %zd are too many for one answer of the peer", wanted,
                   start);
      return -1;
    }
    *piece = wanted / 2;
  }
}

/* A copy of elements, as a bytes, read in as many answers as necessary. stop -1: to the end. */
static PyObject *copy_elements(struct object *array, const struct element_type *type, Py_ssize_t start,
                               Py_ssize_t stop)
{
  if (stop < 0)
    stop = read_length(array, type);
  if (stop < 0)
    return NULL;
  Py_ssize_t size = (Py_ssize_t)type->size;
  PyObject *bytes = PyBytes_FromStringAndSize(NULL, (stop > start ? stop - start : 0) * size);
  char *into = bytes == NULL ? NULL : PyBytes_AsString(bytes);
  Py_ssize_t piece = PIECE_BYTES / size;
  while (into != NULL && start < stop) {
    Py_ssize_t got = read_piece(array, type, start, stop - start, &piece, into);
    if (got < 0) {
      Py_DECREF(bytes);
      return NULL;
    }
    start += got;
    into += got * size;
  }
  return bytes;
}

static const struct element_type *type_of(PyObject *self)
{
  const struct object *array = (const struct object *)self;
  const char *name = PyUnicode_AsUTF8AndSize(array->java_type, NULL);
  const struct element_type *type = name == NULL ? NULL : find_type(name);
  if (type == NULL && !PyErr_Occurred())
    PyErr_Format(PyExc_BufferError, "%U is no array of primitives", array->java_type);
  return type;
}

static PyObject *array_read(PyObject *self, PyObject *args)
{
  Py_ssize_t start;
  Py_ssize_t stop;
  if (!PyArg_ParseTuple(args, "nn:_read", &start, &stop))
    return NULL;
  const struct element_type *type = type_of(self);
  if (type == NULL)
    return NULL;
  PyObject *bytes = copy_elements((struct object *)self, type, start, stop);
  PyObject *view = bytes == NULL ? NULL : PyMemoryView_FromObject(bytes);
  Py_XDECREF(bytes);
  PyObject *cast = view == NULL ? NULL : PyObject_CallMethod(view, "cast", "s", type->format);
  Py_XDECREF(view);
  return cast;
}

/* The content of a view. */
struct copy {
  PyObject *bytes;
  Py_ssize_t count;
  Py_ssize_t stride;
};

/* Takes ownership of the bytes, even on failure. */
static struct copy *keep_copy(PyObject *bytes, const struct element_type *type)
{
  struct copy *copy = bytes == NULL ? NULL : PyMem_Malloc(sizeof *copy);
  if (copy == NULL) {
    Py_XDECREF(bytes);
    if (!PyErr_Occurred())
      PyErr_NoMemory();
    return NULL;
  }
  *copy = (struct copy){.bytes = bytes,
                        .count = PyBytes_Size(bytes) / (Py_ssize_t)type->size,
                        .stride = (Py_ssize_t)type->size};
  return copy;
}

static int array_get_buffer(PyObject *self, Py_buffer *view, int flags)
{
  view->obj = NULL;
  if ((flags & PyBUF_WRITABLE) != 0) {
    PyErr_SetString(PyExc_BufferError,
                    "the elements of a Java array are copied: they cannot be written in place");
    return -1;
  }
  const struct element_type *type = type_of(self);
  struct copy *copy =
      type == NULL ? NULL : keep_copy(copy_elements((struct object *)self, type, 0, -1), type);
  if (copy == NULL)
    return -1;
  *view = (Py_buffer){.buf = PyBytes_AsString(copy->bytes),
                      .obj = Py_NewRef(self),
                      .len = PyBytes_Size(copy->bytes),
                      .itemsize = copy->stride,
                      .readonly = 1,
                      .ndim = 1,
                      .format = (flags & PyBUF_FORMAT) != 0 ? (char *)type->format : NULL,
                      .shape = (flags & PyBUF_ND) == PyBUF_ND ? &copy->count : NULL,
                      .strides = (flags & PyBUF_STRIDES) == PyBUF_STRIDES ? &copy->stride : NULL,
                      .internal = copy};
  return 0;
}

static void array_release_buffer(PyObject *self, Py_buffer *view)
{
  (void)self;
  struct copy *copy = view->internal;
  if (copy == NULL)
    return;
  view->internal = NULL;
  Py_DECREF(copy->bytes);
  PyMem_Free(copy);
}

static PyMethodDef array_methods[] = {{"_read", array_read, METH_VARARGS, NULL}, {NULL, NULL, 0, NULL}};

static PyType_Slot array_slots[] = {{Py_tp_doc, "A Java array of primitives."},
                                    {Py_tp_methods, array_methods},
                                    {Py_bf_getbuffer, array_get_buffer},
                                    {Py_bf_releasebuffer, array_release_buffer},
                                    {0, NULL}};

PyType_Spec array_spec = {"jpeer._native.Array", sizeof(struct object), 0,
                          Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, array_slots};

/* ---- objects whose elements Python reads ---- */

static int buffered_get_buffer(PyObject *self, Py_buffer *view, int flags)
{
  view->obj = NULL;
  PyObject *elements = PyObject_CallMethod(self, "_elements", NULL);
  int done = elements == NULL ? -1 : PyObject_GetBuffer(elements, view, flags);
  Py_XDECREF(elements);
  return done;
}

static PyType_Slot buffered_slots[] = {
    {Py_tp_doc, "An object with the buffer protocol: what its method _elements gives has the elements."},
    {Py_bf_getbuffer, buffered_get_buffer},
    {0, NULL}};

PyType_Spec buffered_spec = {"jpeer._native.Buffered", sizeof(struct object), 0,
                             Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, buffered_slots};
