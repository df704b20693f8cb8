#ifndef JPEER_JNI_RUNTIME_KNOWN_H
#define JPEER_JNI_RUNTIME_KNOWN_H
/*
 * The classes and ids that the peer itself needs, in one table. The thread "main" loads them once at the
 * start, and the start fails if one is missing. Afterwards any thread reads them. Classes are global
 * references.
 *
 * Use: thread->jvm->known.class_string, known.method_throwable_get_message. To add one, add a row.
 */
#include "base/status.h"

#include <jni.h>

/* X(field, name) */
#define JVM_KNOWN_CLASSES(X)                                                                                 \
  X(array_list, "java/util/ArrayList")                                                                       \
  X(base_stream, "java/util/stream/BaseStream")                                                              \
  X(big_decimal, "java/math/BigDecimal")                                                                     \
  X(big_integer, "java/math/BigInteger")                                                                     \
  X(boolean, "java/lang/Boolean")                                                                            \
  X(byte, "java/lang/Byte")                                                                                  \
  X(character, "java/lang/Character")                                                                        \
  X(class, "java/lang/Class")                                                                                \
  X(class_loader, "java/lang/ClassLoader")                                                                   \
  X(class_not_found_exception, "java/lang/ClassNotFoundException")                                           \
  X(code_source, "java/security/CodeSource")                                                                 \
  X(collection, "java/util/Collection")                                                                      \
  X(double, "java/lang/Double")                                                                              \
  X(enum, "java/lang/Enum")                                                                                  \
  X(enumeration, "java/util/Enumeration")                                                                    \
  X(executor, "java/util/concurrent/Executor")                                                               \
  X(float, "java/lang/Float")                                                                                \
  X(hash_map, "java/util/HashMap")                                                                           \
  X(identity_hash_map, "java/util/IdentityHashMap")                                                          \
  X(illegal_argument_exception, "java/lang/IllegalArgumentException")                                        \
  X(input_stream, "java/io/InputStream")                                                                     \
  X(integer, "java/lang/Integer")                                                                            \
  X(iterable, "java/lang/Iterable")                                                                          \
  X(iterator, "java/util/Iterator")                                                                          \
  X(list, "java/util/List")                                                                                  \
  X(long, "java/lang/Long")                                                                                  \
  X(map, "java/util/Map")                                                                                    \
  X(map_entry, "java/util/Map$Entry")                                                                        \
  X(no_class_def_found_error, "java/lang/NoClassDefFoundError")                                              \
  X(no_such_method_error, "java/lang/NoSuchMethodError")                                                     \
  X(object, "java/lang/Object")                                                                              \
  X(optional, "java/util/Optional")                                                                          \
  X(protection_domain, "java/security/ProtectionDomain")                                                     \
  X(proxy, "java/lang/reflect/Proxy")                                                                        \
  X(runtime, "java/lang/Runtime")                                                                            \
  X(runtime_exception, "java/lang/RuntimeException")                                                         \
  X(short, "java/lang/Short")                                                                                \
  X(stack_trace_element, "java/lang/StackTraceElement")                                                      \
  X(string, "java/lang/String")                                                                              \
  X(system, "java/lang/System")                                                                              \
  X(thread, "java/lang/Thread")                                                                              \
  X(thread_group, "java/lang/ThreadGroup")                                                                   \
  X(throwable, "java/lang/Throwable")                                                                        \
  X(url, "java/net/URL")

/* X(field, class's field, name, descriptor) */
#define JVM_KNOWN_METHODS(X)                                                                                 \
  X(array_list_add, array_list, "add", "(Ljava/lang/Object;)Z")                                              \
  X(array_list_init, array_list, "<init>", "()V")                                                            \
  X(base_stream_iterator, base_stream, "iterator", "()Ljava/util/Iterator;")                                 \
  X(big_decimal_unscaled_value, big_decimal, "unscaledValue", "()Ljava/math/BigInteger;")                    \
  X(big_integer_bit_length, big_integer, "bitLength", "()I")                                                 \
  X(class_get_component_type, class, "getComponentType", "()Ljava/lang/Class;")                              \
  X(class_get_declared_constructors, class, "getDeclaredConstructors", "()[Ljava/lang/reflect/Constructor;") \
  X(class_get_declared_fields, class, "getDeclaredFields", "()[Ljava/lang/reflect/Field;")                   \
  X(class_get_protection_domain, class, "getProtectionDomain", "()Ljava/security/ProtectionDomain;")         \
  X(class_loader_find_loaded_class, class_loader, "findLoadedClass",                                         \
    "(Ljava/lang/String;)Ljava/lang/Class;")                                                                 \
  X(class_loader_find_resource, class_loader, "findResource",                                                \
    "(Ljava/lang/String;Ljava/lang/String;)Ljava/net/URL;")                                                  \
  X(class_loader_get_name, class_loader, "getName", "()Ljava/lang/String;")                                  \
  X(class_loader_get_resource, class_loader, "getResource", "(Ljava/lang/String;)Ljava/net/URL;")            \
  X(class_loader_get_unnamed_module, class_loader, "getUnnamedModule", "()Ljava/lang/Module;")               \
  X(code_source_get_location, code_source, "getLocation", "()Ljava/net/URL;")                                \
  X(collection_add_all, collection, "addAll", "(Ljava/util/Collection;)Z")                                   \
  X(collection_size, collection, "size", "()I")                                                              \
  X(collection_to_array, collection, "toArray", "()[Ljava/lang/Object;")                                     \
  X(enum_name, enum, "name", "()Ljava/lang/String;")                                                         \
  X(executor_execute, executor, "execute", "(Ljava/lang/Runnable;)V")                                        \
  X(identity_hash_map_init, identity_hash_map, "<init>", "()V")                                              \
  X(input_stream_read, input_stream, "read", "([BII)I")                                                      \
  X(iterable_iterator, iterable, "iterator", "()Ljava/util/Iterator;")                                       \
  X(list_set, list, "set", "(ILjava/lang/Object;)Ljava/lang/Object;")                                        \
  X(map_clear, map, "clear", "()V")                                                                          \
  X(map_contains_key, map, "containsKey", "(Ljava/lang/Object;)Z")                                           \
  X(map_entry_get_key, map_entry, "getKey", "()Ljava/lang/Object;")                                          \
  X(map_entry_get_value, map_entry, "getValue", "()Ljava/lang/Object;")                                      \
  X(map_entry_set_value, map_entry, "setValue", "(Ljava/lang/Object;)Ljava/lang/Object;")                    \
  X(map_entry_set, map, "entrySet", "()Ljava/util/Set;")                                                     \
  X(map_put, map, "put", "(Ljava/lang/Object;Ljava/lang/Object;)Ljava/lang/Object;")                         \
  X(map_put_all, map, "putAll", "(Ljava/util/Map;)V")                                                        \
  X(map_size, map, "size", "()I")                                                                            \
  X(object_to_string, object, "toString", "()Ljava/lang/String;")                                            \
  X(optional_or_else, optional, "orElse", "(Ljava/lang/Object;)Ljava/lang/Object;")                          \
  X(protection_domain_get_code_source, protection_domain, "getCodeSource", "()Ljava/security/CodeSource;")   \
  X(runtime_add_shutdown_hook, runtime, "addShutdownHook", "(Ljava/lang/Thread;)V")                          \
  X(runtime_exit, runtime, "exit", "(I)V")                                                                   \
  X(runtime_halt, runtime, "halt", "(I)V")                                                                   \
  X(string_of_bytes, string, "<init>",                                                                       \
    "([BIII)V") /* parameters: high byte of all characters, offset, count */                                 \
  X(thread_get_context_class_loader, thread, "getContextClassLoader", "()Ljava/lang/ClassLoader;")           \
  X(thread_get_stack_trace, thread, "getStackTrace", "()[Ljava/lang/StackTraceElement;")                     \
  X(thread_get_thread_group, thread, "getThreadGroup", "()Ljava/lang/ThreadGroup;")                          \
  X(thread_interrupt, thread, "interrupt", "()V")                                                            \
  X(thread_is_interrupted, thread, "isInterrupted", "()Z")                                                   \
  X(thread_join, thread, "join", "()V")                                                                      \
  X(thread_set_context_class_loader, thread, "setContextClassLoader", "(Ljava/lang/ClassLoader;)V")          \
  X(thread_start, thread, "start", "()V")                                                                    \
  X(stack_trace_element_init, stack_trace_element, "<init>",                                                 \
    "(Ljava/lang/String;Ljava/lang/String;Ljava/lang/String;I)V")                                            \
  X(throwable_get_cause, throwable, "getCause", "()Ljava/lang/Throwable;")                                   \
  X(throwable_get_message, throwable, "getMessage", "()Ljava/lang/String;")                                  \
  X(throwable_get_stack_trace, throwable, "getStackTrace", "()[Ljava/lang/StackTraceElement;")               \
  X(throwable_init_cause, throwable, "initCause", "(Ljava/lang/Throwable;)Ljava/lang/Throwable;")            \
  X(throwable_set_stack_trace, throwable, "setStackTrace", "([Ljava/lang/StackTraceElement;)V")              \
  X(url_get_path, url, "getPath", "()Ljava/lang/String;")                                                    \
  X(url_get_protocol, url, "getProtocol", "()Ljava/lang/String;")

#define JVM_KNOWN_STATIC_METHODS(X)                                                                          \
  X(boolean_value_of, boolean, "valueOf", "(Z)Ljava/lang/Boolean;")                                          \
  X(byte_value_of, byte, "valueOf", "(B)Ljava/lang/Byte;")                                                   \
  X(character_value_of, character, "valueOf", "(C)Ljava/lang/Character;")                                    \
  X(class_for_name, class, "forName", "(Ljava/lang/String;ZLjava/lang/ClassLoader;)Ljava/lang/Class;")       \
  X(class_loader_get_platform, class_loader, "getPlatformClassLoader", "()Ljava/lang/ClassLoader;")          \
  X(class_loader_get_system, class_loader, "getSystemClassLoader", "()Ljava/lang/ClassLoader;")              \
  X(double_value_of, double, "valueOf", "(D)Ljava/lang/Double;")                                             \
  X(float_value_of, float, "valueOf", "(F)Ljava/lang/Float;")                                                \
  X(integer_value_of, integer, "valueOf", "(I)Ljava/lang/Integer;")                                          \
  X(long_value_of, long, "valueOf", "(J)Ljava/lang/Long;")                                                   \
  X(optional_empty, optional, "empty", "()Ljava/util/Optional;")                                             \
  X(optional_of, optional, "of", "(Ljava/lang/Object;)Ljava/util/Optional;")                                 \
  X(runtime_get, runtime, "getRuntime", "()Ljava/lang/Runtime;")                                             \
  X(short_value_of, short, "valueOf", "(S)Ljava/lang/Short;")                                                \
  X(system_arraycopy, system, "arraycopy", "(Ljava/lang/Object;ILjava/lang/Object;II)V")                     \
  X(system_exit, system, "exit", "(I)V")                                                                     \
  X(system_gc, system, "gc", "()V")                                                                          \
  X(thread_current, thread, "currentThread", "()Ljava/lang/Thread;")                                         \
  X(thread_interrupted, thread, "interrupted", "()Z")

/* X(field, class's field, name, descriptor): the values inside wrappers, and the handler of a proxy. Reading
 * the field is much cheaper than calling intValue(). */
#define JVM_KNOWN_FIELDS(X)                                                                                  \
  X(boolean_value, boolean, "value", "Z")                                                                    \
  X(byte_value, byte, "value", "B")                                                                          \
  X(character_value, character, "value", "C")                                                                \
  X(short_value, short, "value", "S")                                                                        \
  X(integer_value, integer, "value", "I")                                                                    \
  X(long_value, long, "value", "J")                                                                          \
  X(float_value, float, "value", "F")                                                                        \
  X(double_value, double, "value", "D")                                                                      \
  X(proxy_handler, proxy, "h", "Ljava/lang/reflect/InvocationHandler;")

struct jvm_known {
#define DECLARE(field, name) jclass class_##field;
  JVM_KNOWN_CLASSES(DECLARE)
#undef DECLARE
#define DECLARE(field, class, name, descriptor) jmethodID method_##field;
  JVM_KNOWN_METHODS(DECLARE)
#undef DECLARE
#define DECLARE(field, class, name, descriptor) jmethodID static_##field;
  JVM_KNOWN_STATIC_METHODS(DECLARE)
#undef DECLARE
#define DECLARE(field, class, name, descriptor) jfieldID field_##field;
  JVM_KNOWN_FIELDS(DECLARE)
#undef DECLARE
};

/* The wrapper class of a primitive type, borrowed; NULL: no primitive type has this letter. */
jclass jvm_known_wrapper(const struct jvm_known *known, char letter);
/* Boxes a primitive: a local reference. NULL: an exception is pending. */
jobject jvm_known_box(const struct jvm_known *known, JNIEnv *env, char letter, const jvalue *value);

/* JP_INTERNAL: the error's text names the class or member that this JVM lacks. */
enum jp_status jvm_known_load(JNIEnv *env, struct jvm_known *known, struct jp_error *error) JP_MUST_CHECK;

#endif
