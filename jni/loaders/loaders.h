#ifndef JPEER_JNI_LOADERS_LOADERS_H
#define JPEER_JNI_LOADERS_LOADERS_H
/*
 * A table that numbers the class loaders, and finds the loaders that have loaded a class of a given name
 * (docs/internals/resolution.md, "A name goes to a class"). JVMTI reports each class that is loaded, and the
 * peer records the hash of its name with the number of its loader. The peer keeps no loader alive: it has one
 * weak reference for each.
 *
 * Any thread that may use Java calls these functions, with no exception pending.
 */
#include "base/text.h"
#include "jni/runtime/machine.h"

enum {
  LOADER_APPLICATION = 1,
  LOADER_PLATFORM = 2, /* the first two numbers: loaders that are never unloaded */
  LOADERS_LISTED_MAX = 64
};

/* The loaders that have a class of a name, in the order in which the peer first saw them; only the newest if
 * there are more than LOADERS_LISTED_MAX. */
struct loader_list {
  uint32_t numbers[LOADERS_LISTED_MAX];
  size_t count;
};

/* Begins to record classes. Once, on the thread "main", after jvm->known and jvm->class_loader are set. */
enum jp_status loaders_open(struct jvm *jvm, struct jvm_thread *thread, struct jp_error *error) JP_MUST_CHECK;

/* The loader's number. It is never given to another loader. 0: memory is short. */
uint32_t loader_number(struct jvm *jvm, JNIEnv *env, jobject loader);
/* A local reference; NULL: the loader has been unloaded, or memory is short. */
jobject loader_take(struct jvm_thread *thread, uint32_t number);

/* The hash for loaded_name_changes and loaders_of_name. */
uint32_t loaded_name_hash(struct text name);
/* A counter that changes whenever a class with this hash is loaded, except by the boot, platform and
 * application loaders, whose classes are not recorded. */
uint32_t loaded_name_changes(uint32_t hash);
/* The loaders that have defined a class of the name (Class.getName(), no array), except loaders whose classes
 * are not recorded. Runs no code of the loaders. */
void loaders_of_name(struct jvm_thread *thread, struct text name, struct loader_list *found);

/*
 * The context class loader of the thread that runs main. Programs in one jar of many jars, and application
 * servers, set it to the loader of their classes. While main runs, this is the thread's present loader;
 * afterwards, the loader that was set when main ended. The peer does not keep it alive.
 */

/* On the thread "main", before it serves. JP_NO_MEMORY. */
enum jp_status main_loader_open(struct jvm_thread *thread, struct jp_error *error) JP_MUST_CHECK;
/* Call it after main has returned, on main's thread, which is still attached; no exception is pending. */
void main_loader_settle(struct jvm *jvm, JNIEnv *env);
/* The loader's number. 0: main has no context class loader, or its context class loader adds nothing to the
 * application's loader. */
uint32_t main_loader_number(struct jvm_thread *thread);

#endif
