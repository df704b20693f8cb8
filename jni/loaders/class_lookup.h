#ifndef JPEER_JNI_LOADERS_CLASS_LOOKUP_H
#define JPEER_JNI_LOADERS_CLASS_LOOKUP_H
/*
 * From a name to a class, if the request names no loader (docs/internals/resolution.md, "A name goes to a
 * class"). The caller has asked the policy. Call these functions on the thread's own thread, between
 * jvm_request_begin and jvm_request_end, with no exception pending. They may run code of the application's
 * loaders.
 */
#include "jni/loaders/loaders.h"
#include "jni/types/classes.h"

/*
 * Asks one class loader for a class whose name may be any text of a client. The same as jvm_class_load_held.
 * The caller owns *held, which is NULL if NULL is returned.
 */
struct jvm_class *loader_load_class(struct jvm_thread *thread, struct text name, jobject loader,
                                    jclass *held);

/* Why a name means a class; checked again before a cached class is used. */
enum class_basis_kind {
  CLASS_FOR_GOOD, /* if a loader has returned a class once, it always returns this class */
  CLASS_OF_MAIN,  /* found by the context class loader of main: valid while that loader is the same */
  CLASS_ALONE     /* the only loaded class of the name: valid until another class of the name is loaded */
};

struct class_basis {
  enum class_basis_kind kind;
  uint32_t loader;  /* CLASS_OF_MAIN: the loader's number */
  uint32_t hash;    /* CLASS_ALONE: the name's hash */
  uint32_t changes; /* CLASS_ALONE: loaded_name_changes at the time of the search */
};

struct class_finding {
  struct jvm_class *class; /* NULL: not found */
  /* A local reference that keeps the class loaded, owned by the caller; NULL: the class is permanent, or kept
   * loaded in another way. */
  jclass held;
  struct class_basis basis;
  struct loader_list several; /* if class is NULL: each of these loaders has a class of the name */
};

/*
 * Searches a class by Class.getName(), like Class.forName, without initialising it. *finding has a class or
 * several loaders. Otherwise an exception is pending (ClassNotFoundException: the class does not exist). If
 * no exception is pending, memory is short. searches_further: false if only the application's loader is
 * asked.
 */
void class_find(struct jvm_thread *thread, struct text name, bool searches_further,
                struct class_finding *finding);
/* Deletes the reference that *finding holds. */
void class_finding_end(struct jvm_thread *thread, struct class_finding *finding);

/* True if class_find would still find the same class, provided that the class is loaded. */
bool class_basis_holds(struct jvm_thread *thread, const struct class_basis *basis);

#endif
