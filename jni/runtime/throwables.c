#include "jni/runtime/throwables.h"

#include "base/process_limits.h"
#include "jni/runtime/strings.h"

#include <limits.h>

enum { MESSAGE_UNITS_MAX = 65536, CAUSES_MAX = 32, FRAME_REFERENCES = CAUSES_MAX + 16 };

/* A throwable and the causes that were visited on the way to it, so that a cycle of causes ends. */
struct description {
  struct jvm_thread *thread;
  struct arena *arena;
  size_t frames_max;
  jthrowable seen[CAUSES_MAX];
  size_t seen_count;
};

jthrowable throwable_catch(JNIEnv *env)
{
  jthrowable throwable = (*env)->ExceptionOccurred(env);
  if (throwable != NULL)
    (*env)->ExceptionClear(env);
  return throwable;
}

/* The method's result; NULL if it returns null or throws. */
static jobject call_getter(JNIEnv *env, jobject object, jmethodID method)
{
  jobject answer = (*env)->CallObjectMethod(env, object, method);
  if ((*env)->ExceptionCheck(env)) {
    (*env)->ExceptionClear(env);
    return NULL;
  }
  return answer;
}

static struct text describe_type(const struct description *d, jthrowable throwable)
{
  JNIEnv *env = d->thread->env;
  struct jvm *jvm = d->thread->jvm;
  if (__atomic_load_n(&jvm->classes, __ATOMIC_ACQUIRE) != NULL) {
    struct text known = jvm->known_class_name(d->thread, throwable);
    if (known.data != NULL)
      return known;
  }
  jclass class = (*env)->GetObjectClass(env, throwable);
  struct text name = jvm_class_name(d->thread, class, d->arena);
  (*env)->DeleteLocalRef(env, class);
  return name;
}

static struct text describe_message(const struct description *d, jthrowable throwable)
{
  JNIEnv *env = d->thread->env;
  jstring message = call_getter(env, throwable, d->thread->jvm->known.method_throwable_get_message);
  if (message == NULL)
    return TEXT_ABSENT;
  struct text t = jvm_string_get_cut(d->thread, message, d->arena, MESSAGE_UNITS_MAX);
  (*env)->DeleteLocalRef(env, message);
  return t;
}

/* Two units, high half first. */
static size_t read_number(const uint16_t *units)
{
  return (size_t)units[0] << 16 | units[1];
}

/* Reads a list from the text that Traces.describe has written (jni/java), and returns the text after the
 * list. If memory is short, the list is shorter. */
static const uint16_t *read_list(const struct description *d, const uint16_t *units, struct text **list,
                                 size_t *list_count)
{
  size_t count = read_number(units);
  units += 2;
  *list = arena_calloc(d->arena, count, sizeof **list);
  bool has_room = *list != NULL;
  for (size_t i = 0; i < count; i++) {
    size_t length = read_number(units);
    struct text each = has_room ? jvm_text_of_units(units + 2, length, d->arena) : TEXT_ABSENT;
    has_room = each.data != NULL;
    if (has_room)
      (*list)[(*list_count)++] = each;
    units += 2 + length;
  }
  return units;
}

static void describe_frames_and_superclasses(const struct description *d, jthrowable throwable,
                                             struct outcome_throwable *out)
{
  JNIEnv *env = d->thread->env;
  const struct jvm *jvm = d->thread->jvm;
  if (jvm->traces_class == NULL) /* before the classes are loaded */
    return;
  jint max = d->frames_max > INT_MAX ? INT_MAX : (jint)d->frames_max;
  jstring described =
      (*env)->CallStaticObjectMethod(env, jvm->traces_class, jvm->traces_describe, throwable, max);
  if ((*env)->ExceptionCheck(env)) {
    (*env)->ExceptionClear(env);
    return;
  }
  if (described == NULL)
    return;
  jsize length = (*env)->GetStringLength(env, described);
  uint16_t *units = jvm_thread_units(d->thread, (size_t)length);
  if (units != NULL) {
    (*env)->GetStringRegion(env, described, 0, length, units);
    const uint16_t *rest = read_list(d, units, &out->frames, &out->frame_count);
    (void)read_list(d, rest, &out->superclasses, &out->superclass_count);
  }
  (*env)->DeleteLocalRef(env, described);
}

static bool was_seen(const struct description *d, jthrowable throwable)
{
  for (size_t i = 0; i < d->seen_count; i++) {
    if ((*d->thread->env)->IsSameObject(d->thread->env, d->seen[i], throwable))
      return true;
  }
  return false;
}

static struct outcome_throwable *describe_one(struct description *d, jthrowable throwable)
{
  struct outcome_throwable *out = arena_calloc(d->arena, 1, sizeof *out);
  if (out == NULL)
    return NULL;
  d->seen[d->seen_count++] = throwable;
  out->type = describe_type(d, throwable);
  out->message = describe_message(d, throwable);
  describe_frames_and_superclasses(d, throwable, out);
  return out;
}

static struct outcome_throwable *describe_chain(struct description *d, jthrowable throwable)
{
  struct outcome_throwable *first = describe_one(d, throwable);
  struct outcome_throwable *last = first;
  while (last != NULL && d->seen_count < CAUSES_MAX) {
    jthrowable cause =
        call_getter(d->thread->env, throwable, d->thread->jvm->known.method_throwable_get_cause);
    if (cause == NULL || was_seen(d, cause))
      break;
    last->cause = describe_one(d, cause);
    last = last->cause;
    throwable = cause;
  }
  return first;
}

struct outcome_throwable *throwable_describe(struct jvm_thread *thread, jthrowable throwable,
                                             struct arena *arena, size_t frames_max)
{
  JNIEnv *env = thread->env;
  struct description d = {.thread = thread, .arena = arena, .frames_max = frames_max};
  if ((*env)->PushLocalFrame(env, FRAME_REFERENCES) != 0) {
    /* Java's memory is short: describe only what needs no Java memory. */
    (*env)->ExceptionClear(env);
    struct outcome_throwable *out = arena_calloc(arena, 1, sizeof *out);
    if (out != NULL)
      out->type = describe_type(&d, throwable);
    return out;
  }
  struct outcome_throwable *out = describe_chain(&d, throwable);
  (*env)->PopLocalFrame(env, NULL);
  return out;
}

bool throwable_take(struct jvm_thread *thread, struct jp_error *error)
{
  jthrowable throwable = throwable_catch(thread->env);
  if (throwable == NULL)
    return false;
  struct arena arena;
  arena_init(&arena);
  const struct outcome_throwable *described =
      error == NULL ? NULL : throwable_describe(thread, throwable, &arena, 0);
  if (described == NULL)
    jp_fail(error, JP_JAVA, "an exception in Java, and no memory to describe it");
  else if (described->message.data == NULL)
    jp_fail(error, JP_JAVA, "%.*s", TEXT_ARGS(described->type));
  else
    jp_fail(error, JP_JAVA, "%.*s: %.*s", TEXT_ARGS(described->type), TEXT_ARGS(described->message));
  arena_fini(&arena);
  (*thread->env)->DeleteLocalRef(thread->env, throwable);
  return true;
}

void throwable_to_outcome(struct jvm_thread *thread, jthrowable throwable, struct arena *arena,
                          size_t frames_max, struct outcome *outcome)
{
  *outcome = (struct outcome){.kind = OUTCOME_ERROR, .failure = FAILURE_SERVER};
  outcome->throwable = throwable_describe(thread, throwable, arena, frames_max);
  if (thread->thrown.is_wanted) {
    if (thread->thrown.object != NULL)
      (*thread->env)->DeleteGlobalRef(thread->env, thread->thrown.object);
    thread->thrown.object = (*thread->env)->NewGlobalRef(thread->env, throwable);
    thread->thrown.described = outcome->throwable;
  }
  if (outcome->throwable == NULL) {
    outcome->message = TEXT("an exception in Java, and no memory to describe it");
    return;
  }
  outcome->throwable_type = outcome->throwable->type;
  outcome->message = outcome->throwable->message;
  /* Java throws these two also if it could not open the class file or jar. */
  JNIEnv *env = thread->env;
  const struct jvm_known *known = &thread->jvm->known;
  bool lacks_class = (*env)->IsInstanceOf(env, throwable, known->class_class_not_found_exception) ||
                     (*env)->IsInstanceOf(env, throwable, known->class_no_class_def_found_error);
  if (!lacks_class || !descriptors_are_used_up())
    return;
  struct text said = outcome->message.data == NULL ? outcome->throwable_type : outcome->message;
  struct text message = arena_printf(arena, "%.*s (" DESCRIPTORS_NONE_LEFT ")", TEXT_ARGS(said));
  if (message.data != NULL)
    outcome->message = message;
}

bool throwable_take_outcome(struct jvm_thread *thread, struct arena *arena, size_t frames_max,
                            struct outcome *outcome)
{
  jthrowable throwable = throwable_catch(thread->env);
  if (throwable == NULL)
    return false;
  throwable_to_outcome(thread, throwable, arena, frames_max, outcome);
  (*thread->env)->DeleteLocalRef(thread->env, throwable);
  return true;
}
