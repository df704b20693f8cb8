#ifndef JPEER_JNI_RUNTIME_STRINGS_H
#define JPEER_JNI_RUNTIME_STRINGS_H
/*
 * Text across the border. Strings cross as UTF-16, never as modified UTF-8, which would corrupt NULs and what
 * lies beyond the BMP; on this side they are WTF-8 (base/text.h). On the thread's own thread.
 */
#include "base/arena.h"
#include "jni/runtime/machine.h"

/* A local reference; NULL with an exception pending (OutOfMemoryError), or without one when C's memory is
 * short. */
jstring jvm_string_new(struct jvm_thread *thread, struct text t);

/* The string's text in the arena; data is NULL when memory is short. string must not be NULL. */
struct text jvm_string_get(struct jvm_thread *thread, jstring string, struct arena *arena);

/* As jvm_string_get, but a string of more than max UTF-16 units is cut there and ends in "...". */
struct text jvm_string_get_cut(struct jvm_thread *thread, jstring string, struct arena *arena, size_t max);

/* UTF-16 units as WTF-8, in the arena; data is NULL when memory is short. */
struct text jvm_text_of_units(const uint16_t *units, size_t count, struct arena *arena);

/* Class.getName() of any class ("int", "[I", "java.util.Map$Entry"), made without Java code or Java memory.
 * data is NULL when memory is short. */
struct text jvm_class_name(struct jvm_thread *thread, jclass class, struct arena *arena);

/* Modified UTF-8 (JVMS 4.4.7), as JVMTI and JNI give it, as WTF-8. data is NULL when memory is short. */
struct text jvm_text_of_modified(struct jvm_thread *thread, const char *modified, struct arena *arena);

#endif
