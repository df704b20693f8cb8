#ifndef JPEER_RPC_MEMBERS_JAVA_METHODS_INDEX_H
#define JPEER_RPC_MEMBERS_JAVA_METHODS_INDEX_H
/*
 * Keeps the methods that were called by their own names, so that the next call need not collect again what
 * the class declares and inherits. Entries stay right, for the catalog never changes; their number is
 * bounded. Any thread; one lock is held for look-ups and stores.
 */
#include "rpc/members/java_methods.h"

struct java_methods_index;

enum { JAVA_METHODS_KEPT = 256 }; /* names; later ones are collected at each call */

struct java_methods_index *java_methods_index_create(void); /* NULL: no memory */
void java_methods_index_destroy(struct java_methods_index *index);

/*
 * Finds the methods of a class with this member name, as java_methods_collect does. Their `allowed` means
 * nothing: the caller asks the policy about each operation. *found lives in the index or in the arena.
 * JP_NO_MEMORY.
 */
enum jp_status java_methods_index_find(struct java_methods_index *index, const struct catalog_tables *tables,
                                       const struct policy *policy, uint32_t class_index, struct text member,
                                       struct arena *arena, const struct java_method **found,
                                       size_t *count) JP_MUST_CHECK;

#endif
