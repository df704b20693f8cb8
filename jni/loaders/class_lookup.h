#ifndef JPEER_JNI_LOADERS_CLASS_LOOKUP_H
#define JPEER_JNI_LOADERS_CLASS_LOOKUP_H
/*
 * From a name to a class, where the request names no loader (docs/internals/resolution.md, "A name goes to a class").
 * The policy has been asked before. Call these on the thread's own thread, between jvm_request_begin and
 * jvm_request_end, with no exception pending. They may run code of the application's loaders.
 */
#include "jni/loaders/loaders.h"
#include "jni/types/classes.h"

/*
 * Asks one class loader for a class whose name a client may have made up. As jvm_class_load_held. *held is the caller's,
 * and NULL where NULL is returned.
 */
struct jvm_class *loader_load_class(struct jvm_thread *thread, struct text name, jobject loader,
                                    jclass *held);

/* The reason why a class was found; it is checked again before the class is used. */
enum class_basis_kind {
  CLASS_FOR_GOOD, /* a loader that has given the class gives it always */
  CLASS_OF_MAIN,  /* found by the context class loader of main: while that is the same */
  CLASS_ALONE     /* the only loaded class of the name: until another one is loaded */
};

struct class_basis {
  enum class_basis_kind kind;
  uint32_t loader;  /* CLASS_OF_MAIN: its number */
  uint32_t hash;    /* CLASS_ALONE: of the name, */
  uint32_t changes; /* and loaded_name_changes when it was looked for */
};

struct class_finding {
  struct jvm_class *class; /* NULL: none was found */
  /* A local reference that keeps the class from being unloaded, which is the caller's; NULL: it never is, or
   * something else keeps it. */
  jclass held;
  struct class_basis basis;
  struct loader_list several; /* class NULL: each of these loaders has one */
};

/*
 * Looks for a class by Class.getName(), as Class.forName does, without initialising it. *finding has a class or
 * several loaders; else an exception is pending (ClassNotFoundException: there is none), or none is where memory
 * is short. looks_beyond: false where the application's loader alone is asked.
 */
void class_find(struct jvm_thread *thread, struct text name, bool looks_beyond,
                struct class_finding *finding);
/* Drops what it holds. */
void class_finding_end(struct jvm_thread *thread, struct class_finding *finding);

/* True where class_find would find the same again, as long as the class is loaded. */
bool class_basis_holds(struct jvm_thread *thread, const struct class_basis *basis);

#endif
