/* The next rows of a ResultSet, an iterator or an object with an iterator, as columns. The Java class
 * ColumnPages reads the rows (jni/java); docs/internals/tables.md has the picture. */
#include "jni/fetch/columns.h"

#include "jni/convert/judgement.h"
#include "jni/convert/result_values.h"
#include "jni/convert/results.h"
#include "jni/fetch.h"
#include "jni/objects/object_table.h"
#include "jni/resolve/resolve.h"
#include "jni/runtime/strings.h"
#include "jni/runtime/throwables.h"

#include <string.h>

/* The types of Column.java, by its numbers. */
enum column_type {
  COLUMN_DECIMAL = 14,
  COLUMN_DECIMAL_TEXT,
  COLUMN_STRING,
  COLUMN_BINARY,
  COLUMN_OBJECT,
  COLUMN_TYPES
};

/* size: bytes of a value; 0: the type has offsets or a list. A boolean is a bit. */
static const struct {
  struct text name;
  struct text unit; /* data NULL: none */
  size_t size;
  bool is_bit;
} column_types[COLUMN_TYPES] = {
    {TEXT("byte"), TEXT_ABSENT, 1, false},
    {TEXT("short"), TEXT_ABSENT, 2, false},
    {TEXT("int"), TEXT_ABSENT, 4, false},
    {TEXT("long"), TEXT_ABSENT, 8, false},
    {TEXT("float"), TEXT_ABSENT, 4, false},
    {TEXT("double"), TEXT_ABSENT, 8, false},
    {TEXT("char"), TEXT_ABSENT, 2, false},
    {TEXT("boolean"), TEXT_ABSENT, 0, true},
    {TEXT("date"), TEXT_ABSENT, 4, false},
    {TEXT("time"), TEXT_ABSENT, 8, false},
    {TEXT("timestamp"), TEXT("us"), 8, false},
    {TEXT("timestamp"), TEXT("ns"), 8, false},
    {TEXT("instant"), TEXT("us"), 8, false},
    {TEXT("instant"), TEXT("ns"), 8, false},
    [COLUMN_DECIMAL] = {TEXT("decimal"), TEXT_ABSENT, 16, false},
    [COLUMN_DECIMAL_TEXT] = {TEXT("decimal"), TEXT_ABSENT, 0, false},
    [COLUMN_STRING] = {TEXT("string"), TEXT_ABSENT, 0, false},
    [COLUMN_BINARY] = {TEXT("binary"), TEXT_ABSENT, 0, false},
    [COLUMN_OBJECT] = {TEXT("object"), TEXT_ABSENT, 0, false},
};

enum { BITS = 8, COLUMN_MEMBERS = 8 };

/* A column of the page. */
struct read_column {
  jobject column; /* local */
  enum column_type type;
  jobjectArray objects;   /* local; NULL: the type is not COLUMN_OBJECT */
  struct op_value *items; /* of a COLUMN_OBJECT */
};

struct columns {
  JNIEnv *env;
  const struct jvm_request *request;
  const struct jvm_columns_ids *ids;
  struct outcome *outcome;
  struct rows_asking asking;
  uint64_t epoch;
  jobject object; /* local: first the object of the request, then the object that has the position */
  struct jvm_class *class;
  jobject pages; /* local: the ColumnPages of the ref */
  uint32_t ref;
  bool is_own;         /* the peer has made the iterator, and deletes it after its last row */
  bool is_ref_counted; /* the ref has already been counted as sent for this answer */
  bool is_done;
  size_t rows;
  size_t room; /* bytes that remain for the texts of the objects of the row that is being read */
  struct read_column *columns;
  size_t count;
};

/* The innermost request of the thread. */
static _Thread_local struct rows_asking *asks;

void rows_asking_begin(struct rows_asking *asking, const struct jvm_request *request)
{
  *asking = (struct rows_asking){.request = request, .outer = asks};
  asks = asking;
}

void rows_asking_end(const struct rows_asking *asking)
{
  asks = asking->outer;
}

int columns_type_of(struct text type, struct text unit, bool has_scale)
{
  for (int i = 0; i < COLUMN_TYPES; i++) {
    struct text wanted = column_types[i].unit;
    bool has_unit = wanted.data == NULL ? unit.data == NULL : unit.data != NULL && text_equal(unit, wanted);
    bool is_decimal = i == COLUMN_DECIMAL || i == COLUMN_DECIMAL_TEXT;
    if (text_equal(type, column_types[i].name) && has_unit &&
        (is_decimal ? has_scale == (i == COLUMN_DECIMAL) : !has_scale))
      return i;
  }
  return -1;
}

bool columns_type_has_offsets(int type)
{
  return type == COLUMN_DECIMAL_TEXT || type == COLUMN_STRING || type == COLUMN_BINARY;
}

static bool fail(struct columns *page, enum outcome_failure failure, const char *what)
{
  outcome_fail(page->outcome, page->request->arena, failure, NULL, "%s", what);
  return false;
}

static bool fail_memory(struct columns *page)
{
  return outcome_fail_memory(page->outcome) == JP_OK;
}

static bool take_exception(struct columns *page)
{
  return throwable_take_outcome(page->request->thread, page->request->arena,
                                page->request->limits->stack_frames_max, page->outcome);
}

/* ---- questions of ColumnPages about the policy ---- */

static bool judge_read(struct rows_asking *page, struct jvm_class *class, jclass declaring,
                       struct named_method named)
{
  if (named.descriptor[0] == '[' && named.descriptor[1] == ']')
    return jvm_judge_elements(page->request, class, &page->denial);
  return named.descriptor[0] == '(' ? jvm_judge_call(page->request, class, declaring, named, &page->denial)
                                    : jvm_judge_field(page->request, class, declaring, named, &page->denial);
}

static jboolean JNICALL allows(JNIEnv *env, jclass rows, jclass own, jclass declaring, jstring name,
                               jstring descriptor)
{
  (void)rows;
  struct rows_asking *page = asks;
  if (page == NULL || own == NULL || declaring == NULL || name == NULL || descriptor == NULL)
    return JNI_FALSE;
  /* Modified UTF-8, because these names are compared with those of class files (struct named_method). */
  const char *raw_name = (*env)->GetStringUTFChars(env, name, NULL);
  const char *raw_descriptor = raw_name == NULL ? NULL : (*env)->GetStringUTFChars(env, descriptor, NULL);
  bool is_allowed = false;
  if (raw_descriptor == NULL) {
    (*env)->ExceptionClear(env);
    outcome_fail_memory(&page->denial);
  } else {
    struct jvm_class *class = jvm_class_of(page->request->thread, own);
    if (class == NULL)
      outcome_fail_memory(&page->denial);
    is_allowed =
        class != NULL && judge_read(page, class, declaring, (struct named_method){raw_name, raw_descriptor});
    (*env)->ReleaseStringUTFChars(env, descriptor, raw_descriptor);
  }
  if (raw_name != NULL)
    (*env)->ReleaseStringUTFChars(env, name, raw_name);
  return is_allowed ? JNI_TRUE : JNI_FALSE;
}

bool columns_natives_bind(JNIEnv *env, struct jvm *jvm)
{
  struct jvm_columns_ids *ids = &jvm->columns;
  const JNINativeMethod native = {
      "allows", "(Ljava/lang/Class;Ljava/lang/Class;Ljava/lang/String;Ljava/lang/String;)Z", (void *)allows};
  if ((*env)->RegisterNatives(env, ids->rows_class, &native, 1) != 0)
    return false;
  const struct {
    jmethodID *id;
    jclass class;
    const char *name;
    const char *descriptor;
  } methods[] = {
      {&ids->pages_new, ids->pages_class, "<init>", "()V"},
      {&ids->pages_begin, ids->pages_class, "begin", "()Z"},
      {&ids->pages_end, ids->pages_class, "end", "(Z)Z"},
      {&ids->pages_take, ids->pages_class, "take",
       "(Ljava/lang/Object;[Ljava/lang/String;IJZJ)Ljava/lang/Throwable;"},
      {&ids->pages_sizes, ids->pages_class, "sizes", "()[J"},
      {&ids->pages_cut, ids->pages_class, "cut", "(I)V"},
      {&ids->pages_finish, ids->pages_class, "finish", "()[I"},
      {&ids->sent_new, ids->sent_class, "<init>", "(Ljava/lang/String;II[B[B[B[Ljava/lang/Object;I)V"},
      {&ids->sink_new, ids->sink_class, "<init>", "()V"},
      {&ids->sink_write, ids->sink_class, "write",
       "(Ljava/lang/Object;I[Ljpeer/peer/SentColumn;IJ)Ljava/lang/Throwable;"},
  };
  for (size_t i = 0; i < sizeof methods / sizeof *methods; i++) {
    *methods[i].id = (*env)->GetMethodID(env, methods[i].class, methods[i].name, methods[i].descriptor);
    if (*methods[i].id == NULL)
      return false;
  }
  const struct {
    jfieldID *id;
    jclass class;
    const char *name;
    const char *descriptor;
  } fields[] = {
      {&ids->pages_columns, ids->pages_class, "columns", "[Ljpeer/peer/Column;"},
      {&ids->pages_rows, ids->pages_class, "rows", "I"},
      {&ids->pages_is_done, ids->pages_class, "isDone", "Z"},
      {&ids->column_name, ids->column_class, "name", "Ljava/lang/String;"},
      {&ids->column_is_nullable, ids->column_class, "isNullable", "Z"},
      {&ids->column_scale, ids->column_class, "scale", "I"},
      {&ids->column_has_nulls, ids->column_class, "hasNulls", "Z"},
      {&ids->column_nulls, ids->column_class, "nulls", "[Z"},
      {&ids->column_numbers, ids->column_class, "numbers", "[J"},
      {&ids->column_objects, ids->column_class, "objects", "[Ljava/lang/Object;"},
      {&ids->column_offsets, ids->column_class, "offsets", "[I"},
      {&ids->column_bytes, ids->column_class, "bytes", "[B"},
      {&ids->sink_counts, ids->sink_class, "counts", "[I"},
      {&ids->sink_failure, ids->sink_class, "failure", "I"},
      {&ids->sink_place, ids->sink_class, "place", "Ljava/lang/String;"},
  };
  for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
    *fields[i].id = (*env)->GetFieldID(env, fields[i].class, fields[i].name, fields[i].descriptor);
    if (*fields[i].id == NULL)
      return false;
  }
  ids->pages_open =
      (*env)->GetStaticMethodID(env, ids->pages_class, "open", "(Ljava/lang/Object;I)Ljava/lang/Object;");
  return ids->pages_open != NULL;
}

/* ---- the source ---- */

/* Makes the outcome of what ColumnPages returned in place of a page. Returns false. */
static bool fail_thrown(struct columns *page, jthrowable thrown)
{
  JNIEnv *env = page->env;
  if (page->asking.denial.kind == OUTCOME_ERROR) { /* Rows.REFUSED */
    *page->outcome = page->asking.denial;
  } else {
    throwable_to_outcome(page->request->thread, thrown, page->request->arena,
                         page->request->limits->stack_frames_max, page->outcome);
    if ((*env)->IsInstanceOf(env, thrown, page->ids->bad_columns_class)) {
      struct text message = page->outcome->message;
      outcome_fail(page->outcome, page->request->arena, FAILURE_INVALID_PARAMS, NULL, "%.*s",
                   TEXT_ARGS(message));
    }
  }
  (*env)->DeleteLocalRef(env, thrown);
  return false;
}

static bool open_object(struct columns *page)
{
  const struct jvm_request *request = page->request;
  uint32_t class_id = 0;
  page->epoch = jvm_objects_epoch(request->objects);
  if (request->operation->receiver != NULL) {
    struct call_frame frame = {.receiver = NULL};
    if (!call_frame_make_receiver(request, &frame, page->outcome))
      return false;
    page->object = frame.receiver;
    return true;
  }
  page->ref = request->operation->instance;
  page->object = jvm_objects_get(request->thread, request->objects, page->ref, &class_id);
  if (page->object == NULL)
    jvm_objects_fail_get(request, page->ref, page->outcome);
  return page->object != NULL;
}

static bool store_position(struct columns *page)
{
  const struct jvm_request *request = page->request;
  page->class = jvm_class_of_object(request->thread, page->object);
  if (page->class == NULL)
    return fail_memory(page);
  if (!result_store(request, page->epoch, page->class, page->object, &page->ref, page->outcome))
    return false;
  page->is_ref_counted = true;
  page->is_own = request->stored == NULL || request->stored->is_new;
  return true;
}

/* Finds the object that has the position, and stores a new one. */
static bool open_position(struct columns *page)
{
  JNIEnv *env = page->env;
  jobject opened = (*env)->CallStaticObjectMethod(env, page->ids->pages_class, page->ids->pages_open,
                                                  page->object, (jint)page->request->operation->columns.from);
  if (take_exception(page))
    return false;
  if ((*env)->IsInstanceOf(env, opened, page->request->thread->jvm->known.class_throwable) &&
      !(*env)->IsSameObject(env, opened, page->object))
    return fail_thrown(page, opened);
  bool is_new = page->ref == 0 || !(*env)->IsSameObject(env, opened, page->object);
  page->object = opened;
  return !is_new || store_position(page);
}

static bool find_pages(struct columns *page)
{
  JNIEnv *env = page->env;
  jobject made = (*env)->NewObject(env, page->ids->pages_class, page->ids->pages_new);
  if (take_exception(page))
    return false;
  page->pages = jvm_objects_companion(page->request->thread, page->request->objects, page->ref, made);
  (*env)->DeleteLocalRef(env, made);
  if (page->pages == NULL) {
    outcome_fail(page->outcome, page->request->arena, FAILURE_SERVER, NULL,
                 "the object with objRef %u was deleted during the request", page->ref);
    return false;
  }
  return (*env)->IsInstanceOf(env, page->pages, page->ids->pages_class) ||
         fail(page, FAILURE_SERVER, "jpeer.fetch is reading this object");
}

/* ---- the values of a column ---- */

static bool add_member(struct op_value *column, struct text key, struct op_value value)
{
  column->map.entries[column->map.count++] = (struct op_entry){key, value};
  return true;
}

/* size: bytes. */
static bool add_bytes(struct op_value *column, struct text key, const void *data, size_t size)
{
  return add_member(
      column, key,
      (struct op_value){.kind = OP_PACKED,
                        .packed = {.data = data, .count = size, .element = 'B', .form = OP_PACKED_BASE64}});
}

static jobject read_field(const struct columns *page, const struct read_column *column, jfieldID field)
{
  return (*page->env)->GetObjectField(page->env, column->column, field);
}

static bool is_flag(const struct columns *page, const struct read_column *column, jfieldID field)
{
  return (*page->env)->GetBooleanField(page->env, column->column, field) != JNI_FALSE;
}

/* Packs one byte a row, 0 or 1, into bits. inverts: 0 becomes a set bit. NULL: memory is short. */
static uint8_t *pack_bits(struct columns *page, const uint8_t *bytes, bool inverts)
{
  uint8_t *bits = arena_calloc(page->request->arena, (page->rows + BITS - 1) / BITS + 1, 1);
  for (size_t i = 0; bits != NULL && i < page->rows; i++)
    bits[i / BITS] |= (uint8_t)((bytes[i] != 0) != inverts) << i % BITS;
  return bits;
}

static bool add_valid(struct columns *page, const struct read_column *column, struct op_value *out)
{
  if (!is_flag(page, column, page->ids->column_has_nulls))
    return true;
  jbyteArray nulls = read_field(page, column, page->ids->column_nulls);
  uint8_t *bytes = arena_alloc(page->request->arena, page->rows + 1);
  if (bytes == NULL)
    return fail_memory(page);
  (*page->env)->GetBooleanArrayRegion(page->env, nulls, 0, (jsize)page->rows, bytes);
  (*page->env)->DeleteLocalRef(page->env, nulls);
  uint8_t *bits = pack_bits(page, bytes, true);
  return bits == NULL ? fail_memory(page)
                      : add_bytes(out, TEXT("valid"), bits, (page->rows + BITS - 1) / BITS);
}

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the first bytes of a long are the narrow number");

/* Numbers are longs in Java; the answer has their first bytes. */
static bool add_numbers(struct columns *page, const struct read_column *column, struct op_value *out)
{
  size_t size = column_types[column->type].size;
  bool is_bit = column_types[column->type].is_bit;
  jlongArray numbers = read_field(page, column, page->ids->column_numbers);
  uint8_t *data = arena_alloc(page->request->arena, page->rows * sizeof(jlong) + 1);
  if (data == NULL)
    return fail_memory(page);
  (*page->env)->GetLongArrayRegion(page->env, numbers, 0, (jsize)page->rows, (jlong *)(void *)data);
  (*page->env)->DeleteLocalRef(page->env, numbers);
  size_t narrow = is_bit ? 1 : size;
  for (size_t i = 1; narrow < sizeof(jlong) && i < page->rows; i++)
    memmove(data + i * narrow, data + i * sizeof(jlong), narrow);
  if (!is_bit)
    return add_bytes(out, TEXT("data"), data, page->rows * size);
  uint8_t *bits = pack_bits(page, data, false);
  return bits == NULL ? fail_memory(page)
                      : add_bytes(out, TEXT("data"), bits, (page->rows + BITS - 1) / BITS);
}

static bool add_data(struct columns *page, const struct read_column *column, size_t size,
                     struct op_value *out)
{
  jbyteArray bytes = read_field(page, column, page->ids->column_bytes);
  void *data = arena_alloc(page->request->arena, size + 1);
  if (data == NULL)
    return fail_memory(page);
  (*page->env)->GetByteArrayRegion(page->env, bytes, 0, (jsize)size, data);
  (*page->env)->DeleteLocalRef(page->env, bytes);
  return add_bytes(out, TEXT("data"), data, size);
}

static bool add_texts(struct columns *page, const struct read_column *column, struct op_value *out)
{
  jintArray array = read_field(page, column, page->ids->column_offsets);
  jint *offsets = arena_alloc(page->request->arena, (page->rows + 1) * sizeof *offsets);
  if (offsets == NULL)
    return fail_memory(page);
  (*page->env)->GetIntArrayRegion(page->env, array, 0, (jsize)page->rows + 1, offsets);
  (*page->env)->DeleteLocalRef(page->env, array);
  return add_bytes(out, TEXT("offsets"), offsets, (page->rows + 1) * sizeof *offsets) &&
         add_data(page, column, (size_t)offsets[page->rows], out);
}

static bool add_objects(struct columns *page, const struct read_column *column, struct op_value *out)
{
  return add_member(
      out, TEXT("data"),
      (struct op_value){.kind = OP_LIST, .list = {.items = column->items, .count = page->rows}});
}

static bool add_decimals(struct columns *page, const struct read_column *column, struct op_value *out)
{
  jint scale = (*page->env)->GetIntField(page->env, column->column, page->ids->column_scale);
  return add_member(out, TEXT("scale"), (struct op_value){.kind = OP_INTEGER, .integer = scale}) &&
         add_data(page, column, page->rows * column_types[COLUMN_DECIMAL].size, out);
}

static bool fill_column(struct columns *page, const struct read_column *column, struct op_value *out)
{
  struct op_entry *entries = arena_calloc(page->request->arena, COLUMN_MEMBERS, sizeof *entries);
  jstring name = read_field(page, column, page->ids->column_name);
  struct text text = jvm_string_get(page->request->thread, name, page->request->arena);
  (*page->env)->DeleteLocalRef(page->env, name);
  if (entries == NULL || text.data == NULL)
    return fail_memory(page);
  *out = (struct op_value){.kind = OP_MAP, .map = {.entries = entries}};
  struct op_value named = {.kind = OP_TEXT, .text = column_types[column->type].name};
  add_member(out, TEXT("name"), (struct op_value){.kind = OP_TEXT, .text = text});
  add_member(out, TEXT("type"), named);
  if (column_types[column->type].unit.data != NULL)
    add_member(out, TEXT("unit"),
               (struct op_value){.kind = OP_TEXT, .text = column_types[column->type].unit});
  add_member(
      out, TEXT("nullable"),
      (struct op_value){.kind = OP_BOOLEAN, .boolean = is_flag(page, column, page->ids->column_is_nullable)});
  bool (*add)(struct columns *, const struct read_column *, struct op_value *) =
      column->type == COLUMN_OBJECT    ? add_objects
      : column->type == COLUMN_DECIMAL ? add_decimals
      : column->type > COLUMN_DECIMAL  ? add_texts
                                       : add_numbers;
  return add(page, column, out) && (column->type == COLUMN_OBJECT || add_valid(page, column, out));
}

/* ---- objects ---- */

/* True if no later answer has more room: nothing else is in this one, or only the bracket of a batch. */
static bool has_whole_answer(const struct operation *operation)
{
  return operation->columns.room + 1 >= operation->columns.room_max;
}

static size_t find_length(const struct columns *page, const struct op_value *value)
{
  return page->request->operation->columns.text_length(value) + 1;
}

static bool read_object(struct columns *page, jobject object, struct op_value *out)
{
  const struct jvm_request *request = page->request;
  *out = (struct op_value){.kind = OP_NULL};
  if (object == NULL)
    return true;
  const struct jvm_class *class = jvm_class_of_object(request->thread, object);
  if (class == NULL)
    return fail_memory(page);
  if (request->operation->element_types)
    return result_read_typed(request, page->epoch, object, out, page->outcome);
  if (result_is_value_class(class) && result_read_value_object(request, class, object, out))
    return true;
  struct outcome filled = {.kind = OUTCOME_VALUE};
  result_fill_by_value(request, page->epoch, object, &filled);
  if (filled.kind == OUTCOME_ERROR)
    *page->outcome = filled;
  *out = filled.value;
  return filled.kind != OUTCOME_ERROR;
}

/* The object without its value. */
static bool read_as_ref(struct columns *page, jobject object, size_t kept, struct op_value *out)
{
  struct outcome filled;
  result_fill_ref(page->request, page->epoch, object, true, kept, &filled);
  if (filled.kind == OUTCOME_ERROR)
    *page->outcome = filled;
  *out = filled.value;
  return filled.kind != OUTCOME_ERROR;
}

/* Reads the objects of a row. *is_fitting: there is room for them. An object of the only row of an answer becomes
 * a ref if there is none for its value. False: OUTCOME_ERROR. */
static bool read_row(struct columns *page, size_t row, bool may_become_refs, bool *is_fitting)
{
  JNIEnv *env = page->env;
  *is_fitting = true;
  for (size_t i = 0; *is_fitting && i < page->count; i++) {
    struct read_column *column = &page->columns[i];
    if (column->type != COLUMN_OBJECT)
      continue;
    size_t kept = page->request->stored == NULL ? 0 : page->request->stored->count;
    struct arena_mark mark = arena_mark(page->request->arena);
    jobject object = (*env)->GetObjectArrayElement(env, column->objects, (jsize)row);
    struct op_value *out = &column->items[row];
    bool is_read = read_object(page, object, out);
    if (is_read && find_length(page, out) > page->room && may_become_refs && object != NULL) {
      arena_rewind(page->request->arena, mark);
      is_read = read_as_ref(page, object, kept, out);
      if (is_read && find_length(page, out) > page->room)
        *out = (struct op_value){.kind = OP_REF, .ref = out->ref};
    }
    (*env)->DeleteLocalRef(env, object);
    if (!is_read)
      return false;
    size_t length = find_length(page, out);
    *is_fitting = length <= page->room;
    page->room -= *is_fitting ? length : 0;
  }
  return true;
}

/* Finds the columns of objects. *sizes becomes the bytes of the answer with the first rows, without the texts of
 * their objects; NULL if there are none. */
static bool begin_objects(struct columns *page, jlong **sizes)
{
  JNIEnv *env = page->env;
  struct arena *arena = page->request->arena;
  *sizes = NULL;
  for (size_t i = 0; i < page->count; i++) {
    struct read_column *column = &page->columns[i];
    if (column->type != COLUMN_OBJECT)
      continue;
    column->objects = read_field(page, column, page->ids->column_objects);
    column->items = arena_calloc(arena, page->rows + 1, sizeof *column->items);
    if (*sizes == NULL)
      *sizes = arena_calloc(arena, page->rows + 1, sizeof **sizes);
    if (column->items == NULL || *sizes == NULL)
      return fail_memory(page);
  }
  if (*sizes == NULL)
    return true;
  jlongArray given = (*env)->CallObjectMethod(env, page->pages, page->ids->pages_sizes);
  if (take_exception(page))
    return false;
  (*env)->GetLongArrayRegion(env, given, 0, (jsize)page->rows, *sizes);
  (*env)->DeleteLocalRef(env, given);
  return true;
}

static bool cut_page(struct columns *page, size_t rows)
{
  page->rows = rows;
  (*page->env)->CallVoidMethod(page->env, page->pages, page->ids->pages_cut, (jint)rows);
  return !take_exception(page);
}

/* Reads the objects of all rows, and cuts the page where the room for their texts ends. */
static bool read_objects(struct columns *page)
{
  const struct jvm_request *request = page->request;
  size_t room = request->operation->columns.room;
  bool is_whole = has_whole_answer(request->operation);
  size_t used = 0;
  jlong *sizes;
  if (!begin_objects(page, &sizes))
    return false;
  for (size_t row = 0; sizes != NULL && row < page->rows; row++) {
    size_t taken = (size_t)sizes[row] + used;
    size_t kept = request->stored == NULL ? 0 : request->stored->count;
    size_t before = page->room = taken < room ? room - taken : 0;
    bool is_fitting = true;
    if (!read_row(page, row, row == 0 && is_whole, &is_fitting)) {
      /* an error that concerns this row alone is the answer of the next request, which reads it again */
      if (row == 0)
        return false;
      *page->outcome = (struct outcome){.kind = OUTCOME_VOID};
      is_fitting = false;
    }
    used += before - page->room;
    if (is_fitting)
      continue;
    if (row == 0 && is_whole)
      return fail(page, FAILURE_SERVER, "a row does not fit in an answer");
    if (request->stored != NULL)
      jvm_objects_roll_back(request->thread, request->objects, request->stored, kept);
    return cut_page(page, row);
  }
  return true;
}

/* ---- a page ---- */

static jobjectArray make_paths(struct columns *page)
{
  JNIEnv *env = page->env;
  const struct operation *operation = page->request->operation;
  jclass string = page->request->thread->jvm->known.class_string;
  jobjectArray paths = (*env)->NewObjectArray(env, (jsize)operation->columns.path_count, string, NULL);
  for (size_t i = 0; paths != NULL && i < operation->columns.path_count; i++) {
    jstring path = jvm_string_new(page->request->thread, operation->columns.paths[i]);
    if (path == NULL)
      return NULL;
    (*env)->SetObjectArrayElement(env, paths, (jsize)i, path);
    (*env)->DeleteLocalRef(env, path);
  }
  return paths;
}

static bool take_rows(struct columns *page)
{
  JNIEnv *env = page->env;
  const struct operation *operation = page->request->operation;
  jobjectArray paths = operation->columns.has_paths ? make_paths(page) : NULL;
  if (operation->columns.has_paths && paths == NULL)
    return take_exception(page) ? false : fail_memory(page);
  jthrowable thrown =
      (*env)->CallObjectMethod(env, page->pages, page->ids->pages_take, page->object, paths,
                               (jint)operation->columns.max, (jlong)operation->columns.room,
                               (jboolean)has_whole_answer(operation), (jlong)operation->columns.cells_max);
  if (take_exception(page))
    return false;
  return thrown == NULL || fail_thrown(page, thrown);
}

static bool find_columns(struct columns *page)
{
  JNIEnv *env = page->env;
  jobjectArray columns = (*env)->GetObjectField(env, page->pages, page->ids->pages_columns);
  page->rows = (size_t)(*env)->GetIntField(env, page->pages, page->ids->pages_rows);
  page->count = (size_t)(*env)->GetArrayLength(env, columns);
  page->columns = arena_calloc(page->request->arena, page->count + 1, sizeof *page->columns);
  if (page->columns == NULL)
    return fail_memory(page);
  if ((*env)->EnsureLocalCapacity(env, (jint)(2 * page->count + 64)) != 0) {
    (void)take_exception(page);
    return false;
  }
  jintArray types = (*env)->CallObjectMethod(env, page->pages, page->ids->pages_finish);
  if (take_exception(page))
    return false;
  for (size_t i = 0; i < page->count; i++) {
    jint type;
    (*env)->GetIntArrayRegion(env, types, (jsize)i, 1, &type);
    page->columns[i].type = (enum column_type)type;
    page->columns[i].column = (*env)->GetObjectArrayElement(env, columns, (jsize)i);
  }
  (*env)->DeleteLocalRef(env, types);
  return true;
}

static bool fill_columns(struct columns *page, struct op_value *listed)
{
  if (!find_columns(page))
    return false;
  size_t before = page->rows;
  if (!read_objects(page))
    return false;
  if (page->rows < before) { /* the page has ended earlier */
    jobject types = (*page->env)->CallObjectMethod(page->env, page->pages, page->ids->pages_finish);
    if (take_exception(page))
      return false;
    (*page->env)->DeleteLocalRef(page->env, types);
  }
  page->is_done =
      (*page->env)->GetBooleanField(page->env, page->pages, page->ids->pages_is_done) != JNI_FALSE;
  struct op_value *items = arena_calloc(page->request->arena, page->count + 1, sizeof *items);
  if (items == NULL)
    return fail_memory(page);
  for (size_t i = 0; i < page->count; i++)
    if (!fill_column(page, &page->columns[i], &items[i]))
      return false;
  *listed = (struct op_value){.kind = OP_LIST, .list = {.items = items, .count = page->count}};
  return true;
}

static bool run_turn(struct columns *page, struct op_value *listed)
{
  JNIEnv *env = page->env;
  bool has_begun = (*env)->CallBooleanMethod(env, page->pages, page->ids->pages_begin) != JNI_FALSE;
  if (take_exception(page))
    return false;
  if (!has_begun)
    return fail(page, FAILURE_SERVER, "another request is reading from this object");
  bool is_filled = take_rows(page) && fill_columns(page, listed);
  page->is_own =
      (*env)->CallBooleanMethod(env, page->pages, page->ids->pages_end, (jboolean)page->is_own) != JNI_FALSE;
  (*env)->ExceptionClear(env); /* the method only writes fields, but -Xcheck:jni demands the check */
  return is_filled;
}

/* Every answer but the last has the ref, counted once. An iterator of the peer's own ends with its last row. */
static bool count_ref(struct columns *page)
{
  const struct jvm_request *request = page->request;
  if (page->is_done && page->is_ref_counted)
    jvm_objects_uncount_sent(request->thread, request->objects, page->ref, request->stored);
  if (page->is_done || page->is_ref_counted)
    return true;
  return jvm_objects_count_sent(request->objects, page->ref, request->stored) != JP_NO_MEMORY ||
         fail_memory(page);
}

static void fill_outcome(struct columns *page, struct op_value listed)
{
  struct op_entry *entries = arena_calloc(page->request->arena, 4, sizeof *entries);
  if (entries == NULL) {
    (void)fail_memory(page);
    return;
  }
  size_t count = 0;
  entries[count++] = (struct op_entry){TEXT("rows"), {.kind = OP_INTEGER, .integer = (int64_t)page->rows}};
  entries[count++] = (struct op_entry){TEXT("done"), {.kind = OP_BOOLEAN, .boolean = page->is_done}};
  if (!page->is_done)
    entries[count++] = (struct op_entry){TEXT("ref"), {.kind = OP_INTEGER, .integer = page->ref}};
  entries[count++] = (struct op_entry){TEXT("columns"), listed};
  *page->outcome = (struct outcome){.kind = OUTCOME_VALUE,
                                    .type = TEXT("java.util.Map"),
                                    .has_value = true,
                                    .value = {.kind = OP_MAP, .map = {.entries = entries, .count = count}}};
}

void jvm_columns(const struct jvm_request *request, struct outcome *outcome)
{
  *outcome = (struct outcome){.kind = OUTCOME_VOID};
  if (request->drops_result) /* the rows would be lost */
    return;
  struct columns page = {.env = request->thread->env,
                         .request = request,
                         .ids = &request->thread->jvm->columns,
                         .outcome = outcome};
  struct op_value listed = {.kind = OP_NULL};
  rows_asking_begin(&page.asking, request);
  bool is_filled =
      open_object(&page) && open_position(&page) && find_pages(&page) && run_turn(&page, &listed);
  rows_asking_end(&page.asking);
  if (!is_filled || !count_ref(&page))
    return;
  if (page.is_done && page.is_own) {
    enum jp_status status = jvm_objects_delete(request->thread, request->objects, page.ref);
    (void)status; /* another request may have deleted it */
  }
  fill_outcome(&page, listed);
}
