#include "tests/ledger/reference_ledger.h"

#include <jvmti.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
  FRAMES_MAX = 1024,
  NATIVE_CAPACITY = 16, /* that the JVM gives each native method */
  TEXT_MAX = 400,       /* of a request that is shown */
  BUCKETS = 1 << 14
};

/* Shared by the global references that it has made. */
struct request {
  atomic_size_t holders;
  uint64_t hash;
  bool ends_with_client;
  char text[TEXT_MAX];
};

struct reference {
  jobject object;
  const void *site; /* of the call that made it */
};

struct frame {
  struct reference *references;
  size_t count;
  size_t room;
  size_t capacity; /* as requested */
  bool is_native;  /* the JVM's own, of a native method; no PushLocalFrame has made it */
};

struct ledger {
  struct frame frames[FRAMES_MAX];
  size_t count;
  size_t depth;
  struct request *request; /* NULL: none is being served */
  size_t references_before;
};

struct global {
  struct global *next;
  jobject object;
  const void *site;
  struct request *request; /* NULL: made outside of requests */
  bool is_type;            /* to a class or to a loader of classes */
  bool is_reported;
};

static const struct JNINativeInterface_ *real; /* the JVM's own functions */
static JavaVM *machine;
static jclass class_of_classes;
static jclass class_of_loaders;
static atomic_size_t breaches;
static pthread_key_t ledger_key; /* frees the ledger of a thread that ends */
static _Thread_local struct ledger *own_ledger;
static struct global *globals[BUCKETS];
static pthread_mutex_t globals_lock = PTHREAD_MUTEX_INITIALIZER;

extern const char __executable_start; /* NOLINT: the linker's names for the executable's code */
extern const char etext;

/* True for a call by this program's own code. */
static bool is_own(const void *caller)
{
  const char *at = caller;
  return at >= &__executable_start && at < &etext;
}

#define SITE() __builtin_return_address(0)

static void *allocate(void *old, size_t size)
{
  void *memory = realloc(old, size);
  if (memory == NULL)
    abort();
  return memory;
}

static struct ledger *find_ledger(void)
{
  if (own_ledger == NULL) {
    own_ledger = calloc(1, sizeof *own_ledger);
    if (own_ledger == NULL)
      abort();
    pthread_setspecific(ledger_key, own_ledger);
  }
  return own_ledger;
}

static void request_release(struct request *request)
{
  if (request != NULL && atomic_fetch_sub(&request->holders, 1) == 1)
    free(request);
}

static void free_ledger(void *memory)
{
  struct ledger *ledger = memory;
  for (size_t i = 0; i < FRAMES_MAX; i++)
    free(ledger->frames[i].references);
  request_release(ledger->request);
  free(ledger);
  own_ledger = NULL;
}

/* The offset of a call in the executable, for addr2line. */
static size_t offset_of(const void *site)
{
  return (size_t)((const char *)site - &__executable_start);
}

static void report_breach(const char *what, const void *site, const struct request *request)
{
  atomic_fetch_add(&breaches, 1);
  fprintf(stderr, "reference ledger: %s (at 0x%zx) in the request %s\n", what, offset_of(site),
          request == NULL ? "-" : request->text);
}

/* ---- local references ---- */

static struct frame *push_frame(struct ledger *ledger, size_t capacity, bool is_native)
{
  if (ledger->count == FRAMES_MAX)
    abort();
  struct frame *frame = &ledger->frames[ledger->count++];
  frame->count = 0;
  frame->capacity = capacity;
  frame->is_native = is_native;
  if (ledger->count > ledger->depth)
    ledger->depth = ledger->count;
  return frame;
}

static void note_reference(jobject object, const void *site)
{
  struct ledger *ledger = find_ledger();
  if (object == NULL || ledger->count == 0)
    return;
  struct frame *frame = &ledger->frames[ledger->count - 1];
  if (frame->count == frame->room) {
    frame->room = frame->room == 0 ? 64 : frame->room * 2;
    frame->references = allocate(frame->references, frame->room * sizeof *frame->references);
  }
  frame->references[frame->count++] = (struct reference){object, site};
  if (frame->count > frame->capacity) {
    char what[128];
    snprintf(what, sizeof what, "%zu local references in frame %zu, which has room for %zu", frame->count,
             ledger->count, frame->capacity);
    report_breach(what, site, ledger->request);
    frame->capacity = frame->count; /* each excess is reported once */
  }
}

static void forget_reference(jobject object)
{
  struct ledger *ledger = find_ledger();
  for (size_t i = ledger->count; i-- > 0;) {
    struct frame *frame = &ledger->frames[i];
    for (size_t j = frame->count; j-- > 0;) {
      if (frame->references[j].object == object) {
        frame->references[j] = frame->references[--frame->count];
        return;
      }
    }
  }
}

static jobject noted(const void *site, jobject object)
{
  if (is_own(site))
    note_reference(object, site);
  return object;
}

static jint JNICALL push_local_frame(JNIEnv *env, jint capacity)
{
  bool own = is_own(SITE());
  jint result = real->PushLocalFrame(env, capacity);
  if (own && result == 0)
    push_frame(find_ledger(), (size_t)capacity, false);
  return result;
}

static jobject JNICALL pop_local_frame(JNIEnv *env, jobject result)
{
  const void *site = SITE();
  struct ledger *ledger = is_own(site) ? find_ledger() : NULL;
  if (ledger != NULL && ledger->count > 0 && ledger->frames[ledger->count - 1].is_native)
    report_breach("a frame is popped that was not pushed", site, ledger->request);
  else if (ledger != NULL && ledger->count > 0)
    ledger->count--;
  return noted(site, real->PopLocalFrame(env, result));
}

static jint JNICALL ensure_local_capacity(JNIEnv *env, jint capacity)
{
  struct ledger *ledger = is_own(SITE()) ? find_ledger() : NULL;
  jint result = real->EnsureLocalCapacity(env, capacity);
  struct frame *frame = ledger != NULL && ledger->count > 0 ? &ledger->frames[ledger->count - 1] : NULL;
  if (result == 0 && frame != NULL && (size_t)capacity > frame->capacity)
    frame->capacity = (size_t)capacity;
  return result;
}

static void JNICALL delete_local_ref(JNIEnv *env, jobject object)
{
  if (is_own(SITE()) && object != NULL)
    forget_reference(object);
  real->DeleteLocalRef(env, object);
}

/* ---- global and weak references ---- */

static struct global **bucket_of(jobject object)
{
  uintptr_t bits = (uintptr_t)object;
  return &globals[(bits >> 3 ^ bits >> 17) % BUCKETS];
}

static jobject note_global(jobject object, bool is_type, const void *site)
{
  if (object == NULL || !is_own(site))
    return object;
  struct request *request = find_ledger()->request;
  struct global *global = allocate(NULL, sizeof *global);
  if (request != NULL)
    atomic_fetch_add(&request->holders, 1);
  pthread_mutex_lock(&globals_lock);
  *global = (struct global){
      .next = *bucket_of(object), .object = object, .site = site, .request = request, .is_type = is_type};
  *bucket_of(object) = global;
  pthread_mutex_unlock(&globals_lock);
  return object;
}

static void forget_global(jobject object)
{
  pthread_mutex_lock(&globals_lock);
  struct global **link = bucket_of(object);
  while (*link != NULL && (*link)->object != object)
    link = &(*link)->next;
  struct global *found = *link;
  if (found != NULL)
    *link = found->next;
  pthread_mutex_unlock(&globals_lock);
  if (found != NULL)
    request_release(found->request);
  free(found);
}

static bool is_type(JNIEnv *env, jobject object)
{
  return object != NULL && (real->IsInstanceOf(env, object, class_of_classes) ||
                            real->IsInstanceOf(env, object, class_of_loaders));
}

static jobject JNICALL new_global_ref(JNIEnv *env, jobject object)
{
  const void *site = SITE();
  return note_global(real->NewGlobalRef(env, object), is_type(env, object), site);
}

static jweak JNICALL new_weak_global_ref(JNIEnv *env, jobject object)
{
  const void *site = SITE();
  return note_global(real->NewWeakGlobalRef(env, object), is_type(env, object), site);
}

/* The ledger forgets the reference first, because another thread may get the same reference directly
 * afterwards. */
static void JNICALL delete_global_ref(JNIEnv *env, jobject object)
{
  forget_global(object);
  real->DeleteGlobalRef(env, object);
}

static void JNICALL delete_weak_global_ref(JNIEnv *env, jweak object)
{
  forget_global(object);
  real->DeleteWeakGlobalRef(env, object);
}

/* ---- calls of Java (they may run native methods of the program) ---- */

/* Pushes one frame for all native methods that the Java code calls. When a native method returns, the JVM
 * frees its references, and the ledger does not see that. */
static size_t enter_java(const void *site)
{
  if (!is_own(site))
    return 0;
  struct ledger *ledger = find_ledger();
  push_frame(ledger, SIZE_MAX, true);
  return ledger->count;
}

static void leave_java(size_t frames, const void *site)
{
  if (frames == 0)
    return;
  struct ledger *ledger = find_ledger();
  if (ledger->count != frames)
    report_breach("a native method has pushed frames that it did not pop", site, ledger->request);
  ledger->count = frames - 1;
}

/* JNI has two forms of each function that calls a method: with separate arguments, and with an array of
 * arguments. Both forms have the same parameters before the arguments. These macros have the declarations and
 * the names of these parameters. */
#define ON_OBJECT()     JNIEnv *env, jobject on, jmethodID method
#define ON_OBJECT_AS()  JNIEnv *env, jobject on, jclass as, jmethodID method
#define ON_CLASS()      JNIEnv *env, jclass on, jmethodID method
#define THE_OBJECT()    env, on, method
#define THE_OBJECT_AS() env, on, as, method

#define CALLS(X)                                                                                             \
  CALLS_OF(X, Boolean, jboolean)                                                                             \
  CALLS_OF(X, Byte, jbyte)                                                                                   \
  CALLS_OF(X, Char, jchar)                                                                                   \
  CALLS_OF(X, Short, jshort)                                                                                 \
  CALLS_OF(X, Int, jint)                                                                                     \
  CALLS_OF(X, Long, jlong)                                                                                   \
  CALLS_OF(X, Float, jfloat)                                                                                 \
  CALLS_OF(X, Double, jdouble)
#define OBJECT_CALLS(X)                                                                                      \
  CALLS_OF(X, Object, jobject)                                                                               \
  X(NewObject, jobject, ON_CLASS, THE_OBJECT)
#define CALLS_OF(X, Type, type)                                                                              \
  X(Call##Type##Method, type, ON_OBJECT, THE_OBJECT)                                                         \
  X(CallNonvirtual##Type##Method, type, ON_OBJECT_AS, THE_OBJECT_AS)                                         \
  X(CallStatic##Type##Method, type, ON_CLASS, THE_OBJECT)

/* kept: the expression for the result. */
#define DEFINE_CALL_OF(name, type, parameters, arguments, kept)                                              \
  static type JNICALL call_##name##A(parameters(), const jvalue *values)                                     \
  {                                                                                                          \
    const void *site = SITE();                                                                               \
    size_t frames = enter_java(site);                                                                        \
    type result = real->name##A(arguments(), values);                                                        \
    leave_java(frames, site);                                                                                \
    return kept;                                                                                             \
  }                                                                                                          \
  static type JNICALL call_##name(parameters(), ...)                                                         \
  {                                                                                                          \
    const void *site = SITE();                                                                               \
    va_list values;                                                                                          \
    va_start(values, method);                                                                                \
    size_t frames = enter_java(site);                                                                        \
    type result = real->name##V(arguments(), values);                                                        \
    leave_java(frames, site);                                                                                \
    va_end(values);                                                                                          \
    return kept;                                                                                             \
  }
#define DEFINE_CALL(name, type, parameters, arguments)                                                       \
  DEFINE_CALL_OF(name, type, parameters, arguments, result)
#define DEFINE_OBJECT_CALL(name, type, parameters, arguments)                                                \
  DEFINE_CALL_OF(name, type, parameters, arguments, noted(site, result))
CALLS(DEFINE_CALL)
OBJECT_CALLS(DEFINE_OBJECT_CALL)

#define VOID_CALLS(X)                                                                                        \
  X(CallVoidMethod, ON_OBJECT, THE_OBJECT)                                                                   \
  X(CallNonvirtualVoidMethod, ON_OBJECT_AS, THE_OBJECT_AS)                                                   \
  X(CallStaticVoidMethod, ON_CLASS, THE_OBJECT)
#define DEFINE_VOID_CALL(name, parameters, arguments)                                                        \
  static void JNICALL call_##name##A(parameters(), const jvalue *values)                                     \
  {                                                                                                          \
    const void *site = SITE();                                                                               \
    size_t frames = enter_java(site);                                                                        \
    real->name##A(arguments(), values);                                                                      \
    leave_java(frames, site);                                                                                \
  }                                                                                                          \
  static void JNICALL call_##name(parameters(), ...)                                                         \
  {                                                                                                          \
    const void *site = SITE();                                                                               \
    va_list values;                                                                                          \
    va_start(values, method);                                                                                \
    size_t frames = enter_java(site);                                                                        \
    real->name##V(arguments(), values);                                                                      \
    leave_java(frames, site);                                                                                \
    va_end(values);                                                                                          \
  }
VOID_CALLS(DEFINE_VOID_CALL)

/* ---- the others that make references: the function, its type, its parameters, its arguments ---- */

#define MAKERS(X)                                                                                            \
  X(FindClass, jclass, (JNIEnv * env, const char *a), (env, a))                                              \
  X(GetSuperclass, jclass, (JNIEnv * env, jclass a), (env, a))                                               \
  X(GetObjectClass, jclass, (JNIEnv * env, jobject a), (env, a))                                             \
  X(ExceptionOccurred, jthrowable, (JNIEnv * env), (env))                                                    \
  X(NewLocalRef, jobject, (JNIEnv * env, jobject a), (env, a))                                               \
  X(AllocObject, jobject, (JNIEnv * env, jclass a), (env, a))                                                \
  X(GetObjectField, jobject, (JNIEnv * env, jobject a, jfieldID b), (env, a, b))                             \
  X(GetStaticObjectField, jobject, (JNIEnv * env, jclass a, jfieldID b), (env, a, b))                        \
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
    const void *site = SITE();                                                                               \
    return noted(site, real->name arguments);                                                                \
  }
MAKERS(DEFINE)
#undef DEFINE

/* ---- the table ---- */

static void replace_functions(struct JNINativeInterface_ *table)
{
  table->PushLocalFrame = push_local_frame;
  table->PopLocalFrame = pop_local_frame;
  table->EnsureLocalCapacity = ensure_local_capacity;
  table->DeleteLocalRef = delete_local_ref;
  table->NewGlobalRef = new_global_ref;
  table->DeleteGlobalRef = delete_global_ref;
  table->NewWeakGlobalRef = new_weak_global_ref;
  table->DeleteWeakGlobalRef = delete_weak_global_ref;
#define SET(name, ...) table->name = make_##name;
  MAKERS(SET)
#undef SET
#define SET(name, ...)                                                                                       \
  table->name = call_##name;                                                                                 \
  table->name##A = call_##name##A;
  CALLS(SET)
  OBJECT_CALLS(SET)
  VOID_CALLS(SET)
#undef SET
}

static jclass find_global_class(JNIEnv *env, const char *name)
{
  jclass local = (*env)->FindClass(env, name);
  return local == NULL ? NULL : (*env)->NewGlobalRef(env, local);
}

bool reference_ledger_start(JNIEnv *env)
{
  jvmtiEnv *jvmti = NULL;
  struct JNINativeInterface_ *originals = NULL;
  struct JNINativeInterface_ *counting = NULL;
  if (pthread_key_create(&ledger_key, free_ledger) != 0 || (*env)->GetJavaVM(env, &machine) != 0 ||
      (*machine)->GetEnv(machine, (void **)&jvmti, JVMTI_VERSION_1_2) != JNI_OK ||
      (*jvmti)->GetJNIFunctionTable(jvmti, &originals) != JVMTI_ERROR_NONE ||
      (*jvmti)->GetJNIFunctionTable(jvmti, &counting) != JVMTI_ERROR_NONE)
    return false;
  class_of_classes = find_global_class(env, "java/lang/Class");
  class_of_loaders = find_global_class(env, "java/lang/ClassLoader");
  if (class_of_classes == NULL || class_of_loaders == NULL)
    return false;
  real = originals; /* kept to the end: calls go on through it */
  replace_functions(counting);
  jvmtiError failed = (*jvmti)->SetJNIFunctionTable(jvmti, counting); /* copies it */
  (void)(*jvmti)->Deallocate(jvmti, (unsigned char *)counting);
  return failed == JVMTI_ERROR_NONE;
}

/* ---- requests ---- */

static size_t count_references(const struct ledger *ledger)
{
  size_t count = 0;
  for (size_t i = 0; i < ledger->count; i++)
    count += ledger->frames[i].count;
  return count;
}

/* FNV-1a. */
static uint64_t hash_text(struct text text)
{
  uint64_t hash = 14695981039346656037U;
  for (size_t i = 0; i < text.len; i++)
    hash = (hash ^ (unsigned char)text.data[i]) * 1099511628211U;
  return hash;
}

static struct request *make_request(struct text text, bool ends_with_client)
{
  struct request *request = allocate(NULL, sizeof *request);
  atomic_init(&request->holders, 1);
  request->hash = hash_text(text);
  request->ends_with_client = ends_with_client;
  size_t kept = text.len < TEXT_MAX - 1 ? text.len : TEXT_MAX - 1;
  for (size_t i = 0; i < kept; i++) /* one line */
    request->text[i] = (unsigned char)text.data[i] < ' ' ? '.' : text.data[i];
  request->text[kept] = '\0';
  return request;
}

void reference_ledger_begin(struct text text, bool ends_with_client)
{
  struct ledger *ledger = find_ledger();
  if (ledger->count == 0)
    push_frame(ledger, NATIVE_CAPACITY, true);
  request_release(ledger->request);
  ledger->request = make_request(text, ends_with_client);
  ledger->references_before = count_references(ledger);
}

void reference_ledger_end(void)
{
  enum { FRAMES = 2 }; /* the frame of the native method, and the frame that is open for the next request */
  struct ledger *ledger = find_ledger();
  JNIEnv *env = NULL;
  if (count_references(ledger) > ledger->references_before) {
    const struct frame *frame = &ledger->frames[ledger->count - 1];
    if (frame->count == 0)
      frame = &ledger->frames[0];
    report_breach("a local reference is left", frame->references[frame->count - 1].site, ledger->request);
  }
  if (ledger->count > FRAMES || !ledger->frames[0].is_native)
    report_breach("a frame is left open", SITE(), ledger->request);
  if ((*machine)->GetEnv(machine, (void **)&env, JNI_VERSION_1_8) == JNI_OK && real->ExceptionCheck(env))
    report_breach("an exception is pending", SITE(), ledger->request);
  request_release(ledger->request);
  ledger->request = NULL;
}

/* True if two requests of the same text have made the references at the same place in the code. A request
 * that is repeated may find a new class or loader each time, to which a table then has a reference. For this
 * reason references to classes or loaders are twins only if they refer to the same object. */
static bool are_twins(JNIEnv *env, const struct global *one, const struct global *other)
{
  if (other->request == NULL || other->request == one->request || other->site != one->site ||
      other->request->hash != one->request->hash)
    return false;
  return !one->is_type ||
         (!real->IsSameObject(env, one->object, NULL) && real->IsSameObject(env, one->object, other->object));
}

static bool has_twin(JNIEnv *env, const struct global *global)
{
  for (size_t i = 0; i < BUCKETS; i++) {
    for (const struct global *other = globals[i]; other != NULL; other = other->next) {
      if (are_twins(env, global, other))
        return true;
    }
  }
  return false;
}

/* reports: reports each counted reference as a breach, and does not count it again later. */
static size_t count_left(JNIEnv *env, bool only_of_clients, bool reports)
{
  size_t count = 0;
  pthread_mutex_lock(&globals_lock);
  for (size_t i = 0; i < BUCKETS; i++) {
    for (struct global *global = globals[i]; global != NULL; global = global->next) {
      bool counts = global->request != NULL && (global->request->ends_with_client || !only_of_clients);
      if (!counts || global->is_reported || !has_twin(env, global))
        continue;
      count++;
      global->is_reported = reports;
      if (reports)
        report_breach("a global or weak reference is left each time", global->site, global->request);
    }
  }
  pthread_mutex_unlock(&globals_lock);
  return count;
}

static void collect_garbage(JNIEnv *env)
{
  jclass system = real->FindClass(env, "java/lang/System");
  jmethodID gc = system == NULL ? NULL : real->GetStaticMethodID(env, system, "gc", "()V");
  if (gc == NULL)
    abort();
  real->CallStaticVoidMethod(env, system, gc);
  if (real->ExceptionCheck(env))
    abort();
  real->DeleteLocalRef(env, system);
}

/* A reference that belongs to a Java object, for example to a proxy, is deleted some time after the
 * object. */
void reference_ledger_check_globals(JNIEnv *env, bool only_of_clients)
{
  enum { TRIES = 20 };
  const struct timespec pause = {.tv_nsec = 50000000};
  for (int i = 0; i < TRIES && count_left(env, only_of_clients, false) > 0; i++) {
    collect_garbage(env);
    nanosleep(&pause, NULL);
  }
  (void)count_left(env, only_of_clients, true);
}

size_t reference_ledger_breaches(void)
{
  return atomic_load(&breaches);
}

size_t reference_ledger_depth(void)
{
  return find_ledger()->depth;
}

void reference_ledger_reset(void)
{
  find_ledger()->depth = 0;
}
