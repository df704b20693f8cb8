#ifndef JPEER_JNI_TYPES_CLASSES_H
#define JPEER_JNI_TYPES_CLASSES_H
/*
 * Classes by identity. Each class that a request has touched has one struct jvm_class with a number of its
 * own: names are not unique across loaders. The table is process-wide and made on first use; any thread that
 * may use Java, no exception pending on entry.
 *
 * A struct jvm_class is never freed (its name may be told after its class was unloaded), nor is its id given
 * again. Classes that the boot, platform and application loaders define are held by global references; all
 * others by weak ones, so that an application can unload them: such an entry may be used only while an object
 * or a class that keeps it loaded is at hand.
 */
#include "jni/runtime/machine.h"
#include "op/outcome.h"
#include "op/type.h"

#include <stdatomic.h>
#include <stdbool.h>

struct member_table;

/* How a value becomes an object of a class, as far as its name alone tells. */
enum class_maker {
  MAKER_OTHER,   /* to be asked for: enum, collection, or nothing but a ref */
  MAKER_NATURAL, /* Object, Number, CharSequence, Comparable, ...: what the value's own form suggests */
  MAKER_STRING,
  MAKER_WRAPPER,
  MAKER_ARRAY,
  MAKER_LIST, /* made as `made` says, filled with add */
  MAKER_MAP,  /* made as `made` says, filled with put */
  MAKER_PARSE /* from text: a static method of the class, or a constructor */
};

struct class_maker_row {
  const char *name; /* Class.getName() */
  enum class_maker maker;
  const char *made;   /* MAKER_LIST, MAKER_MAP: the class to make, as JNI writes it; NULL: the class itself */
  const char *method; /* MAKER_PARSE: a static method's name, or "<init>"; NULL: java.lang.Class */
  const char *descriptor;
};

struct jvm_class {
  uint32_t id; /* from 1 */
  jint hash;
  jclass ref; /* global or weak global */
  bool permanent;
  struct text name;         /* Class.getName() */
  struct text element_name; /* of an array its element class or primitive keyword; else name */
  char component; /* of an array the first letter of its component's descriptor: Z ... L [; else 0 */
  char unboxed;   /* of a wrapper class its primitive's letter; else 0 */
  bool is_interface;
  bool is_hidden;
  bool is_record;
  bool is_enum; /* an enum, or the class of a constant with a body */
  unsigned modifiers;
  enum class_maker maker;
  const struct class_maker_row *row; /* NULL where no row of the table has the name */

  _Atomic(struct member_table *) members;      /* of jni/types/member_table.h */
  _Atomic(struct jvm_class *) component_class; /* of an array of references; made when asked for */
  struct jvm_class *next;                      /* of the table */
};

/* The class's entry. NULL: memory is short. */
struct jvm_class *jvm_class_of(struct jvm_thread *thread, jclass class);
struct jvm_class *jvm_class_of_object(struct jvm_thread *thread, jobject object);
/* NULL for a number that was never given. */
struct jvm_class *jvm_class_by_id(struct jvm_thread *thread, uint32_t id);

/* The component class of an array of references. NULL: memory is short. */
struct jvm_class *jvm_class_component(struct jvm_thread *thread, struct jvm_class *array);

/*
 * Class.forName(name, false, loader): loads, does not initialise. loader NULL: the boot loader. NULL with the
 * exception pending where there is no such class, without one where memory is short.
 */
struct jvm_class *jvm_class_load(struct jvm_thread *thread, struct text name, jobject loader);

/* The row for a class name; NULL: none. */
const struct class_maker_row *class_maker_find(struct text name);

static inline jclass jvm_class_ref(const struct jvm_class *class)
{
  return class->ref;
}

/* Same class, or sub's superclass or interface, directly or not. */
bool jvm_class_is_assignable(struct jvm_thread *thread, const struct jvm_class *sub,
                             const struct jvm_class *super);

#endif
