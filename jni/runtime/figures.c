#include "jni/figures.h"

#include "jni/runtime/throwables.h"

#include <stdlib.h>

enum { COLLECTORS_MAX = 8 };

/*
 * Used by the reader's thread. The first read leaves FIGURE_READER_NEW.
 *
 * | state               | what holds                                       | who leaves it, on what |
 * | FIGURE_READER_NEW   | the beans were not looked for                    | the first read         |
 * | FIGURE_READER_READS | the beans and the ids of their methods are known | nobody                 |
 * | FIGURE_READER_LACKS | the JVM has no beans                             | nobody                 |
 */
enum figure_reader_state {
  FIGURE_READER_NEW,   /* the beans were not looked for yet */
  FIGURE_READER_READS, /* the beans are known */
  FIGURE_READER_LACKS  /* the JVM has no beans */
};

static const uint16_t figure_reader_transitions[] = {
    [FIGURE_READER_NEW] = TO(FIGURE_READER_READS) | TO(FIGURE_READER_LACKS),
    [FIGURE_READER_READS] = 0,
    [FIGURE_READER_LACKS] = 0,
};

struct jvm_figure_reader {
  enum figure_reader_state state;
  jobject threads; /* global: the ThreadMXBean */
  jmethodID thread_count;
  jobject collectors[COLLECTORS_MAX]; /* global: GarbageCollectorMXBeans */
  size_t collector_count;
  jmethodID collection_time;
  jmethodID collection_count;
};

static void set_reader_state(struct jvm_figure_reader *reader, enum figure_reader_state to)
{
  ASSERT_TRANSITION(figure_reader_transitions, reader->state, to);
  reader->state = to;
}

struct jvm_figure_reader *jvm_figure_reader_create(void)
{
  return calloc(1, sizeof(struct jvm_figure_reader));
}

void jvm_figure_reader_destroy(struct jvm_thread *thread, struct jvm_figure_reader *reader)
{
  if (reader == NULL)
    return;
  if (reader->threads != NULL)
    (*thread->env)->DeleteGlobalRef(thread->env, reader->threads);
  for (size_t i = 0; i < reader->collector_count; i++)
    (*thread->env)->DeleteGlobalRef(thread->env, reader->collectors[i]);
  free(reader);
}

/* False: the method has thrown. A negative result, by which a collector says that it does not know, becomes 0. */
static bool call_long(struct jvm_thread *thread, jobject object, jmethodID method, uint64_t *result)
{
  const jlong called = (*thread->env)->CallLongMethod(thread->env, object, method);
  *result = called > 0 ? (uint64_t)called : 0;
  return !throwable_take(thread, NULL);
}

/* ---- the heap ---- */

void jvm_figures_read_heap(struct jvm_thread *thread, struct jvm_figures *figures)
{
  JNIEnv *env = thread->env;
  jclass runtime_class = thread->jvm->known.class_runtime;
  *figures = (struct jvm_figures){UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX};
  if ((*env)->PushLocalFrame(env, 4) != 0) {
    (void)throwable_take(thread, NULL);
    return;
  }
  jobject runtime = NULL;
  jmethodID total = NULL;
  jmethodID free_bytes = NULL;
  jmethodID max = NULL;
  jmethodID get = (*env)->GetStaticMethodID(env, runtime_class, "getRuntime", "()Ljava/lang/Runtime;");
  if (!throwable_take(thread, NULL))
    runtime = (*env)->CallStaticObjectMethod(env, runtime_class, get);
  if (throwable_take(thread, NULL) || runtime == NULL)
    goto out;
  total = (*env)->GetMethodID(env, runtime_class, "totalMemory", "()J");
  if (throwable_take(thread, NULL))
    goto out;
  free_bytes = (*env)->GetMethodID(env, runtime_class, "freeMemory", "()J");
  if (throwable_take(thread, NULL))
    goto out;
  max = (*env)->GetMethodID(env, runtime_class, "maxMemory", "()J");
  if (throwable_take(thread, NULL))
    goto out;
  uint64_t committed;
  uint64_t unused;
  uint64_t most;
  if (!call_long(thread, runtime, total, &committed) || !call_long(thread, runtime, free_bytes, &unused) ||
      !call_long(thread, runtime, max, &most))
    goto out;
  figures->heap_max = most;
  figures->heap_committed = committed;
  figures->heap_used = committed > unused ? committed - unused : 0;
out:
  (*env)->PopLocalFrame(env, NULL);
}

/* ---- beans ---- */

static jobject call_factory(struct jvm_thread *thread, jclass factory, const char *name,
                            const char *descriptor)
{
  JNIEnv *env = thread->env;
  jmethodID get = (*env)->GetStaticMethodID(env, factory, name, descriptor);
  if (throwable_take(thread, NULL))
    return NULL;
  jobject bean = (*env)->CallStaticObjectMethod(env, factory, get);
  return throwable_take(thread, NULL) ? NULL : bean;
}

static jmethodID find_method(struct jvm_thread *thread, const char *class_name, const char *name,
                             const char *descriptor)
{
  JNIEnv *env = thread->env;
  jclass found = (*env)->FindClass(env, class_name);
  if (throwable_take(thread, NULL))
    return NULL;
  jmethodID id = (*env)->GetMethodID(env, found, name, descriptor);
  return throwable_take(thread, NULL) ? NULL : id;
}

static bool keep_collectors(struct jvm_thread *thread, struct jvm_figure_reader *reader, jobject list)
{
  JNIEnv *env = thread->env;
  const struct jvm_known *known = &thread->jvm->known;
  jmethodID to_array = (*env)->GetMethodID(env, known->class_list, "toArray", "()[Ljava/lang/Object;");
  if (throwable_take(thread, NULL))
    return false;
  jobjectArray beans = (*env)->CallObjectMethod(env, list, to_array);
  if (throwable_take(thread, NULL) || beans == NULL)
    return false;
  jsize count = (*env)->GetArrayLength(env, beans);
  for (jsize i = 0; i < count && reader->collector_count < COLLECTORS_MAX; i++) {
    jobject bean = (*env)->GetObjectArrayElement(env, beans, i);
    jobject kept = throwable_take(thread, NULL) ? NULL : (*env)->NewGlobalRef(env, bean);
    if (kept == NULL)
      return false;
    reader->collectors[reader->collector_count++] = kept;
  }
  return true;
}

/* False: the JVM lacks a bean. */
static bool find_beans(struct jvm_thread *thread, struct jvm_figure_reader *reader)
{
  enum { REFERENCES = 32 };
  JNIEnv *env = thread->env;
  bool has_all = false;
  if ((*env)->PushLocalFrame(env, REFERENCES) != 0) {
    (void)throwable_take(thread, NULL);
    return false;
  }
  jobject threads = NULL;
  jobject collectors = NULL;
  jclass factory = (*env)->FindClass(env, "java/lang/management/ManagementFactory");
  if (!throwable_take(thread, NULL) && factory != NULL) {
    threads = call_factory(thread, factory, "getThreadMXBean", "()Ljava/lang/management/ThreadMXBean;");
    collectors = call_factory(thread, factory, "getGarbageCollectorMXBeans", "()Ljava/util/List;");
  }
  if (threads != NULL && collectors != NULL) {
    static const char collector[] = "java/lang/management/GarbageCollectorMXBean";
    reader->thread_count = find_method(thread, "java/lang/management/ThreadMXBean", "getThreadCount", "()I");
    reader->collection_time = find_method(thread, collector, "getCollectionTime", "()J");
    reader->collection_count = find_method(thread, collector, "getCollectionCount", "()J");
    reader->threads = (*env)->NewGlobalRef(env, threads);
    has_all = reader->thread_count != NULL && reader->collection_time != NULL &&
              reader->collection_count != NULL && reader->threads != NULL &&
              keep_collectors(thread, reader, collectors);
  }
  (*env)->PopLocalFrame(env, NULL);
  return has_all;
}

void jvm_figures_read_beans(struct jvm_thread *thread, struct jvm_figure_reader *reader,
                            struct jvm_figures *figures)
{
  JNIEnv *env = thread->env;
  uint64_t ms = 0;
  uint64_t count = 0;
  if (reader->state == FIGURE_READER_NEW)
    set_reader_state(reader, find_beans(thread, reader) ? FIGURE_READER_READS : FIGURE_READER_LACKS);
  if (reader->state == FIGURE_READER_LACKS)
    return;
  const jint threads = (*env)->CallIntMethod(env, reader->threads, reader->thread_count);
  if (throwable_take(thread, NULL))
    return;
  for (size_t i = 0; i < reader->collector_count; i++) {
    uint64_t time;
    uint64_t collections;
    if (!call_long(thread, reader->collectors[i], reader->collection_time, &time) ||
        !call_long(thread, reader->collectors[i], reader->collection_count, &collections))
      return;
    ms += time;
    count += collections;
  }
  figures->threads = (uint64_t)threads;
  figures->gc_ms = ms;
  figures->gc_count = count;
}
