#ifndef JPEER_RPC_METHODS_JAVA_METHODS_FIND_H
#define JPEER_RPC_METHODS_JAVA_METHODS_FIND_H
/*
 * From a member's own name to the methods that it may mean: in the catalog, or, where that has no such class, as the JVM
 * knows them. Only for java_methods_decode.c. One request, one thread.
 */
#include "rpc/methods/java_methods.h"
#include "rpc/methods/java_methods_decode.h"
#include "rpc/methods/java_methods_index.h"
#include "rpc/methods/java_methods_names.h"
#include "rpc/meta/meta_shapes.h"

enum { JAVA_OVERLOADS_MAX = UINT8_MAX + 1 }; /* no class written by hand has more */

struct java_method_finder {
  /* Borrowed, set by the caller: */
  const struct jsonrpc_request *request;
  const struct java_method_rules *rules;
  const struct rpc_authorizer *authorizer;
  struct catalog *catalog; /* NULL: none */
  struct java_methods_index *index;
  struct arena *arena;
  struct operation *operation;
  struct outcome *outcome;

  /* Found: */
  struct java_method_name name;
  const struct java_method *methods; /* the overloads of the name, or the one that its suffix chooses */
  size_t count;
  bool is_beyond; /* the JVM is asked for the class, not the catalog */
  bool by_object; /* the names alone are denied, and the class of the object decides */

  struct java_methods_found in_catalog;
  struct meta_shapes shapes; /* what the JVM told */
};

/*
 * Reads the name, makes the operation of it, and asks the policy about the names before the catalog is, so that who may
 * not use a class does not learn whether it exists. Anything but JP_OK leaves an OUTCOME_ERROR.
 */
enum jp_status java_method_finder_begin(struct java_method_finder *finder) JP_MUST_CHECK;
/* The denial of a method that is by_object, and whose object does not decide otherwise. Leaves an OUTCOME_ERROR. */
enum jp_status java_method_finder_deny(struct java_method_finder *finder) JP_MUST_CHECK;

/*
 * Finds the methods that the caller may use. instance: an object whose class is looked at first where the JVM is asked;
 * 0: none. is_final: an error tells of the loaders that have such a class. Anything but JP_OK leaves an OUTCOME_ERROR.
 * The methods are valid until java_method_finder_drop, which is also called before this is called again.
 */
enum jp_status java_method_finder_run(struct java_method_finder *finder, uint32_t instance,
                                      bool is_final) JP_MUST_CHECK;
void java_method_finder_drop(struct java_method_finder *finder);
/* Ends what java_method_finder_begin began, also where that failed. */
void java_method_finder_end(struct java_method_finder *finder);

/* The part of the name that a message shows. */
struct text java_method_finder_show_name(const struct java_method_finder *finder);

#endif
