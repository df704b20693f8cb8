#ifndef JPEER_JNI_RUNTIME_STRINGS_H
#define JPEER_JNI_RUNTIME_STRINGS_H
/*
 * Converts between Java's strings and the peer's texts, which are WTF-8 (base/text.h). Strings cross JNI as
 * UTF-16, never as modified UTF-8, which would corrupt NULs and characters beyond the BMP. Call these
 * functions on the thread's own thread.
 */
#include "base/arena.h"
#include "jni/runtime/machine.h"

/* A local reference. NULL: an exception is pending (OutOfMemoryError); or C's memory is short, and no
 * exception is pending. */
jstring jvm_string_new(struct jvm_thread *thread, struct text t);

/* The string's text in the arena; data is NULL if memory is short. string must not be NULL. */
struct text jvm_string_get(struct jvm_thread *thread, jstring string, struct arena *arena);
/* The same as jvm_string_get, for a string of known length. */
struct text jvm_string_get_whole(struct jvm_thread *thread, jstring string, size_t length,
                                 struct arena *arena);

/* The same as jvm_string_get, except that a string of more than max UTF-16 units is cut there and ends in
 * "...". */
struct text jvm_string_get_cut(struct jvm_thread *thread, jstring string, struct arena *arena, size_t max);

/* UTF-16 units as WTF-8, in the arena; data is NULL when memory is short. */
struct text jvm_text_of_units(const uint16_t *units, size_t count, struct arena *arena);

/* Class.getName() of any class ("int", "[I", "java.util.Map$Entry"), without running Java code or using
 * Java's memory. data is NULL when memory is short. */
struct text jvm_class_name(struct jvm_thread *thread, jclass class, struct arena *arena);

/* WTF-8 from modified UTF-8 (JVMS 4.4.7), the form of JVMTI's and JNI's names. data is NULL when memory is
 * short. */
struct text jvm_text_of_modified(struct jvm_thread *thread, const char *modified, struct arena *arena);

#endif
