#include "jni/start/exit_report.h"

#include "jni/runtime/peer_threads.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { DEPTH = 64, REFERENCES = 64 };

struct report {
  JNIEnv *env;
  jvmtiEnv *jvmti;
  const struct jvm *jvm;
};

static void give_back(const struct report *report, void *memory)
{
  (*report->jvmti)->Deallocate(report->jvmti, memory);
}

/* True if the signature of the method's class begins with this. */
static bool is_method_of(const struct report *report, jmethodID method, const char *signature)
{
  jclass class;
  char *found;
  if ((*report->jvmti)->GetMethodDeclaringClass(report->jvmti, method, &class) != JVMTI_ERROR_NONE)
    return false;
  bool is_same = false;
  if ((*report->jvmti)->GetClassSignature(report->jvmti, class, &found, NULL) == JVMTI_ERROR_NONE) {
    is_same = strncmp(found, signature, strlen(signature)) == 0;
    give_back(report, found);
  }
  (*report->env)->DeleteLocalRef(report->env, class);
  return is_same;
}

static jint stack_of(const struct report *report, jthread thread, jvmtiFrameInfo *frames)
{
  jint count = 0;
  jvmtiError failure = (*report->jvmti)->GetStackTrace(report->jvmti, thread, 0, DEPTH, frames, &count);
  return failure == JVMTI_ERROR_NONE ? count : 0;
}

static bool runs_hooks(const struct report *report, jthread thread)
{
  jvmtiFrameInfo frames[DEPTH];
  jint count = stack_of(report, thread, frames);
  bool runs = false;
  for (jint i = 0; i < count && !runs; i++)
    runs = is_method_of(report, frames[i].method, "Ljava/lang/ApplicationShutdownHooks;");
  return runs;
}

static void free_references(const struct report *report, jint count, jthread *threads)
{
  for (jint i = 0; i < count; i++)
    (*report->env)->DeleteLocalRef(report->env, threads[i]);
  give_back(report, threads);
}

/* True if `waiter` is in join() of the live thread `joined`: it then waits on that object. */
static bool has_joined(const struct report *report, jthread waiter, jthread joined)
{
  jvmtiMonitorUsage usage = {0};
  if ((*report->jvmti)->GetObjectMonitorUsage(report->jvmti, joined, &usage) != JVMTI_ERROR_NONE)
    return false;
  bool found = false;
  for (jint i = 0; i < usage.notify_waiter_count && !found; i++)
    found = (*report->env)->IsSameObject(report->env, usage.notify_waiters[i], waiter);
  (*report->env)->DeleteLocalRef(report->env, usage.owner);
  free_references(report, usage.waiter_count, usage.waiters);
  free_references(report, usage.notify_waiter_count, usage.notify_waiters);
  return found;
}

/* The hook that the JVM waits for: the thread that runs the hooks is in its join(). A local reference, or
 * NULL. */
static jobject look_for_hook(const struct report *report)
{
  jint count;
  jthread *threads;
  if ((*report->jvmti)->GetAllThreads(report->jvmti, &count, &threads) != JVMTI_ERROR_NONE)
    return NULL;
  if ((*report->env)->EnsureLocalCapacity(report->env, count + REFERENCES) != 0)
    (*report->env)->ExceptionClear(report->env);
  jthread waiter = NULL;
  jobject hook = NULL;
  for (jint i = 0; i < count && waiter == NULL; i++)
    waiter = runs_hooks(report, threads[i]) ? threads[i] : NULL;
  for (jint i = 0; i < count && waiter != NULL && hook == NULL; i++) {
    if (has_joined(report, waiter, threads[i]))
      hook = (*report->env)->NewLocalRef(report->env, threads[i]);
  }
  free_references(report, count, threads);
  return hook;
}

/* Looks several times, because between two hooks the JVM waits for none. */
static jobject find_hook(const struct report *report)
{
  enum { LOOKS = 20, PAUSE_US = 20000 };
  jobject hook = look_for_hook(report);
  for (int i = 1; hook == NULL && i < LOOKS; i++) {
    usleep(PAUSE_US);
    hook = look_for_hook(report);
  }
  return hook;
}

/* "com.example.Main$1.run": the innermost frame outside the JDK. */
static void write_place(const struct report *report, jthread hook, char *text, size_t size)
{
  jvmtiFrameInfo frames[DEPTH];
  jint count = stack_of(report, hook, frames);
  jint at = 0;
  while (at < count && (is_method_of(report, frames[at].method, "Ljava/") ||
                        is_method_of(report, frames[at].method, "Ljdk/")))
    at++;
  jclass class;
  char *signature = NULL;
  char *name = NULL;
  if (at == count ||
      (*report->jvmti)->GetMethodDeclaringClass(report->jvmti, frames[at].method, &class) != JVMTI_ERROR_NONE)
    return;
  if ((*report->jvmti)->GetClassSignature(report->jvmti, class, &signature, NULL) == JVMTI_ERROR_NONE &&
      (*report->jvmti)->GetMethodName(report->jvmti, frames[at].method, &name, NULL, NULL) ==
          JVMTI_ERROR_NONE) {
    for (char *c = signature; *c != '\0'; c++)
      *c = *c == '/' ? '.' : *c;
    snprintf(text, size, ", in %.*s.%s", (int)strlen(signature) - 2, signature + 1, name);
  }
  give_back(report, name);
  give_back(report, signature);
  (*report->env)->DeleteLocalRef(report->env, class);
}

static void write_hook(const struct report *report, jthread hook, char *text, size_t size)
{
  jvmtiThreadInfo info = {0};
  char place[256] = "";
  write_place(report, hook, place, sizeof place);
  if ((*report->jvmti)->GetThreadInfo(report->jvmti, hook, &info) == JVMTI_ERROR_NONE)
    snprintf(text, size, "the shutdown hook \"%s\"%s", info.name, place);
  else
    snprintf(text, size, "a shutdown hook%s", place);
  give_back(report, (void *)info.name);
  (*report->env)->DeleteLocalRef(report->env, info.thread_group);
  (*report->env)->DeleteLocalRef(report->env, info.context_class_loader);
}

void jvm_exit_report(struct jvm *jvm, char *text, size_t size)
{
  const jvmtiCapabilities wanted = {.can_get_monitor_info = 1};
  struct jvm_attachment attachment;
  snprintf(text, size, "no shutdown hook that the JVM tells of");
  if (!jvm_attach(jvm, &attachment))
    return;
  const struct report report = {attachment.env, jvm->jvmti, jvm};
  jobject hook = NULL;
  if ((*jvm->jvmti)->AddCapabilities(jvm->jvmti, &wanted) == JVMTI_ERROR_NONE)
    hook = find_hook(&report);
  if (hook != NULL)
    write_hook(&report, hook, text, size);
  (*report.env)->DeleteLocalRef(report.env, hook);
  jvm_detach(jvm, &attachment);
}
