#ifndef JPEER_JNI_TYPES_ELEMENT_TYPES_H
#define JPEER_JNI_TYPES_ELEMENT_TYPES_H
/*
 * The declaration of a parameter, field or result beyond its erased type, from generic signatures (JVMS
 * 4.7.9.1):
 *
 *   - the elements of a collection, map or array: Long for List<Long>; for Map<Integer, Long> also the key
 *     Integer
 *   - the result of a function: Long for Function<String, Long>
 *   - a type variable's binding in the receiver's class: Long for ArrayList's E if a class extends
 *     ArrayList<Long>
 *
 * The types of parameters and fields are read once for each resolved member, the types of a callback's
 * results once for each kind. They are constant afterwards, except that classes are loaded on first use.
 */
#include "jni/types/member_table.h"

/* An interface with at least one known type argument. */
struct declared_function {
  struct jvm_class *interface; /* NULL: none declared */
  struct jvm_class *context;   /* its loader finds the classes that the signature names */
  struct text signature;       /* "Ljava/util/function/Function<*Ljava/lang/Long;>;" */
  struct text identity;        /* equal for the same interface and arguments; has the classes' ids */
  bool needs_context;          /* the signature can be used only while the context is loaded */
};

struct element_types {
  struct jvm_type self; /* the type to which a type variable is bound; kind 0: use the erased type */
  struct jvm_type key;  /* of a map's keys; kind 0: not declared */
  /* of the elements of a collection or an Optional, or a map's values; kind 0: not declared */
  struct jvm_type element;
  const struct element_types *inside; /* for the elements' own elements; NULL: none declared */
  struct declared_function function;  /* for a callback as the value */
};

/* The element types that a parameter declares. receiver: the class of the receiver; NULL: none. Returns NULL if
 * nothing is declared or memory is short. No exception is pending on return. */
const struct element_types *element_types_of_parameter(struct jvm_thread *thread,
                                                       const struct jvm_method *method, size_t index,
                                                       struct jvm_class *receiver, struct arena *arena);
const struct element_types *element_types_of_field(struct jvm_thread *thread, const struct jvm_field *field,
                                                   struct jvm_class *receiver, struct arena *arena);
/* The element types of the result that a callback's method declares. interface: the interface that the callback
 * implements. The result may name type variables that the interface does not bind, such as R of Function. These
 * are bound by `function`, the declaration of the parameter for which the client has passed the callback. */
const struct element_types *element_types_of_result(struct jvm_thread *thread,
                                                    const struct jvm_method *method,
                                                    struct jvm_class *interface,
                                                    const struct declared_function *function,
                                                    struct arena *arena);
/* True if the function adds nothing to the callback's interface: the interface binds all variables itself, or
 * is not a subtype of the function's interface. */
bool declared_function_adds_nothing(struct jvm_thread *thread, struct jvm_class *interface,
                                    const struct declared_function *function, struct arena *arena);
/* The bindings of the class itself, for example of a class that extends HashMap<Integer, Long>. */
const struct element_types *element_types_of_class(struct jvm_thread *thread, struct jvm_class *class,
                                                   struct arena *arena);

/* False: memory is short. */
bool declared_function_copy(const struct declared_function *function, struct arena *arena,
                            struct declared_function *copy);
/* Loads the named classes, except the classes of functions. The contexts are not needed afterwards. */
void element_types_load(struct jvm_thread *thread, const struct element_types *types);
/* A copy in another arena. NULL: memory is short. */
const struct element_types *element_types_copy(const struct element_types *types, struct arena *arena);

#endif
