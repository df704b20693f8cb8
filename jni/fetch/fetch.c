#include "jni/fetch/fetch_state.h"

#include "jni/objects/object_table.h"
#include "jni/resolve/resolve.h"
#include "jni/runtime/throwables.h"

bool fetch_fail(struct fetch *fetch, enum outcome_failure failure, const char *what)
{
  outcome_fail(fetch->outcome, fetch->request->arena, failure, NULL, "%s", what);
  return false;
}

bool fetch_take_exception(struct fetch *fetch)
{
  return throwable_take_outcome(fetch->request->thread, fetch->request->arena,
                                fetch->request->limits->stack_frames_max, fetch->outcome);
}

/* ---- the list ---- */

bool fetch_make_list(struct fetch *fetch, size_t capacity)
{
  struct op_value *items = arena_calloc(fetch->request->arena, capacity, sizeof *items);
  fetch->elements = (struct op_value){.kind = OP_LIST, .list = {.items = items}};
  return items != NULL || fetch_fail(fetch, FAILURE_SERVER, "out of memory");
}

static void take_back(struct fetch *fetch, size_t kept)
{
  const struct jvm_request *request = fetch->request;
  if (request->stored != NULL)
    jvm_objects_take_back(request->thread, request->objects, request->stored, kept);
}

/* With its comma. */
static size_t length_of(const struct fetch *fetch, const struct op_value *value)
{
  return fetch->request->operation->fetch.text_length(value) + 1;
}

/* False: there is no place for a ref that it needs; OUTCOME_ERROR. */
static bool take_told(struct fetch *fetch, const struct outcome *told, struct op_value *out)
{
  if (told->kind == OUTCOME_ERROR)
    *fetch->outcome = *told;
  else
    *out = told->value;
  return told->kind != OUTCOME_ERROR;
}

enum { MARKED = 3 };

/* A pair of key and value that the cursor has made. */
static bool is_pair(const struct fetch *fetch, const struct jvm_class *class, jobjectArray element)
{
  JNIEnv *env = fetch->env;
  if (fetch->mark == NULL || class->component != 'L' || (*env)->GetArrayLength(env, element) != MARKED)
    return false;
  jobject last = (*env)->GetObjectArrayElement(env, element, MARKED - 1);
  bool is_mark = (*env)->IsSameObject(env, last, fetch->mark);
  (*env)->DeleteLocalRef(env, last);
  return is_mark;
}

static bool read_pair(struct fetch *fetch, jobjectArray pair, struct op_value *out)
{
  JNIEnv *env = fetch->env;
  struct op_value *items = arena_calloc(fetch->request->arena, MARKED - 1, sizeof *items);
  *out = (struct op_value){.kind = OP_LIST, .list = {.items = items, .count = MARKED - 1}};
  if (items == NULL)
    return fetch_fail(fetch, FAILURE_SERVER, "out of memory");
  for (jsize i = 0; i < MARKED - 1; i++) {
    jobject content = (*env)->GetObjectArrayElement(env, pair, i);
    bool is_read = result_read_typed(fetch->request, fetch->epoch, content, &items[i], fetch->outcome);
    (*env)->DeleteLocalRef(env, content);
    if (!is_read)
      return false;
  }
  return true;
}

/* What others see of it. NULL: the outcome tells why. */
static jobject copy_pair(struct fetch *fetch, jobjectArray pair)
{
  JNIEnv *env = fetch->env;
  jclass object = fetch->request->thread->jvm->known.class_object;
  jobjectArray copy = (*env)->NewObjectArray(env, MARKED - 1, object, NULL);
  for (jsize i = 0; copy != NULL && i < MARKED - 1; i++) {
    jobject content = (*env)->GetObjectArrayElement(env, pair, i);
    (*env)->SetObjectArrayElement(env, copy, i, content);
    (*env)->DeleteLocalRef(env, content);
  }
  (void)fetch_take_exception(fetch);
  return copy;
}

static bool read_typed(struct fetch *fetch, const struct jvm_class *class, jobject element,
                       struct op_value *out)
{
  return is_pair(fetch, class, element)
             ? read_pair(fetch, element, out)
             : result_read_typed(fetch->request, fetch->epoch, element, out, fetch->outcome);
}

/* An element that cannot travel by value (it has a cycle, its size or toArray throws) is a ref: it has been taken, and
 * must not be lost. */
static bool read_element(struct fetch *fetch, jobject element, struct op_value *out)
{
  *out = (struct op_value){.kind = OP_NULL};
  if (element == NULL)
    return true;
  const struct jvm_class *class = jvm_class_of_object(fetch->request->thread, element);
  if (class == NULL)
    return fetch_fail(fetch, FAILURE_SERVER, "out of memory");
  if (fetch->request->operation->element_types)
    return read_typed(fetch, class, element, out);
  if (result_is_value_class(class) && result_read_value_object(fetch->request, class, element, out))
    return true;
  struct outcome told = {.kind = OUTCOME_VALUE};
  result_fill_by_value(fetch->request, fetch->epoch, element, &told);
  return take_told(fetch, &told, out);
}

/* One that is too long for any answer is a ref, too; alone where the name of its class is too long, which may have
 * 64 KiB. */
static bool become_ref(struct fetch *fetch, jobject element, size_t kept, struct op_value *out)
{
  struct outcome told;
  const struct jvm_class *class = jvm_class_of_object(fetch->request->thread, element);
  if (class != NULL && is_pair(fetch, class, element)) {
    element = copy_pair(fetch, element);
    if (element == NULL)
      return false;
  }
  result_fill_ref(fetch->request, fetch->epoch, element, true, kept, &told);
  if (!take_told(fetch, &told, out))
    return false;
  if (length_of(fetch, out) > fetch->request->operation->fetch.room_max)
    *out = (struct op_value){.kind = OP_REF, .ref = out->ref};
  return true;
}

bool fetch_add(struct fetch *fetch, jobject element)
{
  size_t kept = fetch->request->stored == NULL ? 0 : fetch->request->stored->count;
  struct op_value *out = &fetch->elements.list.items[fetch->elements.list.count];
  struct arena_mark mark = arena_mark(fetch->request->arena);
  if (!read_element(fetch, element, out))
    return false;
  size_t length = length_of(fetch, out);
  if (length > fetch->request->operation->fetch.room_max) {
    arena_rewind(fetch->request->arena, mark); /* or all long elements would need their memory at once */
    if (!become_ref(fetch, element, kept, out))
      return false;
    length = length_of(fetch, out);
  }
  if (length > fetch->room) {
    take_back(fetch, kept);
    return false;
  }
  fetch->room -= length;
  fetch->elements.list.count++;
  return true;
}

/* ---- the object ---- */

static bool fetch_from_nothing(struct fetch *fetch)
{
  static const char what[] =
      "is no array, String, Iterator, Enumeration, BaseStream, Iterable, Map or InputStream";
  struct arena *arena = fetch->request->arena;
  if (fetch->request->operation->receiver != NULL)
    outcome_fail(fetch->outcome, arena, FAILURE_INVALID_PARAMS, NULL, "instance has no elements: %.*s %s",
                 TEXT_ARGS(fetch->class->name), what);
  else
    outcome_fail(fetch->outcome, arena, FAILURE_INVALID_PARAMS, NULL,
                 "The object with objRef %u has no elements: %.*s %s", fetch->request->operation->instance,
                 TEXT_ARGS(fetch->class->name), what);
  return false;
}

typedef bool fetcher(struct fetch *fetch);

/* The first that the object is. */
static fetcher *find_fetcher(const struct fetch *fetch)
{
  const struct jvm_known *known = &fetch->request->thread->jvm->known;
  const struct {
    jclass class;
    fetcher *run;
  } rows[] = {
      {known->class_iterator, fetch_from_iterator},  {known->class_enumeration, fetch_from_iterator},
      {known->class_input_stream, fetch_from_input}, {known->class_base_stream, fetch_from_stream},
      {known->class_iterable, fetch_from_iterable},  {known->class_map, fetch_from_map},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    if ((*fetch->env)->IsInstanceOf(fetch->env, fetch->object, rows[i].class))
      return rows[i].run;
  }
  return fetch_from_nothing;
}

static bool run_fetcher(struct fetch *fetch)
{
  if (fetch->class->component != 0)
    return fetch_from_array(fetch);
  if (fetch->class->maker == MAKER_STRING)
    return fetch_from_string(fetch);
  fetcher *run = find_fetcher(fetch);
  if (fetch->request->operation->fetch.from != 0 && run != fetch_from_nothing)
    return fetch_fail(fetch, FAILURE_INVALID_PARAMS, "'from' is for arrays and Strings");
  return run(fetch);
}

static bool open_ref(struct fetch *fetch, uint32_t *class_id)
{
  const struct jvm_request *request = fetch->request;
  fetch->ref = request->operation->instance;
  fetch->object = jvm_objects_get(request->thread, request->objects, fetch->ref, class_id);
  if (fetch->object != NULL)
    return true;
  outcome_fail(fetch->outcome, request->arena, FAILURE_SERVER, "java.lang.NullPointerException",
               "No object found with objRef: %u", fetch->ref);
  return false;
}

static bool make_value(struct fetch *fetch, uint32_t *class_id)
{
  struct call_frame frame = {.receiver = NULL};
  if (!call_frame_make_receiver(fetch->request, &frame, fetch->outcome))
    return false;
  fetch->object = frame.receiver;
  *class_id = frame.receiver_class;
  return true;
}

static bool open_object(struct fetch *fetch)
{
  const struct jvm_request *request = fetch->request;
  bool is_value = request->operation->receiver != NULL;
  uint32_t class_id = 0;
  fetch->epoch = jvm_objects_epoch(request->objects);
  if (!(is_value ? make_value(fetch, &class_id) : open_ref(fetch, &class_id)))
    return false;
  fetch->class = jvm_class_by_id(request->thread, class_id);
  return fetch->class != NULL || fetch_fail(fetch, FAILURE_SERVER, "out of memory");
}

/* A value of which something is left becomes an object of the session, whose ref takes the next call. */
static bool keep_value(struct fetch *fetch)
{
  if (fetch->is_done || fetch->ref != 0)
    return true;
  fetch->is_ref_told = true;
  return result_store(fetch->request, fetch->epoch, fetch->class, fetch->object, &fetch->ref, fetch->outcome);
}

/* An answer that is not the last tells the ref, once. One that was deleted meanwhile is told all the same: it would
 * mean nothing a moment later either. */
static bool count_ref(struct fetch *fetch)
{
  const struct jvm_request *request = fetch->request;
  if (fetch->is_done && fetch->is_ref_told)
    jvm_objects_untell(request->thread, request->objects, fetch->ref, request->stored);
  if (fetch->is_done || fetch->is_ref_told)
    return true;
  return jvm_objects_tell(request->objects, fetch->ref, request->stored) != JP_NO_MEMORY ||
         fetch_fail(fetch, FAILURE_SERVER, "out of memory");
}

static void fill_outcome(struct fetch *fetch)
{
  struct op_entry *entries = arena_calloc(fetch->request->arena, 3, sizeof *entries);
  if (entries == NULL) {
    (void)fetch_fail(fetch, FAILURE_SERVER, "out of memory");
    return;
  }
  entries[0] = (struct op_entry){TEXT("elements"), fetch->elements};
  entries[1] = (struct op_entry){TEXT("done"), {.kind = OP_BOOLEAN, .boolean = fetch->is_done}};
  entries[2] = (struct op_entry){TEXT("ref"), {.kind = OP_INTEGER, .integer = fetch->ref}};
  *fetch->outcome = (struct outcome){
      .kind = OUTCOME_VALUE,
      .type = TEXT("java.util.Map"),
      .has_value = true,
      .value = {.kind = OP_MAP, .map = {.entries = entries, .count = fetch->is_done ? 2 : 3}}};
}

void jvm_fetch(const struct jvm_request *request, struct outcome *outcome)
{
  *outcome = (struct outcome){.kind = OUTCOME_VOID};
  if (request->drops_result) /* nobody would ever see what it takes */
    return;
  struct fetch fetch = {.env = request->thread->env,
                        .request = request,
                        .outcome = outcome,
                        .max = request->operation->fetch.max,
                        .room = request->operation->fetch.room};
  if (open_object(&fetch) && run_fetcher(&fetch) && keep_value(&fetch) && count_ref(&fetch))
    fill_outcome(&fetch);
}
