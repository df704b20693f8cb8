#include "jni/loaders/loaders.h"

#include "base/array.h"
#include "jni/loaders/name_index.h"
#include "jni/runtime/strings.h"
#include "jni/runtime/throwables.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

enum { STRIPES = 1024 };

struct loader {
  uint32_t number;
  jweak ref;
};

/* Loaders that have been unloaded and removed from the table. */
struct dead_loaders {
  struct dead_loaders *next;
  size_t count;
  struct loader loaders[];
};

/* Process-wide, because JVMTI's events have no context argument. */
static struct {
  /* Never held during a call into the JVM. A thread could be suspended in such a call, and would then block
   * all threads that load classes. */
  pthread_mutex_t lock;
  struct loader *loaders; /* in ascending order of numbers */
  size_t count;
  size_t capacity;
  uint32_t last_number;
  struct name_index names;
  bool is_sweeping;
  unsigned readers;          /* threads that use a weak reference of the table outside the lock */
  struct dead_loaders *dead; /* their references are deleted when the list has no readers */

  /* Number of recorded classes, by hash. */
  _Atomic uint32_t changes[STRIPES];
} noted = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* ---- unloaded loaders ---- */

/* The last reader deletes the references of removed loaders. */
static void end_reading(JNIEnv *env)
{
  struct dead_loaders *dead = NULL;
  pthread_mutex_lock(&noted.lock);
  if (--noted.readers == 0) {
    dead = noted.dead;
    noted.dead = NULL;
  }
  pthread_mutex_unlock(&noted.lock);
  while (dead != NULL) {
    struct dead_loaders *next = dead->next;
    for (size_t i = 0; i < dead->count; i++)
      (*env)->DeleteWeakGlobalRef(env, dead->loaders[i].ref);
    free(dead);
    dead = next;
  }
}

/* A copy of the table. NULL: another thread is sweeping, or memory is short. */
static struct dead_loaders *begin_sweep(void)
{
  struct dead_loaders *seen = NULL;
  pthread_mutex_lock(&noted.lock);
  if (!noted.is_sweeping)
    seen = malloc(sizeof *seen + noted.count * sizeof *seen->loaders);
  if (seen != NULL) {
    noted.is_sweeping = true;
    noted.readers++;
    *seen = (struct dead_loaders){.count = noted.count};
    if (noted.count > 0)
      memcpy(seen->loaders, noted.loaders, noted.count * sizeof *seen->loaders);
  }
  pthread_mutex_unlock(&noted.lock);
  return seen;
}

/* Makes room for one more than count loaders. */
static bool grow_locked(size_t count)
{
  struct loader *loaders = array_grow(noted.loaders, count, &noted.capacity, sizeof *loaders);
  if (loaders != NULL)
    noted.loaders = loaders;
  return loaders != NULL;
}

static void remove_dead_locked(struct dead_loaders *dead)
{
  uint32_t *numbers = malloc((dead->count + 1) * sizeof *numbers);
  if (numbers == NULL) {
    dead->count = 0; /* the references are kept until the next sweep */
    return;
  }
  size_t kept = 0;
  size_t found = 0;
  for (size_t i = 0; i < noted.count; i++) {
    struct loader loader = noted.loaders[i];
    if (found < dead->count && dead->loaders[found].number == loader.number)
      numbers[found++] = loader.number;
    else
      noted.loaders[kept++] = loader;
  }
  noted.count = kept;
  if (kept > noted.capacity / 2)
    (void)grow_locked(noted.capacity); /* so that the next sweep is not needed soon */
  name_index_drop(&noted.names, numbers, found);
  free(numbers);
}

/* Removes unloaded loaders with their names. */
static void sweep_loaders(JNIEnv *env)
{
  struct dead_loaders *dead = begin_sweep();
  if (dead == NULL)
    return;
  size_t seen = dead->count;
  dead->count = 0;
  for (size_t i = 0; i < seen; i++)
    if ((*env)->IsSameObject(env, dead->loaders[i].ref, NULL))
      dead->loaders[dead->count++] = dead->loaders[i];
  pthread_mutex_lock(&noted.lock);
  remove_dead_locked(dead);
  dead->next = noted.dead;
  noted.dead = dead;
  noted.is_sweeping = false;
  pthread_mutex_unlock(&noted.lock);
  end_reading(env);
}

/* ---- numbers ---- */

/* Called before a table grows. */
static void make_room(JNIEnv *env)
{
  pthread_mutex_lock(&noted.lock);
  bool has_room = noted.count < noted.capacity && !name_index_is_full(&noted.names);
  pthread_mutex_unlock(&noted.lock);
  if (!has_room)
    sweep_loaders(env);
}

/*
 * The number is the loader's tag. Two threads that find a new loader at the same time may give it two
 * numbers; the loader keeps the second number. Names that were recorded with the first number are still
 * found.
 */
uint32_t loader_number(struct jvm *jvm, JNIEnv *env, jobject loader)
{
  jlong tag = 0;
  if ((*jvm->jvmti)->GetTag(jvm->jvmti, loader, &tag) != JVMTI_ERROR_NONE || tag != 0)
    return (uint32_t)tag;
  jweak ref = (*env)->NewWeakGlobalRef(env, loader);
  if (ref == NULL) {
    (*env)->ExceptionClear(env);
    return 0;
  }
  make_room(env);
  uint32_t number = 0;
  pthread_mutex_lock(&noted.lock);
  if (grow_locked(noted.count)) {
    number = ++noted.last_number;
    noted.loaders[noted.count++] = (struct loader){number, ref};
  }
  pthread_mutex_unlock(&noted.lock);
  if (number == 0)
    (*env)->DeleteWeakGlobalRef(env, ref);
  else if ((*jvm->jvmti)->SetTag(jvm->jvmti, loader, number) != JVMTI_ERROR_NONE)
    return 0;
  return number;
}

static int compare_numbers(const void *left, const void *right)
{
  const struct loader *a = left;
  const struct loader *b = right;
  return (a->number > b->number) - (a->number < b->number);
}

jobject loader_take(struct jvm_thread *thread, uint32_t number)
{
  JNIEnv *env = thread->env;
  const struct loader wanted = {.number = number};
  pthread_mutex_lock(&noted.lock);
  const struct loader *found =
      noted.count == 0 ? NULL
                       : bsearch(&wanted, noted.loaders, noted.count, sizeof *noted.loaders, compare_numbers);
  jweak ref = found == NULL ? NULL : found->ref;
  noted.readers += ref != NULL;
  pthread_mutex_unlock(&noted.lock);
  if (ref == NULL)
    return NULL;
  jobject loader = (*env)->NewLocalRef(env, ref);
  end_reading(env);
  return loader;
}

/* ---- names ---- */

static uint32_t fold_hash(uint64_t hash)
{
  return (uint32_t)(hash ^ hash >> 32);
}

/* Gives modified UTF-8 and WTF-8 the same hash: the two differ in few characters, but decode to the same
 * units. */
uint32_t loaded_name_hash(struct text name)
{
  if (text_is_ascii(name))
    return fold_hash(text_hash(name));
  uint16_t *units = reallocarray(NULL, name.len, sizeof *units);
  if (units == NULL)
    return 0;
  size_t count = text_to_utf16(name, units);
  uint32_t hash = fold_hash(text_hash((struct text){(const char *)units, count * sizeof *units}));
  free(units);
  return hash;
}

uint32_t loaded_name_changes(uint32_t hash)
{
  return atomic_load_explicit(&noted.changes[hash % STRIPES], memory_order_acquire);
}

/* "Lcom/example/A;" becomes "com.example.A". False for classes that no request can name: hidden classes,
 * whose names have a dot, and the JDK's accessor classes for reflection, each of which has its own loader. */
static bool read_name(char *signature, struct text *name)
{
  *name = text_of(signature);
  if (name->len < 3 || memchr(name->data, '.', name->len) != NULL ||
      text_starts_with(*name, TEXT("Ljdk/internal/reflect/")))
    return false;
  *name = text_slice(*name, 1, name->len - 1);
  for (char *at = signature; *at != '\0'; at++)
    if (*at == '/')
      *at = '.';
  return true;
}

static void note_class(struct jvm *jvm, JNIEnv *env, jclass class, jobject loader)
{
  jvmtiEnv *jvmti = jvm->jvmti;
  char *signature = NULL;
  struct text name;
  uint32_t number = loader_number(jvm, env, loader);
  if (number <= LOADER_PLATFORM ||
      (*jvmti)->GetClassSignature(jvmti, class, &signature, NULL) != JVMTI_ERROR_NONE)
    return;
  if (read_name(signature, &name)) {
    uint32_t hash = loaded_name_hash(name);
    make_room(env);
    pthread_mutex_lock(&noted.lock);
    /* If memory is short, the class cannot be found by only its name. */
    (void)name_index_add(&noted.names, hash, number);
    pthread_mutex_unlock(&noted.lock);
    atomic_fetch_add_explicit(&noted.changes[hash % STRIPES], 1, memory_order_release);
  }
  (*jvmti)->Deallocate(jvmti, (unsigned char *)signature);
}

static void note_class_of_any(struct jvm *jvm, JNIEnv *env, jclass class)
{
  jobject loader = NULL;
  if ((*jvm->jvmti)->GetClassLoader(jvm->jvmti, class, &loader) != JVMTI_ERROR_NONE || loader == NULL)
    return;
  note_class(jvm, env, class, loader);
  (*env)->DeleteLocalRef(env, loader);
}

static struct jvm *noting; /* for the JVMTI event, which has no context */

/* Runs on the thread that loads the class, which may hold any Java lock, so it must load nothing and run no
 * Java code. */
static void JNICALL on_class_load(jvmtiEnv *jvmti, JNIEnv *env, jthread thread, jclass class)
{
  (void)jvmti;
  (void)thread;
  note_class_of_any(noting, env, class);
}

static bool has_defined(struct jvm_thread *thread, jobject loader, jstring name)
{
  JNIEnv *env = thread->env;
  jobject definer = NULL;
  jclass class =
      (*env)->CallObjectMethod(env, loader, thread->jvm->known.method_class_loader_find_loaded_class, name);
  if (throwable_take(thread, NULL) || class == NULL)
    return false;
  bool has = (*thread->jvmti)->GetClassLoader(thread->jvmti, class, &definer) == JVMTI_ERROR_NONE &&
             (*env)->IsSameObject(env, definer, loader);
  (*env)->DeleteLocalRef(env, definer);
  (*env)->DeleteLocalRef(env, class);
  return has;
}

void loaders_of_name(struct jvm_thread *thread, struct text name, struct loader_list *found)
{
  JNIEnv *env = thread->env;
  uint32_t hash = loaded_name_hash(name);
  pthread_mutex_lock(&noted.lock);
  size_t count = name_index_find(&noted.names, hash, found->numbers, LOADERS_LISTED_MAX);
  pthread_mutex_unlock(&noted.lock);
  found->count = 0;
  jstring string = count == 0 ? NULL : jvm_string_new(thread, name);
  (void)throwable_take(thread, NULL);
  for (size_t i = 0; string != NULL && i < count; i++) {
    uint32_t number = found->numbers[i];
    jobject loader = loader_take(thread, number);
    if (loader != NULL && has_defined(thread, loader, string))
      found->numbers[found->count++] = number;
    (*env)->DeleteLocalRef(env, loader);
  }
  (*env)->DeleteLocalRef(env, string);
}

/* ---- the loader of main ---- */

enum { RUNNING = UINT32_MAX };

static struct {
  jweak thread;            /* not deleted, because another thread may be using it when main returns */
  _Atomic uint32_t number; /* only while RUNNING: main has not returned */
} of_main = {.number = RUNNING};

/* Calls Thread.getContextClassLoader itself, not an overriding method of an application's subclass. */
static uint32_t read_main_number(struct jvm *jvm, JNIEnv *env, jobject thread)
{
  const struct jvm_known *known = &jvm->known;
  jobject loader = (*env)->CallNonvirtualObjectMethod(env, thread, known->class_thread,
                                                      known->method_thread_get_context_class_loader);
  if ((*env)->ExceptionCheck(env)) { /* a security manager may forbid it */
    (*env)->ExceptionClear(env);
    return 0;
  }
  if (loader == NULL)
    return 0;
  uint32_t number = loader_number(jvm, env, loader);
  (*env)->DeleteLocalRef(env, loader);
  return number <= LOADER_PLATFORM ? 0 : number;
}

enum jp_status main_loader_open(struct jvm_thread *thread, struct jp_error *error)
{
  JNIEnv *env = thread->env;
  const struct jvm_known *known = &thread->jvm->known;
  jobject self = (*env)->CallStaticObjectMethod(env, known->class_thread, known->static_thread_current);
  if (throwable_take(thread, error))
    return JP_JAVA;
  of_main.thread = (*env)->NewWeakGlobalRef(env, self);
  (*env)->DeleteLocalRef(env, self);
  if (throwable_take(thread, error) || of_main.thread == NULL)
    return jp_fail_memory(error, NULL);
  return JP_OK;
}

void main_loader_settle(struct jvm *jvm, JNIEnv *env)
{
  jobject self = (*env)->NewLocalRef(env, of_main.thread);
  atomic_store(&of_main.number, self == NULL ? 0 : read_main_number(jvm, env, self));
  (*env)->DeleteLocalRef(env, self);
}

uint32_t main_loader_number(struct jvm_thread *thread)
{
  uint32_t number = atomic_load_explicit(&of_main.number, memory_order_acquire);
  if (number != RUNNING)
    return number;
  JNIEnv *env = thread->env;
  jobject main_thread = (*env)->NewLocalRef(env, of_main.thread);
  if (main_thread == NULL)
    return 0;
  number = read_main_number(thread->jvm, env, main_thread);
  (*env)->DeleteLocalRef(env, main_thread);
  return number;
}

/* ---- start ---- */

static enum jp_status number_permanent(struct jvm *jvm, struct jvm_thread *thread, struct jp_error *error)
{
  JNIEnv *env = thread->env;
  jobject platform = (*env)->CallStaticObjectMethod(env, jvm->known.class_class_loader,
                                                    jvm->known.static_class_loader_get_platform);
  if (throwable_take(thread, error))
    return JP_JAVA;
  bool numbered = loader_number(jvm, env, jvm->class_loader) == LOADER_APPLICATION &&
                  loader_number(jvm, env, platform) == LOADER_PLATFORM;
  (*env)->DeleteLocalRef(env, platform);
  return numbered ? JP_OK : jp_fail_memory(error, NULL);
}

/* Records the loaded classes, because an agent may have loaded classes by its own loader already. */
static enum jp_status note_loaded_classes(struct jvm *jvm, JNIEnv *env, struct jp_error *error)
{
  enum { CLASSES_MAX = 65536 }; /* the most references that a frame of HotSpot can have */
  jint count = 0;
  jclass *classes = NULL;
  if ((*env)->PushLocalFrame(env, CLASSES_MAX) != 0) {
    (*env)->ExceptionClear(env);
    return jp_fail_memory(error, NULL);
  }
  jvmtiError fault = (*jvm->jvmti)->GetLoadedClasses(jvm->jvmti, &count, &classes);
  for (jint i = 0; i < count; i++)
    note_class_of_any(jvm, env, classes[i]);
  (*jvm->jvmti)->Deallocate(jvm->jvmti, (unsigned char *)classes);
  (*env)->PopLocalFrame(env, NULL);
  return fault == JVMTI_ERROR_NONE ? JP_OK
                                   : jp_fail(error, JP_INTERNAL, "this JVM does not list its classes");
}

enum jp_status loaders_open(struct jvm *jvm, struct jvm_thread *thread, struct jp_error *error)
{
  jvmtiEnv *jvmti = jvm->jvmti;
  const jvmtiCapabilities wanted = {.can_tag_objects = 1};
  const jvmtiEventCallbacks callbacks = {.ClassLoad = on_class_load};
  if ((*jvmti)->AddCapabilities(jvmti, &wanted) != JVMTI_ERROR_NONE)
    return jp_fail(error, JP_INTERNAL, "this JVM has no tags for objects");
  enum jp_status status = number_permanent(jvm, thread, error);
  if (status != JP_OK)
    return status;
  noting = jvm;
  if ((*jvmti)->SetEventCallbacks(jvmti, &callbacks, sizeof callbacks) != JVMTI_ERROR_NONE ||
      (*jvmti)->SetEventNotificationMode(jvmti, JVMTI_ENABLE, JVMTI_EVENT_CLASS_LOAD, NULL) !=
          JVMTI_ERROR_NONE)
    return jp_fail(error, JP_INTERNAL, "this JVM does not report loaded classes");
  return note_loaded_classes(jvm, thread->env, error);
}
