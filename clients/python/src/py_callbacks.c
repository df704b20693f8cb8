/* Python objects that Java calls. */
#include "py_native.h"

#include <stdlib.h>
#include <string.h>
#include <structmember.h>
#include <time.h>

/* ---- refs in answers ---- */

/*
 * Refs in answers to Java's calls. A Java thread reads its answer only when it is scheduled. If a release of
 * an object is sent over another link than the answer, the peer may release the object before the Java thread
 * has read the answer. For this reason the handle of an object that another link received is held for some
 * time.
 */

enum { HELD_SECONDS = 1 };

struct answered {
  struct jp_ref *ref;
  struct answered *next;
};

static void release_answered(struct answered **list)
{
  struct answered *each = *list;
  *list = NULL;
  while (each != NULL) {
    struct answered *next = each->next;
    jp_ref_release(each->ref);
    free(each);
    each = next;
  }
}

static time_t seconds_now(void)
{
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
  return now.tv_sec;
}

void answered_release_old(struct py_connection *connection)
{
  time_t now = seconds_now();
  if (now - connection->answered_since <= HELD_SECONDS)
    return;
  release_answered(&connection->answered_before);
  connection->answered_before = connection->answered;
  connection->answered = NULL;
  connection->answered_since = now;
}

void answered_release_all(struct py_connection *connection)
{
  release_answered(&connection->answered_before);
  release_answered(&connection->answered);
}

/* Holds a ref for some time. client: the client that has sent the answer. */
static void hold_ref(struct py_connection *connection, const struct jp_client *client,
                     const struct jp_ref *ref)
{
  struct answered *made = jp_ref_client(ref) == client ? NULL : malloc(sizeof *made);
  if (made == NULL)
    return;
  answered_release_old(connection);
  *made = (struct answered){jp_ref_keep((struct jp_ref *)ref), connection->answered};
  connection->answered = made;
}

static void hold_refs(struct py_connection *connection, const struct jp_client *client,
                      const struct jp_argument *value)
{
  switch (value->kind) {
  case JP_ARGUMENT_REF:
    hold_ref(connection, client, value->as.ref);
    break;
  case JP_ARGUMENT_LIST:
    for (size_t i = 0; i < value->as.list.count; i++)
      hold_refs(connection, client, &value->as.list.items[i]);
    break;
  case JP_ARGUMENT_MAP:
    for (size_t i = 0; i < value->as.map.count; i++)
      hold_refs(connection, client, &value->as.map.entries[i].value);
    break;
  default:
    break;
  }
}

/*
 * A Callback creates a jp_callback when it is first sent. As long as Java holds that jp_callback, the
 * Callback gives the same jp_callback, over any link, and Java gets the same object. The jp_callback holds
 * the Callback until `released` is called.
 */
struct callback {
  PyObject ob_base;
  struct py_connection *connection; /* strong */
  PyObject *target;   /* the Python object that Python gets if Java returns it; NULL: a Java object */
  PyObject *find;     /* the `find` of _native.pyi */
  PyObject *fault_of; /* the `throw` of _native.pyi */
  PyObject *interfaces;
  PyObject *overrides;
  int arity;
  struct given *current; /* the last jp_callback that was created; NULL: that jp_callback has ended */
  /* (interface, method, types of the parameters, the result of `find` for these) of the last call; NULL:
   * none. */
  PyObject *called_as;
  PyObject *weak_references;
};

/* A jp_callback and its Callback. The jp_callback may end after its successor was created. */
struct given {
  struct callback *callback; /* strong */
  struct jp_callback *handle;
  size_t senders; /* requests that hold the handle for the program */
};

/* ---- a call from Java ---- */

static bool is_text(PyObject *string, const char *text)
{
  const char *known = PyUnicode_AsUTF8AndSize(string, NULL);
  if (known == NULL)
    PyErr_Clear();
  return known != NULL && strcmp(known, text) == 0;
}

static const char *parameter_type(const struct jp_callback_call *call, size_t index)
{
  const char *type = jp_callback_parameter_type(call, index);
  return type == NULL ? "" : type;
}

static bool is_called_as(PyObject *names, const struct jp_callback_call *call, size_t count)
{
  PyObject *types = PyTuple_GetItem(names, 2);
  bool is_same = is_text(PyTuple_GetItem(names, 1), jp_callback_method(call)) &&
                 is_text(PyTuple_GetItem(names, 0), jp_callback_interface(call)) &&
                 PyTuple_Size(types) == (Py_ssize_t)count;
  for (size_t i = 0; is_same && i < count; i++)
    is_same = is_text(PyTuple_GetItem(types, (Py_ssize_t)i), parameter_type(call, i));
  return is_same;
}

static PyObject *find_called(struct callback *callback, const struct jp_callback_call *call, size_t count)
{
  PyObject *types = PyTuple_New((Py_ssize_t)count);
  for (size_t i = 0; types != NULL && i < count; i++) {
    PyObject *name = PyUnicode_FromString(parameter_type(call, i));
    if (name == NULL || PyTuple_SetItem(types, (Py_ssize_t)i, name) != 0)
      Py_CLEAR(types);
  }
  PyObject *names =
      types == NULL ? NULL
                    : Py_BuildValue("(ssO)", jp_callback_interface(call), jp_callback_method(call), types);
  PyObject *found = names == NULL ? NULL : PyObject_Call(callback->find, names, NULL);
  PyObject *called_as =
      found == NULL ? NULL
                    : PyTuple_Pack(4, PyTuple_GetItem(names, 0), PyTuple_GetItem(names, 1), types, found);
  Py_XDECREF(types);
  Py_XDECREF(names);
  Py_XDECREF(found);
  return called_as;
}

/* The function for the call. Most calls are of the same method as the last call. NULL: an exception. */
static PyObject *function_of_call(struct callback *callback, const struct jp_callback_call *call,
                                  size_t count)
{
  if (callback->called_as == NULL || !is_called_as(callback->called_as, call, count)) {
    PyObject *called_as = find_called(callback, call, count);
    if (called_as == NULL)
      return NULL;
    PyObject *before = callback->called_as;
    callback->called_as = called_as;
    Py_XDECREF(before);
  }
  return Py_NewRef(PyTuple_GetItem(callback->called_as, 3));
}

static PyObject *convert_arguments(struct py_connection *connection, const struct jp_callback_call *call,
                                   size_t count)
{
  PyObject *values = PyTuple_New((Py_ssize_t)count);
  for (size_t i = 0; values != NULL && i < count; i++) {
    PyObject *value = from_java(connection, jp_callback_argument_at(call, i));
    if (value == NULL || PyTuple_SetItem(values, (Py_ssize_t)i, value) != 0)
      Py_CLEAR(values);
  }
  return values;
}

static PyObject *call_function(struct callback *callback, const struct jp_callback_call *call)
{
  size_t count = jp_callback_argument_count(call);
  PyObject *function = function_of_call(callback, call, count);
  PyObject *args = function == NULL ? NULL : convert_arguments(callback->connection, call, count);
  PyObject *value = args == NULL ? NULL : PyObject_Call(function, args, NULL);
  Py_XDECREF(function);
  Py_XDECREF(args);
  return value;
}

/* False: the value could not be converted or sent; an exception is set. */
static bool return_value(const struct given *given, struct link *link, struct jp_callback_call *call,
                         PyObject *value)
{
  struct argument_builder builder;
  struct jp_argument argument;
  struct jp_client_error error;
  builder_init(&builder, given->callback->connection);
  builder.link = link_hold(link);
  enum jp_client_status status = JP_CLIENT_INVALID;
  bool good = to_java(&builder, value, &argument);
  if (good)
    status = jp_callback_return(call, &argument, &error);
  if (status == JP_CLIENT_OK)
    hold_refs(given->callback->connection, link->client, &argument);
  good = good && (status == JP_CLIENT_OK || status == JP_CLIENT_CLOSED);
  if (status == JP_CLIENT_STALE)
    raise_failure(given->callback->connection, status, NULL, &error);
  if (!good && !PyErr_Occurred())
    PyErr_Format(PyExc_ValueError, "%s", error.text);
  builder_fini(&builder);
  return good;
}

/* A str's UTF-8, valid as long as the str; NULL: None, or not encodable. No exception is set. */
static const char *text_or_null(PyObject *text)
{
  const char *utf8 = PyUnicode_Check(text) ? PyUnicode_AsUTF8AndSize(text, NULL) : NULL;
  PyErr_Clear();
  return utf8;
}

static const char *text_or_empty(PyObject *text)
{
  const char *utf8 = text_or_null(text);
  return utf8 == NULL ? "" : utf8;
}

/* Reads the hook's tuples (module, function, file or None, line); other tuples are skipped. */
static const struct jp_thrown_frame *read_frames(struct argument_builder *builder, PyObject *list,
                                                 size_t *count)
{
  Py_ssize_t length = PyList_Check(list) ? PyList_Size(list) : 0;
  length = length < JP_THROWN_FRAMES_MAX ? length : JP_THROWN_FRAMES_MAX;
  struct jp_thrown_frame *frames =
      length == 0 ? NULL : builder_alloc(builder, (size_t)length * sizeof *frames);
  for (Py_ssize_t i = 0; frames != NULL && i < length; i++) {
    PyObject *each = PyList_GetItem(list, i);
    if (!PyTuple_Check(each) || PyTuple_Size(each) != 4)
      continue;
    frames[(*count)++] = (struct jp_thrown_frame){.class_name = text_or_empty(PyTuple_GetItem(each, 0)),
                                                  .method = text_or_empty(PyTuple_GetItem(each, 1)),
                                                  .file = text_or_null(PyTuple_GetItem(each, 2)),
                                                  .line = (int)PyLong_AsLong(PyTuple_GetItem(each, 3))};
    PyErr_Clear(); /* not a line number */
  }
  return frames;
}

/* Reads the hook's result: (an Object, a class or None; a message or None; frames; the cause or None). NULL:
 * no memory, or another value. */
static struct jp_thrown *read_thrown(struct argument_builder *builder, PyObject *what, size_t depth)
{
  if (!PyTuple_Check(what) || PyTuple_Size(what) != 4)
    return NULL;
  struct jp_thrown *thrown = builder_alloc(builder, sizeof *thrown);
  if (thrown == NULL)
    return NULL;
  PyObject *head = PyTuple_GetItem(what, 0);
  PyObject *cause = PyTuple_GetItem(what, 3);
  thrown->size = sizeof *thrown;
  if (is_object(head))
    thrown->object = ((struct object *)head)->ref;
  else
    thrown->type = text_or_null(head);
  thrown->message = text_or_null(PyTuple_GetItem(what, 1));
  thrown->frames = read_frames(builder, PyTuple_GetItem(what, 2), &thrown->frame_count);
  if (cause != Py_None && depth < JP_THROWN_CAUSES_MAX)
    thrown->cause = read_thrown(builder, cause, depth + 1);
  return thrown;
}

/* Holds the refs that Java must find when it reads the answer. */
static void hold_thrown(struct py_connection *connection, const struct jp_client *client,
                        const struct jp_thrown *thrown)
{
  for (; thrown != NULL; thrown = thrown->cause) {
    if (thrown->object != NULL)
      hold_ref(connection, client, thrown->object);
  }
}

static bool throw_as(struct py_connection *connection, struct jp_callback_call *call, PyObject *what)
{
  struct argument_builder builder;
  struct jp_client_error error;
  builder_init(&builder, connection);
  const struct jp_thrown *thrown = read_thrown(&builder, what, 0);
  bool good = thrown != NULL && jp_callback_throw_as(call, thrown, &error) == JP_CLIENT_OK;
  if (good)
    hold_thrown(connection, jp_callback_client(call), thrown);
  builder_fini(&builder);
  PyErr_Clear();
  return good;
}

static void throw_exception(struct callback *callback, struct jp_callback_call *call)
{
  struct jp_client_error error;
  PyObject *raised = fetch_exception();
  PyObject *what = raised == NULL ? NULL : PyObject_CallFunctionObjArgs(callback->fault_of, raised, NULL);
  if (what == NULL || !throw_as(callback->connection, call, what)) {
    (void)!jp_callback_throw(call, NULL, "the Python function has failed", &error);
    if (raised != NULL && !PyErr_Occurred())
      PyErr_SetObject((PyObject *)Py_TYPE(raised), raised);
    PyErr_WriteUnraisable(callback->find);
  }
  Py_XDECREF(what);
  Py_XDECREF(raised);
}

static void run_on_link(const struct given *given, struct link *link, struct jp_callback_call *call)
{
  Py_INCREF((PyObject *)given->callback); /* Java may release it during the call */
  link_hold(link);
  listen_if_called(link); /* Java may call over the link again at a time when no thread waits */
  struct link_frame frame;
  link_push(&frame, link, call);
  listen_elsewhere();
  PyObject *value = call_function(given->callback, call);
  if (value == NULL || !return_value(given, link, call, value))
    throw_exception(given->callback, call);
  link_pop(&frame);
  Py_XDECREF(value);
  link_drop(link);
  Py_DECREF((PyObject *)given->callback);
}

/* If the connection has been closed, the call ends without an answer. */
static void run_call(void *context, struct jp_callback_call *call)
{
  const struct given given = *(const struct given *)context;
  if (is_ending)
    return;
  PyGILState_STATE state = PyGILState_Ensure();
  struct link *link = link_of_client(given.callback->connection, jp_callback_client(call));
  if (link != NULL)
    run_on_link(&given, link, call);
  PyGILState_Release(state);
}

static void forget_given(void *context)
{
  struct given *given = context;
  if (is_ending)
    return;
  PyGILState_STATE state = PyGILState_Ensure();
  if (given->callback->current == given)
    given->callback->current = NULL;
  Py_DECREF((PyObject *)given->callback);
  PyMem_Free(given);
  PyGILState_Release(state);
}

PyObject *connection_calling(PyObject *self, PyObject *ignored)
{
  (void)ignored;
  const struct link_frame *frame = link_frame((struct py_connection *)self);
  const char *id = frame == NULL ? NULL : jp_callback_id(frame->call);
  if (id == NULL)
    Py_RETURN_NONE;
  return Py_BuildValue("(sI)", id, frame->link->number);
}

PyObject *connection_can_ask(PyObject *self, PyObject *ignored)
{
  (void)ignored;
  return PyBool_FromLong(link_can_ask((struct py_connection *)self));
}

/* ---- giving callbacks ---- */

enum { INTERFACES_MAX = 15, OVERRIDES_MAX = 255 };

/* Reads names into an array with room for them, NULL-terminated. False: an exception. */
static bool read_names(struct argument_builder *builder, PyObject *tuple, const char **names)
{
  Py_ssize_t count = PyTuple_Size(tuple);
  for (Py_ssize_t i = 0; i < count; i++) {
    names[i] = builder_name(builder, PyTuple_GetItem(tuple, i));
    if (names[i] == NULL)
      return false;
  }
  names[count] = NULL;
  return true;
}

/* Creates a jp_callback, which holds the Callback until the jp_callback is released. */
static struct given *create_given(struct argument_builder *builder, struct callback *callback)
{
  const char *interfaces[INTERFACES_MAX + 1];
  const char *overrides[OVERRIDES_MAX + 1];
  if (!read_names(builder, callback->interfaces, interfaces) ||
      !read_names(builder, callback->overrides, overrides))
    return NULL;
  struct given *given = PyMem_Malloc(sizeof *given);
  if (given == NULL) {
    PyErr_NoMemory();
    return NULL;
  }
  const struct jp_callback_config config = {.size = sizeof config,
                                            .interfaces = interfaces[0] == NULL ? NULL : interfaces,
                                            .has_arity = callback->arity >= 0,
                                            .arity = callback->arity,
                                            .overrides = overrides[0] == NULL ? NULL : overrides,
                                            .by_origin = true,
                                            .function = run_call,
                                            .released = forget_given,
                                            .context = given};
  struct jp_callback *made = NULL;
  struct jp_client_error error;
  enum jp_client_status status = jp_callback_create(builder->link->client, &config, &made, &error);
  if (status != JP_CLIENT_OK) {
    PyMem_Free(given);
    raise_failure(callback->connection, status, NULL, &error);
    return NULL;
  }
  *given = (struct given){.callback = (struct callback *)Py_NewRef((PyObject *)callback), .handle = made};
  return given;
}

static bool can_be_given_again(const struct given *given)
{
  return given != NULL && (given->senders > 0 || jp_callback_keep(given->handle));
}

struct given *callback_acquire(struct argument_builder *builder, PyObject *object)
{
  struct callback *callback = (struct callback *)object;
  if (callback->connection != builder->connection) {
    PyErr_SetString(PyExc_ValueError, "a callback of another connection");
    return NULL;
  }
  struct link *wanted = builder->link;
  if (wanted == NULL && callback->connection->links != NULL)
    wanted = builder->for_callbacks != NULL ? builder->for_callbacks : link_of_thread(callback->connection);
  if (PyErr_Occurred() || connection_enter(callback->connection, wanted) == NULL)
    return NULL;
  if (builder->link == NULL)
    builder->link = link_hold(wanted);
  bool is_heard = listen_to(wanted);
  if (is_heard && !can_be_given_again(callback->current))
    callback->current = create_given(builder, callback);
  struct given *given = is_heard ? callback->current : NULL;
  if (given != NULL) {
    given->senders++;
    Py_INCREF(object);
  }
  connection_leave(callback->connection);
  return given;
}

PyObject *callback_target(const struct jp_callback *callback)
{
  const struct given *given = jp_callback_context(callback);
  return Py_XNewRef(given->callback->target);
}

struct jp_callback *callback_handle(const struct given *given)
{
  return given->handle;
}

void callback_release(struct given *given)
{
  PyObject *owner = (PyObject *)given->callback;
  if (--given->senders == 0)
    jp_callback_release(given->handle);
  Py_DECREF(owner);
}

/* ---- the type ---- */

static PyObject *check_names(PyObject *given, Py_ssize_t most, const char *what)
{
  PyObject *names = given == NULL ? PyTuple_New(0) : PySequence_Tuple(given);
  if (names != NULL && PyTuple_Size(names) > most) {
    PyErr_Format(PyExc_ValueError, "a callback with more than %zd %s", most, what);
    Py_CLEAR(names);
  }
  for (Py_ssize_t i = 0; names != NULL && i < PyTuple_Size(names); i++) {
    if (!PyUnicode_Check(PyTuple_GetItem(names, i))) {
      PyErr_Format(PyExc_TypeError, "the %s of a callback are names", what);
      Py_CLEAR(names);
    }
  }
  return names;
}

static PyObject *callback_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
  static char *names[] = {"connection", "find", "throw", "interfaces", "arity", "overrides", "target", NULL};
  PyObject *connection;
  PyObject *find;
  PyObject *fault_of;
  PyObject *interfaces = NULL;
  PyObject *overrides = NULL;
  PyObject *target = NULL;
  int arity = -1;
  if (!PyArg_ParseTupleAndKeywords(args, keywords, "O!OO|$OiOO:Callback", names, types.connection,
                                   &connection, &find, &fault_of, &interfaces, &arity, &overrides, &target))
    return NULL;
  interfaces = check_names(interfaces, INTERFACES_MAX, "interfaces");
  overrides = interfaces == NULL ? NULL : check_names(overrides, OVERRIDES_MAX, "overrides");
  allocfunc allocate = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
  struct callback *made = overrides == NULL ? NULL : (struct callback *)allocate(type, 0);
  if (made == NULL) {
    Py_XDECREF(interfaces);
    Py_XDECREF(overrides);
    return NULL;
  }
  made->connection = (struct py_connection *)Py_NewRef(connection);
  made->target = Py_XNewRef(target);
  made->find = Py_NewRef(find);
  made->fault_of = Py_NewRef(fault_of);
  made->interfaces = interfaces;
  made->overrides = overrides;
  made->arity = arity;
  return (PyObject *)made;
}

static int callback_traverse(PyObject *self, visitproc visit, void *arg)
{
  struct callback *callback = (struct callback *)self;
  Py_VISIT(Py_TYPE(self));
  Py_VISIT((PyObject *)callback->connection);
  Py_VISIT(callback->target);
  Py_VISIT(callback->find);
  Py_VISIT(callback->called_as);
  Py_VISIT(callback->fault_of);
  return 0;
}

/* Never called while Java holds the Callback, because its jp_callback counts as a reference. */
static int callback_clear(PyObject *self)
{
  struct callback *callback = (struct callback *)self;
  PyObject *connection = (PyObject *)callback->connection;
  callback->connection = NULL;
  Py_XDECREF(connection);
  Py_CLEAR(callback->target);
  Py_CLEAR(callback->find);
  Py_CLEAR(callback->called_as);
  Py_CLEAR(callback->fault_of);
  return 0;
}

static void callback_dealloc(PyObject *self)
{
  struct callback *callback = (struct callback *)self;
  PyTypeObject *type = Py_TYPE(self);
  PyObject_GC_UnTrack(self);
  if (callback->weak_references != NULL)
    PyObject_ClearWeakRefs(self);
  (void)callback_clear(self);
  Py_XDECREF(callback->interfaces);
  Py_XDECREF(callback->overrides);
  freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
  release(self);
  Py_DECREF(type);
}

static PyMemberDef callback_members[] = {
    {"__weaklistoffset__", T_PYSSIZET, offsetof(struct callback, weak_references), READONLY, NULL},
    {"interfaces", T_OBJECT, offsetof(struct callback, interfaces), READONLY, NULL},
    {NULL, 0, 0, 0, NULL}};

static PyType_Slot callback_slots[] = {{Py_tp_doc, "A Python object that Java can call."},
                                       {Py_tp_new, callback_new},
                                       {Py_tp_dealloc, callback_dealloc},
                                       {Py_tp_traverse, callback_traverse},
                                       {Py_tp_clear, callback_clear},
                                       {Py_tp_members, callback_members},
                                       {0, NULL}};

PyType_Spec callback_spec = {"jpeer._native.Callback", sizeof(struct callback), 0,
                             Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC, callback_slots};
