#ifndef JPEER_JNI_TYPES_CLASSES_H
#define JPEER_JNI_TYPES_CLASSES_H
/*
 * Classes by identity. Each class that a request has touched has one struct jvm_class with an id of its own,
 * because names are not unique across loaders. The table is process-wide and made on first use. Any thread
 * that may use Java calls these, with no exception pending.
 *
 * A struct jvm_class is never freed, because an error may name a class after it was unloaded, and its id is
 * never given again. Classes of the boot, platform and application loaders are held by global references. All
 * others are held by weak ones, so that an application can unload them: use such an entry only while you hold
 * an object or a class that keeps it loaded.
 */
#include "jni/runtime/machine.h"
#include "op/outcome.h"
#include "op/type.h"

#include <stdatomic.h>
#include <stdbool.h>

struct member_table;

/* How a value becomes an object of a class, as far as its name alone tells. */
enum class_maker {
  MAKER_OTHER,   /* the name does not tell: an enum, a collection, or a class that takes refs only */
  MAKER_NATURAL, /* Object, Number, CharSequence, Comparable, ...: the class that the value's form suggests */
  MAKER_STRING,
  MAKER_WRAPPER,
  MAKER_ARRAY,
  MAKER_LIST, /* a new object of the class `made`, filled with add */
  MAKER_MAP,  /* a new object of the class `made`, filled with put */
  MAKER_PARSE /* from text, by a static method of the class or a constructor */
};

struct class_maker_row {
  const char *name; /* Class.getName() */
  enum class_maker maker;
  const char *made;   /* MAKER_LIST, MAKER_MAP: the class to make, as JNI writes it; NULL: the class itself */
  const char *method; /* MAKER_PARSE: a static method's name, or "<init>"; NULL: java.lang.Class */
  const char *descriptor;
};

/* The text that an object of a class has: one that an argument of the class may be given as. */
enum class_text {
  CLASS_TEXT_NONE,
  CLASS_TEXT_NAME,     /* an enum: the name of the constant */
  CLASS_TEXT_STRING,   /* what toString of a final class of the JDK gives */
  CLASS_TEXT_YEAR,     /* the same, made such that the class's own parse takes it */
  CLASS_TEXT_INTEGER,  /* BigInteger itself, whose digits are bounded */
  CLASS_TEXT_DECIMAL,  /* BigDecimal itself, likewise */
  CLASS_TEXT_OPTIONAL, /* the text, or the value, of what is in it */
  CLASS_TEXT_CLASS     /* the name of the class */
};

struct jvm_class {
  uint32_t id; /* from 1 */
  jint hash;
  jclass ref; /* global or weak global */
  bool permanent;
  /* Its loader is the boot or the platform loader, it is in a named module, and it is no proxy; an array: its element
   * class. */
  bool is_of_jdk;
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
  enum class_text text;
  const struct class_maker_row *row; /* NULL where no row of the table has the name */
  _Atomic(int) function;             /* of an interface: what jni/proxies/kinds.c knows of its function */

  _Atomic(struct member_table *) members;      /* of jni/types/member_table.h */
  _Atomic(struct jvm_class *) component_class; /* of an array of references; made when asked for */
  struct jvm_class *next;                      /* of the table */
};

/* The entry of a class. NULL: memory is short. */
struct jvm_class *jvm_class_of(struct jvm_thread *thread, jclass class);
struct jvm_class *jvm_class_of_object(struct jvm_thread *thread, jobject object);
/* NULL: the id was never given. */
struct jvm_class *jvm_class_by_id(struct jvm_thread *thread, uint32_t id);

/* The component class of an array of references. NULL: memory is short. */
struct jvm_class *jvm_class_component(struct jvm_thread *thread, struct jvm_class *array);

/*
 * Class.forName(name, false, loader): loads the class without initialising it. loader NULL: the boot loader.
 * NULL: an exception is pending (there is no such class), or none is (memory is short).
 */
struct jvm_class *jvm_class_load(struct jvm_thread *thread, struct text name, jobject loader);
/* The same; *held is the class as a local reference, which keeps it loaded. */
struct jvm_class *jvm_class_load_held(struct jvm_thread *thread, struct text name, jobject loader,
                                      jclass *held);

/* The row for a class name; NULL: none. */
const struct class_maker_row *class_maker_find(struct text name);

/* By the class's name alone, which no class of an application can have; enums are not told. */
enum class_text class_text_find(struct text name);

static inline jclass jvm_class_ref(const struct jvm_class *class)
{
  return class->ref;
}

/* Same class, or sub's superclass or interface, directly or not. */
bool jvm_class_is_assignable(struct jvm_thread *thread, const struct jvm_class *sub,
                             const struct jvm_class *super);

#endif
