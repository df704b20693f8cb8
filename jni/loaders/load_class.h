#ifndef JPEER_JNI_LOADERS_LOAD_CLASS_H
#define JPEER_JNI_LOADERS_LOAD_CLASS_H
/*
 * Asks a class loader for a class whose name a client may have made up.
 *
 * A loader that is capable of parallel loading keeps a lock for every name that it was ever asked for, present or not
 * (ClassLoader.getClassLoadingLock), and the application's and the platform loader live as long as the JVM. So these two
 * are asked only where they can have the class: it is loaded, or there is a class file that they would read. Other
 * loaders may make classes in any way, and are always asked.
 *
 * Call this on the thread's own thread, with no exception pending. It may run code of the application's loaders.
 */
#include "jni/types/classes.h"

/* As jvm_class_load_held. *held is the caller's, and NULL where NULL is returned. */
struct jvm_class *loader_load_class(struct jvm_thread *thread, struct text name, jobject loader,
                                    jclass *held);

/* The class of an array's elements, borrowed from the name; the name itself where it is no array's; data NULL: a
 * primitive. */
struct text loader_element_name(struct text name);

/* "a.B" to "a/B.class", as a local reference. NULL: memory is short; an exception may be pending. */
jstring loader_make_path(struct jvm_thread *thread, struct text name);

#endif
