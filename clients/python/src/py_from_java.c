/* Answers to Python values. */
#include "py_native.h"

#include <string.h>

static PyObject *text_to_python(struct jp_text text)
{
  return PyUnicode_DecodeUTF8(text.data, (Py_ssize_t)text.len, "surrogatepass");
}

/* ---- objects ---- */

/* Finds the Python class of an object. The result is borrowed from the connection's classes. ref: borrowed;
 * may be NULL if the class is known. */
static PyObject *find_class(struct py_connection *connection, PyObject *name, struct jp_ref *ref)
{
  PyObject *class = PyDict_GetItemWithError(connection->classes, name);
  if (class != NULL || PyErr_Occurred())
    return class;
  PyObject *handle = object_create(types.object, connection, jp_ref_keep(ref), name);
  PyObject *made =
      handle == NULL ? NULL : PyObject_CallFunctionObjArgs(connection->make_class, name, handle, NULL);
  Py_XDECREF(handle);
  int put = made == NULL ? -1 : PyDict_SetItem(connection->classes, name, made);
  Py_XDECREF(made);
  return put == 0 ? made : NULL; /* the dict holds it */
}

/* The Python value of a text. NULL without an exception: the answer is an object. */
static PyObject *value_of_text(struct py_connection *connection, PyObject *name, struct jp_text text)
{
  PyObject *converter = PyDict_GetItemWithError(connection->from_text, name);
  PyObject *python = converter == NULL ? NULL : text_to_python(text);
  PyObject *value = python == NULL ? NULL : PyObject_CallFunctionObjArgs(converter, python, NULL);
  Py_XDECREF(python);
  if (value == Py_NotImplemented)
    Py_CLEAR(value);
  return value;
}

/* An object of that class. Takes ownership of the handle, even on failure. */
static PyObject *make_object(struct py_connection *connection, const char *type, struct jp_ref *ref,
                             struct jp_text text)
{
  PyObject *name = PyUnicode_FromString(type);
  if (name == NULL) {
    jp_ref_release(ref);
    return NULL;
  }
  PyObject *value = text.data == NULL ? NULL : value_of_text(connection, name, text);
  PyObject *class = NULL;
  if (value == NULL && !PyErr_Occurred())
    class = find_class(connection, name, ref);
  if (class == NULL) {
    jp_ref_release(ref);
    Py_DECREF(name);
    return value;
  }
  if (PyType_Check(class) && PyType_IsSubtype((PyTypeObject *)class, types.object)) {
    value = object_create((PyTypeObject *)class, connection, ref, name);
  } else {
    PyObject *handle = object_create(types.object, connection, ref, name);
    value = handle == NULL ? NULL : PyObject_CallMethod(class, "_from_object", "O", handle);
    Py_XDECREF(handle);
  }
  Py_DECREF(name);
  return value;
}

/* ---- results ---- */

static PyObject *make_float(const struct jp_answer *answer)
{
  double number = 0;
  (void)jp_answer_number(answer, &number);
  return PyFloat_FromDouble(number);
}

static PyObject *make_integer(const struct jp_answer *answer)
{
  int64_t number = 0;
  (void)jp_answer_integer(answer, &number);
  return PyLong_FromLongLong(number);
}

static PyObject *make_boolean(const struct jp_answer *answer)
{
  bool value = false;
  (void)jp_answer_boolean(answer, &value);
  return PyBool_FromLong(value);
}

/* A value with a text and no handle, as a callback's argument may be. */
static PyObject *make_text_value(struct py_connection *connection, const struct jp_answer *answer)
{
  PyObject *name = PyUnicode_FromString(jp_answer_type(answer));
  PyObject *value = name == NULL ? NULL : value_of_text(connection, name, jp_answer_text(answer));
  Py_XDECREF(name);
  return value != NULL || PyErr_Occurred() ? value : text_to_python(jp_answer_text(answer));
}

/* The Python object that was given to Java, as a new reference; NULL: the proxy belongs to another object. No
 * exception is set. Releases the callback. */
static PyObject *own_object(struct jp_callback *callback)
{
  PyObject *target = callback == NULL ? NULL : callback_target(callback);
  jp_callback_release(callback);
  return target;
}

static bool is_own(const struct jp_answer *answer)
{
  struct jp_callback *callback = jp_answer_keep_callback(answer);
  jp_callback_release(callback);
  return callback != NULL;
}

static bool is_own_element(const struct jp_answer *answer, struct jp_json json)
{
  struct jp_callback *callback = jp_answer_keep_callback_in(answer, json);
  jp_callback_release(callback);
  return callback != NULL;
}

static PyObject *value_of_answer(struct py_connection *connection, const struct jp_answer *answer)
{
  switch (jp_answer_kind(answer)) {
  case JP_ANSWER_VOID:
  case JP_ANSWER_NULL:
  case JP_ANSWER_ERROR:
    Py_RETURN_NONE;
  case JP_ANSWER_BOOLEAN:
    return make_boolean(answer);
  case JP_ANSWER_INTEGER:
    return make_integer(answer);
  case JP_ANSWER_NUMBER:
    return make_float(answer);
  case JP_ANSWER_STRING:
    return text_to_python(jp_answer_text(answer));
  case JP_ANSWER_JSON:
    return from_json(jp_answer_json(answer));
  case JP_ANSWER_OBJECT:
    break;
  }
  struct jp_ref *ref = jp_answer_ref(answer);
  if (ref == NULL)
    return make_text_value(connection, answer);
  PyObject *own = own_object(jp_answer_keep_callback(answer));
  if (own != NULL)
    return own;
  return make_object(connection, jp_answer_type(answer), jp_ref_keep(ref), jp_answer_text(answer));
}

PyObject *from_java(struct py_connection *connection, const struct jp_answer *answer)
{
  return check_answer_shape(value_of_answer(connection, answer));
}

PyObject *from_java_result(struct py_connection *connection, enum jp_operation operation,
                           const struct jp_answer *answer)
{
  static const struct jp_text no_text = {NULL, 0};
  struct jp_ref *ref = jp_answer_ref(answer);
  if (operation != JP_NEW || ref == NULL)
    return from_java(connection, answer);
  return check_answer_shape(make_object(connection, jp_answer_type(answer), jp_ref_keep(ref), no_text));
}

/* ---- JSON ---- */

/* The peer nests at most 256 levels (--depth-max). The recursion needs 400 bytes of stack for each level. */
enum { NESTED_MAX = 300 };

static PyObject *json_at(struct jp_json json, int depth);

static bool may_nest(int depth)
{
  if (depth < NESTED_MAX)
    return true;
  PyErr_Format(types.protocol_error, "the peer's answer nests more than %d levels deep", NESTED_MAX);
  return false;
}

static PyObject *json_text(struct jp_json json)
{
  char small[256];
  size_t length = jp_json_string(json, small, sizeof small);
  if (length == SIZE_MAX)
    return PyErr_NoMemory();
  if (length < sizeof small)
    return PyUnicode_DecodeUTF8(small, (Py_ssize_t)length, "surrogatepass");
  char *large = PyMem_Malloc(length + 1);
  if (large == NULL)
    return PyErr_NoMemory();
  (void)jp_json_string(json, large, length + 1);
  PyObject *text = PyUnicode_DecodeUTF8(large, (Py_ssize_t)length, "surrogatepass");
  PyMem_Free(large);
  return text;
}

static PyObject *json_number(struct jp_json json)
{
  int64_t integer;
  double number = 0;
  bool is_fraction = memchr(json.text.data, '.', json.text.len) != NULL ||
                     memchr(json.text.data, 'e', json.text.len) != NULL ||
                     memchr(json.text.data, 'E', json.text.len) != NULL;
  if (!is_fraction && jp_json_integer(json, &integer))
    return PyLong_FromLongLong(integer);
  if (is_fraction) {
    (void)jp_json_number(json, &number);
    return PyFloat_FromDouble(number);
  }
  PyObject *digits = PyUnicode_FromStringAndSize(json.text.data, (Py_ssize_t)json.text.len);
  PyObject *large = digits == NULL ? NULL : PyNumber_Long(digits);
  Py_XDECREF(digits);
  return large;
}

static PyObject *json_list(struct jp_json json, int depth)
{
  struct jp_json_cursor cursor = jp_json_enter(json);
  struct jp_json element;
  PyObject *list = PyList_New(0);
  while (list != NULL && jp_json_next(&cursor, NULL, &element)) {
    PyObject *value = json_at(element, depth + 1);
    if (value == NULL || PyList_Append(list, value) != 0)
      Py_CLEAR(list);
    Py_XDECREF(value);
  }
  return list;
}

static PyObject *json_dict(struct jp_json json, int depth)
{
  struct jp_json_cursor cursor = jp_json_enter(json);
  struct jp_json key;
  struct jp_json element;
  PyObject *dict = PyDict_New();
  while (dict != NULL && jp_json_next(&cursor, &key, &element)) {
    PyObject *name = json_text(key);
    PyObject *value = name == NULL ? NULL : json_at(element, depth + 1);
    if (value == NULL || PyDict_SetItem(dict, name, value) != 0)
      Py_CLEAR(dict);
    Py_XDECREF(name);
    Py_XDECREF(value);
  }
  return dict;
}

static PyObject *json_at(struct jp_json json, int depth)
{
  switch (json.kind) {
  case JP_JSON_TRUE:
    Py_RETURN_TRUE;
  case JP_JSON_FALSE:
    Py_RETURN_FALSE;
  case JP_JSON_NUMBER:
    return json_number(json);
  case JP_JSON_STRING:
    return json_text(json);
  case JP_JSON_ARRAY:
  case JP_JSON_OBJECT:
    if (!may_nest(depth))
      return NULL;
    return json.kind == JP_JSON_ARRAY ? json_list(json, depth) : json_dict(json, depth);
  case JP_JSON_ABSENT:
  case JP_JSON_NULL:
    break;
  }
  Py_RETURN_NONE;
}

PyObject *from_json(struct jp_json json)
{
  return check_answer_shape(json_at(json, 0));
}

/* ---- pages ---- */

/* The members of an element that is not plain JSON; a text that does not fit counts as absent. */
struct page_element {
  char type[1024];
  bool has_type;
  bool has_ref;
  struct jp_json value;
};

static void read_element(struct jp_json json, struct page_element *element)
{
  struct jp_json type = jp_json_member(json, "type");
  size_t length = jp_json_string(type, element->type, sizeof element->type);
  element->has_type = length < sizeof element->type;
  element->has_ref = jp_json_member(json, "ref").kind == JP_JSON_NUMBER;
  element->value = jp_json_member(json, "value");
}

/* The object that Java makes from a text. */
static PyObject *object_of_text(struct py_connection *connection, PyObject *type, PyObject *text)
{
  PyObject *typed = PyObject_CallFunctionObjArgs((PyObject *)types.typed, type, text, NULL);
  PyObject *args =
      typed == NULL ? NULL : Py_BuildValue("(ssO(O))", "java.util.Objects", "requireNonNull", Py_None, typed);
  PyObject *object = args == NULL ? NULL : request_operation(connection, "call", args);
  Py_XDECREF(typed);
  Py_XDECREF(args);
  return object;
}

static PyObject *value_or_object(struct py_connection *connection, PyObject *type, PyObject *text)
{
  PyObject *converter = PyDict_GetItemWithError(connection->from_text, type);
  PyObject *value = converter == NULL ? NULL : PyObject_CallFunctionObjArgs(converter, text, NULL);
  if (value != Py_NotImplemented && (value != NULL || PyErr_Occurred()))
    return value;
  Py_XDECREF(value);
  return object_of_text(connection, type, text);
}

/* Makes the value of an element with a type and no ref: NaN, an infinity, a char, or a value with a text. */
static PyObject *typed_value(struct py_connection *connection, const struct page_element *element)
{
  PyObject *text = json_text(element->value);
  PyObject *type = text == NULL ? NULL : PyUnicode_FromString(element->type);
  PyObject *value = NULL;
  if (type == NULL)
    value = NULL;
  else if (strcmp(element->type, "double") == 0 || strcmp(element->type, "float") == 0)
    value = PyFloat_FromString(text);
  else if (strcmp(element->type, "char") == 0)
    value = Py_NewRef(text);
  else
    value = value_or_object(connection, type, text);
  Py_XDECREF(text);
  Py_XDECREF(type);
  return value;
}

static PyObject *page_element(struct py_connection *connection, struct jp_answer *answer, struct jp_json json,
                              int depth);

/* A map's entry [key, value], as a tuple. */
static PyObject *page_entry(struct py_connection *connection, struct jp_answer *answer, struct jp_json json,
                            int depth)
{
  if (!may_nest(depth))
    return NULL;
  enum { PARTS_MAX = 2 };
  PyObject *parts[PARTS_MAX];
  struct jp_json_cursor cursor = jp_json_enter(json);
  struct jp_json inside;
  Py_ssize_t count = 0;
  bool good = true;
  while (good && jp_json_next(&cursor, NULL, &inside)) {
    good = count < PARTS_MAX;
    if (!good)
      PyErr_SetString(PyExc_ValueError, "an entry of a map has more than a key and a value");
    else
      good = (parts[count] = page_element(connection, answer, inside, depth + 1)) != NULL;
    count += good;
  }
  PyObject *tuple = good ? PyTuple_New(count) : NULL;
  for (Py_ssize_t i = 0; i < count; i++) {
    if (tuple == NULL)
      Py_DECREF(parts[i]);
    else
      PyTuple_SetItem(tuple, i, parts[i]);
  }
  return tuple;
}

static PyObject *page_element(struct py_connection *connection, struct jp_answer *answer, struct jp_json json,
                              int depth)
{
  struct page_element element;
  if (json.kind == JP_JSON_ARRAY)
    return page_entry(connection, answer, json, depth);
  if (json.kind != JP_JSON_OBJECT)
    return from_json(json);
  read_element(json, &element);
  if (!element.has_ref)
    return element.has_type ? typed_value(connection, &element) : from_json(json);
  PyObject *own = own_object(jp_answer_keep_callback_in(answer, json));
  if (own != NULL)
    return own;
  struct jp_ref *ref = jp_answer_take_ref(answer, json);
  if (ref == NULL)
    return PyErr_NoMemory();
  struct jp_text none = {NULL, 0};
  const char *type = element.has_type ? element.type : jp_ref_type(ref);
  return make_object(connection, type, ref, none);
}

static PyObject *make_remaining(struct py_connection *connection, struct jp_answer *answer,
                                PyObject *instance)
{
  struct jp_json json = jp_answer_json(answer);
  struct jp_json number = jp_json_member(json, "ref");
  int64_t ref;
  if (!jp_json_integer(number, &ref))
    Py_RETURN_NONE;
  if (is_object(instance) && jp_ref_number(((struct object *)instance)->ref) == ref)
    return Py_NewRef(instance);
  struct jp_ref *handle = jp_answer_take_ref(answer, json);
  PyObject *type = handle == NULL ? PyErr_NoMemory() : PyUnicode_FromString(jp_ref_type(handle));
  PyObject *rest = type == NULL ? NULL : object_create(types.object, connection, handle, type);
  Py_XDECREF(type);
  return rest;
}

static PyObject *make_page(struct py_connection *connection, struct jp_answer *answer, PyObject *instance)
{
  struct jp_json json = jp_answer_json(answer);
  struct jp_json listed = jp_json_member(json, "elements");
  struct jp_json_cursor cursor = jp_json_enter(listed);
  struct jp_json inside;
  bool done;
  if (listed.kind != JP_JSON_ARRAY || !jp_json_boolean(jp_json_member(json, "done"), &done)) {
    PyErr_SetString(PyExc_ValueError, "it has no list of elements, or does not say whether there are more");
    return NULL;
  }
  PyObject *elements = PyList_New(0);
  while (elements != NULL && jp_json_next(&cursor, NULL, &inside)) {
    PyObject *value = page_element(connection, answer, inside, 0);
    if (value == NULL || PyList_Append(elements, value) != 0)
      Py_CLEAR(elements);
    Py_XDECREF(value);
  }
  PyObject *rest = elements == NULL ? NULL : make_remaining(connection, answer, instance);
  PyObject *page = rest == NULL ? NULL : Py_BuildValue("(OOO)", elements, done ? Py_True : Py_False, rest);
  Py_XDECREF(elements);
  Py_XDECREF(rest);
  return page;
}

PyObject *from_java_page(struct py_connection *connection, struct jp_answer *answer, PyObject *instance)
{
  return check_answer_shape(make_page(connection, answer, instance));
}

/* ---- columns ---- */

/* The bytes of a text in base64, as a bytearray, which can be made shorter. Other threads run while a long text is read. */
static PyObject *column_bytes(struct jp_json json)
{
  enum { LETTERS = 4, BYTES = 3, LONG = 16 * 1024 };
  size_t room = (json.text.len / LETTERS + 1) * BYTES;
  PyObject *bytes = PyByteArray_FromStringAndSize(NULL, (Py_ssize_t)room);
  if (bytes == NULL)
    return NULL;
  char *into = PyByteArray_AsString(bytes);
  PyThreadState *state = room >= LONG ? PyEval_SaveThread() : NULL;
  size_t length = jp_answer_bytes(json, into, room);
  if (state != NULL)
    PyEval_RestoreThread(state);
  if (length == SIZE_MAX)
    PyErr_SetString(PyExc_ValueError, "the data of a column is no base64");
  if (length == SIZE_MAX || PyByteArray_Resize(bytes, (Py_ssize_t)length) != 0)
    Py_CLEAR(bytes);
  return bytes;
}

static PyObject *column_objects(struct py_connection *connection, struct jp_answer *answer,
                                struct jp_json json)
{
  struct jp_json_cursor cursor = jp_json_enter(json);
  struct jp_json inside;
  PyObject *objects = PyList_New(0);
  while (objects != NULL && jp_json_next(&cursor, NULL, &inside)) {
    PyObject *value = page_element(connection, answer, inside, 0);
    if (value == NULL || PyList_Append(objects, value) != 0)
      Py_CLEAR(objects);
    Py_XDECREF(value);
  }
  return objects;
}

static PyObject *column_member(struct py_connection *connection, struct jp_answer *answer, const char *name,
                               struct jp_json json)
{
  bool is_data = strcmp(name, "data") == 0;
  if (is_data && json.kind == JP_JSON_ARRAY)
    return column_objects(connection, answer, json);
  bool is_bytes = is_data || strcmp(name, "offsets") == 0 || strcmp(name, "valid") == 0;
  return is_bytes && json.kind == JP_JSON_STRING ? column_bytes(json) : from_json(json);
}

static PyObject *make_column(struct py_connection *connection, struct jp_answer *answer, struct jp_json json)
{
  struct jp_json_cursor cursor = jp_json_enter(json);
  struct jp_json key;
  struct jp_json member;
  PyObject *column = PyDict_New();
  while (column != NULL && jp_json_next(&cursor, &key, &member)) {
    char name[16];
    bool is_known = jp_json_string(key, name, sizeof name) < sizeof name;
    PyObject *value = is_known ? column_member(connection, answer, name, member) : Py_NewRef(Py_None);
    if (value == NULL || (is_known && PyDict_SetItemString(column, name, value) != 0))
      Py_CLEAR(column);
    Py_XDECREF(value);
  }
  return column;
}

static PyObject *make_columns(struct py_connection *connection, struct jp_answer *answer)
{
  struct jp_json listed = jp_json_member(jp_answer_json(answer), "columns");
  struct jp_json_cursor cursor = jp_json_enter(listed);
  struct jp_json inside;
  if (listed.kind != JP_JSON_ARRAY) {
    PyErr_SetString(PyExc_ValueError, "it has no list of columns");
    return NULL;
  }
  PyObject *columns = PyList_New(0);
  while (columns != NULL && jp_json_next(&cursor, NULL, &inside)) {
    PyObject *column = make_column(connection, answer, inside);
    if (column == NULL || PyList_Append(columns, column) != 0)
      Py_CLEAR(columns);
    Py_XDECREF(column);
  }
  return columns;
}

PyObject *from_java_columns(struct py_connection *connection, struct jp_answer *answer)
{
  return check_answer_shape(make_columns(connection, answer));
}

/* Does not read the columns, which come last. */
static PyObject *make_columns_head(struct py_connection *connection, struct jp_answer *answer,
                                   PyObject *instance)
{
  struct jp_json json = jp_answer_json(answer);
  int64_t rows;
  bool done;
  if (!jp_json_boolean(jp_json_member(json, "done"), &done) ||
      !jp_json_integer(jp_json_member(json, "rows"), &rows)) {
    PyErr_SetString(PyExc_ValueError, "it does not say how many rows there are");
    return NULL;
  }
  PyObject *rest = make_remaining(connection, answer, instance);
  PyObject *head =
      rest == NULL ? NULL : Py_BuildValue("(LOO)", (long long)rows, done ? Py_True : Py_False, rest);
  Py_XDECREF(rest);
  return head;
}

PyObject *from_java_columns_head(struct py_connection *connection, struct jp_answer *answer,
                                 PyObject *instance)
{
  return check_answer_shape(make_columns_head(connection, answer, instance));
}

PyObject *from_java_counts(struct jp_answer *answer)
{
  struct jp_json counts = jp_json_member(jp_answer_json(answer), "counts");
  if (counts.kind != JP_JSON_STRING)
    Py_RETURN_NONE;
  return check_answer_shape(column_bytes(counts));
}

/* ---- values that need requests ---- */

/* Finds a class that was described already. Borrowed; NULL: the class must be described first. No exception
 * is set. */
static PyObject *known_class(struct py_connection *connection, const char *type)
{
  return PyDict_GetItemString(connection->classes, type);
}

static bool object_needs_peer(struct py_connection *connection, const char *type)
{
  PyObject *class = known_class(connection, type);
  return class == NULL || !PyType_Check(class) || !PyType_IsSubtype((PyTypeObject *)class, types.object);
}

static bool element_needs_peer(struct py_connection *connection, const struct jp_answer *answer,
                               struct jp_json json)
{
  struct page_element element;
  if (json.kind != JP_JSON_OBJECT)
    return false;
  read_element(json, &element);
  return element.has_ref && element.has_type && !is_own_element(answer, json) &&
         object_needs_peer(connection, element.type);
}

/* Elements mostly have one class, so only the first element, or the parts of the first entry, are checked. */
static bool page_needs_peer(struct py_connection *connection, const struct jp_answer *answer,
                            struct jp_json elements)
{
  struct jp_json_cursor cursor = jp_json_enter(elements);
  struct jp_json first;
  if (!jp_json_next(&cursor, NULL, &first))
    return false;
  if (first.kind != JP_JSON_ARRAY)
    return element_needs_peer(connection, answer, first);
  bool needs_peer = false;
  struct jp_json part;
  cursor = jp_json_enter(first);
  while (!needs_peer && jp_json_next(&cursor, NULL, &part))
    needs_peer = element_needs_peer(connection, answer, part);
  return needs_peer;
}

static bool throwable_needs_peer(struct py_connection *connection, const struct jp_throwable *throwable)
{
  while (throwable != NULL && throwable->type != NULL) {
    if (known_class(connection, throwable->type) == NULL)
      return true;
    throwable = throwable->cause;
  }
  return false;
}

bool from_java_needs_peer(struct py_connection *connection, enum jp_operation operation,
                          const struct jp_answer *answer)
{
  if (jp_answer_kind(answer) == JP_ANSWER_ERROR)
    return throwable_needs_peer(connection, jp_answer_throwable(answer));
  if (operation == JP_FETCH)
    return page_needs_peer(connection, answer, jp_json_member(jp_answer_json(answer), "elements"));
  if (jp_answer_kind(answer) != JP_ANSWER_OBJECT || jp_answer_ref(answer) == NULL)
    return false;
  if (is_own(answer))
    return false;
  const char *type = jp_answer_type(answer);
  bool has_text = operation != JP_NEW && jp_answer_text(answer).data != NULL &&
                  PyDict_GetItemString(connection->from_text, type) != NULL;
  return !has_text && object_needs_peer(connection, type);
}
