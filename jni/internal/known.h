#ifndef JPEER_JNI_INTERNAL_KNOWN_H
#define JPEER_JNI_INTERNAL_KNOWN_H
/*
 * The classes and ids that the peer itself needs, in one table: loaded once at start, on the thread "main";
 * one that is missing ends the start. Afterwards read-only, any thread. Classes are global references.
 *
 * Use: thread->jvm->known.class_string, known.method_throwable_get_message. A row more is all that a new one
 * needs.
 */
#include "base/status.h"

#include <jni.h>

/* X(field, name) */
#define JVM_KNOWN_CLASSES(X)                                                                                 \
  X(object, "java/lang/Object")                                                                              \
  X(class, "java/lang/Class")                                                                                \
  X(class_loader, "java/lang/ClassLoader")                                                                   \
  X(runtime, "java/lang/Runtime")                                                                            \
  X(stack_trace_element, "java/lang/StackTraceElement")                                                      \
  X(string, "java/lang/String")                                                                              \
  X(system, "java/lang/System")                                                                              \
  X(thread, "java/lang/Thread")                                                                              \
  X(throwable, "java/lang/Throwable")

/* X(field, class's field, name, descriptor) */
#define JVM_KNOWN_METHODS(X)                                                                                 \
  X(runtime_exit, runtime, "exit", "(I)V")                                                                   \
  X(runtime_halt, runtime, "halt", "(I)V")                                                                   \
  X(runtime_add_shutdown_hook, runtime, "addShutdownHook", "(Ljava/lang/Thread;)V")                          \
  X(stack_trace_element_get_class_name, stack_trace_element, "getClassName", "()Ljava/lang/String;")         \
  X(stack_trace_element_to_string, stack_trace_element, "toString", "()Ljava/lang/String;")                  \
  X(thread_start, thread, "start", "()V")                                                                    \
  X(throwable_get_cause, throwable, "getCause", "()Ljava/lang/Throwable;")                                   \
  X(throwable_get_message, throwable, "getMessage", "()Ljava/lang/String;")                                  \
  X(throwable_get_stack_trace, throwable, "getStackTrace", "()[Ljava/lang/StackTraceElement;")

#define JVM_KNOWN_STATIC_METHODS(X)                                                                          \
  X(class_loader_get_system, class_loader, "getSystemClassLoader", "()Ljava/lang/ClassLoader;")              \
  X(runtime_get, runtime, "getRuntime", "()Ljava/lang/Runtime;")                                             \
  X(system_exit, system, "exit", "(I)V")                                                                     \
  X(system_gc, system, "gc", "()V")                                                                          \
  X(thread_current, thread, "currentThread", "()Ljava/lang/Thread;")

struct jvm_known {
#define JVM_FIELD(field, name) jclass class_##field;
  JVM_KNOWN_CLASSES(JVM_FIELD)
#undef JVM_FIELD
#define JVM_FIELD(field, class, name, descriptor) jmethodID method_##field;
  JVM_KNOWN_METHODS(JVM_FIELD)
#undef JVM_FIELD
#define JVM_FIELD(field, class, name, descriptor) jmethodID static_##field;
  JVM_KNOWN_STATIC_METHODS(JVM_FIELD)
#undef JVM_FIELD
};

/* JP_INTERNAL: the text names the class or member that this JVM lacks. */
enum jp_status jvm_known_load(JNIEnv *env, struct jvm_known *known, struct jp_error *error) JP_MUST_CHECK;

#endif
