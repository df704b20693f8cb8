/* Python values to arguments for Java. */
#include "py_native.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- memory that arguments borrow ---- */

struct builder_chunk {
  struct builder_chunk *next;
  _Alignas(16) char bytes[];
};

struct builder_buffer {
  Py_buffer view;
  struct builder_buffer *next;
};

struct builder_owned {
  PyObject *value;
  struct builder_owned *next;
};

struct builder_callback {
  struct given *given;
  struct builder_callback *next;
};

void builder_fini(struct argument_builder *builder)
{
  for (struct builder_callback *each = builder->callbacks; each != NULL; each = each->next)
    callback_release(each->given);
  outs_free(builder->outs);
  for (struct builder_buffer *each = builder->buffers; each != NULL; each = each->next)
    PyBuffer_Release(&each->view);
  for (struct builder_owned *each = builder->owned; each != NULL; each = each->next)
    Py_DECREF(each->value);
  while (builder->chunks != NULL) {
    struct builder_chunk *next = builder->chunks->next;
    free(builder->chunks);
    builder->chunks = next;
  }
  link_drop(builder->link);
}

void *builder_alloc(struct argument_builder *builder, size_t size)
{
  size = (size + 15) & ~(size_t)15;
  if (size <= sizeof builder->first - builder->used) {
    void *place = builder->first + builder->used;
    builder->used += size;
    return memset(place, 0, size);
  }
  struct builder_chunk *chunk = calloc(1, sizeof *chunk + size);
  if (chunk == NULL) {
    PyErr_NoMemory();
    return NULL;
  }
  chunk->next = builder->chunks;
  builder->chunks = chunk;
  return chunk->bytes;
}

/* Takes ownership of the value, even on failure. */
static bool own_value(struct argument_builder *builder, PyObject *value)
{
  struct builder_owned *owned = value == NULL ? NULL : builder_alloc(builder, sizeof *owned);
  if (owned == NULL) {
    Py_XDECREF(value);
    return false;
  }
  owned->value = value;
  owned->next = builder->owned;
  builder->owned = owned;
  return true;
}

/* ---- texts ---- */

/* The UTF-8 of a str, borrowed from the str or from the builder. False: an exception. */
static bool read_text(struct argument_builder *builder, PyObject *text, struct jp_text *out)
{
  Py_ssize_t length;
  const char *data = PyUnicode_AsUTF8AndSize(text, &length);
  if (data == NULL) {
    if (!PyErr_ExceptionMatches(PyExc_UnicodeEncodeError))
      return false;
    PyErr_Clear(); /* the str has lone surrogates, which a Java String may have, too */
    PyObject *bytes = PyUnicode_AsEncodedString(text, "utf-8", "surrogatepass");
    if (!own_value(builder, bytes))
      return false;
    data = PyBytes_AsString(bytes);
    length = PyBytes_Size(bytes);
  }
  *out = (struct jp_text){data, (size_t)length};
  return true;
}

const char *builder_name(struct argument_builder *builder, PyObject *text)
{
  struct jp_text name;
  if (!PyUnicode_Check(text)) {
    PyErr_Format(PyExc_TypeError, "a name has to be a str, not %R", (PyObject *)Py_TYPE(text));
    return NULL;
  }
  if (!read_text(builder, text, &name))
    return NULL;
  if (strlen(name.data) != name.len) {
    PyErr_SetString(PyExc_ValueError, "a name with a NUL");
    return NULL;
  }
  return name.data;
}

static bool put_text(struct argument_builder *builder, PyObject *value, struct jp_argument *out)
{
  out->kind = JP_ARGUMENT_TEXT;
  return read_text(builder, value, &out->as.text);
}

/* ---- numbers ---- */

/* Python limits the digits of conversions between int and str, so the module decimal is used, which has no
 * limit. */
static PyObject *format_digits(PyObject *integer)
{
  PyObject *digits = PyNumber_ToBase(integer, 10);
  if (digits != NULL || !PyErr_ExceptionMatches(PyExc_ValueError))
    return digits;
  PyErr_Clear();
  PyObject *module = PyImport_ImportModule("decimal");
  PyObject *number = module == NULL ? NULL : PyObject_CallMethod(module, "Decimal", "O", integer);
  digits = number == NULL ? NULL : PyObject_Str(number);
  Py_XDECREF(module);
  Py_XDECREF(number);
  return digits;
}

static bool put_integer(struct argument_builder *builder, PyObject *value, struct jp_argument *out)
{
  int overflow;
  long long number = PyLong_AsLongLongAndOverflow(value, &overflow);
  if (number == -1 && PyErr_Occurred())
    return false;
  if (overflow == 0) {
    out->kind = JP_ARGUMENT_INTEGER;
    out->as.integer = number;
    return true;
  }
  PyObject *digits = format_digits(value);
  if (!own_value(builder, digits) || !put_text(builder, digits, out))
    return false;
  *out = jp_json_argument(out->as.text);
  return true;
}

static void put_number(double number, struct jp_argument *out)
{
  out->kind = JP_ARGUMENT_NUMBER;
  out->as.number = number;
}

/* ---- lists and maps ---- */

/* The common type of a list's elements. Java cannot compare an Integer and a Long: if one of the integers in
 * a list does not fit an Integer, and no type is declared, all of them are sent as Long or a wider type. */
enum width { WIDTH_NONE, WIDTH_INTEGER, WIDTH_LONG, WIDTH_BIG, WIDTH_MIXED };

static enum width widen_width(enum width width, const struct jp_argument *element)
{
  enum width own = WIDTH_MIXED;
  if (element->kind == JP_ARGUMENT_JSON) /* only put_integer makes these */
    own = WIDTH_BIG;
  else if (element->kind == JP_ARGUMENT_INTEGER && element->type == NULL)
    own = element->as.integer >= INT32_MIN && element->as.integer <= INT32_MAX ? WIDTH_INTEGER : WIDTH_LONG;
  return own > width ? own : width;
}

static const char *width_elements(enum width width)
{
  return width == WIDTH_LONG ? "long" : width == WIDTH_BIG ? "java.math.BigInteger" : NULL;
}

/* Converts a list, a tuple, or an iterator of a set. */
static bool put_items(struct argument_builder *builder, PyObject *sequence, const char *type,
                      struct jp_argument *out)
{
  PyObject *tuple = PySequence_Tuple(sequence);
  if (!own_value(builder, tuple))
    return false;
  if (Py_EnterRecursiveCall(" in an argument for Java"))
    return false;
  out->kind = JP_ARGUMENT_LIST;
  out->type = type;
  out->as.list.items = to_java_all(builder, tuple, 0, &out->as.list.count);
  builder->values += out->as.list.count;
  Py_LeaveRecursiveCall();
  enum width width = WIDTH_NONE;
  for (size_t i = 0; out->as.list.items != NULL && i < out->as.list.count && width != WIDTH_MIXED; i++)
    width = widen_width(width, &out->as.list.items[i]);
  if (builder->wanted == NULL) /* no type is declared */
    out->elements = width_elements(width);
  return out->as.list.items != NULL;
}

/* The peer would read a bare object with one of these members as an argument (docs/protocol.md,
 * "Arguments"). */
static bool looks_like_argument(struct jp_text key)
{
  static const char *const names[] = {"type", "value", "ref"};
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
    if (key.len == strlen(names[i]) && memcmp(key.data, names[i], key.len) == 0)
      return true;
  }
  return false;
}

/* True: the keys are sent as texts: str, or numbers of one kind. The peer converts them to the declared type,
 * or else to the Java type of their kind. If the dict is sent in pieces, only str keys are plain. */
static bool has_plain_keys(const struct argument_builder *builder, PyObject *dict)
{
  Py_ssize_t at = 0;
  PyObject *key;
  PyTypeObject *first = NULL;
  while (PyDict_Next(dict, &at, &key, NULL)) {
    if (first != NULL && Py_TYPE(key) != first)
      return false;
    first = Py_TYPE(key);
  }
  if (first == NULL || first == &PyUnicode_Type)
    return true;
  return !builder->in_pieces && (first == &PyLong_Type || first == &PyFloat_Type || first == &PyBool_Type);
}

/* The text of a number: a new reference. */
static PyObject *key_text(PyObject *key)
{
  if (PyLong_CheckExact(key))
    return format_digits(key);
  if (PyBool_Check(key))
    return PyUnicode_FromString(key == Py_True ? "true" : "false");
  double number = PyFloat_AsDouble(key);
  if (isinf(number))
    return PyUnicode_FromString(number > 0 ? "Infinity" : "-Infinity");
  return isnan(number) ? PyUnicode_FromString("NaN") : PyObject_Repr(key);
}

static bool read_key(struct argument_builder *builder, PyObject *key, struct jp_text *out)
{
  if (PyUnicode_Check(key))
    return read_text(builder, key, out);
  PyObject *text = key_text(key);
  return own_value(builder, text) && read_text(builder, text, out);
}

/* The same as widen_width, for the keys of one dict; keys that are not integers all have one kind. */
static const char *key_type(PyObject *key, enum width width)
{
  if (PyLong_CheckExact(key))
    return width == WIDTH_INTEGER ? "int" : width_elements(width);
  return PyBool_Check(key) ? "boolean" : PyFloat_Check(key) ? "double" : NULL;
}

static enum width key_width(PyObject *key)
{
  int overflow = 0;
  long long number = PyLong_CheckExact(key) ? PyLong_AsLongLongAndOverflow(key, &overflow) : 0;
  if (overflow != 0)
    return WIDTH_BIG;
  return number >= INT32_MIN && number <= INT32_MAX ? WIDTH_INTEGER : WIDTH_LONG;
}

static bool put_dict(struct argument_builder *builder, PyObject *dict, struct jp_argument *out)
{
  PyObject *copy = PyDict_Copy(dict); /* converting a value may run Python code that changes the dict */
  if (!own_value(builder, copy) || Py_EnterRecursiveCall(" in an argument for Java"))
    return false;
  struct jp_entry *entries = builder_alloc(builder, ((size_t)PyDict_Size(copy) + 1) * sizeof *entries);
  Py_ssize_t at = 0;
  PyObject *key;
  PyObject *value;
  size_t count = 0;
  bool good = entries != NULL;
  out->kind = JP_ARGUMENT_MAP;
  enum width width = WIDTH_NONE;
  enum width keys = WIDTH_NONE;
  out->keys = NULL;
  while (good && PyDict_Next(copy, &at, &key, &value)) {
    keys = key_width(key) > keys ? key_width(key) : keys;
    out->keys = key_type(key, keys);
    good = read_key(builder, key, &entries[count].key) && to_java(builder, value, &entries[count].value);
    if (good && looks_like_argument(entries[count].key))
      out->type = "java.util.Map";
    if (good)
      width = widen_width(width, &entries[count].value);
    count++;
  }
  out->elements = width_elements(width);
  Py_LeaveRecursiveCall();
  builder->values += count;
  out->as.map.entries = entries;
  out->as.map.count = count;
  return good;
}

struct jp_argument *to_java_all(struct argument_builder *builder, PyObject *tuple, Py_ssize_t from,
                                size_t *count)
{
  Py_ssize_t size = PyTuple_Size(tuple);
  *count = (size_t)(size - from);
  struct jp_argument *items = builder_alloc(builder, (*count + 1) * sizeof *items);
  builder->level++;
  bool good = items != NULL;
  for (Py_ssize_t i = from; good && i < size; i++) {
    if (builder->level == 1)
      builder->place = (size_t)(i - from) + 1;
    good = to_java(builder, PyTuple_GetItem(tuple, i), &items[i - from]);
  }
  builder->level--;
  return good ? items : NULL;
}

/* ---- buffers ---- */

/* The number of the value's form, from 0 to last. */
static Py_ssize_t choose_form(struct argument_builder *builder, Py_ssize_t last)
{
  struct form_choice *choice = &builder->choice;
  size_t place = builder->place;
  if (place >= FORM_PLACES)
    return 0;
  if (last > choice->last[place])
    choice->last[place] = last < FORM_MAX ? (unsigned char)last : FORM_MAX;
  return choice->form[place] < last ? choice->form[place] : last;
}

/* A numpy scalar has a buffer, too. */
static bool is_scalar(PyObject *value)
{
  if (PyBytes_Check(value) || PyByteArray_Check(value))
    return false;
  PyObject *dimensions = PyObject_GetAttrString(value, "ndim");
  bool is_zero = dimensions != NULL && PyLong_Check(dimensions) && PyLong_AsLong(dimensions) == 0;
  Py_XDECREF(dimensions);
  PyErr_Clear();
  return is_zero;
}

/* True for a masked numpy array, because its buffer has numbers for the masked elements, too. */
static bool has_mask(PyObject *value)
{
  return !PyBytes_Check(value) && !PyByteArray_Check(value) && PyObject_HasAttrString(value, "mask");
}

static int put_in_pieces(struct argument_builder *builder, PyObject *value, PyObject *type,
                         struct jp_argument *out);

/* Returns 1 or -1, as put_buffer. */
static int put_elements(struct argument_builder *builder, PyObject *buffer, struct jp_argument *out)
{
  PyObject *list = PyObject_HasAttrString(buffer, "tolist") ? PyObject_CallMethod(buffer, "tolist", NULL)
                                                            : PySequence_List(buffer);
  if (!own_value(builder, list))
    return -1;
  int done = put_in_pieces(builder, list, Py_None, out);
  return done != 0 ? done : put_items(builder, list, NULL, out) ? 1 : -1;
}

/* The arrays that a buffer may become, in the order in which they are tried; after them, a list. */
static const struct buffer_forms {
  enum element_kind kind;
  size_t size;
  struct buffer_form {
    /* For a type with more than one form: "char[]" is exactly this array. Otherwise "int": elements of this
     * type, which the peer converts to the member's array if that holds them exactly. */
    const char *type;
    struct element to;
  } forms[3]; /* type NULL: no more */
} buffer_forms[] = {
    {ELEMENT_SIGNED, 1, {{"byte", {ELEMENT_SIGNED, 1, false}}}},
    {ELEMENT_SIGNED, 2, {{"short", {ELEMENT_SIGNED, 2, false}}}},
    {ELEMENT_SIGNED, 4, {{"int", {ELEMENT_SIGNED, 4, false}}}},
    {ELEMENT_SIGNED, 8, {{"long", {ELEMENT_SIGNED, 8, false}}}},
    {ELEMENT_UNSIGNED, 1, {{"byte[]", {ELEMENT_UNSIGNED, 1, false}}, {"short", {ELEMENT_SIGNED, 2, false}}}},
    {ELEMENT_UNSIGNED,
     2,
     {{"char[]", {ELEMENT_UNSIGNED, 2, false}},
      {"short[]", {ELEMENT_UNSIGNED, 2, false}},
      {"int", {ELEMENT_SIGNED, 4, false}}}},
    {ELEMENT_UNSIGNED, 4, {{"long", {ELEMENT_SIGNED, 8, false}}}},
    {ELEMENT_UNSIGNED, 8, {{"long", {ELEMENT_SIGNED, 8, false}}}},
    {ELEMENT_FRACTION, 2, {{"float", {ELEMENT_FRACTION, 4, false}}}},
    {ELEMENT_FRACTION, 4, {{"float", {ELEMENT_FRACTION, 4, false}}}},
    {ELEMENT_FRACTION, 8, {{"double", {ELEMENT_FRACTION, 8, false}}}},
    {ELEMENT_FRACTION, 16, {{"double", {ELEMENT_FRACTION, 8, false}}}},
    {ELEMENT_BOOLEAN, 1, {{"boolean[]", {ELEMENT_BOOLEAN, 1, false}}}},
};

/* NULL: Java has no array for this format. */
static const struct buffer_forms *find_forms(struct element element)
{
  for (size_t i = 0; i < sizeof buffer_forms / sizeof *buffer_forms; i++) {
    if (buffer_forms[i].kind == element.kind && buffer_forms[i].size == element.size)
      return &buffer_forms[i];
  }
  return NULL;
}

static bool is_array_type(const char *type)
{
  return type[strlen(type) - 1] == ']';
}

static Py_ssize_t count_forms(const struct buffer_forms *forms)
{
  Py_ssize_t count = 0;
  while (count < (Py_ssize_t)(sizeof forms->forms / sizeof forms->forms[0]) &&
         forms->forms[count].type != NULL)
    count++;
  return count;
}

/* The form for an array whose type is known: elements of the same size keep their bits, other elements keep
 * their values. */
static const struct buffer_form *form_for(const struct buffer_forms *forms, const char *element)
{
  const struct buffer_form *by_value = &forms->forms[0];
  size_t length = strlen(element);
  for (Py_ssize_t i = 0; i < count_forms(forms); i++) {
    const char *type = forms->forms[i].type;
    if (!is_array_type(type))
      by_value = &forms->forms[i];
    else if (strlen(type) == length + 2 && strncmp(type, element, length) == 0)
      return &forms->forms[i];
  }
  return by_value;
}

/* Converts a row of a buffer to consecutive elements. */
static bool put_row(struct argument_builder *builder, const Py_buffer *view, struct element from,
                    const char *at, const struct buffer_form *form, struct jp_argument *out)
{
  const int last = view->ndim - 1;
  const Py_ssize_t count = view->shape[last];
  const Py_ssize_t stride = view->strides[last];
  const void *elements = at;
  bool is_same = from.kind == form->to.kind && from.size == form->to.size && !from.is_swapped;
  if (!is_same || (stride != (Py_ssize_t)from.size && count > 1)) {
    char *copy = builder_alloc(builder, (size_t)count * form->to.size + 1);
    if (copy == NULL || !elements_copy(at, stride, from, copy, (Py_ssize_t)form->to.size, form->to, count))
      return false;
    elements = copy;
  }
  *out = is_array_type(form->type) ? jp_array(form->type, elements, (size_t)count)
                                   : jp_elements(form->type, elements, (size_t)count);
  return true;
}

/* Converts one dimension: a list of the dimensions below. */
static bool put_dimension(struct argument_builder *builder, const Py_buffer *view, struct element from,
                          int dimension, const char *at, const struct buffer_form *form,
                          struct jp_argument *out)
{
  if (dimension == view->ndim - 1)
    return put_row(builder, view, from, at, form, out);
  const Py_ssize_t count = view->shape[dimension];
  struct jp_argument *rows = builder_alloc(builder, ((size_t)count + 1) * sizeof *rows);
  bool good = rows != NULL;
  for (Py_ssize_t i = 0; good && i < count; i++)
    good =
        put_dimension(builder, view, from, dimension + 1, at + i * view->strides[dimension], form, &rows[i]);
  *out = jp_list(NULL, rows, (size_t)count);
  return good;
}

/* The member may change the array: its changed elements are written to the buffer, perhaps after the builder
 * was freed. */
static bool note_out(struct argument_builder *builder, PyObject *value, const Py_buffer *view,
                     struct element element, struct jp_argument *out)
{
  if (builder->level != 1 || !builder->is_call || view->readonly || view->ndim != 1)
    return true;
  struct builder_out *kept = PyMem_Malloc(sizeof *kept);
  if (kept == NULL) {
    PyErr_NoMemory();
    return false;
  }
  *kept = (struct builder_out){
      .element = element, .step = builder->step, .argument = builder->place - 1, .next = builder->outs};
  if (PyObject_GetBuffer(value, &kept->view, PyBUF_RECORDS) != 0) {
    PyMem_Free(kept);
    return false;
  }
  builder->outs = kept;
  out->out = 1;
  return true;
}

static Py_ssize_t count_elements(const Py_buffer *view)
{
  return view->itemsize == 0 ? 0 : view->len / view->itemsize;
}

/* The form of the buffer in this attempt. NULL: a list, or an exception. */
static const struct buffer_form *choose_buffer_form(struct argument_builder *builder,
                                                    const struct buffer_forms *forms, const Py_buffer *view)
{
  enum { LISTED_MAX = 1 << 22 }; /* the most elements that a call without a fitting form converts to a list */
  if (builder->wanted != NULL)
    return form_for(forms, builder->wanted);
  const Py_ssize_t count = count_forms(forms);
  Py_ssize_t last = count_elements(view) <= LISTED_MAX ? count : count - 1;
  Py_ssize_t chosen = choose_form(builder, last);
  return chosen < count ? &forms->forms[chosen] : NULL;
}

/* Sets the strides of a contiguous buffer that has none although strides were requested, for example a buffer
 * of ctypes. */
static bool set_strides(struct argument_builder *builder, Py_buffer *view)
{
  Py_ssize_t stride = view->itemsize;
  view->strides = builder_alloc(builder, ((size_t)view->ndim + 1) * sizeof *view->strides);
  for (int i = view->ndim; view->strides != NULL && i-- > 0;) {
    view->strides[i] = stride;
    stride *= view->shape[i];
  }
  return view->strides != NULL;
}

/* 1: converted to an array, or in the last form to a list; 0: not a buffer, or Java has no array for its
 * format; -1: an exception. */
static int put_buffer(struct argument_builder *builder, PyObject *value, struct jp_argument *out)
{
  struct element element;
  if (!PyObject_CheckBuffer(value) || is_scalar(value) || has_mask(value))
    return 0;
  struct builder_buffer *buffer = builder_alloc(builder, sizeof *buffer);
  if (buffer == NULL)
    return -1;
  if (PyObject_GetBuffer(value, &buffer->view, PyBUF_RECORDS_RO) != 0) {
    PyErr_Clear(); /* the elements are reached through pointers, or their type has no format */
    return 0;
  }
  size_t longest = builder->connection->limits.message_max;
  if (longest > 0 && !builder->in_pieces &&
      (size_t)buffer->view.len > longest) { /* so that the value is not written before it is refused */
    PyErr_Format(PyExc_OverflowError,
                 "a buffer has %zd bytes, and the peer accepts at most %zu (message-max)", buffer->view.len,
                 longest);
    builder->fate = BUILDER_TOO_LONG;
    PyBuffer_Release(&buffer->view);
    return -1;
  }
  buffer->next = builder->buffers;
  builder->buffers = buffer;
  if (buffer->view.strides == NULL && buffer->view.shape != NULL && !set_strides(builder, &buffer->view))
    return -1;
  const struct buffer_forms *forms = NULL;
  if (buffer->view.ndim > 0 && buffer->view.shape != NULL && element_of_format(&buffer->view, &element))
    forms = find_forms(element);
  if (forms == NULL)
    return 0;
  const struct buffer_form *form = choose_buffer_form(builder, forms, &buffer->view);
  if (form == NULL)
    return put_elements(builder, value, out);
  if (put_dimension(builder, &buffer->view, element, 0, buffer->view.buf, form, out))
    return note_out(builder, value, &buffer->view, element, out) ? 1 : -1;
  /* Unsigned integers that do not fit a long: the member may accept a list of numbers. */
  if (element.kind != ELEMENT_UNSIGNED || !PyErr_ExceptionMatches(PyExc_OverflowError))
    return -1;
  PyErr_Clear();
  return put_elements(builder, value, out);
}

/* ---- objects, callbacks, values with a type ---- */

static bool put_object(struct argument_builder *builder, PyObject *value, struct jp_argument *out)
{
  const struct object *object = (const struct object *)value;
  if (object->ref == NULL) {
    PyErr_SetString(PyExc_TypeError, "an object without a handle: it was not made by Java");
    return false;
  }
  if (object->connection != builder->connection) {
    PyErr_SetString(PyExc_ValueError, "an object of another connection");
    return false;
  }
  *out = jp_object(object->ref);
  return true;
}

static bool put_callback(struct argument_builder *builder, PyObject *value, struct jp_argument *out)
{
  struct builder_callback *kept = builder_alloc(builder, sizeof *kept);
  struct given *given = kept == NULL ? NULL : callback_acquire(builder, value);
  if (given == NULL)
    return false;
  *kept = (struct builder_callback){.given = given, .next = builder->callbacks};
  builder->callbacks = kept;
  *out = jp_callback_argument(callback_handle(given));
  return true;
}

/* "int" for "int[][]" and "[[I", "" for other array types. NULL: not an array type. */
static const char *element_of_array(const char *type)
{
  static const char *const names[] = {"boolean", "byte", "char", "short", "int", "long", "float", "double"};
  static const char letters[] = "ZBCSIJFD";
  size_t length = strlen(type);
  if (type[0] == '[') {
    const char *letter = strchr(letters, type[length - 1]);
    return length > 1 && letter != NULL && type[length - 2] == '[' ? names[letter - letters] : "";
  }
  size_t end = length;
  while (end > 2 && strncmp(type + end - 2, "[]", 2) == 0)
    end -= 2;
  if (end == length)
    return NULL;
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
    if (strlen(names[i]) == end && strncmp(type, names[i], end) == 0)
      return names[i];
  }
  return "";
}

/* A long value that the Python half has sent in pieces is replaced by the object of these pieces. 1:
 * replaced; 0: not in pieces; -1: an exception. */
static int put_in_pieces(struct argument_builder *builder, PyObject *value, PyObject *type,
                         struct jp_argument *out)
{
  if (!builder->in_pieces || value == Py_None || PyLong_Check(value) || PyFloat_Check(value))
    return 0;
  PyObject *made = PyObject_CallFunctionObjArgs(builder->connection->in_pieces, value, type, NULL);
  if (made == Py_None) {
    Py_DECREF(made);
    return 0;
  }
  return own_value(builder, made) && put_object(builder, made, out) ? 1 : -1;
}

static bool put_typed(struct argument_builder *builder, PyObject *value, struct jp_argument *out)
{
  const struct typed *typed = (const struct typed *)value;
  const char *type = builder_name(builder, typed->type);
  if (type == NULL)
    return false;
  int done = put_in_pieces(builder, typed->value, typed->type, out);
  if (done != 0) {
    out->type = type;
    return done > 0;
  }
  const char *element = element_of_array(type);
  bool is_primitives = element != NULL && element[0] != '\0';
  const char *outer = builder->wanted;
  size_t values = builder->values;
  builder->wanted = is_primitives ? element : NULL;
  bool good = to_java(builder, typed->value, out);
  builder->wanted = outer;
  if (!good)
    return false;
  if (out->kind == JP_ARGUMENT_LIST && element != NULL) /* elements of arrays do not count as values */
    builder->values = values;
  if (out->kind == JP_ARGUMENT_ARRAY && element != NULL && !is_primitives &&
      put_elements(builder, typed->value, out) < 0)
    return false;
  if (out->kind == JP_ARGUMENT_JSON) /* the digits of a large integer */
    out->kind = JP_ARGUMENT_TEXT;
  if (out->kind != JP_ARGUMENT_ARRAY || (is_primitives && out->elements != NULL))
    out->type = type;
  return true;
}

static bool put_result(struct argument_builder *builder, PyObject *value, struct jp_argument *out)
{
  enum { NAME_SIZE = 24 };
  char *name = builder_alloc(builder, NAME_SIZE);
  if (name == NULL)
    return false;
  snprintf(name, NAME_SIZE, "%zd", ((const struct result *)value)->index);
  *out = jp_named(name);
  return true;
}

static bool put_forms(struct argument_builder *builder, PyObject *value, struct jp_argument *out)
{
  PyObject *forms = ((const struct forms *)value)->forms;
  PyObject *form = Py_NewRef(PyTuple_GetItem(forms, choose_form(builder, PyTuple_Size(forms) - 1)));
  if (PyCallable_Check(form)) {
    PyObject *made = PyObject_CallNoArgs(form);
    Py_DECREF(form);
    form = made;
  }
  return own_value(builder, form) && to_java(builder, form, out);
}

/* ---- conversions by the hooks ---- */

/* The Python half converts the value to a type that is known here. */
static bool put_converted(struct argument_builder *builder, PyObject *converter, PyObject *value,
                          struct jp_argument *out)
{
  PyObject *made = PyObject_CallFunctionObjArgs(converter, value, NULL);
  if (made != NULL && made == value) {
    PyErr_Format(PyExc_TypeError, "%R has no form in Java", (PyObject *)Py_TYPE(value));
    Py_CLEAR(made);
  }
  if (!own_value(builder, made) || Py_EnterRecursiveCall(" in an argument for Java"))
    return false;
  bool good = to_java(builder, made, out);
  Py_LeaveRecursiveCall();
  return good;
}

/* Borrowed; NULL: the hooks do not handle any of the value's types. */
static PyObject *find_converter(const struct argument_builder *builder, PyObject *value)
{
  PyObject *mro = PyObject_GetAttrString((PyObject *)Py_TYPE(value), "__mro__");
  PyObject *found = NULL;
  Py_ssize_t count = mro == NULL ? 0 : PyTuple_Size(mro);
  for (Py_ssize_t i = 0; i < count && found == NULL; i++)
    found = PyDict_GetItemWithError(builder->connection->to_java, PyTuple_GetItem(mro, i));
  Py_XDECREF(mro);
  return found;
}

/* Converts an object of a subclass of one of Python's own types like this type. 1: converted; 0: another
 * type; -1: an exception. */
static int put_derived(struct argument_builder *builder, PyObject *value, struct jp_argument *out)
{
  if (PyUnicode_Check(value))
    return put_text(builder, value, out) ? 1 : -1;
  if (PyLong_Check(value))
    return put_integer(builder, value, out) ? 1 : -1;
  if (PyFloat_Check(value)) {
    put_number(PyFloat_AsDouble(value), out);
    return 1;
  }
  if (PyList_Check(value) || PyTuple_Check(value))
    return put_items(builder, value, NULL, out) ? 1 : -1;
  if (PyAnySet_Check(value))
    return put_items(builder, value, "java.util.Set", out) ? 1 : -1;
  if (PyDict_Check(value) && has_plain_keys(builder, value))
    return put_dict(builder, value, out) ? 1 : -1;
  return 0;
}

static bool put_other(struct argument_builder *builder, PyObject *value, struct jp_argument *out)
{
  PyObject *converter = find_converter(builder, value);
  if (converter != NULL)
    return put_converted(builder, converter, value, out);
  if (PyErr_Occurred())
    return false;
  int done = put_derived(builder, value, out);
  if (done == 0)
    done = put_buffer(builder, value, out);
  if (done != 0)
    return done > 0;
  return put_converted(builder, builder->connection->other_to_java, value, out);
}

/* True if the peer has already refused the buffer in the form that its pieces would have. */
static bool is_later_form(const struct argument_builder *builder, PyObject *value)
{
  return builder->place < FORM_PLACES && builder->choice.form[builder->place] > 0 &&
         PyObject_CheckBuffer(value);
}

bool to_java(struct argument_builder *builder, PyObject *value, struct jp_argument *out)
{
  PyTypeObject *type = Py_TYPE(value);
  *out = (struct jp_argument){.kind = JP_ARGUMENT_NULL};
  if (value == Py_None)
    return true;
  if (PyBool_Check(value)) {
    out->kind = JP_ARGUMENT_BOOLEAN;
    out->as.boolean = value == Py_True;
    return true;
  }
  if (PyLong_CheckExact(value))
    return put_integer(builder, value, out);
  if (PyUnicode_CheckExact(value) && !builder->in_pieces)
    return put_text(builder, value, out);
  if (PyFloat_CheckExact(value)) {
    put_number(PyFloat_AsDouble(value), out);
    return true;
  }
  if (PyType_IsSubtype(type, types.object))
    return put_object(builder, value, out);
  if (type == types.typed)
    return put_typed(builder, value, out);
  if (builder->in_pieces && !is_later_form(builder, value) && type != types.callback &&
      type != types.result && type != types.forms) {
    int done = put_in_pieces(builder, value, Py_None, out);
    if (done != 0)
      return done > 0;
  }
  if (PyList_CheckExact(value) || PyTuple_CheckExact(value))
    return put_items(builder, value, NULL, out);
  if (type == types.callback)
    return put_callback(builder, value, out);
  if (type == types.result)
    return put_result(builder, value, out);
  if (type == types.forms)
    return put_forms(builder, value, out);
  return put_other(builder, value, out);
}

bool to_java_field(struct argument_builder *builder, PyObject *value, struct jp_argument *out)
{
  builder->level = 1;
  builder->place = 1;
  return to_java(builder, value, out);
}

static const char *array_of(struct argument_builder *builder, const char *element)
{
  size_t size = strlen(element) + sizeof "[]";
  char *name = builder_alloc(builder, size);
  if (name != NULL)
    snprintf(name, size, "%s[]", element);
  return name;
}

bool to_java_receiver(struct argument_builder *builder, PyObject *value, const char *type,
                      struct jp_argument *out)
{
  if (value == Py_None) {
    PyErr_SetString(PyExc_TypeError, "None has no members of Java's");
    return false;
  }
  if (!to_java(builder, value, out))
    return false;
  bool is_value = out->kind != JP_ARGUMENT_REF && out->kind != JP_ARGUMENT_NAMED;
  if (is_value && out->type == NULL)
    out->type = out->kind == JP_ARGUMENT_ARRAY ? array_of(builder, out->elements) : type;
  return true;
}
