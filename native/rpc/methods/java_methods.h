#ifndef JPEER_RPC_METHODS_JAVA_METHODS_H
#define JPEER_RPC_METHODS_JAVA_METHODS_H
/*
 * Lists the methods and constructors of a class as procedures of their own, each with the policy's verdict.
 * They come from the catalog: no class is loaded to describe or to find them. One owner, one thread at a
 * time.
 */
#include "rpc/meta/meta_members.h"
#include "rpc/meta/meta_query.h"

struct java_parameter {
  /* The class file's, else "arg0". Unique in the method, and not "instance" where there is a receiver: such a
   * name has a '_' added. */
  struct text name;
  struct text type; /* its signature where the class file has one (JVMS 4.7.9.1), else its descriptor */
};

struct java_method {
  const struct catalog_method *method;
  struct text member; /* "new" for a constructor */
  struct text descriptor;
  struct java_parameter *parameters;
  struct text result; /* the type, as for a parameter; data NULL: a constructor, whose result is the object */
  uint32_t declaring; /* class index */
  uint8_t parameter_count;
  bool has_receiver;
  bool is_varargs;
  bool allowed;
  bool overloaded; /* another method of the class has the same member name */
};

struct java_methods {
  struct meta_query query;
  struct meta_members members;
};

/* tables and policy are borrowed. Caller calls java_methods_fini, also after a failure. */
enum jp_status java_methods_init(struct java_methods *methods, const struct catalog_tables *tables,
                                 const struct policy *policy, enum policy_channel channel) JP_MUST_CHECK;
void java_methods_fini(struct java_methods *methods);

/*
 * Finds the constructors and then the methods of a class, inherited ones included; only those with this name
 * where member.data is not NULL. *found is in the arena; texts belong to the catalog or the arena.
 * JP_NO_MEMORY.
 */
enum jp_status java_methods_collect(struct java_methods *methods, uint32_t class_index, struct text member,
                                    struct arena *arena, struct java_method **found,
                                    size_t *count) JP_MUST_CHECK;

/* The same in one step, for a caller who asks the policy about each operation: their `allowed` means nothing.
 * JP_NO_MEMORY. */
enum jp_status java_methods_collect_named(const struct catalog_tables *tables, const struct policy *policy,
                                          uint32_t class_index, struct text member, struct arena *arena,
                                          struct java_method **found, size_t *count) JP_MUST_CHECK;

#endif
