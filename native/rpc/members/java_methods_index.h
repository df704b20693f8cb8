#ifndef JPEER_RPC_MEMBERS_JAVA_METHODS_INDEX_H
#define JPEER_RPC_MEMBERS_JAVA_METHODS_INDEX_H
/*
 * The methods that were called by their own names, so that the next call of one does not gather what its
 * class declares and inherits again. The catalog never changes, so what is kept stays right; it is bounded in
 * number. Any thread; one lock, held for look-ups and stores.
 */
#include "rpc/members/java_methods.h"

struct java_methods_index;

enum { JAVA_METHODS_KEPT = 256 }; /* names; what comes later is gathered at each call */

struct java_methods_index *java_methods_index_create(void); /* NULL: no memory */
void java_methods_index_destroy(struct java_methods_index *index);

/*
 * The methods of a class that have this member name, as java_methods_collect gives them, but that `allowed`
 * says nothing: the policy is asked about the operation. *found lives in the index or in the arena.
 * JP_NO_MEMORY.
 */
enum jp_status java_methods_index_find(struct java_methods_index *index, const struct catalog_tables *tables,
                                       const struct policy *policy, uint32_t class_index, struct text member,
                                       struct arena *arena, const struct java_method **found,
                                       size_t *count) JP_MUST_CHECK;

#endif
