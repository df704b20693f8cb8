#ifndef JPEER_RPC_METHODS_JAVA_METHODS_INDEX_H
#define JPEER_RPC_METHODS_JAVA_METHODS_INDEX_H
/*
 * Keeps the methods that were called by their own names, so that the next call need not collect again what
 * the class declares and inherits. Entries stay right, for the catalog never changes. Their number is bounded: a new one
 * replaces the one that was not asked for for the longest time, so that names which a client once went through do not slow
 * those that are in use. Any thread; one lock is held for look-ups and stores, and none while class files are read.
 */
#include "rpc/methods/java_methods.h"

struct java_methods_index;

enum { JAVA_METHODS_KEPT = 256 }; /* names */

struct java_methods_index *java_methods_index_create(void); /* NULL: no memory */
void java_methods_index_destroy(struct java_methods_index *index);

/* The methods of a class with one member name. */
struct java_methods_found {
  bool has_class; /* the catalog has the class */
  const struct java_method *methods;
  size_t count;
  const struct catalog_tables *tables; /* that the methods' fields are indexes of */
  struct java_methods_entry *entry;    /* owns the methods and the tables */
};

/*
 * Finds the methods of a class with this member name, as java_methods_collect does, in the class's own file where nothing
 * has read the catalog yet. Their `allowed` means nothing: the caller asks the policy about each operation. They live until
 * java_methods_index_release, also where the index no longer keeps them. JP_NO_MEMORY, and the errors of catalog_load.
 */
enum jp_status java_methods_index_find(struct java_methods_index *index, struct catalog *catalog,
                                       const struct policy *policy, struct text class_name,
                                       struct text member, struct java_methods_found *found,
                                       struct jp_error *error) JP_MUST_CHECK;
void java_methods_index_release(struct java_methods_found *found); /* found may be empty */

#endif
