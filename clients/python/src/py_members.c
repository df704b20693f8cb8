/* Members of Java classes: methods, constructors and fields, as descriptors of Python classes. */
#include "py_native.h"

#include <structmember.h>

struct member {
  PyObject ob_base;
  struct py_connection *connection;
  PyObject *type; /* str */
  PyObject *name; /* str; NULL: a constructor */
  const char *type_text;
  const char *name_text;
  PyObject *doc;
  PyObject *signature;
  bool is_static;
  bool has_instance;
};

/* ---- members ---- */

/* Takes ownership of the names of the class and the member; name NULL: a constructor. */
static struct member *create_member(PyTypeObject *type, PyObject *connection, PyObject *class_name,
                                    PyObject *name)
{
  const char *type_text = PyUnicode_AsUTF8AndSize(class_name, NULL);
  const char *name_text = type_text == NULL || name == NULL ? NULL : PyUnicode_AsUTF8AndSize(name, NULL);
  if (type_text == NULL || (name != NULL && name_text == NULL))
    return NULL;
  allocfunc allocate = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
  struct member *made = (struct member *)allocate(type, 0);
  if (made == NULL)
    return NULL;
  made->connection = (struct py_connection *)Py_NewRef(connection);
  made->type = Py_NewRef(class_name);
  made->name = Py_XNewRef(name);
  made->type_text = type_text;
  made->name_text = name_text;
  made->doc = Py_NewRef(Py_None);
  made->signature = Py_NewRef(Py_None);
  return made;
}

static int member_traverse(PyObject *self, visitproc visit, void *arg)
{
  struct member *member = (struct member *)self;
  Py_VISIT(Py_TYPE(self));
  Py_VISIT((PyObject *)member->connection);
  Py_VISIT(member->doc);
  Py_VISIT(member->signature);
  return 0;
}

static int member_clear(PyObject *self)
{
  struct member *member = (struct member *)self;
  PyObject *connection = (PyObject *)member->connection;
  member->connection = NULL;
  Py_XDECREF(connection);
  Py_CLEAR(member->doc);
  Py_CLEAR(member->signature);
  return 0;
}

static void member_dealloc(PyObject *self)
{
  struct member *member = (struct member *)self;
  PyTypeObject *type = Py_TYPE(self);
  PyObject_GC_UnTrack(self);
  (void)member_clear(self);
  Py_XDECREF(member->type);
  Py_XDECREF(member->name);
  freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
  release(self);
  Py_DECREF(type);
}

static PyMemberDef method_members[] = {
    {"__name__", T_OBJECT, offsetof(struct member, name), READONLY, NULL},
    {"__doc__", T_OBJECT, offsetof(struct member, doc), 0, NULL},
    {"__text_signature__", T_OBJECT, offsetof(struct member, signature), 0, NULL},
    {"_type", T_OBJECT, offsetof(struct member, type), READONLY, NULL},
    {"_is_static", T_BOOL, offsetof(struct member, is_static), READONLY, NULL},
    {"_has_instance", T_BOOL, offsetof(struct member, has_instance), READONLY, NULL},
    {NULL, 0, 0, 0, NULL}};

/* ---- a call ---- */

/* The parts of a call. receiver NULL: none; the arguments begin at index `from` of the tuple. */
struct member_call {
  const struct member *member;
  enum jp_operation operation;
  PyObject *receiver;
  PyObject *args;
  Py_ssize_t from;
};

static PyObject *try_call(struct attempt *attempt, void *context)
{
  const struct member_call *call = context;
  struct argument_builder builder;
  struct jp_request request = {
      .operation = call->operation, .type = call->member->type_text, .member = call->member->name_text};
  attempt_begin(attempt, &builder, call->member->connection);
  PyObject *value = NULL;
  if (call->receiver == NULL || to_java_receiver(&builder, call->receiver, request.type, &request.instance)) {
    builder.is_call = true;
    request.args = to_java_all(&builder, call->args, call->from, &request.arg_count);
    if (request.args != NULL)
      value = request_value(call->member->connection, &builder, &request);
  }
  attempt_end(attempt, &builder);
  return value;
}

static PyObject *run_call(struct member_call *call, PyObject *keywords)
{
  if (call->member->connection == NULL)
    return PyErr_Format(PyExc_ConnectionError, "the connection is closed");
  if (keywords != NULL && PyDict_Size(keywords) > 0) {
    PyObject *names = PyDict_Keys(keywords);
    PyErr_Format(PyExc_TypeError, "Java has no keyword arguments: %R", names);
    Py_XDECREF(names);
    return NULL;
  }
  return request_retry(try_call, call);
}

/* ---- methods ---- */

static PyObject *method_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
  static char *names[] = {"connection", "type", "name", "is_static", "has_instance", NULL};
  PyObject *connection;
  PyObject *class_name;
  PyObject *name;
  int is_static;
  int has_instance;
  if (!PyArg_ParseTupleAndKeywords(args, keywords, "O!UUpp:Method", names, types.connection, &connection,
                                   &class_name, &name, &is_static, &has_instance))
    return NULL;
  bool is_instance = has_instance && !is_static;
  struct member *made =
      create_member(is_instance ? types.instance_method : type, connection, class_name, name);
  if (made != NULL) {
    made->is_static = is_static != 0;
    made->has_instance = has_instance != 0;
  }
  return (PyObject *)made;
}

/* If a name has static and instance overloads, a first argument that is an instance of the class is the
 * receiver. -1: an exception. */
static int first_is_receiver(const struct member *member, PyObject *args)
{
  if (PyTuple_Size(args) == 0 || !is_object(PyTuple_GetItem(args, 0)))
    return 0;
  PyObject *class = PyDict_GetItemWithError(member->connection->classes, member->type);
  if (class == NULL)
    return PyErr_Occurred() ? -1 : 0;
  return PyObject_IsInstance(PyTuple_GetItem(args, 0), class);
}

static PyObject *method_call(PyObject *self, PyObject *args, PyObject *keywords)
{
  const struct member *member = (const struct member *)self;
  struct member_call call = {.member = member, .operation = JP_CALL, .args = args};
  int has_receiver = 0;
  if (member->connection == NULL)
    return PyErr_Format(PyExc_ConnectionError, "the connection is closed");
  if (member->has_instance && !member->is_static) {
    if (PyTuple_Size(args) == 0)
      return PyErr_Format(PyExc_TypeError, "%U.%U needs an object", member->type, member->name);
    has_receiver = 1;
  } else if (member->has_instance) {
    has_receiver = first_is_receiver(member, args);
  }
  if (has_receiver < 0)
    return NULL;
  call.receiver = has_receiver ? PyTuple_GetItem(args, 0) : NULL;
  call.from = has_receiver;
  return run_call(&call, keywords);
}

static PyObject *method_repr(PyObject *self)
{
  const struct member *member = (const struct member *)self;
  return PyUnicode_FromFormat("<Java method %U.%U>", member->type, member->name);
}

/* ---- bound methods ---- */

struct bound_method {
  PyObject ob_base;
  PyObject *method;
  PyObject *receiver;
};

static PyObject *method_get(PyObject *self, PyObject *object, PyObject *owner)
{
  (void)owner;
  const struct member *member = (const struct member *)self;
  if (object == NULL || object == Py_None || !member->has_instance)
    return Py_NewRef(self);
  allocfunc allocate = (allocfunc)PyType_GetSlot(types.bound_method, Py_tp_alloc);
  struct bound_method *made = (struct bound_method *)allocate(types.bound_method, 0);
  if (made == NULL)
    return NULL;
  made->method = Py_NewRef(self);
  made->receiver = Py_NewRef(object);
  return (PyObject *)made;
}

static PyObject *bound_call(PyObject *self, PyObject *args, PyObject *keywords)
{
  const struct bound_method *bound = (const struct bound_method *)self;
  struct member_call call = {.member = (const struct member *)bound->method,
                             .operation = JP_CALL,
                             .receiver = bound->receiver,
                             .args = args};
  return run_call(&call, keywords);
}

static int bound_traverse(PyObject *self, visitproc visit, void *arg)
{
  struct bound_method *bound = (struct bound_method *)self;
  Py_VISIT(Py_TYPE(self));
  Py_VISIT(bound->method);
  Py_VISIT(bound->receiver);
  return 0;
}

static int bound_clear(PyObject *self)
{
  struct bound_method *bound = (struct bound_method *)self;
  Py_CLEAR(bound->method);
  Py_CLEAR(bound->receiver);
  return 0;
}

static void bound_dealloc(PyObject *self)
{
  PyTypeObject *type = Py_TYPE(self);
  PyObject_GC_UnTrack(self);
  (void)bound_clear(self);
  freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
  release(self);
  Py_DECREF(type);
}

static PyObject *bound_getattr(PyObject *self, PyObject *name)
{
  PyObject *own = PyObject_GenericGetAttr(self, name);
  if (own != NULL || !PyErr_ExceptionMatches(PyExc_AttributeError))
    return own;
  PyErr_Clear();
  return PyObject_GetAttr(((struct bound_method *)self)->method, name);
}

static PyObject *bound_doc(PyObject *self, void *ignored)
{
  (void)ignored;
  return PyObject_GetAttrString(((struct bound_method *)self)->method, "__doc__");
}

/* The signature of the method without its receiver, for inspect; AttributeError if the method has no
 * signature. */
static PyObject *bound_signature(PyObject *self, void *ignored)
{
  (void)ignored;
  PyObject *inspect = PyImport_ImportModule("inspect");
  PyObject *whole =
      inspect == NULL ? NULL
                      : PyObject_CallMethod(inspect, "signature", "O", ((struct bound_method *)self)->method);
  Py_XDECREF(inspect);
  PyObject *by_name = whole == NULL ? NULL : PyObject_GetAttrString(whole, "parameters");
  PyObject *parameters = by_name == NULL ? NULL : PyMapping_Values(by_name);
  PyObject *rest = parameters == NULL ? NULL : PySequence_GetSlice(parameters, 1, PY_SSIZE_T_MAX);
  PyObject *type = rest == NULL ? NULL : (PyObject *)Py_TYPE(whole);
  PyObject *signature = type == NULL ? NULL : PyObject_CallFunctionObjArgs(type, rest, NULL);
  Py_XDECREF(whole);
  Py_XDECREF(by_name);
  Py_XDECREF(parameters);
  Py_XDECREF(rest);
  if (signature == NULL && PyErr_ExceptionMatches(PyExc_ValueError))
    PyErr_SetString(PyExc_AttributeError, "__signature__");
  return signature;
}

static PyObject *bound_repr(PyObject *self)
{
  const struct bound_method *bound = (const struct bound_method *)self;
  const struct member *member = (const struct member *)bound->method;
  return PyUnicode_FromFormat("<bound Java method %U.%U>", member->type, member->name);
}

static PyObject *bound_compare(PyObject *self, PyObject *other, int comparison)
{
  if (Py_TYPE(other) != types.bound_method || (comparison != Py_EQ && comparison != Py_NE))
    Py_RETURN_NOTIMPLEMENTED;
  const struct bound_method *a = (const struct bound_method *)self;
  const struct bound_method *b = (const struct bound_method *)other;
  bool same = a->method == b->method && a->receiver == b->receiver;
  return PyBool_FromLong(same == (comparison == Py_EQ));
}

static Py_hash_t bound_hash(PyObject *self)
{
  const struct bound_method *bound = (const struct bound_method *)self;
  Py_hash_t hash = (Py_hash_t)((size_t)bound->method >> 4 ^ (size_t)bound->receiver >> 3);
  return hash == -1 ? -2 : hash;
}

static PyMemberDef bound_members[] = {
    {"__self__", T_OBJECT, offsetof(struct bound_method, receiver), READONLY, NULL},
    {"__func__", T_OBJECT, offsetof(struct bound_method, method), READONLY, NULL},
    {NULL, 0, 0, 0, NULL}};

static PyGetSetDef bound_getters[] = {{"__doc__", bound_doc, NULL, NULL, NULL},
                                      {"__signature__", bound_signature, NULL, NULL, NULL},
                                      {NULL, NULL, NULL, NULL, NULL}};

/* ---- constructors ---- */

static PyObject *constructor_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
  static char *names[] = {"connection", "type", NULL};
  PyObject *connection;
  PyObject *class_name;
  if (!PyArg_ParseTupleAndKeywords(args, keywords, "O!U:Constructor", names, types.connection, &connection,
                                   &class_name))
    return NULL;
  return (PyObject *)create_member(type, connection, class_name, NULL);
}

static PyObject *constructor_call(PyObject *self, PyObject *args, PyObject *keywords)
{
  struct member_call call = {.member = (const struct member *)self, .operation = JP_NEW, .args = args};
  return run_call(&call, keywords);
}

/* ---- fields ---- */

static PyObject *field_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
  static char *names[] = {"connection", "type", "name", "is_static", NULL};
  PyObject *connection;
  PyObject *class_name;
  PyObject *name;
  int is_static;
  if (!PyArg_ParseTupleAndKeywords(args, keywords, "O!UUp:Field", names, types.connection, &connection,
                                   &class_name, &name, &is_static))
    return NULL;
  struct member *made = create_member(type, connection, class_name, name);
  if (made != NULL)
    made->is_static = is_static != 0;
  return (PyObject *)made;
}

/* The access to a field. object NULL: the field is static. value NULL: the field is read. */
struct access {
  const struct member *member;
  PyObject *object;
  PyObject *value;
};

static PyObject *try_access(struct attempt *attempt, void *context)
{
  const struct access *access = context;
  const struct member *member = access->member;
  struct argument_builder builder;
  struct jp_argument argument;
  struct jp_request request = {.operation = access->value == NULL ? JP_GET : JP_PUT,
                               .type = member->type_text,
                               .member = member->name_text,
                               .args = &argument,
                               .arg_count = access->value == NULL ? 0 : 1};
  attempt_begin(attempt, &builder, member->connection);
  bool good =
      access->object == NULL || to_java_receiver(&builder, access->object, request.type, &request.instance);
  if (good && access->value != NULL)
    good = to_java_field(&builder, access->value, &argument);
  PyObject *result = good ? request_value(member->connection, &builder, &request) : NULL;
  attempt_end(attempt, &builder);
  return result;
}

static PyObject *access_field(const struct member *member, PyObject *object, PyObject *value)
{
  struct access access = {member, object, value};
  if (member->connection == NULL)
    return PyErr_Format(PyExc_ConnectionError, "the connection is closed");
  return request_retry(try_access, &access);
}

static PyObject *field_get(PyObject *self, PyObject *object, PyObject *owner)
{
  (void)owner;
  const struct member *member = (const struct member *)self;
  bool has_object = object != NULL && object != Py_None;
  if (!has_object && !member->is_static)
    return Py_NewRef(self);
  return access_field(member, member->is_static ? NULL : object, NULL);
}

static int field_set(PyObject *self, PyObject *object, PyObject *value)
{
  const struct member *member = (const struct member *)self;
  if (value == NULL) {
    PyErr_Format(PyExc_AttributeError, "the field %U.%U cannot be deleted", member->type, member->name);
    return -1;
  }
  PyObject *done = access_field(member, member->is_static ? NULL : object, value);
  Py_XDECREF(done);
  return done == NULL ? -1 : 0;
}

static PyObject *field_put_static(PyObject *self, PyObject *value)
{
  PyObject *done = access_field((const struct member *)self, NULL, value);
  if (done == NULL)
    return NULL;
  Py_DECREF(done);
  Py_RETURN_NONE;
}

static PyMethodDef field_methods[] = {{"put_static", field_put_static, METH_O, NULL}, {NULL, NULL, 0, NULL}};

/* ---- the types ---- */

#define GC_FLAGS (Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC)
#define MEMBER_SLOTS                                                                                         \
  {Py_tp_dealloc, member_dealloc}, {Py_tp_traverse, member_traverse}, {Py_tp_clear, member_clear},           \
  {                                                                                                          \
    Py_tp_members, method_members                                                                            \
  }

static PyType_Slot method_slots[] = {MEMBER_SLOTS,
                                     {Py_tp_new, method_new},
                                     {Py_tp_call, method_call},
                                     {Py_tp_descr_get, method_get},
                                     {Py_tp_repr, method_repr},
                                     {0, NULL}};
PyType_Spec method_spec = {"jpeer._native.Method", sizeof(struct member), 0, GC_FLAGS | Py_TPFLAGS_BASETYPE,
                           method_slots};

/* The first argument of an instance method is always the receiver, so the interpreter can call it without
 * creating a bound method. */
static PyType_Slot instance_method_slots[] = {MEMBER_SLOTS, {0, NULL}};
PyType_Spec instance_method_spec = {"jpeer._native.InstanceMethod", sizeof(struct member), 0,
                                    GC_FLAGS | Py_TPFLAGS_METHOD_DESCRIPTOR, instance_method_slots};

static PyType_Slot bound_slots[] = {{Py_tp_dealloc, bound_dealloc},
                                    {Py_tp_traverse, bound_traverse},
                                    {Py_tp_clear, bound_clear},
                                    {Py_tp_call, bound_call},
                                    {Py_tp_getattro, bound_getattr},
                                    {Py_tp_members, bound_members},
                                    {Py_tp_getset, bound_getters},
                                    {Py_tp_repr, bound_repr},
                                    {Py_tp_richcompare, bound_compare},
                                    {Py_tp_hash, bound_hash},
                                    {0, NULL}};
PyType_Spec bound_method_spec = {"jpeer._native.BoundMethod", sizeof(struct bound_method), 0,
                                 GC_FLAGS | Py_TPFLAGS_DISALLOW_INSTANTIATION, bound_slots};

static PyType_Slot constructor_slots[] = {
    MEMBER_SLOTS, {Py_tp_new, constructor_new}, {Py_tp_call, constructor_call}, {0, NULL}};
PyType_Spec constructor_spec = {"jpeer._native.Constructor", sizeof(struct member), 0, GC_FLAGS,
                                constructor_slots};

static PyType_Slot field_slots[] = {MEMBER_SLOTS,
                                    {Py_tp_new, field_new},
                                    {Py_tp_descr_get, field_get},
                                    {Py_tp_descr_set, field_set},
                                    {Py_tp_methods, field_methods},
                                    {0, NULL}};
PyType_Spec field_spec = {"jpeer._native.Field", sizeof(struct member), 0, GC_FLAGS, field_slots};
