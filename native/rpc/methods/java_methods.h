#ifndef JPEER_RPC_METHODS_JAVA_METHODS_H
#define JPEER_RPC_METHODS_JAVA_METHODS_H
/*
 * The methods and constructors of classes as procedures: their names; the procedures of a class, with the
 * policy's verdict; and the procedures that were called before. The procedures are made from the catalog, so
 * no class is loaded to describe or find a procedure.
 */
#include "base/buffer.h"
#include "rpc/meta/meta_query.h"

/* ---- names: pure text, any thread ---- */

/*
 * A method is CLASS.MEMBER ("com.example.Calculator.add"), a constructor CLASS.new (docs/descriptions.md,
 * "Names"). One overload of several is CLASS.MEMBER-TYPE-TYPE, with "void" for no parameter:
 * "com.example.Calculator.add-int-int", "java.lang.String.valueOf-char.array". ".array" follows an element
 * type once for each dimension. No class has a name of this form, because a package cannot have the name of a
 * class (JLS 7.1). The suffix depends only on the parameter types, so that it does not change when other
 * overloads are added or removed; Java names have no '-'.
 */
struct java_method_name {
  struct text class_name; /* binary, with dots */
  struct text member;     /* "new" for a constructor */
  struct text suffix;     /* "int-int"; data NULL: the name has no suffix */
};

/* False if the text has no class or no member, or begins with a reserved prefix: "rpc." (JSON-RPC 2.0, 8)
 * or "system." (JSON-RPC 1.1, 9), or "jpeer.", the peer's own. The parts point into `written`. */
bool java_method_name_parse(struct text written, struct java_method_name *name);

/* Appends the suffix for a method's descriptor. The descriptor must be valid (JVMS 4.3.3). */
void java_method_suffix_write(struct text descriptor, struct buffer *out);

/* ---- the methods of a class: one owner, one thread at a time ---- */

struct java_parameter {
  /* The name in the class file, or "arg0" and so on. The names of a method are unique, and none is "instance"
   * if the method has a receiver: a '_' is appended to a name that would break this rule. */
  struct text name;
  struct text type; /* its signature if the class file has one (JVMS 4.7.9.1), else its descriptor */
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
 * Finds the constructors and then the methods of a class, including inherited methods; only members with this
 * name if member.data is not NULL. *found is in the arena; texts belong to the catalog or the arena.
 * JP_NO_MEMORY.
 */
enum jp_status java_methods_collect(struct java_methods *methods, uint32_t class_index, struct text member,
                                    struct arena *arena, struct java_method **found,
                                    size_t *count) JP_MUST_CHECK;

/* The same as java_methods_init and java_methods_collect in one step, for a caller who asks the policy about
 * each operation. `allowed` is not set. JP_NO_MEMORY. */
enum jp_status java_methods_collect_named(const struct catalog_tables *tables, const struct policy *policy,
                                          uint32_t class_index, struct text member, struct arena *arena,
                                          struct java_method **found, size_t *count) JP_MUST_CHECK;

/* ---- the methods that were called before ---- */

/*
 * Keeps the methods that were called by their own names, so that the next call need not collect again what
 * the class declares and inherits. Entries never become wrong, because the catalog never changes. Their
 * number is limited: a new entry replaces the least recently used one, so that a client that has called many
 * names does not slow down the names in use. Any thread; a lock is held for look-ups and stores, but not
 * while class files are read.
 */
struct java_methods_index;

enum { JAVA_METHODS_KEPT = 256 }; /* names */

struct java_methods_index *java_methods_index_create(void); /* NULL: no memory */
void java_methods_index_destroy(struct java_methods_index *index);

/* The methods of a class with one member name. */
struct java_methods_found {
  bool has_class; /* the catalog has the class */
  const struct java_method *methods;
  size_t count;
  const struct catalog_tables *tables; /* the methods' fields are indexes into these tables */
  struct java_methods_entry *entry;    /* owns the methods and the tables */
};

/*
 * Finds the methods of a class with this member name, as java_methods_collect does, in the class's own file
 * if the catalog was not read yet. `allowed` is not set: the caller asks the policy about each operation.
 * They are valid until java_methods_index_release, even if the index no longer keeps them. JP_NO_MEMORY, and
 * the errors of catalog_load.
 */
enum jp_status java_methods_index_find(struct java_methods_index *index, struct catalog *catalog,
                                       const struct policy *policy, struct text class_name,
                                       struct text member, struct java_methods_found *found,
                                       struct jp_error *error) JP_MUST_CHECK;
void java_methods_index_release(struct java_methods_found *found); /* found may be empty */

#endif
