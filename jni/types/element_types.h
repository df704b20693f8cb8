#ifndef JPEER_JNI_TYPES_ELEMENT_TYPES_H
#define JPEER_JNI_TYPES_ELEMENT_TYPES_H
/*
 * What a parameter, field or result declares of the elements of its collection, map or array: Long of List<Long>, and of
 * Map<Integer, Long> the key Integer, too. Read from generic signatures (JVMS 4.7.9.1), of type variables what the
 * receiver's class binds (E of ArrayList's add is Long for a class that extends ArrayList<Long>). Those of parameters and
 * fields are made once a resolved member; then constant, except that classes are loaded on first use. One thread.
 */
#include "jni/types/member_table.h"

struct element_types {
  struct jvm_type key;     /* of a map's keys; kind 0: nothing is known */
  struct jvm_type element; /* of a collection's elements or a map's values; kind 0: nothing is known */
  const struct element_types *inside; /* of the elements themselves; NULL: nothing is known */
};

/* Of a parameter. receiver: the class of the receiver; NULL: there is none. NULL: nothing is known, or memory is short. No
 * exception is pending on return. */
const struct element_types *element_types_of_parameter(struct jvm_thread *thread,
                                                       const struct jvm_method *method, size_t index,
                                                       struct jvm_class *receiver, struct arena *arena);
const struct element_types *element_types_of_field(struct jvm_thread *thread, const struct jvm_field *field,
                                                   struct jvm_class *receiver, struct arena *arena);
/* Of what a method returns. receiver: as above; an interface that a callback is. */
const struct element_types *element_types_of_result(struct jvm_thread *thread,
                                                    const struct jvm_method *method,
                                                    struct jvm_class *receiver, struct arena *arena);
/* What the class itself binds, as one that extends HashMap<Integer, Long> does. */
const struct element_types *element_types_of_class(struct jvm_thread *thread, struct jvm_class *class,
                                                   struct arena *arena);

/* A copy in another arena. NULL: memory is short. */
const struct element_types *element_types_copy(const struct element_types *types, struct arena *arena);

#endif
