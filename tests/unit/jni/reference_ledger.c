#include "tests/unit/jni/reference_ledger.h"

#include <jvmti.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

enum { FRAMES_MAX = 1024 };

struct frame {
  jobject *references;
  size_t count;
  size_t room;
  size_t capacity; /* what was asked for */
};

static struct {
  struct frame frames[FRAMES_MAX];
  size_t count;
  size_t overruns;
  size_t most;
  size_t depth;
} ledger;

static const struct JNINativeInterface_ *real; /* the JVM's own functions */
static _Thread_local bool is_counted;

extern const char __executable_start; /* NOLINT: the linker's names for the executable's code */
extern const char etext;

/* True for a call by this program's own code on the thread that is counted. */
static bool is_own(const void *caller)
{
  const char *at = caller;
  return is_counted && at >= &__executable_start && at < &etext;
}

#define IS_OWN() is_own(__builtin_return_address(0))

static struct frame *top_frame(void)
{
  return ledger.count == 0 ? NULL : &ledger.frames[ledger.count - 1];
}

static void note_reference(jobject reference)
{
  struct frame *frame = top_frame();
  if (reference == NULL || frame == NULL)
    return;
  if (frame->count == frame->room) {
    frame->room = frame->room == 0 ? 64 : frame->room * 2;
    frame->references = realloc(frame->references, frame->room * sizeof *frame->references);
    if (frame->references == NULL)
      abort();
  }
  frame->references[frame->count++] = reference;
  if (frame->count > ledger.most)
    ledger.most = frame->count;
  if (frame->count > frame->capacity) {
    fprintf(stderr, "local references: %zu in frame %zu, which has room for %zu\n", frame->count,
            ledger.count, frame->capacity);
    ledger.overruns++;
    frame->capacity = frame->count; /* each excess is told once */
  }
}

static void forget_reference(jobject reference)
{
  for (size_t i = ledger.count; i-- > 0;) {
    struct frame *frame = &ledger.frames[i];
    for (size_t j = frame->count; j-- > 0;) {
      if (frame->references[j] == reference) {
        frame->references[j] = frame->references[--frame->count];
        return;
      }
    }
  }
}

static jobject noted(bool own, jobject reference)
{
  if (own)
    note_reference(reference);
  return reference;
}

/* ---- frames ---- */

static jint JNICALL push_local_frame(JNIEnv *env, jint capacity)
{
  bool own = IS_OWN();
  jint result = real->PushLocalFrame(env, capacity);
  if (own && result == 0) {
    if (ledger.count == FRAMES_MAX)
      abort();
    struct frame *frame = &ledger.frames[ledger.count++];
    frame->count = 0;
    frame->capacity = (size_t)capacity;
    if (ledger.count > ledger.depth)
      ledger.depth = ledger.count;
  }
  return result;
}

static jobject JNICALL pop_local_frame(JNIEnv *env, jobject result)
{
  bool own = IS_OWN();
  jobject kept = real->PopLocalFrame(env, result);
  if (own && ledger.count > 0) {
    ledger.count--;
    note_reference(kept);
  }
  return kept;
}

static jint JNICALL ensure_local_capacity(JNIEnv *env, jint capacity)
{
  bool own = IS_OWN();
  jint result = real->EnsureLocalCapacity(env, capacity);
  struct frame *frame = top_frame();
  if (own && result == 0 && frame != NULL && (size_t)capacity > frame->capacity)
    frame->capacity = (size_t)capacity;
  return result;
}

static void JNICALL delete_local_ref(JNIEnv *env, jobject reference)
{
  if (IS_OWN() && reference != NULL)
    forget_reference(reference);
  real->DeleteLocalRef(env, reference);
}

/* ---- what makes references: the function, its type, its parameters, its arguments ---- */

#define MAKERS(X)                                                                                            \
  X(FindClass, jclass, (JNIEnv * env, const char *a), (env, a))                                              \
  X(GetSuperclass, jclass, (JNIEnv * env, jclass a), (env, a))                                               \
  X(GetObjectClass, jclass, (JNIEnv * env, jobject a), (env, a))                                             \
  X(ExceptionOccurred, jthrowable, (JNIEnv * env), (env))                                                    \
  X(NewLocalRef, jobject, (JNIEnv * env, jobject a), (env, a))                                               \
  X(AllocObject, jobject, (JNIEnv * env, jclass a), (env, a))                                                \
  X(NewObjectA, jobject, (JNIEnv * env, jclass a, jmethodID b, const jvalue *c), (env, a, b, c))             \
  X(GetObjectField, jobject, (JNIEnv * env, jobject a, jfieldID b), (env, a, b))                             \
  X(GetStaticObjectField, jobject, (JNIEnv * env, jclass a, jfieldID b), (env, a, b))                        \
  X(CallObjectMethodA, jobject, (JNIEnv * env, jobject a, jmethodID b, const jvalue *c), (env, a, b, c))     \
  X(CallStaticObjectMethodA, jobject, (JNIEnv * env, jclass a, jmethodID b, const jvalue *c),                \
    (env, a, b, c))                                                                                          \
  X(CallNonvirtualObjectMethodA, jobject, (JNIEnv * env, jobject a, jclass b, jmethodID c, const jvalue *d), \
    (env, a, b, c, d))                                                                                       \
  X(ToReflectedMethod, jobject, (JNIEnv * env, jclass a, jmethodID b, jboolean c), (env, a, b, c))           \
  X(ToReflectedField, jobject, (JNIEnv * env, jclass a, jfieldID b, jboolean c), (env, a, b, c))             \
  X(NewString, jstring, (JNIEnv * env, const jchar *a, jsize b), (env, a, b))                                \
  X(NewStringUTF, jstring, (JNIEnv * env, const char *a), (env, a))                                          \
  X(NewObjectArray, jobjectArray, (JNIEnv * env, jsize a, jclass b, jobject c), (env, a, b, c))              \
  X(GetObjectArrayElement, jobject, (JNIEnv * env, jobjectArray a, jsize b), (env, a, b))                    \
  X(NewBooleanArray, jbooleanArray, (JNIEnv * env, jsize a), (env, a))                                       \
  X(NewByteArray, jbyteArray, (JNIEnv * env, jsize a), (env, a))                                             \
  X(NewCharArray, jcharArray, (JNIEnv * env, jsize a), (env, a))                                             \
  X(NewShortArray, jshortArray, (JNIEnv * env, jsize a), (env, a))                                           \
  X(NewIntArray, jintArray, (JNIEnv * env, jsize a), (env, a))                                               \
  X(NewLongArray, jlongArray, (JNIEnv * env, jsize a), (env, a))                                             \
  X(NewFloatArray, jfloatArray, (JNIEnv * env, jsize a), (env, a))                                           \
  X(NewDoubleArray, jdoubleArray, (JNIEnv * env, jsize a), (env, a))                                         \
  X(NewDirectByteBuffer, jobject, (JNIEnv * env, void *a, jlong b), (env, a, b))

#define DEFINE(name, type, parameters, arguments)                                                            \
  static type JNICALL make_##name parameters                                                                 \
  {                                                                                                          \
    bool own = IS_OWN();                                                                                     \
    return noted(own, real->name arguments);                                                                 \
  }
MAKERS(DEFINE)
#undef DEFINE

/* The same with their arguments spread. */
#define SPREAD_MAKERS(X)                                                                                     \
  X(NewObject, NewObjectV, jclass)                                                                           \
  X(CallObjectMethod, CallObjectMethodV, jobject)                                                            \
  X(CallStaticObjectMethod, CallStaticObjectMethodV, jclass)

#define DEFINE_SPREAD(name, with_list, of)                                                                   \
  static jobject JNICALL make_##name(JNIEnv *env, of on, jmethodID method, ...)                              \
  {                                                                                                          \
    bool own = IS_OWN();                                                                                     \
    va_list arguments;                                                                                       \
    va_start(arguments, method);                                                                             \
    jobject made = real->with_list(env, on, method, arguments);                                              \
    va_end(arguments);                                                                                       \
    return noted(own, made);                                                                                 \
  }
SPREAD_MAKERS(DEFINE_SPREAD)
#undef DEFINE_SPREAD

/* ---- the table ---- */

static void replace_functions(struct JNINativeInterface_ *table)
{
  table->PushLocalFrame = push_local_frame;
  table->PopLocalFrame = pop_local_frame;
  table->EnsureLocalCapacity = ensure_local_capacity;
  table->DeleteLocalRef = delete_local_ref;
#define SET(name, ...) table->name = make_##name;
  MAKERS(SET)
  SPREAD_MAKERS(SET)
#undef SET
}

bool reference_ledger_start(JNIEnv *env)
{
  JavaVM *vm = NULL;
  jvmtiEnv *jvmti = NULL;
  struct JNINativeInterface_ *originals = NULL;
  struct JNINativeInterface_ *counting = NULL;
  if ((*env)->GetJavaVM(env, &vm) != 0 || (*vm)->GetEnv(vm, (void **)&jvmti, JVMTI_VERSION_1_2) != JNI_OK ||
      (*jvmti)->GetJNIFunctionTable(jvmti, &originals) != JVMTI_ERROR_NONE ||
      (*jvmti)->GetJNIFunctionTable(jvmti, &counting) != JVMTI_ERROR_NONE)
    return false;
  real = originals; /* kept to the end: calls go on through it */
  is_counted = true;
  replace_functions(counting);
  jvmtiError failed = (*jvmti)->SetJNIFunctionTable(jvmti, counting); /* copies it */
  (void)(*jvmti)->Deallocate(jvmti, (unsigned char *)counting);
  return failed == JVMTI_ERROR_NONE;
}

size_t reference_ledger_overruns(void)
{
  return ledger.overruns;
}

size_t reference_ledger_most(void)
{
  return ledger.most;
}

size_t reference_ledger_depth(void)
{
  return ledger.depth;
}

void reference_ledger_reset(void)
{
  ledger.most = 0;
  ledger.depth = 0;
}
