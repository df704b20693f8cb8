/* Rows that a client sends as columns, for a PreparedStatement or a Collection. The Java class RowSink writes
 * them (jni/java); docs/internals/tables.md has the picture. */
#include "jni/fetch/columns.h"

#include "base/base64.h"
#include "jni/convert/arguments.h"
#include "jni/fetch.h"
#include "jni/objects/object_table.h"
#include "jni/resolve/resolve.h"
#include "jni/runtime/strings.h"
#include "jni/runtime/throwables.h"

/* The words of RowSink.java, by its numbers. */
enum row_element { ELEMENT_ARRAY, ELEMENT_LIST, ELEMENT_MAP, ELEMENTS };
enum { DECIMAL_DIGITS = 38 /* of a decimal128 */ };
enum sink_failure { SINK_THROWN = 1, SINK_BAD, SINK_REFUSED, SINK_BUSY };

static const struct text element_names[ELEMENTS] = {
    [ELEMENT_ARRAY] = TEXT("java.lang.Object[]"),
    [ELEMENT_LIST] = TEXT("java.util.List"),
    [ELEMENT_MAP] = TEXT("java.util.Map"),
};

struct rows {
  JNIEnv *env;
  const struct jvm_request *request;
  const struct jvm_columns_ids *ids;
  struct outcome *outcome;
  jobject target;       /* local */
  jclass array_class;   /* local: Object[] */
  jobjectArray columns; /* local: SentColumn[] */
};

static bool fail(struct rows *rows, const char *what)
{
  outcome_fail(rows->outcome, rows->request->arena, FAILURE_INVALID_PARAMS, NULL, "%s", what);
  return false;
}

/* Fails with the column as the place. */
static bool fail_column(struct rows *rows, size_t index, const char *what)
{
  outcome_fail(rows->outcome, rows->request->arena, FAILURE_INVALID_PARAMS, NULL, "column %zu: %s", index,
               what);
  return false;
}

static bool take_exception(struct rows *rows)
{
  return throwable_take_outcome(rows->request->thread, rows->request->arena,
                                rows->request->limits->stack_frames_max, rows->outcome);
}

/* An exception, or no memory. Returns false. */
static bool fail_java(struct rows *rows)
{
  return take_exception(rows) ? false : outcome_fail_memory(rows->outcome) == JP_OK;
}

/* ---- columns ---- */

/* Decodes a buffer into an array of Java. *bytes becomes NULL if the text is absent. */
static bool make_bytes(struct rows *rows, size_t index, const char *what, struct text base64,
                       jbyteArray *bytes)
{
  JNIEnv *env = rows->env;
  *bytes = NULL;
  if (base64.data == NULL)
    return true;
  size_t padding = text_ends_with(base64, TEXT("==")) ? 2 : text_ends_with(base64, TEXT("=")) ? 1 : 0;
  size_t length = base64.len / 4 * 3;
  length -= length == 0 ? 0 : padding;
  size_t count = 0;
  enum jp_status status = JP_INVALID;
  if (base64.len % 4 == 0 && length <= INT32_MAX) {
    *bytes = (*env)->NewByteArray(env, (jsize)length);
    void *into = *bytes == NULL ? NULL : (*env)->GetPrimitiveArrayCritical(env, *bytes, NULL);
    if (into == NULL)
      return fail_java(rows);
    status = base64_decode(base64, into, &count);
    (*env)->ReleasePrimitiveArrayCritical(env, *bytes, into, status == JP_OK ? 0 : JNI_ABORT);
  }
  if (status == JP_OK && count == length)
    return true;
  outcome_fail(rows->outcome, rows->request->arena, FAILURE_INVALID_PARAMS, NULL,
               "column %zu: '%s' is not base64", index, what);
  return false;
}

static bool make_objects(struct rows *rows, const struct op_value *list, jobject *objects)
{
  *objects = NULL;
  if (list == NULL)
    return true;
  const struct argument_path path = {0};
  struct jvm_class *class = jvm_class_of(rows->request->thread, rows->array_class);
  struct conversion conversion = {.thread = rows->request->thread,
                                  .request = rows->request,
                                  .outcome = rows->outcome,
                                  .is_put = true,
                                  .path = &path};
  if (class == NULL)
    return outcome_fail_memory(rows->outcome) == JP_OK;
  return argument_make_array(&conversion, class, list, objects);
}

static bool fail_type(struct rows *rows, size_t index, const struct op_sent_column *column)
{
  struct arena *arena = rows->request->arena;
  struct text type = arena_shorten(arena, column->type, OUTCOME_NAME_SHOWN);
  bool has_unit = text_equal(type, TEXT("timestamp")) || text_equal(type, TEXT("instant"));
  if (column->has_scale && !text_equal(type, TEXT("decimal")))
    outcome_fail(rows->outcome, arena, FAILURE_INVALID_PARAMS, NULL,
                 "column %zu: there is no type '%.*s' with a 'scale'", index, TEXT_ARGS(type));
  else if (column->unit.data != NULL)
    outcome_fail(rows->outcome, arena, FAILURE_INVALID_PARAMS, NULL,
                 "column %zu: there is no type '%.*s' of the unit '%.*s'", index, TEXT_ARGS(type),
                 TEXT_ARGS(arena_shorten(arena, column->unit, OUTCOME_NAME_SHOWN)));
  else
    outcome_fail(rows->outcome, arena, FAILURE_INVALID_PARAMS, NULL, "column %zu: there is no type '%.*s'%s",
                 index, TEXT_ARGS(type), has_unit ? " without a 'unit'" : "");
  return false;
}

/* Finds the type of columns.c, and checks that the column has the members of that type. */
static bool find_type(struct rows *rows, size_t index, const struct op_sent_column *column, jint *type)
{
  int found = columns_type_of(column->type, column->unit, column->has_scale);
  if (found < 0) {
    return fail_type(rows, index, column);
  }
  *type = found;
  if (column->has_scale && (column->scale < 0 || column->scale > DECIMAL_DIGITS))
    return fail_column(rows, index, "'scale' must be from 0 to 38");
  bool is_object = text_equal(column->type, TEXT("object"));
  if (is_object != (column->objects != NULL))
    return fail_column(
        rows, index, is_object ? "'data' of objects must be a list" : "'data' must be a string with base64");
  bool has_offsets = columns_type_has_offsets(found);
  if (has_offsets != (column->offsets.data != NULL))
    return fail_column(rows, index, has_offsets ? "'offsets' are missing" : "this type has no 'offsets'");
  if (is_object && column->valid.data != NULL)
    return fail_column(rows, index, "a column of objects has no 'valid', because its nulls are null");
  return true;
}

static bool add_column(struct rows *rows, size_t index)
{
  JNIEnv *env = rows->env;
  const struct op_sent_column *column = &rows->request->operation->rows.columns[index];
  jbyteArray data;
  jbyteArray offsets;
  jbyteArray valid;
  jobject objects;
  jint type;
  if (!find_type(rows, index, column, &type) || !make_bytes(rows, index, "data", column->data, &data) ||
      !make_bytes(rows, index, "offsets", column->offsets, &offsets) ||
      !make_bytes(rows, index, "valid", column->valid, &valid) ||
      !make_objects(rows, column->objects, &objects))
    return false;
  jstring name = column->name.data == NULL ? NULL : jvm_string_new(rows->request->thread, column->name);
  if (column->name.data != NULL && name == NULL)
    return fail_java(rows);
  size_t most = rows->request->limits->number_digits_max;
  jobject made =
      (*env)->NewObject(env, rows->ids->sent_class, rows->ids->sent_new, name, type, (jint)column->scale,
                        data, offsets, valid, objects, (jint)(most > INT32_MAX ? INT32_MAX : most));
  if (made == NULL)
    return fail_java(rows);
  (*env)->SetObjectArrayElement(env, rows->columns, (jsize)index, made);
  (*env)->DeleteLocalRef(env, made);
  (*env)->DeleteLocalRef(env, name);
  (*env)->DeleteLocalRef(env, data);
  (*env)->DeleteLocalRef(env, offsets);
  (*env)->DeleteLocalRef(env, valid);
  (*env)->DeleteLocalRef(env, objects);
  return true;
}

static bool make_columns(struct rows *rows)
{
  JNIEnv *env = rows->env;
  size_t count = rows->request->operation->rows.column_count;
  rows->array_class = (*env)->FindClass(env, "[Ljava/lang/Object;");
  rows->columns = rows->array_class == NULL
                      ? NULL
                      : (*env)->NewObjectArray(env, (jsize)count, rows->ids->sent_class, NULL);
  if (rows->columns == NULL)
    return fail_java(rows);
  for (size_t i = 0; i < count; i++)
    if (!add_column(rows, i))
      return false;
  return true;
}

/* ---- the object ---- */

static bool open_target(struct rows *rows)
{
  uint32_t class_id;
  const struct operation *operation = rows->request->operation;
  if (!operation->has_instance)
    return fail(rows, "'instance' must be a ref: {\"ref\": N}, or N");
  rows->target =
      jvm_objects_get(rows->request->thread, rows->request->objects, operation->instance, &class_id);
  if (rows->target == NULL)
    jvm_objects_fail_get(rows->request, operation->instance, rows->outcome);
  return rows->target != NULL;
}

static bool find_element(struct rows *rows, jint *element)
{
  struct text type = rows->request->operation->rows.element;
  for (*element = ELEMENT_ARRAY; *element < ELEMENTS; (*element)++)
    if (type.data == NULL || text_equal(type, element_names[*element]))
      return true;
  return fail(rows, "'type' must be java.lang.Object[], java.util.List or java.util.Map");
}

static void add_place(struct rows *rows, jobject sink)
{
  JNIEnv *env = rows->env;
  jstring place = (*env)->GetObjectField(env, sink, rows->ids->sink_place);
  struct text where = jvm_string_get(rows->request->thread, place, rows->request->arena);
  struct text said =
      rows->outcome->message.data == NULL ? rows->outcome->throwable_type : rows->outcome->message;
  struct text message =
      where.data == NULL ? TEXT_ABSENT
                         : arena_printf(rows->request->arena, "%.*s%.*s", TEXT_ARGS(where), TEXT_ARGS(said));
  if (message.data != NULL && where.len > 0)
    rows->outcome->message = message;
  (*env)->DeleteLocalRef(env, place);
}

static void fail_thrown(struct rows *rows, const struct rows_asking *asking, jobject sink, jthrowable thrown)
{
  JNIEnv *env = rows->env;
  struct arena *arena = rows->request->arena;
  enum sink_failure failure = (enum sink_failure)(*env)->GetIntField(env, sink, rows->ids->sink_failure);
  if (failure == SINK_BUSY) {
    outcome_fail(rows->outcome, arena, FAILURE_SERVER, NULL, "another request is adding rows to this object");
    return;
  }
  if (failure == SINK_REFUSED) {
    *rows->outcome = asking->denial;
    return;
  }
  throwable_to_outcome(rows->request->thread, thrown, arena, rows->request->limits->stack_frames_max,
                       rows->outcome);
  if (failure == SINK_BAD) {
    struct text message = rows->outcome->message;
    outcome_fail(rows->outcome, arena, FAILURE_INVALID_PARAMS, NULL, "%.*s", TEXT_ARGS(message));
  }
  add_place(rows, sink);
}

static bool write_rows(struct rows *rows, jint element, jintArray *counts)
{
  JNIEnv *env = rows->env;
  struct rows_asking asking;
  jobject sink = (*env)->NewObject(env, rows->ids->sink_class, rows->ids->sink_new);
  if (sink == NULL)
    return fail_java(rows);
  rows_asking_begin(&asking, rows->request);
  jthrowable thrown = (*env)->CallObjectMethod(env, sink, rows->ids->sink_write, rows->target, element,
                                               rows->columns, (jint)rows->request->operation->rows.count,
                                               (jlong)rows->request->operation->rows.from);
  rows_asking_end(&asking);
  if (take_exception(rows))
    return false;
  if (thrown != NULL) {
    fail_thrown(rows, &asking, sink, thrown);
    return false;
  }
  *counts = (*env)->GetObjectField(env, sink, rows->ids->sink_counts);
  return true;
}

/* ---- the answer ---- */

static void fill_outcome(struct rows *rows, jintArray counts)
{
  JNIEnv *env = rows->env;
  struct arena *arena = rows->request->arena;
  struct op_entry *entries = arena_calloc(arena, 2, sizeof *entries);
  size_t length = counts == NULL ? 0 : (size_t)(*env)->GetArrayLength(env, counts);
  jint *numbers = arena_alloc(arena, (length + 1) * sizeof *numbers);
  if (entries == NULL || numbers == NULL) {
    outcome_fail_memory(rows->outcome);
    return;
  }
  size_t count = 0;
  entries[count++] = (struct op_entry){
      TEXT("rows"), {.kind = OP_INTEGER, .integer = (int64_t)rows->request->operation->rows.count}};
  if (counts != NULL) {
    (*env)->GetIntArrayRegion(env, counts, 0, (jsize)length, numbers);
    entries[count++] = (struct op_entry){
        TEXT("counts"),
        {.kind = OP_PACKED,
         .packed = {.data = numbers, .count = length, .element = 'I', .form = OP_PACKED_BASE64}}};
  }
  *rows->outcome = (struct outcome){.kind = OUTCOME_VALUE,
                                    .type = TEXT("java.util.Map"),
                                    .has_value = true,
                                    .value = {.kind = OP_MAP, .map = {.entries = entries, .count = count}}};
}

void jvm_rows(const struct jvm_request *request, struct outcome *outcome)
{
  *outcome = (struct outcome){.kind = OUTCOME_VOID};
  struct rows rows = {.env = request->thread->env,
                      .request = request,
                      .ids = &request->thread->jvm->columns,
                      .outcome = outcome};
  jint element;
  jintArray counts = NULL;
  if (find_element(&rows, &element) && open_target(&rows) && make_columns(&rows) &&
      write_rows(&rows, element, &counts))
    fill_outcome(&rows, counts);
}
