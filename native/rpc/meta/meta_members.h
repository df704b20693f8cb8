#ifndef JPEER_RPC_META_META_MEMBERS_H
#define JPEER_RPC_META_META_MEMBERS_H
/*
 * The members of a class that the caller of a metadata query may use: declared ones and, with merge_ancestry,
 * inherited ones. Only for the meta_*.c files.
 */
#include "base/arena.h"
#include "base/status.h"
#include "classfile/catalog.h"
#include "classfile/table.h"

struct meta_query;
struct meta_signature;

struct meta_member {
  uint32_t index; /* in the catalog's methods or fields */
  uint32_t declaring;
  bool allowed;
  bool overridden; /* it overrides or hides one that the class would inherit */
};

/* Kept from class to class, so that memory is reused. */
struct meta_members {
  struct table
      constructors;     /* struct meta_member, in the order of the class file, nearest class first; those */
  struct table methods; /* that are not allowed are in, marked so */
  struct table fields;
  size_t allowed_count;

  /* for the inherited ones */
  struct table lineage; /* uint32_t: the class, its superclasses, then interfaces, subtypes first */
  size_t chain_length;  /* of the class and its superclasses in lineage */
  uint32_t *visited;    /* by class index: the number of the last walk that came there */
  uint32_t walk;
  struct meta_signature **seen; /* hash table of what is taken; in the arena */
  size_t seen_size;             /* a power of two */
  struct arena arena;
};

void meta_members_init(struct meta_members *members);
void meta_members_fini(struct meta_members *members);

/* Replaces what is there by the members of this class. JP_NO_MEMORY. */
enum jp_status meta_members_collect(struct meta_members *members, const struct meta_query *query,
                                    uint32_t class_index) JP_MUST_CHECK;

static inline bool meta_members_none(const struct meta_members *members)
{
  return members->allowed_count == 0;
}

/* Whether a declared method is one to be shown at all: none that the compiler made, no constructor that `new`
 * cannot use (of an abstract class, an interface or an enum). */
bool meta_members_takes(const struct catalog_tables *tables, const struct catalog_class *class,
                        const struct catalog_method *method);

#endif
