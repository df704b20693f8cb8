#ifndef JPEER_JNI_TYPES_MEMBER_TABLE_H
#define JPEER_JNI_TYPES_MEMBER_TABLE_H
/*
 * The members that a class declares. They are read by JVMTI, which unlike reflection hides no member and
 * initialises no class. A class's table is made once and lives as long as the class. It is constant, except
 * that the classes of parameters are loaded on first use. Any thread that may use Java.
 *
 * A call with an id from JVMTI skips class initialisation. For this reason a static member must never be
 * called with `id`: take its id with GetStaticMethodID or GetStaticFieldID, which initialise the class, from
 * its owner, raw_name and raw_descriptor.
 */
#include "jni/types/classes.h"

/* The type of a parameter, a result, a field or an argument. */
struct jvm_type {
  char kind;                         /* Z B C S I J F D, V, or 'L' for every reference type */
  char unboxed;                      /* of a wrapper class its primitive's letter; else 0 */
  struct text name;                  /* Class.getName() */
  struct jvm_class *context;         /* its loader finds the class; NULL if `class` is set */
  _Atomic(struct jvm_class *) class; /* of a reference type; NULL until first use */
};

struct jvm_method {
  struct text name;     /* "<init>" for a constructor */
  const char *raw_name; /* modified UTF-8, for JNI */
  const char *raw_descriptor;
  unsigned modifiers;
  jmethodID id;
  struct jvm_class *owner;
  struct jvm_type *params;
  size_t param_count;
  struct jvm_type element; /* component of the last parameter, if OP_ACC_VARARGS */
  struct jvm_type result;
};

struct jvm_field {
  struct text name;
  const char *raw_name;
  const char *raw_descriptor;
  unsigned modifiers;
  jfieldID id;
  struct jvm_class *owner;
  struct jvm_type type;
};

struct member_table {
  /* without <clinit> and bridge methods; synthetic methods only if static and not private */
  struct jvm_method *methods;
  size_t method_count;
  /* Bridge and synthetic instance methods that are not private. Callers cannot name them, but they can
   * override other methods. */
  struct jvm_method *hidden;
  size_t hidden_count;
  struct jvm_field *fields; /* without synthetic fields */
  size_t field_count;
  struct jvm_class *super; /* NULL: none (Object, interfaces) */
  struct jvm_class **interfaces;
  size_t interface_count;
  struct arena memory; /* of the whole table */
};

/*
 * The class's table. Links the class first. NULL: an exception is pending if Java threw (the class cannot be
 * linked), and no exception is pending if memory is short.
 */
const struct member_table *member_table_of(struct jvm_thread *thread, struct jvm_class *class);

/* Frees the table of a class that has been unloaded. NULL is fine. */
void member_table_free(struct member_table *table);

/* The class of a reference type, loaded on first use. NULL: it cannot be loaded; no exception is pending. */
struct jvm_class *jvm_type_class(struct jvm_thread *thread, struct jvm_type *type);

#endif
