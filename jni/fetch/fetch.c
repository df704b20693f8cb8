/* The next elements of an object: iterators, arrays, Strings and streams of bytes, and the answer with these
 * elements. */
#include "jni/fetch.h"

#include "base/primitives.h"
#include "jni/convert/judgement.h"
#include "jni/convert/result_values.h"
#include "jni/convert/results.h"
#include "jni/objects/object_table.h"
#include "jni/resolve/resolve.h"
#include "jni/runtime/strings.h"
#include "jni/runtime/throwables.h"

enum {
  CHUNK = 1024, /* elements that a cursor returns in one call */
  ELEMENTS_MAX = 65536,
  PIECE_MAX = 1024 * 1024,
  UNIT_TEXT = 6, /* an escaped unit, as \u0000 */
  MARKED = 3
};

struct fetch {
  JNIEnv *env;
  const struct jvm_request *request;
  struct outcome *outcome;
  uint64_t epoch;
  jobject object; /* local: the object to fetch from */
  struct jvm_class *class;
  jobject mark; /* borrowed: the third element of pairs, for elements with their types; NULL: none */
  size_t max;
  size_t room; /* bytes that remain for the text of further elements */

  struct op_value elements; /* a list, or a text */
  uint32_t ref;             /* for the next call; 0: none */
  bool is_ref_counted;      /* the ref has already been counted as sent for this answer */
  bool is_done;
};

/* One turn of a cursor. */
struct turn {
  struct fetch *fetch;
  jobject cursor;
  jclass readable; /* a class of entries that the caller may read; NULL: none yet */
  jclass opaque;   /* a class of entries that the caller may not read; NULL: none yet */
  /* elements of the cursor; the answer lacks the elements from first_unsent on; NULL: the answer has all
   * elements */
  jobjectArray unsent;
  jsize first_unsent;
  jsize unsent_end; /* index after the last unsent element */
};

/* How a new cursor gets its source: an Iterator or an Enumeration. */
struct opening {
  jobject (*open)(struct fetch *fetch); /* NULL: failed with an OUTCOME_ERROR */
  bool is_own;                          /* the peer itself has made the source */
  bool is_cheap;      /* hasNext costs little, so that it may be called after the last wanted element, too */
  bool ends_for_good; /* release the source after its last element, and never ask it again */
};

/* Returns false. */
static bool fail_fetch(struct fetch *fetch, enum outcome_failure failure, const char *what)
{
  outcome_fail(fetch->outcome, fetch->request->arena, failure, NULL, "%s", what);
  return false;
}

/* True if an exception was pending: it is cleared, and the outcome describes it. */
static bool take_exception(struct fetch *fetch)
{
  return throwable_take_outcome(fetch->request->thread, fetch->request->arena,
                                fetch->request->limits->stack_frames_max, fetch->outcome);
}

static bool fail_memory(struct fetch *fetch)
{
  return outcome_fail_memory(fetch->outcome) == JP_OK;
}

/* ---- the list of elements ---- */

static bool make_list(struct fetch *fetch, size_t capacity)
{
  struct op_value *items = arena_calloc(fetch->request->arena, capacity, sizeof *items);
  fetch->elements = (struct op_value){.kind = OP_LIST, .list = {.items = items}};
  return items != NULL || fail_memory(fetch);
}

/* The length of the value's text, with the comma. */
static size_t find_length(const struct fetch *fetch, const struct op_value *value)
{
  return fetch->request->operation->fetch.text_length(value) + 1;
}

/* False: the session has no slot for a ref that the value needs; OUTCOME_ERROR. */
static bool take_value(struct fetch *fetch, const struct outcome *filled, struct op_value *out)
{
  if (filled->kind == OUTCOME_ERROR)
    *fetch->outcome = *filled;
  else
    *out = filled->value;
  return filled->kind != OUTCOME_ERROR;
}

/* True for a pair of key and value that the cursor has made. */
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
    return fail_memory(fetch);
  for (jsize i = 0; i < MARKED - 1; i++) {
    jobject content = (*env)->GetObjectArrayElement(env, pair, i);
    bool is_read = result_read_typed(fetch->request, fetch->epoch, content, &items[i], fetch->outcome);
    (*env)->DeleteLocalRef(env, content);
    if (!is_read)
      return false;
  }
  return true;
}

/* Copies the pair without its third element, the cursor. Only this copy may be stored where other requests
 * can get it. NULL: the outcome says why. */
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
  (void)take_exception(fetch);
  return copy;
}

/* An element that cannot travel by value (it has a cycle, its size or toArray throws) becomes a ref, because
 * it was removed from the iterator and must not be lost. */
static bool read_element(struct fetch *fetch, jobject element, struct op_value *out)
{
  *out = (struct op_value){.kind = OP_NULL};
  if (element == NULL)
    return true;
  const struct jvm_class *class = jvm_class_of_object(fetch->request->thread, element);
  if (class == NULL)
    return fail_memory(fetch);
  if (fetch->request->operation->element_types)
    return is_pair(fetch, class, element)
               ? read_pair(fetch, element, out)
               : result_read_typed(fetch->request, fetch->epoch, element, out, fetch->outcome);
  if (result_is_value_class(class) && result_read_value_object(fetch->request, class, element, out))
    return true;
  struct outcome filled = {.kind = OUTCOME_VALUE};
  result_fill_by_value(fetch->request, fetch->epoch, element, &filled);
  return take_value(fetch, &filled, out);
}

/* An element that is too long for any answer also becomes a ref. The class name is left out if it is too
 * long: it may have 64 KiB. */
static bool become_ref(struct fetch *fetch, jobject element, size_t kept, struct op_value *out)
{
  struct outcome filled;
  const struct jvm_class *class = jvm_class_of_object(fetch->request->thread, element);
  if (class != NULL && is_pair(fetch, class, element)) {
    element = copy_pair(fetch, element);
    if (element == NULL)
      return false;
  }
  result_fill_ref(fetch->request, fetch->epoch, element, true, kept, &filled);
  if (!take_value(fetch, &filled, out))
    return false;
  if (find_length(fetch, out) > fetch->request->operation->fetch.room_max)
    *out = (struct op_value){.kind = OP_REF, .ref = out->ref, .callback_identity = out->callback_identity};
  return true;
}

/* Adds an element to the list, by value or as a ref. False: the element has to be kept for the next call. The
 * outcome is then an OUTCOME_ERROR, unless the only reason is that the answer has no room. */
static bool add_element(struct fetch *fetch, jobject element)
{
  size_t kept = fetch->request->stored == NULL ? 0 : fetch->request->stored->count;
  struct op_value *out = &fetch->elements.list.items[fetch->elements.list.count];
  struct arena_mark mark = arena_mark(fetch->request->arena);
  if (!read_element(fetch, element, out))
    return false;
  size_t length = find_length(fetch, out);
  if (length > fetch->request->operation->fetch.room_max) {
    arena_rewind(fetch->request->arena,
                 mark); /* otherwise all long elements would keep memory until the answer is sent */
    if (!become_ref(fetch, element, kept, out))
      return false;
    length = find_length(fetch, out);
  }
  if (length > fetch->room) {
    if (fetch->request->stored != NULL)
      jvm_objects_roll_back(fetch->request->thread, fetch->request->objects, fetch->request->stored, kept);
    return false;
  }
  fetch->room -= length;
  fetch->elements.list.count++;
  return true;
}

static const struct jvm *find_jvm(const struct fetch *fetch)
{
  return fetch->request->thread->jvm;
}

/* ---- the elements of iterators, which the Java class Cursor reads (jni/java) ---- */

static bool may_read_entry(struct turn *turn, jclass class)
{
  static const struct named_method get_key = {"getKey", "()Ljava/lang/Object;"};
  static const struct named_method get_value = {"getValue", "()Ljava/lang/Object;"};
  struct fetch *fetch = turn->fetch;
  jclass entry = find_jvm(fetch)->known.class_map_entry;
  struct jvm_class *known = jvm_class_of(fetch->request->thread, class);
  struct outcome denied;
  return known != NULL && jvm_judge_call(fetch->request, known, entry, get_key, &denied) &&
         jvm_judge_call(fetch->request, known, entry, get_value, &denied);
}

/* Reads the cursor's last value, and deletes the reference. True: the cursor may return more. */
static bool read_next(struct turn *turn, jobject next)
{
  struct fetch *fetch = turn->fetch;
  JNIEnv *env = fetch->env;
  const struct jvm_known *known = &find_jvm(fetch)->known;
  const struct jvm_limits *limits = fetch->request->limits;
  if (next == NULL)
    return true;
  if ((*env)->IsInstanceOf(env, next, known->class_class)) {
    jclass *place = may_read_entry(turn, next) ? &turn->readable : &turn->opaque;
    (*env)->DeleteLocalRef(env, *place);
    *place = next;
    return true;
  }
  if ((*env)->IsInstanceOf(env, next, known->class_boolean))
    fetch->is_done = (*env)->GetBooleanField(env, next, known->field_boolean_value);
  else
    throwable_to_outcome(fetch->request->thread, next, fetch->request->arena, limits->stack_frames_max,
                         fetch->outcome);
  (*env)->DeleteLocalRef(env, next);
  return false;
}

/* False: the other elements have to be kept for the next call. */
static bool add_elements(struct turn *turn, jobjectArray taken, jsize count)
{
  JNIEnv *env = turn->fetch->env;
  for (jsize i = 0; i < count; i++) {
    jobject element = (*env)->GetObjectArrayElement(env, taken, i);
    bool added = add_element(turn->fetch, element);
    (*env)->DeleteLocalRef(env, element);
    if (!added) {
      turn->unsent = taken;
      turn->first_unsent = i;
      turn->unsent_end = count;
      return false;
    }
  }
  return true;
}

/* Reads a chunk from the cursor. False: the element was the last. */
static bool take_chunk(struct turn *turn)
{
  struct fetch *fetch = turn->fetch;
  JNIEnv *env = fetch->env;
  size_t left = fetch->max - fetch->elements.list.count;
  bool is_first = fetch->elements.list.count == 0;
  jobjectArray taken = (*env)->CallObjectMethod(
      env, turn->cursor, find_jvm(fetch)->cursor_take, (jint)(left < CHUNK ? left : CHUNK),
      (jboolean)is_first, (jboolean)(fetch->mark != NULL), turn->readable, turn->opaque);
  if (take_exception(fetch))
    return false;
  jsize count = (*env)->GetIntField(env, turn->cursor, find_jvm(fetch)->cursor_given);
  if (!add_elements(turn, taken, count))
    return false;
  bool goes_on = read_next(turn, (*env)->GetObjectArrayElement(env, taken, count));
  (*env)->DeleteLocalRef(env, taken);
  return goes_on;
}

/* An error after some elements is kept for the next call, so that these elements are sent first. */
static bool take_elements(struct turn *turn)
{
  struct fetch *fetch = turn->fetch;
  if (fetch->max > ELEMENTS_MAX)
    fetch->max = ELEMENTS_MAX;
  if (!make_list(fetch, fetch->max))
    return false;
  while (fetch->elements.list.count < fetch->max && take_chunk(turn))
    ;
  if (fetch->elements.list.count > 0)
    fetch->outcome->kind = OUTCOME_VOID;
  return fetch->outcome->kind != OUTCOME_ERROR;
}

/* ---- turns ---- */

static bool ask_about_source(struct fetch *fetch, jobject source)
{
  static const struct named_method members[][2] = {
      {{"hasNext", "()Z"}, {"next", "()Ljava/lang/Object;"}},
      {{"hasMoreElements", "()Z"}, {"nextElement", "()Ljava/lang/Object;"}},
  };
  const struct jvm_known *known = &find_jvm(fetch)->known;
  struct jvm_class *class = jvm_class_of_object(fetch->request->thread, source);
  if (class == NULL)
    return fail_memory(fetch);
  bool is_iterator = (*fetch->env)->IsInstanceOf(fetch->env, source, known->class_iterator);
  jclass declaring = is_iterator ? known->class_iterator : known->class_enumeration;
  return jvm_judge_call(fetch->request, class, declaring, members[!is_iterator][0], fetch->outcome) &&
         jvm_judge_call(fetch->request, class, declaring, members[!is_iterator][1], fetch->outcome);
}

static void set_source(struct turn *turn, jobject source, const struct opening *opening)
{
  JNIEnv *env = turn->fetch->env;
  (*env)->CallVoidMethod(env, turn->cursor, find_jvm(turn->fetch)->cursor_open, source,
                         (jboolean)opening->is_own, (jboolean)opening->is_cheap);
  (*env)->ExceptionClear(env); /* the method only writes fields, but -Xcheck:jni demands the check */
}

static jobject open_source(struct turn *turn, const struct opening *opening)
{
  struct fetch *fetch = turn->fetch;
  JNIEnv *env = fetch->env;
  jobject source = (*env)->CallObjectMethod(env, turn->cursor, find_jvm(fetch)->cursor_source);
  (*env)->ExceptionClear(env);
  if (source != NULL)
    return source;
  source = opening->open(fetch);
  if (source == NULL)
    return NULL;
  set_source(turn, source, opening);
  return source;
}

static bool run_turn(struct turn *turn, const struct opening *opening)
{
  struct fetch *fetch = turn->fetch;
  jobject source = open_source(turn, opening);
  if (source == NULL)
    return false;
  bool was_released = (*fetch->env)->IsSameObject(fetch->env, source, turn->cursor);
  if (!was_released && !ask_about_source(fetch, source))
    return false;
  if (!take_elements(turn))
    return false;
  if (fetch->is_done && opening->ends_for_good)
    set_source(turn, turn->cursor, opening);
  return true;
}

/* Returns the cursor of fetch->ref. Makes a cursor if the ref has none. */
static jobject find_cursor(struct fetch *fetch)
{
  JNIEnv *env = fetch->env;
  jobject made = (*env)->NewObject(env, find_jvm(fetch)->cursor_class, find_jvm(fetch)->cursor_new);
  if (take_exception(fetch))
    return NULL;
  jobject cursor = jvm_objects_companion(fetch->request->thread, fetch->request->objects, fetch->ref, made);
  (*env)->DeleteLocalRef(env, made);
  if (cursor == NULL)
    outcome_fail(fetch->outcome, fetch->request->arena, FAILURE_SERVER, NULL,
                 "the object with objRef %u was deleted during the request", fetch->ref);
  else if (!(*env)->IsInstanceOf(env, cursor, find_jvm(fetch)->cursor_class)) {
    (void)fail_fetch(fetch, FAILURE_SERVER, "jpeer.columns is reading this object");
    return NULL;
  }
  return cursor;
}

/* Runs one turn of the cursor of fetch->ref. *is_own: the peer itself made the iterator. */
static bool fetch_in_turn(struct fetch *fetch, const struct opening *opening, bool *is_own)
{
  JNIEnv *env = fetch->env;
  const struct jvm *jvm = find_jvm(fetch);
  struct turn turn = {.fetch = fetch, .cursor = find_cursor(fetch)};
  if (turn.cursor == NULL)
    return false;
  bool has_begun = (*env)->CallBooleanMethod(env, turn.cursor, jvm->cursor_begin) != JNI_FALSE;
  if (take_exception(fetch))
    return false;
  if (!has_begun)
    return fail_fetch(fetch, FAILURE_SERVER, "another request is fetching from this object");
  fetch->mark = fetch->request->operation->element_types ? turn.cursor : NULL;
  bool fetched = run_turn(&turn, opening);
  *is_own = (*env)->CallBooleanMethod(env, turn.cursor, jvm->cursor_end, turn.unsent, turn.first_unsent,
                                      turn.unsent_end) != JNI_FALSE;
  return !take_exception(fetch) && fetched;
}

/* ---- objects with iterators ---- */

static jobject open_object(struct fetch *fetch)
{
  return (*fetch->env)->NewLocalRef(fetch->env, fetch->object);
}

/* Fetches in a turn. Deletes an iterator that the peer itself has stored after its last element. */
static bool fetch_and_delete(struct fetch *fetch, const struct opening *opening)
{
  bool is_own;
  if (!fetch_in_turn(fetch, opening, &is_own))
    return false;
  if (fetch->is_done && is_own) {
    enum jp_status status = jvm_objects_delete(fetch->request->thread, fetch->request->objects, fetch->ref);
    (void)status; /* another request may have deleted it */
  }
  return true;
}

static bool fetch_from_iterator(struct fetch *fetch)
{
  static const struct opening opening = {.open = open_object};
  return fetch_and_delete(fetch, &opening);
}

/* Calls a getter of an object, if the judge allows it. The class of the result must be `promised` or below
 * it: if `promised` is an interface, the JVM's verifier does not check the result. NULL: the outcome says
 * why. */
static jobject call_getter(struct fetch *fetch, jobject object, jclass declaring, jmethodID id,
                           struct named_method named, jclass promised)
{
  struct jvm_class *class = jvm_class_of_object(fetch->request->thread, object);
  if (class == NULL) {
    (void)fail_memory(fetch);
    return NULL;
  }
  if (!jvm_judge_call(fetch->request, class, declaring, named, fetch->outcome))
    return NULL;
  jobject given = (*fetch->env)->CallObjectMethod(fetch->env, object, id);
  if (take_exception(fetch))
    return NULL;
  if (given != NULL && (*fetch->env)->IsInstanceOf(fetch->env, given, promised))
    return given;
  outcome_fail(fetch->outcome, fetch->request->arena, FAILURE_SERVER, NULL, "%.*s.%s returned %s",
               TEXT_ARGS(class->name), named.name, given == NULL ? "null" : "an object of another type");
  return NULL;
}

static const struct named_method iterator_member = {"iterator", "()Ljava/util/Iterator;"};

static jobject open_stream(struct fetch *fetch)
{
  const struct jvm_known *known = &find_jvm(fetch)->known;
  return call_getter(fetch, fetch->object, known->class_base_stream, known->method_base_stream_iterator,
                     iterator_member, known->class_iterator);
}

/* A stream can make its iterator only once, so the iterator is kept together with the stream. */
static bool fetch_from_stream(struct fetch *fetch)
{
  static const struct opening opening = {.open = open_stream, .ends_for_good = true};
  bool is_own;
  return fetch_in_turn(fetch, &opening, &is_own);
}

/* Stores the iterator, whose ref is for the next call. False: the session is full, and no element was
 * read. */
static bool store_iterator(struct fetch *fetch, jobject iterator, bool *is_new)
{
  const struct jvm_stored *stored = fetch->request->stored;
  const struct jvm_class *class = jvm_class_of_object(fetch->request->thread, iterator);
  if (class == NULL)
    return fail_memory(fetch);
  if (!result_store(fetch->request, fetch->epoch, class, iterator, &fetch->ref, fetch->outcome))
    return false;
  fetch->is_ref_counted = true;
  *is_new = stored == NULL || stored->is_new;
  return true;
}

/* Fetches from the iterator of `iterable`: the object itself, or the result of its iterator(). */
static bool fetch_from_its_iterator(struct fetch *fetch, jobject iterable, bool is_cheap)
{
  const struct jvm_known *known = &find_jvm(fetch)->known;
  jobject iterator = call_getter(fetch, iterable, known->class_iterable, known->method_iterable_iterator,
                                 iterator_member, known->class_iterator);
  bool is_new = false;
  if (iterator == NULL || !store_iterator(fetch, iterator, &is_new))
    return false;
  fetch->object = iterator;
  const struct opening opening = {.open = open_object, .is_own = is_new, .is_cheap = is_cheap};
  return fetch_and_delete(fetch, &opening);
}

static bool fetch_from_iterable(struct fetch *fetch)
{
  jclass collection = find_jvm(fetch)->known.class_collection;
  return fetch_from_its_iterator(fetch, fetch->object,
                                 (*fetch->env)->IsInstanceOf(fetch->env, fetch->object, collection));
}

static bool fetch_from_map(struct fetch *fetch)
{
  const struct jvm_known *known = &find_jvm(fetch)->known;
  const struct named_method entry_set = {"entrySet", "()Ljava/util/Set;"};
  jobject entries = call_getter(fetch, fetch->object, known->class_map, known->method_map_entry_set,
                                entry_set, known->class_iterable);
  return entries != NULL && fetch_from_its_iterator(fetch, entries, true);
}

/* ---- the number of elements of an array, a String or an InputStream ---- */

static size_t find_smaller(size_t a, size_t b)
{
  return a < b ? a : b;
}

/* The number of elements from `from` on, at most max. */
static bool find_count(struct fetch *fetch, size_t length, const char *throwable, size_t *count)
{
  size_t from = fetch->request->operation->fetch.from;
  if (from > length) {
    outcome_fail(fetch->outcome, fetch->request->arena, FAILURE_SERVER, throwable,
                 "'from' is %zu, and the length %zu", from, length);
    return false;
  }
  *count = find_smaller(fetch->max, length - from);
  return true;
}

/* ---- primitives ---- */

/* The most bytes of an element's text, including the comma. */
static size_t size_primitive_text(char letter)
{
  switch (letter) {
  case 'B':
    return 5;
  case 'Z':
    return 6;
  case 'S':
    return 7;
  case 'C':
    return UNIT_TEXT + 3;
  case 'I':
    return 12;
  default:
    return 28; /* a double, or a long that is written as text */
  }
}

/* The number of elements that are sure to fit in the answer. */
static size_t fit_primitives(const struct fetch *fetch, char letter)
{
  size_t fitting = fetch->request->operation->base64_result ? fetch->room / 4 * 3 / primitive_size(letter)
                                                            : fetch->room / size_primitive_text(letter);
  return find_smaller(fitting, PIECE_MAX);
}

static bool fill_primitives(struct fetch *fetch, char letter, jobject array, size_t from, size_t count)
{
  return result_read_range(fetch->request, letter, array, (jsize)from, (jsize)count, &fetch->elements) ||
         fail_memory(fetch);
}

/* ---- arrays ---- */

static bool fill_objects(struct fetch *fetch, size_t from, size_t count)
{
  if (!make_list(fetch, count))
    return false;
  bool goes_on = true;
  for (size_t i = 0; goes_on && i < count; i++) {
    jobject element = (*fetch->env)->GetObjectArrayElement(fetch->env, fetch->object, (jsize)(from + i));
    goes_on = add_element(fetch, element);
    (*fetch->env)->DeleteLocalRef(fetch->env, element);
  }
  if (fetch->elements.list.count > 0)
    fetch->outcome->kind = OUTCOME_VOID;
  return fetch->outcome->kind != OUTCOME_ERROR;
}

static bool fetch_from_array(struct fetch *fetch)
{
  size_t length = (size_t)(*fetch->env)->GetArrayLength(fetch->env, fetch->object);
  size_t from = fetch->request->operation->fetch.from;
  char letter = fetch->class->component;
  bool is_primitive = letter != 'L' && letter != '[';
  size_t count;
  if (!jvm_judge_elements(fetch->request, fetch->class, fetch->outcome) ||
      !find_count(fetch, length, "java.lang.ArrayIndexOutOfBoundsException", &count))
    return false;
  if (is_primitive) {
    count = find_smaller(count, fit_primitives(fetch, letter));
    fetch->is_done = from + count == length;
    return fill_primitives(fetch, letter, fetch->object, from, count);
  }
  if (!fill_objects(fetch, from, find_smaller(count, ELEMENTS_MAX)))
    return false;
  fetch->is_done = from + fetch->elements.list.count == length;
  return true;
}

/* ---- Strings ---- */

/* True if the units `at` - 1 and `at` of the String are a surrogate pair. */
static bool is_surrogate_pair(struct fetch *fetch, size_t at, size_t length)
{
  uint16_t units[2];
  if (at == 0 || at >= length)
    return false;
  (*fetch->env)->GetStringRegion(fetch->env, fetch->object, (jsize)at - 1, 2, units);
  return (units[0] & 0xFC00) == 0xD800 && (units[1] & 0xFC00) == 0xDC00;
}

static bool fill_text(struct fetch *fetch, size_t from, size_t count)
{
  struct arena *arena = fetch->request->arena;
  uint16_t *units = arena_calloc(arena, count, sizeof *units);
  if (units == NULL || !make_list(fetch, 1))
    return fail_memory(fetch);
  (*fetch->env)->GetStringRegion(fetch->env, fetch->object, (jsize)from, (jsize)count, units);
  struct text text = jvm_text_of_units(units, count, arena);
  fetch->elements.list.items[0] = (struct op_value){.kind = OP_TEXT, .text = text};
  fetch->elements.list.count = 1;
  return text.data != NULL || fail_memory(fetch);
}

/* A String's text may be sent like any result, so the judge is not asked. */
static bool fetch_from_string(struct fetch *fetch)
{
  size_t length = (size_t)(*fetch->env)->GetStringLength(fetch->env, fetch->object);
  size_t from = fetch->request->operation->fetch.from;
  size_t count;
  if (!find_count(fetch, length, "java.lang.StringIndexOutOfBoundsException", &count))
    return false;
  if (is_surrogate_pair(fetch, from, length))
    return fail_fetch(fetch, FAILURE_INVALID_PARAMS, "'from' is inside a surrogate pair");
  if (count == 1 && is_surrogate_pair(fetch, from + 1, length))
    return fail_fetch(fetch, FAILURE_INVALID_PARAMS, "'max' is 1, and a surrogate pair begins at 'from'");
  count = find_smaller(count, find_smaller(fetch->room / UNIT_TEXT, PIECE_MAX));
  if (count > 0 && is_surrogate_pair(fetch, from + count, length))
    count--;
  fetch->is_done = from + count == length;
  return fill_text(fetch, from, count);
}

/* ---- InputStreams ---- */

static bool read_input(struct fetch *fetch, jbyteArray bytes, jint count, jint *given)
{
  *given = (*fetch->env)
               ->CallIntMethod(fetch->env, fetch->object,
                               fetch->request->thread->jvm->known.method_input_stream_read, bytes, 0, count);
  if (take_exception(fetch))
    return false;
  if (*given >= -1 && *given <= count)
    return true;
  outcome_fail(fetch->outcome, fetch->request->arena, FAILURE_SERVER, NULL,
               "%.*s.read was asked for %d bytes and returned %d", TEXT_ARGS(fetch->class->name), count,
               *given);
  return false;
}

/* Requests only as many bytes as fit in the answer. */
static bool fetch_from_input(struct fetch *fetch)
{
  static const struct named_method read = {"read", "([BII)I"};
  jclass declaring = fetch->request->thread->jvm->known.class_input_stream;
  jint count = (jint)find_smaller(fetch->max, fit_primitives(fetch, 'B'));
  if (!jvm_judge_call(fetch->request, fetch->class, declaring, read, fetch->outcome))
    return false;
  jbyteArray bytes = (*fetch->env)->NewByteArray(fetch->env, count);
  if (take_exception(fetch))
    return false;
  jint given = 0;
  if (count > 0 && !read_input(fetch, bytes, count, &given))
    return false;
  fetch->is_done = given == -1;
  return fill_primitives(fetch, 'B', bytes, 0, given < 0 ? 0 : (size_t)given);
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

static bool run_fetcher(struct fetch *fetch)
{
  if (fetch->class->component != 0)
    return fetch_from_array(fetch);
  if (fetch->class->maker == MAKER_STRING)
    return fetch_from_string(fetch);
  const struct jvm_known *known = &fetch->request->thread->jvm->known;
  const struct {
    jclass class;
    fetcher *run;
  } rows[] = {
      {known->class_iterator, fetch_from_iterator},  {known->class_enumeration, fetch_from_iterator},
      {known->class_input_stream, fetch_from_input}, {known->class_base_stream, fetch_from_stream},
      {known->class_iterable, fetch_from_iterable},  {known->class_map, fetch_from_map},
  };
  fetcher *run = fetch_from_nothing;
  for (size_t i = 0; run == fetch_from_nothing && i < sizeof rows / sizeof *rows; i++) {
    if ((*fetch->env)
            ->IsInstanceOf(fetch->env, fetch->object,
                           rows[i].class)) /* the first row whose class the object has */
      run = rows[i].run;
  }
  if (fetch->request->operation->fetch.from != 0 && run != fetch_from_nothing)
    return fail_fetch(fetch, FAILURE_INVALID_PARAMS, "'from' is for arrays and Strings");
  return run(fetch);
}

static bool open_fetched(struct fetch *fetch)
{
  const struct jvm_request *request = fetch->request;
  uint32_t class_id = 0;
  fetch->epoch = jvm_objects_epoch(request->objects);
  if (request->operation->receiver != NULL) {
    struct call_frame frame = {.receiver = NULL};
    if (!call_frame_make_receiver(request, &frame, fetch->outcome))
      return false;
    fetch->object = frame.receiver;
    class_id = frame.receiver_class;
  } else {
    fetch->ref = request->operation->instance;
    fetch->object = jvm_objects_get(request->thread, request->objects, fetch->ref, &class_id);
    if (fetch->object == NULL) {
      jvm_objects_fail_get(request, fetch->ref, fetch->outcome);
      return false;
    }
  }
  fetch->class = jvm_class_by_id(request->thread, class_id);
  return fetch->class != NULL || fail_memory(fetch);
}

/* Every answer except the last has the ref, counted once. The ref is sent even if the object was deleted
 * during the request, because it could be deleted just as well right afterwards. */
static bool count_ref(struct fetch *fetch)
{
  const struct jvm_request *request = fetch->request;
  if (fetch->is_done && fetch->is_ref_counted)
    jvm_objects_uncount_sent(request->thread, request->objects, fetch->ref, request->stored);
  if (fetch->is_done || fetch->is_ref_counted)
    return true;
  return jvm_objects_count_sent(request->objects, fetch->ref, request->stored) != JP_NO_MEMORY ||
         fail_memory(fetch);
}

static void fill_outcome(struct fetch *fetch)
{
  struct op_entry *entries = arena_calloc(fetch->request->arena, 3, sizeof *entries);
  if (entries == NULL) {
    (void)fail_memory(fetch);
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
  if (request->drops_result) /* the elements would be lost */
    return;
  struct fetch fetch = {.env = request->thread->env,
                        .request = request,
                        .outcome = outcome,
                        .max = request->operation->fetch.max,
                        .room = request->operation->fetch.room};
  if (!open_fetched(&fetch) || !run_fetcher(&fetch))
    return;
  /* A value with remaining elements becomes an object of the session, whose ref is for the next call. */
  fetch.is_ref_counted = fetch.is_ref_counted || (!fetch.is_done && fetch.ref == 0);
  if (!fetch.is_done && fetch.ref == 0 &&
      !result_store(request, fetch.epoch, fetch.class, fetch.object, &fetch.ref, outcome))
    return;
  if (count_ref(&fetch))
    fill_outcome(&fetch);
}
