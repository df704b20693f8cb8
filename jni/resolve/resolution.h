#ifndef JPEER_JNI_RESOLVE_RESOLUTION_H
#define JPEER_JNI_RESOLVE_RESOLUTION_H
/*
 * Resolves an operation that is not in the cache. The functions fill the member of the resolution's
 * conversion, or fail with the outcome of the conversion.
 */
#include "jni/resolve/member_cache.h"
#include "jni/resolve/overload.h"

struct resolution {
  struct conversion conversion;
  const struct operation *operation;
  struct arena *arena;
  struct jvm_class *receiver_class; /* NULL: no receiver */
  struct jvm_class *named;
  jclass held; /* keeps `named` loaded until the request ends; NULL: the key keeps it, or it is permanent */
  struct overload_argument *arguments; /* static types, one for each of the operation's args */
  struct argument_plan *plans;         /* `from` is set together with the static types */
  bool cacheable;
  bool only_ancestors; /* the name is searched only among the receiver's class and supertypes */
  bool is_passing;     /* the type of an argument is a class that nothing in the key keeps loaded */
  bool is_by_cost;     /* the last choice depended on the arguments' values, not only on their types */
};

/* Sets the static types of the arguments: declared, inferred, or a ref's class. */
bool resolution_type_arguments(struct resolution *resolution);

/* Finds the constructor, method or field of the named class. Call it after resolution_type_arguments. */
bool resolution_find_member(struct resolution *resolution);
/* Sets the plan of a put's only value for a field of the type. */
bool resolution_plan_put(struct resolution *resolution, struct jvm_type *type);

/* Finds the class of this name among class and its supertypes; NULL: none. */
struct jvm_class *resolution_find_ancestor(struct resolution *resolution, struct jvm_class *class,
                                           struct text name);

#endif
