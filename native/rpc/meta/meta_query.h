#ifndef JPEER_RPC_META_META_QUERY_H
#define JPEER_RPC_META_META_QUERY_H
/*
 * One fetch_classes_info: its arguments, the classes that it asks for, and the members of a class that its
 * caller may use. One owner, one thread at a time. For the meta_*.c files and rpc/methods.
 */
#include "base/arena.h"
#include "classfile/catalog.h"
#include "op/operation.h"
#include "policy/policy.h"
#include "rpc/meta/meta_members.h"
#include "rpc/meta/meta_prefixes.h"
#include "rpc/meta/meta_reach.h"

struct meta_query {
  const struct catalog_tables *tables;
  const struct policy *policy;
  enum policy_channel channel;
  bool merge_ancestry;
  bool only_public_ancestry;      /* of what is inherited, only public members */
  bool marks_varargs;             /* members of variable arity say so */
  const struct meta_reach *reach; /* borrowed; NULL: classes of all loaders are shown */
  struct text judged_name;        /* what the policy knows a described class as; data NULL: its own name */
  struct meta_prefixes excludes;
  uint32_t *included; /* class indexes, sorted; NULL: the default scope */
  size_t included_count;
  uint8_t *shown;                 /* by class index, enum meta_shown */
  struct meta_members first_look; /* of classes that are looked at and not described */
  struct arena arena;             /* owns the copies */
};

/* Copies the arguments. JP_NO_MEMORY. */
enum jp_status meta_query_init(struct meta_query *query, const struct catalog_tables *tables,
                               const struct policy *policy, enum policy_channel channel,
                               const struct operation *operation) JP_MUST_CHECK;
void meta_query_fini(struct meta_query *query);

/* Finds the next class to describe, at or after *position, and moves *position behind it. False: none is
 * left. */
bool meta_query_next(struct meta_query *query, size_t *position, uint32_t *class_index);

/* True where this class may be listed among the subclasses of another: the query would describe it, or would
 * do so without include_classes. */
bool meta_query_knows(struct meta_query *query, uint32_t class_index);

/* True where this member of a class, which inherits it from `declaring` or declares it, is shown: the caller may use
 * it. */
bool meta_query_allows_method(const struct meta_query *query, uint32_t class_index, uint32_t declaring,
                              const struct catalog_method *method);
bool meta_query_allows_field(const struct meta_query *query, uint32_t class_index, uint32_t declaring,
                             const struct catalog_field *field);

#endif
