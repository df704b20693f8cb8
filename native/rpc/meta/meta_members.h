#ifndef JPEER_RPC_META_META_MEMBERS_H
#define JPEER_RPC_META_META_MEMBERS_H
/*
 * The members of a class, each marked with whether the caller of a metadata query may use it: the declared
 * ones and, with merge_ancestry, the inherited ones. For the meta_*.c files and rpc/methods.
 */
#include "base/arena.h"
#include "base/array.h"
#include "base/status.h"
#include "classfile/catalog.h"

struct meta_query;
struct meta_signature;

struct meta_member {
  uint32_t index; /* in the catalog's methods or fields */
  uint32_t declaring;
  bool allowed;
  bool overridden; /* it overrides or hides a member that the class would inherit else */
};

/* Used for one class after the other, so that its memory is reused. */
struct meta_members {
  /* struct meta_member, nearest class first, each class in the order of its file; denied members are in,
   * too */
  struct array constructors;
  struct array methods;
  struct array fields;
  size_t allowed_count;

  /* for inherited members */
  struct array lineage; /* uint32_t: the class, its superclasses, then interfaces, subtypes first */
  size_t chain_length;  /* the class and its superclasses in lineage */
  uint32_t *visited;    /* by class index: the number of the last walk that visited the class */
  uint32_t walk;
  struct meta_signature **seen; /* hash table of the members that are in, or hidden; in the arena */
  size_t seen_size;             /* a power of two */
  struct arena arena;
};

void meta_members_init(struct meta_members *members);
void meta_members_fini(struct meta_members *members);

/* Replaces the members by those of this class. JP_NO_MEMORY. */
enum jp_status meta_members_collect(struct meta_members *members, const struct meta_query *query,
                                    uint32_t class_index) JP_MUST_CHECK;

static inline bool meta_members_are_denied(const struct meta_members *members)
{
  return members->allowed_count == 0;
}

/* False for methods that the compiler made, and for constructors that `new` cannot use (of abstract classes,
 * interfaces and enums): they are never shown. */
bool meta_members_shows(const struct catalog_tables *tables, const struct catalog_class *class,
                        const struct catalog_method *method);

#endif
