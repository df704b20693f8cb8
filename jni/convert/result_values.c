/* Results by value: arrays, collections and maps with their contents, as far as the policy allows. */
#include "jni/convert/result_values.h"

#include "jni/convert/judgement.h"
#include "jni/convert/results.h"
#include "jni/runtime/throwables.h"

enum { LEVEL_REFERENCES = 16 };

/* The state of reading one result. */
struct walk {
  JNIEnv *env;
  const struct jvm_request *request;
  uint64_t epoch;
  struct outcome *outcome;
  size_t elements_left;
  size_t bytes_left;  /* remaining bytes of the answer for texts */
  bool keeps_nothing; /* an object that needs a ref ends the visit */
  bool is_flat;       /* containers become refs */
  bool is_typed;      /* elements have their types */
  /* Permanent classes whose objects may be read; NULL: none yet. */
  const struct jvm_class *set_class;   /* of the last entry set, if the JDK's */
  const struct jvm_class *entry_class; /* of the last entry */
};

/* A container that is being read, linked to the container around it. */
struct level {
  const struct level *outer;
  jobject object;
  size_t depth;
};

static bool fill_value(struct walk *walk, const struct level *outer, jobject object, struct op_value *out);

static bool fail_result(struct walk *walk, const char *what)
{
  outcome_fail(walk->outcome, walk->request->arena, FAILURE_SERVER, NULL, "%s", what);
  return false;
}

static bool take_exception(struct walk *walk)
{
  return throwable_take_outcome(walk->request->thread, walk->request->arena,
                                walk->request->limits->stack_frames_max, walk->outcome);
}

static bool count_elements(struct walk *walk, size_t count)
{
  if (count <= walk->elements_left) {
    walk->elements_left -= count;
    return true;
  }
  outcome_fail(walk->outcome, walk->request->arena, FAILURE_SERVER, NULL,
               "the result has more than the limit of %zu elements (array-value-max)",
               result_elements_max(walk->request));
  return false;
}

static bool fail_length(struct walk *walk)
{
  return fail_result(walk, "the result is longer than the answer may be, or memory is short");
}

static bool count_bytes(struct walk *walk, size_t count)
{
  if (count > walk->bytes_left)
    return fail_length(walk);
  walk->bytes_left -= count;
  return true;
}

static bool fill_ref(struct walk *walk, const struct jvm_class *class, jobject object, struct op_value *out)
{
  if (walk->keeps_nothing)
    return false;
  *out = (struct op_value){.kind = OP_REF};
  if (!result_store(walk->request, walk->epoch, class, object, &out->ref, walk->outcome))
    return false;
  out->callback_identity = result_find_callback(walk->request, class, object);
  walk->outcome->ref = out->ref;
  return true;
}

/* A String or wrapper. */
static bool fill_scalar(struct walk *walk, const struct jvm_class *class, jobject object,
                        struct op_value *out)
{
  if (!result_read_value_object(walk->request, class, object, out))
    return fail_length(walk);
  return out->kind != OP_TEXT || count_bytes(walk, out->text.len);
}

static bool fill_element(struct walk *walk, const struct level *level, jobject element, struct op_value *out)
{
  if (!walk->is_typed)
    return fill_value(walk, level, element, out);
  if (!result_read_typed(walk->request, walk->epoch, element, out, walk->outcome))
    return false;
  bool is_text = out->kind == OP_TEXT || out->kind == OP_TYPED_TEXT;
  return !is_text || count_bytes(walk, out->text.len);
}

static bool fill_list(struct walk *walk, const struct level *level, jobjectArray elements,
                      struct op_value *out)
{
  size_t count = (size_t)(*walk->env)->GetArrayLength(walk->env, elements);
  if (!count_elements(walk, count))
    return false;
  struct op_value *items = arena_calloc(walk->request->arena, count, sizeof *items);
  if (items == NULL)
    return outcome_fail_memory(walk->outcome) == JP_OK;
  for (size_t i = 0; i < count; i++) {
    jobject element = (*walk->env)->GetObjectArrayElement(walk->env, elements, (jsize)i);
    bool filled = fill_element(walk, level, element, &items[i]);
    (*walk->env)->DeleteLocalRef(walk->env, element);
    if (!filled)
      return false;
  }
  *out = (struct op_value){.kind = OP_LIST, .list = {.items = items, .count = count}};
  return true;
}

static bool fill_array(struct walk *walk, const struct level *level, const struct jvm_class *class,
                       struct op_value *out)
{
  if (class->component == 'L' || class->component == '[')
    return fill_list(walk, level, level->object, out);
  jsize count = (*walk->env)->GetArrayLength(walk->env, level->object);
  bool in_base64 = result_is_base64(walk->request, class->component);
  if (!in_base64 && !count_elements(walk, (size_t)count))
    return false;
  if (!count_bytes(walk, (size_t)count) ||
      !result_read_primitives(walk->request, class, level->object, count, out))
    return fail_length(walk);
  return true;
}

/* Checks the size before copying a large collection. The size may be wrong, so callers check the copy,
 * too. */
static jobjectArray copy_collection(struct walk *walk, jobject collection)
{
  const struct jvm_known *known = &walk->request->thread->jvm->known;
  jint size = (*walk->env)->CallIntMethod(walk->env, collection, known->method_collection_size);
  if (take_exception(walk))
    return NULL;
  size_t left = walk->elements_left;
  if (size > 0 && !count_elements(walk, (size_t)size))
    return NULL;
  walk->elements_left = left;
  jobjectArray elements =
      (*walk->env)->CallObjectMethod(walk->env, collection, known->method_collection_to_array);
  if (take_exception(walk))
    return NULL;
  if (elements == NULL)
    (void)fail_result(walk, "a collection's toArray returned null");
  return elements;
}

/* ---- policy ---- */

/* jpeer.fetch would read the collection by its iterator, so the iterator's class is judged as well, unless it
 * is the JDK's own class for a JDK collection. Without an iterator, only the collection's members are judged.
 * The iterator is judged after toArray has run, because a collection may return its elements only once, and
 * calling iterator() first could lose them. */
static bool may_iterate(struct walk *walk, const struct jvm_class *class, jobject collection)
{
  struct jvm_thread *thread = walk->request->thread;
  if (class->is_of_jdk)
    return true;
  jobject iterator =
      (*walk->env)->CallObjectMethod(walk->env, collection, thread->jvm->known.method_iterable_iterator);
  if (throwable_take(thread, NULL) || iterator == NULL)
    return true;
  /* The JVM's verifier accepts any object where an interface is declared. */
  bool is_iterator = (*walk->env)->IsInstanceOf(walk->env, iterator, thread->jvm->known.class_iterator);
  struct jvm_class *its_class = jvm_class_of_object(thread, iterator);
  (*walk->env)->DeleteLocalRef(walk->env, iterator);
  return !is_iterator || (its_class != NULL && jvm_judge_reading(walk->request, its_class, READING_ITERATOR));
}

enum container { CONTAINER_NONE, CONTAINER_ARRAY, CONTAINER_MAP, CONTAINER_COLLECTION };

static enum container find_container(const struct walk *walk, const struct jvm_class *class, jobject object)
{
  const struct jvm_known *known = &walk->request->thread->jvm->known;
  if (class->component != 0)
    return CONTAINER_ARRAY;
  if ((*walk->env)->IsInstanceOf(walk->env, object, known->class_map))
    return CONTAINER_MAP;
  return (*walk->env)->IsInstanceOf(walk->env, object, known->class_collection) ? CONTAINER_COLLECTION
                                                                                : CONTAINER_NONE;
}

static bool may_read(const struct walk *walk, enum container container, struct jvm_class *class)
{
  switch (container) {
  case CONTAINER_ARRAY:
    return jvm_judge_reading(walk->request, class, READING_ARRAY);
  case CONTAINER_MAP:
    return jvm_judge_reading(walk->request, class, READING_MAP);
  case CONTAINER_COLLECTION:
    return jvm_judge_reading(walk->request, class, READING_COLLECTION);
  case CONTAINER_NONE:
    break;
  }
  return false;
}

static bool fill_collection(struct walk *walk, const struct level *level, const struct jvm_class *class,
                            struct op_value *out)
{
  jobjectArray elements = copy_collection(walk, level->object);
  if (elements == NULL)
    return false;
  return may_iterate(walk, class, level->object) ? fill_list(walk, level, elements, out)
                                                 : fill_ref(walk, class, level->object, out);
}

/* ---- maps ---- */

enum key { KEY_TEXT, KEY_UNFIT, KEY_FAILED };

static enum key fail_key(struct walk *walk, const char *what)
{
  (void)fail_result(walk, what);
  return KEY_FAILED;
}

static enum key fail_key_memory(struct walk *walk)
{
  outcome_fail_memory(walk->outcome);
  return KEY_FAILED;
}

static enum key read_key(struct walk *walk, jobject entry, struct text *text)
{
  jobject key =
      (*walk->env)
          ->CallObjectMethod(walk->env, entry, walk->request->thread->jvm->known.method_map_entry_get_key);
  if (take_exception(walk))
    return KEY_FAILED;
  struct op_value value = {.kind = OP_NULL};
  enum key kind = KEY_TEXT;
  if (key != NULL) {
    const struct jvm_class *class = jvm_class_of_object(walk->request->thread, key);
    if (class == NULL)
      kind = fail_key_memory(walk);
    else if (!result_is_value_class(class))
      kind = KEY_UNFIT;
    else if (!fill_scalar(walk, class, key, &value))
      kind = KEY_FAILED;
  }
  if (kind == KEY_TEXT) {
    /* Keys are written as String.valueOf would write them. */
    *text = value.kind == OP_NULL ? TEXT("null") : result_write_scalar(walk->request, &value);
    if (text->data == NULL)
      kind = fail_key_memory(walk);
    else if (!walk->keeps_nothing && !walk->request->compat_pal && text_equal(*text, TEXT("ref")))
      /* A map that is sent by value with the key "ref" would look like the ref of an object, and clients
       * count refs. A map that is sent beside its own ref is not ambiguous, because no refs are sent inside
       * it. Clients of --compat pal expect such maps. */
      kind = KEY_UNFIT;
  }
  (*walk->env)->DeleteLocalRef(walk->env, key);
  return kind;
}

/* True if the object is exactly of this class; NULL: false. This comparison is cheaper than
 * jvm_class_of_object, whose cache has room for one class and is better used for keys and values. */
static bool is_exactly(const struct walk *walk, jobject object, const struct jvm_class *class)
{
  if (class == NULL)
    return false;
  jclass own = (*walk->env)->GetObjectClass(walk->env, object);
  bool same = (*walk->env)->IsSameObject(walk->env, own, class->ref);
  (*walk->env)->DeleteLocalRef(walk->env, own);
  return same;
}

/* KEY_TEXT: the object is an entry that may be read. */
static enum key check_entry(struct walk *walk, jobject entry)
{
  if (entry == NULL)
    return fail_key(walk, "a map's entrySet contains null");
  if (is_exactly(walk, entry, walk->entry_class))
    return KEY_TEXT;
  if (!(*walk->env)->IsInstanceOf(walk->env, entry, walk->request->thread->jvm->known.class_map_entry))
    return fail_key(walk, "a map's entrySet contains an object that is no Map.Entry");
  struct jvm_class *class = jvm_class_of_object(walk->request->thread, entry);
  if (class == NULL)
    return fail_key_memory(walk);
  if (!jvm_judge_reading(walk->request, class, READING_ENTRY))
    return KEY_UNFIT;
  walk->entry_class = class->permanent ? class : NULL;
  return KEY_TEXT;
}

/* Copies a map's entrySet. KEY_TEXT: the set may be read, and *pairs has its entries. */
static enum key copy_set(struct walk *walk, jobject set, jobjectArray *pairs)
{
  *pairs = NULL;
  if (set == NULL)
    return fail_key(walk, "a map's entrySet returned null");
  struct jvm_class *class = NULL;
  if (!is_exactly(walk, set, walk->set_class)) {
    /* The JVM's verifier accepts any object where an interface is declared. */
    if (!(*walk->env)->IsInstanceOf(walk->env, set, walk->request->thread->jvm->known.class_collection))
      return fail_key(walk, "a map's entrySet returned an object that is no collection");
    class = jvm_class_of_object(walk->request->thread, set);
    if (class == NULL)
      return fail_key_memory(walk);
    if (!jvm_judge_reading(walk->request, class, READING_COLLECTION))
      return KEY_UNFIT;
    walk->set_class = class->is_of_jdk && class->permanent ? class : NULL;
  }
  *pairs = copy_collection(walk, set);
  if (*pairs == NULL)
    return KEY_FAILED;
  return class == NULL || may_iterate(walk, class, set) ? KEY_TEXT : KEY_UNFIT;
}

static bool fill_map(struct walk *walk, const struct level *level, const struct jvm_class *class,
                     struct op_value *out)
{
  const struct jvm_known *known = &walk->request->thread->jvm->known;
  jobject set = (*walk->env)->CallObjectMethod(walk->env, level->object, known->method_map_entry_set);
  if (take_exception(walk))
    return false;
  jobjectArray pairs;
  enum key fit = copy_set(walk, set, &pairs);
  if (fit != KEY_TEXT)
    return fit == KEY_UNFIT && fill_ref(walk, class, level->object, out);
  size_t count = (size_t)(*walk->env)->GetArrayLength(walk->env, pairs);
  if (!count_elements(walk, count))
    return false;
  struct op_entry *entries = arena_calloc(walk->request->arena, count, sizeof *entries);
  if (entries == NULL)
    return outcome_fail_memory(walk->outcome) == JP_OK;
  /* Reads all keys first: if one is unfit or denied, the whole map becomes a ref, and no value is read. */
  enum key keys = KEY_TEXT;
  for (size_t i = 0; i < count && keys == KEY_TEXT; i++) {
    jobject pair = (*walk->env)->GetObjectArrayElement(walk->env, pairs, (jsize)i);
    keys = check_entry(walk, pair);
    if (keys == KEY_TEXT)
      keys = read_key(walk, pair, &entries[i].key);
    (*walk->env)->DeleteLocalRef(walk->env, pair);
  }
  if (keys != KEY_TEXT)
    return keys == KEY_UNFIT && fill_ref(walk, class, level->object, out);
  for (size_t i = 0; i < count; i++) {
    jobject pair = (*walk->env)->GetObjectArrayElement(walk->env, pairs, (jsize)i);
    jobject value = (*walk->env)->CallObjectMethod(walk->env, pair, known->method_map_entry_get_value);
    bool filled = false;
    if (!take_exception(walk)) {
      filled = fill_value(walk, level, value, &entries[i].value);
      (*walk->env)->DeleteLocalRef(walk->env, value);
    }
    (*walk->env)->DeleteLocalRef(walk->env, pair);
    if (!filled)
      return false;
  }
  *out = (struct op_value){.kind = OP_MAP, .map = {.entries = entries, .count = count}};
  return true;
}

/* ---- results ---- */

static bool check_level(struct walk *walk, const struct level *level)
{
  for (const struct level *around = level->outer; around != NULL; around = around->outer)
    if ((*walk->env)->IsSameObject(walk->env, around->object, level->object))
      return fail_result(walk, "the result has a cycle, so that it has no JSON text");
  if (level->depth <= walk->request->limits->by_value_depth_max)
    return true;
  outcome_fail(walk->outcome, walk->request->arena, FAILURE_SERVER, NULL,
               "the result is nested deeper than the limit of %zu levels (depth-max)",
               walk->request->limits->by_value_depth_max);
  return false;
}

static bool fill_container(struct walk *walk, const struct level *level, const struct jvm_class *class,
                           enum container container, struct op_value *out)
{
  if (!check_level(walk, level))
    return false;
  if ((*walk->env)->PushLocalFrame(walk->env, LEVEL_REFERENCES) != 0) {
    (void)take_exception(walk);
    return false;
  }
  bool filled;
  if (container == CONTAINER_ARRAY)
    filled = fill_array(walk, level, class, out);
  else if (container == CONTAINER_MAP)
    filled = fill_map(walk, level, class, out);
  else
    filled = fill_collection(walk, level, class, out);
  (*walk->env)->PopLocalFrame(walk->env, NULL);
  return filled;
}

/* Writes the text of an object. A Class is excluded: only its ref identifies its loader. */
static bool fill_text(struct walk *walk, const struct jvm_class *class, jobject object, struct op_value *out)
{
  struct op_value text;
  bool has_text = result_read_text(walk->request, class, object, &text);
  if (has_text && class->text != CLASS_TEXT_CLASS) {
    *out = text;
    return text.kind != OP_TEXT || count_bytes(walk, text.text.len);
  }
  if (!fill_ref(walk, class, object, out))
    return false;
  if (has_text)
    out->literal = text.text;
  return true;
}

static bool fill_value(struct walk *walk, const struct level *outer, jobject object, struct op_value *out)
{
  if (object == NULL) {
    *out = (struct op_value){.kind = OP_NULL};
    return true;
  }
  struct jvm_class *class = jvm_class_of_object(walk->request->thread, object);
  if (class == NULL)
    return outcome_fail_memory(walk->outcome) == JP_OK;
  if (result_is_value_class(class))
    return fill_scalar(walk, class, object, out);
  if (result_has_text(walk->request, class))
    return fill_text(walk, class, object, out);
  bool is_callback = class->is_proxy && result_find_callback(walk->request, class, object) != NULL;
  enum container container =
      walk->is_flat || is_callback ? CONTAINER_NONE : find_container(walk, class, object);
  if (!may_read(walk, container, class))
    return fill_ref(walk, class, object, out);
  const struct level level = {outer, object, outer == NULL ? 1 : outer->depth + 1};
  return fill_container(walk, &level, class, container, out);
}

/* The result of a constructor is always a ref, even for a list: the caller wants to hold the object. */
static bool fill_new(struct walk *walk, jobject object, struct op_value *out)
{
  const struct jvm_class *class = jvm_class_of_object(walk->request->thread, object);
  if (class == NULL)
    return outcome_fail_memory(walk->outcome) == JP_OK;
  return result_is_value_class(class) ? fill_scalar(walk, class, object, out)
                                      : fill_ref(walk, class, object, out);
}

static struct walk begin_walk(const struct jvm_request *request, uint64_t epoch, struct outcome *outcome)
{
  return (struct walk){.env = request->thread->env,
                       .request = request,
                       .epoch = epoch,
                       .outcome = outcome,
                       .elements_left = result_elements_max(request),
                       .bytes_left = result_bytes_max(request)};
}

static size_t count_stored(const struct jvm_request *request)
{
  return request->stored == NULL ? 0 : request->stored->count;
}

void result_fill_by_value(const struct jvm_request *request, uint64_t epoch, jobject object,
                          struct outcome *outcome)
{
  struct walk walk = begin_walk(request, epoch, outcome);
  struct arena_mark mark = arena_mark(request->arena);
  struct op_value value;
  size_t stored_before = count_stored(request);
  bool is_new = request->operation->kind == OP_NEW;
  if (is_new ? fill_new(&walk, object, &value) : fill_value(&walk, NULL, object, &value)) {
    outcome->has_value = true;
    outcome->value = value;
  } else if (!request->compat_pal) {
    arena_rewind(request->arena, mark);
    result_fill_ref(request, epoch, object, true, stored_before, outcome);
  }
}

void result_fill_collection(const struct jvm_request *request, const struct jvm_class *class, jobject object,
                            struct outcome *outcome)
{
  struct outcome failed; /* on failure the answer has only the ref */
  struct walk walk = begin_walk(request, 0, &failed);
  walk.keeps_nothing = true;
  outcome->has_value = find_container(&walk, class, object) != CONTAINER_NONE &&
                       fill_value(&walk, NULL, object, &outcome->value);
}

bool result_read_elements(const struct jvm_request *request, uint64_t epoch, jobjectArray array,
                          struct op_value *out)
{
  struct outcome failed = {.kind = OUTCOME_VALUE};
  struct walk walk = begin_walk(request, epoch, &failed);
  const struct level level = {.object = array, .depth = 1};
  size_t stored_before = count_stored(request);
  walk.is_flat = true;
  walk.is_typed = request->operation->element_types;
  if (fill_list(&walk, &level, array, out))
    return true;
  if (request->stored != NULL)
    jvm_objects_roll_back(request->thread, request->objects, request->stored, stored_before);
  return false;
}
