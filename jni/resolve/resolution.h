#ifndef JPEER_JNI_RESOLVE_RESOLUTION_H
#define JPEER_JNI_RESOLVE_RESOLUTION_H
/*
 * Resolves an operation that the cache does not know; each kind of operation has a function. All fill the
 * resolution's member, or fail with the conversion's outcome.
 */
#include "jni/resolve/member_cache.h"
#include "jni/resolve/overload.h"

struct resolution {
  struct conversion conversion;
  struct call_frame *frame;
  const struct operation *operation;
  struct arena *arena;
  struct jvm_class *receiver_class; /* NULL: no receiver */
  struct jvm_class *named;
  jclass held; /* of named, until the request ends; NULL: the key keeps it loaded, or it always is */
  struct overload_argument *arguments; /* static types, one for each of the operation's args */
  struct argument_plan *plans;         /* `from` is set with the static types */
  struct resolved_member *member;
  bool cacheable;
  bool only_ancestors; /* the name means a class or an interface of the receiver, or nothing */
  bool is_passing;     /* the type of an argument is a class that nothing of the key keeps loaded */
  bool is_by_cost;     /* the last choice depended on the arguments' values, not only on their types */
};

/* Sets the static types of the arguments: declared, inferred, or a ref's class. */
bool resolution_type_arguments(struct resolution *resolution);

enum resolution_choice {
  CHOOSE_FITTING,
  CHOOSE_MISFIT, /* takes a method although a value does not fit, so that the conversion tells why */
  CHOOSE_ANY     /* of ambiguous ones takes the first, as nobody learns which one it is */
};

/* Chooses among methods for the operation's arguments and sets the member's method and plans. JP_NOT_FOUND:
 * none fits, no outcome made; JP_INVALID: an outcome tells why. */
enum jp_status resolution_choose(struct resolution *resolution, struct jvm_method *const *methods,
                                 size_t count, enum resolution_choice how);
/* True if an argument came without a declared type, so that its value counts. */
bool resolution_has_bare_argument(const struct resolution *resolution);
/* Sets the plan of a put's one value for a field of the type. */
bool resolution_plan_put(struct resolution *resolution, struct jvm_type *type);

/* Makes the failure that lists the arguments and the methods of the name. Returns false. */
bool resolution_fail_no_match(struct resolution *resolution, struct jvm_method *const *methods, size_t count);
/* Finds the class of this name among class and its ancestors; NULL: there is none. */
struct jvm_class *resolution_find_ancestor(struct resolution *resolution, struct jvm_class *class,
                                           struct text name);

bool resolution_find_constructor(struct resolution *resolution);
bool resolution_find_method(struct resolution *resolution);
bool resolution_find_field(struct resolution *resolution);

/* "int, java.lang.String": the arguments' static types, for messages. */
struct text resolution_describe_arguments(struct resolution *resolution);

/* A class's table of members. NULL: the outcome tells why. */
const struct member_table *resolution_members(struct resolution *resolution, struct jvm_class *class);

#endif
