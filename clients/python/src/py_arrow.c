/* Columns for the Arrow C data interface, and columns from it (https://arrow.apache.org/docs/format/
 * CDataInterface.html). The columns of jpeer have Arrow's layout, so that a Table is exported without a copy; a
 * column of another library is copied, because it may have other widths, an offset or a dictionary. */
#include "base/c_library.h"
#include "py_native.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The structs of the interface, whose names and members are its ABI. */
struct ArrowSchema {
  const char *format;
  const char *name;
  const char *metadata;
  int64_t flags;
  int64_t n_children;
  struct ArrowSchema **children;
  struct ArrowSchema *dictionary;
  void (*release)(struct ArrowSchema *);
  void *private_data;
};

struct ArrowArray {
  int64_t length;
  int64_t null_count;
  int64_t offset;
  int64_t n_buffers;
  int64_t n_children;
  const void **buffers;
  struct ArrowArray **children;
  struct ArrowArray *dictionary;
  void (*release)(struct ArrowArray *);
  void *private_data;
};

struct ArrowArrayStream {
  int (*get_schema)(struct ArrowArrayStream *, struct ArrowSchema *out);
  int (*get_next)(struct ArrowArrayStream *, struct ArrowArray *out);
  const char *(*get_last_error)(struct ArrowArrayStream *);
  void (*release)(struct ArrowArrayStream *);
  void *private_data;
};

enum { FLAG_NULLABLE = 2, BITS = 8, BUFFERS_MAX = 3, NO_MEMORY = 12 /* ENOMEM */ };

static bool bit_of(const void *bits, int64_t at)
{
  return (((const uint8_t *)bits)[at / BITS] >> at % BITS & 1) != 0;
}

/* ---- a Table as a stream ---- */

struct table_stream {
  PyObject *fields;  /* a list of (name, format, is nullable) */
  PyObject *batches; /* a list of (rows, [(null count, buffers), ...]) */
  Py_ssize_t at;
  char error[200];
};

static void release_schema(struct ArrowSchema *schema)
{
  for (int64_t i = 0; i < schema->n_children; i++) {
    if (schema->children[i] != NULL && schema->children[i]->release != NULL)
      schema->children[i]->release(schema->children[i]);
    free(schema->children[i]);
  }
  free(schema->children);
  free(schema->private_data);
  schema->release = NULL;
}

/* Makes a schema whose children are all NULL. False: memory is short, and *out is released. */
static bool make_schema(struct ArrowSchema *out, const char *format, const char *name, int64_t flags,
                        int64_t children)
{
  size_t length = strlen(format) + 1;
  char *texts = malloc(length + strlen(name) + 1); /* the format, and the name after it */
  *out = (struct ArrowSchema){.format = texts,
                              .flags = flags,
                              .n_children = children,
                              .children = calloc((size_t)children + 1, sizeof(void *)),
                              .release = release_schema,
                              .private_data = texts};
  if (texts != NULL && out->children != NULL) {
    memcpy(texts, format, length);
    out->name = memcpy(texts + length, name, strlen(name) + 1);
    return true;
  }
  out->n_children = 0;
  release_schema(out);
  return false;
}

static int get_schema(struct ArrowArrayStream *stream, struct ArrowSchema *out)
{
  struct table_stream *table = stream->private_data;
  PyGILState_STATE state = PyGILState_Ensure();
  Py_ssize_t count = PyList_Size(table->fields);
  bool good = make_schema(out, "+s", "", 0, count);
  for (Py_ssize_t i = 0; good && i < count; i++) {
    const char *name;
    const char *format;
    int is_nullable;
    good = PyArg_ParseTuple(PyList_GetItem(table->fields, i), "ssp", &name, &format, &is_nullable) &&
           (out->children[i] = calloc(1, sizeof **out->children)) != NULL &&
           make_schema(out->children[i], format, name, is_nullable ? FLAG_NULLABLE : 0, 0);
  }
  if (!good) {
    PyErr_Clear();
    snprintf(table->error, sizeof table->error, "the schema has no memory");
    if (out->release != NULL)
      release_schema(out);
  }
  PyGILState_Release(state);
  return good ? 0 : NO_MEMORY;
}

/* The buffers of a column, which a consumer may release on any thread. */
struct column_buffers {
  const void *pointers[BUFFERS_MAX];
  Py_buffer views[BUFFERS_MAX];
  size_t count;
};

static void free_buffers(struct column_buffers *buffers)
{
  for (size_t i = 0; i < buffers->count; i++)
    PyBuffer_Release(&buffers->views[i]);
  free(buffers);
}

static void release_column(struct ArrowArray *array)
{
  /* After the end of Python the memory is lost with the process. */
  if (Py_IsInitialized()) {
    PyGILState_STATE state = PyGILState_Ensure();
    free_buffers(array->private_data);
    PyGILState_Release(state);
  }
  array->release = NULL;
}

static void release_batch(struct ArrowArray *array)
{
  for (int64_t i = 0; i < array->n_children; i++) {
    if (array->children[i] != NULL && array->children[i]->release != NULL)
      array->children[i]->release(array->children[i]);
    free(array->children[i]);
  }
  free(array->children);
  free(array->private_data);
  array->release = NULL;
}

/* Buffers that are None are NULL for the consumer. */
static bool make_column(struct ArrowArray *out, long long rows, PyObject *column)
{
  long long nulls;
  PyObject *given;
  if (!PyArg_ParseTuple(column, "LO!", &nulls, &PyTuple_Type, &given))
    return false;
  struct column_buffers *buffers = calloc(1, sizeof *buffers);
  Py_ssize_t count = PyTuple_Size(given);
  if (buffers == NULL || count > BUFFERS_MAX) {
    free(buffers);
    PyErr_NoMemory();
    return false;
  }
  for (Py_ssize_t i = 0; i < count; i++) {
    PyObject *each = PyTuple_GetItem(given, i);
    if (each == Py_None)
      continue;
    if (PyObject_GetBuffer(each, &buffers->views[buffers->count], PyBUF_SIMPLE) != 0) {
      free_buffers(buffers);
      return false;
    }
    buffers->pointers[i] = buffers->views[buffers->count++].buf;
  }
  *out = (struct ArrowArray){.length = rows,
                             .null_count = nulls,
                             .n_buffers = count,
                             .buffers = buffers->pointers,
                             .release = release_column,
                             .private_data = buffers};
  return true;
}

static bool make_batch(struct ArrowArray *out, PyObject *batch)
{
  long long rows;
  PyObject *columns;
  if (!PyArg_ParseTuple(batch, "LO!", &rows, &PyList_Type, &columns))
    return false;
  Py_ssize_t count = PyList_Size(columns);
  *out =
      (struct ArrowArray){.length = rows,
                          .n_buffers = 1,
                          .n_children = count,
                          .children = calloc((size_t)count + 1, sizeof(void *)),
                          .private_data = calloc(1, sizeof(void *)), /* the list of its buffers: no bitmap */
                          .release = release_batch};
  out->buffers = out->private_data;
  bool good = out->children != NULL && out->buffers != NULL;
  if (out->children == NULL)
    out->n_children = 0;
  for (Py_ssize_t i = 0; good && i < count; i++) {
    out->children[i] = calloc(1, sizeof **out->children);
    good = out->children[i] != NULL && make_column(out->children[i], rows, PyList_GetItem(columns, i));
  }
  if (!good)
    release_batch(out);
  return good;
}

static int get_next(struct ArrowArrayStream *stream, struct ArrowArray *out)
{
  struct table_stream *table = stream->private_data;
  PyGILState_STATE state = PyGILState_Ensure();
  int failure = 0;
  if (table->at == PyList_Size(table->batches)) {
    *out = (struct ArrowArray){.release = NULL};
  } else if (make_batch(out, PyList_GetItem(table->batches, table->at))) {
    table->at++;
  } else {
    PyErr_Clear();
    snprintf(table->error, sizeof table->error, "page %zd has no memory, or a column that is no buffer",
             table->at);
    failure = NO_MEMORY;
  }
  PyGILState_Release(state);
  return failure;
}

static const char *get_last_error(struct ArrowArrayStream *stream)
{
  struct table_stream *table = stream->private_data;
  return table->error[0] == '\0' ? NULL : table->error;
}

static void release_stream(struct ArrowArrayStream *stream)
{
  struct table_stream *table = stream->private_data;
  if (Py_IsInitialized()) {
    PyGILState_STATE state = PyGILState_Ensure();
    Py_DECREF(table->fields);
    Py_DECREF(table->batches);
    PyGILState_Release(state);
    free(table);
  }
  stream->release = NULL;
}

static void free_stream_capsule(PyObject *capsule)
{
  struct ArrowArrayStream *stream = PyCapsule_GetPointer(capsule, "arrow_array_stream");
  if (stream->release != NULL)
    stream->release(stream);
  free(stream);
}

PyObject *arrow_stream(PyObject *module, PyObject *args)
{
  (void)module;
  PyObject *fields;
  PyObject *batches;
  if (!PyArg_ParseTuple(args, "O!O!:arrow_stream", &PyList_Type, &fields, &PyList_Type, &batches))
    return NULL;
  struct table_stream *table = calloc(1, sizeof *table);
  struct ArrowArrayStream *stream = calloc(1, sizeof *stream);
  if (table == NULL || stream == NULL) {
    free(table);
    free(stream);
    return PyErr_NoMemory();
  }
  table->fields = Py_NewRef(fields);
  table->batches = Py_NewRef(batches);
  *stream = (struct ArrowArrayStream){get_schema, get_next, get_last_error, release_stream, table};
  PyObject *capsule = PyCapsule_New(stream, "arrow_array_stream", free_stream_capsule);
  if (capsule == NULL) {
    release_stream(stream);
    free(stream);
  }
  return capsule;
}

/* ---- checks of what a peer has sent ---- */

/* The length of a sequence of UTF-8 at `at`, by Unicode's table of well-formed sequences; 0: it is malformed. */
static size_t utf8_length(const uint8_t *at, size_t left)
{
  uint8_t first = at[0];
  size_t length = first < 0x80   ? 1
                  : first < 0xC2 ? 0
                  : first < 0xE0 ? 2
                  : first < 0xF0 ? 3
                  : first < 0xF5 ? 4
                                 : 0;
  if (length == 0 || length > left)
    return 0;
  for (size_t i = 1; i < length; i++)
    if ((at[i] & 0xC0) != 0x80)
      return 0;
  if (length == 3 && ((first == 0xE0 && at[1] < 0xA0) || (first == 0xED && at[1] > 0x9F)))
    return 0;
  if (length == 4 && ((first == 0xF0 && at[1] < 0x90) || (first == 0xF4 && at[1] > 0x8F)))
    return 0;
  return length;
}

static bool is_utf8(const uint8_t *at, size_t length)
{
  const uint64_t high = 0x8080808080808080U;
  for (size_t i = 0; i < length;) {
    uint64_t word;
    if (length - i >= sizeof word && (memcpy(&word, at + i, sizeof word), (word & high) == 0)) {
      i += sizeof word;
      continue;
    }
    size_t step = utf8_length(at + i, length - i);
    if (step == 0)
      return false;
    i += step;
  }
  return true;
}

/* True if the offsets lead through the data, without a step back, and each text begins with a character. */
static bool are_good_offsets(const Py_buffer *offsets, const Py_buffer *data, bool is_text)
{
  const uint8_t *bytes = data->buf;
  size_t count = (size_t)offsets->len / sizeof(int32_t);
  int32_t last = 0;
  for (size_t i = 0; i < count; i++) {
    int32_t next;
    memcpy(&next, (const char *)offsets->buf + i * sizeof next, sizeof next);
    if (next < last || next > data->len)
      return false;
    if (is_text && next < data->len && (bytes[next] & 0xC0) == 0x80)
      return false;
    last = next;
  }
  return !is_text || is_utf8(bytes, (size_t)data->len);
}

PyObject *arrow_check_offsets(PyObject *module, PyObject *args)
{
  (void)module;
  Py_buffer offsets;
  Py_buffer data;
  int is_text;
  if (!PyArg_ParseTuple(args, "y*y*p:check_offsets", &offsets, &data, &is_text))
    return NULL;
  bool good;
  Py_BEGIN_ALLOW_THREADS;
  good = are_good_offsets(&offsets, &data, is_text);
  Py_END_ALLOW_THREADS;
  PyBuffer_Release(&offsets);
  PyBuffer_Release(&data);
  return PyBool_FromLong(good);
}

PyObject *arrow_return_free_memory(PyObject *module, PyObject *unused)
{
  (void)module;
  (void)unused;
  /* The buffers of a page's columns lie side by side, so that those of one column leave holes, which glibc keeps. */
  Py_BEGIN_ALLOW_THREADS;
  c_library_return_memory();
  Py_END_ALLOW_THREADS;
  Py_RETURN_NONE;
}

/* ---- columns of other libraries ---- */

/* How the values of an Arrow type become those of jpeer. */
enum conversion_kind {
  CONVERT_COPY,
  CONVERT_WIDEN, /* integers without a sign */
  CONVERT_LONGS, /* uint64: longs, or decimals if one is too large */
  CONVERT_HALF,  /* to floats */
  CONVERT_BITS,
  CONVERT_FLAGS, /* bytes to bits */
  CONVERT_SCALE, /* to int64, times or divided by a number */
  CONVERT_DAYS,  /* int64 milliseconds to int32 days */
  CONVERT_TEXT,  /* int32 offsets */
  CONVERT_LARGE, /* int64 offsets */
  CONVERT_VIEW,
  CONVERT_FIXED, /* bytes of one length */
  CONVERT_NULL
};

struct arrow_type {
  const char *format;
  const char *type;
  const char *unit; /* NULL: none */
  enum conversion_kind kind;
  size_t width;   /* bytes of a value in Arrow */
  size_t out;     /* and in jpeer */
  int64_t factor; /* of CONVERT_SCALE */
};

/* A format that ends with a colon has a time zone after it: with one it is an instant. */
static const struct arrow_type arrow_types[] = {
    {"n", "object", NULL, CONVERT_NULL, 0, 0, 0},
    {"b", "boolean", NULL, CONVERT_BITS, 0, 0, 0},
    {"c", "byte", NULL, CONVERT_COPY, 1, 1, 0},
    {"C", "short", NULL, CONVERT_WIDEN, 1, 2, 0},
    {"s", "short", NULL, CONVERT_COPY, 2, 2, 0},
    {"S", "int", NULL, CONVERT_WIDEN, 2, 4, 0},
    {"i", "int", NULL, CONVERT_COPY, 4, 4, 0},
    {"I", "long", NULL, CONVERT_WIDEN, 4, 8, 0},
    {"l", "long", NULL, CONVERT_COPY, 8, 8, 0},
    {"L", "long", NULL, CONVERT_LONGS, 8, 8, 0},
    {"e", "float", NULL, CONVERT_HALF, 2, 4, 0},
    {"f", "float", NULL, CONVERT_COPY, 4, 4, 0},
    {"g", "double", NULL, CONVERT_COPY, 8, 8, 0},
    {"u", "string", NULL, CONVERT_TEXT, 4, 0, 0},
    {"U", "string", NULL, CONVERT_LARGE, 8, 0, 0},
    {"vu", "string", NULL, CONVERT_VIEW, 16, 0, 0},
    {"z", "binary", NULL, CONVERT_TEXT, 4, 0, 0},
    {"Z", "binary", NULL, CONVERT_LARGE, 8, 0, 0},
    {"vz", "binary", NULL, CONVERT_VIEW, 16, 0, 0},
    {"tdD", "date", NULL, CONVERT_COPY, 4, 4, 0},
    {"tdm", "date", NULL, CONVERT_DAYS, 8, 4, 0},
    {"tts", "time", NULL, CONVERT_SCALE, 4, 8, 1000000000},
    {"ttm", "time", NULL, CONVERT_SCALE, 4, 8, 1000000},
    {"ttu", "time", NULL, CONVERT_SCALE, 8, 8, 1000},
    {"ttn", "time", NULL, CONVERT_COPY, 8, 8, 0},
    {"tss:", "timestamp", "us", CONVERT_SCALE, 8, 8, 1000000},
    {"tsm:", "timestamp", "us", CONVERT_SCALE, 8, 8, 1000},
    {"tsu:", "timestamp", "us", CONVERT_COPY, 8, 8, 0},
    {"tsn:", "timestamp", "ns", CONVERT_COPY, 8, 8, 0},
};

/* A column while it is read: what Arrow gave, and what jpeer gets. */
struct arrow_column {
  struct arrow_type type;
  bool is_instant;
  int scale; /* of a decimal; -1: no decimal */
  const struct ArrowArray *array;
  int64_t first; /* the first row, with the array's offset */
  int64_t rows;
  PyObject *data;
  PyObject *offsets;
  PyObject *valid;
};

/* What an extension type means, whose values are stored as those of another type. An extension that is not here is as its
 * storage. */
struct arrow_extension {
  const char *name;
  const char *format; /* of the storage; NULL: any, whose values are not those of the extension */
  struct arrow_type type;
};

static const struct arrow_extension arrow_extensions[] = {
    {"arrow.bool8", "c", {"c", "boolean", NULL, CONVERT_FLAGS, 1, 0, 0}},
    {"arrow.uuid", "w:16", {"w:16", "uuid", NULL, CONVERT_FIXED, 16, 0, 0}},
    {"arrow.opaque", NULL, {0}},
    {"pandas.period", NULL, {0}},
};

/* A length and so many bytes of the metadata. Moves *at after them. */
static const char *read_metadata(const char **at, size_t *length)
{
  int32_t size;
  memcpy(&size, *at, sizeof size);
  const char *text = *at + sizeof size;
  *length = size < 0 ? 0 : (size_t)size;
  *at = text + *length;
  return text;
}

static const struct arrow_extension *find_extension(const struct ArrowSchema *schema)
{
  static const char key[] = "ARROW:extension:name";
  int32_t count = 0;
  const char *at = schema->metadata;
  if (at != NULL)
    memcpy(&count, at, sizeof count);
  at = at == NULL ? NULL : at + sizeof count;
  for (int32_t i = 0; i < count; i++) {
    size_t key_length;
    size_t length;
    const char *found = read_metadata(&at, &key_length);
    const char *value = read_metadata(&at, &length);
    if (key_length != sizeof key - 1 || memcmp(found, key, key_length) != 0)
      continue;
    for (size_t j = 0; j < sizeof arrow_extensions / sizeof *arrow_extensions; j++) {
      const struct arrow_extension *each = &arrow_extensions[j];
      if (strlen(each->name) == length && memcmp(each->name, value, length) == 0)
        return each;
    }
  }
  return NULL;
}

static bool find_type(const struct ArrowSchema *schema, struct arrow_column *column)
{
  const char *format = schema->format;
  column->scale = -1;
  const struct arrow_extension *extension = find_extension(schema);
  if (extension != NULL) {
    column->type = extension->type;
    return extension->format != NULL && strcmp(extension->format, format) == 0;
  }
  for (size_t i = 0; i < sizeof arrow_types / sizeof *arrow_types; i++) {
    size_t length = strlen(arrow_types[i].format);
    bool has_zone = arrow_types[i].format[length - 1] == ':';
    if (has_zone ? strncmp(format, arrow_types[i].format, length) != 0
                 : strcmp(format, arrow_types[i].format) != 0)
      continue;
    column->type = arrow_types[i];
    column->is_instant = has_zone && format[length] != '\0';
    return true;
  }
  int digits;
  int width;
  int end = 0;
  column->type =
      (struct arrow_type){.format = format, .type = "decimal", .kind = CONVERT_COPY, .width = 16, .out = 16};
  if (sscanf(format, "d:%d,%d%n", &digits, &column->scale, &end) == 2 && column->scale >= 0 &&
      column->scale <= 38 && (format[end] == '\0' || strcmp(format + end, ",128") == 0))
    return true;
  column->scale = -1;
  column->type = (struct arrow_type){.format = format, .type = "binary", .kind = CONVERT_FIXED};
  if (sscanf(format, "w:%d%n", &width, &end) == 1 && format[end] == '\0' && width >= 0) {
    column->type.width = (size_t)width;
    return true;
  }
  return false;
}

/* A copy of the bits from that of the number `first` on. */
static PyObject *copy_bits(const void *bits, int64_t first, int64_t count)
{
  PyObject *made = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)((count + BITS - 1) / BITS));
  if (made == NULL)
    return NULL;
  uint8_t *out = (uint8_t *)PyBytes_AsString(made);
  memset(out, 0, (size_t)((count + BITS - 1) / BITS));
  for (int64_t i = 0; i < count; i++)
    out[i / BITS] |= (uint8_t)(bit_of(bits, first + i) << i % BITS);
  return made;
}

static bool is_null(const struct arrow_column *column, int64_t row)
{
  const void *valid = column->array->n_buffers > 0 ? column->array->buffers[0] : NULL;
  return valid != NULL && !bit_of(valid, column->first + row);
}

static bool fail(const char *what)
{
  PyErr_SetString(PyExc_ValueError, what);
  return false;
}

/* The bytes of a value of variable length. */
static bool find_bytes(const struct arrow_column *column, int64_t row, const uint8_t **at, size_t *length)
{
  const struct ArrowArray *array = column->array;
  const uint8_t *values = array->buffers[1];
  int64_t number = column->first + row;
  int64_t ends[2];
  int32_t view[4];
  switch (column->type.kind) {
  case CONVERT_FIXED:
    *at = values + number * (int64_t)column->type.width;
    *length = column->type.width;
    return true;
  case CONVERT_VIEW: /* length; the bytes, or their first 4, the buffer and the offset */
    memcpy(view, values + number * (int64_t)sizeof view, sizeof view);
    *length = (size_t)view[0];
    *at = values + number * (int64_t)sizeof view + sizeof view[0];
    if (view[0] > 12) {
      if (view[2] < 0 || view[2] >= array->n_buffers - 3 || view[3] < 0)
        return fail("a view has no buffer");
      *at = (const uint8_t *)array->buffers[2 + view[2]] + view[3];
    }
    return view[0] >= 0 || fail("a view has a negative length");
  default:
    for (int i = 0; i < 2; i++) {
      int32_t narrow;
      if (column->type.kind == CONVERT_LARGE) {
        memcpy(&ends[i], values + (number + i) * (int64_t)sizeof ends[i], sizeof ends[i]);
      } else {
        memcpy(&narrow, values + (number + i) * (int64_t)sizeof narrow, sizeof narrow);
        ends[i] = narrow;
      }
    }
    *at = (const uint8_t *)array->buffers[2] + ends[0];
    *length = (size_t)(ends[1] - ends[0]);
    return (ends[0] >= 0 && ends[1] >= ends[0]) || fail("offsets decrease");
  }
}

static bool copy_texts(struct arrow_column *column)
{
  int64_t total = 0;
  const uint8_t *at;
  size_t length;
  for (int64_t row = 0; row < column->rows; row++) {
    if (is_null(column, row))
      continue;
    if (!find_bytes(column, row, &at, &length))
      return false;
    total += (int64_t)length;
    if (total > INT32_MAX)
      return fail("a page of more than 2 GiB");
  }
  column->data = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)total);
  column->offsets =
      PyBytes_FromStringAndSize(NULL, (Py_ssize_t)((column->rows + 1) * (int64_t)sizeof(int32_t)));
  if (column->data == NULL || column->offsets == NULL)
    return false;
  char *out = PyBytes_AsString(column->data);
  char *offsets = PyBytes_AsString(column->offsets);
  int32_t end = 0;
  memcpy(offsets, &end, sizeof end);
  for (int64_t row = 0; row < column->rows; row++) {
    if (!is_null(column, row)) {
      if (!find_bytes(column, row, &at, &length))
        return false;
      if (length > 0)
        memcpy(out + end, at, length);
      end += (int32_t)length;
    }
    memcpy(offsets + (row + 1) * (int64_t)sizeof end, &end, sizeof end);
  }
  return true;
}

static float float_of_half(uint16_t half)
{
  uint32_t sign = (uint32_t)(half >> 15) << 31;
  uint32_t exponent = half >> 10 & 0x1F;
  uint32_t fraction = half & 0x3FF;
  float made;
  if (exponent == 0) {
    made = (float)fraction / (float)(1 << 24);
    return sign != 0 ? -made : made;
  }
  uint32_t bits = sign | (exponent == 0x1F ? 0x7F800000 : (exponent + 112) << 23) | fraction << 13;
  memcpy(&made, &bits, sizeof made);
  return made;
}

static int64_t read_integer(const uint8_t *at, size_t width, bool is_signed)
{
  uint64_t bits = 0;
  memcpy(&bits, at, width);
  unsigned unused = (unsigned)(sizeof bits - width) * BITS;
  return !is_signed || unused == 0 ? (int64_t)bits : (int64_t)(bits << unused) >> unused;
}

/* Converts the value of a row that is not null. */
static bool convert_value(const struct arrow_column *column, const uint8_t *in, char *out)
{
  const struct arrow_type *type = &column->type;
  int64_t number;
  int32_t day;
  float fraction;
  switch (type->kind) {
  case CONVERT_HALF:
    fraction = float_of_half((uint16_t)read_integer(in, sizeof(uint16_t), false));
    memcpy(out, &fraction, sizeof fraction);
    return true;
  case CONVERT_DAYS:
    number = read_integer(in, type->width, true);
    number = number / 86400000 - (number % 86400000 < 0);
    day = (int32_t)number;
    memcpy(out, &day, sizeof day);
    return day == number || fail("a date is out of range");
  case CONVERT_SCALE:
    if (__builtin_mul_overflow(read_integer(in, type->width, true), type->factor, &number))
      return fail("a time is out of range");
    memcpy(out, &number, sizeof number);
    return true;
  default: /* CONVERT_WIDEN, CONVERT_LONGS */
    number = read_integer(in, type->width, false);
    memset(out, 0, type->out);
    memcpy(out, &number, type->out < sizeof number ? type->out : sizeof number);
    return true;
  }
}

/* A uint64 column becomes a column of decimals if a value exceeds a long. */
static void choose_longs(struct arrow_column *column)
{
  const uint8_t *in = (const uint8_t *)column->array->buffers[1] + column->first * (int64_t)sizeof(uint64_t);
  for (int64_t row = 0; row < column->rows; row++) {
    if (!is_null(column, row) &&
        read_integer(in + row * (int64_t)sizeof(uint64_t), sizeof(uint64_t), true) < 0) {
      column->type.type = "decimal";
      column->type.out = 16;
      column->scale = 0;
      return;
    }
  }
}

static bool copy_numbers(struct arrow_column *column)
{
  if (column->type.kind == CONVERT_LONGS)
    choose_longs(column);
  const struct arrow_type *type = &column->type;
  const uint8_t *in = (const uint8_t *)column->array->buffers[1] + column->first * (int64_t)type->width;
  column->data = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)(column->rows * (int64_t)type->out));
  if (column->data == NULL)
    return false;
  char *out = PyBytes_AsString(column->data);
  if (type->kind == CONVERT_COPY) {
    if (column->rows > 0)
      memcpy(out, in, (size_t)column->rows * type->out);
    return true;
  }
  for (int64_t row = 0; row < column->rows; row++, in += type->width, out += type->out) {
    if (is_null(column, row))
      memset(out, 0, type->out);
    else if (!convert_value(column, in, out))
      return false;
  }
  return true;
}

static PyObject *copy_flags(const struct arrow_column *column)
{
  PyObject *made = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)((column->rows + BITS - 1) / BITS));
  if (made == NULL)
    return NULL;
  const uint8_t *in = (const uint8_t *)column->array->buffers[1] + column->first;
  uint8_t *out = (uint8_t *)PyBytes_AsString(made);
  memset(out, 0, (size_t)((column->rows + BITS - 1) / BITS));
  for (int64_t i = 0; i < column->rows; i++)
    out[i / BITS] |= (uint8_t)((in[i] != 0) << i % BITS);
  return made;
}

static bool copy_column(struct arrow_column *column)
{
  const struct ArrowArray *array = column->array;
  const void *valid = array->n_buffers > 0 ? array->buffers[0] : NULL;
  int64_t needed = column->type.kind == CONVERT_NULL ? 0
                   : column->type.kind == CONVERT_TEXT || column->type.kind == CONVERT_LARGE ||
                           column->type.kind == CONVERT_VIEW
                       ? 3
                       : 2;
  if (array->n_buffers < needed)
    return fail("it lacks a buffer");
  if (column->type.kind == CONVERT_NULL)
    return true;
  if (valid != NULL && array->null_count != 0 &&
      (column->valid = copy_bits(valid, column->first, column->rows)) == NULL)
    return false;
  if (column->type.kind == CONVERT_BITS)
    return (column->data = copy_bits(array->buffers[1], column->first, column->rows)) != NULL;
  if (column->type.kind == CONVERT_FLAGS)
    return (column->data = copy_flags(column)) != NULL;
  return column->type.kind >= CONVERT_TEXT ? copy_texts(column) : copy_numbers(column);
}

static void drop_column(struct arrow_column *column)
{
  Py_CLEAR(column->data);
  Py_CLEAR(column->offsets);
  Py_CLEAR(column->valid);
}

/* ---- dictionaries: a column of indexes into another column ---- */

/* The index of a row, or -1 for null. False: it is beyond the dictionary. */
static bool read_index(const struct arrow_column *indexes, int64_t row, const struct arrow_column *values,
                       int64_t *index)
{
  *index = -1;
  if (is_null(indexes, row))
    return true;
  size_t width = indexes->type.width;
  bool is_signed = indexes->type.kind == CONVERT_COPY;
  const uint8_t *at = (const uint8_t *)indexes->array->buffers[1] + (indexes->first + row) * (int64_t)width;
  *index = read_integer(at, width, is_signed);
  if (*index < 0 || *index >= values->rows)
    return fail("an index is beyond its dictionary");
  if (is_null(values, *index))
    *index = -1;
  return true;
}

static bool gather(struct arrow_column *indexes, const struct arrow_column *values, struct arrow_column *out)
{
  int64_t rows = indexes->rows;
  int64_t index;
  size_t total = 0;
  const char *data = PyBytes_AsString(values->data);
  const int32_t *ends =
      values->offsets == NULL ? NULL : (const int32_t *)(const void *)PyBytes_AsString(values->offsets);
  for (int64_t row = 0; row < rows; row++) {
    if (!read_index(indexes, row, values, &index))
      return false;
    total += ends == NULL ? values->type.out : index < 0 ? 0 : (size_t)(ends[index + 1] - ends[index]);
  }
  if (ends != NULL && total > INT32_MAX)
    return fail("a page of more than 2 GiB");
  out->data = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)total);
  out->valid = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)((rows + BITS - 1) / BITS));
  if (ends != NULL)
    out->offsets = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)((rows + 1) * (int64_t)sizeof *ends));
  if (out->data == NULL || out->valid == NULL || (ends != NULL && out->offsets == NULL))
    return false;
  char *at = PyBytes_AsString(out->data);
  uint8_t *bits = (uint8_t *)PyBytes_AsString(out->valid);
  int32_t *offsets = ends == NULL ? NULL : (int32_t *)(void *)PyBytes_AsString(out->offsets);
  int32_t end = 0;
  memset(bits, 0, (size_t)((rows + BITS - 1) / BITS));
  for (int64_t row = 0; row < rows; row++) {
    if (offsets != NULL)
      offsets[row] = end;
    if (!read_index(indexes, row, values, &index))
      return false;
    size_t length = ends == NULL ? values->type.out : index < 0 ? 0 : (size_t)(ends[index + 1] - ends[index]);
    if (index < 0)
      memset(at, 0, length);
    else
      memcpy(at, ends == NULL ? data + (size_t)index * length : data + ends[index], length);
    bits[row / BITS] |= (uint8_t)((index >= 0) << row % BITS);
    at += length;
    end += (int32_t)length;
  }
  if (offsets != NULL)
    offsets[rows] = end;
  return true;
}

static bool copy_dictionary(const struct ArrowSchema *schema, struct arrow_column *column)
{
  struct arrow_column indexes = *column;
  struct arrow_column values = {.array = column->array->dictionary};
  if (values.array == NULL || !find_type(schema->dictionary, &values) || values.type.kind == CONVERT_BITS ||
      values.type.kind == CONVERT_FLAGS || values.type.kind == CONVERT_NULL ||
      indexes.type.kind > CONVERT_LONGS)
    return fail("its dictionary has no type that Java has");
  values.first = values.array->offset;
  values.rows = values.array->length;
  bool good = copy_column(&values);
  column->type = values.type;
  column->scale = values.scale;
  column->is_instant = values.is_instant;
  good = good && gather(&indexes, &values, column);
  drop_column(&values);
  return good;
}

/* ---- the reader ---- */

struct arrow_reader {
  struct ArrowArrayStream stream; /* release NULL: there is one batch, or the stream has ended */
  struct ArrowSchema schema;
  struct ArrowArray batch; /* release NULL: none */
  int64_t at;              /* the next row of the batch */
};

static const char reader_name[] = "jpeer.arrow_reader";

static void free_reader(PyObject *capsule)
{
  struct arrow_reader *reader = PyCapsule_GetPointer(capsule, reader_name);
  if (reader->batch.release != NULL)
    reader->batch.release(&reader->batch);
  if (reader->schema.release != NULL)
    reader->schema.release(&reader->schema);
  if (reader->stream.release != NULL)
    reader->stream.release(&reader->stream);
  free(reader);
}

static bool fail_stream(struct arrow_reader *reader)
{
  const char *why = reader->stream.get_last_error(&reader->stream);
  PyErr_Format(PyExc_ValueError, "the Arrow stream has failed: %s",
               why == NULL ? "it does not say why" : why);
  return false;
}

static bool open_stream(struct arrow_reader *reader, PyObject *capsule)
{
  struct ArrowArrayStream *given = PyCapsule_GetPointer(capsule, "arrow_array_stream");
  if (given == NULL)
    return false;
  if (given->release == NULL)
    return fail("the Arrow stream was read already");
  reader->stream = *given;
  given->release = NULL;
  return reader->stream.get_schema(&reader->stream, &reader->schema) == 0 || fail_stream(reader);
}

static bool open_array(struct arrow_reader *reader, PyObject *schema, PyObject *array)
{
  struct ArrowSchema *type = PyCapsule_GetPointer(schema, "arrow_schema");
  struct ArrowArray *batch = type == NULL ? NULL : PyCapsule_GetPointer(array, "arrow_array");
  if (batch == NULL)
    return false;
  if (type->release == NULL || batch->release == NULL)
    return fail("the Arrow array was read already");
  reader->schema = *type;
  type->release = NULL;
  reader->batch = *batch;
  batch->release = NULL;
  return true;
}

static bool is_struct(const struct arrow_reader *reader)
{
  return strcmp(reader->schema.format, "+s") == 0;
}

static PyObject *list_names(const struct arrow_reader *reader)
{
  int64_t count = is_struct(reader) ? reader->schema.n_children : 1;
  PyObject *names = PyList_New((Py_ssize_t)count);
  for (int64_t i = 0; names != NULL && i < count; i++) {
    const char *name = is_struct(reader) ? reader->schema.children[i]->name : NULL;
    PyObject *text =
        name == NULL ? Py_NewRef(Py_None) : PyUnicode_DecodeUTF8(name, (Py_ssize_t)strlen(name), "replace");
    if (text == NULL || PyList_SetItem(names, (Py_ssize_t)i, text) != 0)
      Py_CLEAR(names);
  }
  return names;
}

/* A stream, or a schema and an array. Returns a capsule and the names of the columns. */
PyObject *arrow_open(PyObject *module, PyObject *args)
{
  (void)module;
  PyObject *first;
  PyObject *second = NULL;
  if (!PyArg_ParseTuple(args, "O|O:arrow_open", &first, &second))
    return NULL;
  struct arrow_reader *reader = calloc(1, sizeof *reader);
  if (reader == NULL)
    return PyErr_NoMemory();
  PyObject *capsule = PyCapsule_New(reader, reader_name, free_reader);
  if (capsule == NULL) {
    free(reader);
    return NULL;
  }
  bool is_open = second == NULL ? open_stream(reader, first) : open_array(reader, first, second);
  PyObject *names = is_open ? list_names(reader) : NULL;
  PyObject *made = names == NULL ? NULL : PyTuple_Pack(2, capsule, names);
  Py_XDECREF(names);
  Py_DECREF(capsule);
  return made;
}

/* Makes the next rows those of reader->batch. *is_end: there are none. */
static bool find_rows(struct arrow_reader *reader, bool *is_end)
{
  *is_end = false;
  while (reader->batch.release == NULL || reader->at == reader->batch.length) {
    if (reader->batch.release != NULL)
      reader->batch.release(&reader->batch);
    reader->batch.release = NULL;
    reader->at = 0;
    if (reader->stream.release == NULL) {
      *is_end = true;
      return true;
    }
    int failure;
    Py_BEGIN_ALLOW_THREADS;
    failure = reader->stream.get_next(&reader->stream, &reader->batch);
    Py_END_ALLOW_THREADS;
    if (failure != 0)
      return fail_stream(reader);
    if (reader->batch.release == NULL) {
      *is_end = true;
      return true;
    }
  }
  return true;
}

static PyObject *read_column(const struct ArrowSchema *schema, const struct ArrowArray *array, int64_t first,
                             int64_t rows)
{
  struct arrow_column column = {.array = array, .first = first + array->offset, .rows = rows};
  bool is_known = find_type(schema, &column);
  if (!is_known) {
    const struct arrow_extension *extension = find_extension(schema);
    PyErr_Format(PyExc_TypeError, "Arrow's type '%s' has no Java type",
                 extension == NULL ? schema->format : extension->name);
  }
  bool good =
      is_known && (schema->dictionary == NULL ? copy_column(&column) : copy_dictionary(schema, &column));
  PyObject *made = NULL;
  if (good) {
    const char *type = column.is_instant ? "instant" : column.type.type;
    PyObject *scale = column.scale < 0 ? Py_NewRef(Py_None) : PyLong_FromLong(column.scale);
    made = scale == NULL ? NULL
                         : Py_BuildValue("(szOOOO)", type, column.type.unit, scale,
                                         column.data == NULL ? Py_None : column.data,
                                         column.offsets == NULL ? Py_None : column.offsets,
                                         column.valid == NULL ? Py_None : column.valid);
    Py_XDECREF(scale);
  }
  drop_column(&column);
  return made;
}

static void name_failure(const struct ArrowSchema *schema)
{
  PyObject *type;
  PyObject *value;
  PyObject *trace;
  PyErr_Fetch(&type, &value, &trace);
  PyErr_NormalizeException(&type, &value, &trace);
  PyErr_Format(type, "column '%s': %S", schema->name == NULL ? "" : schema->name, value);
  Py_XDECREF(type);
  Py_XDECREF(value);
  Py_XDECREF(trace);
}

/* Returns the next rows, at most so many: (rows, [(type, unit, scale, data, offsets, valid), ...]), or None at the
 * end. */
PyObject *arrow_read(PyObject *module, PyObject *args)
{
  (void)module;
  PyObject *capsule;
  long long most;
  bool is_end;
  if (!PyArg_ParseTuple(args, "OL:arrow_read", &capsule, &most))
    return NULL;
  struct arrow_reader *reader = PyCapsule_GetPointer(capsule, reader_name);
  if (reader == NULL || !find_rows(reader, &is_end))
    return NULL;
  if (is_end)
    Py_RETURN_NONE;
  if (is_struct(reader) && reader->batch.null_count != 0 && reader->batch.n_buffers > 0 &&
      reader->batch.buffers[0] != NULL) {
    PyErr_SetString(PyExc_ValueError, "a row of the Arrow array is null");
    return NULL;
  }
  int64_t left = reader->batch.length - reader->at;
  int64_t rows = left < most ? left : most;
  int64_t count = is_struct(reader) ? reader->schema.n_children : 1;
  PyObject *columns = PyList_New((Py_ssize_t)count);
  for (int64_t i = 0; columns != NULL && i < count; i++) {
    const struct ArrowSchema *schema = is_struct(reader) ? reader->schema.children[i] : &reader->schema;
    const struct ArrowArray *array = is_struct(reader) ? reader->batch.children[i] : &reader->batch;
    int64_t first = reader->at + (is_struct(reader) ? reader->batch.offset : 0);
    PyObject *column = read_column(schema, array, first, rows);
    if (column == NULL)
      name_failure(schema);
    if (column == NULL || PyList_SetItem(columns, (Py_ssize_t)i, column) != 0)
      Py_CLEAR(columns);
  }
  reader->at += rows;
  PyObject *made = columns == NULL ? NULL : Py_BuildValue("(LO)", (long long)rows, columns);
  Py_XDECREF(columns);
  return made;
}
