#ifndef JPEER_JNI_TYPES_ELEMENT_TYPES_H
#define JPEER_JNI_TYPES_ELEMENT_TYPES_H
/*
 * What a parameter, field or result declares beyond its erased type. Of the elements of its collection, map or array: Long of
 * List<Long>, and of Map<Integer, Long> the key Integer, too. Of a function what it gives: Long of Function<String, Long>. Of
 * a type variable what the receiver's class binds: E of ArrayList's add is Long for a class that extends ArrayList<Long>. Read
 * from generic signatures (JVMS 4.7.9.1). Those of parameters and fields are made once a resolved member, those of a
 * callback's results once a kind; then constant, except that classes are loaded on first use.
 */
#include "jni/types/member_table.h"

/* An interface with type arguments, of which something is known. */
struct declared_function {
  struct jvm_class *interface; /* NULL: nothing is declared */
  struct jvm_class *context;   /* whose loader finds the classes that the signature names */
  struct text signature;       /* "Ljava/util/function/Function<*Ljava/lang/Long;>;" */
  struct text identity;        /* the same for the same interface and arguments, by the classes' ids */
  bool needs_context;          /* what it tells is known only while the context is loaded */
};

struct element_types {
  struct jvm_type self; /* of the value: what a type variable stands for; kind 0: the erased type tells it */
  struct jvm_type key;  /* of a map's keys; kind 0: nothing is known */
  struct jvm_type
      element; /* of the elements of a collection or an Optional, or a map's values; kind 0: nothing is known */
  const struct element_types *inside; /* of the elements themselves; NULL: nothing is known */
  struct declared_function function;  /* of a callback in this place */
};

/* Of a parameter. receiver: the class of the receiver; NULL: there is none. NULL: nothing is known, or memory is short. No
 * exception is pending on return. */
const struct element_types *element_types_of_parameter(struct jvm_thread *thread,
                                                       const struct jvm_method *method, size_t index,
                                                       struct jvm_class *receiver, struct arena *arena);
const struct element_types *element_types_of_field(struct jvm_thread *thread, const struct jvm_field *field,
                                                   struct jvm_class *receiver, struct arena *arena);
/* Of what a method of a callback returns: by the interface that the callback is, and what that leaves open by the place that
 * the callback was given for. */
const struct element_types *element_types_of_result(struct jvm_thread *thread,
                                                    const struct jvm_method *method,
                                                    struct jvm_class *interface,
                                                    const struct declared_function *function,
                                                    struct arena *arena);
/* True where the function adds nothing to what a callback's interface says: the interface binds all variables itself, or is no
 * subtype of the function's. */
bool declared_function_adds_nothing(struct jvm_thread *thread, struct jvm_class *interface,
                                    const struct declared_function *function, struct arena *arena);
/* What the class itself binds, as one that extends HashMap<Integer, Long> does. */
const struct element_types *element_types_of_class(struct jvm_thread *thread, struct jvm_class *class,
                                                   struct arena *arena);

/* False: memory is short. */
bool declared_function_copy(const struct declared_function *function, struct arena *arena,
                            struct declared_function *copy);
/* Loads the classes that are named, except those of functions: then the contexts are not needed any more. */
void element_types_load(struct jvm_thread *thread, const struct element_types *types);
/* A copy in another arena. NULL: memory is short. */
const struct element_types *element_types_copy(const struct element_types *types, struct arena *arena);

#endif
