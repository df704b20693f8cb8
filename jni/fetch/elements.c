/* The elements of iterators, which a Cursor of the peer's own Java classes takes (jni/java). */
#include "jni/convert/arguments.h"
#include "jni/fetch/fetch_state.h"
#include "jni/objects/object_table.h"
#include "jni/runtime/throwables.h"

enum { CHUNK = 1024, ELEMENTS_MAX = 65536 };

/* One turn of a cursor. */
struct turn {
  struct fetch *fetch;
  jobject cursor;
  jclass readable;     /* the class of entries that the caller may read; NULL: none yet */
  jclass opaque;       /* the class of entries that it may not; NULL: none yet */
  jobjectArray untold; /* from the cursor, and from this element on not in the answer; NULL: all are */
  jsize first_untold;
  jsize untold_end; /* behind the last of them */
};

static const struct jvm *jvm_of(const struct fetch *fetch)
{
  return fetch->request->thread->jvm;
}

static bool fail_memory(struct fetch *fetch)
{
  return fetch_fail(fetch, FAILURE_SERVER, "out of memory");
}

/* ---- the rest of an answer, behind the elements ---- */

static bool may_read_entry(struct turn *turn, jclass class)
{
  static const struct judged_member get_key = {"getKey", "()Ljava/lang/Object;"};
  static const struct judged_member get_value = {"getValue", "()Ljava/lang/Object;"};
  struct fetch *fetch = turn->fetch;
  jclass entry = jvm_of(fetch)->known.class_map_entry;
  struct jvm_class *known = jvm_class_of(fetch->request->thread, class);
  struct outcome denied;
  return known != NULL && judge_call(fetch->request, known, entry, get_key, &denied) &&
         judge_call(fetch->request, known, entry, get_value, &denied);
}

static void judge_entry(struct turn *turn, jclass class)
{
  jclass *place = may_read_entry(turn, class) ? &turn->readable : &turn->opaque;
  (*turn->fetch->env)->DeleteLocalRef(turn->fetch->env, *place);
  *place = class;
}

/* Takes the reference. True: the cursor may give more. */
static bool read_next(struct turn *turn, jobject next)
{
  struct fetch *fetch = turn->fetch;
  JNIEnv *env = fetch->env;
  const struct jvm_known *known = &jvm_of(fetch)->known;
  const struct jvm_limits *limits = fetch->request->limits;
  if (next == NULL)
    return true;
  if ((*env)->IsInstanceOf(env, next, known->class_class)) {
    judge_entry(turn, next);
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

/* ---- elements ---- */

/* False: the rest of them has to wait. */
static bool add_elements(struct turn *turn, jobjectArray taken, jsize count)
{
  JNIEnv *env = turn->fetch->env;
  for (jsize i = 0; i < count; i++) {
    jobject element = (*env)->GetObjectArrayElement(env, taken, i);
    bool added = fetch_add(turn->fetch, element);
    (*env)->DeleteLocalRef(env, element);
    if (!added) {
      turn->untold = taken;
      turn->first_untold = i;
      turn->untold_end = count;
      return false;
    }
  }
  return true;
}

/* Takes a chunk. False: that was the last one. */
static bool take_chunk(struct turn *turn)
{
  struct fetch *fetch = turn->fetch;
  JNIEnv *env = fetch->env;
  size_t left = fetch->max - fetch->elements.list.count;
  bool is_first = fetch->elements.list.count == 0;
  jobjectArray taken = (*env)->CallObjectMethod(
      env, turn->cursor, jvm_of(fetch)->cursor_take, (jint)(left < CHUNK ? left : CHUNK), (jboolean)is_first,
      (jboolean)(fetch->mark != NULL), turn->readable, turn->opaque);
  if (fetch_take_exception(fetch))
    return false;
  jsize count = (*env)->GetIntField(env, turn->cursor, jvm_of(fetch)->cursor_given);
  if (!add_elements(turn, taken, count))
    return false;
  bool goes_on = read_next(turn, (*env)->GetObjectArrayElement(env, taken, count));
  (*env)->DeleteLocalRef(env, taken);
  return goes_on;
}

/* An error that came behind elements comes again with the next call: these are told first. */
static bool take_elements(struct turn *turn)
{
  struct fetch *fetch = turn->fetch;
  if (fetch->max > ELEMENTS_MAX)
    fetch->max = ELEMENTS_MAX;
  if (!fetch_make_list(fetch, fetch->max))
    return false;
  while (fetch->elements.list.count < fetch->max && take_chunk(turn))
    ;
  if (fetch->elements.list.count > 0)
    fetch->outcome->kind = OUTCOME_VOID;
  return fetch->outcome->kind != OUTCOME_ERROR;
}

/* ---- turns ---- */

static bool begin_turn(struct turn *turn)
{
  struct fetch *fetch = turn->fetch;
  bool has_begun = (*fetch->env)
                       ->CallBooleanMethod(fetch->env, turn->cursor, jvm_of(fetch)->cursor_begin,
                                           (jboolean)fetch->request->thread->is_nested) != JNI_FALSE;
  if (fetch_take_exception(fetch))
    return false;
  return has_begun || fetch_fail(fetch, FAILURE_SERVER, "another request is fetching from this object");
}

/* *is_own: the peer itself made the iterator. */
static bool end_turn(struct turn *turn, bool *is_own)
{
  JNIEnv *env = turn->fetch->env;
  *is_own = (*env)->CallBooleanMethod(env, turn->cursor, jvm_of(turn->fetch)->cursor_end, turn->untold,
                                      turn->first_untold, turn->untold_end) != JNI_FALSE;
  return !fetch_take_exception(turn->fetch);
}

static bool judge_source(struct fetch *fetch, jobject source)
{
  static const struct judged_member members[][2] = {
      {{"hasNext", "()Z"}, {"next", "()Ljava/lang/Object;"}},
      {{"hasMoreElements", "()Z"}, {"nextElement", "()Ljava/lang/Object;"}},
  };
  const struct jvm_known *known = &jvm_of(fetch)->known;
  struct jvm_class *class = jvm_class_of_object(fetch->request->thread, source);
  if (class == NULL)
    return fail_memory(fetch);
  bool is_iterator = (*fetch->env)->IsInstanceOf(fetch->env, source, known->class_iterator);
  jclass declaring = is_iterator ? known->class_iterator : known->class_enumeration;
  return judge_call(fetch->request, class, declaring, members[!is_iterator][0], fetch->outcome) &&
         judge_call(fetch->request, class, declaring, members[!is_iterator][1], fetch->outcome);
}

/* How the source of a cursor is found when it has none yet. */
struct opening {
  jobject (*open)(struct fetch *fetch); /* NULL where it leaves an OUTCOME_ERROR */
  bool is_own;
  bool is_cheap;
  bool ends_for_good; /* the source is let go at its end, and not asked again */
};

static void set_source(struct turn *turn, jobject source, const struct opening *opening)
{
  JNIEnv *env = turn->fetch->env;
  (*env)->CallVoidMethod(env, turn->cursor, jvm_of(turn->fetch)->cursor_open, source,
                         (jboolean)opening->is_own, (jboolean)opening->is_cheap);
  (*env)->ExceptionClear(env); /* it only writes fields, but -Xcheck:jni wants a check */
}

static jobject open_source(struct turn *turn, const struct opening *opening)
{
  struct fetch *fetch = turn->fetch;
  JNIEnv *env = fetch->env;
  jobject source = (*env)->CallObjectMethod(env, turn->cursor, jvm_of(fetch)->cursor_source);
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
  bool was_let_go = (*fetch->env)->IsSameObject(fetch->env, source, turn->cursor);
  if (!was_let_go && !judge_source(fetch, source))
    return false;
  if (!take_elements(turn))
    return false;
  if (fetch->is_done && opening->ends_for_good)
    set_source(turn, turn->cursor, opening);
  return true;
}

/* The cursor beside the ref; it is made there if need be. */
static jobject find_cursor(struct fetch *fetch)
{
  JNIEnv *env = fetch->env;
  jobject made = (*env)->NewObject(env, jvm_of(fetch)->cursor_class, jvm_of(fetch)->cursor_new);
  if (fetch_take_exception(fetch))
    return NULL;
  jobject cursor = jvm_objects_companion(fetch->request->thread, fetch->request->objects, fetch->ref, made);
  (*env)->DeleteLocalRef(env, made);
  if (cursor == NULL)
    outcome_fail(fetch->outcome, fetch->request->arena, FAILURE_SERVER, NULL,
                 "the object with objRef %u was deleted meanwhile", fetch->ref);
  return cursor;
}

/* Has a turn of the cursor beside fetch->ref. */
static bool fetch_in_turn(struct fetch *fetch, const struct opening *opening, bool *is_own)
{
  struct turn turn = {.fetch = fetch, .cursor = find_cursor(fetch)};
  if (turn.cursor == NULL || !begin_turn(&turn))
    return false;
  fetch->mark = fetch->request->operation->element_types ? turn.cursor : NULL;
  bool fetched = run_turn(&turn, opening);
  return end_turn(&turn, is_own) && fetched;
}

/* ---- what has iterators ---- */

static jobject open_object(struct fetch *fetch)
{
  return (*fetch->env)->NewLocalRef(fetch->env, fetch->object);
}

static void let_go(struct fetch *fetch)
{
  enum jp_status status = jvm_objects_delete(fetch->request->thread, fetch->request->objects, fetch->ref);
  (void)status; /* another request may have deleted it */
}

bool fetch_from_iterator(struct fetch *fetch)
{
  static const struct opening opening = {.open = open_object};
  bool is_own;
  if (!fetch_in_turn(fetch, &opening, &is_own))
    return false;
  if (fetch->is_done && is_own)
    let_go(fetch);
  return true;
}

/* Calls a getter of an object, as the guard allows. What it gives is a `promised`: the JVM's verifier does not hold it to
 * an interface. NULL: the outcome tells why. */
static jobject ask_for(struct fetch *fetch, jobject object, jclass declaring, jmethodID id,
                       struct judged_member member, jclass promised)
{
  struct jvm_class *class = jvm_class_of_object(fetch->request->thread, object);
  if (class == NULL) {
    (void)fail_memory(fetch);
    return NULL;
  }
  if (!judge_call(fetch->request, class, declaring, member, fetch->outcome))
    return NULL;
  jobject given = (*fetch->env)->CallObjectMethod(fetch->env, object, id);
  if (fetch_take_exception(fetch))
    return NULL;
  if (given != NULL && (*fetch->env)->IsInstanceOf(fetch->env, given, promised))
    return given;
  outcome_fail(fetch->outcome, fetch->request->arena, FAILURE_SERVER, NULL, "%.*s.%s gave %s",
               TEXT_ARGS(class->name), member.name,
               given == NULL ? "null" : "an object that is no such thing");
  return NULL;
}

static const struct judged_member iterator_member = {"iterator", "()Ljava/util/Iterator;"};

static jobject open_stream(struct fetch *fetch)
{
  const struct jvm_known *known = &jvm_of(fetch)->known;
  return ask_for(fetch, fetch->object, known->class_base_stream, known->method_base_stream_iterator,
                 iterator_member, known->class_iterator);
}

/* The iterator of a stream is made once: it stays beside the stream. */
bool fetch_from_stream(struct fetch *fetch)
{
  static const struct opening opening = {.open = open_stream, .ends_for_good = true};
  bool is_own;
  return fetch_in_turn(fetch, &opening, &is_own);
}

/* Stores the iterator, whose ref takes the next call. False: there is no room for it, and nothing has been taken. */
static bool store_iterator(struct fetch *fetch, jobject iterator, bool *is_new)
{
  const struct jvm_stored *stored = fetch->request->stored;
  const struct jvm_class *class = jvm_class_of_object(fetch->request->thread, iterator);
  if (class == NULL)
    return fail_memory(fetch);
  if (!result_store(fetch->request, fetch->epoch, class, iterator, &fetch->ref, fetch->outcome))
    return false;
  fetch->is_ref_told = true;
  *is_new = stored == NULL || stored->is_new;
  return true;
}

/* The iterator of `iterable`: the object itself, or what it has. */
static bool fetch_from_its_iterator(struct fetch *fetch, jobject iterable, bool is_cheap)
{
  const struct jvm_known *known = &jvm_of(fetch)->known;
  jobject iterator = ask_for(fetch, iterable, known->class_iterable, known->method_iterable_iterator,
                             iterator_member, known->class_iterator);
  bool is_new = false;
  if (iterator == NULL || !store_iterator(fetch, iterator, &is_new))
    return false;
  fetch->object = iterator;
  const struct opening opening = {.open = open_object, .is_own = is_new, .is_cheap = is_cheap};
  bool is_own;
  if (!fetch_in_turn(fetch, &opening, &is_own))
    return false;
  if (fetch->is_done && is_own)
    let_go(fetch);
  return true;
}

bool fetch_from_iterable(struct fetch *fetch)
{
  jclass collection = jvm_of(fetch)->known.class_collection;
  return fetch_from_its_iterator(fetch, fetch->object,
                                 (*fetch->env)->IsInstanceOf(fetch->env, fetch->object, collection));
}

bool fetch_from_map(struct fetch *fetch)
{
  const struct jvm_known *known = &jvm_of(fetch)->known;
  const struct judged_member entry_set = {"entrySet", "()Ljava/util/Set;"};
  jobject entries = ask_for(fetch, fetch->object, known->class_map, known->method_map_entry_set, entry_set,
                            known->class_iterable);
  return entries != NULL && fetch_from_its_iterator(fetch, entries, true);
}
