#ifndef JPEER_RPC_META_META_QUERY_H
#define JPEER_RPC_META_META_QUERY_H
/*
 * A query of fetch_classes_info: its arguments, the classes for which it asks, and the members of a class
 * that its caller may use. One owner, one thread at a time. For rpc/meta, rpc/methods, rpc/suggest and
 * rpc/describe.
 */
#include "base/arena.h"
#include "base/array.h"
#include "base/status.h"
#include "classfile/catalog.h"
#include "op/operation.h"
#include "policy/policy.h"

struct meta_loaders;
struct meta_query;

/* ---- prefixes ---- */

/* A set of prefixes. A binary search finds whether a name begins with one of them, so the set may be as large
 * as a message allows. Constant once made. */
struct meta_prefixes {
  struct text *items; /* sorted; no prefix begins with another prefix */
  size_t count;
};

/* Copies the texts into the arena, except texts that begin with another text. JP_NO_MEMORY. */
enum jp_status meta_prefixes_init(struct meta_prefixes *prefixes, const struct text *texts, size_t count,
                                  struct arena *arena) JP_MUST_CHECK;

bool meta_prefixes_cover(const struct meta_prefixes *prefixes, struct text name);

/* ---- the classes that can be named now ---- */

/*
 * The classes of the catalog that can be named now. The application's class loader finds most of these
 * classes. Classes of jars within jars need a loader that the program has made, and are not listed before
 * that loader exists (docs/metadata.md, "Which classes"). Made for one query by its thread; then constant.
 */
struct meta_reach {
  uint8_t *classes; /* by class index, 0 or 1; NULL: all can be named */
  uint64_t stamp;   /* two queries have different stamps if different classes can be named */
};

/* loaders NULL: all can be named. JP_NO_MEMORY. */
enum jp_status meta_reach_find(struct meta_reach *reach, const struct catalog_tables *tables,
                               const struct meta_loaders *loaders) JP_MUST_CHECK;
void meta_reach_fini(struct meta_reach *reach);

/* reach NULL: all can be named. */
static inline bool meta_reach_has(const struct meta_reach *reach, uint32_t class_index)
{
  return reach == NULL || reach->classes == NULL || reach->classes[class_index] != 0;
}

/* ---- the members of a class ---- */

/* The declared members and, with merge_ancestry, the inherited members. A mark of each member says whether
 * the caller may use it. */
struct meta_signature;

struct meta_member {
  uint32_t index; /* in the catalog's methods or fields */
  uint32_t declaring;
  bool allowed;
  bool overridden; /* the member overrides or hides a member that the class would otherwise inherit */
};

/* Used for one class after the other, to reuse its memory. */
struct meta_members {
  /* struct meta_member, nearest class first, each class in the order of its file; includes denied members */
  struct array constructors;
  struct array methods;
  struct array fields;
  size_t allowed_count;

  /* for inherited members */
  struct array lineage; /* uint32_t: the class, its superclasses, then interfaces, subtypes first */
  size_t chain_length;  /* number of classes in lineage, without interfaces */
  uint32_t *visited;    /* by class index: the number of the last walk that visited the class */
  uint32_t walk;
  struct meta_signature **seen; /* hash table of the members that are listed or hidden; in the arena */
  size_t seen_size;             /* a power of two */
  struct arena arena;
};

void meta_members_init(struct meta_members *members);
void meta_members_fini(struct meta_members *members);

/* Replaces the members by the members of this class. JP_NO_MEMORY. */
enum jp_status meta_members_collect(struct meta_members *members, const struct meta_query *query,
                                    uint32_t class_index) JP_MUST_CHECK;

static inline bool meta_members_are_denied(const struct meta_members *members)
{
  return members->allowed_count == 0;
}

/* ---- the query ---- */

struct meta_query {
  const struct catalog_tables *tables;
  const struct policy *policy;
  enum policy_channel channel;
  bool merge_ancestry;
  bool only_public_ancestry;      /* only public members are inherited */
  bool marks_varargs;             /* members of variable arity are marked */
  const struct meta_reach *reach; /* borrowed; NULL: classes of all loaders are shown */
  struct text judged_name; /* the name of the described class for the policy; data NULL: its own name */
  struct meta_prefixes excludes;
  uint32_t *included; /* class indexes, sorted; NULL: the default scope */
  size_t included_count;
  uint8_t *shown;                 /* by class index, enum meta_shown */
  struct meta_members first_look; /* members of classes that are examined but not described */
  struct arena arena;             /* owns the copies */
};

/* Copies the arguments. JP_NO_MEMORY. */
enum jp_status meta_query_init(struct meta_query *query, const struct catalog_tables *tables,
                               const struct policy *policy, enum policy_channel channel,
                               const struct operation *operation) JP_MUST_CHECK;
void meta_query_fini(struct meta_query *query);

/* Finds the next class to describe, at or after *position, and moves *position past it. False: no member is
 * left. */
bool meta_query_next(struct meta_query *query, size_t *position, uint32_t *class_index);

/* True if this class may be listed among the subclasses of another class. The query describes such a class,
 * or would describe it if it had no include_classes. */
bool meta_query_knows(struct meta_query *query, uint32_t class_index);

#endif
