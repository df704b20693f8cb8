#ifndef JPEER_JNI_TYPES_CLASSES_H
#define JPEER_JNI_TYPES_CLASSES_H
/*
 * Classes by identity. Each class that a request has used has one struct jvm_class with an id of its own,
 * because names are not unique across loaders. The table is process-wide and created on first use. Any thread
 * that may use Java calls these functions, with no exception pending.
 *
 * A struct jvm_class is never freed, because an error may name a class after it was unloaded, and its id is
 * never used again. The table holds classes of the boot, platform and application loaders by global
 * references, and all other classes by weak references, so that an application can unload them. Use an entry
 * with a weak reference only while you hold an object or a class that keeps it loaded.
 */
#include "jni/runtime/machine.h"
#include "op/outcome.h"
#include "op/type.h"
#include "op/value_classes.h"

#include <stdatomic.h>
#include <stdbool.h>

struct member_table;

struct jvm_class {
  uint32_t id; /* from 1 */
  jint hash;
  jclass ref; /* global or weak global */
  bool permanent;
  /* True if the loader is the boot or the platform loader, the class is in a named module, and it is not a
   * proxy. For an array: of its element class. */
  bool is_of_jdk;
  struct text name;         /* Class.getName() */
  struct text element_name; /* for an array its element class or primitive keyword; else name */
  char component; /* for an array the first letter of its component's descriptor: Z ... L [; else 0 */
  char unboxed;   /* for a wrapper class its primitive's letter; else 0 */
  bool is_interface;
  bool is_hidden;
  bool is_proxy; /* made by java.lang.reflect.Proxy */
  bool is_record;
  bool is_enum; /* an enum, or the class of a constant with a body */
  unsigned modifiers;
  enum class_maker maker;
  enum class_text text;
  const struct value_class *row; /* of value_class_find_maker; NULL: none */
  _Atomic(int) function;         /* for an interface: the facts about its function that jni/proxies/kinds.c
                                  * has found */

  _Atomic(struct member_table *) members;      /* of jni/types/member_table.h */
  _Atomic(struct jvm_class *) component_class; /* for an array of references; set on first use */
  struct jvm_class *next;                      /* of the table */
};

/* The entry of a class. NULL: memory is short. */
struct jvm_class *jvm_class_of(struct jvm_thread *thread, jclass class);
struct jvm_class *jvm_class_of_object(struct jvm_thread *thread, jobject object);
/* NULL: no class has this id. */
struct jvm_class *jvm_class_by_id(struct jvm_thread *thread, uint32_t id);

/* The component class of an array of references. NULL: memory is short. */
struct jvm_class *jvm_class_component(struct jvm_thread *thread, struct jvm_class *array);

/*
 * Class.forName(name, false, loader): loads the class without initialising it. loader NULL: the boot loader.
 * NULL: an exception is pending (the class does not exist), or no exception is pending (memory is short).
 */
struct jvm_class *jvm_class_load(struct jvm_thread *thread, struct text name, jobject loader);
/* The same as jvm_class_load. *held is a local reference of the class, which keeps the class loaded. */
struct jvm_class *jvm_class_load_held(struct jvm_thread *thread, struct text name, jobject loader,
                                      jclass *held);

static inline jclass jvm_class_ref(const struct jvm_class *class)
{
  return class->ref;
}

/* True if both are the same class, or `super` is a direct or indirect superclass or interface of `sub`. */
bool jvm_class_is_assignable(struct jvm_thread *thread, const struct jvm_class *sub,
                             const struct jvm_class *super);

#endif
