/*
 * Requests: sent and waited for without the GIL; steps and batches; repeated attempts after a refusal; and
 * the methods of Connection.
 */
#include "py_native.h"

#include <stdio.h>
#include <string.h>

/* ---- attempts ---- */

/* Requests that are built and sent again, because the peer refused their arguments. */

void attempt_begin(const struct attempt *attempt, struct argument_builder *builder,
                   struct py_connection *connection)
{
  builder_init(builder, connection);
  builder->choice = attempt->choice;
  builder->in_pieces = attempt->in_pieces;
}

void attempt_end(struct attempt *attempt, struct argument_builder *builder)
{
  attempt->choice = builder->choice;
  attempt->fate = builder->fate;
  builder_fini(builder);
}

bool attempt_next(struct attempt *attempt)
{
  enum { ATTEMPTS_MAX = 64 };
  struct form_choice *choice = &attempt->choice;
  if (attempt->fate == BUILDER_SENT || ++attempt->count >= ATTEMPTS_MAX)
    return false;
  for (size_t i = 0; i < FORM_PLACES; i++) {
    if (choice->form[i] < choice->last[i]) {
      choice->form[i]++;
      return true;
    }
    choice->form[i] = 0;
  }
  return false;
}

PyObject *request_fail_twice(void)
{
  PyErr_SetString(PyExc_RuntimeError, "make_error gave NotImplemented twice");
  return NULL;
}

static PyObject *try_twice(PyObject *(*attempt)(struct attempt *attempt, void *context),
                           struct attempt *state, void *context)
{
  PyObject *value = attempt(state, context);
  if (value == NULL && !PyErr_Occurred())
    value = attempt(state, context);
  return value == NULL && !PyErr_Occurred() ? request_fail_twice() : value;
}

PyObject *request_retry(PyObject *(*attempt)(struct attempt *attempt, void *context), void *context)
{
  struct attempt state = {.count = 0};
  PyObject *value = try_twice(attempt, &state, context);
  if (value == NULL && state.fate == BUILDER_TOO_LONG) {
    PyErr_Clear();
    state.in_pieces = true;
    value = try_twice(attempt, &state, context);
  }
  if (value != NULL || state.fate != BUILDER_REFUSED || !attempt_next(&state))
    return value;
  PyObject *first = fetch_exception();
  do {
    PyErr_Clear();
    value = try_twice(attempt, &state, context);
    if (value == NULL && state.fate == BUILDER_TOO_LONG && !state.in_pieces) {
      PyErr_Clear();
      state.in_pieces = true;
      value = try_twice(attempt, &state, context);
    }
  } while (value == NULL && attempt_next(&state));
  if (value == NULL && first != NULL && state.fate != BUILDER_SENT && PyErr_ExceptionMatches(PyExc_Exception))
    PyErr_SetObject((PyObject *)Py_TYPE(first), first);
  Py_XDECREF(first);
  return value;
}

enum { FETCHED = 1000 };

/* These options request the throwable of an error, and the types of elements. */
static const struct jp_options default_options = {.size = sizeof default_options, .throwables = true};
static const struct jp_options fetch_options = {
    .size = sizeof fetch_options, .types = true, .throwables = true, .array_value_max = 1};
/* Elements that are arrays of primitives are received as their bytes. */
static const struct jp_options row_options = {.size = sizeof row_options, .base64 = true, .throwables = true};

/* ---- one request ---- */

void request_note_fate(struct argument_builder *builder, const struct jp_answer *answer)
{
  enum { NOT_FOUND = -32601, INVALID_PARAMS = -32602 };
  int code = answer == NULL || jp_answer_kind(answer) != JP_ANSWER_ERROR ? 0 : jp_answer_error_code(answer);
  builder->fate = code == NOT_FOUND || code == INVALID_PARAMS ? BUILDER_REFUSED : BUILDER_SENT;
  /* If only a number is out of range, the other arguments fit the member. Other forms would not help, because
   * each form of a number has the same value. */
  const char *message = code == INVALID_PARAMS ? jp_answer_throwable(answer)->message : NULL;
  if (message != NULL && strstr(message, ": out of range for ") != NULL)
    builder->fate = BUILDER_SENT;
}

void request_mark(const struct py_connection *connection, struct jp_request *request,
                  struct jp_options *options)
{
  if (!connection->is_idempotent || request->operation == JP_CONTROL)
    return;
  *options = *request->options;
  options->idempotent = true;
  request->options = options;
}

struct jp_answer *request_call(struct py_connection *connection, struct argument_builder *builder,
                               const struct jp_request *request)
{
  struct jp_client_error error;
  struct jp_answer *answer = NULL;
  if (builder != NULL && connection->limits.values_max > 0 &&
      builder->values > connection->limits.values_max) {
    builder->fate = BUILDER_TOO_LONG;
    PyErr_Format(PyExc_OverflowError,
                 "the request has %zu values, and the peer accepts at most %zu (values-max)", builder->values,
                 connection->limits.values_max);
    return NULL;
  }
  struct link *link = connection_enter(connection, builder == NULL ? NULL : builder->link);
  if (link == NULL)
    return NULL;
  enum jp_client_status status;
  int timeout_ms = connection->timeout_ms;
  struct jp_request sent = *request;
  struct jp_options options;
  if (sent.options == NULL)
    sent.options = &default_options;
  request_mark(connection, &sent, &options);
  Py_BEGIN_ALLOW_THREADS;
  status = jp_client_call(link->client, &sent, timeout_ms, &answer, &error);
  if (status == JP_CLIENT_STALE && answer == NULL && link_learn_epoch(link, timeout_ms))
    status = jp_client_call(link->client, &sent, timeout_ms, &answer, &error);
  if (connection->peer != NULL)
    jp_peer_await_output(connection->peer);
  Py_END_ALLOW_THREADS;
  connection_end_wait(connection, status);
  bool good = status == JP_CLIENT_OK && !PyErr_Occurred();
  if (builder != NULL)
    request_note_fate(builder, answer);
  if (builder != NULL && status == JP_CLIENT_TOO_LONG)
    builder->fate = BUILDER_TOO_LONG;
  if (!good) {
    link_note_status(link, status);
    raise_failure(connection, status, answer, &error);
    jp_answer_free(answer);
    answer = NULL;
  }
  connection_leave(connection);
  return answer;
}

PyObject *request_value(struct py_connection *connection, struct argument_builder *builder,
                        const struct jp_request *request)
{
  struct jp_answer *answer = request_call(connection, builder, request);
  if (answer == NULL)
    return NULL;
  PyObject *value = NULL;
  if (builder == NULL || outs_write(builder->outs, 0, answer))
    value = from_java_result(connection, request->operation, answer);
  jp_answer_free(answer);
  return value;
}

/* ---- steps ---- */

/* The item of the step at the index, or None. Borrowed. */
static PyObject *part_of_step(PyObject *step, Py_ssize_t index)
{
  return index < PyTuple_Size(step) ? PyTuple_GetItem(step, index) : Py_None;
}

static bool read_instance(struct argument_builder *builder, PyObject *instance, struct jp_request *request)
{
  return instance == Py_None || to_java_receiver(builder, instance, request->type, &request->instance);
}

/* The class loader that resolves the names of the request, or None. */
static bool read_loader(struct argument_builder *builder, PyObject *loader, struct jp_request *request)
{
  if (loader == Py_None)
    return true;
  struct jp_options *options = builder_alloc(builder, sizeof *options);
  if (options == NULL)
    return false;
  *options = *request->options;
  request->options = options;
  return to_java_receiver(builder, loader, "java.lang.ClassLoader", &options->loader);
}

static bool read_args(struct argument_builder *builder, PyObject *args, struct jp_request *request)
{
  PyObject *tuple = args == Py_None ? PyTuple_New(0) : PySequence_Tuple(args);
  if (tuple == NULL)
    return false;
  /* The items must live as long as the builder. Converting them to a list makes the builder keep them. */
  struct jp_argument list;
  builder->is_call = true;
  bool good = to_java(builder, tuple, &list);
  builder->is_call = false;
  Py_DECREF(tuple);
  request->args = good ? list.as.list.items : NULL;
  request->arg_count = good ? list.as.list.count : 0;
  return good;
}

static bool read_value(struct argument_builder *builder, PyObject *value, struct jp_request *request)
{
  struct jp_argument *argument = builder_alloc(builder, sizeof *argument);
  request->args = argument;
  request->arg_count = 1;
  return argument != NULL && to_java_field(builder, value, argument);
}

static bool read_type(struct argument_builder *builder, PyObject *step, struct jp_request *request)
{
  request->type = builder_name(builder, part_of_step(step, 1));
  return request->type != NULL;
}

static bool read_member(struct argument_builder *builder, PyObject *step, struct jp_request *request)
{
  request->member = builder_name(builder, part_of_step(step, 2));
  return request->member != NULL;
}

static bool read_fetch(struct argument_builder *builder, PyObject *step, struct jp_request *request)
{
  request->options = &fetch_options;
  request->max = part_of_step(step, 2) == Py_None ? FETCHED : PyLong_AsLongLong(part_of_step(step, 2));
  request->from = part_of_step(step, 3) == Py_None ? 0 : PyLong_AsLongLong(part_of_step(step, 3));
  return !PyErr_Occurred() &&
         to_java_receiver(builder, part_of_step(step, 1), "java.lang.Object", &request->instance);
}

static bool read_describe(struct argument_builder *builder, PyObject *step, struct jp_request *request)
{
  request->members_only = PyTuple_Size(step) > 3 && part_of_step(step, 3) == Py_True;
  if (part_of_step(step, 1) != Py_None)
    return to_java_receiver(builder, part_of_step(step, 1), "java.lang.Object", &request->instance);
  request->type = builder_name(builder, part_of_step(step, 2));
  return request->type != NULL && read_loader(builder, part_of_step(step, 4), request);
}

enum jp_operation request_step_kind(PyObject *step)
{
  static const struct {
    const char *name;
    enum jp_operation operation;
  } names[] = {{"new", JP_NEW},     {"call", JP_CALL},         {"get", JP_GET},        {"put", JP_PUT},
               {"fetch", JP_FETCH}, {"describe", JP_DESCRIBE}, {"control", JP_CONTROL}};
  PyObject *name = PyTuple_Check(step) && PyTuple_Size(step) > 1 ? part_of_step(step, 0) : Py_None;
  for (size_t i = 0; PyUnicode_Check(name) && i < sizeof names / sizeof names[0]; i++) {
    if (PyUnicode_CompareWithASCIIString(name, names[i].name) == 0)
      return names[i].operation;
  }
  return JP_METHOD;
}

bool request_from_step(struct argument_builder *builder, PyObject *step, struct jp_request *request)
{
  *request = (struct jp_request){.operation = request_step_kind(step), .options = &default_options};
  switch (request->operation) {
  case JP_NEW:
    return read_type(builder, step, request) && read_args(builder, part_of_step(step, 2), request) &&
           read_loader(builder, part_of_step(step, 3), request);
  case JP_CALL:
    return read_type(builder, step, request) && read_member(builder, step, request) &&
           read_instance(builder, part_of_step(step, 3), request) &&
           read_args(builder, part_of_step(step, 4), request) &&
           read_loader(builder, part_of_step(step, 5), request);
  case JP_GET:
    return read_type(builder, step, request) && read_member(builder, step, request) &&
           read_instance(builder, part_of_step(step, 3), request) &&
           read_loader(builder, part_of_step(step, 4), request);
  case JP_PUT:
    return read_type(builder, step, request) && read_member(builder, step, request) &&
           read_instance(builder, part_of_step(step, 3), request) &&
           read_value(builder, part_of_step(step, 4), request) &&
           read_loader(builder, part_of_step(step, 5), request);
  case JP_FETCH:
    return read_fetch(builder, step, request);
  case JP_DESCRIBE:
    return read_describe(builder, step, request);
  case JP_CONTROL:
    request->member = builder_name(builder, part_of_step(step, 1));
    return request->member != NULL;
  default:
    PyErr_Format(PyExc_ValueError, "this is no step of a batch: %R", step);
    return false;
  }
}

/* ---- the operations as methods ---- */

struct py_step {
  struct py_connection *connection;
  PyObject *parts;
};

static PyObject *try_step(struct attempt *attempt, void *context)
{
  const struct py_step *step = context;
  struct argument_builder builder;
  struct jp_request request;
  attempt_begin(attempt, &builder, step->connection);
  PyObject *value = NULL;
  if (request_from_step(&builder, step->parts, &request))
    value = request_value(step->connection, &builder, &request);
  attempt_end(attempt, &builder);
  return value;
}

static PyObject *value_of_step(struct py_connection *connection, PyObject *parts)
{
  struct py_step step = {connection, parts};
  return request_retry(try_step, &step);
}

PyObject *request_operation(struct py_connection *connection, const char *name, PyObject *args)
{
  PyObject *head = Py_BuildValue("(s)", name);
  PyObject *step = head == NULL ? NULL : PySequence_Concat(head, args);
  Py_XDECREF(head);
  PyObject *value = step == NULL ? NULL : value_of_step(connection, step);
  Py_XDECREF(step);
  return value;
}

/* A method of Connection with the arguments of the step of that name. */
static PyObject *run_operation(PyObject *self, const char *name, PyObject *args)
{
  return request_operation((struct py_connection *)self, name, args);
}

static PyObject *operation_new(PyObject *self, PyObject *args)
{
  return run_operation(self, "new", args);
}

static PyObject *operation_call(PyObject *self, PyObject *args)
{
  return run_operation(self, "call", args);
}

static PyObject *operation_get(PyObject *self, PyObject *args)
{
  return run_operation(self, "get", args);
}

static PyObject *operation_put(PyObject *self, PyObject *args)
{
  return run_operation(self, "put", args);
}

static PyObject *operation_control(PyObject *self, PyObject *args)
{
  return run_operation(self, "control", args);
}

static PyObject *operation_fetch(PyObject *self, PyObject *args, PyObject *keywords)
{
  static char *names[] = {"instance", "maximum", "start", "rows", NULL};
  struct py_connection *connection = (struct py_connection *)self;
  PyObject *instance;
  struct jp_request request = {.operation = JP_FETCH, .options = &fetch_options, .max = FETCHED};
  long long maximum = FETCHED;
  long long start = 0;
  int has_rows = false;
  if (!PyArg_ParseTupleAndKeywords(args, keywords, "O|LLp:fetch", names, &instance, &maximum, &start,
                                   &has_rows))
    return NULL;
  if (has_rows)
    request.options = &row_options;
  request.max = maximum;
  request.from = start;
  struct argument_builder builder;
  builder_init(&builder, connection);
  struct jp_answer *answer = NULL;
  if (to_java_receiver(&builder, instance, "java.lang.String", &request.instance))
    answer = request_call(connection, &builder, &request);
  if (answer == NULL && !PyErr_Occurred())
    PyErr_SetString(PyExc_RuntimeError, "make_error gave NotImplemented for a fetch");
  PyObject *page = answer == NULL ? NULL : from_java_page(connection, answer, instance);
  jp_answer_free(answer);
  builder_fini(&builder);
  return page;
}

/* ---- columns ---- */

static const char columns_name[] = "jpeer.columns";

static void free_columns(PyObject *capsule)
{
  jp_answer_free(PyCapsule_GetPointer(capsule, columns_name));
}

/* (rows, done, rest, capsule): read_columns reads the columns of the capsule, so that the next request can be sent before. Owns
 * the answer. */
static PyObject *make_page_head(struct py_connection *connection, struct jp_answer *answer,
                                PyObject *instance)
{
  PyObject *capsule = PyCapsule_New(answer, columns_name, free_columns);
  if (capsule == NULL)
    jp_answer_free(answer);
  PyObject *head = capsule == NULL ? NULL : from_java_columns_head(connection, answer, instance);
  PyObject *page = head == NULL ? NULL
                                : Py_BuildValue("(OOOO)", PyTuple_GetItem(head, 0), PyTuple_GetItem(head, 1),
                                                PyTuple_GetItem(head, 2), capsule);
  Py_XDECREF(head);
  Py_XDECREF(capsule);
  return page;
}

/* names: the JSON array of the columns, or None. */
static PyObject *operation_columns(PyObject *self, PyObject *args)
{
  struct py_connection *connection = (struct py_connection *)self;
  PyObject *instance;
  long long maximum;
  long long start;
  const char *names;
  if (!PyArg_ParseTuple(args, "OLLz:columns", &instance, &maximum, &start, &names))
    return NULL;
  struct argument_builder builder;
  builder_init(&builder, connection);
  struct jp_answer *answer = NULL;
  struct jp_request request = {
      .operation = JP_COLUMNS, .options = &fetch_options, .max = maximum, .from = start};
  if (names != NULL)
    request.params = jp_text_of(names);
  if (to_java_receiver(&builder, instance, "java.lang.Object", &request.instance))
    answer = request_call(connection, &builder, &request);
  if (answer == NULL && !PyErr_Occurred())
    PyErr_SetString(PyExc_RuntimeError, "make_error gave NotImplemented for columns");
  PyObject *page = answer == NULL ? NULL : make_page_head(connection, answer, instance);
  builder_fini(&builder);
  return page;
}

static PyObject *read_columns(PyObject *self, PyObject *capsule)
{
  struct jp_answer *answer = PyCapsule_GetPointer(capsule, columns_name);
  return answer == NULL ? NULL : from_java_columns((struct py_connection *)self, answer);
}

/* columns: a tuple of dicts, the members of jpeer.rows; type: what a row becomes, or None. */
static PyObject *operation_rows(PyObject *self, PyObject *args)
{
  struct py_connection *connection = (struct py_connection *)self;
  PyObject *instance;
  PyObject *columns;
  long long rows;
  long long first;
  const char *type;
  if (!PyArg_ParseTuple(args, "OLLO!z:rows", &instance, &rows, &first, &PyTuple_Type, &columns, &type))
    return NULL;
  struct argument_builder builder;
  builder_init(&builder, connection);
  struct jp_answer *answer = NULL;
  struct jp_request request = {
      .operation = JP_ROWS, .options = &fetch_options, .max = rows, .from = first, .type = type};
  if (to_java_receiver(&builder, instance, "java.lang.Object", &request.instance)) {
    request.args = to_java_all(&builder, columns, 0, &request.arg_count);
    answer = request.args == NULL ? NULL : request_call(connection, &builder, &request);
  }
  if (answer == NULL && !PyErr_Occurred())
    PyErr_SetString(PyExc_RuntimeError, "make_error gave NotImplemented for rows");
  PyObject *counts = answer == NULL ? NULL : from_java_counts(answer);
  jp_answer_free(answer);
  builder_fini(&builder);
  return counts;
}

/* Gets the peer's limits. From then on all links use them. */
static PyObject *learn_limits(PyObject *self, PyObject *ignored)
{
  (void)ignored;
  struct py_connection *connection = (struct py_connection *)self;
  struct jp_client_error error;
  enum jp_client_status status;
  struct jp_peer_limits limits = {0};
  struct link *link = connection_enter_first(connection);
  if (link == NULL)
    return NULL;
  Py_BEGIN_ALLOW_THREADS;
  status = jp_client_learn_limits(link->client, connection->timeout_ms, &limits, &error);
  Py_END_ALLOW_THREADS;
  connection_end_wait(connection, status);
  connection_leave(connection);
  if (PyErr_Occurred())
    return NULL;
  /* A peer that does not report its limits checks them itself. */
  if (status != JP_CLIENT_OK && (status != JP_CLIENT_UNSUPPORTED || limits.message_max != 0))
    return raise_failure(connection, status, NULL, &error);
  if (status == JP_CLIENT_OK) {
    connection->limits = limits;
    connection->config.request_max = limits.message_max;
  }
  return Py_BuildValue("nn", (Py_ssize_t)limits.message_max, (Py_ssize_t)limits.values_max);
}

static PyObject *operation_assemble(PyObject *self, PyObject *args)
{
  struct py_connection *connection = (struct py_connection *)self;
  const char *type;
  const char *java_type;
  PyObject *piece;
  PyObject *before;
  if (!PyArg_ParseTuple(args, "ssOO:assemble", &type, &java_type, &piece, &before))
    return NULL;
  struct argument_builder builder;
  struct jp_argument argument;
  struct jp_request request = {.operation = JP_ASSEMBLE, .args = &argument, .arg_count = 1};
  builder_init(&builder, connection);
  struct jp_answer *answer = NULL;
  if (to_java(&builder, piece, &argument) &&
      (before == Py_None || to_java_receiver(&builder, before, "java.lang.Object", &request.instance))) {
    argument.type = type;
    answer = request_call(connection, &builder, &request);
  }
  struct jp_ref *ref = answer == NULL ? NULL : jp_answer_take_ref(answer, jp_answer_json(answer));
  if (ref == NULL && !PyErr_Occurred())
    PyErr_SetString(types.protocol_error, "jpeer.assemble gave no object");
  PyObject *name = ref == NULL ? NULL : PyUnicode_FromString(java_type);
  PyObject *known = PyDict_GetItemString(connection->classes, java_type);
  PyTypeObject *kind = java_type[0] == '[' ? types.array : types.object;
  if (known != NULL && PyType_Check(known) && PyType_IsSubtype((PyTypeObject *)known, kind))
    kind = (PyTypeObject *)known;
  PyObject *made = name == NULL ? NULL : object_create(kind, connection, ref, name);
  if (name == NULL)
    jp_ref_release(ref);
  Py_XDECREF(name);
  jp_answer_free(answer);
  builder_fini(&builder);
  return made;
}

/* Returns a handle of the Java object for a value, which may be a Python object. None: Java has returned a
 * plain value. */
static PyObject *operation_handle(PyObject *self, PyObject *value)
{
  struct py_connection *connection = (struct py_connection *)self;
  struct argument_builder builder;
  struct jp_argument argument;
  struct jp_answer *answer = NULL;
  builder_init(&builder, connection);
  if (to_java(&builder, value, &argument)) {
    struct jp_request request =
        jp_build_class_method_call("java.util.Objects", "requireNonNull", &argument, 1);
    answer = request_call(connection, &builder, &request);
  }
  struct jp_ref *ref = answer == NULL ? NULL : jp_answer_ref(answer);
  PyObject *made = NULL;
  if (ref != NULL) {
    PyObject *name = PyUnicode_FromString(jp_answer_type(answer));
    if (name != NULL)
      made = object_create(types.object, connection, jp_ref_keep(ref), name);
    Py_XDECREF(name);
  } else if (answer != NULL) {
    made = Py_NewRef(Py_None);
  }
  jp_answer_free(answer);
  builder_fini(&builder);
  return made;
}

static PyObject *operation_describe(PyObject *self, PyObject *args, PyObject *keywords)
{
  static char *names[] = {"instance", "type", "members_only", "loader", NULL};
  PyObject *instance = Py_None;
  PyObject *type = Py_None;
  PyObject *members_only = Py_False;
  PyObject *loader = Py_None;
  if (!PyArg_ParseTupleAndKeywords(args, keywords, "|OOO!O:describe", names, &instance, &type, &PyBool_Type,
                                   &members_only, &loader))
    return NULL;
  PyObject *step = Py_BuildValue("(sOOOO)", "describe", instance, type, members_only, loader);
  PyObject *value = step == NULL ? NULL : value_of_step((struct py_connection *)self, step);
  Py_XDECREF(step);
  return value;
}

/* NULL-terminated names of a sequence; NULL: an exception. */
static const char *const *read_names(struct argument_builder *builder, PyObject *sequence)
{
  PyObject *tuple = PySequence_Tuple(sequence);
  Py_ssize_t count = tuple == NULL ? 0 : PyTuple_Size(tuple);
  const char **names = tuple == NULL ? NULL : builder_alloc(builder, ((size_t)count + 1) * sizeof *names);
  struct jp_argument kept; /* not used; converting to it makes the builder keep the texts */
  bool good = names != NULL && to_java(builder, tuple, &kept);
  for (Py_ssize_t i = 0; good && i < count; i++) {
    names[i] = builder_name(builder, PyTuple_GetItem(tuple, i));
    good = names[i] != NULL;
  }
  Py_XDECREF(tuple);
  return good ? names : NULL;
}

/* The value of the JSON in an answer's text. Takes ownership of the answer; NULL: an exception. */
static PyObject *parse_metadata(struct jp_answer *answer)
{
  enum { DEPTH = 64 };
  struct jp_json json;
  PyObject *value = NULL;
  if (answer == NULL)
    return NULL;
  if (jp_json_parse(jp_answer_text(answer), DEPTH, &json, NULL) == JP_JSONRPC_OK)
    value = from_json(json);
  else
    PyErr_SetString(PyExc_ValueError, "the metadata is no JSON");
  jp_answer_free(answer);
  return value;
}

static PyObject *operation_classes_info(PyObject *self, PyObject *args, PyObject *keywords)
{
  static char *names[] = {"include", "merge_ancestry", NULL};
  struct py_connection *connection = (struct py_connection *)self;
  PyObject *include;
  int merge = 0;
  if (!PyArg_ParseTupleAndKeywords(args, keywords, "O|p:classes_info", names, &include, &merge))
    return NULL;
  struct argument_builder builder;
  builder_init(&builder, connection);
  const char *const *included = read_names(&builder, include);
  struct jp_answer *answer = NULL;
  if (included != NULL) {
    struct jp_request request = jp_build_fetch_classes_info(included, NULL, false, merge != 0);
    answer = request_call(connection, &builder, &request);
  }
  PyObject *list = parse_metadata(answer);
  builder_fini(&builder);
  return list;
}

static PyObject *operation_list_names(PyObject *self, PyObject *args)
{
  struct py_connection *connection = (struct py_connection *)self;
  const char *prefix;
  long long max;
  if (!PyArg_ParseTuple(args, "sL:list_names", &prefix, &max))
    return NULL;
  struct argument_builder builder;
  builder_init(&builder, connection);
  struct jp_request request = jp_build_list_names(prefix, max);
  PyObject *names = parse_metadata(request_call(connection, &builder, &request));
  builder_fini(&builder);
  return names;
}

/* ---- batches ---- */

enum { STEP_NAME_SIZE = 24 };

static const struct jp_answer *answer_of_step(const struct jp_chain *chain, Py_ssize_t step)
{
  char name[STEP_NAME_SIZE];
  snprintf(name, sizeof name, "%zd", step);
  return jp_chain_answer(chain, name);
}

static PyObject *value_of_answer(const struct argument_builder *builder, const struct jp_answer *answer,
                                 unsigned index, PyObject *step)
{
  struct py_connection *connection = builder->connection;
  static const struct jp_client_error no_answer = {.status = JP_CLIENT_PROTOCOL,
                                                   .text = "a step of a batch has no answer"};
  if (answer == NULL)
    return raise_failure(connection, JP_CLIENT_PROTOCOL, NULL, &no_answer);
  if (jp_answer_kind(answer) == JP_ANSWER_ERROR)
    return raise_failure(connection, JP_CLIENT_REMOTE, answer, &no_answer);
  if (!outs_write(builder->outs, index, answer))
    return NULL;
  return from_java_result(connection, request_step_kind(step), answer);
}

/* Refuses to repeat the batch, because steps that have run would run twice. */
static void refuse_retry(const struct jp_chain *chain, Py_ssize_t count)
{
  for (Py_ssize_t i = 0; i < count; i++) {
    const struct jp_answer *answer = answer_of_step(chain, i);
    if (answer != NULL && jp_answer_kind(answer) != JP_ANSWER_ERROR) {
      PyErr_SetString(PyExc_RuntimeError,
                      "a step of a batch was refused, and the batch cannot be sent again: others have run");
      return;
    }
  }
}

/* Returns the value of each step, or raises the first failure. */
static PyObject *values_of_chain(const struct argument_builder *builder, const struct jp_chain *chain,
                                 PyObject *steps)
{
  Py_ssize_t count = PyTuple_Size(steps);
  PyObject *values = PyList_New(count);
  for (Py_ssize_t i = 0; values != NULL && i < count; i++) {
    PyObject *value =
        value_of_answer(builder, answer_of_step(chain, i), (unsigned)i, PyTuple_GetItem(steps, i));
    if (value == NULL && !PyErr_Occurred())
      refuse_retry(chain, count);
    if (value == NULL || PyList_SetItem(values, i, value) != 0)
      Py_CLEAR(values);
  }
  return values;
}

static bool add_steps(struct argument_builder *builder, struct jp_chain *chain, PyObject *steps)
{
  char name[STEP_NAME_SIZE];
  for (Py_ssize_t i = 0; i < PyTuple_Size(steps); i++) {
    struct jp_request request;
    struct jp_options options;
    builder->step = (unsigned)i;
    if (!request_from_step(builder, PyTuple_GetItem(steps, i), &request))
      return false;
    snprintf(name, sizeof name, "%zd", i);
    request_mark(builder->connection, &request, &options);
    jp_chain_request(chain, name, &request);
  }
  return true;
}

/* is_stale: if it is not NULL and nothing was sent, *is_stale is set instead of an exception. */
static PyObject *send_chain(const struct argument_builder *builder, struct link *link, struct jp_chain *chain,
                            PyObject *steps, bool *is_stale)
{
  struct py_connection *connection = link->connection;
  struct jp_client_error error;
  enum jp_client_status status;
  int timeout_ms = connection->timeout_ms;
  bool may_build = false;
  Py_BEGIN_ALLOW_THREADS;
  status = jp_chain_send(chain, timeout_ms, &error);
  if (is_stale != NULL && status == JP_CLIENT_STALE && answer_of_step(chain, 0) == NULL)
    may_build = link_learn_epoch(link, timeout_ms);
  if (connection->peer != NULL)
    jp_peer_await_output(connection->peer);
  Py_END_ALLOW_THREADS;
  if (may_build) {
    *is_stale = true;
    return NULL;
  }
  link_note_status(link, status);
  connection_end_wait(connection, status);
  if (PyErr_Occurred())
    return NULL;
  if (status != JP_CLIENT_OK && status != JP_CLIENT_REMOTE)
    return raise_failure(connection, status, NULL, &error);
  return values_of_chain(builder, chain, steps);
}

struct batch {
  struct py_connection *connection;
  PyObject *steps; /* a tuple */
};

static PyObject *build_batch(struct attempt *attempt, const struct batch *batch, bool *is_stale)
{
  struct py_connection *connection = batch->connection;
  PyObject *steps = batch->steps;
  struct link *link = connection_enter(connection, NULL);
  if (link == NULL)
    return NULL;
  struct argument_builder builder;
  attempt_begin(attempt, &builder, connection);
  builder.link = link_hold(link);
  struct jp_chain *chain = jp_chain_create(link->client);
  PyObject *values = NULL;
  if (chain == NULL)
    PyErr_NoMemory();
  else if (add_steps(&builder, chain, steps))
    values = send_chain(&builder, link, chain, steps, is_stale);
  jp_chain_destroy(chain);
  attempt_end(attempt, &builder); /* no other forms are tried, because steps before a refused step have run */
  connection_leave(connection);
  return values;
}

static PyObject *try_batch(struct attempt *attempt, void *context)
{
  bool is_stale = false;
  PyObject *values = build_batch(attempt, context, &is_stale);
  return is_stale ? build_batch(attempt, context, NULL) : values;
}

static PyObject *run_batch(PyObject *self, PyObject *sequence)
{
  struct batch batch = {(struct py_connection *)self, PySequence_Tuple(sequence)};
  PyObject *values = batch.steps == NULL ? NULL : request_retry(try_batch, &batch);
  Py_XDECREF(batch.steps);
  return values;
}

/* ---- all methods ---- */

#define WITH_KEYWORDS(function) ((PyCFunction)(void (*)(void))(function))

PyMethodDef connection_methods[] = {
    {"launch", WITH_KEYWORDS(connection_launch), METH_VARARGS | METH_KEYWORDS | METH_STATIC, NULL},
    {"close", connection_close, METH_NOARGS, NULL},
    {"stop", connection_stop, METH_O, NULL},
    {"new", operation_new, METH_VARARGS, NULL},
    {"call", operation_call, METH_VARARGS, NULL},
    {"get", operation_get, METH_VARARGS, NULL},
    {"put", operation_put, METH_VARARGS, NULL},
    {"control", operation_control, METH_VARARGS, NULL},
    {"columns", operation_columns, METH_VARARGS, NULL},
    {"read_columns", read_columns, METH_O, NULL},
    {"rows", operation_rows, METH_VARARGS, NULL},
    {"fetch", WITH_KEYWORDS(operation_fetch), METH_VARARGS | METH_KEYWORDS, NULL},
    {"describe", WITH_KEYWORDS(operation_describe), METH_VARARGS | METH_KEYWORDS, NULL},
    {"list_names", operation_list_names, METH_VARARGS, NULL},
    {"classes_info", WITH_KEYWORDS(operation_classes_info), METH_VARARGS | METH_KEYWORDS, NULL},
    {"assemble", operation_assemble, METH_VARARGS, NULL},
    {"handle", operation_handle, METH_O, NULL},
    {"learn_limits", learn_limits, METH_NOARGS, NULL},
    {"batch", run_batch, METH_O, NULL},
    {"send", loop_send, METH_VARARGS, NULL},
    {"descriptor", loop_descriptor, METH_VARARGS, NULL},
    {"process", loop_process, METH_VARARGS, NULL},
    {"unanswered", loop_unanswered, METH_VARARGS, NULL},
    {"cancel", loop_cancel, METH_O, NULL},
    {"learn_epoch", loop_learn_epoch, METH_VARARGS, NULL},
    {"reserve_link", loop_reserve_link, METH_NOARGS, NULL},
    {"open_link", loop_open_link, METH_NOARGS, NULL},
    {"pin_link", loop_pin_link, METH_VARARGS, NULL},
    {"unpin_link", loop_unpin_link, METH_O, NULL},
    {"listen", connection_listen, METH_VARARGS, NULL},
    {"calling", connection_calling, METH_NOARGS, NULL},
    {"can_ask", connection_can_ask, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL}};
